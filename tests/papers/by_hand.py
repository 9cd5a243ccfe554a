"""What the tests of several papers share: a chain rule of their own, random states, typed expressions at values."""

import random

import numpy as np
import sympy

TIME = sympy.Symbol("t", real=True)


def d_dt(e, times=1, rates=None):
    """The chain rule: every jet to the next one, unless a rate is given."""
    for _ in range(times):
        jets = [z for z in e.free_symbols if hasattr(z, "base")]
        e = sympy.Add(e.diff(TIME), *[e.diff(z) * (rates or {}).get(z, z.d()) for z in jets])
    return e


def gap(a, b):
    """The largest difference of two expressions at five random points; exactly 0.0 if they are identical."""
    e = sympy.expand(a - b)
    chance = random.Random(2)
    symbols = sorted(e.free_symbols, key=str)
    points = [{z: sympy.Float(chance.choice([-1, 1]) * chance.uniform(0.4, 1.5)) for z in symbols} for _ in range(5)]
    return max(abs(float(e.xreplace(p))) for p in points)


def states(names, seed=1, count=3):
    """Random states, at least 0.3 away from zero."""
    chance = random.Random(seed)
    return [{n: chance.choice([-1, 1]) * chance.uniform(0.3, 1.2) for n in names.split()} for _ in range(count)]


def value(e, values):
    """A typed expression at named values."""
    return float(sympy.S(e).xreplace({z: sympy.Float(values[z.name]) for z in e.free_symbols}))


def solved(equations, unknowns, values):
    """The solution of typed equations that are linear in the unknowns, by name."""
    at = {z: sympy.Float(values[z.name]) for e in equations for z in e.free_symbols if z not in unknowns}
    matrix, right = sympy.linear_eq_to_matrix([e.xreplace(at) for e in equations], unknowns)
    solution = np.linalg.solve(np.array(matrix, dtype=float), np.array(right, dtype=float).ravel())
    return {z.name: float(v) for z, v in zip(unknowns, solution, strict=True)}


def close(found, expected):
    """Equal to twelve digits."""
    return abs(found - expected) <= 1e-12 * max(1.0, abs(expected))
