"""Prepared motions: arrays in, arrays out, with the bits of simulate and all its refusals."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

PENDULUM = ch.derive(ch.System("x y", {"g": "positive"}, lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())
GALLERY = ["sleigh", "double-pendulum", "leaning-disk", "damped-oscillator", "lagrange-top", "heisenberg", "foucault", "chaplygin-ball"]


def prepared(name: str, **given):
    model = ch.gallery(name)
    run = ch.prepare(model, t=(model.t[0], model.t[0] + 0.5), **given)
    return model, run, *run.start(model.start, parameters=model.parameters)


@pytest.mark.parametrize("name", GALLERY)
def test_the_end_has_the_bits_of_simulate(name):
    model, run, y0, p = prepared(name)
    motion = ch.simulate(model, t=run.t, keep="final")
    assert run._straight is not None and run._straight.run(y0, p) is not None  # in compiled code
    assert run(y0, p).tolist() == [motion.final[text] for text in run.outputs]


@pytest.mark.parametrize("name", ["sleigh", "damped-oscillator", "heisenberg", "foucault", "spherical-pendulum"])
def test_a_call_in_one_piece_has_the_bits_of_its_parts(name):
    """From the second motion of a thread on, start, run and end are checked in one call of machine code."""
    _, run, y0, p = prepared(name)
    first = run(y0, p)
    thread, steps = run._straight._threads.found, set()
    (at_once,) = thread.at_once.values()
    for k in range(6):  # more and more steps
        start = y0.copy()
        start[1::2] *= 1 + 3 * k
        parts = thread.part_by_part(start, p)
        calls = at_once.calls
        assert run(start, p).tolist() == parts.tolist()
        assert at_once.calls == calls + 1 and thread.doubts == 0
        steps.add(at_once.steps)
    assert len(steps) > 1 or name == "damped-oscillator"  # a linear one takes the same steps at all sizes
    assert run(y0, p).tolist() == first.tolist()


def test_doubts_of_a_call_in_one_piece_are_removed_or_raised():
    _, run, y0, p = prepared("sleigh")
    wanted = run(y0, p)
    for k in range(len(y0)):
        wrong = y0.copy()
        wrong[k] = np.nan
        with pytest.raises(ch.InitialError, match="finite"):
            run(wrong, p)
    off = y0.copy()
    off[run.state.index("y'")] += 1e-3  # across the blade
    with pytest.raises(ch.InitialError, match="contradict"):
        run(off, p)
    mass = p.copy()
    mass[run.parameters.index("m")] = np.inf
    with pytest.raises(ch.ParameterError, match="finite"):
        run(y0, mass)
    near = y0 * (1 + 1e-11)
    near[run.state.index("y'")] += 1e-11
    assert run(near, p) == pytest.approx(wanted, abs=1e-9)
    assert run(y0, p).tolist() == wanted.tolist()
    for _ in range(40):  # where most motions are in doubt, they are no longer run twice
        assert run(near, p) == pytest.approx(wanted, abs=1e-9)
    assert run._straight._threads.found.at_once == {}
    assert run(y0, p).tolist() == wanted.tolist()


def test_outputs_are_expressions_and_multipliers():
    model, run, y0, p = prepared("sleigh", outputs=["x + 2*theta'", "lambda1", "x''", "m*theta"])
    motion = ch.simulate(model, t=run.t)
    assert run.outputs == ("x + 2*theta'", "lambda1", "x''", "m*theta")
    assert run(y0, p) == pytest.approx([motion.final[text] for text in run.outputs], rel=1e-13)


def test_an_oscillator_follows_its_closed_form():
    spring = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    run = ch.prepare(spring, t=(0, 2), tolerance=1e-12)
    for k in (0.3, 2.0, 7.1):
        y0, p = run.start({"x": 0.4, "x'": -1}, parameters={"k": k})
        w = np.sqrt(k)
        x = 0.4 * np.cos(2 * w) - np.sin(2 * w) / w
        assert run(y0, p) == pytest.approx([x, -0.4 * w * np.sin(2 * w) - np.cos(2 * w)], abs=1e-10)


def test_a_driven_oscillator_knows_its_input():
    driven = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2", forces={"x": "u"}, inputs={"u": None}))
    run = ch.prepare(driven, t=(0, 3), tolerance=1e-12, inputs={"u": "sin(2*t)"}, outputs=["x", "x''", "u"])
    y0, p = run.start({"x": 0, "x'": 0}, parameters={"k": 1})
    x = (2 * np.sin(3) - np.sin(6)) / 3  # x'' + x = sin 2t from rest
    assert run(y0, p) == pytest.approx([x, np.sin(6) - x, np.sin(6)], abs=1e-10)
    assert run.rates(0.7, [0.2, 0.1], p) == pytest.approx([0.1, np.sin(1.4) - 0.2], abs=1e-15)
    assert run(y0, p) == pytest.approx([x, np.sin(6) - x, np.sin(6)], abs=1e-10)  # in one call of machine code now
    assert run._straight._threads.found.at_once[False].calls == 1


def test_small_residuals_are_projected_and_large_ones_raise():
    run = ch.prepare(PENDULUM, t=(0, 1), outputs=["x^2 + y^2", "x*x' + y*y'"])
    y0, p = run.start({"x": 0.6, "y": -0.8, "x'": 0.4}, parameters={"g": 9.81})
    assert dict(zip(run.state, y0, strict=True))["y'"] == pytest.approx(0.3)
    moved = y0 * (1 + 1e-10)
    assert run(moved, p) == pytest.approx([1, 0], abs=1e-13)
    assert run._straight.run(moved, p) is not None
    with pytest.raises(ch.InitialError, match="contradict"):
        run(y0 * (1 + 1e-5), p)


def test_numbers_that_no_row_contains_are_checked_too():
    """Neither x nor k occurs in the equations, and a mass has no sign there: the motion itself would not notice them."""
    system = ch.System("x", {"m": "positive", "k": "real"}, lagrangian="m*x'^2/2 + k")
    run = ch.prepare(ch.derive(system), t=(0, 1))
    y0, p = run.start({"x": 1.0, "x'": 2.0}, parameters={"m": 3.0, "k": 4.0})
    assert run(y0, p) == pytest.approx([3.0, 2.0], abs=1e-13)
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ch.InitialError, match="not finite"):
            run([bad, 2.0], p)
        with pytest.raises(ch.ParameterError, match="not finite"):
            run(y0, [3.0, bad])
    for bad in (0.0, -1.0):
        with pytest.raises(ch.ParameterError, match="declared positive"):
            run(y0, [bad, 4.0])


def test_wrong_arguments_are_refused():
    run = ch.prepare(PENDULUM, t=(0, 1))
    y0, p = run.start({"x": 0.6, "y": -0.8, "x'": 0.4}, parameters={"g": 9.81})
    with pytest.raises(ch.UsageError, match="4 numbers and there are 1 parameters"):
        run(y0[:3], p)
    with pytest.raises(ch.UsageError, match="shapes"):
        run(y0, np.zeros((1, 1)))
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ch.InitialError, match="not finite"):
            run(np.array([bad, *y0[1:]]), p)
        with pytest.raises(ch.ParameterError, match="not finite"):
            run(y0, [bad])
    with pytest.raises(ch.ParameterError, match="declared positive"):
        run(y0, [-9.81])
    with pytest.raises(ch.UsageError, match="list of texts"):
        ch.prepare(PENDULUM, t=(0, 1), outputs="x")
    with pytest.raises(ch.NotationError):
        ch.prepare(PENDULUM, t=(0, 1), outputs=["z"])
    with pytest.raises(ch.UsageError, match="two times"):
        ch.prepare(PENDULUM, t=(0, 1, 2))
    with pytest.raises(ch.UsageError, match="takes equations"):
        ch.prepare(PENDULUM.system, t=(0, 1))
    with pytest.raises(ch.InitialError, match="contradict"):
        run.start({"x": 0.6, "y": -0.9, "x'": 0.4}, parameters={"g": 9.81})


def test_a_motion_that_does_not_finish_raises_with_its_outcome():
    falling = ch.derive(ch.System("x", lagrangian="x'^2/2 + 1/x"))
    run = ch.prepare(falling, t=(0, 3))
    y0, p = run.start({"x": 1, "x'": 0})
    with pytest.raises(ch.UnfinishedError) as caught:
        run(y0, p)
    alone = ch.simulate(falling, {"x": 1, "x'": 0}, (0, 3), keep="final")
    assert caught.value.outcome == alone.outcome != "finished"
    assert caught.value.motion.end[0] == pytest.approx(np.pi / np.sqrt(8), abs=1e-3)  # the fall into a centre
    ends, words = run.many([[1, 0], [100, 0], [1, np.nan]], [[]], outcomes=True)
    assert words == [str(alone.outcome), "finished", "not_started"]
    assert np.isnan(ends[[0, 2]]).all() and ends[1].tolist() == run([100, 0], p).tolist()


def test_pivots_that_wear_are_changed_as_in_simulate():
    """The pivot of the Cartesian pendulum that is chosen first vanishes on the way."""
    run = ch.prepare(PENDULUM, t=(0, 3))
    y0, p = run.start({"x": 0.99, "y": np.sqrt(1 - 0.99**2), "x'": 0}, parameters={"g": 9.81})
    start = dict(zip(run.state, y0.tolist(), strict=True))
    motion = ch.simulate(PENDULUM, start, (0, 3), parameters={"g": 9.81}, keep="final")
    assert run(y0, p).tolist() == [motion.final[name] for name in run.state]


def test_corners_are_left_to_simulate():
    block = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2", forces={"x": "-mu*sign(x')"}))
    run = ch.prepare(block, t=(0, 4))
    y0, p = run.start({"x": 0, "x'": 2}, parameters={"mu": 1})
    assert run(y0, p) == pytest.approx([2, 0], abs=1e-8)  # it stops at t = 2
    with pytest.raises(ch.UsageError, match="side of each corner"):
        run.rates(0, y0, p)


def test_a_choice_of_gauge_is_refused():
    with pytest.raises(ch.UsageError, match="branch or a gauge"):
        ch.prepare(ch.gallery("cawley"), t=(0, 1))
    with pytest.raises(ch.UsageError, match="branch or a gauge"):
        ch.prepare(ch.derive(ch.gallery("cawley")), t=(0, 1))


def test_complete_recomputes_what_start_completed():
    run = ch.prepare(PENDULUM, t=(0, 1))
    y0, p = run.start({"x": 0.6, "y": -0.8, "x'": 0.4}, parameters={"g": 9.81})
    place = {name: k for k, name in enumerate(run.state)}
    y0[place["x'"]] = 1.2
    assert run.complete(y0, p)[place["y'"]] == pytest.approx(0.9)
    again = run.complete(y0, p, given=["x", "y", "y'"])
    assert again[place["x'"]] == pytest.approx(0.4)
    with pytest.raises(ch.UsageError, match="no jet of the state"):
        run.complete(y0, p, given=["z"])


def test_threads_do_not_disturb_each_other():
    _, run, y0, p = prepared("double-pendulum")
    starts = y0 * (1 + 0.01 * np.arange(24)[:, None])
    alone = np.array([run(y, p) for y in starts])
    with ThreadPoolExecutor(4) as pool:
        together = np.array(list(pool.map(lambda y: run(y, p), np.repeat(starts, 5, axis=0))))
    assert np.array_equal(together, np.repeat(alone, 5, axis=0))
    assert np.array_equal(run.many(starts, p), alone)
    assert np.array_equal(run.many(starts, p, threads=3), alone)


def test_another_process_computes_the_same_bits(tmp_path):
    _, run, y0, p = prepared("sleigh", outputs=["x", "lambda1"])
    copy = pickle.loads(pickle.dumps(run))  # noqa: S301
    assert copy == run and copy(y0, p).tolist() == run(y0, p).tolist()
    file = tmp_path / "run.pickle"
    file.write_bytes(pickle.dumps((run, y0, p)))
    text = f"import pickle; run, y0, p = pickle.load(open({str(file)!r}, 'rb')); print(*run(y0, p).tolist())"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)  # noqa: S603
    assert [float(v) for v in found.stdout.split()] == run(y0, p).tolist()


def test_a_value_cannot_be_changed():
    _, run, _, _ = prepared("sleigh")
    with pytest.raises(AttributeError):
        run.t = (0, 1)


def test_scipy_integrates_the_rates():
    _, run, y0, p = prepared("sleigh", tolerance=1e-11)
    found = solve_ivp(run.rates, run.t, y0, method="DOP853", rtol=1e-11, atol=1e-12, args=(p,))
    assert found.y[:, -1] == pytest.approx(run(y0, p), abs=1e-9)


def test_numba_calls_the_rates():
    numba = pytest.importorskip("numba")
    _, run, y0, p = prepared("sleigh", tolerance=1e-11)
    rates = run.cfunction

    @numba.njit
    def euler(y, p, h, steps):
        out = np.empty_like(y)
        for k in range(steps):
            rates(k * h, y.ctypes, p.ctypes, out.ctypes)
            y = y + h * out
        return y

    expected = y0.copy()
    for k in range(50):
        expected = expected + 1e-3 * run.rates(k * 1e-3, expected, p)
    assert euler(y0, p, 1e-3, 50) == pytest.approx(expected, abs=1e-15)


# mass matrix [[a, b], [b, c]]: regular for a = 0, where the pivot that is chosen at random parameters vanishes
JOINED = ch.derive(ch.System("x y", "a b c", lagrangian="a*x'^2/2 + b*x'*y' + c*y'^2/2 - x - 2*y"))


@pytest.mark.parametrize("a", [0.5, 1e-3, 1e-6, 1e-12, 1e-17, 0.0])
def test_rates_where_the_usual_pivots_vanish(a):
    """Against the solution of the mass matrix; compiled callers get these rates, or NaN, never wrong digits."""
    run = ch.prepare(JOINED, t=(0, 1))
    expected = dict(zip(("x'", "y'"), np.linalg.solve([[a, 1.0], [1.0, 1.0]], [-1.0, -2.0]), strict=True)) | {"x": 0.3, "y": 0.1}
    state = np.array([{"x": 1.0, "y": 0.0, "x'": 0.3, "y'": 0.1}[name] for name in run.state])
    wanted = np.array([expected[name] for name in run.state])
    p = np.array([a, 1.0, 1.0])
    np.testing.assert_allclose(run.rates(0, state, p), wanted, rtol=1e-12)
    out = np.empty(4)
    run.cfunction(0.0, state.ctypes.data, p.ctypes.data, out.ctypes.data)
    assert np.isnan(out).all() if a < 1e-9 else np.allclose(out, wanted, rtol=1e-8)


def test_rates_of_a_straight_net():
    """Four masses below two fixed points, in planes: pivots vanish by symmetry. Against multipliers from a Schur complement."""
    nodes = [(i, j) for i in range(2) for j in range(2)]
    energy = " + ".join(f"(x{i}{j}'^2 + y{i}{j}'^2 + z{i}{j}'^2)/2 - 9.81*z{i}{j}" for i, j in nodes)
    joined = []
    for i, j in nodes:
        joined.append(((i, j), (i - 1, j) if i else (0, j, 0)))
        joined += [((i, j), (i, j - 1))] if j else []

    def name(c, place):
        return str(place["xyz".index(c)]) if len(place) == 3 else f"{c}{place[0]}{place[1]}"

    rods = [" + ".join(f"({name(c, a)} - {name(c, b)})^2" for c in "xyz") + " = 1" for a, b in joined]
    names = [f"{c}{i}{j}" for i, j in nodes for c in "xyz"]
    run = ch.prepare(ch.derive(ch.System(" ".join(names), lagrangian=energy, kinematic=rods), ch.DAlembert()), t=(0, 1))
    at = (
        {f"x{i}{j}": 0.6 * (i + 1) for i, j in nodes}
        | {f"y{i}{j}": float(j) for i, j in nodes}
        | {f"z{i}{j}": -0.8 * (i + 1) for i, j in nodes}
    )
    place = lambda q: np.array([at[f"{c}{q[0]}{q[1]}"] for c in "xyz"]) if len(q) == 2 else np.array(q, float)  # noqa: E731
    jacobian = np.zeros((len(joined), 12))
    for k, (a, b) in enumerate(joined):
        d = 2 * (place(a) - place(b))
        jacobian[k, 3 * nodes.index(a) : 3 * nodes.index(a) + 3] = d
        if len(b) == 2:
            jacobian[k, 3 * nodes.index(b) : 3 * nodes.index(b) + 3] = -d
    g = np.tile([0, 0, -9.81], 4)
    wanted = g - jacobian.T @ np.linalg.solve(jacobian @ jacobian.T, jacobian @ g)
    state = np.array([at.get(z, 0.0) for z in run.state])
    found = dict(zip(run.state, run.rates(0, state, []), strict=True))
    np.testing.assert_allclose([found[f"{z}'"] for z in names], wanted, atol=1e-12)


NOT_NUMBERS = {
    "texts": ["a"] * 4,
    "ragged": [1, [2, 3]],
    "a mapping": {"x": 1},
    "imaginary parts": np.array([1, 0, 0, 1 + 1j]),
    "a mask": np.ma.masked_array([1, 0, 0, 1.0], [0, 0, 1, 0]),
    "dates": np.array([1, 0, 0, 1], "M8[s]"),
    "truth values": np.array([True, False, False, True]),
    "a truth value among objects": np.array([1.0, True, 0, 0], dtype=object),
    "an integer beyond doubles": [10**400, 0, 0, 1],
}


@pytest.mark.parametrize("given", NOT_NUMBERS.values(), ids=list(NOT_NUMBERS))
def test_what_is_no_array_of_real_numbers_is_refused(given):
    run, p = ch.prepare(JOINED, t=(0, 1)), [0.5, 1, 1]
    for call in (lambda: run(given, p), lambda: run.many(given, p), lambda: run.rates(0, given, p), lambda: run.complete(given, p)):
        with pytest.raises(ch.UsageError, match="arrays of real numbers"):
            call()


def test_wrong_arguments_of_other_calls_are_refused():
    run, y, p = ch.prepare(JOINED, t=(0, 1)), [1, 0, 0, 0.1], [0.5, 1, 1]
    with pytest.raises(ch.UsageError, match="a state has 4 numbers"):
        run.rates(0, y[:2], p)
    with pytest.raises(ch.UsageError, match="there are 3 parameters"):
        run.rates(0, y)
    for t in ("a", "0.5", b"0.5", [0.0, 1.0], True, np.complex128(1 + 2j), 10**400, None, np.float64(np.nan)):
        with pytest.raises(ch.UsageError, match="time is not a number"):
            run.rates(t, y, p)
    with pytest.raises(ch.UsageError, match="3 is no jet"):
        run.complete(y, p, given=3)
    for threads in ("2", 0, -1, 2.5, True):
        with pytest.raises(ch.UsageError, match="not a number of threads"):
            run.many([y], [p], threads=threads)
    assert run.many(np.zeros((0, 4)), p).shape == (0, 4)


def test_an_output_without_a_value_is_not_silent():
    run = ch.prepare(ch.derive(ch.System("x", lagrangian="x'^2/2")), t=(0, 1), outputs=["log(x)", "x"])
    with pytest.raises(ch.StateError, match=r"log\(x\) has no finite value"):
        run([-2, 0.5])
    ends, words = run.many([[-2, 0.5], [2, 0.5]], [], outcomes=True)
    np.testing.assert_allclose(ends, [[np.nan, -1.5], [np.log(2.5), 2.5]])
    assert words == ["finished", "finished"]
