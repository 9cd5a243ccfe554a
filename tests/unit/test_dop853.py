"""DOP853 in compiled code: order, interpolant, projection, watched functions, inputs, budgets, ensembles."""

import math
import threading
from functools import cached_property

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from chetaev.numerics.methods.dop853 import FINAL, STEPS, TIMES, Code, Limits, Status, Watching, interpolate, run, run_many, settle, tableau


class kernel:  # noqa: N801 - a decorator
    """A function that is compiled when its address is first asked for: nothing is compiled to collect the tests."""

    def __init__(self, function):
        self.function = function

    @cached_property
    def _compiled(self):
        from numba import cfunc

        return cfunc("void(float64, CPointer(float64), CPointer(float64), CPointer(float64))")(self.function)

    @property
    def address(self):
        return self._compiled.address


PI = math.pi


# kernels


@kernel
def kepler(t, y, p, out):
    cube = (y[0] * y[0] + y[1] * y[1]) ** 1.5
    out[0], out[1], out[2], out[3] = y[2], y[3], -y[0] / cube, -y[1] / cube


@kernel
def arenstorf(t, y, p, out):
    m, n = p[0], 1 - p[0]
    d1, d2 = ((y[0] + m) ** 2 + y[1] ** 2) ** 1.5, ((y[0] - n) ** 2 + y[1] ** 2) ** 1.5
    out[0], out[1] = y[2], y[3]
    out[2] = y[0] + 2 * y[3] - n * (y[0] + m) / d1 - m * (y[0] - n) / d2
    out[3] = y[1] - 2 * y[2] - n * y[1] / d1 - m * y[1] / d2


@kernel
def double_pendulum(t, y, p, out):
    c, s = math.cos(y[0] - y[1]), math.sin(y[0] - y[1])
    f, g = -s * y[3] * y[3] - 2 * p[0] * math.sin(y[0]), s * y[2] * y[2] - p[0] * math.sin(y[1])
    out[0], out[1], out[2], out[3] = y[2], y[3], (f - c * g) / (2 - c * c), (2 * g - c * f) / (2 - c * c)


@kernel
def pendulum(t, y, p, out):
    """x'' = lambda x, y'' = lambda y - g on x^2 + y^2 = 1."""
    multiplier = (p[0] * y[1] - y[2] * y[2] - y[3] * y[3]) / (y[0] * y[0] + y[1] * y[1])
    out[0], out[1], out[2], out[3] = y[2], y[3], multiplier * y[0], multiplier * y[1] - p[0]


@kernel
def onto_circle(t, y, p, out):
    """One Newton step for the length, then the velocity made tangent."""
    square = y[0] * y[0] + y[1] * y[1]
    factor = 1 - (square - 1) / (2 * square)
    out[0], out[1] = factor * y[0], factor * y[1]
    square = out[0] * out[0] + out[1] * out[1]
    radial = (out[0] * y[2] + out[1] * y[3]) / square
    out[2], out[3] = y[2] - radial * out[0], y[3] - radial * out[1]


@kernel
def circle_residuals(t, y, p, out):
    out[0], out[1] = y[0] * y[0] + y[1] * y[1] - 1, y[0] * y[2] + y[1] * y[3]


@kernel
def far_away(t, y, p, out):
    for j in range(4):
        out[j] = y[j] + 1


@kernel
def first_and_third(t, y, p, out):
    out[0], out[1] = y[0], y[2]


@kernel
def oscillator(t, y, p, out):
    out[0], out[1] = y[1], -y[0]


@kernel
def ball(t, y, p, out):
    out[0], out[1] = y[1], -p[0]


@kernel
def height(t, y, p, out):
    out[0] = y[0]


@kernel
def uniform(t, y, p, out):
    out[0] = 1.0


@kernel
def turning(t, y, p, out):
    out[0] = p[0]


@kernel
def sine_and_more(t, y, p, out):
    out[0], out[1] = math.sin(y[0]), y[0] - 3.0


@kernel
def fast_sine(t, y, p, out):
    out[0] = math.sin(p[1] * y[0] + 0.3)


@kernel
def crossing_and_touching(t, y, p, out):
    out[0] = (y[0] - p[1]) * ((y[0] - p[2]) ** 2 - 1e-6)


@kernel
def below_level(t, y, p, out):
    out[0] = p[1] - y[0]


@kernel
def staircase(t, y, p, out):
    """Changes its sign by a jump at 1, 2, 3, ..."""
    out[0] = 1.0 - 2.0 * (math.floor(y[0]) % 2.0)


@kernel
def round_off(t, y, p, out):
    out[0] = (y[0] + 0.1) - y[0] - 0.1


@kernel
def three_levels(t, y, p, out):
    out[0], out[1], out[2] = y[0] - 0.7, y[0] - 0.5, y[0] - 0.3


@kernel
def decay(t, y, p, out):
    out[0] = -y[0]


