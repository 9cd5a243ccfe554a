"""Exterior calculus: the laws every form obeys, with random polynomial coefficients, and values computed by hand."""

import itertools
import pickle
import random
from fractions import Fraction

import pytest
import sympy

import chetaev as ch
from chetaev.core.errors import UsageError
from chetaev.core.symbols import TIME, Parameter
from chetaev.core.values import Arithmetic, Tape
from chetaev.singular.forms import (
    Form,
    VectorField,
    as_form,
    bracket,
    cleared,
    d,
    equal,
    interior,
    is_zero,
    lie_derivative,
    pull_back,
    wedge,
    zero_form,
)

X, Y = ch.coordinates("x y")
EXACT = Arithmetic(Fraction, None, {}, pow)
VARIABLES = (X, Y, X.d(), Y.d(), TIME)
SEEDS = [1, 2, 3]


def polynomial(chance, variables=VARIABLES):
    """A random polynomial of degree at most 3."""
    return sympy.Add(*[chance.randint(-4, 4) * sympy.Mul(*chance.choices(variables, k=chance.randint(0, 3))) for _ in range(4)])


def form(chance, degree, variables=VARIABLES):
    blades = list(itertools.combinations(variables, degree))
    return Form(degree, {blade: polynomial(chance, variables) for blade in chance.sample(blades, min(5, len(blades)))})


def field(chance, variables=VARIABLES):
    return VectorField({z: polynomial(chance, variables) for z in variables})


def none_at_points(form):
    """Zero at two exact random points: for polynomials as good as an expansion, and faster."""
    tape = Tape(form.terms.values())
    chance = random.Random(8)
    points = [{z: Fraction(chance.randint(-60, 60), 7) for z in tape.symbols} for _ in range(2)]
    return not any(any(tape(point, EXACT)) for point in points)


# ---- by hand ----------------------------------------------------------------------------------------------------------------------


def test_products_stand_in_order_with_the_sign_of_the_permutation():
    assert Form(2, {(TIME, X): 3}) == Form(2, {(X, TIME): -3})
    assert Form(3, {(TIME, X.d(), X): 1}) == Form(3, {(X, X.d(), TIME): -1})
    assert Form(3, {(X.d(), TIME, X): 1}).coefficient(X, X.d(), TIME) == 1
    assert Form(2, {(X, X): 5}) == zero_form(2)
    assert Form(2, {(X, Y): X, (Y, X): X}) == zero_form(2)


def test_the_derivative_of_a_plane_one_form_is_its_curl():
    p, q = X**2 * sympy.sin(Y), X * Y**3
    assert d(p * d(X) + q * d(Y)).coefficient(X, Y) == Y**3 - X**2 * sympy.cos(Y)


def test_three_dimensions_give_the_divergence():
    x, y, z = ch.coordinates("x y z")
    flux = x**2 * wedge(d(y), d(z)) + x * y * wedge(d(z), d(x)) + z**3 * wedge(d(x), d(y))
    assert d(flux).map(sympy.expand) == Form(3, {(x, y, z): 2 * x + x + 3 * z**2})


def test_values_on_fields_are_determinants():
    chance = random.Random(5)
    ones = [form(chance, 1) for _ in range(3)]
    fields = [field(chance) for _ in range(3)]
    a, b, c = ([one(x) for x in fields] for one in ones)
    sarrus = sum(a[i] * (b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3]) for i in range(3))
    assert none_at_points(as_form(wedge(*ones)(*fields) - sarrus))
    assert not none_at_points(as_form(wedge(*ones)(*fields) + sarrus))


def test_parameters_are_constants_and_inputs_functions_of_time():
    m, u = Parameter("m"), ch.inputs("u")
    assert d(m) == zero_form(1)
    assert d(m * u * X) == Form(1, {(X,): m * u, (TIME,): m * X * u.d()})
    assert is_zero(d(d(u * X**2))) is True
    assert VectorField({TIME: 1, X: X.d()})(u * X) == u.d() * X + u * X.d()
    with pytest.raises(UsageError, match="changes the time"):
        pull_back(u * d(X), {TIME: 2 * TIME})


def test_zero_has_three_answers():
    identity = sympy.sin(X) ** 2 + sympy.cos(X) ** 2 - 1
    assert is_zero(identity * d(Y)) is True
    assert is_zero((identity + X) * d(Y)) is False
    hard = sympy.asin(X) + sympy.acos(X) - sympy.pi / 2
    assert is_zero(hard * d(Y)) is None
    assert cleared(identity * d(Y) + X * d(X)) == X * d(X)
    assert equal(d(X * Y), X * d(Y) + Y * d(X)) is True


def test_misuse_is_explained():
    with pytest.raises(UsageError, match="no sum"):
        d(X) + wedge(d(X), d(Y))
    with pytest.raises(UsageError, match="has another degree"):
        Form(2, {(X,): 1})
    with pytest.raises(UsageError, match="2 vector fields"):
        d(X)(VectorField({X: 1}), VectorField({Y: 1}))
    with pytest.raises(TypeError):
        d(X) * d(Y)
    with pytest.raises(UsageError, match="'x' where an expression is needed"):
        d("x")
    assert 0.1 * d(X) == sympy.Rational(1, 10) * d(X)


