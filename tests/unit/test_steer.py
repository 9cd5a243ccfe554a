"""steer: inputs of least cost, against closed forms and other derivations; refusals in the user's words."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy.integrate import trapezoid

import chetaev as ch

CART = ch.System("x", "m", lagrangian="m*x'^2/2", forces={"x": "u"}, inputs={"u": None}, name="cart")
REST, ONE = {"x": 0, "x'": 0}, {"x": 1, "x'": 0}
UNIT = {"m": 1}
POINT = ch.System("x y", lagrangian="0", kinematic=["x' = u", "y' = v"], inputs={"u": None, "v": None}, name="point")
CAR = ch.System(
    {"x": "line", "y": "line", "theta": "angle"},
    "l",
    lagrangian="0",
    kinematic=["x' = v*cos(theta)", "y' = v*sin(theta)", "theta' = v*tan(phi)/l"],
    inputs={"v": None, "phi": None},
    name="car",
)
WHEEL = {"v": (-1, 1), "phi": (-0.6, 0.6)}


def simulated(best, system, principle, start, parameters):
    """The end of the motion under the inputs found, by a run of its own."""
    t0 = float(best.motion.t[0])
    motion = ch.simulate(ch.derive(system, principle), start, (t0, best.t), parameters=parameters, inputs=best.inputs, tolerance=1e-10)
    return motion.final


@pytest.mark.parametrize(("d", "start", "sign"), [(1, 0, 1), (2.5, -0.7, 1), (-3, 1, -1)])
def test_the_shortest_time_of_a_cart_is_bang_bang(d, start, sign):
    best = ch.steer(CART, None, {"u": (-1, 1)}, {"x": start, "x'": 0}, {"x": start + d, "x'": 0}, parameters=UNIT, seeds=2)
    assert best.feasible and best.reason == ""
    assert best.t == pytest.approx(2 * math.sqrt(abs(d)), rel=1e-7)
    assert best.cost == best.t
    assert [best.inputs["u"](f * best.t) for f in (0.05, 0.45, 0.55, 0.95)] == pytest.approx([sign, sign, -sign, -sign], abs=1e-6)
    assert simulated(best, CART, None, {"x": start, "x'": 0}, UNIT)["x"] == pytest.approx(start + d, abs=1e-6)


def test_the_least_energy_of_a_cart_is_a_cubic():
    """x = 3 s^2 - 2 s^3 with s = t/T; the force 6 (1 - 2 s)/T^2 and the cost 12/T^3, times the square of the mass."""
    best = ch.steer(CART, None, {"u": None}, REST, ONE, "u^2", (0, 2), parameters={"m": 3}, seeds=2)
    assert best.cost == pytest.approx(9 * 12 / 8, rel=1e-9)
    s = np.linspace(0, 1, 9)
    assert best.motion.at(2 * s)["x"] == pytest.approx(3 * s**2 - 2 * s**3, abs=1e-7)
    assert [best.inputs["u"](2 * v) for v in s] == pytest.approx(3 * 6 * (1 - 2 * s) / 4, abs=1e-4)


@pytest.mark.parametrize(("length", "mass", "unit"), [(1e-9, 1e12, 1.0), (1e12, 1.0, 1e-12), (1e-12, 1e-12, 1e6)])
def test_units_do_not_matter(length, mass, unit):
    force, end = mass * length / unit**2, {"x": length, "x'": 0}
    fast = ch.steer(CART, None, {"u": (-force, force)}, REST, end, parameters={"m": mass}, seeds=1)
    assert fast.feasible and fast.t == pytest.approx(2 * unit, rel=1e-7)
    cheap = ch.steer(CART, None, {"u": None}, REST, end, "u^2", (0, unit), parameters={"m": mass}, seeds=1)
    assert cheap.feasible and cheap.cost == pytest.approx(12 * force**2 * unit, rel=1e-7)


def test_drag_of_herglotz_principle_delays_the_cart():
    """x'' = u - x': with y = exp(t2) of the braking time t2, y + exp(-1)/y = 2, and the whole time is 1 + 2 t2."""
    system = ch.System("x", "c", lagrangian="x'^2/2 - c*s", action="s", forces={"x": "u"}, inputs={"u": None})
    best = ch.steer(system, ch.Herglotz(), {"u": (-1, 1)}, {**REST, "s": 0}, ONE, parameters={"c": 1}, seeds=1)
    assert best.t == pytest.approx(1 + 2 * math.log(1 + math.sqrt(1 - math.exp(-1))), rel=1e-6)


