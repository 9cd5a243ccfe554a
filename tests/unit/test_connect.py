"""connect: paths between two ends against closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq

import chetaev as ch

HEISENBERG = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = (x*y' - y*x')/2"], name="heisenberg")
UNICYCLE = ch.System("x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic=["y'*cos(theta) = x'*sin(theta)"], name="unicycle")
OSCILLATOR = ch.System("x", lagrangian="x'^2/2 - x^2/2", name="oscillator")
ORIGIN = {"x": 0, "y": 0, "z": 0}
ORIGIN_OF_GRUSHIN = {"x": 0, "y": 0, "u": 0}


def heisenberg(z1, **more):
    return ch.connect(HEISENBERG, ch.Vakonomic(), ORIGIN, {"x": 1, "y": 0, "z": z1}, **more)


@pytest.mark.parametrize("z1", [0.25, -1.0])
def test_the_shortest_curve_in_the_heisenberg_group(z1):
    paths = heisenberg(z1, seeds=6)
    angle = brentq(lambda a: (a - np.sin(a)) / (8 * np.sin(a / 2) ** 2) - abs(z1), 0.1, 6.2, xtol=1e-15) * np.sign(z1)
    best = paths[0]
    assert best.multipliers["lambda1"] == pytest.approx(angle, abs=1e-10)
    assert best.action == pytest.approx((angle / (2 * np.sin(angle / 2))) ** 2 / 2, rel=1e-11)
    assert best.conjugate_times[0] == pytest.approx(2 * np.pi / abs(angle), rel=1e-9)
    assert (best.minimum, best.kind, best.family) == (True, "normal", 0)
    assert best.motion.final["z"] == pytest.approx(z1, abs=1e-11)
    assert best.certificate.ok
    assert "variation" in [figure.kind for figure in best.certificate.figures]


def test_all_extremals_of_the_heisenberg_group_are_ranked():
    """The equation of the angle has seven solutions; the one that a naive iteration finds is the third."""
    paths = heisenberg(3)
    angles = [path.multipliers["lambda1"] for path in paths]
    assert angles[:3] == pytest.approx([5.226649499585, 7.37678386767, 10.9959147314], abs=1e-9)
    assert paths[0].action == pytest.approx(13.440951173041, abs=1e-10)
    assert [path.minimum for path in paths[:3]] == [True, False, False]
    for angle in angles:
        assert (angle - np.sin(angle)) / (8 * np.sin(angle / 2) ** 2) == pytest.approx(3, rel=1e-9)
    second = 2 * brentq(lambda a: np.tan(a) - a, 4.4, 4.6, xtol=1e-15) / angles[1]
    assert paths[1].conjugate_times[:2] == pytest.approx([2 * np.pi / angles[1], second], rel=1e-9)


def test_didos_circles_are_one_family():
    paths = ch.connect(HEISENBERG, ch.Vakonomic(), ORIGIN, {"x": 0, "y": 0, "z": 1}, seeds=6)
    best = paths[0]
    assert best.action == pytest.approx(2 * np.pi, rel=1e-11)
    assert best.multipliers["lambda1"] == pytest.approx(2 * np.pi, rel=1e-10)
    assert best.family == 1
    assert best.conjugate_times[0] == pytest.approx(1, abs=1e-9)
    assert best.minimum is None
    assert sum(abs(path.action - best.action) < 1e-6 for path in paths) == 1


@pytest.mark.parametrize(
    ("end", "action", "p"),
    [((1, 0.5, 0), 1.6402410126, (-0.143230376, 3.539460599)), ((-1, 0.2, "pi"), 5.9499472247, (-1.908719591, 0.381743918))],
)
def test_the_unicycle(end, action, p):
    start = {"x": 0, "y": 0, "theta": 0}
    paths = ch.connect(UNICYCLE, ch.Vakonomic(), start, dict(zip(("x", "y", "theta"), end, strict=True)), seeds=8)
    assert paths[0].action == pytest.approx(action, abs=1e-9)
    momentum = paths[0].motion.at(0.0)
    assert momentum["x' - lambda1*sin(theta)"] == pytest.approx(p[0], abs=2e-9)
    assert momentum["y' + lambda1*cos(theta)"] == pytest.approx(p[1], abs=2e-9)


def test_mirror_images_are_two_paths():
    paths = ch.connect(UNICYCLE, ch.Vakonomic(), {"x": 0, "y": 0, "theta": 0}, {"x": 0, "y": 1, "theta": 0}, seeds=2)
    first, second = paths[:2]
    assert first.action == pytest.approx(5.5790793576, abs=1e-9)
    assert second.action == pytest.approx(first.action, abs=1e-9)
    assert first.start["x'"] == pytest.approx(-second.start["x'"], abs=1e-8)


class TestOscillator:
    def test_fixed_ends(self):
        (path,) = ch.connect(OSCILLATOR, None, {"x": 0}, {"x": 1}, t=(0, 4), seeds=5)
        assert path.start["x'"] == pytest.approx(1 / np.sin(4), rel=1e-11)
        assert path.action == pytest.approx(np.cos(4) / np.sin(4) / 2, rel=1e-11)
        assert path.conjugate_times[:2] == pytest.approx([np.pi, 2 * np.pi], abs=1e-9)
        assert path.minimum is False

    def test_half_a_period_has_no_path_of_amplitude_1e16(self):
        paths = ch.connect(OSCILLATOR, None, {"x": 0}, {"x": 1}, t=(0, "pi"), seeds=10)
        assert len(paths) == 0
        assert paths.residual > 0.1
        assert "no path found" in str(paths)

    def test_half_a_period_between_opposite_ends_has_a_family(self):
        (path,) = ch.connect(OSCILLATOR, None, {"x": 1}, {"x": -1}, t=(0, "pi"), seeds=10)
        assert path.family == 1
        assert path.conjugate_times[0] == pytest.approx(np.pi, abs=1e-9)

    def test_at_a_free_end_the_momentum_vanishes_not_the_velocity(self):
        moved = ch.System("x", lagrangian="x'^2/2 - x^2/2 + 2*x'")
        (path,) = ch.connect(moved, None, {"x": 1}, {"x": None}, t=(0, 1), seeds=5)
        assert path.motion.final["x'"] == pytest.approx(-2, abs=1e-10)
        assert path.minimum is True
        assert path.conjugate_times[0] == pytest.approx(np.pi / 2, abs=1e-9)

    def test_free_start_is_no_minimum_beyond_a_quarter_of_a_period(self):
        (path,) = ch.connect(OSCILLATOR, None, {"x": None}, {"x": 1}, t=(0, 2), seeds=5)
        assert path.start["x"] == pytest.approx(1 / np.cos(2), rel=1e-10)
        assert path.minimum is False


def test_a_parameter_is_found():
    fall = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y")
    (path,) = ch.connect(fall, None, {"x": 0, "y": 0, "y'": 0}, {"x": 1, "y": -2}, unknown={"g": (1, 20)}, seeds=5)
    assert path.parameters["g"] == pytest.approx(4, abs=1e-10)


def test_the_end_on_a_circle_is_met_at_right_angles():
    plane = ch.System("x y", lagrangian="(x'^2 + y'^2)/2")
    paths = ch.connect(plane, None, {"x": 1, "y": 0}, {"x^2 + y^2": 4, "y": None}, seeds=12)
    assert [path.action for path in paths] == pytest.approx([0.5, 4.5], rel=1e-10)
    assert [path.minimum for path in paths] == [True, False]


def test_a_free_final_time_makes_the_energy_vanish():
    plane = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1")
    (path,) = ch.connect(plane, None, {"x": 0, "y": 0}, {"x": 3, "y": 4}, t=(0, None), seeds=5)
    assert path.t == pytest.approx(5 / np.sqrt(2), rel=1e-9)
    assert path.action == pytest.approx(5 * np.sqrt(2), rel=1e-9)


def test_the_brachistochrone_is_a_cycloid():
    """y = a (1 - cos u), x = a (u - sin u) + c; the time from depth 0.1 is sqrt(a) times the change of u."""
    (path,) = ch.connect(ch.System("y", lagrangian="sqrt((1 + y'^2)/(2*y))"), None, {"y": "1/10"}, {"y": 1}, t=(0, 1), seeds=8)

    def angle(a, y):
        return np.arccos(1 - y / a)

    def width(a):
        u, v = angle(a, 0.1), angle(a, 1)
        return a * (v - u - np.sin(v) + np.sin(u)) - 1

    a = brentq(width, 0.51, 5, xtol=1e-15)
    assert path.action == pytest.approx(np.sqrt(a) * (angle(a, 1) - angle(a, 0.1)), rel=1e-10)
    assert path.minimum is True


def test_herglotz_action_is_that_of_the_action_variable():
    damped = ch.System("x", lagrangian="x'^2/2 - x^2/2 - s/10", action="s")
    (path,) = ch.connect(damped, ch.Herglotz(), {"x": 0, "s": 0}, {"x": 1}, seeds=5)
    w = np.sqrt(1 - 0.1**2 / 4)
    assert path.start["x'"] == pytest.approx(w * np.exp(0.05) / np.sin(w), rel=1e-10)
    assert path.conjugate_times[0] == pytest.approx(np.pi / w, rel=1e-9)
    assert path.action == path.motion.final["s"]


def test_a_cubic_spline():
    (path,) = ch.connect(ch.System("x", lagrangian="x''^2/2"), None, {"x": 0, "x'": 0}, {"x": 1, "x'": 0}, seeds=4)
    assert path.action == pytest.approx(6, rel=1e-11)
    assert path.start["x''"] == pytest.approx(6, rel=1e-10)
    assert path.minimum is True


def test_great_circles_are_conjugate_at_the_antipode():
    sphere = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["x^2 + y^2 + z^2 = 1"])
    paths = ch.connect(sphere, ch.Vakonomic(), {"x": 1, "y": 0, "z": 0}, {"x": 0, "y": 1, "z": 0}, seeds=10)
    assert [path.action for path in paths[:2]] == pytest.approx([np.pi**2 / 8, 9 * np.pi**2 / 8], rel=1e-10)
    assert paths[0].conjugate_times[0] == pytest.approx(2, abs=1e-9)
    assert [path.minimum for path in paths[:2]] == [True, False]


def test_the_elastica_between_clamped_ends_buckles_to_both_sides():
    """Euler: lambda1 cos(theta) is the pull; symmetric ends give two mirror images with the same action."""
    elastica = ch.System("x y theta", lagrangian="theta'^2/2", kinematic=["x' = cos(theta)", "y' = sin(theta)"])
    ends = {"x": 0, "y": 0, "theta": 0}, {"x": 0.5, "y": 0, "theta": 0}
    first, second = ch.connect(elastica, ch.Vakonomic(), *ends, seeds=8)[:2]
    assert first.action == pytest.approx(second.action, rel=1e-10)
    assert first.start["theta'"] == pytest.approx(-second.start["theta'"], rel=1e-8)
    modulus = np.sin(np.abs(first.motion.at(np.linspace(0, 1, 4001))["theta"]).max() / 2)
    from scipy.special import ellipe, ellipk

    assert 2 * ellipe(modulus**2) / ellipk(modulus**2) - 1 == pytest.approx(0.5, abs=1e-6)
    pull = first.multipliers["lambda1"]
    assert 4 * ellipk(modulus**2) / np.sqrt(-pull) == pytest.approx(1, abs=1e-5)


class TestMartinet:
    """z' = y^2 x'/2: the line y = 0 is abnormal; normal geodesics are given by elliptic functions."""

    system = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = y^2*x'/2"], name="martinet")

    def test_the_line_is_normal_and_abnormal(self):
        (path, *_) = ch.connect(self.system, ch.Vakonomic(), ORIGIN, {"x": 1, "y": 0, "z": 0}, seeds=8)
        assert path.kind == "both"
        assert path.action == pytest.approx(0.5, rel=1e-12)
        assert np.abs(path.motion["y"]).max() < 1e-9

    def test_normal_geodesics(self):
        """theta'' = lambda sin(theta) of a pendulum: y' = sin(theta), so y'^2 = 2E - (c + lambda y^2/2)^2, a Jacobi cosine of the time."""
        first, second = ch.connect(self.system, ch.Vakonomic(), ORIGIN, {"x": 1, "y": 0, "z": 0.1}, seeds=8)[:2]
        assert first.kind == second.kind == "normal"
        assert first.action == pytest.approx(second.action, rel=1e-10)
        from scipy.special import ellipj, ellipk

        pull, speed = first.multipliers["lambda1"], np.sqrt(2 * first.action)
        c = first.motion.at(0.0)["x'"]  # the momentum of x, at y = 0
        m = (1 - c / speed) / 2
        t = np.linspace(0, 1, 9)
        _, cosine, _, _ = ellipj(np.sqrt(speed * abs(pull)) * t + ellipk(m), m)
        y = 2 * np.sqrt(m * speed / abs(pull)) * cosine
        assert np.abs(first.motion.at(t)["y"]) == pytest.approx(np.abs(y), abs=1e-9)


def test_kepler_has_paths_of_both_senses():
    """Lambert's problem over a quarter of a circular orbit, and around the other way."""
    kepler = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)")
    paths = ch.connect(kepler, None, {"x": 1, "y": 0}, {"x": 0, "y": 1}, t=(0, "pi/2"), seeds=16)
    direct = [path for path in paths if abs(path.start["x'"]) < 1e-9 and abs(path.start["y'"] - 1) < 1e-9]
    assert len(direct) == 1
    assert direct[0].action == pytest.approx(1.5 * np.pi / 2, rel=1e-10)
    assert any(path.start["y'"] < 0 for path in paths)


