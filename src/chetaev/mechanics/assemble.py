r"""The one assembler: from a system in normal form to its rows, over any algebra and in any frame.

In a frame with velocities $\xi^a$, fields $X_a$ and structure functions $C^c_{ab}$ the Euler-Lagrange expression of a Lagrangian of any
order is

$$ E_a = (D - L_s)\, p_a - X_a L + C^c_{ab}\, \xi^b p_c, \qquad
   p_a = \sum_k \bigl(-(D - L_s)\bigr)^k \frac{\partial L}{\partial \xi_a^{(k)}}, $$

because a variation $\delta q = \eta^a X_a$ gives $\delta\xi^c = D\eta^c + C^c_{ab}\,\xi^a\eta^b$. In coordinates $C = 0$ and it reads
$\sum_k (-1)^{k+1} (D - L_s)^k\, \partial L/\partial q_a^{(k)}$; without an action variable $L_s = 0$.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sympy import Add, Expr, S

from chetaev.core.calculus import Algebra, Calculus
from chetaev.core.symbols import Coordinate, Jet
from chetaev.mechanics.origins import ActionRate, Origin, Sliding, Stated, Variation
from chetaev.mechanics.principles.base import Lowered

E = TypeVar("E")


@dataclass(frozen=True)
class Row(Generic[E]):
    """One equation `lhs = rhs` with its origin."""

    origin: Origin
    lhs: E
    rhs: E

    @property
    def label(self) -> str:
        """The label under which the row is printed."""
        return self.origin.label

    @property
    def residual(self) -> E:
        """`lhs - rhs`."""
        difference: Any = self.lhs - self.rhs  # type: ignore[operator]
        return difference


def assemble(lowered: Lowered, algebra: Algebra[Any]) -> tuple[Row[Any], ...]:
    """All rows: `E_i = u_i + lambda_a R_V[a, i]` for every varied coordinate, then the kinematic rows, then `s' = L`.

    For a system with equations of its own `E_i` is minus the row of its dynamical form, whose sign is the opposite one.
    """
    system = lowered.system
    calculus = calculus_of(lowered, algebra)
    expressions, varied = euler_lagrange(calculus, algebra.of(lowered.lagrangian)), set(lowered.varied)
    own = {q: algebra.of(e) for q, e in system.equations.items()}
    rows = [
        Row(Variation(q.base), e - own[q] if own else e, algebra.of(right_hand_side(lowered, q)))
        for q, e in zip(system.coordinates, expressions, strict=True)
        if q in varied
    ]
    for origin, constraint in zip(stated_origins(lowered), system.kinematic, strict=True):
        rows.append(Row(origin, algebra.of(constraint.lhs), algebra.of(constraint.rhs)))
    if lowered.action is not None:
        rows.append(Row(ActionRate(), algebra.of(lowered.action.d()), algebra.of(system.lagrangian)))
    return tuple(rows)


def origins(lowered: Lowered) -> tuple[Origin, ...]:
    """The origins of all rows, without forming the rows."""
    action = () if lowered.action is None else (ActionRate(),)
    return (*[Variation(q.base) for q in lowered.varied], *stated_origins(lowered), *action)


def stated_origins(lowered: Lowered) -> list[Origin]:
    """The origins of the kinematic rows."""
    system, varied = lowered.system, lowered.varied_rows
    return [
        Sliding(label) if row.surface else Stated(label, varied[k].base if varied.get(k) is not None else "")
        for k, (label, row) in enumerate(zip(system.kinematic_labels, system.kinematic, strict=True))
    ]


def calculus_of(lowered: Lowered, algebra: Algebra[E]) -> Calculus[E]:
    """Differentiation along the motion: on the constraint manifold the action variable has the rate L."""
    rate = algebra.of(lowered.system.lagrangian) if lowered.action is not None else None
    return Calculus(algebra, lowered.system.frame, lowered.action, rate)


def euler_lagrange(calculus: Calculus[Any], lagrangian: Any) -> list[Any]:
    """The expressions $E_a$, one per velocity of the frame."""
    frame, algebra = calculus.frame, calculus.algebra
    adjoint = Adjoint(calculus, lagrangian)
    momenta = _momenta(adjoint, lagrangian)
    expressions = []
    for derivative, slope, a in zip(adjoint.each(momenta), calculus.fields(lagrangian), range(len(momenta)), strict=True):
        e = derivative - slope
        for b in frame.partners.get(a, ()):
            for c, component in frame.bracket(a, b).items():
                e = e + algebra.of(component * frame.velocities[b]) * momenta[c]
        expressions.append(e)
    return expressions


def right_hand_side(lowered: Lowered, q: Coordinate) -> Expr:
    r"""$u_i - \partial F/\partial q'^i + \lambda_a R_V^a{}_i$."""
    system = lowered.system
    return system.forces.get(q, S.Zero) - system.dissipation.diff(q.d()) + reaction(lowered, q)


def reaction(lowered: Lowered, q: Coordinate) -> Expr:
    r"""$\lambda_a R_V^a{}_i$."""
    return Add(*[multiplier * coefficient for multiplier, coefficient in lowered.acting.get(q, ())])


class Adjoint:
    """$D - L_s$, the operator that integration by parts turns $D$ into under Herglotz' principle."""

    def __init__(self, calculus: Calculus[Any], lagrangian: Any) -> None:
        self.calculus = calculus
        self.damping = None if calculus.action is None else calculus.algebra.gradient(lagrangian, [calculus.action])[0]

    def __call__(self, e: Any) -> Any:
        return self.each([e])[0]

    def each(self, expressions: Sequence[Any]) -> list[Any]:
        """The operator applied to several expressions."""
        derivatives = self.calculus.totals(expressions)
        if self.damping is None:
            return derivatives
        return [derivative - self.damping * e for derivative, e in zip(derivatives, expressions, strict=True)]

    def momenta(self, slopes: Sequence[Any]) -> list[Any]:
        r"""$p_{(0)}, p_{(1)}, \dots$ of one coordinate from the `slopes` $\partial L/\partial q', \partial L/\partial q'', \dots$.

        $p_{(k)} = \partial L/\partial q^{(k+1)} - (D - L_s)\,p_{(k+1)}$ (Ostrogradsky), from the highest down.
        """
        found = list(slopes[-1:])
        for slope in reversed(slopes[:-1]):
            found.append(slope - self(found[-1]))
        return found[::-1]


def _momenta(adjoint: Adjoint, lagrangian: Any) -> list[Any]:
    """$p_a$ of all velocities, from one gradient of L."""
    algebra, velocities = adjoint.calculus.algebra, adjoint.calculus.frame.velocities
    orders: dict[str, int] = {}
    for z in algebra.symbols(lagrangian):
        if isinstance(z, Jet):
            orders[z.base] = max(z.order, orders.get(z.base, 0))
    jets = [[v.d(k) for k in range(max(orders.get(v.base, 0) - v.order, 0) + 1)] for v in velocities]
    partials = iter(algebra.gradient(lagrangian, [z for line in jets for z in line]))
    return [adjoint.momenta([next(partials) for _ in line])[0] for line in jets]
