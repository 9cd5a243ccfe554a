"""Chaplygin's ball: balanced, not homogeneous, rolling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A ball with three different moments of inertia, its centre of mass at its centre, rolls without sliding on a level plane."""
    energy = "I1/2*A1'^2 + I2/2*A2'^2 + I3/2*A3'^2 + M/2*(a1'^2 + a2'^2)"
    turning = [f"A{i}1*I1*A1' + A{i}2*I2*A2' + A{i}3*I3*A3'" for i in (1, 2, 3)]
    system = System(
        coordinates={"A": "SO3 body", "a1": "line", "a2": "line"},
        parameters="I1 I2 I3 M r",
        where={
            "w1": "A11*A1' + A12*A2' + A13*A3'",
            "w2": "A21*A1' + A22*A2' + A23*A3'",
            "w3": "A31*A1' + A32*A2' + A33*A3'",
        },
        lagrangian=energy,
        kinematic=["a1' = r*w2", "a2' = -r*w1"],
        name="Chaplygin's ball",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"I1": 0.03, "I2": 0.12, "I3": 0.14, "M": 1.3, "r": 0.4},
        start=State({"A": [0.5, -0.3, 0.7], "a1": 0.2, "a2": -0.3, "A1'": 0.9, "A2'": 1.1, "A3'": 3.2}),
        t=(0, 12),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": 0.3, "lambda2": -0.2}},
        invariants={
            "angular momentum about the contact, 1": f"{turning[0]} + M*r^2*w1",
            "angular momentum about the contact, 2": f"{turning[1]} + M*r^2*w2",
            "angular momentum about the contact, 3": turning[2],
            "energy": energy,
        },
        prose="""
            A1', A2', A3' are the components of the angular velocity along the principal axes of the ball, w1, w2, w3 those in
            space; a1 and a2 are the point of contact, under the centre. The angular momentum about the point of contact is constant
            in space, because this point moves with the velocity of the centre and all forces act there. With the energy these are
            four integrals; there is an invariant measure too, and so the motion is integrable by Jacobi's last multiplier, in
            hyperelliptic functions, as Chaplygin showed in 1903. After a change of time that depends on the place it is even
            Hamiltonian. The contact point winds along a straight strip, across the horizontal part of the angular momentum. With
            equal moments of inertia the ball is the rigid ball and rolls straight.
        """,
        reference="Chaplygin, On a ball's rolling on a horizontal plane, Matematicheskii Sbornik 24 (1903), 139-168; English in Regular "
        "and Chaotic Dynamics 7 (2002), 131-148.",
    )


def scene() -> Scene:
    """The ball on its plane, and the winding path of the contact."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Ball, Ground, Trace

    return Scene([Ground(0), Trace("a1, a2, 0"), Ball("a1, a2, r", "r", rotation="A")])
