"""The rolling disk that may lean and fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A thin disk, free to lean, that rolls without sliding on a horizontal plane."""
    system = System(
        coordinates={"x": "line", "y": "line", "phi": "angle", "theta": "angle", "psi": "angle"},
        parameters="m R I J g",
        where={
            "xc": "x - R*sin(theta)*sin(phi)",
            "yc": "y + R*sin(theta)*cos(phi)",
            "zc": "R*cos(theta)",
            "along": "-theta'",
            "upward": "phi'*cos(theta)",
            "axial": "psi' - phi'*sin(theta)",
        },
        lagrangian="m/2*(xc'^2 + yc'^2 + zc'^2) + I/2*(along^2 + upward^2) + J/2*axial^2 - m*g*zc",
        kinematic=["x' - R*psi'*cos(phi) = 0", "y' - R*psi'*sin(phi) = 0"],
        name="leaning disk",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.4, "R": 0.5, "I": 0.09, "J": 0.17, "g": 9.81},
        start=State({"x": 0.2, "y": -0.3, "phi": 0.6, "theta": 0.25, "psi": 0.1, "phi'": 0.5, "theta'": -0.4, "psi'": 7.0}),
        t=(0, 5),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": -3.5, "lambda2": -2.2}},
        invariants={
            "energy": "m/2*(xc'^2 + yc'^2 + zc'^2) + I/2*(along^2 + upward^2) + J/2*axial^2 + m*g*zc",
        },
        prose="""
            x and y are the point of contact, phi is the heading, theta the lean to the left, psi the angle of spin; theta = 0 is
            upright. The centre is at height R*cos(theta). The angular velocity has the components `along` the heading, `upward`
            in the plane of the disk and `axial` along the axle, so I is the moment about a diameter and J that about the axle.
            The contact point advances by R*psi' along the heading whatever the lean, so the rows are those of the vertical disk.
            Rolling straight and upright is a motion at any speed, stable for psi'^2 > I*m*g*R/(J*(J + m*R^2)); below it the disk
            falls over. With the energy there are two more integrals, linear in phi' and psi' with hypergeometric functions of
            theta as coefficients (Appell and Korteweg, about 1900), so the motion is integrable.
        """,
        reference="Bloch, Nonholonomic Mechanics and Control (Springer 2003), section 1.5; "
        "Neimark, Fufaev, Dynamics of Nonholonomic Systems (AMS 1972).",
        corrections=(
            "SymPy's documentation, 'A rolling disc using Lagrange's Method', puts the rolling condition into the Lagrangian before "
            "differentiating, so its accelerations of heading and spin are not those of the disk; its potential has the wrong sign too. "
            "Its example with Kane's method is right.",
        ),
    )


def scene() -> Scene:
    """The disk on its plane, and the path of the point of contact."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Disk, Ground, Trace

    disk = Disk("xc, yc, zc", "R", rotation="z phi, x -theta, y psi", axis="y")
    return Scene([Ground(0), Trace("x, y, 0"), disk], follow="x, y, R/2", room=2.2)
