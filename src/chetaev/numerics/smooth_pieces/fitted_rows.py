"""The rows of a flow as stated, with the compiled rates inserted: unknowns that are not rates, such as multipliers, are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from chetaev.core.symbols import TIME
from chetaev.mechanics.ranks.sparse import Sparse, few, largest_of, scaled, sparse_fit, stored
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.magnitude import magnitudes

Indices = NDArray[np.int64]

_UNDETERMINED_DIRECTION = 1e-13
"""Relative singular value below which directions of the fitted unknowns are not determined."""


@dataclass(frozen=True)
class Rows:
    """The rows of a flow as stated, as a function of (t, state and rates, p), which is called only a few times."""

    labels: tuple[str, ...]
    function: ca.Function
    """Residuals without the fitted unknowns, those of their coefficients that are not zero, and the sizes of all other terms."""
    sources: tuple[int, ...]
    """The indices of those rates that occur."""
    fitted: int
    """The number of fitted unknowns."""
    places: tuple[Indices, Indices]
    """The rows and columns of the coefficients, by rows."""


_ROWS: Remembered[Rows] = Remembered(192)


def rows_of(compiled: Compiled) -> Rows:
    """The rows of compiled equations; cached."""
    return _ROWS.get(compiled, (), lambda: _rows(compiled))


def _rows(compiled: Compiled) -> Rows:
    flow = compiled.flow
    pairs = flow.system.stage(0)
    rows = [flow.system.row(pair) for pair in pairs]
    rates = {z.d(): k for k, z in enumerate(flow.state)}
    top = flow.system.structure.top
    moving = [z for z in top if z in rates]
    fitted = [z for z in top if z not in rates]
    column = ca.vertcat(*rows)
    slopes = ca.jacobian(column, flow.graph.vector(fitted)).T if fitted else ca.SX(0, len(rows))
    across, down = slopes.sparsity().get_triplet()  # column by column: of the rows themselves row by row
    plain: list[ca.SX] = ca.vertsplit(ca.densify(flow.graph.without(column, fitted)))
    outputs: list[Any] = [*plain, *slopes.nonzeros(), *magnitudes(plain)]
    x = ca.vertcat(flow.x, flow.graph.vector(moving))
    function = flow.graph.function("rows", [flow.graph.leaf(TIME), x, flow.p], ca.vertcat(*outputs))
    places = np.array(down, dtype=np.int64), np.array(across, dtype=np.int64)
    return Rows(tuple(map(flow.system.label, pairs)), function, tuple(rates[z] for z in moving), len(fitted), places)


def fitted_residuals(rows: Rows, times: Array, states: Array, rates: Array, p: Array, scale: Array | None = None) -> tuple[Array, Array]:
    """Return residuals, with unknowns that are not rates fitted, and the sizes of the terms.

    Rows are weighted by their largest coefficient of a fitted unknown, or by their scales: a row in which a multiplier has a coefficient of
    round-off must not determine it.
    """
    n, m = len(rows.labels), rows.fitted
    y, p = np.hstack([states, rates[:, list(rows.sources)]]), np.broadcast_to(p, (len(times), p.shape[-1]))
    found = np.ascontiguousarray(np.array(rows.function(times[None, :], y.T, p.T)).T)
    (i, j), count = rows.places, len(rows.places[0])
    residual, sizes = found[:, :n], found[:, n + count :].copy()
    if m and np.all(np.isfinite(found)):
        lines = [stored(line, i * m + j, (n, m)) for line in found[:, n : n + count]] if few(count, (n, m)) else []
        fits: list[Any] = [_fitted(a, residual[k], None if scale is None else scale[k]) for k, a in enumerate(lines)]
        if lines and not any(values is None for values in fits):
            moved = np.array([a @ values for a, values in zip(lines, fits, strict=True)])
            sizes += np.array([abs(a) @ np.abs(values) for a, values in zip(lines, fits, strict=True)])
            return np.abs(residual + moved), sizes
        slopes = np.zeros((len(found), n, m))
        slopes[:, i, j] = found[:, n : n + count]
        across = not_zero(np.abs(slopes).max(axis=2, keepdims=True)) if scale is None else not_zero(scale)[:, :, None]
        down = not_zero(np.abs(slopes / across).max(axis=1, keepdims=True))
        values = _least_squares(slopes / across / down, -residual / across[:, :, 0]) / down[:, 0]
        residual = residual + np.einsum("kij,kj->ki", slopes, values)
        sizes += np.einsum("kij,kj->ki", np.abs(slopes), np.abs(values))
    return np.abs(residual), sizes


def _fitted(slopes: Sparse, residual: Array, scale: Array | None) -> Array | None:
    """The values that fit the rows of one state, whose slopes are sparse; None unless the columns are clearly independent."""
    across = not_zero(largest_of(slopes, 1) if scale is None else scale)
    weighted = scaled(slopes, 1 / across, np.ones(slopes.shape[1]))
    down = not_zero(largest_of(weighted, 0))
    found = sparse_fit(scaled(weighted, np.ones(slopes.shape[0]), 1 / down), -residual / across, _UNDETERMINED_DIRECTION)
    return None if found is None else found / down


def _least_squares(matrices: Array, right: Array) -> Array:
    """The unknowns that fit each right-hand side best, and of these the shortest ones."""
    fitted: Array = np.einsum("kij,kj->ki", np.linalg.pinv(matrices, rcond=_UNDETERMINED_DIRECTION), right)
    return fitted


def not_zero(found: Array) -> Array:
    """Sizes to divide by: 1 in place of zero."""
    return np.where(found > 0, found, 1.0)