@kernel
def explosion(t, y, p, out):
    out[0] = y[0] * y[0]


@kernel
def half_line(t, y, p, out):
    """y' = -1, defined for y >= 0 only."""
    out[0] = -1.0 if y[0] >= 0 else math.nan


@kernel
def driven(t, y, p, out):
    """y1' = u1, y2' = y1 + u2."""
    out[0], out[1] = p[1], y[0] + p[2]


@kernel
def two_inputs(t, y, p, out):
    out[0], out[1] = math.cos(p[0] * t), 2 * t


@kernel
def first_input_itself(t, y, p, out):
    out[0] = p[1]


def split(code, options):
    """Options by name: records of code, limits and watched functions, and what remains."""
    records = [record(**{k: options[k] for k in record._fields if k in options}) for record in (Limits, Watching)]
    code = code._replace(**{k: options[k] for k in Code._fields if k in options})
    known = {*Code._fields, *Limits._fields, *Watching._fields}
    return code, *records, {k: v for k, v in options.items() if k not in known}


def go(rhs, t, y0, p=(), *, project=None, inputs=None, watch=None, measure=None, **options):
    addresses = [0 if k is None else k.address for k in (rhs, project, inputs, watch, measure)]
    code, limits, watching, rest = split(Code(*addresses), options)
    return run(code, t[0], t[1], y0, p, limits, watching, **rest)


def ellipse(e):
    return [1 - e, 0.0, 0.0, math.sqrt((1 + e) / (1 - e))]


def kepler_at(t, e):
    """By Kepler's equation."""
    anomaly = t
    for _ in range(50):
        anomaly -= (anomaly - e * math.sin(anomaly) - t) / (1 - e * math.cos(anomaly))
    c, s, b = math.cos(anomaly), math.sin(anomaly), math.sqrt(1 - e * e)
    rate = 1 / (1 - e * c)
    return np.array([c - e, b * s, -s * rate, b * c * rate])


# accuracy


def test_tableau_is_hairers():
    """Row sums and quadrature conditions to order 8; the error estimators kill constants."""
    numbers = vars(tableau)
    for s in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15):
        stages, weights = numbers[f"A{s}"]
        assert len(stages) == len(weights)
        assert max(stages) == s - 1
        assert math.isclose(sum(weights), numbers[f"C{s}"], rel_tol=1e-13)
    nodes = {0: 0.0, **{s: numbers[f"C{s}"] for s in range(1, 12)}}
    for q in range(8):
        assert math.isclose(sum(w * nodes[i] ** q for i, w in zip(*tableau.B, strict=True)), 1 / (q + 1), rel_tol=1e-13)
    for _, weights in (tableau.E3, tableau.E5):
        assert abs(sum(weights)) < 1e-14


def fixed_steps(n, keep=FINAL, rhs=kepler, end=5.0, start=None):
    h = end / n
    return go(rhs, (0, end), start or ellipse(0.3), rtol=1e9, first_step=h, max_step=h, keep=keep)


def test_order_eight_of_the_step():
    exact = kepler_at(5.0, 0.3)
    errors = [np.abs(fixed_steps(n).y - exact).max() for n in (60, 120)]
    assert 7.5 < math.log2(errors[0] / errors[1]) < 8.5
    exact = np.array([math.cos(20), -math.sin(20)])
    errors = [np.abs(fixed_steps(n, FINAL, oscillator, 20.0, [1.0, 0.0]).y - exact).max() for n in (20, 40, 80)]
    assert 7.5 < math.log2(errors[0] / errors[1]) < 8.5 and 7.5 < math.log2(errors[1] / errors[2]) < 8.5


def test_order_seven_of_the_interpolant():
    times = np.linspace(0, 5, 777)
    exact = np.array([kepler_at(t, 0.3) for t in times])
    errors, slopes = [], []
    for n in (20, 40):
        kept = fixed_steps(n, STEPS)
        states, rates = interpolate(kept.nodes, kept.states, kept.coefficients, times)
        errors.append(np.abs(states - exact).max())
        slopes.append(np.abs(rates[:, :2] - exact[:, 2:]).max())
    assert math.log2(errors[0] / errors[1]) > 6.8
    assert math.log2(slopes[0] / slopes[1]) > 5.8
    assert errors[1] < 1e-7 and slopes[1] < 1e-6


def test_arenstorf_orbit_closes_better_with_smaller_tolerance():
    start = [0.994, 0.0, 0.0, -2.00158510637908252240537862224]
    period, evaluations, errors = 17.0652165601579625588917206249, [], []
    for tolerance in (1e-6, 1e-8, 1e-10, 1e-12):
        end = go(arenstorf, (0, period), start, [0.012277471], rtol=tolerance, atol=tolerance, keep=FINAL)
        assert end.status == Status.FINISHED
        errors.append(np.abs(end.y[:2] - start[:2]).max())
        evaluations.append(end.evaluations)
    assert errors[-1] < 1e-9
    slope = np.polyfit(np.log(evaluations), np.log(errors), 1)[0]
    assert slope < -6  # order 8, up to luck: the orbit magnifies errors a million times


