"""A particle whose path has a prescribed curvature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A particle in a vertical plane, steered so that its path always has the curvature kappa."""
    system = System(
        coordinates={"x": "line", "y": "line"},
        parameters="m g kappa",
        lagrangian="m/2*(x'^2 + y'^2) - m*g*y",
        kinematic=["x'*y'' - y'*x'' = kappa*(x'^2 + y'^2)^(3/2)"],
        name="particle of prescribed curvature",
    )
    return Model(
        system,
        Chetaev(),
        parameters={"m": 1.3, "g": 1.7, "kappa": 0.7},
        start=State({"x": 0.4, "y": -0.6, "x'": 3.1, "y'": -1.2}),
        invariants={
            "energy": "m/2*(x'^2 + y'^2) + m*g*y",
            "centre of the circle, x": "x - y'/(kappa*sqrt(x'^2 + y'^2))",
            "centre of the circle, y": "y + x'/(kappa*sqrt(x'^2 + y'^2))",
        },
        prose="""
            A constraint of second order: it restricts the acceleration, and position and velocity may be chosen freely. Chetaev's
            rule differentiates the row by the accelerations, R_V = (-y', x'), so the reaction is normal to the velocity, does no
            work, and only steers. With constant kappa the path is a circle, whose centre is fixed by the initial data; on it the
            particle moves like a pendulum. It differs from a bead on a hoop in one respect: where the velocity vanishes the row
            says nothing and the equations are singular, for the same circle run backwards has the curvature -kappa. The start has
            enough energy to go round.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego (2004), section 4 and Remark 4.1, for Chetaev's principle at higher order.",
    )


def scene() -> Scene:
    """The particle with its velocity, on the circle that the curvature prescribes."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Arrow, Circle, Point, Trace

    speed = "sqrt(x'^2 + y'^2)"
    circle = Circle(f"x - y'/(kappa*{speed}), y + x'/(kappa*{speed})", "1/kappa")
    return Scene([circle, Trace("x, y", seconds=1.5), Arrow("x, y", "x + x'/4, y + y'/4"), Point("x, y")])
