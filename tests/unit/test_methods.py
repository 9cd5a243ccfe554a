"""Methods: implicit steps for stiff systems, Taylor series for tight tolerances, and what they share."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.motion.storage import load

PUSHED = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "mu*(1 - x^2)*x'"}, name="van der Pol"))
SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", name="spring"))
REST = {"x": 1, "x'": 0}
BOTH = [ch.Implicit(), ch.Taylor()]
ALL = [None, *BOTH]
ROTOR = ch.derive(ch.System("q", "J", lagrangian="J/2*q'^2", name="rotor"))
BALL = ch.derive(ch.System("z", "g", lagrangian="z'^2/2 - g*z", name="ball"))


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
    c, end = 1e6, 2.0
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, end), parameters={"c": c}, tolerance=1e-8, method=ch.Implicit())
    assert motion.outcome == "finished"
    assert motion.counts["accepted"] < 2_000
    assert motion.final["x"] == pytest.approx((c**2 * math.sin(end) + c * (1 - math.cos(end))) / (c**2 + 1), abs=1e-8)
    assert motion.final["x'"] == pytest.approx((c**2 * math.cos(end) + c * math.sin(end)) / (c**2 + 1), abs=1e-8)
    explicit = ch.simulate(equations, {"x": 0, "x'": 1}, (0, end), parameters={"c": c}, tolerance=1e-8, max_steps=50_000)
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
    """A recurrence for powers that divides by the base has no value there."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^4/4 + x^(7/2)*0 - (x + 1)^(5/2)/9 - 1/(x + 2)^3"))
    one = ch.simulate(equations, {"x": 0, "x'": 0.4}, (0, 3), tolerance=1e-15, method=ch.Taylor())
    two = ch.simulate(equations, {"x": 0, "x'": 0.4}, (0, 3), tolerance=1e-14)
    assert one.final["x"] == pytest.approx(two.final["x"], abs=1e-13)


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
    motion = ch.simulate(rising, {"x": 1, "x'": 2}, (0, 2), method=method, tolerance=1e-7)
    assert motion.outcome in ("step_too_small", "left_domain")
    assert motion.end[0] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_motions_of_other_methods_come_back_from_files(method, tmp_path):
    motion = ch.simulate(ch.gallery("cartesian-pendulum"), t=(0, 2), method=method, tolerance=1e-8)
    back = load(motion.save(tmp_path / "f.npz"))
    t = np.linspace(0, 2, 31)
    assert np.array_equal(back.at(t)["lambda1"], motion.at(t)["lambda1"])
    assert back.verify().worst == motion.verify().worst < 1e-5


# ------------------------------------------------------------ no root is missed, however long the steps are


def turns(*events, method, end=31.4, **options):
    start = options.pop("start", {"q": 0.3, "q'": 2.3})
    return ch.simulate(ROTOR, start, (0, end), parameters={"J": 1.7}, events=list(events), method=method, tolerance=1e-11, **options)


PASSES = [(k * math.pi - 0.3) / 2.3 for k in range(1, 24)]


@pytest.mark.parametrize("method", ALL, ids=str)
def test_all_roots_of_a_function_that_is_faster_than_the_steps(method):
    """q = 0.3 + 2.3 t: nothing but sin(q) asks for short steps. Roots of two functions come in the order of time."""
    motion = turns("sin(q)", ch.On("cos(q)", direction=1), method=method)
    assert [e.t for e in motion.events if e.text == "sin(q)"] == pytest.approx(PASSES, abs=1e-9)
    assert [e.t for e in motion.events if e.text == "cos(q)"] == pytest.approx([t + math.pi / 4.6 for t in PASSES[::2][:11]], abs=1e-9)
    assert [e.t for e in motion.events] == sorted(e.t for e in motion.events)
    assert [e.state["q"] for e in motion.events if e.text == "sin(q)"] == pytest.approx(np.arange(1, 24) * math.pi, abs=1e-8)


@pytest.mark.parametrize("method", ALL, ids=str)
@pytest.mark.parametrize(("direction", "first"), [(-1, 0), (1, 1)])
def test_a_direction_takes_every_second_root(method, direction, first):
    motion = turns(ch.On("sin(q)", direction=direction), method=method)
    assert [e.t for e in motion.events] == pytest.approx(PASSES[first::2], abs=1e-9)


