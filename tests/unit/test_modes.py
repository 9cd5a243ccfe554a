"""sign, abs, min and max along motions: switching, sliding, and what cannot be decided."""

import math

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import chetaev as ch
from chetaev.core.support.frozen import Frozen
from chetaev.numerics.corners.mode import SLIDING
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.corners.sliding import sliding
from chetaev.numerics.motion.storage import load, save

DRY = ch.derive(ch.System("x", "m k mu", lagrangian="m/2*x'^2 - k/2*x^2", forces={"x": "-mu*sign(x')"}, name="dry"))
CORNER = ch.derive(ch.System("x", lagrangian="x'^2/2 - abs(x)", name="corner"))
SLOPE = ch.derive(ch.System("x", "m g a mu", lagrangian="m/2*x'^2 + m*g*x*sin(a)", dissipation="mu*m*g*cos(a)*abs(x')", name="slope"))


def ways(motion):
    return [(s.text, s.before, s.after) for s in motion.switches]


# ------------------------------------------------------------ equations without corners


def test_equal_switching_functions_share_a_mode():
    system = ch.System(
        "x y",
        {"r": "positive", "c": "real"},
        lagrangian="(x'^2 + y'^2)/2 - abs(x - y)",
        forces={"x": "-sign(2*y - 2*x) - sign(r*x')", "y": "-max(x, y) - min(-3*x', 0)*c"},
    )
    switched = smooth(ch.derive(system), Frozen({}))
    assert {mode.text for mode in switched.modes} == {"x - y", "x'"}


@pytest.mark.parametrize("values", [(0.7, -1.3, 0.4), (-0.7, 0.2, -2.0), (1.5, 1.1, 0.3)])
def test_modes_at_the_signs_of_their_functions_change_nothing(values):
    """Every row of the smooth equations equals the original one off the surfaces; nested corners too."""
    system = ch.System(
        "x y",
        "c",
        lagrangian="(x'^2 + y'^2)/2 - abs(abs(x) - c) - max(x, min(y, 2*x))",
        dissipation="abs(x' - y')",
        kinematic=["y' = abs(x)*x' + sign(y)"],
        variational=["δy = max(x, y)*δx"],
    )
    equations = ch.derive(system, ch.VirtualWork())
    switched = smooth(equations, Frozen({}))
    x, y, c = values
    point = {"x": x, "y": y, "c": c, "x'": 0.3, "y'": -0.8, "x''": 1.1, "y''": 0.6, "lambda1": 0.9}

    def number(e):
        return float(e.subs({z: point[z.name] for z in e.free_symbols}).doit().replace(_is_corner, _plain))

    signs = {}
    for mode in switched.modes:  # inner ones come first
        signs[mode.symbol] = float(np.sign(number(mode.function.xreplace(signs))))
    for row, other in zip(equations.rows, switched.smooth.rows, strict=True):
        assert number(other.residual.xreplace(signs)) == pytest.approx(number(row.residual), abs=1e-13)


def _is_corner(e):
    return type(e).__name__ in ("Sign", "Magnitude", "Minimum", "Maximum")


def _plain(e):
    return {"Sign": sympy.sign, "Magnitude": sympy.Abs, "Minimum": sympy.Min, "Maximum": sympy.Max}[type(e).__name__](*e.args)


def test_sliding_adds_one_unknown_and_one_row():
    """Dry friction at rest: offsets c = (0, 1), d = (2, 0)."""
    from chetaev.mechanics.structure import structure

    switched = smooth(DRY, Frozen({}))
    equations = switched.equations((SLIDING,))
    found = structure(equations)
    assert equations.counts == (2, 2)
    assert found.row_offsets == (0, 1)
    assert found.unknown_offsets == (2, 0)
    assert equations == sliding(switched.smooth, switched.modes)


