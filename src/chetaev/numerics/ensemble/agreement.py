"""Whether members pass the checks of `simulate` after their runs: inside their steps, their rows at both ends, and their balance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from chetaev.numerics.ensemble.batch import Array, Indices, Mask, all_in_rows, as_slice, each, mapped
from chetaev.numerics.ensemble.end_checks import end_checks
from chetaev.numerics.ensemble.pivoted import Pivoted
from chetaev.numerics.flow.compiled import Compiled
from chetaev.numerics.machine.interpreter import interprets
from chetaev.numerics.methods.accuracy import usual_sizes
from chetaev.numerics.methods.lanes.together import small_inside
from chetaev.numerics.motion import step_evidence
from chetaev.numerics.motion.certification import (
    ROWS,
    WEAK,
    balance_allowed,
    fitted_residuals,
    held_function,
    left_allowed,
    left_at_the_end,
    rows_of,
)
from chetaev.numerics.smooth_pieces.rounding import rows_in_doubt
from chetaev.numerics.smooth_pieces.signs import signs_in_doubt

if TYPE_CHECKING:
    from chetaev.numerics.ensemble.run import Integration

_ASKED = 16
"""Members of a block whose rows are evaluated by CasADi too, and not only by machine code."""

_NEARLY = 0.99
"""Part of the least limit of the balance below which an error is within every limit, whatever the rounding of the quotient is."""

_Ends = tuple[tuple[Array, Array], tuple[Array, Array]]
"""Times and states where motions begin, and where they end."""
_Checked = tuple[Mask, Array, Array]


def agreeing(run: Integration, members: Indices) -> Mask:
    """Which members, whose motions have reached their ends, pass all checks."""
    return _Agreement(run).members(members)


class _Agreement:
    """The checks of the members of an integration."""

    def __init__(self, of: Integration) -> None:
        self.of = of

    def members(self, members: Indices) -> Mask:
        """Return which members pass the checks of `simulate`: inside their steps, their rows at both ends, and their balance."""
        if not len(members):
            return np.zeros(0, bool)
        ends = (np.full(self.of.read.size, self.of.read.t), self.of.completion.states), (self.of.at, self.of.y)
        checked = self._checked_together(members, ends) or [None, None]
        (first, _, begun), (last, residual, terms) = (
            self._at_an_end(members, *end, found) for end, found in zip(ends, checked, strict=True)
        )
        clear = self._clearly_follow(members, residual, terms)
        rest = np.flatnonzero(~clear)
        if len(rest):
            some = members[rest]
            clear[rest] = self._keep_the_balance(some) & self._follow_the_equations(some)
            clear[rest] &= self._balanced(some, begun[rest], residual[rest], terms[rest])
        return first & last & clear & self._signs_certain(members)

    def _checked_together(self, members: Indices, ends: _Ends) -> Sequence[_Checked | None]:
        """What is clear about both ends of members at once; None where there is no code for that, or CasADi disagrees with it."""
        compiled = self.of.pivoted[0].compiled
        checks = None if self.of.which.any() else end_checks(compiled)
        if checks is None:
            return None, None
        here, some, found, asked = as_slice(members), _sample(len(members)), list[_Checked](), []
        for t, states in ends:
            p = self.of.read.batch.at(t, members)
            clear, residual, terms, y = checks(t[here], states[here], p, some)
            found.append((clear, residual, terms))
            asked.append((t[members[some]], y, p[some]))
        hold = _hold_by_casadi(compiled, *map(np.concatenate, zip(*asked, strict=True)))
        return found if hold[np.concatenate([clear[some] for clear, *_ in found])].all() else (None, None)

    def _at_an_end(self, members: Indices, t: Array, states: Array, checked: _Checked | None) -> _Checked:
        """Which members have rows that hold at a state, as far as round-off tells; the last residual there, and the size of its terms.
        `checked` is what is known of it already.
        """
        here, p, compiled = as_slice(members), self.of.read.batch.at(t, members), self.of.pivoted[0].compiled
        if checked is None:
            measured = each(compiled.measure, t[here], states[here], p)
            checked = np.zeros(len(members), bool), measured[:, measured.shape[1] // 2 - 1], measured[:, -1]
        found = checked[0].copy()
        rest = np.flatnonzero(~found)
        if len(rest):
            found[rest] = True
            for k, some in self.of.by_order(members[rest]):
                found[rest[some]] &= self._rows_hold(members[rest[some]], self.of.pivoted[k], t, states)
            if interprets():
                left = members[rest]
                found[rest] &= ~rows_in_doubt(compiled, t[left], states[left], p[rest], ROWS)
        return found, checked[1], checked[2]

    def _signs_certain(self, members: Indices) -> Mask:
        """Return which members have switching functions whose signs are certain, as far as some states between their extrema tell: for the
        others `simulate` looks along the motion.
        """
        kernels = self.of.pivoted[0]
        if not kernels.changing or not interprets():
            return np.ones(len(members), bool)
        bounds = self.of.low[members], self.of.high[members], np.full(len(members), self.of.read.t), self.of.at[members]
        return ~signs_in_doubt(kernels.watch, kernels.changing, *bounds, self.of.parameters_of(kernels, members))

    def _clearly_follow(self, members: Indices, residual: Array, terms: Array) -> Mask:
        """Return which members follow the equations inside their steps, and keep their balance, by limits that need to know less of them
        than those of `simulate`, and are not larger. `residual` is the error of the balance at the end, beside its `terms`.
        """
        here, tolerance, steps = as_slice(members), self.of.tolerance, self.of.counts[as_slice(members), 0]
        limits = *step_evidence.clear_limits(tolerance), _NEARLY * balance_allowed(tolerance, int(steps.min()))
        kept = self.of.inside[here], self.of.low[here], self.of.high[here]
        n = len(self.of.pivoted[0].compiled.flow.state)
        return small_inside(*kept, steps, limits, n, (self.of.measured[here], residual, terms))

    def _keep_the_balance(self, members: Indices) -> Mask:
        """Return which members keep the balance on the way."""
        here = as_slice(members)
        rows, scales = (self.of.measured[here, k] for k in (self.of.measured.shape[1] // 2 - 1, -1))
        return np.asarray(relative(rows, scales) <= balance_allowed(self.of.tolerance, self.of.counts[here, 0]))

    def _balanced(self, members: Indices, begun: Array, residual: Array, terms: Array) -> Mask:
        """Return which members end with an error of the balance within its limit; `begun` are the terms of the energy at their starts."""
        here = as_slice(members)
        duration, terms = np.abs(self.of.at[here] - self.of.read.t), np.fmin(terms, self.of.measured[here, -1])
        left = left_at_the_end(residual, terms, self.of.usual[here], duration, begun)
        return np.asarray(left <= left_allowed(self.of.tolerance, self.of.counts[here, 0]))

    def _follow_the_equations(self, members: Indices) -> Mask:
        """Return which members follow the equations inside their steps, with rates that have enough digits."""
        here, state = as_slice(members), self.of.pivoted[0].compiled.flow.state
        n, steps, span = len(state), self.of.counts[here, 0][:, None], self.of.at[here] - self.of.read.t
        seen, sizes = self.of.inside[here], np.maximum(np.abs(self.of.low[here]), np.abs(self.of.high[here]))

        def usual() -> Array:
            return usual_sizes(sizes, state, span)

        off = step_evidence.defects(seen, sizes, usual)[:, :n] <= step_evidence.defect_allowed(self.of.tolerance)
        rounded = step_evidence.roundings(seen, sizes, usual, steps)[:, :n] <= step_evidence.rounding_allowed(self.of.tolerance, steps)
        return np.asarray((off & rounded).all(axis=1))

    def _rows_hold(self, members: Indices, kernels: Pivoted, t: Array, states: Array) -> Mask:
        """Whether the compiled rates satisfy the rows, at one state of each member."""
        here, p = as_slice(members), self.of.read.batch.at(t, members)
        rates = each(kernels.compiled.stepping.at_state, t[here], states[here], p)
        held = held_function(kernels.compiled)
        if held is None:
            return self._rows_fit(members, kernels, t, states, rates, p)
        y = np.hstack([states[here], rates])
        found = _hold(each(held[1], t[here], y, p))
        some = _sample(len(members))
        if not _hold_by_casadi(kernels.compiled, t[members[some]], y[some], p[some])[found[some]].all():
            found[:] = False  # machine code is wrong about the rows: CasADi's evaluation decides
        rest = np.flatnonzero(~found)
        if len(rest):
            found[rest] = self._rows_fit(members[rest], kernels, t, states, rates[rest], p[rest])
        return found

    def _rows_fit(self, members: Indices, kernels: Pivoted, t: Array, states: Array, rates: Array, p: Array) -> Mask:
        """The same with multipliers that are fitted to the rows."""
        rows = rows_of(kernels.compiled)
        residuals, sizes = fitted_residuals(rows, t[members], states[members], rates, p)
        usual = sizes.max(axis=1, keepdims=True, initial=0.0)
        scale = step_evidence.measured_by(sizes, usual)
        if not (residuals <= ROWS * scale).all():
            residuals, sizes = fitted_residuals(rows, t[members], states[members], rates, p, np.maximum(scale, WEAK * usual))
            scale = np.maximum(np.maximum(scale, WEAK * usual), sizes)
        return all_in_rows(residuals <= ROWS * scale)


def relative(sizes: Array, scales: Array) -> Array:
    """Residuals relative to the sums of their terms."""
    if (scales > 0).all():
        return sizes / scales
    return np.where(sizes == 0, 0.0, sizes / np.where(scales > 0, scales, np.nan))


def _hold_by_casadi(compiled: Compiled, t: Array, y: Array, p: Array) -> Mask:
    """Where states with their rates satisfy all rows, evaluated by CasADi."""
    held = held_function(compiled)
    return np.zeros(len(t), bool) if held is None else _hold(mapped(held[0], t, y, p))


@lru_cache(maxsize=64)
def _sample(size: int) -> Indices:
    """The places of some members among all; not to be written to."""
    return np.unique(np.linspace(0, size - 1, _ASKED).astype(np.int64))


def _hold(found: Array) -> Mask:
    """Where the residuals of all rows, the first half of the columns, are small beside their terms, the other half."""
    half = found.shape[1] // 2
    residuals, sizes = found[:, :half], found[:, half:]
    return all_in_rows(residuals <= ROWS * sizes)
