r"""Signs of watched functions whose digits are lost: wrong decisions of events and switches.

A run decides by the signs of the functions of events and of modes. In doubles $(1 - \cos x)/x^2 - c$ has any sign for small $x$, so that a
root is missed, or found where there is none. Bounds of rounding errors (`machine.rounding_bounds`) show the states of a piece at which a
sign is not certain. Such a sign does not matter if it changes when state and time are moved by the allowed error, since the motion is not
more accurate. Otherwise the function is computed in many digits: the sign was wrong if that differs, and the function has no zero within
the allowed error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.exact_rates import Exact
from chetaev.numerics.machine.kernels import Foreign, Kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import interpolate
from chetaev.numerics.smooth_pieces.piece import Piece, Setting

_PLACES_IN_STEP = (0.2, 0.4, 0.6, 0.8)
"""Positions inside a step, as fractions of it, at which signs are checked besides the nodes."""
_MOST_NODES = 2048
"""Most nodes of a piece at which signs are checked; of a longer piece every n-th node is taken."""
_MOST_EXACT_STATES = 12
"""Most states at which a function is computed in many digits."""
_CERTAIN_SIGN = 2.0
"""A sign is certain if the value is larger than this multiple of its error bound."""
_HARMLESS_ERROR = 0.25
"""Error bound of a function, relative to its change by the allowed error of the state, below which it does not matter."""
_NEAR_ZERO = 10.0 ** -np.arange(1.0, 15.0)
"""Values, relative to the largest value of a jet, at which functions are tried if the states of a motion were not stored: most formulas
that lose digits do so near zero."""
_STATES_TRIED = 64
"""Number of such states."""
_FEW_STATES_TRIED, _MANY_MOTIONS = 2, 512
"""With more than `_MANY_MOTIONS` motions, only `_FEW_STATES_TRIED` states are tried for each of them at first."""
_SHIFT_PER_MOTION = 7
"""Shift of the rows of `_CHOSEN` from one motion to the next, so that other states are tried."""
_DICE = np.random.default_rng(5)
_CHOSEN = _DICE.integers(0, 2 + 2 * len(_NEAR_ZERO), size=(_STATES_TRIED, 61))
"""Indices of the values of the jets in each state that is tried; the same in every run."""

Figure = tuple[float, int, float]
"""The change of the state, relative to its size, with which the sign would be right; the index of the function; and the time."""


@dataclass(frozen=True)
class Signs:
    """Watched functions in a setting, with the allowed errors of time and state."""

    here: Setting
    functions: tuple[Expr, ...]
    watch: Kernel
    """Machine code of the determinant, the smallest pivot, and the functions, and perhaps others."""
    state: Array
    """The allowed error of each component of the state."""
    time: float
    """The allowed error of the time."""

    def uncertain(self, times: Array, states: Array, p: Array) -> tuple[Array, Array]:
        """The values of the functions at states, and which of their signs may be wrong, according to bounds in doubles."""
        here, n = self.here, self.watch.n_out
        some = slice(2, 2 + len(self.functions))
        first = len(here.flow.system.equations.system.parameters)
        address = doubting(self.watch, here.compiled.inputs(here.binding), first)
        with np.errstate(invalid="ignore", over="ignore"):
            both = dop853.evaluate(address, times, states, p, 2 * n).reshape(len(times), 2, n)[:, :, some]
            values, doubts = both.mean(axis=1), np.abs(both[:, 0] - both[:, 1]) / 2
            lost = np.isnan(values) | ~np.isfinite(doubts)
            if lost.any():  # the middle of the bounds is undefined; the functions themselves may have values
                plain = self.plain(times, states, p)
                values, doubts = np.where(lost, plain, values), np.where(lost, np.inf, doubts)
            unsure = np.isfinite(values) & (np.abs(values) <= _CERTAIN_SIGN * doubts) & (doubts > 0)
            for k in np.flatnonzero(unsure.any(axis=1)):
                unsure[k] &= doubts[k] > _HARMLESS_ERROR * self.moves(float(times[k]), states[k], p)
        return values, unsure

    def moves(self, t: float, y: Array, p: Array) -> Array:
        """The changes of the functions by the allowed errors of time and state, in doubles."""
        count = len(self.state)
        moved = np.repeat(y[None, :], count + 2, axis=0)
        moved[np.arange(count), np.arange(count)] += self.state
        times = np.full(count + 2, t)
        times[-1] += self.time
        found = self.plain(times, moved, p)
        own = self.plain(np.array([t]), y[None, :], p)[0]
        changes: Array = np.nan_to_num(np.abs(found - own), nan=0.0, posinf=0.0).sum(axis=0)
        return changes

    @cached_property
    def _code(self) -> int:
        """The address of the functions' code, requested once, since many requests would trigger its optimisation."""
        return self.watch.early

    def plain(self, times: Array, states: Array, p: Array) -> Array:
        """The functions at states, without bounds of their errors."""
        here, inputs = self.here, self.here.compiled.inputs(self.here.binding)
        if inputs is None:
            return dop853.evaluate(self._code, times, states, p, self.watch.n_out)[:, 2 : 2 + len(self.functions)]
        found = [self.watch(float(t), y, here.parameters(float(t))) for t, y in zip(times, states, strict=True)]
        return np.array(found)[:, 2 : 2 + len(self.functions)]

    def wrong(self, k: int, t: float, y: Array, value: float, root: bool) -> float:
        """The change of the state with which a sign would be right, relative to the allowed error; 0 if the sign is right.

        With `root` the function was taken for zero, instead of having the sign of `value`.
        """
        here, exact = self.here, self.here.exactly([self.functions[k]])
        found = exact(t, y, here.parameters(t))
        if found is None or not np.isfinite(found).all():
            return 0.0
        right, slopes = float(found[0]), found[1:]
        if right == 0.0 or (not root and np.sign(right) == np.sign(value)):
            return 0.0
        near = float(np.abs(slopes) @ self.state[: len(slopes)])
        for later in (self.time, -self.time):
            other = exact(t + later, y, here.parameters(t + later))
            near += 0.5 * abs(float(other[0]) - right) if other is not None else 0.0
        found_by = abs(right) / near if near > 0 else np.inf
        return found_by if found_by <= 1.0 or not self._jumps_near(exact, t, y, right) else 0.0

    def _jumps_near(self, exact: Exact, t: float, y: Array, value: float) -> bool:
        """Whether a function has another sign, in many digits, at a state moved by the allowed error: it jumps, which its slopes do not
        show.
        """
        p = self.here.parameters(t)
        for j, size in enumerate(self.state):
            for side in (1.0, -1.0):
                moved = y.copy()
                moved[j] += side * size
                found = exact(t, moved, p)
                if found is not None and float(found[0]) * value < 0:
                    return True
        return False


