"""Is an expression identically zero? An exact signature first, then numbers and a proof.

The question is undecidable in general (Richardson), so the answer has three values. The signature of the expression in a finite field
(`chetaev.core.exact`) decides almost always: an expression that is zero there at independent random points is zero. An expression that is
not zero there may still vanish by an identity that the field does not know, such as log(exp(x)*exp(y)) = x + y. A point where fifty digits
show a value then gives *no*. If the expression vanishes at several such points, a proof is sought: the functions of the notation become
algebraic variables with their relations, and the numerator is expanded. A proof gives *yes*; without one the answer is *undecided*. Numbers
alone never give *yes*: a ramp that begins at x = 3 vanishes at every point of order one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sympy
from sympy import Expr, Symbol

from chetaev.core.exact.signature import vanishing
from chetaev.core.groups.coordinate import GroupCoordinate, coordinate_of, in_chart
from chetaev.core.support.budget import apart, limited, size
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Entry, symbols_in
from chetaev.core.values import Tape, Undefined, many_digits

_SEARCH_DIGITS = (50, 400)
"""Decimal digits of the search for a point with a non-zero value: first few, then many, for values far below 1."""
_CANCELLED = 0.6
"""Share of the digits that must cancel for a value to count as zero at a point. Larger shares take round-off for a value."""
_SEARCH_POINTS = (24, 3)
"""Points of the domain tried with either number of digits. With fewer, an expression that vanishes on a part of the domain may be taken for
zero."""
_SCALES = ((1, 1), (1, 1), (6, 1), (1, 1), (1, 5), (25, 1))
"""Sizes of random points, as fractions p/q; sizes other than 1 reach domains away from the origin."""
_TRIES = 40
"""Random points drawn for each number of digits; points outside the domain do not count for `_SEARCH_POINTS`."""
_LARGEST_PROOF = 20_000
"""Operations above which no expansion is tried; it would take minutes."""
_PROOF_SECONDS = 8.0
"""Budget of a proof; an expression whose proof takes longer stays undecided."""
_SHORT_PROOF = 200
"""Size of an expression whose proof is tried in place: it takes some tenths of a second at most."""
_LARGEST_MULTIPLE = 12
"""Multiple of an angle above which addition theorems are not expanded: cos(1000*x) would fill the memory."""


def vanishes(expression: Expr) -> bool | None:
    """True: zero by signature or proof. False: not zero at a known point. None: undecided."""
    if expression.is_Rational:
        return bool(expression == 0)
    return _vanishes(expression)


def known_zero(expression: Expr) -> bool:
    """Whether `expression` is zero by signature or proof, so that an equation may leave it out. False where that is undecided."""
    return expression == 0 or vanishes(expression) is True


def zero_signatures(expressions: Sequence[Expr]) -> list[bool]:
    """For each of `expressions`, whether it has the signature of zero; computed in one program. Entries of group coordinates obey their
    relations.
    """
    with deep():
        program, _ = Tape(expressions, in_chart).program()
        return vanishing(program) or [False] * len(expressions)


def charted(expression: Expr) -> Expr:
    """An expression with entries of group elements written in the places of a chart, where their relations are identities."""
    entries = [z for z in symbols_in(expression) if isinstance(z, Entry)]
    return expression.xreplace({z: in_chart(z) for z in entries}) if entries else expression


def random_point(symbols: Iterable[Symbol], seed: int, mp: Any = None, sizes: Mapping[Symbol, float] | None = None) -> dict[Symbol, Any]:
    """Random values of `symbols`, of order one for the first seeds, times `sizes`; positive for positive symbols.

    The entries of a group coordinate are those of one group element. With `mp` the values are numbers of that mpmath context.
    """
    symbols = set(symbols)
    entries = {z for z in symbols if isinstance(z, Entry)}
    if entries:
        charts = {coordinate_of(z.group, z.kind) for z in entries}
        point = random_point((symbols - entries).union(*[chart.places for chart in charts]), seed, mp, sizes)
        return {z: v for z, v in {**point, **_entries_at(charts, point, mp or math)}.items() if z in symbols}
    chance = random.Random(seed)
    p, q = _SCALES[max(0, seed - 2) % len(_SCALES)]  # the first points are of order one
    point = {}
    for z in sorted(symbols, key=lambda z: z.name):
        size = p * chance.randint(200, 1300)
        signed = size if z.is_positive or chance.random() < 0.5 else -size
        point[z] = mp.mpf(signed) / (997 * q) if mp else signed / (997 * q)
    return {z: v * sizes.get(z, 1.0) for z, v in point.items()} if sizes else point


def _entries_at(charts: Iterable[GroupCoordinate], point: Mapping[Symbol, Any], functions: Any) -> dict[Symbol, Any]:
    """The entries of group coordinates whose stored numbers are given by `point`."""
    found: dict[Symbol, Any] = {}
    for chart in charts:
        n = range(chart.group.size)
        written = chart.group.matrix([point[z] for z in chart.places], functions.cos, functions.sin)
        found |= {chart.matrix[i, j]: written[i][j] for i in n for j in n if isinstance(chart.matrix[i, j], Entry)}
    return found


@lru_cache(maxsize=4096)
def _vanishes(expression: Expr) -> bool | None:
    with deep():
        if zero_signatures([expression])[0]:
            return True
        witness = _witness(expression)
        if witness is not None:
            return False
        with apart():
            proved = limited(_proof, expression, seconds=_PROOF_SECONDS, small=size(expression) <= _SHORT_PROOF)
        return True if proved.value else None


def _witness(expression: Expr) -> Mapping[Symbol, Any] | None:
    """A point at which the expression is not zero; None if none is found."""
    tape = Tape(sympy.Add.make_args(expression))
    for digits, points in zip(_SEARCH_DIGITS, _SEARCH_POINTS, strict=True):
        mp, arithmetic = many_digits(digits)
        seen = 0
        for attempt in range(_TRIES):
            point = random_point(tape.symbols, attempt, mp)
            try:
                parts = tape(point, arithmetic)
            except Undefined:
                continue
            size = max((abs(p) for p in parts), default=mp.mpf(0))
            found = abs(sum(parts))
            if found > size * mp.mpf(10) ** -int(_CANCELLED * digits) and not _shrinks(tape, attempt, found, 2 * digits):
                return point
            seen += 1
            if seen == points:
                break
    return None


def _shrinks(tape: Tape, attempt: int, found: Any, digits: int) -> bool:
    """Whether the value shrinks as the precision grows: then it is round-off of a zero."""
    mp, arithmetic = many_digits(digits)
    try:
        again = abs(sum(tape(random_point(tape.symbols, attempt, mp), arithmetic)))
    except Undefined:
        return False
    return bool(again < mp.mpf(found) * mp.mpf(10) ** -int(_CANCELLED * digits / 2))


def _proof(expression: Expr) -> bool:
    if sympy.count_ops(expression) > _LARGEST_PROOF or not _expandable(expression):
        return False
    algebraic, relations = _algebraic(expression)
    numerator, _ = sympy.fraction(sympy.together(algebraic))
    expanded = sympy.expand(numerator)
    for variable, square in relations.items():
        expanded = _reduce_even(expanded, variable, square)
    return bool(expanded == 0)


def _expandable(expression: Expr) -> bool:
    """Whether addition theorems can be expanded: no function of a large multiple of an angle."""
    functions = expression.atoms(sympy.sin, sympy.cos, sympy.tan, sympy.sinh, sympy.cosh, sympy.tanh)
    multiples = [term.as_coeff_Mul()[0] for f in functions for term in sympy.Add.make_args(f.args[0])]
    return all(abs(c) <= _LARGEST_MULTIPLE for c in multiples)


def _algebraic(expression: Expr) -> tuple[Expr, dict[Symbol, Expr]]:
    """The expression with trigonometric and hyperbolic functions as variables, and the squares of some of these."""
    expression = sympy.expand_trig(expression).replace(sympy.tan, lambda u: sympy.sin(u) / sympy.cos(u))
    expression = expression.replace(sympy.tanh, lambda u: sympy.sinh(u) / sympy.cosh(u))
    expression = sympy.expand(expression, power_exp=True, mul=False, multinomial=False)
    relations: dict[Symbol, Expr] = {}
    pairs = ((sympy.sin, sympy.cos, -1), (sympy.sinh, sympy.cosh, 1))
    arguments = {(s, c, sign, f.args[0]) for s, c, sign in pairs for f in expression.atoms(s, c)}
    for s, c, sign, argument in sorted(arguments, key=lambda a: str(a[3])):
        first, second = sympy.Dummy(), sympy.Dummy()
        expression = expression.xreplace({s(argument): first, c(argument): second})
        relations[second] = 1 + sign * first**2
    return expression, relations


def _reduce_even(expression: Expr, variable: Symbol, square: Expr) -> Expr:
    """The remainder modulo `variable^2 = square`."""
    if not expression.has(variable) or not expression.is_polynomial(variable):  # asin(tanh(x)) has it inside a function
        return expression
    polynomial = sympy.Poly(expression, variable)
    reduced = sum(coefficient * square ** (degree // 2) * variable ** (degree % 2) for (degree,), coefficient in polynomial.terms())
    return sympy.expand(reduced)
