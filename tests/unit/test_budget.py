"""Budgets that count operations end at the same place on every machine and under every load."""

import time

import pytest
from sympy import symbols

import chetaev as ch
from chetaev.core.support import budget
from chetaev.singular.algorithm.ring import Ring

THIRD_ORDER = ch.System("x y", lagrangian="x'^2/2 + y'^2/2 - y", kinematic=["x''' + y*y''' + 0.3 = 0"])


def test_an_allowance_ends_after_the_same_operations_however_long_they_take():
    for pause in (0.0, 1e-4):
        done = 0
        with budget.allowance(800 / budget.OPERATIONS) as spent:
            while True:
                budget.spend(10)
                done += 1
                time.sleep(pause)
        assert spent.expired and not spent.by_clock and done == 80


def test_an_inner_allowance_is_spent_from_the_outer_one():
    with budget.allowance(2 / budget.OPERATIONS) as outer, budget.allowance(1.0) as inner:
        budget.spend(3)
    assert outer.expired and not inner.expired and inner.seconds == pytest.approx(3 / budget.OPERATIONS)


def test_work_that_nobody_counts_is_ended_by_the_clock(monkeypatch):
    monkeypatch.setattr(budget, "_SHORTEST", 0.05)
    with budget.allowance(0.001) as spent:
        while True:
            pass
    assert spent.expired and spent.by_clock


def test_what_a_search_finds_does_not_depend_on_the_clock(monkeypatch):
    """The same branches are left open when every operation takes longer."""
    equations = ch.derive(THIRD_ORDER, ch.Chetaev())
    found = ch.constraint_algorithm(equations, seconds=0.02)
    spend = budget._Count.spend

    def slowly(self, operations):
        time.sleep(2e-5)
        spend(self, operations)

    monkeypatch.setattr(budget._Count, "spend", slowly)
    again = ch.constraint_algorithm(equations, seconds=0.02)
    assert "the work allowed ran out" in found.reason and (again.reason, str(again)) == (found.reason, str(found))


@pytest.mark.parametrize("parameters", [(), symbols("a b")])
def test_factors_and_their_coefficient_multiply_to_the_polynomial(parameters):
    ring = Ring(symbols("x y z u v w"), parameters, [(0, 3), (3, 6)])
    x, y, z = ring.variables[:3]
    a = ring.ring.ground_new(ring.domain.from_sympy(parameters[0] / (1 + parameters[1]))) if parameters else ring.one * 3
    lead, factors = ring.factor_list(-2 * a * (x + a * y) ** 2 * (x * z - a))
    product = ring.ring.ground_new(lead)
    for g, power in factors:
        product *= g**power
    assert product == -2 * a * (x + a * y) ** 2 * (x * z - a)
    assert sorted(power for _, power in factors) == [1, 2]
    assert ring.factor_list(-2 * a) == ((-2 * a).LC, [])
