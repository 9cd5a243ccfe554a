"""Polynomials over the rational functions of some parameters: divisors, factors, fractions, and a record of divisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Symbol
from sympy.polys.domains import QQ
from sympy.polys.orderings import MonomialOrder, lex
from sympy.polys.rings import PolyRing

from chetaev.core.exact.factors import factors, greatest_common_divisor
from chetaev.core.exact.quotients import rational_functions
from chetaev.core.support.budget import spend

Poly = Any
"""An element of the ring."""
Fraction = tuple[Poly, Poly]
"""Numerator and denominator."""
_DIVISOR = 20
"""Operations counted for a greatest common divisor of coefficients, per term. With wrong weights budgets depend on the kind of work."""
_SHORT = 6
"""Terms of quotients up to which their products take no longer: what precedes the products of single terms takes as long as these."""
_QUOTIENT = 2
"""Operations counted for a coefficient, per term, if it is a rational function of parameters, which must be reduced."""


def terms_of(f: Poly, coefficient: Any) -> int:
    """The operations counted for a coefficient of `f`: one if it is a number."""
    return _QUOTIENT * (len(coefficient.numer) + len(coefficient.denom) - 1) if f.ring.domain.is_Composite else 1


def weight(f: Poly) -> int:
    """The operations counted for all coefficients of `f`."""
    return sum(terms_of(f, c) for c in f.values()) if f.ring.domain.is_Composite else len(f)


def terms_of_products(f: Poly, coefficient: Any) -> int:
    """The operations counted for each term of another polynomial whose coefficients are multiplied by one of `f`; the weight of that
    polynomial counts that they are quotients.
    """
    return 1 + (len(coefficient.numer) + len(coefficient.denom) - 2) // _SHORT if f.ring.domain.is_Composite else 1


def _place(factor: tuple[Poly, int]) -> tuple[int, ...]:
    """The sort key of a factor, by the variables of the whole ring."""
    degrees = factor[0].degrees()
    return (next(k for k, degree in enumerate(degrees) if degree), len(factor[0]), *[-degree for degree in degrees])


def support(f: Poly) -> set[int]:
    """The indices of the variables that occur in `f`."""
    return {i for m in f for i, e in enumerate(m) if e}


class Ring:
    """Abstract: a polynomial ring whose parameters are generic."""

    def __init__(self, symbols: Sequence[Symbol], parameters: Sequence[Symbol], blocks: Sequence[tuple[int, int]]) -> None:
        self.symbols: list[Symbol] = list(symbols)
        self.parameters = tuple(parameters)
        self.blocks = blocks
        self.domain = rational_functions(self.parameters) if self.parameters else QQ
        self.ring = ring_of(self.symbols, self.domain, blocks)
        self.flat_ring = PolyRing([*self.parameters, *self.ring.symbols], QQ, lex)
        """The ring with parameters as variables, in which greatest common divisors are computed much faster."""
        self.zero, self.one, self.variables = self.ring.zero, self.ring.one, self.ring.gens
        self.divisors: list[Any] = []
        """Recorded divisors from the coefficient field."""
        self._factored: dict[Poly, tuple[Any, list[tuple[Poly, int]]]] = {}

    def sum(self, parts: Sequence[Fraction]) -> Fraction:
        """The sum of some fractions, all in the ring or all with parameters as variables."""
        by_denominator: dict[Poly, Poly] = {}
        for n, d in parts:
            by_denominator[d] = by_denominator[d] + n if d in by_denominator else n
        ring = parts[0][1].ring if parts else self.ring
        total: Fraction = (ring.zero, ring.one)
        for d, n in by_denominator.items():
            spend(weight(n))
            common = self.lcm(total[1], d)
            total = (total[0] * common.exquo(total[1]) + n * common.exquo(d), common)
        return total

    def slope(self, f: Poly, i: int) -> Poly:
        """The coefficient of variable `i` in a polynomial that is affine in it."""
        return self.ring.from_dict({(*m[:i], 0, *m[i + 1 :]): c for m, c in f.items() if m[i]})

    def flat(self, f: Poly) -> Poly:
        """A polynomial with parameters as variables, multiplied by the denominators of its coefficients."""
        if not self.parameters:
            return f.set_ring(self.flat_ring)
        whole = f.mul_ground(self._denominator([f]))
        # a least common denominator is unique up to a rational factor, so numbers may remain in denominators
        return self.flat_ring.from_dict({(*k, *m): v / c.denom.LC for m, c in whole.items() for k, v in c.numer.items()})

    def _denominator(self, polynomials: Sequence[Poly]) -> Any:
        """The least common denominator of all coefficients, in the parameters."""
        if not self.parameters:
            return self.domain.one
        common = self.domain.field.ring.one
        for f in polynomials:
            for c in f.values():
                common = common.lcm(c.denom)
        return self.domain(common)

    def unflat(self, f: Poly) -> Poly:
        """A polynomial in parameters and variables as an element of the ring."""
        if not self.parameters:
            return f.set_ring(self.ring)
        count = len(self.parameters)
        gathered: dict[Any, dict[Any, Any]] = {}
        for m, c in f.items():
            gathered.setdefault(m[count:], {})[m[:count]] = c
        inner = self.domain.field.ring
        return self.ring.from_dict({m: self.domain(inner.from_dict(part)) for m, part in gathered.items()})

    def gcd(self, f: Poly, g: Poly) -> Poly:
        """The greatest common divisor; a constant if there is none of positive degree."""
        if not f or not g:
            return f or g
        if f.is_ground or g.is_ground:
            return f.ring.one
        is_flat = f.ring == self.flat_ring
        first, second = (f, g) if is_flat else (self.flat(f), self.flat(g))
        common = greatest_common_divisor(first, second)
        return common if is_flat else self.unflat(common)

    def lcm(self, f: Poly, g: Poly) -> Poly:
        """The least common multiple."""
        if f.is_ground or g.is_ground:
            return g if f.is_one else f if g.is_one else f * g
        return f * g.exquo(self.gcd(f, g))

    def cancel(self, n: Poly, d: Poly) -> Fraction:
        """A fraction without common factors."""
        common = self.gcd(n, d)
        return (n, d) if common.is_ground else (n.exquo(common), d.exquo(common))

    def primitive(self, row: Sequence[Poly]) -> tuple[list[Poly], Poly]:
        """The row without common denominators and factors in the parameters, and the remaining common divisor."""
        entries = [e for e in row if e]
        if not entries:
            return list(row), self.one
        scale = self._denominator(entries)
        row = [e.mul_ground(scale) if e else e for e in row]
        content = self.flat_ring.zero
        for e in row:
            if e:
                flat = self.flat(e)
                spend(_DIVISOR * (len(flat) + len(content)))
                content = content.gcd(flat)
            if content.is_ground and content:
                return row, self.one
        common = self.unflat(content)
        if not common.is_ground:
            return row, common
        self.record(common.LC)
        return [e.mul_ground(1 / common.LC) if e else e for e in row], self.one

    def add(self, a: Fraction, b: Fraction) -> Fraction:
        """The sum of two fractions, not reduced."""
        return (a[0] + b[0], a[1]) if a[1] == b[1] else (a[0] * b[1] + b[0] * a[1], a[1] * b[1])

    def times(self, a: Fraction, b: Fraction) -> Fraction:
        """The product of two fractions, not reduced."""
        return a[0] * b[0], a[1] * b[1]

    def cleared(self, row: Sequence[Fraction]) -> tuple[list[Poly], Poly]:
        """A row multiplied by its common denominator, and that denominator."""
        common = self.one
        for _, d in row:
            common = self.lcm(common, d)
        return [n * common.exquo(d) if n else n for n, d in row], common

    def minus(self, a: Fraction) -> Fraction:
        """The negative of a fraction."""
        return -a[0], a[1]

    def record(self, coefficient: Any) -> None:
        """Record a coefficient that is divided by."""
        if self.parameters and coefficient != self.domain.one:
            self.divisors.append(coefficient)

    def monic(self, f: Poly) -> Poly:
        """The polynomial with leading coefficient one."""
        if f:
            self.record(f.LC)
        return f.monic() if f else f

    def factors(self, f: Poly) -> list[Poly]:
        """The monic irreducible factors of positive degree, over the rational functions of the parameters. What remains is divided by."""
        lead, found = self.factor_list(f)
        if f:
            self.record(lead)
        return [self.monic(g) for g, _ in found]

    def factor_list(self, f: Poly) -> tuple[Any, list[tuple[Poly, int]]]:
        """A coefficient, and the irreducible factors of positive degree with their powers; cached.

        By Gauss' lemma they are the factors of the polynomial in which parameters are variables.
        """
        if f not in self._factored:
            self._factored[f] = self._factor_list(f)
        return self._factored[f]

    def _factor_list(self, f: Poly) -> tuple[Any, list[tuple[Poly, int]]]:
        if f.is_ground:
            return f.LC, []
        flat = self.flat(f)
        spread = ((self.unflat(g), power) for g, power in factors(flat))
        found = [(g, power) for g, power in spread if not g.is_ground]
        found.sort(key=_place)
        lead = f.LC  # leading coefficients multiply in any monomial order
        for g, power in found:
            lead /= g.LC**power
        return lead, found


class BlockOrder(MonomialOrder):
    """Blocks of variables one after the other, each ordered by total degree, then reversed lexicographically.

    Keys are cached, since the same monomials are compared many times.
    """

    is_global = True

    def __init__(self, blocks: Sequence[tuple[int, int]]) -> None:
        self.blocks = tuple(blocks)
        self._keys: dict[tuple[int, ...], tuple[int, ...]] = {}

    def __call__(self, monomial: tuple[int, ...]) -> tuple[int, ...]:
        key = self._keys.get(monomial)
        if key is None:
            parts: list[int] = []
            for a, b in self.blocks:
                some = monomial[a:b]
                parts.append(sum(some))
                parts += [-e for e in reversed(some)]
            key = self._keys[monomial] = tuple(parts)
        return key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockOrder) and self.blocks == other.blocks

    def __hash__(self) -> int:
        return hash((BlockOrder, self.blocks))

    def __str__(self) -> str:
        return f"blocks {self.blocks}"


def ring_of(symbols: Sequence[Symbol], domain: Any, blocks: Sequence[tuple[int, int]], extra: Symbol | None = None) -> PolyRing:
    """The ring ordered by blocks, higher jets first; an extra variable comes before everything."""
    if extra is not None:
        return PolyRing([extra, *symbols], domain, BlockOrder([(0, 1), *[(a + 1, b + 1) for a, b in blocks]]))
    if not symbols:
        return PolyRing([sympy.Symbol("_none")], domain, BlockOrder([(0, 1)]))
    return PolyRing(symbols, domain, BlockOrder(blocks))
