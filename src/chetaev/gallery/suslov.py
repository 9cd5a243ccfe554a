"""Suslov's problem."""

from __future__ import annotations

from chetaev.core.scene import Body, Frame, Pivot, Scene, Trace
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Chetaev, DAlembert, Vakonomic


def model(coupled: bool = True) -> Model:
    """A rigid body about a fixed point that cannot turn about an axis fixed in the body.

    `coupled=False` puts this axis along a principal axis of inertia.
    """
    energy = "I1/2*A1'^2 + I2/2*A2'^2 + I3/2*A3'^2 + I13*A1'*A3' + I23*A2'*A3'"
    system = System(
        coordinates={"A": "SO3 body"},
        parameters="I1 I2 I3 I13 I23",
        lagrangian=energy,
        kinematic=["A3' = 0"],
        name="Suslov's problem",
    )
    coupling = {"I13": 0.35, "I23": -0.2} if coupled else {"I13": 0.0, "I23": 0.0}
    invariants = {"energy": energy}
    if not coupled:
        invariants |= {"angular velocity, 1": "A1'", "angular velocity, 2": "A2'"}
    return Model(
        system,
        DAlembert(),
        parameters={"I1": 1.1, "I2": 1.7, "I3": 1.4, **coupling},
        start=State({"A": [0.3, -0.4, 0.2], "A1'": 0.9, "A2'": -1.3}),
        t=(0, 20),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": 0.4}},
        invariants=invariants,
        prose="""
            Small wheels with sharp edges, fixed to the body and running inside a sphere, forbid rotation about the body's third
            axis: A3' = 0, where A1', A2', A3' are the components of the angular velocity along axes fixed in the body. The first
            two axes are chosen so that I12 = 0. With the coupling s = I13*A1' + I23*A2' the reduced equations are I1*A1'' = -s*A2'
            and I2*A2'' = s*A1'. The energy is constant, so the angular velocity moves on an ellipse, from one of the two steady
            rotations s = 0 to the other: every motion begins, long ago, as a steady rotation about an axis fixed in body and space,
            and ends as the opposite one, although no energy is lost. On the ellipse the angle is a Gudermannian function of time.
            There is no invariant measure with a smooth density. If the forbidden axis is a principal axis the angular velocity is
            constant and the body spins uniformly for ever.
        """,
        reference="Suslov, Theoretical Mechanics (Gostekhizdat 1946), section 53; Kozlov, Regular and Chaotic Dynamics 7 (2002), 161-176, "
        "for the measure; Bloch, Nonholonomic Mechanics and Control (Springer 2003), chapter 8.",
        scene=_scene(),
    )


def _scene() -> Scene:
    """The body with the axis about which it cannot turn, and the path of that axis."""
    axis = Frame("0, 0, 0", [("0, 0, 0", "0, 0, 1.2")], rotation="A", width=0.06)
    return Scene(
        [
            Trace("1.2*A13, 1.2*A23, 1.2*A33", seconds=6),
            Body("0, 0, 0", rotation="A", size="1.1, 0.7, 0.9"),
            axis,
            Pivot("0, 0, 0"),
        ],
        caption="The body cannot turn about the red axis, which is fixed in it.",
    )
