"""Starts completed block by block, fixed values that hold, messages that name what is missing; and states that select a branch."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch


def test_rows_that_are_linear_one_after_the_other_need_no_guess():
    """E_e gives e = 0, then the kinematic row y' = 0; together they are not linear in e and y'."""
    system = ch.System("x y e", lagrangian="(x'^2 + y'^2)/2 - e^2/2", kinematic=["x''*sin(e) = y'*cos(e)"], variational=["δx = sin(e)*δy"])
    motion = ch.simulate(ch.derive(system, ch.VirtualWork()), {"y": 0.2}, (0, 1), gauge={"x": "sin(t)"})
    assert (motion.final["y"], motion.final["e"]) == pytest.approx((0.2, 0.0), abs=1e-9)


THIRD_ORDER = ch.System(
    "x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x*z", kinematic=["D(z,3) = x*y'' + x'^2"], variational=["δz = x''*δy"]
)
THIRD_ORDER_DATA = {"x": 0.1, "y": 0.5, "z": 0.3, "x'": 0.6, "y'": 0.7, "z'": 0.2, "z''": 0.1}


def test_accelerations_and_multipliers_in_the_state_follow_linearly():
    """x'' = -z, z'' + x = lambda1, y'' = -x''*lambda1."""
    now = ch.evaluate(ch.derive(THIRD_ORDER, ch.VirtualWork()), THIRD_ORDER_DATA)
    assert (now["x''"], now["lambda1"], now["y''"]) == pytest.approx((-0.3, 0.2, 0.06), abs=1e-12)


def test_of_families_with_different_ranks_the_start_selects_one():
    """Lifted five times and linearised: tau' = 0 leaves functions free, and the start has tau' = 1. Against SciPy on the source."""
    start = ch.State(THIRD_ORDER_DATA, guess={"x''": -0.3, "lambda1": 0.2})
    lifted = ch.lift(THIRD_ORDER, 5)
    linear = ch.linearize_constraints(lifted.target)
    motion = ch.simulate(linear.target, lifted.then(linear).forward(start), (0, 0.5), tolerance=1e-10)

    def rates(_, s):  # x'' = -z, y'' = z*lambda, lambda = z'' + x, z''' = x*y'' + x'^2
        x, _, z, vx, vy, vz, az = s
        pull = az + x
        return [vx, vy, vz, -z, z * pull, az, x * z * pull + vx**2]

    end = solve_ivp(rates, (0, 0.5), [0.1, 0.5, 0.3, 0.6, 0.7, 0.2, 0.1], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert [motion.final[q] for q in "xyz"] == pytest.approx(end[:3], abs=1e-9)


MULTIPLIER_IN_STATE = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["x''' + y*y''' + 0.3 = 0"]), ch.Chetaev())


def test_a_fixed_multiplier_is_not_moved():
    """x'' = lambda1, y'' + 1 = lambda1*y: guesses for the accelerations move, the multiplier does not."""
    given = {"x": 0, "x'": 0, "y": 0.5, "y'": 0.2, "lambda1": 0.7}
    start = ch.State(given, guess={"x''": 5, "y''": 3})
    now = ch.evaluate(MULTIPLIER_IN_STATE, start)
    assert (now["lambda1"], now["x''"], now["y''"]) == pytest.approx((0.7, 0.7, -0.65), abs=1e-12)
    begun = ch.simulate(MULTIPLIER_IN_STATE, start, (0, 0.1)).at(0.0)
    assert begun["lambda1"] == pytest.approx(0.7, abs=1e-12)
    with pytest.raises(ch.InitialError, match="the data contradict E_x"):
        ch.evaluate(MULTIPLIER_IN_STATE, {**given, "x''": 0.9})


def test_a_total_derivative_does_not_hold_up_a_simulation():
    """The slope of the row by x'' was written with x'', and the energy written out for ever."""
    system = ch.System("x", lagrangian="x'^2/2 + 0.3*cos(x)*x'^2 - cos(x) - log(x^2 + 2) - x^4 + D(x'^3, 1)")
    motion = ch.simulate(ch.derive(system), {"x": -0.203, "x'": 1.015}, (0, 0.5), tolerance=1e-10)

    def rates(_, s):
        x, v = s
        return [v, (0.3 * np.sin(x) * v**2 + np.sin(x) - 2 * x / (x**2 + 2) - 4 * x**3) / (1 + 0.6 * np.cos(x))]

    end = solve_ivp(rates, (0, 0.5), [-0.203, 1.015], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert (motion.final["x"], motion.final["x'"]) == pytest.approx(end, abs=1e-8)
    assert motion.drift["balance"] < 1e-8


@pytest.mark.parametrize("values", [{"F": 0.1, "c": 1.0}, {"F": 1e8, "c": 299792458.0}], ids=["natural", "SI"])
def test_a_relativistic_particle_with_the_speed_of_light_as_a_symbol(values):
    """Momenta are p_x = p_x(0) + F t and constants; few random points have a value of the root."""
    force, c = values["F"], values["c"]
    system = ch.System("x y z", "F c", lagrangian="-c^2*sqrt(1 - (x'^2 + y'^2 + z'^2)/c^2) + F*x")
    v = np.array([0.1, 0.8, 0.1]) * c
    start = {"x": 0, "y": 0, "z": 0} | dict(zip(("x'", "y'", "z'"), v, strict=True))
    motion = ch.simulate(ch.derive(system), start, (0, 2), parameters=values, tolerance=1e-11)
    p = v / np.sqrt(1 - v @ v / c**2) + np.array([2 * force, 0, 0])
    end = p / np.sqrt(1 + p @ p / c**2)
    assert [motion.final[q] / c for q in ("x'", "y'", "z'")] == pytest.approx(end / c, rel=1e-8)


def test_equal_roots_are_listed_once_and_whole_turns_are_equal():
    """cos(th) = 0.6 has two roots, whether th is declared an angle or not."""
    equations = ch.derive(
        ch.System("x y th", lagrangian="(x'^2 + y'^2 + th'^2)/2 - y", kinematic=["x = cos(th)", "y = sin(th)"]), ch.DAlembert()
    )
    with pytest.raises(ch.InitialError, match=r"2 solutions found: th = (-0.927295 \| th = 0.927295|0.927295 \| th = -0.927295)\."):
        ch.evaluate(equations, {"x": 0.6, "th'": 1})


def test_dependent_rows_are_no_turning_point():
    """Two rows that say the same leave a velocity open; nothing turns there."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = 1", "(x^2 + y^2)^2 = 1"]), ch.DAlembert())
    with pytest.raises(ch.InitialError) as missing:
        ch.evaluate(equations, {"x": 0.6, "y": 0.8})
    assert "no initial value for x'" in str(missing.value)
    assert "turning point" not in str(missing.value)


