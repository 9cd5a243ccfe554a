"""Modules of JavaScript: they integrate the motions of the gallery as `simulate` does, with switches, events and hostile names."""

import json
import shutil
import subprocess
from base64 import b64encode
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import cos, cosh, sin

import pytest

import chetaev as ch
from browsing import needs_chromium

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the modules of JavaScript are not run")
GAUGES = {"krupkova": {"q2": "0.4 - 0.3*sin(t)"}}
"""Functions of time for motions that leave them free."""
SENSITIVE = {"double-pendulum", "chain", "rattleback"}
"""Motions that amplify errors: two tolerances of `simulate` itself differ by as much."""
FOUND = """
const found = (m, options) => {
  const r = m.simulate(options), end = r.states.at(-1), t = r.t.at(-1);
  const residuals = end ? m.constraints(t, end).map(Math.abs) : [];
  return {t: r.t, states: r.states, names: m.stateNames, outcome: r.outcome, message: r.message, events: r.events,
    unknownNames: m.unknownNames, unknowns: end ? m.unknowns(t, end) : null, residual: Math.max(0, ...residuals),
    energy: end ? m.energy(t, end) : null, projected: end ? m.project(t, end) : null, rates: end ? m.rates(t, end) : null};
};
"""
PROGRAM = "import * as m from %s;" + FOUND + "console.log(JSON.stringify(found(m, %s)));"


def run(model, folder, options="{}", program=PROGRAM):
    path = folder / "model.mjs"
    path.write_text(ch.code(model, "javascript"), encoding="utf-8")
    text = program % (json.dumps(path.as_uri()), options)
    found = subprocess.run([NODE, "--input-type=module", "-e", text], capture_output=True, text=True, timeout=120)  # noqa: S603
    assert found.returncode == 0, found.stderr[-2000:]
    return json.loads(found.stdout)


def of_gallery(name):
    return replace(ch.gallery(name), gauge=GAUGES[name]) if name in GAUGES else ch.gallery(name)


@cache
def motion_of(name):
    return ch.simulate(of_gallery(name))


def assert_same(name, found):
    """The end of a motion in JavaScript is that of `simulate`: state, multipliers, energy; and it satisfies the constraints."""
    motion, near = motion_of(name), 3e-6 if name in SENSITIVE else 1e-7
    assert found["outcome"] == motion.outcome == "finished", name
    assert found["t"][-1] == motion.t[-1], name
    end = motion.final
    for jet, value in zip(found["names"], found["states"][-1], strict=True):
        size = max(1e-3, abs(motion.extrema[jet][0]), abs(motion.extrema[jet][1]))
        assert value == pytest.approx(end[jet], rel=near, abs=near * size), (name, jet)
    for jet, value in zip(found["unknownNames"], found["unknowns"], strict=True):
        assert value == pytest.approx(end[jet], rel=10 * near, abs=100 * near * max(1e-3, abs(motion[jet]).max())), (name, jet)
    assert found["residual"] < 1e-10, name
    assert found["energy"] == pytest.approx(motion.energy[-1], rel=1e-6, abs=1e-6), name


GALLERY = list(ch.gallery())


@needs_node
@pytest.mark.parametrize("name", GALLERY)
def test_the_gallery_moves_as_in_python(name, tmp_path):
    assert_same(name, run(of_gallery(name), tmp_path))


IN_A_PAGE = f"""async (modules) => {{ {FOUND}
  const all = {{}};
  for (const [name, address] of Object.entries(modules)) all[name] = found(await import(address), {{}});
  return JSON.stringify(all);
}}"""
"""All modules one after the other, and their motions as one text: playwright would visit every number."""


@needs_chromium
def test_the_gallery_moves_in_chromium_as_in_python(browser):
    """One empty page imports every module as data: nothing that only node has is needed, and the motions are those of `simulate`."""
    codes = {name: ch.code(of_gallery(name), "javascript").encode() for name in GALLERY}
    modules = {name: f"data:text/javascript;base64,{b64encode(code).decode()}" for name, code in codes.items()}
    page = browser.new_page()
    found = json.loads(page.evaluate(IN_A_PAGE, modules))
    page.close()
    assert list(found) == GALLERY
    for name in GALLERY:
        assert_same(name, found[name])


