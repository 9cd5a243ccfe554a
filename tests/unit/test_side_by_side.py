"""Members of ensembles side by side in vector registers: the bits of single motions, whatever lanes, threads and blocks do."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.ensemble import agreement, batch, end_checks, many, run, side_by_side
from chetaev.numerics.machine.engine import entry_of
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.machine.vectors.states import LANES, code_in_lanes, doubts_in_lanes, runs_in_lanes, text_in_lanes
from chetaev.numerics.methods.dop853 import Code, Limits, Status, Watching
from chetaev.numerics.methods.dop853 import run as run_one
from chetaev.numerics.methods.dop853.tableau import LAST_SUMS, NODES, SUMS
from chetaev.numerics.methods.lanes import ONE_BY_ONE, run_side_by_side, suits
from chetaev.numerics.methods.lanes.stages import lane_stages_code
from chetaev.numerics.methods.lanes.together import small_inside
from chetaev.numerics.motion import certification

pytestmark = pytest.mark.skipif(not runs_in_lanes(), reason="no vectors with this version of LLVM")
MEMBERS = 150


def _uniform(seed, *ranges):
    return [np.random.default_rng(seed + k).uniform(*r, MEMBERS) for k, r in enumerate(ranges)]


@cache
def _cases():
    """Equations, starts, parameters and interval: a projection, none, nodes that are enclosed, inputs of time, corners, parameters."""
    x, y, theta, v, w = _uniform(1, (-1, 1), (-1, 1), (-1.2, 1.2), (-1.5, 0.5), (-2, 2))
    sleigh = ch.gallery("sleigh")
    double = ch.gallery("double_pendulum")
    kepler = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)")
    bump = ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2 - exp(-(x - 1)^2*400)")
    driven = ch.System("x", "k w", lagrangian="x'^2/2 - k*x^2/2", forces={"x": "cos(w*t) - x'/10"})
    friction = ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x')"})
    circle = ch.System("x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = 1"])
    a = 2 * theta
    return {
        "sleigh": (ch.derive(sleigh), {"x": x, "y": y, "theta": theta, "x'": v * np.cos(theta), "theta'": w}, sleigh.parameters, 4.0),
        "double pendulum": (
            ch.derive(double),
            {"theta1": 2 * x, "theta2": 2 * y, "theta1'": v, "theta2'": w},
            dict(double.parameters) | {"m2": 1 + x / 2},
            4.0,
        ),
        "kepler": (ch.derive(kepler), {"x": 1 + x / 3, "y": y / 10, "x'": v / 10, "y'": 0.7 + theta / 4}, {}, 9.0),
        "bump": (ch.derive(bump), {"x": x, "x'": w}, {"k": 1 + y / 3}, 5.0),
        "driven": (ch.derive(driven), {"x": x, "x'": v}, {"k": 1.0, "w": 2 + y}, 9.0),
        "friction": (ch.derive(friction), {"x": 1 + x / 3, "x'": 2.0 + v}, {"mu": 0.1}, 0.5),
        "circle": (ch.derive(circle, ch.DAlembert()), {"x": np.sin(a), "y": -np.cos(a), "x'": -0.3 * np.cos(a)}, {"g": 9.81}, 2.0),
    }


def _many(name, t=None, **options):
    equations, starts, parameters, end = _cases()[name]
    return ch.simulate_many(equations, starts, (0, end) if t is None else t, parameters=parameters, tolerance=1e-8, **options)


def _one(name, member, **options):
    equations, starts, parameters, end = _cases()[name]

    def own(values):
        return {z: float(v[member]) if np.ndim(v) else v for z, v in values.items()}

    t = options.pop("t", (0, end))
    return ch.simulate(equations, own(starts), t, parameters=own(parameters), tolerance=1e-8, **options)


def _figures(found):
    rows = [*found.drift.values(), *found.counts.values(), *[v for pair in found.extrema.values() for v in pair]]
    return np.column_stack([found.t, found.final.states, found.status, *rows])


def _same(a, b):
    return np.array_equal(a, b, equal_nan=True)


@pytest.fixture
def seen(monkeypatch):
    """Whether ensembles used code for several states."""
    found = []

    def spy(members, *more, **kernels):
        wide = side_by_side.wide_of(members, *more, **kernels)
        found.append(wide.rhs != 0)
        return wide

    monkeypatch.setattr(run, "wide_of", spy)
    return found


# ------------------------------------------------------------ code for several states


def _program(e, t, y, p):
    return compile_kernel(ca.Function("f", [t, y, p], [ca.vertcat(*e)]))


def test_every_operation_has_the_bits_of_one_state():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 3), ca.SX.sym("p", 2)
    a, b = y[0], y[1]
    functions = [ca.sin, ca.cos, ca.tan, ca.exp, ca.log, ca.sqrt, ca.atan, ca.tanh, ca.erf, ca.fabs, ca.sign, ca.floor, ca.ceil]
    e = [f(a) for f in functions] + [f(p[0] * b) for f in functions]
    e += [a + b, a - b, a * b, a / b, a / p[1], a**3, b**2.5, a**b, ca.atan2(a, b), ca.fmin(a, b), ca.fmax(a, b), ca.fmod(a, b)]
    e += [a * b + t, t - a * b, a * b - t, a < b, a <= b, a == b, a != b, ca.logic_and(a, b), ca.logic_or(a, y[2]), ca.logic_not(y[2])]
    e += [ca.if_else(a < b, a, ca.cos(b)), ca.copysign(a, b), 3.25 + 0 * a, ca.sin(t) * ca.cos(a - b)]
    kernel = _program(e, t, y, p)
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e-300, 3e9, -7e15, 1.5]
    random = np.random.default_rng(4)
    wide = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code_in_lanes(kernel.program))
    for turn in range(6):
        states, values, times = random.normal(size=(3, LANES)), random.uniform(-2, 2, (2, LANES)), random.normal(size=LANES)
        if turn >= 2:
            states[:2] = random.choice(odd, (2, LANES))
        out, one = np.zeros((kernel.n_out, LANES)), np.zeros(kernel.n_out)
        wide(times.ctypes.data, states.ctypes.data, values.ctypes.data, out.ctypes.data)
        for lane in range(LANES):
            own, own_p = states[:, lane].copy(), values[:, lane].copy()
            entry_of(kernel.address)(times[lane], own.ctypes.data, own_p.ctypes.data, one.ctypes.data)
            assert one.view(np.int64).tolist() == out[:, lane].copy().view(np.int64).tolist() or _same(one, out[:, lane])


def test_many_angles_are_computed_by_calls_with_the_same_bits():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 12), ca.SX.sym("p", 0)
    kernel = _program([ca.sin(y[k]) * ca.cos(y[k]) for k in range(12)], t, y, p)
    assert "sine_and_cosine_in_lanes" in text_in_lanes(kernel.program)
    states, out = np.random.default_rng(1).normal(size=(12, LANES)) * 10.0 ** np.arange(12)[:, None], np.zeros((12, LANES))
    times, none = np.zeros(LANES), np.zeros(LANES)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code_in_lanes(kernel.program))(
        times.ctypes.data, states.ctypes.data, none.ctypes.data, out.ctypes.data
    )
    for lane in range(LANES):
        assert _same(kernel(0.0, states[:, lane], []), out[:, lane])


@pytest.mark.parametrize("angle", [2.0**30, -(2.0**30), 1e300, np.inf, -np.inf, np.nan])
def test_stages_in_one_function_notice_an_angle_that_is_too_large_in_any_lane(angle):
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 3), ca.SX.sym("p", 0)
    kernel = _program([y[1], -ca.sin(y[0]) * ca.cos(y[2]), 0 * y[2]], t, y, p)
    address = lane_stages_code(kernel.program, 3, SUMS, NODES, LAST_SUMS)
    if not address:
        pytest.skip("no registers of 512 bits")
    stages = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 7)(address)
    time, step, k, sums = np.zeros(LANES), np.full(LANES, 1e-3), np.zeros((48, LANES)), np.zeros((9, LANES))

    def result(states):
        rows = (time, step, states, np.zeros(LANES), k, k, sums)
        return stages(*[row.ctypes.data for row in rows])

    usual = np.random.default_rng(2).uniform(-5, 5, (3, LANES))
    usual[2, 3] = np.nextafter(2.0**30, 0)
    assert result(usual) == 1
    for row, lane in ((0, 0), (2, 5), (0, LANES - 1)):
        far = usual.copy()
        far[row, lane] = angle
        assert result(far) == 0


def test_bounds_of_round_off_have_the_bits_of_one_state_in_every_lane():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 3), ca.SX.sym("p", 2)
    a, b = y[0], y[1]
    functions = [ca.sin, ca.cos, ca.sqrt, ca.fabs, ca.sign, ca.floor]
    e = [f(a) for f in functions] + [f(p[0] * b - 0.1) for f in functions]
    e += [a + b, a - b, a * b, a / b, a / p[1], a**3, 1 / (a - b), ca.fmin(a, b), ca.fmax(a, b), a * b + t, t - a * b, a < b, a == b]
    e += [ca.if_else(a < b, a, ca.cos(b)), ca.copysign(a, b), 3.25 + 0 * a, ca.logic_and(a, b), 2 * a, ca.logic_not(y[2]), 0.3 - a * a]
    kernel = _program(e, t, y, p)
    odd = [0.0, -0.0, np.inf, np.nan, 1e300, -1e-300, 3e9, 1.5]
    random = np.random.default_rng(5)
    address, one = doubts_in_lanes(kernel.program, kernel.n_out), np.zeros(2 * kernel.n_out)
    wide = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
    for turn in range(6):
        states, values, times = random.normal(size=(3, LANES)), random.uniform(-2, 2, (2, LANES)), random.normal(size=LANES)
        if turn >= 3:
            states[:2] = random.choice(odd, (2, LANES))
        out = np.zeros((2 * kernel.n_out, LANES))
        wide(times.ctypes.data, states.ctypes.data, values.ctypes.data, out.ctypes.data)
        for lane in range(LANES):
            own, own_p = states[:, lane].copy(), values[:, lane].copy()
            entry_of(doubting(kernel))(times[lane], own.ctypes.data, own_p.ctypes.data, one.ctypes.data)
            assert _same(one, out[:, lane])
    assert doubts_in_lanes(_program([ca.exp(a)], t, y, p).program, 1) == 0


# ------------------------------------------------------------ the loop, against closed forms and single runs


@cache
def _oscillator(in_lanes=True):
    """x'' = -k x, with x' watched, as code for one state and for several; bounds of round-off for several states or for one."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 1)
    rhs, watch = _program([y[1], -p[0] * y[0]], t, y, p), _program([y[1]], t, y, p)
    code = Code(rhs.address, watch=watch.address, n_watch=1, doubting=doubting(rhs))
    wide = ONE_BY_ONE._replace(rhs=code_in_lanes(rhs.program), watch=code_in_lanes(watch.program))
    return code, wide._replace(doubting=doubts_in_lanes(rhs.program, 2)) if in_lanes else wide


