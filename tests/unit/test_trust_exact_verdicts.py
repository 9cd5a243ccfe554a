"""Verdicts by exact decisions: related constants, masses without digits, ranks within round-off, products, other units."""

import numpy as np
import pytest

import chetaev as ch

ZEROS = [
    "log(6) - log(2) - log(3)",
    "atan(1/2) + atan(1/3) - pi/4",
    "asin(3/5) - atan(3/4)",
    "sqrt(5 + 2*sqrt(6)) - sqrt(2) - sqrt(3)",
    "cosh(log(2)) - 5/4",
]


@pytest.mark.parametrize("mass", ZEROS)
def test_a_mass_that_is_zero_by_an_identity_of_numbers_leaves_a_function_free_in_every_verb(mass):
    system = ch.System("x y", lagrangian=f"({mass})*x'^2/2 + y'^2/2")
    found = ch.analyze(ch.derive(system))
    assert (found.verdict, found.free_functions) == ("GAUGE", ("x",))
    tree = ch.constraint_algorithm(ch.derive(system))
    assert tree.complete and [(leaf.dimension, leaf.free_functions, leaf.constraints) for leaf in tree.leaves] == [(5, 1, ())]
    assert list(map(str, ch.dirac(system).first_class)) == ["p_x"]


@pytest.mark.parametrize("mass", ["log(6) - log(2) - log(4)", "atan(1/2) + atan(1/3) - pi/5", "sqrt(5 + 2*sqrt(6)) - sqrt(2) - sqrt(5)"])
def test_a_mass_that_is_nearly_such_an_identity_is_a_mass(mass):
    equations = ch.derive(ch.System("x y", lagrangian=f"({mass})*x'^2/2 + y'^2/2 - x"))
    assert (ch.analyze(equations).verdict, ch.analyze(equations).dimension) == ("REGULAR", 4)
    assert [leaf.free_functions for leaf in ch.constraint_algorithm(equations).leaves] == [0]


@pytest.mark.parametrize("mass", ["log(c*d) - log(c) - log(d)", "c^(d + 1) - c*c^d"])
def test_a_mass_of_parameters_without_digits_is_no_mass(mass):
    """It is zero for all parameters; evaluate once divided by its round-off: x'' = 9e15."""
    equations = ch.derive(ch.System("x y", {"c": "positive", "d": "positive"}, lagrangian=f"({mass})*x'^2/2 + y'^2/2 - x*y"))
    assert ch.analyze(equations).verdict == "UNDECIDED"
    assert not ch.constraint_algorithm(equations).leaves
    start, values = {"x": 0.3, "y": 2, "x'": 1, "y'": 1}, {"c": 3.0, "d": 1.7}
    for verb in (ch.evaluate, lambda *args, **more: ch.simulate(*args, (0, 0.5), **more)):
        with pytest.raises(ch.StateError, match="x'' is not determined"):
            verb(equations, start, parameters=values)


def test_a_branch_that_fixes_sine_and_cosine_is_found():
    """On x = 0 the cosine is 1 and the sine 0: one dimension, since their squares have the sum 1."""
    equations = ch.derive(ch.System("x y z", lagrangian="(x'^2 + y'^2)/2 + z*x*y - 0.92*x - 0.3*y + 0.2*cos(x)"))
    tree = ch.constraint_algorithm(equations)
    assert tree.complete and [leaf.dimension for leaf in tree.leaves] == [3, 3]
    assert ch.analyze(equations).verdict == "BRANCHING"


def test_a_rank_that_is_full_within_round_off_only_is_not_full():
    """The length of a curve does not change with its parameter, in any coordinates."""
    length = "sqrt((2 + u2 - u1^2)^2*D(u2 - u1^2, 1)^2 + D(u3 + 0.67*u1, 1)^2)"
    found = ch.analyze(ch.derive(ch.System("u1 u2 u3", lagrangian=f"0.31*u1'^2 - 0.96*cos(u1) + {length}")))
    assert (found.verdict, found.dimension, len(found.free_functions)) == ("GAUGE", 6, 1)


def test_a_row_that_is_a_product_is_a_union_although_the_constraint_algorithm_does_not_end():
    pendulum = "(D(u1 + 0.15*u4, 1)^2 + u2'^2)/2 - 0.94*u2 + (u3 + 0.28*u2)*((u1 + 0.15*u4)^2 + u2^2 - 1.01)"
    a, b = "(u4 + 0.11*u5)", "(u5 + 0.14*u4)"
    cross = f"(D({a}, 1)^2 + D({b}, 1)^2)/2 + (u6 + 0.31*u2)*{a}*{b} - 1.75*{a} - 0.6*{b}"
    found = ch.analyze(ch.derive(ch.System("u1 u2 u3 u4 u5 u6", lagrangian=f"{pendulum} + {cross}")))
    assert found.verdict == "BRANCHING"
    assert [(part.verdict, part.dimension) for part in found.branches] == [("CONSTRAINED", 4), ("CONSTRAINED", 4)]


