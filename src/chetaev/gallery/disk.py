"""The vertical rolling disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A disk of radius R that stays vertical and rolls on a plane without sliding."""
    system = System(
        coordinates={"x": "line", "y": "line", "theta": "angle", "varphi": "angle"},
        parameters="m R I J",
        lagrangian="m/2*(x'^2 + y'^2) + I/2*theta'^2 + J/2*varphi'^2",
        kinematic=["x' - R*theta'*cos(varphi) = 0", "y' - R*theta'*sin(varphi) = 0"],
        name="vertical rolling disk",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.7, "R": 0.6, "I": 0.35, "J": 0.22},
        start=State({"x": 0.3, "y": -0.4, "theta": 0.2, "varphi": 0.5, "theta'": 2.1, "varphi'": -0.8}),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": 0.7, "lambda2": -0.4}},
        invariants={
            "spin about the axle": "theta'",
            "spin about the vertical": "varphi'",
            "centre of the circle, x": "x - R*theta'/varphi'*sin(varphi)",
            "centre of the circle, y": "y + R*theta'/varphi'*cos(varphi)",
            "energy": "m/2*(x'^2 + y'^2) + I/2*theta'^2 + J/2*varphi'^2",
        },
        prose="""
            x and y are the point of contact, theta turns the disk about its axle, varphi its plane about the vertical. The two
            rows say that the contact point is at rest on the ground. They cannot be integrated: by rolling around, the disk
            reaches any position with any orientation. Under d'Alembert's principle both spins are constant, so the disk runs
            around a circle of radius R*theta'/varphi' for ever. The multipliers are the components of friction at the contact,
            and together they point to the centre of the circle. The vakonomic disk, whose multipliers at the start are free data,
            does not turn uniformly: its heading swings as in a potential. Only if (lambda1, lambda2) = -m*(x', y') at the start
            do the two principles agree.
        """,
        reference="Bloch, Nonholonomic Mechanics and Control (Springer 2003), section 1.4.",
    )


def scene() -> Scene:
    """The disk on its plane, and the path of the point of contact."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Disk, Ground, Trace

    return Scene([Ground(0), Trace("x, y, 0"), Disk("x, y, R", "R", rotation="z varphi, y theta", axis="y")])
