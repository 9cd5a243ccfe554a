"""Rows that contradict each other by a constant have no motion, however small it is."""

import pytest

import chetaev as ch


def verdict(rows, principle=None, **parts):
    return ch.analyze(
        ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=rows, **parts), principle or ch.DAlembert())
    ).verdict.name


@pytest.mark.parametrize("off", ["1e-12", "1e-40", "1e12"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x + y = 1", "x + y = 1 + {}"),
        ("3*x - y = 1", "6*x - 2*y = 2 + {}"),
        ("x = sin(y) + t", "2*x = 2*sin(y) + 2*t - {}"),
        ("x = y", "x' = y' + {}"),
        ("sqrt(2)*x = y", "2*x = sqrt(2)*y + {}*sqrt(2)"),
    ],
)
def test_rows_that_differ_by_a_constant(first, second, off):
    assert verdict([first, second.format(off)]) == "INCONSISTENT"


@pytest.mark.parametrize(
    "rows",
    [
        ["x + y = 1", "x + y = 1"],
        ["x + y = 0.3", "x + y = 0.1 + 0.2"],
        ["x = sqrt(2)*y + sqrt(5 + 2*sqrt(6))", "x = sqrt(2)*y + sqrt(2) + sqrt(3)"],
        ["x = y", "x' = y'"],
    ],
)
def test_redundant_rows_contradict_nothing(rows):
    assert verdict(rows) == "REGULAR"


def test_parameters_may_have_values_that_agree():
    assert verdict(["x + y = a", "x + y = b"], parameters="a b") != "REGULAR"
