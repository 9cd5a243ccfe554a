"""Room for the compiled loop of DOP853: arguments checked and written into arrays of the one type that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chetaev.numerics.machine.engine import address_of
from chetaev.numerics.methods.dop853 import codes
from chetaev.numerics.methods.dop853.codes import FINAL, NODES, STEPS, TIMES
from chetaev.numerics.methods.dop853.types import Array, Control, Flags, Found, Integers, Kept, Seen, System, Tube, Watches, Work

_ROOM = 64
"""Steps for which there is room at first."""
_FOUND = 4
"""Roots for which there is room at first, for each watched function."""
NEVER = 2**62
"""A number of steps that no run reaches: it does not pause."""
_ROOTS = 3
"""Numbers that belong to the largest residual (`codes`)."""
_LINE = 64
"""Bytes of a line of a processor's cache. Four numbers that lie in two lines take longer to read, and much longer if they were just
written; NumPy's arrays begin anywhere."""


def row_of(values: ArrayLike, name: str) -> Array:
    """A fresh contiguous array of floats: the compiled loop knows one type only."""
    row = np.array(values, np.float64, order="C")
    if row.ndim != 1:
        raise ValueError(f"{name} must be a row of numbers, not an array of shape {row.shape}")
    return row


class Code(NamedTuple):
    """Addresses of machine code, 0 = absent, and the sizes of its arguments and results.

    `watch`, `measure` and `nodes` give `n_watch`, `n_measure` and twice `n_nodes` values. Inputs stand in p from index `first_input` on.
    `columns` are the components that code for tubes reads, all unless given; it knows of the first `boxed` components, 0 = all. The first
    `own` components are the motion, 0 = all; slopes are integrated together with it. `angles` are the components that all code reads with
    the period `codes.DOUBLE_TURN` (`scales`). With `begin`, further components follow the state, each of the kind of one in `like`: `begin`
    computes them where a run begins, and results do not contain them.
    """

    rhs: int
    project: int = 0
    inputs: int = 0
    watch: int = 0
    measure: int = 0
    nodes: int = 0
    bounds: int = 0
    turns: int = 0
    determinant: int = 0
    ends: int = 0
    first_input: int = 0
    n_watch: int = 0
    n_measure: int = 0
    n_nodes: int = 0
    columns: ArrayLike | None = None
    doubting: int = 0
    boxed: int = 0
    own: int = 0
    angles: ArrayLike = ()
    stages: int = 0
    begin: int = 0
    like: Any = ()

    def system(self, p: Array) -> System:
        """The code that reads states, with its parameters."""
        states = self.rhs, self.project, self.inputs, self.watch, self.measure
        return System(*states, self.first_input, p, self.ends, self.doubting, self.stages, self.begin, len(self.like))

    def size(self, n: int) -> int:
        """The components of a run whose state has n."""
        return n + len(self.like)


class Limits(NamedTuple):
    """Tolerances and limits of a run.

    `atol` may differ by component. `sizes` are typical sizes of the components, negative where the run measures them; `before` are the
    largest values before the run; `kinds` has equal numbers for comparable components; without it no two components are comparable.
    `first_step` 0 = choose; `max_steps` counts rejected steps too.
    """

    rtol: float = 1e-9
    atol: ArrayLike = 0.0
    sizes: ArrayLike = -1.0
    before: ArrayLike = 0.0
    kinds: ArrayLike | None = None
    first_step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 1_000_000

    def of_further(self, n: int, like: Sequence[int]) -> Limits:
        """The limits of n components and of further ones that are like some of them."""
        if not like:
            return self
        places = [*range(n), *like]
        atol, sizes, before = (_at(given, n, places) for given in (self.atol, self.sizes, self.before))
        kinds = np.asarray(range(n) if self.kinds is None else self.kinds)[places]
        return self._replace(atol=atol, sizes=sizes, before=before, kinds=kinds)


def _at(given: ArrayLike, n: int, places: Sequence[int]) -> Array:
    """The values for some of n components, which may share one."""
    values = np.asarray(given)
    if not values.ndim:
        return np.full(len(places), values)
    found: Array = (values if values.shape == (n,) else np.broadcast_to(values, n))[places]
    return found