def test_oscillators_side_by_side_end_where_cosines_do():
    code, wide = _oscillator()
    k = np.linspace(0.3, 90.0, 57)
    y0 = np.column_stack([np.linspace(1, 2, 57), np.zeros(57)])
    found = run_side_by_side(code, wide, 0.0, 3.0, y0, k[:, None], Limits(rtol=1e-11))
    assert (found.status == Status.FINISHED).all()
    np.testing.assert_allclose(found.y[:, 0], y0[:, 0] * np.cos(3 * np.sqrt(k)), atol=1e-9)
    np.testing.assert_allclose(found.y[:, 1], -y0[:, 0] * np.sqrt(k) * np.sin(3 * np.sqrt(k)), atol=1e-8)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_member_has_the_bits_of_its_own_run_and_stops_where_that_stops(backwards):
    code, wide = _oscillator(in_lanes=not backwards)
    k, y0, t1 = np.linspace(0.3, 90.0, 41), np.tile([1.0, -0.2], (41, 1)), -3.0 if backwards else 3.0
    times = np.linspace(0, t1, 23)
    watching = Watching(terminal=True, directions=1)
    for limits in (Limits(rtol=1e-9), Limits(rtol=1e-9, max_steps=20), Limits(rtol=1e-9, max_step=0.01)):
        series = np.full((41, 23, 2), np.nan)
        found = run_side_by_side(code, wide, 0.0, t1, y0, k[:, None], limits, watching, times=times, series=series)
        for i in range(41):
            one = run_one(code, 0.0, t1, y0[i], k[i : i + 1], limits, watching, keep=2, times=times)
            assert (found.status[i], found.index[i], found.t[i]) == (one.status, one.index, one.t)
            assert (
                _same(found.y[i], one.y)
                and _same(series[i, : len(one.states)], one.states)
                and np.isnan(series[i, len(one.states) :]).all()
            )
            assert [found.accepted[i], found.rejected[i], found.evaluations[i]] == [one.accepted, one.rejected, one.evaluations]
            assert _same(found.inside[i], one.inside) and (found.usual[i], found.worst[i]) == (one.usual, one.worst)
            assert _same(found.minima[i], one.minima) and _same(found.maxima[i], one.maxima)
    assert len(set(found.status.tolist())) >= 1


