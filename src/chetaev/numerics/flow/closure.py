r"""Equations closed by their own consequences.

The rows differentiated as Pryce's offsets say are linear in the top jets, $A(x)\, y + b(x) = 0$. Where $A$ has fewer pivots than rows, the
rows without a pivot leave expressions $\ell(x)$ after the elimination. If these do not vanish where the rows below hold, they are
constraints that no single row shows: they join the system as rows of their own, with their derivatives, and the elimination is repeated
until nothing new is left. The result is an ordinary system, perhaps with more rows than unknowns: its constraints are known, its motion is
solved for by an elimination with as many pivots as the rank, and all functions of rows and their derivatives apply to it.

The expressions are graphs. Whether they vanish is decided in a finite field if the rows below are affine, and otherwise at random points of
the constraint set: evidence, not a proof. This is the
reduction of P. J. Rabier and W. C. Rheinboldt, A geometric treatment of implicit differential-algebraic equations, J. Differential
Equations 109 (1994) 110-146, with the submanifolds given by rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.symbols import Input, Jet, Multiplier
from chetaev.mechanics import origins as row_origins
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import Factored, open_jets
from chetaev.mechanics.ranks.generic import Matrix, Point, factored_at, matrices_at, rank_at
from chetaev.mechanics.ranks.sizes import row_sizes
from chetaev.mechanics.ranks.split import rank_of
from chetaev.mechanics.structure import partial_structure
from chetaev.numerics.flow.constraint_set.sampling import points_from, points_near
from chetaev.numerics.flow.elimination import PivotOrder, Samples, Solved, elimination_order, samples_of, solve
from chetaev.numerics.flow.forty_digits import sure_rank, vanishes_near
from chetaev.numerics.flow.prolongation import Prolongation, plainly_affine
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.residues import Residues, residues_of

_MOST_ROUNDS = 6
"""Most rounds of adding consequences; a system that needs more is reported as not closed."""
_POINTS_OF_SET = 8
"""Random points of the constraint set at which ranks and expressions are evaluated; with fewer, families of states are missed."""
_VANISHES = 1e-6
"""Relative to its change when a jet changes by its size: a smaller expression vanishes at a point."""
_LEAST_CHANGE = 1e-2
"""Smallest change of an expression relative to its typical change, used where all jets happen to be small."""
_MOST_INSTRUCTIONS = 100_000
"""Most instructions of all consequences together; beyond it the closure gives up, since each round may square their number."""
SMALL_PIVOT = 1e-9
"""Relative to its typical size: a smaller pivot explains a lower rank at a point; larger ones are not zeros in floating point."""
_INVOLVED = 1e-7
"""Smallest weight of a row in the combination that eliminates the tops from a leftover row; smaller weights are round-off, and the row is
not named as an origin."""
_INDEPENDENT = 1e-7
"""Relative to the largest entry of a null space: smallest singular value of directions that count as independent, as `OPEN` of the shared
tolerances. With less, errors of the null space are directions."""


class End(StrEnum):
    """The end of the closure."""

    CLOSED = "closed"
    """There are no new consequences; tops that are still open are free."""
    EMPTY = "empty"
    """No point satisfies all rows."""
    UNCLEAR = "unclear"
    """Ranks or the budget did not allow a conclusion."""


@dataclass(frozen=True)
class Consequence:
    """A relation between jets of the state that follows from several rows."""

    label: str
    origins: tuple[str, ...]
    """The rows it is made of."""
    size: float
    """The value of the relation at a random state, with values of order one, where only the rows before it hold."""

    @property
    def origin(self) -> row_origins.Consequence:
        """The origin of the row that states it."""
        return row_origins.Consequence(self.label)


@dataclass(frozen=True)
class Closure:
    """The system with its consequences, and the tops that are left open."""

    system: Prolongation
    end: End
    consequences: tuple[Consequence, ...]
    opened: tuple[Jet, ...] = ()
    """Tops the equations leave open."""
    free: tuple[Jet, ...] = ()
    """A maximal independent set of the open tops of coordinates: one for each free function."""
    dimension: int | None = None
    """The dimension of the manifold of states."""
    others: tuple[Closure, ...] = ()
    """Other families of states that random points found: the constraint set is a union."""

    @property
    def determined(self) -> bool:
        """Whether the motion is unique."""
        return self.end is End.CLOSED and not self.free


def closure_with(equations: Equations, rows: Sequence[Expr], labels: Sequence[str]) -> Closure:
    """Return the closure with further rows: the constraints of a branch."""
    system = _stated(equations)
    return closure(system.extended([system.algebra.of(row) for row in rows], labels))


@lru_cache(maxsize=32)
def closure_of(equations: Equations) -> Closure:
    """The closure of any equations, square or not; cached."""
    return closure(_stated(equations))


def _stated(equations: Equations) -> Prolongation:
    """The rows as they are stated, raised so that they are linear in their top jets."""
    found = partial_structure(equations, GraphAlgebra())
    system = Prolongation(equations, found, count=_POINTS_OF_SET)
    if not system.curved(system.stage(0), found.top):
        plain = plainly_affine(found)
        return system if plain is found else Prolongation(equations, plain, count=_POINTS_OF_SET)
    c, d = (tuple(k + 1 for k in offsets) for offsets in (found.row_offsets, found.unknown_offsets))
    return Prolongation(equations, replace(found, row_offsets=c, unknown_offsets=d), count=_POINTS_OF_SET)


def closure(system: Prolongation, *, alone: bool = False) -> Closure:
    """Add consequences until the rows are closed; with `alone` do not search for other families of states."""
    base = system
    known: tuple[Consequence, ...] = ()
    relations: list[ca.SX] = []
    others: list[Point] = []
    for _ in range(_MOST_ROUNDS):
        r, usual, strange = _clusters(system)
        if not usual:
            return Closure(system, End.UNCLEAR if system.points else End.EMPTY, known)
        points, matrices = zip(*usual, strict=True)
        samples, residues = samples_of(system, points), residues_of(system.algebra, system.structure.jacobian)
        order = elimination_order(samples, r, residues=residues, prefer=True)
        if len(order.pairs) < r:
            return Closure(system, End.UNCLEAR, known)
        solution = _solution(system, samples, residues, order)
        others += [point for point in strange if is_special(system, point, solution)]
        leftover = solution.leftover
        sizes = _sizes(system, leftover, points)
        done = [k for k in range(len(points)) if (sizes[k] <= _VANISHES).all()]
        if len(done) >= min(2, len(points)):  # one family is closed; other points may belong to other components
            others += [point for k, point in enumerate(points) if k not in done]
            found = _closed(base, system, known, relations, [usual[k] for k in done], r)
            return found if alone else _with_others(found, others)
        new = _new_relations(system, leftover, sizes, points[0], matrices[0], order, len(known))
        extended = _extended(system, new)
        better = _order_there(system, points, extended, solution, order)
        if better is not None:
            solution = _solution(system, samples, residues, better)
            sizes = _sizes(system, solution.leftover, points)
            new = _new_relations(system, solution.leftover, sizes, points[0], matrices[0], better, len(known))
            extended = _extended(system, new)
        known += tuple(consequence for consequence, _ in new)
        relations += [e for _, e in new]
        system = extended
        if any(not _jets(system, e) for _, e in new):  # a relation without unknowns: it holds nowhere, or at single times
            return Closure(system, End.EMPTY, known)
        if len(known) > len(base.structure.state) or _instructions(relations) > _MOST_INSTRUCTIONS:
            break  # more relations than jets of the state: most are dependent, and the search does not converge
    return Closure(system, End.UNCLEAR, known)


Spot = tuple[Point, Matrix]
"""A point and the system Jacobian there."""


def _clusters(system: Prolongation) -> tuple[int, list[Spot], list[Point]]:
    """Return the most frequent rank of the Jacobian, the points with this rank and the Jacobian there, and the other points.

    Where the numerical rank is lower than that in the finite field at every point, as for masses that differ by 1e-10, the field decides.
    """
    hidden = [system.row(pair) for pair in system.hidden()]
    known = [(point, sure_rank(system.structure.jacobian, hidden, point, system.algebra, system.sizes)) for point in system.points]
    ranks = Counter(r for _, r in known if r is not None)  # without points at which the rank is unclear
    usual = max(ranks, key=lambda r: (ranks[r], r), default=0)
    width = len(system.structure.top)
    doubtful = bool(ranks) and not system.added and (len(ranks) > 1 or max(ranks) < width)
    if doubtful and system.exact_nullity is not None:
        exact = width - system.exact_nullity
        known = known if max(ranks) >= exact else [(point, exact) for point in system.points]
        usual = exact if exact in ranks or max(ranks) < exact else usual
    kept = [point for point, r in known if r == usual]
    matrices = matrices_at(system.structure.jacobian, kept, system.algebra)
    return usual, list(zip(kept, matrices, strict=True)), [point for point, r in known if r is not None and r != usual]


def _with_others(found: Closure, points: Sequence[Point]) -> Closure:
    """Add the closures of other families, near points of other ranks, if they differ."""
    others: list[Closure] = []
    system = found.system.original
    hidden = [system.row(pair) for pair in system.hidden()]
    usual = next(iter(found.system.points), {})
    for point in points:
        # families differ in their states only: take parameters and time of a typical point, where exp(-b*t) does not underflow to zero
        moved = {**usual, **{z: v for z, v in point.items() if isinstance(z, Jet) and not isinstance(z, Input)}}
        for start in points_from(hidden, [moved], system.algebra, system.sizes) if hidden else [moved]:
            other = closure(system.near(start), alone=True)
            kinds = [(c.dimension, len(c.free)) for c in (found, *others)]
            if other.end is End.CLOSED and (other.dimension, len(other.free)) not in kinds:
                others.append(other)
    every = (found, *others)
    first, *rest = [
        c for c in every if not any(is_edge_of(c, larger) for larger in every)
    ]  # the largest family is not the boundary of another
    return replace(first, others=tuple(rest))


def is_edge_of(small: Closure, large: Closure) -> bool:
    """Tell whether a family is the boundary of a larger one, such as rest among all motions: states of the larger one approach it."""
    if len(small.free) != len(large.free) or (small.dimension or 0) >= (large.dimension or 0):
        return False
    system = large.system
    hidden = [system.row(pair) for pair in system.hidden()]
    nearby = points_near(hidden, small.system.points[0], system.algebra, spread=0.03, sizes=system.sizes)
    return len(system.structure.state) - system.structure.surplus - hidden_rank(system, nearby) == large.dimension


def _instructions(rows: Sequence[ca.SX]) -> int:
    column = ca.vertcat(*rows)
    return int(ca.Function("rows", [ca.vertcat(*ca.symvar(column))], [column]).n_instructions())


def _solution(system: Prolongation, samples: Samples, residues: Residues | None, order: PivotOrder) -> Solved:
    """Return the rows solved for their tops, with the expressions left by rows without a pivot."""
    right = [-system.algebra.without(system.row(pair), system.structure.top) for pair in system.stage(0)]
    return solve(system.structure.jacobian, right, order, samples, residues, written=system.algebra.of)


def _extended(system: Prolongation, new: Sequence[tuple[Consequence, ca.SX]]) -> Prolongation:
    return system.extended([e for _, e in new], [consequence.label for consequence, _ in new])


def _order_there(
    system: Prolongation, points: Sequence[Point], extended: Prolongation, solution: Solved, order: PivotOrder
) -> PivotOrder | None:
    r"""Return another order of elimination where a pivot vanishes on the whole set that the new relations define; None if there is none.

    A relation divides by pivots. If one of them vanishes wherever the relation holds, its derivatives have no value there: the rows
    $\sin(x)\,x' + y' = 0$ and $\sin(x)\,x' + y' = x$ with the pivot $\sin x$ leave $x \sin(x)/\sin(x) = 0$. The pivots of the other order
    have digits there too.
    """
    there = extended.points
    values = matrices_at([list(solution.pivots)], there, system.algebra) if there and solution.pivots else []
    small = [np.abs(v[0]) < SMALL_PIVOT * np.array(solution.references) for v in values]
    if values and not np.all(small, axis=0).any():
        return None
    found = elimination_order(
        samples_of(system, [*points, *there], solved=True),
        len(order.pairs),
        residues=residues_of(system.algebra, system.structure.jacobian),
    )
    return found if len(found.pairs) == len(order.pairs) and found != order else None


def is_special(system: Prolongation, point: Point, solution: Solved) -> bool:
    """Tell whether a point of unusual rank is really special: its first small pivot has a root there, and does not merely underflow."""
    for pivot, usual in zip(solution.pivots, solution.references, strict=True):
        value = matrices_at([[pivot]], [point], system.algebra)
        if not value:
            return True
        if abs(float(value[0][0, 0])) < SMALL_PIVOT * usual:
            return vanishes_near(pivot, point, system.algebra, system.sizes)
    return True


def _sizes(system: Prolongation, leftover: Sequence[tuple[int, ca.SX]], points: Sequence[Point]) -> Matrix:
    """Return the leftover expressions at points, a row for each, relative to their change when a jet changes by its size.

    Where the finite field decides whether an expression vanishes on the constraint set, the result is 0, or at least 1.
    """
    state = list(system.structure.state)
    entries = [[e, *system.algebra.gradient(e, state)] for _, e in leftover]
    smallest = _LEAST_CHANGE * row_sizes([e for _, e in leftover], system.algebra, system.sizes)
    sizes = np.full((len(points), len(leftover)), np.inf)
    for k, point in enumerate(points):
        found = matrices_at(entries, [point], system.algebra) if entries else []
        if found:
            terms = np.abs(found[0][:, 1:]) * np.array([abs(point.get(z, 0.0)) for z in state])
            sizes[k] = np.abs(found[0][:, 0]) / np.maximum(terms.max(axis=1, initial=0.0), smallest)
    for k, zero in enumerate(system.exactly_zero([e for _, e in leftover]) or ()):
        sizes[:, k] = 0.0 if zero else np.maximum(sizes[:, k], 1.0)  # small numbers in a row are no reason to drop it
    return sizes


def _new_relations(
    system: Prolongation,
    leftover: Sequence[tuple[int, ca.SX]],
    sizes: Matrix,
    point: Point,
    matrix: Matrix,
    order: PivotOrder,
    count: int,
) -> list[tuple[Consequence, ca.SX]]:
    """Leftover expressions that do not vanish on the constraints known so far."""
    pairs = system.stage(0)
    found: list[tuple[Consequence, ca.SX]] = []
    for k, (i, e) in enumerate(leftover):
        if sizes[:, k].max() > _VANISHES:
            names = tuple(system.label(pairs[a]) for a in _origins(matrix, order, i))
            value = matrices_at([[e]], [point], system.algebra)
            size = abs(float(value[0][0, 0])) if value else np.inf
            found.append((Consequence(f"consequence[{count + len(found)}]", names, size), e))
    return found


def _origins(matrix: Matrix, order: PivotOrder, row: int) -> list[int]:
    """The rows a leftover row is combined with to eliminate the tops, itself included."""
    rows, columns = [i for i, _ in order.pairs], [j for _, j in order.pairs]
    weights = np.linalg.lstsq(matrix[np.ix_(rows, columns)].T, matrix[row, columns], rcond=None)[0] if rows else np.zeros(0)
    involved = [i for i, w in zip(rows, weights, strict=True) if abs(w) > _INVOLVED]
    return sorted([*involved, row])


def _jets(system: Prolongation, e: ca.SX) -> list[Jet]:
    return [z for z in system.algebra.symbols(e) if isinstance(z, Jet) and not isinstance(z, Input)]


def _closed(
    base: Prolongation, system: Prolongation, known: tuple[Consequence, ...], relations: Sequence[ca.SX], spots: Sequence[Spot], r: int
) -> Closure:
    """Return the closed system with the relations that it needs; `r` is the exact rank of its Jacobian."""
    points = [point for point, _ in spots]
    kept = _needed(base, system, relations, points)
    system = base.extended([relations[k] for k in kept], [known[k].label for k in kept]) if kept else base
    system.points, system.solvable = points, True
    top = system.structure.top
    factored = factored_at(system.structure.jacobian, points, system.algebra, system.sizes, drawn=system.drawn)
    right = [found.rank == r or (found.rank > r and not found.may_be_less) for found in factored]
    nulls = [found.null if fits else Factored(found.jacobian, rank=r).null for found, fits in zip(factored, right, strict=True)]
    null = min(nulls, key=lambda n: n.shape[1])
    opened = open_jets(top, null)
    moving = [j for j, z in enumerate(top) if z in opened and not isinstance(z, Multiplier)]
    chosen: list[int] = []
    for j in sorted(moving, key=lambda j: (top[j].order, j)):  # coordinates without inertia first
        if rank_of(null[[*chosen, j]], _INDEPENDENT, size=float(np.abs(null).max(initial=1.0))) > len(chosen):
            chosen.append(j)
    dimension = len(system.structure.state) - system.structure.surplus - _restrictions(system, points)
    return Closure(system, End.CLOSED, tuple(known[k] for k in kept), tuple(opened), tuple(top[j] for j in chosen), dimension)


def _needed(base: Prolongation, system: Prolongation, relations: Sequence[ca.SX], points: Sequence[Point]) -> list[int]:
    """Return the relations without which constraints or equations for the tops would be missing; later ones are dropped first."""
    kept = list(range(len(relations)))
    full = (hidden_rank(system, points), _top_rank(system, points))
    for k in reversed(range(len(relations))):
        fewer = [i for i in kept if i != k]
        trial = base.extended([relations[i] for i in fewer], [str(i) for i in fewer]) if fewer else base
        if (hidden_rank(trial, points), _top_rank(trial, points)) == full:
            kept = fewer
    return kept


def _restrictions(system: Prolongation, points: Sequence[Point]) -> int:
    """Return the number of independent rows on the state; where the numerical rank may be too low, the finite field decides."""
    found = hidden_rank(system, points)
    if found == len(system.hidden()) or system.exactly_free is None:
        return found
    return max(found, len(system.structure.state) - len(system.exactly_free))


def hidden_rank(system: Prolongation, points: Sequence[Point]) -> int:
    """Return the number of independent rows on the state, the largest over some points."""
    entries = [system.algebra.gradient(system.row(pair), system.structure.state) for pair in system.hidden()]
    return rank_at(entries, points, system.algebra, system.sizes)


def _top_rank(system: Prolongation, points: Sequence[Point]) -> int:
    return rank_at(system.structure.jacobian, points, system.algebra, system.sizes)
