"""The rigid ball on a plane that is being deformed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A ball that rolls without sliding on a sheet whose points stream with the steady velocity (v1, v2), nonlinear in the place."""
    system = System(
        coordinates={"A": "SO3 spatial", "a1": "line", "a2": "line"},
        parameters="I M r u w l",
        where={"v1": "u*sin(a2/l) + w/4*sin(a1/l)", "v2": "w*sin(a1/l)"},
        lagrangian="I/2*(A1'^2 + A2'^2 + A3'^2) + M/2*(a1'^2 + a2'^2)",
        kinematic=["a1' - v1 = r*A2'", "a2' - v2 = -r*A1'"],
        name="ball on a moving plane",
    )
    return Model(
        system,
        DAlembert(),
        parameters={"I": 0.09, "M": 0.8, "r": 0.5, "u": 1.4, "w": -0.9, "l": 0.7},
        start=State({"A": [0.2, 0.1, -0.4], "a1": 1.2, "a2": 0.9, "A1'": -1.13, "A2'": -1.35, "A3'": 0.8}),
        t=(0, 30),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": 0.3, "lambda2": -0.2}},
        invariants={
            "spin about the vertical": "A3'",
            "velocity less its share of the stream, 1": "a1' - I*v1/(I + M*r^2)",
            "velocity less its share of the stream, 2": "a2' - I*v2/(I + M*r^2)",
        },
        prose="""
            The plane is a sheet that streams within itself with the velocity field v = (v1, v2), the same at all times: here two
            crossed shear waves, of which one is also stretched. The rows say that the ball's point of contact moves with the sheet,
            so they are affine in the velocities, with a term that is nonlinear in the place. The virtual displacements are those of
            the plane at rest. The sheet does work on the ball at the rate M*(a1''*v1 + a2''*v2), and the energy is not constant.
            The equations are (I + M*r^2)*(A2'', -A1'') = -M*r*Dv*(a1', a2') and A3'' = 0. As Dv*(a1', a2') is the rate of v along
            the path they can be integrated once for every field: a' - v*I/(I + M*r^2) is constant. So the ball is carried along
            with the fraction I/(I + M*r^2) of the stream, 2/7 for a homogeneous ball, plus a constant velocity; the rotating table
            is the case of a linear field.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego (2004), section 6, equations (55)-(61).",
    )


def scene() -> Scene:
    """The ball, its path, and the velocity of the sheet under it."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Arrow, Ball, Ground, Trace

    stream = Arrow("a1, a2, 0.02", "a1 + v1, a2 + v2, 0.02", label="v")
    return Scene([Ground(0), Trace("a1, a2, 0"), stream, Ball("a1, a2, r", "r", rotation="A")])