def model(system, values, start, t, **more):
    return ch.Model(system, ch.Hamilton(), values, start, t, **more)


SPRING = {"lagrangian": "x'^2/2 - k*x^2/2"}
CORNERS = {
    "comes to rest": model(ch.System("x", "mu k", **SPRING, forces={"x": "-mu*sign(x')"}), {"mu": 0.3, "k": 2}, {"x": 1, "x'": 0}, (0, 20)),
    "stick and slip": model(
        ch.System("x", "mu k", **SPRING, forces={"x": "-mu*sign(x' - 0.5)"}), {"mu": 0.6, "k": 1}, {"x": 0, "x'": 0.5}, (0, 10)
    ),
    "kinks": model(ch.System("x", lagrangian="x'^2/2 - abs(x)"), {}, {"x": 1, "x'": 0}, (0, 9)),
    "step in time": model(
        ch.System("x", lagrangian="x'^2/2", forces={"x": "step(t - 1/3) - max(0, x - 1)"}), {}, {"x": 0, "x'": 0}, (0, 4)
    ),
    "bounces": model(
        ch.System("y", "g e", lagrangian="y'^2/2 - g*y"),
        {"g": 9.81, "e": 0.8},
        {"y": 1, "y'": 0},
        (0, 1.5),
        events=(ch.On("y", direction=-1, reset={"y'": "-e*y'"}), "y - 0.3"),
    ),
    "stops": model(
        ch.System("y", "g", lagrangian="y'^2/2 - g*y"), {"g": 9.81}, {"y": 1, "y'": 0}, (0, 2), events=(ch.On("y", terminal=True),)
    ),
}


@needs_node
@pytest.mark.parametrize("case", CORNERS)
def test_switches_and_events(case, tmp_path):
    motion, found = ch.simulate(CORNERS[case]), run(CORNERS[case], tmp_path)
    assert (found["outcome"], found["t"][-1]) == (motion.outcome, pytest.approx(motion.t[-1], rel=1e-12))
    for jet, value in zip(found["names"], found["states"][-1], strict=True):
        assert value == pytest.approx(motion.final[jet], rel=1e-7, abs=1e-8)
    assert [event["t"] for event in found["events"]] == pytest.approx([event.t for event in motion.events], rel=1e-9)


BELT = "(x'^2 + y'^2)/2 - (x - y)^2 - x^2/2"
CHAIN = list("abcdefg")
TOGETHER = {
    "two blocks on a belt": model(
        ch.System("x y", "mu v", lagrangian=BELT, forces={"x": "-mu*sign(x' - v)", "y": "-0.7*mu*sign(y' - v)"}),
        {"mu": 0.5, "v": 0.3},
        {"x": 0, "y": 0.1, "x'": 0, "y'": 0},
        (0, 20),
    ),
    "a block on a belt, one on the floor": model(
        ch.System("x y", "mu v", lagrangian=BELT, forces={"x": "-mu*sign(x' - v)", "y": "-0.7*mu*sign(y')"}),
        {"mu": 0.5, "v": 0.3},
        {"x": 0, "y": 0.1, "x'": 0, "y'": 0},
        (0, 20),
    ),
    "three blocks": model(
        ch.System(
            "x y z",
            "mu",
            lagrangian="(x'^2 + y'^2 + z'^2)/2 - (x - y)^2 - (y - z)^2 - x^2/2",
            forces={"x": "-mu*sign(x')", "y": "-0.7*mu*sign(y')", "z": "t/20 - 0.4*mu*sign(z')"},
        ),
        {"mu": 0.5},
        {"x": 0, "y": 0.1, "z": -0.2, "x'": 0, "y'": 0, "z'": 0},
        (0, 20),
    ),
    "seven blocks at rest, one is pulled": model(
        ch.System(
            CHAIN,
            "mu",
            lagrangian=" + ".join(f"{a}'^2/2" for a in CHAIN) + "".join(f" - ({a} - {b})^2/2" for a, b in pairwise(CHAIN)),
            forces={a: f"-mu*sign({a}')" + (" + t/15" if a == "a" else "") for a in CHAIN},
        ),
        {"mu": 0.2},
        {a: 0.01 * k for k, a in enumerate(CHAIN)} | {f"{a}'": 0 for a in CHAIN},
        (0, 15),
    ),
    "two forces that vanish together": model(
        ch.System("x", "mu", lagrangian="x'^2/2 - x^2/2", forces={"x": "-mu*sign(x') - mu*sign(2*x' + x'^3/2)"}),
        {"mu": 0.1},
        {"x": 1, "x'": 0},
        (0, 20),
    ),
    "a wheel with friction": ch.Model(
        ch.System(
            "x y th",
            "mu",
            lagrangian="(x'^2 + y'^2 + th'^2)/2 - x^2 - y^2/2",
            kinematic=["x' = th'"],
            forces={"x": "-mu*sign(x')", "y": "-mu*sign(y')"},
        ),
        ch.DAlembert(),
        {"mu": 0.3},
        {"x": 1, "y": 1.3, "th": 0, "x'": 0, "y'": 0},
        (0, 20),
    ),
}
"""Motions in which several switching functions stay at zero at once, and leave it one by one."""