def test_units_do_not_matter():
    scaled = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = (x*y' - y*x')/2"])
    paths = ch.connect(scaled, ch.Vakonomic(), ORIGIN, {"x": 1e-6, "y": 0, "z": 0.25e-12}, t=(0, 1e3), seeds=12)
    assert paths[0].multipliers["lambda1"] == pytest.approx(2.412011143914e-3, rel=1e-9)
    assert paths[0].action == pytest.approx(0.83327886417e-15, rel=1e-9)


def test_nonholonomic_motions_reach_as_many_conditions_as_they_have_values():
    start = {"x": 0, "y": 0, "theta": 0}
    paths = ch.connect(UNICYCLE, ch.DAlembert(), start, {"x": 1, "y": 1}, seeds=5)
    assert paths[0].motion.final["x"] == pytest.approx(1, abs=1e-9)
    assert paths[0].motion.final["theta"] == pytest.approx(np.pi / 2, abs=1e-9)  # a quarter of a circle
    assert paths[0].minimum is None
    with pytest.raises(ch.UsageError, match="6 independent conditions are given, and 5 are needed"):
        ch.connect(UNICYCLE, ch.DAlembert(), start, {"x": 1, "y": 1, "theta": 0}, seeds=2)
    with pytest.raises(ch.UsageError, match="not extremals"):
        ch.connect(UNICYCLE, ch.DAlembert(), start, {"x": 1, "y": None}, seeds=2)


