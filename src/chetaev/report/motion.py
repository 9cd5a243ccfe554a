"""The motion in a report: data and outcome, pictures, animation, accuracy, and a fit."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from chetaev.core.certificate import allowed_residual
from chetaev.core.display.html import counted, number, set_formula, set_name, set_symbol, size
from chetaev.core.support.budget import size as nodes_of
from chetaev.numerics.comparison.compare import same_motions
from chetaev.numerics.motion.run_settings import plain
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.numerics.motion.verification.labels import Label
from chetaev.plot.accuracy import balance, drift
from chetaev.plot.animation import animate
from chetaev.plot.comparison import compare
from chetaev.plot.over_time import series
from chetaev.plot.plane import path, phase, places
from chetaev.report.html_text import sentence, set_unit, table
from chetaev.report.page import drawn
from chetaev.report.prose import line
from chetaev.report.sections import labelled, names_of
from chetaev.report.subject import Subject

if TYPE_CHECKING:
    from chetaev.numerics.identification.result import Fit

_MOST_EVENTS = 12
"""Largest number of events and switches in the table; the number of further ones is stated."""
_LARGEST_COMPARED = 20_000
"""Largest size of equations, in nodes, that are compared under two principles, which takes a second
or two; the report states a larger one."""
_SWINGS = 1e-9
"""Smallest range of a coordinate that swings, in its unit; smaller ones are round-off of a coordinate at rest."""


def motion(subject: Subject, animation: bool, sliders: Mapping[str, Any] | None = None) -> str:
    """Return data, outcome and pictures, or the reason why there is no motion."""
    found = subject.motion
    if found is None:
        return _none(subject)
    html = _outcome(found) + _states(subject, found)
    if len(found.t) < 2:
        return html + "<p>One state was stored, so there are no pictures over time.</p>" + _events(found)
    if animation:
        html += f'<div class="animation">{animate(found, subject.model.scene, sliders=sliders).html()}</div>'
    what = "Coordinates and multipliers" if found.equations.multipliers else "Coordinates"
    html += drawn(series(found), "series", f"{what} over time.")
    pictures = []
    pair = places(found.equations.system)
    if pair:
        pictures.append(drawn(path(found), "path", "The path, with equal scales on both axes."))
    swinging = _swinging(found)
    if swinging:
        pictures.append(drawn(phase(found, swinging), "phase", "Phase portrait."))
    return html + _side_by_side(pictures) + _events(found)


def accuracy(subject: Subject) -> str:
    """Return the balance, the drift, the certificate of `verify`, and the invariants."""
    found = subject.motion
    if found is None:
        return ""
    pictures = [drawn(drift(found), "drift", "The largest residual of every constraint and of the balance, over all steps.")]
    if not subject.equations.system.equations and len(found.t) > 1:  # a dynamical form has no energy
        pictures.insert(0, drawn(balance(found), "balance", "The energy with the work done, and the error of their balance."))
    html = _side_by_side(pictures)
    html += _invariants(subject, found)
    return html + (_verification(found) if found.reader.dense else _own_checks(found))


def _own_checks(found: Trajectory) -> str:
    """Return the checks that `simulate` made, for a motion stored without dense output, which `verify` cannot evaluate between times."""
    rows = [(figure.kind, size(figure.size), size(figure.allowed), escape(figure.where)) for figure in found.certificate.figures]
    words = "are within their limits" if found.certificate.ok else "are <strong>not</strong> all within their limits"
    return (
        "<h3>Verification</h3><p>States were stored at single times, so the motion cannot be inserted into its rows. The checks made "
        f"during the computation {words}.</p>" + table(("check", "largest", "allowed", "where"), rows, "numbers from2")
    )


def _verification(found: Trajectory) -> str:
    """Return the certificate of `verify`."""
    certificate = found.verify()
    rows = [
        (
            _checked(label),
            label.check.value,
            size(r.largest),
            size(r.rms),
            number(r.t, 4),
            number(r.scale, 3),
        )
        for label, r in certificate.items()
    ]
    html = (
        f"<h3>Verification</h3><p>The motion inserted into the rows it was derived from, at {certificate.points} times; the check uses "
        "none of the differentiated and solved equations that computed the motion. Residuals are relative to the terms of each row. "
        f"The worst is {size(certificate.worst)}, of <code>{escape(certificate.worst_row)}</code>.</p>"
        + _verdict(certificate.worst, found.tolerance)
    )
    return html + table(("row", "what is checked", "largest", "rms", "at t", "size of terms"), rows, "numbers from2")


def _verdict(worst: float, tolerance: float) -> str:
    """Return the verdict on the largest residual, with its limit and the reason why this is above the tolerance."""
    most = allowed_residual(tolerance)
    why = (
        f"The limit is {size(most)} for a tolerance of {size(tolerance)}: rows contain derivatives, and the derivative of a computed curve "
        "is less exact than the curve itself, by one to two and a half orders of magnitude."
    )
    if worst <= most:
        return f'<p><span class="badge good">certified</span> All rows are within their limit. {why}</p>'
    help_ = "A smaller tolerance or another method may help."
    return f'<p><span class="badge bad">NOT certified</span> A row is beyond its limit. {why} {help_}</p>'


def others(subject: Subject) -> str:
    """Return the comparison with the other principles of the model; empty if there are none."""
    if subject.motion is None or not (subject.others or subject.refused):
        return ""
    own = str(subject.equations.principle)
    motions = {own: subject.motion, **subject.others}
    facts = []
    for name, other in subject.others.items():
        same, reason = None, "the equations are too long for a report to compare them"
        if sum(nodes_of(row.residual) for each in (subject.equations, other.equations) for row in each.rows) <= _LARGEST_COMPARED:
            same, reason = same_motions(subject.equations, other.equations)
        words = {True: "agree with", False: "differ from", None: "may agree with or differ from"}[same]
        facts.append(f"Motions under <code>{escape(name)}</code> {words} those under <code>{escape(own)}</code>: {escape(reason)}.")
        if other.outcome is not Outcome.FINISHED:
            facts.append(f"The motion under <code>{escape(name)}</code> ended at t = {number(other.end[0])}: {sentence(other.message)}")
    facts += [f"Under <code>{escape(name)}</code> there is no motion: {sentence(fault.what)}" for name, fault in subject.refused.items()]
    html = f"<ul>{''.join(f'<li>{fact}</li>' for fact in facts)}</ul>"
    if not subject.others:
        return html
    html += drawn(compare(motions), "compare", "The same initial data under several principles.")
    if places(subject.equations.system):
        html += _side_by_side([drawn(path(motions), "paths", "The paths, with equal scales on both axes.")])
    return html


def _none(subject: Subject) -> str:
    if subject.refusal is None:
        return "<p>No initial data are given, so nothing was simulated.</p>"
    fault = subject.refusal
    names = names_of(subject.equations.system)
    reason = " ".join(line(part, names) for part in (fault.what, fault.why) if part)
    hint = f'<p class="hint">→ <code>{escape(fault.hint)}</code></p>' if fault.hint else ""
    verdict = f"The verdict is {subject.analysis.verdict}: {escape(subject.analysis.verdict.sentence)}."
    return f'<div class="callout"><p><strong>No motion was computed.</strong> {verdict}</p><p>{reason}</p>{hint}</div>'


def _outcome(found: Trajectory) -> str:
    kind = "good" if found.outcome.reached_end else "bad"
    steps = found.counts["accepted"]
    run = f"From t = {number(found.t[0])} to t = {number(found.end[0])} in {counted(steps, 'step')}"
    run += f", tolerance {size(found.tolerance)}"
    run += f", method {escape(str(found.method))}" if found.method is not None else ""
    run += "".join(f", {escape(words)}" for words in _settings(found)) + "."
    badge = f'<span class="badge {kind}">{escape(found.outcome.value.replace("_", " "))}</span>'
    return f"<p>{badge} {sentence(found.message)} {run}</p>"


def _settings(found: Trajectory) -> list[str]:
    """Return the settings of the run besides the tolerance and the method, as text."""
    asked = {} if found.asked is None else plain(found.asked.settings)
    absolute = asked.pop("tolerance", None)
    words = [f"absolute tolerance {absolute[1]:g}"] if isinstance(absolute, list) else []
    words += [f"{name} {', '.join(f'{k} = {v}' for k, v in value.items())}" for name, value in asked.items() if isinstance(value, dict)]
    words += [f"event {event['expression']} = 0" for event in asked.pop("events", ())]
    words += [f"{name} by {', '.join(value)}" for name, value in asked.items() if isinstance(value, list)]
    return words + [f"{name.replace('_', ' ')} {value}" for name, value in asked.items() if not isinstance(value, dict | list)]


def _states(subject: Subject, found: Trajectory) -> str:
    """Return a table of first, last, least and greatest values of the state and the multipliers."""
    given = set(subject.model.start.fixed)
    rows: list[tuple[str, ...]] = []
    for k, z in enumerate(found.jets):
        low, high = found.extrema.get(z.name, (np.nan, np.nan))
        mark = "" if z.name in given or not given else ' <span class="soft">(found)</span>'
        rows.append(
            (
                set_symbol(z.name) + set_unit(found.equations, z.name),
                number(found.states[0, k]) + mark,
                number(found.final[z.name], 8),
                number(low),
                number(high),
            )
        )
    for m in found.equations.multipliers:
        if m not in found.jets:
            values = np.asarray(found[m.name], dtype=float)
            rows.append(
                (
                    set_symbol(m.name) + set_unit(found.equations, m.name),
                    *(number(v) for v in (values[0], values[-1], values.min(), values.max())),
                )
            )
    return table(("", "start", "end", "least", "greatest"), rows, "numbers from1")


def _swinging(found: Trajectory) -> str | None:
    """Return the coordinate whose velocity changes sign most often, at least twice, for a phase portrait; None if there is none."""
    best, most = None, 1
    for q in found.equations.system.coordinates:
        if q not in found.jets or q.d() not in found.jets:
            continue
        velocity = np.asarray(found[q.d().name], dtype=float)
        changes = int(np.sum(velocity[1:] * velocity[:-1] < 0))
        if changes > most and np.ptp(found[q.name]) > _SWINGS:
            best, most = q.name, changes
    return best


def _events(found: Trajectory) -> str:
    rows = [(f"<code>{escape(e.text)} = 0</code>", "event", number(e.t, 8)) for e in found.events]
    ways = {1: "becomes positive", -1: "becomes negative", 0: "stays zero"}
    rows += [(f"<code>{escape(s.text)} = 0</code>", ways[s.after], number(s.t, 8)) for s in found.switches]
    if not rows:
        return ""
    more = f"<p>and {len(rows) - _MOST_EVENTS} more</p>" if len(rows) > _MOST_EVENTS else ""
    return "<h3>Events and switches</h3>" + table(("", "", "t"), rows[:_MOST_EVENTS], "numbers from2") + more


def _invariants(subject: Subject, found: Trajectory) -> str:
    rows = []
    for name, text in subject.model.invariants.items():
        values = np.asarray(found[text], dtype=float)
        formula = set_formula(text) if len(text) <= 400 else ""
        rows.append((f"{escape(name)} {formula}", number(values[0], 8), size(np.abs(values - values[0]).max())))
    if not rows:
        return ""
    return "<h3>Constants of the motion</h3>" + table(("", "value", "largest change"), rows, "numbers from1")


def _checked(label: Label) -> str:
    """Return the label of a residual with its name typeset."""
    if label.origin is not None:
        return labelled(label.origin)
    return f"{escape(label.removesuffix(label.name))}{set_symbol(label.name)}" if label.name else escape(label)


def _side_by_side(pictures: list[Any]) -> str:
    return f'<div class="pictures">{"".join(pictures)}</div>' if pictures else ""


def fit_section(found: Fit) -> str:
    """Return the values of a fit, the sum of squares, combinations that the data do not determine, and a picture of data and residuals."""
    from chetaev.plot.fitted import residuals

    rows = []
    for name, v in found.values.items():
        low, high = found.interval(name)
        rows.append((set_name(name), number(v, 8), number(found.errors[name], 2), f"{number(low)} to {number(high)}"))
    said = "".join(f"<li>{escape(fact)}</li>" for fact in found.facts)
    count = sum(one.size for one in found.experiments)
    html = f"<p>Unknown values by least squares from {count} measured values. The model of this page has the values found.</p>"
    html += table(("", "value", "standard error", "95 %"), rows, "numbers") + f"<ul>{said}</ul>"
    return html + drawn(residuals(found), "residuals", "Data with the fitted motion, and motion minus data.")
