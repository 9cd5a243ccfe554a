"""Methods: implicit steps for stiff systems, Taylor series for tight tolerances, and what they share."""

import math
import sys

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.methods.taylor import expressions
from chetaev.storage import load

PUSHED = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "mu*(1 - x^2)*x'"}, name="van der Pol"))
SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))
REST = {"x": 1, "x'": 0}
BOTH = [ch.Implicit(), ch.Taylor()]


# ------------------------------------------------------------ stiffness


def test_a_stiff_oscillator_against_a_tight_reference():
    """Van der Pol's oscillator, mu = 100: SciPy's Radau at 1e-12 on rates written by hand."""
    mu = 100.0
    exact = solve_ivp(
        lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, 100),
        [2, 0],
        method="Radau",
        rtol=1e-12,
        atol=1e-14,
        jac=lambda t, y: [[0, 1], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]],
    )
    motion = ch.simulate(PUSHED, {"x": 2, "x'": 0}, (0, 100), parameters={"mu": mu}, tolerance=1e-8, method=ch.Implicit())
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(exact.y[0, -1], abs=1e-6)
    assert motion.final["x'"] == pytest.approx(exact.y[1, -1], abs=1e-7)
    assert motion.drift["balance"] < 1e-2 * abs(motion.energy).max()


def test_a_stiff_decay_takes_few_steps():
    """x'' = -1e6 (x' - cos t): x' follows cos t; an explicit method needs millions of steps."""
    equations = ch.derive(ch.System("x", "c", lagrangian="x'^2/2", forces={"x": "-c*(x' - cos(t))"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 10), parameters={"c": 1e6}, tolerance=1e-8, method=ch.Implicit())
    assert motion.outcome == "finished"
    assert motion.counts["accepted"] < 10_000
    c = 1e6
    assert motion.final["x"] == pytest.approx((c**2 * math.sin(10) + c * (1 - math.cos(10))) / (c**2 + 1), abs=1e-8)
    assert motion.final["x'"] == pytest.approx((c**2 * math.cos(10) + c * math.sin(10)) / (c**2 + 1), abs=1e-8)
    explicit = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 10), parameters={"c": 1e6}, tolerance=1e-8, max_steps=50_000)
    assert explicit.outcome == "step_too_small"


def test_a_stiff_pendulum_stays_on_its_circle():
    """A damped Cartesian pendulum: stiff and constrained, against the equation of its angle."""
    c = 2000.0
    system = ch.System("x y", "c", lagrangian="(x'^2 + y'^2)/2 - 9.81*y", dissipation="c/2*(x'^2 + y'^2)", kinematic=["x^2 + y^2 = 1"])
    start = ch.State({"x": 0.6, "x'": 0}, {"y": -0.8})
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 50), parameters={"c": c}, tolerance=1e-9, method=ch.Implicit())
    exact = solve_ivp(
        lambda t, a: [a[1], -9.81 * math.sin(a[0]) - c * a[1]], (0, 50), [math.asin(0.6), 0], method="Radau", rtol=1e-11, atol=1e-13
    )
    assert motion.final["x"] == pytest.approx(math.sin(exact.y[0, -1]), abs=1e-8)
    assert max(size for label, size in motion.drift.items() if label != "balance") < 1e-12
    speed, height = exact.y[1, -1], -math.cos(exact.y[0, -1])
    assert motion.final["lambda1"] == pytest.approx((9.81 * height - speed**2) / 2, abs=1e-7)


# ------------------------------------------------------------ Taylor series


@pytest.mark.parametrize("name", ["cartesian-pendulum", "rocard", "sleigh", "disk-contact"])
def test_taylor_series_and_the_default_method_agree(name):
    model = ch.gallery(name)
    one = ch.simulate(model, t=(0, 4), tolerance=1e-15, method=ch.Taylor())
    two = ch.simulate(model, t=(0, 4), tolerance=1e-14)
    assert one.outcome == "finished"
    for z in one.final:
        assert one.final[z] == pytest.approx(two.final[z], abs=2e-13)
    assert one.final["lambda1"] == pytest.approx(two.final["lambda1"], abs=2e-12)
    assert max(size for label, size in one.drift.items() if label != "balance") < 1e-14


def test_taylor_series_reach_round_off_between_the_nodes_too():
    motion = ch.simulate(SPRING, REST, (0, 100), tolerance=1e-15, method=ch.Taylor())
    t = np.linspace(0, 100, 501)
    assert np.abs(motion.at(t)["x"] - np.cos(t)).max() < 5e-14
    assert np.abs(motion.at(t)["x''"] + np.cos(t)).max() < 5e-14