def test_sliding_takes_the_mean_of_both_sides():
    """Filippov: a force sign(x')^2 is 1 on both sides, so it is 1 between them, whatever m is."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "sign(x')^2/2 - sign(x')"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3))
    assert ways(motion) == [("x'", 1, 0)]
    assert motion.switches[0].t == pytest.approx(2.0, abs=1e-12)
    assert motion.mode("x'")[-1] == pytest.approx(0.5)


# ------------------------------------------------------------ closed forms


def test_a_dry_friction_oscillator_loses_the_same_amplitude_in_every_half_swing_and_sticks():
    """m x'' + k x = -mu sign(x'): turning points +-(x0 - 2 n mu/k) at n pi/w, at rest once |k x| <= mu."""
    m, k, mu, x0 = 0.8, 2.5, 0.11, 1.0
    motion = ch.simulate(DRY, {"x": x0, "x'": 0}, (0, 60), parameters={"m": m, "k": k, "mu": mu}, tolerance=1e-11)
    half = math.pi * math.sqrt(m / k)
    turns = [x0]
    while turns[-1] > mu / k:
        turns.append(abs(turns[-1] - 2 * mu / k))
    assert motion.outcome == "finished"
    assert len(motion.switches) == len(turns) - 1 == 11
    for n, switch in enumerate(motion.switches, start=1):
        assert switch.t == pytest.approx(n * half, abs=1e-9)
        assert motion.at(switch.t)["x"] == pytest.approx((-1) ** n * turns[n], abs=1e-9)
    assert ways(motion)[-1] == ("x'", -1, SLIDING)
    assert motion.final["x'"] == 0.0
    assert motion.drift["balance"] < 1e-9


def test_the_long_run_of_dry_friction_needs_few_evaluations():
    """19 switches in T = 60; with sign() itself the error control takes hundreds of thousands of evaluations."""
    motion = ch.simulate(DRY, {"x": 4.07, "x'": 0}, (0, 60), parameters={"m": 1, "k": 1, "mu": 0.1})
    assert len(motion.switches) == 19
    assert motion.counts["evaluations"] < 5000
    assert motion.final["x"] == pytest.approx(-0.1 - 0.17 * math.cos(60 - 19 * math.pi), abs=2e-8)  # the last half swing, about -mu/k


def test_values_on_each_side_and_while_it_sticks():
    motion = ch.simulate(DRY, {"x": 1, "x'": 0}, (0, 20), parameters={"m": 1, "k": 1, "mu": 0.35})
    rest = motion.t > motion.switches[-1].t
    moving = motion.t < motion.switches[0].t
    assert set(motion["sign(x')"][rest]) == {0.0}
    assert set(motion["sign(x')"][moving][1:]) == {-1.0}
    assert motion["x''"][rest] == pytest.approx(0.0, abs=1e-14)
    friction = -0.35 * motion.mode("x'")
    assert friction[rest] == pytest.approx(motion["x"][rest], abs=1e-12)  # it holds the spring
    assert motion["x''"] == pytest.approx(-motion["x"] + friction, abs=1e-12)
    with pytest.raises(ch.UsageError, match="no switching function"):
        motion.mode("x")


def test_times_of_switches_occur_twice_with_the_values_of_both_sides():
    motion = ch.simulate(CORNER, {"x": 1, "x'": 0}, (0, 5), tolerance=1e-11)
    first = int(np.flatnonzero(np.diff(motion.t) == 0)[0])
    assert motion["x''"][first : first + 2] == pytest.approx([-1.0, 1.0])
    assert motion.at(motion.t[first])["x''"] == pytest.approx(1.0)
    assert motion["x'"][first] == motion["x'"][first + 1]


def test_a_corner_in_the_potential_gives_arcs_of_parabolas():
    """L = x'^2/2 - |x|: a quarter of a swing takes sqrt(2), arcs x = 1 - t^2/2."""
    motion = ch.simulate(CORNER, {"x": 1, "x'": 0}, (0, 50))
    assert [s.t for s in motion.switches] == pytest.approx([math.sqrt(2) * (1 + 2 * n) for n in range(18)], abs=1e-10)
    t = np.linspace(0, 50, 333)
    phase = np.mod(t + math.sqrt(2), 4 * math.sqrt(2))
    exact = np.where(phase < 2 * math.sqrt(2), 1 - (phase - math.sqrt(2)) ** 2 / 2, (phase - 3 * math.sqrt(2)) ** 2 / 2 - 1)
    assert motion.at(t)["x"] == pytest.approx(exact, abs=1e-9)
    assert np.ptp(motion.energy) < 1e-10
    assert motion.verify().worst < 1e-8


def test_rest_in_a_corner_is_sliding_of_second_order():
    motion = ch.simulate(CORNER, {"x": 0, "x'": 0}, (0, 5))
    assert motion.final["x"] == 0.0
    assert motion.mode("x")[0] == pytest.approx(0.0)
    pulled = ch.derive(ch.System("x", lagrangian="x'^2/2 - abs(x) + x*t/2"))
    motion = ch.simulate(pulled, {"x": 0, "x'": 0}, (0, 4), tolerance=1e-11)
    assert motion.switches[0].t == pytest.approx(2.0, abs=1e-10)
    assert motion.final["x"] == pytest.approx(2**3 / 12, abs=1e-9)  # x'' = (t - 2)/2


@pytest.mark.parametrize("mu", [0.3, 0.8])
def test_a_block_pushed_up_a_slope_comes_back_or_stays(mu):
    m, g, a, v = 2.0, 9.81, math.pi / 6, 2.0
    motion = ch.simulate(SLOPE, {"x": 0, "x'": -v}, (0, 3), parameters={"m": m, "g": g, "a": a, "mu": mu}, tolerance=1e-11)
    up = g * (math.sin(a) + mu * math.cos(a))
    down = g * (math.sin(a) - mu * math.cos(a))
    turn, height = v / up, v**2 / (2 * up)
    assert motion.switches[0].t == pytest.approx(turn, abs=1e-11)
    if down > 0:
        assert motion.final["x"] == pytest.approx(-height + down * (3 - turn) ** 2 / 2, abs=1e-9)
    else:
        assert motion.final["x"] == pytest.approx(-height, abs=1e-11)
        assert motion.mode("x'")[-1] == pytest.approx(math.tan(a) / mu, abs=1e-12)


def test_two_roots_of_a_switching_function_in_one_step_are_seen():
    """max and min of polynomials: each arc is exact, steps are huge, and x^2 - 2 vanishes twice in one of them."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - max(x, -2*x) - min(x^2/2, 1)"))
    motion = ch.simulate(equations, {"x": 2, "x'": 0}, (0, 20), tolerance=1e-11)
    fall = math.sqrt(2 * (2 - math.sqrt(2)))
    assert motion.switches[0].t == pytest.approx(fall, abs=1e-10)
    inner = [s for s in motion.switches if s.text == "x^2 - 2"]
    assert [s.after for s in inner] == [-1, 1] * 3 + [-1]
    assert np.ptp(motion.energy) < 1e-9
    assert motion.verify().worst < 1e-7


def test_two_stick_slip_blocks_against_the_balance_of_forces():
    """A block on a plank on the ground: the plank moves when the drive exceeds the ground's friction, the block stays on it at first."""
    equations = ch.derive(
        ch.System(
            "x y",
            "mu nu A w",
            lagrangian="x'^2/2 + y'^2",
            dissipation="mu*abs(y') + nu*abs(x' - y')",
            forces={"y": "A*t"},
            name="plank",
        )
    )
    mu, nu = 0.7, 0.5
    motion = ch.simulate(equations, {"x": 0, "y": 0, "x'": 0, "y'": 0}, (0, 4), parameters={"mu": mu, "nu": nu, "A": 1, "w": 0})
    assert ways(motion) == [("y'", 0, 1), ("x' - y'", 0, -1)]
    assert motion.switches[0].t == pytest.approx(mu, abs=1e-9)  # A t = mu
    assert motion.switches[1].t == pytest.approx(mu + 3 * nu, abs=1e-9)  # common acceleration (t - mu)/3 = nu
    t1, t2 = mu, mu + 3 * nu
    speed = (t2 - t1) ** 2 / 6
    assert motion.final["x'"] == pytest.approx(speed + nu * (4 - t2), abs=1e-9)
    assert motion.final["y'"] == pytest.approx(speed + ((4 - mu - nu) ** 2 - (t2 - mu - nu) ** 2) / 4, abs=1e-9)
    assert motion.verify().worst < 1e-8


# ------------------------------------------------------------ an independent integration


def reference(m, c, k, mu, w, a, end):
    """Stick-slip by SciPy, event by event: x and x' at the end, and the times of all changes."""

    def push(t):
        return a * math.cos(w * t)

    t, x, v, times = 0.0, 0.0, 0.0, []
    mode = 0 if abs(push(0)) <= mu else np.sign(push(0))
    while t < end:
        if mode == 0:
            grid = np.linspace(t, end, 20001)[1:]
            over = np.flatnonzero(np.abs(a * np.cos(w * grid) - k * x) > mu)
            if not len(over):
                return x, 0.0, times
            last = grid[over[0]]
            t = brentq(lambda s, x=x: mu - abs(push(s) - k * x), max(t, last - (end - t) / 20000), last, xtol=1e-14)
            mode, v = np.sign(push(t) - k * x), 0.0
        else:

            def rates(s, y, mode=mode):
                return [y[1], (push(s) - k * y[0] - c * y[1] - mu * mode) / m]

            def halts(s, y):
                return y[1]

            halts.terminal, halts.direction = True, -mode
            options = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}
            first = solve_ivp(rates, (t, t + 1e-6), [x, v], **options)
            run = solve_ivp(rates, (t + 1e-6, end), first.y[:, -1], events=halts, **options)
            t, (x, v) = run.t[-1], run.y[:, -1]
            if run.status != 1:
                return x, v, times
            v = 0.0
            mode = 0 if abs(push(t) - k * x) <= mu else np.sign(push(t) - k * x)
        times.append(t)
    return x, v, times


