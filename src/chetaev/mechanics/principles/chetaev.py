"""Chetaev's principle for constraints of any order, and the normal form it shares with d'Alembert's principle."""

from __future__ import annotations

from typing import final

import numpy as np
import sympy
from sympy import Expr

from chetaev.core.fixes import UsePrinciple
from chetaev.core.notation import show
from chetaev.core.support.budget import limited, size
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, jets_in
from chetaev.core.system import System
from chetaev.core.values import Tape
from chetaev.core.zero import random_point
from chetaev.mechanics.principles.base import (
    Lowered,
    Principle,
    RowV,
    chetaev_row,
    contact_calculus,
    matrix,
    points_of,
    same_span,
    with_reactions,
)
from chetaev.mechanics.principles.virtual_work import VirtualWork
from chetaev.mechanics.ranks.exact import exactly_zero
from chetaev.mechanics.ranks.generic import Points, generic_rank, matrices_at

_ELSEWHERE = 5
"""Random points off the constraint at which the usual size of a row's coefficients is measured; their median must not be at a special
point."""
_QUOTED_ROW_SECONDS = 3.0
"""Budget for the combination of dependent rows that a message quotes; without it the message says less."""
_LARGEST_IN_PLACE = 40
"""Size of rows whose combination is computed in place, within a tenth of a second."""
_ZERO_COEFFICIENT = 1e-3
"""Ratio to that size below which coefficients count as zero on the constraint. Newton's method comes near a multiple root only slowly, so
a much smaller ratio would miss squares."""


@public
@final
class Chetaev(Principle):
    r"""$R_V^a{}_i = \partial R_K^a / \partial q_i^{(k_a)}$, where $k_a$ is the row's own order (001, section 4 and Remark 4.1).

    Rows may be nonlinear and of any order. They must be independent in their highest derivatives on the constraint manifold; where they
    are not, a combination of them is a constraint of lower order that has to be stated itself.
    """

    word = "chetaev"
    title = "Chetaev's principle"
    takes_equations = True
    papers = ("001",)

    def rewrite(self, system: System) -> Lowered:
        """Add reactions along the derivatives of the kinematic rows by their highest jets."""
        rows = [chetaev_row(system, row) for row in system.kinematic]
        points = points_of(system, system.kinematic)
        for k, row in enumerate(rows):
            if _vanishes_on_itself(row, points):
                raise self.refusal(
                    system,
                    f"{system.kinematic_labels[k]} has no slope in its highest derivatives where it holds: {system.kinematic[k]}.",
                    why="A square, or another multiple root, gives no direction to a reaction.",
                    hint="state the root itself, such as x' = 0 instead of x'^2 = 0",
                    part="kinematic",
                    row=system.kinematic_labels[k],
                )
        found = generic_rank(matrix(rows, system.coordinates), points)
        if found < len(rows):
            why, hint = _consequence(system, rows)
            raise self.refusal(
                system,
                f"The {len(rows)} kinematic rows are not independent in their highest derivatives: their rank is {found}.",
                why=why,
                hint=(f"{hint}, or ", UsePrinciple(VirtualWork()), " with rows of your own"),
                part="kinematic",
            )
        return lowered_with(self, system)


def _vanishes_on_itself(row: RowV, points: Points) -> bool:
    """Whether all coefficients of a row vanish on the constraint.

    Without an exact answer they are compared with their usual size: numerical points only come near a multiple root.
    """
    exact = exactly_zero(list(row.values()), points.rows)
    if exact is not None:
        return all(exact)
    entries = [list(row.values())]
    on = [float(np.abs(a).max()) for a in matrices_at(entries, points)]
    off = [
        float(np.abs(a).max()) for a in matrices_at(entries, [random_point(Tape(entries[0]).symbols, seed) for seed in range(_ELSEWHERE)])
    ]
    return bool(on) and bool(off) and max(on) < _ZERO_COEFFICIENT * float(np.median(off))


def _consequence(system: System, rows: list[RowV]) -> tuple[str, str]:
    """A sentence about the lower-order equation that follows from dependent rows, and a hint."""
    instead = "state the lower-order row instead of one of them"
    calculus = contact_calculus(system)
    top = max(row.order for row in system.kinematic)
    raised = [calculus.total(row.residual, top - row.order) for row in system.kinematic]
    slopes = sympy.ImmutableMatrix(matrix(rows, system.coordinates))
    combination = limited(
        _dependent, slopes, tuple(raised), seconds=_QUOTED_ROW_SECONDS, small=size(slopes, *raised) <= _LARGEST_IN_PLACE
    ).value
    if combination is None:
        return "On the constraint manifold a combination of them contains lower derivatives only.", instead
    if combination == 0:
        return "One of them repeats the others: a combination of them is 0 = 0.", "remove the row that repeats others"
    if not jets_in(combination) and TIME not in combination.free_symbols:
        unless = " unless that holds" if combination.free_symbols else ""
        return f"They contradict each other{unless}: a combination of them is {show(combination)} = 0.", "remove a row that cannot hold"
    return f"A combination of them is of lower order: {show(combination)} = 0.", instead


def _dependent(slopes: sympy.Matrix, expressions: tuple[Expr, ...]) -> Expr | None:
    """The combination of `expressions` whose coefficients are a null vector of the transposed slopes; None if there is none."""
    null = slopes.T.nullspace()
    return sympy.simplify(sympy.Add(*[c * e for c, e in zip(null[0], expressions, strict=True)])) if null else None


def lowered_with(principle: Principle, system: System) -> Lowered:
    """Normal form with the rows R_V computed from R_K.

    A system may state the same rows itself, that is, rows with the same span on the constraint manifold; then the stated rows have the
    multipliers. Different rows are refused, not discarded.
    """
    if len(system.kinematic) > len(system.coordinates):
        raise principle.refusal(
            system,
            f"{len(system.kinematic)} kinematic rows for {len(system.coordinates)} coordinates.",
            why="At most as many rows as coordinates can be independent.",
            hint=("remove the rows that follow from others, or ", UsePrinciple(VirtualWork()), " with rows of your own"),
            part="kinematic",
        )
    rows = tuple(chetaev_row(system, row) for row in system.kinematic)
    if system.variational is not None:
        stated = tuple(row.coefficients for row in system.variational)
        if not same_span(rows, stated, system.coordinates, points_of(system, system.kinematic)):
            raise principle.refusal(
                system,
                "The system states variational rows that differ from those the principle computes; they would be discarded.",
                why="Here the directions of virtual displacements are not those of the kinematic constraints.",
                hint=(UsePrinciple(VirtualWork()), ", or remove the variational rows"),
                part="variational",
            )
        rows = stated
    return Lowered(system, system.lagrangian, with_reactions(rows))
