"""Errors of the slopes of a motion by round-off: suspected by bounds, decided by differences, another elimination, or many digits.

A formula that has its digits may have derivatives that lose them: (1 - cos(k*x))/x^2 at x = 1e-4 has eight digits, its derivative four.
Bounds add up all errors of a long computation and are often far too large. Differences of the rates between neighbouring states give the
same numbers with independent errors: if both agree, both are right, and that takes microseconds. Near a state where a pivot vanishes,
differences are noise; there an elimination that chooses its pivots at the state is a third method, with bounds of the round-off in its
coefficients. If none agrees, rates in many digits decide, which take milliseconds each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.exact_rates import exact_rates
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.slopes.directions import By, Directions
from chetaev.numerics.slopes.variation import eliminated_rates, from_lanes, moving_parameters, one_direction
from chetaev.numerics.smooth_pieces.piece import Piece

_NODES_IN_MANY_DIGITS = 8
"""Nodes at which rates of slopes are computed in many digits."""
_FEWEST_NODES = 8
"""Fewest nodes of a piece that are checked for a direction. If there are more, directions share them: each checks different nodes, and
together they check all, because digits are lost at a state in every direction."""
_MOST_NODES = 500
"""Most nodes that are checked for one direction: each takes about as long as a step of the motion. With fewer, a loss of digits during a
few of thousands of steps may be missed."""
_SMALLEST_SIZE = 1e-2
"""Smallest size with which the error of a slope is compared, relative to its typical size."""
_STEPS = (5e-2, 1e-2, 1e-3)
"""Steps of differences, relative to the sizes of jets and parameters: long ones for rates with few digits, short ones for strongly
nonlinear rates."""
_WEIGHTS = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
"""The difference of eighth order: the derivative is the sum of the weights times f(k h) - f(-k h), over h."""
Figure = tuple[float, str, float]
"""The largest error relative to the size of its slope, the slope, and the time."""


def slope_rounding(piece: Piece, directions: Directions, usual: Array, allowed: float) -> Figure | None:
    """The largest error of the slopes of a piece by rounding; None if they clearly have correct digits.

    `usual` has their typical sizes, a line for each jet and a column for each direction, and `allowed` is the relative error that is
    allowed. Of a run that did not store its steps only the end is checked.
    """
    run, setting, flow = piece.run, piece.setting, piece.setting.flow
    if run.beside is None or not int(run.accepted):
        return None
    times, states, slopes = np.asarray(run.nodes), np.asarray(run.states), from_lanes(np.asarray(run.beside.states), len(directions))
    if len(times) <= int(run.accepted):
        times, states, slopes = (
            np.array([piece.end]),
            np.asarray(run.y)[None, :],
            from_lanes(np.asarray(run.beside.y), len(directions))[None],
        )
    p, first = setting.parameters(piece.begin, piece.reference), len(flow.system.equations.system.parameters)
    moved = moving_parameters(directions.parameters)
    kernel = one_direction(setting, directions.parameters)
    address = doubting(kernel, setting.compiled.inputs(setting.binding), first, often=True)
    whole = np.abs(np.gradient(times)) if len(times) > 1 else np.array([abs(piece.end - piece.begin)])
    stride = max(1, min(len(directions), len(times) // _FEWEST_NODES), len(times) // _MOST_NODES)
    suspects = []
    for k, by in enumerate(directions.several):
        own = slice(k % stride, None, stride)
        seeds = np.array([*[float(by.parameter == z) for z in moved], 0.0])
        at, y, slope = times[own], states[own], slopes[own, :, k]
        lengths = whole[own]
        found = dop853.evaluate(address, at, np.hstack([y, slope]), np.concatenate([p, seeds]), 2 * kernel.n_out)
        scale = np.maximum(np.abs(slopes[:, :, k]).max(axis=0), _SMALLEST_SIZE * usual[:, k])
        scale = np.where(scale > 0, scale, np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            upper, lower = found[:, flow.size : kernel.n_out], found[:, kernel.n_out + flow.size :]
            errors = np.abs(upper - lower) / 2
            if not (stride * (lengths @ errors) <= allowed * scale).all():
                suspects.append(_Suspect(piece, by, at, lengths, y, slope, (upper + lower) / 2, lengths[:, None] * errors, scale, stride))
    return max((one.figure(allowed) for one in suspects), default=None)


@dataclass(frozen=True, eq=False)
class _Suspect:
    """The slopes of a piece in one direction, with bounds of their errors."""

    piece: Piece
    by: By
    times: Array
    lengths: Array
    """The duration that each node represents."""
    states: Array
    slopes: Array
    rates: Array
    shares: Array
    """Bounds of the errors of the slopes that come from the rates at each node."""
    scale: Array
    """The sizes of the slopes."""
    stride: int
    """The ratio of all nodes to those that are checked for this direction."""

    def figure(self, allowed: float) -> Figure:
        """The largest error of a slope relative to its size."""
        with np.errstate(invalid="ignore", over="ignore"):  # sums and squares of huge slopes overflow; infinity exceeds every limit
            size, jet = self._settled(allowed)
            if not size <= allowed:
                size, jet = self._in_many_digits()
            return size, f"slope of {self.piece.setting.flow.state[jet].name} by {self.by.name}", float(self.times[self._checked_nodes[0]])

    def _settled(self, allowed: float) -> tuple[float, int]:
        """The largest error relative to its slope, and its jet. The error at a node is at most its bound, and at most the smallest
        difference from the other two methods.
        """
        least = np.nan_to_num(self.shares, nan=np.inf)
        ways: list[Callable[[], tuple[Array, Array | float]]] = [partial(_differences, self, step) for step in _STEPS]
        ways.append(partial(_eliminated, self))
        for way in ways:
            rates, bounds = way()
            off = np.nan_to_num(self.lengths[:, None] * (np.abs(self.rates - rates) + bounds), nan=np.inf)
            least = np.minimum(least, off)
            usual = self.stride * len(least) * np.median(least, axis=0)  # an estimate for all nodes by a typical one
            total = np.maximum(least.sum(axis=0), usual) / self.scale
            if (total <= allowed).all():
                break
        jet = int(np.argmax(total))
        return float(total[jet]), jet

    @cached_property
    def _checked_nodes(self) -> NDArray[np.intp]:
        """The nodes with the largest bounds."""
        weights = np.nan_to_num((self.shares / self.scale).max(axis=1), nan=np.inf)
        return np.argsort(-weights)[:_NODES_IN_MANY_DIGITS]

    def _in_many_digits(self) -> tuple[float, int]:
        """As `_settled`, with rates in many digits at some nodes; at the others errors are taken to be the same fraction of their
        bounds.
        """
        setting, exact = self.piece.setting, exact_rates(self.piece.setting.compiled, self.piece.setting.binding)
        first = len(setting.flow.system.equations.system.parameters)
        of_parameters = np.array([float(z == self.by.parameter) for z in setting.flow.arguments[:first]])
        errors, parts, rest = [], [], np.ones(len(self.times), bool)
        for i in self._checked_nodes:
            t = float(self.times[i])
            right = exact.along(t, self.states[i], setting.parameters(t, self.piece.reference), self.slopes[i], of_parameters)
            if right is None:
                continue
            error, share = self.lengths[i] * (self.rates[i] - right[: len(self.scale)]), self.shares[i]
            errors.append(error)
            parts.append(np.where(share > 0, error / np.where(share > 0, share, 1.0), 0.0))
            rest[i] = False
        if not parts:
            return 0.0, 0
        bounds = self.shares[rest]
        one_sign = np.abs(np.sum(errors, axis=0)) + np.abs(np.mean(parts, axis=0)) * bounds.sum(axis=0) / len(parts) ** 0.5
        by_chance = np.sqrt(np.sum(np.square(errors), axis=0) + np.mean(np.square(parts), axis=0) * (bounds**2).sum(axis=0))
        total = np.nan_to_num(np.maximum(one_sign, by_chance) / self.scale, nan=np.inf)
        jet = int(np.argmax(total))
        return float(total[jet]), jet


def _differences(suspect: _Suspect, step: float) -> tuple[Array, float]:
    """The rates of slopes at all nodes, by differences of the rates. Their errors are independent of those of derivatives and need no
    bounds.
    """
    setting, times, n, parameter = suspect.piece.setting, suspect.times, len(suspect.scale), suspect.by.parameter
    sizes, moved = np.abs(suspect.states[:, :n]).max(axis=0), np.abs(suspect.slopes).max(axis=0)
    ratios = [float(v / s) for v, s in zip(sizes, moved, strict=True) if v > 0 and s > 0]
    if parameter is not None and setting.binding.parameters[parameter]:
        ratios.append(abs(setting.binding.parameters[parameter]))
    h = step * min(ratios, default=1.0)
    rhs = setting.compiled.rhs

    def rates(far: float) -> Array:
        values = dict(setting.binding.parameters)
        if parameter is not None:
            values[parameter] += far
        there = replace(setting, binding=Binding(values, setting.binding.inputs))
        y = suspect.states.copy()
        y[:, :n] += far * suspect.slopes
        if not setting.binding.inputs:  # p does not change with time
            return dop853.evaluate(rhs.early, times, y, there.parameters(float(times[0]), suspect.piece.reference), rhs.n_out)[:, :n]
        p = np.array([there.parameters(float(t), suspect.piece.reference) for t in times])
        return dop853.evaluate(rhs.early, times, y, p, rhs.n_out)[:, :n]

    return np.sum([weight * (rates(k * h) - rates(-k * h)) for k, weight in _WEIGHTS], axis=0) / h, 0.0


def _eliminated(suspect: _Suspect) -> tuple[Array, Array]:
    """The rates of slopes at all nodes, by an elimination with pivots chosen at each, and bounds of their errors; NaN where it has none."""
    setting, moved = suspect.piece.setting, moving_parameters((suspect.by.parameter,))
    p = np.array([[*setting.parameters(float(t), suspect.piece.reference), *np.ones(len(moved)), 0.0] for t in suspect.times])
    wide = np.hstack([suspect.states, suspect.slopes])
    return eliminated_rates(setting, (suspect.by.parameter,), suspect.times, wide, p)
