"""The rolling disk that makes the work of a changing resistance stationary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A vertical disk rolls without sliding in a medium of resistance beta(t); the Lagrangian is the power that is lost."""
    system = System(
        coordinates={"x": "line", "y": "line", "varphi": "angle", "theta": "angle"},
        parameters="R I1 I2",
        lagrangian="beta/2*(x'^2 + y'^2 + I1*varphi'^2 + I2*theta'^2)",
        kinematic=["x' - R*theta'*cos(varphi) = 0", "y' - R*theta'*sin(varphi) = 0"],
        inputs={"beta": "1 + 0.3*sin(2*t)"},
        name="disk against resistance",
    )
    return Model(
        system,
        Vakonomic(),
        parameters={"R": 0.8, "I1": 0.16, "I2": 0.32},
        start=State(
            {
                "x": 0.1,
                "y": -0.2,
                "varphi": 0.4,
                "theta": 0.3,
                "varphi'": 0.7,
                "theta'": 1.5,
                "lambda1": -0.6,
                "lambda2": 0.45,
            }
        ),
        also={DAlembert(): {}},
        invariants={
            "momentum along x": "beta*x' + lambda1",
            "momentum along y": "beta*y' + lambda2",
            "momentum of the roll": "beta*I2*theta' - R*(lambda1*cos(varphi) + lambda2*sin(varphi))",
            "moment of momentum": "x*(beta*y' + lambda2) - y*(beta*x' + lambda1) + beta*I1*varphi'",
            "energy in the medium's own time": "beta^2*(x'^2 + y'^2 + I1*varphi'^2 + I2*theta'^2)/2",
        },
        prose="""
            varphi is the direction in which the disk rolls, theta turns it about its axle; I1 = R^2/4 and I2 = R^2/2 per unit mass. The
            question is one of optimal control: among all rolling motions between given ends, which make the work of the resistance
            stationary? The answer is the vakonomic motion. Its multipliers complete the momenta: beta*x' + lambda1 and beta*y' + lambda2
            are constant because the plane is homogeneous. Lagrangian and constraints are homogeneous in the velocities, so by a clock
            with d(tau) = dt/beta the resistance is constant, and every beta(t) gives the same path. For the same reason all terms with
            beta' in (4.1e) and (4.1f) of the paper cancel on the constraint manifold. The d'Alembert motion from the same data rolls in a
            circle.
        """,
        reference="Vignolo, Bruno, Time-dependent vakonomic dynamics and presymplectic geometry (2002), section 4, example 1, (4.1).",
    )


def scene() -> Scene:
    """The disk on its plane, and the path of the point of contact."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Disk, Ground, Trace

    return Scene([Ground(0), Trace("x, y, 0"), Disk("x, y, R", "R", rotation="z varphi, y theta", axis="y")])
