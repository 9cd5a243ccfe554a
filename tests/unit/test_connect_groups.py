"""connect between attitudes: group elements at the ends, against closed forms and integrations of other equations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import chetaev as ch

VECTOR = np.array([0.5, 0.3, -0.7])
ANGLE = float(np.linalg.norm(VECTOR))
TARGET = Rotation.from_rotvec(VECTOR).as_matrix()
HERE = {"A": np.eye(3)}


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def integrated(rates, y, t=1.0):
    """The end of an integration by SciPy."""
    return solve_ivp(rates, (0, t), y, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


def test_rotations_of_a_round_body_differ_by_whole_turns():
    """Great circles of the rotation group: the angles are a + 2 pi k, conjugate after a full turn, twice."""
    round_body = ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + A2'^2 + A3'^2)/2", name="round body")
    paths = ch.connect(round_body, None, HERE, {"A": TARGET}, seeds=6)
    angles = [ANGLE, ANGLE - 2 * np.pi, ANGLE + 2 * np.pi]
    assert [path.action for path in paths[:3]] == pytest.approx([a**2 / 2 for a in angles], rel=1e-11)
    for path, angle in zip(paths[:3], angles, strict=True):
        assert [path.start[f"A{k}'"] for k in (1, 2, 3)] == pytest.approx(VECTOR / ANGLE * angle, abs=1e-10)
        assert path.motion.rotation("A")[-1] == pytest.approx(TARGET, abs=1e-11)
        assert path.certificate.ok and "variation" in [figure.kind for figure in path.certificate.figures]
    assert paths[1].conjugate_times[:2] == pytest.approx([2 * np.pi / abs(angles[1])] * 2, abs=1e-9)
    assert [path.minimum for path in paths[:3]] == [True, True, False]


@pytest.mark.parametrize("side", ["body", "spatial"])
def test_a_top_turns_to_an_attitude(side):
    """Euler's equations in the body, integrated apart; the conjugate time is where the ends of nearby motions turn around."""
    inertia = np.array([1.0, 2.0, 3.0])
    lagrangian = "(A1'^2 + 2*A2'^2 + 3*A3'^2)/2" if side == "body" else "(A1'^2 + A2'^2 + A3'^2)/2 - A33/2"
    top = ch.System({"A": f"SO3 {side}"}, lagrangian=lagrangian, name="top")
    path = ch.connect(top, None, HERE, {"A": TARGET}, seeds=4)[0]
    omega = np.array([path.start[f"A{k}'"] for k in (1, 2, 3)])

    def rates(_, y):
        w, r = y[:3], y[3:].reshape(3, 3)
        if side == "body":
            return np.concatenate([np.cross(inertia * w, w) / inertia, (r @ hat(w)).ravel()])
        return np.concatenate([0.5 * np.cross([0, 0, 1], r @ [0, 0, 1]), (hat(w) @ r).ravel()])

    def end(w, t):
        return integrated(rates, [*w, *np.eye(3).ravel()], t)[3:].reshape(3, 3)

    assert end(omega, 1) == pytest.approx(TARGET, abs=1e-10)

    def turned(t):
        """The determinant of the displacements at a time by differences."""
        r, columns = end(omega, t), []
        for k in range(3):
            step = np.eye(3)[k] * 1e-4
            m = r.T @ (end(omega + step, t) - end(omega - step, t)) / 2e-4
            columns.append([m[2, 1], m[0, 2], m[1, 0]])
        return np.linalg.det(columns)

    first = path.conjugate_times[0]
    assert first > 1 and path.minimum is True
    assert turned(first * (1 - 1e-4)) * turned(first * (1 + 1e-4)) < 0


def test_cubic_splines_between_attitudes():
    """From rest to rest all rotations keep their axis and the angle is a cubic; otherwise omega''' = omega'' x omega (Noakes 1989)."""
    spline = ch.System({"A": "SO3 body"}, lagrangian="(A1''^2 + A2''^2 + A3''^2)/2", name="spline")
    rest = {"A1'": 0, "A2'": 0, "A3'": 0}
    paths = ch.connect(spline, None, {**HERE, **rest}, {"A": TARGET, **rest}, seeds=6)
    assert [path.action for path in paths[:3]] == pytest.approx([6 * (ANGLE + 2 * np.pi * k) ** 2 for k in (0, -1, 1)], rel=1e-10)
    assert [path.minimum for path in paths[:3]] == [True, True, False]
    start, end = {"A1'": 0.4, "A2'": -0.2, "A3'": 0.9}, {"A1'": -0.5, "A2'": 0.3, "A3'": 0.2}
    path = ch.connect(spline, None, {**HERE, **start}, {"A": TARGET, **end}, seeds=2)[0]
    first = [path.start[f"A{k}'{dash}"] for dash in ("", "'", "''") for k in (1, 2, 3)]

    def rates(_, y):
        w, a, j, r = y[:3], y[3:6], y[6:9], y[9:].reshape(3, 3)
        return np.concatenate([a, j, np.cross(j, w), (r @ hat(w)).ravel()])

    last = integrated(rates, [*first, *np.eye(3).ravel()])
    assert last[:3] == pytest.approx(list(end.values()), abs=1e-9)
    assert last[9:].reshape(3, 3) == pytest.approx(TARGET, abs=1e-9)
    assert path.minimum is True


