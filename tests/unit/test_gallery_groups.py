"""The gallery's bodies whose attitude is an element of a group, each against Newton's and Euler's laws or a closed form.

Nothing here is derived from a Lagrangian. Unknown accelerations and contact forces are found from the balance of momentum and of angular
momentum, with vectors of numpy; the multipliers of a rolling body are the components of the force of friction, so signs are tested too.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from newton_euler import UP, along, hat, hull, rattleback_inertia, roller_racer, rolling_ball, rolling_body
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipkinc

import chetaev as ch

TOLERANCE = 1e-11
BALL = ("A1'", "A2'", "A3'", "a1", "a2")


def vector(values, name, order=1):
    return np.array([values[f"{name}{i}{order * chr(39)}"] for i in (1, 2, 3)])


def agree(found, expected, tolerance=TOLERANCE):
    found, expected = np.atleast_1d(found), np.atleast_1d(expected)
    return found.shape == expected.shape and bool(np.all(np.abs(found - expected) <= tolerance * max(1.0, np.abs(expected).max())))


def random_attitude(rng):
    return Rotation.from_rotvec(rng.uniform(-1.2, 1.2, 3)).as_matrix()


def random_starts(names, seed, count=3):
    """Attitudes and numbers, of both signs and never small."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        values = rng.choice([-1, 1], len(names)) * rng.uniform(0.3, 1.3, len(names))
        yield {"A": random_attitude(rng), **dict(zip(names, map(float, values), strict=True))}


def rigid(now):
    """Attitude, angular velocity and angular acceleration in space, from components in space or in the body."""
    a, w, dw = now.rotation("A"), vector(now, "A"), vector(now, "A", 2)
    return (a, a @ w, a @ dw) if now.equations.system.groups["A"].body else (a, w, dw)


# ---- balls ---------------------------------------------------------------------------------------------------------------------------


def check_ball(now, dw, da, force):
    assert agree(rigid(now)[2], dw)
    assert agree([now["a1''"], now["a2''"]], da[:2])
    assert agree([now["lambda1"], now["lambda2"]], force[:2])
    assert abs(da[2]) < 1e-14


def test_rigid_ball_on_the_slope():
    model = ch.gallery("rigid-ball")
    p = model.parameters
    assert p["I"] == pytest.approx(0.4 * p["M"] * p["r"] ** 2, rel=1e-12)
    for start in random_starts(BALL, seed=1):
        now = ch.evaluate(model, start)
        pull = p["M"] * p["g"] * np.array([math.sin(p["slope"]), 0, 0])
        check_ball(now, *rolling_ball(p["I"] * np.eye(3), p["M"], p["r"], vector(start, "A"), pull))


def test_rigid_ball_runs_along_a_parabola_and_turns_with_it():
    model = ch.gallery("rigid-ball")
    p, start = model.parameters, model.start.fixed
    fall = p["M"] * p["g"] * math.sin(p["slope"]) / (p["M"] + p["I"] / p["r"] ** 2)
    motion = ch.simulate(model, t=np.linspace(0, 4, 9), tolerance=1e-12)
    w0, r = vector(start, "A"), p["r"]
    assert np.abs(motion["a1"] - (start["a1"] + r * w0[1] * motion.t + fall / 2 * motion.t**2)).max() < 1e-11
    assert np.abs(motion["a2"] - (start["a2"] - r * w0[0] * motion.t)).max() < 1e-11

    def turning(t, a):
        return (hat(w0 + np.array([0, fall / r * t, 0])) @ a.reshape(3, 3)).ravel()

    first = Rotation.from_rotvec([0.4, -0.3, 0.2]).as_matrix()
    there = solve_ivp(turning, (0, 4), first.ravel(), method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1].reshape(3, 3)
    assert np.abs(motion.rotation("A")[-1] - there).max() < 1e-10


