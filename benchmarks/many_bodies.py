"""(f) Many bodies: how reading, the first simulation and a warm one grow with the number of bodies attracting each other and of rods.

Each size is measured once, in a process that has simulated a small system before, with systems that no cache holds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from math import cos, sin

import numpy as np
from measure import Effort, Table

import chetaev as ch

_CLOCK = time.process_time
_STAGES = ("reading, s", "first simulation, s", "warm simulation, s")


def tables(effort: Effort) -> list[Table]:
    """Bodies that attract each other, and a chain of rods in Cartesian coordinates."""
    bodies = (5, 10, 20) if effort.quick else (25, 50, 100) if effort.long else (10, 20, 40)
    rods = (10, 20, 40) if effort.quick else (50, 100, 200) if effort.long else (25, 50, 100)
    _measured(*attracting(3))
    return [_growth("(f) Bodies that attract each other", bodies, attracting), _growth("(f) A chain of rods", rods, chain)]


def _growth(title: str, sizes: Sequence[int], made: object) -> Table:
    found = Table(title, ["quantity", *[f"n = {n}" for n in sizes], "exponent"], "Exponent: slope of the logarithm by least squares.")
    times = np.array([_measured(*made(n)) for n in sizes])  # type: ignore[operator]
    for stage, line in zip(_STAGES, times.T, strict=True):
        found.add(stage, *map(float, line), f"{np.polyfit(np.log(sizes), np.log(line), 1)[0]:.2f}")
    return found


def _measured(parts: dict[str, object], values: dict[str, float], start: dict[str, float]) -> list[float]:
    begin = _CLOCK()
    system = ch.System(**parts)  # type: ignore[arg-type]
    times = [_CLOCK() - begin]
    equations = ch.derive(system, ch.DAlembert()) if system.kinematic else ch.derive(system)
    for _ in range(2):
        begin = _CLOCK()
        ch.simulate(equations, start, (0, 0.01), parameters=values)
        times.append(_CLOCK() - begin)
    return times


def attracting(n: int) -> tuple[dict[str, object], dict[str, float], dict[str, float]]:
    """Bodies in space. The sum over all pairs is written out, with a name for the part of each body: a single text would be too long."""
    names, chance = [f"{c}{k}" for k in range(n) for c in "xyz"], random.Random(1)
    kinetic = " + ".join(f"m{k}/2*(x{k}'^2 + y{k}'^2 + z{k}'^2)" for k in range(n))
    pair = "G*m{0}*m{1}/sqrt((x{0} - x{1})^2 + (y{0} - y{1})^2 + (z{0} - z{1})^2)"
    where = {f"V{j}": " + ".join(pair.format(i, j) for i in range(j)) for j in range(1, n)}
    values = {f"m{k}": chance.uniform(0.5, 2) for k in range(n)} | {"G": 1.0}
    start = {z: chance.uniform(-5, 5) for z in names} | {f"{z}'": chance.uniform(-0.3, 0.3) for z in names}
    lagrangian = " + ".join([kinetic, *where])
    return {"coordinates": " ".join(names), "parameters": " ".join(values), "lagrangian": lagrangian, "where": where}, values, start


def chain(n: int) -> tuple[dict[str, object], dict[str, float], dict[str, float]]:
    """Point masses in a vertical plane, each joined to the one before by a rod."""
    links = range(1, n + 1)
    energies = " + ".join(f"m{k}/2*(x{k}'^2 + y{k}'^2) - m{k}*g*y{k}" for k in links)
    rows = ["x1^2 + y1^2 = l1^2", *[f"(x{k} - x{k - 1})^2 + (y{k} - y{k - 1})^2 = l{k}^2" for k in links[1:]]]
    values = {f"m{k}": 1 + 0.1 * (k % 4) for k in links} | {f"l{k}": 1.0 for k in links} | {"g": 9.81}
    start, x, y = {}, 0.0, 0.0
    for k in links:
        angle = 0.2 + 0.09 * ((7 * k) % 5 - 2)
        x, y = x + sin(angle), y - cos(angle)
        start |= {f"x{k}": x, f"y{k}": y, f"x{k}'": 0.0, f"y{k}'": 0.0}
    names = " ".join(f"{c}{k}" for k in links for c in "xy")
    return {"coordinates": names, "parameters": " ".join(values), "lagrangian": energies, "kinematic": rows}, values, start
