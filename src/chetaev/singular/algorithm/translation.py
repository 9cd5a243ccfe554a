r"""Functions become algebraic variables: $\cos\theta, \sin\theta$ with $c^2 + s^2 = 1$, $\exp$, $\log$, roots, and the rest.

Every function of the notation that depends on jets or on time is replaced by a *generator*, a symbol with a definition, sometimes an
algebraic relation, and partial derivatives that are again rational in jets and generators. Angles are integer combinations of base angles,
so $\sin(\theta - \epsilon)$ and $\cos 2\theta$ share the generators of $\theta$ and $\epsilon$; exponentials likewise. Arguments whose
common base angle would be very small, as 0.001 for 1.379 and 0.88, are separate base angles. Functions of
parameters alone become parameters: an angle through the tangent of its half, so that the coefficients stay a field of rational functions.

If a coordinate and a function of it both occur (`q` and `cos(q)`), the two are treated as algebraically independent. That is an
*algebraic relaxation*: it can miss coincidences such as $q = \cos q$, but never adds one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import sympy
from sympy import Basic, Expr, Rational, S, Symbol

from chetaev.core.exact.constants import constant_part, is_zero
from chetaev.core.functions import CORNERS, SMOOTH, Branch, Magnitude, Maximum, Minimum, Sign, Step, in_own_functions
from chetaev.core.support.budget import spend
from chetaev.core.symbols import TIME, Jet, Parameter

_TRIGONOMETRIC = (sympy.sin, sympy.cos, sympy.tan)
"""Functions written in the sine and cosine of base angles."""
_EXPONENTIAL = (sympy.exp, sympy.sinh, sympy.cosh, sympy.tanh)
"""Functions written in powers of exponentials."""
_FACTORED = 10**12
"""Largest number that is written as a product of primes, which takes less than a millisecond."""
_LARGEST_MULTIPLE = 32
"""Largest multiple of a base angle or exponent. It is a power of a generator, and the time for divisors and factors grows with the degree:
decimals of three digits would lead to powers in the thousands, which no budget can interrupt in time. Arguments that are not small
multiples of another one are treated as independent, an algebraic relaxation."""
_OPAQUE = (*(function.make for function in SMOOTH.values() if function.opaque), sympy.atan2)
"""Functions without an algebraic relation; each occurrence with new arguments is a new generator."""


class UnsupportedFunction(Exception):
    """An expression contains a function that has no rule here; the message is a phrase without a full stop."""


@dataclass(frozen=True)
class Generator:
    """A symbol that stands for a function of jets and time, or for an algebraic number."""

    symbol: Symbol
    definition: Expr
    relation: Expr | None = None
    """A polynomial in symbols that vanishes identically."""
    positive: bool = False

    @property
    def constant(self) -> bool:
        """Whether the generator depends on parameters only."""
        return not moves(self.definition)


def moves(e: Expr) -> bool:
    """Whether an expression depends on jets or on time."""
    return any(isinstance(z, Jet) or z == TIME for z in e.free_symbols)


class Translation:
    """From expressions in the notation to rational expressions in jets, parameters and generators."""

    def __init__(self, expressions: Iterable[Expr], surds: Sequence[Expr] = ()) -> None:
        self.generators: list[Generator] = []
        self.constants: dict[Symbol, Expr] = {}
        """Functions of parameters alone, by the parameters that replace them."""
        self.nonzero: list[Expr] = []
        """Expressions that must not vanish for the functions to be defined and smooth."""
        self._made: dict[object, Any] = {}
        self._units: dict[tuple[str, Expr], list[Rational]] = {}
        self._known: dict[Expr, Expr] = {}
        self._collect(expressions)
        self.surds = {square: self._root(square, 2) for square in surds}
        """Adjoined square roots of positive numbers and parameters, over which quadratic forms factor."""

    def rational(self, e: Expr) -> Expr:
        """The expression without functions."""
        if e not in self._known:
            self._known[e] = self._read(e)
        return self._known[e]

    def partial(self, generator: Generator, z: Symbol) -> Expr:
        """The partial derivative of a generator, rational in symbols."""
        if z not in generator.definition.free_symbols:
            return S.Zero
        return self.rational(in_own_functions(generator.definition.diff(z)))

    def _collect(self, expressions: Iterable[Expr]) -> None:
        """Find base angles and exponents of all arguments: the greatest common divisor, if all are small multiples of it."""
        met: dict[tuple[str, Expr], set[Rational]] = {}
        seen: set[Basic] = set()
        stack: list[Basic] = list(expressions)
        while stack:  # visit each distinct subexpression once: as trees, the rows of a bicycle have millions of nodes
            e = stack.pop()
            if e in seen:
                continue
            seen.add(e)
            stack += e.args
            kind = "angle" if isinstance(e, _TRIGONOMETRIC) else "exponent" if isinstance(e, _EXPONENTIAL) else None
            if kind is not None:
                for coefficient, rest in _terms(e.args[0]):
                    met.setdefault((kind, rest), set()).add(abs(coefficient))
        spend(len(seen))
        self._units = {key: _units(sorted(coefficients)) for key, coefficients in met.items()}

    def _shares(self, kind: str, coefficient: Rational, rest: Expr) -> list[tuple[int, Rational]]:
        """A coefficient of an angle or exponent as a sum of multiples of base units.

        An argument that occurs only in a derivative may not be such a sum; it then becomes a new unit.
        """
        units = self._units.setdefault((kind, rest), [])
        found = _shares(abs(coefficient), units)
        if found is None:
            units.append(abs(coefficient))
            found = [(1, abs(coefficient))]
        side = 1 if coefficient > 0 else -1
        return [(side * times, unit) for times, unit in found]

    def _read(self, e: Expr) -> Expr:
        if e.is_Symbol or e.is_Rational:
            return e
        if e.is_Add and (constant := constant_part(e)) is not None and is_zero(constant):
            rest = [a for a in e.args if not a.is_number]
            return sympy.Add(*[self.rational(a) for a in rest])
        if e.is_Add or e.is_Mul:
            return e.func(*[self.rational(a) for a in e.args])
        if e is sympy.pi or e is sympy.E:
            return self._constant(e, positive=True)
        if isinstance(e, _EXPONENTIAL):
            return self._exponential(e)
        if e.is_Pow:
            return self._power(e)
        if isinstance(e, _TRIGONOMETRIC):
            cos, sin = self._angle_sum(e.args[0])
            return cos if isinstance(e, sympy.cos) else sin if isinstance(e, sympy.sin) else sin / cos
        if isinstance(e, CORNERS):
            return self._corner(e)
        if isinstance(e, _OPAQUE):
            return self._opaque(e)
        raise UnsupportedFunction(f"the function {e} is not supported here")

    def _power(self, e: Expr) -> Expr:
        base, exponent = e.args
        if exponent.is_Integer:
            return self.rational(base) ** exponent
        if exponent.is_Rational:
            return self._root(base, exponent.q) ** exponent.p
        if moves(exponent):
            return self.rational(sympy.exp(exponent * sympy.log(base)))
        if not moves(base):
            return self._constant(e, positive=True)
        self.nonzero.append(self.rational(base))
        return self._generator(e, e, None, positive=True)

    def _root(self, base: Expr, q: int) -> Symbol:
        """The q-th root: a generator with its power as the relation; positive for even q, and not zero."""
        inside = self.rational(base)
        key = ("root", inside, q)
        if key not in self._made:
            symbol = self._symbol("r")
            self._made[key] = symbol
            relation = symbol**q - inside
            self.generators.append(Generator(symbol, sympy.Pow(base, Rational(1, q)), relation, q % 2 == 0))
            self.nonzero.append(symbol)
        found: Symbol = self._made[key]
        return found

    def _exponential(self, e: Expr) -> Expr:
        if isinstance(e, sympy.exp):
            return sympy.Mul(*[self._exponent(coefficient, rest) for coefficient, rest in _terms(e.args[0])])
        up, down = (self.rational(sympy.exp(a)) for a in (e.args[0], -e.args[0]))
        if isinstance(e, sympy.sinh):
            return (up - down) / 2
        return (up + down) / 2 if isinstance(e, sympy.cosh) else (up - down) / (up + down)

    def _exponent(self, coefficient: Rational, rest: Expr) -> Expr:
        return sympy.Mul(*[self._base_exponent(sympy.exp(u * rest)) ** times for times, u in self._shares("exponent", coefficient, rest)])

    def _base_exponent(self, whole: Expr) -> Expr:
        return self._generator(whole, whole, None, positive=True) if moves(whole) else self._constant(whole, positive=True)

    def _angle_sum(self, argument: Expr) -> tuple[Expr, Expr]:
        """Cosine and sine of a sum of multiples of base angles."""
        cos, sin = S.One, S.Zero
        for coefficient, rest in _terms(argument):
            if rest is sympy.pi:
                c, s = self.rational(sympy.cos(coefficient * sympy.pi)), self.rational(sympy.sin(coefficient * sympy.pi))
            else:
                c, s = self._multiple(coefficient, rest)
            cos, sin = sympy.expand(cos * c - sin * s), sympy.expand(sin * c + cos * s)
        return cos, sin

    def _multiple(self, coefficient: Rational, rest: Expr) -> tuple[Expr, Expr]:
        cos, sin = S.One, S.Zero
        for times, unit in self._shares("angle", coefficient, rest):
            c, s = self._angle(unit * rest)
            s *= 1 if times > 0 else -1
            for _ in range(abs(times)):
                cos, sin = sympy.expand(cos * c - sin * s), sympy.expand(sin * c + cos * s)
        return cos, sin

    def _angle(self, angle: Expr) -> tuple[Expr, Expr]:
        if not moves(angle):
            half = self._constant(sympy.tan(angle / 2), positive=False)
            return (1 - half**2) / (1 + half**2), 2 * half / (1 + half**2)
        key = ("angle", angle)
        if key not in self._made:
            c, s = self._symbol("c"), self._symbol("s")
            self._made[key] = sympy.Tuple(c, s)
            self.generators.append(Generator(c, sympy.cos(angle), c**2 + s**2 - 1))
            self.generators.append(Generator(s, sympy.sin(angle)))
        c, s = self._made[key]
        return c, s

    def _corner(self, e: Expr) -> Expr:
        r"""$|u| = \sigma u$, $\max(a, b) = (a + b + |a - b|)/2$, with $\sigma^2 = 1$ away from the switching surface."""
        if isinstance(e, Step):
            return (1 + self.rational(Sign(e.args[0]))) / 2
        if isinstance(e, Branch):
            u, a, b = e.args
            return self.rational((a + b + Sign(u) * (b - a)) / 2)
        if isinstance(e, Minimum | Maximum):
            a, b = e.args
            side = 1 if isinstance(e, Maximum) else -1
            return self.rational(a + b + side * Magnitude(a - b)) / 2
        u = e.args[0]
        symbol = self._symbol("o")
        sign = self._generator(Sign(u), Sign(u), symbol**2 - 1, symbol=symbol)
        self.nonzero.append(self.rational(u))
        return sign if isinstance(e, Sign) else sign * self.rational(u)

    def _opaque(self, e: Expr) -> Expr:
        if isinstance(e, sympy.log) and e.args[0].is_Rational and e.args[0] > 0 and max(e.args[0].p, e.args[0].q) < _FACTORED:
            return self._logarithm(e.args[0])
        if not moves(e):
            return self._constant(e, positive=False)
        if isinstance(e, sympy.log):
            self.nonzero.append(self.rational(e.args[0]))
        return self._generator(e, e, None)

    def _logarithm(self, number: Rational) -> Expr:
        """The logarithm of a rational number by those of primes, which are linearly independent, so that log(6) - log(2) - log(3) = 0."""
        powers = [*sympy.factorint(number.p).items(), *[(prime, -k) for prime, k in sympy.factorint(number.q).items()]]
        return sympy.Add(*[k * self._constant(sympy.log(prime), positive=True) for prime, k in powers if prime > 1])

    def _generator(
        self, key: object, definition: Expr, relation: Expr | None, positive: bool = False, symbol: Symbol | None = None
    ) -> Expr:
        if key not in self._made:
            made = self._symbol("z") if symbol is None else symbol
            self._made[key] = made
            self.generators.append(Generator(made, definition, relation, positive))
            if positive:
                self.nonzero.append(made)
        return self._made[key]

    def _constant(self, e: Expr, positive: bool) -> Expr:
        if e not in self._made:
            parameter = Parameter(f"{self._symbol('k').name}", positive=positive)
            self._made[e] = parameter
            self.constants[parameter] = e
        return self._made[e]

    def _symbol(self, letter: str) -> Symbol:
        return Symbol(f"_{letter}{len(self.generators) + len(self.constants)}", real=True)


def _terms(argument: Expr) -> list[tuple[Rational, Expr]]:
    """An argument as a sum of rational coefficients times the rest."""
    pairs = [term.as_coeff_Mul() for term in sympy.Add.make_args(sympy.expand(argument))]
    return [(c, rest) if c.is_Rational else (Rational(1), c * rest) for c, rest in pairs if c * rest != 0]


def _units(coefficients: Sequence[Rational]) -> list[Rational]:
    """Base units of positive coefficients in ascending order: one unit if all are small multiples of it."""
    common = sympy.gcd_list(coefficients)
    if coefficients[-1] / common <= _LARGEST_MULTIPLE:
        return [common]
    units: list[Rational] = []
    for c in coefficients:
        if _shares(c, units) is None:
            units.append(c)
    return units


def _shares(coefficient: Rational, units: Sequence[Rational]) -> list[tuple[int, Rational]] | None:
    """A positive coefficient as a small multiple of one unit, or as the sum or difference of two, as in sin(1.379*x + 0.88*x)."""
    for u in units:
        times = coefficient / u
        if times.is_Integer and times <= _LARGEST_MULTIPLE:
            return [(int(times), u)]
    for u, v in combinations(units, 2):
        for a, b in ((1, 1), (1, -1), (-1, 1)):
            if a * u + b * v == coefficient:
                return [(a, u), (b, v)]
    return None
