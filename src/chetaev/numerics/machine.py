"""Machine code from a CasADi graph, without a C compiler.

An SX function already lists its operations in order: the instruction tape. Each instruction becomes a line of LLVM's language, LLVM makes
machine code of the lines, and a compiled stepping loop calls it by its address. What the tape computes is kept to the letter: nothing is
reassociated, and NaN and infinity travel as they do in C. Only a division by something that depends on p alone becomes a product with its
inverse, which does not have to wait for the state; and a product that is added once, and not used otherwise, is rounded together with the
sum (`fmuladd`, where the processor can). That is decided in the text and not left to LLVM, so that code made in a hurry and code made with
care compute the same, to the last bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
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

_BLOCK = 64
"""Lines between two jumps in plain code."""
_SMALL = 200
"""Up to so many instructions optimised code is made in a few milliseconds: hot code is not worth a first try with plain code then, and code
that is called once a step is worth being optimised for long runs."""


# the instructions, as lines of LLVM's language: arguments {a} and {b}, result {r}

_LIBM = {
    **dict.fromkeys("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log log1p expm1 erf".split(), 1),
    **dict.fromkeys("pow atan2 hypot fmod remainder".split(), 2),
}
_INTRINSICS = {**dict.fromkeys("sqrt floor ceil".split(), 1), "copysign": 2}

_COMPARE = "{{r}}.i = fcmp {how} double {{a}}, {{b}}\n{{r}} = uitofp i1 {{r}}.i to double"
_LOGIC = (
    "{{r}}.a = fcmp une double {{a}}, 0.0\n{{r}}.b = fcmp une double {{b}}, 0.0\n"
    "{{r}}.i = {how} i1 {{r}}.a, {{r}}.b\n{{r}} = uitofp i1 {{r}}.i to double"
)
# C's fmin and fmax: the other argument where one is NaN. One choice after the other, because plain code is made faster from that.
_CHOICE = (
    "{{r}}.c = fcmp {how} double {{a}}, {{b}}\n{{r}}.s = select i1 {{r}}.c, double {{a}}, double {{b}}\n"
    "{{r}}.n = fcmp uno double {{b}}, {{b}}\n{{r}} = select i1 {{r}}.n, double {{a}}, double {{r}}.s"
)


def _call(name: str, arguments: int) -> str:
    return f"{{r}} = call double @{name}({', '.join(['double {a}', 'double {b}'][:arguments])})"


def _declaration(name: str, arguments: int, attributes: str = "") -> str:
    return f"declare double @{name}({', '.join(['double'] * arguments)}){attributes}"


def _operation(name: str) -> int:
    return int(getattr(casadi, f"OP_{name.upper()}"))


_LINES: dict[int, str] = {
    casadi.OP_ADD: "{r} = fadd double {a}, {b}",
    casadi.OP_SUB: "{r} = fsub double {a}, {b}",
    casadi.OP_MUL: "{r} = fmul double {a}, {b}",
    casadi.OP_DIV: "{r} = fdiv double {a}, {b}",
    casadi.OP_NEG: "{r} = fneg double {a}",
    casadi.OP_SQ: "{r} = fmul double {a}, {a}",
    casadi.OP_TWICE: "{r} = fadd double {a}, {a}",
    casadi.OP_INV: "{r} = fdiv double 1.0, {a}",
    # the bits without the sign: plain code is made from that in half the time of LLVM's own function
    casadi.OP_FABS: ("{r}.b = bitcast double {a} to i64\n{r}.m = and i64 {r}.b, 9223372036854775807\n{r} = bitcast i64 {r}.m to double"),
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

_CONST, _DIV, _INV, _MUL, _SQ, _ADD, _SUB = (_operation(name) for name in "const div inv mul sq add sub".split())
_FUSED_CALL = "llvm.fmuladd.f64"
_FUSED_SUM = f"{{r}} = call double @{_FUSED_CALL}(double {{x}}, double {{y}}, double {{z}})"
_FUSED_DECLARATION = f"declare double @{_FUSED_CALL}(double, double, double)"
_PLAIN = _LINES.keys() - _DECLARATIONS.keys()
"""Operations that are one line whatever their arguments are."""


# kernels


@dataclass(frozen=True)
class Kernel:
    r"""Machine code of $(t, y, p) \mapsto$ `out`, with the C signature `void kernel(double t, double* y, double* p, double* out)`.

    `address` is for compiled loops (`call_kernel`); from Python a kernel is called like a function. `out` must not overlap what is read of
    `y` and `p`. The code is made when it is asked for, and lives as long as the process, so that no address is ever left without it; equal
    texts share it. `early` is an address for few calls: of code that computes the same to the last bit, made in a fraction of the time. A
    kernel pickles as its text and is compiled again where it is loaded, for the processor there.
    """

    text: str = field(repr=False)
    n_state: int
    n_parameters: int
    n_out: int
    instructions: int
    hot: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        for name in _CALLED.findall(self.text):
            _bind(name)

    @cached_property
    def address(self) -> int:
        """The address of the code for many calls."""
        return _machine_code(self.text, self._optimised)

    @property
    def early(self) -> int:
        """The address of the code for few calls."""
        return self._plain if self.provisional else self.address

    @property
    def provisional(self) -> bool:
        """Whether there is other code for many calls than for few: not if it is there already, or made as fast."""
        sooner = not self.hot or self.instructions > _SMALL
        return "address" not in self.__dict__ and self._optimised and sooner and _SAME_BITS

    @property
    def _optimised(self) -> bool:
        return self.instructions <= (_LARGE if self.hot else _SMALL if _SAME_BITS else 0)

    @cached_property
    def _plain(self) -> int:
        return _machine_code(self.text, False)

    def __call__(self, t: float, y: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
        state, parameters = _vector("y", y, self.n_state), _vector("p", p, self.n_parameters)
        out = np.empty(self.n_out)
        self._entry(float(t), state.ctypes.data, parameters.ctypes.data, out.ctypes.data)
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.text, self.n_state, self.n_parameters, self.n_out, self.instructions, self.hot)

    @cached_property
    def _entry(self) -> Callable[..., None]:
        return ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(self.early)


def compile_kernel(function: casadi.Function, hot: bool = True) -> Kernel:
    """The machine code of an SX function of $(t, y, p)$ with one output vector; structural zeros of the output are written as zeros.

    Code that is not `hot`, called once a step and not once a stage, is optimised only if it is small, and for many calls.

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
    text = _text(function, out, fusing=hot and instructions <= _LARGE)
    return Kernel(text, n_state, n_parameters, out.numel(), instructions, hot)


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