def test_ends_separated_by_an_integral_are_told():
    disguised = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x*x' + y*y' = 0"])
    paths = ch.connect(disguised, ch.Vakonomic(), {"x": 1, "y": 0}, {"x": 0, "y": 2}, seeds=3)
    assert not paths
    assert "constant on every motion" in paths.reason


@pytest.mark.parametrize(
    ("start", "end", "more", "words"),
    [
        ({"x": 1}, {}, {}, "1 independent conditions are given, and 2 are needed.*x at the end"),
        ({"x": 1, "x'": 0}, {"x": 1}, {}, "3 independent conditions are given, and 2 are needed"),
        ({"x": 1}, {"x": float("nan")}, {}, "not a value"),
        ({"x": 1}, {"x": True}, {}, "not a value"),
        ({"x": 1}, {"x'": None}, {}, "has no meaning"),
        ({"x": 1}, {"y": 1}, {}, "y"),
        ({"x": 1}, {"x": 1}, {"t": (1, 1)}, "empty"),
        ({"x": 1}, {"x": 1}, {"t": 3}, "interval"),
        ({"x": 1}, {"x": 1}, {"seeds": 0}, "seeds"),
        ({"x": 1}, {"x": 1}, {"unknown": {"k": None}}, "k is not a parameter"),
    ],
)
def test_bad_input(start, end, more, words):
    with pytest.raises(ch.ChetaevError, match=words):
        ch.connect(OSCILLATOR, None, start, end, **{"seeds": 2, **more})


