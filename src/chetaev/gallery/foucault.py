"""Foucault's pendulum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """Small swings of a pendulum on the rotating Earth at the latitude beta, seen from the ground."""
    system = System(
        coordinates={"x": "line", "y": "line"},
        parameters="m l g Omega beta",
        where={
            "W": "Omega*sin(beta)",
            "rate": "sqrt(g/l + W^2)",
            "X": "x*cos(W*t) - y*sin(W*t)",
            "Y": "x*sin(W*t) + y*cos(W*t)",
        },
        lagrangian="m/2*(x'^2 + y'^2) + m*W*(x*y' - y*x') - m*g/(2*l)*(x^2 + y^2)",
        name="Foucault pendulum",
    )
    return Model(
        system,
        Hamilton(),
        parameters={"m": 1.2, "l": 1.5, "g": 9.81, "Omega": 0.4, "beta": 0.85},
        start=State({"x": 0.21, "y": -0.13, "x'": 0.3, "y'": 0.45}),
        t=(0, 20),
        invariants={
            "energy": "m/2*(x'^2 + y'^2) + m*g/(2*l)*(x^2 + y^2)",
            "angular momentum": "m*(x*y' - y*x') + m*W*(x^2 + y^2)",
            "swing along X": "X*cos(rate*t) - X'/rate*sin(rate*t)",
            "swing along Y": "Y*cos(rate*t) - Y'/rate*sin(rate*t)",
        },
        prose="""
            x points east and y north. The Coriolis force comes from a term of the Lagrangian that is linear in the velocities,
            like the force of a magnetic field on a charge; it does no work and is absent from the energy, and it adds
            W*m*(x^2 + y^2) to the angular momentum. Terms in Omega^2 that only shift the plumb line are left out. In the axes X,
            Y, which turn clockwise at the rate W = Omega*sin(beta), the pendulum is a plain oscillator of frequency
            sqrt(g/l + W^2), so the plane of swinging turns once in a day divided by sin(beta). The value of Omega is that of a
            fast carousel rather than of the Earth.
        """,
        reference="Landau, Lifshitz, Mechanics, section 39, problem 3.",
    )


def scene() -> Scene:
    """The pendulum over the ground, on which it leaves its path."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Ground, Pivot, Point, Rod, Trace

    bob = "x, y, l - sqrt(l^2 - x^2 - y^2)"
    return Scene(
        [Ground(-0.08), Trace("x, y, -0.08"), Rod("0, 0, l", bob, thread=True), Pivot("0, 0, l"), Point(bob, 0.05)],
        view=(-62, 28),
    )
