"""Multiple shooting: a record in segments, whose first states are unknowns too, and which must join.

The sum of squares of one long motion has many minima, and neighbouring chaotic motions separate exponentially; over a short segment neither
matters. A growing penalty closes the gaps. At the minimum the segments form one motion, and the covariance is that of its unknowns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from chetaev.core.errors import ChetaevError, StateError, UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.state import State
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.prolongation import prolongation
from chetaev.numerics.identification.minimum import covariance_of, minimum, sizes_of
from chetaev.numerics.identification.problem import NO_MOTION_RESIDUAL, Problem
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.verdict.analyze import analyze

_VALUES_PER_UNKNOWN = 4
"""Fewest values of a segment for each number of its first state: fewer do not determine the state."""
_MOST_SEGMENTS = 30
"""The most segments of a record: the work of a search grows with the third power of their number."""
_WEIGHT_OF_PREVIOUS_END = 1e-2
"""Weight of the last state of the previous segment when the first state of a segment is estimated from its data: small compared with that
of the data, but enough to determine the jets that the data leave open."""
_PENALTIES = (1.0, 1e2, 1e4, 1e6)
"""Weights of the gaps between segments, in units of the states' sizes. The first ones let the segments follow the data, the last one
leaves gaps below `_JOINED`."""
_JOINED = 1e-6
"""The largest gap, in units of the states' sizes, between segments that count as one motion."""


@dataclass(frozen=True)
class Segment:
    """A part of a record, with the initial data of its motion."""

    experiment: int
    t: tuple[float, float]
    rows: slice
    """The values of the record in the segment."""
    free: tuple[str, ...] = ()
    """Free initial data, which are unknowns; none for the first segment, which starts as the model does."""
    state: Mapping[str, float] = field(default_factory=dict)
    """Estimates of all jets of its first state, as guesses for the completion of the start."""


