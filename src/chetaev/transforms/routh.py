r"""Routh's reduction: the velocity of a cyclic coordinate is replaced by its constant momentum.

If $\phi$ does not occur in $L$ but $\dot\phi$ does, $\mu = \partial L/\partial\dot\phi$ is constant and determines the velocity
$\dot\phi = \Omega(t, q, \dot q, \mu)$. The other coordinates obey the equations of the Routhian $R = L - \mu\,\dot\phi$, and $\phi$ the row
$\dot\phi = \Omega$.
A central component of a group coordinate, as of the Heisenberg group, is cyclic too; then the brackets of the others leave the force
$-\mu\,C^\phi_{bc}\,\xi^c$.
E. J. Routh, A Treatise on the Stability of a Given State of Motion (1877).
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Add, Expr, S

from chetaev.core.calculus import SYMBOLIC, Calculus
from chetaev.core.errors import PrincipleError, UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.notation.lexer import spell
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.budget import limited
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Parameter
from chetaev.core.system import System, fresh_coordinates
from chetaev.core.zero import known_zero
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.principles import Hamilton, VirtualWork
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.options import Form, Option
from chetaev.transforms.tools.theorem import require_first_order, source_under, theorem

_SOLVING_SECONDS = 5.0
"""Budget, in seconds of counted operations, for SymPy to solve a nonlinear momentum for the velocity; without a solution an error is
raised.
"""


@public
@theorem(coordinate=Option("coordinate", Form.TEXT, "NAME", "The cyclic coordinate", "--coordinate phi", needed=True))
def routh(given: Any, coordinate: str) -> Morphism:
    """Eliminate the dynamics of a cyclic coordinate; its momentum becomes the parameter `mu_<coordinate>`.

    Args:
        given: A system, a model or equations under Hamilton's principle.
        coordinate: The name of the cyclic coordinate.

    Returns:
        The map between the motions; `expressions["R"]` is the Routhian.

    Raises:
        UsageError: If `coordinate` is not a coordinate.
        PrincipleError: If it is not cyclic, or its velocity does not follow from the momentum by one formula.

    >>> from chetaev import System
    >>> planet = System("r phi", "k", lagrangian="r'^2/2 + r^2*phi'^2/2 + k/r", name="planet")
    >>> print(routh(planet, "phi").target)
    planet, without phi · VirtualWork()
      E_r           k/r^2 + r'' - mu_phi^2/r^3 = 0
      kinematic[0]  phi' = mu_phi/r^2
      2 equations for 2 unknowns: r phi
    """
    source = source_under(given, Hamilton(), "routh", groups=True)
    system = source.system
    where = f"routh {system.label}"
    known = {z.base: z for z in system.coordinates}
    if spell(str(coordinate)) not in known:
        raise UsageError(
            f"{spell(str(coordinate))} is not a coordinate.", where=about(where, "coordinate"), hint=f"one of {' '.join(known)}"
        )
    q = known[spell(str(coordinate))]
    _require_cyclic(source.lagrangian, system, q, where)
    mu = Parameter(fresh_coordinates(system, [f"mu_{q.base}"])[0].base)
    momentum = source.lagrangian.diff(q.d())
    velocity = _velocity(momentum - mu, q.d(), where)
    routhian = sympy.expand((source.lagrangian - mu * q.d()).xreplace({q.d(): velocity}))
    target = derive(
        system.replace(
            parameters=[*system.parameters, mu],
            lagrangian=routhian,
            kinematic=[Constraint(q.d(), velocity)],
            variational=[],
            forces={z.base: u for z, u in {**system.forces, **_curvature(system, q, mu, velocity)}.items()},
            where={},
            quasi={},
            name=f"{system.name}, without {q.base}".lstrip(", "),
        ),
        VirtualWork(),
    )
    shared = identity_on(source, target)
    return Morphism(
        source,
        target,
        Frozen(shared),
        Frozen(shared),
        "Routh's reduction by a cyclic coordinate",
        constants=Frozen({mu: momentum}),
        expressions=Frozen({"R": routhian}),
    )


def _curvature(system: System, q: Coordinate, mu: Parameter, velocity: Expr) -> dict[Coordinate, Expr]:
    r"""The forces $u_b - \mu\, C^q_{bc}\,\xi^c$ due to the momentum $\mu$ on a group whose
    brackets $[X_b, X_c]$ have a component along q.
    """
    frame = system.frame
    if q not in frame.turning:
        return {}
    a = frame.turning[q]
    found = {}
    for b, v in enumerate(frame.velocities):
        terms = [frame.bracket(b, c).get(a, S.Zero) * w for c, w in enumerate(frame.velocities)]
        whole = Add(*terms)
        if b != a and whole != 0:
            z = v.d(-1)
            found[z] = system.forces.get(z, S.Zero) - mu * whole.xreplace({q.d(): velocity})
    return found


def _require_cyclic(lagrangian: Expr, system: System, q: Coordinate, where: str) -> None:
    require_first_order(lagrangian, where)
    fault = ""
    frame = system.frame
    entries = Calculus(SYMBOLIC, frame).gradient(lagrangian, [q])[0]
    if q in frame.turning and any(frame.bracket(frame.turning[q], b) for b in range(len(frame.velocities))):
        raise PrincipleError(
            f"{q.base} is not cyclic: it does not commute with the other components of its group.",
            where=about(where, "coordinate"),
            why="Its momentum satisfies p' = -C xi p with the brackets of the group, and is constant only for a central component.",
            hint=(
                Ask("groups.reduce", "system, group=..."),
                " removes the whole group; ",
                Ask("symmetries", "system"),
                " lists conserved momenta",
            ),
        )
    if not known_zero(entries):
        fault = f"{q.base} occurs in the Lagrangian"
    elif q in system.forces or not known_zero(system.dissipation.diff(q.d())):
        fault = f"a force acts on {q.base}"
    elif any(not known_zero(Calculus(SYMBOLIC, frame).gradient(u, [q])[0]) for u in (*system.forces.values(), system.dissipation)):
        fault = f"a force depends on {q.base}"
    if fault:
        raise PrincipleError(
            f"{q.base} is not cyclic: {fault}.",
            where=about(where, "coordinate"),
            why="Its momentum is not constant.",
            hint=(Ask("symmetries", "system"), " lists cyclic coordinates"),
        )


def _velocity(equation: Expr, velocity: Coordinate, where: str) -> Expr:
    """The velocity from the momentum."""
    slope = equation.diff(velocity)
    if not known_zero(slope) and not slope.has(velocity):
        return sympy.expand(-equation.xreplace({velocity: S.Zero}) / slope)
    found = limited(sympy.solve, equation, velocity, seconds=_SOLVING_SECONDS).or_else([])
    if len(found) != 1:
        raise PrincipleError(f"{velocity.name} does not follow from its momentum by one formula.", where=where, hint="keep the coordinate")
    return found[0]
