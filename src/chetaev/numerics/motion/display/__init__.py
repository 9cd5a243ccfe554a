"""A motion as notebooks show it: outcome, accuracy, and a table of its quantities with a small curve of each."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from chetaev.core.display.curve import curve
from chetaev.core.display.html import badge, card, columns, counted, facts, number, set_symbol, size
from chetaev.core.units.unit import typeset
from chetaev.mechanics.quantities import unit_of

if TYPE_CHECKING:
    from chetaev.numerics.motion.trajectory import Trajectory

_MOST_QUANTITIES = 24
"""Quantities in the table; more would fill more than a screen, and the number of further ones is given."""
_POINTS_OF_CURVE = 120
"""Times at which a curve is drawn, evenly spaced: enough for its small width."""
_MOST_LINES = 8
"""Rows, events and switches in the list, of each."""


def motion_html(motion: Trajectory) -> str:
    """Return the display of a motion."""
    from chetaev.numerics.motion.trajectory import largest_residuals

    title = f"{motion.equations.system.name or 'system'} · {motion.equations.principle}"
    kind = "good" if motion.outcome.reached_end else "bad"
    run = f"t = {number(motion.t[0])} to {number(motion.end[0])} in {counted(motion.counts['accepted'], 'step')}"
    run += f", {counted(len(motion.t), 'point')} stored"
    head = f"<p>{badge(motion.outcome.value.replace('_', ' '), kind)} {escape(motion.message)} {run}.</p>"
    residuals, others, largest = largest_residuals(motion.drift, _MOST_LINES)
    checks = [f"{escape(name)}: at most {size(motion.drift[name])}" for name in residuals]
    checks += [f"and {others} more rows: at most {size(largest)}"] if others else []
    if motion.certificate.figures:
        checks.append(f"certificate: {'ok' if motion.certificate.ok else escape(motion.certificate.sentence)}")
    met = [f"event {escape(e.text)} = 0 at t = {number(e.t, 8)}" for e in motion.events[:_MOST_LINES]]
    met += [f"{escape(s.text)} = 0 at t = {number(s.t, 8)}" for s in motion.switches[:_MOST_LINES]]
    left = sum(max(0, len(listed) - _MOST_LINES) for listed in (motion.events, motion.switches))
    met += [f"and {left} more events and switches"] if left else []
    return card(title, head, _table(motion), facts([*checks, *met]))


def _table(motion: Trajectory) -> str:
    names = [z.name for z in motion.jets] + [m.name for m in motion.equations.multipliers if m not in motion.jets]
    dense = motion.reader.dense and len(motion.t) > 1
    shown = motion.at(np.linspace(motion.t[0], motion.end[0], _POINTS_OF_CURVE)) if dense else motion
    lines = []
    for name in names[:_MOST_QUANTITIES]:
        unit = unit_of(motion.equations, name)
        picture = curve(shown.t.tolist(), np.asarray(shown[name], dtype=float).tolist(), label=f"{name} over time")
        ends = number(np.asarray(motion[name], dtype=float)[0]), number(motion.final[name])
        lines.append((set_symbol(name), escape(typeset(unit)), picture, *ends))
    more = f"<p>and {len(names) - _MOST_QUANTITIES} more quantities</p>" if len(names) > _MOST_QUANTITIES else ""
    return columns(("", "", "", "start", "end"), lines, numbers_from=3) + more
