r"""Rational functions of parameters in lowest terms, as coefficients of polynomials.

SymPy's own look for a greatest common divisor after every sum and product, also where both denominators are one, and take 30 to 200
microseconds for two or three terms. Here every denominator is known as a product of irreducible polynomials, which tells where a common
factor is possible:

* in a product $\frac{a}{b}\,\frac{c}{d}$ between $a$ and $d$, and between $c$ and $b$;
* in a sum only factors that both denominators contain to the same power.

Whether an irreducible $p$ divides a numerator is asked at a zero of $p$ in a finite field: where the numerator does not vanish there, $p$
does not divide it. Otherwise it is divided. Denominators have leading coefficient one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import count
from random import Random
from typing import Any

from sympy import Symbol
from sympy.polys.domains import QQ, FractionField
from sympy.polys.fields import FracField

from chetaev.core.exact.factors import factors

Poly = Any
"""A polynomial in the parameters."""
Powers = tuple[tuple[int, int], ...]
"""A product of irreducible polynomials: their numbers with their powers, ordered by the numbers."""
_PRIME = 2**31 - 1
"""Characteristic of the finite field. One division in 2^31 is tried in vain; with a small prime more would be."""
_TRIES = 8
"""Points at which a zero of an irreducible polynomial is looked for. Without a zero every division by it is tried."""


def rational_functions(parameters: Sequence[Symbol]) -> Any:
    """The field of rational functions with rational coefficients, as a domain of SymPy."""
    return FractionField(RationalFunctions(parameters, QQ))


class RationalFunctions(FracField):
    """SymPy's field, with `Quotient` for its elements."""

    def __new__(cls, symbols: Sequence[Symbol], domain: Any, *order: Any) -> Any:
        field = super().__new__(cls, symbols, domain, *order)
        if not hasattr(field, "irreducible"):  # SymPy before 1.14 returns the same object for equal fields
            made: Any = type("Quotient", (Quotient, type(field.zero)), {})
            field.dtype = made if isinstance(field.dtype, type) else made(field, field.ring.zero).raw_new
            field.irreducible = _Irreducible(field.ring)
            field.zero, field.one = field.dtype(field.ring.zero), field.dtype(field.ring.one)
            field.gens = field._gens()
        return field

    def new(self, numer: Poly, denom: Poly = None) -> Any:
        """A quotient in lowest terms."""
        return self.one.new(numer, self.ring.one if denom is None else denom)

    def field_new(self, element: Any) -> Any:
        """As SymPy does, but polynomials keep their rational coefficients: the denominator is one."""
        is_polynomial = getattr(element, "ring", None) == self.ring
        return self.dtype(element) if is_polynomial else super().field_new(element)

    __call__ = field_new


class Quotient:
    """Sums and products for SymPy's class of quotients."""

    field: Any
    numer: Poly
    denom: Poly

    @cached_property
    def powers(self) -> Powers:
        """The irreducible factors of the denominator."""
        return self.field.irreducible.factors_of(self.denom)[1]

    def new(self, numer: Poly, denom: Poly) -> Any:
        """A quotient in lowest terms."""
        if not denom:
            raise ZeroDivisionError("zero denominator")
        lead, powers = self.field.irreducible.factors_of(denom)
        return self._made(*self.field.irreducible.cancelled(numer if lead == 1 else numer.quo_ground(lead), powers, powers))

    def _made(self, numer: Poly, powers: Powers) -> Any:
        made: Any = object.__new__(self.__class__)
        made.field, made.numer = self.field, numer
        made.powers = powers if numer else ()
        made.denom = self.field.irreducible.product(made.powers)
        return made

    def _is_alike(self, other: Any) -> bool:
        return other.__class__ is self.__class__ and other.field is self.field

    def __mul__(self, other: Any) -> Any:
        if not self._is_alike(other):
            return super().__mul__(other)  # type: ignore[misc]
        if not self.numer or not other.numer:
            return self.field.zero
        if not self.powers and not other.powers:
            return self._made(self.numer * other.numer, ())
        cancelled = self.field.irreducible.cancelled
        a, below = cancelled(self.numer, other.powers, other.powers)
        c, beside = cancelled(other.numer, self.powers, self.powers)
        return self._made(a * c, _merged(below, beside))

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1) if self._is_alike(other) else super().__add__(other)  # type: ignore[misc]

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1) if self._is_alike(other) else super().__sub__(other)  # type: ignore[misc]

    def _sum(self, other: Any, sign: int) -> Any:
        if not other.numer:
            return self
        if not self.numer:
            return other if sign > 0 else -other
        a, c, powers = self.numer, other.numer, self.powers
        common = powers
        if powers != other.powers:
            product, mine, others = self.field.irreducible.product, dict(powers), dict(other.powers)
            powers = tuple((p, max(mine.get(p, 0), others.get(p, 0))) for p in sorted({*mine, *others}))
            common = tuple((p, n) for p, n in powers if mine.get(p) == others.get(p))
            a = _times(a, product(_without(powers, mine)))
            c = _times(c, product(_without(powers, others)))
        total = a + c if sign > 0 else a - c
        return self._made(*self.field.irreducible.cancelled(total, powers, common))

    def __truediv__(self, other: Any) -> Any:
        return self * other._inverse() if self._is_alike(other) else super().__truediv__(other)  # type: ignore[misc]

    def __rtruediv__(self, other: Any) -> Any:
        return self._inverse() * other

    def _inverse(self) -> Any:
        if not self.numer:
            raise ZeroDivisionError("zero denominator")
        lead, powers = self.field.irreducible.factors_of(self.numer)
        return self._made(self.denom if lead == 1 else self.denom.quo_ground(lead), powers)

    def __pow__(self, n: int) -> Any:
        base = self if n >= 0 else self._inverse()
        return base._made(base.numer ** abs(n), tuple((p, k * abs(n)) for p, k in base.powers) if n else ())


