"""Greidanus' pneumatic tyre, in the coordinates of the wheel's centre."""

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
    """A vertical wheel on an elastic tyre: the contact zone is turned by epsilon and pushed aside by xi."""
    system = System(
        coordinates={"psi": "angle", "theta": "angle", "epsilon": "angle", "y1": "line", "y2": "line", "xi": "line"},
        parameters="I J M alpha beta",
        lagrangian="I/2*psi'^2 + J/2*theta'^2 + M/2*(y1'^2 + y2'^2) - alpha/2*xi^2 - beta/2*epsilon^2",
        kinematic=[
            "y1' = psi'*cos(theta - epsilon) + xi'*sin(theta) + xi*cos(theta)*theta'",
            "y2' = psi'*sin(theta - epsilon) - xi'*cos(theta) + xi*sin(theta)*theta'",
            "theta' - epsilon' = psi'*(alpha*xi + beta*epsilon)",
        ],
        variational=[
            "δy1 = δpsi*cos(theta) + δxi*sin(theta) + xi*cos(theta)*δtheta",
            "δy2 = δpsi*sin(theta) - δxi*cos(theta) + xi*sin(theta)*δtheta",
            "δtheta - δepsilon = 0",
        ],
        name="Greidanus' tyre",
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
                "y1": "0.1 + 0.05*sin(0.5)",
                "y2": "-0.2 - 0.05*cos(0.5)",
                "xi": 0.05,
                "psi'": 0.6,
                "theta'": 0.3,
                "xi'": -0.1,
            }
        ),
        prose="""
            (y1, y2) is the wheel's centre projected on the ground, and xi its distance from the centre of the contact zone, measured
            sideways. The third kinematic row says that the track bends in proportion to the deformations. All kinematic rows are
            linear in the velocities, and yet d'Alembert's principle would give another motion: the variational rows are those of a
            wheel whose contact zone does not feel epsilon. Neither epsilon nor xi has inertia, so the mass matrix is singular; the
            constraints supply what it lacks. Straight rolling is stable where alpha < beta*M/J and M*psi'^2 < 1, as it is here, for
            psi' > 0; beyond that the wheel shimmies. The start is that of 'greidanus-x', where the centre of the contact zone is
            the coordinate.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego, A generalization of Chetaev's principle for a class of higher order "
        "nonholonomic constraints, J. Math. Phys. 45 (2004) 2785, section 4, (36)-(44); Greidanus (1942).",
        corrections=(
            "alpha and beta are stiffnesses in the Lagrangian and coefficients of curvature in (30) and (38). The units do not agree, "
            "but the paper uses the same letters, and so does this model.",
            "The tyre is not dissipative for high alpha, as the paper says: there straight rolling is unstable at every speed. "
            "Straight rolling is linearly stable iff alpha < beta*M/J and M*psi'^2 < 1, for psi' > 0.",
            "For alpha -> infinity (42), (43) tend to Rocard's (24), (25) only in finite time, for M*psi'^2 < 1 and an xi that starts "
            "quasi-static; the kinematic row tends to theta' - epsilon' = beta*psi'*epsilon/(1 - M*psi'^2), not to Rocard's (20).",
        ),
    )


def scene() -> Scene:
    """The wheel, of radius 1, with the contact zone under it: turned against the wheel's plane and pushed aside."""
    return tyre_scene("y1, y2", "y1 - xi*sin(theta), y2 + xi*cos(theta)")