@needs_node
@pytest.mark.parametrize("case", TOGETHER)
def test_several_surfaces_hold_the_motion_together(case, tmp_path):
    motion, found = ch.simulate(TOGETHER[case]), run(TOGETHER[case], tmp_path)
    assert (found["outcome"], found["t"][-1]) == (motion.outcome, motion.t[-1]) and motion.outcome == "finished"
    assert found["states"][-1] == pytest.approx([motion.final[z] for z in found["names"]], abs=1e-7)


@needs_node
def test_two_blocks_on_a_belt_leave_it_as_the_closed_form_says(tmp_path):
    """Both ride with x = y = v t until the spring force x reaches mu; then x'' = -3 x + 2 v t + mu, while y still rides."""
    mu, v, later = 0.5, 0.3, 1.5
    given = replace(TOGETHER["two blocks on a belt"], start=ch.State({"x": 0, "y": 0, "x'": v, "y'": v}), t=(0, mu / v + later))
    found = run(given, tmp_path)
    end = dict(zip(found["names"], found["states"][-1], strict=True))
    assert found["outcome"] == "finished" and end["y"] == pytest.approx(v * (mu / v + later), abs=1e-9) and end["y'"] == v
    assert end["x"] == pytest.approx((2 * v * (mu / v + later) + mu) / 3 + v / 3**1.5 * sin(3**0.5 * later), abs=1e-8)
    assert end["x'"] == pytest.approx(2 * v / 3 + v / 3 * cos(3**0.5 * later), abs=1e-8)


@needs_node
def test_a_function_that_leaves_zero_without_a_rate_is_not_held(tmp_path):
    """From rest x'' = 1 + abs(x) gives cosh(t) - 1, backwards in time too."""
    for end in (2, -2):
        given = model(ch.System("x", lagrangian="x'^2/2", forces={"x": "1 + abs(x)"}), {}, {"x": 0, "x'": 0}, (0, end))
        found = run(given, tmp_path)
        assert found["outcome"] == "finished" and found["states"][-1][0] == pytest.approx(cosh(2) - 1, abs=1e-8)


@needs_node
def test_signs_whose_products_hold_two_functions_end_the_motion(tmp_path):
    forces = {"x": "-mu*sign(x')*(2 + sign(y'))", "y": "-0.7*mu*sign(y')"}
    given = model(ch.System("x y", "mu", lagrangian=BELT, forces=forces), {"mu": 0.3}, {"x": 1, "y": 0.1, "x'": 0, "y'": 0}, (0, 20))
    motion, found = ch.simulate(given), run(given, tmp_path)
    assert (found["outcome"], found["t"][-1]) == (motion.outcome, pytest.approx(motion.t[-1], abs=1e-8))
    assert motion.outcome == "left_domain" and "stay at zero together" in found["message"]


BALL = ch.System("y", "g e", lagrangian="y'^2/2 - g*y")
FREE = ch.System("x y", lagrangian="(x'^2 + y'^2)/2")


