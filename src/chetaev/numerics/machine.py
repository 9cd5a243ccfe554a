"""Machine code from a CasADi graph, without a C compiler.

An SX function already lists its operations in order: the instruction tape. Each instruction becomes a line of LLVM's language, LLVM makes
machine code of the lines, and a compiled stepping loop calls it by its address. What the tape computes is kept to the letter: a product and
a sum may fuse into one rounding (`contract`), nothing is reassociated, and NaN and infinity travel as they do in C. Only a division by
something that depends on p alone becomes a product with its inverse: that does not have to wait for the state.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import casadi
import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import ArrayLike, NDArray

_NAME = "kernel"
_LONGEST_POWER = 128
"""Integer and half-integer exponents up to here are multiplications; beyond, libm's `pow` is as fast and more exact."""

_INPUTS = ("%t", "%y", "%p")

_LARGE = 20_000
"""Optimised code is twice as fast, but above so many instructions takes too long to generate: in the worst case, a long chain of
operations, 1 s at 15 000 instructions, 10 s at 45 000 and 80 s at 100 000. Plain code takes half a second at 100 000."""


# the instructions, as lines of LLVM's language: arguments {a} and {b}, result {r}

_LIBM = {
    **dict.fromkeys("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log log1p expm1 erf".split(), 1),
    **dict.fromkeys("pow atan2 hypot fmod remainder".split(), 2),
}
_INTRINSICS = {**dict.fromkeys("sqrt fabs floor ceil".split(), 1), "copysign": 2}

_COMPARE = "{{r}}.i = fcmp {how} double {{a}}, {{b}}\n{{r}} = uitofp i1 {{r}}.i to double"
_LOGIC = (
    "{{r}}.a = fcmp une double {{a}}, 0.0\n{{r}}.b = fcmp une double {{b}}, 0.0\n"
    "{{r}}.i = {how} i1 {{r}}.a, {{r}}.b\n{{r}} = uitofp i1 {{r}}.i to double"
)
# C's fmin and fmax: the other argument where one is NaN
_CHOICE = (
    "{{r}}.n = fcmp uno double {{b}}, {{b}}\n{{r}}.c = fcmp {how} double {{a}}, {{b}}\n"
    "{{r}}.i = or i1 {{r}}.n, {{r}}.c\n{{r}} = select i1 {{r}}.i, double {{a}}, double {{b}}"
)


def _call(name: str, arguments: int) -> str:
    return f"{{r}} = call double @{name}({', '.join(['double {a}', 'double {b}'][:arguments])})"


def _declaration(name: str, arguments: int, attributes: str = "") -> str:
    return f"declare double @{name}({', '.join(['double'] * arguments)}){attributes}"


def _operation(name: str) -> int:
    return int(getattr(casadi, f"OP_{name.upper()}"))


_LINES: dict[int, str] = {
    casadi.OP_ADD: "{r} = fadd contract double {a}, {b}",
    casadi.OP_SUB: "{r} = fsub contract double {a}, {b}",
    casadi.OP_MUL: "{r} = fmul contract double {a}, {b}",
    casadi.OP_DIV: "{r} = fdiv double {a}, {b}",
    casadi.OP_NEG: "{r} = fneg double {a}",
    casadi.OP_SQ: "{r} = fmul contract double {a}, {a}",
    casadi.OP_TWICE: "{r} = fadd contract double {a}, {a}",
    casadi.OP_INV: "{r} = fdiv double 1.0, {a}",
    casadi.OP_LT: _COMPARE.format(how="olt"),
    casadi.OP_LE: _COMPARE.format(how="ole"),
    casadi.OP_EQ: _COMPARE.format(how="oeq"),
    casadi.OP_NE: _COMPARE.format(how="une"),
    casadi.OP_NOT: "{r}.i = fcmp oeq double {a}, 0.0\n{r} = uitofp i1 {r}.i to double",
    casadi.OP_AND: _LOGIC.format(how="and"),
    casadi.OP_OR: _LOGIC.format(how="or"),
    casadi.OP_IF_ELSE_ZERO: "{r}.i = fcmp une double {a}, 0.0\n{r} = select i1 {r}.i, double {b}, double 0.0",
    casadi.OP_FMIN: _CHOICE.format(how="olt"),
    casadi.OP_FMAX: _CHOICE.format(how="ogt"),
    # -1, 1, or the argument itself: zero and NaN are their own signs
    casadi.OP_SIGN: (
        "{r}.p = fcmp ogt double {a}, 0.0\n{r}.q = select i1 {r}.p, double 1.0, double {a}\n"
        "{r}.n = fcmp olt double {a}, 0.0\n{r} = select i1 {r}.n, double -1.0, double {r}.q"
    ),
    **{_operation(name): _call(name, arguments) for name, arguments in _LIBM.items()},
    **{_operation(name): _call(f"llvm.{name}.f64", arguments) for name, arguments in _INTRINSICS.items()},
}