Instruction = tuple[int, list[int], list[int]]
"""Operation, slots or place it writes to, slots or place it reads from."""


def _text(function: casadi.Function, out: casadi.Sparsity, fusing: bool) -> str:
    """The tape in static single assignment: a work slot is written many times, each time under a new name."""
    places = out.find()
    lines = [_store("0.0", i) for i in sorted(set(range(out.numel())) - set(places))]
    tape = _tape(function)
    added = _added_once(tape) if fusing else frozenset()
    held: dict[int, str] = {}
    called: set[int] = set()
    steady: dict[str, str] = {}  # values that depend on p alone, with their inverses where something was divided by them
    waiting: dict[str, tuple[str, str]] = {}  # products that wait for their sum
    for k, (operation, target, source) in enumerate(tape):
        result = f"%v{k}"
        if operation == _CONST:
            held[target[0]] = _constant(function.instruction_constant(k))
        elif operation in _PLAIN:
            a, b = held[source[0]], held[source[-1]]
            held[target[0]] = result
            if (a in steady or b in steady) and all(x in steady or x.startswith("0x") for x in (a, b)):
                steady[result] = ""
            if operation == _DIV and b in steady:
                inverse = steady[b] or f"{result}.inverse"
                if not steady[b]:
                    lines.append(_LINES[_INV].format(r=inverse, a=b))
                    steady[b] = inverse
                operation, b = _MUL, inverse
            if k in added and operation in (_MUL, _SQ):
                waiting[result] = a, b
            elif a in waiting or b in waiting:
                lines += _fused(operation, result, a, b, waiting)
            else:
                lines.append(_LINES[operation].format(r=result, a=a, b=b))
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
    head += [_FUSED_DECLARATION] if waiting else []
    head.append(
        f"define void @{_NAME}(double %t, ptr noalias readonly %y, ptr noalias readonly %p, ptr noalias writeonly %out) nounwind {{"
    )
    return "\n".join([*head, *lines, "ret void", "}", ""])


