"""Euler's top: the free rigid body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A rigid body without torques that turns almost about its middle principal axis."""
    energy = "I1/2*A1'^2 + I2/2*A2'^2 + I3/2*A3'^2"
    system = System(coordinates={"A": "SO3 body"}, parameters="I1 I2 I3", lagrangian=energy, name="Euler's top")
    return Model(
        system,
        Hamilton(),
        parameters={"I1": 0.9, "I2": 1.4, "I3": 1.9},
        start=State({"A": [0.2, -0.3, 0.4], "A1'": 0.03, "A2'": 2.4, "A3'": -0.05}),
        t=(0, 30),
        invariants={
            "angular momentum, 1": "A11*I1*A1' + A12*I2*A2' + A13*I3*A3'",
            "angular momentum, 2": "A21*I1*A1' + A22*I2*A2' + A23*I3*A3'",
            "angular momentum, 3": "A31*I1*A1' + A32*I2*A2' + A33*I3*A3'",
            "energy": energy,
        },
        prose="""
            A1', A2', A3' are the components of the angular velocity along the principal axes of the body. The Lagrangian does not
            contain the orientation, and the equations are Euler's: I1*A1'' = (I2 - I3)*A2'*A3' and so on round. The angular
            momentum is constant in space. In the body it runs along the intersection of a sphere and an ellipsoid, and the angular
            velocity is given by Jacobi's elliptic functions. Rotation about the axis of the largest or the smallest moment is
            stable; about the middle one it is not: the body keeps turning over, as a racket does when it is thrown up, at regular
            intervals that grow with the logarithm of how little the start was off the axis.
        """,
        reference="Euler (1758); Landau, Lifshitz, Mechanics (3rd edition, Pergamon 1976), sections 36 and 37.",
    )


def scene() -> Scene:
    """The body as a box, and the path of its middle axis."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Body, Frame, Trace

    return Scene(
        [
            Trace("A12, A22, A32", seconds=8),
            Body("0, 0, 0", rotation="A", size="1.4, 1.07, 0.57"),
            Frame("0, 0, 0", [("0, 0, 0", "0, 1, 0")], rotation="A", width=0.06),
        ],
        room=1.25,
    )
