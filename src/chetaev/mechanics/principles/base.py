r"""Principles: rules that rewrite a system into normal form.

Normal form: rows $E_i = u_i + \lambda_a R_V^a{}_i$ together with $R_K = 0$, where $E_i$ is the Euler-Lagrange expression of the lowered
Lagrangian. The assembler does not depend on the principles, nor the principles on the assembler.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, final

from sympy import Expr, S

from chetaev.core.calculus import SYMBOLIC, Calculus
from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Advice, InPython, UsePrinciple, listed
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.support.registry import Registry, Specified
from chetaev.core.symbols import Coordinate, Multiplier, order_in
from chetaev.core.system import System
from chetaev.core.values import Tape
from chetaev.core.zero import random_point
from chetaev.mechanics.principles.normal_form import MAKING, Lowered, RowV
from chetaev.mechanics.ranks.exact import exact_rank
from chetaev.mechanics.ranks.generic import SCALED_POINTS, Point, Points, matrices_at, points_on, rank


@public
class Principle(Specified, ABC):
    """Abstract: a rule that determines the motion. Principles are values: two of the same class with the same settings are equal.

    The settings are the arguments of the constructor, kept as attributes under the same names. A new principle implements `rewrite`.
    """

    takes_action: ClassVar[bool] = False
    """Whether the principle uses the action variable."""
    takes_equations: ClassVar[bool] = False
    """Whether the principle only adds reactions, so that the rows of a dynamical form may stand in the place of a Lagrangian's."""

    @final
    def lower(self, system: System) -> Lowered:
        """Return `system` in normal form.

        Args:
            system: The system to rewrite.

        Raises:
            PrincipleError: If the principle does not apply to `system`.
        """
        if system.action is not None and not self.takes_action:
            from chetaev.mechanics.principles.herglotz import Herglotz  # which is a principle itself

            s = system.action.base
            raise self.refusal(
                system,
                f"The system has an action variable {s}, to which {self} gives no meaning.",
                why=f"Only Herglotz' principle sets {s}' = L.",
                hint=UsePrinciple(Herglotz(self)),
            )
        if system.equations and not self.takes_equations:
            from chetaev.mechanics.principles.as_stated import AsStated  # which is a principle itself

            raise self.refusal(
                system,
                f"The system has equations of its own, and no Lagrangian that {self} could vary.",
                why="The rows of a dynamical form need not come from a Lagrangian.",
                hint=UsePrinciple(AsStated()),
            )
        lowered = self.normal_form(system)
        if system.unilateral:
            with deep():
                lowered = self._with_contacts(system, lowered)
        self._require_reactions(system, lowered)
        return lowered

    @final
    def normal_form(self, system: System) -> Lowered:
        """Return what `rewrite` returns, for principles that contain others.

        Args:
            system: The system to rewrite.

        Raises:
            PrincipleError: If the principle does not apply to `system`, or if `rewrite` returns no normal form.
        """
        try:
            with deep():
                lowered = self.rewrite(system)
        except PrincipleError as wrong:
            if wrong.where == MAKING:
                wrong.where = f"derive {system.label}, {self}"
            raise
        if not isinstance(lowered, Lowered):
            what = f"rewrite returns {type(lowered).__name__}, not a normal form."
            raise self.refusal(system, what, hint=InPython("return Lowered(system, lagrangian, reactions, costates)"))
        return lowered

    def _with_contacts(self, system: System, lowered: Lowered) -> Lowered:
        """The normal form with the reactions of contacts, which act along the gradients of their gaps while they are closed."""
        reason = ""
        if lowered.costates or lowered.action is not None:
            reason = f"{self} gives them no reaction"
        elif system.equations:
            reason = "equations without a Lagrangian have no momenta, which an impact changes"
        elif order_in(lowered.lagrangian, Coordinate) > 1 or any(row.order > 1 for row in system.kinematic):
            reason = "impacts are known for velocities only, and accelerations occur in the Lagrangian or in a constraint"
        elif any(row.order and not row.affine for row in system.kinematic):
            reason = "an impact needs constraints that are affine in the velocities"
        if reason:
            raise self.refusal(system, "The system has unilateral contacts.", why=f"Here {reason}.", hint="remove `unilateral`")
        contacts = {contact.multiplier: chetaev_row(system, contact.row) for contact in system.unilateral}
        return replace(lowered, reactions=Frozen({**lowered.reactions, **contacts}))

    def _require_reactions(self, system: System, lowered: Lowered) -> None:
        """Raise a PrincipleError if a force contains a multiplier that is not the size of a reaction."""
        others = sorted(m.base for m in system.multipliers_in_forces - lowered.reactions.keys())
        if others:
            raise self.refusal(
                system,
                f"A force contains {others[0]}, which is not the multiplier of a reaction under {self}.",
                why="Friction by the normal force needs the reaction of a row; the multiplier of vakonomic motion is part of the state.",
                hint=(*listed([UsePrinciple(PRINCIPLES[word]()) for word in ("dalembert", "chetaev", "virtual-work")]), " for these rows"),
            )

    def for_rows(self, labels: Mapping[str, str]) -> Principle:
        """The principle of a system that keeps only the rows in `labels`, under the labels to which they are mapped.

        Args:
            labels: The new label of each row that is kept, by its label in this principle.
        """
        return self

    @abstractmethod
    def rewrite(self, system: System) -> Lowered:
        """Return `system` in normal form: this is the rule of the principle.

        Args:
            system: The system to rewrite.

        Raises:
            PrincipleError: If the principle does not apply to `system`; `refusal` makes this error.
        """

    @final
    def refusal(self, system: System, what: str, *, why: str = "", hint: Advice = "", part: str = "", row: str = "") -> PrincipleError:
        """The error for a system to which this principle does not apply.

        Args:
            system: The system to which the principle does not apply.
            what: What is wrong, as a sentence.
            why: The reason, as a sentence.
            hint: What the user can do.
            part: The part of the system at fault, for programs: `error.place.part`.
            row: The label of the row at fault, likewise.
        """
        return PrincipleError(what, where=about(f"derive {system.label}, {self}", part, row=row), why=why, hint=hint)


PRINCIPLES: Registry[Principle] = Registry(
    "principle", PrincipleError, "herglotz(vakonomic)", reserved={"fixed": "the list of initial data of an entry [[compare]]"}
)
"""Every registered principle by its word, for model files, motion files, the command line and reports."""

of_spec, of_words = PRINCIPLES.of_spec, PRINCIPLES.of_words


def with_reactions(rows: Sequence[Mapping[Coordinate, Expr]]) -> Frozen[Multiplier, RowV]:
    """Rows of R_V with the multipliers `lambda1`, `lambda2`, ..."""
    return Frozen({m: Frozen(row) for m, row in zip(multipliers(len(rows)), rows, strict=True)})


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
    (line,) = contact_calculus(system).lines([residual], [q.d(order) for q in system.coordinates])
    return Frozen({system.coordinates[j]: c for j, c in line.entries.items() if c != 0})


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
    symbols = [z for e in prolonged for z in e.free_symbols]
    found = points_on(prolonged, [], count=SCALED_POINTS) or points_on([], symbols, count=SCALED_POINTS)
    return Points((with_entries(system, point, seed) for seed, point in enumerate(found)), found.rows)


def with_entries(system: System, point: Point, seed: int = 0) -> Point:
    """`point` with the entries of all group coordinates, from their stored numbers; missing stored numbers are random."""
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
        return False, False  # without a point at which the rows are defined nothing can be claimed
    return all(r == r1 for r, r1, _ in ranks), all(r == r2 for r, _, r2 in ranks)
