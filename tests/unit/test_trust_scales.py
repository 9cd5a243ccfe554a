"""Results and verdicts do not depend on the units of length, time and mass, nor on the size of an amplitude."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch

OSCILLATOR = ch.derive(ch.System("x", "m k", lagrangian="m*x'^2/2 - k*x^2/2"))
SIZES = [1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-20, 1e6, 1e12, 1e100]


@pytest.mark.parametrize("size", SIZES)
def test_an_oscillation_of_every_size(size):
    motion = ch.simulate(OSCILLATOR, {"x": size, "x'": 0}, (0, 10), parameters={"m": 1, "k": 1})
    assert motion.final["x"] / size == pytest.approx(math.cos(10), abs=1e-7)
    assert motion.final["x'"] / size == pytest.approx(-math.sin(10), abs=1e-7)


def test_energies_beyond_the_range_of_numbers_are_no_evidence_and_no_warning():
    """The squares of 1e200 overflow: the motion is right, and nothing certifies it."""
    start = {"x": [1e200, 1.0], "x'": 0.0}
    many = ch.simulate_many(OSCILLATOR, start, (0, 10), parameters={"m": 1, "k": 1})
    assert many.outcome.tolist() == [ch.Outcome.NOT_CERTIFIED, ch.Outcome.FINISHED] and "do not balance" in many.message(0)
    assert many.final["x"] / start["x"] == pytest.approx(np.full(2, math.cos(10)), abs=1e-7)


def test_forces_near_the_largest_number_end_the_motion_without_a_warning():
    system = ch.System("x y", "a b", lagrangian="(x'^2 + y'^2)/2 + b*y*(1 - cos(a*x))/x^2")
    start = {"x": 1e-8, "x'": 0, "y": 1e-4, "y'": 0}
    motion = ch.simulate(ch.derive(system), start, (0, 1), parameters={"a": 1, "b": 1e305}, slopes=["a"], max_steps=300)
    assert motion.outcome is ch.Outcome.LEFT_DOMAIN and "no finite value near t = 3.6" in motion.message


@pytest.mark.parametrize("method", [ch.Implicit(), ch.Taylor()], ids=["implicit", "taylor"])
@pytest.mark.parametrize("size", [1e-9, 1e-12, 1e9])
def test_an_oscillation_of_every_size_by_every_method(method, size):
    motion = ch.simulate(OSCILLATOR, {"x": size, "x'": 0}, (0, 10), parameters={"m": 1, "k": 1}, method=method)
    assert motion.final["x"] / size == pytest.approx(math.cos(10), abs=1e-6)


def test_members_of_an_ensemble_have_sizes_of_their_own():
    sizes = np.array([1, 1e-6, 1e-12, 1e6])
    ends = ch.simulate_many(OSCILLATOR, {"x": sizes, "x'": 0.0}, (0, 10), parameters={"m": 1, "k": 1}).final["x"]
    assert ends / sizes == pytest.approx(np.full(4, math.cos(10)), abs=1e-7)


def test_a_seismometer():
    motion = ch.simulate(OSCILLATOR, {"x": 1e-9, "x'": 0}, (0, 100), parameters={"m": 1, "k": 1})
    assert motion.final["x"] / 1e-9 == pytest.approx(math.cos(100), abs=1e-6)


@pytest.mark.parametrize("length", [1, 1e-9, 1e-12, 1e9])
def test_a_cartesian_pendulum_of_every_length(length):
    equations = ch.derive(ch.System("x y", "g l", lagrangian="(x'^2 + y'^2)/2 - g*y", kinematic=["x^2 + y^2 = l^2"]), ch.DAlembert())
    a = 1.0
    start = {"x": length * math.sin(a), "y": -length * math.cos(a), "x'": 0, "y'": 0}
    motion = ch.simulate(equations, start, (0, 3), parameters={"g": 9.81 * length, "l": length})
    right = solve_ivp(lambda _, y: [y[1], -9.81 * math.sin(y[0])], (0, 3), [a, 0], "DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    assert motion.outcome == "finished"
    assert motion.final["x"] / length == pytest.approx(math.sin(right), abs=1e-6)


def test_one_small_coordinate_beside_a_large_one():
    """x of 1 and y of 1e-9 with frequencies 1 and 2, uncoupled: each is right relative to its own size."""
    equations = ch.derive(ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - x^2/2 - 2*y^2"))
    motion = ch.simulate(equations, {"x": 1, "y": 1e-9, "x'": 0, "y'": 0}, (0, 10), tolerance=(1e-10, 0))
    assert motion.final["y"] / 1e-9 == pytest.approx(math.cos(20), abs=1e-6)


def test_scale_gives_typical_sizes():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "1e-9*cos(t)"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 10), scale={"x": 1e-9})
    assert motion.final["x"] / 1e-9 == pytest.approx(1 - math.cos(10), abs=1e-6)


def test_a_small_force_on_a_body_at_rest_at_the_origin():
    """Nothing tells the size but the motion itself."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "1e-9*cos(t)"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 10))
    assert motion.final["x"] / 1e-9 == pytest.approx(1 - math.cos(10), abs=1e-6)