def test_least_fuel_coasts():
    """Two thrusters; full thrust for r, coasting, full thrust for r, with r (3 - r) = 1."""
    system = ch.System("x", lagrangian="x'^2/2", forces={"x": "p - q"}, inputs={"p": None, "q": None})
    best = ch.steer(system, None, {"p": (0, 1), "q": (0, 1)}, REST, ONE, "p + q", (0, 3), seeds=1)
    assert best.cost == pytest.approx(3 - math.sqrt(5), rel=1e-6)


def test_ends_may_be_open_or_expressions():
    """A start with a free speed: x' = 3/2 (1 - t^2), at the cost 3. An end x^2 = 4 is reached on one side."""
    free = ch.steer(CART, None, {"u": None}, {"x": 0, "x'": None}, ONE, "u^2", (0, 1), parameters=UNIT, seeds=1)
    assert free.cost == pytest.approx(3, rel=1e-7) and free.motion["x'"][0] == pytest.approx(1.5, rel=1e-5)
    apart = ch.steer(CART, None, {"u": (-1, 1)}, REST, {"x^2": 4, "x'": 0}, t=(1, None), parameters=UNIT, seeds=1)
    assert apart.t == pytest.approx(1 + 2 * math.sqrt(2), rel=1e-7) and abs(apart.motion.final["x"]) == pytest.approx(2, rel=1e-6)


def test_dubins_shortest_path_has_its_known_length():
    """A left turn, a straight line and a left turn of unit radius: the outer tangent of two circles."""
    rows = ["x' = cos(theta)", "y' = sin(theta)", "theta' = w"]
    system = ch.System("x y theta", lagrangian="0", kinematic=rows, inputs={"w": None}, name="Dubins' car")
    begin, end = {"x": 0, "y": 0, "theta": 0}, {"x": 4, "y": 4, "theta": "pi/2"}
    best = ch.steer(system, ch.DAlembert(), {"w": (-1, 1)}, begin, end, seeds=1)
    assert best.t == pytest.approx(math.sqrt(18) + math.pi / 2, rel=1e-6)
    assert best.inputs["w"](0.3) == pytest.approx(1, abs=1e-5) and best.inputs["w"](2.5) == pytest.approx(0, abs=1e-5)


def test_zermelo_crosses_a_wind():
    rows = ["x' = cos(phi) + c", "y' = sin(phi)"]
    system = ch.System("x y", "c", lagrangian="0", kinematic=rows, inputs={"phi": None}, name="Zermelo's ship")
    best = ch.steer(system, ch.DAlembert(), {"phi": (0, "pi")}, {"x": 0, "y": 0}, {"x": 0, "y": 1}, parameters={"c": 0.5}, seeds=2)
    assert best.t == pytest.approx(1 / math.sqrt(0.75), rel=1e-8)
    assert best.inputs["phi"](0.5) == pytest.approx(math.acos(-0.5), abs=1e-6)


def test_the_shortest_path_around_a_disc_cuts_no_corner():
    """Two tangents of length sqrt(3) and an arc of pi/3; collocation at nodes alone would pass through the disc between them."""
    path = ["x^2 + y^2 >= 1", "u^2 + v^2 <= 1"]
    best = ch.steer(
        POINT, ch.DAlembert(), {"u": (-2, 2), "v": (-2, 2)}, {"x": -2, "y": 0}, {"x": 2, "y": 0}, path=path, seeds=2, accuracy=1e-3
    )
    assert best.feasible
    assert best.t == pytest.approx(2 * math.sqrt(3) + math.pi / 3, rel=3e-4)
    dense = best.motion.at(np.linspace(0, best.t, 4001))
    assert float((dense["x"] ** 2 + dense["y"] ** 2).min()) > 1 - 1e-5
    assert any("times of the simulated motion" in line for line in best.verified)


def test_a_car_parks_sideways():
    """Unbounded turning would need time 1 only; a steering angle of 0.6 needs more, and the simulated car stands where it should."""
    begin, end = {"x": 0, "y": 0, "theta": 0}, {"x": 0, "y": 1, "theta": 0}
    best = ch.steer(CAR, ch.DAlembert(), WHEEL, begin, end, parameters={"l": 1}, accuracy=1e-2)
    assert best.feasible and 1 < best.t < 3.5
    final = simulated(best, CAR, ch.DAlembert(), begin, {"l": 1})
    assert [final[q] for q in end] == pytest.approx(list(end.values()), abs=1e-5)
    assert max(abs(v) for v in best.inputs["phi"].values) <= 0.6
    again = ch.steer(
        CAR, ch.DAlembert(), WHEEL, begin, {"x": 0, "y": 1.1, "theta": 0}, parameters={"l": 1}, accuracy=1e-2, guess=best, seeds=1
    )
    assert again.feasible and again.t == pytest.approx(best.t, rel=0.15)


