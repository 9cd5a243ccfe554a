"""A skate steered by its own action: a constraint that contains s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, DAlembert, Herglotz, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A skate on a slope with friction, whose blade is turned clockwise through the angle kappa*s."""
    system = System(
        coordinates={"x": "line", "y": "line"},
        parameters="g gamma kappa",
        lagrangian="(x'^2 + y'^2)/2 - g*y - gamma*s",
        kinematic=["x'*sin(kappa*s) + y'*cos(kappa*s) = 0"],
        action="s",
        name="skate steered by its action",
    )
    return Model(
        system,
        Herglotz(DAlembert()),
        parameters={"g": 0.3, "gamma": 0.3, "kappa": 0.5},
        start=State({"x": 0.1, "y": 0.2, "x'": 1.2, "s": 0.4}),
        also={Herglotz(Chetaev()): {}, Herglotz(Vakonomic()): {"lambda1": -0.3}},
        invariants={"decay of the energy": "((x'^2 + y'^2)/2 + g*y + gamma*s)*exp(gamma*t)"},
        prose="""
            The blade points along (cos(kappa*s), -sin(kappa*s)), so the skate is steered by the action it has piled up and turns at the
            rate kappa*L: to the right while the kinetic energy prevails, to the left where the potential energy and the friction do. The
            variational row is (sin(kappa*s), cos(kappa*s)), as if s were a parameter. In the time derivative of the constraint, however,
            s' = L appears, and through it the reaction feels the action. It still does no work, so the energy decays as exp(-gamma*t).
            Vakonomic motion is stranger. With v the speed along the blade, gamma - kappa*lambda1*v takes the place of the friction gamma,
            and lambda1' is quadratic in lambda1: from lambda1 = -0.3 the motion is tame, from lambda1 = 1 it explodes before t = 1.3.
        """,
        reference="After de León, Lainz, Muñoz-Lecanda, Román-Roy, Constrained Lagrangian dissipative contact dynamics (2021), "
        "sections 4.4, 5.3 and 5.4; the example is not in the paper.",
        corrections=(
            "The equations of 4.4 look like those for constraints without s, but the multiplier must come from the row's derivative "
            "with the term dphi/ds*L; without it the motion leaves the constraint.",
            "(43) and (44) have wrong signs, and the line after (44) takes the vertical derivative of psi instead of L; "
            "the rate of nu before the reduced equation is wrong as well. The reduced equation of 5.4 is right and is used here.",
        ),
    )


def scene() -> Scene:
    """The blade from above."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Blade, Ground, Trace

    shapes = [Ground(), Trace("x, y"), Blade("x, y", "-kappa*s")]
    return Scene(shapes, caption="seen from above; downhill is towards the bottom")
