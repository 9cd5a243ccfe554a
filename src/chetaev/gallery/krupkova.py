"""A singular Lagrangian that hides a free function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """An oscillator whose stiffness -q2 is a coordinate without inertia."""
    system = System(
        coordinates={"q1": "line", "q2": "line"},
        lagrangian="(q1'^2 + q1^2*q2)/2",
        name="oscillator with a free stiffness",
    )
    return Model(
        system,
        Hamilton(),
        start=State({"q2": 0.4, "q2'": -0.3}),
        prose="""
            q1 feels the force q1*q2, and q2 asks only that q1^2 = 0. This means q1 = 0, and then q1' = 0 follows. On the manifold q1 =
            q1' = 0 both equations hold for every q2(t), so nothing determines q2. All motions lie in the line q1 = 0 of the configuration
            plane, and every curve in that line is a motion. The square matters: whoever linearises q1^2 = 0 about its solutions finds no
            constraint at all. The system is neither regular nor weakly regular on the whole phase space; on the constraint manifold it is
            weakly regular, with one free function.
        """,
        reference="Krupková, Differential systems in higher-order mechanics (2000), section 9.1, (9.1), (9.2).",
    )


def scene() -> Scene:
    """The two coordinates, which have no place in space."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Slider

    return Scene([Slider("q1"), Slider("q2")])
