"""Numbers from expressions, without generating code.

A `Tape` lists the operations of some expressions, shared sub-expressions once, and runs them in any arithmetic: floats, or many digits
for zero tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import sympy
from sympy import Expr, Symbol

from chetaev.core.exact.program import Program
from chetaev.core.functions import SMOOTH, SPELLING
from chetaev.core.support.budget import tally

_LARGEST_MAGNITUDE = 20
"""Binary logarithm of the largest argument of a function in many digits. Towers of exponentials would not end."""


@dataclass(frozen=True)
class Arithmetic:
    """A kind of number: conversion of rationals, and the functions of the notation."""

    rational: Callable[[int, int], Any]
    pi: Any
    functions: Mapping[str, Callable[..., Any]]
    power: Callable[[Any, Any], Any]


def _sign(x: Any) -> int:
    return int(x > 0) - int(x < 0)


def _step(x: Any) -> Any:
    return (1 + _sign(x)) / 2


def _piecewise(u: Any, a: Any, b: Any) -> Any:
    return a if u < 0 else b


_CORNERS: dict[str, Callable[..., Any]] = {
    "abs": abs, "sign": _sign, "min": min, "max": max, "step": _step, "piecewise": _piecewise,
}  # fmt: skip
"""The corner functions in any arithmetic with comparisons."""


def _growing(function: Callable[..., float], odd: bool = False) -> Callable[..., float]:
    """`function` with infinity for values too large for a double, as in machine code: 1/cosh(1000) is zero."""

    def value(*arguments: float) -> float:
        try:
            return function(*arguments)
        except OverflowError:
            return -math.inf if odd and arguments[0] < 0 else math.inf

    return value


FLOAT = Arithmetic(
    rational=lambda p, q: p / q,
    pi=math.pi,
    functions={
        **{name: getattr(math, name) for name in SMOOTH},
        "exp": _growing(math.exp),
        "cosh": _growing(math.cosh),
        "sinh": _growing(math.sinh, odd=True),
        "atan2": math.atan2,
        **_CORNERS,
    },
    power=_growing(math.pow),
)
"""The arithmetic of doubles."""


@cache
def many_digits(digits: int) -> tuple[mpmath.MPContext, Arithmetic]:
    """An arithmetic of `digits` decimal digits with its mpmath context. Both are cached: do not change the precision of the context."""
    mp = mpmath.MPContext()
    mp.dps = digits
    functions = {name: getattr(mp, name) for name in [*SMOOTH, "atan2"]}

    def bounded(x: Any) -> None:
        if mp.mag(x) > _LARGEST_MAGNITUDE:
            raise OverflowError("too large")

    def power(base: Any, exponent: Any) -> Any:
        bounded(exponent)
        value = mp.power(base, exponent)
        if isinstance(value, mp.mpc):
            raise ValueError("not real")
        return value

    def real(function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any) -> Any:
            for x in arguments:
                bounded(x)
            value = function(*arguments)
            if isinstance(value, mp.mpc):
                raise ValueError("not real")
            return value

        return guarded

    guarded = {name: real(function) for name, function in functions.items()}
    return mp, Arithmetic(lambda p, q: mp.mpf(p) / q, +mp.pi, {**guarded, **_CORNERS}, power)


class Undefined(ArithmeticError):
    """An expression has no finite real value at this point."""


class Tape:
    """The operations that evaluate some expressions, in order.

    >>> from chetaev.core.symbols import Coordinate
    >>> x = Coordinate("x")
    >>> Tape([x ** 2 + 1, sympy.sin(x)])({x: 2.0})
    [5.0, 0.9092974268256817]
    """

    def __init__(self, expressions: Iterable[Expr], written: Callable[[Symbol], Expr | None] = lambda _: None) -> None:
        """`written` maps a symbol to the expression it stands for, or to None; such expressions are shared and not substituted."""
        self._written = written
        self._slots: dict[Expr, int] = {}
        self._leaves: list[tuple[int, Symbol]] = []
        self._constants: list[tuple[int, int, int]] = []
        self._pis: list[int] = []
        self._operations: list[tuple[int, str, tuple[int, ...]]] = []
        self._outputs: list[int] = []
        self._ends: list[int] = []
        """The number of operations after which each output is known."""
        for e in expressions:
            self._outputs.append(self._slot(e))
            self._ends.append(len(self._operations))
        self.symbols: frozenset[Symbol] = frozenset(symbol for _, symbol in self._leaves)
        tally(len(self._slots))

    def __call__(self, values: Mapping[Symbol, Any], arithmetic: Arithmetic = FLOAT) -> list[Any]:
        """The values of the expressions; `Undefined` where one has none."""
        memory: list[Any] = [None] * len(self._slots)
        for slot, symbol in self._leaves:
            memory[slot] = values[symbol]
        name = "number"
        for slot in self._pis:
            memory[slot] = arithmetic.pi
        try:
            for slot, p, q in self._constants:
                memory[slot] = arithmetic.rational(p, q)
            for slot, name, sources in self._operations:
                memory[slot] = _apply(name, [memory[i] for i in sources], arithmetic)
        except (ValueError, OverflowError, ZeroDivisionError) as cause:
            raise Undefined(f"{name}: {cause}") from cause
        found = [memory[slot] for slot in self._outputs]
        if arithmetic is FLOAT and not all(map(math.isfinite, found)):
            raise Undefined("not a finite number")
        return found

    def in_turn(self, values: Mapping[Symbol, float]) -> Iterator[float | None]:
        """The values of the expressions, one after the other; None for one without a value, or with a symbol that `values` lacks.

        `values` may gain symbols in between, such as the sign of the value before: expressions that contain their predecessors are
        evaluated in time proportional to their number.
        """
        memory: list[Any] = [None] * len(self._slots)
        for slot, p, q in self._constants:
            memory[slot] = FLOAT.rational(p, q)
        for slot in self._pis:
            memory[slot] = FLOAT.pi
        leaves, begin = dict(self._leaves), 0
        for output, end in zip(self._outputs, self._ends, strict=True):
            for slot, name, sources in self._operations[begin:end]:
                arguments = [values.get(leaves[i]) if i in leaves else memory[i] for i in sources]
                if None not in arguments:
                    with suppress(ValueError, OverflowError, ZeroDivisionError):
                        memory[slot] = _apply(name, arguments, FLOAT)
            begin = end
            found = values.get(leaves[output]) if output in leaves else memory[output]
            yield found if found is not None and math.isfinite(found) else None

    def program(self, order: Sequence[Symbol] | None = None) -> tuple[Program, list[Symbol]]:
        """The operations as a program for exact arithmetic, and its input symbols. Numbers stay exact; pi stays a constant."""
        symbols = [symbol for _, symbol in self._leaves] if order is None else list(order)
        place = {z: k for k, z in enumerate(symbols)}
        found, count = Program(len(symbols)), len(self._slots)
        found.positive = {k for k, z in enumerate(symbols) if z.is_positive}
        for slot, symbol in self._leaves:
            found.add(("input", slot, place[symbol], None))
        for slot in self._pis:
            found.add(("constant", slot, "pi", None))
        exponents = {slot: Fraction(p, q) for slot, p, q in self._constants}
        for slot, number in exponents.items():
            found.add(("number", slot, number, None))
        for slot, name, sources in self._operations:
            if name in ("pow", "power") and sources[1] in exponents:
                found.add(("power", slot, sources[0], exponents[sources[1]]))
                continue
            if name == "piecewise":
                found.add_choice(slot, count, sources)
                count += 5
                continue
            last = sources[0]
            for k, source in enumerate(sources[1:], 2):
                target = slot if k == len(sources) else count
                count += target != slot
                found.add((name, target, last, source))
                last = target
            if len(sources) == 1:
                found.add((name, slot, last, None))
        found.outputs = list(self._outputs)
        return found, symbols

    def _slot(self, root: Expr) -> int:
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in self._slots:
                continue
            meaning = self._written(node) if isinstance(node, Symbol) else None
            inside = node.args if meaning is None else (meaning,)
            if not ready and inside:
                stack.append((node, True))
                stack += [(a, False) for a in inside]
            elif meaning is not None:
                self._slots[node] = self._slots[meaning]
            else:
                self._record(node)
        return self._slots[root]

    def _record(self, node: Expr) -> None:
        slot = len(self._slots)
        self._slots[node] = slot
        if isinstance(node, Symbol):
            self._leaves.append((slot, node))
        elif node.is_Rational:
            self._constants.append((slot, node.p, node.q))
        elif node is sympy.pi:
            self._pis.append(slot)
        elif node is sympy.E:
            self._constants.append((len(self._slots), 1, 1))
            self._slots[sympy.Dummy()] = len(self._slots)
            self._operations.append((slot, "exp", (slot + 1,)))
        else:
            self._operations.append((slot, _operation(node), tuple(self._slots[a] for a in node.args)))


def value(expression: Expr, values: Mapping[Symbol, Any], arithmetic: Arithmetic = FLOAT) -> Any:
    """The value of one expression."""
    return Tape([expression])(values, arithmetic)[0]


def _operation(node: Expr) -> str:
    if node.is_Add:
        return "add"
    if node.is_Mul:
        return "mul"
    if node.is_Pow:
        return "pow" if not node.exp.is_Integer else "power"
    if type(node) in SPELLING:
        return SPELLING[type(node)]
    raise TypeError(f"{type(node).__name__} has no value here")


def _apply(name: str, arguments: Sequence[Any], arithmetic: Arithmetic) -> Any:
    if name == "add":
        return sum(arguments[1:], arguments[0])
    if name == "mul":
        return math.prod(arguments[1:], start=arguments[0])
    if name == "power":
        base, exponent = arguments
        return base ** int(exponent)
    if name == "pow":
        return arithmetic.power(*arguments)
    return arithmetic.functions[name](*arguments)
