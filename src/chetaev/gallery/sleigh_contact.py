"""Chaplygin's sleigh with dissipation in the action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Herglotz, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A sleigh on one blade, with a term gamma*s in the Lagrangian; gamma < 0 is friction."""
    system = System(
        coordinates={"x": "line", "y": "line", "theta": "angle"},
        parameters="alpha beta gamma",
        lagrangian="(X'^2 + Y'^2)/2 + theta'^2 + gamma*s",
        kinematic=["x'*sin(theta) - y'*cos(theta) = 0"],
        action="s",
        where={"X": "x + alpha*cos(theta) - beta*sin(theta)", "Y": "y + alpha*sin(theta) + beta*cos(theta)"},
        name="Chaplygin's sleigh with dissipation",
    )
    return Model(
        system,
        Herglotz(DAlembert()),
        parameters={"alpha": 0.4, "beta": 0.25, "gamma": -0.2},
        start=State({"x": 0.2, "y": -0.1, "theta": 0.5, "x'": 1.0530990742684472, "theta'": 0.8, "s": 0.3}),
        also={Herglotz(Chetaev()): {}, Herglotz(Vakonomic()): {"lambda1": -0.35}},
        invariants={
            "decay of the kinetic energy": "((X'^2 + Y'^2)/2 + theta'^2)*exp(-2*gamma*t)",
            "decay of the energy": "((X'^2 + Y'^2)/2 + theta'^2 - gamma*s)*exp(-gamma*t)",
        },
        prose="""
            (x, y) is the blade, which slides along its own direction theta and never sideways; (X, Y) is the centre of mass, fixed in the
            sleigh at (alpha, beta) from the blade. The action variable makes every momentum decay at the rate -gamma. Under the
            nonholonomic principle the blade does no work, so the kinetic energy decays as exp(2*gamma*t), while the energy of Herglotz'
            principle, which includes -gamma*s, decays as exp(gamma*t). By a clock with d(tau) = exp(gamma*t)*dt the sleigh moves as it
            would without friction; but that clock never gets beyond -1/gamma, and the sleigh comes to rest on its way. The vakonomic
            sleigh leaves the path at once, and its multiplier lambda1 is a further initial value.
        """,
        reference="de León, Lainz, Muñoz-Lecanda, Román-Roy, Constrained Lagrangian dissipative contact dynamics (2021), "
        "sections 4.5 and 5, (28)-(34).",
        corrections=(
            "A term +gamma*s with gamma > 0 feeds the motion: E' = gamma*E. Friction needs gamma < 0.",
            "The text speaks of a radius of inertia 1; theta'^2 in (28) is a moment of inertia 2 about the centre of mass. "
            "(33) agrees with the formula, and so does this model.",
            "All three components of the Euler-Lagrange operator in (31) are wrong.",
            "In section 5 several signs of the multipliers' rates are wrong; the reduced equation of 5.4 is right and is used here.",
        ),
    )


def scene() -> Scene:
    """The sleigh from above: the blade, and the centre of mass beside its line."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import ORANGE, Blade, Body, Ground, Point, Trace

    outline = ["-0.6*alpha, -0.8*alpha", "1.5*alpha, -alpha", "2.6*alpha, 0", "1.5*alpha, alpha", "-0.6*alpha, 0.8*alpha"]
    shapes = [Trace("x, y"), Body("x, y", "theta", outline), Blade("x, y", "theta", "2*alpha"), Point("X, Y", colour=ORANGE)]
    return Scene([Ground(), *shapes])
