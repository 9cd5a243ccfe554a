"""The accuracy of a motion: the balance of energy, and the drift of every constraint."""

from __future__ import annotations

from typing import Any

import numpy as np

from chetaev.core.errors import UsageError, with_article
from chetaev.core.fixes import Ask
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.plot.curves import broken, by_label, smooth
from chetaev.plot.over_time import heading, mark, widen_if_constant
from chetaev.plot.style import (
    ALERT,
    COLOURS,
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
    styled,
    unit_font,
)

_LONGEST_NAME = 26
"""Largest number of characters of a constraint's name beside its mark; longer names are cut, so that the axes keep their width."""
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
        for panel in (upper, lower):
            for each in motions.values():
                mark(panel, each)
            panel.margins(x=0.01)
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
def drift(motion: Trajectory, *, ax: Any = None) -> Picture:
    """Draw the largest residual of every constraint, hidden ones included, and of the balance of energy, over all accepted steps.

    The axis is logarithmic; an open mark at its left end stands for a residual of exactly zero.

    Args:
        motion: A motion.
        ax: Axes to draw into; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If `motion` is not a single motion: the constraints of several have different names.

    >>> from chetaev import gallery, simulate
    >>> picture = drift(simulate(gallery("disk")))
    >>> picture.axes[0].get_xlabel(), picture.axes[0].get_xscale()
    ('largest residual', 'log')
    """
    if not isinstance(motion, Trajectory):
        what = f"drift draws a single motion, not {with_article(type(motion).__name__)}."
        raise UsageError(what, where="drift", hint=(Ask("ch.plot.drift", "motion, ax=axes"), " for each"))
    names, sizes = list(motion.drift), [float(v) for v in motion.drift.values()]
    picture = figure(5.6, 1.3 + 0.27 * max(len(names), 2), heading(motion)) if ax is None else given_axes(ax, 1, "drift")[0].figure
    with styled():
        ax = picture.add_subplot() if ax is None else given_axes(ax, 1, "drift")[0]
        floor = log_floor([*sizes, motion.tolerance])
        rows = np.arange(len(names))[::-1]
        for row, name, size in zip(rows, names, sizes, strict=True):
            colour = ALERT if not np.isfinite(size) else COLOURS[1] if name == "balance" else COLOURS[0]
            shown = size if np.isfinite(size) else 1.0
            if shown > floor:
                ax.hlines(row, floor, shown, color=colour, linewidth=1.2)
            ax.plot(
                [max(shown, floor)],
                [row],
                "o",
                color=colour,
                markersize=6,
                markerfacecolor=colour if shown > floor else "none",
                label=f"_{name}",
            )
            note = f"{size:.1e}" if size > 0 or not np.isfinite(size) else "0"
            ax.annotate(note, (max(shown, floor), row), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8.5, color=SOFT)
        ax.set_xscale("log")
        logarithmic_limits(ax.xaxis, [*sizes, motion.tolerance])
        ax.set_xlim(right=ax.get_xlim()[1] * 10)  # for the numbers beside the marks
        if np.isfinite(motion.tolerance):
            ax.axvline(motion.tolerance, color=SOFT, linestyle="--", linewidth=0.9)
            ax.annotate(
                "tolerance",
                (motion.tolerance, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(3, 2),
                textcoords="offset points",
                fontsize=8.5,
                color=SOFT,
            )
        ax.set_yticks(rows, [_fitting(name) for name in names])
        ax.set_ylim(-0.7, max(len(names) - 0.3, 0.7))
        ax.grid(axis="y", visible=False)
        ax.set_xlabel("largest residual", fontsize=_WORD_SIZE)
        if not names:
            ax.text(0.5, 0.5, "neither constraints nor an energy", transform=ax.transAxes, ha="center", va="center", color=INK)
    return picture


def _fitting(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
