r"""Errors of a motion by round-off: suspected by bounds, decided by rates in many digits.

Inside its steps a run adds up bounds of the rounding errors of its rates (`inside.roundings`). Bounds are pessimistic: $1 - \tanh^2 u$ is
exactly zero in doubles for large $u$, and almost so in truth, while its bound is $10^{-16}$ times any factor. So a motion whose bounds are
too large is examined again, at its nodes:

- Time and state are rounded in every step, and the rates have noise: the nonlinear part of their change between states whose last digits
  differ. The errors follow the linearised equations, along which their covariance is computed. A pulse of width $10^{-3}$ at $t = 10^9$ has
  four digits in doubles.
- At some nodes the rates in doubles are compared with those of the graph in many digits (`exact_rates`), in which every number of the text
  is exact. An error up to the effect of rounding the state, $g = |f(y(1 \pm \varepsilon)) - f(y)|$, does not count: a body at rest between
  two large forces has such an error, which moves it by no more than rounding its position does. Here $f$ is in many digits: in doubles it
  would include its own noise. The remaining errors are summed where they have one sign, and as the root of their squares where the sign
  changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from chetaev.core.symbols import TIME
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.flow.exact_rates import Exact, exact_rates, exact_rows
from chetaev.numerics.graphs.arithmetic import dense
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.dop853.tableau import B
from chetaev.numerics.smooth_pieces.piece import Piece

_MOST_LOOKS, _FEWEST_LOOKS = 12, 4
"""Largest and smallest number of nodes at which rates are computed in many digits; the second is also the largest number for one group of
nodes, if one does not decide."""
_MOST_WORK = 20_000
"""Most instructions in many digits for all nodes together; each takes a few microseconds."""
_MOST_NODES = 4096
"""Most nodes at which bounds are computed; of a longer motion every n-th node is taken."""
_ROUNDING_MULTIPLE = 4.0
"""An error of a rate is attributed to the rounding of the state if it is at most this multiple of the effect of its last digits."""
_MOST_COMPONENTS = 24
"""Most components of a state whose covariance is computed, which takes up to a second."""
_DISTANCE_FOR_SLOPES = 2.0**-45
"""Relative distance of states between which slopes are computed: a longer one passes over narrow features, a shorter one has no digits."""
_NOISE_OF_A_STEP = float(np.linalg.norm(B))
"""Error of the state by random errors of the rates in the stages of a step, relative to one of them times the step: 7.6, because the
weights of the stages are as large as 5.8 and cancel."""
_STIFFEST = 64.0
"""Largest product of step and slope: an explicit method takes no steps with a larger one, so the slope is that of a jump."""
_DEVIATIONS_BY_CHANCE = 2.0
"""Size of a sum of errors with random signs, in standard deviations, up to which it may be chance."""
_NEGLIGIBLE = 1e-2
"""Accuracy of exact rates, relative to the allowed error."""
DISTANCE_FOR_TERMS = 2.0**-20
"""Relative distance of states whose difference shows the terms of a row."""
_MANY_STATES = 1000
"""Number of states above which rows are evaluated by optimised code, which takes half the time, and once some milliseconds to compile."""
_SMALLEST_SIZE = 1e-300
"""Smallest size of a component from which a step for differences is derived, so that the step is not zero."""
_SIGNS = np.random.default_rng(7).integers(0, 2, size=(3, 257)) * 2.0 - 1.0
"""Directions in which time and state are moved, the same in every run."""
_DERIVATIVES: Remembered[ca.Function] = Remembered(64)

Figure = tuple[float, int, float]
"""The largest error relative to the size of its component, the component, and the time."""


def rounding_of(piece: Piece, scale: Array, allowed: float, stiff: bool, exact: bool = False) -> Figure | None:
    """Return the largest error of a piece by rounding; None if the piece did not store its steps.

    `scale` has the sizes of the components of the state, and `allowed` is the relative error that is allowed. In a `stiff` piece errors by
    rounding the state decay within a step; with `exact` rates only the state is rounded.
    """
    nodes = np.asarray(piece.run.nodes)
    if len(nodes) < 2 or len(nodes) <= int(piece.run.accepted):
        return None
    every = -(-len(nodes) // _MOST_NODES)
    checked = _Nodes(piece, nodes[::every], np.asarray(piece.run.states)[::every], scale, every)
    by_random_rounding, at = (np.zeros(len(scale)), piece.begin) if stiff else checked.by_random_rounding()
    worst = int(np.argmax(by_random_rounding))
    if by_random_rounding[worst] > allowed or exact:
        return float(by_random_rounding[worst]), worst, at
    errors, at = checked.wrong(allowed, allowed - by_random_rounding)
    total = errors + by_random_rounding
    worst = int(np.argmax(total))
    return float(total[worst]), worst, at


class _Nodes:
    """Nodes of a piece with their rates, bounds of the errors of these, and their changes with the last digits of the state."""

    def __init__(self, piece: Piece, times: Array, states: Array, scale: Array, every: int) -> None:
        self.piece, self.times, self.states, self.every = piece, times, states, every
        setting, compiled, n = piece.setting, piece.setting.compiled, len(scale)
        first = len(compiled.flow.system.equations.system.parameters)
        address = doubting(compiled.rhs, compiled.inputs(setting.binding), first)
        p = setting.parameters(piece.begin, piece.reference)
        self.lengths = np.abs(np.gradient(times))[:, None]

        def at(t: Array, y: Array) -> tuple[Array, Array]:
            found = dop853.evaluate(address, t, y, p, 2 * compiled.size).reshape(len(t), 2, compiled.size)[:, :, :n]
            with np.errstate(invalid="ignore", over="ignore"):
                middle, half = found.mean(axis=1), np.abs(found[:, 0] - found[:, 1]) / 2
            clear = half <= np.abs(middle)
            if not clear.all():  # the middle of the bounds is undefined or has no digits; the rates themselves have values
                given = np.array([setting.parameters(float(at), piece.reference) for at in t]) if setting.flow.inputs else p
                middle = np.where(clear, middle, dop853.evaluate(compiled.rhs.address, t, y, given, compiled.rhs.n_out)[:, :n])
            return middle, half

        self.rates, doubts = at(times, states)
        span = abs(float(times[-1] - times[0]))
        nothing = span * np.nan_to_num(np.maximum(np.abs(self.rates), doubts), nan=0.0, posinf=0.0).max(axis=0)
        self.scale = np.where(scale > 0, scale, np.where(nothing > 0, nothing, 1.0))
        """The sizes of the components; for one that stays zero, the integral of its rates and their errors."""
        self._at = at
        self.changes: list[tuple[Array, Array]] = []
        """Displacements of time and state by their last digits, in several directions, and the changes of the rates."""
        for signs in _SIGNS:
            t, y = times * (1 + EPSILON * signs[0]), states * (1 + EPSILON * np.resize(signs[1:], states.shape[1]))
            with np.errstate(invalid="ignore"):
                self.changes.append((np.column_stack([t - times, (y - states)[:, :n]]), at(t, y)[0] - self.rates))
        self.moves = _largest([change for _, change in self.changes])
        known = np.isfinite(doubts)
        with np.errstate(over="ignore"):
            self.doubts = np.where(known, doubts, self.scale / np.where(self.lengths > 0, self.lengths, np.inf))
        """The bounds of the errors of the rates; if there is none, the error that changes a component by its size."""

    def by_random_rounding(self) -> tuple[Array, float]:
        """The error of each component by rounding of time, state and rates, relative to its size, and the time of the largest.

        Every step adds random rounding errors of time and state, and the noise of its rates. Earlier errors follow the linearised
        equations, along which the covariance of all components is computed. For three kinds of motions only the errors of single steps are
        added, as the root of their squares: states of many components; motions of which not every step is examined, since the slopes at one
        node say nothing about the next hundred; and motions with constraints, since each step is projected, which the slopes do not
        contain.
        """
        n, every = len(self.scale), float(self.every)
        if n > _MOST_COMPONENTS or self.every > 1 or self.piece.setting.compiled.flow.system.hidden():
            squares = np.nan_to_num(self.lengths * self.moves / self.scale, nan=0.0, posinf=np.inf) ** 2
            total = np.sqrt(squares.sum(axis=0) / every)
            return total, float(self.times[int(np.argmax(squares[:, int(np.argmax(total))]))])
        place = np.column_stack([self.times, self.states[:, :n]])
        units = np.array([1.0, *self.scale])  # units in which squares of large jets do not overflow
        rounded = (np.spacing(np.abs(place)) / units) ** 2 / 12
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = np.nan_to_num(self._slopes(place) * (units / units[:, None]), nan=0.0, posinf=0.0, neginf=0.0)
        covariance, worst, at = np.zeros((n + 1, n + 1)), np.zeros(n), self.piece.begin
        with np.errstate(over="ignore", invalid="ignore"):
            beside = [change / units[1:] - np.einsum("kij,kj->ki", slopes[:, 1:], moved / units) for moved, change in self.changes]
            noise = (_NOISE_OF_A_STEP * self.lengths * _largest(beside)) ** 2
        within = (np.arange(1, n + 1),) * 2
        for k, h in enumerate(np.diff(self.times)):
            covariance[np.diag_indices(n + 1)] += rounded[k]
            across = _exponential(h * slopes[k])
            with np.errstate(over="ignore", invalid="ignore"):
                covariance = across @ covariance @ across.T
                covariance[within] += noise[k]
                now = np.sqrt(np.diag(covariance)[1:])
            if not np.isfinite(now).all():
                return np.full(n, np.inf), float(self.times[k])
            if now.max() > worst.max():
                at = float(self.times[k])
            worst = np.maximum(worst, now)
        return worst, at

    def _slopes(self, place: Array) -> Array:
        """The derivatives of (1, rates) by time and state at all nodes.

        They are computed from the formulas: where large terms cancel, as in the elimination along a chain, differences between very close
        states are noise, which would look like instability. Differences are used where formulas have no value, as beyond the range of
        doubles.
        """
        count, n = place.shape
        found, setting = np.zeros((count, n, n)), self.piece.setting
        derivatives = _DERIVATIVES.get(
            setting.compiled, setting.compiled.driving(setting.binding), lambda: _derivatives(setting.compiled, setting.binding)
        )
        p = setting.parameters(self.piece.begin, self.piece.reference)
        values = np.array(derivatives(self.times[None, :], self.states[:, : setting.compiled.size].T, p[:, None]))
        found[:, 1:, :] = values.T.reshape(count, n, n - 1).transpose(0, 2, 1)
        known = np.isfinite(found)
        for j in np.flatnonzero(~known.all(axis=(0, 1))):
            found[:, 1:, j] = np.where(known[:, 1:, j], found[:, 1:, j], self._differences(place, int(j)))
        return found

    def _differences(self, place: Array, j: int) -> Array:
        """Difference quotients of the rates between very close states that differ in component `j` of (time, state)."""
        n, size, moved, states = place.shape[1], np.abs(place[:, j]), place.copy(), self.states.copy()
        moved[:, j] += _DISTANCE_FOR_SLOPES * np.where(size > 0, size, max(float(size.max()), _SMALLEST_SIZE))
        step = moved[:, j] - place[:, j]
        states[:, : n - 1] = moved[:, 1:]
        rates = self._at(moved[:, 0], states)[0]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found: Array = np.nan_to_num((rates - self.rates) / step[:, None], nan=0.0, posinf=0.0, neginf=0.0)
        return found

    def wrong(self, allowed: float, most: Array) -> tuple[Array, float]:
        """The errors of the state by errors of the rates along the piece, relative to each component, and the time of the largest.

        Bounds of the errors, from pairs of doubles, are enough if they do not exceed `most`.
        """
        bounded = self._summed(allowed, bounded=True)
        if bounded is not None and (bounded[0] <= most).all():
            return bounded
        return self._summed(allowed, bounded=False) or (np.zeros(len(self.scale)), self.piece.begin)

    def _summed(self, allowed: float, bounded: bool) -> tuple[Array, float] | None:
        """These errors. If they are `bounded` and pairs of doubles do not give all that matters of the rates, the largest errors that agree
        with their bounds; None if that is not known.
        """
        piece, setting = self.piece, self.piece.setting
        needed = np.zeros(setting.compiled.size)
        needed[: len(self.scale)] = _NEGLIGIBLE * allowed * self.scale / max(abs(piece.end - piece.begin), ALMOST_ZERO)
        needed[len(self.scale) :] = np.inf
        exact = exact_rates(setting.compiled, setting.binding)
        shares, certain = self.lengths * self.doubts / self.scale, True
        sums, sizes, squares = np.zeros(len(self.scale)), np.zeros(len(self.scale)), np.zeros((2, len(self.scale)))
        largest, when = 0.0, piece.begin
        count = int(np.clip(_MOST_WORK // max((1 + len(_SIGNS)) * exact.length, 1), _FEWEST_LOOKS, _MOST_LOOKS))
        weights = np.minimum(shares.max(axis=1), allowed)  # larger bounds carry no more information: every such node may be wrong
        for group, k in _groups(weights, count):
            found = self._errors(exact, k, needed, (shares[group].sum(axis=0) > _NEGLIGIBLE * allowed).any(), bounded)
            if found is None and bounded:
                return None
            if found is None:
                continue
            looks = {k: found[0]}
            certain = certain and found[1]
            here = self._of_group(looks, group)
            if not certain and np.abs(here).max() > allowed:
                return None  # the errors themselves decide at which further nodes they are looked for
            while np.abs(here).max() > allowed and len(looks) < _FEWEST_LOOKS:
                doubtful = int(group[np.argmax(shares[group, np.argmax(np.abs(here).max(axis=0))])])
                again = None if doubtful in looks else self._errors(exact, doubtful, needed, True, bounded)
                if again is None or not again[1]:
                    if bounded and doubtful not in looks:
                        return None
                    break
                looks[doubtful] = again[0]
                here = self._of_group(looks, group)
            usual = np.sqrt((here**2).mean(axis=0))
            sums += here.mean(axis=0)
            sizes += np.abs(here).mean(axis=0)
            squares += [usual**2, usual**2 / (len(group) * self.every)]
            if usual.max() > largest:
                largest, when = float(usual.max()), float(self.times[k])
        if not certain:  # signs may be others
            return sizes + np.sqrt(squares[1]), when
        return np.maximum(np.abs(sums) - _DEVIATIONS_BY_CHANCE * np.sqrt(squares[0]), 0.0) + np.sqrt(squares[1]), when

    def _of_group(self, looks: Mapping[int, Array], group: NDArray[np.int64]) -> Array:
        """The errors of the components over a group of nodes, relative to their sizes; `looks` has errors at some of its nodes, each also
        at neighbouring states.

        The ratio of errors to bounds is taken from the first of these nodes. But along an elimination bounds grow by factors that errors do
        not have: the bounds in a group may differ by ten digits, and the errors by one. So further nodes with larger bounds are used: up to
        the bound of such a node no error exceeds the largest one found, and beyond it errors grow in proportion to the bounds.
        """
        (first, errors), *others = looks.items()
        bounds, known = self.doubts[group], np.where(self.doubts > 0, self.doubts, np.inf)
        part = errors / known[first]
        each = np.abs(part)[:, None, :] * bounds
        seen = np.max([np.abs(found).max(axis=0) for found in looks.values()], axis=0)
        for at, _ in others:
            grown = np.maximum(1.0, bounds / known[at])
            each = np.minimum(each, np.where(self.doubts[at] > 0, seen * grown, np.inf))
        found: Array = np.sign(part) * (each * self.lengths[group] / self.scale).sum(axis=1)
        return found

    def _errors(self, exact: Exact, k: int, needed: Array, beside: bool, bounded: bool) -> tuple[Array, bool] | None:
        """The errors of the rates at node `k`, and with `beside` at neighbouring states, since a single one may be right by chance; None
        without a value at the node. Errors up to the effect of the last digits of the state on the exact rates do not count.

        If they are `bounded`, the rates are those in pairs of doubles, None without a value anywhere; whether their errors do not matter is
        told too. If these do, they are added to the errors.
        """
        setting, n, moved = self.piece.setting, len(self.scale), np.zeros(len(self.scale))
        signs = np.vstack([np.zeros(_SIGNS.shape[1]), *(_SIGNS if beside else ())])
        times = self.times[k] * (1 + EPSILON * signs[:, 0])
        states = self.states[k] * (1 + EPSILON * np.array([np.resize(line[1:], self.states.shape[1]) for line in signs]))
        p = setting.parameters(float(self.times[k]), self.piece.reference)
        rates, found, certain = self._at(times, states)[0], [], True
        first: tuple[Array, Array] | None = None
        for t, y, rate in zip(times.tolist(), states, rates, strict=True):
            p = setting.parameters(t, self.piece.reference) if setting.flow.inputs else p
            right = (exact.enclosed if bounded else exact.with_zeros)(t, y, p, needed)
            if right is None and (first is None or bounded):
                return None
            if right is None:
                continue
            if not np.isfinite(right[1][:n]).all():
                return None
            first = right if first is None else first
            (values, doubts), (others, before) = right, first
            certain = certain and not doubts.any()
            error = rate - values[:n]
            found.append(error + np.copysign(doubts[:n], error))
            moved = np.maximum(moved, np.maximum(np.abs(values - others) - doubts - before, 0.0)[:n])
        errors = np.array(found)
        excused: Array = np.sign(errors) * np.maximum(np.abs(errors) - _ROUNDING_MULTIPLE * moved, 0.0)
        return np.where(np.isfinite(excused), excused, 0.0), certain


def _largest(changes: Sequence[Array]) -> Array:
    """The largest of several changes, entry by entry; zero where none has a value."""
    found: Array = np.nan_to_num(np.fmax.reduce(np.abs(changes)), nan=0.0, posinf=np.inf)
    return found


def _derivatives(compiled: Compiled, binding: Binding) -> ca.Function:
    """A function of (t, x, p): the derivatives of all rates by time, then by each jet of the state, with inputs as functions of time."""
    flow, graph = compiled.flow, compiled.flow.graph
    rates = ca.vertcat(*flow.rates)
    if flow.inputs:
        rates = ca.substitute(rates, graph.vector(flow.inputs), ca.vertcat(*map(graph.of, compiled.driving(binding))))
    return flow.function([ca.vec(dense(ca.jacobian(rates, graph.vector([TIME, *flow.state]))))], "slopes")


def broken_row(piece: Piece, allowed: float, usual: Callable[[], Array]) -> tuple[float, int, float] | None:
    """The largest residual of a row on the state that rounding hides, relative to the contributions of jets of their `usual` sizes, with
    the index of the row and the time, at the beginning or the end of the piece; None if rounding hides none.

    A row such as y' = (1 - cos(x))/x^2 z' holds in doubles for y' = 0 at x = 1e-9, and is wrong by half of z'.
    """
    setting, compiled = piece.setting, piece.setting.compiled
    rows = len(compiled.flow.system.hidden())
    if not rows:
        return None
    found = None
    ends = np.array([piece.begin, piece.end])
    states = np.array([piece.first[: compiled.size], piece.run.y[: compiled.size]])
    driven = bool(compiled.flow.inputs)
    p = np.stack([setting.parameters(float(t), piece.reference) for t in ends]) if driven else piece.parameters
    for k in rows_in_doubt(compiled, ends, states, p, allowed).nonzero()[0]:
        t, y = float(ends[k]), states[k]
        sizes = np.maximum(usual()[: compiled.size], np.abs(y))
        relative = exact_rows(compiled, setting.binding).relative(t, y, p[k] if driven else p, sizes, allowed)
        if relative is None:
            continue
        worst = int(np.argmax(relative))
        if found is None or relative[worst] > found[0]:
            found = float(relative[worst]), worst, t
    return found


def rows_in_doubt(compiled: Compiled, times: Array, states: Array, p: Array, allowed: float) -> NDArray[np.bool_]:
    """The states, each with its time and parameters, at which rounding may hide that a row does not hold: the bound of its error exceeds
    `allowed` times the contributions of its jets, measured between neighbouring states. `p` may be one row for all states.
    """
    rows, (count, size) = len(compiled.flow.system.hidden()), states.shape
    if not rows or not count:
        return np.zeros(count, bool)
    kernel, (first, *others) = compiled.restricting, neighbours(size)
    single, often = p.ndim == 1, count > _MANY_STATES
    both = dop853.evaluate(doubting(kernel, often=often), times, states, p, 2 * rows).reshape(count, 2, rows)
    code = kernel.address if often else kernel.early
    values, moved = (dop853.evaluate(code, times, there, p, rows) for there in (states, states * first))
    with np.errstate(invalid="ignore", over="ignore"):
        doubts, terms = np.abs(both[:, 0] - both[:, 1]) / 2, np.abs(moved - values) / DISTANCE_FOR_TERMS
        clear = doubts <= allowed * terms
        if clear.all():
            return np.zeros(count, bool)
        unsure: NDArray[np.bool_] = np.asarray(~clear.all(axis=1))
        for factors in others:
            left = unsure.nonzero()[0]
            if not len(left):
                break
            moved = dop853.evaluate(code, times[left], states[left] * factors, p if single else p[left], rows)
            terms[left] = np.maximum(terms[left], np.abs(moved.reshape(-1, rows) - values[left]) / DISTANCE_FOR_TERMS)
            unsure[left] = ~(doubts[left] <= allowed * terms[left]).all(axis=1)
    return unsure


@cache
def neighbours(size: int) -> Array:
    """Factors of the components of a state that give some neighbouring states, a line each."""
    return 1 + DISTANCE_FOR_TERMS * np.resize(_SIGNS[:, 1:], (len(_SIGNS), size))


def _exponential(matrix: Array) -> Array:
    """The exponential of a matrix, by scaling and squaring.

    The eigenvalues determine the scaling, because a norm would depend on the units of the components.
    """
    size = float(np.abs(np.linalg.eigvals(matrix)).max())
    if size > _STIFFEST:
        matrix, size = matrix * (_STIFFEST / size), _STIFFEST
    halvings = int(np.ceil(np.log2(size))) + 1 if size > 0.5 else 0
    part = matrix / 2.0**halvings
    found = term = np.eye(len(matrix))
    for k in range(1, 13):
        term = term @ part / k
        found = found + term
    for _ in range(halvings):
        found = found @ found
    return found


def _groups(weights: Array, count: int) -> list[tuple[NDArray[np.int64], int]]:
    """Divide nodes into groups of about equal weight, each with the node at the middle of its weight."""
    if not weights.sum() > 0:
        return []
    ends = np.cumsum(weights) / weights.sum()
    which = np.minimum((count * (ends - 0.5 * weights / weights.sum())).astype(np.int64), count - 1)
    found = []
    for k in np.unique(which):
        group = np.flatnonzero(which == k)
        middle = np.searchsorted(np.cumsum(weights[group]), 0.5 * weights[group].sum())
        found.append((group, int(group[min(int(middle), len(group) - 1)])))
    return found