_DECLARATIONS: dict[int, str] = {
    **{_operation(name): _declaration(name, arguments, " nounwind willreturn readnone") for name, arguments in _LIBM.items()},
    **{_operation(name): _declaration(f"llvm.{name}.f64", arguments) for name, arguments in _INTRINSICS.items()},
}
"""What an operation calls; an operation without an entry is arithmetic."""

_CONST, _DIV, _INV, _MUL = (int(operation) for operation in (casadi.OP_CONST, casadi.OP_DIV, casadi.OP_INV, casadi.OP_MUL))
_PLAIN = _LINES.keys() - _DECLARATIONS.keys()
"""Operations that are one line whatever their arguments are."""


# kernels


@dataclass(frozen=True)
class Kernel:
    r"""Machine code of $(t, y, p) \mapsto$ `out`, with the C signature `void kernel(double t, double* y, double* p, double* out)`.

    `address` is for compiled loops (`call_kernel`); from Python a kernel is called like a function. `out` must not overlap what is read of
    `y` and `p`. The code lives as long as the process, so that no address is ever left without it, and equal texts share it. A kernel
    pickles as its text and is compiled again where it is loaded, for the processor there.
    """

    text: str = field(repr=False)
    n_state: int
    n_parameters: int
    n_out: int
    instructions: int
    hot: bool = field(default=True, repr=False)
    address: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", _machine_code(self.text, self.hot and self.instructions <= _LARGE))

    def __call__(self, t: float, y: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
        state, parameters = _vector("y", y, self.n_state), _vector("p", p, self.n_parameters)
        out = np.empty(self.n_out)
        self._entry(float(t), state.ctypes.data, parameters.ctypes.data, out.ctypes.data)
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.text, self.n_state, self.n_parameters, self.n_out, self.instructions, self.hot)

    @cached_property
    def _entry(self) -> Callable[..., None]:
        return ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(self.address)


def compile_kernel(function: casadi.Function, hot: bool = True) -> Kernel:
    """The machine code of an SX function of $(t, y, p)$ with one output vector; structural zeros of the output are written as zeros.

    Code that is not `hot`, called once a step and not once a stage, is made in less time and runs a little slower.

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
    return Kernel(_text(function, out), n_state, n_parameters, out.numel(), function.n_instructions(), hot)


def _call_kernel(typingctx: Any, address: Any, t: Any, y: Any, p: Any, out: Any) -> tuple[Any, Callable[..., Any]]:
    pointer = types.CPointer(types.float64)
    for name, kind in (("y", y), ("p", p), ("out", out)):
        if kind != pointer and not (isinstance(kind, types.ArrayCTypes) and kind.dtype == types.float64):
            raise TypingError(f"call_kernel takes {name}.ctypes of an array of float64 as {name}, not {kind}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        kind = ir.FunctionType(ir.VoidType(), [double, *[double.as_pointer()] * 3])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.intp, types.float64, pointer, pointer, pointer), generate


call_kernel: Callable[[int, float, Any, Any, Any], None] = intrinsic(_call_kernel)
"""`call_kernel(kernel.address, t, y.ctypes, p.ctypes, out.ctypes)` inside a function compiled by numba.

