"""Many motions side by side, in vector registers: each is the motion of `dop853.run`, bit for bit.

`loop` makes a trial step in all lanes at once, with code for several states (`chetaev.numerics.machine.vectors.states`). `layout` has the
positions of its numbers, `calls` calls that code, `control` decides about all lanes at once, `starts` begins several members together,
`inside_steps` compares inside several steps together, `dense` has polynomials between the nodes, `lane_transfer` moves the run of a lane
into the loop for one state and back, `loaded` loads the machine code. `stages` makes one function of all stages of a step. `at_members`
evaluates code for several states at one state of every member, and judges it (`held_rows`), in compiled code, which `together` calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike

from chetaev.numerics.machine.processor import LANES
from chetaev.numerics.methods.dop853 import Ensemble, ensemble_of, evaluate, with_room_behind
from chetaev.numerics.methods.dop853.arguments import (
    ANY_CHANGE,
    USUAL_LIMITS,
    Code,
    Limits,
    Watching,
    check,
    row_of,
    rows_of,
    solid,
    width_of,
)
from chetaev.numerics.methods.dop853.codes import FINAL, INSIDE, TIMES
from chetaev.numerics.methods.dop853.repeated_calls import Room, state_row
from chetaev.numerics.methods.dop853.types import Array, Integers, Results
from chetaev.numerics.methods.lanes.layout import One, Places, Tables, Task, Wide, places_of
from chetaev.numerics.methods.lanes.loaded import LANE_LOOP
from chetaev.numerics.methods.lanes.together import extend_together

__all__ = ["ONE_BY_ONE", "Wide", "run_side_by_side", "suits"]

_ROOMS = 64
"""Most rooms that wait for another run."""
ONE_BY_ONE = Wide(*[0] * len(Wide._fields))
"""No code for several states: members run one after another."""


def suits(watching: Watching) -> bool:
    """Whether lanes can watch these functions: every one that is watched closely needs bounds."""
    closely, places = np.broadcast_arrays(np.atleast_1d(watching.closely), np.atleast_1d(watching.places))
    return bool((~closely.astype(bool) | (places >= 0)).all())


def run_side_by_side(
    code: Code,
    wide: Wide,
    t0: float,
    t1: float,
    y0: ArrayLike,
    p: ArrayLike,
    limits: Limits = USUAL_LIMITS,
    watching: Watching = ANY_CHANGE,
    *,
    times: ArrayLike = (),
    series: Array | None = None,
    flag: Integers | None = None,
) -> Ensemble:
    """Integrate from every row of y0 with the same row of p, several members at a time in one thread.

    `wide` holds the addresses of the same code for several states. Each member is the run of `dop853.run` with the same arguments, bit for
    bit: with `keep=FINAL`, or where `series` is given with `keep=TIMES`; that array, of one row per member and time, gets the states at
    `times`, not projected, up to where a member ends. Roots of functions that are not terminal are not recorded. `flag` stops all.
    """
    given, parameters, wanted = solid(y0), solid(p), row_of(times, "times")
    members, own = given.shape
    n, keep = code.size(own), FINAL if series is None else TIMES
    check(code, parameters.shape[1], t0, t1, keep)
    if series is not None and series.shape != (members, wanted.size, own):
        raise ValueError(f"the series of {members} members have the shape {(members, wanted.size, own)}, not {series.shape}")
    starts = _begun(code, wide, float(t0), given, parameters)
    kept = series if series is None or n == own else np.full((members, wanted.size, n), np.nan)
    limits, n_parameters = limits._replace(before=0.0), parameters.shape[1]
    results = _room_for_results(members, n, code.n_measure)
    stop = np.zeros(1, np.int64) if flag is None else flag
    with _room(code, n, n_parameters, keep, wanted.size) as (room, places, tables):
        first = starts[0] if members else np.zeros(n)
        room.fill(first, np.zeros(n_parameters), float(t0), float(t1), limits, watching, wanted, stop)
        control = room.control._replace(
            rtol=float(limits.rtol),
            first_step=float(min(limits.first_step, limits.max_step)),
            max_step=float(limits.max_step),
            max_steps=int(limits.max_steps),
        )
        one = One(code.system(room.p), control, room.kept, room.seen, room.work, room.tube, room.progress, room.run.entry, room.run.row)
        task = Task(float(t0), float(t1), starts, parameters, room.watches, stop, keep, wanted)
        LANE_LOOP.integrate_lanes(wide, task, results, np.zeros((0, 0, n)) if kept is None else kept, one, tables, places)
    if series is not None and kept is not None and kept is not series:
        series[:] = kept[..., :own]
    return ensemble_of(results, own)


def _room_for_results(members: int, n: int, measures: int) -> Results:
    """Room in which the loop writes all results of every member."""
    whole, number = (members, n), np.int64
    return Results(
        status=np.empty(members, number),
        index=np.empty(members, number),
        t=np.empty(members),
        y=np.empty(whole),
        minima=np.empty(whole),
        maxima=np.empty(whole),
        measured=np.empty((members, measures)),
        counts=np.empty((members, 4), number),
        shortened=np.empty(members, number),
        worst=np.empty(members),
        usual=np.empty(members),
        inside=np.empty((members, INSIDE, n)),
    )


def _begun(code: Code, wide: Wide, t0: float, states: Array, p: Array) -> Array:
    """States with the further components of a run."""
    if not code.begin:
        return states
    n, times = states.shape[1], np.full(len(states), t0)
    if wide.begin:
        return extend_together(wide.begin, times, states, p, len(code.like))
    found = with_room_behind(states, code.size(n))
    found[:, n:] = evaluate(code.begin, times, states, p, len(code.like))
    return found


_Used = tuple[Room, Places, Tables]
_waiting: dict[tuple[object, ...], list[_Used]] = {}
_lock = Lock()


@contextmanager
def _room(code: Code, n: int, parameters: int, keep: int, times: int) -> Iterator[_Used]:
    """Room for one state and for all lanes, new or used before: to make it takes as long as some hundred steps."""
    columns = None if code.columns is None else tuple(np.asarray(code.columns).tolist())
    key = (code._replace(columns=columns), n, parameters, keep, times)
    with _lock:
        waiting = _waiting.get(key)
        found = waiting.pop() if waiting else None
    if found is None:
        places = places_of(n, width_of(n), code.n_watch, code.n_measure, parameters, code.n_nodes)
        room = Room(code, state_row(n), np.zeros(parameters), keep, times, roots=False)
        tables = rows_of(3, places.rows, LANES)
        found = room, places, Tables(tables[0], tables[1], tables[2])
    yield found  # the room of a run that failed is not used again
    with _lock:
        if sum(map(len, _waiting.values())) >= _ROOMS:
            _waiting.clear()
        _waiting.setdefault(key, []).append(found)