def test_a_car_parks_with_its_trailer():
    system = ch.System(
        {"x": "line", "y": "line", "theta": "angle", "psi": "angle"},
        "l d",
        lagrangian="0",
        kinematic=["x' = v*cos(theta)", "y' = v*sin(theta)", "theta' = v*tan(phi)/l", "psi' = v*sin(theta - psi)/d"],
        inputs={"v": None, "phi": None},
        name="car with a trailer",
    )
    begin, values = {"x": 0, "y": 0, "theta": 0, "psi": 0}, {"l": 1, "d": 1}
    path = ["theta - psi <= 1.2", "theta - psi >= -1.2"]
    best = ch.steer(system, ch.DAlembert(), WHEEL, begin, {**begin, "y": 1}, path=path, parameters=values, accuracy=0.1)
    assert best.feasible
    final = simulated(best, system, ch.DAlembert(), begin, values)
    assert [final[q] for q in begin] == pytest.approx([0, 1, 0, 0], abs=1e-4)


def test_a_tractor_with_masses_parks_its_trailer():
    """Forces on the gallery's tractor; the headings pass zero, where elimination in another order would divide by zero."""
    model = ch.gallery("trailer", n=1)
    system = model.system.replace(forces={"x": "F*cos(theta0)", "y": "F*sin(theta0)", "theta0": "T"}, inputs={"F": None, "T": None})
    rest = {"x": 0, "y": 0, "theta0": 0, "theta1": 0, "x'": 0, "theta0'": 0}
    push, values = {"F": (-5, 5), "T": (-5, 5)}, dict(model.parameters)
    best = ch.steer(system, ch.DAlembert(), push, rest, {**rest, "y": 1}, "F^2 + T^2", (0, 6), (), values, seeds=2, accuracy=1e-2)
    assert best.feasible
    final = simulated(best, system, ch.DAlembert(), rest, values)
    assert [final[z] for z in rest] == pytest.approx([0, 1, 0, 0, 0, 0], abs=1e-5)


def test_a_cart_swings_its_pendulum_up():
    system = ch.System(
        {"x": "line", "theta": "angle"},
        "M m l g",
        lagrangian="M/2*x'^2 + m/2*(x'^2 + 2*l*x'*theta'*cos(theta) + l^2*theta'^2) + m*g*l*cos(theta)",
        forces={"x": "F"},
        inputs={"F": None},
        name="cart-pendulum",
    )
    begin, values = {"x": 0, "theta": 0, "x'": 0, "theta'": 0}, {"M": 1, "m": 0.3, "l": 0.5, "g": 9.81}
    end = {**begin, "x": 1, "theta": "pi"}
    best = ch.steer(system, None, {"F": (-20, 20)}, begin, end, "F^2", (0, 2), ["x <= 2", "x >= -2"], values, seeds=2, accuracy=1e-3)
    assert best.feasible and best.cost == pytest.approx(57.945, rel=1e-3)
    assert best.motion.final["theta"] == pytest.approx(math.pi, abs=1e-5)
    energy = best.motion.energy[-1] - best.motion.energy[0]
    times = np.linspace(0, 2, 4001)
    work = trapezoid([best.inputs["F"](t) for t in times] * best.motion.at(times)["x'"], times)
    assert energy == pytest.approx(2 * 0.3 * 9.81 * 0.5, abs=1e-4) and work == pytest.approx(energy, rel=1e-3)


def test_a_snakeboard_finds_a_gait():
    board = ch.gallery("snakeboard").system
    system = ch.System(
        dict(board.kinds),
        "m l J Jr Jw",
        lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2 + Jr/2*(theta' + psi')^2 + Jw/2*((theta' + phi')^2 + (theta' - phi')^2)",
        kinematic=[str(row) for row in board.kinematic],
        forces={"psi": "a", "phi": "b"},
        inputs={"a": None, "b": None},
        name="snakeboard",
    )
    values = {"m": 4, "l": 0.3, "J": 0.02, "Jr": 0.07, "Jw": 0.011}
    begin = {"x": 0, "y": 0, "theta": 0, "psi": 0, "phi": 0, "x'": 0, "psi'": 0, "phi'": 0}
    torques = {"a": (-1, 1), "b": (-1, 1)}
    best = ch.steer(
        system, ch.DAlembert(), torques, begin, {"x": 0.3, "y": 0, "theta": 0}, "a^2 + b^2", (0, 4), (), values, seeds=2, accuracy=1e-2
    )
    assert best.feasible and best.cost == pytest.approx(0.02365, rel=1e-2)
    final = simulated(best, system, ch.DAlembert(), begin, values)
    assert [final[q] for q in ("x", "y", "theta")] == pytest.approx([0.3, 0, 0], abs=1e-5)
    times = np.linspace(0, 4, 801)
    pushed = trapezoid([best.inputs["a"](t) for t in times], times)
    assert values["Jr"] * (final["theta'"] + final["psi'"]) == pytest.approx(pushed, abs=1e-5), (
        "the rotor's momentum is the impulse of its torque"
    )


