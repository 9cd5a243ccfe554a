"""Order reduction, momenta, Hamiltonian, Cartan form and regularity of the class of equivalent Lagrangians."""

import pytest
import sympy
from euler_by_hand import T, d_dt, rows_of

import chetaev as ch
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.forms import contact_component, d, is_zero, wedge
from chetaev.singular.inverse.lagrangians import tonti_lagrangian
from chetaev.singular.inverse.lepage_equivalent import lepagean_equivalent


def same_rows(first, second, coordinates):
    pairs = zip(rows_of(first, coordinates), rows_of(second, coordinates), strict=True)
    return all(sympy.simplify(a - b) == 0 for a, b in pairs)


CASES = {  # Lagrangian, order of the equations, order of the minimal Lagrangian
    "already minimal": ("q", "q'^2/2 - q^2/2", 2, 1),
    "linear in the acceleration": ("q", "-q*q''/2 - q^2/2", 2, 1),
    "coupled, linear in the accelerations": ("x y", "x*x'' + (1 + y^2)*y'' + x*y", 2, 1),
    "affine and not closed": ("x y", "x''*y' + x'^2*y^2/2 - x*y^2", 3, 2),
    "third derivatives of a second-order system": ("x y", "x*y*x''' + y'^2*x - y''*x'*t", 3, 2),
    "pais-uhlenbeck with a boundary term": ("q", "(q''^2 - 3*q'^2 + 2*q^2)/2 + q*q'*q'' + t*q'''", 4, 2),
    "with functions": ("x", "x''*sin(x) + x'*exp(t*x) + 2*cos(x)*x'^2", 2, 1),
    "with a singular boundary term": ("x", "x''/x' + x'^2/2 + x'/x", 2, 1),
    "first order, regular": ("q p", "p*q' - p^2/2 - q^2/2", 1, 1),
    "no motion": ("x y", "x*y' + y*x' + x*y", 0, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_order_falls_to_the_lowest_possible_one(name):
    names, text, equations_order, order = CASES[name]
    system = ch.System(names, lagrangian=text)
    minimal = ch.reduce_order(system)
    assert (minimal.equations_order, minimal.order, minimal.minimal) == (equations_order, order, True)
    assert minimal.verified is True and same_rows(minimal.lagrangian, system.lagrangian, system.coordinates)
    assert sympy.simplify(system.lagrangian - minimal.lagrangian - d_dt(minimal.removed)) == 0


@pytest.mark.parametrize(
    "text", ["x*y' + y*x'", "2*t*x*x' + x^2", "x'*sin(y) + x*y'*cos(y) + exp(t)", "x'^2 + x*x''", "x'''*y + 3*x''*y' + 3*x'*y'' + x*y'''"]
)
def test_null_lagrangians_reduce_to_nothing(text):
    system = ch.System("x y", lagrangian=text)
    minimal = ch.reduce_order(system)
    assert minimal.lagrangian == 0 and minimal.hamiltonian == 0 and not minimal.momenta
    assert sympy.simplify(system.lagrangian - d_dt(minimal.removed)) == 0


@pytest.mark.parametrize("text", ["(1 + y^2)*x'^2/2 + y'^2 - x*y", "(1 + y^2)*x''^2/2 + y''^2 - x*y'^3", "x''*y' + x'^2*y^2/2"])
def test_the_tonti_lagrangian_has_the_order_of_the_equations_and_comes_back(text):
    x, y = ch.coordinates("x y")
    original = ch.parse(text, coordinates="x y")
    rows = rows_of(original, (x, y))
    tonti = tonti_lagrangian((x, y), rows).lagrangian
    orders = [max(z.order for e in es for z in e.free_symbols) for es in (rows, [tonti], [original])]
    assert orders[1] == orders[0] == max(2 * orders[2] - (orders[0] % 2), 2)
    minimal = ch.reduce_order(ch.System("x y", lagrangian=tonti))
    assert minimal.order == orders[2] and same_rows(minimal.lagrangian, original, (x, y))


def test_a_form_without_lagrangian_is_reduced_from_its_rows():
    form = DynamicalForm("a b", ["-2*a'' - b''*cos(a - b) - b'^2*sin(a - b) - sin(a)", "-b'' - a''*cos(a - b) + a'^2*sin(a - b)"])
    minimal = ch.reduce_order(form)
    a, b = form.coordinates
    expected = a.d() ** 2 + b.d() ** 2 / 2 + a.d() * b.d() * sympy.cos(a - b) + sympy.cos(a)
    assert minimal.order == 1 and minimal.removed is None and sympy.expand(minimal.lagrangian - expected) == 0
    again = ch.reduce_order(ch.helmholtz(form))
    assert again.order == 1 and same_rows(again.lagrangian, expected, (a, b))


def test_a_form_that_is_not_variational_is_refused():
    form = DynamicalForm("q", ["-q'' - q'"])
    for given in (form, ch.helmholtz(form)):
        with pytest.raises(ch.ModelError, match="not variational"):
            ch.reduce_order(given)


def test_momenta_and_hamiltonian():
    minimal = ch.reduce_order(ch.gallery("pais-uhlenbeck"))
    system = ch.gallery("pais-uhlenbeck").system
    q = system.coordinates[0]
    expected = {"q": "-(w1^2 + w2^2)*q' - q'''", "q'": "q''"}
    for name, text in expected.items():
        assert sympy.expand(minimal.momenta[name] - ch.parse(text, system)) == 0
    assert minimal.momenta[q.d()] == q.d(2)
    energy = "q''^2/2 - q'*q''' - (w1^2 + w2^2)*q'^2/2 - w1^2*w2^2*q^2/2"
    assert sympy.expand(minimal.hamiltonian - ch.parse(energy, system)) == 0
    with pytest.raises(KeyError):
        minimal.momenta["q''"]


@pytest.mark.parametrize("name", CASES)
def test_the_hamiltonian_changes_by_the_explicit_time_and_the_rows(name):
    """dH/dt = -dL/dt|explicit - q' E, on the jets and not only on the motion."""
    names, text, _, _ = CASES[name]
    minimal = ch.reduce_order(ch.System(names, lagrangian=text))
    coordinates = ch.System(names, lagrangian=text).coordinates
    power = sympy.Add(*[q.d() * e for q, e in zip(coordinates, rows_of(minimal.lagrangian, coordinates), strict=True)])
    assert sympy.simplify(d_dt(minimal.hamiltonian) + minimal.lagrangian.diff(T) + power) == 0


@pytest.mark.parametrize("text", ["(1 + y^2)*x'^2/2 + x'*y'*x/3 - x*y^2*t", "x''^2*(1 + y^2)/2 + y''^2*t - x*y'^3", "y*x' - x*y"])
def test_the_cartan_form(text):
    """h theta = L dt, p_1 d theta = E: theta is a Lepagean equivalent, and equivalent Lagrangians have the same d theta."""
    x, y = ch.coordinates("x y")
    lagrangian = ch.parse(text, coordinates="x y")
    equivalent = lepagean_equivalent(lagrangian, (x, y))
    along = equivalent.cartan.coefficient(T) + sympy.Add(*[p * q.d() for q, p in equivalent.momenta.items()])
    assert sympy.expand(along - lagrangian) == 0
    one = contact_component(equivalent.alpha, 1)
    expected = sum((e * (d(q) - q.d() * d(T)) for q, e in zip((x, y), rows_of(lagrangian, (x, y)), strict=True)), 0)
    assert is_zero(one - wedge(expected, d(T))) is True
    assert is_zero(d(equivalent.alpha)) is True
    gauge = lepagean_equivalent(lagrangian + d_dt(x**2 * y * T), (x, y))
    assert is_zero(gauge.alpha - equivalent.alpha) is True
    assert is_zero(gauge.cartan - equivalent.cartan) is False


REGULARITY = {  # Krupková's regularity, and the usual one
    "p*q' - p^2/2 - q^2/2": ("q p", True, False),
    "q'^2/2": ("q", True, True),
    "-q*q''/2": ("q", True, True),
    "x'^2/2 + x^2*y/2": ("x y", False, False),
    "x'*y": ("x y", True, False),
    "x'^2 + y*z'": ("x y z", False, False),
    "x''*y'": ("x y", True, False),
    "x*y' + y*x' + x^2": ("x y", False, False),
}


@pytest.mark.parametrize("text", REGULARITY)
def test_regularity_is_a_property_of_the_class(text):
    names, regular, usual = REGULARITY[text]
    minimal = ch.reduce_order(ch.System(names, lagrangian=text))
    assert minimal.regularity.regular is regular and minimal.standard_regular is usual
    assert (minimal.regularity.rank == len(names.split())) is regular
    assert (minimal.regularity.determinant != 0) is regular


def test_regularity_of_a_larger_system_rests_on_its_rank():
    minimal = ch.reduce_order(ch.gallery("chain", n=5))
    assert minimal.regularity.regular is True and minimal.regularity.determinant is None and minimal.regularity.rank == 5


def test_the_printed_answer():
    text = str(ch.reduce_order(ch.System("q", lagrangian="-q*q''/2 - q^2/2")))
    assert text == ("order 1\nL = q'^2/2 - q^2/2\n  p(q) = q'\n  H = q^2/2 + q'^2/2\n  regular: equations of order 2, det B = -1")
