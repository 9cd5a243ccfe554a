"""Special states at which nothing is singular, but an elimination chosen elsewhere divides by zero, or round-off stands for a zero.

The inhomogeneous elastic ball has more rows than unknowns. Its motions are known: uniform rolling about a horizontal principal axis.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chetaev as ch
from chetaev.core.symbols import Place
from chetaev.numerics.flow.pole_rewriting import has_pole, last_digits_changed, without_poles
from chetaev.numerics.flow.prolongation import prolongation

SPEED = 0.7
BALL = ch.gallery("elastic-ball-inhomogeneous")
EQUATIONS = {"with multipliers": ch.derive(BALL), "without": ch.derive(BALL).eliminate()}
DIRECTIONS = {
    "first axis": (1.0, 0.0, 0.0),
    "second axis": (0.0, 1.0, 0.0),
    "second axis, almost": (6e-17, 1.0, 0.0),
    "between": (0.6, 0.8, 0.0),
}


def rolling(axis, direction, angle=0.5):
    """The ball turned so that a principal axis lies in a horizontal direction, and rolls about it."""
    h = np.array(direction)
    across = np.cross(np.eye(3)[axis], h)
    upright = Rotation.from_rotvec(across * np.arctan2(np.linalg.norm(across), h[axis]) / (np.linalg.norm(across) or 1.0))
    w = SPEED * h
    attitude = Rotation.from_rotvec(angle * h) * upright
    return {"A": attitude.as_matrix(), "a1": 0.1, "a2": -0.2, "A1'": w[0], "A2'": w[1], "A3'": 0.0}


@pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=list(DIRECTIONS))
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("equations", EQUATIONS.values(), ids=list(EQUATIONS))
def test_accelerations_vanish_wherever_the_axis_points(equations, axis, direction):
    start = rolling(axis, direction)
    now = ch.evaluate(equations, start, parameters=BALL.parameters)
    for name in ("A1''", "A2''", "A3''", "a1''", "a2''", *[m.base for m in equations.multipliers]):
        assert abs(now[name]) < 1e-14, name
    assert np.abs(now.rotation("A") - start["A"]).max() < 1e-15
    assert (now["a1'"], now["a2'"]) == pytest.approx((start["A2'"], -start["A1'"]), abs=1e-15)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("equations", EQUATIONS.values(), ids=list(EQUATIONS))
def test_motions_begin_at_a_pole(equations, axis):
    start = rolling(axis, (1.0, 0.0, 0.0))
    motion = ch.simulate(equations, start, t=(0, 3), parameters=BALL.parameters)
    assert motion.outcome == "finished"
    turned = Rotation.from_rotvec([3 * SPEED, 0, 0]).as_matrix() @ start["A"]
    assert np.abs(motion.rotation("A")[-1] - turned).max() < 1e-9
    assert (motion.final["a1"], motion.final["a2"]) == pytest.approx((0.1, -0.2 - 3 * SPEED), abs=1e-9)


def test_consequences_are_made_anew_only_where_they_have_a_pole():
    """Some of the directions are poles of the general choice of pivots; made anew, none is a pole at its own state."""
    equations = EQUATIONS["with multipliers"]
    system, poles = prolongation(equations), 0
    for direction in DIRECTIONS.values():
        now = ch.evaluate(equations, rolling(1, direction), parameters=BALL.parameters)
        point = {**now.binding.at(frozenset(), 0.0), **now.jets}
        there = without_poles(system, point)
        assert not has_pole(there, point)
        assert (there is system) is not has_pole(system, point)
        poles += there is not system
    assert 0 < poles < len(DIRECTIONS)


def test_a_state_off_the_special_motions_is_still_refused():
    for equations in EQUATIONS.values():
        with pytest.raises(ch.ChetaevError):
            ch.evaluate(equations, {**rolling(0, (1.0, 0.0, 0.0)), "A2'": 0.3}, parameters=BALL.parameters)


def test_last_digits_of_a_quaternion_are_those_of_its_length():
    now = ch.evaluate(BALL)
    moved = last_digits_changed(now.jets, seed=3)
    for z, v in now.jets.items():
        size = 1.0 if isinstance(z, Place) else abs(v)
        assert abs(moved[z] - v) <= 1e-15 * size
    assert now.jets[Place("A.x", 0, ("A1", "A2", "A3"))] == 0 != moved[Place("A.x", 0, ("A1", "A2", "A3"))]


def test_fixed_data_are_not_moved_along_slopes_of_round_off():
    """The row is A3' = 0 times the square of a unit vector, so its slopes by the quaternion are round-off; A3' takes up what is left."""
    row = "(A31^2 + A32^2 + A33^2)*A3' + (A11*A31 + A12*A32 + A13*A33)*A1' + (A21*A31 + A22*A32 + A23*A33)*A2' = 0"
    body = ch.derive(ch.System({"A": "SO3 spatial"}, lagrangian="A1'^2 + 2*A2'^2 + 3*A3'^2", kinematic=[row]), ch.DAlembert())
    attitude = Rotation.from_rotvec([0.6, -0.4, 0.3]).as_matrix()
    now = ch.evaluate(body, {"A": attitude, "A1'": 1.2, "A2'": -0.5, "A3'": 5e-17})
    assert np.abs(now.rotation("A") - attitude).max() < 1e-15
    assert abs(now["A3'"]) < 1e-15 and (now["A1'"], now["A2'"]) == (1.2, -0.5)
