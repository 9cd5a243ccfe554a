"""Derivatives of motions, against closed forms and against equations of variations derived by hand and integrated by SciPy."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.slopes import rounding_check
from chetaev.numerics.slopes.variation import eliminated_rates

TIGHT = 1e-12
CLOSE = 2e-10


@cache
def spring():
    return ch.derive(ch.System("x", "k c", lagrangian="x'^2/2 - k*x^2/2", dissipation="c*x'^2/2"))


@cache
def sleigh(principle=None):
    system = ch.System(
        "x y th", "m J a", lagrangian="m*(x'^2 + y'^2)/2 + J*th'^2/2", kinematic=["y'*cos(th) - x'*sin(th) = a*th'"], name="sleigh"
    )
    return ch.derive(system, principle or ch.DAlembert())


@cache
def pendulum():
    return ch.derive(
        ch.System("x y", "m g l", lagrangian="m*(x'^2 + y'^2)/2 - m*g*y", kinematic=["x^2 + y^2 = l^2"], name="pendulum"), ch.DAlembert()
    )


SLEIGH = {"x": 0, "y": 0, "th": 0.5, "x'": -1, "th'": 0.6}
VALUES = {"m": 1.2, "J": 0.4, "a": 0.25}


def five_point(f, v, h):
    return (8 * (f(v + h) - f(v - h)) - (f(v + 2 * h) - f(v - 2 * h))) / (12 * h)


def test_a_spring_against_its_closed_form():
    motion = ch.simulate(spring(), {"x": 1.5, "x'": -0.4}, (0, 7), parameters={"k": 2.3, "c": 0}, slopes=["k", "x", "x'"], tolerance=TIGHT)
    w, t = np.sqrt(2.3), motion.t
    x_k = (-1.5 * t * np.sin(w * t) + -0.4 * (t * np.cos(w * t) / w - np.sin(w * t) / w**2)) / (2 * w)
    assert np.abs(motion.slope("x", "k") - x_k).max() < CLOSE
    assert np.abs(motion.slope("x", "x") - np.cos(w * t)).max() < CLOSE
    assert np.abs(motion.slope("x", "x'") - np.sin(w * t) / w).max() < CLOSE
    assert np.abs(motion.slope("k*x^2", "k") - (motion["x"] ** 2 + 2 * 2.3 * motion["x"] * x_k)).max() < CLOSE
    assert abs(motion.final.slope("energy", "x'") - (-0.4)) < CLOSE
    assert abs(motion.final.slope("energy", "k") - 1.5**2 / 2) < CLOSE
    between = motion.at([0.3, 2.2])
    assert np.abs(between.slope("x", "x") - np.cos(w * np.array([0.3, 2.2]))).max() < 1e-9


def test_the_sleigh_of_the_field_study():
    """Five-point differences of simulate: x .77020713833165, y -18.1670405101, th -13.6247283693, lambda -6.54744345087."""
    motion = ch.simulate(sleigh(), SLEIGH, (0, 5), parameters=VALUES, slopes=["a"], tolerance=TIGHT)
    found = [motion.final.slope(name, "a") for name in ("x", "y", "th", "lambda1")]
    assert found == pytest.approx([0.77020713833165, -18.1670405101, -13.6247283693, -6.54744345087], abs=1e-9)


@pytest.mark.parametrize("by", ["l", "g", "m"])
def test_a_pendulum_in_cartesian_coordinates_against_variations_of_its_angle(by):
    m, g, l, angle, rate = 1.3, 9.81, 0.8, 0.7, 1.1
    start = {"x": "l*sin(0.7)", "y": "-l*cos(0.7)", "x'": "l*1.1*cos(0.7)"}
    motion = ch.simulate(pendulum(), start, (0, 3), parameters={"m": m, "g": g, "l": l}, slopes=["l", "g", "m"], tolerance=TIGHT)
    direction = {"l": g / l**2, "g": -1 / l, "m": 0.0}[by]

    def rates(t, z):
        th, w, d, e = z
        return [w, -g / l * np.sin(th), e, -g / l * np.cos(th) * d + direction * np.sin(th)]

    th, w, d, e = solve_ivp(rates, (0, 3), [angle, rate, 0, 0], method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    one = {name: float(name == by) for name in "lgm"}
    assert motion.final.slope("x", by) == pytest.approx(one["l"] * np.sin(th) + l * np.cos(th) * d, abs=1e-9)
    assert motion.final.slope("y'", by) == pytest.approx(one["l"] * w * np.sin(th) + l * (e * np.sin(th) + w * np.cos(th) * d), abs=1e-9)
    # m*x'' = 2*lambda*x gives lambda = -m*(w^2 + g/l*cos(th))/2
    multiplier = -one["m"] * (w**2 + g / l * np.cos(th)) / 2 - m / 2 * (
        2 * w * e + one["g"] / l * np.cos(th) - one["l"] * g / l**2 * np.cos(th) - g / l * np.sin(th) * d
    )
    assert motion.final.slope("lambda1", by) == pytest.approx(multiplier, rel=1e-9, abs=1e-9)
    explicit = motion.final.slope("l*lambda1", by)
    assert explicit == pytest.approx(l * multiplier + one["l"] * motion.final["lambda1"], rel=1e-9, abs=1e-9)


def test_slopes_at_an_equilibrium_where_the_motion_itself_does_nothing():
    swing = ch.derive(ch.System("th", "g l", lagrangian="l^2*th'^2/2 + g*l*cos(th)"))
    motion = ch.simulate(swing, {"th": 0, "th'": 0}, (0, 20), parameters={"g": 9.81, "l": 1}, slopes=["th", "th'", "g"], tolerance=1e-10)
    w = np.sqrt(9.81)
    assert motion.final.slope("th", "th") == pytest.approx(np.cos(20 * w), abs=1e-7)
    assert motion.final.slope("th'", "th'") == pytest.approx(np.cos(20 * w), abs=1e-7)
    assert motion.final.slope("th", "g") == 0


def test_an_input_with_parameters():
    driven = ch.derive(ch.System("x", "A w", lagrangian="x'^2/2 + x*u", inputs={"u": None}))
    motion = ch.simulate(
        driven, {"x": 0, "x'": "A/w"}, (0, 4), parameters={"A": 1.5, "w": 2}, inputs={"u": "A*sin(w*t)"}, slopes=["A", "w"], tolerance=TIGHT
    )
    # x' = A/w - A/w*(cos(w*t) - 1), x = 2*A*t/w - A/w^2*sin(w*t)
    t, a, w = 4.0, 1.5, 2.0
    assert motion.final["x"] == pytest.approx(2 * a * t / w - a / w**2 * np.sin(w * t), abs=1e-11)
    assert motion.final.slope("x", "A") == pytest.approx(2 * t / w - np.sin(w * t) / w**2, abs=1e-10)
    by_w = -2 * a * t / w**2 + 2 * a / w**3 * np.sin(w * t) - a * t / w**2 * np.cos(w * t)
    assert motion.final.slope("x", "w") == pytest.approx(by_w, abs=1e-10)
    assert motion.final.slope("x''", "w") == pytest.approx(a * t * np.cos(w * t), abs=1e-10)


def test_dry_friction_that_stops_a_block():
    block = ch.derive(ch.System("x", "mu g", lagrangian="x'^2/2", forces={"x": "-mu*g*sign(x')"}))
    v, mu, g = 2.0, 0.3, 9.81
    motion = ch.simulate(block, {"x": 0, "x'": v}, (0, 2), parameters={"mu": mu, "g": g}, slopes=["mu", "x'"], tolerance=TIGHT)
    assert [s.after for s in motion.switches] == [0]
    assert motion.final.slope("x", "x'") == pytest.approx(v / (mu * g), rel=1e-10)
    assert motion.final.slope("x", "mu") == pytest.approx(-(v**2) / (2 * mu**2 * g), rel=1e-10)
    assert abs(motion.final.slope("x'", "x'")) < 1e-10
    assert abs(motion.final.slope("x'", "mu")) < 1e-10
    before = motion.at(0.5)
    assert before.slope("x'", "mu") == pytest.approx(-g * 0.5, rel=1e-9)


def test_release_does_not_change_slopes():
    pulled = ch.derive(ch.System("x", "mu F", lagrangian="x'^2/2", forces={"x": "F*t - mu*sign(x')"}))
    mu, force = 0.6, 0.5
    motion = ch.simulate(pulled, {"x": 0, "x'": 0}, (0, 3), parameters={"mu": mu, "F": force}, slopes=["mu", "F"], tolerance=TIGHT)
    # rest until t = mu/F; then x'' = F*t - mu, x' = F/2*(t - mu/F)^2, x = F/6*(t - mu/F)^3
    s = 3 - mu / force
    assert motion.final["x"] == pytest.approx(force / 6 * s**3, rel=1e-9)
    assert motion.final.slope("x'", "mu") == pytest.approx(-s, rel=1e-8)
    assert motion.final.slope("x", "F") == pytest.approx(s**3 / 6 + force / 2 * s**2 * mu / force**2, rel=1e-8)


def test_a_bounce_on_a_moving_floor_given_by_parameters():
    ball = ch.derive(ch.System("y", "g e b", lagrangian="y'^2/2 - g*y"))
    g, e, b, h, t = 9.81, 0.8, 0.3, 1.0, 0.8
    bounce = ch.On("y - b*t", direction=-1, reset={"y'": "b - e*(y' - b)"})
    motion = ch.simulate(
        ball, {"y": h, "y'": 0}, (0, t), parameters={"g": g, "e": e, "b": b}, events=[bounce], slopes=["g", "e", "b", "y"], tolerance=TIGHT
    )
    assert len(motion.events) == 1

    def end(g, e, b, h):
        hit = (-b + np.sqrt(b**2 + 2 * g * h)) / g
        v = b - e * (-g * hit - b)
        return b * hit + v * (t - hit) - g * (t - hit) ** 2 / 2

    values = {"g": g, "e": e, "b": b, "y": h}
    for by in values:
        expected = five_point(lambda v, by=by: end(*{**values, by: v}.values()), values[by], 1e-3)
        assert motion.final.slope("y", by) == pytest.approx(expected, rel=1e-9), by


def test_the_end_moves_with_a_terminal_event():
    ball = ch.derive(ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y"))
    start, landing = {"x": 0, "y": 1, "x'": 0.3, "y'": 0}, [ch.On("y", terminal=True)]
    motion = ch.simulate(ball, start, (0, 2), parameters={"g": 9.81}, events=landing, slopes=["g", "y"], tolerance=TIGHT)
    fall = np.sqrt(2 / 9.81)
    assert motion.final.slope("t", "g") == pytest.approx(-fall / (2 * 9.81), rel=1e-10)
    assert motion.final.slope("x", "g") == pytest.approx(-0.3 * fall / (2 * 9.81), rel=1e-10)
    assert abs(motion.final.slope("y", "g")) < 1e-12
    assert motion.slope("y", "g")[-1] == pytest.approx(-(fall**2) / 2, rel=1e-10)  # at a fixed time


def test_a_potential_step():
    step = ch.derive(ch.System("x y", "U", lagrangian="(x'^2 + y'^2)/2 - U*step(x - y/2)"))
    start, u = {"x": -1.0, "y": 0.0, "x'": 2.0, "y'": 0.5}, 0.7
    motion = ch.simulate(step, start, (0, 2), parameters={"U": u}, slopes=["U", "x'", "y"], tolerance=TIGHT)
    assert len(motion.switches) == 1
    n = np.array([1, -0.5]) / np.sqrt(1.25)

    def end(u, vx, y):
        v, x = np.array([vx, 0.5]), np.array([-1.0, y])
        hit = -(x @ n) / (v @ n)
        across = np.sqrt((v @ n) ** 2 - 2 * u)
        after = v + (across - v @ n) * n
        return np.concatenate([x + v * hit + after * (2 - hit), after])

    values = {"U": u, "x'": 2.0, "y": 0.0}
    for by in values:
        expected = five_point(lambda v, by=by: end(*{**values, by: v}.values()), values[by], 1e-3)
        found = [motion.final.slope(name, by) for name in ("x", "y", "x'", "y'")]
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-9), by


def test_several_directions_are_those_one_by_one():
    together = ch.simulate(sleigh(), SLEIGH, (0, 2), parameters=VALUES, slopes=["a", "J", "th'", "m", "x'"], tolerance=TIGHT)
    for by in ("a", "J", "th'", "m", "x'"):
        alone = ch.simulate(sleigh(), SLEIGH, (0, 2), parameters=VALUES, slopes=[by], tolerance=TIGHT)
        for name in ("x", "y'", "lambda1"):
            assert together.final.slope(name, by) == pytest.approx(alone.final.slope(name, by), rel=1e-9, abs=1e-10)


def test_times_and_ends_only():
    times = np.linspace(0, 2, 5)
    steps = ch.simulate(sleigh(), SLEIGH, (0, 2), parameters=VALUES, slopes=["a"], tolerance=TIGHT)
    some = ch.simulate(sleigh(), SLEIGH, times, parameters=VALUES, slopes=["a"], tolerance=TIGHT)
    end = ch.simulate(sleigh(), SLEIGH, (0, 2), parameters=VALUES, slopes=["a"], tolerance=TIGHT, keep="final")
    assert len(some.slope("lambda1", "a")) == 5
    assert some.slope("lambda1", "a") == pytest.approx(steps.at(times).slope("lambda1", "a"), rel=1e-7, abs=1e-9)
    assert end.final.slope("lambda1", "a") == pytest.approx(steps.final.slope("lambda1", "a"), rel=1e-9)


def test_backwards_in_time():
    motion = ch.simulate(spring(), {"x": 1, "x'": 0}, (0, -3), parameters={"k": 1, "c": 0}, slopes=["x'"], tolerance=TIGHT)
    assert motion.final.slope("x", "x'") == pytest.approx(np.sin(-3), abs=1e-10)


def test_a_group_element_along_its_variation():
    top = ch.derive(ch.System({"A": "SO3 body"}, "g", lagrangian="(A1'^2 + 2*A2'^2 + 2.5*A3'^2)/2 - g*(A33 + A31/3)"))
    start = {"A": np.eye(3), "A1'": 0.4, "A2'": 1.1, "A3'": -0.3}

    def end(angle):
        turned = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
        motion = ch.simulate(top, {**start, "A": turned}, (0, 2), parameters={"g": 1.3}, tolerance=TIGHT, keep="final")
        return np.array([*motion.final.matrix("A").ravel(), motion.final["A1'"]])

    motion = ch.simulate(top, start, (0, 2), parameters={"g": 1.3}, slopes=["δA2"], tolerance=TIGHT)
    names = [f"A{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)] + ["A1'"]
    found = [motion.final.slope(name, "δA2") for name in names]
    assert found == pytest.approx(five_point(end, 0.0, 1e-3), abs=1e-9)


def test_conserved_energy_moves_with_the_start():
    motion = ch.simulate(
        pendulum(), {"x": 0.6, "y": -0.8, "x'": 0.4}, (0, 2), parameters={"m": 1, "g": 9.81, "l": 1}, slopes=["x'", "g"], conserve="energy",
        tolerance=TIGHT,
    )  # fmt: skip
    plain = ch.simulate(
        pendulum(), {"x": 0.6, "y": -0.8, "x'": 0.4}, (0, 2), parameters={"m": 1, "g": 9.81, "l": 1}, slopes=["x'", "g"], tolerance=TIGHT
    )
    for name, by in (("x", "x'"), ("lambda1", "g"), ("energy", "x'")):
        assert motion.final.slope(name, by) == pytest.approx(plain.final.slope(name, by), rel=1e-8)


def test_evaluate_and_many():
    start = {**SLEIGH, "y": "a", "th'": "2*a + 0.1"}
    now = ch.evaluate(sleigh(), start, parameters=VALUES, slopes=["a", "x'"])
    # y' = (a*th' + x'*sin(th))/cos(th) with th' = 2*a + 0.1; lambda1 = J*m*th'*(x'*cos(th) + y'*sin(th))/(J + m*a^2) for this row
    assert now.slope("y", "a") == 1
    assert now.slope("y'", "a") == pytest.approx((4 * 0.25 + 0.1) / np.cos(0.5), rel=1e-12)
    assert now.slope("y'", "x'") == pytest.approx(np.tan(0.5), rel=1e-12)

    def multiplier(a):
        th, w, v = 0.5, 2 * a + 0.1, -1.0
        other = (a * w + v * np.sin(th)) / np.cos(th)
        return 0.4 * 1.2 * w * (v * np.cos(th) + other * np.sin(th)) / (0.4 + 1.2 * a**2)

    assert now["lambda1"] == pytest.approx(multiplier(0.25), rel=1e-12)
    assert now.slope("lambda1", "a") == pytest.approx(five_point(multiplier, 0.25, 1e-3), rel=1e-9)
    many = ch.simulate_many(sleigh(), {**start, "x'": [-1, 0.5]}, (0, 1), parameters=VALUES, slopes=["a"], tolerance=TIGHT)
    for k, speed in enumerate((-1, 0.5)):
        alone = ch.simulate(sleigh(), {**start, "x'": speed}, (0, 1), parameters=VALUES, slopes=["a"], tolerance=TIGHT)
        assert many.slope("lambda1", "a")[k] == pytest.approx(alone.final.slope("lambda1", "a"), rel=1e-12)


def test_slopes_along_the_series_of_many():
    """x = a cos(w t) with w^2 = k; the second spring is a wall that its motion does not survive."""
    spring = ch.derive(ch.System("x", "k b", lagrangian="x'^2/2 - k*x^2/2 - sqrt(b - x)"))
    t, start = np.linspace(0, 2, 5), {"x": [1, 2, 0], "x'": [0, 0, 3]}
    values = {"k": [1, 4, 1], "b": [1e30, 1e30, 1]}
    many = ch.simulate_many(spring, start, t, parameters=values, slopes=["k", "x"], tolerance=TIGHT)
    a, w = np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]])
    np.testing.assert_allclose(many.slope("x", "k")[:2], -a * t * np.sin(w * t) / (2 * w), atol=1e-8)
    np.testing.assert_allclose(many.slope("x'", "x")[:2], -w * np.sin(w * t), atol=1e-8)
    broken = many.slope("x", "k")[2]
    assert many.outcome[2] == ch.Outcome.LEFT_DOMAIN and broken[0] == 0 and np.isnan(broken[1:]).all()


def test_bounds_at_the_end_of_the_range_of_numbers_give_a_verdict_and_no_warning(monkeypatch):
    """Rates of slopes between 1e308 and 1.7e308 have no digits: the slopes are not certified, and sums that overflow are no news."""

    def evaluate(address, t, y, p, n_out):
        return np.tile(np.repeat([1.7e308, 1e308], n_out // 2), (len(t), 1))

    monkeypatch.setattr(rounding_check, "dop853", SimpleNamespace(evaluate=evaluate))
    motion = ch.simulate(spring(), {"x": 1.0, "x'": 0.5}, (0, 60), parameters={"k": 2.3, "c": 0.0}, slopes=["k"])
    assert motion.outcome == ch.Outcome.NOT_CERTIFIED and "slope of" in motion.message


def test_the_jacobian_of_a_prepared_motion():
    from chetaev.numerics.prepared import end_and_slopes

    run = ch.prepare(spring(), (0, 2), tolerance=TIGHT)
    end = end_and_slopes(run, [1.0, 0.5], [2.3, 0.0])
    w = np.sqrt(2.3)
    assert end.slopes[:, :2] == pytest.approx(
        np.array([[np.cos(2 * w), np.sin(2 * w) / w], [-w * np.sin(2 * w), np.cos(2 * w)]]), abs=1e-10
    )
    some = end_and_slopes(run, [1.0, 0.5], [2.3, 0.0], by=["x"], first=[[0.5], [2.0]])
    assert some.slopes[:, 0] == pytest.approx(end.slopes[:, :2] @ [0.5, 2.0], abs=1e-10)


@pytest.mark.parametrize(
    ("slopes", "error", "words"),
    [
        (["y'"], ch.InitialError, "gives no value of y'"),
        (["lambda1"], ch.InitialError, "gives no value of lambda1"),
        (["q"], ch.UsageError, "neither a parameter nor an initial value"),
        (["a", "a"], ch.UsageError, "given twice"),
        ("a", ch.UsageError, "not a list of names"),
        ([], ch.UsageError, "not a list of names"),
    ],
)
def test_refusals(slopes, error, words):
    with pytest.raises(error, match=words):
        ch.simulate(sleigh(), SLEIGH, (0, 1), parameters=VALUES, slopes=slopes)


def test_a_guess_is_no_direction_and_tied_values_do_not_move():
    values = {"m": 1, "g": 9.81, "l": 1}
    with pytest.raises(ch.InitialError, match="y is a guess"):
        ch.simulate(pendulum(), ch.State({"x": 0.6, "x'": 0.4}, {"y": -1}), (0, 1), parameters=values, slopes=["y"])
    with pytest.raises(ch.InitialError, match="does not hold any more when l moves"):
        ch.simulate(pendulum(), {"x": 0.6, "y": -0.8, "x'": 0.4}, (0, 1), parameters=values, slopes=["l"])
    guessed = ch.simulate(pendulum(), ch.State({"x": 0.6, "x'": 0.4}, {"y": -1}), (0, 0.1), parameters=values, slopes=["l"])
    assert guessed.slope("y", "l")[0] == pytest.approx(1 / -0.8, rel=1e-12)


def test_a_motion_without_slopes_says_so():
    motion = ch.simulate(spring(), {"x": 1, "x'": 0}, (0, 1), parameters={"k": 1, "c": 0})
    with pytest.raises(ch.UsageError, match="has no slopes"):
        motion.slope("x", "k")
    with pytest.raises(ch.UsageError, match="was not differentiated by c"):
        ch.simulate(spring(), {"x": 1, "x'": 0}, (0, 1), parameters={"k": 1, "c": 0}, slopes=["k"]).slope("x", "c")


def test_a_reset_that_moves_other_velocities_by_the_smallest_change():
    system = ch.System("x y z", "g e", lagrangian="(x'^2 + y'^2 + z'^2)/2 - g*y*x", kinematic=["z'*(1 + y^2) = y*x' + x*y'"])
    equations, values = ch.derive(system, ch.DAlembert()), {"g": 1.5, "e": 0.7}
    start, wall = {"x": 0.1, "y": 0.3, "z": 0, "x'": 1.0, "y'": 0.4}, [ch.On("x - 0.8", direction=1, reset={"x'": "-e*x'"})]
    motion = ch.simulate(equations, start, (0, 2), parameters=values, events=wall, slopes=["g", "e", "y'"], tolerance=TIGHT)
    assert len(motion.events) == 1
    names = ("x", "y'", "z'", "lambda1")
    for by in ("g", "e", "y'"):

        def end(v, by=by):
            moved, given = dict(values), dict(start)
            (moved if by in moved else given)[by] = v
            found = ch.simulate(equations, given, (0, 2), parameters=moved, events=wall, tolerance=TIGHT, keep="final")
            return np.array([found.final[name] for name in names])

        expected = five_point(end, {**values, **start}[by], 1e-3)
        assert [motion.final.slope(name, by) for name in names] == pytest.approx(expected, rel=1e-8, abs=1e-9), by


def test_planar_friction_brings_a_puck_to_rest():
    puck = ch.derive(
        ch.System("x y", "mu", lagrangian="(x'^2 + y'^2)/2", forces={q: f"-mu*{q}'/sqrt(x'^2 + y'^2)" for q in ("x", "y")}, name="puck")
    )
    v = np.array([0.7, 0.4])
    motion = ch.simulate(
        puck, {"x": 0, "y": 0, "x'": v[0], "y'": v[1]}, (0, 4), parameters={"mu": 0.5}, slopes=["mu", "x'"], tolerance=TIGHT
    )
    assert motion.outcome == "finished"
    # it stops at |v| v/(2 mu)
    speed = np.sqrt(v @ v)
    assert [motion.final.slope(q, "mu") for q in "xy"] == pytest.approx(-speed * v / (2 * 0.25), rel=1e-9)
    assert motion.final.slope("x", "x'") == pytest.approx(speed + v[0] ** 2 / speed, rel=1e-9)
    assert motion.final.slope("y", "x'") == pytest.approx(v[0] * v[1] / speed, rel=1e-9)
    assert abs(motion.final.slope("x'", "mu")) < 1e-11


def test_a_multiplier_that_is_computed_is_no_direction():
    with pytest.raises(ch.InitialError, match="lambda1 is a guess"):
        ch.simulate(sleigh(), {**SLEIGH, "lambda1": 0.3}, (0, 1), parameters=VALUES, slopes=["lambda1"])
    ch.simulate(sleigh(ch.Vakonomic()), {**SLEIGH, "lambda1": 0.3}, (0, 1), parameters=VALUES, slopes=["lambda1"])


def bounced(t, g, e, h):
    """The height of a ball that falls from h at rest, and its number of impacts, by its parabolas."""
    at, speed, hits = np.sqrt(2 * h / g), e * np.sqrt(2 * h * g), 1
    while at + 2 * speed / g < t:
        at, speed, hits = at + 2 * speed / g, e * speed, hits + 1
    return speed * (t - at) - g * (t - at) ** 2 / 2, hits


def test_a_contact_bounces():
    ball = ch.derive(ch.System("y", "m g e", lagrangian="m*y'^2/2 - m*g*y", unilateral={"floor": ("y >= 0", "e")}, name="ball"))
    values, t = {"g": 9.81, "e": 0.5, "y": 1.3}, 1.2
    parameters = {"m": 2, "g": 9.81, "e": 0.5}
    motion = ch.simulate(ball, {"y": 1.3, "y'": 0}, (0, t), parameters=parameters, slopes=["g", "e", "y", "m"], tolerance=TIGHT)
    assert len(motion.events) == bounced(t, *values.values())[1] == 2
    for by in values:
        expected = five_point(lambda v, by=by: bounced(t, *{**values, by: v}.values())[0], values[by], 1e-4)
        assert motion.final.slope("y", by) == pytest.approx(expected, rel=1e-8), by
    rest = ch.simulate(ball, {"y": 1.3, "y'": 0}, (0, 4), parameters=parameters, slopes=["g", "m", "y"], tolerance=TIGHT)
    assert [rest.final.slope("lambda_floor", by) for by in ("g", "m", "y")] == pytest.approx([2, 9.81, 0], abs=1e-9)
    many = ch.simulate_many(ball, {"y": [1.3, 0.4], "y'": 0}, (0, t), parameters=parameters, slopes=["e"], tolerance=TIGHT)
    assert many.slope("y", "e")[0] == pytest.approx(motion.final.slope("y", "e"), rel=1e-9)


def test_friction_by_a_contact_that_bounces_and_comes_to_rest():
    """All impacts together take mu times the fall's momentum, so that x' = v - mu*g*t from the last bounce on, whatever e is."""
    rough = ch.System(
        "x y", "m g mu e", lagrangian="m*(x'^2 + y'^2)/2 - m*g*y", unilateral={"f": ("y >= 0", "e")}, forces={"x": "-mu*lambda_f*sign(x')"}
    )
    values = {"m": 2, "g": 9.81, "mu": 0.1, "e": 0.4}
    motion = ch.simulate(
        ch.derive(rough), {"x": 0, "y": 0.2, "x'": 3, "y'": 0}, (0, 2.2), parameters=values, slopes=["mu", "g", "e", "y"], tolerance=TIGHT
    )
    assert len(motion.events) > 10
    assert [motion.final.slope("x'", by) for by in values if by != "m"] == pytest.approx([-0.22, -9.81 * 2.2, 0], abs=1e-7)
    # the whole path is that of an impulse mu*g*t0 at the time t0 of the fall, and friction from then on, with the same mean
    assert motion.final.slope("x", "mu") == pytest.approx(-23.5402, abs=1e-7)
    assert motion.final.slope("x", "y") == pytest.approx(0.1, abs=1e-7)


def test_a_rope_that_becomes_slack_and_taut():
    """Against the motion of the angle, a parabola, and the angle again, by SciPy; the rope is taut again just where x = 0."""
    system = ch.System("x y", "g l", lagrangian="(x'^2 + y'^2)/2 - g*y", unilateral={"rope": ("(x^2 + y^2)/(2*l) <= l/2", 0)}, name="rope")
    speed, end = np.sqrt(3.5 * 9.81 * 0.9), 1.3
    start = {"x": 0, "y": "-l", "x'": speed, "y'": 0}
    motion = ch.simulate(ch.derive(system), start, (0, end), parameters={"g": 9.81, "l": 0.9}, slopes=["g", "l", "x'"], tolerance=TIGHT)
    assert [s.after for s in motion.switches] == [1, 0]

    def by_hand(g, l, v):
        def swing(t, z):
            return [z[1], -g / l * np.sin(z[0])]

        def tension(t, z):
            return l * z[1] ** 2 + g * np.cos(z[0])

        tension.terminal = True
        taut = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13}
        first = solve_ivp(swing, (0, 3), [0, v / l], events=tension, **taut)
        (slack,), (angle, rate) = first.t_events[0], first.y_events[0][0]
        place, velocity = l * np.array([np.sin(angle), -np.cos(angle)]), l * rate * np.array([np.cos(angle), np.sin(angle)])
        # |place + velocity*s - g*s^2/2 e_y|^2 = l^2, where s = 0 is a triple root: the rope is slack until its fourth one
        found = np.roots([g**2 / 4, -g * velocity[1], velocity @ velocity - g * place[1], 2 * place @ velocity, place @ place - l**2])
        s = max(found.real[np.abs(found.imag) < 1e-3])
        place, velocity = place + velocity * s - np.array([0, g * s**2 / 2]), velocity - np.array([0, g * s])
        again = [np.arctan2(place[0], -place[1]), (velocity @ [-place[1], place[0]]) / l**2]
        angle, rate = solve_ivp(swing, (slack + s, end), again, **taut).y[:, -1]
        return np.array([l * np.sin(angle), l * rate * np.sin(angle), rate**2 * l + g * np.cos(angle)])

    values = {"g": 9.81, "l": 0.9, "x'": speed}
    for by in values:
        expected = five_point(lambda v, by=by: by_hand(*{**values, by: v}.values()), values[by], 1e-3)
        found = [motion.final.slope(name, by) for name in ("x", "y'", "lambda_rope")]
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-8), by


def test_contacts_that_are_hit_at_once_have_no_slopes():
    corner = ch.System("x y", "e", lagrangian="(x'^2 + y'^2)/2", unilateral={"a": ("x >= 0", "e"), "b": ("y >= 0", "e")})
    start = {"x": 1, "y": 1, "x'": -1, "y'": -1}
    motion = ch.simulate(ch.derive(corner), start, (0, 3), parameters={"e": 0.5}, slopes=["e"])
    assert motion.outcome == "left_domain" and "slopes are not known there" in motion.message
    apart = ch.simulate(ch.derive(corner), {**start, "y": 1.2}, (0, 3), parameters={"e": 0.5}, slopes=["e"])
    assert [apart.final.slope(q, "e") for q in "xy"] == pytest.approx([2, 1.8], rel=1e-9)


def test_rates_of_slopes_by_an_elimination_that_chooses_its_pivots_at_the_state():
    """Variations of a pendulum's angle phi, phi'' = -g sin(phi)/l, in x and y. At phi = 0 and pi/2 one of two possible pivots vanishes."""
    g, l, w = 9.81, 0.8, 4.0
    start = ch.State({"x": 0, "x'": l * w}, {"y": -l})
    motion = ch.simulate(pendulum(), start, (0, 1), parameters={"m": 1.3, "g": g, "l": l}, slopes=["g"])
    piece = motion.slopes.pieces[0]
    state = [z.name for z in piece.setting.flow.state]
    rows, wide, expected = [], [], []
    for phi in (0.0, 1e-9, 0.7, np.pi / 2 - 1e-9, np.pi / 2):
        u, u1 = 0.3, -0.2  # the variation of the angle and of its rate
        x, y = l * np.sin(phi), -l * np.cos(phi)
        now = {"x": x, "y": y, "x'": -y * w, "y'": x * w}
        vary = {"x": -y * u, "y": x * u, "x'": -y * u1 - x * w * u, "y'": x * u1 - y * w * u}
        turn, turned = -g * np.sin(phi) / l, -np.sin(phi) / l - g * np.cos(phi) * u / l
        more = {
            "x'": -y * turned - x * turn * u - 2 * x * w * u1 + y * w**2 * u,
            "y'": x * turned - y * turn * u - 2 * y * w * u1 - x * w**2 * u,
        }
        rows.append([now[z] for z in state])
        wide.append([vary[z] for z in state])
        expected.append([more.get(z, np.nan) for z in state])
    p = np.tile([*piece.setting.parameters(0.0, piece.reference), 1.0, 0.0], (5, 1))
    found, bounds = eliminated_rates(piece.setting, motion.slopes.directions.parameters, np.zeros(5), np.hstack([rows, wide]), p)
    assert np.nanmax(np.abs(found - expected)) < 1e-12 and (np.isfinite(found) == np.isfinite(expected)).all()
    assert np.nanmax(bounds) < 1e-12 and (np.isfinite(bounds) == np.isfinite(expected)).all()