The arrays hold doubles, are contiguous and long enough, and `out` overlaps nothing that the kernel reads: none of this is checked. The
address is an argument and not part of the caller's code, so the caller can be cached on disk and serves every kernel.
"""


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


# from tape to text


def _text(function: casadi.Function, out: casadi.Sparsity) -> str:
    """The tape in static single assignment: a work slot is written many times, each time under a new name."""
    places = out.find()
    lines = [_store("0.0", i) for i in sorted(set(range(out.numel())) - set(places))]
    held: dict[int, str] = {}
    called: set[int] = set()
    steady: dict[str, str] = {}  # values that depend on p alone, with their inverses where something was divided by them
    kind, inputs, outputs = function.instruction_id, function.instruction_input, function.instruction_output
    for k in range(function.n_instructions()):
        operation, target, result = kind(k), outputs(k), f"%v{k}"
        if operation == _CONST:
            held[target[0]] = _constant(function.instruction_constant(k))
            continue
        source = inputs(k)
        if operation in _PLAIN:
            a, b = held[source[0]], held[source[-1]]
            if operation == _DIV and b in steady:
                inverse = steady[b] or f"{result}.inverse"
                if not steady[b]:
                    lines.append(_LINES[_INV].format(r=inverse, a=b))
                    steady[b] = inverse
                lines.append(_LINES[_MUL].format(r=result, a=a, b=inverse))
            else:
                lines.append(_LINES[operation].format(r=result, a=a, b=b))
            held[target[0]] = result
            if (a in steady or b in steady) and all(x in steady or x.startswith("0x") for x in (a, b)):
                steady[result] = ""
        elif operation == casadi.OP_OUTPUT:
            lines.append(_store(held[source[0]], places[target[1]]))
        elif operation == casadi.OP_INPUT and source[0] == 0:
            held[target[0]] = "%t"
        elif operation == casadi.OP_INPUT:
            held[target[0]] = result
            lines.append(f"{result}.at = getelementptr double, ptr {_INPUTS[source[0]]}, i64 {source[1]}")
            lines.append(f"{result} = load double, ptr {result}.at")
            if source[0] == 2:
                steady[result] = ""
        elif operation in (casadi.OP_ASSIGN, casadi.OP_LIFT):
            held[target[0]] = held[source[0]]
        else:
            arguments = [held[slot] for slot in source]
            line, operation = _line(operation, arguments)
            lines.append(line.format(r=result, a=arguments[0], b=arguments[-1]))
            held[target[0]] = result
            called.add(operation)
    head = [_DECLARATIONS[operation] for operation in sorted(called & _DECLARATIONS.keys())]
    head.append(
        f"define void @{_NAME}(double %t, ptr noalias readonly %y, ptr noalias readonly %p, ptr noalias writeonly %out) nounwind {{"
    )
    return "\n".join([*head, *lines, "ret void", "}", ""])


def _line(operation: int, arguments: list[str]) -> tuple[str, int]:
    """How an instruction is written, and the operation whose declaration it needs."""
    if operation in (casadi.OP_POW, casadi.OP_CONSTPOW):
        exponent = _number(arguments[1])
        if exponent is not None and abs(exponent) <= _LONGEST_POWER and float(2 * exponent).is_integer():
            return _products(exponent), casadi.OP_SQRT
        operation = casadi.OP_POW
    if operation not in _LINES:
        raise ValueError(f"the casadi operation {_spelling(operation)} cannot be compiled to machine code")
    return _LINES[operation], operation


@cache
def _products(exponent: float) -> str:
    r"""A power as products of repeated squares, with a square root for a half: $u^{-5/2} = 1/(u^2\sqrt u)$."""
    lines: list[str] = []

    def new(instruction: str) -> str:
        lines.append(f"{{r}}.{len(lines)} = {instruction}")
        return f"{{r}}.{len(lines) - 1}"

    # (-0)^(-1/2) is +inf: a base under a root is not -0
    base = "{a}" if exponent.is_integer() else new("fadd double {a}, 0.0")
    product, square, left = "1.0", base, int(abs(exponent))
    while left:
        if left & 1:
            product = new(f"fmul contract double {product}, {square}")
        left >>= 1
        if left:
            square = new(f"fmul contract double {square}, {square}")
    if not exponent.is_integer():
        root = new(f"call double @llvm.sqrt.f64(double {base})")
        product = new(f"fmul contract double {product}, {root}")
    lines.append(f"{{r}} = fdiv double 1.0, {product}" if exponent < 0 else f"{{r}} = fmul double {product}, 1.0")
    return "\n".join(lines)


def _store(value: str, place: int) -> str:
    return f"%out.{place} = getelementptr double, ptr %out, i64 {place}\nstore double {value}, ptr %out.{place}"


def _constant(number: float) -> str:
    """The bits of a double, the only spelling that LLVM reads back exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', number))[0]:016X}"


