"""The instruction tape of a CasADi graph as text for LLVM.

An SX function already lists its operations in order: the tape. Each instruction becomes a line of LLVM's language. What the tape computes
is kept to the letter: nothing is reassociated, NaN and infinity travel as they do in C. Only a division by something that depends on p
alone becomes a product with its inverse, which does not have to wait for the state; and a product that is added once, and not used
otherwise, is rounded together with the sum (`fmuladd`, where the processor can). That is decided in the text and not left to LLVM, so that
code made in a hurry and code made with care compute the same, to the last bit.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache

import casadi

NAME = "kernel"
"""What the function is called in the text."""
LIBM = {
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


LINES: dict[int, str] = {
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
    **{_operation(name): _call(name, arguments) for name, arguments in LIBM.items()},
    **{_operation(name): _call(f"llvm.{name}.f64", arguments) for name, arguments in _INTRINSICS.items()},
}

_DECLARATIONS: dict[int, str] = {
    **{_operation(name): _declaration(name, arguments, " nounwind willreturn readnone") for name, arguments in LIBM.items()},
    **{_operation(name): _declaration(f"llvm.{name}.f64", arguments) for name, arguments in _INTRINSICS.items()},
}
"""What an operation calls; an operation without an entry is arithmetic."""

_CONST, _DIV, _INV, _MUL, _SQ, _ADD, _SUB = (_operation(name) for name in "const div inv mul sq add sub".split())
_FUSED_CALL = "llvm.fmuladd.f64"
_FUSED_SUM = f"{{r}} = call double @{_FUSED_CALL}(double {{x}}, double {{y}}, double {{z}})"
_FUSED_DECLARATION = f"declare double @{_FUSED_CALL}(double, double, double)"
_PLAIN = LINES.keys() - _DECLARATIONS.keys()
"""Operations that are one line whatever their arguments are."""

_LONGEST_POWER = 128
"""Integer and half-integer exponents up to here are multiplications; beyond, libm's `pow` is as fast and more exact."""

_INPUTS = ("%t", "%y", "%p")


Instruction = tuple[int, list[int], list[int]]
"""Operation, slots or place it writes to, slots or place it reads from."""


def text_of(function: casadi.Function, out: casadi.Sparsity, fusing: bool) -> str:
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
                    lines.append(LINES[_INV].format(r=inverse, a=b))
                    steady[b] = inverse
                operation, b = _MUL, inverse
            if k in added and operation in (_MUL, _SQ):
                waiting[result] = a, b
            elif a in waiting or b in waiting:
                lines += _fused(operation, result, a, b, waiting)
            else:
                lines.append(LINES[operation].format(r=result, a=a, b=b))
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
    head.append(f"define void @{NAME}(double %t, ptr noalias readonly %y, ptr noalias readonly %p, ptr noalias writeonly %out) nounwind {{")
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
        before = [LINES[_MUL].format(r=b, a=waiting[b][0], b=waiting[b][1])] if b in waiting else []
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
    if operation not in LINES:
        raise ValueError(f"the casadi operation {_spelling(operation)} cannot be compiled to machine code")
    return LINES[operation], operation


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
