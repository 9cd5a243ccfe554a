"""Rocard's pneumatic tyre."""

from __future__ import annotations

from chetaev.core.scene import Ground, Patch, Scene, Trace, Wheel
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import VirtualWork


def model(forward: bool = True) -> Model:
    """A vertical elastic wheel whose contact zone is turned by the angle epsilon against the wheel's plane.

    `forward=False` starts with psi' < 0, where the sign in the third kinematic row matters.
    """
    system = System(
        coordinates={"psi": "angle", "theta": "angle", "epsilon": "angle", "x1": "line", "x2": "line"},
        parameters="I J M K a",
        lagrangian="I/2*psi'^2 + J/2*theta'^2 + M/2*(x1'^2 + x2'^2) - K/2*epsilon^2",
        kinematic=[
            "x1' = psi'*cos(theta - epsilon)",
            "x2' = psi'*sin(theta - epsilon)",
            "-psi''*tan(epsilon) + psi'*(theta' - epsilon') = sign(psi')*a/M*tan(epsilon)",
        ],
        variational=["δpsi*cos(theta) - δx1 = 0", "δpsi*sin(theta) - δx2 = 0", "δtheta - δepsilon = 0"],
        name="Rocard's tyre",
    )
    return Model(
        system,
        VirtualWork(),
        parameters={"I": 0.7, "J": 0.9, "M": 1.5, "K": 2.0, "a": 3.0},
        start=State({"psi": 0.2, "theta": 0.5, "epsilon": 0.15, "x1": 0.1, "x2": -0.2, "psi'": 1.8 if forward else -1.8, "theta'": 0.6}),
        t=(0, 10) if forward else (0, 0.5),
        prose="""
            The velocity of the contact point makes the small angle epsilon with the wheel's plane, and the lateral force is
            proportional to sin(epsilon). The third kinematic row says so: it is of second order and nonlinear. The variational
            rows are those of a rigid wheel that does not feel epsilon, so the reactions do work and the tyre loses energy in bends.
            By one differentiation the rows and the equations of motion leave a relation of first order,
            psi'*(theta' - epsilon') = sign(psi')*(a/M)*sin(epsilon)*(I + M*cos(epsilon))/(M + I*cos(epsilon)),
            so epsilon' is not a free initial value.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego (2004), section 3, equations (18)-(25); Rocard (1949).",
        corrections=(
            "The line (I + M)*psi'*psi'' - K*epsilon*(theta' - epsilon') = 0 of 001 is the rate of energy, not zero.",
            "Energy decays as -(M*psi'^2 + K)*epsilon*(theta' - epsilon') up to order epsilon^4, not epsilon^2.",
            "Without sign(psi'), as in 000, the model holds only for psi' > 0.",
        ),
        scene=_scene(),
    )


def _scene() -> Scene:
    """The wheel, of radius 1, with the contact zone under it: turned against the wheel's plane."""
    return Scene(
        [
            Ground(0),
            Trace("x1, x2, 0"),
            Patch("x1, x2, 0", "theta - epsilon", 0.9),
            Wheel("x1, x2, 1", 1, rotation="z theta, y psi", axis="y", spokes=12),
        ],
        follow="x1, x2, 0.9",
        room=1.7,
        view=(-55, 20),
    )
