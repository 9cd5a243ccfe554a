"""Starts and motions mapped by a Morphism, and a numerical comparison of both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.core.errors import StateError, UsageError
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Jet, Place
from chetaev.mechanics.equations import Equations
from chetaev.numerics.evaluation.values_at import values_at
from chetaev.numerics.flow.prolongation import prolongation
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.transforms.tools.morphism import Morphism

Array = NDArray[np.float64]
_TIMES_COMPARED = 101
"""Number of times at which two motions are compared. Fewer may miss a difference; each costs an evaluation of both."""
_SHADOW = 1e-6
"""Largest relative difference between a reconstructed motion and the motion of the target, unless the square root of the tolerance is
larger.
"""


@dataclass(frozen=True, repr=False)
class Image:
    """A motion of the source with the names of the target: `image["v1'"]` is an array over `image.t`."""

    morphism: Morphism
    motion: Trajectory

    @property
    def t(self) -> Array:
        """The times of the motion."""
        return self.motion.t

    def __getitem__(self, name: str) -> Array:
        return self.motion.reader.values(self.morphism.pulled_back(name), self.motion.t, self.motion.states)

    def at(self, t: Any) -> dict[str, Array]:
        """All unknowns of the target and their velocities, at any times."""
        section = self.motion.at(np.atleast_1d(t))
        wanted = _compared(self.morphism.target, self.morphism.to_target)
        return {z.name: self.motion.reader.values(self.morphism.pulled_back(z), section.t, section.states) for z in wanted}

    def __repr__(self) -> str:
        return f"<motion of {self.morphism.source.system.label} read on {self.morphism.target.system.label}>"


@public
@dataclass(frozen=True, repr=False)
class Agreement:
    """The largest differences between the two sides over a motion, relative to the size of each quantity (at least 1)."""

    forward: Frozen[str, float]
    """Differences between the image of the source's motion and the target's motion."""
    backward: Frozen[str, float]
    """Differences between the image of the target's motion and the source's motion."""
    motion: Trajectory
    """The target's motion."""

    @property
    def largest(self) -> float:
        """The largest difference in either direction."""
        return max([*self.forward.values(), *self.backward.values()], default=0.0)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"largest difference {self.largest:.1e}"]
        lines += [f"  {name}  {size:.1e}" for name, size in self.forward.items()]
        lines += [f"  back, {name}  {size:.1e}" for name, size in self.backward.items()]
        return "\n".join(lines)


def carried(morphism: Morphism, given: Any, **values: Any) -> State | Image:
    """The image of a motion or of a start."""
    if isinstance(given, Trajectory):
        _require_motion_of(morphism, given)
    return Image(morphism, given) if isinstance(given, Trajectory) else _start(morphism, given, **values)


def agreement(morphism: Morphism, motion: Trajectory, *, tolerance: float = 1e-12, points: int = _TIMES_COMPARED) -> Agreement:
    """Simulate the target from the image of the motion's first state, and compare the two motions at the same times."""
    _require_motion_of(morphism, motion)
    times, states = _compared_at(motion, points)
    values = _values_of(motion)
    at_first = dict(zip(motion.jets, states[0], strict=False))  # a state may have the work done behind the jets
    first = State({z.name: float(at_first[z]) for z in _stated(morphism.source, motion.jets)})
    start = _start(morphism, first, t=float(times[0]), **values)
    there = {"parameters": target_parameters(morphism, first, t=float(times[0]), **values), "inputs": values["inputs"]}
    other = simulate(morphism.target, start, times, tolerance=tolerance, **there)
    if other.outcome is not Outcome.FINISHED:
        raise StateError(f"the motion of the target ended early: {other.message}", where=f"check of {morphism.target.system.label}")
    forward = {
        z.name: _difference(motion.reader.values(morphism.pulled_back(z), times, states), other[z.name])
        for z in _compared(morphism.target, morphism.to_target)
    }
    backward = {
        z.name: _difference(other.reader.values(morphism.pushed_forward(z), times, other.states), motion.reader.values(z, times, states))
        for z in _compared(morphism.source, morphism.to_source)
    }
    entries = [z for group in _shared_groups(morphism) for z in group.chart]
    forward |= {z.name: _difference(motion.reader.values(z, times, states), other.reader.values(z, times, other.states)) for z in entries}
    return Agreement(Frozen(forward), Frozen(backward), other)


def reconstructed(morphism: Morphism, motion: Trajectory, given: Any) -> Trajectory:
    """The motion of the source over the same time, from the start of the target's `motion` completed by `given`.

    Raises a StateError if its image differs from `motion` by more than the tolerance allows.
    """
    back = morphism.inverse
    _require_motion_of(back, motion)
    times, states = _compared_at(motion, _TIMES_COMPARED)
    values = _values_of(motion)
    first = State({z.name: float(v) for z, v in zip(motion.jets, states[0], strict=False) if z in _stated(morphism.target, motion.jets)})
    start = _start(back, first, t=float(times[0]), **values)
    more = given if isinstance(given, State) else State({} if given is None else given)
    whole = State({**start.fixed, **more.fixed}, {**start.guess, **more.guess})
    there = {"parameters": target_parameters(back, first, t=float(times[0]), **values), "inputs": values["inputs"]}
    kept = (float(times[0]), float(times[-1])) if motion.reader.dense else times
    found = simulate(morphism.source, whole, kept, tolerance=motion.tolerance, **there)
    if found.outcome is not Outcome.FINISHED:
        raise StateError(f"the motion of the source ended early: {found.message}", where=f"reconstruct {morphism.source.system.label}")
    at = found.at(times).states if found.reader.dense else found.states
    for z in _compared(morphism.target, morphism.to_target):
        off = _difference(found.reader.values(morphism.pulled_back(z), times, at), motion.reader.values(z, times, states))
        if off > max(_SHADOW, motion.tolerance**0.5):
            raise StateError(
                f"{z.name} of the two motions differs by {off:.1e}.",
                where=f"reconstruct {morphism.source.system.label}",
                why="The image of the reconstructed motion is not the given motion.",
                hint="the same values for both, and a smaller tolerance",
            )
    return found


