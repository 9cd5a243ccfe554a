"""Corners inside one another, summed, in coefficients, inputs and events: closed forms, and SciPy stopped at every corner."""

import cProfile
import itertools
import math
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.core.support.frozen import Frozen
from chetaev.numerics.corners.modes import smooth


def spring(force, **parts):
    return ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": force}, **parts))


STEPS = [
    "max(0, sign(t - 1))",
    "(1 + sign(sign(t - 1) + 1/2))/2",
    "min(1, 1 + sign(t - 1))",
    "abs(sign(t - 1) + 1)/2",
    "step(t - 1)",
    "step(step(t - 1) - 1/2)",
    "piecewise(t - 1, 0, 1)",
    "max(0, piecewise(t - 1, -1, 1))",
    "max(0, min(1, max(0, sign(t - 1))))",
    "piecewise(t - 1, 0, sqrt(t - 1)^2/(t - 1))",
]


@pytest.mark.parametrize("force", STEPS)
def test_a_step_of_force_however_it_is_written(force):
    motion = ch.simulate(spring(force), {"x": 0, "x'": 0}, (0, 3))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(1 - math.cos(2), abs=1e-8)
    assert motion.final["x'"] == pytest.approx(math.sin(2), abs=1e-8)
    assert motion.final[force] == pytest.approx(1)
    assert len(motion.switches) == 1
    assert motion.verify().worst < 1e-6


@pytest.mark.parametrize("given", [{"inputs": {"u": "max(0, sign(t - 1))"}}, {"inputs": {"u": None}}])
def test_a_nested_corner_of_an_input(given):
    bound = {} if given["inputs"]["u"] else {"inputs": {"u": "max(0, sign(t - 1))"}}
    motion = ch.simulate(spring("u", **given), {"x": 0, "x'": 0}, (0, 3), **bound)
    assert motion.final["x"] == pytest.approx(1 - math.cos(2), abs=1e-8)
    found = motion.verify()
    assert found.worst < 1e-6
    assert found["corner max(0, sign(t - 1))"].largest == 0


def test_a_window():
    motion = ch.simulate(spring("max(0, sign((t - 1)*(2 - t)))"), {"x": 0, "x'": 0}, (0, 3))
    assert motion.final["x"] == pytest.approx(math.cos(1) - math.cos(2), abs=1e-8)  # 1 - cos(t - 1), less 1 - cos(t - 2)


def test_a_floor_made_of_a_step():
    """From the height 1 onto a spring of stiffness 100 under unit gravity: x = -1/100 - A, with A^2 = 1e-4 + 2/100."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x", forces={"x": "-100*x*max(0, sign(-x))"}))
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 3))
    assert motion.at(np.linspace(1.4, 1.8, 20001))["x"].min() == pytest.approx(-0.01 - math.sqrt(1e-4 + 2 / 100), abs=1e-7)
    assert motion.final["x"] > 0


@pytest.mark.parametrize("force", ["max(0, x'*sign(x))", "-0.5*abs(x'*sign(x))"])
def test_a_corner_that_jumps_with_another(force):
    """Each quarter of the plane has its own linear oscillator: x'' + c x' + x = 0 in closed form, from one axis to the next."""
    motion = ch.simulate(spring(force), {"x": 1, "x'": 0}, (0, 5), tolerance=1e-11)

    def damping(x, v):
        pushed = x * v > 0
        return (-1.0 * (pushed) if x > 0 else 1.0 * pushed) if force.startswith("max") else 0.5 * (1 if v > 0 else -1)

    t, x, v = 0.0, 1.0, 0.0
    side = (1, -1)  # falling from x = 1
    while t < 5:
        c = damping(*side)
        run = solve_ivp(
            lambda t, w, c=c: [w[1], -w[0] - c * w[1]],
            (t, 5),
            [x, v],
            events=[_crossing(0, -side[0]), _crossing(1, -side[1])],
            rtol=1e-12,
            atol=1e-13,
        )
        t, (x, v) = float(run.t[-1]), run.y[:, -1]
        side = (-side[0], side[1]) if len(run.t_events[0]) else (side[0], -side[1])
    assert motion.final["x"] == pytest.approx(x, abs=1e-8)
    assert motion.final["x'"] == pytest.approx(v, abs=1e-8)


