"""Rows without multipliers: virtual work along a basis of the virtual displacements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sympy import Expr, Matrix, S

from chetaev.core.errors import StateError
from chetaev.core.notation.bounds import written_size
from chetaev.core.symbols import Multiplier, jets_in
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.origins import Variation
from chetaev.mechanics.principles.base import points_of
from chetaev.mechanics.ranks.minors import Minors
from chetaev.mechanics.ranks.row_reduction import Reduced, row_reduce

if TYPE_CHECKING:
    from chetaev.mechanics.equations import Equations

_LONG_COEFFICIENTS = 500
"""Terms of all coefficients after row reduction, written out, from which on Cramer's rule takes its place; three dense constraints have as
many. With a smaller value the rows of short systems would be written in another way."""
_MOST_PIVOTS = 12
"""Number of multipliers up to which Cramer's rule is used: the number of minors grows like 2^n, to some seconds for 12."""


def without_multipliers(equations: Equations) -> tuple[tuple[Row[Expr], ...], tuple[Expr, ...]]:
    r"""Rows without multipliers, and the pivots that must not vanish.

    With $R_V$ reduced so that the pivot columns form the identity, $\delta q_p = -R'_{pf}\, \delta q_f$ is a basis of C_V and
    the rows are $(E_f - u_f) - R'_{pf} (E_p - u_p) = 0$.
    """
    dynamic = [row for row in equations.rows if isinstance(row.origin, Variation)]
    others = [row for row in equations.rows if not isinstance(row.origin, Variation)]
    coefficients = [[-row.residual.diff(m) for row in dynamic] for m in equations.multipliers]
    points = points_of(equations.system, equations.system.kinematic)
    reduced = row_reduce(coefficients, points)
    if not reduced.pivots and any(e != 0 for line in coefficients for e in line):
        what = "no point was found at which the coefficients of the multipliers are defined and not zero."
        raise StateError(what, where=f"eliminate {equations.system.label}", hint="keep the multipliers")
    free = [_without(row) for row in dynamic]
    solved, divisors = _combinations(coefficients, reduced)
    kept = []
    for f, row in enumerate(dynamic):
        if f in reduced.pivots.values():
            continue
        parts = [(free[f], S.One, row.label)]
        parts += [(free[p], -factor, dynamic[p].label) for p, factor in solved[f].items() if factor != 0]
        lhs = sum((factor * e for (e, _), factor, _ in parts), S.Zero)
        rhs = sum((factor * u for (_, u), factor, _ in parts), S.Zero)
        assert isinstance(row.origin, Variation)  # noqa: S101
        kept.append(Row(replace(row.origin, combined=tuple(label for _, _, label in parts)), lhs, rhs))
    return (*kept, *others), divisors


def _combinations(coefficients: Sequence[Sequence[Expr]], reduced: Reduced) -> tuple[dict[int, dict[int, Expr]], tuple[Expr, ...]]:
    """For every free column its coefficients by pivot column, and the expressions that are divided by.

    Gauss-Jordan elimination divides by one pivot after the other. Where its formulas are long, Cramer's rule with the same pivot columns
    takes its place: it divides by their determinant only, while a single pivot may vanish or have a pole where the determinant does not.
    """
    free, sizes = reduced.free_columns(), dict[Expr, int]()
    found = {f: {p: reduced.rows[a][f] for a, p in reduced.pivots.items()} for f in free}
    terms = sum(written_size(e, sizes) for line in found.values() for e in line.values())
    if terms <= _LONG_COEFFICIENTS or len(reduced.pivots) > _MOST_PIVOTS:
        return found, reduced.divisors
    columns = list(reduced.pivots.values())
    minors = Minors(Matrix([[coefficients[a][p] for p in columns] for a in reduced.pivots]))
    solved = {f: dict(zip(columns, minors.solution([coefficients[a][f] for a in reduced.pivots]), strict=True)) for f in free}
    determinant = minors.determinant()
    return solved, () if determinant.is_number else (determinant,)


def _without(row: Row[Expr]) -> tuple[Expr, Expr]:
    """Both sides of a row with all multipliers set to zero."""
    zero = dict.fromkeys(jets_in(row.residual, Multiplier), S.Zero)
    return row.lhs.xreplace(zero), row.rhs.xreplace(zero)
