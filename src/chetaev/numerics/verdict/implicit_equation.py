r"""The implicit differential equation $M_{KV} = C_K \cap M_V$ of a constrained system and its integrable part (001, section 5).

$M_V \subset T^{(k)}Q$ consists of the jets at which the Euler-Lagrange covector lies in the span of $R_V$, the annihilator of $C_V$. A jet
is *integrable* if a motion passes through it. The integrable part is found by steps: rows of order below $k$ that hold on $M_i$ define a
submanifold $\tau(M_i)$ of $T^{(k-1)}Q$, to which the lift of a motion is tangent, so

$$ M_{i+1} = M_i \cap j_k^{-1}\bigl(T\,\tau^{(k-1,k)}(M_i)\bigr), $$

until nothing is added (Mendella, Marmo, Tulczyjew 1995). If the motion is unique, the dimension at general points of the result is that of
the manifold of states; it is compared with that of `analyze`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, count_ops

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Ask, UsePrinciple
from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Coordinate
from chetaev.core.system import System
from chetaev.mechanics.analysis import Analysis, Verdict
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.principles import VirtualWork
from chetaev.mechanics.prolonged.lower_rows import follows, lower_rows, numerator, order_of, points_where
from chetaev.mechanics.ranks.generic import generic_rank
from chetaev.numerics.verdict.analyze import analyze

_MOST_STEPS = 12
"""Integrability steps. An equation of order k on n coordinates needs at most about k n; more mean that a zero was not recognised."""
_MOST_OPERATIONS = 20_000
"""Operations in all rows above which no further step is made; each step may double them."""


@dataclass(frozen=True)
class IntegrabilityStep:
    """One step: the rows it adds, and the dimension of the remaining set."""

    added: tuple[Expr, ...]
    dimension: int | None

    def __str__(self) -> str:
        left = "no real point is left" if self.dimension is None else f"dimension {self.dimension}"
        return f"{', '.join(f'{show(e)} = 0' for e in self.added)}  ({left})"


@dataclass(frozen=True)
class IntegrablePart:
    """The jets through which motions pass, or one component of them if they form a union of manifolds."""

    rows: tuple[Expr, ...]
    """Expressions that vanish on it, in the jets of $T^{(k)}Q$."""
    dimension: int | None
    """Its dimension, time not counted; None if it is empty. If motions are unique, the number of free initial values."""
    components: tuple[IntegrablePart, ...] = ()
    """The manifolds whose union it is, where there are several."""

    def __str__(self) -> str:
        if self.components:
            return "\n".join(f"component {k}: {part}" for k, part in enumerate(self.components))
        if self.dimension is None:
            return "empty"
        return "\n".join([f"dimension {self.dimension}", *[f"  {show(e)} = 0" for e in self.rows]])


@public
@dataclass(frozen=True)
class ImplicitEquation:
    """$M_{KV}$, its integrability steps and its integrable part."""

    equations: Equations
    order: int
    """$k$: the equation is a subset of $T^{(k)}Q$."""
    rows: tuple[Expr, ...]
    """$M_{KV}$: virtual work along a basis of $C_V$, then the kinematic rows."""
    assumptions: tuple[Expr, ...]
    """Expressions that must not vanish: pivots of the elimination of the reactions and of highest jets."""
    dimension: int | None
    """The dimension of $M_{KV}$; None if no real point was found."""
    steps: tuple[IntegrabilityStep, ...]
    integrable_part: IntegrablePart
    analysis: Analysis
    """The verdict of `analyze` on the same equations."""
    complete: bool
    """Whether the steps ended and agree with the analysis."""
    note: str = ""
    """The reason if `complete` is False."""

    @property
    def integrable(self) -> bool | None:
        """Whether a motion passes through every jet of $M_{KV}$, at general points; None if undecided."""
        return not self.steps if self.complete and not self.integrable_part.components else None if not self.complete else False

    def __str__(self) -> str:
        size = "no real point was found" if self.dimension is None else f"dimension {self.dimension}"
        lines = [f"M_KV of {self.equations.system.label} in T^({self.order})Q: {size}", *[f"  {show(e)} = 0" for e in self.rows]]
        if self.assumptions:
            lines.append(f"  where {', '.join(f'{show(e)} != 0' for e in self.assumptions)}")
        lines += [f"step {k + 1}: {step}" for k, step in enumerate(self.steps)]
        part = str(self.integrable_part).replace("\n", "\n  ")
        lines.append("integrable: every point of M_KV" if self.integrable else f"integrable part: {part}")
        return "\n".join([*lines, *([f"incomplete: {self.note}"] if self.note else [])])


@public
def implicit_equation(given: Any, principle: Any = None) -> ImplicitEquation:
    """The implicit differential equation of a system with reactions, its integrability steps and its integrable part.

    Args:
        given: A system, equations or a model. A system that states its variational rows is taken under `VirtualWork`.
        principle: The principle of a system.

    Returns:
        Rows, dimension, steps and integrable part.

    Raises:
        PrincipleError: If multipliers or the action belong to the state, or a principle is missing.
        ModelError: For group coordinates.

    >>> pendulum = System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["x^2 + y^2 = 1"])
    >>> from chetaev.mechanics.principles import DAlembert
    >>> equation = implicit_equation(pendulum, DAlembert())
    >>> equation.order, equation.dimension, equation.integrable_part.dimension
    (2, 4, 2)
    """
    equations = _derived(given, principle)
    require_coordinates(equations.system, "implicit_equation")
    with deep():
        return _made(equations)


def _derived(given: Any, principle: Any) -> Equations:
    if isinstance(given, System) and principle is None and given.variational is not None:
        principle = VirtualWork()
    equations = given if isinstance(given, Equations) else derive(given, principle)
    if equations.lowered.costates or equations.lowered.action is not None:
        raise PrincipleError(
            f"{equations.system.label} is under {equations.principle}.",
            where=about(f"implicit equation of {equations.system.label}", "principle"),
            why="M_KV is a set of jets of the coordinates; here multipliers or the action are part of the state.",
            hint=(
                "a principle with reactions, such as ",
                UsePrinciple(VirtualWork()),
                "; ",
                Ask("vakonomic_as_free", "..."),
                " makes coordinates of them",
            ),
        )
    return equations


def _made(equations: Equations) -> ImplicitEquation:
    without = equations.eliminate()
    rows = tuple(e for e in (numerator(row.residual) for row in without.rows) if e != 0)
    order = max(2, *map(order_of, rows)) if rows else 2
    system = equations.system
    jets = [q.d(k) for k in range(order + 1) for q in system.coordinates]
    found, steps, note, divisors = _steps(equations, rows, order, jets)
    analysis = analyze(equations)
    whole = _dimension(rows, jets)
    part, note = _integrable_part(found, rows, jets, analysis, note)
    assumptions = tuple(dict.fromkeys([*without.assumptions, *divisors]))
    if len(part.components) > 1:  # the steps followed one component only
        steps = []
    return ImplicitEquation(equations, order, rows, assumptions, whole, tuple(steps), part, analysis, not note, note)


def _steps(
    equations: Equations, rows: tuple[Expr, ...], order: int, jets: list[Coordinate]
) -> tuple[list[Expr], list[IntegrabilityStep], str, list[Expr]]:
    """All rows after the integrability steps, the steps, a note if they did not end, and the divisors."""
    kept = list(rows)
    steps: list[IntegrabilityStep] = []
    divisors: list[Expr] = []
    for _ in range(_MOST_STEPS):
        points = points_where(kept, jets)
        if not points:
            return kept, steps, "", divisors
        lower = lower_rows(kept, order - 1, points)
        if not lower.complete:
            return kept, steps, "rows that are not affine in their highest derivatives imply rows that were not found", divisors
        divisors += [e for e in lower.divisors if e not in divisors]
        added: list[Expr] = []
        for e in [numerator(equations.total(e)) for e in lower.rows]:
            if e not in kept and not follows(e, points_where([*kept, *added], jets) if added else points, jets):
                added.append(e)
        if not added:
            return kept, steps, "", divisors
        kept += added
        steps.append(IntegrabilityStep(tuple(added), _dimension(kept, jets)))
        if count_ops(kept) > _MOST_OPERATIONS:
            return kept, steps, "the rows became too long", divisors
    return kept, steps, f"more than {_MOST_STEPS} steps", divisors


def _dimension(rows: Any, jets: list[Coordinate]) -> int | None:
    points = points_where(rows, jets)
    return len(jets) - generic_rank([SYMBOLIC.gradient(e, jets) for e in rows], points) if points else None


def _integrable_part(
    found: list[Expr], rows: tuple[Expr, ...], jets: list[Coordinate], analysis: Analysis, note: str
) -> tuple[IntegrablePart, str]:
    """The integrable part: from the steps if they agree with the analysis, from the branches of the analysis if there are several."""
    if analysis.branches:
        parts = tuple(IntegrablePart((*rows, *_of_leaf(branch)), branch.dimension) for branch in analysis.branches)
        undecided = "the verdict of analyze is UNDECIDED" if analysis.verdict is Verdict.UNDECIDED else ""
        return IntegrablePart(rows, max((p.dimension or 0 for p in parts), default=None), parts), undecided
    dimension = _dimension(found, jets)
    if analysis.verdict is Verdict.INCONSISTENT:
        return IntegrablePart(tuple(found), None), note if dimension is None or dimension == 0 else note or "analyze finds no motion"
    unique = analysis.verdict in (Verdict.REGULAR, Verdict.CONSTRAINED)
    if not note and unique and dimension != analysis.dimension:
        note = f"the steps leave dimension {dimension}, and analyze finds {analysis.dimension} free initial values"
    if analysis.verdict is Verdict.UNDECIDED:
        note = note or "the verdict of analyze is UNDECIDED"
    return IntegrablePart(tuple(found), dimension), note


def _of_leaf(branch: Analysis) -> tuple[Expr, ...]:
    """The equations of a branch, as far as the constraint algorithm gives them."""
    constraints = getattr(branch.leaf, "constraints", ())
    return tuple(e for e in constraints if isinstance(e, Expr))