def test_ball_on_a_moving_plane_obeys_newton_and_euler():
    model = ch.gallery("ball-on-moving-plane")
    p = model.parameters
    u, w, size = p["u"], p["w"], p["l"]
    for start in random_starts(BALL, seed=2):
        now = ch.evaluate(model, start)
        c1, c2 = math.cos(start["a1"] / size), math.cos(start["a2"] / size)
        slope = np.array([[w * c1 / 4, u * c2], [w * c1, 0]]) / size
        speed = np.array([now["a1'"], now["a2'"]])
        stream = np.array([*(slope @ speed), 0])
        found = rolling_ball(p["I"] * np.eye(3), p["M"], p["r"], vector(start, "A"), stream=stream)
        check_ball(now, *found)
        carried = [u * math.sin(start["a2"] / size) + w / 4 * math.sin(start["a1"] / size), w * math.sin(start["a1"] / size)]
        assert agree(speed - carried, p["r"] * np.cross(vector(start, "A"), UP)[:2])


def test_ball_on_a_turntable_runs_around_a_circle():
    """Centre, radius and frequency 2/7 Omega of the homogeneous ball, from the start alone."""
    model = ch.gallery("ball-on-turntable")
    p, start = model.parameters, model.start.fixed
    rate = 2 / 7 * p["Omega"]
    assert p["I"] == pytest.approx(0.4 * p["M"] * p["r"] ** 2, rel=1e-15)
    place, speed = complex(start["a1"], start["a2"]), complex(start["a1'"], start["a2'"])
    centre = place + 1j * speed / rate
    motion = ch.simulate(model, t=np.linspace(0, 12, 97), tolerance=1e-12)
    path = motion["a1"] + 1j * motion["a2"]
    assert np.abs(path - (centre + (place - centre) * np.exp(1j * rate * motion.t))).max() < 1e-10
    assert np.abs(np.abs(path - centre) - abs(speed) / rate).max() < 1e-10
    assert np.abs(np.unwrap(np.angle(path - centre))[-1] - np.angle(place - centre) - rate * 12) < 1e-10
    assert abs(rate * 12 - 2 * math.pi) > 1  # not a whole turn
    assert np.ptp(motion.energy) > 0.1  # the table does work


def test_chaplygins_ball_obeys_newton_and_euler():
    model = ch.gallery("chaplygin-ball")
    p = model.parameters
    moments = np.array([p["I1"], p["I2"], p["I3"]])
    assert 2 * moments.max() < moments.sum()  # a body of masses, not of numbers only
    for start in random_starts(BALL, seed=3):
        now = ch.evaluate(model, start)
        a = start["A"]
        check_ball(now, *rolling_ball(a @ np.diag(moments) @ a.T, p["M"], p["r"], a @ vector(start, "A")))


def test_chaplygins_ball_with_equal_moments_rolls_straight():
    motion = ch.simulate(ch.gallery("chaplygin-ball"), parameters={"I1": 0.1, "I2": 0.1, "I3": 0.1}, tolerance=1e-12)
    assert max(np.ptp(motion["a1'"]), np.ptp(motion["a2'"]), np.ptp(motion["w3"])) < 1e-11


# ---- elastic balls -------------------------------------------------------------------------------------------------------------------

GUISES = ("overdetermined", "second-order", "dalembert")


def test_guises_of_the_elastic_ball_are_equivalent_where_it_moves():
    """Also with a drag along the motion, so that accelerations and multipliers are not all zero: Newton gives them by hand."""
    drag = 0.35
    for start in random_starts(("A1'", "A2'", "a1", "a2"), seed=4):
        for guise in GUISES:
            model = ch.gallery("elastic-ball", guise=guise)
            p = model.parameters
            system = model.system.replace(dissipation=f"{drag}/2*(a1'^2 + a2'^2)")
            for equations, k in ((ch.derive(model), 0.0), (ch.derive(system, model.principle), drag)):
                now = ch.evaluate(equations, start, parameters=p)
                v = np.array([start["A2'"], -start["A1'"]])
                slower = -k * v / (p["M"] + p["I"])
                assert agree([now["a1'"], now["a2'"], now["A3'"]], [*v, 0])
                assert agree([now["a1''"], now["a2''"]], slower)
                assert agree(vector(now, "A", 2), [-slower[1], slower[0], 0])
                assert agree([now["lambda1"], now["lambda2"]], p["M"] * slower + k * v)
                assert guise != "dalembert" or abs(now["lambda3"]) < 1e-14


