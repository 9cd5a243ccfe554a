r"""Taylor coefficients of a motion as a graph: recurrences for the operations of the tape of its rates.

For $y' = f(t, y)$ the coefficients of order k of all intermediate results give those of order k + 1 of y:
E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section I.8. A product of two series is a sum of k + 1
products, and every other operation follows from it, because its derivative is rational in known series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import frexp
from operator import mul
from typing import NamedTuple

import casadi as ca
from sympy import Expr

from chetaev.core.errors import UsageError
from chetaev.core.fixes import LeaveOut
from chetaev.core.notation.defined import ARGUMENT, slopes_of_functions
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.machine.tape import fold

_LARGEST_POWER = 128
"""Powers with larger exponents are computed by a recurrence that divides by the base; smaller ones are products, also at zero."""
_MOST_HALVES = 6
"""Most halves in the exponent of a power below a fraction that becomes one series, as x/r/r/r does: the power overflows before r does."""
_CORNERS = {getattr(ca, f"OP_{name.upper()}"): name for name in ("fabs", "sign", "fmin", "fmax", "floor", "ceil")}


class Power(NamedTuple):
    """The value base^(halves/2); `root` is the root of the base where it was taken, so that there is no value where it has none."""

    base: Series
    halves: int
    root: Series | None


class Series:
    """Coefficients of one value, as many as are known; `known` is its value if it is a number.

    How it was made, as far as products and quotients of it profit: a `multiple` of another one, a `power`, something `over` a power; a
    linear function `of` others, or one with known `rate`. Series that nothing reads in the end cost nothing: they are not in the graph.
    """

    known: float | None = None
    multiple: tuple[ca.SX | float, Series] | None = None
    power: Power | None = None
    over: tuple[Series, Power] | None = None
    of: tuple[Callable[..., ca.SX], Sequence[Series]] | None = None
    rate: Series | None = None

    def __init__(self) -> None:
        self.terms: list[ca.SX] = []
        self._slopes: list[ca.SX] = []
        self._scaled: list[ca.SX] = []

    def slopes(self, k: int) -> list[ca.SX]:
        """The coefficients i a_i up to order k, those of the derivative; from a known rate they are ready an order earlier."""
        for i in range(len(self._slopes), k + 1):
            if self.rate is not None and i:
                self._slopes.append(self.rate.terms[i - 1])
            elif self.of is not None:
                rule, arguments = self.of
                self._slopes.append(rule(*[a.slopes(i)[i] for a in arguments]))
            else:
                self._slopes.append(i * self.terms[i])
        return self._slopes

    def scaled(self, k: int) -> list[ca.SX]:
        """The coefficients a_i/a_0 up to order k, which many quotients share."""
        for i in range(len(self._scaled), k + 1):
            self._scaled.append(self.terms[i] * self.inverse)
        return self._scaled

    @property
    def inverse(self) -> ca.SX:
        """One over the first coefficient. CasADi would write a product with 1/a as a division, which takes four times as long."""
        return 0.5 / (0.5 * self.terms[0])

    def extend(self, k: int) -> None:
        """Add the coefficient of order k; those of the arguments are known up to there."""

    @property
    def constant(self) -> bool:
        """Whether it does not depend on time."""
        return False


class _Constant(Series):
    """A value that does not depend on time."""

    def __init__(self, value: ca.SX, known: float | None = None) -> None:
        super().__init__()
        self.value, self.known = value, known

    def extend(self, k: int) -> None:
        self.terms.append(self.value if k == 0 else ca.SX(0))

    @property
    def constant(self) -> bool:
        return True


class _Given(Series):
    """A component of the state, or time: coefficients come from elsewhere."""


class _By(Series):
    """A series by a rule for its coefficient of order k, which may use its own coefficients of lower orders."""

    def __init__(self, rule: Callable[[list[ca.SX], int], ca.SX]) -> None:
        super().__init__()
        self.rule = rule

    def extend(self, k: int) -> None:
        self.terms.append(self.rule(self.terms, k))


class Tape:
    """The series of intermediate results, in the order in which they are computed."""

    def __init__(self) -> None:
        self.line: list[Series] = []
        self._waves: dict[tuple[str, int], tuple[Series, Series]] = {}
        self._reciprocals: dict[tuple[int, int, bool], Series] = {}

    def extend(self, k: int) -> None:
        """The coefficients of order k of all."""
        for series in self.line:
            series.extend(k)

    def _add(self, series: Series) -> Series:
        self.line.append(series)
        return series

    def number(self, value: float) -> Series:
        """A constant."""
        return self._add(_Constant(ca.SX(value), value))

    def symbol(self, value: ca.SX) -> Series:
        """A parameter."""
        return self._add(_Constant(value))

    def given(self) -> Series:
        """A series whose coefficients the caller adds."""
        return _Given()

    def by(self, rule: Callable[[list[ca.SX], int], ca.SX]) -> Series:
        """A series by its rule."""
        return self._add(_By(rule))

    def apply(self, operation: int, arguments: Sequence[Series]) -> Series:
        """What an operation of the tape makes of series."""
        if all(a.constant for a in arguments) and operation in _OF_CONSTANTS:
            return self.symbol(_OF_CONSTANTS[operation](*[a.value for a in arguments if isinstance(a, _Constant)]))
        if operation in _LINEAR:
            found = self._linear(_LINEAR[operation], *arguments)
            if operation in _FACTORS:
                found.multiple = (_FACTORS[operation], arguments[0])
            return found
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            return self.power(*arguments)
        if operation == ca.OP_LT and arguments[0].known is not None:  # a limit (`overflow`), on one side of which a step stays
            return self.by(lambda _, k: arguments[0].terms[0] < arguments[1].terms[0] if k == 0 else ca.SX(0))
        if operation == ca.OP_NOT:
            return self.by(lambda _, k: ca.logic_not(arguments[0].terms[0]) if k == 0 else ca.SX(0))
        if operation not in _RULES:
            name = _CORNERS.get(operation, f"operation {operation} of the graph")
            raise UsageError(f"{name} has no Taylor series.", where="simulate, method Taylor()", hint=LeaveOut(("method",), argument=True))
        return _RULES[operation](self, *arguments)

    # -- arithmetic

    def product(self, a: Series, b: Series) -> Series:
        """The product a b. Factors stand before a product, so that c a a is the multiple of a square."""
        if a.constant or b.constant:
            fixed, other = (a, b) if a.constant else (b, a)
            return self._times(lambda: fixed.terms[0], other) if fixed.known is None else self._multiple(fixed.known, other)
        for one, other in ((a, b), (b, a)):
            if one.multiple is not None:
                return self._multiple(one.multiple[0], self.product(one.multiple[1], other))
        if a is b:
            return self.square(a)
        found = self.by(lambda _, k: _product(a.terms, b.terms, k))
        for one, other in ((a, b), (b, a)):
            if one.power is not None and one.power.base is other:
                found.power = Power(other, one.power.halves + 2, one.power.root)
        return found

    def _linear(self, rule: Callable[..., ca.SX], *arguments: Series) -> Series:
        """A linear function of series."""
        found = self.by(lambda _, k: rule(*[a.terms[k] for a in arguments]))
        found.of = (rule, arguments)
        return found

    def _times(self, factor: Callable[[], ca.SX], a: Series) -> Series:
        """A series times what does not depend on time."""
        return self._linear(lambda term: factor() * term, a)

    def _multiple(self, factor: ca.SX | float, a: Series) -> Series:
        """A number times a series; a multiple of a multiple is one."""
        if a.multiple is not None:
            factor, a = factor * a.multiple[0], a.multiple[1]
        found = self._linear(lambda term: factor * term, a)
        found.multiple = (factor, a)
        return found

    def square(self, a: Series) -> Series:
        """The square a^2."""
        return self.by(lambda _, k: _square(a.terms, k))

    def quotient(self, a: Series, b: Series) -> Series:
        """The quotient a/b. A quotient divided by the same, or by the same root, is the numerator times one power."""
        if b.constant:
            found = self._linear(lambda term: term / b.terms[0], a)
            if b.known is not None and abs(frexp(b.known)[0]) == 0.5:  # its inverse is exact
                found.multiple = (1 / b.known, a)
            return found
        if a.multiple is not None:
            return self._multiple(a.multiple[0], self.quotient(a.multiple[1], b))
        top, below = a, b.power or Power(b, 2, None)
        if a.over is not None and a.over[1].base is below.base:
            top, before = a.over
            merged = Power(below.base, before.halves + below.halves, before.root or below.root)
            top, below = (top, merged) if merged.halves <= _MOST_HALVES else (a, below)
        if below.halves > 2 or (below.halves == 2 and below.root is not None):
            found = self.product(top, self._reciprocal(below))
        else:
            found = self._divided(top, b if top is a else below.base)
        found.over = (top, below)
        return found

    def _divided(self, a: Series, b: Series) -> Series:
        """The quotient by its recurrence."""

        def rule(own: list[ca.SX], k: int) -> ca.SX:
            if k == 0:
                return a.terms[0] / b.terms[0]
            return a.terms[k] * b.inverse - _product(b.scaled(k), own, k, 1)

        return self.by(rule)

    def _reciprocal(self, below: Power) -> Series:
        """One over a power."""
        base, halves, root = below
        key = id(base), halves, root is not None

        def first() -> ca.SX:
            one, count = (base.inverse, halves // 2) if root is None else (root.inverse, halves)
            return reduce(mul, [one] * count)

        if key not in self._reciprocals:
            self._reciprocals[key] = self._any_power(base, lambda: -0.5 * halves, first)
        return self._reciprocals[key]

    def inverse(self, a: Series) -> Series:
        """The inverse 1/a."""
        return self.quotient(self.number(1.0), a)

    def shifted(self, shift: float, factor: float, a: Series) -> Series:
        """The sum shift + factor a."""
        return self.by(lambda _, k: shift + factor * a.terms[0] if k == 0 else factor * a.terms[k])

    def root(self, a: Series) -> Series:
        """The square root."""

        def rule(own: list[ca.SX], k: int) -> ca.SX:
            if k == 0:
                return ca.sqrt(a.terms[0])
            return (a.terms[k] - _square(own, k, 1)) * (0.5 / own[0])

        found = self.by(rule)
        found.power = Power(a, 1, found)
        return found

    def power(self, base: Series, exponent: Series) -> Series:
        """Integer and half-integer powers are products and roots, which have values at zero too."""
        number = exponent.known
        if number is None and not exponent.constant:
            return self.exponential(self.product(exponent, self.logarithm(base)))
        if number is None:
            return self._any_power(base, lambda: exponent.terms[0])
        if not float(2 * number).is_integer() or abs(number) > _LARGEST_POWER:
            return self._any_power(base, lambda: number)
        if -_MOST_HALVES <= 2 * number < -2 and not base.constant:
            root = None if float(number).is_integer() else self.root(base)
            return self._reciprocal(Power(base, int(-2 * number), root))
        result = self.root(base) if not float(number).is_integer() else None
        left, square = int(abs(number)), base
        while left:
            if left & 1:
                result = square if result is None else self.product(result, square)
            left >>= 1
            square = self.square(square) if left else square
        found = self.number(1.0) if result is None else result
        return self.inverse(found) if number < 0 else found

    def _any_power(self, base: Series, exponent: Callable[[], ca.SX | float], first: Callable[[], ca.SX] | None = None) -> Series:
        """A power by the recurrence that divides by the base; `first` is its value, where it is not to be taken as a power."""

        def rule(own: list[ca.SX], k: int) -> ca.SX:
            if k == 0:
                return base.terms[0] ** exponent() if first is None else first()
            parts = base.scaled(k)
            return _product([((exponent() + 1) * i / k - 1) * parts[i] for i in range(k + 1)], own, k, 1)

        return self.by(rule)

    # -- functions by their derivatives

    def integral(self, start: Callable[[ca.SX], ca.SX], a: Series, slope: Series) -> Series:
        """A function of a whose derivative by a is a known series."""
        return self.by(lambda _, k: start(a.terms[0]) if k == 0 else _integrated(a, slope.terms, k))

    def exponential(self, a: Series) -> Series:
        """The exponential of a, which is its own derivative."""
        return self.by(lambda own, k: ca.exp(a.terms[0]) if k == 0 else _integrated(a, own, k))

    def logarithm(self, a: Series) -> Series:
        """The logarithm of a."""

        def rule(own: list[ca.SX], k: int) -> ca.SX:
            if k == 0:
                return ca.log(a.terms[0])
            return (a.terms[k] - (_product(found.slopes(k - 1), a.terms, k, 1, k - 1) * (1 / k) if k > 1 else 0)) * a.inverse

        found = self.by(rule)
        return found

    def wave(self, which: str, a: Series) -> Series:
        """One of sin, cos, sinh and cosh: each is the derivative of the other, up to a sign."""
        kind = "h" if which.endswith("h") else ""
        if (kind, id(a)) not in self._waves:
            odd, even = _By(lambda _, k: ca.SX(0)), _By(lambda _, k: ca.SX(0))
            sine, cosine, sign = (ca.sinh, ca.cosh, 1.0) if kind else (ca.sin, ca.cos, -1.0)
            odd.rule = lambda _, k: sine(a.terms[0]) if k == 0 else _integrated(a, even.terms, k)
            even.rule = lambda _, k: cosine(a.terms[0]) if k == 0 else sign * _integrated(a, odd.terms, k)
            self.line += [odd, even]
            self._waves[kind, id(a)] = odd, even
        return self._waves[kind, id(a)][which.startswith("cos")]

    def tangent(self, start: Callable[[ca.SX], ca.SX], sign: float, a: Series) -> Series:
        """The functions tan and tanh, whose derivative is 1 plus or minus their square."""
        slope = _By(lambda _, k: ca.SX(0))
        found = _By(lambda _, k: start(a.terms[0]) if k == 0 else _integrated(a, slope.terms, k))
        slope.rule = lambda _, k: (1 if k == 0 else 0) + sign * _square(found.terms, k)
        self.line += [found, slope]
        return found

    def arc(self, start: Callable[[ca.SX], ca.SX], factor: float, inside: tuple[float, float], rooted: bool, a: Series) -> Series:
        """A function whose derivative is a factor over c + s a^2, or over the root of that."""
        below = self.shifted(*inside, self.square(a))
        slope = self.quotient(self.number(factor), self.root(below) if rooted else below)
        return self.integral(start, a, slope)

    def angle(self, y: Series, x: Series) -> Series:
        """The angle atan2(y, x)."""
        size = self.by(lambda _, k: _square(x.terms, k) + _square(y.terms, k))
        across, along = self.quotient(x, size), self.quotient(y, size)
        return self.by(
            lambda _, k: ca.atan2(y.terms[0], x.terms[0]) if k == 0 else _integrated(y, across.terms, k) - _integrated(x, along.terms, k)
        )

    def with_slope(self, name: str, slope: Expr, a: Series) -> Series:
        """A function that the table of the notation describes by its slope."""
        graph = GraphAlgebra()
        function = graph.function("slope", [graph.leaf(ARGUMENT)], graph.of(slope))
        (found,) = fold(function, lambda k, entry: a, self.number, self.apply)
        return self.integral(getattr(ca, name), a, self.number(0.0) if found is None else found)


def _sum(pairs: Sequence[tuple[ca.SX, ca.SX]]) -> ca.SX:
    """The sum of products from the oldest to the newest: a processor adds up the old ones while it waits for the new."""
    return ca.dot(ca.vertcat(*[a for a, _ in pairs]), ca.vertcat(*[b for _, b in pairs])) if pairs else ca.SX(0)


def _product(a: Sequence[ca.SX], b: Sequence[ca.SX], k: int, first: int = 0, last: int | None = None) -> ca.SX:
    r"""$\sum_{i \ge first} a_i b_{k-i}$, up to the last that is wanted."""
    return _sum([(a[i], b[k - i]) for i in sorted(range(first, (k if last is None else last) + 1), key=lambda i: max(i, k - i))])


def _square(a: Sequence[ca.SX], k: int, first: int = 0) -> ca.SX:
    r"""$\sum_{first \le i \le k - first} a_i a_{k-i}$, every product once."""
    middle = [(a[k // 2], a[k // 2])] if k % 2 == 0 and k // 2 >= first else []
    return _sum([*middle, *[(2 * a[i], a[k - i]) for i in range((k - 1) // 2, first - 1, -1)]])


def _integrated(a: Series, slope: Sequence[ca.SX], k: int) -> ca.SX:
    r"""The coefficient of order k of $\int slope\,da$: $\frac1k\sum_{i \ge 1} i\,a_i\,slope_{k-i}$."""
    return _product(a.slopes(k), slope, k, 1) * (1 / k)


_LINEAR: dict[int, Callable[..., ca.SX]] = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_NEG: lambda a: -a,
    ca.OP_TWICE: lambda a: 2 * a,
}
_FACTORS = {ca.OP_NEG: -1.0, ca.OP_TWICE: 2.0}
"""Linear operations that are multiples."""
_OF_CONSTANTS: dict[int, Callable[..., ca.SX]] = {
    **_LINEAR,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_SQ: lambda a: a**2,
    ca.OP_INV: lambda a: 1 / a,
    ca.OP_SQRT: ca.sqrt,
    ca.OP_SIN: ca.sin,
    ca.OP_COS: ca.cos,
    ca.OP_EXP: ca.exp,
}
_RULES: dict[int, Callable[..., Series]] = {
    ca.OP_MUL: Tape.product,
    ca.OP_DIV: Tape.quotient,
    ca.OP_SQ: Tape.square,
    ca.OP_INV: Tape.inverse,
    ca.OP_SQRT: Tape.root,
    ca.OP_EXP: Tape.exponential,
    ca.OP_LOG: Tape.logarithm,
    ca.OP_ATAN2: Tape.angle,
    ca.OP_SIN: lambda tape, a: tape.wave("sin", a),
    ca.OP_COS: lambda tape, a: tape.wave("cos", a),
    ca.OP_SINH: lambda tape, a: tape.wave("sinh", a),
    ca.OP_COSH: lambda tape, a: tape.wave("cosh", a),
    ca.OP_TAN: lambda tape, a: tape.tangent(ca.tan, 1.0, a),
    ca.OP_TANH: lambda tape, a: tape.tangent(ca.tanh, -1.0, a),
    ca.OP_ASIN: lambda tape, a: tape.arc(ca.asin, 1.0, (1.0, -1.0), True, a),
    ca.OP_ACOS: lambda tape, a: tape.arc(ca.acos, -1.0, (1.0, -1.0), True, a),
    ca.OP_ATAN: lambda tape, a: tape.arc(ca.atan, 1.0, (1.0, 1.0), False, a),
    ca.OP_ASINH: lambda tape, a: tape.arc(ca.asinh, 1.0, (1.0, 1.0), True, a),
    ca.OP_ACOSH: lambda tape, a: tape.arc(ca.acosh, 1.0, (-1.0, 1.0), True, a),
    ca.OP_ATANH: lambda tape, a: tape.arc(ca.atanh, 1.0, (1.0, -1.0), False, a),
}


def _by_slope(name: str, slope: Expr) -> Callable[..., Series]:
    return lambda tape, a: tape.with_slope(name, slope, a)


_RULES |= {int(getattr(ca, f"OP_{name.upper()}")): _by_slope(name, slope) for name, slope in slopes_of_functions().items()}


def series_of(rates: ca.Function, order: int, block: int = 1) -> ca.Function:
    r"""From (t, y, p) to the coefficients of orders 1 to `order` of the motion $y' = rates(t, y, p)$, component by component, each with
    zeros up to a multiple of `block` coefficients.
    """
    sizes = [rates.size1_in(k) for k in range(3)]
    t, y, p = (ca.SX.sym(name, size) for name, size in zip("typ", sizes, strict=True))
    tape = Tape()
    time, state, parameters = tape.given(), [tape.given() for _ in range(sizes[1])], [tape.symbol(p[k]) for k in range(sizes[2])]
    inputs = [[time], state, parameters]
    found = fold(rates, lambda k, entry: inputs[k][entry], tape.number, tape.apply)
    time.terms.append(t)
    for series, slope in zip(state, found, strict=True):
        series.rate = slope
    for k, series in enumerate(state):
        series.terms.append(y[k])
    for k in range(order):
        tape.extend(k)
        time.terms.append(ca.SX(1 if k == 0 else 0))
        for series, slope in zip(state, found, strict=True):
            series.terms.append(ca.SX(0) if slope is None else slope.terms[k] * (1 / (k + 1)))
    zeros = [ca.SX(0)] * (-order % block)
    column = ca.vertcat(*[term for series in state for term in (*series.terms[1:], *zeros)])
    return ca.Function("series", [t, y, p], [ca.densify(column)], {"cse": True})
