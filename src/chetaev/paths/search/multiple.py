r"""Multiple shooting: paths so unstable that no start in double precision leads to their end.

Nearby motions of $x'' = k^2 x$ separate by the factor $e^{kT}$. Beyond about $10^{12}$, rounding errors of the start are errors of order
one at the end, and shooting from the start cannot succeed. So the states at several times are unknowns, and each motion lasts only to the
next of these times. The conditions are those at both ends, and that each motion ends in the next state. Rough curves give the first states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from chetaev.core.errors import ChetaevError
from chetaev.mechanics.tolerances import ALMOST_ZERO, NEWTON_CUT
from chetaev.numerics.prepared import end_and_slopes
from chetaev.paths.boundary.ends import Array
from chetaev.paths.boundary.shooting import Shooting, Unknowns

_MOST_ITERATIONS = 40
"""Limit of Newton's iterations; from a rough curve about six are needed."""
_MET = 1e-12
"""Residual, relative to the sizes, at which the iteration ends."""
_SHORTEST_STEP = 1e-3
"""Least fraction of Newton's step that is tried; if none reduces the residual, the iteration ends."""


@dataclass(frozen=True)
class Chain:
    """States at several times, each the end of the motion from the previous one, up to the residual."""

    times: Array
    """The times of the states; the last is the end."""
    states: tuple[Array, ...]
    """A state for each time but the last."""
    nu: tuple[Array, Array]
    """The multipliers of free ends."""
    end: Array
    """The state at the end."""
    residual: float
    """The largest residual of all conditions, relative to the sizes."""
    family: int
    """The dimension of the null space of the equations."""


@dataclass(frozen=True)
class Links:
    """The equations of a chain at some states."""

    residual: Array
    matrix: Array
    bases: list[Array]
    end: Array


def chained(shooting: Shooting, states: Sequence[Array]) -> Chain | None:
    """The chain to which Newton's iteration leads from states at equal parts of a fixed duration; None if a motion fails."""
    if shooting.t1 is None or shooting.unknown:
        return None
    times = np.linspace(shooting.flow.t0, shooting.t1, len(states) + 1)
    here = [shooting.flow.settled(y) for y in states]
    nu = shooting.without_multipliers()
    now = _links(shooting, times, here, nu)
    if now is not None and any(len(part) for part in nu):
        nu = shooting.fitted(Unknowns(here[0], shooting.t1, shooting.flow.p, nu), now.end)
        now = _links(shooting, times, here, nu)
    for _ in range(_MOST_ITERATIONS):
        if now is None or np.abs(now.residual).max() < _MET:
            break
        step = np.asarray(-np.linalg.lstsq(now.matrix, now.residual, rcond=NEWTON_CUT)[0], float)
        found = _moved(shooting, times, here, nu, now, step)
        if found is None:
            break  # the caller reports the residual
        here, nu, now = found
    if now is None:
        return None
    s = np.linalg.svd(now.matrix, compute_uv=False)
    return Chain(times, tuple(here), nu, now.end, float(np.abs(now.residual).max()), int(np.sum(s < NEWTON_CUT * s[0])))


def _moved(
    shooting: Shooting, times: Array, states: Sequence[Array], nu: tuple[Array, Array], now: Links, step: Array
) -> tuple[list[Array], tuple[Array, Array], Links] | None:
    """The states, multipliers and equations after the largest fraction of a step that reduces the residual; None if there is none."""
    part = min(1.0, 2.0 / max(float(np.abs(step).max(initial=0.0)), ALMOST_ZERO))
    places = np.cumsum([0, *[basis.shape[1] for basis in now.bases], *map(len, nu)])
    while part > _SHORTEST_STEP:
        moves = [part * step[a:b] for a, b in pairwise(places)]
        try:
            there = [
                shooting.flow.settled(y + shooting.flow.sizes * (basis @ move))
                for y, basis, move in zip(states, now.bases, moves[: len(states)], strict=True)
            ]
        except ChetaevError:
            return None
        then = (nu[0] + moves[-2], nu[1] + moves[-1])
        found = _links(shooting, times, there, then)
        if found is not None and np.linalg.norm(found.residual) < np.linalg.norm(now.residual):
            return there, then, found
        part /= 2
    return None


def _links(shooting: Shooting, times: Array, states: Sequence[Array], nu: tuple[Array, Array]) -> Links | None:
    """All conditions of a chain and their derivatives; None if a motion fails."""
    flow, p, names = shooting.flow, shooting.flow.p, shooting.flow.names
    try:
        bases = [flow.tangent(y) for y in states]
        ends = []
        for k, (y, basis) in enumerate(zip(states, bases, strict=True)):
            run = replace(flow.run, t=(float(times[k]), float(times[k + 1])))
            first = flow.sizes[:, None] * basis
            ends.append(end_and_slopes(run, y, p, names[: basis.shape[1]], first, float(times[k + 1]), flow.sizes))
    except (ChetaevError, FloatingPointError, np.linalg.LinAlgError):
        return None
    at = Unknowns(states[0], float(times[-1]), p, nu)
    (first_rows, t0, y0, nu0), (last_rows, t1, y1, nu1) = shooting.parts(at, ends[-1].y)
    scales = shooting.row_scales(at, ends[-1].y)
    widths = [basis.shape[1] for basis in bases]
    columns = np.cumsum([0, *widths, len(nu0), len(nu1)])
    lines, residuals = [], []

    def add(residual: Array, blocks: dict[int, Array]) -> None:
        line = np.zeros((len(residual), columns[-1]))
        for k, block in blocks.items():
            line[:, columns[k] : columns[k + 1]] = block
        residuals.append(residual)
        lines.append(line)

    last = len(states) - 1
    r, (_, by_y, _, by_nu) = first_rows.at(t0, y0, p, nu0)
    unit = scales[: len(r)]
    add(r / unit, {0: by_y @ (flow.sizes[:, None] * bases[0]) / unit[:, None], last + 1: by_nu / unit[:, None]})
    for k in range(last):
        apart, basis = (ends[k].y - states[k + 1]) / flow.sizes, bases[k + 1]
        add(basis.T @ apart, {k: basis.T @ (ends[k].slopes / flow.sizes[:, None]), k + 1: -np.eye(basis.shape[1])})
    r, (_, by_y, _, by_nu) = last_rows.at(t1, y1, p, nu1)
    unit = scales[len(scales) - len(r) :]
    add(r / unit, {last: by_y @ ends[-1].slopes / unit[:, None], last + 2: by_nu / unit[:, None]})
    residual, matrix = np.concatenate(residuals), np.vstack(lines)
    if not (np.isfinite(residual).all() and np.isfinite(matrix).all()):
        return None
    return Links(residual, matrix, bases, ends[-1].y)
