r"""Frobenius' condition on a final branch.

The distribution is spanned by $X = \partial_t + \sum_j r_j\,\partial_{z_j}$ and $V_k = \partial_{z_k} + \sum_j s_{jk}\,\partial_{z_j}$,
one for each free rate $z_k$. All brackets have vanishing components along $\partial_t$ and the $\partial_{z_k}$, so the distribution is
involutive exactly if the brackets vanish on the branch. All fields are tangent to it, so it does not matter how they are continued off the
branch.
"""

from __future__ import annotations

from itertools import combinations

from sympy import Symbol

from chetaev.core.symbols import TIME
from chetaev.singular.algorithm.ring import Fraction, Poly
from chetaev.singular.algorithm.rows import Rows
from chetaev.singular.algorithm.search import Final
from chetaev.singular.algorithm.space import Space

Field = dict[Symbol, Fraction]


def is_involutive(space: Space, rows: Rows, final: Final) -> bool:
    """Whether all brackets of the fields on a branch vanish there."""
    fields = fields_of(space, rows, final)
    return all(_commute(space, final, x, y) for x, y in combinations(fields, 2))


def fields_of(space: Space, rows: Rows, final: Final) -> list[Field]:
    """The field without free functions, then one for each free function."""
    solved, unknowns = final.solved, rows.dynamics.unknowns
    first: Field = {TIME: (space.one, space.one)}
    for z, rate in rows.dynamics.known.items():
        if rate in space.index:
            first[z] = (space.variables[space.index[rate]], space.one)
    others: dict[int, Field] = {k: {} for k in solved.free}
    for j, z in enumerate(unknowns):
        term, slopes = solved.rate(space, j)
        if term[0]:
            first[z] = term
        for k, slope in slopes.items():
            others[k][z] = slope
    return [first, *others.values()]


def _commute(space: Space, final: Final, x: Field, y: Field) -> bool:
    for z in x.keys() | y.keys():
        n, _ = space.add(_along(space, x, y.get(z)), space.minus(_along(space, y, x.get(z))))
        if n and not final.branch.vanishes(space, n):
            return False
    return True


def _along(space: Space, field: Field, function: Fraction | None) -> Fraction:
    r"""The derivative $X(n/d) = (X(n)\,d - n\,X(d))/d^2$."""
    if function is None:
        return space.zero, space.one
    n, d = function
    up = _derivative(space, field, n)
    if d == space.one:
        return up
    down = _derivative(space, field, d)
    total = space.add((up[0] * d, up[1]), (-n * down[0], down[1]))
    return total[0], total[1] * d**2


def _derivative(space: Space, field: Field, f: Poly) -> Fraction:
    total: Fraction = (space.zero, space.one)
    for z, (n, d) in space.partials(f).items():
        if z in field:
            a, b = field[z]
            total = space.add(total, (n * a, d * b))
    return total
