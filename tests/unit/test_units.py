"""Nothing depends on units: the same systems with lengths, times and masses in other units, all numbers in the text.

The right answers are those in units in which every number is of order one, scaled.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import chetaev as ch
from chetaev.core.calculus import SYMBOLIC
from chetaev.mechanics.ranks.sizes import natural_sizes


def number(v):
    """A number as it stands in a text."""
    return f"({v!r})"


def ramp(L, T, M):
    """A bead on a curve that rises at x = 3."""
    row = f"y' = 0.15*(1 + tanh(20*(x/{number(L)} - 3)))*x'"
    lagrangian = f"{number(M)}*((x'^2 + y'^2)/2 - {number(9.81 * L / T**2)}*y)"
    start = {"x": 2.4 * L, "y": 0, "x'": 2 * L / T}
    return ch.System("x y", lagrangian=lagrangian, kinematic=[row]), ch.DAlembert(), start, 0.6 * T, {"x": L, "y": L}


def sleigh(L, T, M):
    """Chaplygin's sleigh; straight ahead is steady."""
    a, m = 0.3 * L, 1.5 * M
    inertia = number(0.8 * L * L * M + m * a * a)
    lagrangian = f"{number(m)}*(x'^2 + y'^2)/2 + {number(m * a)}*th'*(y'*cos(th) - x'*sin(th)) + {inertia}*th'^2/2"
    start = {"x": 0, "y": 0, "th": 0.2, "x'": 0.9 * L / T, "th'": 0.7 / T}
    system = ch.System("x y th", lagrangian=lagrangian, kinematic=["y'*cos(th) - x'*sin(th) = 0"])
    return system, ch.DAlembert(), start, 2 * T, {"x": L, "y": L, "th": 1}


def double_pendulum(L, T, M):
    """Two rods in Cartesian coordinates."""
    g = 9.81 * L / T**2
    kinetic = f"{number(1.2 * M)}*(x1'^2 + y1'^2)/2 + {number(0.8 * M)}*(x2'^2 + y2'^2)/2"
    lagrangian = f"{kinetic} - {number(1.2 * M * g)}*y1 - {number(0.8 * M * g)}*y2"
    rows = [f"x1^2 + y1^2 = {number(L * L)}", f"(x2 - x1)^2 + (y2 - y1)^2 = {number(0.49 * L * L)}"]
    a, b = 0.9, 1.4
    x1, y1 = L * math.sin(a), -L * math.cos(a)
    x2, y2 = x1 + 0.7 * L * math.sin(b), y1 - 0.7 * L * math.cos(b)
    start = {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "x1'": 0, "y1'": 0, "x2'": 0, "y2'": 0}
    return (
        ch.System("x1 y1 x2 y2", lagrangian=lagrangian, kinematic=rows),
        ch.DAlembert(),
        start,
        T,
        dict.fromkeys(("x1", "y1", "x2", "y2"), L),
    )


def herglotz(L, T, M):
    """An oscillator that loses energy by its action."""
    S = M * L * L / T
    quadratic = f"{number(M)}*(x'^2 + y'^2)/2 - {number(M / T**2)}*x^2/2 - {number(0.3 * M / L**2 / T**2)}*x^2*y^2"
    system = ch.System("x y", lagrangian=f"{quadratic} - {number(0.2 / T)}*s - {number(0.05 / S / T)}*s^2", action="s")
    start = {"x": 0.5 * L, "y": 0.7 * L, "x'": 0.4 * L / T, "y'": -0.2 * L / T, "s": 0.3 * S}
    return system, ch.Herglotz(), start, 3 * T, {"x": L, "y": L, "s": S}


def vakonomic(L, T, M):
    """Heisenberg's system in a potential."""
    lagrangian = f"{number(M)}*(x'^2 + y'^2 + z'^2)/2 - {number(M / T**2)}*(x^2 + 2*y^2)/2"
    system = ch.System("x y z", lagrangian=lagrangian, kinematic=[f"z' = (y*x' - x*y')/{number(L)}"])
    start = {"x": 0.4 * L, "y": 0.2 * L, "z": 0.1 * L, "x'": 0.5 * L / T, "y'": 0.3 * L / T, "lambda1": 0.7 * M * L / T}
    return system, ch.Vakonomic(), start, 3 * T, {"x": L, "y": L, "z": L, "lambda1": M * L / T}


SYSTEMS = [ramp, sleigh, double_pendulum, herglotz, vakonomic]
UNITS = [(1e12, 1e-6, 1.0), (1e3, 1e-12, 1e-12), (1e-9, 1e9, 1e12), (1e-12, 1e-9, 1e9)]


def answers(made, units):
    """Verdict, accelerations and ends, in the units in which all numbers are of order one."""
    system, principle, start, end, sizes = made(*units)
    equations = ch.derive(system, principle)
    analysis = ch.analyze(equations)
    now = ch.evaluate(equations, start)
    motion, ensemble = ch.simulate(equations, start, (0, end)), ch.simulate_many(equations, [start], (0, end))
    assert motion.outcome == "finished", motion.message
    assert not len(ensemble.failed), ensemble.message(0)
    accelerations = [now[f"{q}''"] * units[1] ** 2 / size for q, size in sizes.items() if q not in ("s", "lambda1")]
    ends = [f[q] / size for f in (motion.final, {q: ensemble.final[q][0] for q in sizes}) for q, size in sizes.items()]
    return (analysis.verdict, analysis.dimension), np.array(accelerations), np.array(ends)


