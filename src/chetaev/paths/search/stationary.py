r"""Rough stationary curves: Newton's iteration on the discrete action from perturbed curves, for minima and saddle points alike.

The conditions for a stationary point of the discrete action $S(x)$ under rows $g(x) = 0$ are $S_x + \lambda\, g_x = 0$, $g = 0$. Newton's
iteration on them does not prefer minima, and all points of a curve are unknowns, so that it converges from curves far from a path: between
the clamped ends of an elastica from nine in ten perturbed curves, while shooting converges from one in ten random starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.paths.boundary.ends import Array

_MOST_ITERATIONS = 60
"""Limit of iterations for each curve; those that lead to a path need about ten."""
_LONGEST_STEP = 1.5
"""Longest step of a point of the curve, relative to the sizes of the coordinates, beyond which the linearisation is useless."""
_SHORTEST_STEP = 0.02
"""Least fraction of Newton's step: it is taken even if the residual does not fall, to leave a flat region."""
_MET = 1e-8
"""Residual at which the iteration ends; the error of the discrete curve itself is larger."""
_STATIONARY_RESIDUAL = 1e-6
"""Largest residual of a curve that counts as stationary."""
_LEAST_REDUCTION = 1e-3
"""Relative reduction of the residual that a full step must bring; otherwise the step is halved."""


class Discrete:
    """The derivatives of a discrete action, as IPOPT's solver holds them."""

    def __init__(self, solver: Any, free: Any) -> None:
        """Take the derivatives from `solver`; `free` are the indices of the unknowns among the numbers of a curve."""
        self.free = free
        self._gradient, self._rows, self._second = (solver.get_function(name) for name in ("nlp_grad_f", "nlp_jac_g", "nlp_hess_l"))

    def stationary(self, x: Array) -> tuple[Array, Array] | None:
        """A stationary curve near `x` with its multipliers; None if the iteration does not converge."""
        gradient, _, slopes = self._first(x)
        duals: Array = np.linalg.lstsq(slopes.toarray().T, -gradient, rcond=_MET)[0]
        residual, slopes = self._residual(x, duals)
        for _ in range(_MOST_ITERATIONS):
            before = float(np.linalg.norm(residual))
            if before < _MET or not np.isfinite(before):
                break
            step = self._step(x, duals, residual, slopes)
            if step is None:
                return None
            part = min(1.0, _LONGEST_STEP / max(float(np.abs(step[: len(self.free)]).max(initial=0.0)), ALMOST_ZERO))
            while True:
                there = x.copy()
                there[self.free] += part * step[: len(self.free)]
                then = duals + part * step[len(self.free) :]
                residual, slopes = self._residual(there, then)
                if np.linalg.norm(residual) < (1 - _LEAST_REDUCTION * part) * before or part < _SHORTEST_STEP:
                    break
                part /= 2
            x, duals = there, then
        return (x, duals) if float(np.linalg.norm(residual)) < _STATIONARY_RESIDUAL else None

    def _first(self, x: Array) -> tuple[Array, Array, Any]:
        """The gradient of the action with respect to the unknowns, the rows, and their slopes."""
        gradient = np.array(self._gradient(x, 0)[1]).ravel()[self.free]
        rows, slopes = self._rows(x, 0)
        found = np.array(rows).ravel()
        matrix = sp.csc_matrix(slopes.sparse())[:, self.free] if found.size else sp.csc_matrix((0, len(self.free)))
        return gradient, found, matrix

    def _residual(self, x: Array, duals: Array) -> tuple[Array, Any]:
        gradient, rows, slopes = self._first(x)
        return np.concatenate([gradient + slopes.T @ duals, rows]), slopes

    def _step(self, x: Array, duals: Array, residual: Array, slopes: Any) -> Array | None:
        """Newton's step; None where the equations are singular."""
        upper = sp.csc_matrix(self._second(x, 0, 1, duals).sparse())
        second = (upper + sp.triu(upper, 1).T)[self.free][:, self.free]
        matrix = sp.bmat([[second, slopes.T], [slopes, None]]) if len(duals) else second
        if not np.isfinite(matrix.data).all():
            return None
        try:
            step = -splu(matrix.tocsc()).solve(residual)
        except RuntimeError:
            return None
        found: Array = step
        return found if np.isfinite(found).all() else None
