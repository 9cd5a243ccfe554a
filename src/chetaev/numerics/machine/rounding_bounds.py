r"""Bounds of the round-off of a program ("doubts"), in machine code: running error analysis beside the values.

Along with every value $r = f(a, b)$ goes a bound of its error,

$$ e_r = \max_{|\alpha| \le e_a} |f(a + \alpha, b) - r| + \max_{|\beta| \le e_b} |f(a, b + \beta) - r| + u |r|, $$

with $u$ half a unit in the last place for arithmetic and a unit for the functions of the mathematical library; their maxima are taken at
the two ends, and those of sine and cosine are at most the error of their argument. A constant with more than 20 binary digits, such as 1/10
or pi, is taken for a rounded number. Time, state and parameters are taken as exact: the bound measures what the computation loses, not what
is lost already. The difference $1 - \cos x$ at $x = 10^{-9}$ is zero in doubles, with a bound of $2 \cdot 10^{-16}$; divided by $x^2$ it
shows that no digit is correct (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.3).

`chetaev.numerics.graphs.rounding_bounds` has the same in Python, for tapes that are asked once. Here the program of a kernel is read by an
interpreter like that of `interpreter`, compiled once per process, so that no system has to compile anything for its bounds; `doubting_code`
makes code of a program's own for motions that are repeated very often.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache, lru_cache, partial

import casadi
import numpy as np

from chetaev.numerics.machine.engine import bind
from chetaev.numerics.machine.instructions import (
    CASES,
    CONST,
    FUSED,
    LIBM,
    PARAMETER,
    STATE,
    STORE,
    TIME,
    TURNING,
    driven,
)
from chetaev.numerics.machine.interpreter import LABELS, MEMORY, NEEDED, Entries, addresses_of, interprets, loaded, loop_text
from chetaev.numerics.machine.kernels import Foreign, Kernel

_ROUNDED, _CALLED = 2.0**-53, 2.0**-52
"""Relative error of an arithmetic operation, and of a function of the mathematical library: half a unit and a unit in the last place."""

_LOCK = threading.Lock()
_ADDRESSES: dict[tuple[bytes, int, bool], int] = {}
_PROGRAMS: dict[int, tuple[bytes, int]] = {}
"""What the code at an address computes bounds of: a program, and the number of its results."""


def doubting(kernel: Kernel, inputs: Kernel | None = None, first: int = 0, often: bool = False) -> int:
    """The address of code that stores the results of a kernel plus their bounds, and behind them the results minus their bounds; 0 where
    programs are not interpreted.

    `inputs` are computed along with their bounds, and stand in p from `first` on. Code that is called `often` is optimised: it takes half
    the time, and 0.04 s more to make, once per process.
    """
    if isinstance(kernel, Foreign):
        return kernel.doubts
    if not interprets():
        return 0
    program, size = program_with_inputs(kernel, inputs, first), kernel.n_out
    with _LOCK:
        if (program, size, often) not in _ADDRESSES:
            code = np.frombuffer(program, np.int8).ctypes.data
            _ADDRESSES[program, size, often] = found = _ENTRIES[often].address(code, len(program) // 16, size)
            _PROGRAMS[found] = program, size
        return _ADDRESSES[program, size, often]


def doubted_at(address: int) -> tuple[bytes, int] | None:
    """The program, and the number of its results, whose bounds the code at an address computes; None where it is other code."""
    return _PROGRAMS.get(address)


def program_with_inputs(kernel: Kernel, inputs: Kernel | None, first: int) -> bytes:
    """The program of a kernel that computes the inputs itself, which stand in p from `first` on."""
    return _driven(kernel.program, inputs.program, first) if inputs else kernel.program


@lru_cache(maxsize=256)
def _driven(program: bytes, inputs: bytes, first: int) -> bytes:
    return driven(program, inputs, first)


@cache
def _interpreter(optimised: bool) -> int:
    """The address of the interpreter: for every operation the lines of its value, then those of its bound."""
    for name in (*LIBM, *MEMORY):
        bind(name)
    return addresses_of({"run": loop_text({op: _block(op, label) for op, label in LABELS.items()}, "i64 %size, ")}, NEEDED, optimised)[0]


def _block(operation: int, case: str) -> tuple[str, tuple[str, str]]:
    """The lines of one operation, and where its value and its bound stand afterwards."""
    if operation == TIME:
        return "", ("%t", "0.0")
    if operation == CONST:
        new = _Lines(case, [f"%{case}.at = getelementptr i32, ptr %word, i64 2", f"%{case} = load double, ptr %{case}.at"], {})
        long = new.line(f"icmp ne i32 {new.line(f'load i32, ptr %{case}.at')}, 0")
        bound = new.line(f"select i1 {long}, double {new.rounded(f'%{case}', _ROUNDED)}, double 0.0")
        return "\n".join(new.text), (f"%{case}", bound)
    lines, names = loaded(operation, case, "[2 x double]")
    if operation in (STATE, PARAMETER):
        return "\n".join([*lines, CASES[operation].format(r=f"%{case}", **names)]), (f"%{case}", "0.0")
    new = _Lines(case, lines, {name: value for name, value in names.items() if name != "i"})
    if operation == STORE:
        new.store(names["i"], "%out", new.arithmetic("fadd", names["b"], new.doubt("b")))
        beyond = new.line(f"add i64 {names['i']}, %size")
        new.store(beyond, "%out", new.arithmetic("fsub", names["b"], new.doubt("b")))
        return "\n".join(new.text), ("0.0", "0.0")
    new.text.append(CASES[operation].format(r=f"%{case}", **names))
    bound = _bound(operation, new, f"%{case}")
    return "\n".join(new.text), (f"%{case}", bound)


class _Lines:
    """Lines in LLVM's language for one operation. The bounds of its arguments are `known`, or stand behind their values."""

    def __init__(self, case: str, text: list[str], names: dict[str, str], known: Mapping[str, str] | None = None) -> None:
        self.case, self.text, self.names, self._known, self._count = case, text, names, known, 0

    def line(self, what: str) -> str:
        """A new value."""
        self._count += 1
        name = f"%{self.case}.x{self._count}"
        self.text.append(f"{name} = {what}")
        return name

    def arithmetic(self, how: str, a: str, b: str) -> str:
        return self.line(f"{how} double {a}, {b}")

    def plus(self, *terms: str) -> str:
        found = terms[0]
        for term in terms[1:]:
            found = self.arithmetic("fadd", found, term)
        return found

    def times(self, a: str, b: str) -> str:
        return self.arithmetic("fmul", a, b)

    def size(self, a: str) -> str:
        bits = self.line(f"bitcast double {a} to i64")
        return self.line(f"bitcast i64 {self.line(f'and i64 {bits}, 9223372036854775807')} to double")

    def choice(self, how: str, a: str, b: str, yes: str, no: str) -> str:
        """One of two values, after a comparison of a and b."""
        condition = self.line(f"fcmp {how} double {a}, {b}")
        return self.line(f"select i1 {condition}, double {yes}, double {no}")

    def larger(self, a: str, b: str) -> str:
        """The larger of two sizes; the other one where one of them has no value."""
        a, b = (self.choice("ord", x, x, x, "0.0") for x in (a, b))
        return self.choice("ogt", a, b, a, b)

    def doubt(self, name: str) -> str:
        """The bound of an argument."""
        if self._known is not None:
            return self._known[name]
        field = f"%{self.case}.{name}"
        place = self.line(f"getelementptr double, ptr {field}.q, i64 1")
        return self.line(f"load double, ptr {place}")

    def store(self, index: str, where: str, value: str) -> None:
        place = self.line(f"getelementptr double, ptr {where}, i64 {index}")
        self.text.append(f"store double {value}, ptr {place}")

    def rounded(self, value: str, unit: float) -> str:
        return self.times(self.size(value), f"0x{np.float64(unit).view(np.uint64):016X}")


