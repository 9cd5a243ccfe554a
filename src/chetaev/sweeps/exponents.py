r"""The largest Lyapunov exponent of every member of an ensemble.

`simulate_many` runs the tangent lift, a system for a motion together with one variation $v$. The interval is divided into segments, at
whose ends the variation is normalised; the exponent is the sum of the logarithms of its lengths, divided by the time (G. Benettin,
L. Galgani, J.-M. Strelcyn, Phys. Rev. A 14 (1976) 2338), without the first tenth. The result of a member does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.state import State
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.numerics.ensemble import Ensemble, simulate_many
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.transforms.tangent import Tangent, tangent

Array = NDArray[np.float64]

_MORE = 20
"""Factor by which the number of segments is increased for a member whose variation grew too large in one of them."""
_SEGMENTS_PER_SKIPPED = 10
"""One segment in this many, at the beginning, does not count: there the variation turns to the direction of largest growth."""
_LEAST_SIZE_IN_ORDER = 1e-2
"""Least size of a jet relative to the largest of its order, which sets the unit of jets that stay near zero."""


@dataclass(frozen=True, eq=False)
class Lift:
    """The tangent lift of a system: its motion with one variation."""

    morphism: Tangent

    @staticmethod
    def of(equations: Equations) -> Lift:
        """The tangent lift of `equations`."""
        found = tangent(equations)
        assert isinstance(found, Tangent)  # noqa: S101 - the only type that tangent returns
        return Lift(found)

    def largest(self, ensemble: Ensemble, t: tuple[float, float], segments: int, settings: Mapping[str, Any]) -> tuple[Array, NDArray[Any]]:
        """The exponents of members, NaN where a motion failed, and the outcomes of the lifted motions."""
        found, words = np.full(len(ensemble), np.nan), ensemble.outcome.astype(str).astype(object)
        some = np.flatnonzero(ensemble.outcome == Outcome.FINISHED)
        for parts in (segments, segments * _MORE):
            if not len(some):
                break
            values, outcomes = self._over_segments(ensemble, some, t, parts, settings)
            found[some] = values
            words[some] = outcomes
            some = some[~np.isfinite(values)]
        return found, words.astype(str)

    def _over_segments(
        self, ensemble: Ensemble, members: NDArray[np.int64], t: tuple[float, float], segments: int, settings: Mapping[str, Any]
    ) -> tuple[Array, list[str]]:
        jets = ensemble.start.flows[0].state
        places = {self.morphism.image(z).name: ensemble.start[z.name][members] for z in jets}
        values = {name: v[members] for name, v in ensemble.parameters.items()}
        sizes: dict[str, Array] = {}
        start: State = State(places)
        times = np.linspace(t[0], t[1], segments + 1)
        logs, outcomes = np.zeros(len(members)), [str(Outcome.FINISHED)] * len(members)
        going = np.arange(len(members))
        aligned = segments // _SEGMENTS_PER_SKIPPED if segments >= _SEGMENTS_PER_SKIPPED else min(1, segments - 1)
        for k in range(segments):
            if k == 0:
                sizes = self._sizes(ensemble, members)
                direction = np.random.default_rng(0).normal(size=len(sizes))
                start = State(places, {name: size * c for (name, size), c in zip(sizes.items(), direction, strict=True)})
            run = simulate_many(
                self.morphism.target,
                start,
                (float(times[k]), float(times[k + 1])),
                parameters={name: v[going] for name, v in values.items()},
                progress=False,
                **settings,
            )
            good = run.outcome == Outcome.FINISHED
            if k == 0 and not aligned:
                logs -= _logarithm(run.start, sizes, going)
            growth = _logarithm(run.final, sizes, going)
            good &= np.isfinite(growth)
            for j in np.flatnonzero(~good):
                outcomes[going[j]] = str(run.outcome[j]) if run.outcome[j] != Outcome.FINISHED else str(Outcome.NOT_CERTIFIED)
            if k >= aligned:
                logs[going] += growth
            logs[going[~good]] = np.nan
            with np.errstate(over="ignore", invalid="ignore"):
                length = np.exp(growth)
                ends = {name: run.final[name] / length if name in sizes else run.final[name] for name in run.final}
            start = State({name: v[good] for name, v in ends.items()})
            going = going[good]
            if not len(going):
                break
        return logs / abs(float(times[-1] - times[aligned])), outcomes

    def _sizes(self, ensemble: Ensemble, members: NDArray[np.int64]) -> dict[str, Array]:
        """Typical sizes of the variations by jet and member: those of the jets over the motion, and 1 for the directions of a group."""
        flow = ensemble.start.flows[0]
        images = {self.morphism.image(z).name for z in flow.state}
        first = simulate_state(self.morphism.target)
        origins = {v.base: q for q, v in self.morphism.variations.items()}
        largest = {name: np.maximum(np.abs(low), np.abs(high))[members] for name, (low, high) in ensemble.extrema.items()}
        found: dict[str, Array] = {}
        for z in (z for z in first if z.name not in images):
            origin = origins.get(z.base)
            found[z.name] = largest.get(origin.d(z.order).name if origin is not None else "", np.ones(len(members)))
        for order in {z.order for z in first}:
            names = [z.name for z in first if z.order == order and z.name in found]
            if names:
                top = np.max([found[name] for name in names], axis=0)
                top = np.where(top > 0, top, 1.0)
                found |= {name: np.maximum(found[name], _LEAST_SIZE_IN_ORDER * top) for name in names}
        return found


def simulate_state(equations: Equations) -> tuple[Jet, ...]:
    """The jets of the state of equations without corners."""
    from chetaev.numerics.flow.compiled import compile_equations

    return compile_equations(equations).flow.state


def _logarithm(columns: Any, sizes: Mapping[str, Array], members: NDArray[np.int64]) -> Array:
    """The logarithm of the length of the variation, in units of the sizes."""
    parts = np.array([columns[name] / sizes[name][members] for name in sizes])
    scale = np.abs(parts).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.log(scale) + 0.5 * np.log(((parts / scale) ** 2).sum(axis=0))
    return found