def wrong_signs(
    piece: Piece, functions: Sequence[Expr], sides: Sequence[int], watch: Kernel, scale: Array, span: float, allowed: float
) -> Figure | None:
    """The worst wrong sign of a watched function; None if it is not known because the steps were not stored.

    `sides` has the signs that functions must have during the piece, 0 for any sign: then the sign in doubles is compared. `scale` has the
    sizes of the components of the state, `span` is the duration of the run, and `allowed` is the allowed error relative to both.
    """
    signs = Signs(piece.setting, tuple(functions), watch, allowed * scale, allowed * span)
    run, p = piece.run, piece.setting.parameters(piece.begin, piece.reference)
    exact, whole = isinstance(watch, Foreign), len(run.nodes) > int(run.accepted)
    if exact and not any(sides):
        return 0.0, 0, piece.begin
    if not exact and not whole and signs.uncertain(*_tried(piece), p)[1].any():
        return None
    times, states, roots = _checked_states(piece, len(functions), whole)
    if exact:  # functions in many digits: those of modes must have the signs of their sides
        some = np.unique(np.linspace(0, len(times) - 1, _MOST_EXACT_STATES).astype(np.int64))
        times, states, roots = times[some], states[some], roots[some]
        values = signs.plain(times, states, p)
        unsure = values * np.array(sides) < 0
    else:
        values, unsure = signs.uncertain(times, states, p)
    worst = 0.0, 0, piece.begin
    for k in np.flatnonzero(unsure.any(axis=0)):
        where = np.flatnonzero(unsure[:, k])
        where = where[np.unique(np.linspace(0, len(where) - 1, _MOST_EXACT_STATES).astype(np.int64))]
        where = np.union1d(where, np.flatnonzero(unsure[:, k] & (roots == k))[:_MOST_EXACT_STATES])
        for i in where:
            size = signs.wrong(int(k), float(times[i]), states[i], sides[int(k)] or float(values[i, k]), bool(roots[i] == k))
            if allowed * size > worst[0]:
                worst = min(allowed * size, 1.0), int(k), float(times[i])
    return worst