def test_a_ball_on_a_plate_rolls_along_an_elastica():
    """Jurdjevic 1993: the rate of the heading is an affine function of the place. The ball is then rolled along it by other equations."""
    ball = ch.System(
        {"A": "SO3 spatial", "x": "line", "y": "line"},
        lagrangian="(x'^2 + y'^2)/2",
        kinematic=["x' = A2'", "y' = -A1'", "A3' = 0"],
        name="plate and ball",
    )
    there = Rotation.from_rotvec([0.2, 0.3, 0.4]).as_matrix()
    paths = ch.connect(ball, ch.Vakonomic(), {**HERE, "x": 0, "y": 0}, {"A": there, "x": 0.5, "y": 0.3}, seeds=1)
    path = paths[0]
    seen = path.motion.at(np.linspace(0, 1, 41))
    speed2 = seen["x'^2 + y'^2"]
    assert speed2 == pytest.approx(np.full(41, 2 * path.action), rel=1e-10)
    rate = seen["(x'*y'' - y'*x'')"] / speed2
    place = np.array([seen["x"], seen["y"], np.ones(41)]).T
    affine = np.linalg.lstsq(place, rate, rcond=None)[0]
    assert place @ affine == pytest.approx(rate, abs=1e-8)
    speed, heading = np.sqrt(2 * path.action), np.arctan2(path.start["y'"], path.start["x'"])

    def rates(_, y):
        x, z, phi, r = y[0], y[1], y[2], y[3:].reshape(3, 3)
        u = speed * np.array([np.cos(phi), np.sin(phi)])
        return np.concatenate([u, [affine @ [x, z, 1]], (hat([-u[1], u[0], 0]) @ r).ravel()])

    last = integrated(rates, [0, 0, heading, *np.eye(3).ravel()])
    assert last[:2] == pytest.approx([0.5, 0.3], abs=1e-9)
    assert last[3:].reshape(3, 3) == pytest.approx(there, abs=1e-9)
    assert (path.kind, path.minimum) == ("normal", True) and path.certificate.ok


@pytest.mark.parametrize(
    ("end", "action", "p"),
    [
        ((1, 0.5, 0), 1.6402410126, (-0.143230376, 3.539460599, 1.805537893)),
        ((1, 1, "pi/2"), 2.4458227584, (1.20293535, 1.20293535, 1.855961223)),
    ],
)
def test_geodesics_of_rigid_motions_of_the_plane(end, action, p):
    """Hamilton's function [(px cos + py sin)^2 + ptheta^2]/2; the spatial momenta px, py are constant."""
    car = ch.System({"A": "SE2 body"}, lagrangian="(A1'^2 + A3'^2)/2", kinematic=["A2' = 0"], name="SE(2)")
    path = ch.connect(car, ch.Vakonomic(), {"A": [0, 0, 0]}, {"A": list(end)}, seeds=4)[0]
    assert path.action == pytest.approx(action, abs=1e-9)
    found = [path.start["A1'"], path.multipliers["lambda1"], path.start["A3'"]]
    assert np.abs(found) == pytest.approx(np.abs(p), abs=2e-9)

    def rates(_, y):
        theta, turn = y[2:]
        u = p[0] * np.cos(theta) + p[1] * np.sin(theta)
        return [u * np.cos(theta), u * np.sin(theta), turn, -u * (p[1] * np.cos(theta) - p[0] * np.sin(theta))]

    last = integrated(rates, [0, 0, 0, p[2]])
    assert [path.motion.final[name] for name in ("A13", "A23")] == pytest.approx(last[:2], abs=1e-8)


def test_a_group_of_matrices():
    """The Heisenberg group as matrices: the entry A13 counts the area below the curve, from (0, 0) to (1, 0)."""
    group = ch.System({"A": "H3 body"}, lagrangian="(A1'^2 + A2'^2)/2", kinematic=["A3' = 0"], name="H3")
    path = ch.connect(group, ch.Vakonomic(), HERE, {"A": [[1, 1, 3], [0, 1, 0], [0, 0, 1]]}, seeds=4)[0]
    assert path.action == pytest.approx(13.440951173041, abs=1e-9)
    assert path.conjugate_times[0] == pytest.approx(2 * np.pi / 5.226649499585, rel=1e-9)


def test_a_free_attitude_has_no_momentum_and_an_axis_is_met_at_right_angles():
    """To tilt its third axis by 60 degrees a body with inertia 1, 2, 3 turns around the first axis, either way; turning around the second
    takes twice the action."""
    top = ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2)/2", name="top")
    paths = ch.connect(top, None, HERE, {"A33": "1/2", "A": None}, seeds=6)
    actions = [path.action for path in paths[:4]]
    assert actions == pytest.approx([(np.pi / 3) ** 2 / 2] * 2 + [(np.pi / 3) ** 2] * 2, rel=1e-10)
    assert [path.minimum for path in paths[:4]] == [True, True, False, False]
    assert [path.motion.final["A3'"] for path in paths[:4]] == pytest.approx([0] * 4, abs=1e-9)
    (still, *_) = ch.connect(top, None, HERE, {"A": None}, seeds=2)
    assert still.action == pytest.approx(0, abs=1e-18)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ({"A": np.diag([1, 1, -1])}, "rotation"),
        ({}, "A1 at the end"),
        ({"A": np.eye(3), "A1'": 0}, "7 independent conditions are given, and 6 are needed"),
        ({"A": None, "B": 1}, "B"),
    ],
)
def test_bad_attitudes(end, words):
    top = ch.System({"A": "SO3 body"}, lagrangian="(A1'^2 + 2*A2'^2 + 3*A3'^2)/2", name="top")
    with pytest.raises(ch.ChetaevError, match=words):
        ch.connect(top, None, HERE, end, seeds=2)


def test_a_reduced_system_has_no_positions_to_join():
    reduced = ch.System({"w": "so3 body"}, lagrangian="(w1'^2 + 2*w2'^2 + 3*w3'^2)/2")
    with pytest.raises(ch.UsageError, match="w has no position"):
        ch.connect(reduced, None, {"w1'": 0}, {"w1'": 1}, seeds=2)
