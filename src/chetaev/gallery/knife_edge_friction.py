"""A knife edge on a plane, with friction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import DAlembert
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A skate on horizontal ice that is slowed down in proportion to its speed and to its spin."""
    system = System(
        coordinates={"x": "line", "y": "line", "theta": "angle"},
        parameters="m J k c",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
        kinematic=["y'*cos(theta) - x'*sin(theta) = 0"],
        dissipation="k/2*(x'^2 + y'^2) + c/2*theta'^2",
        name="knife edge with friction",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.4, "J": 0.6, "k": 0.35, "c": 0.09},
        start=State({"x": -0.2, "y": 0.5, "theta": 0.7, "x'": 1.6, "theta'": -0.9}),
        invariants={
            "decay of the speed": "(x'*cos(theta) + y'*sin(theta))*exp(k*t/m)",
            "decay of the spin": "theta'*exp(c*t/J)",
            "final heading": "theta + J/c*theta'",
        },
        prose="""
            The blade moves along itself only, and Rayleigh's function describes friction that is linear in the velocities. Speed
            and spin decouple: v decays as exp(-k*t/m), the spin as exp(-c*t/J), each with a time of its own. The ratio of the two
            is the radius of curvature. If k/m = c/J it never changes, and the skate comes to rest on an arc of a circle; if the
            speed dies first, as here, the path curls up more and more tightly while it ends. The reaction lambda1 is the force
            across the blade, m*v*theta'.
        """,
        reference="Bloch, Nonholonomic Mechanics and Control (Springer 2003), section 1.6, for the blade; "
        "Rayleigh, The Theory of Sound, volume 1, section 81, for the friction.",
    )


def scene() -> Scene:
    """The skate from above."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Blade, Ground, Trace

    return Scene([Ground(), Trace("x, y"), Blade("x, y", "theta")])
