"""basin: an estimate of the states from which motions go to an equilibrium, with its border and its uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from chetaev.core.errors import StateError, UsageError
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.ranks.split import rank_of
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.attraction.certificate import LyapunovCertificate, lyapunov_certificate, read_range
from chetaev.numerics.attraction.end_states import Fate, Runs, target_of
from chetaev.numerics.stability.arguments import Start, local_motion, read_model
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Fates = NDArray[np.int8]

_DECAY_TIMES = 12.0
"""Time that motions run at first, in units of the slowest decay time of the linearised motion. Small disturbances shrink by exp(12) in
it."""
_MOST_DOUBLINGS = 3
"""Most doublings of this time for motions that have not arrived. With fewer, slow motions stay undecided; each one doubles the computing
time."""
_CONFIDENCE_OF_BOUNDS = 0.95
"""Probability with which a bound on the share of wrong cells holds, given the random check. A larger one gives wider bounds."""
_VALUES_PER_SIDE = 41
"""Values on each side of the box by default: 1,681 motions in the plane. Fewer miss narrow parts of a basin."""
_MOST_STATES = 2_000_000
"""States of a grid; more would take hours, and gigabytes."""
_INDEPENDENT_JET = 1e-9
"""Relative size of the part of a jet's direction that is independent of the others; below it the jet follows from them. With less,
round-off counts as a direction."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Basin:
    """An estimate of a basin of attraction on a grid, its border, and a random check of the cells between grid states."""

    names: tuple[str, ...]
    """The jets that the box varies."""
    axes: tuple[Array, ...]
    """The values of each of them on the grid."""
    fate: NDArray[np.int8]
    """How the motion from every grid state ends, as numbers of `Fate`: 1 attracted, 0 elsewhere at the last time, -1 ended before the last
    time, -2 no such state on the constraints."""
    border: Array
    """Points between a state that is attracted and a neighbour that is not, a row for each."""
    width: Array
    """Half the distance of the two states, by row; the border crosses the line between them at least once."""
    doubtful: int
    """The number of border points whose outer state is elsewhere even after eight times the time of the grid: its motion goes to another
    attractor, or is slow enough to arrive later."""
    fraction: float
    """The fraction of the grid states that are attracted."""
    bounds: tuple[float, float]
    """The fraction of the box in cells with all corners attracted, and in cells with any corner attracted. A basin finer than the grid may
    lie outside these bounds; `missed` counts random states that contradict their cells."""
    missed: Mapping[str, tuple[int, int, float]]
    """For the cells "inside" and "outside": the number of random states whose motion ends differently than those from the corners of their
    cell, the number of random states, and an upper bound for the fraction of such states, at 95 % confidence."""
    time: float
    """The time that motions counted as elsewhere were followed."""
    late: int
    """The number of motions that arrived only in the last doubling of the time; if it is not 0, a longer time may find more."""
    target: str
    """The criterion of arrival, in a sentence."""
    certificate: LyapunovCertificate | None
    """The proved region around the equilibrium that counts as arrival; None if none was found."""
    equilibrium: Mapping[str, float]
    """The equilibrium in the independent jets."""
    equations: Equations
    """The equations of the motions."""

    @property
    def attracted(self) -> NDArray[np.bool_]:
        """For each state of the grid, whether it is attracted."""
        found: NDArray[np.bool_] = self.fate == Fate.ATTRACTED
        return found

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {v:.6g}" for name, v in self.equilibrium.items())
        counted = {fate: int(np.sum(self.fate == fate)) for fate in Fate}
        sides = ", ".join(f"{name} in [{a[0]:.6g}, {a[-1]:.6g}]" for name, a in zip(self.names, self.axes, strict=True))
        lines = [
            f"basin of {self.equations.system.label} about {at}: an estimate",
            f"  states     {' x '.join(str(n) for n in self.fate.shape)}, {sides}",
            f"  attracted  {counted[Fate.ATTRACTED]} ({100 * self.fraction:.1f} %); by cells {_percent(self.bounds[0])} to "
            f"{_percent(self.bounds[1])} of the box",
            f"  others     {counted[Fate.ENDED]} ended before, {counted[Fate.ELSEWHERE]} elsewhere at t = {self.time:.6g}"
            + (f", {counted[Fate.NO_MOTION]} without a motion" if counted[Fate.NO_MOTION] else ""),
            f"  arrival    {self.target}",
        ]
        if self.late and counted[Fate.ELSEWHERE]:
            lines.append(f"  time       {self.late} arrived only after t = {self.time / 2:.6g}: a longer time may find more")
        if len(self.border):
            widths = ", ".join(f"{name} ± {w:.2g}" for name, w in zip(self.names, self.width.max(axis=0), strict=True) if w)
            slow = f"; beyond {self.doubtful} of them motions are elsewhere at t = {8 * self.time:.6g}" if self.doubtful else ""
            lines.append(f"  border     {len(self.border)} points to within {widths}{slow}")
        for side, (wrong, number, most) in self.missed.items():
            lines.append(f"  check      {wrong} of {number} random states {side} end differently: at most {_percent(most)} there (95 %)")
        return "\n".join(lines)