@pytest.mark.parametrize(("w", "a"), [(0.6, 1.7), (0.9, 2.5), (0.31, 1.2)])
def test_driven_stick_slip_against_scipy(w, a):
    m, c, k, mu, end = 1.0, 0.1, 1.3, 1.0, 30.0
    system = ch.System(
        "x", "m c k mu", lagrangian="m/2*x'^2 - k/2*x^2", dissipation="c/2*x'^2 + mu*abs(x')", forces={"x": "u"}, inputs={"u": None}
    )
    values = {"m": m, "c": c, "k": k, "mu": mu}
    motion = ch.simulate(
        ch.derive(system), {"x": 0, "x'": 0}, (0, end), parameters=values, inputs={"u": f"{a}*cos({w}*t)"}, tolerance=1e-11
    )
    x, v, times = reference(m, c, k, mu, w, a, end)
    assert len(motion.switches) == len(times) > 5
    assert [s.t for s in motion.switches] == pytest.approx(times, abs=2e-8)  # a slip begins tangentially: its time is ill-conditioned
    assert motion.final["x"] == pytest.approx(x, abs=1e-9)
    assert motion.final["x'"] == pytest.approx(v, abs=1e-9)


# ------------------------------------------------------------ what the functions depend on


def test_corners_of_time_and_inputs():
    """x' is the integral of |sin t|; then of the derivative of |sin t|."""
    pushed = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": None}))
    motion = ch.simulate(pushed, {"x": 0, "x'": 0}, (0, 10), inputs={"u": "abs(sin(t))"}, tolerance=1e-11)
    assert [s.t for s in motion.switches] == pytest.approx([math.pi, 2 * math.pi, 3 * math.pi], abs=1e-11)
    assert motion.final["x'"] == pytest.approx(6 + 1 - math.cos(10 - 3 * math.pi), abs=1e-10)
    steep = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "u'"}, inputs={"u": "abs(sin(t))"}))
    motion = ch.simulate(steep, {"x": 0, "x'": 0}, (0, 10), tolerance=1e-11)
    assert motion.final["x'"] == pytest.approx(abs(math.sin(10)), abs=1e-10)