def bounce(event, e, y, speed, direction=-1, **more):
    impact = ch.On(event, direction=direction, **({"reset": {"y'": "-e*y'"}} | more))
    return model(BALL, {"g": 9.81, "e": e}, {"y": y, "y'": speed}, (0, 6), events=(impact,))


ENDINGS = {
    "bounces without end": bounce("y", 0.3, 1, 0),
    "many bounces": bounce("y", 0.8, 1, 0),
    "no bounce": bounce("y", 0, 1, 0),
    "a floor at a height": bounce("2 - y", 0.5, 3, 0, direction=1),
    "in both directions": bounce("y", 0.5, 1, 0, direction=0),
    "from the floor, downwards": bounce("y", 0.5, 0, -3),
    "from the floor, upwards": bounce("y", 0.5, 0, 3),
    "ends where it begins": bounce("y", 0.5, 0, -3, reset=None, terminal=True),
    "two walls at once": model(
        FREE,
        {},
        {"x": 0, "x'": 1, "y": 0, "y'": 2},
        (0, 2),
        events=(ch.On("x - 1", reset={"x'": "-x'/2"}), ch.On("(y - 2)*(x + 3)", reset={"y'": "-y'/4"}), "3*x - 3"),
    ),
    "a narrow dip": model(FREE, {}, {"x": 0, "x'": 1, "y": 0, "y'": 0}, (0, 10), events=("(x - 5)^2 - 1e-6", "(x - 7)^2 + 1e-6")),
}


@needs_node
@pytest.mark.parametrize("case", ENDINGS)
def test_events_at_the_start_at_once_and_without_end(case, tmp_path):
    """Bounces that follow each other without end end the motion in a word, and no ball falls through its floor."""
    motion, found = ch.simulate(ENDINGS[case]), run(ENDINGS[case], tmp_path)
    assert (found["outcome"], found["t"][-1]) == (motion.outcome, pytest.approx(motion.end[0], abs=1e-7))
    assert found["states"][-1] == pytest.approx([motion.final[z] for z in found["names"]], abs=1e-6)
    assert [event["t"] for event in found["events"]] == pytest.approx([event.t for event in motion.events], abs=1e-7)
    assert ("without end" in found["message"]) == ("without end" in motion.message)


@needs_node
def test_a_motion_into_a_singular_place_leaves_its_domain(tmp_path):
    given = model(ch.System("x y", lagrangian="(x*x'^2 + y'^2)/2"), {}, {"x": 1, "x'": -1, "y": 0, "y'": 1}, (0, 10))
    motion, found = ch.simulate(given), run(given, tmp_path)
    assert (found["outcome"], found["t"][-1]) == (motion.outcome, pytest.approx(2 / 3, abs=1e-6)) and "singular" in found["message"]


PLANE = "(x'^2 + y'^2)/2"
CROSSED = {
    "a mass changes its sign": (ch.System("x y", lagrangian="(x'^2 + x*y'^2)/2"), ch.Hamilton(), {"y'": 0}, 1 / 2),
    "the origin of polar coordinates": (ch.System("x y", lagrangian="(x'^2 + x^2*y'^2)/2"), ch.Hamilton(), {"y'": 0}, 1 / 2),
    "a constraint loses its rank": (ch.System("x y", lagrangian=PLANE, kinematic=["x*y' = 0"]), ch.DAlembert(), {}, 1 / 2),
    "a multiplier without bound": (
        ch.System("x y", lagrangian=PLANE, kinematic=["x*(y' - x') = 0"], forces={"y": "1"}),
        ch.DAlembert(),
        {},
        2 * 5**0.5 - 4,
    ),
    "a redundant row vanishes": (ch.System("x y", lagrangian=PLANE, kinematic=["y' = x'", "x*y' = x*x'"]), ch.DAlembert(), {}, None),
    "a mass that is nearly zero": (ch.System("x y", lagrangian="(x'^2 + (x^2 + 1/10000)*y'^2)/2"), ch.Hamilton(), {"y'": 0}, None),
}
"""Regular motions through singular places, with the times: a step that is as long as the motion allows would pass over them."""


