"""Slopes of gallery motions under all their principles are differences of motions, multipliers included."""

from __future__ import annotations

import numpy as np
import pytest

import chetaev as ch

NAMES = ("sleigh", "disk", "sleigh-contact", "constant-speed", "suslov", "cart-pendulum", "pais-uhlenbeck")
"""Systems of different kinds: linear, contact, nonlinear rows, a group, second-order rows, a Lagrangian of second order."""


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_differences_of_motions(name):
    model = ch.gallery(name)
    for principle in model.principles:
        mine = model.under(principle)
        equations, values, start = ch.derive(mine), dict(mine.parameters), dict(mine.start.fixed)
        first = float(mine.t[0])
        settings = {"t": (first, first + 0.7), "tolerance": 1e-12}
        by = next(p.name for p in reversed(equations.system.parameters))
        motion = ch.simulate(mine, slopes=[by], **settings)
        names = [*motion.final, *[m.name for m in equations.multipliers if m.name not in motion.final]]

        def end(v, mine=mine, by=by, values=values, start=start, settings=settings, names=names):
            found = ch.simulate(mine, parameters={**values, by: v}, start=ch.State(start, mine.start.guess), keep="final", **settings)
            return np.array([found.final[each] for each in names])

        v, h = float(values[by]), 1e-3 * max(abs(float(values[by])), 0.1)
        expected = (8 * (end(v + h) - end(v - h)) - (end(v + 2 * h) - end(v - 2 * h))) / (12 * h)
        found = np.array([motion.final.slope(each, by) for each in names])
        assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max() + 1e-10, (principle, by)
