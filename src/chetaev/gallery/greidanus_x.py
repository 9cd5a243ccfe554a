"""Greidanus' pneumatic tyre, in the coordinates of the contact zone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.gallery.rocard import tyre_scene
from chetaev.model import Model
from chetaev.principles import VirtualWork
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """The same tyre as 'greidanus': here x1, x2 is the centre of the contact zone, and y1, y2 are defined by it."""
    system = System(
        coordinates={"psi": "angle", "theta": "angle", "epsilon": "angle", "x1": "line", "x2": "line", "xi": "line"},
        parameters="I J M alpha beta",
        lagrangian="I/2*psi'^2 + J/2*theta'^2 + M/2*(y1'^2 + y2'^2) - alpha/2*xi^2 - beta/2*epsilon^2",
        kinematic=[
            "x1' = psi'*cos(theta - epsilon)",
            "x2' = psi'*sin(theta - epsilon)",
            "theta' - epsilon' = psi'*(alpha*xi + beta*epsilon)",
        ],
        variational=["δx1 = δpsi*cos(theta)", "δx2 = δpsi*sin(theta)", "δtheta - δepsilon = 0"],
        where={"y1": "x1 + xi*sin(theta)", "y2": "x2 - xi*cos(theta)"},
        name="Greidanus' tyre by its contact zone",
    )
    return Model(
        system,
        VirtualWork(),
        parameters={"I": 0.7, "J": 0.9, "M": 1.5, "alpha": 1.2, "beta": 2.0},
        start=State(
            {
                "psi": 0.2,
                "theta": 0.5,
                "epsilon": 0.15,
                "x1": 0.1,
                "x2": -0.2,
                "xi": 0.05,
                "psi'": 0.6,
                "theta'": 0.3,
                "xi'": -0.1,
            }
        ),
        prose="""
            The constraints are simplest here. The contact zone moves along the direction theta - epsilon as Rocard's does, and it is
            displaced virtually along the wheel's plane, theta. The mass, however, sits in the wheel's centre (y1, y2), a distance xi
            to the side, and the kinetic energy pays for the simplicity. Both forms describe one tyre: the motion of
            'greidanus', written with y1 = x1 + xi*sin(theta) and y2 = x2 - xi*cos(theta), is this one, with the same multipliers.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego, A generalization of Chetaev's principle for a class of higher order "
        "nonholonomic constraints, J. Math. Phys. 45 (2004) 2785, section 4, (28)-(35); Greidanus (1942).",
        corrections=(
            "alpha and beta are stiffnesses in the Lagrangian and coefficients of curvature in (30). The units do not agree, "
            "but the paper uses the same letters, and so does this model.",
            "The tyre is not dissipative for high alpha, as the paper says: there straight rolling is unstable at every speed.",
        ),
    )


def scene() -> Scene:
    """The wheel, of radius 1, with the contact zone under it: turned against the wheel's plane and pushed aside."""
    return tyre_scene("y1, y2", "x1, x2")
