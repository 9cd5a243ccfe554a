"""Expressions as lists of instructions, the form in which exact and many-digit arithmetic evaluate them.

A line is `(operation, target, first, second)`. The last two entries depend on the operation:

| operation | first, second |
|---|---|
| `input` | number of the input |
| `number` | a `Fraction` |
| `constant` | name of a transcendental constant (`pi`), or a `Compound` |
| `undefined` | nothing: no finite number |
| `add sub mul div` | slots |
| `neg sq twice inv assign` | slot |
| `power` | slot, a `Fraction` as exponent |
| `pow` | slots of base and exponent |
| `less` | slots: 1 where the first is smaller (or not larger), 0 elsewhere |
| `equal` | slots: 1 where both are equal |
| `not` | slot: 1 minus it |
| `where` | slots of a condition (0 or 1) and a value: their product |
| a function of the notation | slots |
| `log atan asin acos` of a number | slot, the number as a text |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import mpmath

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "min": min,
    "max": max,
    "less": lambda a, b: int(a < b),
    "equal": lambda a, b: int(a == b),
    "where": lambda a, b: b if a else a * 0,
    "neg": lambda a, _: -a,
    "sq": lambda a, _: a * a,
    "twice": lambda a, _: a + a,
    "inv": lambda a, _: 1 / a,
    "abs": lambda a, _: abs(a),
    "sign": lambda a, _: (a > 0) - (a < 0),
    "step": lambda a, _: (1 + (a > 0) - (a < 0)) * 0.5,
    "assign": lambda a, _: a,
    "not": lambda a, _: 1 - a,
}
"""Operations that mpmath's context does not have under the same name; functions of one argument ignore the second."""
_TWO_ARGUMENTS = frozenset({"atan2"})
"""Functions of mpmath's context with two arguments."""

Line = tuple[str, int, Any, Any]

_FRACTION_AGREEMENT = 2**51
"""A double is read as a simple fraction if the two agree to one part in 2^51, two units in the last place."""
_LARGEST_FRACTION = 2**36
"""Numerator times denominator of a simple fraction, at most. A random double is that near to one with a chance of 2^36 / 2^51."""
_MOST_BITS = 256
"""Bits of the largest argument of a function with many digits. exp, sin and cosh use that many extra bits, and the arguments of towers such
as exp(-exp(x^2)) have more bits than memory can hold."""


@dataclass
class Program:
    """Instructions that compute some outputs from some inputs."""

    inputs: int
    lines: list[Line] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    """The slot of each output."""
    roots: bool = False
    """Whether the value depends on branches of roots, so that an identity may hold at some of the points only."""
    corners: bool = False
    """Whether sign, abs, min, max or a comparison occurs: then a slope of zero does not mean that nothing changes."""
    _numbers: dict[int, Fraction] = field(default_factory=dict, repr=False, compare=False)
    """Slots that hold numbers at present."""
    positive: set[int] = field(default_factory=set)
    """Inputs that stand for positive numbers: in the field, for squares."""

    @cached_property
    def needs_exponents(self) -> bool:
        """Whether a function reads its argument as an exponent, or a root is not a power of a square root. Ask only complete programs."""
        return any(
            operation not in _RESIDUES_OF_P
            or (operation == "power" and second.denominator & (second.denominator - 1))
            or (isinstance(first, Compound) and first.program.needs_exponents)
            for operation, _, first, second in self.lines
        )

    def add(self, line: Line) -> None:
        """Append an instruction."""
        operation, target, first, second = line
        if operation in _OF_NUMBERS and first in self._numbers:
            line = (operation, target, first, str(self._numbers[first]))
        if operation == "number":
            self._numbers[target] = first
        elif self._numbers:
            self._numbers.pop(target, None)
        self.lines.append(line)
        if isinstance(first, Compound):
            self.roots, self.corners = self.roots or first.program.roots, self.corners or first.program.corners
        if operation in _SPECIAL:
            self.corners = self.corners or operation in _CORNERS
            self.roots = self.roots or operation in _ROOTED or (operation == "power" and second.denominator % 2 == 0)

    def add_choice(self, target: int, free: int, arguments: Sequence[int]) -> None:
        """Append the instructions of piecewise(u, a, b): a where u < 0, else b; they use five slots from `free` on."""
        u, a, b = arguments
        zero, below, left, above, right = range(free, free + 5)
        self.add(("number", zero, Fraction(0), None))
        self.add(("less", below, u, zero))
        self.add(("where", left, below, a))
        self.add(("not", above, below, None))
        self.add(("where", right, above, b))
        self.add(("add", target, left, right))


