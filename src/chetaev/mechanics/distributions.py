r"""Distributions of vector fields, their annihilators, brackets, Frobenius' theorem, and integrals of 1-forms.

A set of rows affine in the velocities, $A^a_i(q, t)\, q'^i + b^a(q, t) = 0$, is a system of 1-forms $A^a_i\, dq^i + b^a\, dt$ on the space
of coordinates and time. Brought to the form $\theta^a = dz_{p_a} + R^a_f\, dz_f$ it annihilates the fields
$X_f = \partial_f - R^a_f\, \partial_{p_a}$, and

$$ -d\theta^a(X_f, X_g) = \theta^a([X_f, X_g]) = X_g(R^a_f) - X_f(R^a_g). $$

The system is integrable if and only if all of these vanish; otherwise their rank determines the number of integrals.

Integrals are functions whose differential is a multiple of a form. Three simple cases cover those that occur in mechanics: closed forms,
forms that become closed by a factor of one variable, and combinations that row reduction finds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import sympy
from sympy import Add, Expr, S, Symbol

from chetaev.core.calculus import Slopes, partials
from chetaev.core.exact.field import Residue
from chetaev.core.exact.matrices import null_space, rank
from chetaev.core.notation.show import in_notation
from chetaev.core.support.budget import Answer, allowance, limited, size
from chetaev.core.zero import charted, known_zero, vanishes
from chetaev.mechanics.ranks.exact import FieldPoints
from chetaev.mechanics.ranks.generic import Point, Points, generic_rank, zero_on
from chetaev.mechanics.ranks.row_reduction import Reduced, row_reduce

_SHORT_FORMS = 100
"""Size of forms up to which the derived system, or an integral of polynomial forms, is computed in place, within a tenth of a second."""

Field = Mapping[Symbol, Expr]
"""A vector field by its components that are not zero."""


def apply(field: Field, function: Expr) -> Expr:
    """The derivative of a function along a field."""
    return Add(*[component * slope for component, slope in zip(field.values(), partials(function, list(field)), strict=True)])


def bracket(x: Field, y: Field) -> dict[Symbol, Expr]:
    """The Lie bracket $[X, Y]$."""
    components = {z: apply(x, y.get(z, S.Zero)) - apply(y, x.get(z, S.Zero)) for z in {**x, **y}}
    return {z: c for z, c in components.items() if c != 0}


@dataclass(frozen=True)
class Pfaffian:
    """A system of 1-forms on some variables, with random points of the submanifold on which it is considered."""

    variables: tuple[Symbol, ...]
    forms: tuple[tuple[Expr, ...], ...]
    """The coefficients of each form, by variable."""
    points: Sequence[Point]
    restricted: bool = False
    """Whether the points lie on a proper submanifold."""

    def __hash__(self) -> int:
        return hash((self.variables, self.forms, self.restricted))  # the points, whose values are compared, have no hash

    @cached_property
    def reduced(self) -> Reduced:
        r"""The forms as $dz_p + R_f\, dz_f$."""
        return row_reduce(self.forms, self.points)

    @property
    def rank(self) -> int:
        """The number of independent forms."""
        return len(self.reduced.pivots)

    @cached_property
    def fields(self) -> tuple[dict[Symbol, Expr], ...]:
        """A basis of the annihilated vector fields."""
        z, r = self.variables, self.reduced
        return tuple({z[f]: S.One} | {z[p]: -r.rows[a][f] for a, p in r.pivots.items() if r.rows[a][f] != 0} for f in r.free_columns())

    @cached_property
    def curvature(self) -> list[list[Expr]]:
        r"""$\theta^a([X_f, X_g])$: one line per pair of fields, one column per form."""
        pivots = [self.variables[p] for p in self.reduced.pivots.values()]
        slopes = Slopes(frozenset(self.variables))  # each component is differentiated once for all pairs

        def along(x: Field, component: Expr) -> Expr:
            return Add(*[v * slopes.slope(component, z) for z, v in x.items()])

        pairs = combinations(self.fields, 2)
        return [[along(x, y.get(p, S.Zero)) - along(y, x.get(p, S.Zero)) for p in pivots] for x, y in pairs]

    @cached_property
    def derived_corank(self) -> int | None:
        r"""The drop of the rank in the first derived system, which is the exact rank of the curvature; None if no exact point is found.

        At a point the curvature is $d\theta^a$ on the null space of the forms, so nothing has to be solved in symbols.
        """
        if not isinstance(self.points, Points):
            return None
        n = len(self.variables)
        sides = list(combinations(range(n), 2))
        z, slope = self.variables, Slopes(frozenset(self.variables)).slope
        turns = [[slope(form[j], z[i]) - slope(form[i], z[j]) for i, j in sides] for form in self.forms]
        flat = [charted(e) for line in (*self.forms, *turns) for e in line]
        ranks = []
        for spot, values in FieldPoints(self.points.rows, flat).values(flat):
            p, entries = spot.field.p, iter(values)
            forms = [[next(entries) for _ in range(n)] for _ in self.forms]
            fields = null_space(forms, n, p)
            matrix = []
            for _ in self.forms:
                slopes = dict(zip(sides, (next(entries) for _ in sides), strict=True))
                matrix.append([_two_form_value(slopes, x, y, p) for x, y in combinations(fields, 2)])
            ranks.append(rank(matrix, p))
        return max(ranks, default=None)

    @cached_property
    def integrable(self) -> bool | None:
        """Frobenius' condition: True, False, or None where no proof was found."""
        if self.derived_corank is not None:
            known = self.derived_corank == 0 or all(vanishes(e) is False for form in self.forms for e in form if e != 0)
            return self.derived_corank == 0 if known else self._without_zeros()
        entries = [e for line in self.curvature for e in line if e != 0]
        answers = zero_on(entries, self.points) if self.restricted else [vanishes(e) for e in entries]
        if False in answers:
            return False
        return None if None in answers else True

    def _without_zeros(self) -> bool | None:
        """Whether the forms, without coefficients that are proved to vanish, are integrable; None if that is undecided for one of them."""
        forms = tuple(tuple(S.Zero if known_zero(e) else e for e in form) for form in self.forms)
        cleared = Pfaffian(self.variables, forms, self.points, self.restricted)
        if cleared.derived_corank == 0:
            return True
        return None if any(vanishes(e) is None for form in forms for e in form) else False

    def derived(self) -> Pfaffian:
        """The forms whose exterior derivative lies in the system: the next term of the derived flag."""
        if self.derived_corank == 0:
            return self
        if self.derived_corank is not None and self.derived_corank == self.rank:
            return Pfaffian(self.variables, (), self.points, self.restricted)
        pivot_rows = [self.reduced.rows[a] for a in self.reduced.pivots]
        if not self.curvature or not pivot_rows:
            return self
        solved = row_reduce(self.curvature, self.points)
        combinations_ = []
        for f in solved.free_columns():
            weights = {f: S.One} | {p: -solved.rows[a][f] for a, p in solved.pivots.items()}
            combinations_.append(tuple(Add(*[w * pivot_rows[a][i] for a, w in weights.items()]) for i in range(len(self.variables))))
        return Pfaffian(self.variables, tuple(combinations_), self.points, self.restricted)

    @cached_property
    def integrable_part(self) -> Pfaffian:
        """The largest integrable subsystem, by Cartan's derived flag; its rank is the number of integrals."""
        system = self
        while True:
            smaller = system.derived()
            if smaller.rank == system.rank:
                return system
            system = smaller


