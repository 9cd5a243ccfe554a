"""Families of equilibria, steady motions and periodic orbits: a quantity over the parameter, with stability and special points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.support.public import public
from chetaev.plot.style import COLOURS, INK, PAPER, Picture, label, legend, panel, styled

_LINES = {True: ("-", "stable"), None: ("-.", "undecided to first order"), False: (":", "unstable")}
_MARKS = {
    "hopf": ("o", "Hopf"),
    "fold": ("s", "fold"),
    "branch": ("D", "branch"),
    "period_doubling": ("^", "period doubling"),
    "double": ("x", "double"),
}
_WIDTHS = {True: 2.0, None: 1.5, False: 1.8}


@public
def family(families: Any, quantity: str = "", *, title: str = "", ax: Any = None) -> Picture:
    """Draw a quantity of one or several families over the parameter or jet along which they were followed.

    Lines are solid where the solutions are stable, dotted where they are unstable, and dash-dotted where the linearised motion does not
    decide, as in conservative systems. Each kind of special point has its own mark.

    Args:
        families: A family of `orbits.continuation`, or a list of families along the same quantity.
        quantity: The name of a jet of the state, or `"period"`; by default the coordinate that changes most.
        title: A title of a new figure.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If there is no family, or the families were followed along different quantities.

    >>> from chetaev import System, derive, orbits
    >>> hoop = derive(System("th", "w", lagrangian="th'^2/2 + w^2*sin(th)^2/2 + cos(th)"))
    >>> rest = orbits.continuation(hoop, {"th": 0}, along="w", until=(0, 2), parameters={"w": 0.5})
    >>> family([rest, rest.switch(0)], "th").axes[0].get_xlabel()
    '$w$'
    """
    shown = list(families) if isinstance(families, Sequence) else [families]
    if not shown or not all(hasattr(f, "special") and hasattr(f, "along") for f in shown):
        raise UsageError("no family to draw.", where="family", hint=Ask("ch.plot.family", "ch.orbits.continuation(...)"))
    along = shown[0].along
    if any(f.along != along for f in shown):
        names = ", ".join(sorted({f.along for f in shown}))
        raise UsageError(f"the families were followed along different quantities: {names}.", where="family", hint="a picture for each")
    name = quantity or _changing(shown)
    picture, ax = panel(ax, (6.4, 4.4), title, "family")
    with styled():
        used: set[str] = set()
        for k, f in enumerate(shown):
            _draw_lines(ax, f, name, COLOURS[k % len(COLOURS)], used)
        for f in shown:
            _draw_marks(ax, f, name, used)
        ax.set_xlabel(label(None, along))
        ax.set_ylabel(label(None, name))
        ax.margins(x=0.02, y=0.08)
        legend(ax, always=True, loc="best")
    return picture


def _changing(families: Sequence[Any]) -> str:
    """The coordinate that changes most over the families, relative to its size; the first coordinate if none changes."""
    names = [n for n in families[0].points[0].state if not n.endswith("'") and n != families[0].along]
    names = names or [n for n in families[0].points[0].state if n != families[0].along]
    if not names:
        return str(families[0].along)
    spans = [float(np.ptp(np.concatenate([f[n] for f in families]))) for n in names]
    return names[int(np.argmax(spans))]


def _draw_lines(ax: Any, f: Any, name: str, colour: str, used: set[str]) -> None:
    """Draw a line for each part of the same stability; parts meet at the special point between them."""
    x, y = f.values, f[name]
    stable = [p.stable for p in f.points]
    first: list[tuple[float, float]] = []
    begin = 0
    for k in range(1, len(x) + 1):
        if k < len(x) and stable[k] is stable[begin]:
            continue
        meeting = [(s.value, _height(f, s, name)) for s, order in zip(f.special, f.order, strict=True) if k - 1 <= order <= k]
        last = meeting[:1] or [(x[j], y[j]) for j in range(k, min(k + 1, len(x)))]
        line = np.array([*first, *zip(x[begin:k], y[begin:k], strict=True), *last])
        style, word = _LINES[stable[begin]]
        ax.plot(
            line[:, 0], line[:, 1], style, color=colour, linewidth=_WIDTHS[stable[begin]], label=word if word not in used else f"_{word}"
        )
        used.add(word)
        first, begin = meeting[-1:], k


def _height(f: Any, point: Any, name: str) -> float:
    return float(point.value if name == f.along else point.period if name == "period" else point.state[name])


def _draw_marks(ax: Any, f: Any, name: str, used: set[str]) -> None:
    for s in f.special:
        mark, word = _MARKS[s.kind]
        y = _height(f, s, name)
        filled = mark != "x"
        ax.plot(
            [s.value], [y], mark, color=INK, markerfacecolor=PAPER if filled else INK, markersize=6, zorder=5,
            label=word if word not in used else f"_{word}",
        )  # fmt: skip
        used.add(word)
