"""A fixed sample of random systems of every kind, judged by mechanics that share no code with the library.

`python tests/fuzz/fuzz_run.py narrow units --seed 7 --count 500` draws as many as one likes and prints every failing case as a program.
"""

from __future__ import annotations

import itertools
import math

import pytest
from fuzz_judge import Judge, script, settled
from fuzz_kinds import KINDS, case
from fuzz_mechanics import Case, Mechanics, NoOpinion
from fuzz_motion import Motion

SEED = "sample"
SAMPLE = {"units": 4, "narrow": 6, "switch": 5, "leaps": 5, "amplitudes": 5}
"""Systems per kind, 2 where nothing is said: all together take about twenty seconds."""


BY_HAND = ("mixture",)
"""Kinds for longer runs: where a row has a corner, in units far from one, the reference itself crosses it with an error of 1e-7."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in BY_HAND])
def test_random_systems(kind):
    wanted, failed = SAMPLE.get(kind, 2), []
    for i in itertools.count():
        if not wanted:
            break
        assert i < 60, "the reference has an opinion on too few systems"
        try:
            judge = Judge(case(kind, SEED, i))
            findings = settled(judge.case, judge.judge())
        except NoOpinion:
            continue
        wanted -= 1
        if findings:
            failed.append("\n".join(map(str, findings)) + "\n" + script(judge.case, judge))
    assert not failed, "\n\n".join(failed)


# The reference itself, against closed forms


def test_the_reference_knows_a_ramp():
    """y' = 0.3 x' under gravity: x'' = -9.81*0.3/1.09."""
    mechanics = Mechanics(Case(("x", "y"), "x'^2/2 + y'^2/2 - 9.81*y", "dalembert", ("y' = 0.3*x'",)))
    state, moved = mechanics.consistent({("x", 0): 1.0, ("x", 1): 2.0, ("y", 0): 0.0, ("y", 1): 0.7})
    found = mechanics.solve(state)
    assert moved == [("y", 1)]
    assert [float(found[n]) for n in ("y'", "x''", "lambda1")] == pytest.approx([0.6, -9.81 * 0.3 / 1.09, 9.81 / 1.09], rel=1e-14)


def test_the_reference_knows_a_step():
    mechanics = Mechanics(Case(("x",), "x'^2/2 - x^2/2", forces={"x": "max(0, sign(t - 1))"}, t=(0.0, 3.0)))
    assert Motion(mechanics).run({("x", 0): 0.0, ("x", 1): 0.0})["x"] == pytest.approx(1 - math.cos(2), abs=1e-10)


def test_the_reference_knows_herglotz():
    """L = x'^2/2 - x^2/2 - a s: x'' + a x' + x = 0."""
    found = Mechanics(Case(("x",), "x'^2/2 - x^2/2 - 0.1*s", "herglotz", action="s")).solve({("x", 0): 0.3, ("x", 1): 0.2, ("s", 0): 0.1})
    assert [float(found["x''"]), float(found["s'"])] == pytest.approx([-0.32, -0.035], rel=1e-14)


def test_the_reference_knows_vakonomic_motion():
    """L = |q'|^2/2, z' = y x' (Heisenberg): x'' - l' y - l y' = 0, y'' + l x' = 0, z'' + l' = 0."""
    found = Mechanics(Case(("x", "y", "z"), "(x'^2 + y'^2 + z'^2)/2", "vakonomic", ("z' = y*x'",))).solve(
        {("x", 0): 0.1, ("x", 1): 0.5, ("y", 0): 0.4, ("y", 1): 0.3, ("z", 0): 0.0, ("z", 1): 0.2, ("lambda1", 0): 0.7}
    )
    value = {name: float(v) for name, v in found.items()}
    assert value["y''"] == pytest.approx(-0.7 * 0.5, rel=1e-14)
    assert value["x''"] - value["lambda1'"] * 0.4 - 0.7 * 0.3 == pytest.approx(0, abs=1e-14)
    assert value["z''"] + value["lambda1'"] == pytest.approx(0, abs=1e-14)
    assert value["z''"] == pytest.approx(0.3 * 0.5 + 0.4 * value["x''"], rel=1e-14)