@pytest.mark.parametrize("method", ALL, ids=str)
@pytest.mark.parametrize(("event", "root"), [("sqrt(q-0.5) - 0.1", 0.51), ("sqrt(0.5-q) - 0.1", 0.49)])
def test_a_root_beside_places_without_a_value(method, event, root):
    """The expression is real on one side of q = 0.5 only."""
    motion = turns(event, method=method, start={"q": 0, "q'": 1}, end=1.0)
    assert [e.t for e in motion.events] == pytest.approx([root], abs=1e-10)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_an_event_does_not_stop_where_it_has_no_value(method):
    """Real outside of (0.3, 0.6), with the other sign behind it than before: the change happens where it is real again."""
    motion = turns(ch.On("(q-0.45)*sqrt((q-0.3)*(q-0.6))", terminal=True), method=method, start={"q": 0, "q'": 1}, end=1.0)
    assert motion.end[0] == pytest.approx(0.6, abs=1e-9)


@pytest.mark.parametrize("method", ALL, ids=str)
@pytest.mark.parametrize(("event", "middle"), [("(t-2.423946)^2*(2+sin(5*t)) - 0.000000000021156", 2.423946)])
def test_a_narrow_touch_beside_a_wavy_factor(method, event, middle):
    motion = ch.simulate(SPRING, REST, (0, 10), events=[event], method=method)
    assert [e.t for e in motion.events] == pytest.approx([middle, middle], abs=1e-5)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_directions_are_along_the_motion_backwards_too(method):
    """q = 0.3 - 2.3 s with s = -t: along it sin(q) falls at 0, rises at -pi."""
    motion = turns(ch.On("sin(q)", direction=1), method=method, end=-10.0)
    assert [e.t for e in motion.events] == pytest.approx([-(k * math.pi + 0.3) / 2.3 for k in (1, 3, 5, 7)], abs=1e-9)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_the_first_of_many_roots_ends_the_motion(method):
    """Of the others those before it are recorded; a root at the very beginning does not count."""
    motion = turns("sin(q)", ch.On("q - 10", terminal=True), ch.On("cos(q)", terminal=True, direction=1), method=method)
    assert motion.outcome == "event"
    assert motion.end[0] == pytest.approx((1.5 * math.pi - 0.3) / 2.3, abs=1e-10)
    assert [(e.text, e.t) for e in motion.events] == [
        ("sin(q)", pytest.approx(PASSES[0], abs=1e-9)),
        ("cos(q)", pytest.approx((1.5 * math.pi - 0.3) / 2.3, abs=1e-9)),
    ]
    at_once = turns(ch.On("sin(q)", terminal=True), method=method, start={"q": 0, "q'": 2.3})
    assert at_once.end[0] == pytest.approx(math.pi / 2.3, abs=1e-10)


@pytest.mark.parametrize("method", ALL, ids=str)
@pytest.mark.parametrize("depth", [1e-2, 1e-6])
def test_a_ball_that_rises_barely_above_a_level(method, depth):
    """z = v t - g t^2/2 with the top at v^2/(2g): sqrt(2 depth/g) before and after the top it passes the level below it."""
    g, v = 9.81, 4.0
    top, half = v / g, math.sqrt(2 * depth / g)
    for end in (0.7, 0.8, 1.0, 1.7):
        options = {"parameters": {"g": g}, "method": method, "tolerance": 1e-12}
        above = ch.simulate(BALL, {"z": 0, "z'": v}, (0, end), events=[f"z - {v * v / 2 / g - depth!r}"], **options)
        assert [e.t for e in above.events] == pytest.approx([top - half, top + half], abs=1e-7)
        below = ch.simulate(BALL, {"z": 0, "z'": v}, (0, end), events=[f"z - {v * v / 2 / g + depth!r}"], **options)
        assert below.events == ()
        falls = ch.On(f"z - {v * v / 2 / g - depth!r}", terminal=True, direction=-1)
        assert ch.simulate(BALL, {"z": 0, "z'": v}, (0, end), events=[falls], **options).end[0] == pytest.approx(top + half, abs=1e-7)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_roots_are_found_on_the_constraints(method):
    """A bead on a circle without gravity, x = cos(3 t): states between the nodes are projected where they are looked at."""
    circle = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())
    start = ch.State({"x": 1, "y": 0, "y'": 3})
    motion = ch.simulate(circle, start, (0, 10), events=["x*y", "x - y + 2"], method=method, tolerance=1e-10)
    assert [e.t for e in motion.events] == pytest.approx([k * math.pi / 6 for k in range(1, 20)], abs=1e-6)
    assert max(abs(e.state["x"] ** 2 + e.state["y"] ** 2 - 1) for e in motion.events) < 1e-13