def test_constraints_hold_on_the_way():
    """A pendulum in Cartesian coordinates with a torque costs as much as in its angle."""
    values = {"g": 9.81}
    flat = ch.System(
        "x y", "g", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = 1"], forces={"x": "-M*y", "y": "M*x"}, inputs={"M": None}
    )
    bounds, span = {"M": (-12, 12)}, (0, 1.5)
    start, end = {"x": 0, "y": -1, "x'": 0}, {"x": 0.6, "y": 0.8, "x'": 0}
    one = ch.steer(flat, ch.DAlembert(), bounds, start, end, "M^2", span, parameters=values, seeds=2, accuracy=1e-4)
    turning = ch.System("q", "g", lagrangian="q'^2/2 + g*cos(q)", forces={"q": "M"}, inputs={"M": None})
    angle = math.pi - math.atan2(0.6, 0.8)
    ends = [{"q": angle, "q'": 0}, {"q": angle - 2 * math.pi, "q'": 0}]
    others = [ch.steer(turning, None, bounds, {"q": 0, "q'": 0}, e, "M^2", span, parameters=values, seeds=2, accuracy=1e-4) for e in ends]
    assert one.feasible and min(abs(one.cost / other.cost - 1) for other in others) < 1e-3
    assert one.motion.drift["kinematic[0]"] < 1e-9


def test_inputs_whose_derivatives_occur_are_continuous():
    """A guided body x = u with the cost u''^2 has the same path as the cart, up to the natural ends of the spline."""
    guided = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x = u"], inputs={"u": None})
    start = {"x": 0, "x'": 0, "y": 0, "y'": 0}
    best = ch.steer(guided, ch.DAlembert(), {"u": None}, start, ONE, "u''^2", (0, 1), seeds=1, accuracy=1e-1)
    assert best.feasible and best.inputs["u"].interpolation == "cubic"
    assert 12 < best.cost < 12 * 1.2
    assert best.motion.at(0.5)["x"] == pytest.approx(0.5, abs=1e-3)


def test_what_cannot_be_reached_is_told():
    slow = ch.steer(CART, None, {"u": (-1, 1)}, REST, ONE, "u^2", (0, 1), parameters=UNIT, seeds=1)
    assert not slow.feasible and slow.motion is None and slow.cost == math.inf
    assert "x = 1 is missed by" in slow.reason and "within a duration of 1" in slow.reason
    rows = {"lagrangian": "x'^2/2 + phi'^2/2", "kinematic": ["x' = R*phi'"], "forces": {"x": "u"}, "inputs": {"u": None}}
    rolling = ch.System("x phi", "R", **rows, name="rolling")
    start = {"x": 0, "phi": 0, "x'": 0}
    lost = ch.steer(rolling, ch.DAlembert(), {"u": (-1, 1)}, start, {"x": 1, "phi": 0.2}, parameters={"R": 1}, seeds=1)
    assert not lost.feasible and "x - R*phi is constant on every motion" in lost.reason and "classify" in lost.reason
    found = ch.steer(rolling, ch.DAlembert(), {"u": (-1, 1)}, start, {"x": 1, "phi": 1, "x'": 0}, parameters={"R": 1}, seeds=1)
    assert found.t == pytest.approx(2 * math.sqrt(2), rel=1e-6)
    endless = ch.steer(CART, None, {"u": (-1, 1)}, REST, ONE, "u^2", parameters=UNIT, seeds=1)
    assert not endless.feasible and "as the final time grows" in endless.reason