@pytest.mark.parametrize("k", [0, 3, 6, -3, -6])
def test_a_verdict_does_not_depend_on_the_unit_of_time(k):
    """Seconds, milliseconds, microseconds."""
    system = ch.System(
        "q1 q2",
        lagrangian=f"1e{2 * k}*(q1'^2 + 0.7*q2'^2) - sin(q2)*q1",
        variational=["sin(q1)*δq1 + cos(q2)*δq2 = 0"],
        kinematic=[f"1e{2 * k}*(q2*q1'' + q2'') + 0.9 = 0"],
    )
    analysis = ch.analyze(ch.derive(system, ch.VirtualWork()))
    assert (analysis.verdict.value, analysis.dimension) == ("REGULAR", 4)


@pytest.mark.parametrize("k", [0, 10, 12, 16, 24, -12])
def test_a_verdict_of_herglotz_does_not_depend_on_the_mass(k):
    equations = ch.derive(ch.System("x", lagrangian=f"1e{k}*x'^2/2 - x^2/2 - 0.1*s^2", action="s"), ch.Herglotz())
    analysis = ch.analyze(equations)
    assert (analysis.verdict.value, analysis.dimension) == ("REGULAR", 3)
    m = 10.0**k
    now = ch.evaluate(equations, {"x": 0.5, "x'": 0.4, "s": 0.3})
    assert now["x''"] == pytest.approx(-0.2 * 0.3 * 0.4 - 0.5 / m, rel=1e-12)  # m x'' + x - L_s m x' = 0 with L_s = -0.2 s


@pytest.mark.parametrize("k", [0, 6, 12, 16, -12])
def test_accelerations_do_not_depend_on_the_unit_of_time(k):
    """The system of the verdicts in units of 10^k seconds: rates scale, nothing else."""
    system = ch.System(
        "q1 q2",
        lagrangian=f"1e{2 * k}*(q1'^2 + 0.7*q2'^2) - sin(q2)*q1",
        variational=["sin(q1)*δq1 + cos(q2)*δq2 = 0"],
        kinematic=[f"1e{2 * k}*(q2*q1'' + q2'') + 0.9 = 0"],
    )
    q1, q2 = 0.4, 0.7
    now = ch.evaluate(ch.derive(system, ch.VirtualWork()), {"q1": q1, "q2": q2, "q1'": 0.1, "q2'": 0.2})
    # 2 m q1'' + sin(q2) = l sin(q1), 1.4 m q2'' + cos(q2) q1 = l cos(q2), m (q2 q1'' + q2'') = -0.9
    matrix = [[2, 0, -math.sin(q1)], [0, 1.4, -math.cos(q2)], [q2, 1, 0]]
    right = np.linalg.solve(matrix, [-math.sin(q2), -math.cos(q2) * q1, -0.9])
    scale = 10.0 ** (2 * k)
    assert [now["q1''"] * scale, now["q2''"] * scale, now["lambda1"]] == pytest.approx(right, rel=1e-10)