@pytest.mark.parametrize("many", [1, 15, 41])
def test_a_stopped_run_has_results_of_all_members(many):
    """The loop writes all results, also those of members that never moved: nothing else does."""
    code, wide = _oscillator()
    k, y0 = np.linspace(0.3, 90.0, many), np.column_stack([np.linspace(1, 2, many), np.linspace(0.1, 0.2, many)])
    for _ in range(3):  # rooms are used again, with other numbers in them
        run_side_by_side(code, wide, 0.0, 3.0, y0, k[:, None], Limits(rtol=1e-9))
        found = run_side_by_side(code, wide, 0.5, 3.0, y0, k[:, None], Limits(rtol=1e-9), flag=np.ones(1, np.int64))
        assert (found.status == Status.INTERRUPTED).all() and (found.t == 0.5).all()
        assert all(_same(rows, y0) for rows in (found.y, found.minima, found.maxima))
        for i in range(many):
            one = run_one(code, 0.5, 3.0, y0[i], k[i : i + 1], Limits(rtol=1e-9), flag=np.ones(1, np.int64))
            assert _same(found.inside[i].reshape(one.inside.shape), one.inside) and found.index[i] == one.index
            assert (found.accepted[i], found.rejected[i], found.evaluations[i]) == (one.accepted, one.rejected, one.evaluations)
            assert (found.projections[i], found.shortened[i], found.usual[i], found.worst[i]) == (
                one.projections, one.shortened, one.usual, one.worst,
            )  # fmt: skip


