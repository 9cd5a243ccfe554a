"""Verdicts and free data do not depend on units, on total derivatives, nor on which multiple of a row is written."""

import pytest

import chetaev as ch


def verdict(coordinates, lagrangian, kinematic=(), principle=None):
    system = ch.System(coordinates, lagrangian=lagrangian, kinematic=list(kinematic))
    return ch.analyze(ch.derive(system, principle or ch.Hamilton()))


SCALES = ["1e-12", "1e-6", "1", "1e9", "1e12"]


@pytest.mark.parametrize("k", SCALES)
def test_a_force_of_any_size_on_a_coordinate_without_inertia_allows_no_motion(k):
    """E_q is the number -k, which never vanishes."""
    assert verdict("p q", f"p'^2/2 + {k}*q").verdict is ch.Verdict.INCONSISTENT


@pytest.mark.parametrize("k", SCALES)
def test_a_free_function_is_free_in_any_units(k):
    """Both rows say p' = k*q up to a constant, so q is free: k*k is 1e24, which no double is, beside the product of two doubles."""
    found = verdict("p q", f"(p' - {k}*q)^2/2")
    assert (found.verdict, found.dimension, len(found.free_functions)) == (ch.Verdict.GAUGE, 3, 1)


@pytest.mark.parametrize("k", SCALES)
def test_a_weak_coupling_beside_an_oscillator_is_a_constraint(k):
    """E_p - E_q: k (p - q) = 0; then p'' follows, r is free to oscillate: p p' r r'."""
    found = verdict("p q r", f"(p' + q')^2/2 + {k}*p*q + r'^2/2 - r^2/2")
    assert (found.verdict, found.dimension) == (ch.Verdict.CONSTRAINED, 4)


@pytest.mark.parametrize("factor", ["x", "x^2", "sin(x)"])
@pytest.mark.parametrize("k", SCALES)
def test_a_multiple_of_a_row_that_vanishes_somewhere_is_no_branch(k, factor):
    """Both rows hold where k f x' = 0: x' = 0, and motions with f = 0 have x' = 0 too; x y z y' are free."""
    found = verdict("x y z", "(x'^2 + y'^2 + z'^2)/2", ["z' = x*y'", f"z' = x*y' + {k}*{factor}*x'"], ch.DAlembert())
    assert (found.verdict, found.dimension) == (ch.Verdict.REGULAR, 4)


@pytest.mark.parametrize("gauge", ["", " + p'*q + p*q'", " + cos(p)*p'*q + sin(p)*q'"])
def test_a_total_derivative_does_not_hide_the_units(gauge):
    """A sphere of 1e-9: the terms of the total derivative cancel in the rows, and no unit of time explains them beside the rest."""
    found = verdict("p q r", f"1e18*(p'^2 + q'^2 + r'^2)/2 - 1250*r{gauge}", ["1e18*((5/4*p - q/2)^2 + q^2 + r^2) = 1"], ch.DAlembert())
    assert (found.verdict, found.dimension) == (ch.Verdict.REGULAR, 4)


@pytest.mark.parametrize(("length", "time"), [(1.0, 1.0), (1e-12, 1.0), (1e12, 1.0), (1.0, 1e-12), (1e-9, 1e-6), (1e6, 1e9)])
def test_free_data_do_not_depend_on_units(length, time):
    """The same jets are free, as many as the dimension says."""
    sleigh = verdict(
        "x y th", f"(x'^2 + y'^2)/2 + {0.8 * length**2}/2*th'^2", [f"y'*cos(th) - x'*sin(th) = {0.3 * length}*th'"], ch.DAlembert()
    )
    assert sleigh.free_data == ("x", "x'", "y", "y'", "th")
    spherical = [f"x^2 + y^2 = {length**2}", "x*x' + y*y' = 0"]
    redundant = verdict("x y z", f"(x'^2 + y'^2 + z'^2)/2 - {length / time**2}*z", spherical, ch.DAlembert())
    assert redundant.free_data == ("x", "x'", "z", "z'")
    rope = [f"x^2 + y^2 = {length**2}", f"(z - x)^2 + (w - y)^2 = {2 * length**2}", f"(z - {length})^2 + w^2 = {3 * length**2}"]
    loop = verdict("x y z w", f"(x'^2 + y'^2 + z'^2 + w'^2)/2 - {length / time**2}*(y + w)", rope, ch.DAlembert())
    assert (loop.verdict, loop.free_data) == (ch.Verdict.REGULAR, ("x", "x'"))