def test_agrees_with_scipy():
    start, g = [1.0, 2.0, 0.3, -0.2], 9.81

    def python(t, y):
        c, s = math.cos(y[0] - y[1]), math.sin(y[0] - y[1])
        f, h = -s * y[3] ** 2 - 2 * g * math.sin(y[0]), s * y[2] ** 2 - g * math.sin(y[1])
        return [y[2], y[3], (f - c * h) / (2 - c * c), (2 * h - c * f) / (2 - c * c)]

    theirs = solve_ivp(python, (0, 3), start, method="DOP853", rtol=1e-12, atol=1e-12, dense_output=True)
    ours = go(double_pendulum, (0, 3), start, [g], rtol=1e-12, atol=1e-12)
    assert np.abs(ours.y - theirs.y[:, -1]).max() < 1e-9
    times = np.linspace(0, 3, 100)
    assert np.abs(interpolate(ours.nodes, ours.states, ours.coefficients, times)[0] - theirs.sol(times).T).max() < 1e-9


def test_same_step_as_scipy():
    theirs = solve_ivp(lambda t, y: [y[1], -y[0]], (0, 0.5), [1.0, 0.2], method="DOP853", first_step=0.5, rtol=1e-3, dense_output=True)
    ours = go(oscillator, (0, 0.5), [1.0, 0.2], first_step=0.5, rtol=1e-3)
    assert theirs.t.size == ours.nodes.size == 2
    assert np.abs(ours.y - theirs.y[:, -1]).max() < 4e-15  # weights up to 43, added in another order
    times = np.linspace(0, 0.5, 17)
    assert np.abs(interpolate(ours.nodes, ours.states, ours.coefficients, times)[0] - theirs.sol(times).T).max() < 1e-14


def test_there_and_back():
    there = go(kepler, (0, 10), ellipse(0.5), rtol=1e-12, atol=1e-12)
    back = go(kepler, (10, 0), there.y, rtol=1e-12, atol=1e-12)
    assert back.status == Status.FINISHED and back.t == 0.0
    assert np.all(np.diff(back.nodes) < 0)
    assert np.abs(back.y - ellipse(0.5)).max() < 1e-9
    times = np.linspace(10, 0, 41)
    forwards = interpolate(there.nodes, there.states, there.coefficients, times)
    backwards = interpolate(back.nodes, back.states, back.coefficients, times)
    assert np.abs(forwards[0] - backwards[0]).max() < 1e-9
    assert np.abs(forwards[1] - backwards[1]).max() < 1e-7


def test_tolerance_of_each_component():
    loose = go(kepler, (0, 10), ellipse(0.5), rtol=0.0, atol=[1e-3, 1e-3, 1e3, 1e3], keep=FINAL)
    tight = go(kepler, (0, 10), ellipse(0.5), rtol=0.0, atol=[1e-9, 1e-9, 1e3, 1e3], keep=FINAL)
    assert tight.accepted > 2 * loose.accepted


def test_a_resting_state_takes_few_steps():
    rest = go(oscillator, (0, 1e6), [0.0, 0.0], keep=FINAL)
    assert rest.status == Status.FINISHED and rest.accepted < 30 and np.all(rest.y == 0)


# between the nodes


@pytest.mark.parametrize("projected", [False, True])
def test_interpolant_is_continuous_with_its_derivative(projected):
    kept = go(pendulum, (0, 10), [0.6, -0.8, 0.8, 0.6], [9.81], project=onto_circle if projected else None, rtol=1e-6, atol=1e-6)
    f, h = kept.coefficients, np.diff(kept.nodes)[:, None]
    ends = kept.states[:-1] + f[:, 0]
    assert np.abs(ends - kept.states[1:]).max() < 1e-15
    left, right = (f[:, 0] - f[:, 1] - f[:, 2]) / h, (f[:, 0] + f[:, 1]) / h
    assert np.abs(left[:-1] - right[1:]).max() < 1e-11
    slopes = interpolate(kept.nodes, kept.states, kept.coefficients, kept.nodes)[1]
    assert np.abs(slopes[:, :2] - kept.states[:, 2:]).max() < 1e-11
    inside = (kept.nodes[:-1] + kept.nodes[1:]) / 2
    states, rates = interpolate(kept.nodes, kept.states, kept.coefficients, inside)
    assert np.abs(rates[:, :2] - states[:, 2:]).max() < 1e-3
    small = 1e-5
    after, before = (interpolate(kept.nodes, kept.states, kept.coefficients, inside + s)[0] for s in (small, -small))
    assert np.abs((after - before) / (2 * small) - rates).max() < 1e-5