def test_guises_of_the_elastic_ball_move_alike():
    ends = []
    for guise in GUISES:
        model = ch.gallery("elastic-ball", guise=guise)
        system = model.system.replace(dissipation="0.35/2*(a1'^2 + a2'^2)")
        motion = ch.simulate(ch.derive(system, model.principle), model.start, t=(0, 6), parameters=model.parameters, tolerance=1e-12)
        assert motion.outcome == "finished"
        ends.append(np.concatenate([motion.rotation("A")[-1].ravel(), [motion.final[n] for n in ("a1", "a2", "A1'", "A2'", "A3'")]]))
    rate = 0.35 / 2.1
    gone = (1 - math.exp(-6 * rate)) / rate
    turned = Rotation.from_rotvec(gone * np.array([0.7, -0.4, 0])) * Rotation.from_rotvec([0.3, -0.2, 0.5])
    slow = math.exp(-6 * rate)
    exact = [*turned.as_matrix().ravel(), 0.2 - 0.4 * gone, -0.1 - 0.7 * gone, 0.7 * slow, -0.4 * slow, 0]
    assert np.abs(np.array(ends) - exact).max() < 1e-11


def test_verdicts_of_the_elastic_ball():
    overdetermined = ch.analyze(ch.gallery("elastic-ball"))
    assert (overdetermined.verdict, overdetermined.dimension) == ("REGULAR", 7)
    assert overdetermined.equations.counts == (8, 7)
    ideal = ch.analyze(ch.gallery("elastic-ball", guise="dalembert"))
    assert (ideal.verdict, ideal.dimension) == ("REGULAR", 7)
    branching = ch.analyze(ch.gallery("elastic-ball", guise="second-order"))
    assert branching.verdict == "BRANCHING"
    rolling, spinning = branching.branches
    assert (rolling.dimension, spinning.dimension) == (7, 6)
    assert "A3'" in rolling.hidden
    assert {"A1'", "A2'"} <= set(spinning.hidden)


def test_the_second_branch_is_a_ball_that_spins_on_the_spot():
    model = ch.gallery("elastic-ball", guise="second-order")
    start = {"A": np.eye(3), "a1": 0.2, "a2": -0.1, "A1'": 0, "A2'": 0, "A3'": 1.3}
    motion = ch.simulate(model, start, t=(0, 3))
    assert np.abs(motion.rotation("A")[-1] - Rotation.from_rotvec([0, 0, 3.9]).as_matrix()).max() < 1e-9
    assert (motion.final["a1"], motion.final["a2"]) == pytest.approx((0.2, -0.1), abs=1e-14)
    for guise in ("overdetermined", "dalembert"):
        with pytest.raises(ch.InitialError):
            ch.evaluate(ch.gallery("elastic-ball", guise=guise), start)
    with pytest.raises(ch.ChetaevError):
        ch.evaluate(model, {**start, "A1'": 0.5})  # neither of the two manifolds


