"""Differences between data and motions, with their derivatives by the unknown values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError, InitialError, UsageError, about
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.identification.experiments import Experiment
from chetaev.numerics.identification.work import Work
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Outcome, Trajectory

_RELATIVE_TOLERANCE = 1e-2
"""The tolerance of motions relative to that of the model: the search compares derivatives with differences of residuals."""
_LARGEST_TOLERANCE = 1e-10
"""The largest tolerance of motions in a fit, for the same reason."""
_MORE_STEPS = 50
"""Limit of the steps of a motion, in multiples of those with the first values. A motion with more is unlike the data, such as a vakonomic
motion with a multiplier of a million, and could take minutes."""
_LEAST_LIMIT_OF_STEPS = 5000
"""The smallest limit of the steps of a motion."""
NO_MOTION_RESIDUAL = 1e6
"""The residual of unknowns with which there is no motion, in units of the data, large enough that they are never accepted."""


@dataclass(frozen=True)
class Unknown:
    """A value to be found: its name, the first value, and bounds."""

    name: str
    first: float
    low: float = -np.inf
    high: float = np.inf
    spread: float = 0.0
    """The typical size of a multiplier, for random first values; 0 to use the first value as the size."""

    @property
    def bounded(self) -> bool:
        """Whether both bounds are finite."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


