"""Charts of sweeps: a measure over one or two parameters, as a curve, in colours, or classified by regimes."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask, Code, SetArgument
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.plot.style import COLOURS, INK, LINES, PAPER, Array, Picture, label, panel, styled

_COLOURS = "viridis"
_TWO_SIDED = "RdBu_r"
"""Colour map of values of both signs: zero is white, positive is red, negative is blue."""
_SIDE = 0.1
"""Least size of values of the other sign, relative to the largest absolute value, for which the colour map is two-sided."""
_MISSING = LINES
"""Colour of points without a value."""
_EQUAL = 1e-9
"""Largest relative difference of steps in a grid that counts as evenly spaced."""
_HINT = (Ask("chart", "sweep.to_xarray().isel(a=0)"), ", or ", Ask("chart", 'sweep.to_xarray().sel(a=1, method="nearest")'))


@dataclass(frozen=True)
class _Axes:
    """The parameters of a chart with their values."""

    names: tuple[str, ...]
    values: tuple[Array, ...]
    scattered: bool
    """Whether the points are those of a sample or a list, not of a grid."""


@public
def chart(
    sweep: Any, measure: str | None = None, *, regimes: Mapping[str, float] | None = None, title: str = "", ax: Any = None
) -> Picture:
    """Draw a measure of a sweep over one or two parameters.

    Points whose motions did not finish, or were not run, are grey. An interactive window shows the values of the point under the cursor.

    Args:
        sweep: A sweep, or a data set of its `to_xarray()` in which other parameters are fixed.
        measure: The name of a measure, or `"outcome"`; by default the first measure.
        regimes: Names of regimes with their upper limits, in ascending order: `{"regular": 0.01, "chaotic": inf}`; points are then
            coloured by regime.
        title: A title of a new figure.
        ax: Axes to draw into, beside which the figure has a colour bar; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: For an unknown measure, limits of regimes that do not increase, and sweeps over more than two parameters.
    """
    data = sweep.to_xarray() if hasattr(sweep, "to_xarray") and not hasattr(sweep, "data_vars") else sweep
    where = "chart"
    if not hasattr(data, "data_vars"):
        raise UsageError(f"{type(sweep).__name__} is not a sweep.", where=where, hint=Ask("chart", "ch.open_sweep(...)"))
    known = [str(name) for name in data.data_vars]
    measure = known[0] if measure is None else measure
    if measure not in known:
        raise UsageError(f"{measure} is not measured.", where=where, hint=" ".join(known))
    axes = _axes_of(data, where)
    values, names = _classes(data, measure, regimes, where)
    heading = title or in_mathtext(str(data.attrs.get("system") or data.attrs.get("store", "")))
    one = len(axes.names) == 1
    picture, ax = panel(ax, (6.4, 4.0) if one else (6.6, 4.8), heading, where)
    with styled():
        (_curve if one else _plane)(ax, axes, values, names, measure)
    return picture


def as_html(sweep: Any) -> str:
    """A chart of the first measure for a notebook."""
    stream = io.BytesIO()
    chart(sweep).savefig(stream, format="png", dpi=110)
    return f'<img alt="chart" src="data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}">'


def _axes_of(data: Any, where: str) -> _Axes:
    dimensions = [str(name) for name in data.dims if data.sizes[name] > 0]
    coordinates = {str(name): np.asarray(v, dtype=float) for name, v in data.coords.items() if v.ndim == 1}
    if len(dimensions) == 1 and dimensions[0] not in coordinates:  # a sample or a list
        found = _Axes(tuple(coordinates), tuple(coordinates.values()), True)
    else:
        found = _Axes(tuple(dimensions), tuple(coordinates.get(name, np.arange(data.sizes[name])) for name in dimensions), False)
    if not 1 <= len(found.names) <= 2:
        what = f"a chart has one or two parameters, not {len(found.names)}: {' '.join(found.names)}."
        raise UsageError(what, where=where, hint=_HINT)
    return found


def _classes(data: Any, measure: str, regimes: Mapping[str, float] | None, where: str) -> tuple[Array, list[str] | None]:
    """The values of a measure and None, or indices of classes and their names."""
    array = data[measure]
    if array.dtype.kind in "OUS":
        words = np.asarray(array).astype(str)
        names = list(dict.fromkeys(sorted(words.ravel(), key=lambda word: (word != "finished", word))))
        return np.array([names.index(word) for word in words.ravel()], dtype=float).reshape(words.shape), names
    values = np.asarray(array, dtype=float)
    if regimes is None:
        return values, None
    limits = np.array([float(limit) for limit in regimes.values()])
    if not len(limits) or not np.all(np.diff(limits) > 0) or len(limits) > len(COLOURS):
        hint = (SetArgument("regimes", Code('{"regular": 0.01, "chaotic": float("inf")}')), f", at most {len(COLOURS)}")
        raise UsageError("the limits of the regimes do not increase.", where=where, hint=hint)
    found = np.searchsorted(limits, values).astype(float)
    found[np.isnan(values) | (found >= len(limits))] = np.nan
    return found, list(regimes)


def _curve(ax: Any, axes: _Axes, values: Array, names: list[str] | None, measure: str) -> None:
    """Draw a measure over one parameter."""
    x = axes.values[0]
    order = np.argsort(x, kind="stable")
    line = "" if axes.scattered or names is not None else "-"
    ax.plot(x[order], values[order], color=COLOURS[0], linestyle=line, marker="." if len(x) < 200 or not line else "")
    for place in x[~np.isfinite(values)]:
        ax.axvline(place, color=_MISSING, linewidth=1.0, zorder=0)
    if names is not None:
        ax.set_yticks(range(len(names)), [in_mathtext(name.replace("_", " ")) for name in names])
    else:
        ax.set_ylabel(in_mathtext(measure))
    ax.set_xlabel(label(None, axes.names[0]))
    if _is_logarithmic(x):
        ax.set_xscale("log")
    ax.margins(x=0.01)


def _plane(ax: Any, axes: _Axes, values: Array, names: list[str] | None, measure: str) -> None:
    """Draw a measure over two parameters, in colours."""
    x, y = axes.values
    ax.grid(False)
    ax.set_facecolor(PAPER if axes.scattered else _MISSING)
    options = _colours_of(values)
    if names is not None:
        colours = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
        options = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": len(names) - 0.5}
    if axes.scattered:
        known = np.isfinite(values)
        ax.scatter(x[~known], y[~known], s=14, facecolors="none", edgecolors=INK, linewidths=0.5)
        drawn: Any = ax.scatter(x[known], y[known], c=values[known], s=14, **options)
    else:
        across, up = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")  # lists may be in any order
        shown = np.ma.masked_invalid(values[np.ix_(across, up)].T)
        drawn = ax.pcolormesh(x[across], y[up], shown, shading="nearest", rasterized=True, **options)
        for axis, along in (("x", x), ("y", y)):
            if _is_logarithmic(along):
                getattr(ax, f"set_{axis}scale")("log")
    ax.set_xlabel(label(None, axes.names[0]))
    ax.set_ylabel(label(None, axes.names[1]), rotation=0, ha="right", va="center")
    _key(ax, drawn, values, names, measure)
    vars(ax)["format_coord"] = _cursor(axes, values, names, measure)  # matplotlib calls it for the position of the cursor


def _colours_of(values: Array) -> dict[str, Any]:
    """Colours from the least to the greatest value, with zero in the middle if values have both signs."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    far = max(-low, high)
    if low < 0 < high and min(-low, high) >= _SIDE * far:
        return {"cmap": _TWO_SIDED, "vmin": -far, "vmax": far}
    return {"cmap": _COLOURS}


