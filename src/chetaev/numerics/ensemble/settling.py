r"""Rows solved for some jets of all members together: `roots.settle`, step by step, for many.

Each member iterates independently: damped Levenberg-Marquardt steps in scaled variables until its rows almost hold, then Gauss-Newton steps
of least weighted norm with the rank of the first. A member that has converged, or makes no progress, stays.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from chetaev.core.symbols import Jet
from chetaev.numerics.ensemble.batch import Array, Indices, Mask
from chetaev.numerics.ensemble.linear import thin_svd
from chetaev.numerics.start import newton as roots

Rows = Callable[[Array, Indices], tuple[Array, Array]]
"""Residuals of the rows and their Jacobian by all jets of the state, at the states of some members."""


def weights(unknowns: Sequence[int], state: Sequence[Jet], x: Array, guessed: Container[Jet], units: Array) -> Array:
    """Return the weights of moves of each jet of each member: `newton.weights` for many. Jets without a value yet are zero in `x`."""
    found = np.empty((len(x), len(unknowns)))
    largest = _largest(state, np.abs(x), units)
    for k, j in enumerate(unknowns):
        typical = np.where(largest[:, j] == 0, units[j], largest[:, j])
        found[:, k] = (roots._GUESSED if state[j] in guessed else 1.0) * typical
    return found


def terms(jacobian: Array, state: Sequence[Jet], x: Array, units: Array) -> Array:
    """Return the size of the largest term of each row of each member: `newton._terms` for many."""
    sizes = np.abs(x)
    sizes = np.maximum(np.maximum(sizes, roots._SMALL * _largest(state, sizes, units)), roots._TINY * units)
    scale = (np.abs(jacobian) * sizes[:, None, :]).max(axis=2, initial=0.0)
    return np.where(scale > 0, scale, 1.0)


def _largest(state: Sequence[Jet], sizes: Array, units: Array) -> Array:
    """Return for each member the largest jet of each order, at the indices of the jets of that order, in their units."""
    orders = np.array([z.order for z in state])
    found = np.empty_like(sizes)
    for order in set(orders.tolist()):
        found[:, orders == order] = (sizes / units)[:, orders == order].max(axis=1, keepdims=True)
    return found * units


class Settling:
    """The iteration of members towards the rows. `x` holds their states and is changed in place."""

    def __init__(self, rows: Rows, columns: Sequence[int], move: Array, scale: Array, x: Array) -> None:
        self.rows, self.columns, self.move, self.scale, self.x = rows, list(columns), move, scale, x
        self.residual, self.jacobian, self.finite = self._look(x, np.arange(len(x)))
        self.size = np.linalg.norm(self.residual, axis=1)

    def settle(self) -> None:
        """Bring every member as near to the rows as possible."""
        if self.columns:
            self._approach()
            self._polish()

    def _approach(self) -> None:
        damping = np.ones(len(self.x))
        for _ in range(roots._STEPS):
            going = np.flatnonzero(self.finite & (self.size >= roots._NEAR) & (damping <= roots._MOST_DAMPING))
            if not len(going):
                return
            a, r = self.jacobian[going], self.residual[going]
            normal = a @ np.swapaxes(a, 1, 2) + (damping[going] * self.size[going])[:, None, None] * np.eye(r.shape[1])
            step = np.einsum("kmn,km->kn", a, np.linalg.solve(normal, -r[:, :, None])[:, :, 0])
            went = self._go(going, step, 1.0)
            damping[going] = np.where(went, np.maximum(damping[going] / 4, roots._SMALL), damping[going] * 4)

    def _polish(self) -> None:
        going = np.flatnonzero(self.finite & (self.size < roots._NEAR))
        ranks = np.full(len(self.x), -1)
        for _ in range(roots._STEPS):
            going = going[self.size[going] >= roots._EXACT]
            if not len(going):
                return
            u, s, vt = thin_svd(self.jacobian[going])
            cut = np.maximum(roots._RANK, 30 * self.size[going])[:, None] * s[:, :1]
            ranks[going] = np.where(ranks[going] < 0, np.where(s[:, 0] > 0, (s > cut).sum(axis=1), 0), ranks[going])
            kept = np.arange(s.shape[1]) < ranks[going][:, None]
            weighed = np.einsum("kmr,km->kr", u, -self.residual[going]) / np.where(kept, s, 1.0) * kept
            going = going[self._go(going, np.einsum("krn,kr->kn", vt, weighed), 0.9)]

    def _go(self, going: Indices, step: Array, factor: float) -> Mask:
        """Take the steps of those members whose residual they reduce below `factor` times its value."""
        trial = self.x[going]
        trial[:, self.columns] += step * self.move[going]
        residual, jacobian, finite = self._look(trial, going)
        size = np.linalg.norm(residual, axis=1)
        went: Mask = finite & (size < factor * self.size[going])
        some = going[went]
        self.x[some], self.residual[some], self.jacobian[some], self.size[some] = trial[went], residual[went], jacobian[went], size[went]
        return went

    def _look(self, x: Array, members: Indices) -> tuple[Array, Array, Mask]:
        residual, jacobian = self.rows(x, members)
        jacobian = jacobian[:, :, self.columns]
        finite = np.asarray(np.isfinite(residual).all(axis=1) & np.isfinite(jacobian).all(axis=(1, 2)))
        residual, jacobian = np.where(finite[:, None], residual, 0.0), np.where(finite[:, None, None], jacobian, 0.0)
        scale = self.scale[members]
        return residual / scale, jacobian / scale[:, :, None] * self.move[members][:, None, :], finite