@dataclass(frozen=True)
class Shooting:
    """A fit in segments: unknowns are those of the problem, then the free data of each segment after the first."""

    problem: Problem
    segments: tuple[Segment, ...]
    sizes: Mapping[str, float]
    """Typical sizes of the jets of the state, in which gaps are measured."""
    x: Array
    """The values of all unknowns."""

    last_penalty = _PENALTIES[-1:]
    """The penalties of a search that begins with joined segments."""

    def solved(self, scales: Mapping[tuple[int, str], float], penalties: Sequence[float] = _PENALTIES) -> tuple[Shooting, float, str]:
        """The minimum with closed gaps, half the sum of squares of the data, and how the search ended."""
        low, high = self.problem.bounds
        free = np.full(len(self.x) - len(low), np.inf)
        x, message = self.x, ""
        for penalty in penalties:
            known: dict[bytes, tuple[Array, Array]] = {}

            def residuals(v: Array, penalty: float = penalty, known: dict[bytes, tuple[Array, Array]] = known) -> tuple[Array, Array]:
                if v.tobytes() not in known:
                    known.clear()
                    known[v.tobytes()] = self._penalised(v, scales, penalty)
                return known[v.tobytes()]

            bounds = np.concatenate([low, -free]), np.concatenate([high, free])
            x, _, message = minimum(residuals, x, *bounds, self.problem.work.steps, penalty != penalties[-1])
        found = replace(self, x=x)
        off, _, gaps, _ = found.parts(x, scales)
        if not np.abs(gaps).max(initial=0.0) <= _JOINED:
            what = "the segments found for the record do not join to one motion."
            raise StateError(what, where=self.problem.where, hint="other first values, bounds, or another number of segments")
        return found, 0.5 * float(off @ off), message

    def _penalised(self, v: Array, scales: Mapping[tuple[int, str], float], penalty: float) -> tuple[Array, Array]:
        try:
            off, by, gaps, gaps_by = self.parts(v, scales)
        except ChetaevError:
            count = sum(one.size for one in self.problem.experiments) + len(v) - len(self.problem.unknowns)
            return np.full(count, NO_MOTION_RESIDUAL), np.zeros((count, len(v)))
        self.problem.work.note_residual(float(np.sqrt(np.mean(off**2))))
        return np.concatenate([off, penalty * gaps]), np.concatenate([by, penalty * gaps_by])

    def parts(self, v: Array, scales: Mapping[tuple[int, str], float]) -> tuple[Array, Array, Array, Array]:
        """The weighted differences from the data, those between segments, and the derivatives of both.

        Raises:
            StateError: If a segment has no motion.
        """
        off, by, gaps, gaps_by = [], [], [], []
        before: tuple[Trajectory, Array] | None = None
        for segment, own, place in zip(self.segments, self.motions(v), self._places(), strict=True):
            if segment.free and before is not None:
                last, columns = before
                sizes = np.array([self.sizes[name] for name in segment.free])
                gap = np.array([float(last.final[name]) for name in segment.free]) - v[place]
                line = np.zeros((len(gap), len(v)))
                line[:, columns] = np.concatenate([last.final.all_slopes(name).reshape(1, -1) for name in segment.free])
                line[:, place] -= np.eye(len(gap))
                gaps.append(gap / sizes)
                gaps_by.append(line / sizes[:, None])
            columns = self._columns(segment, place)
            values, slopes = differences(self.problem, segment, own, scales)
            line = np.zeros((len(values), len(v)))
            line[:, columns] = slopes
            off.append(values)
            by.append(line)
            before = own, columns
        nothing = np.zeros(0), np.zeros((0, len(v)))
        closed = (np.concatenate(gaps), np.concatenate(gaps_by)) if gaps else nothing
        found = np.concatenate(off), np.concatenate(by), *closed
        if not all(np.all(np.isfinite(part)) for part in found):
            raise StateError("a segment of the record has no finite motion.", where=self.problem.where, hint="other first values")
        return found

    def motions(self, v: Array) -> list[Trajectory]:
        """The motion of each segment.

        Raises:
            StateError: If one does not reach its end.
        """
        found = []
        for segment, place in zip(self.segments, self._places(), strict=True):
            found.append(_motion(self.problem, segment, v[: len(self.problem.unknowns)], v[place]))
        return found

    def residuals_of(self) -> dict[tuple[int, str], Array]:
        """Motion minus data, of each column of each experiment."""
        found: dict[tuple[int, str], list[Array]] = {}
        for segment, own in zip(self.segments, self.motions(self.x), strict=True):
            one = self.problem.experiments[segment.experiment]
            at = own.at(one.t[segment.rows])
            for name, column in one.columns.items():
                found.setdefault((segment.experiment, name), []).append(at[name] - column[segment.rows])
        return {key: np.concatenate(parts) for key, parts in found.items()}

    @property
    def columns(self) -> list[str]:
        """The column of each value, in the order of `parts`."""
        found = []
        for segment in self.segments:
            for name in self.problem.experiments[segment.experiment].columns:
                found += [name] * (segment.rows.stop - segment.rows.start)
        return found

    def covariance(
        self, scales: Mapping[tuple[int, str], float], variances: Callable[[Array], Array]
    ) -> tuple[Array, list[dict[str, float]], int]:
        """The covariance of the problem's unknowns in the directions that keep the segments joined, as `covariance_of` gives it.

        Along one long chaotic motion derivatives exceed all digits; in these directions, with the first states as unknowns, they do not.
        """
        from scipy.linalg import null_space  # reports know fits, but few compute one

        _, by, _, gaps_by = self.parts(self.x, scales)
        count = len(self.problem.unknowns)
        sizes = [self.sizes[name] for segment in self.segments for name in segment.free]
        units = np.concatenate([sizes_of(self.x[:count]), sizes])
        along = null_space(gaps_by * units) * units[:, None]
        return covariance_of(by @ along, self.problem.names, variances, units[:count], along[:count])

    def _places(self) -> list[slice]:
        """The positions of the free data of each segment among the unknowns."""
        ends = np.cumsum([len(self.problem.unknowns), *(len(segment.free) for segment in self.segments)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def _columns(self, segment: Segment, place: slice) -> Array:
        """The unknowns that a segment's motion depends on, in the order of its slopes."""
        own = _shared(self.problem) if segment.free else range(len(self.problem.unknowns))
        return np.array([*own, *range(place.start, place.stop)], dtype=int)


def differences(problem: Problem, segment: Segment, own: Trajectory, scales: Mapping[tuple[int, str], float]) -> tuple[Array, Array]:
    """Weighted differences between the motion of a segment and its data, and their derivatives by the unknowns of the motion."""
    one = problem.experiments[segment.experiment]
    at = own.at(one.t[segment.rows])
    off, by = [], []
    for name, column in one.columns.items():
        weight = (one.weights[name][segment.rows] if one.weights is not None else 1.0) / scales.get((segment.experiment, name), 1.0)
        off.append((at[name] - column[segment.rows]) * weight)
        by.append(at.all_slopes(name) * np.reshape(weight, (-1, 1)))
    return np.concatenate(off), np.concatenate(by)


def shooting_of(problem: Problem, x: Array, scales: Mapping[tuple[int, str], float], count: int | None) -> Shooting:
    """Cut the records into segments, and estimate the first state of each from its data and the end of the previous segment.

    Args:
        problem: The unknowns and the data.
        x: First values of the unknowns.
        scales: Divisors of the residuals, by column.
        count: The number of segments of each record, or None to choose it.

    Returns:
        The segments with first values, which `solved` improves.

    Raises:
        UsageError: If the records cannot be cut into `count` segments.
        StateError: If a segment has no motion with the first values.
    """
    jets, dimension = _state_of(problem)
    segments: list[Segment] = []
    sizes = dict.fromkeys(jets, 0.0)
    for k in range(len(problem.experiments)):
        before: Trajectory | None = None
        for segment in _cut(problem, k, count, dimension):
            if before is not None:
                state = {name: float(before.final[name]) for name in jets}
                segment = replace(segment, free=_free(before, jets, dimension), state=state)
                segment = _estimated(problem, segment, x, scales, sizes)
            before = _motion(problem, segment, x, _values(segment), _independent(problem, segment, x, jets, dimension))
            sizes = {name: max(size, float(np.abs(before[name]).max())) for name, size in sizes.items()}
            segments.append(segment)
    if not any(segment.free for segment in segments):
        raise UsageError(
            "the records are too short for segments.", where=problem.where, hint=(SetArgument("segments", 1), ", which fits one motion")
        )
    sizes = {name: size or 1.0 for name, size in sizes.items()}
    return Shooting(problem, tuple(segments), sizes, np.concatenate([x, *(_values(segment) for segment in segments)]))


def _values(segment: Segment) -> Array:
    return np.array([segment.state[name] for name in segment.free])


def _shared(problem: Problem) -> list[int]:
    """The unknowns that are parameters, which all segments share."""
    own = {p.name for p in problem.equations.system.parameters}
    return [k for k, name in enumerate(problem.names) if name in own]


def _state_of(problem: Problem) -> tuple[list[str], int]:
    """The jets of the state, and the number of free ones."""
    system = prolongation(problem.equations)
    free = analyze(problem.equations).free_data
    if system is None or not free or problem.equations.system.groups:
        what = "states between segments cannot be unknowns: their free initial data are not known as single numbers."
        raise UsageError(what, where=problem.where, hint=(SetArgument("segments", 1), ", which fits one motion"))
    return [z.name for z in system.structure.state], len(free)


def _cut(problem: Problem, k: int, count: int | None, dimension: int) -> list[Segment]:
    """The segments of a record, with about equal numbers of values."""
    one = problem.experiments[k]
    most = min(_MOST_SEGMENTS, one.size // (_VALUES_PER_UNKNOWN * dimension))
    if count is not None and count > most:
        what = f"{count} segments for {one.size} values with {dimension} free initial data."
        raise UsageError(
            what,
            where=problem.where,
            hint=SetArgument("segments", most) if most > 1 else (SetArgument("segments", 1), ", which fits one motion"),
        )
    cuts = [int(c) for c in np.linspace(0, len(one.t), (count or max(most, 1)) + 1)[1:-1]]
    cuts = [c for c in cuts if one.t[c] > max(one.t[c - 1], problem.t[0])]
    begins, ends = [problem.t[0], *(float(one.t[c]) for c in cuts)], [*(float(one.t[c]) for c in cuts), float(one.t[-1])]
    rows = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, len(one.t)], strict=True)]
    return [Segment(k, (begin, end), own) for begin, end, own in zip(begins, ends, rows, strict=True) if end > begin]


