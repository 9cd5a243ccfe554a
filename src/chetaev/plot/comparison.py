"""Motions side by side: one system under several principles, or with several values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.plot.curves import by_label, smooth, usual
from chetaev.plot.over_time import draw, finish
from chetaev.plot.style import COLOURS, DASHES, SOFT, Array, Picture, legend, logarithmic_limits, panels, styled, time_axis

_TIMES_COMPARED = 600
"""Number of times at which two motions with different nodes are compared: about one per pixel of the figure."""


@public
def compare(motions: Any, names: Sequence[str] | None = None, *, wrap: bool = False, ax: Any = None) -> Picture:
    """Draw motions in common panels; the last panel shows the largest difference of the quantities from those of the first motion.

    Args:
        motions: Motions by their labels, as a list or an ensemble, or a result of `chetaev.compare`.
        names: Quantities, one panel for each: names of `motion[...]` and expressions in them. By default the coordinates.
        wrap: Whether coordinates that are angles are brought into (-pi, pi].
        ax: Axes to draw into, one for each quantity and one for the distance; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If there is nothing to draw.

    >>> from chetaev import compare as compared, gallery
    >>> picture = compare(compared(gallery("disk")))
    >>> [line.get_label() for line in picture.axes[0].get_lines()]
    ['DAlembert()', 'Chetaev()', 'Vakonomic()']
    """
    shown = by_label(motions, "compare")
    first = next(iter(shown.values()))
    chosen = (
        [name for panel in usual(first.equations.system) for name in panel]
        if names is None
        else [names]
        if isinstance(names, str)
        else list(names)
    )
    if not chosen:
        raise UsageError("nothing to draw.", where="compare", hint=("names of the motions, such as ", InPython('["x", "y"]')))
    several = len(shown) > 1
    count = len(chosen) + several
    columns = 1 if count <= 3 else 2
    picture, axes = panels(ax, count, columns, in_mathtext(first.equations.system.name or "system"), "compare")
    curves = [smooth(motion) for motion in shown.values()]
    with styled():
        for panel, name in zip(axes, chosen, strict=False):
            for k, (text, curve) in enumerate(zip(shown, curves, strict=True)):
                draw(panel, curve, name, COLOURS[k % len(COLOURS)], wrap=wrap, text=text, linestyle=DASHES[k % len(DASHES)])
            finish(panel, first, [name])
            if ax is None:
                panel.sharex(axes[0])
        if several:
            _distances(axes[-1], shown, chosen)
        time_axis(axes, columns, first.equations)
        handles, texts = axes[0].get_legend_handles_labels()
        if ax is None:
            picture.legend(handles, texts, loc="outside lower center", ncols=min(len(texts), 4))
        else:
            legend(axes[0], loc="best")
    return picture


def _distances(ax: Any, motions: Mapping[str, Trajectory], names: Sequence[str]) -> None:
    """Draw the largest difference from the first motion over time on a logarithmic axis; zeros lie on its lower limit."""
    (first_name, first), *others = motions.items()
    found: list[tuple[int, Array, Array]] = []
    for k, (_, other) in enumerate(others, start=1):
        t, a, b = _together(first, other, names)
        found.append((k, t, np.max(np.abs(a - b), axis=0)))
    apart = [(k, t, d) for k, t, d in found if np.any(d > 0)]
    for k, t, d in apart:
        ax.plot(t, np.where(d > 0, d, np.nan), color=COLOURS[k % len(COLOURS)], linestyle=DASHES[k % len(DASHES)], label="_distance")
    if apart:
        ax.set_yscale("log")
        sizes = [float(v) for _, _, d in apart for v in d]
        logarithmic_limits(ax.yaxis, sizes)
    same = [name for k, (name, _) in enumerate(others, start=1) if not any(k == j for j, _, _ in apart)]
    if same:
        ax.annotate(f"exactly zero: {', '.join(same)}", (0.99, 0.06), xycoords="axes fraction", ha="right", fontsize=9, color=SOFT)
    ax.set_ylabel(f"distance from\n{first_name}", fontsize=9.5)


def _together(first: Trajectory, other: Trajectory, names: Sequence[str]) -> tuple[Array, Array, Array]:
    """Return two motions at common times: the stored times if these agree, otherwise a grid on the common interval."""
    if len(first.t) == len(other.t) and np.array_equal(first.t, other.t):
        return first.t, np.array([first[n] for n in names]), np.array([other[n] for n in names])
    low = max(min(first.t[0], first.end[0]), min(other.t[0], other.end[0]))
    high = min(max(first.t[0], first.end[0]), max(other.t[0], other.end[0]))
    if high <= low:
        raise UsageError("the motions have no time in common.", where="compare", hint="simulate them over the same interval")
    t = np.linspace(low, high, _TIMES_COMPARED)
    return t, *(np.array([_at(m, n, t) for n in names]) for m in (first, other))  # type: ignore[return-value]


def _at(motion: Trajectory, name: str, t: Array) -> Array:
    """Evaluate a quantity at the times `t`: by dense output, or linearly between the stored times."""
    try:
        found: Array = np.asarray(motion.at(t)[name], dtype=float)
    except UsageError:
        forward = 1 if motion.t[-1] >= motion.t[0] else -1
        found = np.interp(t, motion.t[::forward], motion[name][::forward])
    return found
