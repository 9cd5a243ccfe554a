"""A transformer driven so that the heat in its resistors is stationary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chetaev.model import Model
from chetaev.principles import Vakonomic
from chetaev.state import State
from chetaev.system import System

if TYPE_CHECKING:
    from chetaev.plot.scene import Scene


def model() -> Model:
    """Two coupled circuits, a generator of unknown voltage epsilon(t), Kirchhoff's laws as constraints."""
    system = System(
        coordinates={"I1": "line", "I2": "line", "epsilon": "line"},
        parameters="R1 R2 L1 L2 M",
        lagrangian="(epsilon - L1*I1' - M*I2')^2/R1 + (L2*I2' + M*I1')^2/R2",
        kinematic=["epsilon - R1*I1 - L1*I1' - M*I2' = 0", "R2*I2 + L2*I2' + M*I1' = 0"],
        name="transformer",
    )
    return Model(
        system,
        Vakonomic(),
        parameters={"R1": 1.0, "R2": 0.8, "L1": 1.5, "L2": 1.2, "M": 0.7},
        start=State({"I1": 0.5, "I2": -0.3}),
        t=(0, 3),
        invariants={"area swept by the currents": "M*R1*I1^2 + 2*L2*R1*I1*I2 - M*R2*I2^2"},
        prose="""
            The currents I1, I2 and the voltage epsilon are the coordinates, the Lagrangian is the power lost in the two resistors, and
            Kirchhoff's laws are the constraints. Nothing contains epsilon', and the multipliers come out as lambda1 = -2*I1 and lambda2 =
            2*R1*L2*I1/(M*R2): unlike those of most vakonomic systems they are no initial values. A chain of three steps, with three, one
            and one new constraints, leaves the two currents as the only free data. Their flow is linear, I1' = k*(L2*R1*I1 - M*R2*I2) and
            I2' = -k*(M*R1*I1 + L2*R1*I2) with k = R2/(L2^2*R1 + M^2*R2); its exponents are sqrt(R1*R2*k) and -sqrt(R1*R2*k), so almost
            every stationary motion runs away. L1*L2 != M^2 and M != 0 are needed.
        """,
        reference="Vignolo, Bruno, Time-dependent vakonomic dynamics and presymplectic geometry (2002), section 4, example 3, (4.5).",
        corrections=(
            "Footnote 4 has its words reversed: it is a linear Lagrangian that would be totally singular.",
            "The result needs M != 0 and, for the rank of the two-form, L1*L2 != M^2; the paper does not say so.",
        ),
    )


def scene() -> Scene:
    """The plane of the two currents: a circuit has no place in space."""
    from chetaev.plot.scene import Scene
    from chetaev.plot.shapes import Point, Trace

    return Scene([Trace("I1, I2"), Point("I1, I2")], axes=("I1", "I2"))
