r"""lyapunov: the mean rates at which neighbouring motions separate.

An orthonormal frame $Q$ of the tangent space is carried along by the derivative of the flow and made orthonormal again,
$\Phi Q = Q' R$; the exponents are the means of $\log |R_{ii}|$ per time (G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn,
Meccanica 15 (1980) 9-30). Their sum is the mean divergence of the flow in the volume of these units, and where the flow keeps the
volume of coordinates and momenta (`volume`), in that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError
from chetaev.core.state import State
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.prepared import Growth, growth_of
from chetaev.orbits.flow import flow_of
from chetaev.orbits.invariants import explained, invariants_of
from chetaev.orbits.volume import canonical

Array = NDArray[np.float64]

_PARTS_OF_RUN = 400
"""Parts of a run whose growth is told apart: more than blocks, so that blocks of equal lengths can be made of them."""
_BLOCKS_OF_PARTS = 20
"""Blocks of parts whose means give the error: longer than the memory of most motions."""


@dataclass(frozen=True, eq=False, repr=False)
class Lyapunov:
    """The exponents of Lyapunov of a motion."""

    exponents: Array
    """The exponents, largest first."""
    errors: Array
    """Standard errors of the exponents, from means over blocks of the run."""
    zeros: int
    """How many exponents are zero because of time, integrals and symmetries."""
    divergence: float
    """The mean divergence of the flow on the manifold of states, in the volume that the exponents use: that of coordinates and momenta
    for a free conservative system, otherwise that of the jets of the state. NaN unless all exponents are computed."""
    outcome: str
    """The outcome of the motion, as in `simulate`; `step_too_small` also where its steps were used up."""
    message: str
    """Why the motion ended, in a sentence."""
    T: float
    """The time over which the means were taken."""
    title: str

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.title}, over T = {self.T:g}"]
        lines += [f"  {v: .6g} +- {e:.1g}" for v, e in zip(self.exponents, self.errors, strict=True)]
        lines.append(f"  {self.zeros} zero by time, integrals and symmetries")
        if np.isfinite(self.divergence):
            lines.append(f"  sum {float(self.exponents.sum()):.6g}, mean divergence {self.divergence:.6g}")
        if self.outcome != Outcome.FINISHED:
            lines.append(f"  {self.outcome}: {self.message}")
        return "\n".join(lines)


def lyapunov(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    T: Any = 1000.0,
    parameters: Mapping[str, Any] | None = None,
    *,
    number: int | str = "all",
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
) -> Lyapunov:
    """The exponents of Lyapunov along a motion, on the manifold of states.

    Args:
        equations: Equations or a model.
        start: The state at the beginning; None for that of a model.
        T: The time over which means are taken: a number, or a text in the parameters.
        parameters: Values of the parameters.
        number: How many of the largest exponents; `"all"` for as many as the manifold of states has dimensions.
        t: The time at the start.
        inputs: Functions of time for the inputs.
        tolerance: The tolerance of the motion.

    Returns:
        Exponents with error bars, and how many of them are zero for a reason.

    Raises:
        UsageError: For a number of exponents that is no count.

    >>> from chetaev import System, derive
    >>> saddle = derive(System("x", lagrangian="x'^2/2 + x^2/2"))
    >>> lyapunov(saddle, {"x": 1e-3, "x'": 1e-3}, T=20).exponents.round(1).tolist()
    [1.0, -1.0]
    """
    flow, whole = flow_of("lyapunov", equations, start, parameters, t, T, tolerance, inputs)
    basis = flow.tangent(flow.start)
    d = basis.shape[1]
    if number != "all" and (isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= d):
        raise UsageError(f"number = {number!r} is no count of exponents.", where=flow.where, hint=f'1 to {d}, or "all"')
    count = d if number == "all" else int(number)
    frame = basis @ np.linalg.qr(np.random.default_rng(0).normal(size=(d, count)))[0]
    grown = growth_of(flow.run, flow.start, flow.p, frame, flow.sizes, canonical(flow), whole, _PARTS_OF_RUN)
    # at the end: a direction that was independent at the start may have decayed, as that of time does where a motion becomes steady
    zeros = explained(flow, invariants_of(flow), grown.y, flow.tangent(grown.y), with_time=flow.autonomous)
    return _means(grown, zeros, count == d, flow.equations.system.label)


def _means(grown: Growth, zeros: int, whole: bool, label: str) -> Lyapunov:
    logs, lengths = grown.logs, grown.lengths
    total = float(lengths.sum())
    exponents = logs.sum(axis=0) / total if total > 0 else np.full(logs.shape[1], np.nan)
    blocks = np.array_split(np.arange(len(lengths)), min(_BLOCKS_OF_PARTS, max(1, len(lengths))))
    means = np.array([logs[b].sum(axis=0) / lengths[b].sum() for b in blocks if len(b)]).reshape(-1, logs.shape[1])
    spread = means.std(axis=0, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.full(logs.shape[1], np.nan)
    order = np.argsort(-exponents)
    divergence = float(logs.sum() / total) if whole and total > 0 else float("nan")
    return Lyapunov(exponents[order], spread[order], zeros, divergence, str(grown.outcome), grown.message, total, f"exponents of {label}")
