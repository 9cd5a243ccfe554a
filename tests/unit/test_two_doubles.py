"""Programs in pairs of doubles: their error bounds against mpmath, and where they leave the decision to it."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import chetaev as ch
from chetaev.core.exact.program import Program
from chetaev.numerics.flow import exact_rates
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.graphs.binding import bind
from chetaev.numerics.machine.two_doubles.programs import in_two_doubles

MP = mpmath.MPContext()
MP.dps = 90


def program_of(inputs: int, *lines: tuple) -> Program:
    program = Program(inputs)
    for k in range(inputs):
        program.add(("input", k, k, None))
    for line in lines:
        program.add(line)
    return program


def rest(program: Program, slot: int, value: float, at: np.ndarray) -> tuple[float, float]:
    """What a value exceeds a double by, and the bound: the smaller number of its pair."""
    longer = Program(program.inputs, [*program.lines, ("number", -5, Fraction(value), None), ("sub", -6, slot, -5)], [-6])
    found, bounds = in_two_doubles(longer)(at)
    return float(found[0]), float(bounds[0])


FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a, b: -a,
    "sq": lambda a, b: a * a,
    "twice": lambda a, b: a + a,
    "inv": lambda a, b: 1 / a,
    "assign": lambda a, b: a,
    "sin": lambda a, b: MP.sin(a),
    "cos": lambda a, b: MP.cos(a),
    "sqrt": lambda a, b: MP.sqrt(a),
}


def test_bounds_hold_for_random_programs():
    """Every value, with both numbers of its pair, differs from that of mpmath by less than its bound, and most have 30 digits."""
    draw, checked, sharp = random.Random(11), 0, 0
    for _ in range(60):
        at = np.array([draw.uniform(-3, 3) for _ in range(3)])
        right = {k: MP.mpf(float(x)) for k, x in enumerate(at)} | {3: MP.mpf(7) / 11, 4: +MP.pi}
        program = program_of(3, ("number", 3, Fraction(7, 11), None), ("constant", 4, "pi", None))
        for slot in range(5, 30):
            name, a, b = draw.choice(list(FUNCTIONS)), draw.randrange(slot), draw.randrange(slot)
            if (name == "sqrt" and right[a] <= 0) or (name == "div" and not right[b]) or (name == "inv" and not right[a]):
                name = "neg"
            if abs(right[a]) > 1e6 or abs(right[b]) > 1e6:
                name, a, b = "sin", 0, 0
            program.add((name, slot, a, b))
            right[slot] = FUNCTIONS[name](right[a], right[b])
        program.outputs = list(range(30))
        found, bounds = in_two_doubles(program)(at)
        for slot, value in right.items():
            if np.isfinite(bounds[slot]):
                more, bound = rest(program, slot, float(found[slot]), at)
                assert abs(MP.mpf(float(found[slot])) + MP.mpf(more) - value) <= 2 * bound + 1e-29 * abs(more)
                checked, sharp = checked + 1, sharp + (bounds[slot] <= 1e-28 * abs(value))
    assert checked > 1500 and sharp > 0.9 * checked


@pytest.mark.parametrize("x", [0.3, -0.7, 1.6, -3.2, 10.0, -1234.5, 1e5, 355.0, -355.0, 1e-12])
def test_sine_and_cosine_in_all_quarters(x):
    """355 is near 113 pi: the sine has 5 digits less, and its sign is that of the argument's remainder."""
    program = program_of(1, ("sin", 1, 0, None), ("cos", 2, 0, None))
    program.outputs = [1, 2]
    found, bounds = in_two_doubles(program)(np.array([x]))
    for slot, right in ((0, MP.sin(MP.mpf(x))), (1, MP.cos(MP.mpf(x)))):
        assert found[slot] == float(right)
        more, bound = rest(program, slot + 1, float(found[slot]), np.array([x]))
        assert abs(MP.mpf(float(found[slot])) + MP.mpf(more) - right) <= bound <= 1e-29
        assert bounds[slot] <= 1e-29


def test_what_bounds_leave_open():
    """Cancellation beyond the digits, divisors around zero, roots of what may be negative, huge arguments, and numbers near underflow."""
    program = program_of(
        2,
        ("number", 2, Fraction(10**40), None),
        ("add", 3, 0, 2),
        ("sub", 4, 3, 2),  # 0.75, of which nothing is left
        ("sub", 5, 0, 0),
        ("div", 6, 0, 5),
        ("sub", 7, 5, 4),
        ("sqrt", 8, 7, None),
        ("sin", 9, 2, None),
        ("mul", 10, 1, 1),
        ("inv", 11, 4, None),
    )
    program.outputs = [4, 5, 6, 8, 9, 10, 11]
    found, bounds = in_two_doubles(program)(np.array([0.75, 1e-200]))
    assert bounds[0] >= 0.75 and (found[1], bounds[1]) == (0.0, 0.0)
    assert not (bounds[[2, 3, 4, 6]] < 1e300).any()
    assert bounds[5] >= 1e-290


