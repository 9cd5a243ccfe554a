"""The spherical pendulum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Hamilton
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """A bob on a massless rod that swings in all directions; theta against the downward vertical, phi about it."""
    system = System(
        coordinates={"theta": "angle", "phi": "angle"},
        parameters="m l g",
        lagrangian="m*l^2/2*(theta'^2 + phi'^2*sin(theta)^2) + m*g*l*cos(theta)",
        name="spherical pendulum",
    )
    return Model(
        system,
        Hamilton(),
        parameters={"m": 1.3, "l": 0.8, "g": 9.81},
        start=State({"theta": 0.9, "phi": -0.4, "theta'": 0.7, "phi'": 2.3}),
        invariants={
            "energy": "m*l^2/2*(theta'^2 + phi'^2*sin(theta)^2) - m*g*l*cos(theta)",
            "angular momentum about the vertical": "m*l^2*phi'*sin(theta)^2",
        },
        prose="""
            The angle phi is cyclic and its momentum is conserved; with the energy that makes the system integrable by elliptic
            functions. theta swings between two heights, and from one lowest point to the next the bob turns by more than half a
            circle and less than a whole one, so the ellipse of small swings advances in the sense of the motion. With theta' = 0
            and phi'^2*cos(theta) = g/l the bob goes round a horizontal circle, the conical pendulum. Integrable as it is, it has
            no global action and angle variables: around the upright equilibrium it is the standard example of monodromy. The
            coordinates are singular at sin(theta) = 0, where the pendulum itself is not.
        """,
        reference="Landau, Lifshitz, Mechanics, section 14, problem 1; Duistermaat, On global action-angle coordinates, "
        "Communications on Pure and Applied Mathematics 33 (1980), 687-706, for the monodromy.",
    )


def scene() -> Scene:
    """The rod and the bob over the floor."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Ground, Pivot, Point, Rod, Trace

    bob = "l*sin(theta)*cos(phi), l*sin(theta)*sin(phi), -l*cos(theta)"
    return Scene([Ground("-1.15*l"), Trace(bob, seconds=4), Rod("0, 0, 0", bob), Pivot("0, 0, 0"), Point(bob, "0.09*l")])