def _crossing(component, direction):
    def event(t, w):
        return w[component]

    event.terminal, event.direction = True, direction
    return event


def test_friction_inside_another_sign_sticks():
    """sign(x') outweighs 0.2 sin(t): the motion is that of plain dry friction, 1.2 -> -0.2 in half a swing, and stays."""
    motion = ch.simulate(spring("-0.5*sign(sign(x') + 0.2*sin(t))"), {"x": 1.2, "x'": 0}, (0, 12))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(-0.2, abs=1e-8)
    assert motion.final["x'"] == 0
    assert [(s.before, s.after) for s in motion.switches] == [(-1, 0)]


def test_a_sum_of_signs_inside_a_corner():
    """max(0, sum of 9 signs): 0 up to t = 0.5, then 1, 3, 5, 7 and 9 after steps of time."""
    times = [0.1 * k + 0.05 for k in range(1, 10)]
    text = f"max(0, {' + '.join(f'sign(t - {t})' for t in times)})"
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": text})), {"x": 0, "x'": 0}, (0, 2))
    speed = sum(2 * (2 - t) for t in times[5:]) + (2 - times[4])
    assert motion.final["x'"] == pytest.approx(speed, abs=1e-9)


@pytest.mark.parametrize("depth", [6, 60, 190])
def test_many_equal_maxima_are_one(depth):
    nested = "max(x, " * depth + "y" + ")" * depth
    start = {"x": 0.3, "y": -0.2, "x'": -1, "y'": 0.1}
    deep, plain = (
        ch.simulate(ch.derive(ch.System("x y", lagrangian=f"x'^2/2 + y'^2/2 - {e}")), start, (0, 2)).final for e in (nested, "max(x, y)")
    )
    # x falls with unit acceleration until it meets y, which then falls instead
    meeting = (-1.1 + math.sqrt(1.1**2 + 2 * 0.5)) / 1.0
    assert plain["x"] == pytest.approx(0.3 - 2 - meeting**2 / 2 - meeting * (2 - meeting), abs=1e-9)
    assert deep["x"] == pytest.approx(plain["x"], abs=1e-12)


def test_many_different_maxima():
    """The potential max over k of k/8 (x - k/8): a chain of straight pieces, on each of which the acceleration is constant."""
    nested = "0"
    for k in range(7, 0, -1):
        nested = f"max({k}/8*(x - {k}/8), {nested})"
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian=f"x'^2/2 - {nested}")), {"x": -0.5, "x'": 2}, (0, 1.5))
    t, x, v = 0.25, 0.0, 2.0
    for k in range(8):
        slope, end = k / 8, ((2 * k + 1) / 8 if k < 7 else math.inf)  # neighbours k and k + 1 meet at (2k + 1)/8
        spent = (
            (v - math.sqrt(v * v - 2 * slope * (end - x))) / slope if slope and end < math.inf else (end - x) / v if k == 0 else math.inf
        )
        spent = min(spent, 1.5 - t)
        x, v, t = x + v * spent - slope * spent**2 / 2, v - slope * spent, t + spent
    assert motion.final["x"] == pytest.approx(x, abs=1e-8)


COUPLINGS = ["0.3*max(0, x - 0.5)", "0.15*(1 + sign(x - 5))", "(x - 5 + abs(x - 5))/4", "-0.1*min(0, 5 - x)", "0.3*step(x - 5)*(x - 5)"]


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_corners_in_coefficients_in_all_verbs(coupling):
    """x'' + c y'' + c_x ... at rest: [[1, c], [c, 1]] (x'', y'') = (0, -1), so x'' = c/(1 - c^2)."""
    equations = ch.derive(ch.System("x y", lagrangian=f"x'^2/2 + y'^2/2 - y + ({coupling})*x'*y'"))
    start = {"x": 6, "y": 0, "x'": 0, "y'": 0}
    c = {0: 1.65, 1: 0.3, 2: 0.5, 3: 0.1, 4: 0.3}[COUPLINGS.index(coupling)]
    expected = c / (1 - c * c)
    assert ch.evaluate(equations, start)["x''"] == pytest.approx(expected, rel=1e-12)
    motion = ch.simulate(equations, start, (0, 1e-3))
    assert motion["x''"][0] == pytest.approx(expected, rel=1e-12)
    many = ch.simulate_many(equations, {name: [v, v] for name, v in start.items()}, (0, 1e-3))
    assert many.final["x"] == pytest.approx([motion.final["x"]] * 2, rel=1e-12)


