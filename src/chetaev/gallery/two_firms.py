"""Two firms under a law that limits production."""

from __future__ import annotations

from chetaev.core.scene import Label, Point, Rod, Scene, Trace
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import DAlembert, Vakonomic


def model(discount: bool = True) -> Model:
    """Two firms choose their production at stationary total cost, while a law slows down the second as the market fills.

    `discount=False` takes the cost exp(+beta*t) as printed in (4.2); with it (4.4) and the Hamiltonian of the paper do not hold.
    """
    rate = "-beta" if discount else "beta"
    gain = "-beta/2" if discount else "+ beta/2"
    weight = f"exp({rate}*t)"
    system = System(
        coordinates={"q1": "line", "q2": "line"},
        parameters="A1 A2 B D beta",
        lagrangian=f"{weight}/2*(A1*q1'^2 + A2*q2'^2)",
        kinematic=["q2' - D + B*(q1 + q2) = 0"],
        name="two firms, discounted cost" if discount else "two firms, growing cost",
    )
    return Model(
        system,
        Vakonomic(),
        parameters={"A1": 1.5, "A2": 0.7, "B": 0.4, "D": 2.0, "beta": 0.3},
        start=State({"q1": 0.5, "q2": 0.8, "q1'": 0.6, "lambda1": 0.25}),
        t=(0.1, 2.1),
        also={DAlembert(): {}},
        invariants={
            "momentum of a shift from q1 to q2": f"{weight}*(A1*q1' - A2*q2') - lambda1",
            "energy and growth": f"{weight}*(A1*q1'^2 + A2*q2'^2)/2 + lambda1*q2' "
            f"{gain}*({weight}*(A1*(q1 - D/B)*q1' + A2*q2*q2') + lambda1*q2)",
        },
        prose="""
            q1 and q2 are quantities produced, and the cost of producing is quadratic in the rates. The law q2' = D - B*(q1 + q2) stops
            the second firm when the fraction B of the total reaches D. It binds the second firm only, but the first can move the total,
            so the stationary plan involves both: this is why lambda1, the shadow price of the law, is part of the state. The law sees
            only the sum q1 + q2, and the momentum of a shift between the firms is constant. A shift of time changes nothing either if q2
            and q1 - D/B are scaled so as to keep the cost; this gives a second invariant although the Lagrangian contains time.
        """,
        reference="Vignolo, Bruno, Time-dependent vakonomic dynamics and presymplectic geometry (2002), section 4, example 2, (4.2)-(4.4).",
        corrections=(
            "The cost (4.2) and the extended Lagrangian are printed with exp(beta*t), but (4.4a), (4.4b), the Hamiltonian and its "
            "equations belong to exp(-beta*t), which is what a discount means. The default here is exp(-beta*t).",
            "For exp(+beta*t) instead: q1'' = -beta*q1' + lambda1*B*exp(-beta*t)/A1 and "
            "lambda1' = exp(beta*t)*A2*(B*(q1' + q2') - beta*q2') + lambda1*B.",
            "(4.3) defines g and forgets to set it to zero.",
        ),
        scene=_scene(),
    )


def _scene() -> Scene:
    """The plane of the two quantities produced, with the line at which the law stops the second firm."""
    law = Rod("D/B, 0", "0, D/B", "red", thread=True)
    return Scene([law, Label("0.64*D/B, 0.37*D/B", "q2' = 0", "red"), Trace("q1, q2"), Point("q1, q2", colour="blue")], axes=("q1", "q2"))