@pytest.mark.parametrize("length", [1e-12, 1e-6, 1, 1e6, 1e12])
@pytest.mark.parametrize("time", [1e-9, 1, 1e9])
def test_a_sleigh_with_numbers_in_its_text_in_any_units(length, time):
    """Chaplygin's sleigh with mass 1.5, inertia 0.8, offset 0.3 in units of length and time; reduced by hand."""
    a, J, m = 0.3 * length, 0.8 * length**2, 1.5
    text = f"{m}*(x'^2 + y'^2)/2 + {m * a!r}*th'*(y'*cos(th) - x'*sin(th)) + {J + m * a * a!r}*th'^2/2"
    system = ch.System("x y th", lagrangian=text, kinematic=["y'*cos(th) - x'*sin(th) = 0"])
    start = {"x": 0, "y": 0, "th": 0.2, "x'": 0.9 * length / time, "th'": 0.7 / time}
    motion = ch.simulate(ch.derive(system, ch.DAlembert()), start, (0, 2 * time), tolerance=1e-10)
    assert motion.outcome == "finished", motion.message

    def rates(_, s):  # v' = a w^2, w' = -m a v w/(J + m a^2)
        _, _, th, v, w = s
        return [v * math.cos(th), v * math.sin(th), w, 0.3 * w * w, -1.5 * 0.3 * v * w / (0.8 + 1.5 * 0.09)]

    right = solve_ivp(rates, (0, 2), [0, 0, 0.2, 0.9 / math.cos(0.2), 0.7], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    found = [motion.final["x"] / length, motion.final["y"] / length, motion.final["th"], motion.final["th'"] * time]
    assert found == pytest.approx([right[0], right[1], right[2], right[4]], abs=1e-7)


@pytest.mark.parametrize("e", [1e-3, 1e-6, 1e-9, 1e-12, 1e-14])
def test_nearly_equal_rows_have_one_answer_or_are_ill_conditioned(e):
    """x' = y' and x' = (1 + e) y': both vanish, so nothing moves but z."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x - 2*y - 3*z", kinematic=["x' = y'", f"x' = (1 + {e!r})*y'"])
    equations = ch.derive(system, ch.DAlembert())
    start = {"x": 0, "y": 0, "z": 0, "x'": 0, "y'": 0, "z'": 0}
    answers = []
    for verb in ("evaluate", "simulate", "many"):
        try:
            if verb == "evaluate":
                now = ch.evaluate(equations, start)
                found = [now["x''"], now["y''"], now["z''"]]
            elif verb == "simulate":
                motion = ch.simulate(equations, start, (0, 1))
                if motion.outcome != "finished":
                    raise RuntimeError(motion.message)
                found = [2 * motion.final["x"], 2 * motion.final["y"], 2 * motion.final["z"]]
            else:
                ensemble = ch.simulate_many(equations, [start], (0, 1))
                if len(ensemble.failed):
                    raise RuntimeError(str(ensemble.message(0)))
                found = [2 * ensemble.final[q][0] for q in "xyz"]
        except (ch.ChetaevError, RuntimeError) as refusal:
            answers.append("ill-conditioned" if "ill-conditioned" in str(refusal) else str(refusal))
        else:
            answers.append("right" if found == pytest.approx([0, 0, -3], abs=1e-5) else str(found))
    assert set(answers) in ({"right"}, {"ill-conditioned"})


PROBLEM_D = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - (x^2 + y^2)/2 + cos(z) - sin(2*z)/4", kinematic=["x' + sin(z)*y' = 0"])


@pytest.mark.parametrize(("tolerance", "end", "error"), [(1e-14, 2500, 1e-9), (1e-12, 20_000, 1e-8)])
def test_a_growing_angle_is_no_drift(tolerance, end, error):
    """z passes 2^12 where its last digit grows; on it z'^2/2 - cos z + sin(2 z)/4 is not conserved alone, the energy is.

    The shorter motion has 7e4 steps, the longer one 4e5: rounding of z adds up in them, as the errors of the steps do.
    """
    start = {"x": 1, "y": 0, "z": 0, "y'": 0.3, "z'": 2.5}
    motion = ch.simulate(ch.derive(PROBLEM_D, ch.DAlembert()), start, (0, end), tolerance=tolerance, keep="final", max_steps=10**8)
    assert motion.outcome == "finished", motion.message
    f = motion.final
    energy = (f["x'"] ** 2 + f["y'"] ** 2 + f["z'"] ** 2 + f["x"] ** 2 + f["y"] ** 2) / 2 - math.cos(f["z"]) + math.sin(2 * f["z"]) / 4
    assert energy == pytest.approx((0.09 + 6.25 + 1) / 2 - 1, abs=error)
    assert f["x'"] + math.sin(f["z"]) * f["y'"] == pytest.approx(0, abs=1e-12)


def test_a_large_angle_at_the_start_is_no_drift():
    """From z = 2^18: the same motion as from z = 0 shifted by whole turns, to what the last digit of z allows."""
    turns = 41722 * 2 * math.pi
    start = {"x": 1, "y": 0, "z": turns, "y'": 0.3, "z'": 2.5}
    motion = ch.simulate(ch.derive(PROBLEM_D, ch.DAlembert()), start, (0, 20), tolerance=1e-12)
    assert motion.outcome == "finished", motion.message

    def rates(_, s):
        x, y, z, v, w = s  # y' = v, x' = -sin(z) v, z' = w; (1 + sin^2) v' = -(cos(z) w) sin(z) v - y + sin(z) x
        sz, cz = math.sin(z), math.cos(z)
        return [-sz * v, v, w, (-sz * cz * w * v - y + sz * x) / (1 + sz * sz), -sz - math.cos(2 * z) / 2]

    right = solve_ivp(rates, (0, 20), [1, 0, 0, 0.3, 2.5], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert [motion.final["x"], motion.final["y"], motion.final["z"] - turns] == pytest.approx(right[:3], abs=1e-6)