@dataclass(frozen=True)
class Problem:
    """A model with unknown values, and data."""

    models: tuple[Model, ...]
    """The model of each experiment; they differ in their starts and values."""
    equations: Equations
    unknowns: tuple[Unknown, ...]
    experiments: tuple[Experiment, ...]
    t: tuple[float, float]
    where: str
    max_steps: int | None = None
    """The most steps of a motion, where the model has no limit of its own."""
    work: Work = field(default_factory=Work, repr=False, compare=False)
    """The count of the motions computed so far."""
    _known: dict[bytes, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def names(self) -> list[str]:
        """The names of the unknowns."""
        return [u.name for u in self.unknowns]

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The lower and the upper bounds of the unknowns."""
        return np.array([u.low for u in self.unknowns]), np.array([u.high for u in self.unknowns])

    def values_of(self, x: Array) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, map(float, x), strict=True))

    @property
    def model(self) -> Model:
        """The model of the first experiment."""
        return self.models[0]

    def given(self, x: Array, model: Model) -> tuple[dict[str, Any], State]:
        """The parameters and the start of a model with the unknowns at x."""
        parameters, fixed = dict(model.parameters), dict(model.start.fixed)
        own = {p.name for p in self.equations.system.parameters}
        keys = {spell(str(key)): key for key in fixed}
        guess = dict(model.start.guess)
        for name, v in self.values_of(x).items():
            if name in own:
                parameters[name] = v
            else:
                fixed[keys.get(name, name)] = v
                guess = {key: w for key, w in guess.items() if spell(str(key)) != name}
        return parameters, State(fixed, guess)

    def motions(self, x: Array, until: float | None = None, slopes: bool = True) -> list[Trajectory]:
        """The motions of all experiments."""
        found: list[Trajectory] = []
        known: dict[tuple[float, int], Trajectory] = {}
        for one, model in zip(self.experiments, self.models, strict=True):
            last = float(one.t[-1]) if until is None else min(float(one.t[-1]), until)
            place = (last, id(model))
            if place not in known:
                end = last if last != self.t[0] else self.t[1]
                parameters, start = self.given(x, model)
                known[place] = self.motion(model, parameters, start, (self.t[0], end), self.names if slopes else None)
            found.append(known[place])
        return found

    def motion(
        self, model: Model, parameters: Mapping[str, Any], start: State, interval: tuple[float, float], slopes: Sequence[str] | None
    ) -> Trajectory:
        """A motion of a model from a start, with the settings of the model, and its slopes.

        Raises:
            KeyboardInterrupt: If the user interrupts the motion; the search would take half a motion for one that fits badly.
        """
        tolerance = self.model.tolerance if isinstance(self.model.tolerance, float | int) else self.model.tolerance[0]
        settings = {name: v for name, v in model.run.items() if name not in ("tolerance", "slopes", "keep")}
        settings["max_steps"] = settings.get("max_steps") or self.max_steps
        found = simulate(
            self.equations,
            start,
            interval,
            parameters=parameters,
            inputs=dict(model.inputs),
            tolerance=min(_LARGEST_TOLERANCE, _RELATIVE_TOLERANCE * float(tolerance)),
            slopes=slopes,
            progress=False,
            **settings,
        )
        if found.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        self.work.count()
        return found

    def with_limit(self, x: Array) -> Problem:
        """A copy with a limit of steps derived from the motions at `x`, if there are such motions."""
        try:
            motions = self.motions(x, slopes=False)
        except ChetaevError:
            return self
        steps = max(motion.counts["accepted"] for motion in motions)
        return replace(self, max_steps=max(_LEAST_LIMIT_OF_STEPS, _MORE_STEPS * steps))

    def residuals(self, x: Array, scales: Mapping[tuple[int, str], float], until: float | None = None) -> tuple[Array, Array]:
        """Weighted differences between motions and data, and their derivatives; `NO_MOTION_RESIDUAL` where there is no motion."""
        key = x.tobytes() + np.float64(np.inf if until is None else until).tobytes() + repr(sorted(scales.items())).encode()
        if key not in self._known:
            self._known.clear()
            self._known[key] = self._residuals(x, scales, until)
        found: tuple[Array, Array] = self._known[key]
        return found

    def _residuals(self, x: Array, scales: Mapping[tuple[int, str], float], until: float | None) -> tuple[Array, Array]:
        count = sum(int((one.t <= (np.inf if until is None else until)).sum()) * len(one.columns) for one in self.experiments)
        nothing = np.full(count, NO_MOTION_RESIDUAL), np.zeros((count, len(x)))
        try:
            motions = self.motions(x, until)
        except ChetaevError:
            return nothing
        parts, slopes = [], []
        for k, (one, motion) in enumerate(zip(self.experiments, motions, strict=True)):
            some = one.t <= (np.inf if until is None else until)
            times = one.t[some]
            if not motion.outcome.reached_end or (len(times) and times[-1] > motion.end[0]):
                return nothing
            at = motion.at(times)
            for name, column in one.columns.items():
                weight = (one.weights[name][some] if one.weights is not None else 1.0) / scales.get((k, name), 1.0)
                parts.append((at[name] - column[some]) * weight)
                slopes.append(at.all_slopes(name) * np.reshape(weight, (-1, 1)))
        found, jacobian = np.concatenate(parts), np.concatenate(slopes)
        self.work.note_residual(float(np.sqrt(np.mean(found**2))))
        return (found, jacobian) if np.all(np.isfinite(found)) and np.all(np.isfinite(jacobian)) else nothing

    def model_at(self, x: Array) -> Model:
        """The model with the unknowns at x."""
        parameters, start = self.given(x, self.model)
        return replace(self.model, parameters=parameters, start=start, t=self.t)


def read_unknowns(model: Model, equations: Equations, unknown: Any, where: str) -> tuple[Unknown, ...]:
    """The unknowns of a user: `{"a": (0, 1), "J": None}`; a number is a first value."""
    if not isinstance(unknown, Mapping) or not unknown:
        raise UsageError(
            f"unknown={unknown!r} names no values to be found.", where=where, hint=SetArgument("unknown", {"a": (0, 1), "J": None})
        )
    return tuple(_unknown(spell(str(name)), spec, model, equations, where) for name, spec in unknown.items())


def _unknown(name: str, spec: Any, model: Model, equations: Equations, where: str) -> Unknown:
    known = {p.name for p in equations.system.parameters}
    start = {spell(str(key)): v for key, v in {**model.start.guess, **model.start.fixed}.items()}
    if name not in known and name not in start and not _is_jet(name, equations):
        listed = " ".join([*sorted(known), *start])
        raise UsageError(
            f"unknown: {name} is neither a parameter nor an initial value.", where=about(where, "unknown", name), hint=f"known: {listed}"
        )
    values = {p: number(model.parameters[p.name], {}, where, UsageError) for p in equations.system.parameters if p.name in model.parameters}
    own = model.parameters.get(name) if name in known else start.get(name)
    first = None if own is None else number(own, values, f"{where}, {name}", InitialError)
    low, high = -np.inf, np.inf
    if isinstance(spec, Sequence) and not isinstance(spec, str) and len(spec) == 2:
        low, high = (
            b if v is None else number(v, values, f"{where}, bounds of {name}", UsageError) for v, b in zip(spec, (low, high), strict=True)
        )
        if not low < high:
            raise UsageError(
                f"unknown: the bounds of {name} are {low:g} and {high:g}.",
                where=about(where, "unknown", name),
                hint="a smaller and a larger number",
            )
    elif spec is not None:
        first = number(spec, values, f"{where}, {name}", UsageError)
    if first is None or not low <= first <= high:
        if not (np.isfinite(low) and np.isfinite(high)):
            what = (
                f"unknown: {name} has no first value."
                if first is None
                else f"unknown: the first value {first:g} of {name} is out of bounds."
            )
            raise UsageError(what, where=where, hint=("a value in the model, or bounds: ", InPython(f'{{"{name}": (0, 1)}}')))
        first = 0.5 * (low + high)
    return Unknown(name, first, low, high)


def _is_jet(name: str, equations: Equations) -> bool:
    bases = {z.base for z in equations.unknowns} | {q.base for group in equations.system.groups.values() for q in group.components}
    return name.rstrip("'") in bases
