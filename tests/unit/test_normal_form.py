"""The normal form that a principle returns is checked when it is made, and the message is in the words of its author."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import Action, Multiplier, delta
from chetaev.mechanics.principles import Lowered
from chetaev.mechanics.principles.base import multipliers

CART = ch.System(
    "x theta",
    "k",
    lagrangian="x'^2/2 - x'*theta'*cos(theta) + theta'^2 - cos(theta)",
    kinematic=["x' = theta"],
    inputs={"u": "sin(t)"},
    name="cart",
)
X, THETA = CART.coordinates
L = CART.lagrangian
FIRST, SECOND = multipliers(2)
START = {"x": 0.0, "theta": 0.1, "theta'": 0.2}


class Returning(ch.Principle):
    """A principle that returns what a test gives it."""

    word = "returning"

    def __init__(self, made):
        self.made = made

    def rewrite(self, system):
        return self.made(system)

    def __str__(self):
        return "Returning()"


def along_x(coefficient, lagrangian=L, costates=()):
    return Returning(lambda system: Lowered(system, lagrangian, {FIRST: {X: coefficient}}, costates))


def force(principle):
    """The reaction on x: whatever the coefficient, it has to hold x' = theta."""
    return ch.evaluate(ch.derive(CART, principle), START, parameters={"k": 1})["lambda1"]


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (2.5, sympy.Rational(5, 2)),
        (0.1, sympy.Rational(1, 10)),
        (sympy.Float(0.1), sympy.Rational(1, 10)),
        (sympy.Float("0.1", 40), sympy.Rational(1, 10)),
        (np.float64(0.1), sympy.Rational(1, 10)),
        (np.int64(2), sympy.Integer(2)),
        (Fraction(1, 3), sympy.Rational(1, 3)),
        (2.5 * sympy.cos(THETA), sympy.Rational(5, 2) * sympy.cos(THETA)),
        (sympy.exp(0.5 * THETA), sympy.exp(THETA / 2)),
        (sympy.Symbol("k"), CART.parameters[0]),
        (sympy.Symbol("theta"), THETA),
    ],
    ids=str,
)
def test_numbers_become_exact_and_symbols_those_of_the_system(given, exact):
    found = Lowered(CART, L, {FIRST: {X: given}}).reactions[FIRST][X]
    assert found == exact and not found.has(sympy.Float)
    value = exact.xreplace({CART.parameters[0]: sympy.S.One, THETA: sympy.Rational(1, 10)})
    assert force(along_x(given)) == pytest.approx(force(along_x(1)) / float(value), rel=1e-12)


def test_a_float_in_the_lagrangian_becomes_exact():
    """5/2 L with the reaction 1: the multiplier is 5/2 times that of L, and the acceleration is the same."""
    whole, other = (ch.evaluate(ch.derive(CART, p), START, parameters={"k": 1}) for p in (along_x(1), along_x(1, 2.5 * L)))
    assert other["theta''"] == pytest.approx(whole["theta''"], rel=1e-12)
    assert other["lambda1"] == pytest.approx(2.5 * whole["lambda1"], rel=1e-12)


def test_expressions_of_the_library_stay_the_same_objects():
    factored = sympy.Mul(2, X + THETA, evaluate=False)
    lowered = Lowered(CART, L, {FIRST: {X: factored}})
    assert lowered.lagrangian is L and lowered.reactions[FIRST][X] is factored


def test_corner_functions_of_sympy_become_those_of_the_notation():
    """E_theta gains +sign(theta) = 1 on the right: 2 theta'' grows by one."""
    plain, bent = (ch.evaluate(ch.derive(CART, p), START, parameters={"k": 1}) for p in (along_x(1), along_x(1, L + sympy.Abs(THETA))))
    assert bent["theta''"] - plain["theta''"] == pytest.approx(0.5, rel=1e-12)