class _Irreducible:
    """The irreducible polynomials of the denominators met so far, by number."""

    def __init__(self, ring: Any) -> None:
        self.ring = ring
        self._number = count()
        self._numbers: dict[Poly, int] = {}
        self._polynomials: dict[int, Poly] = {}
        self._zeros: dict[int, Zero | None] = {}
        self._products: dict[Powers, Poly] = {(): ring.one}
        self._factors: dict[Poly, tuple[Any, Powers]] = {}

    def factors_of(self, f: Poly) -> tuple[Any, Powers]:
        """The leading coefficient and the irreducible factors of a polynomial that is not zero."""
        found = self._factors.get(f)
        if found is None:
            found = self._factors[f] = (f.LC, tuple(sorted((self._registered(g.monic()), n) for g, n in factors(f))))
        return found

    def _registered(self, p: Poly) -> int:
        number = self._numbers.setdefault(p, next(self._number))  # one step: other threads may register the same polynomial
        self._polynomials[number] = p
        return number

    def product(self, powers: Powers) -> Poly:
        """The polynomial with these factors and leading coefficient one."""
        found = self._products.get(powers)
        if found is None:
            found = self.ring.one
            for p, n in powers:
                found = found * self._polynomials[p] ** n
            self._products[powers] = found
            self._factors[found] = (found.LC, powers)
        return found

    def cancelled(self, numer: Poly, powers: Powers, common: Powers) -> tuple[Poly, Powers]:
        """A numerator and the factors of a denominator in lowest terms, if none but those of `common` may divide the numerator."""
        if not numer or not common:
            return numer, powers
        left = dict(powers)
        for p, _ in common:
            while left[p] and not numer.is_ground and self._may_divide(p, numer):
                quotient, rest = numer.div(self._polynomials[p])
                if rest:
                    break
                numer = quotient
                left[p] -= 1
        return numer, tuple((p, left[p]) for p, _ in powers if left[p])

    def _may_divide(self, p: int, f: Poly) -> bool:
        if p not in self._zeros:
            self._zeros[p] = _zero_of(self._polynomials[p])
        zero = self._zeros[p]
        return zero is None or zero.value(f) in (0, None)


class Zero:
    """A point of a finite field at which an irreducible polynomial vanishes."""

    def __init__(self, point: Sequence[int]) -> None:
        self._powers = [{1: x} for x in point]

    def value(self, f: Poly) -> int | None:
        """A polynomial at the point; None if a denominator of its coefficients vanishes in the field."""
        total = 0
        for monomial, c in f.items():
            numerator, denominator = int(c.numerator), int(c.denominator)
            if denominator != 1:
                if not denominator % _PRIME:
                    return None
                numerator *= pow(denominator, -1, _PRIME)
            for powers, e in zip(self._powers, monomial, strict=True):
                if e:
                    power = powers.get(e)
                    if power is None:  # stored in one step: other threads may look for the same one
                        power = powers[e] = pow(powers[1], e, _PRIME)
                    numerator = numerator * power % _PRIME
            total += numerator
        return total % _PRIME


def _zero_of(p: Poly) -> Zero | None:
    """A zero of a polynomial that is linear in some variable; None for others."""
    linear = next((i for i, degree in enumerate(p.degrees()) if degree == 1), None)
    if linear is None:
        return None
    random = Random(1)
    slope, rest = ({m: c for m, c in p.items() if m[linear] == n} for n in (1, 0))
    for _ in range(_TRIES):
        point = [random.randrange(1, _PRIME) for _ in p.degrees()]
        point[linear] = 1
        at = Zero(point)
        a, b = at.value(slope), at.value(rest)
        if a and b is not None:
            point[linear] = -b * pow(a, -1, _PRIME) % _PRIME
            return Zero(point)
    return None


def _times(f: Poly, g: Poly) -> Poly:
    return f if g.is_ground and g == 1 else f * g


def _merged(a: Powers, b: Powers) -> Powers:
    if not a or not b:
        return a or b
    found = dict(a)
    for p, n in b:
        found[p] = found.get(p, 0) + n
    return tuple(sorted(found.items()))


def _without(powers: Powers, some: Mapping[int, int]) -> Powers:
    """The factors of a quotient of products."""
    return tuple((p, n - some.get(p, 0)) for p, n in powers if n > some.get(p, 0))
