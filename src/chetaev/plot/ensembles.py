"""Ensembles over time: the curves of their members, or fans of quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask, Code, InPython, SetArgument
from chetaev.core.support.public import public
from chetaev.numerics.ensemble import Ensemble
from chetaev.plot.curves import usual
from chetaev.plot.style import COLOURS, FRAMED, Array, Picture, grid, label, legend, panels, styled, time_axis, title_of

_MOST_CURVES = 200
"""Largest number of members whose curves are drawn; more would merge into one dark band."""
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of a fan: the median, the middle half, and all but a tenth; without a middle level no curve is drawn."""


def curves(ensemble: Ensemble, names: Sequence[str] | str | None, columns: int | None) -> Picture:
    """Draw a curve for each of the first members, one panel for each quantity."""
    times, listed = _times(ensemble, "series"), _names(ensemble, names)
    size = min(len(ensemble), _MOST_CURVES)
    columns = columns or (1 if len(listed) <= 3 else 2)
    note = f"{size} of {len(ensemble)} members" if size < len(ensemble) else f"{size} members"
    picture, axes = grid(len(listed), columns, f"{title_of(ensemble)}\n{note}")
    with styled():
        for ax, name in zip(axes, listed, strict=True):
            values = ensemble[name][:size]
            names = [f"member {k}" for k in range(len(values))]
            ax.plot(times, values.T, color=COLOURS[0], linewidth=0.8, alpha=max(0.12, min(1.0, 8 / size)), label=names)
            _name(ax, ensemble, name)
        time_axis(axes, columns)
    return picture


@public
def fan(ensemble: Any, names: Sequence[str] | str | None = None, *, quantiles: Sequence[float] = _QUANTILES, ax: Any = None) -> Picture:
    """Draw quantiles of an ensemble over time: bands between pairs of quantiles, and the middle one as a curve.

    Members that ended early count up to their end.

    Args:
        ensemble: An ensemble that keeps states: `simulate_many(..., t=np.linspace(0, 10, 101))`.
        names: Names of jets, multipliers or expressions, one panel for each; by default every coordinate.
        quantiles: Levels between 0 and 1, symmetric about 0.5.
        ax: Axes to draw into, one for each quantity; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If the ensemble keeps no states, or the quantiles are not symmetric.

    >>> import numpy as np
    >>> from chetaev import System, derive, simulate_many
    >>> spring = derive(System("x", lagrangian="x'^2/2 - x^2/2"))
    >>> ensemble = simulate_many(spring, {"x": np.linspace(1, 2, 20), "x'": 0}, np.linspace(0, 6, 31))
    >>> len(fan(ensemble, "x").axes[0].collections)
    2
    """
    if not isinstance(ensemble, Ensemble):
        raise UsageError(f"{type(ensemble).__name__} is not an ensemble.", where="fan", hint=Ask("fan", "ch.simulate_many(..., t=times)"))
    times, listed = _times(ensemble, "fan"), _names(ensemble, names)
    levels = np.sort(np.asarray(quantiles, dtype=float))
    if levels.ndim != 1 or not len(levels) or not np.allclose(levels + levels[::-1], 1) or levels[0] < 0:
        raise UsageError(
            f"quantiles={tuple(quantiles)} are not symmetric about 0.5.", where="fan", hint=SetArgument("quantiles", _QUANTILES)
        )
    columns = 1 if len(listed) <= 3 else 2
    picture, axes = panels(ax, len(listed), columns, f"{title_of(ensemble)}\n{len(ensemble)} members", "fan")
    with styled():
        for panel, name in zip(axes, listed, strict=True):
            _bands(panel, times, _quantiles(np.asarray(ensemble[name], dtype=float), levels), levels)
            _name(panel, ensemble, name)
        above = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.96), "ncols": 4, "borderaxespad": 0.0}
        legend(axes[0], always=True, **(above if ax is None else {"loc": "best"} | FRAMED))
        time_axis(axes, columns)
    return picture


def _quantiles(values: Array, levels: Array) -> Array:
    """A row for each level; NaN at times that no member reached."""
    found = np.full((len(levels), values.shape[1]), np.nan)
    for k in range(values.shape[1]):
        known = values[np.isfinite(values[:, k]), k]
        if len(known):
            found[:, k] = np.quantile(known, levels)
    return found


def _bands(ax: Any, times: Array, found: Array, levels: Array) -> None:
    pairs = len(levels) // 2
    for k in range(pairs):
        text = f"{100 * levels[k]:g} to {100 * levels[-1 - k]:g} %"
        strength = 0.15 + 0.25 * k / max(1, pairs - 1) if pairs > 1 else 0.25
        ax.fill_between(times, found[k], found[-1 - k], color=COLOURS[0], alpha=strength, linewidth=0, label=text)
    if len(levels) % 2:
        ax.plot(times, found[pairs], color=COLOURS[0], label="median")


def _times(ensemble: Ensemble, verb: str) -> Array:
    if ensemble.times is None:
        hint = SetArgument("t", Code("np.linspace(0, 10, 101)"), "simulate_many")
        raise UsageError("the ensemble has only the ends of its motions.", where=f"plot.{verb}", hint=hint)
    return ensemble.times


def _names(ensemble: Ensemble, names: Sequence[str] | str | None) -> list[str]:
    if names is None:
        return [name for group in usual(ensemble.equations.system) for name in group]
    listed = [names] if isinstance(names, str) else list(names)
    if not listed or not all(isinstance(name, str) for name in listed):
        where = f"plot {ensemble.equations.system.label}"
        raise UsageError("nothing to draw.", where=where, hint=("names of the motion, such as ", InPython('["x", "x\'"]')))
    return listed


def _name(ax: Any, ensemble: Ensemble, name: str) -> None:
    ax.set_ylabel(label(ensemble.equations, name), rotation=0, ha="right", va="center")
