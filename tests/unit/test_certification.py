"""A motion says finished only if its own evidence agrees: rows, defects, balance; and verify measures what vanishes by what is usual."""

from __future__ import annotations

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner

import chetaev as ch
from chetaev.cli.application import application
from chetaev.numerics.ensemble import agreement, end_checks
from chetaev.numerics.graphs.magnitude import magnitudes
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.motion import certification
from chetaev.numerics.motion.quick.short_runs import ShortRuns
from chetaev.numerics.motion.storage import load, save

SPRING = ch.derive(ch.System("x", "m", lagrangian="m*x'^2/2 - m*x^2/2", name="spring"))
START = {"x": 1, "x'": 0}


def never(monkeypatch):
    """Nobody's rows hold so well. The quick checks of earlier motions in this process hold the limit as it was when they were made."""
    for module in (certification, agreement, end_checks):
        monkeypatch.setattr(module, "ROWS", 1e-30)
    monkeypatch.setattr(ShortRuns, "useful", False)


def pendulum_motion(**options):
    return ch.simulate(ch.gallery("cartesian-pendulum"), t=(0, 1), **options)


def test_a_right_motion_has_a_certificate():
    motion = pendulum_motion()
    assert motion.outcome == "finished" and motion.certificate.ok and not motion.certificate.repeated
    assert [figure.kind for figure in motion.certificate.figures] == ["rows", "defect", "rounding", "balance"]
    assert 0 <= motion.certificate.worst < 1e-6
    assert "certificate: ok" in str(motion.certificate) and " at t = " in motion.certificate.where


@pytest.mark.parametrize("factor", [1.001, -1.0])
def test_rates_that_do_not_satisfy_the_rows(factor):
    """Machine code in which every acceleration is wrong by a factor: the rows are off by as much as it changes."""
    piece = pendulum_motion().reader.pieces[0]
    compiled = piece.setting.compiled
    t, x, p = (ca.SX.sym(name, compiled.flow.rhs().size1_in(k)) for k, name in enumerate("txp"))
    rates = compiled.flow.rhs()(t, x, p)
    scale = np.array([factor if z.order == 1 else 1.0 for z in compiled.flow.state])
    wrong = replace(compiled, rhs=compile_kernel(ca.Function("wrong", [t, x, p], [rates * scale])))
    found = certification.Evidence(replace(piece, setting=replace(piece.setting, compiled=wrong)), 0).of_rows()
    assert certification.Evidence(piece, 0).of_rows()[0] < 1e-13
    assert found[0] > 0.1 * abs(factor - 1)


def test_what_is_not_certified_says_so(monkeypatch, tmp_path):
    never(monkeypatch)
    motion = pendulum_motion()
    assert motion.outcome == ch.Outcome.NOT_CERTIFIED
    assert motion.certificate.repeated and not motion.certificate.ok
    assert "the end of the interval was reached, but the rates computed do not satisfy the rows" in motion.message
    assert "at most 1e-30 is allowed" in motion.message
    assert "certificate: NOT ok" in str(motion)
    back = load(save(motion, tmp_path / "motion.npz"))
    assert (back.outcome, back.certificate, back.drift, back.scales) == (motion.outcome, motion.certificate, motion.drift, motion.scales)


def test_the_command_line_exits_with_four(monkeypatch):
    never(monkeypatch)
    found = CliRunner().invoke(application, ["simulate", "cartesian-pendulum", "--t", "0,1"])
    assert found.exit_code == 4
    assert "not_certified" in found.output


def test_members_are_judged_one_by_one(monkeypatch):
    good = ch.simulate_many(SPRING, {"x": [1, 2], "x'": 0}, (0, 1), parameters={"m": 1})
    assert list(good.outcome) == [ch.Outcome.FINISHED] * 2
    never(monkeypatch)
    rows = ch.derive(ch.System("x", lagrangian="x'^2/2 - sin(x)^2*cos(3*x)"))
    bad = ch.simulate_many(rows, {"x": [0, 0.3], "x'": 0}, (0, 1))
    assert list(bad.outcome) == [ch.Outcome.FINISHED, ch.Outcome.NOT_CERTIFIED]
    assert "do not satisfy the rows" in bad.message(1) and list(bad.failed) == [1]