def test_a_turning_point_is_told():
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())
    with pytest.raises(ch.InitialError, match="turning point"):
        ch.evaluate(equations, ch.State({"x": 1, "x'": 0}, guess={"y": 0.1}))


def test_rows_that_contradict_each_other_are_told_so():
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["x' + y' = 1", "x' + y' = 0.3"])
    with pytest.raises(ch.PrincipleError, match=r"They contradict each other: a combination of them is -?7/10 = 0"):
        ch.derive(system, ch.Chetaev())


@pytest.mark.parametrize(
    ("row", "x", "missing"),
    [
        ("abs(y) = x", 2, "y"),
        ("max(y, -y) = x", 2, "y"),
        ("y*sign(y) = x", 2, "y"),
        ("abs(y) + abs(y - 1) = x", 3, "y"),
        ("abs(y') = x", 3, "y'"),
    ],
)
def test_a_corner_with_two_solutions_needs_a_guess(row, x, missing):
    """|y| = 2 has the solutions 2 and -2; neither is chosen in silence, and a guess chooses."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=[row]), ch.Chetaev())
    start = {"x": x, "x'": 2, **({"y": 0} if missing == "y'" else {})}
    for verb in (lambda data: ch.evaluate(equations, data), lambda data: ch.simulate(equations, data, (0, 0.1))):
        with pytest.raises(ch.InitialError, match=f"{missing} is missing, and both signs"):
            verb(start)
    assert ch.evaluate(equations, ch.State(start, guess={missing: -1.5}))[missing] == pytest.approx(-1 if "y - 1" in row else -x)


def test_a_corner_with_one_solution_is_solved():
    """y + |y|/2 = x grows with y: y = 2 x/3 for x > 0 and 2 x for x < 0."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y + abs(y)/2 = x"]), ch.DAlembert())
    assert ch.evaluate(equations, {"x": 3, "x'": 2})["y"] == pytest.approx(2)
    assert ch.evaluate(equations, {"x": -3, "x'": 2})["y"] == pytest.approx(-6)
