"""What a row, a residual or a figure is about is data; its text is only printed."""

from __future__ import annotations

import pickle

import pytest

import chetaev as ch
from chetaev.core.certificate import Certificate, Figure, SignOf
from chetaev.mechanics.origins import Consequence, RowLabel, Stated, Variation
from chetaev.numerics.motion.storage import reading, writing
from chetaev.numerics.motion.verification.labels import Check
from chetaev.plot.manifolds import _relations

SLEIGH = ch.System(
    "x y theta", lagrangian="(x'^2 + y'^2 + theta'^2)/2", kinematic={"blade": "y'*cos(theta) = x'*sin(theta)"}, name="sleigh"
)
START = {"x": 0, "y": 0, "theta": 0, "x'": 1, "theta'": 1}


def test_a_figure_about_a_sign_is_told_by_its_subject():
    """A row may be called `sign of x`; lost digits of an event are another fact."""
    event, row = (Certificate((Figure("rounding", 1.0, 0.1, subject),)) for subject in (SignOf("x - 1"), "sign of x"))
    assert event.sentence.startswith("an event or a switch is decided by lost digits") and "(sign of x - 1)" in event.sentence
    assert not row.sentence.startswith("an event or a switch")
    for found in (event, row):
        assert pickle.loads(pickle.dumps(found)).sentence == found.sentence  # noqa: S301 - made here
        stored = Certificate(tuple(reading._figure(*writing._figure(figure)) for figure in found.figures))
        assert stored == found and stored.sentence == found.sentence


def test_residuals_say_what_they_compare():
    found = ch.simulate(ch.derive(SLEIGH, ch.DAlembert()), START, (0, 1)).verify()
    checks = {str(label): label.check for label in found}
    assert checks["nodes"] is Check.NODES and checks["rate of x"] is Check.RATE and checks["blade"] is Check.CONSTRAINT
    assert checks["E_x"] is Check.EQUATION and checks["work of δtheta"] is Check.WORK
    origins = {str(label): label.origin for label in found if label.origin is not None}
    assert origins["blade"] == Stated("blade") and origins["E_theta"] == Variation("theta")
    copied = pickle.loads(pickle.dumps(found))  # noqa: S301 - made here
    assert [label.check for label in copied] == list(checks.values())
    assert found["blade"].largest < 1e-12


def test_a_report_names_the_check_of_a_named_row(tmp_path):
    model = ch.Model(SLEIGH, ch.DAlembert(), start=START, t=(0, 1))
    page = str(ch.report(model).html)
    assert page.count(Check.CONSTRAINT.value) == 1 and page.count(Check.EQUATION.value) == 3


def test_a_picture_of_manifolds_typesets_formulas_and_no_names_of_rows():
    """A row may have a name without brackets, which is no formula."""
    hidden = ch.analyze(ch.derive(SLEIGH, ch.DAlembert())).hidden
    assert hidden == ("blade",) and isinstance(hidden[0], RowLabel)
    assert _relations(hidden) == ["blade = 0"]
    assert _relations(["x1^2"])[0].startswith("$") and "neq" in _relations(["x1"], holds=False)[0]


def test_a_contradiction_knows_the_origins_of_its_rows():
    """x' = y and x' = z make y' = z', which y' = 1, z' = 0 contradict; the consequence is explained whatever rows are called."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic={"one": "x' = y", "consequence": "x' = z"})
    with pytest.raises(ch.InitialError) as found:
        ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": 0, "x'": 1, "y": 1, "z": 2, "y'": 1, "z'": 0})
    assert found.value.origins == (Stated("one"), Stated("consequence"), Consequence("consequence[0]"))
    assert found.value.why.count("follows from") == 1 and found.value.rows == ("one", "consequence", "consequence[0]")
