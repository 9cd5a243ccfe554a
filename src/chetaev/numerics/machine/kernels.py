"""Machine code from a CasADi graph, without a C compiler: a compiled stepping loop calls it by its address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import casadi
import numpy as np
from numpy.typing import ArrayLike, NDArray

from chetaev.numerics.machine.engine import CALLED, SAME_BITS, address_of, bind, entry_of, machine_code
from chetaev.numerics.machine.grouped import grouped
from chetaev.numerics.machine.instructions import entries_read, joined, program_of, text_of
from chetaev.numerics.machine.interpreter import interpreted, interprets
from chetaev.numerics.machine.periodic import angles_read

_LARGE = 20_000
"""Most instructions of optimised code. It is twice as fast, but for a long chain of operations takes 1 s to generate at 15 000
instructions, 10 s at 45 000 and 80 s at 100 000. Unoptimised code takes half a second at 100 000."""

_LONGEST_COMPILED = 60_000
"""Most instructions of machine code for each operation. Longer programs run in loops (`grouped`), which need not be compiled: they take
about 0.5 ns for an operation, unoptimised code 0.3 ns at this length and 0.5 ns where it does not fit into the caches."""

_SMALL = 200
"""Most instructions of code that is optimised immediately, which takes a few milliseconds."""

_ONCE_A_STEP = 400
"""Most instructions of code called once per step that is optimised, in long runs only. It takes 10 to 20 ms, about as long as the rates of
the same system. Unoptimised code of that size would make a step a tenth to a sixth longer."""

MOST_JOINED = 5000
"""Most instructions of joined kernels: compiling 4000 takes a third of a second, which only a long run saves again."""

_LINE = 16
"""Bytes of a program for each value."""

_OFTEN = 50
"""After this many requests for code for few calls, code for many calls is compiled instead."""


@dataclass(frozen=True)
class Kernel:
    r"""Machine code of $(t, y, p) \mapsto$ `out`, with the C signature `void kernel(double t, double* y, double* p, double* out)`.

    `address` is for compiled loops (`call_kernel`); from Python a kernel is called like a function. `out` must not overlap the entries of
    `y` and `p` that are read. The code is compiled on demand and kept until the process ends, so that every address stays valid; equal
    programs share it. `early` is the address of code for few calls, which gives the same result to the last bit and need not be compiled.
    A kernel pickles as its program and is compiled again where it is loaded, for the processor there.
    """

    program: bytes = field(repr=False)
    n_state: int
    n_parameters: int
    n_out: int
    instructions: int
    hot: bool = field(default=True, repr=False)

    @cached_property
    def text(self) -> str:
        """The program in LLVM's language."""
        return text_of(self.program)

    @cached_property
    def address(self) -> int:
        """The address of the code for many calls."""
        if self._stays_in_loops and self.in_loops is not None:
            return self.in_loops
        in_line = self._optimised and interprets()
        found = made(text_of(self.program, interpreted(self.program)) if in_line else self.text, self._optimised)
        _PROGRAMS[found] = self.program
        return found

    @cached_property
    def in_loops(self) -> int | None:
        """The address of loops that compute a long program; None for others, and where the loops would be short."""
        return grouped(self.program) if self.instructions > _LARGE and interprets() else None

    @cached_property
    def _stays_in_loops(self) -> bool:
        """Whether loops are the code for many calls too."""
        return self.in_loops is not None and (not self.hot or self.instructions > _LONGEST_COMPILED)

    @cached_property
    def with_library(self) -> int | None:
        """The address of code whose sines and cosines are those of the mathematical library, as CasADi's are, to the last bit; None where a
        library rounds them otherwise together than apart.
        """
        return made(text_of(self.program, library=True), False) if SAME_BITS else None

    @property
    def early(self) -> int:
        """The address of the code for few calls."""
        if not self.provisional:
            return self.address
        self._asked.append(None)
        return self.in_loops or (interpreted(self.program) if interprets() else made(self.text, False))

    @property
    def provisional(self) -> bool:
        """Whether few calls use other code than many: not if the code for many calls exists, or `early` was requested `_OFTEN` times."""
        if self._stays_in_loops:
            return False
        sooner = interprets() or (self._optimised and self.instructions > _SMALL)
        return "address" not in self.__dict__ and len(self._asked) < _OFTEN and sooner and SAME_BITS

    @cached_property
    def reads(self) -> tuple[int, ...]:
        """The entries of y that the code reads."""
        return entries_read(self.program)

    def angles(self, moving: bool = False, outputs: int | None = None) -> tuple[frozenset[int], frozenset[int]]:
        """The entries of y that the code reads as angles, and those on which its first outputs depend in some other way (`periodic`)."""
        key = moving, self.n_out if outputs is None else outputs
        if key not in self._angles:
            self._angles[key] = angles_read(self.program, *key)
        return self._angles[key]

    @cached_property
    def _angles(self) -> dict[tuple[bool, int], tuple[frozenset[int], frozenset[int]]]:
        return {}

    @property
    def _optimised(self) -> bool:
        return self.instructions <= (_LARGE if self.hot else _ONCE_A_STEP if SAME_BITS else 0)

    @cached_property
    def _asked(self) -> list[None]:
        """One entry for each request of code for few calls."""
        return []

    def __call__(self, t: float, y: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
        state, parameters = _vector("y", y, self.n_state), _vector("p", p, self.n_parameters)
        out = np.empty(self.n_out)
        self._entry(float(t), address_of(state), address_of(parameters), address_of(out))
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.program, self.n_state, self.n_parameters, self.n_out, self.instructions, self.hot)

    @property
    def _entry(self) -> Callable[..., None]:
        """The code for few calls until that for many exists, which has the same bits."""
        return self._last_entry if "address" in self.__dict__ else self._first_entry

    @cached_property
    def _first_entry(self) -> Callable[..., None]:
        return entry_of(self.early)

    @cached_property
    def _last_entry(self) -> Callable[..., None]:
        return entry_of(self.address)