def test_the_vakonomic_elastic_ball_runs_along_an_elastica():
    """Constant speed, and a curvature that is a linear function of the place: the equation of a bent rod (Jurdjevic 1993)."""
    model = ch.gallery("elastic-ball", guise="dalembert").under(ch.Vakonomic())
    motion = ch.simulate(model, t=np.linspace(0, 20, 201), tolerance=1e-12)
    v1, v2 = motion["a1'"], motion["a2'"]
    assert np.ptp(np.hypot(v1, v2)) < 1e-11
    curvature = (v1 * motion["a2''"] - v2 * motion["a1''"]) / np.hypot(v1, v2) ** 3
    places = np.column_stack([np.ones(201), motion["a1"], motion["a2"]])
    linear = places @ np.linalg.lstsq(places, curvature, rcond=None)[0]
    assert np.ptp(curvature) > 0.5
    assert np.abs(linear - curvature).max() < 1e-11


def test_a_guise_that_does_not_exist():
    with pytest.raises(ch.ModelError, match="no guise 'second'"):
        ch.gallery("elastic-ball", guise="second")


def demands(model, a, w):
    """How far the eight equations of the inhomogeneous ball miss: the vertical torque that a ball without twist would need."""
    p = model.parameters
    inertia = a @ np.diag([p["I1"], p["I2"], p["I3"]]) @ a.T
    dw, _, _ = rolling_ball(inertia, p["M"], 1.0, w)
    return dw[2]


def test_inhomogeneous_elastic_ball_has_special_motions_only():
    model = ch.gallery("elastic-ball-inhomogeneous")
    found = ch.analyze(model)
    assert found.verdict == "INCONSISTENT"
    (rest,) = found.branches
    assert rest.dimension == 5  # attitude with a horizontal principal axis 2, speed 1, place 2
    rng = np.random.default_rng(5)
    for _ in range(3):
        start = {"A": random_attitude(rng), "a1": 0.1, "a2": 0.2, "A1'": 0.7, "A2'": -0.5, "A3'": 0}
        assert abs(demands(model, start["A"], np.array([0.7, -0.5, 0]))) > 1e-3
        with pytest.raises(ch.ChetaevError):
            ch.evaluate(model, start)


def test_inhomogeneous_elastic_ball_rolls_about_a_horizontal_principal_axis():
    model = ch.gallery("elastic-ball-inhomogeneous")
    motion = ch.simulate(model, t=(0, 10))
    assert motion.outcome == "finished"
    turned = Rotation.from_rotvec([0, 7.5, 0]).as_matrix()  # 0.5 at the start and 0.7 per second
    assert np.abs(motion.rotation("A")[-1] - turned).max() < 1e-9
    assert (motion.final["a1"], motion.final["a2"]) == pytest.approx((7.2, -0.1), abs=1e-10)
    for a in motion.rotation("A"):
        assert abs(demands(model, a, np.array([0, 0.7, 0]))) < 1e-14


# ---- bodies about a fixed point ------------------------------------------------------------------------------------------------------


def test_eulers_top_follows_jacobis_functions():
    r"""$\omega = (w_1\,\mathrm{cn}, w_2\,\mathrm{sn}, w_3\,\mathrm{dn})$ for $L^2 > 2 E I_2$ (Landau and Lifshitz, (37.10))."""
    model = ch.gallery("euler-top")
    i1, i2, i3 = (model.parameters[f"I{k}"] for k in (1, 2, 3))
    w = vector(model.start.fixed, "A")
    energy, square = float(np.dot([i1, i2, i3], w**2)), float(np.dot(np.square([i1, i2, i3]), w**2))
    assert square > energy * i2 and i1 < i2 < i3
    tops = np.sqrt(
        [(energy * i3 - square) / (i1 * (i3 - i1)), (energy * i3 - square) / (i2 * (i3 - i2)), (square - energy * i1) / (i3 * (i3 - i1))]
    )
    rate = math.sqrt((i3 - i2) * (square - energy * i1) / (i1 * i2 * i3))
    m = (i2 - i1) * (energy * i3 - square) / ((i3 - i2) * (square - energy * i1))
    way = math.copysign(1, w[2])  # Euler's equations ask that the signs of sn and dn agree when that of cn is plus
    first = ellipkinc(math.atan2(way * w[1] / tops[1], w[0] / tops[0]), m)
    motion = ch.simulate(model, tolerance=1e-13)
    sn, cn, dn, _ = ellipj(rate * motion.t + first, m)
    exact = np.column_stack([tops[0] * cn, way * tops[1] * sn, way * tops[2] * dn])
    found = np.column_stack([motion[f"A{k}'"] for k in (1, 2, 3)])
    assert np.abs(found - exact).max() < 1e-8  # the motion is close to a separatrix, which magnifies round-off
    assert (np.diff(np.sign(found[:, 1])) != 0).sum() >= 3  # it turns over several times
    momentum = np.einsum("tij,tj->ti", motion.rotation("A"), found * [i1, i2, i3])
    assert np.ptp(momentum, axis=0).max() < 1e-10


