"""Motions that are right and must say so, and one that cannot be: switches at once, ramps from rest, poles, far pulses, sharp rows."""

from math import cos, cosh, pi, sin, sqrt

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.methods.accuracy import Accuracy
from chetaev.numerics.methods.sizes import Sizes


def _free(force: str, **options: object) -> ch.Trajectory:
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": force}))
    return ch.simulate(equations, {"x": 0, "x'": 0}, **options)


@pytest.mark.parametrize("apart", ["1e-11", "1e-12", "3e-13", "1e-14"])
def test_switches_closer_than_roots_are_located_are_both_made(apart: str) -> None:
    """Two ramps that begin at t = 2, nearly: x = (t - 2)^3/3."""
    force = f"step(t - 1) - step(t - 1 - {apart}) + max(0, t - 2) + max(0, t - 2 - {apart})"
    motion = _free(force, t=(0, 3))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(1 / 3, abs=1e-10)


@pytest.mark.parametrize("tolerance", [1e-13, 1e-15])
def test_a_ramp_from_rest_is_followed_at_tight_tolerances(tolerance: float) -> None:
    """The round-off of t - 1/3 is that of the velocity, and the only error of the coordinate."""
    motion = _free("max(0, t - 1/3)", t=(0, 1), tolerance=tolerance)
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx((2 / 3) ** 3 / 6, rel=1e-12)


def test_a_planet_that_almost_falls_into_its_sun_comes_back_in_time() -> None:
    """Kepler's equation in 30 digits; energies of 2e8 on the way hide an error of 0.03 in one of order 1."""
    equations = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)"))
    motion = ch.simulate(equations, {"x": 1, "y": 0, "x'": 0, "y'": 1e-4}, (0, 3))
    assert motion.outcome == "finished" and motion.certificate.repeated
    assert motion.final["x"] == pytest.approx(0.6565373679673671, abs=1e-3)


def test_it_does_not_come_back_wrong_whatever_is_kept() -> None:
    """After nine passages at the distance 5e-9 it is off by 0.5, which only the energy at the end tells. Kepler's equation."""
    equations, times = ch.derive(ch.System("x y", lagrangian="(x'^2 + y'^2)/2 + 1/sqrt(x^2 + y^2)")), np.linspace(0, 20, 5)
    start = {"x": 1, "y": 0, "x'": 0, "y'": 1e-4}
    for motion in (ch.simulate(equations, start, (0, 20), keep="final"), ch.simulate(equations, start, times)):
        assert motion.outcome == "not_certified" or abs(motion.final["x"] - 0.9999753) < 1e-2
    ensemble = ch.simulate_many(equations, {**start, "y'": [1e-4, 1e-3]}, (0, 20))
    assert list(ensemble.outcome) == ["not_certified", "finished"]


def test_what_round_off_beside_a_pole_leaves_is_told() -> None:
    """The turning point is 1.4e-12 before the pole, where x - 1 has four digits."""
    equations = ch.derive(ch.System("x", "k", lagrangian="x'^2/2 - k/(x - 1)^2"))
    motion = ch.simulate(equations, {"x": 0, "x'": 1}, (0, 3), parameters={"k": 1e-24})
    assert motion.outcome == "not_certified" or abs(motion.final["x"] + 1) < 1e-4


def test_energies_that_vanish_at_the_end_are_no_evidence() -> None:
    """x = 1 - cos(t) over one period: the energy is zero, and so are all of its terms at both ends."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2 + x"))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 2 * pi))
    assert motion.outcome == "finished" and not motion.certificate.repeated
    assert abs(motion.final["x"]) < 1e-8


def test_a_pulse_far_beyond_the_range_of_its_denominator_reaches_a_body_at_rest() -> None:
    r"""$\int a/(\pi\cosh a s)\,e^{i s}\,ds = 1/\cosh(\pi/2a)$."""
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "200/pi/cosh(200*(t - 2))"}))
    motion = ch.simulate(equations, {"x": 0, "x'": 0}, (0, 3))
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(sin(1) / cosh(pi / 400), abs=1e-7)


@pytest.mark.parametrize("x", [349.0, 351.0, -360.0, 600.0])
def test_quotients_fall_on_where_their_denominators_end(x: float) -> None:
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2", forces={"x": "1/cosh(x)"}))
    assert ch.evaluate(equations, {"x": x, "x'": 0})["x''"] == pytest.approx(1 / cosh(x), rel=1e-12, abs=0)


def test_a_series_begins_where_a_cosine_overflows() -> None:
    equations = ch.derive(ch.System("x", lagrangian="x'^2/2 - x^2/2", forces={"x": "1/cosh(1000*(x - 5))"}))
    motion = ch.simulate(equations, {"x": 1, "x'": 0}, (0, 3), method=ch.Taylor())
    assert motion.outcome == "finished"
    assert motion.final["x"] == pytest.approx(cos(3), abs=1e-9)


@pytest.mark.parametrize(
    ("expression", "direction", "times"),
    [
        ("step(q - 5) - 1/2", 0, [4.9]),
        ("step(q - 5) - 1/2", -1, []),
        ("piecewise(q - 5, q - 7, q - 3)", 1, [4.9]),
        ("piecewise(q - 5, sqrt(5 - q), 7 - q)", -1, [6.9]),
        ("step(q - 5)*(q - 7)", 0, [6.9]),
        ("step(sin(q)) - 1/2", -1, [pi - 0.1, 3 * pi - 0.1]),
    ],
)
def test_events_may_jump(expression: str, direction: int, times: list[float]) -> None:
    equations = ch.derive(ch.System("q", lagrangian="q'^2/2"))
    motion = ch.simulate(equations, {"q": 0.1, "q'": 1}, (0, 12), events=[ch.On(expression, direction=direction)])
    assert motion.outcome == "finished"
    assert [event.t for event in motion.events] == pytest.approx(times, abs=1e-9)


def test_a_row_that_turns_at_once_is_met() -> None:
    """A groove whose slope rises from 0 to 0.6 within 1e-5: the speed along it stays 1, and y = 0.6 (x - 50) beyond."""
    equations = ch.derive(
        ch.System("x y", lagrangian="(x'^2 + y'^2)/2", kinematic=["y' = (3/10*tanh(1e5*(x - 50)) + 3/10)*x'"]), ch.DAlembert()
    )
    motion = ch.simulate(equations, {"x": 0, "y": 0, "x'": 1}, (0, 60))
    assert motion.outcome == "finished"
    assert motion.final["x'"] == pytest.approx(1 / sqrt(1.36), abs=1e-8)
    assert motion.final["y"] == pytest.approx(0.6 * 10 / sqrt(1.36), abs=1e-4)


def test_sizes_do_not_fall_below_what_has_digits() -> None:
    measures = Accuracy(1e-9, 0.0, {}).measures((), 2)
    sizes = Sizes(measures, lambda _t, _y: np.zeros(2), 0.0, np.zeros(2), 1.0, np.zeros(2))
    sizes.remember(np.array([5e-324, 1e-318]))
    assert np.all(sizes.absolute > 0)
