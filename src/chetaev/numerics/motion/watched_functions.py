"""The functions that are monitored along a piece: the system Jacobian, the user's events, and the ends of modes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sympy import Expr, S, atan, default_sort_key

from chetaev.core.functions import corners_in
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.enclosures.global_bounds import may_vanish
from chetaev.numerics.enclosures.kernels import bounds_kernel, nodes_kernel, turns_kernel
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel
from chetaev.numerics.methods.base import Explicit, Task, Watch
from chetaev.numerics.methods.dop853.codes import CORNER
from chetaev.numerics.motion.progress import Progress
from chetaev.numerics.motion.record import keep_of
from chetaev.numerics.smooth_pieces.piece import reference
from chetaev.numerics.smooth_pieces.request import Place, Request

SMALLEST_PIVOT = 1e-10
"""Relative to its value at the beginning of a piece: a pivot that is smaller at the root of a switching function, which is located to 1e-13
of a step, vanishes with it. Then the surface is a singular locus and not a switch. The determinant would be smaller for many pivots."""

DEEP = 1e-24
"""Relative to its value at the beginning of a piece: a determinant that is smaller may be at its zero. Of second order it would vanish
within 1e-12 of the state. Of fourth order, as where two sheets of y^2 = x^4 touch, it is so small at a distance of 1e-6, and a motion that
goes on loses the digits that tell the sheets apart."""

_BESIDE = 2.0**-20 * np.random.default_rng(13).uniform(-1.0, 1.0, 257)
"""Relative displacements of jets to a neighbouring state, where the terms of an event are compared; the same in every run."""
_ON_SURFACE = 2.0**-13
"""Part of the change between these states: a smaller value is zero up to round-off. It only decides which events are worth a proof."""

_CHANGES: Remembered[tuple[Change, ...]] = Remembered(256)


@dataclass(frozen=True)
class Change:
    """A mode, the value it may change to, the function that vanishes then, and its direction."""

    mode: int
    value: int
    function: Expr
    direction: int


def changes_of(switched: Switched, configuration: Configuration) -> tuple[Change, ...]:
    """Return the possible changes of a configuration: a switching function vanishes, or a sliding mode reaches 1 or -1. Cached."""
    return _CHANGES.get(switched, configuration, lambda: _changes_of(switched, configuration))


def _changes_of(switched: Switched, configuration: Configuration) -> tuple[Change, ...]:
    found = []
    for k, (mode, m) in enumerate(zip(switched.modes, configuration, strict=True)):
        if isinstance(mode, Touch):
            found.append(Change(k, 1, mode.unknown, -1) if m == SLIDING else Change(k, SLIDING, mode.function + mode.symbol, -1))
        elif isinstance(mode, Direction):
            held = switched.held(mode, configuration) if m == SLIDING else mode.symbol
            found.append(Change(k, 1, 1 - held, -1) if m == SLIDING else Change(k, SLIDING, mode.function - held, -1))
        elif m == SLIDING:
            found += [Change(k, value, 1 - value * switched.held(mode, configuration), -1) for value in (1, -1)]
        elif not mode.constant:
            function = switched.driven(mode.function, configuration)
            found.append(Change(k, -m, atan(function) if switched.may_jump(mode) else function, -m))  # bounded: no pole is passed over
    return tuple(found)


@dataclass(frozen=True)
class Watching:
    """The monitored functions of a setting: events, ends of modes, and corners of events."""

    functions: tuple[Expr, ...]
    watches: tuple[Watch, ...]
    bounds: Kernel | None
    """Bounds of the functions and their rates over a tube."""


def watching(request: Request, place: Place) -> Watching:
    """Return the monitored functions from a place on."""
    here = place.setting
    changes = changes_of(request.switched, here.configuration)
    events = _changing([request.switched.read(e.expression, here.configuration) for e in request.events], place)
    watches = [Watch(e.direction, e.stops, closely=True) for e in request.events]
    watches += [Watch(change.direction, True, closely=True) for change in changes]
    corners = {_inside(corner): None for e in events for corner in sorted(corners_in(e), key=default_sort_key)}
    functions = (*events, *[change.function for change in changes])
    bounds, known = bounds_kernel(here.flow, functions, here.binding.inputs) if functions else (None, ())
    if here.exact:  # bounds are computed in doubles, whose digits are lost here
        bounds, known = None, (False,) * len(functions)
    watches = [replace(watch, place=k) if known[k] else watch for k, watch in enumerate(watches)]
    watches += [Watch(CORNER, closely=True)] * len(corners)
    return Watching((*functions, *corners), tuple(watches), bounds)


def _changing(events: list[Expr], place: Place) -> list[Expr]:
    """Return the events, with 1 in place of those that vanish along the whole motion: their roots would be those of round-off."""
    if not events:
        return events
    here = place.setting
    watch, p = here.watch(events), here.parameters(place.t, reference(here, place.energy, place.work))
    native = here.native(place.jets, place.work)
    values, beside = (watch(place.t, y, p)[2:] for y in (native, native * (1 + np.resize(_BESIDE, len(native)))))
    with np.errstate(invalid="ignore"):
        near = np.abs(values) <= _ON_SURFACE * np.abs(beside - values)
    return [S.One if on and here.keeps(e) else e for e, on in zip(events, near, strict=True)]


def _inside(corner: Expr) -> Expr:
    """Return the expression that vanishes at a corner: u of abs(u), sign(u), step(u) and piecewise(u, a, b), a - b of min and max."""
    first, *other = corner.args
    return first - other[0] if len(other) == 1 else first


def make_task(
    request: Request, place: Place, until: float, watched: Watching, project: Kernel | None, progress: Progress, steps: int, wanted: Array
) -> Task:
    """Return the task of one piece for a method: from a place until a time, in at most `steps` steps, with the states at `wanted`."""
    here = place.setting
    watch = here.watch(watched.functions)
    native, p = here.native(place.jets, place.work), here.parameters(place.t, reference(here, place.energy, place.work))
    determinant, pivot, *_ = watch(place.t, native, p)
    floor = WORST_PIVOT * min(1.0, float(pivot))
    lasting = here.lowest_pivot > floor  # pivots then stay above their limit at all states
    touching = not lasting and may_vanish(here.flow, {z: (v, v) for z, v in here.binding.parameters.items()}, (place.t, until))
    deepest = DEEP * abs(float(determinant)) if touching else 0.0
    jacobian = () if lasting and not watched.watches else (Watch(0, True, deepest), Watch(0, False, floor))
    return Task(
        compiled=here.compiled,
        binding=here.binding,
        rates=here.flow.rhs(),
        rhs=here.compiled.rhs,
        project=project,
        inputs=here.compiled.inputs(here.binding),
        watch=watch,
        watches=(*jacobian, *watched.watches),
        nodes=nodes_kernel(here.flow, here.binding.inputs).kernel,
        bounds=watched.bounds,
        turns=turns_kernel(here.flow, here.binding.inputs) if touching else None,
        determinant=here.compiled.determinant if touching else None,
        p=p,
        first_input=len(here.flow.system.equations.system.parameters),
        t0=place.t,
        t1=until,
        y0=native,
        tolerance=request.tolerance,
        max_steps=max(steps, 0),
        max_step=request.max_step,
        keep=keep_of(request.final, request.times, request.nodes and isinstance(request.method, Explicit)),
        times=wanted,
        flag=progress.flag,
        reached=progress.reached,
    )
