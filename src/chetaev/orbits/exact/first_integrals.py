r"""first_integrals: polynomials that are constant along every motion, up to a degree, by exact linear algebra.

With rates $P_i/D$ a polynomial $F$ is an integral if $P_i\,\partial_i F$ vanishes where the relations hold. This condition is linear in the
coefficients of $F$, so the answer is complete up to the degree; an empty answer proves that there is no such integral.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any

import sympy
from sympy import Expr, Rational
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement

from chetaev.core.errors import UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.orbits.exact.polynomial_field import RationalField, rational_field

_MOST_MONOMIALS = 3000
"""Largest number of monomials in an ansatz: more would take minutes, and are refused."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Integrals:
    """The polynomial integrals of a reduced system up to a degree."""

    integrals: tuple[Expr, ...]
    """The integrals by degree; none is a polynomial in those before it."""
    degree: int
    """The degree up to which all integrals were found."""
    variables: tuple[str, ...]
    """The variables of the reduced system."""
    independent: int
    """The number of functionally independent integrals."""
    title: str
    """The first line of the printed result."""

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.integrals)

    def __len__(self) -> int:
        return len(self.integrals)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.title}: polynomials in {' '.join(self.variables)}, up to degree {self.degree}"]
        if not self.integrals:
            return f"{lines[0]}\n  none: no polynomial of degree {self.degree} or less is constant along all motions"
        lines += [f"  {show(e)}" for e in self.integrals]
        if self.independent < len(self.integrals):
            lines.append(f"  {self.independent} of them are independent")
        return "\n".join(lines)


@public
def first_integrals(equations: Any, degree: int = 2, parameters: Mapping[str, Any] | None = None) -> Integrals:
    """All polynomial integrals of the reduced equations of a system, up to a degree.

    The variables are the velocities and the quantities on which their rates depend: coordinates, sines and cosines of angles, entries of
    group elements. The equations must be quotients of polynomials in these. Sums and products of listed integrals are not listed.

    Args:
        equations: Equations, a model or a system.
        degree: The largest degree.
        parameters: Values of parameters; a decimal number such as 0.1 is read as the fraction 1/10. A parameter without a value stays a
            symbol, and the integrals hold for all its values.

    Returns:
        The integrals; there may be none.

    Raises:
        UsageError: For a degree that is not a positive number, or so large that the search would take minutes.
        ParameterError: For a value that is not a rational number.
        ModelError: If the equations depend on time, are singular, or are not quotients of polynomials.

    >>> from chetaev import System
    >>> top = System({"A": "SO3 body"}, "I1 I2 I3", lagrangian="(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2", name="top")
    >>> print(first_integrals(top, degree=2, parameters={"I1": 1, "I2": 2, "I3": 3}))
    integrals of 'top': polynomials in A1' A2' A3', up to degree 2
      A1'^2 + A2'^2
      A1'^2 - 3*A3'^2
    """
    field = rational_field("first_integrals of", equations, parameters)
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
        raise UsageError(f"degree = {degree!r} is not a positive number.", where=field.where, hint=SetArgument("degree", 2))
    count = int(sympy.binomial(len(field.symbols) + degree, degree))
    if count > _MOST_MONOMIALS:
        what = f"{count} monomials have degrees up to {degree} in {len(field.symbols)} variables; at most {_MOST_MONOMIALS} are tried."
        raise UsageError(what, where=field.where, hint="a smaller degree, or values for the parameters")
    found: list[PolyElement] = []
    for d in range(1, degree + 1):
        found += _new(field, found, d)
    shown = tuple(field.expression(_primitive(p)) for p in found)
    title = f"integrals of {field.system}"
    return Integrals(shown, degree, field.names, _independent(field, found), title)