ordinary = cache(lambda made: answers(made, (1.0, 1.0, 1.0)))


@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize("made", SYSTEMS)
def test_every_verb_gives_the_same_in_other_units(made, units):
    verdict, accelerations, ends = answers(made, units)
    right = ordinary(made)
    assert verdict == right[0]
    assert accelerations == pytest.approx(right[1], rel=1e-8, abs=1e-8)
    assert ends == pytest.approx(right[2], abs=2e-6)


@pytest.mark.parametrize("units", UNITS, ids=str)
def test_small_oscillations_in_other_units(units):
    """Frequencies of the double pendulum: those of the angles, from det(K - w^2 M) = 0 by hand."""
    L, T, M = units
    system, principle, *_ = double_pendulum(L, T, M)
    equations = ch.derive(system, principle)
    guess = {"x1": 0.2 * L, "y1": -0.9 * L, "x2": 0.3 * L, "y2": -1.5 * L}
    rest = ch.equilibria(equations, guess)
    assert [rest[q] / L for q in ("x1", "y1", "x2", "y2")] == pytest.approx([0, -1, 0, -1.7], abs=1e-9)
    linear = ch.linearize(equations, dict(rest))
    mass = np.array([[2.0, 0.8 * 0.7], [0.8 * 0.7, 0.8 * 0.49]])
    squares = np.linalg.eigvals(np.linalg.solve(mass, 9.81 * np.diag([2.0, 0.8 * 0.7])))
    found = sorted(w.imag * T for w in linear.eigenvalues if w.imag > 0)
    assert found == pytest.approx(sorted(np.sqrt(squares)), rel=1e-8)
    assert linear.stable is None


def test_masses_of_very_different_sizes():
    equations = ch.derive(ch.System("q x", lagrangian="(q'^2 - q^2)/2 + 1e30*(x'^2 - x^2)/2"))
    motion = ch.simulate(equations, {"q": 1, "x": 1, "q'": 0, "x'": 0}, (0, 2))
    assert [motion.final["q"], motion.final["x"]] == pytest.approx([math.cos(2)] * 2, abs=1e-8)


def test_numbers_tell_their_units():
    """A pendulum of a nanometre in microseconds; what is of order one tells nothing."""
    system, principle, *_ = double_pendulum(1e-9, 1e6, 1.0)
    rows = [row.residual for row in ch.derive(system, principle).rows]
    sizes = {z.name: v for z, v in natural_sizes(rows, SYMBOLIC).items()}
    assert sizes["x1"] == pytest.approx(1e-9, rel=2)
    assert 0.1 < sizes["x1''"] / (9.81e-21) < 10
    ordinary_rows = [row.residual for row in ch.derive(*double_pendulum(1.0, 1.0, 1.0)[:2]).rows]
    assert not natural_sizes(ordinary_rows, SYMBOLIC)


@pytest.mark.parametrize("e", [1e-8, 1e-10, 1e-14])
def test_a_mass_matrix_that_is_almost_singular_is_regular(e):
    """The determinant is e/2, and not zero; at a state the digits tell the accelerations, or that they do not."""
    system = ch.System("x y", lagrangian=f"(x'^2 + y'^2)/4 + (1 - {e!r})*x'*y'/2 - x^2/2 - y^2")
    equations = ch.derive(system)
    assert ch.analyze(equations).verdict is ch.Verdict.REGULAR
    state = {"x": 0.3, "y": -0.15, "x'": 0.1, "y'": 0.1}
    if e > 1e-9:
        assert ch.evaluate(equations, state)["x''"] == pytest.approx(-0.6 / e, rel=1e-6)
    else:
        with pytest.raises(ch.StateError, match="ill-conditioned"):
            ch.evaluate(equations, state)


@pytest.mark.parametrize("e", ["1e-6", "1e-7", "1e-9", "1e-12"])
def test_rows_that_almost_depend_on_each_other_are_regular(e):
    """They are independent: y' = 0, whatever e; single motions and ensembles say the same about the digits of a state."""
    rows = ["x' = y' + 0.3*z'", f"x' = (1 + {e})*y' + 0.3*z'"]
    equations = ch.derive(ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - x - y*z", kinematic=rows), ch.DAlembert())
    analysis = ch.analyze(equations)
    assert (analysis.verdict, analysis.dimension) == (ch.Verdict.REGULAR, 4)
    start = {"x": 0.3, "x'": 0.15, "y": 0.2, "y'": 0.0, "z": 0.4, "z'": 0.5}
    with pytest.raises(ch.StateError, match="ill-conditioned"):
        ch.simulate(equations, start, (0, 1))
    assert "ill-conditioned" in ch.simulate_many(equations, [start], (0, 1)).message(0)


@pytest.mark.parametrize("time", [1.0, 1e6, 1e-6])
def test_hidden_constraints_in_other_units_of_time(time):
    """(x' - y)^2/2 - x^2/2: the row of y gives x' = y, that of x then x = 0, so that nothing moves."""
    lagrangian = f"(x' - {number(1 / time)}*y)^2/2 - {number(time**-2)}*x^2/2"
    analysis = ch.analyze(ch.derive(ch.System("x y", lagrangian=lagrangian)))
    assert (analysis.verdict, analysis.dimension) == (ch.Verdict.CONSTRAINED, 0)
