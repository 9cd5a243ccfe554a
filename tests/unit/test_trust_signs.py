"""Events and switches decided by formulas that lose digits in doubles: located where they are, or told; and hidden rows of ensembles."""

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chetaev as ch
from chetaev.numerics.machine.interpreter import interprets

pytestmark = pytest.mark.skipif(not interprets(), reason="programs are not interpreted here")

SPEED = 1e-3
PLACES = {
    "sin(x/L)": 0.0,
    "x^2 - L^2/4": 0.5,
    "sqrt(x^2 + L^2) - 1.1*L": math.sqrt(0.21),
    "log(1 + (x/L)^2) - 0.1": math.sqrt(math.expm1(0.1)),
    "1 - cos(x/L) - 0.3": math.acos(0.7),
}
"""Events, and the distance from zero, in units of L, at which they are."""


def free(names=""):
    return ch.derive(ch.System("x", names, lagrangian="x'^2/2"))


def root(function, guess):
    with mpmath.workdps(50):
        return mpmath.findroot(function, mpmath.mpf(guess))


def test_an_event_of_a_quotient_that_is_noise_in_doubles():
    """The exact root over the speed. In doubles the left side is zero at the start, and noise later; the second one has a series."""
    for c in (0.49999999, 0.4999):
        for text, digits in (("(cos(x) - cos(k*x))/(3*x^2) - c", True), ("(1 - cos(k*x))/(4*x^2) - c", False)):
            event, values = ch.On(text, terminal=True), {"k": 2, "c": c}
            motion = ch.simulate(free("k c"), {"x": 1e-9, "x'": SPEED}, (0, 100), parameters=values, events=[event])

            def left(x, c=c, digits=digits):
                found = (mpmath.cos(x) - mpmath.cos(2 * x)) / (3 * x**2) if digits else (1 - mpmath.cos(2 * x)) / (4 * x**2)
                return found - mpmath.mpf(c)

            right = root(left, math.sqrt((4.8 if digits else 6) * (0.5 - c)))
            assert motion.outcome == "event"
            assert motion.end[0] == pytest.approx(float((right - mpmath.mpf(1e-9)) / mpmath.mpf(SPEED)), rel=1e-8)
            assert motion.certificate.digits == digits


@pytest.mark.parametrize("keep", ["steps", "final"])
def test_an_event_at_tiny_values(keep):
    """exp(x) - 1 - x = 1e-20 at x = 1.41e-10."""
    motion = ch.simulate(free(), {"x": 0, "x'": 1e-9}, (0, 1), events=[ch.On("exp(x) - 1 - x - 1e-20", terminal=True)], keep=keep)
    right = root(lambda x: mpmath.expm1(x) - x - mpmath.mpf(10) ** -20, 1.4e-10)
    assert motion.outcome == "event" and motion.end[0] == pytest.approx(float(right / mpmath.mpf(1e-9)), rel=1e-9)


def test_a_function_that_touches_zero_is_no_event():
    """exp(x) - 1 - x is positive on both sides of zero; in doubles it is zero everywhere near."""
    motion = ch.simulate(free(), {"x": -1e-9, "x'": 1e-9}, (0, 2), events=[ch.On("exp(x) - 1 - x", terminal=True)])
    assert motion.outcome == "finished" and not motion.events


def test_events_that_do_not_stop_the_motion_are_checked_too():
    motion = ch.simulate(free(), {"x": 0, "x'": 1e-9}, (0, 1), events=["exp(x) - 1 - x - 1e-20"])
    assert motion.outcome == "finished" and [event.t for event in motion.events] == pytest.approx([math.sqrt(2) / 10], rel=1e-8)


@pytest.mark.parametrize("force", ["step((x - sin(x))/x^3 - c)", "max((x - sin(x))/x^3 - c, 0)*1e8", "sign((x - sin(k*x))/x^3 - c)"])
def test_a_switch_without_digits_is_told(force):
    """(x - sin x)/x^3 is above c for x < 8.94e-4, which doubles do not see: the motion says that it may be wrong."""
    equations = ch.derive(ch.System("x", "k c", lagrangian="x'^2/2", forces={"x": force}))
    values, start = {"k": 1, "c": 0.16666666}, {"x": 1e-7, "x'": SPEED}
    motion = ch.simulate(equations, start, (0, 2), parameters=values)
    assert motion.outcome == "not_certified"
    many = ch.simulate_many(equations, {"x": [1e-7] * 3, "x'": SPEED}, (0, 2), parameters=values)
    assert set(many.outcome) == {"not_certified"}


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(("event", "place"), [*PLACES.items(), ("x'", None)])
def test_ordinary_events_have_their_digits(event, place, unit):
    """An oscillation of amplitude L: the times of the events are known, and nothing is computed twice."""
    equations = ch.derive(ch.System("x", "L", lagrangian="x'^2/2 - x^2/2"))
    motion = ch.simulate(equations, {"x": unit, "x'": 0}, (0.0, 3.0), parameters={"L": unit}, events=[event])
    right = [] if place is None else sorted({math.acos(place), math.acos(-place)})
    assert motion.outcome == "finished" and not motion.certificate.digits and not motion.certificate.repeated
    assert [found.t for found in motion.events] == pytest.approx(right, rel=1e-8)