def test_lagranges_top_nods_as_an_elliptic_function():
    r"""$u = A_{33}$ obeys $u'^2 = (\alpha - \beta u)(1 - u^2) - (b - a u)^2$; between its roots $u = u_1 + (u_2 - u_1)\,\mathrm{sn}^2$."""
    model = ch.gallery("lagrange-top")
    p, w = model.parameters, vector(model.start.fixed, "A")
    i, j = p["I"], p["J"]
    assert j < 2 * i
    axis = Rotation.from_rotvec([0.5, 0.2, 0]).as_matrix()
    vertical, u0 = axis[2] @ np.array([i * w[0], i * w[1], j * w[2]]), axis[2, 2]
    beta, a, b = 2 * p["m"] * p["g"] * p["l"] / i, j * w[2] / i, vertical / i
    alpha = w[0] ** 2 + w[1] ** 2 + beta * u0
    low, high, far = np.sort(np.roots([beta, -alpha - a**2, -beta + 2 * a * b, alpha - b**2]).real)
    m, rate = (high - low) / (far - low), math.sqrt(beta * (far - low)) / 2
    slope = axis[2, 0] * w[1] - axis[2, 1] * w[0]  # the rate of A33
    first = math.copysign(1, slope) * ellipkinc(math.asin(math.sqrt((u0 - low) / (high - low))), m)
    motion = ch.simulate(model, tolerance=1e-12)
    sn = ellipj(rate * motion.t + first, m)[0]
    assert np.abs(motion["A33"] - (low + (high - low) * sn**2)).max() < 1e-9
    assert np.ptp(motion["A33"]) == pytest.approx(high - low, rel=1e-3)


def test_suslovs_problem_goes_from_one_steady_rotation_to_the_other():
    r"""On the ellipse of energy $\sqrt{I_1}\omega_1 = h\cos\theta$, $\sqrt{I_2}\omega_2 = h\sin\theta$ the angle is a Gudermannian:

    $\sin(\theta - \theta_0) = \tanh(kt + c)$.
    """
    model = ch.gallery("suslov")
    p, w = model.parameters, model.start.fixed
    r1, r2 = math.sqrt(p["I1"]), math.sqrt(p["I2"])
    h = math.hypot(r1 * w["A1'"], r2 * w["A2'"])
    theta = math.atan2(r2 * w["A2'"], r1 * w["A1'"])
    pull, middle = math.hypot(p["I13"] / r1, p["I23"] / r2), math.atan2(p["I23"] / r2, p["I13"] / r1)
    k, c = h * pull / (r1 * r2), math.atanh(math.sin(theta - middle))
    motion = ch.simulate(model, t=np.linspace(0, 20, 81), tolerance=1e-12)
    angle = middle + np.arcsin(np.tanh(k * motion.t + c))
    assert np.abs(motion["A1'"] - h / r1 * np.cos(angle)).max() < 1e-10
    assert np.abs(motion["A2'"] - h / r2 * np.sin(angle)).max() < 1e-10
    couple = p["I13"] * motion["A1'"] + p["I23"] * motion["A2'"]
    reaction = p["I13"] * motion["A1''"] + p["I23"] * motion["A2''"] - (p["I1"] - p["I2"]) * motion["A1'"] * motion["A2'"]
    assert np.abs(motion["lambda1"] - reaction).max() < 1e-10
    assert abs(couple[0]) > 0.3 and abs(couple[-1]) < 1e-3
    spatial = motion.angular_velocity("A", "spatial")
    assert np.ptp(spatial[:8], axis=0).max() > 0.5 and np.ptp(spatial[-8:], axis=0).max() < 1e-2  # at last the axis rests in space