def test_interpolation_at_nodes_and_outside():
    kept = go(oscillator, (0, 3), [1.0, 0.0])
    assert np.array_equal(interpolate(kept.nodes, kept.states, kept.coefficients, kept.nodes)[0], kept.states)
    outside = interpolate(kept.nodes, kept.states, kept.coefficients, [-0.1, 3.1, math.nan])[0]
    assert np.all(np.isnan(outside))
    shuffled = interpolate(kept.nodes, kept.states, kept.coefficients, [2.0, 0.5, 1.0])[0]
    assert np.abs(shuffled[:, 0] - np.cos([2.0, 0.5, 1.0])).max() < 1e-8


def test_ways_of_keeping_agree_bit_for_bit():
    times = np.concatenate(([0.0, 0.0], np.sort(np.random.default_rng(1).uniform(0, 7, 50)), [7.0, 7.0]))
    options = {"p": [9.81], "project": onto_circle, "measure": circle_residuals, "n_measure": 2, "rtol": 1e-8, "atol": 1e-8}
    final, steps, at = (go(pendulum, (0, 7), [0.6, -0.8, 0.8, 0.6], keep=k, times=times, **options) for k in (FINAL, STEPS, TIMES))
    for other in (steps, at):
        for field in ("t", "y", "minima", "maxima", "measured", "accepted", "rejected", "projections", "next_step"):
            assert np.array_equal(getattr(final, field), getattr(other, field)), field
    assert final.nodes.size == final.states.size == final.coefficients.size == at.coefficients.size == 0
    assert steps.nodes.size == steps.accepted + 1 == len(steps.states) == len(steps.coefficients) + 1
    assert np.array_equal(at.nodes, times)
    between = interpolate(steps.nodes, steps.states, steps.coefficients, times)[0]
    assert np.abs(at.states - between).max() < 1e-7
    x, y, u, v = at.states.T  # on the circle, where the interpolated ones are not
    assert max(np.abs(x * x + y * y - 1).max(), np.abs(x * u + y * v).max()) < 1e-15 < np.abs((between[:, :2] ** 2).sum(axis=1) - 1).max()
    assert np.array_equal(final.minima, steps.states.min(axis=0)) and np.array_equal(final.maxima, steps.states.max(axis=0))
    assert final.evaluations < at.evaluations < steps.evaluations


def test_times_backwards():
    times = np.linspace(2, 0, 11)
    at = go(oscillator, (2, 0), [math.cos(2), -math.sin(2)], keep=TIMES, times=times, rtol=1e-12, atol=1e-12)
    assert np.abs(at.states[:, 0] - np.cos(times)).max() < 1e-11


def test_many_steps_are_kept():
    kept = go(oscillator, (0, 200), [1.0, 0.0], max_step=0.1)
    assert kept.accepted >= 2000 and np.abs(kept.states[:, 0] - np.cos(kept.nodes)).max() < 1e-8
    assert np.all(np.diff(kept.nodes) <= 0.1 * 1.011)


# projection


def test_pendulum_stays_on_its_circle():
    start, g = [0.6, -0.8, 0.8, 0.6], 9.81
    free = go(pendulum, (0, 1000), start, [g], measure=circle_residuals, n_measure=2, keep=FINAL)
    held = go(pendulum, (0, 1000), start, [g], project=onto_circle, measure=circle_residuals, n_measure=2, keep=FINAL)
    assert held.status == Status.FINISHED
    assert np.all(held.measured < 2e-15) and free.measured[0] > 1e-9
    energy = (held.y[2] ** 2 + held.y[3] ** 2) / 2 + g * held.y[1]
    assert abs(energy - (0.5 - 0.8 * g)) < 1e-5
    assert held.projections >= held.accepted


def test_projection_does_not_spoil_the_motion():
    """Angle of the pendulum by its own equation."""
    held = go(pendulum, (0, 5), [0.6, -0.8, 0.0, 0.0], [9.81], project=onto_circle, rtol=1e-11, atol=1e-11)
    theirs = solve_ivp(
        lambda t, y: [y[1], -9.81 * math.sin(y[0])], (0, 5), [math.atan2(0.6, 0.8), 0.0], method="DOP853", rtol=1e-12, atol=1e-12
    )
    angle, rate = theirs.y[:, -1]
    exact = [math.sin(angle), -math.cos(angle), rate * math.cos(angle), rate * math.sin(angle)]
    assert np.abs(held.y - exact).max() < 1e-8


def test_settle_projects_between_the_nodes():
    kept = go(pendulum, (0, 5), [0.6, -0.8, 0.8, 0.6], [9.81], project=onto_circle, rtol=1e-6, atol=1e-6)
    times = np.linspace(0.01, 4.99, 60)
    states = interpolate(kept.nodes, kept.states, kept.coefficients, times)[0]
    settled, far = settle(Code(0, onto_circle.address), times, states, [9.81], Limits(rtol=1e-6, atol=1e-6))
    assert np.abs(states[:, 0] ** 2 + states[:, 1] ** 2 - 1).max() > 1e-9
    assert np.abs(settled[:, 0] ** 2 + settled[:, 1] ** 2 - 1).max() < 1e-15
    assert 0 < far.max() < 1000


