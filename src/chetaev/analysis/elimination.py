"""Removing the multipliers: virtual work against a basis of the virtual displacements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Expr, S, count_ops

from chetaev.analysis.ranks import Point, matrices_at
from chetaev.assemble import Row
from chetaev.principles.base import points_of
from chetaev.symbols import Multiplier, jets_in
from chetaev.zero import seems_zero

if TYPE_CHECKING:
    from chetaev.equations import Equations

_SMALL = 1e-9


def without_multipliers(equations: Equations) -> tuple[tuple[Row[Expr], ...], tuple[Expr, ...]]:
    """Rows without multipliers, and the pivots that must not vanish.

    With $R_V$ reduced so that the pivot columns form the identity, $\\delta q_p = -R'_{pf}\\, \\delta q_f$ is a basis of C_V and
    the rows are $(E_f - u_f) - R'_{pf} (E_p - u_p) = 0$.
    """
    dynamic = [row for row in equations.rows if row.label.startswith("E_")]
    others = [row for row in equations.rows if not row.label.startswith("E_")]
    coefficients = [[-row.residual.diff(m) for row in dynamic] for m in equations.multipliers]
    points = points_of(equations.system, equations.system.kinematic)
    reduced, pivots, assumptions = _reduce(coefficients, points)
    free = [_without(row) for row in dynamic]
    kept = []
    for f, row in enumerate(dynamic):
        if f in pivots.values():
            continue
        parts = [(free[f], S.One, row.label)]
        parts += [(free[p], -reduced[a][f], dynamic[p].label) for a, p in pivots.items() if reduced[a][f] != 0]
        lhs = sum((factor * e for (e, _), factor, _ in parts), S.Zero)
        rhs = sum((factor * u for (_, u), factor, _ in parts), S.Zero)
        origin = "virtual work of " + " ".join(label for _, _, label in parts)
        kept.append(Row(row.label, lhs, rhs, origin))
    return (*kept, *others), tuple(assumptions)


def _without(row: Row[Expr]) -> tuple[Expr, Expr]:
    """Both sides of a row with all multipliers set to zero."""
    zero = dict.fromkeys(jets_in(row.residual, Multiplier), S.Zero)
    return row.lhs.xreplace(zero), row.rhs.xreplace(zero)


def _reduce(matrix: list[list[Expr]], points: list[Point]) -> tuple[list[list[Expr]], dict[int, int], list[Expr]]:
    """Gauss-Jordan elimination with the simplest pivots that do not vanish on the constraint manifold.

    Returns the reduced rows, the pivot column of each row, and the pivots that are not constant.
    """
    rows = [list(row) for row in matrix]
    pivots: dict[int, int] = {}
    assumptions: list[Expr] = []
    while True:
        sizes = [abs(a) for a in matrices_at(rows, points)]
        choices = [
            (count_ops(rows[a][i]) if rows[a][i].free_symbols else -1, a, i)
            for a in range(len(rows))
            for i in range(len(rows[a]))
            if a not in pivots and i not in pivots.values() and rows[a][i] != 0 and sizes and all(size[a, i] > _SMALL for size in sizes)
        ]
        if not choices:
            return rows, pivots, assumptions
        _, a, i = min(choices)
        pivot = rows[a][i]
        pivots[a] = i
        if not pivot.is_number:
            assumptions.append(pivot)
        rows[a] = [e / pivot for e in rows[a]]
        for b in range(len(rows)):
            factor = rows[b][i]
            if b != a and factor != 0:
                rows[b] = [_cleared(e - factor * p) for e, p in zip(rows[b], rows[a], strict=True)]


def _cleared(e: Expr) -> Expr:
    return S.Zero if e != 0 and e.free_symbols and seems_zero(e) else e
