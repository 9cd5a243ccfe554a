"""Ends of prepared motions with their derivatives: the map from a state and parameters to the state at the end, and its Jacobian.

Identification, shooting, Floquet multipliers and continuation call this; `simulate(..., slopes=...)` is the verb for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chetaev.core.errors import UnfinishedError, UsageError
from chetaev.numerics.evaluation.motion_start import Start, begin
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.methods.base import Explicit, Method
from chetaev.numerics.motion.progress import Progress
from chetaev.numerics.motion.run import follow
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.numerics.slopes.directions import By, Directions
from chetaev.numerics.slopes.jumps import ends_of
from chetaev.numerics.smooth_pieces.request import Request

if TYPE_CHECKING:
    from chetaev.numerics.prepared.prepare import Prepared


@dataclass(frozen=True)
class End:
    """The end of a motion and its derivatives."""

    y: Array
    """The state at the end, in the order of `run.state`."""
    slopes: Array
    """A line for each jet of the state, a column for each direction."""
    motion: Trajectory
    """The motion; its `final` reads any expression, and `final.slope` its derivatives."""


def end_and_slopes(
    run: Prepared,
    y0: ArrayLike,
    p: ArrayLike = (),
    by: Sequence[str] | None = None,
    first: ArrayLike | None = None,
    t1: float | None = None,
    usual: ArrayLike | None = None,
    judged: bool = True,
) -> End:
    """The end of a prepared motion, and its derivatives by entries of the state at the start and by parameters.

    The start is projected onto the constraints, as in `run(y0, p)`, and so are its slopes: the result is the Jacobian of the map from
    `(y0, p)` to the state at the end, where a constraint moved by a parameter moves the start with it.

    Args:
        run: What `prepare` returned.
        y0: A complete state, in the order of `run.state`.
        p: The parameters, in the order of `run.parameters`.
        by: Names of jets of the state and of parameters; all of both by default.
        first: Slopes at the start, a line for each jet of the state and a column for each direction, instead of unit vectors. Columns of
            parameters are the slopes of the start by these parameters.
        t1: Another end of the interval.
        usual: Typical slopes of the jets along the columns of `first`, by which their errors are measured; by default the sizes of the jets
            over those of the entries in `by`.
        judged: Whether round-off is judged. An iteration whose result is judged in the end need not wait for it.

    Returns:
        The end, the Jacobian, and the motion.

    Raises:
        UsageError: For an unknown name, or slopes of another shape.
        UnfinishedError: If the motion does not reach the end.
    """
    where = f"slopes of {run.equations.system.label}"
    jets = {z.name: z for z in run.jets}
    parameters = {z.name: z for z in run.equations.system.parameters}
    names = [*run.state, *run.parameters] if by is None else list(by)
    unknown = [name for name in names if name not in jets and name not in parameters]
    if unknown:
        raise UsageError(f"{unknown[0]} is neither a jet of the state nor a parameter.", where=where, hint=" ".join([*jets, *parameters]))
    sizes = None if usual is None else dict(zip(run.jets, np.asarray(usual, float).tolist(), strict=True))
    directions = Directions(tuple(By(name, parameters.get(name), jets.get(name)) for name in names), sizes)
    unit = np.array([[float(name == z) for name in names] for z in run.state]).reshape(len(run.state), len(names))
    sown = unit if first is None else np.asarray(first, float)
    if sown.shape != unit.shape:
        raise UsageError(f"slopes at the start have the shape {sown.shape}.", where=where, hint=f"an array of the shape {unit.shape}")
    motion = followed(run, np.asarray(y0, float), np.asarray(p, float), directions, sown, t1, where, judged=judged)
    if motion.outcome is not Outcome.FINISHED:
        raise UnfinishedError(motion.message, where=where, outcome=motion.outcome, motion=motion)
    last = motion.slopes.pieces[-1]
    return End(state_at_the_end(run, motion), ends_of(last, len(names))[_order(run, motion)], motion)


def state_at_the_end(run: Prepared, motion: Trajectory) -> Array:
    """The last state of a motion that was differentiated, in the order of `run.state`."""
    return np.array(motion.slopes.pieces[-1].run.y)[_order(run, motion)]


def _order(run: Prepared, motion: Trajectory) -> list[int]:
    place = {z: k for k, z in enumerate(motion.slopes.pieces[-1].setting.flow.state)}
    return [place[z] for z in run.jets]


def followed(
    run: Prepared,
    y0: Array,
    p: Array,
    directions: Directions,
    sown: Array,
    t1: float | None,
    where: str,
    method: Method | None = None,
    judged: bool = True,
) -> Trajectory:
    """The motion from a state, with the slopes `sown` there, by a method that integrates slopes together with the state."""
    times = np.array([run.t[0], run.t[1] if t1 is None else t1])
    binding = run.bound(p)
    surfaces = run.surfaces(binding)
    start = begin(surfaces, dict(zip(run.state, y0.tolist(), strict=True)), float(times[0]), where)
    here = start.setting.suited(float(times[0]), start.jets)
    request = Request(
        switched=surfaces.switched,
        binding=binding,
        times=times,
        tolerance=run.accuracy.relative,
        accuracy=run.accuracy,
        method=method or Explicit(),
        events=(),
        conserve=False,
        final=True,
        max_steps=run.max_steps,
        max_step=run.max_step,
        where=where,
        slopes=directions,
        judged=judged,
    )
    columns = dict(zip(run.jets, sown, strict=True))
    beginning = {z: columns[z] for z in here.flow.state}  # the run projects them
    shown = Progress(False, float(times[0]), float(times[1]), "", where)
    return follow(request, Start(here, start.jets), surfaces, shown, run.accuracy.relative, beginning)
