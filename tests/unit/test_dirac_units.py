"""Dirac's analysis in other units: the dimension, the classes and the constraints do not change with the unit of a coordinate or of L."""

import pytest

import chetaev as ch

FACTORS = ["1", "10^6", "10^12", "1/10^6", "1/10^12", "1/10^15"]


@pytest.mark.parametrize("c", FACTORS)
def test_a_lagrangian_with_a_large_or_small_factor(c: str) -> None:
    """By hand: p_y = 0, then 2 p_x + c x^2 = 0, then x = 0, then y = 0: only rest, all four of second class."""
    found = ch.dirac(ch.System("x y", lagrangian=f"({c})*((x' - y)^2/2 - x^2*y/2)"))
    assert (len(found.first_class), len(found.second_class), found.dimension) == (0, 4, 0)


@pytest.mark.parametrize("c", FACTORS)
def test_a_coordinate_in_another_unit(c: str) -> None:
    """z (x - c y) with y' absent: p_y = p_z = 0, z = 0 and x = c y; all of second class, and (x, p_x) are the states."""
    found = ch.dirac(ch.System("x y z", lagrangian=f"x'^2/2 + z*(x - ({c})*y)"))
    assert (len(found.first_class), len(found.second_class), found.dimension) == (0, 4, 2)


@pytest.mark.parametrize("c", FACTORS)
def test_a_gauge_system_in_another_unit(c: str) -> None:
    """(x' - c y)^2/2 is invariant under x -> x + f, y -> y + f'/c: p_y and p_x are of first class, one function is free."""
    found = ch.dirac(ch.System("x y", lagrangian=f"(x' - ({c})*y)^2/2"))
    assert (len(found.first_class), len(found.second_class)) == (2, 0)


@pytest.mark.parametrize("c", ["1", "10^6", "10^12", "1/10^12"])
def test_a_constraint_with_a_tiny_term_is_not_its_limit(c: str) -> None:
    """z (x^2 + y^2 - c^2) restricts to a circle of radius c: x, y, p_x, p_y on its tangent bundle, a dimension of 2."""
    found = ch.dirac(ch.System("x y z", lagrangian=f"(x'^2 + y'^2)/2 + z*(x^2 + y^2 - ({c})^2)"))
    assert (len(found.first_class), len(found.second_class), found.dimension) == (0, 4, 2)