def test_a_potential_that_time_switches_does_work():
    equations = ch.derive(ch.System("x", "w", lagrangian="x'^2/2 + x*sign(sin(w*t))"))
    motion = ch.simulate(equations, {"x": 0.4, "x'": 0}, (0, 10), parameters={"w": 1}, tolerance=1e-11)
    assert motion.final["x'"] == pytest.approx(math.pi - (10 - 3 * math.pi), abs=1e-10)
    assert np.ptp(motion.energy) > 5
    assert motion.drift["balance"] < 1e-10
    assert np.abs(motion.balance).max() < 1e-10


def test_signs_of_parameters_never_switch():
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*sign(k)*x^2/2"))
    assert ch.simulate(equations, {"x": 1, "x'": 0}, (0, 1), parameters={"k": -4}).final["x"] == pytest.approx(math.cos(2), abs=1e-8)
    assert ch.simulate(equations, {"x": 1, "x'": 0}, (0, 1), parameters={"k": 0}).final["x"] == 1.0


def test_a_sign_of_the_acceleration():
    """x'' + sign(x'')/2 = -x: the acceleration vanishes while |x| < 1/2, so the body coasts from 1/2 to -1/2 at speed 1/2."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "-sign(x'')/2"}))
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 5), tolerance=1e-11)
    assert ways(motion) == [("x''", -1, 0), ("x''", 0, 1)]
    assert [s.t for s in motion.switches] == pytest.approx([math.pi / 2, math.pi / 2 + 2], abs=1e-9)
    assert motion.at(2.0)["x"] == pytest.approx(0.5 - (2 - math.pi / 2) / 2, abs=1e-10)


def test_corners_in_constraints():
    """A bead on y = x|x|/2, given by its velocity: the curve is smooth enough for no impact, the reaction jumps."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["y' = abs(x)*x'"], name="wire")
    equations = ch.derive(system, ch.DAlembert())
    motion = ch.simulate(equations, {"x": -1, "y": -0.5, "x'": 2.5}, (0, 1), tolerance=1e-11)
    assert ways(motion) == [("x", -1, 1)]
    assert motion["y"] == pytest.approx(motion["x"] * np.abs(motion["x"]) / 2, abs=1e-9)
    k = int(np.flatnonzero(np.diff(motion.t) == 0)[0])
    speed = motion["x'"][k]
    assert motion["y''"][k : k + 2] == pytest.approx([-(speed**2), speed**2])
    assert motion["lambda1"][k : k + 2] == pytest.approx([1 - speed**2, 1 + speed**2])  # y'' = -1 + lambda1
    assert motion.verify().worst < 1e-7


