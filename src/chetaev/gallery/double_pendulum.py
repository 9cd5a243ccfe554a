"""The plane double pendulum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """Two bobs on two massless rods, one below the other, in angles against the downward vertical."""
    system = System(
        coordinates={"theta1": "angle", "theta2": "angle"},
        parameters="m1 m2 l1 l2 g",
        lagrangian="(m1 + m2)/2*l1^2*theta1'^2 + m2/2*l2^2*theta2'^2 + m2*l1*l2*theta1'*theta2'*cos(theta1 - theta2)"
        " + (m1 + m2)*g*l1*cos(theta1) + m2*g*l2*cos(theta2)",
        name="double pendulum",
    )
    return Model(
        system,
        Hamilton(),
        parameters={"m1": 1.3, "m2": 0.8, "l1": 0.9, "l2": 1.1, "g": 9.81},
        start=State({"theta1": 1.9, "theta2": -0.7, "theta1'": 0.4, "theta2'": 1.1}),
        invariants={
            "energy": "(m1 + m2)/2*l1^2*theta1'^2 + m2/2*l2^2*theta2'^2 + m2*l1*l2*theta1'*theta2'*cos(theta1 - theta2)"
            " - (m1 + m2)*g*l1*cos(theta1) - m2*g*l2*cos(theta2)"
        },
        prose="""
            Both angles are measured from the downward vertical, so theta2 does not turn with the first rod. At small angles there
            are two normal modes, in phase and in opposite phase; with a light lower bob and equal rods they beat. At large angles
            the motion is chaotic: energy is the only integral, and neighbouring starts part exponentially. It is a standard test
            for integrators, because nothing but the energy tells whether a long run is any good. With g = 0 the angular momentum
            is conserved too and the motion is integrable.
        """,
        reference="Landau, Lifshitz, Mechanics, section 5, problem 1.",
    )


def scene() -> Scene:
    """Two rods and two bobs; the path of the lower one."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import BLUE, Pivot, Point, Rod, Trace

    upper = "l1*sin(theta1), -l1*cos(theta1)"
    lower = "l1*sin(theta1) + l2*sin(theta2), -l1*cos(theta1) - l2*cos(theta2)"
    rods = [Rod("0, 0", upper), Rod(upper, lower), Pivot("0, 0")]
    return Scene([Trace(lower, seconds=2.5), *rods, Point(upper, 0.085, BLUE), Point(lower, 0.07)])
