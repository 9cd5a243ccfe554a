"""The rigid ball on a rotating table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A homogeneous ball that rolls without sliding on a table turning with the constant angular velocity Omega."""
    share = "I/(I + M*r^2)"
    system = System(
        coordinates={"A": "SO3 spatial", "a1": "line", "a2": "line"},
        parameters="I M r Omega",
        lagrangian="I/2*(A1'^2 + A2'^2 + A3'^2) + M/2*(a1'^2 + a2'^2)",
        kinematic=["a1' + Omega*a2 = r*A2'", "a2' - Omega*a1 = -r*A1'"],
        name="ball on a turntable",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"I": 0.0028, "M": 0.7, "r": 0.1, "Omega": 3.5},
        start=State({"A": [0.3, -0.5, 0.1], "a1": 0.6, "a2": -0.2, "a1'": 0.35, "a2'": 0.8, "A3'": -1.4}),
        t=(0, 12),
        also={Chetaev(): {}},
        invariants={
            "spin about the vertical": "A3'",
            "centre of the circle, 1": f"a1 - a2'/({share}*Omega)",
            "centre of the circle, 2": f"a2 + a1'/({share}*Omega)",
            "speed": "sqrt(a1'^2 + a2'^2)",
        },
        prose="""
            The table turns about the origin and stays level. The rows say that the point of contact moves with the table, at the
            velocity Omega*(-a2, a1). One might expect the ball to be thrown off. Instead it runs around a circle, seen from the
            room, with the angular velocity Omega*I/(I + M*r^2), which is 2/7*Omega for a homogeneous ball, whatever its place and
            its speed; these determine the circle's centre and radius. The speed is constant, but the ball's rotation is not, and
            the table's friction, M*(a1'', a2''), does work. The equations are those of a charge in a magnetic field.
        """,
        reference="Neimark, Fufaev, Dynamics of Nonholonomic Systems (AMS 1972); Weltner, American Journal of Physics 47 (1979), 984-986; "
        "Cendra, Ibort, de León, Martín de Diego (2004), section 6, equations (55), (56) with a linear field.",
    )


def scene() -> Scene:
    """The table with a mark that turns, the ball and its circle."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import GREY, Ball, Disk, Ground, Trace

    return Scene(
        [
            Ground("-0.04"),
            Disk("0, 0, -0.02", 1.35, rotation="z Omega*t", thickness=0.04, colour=GREY),
            Trace("a1, a2, 0.03"),
            Ball("a1, a2, r", "r", rotation="A"),
        ]
    )
