"""Lagrangians that jump: the limit of ever steeper smooth steps, by conservation laws in closed form and by SciPy on a steep tanh."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch


def run(lagrangian, start, end, coordinates="x", principle=None, **parts):
    equations = ch.derive(ch.System(coordinates, lagrangian=lagrangian, **parts), *([principle] if principle else []))
    motion = ch.simulate(equations, start, (0, end))
    assert motion.outcome == "finished"
    assert motion.verify().worst < 1e-6
    assert motion.drift["balance"] < 1e-7
    return motion


@pytest.mark.parametrize(("x", "v", "factor"), [(-1, 1, 1 / math.sqrt(3)), (1, -1, math.sqrt(3))])
def test_a_jump_of_mass_keeps_the_energy(x, v, factor):
    motion = run("x'^2/2*(1 + sign(x)/2)", {"x": x, "x'": v}, 3)
    assert motion.final["x'"] == pytest.approx(v * factor, abs=1e-12)
    assert motion.final["x"] == pytest.approx(2 * v * factor, abs=1e-11)


@pytest.mark.parametrize("height", [0.4, -0.4, 0.6, 7.0])
def test_a_step_of_potential_is_climbed_or_sends_the_motion_back(height):
    motion = run(f"x'^2/2 - {height}*step(x)", {"x": -1, "x'": 1}, 3)
    after = math.sqrt(1 - 2 * height) if height < 0.5 else -1.0
    assert motion.final["x'"] == pytest.approx(after, abs=1e-11)
    assert motion.final["x"] == pytest.approx(2 * after, abs=1e-11)


def test_a_wall_that_moves_gives_and_takes_energy():
    crossing = run("x'^2/2 - 0.3*step(x - 0.5*t)", {"x": -1, "x'": 2}, 3)
    assert crossing.final["x'"] == pytest.approx(0.5 + math.sqrt(1.5**2 - 0.6), abs=1e-11)
    back = run("x'^2/2 - 0.6*step(x - 0.5*t)", {"x": -1, "x'": 1.2}, 3)
    assert back.final["x'"] == pytest.approx(2 * 0.5 - 1.2, abs=1e-11)


def test_what_time_switches_keeps_the_momentum():
    assert run("x'^2/2*(1 + sign(t - 1)/2)", {"x": 0, "x'": 1}, 3).final["x"] == pytest.approx(1 + 2 / 3, abs=1e-11)
    driven = run("u*x'^2/2", {"x": 0, "x'": 1}, 3, inputs={"u": "1 + step(t - 1)"})
    assert driven.final["x"] == pytest.approx(1 + 2 * 0.5, abs=1e-11)


def test_the_momentum_along_the_surface_is_kept():
    motion = run("x'^2/2 + y'^2/2 + 0.5*sign(x)*y' - 0.1*step(x)", {"x": -1, "x'": 1, "y": 0, "y'": 0.4}, 3, "x y")
    assert motion.final["y'"] == pytest.approx(0.4 - 1, abs=1e-11)  # y' + sign(x)/2 is conserved
    assert motion.final["x'"] == pytest.approx(math.sqrt(1 + 0.4**2 - 0.2 - 0.6**2), abs=1e-11)


def test_a_curved_step_of_mass_against_a_steep_tanh():
    lagrangian = "(x'^2 + 2*y'^2 + 0.6*x'*y')/2*(1 + 0.8*step(x + y^2/2)) - x^2/2"
    motion = run(lagrangian, {"x": -1, "y": 0.3, "x'": 1, "y'": 0.5}, 3, "x y")
    masses, steepness = np.array([[1, 0.3], [0.3, 2]]), 4000.0

    def rates(t, w):
        q, v = w[:2], w[2:]
        g, slope = q[0] + q[1] ** 2 / 2, np.array([1, q[1]])
        factor = 1 + 0.4 * (1 + np.tanh(steepness * g))
        change = 0.4 * steepness / np.cosh(np.clip(steepness * g, -300, 300)) ** 2
        force = v @ masses @ v / 2 * change * slope - masses @ v * change * (slope @ v) - np.array([q[0], 0])
        return [*v, *np.linalg.solve(masses * factor, force)]

    end = solve_ivp(rates, (0, 3), [-1, 0.3, 1, 0.5], rtol=1e-9, atol=1e-11, max_step=4e-3, method="DOP853").y[:, -1]
    assert [motion.final[z] for z in ("x", "y", "x'", "y'")] == pytest.approx(end, abs=2e-5)


def test_constraints_take_their_share_of_the_impulse():
    bead = run("(x'^2 + y'^2)/2 - 0.3*step(x + y)", {"x": -1, "x'": 1}, 3, "x y", ch.DAlembert(), kinematic=["y = x/2"])
    assert bead.final["x"] == pytest.approx(2 * math.sqrt(1 - 0.6 / 1.25), abs=1e-11)


def test_contact_dynamics_crosses_with_its_energy():
    motion = run("x'^2/2*(1 + sign(x)/2) - 0.2*s", {"x": -1, "x'": 1, "s": 0}, 3, principle=ch.Herglotz(), action="s")
    there = math.log(1 / (1 - 0.2)) / 0.2  # x' decays as exp(-0.2 t)
    after = math.exp(-0.2 * there) / math.sqrt(3)
    assert motion.final["x"] == pytest.approx(after * (1 - math.exp(-0.2 * (3 - there))) / 0.2, abs=1e-8)


@pytest.mark.parametrize(
    ("lagrangian", "start", "principle", "parts", "word"),
    [
        ("x''^2/2*(1 + step(x))", {"x": -1, "x'": 1, "x''": 0.1, "x'''": 0}, ch.Hamilton(), {}, "first-order"),
        (
            "(x'^2 + y'^2)/2 - 0.3*step(x)",
            {"x": -1, "x'": 1, "y": 0, "lambda1": 0.1},
            ch.Vakonomic(),
            {"kinematic": ["y' = x"]},
            "multipliers",
        ),
        (
            "(x'^2 + y'^2)/2 - 0.3*step(x)",
            {"x": -1, "x'": 1, "y": 0, "y'": 0},
            ch.VirtualWork(),
            {"kinematic": ["x'' + y'' = 0"], "variational": ["δy = 0"]},
            "impulse",
        ),
    ],
)
def test_a_jump_without_a_known_limit_is_not_passed(lagrangian, start, principle, parts, word):
    coordinates = "x y" if "y" in lagrangian else "x"
    motion = ch.simulate(ch.derive(ch.System(coordinates, lagrangian=lagrangian, **parts), principle), start, (0, 3))
    assert motion.outcome == "left_domain"
    assert word in motion.message


def test_a_billiard_of_four_steps():
    """Walls of height 10 at x, y = 1 and -1 reflect; unfolded, the motion is uniform: 0.1 + 20 and 0.2 + 14, folded back."""
    walls = "10*(step(x - 1) + step(-x - 1) + step(y - 1) + step(-y - 1))"
    equations = ch.derive(ch.System("x y", lagrangian=f"(x'^2 + y'^2)/2 - {walls}"))
    motion = ch.simulate(equations, {"x": 0.1, "y": 0.2, "x'": 1, "y'": 0.7}, (0, 20))
    assert motion.outcome == "finished"
    assert [motion.final["x"], motion.final["y"]] == pytest.approx([0.1, -0.2], abs=1e-7)


@pytest.mark.parametrize("length", [1e-12, 1, 1e12])
@pytest.mark.parametrize("time", [1e-9, 1, 1e9])
@pytest.mark.parametrize("height", [0.3, 2])
def test_refraction_and_reflection_in_any_units(length, time, height):
    """The momentum along the surface stays; the one towards it changes by the energy of the step, or turns around."""
    speed = length / time
    lagrangian = f"(x'^2 + y'^2)/2 - {height * speed**2!r}*step((x + 0.5*y)/{length!r} - 5)"
    start = {"x": 0, "y": 0, "x'": speed, "y'": 0.2 * speed}
    motion = ch.simulate(ch.derive(ch.System("x y", lagrangian=lagrangian)), start, (0, 9 * time))
    before, normal = np.array([1, 0.2]), np.array([1, 0.5]) / math.sqrt(1.25)
    toward = before @ normal
    beyond = toward**2 - 2 * height
    right = before + normal * ((math.sqrt(beyond) if beyond > 0 else -toward) - toward)
    assert motion.outcome == "finished"
    assert [motion.final["x'"] / speed, motion.final["y'"] / speed] == pytest.approx(right, abs=1e-9)
