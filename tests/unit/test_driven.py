"""Inputs as samples, Python functions, formulas of the state and controllers, against SciPy and closed forms."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import chetaev as ch
from chetaev.core.errors import ParameterError, PrincipleError, UsageError
from chetaev.numerics.driving.functions import samples_of
from chetaev.numerics.driving.polynomials import polynomials_of
from chetaev.numerics.motion.settings import model_of

OSCILLATOR = ch.derive(ch.System("x", "m k", lagrangian="m*x'^2/2 - k*x^2/2", forces={"x": "u"}, inputs={"u": None}))
VALUES = {"m": 1.3, "k": 2.1}
START = {"x": 0.1, "x'": 0}
TIMES = np.linspace(0, 5, 11)
SAMPLES = np.sin(3 * TIMES)


def run(u, t=(0, 5), tolerance=1e-11, **more):
    return ch.simulate(OSCILLATOR, START, t, parameters=VALUES, inputs={"u": u}, tolerance=tolerance, **more)


def by_scipy(u, ends):
    """The end of the oscillation, piece by piece."""
    y = np.array([0.1, 0.0])
    for a, b in pairwise(ends):
        y = solve_ivp(lambda t, y: [y[1], (u(t) - 2.1 * y[0]) / 1.3], (a, b), y, method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    return y


@pytest.mark.parametrize(
    ("given", "function"),
    [
        ((TIMES, SAMPLES), lambda t: np.interp(t, TIMES, SAMPLES)),
        (ch.Sampled(TIMES, SAMPLES, "cubic"), CubicSpline(TIMES, SAMPLES, bc_type="natural")),
    ],
)
def test_samples_drive_a_motion(given, function):
    motion = run(given)
    assert motion.outcome == "finished"
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(by_scipy(function, TIMES), abs=1e-11)
    inside = np.linspace(0.03, 4.9, 40)
    assert motion.at(inside)["u"] == pytest.approx(function(inside), abs=1e-14)
    assert set(TIMES) <= set(motion.t) and motion.verify().worst < 1e-8


def test_held_samples_jump_and_last():
    motion = run(ch.Sampled(TIMES, SAMPLES, "hold"), t=(0, 7))
    assert motion.at([0.2, 0.5, 6.3])["u"] == pytest.approx(SAMPLES[[0, 1, -1]], abs=0)
    w, y = math.sqrt(2.1 / 1.3), np.array([0.1, 0.0])
    for u, h in [*zip(SAMPLES[:-1], np.diff(TIMES), strict=True), (SAMPLES[-1], 2.0)]:
        rest, c, s = u / 2.1, math.cos(w * h), math.sin(w * h)
        y = np.array([rest + (y[0] - rest) * c + y[1] / w * s, -w * (y[0] - rest) * s + y[1] * c])
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(y, abs=1e-11)
    back = ch.simulate(OSCILLATOR, dict(motion.final), (7, 0), parameters=VALUES, inputs={"u": ch.Sampled(TIMES, SAMPLES, "hold")})
    assert back.final["x"] == pytest.approx(0.1, abs=1e-8)


def test_a_function_of_time_keeps_its_jump():
    def u(t):
        return math.sin(t) + (t > 2.3)

    motion = run(u)
    early = by_scipy(math.sin, [0, 2.3])
    late = solve_ivp(lambda t, y: [y[1], (u(t + 1e-9) - 2.1 * y[0]) / 1.3], (2.3, 5), early, method="DOP853", rtol=1e-12, atol=1e-14)
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(late.y[:, -1], abs=1e-8)
    assert "Python function" in str(motion.certificate) and "cannot be enclosed" in str(motion.certificate)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_samples_of_functions_agree_with_them(scale):
    def u(t):
        return scale * (np.exp(-t / scale) + np.abs(t / scale - 0.7))

    found = polynomials_of(samples_of(u, 0.0, 2 * scale, 1e-9, "test"))
    times = np.random.default_rng(3).uniform(0, 2 * scale, 200)
    assert [found(t) for t in times] == pytest.approx(u(times), abs=1e-9 * scale)


def test_a_controller_is_asked_once_a_period():
    calls = []

    def brake(t, state):
        calls.append(t)
        return -3 * state["x"] - 2 * state["x'"]

    motion = run(ch.Feedback(brake, 0.01))
    w, h, y = math.sqrt(2.1 / 1.3), 0.01, np.array([0.1, 0.0])
    c, s = math.cos(w * h), math.sin(w * h)
    for _ in range(500):
        rest = (-3 * y[0] - 2 * y[1]) / 2.1
        y = np.array([rest + (y[0] - rest) * c + y[1] / w * s, -w * (y[0] - rest) * s + y[1] * c])
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(y, abs=1e-11)
    assert calls == pytest.approx(0.01 * np.arange(500), abs=1e-12)


def test_a_formula_of_the_state_is_a_feedback():
    motion = run("-k*x - m*x'")
    known = solve_ivp(lambda t, y: [y[1], -2 * 2.1 / 1.3 * y[0] - y[1]], (0, 5), [0.1, 0], method="DOP853", rtol=1e-12, atol=1e-14)
    assert motion.final["x"] == pytest.approx(known.y[0, -1], abs=1e-11)
    assert motion["u"] == pytest.approx(-2.1 * motion["x"] - 1.3 * motion["x'"], abs=1e-14)
    now = ch.evaluate(OSCILLATOR, {"x": 0.1, "x'": 0.2}, parameters=VALUES, inputs={"u": "-k*x - m*x'"})
    assert now["x''"] == pytest.approx((-4.2 * 0.1 - 1.3 * 0.2) / 1.3, abs=1e-15)
    system = ch.System("x", lagrangian="x'^2/2 - u*x^2/2", inputs={"u": None})
    with pytest.raises(PrincipleError, match="the Lagrangian contains it"):
        ch.simulate(ch.derive(system), START, (0, 1), inputs={"u": "x"})


def test_evaluate_takes_samples():
    now = ch.evaluate(OSCILLATOR, {"x": 0.1, "x'": 0.2}, parameters=VALUES, t=1.2, inputs={"u": (TIMES, SAMPLES)})
    assert now["x''"] == pytest.approx((np.interp(1.2, TIMES, SAMPLES) - 0.21) / 1.3, abs=1e-14)
    with pytest.raises(UsageError, match="along a motion only"):
        ch.evaluate(OSCILLATOR, START, parameters=VALUES, inputs={"u": math.sin})


@pytest.mark.parametrize(
    "given",
    [
        (TIMES, SAMPLES),
        ch.Sampled(TIMES, SAMPLES, "hold"),
        lambda t: math.cos(t) + (t > 1),
        ch.Feedback(lambda t, state: -state["x"], 0.25),
    ],
    ids=["linear", "hold", "function", "feedback"],
)
def test_files_keep_what_drove_a_motion(given, tmp_path):
    motion = run(given, tolerance=1e-9)
    times = np.linspace(0, 5, 23)
    for again in (ch.load(motion.save(tmp_path / "motion.npz")), pickle.loads(pickle.dumps(motion))):  # noqa: S301 - our own bytes
        assert np.array_equal(again.at(times)["x"], motion.at(times)["x"]) and np.array_equal(again["u"], motion["u"])
        assert again.certificate == motion.certificate
    repeated = ch.simulate(ch.load(ch.save(model_of(motion), tmp_path / "model.toml")))
    assert np.array_equal(repeated.states, motion.states)
    assert "samples" in ch.report(motion).html


def test_a_constraint_follows_a_spline_but_no_corner():
    """x = u prescribes the motion; the reaction is m*u''."""
    equations = ch.derive(
        ch.System("x y", "m", lagrangian="m*(x'^2 + y'^2)/2", kinematic=["x = u"], inputs={"u": None}), ch.DAlembert()
    )  # fmt: skip
    start, spline = {"y": 0.1, "y'": 0}, CubicSpline(TIMES, SAMPLES, bc_type="natural")
    motion = ch.simulate(equations, start, (0, 5), parameters={"m": 2}, inputs={"u": ch.Sampled(TIMES, SAMPLES, "cubic")})
    assert motion.outcome == "finished"
    assert motion["lambda1"] == pytest.approx(2 * spline(motion.t, 2), abs=1e-9)
    motion = ch.simulate(equations, start, (0, 5), parameters={"m": 2}, inputs={"u": (TIMES, SAMPLES)})
    assert motion.outcome == "left_domain" and motion.end[0] == 0.5 and "cubic" in motion.message


def test_a_jump_of_an_input_sets_a_block_in_motion():
    """Dry friction holds the block until the force jumps above it."""
    equations = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2", forces={"x": "u - mu*sign(x')"}, inputs={"u": None}))
    force = ch.Sampled([0, 1, 2, 4], [0.5, 3, 0.2, 0], "hold")
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 4), parameters={"mu": 1}, inputs={"u": force})
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx([3.4, 0.4], abs=1e-9)
    assert [(s.t, s.before, s.after) for s in motion.switches] == [(1.0, 0, 1)]


def test_slopes_pass_breakpoints():
    force = ch.Sampled(TIMES, SAMPLES, "hold")
    slope = run(force, slopes=["k", "x'"]).final.slope
    step = 1e-5

    def end(k):
        return ch.simulate(OSCILLATOR, START, (0, 5), parameters={**VALUES, "k": k}, inputs={"u": force}, tolerance=1e-13).final["x"]

    around = end(2.1 - step), end(2.1 + step)
    assert slope("x", "k") == pytest.approx((around[1] - around[0]) / (2 * step), rel=1e-7)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0, 1, 2], [0, 1, 2]), "from t = 0 to 2, and the motion from t = 0 to 5"),
        (np.arange(5), "array of shape (5,)"),
        (([0, 9, 5], [1, 2, 3]), "not in order"),
        (([0, 3, 9], [1, math.nan, 3]), "values[1] = nan"),
        (([0, 9], [1, 2, 3]), "2 times and 3 values"),
        (lambda t: "fast", "returns str"),
        (lambda t: math.inf, "is inf"),
        (ch.Feedback(lambda t, state: math.nan, 0.1), "returns nan"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(ParameterError) as caught:
        run(given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "u", [(TIMES, SAMPLES), ch.Sampled(TIMES, SAMPLES, "hold"), math.sin, ch.Feedback(lambda t, state: -state["x'"], 0.1), "-0.3*x'"]
)
def test_ensembles_are_driven_as_motions_are(u):
    """Each member, its slope and its accelerations; the motions of `simulate` are compared with closed forms above."""
    starts, values = [0.1, 0.2], {**VALUES, "k": [1.0, 2.0]}
    settings = {"inputs": {"u": u}} if isinstance(u, ch.Feedback) else {"inputs": {"u": u}, "slopes": ["k"]}
    many = ch.simulate_many(OSCILLATOR, {"x": starts, "x'": 0}, (0, 3), parameters=values, **settings)
    for member, (x, k) in enumerate(zip(starts, values["k"], strict=True)):
        alone = ch.simulate(OSCILLATOR, {"x": x, "x'": 0}, (0, 3), parameters={**VALUES, "k": k}, keep="final", **settings)
        assert [many.final[z][member] for z in ("x", "x'", "x''")] == [alone.final[z] for z in ("x", "x'", "x''")]
        if "slopes" in settings:
            assert many.slope("x", "k")[member] == alone.final.slope("x", "k")


def test_a_prepared_motion_takes_formulas_of_the_state_and_refuses_samples():
    run = ch.prepare(OSCILLATOR, (0, 3), inputs={"u": "-0.3*x'"}, outputs=["x"])
    m, k = VALUES["m"], VALUES["k"]
    d, w = 0.3 / (2 * m), math.sqrt(k / m - (0.3 / (2 * m)) ** 2)
    closed = 0.1 * math.exp(-3 * d) * (math.cos(3 * w) + d / w * math.sin(3 * w))
    assert run(*run.start({"x": 0.1, "x'": 0}, parameters=VALUES))[0] == pytest.approx(closed, abs=1e-9)
    with pytest.raises(ParameterError, match=r"cannot drive u here\..* simulate_many"):
        ch.prepare(OSCILLATOR, (0, 3), inputs={"u": (TIMES, SAMPLES)})


def test_other_refusals():
    with pytest.raises(UsageError, match="a motion with a Feedback has no slopes"):
        run(ch.Feedback(lambda t, state: -state["x"], 0.1), slopes=["k"])
    with pytest.raises(UsageError, match="runs forwards"):
        run(ch.Feedback(lambda t, state: 0.0, 0.1), t=(5, 0))
    with pytest.raises(UsageError, match="not an interpolation"):
        ch.Sampled([0, 1], [0, 1], "quintic")


@pytest.mark.parametrize("unit", [1e-9, 1.0, 7.0])
@pytest.mark.parametrize("early", [0, 1e-15, 1e-14, 3e-13, -1e-14])
def test_an_impact_at_a_breakpoint_is_met_once(unit, early):
    """A body falls from 1 to 0 in one unit of time, where the samples of a force that vanishes have a breakpoint, up to round-off."""
    falling = ch.System("x", "g", lagrangian="x'^2/2 - g*x", forces={"x": "u"}, inputs={"u": None})
    samples, end = ([0, unit * (1 - early), 3 * unit], [0, 0, 0]), 1.7 * unit
    bounce = ch.On("x", direction=-1, reset={"x'": "-x'/2"})

    def fall(event):
        start = {"x": 1, "x'": 0}
        return ch.simulate(ch.derive(falling), start, (0, end), parameters={"g": 2 / unit**2}, inputs={"u": samples}, events=[event])

    assert [e.t for e in fall(bounce).events] == pytest.approx([unit], rel=1e-11)
    assert fall(bounce).final["x"] == pytest.approx(0.7 - 0.49, abs=1e-9)
    assert [e.t for e in fall(ch.On("x")).events] == pytest.approx([unit], rel=1e-11)
    assert fall(ch.On("x", terminal=True)).outcome == "event"


@pytest.mark.parametrize("method", [None, ch.Taylor(), ch.Implicit()])
def test_a_time_of_samples_may_be_an_event(method):
    u, kick = ([0, 1, 1, 3], [1, 1, -2, -2]), ch.On("t - 1", reset={"x'": "0.2 - x'/2"})
    motion = run(u, t=(0, 3), events=[kick], **({"method": method} if method else {}))
    w, y = math.sqrt(2.1 / 1.3), np.array([0.1, 0.0])
    for force, h, after in ((1, 1, lambda v: 0.2 - v / 2), (-2, 2, lambda v: v)):
        rest, c, s = force / 2.1, math.cos(w * h), math.sin(w * h)
        y = np.array([rest + (y[0] - rest) * c + y[1] / w * s, after(-w * (y[0] - rest) * s + y[1] * c)])
    assert len(motion.events) == 1 and [motion.final["x"], motion.final["x'"]] == pytest.approx(y, abs=1e-9)


@pytest.mark.parametrize("u", [([0, 1, 1, 3], [1, 1, 4, 4]), ch.Sampled([0, 1], [1, 4], "hold"), lambda t: 1.0 if t < 1 else 4.0])
def test_a_mass_that_jumps_keeps_the_momentum(u):
    equations = ch.derive(ch.System("x", lagrangian="u*x'^2/2", inputs={"u": None}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3), inputs={"u": u})
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx([1.5, 0.25], abs=1e-9)
    assert motion.outcome == "finished" and np.abs(motion.balance).max() < 1e-9
    back = ch.simulate(equations, dict(motion.final), (3, 0), inputs={"u": u})
    assert [back.final["x"], back.final["x'"]] == pytest.approx([0, 1], abs=1e-9)


@pytest.mark.parametrize("rows", [(), ("x^2 + y^2 = 1",)])
def test_inputs_that_jump_in_momenta_move_as_formulas_do(rows):
    equations = ch.derive(
        ch.System("x y", lagrangian="(2 + u)*(x'^2 + y'^2)/2 + u*x'*y'/3 + w*x' - 9*y", kinematic=rows, inputs={"u": None, "w": None}),
        ch.DAlembert() if rows else ch.Hamilton(),
    )  # fmt: skip
    start = ch.State({"x": 0.6, "x'": 0.5, **({} if rows else {"y": -0.8, "y'": 0.3})}, guess={"y": -0.8} if rows else {})
    samples = {"u": ([0, 1, 1, 3], [1, 1, 1.5, 1.2]), "w": ch.Sampled([0, 0.5, 2], [0, 1, -0.5], "hold")}
    formulas = {"u": "piecewise(t - 1, 1, 1.65 - 0.15*t)", "w": "step(t - 0.5) - 1.5*step(t - 2)"}
    ends = [ch.simulate(equations, start, (0, 3), inputs=given, tolerance=1e-11).final for given in (samples, formulas)]
    assert [ends[0][z] for z in ("x", "y", "x'", "y'")] == pytest.approx([ends[1][z] for z in ("x", "y", "x'", "y'")], abs=1e-8)


def test_a_jump_in_momenta_of_higher_order_is_not_passed():
    equations = ch.derive(ch.System("x", lagrangian="x''^2/2 + u*x''", inputs={"u": None}))
    start = {"x": 1, "x'": 0, "x''": 0, "x'''": 0}
    motion = ch.simulate(equations, start, (0, 3), inputs={"u": ([0, 1, 1, 3], [1, 1, 3, 3])})
    assert motion.outcome == "left_domain" and motion.end[0] == 1 and "momenta jump" in motion.message


def test_the_derivative_of_an_input_far_away():
    """The power needs u', whose parts are no doubles beyond t = 710; x(t) = cos(t) + the integral of sin(t - s)*u(s) from 0 to t."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2 + u*x", inputs={"u": None}))
    given = {"inputs": {"u": "1/cosh(t)^2"}, "tolerance": 1e-11}
    right = 0.836522360509681
    start = {"x": 1, "x'": 0}
    assert ch.simulate(equations, start, (0, 1000), **given).final["x"] == pytest.approx(right, abs=1e-8)
    assert ch.simulate(equations, start, (0, 1000), keep="final", method=ch.Implicit(), **given).final["x"] == pytest.approx(
        right, abs=1e-8
    )
    assert ch.simulate_many(equations, {"x": [1.0], "x'": 0}, (0, 1000), **given).final["x"] == pytest.approx([right], abs=1e-8)
    assert ch.evaluate(equations, start, t=1000, inputs=given["inputs"])["x''"] == pytest.approx(-1)
    assert ch.simulate(equations, start, (0, 1000), method=ch.Taylor(), **given).outcome in ("finished", "left_domain")
