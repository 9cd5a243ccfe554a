"""Frames carried along prepared motions, and how much their columns grow: what exponents of Lyapunov are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sympy import Expr

from chetaev.core.symbols import Jet
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.methods.frames.carrying import Carrying
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.prepared.differentiated import followed, state_at_the_end
from chetaev.numerics.slopes.directions import By, Directions

if TYPE_CHECKING:
    from chetaev.numerics.prepared.prepare import Prepared


@dataclass(frozen=True)
class Growth:
    """How much the columns of a frame grew along a motion."""

    logs: Array
    """Sums of the logarithms of their growth, a row for each part of the motion."""
    lengths: Array
    """The time that passed in each part; parts in which no step ended are left out."""
    y: Array
    """The state that was reached."""
    outcome: Outcome
    message: str
    """Why the motion ended."""


def growth_of(
    run: Prepared, y0: Array, p: Array, frame: Array, units: Array, momenta: Mapping[Jet, Expr], span: float, parts: int
) -> Growth:
    """Carry a frame along a motion.

    Args:
        run: What `prepare` returned.
        y0: A complete state, in the order of `run.state`.
        p: The parameters, in the order of `run.parameters`.
        frame: Columns tangent to the constraints, a line for each jet of the state, in units of the jets.
        units: The units of the jets.
        momenta: Velocities, and the momenta that count in their place where columns are made orthonormal.
        span: The duration of the motion.
        parts: The number of parts of the motion, of equal lengths, whose growth is returned separately.
    """
    by = tuple(By(name, jet=z) for name, z in zip(run.state[: frame.shape[1]], run.jets, strict=False))
    directions = Directions(by, dict(zip(run.jets, units.tolist(), strict=True)))
    method = Carrying(frame.shape[1], dict(zip(run.jets, units.tolist(), strict=True)), momenta, run.t[0], span, parts)
    where = f"exponents of {run.equations.system.label}"
    long = replace(run, max_steps=parts * run.max_steps)  # what is enough for a motion is not for a mean over a long one
    motion = followed(long, y0, p, directions, units[:, None] * frame, run.t[0] + span, where, method)
    some = method.lengths > 0
    end = state_at_the_end(run, motion) if motion.slopes.pieces else np.array(y0)
    return Growth(method.logs[some], method.lengths[some], end, motion.outcome, motion.message)
