"""The rigid ball on an inclined plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A homogeneous rigid ball of radius r that rolls without sliding on a plane inclined by the angle slope."""
    kinetic = "I/2*(A1'^2 + A2'^2 + A3'^2) + M/2*(a1'^2 + a2'^2)"
    system = System(
        coordinates={"A": "SO3 spatial", "a1": "line", "a2": "line"},
        parameters="I M r g slope",
        lagrangian=f"{kinetic} + M*g*sin(slope)*a1",
        kinematic=["a1' = r*A2'", "a2' = -r*A1'"],
        name="rigid ball",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"I": 0.0448, "M": 0.7, "r": 0.4, "g": 9.81, "slope": 0.12},
        start=State({"A": [0.4, -0.3, 0.2], "a1": 0.3, "a2": -0.2, "A1'": -1.3, "A2'": -2.1, "A3'": 1.7}),
        t=(0, 4),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": -0.4, "lambda2": 0.25}},
        invariants={
            "spin about the normal": "A3'",
            "speed across the slope": "a2'",
            "speed down the slope, less that gained": "a1' - M*g*sin(slope)*t/(M + I/r^2)",
            "energy": f"{kinetic} - M*g*sin(slope)*a1",
        },
        prose="""
            a1 points down the slope, a2 across, the third axis along the normal of the plane; A1', A2', A3' are the components of
            the angular velocity along these axes, fixed in space. The rows say that the point of contact is at rest. They do not
            restrict the spin A3' about the normal, which is constant. The centre moves like a heavy particle with the mass M +
            I/r^2 instead of M, on a parabola: the acceleration down the slope is M*g*sin(slope)/(M + I/r^2), which is
            5/7*g*sin(slope) when I = 2/5*M*r^2, as here. The multipliers are the components of the force of friction. Though the
            path of the contact is so simple, the ball can reach every position with every orientation. The vakonomic ball is
            another system: its spin is not constant.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego (2004), sections 2 and 6; "
        "Neimark, Fufaev, Dynamics of Nonholonomic Systems (AMS 1972).",
    )


def scene() -> Scene:
    """The ball on the plane, seen along the normal frame: the slope falls in the direction of a1."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Ball, Ground, Trace

    return Scene(
        [Ground(0), Trace("a1, a2, 0"), Ball("a1, a2, r", "r", rotation="A")],
        caption="The inclined plane is drawn level; it falls towards positive a1.",
    )
