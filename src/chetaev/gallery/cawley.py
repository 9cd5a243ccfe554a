"""Cawley's Lagrangian: a singular system whose constraint set branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """Three coordinates, one without inertia; q2*q3 = 0 splits the motions into two families."""
    system = System(
        coordinates={"q1": "line", "q2": "line", "q3": "line"},
        lagrangian="q1'*q3' + q2^2*q3/2",
        name="Cawley's Lagrangian",
    )
    return Model(
        system,
        Hamilton(),
        start=State({"q1": 0.2, "q3": 0.7, "q1'": 0.5, "q3'": -0.4}),
        invariants={"momentum of q1": "q3'", "energy": "q1'*q3' - q2^2*q3/2"},
        prose="""
            The equations are q3'' = 0, q2*q3 = 0 and q1'' = q2^2/2. The middle one is a product, so the states form a union of two
            manifolds. On q2 = q2' = 0 everything is straight and uniform: the motion is regular, with four free initial values, and the
            start lies there because q3 is not zero. On q3 = q3' = 0 the coordinate q2 is a free function of time, and it drives q1. Where
            the two manifolds cross, a motion may belong to either. A constraint algorithm that insists on one final manifold must fail
            here.
        """,
        reference="Krupková, Differential systems in higher-order mechanics (2000), section 9.2, (9.3)-(9.9); "
        "Cawley, Phys. Rev. Lett. 42 (1979) 413, as cited there.",
        corrections=(
            "The Lagrangian is Cawley's, not Cayley's.",
            "For the extended dynamics the ranks agree iff q2*q3 = 0; the paper prints q2*q3' = 0. Likewise M_x is {q3 = 0} for q2 != 0, "
            "and M_x^1 is {q3 = 0}.",
            "The distribution (9.6) is not completely integrable: [d/dt + q1'*d/dq1 + q2^2/2*d/dq1', d/dq2] = -q2*d/dq1' lies outside it. "
            "So there are no three-dimensional leaves that hold the motions. From q1 = q1' = 0, q2 = 0 and q2 = t^2 lead to different "
            "places.",
        ),
    )


def scene() -> Scene:
    """The three coordinates, which have no place in space."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Slider

    return Scene([Slider("q1"), Slider("q2"), Slider("q3")])
