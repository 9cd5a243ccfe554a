"""Enclosures: bounds over a box hold at every point of it, and a step does not leap over what the user wrote."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Expr

import chetaev as ch
from chetaev.core.functions import Magnitude, Maximum, Minimum
from chetaev.core.symbols import TIME, Coordinate
from chetaev.numerics.enclosures.kernels import bounds_kernel, nodes_kernel
from chetaev.numerics.flow.compiled import compile_equations

X, Y = Coordinate("x"), Coordinate("y")
FREE = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2"))


def _tube(flow, low, high, slow, fast, times=(0.0, 1.0)):
    """A tube with bounds for the positions x, y and for their velocities; accelerations are zero."""
    lows, highs = (dict(zip((X, Y, X.d(), Y.d()), (*a, *b), strict=True)) for a, b in ((low, slow), (high, fast)))
    state = flow.state
    rows = [[lows[z] for z in state], [highs[z] for z in state], [lows.get(z.d(), 0) for z in state], [highs.get(z.d(), 0) for z in state]]
    return np.concatenate([*rows, times])


EXPRESSIONS = {
    "sin(3*x) + cos(x*y)": sympy.sin(3 * X) + sympy.cos(X * Y),
    "tan(x/2)": sympy.tan(X / 2),
    "exp(-(x - y)^2)": sympy.exp(-((X - Y) ** 2)),
    "1/(x^2 + 1)": 1 / (X**2 + 1),
    "1/(x - 3)^3": (X - 3) ** -3,
    "(x^2 + y^2)^(-3/2)": (X**2 + Y**2) ** sympy.Rational(-3, 2),
    "(x^2 + 1)^(1/3)": (X**2 + 1) ** sympy.Rational(1, 3),
    "x^3*y - x^4": X**3 * Y - X**4,
    "tanh(5*x) - atan(y)": sympy.tanh(5 * X) - sympy.atan(Y),
    "sinh(x)*cosh(y)": sympy.sinh(X) * sympy.cosh(Y),
    "asinh(x)": sympy.asinh(X),
    "atan2(y, x)": sympy.atan2(Y, X),
    "2^(x*y/4)": 2 ** (X * Y / 4),
    "abs(x - y) + min(x, y^2) + max(x, 1)": Magnitude(X - Y) + Minimum(X, Y**2) + Maximum(X, 1),
    "exp(-t)*x + t^2": sympy.exp(-TIME) * X + TIME**2,
}


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        (sympy.log(X + 1), -1, np.inf),
        (sympy.asin(X / 2) * Y, -2, 2),
        (sympy.acos(X), -1, 1),
        (sympy.acosh(X + 2), -1, np.inf),
        (sympy.atanh(X), -1, 1),
        (sympy.sqrt(X) + Y, 0, np.inf),
        (X ** sympy.Rational(-1, 3) * sympy.log(4 - X), 0, 4),
    ],
)
def test_functions_that_end_somewhere_have_bounds_where_they_have_values(expression: Expr, low: float, high: float) -> None:
    """Beyond the end of their domain there is no value, and no bound may hide that: none at all where a box lies beyond, none of the rate
    where some of it does.
    """
    flow = compile_equations(FREE).flow
    kernel, known = bounds_kernel(flow, [expression], {})
    assert known == (True,) and kernel is not None
    value = sympy.lambdify([X, Y], expression, modules="math")
    random = np.random.default_rng(8)
    kinds = set()
    for _ in range(200):
        first = random.uniform(-4, 6)
        last = first + random.uniform(0.01, 3)
        below, above, slowest, fastest = kernel(0.0, _tube(flow, (first, -0.5), (last, 0.7), (1, 0), (1, 0)), [0.0])
        kinds.add((beyond := last < low or first > high, inside := low <= first and last <= high))
        assert (not below <= above) == beyond
        assert inside or beyond or (slowest, fastest) == (-np.inf, np.inf)
        for x in [] if beyond else random.uniform(max(first, low), min(last, high), 10):
            found = value(x, y := random.uniform(-0.5, 0.7))
            assert below - 1e-12 * abs(below) - 1e-14 <= found <= above + 1e-12 * abs(above) + 1e-14
            d = 1e-7
            if inside and low < x - d and x + d < high:
                rate = (value(x + d, y) - value(x - d, y)) / (2 * d)
                assert slowest - 1e-4 * (1 + abs(rate)) <= rate <= fastest + 1e-4 * (1 + abs(rate))
    assert len(kinds) == 3


@pytest.mark.parametrize("expression", EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_bounds_hold_at_every_point_of_a_box(expression: Expr) -> None:
    """Values by SymPy, rates by differences of them along straight lines inside the box."""
    flow = compile_equations(FREE).flow
    kernel, known = bounds_kernel(flow, [expression], {})
    assert known == (True,) and kernel is not None
    value = sympy.lambdify([TIME, X, Y], _plain(expression), modules="math")
    random = np.random.default_rng(7)
    for _ in range(40):
        low = random.uniform(-2.5, 2, 2)
        high = low + random.uniform(0, 1.5, 2) * random.integers(0, 2)
        slow = random.uniform(-2, 1, 2)
        fast = slow + random.uniform(0, 1, 2)
        below, above, slowest, fastest = kernel(0.0, _tube(flow, low, high, slow, fast), [0.0])
        for _ in range(20):
            t, (x, y), (u, v) = random.uniform(), random.uniform(low, high), random.uniform(slow, fast)
            found = value(t, x, y)
            assert below - 1e-12 * abs(below) - 1e-14 <= found <= above + 1e-12 * abs(above) + 1e-14
            d = 1e-6
            rate = (value(t + d, x + d * u, y + d * v) - value(t - d, x - d * u, y - d * v)) / (2 * d)
            if math.isfinite(slowest + fastest):
                room = 1e-5 * (1 + abs(rate) + abs(slowest) + abs(fastest))
                assert slowest - room <= rate <= fastest + room


def _plain(e: Expr) -> Expr:
    """The expression with SymPy's own corners, which its printers know."""
    return e.replace(Magnitude, sympy.Abs).replace(Minimum, sympy.Min).replace(Maximum, sympy.Max)


