"""Seeds: starts from which the search for paths begins.

Motions from many random starts are computed without derivatives, which is fast; the seeds are those that come nearest to the required end
and differ from each other. This finds paths with small basins of attraction, which wind around a centre or around the axis of a multiplier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError
from chetaev.core.symbols import Jet, Multiplier, Place
from chetaev.paths.boundary.attitudes import identities, mean_velocities, wound
from chetaev.paths.boundary.shooting import Shooting, Shot, Unknowns
from chetaev.paths.properties.conjugate import independent

_POOL = 25
"""Number of random starts from which each seed is chosen."""
_APART = 0.15
"""Least distance of two seeds, relative to the sizes of the unknowns."""
_SIGNS = 4
"""Largest number of unknowns whose signs are changed to find mirror images; four give 15 seeds for each path."""
_TURNS = (-1, 1, 0, -2, 2, -3, 3)
"""Additional turns around the axis of a rotation, beyond the shortest one, of every second seed."""
_WIDEST = 60.0
"""Largest velocity of a random start relative to its size; paths that wind are that much faster than straight ones."""
_WINDING = 40.0
"""Largest multiplier of a random start relative to its size; paths with larger ones wind more than six times."""
_LEAST_PACE = 1e-3
"""Relative to the fastest: a slower pace is replaced by the fastest one, since the rates at one state show little of it."""


def seeds_of(shooting: Shooting, given: Sequence[Mapping[Jet, float]], count: int, rough: Any) -> list[Unknowns]:
    """Seeds for a boundary value problem: `count` random starts, the first near the mean velocities, and the `count` best of a larger pool.

    `given` has the values at both ends by jet; `rough` is the motion prepared with a coarse tolerance. Random numbers have a fixed seed.
    """
    chance = np.random.default_rng(20)
    first = [seed for k in range(count) if (seed := _random(shooting, given, k, chance)) is not None]
    pool = [seed for k in range(_POOL * count) if (seed := _random(shooting, given, k + 1, chance)) is not None]
    worth = np.array([_residual(shooting, seed, rough) for seed in pool])
    chosen: list[Unknowns] = []
    for k in np.argsort(worth):
        if len(chosen) >= count or not np.isfinite(worth[k]):
            break
        if all(_distance(shooting, pool[k], other) > _APART for other in chosen):
            chosen.append(pool[k])
    return [*first, *chosen]


def mirrored(shooting: Shooting, shot: Shot, given: Mapping[Jet, float]) -> Iterator[Unknowns]:
    """The start of a path with other signs of its unknown velocities and multipliers; paths of symmetric systems come in pairs."""
    jets = shooting.flow.run.jets
    own = [k for k in independent(shot.basis) if jets[k] not in given][:_SIGNS]
    for signs in list(product((1.0, -1.0), repeat=len(own)))[1:]:
        y = shot.at.y.copy()
        y[own] *= signs
        try:
            y = shooting.at_parameters(shot.at.p).settled(y)
        except ChetaevError:
            continue
        if np.isfinite(y).all():
            yield replace(shot.at, y=y)


def _residual(shooting: Shooting, seed: Unknowns, rough: Any) -> float:
    """The norm of the residuals of the conditions at the end, relative to their sizes."""
    try:
        run = rough if seed.t1 == rough.t[1] else None
        if run is None:
            return float(np.linalg.norm(shot.residual)) if (shot := shooting.shot(seed)) is not None else np.inf
        end = run(seed.y, seed.p)
        rows = shooting.ends.at_end
        residual, slopes = rows.at(seed.t1, end, seed.p, shooting.fitted(seed, end)[1])
    except ChetaevError:
        return float(np.inf)
    scale = np.abs(slopes[1]) @ shooting.flow.sizes
    return float(np.linalg.norm(residual / np.where(scale > 0, scale, 1.0)))


def _distance(shooting: Shooting, a: Unknowns, b: Unknowns) -> float:
    sizes = np.maximum(shooting.flow.sizes, np.maximum(np.abs(a.y), np.abs(b.y)))
    return float(max(np.abs((a.y - b.y) / sizes).max(initial=0.0), abs(a.t1 - b.t1) / abs(shooting.span)))


def _random(shooting: Shooting, given: Sequence[Mapping[Jet, float]], k: int, chance: np.random.Generator) -> Unknowns | None:
    """The k-th random start on the constraints: velocities around the mean one, multipliers of both signs and several sizes."""
    start, end = given
    flow = shooting.flow
    wide = 0.1 if k == 0 else float(np.exp(chance.uniform(np.log(0.2), np.log(_WIDEST))))
    mean = _means(shooting, start, end)
    if flow.equations.system.groups and k % 2:
        mean = wound(flow.equations.system, mean, _TURNS[k // 2 % len(_TURNS)])
    pace = _paces(shooting, start) if k % 2 else {}
    if pace:
        wide = float(np.exp(chance.uniform(-1.2, 0.7)))
    duration = shooting.span * (1.0 if shooting.t1 is not None or k == 0 else float(np.exp(chance.normal())))
    y = np.zeros(len(flow.start))
    unit = identities(flow.equations.system)
    splines = _splines(mean, start, end, duration)
    for i, z in enumerate(flow.run.jets):
        size = flow.sizes[i]
        if z in start:
            y[i] = start[z]
        elif isinstance(z, Multiplier):
            y[i] = size * (0.1 if k == 0 else _multiplier(k, chance))
        elif isinstance(z, Place):
            y[i] = end.get(z, unit.get(z, 0.0))
        elif z in splines:
            y[i] = splines[z] + (size * wide * chance.normal() if k > 1 else 0.0)
        elif z in mean:
            y[i] = mean[z] / duration + pace.get(z, size) * wide * chance.normal()
        else:
            y[i] = end.get(z, 0.0) + size * (wide if z.order else min(wide, 3.0)) * chance.normal()
    p = flow.p.copy()
    for i, bounds in zip(shooting.unknown, shooting.bounds, strict=True):
        if bounds is not None:
            p[i] = bounds[0] + (bounds[1] - bounds[0]) * (0.5 if k == 0 else chance.uniform())
        elif k:
            p[i] *= float(np.exp(chance.normal()))
    try:
        y = shooting.at_parameters(p).settled(y)
    except ChetaevError:
        return None
    t1 = flow.t0 + duration
    return Unknowns(y, t1, p, shooting.without_multipliers()) if np.isfinite(y).all() else None


def _means(shooting: Shooting, start: Mapping[Jet, float], end: Mapping[Jet, float]) -> dict[Jet, float]:
    """The displacement of each coordinate between the ends, by the jet of its velocity."""
    if not shooting.means:
        both = [z for z in start if z.order == 0 and z in end and not isinstance(z, Multiplier | Place)]
        shooting.means.update({z.d(): end[z] - start[z] for z in both})
        shooting.means.update(mean_velocities(shooting.flow.equations.system, start, end))
    return shooting.means


def _splines(mean: Mapping[Jet, float], start: Mapping[Jet, float], end: Mapping[Jet, float], duration: float) -> dict[Jet, float]:
    """The second and third derivatives at the start of cubics with the velocities of both ends, for Lagrangians of second order."""
    found: dict[Jet, float] = {}
    for z, way in mean.items():
        if z in start and z in end:
            found[z.d()] = 6 * way / duration**2 - (4 * start[z] + 2 * end[z]) / duration
            found[z.d(2)] = -12 * way / duration**3 + 6 * (start[z] + end[z]) / duration**2
    return found


def _paces(shooting: Shooting, start: Mapping[Jet, float]) -> dict[Jet, float]:
    """Velocities from accelerations at rest and typical sizes: those of orbits and oscillations, independent of the duration."""
    flow, found = shooting.flow, shooting.paces
    if not found:
        jets = list(flow.run.jets)
        y = np.array([start.get(z, 0.0) for z in jets])
        try:
            rates = flow.rates(flow.settled(y))
        except ChetaevError:
            rates = np.zeros(len(jets))
        for i, z in enumerate(jets):
            if z.order == 1 and z.d(-1) in jets and not isinstance(z, Multiplier):
                speed = float(np.sqrt(abs(rates[i]) * flow.sizes[jets.index(z.d(-1))]))
                found[z] = speed if np.isfinite(speed) else 0.0
        largest = max(found.values(), default=0.0)
        for z in found:
            found[z] = largest if found[z] < _LEAST_PACE * largest else found[z]
        found = {} if largest == 0 else found
        shooting.paces.update(found)
    return found


def _multiplier(k: int, chance: np.random.Generator) -> float:
    """A random multiplier relative to its size, of either sign: log-uniform for every third `k`, otherwise uniform up to `_WINDING`."""
    sign = -1.0 if chance.uniform() < 0.5 else 1.0
    return sign * float(np.exp(chance.uniform(-2.0, 2.5)) if k % 3 == 0 else chance.uniform(0.0, _WINDING))
