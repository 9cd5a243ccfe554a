r"""Intervals of expressions and of their rates over a box, given bounds of the state and of its rates.

`Enclosing.value` is the interval of an expression over the box, `Enclosing.rate` that of its total derivative along a motion inside it, by
the chain rule: $\dot f(u) = f'(u)\,\dot u$, with the slope $f'$ over the interval of $u$.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from math import isinf, nan

import casadi as ca
from sympy import Expr, Integer, Symbol, cos, sin, tan

from chetaev.core.calculus import total_derivative
from chetaev.core.functions import SPELLING
from chetaev.core.groups.coordinate import coordinate_of
from chetaev.core.notation.defined import ARGUMENT, slopes_of_functions
from chetaev.core.symbols import Entry, Input
from chetaev.numerics.enclosures import interval as iv
from chetaev.numerics.enclosures import removable_singularities
from chetaev.numerics.enclosures.interval import EVERYTHING, ONE, ZERO, Interval, single
from chetaev.numerics.graphs.rewriting.exponentials import in_range, into_powers, merged
from chetaev.numerics.graphs.rewriting.removable import Removable, removable


class NotEnclosed(Exception):
    """Raised for an expression with an unknown that is not part of the state, for which the box has no bounds."""


_HALF = single(0.5)


def _squared(a: Interval) -> Interval:
    return iv.whole_power(a, 2)


def _root_of_inverse(a: Interval) -> Interval:
    return iv.fractional_power(a, -0.5)


def _rising(operation: int, u: Interval) -> Interval:
    return iv.rising(u, operation)


def _slope_at(slope: Expr, u: Interval, _: Interval) -> Interval:
    """The slope that the table of functions gives, for an interval of the argument."""
    if slope == ARGUMENT:
        return u
    if slope.is_number:
        return single(float(slope))
    numbers, rest = slope.as_independent(ARGUMENT) if slope.is_Mul else (1, slope)
    if numbers != 1:
        return iv.multiply(single(float(numbers)), _slope_at(rest, u, u))
    inside = [_slope_at(e, u, u) for e in slope.args]
    if slope.is_Add or slope.is_Mul:
        return reduce(iv.add if slope.is_Add else iv.multiply, inside)
    if slope.is_Pow:
        return iv.whole_power(inside[0], int(slope.exp)) if slope.exp.is_Integer else iv.fractional_power(inside[0], float(slope.exp))
    return _VALUES[SPELLING[type(slope)]](*inside)


_VALUES: Mapping[str, Callable[..., Interval]] = {
    "sin": iv.sine,
    "cos": iv.cosine,
    "tan": iv.tangent,
    "asin": lambda u: iv.rising(u, ca.OP_ASIN, (-1.0, 1.0)),
    "acos": iv.arccosine,
    "atan": lambda u: iv.rising(u, ca.OP_ATAN),
    "sinh": lambda u: iv.rising(u, ca.OP_SINH),
    "cosh": iv.hyperbolic_cosine,
    "tanh": lambda u: iv.rising(u, ca.OP_TANH),
    "asinh": lambda u: iv.rising(u, ca.OP_ASINH),
    "acosh": lambda u: iv.rising(u, ca.OP_ACOSH, (1.0, iv.inf)),
    "atanh": lambda u: iv.rising(u, ca.OP_ATANH, (-1.0, 1.0)),
    "exp": lambda u: iv.rising(u, ca.OP_EXP),
    "log": lambda u: iv.rising(u, ca.OP_LOG, (0.0, iv.inf)),
    **{name: partial(_rising, int(getattr(ca, f"OP_{name.upper()}"))) for name in slopes_of_functions()},
    "abs": iv.magnitude,
    "sign": iv.sign,
    "step": lambda u: iv.multiply(_HALF, iv.add(ONE, iv.sign(u))),
    "piecewise": lambda u, a, b: _one_side(u, a, b, iv.hull(a, b)),
    "min": iv.minimum,
    "max": iv.maximum,
    "atan2": iv.angle,
}

_DOMAINS: Mapping[str, tuple[float, float]] = {
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "acosh": (1.0, iv.inf),
    "atanh": (-1.0, 1.0),
    "log": (0.0, iv.inf),
}
"""The domains of functions that are not defined for all arguments."""
_GROWING = frozenset(("exp", "sinh", "cosh"))
"""Functions that overflow a double for moderate arguments."""
_SLOPES: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "sin": lambda u, _: iv.cosine(u),
    "cos": lambda u, _: iv.opposite(iv.sine(u)),
    "tan": lambda _, v: iv.add(ONE, _squared(v)),
    "asin": lambda u, _: _root_of_inverse(iv.subtract(ONE, _squared(u))),
    "acos": lambda u, _: iv.opposite(_root_of_inverse(iv.subtract(ONE, _squared(u)))),
    "atan": lambda u, _: iv.reciprocal(iv.add(ONE, _squared(u))),
    "sinh": lambda u, _: iv.hyperbolic_cosine(u),
    "cosh": lambda u, _: iv.rising(u, ca.OP_SINH),
    "tanh": lambda u, _: iv.reciprocal(_squared(iv.hyperbolic_cosine(u))),
    "asinh": lambda u, _: _root_of_inverse(iv.add(ONE, _squared(u))),
    "acosh": lambda u, _: _root_of_inverse(iv.subtract(_squared(u), ONE)),
    "atanh": lambda u, _: iv.reciprocal(iv.subtract(ONE, _squared(u))),
    "exp": lambda _, v: v,
    "log": lambda u, _: iv.fractional_power(u, -1.0),
    **{name: partial(_slope_at, slope) for name, slope in slopes_of_functions().items()},
    "abs": lambda u, _: iv.sign(u),
    "sign": lambda u, _: _jump(u),
    "step": lambda u, _: _jump(u),
}
"""The slope of a function of one argument, from the interval of its argument and its own."""


def _one_side(u: Interval, below: Interval, above: Interval, both: Interval) -> Interval:
    """Return `below` where u is negative, `above` where it is not, `both` where its sign changes; the intervals not returned may be
    undefined.
    """
    mixed, negative = iv.straddles(u), ca.SX.binary(ca.OP_LT, u.high, ca.SX(0))

    def bound(a: ca.SX, b: ca.SX, c: ca.SX) -> ca.SX:
        return iv.chosen(mixed, c, iv.chosen(negative, a, b))

    return Interval(bound(below.low, above.low, both.low), bound(below.high, above.high, both.high))


def _jump(u: Interval) -> Interval:
    """Zero, unless the argument changes its sign."""
    jumps = iv.straddles(u)
    return Interval(iv.chosen(jumps, EVERYTHING.low, ZERO.low), iv.chosen(jumps, EVERYTHING.high, ZERO.high))


_LOWEST_CAPPED_POWER = 15
"""Powers from this one on overflow at ordinary values, such as x^400 at 6: they are capped as growing functions are."""


class Enclosing:
    """Intervals of expressions; shared parts are computed once."""

    def __init__(
        self,
        leaves: Mapping[Symbol, tuple[Interval, Interval]],
        parameter: Callable[[Symbol], ca.SX],
        inputs: Mapping[str, Expr],
        cap: float | None = None,
    ) -> None:
        """`leaves` has values and rates of moving symbols; `parameter` returns the graph's symbol of a constant, `inputs` are functions of
        time.

        With a `cap` growing functions stay finite, so that quotients by them become zero and not NaN.
        """
        self._leaves, self._parameter, self._inputs, self._cap = leaves, parameter, inputs, cap
        self._values: dict[Expr, Interval] = {}
        self._rates: dict[Expr, Interval] = {}
        self._functions: dict[Removable, tuple[Interval, Interval]] = {}
        """Values and rates of functions with removable singularities."""
        self._unbounded: set[Expr] = set()
        """Expressions without a part that has a bounded domain."""

    def value(self, e: Expr) -> Interval:
        """Return the interval of an expression."""
        return self._walked(e, self._values, self._value)

    def rate(self, e: Expr) -> Interval:
        """Return the interval of its total derivative."""
        self.value(e)
        return self._walked(e, self._rates, self._rate)

    def within_domain(self, e: Expr) -> tuple[Interval, Interval]:
        """Return value and rate of an expression that may be undefined in a part of the box: NaN if it is undefined in the whole box, an
        unbounded rate if it is undefined in a part of it, since its sign at an end of the box then proves nothing.
        """
        value, rate = self.value(e), self.rate(e)
        somewhere = everywhere = None
        for u, low, high in self._domains(e):
            meets = iv.meets(u, low, high)
            inside = iv.inside(u, low, high)
            somewhere = meets if somewhere is None else iv.both(somewhere, meets)
            everywhere = inside if everywhere is None else iv.both(everywhere, inside)
        if somewhere is None or everywhere is None:
            return value, rate
        nothing = ca.SX(nan)
        value = Interval(iv.chosen(somewhere, value.low, nothing), iv.chosen(somewhere, value.high, nothing))
        return value, Interval(iv.chosen(everywhere, rate.low, EVERYTHING.low), iv.chosen(everywhere, rate.high, EVERYTHING.high))

    def _domains(self, e: Expr) -> list[tuple[Interval, float, float]]:
        """Return the arguments of functions and powers with a bounded domain, and these bounds."""
        found, seen, stack = [], {e}, [e]
        while stack:
            node = stack.pop()
            if node in self._unbounded:
                continue
            inside = list(node.args)
            if node.is_Pow and not node.exp.is_Integer and not node.base.is_nonnegative:
                found.append((self.value(node.base), 0.0, iv.inf))
            elif node.is_Function and SPELLING[type(node)] in _DOMAINS:
                found.append((self.value(node.args[0]), *_DOMAINS[SPELLING[type(node)]]))
            elif isinstance(node, Input) and node not in self._leaves and node.base in self._inputs:
                inside = [total_derivative(self._inputs[node.base], node.order)]
            new = [a for a in inside if a not in seen]
            seen.update(new)
            stack += new
        if not found:
            self._unbounded |= seen
        return found

    def slope(self, e: Expr) -> Interval:
        """The slope of a function or power of one argument with respect to that argument."""
        value = self.value(e)
        if e.is_Pow:
            base, exponent = e.args
            if not exponent.is_number:
                return value
            if _is_cotangent(e):  # by the argument of the tangent
                higher, lower = (self.value(base**k) for k in (exponent - 1, exponent + 1))
                return iv.multiply(single(float(exponent)), iv.add(higher, lower))
            return iv.multiply(single(float(exponent)), self._power(self.value(base), exponent - 1))
        name = SPELLING[type(e)]
        if name == "atan2":
            y, x = map(self.value, e.args)
            return iv.fractional_power(iv.add(_squared(y), _squared(x)), -0.5)
        found = _SLOPES[name](self.value(e.args[0]), value)
        return self._capped(found) if name in _GROWING else found

    def inner_slope(self, e: Expr, wild: Callable[[Expr], bool]) -> Interval | None:
        """Return the slope of an expression by the arguments of its innermost functions for which `wild` is true; None without any.

        Slopes of nested functions are multiplied: 1/(1 + exp(u)) is steep where neither 1/b nor exp(u) is steepest.
        """
        if not e.args or e.is_number or removable(e) is not None:  # such a function is monitored as a whole
            return None
        inside = [self.inner_slope(a, wild) for a in (e.base.args if _is_cotangent(e) else e.args)]
        if e.is_Add:
            found = [slope for slope in inside if slope is not None]
            return reduce(iv.add, found) if found else None
        if e.is_Mul:
            terms = []
            for k, slope in enumerate(inside):
                # slopes are only compared with each other, so a number that is not a double does not matter
                others = [self.value(a) for j, a in enumerate(e.args) if j != k and not (a.is_Rational and not in_range(a))]
                if slope is not None:
                    terms.append(reduce(iv.multiply, sorted([slope, *others], key=lambda a: not a.single)))
            return reduce(iv.add, terms) if terms else None
        if inside[0] is None:
            return self.slope(e) if wild(e) else None
        return iv.multiply(self.slope(e), inside[0]) if len(inside) == 1 or (e.is_Pow and e.exp.is_number) else None

    def _walked(self, e: Expr, known: dict[Expr, Interval], one: Callable[[Expr], Interval]) -> Interval:
        stack = [(e, False)]
        while stack:
            node, ready = stack.pop()
            if node in known:
                continue
            if node.args and not ready:
                stack.append((node, True))
                stack += [(a, False) for a in node.args]
                continue
            known[node] = one(node)
        return known[e]

    # -- values

    def _value(self, e: Expr) -> Interval:
        if isinstance(e, Symbol):
            return self._leaf(e)[0]
        if e.is_number:
            return _number(e)
        together = merged(e) if e.is_Mul else None
        if together is not None:
            return self.value(together)
        if e.is_Add or e.is_Mul:
            regular = removable(e)
            return self.plain_value(e) if regular is None else self._with_others(regular)[0]
        if _is_cotangent(e):
            return self.value(_by_sine(e))
        arguments = [self._values[a] for a in e.args]
        if e.is_Pow:
            return self._power(arguments[0], e.exp)
        found = _VALUES[SPELLING[type(e)]](*arguments)
        return self._capped(found) if SPELLING[type(e)] in _GROWING else found

    def _factors(self, e: Expr) -> list[tuple[Interval, Interval | None]]:
        """The factors of a product, and their rates if these are not those of the arguments of the product.

        A number that is not a double is not a factor (`graphs.rewriting.exponentials`).
        """
        absorbed = into_powers(e)
        if absorbed is None:
            return [(self.value(a), None) for a in e.args]
        others, root, powers = absorbed
        found: list[tuple[Interval, Interval | None]] = [(self.value(others), self.rate(others))]
        for base, n in powers:
            scaled, moving = (iv.multiply(_number(root), part) for part in (self.value(base), self.rate(base)))
            slope = iv.multiply(single(float(n)), self._power(scaled, Integer(n - 1)))
            found.append((self._power(scaled, Integer(n)), iv.multiply(slope, moving)))
        return found

    def plain_value(self, e: Expr) -> Interval:
        """Return the interval of a sum or product from those of its parts, whose singularities may cancel."""
        values = [self.value(a) for a in e.args] if e.is_Add else [value for value, _ in self._factors(e)]
        return reduce(iv.add, values) if e.is_Add else reduce(iv.multiply, sorted(values, key=lambda a: not a.single))

    def plain_rate(self, e: Expr) -> Interval:
        """Return the interval of the rate of a sum or product from those of its parts."""
        rates = [self.rate(a) for a in e.args]
        if e.is_Mul:
            return self._rate_of_product(e, rates)
        return reduce(iv.add, [rate for rate in rates if not _vanishes(rate)], ZERO)

    def _with_others(self, found: Removable) -> tuple[Interval, Interval]:
        """Return value and rate of a function with removable singularities times its other factors, plus other terms."""
        value, rate = self._functions.get(found) or self._functions.setdefault(found, self._in_pieces(found))
        for factor in found.others:
            if factor != 1:
                other = self.value(factor)
                rate = iv.add(iv.multiply(rate, other), iv.multiply(value, self.rate(factor)))
                value = iv.multiply(value, other)
        for term in found.terms:
            value, rate = iv.add(value, self.value(term)), iv.add(rate, self.rate(term))
        return value, rate

    def _in_pieces(self, found: Removable) -> tuple[Interval, Interval]:
        """Return value and rate of a function with removable singularities: by its series near these, by its formula elsewhere."""

        def formula(u: Interval, rate: Interval) -> tuple[Interval, Interval]:
            inner = Enclosing({found.variable: (u, rate)}, self._parameter, {}, self._cap)
            return inner.plain_value(found.function), inner.plain_rate(found.function)

        return removable_singularities.over(found, self.value(found.argument), self.rate(found.argument), formula)

    def _power(self, base: Interval, exponent: Expr) -> Interval:
        if exponent.is_Integer:
            found = iv.whole_power(base, int(exponent))
            return self._capped(found) if exponent >= _LOWEST_CAPPED_POWER else found
        if exponent.is_number:
            return iv.fractional_power(base, float(exponent))
        return iv.rising(iv.multiply(self.value(exponent), iv.rising(base, ca.OP_LOG, (0.0, iv.inf))), ca.OP_EXP)

    def _capped(self, a: Interval) -> Interval:
        return a if self._cap is None else iv.capped(a, self._cap)

    def _leaf(self, z: Symbol) -> tuple[Interval, Interval]:
        if z in self._leaves:
            return self._leaves[z]
        if isinstance(z, Entry):
            written = coordinate_of(z.group, z.kind).chart[z]
            return self.value(written), self.rate(written)
        if isinstance(z, Input) and z.base in self._inputs:
            written = total_derivative(self._inputs[z.base], z.order)
            return self.value(written), self.rate(written)
        found = self._parameter(z)
        return single(found), ZERO

    # -- rates

    def _rate(self, e: Expr) -> Interval:
        if isinstance(e, Symbol):
            return self._leaf(e)[1]
        if e.is_number:
            return ZERO
        rates = [self._rates[a] for a in e.args]
        if all(_vanishes(rate) for rate in rates):
            return ZERO
        together = merged(e) if e.is_Mul else None
        if together is not None:
            return self.rate(together)
        if e.is_Add or e.is_Mul:
            found = removable(e)
            return self.plain_rate(e) if found is None else self._with_others(found)[1]
        if _is_cotangent(e):
            return iv.multiply(self.slope(e), self.rate(e.base.args[0]))
        if e.is_Pow and not e.exp.is_number:
            growth = iv.multiply(self.value(e.exp), iv.multiply(rates[0], iv.reciprocal(self.value(e.base))))
            steeper = iv.multiply(rates[1], iv.rising(self.value(e.base), ca.OP_LOG, (0.0, iv.inf)))
            return iv.multiply(self.value(e), iv.add(growth, steeper))
        if len(rates) == 2 and not e.is_Pow:
            return self._rate_of_two(e, rates)
        if len(rates) == 3:  # piecewise, which jumps
            return _one_side(self._values[e.args[0]], rates[1], rates[2], EVERYTHING)
        return iv.multiply(self.slope(e), rates[0])

    def _rate_of_product(self, e: Expr, rates: list[Interval]) -> Interval:
        total, factors = ZERO, self._factors(e)
        own = [rate for _, rate in factors if rate is not None] or rates
        for k, rate in enumerate(own):
            if not _vanishes(rate):
                others = [value for j, (value, _) in enumerate(factors) if j != k]
                total = iv.add(total, reduce(iv.multiply, sorted([rate, *others], key=lambda a: not a.single)))
        return total

    def _rate_of_two(self, e: Expr, rates: list[Interval]) -> Interval:
        """The rate of min or max, one of two rates, or of atan2(y, x): (x y' - y x')/(x^2 + y^2)."""
        if SPELLING[type(e)] != "atan2":
            return iv.hull(*rates)
        y, x = (self._values[a] for a in e.args)
        turning = iv.subtract(iv.multiply(x, rates[0]), iv.multiply(y, rates[1]))
        return iv.multiply(turning, iv.reciprocal(iv.add(_squared(x), _squared(y))))


def _is_cotangent(e: Expr) -> bool:
    """Tell whether an expression is one over a power of a tangent, which is regular where the tangent is not."""
    return bool(e.is_Pow and isinstance(e.base, tan) and e.exp.is_Integer and e.exp.is_negative)


def _by_sine(e: Expr) -> Expr:
    (angle,) = e.base.args
    return (cos(angle) / sin(angle)) ** -e.exp


def _number(e: Expr) -> Interval:
    """The interval of a number; unbounded for one outside the range of doubles, such as 10^-400, which would be zero in any product."""
    found = float(e)
    return single(found) if (found or e.is_zero) and not isinf(found) else EVERYTHING


def _vanishes(a: Interval) -> bool:
    return a.single and a.low.is_zero()
