r"""Switching surfaces that a motion grazes: the error that follows from an uncertain time beyond the surface.

Where a switching function has an extremum of height $h$ beyond its surface, with the second derivative $c$, the motion stays beyond it for
$W(h) = 2\sqrt{2h/c}$. The state is known to its tolerance only, and the function to $\delta$. So the time in the window is known to
$(W(h + \delta) - W(h - \delta))/2$, which near $h = 0$ is as large as $\sqrt{\delta}$; times the jump of the rates it is the error of the
state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt

import numpy as np

from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.methods.base import interpolate
from chetaev.numerics.smooth_pieces.piece import Piece, Setting
from chetaev.numerics.smooth_pieces.signs import Figure, Signs

_INSIDE = np.array([0.17, 0.37, 0.59, 0.81])
"""Positions inside a step, as fractions of it, at which functions are evaluated besides the nodes. They are not symmetric, because the time
beyond a surface may be."""
_MOST_DIVISIONS, _DIVISIONS_FOR_CURVATURE = 14, 4
"""Number of times that the interval of an extremum is divided by four, and the number after which its second derivative is kept."""
_KNOWN_HEIGHT = 1e4
"""Height of an extremum, in units of the error of the function, above which the height and the time beyond the surface have four correct
digits."""


def grazed(piece: Piece, signs: Signs, modes: Sequence[int], other: Callable[[int], Setting | None], scale: Array) -> Figure | None:
    """The largest error of the state by a grazed surface, relative to `scale`, with the index of the function and the time.

    Args:
        piece: The piece.
        signs: The functions, with the allowed errors of the state.
        modes: The indices of switching functions among the functions.
        other: The setting beyond the surface of a function; None if it has another state.
        scale: The sizes of the components of the state.
    """
    run = piece.run
    if len(run.nodes) < 2 or len(run.nodes) <= int(run.accepted) or not len(run.coefficients):
        return None
    nodes = np.asarray(run.nodes)
    times = np.append((nodes[:-1, None] + np.diff(nodes)[:, None] * np.insert(_INSIDE, 0, 0.0)).ravel(), nodes[-1])
    p = piece.setting.parameters(piece.begin, piece.reference)

    def states(at: Array) -> Array:
        return interpolate(piece.basis, run.nodes, run.states, run.coefficients, at)[:, : piece.setting.flow.size]

    def value(k: int, at: Array) -> Array:
        return signs.plain(at, states(at), p)[:, k]

    table = signs.plain(times, states(times), p)
    worst: Figure | None = None
    errors = signs.moves(float(times[len(times) // 2]), states(times[len(times) // 2 :][:1])[0], p)
    for k in modes:
        s = table[:, k]
        rise = np.diff(s)
        for i in np.flatnonzero(rise[:-1] * rise[1:] < 0) + 1:
            bend = rise[i] - rise[i - 1]
            if abs(s[i]) > (abs(bend) if s[i] * bend > 0 else 2 * _KNOWN_HEIGHT * errors[k]):  # the extremum is far from the surface
                continue
            found = _located(partial(value, k), float(times[i - 1]), float(times[i + 1]))
            size = 0.0 if found is None else _effect(piece, signs, k, found, states(np.array([found[0]]))[0], other, scale)
            if found is not None and size > (0.0 if worst is None else worst[0]):
                worst = min(size, 1.0), k, found[0]
    return worst


def _located(function: Callable[[Array], Array], low: float, high: float) -> tuple[float, float, float] | None:
    """The time, the value and the second derivative of an extremum in an interval; None if the function has no values there."""
    second = np.nan
    for level in range(_MOST_DIVISIONS):
        at = np.linspace(low, high, 9)
        s = function(at)
        if not np.isfinite(s).all():
            return None
        bend = s[0] - 2 * s[4] + s[8]
        if level <= _DIVISIONS_FOR_CURVATURE and at[4] != at[0]:
            second = float(bend / (at[4] - at[0]) ** 2)
        i = int(np.clip(np.argmin(s) if second > 0 else np.argmax(s), 1, 7))
        low, high = float(at[i - 1]), float(at[i + 1])
    middle = (low + high) / 2
    return (middle, float(function(np.array([middle]))[0]), second) if second else None


def _effect(
    piece: Piece,
    signs: Signs,
    k: int,
    extremum: tuple[float, float, float],
    state: Array,
    other: Callable[[int], Setting | None],
    scale: Array,
) -> float:
    """The error of the state by the error of a function, relative to the size of the state."""
    t, value, second = extremum
    here = piece.setting
    p = here.parameters(t, piece.reference)
    error = float(signs.moves(t, state, p)[k])
    if not 0 < error < np.inf or abs(value) > _KNOWN_HEIGHT * error:
        return 0.0
    there = other(k)
    if there is None or there.flow.state != here.flow.state:
        return 0.0
    height = -abs(value) if value * second > 0 else abs(value)
    unsure = (_stay(height + error, second) - _stay(height - error, second)) / 2
    n = len(here.flow.state)
    beyond = there.native(here.named(state), 0.0)
    rates = [np.asarray(one.compiled.rhs(t, y, one.parameters(t)), float)[:n] for one, y in ((here, state), (there, beyond))]
    jump = np.abs(rates[1] - rates[0])
    size = scale[:n]
    found = np.divide(jump * unsure, size, out=np.zeros(n), where=size > 0)
    return float(found.max(initial=0.0)) if np.isfinite(found).all() else 0.0


def _stay(height: float, second: float) -> float:
    """The time that a parabola with this height and second derivative is beyond zero."""
    return 2 * sqrt(2 * max(height, 0.0) / abs(second))