def test_ends_off_the_circle_contradict_it():
    pendulum = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["x^2 + y^2 = 1"])
    with pytest.raises(ch.InitialError, match=r"the end contradicts kinematic\[0\]"):
        ch.connect(pendulum, ch.Vakonomic(), {"x": 0, "y": -1}, {"x": 2, "y": 0})


def test_periodic_ends_agree_in_value_and_momentum():
    forced = ch.System("x", lagrangian="x'^2/2 - x^2/2 + x*cos(3*t)")
    (path,) = ch.connect(forced, None, {}, {}, t=(0, "2*pi/3"), periodic=["x"], seeds=4)
    assert path.start["x"] == pytest.approx(-1 / 8, abs=1e-10)
    assert path.start["x'"] == pytest.approx(0, abs=1e-10)


def test_a_prepared_motion_under_herglotz_with_decimal_coefficients():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2 - s/10", action="s"), ch.Herglotz())
    run = ch.prepare(equations, t=(0, 1))
    y0, p = run.start({"x": 0, "x'": 1, "s": 0})
    final = ch.simulate(equations, {"x": 0, "x'": 1, "s": 0}, (0, 1)).final
    assert run(y0, p) == pytest.approx([final[name] for name in run.state], rel=1e-9)


def test_zermelos_ship_in_a_linear_wind():
    """In the wind (-y/2, 0) the tangent of the heading grows by t/2: Zermelo's navigation formula."""
    ship = ch.System("x y", lagrangian="1", kinematic=["(x' + y/2)^2 + y'^2 = 1"])
    path = ch.connect(ship, ch.Vakonomic(), {"x": 0, "y": 0}, {"x": 1, "y": 1}, t=(0, None), seeds=6)[0]
    assert path.action == pytest.approx(path.t, rel=1e-11)
    heading = path.motion["y'/(x' + y/2)"] - path.motion.t / 2
    assert heading == pytest.approx(np.full(len(heading), heading[0]), rel=1e-9)
    first, last = np.arctan(heading[0]), np.arctan(heading[0] + path.t / 2)
    assert 2 * (1 / np.cos(last) - 1 / np.cos(first)) == pytest.approx(1, abs=1e-9)  # dy/dt = sin, dt = 2 d(tan)
    assert (path.kind, path.minimum) == ("normal", True)


