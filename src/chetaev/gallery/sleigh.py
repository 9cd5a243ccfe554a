"""Chaplygin's sleigh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A body on a plane with one blade, whose centre of mass is the distance a ahead of it."""
    system = System(
        coordinates={"x": "line", "y": "line", "theta": "angle"},
        parameters="m J a",
        where={"v": "x'*cos(theta) + y'*sin(theta)"},
        lagrangian="m/2*(x'^2 + y'^2) + m*a*theta'*(y'*cos(theta) - x'*sin(theta)) + (J + m*a^2)/2*theta'^2",
        kinematic=["y'*cos(theta) - x'*sin(theta) = 0"],
        name="Chaplygin sleigh",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.2, "J": 0.5, "a": 0.35},
        start=State({"x": 0.1, "y": 0.4, "theta": -0.3, "x'": -0.8, "theta'": 1.1}),
        also={Vakonomic(): {"lambda1": 0.55}},
        invariants={
            "energy": "m/2*v^2 + (J + m*a^2)/2*theta'^2",
            "turn": "theta + sqrt((J + m*a^2)/(m*a^2))*atan2(sqrt(J + m*a^2)*theta', sqrt(m)*v)",
        },
        prose="""
            x and y are the point of the blade, J the moment of inertia about the centre of mass. The speed along the blade and
            the spin obey v' = a*theta'^2 and (J + m*a^2)*theta'' = -m*a*v*theta'. So v never decreases: whatever the start, the
            sleigh ends up running straight with the centre of mass ahead of the blade. Energy is conserved, and yet the motion
            has an attractor, because nonholonomic systems need not preserve any volume. From running backwards to running
            forwards it turns by the angle pi*sqrt(1 + J/(m*a^2)). The middle term of the Lagrangian vanishes on the constraint,
            but it must not be dropped: without it d'Alembert's sleigh would turn uniformly. In vakonomic motion it only shifts
            lambda1; that sleigh is a pendulum in theta and never settles.
        """,
        reference="Chaplygin, Matematicheskii Sbornik 28 (1911), 303-314; "
        "Bloch, Nonholonomic Mechanics and Control (Springer 2003), section 1.7.",
    )


def scene() -> Scene:
    """The sleigh from above: the blade behind, the centre of mass ahead of it."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import ORANGE, Blade, Body, Ground, Point, Trace

    outline = ["-0.6*a, -0.7*a", "1.2*a, -a", "2.4*a, 0", "1.2*a, a", "-0.6*a, 0.7*a"]
    centre = Point("x + a*cos(theta), y + a*sin(theta)", colour=ORANGE)
    return Scene([Ground(), Trace("x, y"), Body("x, y", "theta", outline), Blade("x, y", "theta", "2*a"), centre])
