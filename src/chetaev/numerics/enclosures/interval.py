r"""Intervals on a graph: two values per number, a lower and an upper bound, each an expression of its own.

The bounds are those of real arithmetic; round-off is not added. Comparisons leave a margin for it: a factor of 30 where values are compared
(`methods.dop853.enclosure`), a change of sign at both ends of an interval where roots are sought. A missing bound is infinite.
$0\cdot\infty$ is NaN, and the larger of a number and NaN is the number: so a product is bounded by those of its four corner products that
are numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf, pi

import casadi as ca

from chetaev.numerics.graphs.arithmetic import integer_power, larger, minus, over, plus, root, size, times


@dataclass(frozen=True)
class Interval:
    """All numbers between two bounds. Both bounds of a single number are the same object."""

    low: ca.SX
    high: ca.SX

    @property
    def single(self) -> bool:
        """Whether it is one number."""
        return self.low is self.high


def single(number: float | ca.SX) -> Interval:
    """One number."""
    value = number if isinstance(number, ca.SX) else ca.SX(number)
    return Interval(value, value)


EVERYTHING = Interval(ca.SX(-inf), ca.SX(inf))
ZERO, ONE = single(0.0), single(1.0)


def smaller(a: ca.SX, b: ca.SX) -> ca.SX:
    """The smaller of two expressions."""
    return ca.SX.binary(ca.OP_FMIN, a, b)


def negative(a: ca.SX) -> ca.SX:
    """Minus an expression."""
    return ca.SX.unary(ca.OP_NEG, a)


def chosen(condition: ca.SX, yes: ca.SX, no: ca.SX) -> ca.SX:
    """One of two expressions; the other may have no value."""
    return plus(ca.SX.binary(ca.OP_IF_ELSE_ZERO, condition, yes), ca.SX.binary(ca.OP_IF_ELSE_ZERO, ca.SX.unary(ca.OP_NOT, condition), no))


def at_most(a: ca.SX, b: ca.SX) -> ca.SX:
    """Whether a <= b; false if one of them is NaN."""
    return ca.SX.binary(ca.OP_LE, a, b)


# -- sizes of intervals

HUGE = 1e150
"""Cap of bounds, in any units: larger numbers count as infinite, and products of two caps still fit a double. So 1/(1 + exp(u)) has a value
where exp(u) overflows."""
LARGEST = 1e300
"""Cap of functions in products with a factor that may be small, which are capped at `HUGE` themselves: a factor of zero times this is zero,
and not NaN."""


def capped(a: Interval, cap: float = HUGE) -> Interval:
    """Return an interval with bounds of at most `cap`; NaN stays."""
    huge = ca.SX(cap)
    low, high = (chosen(at_most(huge, end), huge, chosen(at_most(end, negative(huge)), negative(huge), end)) for end in (a.low, a.high))
    return single(low) if a.single else Interval(low, high)


def largest(a: Interval) -> ca.SX:
    """The largest absolute value; infinite where a bound is NaN."""
    return chosen(at_most(a.low, a.high), larger(size(a.low), size(a.high)), ca.SX(inf))


def least(a: Interval) -> ca.SX:
    """The smallest absolute value."""
    return size(a.low) if a.single else larger(larger(a.low, negative(a.high)), ca.SX(0))


def straddles(a: Interval) -> ca.SX:
    """Whether zero is inside or a bound."""
    return both(at_most(a.low, ca.SX(0)), at_most(ca.SX(0), a.high))


def both(a: ca.SX, b: ca.SX) -> ca.SX:
    """Whether two conditions hold."""
    return ca.SX.binary(ca.OP_AND, a, b)


def meets(a: Interval, low: float, high: float) -> ca.SX:
    """Whether a part of the interval lies between `low` and `high`."""
    return both(at_most(ca.SX(low), a.high), at_most(a.low, ca.SX(high)))


def inside(a: Interval, low: float, high: float) -> ca.SX:
    """Whether the whole interval lies between `low` and `high`."""
    return both(at_most(ca.SX(low), a.low), at_most(a.high, ca.SX(high)))


def hull(a: Interval, b: Interval) -> Interval:
    """The smallest interval that contains both."""
    return Interval(smaller(a.low, b.low), larger(a.high, b.high))


# -- arithmetic


def add(a: Interval, b: Interval) -> Interval:
    """All sums."""
    if a.single and b.single:
        return single(plus(a.low, b.low))
    return Interval(plus(a.low, b.low), plus(a.high, b.high))


def opposite(a: Interval) -> Interval:
    """All negatives."""
    return single(negative(a.low)) if a.single else Interval(negative(a.high), negative(a.low))


def subtract(a: Interval, b: Interval) -> Interval:
    """All differences."""
    if a.single and b.single:
        return single(minus(a.low, b.low))
    return Interval(minus(a.low, b.high), minus(a.high, b.low))


def multiply(a: Interval, b: Interval) -> Interval:
    """All products."""
    if b.single:
        a, b = b, a
    if a.single and b.single:
        return single(times(a.low, b.low))
    if a.single and a.low.is_constant():
        return _scaled(float(a.low), b)
    if a.single:
        return _between(times(a.low, b.low), times(a.low, b.high))
    first, second = (_between(times(end, b.low), times(end, b.high)) for end in (a.low, a.high))
    return hull(first, second)


def _scaled(factor: float, a: Interval) -> Interval:
    if factor in (0.0, 1.0) or isinf(factor):
        return {0.0: ZERO, 1.0: a}.get(factor, EVERYTHING)
    scale = ca.SX(factor)
    low, high = times(scale, a.low), times(scale, a.high)
    return Interval(low, high) if factor > 0 else Interval(high, low)


def _between(a: ca.SX, b: ca.SX) -> Interval:
    return Interval(smaller(a, b), larger(a, b))


def reciprocal(a: Interval) -> Interval:
    """All inverses; unbounded if the interval contains zero."""
    one = ca.SX(1)
    if a.single:
        return single(over(one, a.low))
    pole = straddles(a)
    return Interval(chosen(pole, ca.SX(-inf), over(one, a.high)), chosen(pole, ca.SX(inf), over(one, a.low)))


def whole_power(a: Interval, exponent: int) -> Interval:
    """All powers with an integer exponent."""
    if exponent < 0:
        return reciprocal(whole_power(a, -exponent))
    if exponent == 0:
        return ONE
    if exponent % 2 and not a.single:
        return Interval(integer_power(a.low, exponent), integer_power(a.high, exponent))
    if a.single:
        return single(integer_power(a.low, exponent))
    return Interval(integer_power(least(a), exponent), integer_power(larger(size(a.low), size(a.high)), exponent))


def fractional_power(a: Interval, exponent: float) -> Interval:
    """All powers of nonnegative numbers with an exponent that is not an integer."""
    base = a if a.single else Interval(larger(a.low, ca.SX(0)), a.high)
    halves = (2 * exponent).is_integer()
    power = ca.SX(2 * exponent if halves else exponent)
    low, high = (ca.SX.binary(ca.OP_POW, root(end) if halves else end, power) for end in (base.low, base.high))
    if a.single:
        return single(low)
    return Interval(low, high) if exponent > 0 else Interval(high, low)


# -- functions


def polynomial(coefficients: Sequence[float], a: Interval) -> Interval:
    """The polynomial with these coefficients, the constant one first, by Horner's rule."""
    found = single(float(coefficients[-1]))
    for c in coefficients[-2::-1]:
        found = add(multiply(found, a), single(float(c)))
    return found


