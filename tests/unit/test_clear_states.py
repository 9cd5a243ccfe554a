"""Bounds of round-off in machine code decide when `evaluate` computes with more digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy

import chetaev as ch
from chetaev.core.symbols import Coordinate
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.start.clear_states import state_at_once

SPRING = ch.derive(ch.System("x", lagrangian="x'^2/2 + sin(x) - x + x^3/6"))
"""x'' = cos(x) - 1 + x^2/2, which is x^4/24 for small x: in doubles no digit is left at x = 1e-4."""


def _exactly(x: float) -> float:
    with mpmath.workdps(60):
        return float(mpmath.cos(mpmath.mpf(x)) - 1 + mpmath.mpf(x) ** 2 / 2)


@pytest.mark.parametrize(("x", "shown"), [(1.0, True), (0.3, True), (1e-2, False), (1e-4, False)])
def test_bounds_show_which_accelerations_have_their_digits(x: float, shown: bool) -> None:
    start = {"x": x, "x'": 0.5}
    found = state_at_once(SPRING, start, Binding({}, {}), 0.0, "test", digits=True)
    assert found is not None
    assert found.digits is shown
    assert ch.evaluate(SPRING, start)["x''"] == pytest.approx(_exactly(x), rel=1e-9)


def test_bounds_are_not_computed_unless_asked_for() -> None:
    found = state_at_once(SPRING, {"x": 1.0, "x'": 0.5}, Binding({}, {}), 0.0, "test")
    assert found is not None
    assert not found.digits


@pytest.mark.parametrize("seed", range(20))
def test_values_between_their_bounds(seed: int) -> None:
    x = float(10.0 ** np.random.default_rng(seed).uniform(-6, 1))
    graph, z = GraphAlgebra(), Coordinate("x")
    tape = graph.tape([graph.of(sympy.cos(z) - 1 + z**2 / 2), graph.of(sympy.exp(z) * (1 - sympy.cos(z)))])
    found = tape.between(np.array([x]))
    assert found is not None
    with mpmath.workdps(60):
        exact = [mpmath.cos(x) - 1 + mpmath.mpf(x) ** 2 / 2, mpmath.exp(x) * (1 - mpmath.cos(x))]
        for e, above, below in zip(exact, *found, strict=True):
            slack = 2.0**-52 * max(abs(above), abs(below))  # both ends are rounded
            assert below - slack <= e <= above + slack
            assert above - below < 1e-14 * (1 + abs(float(e)) + x**2)
