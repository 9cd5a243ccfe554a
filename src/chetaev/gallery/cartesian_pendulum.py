"""The pendulum in Cartesian coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A bob on a massless rod, with the length of the rod as a constraint."""
    system = System(
        coordinates={"x": "line", "y": "line"},
        parameters="m g l",
        lagrangian="m/2*(x'^2 + y'^2) - m*g*y",
        kinematic=["x^2 + y^2 = l^2"],
        name="Cartesian pendulum",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.3, "g": 9.81, "l": 1.1},
        start=State({"x": 0.6, "x'": -0.9}, guess={"y": -0.9}),
        also={Chetaev(): {}, Vakonomic(): {}},
        invariants={"energy": "m/2*(x'^2 + y'^2) + m*g*y"},
        prose="""
            The smallest holonomic system, and the standard example of an index-3 problem: the row must be differentiated twice
            before it says anything about the accelerations. Its first derivative x*x' + y*y' = 0 restricts the velocities, so of
            four initial values two are free; y is given as a guess, because the row has two solutions for it. On holonomic rows
            d'Alembert's principle, Chetaev's and the vakonomic one agree, multiplier included:
            lambda1 = m*(g*y - x'^2 - y'^2)/(2*l^2). It is negative where the rod pulls, and -2*lambda1*l is the tension.
        """,
        reference="Hairer, Wanner, Solving Ordinary Differential Equations II (Springer 1996), section VII.1.",
    )


def scene() -> Scene:
    """The rod and the bob."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Pivot, Point, Rod, Trace

    return Scene([Trace("x, y", seconds=1), Rod("0, 0", "x, y"), Pivot("0, 0"), Point("x, y", "0.07*l")])
