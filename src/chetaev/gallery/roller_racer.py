"""The roller racer: a snake of two bodies with wheels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """Two bodies with an axle each, joined by a pivot; the rider swings the front body to and fro."""
    system = System(
        coordinates={"A": "SE2 body", "phi": "angle"},
        parameters="m1 m2 J1 J2 l1 l2 c e K B w",
        where={
            "forward": "A1'*cos(phi) + (A2' + l1*A3')*sin(phi)",
            "sideways": "(A2' + l1*A3')*cos(phi) - A1'*sin(phi)",
            "turning": "A3' + phi'",
        },
        lagrangian="m1/2*(A1'^2 + (A2' + c*A3')^2) + J1/2*A3'^2 + m2/2*(forward^2 + (sideways - e*turning)^2) + J2/2*turning^2 - K/2*phi^2",
        kinematic=["A2' = 0", "sideways - l2*turning = 0"],
        forces={"phi": "B*sin(w*t)"},
        name="roller racer",
    )
    values = {"m1": 30.0, "m2": 2.5, "J1": 1.9, "J2": 0.06, "l1": 0.55, "l2": 0.2, "c": 0.15, "e": 0.07}
    return Model(
        system,
        DAlembert(),
        parameters={**values, "K": 10.0, "B": 10.0, "w": 5.0},
        start=State({"A": [0.1, -0.2, 0.3], "phi": 0.15, "phi'": -0.4, "A1'": 0.25}),
        also={Chetaev(): {}},
        prose="""
            A toy car without pedals. The rider sits on the rear body and swings the handlebar, which is the front body; wheels on
            both bodies keep them from sliding sideways, and the racer gathers speed though nobody pushes against the ground. A is
            the position of the rear body in the plane, a rigid motion: A1' and A2' are the velocity of its axle forward and to the
            left, A3' is its rate of turn, A13 and A23 are the place of the axle. The pivot is the length l1 ahead of it. The front
            body is turned by phi against the rear one; its axle is the length l2 behind the pivot, its centre of mass e behind the
            pivot, that of the rear body c ahead of the axle. `forward` and `sideways` are the pivot's velocity in the axes of the
            front body, `turning` is its rate of turn. The rows forbid sideways motion of both axles. They determine A2' and A3' by
            A1', phi and phi': the motion in the plane follows from the swinging of the joint and from one momentum, along the only
            direction the wheels leave free, which the swinging changes. The torque of the arms, B*sin(w*t) - K*phi, acts between
            the bodies. Nothing depends on the place, so the system can be reduced by the group. At l1*cos(phi) = l2 the rows no
            longer determine A3'.
        """,
        reference="Krishnaprasad, Tsakiris, Oscillations, SE(2)-snakes and motion control: a study of the roller racer, Dynamical Systems "
        "16 (2001), 347-397.",
    )


def scene() -> Scene:
    """Both bodies from above with their wheels, and the path of the rear axle."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import BLUE, ORANGE, Body, Frame, Ground, Pivot, Shape, Trace, Tyre

    rear = "atan2(A21, A11)"
    front = f"{rear} + phi"
    joint = ("A13 + l1*A11", "A23 + l1*A21")
    hub = (f"{joint[0]} - l2*cos({front})", f"{joint[1]} - l2*sin({front})")
    wheels: list[Shape] = []
    for (x, y), angle, half in ((("A13", "A23"), rear, 0.22), (hub, front, 0.16)):
        wheels.append(Frame((x, y), [(f"0, -{half}", f"0, {half}")], angle, colour=BLUE if angle == rear else ORANGE))
        wheels += [Tyre((f"{x} {s} {half}*sin({angle})", f"{y} {u} {half}*cos({angle})"), angle, 0.14) for s, u in ("-+", "+-")]
    board = Body("A13, A23", rear, ["-0.15, -0.12", "0.3, -0.12", "0.55, -0.03", "0.55, 0.03", "0.3, 0.12", "-0.15, 0.12"])
    bar = Frame(joint, [("-0.2, 0", "0.05, 0"), ("0.05, -0.2", "0.05, 0.2")], front, colour=ORANGE)
    return Scene([Ground(), Trace("A13, A23"), board, *wheels, bar, Pivot(joint)], follow="A13, A23", room=2.5)
