"""The positions of the numbers of a loop over lanes: rows of one table, with a column for every lane."""

from __future__ import annotations

from typing import NamedTuple

from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.types import Array, Control, Integers, Kept, Matrix, Progress, Seen, System, Tube, Watches, Work

(
    T, H, STEP, T_NEW, AT, ERROR, FIVE, THREE, GROWTH, MASK, FINITE, SIZE, FIRST, PREVIOUS, ACTIVE, GREW, FURTHER_OFF, INTEGRAL, LATEST,
    SPACE, WORST, NEW_WORST, LEAPED_NODE, PAST_STEP, NEEDED,
) = range(25)  # fmt: skip
"""Rows with one number for every lane: the time and the size of the next step; the trial step, its end, and the time of a stage; its error,
the sums of squares of both estimates, and the ratio of the next step to it; the lanes that an operation concerns; whether numbers are
finite; the size of a correction, of the first one and of the one before, and the lanes whose correction goes on; whether sizes of a kind
grow, or a component moves far; the single numbers of `dop853.types.Seen` and `Tube`, and the ratio of this step; the size of the last
inaccurate step; and the lanes that need an interpolant."""
SCALARS = 25
"""The number of these rows."""

COUNT = SCALARS
"""The first of the counts of a run (`codes`), as numbers of double precision."""
MEMBER, ALIVE, INACCURATE, DETOURS, LAST, CALLS, EXTRA, READY = range(COUNT + codes.COUNTS, COUNT + codes.COUNTS + 8)
"""Rows behind the counts: the member in a lane, and whether there is one; whether its last step was rejected as inaccurate, and how often
it was handed to the loop for one state; whether the step is the last one; and for the trial step the calls of the projection, the further
evaluations, and whether those of the interpolant are counted already."""
FIRST_ROW = COUNT + codes.COUNTS + 8
"""The row behind all these."""


class Wide(NamedTuple):
    """Addresses of code for all lanes, as the fields of the same names of `System` and `Tube`; 0 = absent."""

    rhs: int
    project: int
    inputs: int
    watch: int
    measure: int
    ends: int
    nodes: int
    bounds: int
    turns: int
    determinant: int
    doubting: int
    stages: int
    """All stages of a step at once (`chetaev.numerics.methods.lanes.stages`); only where there are no inputs."""
    begin: int
    """The further components of states, as `System.begin`; Python calls it."""


class EndCode(NamedTuple):
    """Addresses of code for all lanes that judges a state where a motion begins or ends: rates; residuals of the rows of motion with them
    and the sizes of their terms; what is measured; the rows on the state, and these plus and minus bounds of their errors. Then the number
    of rows on the state and of what `held` and `measure` compute, the residual relative to its terms that is `allowed`, and the relative
    `distance` of states whose difference shows the terms of a row.
    """

    rates: int
    held: int
    measure: int
    restricting: int
    doubting: int
    rows: int
    n_held: int
    n_measure: int
    allowed: float
    distance: float


class Task(NamedTuple):
    """What is integrated: from where to where, the states and parameters of all members, a row each, the functions that are watched, the
    flag that stops all, what is kept, and the times at which states are kept.
    """

    t0: float
    t1: float
    y0: Matrix
    p: Matrix
    watches: Watches
    flag: Integers
    keep: int
    times: Array


class Tables(NamedTuple):
    """The table of all lanes, one of members that have begun and wait for a lane, and one of steps that wait for a comparison."""

    lanes: Matrix
    begun: Matrix
    looks: Matrix


class One(NamedTuple):
    """A run of one state: its room, and how `dop853.loop.integrate` is called with it (`machine.packed`)."""

    system: System
    control: Control
    kept: Kept
    seen: Seen
    work: Work
    tube: Tube
    progress: Progress
    entry: int
    row: int


class Places(NamedTuple):
    """The numbers of rows: how many a state, the watched functions, the residuals, the parameters and the nodes take, and where the first
    row of each thing is. Things are named as the fields of `Work`, `Seen`, `Control` and `Tube`; `total`, `fifth` and `third` are the
    weighed sums of the stages, for the end of a step and for both estimates of its error; `moved` is the largest change of each component
    in the steps compared inside. From `p` to before `box` stands what belongs to a run between two steps, besides `y` and the first row of
    `k`.
    """

    n: int
    watched: int
    residual: int
    parameters: int
    nodes: int
    y: int
    k: int
    stage: int
    free: int
    end: int
    trial: int
    total: int
    fifth: int
    third: int
    slope: int
    after: int
    residuals: int
    dense: int
    absolute: int
    given: int
    bound: int
    past: int
    p: int
    largest: int
    sizes: int
    among: int
    noise: int
    turns: int
    minima: int
    maxima: int
    measured: int
    moved: int
    before: int
    signs: int
    rough: int
    box: int
    values: int
    limits: int
    rows: int


def places_of(n: int, width: int, watched: int, residuals: int, parameters: int, nodes: int) -> Places:
    """Rows for a state of n numbers, whose slope has room for `width`, and for what belongs to it."""
    sizes = {
        "y": n, "k": 16 * n, "stage": n, "free": n, "end": n, "trial": n, "total": n, "fifth": n, "third": n, "slope": width,
        "after": watched, "residuals": residuals, "dense": 7 * n, "absolute": n, "given": n, "bound": n, "past": n, "p": parameters,
        "largest": n, "sizes": n, "among": n, "noise": n, "turns": n, "minima": n, "maxima": n, "measured": residuals, "moved": n,
        "before": watched, "signs": watched, "rough": watched, "box": 4 * n + 2, "values": 2 * nodes, "limits": 4 * watched,
    }  # fmt: skip
    found, at = {}, FIRST_ROW
    for name, size in sizes.items():
        found[name] = at
        at += size
    return Places(n=n, watched=watched, residual=residuals, parameters=parameters, nodes=nodes, rows=at, **found)