REFUSED = {
    "foreign symbol": (along_x(sympy.Symbol("w")), "the coefficient of x in the row of lambda1 cannot be read: w: unknown name"),
    "parameter of another system": (along_x(ch.Parameter("m")), "m: unknown name"),
    "coordinate of another system": (along_x(1, L + ch.Coordinate("z").d() ** 2), "the Lagrangian cannot be read: z: unknown name"),
    "multiplier without a role": (along_x(1, L + SECOND * X.d()), "the Lagrangian contains lambda2, which is no multiplier"),
    "multiplier in a row": (along_x(SECOND), "the coefficient of x in the row of lambda1 contains lambda2, which is no multiplier"),
    "derivative of a reaction's multiplier": (along_x(FIRST.d()), "contains lambda1'.  The multiplier of a reaction is no part"),
    "reaction's multiplier in the Lagrangian": (along_x(1, L + FIRST * X), "lambda1 has a reaction and stands in the Lagrangian"),
    "infinity": (along_x(sympy.oo), "this has no finite value"),
    "infinite float": (along_x(float("inf")), "inf is not a finite number"),
    "nan": (along_x(1, sympy.nan), "the Lagrangian has no meaning, nan: this has no finite value"),
    "imaginary unit": (along_x(sympy.I * THETA), "this is not real"),
    "root of a negative number": (along_x(sympy.Pow(-2, sympy.Rational(1, 3))), "this is not real"),
    "unknown function": (along_x(1, L + sympy.besselj(0, THETA)), "besselj is not in the notation"),
    "variation": (along_x(delta(THETA)), "a variation stands only in variational rows"),
    "text": (along_x("theta"), "is given as str: 'theta' is not an expression"),
    "truth value": (along_x(True), "is given as bool"),
    "complex number": (along_x(1j), "is given as complex"),
    "matrix": (along_x(1, sympy.Matrix([[1]])), "the Lagrangian is given as"),
    "costate that occurs nowhere": (along_x(1, costates=(SECOND,)), "the costate lambda2 does not occur in the Lagrangian"),
    "costate twice": (along_x(1, L + SECOND * X, (SECOND, SECOND)), "a costate is named twice"),
    "single costate": (along_x(1, L + SECOND * X, SECOND), "costates are given as Multiplier"),
    "name of a coordinate": (Returning(lambda s: Lowered(s, L, {Multiplier("x"): {X: 1}})), "the multiplier x has the name of another"),
    "key that is a text": (Returning(lambda s: Lowered(s, L, {FIRST: {"x": 1}})), "acts on 'x', which is not a coordinate"),
    "key that is a velocity": (Returning(lambda s: Lowered(s, L, {FIRST: {X.d(): 1}})), "acts on x', which is not a coordinate"),
    "row as a list": (Returning(lambda s: Lowered(s, L, {FIRST: [1, 0]})), "the row of lambda1 is given as list"),
    "rows as a list": (Returning(lambda s: Lowered(s, L, [{X: 1}])), "reactions are given as list, not by multiplier"),
    "action of another system": (Returning(lambda s: Lowered(s, L, {}, (), Action("s"))), "s is not the action variable"),
    "no system": (Returning(lambda s: Lowered("cart", L)), "'cart' is not a system"),
    "nothing": (Returning(lambda s: None), "rewrite returns NoneType, not a normal form"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_principle_can_mean_is_refused_in_its_authors_words(case):
    principle, said = REFUSED[case]
    with pytest.raises(ch.PrincipleError) as found:
        ch.derive(CART, principle)
    assert said in f"{found.value.what}  {found.value.why}"
    assert found.value.where == "derive 'cart', Returning()" and found.value.hint


def test_a_principle_inside_another_is_checked_too():
    contact = CART.replace(action="s", lagrangian="x'^2/2 + theta'^2 - s")
    with pytest.raises(ch.PrincipleError, match="rewrite returns NoneType"):
        ch.derive(contact, ch.Herglotz(Returning(lambda s: None)))
    with pytest.raises(ch.PrincipleError, match="rewrite returns int"):
        ch.derive(CART, ch.Mixed({"kinematic[0]": Returning(lambda s: 3)}))
    with pytest.raises(ch.PrincipleError, match="w: unknown name") as found:
        ch.derive(CART, ch.Mixed({"kinematic[0]": along_x(sympy.Symbol("w"))}))
    assert found.value.where == "derive 'cart', Returning()"


def test_multipliers_may_stand_in_rows_and_costates_with_primes():
    """A row with a multiplier in it: (1 + lambda1^2) lambda1 is the force that holds x' = theta."""
    m, plain = force(along_x(1 + FIRST**2)), force(along_x(1))
    assert m * (1 + m**2) == pytest.approx(plain, rel=1e-12)
    lowered = Lowered(CART, L + SECOND.d() * X, {FIRST: {X: SECOND.d()}}, (SECOND,))
    assert lowered.costates == (SECOND,)


def test_numbers_of_numpy_and_fractions_are_read_everywhere():
    system = ch.System("x", lagrangian="x'^2/2", forces={"x": np.int64(2)}, dissipation=Fraction(1, 3) * ch.Coordinate("x").d() ** 2)
    assert system.forces[system.coordinates[0]] == 2
    assert [ch.show(v) for v in (np.float64(0.1), np.int64(3), Fraction(1, 3))] == ["1/10", "3", "1/3"]
    with pytest.raises(ch.NotationError, match="inf is not a finite number"):
        ch.System("x", lagrangian="x'^2/2", forces={"x": np.inf})