def test_projection_far_away_is_drift():
    lost = go(pendulum, (0, 10), [0.6, -0.8, 0.8, 0.6], [9.81], project=far_away)
    assert lost.status == Status.DRIFT and lost.t == 0.0
    assert (lost.accepted, lost.rejected, lost.projections) == (0, 20, 120)  # three of each step, and three to hear round-off


# watched functions


def test_bouncing_ball():
    """Heights h e^(2k): each flight starts at the root where the last one ended."""
    g, t, y, expected = 9.81, 0.0, np.array([1.0, 0.0]), math.sqrt(2 / 9.81)
    for bounce in range(12):
        fall = go(ball, (t, 100), y, [g], watch=height, n_watch=1, terminal=[True], rtol=1e-12, atol=1e-12)
        assert fall.status == Status.WATCH and fall.index == 0
        assert abs(fall.t - expected) < 1e-11 and abs(fall.y[0]) < 1e-11
        assert fall.nodes[-1] == fall.t and np.array_equal(fall.states[-1], fall.y)
        expected += 2 * math.sqrt(2 / g) * 0.8 ** (bounce + 1)
        t, y = fall.t, np.array([fall.y[0], -0.8 * fall.y[1]])


@pytest.mark.parametrize("sign", [1, -1])
def test_zero_at_the_start_does_not_fire(sign):
    swing = go(oscillator, (0, sign * 4.0), [0.0, 1.0], watch=height, n_watch=1, rtol=1e-10, atol=1e-10)
    assert swing.status == Status.FINISHED
    assert np.abs(swing.found_times - [sign * PI]).max() < 1e-9


@pytest.mark.parametrize("noise", [-1e-16, 1e-16])
def test_start_a_rounding_error_from_a_root_does_not_fire(noise):
    swing = go(oscillator, (0, 4.0), [noise, 1.0], watch=height, n_watch=1, terminal=[True])
    assert swing.status == Status.WATCH and abs(swing.t - PI) < 1e-7


@pytest.mark.parametrize(("direction", "roots"), [(0, [1, 3, 5, 7]), (1, [3, 7]), (-1, [1, 5])])
def test_directions(direction, roots):
    """cos t vanishes at odd multiples of pi/2, first downwards."""
    swing = go(oscillator, (0, 12), [1.0, 0.0], watch=height, n_watch=1, directions=[direction], rtol=1e-11, atol=1e-11, keep=FINAL)
    assert np.abs(swing.found_times - np.array(roots) * PI / 2).max() < 1e-9
    assert np.all(swing.found_indices == 0)
    assert np.abs(swing.found_states[:, 0]).max() < 1e-11
    assert np.abs(np.abs(swing.found_states[:, 1]) - 1).max() < 1e-9


def test_directions_are_meant_along_the_motion():
    """Backwards from t = 0, cos t falls as well."""
    swing = go(oscillator, (0, -12), [1.0, 0.0], watch=height, n_watch=1, directions=[-1], rtol=1e-11, atol=1e-11)
    assert np.abs(swing.found_times + np.array([1, 5]) * PI / 2).max() < 1e-9


def test_several_roots_in_one_step():
    all_three = go(uniform, (0, 1), [0.0], watch=three_levels, n_watch=3, first_step=1.0)
    assert all_three.accepted == 1
    assert list(all_three.found_indices) == [2, 1, 0]
    assert np.abs(all_three.found_times - [0.3, 0.5, 0.7]).max() < 1e-12
    stopped = go(uniform, (0, 1), [0.0], watch=three_levels, n_watch=3, first_step=1.0, terminal=[True, True, False])
    assert (stopped.status, stopped.index) == (Status.WATCH, 1)
    assert list(stopped.found_indices) == [2]
    assert abs(stopped.t - 0.5) < 1e-12 and stopped.t >= 0.5 - 1e-16 and abs(stopped.y[0] - 0.5) < 1e-12
    assert np.array_equal(stopped.maxima, stopped.y)


def test_no_root_of_a_function_that_is_watched_closely_is_missed():
    """A steady rotation is integrated exactly in steps of any length: only the function itself says that they are too long."""
    exact = np.pi * np.arange(1, 70) / 2.2
    found = go(turning, (0, 96), [0.0], [2.2], watch=sine_and_more, n_watch=2, closely=[True, False])
    sine = found.found_indices == 0
    assert len(exact[exact < 96]) == 67
    assert np.abs(found.found_times[sine] - exact[exact < 96]).max() < 1e-11
    assert np.abs(found.found_times[~sine] - 3 / 2.2).max() < 1e-13
    loose = go(turning, (0, 96), [0.0], [2.2], watch=sine_and_more, n_watch=2)
    assert len(loose.found_times) < 10


