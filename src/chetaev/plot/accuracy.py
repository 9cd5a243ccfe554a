"""The accuracy of a motion: the balance of energy, and the drift of every constraint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.plot.curves import broken, by_label, smooth
from chetaev.plot.over_time import heading, mark, widen_if_constant
from chetaev.plot.style import (
    ALERT,
    COLOURS,
    FRAMED,
    INK,
    SOFT,
    Array,
    Picture,
    figure,
    given_axes,
    in_unit,
    legend,
    log_floor,
    logarithmic_limits,
    panel,
    styled,
    unit_font,
)

_LONGEST_NAME = 26
"""Largest number of characters of a constraint's name beside its mark; longer names are cut, so that the axes keep their width."""
_WIDE = 6.8
"""Width of a new figure of the residuals of several motions, in inches."""
_BESIDE = 0.3
"""Largest distance between the marks of several motions in one row, relative to the distance of rows."""
_MOST_NUMBERED = 4
"""Largest number of motions whose residuals are also written as numbers; with more, the numbers would overlap."""
_HIGHEST_DRIFT = 11.0
"""Largest height of a new figure of residuals, in inches: that of a page."""
_MOST_DOTS = 150
"""Largest number of steps that are drawn as dots; with more, the dots would merge, and only the line is drawn."""
_WORD_SIZE = 10
"""Font size of words on axes, in points; symbols are larger."""


@public
def balance(motion: Any, *, ax: Any = None) -> Picture:
    r"""Draw the energy with the work done, and the error $E(t) - E(t_0) - W(t)$, which vanishes for an exact motion.

    Args:
        motion: A motion; or several, by their labels, as a list, a comparison or an ensemble.
        ax: Two axes to draw into, for the energy and for the error; by default those of a new figure.

    Returns:
        The figure.

    >>> from chetaev import gallery, simulate
    >>> picture = balance(simulate(gallery("rocard")))
    >>> [axes.get_ylabel() for axes in picture.axes]
    ['energy', 'balance']
    """
    motions = by_label(motion, "balance")
    one = len(motions) == 1
    motion = next(iter(motions.values()))
    if ax is None:
        picture = figure(5.6, 4.2, heading(motion) if one else in_mathtext(motion.equations.system.name or "system"))
    else:
        upper, lower = given_axes(ax, 2, "balance")
        picture = upper.figure
    with styled():
        if ax is None:
            upper, lower = picture.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        for k, (text, each) in enumerate(motions.items()):
            _energies(upper, each, (COLOURS[0], COLOURS[1]) if one else (COLOURS[k % len(COLOURS)],) * 2, "" if one else in_mathtext(text))
        upper.set_ylabel(in_unit(motion.equations, motion.equations.system.lagrangian, "energy"), fontsize=_WORD_SIZE)
        legend(upper, loc="best")
        widen_if_constant(upper)
        for k, each in enumerate(motions.values()):
            _remainder(lower, each, np.abs(each.balance), COLOURS[k % len(COLOURS)])
        lower.set_ylabel("balance", fontsize=_WORD_SIZE)
        lower.set_xlabel(in_unit(motion.equations, "t", "$t$"), **unit_font(motion.equations))
        for half in (upper, lower):
            for each in motions.values():
                mark(half, each)
            half.margins(x=0.01)
    return picture


def _energies(ax: Any, motion: Trajectory, colours: tuple[str, str], text: str) -> None:
    """Draw the energy, and the energy at the start plus the work done; `text` names the motion if there are several."""
    curve = smooth(motion)
    _ = motion.energy  # raises if the motion has no energy
    energy, work = motion.reader.energy(curve.t, curve.states, curve.pieces)
    lines = ((energy, "-", text or "$E(t)$"), (energy[0] + work - work[0], "--", "_work" if text else r"$E(t_0) + W(t)$"))
    for (values, dashes, shown), colour in zip(lines, colours, strict=True):
        t, v = broken(curve.t, values)
        ax.plot(t, v, dashes, color=colour, label=shown)


def _remainder(ax: Any, motion: Trajectory, sizes: Array, colour: str) -> None:
    """Draw the error of the balance at the nodes on a logarithmic axis, or a text if all errors are zero."""
    if not np.any(sizes > 0):
        ax.set_yticks([])
        ax.text(0.5, 0.5, "exactly zero at every step", transform=ax.transAxes, ha="center", va="center", color=SOFT)
        return
    dots = ".-" if len(sizes) < _MOST_DOTS else "-"
    ax.plot(motion.t, np.where(sizes > 0, sizes, np.nan), dots, color=colour, linewidth=0.9, markersize=4, label="_balance")
    ax.set_yscale("log")
    known = [motion.tolerance] if np.isfinite(motion.tolerance) else []
    logarithmic_limits(ax.yaxis, [*map(float, sizes), *known])
    for tolerance in known:
        ax.axhline(tolerance, color=SOFT, linestyle="--", linewidth=0.9)
        place = {"xycoords": ("axes fraction", "data"), "xytext": (0, -3), "textcoords": "offset points"}
        ax.annotate("tolerance", (0.995, tolerance), ha="right", va="top", fontsize=8.5, color=SOFT, **place)


