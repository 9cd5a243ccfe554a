"""The snakeboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import DAlembert
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A board with two steered axles and a rotor, driven by torques on the rotor and on the axles."""
    system = System(
        coordinates={"x": "line", "y": "line", "theta": "angle", "psi": "angle", "phi": "angle"},
        parameters="m l J Jr Jw A B w beta",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2 + Jr/2*(theta' + psi')^2 + Jw/2*((theta' + phi')^2 + (theta' - phi')^2)",
        kinematic=[
            "y'*cos(theta + phi) - x'*sin(theta + phi) + l*theta'*cos(phi) = 0",
            "y'*cos(theta - phi) - x'*sin(theta - phi) - l*theta'*cos(phi) = 0",
        ],
        forces={"psi": "A*sin(w*t)", "phi": "B*sin(w*t + beta)"},
        name="snakeboard",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 4.0, "l": 0.3, "J": 0.02, "Jr": 0.07, "Jw": 0.011, "A": 0.8, "B": 0.06, "w": 2.5, "beta": 0.4},
        start=State({"x": 0.1, "y": -0.2, "theta": 0.3, "psi": 0.2, "phi": -0.17, "x'": 0.4, "psi'": -4.6, "phi'": -1.005}),
        invariants={
            "momentum of the rotor": "Jr*(theta' + psi') + A/w*cos(w*t)",
            "momentum of the axles": "2*Jw*phi' + B/w*cos(w*t + beta)",
        },
        prose="""
            The rider stands on two pivoting axles, twists the upper body to and fro and turns the feet in time with it; the board
            gathers speed although nobody pushes against the ground. x, y and theta are the board, psi is the rotor that stands
            for the body, and the front axle is turned by phi, the rear one by -phi. The wheels do not slide sideways: these are
            the two rows, and they imply theta' = v*tan(phi)/l. Of the three motions of the board in the plane one is left free,
            and the momentum in that direction is not conserved but changed by the internal torques. The axles turn opposite to
            each other, so phi does not feel the board at all. At cos(phi) = 0 the two rows are dependent.
        """,
        reference="Lewis, Ostrowski, Murray, Burdick, Nonholonomic mechanics and locomotion: the snakeboard example, "
        "IEEE International Conference on Robotics and Automation (1994), 2391-2400.",
    )


def scene() -> Scene:
    """The board from above, with its two axles and the rotor that stands for the rider."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import BLUE, ORANGE, Body, Frame, Ground, Point, Shape, Trace, Tyre

    plate = ["-0.3, -0.08", "0.3, -0.08", "0.3, 0.08", "-0.3, 0.08"]
    axles: list[Shape] = []
    for end, turned in (("+", "theta + phi"), ("-", "theta - phi")):
        x, y = f"x {end} l*cos(theta)", f"y {end} l*sin(theta)"
        axles.append(Frame(f"{x}, {y}", [("0, -0.14", "0, 0.14")], turned, colour=BLUE))
        axles += [Tyre(f"{x} {side} 0.14*sin({turned}), {y} {other} 0.14*cos({turned})", turned, 0.12) for side, other in ("-+", "+-")]
    rotor = Frame("x, y", [("-0.22, 0", "0.22, 0")], "theta + psi", colour=ORANGE)
    return Scene(
        [Ground(), Trace("x, y"), Body("x, y", "theta", plate), *axles, rotor, Point("x, y", 0.04, ORANGE)],
        follow="x, y",
        room=2.5,
    )