def test_a_rate_that_is_no_number_in_one_lane_leaves_the_others_alone():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 1), ca.SX.sym("p", 1)
    rhs = _program([ca.sqrt(p[0] - t) - y[0]], t, y, p)
    code, wide = Code(rhs.address), ONE_BY_ONE._replace(rhs=code_in_lanes(rhs.program))
    ends = np.where(np.arange(30) % 7 == 3, 0.5, 5.0)
    found = run_side_by_side(code, wide, 0.0, 2.0, np.ones((30, 1)), ends[:, None])
    assert (found.status[ends == 5.0] == Status.FINISHED).all() and not (found.status[ends == 0.5] == Status.FINISHED).any()
    for i in (0, 3, 10):
        one = run_one(code, 0.0, 2.0, [1.0], ends[i : i + 1])
        assert found.t[i] == one.t and found.y[i] == one.y and found.rejected[i] == one.rejected


def test_functions_that_are_watched_closely_need_bounds_in_lanes():
    assert suits(Watching(closely=[False, True], places=[-1, 0])) and not suits(Watching(closely=True)) and suits(Watching())


# ------------------------------------------------------------ ensembles


@pytest.mark.parametrize("name", list(_cases()))
def test_members_have_the_bits_of_simulate_and_of_any_division(name, seen, monkeypatch):
    found = _figures(side := _many(name, threads=1))
    assert seen and all(seen)
    monkeypatch.setattr(run, "_LEAST", 16)
    monkeypatch.setattr(run, "_MOST", 23)
    monkeypatch.setattr(many, "_BLOCK", 64)
    assert _same(_figures(_many(name, threads=2)), found)
    monkeypatch.setattr(run, "wide_of", lambda *_, **__: ONE_BY_ONE)
    assert _same(_figures(_many(name, threads=1)), found)
    for member in (0, 77, MEMBERS - 1):
        motion = _one(name, member, keep="final")
        assert _same([motion.final[z] for z in side.final], [side.final[z][member] for z in side.final])
        assert motion.outcome == side.outcome[member] and motion.counts["accepted"] == side.counts["accepted"][member]


