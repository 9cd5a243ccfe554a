"""A quantity over time as a small picture, drawn without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite

_PIXELS_WIDE, _PIXELS_TALL, _PIXELS_OF_MARGIN = 180, 40, 3
"""Pixels: the width and height of a picture, and the margin that keeps the line from being cut at its edges."""
_MOST_POINTS = 240
"""Points of a curve that are drawn; more than one per pixel could not be seen."""
_COLOURS = ("#0b6bb8", "#d1501c", "#00876c", "#a8478f", "#c98a00")
_FLAT_VARIATION = 1e-9
"""Relative. A quantity that varies less than this is drawn as a straight line, so that round-off does not look like motion."""


def curve(t: Sequence[float], *lines: Sequence[float], label: str = "") -> str:
    """Return curves over common times as an SVG element, all on one scale; gaps where values are not finite.

    Args:
        t: The times.
        lines: The values of each curve at these times.
        label: A text for screen readers.

    Returns:
        The element.

    >>> curve([0, 1], [0, 2])[:20]
    '<svg width="180" hei'
    """
    kept = _thinned(len(t))
    finite = [float(values[k]) for values in lines for k in kept if isfinite(values[k])]
    times = [float(t[k]) for k in kept]
    if not finite or len(times) < 2:
        return ""
    low, high = min(finite), max(finite)
    if high - low <= _FLAT_VARIATION * max(abs(low), abs(high)):
        low, high = low - 1.0, high + 1.0
    start, span = times[0], (times[-1] - times[0]) or 1.0
    drawn = []
    for number, values in enumerate(lines):
        points: list[list[str]] = [[]]
        for moment, k in zip(times, kept, strict=True):
            v = float(values[k])
            if isfinite(v):
                x = _PIXELS_OF_MARGIN + (moment - start) / span * (_PIXELS_WIDE - 2 * _PIXELS_OF_MARGIN)
                y = _PIXELS_TALL - _PIXELS_OF_MARGIN - (v / 2 - low / 2) / (high / 2 - low / 2) * (_PIXELS_TALL - 2 * _PIXELS_OF_MARGIN)
                points[-1].append(f"{x:.1f},{y:.1f}")
            elif points[-1]:
                points.append([])
        colour = _COLOURS[number % len(_COLOURS)]
        drawn += [f'<polyline fill="none" stroke="{colour}" stroke-width="1.3" points="{" ".join(part)}"/>' for part in points if part]
    about = f' role="img" aria-label="{escape(label)}"' if label else ' aria-hidden="true"'
    return f'<svg width="{_PIXELS_WIDE}" height="{_PIXELS_TALL}" viewBox="0 0 {_PIXELS_WIDE} {_PIXELS_TALL}"{about}>{"".join(drawn)}</svg>'


def _thinned(count: int) -> list[int]:
    """Return at most `_MOST_POINTS` indices, the last one among them."""
    if count <= _MOST_POINTS:
        return list(range(count))
    return [round(k * (count - 1) / (_MOST_POINTS - 1)) for k in range(_MOST_POINTS)]
