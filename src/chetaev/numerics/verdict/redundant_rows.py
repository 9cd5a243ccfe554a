"""More rows than unknowns, some of which follow from the others.

A stated row whose omission leaves the same manifold of states and no free function follows from the other rows and their derivatives: it
makes nothing inconsistent. The two sets of motions contain one another, so equal dimensions mean that they are the same on the manifold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Stated
from chetaev.numerics.flow.closure import Closure, closure_of


@dataclass(frozen=True)
class Needed:
    """The closure of as many rows as unknowns, and the labels of the rows that follow from these."""

    closure: Closure
    left_out: tuple[str, ...]


def without_redundant_rows(found: Closure) -> Needed | None:
    """Return the closure of as many rows as unknowns that have the same motions; None if no such rows are found."""
    equations, closed = found.system.equations, found
    left_out: list[str] = []
    for label in reversed([origin.label for origin in equations.origins if isinstance(origin, Stated)]):
        rows, unknowns = equations.counts
        if rows <= unknowns:
            break
        fewer = _without(equations, label)
        if fewer.unknowns != equations.unknowns:
            continue
        other = closure_of(fewer)
        if other.determined and not other.others and other.dimension == found.dimension:
            equations, closed = fewer, other
            left_out.insert(0, label)
    rows, unknowns = equations.counts
    return Needed(closed, tuple(left_out)) if rows <= unknowns else None


def _without(equations: Equations, label: str) -> Equations:
    return replace(equations, rewritten=tuple(row for row in equations.rows if row.label != label))