def test_what_is_left_of_terms_that_cancelled_is_divided():
    """3*(1/3) - 1 is zero with a doubt, and a number near underflow has no digits: quotients are zero, and bounds cover the true ones."""
    program = program_of(
        2,
        ("number", 2, Fraction(1, 3), None),
        ("number", 3, Fraction(3), None),
        ("mul", 4, 2, 3),
        ("number", 5, Fraction(1), None),
        ("sub", 6, 4, 5),
        ("div", 7, 6, 0),
        ("div", 8, 1, 3),
        ("add", 9, 7, 0),
        ("div", 10, 9, 3),
    )
    program.outputs = [7, 8, 10]
    found, bounds = in_two_doubles(program)(np.array([-0.125, 3e-260]))
    assert abs(found[0]) <= bounds[0] <= 1e-28
    assert abs(MP.mpf(3e-260) / 3 - MP.mpf(found[1])) <= bounds[1] <= 1e-259
    assert found[2] == -0.125 / 3 and bounds[2] <= 1e-28


def test_residuals_of_rows_need_few_digits_beside_their_terms():
    """A row that vanishes but for round-off is compared with its terms: the last digits of what is left do not matter."""
    system = ch.System("x y z", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["y' = (1 - cos(x))/x^2*z'", "x*x' + y*z' = 0"])
    compiled = compile_equations(ch.derive(system, ch.DAlembert()))
    rows = exact_rates.exact_rows(compiled, bind(system, {}, None, "test"))
    state = {"x": 1e-9, "y": 0.3, "z": -2.0, "x'": 0.7, "y'": 0.0, "z'": 1.6}
    y = np.array([state[z.name] for z in compiled.flow.state])
    usual = np.array([2.0 + k for k in range(len(y))])
    size = {z.name: float(u) for z, u in zip(compiled.flow.state, usual, strict=True)}
    found = rows.relative(0.0, y, np.zeros(len(compiled.flow.arguments) + 1), usual, 1e-8)
    # slopes: y' - (1 - cos x)/x^2 z' by x, z', y'; x x' + y z' by all four, to leading order in x
    by_x = 1e-9 / 12 * 1.6
    first = 0.5 * 1.6 / (by_x * size["x"] + 0.5 * size["z'"] + size["y'"])
    second = abs(1e-9 * 0.7 + 0.3 * 1.6) / (0.7 * size["x"] + 1e-9 * size["x'"] + 1.6 * size["y"] + 0.3 * size["z'"])
    np.testing.assert_allclose(found, [first, second], rtol=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("row", "value", "right"), [("(1 - cos(c))/c^2", 1e-9, False), ("1/2 - 2*c", 0.25, True)])
def test_a_row_of_jets_that_have_no_size_is_compared_with_nothing(row, value, right):
    """At rest at the origin y' = 1/2 would begin, but doubles compute (1 - cos(c))/c^2 as zero."""
    system = ch.System("x y", "c", lagrangian="(x'^2 + y'^2)/2", kinematic=[f"y' = {row}"])
    run = ch.simulate(ch.derive(system, ch.DAlembert()), {"x": 0, "y": 0, "x'": 0, "y'": 0}, (0, 1), parameters={"c": value})
    assert (run.outcome, run.certificate.ok) == (("finished", True) if right else ("not_certified", False))


def test_other_functions_are_left_to_many_digits():
    assert in_two_doubles(program_of(1, ("exp", 1, 0, None))) is None
    assert in_two_doubles(program_of(1, ("power", 1, 0, Fraction(1, 3)))) is None


def test_powers_and_slots_with_negative_numbers():
    """Programs store results in slots below zero; -3.5^3 has a sign."""
    program = program_of(1, ("power", -1, 0, Fraction(3)), ("power", -2, 0, Fraction(1)), ("mul", -2, -2, -1))
    program.outputs = [-1, -2]
    found, bounds = in_two_doubles(program)(np.array([-3.5]))
    assert found.tolist() == [-42.875, 150.0625] and (bounds < 1e-28).all()


def test_rates_of_a_chain_have_the_digits_of_mpmath(monkeypatch):
    """Six links: rates in pairs of doubles are those of mpmath, to the last bit, and no check needs mpmath's."""
    n = 6
    theta = [f"theta{k}" for k in range(1, n + 1)]
    ends = [[" + ".join(f"{f}({a})" for a in theta[:k]) for f in ("sin", "cos")] for k in range(1, n + 1)]
    energy = " + ".join(f"m/2*l^2*(D({x}, 1)^2 + D({y}, 1)^2) + m*g*l*({y})" for x, y in ends)
    system = ch.System(" ".join(theta), "m l g", lagrangian=energy)
    equations = ch.derive(system)
    compiled, given = compile_equations(equations), {"m": 1.5, "l": 0.7, "g": 9.81}
    exact = exact_rates.exact_rates(compiled, bind(equations.system, given, None, "test"))
    y = np.array([(0.2 if "'" in z.name else -0.3) * k + 0.4 for k, z in enumerate(compiled.flow.state)])
    p = np.array([*[given[z.name] for z in compiled.flow.arguments], 0.0])
    asked = []
    with_enough_digits = exact_rates.with_enough_digits
    monkeypatch.setattr(exact_rates, "with_enough_digits", lambda *given: asked.append(1) or with_enough_digits(*given))
    quick = exact(0.0, y, p)
    assert quick is not None and not asked
    exact._quick = None
    assert quick.tolist() == exact(0.0, y, p).tolist() and asked