def test_evaluate_agrees_off_the_surfaces():
    equations = ch.derive(ch.System("x", "c", lagrangian="x'^2/2", forces={"x": "min(max(-4*x - 2*x', -c), c)"}))
    motion = ch.simulate(equations, {"x": 2, "x'": 0}, (0, 10), parameters={"c": 1})
    for t in (0.5, 1.6, 2.2, 7.0):
        now = ch.evaluate(equations, motion.at(t), parameters={"c": 1})
        assert motion.at(t)["x''"] == pytest.approx(now["x''"], abs=1e-12)


def test_friction_under_herglotz_principle():
    system = ch.System("x", "g mu", lagrangian="x'^2/2 - x^2/2 - g*s", action="s", forces={"x": "-mu*sign(x')"})
    motion = ch.simulate(ch.derive(system, ch.Herglotz()), {"x": 3, "x'": 0, "s": 0}, (0, 20), parameters={"g": 0.1, "mu": 0.5})
    half = math.pi / math.sqrt(1 - 0.05**2)  # x'' + g x' + x = mu on the way back
    assert motion.switches[0].t == pytest.approx(half, abs=1e-8)
    assert motion.at(motion.switches[0].t)["x"] == pytest.approx(0.5 - 2.5 * math.exp(-0.05 * half), abs=1e-8)
    assert ways(motion)[-1][2] == SLIDING
    assert motion.verify().worst < 1e-7


