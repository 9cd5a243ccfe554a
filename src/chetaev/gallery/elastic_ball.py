"""The elastic homogeneous ball, in three guises."""

from __future__ import annotations

from chetaev.core.errors import ModelError, about, did_you_mean
from chetaev.core.scene import Ball, Ground, Scene, Trace
from chetaev.core.state import State
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Chetaev, DAlembert, Vakonomic, VirtualWork

_ROLLING = ["a1' = A2'", "a2' = -A1'"]
_NO_TWIST = "A3' = 0"
_TURNING = "A1'*A2'' - A2'*A1'' = A3'*(A1'^2 + A2'^2)"
_RIGID = ["δa1 = δA2", "δa2 = -δA1"]
_GUISES = {
    "overdetermined": ([*_ROLLING, _NO_TWIST], _RIGID),
    "second-order": ([*_ROLLING, _TURNING], _RIGID),
    "dalembert": ([*_ROLLING, _NO_TWIST], None),
}


def model(guise: str = "overdetermined") -> Model:
    """A ball of radius 1 that touches the plane with a small circle, which does not twist against the plane.

    `guise="overdetermined"`: A3' = 0 among the kinematic rows, the variational rows those of the rigid ball.
    `guise="second-order"`: instead of A3' = 0 a row of second order says how the direction of motion turns.
    `guise="dalembert"`: all three rows under d'Alembert's principle.
    """
    if guise not in _GUISES:
        raise ModelError(
            f"no guise {guise!r}.", where=about("gallery 'elastic-ball'", "guise"), hint=did_you_mean(guise, _GUISES) or ", ".join(_GUISES)
        )
    kinematic, variational = _GUISES[guise]
    energy = "I/2*(A1'^2 + A2'^2 + A3'^2) + M/2*(a1'^2 + a2'^2)"
    system = System(
        coordinates={"A": "SO3 spatial", "a1": "line", "a2": "line"},
        parameters="I M",
        lagrangian=energy,
        kinematic=kinematic,
        variational=variational,
        name="elastic ball",
    )
    ideal = guise == "dalembert"
    return Model(
        system,
        DAlembert() if ideal else VirtualWork(),
        parameters={"I": 0.6, "M": 1.5},
        start=State({"A": [0.3, -0.2, 0.5], "a1": 0.2, "a2": -0.1, "A1'": 0.7, "A2'": -0.4, "A3'": 0}),
        also={Chetaev(): {}, Vakonomic(): {"lambda1": 0.3, "lambda2": -0.5, "lambda3": 0.2}} if ideal else {},
        invariants={
            "angular velocity, 1": "A1'",
            "angular velocity, 2": "A2'",
            "angular velocity, 3": "A3'",
            "energy": energy,
        },
        prose="""
            A1', A2', A3' are the components of the angular velocity in space, a1 and a2 the point of contact. A ball that yields a
            little touches the plane with a circle. The first two rows say that the centre of this circle is at rest on the plane;
            that the circle does not twist against the plane is the third condition, A3' = 0. The plane acts on the ball by a force,
            whose torque about the contact vanishes, so the variations are those of the rigid ball. Then there are eight equations
            for seven unknowns, yet no contradiction: I*A3'' = 0 holds for the homogeneous ball anyhow. The same motions follow from
            a condition on curvature: the path of the contact point turns with the angular velocity A3'. This row is of second
            order, and it leaves two kinds of motion, A3' = 0 or A1' = A2' = 0: a ball that spins on the spot satisfies it too.
            Under d'Alembert's principle with all three rows there is a third multiplier, a torque against twisting, and it
            vanishes. Wherever the ball moves the three guises agree: it rolls straight on at constant speed without any force. The
            vakonomic ball with the same three rows is another system: its contact point runs along an elastica, the curve of a bent
            rod.
        """,
        reference="Cendra, Ibort, de León, Martín de Diego (2004), section 2, equations (1)-(17), and section 6, (47)-(54); "
        "Jurdjevic, Archive for Rational Mechanics and Analysis 124 (1993), 305-328, for the vakonomic ball.",
        corrections=(
            "Near the contact the points of the ball have a velocity of second order in the distance only tangentially to the plane; "
            "the vertical part is of first order.",
            "Equations (7) and (17) of 001 are equivalent only where the ball moves: a ball that spins on the spot satisfies (7).",
            "The second-order constraint is printed with the opposite sign in section 6 of 001; (7) has the right one.",
            "The coefficient in (15) of 001 is I, not I + M.",
        ),
        scene=_scene(),
    )


def _scene() -> Scene:
    """The ball on the plane, and the path of the point of contact."""
    return Scene([Ground(0), Trace("a1, a2, 0"), Ball("a1, a2, 1", 1, rotation="A")])
