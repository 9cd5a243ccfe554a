"""Removing the multipliers: virtual work against a basis of the virtual displacements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sympy import Expr, S

from chetaev.core.errors import StateError
from chetaev.core.symbols import Multiplier, jets_in
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.origins import Variation
from chetaev.mechanics.principles.base import points_of
from chetaev.mechanics.ranks.row_reduction import row_reduce

if TYPE_CHECKING:
    from chetaev.mechanics.equations import Equations


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
    kept = []
    for f, row in enumerate(dynamic):
        if f in reduced.pivots.values():
            continue
        parts = [(free[f], S.One, row.label)]
        parts += [(free[p], -reduced.rows[a][f], dynamic[p].label) for a, p in reduced.pivots.items() if reduced.rows[a][f] != 0]
        lhs = sum((factor * e for (e, _), factor, _ in parts), S.Zero)
        rhs = sum((factor * u for (_, u), factor, _ in parts), S.Zero)
        assert isinstance(row.origin, Variation)  # noqa: S101
        kept.append(Row(replace(row.origin, combined=tuple(label for _, _, label in parts)), lhs, rhs))
    return (*kept, *others), reduced.divisors


def _without(row: Row[Expr]) -> tuple[Expr, Expr]:
    """Both sides of a row with all multipliers set to zero."""
    zero = dict.fromkeys(jets_in(row.residual, Multiplier), S.Zero)
    return row.lhs.xreplace(zero), row.rhs.xreplace(zero)
