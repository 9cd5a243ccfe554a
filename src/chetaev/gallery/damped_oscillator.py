"""The damped oscillator from Herglotz' principle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Herglotz
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A harmonic oscillator whose Lagrangian contains its own action, -gamma*s; gamma > 0 is friction."""
    system = System(
        coordinates={"x": "line"},
        parameters="omega gamma",
        lagrangian="x'^2/2 - omega^2*x^2/2 - gamma*s",
        action="s",
        name="damped oscillator",
    )
    return Model(
        system,
        Herglotz(),
        parameters={"omega": 1.3, "gamma": 0.25},
        start=State({"x": 0.8, "x'": -0.5, "s": 0.6}),
        invariants={
            "decay of the energy": "(x'^2/2 + omega^2*x^2/2 + gamma*s)*exp(gamma*t)",
            "decay of the action": "(s - x*x'/2)*exp(gamma*t)",
            "energy of the expanding coordinate": "(x'^2/2 + omega^2*x^2/2 + gamma*x*x'/2)*exp(gamma*t)",
        },
        prose="""
            Linear friction from a variational principle, and no explicit time. s' = L, and Herglotz asks that the final value of s be
            stationary; the result is x'' + gamma*x' + omega^2*x = 0. The energy x'*dL/dx' - L = x'^2/2 + omega^2*x^2/2 + gamma*s obeys E'
            = -gamma*E exactly, whereas kinetic plus potential energy falls only while x moves. s itself is x*x'/2 up to a term that dies
            away as exp(-gamma*t). The third invariant contains no s: it is the energy of x*exp(gamma*t/2), an oscillator without
            friction.
        """,
        reference="de León, Lainz, Muñoz-Lecanda, Román-Roy, Constrained Lagrangian dissipative contact dynamics (2021), "
        "section 2.5, (13); Herglotz (1930).",
    )


def scene() -> Scene:
    """A block on a spring."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import BLUE, DARK, Body, Ground, Rod, Spring

    block = ["-0.18, -0.18", "0.18, -0.18", "0.18, 0.18", "-0.18, 0.18"]
    return Scene(
        [
            Ground(-0.18),
            Rod("-1.9, -0.18", "-1.9, 0.45", colour=DARK),
            Rod("0, -0.18", "0, -0.26", thread=True),
            Spring("-1.9, 0", "x - 0.18, 0", coils=11, width=0.2),
            Body("x, 0", outline=block, colour=BLUE),
        ]
    )