def test_the_cube_of_zero_is_zero():
    """heyoka's own power is not a number there."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^4/4 + x^(7/2)*0 - (x + 1)^(5/2)/9 - 1/(x + 2)^3"))
    one = ch.simulate(equations, {"x": 0, "x'": 0.4}, (0, 3), tolerance=1e-15, method=ch.Taylor())
    two = ch.simulate(equations, {"x": 0, "x'": 0.4}, (0, 3), tolerance=1e-14)
    assert one.final["x"] == pytest.approx(two.final["x"], abs=1e-13)


def test_every_smooth_operation_is_converted():
    heyoka = pytest.importorskip("heyoka")
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    names = "sin cos tan asin acos atan sinh cosh tanh asinh exp log sqrt".split()
    graphs = [getattr(ca, name)(x) for name in names]
    graphs += [ca.acosh(1 + y), ca.atanh(x), ca.atan2(x, y), x**5, x**-3, x**2.5, x**-0.5, x**y, x**0.37, -x / y + 2 * x, 1 / x]
    function = ca.Function("all", [x, y], [ca.densify(ca.vertcat(*graphs))])
    a, b = heyoka.make_vars("a", "b")
    made = heyoka.cfunc(expressions(function, [[a], [b]]), vars=[a, b])
    for point in ([0.3, 0.8], [0.77, 2.1]):
        assert made(np.array(point)) == pytest.approx(np.array(function(*point)).ravel(), rel=1e-13)
    with pytest.raises(ch.UsageError, match="no Taylor series"):
        expressions(ca.Function("corner", [x], [ca.fabs(x)]), [[a]])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "heyoka", None)
    with pytest.raises(ch.UsageError) as caught:
        ch.simulate(ch.derive(ch.System("x", lagrangian="x'^2/2 - x^6")), REST, (0, 1), method=ch.Taylor())
    assert '-> pip install "chetaev[taylor]"' in str(caught.value)


# ------------------------------------------------------------ what all methods share


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_events_times_and_the_end_only(method):
    motion = ch.simulate(SPRING, REST, (0, 10), tolerance=1e-11, method=method, events=["x", ch.On("x'", direction=1)])
    wanted = [math.pi / 2, math.pi, 3 * math.pi / 2, 5 * math.pi / 2, 3 * math.pi]
    assert [e.t for e in motion.events] == pytest.approx(wanted, abs=1e-8)
    stopped = ch.simulate(SPRING, REST, (0, 10), tolerance=1e-11, method=method, events=[ch.On("x - 1/2", terminal=True)])
    assert stopped.outcome == "event"
    assert stopped.end[0] == pytest.approx(math.pi / 3, abs=1e-10)
    times = np.array([0, 1, 2.5, 7.0])
    kept = ch.simulate(SPRING, REST, times, tolerance=1e-11, method=method)
    assert np.array_equal(kept.t, times)
    assert kept["x"] == pytest.approx(np.cos(times), abs=1e-8)
    final = ch.simulate(SPRING, REST, (0, 7), tolerance=1e-11, method=method, keep="final")
    assert len(final) == 1
    assert final.final["x"] == pytest.approx(math.cos(7), abs=1e-9)
    assert final.extrema["x"][0] < -0.95


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_dry_friction_sticks(method):
    equations = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x')"}))
    motion = ch.simulate(equations, {"x": 3, "x'": 0}, (0, 20), parameters={"mu": 0.45}, method=method, tolerance=1e-11)
    assert [s.t for s in motion.switches] == pytest.approx([math.pi, 2 * math.pi, 3 * math.pi], abs=1e-9)
    assert motion.final["x"] == pytest.approx(-0.3, abs=1e-9)
    assert motion.final["x'"] == 0.0


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_inputs_backwards_and_budgets(method):
    pushed = ch.derive(ch.System("x", "w", lagrangian="x'^2/2 + x*u", inputs={"u": "sin(w*t)"}))
    motion = ch.simulate(pushed, {"x": 0, "x'": 0}, (0, 3), parameters={"w": 2}, tolerance=1e-11, method=method)
    assert motion.final["x"] == pytest.approx(1.5 - math.sin(6) / 4, abs=1e-10)
    back = ch.simulate(pushed, motion.final, (3, 0), parameters={"w": 2}, tolerance=1e-11, method=method)
    assert back.final["x"] == pytest.approx(0.0, abs=1e-9)
    short = ch.simulate(SPRING, REST, (0, 1e6), max_steps=20, method=method)
    assert short.outcome == "step_too_small"
    assert "20 steps" in short.message


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_a_singular_locus_and_a_blow_up_end_the_motion(method):
    model = ch.gallery("cart-pendulum", friction=False)
    motion = ch.simulate(model, {"x": 0, "theta": 0.5, "theta'": 2.0}, (0, 20), parameters={"a": -4.0}, method=method, tolerance=1e-8)
    assert motion.outcome == "left_domain"
    assert "cos(theta)" in motion.message
    rising = ch.derive(ch.System("x", lagrangian="x'^2/2 + 2*x^3"))
    motion = ch.simulate(rising, {"x": 1, "x'": 2}, (0, 2), method=method)
    assert motion.outcome in ("step_too_small", "left_domain")
    assert motion.end[0] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_motions_of_other_methods_come_back_from_files(method, tmp_path):
    motion = ch.simulate(ch.gallery("cartesian-pendulum"), t=(0, 2), method=method, tolerance=1e-8)
    back = load(motion.save(tmp_path / "f.npz"))
    t = np.linspace(0, 2, 31)
    assert np.array_equal(back.at(t)["lambda1"], motion.at(t)["lambda1"])
    assert back.verify().worst == motion.verify().worst < 1e-5


def test_what_is_no_method_is_refused():
    with pytest.raises(ch.UsageError, match="not a method"):
        ch.simulate(SPRING, REST, (0, 1), method="radau")
    assert ch.Implicit() == ch.Implicit()
    assert ch.Implicit() != ch.Taylor()
