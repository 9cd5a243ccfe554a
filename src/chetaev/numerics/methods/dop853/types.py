"""Arguments and results of the compiled loop of DOP853: named tuples, which numba passes field by field."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chetaev.numerics.methods.dop853.codes import INSIDE

Array = NDArray[np.float64]
Matrix = Annotated[NDArray[np.float64], 2]
Stack = Annotated[NDArray[np.float64], 3]
Integers = NDArray[np.int64]
Table = Annotated[NDArray[np.int64], 2]
Flags = NDArray[np.bool_]


class System(NamedTuple):
    """Addresses of machine code `void f(double t, double* y, double* p, double* out)`, 0 = absent, and the array p they share.

    `inputs` writes its values to p from index `first_input` on. `ends` returns in one call what `rhs`, `watch` and `measure` return, to the
    last bit, in one row as `Work.slope`, `after` and `residuals` follow each other. `doubting` is `rhs` plus bounds of its rounding errors,
    followed by `rhs` minus these bounds.
    """

    rhs: int
    project: int
    inputs: int
    watch: int
    measure: int
    first_input: int
    p: Array
    ends: int = 0
    doubting: int = 0
    stages: int = 0
    """All stages of a step at once, and what follows them, with the same bits (`step_code`); only where there are no inputs."""
    begin: int = 0
    """The last components of a state from the others, where a run begins."""
    further: int = 0
    """The number of these components."""


class Control(NamedTuple):
    """Tolerances and limits: the error of a step is measured in units of atol + rtol*(|y| + 2*size) + noise. `first_step` 0 = choose.

    What there is for each component is in rows of one array (`codes`), because a call of a part of the loop passes all fields.
    """

    rtol: float
    first_step: float
    max_step: float
    max_steps: int
    pause: Integers
    """The number of accepted steps after which the run pauses, in the first entry, which the caller may change during the run."""
    kinds: Integers
    """Components of the same number are of the same kind, and comparable."""
    rows: Matrix
    own: int
    """The number of components of the motion; slopes, which are integrated together with it, follow them."""


class Watches(NamedTuple):
    """For each watched function: the direction of its sign change (-1, 0 = both, 1), whether it ends the run, its smallest size allowed
    (0 = any), whether steps must resolve all its changes of sign, and its place among the limits of a tube (-1 = none).
    """

    directions: Integers
    terminal: Flags
    floor: Array
    closely: Flags
    places: Integers


class Work(NamedTuple):
    """Room for one step.

    Stages, a state to evaluate at, the end of the step before (`free`) and after (`end`) projection, the slope there, the polynomial
    (`ready`: it is this step's), a trial state, the state at the start of the step; watched functions `before` and `after` the step,
    `residuals` after it, watched functions at a trial, their last signs, where in the step they vanish, their values in several places of
    the step, and how often in a row each was too `rough` to be resolved; sixteen numbers of `room`; whether the last trial step was
    `inaccurate`; room for p; the errors of the last inaccurate step, and its size. The rows of `k` and `dense` are longer than a state, up
    to a multiple of four; the other rows have as much room behind them.
    """

    k: Matrix
    stage: Array
    free: Array
    end: Array
    slope: Array
    dense: Matrix
    ready: Flags
    trial: Array
    start: Array
    before: Array
    after: Array
    residuals: Array
    values: Array
    signs: Integers
    roots: Array
    samples: Matrix
    rough: Array
    room: Array
    inaccurate: Flags
    saved: Array
    past: Array


class Tube(NamedTuple):
    """Code that reads a tube in place of a state (`chetaev.numerics.enclosures.kernels`), by address, 0 = absent; code of the determinant,
    0 = it cannot touch zero; the `columns` of the state that code for tubes reads; and room: a `box` and six `rows` to make it from; five
    rows of `values` of the nodes (`codes`); the `limits` of watched functions; `notes`: the largest ratio of the bound of a node to its
    seen value in accepted steps, the last node that a step leaped over, by how much angles turn in the step, and a determinant.

    Apart from the other room, and in few arrays, because a call of a part of the loop passes all fields of what it is given.
    """

    nodes: int
    bounds: int
    turns: int
    determinant: int
    columns: Integers
    box: Array
    rows: Matrix
    values: Matrix
    limits: Array
    notes: Array


class Found(NamedTuple):
    """Roots recorded so far, in arrays with room for more; without any room none are recorded."""

    times: Array
    indices: Integers
    states: Matrix


class Kept(NamedTuple):
    """States kept so far, in arrays with room for more."""

    nodes: Array
    states: Matrix
    coefficients: Stack


class Seen(NamedTuple):
    """Extremes of the state, in rows as those of `Work`, and the largest residuals so far; the integral of the fourth root of the last of
    them over time, and that root at the present time; and rows of comparisons inside steps (`codes`).
    """

    minima: Array
    maxima: Array
    measured: Array
    roots: Array
    inside: Matrix


class Plan(NamedTuple):
    """How a run is made: tolerances and limits, watched functions, what is kept (`codes`) at which times, and the flag that stops it."""

    control: Control
    watches: Watches
    keep: int
    times: Array
    flag: Integers


class Records(NamedTuple):
    """The arrays that a run writes: states kept, roots found, extremes and residuals, and the room for one step and its tube."""

    kept: Kept
    found: Found
    seen: Seen
    work: Work
    tube: Tube


class Members(NamedTuple):
    """Members `first`, ..., `last` - 1 of an ensemble: rows of states and of parameters."""

    first: int
    last: int
    y0: Matrix
    p: Matrix


class Progress(NamedTuple):
    """Where a run is: time and size of the next step; counts of accepted and rejected steps, evaluations, projections, nodes kept and roots
    found, the status, the watched function that stopped it, and the steps inside which the run compares (`codes`).
    """

    clock: Array
    counts: Integers


class Beside(NamedTuple):
    """Results for the numbers integrated together with a state: at the end, at the nodes, their polynomials, and at roots."""

    y: Array
    states: Array
    coefficients: Array
    found_states: Array


class Run(NamedTuple):
    """What a run leaves.

    `index` is the watched function that stopped it (-1 = none), `t`, `y` the end, `nodes` and `states` what was kept, `coefficients[i]` the
    rows F_0..F_6 of the step from node i, `found_*` the roots of the functions that are not terminal, `minima` and `maxima` of each
    component and `measured`, the largest residuals, over start and accepted steps, `next_step` the size the next step would have had.
    """

    status: int
    index: int  # type: ignore[assignment]  # `tuple.index` is not used for runs
    t: float
    y: Array
    nodes: Array
    states: Array
    coefficients: Array
    found_times: Array
    found_indices: Integers
    found_states: Array
    minima: Array
    maxima: Array
    measured: Array
    next_step: float
    accepted: int
    rejected: int
    evaluations: int
    projections: int
    shortened: int = 0
    """The number of steps that were repeated with a shorter length because they might have leaped over a feature (`enclosure.tube`)."""
    worst: float = 1.0
    """The largest ratio of the bound of a node to its seen value, over all accepted steps."""
    surprise: int = -1
    """The last node for which a step was shortened; -1 = none."""
    usual: float = 0.0
    """The integral over time of the fourth root of the last residual, the sum of the terms of the energy. Near a pole these terms grow like
    the inverse fourth power of its distance, and would dominate their own integral without the root."""
    inside: Array = np.zeros((INSIDE, 0))
    """Results of the comparisons inside steps: rows of `codes`."""
    looked: int = 0
    """The number of steps at the last comparison inside one; 0 = there was none."""
    beside: Beside | None = None
    """The slopes that were integrated together with the state."""
    reduced: bool = False
    """Whether steps were made in reduced velocities."""

    def narrowed(self, n: int) -> Run:
        """The run of the first n components; the others become `beside`."""
        beside = Beside(self.y[n:], self.states[:, n:], self.coefficients[:, :, n:], self.found_states[:, n:])
        return self._replace(
            y=self.y[:n].copy(),
            states=np.ascontiguousarray(self.states[:, :n]),
            coefficients=np.ascontiguousarray(self.coefficients[:, :, :n]),
            found_states=np.ascontiguousarray(self.found_states[:, :n]),
            minima=self.minima[:n],
            maxima=self.maxima[:n],
            inside=self.inside[:, :n],
            beside=beside,
        )


class Results(NamedTuple):
    """Rows for the members of an ensemble; `counts` holds accepted and rejected steps, evaluations and projections."""

    status: Integers
    index: Integers  # type: ignore[assignment]
    t: Array
    y: Matrix
    minima: Matrix
    maxima: Matrix
    measured: Matrix
    counts: Table
    shortened: Integers
    worst: Array
    usual: Array
    inside: Stack