def _checked_states(piece: Piece, count: int, whole: bool) -> tuple[Array, Array, NDArray[np.int64]]:
    """Times and states of a piece, and the index of the function that was taken for zero there; -1 for none."""
    run, size = piece.run, piece.setting.flow.size
    found = np.asarray(run.found_indices, dtype=np.int64) - 2
    met = int(run.index) - 2 if run.status is dop853.Status.WATCH else -1
    times: list[Array] = [np.array([piece.begin, piece.end]), np.asarray(run.found_times)]
    states: list[Array] = [np.array([piece.first, run.y]), np.asarray(run.found_states)[:, :size] if len(found) else np.zeros((0, size))]
    roots: list[NDArray[np.int64]] = [np.array([-1, met]), np.where((found >= 0) & (found < count), found, -1)]
    if len(run.nodes):
        every = -(-len(run.nodes) // _MOST_NODES)
        times.append(np.asarray(run.nodes)[::every])
        states.append(np.asarray(run.states)[::every, :size])
        roots.append(np.full(len(times[-1]), -1))
    if whole and len(run.nodes) > 1 and len(run.coefficients):
        begins = np.arange(0, len(run.nodes) - 1, every)
        nodes = np.asarray(run.nodes)
        inside = (nodes[begins, None] + np.diff(nodes)[begins, None] * np.array(_PLACES_IN_STEP)).ravel()
        times.append(inside)
        states.append(interpolate(piece.basis, run.nodes, run.states, run.coefficients, inside)[:, :size])
        roots.append(np.full(len(inside), -1))
    return np.concatenate(times), np.concatenate([np.reshape(part, (-1, size)) for part in states]), np.concatenate(roots)


def _tried(piece: Piece) -> tuple[Array, Array]:
    """States between the smallest and the largest values of a motion; times between its ends."""
    low, high = np.asarray(piece.run.minima), np.asarray(piece.run.maxima)
    chosen = _CHOSEN[:, np.arange(len(low)) % _CHOSEN.shape[1]]
    return np.linspace(piece.begin, piece.end, _STATES_TRIED), _states_between(low[None, :], high[None, :], chosen)


def _states_between(low: Array, high: Array, chosen: NDArray[np.int64]) -> Array:
    """States between bounds, a row each, many of them near zero; `chosen` has the index of the value of each component."""
    parts = np.concatenate([_NEAR_ZERO, -_NEAR_ZERO])
    size = np.maximum(np.abs(low), np.abs(high))
    found: Array = np.where(chosen == 0, low, np.where(chosen == 1, high, parts[np.maximum(chosen - 2, 0)] * size))
    return np.clip(found, low, high)


def signs_in_doubt(watch: Kernel, count: int, low: Array, high: Array, begins: Array, ends: Array, p: Array) -> NDArray[np.bool_]:
    """For each motion, given by bounds of its states and times, whether it may pass states at which the sign of a watched function is
    uncertain.

    Of many motions each is tested at few states first, and at more only if one of these has such a sign.
    """
    found = np.zeros(len(low), bool)
    for trials in (_FEW_STATES_TRIED, _STATES_TRIED) if len(low) > _MANY_MOTIONS else (_STATES_TRIED,):
        for chosen, part in zip(np.resize(_CHOSEN, (trials, low.shape[1])), np.linspace(0.0, 1.0, trials), strict=True):
            shifted = (chosen + np.arange(len(low))[:, None] * _SHIFT_PER_MOTION) % (2 + 2 * len(_NEAR_ZERO))
            states = _states_between(low, high, shifted)
            both = dop853.evaluate(doubting(watch), begins + part * (ends - begins), states, p, 2 * watch.n_out)
            above, below = both[:, 2 : 2 + count], both[:, watch.n_out + 2 : watch.n_out + 2 + count]
            with np.errstate(invalid="ignore", over="ignore"):
                doubts = np.abs(above - below) / 2
                found |= ((np.abs(above + below) / 2 <= _CERTAIN_SIGN * doubts) & (doubts > 0)).any(axis=1)
        if not found.any():
            break
    return found