@pytest.mark.parametrize("method", ALL, ids=str)
def test_a_force_that_turns_with_the_angle(method):
    """J q'' = mu sign(D(cos(q))): -mu while sin(q) > 0, then +mu, so that the speed is that of the energy, and linear in time between."""
    turned = ch.derive(ch.System("q", "J mu", lagrangian="J/2*q'^2", forces={"q": "mu*sign(D(cos(q)))"}))
    J, mu, q, v, end = 1.7, 0.9, 0.3, 23.0, 10.0
    motion = ch.simulate(turned, {"q": q, "q'": v}, (0, end), parameters={"J": J, "mu": mu}, method=method, tolerance=1e-11)
    t, times, sign = 0.0, [], -1
    while True:
        passed = (len(times) + 1) * math.pi
        new = math.sqrt(v**2 + 2 * sign * mu / J * (passed - q))
        then = t + 2 * (passed - q) / (v + new)
        if then > end:
            break
        t, q, v, sign = then, passed, new, -sign
        times.append(t)
    assert len(times) > 70
    assert [s.t for s in motion.switches] == pytest.approx(times, abs=1e-8)
    assert motion.final["q'"] == pytest.approx(v + sign * mu / J * (end - t), abs=1e-8)
    assert motion.final["q"] == pytest.approx(q + v * (end - t) + sign * mu / J * (end - t) ** 2 / 2, abs=1e-7)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_a_force_that_turns_with_the_clock(method):
    """x'' = sign(sin(w t)) from rest: x' is a zigzag between 0 and pi/w."""
    w, end = 40.0, 2.0
    clocked = ch.derive(ch.System("x", "w", lagrangian="x'^2/2", forces={"x": "sign(sin(w*t))"}))
    motion = ch.simulate(clocked, {"x": 0, "x'": 0}, (0, end), parameters={"w": w}, method=method)
    assert [s.t for s in motion.switches] == pytest.approx([k * math.pi / w for k in range(1, 26)], abs=1e-10)
    assert motion.final["x'"] == pytest.approx(abs((w * end + math.pi) % (2 * math.pi) - math.pi) / w, abs=1e-10)
    rest = end - 25 * math.pi / w  # of a falling flank
    exact = 25 * (math.pi / w) ** 2 / 2 + math.pi / w * rest - rest**2 / 2
    assert motion.final["x"] == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_swings_much_shorter_than_a_first_step(method):
    """|x| with friction swings faster and faster until it rests, while a series could reach the end in one step."""
    equations = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - abs(x)", dissipation="mu*abs(x')"))
    mu = 0.4
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 40), parameters={"mu": mu}, method=method, max_steps=20_000)
    half = math.sqrt(2 / (1 - mu)) + math.sqrt(2 * (1 - mu)) / (1 + mu)  # between two turning points, for the first amplitude 1
    assert motion.switches[-1].t == pytest.approx(half / (1 - math.sqrt((1 - mu) / (1 + mu))), abs=1e-4)
    assert abs(motion.final["x"]) < 1e-10


@pytest.mark.parametrize("method", ALL, ids=str)
def test_an_event_where_a_mode_changes_is_recorded(method):
    """The piece ends there, and the next one begins in the root. Dry friction: at rest every pi, until the spring is too weak."""
    equations = ch.derive(ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x')"}))
    start, options = {"x": 3, "x'": 0}, {"parameters": {"mu": 0.45}, "tolerance": 1e-11, "method": method}
    motion = ch.simulate(equations, start, (0, 9), events=["x'", "x - 0.45"], **options)
    assert [e.t for e in motion.events if e.text == "x'"] == pytest.approx([math.pi, 2 * math.pi], abs=1e-9)
    passes = [math.pi / 2, 2 * math.pi - math.acos(0.9 / 1.65)]  # x = 0.45 + 2.55 cos(t), then x = -0.45 + 1.65 cos(t)
    assert [e.t for e in motion.events if e.t < 6 and e.text != "x'"] == pytest.approx(passes, abs=1e-9)


@pytest.mark.parametrize("method", ALL, ids=str)
@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-6])
def test_a_switch_there_and_back_within_a_step(method, depth):
    """x = sin(t) meets a wall c = 1 - depth with the force -2 F beyond it: an arc about -2 F, as long as energy tells."""
    wall = ch.derive(ch.System("x", "c F", lagrangian="x'^2/2 - x^2/2", forces={"x": "-F*(1 + sign(x - c))"}))
    c, F = 1 - depth, 0.7
    first, v = math.asin(c), math.sqrt(1 - c * c)
    last = first + math.pi - 2 * math.atan2(c + 2 * F, v)
    for end in (3.0, 4.3, 5.0):
        motion = ch.simulate(wall, {"x": 0, "x'": 1}, (0, end), parameters={"c": c, "F": F}, method=method, tolerance=1e-11)
        assert [s.t for s in motion.switches] == pytest.approx([first, last], abs=1e-7)
        s = end - last
        assert motion.final["x"] == pytest.approx(c * math.cos(s) - v * math.sin(s), abs=1e-9)
        assert motion.final["x'"] == pytest.approx(-c * math.sin(s) - v * math.cos(s), abs=1e-9)