# ------------------------------------------------------------ where the motion ends, or cannot begin


def test_friction_backwards_in_time_is_not_unique_at_rest():
    values = {"m": 1, "k": 1, "mu": 0.5}
    with pytest.raises(ch.InitialError, match="not unique"):
        ch.simulate(DRY, {"x": 0.1, "x'": 0}, (0, -5), parameters=values)
    there = ch.simulate(DRY, {"x": 2, "x'": 0}, (0, 2), parameters=values, tolerance=1e-12)
    back = ch.simulate(DRY, there.final, (2, 0), parameters=values, tolerance=1e-12)
    assert back.final["x"] == pytest.approx(2.0, abs=1e-9)


def test_a_start_on_a_ridge_asks_for_the_side():
    ridge = ch.derive(ch.System("x", lagrangian="x'^2/2 + abs(x)", name="ridge"))
    with pytest.raises(ch.InitialError, match="not unique: x = 0") as caught:
        ch.simulate(ridge, {"x": 0, "x'": 0}, (0, 1))
    assert "above or below zero" in str(caught.value)
    assert ch.simulate(ridge, {"x": 0, "x'": -1}, (0, 1)).final["x"] == pytest.approx(-1.5)
    assert ch.simulate(ridge, {"x": 1e-9, "x'": 0}, (0, 1)).final["x"] == pytest.approx(0.5)


def test_a_motion_that_reaches_a_ridge_stops_there():
    """Held at x = 0 by friction that fades away: then it may fall to either side."""
    system = ch.System("x", lagrangian="x'^2/2 + abs(x)", forces={"x": "-2*sign(x)*max(1 - t, 0)"})
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 0}, (0, 3))
    assert motion.outcome in ("event", "left_domain")
    assert motion.end[0] == pytest.approx(0.5, abs=1e-6)


def test_a_singular_locus_inside_a_switching_surface_is_no_switch():
    """Rocard's tyre, braked: sign(psi') switches where the equations are singular anyway."""
    model = ch.gallery("rocard")
    braked = ch.derive(model.system.replace(forces={"psi": "-3"}), model.principle)
    motion = ch.simulate(braked, model.start, (0, 20), parameters=model.parameters)
    assert motion.outcome == "left_domain"
    assert "psi' = 0" in motion.message
    assert motion.switches == ()


def test_a_corner_in_a_holonomic_constraint_needs_a_law_of_impact():
    vee = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - y", kinematic=["y = abs(x)"], name="vee"), ch.DAlembert())
    start = {"x": -1, "y": 1, "x'": 0}
    motion = ch.simulate(vee, start, (0, 3))
    assert motion.outcome == "left_domain"
    assert "corner" in motion.message
    assert motion.end[0] == pytest.approx(2.0, abs=1e-9)  # x'' = 1/2
    passed = ch.simulate(vee, start, (0, 3), events=[ch.On("x", reset={"x'": "x'/2"})])
    assert passed.final["x"] == pytest.approx(0.5 - 0.25)
    assert passed.final["y'"] == pytest.approx(passed.final["x'"])