@needs_node
@pytest.mark.parametrize("case", CROSSED)
def test_no_step_passes_over_a_singular_place(case, tmp_path):
    system, principle, more, end = CROSSED[case]
    given = ch.Model(system, principle, {}, {"x": -1, "x'": 2, "y": 0, **more}, (0, 3))
    found = run(given, tmp_path)
    assert found["outcome"] == ch.simulate(given).outcome == ("left_domain" if end else "finished")
    assert found["t"][-1] == pytest.approx(end or 3, abs=1e-6) and ("singular" in found["message"]) == bool(end)


@needs_node
def test_an_event_before_a_singular_place_comes_first(tmp_path):
    system = ch.System("x y", lagrangian=PLANE, kinematic=["x*y' = 0"])
    given = ch.Model(system, ch.DAlembert(), {}, {"x": -1, "x'": 2, "y": 0}, (0, 3), events=(ch.On("x + 1/8", terminal=True),))
    found = run(given, tmp_path)
    assert (found["outcome"], found["t"][-1]) == ("event", pytest.approx(7 / 16, abs=1e-12))


@needs_node
def test_names_that_are_words_of_javascript(tmp_path):
    names = ["Math", "NaN", "let", "await", "p", "s", "found"]
    kinetic = " + ".join(f"{name}'^2/2" for name in names)
    system = ch.System(names, "Infinity", lagrangian=f"{kinetic} - Infinity*Math^2/2 - cos(NaN)*let*await - p*s - found^2")
    start = {name: 0.1 * (k + 1) for k, name in enumerate(names)} | {f"{name}'": 0 for name in names}
    given = model(system, {"Infinity": 2.0}, start, (0, 2))
    motion, found = ch.simulate(given), run(given, tmp_path)
    assert found["states"][-1] == pytest.approx([motion.final[z] for z in found["names"]], rel=1e-8)


HOSTILE = ["</script><script>throw 1</script>", "*/ throw 1 //", "`${throw1}`", "a\u2028throw 1"]


@needs_node
@pytest.mark.parametrize("text", HOSTILE[:3])
def test_names_of_systems_are_texts(text, tmp_path):
    given = model(ch.System("x", lagrangian="x'^2/2 - x^2/2", name=text), {}, {"x": 1, "x'": 0}, (0, 1))
    written = ch.code(given, "javascript")
    assert "</script" not in written
    assert run(given, tmp_path)["outcome"] == "finished"
    told = run(given, tmp_path, program="import * as m from %s; const o = %s; console.log(JSON.stringify(m.name));")
    assert told == text


REPLACED = """
import * as m from %s;
const told = (call) => { try { return call(); } catch (error) { return error instanceof Error ? error.message : "?"; } };
const o = %s;
console.log(JSON.stringify([
  m.simulate({t: [0, 2], parameters: {l: 2}, start: {x: 0.6}, times: [0, 0.5, 2]}),
  told(() => m.simulate({start: {q: 1}})), told(() => m.simulate({parameters: {q: 1}})),
  told(() => m.simulate({start: {x: 0.5, y: 7}})), m.stateNames]));
"""