def test_the_hanging_rope_and_its_arch():
    """A rope of length 2 over a span of 1: a catenary, and its mirror image, with multipliers of opposite signs."""
    rope = ch.System("x y", lagrangian="y", kinematic=["x'^2 + y'^2 = 1"])
    low, high = ch.connect(rope, ch.Vakonomic(), {"x": 0, "y": 0}, {"x": 1, "y": 0}, t=(0, 2), seeds=12)[:2]
    a = brentq(lambda a: a * np.sinh(1 / (2 * a)) - 1, 0.1, 1, xtol=1e-15)
    moment = a / 2 + a**2 * np.sinh(1 / a) / 2 - 2 * a * np.cosh(1 / (2 * a))
    assert low.action == pytest.approx(moment, rel=1e-10)
    assert high.action == pytest.approx(-moment, rel=1e-10)
    assert low.multipliers["lambda1"] == pytest.approx(-high.multipliers["lambda1"], rel=1e-9)
    assert (low.minimum, high.minimum) == (True, False)


def test_lamberts_problem_with_a_revolution():
    """Two paths without a revolution, of either sense, and four with one; their times obey Lagrange's equation."""
    kepler = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)")
    paths = ch.connect(kepler, None, {"x": 1, "y": 0}, {"x": 0, "y": 1.2}, t=(0, 9))
    assert len(paths) == 6
    chord, turned = np.hypot(1, 1.2), []
    for path in paths:
        energy = (path.start["x'"] ** 2 + path.start["y'"] ** 2) / 2 - 1
        a = -1 / (2 * energy)
        alpha, beta = (2 * np.arcsin(np.sqrt((2.2 + s * chord) / (4 * a))) for s in (1, -1))
        swept = [u - np.sin(u) - sign * (beta - np.sin(beta)) for u in (alpha, 2 * np.pi - alpha) for sign in (1, -1)]
        around = [(w + 2 * np.pi * n) * a**1.5 for w in swept for n in (0, 1)]
        assert min(abs(np.array(around) - 9)) < 1e-8
        turned.append(path.start["y'"] > 0)
    assert sum(turned) == 3


@pytest.mark.parametrize("area", [1e-12, 1e12])
def test_didos_circles_in_any_units(area):
    """The ends say nothing about the sizes of x and y; they follow from the row."""
    best = ch.connect(HEISENBERG, ch.Vakonomic(), ORIGIN, {"x": 0, "y": 0, "z": area}, seeds=4)[0]
    assert best.action == pytest.approx(2 * np.pi * area, rel=1e-10)
    assert (best.family, best.kind) == (1, "normal")


def test_grushins_plane():
    """y' = x u' with u free at the end: from (0, 0) to (0, 1) the action is pi, by two mirror images."""
    grushin = ch.System("x y u", lagrangian="(x'^2 + u'^2)/2", kinematic=["y' = x*u'"])
    first, second = ch.connect(grushin, ch.Vakonomic(), ORIGIN_OF_GRUSHIN, {"x": 0, "y": 1, "u": None}, seeds=4)[:2]
    assert [first.action, second.action] == pytest.approx([np.pi, np.pi], rel=1e-10)
    assert first.start["x'"] == pytest.approx(-second.start["x'"], rel=1e-9)
    assert first.minimum is True
    assert first.motion.final["u' - lambda1*x"] == pytest.approx(0, abs=1e-9)  # the momentum of u vanishes all the way