def rising(a: Interval, operation: int, domain: tuple[float, float] = (-inf, inf)) -> Interval:
    """All values of an increasing function. Arguments outside its domain are ignored, because a motion cannot have them."""
    if a.single:
        return single(ca.SX.unary(operation, a.low))
    low = a.low if isinf(domain[0]) else larger(a.low, ca.SX(domain[0]))
    high = a.high if isinf(domain[1]) else smaller(a.high, ca.SX(domain[1]))
    return Interval(ca.SX.unary(operation, low), ca.SX.unary(operation, high))


def sine(a: Interval, ahead: float = 0.0) -> Interval:
    r"""All sines, or cosines if the angle is a quarter turn `ahead`; 1 and -1 are among them if the interval contains an extremum."""
    operation = ca.OP_COS if ahead else ca.OP_SIN
    if a.single:
        return single(ca.SX.unary(operation, a.low))
    ends = _between(ca.SX.unary(operation, a.low), ca.SX.unary(operation, a.high))
    one = ca.SX(1)
    return Interval(
        chosen(_passes(a, -pi / 2 - ahead, 2 * pi), negative(one), ends.low), chosen(_passes(a, pi / 2 - ahead, 2 * pi), one, ends.high)
    )


def cosine(a: Interval) -> Interval:
    """All cosines."""
    return sine(a, pi / 2)


