"""Values of expressions along a motion, recomputed with more digits where doubles lose them.

Expressions are evaluated in doubles. Bounds of their round-off (`chetaev.numerics.machine.rounding_bounds`) show the nodes at which a value
may have lost its digits; these values are computed again in many digits. A value that changes as much by the rounding of the state is kept:
the residual of a constraint that holds, an energy that is zero. If only the bounds are too large, as for multipliers of long chains, a few
nodes in many digits show it.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import LostDigitsWarning
from chetaev.core.support.frames import level_of_user
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.tolerances import NEGLIGIBLE_ERROR
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.exact_rates import Exact
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.methods import dop853
from chetaev.numerics.smooth_pieces.piece import Piece, Setting

ROUNDING_MULTIPLE = 16.0
"""An error of a value is attributed to the rounding of the symbols if it is at most this multiple of the effect of their last digits. With
less, residuals of rows that hold would be computed again; with much more, a value with few correct digits would stay."""
_DOUBTFUL_ERROR = 1e-6
"""Relative error bound above which a value is doubtful. States of a motion have errors of their tolerance, and bounds exceed errors many
times: a smaller number would recompute values that are right."""
_DISTANCE_BETWEEN_STATES = 2.0**-20
"""Relative distance of states whose difference shows the effect of the last digits of the state. A longer one passes over narrow
features."""
_FIRST_NODES_IN_DOUBT = 8
"""Number of doubtful nodes that are computed with many digits first. If doubles are right there, the bounds were too large, and all values
are kept."""
_MOST_INSTRUCTIONS = 20_000
"""Most instructions of an expression that is checked: one node of a longer one would take a second in many digits."""
_MOST_WORK = 400_000
"""Instructions in many digits for one reading, about five seconds; nodes beyond them have no value, and a warning says so."""
_SIGNS = np.random.default_rng(11).choice([-1.0, 1.0], size=(3, 257))
"""Directions in which the state is moved, the same in every run."""


def read(piece: Piece, function: ca.Function, expression: ca.SX, name: Hashable, times: Array, native: Array) -> Array:
    """The values of an expression at states of a piece.

    Args:
        piece: The piece.
        function: The expression as a function of (t, x, p).
        expression: The expression as a graph on the state.
        name: A key that distinguishes this expression from others of the same equations.
        times: The times.
        native: The states, a row each, in the layout of the piece's flow.

    Returns:
        A value for each time; NaN where it is not finite, or where it has no correct digits and recomputing it would take too long.
    """
    setting = piece.setting
    values: Array = setting.mapped(function, times, native, piece.reference)[0]
    if not len(times) or not _may_cancel(function):
        return values
    unsure = _in_doubt(piece, function, times, native, values)
    if not len(unsure):
        return values
    key = ("read", name, Frozen(setting.binding.inputs))
    exact = Exact(setting.compiled, setting.binding, key, lambda: [expression])
    first = _spread(unsure, _FIRST_NODES_IN_DOUBT)
    seen = _with_digits(piece, exact, times, native, values, first)
    if (np.abs(seen - values[first]) <= _DOUBTFUL_ERROR * np.abs(seen)).all():
        return values
    computed = _spread(unsure, max(_MOST_WORK // max(exact.length, 1), _FIRST_NODES_IN_DOUBT))
    found = values.copy()
    found[unsure] = np.nan
    found[computed] = _with_digits(piece, exact, times, native, values, computed)
    left = len(unsure) - len(computed)
    if left:
        warnings.warn(
            f"the terms of the expression cancel, and at {len(unsure)} of {len(times)} times doubles lose its digits; the values at {left} "
            "of these are left out (NaN), since they take too long in many digits. Read it at fewer times: motion.at(times)[...]",
            LostDigitsWarning,
            stacklevel=level_of_user(),
        )
    return found


def _spread(places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """At most `count` of the given indices, evenly spread."""
    return places[np.unique(np.linspace(0, len(places) - 1, min(count, len(places))).astype(int))]


def _may_cancel(function: ca.Function) -> bool:
    """Whether an expression that is not too long contains a sum or a difference, the only operations that lose digits."""
    count = function.n_instructions()
    return count <= _MOST_INSTRUCTIONS and any(function.instruction_id(k) in (ca.OP_ADD, ca.OP_SUB) for k in range(count))


def _in_doubt(piece: Piece, function: ca.Function, times: Array, native: Array, values: Array) -> NDArray[np.int64]:
    """The indices of values that rounding may have changed by more than `_DOUBTFUL_ERROR`, and by more than rounding of the state does."""
    setting, compiled = piece.setting, piece.setting.compiled
    first = len(compiled.flow.system.equations.system.parameters)
    address = doubting(compile_kernel(function, hot=False), compiled.inputs(setting.binding), first)
    if not address:
        return np.zeros(0, dtype=np.int64)
    p = setting.parameters(float(times[0]), piece.reference)
    both = dop853.evaluate(address, times, native, p, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        bounds = np.abs(both[:, 0] - both[:, 1]) / 2
        unsure = np.flatnonzero(~(bounds <= _DOUBTFUL_ERROR * np.abs(values)))
        for signs in _SIGNS:
            if not len(unsure):
                break
            moved = native[unsure] * (1 + _DISTANCE_BETWEEN_STATES * np.resize(signs, native.shape[1]))
            there = setting.mapped(function, times[unsure], moved, piece.reference)[0]
            through_state = EPSILON / _DISTANCE_BETWEEN_STATES * np.abs(there - values[unsure])
            unsure = unsure[~(bounds[unsure] <= ROUNDING_MULTIPLE * through_state)]
    return unsure


def _with_digits(piece: Piece, exact: Exact, times: Array, native: Array, values: Array, which: NDArray[np.int64]) -> Array:
    """Values in many digits; if these have no value, the values in doubles."""
    setting: Setting = piece.setting
    found = values[which].copy()
    for k, node in enumerate(which):
        t = float(times[node])
        right = exact(t, native[node], setting.parameters(t, piece.reference), NEGLIGIBLE_ERROR)
        if right is not None:
            found[k] = right[0]
    return found
