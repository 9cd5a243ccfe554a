r"""The families of states on which motions live.

Random points show generic states. Where a product vanishes, one factor may vanish at all random points and another at none: Cawley's $q_2
q_3 = 0$. So a second test adds each pivot of the elimination that can vanish as a row, and checks whether the set where it vanishes is a
separate family of states.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import casadi as ca

from chetaev.core.symbols import Input, Jet
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.generic import Point, matrices_at
from chetaev.numerics.flow.closure import SMALL_PIVOT, Closure, End, closure, closure_of, is_edge_of, is_special
from chetaev.numerics.flow.constraint_set.sampling import points_from
from chetaev.numerics.flow.elimination import Solved, elimination_order, samples_of, solve
from chetaev.numerics.flow.forty_digits import sure_rank, vanishes_near
from chetaev.numerics.flow.prolongation import Prolongation, square_prolongation
from chetaev.numerics.graphs.residues import residues_of

_POINTS_FOR_RANKS = 8
"""Random points at which ranks are evaluated."""
_MOST_PIVOTS = 8
"""Most pivots that are tested; each takes a closure."""
_POINTS_PER_LOCUS = 1
"""Points of each locus that are tested."""
_LARGEST_VALUE = 1e3
"""Largest value at a point of a locus, with sizes of order one; larger ones are roots at infinity, that is round-off."""
_FEWEST_NEIGHBOURS = 2
"""Fewest states near a point that make a family."""


@lru_cache(maxsize=32)
def families(equations: Equations) -> Closure:
    """Return the closed system for the most frequent family of states, with the other families that were found."""
    system = square_prolongation(equations)
    regular = system is not None and system.generic_nullity is not None
    found = closure(system.sampled(_POINTS_FOR_RANKS)) if regular and system is not None else closure_of(equations)
    if found.determined and not found.others:
        found = replace(found, others=_on_loci(found))
    return found


def _on_loci(found: Closure) -> tuple[Closure, ...]:
    """Families of states on a singular locus."""
    solution = _solution(found.system)
    if solution is None:
        return ()
    for pivot in _moving(found.system, solution)[:_MOST_PIVOTS]:
        other = _on_locus(found.system, pivot, solution)
        if other is not None and not is_edge_of(other, found):
            return (other,)
    return ()


def _solution(system: Prolongation) -> Solved | None:
    """Return the elimination at generic points; None if the system Jacobian has no value at any of them."""
    if not any(a is not None for a in system.jacobians(system.generic_points)):
        return None
    samples, residues = samples_of(system, system.generic_points), residues_of(system.algebra, system.structure.jacobian)
    order = elimination_order(samples, len(system.structure.top) - system.nullity, residues=residues)
    return solve(system.structure.jacobian, [ca.SX(0)] * len(system.structure.rows), order, samples, residues)


def _moving(system: Prolongation, solution: Solved) -> list[ca.SX]:
    """Pivots that depend on the state."""
    return [p for p in solution.pivots if any(isinstance(z, Jet) and not isinstance(z, Input) for z in system.algebra.symbols(p))]


def _on_locus(system: Prolongation, pivot: ca.SX, solution: Solved) -> Closure | None:
    """Return the closure near points where a pivot vanishes, if all nearby states that satisfy the rows are singular too.

    A locus that regular states approach, such as the pole of a sphere, is the boundary of their family and not a separate family.
    """
    rows = [*[system.row(pair) for pair in system.hidden()], pivot]
    usual = system.generic_nullity or 0
    for point in points_from(rows, system.generic_points, system.algebra, system.sizes)[:_POINTS_PER_LOCUS]:
        if max(map(abs, point.values())) > _LARGEST_VALUE:  # a root at infinity: round-off, not a state
            continue
        if not vanishes_near(pivot, point, system.algebra, system.sizes):
            continue
        r = sure_rank(system.structure.jacobian, rows, point, system.algebra, system.sizes)
        near = system.near(point)
        if len(near.points) < _FEWEST_NEIGHBOURS:  # an isolated point is not a family
            continue
        if r is None or r >= len(system.structure.top) - usual or near.nullity <= usual:
            continue
        if all(_vanishes_at(system, neighbour, pivot, solution) for neighbour in near.points):
            other = closure(system.original.near(point), alone=True)
            if other.end is End.CLOSED:
                return other
    return None


def _vanishes_at(system: Prolongation, point: Point, pivot: ca.SX, solution: Solved) -> bool:
    """Tell whether a pivot of the elimination vanishes at a point and makes it special; a small one, as near a double root, does not."""
    k = next(k for k, p in enumerate(solution.pivots) if p is pivot)
    value = matrices_at([[pivot]], [point], system.algebra)
    small = not value or abs(float(value[0][0, 0])) < SMALL_PIVOT * solution.references[k]
    return small and is_special(system, point, solution)