def _two_form_value(slopes: Mapping[tuple[int, int], Residue], x: Sequence[Residue], y: Sequence[Residue], p: int) -> Residue:
    """The value of a 2-form, given by its components above the diagonal, on two vectors."""
    total: Residue = 0
    for (i, j), slope in slopes.items():
        if slope != 0:
            total = (total + slope * (x[i] * y[j] - x[j] * y[i])) % p
    return total


def rank_with_and_without(forms: Sequence[Sequence[Expr]], points: Sequence[Point]) -> tuple[int, int]:
    """The generic rank of forms with and without their last column, the coefficient of dt."""
    return generic_rank(forms, points), generic_rank([row[:-1] for row in forms], points)


def integrable_rank(system: Pfaffian, seconds: float) -> Answer[int]:
    """The rank of the largest integrable subsystem, if it is found within the budget of `seconds`."""
    whole = generic_rank(system.forms, system.points)
    if system.derived_corank in (0, whole):  # all or nothing is integrable; no expression is formed
        return Answer(whole - system.derived_corank)
    part = integrable_part(system, seconds)
    return Answer(None if part.value is None else part.value.rank, part.reason)


def integrable_part(system: Pfaffian, seconds: float) -> Answer[Pfaffian]:
    """The largest integrable subsystem, if it is found within the budget of `seconds`; expressions grow with each derived system."""
    return limited(_integrable_part, system, seconds=seconds, small=size(*chain(*system.forms)) <= _SHORT_FORMS)


