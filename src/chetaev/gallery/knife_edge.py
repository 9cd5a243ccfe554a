"""A knife edge on an inclined plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A skate on a slope of angle alpha, with x pointing downhill."""
    system = System(
        coordinates={"x": "line", "y": "line", "theta": "angle"},
        parameters="m J g alpha",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2 + m*g*x*sin(alpha)",
        kinematic=["y'*cos(theta) - x'*sin(theta) = 0"],
        where={"v": "x'*cos(theta) + y'*sin(theta)", "gx": "g*sin(alpha)"},
        name="knife edge on a slope",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.3, "J": 0.4, "g": 9.81, "alpha": 0.3},
        start=State({"x": 0.2, "y": -0.5, "theta": 0.4, "x'": 0.6, "theta'": 1.7}),
        also={Vakonomic(): {"lambda1": -0.5}},
        invariants={
            "spin": "theta'",
            "energy": "m/2*(x'^2 + y'^2) + J/2*theta'^2 - m*gx*x",
            "speed": "v - gx/theta'*sin(theta)",
            "path": "y + v/theta'*cos(theta) - gx/(2*theta'^2)*(theta + sin(theta)*cos(theta))",
        },
        prose="""
            A skate that glides along its blade and turns about the point of contact, where its centre of mass lies. Everything is
            known in closed form: theta turns uniformly at the rate w, the speed along the blade is (g*sin(alpha)/w)*sin(theta) up
            to a constant, and from rest with the blade downhill the path is the cycloid x = g*sin(alpha)/(2*w^2)*sin(w*t)^2,
            y = g*sin(alpha)/(2*w^2)*(w*t - sin(2*w*t)/2). So it never gets further downhill than g*sin(alpha)/(2*w^2): it drifts
            sideways, across the slope, without any net descent. The vakonomic skate from the same data does something else: its
            blade turns across the slope and it slides down.
        """,
        reference="Bloch, Nonholonomic Mechanics and Control (Springer 2003), section 1.6; Arnold, Kozlov, Neishtadt, "
        "Mathematical Aspects of Classical and Celestial Mechanics (Springer 2006), section 1.4, for vakonomic mechanics.",
    )


def scene() -> Scene:
    """The skate from above; the picture is turned so that downhill, the direction of x, points down."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Blade, Ground, Trace

    return Scene([Ground(), Trace("y, -x"), Blade("y, -x", "theta - pi/2")], caption="seen from above; downhill is towards the bottom")
