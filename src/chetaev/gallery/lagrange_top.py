"""Lagrange's top: the heavy symmetric top."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A symmetric top whose point stays in place, under gravity."""
    kinetic = "I/2*(A1'^2 + A2'^2) + J/2*A3'^2"
    system = System(
        coordinates={"A": "SO3 body"},
        parameters="m g l I J",
        lagrangian=f"{kinetic} - m*g*l*A33",
        name="Lagrange's top",
    )
    return Model(
        system,
        Hamilton(),
        parameters={"m": 0.4, "g": 9.81, "l": 0.12, "I": 0.0071, "J": 0.0013},
        start=State({"A": [0.5, 0.2, 0], "A1'": 0.8, "A2'": -1.1, "A3'": 75.0}),
        t=(0, 5),
        invariants={
            "spin": "A3'",
            "angular momentum about the vertical": "I*(A31*A1' + A32*A2') + J*A33*A3'",
            "energy": f"{kinetic} + m*g*l*A33",
        },
        prose="""
            The third axis of the body is its axis of symmetry; A1', A2', A3' are the components of the angular velocity along the
            axes of the body, I and J the moments of inertia about axes through the point, and the centre of mass is at the distance
            l from it. A33 is the cosine of the inclination, A13, A23, A33 is the direction of the axis. The spin A3' and the
            angular momentum about the vertical are constant: the axis nods between two circles while it goes round. Upright the top
            sleeps if J^2*A3'^2 > 4*m*g*l*I. Nothing special happens there in these coordinates, whereas Euler's angles lose their
            meaning.
        """,
        reference="Lagrange, Mécanique analytique (1788); Landau, Lifshitz, Mechanics (3rd edition, Pergamon 1976), section 35.",
    )


def scene() -> Scene:
    """The top as a disk on its axis, and the path of the axis."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Disk, Ground, Pivot, Rod, Trace

    return Scene(
        [
            Ground(0),
            Trace("1.6*l*A13, 1.6*l*A23, 1.6*l*A33", seconds=1.5),
            Rod("0, 0, 0", "1.6*l*A13, 1.6*l*A23, 1.6*l*A33"),
            Disk("l*A13, l*A23, l*A33", "0.6*l", rotation="A", thickness="0.15*l"),
            Pivot("0, 0, 0"),
        ]
    )
