"""A particle of constant speed in uniform gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A particle in a vertical plane that falls without being allowed to change its speed."""
    system = System(
        coordinates={"x": "line", "y": "line"},
        parameters="m g c",
        lagrangian="m/2*(x'^2 + y'^2) - m*g*y",
        kinematic=["x'^2 + y'^2 = c^2"],
        name="particle of constant speed",
    )
    return Model(
        system,
        Chetaev(),
        parameters={"m": 1.2, "g": 0.9, "c": 1.3},
        start=State({"x": 0.2, "y": -0.3, "x'": 0.7}, guess={"y'": 1.1}),
        t=(0, 6),
        also={Vakonomic(): {"lambda1": -0.2}},
        invariants={
            "time": "asinh(y'/x') + g*t/c",
            "direction against x": "x + c^2/g*atan2(y', x')",
            "direction against y": "y - c^2/g*log(x'/c)",
        },
        prose="""
            The simplest constraint that is truly nonlinear in the velocities. Chetaev's rule makes the reaction parallel to the
            velocity, 2*lambda1*(x', y'), and it takes away exactly the power of gravity: lambda1 = m*g*y'/(2*c^2). What is left
            turns the direction of flight, and the path is y = (c^2/g)*log(cos(g*x/c^2)) up to a shift, the catenary of equal
            strength turned over. The same rule with the kinetic energy of many particles is the Gaussian thermostat of molecular
            dynamics. The vakonomic particle makes the mean height stationary at given length and time: its path is an ordinary
            catenary, that of a chain, turned over if m + 2*lambda1 > 0. It is singular where m + 2*lambda1 = 0.
        """,
        reference="Evans, Hoover, Failor, Moran, Ladd, Nonequilibrium molecular dynamics via Gauss's principle of least constraint, "
        "Physical Review A 28 (1983), 1016-1021, for the thermostat.",
    )


def scene() -> Scene:
    """The particle with its velocity, which only turns."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Arrow, Point, Trace

    return Scene([Trace("x, y"), Arrow("x, y", "x + x'/2, y + y'/2", label="velocity"), Point("x, y")])