@pytest.mark.parametrize("w", [30.0, 201.0, 1083.0, 1500.0])
def test_a_fast_oscillation_does_not_look_like_a_slow_one(w):
    found = go(turning, (0, 1), [0.0], [1.0, w], watch=fast_sine, n_watch=1, closely=[True])
    exact = (np.pi * np.arange(1, int((w + 0.3) / np.pi) + 1) - 0.3) / w
    assert len(found.found_times) == len(exact)
    assert np.abs(found.found_times - exact).max() < 1e-13


@pytest.mark.parametrize(("crossed", "touched"), [(0.1, 0.7), (0.9, 0.3)])
def test_a_root_and_a_touch_within_one_step(crossed, touched):
    found = go(turning, (0, 1), [0.0], [1.0, crossed, touched], watch=crossing_and_touching, n_watch=1, closely=[True])
    assert np.allclose(found.found_times, sorted([crossed, touched - 1e-3, touched + 1e-3]), atol=1e-12)


@pytest.mark.parametrize("depth", [1e-2, 1e-6, 1e-10])
def test_a_function_that_touches_zero_and_turns_back(depth):
    """The ball rises to p[1] + depth and falls again: two roots, sqrt(2 depth/g) before and after the highest point."""
    g, level = 2.0, 0.7
    up = math.sqrt(2 * g * (level + depth))
    found = go(ball, (0, 2.0), [0.0, up], [g, level], watch=below_level, n_watch=1, closely=[True])
    middle, half = up / g, math.sqrt(2 * depth / g)
    assert np.abs(found.found_times - [middle - half, middle + half]).max() < 4e-15 / half + 1e-13
    short = go(ball, (0, 2.0), [0.0, math.sqrt(2 * g * (level - depth))], [g, level], watch=below_level, n_watch=1, closely=[True])
    assert len(short.found_times) == 0


@pytest.mark.parametrize("watched", ["steps", "noise"])
def test_a_rough_function_does_not_stop_a_run(watched):
    """One that jumps, and one that is round-off, are not resolved by any step."""
    found = go(turning, (0, 40), [0.0], [1.0], watch={"steps": staircase, "noise": round_off}[watched], n_watch=1, closely=[True])
    assert found.status == Status.FINISHED
    assert found.accepted + found.rejected < (4000 if watched == "steps" else 100)
    if watched == "steps":
        assert np.abs(found.found_times - np.arange(1, 41)).max() < 1e-11


def test_a_cut_step_is_still_the_motion():
    swing = go(oscillator, (0, 9), [1.0, 0.0], watch=height, n_watch=1, terminal=[True], rtol=1e-10, atol=1e-10)
    times = np.linspace(0, swing.t, 200)
    states, rates = interpolate(swing.nodes, swing.states, swing.coefficients, times)
    assert abs(swing.t - PI / 2) < 1e-9
    assert np.abs(states - np.array([np.cos(times), -np.sin(times)]).T).max() < 1e-9
    assert np.abs(rates - np.array([-np.sin(times), -np.cos(times)]).T).max() < 1e-7
    at = go(
        oscillator, (0, 9), [1.0, 0.0], watch=height, n_watch=1, terminal=[True], rtol=1e-10, atol=1e-10, keep=TIMES, times=[0.5, 1.5, 2.5]
    )
    assert list(at.nodes) == [0.5, 1.5]
    assert np.array_equal(at.states, interpolate(swing.nodes, swing.states, swing.coefficients, [0.5, 1.5])[0])


def test_the_state_at_a_root_is_on_the_constraints():
    options = {"project": onto_circle, "watch": first_and_third, "n_watch": 2, "rtol": 1e-6, "atol": 1e-6}
    swing = go(pendulum, (0, 50), [0.6, -0.8, 0.8, 0.6], [9.81], **options)
    x, y, u, v = swing.found_states.T
    assert len(x) > 30 and set(swing.found_indices) == {0, 1}
    assert np.abs(x * x + y * y - 1).max() < 1e-15 and np.abs(x * u + y * v).max() < 1e-15
    assert np.abs(np.where(swing.found_indices == 0, x, u)).max() < 1e-11
    assert np.all(np.diff(swing.found_times) > 0)
    stop = go(pendulum, (0, 50), [0.6, -0.8, 0.8, 0.6], [9.81], terminal=[True, True], **options)
    assert (stop.t, stop.index) == (swing.found_times[0], swing.found_indices[0])
    assert np.array_equal(stop.y, swing.found_states[0]) and np.array_equal(stop.y, stop.states[-1])


