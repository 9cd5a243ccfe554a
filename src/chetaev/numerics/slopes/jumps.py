r"""Slopes across the end of a smooth piece: the saltation matrix, by time and parameters too.

A surface $g(t, x, p) = 0$ is met at a time $\tau$ that moves with a direction by $\tau' = -(g_x S + g_p)/(g_x f_- + g_t)$. On the moving
surface the state before changes by $\bar S = S + f_-\tau'$, the state after, $x_+ = R(t, x_-, p)$, by $R_x\bar S + R_t\tau' + R_p$, and at
a fixed time the slope after is this minus $f_+\tau'$. Where nothing is reset, $R$ is the identity: $S_+ = S + (f_- - f_+)\tau'$.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Symbol

from chetaev.core.symbols import Jet
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.slopes.linear import Parameters, at_state, of_expressions, of_rows
from chetaev.numerics.slopes.variation import from_lanes
from chetaev.numerics.smooth_pieces.piece import Piece, Setting

_UNCHANGED_JET = 1e-9
"""Change of a jet at a reset, relative to the largest jet, below which it is round-off."""
_DIFFERENCE_STEP = 1e-3
"""Step of five-point differences, relative to the sizes of the moved quantities: its fourth power is the relative error."""
_ZERO_SLOPE = 1e-9
"""Slope on the moving surface, relative to its two terms, below which it is zero, such as that of the gap of a contact. The errors of the
terms are about ten times the tolerance."""
_SAME_DERIVATIVE = 1e-10
"""Relative difference of the derivatives with two steps below which the search for the best step ends: the rest is round-off."""
_MOST_DIVISIONS = 5
"""Most divisions of a step by ten; shorter steps have no digits left."""

Moves = Callable[[Setting, float, Mapping[Jet, float]], Mapping[Jet, float]]
"""The state after a jump, from the setting, the time and the state before."""
_CUT = 1e-10
"""Relative: singular values of the rows below this leave jets after a reset undetermined. With less, round-off of redundant rows would
determine slopes."""


@dataclass(frozen=True)
class Crossing:
    """The end of a piece: the function that vanishes there, and the map of the state."""

    surface: Expr
    """The function, in the form that the piece evaluates."""
    reset: Mapping[Jet, Expr] | None = None
    """New values of jets, in the form that the piece evaluates."""
    moves: Moves | None = None
    """The state after from the state before, for jumps that are known only numerically, and for resets that move other jets by the smallest
    change."""


def ends_of(piece: Piece, directions: int) -> Array:
    """The slopes of the state where a piece ends, a column for each direction."""
    return from_lanes(np.array(piece.run.beside.y), directions)


def time_slopes(piece: Piece, surface: Expr, slopes: Array, parameters: Parameters) -> Array:
    """The derivative of the time at which a surface is met by each direction; infinite if the motion only touches it."""
    here, t, native = piece.setting, piece.end, np.array(piece.run.y)
    found = at_state(here, of_expressions(here, [surface], parameters), t, native, len(parameters))
    rate = float((found.by_state @ rates(here, t, native))[0] + found.by_time[0])
    moved = found.along(slopes)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved == 0.0, 0.0, -moved / rate)


def rates(here: Setting, t: float, native: Array) -> Array:
    """The rates of the jets of the state."""
    found: Array = here.compiled.rhs(t, native, here.parameters(t))[: len(here.flow.state)]
    return found


def carried(
    piece: Piece, there: Setting, t: float, jets: Mapping[Jet, float], crossing: Crossing | None, parameters: Parameters
) -> dict[Jet, Array]:
    """The slopes of the state after the end of a piece, from those before."""
    k, before = len(parameters), ends_of(piece, len(parameters))
    if crossing is None:
        return dict(zip(there.flow.state, _read(piece, there.flow.state, before, np.zeros(k), parameters), strict=True))
    delay = time_slopes(piece, crossing.surface, before, parameters)
    after = None
    if crossing.reset is not None:
        after = _reset(piece, there, t, jets, crossing.reset, before, delay, parameters)
    elif crossing.moves is None:
        after = _read(piece, there.flow.state, before, delay, parameters)
    if after is None:
        assert crossing.moves is not None  # noqa: S101 - resets have such a map
        after = _by_differences(piece, there, crossing.moves, before, delay, parameters)
    after = after - np.outer(rates(there, t, there.native(jets, 0.0)), delay)
    return dict(zip(there.flow.state, after, strict=True))


def _read(piece: Piece, expressions: Sequence[Expr], slopes: Array, delay: Array, parameters: Parameters) -> Array:
    """The slopes of expressions of the state before, at a time that moves by `delay`."""
    here, t, native = piece.setting, piece.end, np.array(piece.run.y)
    found = at_state(here, of_expressions(here, expressions, parameters), t, native, len(parameters))
    moving = slopes + np.outer(rates(here, t, native), delay)
    return found.along(moving) + np.outer(found.by_time, delay)


def _reset(
    piece: Piece,
    there: Setting,
    t: float,
    jets: Mapping[Jet, float],
    reset: Mapping[Jet, Expr],
    slopes: Array,
    delay: Array,
    parameters: Parameters,
) -> Array | None:
    """The slopes of the state after a reset, at the moving time: jets of lower order stay, others move onto the constraints.

    None if the constraints do not determine how the others move, and they moved: the smallest change depends on the norm that measures it.
    """
    state, k = there.flow.state, len(parameters)
    after = _read(piece, state, slopes, delay, parameters)
    new = dict(zip(reset, _read(piece, list(reset.values()), slopes, delay, parameters), strict=True))
    for j, z in enumerate(state):
        if z in new:
            after[j] = new[z]
    lowest = min(z.order for z in reset)
    loose = [j for j, z in enumerate(state) if z not in new and z.order >= lowest]
    rows = at_state(there, of_rows(there, parameters), t, there.native(jets, 0.0), k)
    if not loose or not len(rows.values):
        return after
    left = -(rows.along(after) + np.outer(rows.by_time, delay))
    found, _, rank, _ = np.linalg.lstsq(rows.by_state[:, loose], left, rcond=_CUT)
    own = piece.setting.named(piece.run.y)
    moved = any(abs(jets[state[j]] - own.get(state[j], np.inf)) > _UNCHANGED_JET * max(abs(v) for v in jets.values()) for j in loose)
    if rank < len(loose) and moved:
        return None
    after[loose] += found
    return after


def _by_differences(piece: Piece, there: Setting, moves: Moves, slopes: Array, delay: Array, parameters: Parameters) -> Array:
    """The slopes after a jump that is known only numerically, by five-point differences along each direction."""
    here, t, native = piece.setting, piece.end, np.array(piece.run.y)[: len(piece.setting.flow.state)]
    carried_along = np.outer(rates(here, t, np.array(piece.run.y)), delay)
    moving = slopes + carried_along
    moving[np.abs(moving) <= _ZERO_SLOPE * (np.abs(slopes) + np.abs(carried_along))] = 0.0
    columns = []
    for j, by in enumerate(parameters):

        def at(step: float, j: int = j, by: Symbol | None = by) -> Array:
            values = dict(here.binding.parameters)
            if by is not None:
                values[by] += step
            moved = {z: float(v + step * s) for z, v, s in zip(here.flow.state, native, moving[:, j], strict=True)}
            setting = replace(here, binding=Binding(values, here.binding.inputs))
            found = moves(setting, t + step * float(delay[j]), moved)
            return np.array([found[z] for z in there.flow.state])

        sizes = [size for order in _orders(here.flow.state) if (size := _ratio(native[order], moving[order, j])) is not None]
        if by is not None and here.binding.parameters[by]:
            sizes.append(abs(here.binding.parameters[by]))
        columns.append(_difference(at, _DIFFERENCE_STEP * min(sizes, default=1.0), _orders(there.flow.state)))
    return np.array(columns).T


def _orders(state: Sequence[Jet]) -> list[NDArray[np.intp]]:
    """The indices of the jets of each order; their values are compared together, because a single one may pass through zero."""
    orders = np.array([z.order for z in state])
    return [np.flatnonzero(orders == k) for k in np.unique(orders)]


def _ratio(values: Array, slopes: Array) -> float | None:
    """The step along a direction that changes the values by their own size; None if the direction does not change them."""
    value, slope = float(np.abs(values).max(initial=0.0)), float(np.abs(slopes).max(initial=0.0))
    return value / slope if value and slope else None


def _difference(function: Callable[[float], Array], step: float, orders: Sequence[NDArray[np.intp]]) -> Array:
    """The derivative of a function at 0 by five-point differences, with smaller and smaller steps until two results agree best.

    A step that is too long passes a place where the function is not smooth: a force of friction that changes its sign.
    """

    def over(h: float) -> Array:
        found: Array = (8 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12 * h)
        return found

    last, best, agreement = over(step), None, np.inf
    for _ in range(_MOST_DIVISIONS):
        step /= 10
        now = over(step)
        sizes = [max(float(np.abs(now[some]).max()), float(np.abs(last[some]).max())) for some in orders]
        off = max(float(np.abs(now[some] - last[some]).max()) / (size or 1.0) for some, size in zip(orders, sizes, strict=True))
        if best is None or off < agreement:
            best, agreement = last, off
        if agreement <= _SAME_DERIVATIVE:
            break
        last = now
    assert best is not None  # noqa: S101 - there is more than one step
    return best