@public
def drift(motion: Any, *, ax: Any = None) -> Picture:
    """Draw the largest residual of every constraint, hidden ones included, and of the balance of energy, over all accepted steps.

    The axis is logarithmic; an open mark at its left end stands for a residual of exactly zero. Several motions have marks beside each
    other in the row of each constraint, each in its own colour.

    Args:
        motion: A motion; or several, by their labels, as a list, a comparison or an ensemble.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The figure.

    >>> from chetaev import gallery, simulate
    >>> picture = drift(simulate(gallery("disk")))
    >>> picture.axes[0].get_xlabel(), picture.axes[0].get_xscale()
    ('largest residual', 'log')
    """
    motions = by_label(motion, "drift")
    one, first = len(motions) == 1, next(iter(motions.values()))
    names = list(dict.fromkeys(name for each in motions.values() for name in each.drift if name != "balance"))
    names += ["balance"] * any("balance" in each.drift for each in motions.values())
    tolerances = sorted({float(each.tolerance) for each in motions.values() if np.isfinite(each.tolerance)})
    sizes = [float(v) for each in motions.values() for v in each.drift.values()]
    apart = _apart(len(motions))
    high = 1.3 + 0.27 * max(len(names) * (1 + (len(motions) - 1) * apart / _BESIDE), 2) + (0 if one else 0.25)
    title = heading(first) if one else in_mathtext(first.equations.system.name or "system")
    alone = ax is None
    picture, ax = panel(ax, (5.6 if one else _WIDE, min(high, _HIGHEST_DRIFT)), title, "drift")
    with styled():
        floor = log_floor([*sizes, *tolerances])
        rows = np.arange(len(names))[::-1]
        for k, (text, each) in enumerate(motions.items()):
            below = ((len(motions) - 1) / 2 - k) * apart
            colour = "" if one else COLOURS[k % len(COLOURS)]
            own = {name: (row + below, float(each.drift[name])) for row, name in zip(rows, names, strict=True) if name in each.drift}
            _residuals(ax, own, floor, colour, small=len(motions) > _MOST_NUMBERED)
            if not one:
                ax.plot([], [], "o", color=colour, markersize=6, label=in_mathtext(text))
        ax.set_xscale("log")
        logarithmic_limits(ax.xaxis, [*sizes, *tolerances])
        ax.set_xlim(right=ax.get_xlim()[1] * 10)  # for the numbers beside the marks
        for tolerance in tolerances:
            ax.axvline(tolerance, color=SOFT, linestyle="--", linewidth=0.9)
            place = {"xycoords": ("data", "axes fraction"), "xytext": (3, 2), "textcoords": "offset points"}
            ax.annotate("tolerance" if tolerance == tolerances[-1] else "", (tolerance, 1.0), fontsize=8.5, color=SOFT, **place)
        ax.set_yticks(rows, [_fitting(name) for name in names])
        ax.set_ylim(-0.7, max(len(names) - 0.3, 0.7))
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("largest residual", fontsize=_WORD_SIZE)
        if not names:
            ax.text(0.5, 0.5, "neither constraints nor an energy", transform=ax.transAxes, ha="center", va="center", color=INK)
        if not one and alone:
            handles, texts = ax.get_legend_handles_labels()
            picture.legend(handles, texts, loc="outside lower center", ncols=_columns(texts))
        elif not one:
            legend(ax, loc="upper right", **FRAMED)
    return picture


def _columns(texts: Sequence[str]) -> int:
    """The number of columns of a legend as wide as the figure; a character takes about 0.085 inches, a mark with its gaps 0.6."""
    return max(1, min(len(texts), 5, int(_WIDE / (0.6 + 0.085 * max(map(len, texts))))))


def _residuals(ax: Any, marks: Mapping[str, tuple[float, float]], floor: float, colour: str, small: bool) -> None:
    """Draw a line and a mark for each residual, by name with its height; without a colour, that of the kind of the residual."""
    for name, (row, size) in marks.items():
        known = np.isfinite(size)
        own = ALERT if not known else colour or (COLOURS[1] if name == "balance" else COLOURS[0])
        shown = size if known else 1.0
        if shown > floor:
            ax.hlines(row, floor, shown, color=own, linewidth=0.8 if small else 1.2)
        inside = own if shown > floor else "none"
        ax.plot([max(shown, floor)], [row], "o", color=own, markersize=3.5 if small else 6, markerfacecolor=inside, label=f"_{name}")
        if not small:
            note = f"{size:.1e}" if size > 0 or not known else "0"
            place = {"xytext": (7, 0), "textcoords": "offset points"}
            ax.annotate(note, (max(shown, floor), row), va="center", fontsize=8.5, color=SOFT, **place)


def _apart(count: int) -> float:
    """The distance between the marks of several motions in the row of one constraint, where rows have the distance one."""
    return min(_BESIDE, 0.8 / count) if count > 1 else 0.0


def _fitting(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