@pytest.mark.parametrize("name", list(_cases()))
def test_code_for_many_steps_has_the_same_bits(name, monkeypatch):
    """Stages in one function, and the evaluations before and after a run for several members at once."""
    kept, agreeing = [], run.agreeing
    monkeypatch.setattr(run, "agreeing", lambda own, members: kept.append(own) or agreeing(own, members))
    found = _figures(_many(name, threads=1))
    monkeypatch.setattr(side_by_side, "PAYS", 0)
    monkeypatch.setattr(batch, "_SEVERAL", 1)
    assert _same(_figures(_many(name, threads=1)), found)
    for before, after in zip(*[(own.inside, own.usual, own.worst, own.measured) for own in kept], strict=True):
        assert _same(before, after)
    assert np.array_equal(*[own.cornered for own in kept])


@pytest.mark.parametrize("name", ["sleigh", "double pendulum", "circle", "kepler"])
def test_checks_of_several_members_are_those_of_each(name, monkeypatch):
    """Rows and measures at the end, also of states and rates that are wrong: what is clear holds by the code for one state."""
    kept, agreeing = [], run.agreeing
    monkeypatch.setattr(run, "agreeing", lambda own, members: kept.append((own, members)) or agreeing(own, members))
    _many(name)
    own, members = kept[0]
    monkeypatch.setattr(side_by_side, "PAYS", 0)
    monkeypatch.setattr(end_checks, "_CHECKS", type(end_checks._CHECKS)(4))
    compiled = own.pivoted[0].compiled
    checks = end_checks.end_checks(compiled)
    p, some = own.read.batch.at(own.at, members), np.array([0, 17, 149])
    clear, residual, terms, sampled = checks(own.at, own.y, p, some)
    measured = np.array([compiled.measure(own.at[k], own.y[k], p[k]) for k in members])
    n = measured.shape[1]
    assert clear.all() and _same(residual, measured[:, n // 2 - 1]) and _same(terms, measured[:, -1])
    rates = [compiled.stepping.at_state(own.at[k], own.y[k], p[k]) for k in some]
    assert _same(sampled, np.column_stack([own.y[some], rates]))
    broken = own.y.copy()
    broken[::3] = np.nan
    assert not checks(own.at, broken, p, some)[0][::3].any()
    symbols = [ca.SX.sym(name, size) for name, size in (("t", 1), ("y", compiled.size), ("p", p.shape[1]))]
    other = compile_kernel(ca.Function("other", symbols, [3.0 + symbols[1]]))
    wrong = replace(checks, code=checks.code._replace(rates=code_in_lanes(other.program)))
    assert not wrong(own.at, own.y, p, some)[0].any()


def test_rows_that_casadi_finds_broken_are_judged_one_by_one(monkeypatch):
    """Code for several members that calls everything clear is not believed if CasADi's evaluation of some members disagrees."""
    monkeypatch.setattr(side_by_side, "PAYS", 0)
    asked = []
    monkeypatch.setattr(agreement, "_hold_by_casadi", lambda compiled, t, y, p: asked.append(len(t)) or np.zeros(len(t), bool))
    found = _many("sleigh")
    assert asked[0] == 32 and len(asked) == 3 and (found.outcome == "finished").all()


def test_members_are_clear_by_limits_that_no_other_limit_is_below():
    """One member is within all limits; each other one is beyond one of them, or is no number there."""
    inside, low, high = np.zeros((9, 4, 3)), np.full((9, 3), -1.0), np.ones((9, 3))
    measured, last, terms, steps = np.full((9, 4), 0.5), np.full(9, 1e-7), np.ones(9), np.full(9, 20)
    measured[:, :2] = 1e-7
    inside[1, 0, 1] = 2e-3
    inside[2, 1, 0] = np.nan
    inside[3, 3, 2] = 1e-6
    low[4, 1] = np.nan
    measured[5, 1] = 1.1e-6
    last[6] = -2e-6
    terms[7] = np.nan
    last[8] = np.nan
    found = small_inside(inside, low, high, steps, (1e-3, 1e-4, 2e-6), 3, (measured, last, terms))
    assert found.tolist() == [True, *[False] * 8]
    wide = np.concatenate([inside, np.full((9, 4, 1), np.nan)], axis=2)  # components behind the own ones do not count
    assert small_inside(wide, low, high, steps, (1e-3, 1e-4, 2e-6), 3, (measured, last, terms)).tolist() == found.tolist()


@pytest.mark.parametrize("part", ["measured", "terms", "inside", "rounded"])
def test_members_that_are_not_clear_are_judged_by_the_limits_of_simulate(part, monkeypatch):
    """A wrong record of one member is found, with all others clear; a balance beyond the least limit and within its own is none."""
    kept, agreeing = [], run.agreeing
    monkeypatch.setattr(run, "agreeing", lambda own, members: kept.append(own) or agreeing(own, members))
    _many("sleigh", threads=1)
    own, members = kept[0], np.arange(MEMBERS)
    assert agreeing(own, members).all()
    limit = certification.balance_allowed(1e-8, int(own.counts[7, 0]))
    least = certification.balance_allowed(1e-8, int(own.counts[:, 0].min()))
    column, scale = own.measured.shape[1] // 2 - 1, own.measured[7, -1]
    own.measured[7, column] = 0.999 * max(limit, least) * scale
    assert agreeing(own, members).all()
    if part == "measured":
        own.measured[7, column] = 1.001 * limit * scale
    elif part == "terms":
        own.measured[7, -1] = np.nan
    elif part == "inside":
        own.inside[7, 0, 2] = 1.0
    else:
        own.inside[7, 3, 2] = 1e6
    assert np.flatnonzero(~agreeing(own, members)).tolist() == [7]


def test_sleighs_side_by_side_against_their_reduced_equations():
    """v' = a w^2, (J + m a^2) w' = -m a v w, integrated by SciPy; and w^2 (J + m a^2) + m v^2 is constant."""
    from scipy.integrate import solve_ivp

    equations, starts, values, end = _cases()["sleigh"]
    found = ch.simulate_many(equations, starts, (0, end), parameters=values, tolerance=1e-11)
    m, J, a = (float(values[z]) for z in ("m", "J", "a"))
    speed = starts["x'"] / np.cos(starts["theta"])
    for k in (0, 31, 149):
        first = [starts["x"][k], starts["y"][k], starts["theta"][k], speed[k], starts["theta'"][k]]
        rhs = lambda t, s: [s[3] * np.cos(s[2]), s[3] * np.sin(s[2]), s[4], a * s[4] ** 2, -m * a * s[3] * s[4] / (J + m * a * a)]  # noqa: E731
        hand = solve_ivp(rhs, (0, end), first, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        ours = [found.final[z][k] for z in ("x", "y", "theta", "x'", "y'", "theta'")]
        np.testing.assert_allclose(ours, [*hand[:3], hand[3] * np.cos(hand[2]), hand[3] * np.sin(hand[2]), hand[4]], atol=2e-9)


def test_few_members_make_no_code_and_code_that_exists_is_used():
    kernel = SimpleNamespace(program=b"none of these", instructions=10)
    assert side_by_side.wide_of(20, rhs=kernel) is ONE_BY_ONE
    assert side_by_side.wide_of(200, rhs=SimpleNamespace(program=b"", instructions=10**6)) is ONE_BY_ONE


def test_tasks_whose_members_all_need_many_steps():
    """All members of a task are run again one by one, to look for round-off, and the task has nothing left to store."""
    spring = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    k = np.linspace(1, 2, 16)
    found = ch.simulate_many(spring, {"x": 1, "x'": 0}, (0, 1500), parameters={"k": k})
    assert found.counts["accepted"].min() > 1024 and (found.outcome == "finished").all()
    assert np.allclose(found.final["x"], np.cos(1500 * np.sqrt(k)), atol=1e-4)