def bound_lines(operation: int, names: dict[str, str], doubts: Mapping[str, str], r: str) -> tuple[list[str], str]:
    """Lines for the bound of the error of a value `r`, from its arguments and their bounds by name, and the name of the bound."""
    new = _Lines(f"{r.lstrip('%')}.e", [], names, doubts)
    found = _bound(operation, new, r)
    return new.text, found


def bound_of_constant(number: float, low: int) -> float:
    """The bound of a constant; `low` are the last 32 of its bits, of which a number with few digits has none."""
    return abs(number) * _ROUNDED if low else 0.0


def _bound(operation: int, new: _Lines, r: str) -> str:
    """The bound of the error of a value."""
    a, b, c = (new.names.get(name, "") for name in "abc")
    known = {name: new.doubt(name) for name in new.names}
    if operation in (casadi.OP_ADD, casadi.OP_SUB):
        return new.plus(known["a"], known["b"], new.rounded(r, _ROUNDED))
    if operation == casadi.OP_MUL or operation in FUSED:
        terms = [new.times(new.size(b), known["a"]), new.times(new.plus(new.size(a), known["a"]), known["b"])]
        return new.plus(*terms, *([known["c"]] if c else []), new.rounded(r, _ROUNDED))
    if operation == casadi.OP_SQ:
        twice = new.plus(new.size(a), new.size(a), known["a"])
        return new.plus(new.times(twice, known["a"]), new.rounded(r, _ROUNDED))
    if operation in (casadi.OP_DIV, casadi.OP_INV):
        below = "b" if operation == casadi.OP_DIV else "a"
        error = new.times(new.size(r), known[below])
        error = new.plus(known["a"], error) if below == "b" else error
        least = new.arithmetic("fsub", new.size(b if below == "b" else a), known[below])
        carried = new.arithmetic("fdiv", error, new.choice("ogt", least, "0.0", least, "0.0"))
        return new.plus(new.choice("ogt", error, "0.0", carried, "0.0"), new.rounded(r, _ROUNDED))
    if operation in TURNING:  # a unit more than sharp at most, without two calls
        return new.plus(known["a"], new.rounded(r, _CALLED))
    if operation in (casadi.OP_NEG, casadi.OP_FABS):
        return known["a"]
    if operation == casadi.OP_TWICE:
        return new.plus(known["a"], known["a"])
    if operation in (casadi.OP_FMIN, casadi.OP_FMAX):
        apart = new.size(new.arithmetic("fsub", a, b))
        clear = new.choice("oeq", r, a, known["a"], known["b"])
        return new.choice("ogt", apart, new.plus(known["a"], known["b"]), clear, new.larger(known["a"], known["b"]))
    if operation in (casadi.OP_LT, casadi.OP_LE, casadi.OP_EQ, casadi.OP_NE):
        apart = new.size(new.arithmetic("fsub", a, b))
        return new.choice("olt", apart, new.plus(known["a"], known["b"]), "1.0", "0.0")
    if operation == casadi.OP_SIGN:
        return new.choice("olt", new.size(a), known["a"], "2.0", "0.0")
    if operation == casadi.OP_IF_ELSE_ZERO:
        chosen = new.choice("une", a, "0.0", known["b"], "0.0")
        return new.plus(chosen, new.times(new.size(b), known["a"]))
    if operation == casadi.OP_NOT:
        return known["a"]
    if operation in (casadi.OP_AND, casadi.OP_OR):
        return new.larger(known["a"], known["b"])
    return _at_both_ends(operation, new, r, known)


def _at_both_ends(operation: int, new: _Lines, r: str, known: dict[str, str]) -> str:
    """The bound of a function: how far its values are from r where one argument is moved by its own bound."""
    found = new.rounded(r, _CALLED)
    for name, doubt in known.items():
        moved = []
        for number, how in enumerate(("fadd", "fsub")):
            value = f"%{new.case}.{name}{number}"
            there = {**new.names, name: new.arithmetic(how, new.names[name], doubt)}
            new.text.append(CASES[operation].format(r=value, **there))
            moved.append(new.size(new.arithmetic("fsub", value, r)))
        found = new.plus(found, new.larger(*moved))
    return found


_ENTRIES = {often: Entries(partial(_interpreter, often), ("ptr", "i64", "i64")) for often in (False, True)}