@dataclass(frozen=True)
class Foreign(Kernel):
    """A kernel that computes what its program says in another way; it pickles as an ordinary kernel."""

    code: int = 0
    """The address of what computes the results."""
    doubts: int = 0
    """The address of what computes them plus, and then minus, bounds of their errors."""

    @property
    def address(self) -> int:
        """The address of the code, which is the same for few and for many calls."""
        return self.code

    @property
    def early(self) -> int:
        """The address of the code for few calls, which is that for many."""
        return self.code

    @property
    def provisional(self) -> bool:
        """Whether few calls use other code than many."""
        return False


def made(text: str, optimised: bool) -> int:
    """The address of the machine code of a text of LLVM's language."""
    for name in CALLED.findall(text):
        bind(name)
    return machine_code(text, optimised)


_PROGRAMS: dict[int, bytes] = {}


def program_at(address: int) -> bytes | None:
    """The program whose code for many calls is at an address; None if there is none, as for a kernel that computes in another way."""
    return _PROGRAMS.get(address)


def most_optimised() -> int:
    """The most instructions of optimised code."""
    return _LARGE


def compile_kernel(function: casadi.Function, hot: bool = True, fusing: bool = True) -> Kernel:
    """The machine code of an SX function of $(t, y, p)$ with one output vector; structural zeros of the output are written as zeros.

    Code that is not `hot`, called rarely, is optimised only if it is small, and for many calls. Without `fusing` products are rounded
    before they are added, as CasADi does it.

    >>> t, y, p = casadi.SX.sym("t"), casadi.SX.sym("y", 2), casadi.SX.sym("p", 1)
    >>> pendulum = casadi.Function("pendulum", [t, y, p], [casadi.vertcat(y[1], -p[0] * casadi.sin(y[0]))])
    >>> compile_kernel(pendulum)(0.0, [0.5, 2.0], [9.81])
    array([ 2.        , -4.70316453])
    """
    name = function.name()
    if not function.is_a("SXFunction"):
        raise ValueError(f"{name} is not an SX function and has no tape of scalar instructions; expand it: {name}.expand()")
    if function.n_in() != 3 or function.n_out() != 1:
        raise ValueError(
            f"{name} has {function.n_in()} inputs and {function.n_out()} outputs; a kernel has the inputs t, y, p and one output"
        )
    if function.has_free():
        raise ValueError(f"{name} has free variables: {', '.join(function.get_free())}; pass them through p")
    n_time, n_state, n_parameters = (_length(function.sparsity_in(i), f"input {i} of {name}") for i in range(3))
    if n_time != 1:
        raise ValueError(f"input 0 of {name} is the time, one number, and has {n_time}")
    out = function.sparsity_out(0)
    if not _is_vector(out):
        raise ValueError(f"the output of {name} is a matrix of shape {out.shape}; make it a vector: casadi.vec")
    instructions = function.n_instructions()
    in_loops = instructions > _LONGEST_COMPILED and interprets()
    program = program_of(function, out, fusing=fusing and (instructions <= _LARGE or in_loops))
    if fusing and in_loops and grouped(program) is None:  # compiled unoptimised, for which LLVM takes twice as long with fused products
        program = program_of(function, out, fusing=False)
    return Kernel(program, n_state, n_parameters, out.numel(), instructions, hot)


@lru_cache(maxsize=128)
def joined_kernel(*parts: tuple[Kernel, int]) -> Kernel | None:
    """Several kernels in one, each with the place of its first entry; None if it would take too long to make."""
    kernels = [kernel for kernel, _ in parts]
    program = joined([(kernel.program, first) for kernel, first in parts])
    instructions = len(program) // _LINE
    length = max(first + kernel.n_out for kernel, first in parts)
    if instructions > MOST_JOINED or not SAME_BITS:
        return None
    return Kernel(program, max(k.n_state for k in kernels), max(k.n_parameters for k in kernels), length, instructions)


def _is_vector(sparsity: casadi.Sparsity) -> bool:
    return sparsity.is_vector() or sparsity.is_empty()


def _length(sparsity: casadi.Sparsity, where: str) -> int:
    if not (_is_vector(sparsity) and (sparsity.is_dense() or sparsity.is_empty())):
        raise ValueError(f"{where} is not a dense vector; its shape is {sparsity.shape}, with {sparsity.nnz()} entries")
    return int(sparsity.numel())


def _vector(name: str, given: ArrayLike, length: int) -> NDArray[np.float64]:
    vector = np.asarray(given, dtype=np.float64, order="C")
    if vector.shape != (length,):
        raise ValueError(f"{name} is a vector of length {length}; this one has the shape {vector.shape}")
    return vector
