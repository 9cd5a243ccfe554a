"""The nonholonomic particle on the Heisenberg distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A free particle that climbs as it moves in x, at a slope given by y."""
    system = System(
        coordinates={"x": "line", "y": "line", "z": "line"},
        parameters="m M",
        lagrangian="m/2*(x'^2 + y'^2) + M/2*z'^2",
        kinematic=["z' - y*x' = 0"],
        name="Heisenberg particle",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"m": 1.4, "M": 0.9},
        start=State({"x": 0.3, "y": -0.5, "z": 0.2, "x'": 1.1, "y'": 0.8}),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": 0.7}},
        invariants={
            "momentum along y": "y'",
            "speed": "x'*sqrt(m + M*y^2)",
            "energy": "m/2*(x'^2 + y'^2) + M/2*z'^2",
            "path in x and y": "x - x'/y'*sqrt((m + M*y^2)/M)*asinh(y*sqrt(M/m))",
            "path in y and z": "z - x'/y'*(m + M*y^2)/M",
        },
        prose="""
            The smallest nonholonomic constraint: dz - y*dx is a contact form, and motion in x and y along a closed loop changes z
            by the area enclosed. Under d'Alembert's principle y' is constant although y occurs in the row, and x'*sqrt(m + M*y^2)
            is constant, a momentum along a direction that changes with y; the motion is elementary. The vakonomic motions are the
            shortest paths among those that obey the row, geodesics of a sub-Riemannian metric; they know the two momenta
            m*x' - lambda1*y and M*z' + lambda1. For M = 0 this is the Heisenberg group: the geodesics run around circles in the
            x-y plane and solve the isoperimetric problem of Dido, while d'Alembert's particle runs straight on.
        """,
        reference="Rosenberg, Analytical Dynamics of Discrete Systems (Plenum 1977); Bates, Śniatycki, Nonholonomic reduction, "
        "Reports on Mathematical Physics 32 (1993), 99-115; Bloch, Nonholonomic Mechanics and Control (Springer 2003), section 1.8.",
    )


def scene() -> Scene:
    """The particle in space and its shadow path in x and y, which does not close when z has changed."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import BLUE, GREY, Ground, Point, Rod, Trace

    return Scene(
        [Ground(0), Trace("x, y, 0", GREY), Trace("x, y, z", BLUE), Rod("x, y, 0", "x, y, z", GREY, thread=True), Point("x, y, z")],
        view=(-70, 20),
    )
