"""Motion held on a switching surface: it is let go where another corner takes away what holds it, or pushes harder."""

from __future__ import annotations

import math

import pytest

import chetaev as ch

PLANE = "sqrt(x'^2 + y'^2)"
METHODS = pytest.mark.parametrize("method", [None, ch.Implicit(), ch.Taylor()], ids=["default", "implicit", "taylor"])


def moved(forces, start, end=2.0, method=None, **given):
    """Bodies of mass one."""
    names = sorted(forces)
    equations = ch.derive(ch.System(" ".join(names), lagrangian=" + ".join(f"{q}'^2/2" for q in names), forces=forces))
    rest = {z: 0 for q in names for z in (q, f"{q}'")}
    motion = ch.simulate(equations, {**rest, **start}, (0, end), method=method, tolerance=1e-10, **given)
    assert motion.outcome == "finished"
    return motion


@METHODS
@pytest.mark.parametrize(
    ("force", "acceleration"),
    [
        ("-sign(x') + 3*step(t - 1)", 2),
        ("-sign(x') - 3*step(t - 1)", -2),
        ("-(2 - 1.5*step(t - 1))*sign(x') + 1", 0.5),
        ("-2*step(1 - t)*sign(x') + 1", 1),
        ("-sign(x') + 0.5*step(t - 1)", 0),
        ("-sign(x') + piecewise(t - 1, 0.5, 3)", 2),
        ("-max(1, 1 + step(t - 1))*sign(x') + 3*step(t - 1)", 1),
    ],
)
def test_a_block_at_rest_is_pushed_from_one_moment_on(force, acceleration, method):
    motion = moved({"x": force}, {}, method=method)
    assert motion.final["x"] == pytest.approx(acceleration / 2, abs=1e-8)
    assert motion.final["x'"] == pytest.approx(acceleration, abs=1e-8)


def test_a_block_at_rest_is_pushed_when_another_body_arrives():
    """y = t arrives at y = 1 and pushes with 3, friction is 1."""
    motion = moved({"x": "-sign(x') + 3*step(y - 1)", "y": "0"}, {"y'": 1})
    assert motion.final["x"] == pytest.approx(1, abs=1e-8)


def test_two_blocks_on_one_another_are_let_go_together():
    """6 - 1 - 1 on the upper one, 1 - 1/2 on the lower one, from t = 1 on."""
    motion = moved({"x": "-sign(x' - y') - sign(x') + 6*step(t - 1)", "y": "sign(x' - y') - 0.5*sign(y')"}, {})
    assert [motion.final["x"], motion.final["y"]] == pytest.approx([2, 0.25], abs=1e-8)


def test_a_body_on_a_plane_is_let_go_by_a_push():
    """A push of 5 along (3, 4) against friction 1."""
    motion = moved({"x": f"-x'/{PLANE} + 3*step(t - 1)", "y": f"-y'/{PLANE} + 4*step(t - 1)"}, {"x'": 0.3})
    assert [motion.final["x"], motion.final["y"]] == pytest.approx([1.2 + 0.045, 1.6], abs=1e-7)


def test_two_bodies_on_a_plane_are_let_go_together():
    other = PLANE.replace("x", "a").replace("y", "b")
    push = {"x": "3*step(t - 1)", "y": "4*step(t - 1)", "a": "-4*step(t - 1)", "b": "3*step(t - 1)"}
    root = {"x": PLANE, "y": PLANE, "a": other, "b": other}
    motion = moved({q: f"-{q}'/{root[q]} + {push[q]}" for q in push}, {})
    assert [motion.final[q] for q in "xyab"] == pytest.approx([1.2, 1.6, -1.6, 1.2], abs=1e-7)


def test_sliding_along_a_corner_within_a_corner_ends_where_the_inner_one_switches():
    """x'' = -0.6 sign(x' + 0.3 sign(x)): down to x' = -0.3 at 4/3, where x = 1 + 4/3 (1/2 - 0.4); on to x = 0; there x'' = 0.6."""
    motion = moved({"x": "-0.6*sign(x' + 0.3*sign(x))"}, {"x": 1, "x'": 0.5}, end=6.0)
    left = 6 - (4 / 3 + (1 + 4 / 3 * 0.1) / 0.3)
    assert motion.final["x'"] == pytest.approx(-0.3 + 0.6 * left, abs=1e-8)
    assert motion.final["x"] == pytest.approx(-0.3 * left + 0.3 * left**2, abs=1e-8)
    assert [switch.text for switch in motion.switches][-2:] == ["x", "10*x' + 3"]


@pytest.mark.parametrize(("growth", "x"), [("t^4", 2**6 / 30), ("-t^4", 0.0), ("t^5", 2**7 / 42), ("t^4*(1 - t)", None)])
def test_a_push_that_equals_friction_and_grows_slowly(growth, x):
    """x'' = t^4 where the push 1 + t^4 is above friction. With t^4 (1 - t) the body is stopped at
    t = 6/5, when x = (6/5)^6/30 - (6/5)^7/42.
    """
    motion = moved({"x": f"-sign(x') + 1 + {growth}"}, {}, end=2.0 if x else 1.1 if x is not None else 1.25)
    assert motion.final["x"] == pytest.approx(1.2**6 / 30 - 1.2**7 / 42 if x is None else x, abs=1e-8)


def test_many_blocks_at_rest_some_of_which_are_pushed_hard_enough():
    """Friction 1 against pushes: those above it accelerate with the difference, the others stay."""
    pushes = {"a": 0.5, "b": 2.0, "c": -3.0, "d": 0.9, "f": -0.2, "g": 1.25}
    motion = moved({q: f"-sign({q}') + {push}" for q, push in pushes.items()}, {})
    right = [2 * (push - 1 if push > 1 else push + 1 if push < -1 else 0) for push in pushes.values()]
    assert [motion.final[q] for q in pushes] == pytest.approx(right, abs=1e-8)


def test_five_blocks_on_springs_stick_and_slip():
    """The first is pulled by a spring with 0.15 t and friction is 0.2 each: it sets off at t = 4/3, and the third has not moved at 2.5."""
    forces = {f"q{i}": f"-0.2*sign(q{i}')" for i in range(5)}
    forces["q0"] += " + 0.15*t - q0"
    for i in range(4):
        forces[f"q{i}"] += f" - (q{i} - q{i + 1})"
        forces[f"q{i + 1}"] += f" + (q{i} - q{i + 1})"
    motion = moved(forces, {}, end=2.5)
    assert motion.switches[0].t == pytest.approx(4 / 3, abs=1e-8)
    s, w = 2.5 - 4 / 3, 2**0.5  # q0'' = 0.15 s - 2 q0, until q0 = 0.2
    assert motion.final["q0"] == pytest.approx(0.075 * (s - math.sin(w * s) / w), abs=1e-8)
    assert [motion.final[f"q{i}"] for i in range(1, 5)] == [0, 0, 0, 0]