def _tape(function: casadi.Function) -> list[Instruction]:
    kind, inputs, outputs = function.instruction_id, function.instruction_input, function.instruction_output
    return [(kind(k), outputs(k), inputs(k)) for k in range(function.n_instructions())]


def _added_once(tape: Sequence[Instruction]) -> frozenset[int]:
    """The instructions whose result is used once, by a sum or a difference."""
    written: dict[int, int] = {}
    users: dict[int, int] = {}  # the operation that uses a result; -1 for several, or another kind
    for k, (operation, target, source) in enumerate(tape):
        if operation not in (casadi.OP_INPUT, _CONST):
            for slot in source:
                users[written[slot]] = -1 if written[slot] in users else operation
        if operation != casadi.OP_OUTPUT:
            written[target[0]] = k
    return frozenset(k for k, operation in users.items() if operation in (_ADD, _SUB))


def _fused(operation: int, result: str, a: str, b: str, waiting: Mapping[str, tuple[str, str]]) -> list[str]:
    """A sum or difference that takes up one product; if both are products, the second one is rounded by itself."""
    if a in waiting:
        x, y = waiting[a]
        before = [_LINES[_MUL].format(r=b, a=waiting[b][0], b=waiting[b][1])] if b in waiting else []
        if operation == _ADD:
            return [*before, _FUSED_SUM.format(r=result, x=x, y=y, z=b)]
        return [*before, f"{result}.n = fneg double {b}", _FUSED_SUM.format(r=result, x=x, y=y, z=f"{result}.n")]
    x, y = waiting[b]
    if operation == _ADD:
        return [_FUSED_SUM.format(r=result, x=x, y=y, z=a)]
    return [f"{result}.n = fneg double {x}", _FUSED_SUM.format(r=result, x=f"{result}.n", y=y, z=a)]


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
            product = new(f"fmul double {product}, {square}")
        left >>= 1
        if left:
            square = new(f"fmul double {square}, {square}")
    if not exponent.is_integer():
        root = new(f"call double @llvm.sqrt.f64(double {base})")
        product = new(f"fmul double {product}, {root}")
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
            code = text if optimised else _in_blocks(text)
            _ADDRESSES[digest] = _compiled(code, f"{_NAME}_{digest}", 2 if optimised else 0)
        return _ADDRESSES[digest]


def _in_blocks(text: str) -> str:
    """A text with a jump to the next line here and there: plain code is made by blocks, in a time that grows like their length squared."""
    head, opening, body = text.partition("{\n")
    end = "ret void\n}\n"
    if not body.endswith(end):
        return text
    lines = body.removesuffix(end).splitlines()
    blocks = ["\n".join(lines[k : k + _BLOCK]) for k in range(0, len(lines), _BLOCK)]
    joined = "".join(f"{block}\nbr label %block{k}\nblock{k}:\n" for k, block in enumerate(blocks))
    return f"{head}{opening}{joined}{end}"


def _compiled(text: str, symbol: str, level: int) -> int:
    engine = _engine()
    with llvm.create_context() as context, llvm.parse_assembly(_spelled_for_this_llvm(text), context) as module:
        module.triple = llvm.get_process_triple()
        module.get_function(_NAME).name = symbol
        code = _target(level).emit_object(module)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return int(engine.get_function_address(symbol))


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

_CALLED = re.compile(r"^declare double @(\w+)\(", re.MULTILINE)
"""Names of functions of libm in a text; those of LLVM have dots."""

_FUSED = {"linux": "sincos", "darwin": "__sincos_stret"}
"""What LLVM calls where the tape has both sin and cos of one argument."""


_SAME_BITS = sys.platform == "linux"
"""Whether that function rounds like sine and cosine by themselves, which plain code calls."""


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
