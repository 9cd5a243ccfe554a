"""The Appell-Hamel system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Chetaev, Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A heavy particle whose horizontal speed is a times its vertical speed."""
    system = System(
        coordinates={"x": "line", "y": "line", "z": "line"},
        parameters="m g a",
        lagrangian="m/2*(x'^2 + y'^2 + z'^2) - m*g*z",
        kinematic=["x'^2 + y'^2 = a^2*z'^2"],
        name="Appell-Hamel system",
    )
    return Model(
        system,
        Chetaev(),
        parameters={"m": 1.3, "g": 9.81, "a": 0.8},
        start=State({"x": 0.2, "y": -0.1, "z": 1.5, "x'": 0.6, "y'": -0.7}, guess={"z'": -1.2}),
        t=(0, 3),
        also={Vakonomic(): {"lambda1": 0.3}},
        invariants={
            "energy": "m/2*(x'^2 + y'^2 + z'^2) + m*g*z",
            "direction": "y'/x'",
            "fall": "z' + g*t/(1 + a^2)",
        },
        prose="""
            Appell's example of a constraint that is quadratic in the velocities: a wheel rolls in a frame that is free to swivel,
            and winds up the thread on which a weight hangs below. Under Chetaev's rule the horizontal direction of motion is
            constant and the particle slides down as on an inclined plane: z'' = -g/(1 + a^2). The row is homogeneous in the
            velocities, so the reaction does no work and energy is conserved. The vakonomic motions are the same ones for every
            initial multiplier, because in each vertical plane the constraint is holonomic. At rest the row and its gradient
            vanish together and the multiplier -m*g/(2*(1 + a^2)*z') is infinite, so a particle thrown upwards cannot be followed
            beyond its highest point. Whether a mechanism can realise the row has been disputed ever since: Neimark and Fufaev
            object to the limit in which the frame swivels about the point of contact itself.
        """,
        reference="Appell, Exemple de mouvement d'un point assujetti à une liaison exprimée par une relation non linéaire entre les "
        "composantes de la vitesse, Rendiconti del Circolo Matematico di Palermo 32 (1911), 48-50; Hamel, Theoretische Mechanik (1949); "
        "Neimark, Fufaev, Dynamics of Nonholonomic Systems (AMS 1972).",
    )


def scene() -> Scene:
    """Appell's mechanism: the wheel rolls on a table and pays out the thread on which the particle hangs."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Ground, Point, Rod, Trace, Wheel

    table, radius = "3", "3"
    return Scene(
        [
            Ground(table),
            Trace(f"x, y, {table}"),
            Trace("x, y, z", seconds=1.5),
            Rod(f"x, y, {table} + {radius}", "x, y, z", thread=True),
            Wheel(f"x, y, {table} + {radius}", radius, rotation=f"z atan2(y', x'), y -a*z/{radius}", axis="y"),
            Point("x, y, z", 1.4),
        ],
        view=(-70, 17),
    )