@dataclass(frozen=True)
class Compound:
    """A constant with instructions of its own. For doubles it is one number, because its digits cancel."""

    name: str
    program: Program = field(compare=False, repr=False)


_OF_NUMBERS = frozenset("log atan asin acos".split())
"""Functions whose values at numbers are related (`chetaev.core.exact.numbers`)."""
_RESIDUES_OF_P = frozenset(
    "input number constant undefined add sub mul div neg sq twice inv assign power less equal not where sqrt sign step abs min max".split()
)
"""Operations whose value modulo p depends on the values modulo p alone."""
_CORNERS = frozenset("sign abs min max step less equal".split())
"""Operations that set `Program.corners`."""
_ROOTED = frozenset("sqrt asin acos atan atan2 asinh acosh atanh pow".split())
"""Operations that set `Program.roots`; they take a branch of a root."""
_SPECIAL = _CORNERS | _ROOTED | {"power"}
"""Operations for which `Program.add` has to look at these flags."""


def fraction_of(number: float) -> Fraction:
    """The fraction a double stands for: the simplest one within two units of its last place if that is simple, else the double itself.

    A graph of doubles may hold 1/3 rounded, as an exponent or folded from other numbers; its dyadic value would make 3*(1/3) - 1 non-zero.
    A double near an integer is not read as that integer, because folding integers gives integers exactly.
    """
    exact = Fraction(number)
    if exact.denominator == 1 and abs(exact.numerator) < 2**53:
        return exact
    rest = exact
    before, now = (0, 1), (1, 0)
    while True:
        whole = math.floor(rest)
        before, now = now, (whole * now[0] + before[0], whole * now[1] + before[1])
        numerator, denominator = now
        if abs(numerator) * denominator >= _LARGEST_FRACTION:
            return exact
        if abs(numerator * exact.denominator - exact.numerator * denominator) * _FRACTION_AGREEMENT <= abs(exact.numerator) * denominator:
            return Fraction(numerator, denominator) if denominator > 1 else exact
        if rest == whole:
            return exact
        rest = 1 / (rest - whole)


def many_digit_values(program: Program, values: Sequence[Any], mp: mpmath.MPContext) -> list[Any]:
    """The outputs of `program` in the arithmetic of `mp`; ValueError, ZeroDivisionError or OverflowError where one has no real value."""
    held: dict[int, Any] = {}
    for operation, target, a, b in program.lines:
        if operation == "input":
            v = values[a]
        elif operation == "number":
            v = mp.mpf(a.numerator) / a.denominator
        elif operation == "constant":
            v = many_digit_values(a.program, (), mp)[0] if isinstance(a, Compound) else +getattr(mp, a)
        elif operation == "undefined":
            raise ValueError("not a finite number")
        elif operation == "power":
            v = held[a] ** b.numerator if b.denominator == 1 else mp.power(held[a], mp.mpf(b.numerator) / b.denominator)
        elif operation == "pow":
            _bounded(mp, held[b])
            v = mp.power(held[a], held[b])
        elif operation in _OPERATIONS:
            v = _OPERATIONS[operation](held[a], held.get(b))
        elif operation in _TWO_ARGUMENTS:
            v = getattr(mp, operation)(held[a], held[b])
        else:
            _bounded(mp, held[a])
            v = getattr(mp, operation)(held[a])
        if isinstance(v, mp.mpc):
            raise ValueError(f"{operation} is not real here")
        held[target] = v
    return [held[slot] for slot in program.outputs]


def _bounded(mp: mpmath.MPContext, argument: Any) -> None:
    """Raise an OverflowError for an argument of more than `_MOST_BITS` bits, which exp and sin would have to add to their precision."""
    if mp.isfinite(argument) and argument and mp.mag(argument) > _MOST_BITS:
        raise OverflowError("the argument of a function is too large")