def _new(field: RationalField, known: Sequence[PolyElement], degree: int) -> list[PolyElement]:
    """The integrals up to a degree that are not polynomials in the known ones."""
    monomials = field.monomials(degree)
    if not monomials:
        return []
    images = [field.normal(field.along(m)) for m in monomials]
    vectors = null_vectors(field, images)
    places = {m.LM: k for k, m in enumerate(monomials)}
    spanned = [_coordinates(field, p, places) for p in _products(field, known, degree)]
    rows = [v for v in spanned if v] + vectors
    if not rows:
        return []
    matrix = DomainMatrix(dict(enumerate(rows)), (len(rows), len(monomials)), field.ring.domain).transpose()
    pivots = matrix.rref()[1]  # the first independent columns; products of known integrals come first
    chosen = [rows[k] for k in pivots if k >= len(rows) - len(vectors)]
    return [sum((monomials[k] * c for k, c in v.items()), field.ring.zero) for v in chosen]


def null_vectors(field: RationalField, images: Sequence[PolyElement]) -> list[dict[int, Any]]:
    """A basis of the coefficients `c` with `sum(c[k]*images[k]) = 0`, as sparse vectors."""
    rows: dict[Any, dict[int, Any]] = {}
    for k, image in enumerate(images):
        for monomial, c in image.terms():
            rows.setdefault(monomial, {})[k] = c
    domain = field.ring.domain
    matrix = DomainMatrix(dict(enumerate(rows.values())), (len(rows), len(images)), domain)
    found = matrix.nullspace().to_sparse().rep.to_sdm() if rows else {k: {k: domain.one} for k in range(len(images))}
    return [dict(found[k]) for k in sorted(found)]


def _products(field: RationalField, known: Sequence[PolyElement], degree: int) -> Iterator[PolyElement]:
    """The products of known integrals of degree at most `degree`, without constants."""
    degrees = [max(map(sum, p.monoms())) for p in known]
    for length in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(len(known)), length):
            if sum(degrees[k] for k in chosen) <= degree:
                product = field.ring.one
                for k in chosen:
                    product = field.normal(product * known[k])
                yield product - product.const()


def _coordinates(field: RationalField, p: PolyElement, places: Mapping[Any, int]) -> dict[int, Any]:
    return {places[m]: c for m, c in field.normal(p).terms() if m in places}


def _primitive(p: PolyElement) -> PolyElement:
    """The polynomial multiple whose coefficients have no denominators and no common factor, with a positive leading coefficient."""
    domain = p.ring.domain
    if not domain.is_QQ:  # coefficients are quotients of polynomials in parameters
        bottom = reduce(lambda a, b: a.lcm(b), [c.denom for c in p.coeffs()])
        whole = [c.numer * bottom.exquo(c.denom) for c in p.coeffs()]
        common = reduce(lambda a, b: a.gcd(b), whole)
        numbers = [q for e in whole for q in e.exquo(common).coeffs()]
        p = p.mul_ground(domain(bottom) / domain(common) * domain.from_sympy(_without_common(numbers)))
        return -p if p.LC.numer.LC < 0 else p
    p = p.mul_ground(domain.from_sympy(_without_common(p.coeffs())))
    return -p if p.LC < 0 else p


def _without_common(numbers: Sequence[Any]) -> Rational:
    """The factor that turns rational numbers into integers without a common divisor."""
    read = [Rational(int(q.numerator), int(q.denominator)) for q in numbers]
    return Rational(math.lcm(*[int(q.q) for q in read]), math.gcd(*[int(q.p) for q in read]) or 1)


def _independent(field: RationalField, found: Sequence[PolyElement]) -> int:
    """The rank of the gradients of integrals at a random point, modulo the gradients of the relations."""
    point = [field.ring.domain(k * k + 3 * k + 1) / field.ring.domain(2 * k + 5) for k in range(len(field.symbols))]

    def rank(polynomials: Sequence[PolyElement]) -> int:
        lines = [[p.diff(x).evaluate(list(zip(field.ring.gens, point, strict=True))) for x in field.ring.gens] for p in polynomials]
        return DomainMatrix(lines, (len(lines), len(field.symbols)), field.ring.domain).rank() if lines else 0

    return rank([*field.relations, *found]) - rank(field.relations)
