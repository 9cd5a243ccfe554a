"""The vertical rolling disk with dissipation in the action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Herglotz, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A vertical disk that rolls without sliding, with a term d*s in the Lagrangian; d < 0 is friction."""
    system = System(
        coordinates={"x": "line", "y": "line", "theta": "angle", "varphi": "angle"},
        parameters="d",
        lagrangian="(x'^2 + y'^2 + theta'^2 + varphi'^2)/2 + d*s",
        kinematic=["x' - theta'*cos(varphi) = 0", "y' - theta'*sin(varphi) = 0"],
        action="s",
        name="rolling disk with dissipation",
    )
    return Model(
        system,
        Herglotz(DAlembert()),
        parameters={"d": -0.3},
        start=State({"x": 0.1, "y": -0.2, "theta": 0.3, "varphi": 0.4, "theta'": 1.5, "varphi'": 0.7, "s": 0.25}),
        also={Herglotz(Chetaev()): {}, Herglotz(Vakonomic()): {"lambda1": -0.6, "lambda2": 0.45}},
        invariants={"ratio of the spins": "theta'/varphi'", "decay of the spin": "theta'*exp(-d*t)"},
        prose="""
            theta turns the disk about its axle, varphi its plane about the vertical. Both spins decay as exp(d*t) under the
            nonholonomic principle; the vakonomic motion from the same data is another one, and there the multipliers are part
            of the initial data.
        """,
        reference="de León, Lainz, Muñoz-Lecanda, Román-Roy (2021), sections 4.3 and 5.",
        corrections=("The paper calls d > 0 dissipation; energy obeys E' = d*E, so friction needs d < 0.",),
    )


def scene() -> Scene:
    """The disk on its plane, and the path of the point of contact."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Disk, Ground, Trace

    return Scene([Ground(0), Trace("x, y, 0"), Disk("x, y, 1", 1, rotation="z varphi, y theta", axis="y")])