def _require_motion_of(morphism: Morphism, motion: Any) -> None:
    """Raise a UsageError unless `motion` is a motion of the morphism's source."""
    where = f"map to {morphism.target.system.label}"
    if not isinstance(motion, Trajectory):
        raise UsageError(
            f"check takes a motion, not {type(motion).__name__}.",
            where=where,
            hint=InPython("morphism.check(simulate(morphism.source, start, t, parameters=...))"),
        )
    if (motion.equations.lowered, motion.equations.principle) != (morphism.source.lowered, morphism.source.principle):
        raise UsageError(
            f"this is a motion of {motion.equations.system.label} under {motion.equations.principle}; "
            f"the map starts from {morphism.source.system.label} under {morphism.source.principle}.",
            where=where,
            hint=(
                InPython("morphism.backward(motion)"),
                " for a motion of the target; otherwise ",
                Ask("simulate", "morphism.source, ..."),
            ),
        )


def target_parameters(
    morphism: Morphism,
    start: Any,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
) -> dict[str, float]:
    """The parameters of the target: those that the source has too, and constants of motion at a start."""
    names = {p.name for p in morphism.target.system.parameters}
    known = {name: v for name, v in (parameters or {}).items() if name in names}
    if not morphism.constants:
        return known
    values = values_at(morphism.source, start, list(morphism.constants.values()), parameters=parameters, t=t, inputs=inputs)
    return known | {p.name: v for p, v in zip(morphism.constants, values, strict=True)}


def _start(
    morphism: Morphism,
    start: Any,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
) -> State:
    """The image of a start: the jets of the target's state that the map or its choices determine."""
    known = {z.base: z for z in morphism.to_target}
    kept = {q.base for group in _shared_groups(morphism) for q in group.components}
    chosen = {z.name: e for z, e in morphism.chosen.items()}
    wanted: dict[str, Expr] = {}
    for z in _stated(morphism.target, _state(morphism.target)):
        if z.name in chosen:
            wanted[z.name] = chosen[z.name]
        elif isinstance(z, Place) and set(z.components) <= kept:
            wanted[z.name] = z
        elif z.base in known:
            wanted[z.name] = morphism.pulled_back(z)
    lost = [q.base for q in morphism.target.system.coordinates if q.base not in known and q.name not in chosen]
    if lost:
        raise UsageError(
            f"the map does not determine {' '.join(lost)}.",
            where=f"map to {morphism.target.system.label}",
            why="No formula for these coordinates is known.",
            hint=("change_coordinates or restrict with ", SetArgument("inverse", {...: ...})),
        )
    values = values_at(morphism.source, start, list(wanted.values()), parameters=parameters, t=t, inputs=inputs)
    return State(dict(zip(wanted, values, strict=True)))


def _shared_groups(morphism: Morphism) -> list[GroupCoordinate]:
    """The group coordinates that both sides have, each mapped to itself."""
    here, there = morphism.source.system.groups, morphism.target.system.groups
    both = [group for name, group in here.items() if there.get(name) == group and not group.reduced]
    return [group for group in both if all(morphism.to_target.get(q) == q for q in group.components)]


def _compared_at(motion: Trajectory, points: int) -> tuple[Array, Array]:
    """Equally spaced times and the states at them; the stored points if the motion has no dense output."""
    if not motion.reader.dense:
        return motion.t, motion.states
    times = np.linspace(motion.t[0], motion.end[0], points)
    return times, motion.at(times).states


def _state(equations: Equations) -> tuple[Jet, ...]:
    system = prolongation(equations)
    return () if system is None else system.structure.state


def _stated(equations: Equations, jets: Sequence[Jet]) -> list[Jet]:
    """The jets that a start may contain: all except rates of the multipliers of reactions, which follow from the equations."""
    return [z for z in jets if not (z.order and equations.lowered.is_reaction(z))]


def _compared(equations: Equations, table: Mapping[Jet, Expr]) -> list[Jet]:
    """The unknowns that a map determines; coordinates with their velocities."""
    found = []
    turning = equations.system.frame.turning
    for z in table:
        if z not in turning:
            found.append(z)
        if z in equations.system.coordinates:
            found.append(z.d())
    return found


def _difference(a: Array, b: Array) -> float:
    return float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(b)))))


def _values_of(motion: Trajectory) -> dict[str, Any]:
    binding = motion.reader.binding
    return {
        "parameters": {z.name: v for z, v in binding.parameters.items()},
        "inputs": dict(binding.inputs),
    }
