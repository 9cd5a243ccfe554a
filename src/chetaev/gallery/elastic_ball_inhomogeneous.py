"""The elastic ball that is not homogeneous: overdetermined, with few motions left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import VirtualWork
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A balanced ball of radius 1 with three different moments of inertia that neither slides nor twists on the plane."""
    system = System(
        coordinates={"A": "SO3 spatial", "a1": "line", "a2": "line"},
        parameters="I1 I2 I3 M",
        where={
            "w1": "A11*A1' + A21*A2' + A31*A3'",
            "w2": "A12*A1' + A22*A2' + A32*A3'",
            "w3": "A13*A1' + A23*A2' + A33*A3'",
        },
        lagrangian="I1/2*w1^2 + I2/2*w2^2 + I3/2*w3^2 + M/2*(a1'^2 + a2'^2)",
        kinematic=["a1' = A2'", "a2' = -A1'", "A3' = 0"],
        variational=["δa1 = δA2", "δa2 = -δA1"],
        name="inhomogeneous elastic ball",
    )
    return Model(
        system,
        VirtualWork(),
        parameters={"I1": 0.42, "I2": 0.55, "I3": 0.73, "M": 1.5},
        start=State({"A": [0, 0.5, 0], "a1": 0.2, "a2": -0.1, "A1'": 0, "A2'": 0.7, "A3'": 0}),
        invariants={
            "angular velocity in the body": "w2",
            "velocity, 1": "a1'",
            "velocity, 2": "a2'",
            "energy": "I1/2*w1^2 + I2/2*w2^2 + I3/2*w3^2 + M/2*(a1'^2 + a2'^2)",
        },
        prose="""
            The rows are those of the homogeneous elastic ball, but the moments of inertia I1, I2, I3 differ. w1, w2, w3 are the
            components of the angular velocity along the principal axes. As the variations are those of the rigid ball, no torque
            acts about the vertical through the contact, and the rigid ball would begin to twist: the gyroscopic torque has a
            vertical part. So A3' = 0 contradicts the equations of motion at almost every state, and with general initial data there
            is no motion at all. What remains is rest, and rolling at constant velocity about a principal axis that lies horizontal:
            the motion that starts here. Whoever wants the inhomogeneous ball to move freely has to let the plane exert a torque
            against twisting, as d'Alembert's principle does with all three rows.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego (2004), end of section 2, where the case is announced.",
    )


def scene() -> Scene:
    """The ball on the plane, with the principal axis about which it rolls."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Ball, Frame, Ground, Trace

    return Scene(
        [
            Ground(0),
            Trace("a1, a2, 0"),
            Ball("a1, a2, 1", 1, rotation="A"),
            Frame("a1, a2, 1", [("0, -1.35, 0", "0, 1.35, 0")], rotation="A", width=0.06),
        ]
    )
