"""Slopes of all gallery motions under all their principles are differences of motions, multipliers included."""

from __future__ import annotations

import numpy as np
import pytest

import chetaev as ch

NAMES = tuple(name for name in ch.gallery() if name != "krupkova")
"""All but a system of which nothing can move: it has no parameter, q1 = 0, and q2 is a free function."""
DURATION = 1.0
MOST = 6
"""Directions of a motion; the bicycle has more than thirty."""
STEPS = (3e-4, 1e-4)
"""Relative steps of differences: some motions bend on a scale of a few thousandths of a parameter."""


def directions(model, equations, random):
    """Some parameters and given initial values; values that constraints tie together, or that are computed, do not move."""
    given = {**model.start.fixed, **model.parameters}
    named = [str(name) for name in random.permutation([name for name, v in given.items() if isinstance(v, int | float)])[:MOST]]

    def move(names):
        try:
            ch.evaluate(equations, model.start, parameters=model.parameters, t=float(model.t[0]), slopes=names)
        except ch.InitialError:
            return False
        return True

    if move(named):
        return named
    found = []
    for name in named:
        found += [name] if move([*found, name]) else []
    return found


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_differences_of_motions(name):
    """Along a random mixture of all directions: an error in any of them shows, at the cost of four motions for each step."""
    model = ch.gallery(name)
    random = np.random.default_rng(7)
    for principle in model.principles:
        mine = model.under(principle)
        equations, values, start = ch.derive(mine), dict(mine.parameters), dict(mine.start.fixed)
        first = float(mine.t[0])
        settings = {"t": (first, first + DURATION), "tolerance": 1e-12}
        by = directions(mine, equations, random)
        along = {each: random.uniform(0.3, 1) * random.choice([-1, 1]) * (abs(float({**start, **values}[each])) or 0.3) for each in by}
        motion = ch.simulate(mine, slopes=by, **settings)
        names = [*motion.final, *[m.name for m in equations.multipliers if m.name not in motion.final]]

        def end(step, mine=mine, along=along, values=values, start=start, settings=settings, names=names):
            parameters = {each: v + step * along[each] if each in along else v for each, v in values.items()}
            moved = {each: v + step * along[each] if each in along else v for each, v in start.items()}
            found = ch.simulate(mine, parameters=parameters, start=ch.State(moved, mine.start.guess), keep="final", **settings)
            return np.array([found.final[each] for each in names])

        found = np.array([sum(motion.final.slope(each, one) * along[one] for one in by) for each in names])
        sizes = np.array([sum(abs(motion.final.slope(each, one) * along[one]) for one in by) for each in names]).max()
        off = []
        for h in STEPS:
            expected = (8 * (end(h) - end(-h)) - (end(2 * h) - end(-2 * h))) / (12 * h)
            off.append(np.abs(found - expected).max() / sizes)
        assert min(off) <= 1e-8, (principle, by, off)