@pytest.mark.parametrize("k", SCALES)
def test_free_data_of_branches_are_as_many_as_their_dimension(k):
    """E_q: p'^2 = 2/q^2 k^2 leaves p, q and q'; E_q of k p'^2/2 + q^2 p: q p = 0 leaves p and p'."""
    conformal = verdict("p q", f"({k}*p')^2/2*q + 1/q")
    assert (conformal.verdict, conformal.dimension, len(conformal.free_data)) == (ch.Verdict.GAUGE, 3, 3)
    double = verdict("p q", f"{k}*p'^2/2 + q^2*p")
    assert (double.verdict, double.free_data) == (ch.Verdict.CONSTRAINED, ("p", "p'"))


@pytest.mark.parametrize("mass", ["0", "(sin(x)^2 + cos(x)^2 - 1)", "(exp(x + y) - exp(x)*exp(y))", "(0.1 + 0.2 - 0.3)"])
def test_a_free_coordinate_counts_the_same_however_its_mass_vanishes(mass):
    """Nothing restricts z: it is a free function, and z and z' are values of a state as those of x and y."""
    found = verdict("x y z", f"(x'^2 + y'^2)/2 + {mass}*z'^2/2")
    assert (found.verdict, found.dimension, found.free_functions) == (ch.Verdict.GAUGE, 6, ("z",))
    assert found.free_data == ("x", "x'", "y", "y'", "z", "z'")


OPEN = [
    "cos(4*atan(x)) - (1 - 6*x^2 + x^4)/(1 + x^2)^2",
    "log(2 + sqrt(3)) + log(2 - sqrt(3))",
    "acos(x) + asin(x) - pi/2",
]
"""Identities that exact arithmetic does not know: the values are zero, and nothing proves it."""


@pytest.mark.parametrize("mass", OPEN)
def test_a_mass_without_a_single_digit_makes_nothing_regular(mass):
    assert verdict("x y z", f"(x'^2 + y'^2)/2 + ({mass})*z'^2/2").verdict is ch.Verdict.UNDECIDED


@pytest.mark.parametrize(
    "mass",
    [
        "log(6) - log(2) - log(3)",
        "2^x - exp(x*log(2))",
        "sin(2)^2 + cos(2)^2 - 1",
        "sqrt(2)*sqrt(3) - sqrt(6)",
        "sqrt(3 + 2*sqrt(2)) - 1 - sqrt(2)",
    ],
)
def test_functions_of_numbers_are_no_doubles(mass):
    """Each is zero: z is free, and no digit of a double is a mass."""
    found = verdict("x y z", f"(x'^2 + y'^2)/2 + ({mass})*z'^2/2")
    assert (found.verdict, found.dimension) == (ch.Verdict.GAUGE, 6)


@pytest.mark.parametrize("mass", ["tanh(20*(x - 3)) + 1", "exp(-(100*x)^2)", "cos(1.5707963267948966)", "exp(-800*(1 + x^2))", "1e-320"])
def test_a_mass_far_below_one_is_a_mass(mass):
    found = verdict("x y z", f"(x'^2 + y'^2)/2 + ({mass})*z'^2/2")
    assert (found.verdict, found.dimension) == (ch.Verdict.REGULAR, 6)


@pytest.mark.parametrize("x", [0.3, 0.37, 0.73])
def test_round_off_of_a_mass_gives_no_acceleration(x):
    """The mass of z is zero by an identity that is not known; z'' = -(x + 2 z)/0 has no value."""
    mass = "cos(4*atan(x)) - (1 - 6*x^2 + x^4)/(1 + x^2)^2"
    equations = ch.derive(ch.System("x y z", lagrangian=f"(x'^2 + y'^2)/2 + ({mass})*z'^2/2 - z*x - z^2"))
    with pytest.raises(ch.StateError, match="z'' is not determined"):
        ch.evaluate(equations, {"x": x, "y": 0.2, "z": 0.1, "x'": 0.1, "y'": 0.2, "z'": 0.3})


@pytest.mark.parametrize("factor", ["abs(x)^2 - x^2", "log(6) - log(2) - log(3)", *OPEN])
def test_no_row_is_called_nonholonomic_because_of_a_zero(factor):
    """With the factor zero the row is z' = 0, which is integrable; that it is not is never said."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=[f"z' = ({factor})*y*x'"])
    assert ch.classify(system).integrable is not False


@pytest.mark.parametrize(
    "factor", ["log(x*y) - log(x) - log(y)", "log(x^2*y) - 2*log(x) - log(y)", "log(y*z/x) - log(y) - log(z) + log(x)"]
)
def test_a_jet_that_cancels_is_not_set_to_a_value_outside_the_domain(factor):
    """The factor is zero for positive x, y, z, and has no value at x = 0: z' = 0 and y'' = 0."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2 - 9*z", kinematic=[f"z' = ({factor})*y'"])
    now = ch.evaluate(ch.derive(system, ch.DAlembert()), {"x": 3.1, "y": 0.2, "z": 0.3, "x'": 0.5, "y'": 0.4})
    assert [now["z'"], now["y''"], now["lambda1"]] == pytest.approx([0, 0, 9], abs=1e-12)