def test_what_is_no_method_is_refused():
    with pytest.raises(ch.UsageError, match="not a method"):
        ch.simulate(SPRING, REST, (0, 1), method="radau")
    assert ch.Implicit() == ch.Implicit()
    assert ch.Implicit() != ch.Taylor()


def passes(levels, end):
    """When cos(t) passes some levels before an end."""
    found = [s * math.acos(c) + 2 * math.pi * n for c in levels for s in (1, -1) for n in range(20)]
    return sorted(t for t in found if 0 < t < end)


NARROW, PLACES = [1e-1, 1e-3, 1e-6], [-0.8, 0.0985, 0.5]
BESIDE = [(method, narrow, place) for method in ALL for narrow, place in product(NARROW, PLACES) if not isinstance(method, ch.Implicit)]
BESIDE += [(ch.Implicit(), narrow, place) for narrow, place in zip(NARROW, PLACES, strict=True)]
"""Every width and every place with every method, and all pairs of them with those whose steps are quick."""


@pytest.mark.parametrize(("method", "narrow", "place"), BESIDE, ids=str)
def test_both_roots_beside_a_corner(method, narrow, place):
    """|cos(t) - a| = b has two roots near each of cos(t) = a, closer to each other than any step is long."""
    end = 17.379684788385056  # just after a corner
    events = [f"abs(x - ({place})) - {narrow}", f"min(x - ({place}), ({place}) - x) + {narrow}"]
    motion = ch.simulate(SPRING, REST, (0, end), events=events, method=method, tolerance=1e-10)
    expected = passes([place - narrow, place + narrow], end)
    for text in {event.text for event in motion.events}:
        assert [e.t for e in motion.events if e.text == text] == pytest.approx(expected, abs=1e-8)
    assert len(motion.events) == 2 * len(expected)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_corners_in_corners(method):
    motion = ch.simulate(SPRING, REST, (0, 12), events=["abs(abs(x) - 1/2) - 1e-4"], method=method, tolerance=1e-10)
    assert [e.t for e in motion.events] == pytest.approx(passes([s * 0.5 + d for s in (1, -1) for d in (1e-4, -1e-4)], 12), abs=1e-8)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_a_terminal_event_beside_a_corner(method):
    """The first root in the direction asked for: |cos(t) - 0.3| rises through 1e-5 just after cos(t) = 0.3."""
    stop = ch.On("abs(x - 0.3) - 1e-5", terminal=True, direction=1)
    motion = ch.simulate(SPRING, REST, (0, 12), events=[stop], method=method, tolerance=1e-11)
    assert motion.outcome == "event"
    assert motion.end[0] == pytest.approx(math.acos(0.3 - 1e-5), abs=1e-9)


@pytest.mark.parametrize("method", ALL, ids=str)
def test_an_event_that_jumps_at_a_corner(method):
    motion = ch.simulate(SPRING, REST, (0, 12), events=["sign(x)", "sign(x - 1/2)*(2 + x')"], method=method, tolerance=1e-10)
    assert [e.t for e in motion.events if e.text == "sign(x)"] == pytest.approx(passes([0], 12), abs=1e-8)
    assert [e.t for e in motion.events if e.text != "sign(x)"] == pytest.approx(passes([0.5], 12), abs=1e-8)


@pytest.mark.parametrize("method", BOTH, ids=str)
def test_the_work_done_limits_no_step(method):
    """A body falls from x = 0 to a step of force at x = 50, before which the work of that force grows from nothing by a factor of e in half
    a millimetre. Constant accelerations 1 and 3, but for the width of the step.
    """
    system = ch.System("x", lagrangian="x'^2/2 + x", forces={"x": "1 + tanh(1000*(x - 50))"})
    motion = ch.simulate(ch.derive(system), {"x": 0, "x'": 0}, (0, 100), method=method)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(50 + 10 * 90 + 3 / 2 * 90**2, rel=1e-9)
    assert motion.counts["accepted"] + motion.counts["rejected"] < 400
    assert np.max(motion.balance) < 1e-8