class Watching(NamedTuple):
    """How functions are watched: for each argument one value for all functions, or one for each.

    Unless said otherwise they are not terminal, fire in both directions, have no floor, are not watched closely and have no bounds.
    """

    directions: Sequence[int] | Integers | int = 0
    terminal: Sequence[bool] | Flags | bool = False
    floor: Sequence[float] | Array | float = 0.0
    closely: Sequence[bool] | Flags | bool = False
    places: Sequence[int] | Integers | int = -1


USUAL_LIMITS, ANY_CHANGE = Limits(), Watching()


def control_of(n: int, limits: Limits, own: int = 0, angles: ArrayLike = ()) -> Control:
    """Tolerances and limits of a run, with room for the scales of its components, of which the first `own` are the motion, 0 = all, and
    `angles` are folded.
    """
    if n == 0:
        raise ValueError("a state needs at least one component")
    found = Control(
        rtol=float(limits.rtol),
        first_step=float(min(limits.first_step, limits.max_step)),
        max_step=float(limits.max_step),
        max_steps=int(limits.max_steps),
        pause=np.array([NEVER], np.int64),
        kinds=np.arange(n, dtype=np.int64),
        rows=rows_of(codes.SCALES, width_of(n)),
        own=own or n,
    )
    found.rows[codes.BOUND] = np.inf
    found.rows[codes.BOUND, np.asarray(angles, np.int64)] = codes.LARGEST_REMAINDER
    fill_control(found, limits)
    return found


def fill_control(control: Control, limits: Limits) -> None:
    """Write the limits of each component, and refuse limits that no run could keep."""
    rows, n = control.rows, control.kinds.size
    absolute = rows[codes.ATOL, :n]
    absolute[:], rows[codes.GIVEN, :n], rows[codes.BEFORE, :n] = limits.atol, limits.sizes, limits.before
    rtol, first_step, max_step = limits.rtol, limits.first_step, limits.max_step
    least = float(absolute.min())
    if not (rtol >= 0 and least >= 0 and rtol + least > 0):
        raise ValueError("tolerances must be positive")
    if not (first_step >= 0 and max_step > 0):
        raise ValueError("first_step must not be negative and max_step must be positive")
    control.kinds[:] = np.arange(n) if limits.kinds is None else limits.kinds


def watches_of(n: int, watching: Watching) -> Watches:
    """The settings of n watched functions."""
    types = (np.int64, np.bool_, np.float64, np.bool_, np.int64)
    return Watches(*[np.array(np.broadcast_to(np.asarray(given), (n,)), kind) for given, kind in zip(watching, types, strict=True)])


def work_of(n: int, code: Code, parameters: int) -> Work:
    """Rows have room up to a multiple of four, which stays zero."""
    width, watched, measures = width_of(n), code.n_watch, code.n_measure
    k, rows, values, ends = rows_of(16, width), rows_of(5, width), np.zeros((4, watched)), rows_of(width + watched + measures)
    stage, free, end, trial, start = rows[:, :n]
    return Work(
        k=k,
        stage=stage,
        free=free,
        end=end,
        slope=ends[:n],
        dense=rows_of(7, width),
        ready=np.zeros(1, np.bool_),
        trial=trial,
        start=start,
        before=values[0],
        after=ends[width : width + watched],
        residuals=ends[width + watched :],
        values=values[1],
        signs=np.zeros(watched, np.int64),
        roots=values[2],
        samples=np.zeros((codes.SAMPLES, watched)),
        rough=values[3],
        room=np.zeros(16),
        inaccurate=np.zeros(1, np.bool_),
        saved=np.zeros(parameters),
        past=np.zeros(n + 1),
    )