def test_suslovs_problem_without_coupling():
    motion = ch.simulate(ch.gallery("suslov", coupled=False), tolerance=1e-12)
    turned = Rotation.from_rotvec([0.3, -0.4, 0.2]) * Rotation.from_rotvec(20 * np.array([0.9, -1.3, 0]))
    assert np.abs(motion.rotation("A")[-1] - turned.as_matrix()).max() < 1e-10
    assert np.abs(motion["lambda1"] + (1.1 - 1.7) * 0.9 * -1.3).max() < 1e-11


def test_veselovas_body_obeys_euler():
    """The torque is vertical, and the angular velocity stays horizontal."""
    model = ch.gallery("veselova")
    moments = np.array([model.parameters[f"I{k}"] for k in (1, 2, 3)])
    for start in random_starts(("A1'", "A2'"), seed=6):
        now = ch.evaluate(model, start)
        a, w, dw = rigid(now)
        assert abs(w[2]) < 1e-14
        inertia = a @ np.diag(moments) @ a.T
        matrix = np.block([[inertia, -UP[:, None]], [UP, np.zeros(1)]])
        exact = np.linalg.solve(matrix, [*-np.cross(w, inertia @ w), 0])
        assert agree(dw, exact[:3]) and agree(now["lambda1"], exact[3])


# ---- bodies that roll on an edge or a hull ---------------------------------------------------------------------------------------------


def check_rolling(now, dw, dv, force):
    assert agree(rigid(now)[2], dw)
    assert agree([now["x''"], now["y''"]], dv[:2])
    assert agree([now["lambda1"], now["lambda2"]], force[:2])


def test_rolling_disk_obeys_newton_and_euler():
    model = ch.gallery("rolling-disk")
    p = model.parameters

    def arm(a):
        """The lowest point of the rim: of all unit vectors in the plane of the disk the one with the least height."""
        plane = a[:, :2]
        return -p["R"] * plane @ plane[2] / np.linalg.norm(plane[2])

    for start in random_starts(("A1'", "A2'", "A3'", "x", "y"), seed=7):
        start["A"] = start["A"] @ Rotation.from_rotvec([1.1, 0, 0]).as_matrix()
        now = ch.evaluate(model, start)
        a, w, _ = rigid(now)
        assert agree([now["x'"], now["y'"], now["z'"]], -np.cross(w, arm(a)))
        inertia = a @ np.diag([p["I"], p["I"], p["J"]]) @ a.T
        check_rolling(now, *rolling_body(p["m"], p["m"] * p["g"], inertia, w, arm(a), rate_along(arm, a, w)))


def rate_along(function, a, w):
    """The rate of a function of the attitude that turns with w, by extrapolated central differences."""

    def slope(h):
        return (function(Rotation.from_rotvec(h * w).as_matrix() @ a) - function(Rotation.from_rotvec(-h * w).as_matrix() @ a)) / (2 * h)

    first = [slope(h) for h in (2e-2, 1e-2, 5e-3, 2.5e-3)]
    for k in (4, 16, 64):
        first = [(k * fine - rough) / (k - 1) for rough, fine in pairwise(first)]
    return first[0]


