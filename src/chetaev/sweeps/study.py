"""Run one chunk of a sweep: its motions by `simulate_many`, and their measures."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import ChetaevError, UsageError
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.ensemble import Ensemble, simulate_many
from chetaev.numerics.graphs.binding import inputs_of
from chetaev.numerics.machine.processor import name_and_features
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.smooth_pieces.events import On
from chetaev.sweeps.exponents import Lift
from chetaev.sweeps.measures import Count, LargestLyapunov, Measure, Watched, check_measures, rounds_of, watched_events

Array = NDArray[np.float64]
Codes = NDArray[np.uint8]

OUTCOMES = tuple(str(outcome) for outcome in Outcome)
"""The outcomes by their codes in the array `outcome` of a store; a change of the order would misread old stores."""
_REACHED = tuple(str(outcome) for outcome in Outcome if outcome.reached_end)
_TRIED_PART = 1e-6
"""Part of the interval over which motions are tried before a study begins, to find faults of the model."""


@dataclass(frozen=True, eq=False)
class Study:
    """A model and its measures; objects that do not depend on the chunk are made once."""

    model: Model
    measures: Frozen[str, Measure]
    where: str

    @cached_property
    def equations(self) -> Equations:
        """The equations of the motion."""
        return derive(self.model)

    @cached_property
    def rounds(self) -> list[dict[str, Watched]]:
        """The events of each run over a chunk."""
        return rounds_of(self.measures, self.model, self.equations, self.where) or [{}]

    @property
    def one_by_one(self) -> bool:
        """Whether `simulate` runs the members one after the other, which takes milliseconds per member."""
        return bool(self.model.events) or any(isinstance(measure, Count | On) for measure in self.measures.values())

    @cached_property
    def own_events(self) -> list[Watched]:
        """The events of the model itself."""
        return watched_events(self.model.events, self.equations, self.where)

    @cached_property
    def lift(self) -> Lift:
        """The tangent lift of the equations."""
        return Lift.of(self.equations)

    def check(self, columns: Mapping[str, Array]) -> None:
        """Raise an error for names and measures that do not fit the model; `columns` are the values of one point."""
        if self.model.conserve is not None:
            raise UsageError("the model uses conserve, which ensembles do not support.", where=self.where, hint="a model without conserve")
        if any(isinstance(m, LargestLyapunov) for m in self.measures.values()):
            self._check_lift()
        check_measures(self.measures, self.model, self.equations, self.where)
        t0, t1 = self.model.interval
        short = replace(self._model_with(columns), t=(t0, t0 + _TRIED_PART * (t1 - t0)), events=())
        try:
            simulate_many(short, parameters=self._parameters(columns), progress=False)
        except ChetaevError as fault:
            fault.where = self.where
            raise

    def _check_lift(self) -> None:
        """Raise an error where the tangent lift does not describe neighbouring motions."""
        model, why = self.model, ""
        if model.branch is not None or model.gauge:
            why = "The model chooses a branch or a gauge, which its tangent lift does not support."
        elif any(isinstance(event, On) and (event.terminal or event.reset) for event in model.events):
            why = "Events of the model end or change its motion, and neighbouring motions meet them at other times."
        elif smooth(self.equations, Frozen(inputs_of(self.equations.system, model.inputs, self.where))).modes:
            why = "The forces have corners, which neighbouring motions pass at other times."
        if why:
            raise UsageError("largest_lyapunov is not available for this model.", where=self.where, why=why, hint="another measure")

    def run(self, columns: Mapping[str, Array], threads: int | None, progress: bool | None = False) -> tuple[dict[str, Array], Codes]:
        """The measures of the motions at the points of `columns`, and the codes of their outcomes."""
        runs = [self._run(columns, events, threads, progress) for events in self.rounds]
        size, first = len(runs[0]), runs[0]
        found: dict[str, Array] = {}
        words = first.outcome.astype(str)
        good = np.isin(words, _REACHED)
        for name, measure in self.measures.items():
            if isinstance(measure, str):
                found[name] = np.array(first.final[measure], dtype=float)
            elif isinstance(measure, LargestLyapunov):
                found[name], lifted = self._exponents(first, measure, threads)
                words = np.where(words == Outcome.FINISHED, lifted, words)
            else:
                ensemble, watched = next((e, r[name]) for e, r in zip(runs, self.rounds, strict=True) if name in r)
                times = [[event.t for event in ensemble.events[k] if event.text == watched.text] for k in range(size)]
                if isinstance(measure, Count):
                    found[name] = np.array([float(len(met)) for met in times])
                else:
                    found[name] = np.array([met[0] if met else np.nan for met in times])
            found[name][~good] = np.nan
        met, places = np.unique(words, return_inverse=True)
        return found, np.array([OUTCOMES.index(word) for word in met], dtype=np.uint8)[places]

    def _run(self, columns: Mapping[str, Array], watched: Mapping[str, Watched], threads: int | None, progress: bool | None) -> Ensemble:
        known = {event.text for event in self.own_events}
        added = {w.text: w.event for w in watched.values() if w.text not in known}
        model = self._model_with(columns)
        events = [*model.events, *added.values()]
        return simulate_many(replace(model, events=tuple(events)), parameters=self._parameters(columns), threads=threads, progress=progress)

    def _model_with(self, columns: Mapping[str, Array]) -> Model:
        """The model with the starts of a chunk; parameters are passed separately."""
        swept = {name: values for name, values in columns.items() if name not in self._names}
        own = self.model.start
        fixed = {key: v for key, v in own.fixed.items() if spell(str(key)) not in swept}
        guess = {key: v for key, v in own.guess.items() if spell(str(key)) not in swept}
        t0, t1 = self.model.interval
        return replace(self.model, start=State({**fixed, **swept}, guess), t=(float(t0), float(t1)), slopes=(), keep=None)

    def _parameters(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        return {name: values for name, values in columns.items() if name in self._names}

    @cached_property
    def _names(self) -> set[str]:
        return {str(p.name) for p in self.model.system.parameters}

    def _exponents(self, ensemble: Ensemble, measure: LargestLyapunov, threads: int | None) -> tuple[Array, NDArray[Any]]:
        model = self.model
        settings = {
            "tolerance": model.tolerance,
            "max_step": model.max_step,
            "max_steps": model.max_steps,
            "threads": threads,
            "method": model.method,
        }
        t0, t1 = model.interval
        return self.lift.largest(
            ensemble,
            (float(t0), float(t1)),
            measure.segments,
            {**settings, "inputs": dict(model.inputs), "scale": dict(model.scale) or None},
        )


def processor() -> str:
    """The name and the features of the processor, on which the last bits of results depend."""
    return " ".join(name_and_features())


_ONE_AT_A_TIME = threading.Lock()
"""Makes the chunks of a process run one after the other; each may use several threads."""


@lru_cache(maxsize=8)
def _study(recipe: bytes) -> Study:
    """A study on a worker, made once for all its chunks."""
    model, measures, where = pickle.loads(recipe)  # noqa: S301 - made by `recipe_of` in the process that started the sweep
    return Study(model, measures, where)


def recipe_of(study: Study) -> bytes:
    """A study as bytes for workers."""
    return pickle.dumps((study.model, study.measures, study.where))


def run_chunk(recipe: bytes, columns: Mapping[str, Array], threads: int | None) -> tuple[dict[str, Array], Codes, str]:
    """Run one chunk on a worker; return measures, codes of outcomes, and the worker's processor."""
    with _ONE_AT_A_TIME:
        found, codes = _study(recipe).run(columns, threads)
    return found, codes, processor()


def plain_settings(model: Model) -> dict[str, Any]:
    """The settings of the runs as plain data, for readers of the store."""
    return {
        "t": [float(model.interval[0]), float(model.interval[1])],
        "tolerance": model.tolerance,
        "method": str(model.method or "explicit"),
    }