def _integrable_part(system: Pfaffian) -> Pfaffian:
    found = system.integrable_part
    _ = found.reduced  # computed here, within the budget, because the caller needs it
    return found


def integrals(system: Pfaffian, seconds: float = 5.0) -> list[Expr]:
    """Independent integrals of `system` found within the budget of `seconds`; each is verified along all fields."""
    found: list[Expr] = []
    with allowance(seconds):  # the number of integrals is known from the rank; those found in time are returned
        part = integrable_part(system, seconds)
        if part.value is not None:
            reduced = part.value.reduced
            forms = [*system.forms, *[reduced.rows[a] for a in reduced.pivots]]
            while _search(forms, system, found, seconds):
                pass
    return found


def _search(forms: Sequence[Sequence[Expr]], system: Pfaffian, found: list[Expr], seconds: float) -> bool:
    """Try every form once and append new integrals to `found`; a variable that is itself an integral counts as a constant."""
    moving = [z for z in system.variables if z not in found]
    before = len(found)
    for form in forms:
        components = [a for a, z in zip(form, system.variables, strict=True) if z in moving]
        small = size(*components) <= _SHORT_FORMS and all(a.is_polynomial(*moving) for a in components)
        candidate = limited(_integral, tuple(components), tuple(moving), seconds=seconds, small=small).value
        if candidate is not None and _is_integral(candidate, system) and _is_new(candidate, found, system):
            found.append(candidate)
    return len(found) > before


def _integral(form: Sequence[Expr], variables: Sequence[Symbol]) -> Expr | None:
    factor = _integrating_factor(form, variables)
    if factor is None:
        return None
    return _potential([factor * a for a in form], variables)


def _integrating_factor(form: Sequence[Expr], variables: Sequence[Symbol]) -> Expr | None:
    """A function of one variable that makes the form closed when multiplied; 1 if the form is closed."""
    n = len(variables)
    curl = {(i, j): form[j].diff(variables[i]) - form[i].diff(variables[j]) for i, j in combinations(range(n), 2)}
    if all(known_zero(c) for c in curl.values()):
        return S.One
    for k in range(n):
        # mu(z_k) closes the form if d(form) = -(mu'/mu) dz_k ^ form
        if any(not known_zero(c) for (i, j), c in curl.items() if k not in (i, j)):
            continue
        rates = [-(curl[(k, j)] if k < j else -curl[(j, k)]) / form[j] for j in range(n) if j != k and form[j] != 0]
        if not rates or any(not known_zero(r - rates[0]) for r in rates):
            continue
        rate = sympy.simplify(rates[0])
        if rate.free_symbols & set(variables) <= {variables[k]}:
            return sympy.simplify(sympy.exp(sympy.integrate(rate, variables[k])))
    return None


def _potential(form: Sequence[Expr], variables: Sequence[Symbol]) -> Expr | None:
    """The function whose differential is a closed form, one variable after the other."""
    potential: Expr = S.Zero
    for a, z in zip(form, variables, strict=True):
        rest = sympy.simplify(a - potential.diff(z))
        antiderivative = sympy.integrate(rest, z)
        if not in_notation(antiderivative):
            return None
        potential = potential + antiderivative
    return potential if potential.free_symbols & set(variables) else None


def _is_integral(function: Expr, system: Pfaffian) -> bool:
    return all(vanishes(apply(x, function)) for x in system.fields)


def _is_new(function: Expr, known: Sequence[Expr], system: Pfaffian) -> bool:
    rows = tuple(tuple(f.diff(z) for z in system.variables) for f in [*known, function])
    return Pfaffian(system.variables, rows, system.points).rank == len(rows)
