"""States of all members at given times: where they are kept, and how they are read by name.

The states stand in one array of members, times and components, which may be a file that is mapped into memory. A member that ended early
has NaN from there on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import parse_expression
from chetaev.numerics.ensemble.batch import Array, Indices, mapped
from chetaev.numerics.ensemble.columns import Columns
from chetaev.numerics.motion.trajectory import Trajectory

_ROWS = 1 << 16
"""States at which an expression is evaluated at a time: some megabytes."""
_PART_OF_MEMORY = 0.5
"""Part of the memory that is free which series may take. More leaves too little for the run itself."""


@dataclass(frozen=True, repr=False, eq=False)
class Series:
    """States of all members at given times, read by name: rows are members, columns are times."""

    final: Columns
    """What the names mean, and the parameters of the members."""
    times: Array
    states: Array
    alone: Mapping[int, Trajectory] = field(default_factory=dict)
    """Motions that `simulate` computed, by member."""

    def __getitem__(self, name: str) -> Array:
        for k, z in enumerate(self.final.flows[0].state):
            if z.name == name:
                return np.array(self.states[:, :, k])
        equations = self.final.switched.original
        expression = parse_expression(name, equations.vocabulary, f"ensemble of {equations.system.label}")
        found = self._values(self.final.switched.replaced(expression))
        for k, motion in self.alone.items():
            found[k] = np.nan
            found[k, np.searchsorted(_forward(self.times), _forward(self.times, motion.t))] = motion[name]
        return found

    def _values(self, expression: Expr) -> Array:
        columns, batch, count = self.final, self.final.batch, len(self.times)
        found = np.full(self.states.shape[:2], np.nan)
        portion = max(1, _ROWS // count)
        for k in np.unique(columns.which[columns.which >= 0]):
            flow = columns.flows[k]
            function = flow.function([batch.with_inputs(flow.on_state(flow.graph.of(expression)))])
            members = np.flatnonzero(columns.which == k)
            for some in np.split(members, range(portion, len(members), portion)):
                t = np.tile(self.times, len(some))
                states = np.ascontiguousarray(self.states[some]).reshape(len(t), -1)
                found[some] = mapped(function, t, states, self._parameters(some, t))[:, 0].reshape(len(some), count)
        found[np.isnan(self.states[:, :, 0])] = np.nan  # after the end of a member
        return found

    def _parameters(self, members: Indices, t: Array) -> Array:
        """The vectors p of some members at all times, with the inputs."""
        batch = self.final.batch
        p: Array = np.repeat(batch.p[members], len(self.times), axis=0)
        if batch.inputs is not None:
            first = batch.inputs.size1_in(1)
            p[:, first : first + batch.inputs.size1_out(0)] = mapped(batch.inputs, t, p[:, :first])
        return p


def _forward(times: Array, some: Array | None = None) -> Array:
    """Times, or some of them, with the sign with which all increase."""
    return (1.0 if times[-1] > times[0] else -1.0) * (times if some is None else some)


def room_for_series(given: Any, members: int, times: int, size: int, where: str) -> Array:
    """An array of NaN for the states of members at times: new, the one given, or a file in NumPy's format that is mapped into memory.

    How much is needed is known before anything is computed, and refused if there is not as much.
    """
    shape = (members, times, size)
    needed = 8 * members * times * size
    if given is None:
        free = free_memory()
        if free is not None and needed > _PART_OF_MEMORY * free:
            raise UsageError(
                f"the series take {needed / 1e9:.1f} GB: {members} members, {times} times, {size} numbers each.",
                where=where,
                why=f"{free / 1e9:.1f} GB of memory are free, and a run takes at most half of them for its series.",
                hint=(
                    SetArgument("series", "states.npy"),
                    ", a file that is mapped into memory; or fewer times; or ",
                    SetArgument("t", (0, 10)),
                    ", which keeps the ends",
                ),
            )
        return np.full(shape, np.nan)
    if isinstance(given, str | os.PathLike):
        return _file(Path(given), shape, where)
    if not isinstance(given, np.ndarray) or given.dtype != np.float64 or not given.flags.c_contiguous or not given.flags.writeable:
        hint = (InPython(f"np.empty({shape})"), ', or the name of a file: "states.npy"')
        raise UsageError(f"series={type(given).__name__} is no array of floats that can be written to.", where=where, hint=hint)
    if given.shape != shape:
        raise UsageError(f"the array for the series has the shape {given.shape}.", where=where, hint=f"members, times, numbers: {shape}")
    given[...] = np.nan
    return given


def _file(path: Path, shape: tuple[int, ...], where: str) -> Array:
    if path.suffix != ".npy":
        raise UsageError(f"{path.name} is not the name of a file in NumPy's format.", where=where, hint=SetArgument("series", "states.npy"))
    try:
        found: Array = np.lib.format.open_memmap(path, "w+", np.float64, shape)
    except OSError as cause:
        raise UsageError(f"{path} cannot be written: {cause.strerror}.", where=where, hint="a name in a folder that exists") from None
    portion = max(1, _ROWS // max(1, shape[1] * shape[2]))
    for first in range(0, shape[0], portion):
        found[first : first + portion] = np.nan
    return found


def free_memory() -> float | None:
    """Bytes of memory that a process may still take, as far as the system reports them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = dict(line.split(":", 1) for line in lines)
        return 1024.0 * float(found["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return None