def test_events_that_accumulate_end_in_rest():
    """|x| with friction: infinitely many swings in a finite time, then rest at x = 0, where both modes are open."""
    equations = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - abs(x)", dissipation="mu*abs(x')"))
    mu = 0.4
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 40), parameters={"mu": mu})
    ratio = (1 - mu) / (1 + mu)  # of successive amplitudes
    half = math.sqrt(2 / (1 - mu)) + math.sqrt(2 * (1 - mu)) / (1 + mu)  # down to the corner, and up to the next turning point
    assert motion.outcome == "finished"
    assert motion.switches[-1].t == pytest.approx(half / (1 - math.sqrt(ratio)), abs=1e-4)
    assert abs(motion.final["x"]) < 1e-10


def test_a_momentum_with_a_sign_cannot_slide():
    system = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 + abs(x')*y", forces={"x": "-2*sign(x')"})
    motion = ch.simulate(ch.derive(system), {"x": 0, "y": 0, "x'": 0.5, "y'": 0}, (0, 3))
    assert motion.outcome == "left_domain"
    assert "momentum" in motion.message


# ------------------------------------------------------------ files


def test_pieces_modes_and_switches_come_back(tmp_path):
    motion = ch.simulate(DRY, {"x": 1, "x'": 0}, (0, 20), parameters={"m": 1, "k": 1, "mu": 0.35}, tolerance=1e-10)
    back = load(save(motion, tmp_path / "dry.npz"))
    assert back.switches == motion.switches
    assert back.tolerance == 1e-10
    for name in ("x", "x'", "x''", "sign(x')"):
        assert np.array_equal(back[name], motion[name])
    assert np.array_equal(back.mode("x'"), motion.mode("x'"))
    t = np.linspace(0, 20, 77)
    assert np.array_equal(back.at(t)["x''"], motion.at(t)["x''"])
    assert np.array_equal(back.balance, motion.balance)


def test_switching_with_chosen_times_and_with_the_end_only():
    values = {"m": 1, "k": 1, "mu": 0.35}
    dense = ch.simulate(DRY, {"x": 1, "x'": 0}, (0, 20), parameters=values, tolerance=1e-11)
    times = np.linspace(0, 20, 41)
    kept = ch.simulate(DRY, {"x": 1, "x'": 0}, times, parameters=values, tolerance=1e-11)
    final = ch.simulate(DRY, {"x": 1, "x'": 0}, (0, 20), parameters=values, tolerance=1e-11, keep="final")
    assert np.array_equal(kept.t, times)
    assert kept["x"] == pytest.approx(dense.at(times)["x"], abs=1e-10)
    assert kept["x''"] == pytest.approx(dense.at(times)["x''"], abs=1e-9)
    assert len(final) == 1
    assert final.final["x"] == dense.final["x"]
    assert final.extrema == dense.extrema
    assert final.switches == dense.switches


def test_one_of_two_coefficients_of_friction_is_zero_at_rest():
    """Nothing holds x then: with y stuck by its friction it swings freely about y/3 with the frequency sqrt(3)."""
    both = {"x": "-mu*sign(x')", "y": "-nu*sign(y')"}
    pair = ch.derive(ch.System("x y", "mu nu", lagrangian="x'^2/2 + y'^2/2 - (x - y)^2/2 - x^2", forces=both))
    motion = ch.simulate(pair, {"x": 1, "y": 1, "x'": 0, "y'": 0}, (0, 5), parameters={"mu": 0, "nu": 9}, tolerance=1e-11)
    assert motion.final["x"] == pytest.approx(1 / 3 + 2 / 3 * math.cos(math.sqrt(3) * 5), abs=1e-9)
    assert motion.final["y"] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("length", [1e-6, 1, 1e12])
