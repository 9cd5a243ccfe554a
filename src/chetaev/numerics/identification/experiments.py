"""Measured motions: times, and values of names or expressions at these times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chetaev.core.errors import NotationError, UsageError, about
from chetaev.core.fixes import Code, InPython, SetArgument
from chetaev.core.notation import parse_expression
from chetaev.mechanics.equations import Equations
from chetaev.numerics.flow.compiled import Array


@dataclass(frozen=True)
class Experiment:
    """One record: times, and a column for each name or expression, with its weights."""

    t: Array
    columns: Mapping[str, Array]
    weights: Mapping[str, Array] | None
    """Factors of the residuals, one over the standard deviation of each value; None without weights."""

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.t) * len(self.columns)


def read_experiments(data: Any, equations: Equations, weights: Any, interval: tuple[float, float], where: str) -> tuple[Experiment, ...]:
    """The records of a user: one, or a list of several."""
    several = list(data) if isinstance(data, list | tuple) else [data]
    if not several:
        raise UsageError("there are no data.", where=where, hint=SetArgument("data", {"t": [...], "x": [...]}))
    given = list(weights) if isinstance(weights, list | tuple) else [weights] * len(several)
    if len(given) != len(several):
        raise UsageError(
            f"{len(given)} weights for {len(several)} experiments.",
            where=about(where, "weights"),
            hint="a mapping of weights for each experiment",
        )
    places = [where] if len(several) == 1 else [f"{where}, experiment {k + 1}" for k in range(len(several))]
    return tuple(_read(one, equations, w, interval, place) for one, w, place in zip(several, given, places, strict=True))


def _read(data: Any, equations: Equations, weights: Any, interval: tuple[float, float], where: str) -> Experiment:
    named = _columns(data, where)
    if "t" not in named:
        raise UsageError(
            "the data have no times.", where=about(where, "data"), why=f"Columns: {' '.join(named) or 'none'}.", hint='a column "t"'
        )
    times = _numbers(named.pop("t"), "t", where)
    if not named:
        raise UsageError("the data have no column besides t.", where=about(where, "data"), hint=InPython('{"t": [...], "x": [...]}'))
    for name in named:
        try:
            parse_expression(name, equations.vocabulary, where)
        except NotationError as fault:
            known = " ".join(z.base for z in equations.unknowns)
            hint = f"jets and multipliers of {known}, or expressions in them; leave out other columns"
            raise UsageError(f"column {name!r} is not an expression of the motion: {fault.what}", where=where, hint=hint) from None
    columns = {name: _numbers(values, name, where) for name, values in named.items()}
    for name, column in columns.items():
        if column.shape != times.shape:
            what = f"column {name} has {len(column)} values for {len(times)} times."
            raise UsageError(what, where=where, hint="a value for every time")
    if np.any(np.diff(times) < 0):
        raise UsageError(
            "the times do not increase.", where=about(where, "data", "t"), hint="sort the data by t; several runs are a list of experiments"
        )
    low, high = min(interval), max(interval)
    outside = times[(times < low) | (times > high)]
    if len(outside):
        raise UsageError(
            f"t = {outside[0]:g} is outside the run from {interval[0]:g} to {interval[1]:g}.",
            where=where,
            why=f"{len(outside)} of {len(times)} times are.",
            hint=(SetArgument("t", (0, 5), "fit"), " gives the interval; the start belongs to its first time"),
        )
    return Experiment(times, columns, _weights(weights, columns, len(times), where))


def _columns(data: Any, where: str) -> dict[str, Any]:
    """The columns of a mapping, a data frame or a data set; times may be the index."""
    if isinstance(data, Mapping) and not hasattr(data, "data_vars"):
        return {str(name): values for name, values in data.items()}
    if hasattr(data, "data_vars"):  # xarray
        found = {str(name): np.asarray(data[name].values) for name in data.data_vars}
        return {**({"t": np.asarray(data["t"].values)} if "t" in data.coords else {}), **found}
    if hasattr(data, "columns") and hasattr(data, "index"):  # pandas
        found = {str(name): np.asarray(data[name]) for name in data.columns}
        return found if "t" in found or data.index.name != "t" else {"t": np.asarray(data.index), **found}
    what = f"data are a {type(data).__name__}, not a table."
    raise UsageError(
        what, where=where, hint=(InPython('{"t": [...], "x": [...]}'), ", a pandas.DataFrame, an xarray.Dataset, or a list of these")
    )


def _numbers(values: Any, name: str, where: str) -> Array:
    if isinstance(values, np.ma.MaskedArray):  # masked values are gaps
        values = np.ma.filled(values.astype(float), np.nan)
    kind = np.asarray(values).dtype.kind
    if kind in "mM":
        what = f"column {name} holds dates or durations."
        raise UsageError(what, where=where, why="Their unit of time is not that of the model.", hint="seconds since the start, as numbers")
    if kind == "c":
        raise UsageError(f"column {name} holds complex numbers.", where=about(where, "data", name), hint="real numbers")
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(
            f"column {name} holds values that are not numbers.", where=about(where, "data", name), hint="real numbers"
        ) from None
    if found.ndim != 1:
        raise UsageError(f"column {name} has the shape {found.shape}.", where=about(where, "data", name), hint="one value for every time")
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise UsageError(
            f"column {name} has {len(bad)} values that are not finite, the first in line {int(bad[0]) + 1}.",
            where=about(where, "data", name),
            why="A gap is not a value, and data are left out only on request.",
            hint="remove these lines from the data; a column with gaps of its own goes into an experiment of its own",
        )
    return found


def _weights(given: Any, columns: Mapping[str, Array], size: int, where: str) -> Mapping[str, Array] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise UsageError(
            f"weights={given!r} is not a mapping.",
            where=where,
            hint=(SetArgument("weights", Code('{"x": 1/0.01}')), ": one over the standard deviation"),
        )
    unknown = [name for name in given if name not in columns]
    missing = [name for name in columns if name not in given]
    if unknown or missing:
        what = f"weights: {unknown[0]} is not a column." if unknown else f"no weight for {missing[0]}."
        raise UsageError(what, where=where, hint=f"a weight for each of {' '.join(columns)}")
    try:
        found = {name: np.broadcast_to(np.asarray(w, dtype=float), (size,)) for name, w in given.items()}
    except (TypeError, ValueError):
        what = "weights are neither numbers nor arrays with one number for every time."
        raise UsageError(what, where=where, why=f"There are {size} times.", hint=SetArgument("weights", Code('{"x": 1/0.01}'))) from None
    for name, w in found.items():
        if not np.all(np.isfinite(w)) or np.any(w < 0) or not np.any(w > 0):
            raise UsageError(
                f"weights of {name} are not positive numbers.", where=about(where, "weights", name), hint="one over the standard deviation"
            )
    return found


def labels(experiments: Sequence[Experiment]) -> list[tuple[int, str]]:
    """All columns, with the number of their experiment."""
    return [(k, name) for k, one in enumerate(experiments) for name in one.columns]
