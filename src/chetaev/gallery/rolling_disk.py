"""The rolling disk that may lean, without angles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A thin disk, free to lean, that rolls without sliding on a horizontal plane; its attitude is a rotation."""
    kinetic = "m/2*(x'^2 + y'^2 + z'^2) + I/2*(A1'^2 + A2'^2 + A3'^2) + (J - I)/2*axial^2"
    system = System(
        coordinates={"A": "SO3 spatial", "x": "line", "y": "line"},
        parameters="m R I J g",
        where={
            "axial": "A13*A1' + A23*A2' + A33*A3'",
            "steep": "sqrt(1 - A33^2)",
            "z": "R*steep",
            "p1": "R*A33*A13/steep",
            "p2": "R*A33*A23/steep",
            "p3": "-z",
        },
        lagrangian=f"{kinetic} - m*g*z",
        kinematic=["x' + A2'*p3 - A3'*p2 = 0", "y' + A3'*p1 - A1'*p3 = 0"],
        name="rolling disk",
    )
    # heading 0.6, lean 0.25, spin 0.1 as in the leaning disk: turns about the third, the first and again the third axis
    half = "(-pi/2 - 0.25)/2"
    attitude = [f"cos({half})*cos(0.35)", f"sin({half})*cos(0.25)", f"sin({half})*sin(0.25)", f"cos({half})*sin(0.35)"]
    rates = {
        "A1'": "0.4*cos(0.6) - 7*cos(0.25)*sin(0.6)",
        "A2'": "0.4*sin(0.6) + 7*cos(0.25)*cos(0.6)",
        "A3'": "0.5 - 7*sin(0.25)",
    }
    centre = {"x": "0.2 - R*sin(0.25)*sin(0.6)", "y": "-0.3 + R*sin(0.25)*cos(0.6)"}
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.4, "R": 0.5, "I": 0.09, "J": 0.17, "g": 9.81},
        start=State({"A": attitude, **centre, **rates}),
        t=(0, 5),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": -3.5, "lambda2": -2.2}},
        invariants={"energy": f"{kinetic} + m*g*z"},
        prose="""
            The same disk as the leaning disk of this gallery, with the same initial data, but its attitude is a rotation instead of
            three angles. A1', A2', A3' are the components of the angular velocity in space, A13, A23, A33 is the direction of the
            axle, and x, y, z is the centre. The lowest point of the rim, seen from the centre, is p = (p1, p2, p3): straight down,
            made orthogonal to the axle. The rows say that the disk's point there is at rest on the ground, and the vertical part of
            that statement is the rate of z = R*sqrt(1 - A33^2). I is the moment about a diameter, J that about the axle. With
            angles the heading loses its meaning when the disk lies flat; so does the lowest point here, at A33 = 1 and A33 = -1,
            but nothing else does.
        """,
        reference="Bloch, Nonholonomic Mechanics and Control (Springer 2003), section 1.5; Cushman, Hermans, Kemppainen, "
        "The rolling disc, in Nonlinear Dynamical Systems and Chaos (Birkhäuser 1996), 21-60.",
    )


def scene() -> Scene:
    """The disk on its plane, and the path of the point of contact."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Disk, Ground, Trace

    return Scene([Ground(0), Trace("x + p1, y + p2, 0"), Disk("x, y, z", "R", rotation="A")], follow="x, y, R/2", room=2.2)