def rows_of(*shape: int) -> Array:
    """An array of zeros whose rows of four numbers each lie in one line of the cache."""
    size = prod(shape)
    room = np.zeros(size + _LINE // 8)
    first = -address_of(room) % _LINE // 8
    return room[first : first + size].reshape(shape)


def width_of(n: int) -> int:
    """The room of a row of n numbers."""
    return -(-n // 4) * 4


def tube_of(n: int, code: Code) -> Tube:
    """Code for tubes, and room for it."""
    boxed = code.boxed or n
    return Tube(
        nodes=code.nodes,
        bounds=code.bounds,
        turns=code.turns,
        determinant=code.determinant,
        columns=np.arange(boxed) if code.columns is None else np.array(code.columns, np.int64),
        box=np.zeros(4 * boxed + 2),
        rows=rows_of(6, width_of(n)),
        values=np.zeros((codes.NODE_ROWS, code.n_nodes)),
        limits=np.zeros(4 * code.n_watch),
        notes=np.array([1.0, -1.0, 0.0, 0.0]),
    )


def room_to_keep(keep: int, times: int, n: int) -> Kept:
    """Room for what a run keeps; the caller allocates more room for steps when it is full."""
    room, steps = {FINAL: (0, 0), STEPS: (_ROOM, _ROOM - 1), TIMES: (times, 0), NODES: (_ROOM, 0)}[keep]
    return Kept(np.empty(room), np.empty((room, n)), np.empty((steps, 7, n)))


def room_for_roots(watched: int, n: int) -> Found:
    """Without watched functions none."""
    room = watched * _FOUND
    return Found(np.empty(room), np.empty(room, np.int64), np.empty((room, n)))


def room_for_extremes(n: int, measures: int, own: int = 0) -> Seen:
    """Room for extremes of n components, and for residuals; inside steps only the first `own` are compared, 0 = all."""
    return seen_in(rows_of(1, places_in_room(n, measures, own)[-1])[0], n, measures, own)


def places_in_room(n: int, measures: int, own: int = 0) -> list[int]:
    """Where the parts of that room begin in a row, in the order of `Seen`, and where the last one ends."""
    return list(accumulate([0, width_of(n), width_of(n), measures, _ROOTS, (codes.INSIDE + 3) * (own or n)]))


def seen_in(row: Array, n: int, measures: int, own: int = 0) -> Seen:
    """That room in a row, which begins in a line of the cache."""
    minima, maxima, measured, roots, inside = (row[first:last] for first, last in pairwise(places_in_room(n, measures, own)))
    return Seen(minima[:n], maxima[:n], measured, roots, inside.reshape(codes.INSIDE + 3, own or n))


def with_room(keep: int, kept: Kept, found: Found, watched: int, counts: Integers) -> tuple[Kept, Found]:
    """Twice the room, for arrays that are full."""
    if keep in (STEPS, NODES) and counts[codes.KEPT] == kept.nodes.size:
        size = 2 * kept.nodes.size
        kept = Kept(_longer(kept.nodes, size), _longer(kept.states, size), _longer(kept.coefficients, size - 1 if keep == STEPS else 0))
    if counts[codes.FOUND] + watched > found.times.size:
        size = 2 * found.times.size
        found = Found(_longer(found.times, size), _longer(found.indices, size), _longer(found.states, size))
    return kept, found


def _longer(rows: Any, size: int) -> Any:
    longer = np.empty((size, *rows.shape[1:]), rows.dtype)
    longer[: len(rows)] = rows
    return longer


def solid(values: ArrayLike) -> Array:
    """A contiguous array of floats."""
    return np.ascontiguousarray(values, dtype=np.float64)


def check(code: Code, parameters: int, t0: float, t1: float, keep: int) -> None:
    """Refuse arguments with which the compiled loop would read or write outside its arrays."""
    if not np.isfinite(t0) or np.isnan(t1):
        raise ValueError("t0 and t1 must be numbers, t0 finite")
    if not code.rhs:
        raise ValueError("there is no right-hand side")
    if (code.n_watch > 0 and not code.watch) or (code.n_measure > 0 and not code.measure):
        raise ValueError("functions are counted for which there is no kernel")
    if code.inputs and not 0 <= code.first_input < parameters:
        raise ValueError("p has no room for the inputs")
    if keep not in (FINAL, STEPS, TIMES, NODES):
        raise ValueError("keep must be FINAL, STEPS, TIMES or NODES")
