"""The controlled inverted pendulum on a cart."""

from __future__ import annotations

from chetaev.core.scene import Body, Ground, Pivot, Point, Rod, Scene, Trace, Wheel
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import VirtualWork


def model(friction: bool = True) -> Model:
    """An inverted rod kept upright by a horizontal force at its foot, which enforces x' + b*theta' = a*sin(theta).

    `friction=False` is the rod without dissipation, and without the parameters mu and nu.
    """
    system = System(
        coordinates={"x": "line", "theta": "angle"},
        parameters="m l I g a b mu nu" if friction else "m l I g a b",
        lagrangian="m/2*x'^2 - m*l*theta'*x'*cos(theta) + I/2*theta'^2 - m*g*l*cos(theta)",
        dissipation="(mu*x'^2 + nu*theta'^2)/2" if friction else None,
        kinematic=["x' + b*theta' = a*sin(theta)"],
        variational=["δx = 0"],
        name="cart-pendulum with friction" if friction else "cart-pendulum",
    )
    values = {"m": 0.5, "l": 0.8, "I": 0.4, "g": 9.81, "a": 2.0, "b": -1.7}
    return Model(
        system,
        VirtualWork(),
        parameters={**values, "mu": 0.1, "nu": 0.2} if friction else values,
        start=State({"x": 0.3, "theta": 0.5, "theta'": -0.4}),
        prose="""
            theta is the angle of the rod from the upward vertical, x the place of its foot. The kinematic row is a control law, not a
            guide rail: the motor may only push along x, hence the variational row δx = 0, and lambda1 is the force it must apply. That
            force does work, so energy says nothing about stability. What remains is one equation for the angle, (I +
            m*l*b*cos(theta))*theta'' + (nu - m*l*a*cos(theta)^2)*theta' = m*g*l*sin(theta); without friction nu = 0. For a > nu/(m*l) and
            b < -I/(m*l) inertia and damping are both negative near the vertical, and the rod stands up. The equation is singular where
            cos(theta) = -I/(m*l*b). With a >= nu*m*l*b^2/I^2, as here, the two angles are walls that throw back every motion between
            them, whatever its speed. The cart is left where it happens to stop.
        """,
        reference="Cendra, Grillo, Lagrangian systems with higher order constraints, J. Math. Phys. 48 (2007), doi:10.1063/1.2740470, "
        "section IV.D, (76)-(79).",
        corrections=(
            "Remark 27 encodes friction by E' = -(mu*x'^2 + nu*theta'^2) and forgets the power of the control force: "
            "E' = -(mu*x'^2 + nu*theta'^2) + lambda1*x'. Its motions are not those of (79).",
            "The interval between the singular angles need not be the basin of attraction when a > nu/(m*l): with nu = 0.2, m = 0.5, "
            "l = 0.8, I = 0.4, a = 0.6, b = -3 an unstable cycle bounds it. For all theta' it is the basin iff a >= nu*m*l*b^2/I^2.",
            "Node or focus depends on a as well as on b: a node needs (m*l*a - nu)^2 > 4*m*g*l*abs(I + m*l*b).",
            "An external force u enters Theorem 24, Remark 25 and (71) with the wrong sign; the equation for theta is right nevertheless.",
        ),
        scene=_scene(),
    )


def _scene() -> Scene:
    """The rod, with its centre of mass marked, on a cart."""
    wheels = [Wheel(f"x {side} 0.16, 0.07", 0.07, "-x/0.07", spokes=6) for side in "+-"]
    return Scene(
        [
            Ground(0),
            Trace("x - 2*l*sin(theta), 0.3 + 2*l*cos(theta)", seconds=1.5),
            Body("x, 0.2", outline=["-0.3, -0.1", "0.3, -0.1", "0.3, 0.1", "-0.3, 0.1"], colour="grey"),
            *wheels,
            Rod("x, 0.3", "x - 2*l*sin(theta), 0.3 + 2*l*cos(theta)", colour="dark"),
            Point("x - l*sin(theta), 0.3 + l*cos(theta)", colour="orange"),
            Pivot("x, 0.3"),
        ],
    )