def _key(ax: Any, drawn: Any, values: Array, names: list[str] | None, measure: str) -> None:
    """Add a colour bar, or a legend of the classes."""
    missing = [Patch(facecolor=_MISSING, edgecolor=INK, linewidth=0.4, label="no value")] if not np.isfinite(values).all() else []
    if names is None:
        ax.figure.colorbar(drawn, ax=ax, label=in_mathtext(measure), pad=0.02)
        handles = missing
    else:
        present = [k for k in range(len(names)) if (values == k).any()]
        handles = [Patch(facecolor=COLOURS[k % len(COLOURS)], label=in_mathtext(names[k].replace("_", " "))) for k in present] + missing
    if handles:
        ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, borderaxespad=0.2, handlelength=1.2)


def _cursor(axes: _Axes, values: Array, names: list[str] | None, measure: str) -> Any:
    """A function that returns the nearest point and its value as text, for the cursor of an interactive window."""
    x, y = axes.values

    def shown_at(px: float, py: float) -> str:
        if axes.scattered:
            k = int(np.argmin(((x - px) / (np.ptp(x) or 1)) ** 2 + ((y - py) / (np.ptp(y) or 1)) ** 2))
            at, value = (float(x[k]), float(y[k])), float(values[k])
        else:
            i, j = int(np.argmin(np.abs(x - px))), int(np.argmin(np.abs(y - py)))
            at, value = (float(x[i]), float(y[j])), float(values[i, j])
        said = "no value" if np.isnan(value) else f"{value:.6g}" if names is None else names[int(value)]
        return f"{axes.names[0]} = {at[0]:.6g}, {axes.names[1]} = {at[1]:.6g}: {measure} = {said}"

    return shown_at


def _is_logarithmic(x: Array) -> bool:
    """Whether values have equal ratios but not equal differences."""
    if len(x) < 3 or not (x > 0).all():
        return False
    steps, ratios = np.diff(x), np.diff(np.log(x))
    return bool(np.ptp(ratios) <= _EQUAL * np.abs(ratios).max() and np.ptp(steps) > _EQUAL * np.abs(steps).max())
