"""(f) Large systems: how reading, the first simulation, a warm one and memory grow with the number of bodies that attract each other, of
rods in a chain or a net, and of trailers.

Each size is measured once, in a process of its own that has simulated a small system before. `python benchmarks/many_bodies.py net 32`
does that for one size and prints the figures.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from math import cos, sin
from pathlib import Path

import numpy as np
from measure import Effort, Table
from texts import trailer

import chetaev as ch

_CLOCK = time.process_time
_STAGES = ("reading, s", "first simulation, s", "warm simulation, s", "peak memory, MB")
_T = 0.01
"""How long the motions are."""

Parts = tuple[dict[str, object], dict[str, float], dict[str, float]]
"""The arguments of a system, its parameters and a start."""


def tables(effort: Effort) -> list[Table]:
    """A table for each family."""
    return [_growth(name, sizes[0 if effort.quick else 2 if effort.long else 1]) for name, (_, _, sizes) in FAMILIES.items()]


def _growth(name: str, sizes: tuple[int, ...]) -> Table:
    title, rows = FAMILIES[name][0], [_in_own_process(name, n) for n in sizes]
    found = Table(
        f"(f) {title}",
        ["quantity", *[f"n = {n}" for n in sizes], "exponent", "last exponent"],
        "Exponent: slope of the logarithm by least squares; last: between the two largest n. CPU seconds.",
    )
    for stage, line in zip(_STAGES, np.array(rows).T, strict=True):
        slopes = [np.polyfit(np.log(sizes[k:]), np.log(line[k:]), 1)[0] for k in (0, -2)]
        found.add(stage, *map(float, line), *[f"{slope:.2f}" for slope in slopes])
    return found


def _in_own_process(name: str, n: int) -> list[float]:
    done = subprocess.run([sys.executable, __file__, name, str(n)], stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return [float(x) for x in json.loads(done.stdout)]


def _measured(parts: dict[str, object], values: dict[str, float], start: dict[str, float]) -> list[float]:
    begin = _CLOCK()
    system = ch.System(**parts)  # type: ignore[arg-type]
    times = [_CLOCK() - begin]
    equations = ch.derive(system, ch.DAlembert()) if system.kinematic else ch.derive(system)
    for _ in range(2):
        begin = _CLOCK()
        ch.simulate(equations, start, (0, _T), parameters=values)
        times.append(_CLOCK() - begin)
    return [*times, _peak_memory()]


def _peak_memory() -> float:
    """Megabytes; not a number where a system does not tell. On Linux what `getrusage` says includes the process that started this one."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(float(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM:")) / 1024
    try:
        from resource import RUSAGE_SELF, getrusage
    except ModuleNotFoundError:  # Windows
        return float("nan")
    return getrusage(RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def attracting(n: int) -> Parts:
    """Bodies in space. The sum over all pairs is written out, with a name for the part of each body: a single text would be too long."""
    names, chance = [f"{c}{k}" for k in range(n) for c in "xyz"], random.Random(1)
    kinetic = " + ".join(f"m{k}/2*(x{k}'^2 + y{k}'^2 + z{k}'^2)" for k in range(n))
    pair = "G*m{0}*m{1}/sqrt((x{0} - x{1})^2 + (y{0} - y{1})^2 + (z{0} - z{1})^2)"
    where = {f"V{j}": " + ".join(pair.format(i, j) for i in range(j)) for j in range(1, n)}
    values = {f"m{k}": chance.uniform(0.5, 2) for k in range(n)} | {"G": 1.0}
    start = {z: chance.uniform(-5, 5) for z in names} | {f"{z}'": chance.uniform(-0.3, 0.3) for z in names}
    lagrangian = " + ".join([kinetic, *where])
    return {"coordinates": " ".join(names), "parameters": " ".join(values), "lagrangian": lagrangian, "where": where}, values, start


def chain(n: int) -> Parts:
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


def net(n: int) -> Parts:
    """N x n masses in space, each with rods to two neighbours or to a fixed place, turning about the line of these places."""
    nodes = [(i, j) for i in range(n) for j in range(n)]
    energies = " + ".join(
        f"{1 + 0.25 * ((3 * i + 5 * j) % 4)}*((x{i}_{j}'^2 + y{i}_{j}'^2 + z{i}_{j}'^2)/2 - g*z{i}_{j})" for i, j in nodes
    )
    rows, start, x, z = [], {}, 0.0, 0.0
    for i in range(n):
        angle = (0.4, 0.1, -0.3)[i % 3]
        x, z = x + sin(angle), z - cos(angle)
        for j in range(n):
            above = [f"{c}{i - 1}_{j}" for c in "xyz"] if i else ["0", f"{j}", "0"]
            beside = [[f"{c}{i}_{j - 1}" for c in "xyz"]] if j else []
            rows += [" + ".join(f"({c}{i}_{j} - {b})^2" for c, b in zip("xyz", o, strict=True)) + " = 1" for o in (above, *beside)]
            start |= {f"x{i}_{j}": x, f"y{i}_{j}": float(j), f"z{i}_{j}": z}
            start |= {f"x{i}_{j}'": 0.7 * z, f"y{i}_{j}'": 0.0, f"z{i}_{j}'": -0.7 * x}
    names = " ".join(f"{c}{i}_{j}" for i, j in nodes for c in "xyz")
    return {"coordinates": names, "parameters": "g", "lagrangian": energies, "kinematic": rows}, {"g": 9.81}, start


def trailers(n: int) -> Parts:
    """A tractor with n trailers."""
    text = trailer(n, 0)
    parts = {"coordinates": text.coordinates, "parameters": " ".join(text.parameters), "where": text.where}
    return {**parts, "lagrangian": text.lagrangian, "kinematic": text.rows}, text.values, text.start


FAMILIES: dict[str, tuple[str, Callable[[int], Parts], tuple[tuple[int, ...], ...]]] = {
    "bodies": ("n bodies that attract each other", attracting, ((10, 20, 40), (25, 50, 100), (75, 150, 300))),
    "chain": ("A chain of n rods, Cartesian", chain, ((25, 50, 100), (100, 200, 400), (500, 1000, 2000))),
    "net": ("A net of n x n masses in space, with 2 n^2 - n rods", net, ((4, 6, 8), (8, 12, 16), (16, 24, 32))),
    "trailers": ("A tractor with n trailers", trailers, ((5, 10, 20), (10, 20, 40), (25, 50, 100))),
}

if __name__ == "__main__":
    _measured(*attracting(3))
    print(json.dumps(_measured(*FAMILIES[sys.argv[1]][1](int(sys.argv[2])))))