@public
def basin(
    equations: Any,
    equilibrium: Start | None,
    box: Mapping[str, Any],
    *,
    parameters: Mapping[str, Any] | None = None,
    grid: int | Sequence[int] = _VALUES_PER_SIDE,
    t: float | None = None,
    near: float = 1e-3,
    halvings: int = 8,
    checks: int = 200,
    tolerance: Any = 1e-8,
    inputs: Mapping[str, Any] | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> Basin:
    """Estimate by many motions which states of a box go to an equilibrium, and where the border is.

    A motion has arrived when it ends in a region around the equilibrium that a quadratic Lyapunov function proves; if none is found, when
    it ends near the equilibrium. Between a state that is attracted and a neighbour that is not, the border is found by halving. Random
    states inside cells whose corners agree bound the error of the grid.

    Args:
        equations: Equations or a model.
        equilibrium: A state whose linearised motion decays, completed from the constraints. Quantities on which no rate depends, such as
            the place of a cart, may end anywhere.
        box: Ranges of jets: `{"theta": (-1, 1), "theta'": (-2, 2)}`. Other independent jets have their values at the equilibrium.
        parameters: Values of the parameters, by name.
        grid: The number of values in each range, or a number for each range.
        t: The time that motions run at first; by default 12 times the slowest decay time. Motions that have not arrived then get up to
            eight times as long, while doubling the time lets more of them arrive.
        near: The distance that counts as near, relative to half the sides of the box, where no region is proved.
        halvings: The number of times that each edge across the border is halved.
        checks: The number of random states in the cells inside, and also in those outside.
        tolerance: The tolerance of the motions, as in `simulate`.
        inputs: Inputs by name, as in `simulate`.
        threads: The number of threads; all processors by default.
        seed: The seed of the random check.

    Returns:
        The fates of all states of the grid, the border, and the bounds.

    Raises:
        UsageError: If the box or the grid is not of this form, or a jet of the box follows from the others.
        StateError: If the state is not an equilibrium whose linearised motion decays: it attracts no neighbourhood, or that is undecided.

    >>> from chetaev import System, derive
    >>> well = System("x", lagrangian="x'^2/2 + x^2/2 - x^4/4", dissipation="x'^2/2", name="two wells")
    >>> found = basin(derive(well), {"x": 1, "x'": 0}, {"x": (-1.5, 1.5)}, grid=16)
    >>> found.attracted.astype(int).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    if isinstance(equations, Model) and equilibrium is None:
        equilibrium = equations.start
    equations, parameters, inputs = read_model("basin", equations, parameters, inputs)
    where = f"basin {equations.system.label}"
    ranges = _ranges(box, where)
    numbers = _numbers(grid, len(ranges), where)
    local = local_motion("basin", equations, equilibrium, parameters, None, inputs)
    _require_decay(local, where)
    certificate = lyapunov_certificate(equations, equilibrium, parameters=parameters, inputs=inputs, candidate="quadratic")
    proved = certificate if certificate.found else None
    target = target_of(local, proved, {name: 0.5 * (high - low) for name, (low, high) in ranges.items()}, near)
    others, guesses = _others(local, equilibrium, tuple(ranges), where)
    runs = Runs(equations, tuple(ranges), others, parameters, inputs, target, guesses, tolerance, threads)
    axes = [np.linspace(low, high, n) for (low, high), n in zip(ranges.values(), numbers, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    fates, time, late = runs.doubled(points, _DECAY_TIMES / _slowest(local) if t is None else float(t), _MOST_DOUBLINGS)
    fate = fates.reshape(numbers)
    inside = fate == Fate.ATTRACTED

    def ask(states: Array) -> NDArray[np.bool_]:
        return runs.fates(states, time) == Fate.ATTRACTED

    every, some = _cells(inside)
    first, second, beyond = _halved(
        axes, fate, Fate.ATTRACTED, lambda states: runs.doubled(states, time, _MOST_DOUBLINGS, always=True)[0], halvings
    )
    missed = {}
    for seed_shift, (side, whole) in enumerate((("inside", every), ("outside", ~some))):
        sample = _drawn(axes, whole, checks, seed + seed_shift)
        if len(sample):
            wrong = int(np.sum(ask(sample) != (side == "inside")))
            missed[side] = (wrong, len(sample), float(betaincinv(wrong + 1, max(len(sample) - wrong, 1), _CONFIDENCE_OF_BOUNDS)))
    return Basin(
        names=tuple(ranges),
        axes=tuple(axes),
        fate=fate,
        border=0.5 * (first + second),
        width=0.5 * np.abs(first - second),
        doubtful=int(np.sum(beyond == Fate.ELSEWHERE)),
        fraction=float(inside.mean()),
        bounds=(float(every.mean()), float(some.mean())),
        missed=Frozen(missed),
        time=time,
        late=late,
        target=target.describe(),
        certificate=proved,
        equilibrium=Frozen(target.rest if proved is None else proved.equilibrium),
        equations=equations,
    )


def _cells(inside: Mask) -> tuple[Mask, Mask]:
    """For every cell of a grid, whether all of its corners are inside, and whether any is."""
    corners = [
        inside[tuple(slice(c, n - 1 + c) for c, n in zip(corner, inside.shape, strict=True))]
        for corner in product((0, 1), repeat=inside.ndim)
    ]
    return np.logical_and.reduce(corners), np.logical_or.reduce(corners)


def _halved(axes: list[Array], fate: Fates, inside: int, ask: Callable[[Array], Fates], times: int) -> tuple[Array, Array, Fates]:
    """Halve every edge between a neighbour inside and one outside; return the two ends of the last halves, and the fate of the outer
    ends.
    """
    first, second, beyond = _edges(axes, fate, inside)
    for _ in range(times if len(first) else 0):
        middle = 0.5 * (first + second)
        found = ask(middle)
        good = found == inside
        first, second = np.where(good[:, None], middle, first), np.where(good[:, None], second, middle)
        beyond = np.where(good, beyond, found)
    return first, second, beyond


def _edges(axes: list[Array], fate: Fates, wanted: int) -> tuple[Array, Array, Fates]:
    """The two ends of these edges, the one inside first, and the fates of the outer ends."""
    grid, inside = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1), fate == wanted
    firsts, seconds, fates = [], [], []
    for k in range(inside.ndim):
        low = tuple(slice(0, -1) if j == k else slice(None) for j in range(inside.ndim))
        high = tuple(slice(1, None) if j == k else slice(None) for j in range(inside.ndim))
        for here, there in ((low, high), (high, low)):
            changes = inside[here] & ~inside[there]
            firsts.append(grid[here][changes])
            seconds.append(grid[there][changes])
            fates.append(fate[there][changes])
    return np.concatenate(firsts), np.concatenate(seconds), np.concatenate(fates)


def _drawn(axes: list[Array], whole: Mask, count: int, seed: int) -> Array:
    """Random points in the cells that `whole` marks; none if there are no cells."""
    places = np.argwhere(whole)
    if not len(places) or not count:
        return np.zeros((0, len(axes)))
    random = np.random.default_rng(seed)
    chosen = places[random.integers(len(places), size=count)]
    shares = random.uniform(size=chosen.shape)
    return np.stack([a[chosen[:, k]] * (1 - shares[:, k]) + a[chosen[:, k] + 1] * shares[:, k] for k, a in enumerate(axes)], axis=-1)


def _require_decay(local: Local, where: str) -> None:
    """Raise unless the linearised motion decays in all directions except those that lead to other steady motions."""
    stable, verdict = local.verdict()
    if not local.steady or stable is not True:
        raise StateError(
            "the state is not an equilibrium whose linearised motion decays.",
            where=where,
            why=verdict,
            hint=(Ask("equilibria"), " finds equilibria, ", Ask("linearize"), " says whether they decay"),
        )


def _slowest(local: Local) -> float:
    """The rate of the slowest decay."""
    values, doubts = local.spectrum
    return float(np.min(-values.real[np.abs(values) > doubts]))


def _others(local: Local, equilibrium: Any, names: tuple[str, ...], where: str) -> tuple[dict[str, Any], dict[str, float]]:
    """The values of independent jets outside the box, and guesses for those that the constraints determine."""
    state = [z.name for z in directions(local.problem.system)]
    groups = local.problem.system.equations.system.groups
    given = dict(equilibrium.fixed if hasattr(equilibrium, "fixed") else equilibrium)
    values = dict(zip(state, map(float, local.view.spot.x), strict=True))
    turning = {q.name for group in groups.values() for q in group.components}
    strange = [name for name in names if name not in state or name in turning]
    if strange:
        what = f"{strange[0]} is not a jet of the state that can be given."
        raise UsageError(what, where=where, hint=f"jets of the state: {' '.join(z for z in state if z not in turning)}")
    chosen: list[str] = []
    rows = np.zeros((0, local.view.tangent.shape[1]))
    tangent = local.view.tangent / np.maximum(np.abs(local.view.tangent).max(axis=0, initial=0.0), ALMOST_ZERO)
    free = [state[i] for i in local.chart.free]
    for name in [*names, *[z for z in free if z not in names]]:
        more = np.vstack([rows, tangent[state.index(name)]])
        if rank_of(more, _INDEPENDENT_JET, size=max(float(np.abs(more).max()), ALMOST_ZERO)) > len(rows):
            rows = more
            chosen.append(name)
        elif name in names:
            hint = f"independent jets here: {' '.join(z for z in free if z not in turning)}"
            raise UsageError(f"{name} follows from the other jets of the box by the constraints.", where=where, hint=hint)
    others = {name: values[name] for name in chosen if name not in names and name not in turning}
    others |= {name: given[name] for name in groups if name in given}
    guesses = {name: values[name] for name in state if name not in chosen and name not in turning}
    return others, guesses


def _ranges(box: Any, where: str) -> dict[str, tuple[float, float]]:
    if not isinstance(box, Mapping) or not box:
        raise UsageError(
            "a box is a mapping from names to ranges.", where=where, hint=SetArgument("box", {"theta": (-1, 1), "theta'": (-2, 2)})
        )
    return {str(name): read_range(str(name), side, where) for name, side in box.items()}


def _numbers(grid: Any, sides: int, where: str) -> tuple[int, ...]:
    given = [grid] * sides if isinstance(grid, int | np.integer) and not isinstance(grid, bool) else list(grid) if np.iterable(grid) else []
    if len(given) != sides or not all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 2 for n in given):
        raise UsageError(f"grid={grid!r} is not a number of values, or one for each of {sides}.", where=where, hint=SetArgument("grid", 41))
    if np.prod([float(n) for n in given]) > _MOST_STATES:
        hint = f"at most {_MOST_STATES} in all"
        raise UsageError(f"the grid has {np.prod([float(n) for n in given]):.3g} states.", where=where, hint=hint)
    return tuple(int(n) for n in given)


def _percent(part: float) -> str:
    return f"{100 * part:.3g} %"
