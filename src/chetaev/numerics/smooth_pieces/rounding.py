r"""What round-off makes of a motion: a suspicion by bounds, decided by rates in many digits.

Inside its steps a run adds up bounds of the rounding errors of its rates (`inside.roundings`). Bounds are pessimistic: $1 - \tanh^2 u$ is
exactly zero in doubles for large $u$, and almost so in truth, while its bound is $10^{-16}$ times any factor. So a motion whose bounds are
too large is looked at again, at its nodes:

- Time and state are rounded in every step, and the rates have noise: what their change between states whose last digits differ has
  beside its linear part. The errors follow the linearised equations: their covariance is computed in the course of the motion. A pulse of
  width $10^{-3}$ at $t = 10^9$ has four digits in doubles.
- At some nodes the rates in doubles are compared with those of the graph in many digits (`exact_rates`), in which every number of the text
  is exact. Their error is excused as far as rounding the state has the same effect, $g = |f(y(1 \pm \varepsilon)) - f(y)|$: a body that
  rests between two large forces feels such an error, which moves it by no more than rounding its place does. Here $f$ is in many digits:
  in doubles it changes by its own noise, which would excuse itself. The rest is added in full where it has one sign, and as the root of
  its squares where its sign changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from chetaev.core.symbols import TIME
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.flow.exact_rates import Exact, exact_rates, exact_rows
from chetaev.numerics.graphs.arithmetic import dense
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.dop853.tableau import B
from chetaev.numerics.smooth_pieces.piece import Piece

_MOST_LOOKS, _FEWEST_LOOKS = 12, 4
"""Nodes at which rates are computed in many digits, at most and at least; the second is also the most for one group of nodes, where one
does not decide."""
_MOST_WORK = 20_000
"""Instructions in many digits, each of a few microseconds, that all looks together may take."""
_MOST_NODES = 4096
"""Most nodes at which bounds are computed; of a longer motion every second or third is taken, and so on."""
_EXCUSED = 4.0
"""Errors of a rate, in units of what a unit in the last place of the state makes of it, that are no errors of the formula."""
_MOST_COMPONENTS = 24
"""Most components of a state whose covariance is computed, which takes up to a second."""
_DISTANCE_FOR_SLOPES = 2.0**-45
"""Relative distance of states between which slopes are computed: a longer one passes over narrow features, a shorter one has no digits."""
_NOISE_OF_A_STEP = float(np.linalg.norm(B))
"""What random errors of the rates in the stages of a step make of the state, relative to one of them times the step: 7.6, because the
weights of the stages are as large as 5.8 and cancel."""
_STIFFEST = 64.0
"""Largest step times slope that counts; where more is found, an explicit method has no such steps, and the slope is that of a jump."""
_DEVIATIONS_BY_CHANCE = 2.0
"""Standard deviations of a sum of errors with random signs: a smaller sum may be chance."""
_NEGLIGIBLE = 1e-2
"""Part of the allowed error to which exact rates are needed."""
_DISTANCE_FOR_TERMS = 2.0**-20
"""Relative distance of states between which the terms of a row are seen."""
_OFTEN = 1000
"""States above which rows are evaluated by optimised code: it takes half the time, and some milliseconds to make, once per process."""
_NEGLIGIBLE_ERROR = 1e-300
"""An absolute error that does not matter."""
_UNIT = float(np.finfo(float).eps)
_SIGNS = np.random.default_rng(7).integers(0, 2, size=(3, 257)) * 2.0 - 1.0
"""Directions in which time and state are moved, the same in every run."""
_DERIVATIVES: Remembered[ca.Function] = Remembered(64)

Figure = tuple[float, int, float]
"""The largest error relative to the size of its component, the component, and the time."""


def rounding_of(piece: Piece, scale: Array, allowed: float, stiff: bool, exact: bool = False) -> Figure | None:
    """Return what rounding makes of a piece; None if the piece did not keep its steps.

    `scale` are the sizes of the components of the state, and `allowed` is a part of them that does not matter. In a `stiff` piece steps are
    longer than the state remembers its own rounding; with `exact` rates nothing but the state is rounded.
    """
    nodes = np.asarray(piece.run.nodes)
    if len(nodes) < 2 or len(nodes) <= int(piece.run.accepted):
        return None
    every = -(-len(nodes) // _MOST_NODES)
    looked = _Nodes(piece, nodes[::every], np.asarray(piece.run.states)[::every], scale, every)
    shaken, at = (np.zeros(len(scale)), piece.begin) if stiff else looked.shaken()
    worst = int(np.argmax(shaken))
    if shaken[worst] > allowed or exact:
        return float(shaken[worst]), worst, at
    errors, at = looked.wrong(allowed)
    total = errors + shaken
    worst = int(np.argmax(total))
    return float(total[worst]), worst, at


class _Nodes:
    """Nodes of a piece with their rates, the bounds of these, and what moving the state by its last digit makes of them."""

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
            if not clear.all():  # bounds without a middle, or so large that it has no digits; the rates themselves have values
                given = np.array([setting.parameters(float(at), piece.reference) for at in t]) if setting.flow.inputs else p
                middle = np.where(clear, middle, dop853.evaluate(compiled.rhs.address, t, y, given, compiled.rhs.n_out)[:, :n])
            return middle, half

        self.rates, doubts = at(times, states)
        span = abs(float(times[-1] - times[0]))
        nothing = span * np.nan_to_num(np.maximum(np.abs(self.rates), doubts), nan=0.0, posinf=0.0).max(axis=0)
        self.scale = np.where(scale > 0, scale, np.where(nothing > 0, nothing, 1.0))
        """The sizes of the components; of one that stays zero, what its rates and their errors can make of it."""
        self._at = at
        self.changes: list[tuple[Array, Array]] = []
        """How far time and state are moved by their last digits, in several directions, and how the rates change."""
        for signs in _SIGNS:
            t, y = times * (1 + _UNIT * signs[0]), states * (1 + _UNIT * np.resize(signs[1:], states.shape[1]))
            with np.errstate(invalid="ignore"):
                self.changes.append((np.column_stack([t - times, (y - states)[:, :n]]), at(t, y)[0] - self.rates))
        self.moves = _largest([change for _, change in self.changes])
        known = np.isfinite(doubts)
        with np.errstate(over="ignore"):
            self.doubts = np.where(known, doubts, self.scale / np.where(self.lengths > 0, self.lengths, np.inf))
        """The bounds of the rates; where there is none, what would make a component wrong altogether."""

    def shaken(self) -> tuple[Array, float]:
        """What rounding time, state and rates makes of each component, relative to its size, and when it makes most of it.

        Every step rounds time and state, by chance, and adds the noise of its rates. What earlier roundings have made of the state follows
        the linearised equations: in their course the covariance of all components is known. Three kinds of motions are judged by what a
        rounding makes of the state in one step, added up by chance: those of large states, those of which not every step is looked at,
        since the slopes at one node say nothing of the next hundred, and those with constraints, since each step is projected and the
        slopes know nothing of that.
        """
        n, every = len(self.scale), float(self.every)
        if n > _MOST_COMPONENTS or self.every > 1 or self.piece.setting.compiled.flow.system.hidden():
            squares = np.nan_to_num(self.lengths * self.moves / self.scale, nan=0.0, posinf=np.inf) ** 2
            total = np.sqrt(squares.sum(axis=0) / every)
            return total, float(self.times[int(np.argmax(squares[:, int(np.argmax(total))]))])
        place = np.column_stack([self.times, self.states[:, :n]])
        units = np.array([1.0, *self.scale])  # in which squares of large jets are numbers
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

        They are those of the formulas: where large terms cancel, as in the elimination along a chain, differences of states that are hardly
        apart are noise, which grows like a motion without any stability. Where formulas have no value, as beyond the range of doubles,
        differences have one.
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
        """The changes of the rates between states that are hardly apart in one component of (time, state), by that distance."""
        n, size, moved, states = place.shape[1], np.abs(place[:, j]), place.copy(), self.states.copy()
        moved[:, j] += _DISTANCE_FOR_SLOPES * np.where(size > 0, size, max(float(size.max()), _NEGLIGIBLE_ERROR))
        step = moved[:, j] - place[:, j]
        states[:, : n - 1] = moved[:, 1:]
        rates = self._at(moved[:, 0], states)[0]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found: Array = np.nan_to_num((rates - self.rates) / step[:, None], nan=0.0, posinf=0.0, neginf=0.0)
        return found

    def wrong(self, allowed: float) -> tuple[Array, float]:
        """The errors of the rates in the course of the piece, relative to the size of each component, and when they are largest."""
        piece, setting = self.piece, self.piece.setting
        needed = np.zeros(setting.compiled.size)
        needed[: len(self.scale)] = _NEGLIGIBLE * allowed * self.scale / max(abs(piece.end - piece.begin), 1e-300)
        needed[len(self.scale) :] = np.inf
        exact = exact_rates(setting.compiled, setting.binding)
        shares = self.lengths * self.doubts / self.scale
        sums, squares = np.zeros(len(self.scale)), np.zeros((2, len(self.scale)))
        largest, when = 0.0, piece.begin
        count = int(np.clip(_MOST_WORK // max((1 + len(_SIGNS)) * exact.length, 1), _FEWEST_LOOKS, _MOST_LOOKS))
        weights = np.minimum(shares.max(axis=1), allowed)  # a bound of more tells no more: every such node may be the wrong one
        for group, k in _groups(weights, count):
            errors = self._errors(exact, k, needed, (shares[group].sum(axis=0) > _NEGLIGIBLE * allowed).any())
            if errors is None:
                continue
            looks = {k: errors}
            here = self._of_group(looks, group)
            while np.abs(here).max() > allowed and len(looks) < _FEWEST_LOOKS:
                doubtful = int(group[np.argmax(shares[group, np.argmax(np.abs(here).max(axis=0))])])
                again = None if doubtful in looks else self._errors(exact, doubtful, needed, beside=True)
                if again is None:
                    break
                looks[doubtful] = again
                here = self._of_group(looks, group)
            usual = np.sqrt((here**2).mean(axis=0))
            sums += here.mean(axis=0)
            squares += [usual**2, usual**2 / (len(group) * self.every)]
            if usual.max() > largest:
                largest, when = float(usual.max()), float(self.times[k])
        return np.maximum(np.abs(sums) - _DEVIATIONS_BY_CHANCE * np.sqrt(squares[0]), 0.0) + np.sqrt(squares[1]), when

    def _of_group(self, looks: Mapping[int, Array], group: NDArray[np.int64]) -> Array:
        """What errors make of the components in a group of nodes, relative to their sizes; `looks` are errors at some of its nodes, each
        also at states beside it.

        Errors are taken to be in proportion to their bounds at the first of these nodes. But along an elimination bounds grow by factors
        that errors do not know: the bounds of a group may differ by ten digits, and the errors by one. So further nodes have larger bounds:
        up to the bound of such a node no error is larger than all that were seen, and beyond it errors grow from there.
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

    def _errors(self, exact: Exact, k: int, needed: Array, beside: bool) -> Array | None:
        """The errors of the rates at a node, and with `beside` at states beside it, of which one alone may be right by chance; None without
        a value at the node. What moving the state by its last digit makes of the right rates is excused.
        """
        setting, n, found, moved = self.piece.setting, len(self.scale), [], np.zeros(len(self.scale))
        first: Array | None = None
        for signs in (np.zeros(_SIGNS.shape[1]), *(_SIGNS if beside else ())):
            t, y = float(self.times[k] * (1 + _UNIT * signs[0])), self.states[k] * (1 + _UNIT * np.resize(signs[1:], self.states.shape[1]))
            right = exact(t, y, setting.parameters(t, self.piece.reference), needed)
            if right is None and first is None:
                return None
            if right is None:
                continue
            first = right if first is None else first
            found.append(self._at(np.array([t]), y[None, :])[0][0] - right[:n])
            moved = np.maximum(moved, np.abs(right - first)[:n])
        errors = np.array(found)
        excused: Array = np.sign(errors) * np.maximum(np.abs(errors) - _EXCUSED * moved, 0.0)
        return np.where(np.isfinite(excused), excused, 0.0)


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
    """The row that restricts the state and is violated most, relative to what jets of their `usual` sizes contribute to it, if rounding
    hides that; None otherwise. The row itself, and the time, where the piece begins or ends.

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
        exact = exact_rows(compiled, setting.binding)(t, y, p[k] if driven else p, _NEGLIGIBLE_ERROR)
        if exact is None:
            continue
        slopes = np.abs(exact[rows:].reshape(rows, -1))
        terms = slopes @ np.maximum(usual()[: compiled.size], np.abs(y))[: slopes.shape[1]]
        relative = np.abs(exact[:rows]) / np.where(terms > 0, terms, 1.0)
        worst = int(np.argmax(relative))
        if found is None or relative[worst] > found[0]:
            found = float(relative[worst]), worst, t
    return found


def rows_in_doubt(compiled: Compiled, times: Array, states: Array, p: Array, allowed: float) -> NDArray[np.bool_]:
    """At which states, each with its time and parameters, rounding may hide that a row does not hold: beside what its jets contribute to
    the row, as seen between two states, the bound of its error is larger than allowed. One row of p serves all.
    """
    rows, (count, size) = len(compiled.flow.system.hidden()), states.shape
    if not rows or not count:
        return np.zeros(count, bool)
    kernel, (first, *others) = compiled.restricting, _beside(size)
    single, often = p.ndim == 1, count > _OFTEN
    both = dop853.evaluate(doubting(kernel, often=often), times, states, p, 2 * rows).reshape(count, 2, rows)
    code = kernel.address if often else kernel.early
    values, moved = (dop853.evaluate(code, times, there, p, rows) for there in (states, states * first))
    with np.errstate(invalid="ignore", over="ignore"):
        doubts, terms = np.abs(both[:, 0] - both[:, 1]) / 2, np.abs(moved - values) / _DISTANCE_FOR_TERMS
        clear = doubts <= allowed * terms
        if clear.all():
            return np.zeros(count, bool)
        unsure: NDArray[np.bool_] = np.asarray(~clear.all(axis=1))
        for factors in others:
            left = unsure.nonzero()[0]
            if not len(left):
                break
            moved = dop853.evaluate(code, times[left], states[left] * factors, p if single else p[left], rows)
            terms[left] = np.maximum(terms[left], np.abs(moved.reshape(-1, rows) - values[left]) / _DISTANCE_FOR_TERMS)
            unsure[left] = ~(doubts[left] <= allowed * terms[left]).all(axis=1)
    return unsure


@cache
def _beside(size: int) -> Array:
    """Factors of a state that give some states beside it, a line each."""
    return 1 + _DISTANCE_FOR_TERMS * np.resize(_SIGNS[:, 1:], (len(_SIGNS), size))


def _exponential(matrix: Array) -> Array:
    """The exponential of a matrix, by its series for a small part of it, which is then squared.

    The size of the matrix is that of its eigenvalues: a norm depends on the units of the components.
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
    """Divide nodes into groups of about the same weight, each with the node in the middle of its weight."""
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
