r"""invariant_measure: an invariant density of the reduced equations of a system, or a proof that there is none.

A density $\mu$ is invariant if $X(\log\mu) + \mathrm{div} X = 0$. With rates $P_i/D$ and the factors $f_j$ of $D$, such as the determinant
of the mass matrix, the ansatz $\log\mu = \sum_j a_j \log f_j + p(x)$ with numbers $a_j$ and a polynomial $p$ is linear in the unknowns.

Two necessary conditions can show that no positive density with continuous derivatives exists:

- at a state of rest, $X = 0$, the divergence must vanish;
- where accelerations are quadratic in the velocities $v$ and the other rates linear, the equation has, to first order in $v$, no derivative
  of $\mu$ by $v$. So the divergence must vanish for every small velocity that leaves the other variables at rest. For the equations of
  Euler, Poincare and Suslov, which have no other variables, it must vanish identically (V. V. Kozlov, Funct. Anal. Appl. 22 (1988) 58;
  B. Jovanovic, J. Phys. A 31 (1998) 1415).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Mul, Rational, S
from sympy.polys.matrices import DomainMatrix
from sympy.polys.rings import PolyElement

from chetaev.core.errors import ModelError, UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.groups.coordinate import coordinate_of
from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.core.symbols import Entry
from chetaev.orbits.exact.first_integrals import null_vectors
from chetaev.orbits.exact.polynomial_field import RationalField, rational_field

_LONGEST_SHOWN = 200
"""Longest divergence that is printed, in characters; a longer one is omitted from the text."""
_ROTATION_DIMENSION = 3
"""Dimension of the space whose rotations quaternions describe."""
_CONFIGURATIONS_TRIED = 3
"""Number of rational configurations at which the necessary conditions are tested; failure at one of them is a proof."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Measure:
    """The answer of `invariant_measure` about a reduced system."""

    exists: bool | None
    """True: `density` is invariant. False: proved that no positive density with continuous derivatives is. None: not decided."""
    density: Expr | None
    """The density with respect to the volume of `variables`, where its factors do not vanish; None if the search found none."""
    variables: tuple[str, ...]
    """The variables of the reduced system."""
    reason: str
    """Why there is no invariant density, or how far the search went."""
    divergence: Expr
    """The divergence of the rates in `variables`."""
    title: str
    """The first line of the printed result."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        volume = " ".join(f"d[{name}]" if "(" in name or "'" in name else f"d{name}" for name in self.variables)
        lines, rising = [f"{self.title}, volume {volume}"], show(self.divergence)
        lines += [f"  divergence  {rising}"] if len(rising) <= _LONGEST_SHOWN else []
        lines.append(f"  density     {show(self.density)}" if self.density is not None else f"  {self.reason}")
        return "\n".join(lines)


@public
def invariant_measure(equations: Any, degree: int = 2, parameters: Mapping[str, Any] | None = None) -> Measure:
    """Find an invariant measure of the reduced equations of a system, or a proof that there is none; both may fail.

    The ansatz for the density is a product of powers of the factors of the denominators of the rates, times the exponential of a
    polynomial. The variables are those of `first_integrals`.

    Args:
        equations: Equations, a model or a system.
        degree: The largest degree of the polynomial.
        parameters: Values of parameters, as in `first_integrals`; with a parameter without a value, the answer holds for almost all values.

    Returns:
        The measure, whose `exists` is True, False or None.

    Raises:
        UsageError: For a degree that is not a number.
        ParameterError: For a value that is not a rational number.
        ModelError: If the equations depend on time, are singular, or are not quotients of polynomials.

    >>> from chetaev import gallery
    >>> print(invariant_measure(gallery("suslov")).exists)
    False
    >>> print(invariant_measure(gallery("euler-top")).density)
    1
    """
    field = rational_field("invariant_measure of", equations, parameters)
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 0:
        raise UsageError(f"degree = {degree!r} is not a number.", where=field.where, hint=SetArgument("degree", 2))
    if any(field.along(g) for g in field.relations):
        what = "the reduced equations keep a relation between their variables only where it holds."
        raise ModelError(what, where=field.where, hint="coordinates without this constraint")
    return _Search(field, degree).result()


class _Search:
    """The search for a density of one field."""

    def __init__(self, field: RationalField, degree: int) -> None:
        self.field, self.degree, ring = field, degree, field.ring
        powers = {_positive(field, f): k for f, k in field.denominator.factor_list()[1]}
        self.factors = list(powers)
        self.product = _product(ring, self.factors)
        plain = sum((p.diff(x) for p, x in zip(field.numerators, ring.gens, strict=True)), ring.zero)
        shares = [field.along(f) * _product(ring, [g for g in self.factors if g is not f]) * (-powers[f]) for f in self.factors]
        self.rising = field.normal(sum(shares, self.product * plain))
        """The divergence times the denominator and the factors."""

    def result(self) -> Measure:
        density = self._density()
        if density is not None:
            return self._answer(True, density, "")
        why = self._impossible()
        if why:
            return self._answer(False, None, why)
        form = f"exp of a polynomial of degree {self.degree} or less"
        if self.factors:
            form = f"powers of {' and '.join(show(self.field.expression(f)) for f in self.factors)}, times {form}"
        return self._answer(None, None, f"not decided: none has the form {form}")

    def _answer(self, exists: bool | None, density: Expr | None, reason: str) -> Measure:
        field = self.field
        whole = field.expression(self.rising) / field.expression(field.denominator * self.product)
        title = f"measure of {field.system}"
        return Measure(exists, density, field.names, reason, sympy.factor(sympy.cancel(whole)), title)

    def _density(self) -> Expr | None:
        """The density of the ansatz, from a linear system in exact arithmetic; None if it has no solution."""
        field, ring = self.field, self.field.ring
        if not self.rising:
            return S.One
        monomials = field.monomials(self.degree)
        images = [field.normal(field.along(f) * _product(ring, [g for g in self.factors if g is not f])) for f in self.factors]
        images += [field.normal(self.product * field.along(m)) for m in monomials]
        for v in null_vectors(field, [self.rising, *images]):
            if 0 not in v:
                continue
            weights = {k - 1: c / v[0] for k, c in v.items() if k}
            shown = [ring.domain.to_sympy(c) for c in weights.values()]
            terms = dict(zip(weights, shown, strict=True))
            count = len(self.factors)
            power = Mul(*[field.expression(f) ** terms.get(k, 0) for k, f in enumerate(self.factors)])
            polynomial = sum((c * field.expression(monomials[k - count]) for k, c in terms.items() if k >= count), S.Zero)
            return power * sympy.exp(polynomial)
        return None

    def _impossible(self) -> str:
        """Why no density exists, if a necessary condition fails at a rational state; otherwise empty."""
        for point in _configurations(self.field):
            found = self._at_rest(point) or self._to_first_order(point)
            if found:
                return found
        return ""

    def _at_rest(self, point: Mapping[Any, Any]) -> str:
        """Why no density exists, if the divergence is not zero at rest."""
        field = self.field
        still = {**point, **dict.fromkeys(self._speeds, field.ring.domain.zero)}
        if not _at(field.denominator, still) or any(_at(p, still) for p in field.numerators):
            return ""
        if not _at(self.rising, still):
            return ""
        return f"none exists: at rest the divergence is not zero{self._shown(point)}"

    @property
    def _speeds(self) -> list[PolyElement]:
        return [x for x, z in zip(self.field.ring.gens, self.field.symbols, strict=True) if z in self.field.speeds]

    def _to_first_order(self, point: Mapping[Any, Any]) -> str:
        """Why no density exists, if a velocity that leaves the other variables at rest has a divergence to first order."""
        field, ring, speeds = self.field, self.field.ring, self._speeds
        places = [ring.gens.index(x) for x in speeds]

        def order(p: PolyElement) -> int:
            return min((sum(m[k] for k in places) for m in p.monoms()), default=9)

        for p, z in zip(field.numerators, field.symbols, strict=True):
            if order(p) < (2 if z in field.speeds else 1):
                return ""
        if any(_at(g, point) and order(_at(g, point)) > 1 for g in field.relations):
            return ""  # a relation of second order in the velocities: the states near rest are not a manifold
        if any(sum(m[k] for k in places) for m in field.denominator.monoms()) or not _at(field.denominator, point):
            return ""

        def linear(p: PolyElement) -> list[Any]:
            at = _at(p, point)
            return [at.coeff(x) for x in speeds]

        conditions = [linear(p) for p, z in zip(field.numerators, field.symbols, strict=True) if z not in field.speeds]
        conditions += [linear(g) for g in field.relations]
        rows = [line for line in conditions if any(line)]
        if rows:
            null = DomainMatrix(rows, (len(rows), len(speeds)), ring.domain).nullspace().to_list()
        else:
            null = DomainMatrix.eye(len(speeds), ring.domain).to_list()
        slopes = linear(self.rising)
        for v in null:
            if sum((a * b for a, b in zip(v, slopes, strict=True)), ring.domain.zero):
                pairs = [(x, c) for x, c in zip(speeds, v, strict=True) if c]
                moving = ", ".join(f"{self._name(x)} = {show(ring.domain.to_sympy(c))}" for x, c in pairs)
                return f"none exists: the divergence is not zero to first order in the velocities, at {moving}{self._shown(point)}"
        return ""

    def _name(self, x: PolyElement) -> str:
        return self.field.names[self.field.ring.gens.index(x)]

    def _shown(self, point: Mapping[Any, Any]) -> str:
        domain = self.field.ring.domain
        text = ", ".join(f"{self._name(x)} = {show(domain.to_sympy(v))}" for x, v in point.items())
        return f" where {text}" if text else ""


def _product(ring: Any, factors: list[PolyElement]) -> PolyElement:
    found = ring.one
    for f in factors:
        found = found * f
    return found


def _positive(field: RationalField, f: PolyElement) -> PolyElement:
    """The factor with the sign that makes it positive at some state, if its coefficients have known signs."""
    if not field.ring.domain.is_QQ:
        return f
    for point in _configurations(field):
        value = _at(f, {**point, **{x: field.ring.domain.one for x in field.ring.gens if x not in point}}).const()
        if value:
            return f if value > 0 else -f
    return f


def _at(p: PolyElement, point: Mapping[Any, Any]) -> PolyElement:
    """The polynomial with values for some variables."""
    ring = p.ring
    values = {ring.gens.index(x): v for x, v in point.items()}
    found = ring.zero
    for monomial, c in p.terms():
        for k, v in values.items():
            if monomial[k]:
                c = c * v ** monomial[k]
        if c:
            found += ring.term_new(tuple(0 if k in values else n for k, n in enumerate(monomial)), c)
    return found


def _configurations(field: RationalField) -> list[dict[Any, Any]]:
    """Values of the variables other than velocities that satisfy the relations at rest."""
    found, domain = [], field.ring.domain
    still = {x: domain.zero for x, z in zip(field.ring.gens, field.symbols, strict=True) if z in field.speeds}
    for k in range(-1, _CONFIGURATIONS_TRIED):
        values = _rational_values(field, k)
        point = {x: domain.from_sympy(values[z]) for x, z in zip(field.ring.gens, field.symbols, strict=True) if z not in field.speeds}
        if not any(_at(g, {**point, **still}) for g in field.relations):
            found.append(point)
    return found


def _rational_values(field: RationalField, k: int) -> dict[Any, Expr]:
    """Rational values of all configuration variables: points of circles for angles, rational rotations for groups; k = -1 is the origin."""
    found: dict[Any, Expr] = {}
    angles = sorted({str(e.args[0]) for e in field.written.values()})
    for number, z in enumerate(field.symbols):
        e = field.written.get(z)
        if e is not None:
            found[z] = _circle(Rational(k + 1, 2 + angles.index(str(e.args[0]))))[0 if isinstance(e, sympy.cos) else 1]
        elif isinstance(z, Entry):
            n = coordinate_of(z.group, z.kind).group.orthogonal
            turned = _rotation(k) if n == _ROTATION_DIMENSION else sympy.Matrix(2, 2, _turn(k))
            inside = max(z.row, z.column) <= n
            found[z] = turned[z.row - 1, z.column - 1] if inside else Rational(number + k + 1, 3)
        else:
            found[z] = Rational(number + 2 * k + 1, 3) if k >= 0 else S.Zero
    return found


def _circle(m: Rational) -> tuple[Expr, Expr]:
    """A rational point of the unit circle."""
    return (1 - m**2) / (1 + m**2), 2 * m / (1 + m**2)


def _turn(k: int) -> list[Expr]:
    a, b = _circle(Rational(k + 1, 3))
    return [a, -b, b, a]


def _rotation(k: int) -> sympy.Matrix:
    """A rational rotation matrix, from a quaternion of integers."""
    a, b, c, d = (1, 2, 3 + k, 4 - 3 * k) if k >= 0 else (1, 0, 0, 0)
    n = Rational(1, a * a + b * b + c * c + d * d)
    return n * sympy.Matrix(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
        ]
    )