def test_corners_in_rows():
    """y' = a(x) x' with a = 0.3 (x - 5) beyond 5: x'' (1 + a^2) = -a (1 + 0.3 x'^2)."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["y' = 0.3*max(0, x - 5)*x'"]), ch.DAlembert())
    now = ch.evaluate(equations, {"x": 6, "y": 0, "x'": 0.2})
    assert now["x''"] == pytest.approx(-0.3 * (1 + 0.3 * 0.04) / 1.09, rel=1e-12)
    assert ch.evaluate(equations, {"x": 4, "y": 0, "x'": 0.2})["x''"] == 0


def test_evaluate_at_rest_under_friction_says_what_simulate_does():
    equations = spring("-0.5*sign(x')")
    assert ch.evaluate(equations, {"x": 0.3, "x'": 0})["x''"] == 0
    assert ch.evaluate(equations, {"x": 1, "x'": 0})["x''"] == pytest.approx(-0.5)
    assert ch.evaluate(equations, {"x": -1, "x'": 0})["x''"] == pytest.approx(0.5)


def test_one_side_of_piecewise_may_have_no_value():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "-piecewise(x, -sqrt(-x), sqrt(x)^3)"}))
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 6))
    assert motion.outcome == "finished"
    assert motion.at(np.linspace(2, 4, 20001))["x"].min() == pytest.approx(
        -((2 / 5 / (2 / 3)) ** (2 / 3)), abs=1e-7
    )  # 2/5 = 2/3 |x|^(3/2) by energy
    many = ch.simulate_many(equations, {"x": [1, -0.5], "x'": 0}, (0, 6))
    assert many.final["x"][0] == pytest.approx(motion.final["x"], abs=1e-12)
    assert ch.evaluate(equations, {"x": -0.25, "x'": 0})["x''"] == pytest.approx(0.5)


def test_each_side_of_a_corner_in_the_mass_has_its_own_verdict():
    equations = ch.derive(ch.System("x y", "a", lagrangian="max(0, x - a)*x'^2/2 + y'^2/2 - x^2/2"))
    analysis = ch.analyze(equations)
    assert analysis.verdict == "BRANCHING"
    assert {(b.verdict, b.dimension, b.sides) for b in analysis.branches} == {
        ("REGULAR", 4, ("a - x < 0",)),
        ("REGULAR", 2, ("a - x > 0",)),
    }
    assert ch.analyze(equations, {"x": 6}, {"a": 5}).dimension == 4
    assert ch.analyze(equations, {"x": 6}, {"a": 7}).dimension == 2
    now = ch.evaluate(equations, {"x": 6, "x'": 0.5, "y": 0, "y'": 1}, parameters={"a": 5})
    assert now["x''"] == pytest.approx(-(0.125 + 6))
    assert ch.simulate(equations, {"x": 0, "y": 0, "y'": 1}, (0, 1), parameters={"a": 5}).final["y"] == pytest.approx(1)


def test_friction_by_a_tilted_reaction_sticks_and_slips():
    """The reaction on y is N = g + 2 sin(2t), so that the tilted row is Coulomb's law with that normal force."""
    tilted = ch.System(
        "x y",
        lagrangian="(x'^2 + y'^2)/2 - 4*y - x^2/2",
        kinematic=["y = 0"],
        variational=["δy - 0.3*sign(x')*δx = 0"],
        forces={"x": "1.7*sin(t)", "y": "-2*sin(2*t)"},
    )
    motion = ch.simulate(ch.derive(tilted, ch.VirtualWork()), {"x": 0, "x'": 1}, (0, 20), tolerance=1e-11)
    plain = ch.simulate(spring("1.7*sin(t) - 0.3*(4 + 2*sin(2*t))*sign(x')"), {"x": 0, "x'": 1}, (0, 20), tolerance=1e-11)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(plain.final["x"], abs=1e-9)
    assert [s.t for s in motion.switches] == pytest.approx([s.t for s in plain.switches], abs=1e-9)
    assert motion["lambda1"] == pytest.approx(4 + 2 * np.sin(2 * motion.t), abs=1e-9)
    stop = ch.derive(
        ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - 4*y", kinematic=["y = 0"], variational=["δy - 0.5*sign(x')*δx = 0"]),
        ch.VirtualWork(),
    )
    resting = ch.simulate(stop, {"x": 0, "x'": 1}, (0, 2))
    assert resting.outcome == "finished"
    assert resting.final["x"] == pytest.approx(0.25, abs=1e-12)  # v^2/(2 mu g)


def test_friction_in_other_units():
    """The dry oscillator again, with an amplitude of a picometre and a period of nanoseconds."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - 1e18*x^2/2", forces={"x": "-0.5*1e6*sign(x')"}))
    motion = ch.simulate(equations, {"x": 1.2e-12, "x'": 0}, (0, 12e-9))
    assert motion.outcome == "finished"
    assert len(motion.switches) == 1
    assert motion.final["x"] == pytest.approx(-0.2e-12, rel=1e-5)


def test_many_different_nested_corners_are_followed():
    """x'' = -max over k of (k x - k^2/10), a convex polygon; SciPy follows it with short steps, the corners are continuous."""
    text = "x"
    for k in range(2, 21):
        text = f"max({k}*x - {(k - 1) ** 2}/10, {text})"
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"-({text})"}))
    motion = ch.simulate(equations, {"x": 0.3, "x'": 1}, (0, 3), tolerance=1e-10)

    def rates(_, y):
        return [y[1], -max(y[0], *[k * y[0] - (k - 1) ** 2 / 10 for k in range(2, 21)])]

    right = solve_ivp(rates, (0, 3), [0.3, 1], "DOP853", rtol=1e-10, atol=1e-11, max_step=1e-2).y[:, -1]
    assert motion.outcome == "finished"
    assert [motion.final["x"], motion.final["x'"]] == pytest.approx(right, abs=1e-6)


def _at_rest(forces):
    names = [f"q{k}" for k in range(len(forces))]
    kinetic = " + ".join(f"{q}'^2/2" for q in names)
    equations = ch.derive(ch.System(" ".join(names), lagrangian=kinetic, forces=dict(zip(names, forces, strict=True))))
    motion = ch.simulate(equations, {z: 0 for q in names for z in (q, f"{q}'")}, (0, 1))
    return motion.outcome, [motion.final[q] for q in names]


def test_many_surfaces_are_left_on_the_only_sides_that_are_consistent():
    """Pushed harder than any sign can hold back: constant accelerations."""
    outcome, found = _at_rest([f"{2 + k} + sign(q{(k + 1) % 8})" for k in range(8)])
    assert outcome == "finished"
    assert found == pytest.approx([(3 + k) / 2 for k in range(8)], rel=1e-9)


def test_many_blocks_stick_or_slip():
    """Blocks that are pulled by 0.3, 0.7, ... under dry friction 1."""
    pulls = [0.3 + 0.4 * k for k in range(8)]
    outcome, found = _at_rest([f"{pull} - sign(q{k}')" for k, pull in enumerate(pulls)])
    assert outcome == "finished"
    assert found == pytest.approx([max(0, pull - 1) / 2 for pull in pulls], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("others", [1, 5])
def test_a_second_consistent_side_is_not_overlooked(others):
    """q1 may leave to both sides once q0 has left to the only side it can; from the other side of q0 it is driven to one."""
    forces = ["2 + 0*sign(q0)", "sign(q1)*(1 + sign(q0))/2 + 1 - sign(q0)", *[f"2 + sign(q{k + 2})" for k in range(others)]]
    with pytest.raises(ch.InitialError, match="not unique"):
        _at_rest(forces)


def _coupled(pushes, couplings):
    """Each body is pushed by its own force and by the signs of the others."""
    pairs = zip(pushes, couplings, strict=True)
    return [f"{push:g}" + "".join(f" {c:+g}*sign(q{j})" for j, c in enumerate(row) if c) for push, row in pairs]


def _random_signs(n, seed, trials):
    """Pushes and couplings whose signs agree with themselves in one of all configurations, and the forces there."""
    draw = np.random.default_rng(seed)
    sides = np.array(list(itertools.product((1, -1), repeat=n)))
    for _ in range(trials):
        couplings, pushes = np.round(draw.uniform(-1, 1, (n, n)), 1), np.round(draw.uniform(0, 1, n), 1)
        np.fill_diagonal(couplings, 0)
        forces = pushes + sides @ couplings.T
        agrees = np.all(np.sign(forces) == sides, axis=1)
        if np.abs(forces).min() > 1e-9 and agrees.sum() == 1:
            return pushes, couplings, forces[agrees][0]
    raise AssertionError("none in these trials")


def test_seven_sides_that_depend_on_each_other_are_decided():
    pushes, couplings, forces = _random_signs(7, 2, 400)
    outcome, found = _at_rest(_coupled(pushes, couplings))
    assert outcome == "finished"
    assert found == pytest.approx(forces / 2, rel=1e-9)


def test_what_was_not_tried_is_called_undecided():
    """One of the 512 configurations agrees with itself: there is a motion, and the search does not reach its configuration."""
    pushes, couplings, _ = _random_signs(9, 1, 1300)
    with pytest.raises(ch.InitialError, match="is undecided"):
        _at_rest(_coupled(pushes, couplings))


def test_nested_corners_are_work_in_proportion():
    """Parts of expressions that are looked at for three times as many corners: not much more than three times as many."""

    def looks(depth):
        text = "x"
        for k in range(depth):
            text = f"max({text}, {k + 2}*t - {k * k + depth})"
        count = 0

        def counted(_frame, event, _argument):
            nonlocal count
            count += event == "call"

        equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"-({text})"}))
        sys.setprofile(counted)
        try:
            smooth(equations, Frozen({}))
        finally:
            sys.setprofile(None)
        return count

    looks(3)  # what is made once
    assert looks(48) < 3 * looks(16)


def test_a_sign_of_a_narrow_function():
    """A triangle of a micrometre takes the work 1 from the energy 2; the sign beside it is 1 there. Its exponential has a long number."""
    force = "-1e6*max(0, 1 - 1e6*abs(x - 5))*max(0, sign(exp(-((x - 5)/1e-4)^2) - 0.5))"
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force})), {"x": 0, "x'": 2}, (0, 5))
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(math.sqrt(2), abs=1e-7)


def _nested(n):
    """n maxima around one another. On x > 0.01 * n the last of their arguments, which is the steepest, is the largest."""
    text = "x"
    for k in range(1, n + 1):
        text = f"max({text}, {k + 1}*x - {k}/100)"
    return text


def _work(call):
    """How many functions Python calls, which does not depend on the load of the machine, and the result."""
    profile = cProfile.Profile()
    result = profile.runcall(call)
    return sum(entry.callcount for entry in profile.getstats()), result


def test_the_work_for_nested_corners_grows_little_faster_than_their_number():
    """The force at x = 1 is -(n + 1 - n/100), since the slopes k + 1 grow faster than the offsets k/100."""
    work = {}
    for n in (30, 60, 120):
        equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": f"-({_nested(n)})"}))
        work[n], found = _work(lambda e=equations: ch.evaluate(e, {"x": 1, "x'": 0}))
        assert found["x''"] == pytest.approx(-(n + 1 - n / 100))
    assert work[120] < 3 * work[60]  # the first one also fills caches; quadratic work would give 4
