r"""Affine constraints made linear by an additional coordinate (000, section V.B).

Take $\tilde L = L + \dot\tau^2/2$ (91), write rows $w^a_i \dot q^i = \gamma^a$ as $w^a_i \dot q^i = \gamma^a \dot\tau$ (94), and leave
$\delta\tau$ free.
Then $\ddot\tau = 0$: if $\dot\tau = 1$ at the start it stays 1, and the motion is the original one (Theorem 36). A motion with
$\dot\tau = c \ne 1$ belongs to another system and is not a change of the time scale.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Add, S

from chetaev.core.notation import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Coordinate, jets_in
from chetaev.core.system import fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.principles import VirtualWork
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.pullback import virtual_rows
from chetaev.transforms.tools.theorem import require_affine_rows, theorem, with_reactions


@public
@theorem()
def linearize_constraints(given: Any) -> Morphism:
    """Make kinematic rows that are affine in the velocities linear, with the additional coordinate `tau`.

    Rows without velocities do not change. The start of the target has `tau' = 1`.

    Args:
        given: A system, a model or equations with reactions.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If a row is not affine in the velocities, or the motion is vakonomic or under Herglotz' principle.

    >>> from chetaev import System
    >>> belt = System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x' = y"], variational=["δx = 0"])
    >>> print(linearize_constraints(belt).system.kinematic[0])
    x' = tau'*y
    """
    source = with_reactions(given, "linearize_constraints")
    system = source.system
    why = "Theorem 36 of 000 multiplies the terms without velocities by tau'."
    require_affine_rows(system, f"linearize_constraints {system.label}", why)
    (tau,) = fresh_coordinates(system, ["tau"])
    linear = system.replace(
        coordinates={**system.kinds, tau.base: "line"},
        lagrangian=source.lagrangian + tau.d() ** 2 / 2,
        kinematic=[_homogeneous(row, tau) for row in system.kinematic],
        variational=virtual_rows(source),
        where={},
        quasi={},
        name=f"{system.name}, linear".lstrip(", "),
    )
    target = derive(linear, VirtualWork())
    shared = identity_on(source, target)
    multipliers = dict(zip(target.multipliers, source.multipliers, strict=True))
    return Morphism(
        source,
        target,
        Frozen({**shared, tau: TIME, **multipliers}),
        Frozen({**shared, **{m: z for z, m in multipliers.items()}}),
        "affine constraints become linear with an additional coordinate (000, Theorem 36)",
        notes=(f"{show(tau.d())} is a constant of motion; only motions with {show(tau.d())} = 1 are motions of the source.",),
    )


def _homogeneous(row: Constraint, tau: Coordinate) -> Constraint:
    r"""$w_i \dot q^i - \gamma\,\dot\tau$ under the name of the row; a row without velocities does not change."""
    if row.kind == "holonomic":
        return row
    velocities = [z for z in jets_in(row.residual, Coordinate) if z.order == 1]
    rest = row.residual.xreplace(dict.fromkeys(velocities, S.Zero))
    moving = Add(*[row.residual.diff(v) * v for v in sorted(velocities, key=lambda z: z.name)])
    return replace(row, text="", lhs=moving, rhs=-rest * tau.d())