def test_rolling_disk_is_the_leaning_disk():
    """Attitude as a rotation and as three angles: the same motion and the same friction, from the same start."""
    times = np.linspace(0, 5, 41)
    angles = ch.simulate(ch.gallery("leaning-disk"), t=times, tolerance=1e-13)
    free = ch.simulate(ch.gallery("rolling-disk"), t=times, tolerance=1e-13)
    for there, here in (("xc", "x"), ("yc", "y"), ("zc", "z"), ("x", "x + p1"), ("y", "y + p2"), ("axial", "axial")):
        assert np.abs(angles[there] - free[here]).max() < 1e-10, there
    for name in ("lambda1", "lambda2"):
        assert np.abs(angles[name] - free[name]).max() < 1e-9
    turns = np.column_stack([angles["phi"], -np.pi / 2 - angles["theta"], angles["psi"]])
    attitude = Rotation.from_euler("ZXZ", turns).as_matrix()
    assert np.abs(attitude - free.rotation("A")).max() < 1e-10


def test_contact_of_the_rattleback_is_its_lowest_point():
    """Against a thousand points of the surface; the normal there is vertical."""
    p, rng = ch.gallery("rattleback").parameters, np.random.default_rng(8)
    directions = rng.normal(size=(1000, 3))
    surface = directions / np.linalg.norm(directions, axis=1)[:, None] * [p["a"], p["b"], p["c"]] + [0, 0, p["h"]]
    for start in random_starts(("A1'", "A2'", "A3'", "x", "y"), seed=9):
        now, a = ch.evaluate(ch.gallery("rattleback"), start), start["A"]
        point = np.array([now["p1"], now["p2"], now["p3"]])
        inner = point - [0, 0, p["h"]]
        assert np.sum((inner / [p["a"], p["b"], p["c"]]) ** 2) == pytest.approx(1, abs=1e-13)
        normal = a @ (inner / np.square([p["a"], p["b"], p["c"]]))
        assert agree(normal / np.linalg.norm(normal), -UP)
        assert now["z"] == pytest.approx(-(a @ point)[2], abs=1e-14)
        assert ((surface @ a.T)[:, 2] >= -now["z"]).all()


def test_rattleback_obeys_newton_and_euler():
    model = ch.gallery("rattleback")
    p = model.parameters
    for start in random_starts(("A1'", "A2'", "A3'", "x", "y"), seed=10):
        now = ch.evaluate(model, start)
        a, w, _ = rigid(now)
        arm = hull(p, a)
        assert agree([now["x'"], now["y'"], now["z'"]], -np.cross(w, arm))
        rate = rate_along(lambda b: hull(p, b), a, w)
        found = rolling_body(p["m"], p["m"] * p["g"], rattleback_inertia(p, a), w, arm, rate)
        assert agree(rigid(now)[2], found[0], 1e-9)
        assert agree([now["x''"], now["y''"]], found[1][:2], 1e-9)
        assert agree([now["lambda1"], now["lambda2"]], found[2][:2], 1e-9)


def test_rattleback_reverses_its_spin():
    """Soon when it is spun backward, late when it is spun forward, and the energy does not change."""
    backward, forward = (ch.simulate(ch.gallery("rattleback", backward=b), t=(0, 6), tolerance=1e-11) for b in (True, False))
    assert backward["A3'"].min() < -3
    assert forward["A3'"].max() < -3
    assert np.ptp(backward.energy) < 1e-9 * backward.energy[0]


