"""Rational functions of parameters against SymPy's: the same values, in lowest terms, whatever the denominators are."""

import random
from fractions import Fraction

import pytest
import sympy
from sympy import symbols
from sympy.polys.domains import QQ

from chetaev.core.exact.quotients import rational_functions

NAMES = symbols("a b c")
OURS, SYMPYS = rational_functions(NAMES), QQ.frac_field(*NAMES)
A, B, C = OURS.field.gens
BELOW = [
    "1",
    "3",
    "a",
    "a*b",
    "a + b",
    "(a + b)**2",
    "a - b",
    "a**2 + b**2",
    "a**2 + a*b + c**2",
    "2*a*c - 3",
    "(a + b)*(a - 2*c)",
    "-b - a",
]


def drawn(draw: random.Random) -> sympy.Expr:
    """A quotient with numbers, monomials and products below, in which factors often agree with those of others."""
    monomials = [1, *NAMES, NAMES[0] * NAMES[1], NAMES[2] ** 2]
    above = sum(sympy.Rational(draw.randint(-4, 4), draw.choice([1, 2, 3])) * m for m in draw.sample(monomials, 3))
    return draw.choice([1, 1, *map(sympy.sympify, BELOW)]) * above / sympy.sympify(draw.choice(BELOW))


def same(ours: object, sympys: object) -> bool:
    return (
        ours.numer.set_ring(SYMPYS.field.ring) * sympys.denom == sympys.numer * ours.denom.set_ring(SYMPYS.field.ring)  # type: ignore[attr-defined]
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_sequence_of_operations_has_the_value_that_sympy_finds(seed: int) -> None:
    """Sums, differences, products, quotients and powers; after each the quotient is in lowest terms with a monic denominator."""
    draw = random.Random(seed)
    ours, sympys = OURS.one, SYMPYS.one
    for _ in range(25):
        written = drawn(draw)
        mine, theirs = OURS.from_sympy(written), SYMPYS.from_sympy(written)
        operation = draw.choice(["+", "-", "*", "/", "**", "reverse"])
        if operation == "+":
            ours, sympys = ours + mine, sympys + theirs
        elif operation == "-":
            ours, sympys = ours - mine, sympys - theirs
        elif operation == "*":
            ours, sympys = ours * mine, sympys * theirs
        elif operation == "/" and mine:
            ours, sympys = ours / mine, sympys / theirs
        elif operation == "**" and mine:
            n = draw.choice([0, 2, -1, -2])
            ours, sympys = ours + mine**n, sympys + theirs**n
        elif operation == "reverse":
            ours, sympys = 3 - ours, 3 - sympys
        assert same(ours, sympys)
        assert ours.denom.LC == 1
        assert ours.numer.gcd(ours.denom).is_ground or not ours
        if len(ours.numer) > 30:
            ours, sympys = OURS.one, SYMPYS.one


def test_equal_quotients_are_equal_objects_with_equal_hashes() -> None:
    """However they were made: with other factors, signs and numbers above and below."""
    forms = [
        (A - B) / (2 * A),
        (B - A) / (-2 * A),
        1 / (2 * A / (A - B)),
        OURS.one / 2 - B / (2 * A),
        OURS.from_sympy((A - B).as_expr() / (2 * NAMES[0])),
    ]
    assert len({hash(f) for f in forms}) == len(set(forms)) == 1
    assert all(f == forms[0] for f in forms)
    assert A / A == OURS.one == 1
    assert not A - A
    assert (A - A).denom == 1
    assert (A**2 - B**2) / (A - B) == A + B


def test_elements_of_another_field_of_the_same_parameters() -> None:
    """Each field numbers the factors of its denominators; numbers of one mean nothing in another."""
    other = rational_functions(NAMES).field.gens
    first, second = 1 / (A + B), 1 / (other[0] - other[2])
    expected = OURS.from_sympy(1 / (NAMES[0] + NAMES[1]) + 1 / (NAMES[0] - NAMES[2]))
    assert first + second == expected
    assert second + first == expected
    assert first * second == OURS.from_sympy(1 / (NAMES[0] + NAMES[1]) / (NAMES[0] - NAMES[2]))
    assert first / second == OURS.from_sympy((NAMES[0] - NAMES[2]) / (NAMES[0] + NAMES[1]))


@pytest.mark.parametrize(
    "operation", [lambda: A / (B - B), lambda: (A - A) ** -1, lambda: 1 / (A - A), lambda: OURS.field.new(A.numer, (A - A).numer)]
)
def test_zero_is_no_divisor(operation: object) -> None:
    """As for numbers."""
    with pytest.raises(ZeroDivisionError):
        operation()  # type: ignore[operator]


def test_numbers_that_are_multiples_of_the_prime() -> None:
    """Coefficients may vanish, or have no value, in the finite field where divisors are looked for."""
    prime = 2**31 - 1
    for factor in (Fraction(prime), Fraction(1, prime)):
        number = OURS.convert(QQ(factor.numerator, factor.denominator))
        whole = (A + number * B) * (A - B)
        assert whole / (A - B) == A + number * B
        assert whole / (A + number * B) == A - B
        assert (whole / (A + B)).denom == (A + B).numer