def test_a_leap_is_told_or_not_made():
    """A smooth step of mass: v becomes 1/sqrt(3), the energy is kept."""
    step = ch.derive(ch.System("x", lagrangian="x'^2/2*(1 + tanh(1000*x)/2)"))
    motion = ch.simulate(step, {"x": -1, "x'": 1}, (0, 3))
    assert motion.outcome == "not_certified" or motion.final["x'"] == pytest.approx(1 / math.sqrt(3), abs=1e-6)


# ------------------------------------------------------------ relative balance and drift


@pytest.mark.parametrize("mass", [1e-20, 1.0, 1e20])
def test_the_balance_is_relative(mass):
    """T + V = m/2 in a spring; the absolute balance has its unit."""
    motion = ch.simulate(SPRING, START, (0, 10), parameters={"m": mass}, tolerance=1e-6)
    assert motion.scales["balance"] == pytest.approx(mass, rel=0.01)  # kinetic and potential energy, and that at the start
    assert motion.balance == pytest.approx(motion.balance_absolute / motion.scales["balance"])
    assert np.abs(motion.balance).max() == pytest.approx(motion.drift["balance"])
    assert motion.drift_absolute["balance"] == pytest.approx(np.abs(motion.balance_absolute).max())
    assert 1e-9 < motion.drift["balance"] < 1e-5


def test_a_row_of_round_off_is_measured_by_what_is_usual():
    """y' = 0 along a motion in x: nothing but zeros and round-off in the row."""
    line = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - x^2/2 - cos(x + y)/7", kinematic=["y' = 0"])
    motion = ch.simulate(ch.derive(line, ch.DAlembert()), {"x": 1, "y": 0.1, "x'": 0.5}, (0, 10))
    assert motion.drift["kinematic[0]"] < 1e-15


def test_magnitudes_of_terms():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    rows = [x - y, x * y - 3 * x**2, ca.sin(x) / y, ca.exp(-y) - 2]
    found = ca.Function("sizes", [x, y], [ca.vertcat(*magnitudes(rows))])(-2.0, 0.5)
    expected = [2.5, 13.0, (math.sin(2) + 2 * abs(math.cos(2))) / 0.5, 1.5 * math.exp(-0.5) + 2]
    assert np.array(found).ravel() == pytest.approx(expected)


# ------------------------------------------------------------ verify


def test_verify_does_not_divide_round_off_by_round_off():
    """A platform on three ropes that only translates: the rotation stays at round-off."""
    ropes = [
        f"(x + {a}*A11 + {b}*A12 - {a})^2 + (y + {a}*A21 + {b}*A22 - {b})^2 + (z + {a}*A31 + {b}*A32 - 2)^2 = 4"
        for a, b in (("1", "1"), ("1", "(-1)"), ("(-1)", "1"))
    ]
    platform = ch.System(
        {"A": "SO3 body", "x": "line", "y": "line", "z": "line"},
        "m J g",
        lagrangian="m/2*(x'^2 + y'^2 + z'^2) + J/2*(A1'^2 + A2'^2 + 2*A3'^2) - m*g*z",
        kinematic=ropes,
    )
    rest = {"A": np.eye(3), "A1'": 0, "A2'": 0, "A3'": 0, "x": 0, "y": 0, "z": 0, "x'": 0.7, "y'": 0.2, "z'": 0}
    motion = ch.simulate(ch.derive(platform, ch.DAlembert()), rest, (0, 2), parameters={"m": 1, "J": 0.5, "g": 9.81})
    assert motion.outcome == "finished"
    assert motion.verify().worst < 1e-6


def test_verify_looks_into_every_step():
    motion = ch.simulate(SPRING, START, (0, 200), parameters={"m": 1}, tolerance=1e-12)
    found = motion.verify(points=10)
    assert found.points == len(motion.t) - 1 > 200
    assert motion.verify(points=2000).points == 2000


@pytest.mark.parametrize(("given", "missing"), [({}, ()), ({"keep": "final"}, ()), ({"method": ch.Implicit()}, ("defect",))])
def test_the_certificate_says_what_was_not_looked_at(given, missing):
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2")), {"x": 1, "x'": 0}, (0, 2), **given)
    assert motion.certificate.missing == missing
    assert ("defect    not checked" in str(motion.certificate)) == bool(missing)


def test_given_output_times_have_all_figures():
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2")), {"x": 1, "x'": 0}, [0, 1, 2])
    assert motion.certificate.missing == ()


