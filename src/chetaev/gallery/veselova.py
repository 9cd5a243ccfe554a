"""Veselova's system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A rigid body about a fixed point that cannot turn about the vertical, an axis fixed in space."""
    energy = "I1/2*A1'^2 + I2/2*A2'^2 + I3/2*A3'^2"
    system = System(
        coordinates={"A": "SO3 body"},
        parameters="I1 I2 I3",
        lagrangian=energy,
        kinematic=["A31*A1' + A32*A2' + A33*A3' = 0"],
        name="Veselova's system",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"I1": 0.7, "I2": 1.1, "I3": 1.6},
        start=State({"A": [0.6, -0.4, 0.3], "A1'": 1.2, "A2'": -0.5}),
        t=(0, 20),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": 0.4}},
        invariants={
            "horizontal angular momentum, 1": "A11*I1*A1' + A12*I2*A2' + A13*I3*A3'",
            "horizontal angular momentum, 2": "A21*I1*A1' + A22*I2*A2' + A23*I3*A3'",
            "energy": energy,
        },
        prose="""
            A1', A2', A3' are the components of the angular velocity along the principal axes of the body; A31, A32, A33 is the
            vertical unit vector as seen from the body. The row says that the angular velocity is always horizontal. Compare
            Suslov's problem, where the forbidden axis is fixed in the body: there the motion tends to steady rotations, here it
            does not. The reaction is a torque about the vertical, so both horizontal components of the angular momentum are
            constant in space, and with the energy and an invariant measure the motion is integrable. It is that of Chaplygin's ball
            in disguise, and after a change of time that of a point on a sphere under a quadratic force.
        """,
        reference="Veselov, Veselova, Flows on Lie groups with a nonholonomic constraint and integrable non-Hamiltonian systems, "
        "Functional Analysis and its Applications 20 (1986), 308-309.",
    )


def scene() -> Scene:
    """The body, the vertical about which it cannot turn, and the path of its third axis."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Body, Frame, Pivot, Rod, Trace

    return Scene(
        [
            Trace("1.1*A13, 1.1*A23, 1.1*A33", seconds=6),
            Rod("0, 0, -1.3", "0, 0, 1.3", thread=True),
            Body("0, 0, 0", rotation="A", size="0.9, 0.7, 0.35"),
            Frame("0, 0, 0", [("0, 0, 0", "0, 0, 1.1")], rotation="A", width=0.05),
            Pivot("0, 0, 0"),
        ],
        caption="The angular velocity is always horizontal.",
    )