@needs_node
def test_values_by_name_replace_those_of_the_model(tmp_path):
    pendulum = ch.System("x y", "g l", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"])
    values = {"g": 9.81, "l": 1.0}
    given = ch.Model(pendulum, ch.DAlembert(), values, ch.State({"x": "l/2", "x'": 0}, {"y": -0.8}), (0, 1))
    moved, start, parameter, both, names = run(given, tmp_path, program=REPLACED)
    motion = ch.simulate(
        ch.derive(pendulum, ch.DAlembert()), ch.State({"x": 0.6, "x'": 0}, {"y": -1.9}), (0, 2), parameters={**values, "l": 2}
    )
    for t, state in zip(moved["t"], moved["states"], strict=True):
        assert state == pytest.approx([motion.at(t)[z] for z in names], abs=1e-8)
    assert moved["t"] == [0, 0.5, 2]
    assert "q is not in the state" in start and "q is not a parameter" in parameter and "contradicts" in both


@needs_node
def test_given_values_that_are_formulas_follow_their_parameters(tmp_path):
    pendulum = ch.System("x y", "g l", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"])
    given = ch.Model(pendulum, ch.DAlembert(), {"g": 9.81, "l": 1.0}, ch.State({"x": "l/2", "x'": 0}, {"y": -0.8}), (0, 1))
    found = run(given, tmp_path, "{parameters: {l: 3}, t: [0, 0.1]}")
    first = dict(zip(found["names"], found["states"][0], strict=True))
    assert first["x"] == pytest.approx(1.5, rel=1e-15) and first["y"] == pytest.approx(-((9 - 1.5**2) ** 0.5), rel=1e-12)


@needs_node
def test_a_singular_state_has_no_unknowns(tmp_path):
    bead = ch.Model(ch.System("x y", lagrangian="(x^2*x'^2 + y'^2)/2"), ch.Hamilton(), {}, {"x": 1, "y": 0, "x'": -1, "y'": 1}, (0, 0.1))
    program = "import * as m from %s; const o = %s; console.log(JSON.stringify([m.unknowns(0, [0, -1, 0, 1]), m.rates(0, [0, -1, 0, 1])]));"
    assert run(bead, tmp_path, program=program) == [None, None]


WAVE = model(ch.System("x", lagrangian="x'^2/2 - x^2/2"), {}, {"x": 1, "x'": 0}, (0, 5))


@needs_node
def test_feedback_moves_as_its_closed_form(tmp_path):
    """2 x'' = sin(t) - x from rest has the motion sqrt(2) sin(t/sqrt(2)) - sin(t)."""
    system = ch.System("x", "m", lagrangian="m*x'^2/2", forces={"x": "u"}, inputs={"u": None})
    given = model(system, {"m": 2}, {"x": 0, "x'": 0}, (0, 5), inputs={"u": "sin(t) - x"}, events=("u + 1/10",))
    found = run(given, tmp_path)
    assert found["states"][-1][0] == pytest.approx(2**0.5 * sin(5 / 2**0.5) - sin(5), abs=1e-8)
    assert found["events"] and all(
        2 * sin(e["t"]) - 2**0.5 * sin(e["t"] / 2**0.5) == pytest.approx(-0.1, abs=1e-8) for e in found["events"]
    )


@needs_node
def test_limits_of_steps_of_the_model_are_kept(tmp_path):
    found = run(replace(WAVE, max_steps=3), tmp_path)
    assert found["outcome"] == ch.simulate(replace(WAVE, max_steps=3)).outcome == "step_too_small" and len(found["t"]) == 4
    found = run(replace(WAVE, max_step=0.01), tmp_path)
    assert found["outcome"] == "finished" and max(b - a for a, b in pairwise(found["t"])) <= 0.01 + 1e-15
    found = run(replace(WAVE, max_step=0.01, max_steps=3), tmp_path, "{maxStep: 0.5, maxSteps: 1000}")
    assert found["outcome"] == "finished" and 10 <= len(found["t"]) <= 40


TIMES = """
import * as m from %s;
const told = (call) => { try { return call(); } catch (error) { return error instanceof Error ? error.message : "?"; } };
const o = %s;
console.log(JSON.stringify([[8], [-1], [NaN], [2, 1], [0, 2.5, 5]].map((times) => told(() => m.simulate({times}))).concat(
  [told(() => m.simulate({t: [5, 0], times: [4, 1]})).t, told(() => m.simulate({maxStep: 0}))])));
"""


@needs_node
def test_times_outside_the_interval_or_out_of_order_are_refused(tmp_path):
    above, below, nan, order, inside, backwards, step = run(WAVE, tmp_path, program=TIMES)
    assert above == "simulate: the time 8 is not between 0 and 5." and "-1 is not between" in below and "NaN is not between" in nan
    assert order == "simulate: the time 1 comes before 2 on the way from 0 to 5."
    assert [state[0] for state in inside["states"]] == pytest.approx([1, cos(2.5), cos(5)], abs=1e-8)
    assert backwards == [4, 1] and "positive" in step