def _number(operand: str) -> float | None:
    """The value of an operand that is a constant."""
    return float(struct.unpack(">d", bytes.fromhex(operand[2:]))[0]) if operand.startswith("0x") else None


def _spelling(operation: int) -> str:
    return next((name for name in dir(casadi) if name.startswith("OP_") and getattr(casadi, name) == operation), str(operation))


# from text to machine code


_LOCK = threading.Lock()
_ADDRESSES: dict[str, int] = {}


def _machine_code(text: str, optimised: bool) -> int:
    """The address of a text's machine code, compiled the first time it is asked for.

    All kernels live in one engine: a small one takes 8 KiB there, and a hundred times that in an engine of its own. Each is parsed in a
    context of its own, because numba may be compiling in the global one at this moment.
    """
    digest = hashlib.sha256(text.encode()).hexdigest() + "_plain" * (not optimised)
    with _LOCK:
        if digest not in _ADDRESSES:
            engine, symbol = _engine(), f"{_NAME}_{digest}"
            with llvm.create_context() as context, llvm.parse_assembly(_spelled_for_this_llvm(text), context) as module:
                for name in [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]:
                    _bind(name)
                module.triple = llvm.get_process_triple()
                module.get_function(_NAME).name = symbol
                code = _target(2 if optimised else 0).emit_object(module)
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            engine.finalize_object()
            _ADDRESSES[digest] = int(engine.get_function_address(symbol))
        return _ADDRESSES[digest]


def _spelled_for_this_llvm(text: str) -> str:
    """Until version 15 pointers had types (llvmlite 0.43 and 0.44); all of ours point to doubles."""
    return text if llvm.llvm_version_info[0] > 15 else text.replace(" ptr ", " double* ")


@cache
def _engine() -> Any:
    return llvm.create_mcjit_compiler(llvm.parse_assembly("", llvm.create_context()), _new_target(0))


@cache
def _target(level: int) -> Any:
    return _new_target(level)


def _new_target(level: int) -> Any:
    """This processor, with the models of memory that numba's own engine uses on it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # the processor does not tell
        features = ""
    target = llvm.Target.from_triple(llvm.get_process_triple())
    reloc = "static" if target.name.startswith("x86") else "default"
    return target.create_target_machine(llvm.get_host_cpu_name(), features, level, reloc, "jitdefault", jit=True)


_LIBRARIES: dict[str, tuple[str | None, ...]] = {"win32": ("ucrtbase", "msvcrt"), "darwin": (None, "/usr/lib/libSystem.B.dylib")}
"""Where the functions of libm are, when they are not already in the process."""

_FUSED = {"linux": "sincos", "darwin": "__sincos_stret"}
"""What LLVM calls where the tape has both sin and cos of one argument."""


def _bind(name: str) -> None:
    """Makes sure that a called function exists: the engine ends the process when it meets one that does not."""
    _find(name)
    if name in ("sin", "cos") and sys.platform in _FUSED:
        _find(_FUSED[sys.platform])


def _find(name: str) -> None:
    if llvm.address_of_symbol(name):
        return
    for library in _LIBRARIES.get(sys.platform, (None, "libm.so.6", "libm.so")):
        try:
            address = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        llvm.add_symbol(name, address)
        return
    raise RuntimeError(f"the function {name} is neither in this process nor in the mathematical library of this system ({sys.platform})")
