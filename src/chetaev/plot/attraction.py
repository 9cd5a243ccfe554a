"""The basin of an equilibrium on a plane of its box, with its border."""

from __future__ import annotations

from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.plot.style import ALERT, COLOURS, FRAMED, INK, LINES, SOFT, Picture, label, legend, panel, styled

_CLASSES = (
    (1, "attracted", COLOURS[2], 0.45),
    (0, "elsewhere at the last time", SOFT, 0.35),
    (-1, "ended before", LINES, 0.8),
    (-2, "no motion", "#ffffff", 1.0),
)
"""For each code in a basin: its text in the legend, its colour and its opacity."""


@public
def basin(found: Any, x: str | None = None, y: str | None = None, *, ax: Any = None) -> Picture:
    r"""Draw which states of a box an equilibrium attracts, the points found on the border of the basin, and the proved region.

    A box of one jet is drawn as a strip. A box of more than two is drawn on the plane where the other jets are nearest to the equilibrium.

    Args:
        found: A result of `ch.control.basin`.
        x: The jet on the horizontal axis; by default the first of the box.
        y: The jet on the vertical axis; by default the second.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If `x` or `y` is not a jet of the box, or both are the same.

    >>> from chetaev import System, basin as basin_of, derive
    >>> well = System("x", lagrangian="x'^2/2 + x^2/2 - x^4/4", dissipation="x'^2/2")
    >>> box = {"x": (-1.5, 1.5), "x'": (-1, 1)}
    >>> basin(basin_of(derive(well), {"x": 1, "x'": 0}, box, grid=5, halvings=0, checks=0)).axes[0].get_ylabel()
    '$\\dot{x}$'
    """
    names = list(found.names)
    where = f"basin of {found.equations.system.label}"
    x = names[0] if x is None else x
    y = next((name for name in names if name != x), None) if y is None else y
    for name in (x, y):
        if name is not None and name not in names:
            raise UsageError(f"{name} is not a jet of the box.", where=where, hint=f"jets of the box: {' '.join(names)}")
    if x == y:
        raise UsageError(f"{x} is on both axes.", where=where, hint="two jets of the box")
    alone = ax is None
    picture, ax = panel(ax, (7.2, 4.6 if y else 2.2), in_mathtext(found.equations.system.name or "system"), "basin")
    with styled():
        _draw(ax, found, names, x, y)
        ax.set_xlabel(label(found.equations, x))
        if y is None:
            ax.set_yticks([])
        else:
            ax.set_ylabel(label(found.equations, y))
        legend(ax, **({"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)} if alone else {"loc": "best"} | FRAMED))
    return picture


def _draw(ax: Any, found: Any, names: list[str], x: str, y: str | None) -> None:
    """Draw the classes of states on a plane, the border and the equilibrium."""
    shown = [names.index(name) for name in (x, y) if name is not None]
    cut = tuple(
        slice(None) if k in shown else int(np.argmin(np.abs(axis - found.equilibrium.get(names[k], 0.0))))
        for k, axis in enumerate(found.axes)
    )
    plane = found.fate[cut]
    plane = plane[None, :] if y is None else plane.T if shown[0] < shown[1] else plane
    across, up = found.axes[shown[0]], np.array([-1.0, 1.0]) if y is None else found.axes[shown[1]]
    sides = [_edges(across), up if y is None else _edges(up)]
    for number, word, colour, strength in _CLASSES:
        if (plane == number).any():
            ones = np.ma.masked_where(plane != number, np.ones(plane.shape))
            ax.pcolormesh(sides[0], sides[1], ones, cmap=_one(colour), alpha=strength, vmin=0, vmax=1, linewidth=0, rasterized=True)
            ax.fill_between([], [], color=colour, alpha=strength, label=word)
    if len(found.border) and len(names) == len(shown):
        heights = np.zeros(len(found.border)) if y is None else found.border[:, shown[1]]
        ax.plot(found.border[:, shown[0]], heights, ".", color=ALERT, markersize=3, label="border")
    proved = found.certificate
    if proved is not None and y is not None and {x, y} == set(proved.equilibrium):
        _ellipse(ax, proved, x, y)
    rest = found.equilibrium
    if x in rest and (y is None or y in rest):
        ax.plot([rest[x]], [0.0 if y is None else rest[y]], "o", color=INK, markersize=5, label="equilibrium")
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])


def _ellipse(ax: Any, proved: Any, x: str, y: str) -> None:
    """The curve V = level of a quadratic form."""
    order = [list(proved.equilibrium).index(name) for name in (x, y)]
    matrix = np.asarray(proved.matrix)[np.ix_(order, order)]
    turns = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    curve = np.linalg.solve(np.linalg.cholesky(matrix).T, circle) * np.sqrt(proved.level)
    ax.plot(curve[0] + proved.equilibrium[x], curve[1] + proved.equilibrium[y], color=INK, linewidth=1.0, label="proved region")


def _edges(axis: Any) -> Any:
    """The edges of cells around the values of an axis."""
    middle = 0.5 * (axis[1:] + axis[:-1])
    return np.concatenate([[2 * axis[0] - middle[0]], middle, [2 * axis[-1] - middle[-1]]])


def _one(colour: str) -> Any:
    """A colour map with a single colour."""
    from matplotlib.colors import ListedColormap

    return ListedColormap([colour])
