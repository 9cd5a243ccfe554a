"""Time series: quantities over time, with marks at events, at switches and at an early end of the motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython
from chetaev.core.notation.formula import estimated_width
from chetaev.core.support.lazy import made_by
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.mechanics.quantities import unit_of
from chetaev.numerics.motion.trajectory import Outcome, Section, Trajectory
from chetaev.plot.curves import broken, by_label, smooth, usual
from chetaev.plot.style import (
    ALERT,
    COLOURS,
    DASHES,
    SOFT,
    Picture,
    in_unit,
    is_angle,
    label,
    legend,
    panels,
    styled,
    time_axis,
    title_of,
    turn_ticks,
    unit_font,
    wrapped,
)

_MOST_MARKS = 60
"""Largest number of vertical lines in a panel; more would hide the curves."""
_MOST_KINDS = 3
"""Largest number of events and switches named in the title; more would make it wider than the figure."""
_WORDS = {
    Outcome.EVENT: "ended by an event",
    Outcome.LEFT_DOMAIN: "left the domain",
    Outcome.STEP_TOO_SMALL: "step too small",
    Outcome.DRIFT_EXCEEDED: "drift exceeded",
    Outcome.NOT_CERTIFIED: "not certified",
    Outcome.INTERRUPTED: "interrupted",
}
_CONSTANT = 1e-6
"""Relative: a curve that varies by less is drawn as constant, with room above and below; otherwise the axis would show round-off."""
_ZERO = 1e-12
"""Absolute size below which a curve is drawn as zero, in any unit."""


@public
def series(
    motion: Any, names: Sequence[str | Sequence[str]] | str | None = None, *, wrap: bool = False, columns: int | None = None, ax: Any = None
) -> Picture:
    """Draw quantities over time, one panel for each; names in an inner list share a panel.

    Events and switches are vertical lines; an early end of the motion is marked. Several motions are drawn in the same panels, each in its
    own colour; quantities of one panel have different dashes.

    Args:
        motion: A motion; or several, by their labels, as a list or a comparison; or an ensemble that keeps states, whose members are drawn
            as thin curves.
        names: Names of `motion[...]`: jets, multipliers and any expression in them. By default every coordinate has a panel (that of a
            group coordinate shows the components of its velocity) and the multipliers share one.
        wrap: Whether coordinates that are angles are brought into (-pi, pi].
        columns: The number of columns of panels; by default one, or two for more than three panels.
        ax: Axes to draw into, one for each panel; by default those of a new figure.

    Returns:
        The figure.

    Raises:
        UsageError: If there is nothing to draw.

    >>> from chetaev import gallery, simulate
    >>> picture = series(simulate(gallery("disk")), ["x", ["theta'", "varphi'"]])
    >>> [axes.get_ylabel() for axes in picture.axes]
    ['$x$', '']
    """
    if ax is None and made_by(motion, "chetaev.numerics.ensemble.result", "Ensemble"):
        from chetaev.plot.ensembles import curves as thin_curves

        listed = [names] if isinstance(names, str) else names
        flat = None if listed is None else [name for group in listed for name in ([group] if isinstance(group, str) else group)]
        return thin_curves(motion, flat, columns)
    motions = by_label(motion, "series")
    first = next(iter(motions.values()))
    groups = groups_of(first, names)
    columns = columns or (1 if len(groups) <= 3 else 2)
    title = heading(first) if len(motions) == 1 else in_mathtext(first.equations.system.name or "system")
    picture, axes = panels(ax, len(groups), columns, title, "series")
    curves = {label: smooth(one) for label, one in motions.items()}
    with styled():
        for panel, group in zip(axes, groups, strict=True):
            if len(motions) == 1:
                for j, name in enumerate(group):
                    draw(panel, curves[next(iter(motions))], name, COLOURS[j % len(COLOURS)], wrap=wrap)
            else:
                _overlay(panel, curves, group, wrap)
            finish(panel, first, group)
            for one in motions.values():
                mark(panel, one)
        if len(motions) > 1 and ax is None:
            handles, texts = axes[0].get_legend_handles_labels()
            picture.legend(handles, texts, loc="outside lower center", ncols=min(len(texts), 5))
        elif len(motions) > 1:
            legend(axes[0], loc="best")
        time_axis(axes, columns, first.equations)
    return picture


def _overlay(ax: Any, curves: Mapping[str, Section], group: Sequence[str], wrap: bool) -> None:
    """Draw several motions into one panel: colours distinguish the motions, dashes the quantities."""
    for k, (text, curve) in enumerate(curves.items()):
        for j, name in enumerate(group):
            quantity = "" if len(group) == 1 else f", {label(curve.motion.equations, name)}"
            shown = f"{in_mathtext(text)}{quantity}"
            draw(ax, curve, name, COLOURS[k % len(COLOURS)], wrap=wrap, text=shown, linestyle=DASHES[j % len(DASHES)])


def heading(motion: Trajectory) -> str:
    """Return the title of a figure about one motion: the system, and below it the events, switches and the early end."""
    return "\n".join([title_of(motion), *happened(motion)])


def groups_of(motion: Trajectory, names: Sequence[str | Sequence[str]] | str | None) -> list[list[str]]:
    """Return the names of each panel."""
    if names is None:
        multipliers = [m.name for m in motion.equations.multipliers]
        return usual(motion.equations.system) + ([multipliers] if multipliers else [])
    listed = [names] if isinstance(names, str) else list(names)
    groups = [[g] if isinstance(g, str) else list(g) for g in listed]
    if not groups or not all(groups) or not all(isinstance(name, str) for g in groups for name in g):
        where = f"plot {motion.equations.system.label}"
        raise UsageError("nothing to draw.", where=where, hint=("names of the motion, such as ", InPython('["x", "x\'"]')))
    return groups


def draw(ax: Any, curve: Section, name: str, colour: str, *, wrap: bool = False, text: str | None = None, **options: Any) -> None:
    """Draw one curve over time."""
    values = np.asarray(curve[name], dtype=float)
    equations = curve.motion.equations
    turning = []
    if wrap and is_angle(equations.system, name):
        values = wrapped(values)
        turning = [values]
    t, v = broken(curve.t, values, turning=turning)
    ax.plot(t, v, color=colour, label=in_unit(equations, name, label(equations, name)) if text is None else text, **options)


def finish(ax: Any, motion: Trajectory, group: Sequence[str]) -> None:
    """Set the names, ticks and limits of a panel."""
    system = motion.equations.system
    if len(group) == 1:
        text = label(motion.equations, group[0])
        upright = estimated_width(text) <= 4 and len(unit_of(motion.equations, group[0])) <= 4
        place: dict[str, Any] = {"rotation": 0, "ha": "right", "va": "center"} if upright else {}
        ax.set_ylabel(in_unit(motion.equations, group[0], text, "\n" if upright else " "), **place, **unit_font(motion.equations))
    else:
        legend(ax, loc="lower right", bbox_to_anchor=(1.0, 0.96), ncols=8, borderaxespad=0.0, columnspacing=1.2, handlelength=1.3)
    widen_if_constant(ax)
    if all(is_angle(system, name) for name in group):
        turn_ticks(ax.yaxis, *ax.get_ylim())


def widen_if_constant(ax: Any) -> None:
    """Widen the limits for a quantity that hardly changes, so that round-off does not look like motion."""
    drawn = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
    finite = [values[np.isfinite(values)] for values in drawn if np.isfinite(values).any()]
    if not finite:
        return
    low, high = min(float(values.min()) for values in finite), max(float(values.max()) for values in finite)
    size = max(abs(low), abs(high))
    if high - low <= _CONSTANT * size or size < _ZERO:
        room = 0.5 * size if size > _ZERO else 1.0
        ax.set_ylim((low + high) / 2 - room, (low + high) / 2 + room)


def mark(ax: Any, motion: Trajectory) -> None:
    """Draw vertical lines at events (dashed), switches (dotted), and at an early end."""
    met = [(e.t, "--") for e in motion.events] + [(s.t, ":") for s in motion.switches]
    for t, dashes in met[:_MOST_MARKS]:
        ax.axvline(t, color=SOFT, linestyle=dashes, linewidth=0.9, zorder=1)
    if not motion.outcome.reached_end:
        ax.axvline(motion.end[0], color=ALERT, linewidth=1.2, zorder=1)


def happened(motion: Trajectory) -> list[str]:
    """Return the lines of a title about events, switches and an early end; at most `_MOST_KINDS` events are named."""
    met = [(e.t, e.text) for e in motion.events] + [(s.t, s.text) for s in motion.switches]
    words = []
    kinds = list(dict.fromkeys(text for _, text in met))
    for text in kinds[:_MOST_KINDS]:
        times = [t for t, other in met if other == text]
        often = f"at t = {times[0]:.4g}" if len(times) == 1 else f"({len(times)} times)"
        words.append(f"{label(motion.equations, f'{text} = 0')} {often}")
    if len(kinds) > _MOST_KINDS:
        words.append(f"and {len(kinds) - _MOST_KINDS} more")
    if motion.outcome is not Outcome.FINISHED:
        words.append(f"{_WORDS[motion.outcome]} at t = {motion.end[0]:.4g}")
    return [",  ".join(words)] if words else []
