r"""What a principle is: a rule that rewrites a system into normal form.

Normal form: rows $E_i = u_i + \lambda_a R_V^a{}_i$ together with $R_K = 0$, where $E_i$ is the Euler-Lagrange expression of the lowered
Lagrangian. The assembler knows no principle, and a principle knows no assembler.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

from sympy import Add, Expr, S

from chetaev.analysis.exact_ranks import exact_rank
from chetaev.analysis.ranks import Point, Points, matrices_at, points_on, rank
from chetaev.calculus import SYMBOLIC, Calculus
from chetaev.constraints import Constraint
from chetaev.errors import PrincipleError
from chetaev.frozen import Frozen
from chetaev.recursion import deep
from chetaev.symbols import Action, Coordinate, Multiplier, moved_by, order_in
from chetaev.system import System
from chetaev.values import Tape
from chetaev.zero import random_point, seems_zero

_POINTS = 9
"""Enough for several scales: constraints and their rows may be defined in a part of space only."""

RowV = Frozen[Coordinate, Expr]
"""One row of R_V: the coefficients of the variations."""


@dataclass(frozen=True)
class Lowered:
    """A system in normal form.

    `lagrangian` is the one whose Euler-Lagrange expressions are formed; `reactions[a]` is the row of R_V that `multipliers[a]` multiplies.
    Under vakonomic principles the multipliers stand in the Lagrangian and there are no reactions. With an `action` the
    expressions are those of Herglotz.
    """

    system: System
    lagrangian: Expr
    multipliers: tuple[Multiplier, ...] = ()
    reactions: tuple[RowV, ...] = ()
    action: Action | None = None

    @property
    def vakonomic(self) -> bool:
        """Whether the multipliers are coordinates of an extended Lagrangian."""
        return bool(self.multipliers) and not self.reactions

    @cached_property
    def varied(self) -> tuple[Coordinate, ...]:
        """The coordinates on whose variations something acts; the row of any other coordinate would read 0 = 0."""
        bases = (
            moved_by(self.lagrangian)
            | moved_by(self.system.dissipation)
            | {q.base for row in self.reactions for q in row}
            | {q.base for q in self.system.forces}
        )
        return tuple(q for a, q in enumerate(self.system.coordinates) if q.base in bases or self._turns(a))

    def _turns(self, a: int) -> bool:
        r"""Whether $C^c_{ab}\,\xi^b p_c$ is not zero: a momentum about one axis of a group coordinate acts on the others as they turn."""
        frame = self.system.frame
        turning = [(c, v * value) for b, v in enumerate(frame.velocities) for c, value in frame.bracket(a, b).items()]
        orders = range(order_in(self.lagrangian, Coordinate) if turning else 0)
        return any(not seems_zero(Add(*[e * self.lagrangian.diff(frame.velocities[c].d(k)) for c, e in turning])) for k in orders)


class Principle(ABC):
    """A rule that decides the motion. Principles are values: two of the same kind are equal."""

    word: ClassVar[str]
    """Its name in model files and on the command line."""
    takes_action: ClassVar[bool] = False
    """Whether it gives a meaning to the action variable."""

    @final
    def lower(self, system: System) -> Lowered:
        """The system in normal form, or a PrincipleError."""
        if system.action is not None and not self.takes_action:
            s = system.action.base
            raise self.refusal(
                system,
                f"The system has an action variable {s}, to which {self} gives no meaning.",
                why=f"Only Herglotz' principle sets {s}' = L.",
                hint=f"Herglotz({self})" if str(self) != "Hamilton()" else "Herglotz()",
            )
        with deep():
            return self.rewrite(system)

    @abstractmethod
    def rewrite(self, system: System) -> Lowered:
        """The rule itself."""

    @final
    def refusal(self, system: System, what: str, *, why: str = "", hint: str = "") -> PrincipleError:
        """The error that says why this principle does not apply."""
        return PrincipleError(what, where=f"derive {system.label}, {self}", why=why, hint=hint)

    def __str__(self) -> str:
        return f"{type(self).__name__}()"

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def multipliers(count: int) -> tuple[Multiplier, ...]:
    """`lambda1`, `lambda2`, ..."""
    return tuple(Multiplier(f"lambda{k + 1}") for k in range(count))


def chetaev_row(system: System, row: Constraint) -> RowV:
    r"""$R_V^i = \partial R_K / \partial q_i^{(k)}$ at the row's own order $k$ and at fixed time.

    A holonomic row with the action variable, $\varphi(q, s, t) = 0$, stands for its derivative with $s' = L$:
    $R_V^i = \varphi_{q^i} + \varphi_s\, \partial L / \partial q'^i$ for a Lagrangian of first order. For one of order $N > 1$ that
    derivative is a row of order $N$, and Chetaev's rule gives $\varphi_s\, \partial L / \partial q_i^{(N)}$.
    """
    residual, order = row.residual, row.order
    if row.has_action and order == 0:
        order = max(1, order_in(system.lagrangian, Coordinate))
        residual = contact_calculus(system).total(residual)
    gradient = contact_calculus(system).gradient(residual, [q.d(order) for q in system.coordinates])
    return Frozen({q: c for q, c in zip(system.coordinates, gradient, strict=True) if c != 0})


def contact_calculus(system: System) -> Calculus[Expr]:
    """Differentiation on the system's jets, with `s' = L` if there is an action variable."""
    return Calculus(SYMBOLIC, system.frame, system.action, system.lagrangian if system.action else None)


def points_of(system: System, rows: Sequence[Constraint]) -> Points:
    """Random points of the constraint manifold, every row prolonged to the highest order among them."""
    calculus = contact_calculus(system)
    top = max((r.order for r in rows), default=0)
    prolonged = []
    for row in rows:
        e = row.residual
        prolonged.append(system.charted(e))
        for _ in range(top - row.order):
            e = calculus.total(e)
            prolonged.append(system.charted(e))
    found = points_on(prolonged, [], count=_POINTS) or points_on([], [z for e in prolonged for z in e.free_symbols], count=_POINTS)
    return Points((with_entries(system, point, seed) for seed, point in enumerate(found)), found.rows)


def with_entries(system: System, point: Point, seed: int = 0) -> Point:
    """A point with values for the entries of all group coordinates, which its places determine; places it lacks are drawn by chance."""
    if not system.groups:
        return point
    places = [z for group in system.groups.values() for z in group.places]
    full = {**random_point(places, seed), **point}
    entries = {z: e for group in system.groups.values() for z, e in group.chart.items()}
    return {**full, **dict(zip(entries, Tape(list(entries.values()))(full), strict=True))}


def matrix(rows: Sequence[RowV], coordinates: Sequence[Coordinate]) -> list[list[Expr]]:
    """R_V as a matrix of expressions."""
    return [[row.get(q, S.Zero) for q in coordinates] for row in rows]


def same_span(first: Sequence[RowV], second: Sequence[RowV], coordinates: Sequence[Coordinate], points: Sequence[Point]) -> bool:
    """Whether two sets of rows span the same covectors where the constraints hold."""
    return inclusion(first, second, coordinates, points) == (True, True)


def inclusion(
    first: Sequence[RowV], second: Sequence[RowV], coordinates: Sequence[Coordinate], points: Sequence[Point]
) -> tuple[bool, bool]:
    """Whether the span of the first rows contains that of the second, and the other way round, where the constraints hold."""
    both, n = matrix([*first, *second], coordinates), len(first)
    rows = points.rows if isinstance(points, Points) else ()
    exact = [exact_rank(part, rows) for part in (both, both[:n], both[n:])]
    ranks = [tuple(exact)] if None not in exact else [(rank(a), rank(a[:n]), rank(a[n:])) for a in matrices_at(both, points)]
    if not ranks:
        return False, False  # no point where the rows are defined was found: agreement cannot be claimed
    return all(r == r1 for r, r1, _ in ranks), all(r == r2 for r, _, r2 in ranks)
