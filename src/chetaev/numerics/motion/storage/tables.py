"""Motions as tables: data frames, data sets, and CSV, netCDF, MATLAB and Parquet files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError
from chetaev.core.notation import show
from chetaev.core.symbols import Action, Coordinate, Jet
from chetaev.mechanics.equations import Equations
from chetaev.numerics.motion.trajectory import Trajectory

Array = NDArray[np.float64]


def to_pandas(motion: Trajectory) -> Any:
    """A DataFrame over t: every jet of the state, the accelerations and the multipliers."""
    pandas = package("pandas", "to_pandas")
    frame = pandas.DataFrame(_columns(motion), index=pandas.Index(motion.t, name="t"))
    frame.attrs.update(_attributes(motion))
    return frame


def to_xarray(motion: Trajectory) -> Any:
    """A Dataset over t: every jet of the state, the accelerations and the multipliers."""
    xarray = package("xarray", "to_xarray")
    return xarray.Dataset({name: ("t", values) for name, values in _columns(motion).items()}, {"t": motion.t}, _attributes(motion))


def column_names(motion: Trajectory) -> tuple[str, ...]:
    """The jets a table shows: of each coordinate up to its acceleration, s and s', and the multipliers (their rates if they are varied)."""
    return table_names(motion.equations, motion.jets)


def table_names(equations: Equations, jets: Sequence[Jet]) -> tuple[str, ...]:
    """The jets that a table shows of a motion whose state has these jets; see `column_names`."""
    least = {Coordinate: 2, Action: 1}
    standing: dict[Jet, tuple[Jet, ...]] = {}  # a group coordinate is shown by its numbers
    for group in equations.system.groups.values():
        standing |= {q: group.places if k == 0 else () for k, q in enumerate(group.components)}
    names = []
    for z in equations.unknowns:
        known = [w.order for w in jets if w.base == z.base and type(w) is type(z)]
        top = max(least.get(type(z), int(equations.lowered.is_costate(z))), max(known, default=-1) + 1)
        names += [w.name for w in standing[z]] if z in standing else [z.name]
        names += [z.d(k).name for k in range(1, top + 1)]
    return tuple(names)


def _columns(motion: Trajectory) -> dict[str, Array]:
    return {name: motion[name] for name in column_names(motion)}


def _attributes(motion: Trajectory) -> dict[str, str]:
    system = motion.equations.system
    return {
        "system": system.name,
        "lagrangian": system.lagrangian_text or show(system.lagrangian),
        "principle": str(motion.equations.principle),
        "outcome": str(motion.outcome),
        "message": motion.message,
    }


def package(name: str, verb: str) -> Any:
    """A package that makes tables, or how to get it."""
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{verb} needs the package {name}, which is not installed.", where=verb, hint=f"pip install {name}") from None


def selected(motion: Trajectory, points: int | None) -> tuple[tuple[str, ...], Array, list[Array]]:
    """Return names, times and values of a table: every step, or `points` evenly spaced times."""
    names = column_names(motion)
    if points is None:
        return names, motion.t, [motion[name] for name in names]
    times = np.linspace(motion.t[0], motion.end[0], points)
    section = motion.at(times)
    return names, times, [section[name] for name in names]


def write_csv(stream: TextIO, motion: Trajectory, points: int | None = None) -> None:
    """A line of names, then a line for each time; every number is read back as the same double."""
    names, times, columns = selected(motion, points)
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["t", *names])
    for k, t in enumerate(times):
        writer.writerow([repr(float(t)), *[repr(float(column[k])) for column in columns]])


def write_netcdf(path: Path, motion: Trajectory, points: int | None = None) -> None:
    """Write a netCDF file with the columns of a table and their attributes."""
    xarray = package("xarray", "a file .nc")
    names, times, columns = selected(motion, points)
    data = xarray.Dataset({name: ("t", v) for name, v in zip(names, columns, strict=True)}, {"t": times}, _attributes(motion))
    data.to_netcdf(path, engine="scipy")


def write_mat(path: Path, motion: Trajectory, points: int | None = None) -> None:
    """Write a MATLAB file: the times `t`, the table `values` with a column for each name of the cell array `names`, and attributes.

    Names such as `theta'` are no names of MATLAB's variables, so they are kept as texts.
    """
    from scipy.io import savemat

    names, times, columns = selected(motion, points)
    table = {"t": times[:, None], "names": np.array(names, dtype=object), "values": np.column_stack(columns), **_attributes(motion)}
    with open(path, "wb") as stream:
        savemat(stream, table, oned_as="row")


def write_parquet(path: Path, motion: Trajectory, points: int | None = None) -> None:
    """Write a Parquet file with the times as the column `t`, and the columns of a table."""
    pandas = package("pandas", "a file .parquet")
    package("pyarrow", "a file .parquet")
    names, times, columns = selected(motion, points)
    pandas.DataFrame({"t": times, **dict(zip(names, columns, strict=True))}).to_parquet(path, engine="pyarrow", index=False)