def test_floor():
    low = go(decay, (0, 100), [1.0], watch=height, n_watch=1, floor=[0.1], max_step=0.05)
    assert (low.status, low.index) == (Status.FLOOR, 0)
    assert 0.09 < low.y[0] < 0.1 and low.states[-2, 0] >= 0.1
    assert go(decay, (0, 100), [1.0], watch=height, n_watch=1, keep=FINAL).status == Status.FINISHED


# inputs and measures


def test_inputs():
    """y1 = sin(wt)/w, y2 = (1 - cos(wt))/w^2 + t^2."""
    w, end = 1.7, 6.0
    forced = go(driven, (0, end), [0.0, 0.0], [w, math.nan, math.nan], inputs=two_inputs, first_input=1, rtol=1e-11, atol=1e-11)
    exact = [math.sin(w * end) / w, (1 - math.cos(w * end)) / w**2 + end**2]
    assert np.abs(forced.y - exact).max() < 1e-9
    times = np.linspace(0, end, 50)
    states = interpolate(forced.nodes, forced.states, forced.coefficients, times)[0]
    assert np.abs(states[:, 0] - np.sin(w * times) / w).max() < 1e-9


def test_watch_and_measure_see_the_inputs_of_their_time():
    w = 1.7
    options = {
        "inputs": two_inputs,
        "first_input": 1,
        "watch": first_input_itself,
        "n_watch": 1,
        "measure": first_input_itself,
        "n_measure": 1,
    }
    forced = go(driven, (0, 6), [0.0, 0.0], [w, 0, 0], rtol=1e-11, atol=1e-11, **options)
    assert np.abs(forced.found_times - np.array([1, 3, 5]) * PI / 2 / w).max() < 1e-12
    assert forced.measured[0] == 1.0


def test_p_of_the_caller_is_not_written_to():
    p = np.array([1.7, 5.0, 6.0])
    go(driven, (0, 1), [0.0, 0.0], p, inputs=two_inputs, first_input=1)
    assert list(p) == [1.7, 5.0, 6.0]


# ends


def test_budget():
    spent = go(kepler, (0, 1e6), ellipse(0.5), max_steps=100)
    assert spent.status == Status.TOO_MANY_STEPS and spent.accepted + spent.rejected == 100
    assert spent.nodes[-1] == spent.t < 1e6
    on = go(kepler, (spent.t, spent.t + 1), spent.y, first_step=spent.next_step)
    assert on.status == Status.FINISHED


def test_explosion_ends():
    """y = 1/(1 - t)."""
    burst = go(explosion, (0, 2), [1.0], rtol=1e-10, atol=1e-10)
    assert burst.status in (Status.STEP_TOO_SMALL, Status.NOT_FINITE)
    assert abs(burst.t - 1) < 1e-9 and np.all(np.isfinite(burst.states)) and burst.accepted + burst.rejected < 2000


def test_not_finite():
    assert go(half_line, (0, 1), [-1.0]).status == Status.NOT_FINITE
    assert go(decay, (0, 1), [math.inf]).status == Status.NOT_FINITE
    edge = go(half_line, (0, 3), [1.0])
    assert edge.status == Status.NOT_FINITE and abs(edge.t - 1) < 1e-9 and edge.y[0] >= 0


def test_nothing_to_do():
    still = go(oscillator, (1, 1), [1.0, 0.0])
    assert still.status == Status.FINISHED and still.accepted == 0 and list(still.nodes) == [1.0]
    assert np.array_equal(interpolate(still.nodes, still.states, still.coefficients, [1.0])[0], [[1.0, 0.0]])


def test_interruption():
    flag = np.ones(1, np.int64)
    assert go(oscillator, (0, 1), [1.0, 0.0], flag=flag).status == Status.INTERRUPTED
    for wait in (0.05, 1.0, 10.0):  # on a busy machine the flag may be set before the first step
        flag[0] = 0
        timer = threading.Timer(wait, flag.fill, [1])
        timer.start()
        long = go(oscillator, (0, math.inf), [1.0, 0.0], flag=flag, keep=FINAL, max_steps=10**15)
        timer.join()
        if long.t > 0:
            break
    assert long.status == Status.INTERRUPTED and long.t > 0


@pytest.mark.parametrize("keep", [FINAL, STEPS, TIMES])
def test_pauses_change_nothing(keep):
    times = {"times": np.linspace(1, 60, 40)} if keep == TIMES else {}
    arguments = {"p": [9.81], "rtol": 1e-11, "atol": 1e-11, "keep": keep, **times}
    whole = go(double_pendulum, (0, 60), [1.5, 2.0, 0.0, 0.0], **arguments)
    reached = []
    paused = go(double_pendulum, (0, 60), [1.5, 2.0, 0.0, 0.0], paused=reached.append, **arguments)
    assert whole.accepted > 500 and len(reached) > 2
    assert reached == sorted(reached) and reached[0] > 0 and reached[-1] < 60
    for one, other in zip(whole, paused, strict=True):
        assert np.array_equal(one, other)


