"""Whether a pivot can vanish anywhere, for pivots whose zeros are known by hand."""

from __future__ import annotations

import pytest

import chetaev as ch
from chetaev.numerics.enclosures.global_bounds import may_vanish
from chetaev.numerics.flow.compiled import compile_equations


def _may(lagrangian: str, rows: list[str], values: dict[str, float], interval: tuple[float, float] = (0.0, 1.0)) -> bool:
    system = ch.System("x y z", parameters=list(values), lagrangian=lagrangian, kinematic=rows)
    flow = compile_equations(ch.derive(system, ch.DAlembert())).flow
    given = {z: (values[z.name],) * 2 for z in system.parameters}
    return may_vanish(flow, given, interval)


KINETIC = "(m*x'^2 + m*y'^2 + M*z'^2)/2"


def test_sum_of_scaled_squares_and_a_positive_number_never_vanishes() -> None:
    # the last pivot is y^2/m + 1/M up to its sign
    assert not _may(KINETIC, ["z' = y*x'"], {"m": 1.4, "M": 0.9})


@pytest.mark.parametrize("rows", [["y*z' = x*x'"], ["z'*cos(x) = y'*sin(y)"]])
def test_rows_that_vanish_somewhere(rows: list[str]) -> None:
    assert _may(KINETIC, rows, {"m": 1.4, "M": 0.9})


def test_negative_mass_makes_a_zero() -> None:
    # y^2/m - 1/3 = 0 at y = sqrt(m/3)
    assert _may(KINETIC, ["z' = y*x'"], {"m": 1.4, "M": -3.0})


def test_mass_that_decays_vanishes_at_no_finite_time() -> None:
    falling = "exp(-b*t)*(x'^2 + y'^2 + z'^2)/2"
    assert not _may(falling, [], {"b": 0.3}, (0.0, 50.0))
    assert not _may(falling, [], {"b": 0.3}, (50.0, 0.0))
    assert _may(falling, [], {"b": 0.3}, (0.0, 1e5))  # exp(-3e4) is not a double


def test_mass_that_changes_its_sign_in_an_interval_only() -> None:
    changing = "(2 - t)*(x'^2 + y'^2 + z'^2)/2"
    assert not _may(changing, [], {}, (0.0, 1.5))
    assert _may(changing, [], {}, (0.0, 2.5))
