r"""lyapunov: the mean rates at which neighbouring motions separate.

The derivative of the flow maps an orthonormal frame $Q$ of the tangent space, which is then made orthonormal again,
$\Phi Q = Q' R$; the exponents are the means of $\log |R_{ii}|$ per time (G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn,
Meccanica 15 (1980) 9-30). Their sum is the mean divergence of the flow.

Exponents of long motions do not depend on the volume form, but their sum over a finite time does, by the logarithm of its density at both
ends over that time. For a free conservative system the volume is that of coordinates and momenta $p = \partial L/\partial q'$, which the
flow keeps by Liouville's theorem, so that the sum is zero to the accuracy of the motion; otherwise it is that of the jets of the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import UsageError, about
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Jet
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.prepared import Growth, growth_of
from chetaev.orbits.flow import Flow, flow_of
from chetaev.orbits.invariants import explained, invariants_of

Array = NDArray[np.float64]

_PARTS_OF_RUN = 400
"""Number of parts of a run whose growth is recorded separately: a multiple of `_BLOCKS_OF_PARTS`, so that blocks have similar lengths."""
_BLOCKS_OF_PARTS = 20
"""Number of blocks of parts, whose means give the standard error; with more blocks their means would be correlated."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Lyapunov:
    """The Lyapunov exponents of a motion."""

    exponents: Array
    """The exponents, largest first."""
    errors: Array
    """Standard errors of the exponents, from means over blocks of the run."""
    zeros: int
    """The number of exponents that time, integrals and symmetries make zero."""
    divergence: float
    """The mean divergence of the flow on the manifold of states, for the volume of coordinates and momenta of a free conservative system,
    otherwise for that of the jets of the state. NaN unless all exponents are computed."""
    outcome: str
    """The outcome of the motion, as in `simulate`; `step_too_small` also where the limit of steps was reached."""
    message: str
    """Why the motion ended."""
    T: float
    """The time over which the means were taken."""
    title: str
    """The first line of the printed result."""

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


@public
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
    """Compute the Lyapunov exponents along a motion, on the manifold of states.

    Args:
        equations: Equations or a model.
        start: The state at the beginning; by default the start of the model.
        T: The time over which means are taken: a number, or an expression in the parameters.
        parameters: Values of the parameters.
        number: The number of largest exponents to compute; `"all"` for the dimension of the manifold of states.
        t: The time at the start.
        inputs: Functions of time for the inputs.
        tolerance: The tolerance of the motion.

    Returns:
        The exponents with standard errors, and the number of those that time, integrals and symmetries make zero.

    Raises:
        UsageError: If `number` is neither `"all"` nor from 1 to the dimension of the manifold of states.

    >>> from chetaev import System, derive
    >>> saddle = derive(System("x", lagrangian="x'^2/2 + x^2/2"))
    >>> lyapunov(saddle, {"x": 1e-3, "x'": 1e-3}, T=20).exponents.round(1).tolist()
    [1.0, -1.0]
    """
    flow, whole = flow_of("lyapunov", equations, start, parameters, t, T, tolerance, inputs)
    basis = flow.tangent(flow.start)
    d = basis.shape[1]
    if number != "all" and (isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= d):
        raise UsageError(f"number = {number!r} is not a count of exponents.", where=about(flow.where, "number"), hint=f'1 to {d}, or "all"')
    count = d if number == "all" else int(number)
    frame = basis @ np.linalg.qr(np.random.default_rng(0).normal(size=(d, count)))[0]
    grown = growth_of(flow.run, flow.start, flow.p, frame, flow.sizes, _momenta(flow), whole, _PARTS_OF_RUN)
    # at the end of the motion, because directions may become dependent: that of time vanishes where the motion comes to rest
    zeros = explained(flow, invariants_of(flow), grown.y, flow.tangent(grown.y), with_time=flow.autonomous)
    return _means(grown, zeros, count == d, flow.equations.system.label)


def _momenta(flow: Flow) -> Mapping[Jet, Expr]:
    """The momentum of each velocity of a free conservative system; empty where forces, constraints or the jets of the state differ."""
    system, jets = flow.equations.lowered.system, list(flow.run.jets)
    free = not (system.equations or system.kinematic or system.variational or system.forces or system.groups)
    if not free or system.dissipation != 0 or system.action is not None or flow.equations.multipliers:
        return {}
    velocities = [z for z in jets if z.order == 1]
    expected = {z for q in flow.equations.unknowns for z in (q.d(-q.order), q.d(1 - q.order))}
    written = flow.equations.lagrangian
    outside = any(z == TIME or (isinstance(z, Jet) and z not in expected) for z in written.free_symbols)
    if set(jets) != expected or outside:
        return {}
    return dict(zip(velocities, SYMBOLIC.gradient(written, velocities), strict=True))


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