def test_a_pause_may_end_a_run():
    flag = np.zeros(1, np.int64)
    long = go(oscillator, (0, math.inf), [1.0, 0.0], flag=flag, paused=lambda t: flag.fill(t > 100), keep=FINAL, max_steps=10**15)
    assert long.status == Status.INTERRUPTED and long.t > 100


def test_misuse():
    with pytest.raises(ValueError, match="times must lie"):
        go(oscillator, (0, 1), [1.0, 0.0], keep=TIMES, times=[0.5, 1.5])
    with pytest.raises(ValueError, match="tolerances"):
        go(oscillator, (0, 1), [1.0, 0.0], rtol=0.0, atol=0.0)
    with pytest.raises(ValueError, match="no kernel"):
        go(oscillator, (0, 1), [1.0, 0.0], n_watch=1)
    with pytest.raises(ValueError, match="room"):
        go(driven, (0, 1), [1.0, 0.0], [1.0], inputs=two_inputs, first_input=1)
    with pytest.raises(ValueError, match="row of numbers"):
        go(oscillator, (0, 1), [[1.0, 0.0]])
    assert all(status.sentence.endswith(".") for status in Status)


# ensembles


def members(m):
    random = np.random.default_rng(7)
    angle, rate = random.uniform(-2, 2, m), random.uniform(-3, 3, m)
    starts = np.array([np.sin(angle), -np.cos(angle), rate * np.cos(angle), rate * np.sin(angle)]).T
    return starts, random.uniform(5, 15, (m, 1))


@pytest.mark.parametrize("threads", [1, 3])
def test_ensemble_equals_single_runs_bit_for_bit(threads):
    starts, p = members(50)
    starts[17] = math.nan  # fails alone
    addresses = pendulum.address, onto_circle.address, 0, first_and_third.address, circle_residuals.address
    code, limits, watching = Code(*addresses, n_watch=2, n_measure=2), Limits(1e-8, 1e-8, max_steps=60), Watching(terminal=[False, True])
    many = run_many(code, 0, 3, starts, p, limits, watching, threads=threads)
    for i in range(50):
        one = run(code, 0, 3, starts[i], p[i], limits, watching, keep=FINAL)
        assert many.projections[i] <= one.projections  # of roots that are recorded
        for field in set(many._fields) - {"projections"}:
            assert np.array_equal(getattr(many, field)[i], getattr(one, field), equal_nan=True), (i, field)
    assert set(many.status) >= {Status.WATCH, Status.NOT_FINITE}


def test_ensemble_with_inputs_and_one_row_of_parameters():
    starts = np.array([[0.0, 0.0], [1.0, 2.0], [-3.0, 0.5]])
    many = run_many(Code(driven.address, inputs=two_inputs.address, first_input=1), 0, 2, starts, [1.7, 0, 0])
    for i, start in enumerate(starts):
        one = go(driven, (0, 2), start, [1.7, 0, 0], inputs=two_inputs, first_input=1, keep=FINAL)
        assert np.array_equal(many.y[i], one.y)
    assert np.all(many.status == Status.FINISHED) and np.all(many.t == 2.0)


def test_ensemble_is_interrupted():
    starts, p = members(8)
    flag = np.ones(1, np.int64)
    many = run_many(Code(pendulum.address), 0, 1e9, starts, p, flag=flag)
    assert np.all(many.status == Status.INTERRUPTED) and np.array_equal(many.y, starts)


def test_any_numbers_reach_the_loop():
    """Lists, integers and frozen arrays become what the machine code was made for."""
    frozen = np.array([1, 0])
    frozen.setflags(write=False)
    go(oscillator, (0, 1), frozen)
    go(oscillator, (0.0, 1), [1, 0], np.arange(2), rtol=1, max_steps=np.int64(50))


# keeping every step


def test_kept_steps_outgrow_their_room():
    """More steps than the first room holds, rejections among them: nodes, states and polynomials agree with a run in pieces."""
    whole = go(double_pendulum, (0.0, 20.0), [2.0, 1.0, 0.3, 0.0], [9.81], rtol=1e-11, atol=1e-11)
    assert whole.accepted > 300
    assert whole.rejected > 0
    assert len(whole.nodes) == whole.accepted + 1
    assert whole.coefficients.shape == (whole.accepted, 7, 4)
    cut = float(whole.nodes[64])
    tolerances = {"rtol": 1e-11, "atol": 1e-11}
    part = go(double_pendulum, (0.0, 20.0), [2.0, 1.0, 0.3, 0.0], [9.81], **tolerances, keep=TIMES, times=[0.0, cut, 20.0])
    np.testing.assert_array_equal(part.states[1], whole.states[64])
    np.testing.assert_array_equal(part.states[2], whole.states[-1])
    np.testing.assert_array_equal(interpolate(whole.nodes, whole.states, whole.coefficients, whole.nodes)[0], whole.states)