UNITS = [(1.0, 1.0), (1e-9, 1e9), (1e6, 1e-6), (1e-12, 1e-12), (1e12, 1e3)]


@pytest.mark.parametrize(("length", "time"), UNITS)
def test_symmetries_do_not_depend_on_units(length, time):
    """x y and t in other units: the motion of a ball on a slope with z' = y*x', and Cawley's system."""
    x, v = 1 / length, time / length
    free = f"(({v!r}*x')^2 + ({v!r}*y')^2 + ({v!r}*z')^2)/2 - 0.4*{x!r}*z"
    rolling = ch.System("x y z", lagrangian=free, kinematic=[f"{v!r}*z' = {x!r}*y*{v!r}*x'"])
    found = ch.symmetries(ch.derive(rolling, ch.DAlembert()))
    assert sorted(str(s.fate) for s in found.found) == ["changes", "changes", "conserved", "conserved", "conserved"]
    cawley = ch.System("x y z", lagrangian=f"{v!r}*x'*{v!r}*z' + {x!r}*y*({x!r}*z)^2/2")
    assert [str(s.fate) for s in ch.symmetries(cawley).found] == ["conserved"] * 4


@pytest.mark.parametrize(("length", "time"), UNITS)
def test_manifolds_have_known_real_points_in_any_units(length, time):
    x, v = 1 / length, time / length
    kinetic = f"(({v!r}*x')^2 + ({v!r}*y')^2)/2 - 9.81*{x!r}*y"
    tree = ch.constraint_algorithm(ch.derive(ch.System("x y l", lagrangian=f"{kinetic} + l*(({x!r}*x)^2 + ({x!r}*y)^2 - 1.3)")))
    assert [(leaf.dimension, leaf.real) for leaf in tree.leaves] == [(3, "yes")]
    relativistic = ch.derive(ch.System("x y", lagrangian=f"sqrt(1 + ({v!r}*x')^2 + ({v!r}*y')^2) - 1.9*{x!r}*x"))
    assert [(leaf.dimension, leaf.real) for leaf in ch.constraint_algorithm(relativistic).leaves] == [(5, "yes")]


@pytest.mark.parametrize(("length", "time"), UNITS)
def test_a_slope_that_is_zero_far_from_a_step_is_linearized_in_any_units(length, time):
    """The slope 1 - tanh(-50000)^2 is zero in doubles, and its error bound, times the square of a speed, has no other measure."""
    v = time / length
    text = f"({v!r}*x')^2/2*(1 + tanh(100*({1 / length!r}*x - 500))/2)"
    found = ch.linearize(ch.derive(ch.System("x", lagrangian=text)), {"x": 0, "x'": 1.2 / v})
    assert np.array_equal(np.array(found.A, dtype=float), [[0, 1], [0, 0]])


def test_a_slope_whose_digits_cancel_is_refused():
    """The slope is -1e17*x^4/24 = -4167 at x = 0.001, and doubles give -4160."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 + 1e17*(cos(x) - 1 + x^2/2 - x^4/24) - x^2/2"))
    with pytest.raises(ch.StateError, match="no correct digits"):
        ch.linearize(equations, {"x": 1e-3, "x'": 0})


def test_a_value_that_would_have_to_be_zero_is_named_as_zero():
    """A pendulum at x = l is at its turning point: x' is zero there up to round-off."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - 9.81*y", kinematic=["x^2 + y^2 = 1"]), ch.DAlembert())
    with pytest.raises(ch.InitialError, match=r"x' = 0\.3 would have to be 0\."):
        ch.evaluate(equations, {"x": 1, "x'": 0.3})


def test_a_mass_that_is_zero_by_an_identity_of_arcs_is_undecided():
    """2 atan(e^x) - pi/2 = asin(tanh x). At x = -20 doubles have -1 for tanh(x), and what is left of the sum looks like a slope."""
    mass = "(2*atan(exp(x)) - pi/2 - asin(tanh(x)))"
    equations = ch.derive(ch.System("x y", lagrangian=f"x'^2/2 - x^2/2 + {mass}*y'^2/2 - y^2/2"))
    assert ch.analyze(equations).verdict == "UNDECIDED"
    row = ch.System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=[f"x' + {mass}*y = y'"])
    assert "kinematic[0]" in str(ch.derive(row, ch.DAlembert()))  # was an error of SymPy
