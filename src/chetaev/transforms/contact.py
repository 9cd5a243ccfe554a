r"""Herglotz' dynamics on $Q \times \mathbb{R}$ with the row $\dot s = L$: it is both nonholonomic and vakonomic (002, Theorems 1, 2).

The action variable becomes a coordinate. In the nonholonomic form the variations satisfy $\delta s = p_i\,\delta q^i$, and the multiplier
of that row is $-L_s$ in the signs of this library. In the vakonomic form the extended Lagrangian is $(1 - \mu) L + \mu\,\dot s$ with
$\dot\mu = (1 - \mu) L_s$; (22) and (38) are printed with the other sign. So $1 - \mu = A \exp(-\int L_s\,dt)$ with an arbitrary scale $A$,
and further constraints have multipliers $\nu_b = \lambda_b/(1 - \mu)$ in Herglotz' form.

The vakonomic theorem holds for Lagrangians of any order, because $D(1 - \mu) = -(1 - \mu) L_s$ turns $D^k((1 - \mu)\,\cdot)$ into
$(1 - \mu)(D - L_s)^k$. In the nonholonomic form the variations satisfy $L_s\,\delta s = C_i\,\delta q^i$, where $C_i = E_i[L] - E_i^H[L]$
is the difference of the Euler-Lagrange and Herglotz' expressions; for first order $C_i = L_s p_i$. The multiplier of that row is $-1$.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr, S

from chetaev.core.calculus import SYMBOLIC, Calculus
from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Ask, SetPart, UsePrinciple
from chetaev.core.notation import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Action, Coordinate, Jet, delta, jets_in, order_in
from chetaev.mechanics.assemble import euler_lagrange
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import Herglotz, Vakonomic, VirtualWork
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.pullback import rewritten, virtual, virtual_rows
from chetaev.transforms.tools.theorem import equations_of, theorem


@public
@theorem()
def contact_as_nonholonomic(given: Any) -> Morphism:
    r"""Herglotz' motion as that of a system on $Q \times \mathbb{R}$ with the row $\dot s = L$ and variations $\delta s = p_i\,\delta q^i$.

    002, Theorem 1; further constraints keep their rows and their multipliers (Theorem 3, in the sign $E = u + \lambda R_V$). For a
    Lagrangian of higher order the variations satisfy $L_s\,\delta s = C_i\,\delta q^i$, which needs $L_s \ne 0$.

    Args:
        given: A system with an action variable, a model or equations under Herglotz' principle.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If there is no action variable, or multipliers are part of the state.

    >>> from chetaev import System
    >>> spring = System("x", "k c", lagrangian="x'^2/2 - k*x^2/2 - c*s", action="s")
    >>> print(contact_as_nonholonomic(spring).target)
    on Q x R · VirtualWork()
      E_x           k*x + x'' = -lambda1*x'
      E_s           c = lambda1
      kinematic[0]  s' = x'^2/2 - c*s - k*x^2/2
      3 equations for 3 unknowns: x s lambda1
    """
    source, action = _contact(given, "contact_as_nonholonomic")
    if source.lowered.costates:
        raise PrincipleError(
            f"{source.system.label} is under {source.principle}.",
            where=about(f"contact_as_nonholonomic {source.system.label}", "principle"),
            why="Its multipliers are part of the state; on Q x R the motion is vakonomic.",
            hint=Ask("contact_as_vakonomic", "..."),
        )
    s = Coordinate(action.base)
    last_row, value, notes = _variation_of_action(source, action, s)
    rows = [*virtual_rows(source, lambda e: e.xreplace({action: s})), last_row.xreplace({action: s})]
    target = derive(_on_product(source, action, s, rows), VirtualWork())
    *others, last = target.multipliers
    shared = identity_on(source, target)
    multipliers: dict[Jet, Expr] = dict(zip(others, source.multipliers, strict=True))
    return Morphism(
        source,
        target,
        Frozen({**shared, s: action, **multipliers, last: value}),
        Frozen({**shared, action: s, **dict(zip(source.multipliers, others, strict=True))}),
        "Herglotz' motion is nonholonomic motion on Q x R with s' = L (002, Theorems 1 and 3)",
        notes=notes,
    )


def _variation_of_action(source: Equations, action: Action, s: Coordinate) -> tuple[Expr, Expr, tuple[str, ...]]:
    """The variational row of the action, the value of its multiplier, and a remark on its domain."""
    system = source.system
    damping = system.lagrangian.diff(action)
    if order_in(system.lagrangian, Coordinate) <= 1:
        momenta = {q: system.lagrangian.diff(q.d()) for q in system.coordinates}
        return delta(s) - virtual(momenta), -damping, ()
    if damping == 0:  # the action has no influence on the motion
        return delta(s), S.Zero, ()
    contact = Calculus(SYMBOLIC, system.frame, action, system.lagrangian)
    herglotz = euler_lagrange(contact, system.lagrangian)
    rate, on_product = system.lagrangian.xreplace({action: s}), Calculus(SYMBOLIC, system.frame)
    free = [_on_motion(e, s, rate, on_product) for e in euler_lagrange(on_product, rate)]
    differences = {q: e - h.xreplace({action: s}) for q, e, h in zip(system.coordinates, free, herglotz, strict=True)}
    note = f"valid where {show(damping)} != 0, for a Lagrangian of higher order"
    return damping * delta(s) - virtual(differences), S.NegativeOne, (note,)


def _on_motion(e: Expr, s: Coordinate, rate: Expr, calculus: Calculus[Expr]) -> Expr:
    """An expression with the derivatives of s replaced by those of the Lagrangian, from the highest down."""
    while True:
        moving = [z for z in jets_in(e, Coordinate) if z.base == s.base and z.order]
        if not moving:
            return e
        top = max(moving, key=lambda z: z.order)
        e = e.xreplace({top: calculus.total(rate, top.order - 1)})


@public
@theorem()
def contact_as_vakonomic(given: Any) -> Morphism:
    r"""Herglotz' motion, with or without vakonomic constraints, as vakonomic motion on $Q \times \mathbb{R}$ with the row $\dot s = L$.

    002, Theorem 2 and section 5, signs corrected. The multiplier $\mu$ of $\dot s = L$ is a scale: it starts at 0 here, so that the other
    multipliers start at $\nu_b$. $\mu = 1$ is the abnormal case: the Lagrangian drops out and the motion is not Herglotz'.

    Args:
        given: A system with an action variable, a model or equations under Herglotz' principle.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If there is no action variable, or reactions or forces act.
    """
    source, action = _contact(given, "contact_as_vakonomic")
    if source.variational:
        raise PrincipleError(
            f"{source.system.label} is under {source.principle}.",
            where=about(f"contact_as_vakonomic {source.system.label}", "principle"),
            why="Its constraints have reactions; nonholonomic and vakonomic motions differ.",
            hint=(Ask("contact_as_nonholonomic", "..."), ", or ", UsePrinciple(Herglotz(Vakonomic()), "system")),
        )
    if source.system.forces or source.system.dissipation != 0:
        raise PrincipleError(
            f"forces act on {source.system.label}.",
            where=about(f"contact_as_vakonomic {source.system.label}", "forces"),
            why="The vakonomic equations are those of Herglotz multiplied by 1 - mu, but a force would not be multiplied.",
            hint=(
                Ask("contact_as_nonholonomic", "..."),
                " where there are no vakonomic constraints; or a Lagrangian that contains the force",
            ),
        )
    s = Coordinate(action.base)
    target = derive(_on_product(source, action, s, None), Vakonomic())
    *others, scale = target.multipliers
    shared = identity_on(source, target)
    ratios: dict[Jet, Expr] = {m: z / (1 - scale) for m, z in zip(source.multipliers, others, strict=True)}
    return Morphism(
        source,
        target,
        Frozen({**shared, s: action}),
        Frozen({**shared, action: s, **ratios}),
        "Herglotz' motion is vakonomic motion on Q x R with s' = L (002, Theorem 2)",
        chosen=Frozen({scale: S.Zero, **dict(zip(others, source.multipliers, strict=True))}),
        notes=(
            f"{scale.base} is a scale and starts at 0; any other value than 1 gives the same motion.",
            f"{scale.base} = 1 is abnormal: the Lagrangian drops out.",
        ),
    )


def _contact(given: Any, verb: str) -> tuple[Equations, Action]:
    """Equations under Herglotz' principle, and their action variable."""
    source = equations_of(given, Herglotz(), verb, groups=True)
    action = source.lowered.action
    where = f"{verb} {source.system.label}"
    if action is None:
        raise PrincipleError(
            f"{source.system.label} has no action variable.",
            where=about(where, "action"),
            hint=(SetPart("action", "s", whole=True), " under ", UsePrinciple(Herglotz())),
        )
    return source, action


def _on_product(source: Equations, action: Action, s: Coordinate, variational: Any) -> Any:
    """The system on Q x R: the action variable as a coordinate, its rate as the last row."""
    system = source.system
    read = {action: s}
    rows = [*system.kinematic, Constraint(s.d(), system.lagrangian)]
    return system.replace(
        coordinates={**system.kinds, s.base: "line"},
        action=None,
        lagrangian=system.lagrangian.xreplace(read),
        kinematic=[rewritten(row, lambda e: e.xreplace(read)) for row in rows],
        variational=variational,
        forces={q: u.xreplace(read) for q, u in system.forces.items()},
        dissipation=system.dissipation.xreplace(read) if system.dissipation != 0 else None,
        where={},
        quasi={},
        name=f"{system.name}, on Q x R".lstrip(", "),
    )