def _motion(problem: Problem, segment: Segment, x: Array, free: Array, slopes: Sequence[str] | None = None) -> Trajectory:
    """The motion of a segment, with slopes by the unknowns that it depends on, or by the named ones."""
    model = problem.models[segment.experiment]
    parameters, start = problem.given(x, model)
    if segment.free:
        others = {name: v for name, v in segment.state.items() if name not in segment.free}
        start = State(dict(zip(segment.free, map(float, free), strict=True)), others)
        slopes = slopes or [*(problem.names[k] for k in _shared(problem)), *segment.free]
    found = problem.motion(model, parameters, start, segment.t, slopes or problem.names)
    if not found.outcome.reached_end or found.end[0] < segment.t[1]:
        raise StateError(f"a segment of the record has no motion: {found.message}", where=problem.where, hint="other first values")
    return found


def _independent(problem: Problem, segment: Segment, x: Array, jets: Sequence[str], dimension: int) -> Sequence[str]:
    """Free initial data of a segment's motion; derivatives by them determine the free data of the next segment."""
    if segment.free or dimension == len(jets):
        return segment.free or jets
    _, start = problem.given(x, problem.models[segment.experiment])
    given = [name for name in jets if name in start.fixed]
    return given if len(given) == dimension else analyze(problem.equations).free_data


