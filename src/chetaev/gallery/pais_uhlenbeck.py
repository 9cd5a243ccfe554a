"""The Pais-Uhlenbeck oscillator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """One coordinate with a Lagrangian of second order, which oscillates at two frequencies w1 and w2."""
    system = System(
        coordinates={"q": "line"},
        parameters="w1 w2",
        lagrangian="(q''^2 - (w1^2 + w2^2)*q'^2 + w1^2*w2^2*q^2)/2",
        name="Pais-Uhlenbeck oscillator",
    )
    return Model(
        system,
        Hamilton(),
        parameters={"w1": 1.7, "w2": 1.0},
        start=State({"q": 0.8, "q'": 0.3, "q''": -0.5, "q'''": 0.4}),
        t=(0, 20),
        invariants={
            "energy": "q''^2/2 - q'*q''' - (w1^2 + w2^2)*q'^2/2 - w1^2*w2^2*q^2/2",
            "amplitude at w1": "(q''' + w2^2*q')^2 + w1^2*(q'' + w2^2*q)^2",
            "amplitude at w2": "(q''' + w1^2*q')^2 + w2^2*(q'' + w1^2*q)^2",
        },
        prose="""
            The equation is q'''' + (w1^2 + w2^2)*q'' + w1^2*w2^2*q = 0, so the state has four values, q to q'''. Its solutions are sums
            of two harmonic motions, and all of them are bounded for w1 != w2. The energy of Ostrogradsky is the difference of the two
            oscillators' energies: for w1 > w2 the mode w1 carries positive energy and the mode w2 negative. Energy therefore bounds
            nothing, and an interaction may pump both modes at once. At w1 = w2 the modes merge and the motion grows as t.
        """,
        reference="Pais, Uhlenbeck, On field theories with non-localized action, Phys. Rev. 79 (1950) 145; for the energy Krupková, "
        "Differential systems in higher-order mechanics (2000), section 8, (8.15) and remark 8.14.",
    )


def scene() -> Scene:
    """Two hands, one at the end of the other, that turn at the rates w1 and w2; the shadow of the tip on the axis is q."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import BLUE, GREY, ORANGE, Circle, Label, Pivot, Point, Rod, Trace

    gap = "(w2^2 - w1^2)"
    first = f"(q'' + w2^2*q)/{gap}, (q''' + w2^2*q')/(w1*{gap})"
    reach = f"sqrt((q'' + w2^2*q)^2 + (q''' + w2^2*q')^2/w1^2)/abs{gap}"
    tip = f"q, (q''' + w2^2*q')/(w1*{gap}) - (q''' + w1^2*q')/(w2*{gap})"
    other = f"sqrt((q'' + w1^2*q)^2 + (q''' + w1^2*q')^2/w2^2)/abs{gap}"
    return Scene(
        [
            Rod("-2.2, 0", "2.2, 0", GREY, thread=True),
            Circle("0, 0", reach),
            Circle(first, other),
            Trace(tip, seconds=4),
            Rod(tip, "q, 0", GREY, thread=True),
            Rod("0, 0", first, BLUE),
            Rod(first, tip, ORANGE),
            Pivot("0, 0"),
            Pivot(first),
            Point("q, 0"),
            Label("q, 0", "q"),
        ]
    )