def test_rattleback_steady_spin_is_biased():
    """Exponents of the steady spin from a linearisation by differences: with the spin reversed all of them change sign."""
    p = ch.gallery("rattleback").parameters

    def field(spin):
        def rates(z):
            """Small turns about the horizontal axes of the body, and the angular velocity, in the body."""
            a = Rotation.from_rotvec([z[0], z[1], 0]).as_matrix()
            vertical, w = a.T @ UP, np.array([z[2], z[3], spin + z[4]])
            arm = hull(p, a)
            dw = rolling_body(p["m"], p["m"] * p["g"], rattleback_inertia(p, a), a @ w, arm, rate_along(lambda b: hull(p, b), a, a @ w))[0]
            return np.concatenate([np.cross(vertical, w)[[1, 0]] * [1, -1], a.T @ dw])

        return rates

    def exponents(spin):
        h, rates = 1e-4, field(spin)
        return np.linalg.eigvals(np.column_stack([(rates(h * e) - rates(-h * e)) / (2 * h) for e in np.eye(5)]))

    found = exponents(5.0)
    growing, decaying = found[found.real > 1], found[found.real < -0.1]
    assert len(growing) == len(decaying) == 2 and np.abs(found).min() < 1e-9
    pitching, rolling = abs(growing[0].imag), abs(decaying[0].imag)
    stiff = p["m"] * p["g"] * (p["a"] ** 2 / p["c"] - 0.01) / (p["I2"] + p["m"] * 0.01**2)
    assert pitching == pytest.approx(math.sqrt(stiff), rel=0.05)  # without spin: an end-to-end rocking with the radius of curvature a^2/c
    assert rolling < pitching / 2
    assert agree(np.sort(exponents(-5.0).real), np.sort(-found.real), 1e-6)


# ---- two bodies in the plane -----------------------------------------------------------------------------------------------------------


def test_roller_racer_obeys_newton_and_euler():
    model = ch.gallery("roller-racer")
    rng = np.random.default_rng(11)
    for _ in range(3):
        x, y, angle, phi, dphi, v, t = rng.uniform(0.2, 0.8, 7) * rng.choice([-1, 1], 7)
        now = ch.evaluate(model, {"A": [x, y, angle], "phi": phi, "phi'": dphi, "A1'": v}, t=t)
        exact, slip = roller_racer(model.parameters, t, angle, v, now["A3'"], phi, dphi)
        assert abs(slip) < 1e-13 and abs(now["A2'"]) < 1e-15
        assert agree([now["A1''"], now["A3''"], now["phi''"]], [exact[:2] @ along(angle), exact[2], exact[3]])
        assert agree([now["lambda1"], now["lambda2"]], exact[6:])


def test_roller_racer_gathers_speed_and_stays_on_the_group():
    model = ch.gallery("roller-racer")
    motion = ch.simulate(model, tolerance=1e-11)
    assert motion.final["A1'"] > 1.2
    reduced = ch.reduce(model, group="A")
    again = reduced.reconstruct(
        ch.simulate(
            reduced.target, {n: v for n, v in model.start.fixed.items() if n != "A"}, model.t, parameters=model.parameters, tolerance=1e-11
        ),
        {"A": model.start.fixed["A"]},
    )
    assert [again.final[n] for n in ("A.x", "A.y", "A.angle")] == pytest.approx(
        [motion.final[n] for n in ("A.x", "A.y", "A.angle")], abs=1e-8
    )


# ---- pictures --------------------------------------------------------------------------------------------------------------------------

NAMES = [
    "ball-on-moving-plane", "ball-on-turntable", "chaplygin-ball", "elastic-ball", "elastic-ball-inhomogeneous", "euler-top",
    "lagrange-top", "rattleback", "rigid-ball", "roller-racer", "rolling-disk", "suslov", "veselova",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_group_system_has_a_picture_that_turns_with_the_body(name):
    """The scene is the gallery's own, all its places can be computed, and a body in space is turned by the rotation of the motion."""
    pytest.importorskip("matplotlib")
    from chetaev.plot.animation import animate

    model = ch.gallery(name)
    motion = ch.simulate(model, t=(model.t[0], model.t[0] + 0.5))
    scene = ch.gallery(name).scene
    assert scene.dimension == (2 if name == "roller-racer" else 3)
    assert name == "roller-racer" or any(getattr(shape, "rotation", None) == "A" for shape in scene.shapes)
    assert animate(motion, scene, seconds=0.2, fps=10).drawing