@pytest.mark.parametrize(
    ("drive", "of_time"),
    [
        ("exp(-sqrt(1 + (100*(t - 2))^2))", lambda t: np.exp(-np.sqrt(1 + (100 * (t - 2)) ** 2))),
        ("1e8*cos(100*t)", lambda t: 1e8 * np.cos(100 * t)),
        ("((x + 3*sin(90*t))^2 - x^2 - 6*x*sin(90*t))/2", lambda t: 4.5 * np.sin(90 * t) ** 2),
    ],
)
def test_a_function_of_time_alone_in_the_lagrangian_spoils_no_certificate(drive, of_time):
    """It changes no equation, the energy by its own value, and the work by the same; x = cos(t)."""
    motion = ch.simulate(ch.derive(ch.System("x", lagrangian=f"x'^2/2 - x^2/2 + {drive}")), {"x": 1, "x'": 0}, t=(0, 5))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(np.cos(5), abs=1e-7)
    assert motion.energy == pytest.approx(0.5 - of_time(motion.t), rel=1e-12, abs=1e-7)
    assert np.abs(motion.balance).max() < 1e-8


def test_kapitza_at_its_equilibrium_with_the_drive_in_the_lagrangian_is_certified():
    pivot = "(a'^2 + 2*0.1*50*a'*sin(50*t)*sin(a) + (0.1*50)^2*sin(50*t)^2)/2 - 9.81*(cos(a) + 0.1*cos(50*t))"
    motion = ch.simulate(ch.derive(ch.System("a", lagrangian=pivot)), {"a": 0, "a'": 0}, t=(0, 5))
    t = motion.t
    assert motion.outcome == "finished"
    assert motion.energy == pytest.approx(9.81 * (1 + 0.1 * np.cos(50 * t)) - 12.5 * np.sin(50 * t) ** 2, abs=1e-12)


def test_the_energy_with_a_function_of_time_is_no_first_integral():
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2 + cos(t)"))
    with pytest.raises(ch.UsageError, match="energy"):
        ch.simulate(equations, {"x": 1, "x'": 0}, t=(0, 1), conserve="energy")


def test_a_function_of_time_under_herglotz_stays_in_the_balance():
    """s' = L, and L_s = -0.1 damps: the energy obeys E' = -f'(t) - 0.1 E."""
    system = ch.System("x", lagrangian="x'^2/2 - x^2/2 + sin(t) - 0.1*s", action="s")
    motion = ch.simulate(ch.derive(system, ch.Herglotz()), {"x": 1, "x'": 0, "s": 0}, t=(0, 5))
    t = motion.t
    assert motion.outcome == "finished"
    assert np.abs(motion.balance).max() < 1e-7
    fed = (np.exp(0.1 * t) * (0.1 * np.cos(t) + np.sin(t)) - 0.1) / 1.01
    assert motion.energy == pytest.approx(np.exp(-0.1 * t) * (0.5 - fed), abs=1e-7)


@pytest.mark.parametrize("read_otherwise", [False, True])
def test_the_balance_is_relative_to_the_terms_of_the_energy_beside_a_large_angle(read_otherwise):
    """z grows to 2e5: the term cos(z) is at most 1 all the same, and x and y have sizes of their own."""
    energy = "(x'^2 + y'^2 + z'^2)/2 - (x^2 + y^2)/2 + cos(z) - sin(2*z)/4"
    equations = ch.derive(ch.System("x y z", lagrangian=energy, kinematic=["x' + sin(z)*y' = 0"]), ch.DAlembert())
    start = {"x": 1, "y": 0, "z": 0, "y'": 0.3, "z'": 2.5}
    events = [ch.On("z - 1e9")] if read_otherwise else []  # an angle that is read as it is, is not folded
    motion = ch.simulate(equations, start, (0, 1e5), tolerance=1e-5, keep="final", events=events)

    def terms(s):
        return (
            np.array([s["x'"] ** 2, s["y'"] ** 2, s["z'"] ** 2, s["x"] ** 2, s["y"] ** 2, -2 * np.cos(s["z"]), np.sin(2 * s["z"]) / 2]) / 2
        )

    lost = abs(terms(motion.final).sum() - terms(ch.evaluate(equations, start)).sum())
    assert lost > 0.05
    assert motion.drift["balance"] > lost / 40  # all terms together stay below 6, with the energy of the start below 9
