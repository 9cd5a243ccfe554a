"""Curves in a plane: phase portraits, and paths with equal scales on both axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.plot.curves import broken, by_label, smooth, usual
from chetaev.plot.style import (
    COLOURS,
    DASHES,
    INK,
    Picture,
    figure,
    given_axes,
    in_unit,
    is_angle,
    label,
    legend,
    styled,
    title_of,
    turn_ticks,
    unit_font,
    wrapped,
)

_PAIRS = (("x", "y"), ("x1", "x2"), ("y1", "y2"), ("x", "z"), ("a1", "a2"), ("q1", "q2"))
"""Pairs of names that count as Cartesian coordinates in a plane."""


@public
def phase(motion: Any, x: str | None = None, y: str | None = None, *, wrap: bool | None = None, ax: Any = None) -> Picture:
    r"""Draw one quantity over another, both names or expressions of the motion; by default a coordinate and its velocity.

    Args:
        motion: A motion; or several, by their labels, as a list, a comparison or an ensemble.
        x: The quantity on the horizontal axis; by default the first coordinate.
        y: The quantity on the vertical axis; by default the derivative of `x`.
        wrap: Whether angles are brought into (-pi, pi]; by default those that make more than a turn.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If there is no motion.

    >>> from chetaev import gallery, simulate
    >>> picture = phase(simulate(gallery("cart-pendulum")), "theta", "theta'")
    >>> picture.axes[0].get_xlabel(), picture.axes[0].get_ylabel()
    ('$\\theta$', '$\\dot{\\theta}$')
    """
    motions = by_label(motion, "phase portrait")
    first = next(iter(motions.values()))
    x = x if x is not None else usual(first.equations.system)[0][0]
    y = y if y is not None else f"{x}'"
    picture, ax = _canvas(ax, motions)
    with styled():
        _curves(ax, motions, x, y, wrap)
        for axis, name, limits in ((ax.xaxis, x, ax.get_xlim()), (ax.yaxis, y, ax.get_ylim())):
            if is_angle(first.equations.system, name):
                turn_ticks(axis, *limits)
    return picture


@public
def path(motion: Any, x: str | None = None, y: str | None = None, *, ax: Any = None) -> Picture:
    """Draw the curve (x, y) with equal scales on both axes.

    Args:
        motion: A motion; or several, by their labels, as a list, a comparison or an ensemble.
        x: The quantity on the horizontal axis.
        y: The quantity on the vertical axis. By default two coordinates with names of Cartesian coordinates, such as `x y` or `x1 x2`.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If there is no motion, or no two coordinates have such names.

    >>> from chetaev import gallery, simulate
    >>> path(simulate(gallery("disk"))).axes[0].get_aspect()
    1.0
    """
    motions = by_label(motion, "path")
    first = next(iter(motions.values()))
    if x is None or y is None:
        pair = places(first.equations.system)
        if pair is None:
            hint = (Ask("path", 'motion, "x", "y"'), ", or expressions: ", Ask("path", 'motion, "l*sin(theta)", "-l*cos(theta)"'))
            raise UsageError("no two coordinates have names such as x and y.", where=f"plot {first.equations.system.label}", hint=hint)
        x, y = pair
    picture, ax = _canvas(ax, motions)
    with styled():
        _curves(ax, motions, x, y, wrap=False)
        ax.set_aspect("equal", adjustable="datalim")
    return picture


def places(system: Any) -> tuple[str, str] | None:
    """Return two coordinates of a system whose names are those of Cartesian coordinates in a plane; None if there are none."""
    for pair in _PAIRS:
        if all(system.kinds.get(name) == "line" for name in pair):
            return pair
    return None


def _curves(ax: Any, motions: Mapping[str, Trajectory], x: str, y: str, wrap: bool | None) -> None:
    several = len(motions) > 1
    begins: list[Any] = []
    ends: list[Any] = []
    for k, (name, motion) in enumerate(motions.items()):
        curve = smooth(motion)
        columns = [np.asarray(curve[quantity], dtype=float) for quantity in (x, y)]
        turning = []
        for j, (quantity, values) in enumerate(zip((x, y), columns, strict=True)):
            if is_angle(motion.equations.system, quantity) and (wrap or (wrap is None and np.ptp(values) > 2 * np.pi)):
                columns[j] = wrapped(values)
                turning.append(columns[j])
        _, u, v = broken(curve.t, *columns, turning=turning)
        style = {"color": COLOURS[k % len(COLOURS)], "linestyle": DASHES[k % len(DASHES)]}
        ax.plot(u, v, label=name if several else "_motion", **style)
        begins.append([c[0] for c in columns])
        ends.append([c[-1] for c in columns])
    for k, (u, v) in enumerate(begins):
        ax.plot([u], [v], "o", color=INK, markersize=5, label="_start" if k else "start", zorder=4)
    for k, (u, v) in enumerate(ends):
        ax.plot([u], [v], "s", color=COLOURS[k % len(COLOURS)], markersize=5, label="_end" if several else "end", zorder=4)
    equations = next(iter(motions.values())).equations
    ax.set_xlabel(in_unit(equations, x, label(equations, x)), **unit_font(equations))
    ax.set_ylabel(in_unit(equations, y, label(equations, y)), **unit_font(equations))
    legend(ax, loc="best", markerscale=1.0)


def _canvas(ax: Any, motions: Mapping[str, Trajectory]) -> tuple[Any, Any]:
    """Return a figure and its axes: those given, or new ones with a title."""
    if ax is not None:
        (one,) = given_axes(ax, 1, "plot")
        return one.figure, one
    picture = figure(5.2, 4.4, _title(motions))
    with styled():
        return picture, picture.add_subplot()


def _title(motions: Mapping[str, Trajectory]) -> str:
    first = next(iter(motions.values()))
    return title_of(first) if len(motions) == 1 else in_mathtext(first.equations.system.name or "system")
