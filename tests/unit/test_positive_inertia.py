"""Mass matrices proved to be positive definite everywhere, so that no pivot vanishes: against pivots at states, and negative masses."""

from itertools import pairwise

import numpy as np
import pytest

import chetaev as ch
from chetaev.numerics.enclosures.global_bounds import may_vanish
from chetaev.numerics.enclosures.positive_inertia import positive_pivots
from chetaev.numerics.flow.compiled import compile_equations
from chetaev.numerics.flow.flow import Flow

TRAILERS = 6
"""Sixteen rows of motion and of constraints: the fewest for which a recursion is looked for."""


def _flow(system: ch.System | ch.Model) -> Flow:
    return compile_equations(ch.derive(system)).flow


def _ranges(flow: Flow, values: dict[str, float], wide: dict[str, tuple[float, float]] | None = None) -> dict:
    return {z: (wide or {}).get(z.name, (values[z.name],) * 2) for z in flow.system.equations.system.parameters}


def _pivots_at_random(flow: Flow, values: dict[str, float], states: int) -> np.ndarray:
    """The pivots at random states: a row for each."""
    draws = np.random.default_rng(3)
    p = [*[values[z.name] for z in flow.arguments], 0.0]
    return np.array([flow.pivots(0.0, draws.uniform(-4.0, 4.0, flow.size), p).full().ravel() for _ in range(states)])


def _trailer_values(**changed: float) -> dict[str, float]:
    return {**{z: float(v) for z, v in ch.gallery("trailer", n=TRAILERS).parameters.items()}, **changed}


def _reduced_inertia(values: dict[str, float], headings: np.ndarray) -> float:
    """Twice the kinetic energy at unit speed of the tractor: by hand, from axle to axle."""
    speed, found = 1.0, values["m0"]
    for k, (ahead, heading) in enumerate(pairwise(headings), start=1):
        turn = speed * np.sin(ahead - heading) / values[f"d{k}"]
        speed *= np.cos(ahead - heading)
        found += values[f"m{k}"] * speed**2 + values[f"J{k}"] * turn**2
    return float(found)


def test_trailers_are_proved() -> None:
    flow, values = _flow(ch.gallery("trailer", n=TRAILERS)), _trailer_values()
    assert len(positive_pivots(flow, _ranges(flow, values))) == 2
    assert not may_vanish(flow, _ranges(flow, values))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale: float) -> None:
    flow = _flow(ch.gallery("trailer", n=TRAILERS))
    values = {z: v * scale ** {"m": 1, "d": -1, "J": -1}[z[0]] for z, v in _trailer_values().items()}
    assert not may_vanish(flow, _ranges(flow, values))


def test_negative_mass_that_makes_a_zero_is_not_proved() -> None:
    flow, values = _flow(ch.gallery("trailer", n=TRAILERS)), _trailer_values(**{f"m{TRAILERS}": -20.0})
    straight = np.zeros(TRAILERS + 1)
    folded = np.array([1.5 * (k % 2) for k in range(TRAILERS + 1)])
    assert _reduced_inertia(values, straight) < 0 < _reduced_inertia(values, folded)  # so it vanishes between them
    assert may_vanish(flow, _ranges(flow, values))
    assert may_vanish(flow, _ranges(flow, _trailer_values(), {f"m{TRAILERS}": (-20.0, 1.0)}))
    assert not may_vanish(flow, _ranges(flow, _trailer_values(), {f"m{TRAILERS}": (0.99, 1.01)}))


def test_motion_ends_where_a_negative_mass_makes_the_inertia_vanish() -> None:
    model = ch.gallery("trailer", n=TRAILERS)
    values = _trailer_values(**{f"m{TRAILERS}": -20.0})
    equations = ch.derive(model)
    headings = [1.2 * (k % 2) for k in range(TRAILERS + 1)]
    start = {"x": 0.0, "y": 0.0, **{f"theta{k}": a for k, a in enumerate(headings)}, "x'": 1.0, "theta0'": 0.0}
    motion = ch.simulate(equations, start, (0.0, 40.0), parameters=values)
    assert motion.outcome is not ch.Outcome.FINISHED
    end = np.array([motion.final[f"theta{k}"] for k in range(TRAILERS + 1)])
    before = _reduced_inertia(values, np.array(headings))
    assert before > 0
    assert abs(_reduced_inertia(values, end)) < 0.02 * before


def _chain(masses: tuple[float, ...]) -> tuple[Flow, dict[str, float]]:
    model = ch.gallery("chain", n=len(masses))
    flow = _flow(model)
    return flow, {**{z: float(v) for z, v in model.parameters.items()}, **{f"m{k + 1}": m for k, m in enumerate(masses)}}


def test_chain_is_proved_and_its_pivots_are_positive() -> None:
    flow, values = _chain((1.0, 0.3, 2.0))
    assert not may_vanish(flow, _ranges(flow, values))
    assert (_pivots_at_random(flow, values, 200) > 0).all()


@pytest.mark.parametrize("masses", [(1.0, 0.3, -0.1), (1.0, -0.5, 0.2), (0.0, 0.3, 2.0), (1.0, 0.3, 0.0)])
def test_chain_with_a_mass_that_is_not_positive_is_not_proved(masses: tuple[float, ...]) -> None:
    flow, values = _chain(masses)
    assert not positive_pivots(flow, _ranges(flow, values))


def test_random_masses_are_proved_only_where_eigenvalues_are_positive() -> None:
    system = ch.System("q r", parameters="a b c", lagrangian="a*q'^2/2 + b*r'^2/2 + c*q'*r'*cos(q - r) - c*sin(q)")
    flow, draws, proved = _flow(system), np.random.default_rng(1), 0
    for a, b, c in draws.uniform(-1.0, 2.0, (200, 3)):
        shown = bool(positive_pivots(flow, _ranges(flow, {"a": a, "b": b, "c": c})))
        proved += shown
        assert shown == (a * b > c * c)  # the largest coupling is that of parallel rods; both negative is definite too
    assert 20 < proved < 180


def test_what_is_no_form_in_features_is_not_proved() -> None:
    for lagrangian in ("(1 + q)*q'^2/2 + r'^2/2", "(2 + t)*q'^2/2 + r'^2/2 + q'*r'*sin(q)", "q'^2/2 + sin(q)^2*r'^2/2"):
        flow = _flow(ch.System("q r", lagrangian=lagrangian))
        assert not positive_pivots(flow, {})


def test_coordinate_without_inertia_is_not_proved() -> None:
    flow = _flow(ch.System("q r", lagrangian="q'^2/2 + q'*r'*cos(r)"))
    assert not positive_pivots(flow, {})