def tangent(a: Interval) -> Interval:
    """All tangents; unbounded if the interval contains a pole. Quotients, since sines and cosines are computed inline."""
    if a.single:
        return single(ca.SX.unary(ca.OP_TAN, a.low))
    pole = _passes(a, pi / 2, pi)
    low, high = (ca.SX.unary(ca.OP_SIN, end) / ca.SX.unary(ca.OP_COS, end) for end in (a.low, a.high))
    return Interval(chosen(pole, ca.SX(-inf), low), chosen(pole, ca.SX(inf), high))


def _passes(a: Interval, place: float, period: float) -> ca.SX:
    """Whether an interval contains `place` plus whole periods; true for an unbounded interval."""
    turns = [ca.SX.unary(ca.OP_FLOOR, times(minus(end, ca.SX(place)), ca.SX(1 / period))) for end in (a.low, a.high)]
    return ca.SX.unary(ca.OP_NOT, at_most(turns[1], turns[0]))


def hyperbolic_cosine(a: Interval) -> Interval:
    """All hyperbolic cosines."""
    if a.single:
        return single(ca.SX.unary(ca.OP_COSH, a.low))
    return Interval(ca.SX.unary(ca.OP_COSH, least(a)), ca.SX.unary(ca.OP_COSH, larger(size(a.low), size(a.high))))


def arccosine(a: Interval) -> Interval:
    """All arccosines."""
    found = rising(opposite(a), ca.OP_ASIN, (-1.0, 1.0))
    return add(single(pi / 2), found)


def angle(y: Interval, x: Interval) -> Interval:
    """All atan2(y, x): the values at the corners, or all angles if the box meets the half-axis at which the angle jumps."""
    corners = [
        ca.SX.binary(ca.OP_ATAN2, b, a)
        for b in {id(e): e for e in (y.low, y.high)}.values()
        for a in {id(e): e for e in (x.low, x.high)}.values()
    ]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = smaller(low, corner), larger(high, corner)
    cut = ca.SX.binary(ca.OP_AND, straddles(y), at_most(x.low, ca.SX(0)))
    return Interval(chosen(cut, ca.SX(-pi), low), chosen(cut, ca.SX(pi), high))


def magnitude(a: Interval) -> Interval:
    """All absolute values."""
    return single(size(a.low)) if a.single else Interval(least(a), larger(size(a.low), size(a.high)))


def sign(a: Interval) -> Interval:
    """All signs."""
    return rising(a, ca.OP_SIGN)


def minimum(a: Interval, b: Interval) -> Interval:
    """The smaller of two numbers."""
    return Interval(smaller(a.low, b.low), smaller(a.high, b.high))


def maximum(a: Interval, b: Interval) -> Interval:
    """The larger of two numbers."""
    return Interval(larger(a.low, b.low), larger(a.high, b.high))
