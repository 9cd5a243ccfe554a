"""A particle in an anisotropic viscous fluid, with friction as a constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import VirtualWork
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A particle in an anharmonic well, slowed by a fluid whose resistance depends on direction and place."""
    system = System(
        coordinates={"x": "line", "y": "line", "z": "line"},
        parameters="m b c",
        lagrangian="m/2*(x'^2 + y'^2 + z'^2) - V",
        kinematic=["E' + x'*f1 + y'*f2 + z'*f3 = 0"],
        variational=["f1*δx + f2*δy + f3*δz = 0"],
        where={
            "V": "(x^2 + 2*y^2 + z^2/2)/2 + c*x*y*z",
            "E": "m/2*(x'^2 + y'^2 + z'^2) + V",
            "f1": "(0.8 + b*x^2)*x' + 0.2*y' + 0.1*z'",
            "f2": "0.2*x' + (0.5 + b*y^2)*y' - 0.1*z'",
            "f3": "0.1*x' - 0.1*y' + (0.6 + b*z^2)*z'",
        },
        name="viscous particle",
    )
    return Model(
        system,
        VirtualWork(),
        parameters={"m": 1.3, "b": 0.1, "c": 0.3},
        start=State({"x": 1.0, "y": -0.5, "z": 0.7, "x'": 0.4, "y'": 0.9, "z'": -0.3}),
        prose="""
            No friction force is written down. f = F(x)*x' is the drag, with a symmetric matrix F(x), and two rows speak of it: the energy
            E falls at the rate -x'*f, and the reaction is parallel to f. The kinematic row is of second order, because E' contains the
            acceleration. Together the rows leave the reaction no choice: it is lambda1*f with lambda1 = -1 throughout, so that
            m*x'' = -grad V - f, which is the particle with Rayleigh's dissipation x'*F*x'/2. At rest f vanishes and lambda1 is no longer
            determined, although the motion itself has a limit there; b makes the fluid thicker away from the origin, c couples the axes.
        """,
        reference="Cendra, Grillo, Lagrangian systems with higher order constraints, J. Math. Phys. 48 (2007), doi:10.1063/1.2740470, "
        "section IV.B with (58), (59), (61), (62).",
        corrections=(
            "The paper allows any real matrix F(x). Only a symmetric one gives back Rayleigh's force: otherwise the variational row "
            "makes the reaction follow F^T*x', while the dissipation function knows the symmetric part alone.",
            "In (61) the derivatives of E have moved up by one order; E' is dE/dq*q' + dE/dq'*q'', and it equals minus twice the "
            "dissipation function.",
            "The set C_K of (58) is not a submanifold at states of rest, where its defining row loses its differential.",
        ),
    )


def scene() -> Scene:
    """The particle on its way to rest."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import BLUE, GREY, Ground, Pivot, Point, Rod, Trace

    return Scene(
        [Ground(-1), Trace("x, y, z", BLUE), Rod("x, y, -1", "x, y, z", GREY, thread=True), Pivot("0, 0, 0", GREY), Point("x, y, z")]
    )