HOOP = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = 1"], forces={"x": "u"}, inputs={"u": None}, name="hoop")
BAD = {
    "an unknown input": ((CART, None, {"v": (-1, 1)}, REST, ONE), {}, ch.ParameterError, "v is not an input"),
    "reversed bounds": ((CART, None, {"u": (1, -1)}, REST, ONE), {}, ch.ParameterError, "reversed"),
    "no pair": ((CART, None, {"u": 3}, REST, ONE), {}, ch.UsageError, "not a pair of bounds"),
    "no inputs": ((CART, None, None, REST, ONE), {}, ch.UsageError, "no input is to be steered"),
    "a start with a gap": ((CART, None, {"u": (-1, 1)}, {"x": 0}, ONE), {}, ch.InitialError, "no initial value for x'"),
    "an unknown end": ((CART, None, {"u": (-1, 1)}, REST, {"z": 1}), {}, ch.NotationError, "unknown name"),
    "an end above the state": ((CART, None, {"u": (-1, 1)}, REST, {"x''": 1}), {}, ch.InitialError, "not part of the state"),
    "a given time": ((CART, None, {"u": (-1, 1)}, REST, ONE, "t", (0, 1)), {}, ch.UsageError, "the final time is given"),
    "an equation": ((CART, None, {"u": (-1, 1)}, REST, ONE), {"path": ["x = 1"]}, ch.UsageError, "not an inequality"),
    "a start outside": ((CART, None, {"u": (-1, 1)}, REST, ONE), {"path": ["x >= 0.5"]}, ch.InitialError, "x >= 0.5 fails at the start"),
    "a strange guess": ((CART, None, {"u": (-1, 1)}, REST, ONE), {"guess": {"k": 1}}, ch.ParameterError, "k is neither"),
    "a cost with a corner": ((CART, None, {"u": (-1, 1)}, REST, ONE, "abs(u)", (0, 3)), {}, ch.ModelError, "has a corner"),
    "seeds": ((CART, None, {"u": (-1, 1)}, REST, ONE), {"seeds": 0}, ch.UsageError, "number of first paths"),
    "a tolerance": ((CART, None, {"u": (-1, 1)}, REST, ONE), {"tolerance": 0}, ch.ParameterError, "tolerance"),
    "a contradictory end": (
        (HOOP, ch.DAlembert(), {"u": (-1, 1)}, {"x": 1, "y": 0, "y'": 0}, {"x": 0.5, "y": 0.6}),
        {},
        ch.InitialError,
        "no state was found that satisfies x = 0.5, y = 0.6, kinematic",
    ),
    "a corner": (
        (ch.System("x", "m", lagrangian="m*x'^2/2", forces={"x": "u - sign(x')"}, inputs={"u": None}), None, {"u": (-3, 3)}, REST, ONE),
        {},
        ch.ModelError,
        "switch where x' = 0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_the_users_words(name):
    given, options, kind, words = BAD[name]
    parameters = {z.name: 1 for z in given[0].parameters}
    with pytest.raises(kind, match=words.replace("(", "[(]")):
        ch.steer(*given, **options, parameters=parameters)


def hovering():
    """A search that takes several programs: the way around a disc."""
    point = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", forces={"x": "u", "y": "v"}, inputs={"u": None, "v": None})
    ends = {"start": {"x": -2, "y": 0.1, "x'": 0, "y'": 0}, "end": {"x": 2, "y": 0, "x'": 0, "y'": 0}}
    return lambda **options: ch.steer(point, inputs={"u": (-1, 1), "v": (-1, 1)}, path=["x^2 + y^2 >= 1"], **ends, **options)


def test_the_budget_counts_work_and_not_time(monkeypatch):
    """On a machine that is busy with other things for ten thousand seconds the answer is the same, digit by digit."""
    search = hovering()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = search(seconds=0.5, seeds=2)
        ticks = itertools.count(0.0, 0.01)  # each look at the clock finds a hundredth of a second gone
        monkeypatch.setattr("chetaev.paths.optimal.work.time.process_time", lambda: next(ticks))
        slow = search(seconds=0.5, seeds=2)
    assert (plain.cost, plain.t, plain.tried) == (slow.cost, slow.t, slow.tried)


def test_a_small_budget_is_spent_and_said(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the count ends the search, not the clock
        found = hovering()(seconds=0.1, seeds=3)
    assert any("the budget is spent" in line for line in found.tried)


def test_the_clock_is_a_last_ceiling_that_is_reported(monkeypatch):
    ticks = itertools.count(0.0, 1e6)
    monkeypatch.setattr("chetaev.paths.optimal.work.time.process_time", lambda: next(ticks))
    with pytest.warns(ch.errors.ClockWarning, match="a budget of 60 seconds") as told:
        found = hovering()(seconds=60.0, seeds=3)
    assert told[0].filename == __file__
    assert not found.feasible or "not tried" in " ".join(found.tried)