def test_bounds_of_functions_that_can_surprise_are_tight() -> None:
    """The largest and smallest absolute value over a box, against extremes found with many digits."""
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - exp(-(x - 500)^2) - 1/(x - 1)^2 - tanh(1000*y) - x^7")
    flow = compile_equations(ch.derive(system)).flow
    nodes = nodes_kernel(flow, {})
    assert nodes.kernel is not None and not nodes.left_out
    bounds = nodes.kernel(0.0, _tube(flow, (2, -0.4), (705, 0.5), (1, 0), (1, 0)), [0.0]).reshape(2, -1).T
    found = dict(zip(map(str, nodes.enclosed), bounds, strict=True))
    assert found["exp(-(x - 500)**2)"] == pytest.approx([1.0, 0.0])
    assert found["(x - 1)**(-2)"] == pytest.approx([2.0, 2.0 / 704**3])
    assert found["tanh(1000*y)"] == pytest.approx([1.0, float(1 / mpmath.cosh(500) ** 2)])
    assert found["x**7"] == pytest.approx([705.0**7, 2.0**7])


def test_a_box_with_a_pole_has_no_bound() -> None:
    system = ch.System("x y", lagrangian="(x'^2 + y'^2)/2 - 1/(x - 1) - log(y) - tan(x*y)")
    flow = compile_equations(ch.derive(system)).flow
    kernel = nodes_kernel(flow, {}).kernel
    assert kernel is not None
    assert np.all(np.isinf(kernel(0.0, _tube(flow, (0.5, -0.1), (20.0, 0.1), (1, 0), (1, 0)), [0.0])[:3]))


def test_sines_polynomials_and_corners_need_no_enclosure() -> None:
    system = ch.System("x y", "k", lagrangian="(x'^2 + y'^2*cos(x)^2)/2 - k*abs(x) - x^4 - sin(y)/k^2")
    nodes = nodes_kernel(compile_equations(ch.derive(system)).flow, {})
    assert nodes.kernel is None and nodes.enclosed == () and nodes.left_out == ()