def test_forms_are_values():
    some = form(random.Random(1), 2)
    assert pickle.loads(pickle.dumps(some)) == some  # noqa: S301
    assert hash(some) == hash(some + zero_form(2))
    with pytest.raises(TypeError):
        some.terms[(X, Y)] = 1


def test_forms_are_written_as_on_paper():
    m = Parameter("m")
    theta = m * X.d() * d(X) - (m * X.d() ** 2 / 2 + X) * d(TIME)
    assert str(theta) == "m*x'*dx + (-m*x'^2/2 - x)*dt"
    assert str(-wedge(d(X), d(TIME))) == "-dx∧dt"
    assert str(d(X.d(4))) == "d(D(x, 4))"
    assert str(zero_form(2)) == "0"
    assert (m * wedge(d(X), d(X.d()))).latex() == r"m\, d x \wedge d \dot{x}"
    assert VectorField(
        {X: -(X.d() ** 2), TIME: 1}
    ).latex() == r"- \dot{x}^{2}\, \frac{\partial}{\partial x} + \frac{\partial}{\partial t}".replace("- ", "-", 1)


# ---- laws -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_d_twice_is_zero(seed, degree):
    some = form(random.Random(seed), degree)
    assert d(some).terms
    assert none_at_points(d(d(some)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2)])
def test_products_and_derivatives(seed, p, q):
    chance = random.Random(seed)
    a, b, x = form(chance, p), form(chance, q), field(chance)
    assert none_at_points(wedge(a, b) - (-1) ** (p * q) * wedge(b, a))
    assert none_at_points(d(wedge(a, b)) - wedge(d(a), b) - (-1) ** p * wedge(a, d(b)))
    if p:
        assert none_at_points(interior(x, wedge(a, b)) - wedge(interior(x, a), b) - (-1) ** p * wedge(a, interior(x, b)))
    assert none_at_points(lie_derivative(x, wedge(a, b)) - wedge(lie_derivative(x, a), b) - wedge(a, lie_derivative(x, b)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_cartans_formula_is_the_derivative_along_the_flow(seed, degree):
    """The flow is z + e X^z + O(e^2); the pull-back along it, differentiated at e = 0, needs no more."""
    chance = random.Random(seed)
    some, x, e = form(chance, degree), field(chance), Parameter("e")
    moved = pull_back(some, {z: z + e * c for z, c in x.items()})
    assert none_at_points(moved.map(lambda c: c.diff(e).subs(e, 0)) - lie_derivative(x, some))


def test_the_lie_derivative_along_an_exact_flow():
    e = Parameter("e")
    rotation = {X: X * sympy.cos(e) - Y * sympy.sin(e), Y: X * sympy.sin(e) + Y * sympy.cos(e)}
    some = X**2 * d(Y) + X * Y * d(X)
    derivative = lie_derivative({X: -Y, Y: X}, some)
    along = pull_back(some, rotation).map(lambda c: c.diff(e)) - pull_back(derivative, rotation)
    assert is_zero(along) is True


@pytest.mark.parametrize("seed", SEEDS)
def test_fields_form_a_lie_algebra_that_acts_on_forms(seed):
    chance = random.Random(seed)
    few = VARIABLES[:3]
    x, y, z = (
        VectorField({v: chance.randint(-3, 3) * few[k - 1] * few[k] + chance.randint(1, 3) for k, v in enumerate(few)}) for _ in range(3)
    )
    jacobi = bracket(x, bracket(y, z)) + bracket(y, bracket(z, x)) + bracket(z, bracket(x, y))
    assert all(sympy.expand(c) == 0 for c in jacobi.values())
    some = form(chance, 1, few)
    commutator = lie_derivative(x, lie_derivative(y, some)) - lie_derivative(y, lie_derivative(x, some))
    assert none_at_points(commutator - lie_derivative(bracket(x, y), some))
    without_coordinates = x(some(y)) - y(some(x)) - some(bracket(x, y))
    assert sympy.expand(d(some)(x, y) - without_coordinates) == 0
    assert none_at_points(interior(x, interior(x, form(chance, 2, few))))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_pull_back_is_natural(seed, degree):
    chance = random.Random(seed)
    few = (X, Y, TIME)
    a, b = form(chance, degree, few), form(chance, 1, few)
    first = {X: X * Y, Y: Y + TIME**2, TIME: TIME}
    second = {X: X - 2 * TIME, Y: X * Y + 1, TIME: 3 * TIME}
    assert none_at_points(pull_back(d(a), first) - d(pull_back(a, first)))
    assert none_at_points(pull_back(wedge(a, b), first) - wedge(pull_back(a, first), pull_back(b, first)))
    composed = {z: f.xreplace(second) for z, f in first.items()}
    assert none_at_points(pull_back(pull_back(a, first), second) - pull_back(a, composed))