def _free(before: Trajectory, jets: Sequence[str], dimension: int) -> tuple[str, ...]:
    """The jets that vary most independently in the state at the end of a motion; the others follow from them."""
    from scipy.linalg import qr  # reports know fits, but few compute one

    if dimension == len(jets):
        return tuple(jets)
    slopes = np.concatenate([before.final.all_slopes(name).reshape(1, -1) for name in jets])
    _, _, order = qr((slopes / np.abs(slopes).max(axis=0)).T, pivoting=True, mode="economic")
    return tuple(jets[k] for k in sorted(order[:dimension]))


def _estimated(
    problem: Problem, segment: Segment, x: Array, scales: Mapping[tuple[int, str], float], sizes: Mapping[str, float]
) -> Segment:
    """The segment with a first state fitted to its data, starting from the end of the previous segment, which may be far from the
    record.
    """
    expected = _values(segment)
    units = np.array([sizes[name] or 1.0 for name in segment.free]) / _WEIGHT_OF_PREVIOUS_END
    pull = np.diag(1 / units)

    def residuals(v: Array) -> tuple[Array, Array]:
        try:
            own = _motion(problem, segment, x, v, segment.free)
        except ChetaevError:
            values = (segment.rows.stop - segment.rows.start) * len(problem.experiments[segment.experiment].columns)
            return np.full(values + len(v), NO_MOTION_RESIDUAL), np.zeros((values + len(v), len(v)))
        off, by = differences(problem, segment, own, scales)
        return np.concatenate([off, (v - expected) / units]), np.concatenate([by, pull])

    one = problem.experiments[segment.experiment]
    measured = np.array(
        [float(one.columns[n][segment.rows.start]) if n in one.columns else v for n, v in zip(segment.free, expected, strict=True)]
    )
    free = np.full(len(expected), np.inf)
    tries = [minimum(residuals, first, -free, free, problem.work.steps, quick=True) for first in (measured, expected)]
    found, _, _ = min(tries, key=lambda one: one[1])
    return replace(segment, state={**segment.state, **dict(zip(segment.free, map(float, found), strict=True))})