@pytest.mark.parametrize("time", [1e-9, 1])
def test_a_block_stops_in_any_units(length, time):
    """Half swings from 1 to -0.6 and to 0.2, where the spring pulls as hard as friction holds."""
    push = length / time**2
    equations = ch.derive(ch.System("x", lagrangian=f"x'^2/2 - {time**-2!r}*x^2/2", forces={"x": f"-{0.2 * push!r}*sign(x')"}))
    motion = ch.simulate(equations, {"x": length, "x'": 0}, (0, 20 * time))
    assert motion.outcome == "finished"
    assert motion.final["x"] / length == pytest.approx(0.2, abs=1e-8)


def _two_rows(t, y, a):
    """Accelerations from the bordered matrix, by hand: x, alpha, beta, z and their velocities."""
    x, alpha, _, z, vx, va, vb, vz = y
    s, c, sa, ca = np.sin(z), np.cos(z), np.sin(alpha + 1 / 3), np.cos(alpha + 1 / 3)
    masses = np.array([0.63, 1.56, 1.59 * (z**2 / 4 + 1), 1.82 * (alpha**2 / 4 + 1)])
    slope_b, slope_z = 1.59 * z / 2, 1.82 * alpha / 2  # of the last two by z and by alpha
    force = np.array(
        [
            -0.7 * x,
            -2 * np.cos(alpha) + slope_z * vz**2 / 2 - va * abs(va) / 10,
            0.5 - slope_b * vz * vb,
            -slope_z * va * vz + slope_b * vb**2 / 2,
        ]
    )
    rows = np.array([[1.3 * c, -1.3 * s, 0, -a], [0, -0.25, 1.3 * ca, -1.3 * sa]])
    moved = [1.3 * (-s * vz * vx - c * vz * va) + vz / 5, 1.3 * (-sa * va * vb - ca * va * vz) + np.cos(t)]
    matrix = np.block([[np.diag(masses), rows.T], [rows, np.zeros((2, 2))]])
    return np.concatenate([y[4:], np.linalg.solve(matrix, np.concatenate([force, -np.array(moved)]))[:4]])


@pytest.mark.parametrize("a", [0, 1e-7])
def test_a_corner_is_crossed_where_a_pivot_of_the_other_side_is_a_parameter_that_is_zero(a):
    """alpha' changes its sign on the way; the motion ended there as if the system were singular."""
    energy = "beta/2 + 0.63*x'^2/2 + 1.56*alpha'^2/2 + 1.59*beta'^2*(z^2/4 + 1)/2 + 1.82*z'^2*(alpha^2/4 + 1)/2 - 0.35*x^2 - 2*sin(alpha)"
    rows = [
        "1.3*(x'*cos(z) - alpha'*sin(z)) - a*z' + z/5 = 0",
        "1.3*(beta'*cos(alpha + 1/3) - z'*sin(alpha + 1/3)) - alpha'/4 + sin(t) = 0",
    ]
    system = ch.System("x alpha beta z", "a", lagrangian=energy, kinematic=rows, forces={"alpha": "-alpha'*abs(alpha')/10"})
    start = {"x": -0.27, "alpha": 0.93, "beta": -0.43, "z": 0.98, "alpha'": -0.15185487692741603, "z'": -0.4871797299699378}
    equations, names = ch.derive(system, ch.DAlembert()), ("x", "alpha", "beta", "z")
    motion = ch.simulate(equations, start, (-0.8, -3.8), parameters={"a": a})
    first = ch.evaluate(equations, start, t=-0.8, parameters={"a": a})
    y0 = [first[n] for n in names] + [first[f"{n}'"] for n in names]
    peer = solve_ivp(_two_rows, (-0.8, -3.8), y0, args=(a,), method="DOP853", rtol=1e-11, atol=1e-12, max_step=0.01).y[:, -1]
    assert motion.outcome == "finished"
    assert [motion.final[n] for n in names] + [motion.final[f"{n}'"] for n in names] == pytest.approx(peer, abs=1e-7)