def test_members_of_an_ensemble_have_their_hidden_rows_checked():
    """y' = (cos(x) - cos(k x))/x^2 z' holds in doubles for y' = 0 at x = 1e-9, and in truth for y' = 3/2 z'; at x = 1 doubles have all
    digits.
    """
    system = ch.System("x y z", "k", lagrangian="(x'^2 + y'^2 + z'^2)/2", kinematic=["y' = (cos(x) - cos(k*x))/x^2*z'"])
    equations = ch.derive(system, ch.DAlembert())
    rest = {"y": 0, "z": 0, "x'": 0, "z'": 2}
    many = ch.simulate_many(equations, {"x": np.array([1e-9, 1.0, 1e-9, 0.5]), **rest}, (0, 1), parameters={"k": 2})
    assert list(many.outcome) == ["not_certified", "finished", "not_certified", "finished"]
    single = ch.simulate(equations, {"x": 1e-9, **rest}, (0, 1), parameters={"k": 2})
    assert many.message(0) == single.message
    assert many.final["y"][1] == pytest.approx(2 * (math.cos(1) - math.cos(2)), rel=1e-8)  # x rests, so y' and z' stay


@pytest.mark.parametrize("method", [ch.Implicit(), ch.Taylor()], ids=["implicit", "taylor"])
@pytest.mark.parametrize("keep", ["steps", "final"])
def test_other_methods_do_not_finish_without_digits(method, keep):
    """(cos(x) - cos(k x))/x^2 is (k^2 - 1)/2 near zero, and zero in doubles at 1e-9: the body moves, or the motion says that it may be
    wrong.
    """
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2", forces={"x": "(cos(x) - cos(k*x))/x^2"}))
    motion = ch.simulate(equations, {"x": 1e-9, "x'": 0}, (0, 0.01), parameters={"k": 3}, method=method, keep=keep)
    if isinstance(method, ch.Taylor):
        assert motion.outcome == "finished" and motion.final["x'"] == pytest.approx(0.04, rel=1e-5)
    else:
        assert motion.outcome == "not_certified" and "lose digits" in motion.message


def slope_at_the_end(x0):
    """S'' = f'(x) S for f = (cos(x) - cos(3 x))/x^2 - 4 - x = -x - 80 x^2/24 + 728 x^4/720 ..., by SciPy."""

    def rates(t, y):
        x, v, s, u = y
        return [v, -x - 80 * x**2 / 24 + 728 * x**4 / 720, u, (-1 - 80 * x / 12 + 728 * x**3 / 180) * s]

    return solve_ivp(rates, (0, 1), [x0, 0, 1, 0], rtol=1e-11, atol=1e-14).y[2, -1]


@pytest.mark.parametrize(
    ("x0", "tolerance", "outcome"), [(1e-2, 1e-9, "finished"), (3e-5, 1e-4, "finished"), (1e-5, 1e-4, "not_certified")]
)
def test_slopes_whose_digits_are_lost(x0, tolerance, outcome):
    """The force has digits enough, its derivative loses two to five more: the figure tells about how wrong the slope is."""
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2", forces={"x": "(cos(x) - cos(k*x))/x^2 - (k^2 - 1)/2 - x"}))
    start = {"x": x0, "x'": 0}
    motion = ch.simulate(equations, start, (0, 1), parameters={"k": 3}, slopes=["x"], tolerance=tolerance, max_steps=5000)
    assert motion.outcome == outcome
    off = abs(motion.slope("x", "x")[-1] - slope_at_the_end(x0))
    figure = next(figure for figure in motion.certificate.figures if figure.kind == "rounding")
    assert off <= 10 * figure.size + 10 * tolerance
    assert figure.size <= figure.allowed or "slope of" in motion.message
