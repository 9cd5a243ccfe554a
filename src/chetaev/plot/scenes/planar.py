"""Shapes in the plane as strokes; and quantities without a position, as markers on axes and hands on dials, laid out in rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from chetaev.core.scene import Dial, Shape, Slider
from chetaev.core.scene import shapes as sh
from chetaev.core.scene.fields import DARK, GREY, ORANGE, WHITE
from chetaev.plot.scenes.drawing import Array, Dot, Item, Piece, Source, Stroke, Track, Words, mixed, nice_step
from chetaev.plot.scenes.text import number, pretty
from chetaev.plot.scenes.values import Values

ROUND = 64
"""Number of corners of the polygon that approximates a circle; with fewer, large wheels look angular."""
_CONSTANT = 1e-9
"""Relative: a quantity that varies by less has an axis of one unit to both sides."""
_AT_A_TICK = 1e-9
"""In distances of ticks: an end of the axis this near to a tick lies at the tick."""


def planar(shape: sh.Shape, values: Values, path: Values, unit: float) -> list[Item]:
    """Return the parts of a shape in the plane; `path` has the values at the finer times of traces, `unit` is the size of small shapes."""
    match shape:
        case sh.Trace():
            return [track(shape, values, path, 2)]
        case sh.Point():
            return [_point(shape, values, unit), *_words(shape.label, shape.at, shape.colour, values)]
        case sh.Pivot():
            return [Dot(values.place(shape.at, 2), 4.5, WHITE, shape.colour, Source(shape.at))]
        case sh.Label():
            return _words(shape.text, shape.at, shape.colour, values)
        case sh.Rod():
            line = Stroke(_line((0, 0), (1, 0), stretch=True), edge=shape.colour, width=1.2 if shape.thread else 4.5, closed=False)
            return [_between(shape, (line,), values)]
        case sh.Spring():
            return [_between(shape, (_coil(shape, values, unit),), values)]
        case sh.Arrow():
            arrow = _between(shape, tuple(_arrow(shape.colour, 0.55 * unit)), values)
            return [arrow, *_words(shape.label, shape.end, shape.colour, values)]
        case sh.Circle():
            r = size(shape.radius, values, 3 * unit)
            return [_rigid(shape.at, 0, (Stroke(_ellipse(r, r), edge=shape.colour, width=1.2),), values)]
        case _:
            return [_rigid(shape.places[0], getattr(shape, "angle", 0), tuple(_strokes(shape, values, unit)), values)]


def track(shape: sh.Trace, values: Values, path: Values, dimension: int) -> Track:
    """A trace, at the finer times."""
    finer = (len(path.times) - 1) // max(1, len(values.times) - 1)
    step = abs(values.times[-1] - values.times[0]) / max(1, len(values.times) - 1)
    steps = 0 if shape.seconds is None else max(1, round(shape.seconds / step)) if step > 0 else 0
    return Track(path.place(shape.at, dimension), shape.colour, finer, steps, source=Source(shape.at))


def size(given: sh.Size, values: Values, otherwise: float) -> float:
    """A size in the units of the picture."""
    return otherwise if given is None else values.constant(given)


def _strokes(shape: sh.Shape, values: Values, unit: float) -> Iterable[Stroke]:
    """The strokes of a rigid shape in its body axes."""
    match shape:
        case sh.Wheel():
            r = size(shape.radius, values, 1.5 * unit)
            yield Stroke(_ellipse(r, r), fill=mixed(shape.colour, WHITE, 0.92), edge=shape.colour, width=4)
            for k in range(shape.spokes):
                a = 2 * np.pi * k / shape.spokes
                edge, width = (ORANGE, 3.0) if k == 0 else (GREY, 1.2)
                yield Stroke(_line((0, 0), (0.97 * r * np.cos(a), 0.97 * r * np.sin(a))), edge=edge, width=width, closed=False)
            yield Stroke(_ellipse(0.12 * r, 0.12 * r), fill=shape.colour)
        case sh.Disk() | sh.Ball():
            r = size(shape.radius, values, 1.5 * unit)
            yield Stroke(_ellipse(r, r), fill=mixed(shape.colour, WHITE, 0.75), edge=shape.colour, width=2)
            for k in (0, 2):
                yield Stroke(_sector(r, k * np.pi / 2, (k + 1) * np.pi / 2), fill=mixed(shape.colour, WHITE, 0.35))
            yield Stroke(_ellipse(0.07 * r, 0.07 * r), fill=shape.colour)
        case sh.Blade():
            half = size(shape.length, values, 2.4 * unit) / 2
            yield Stroke(_lens(half, 0.14 * half), fill=shape.colour, edge=shape.colour, width=1)
            yield Stroke(_ellipse(0.1 * half, 0.1 * half), fill=ORANGE, edge=WHITE, width=1)
        case sh.Tyre():
            half = size(shape.length, values, 1.6 * unit) / 2
            yield Stroke(_rounded(half, 0.36 * half), fill=shape.colour, edge=shape.colour, width=1)
        case sh.Patch():
            half = size(shape.length, values, 1.6 * unit) / 2
            yield Stroke(_ellipse(half, 0.5 * half), fill=mixed(shape.colour, WHITE, 0.4), edge=shape.colour, width=1)
        case sh.Ellipsoid():
            a, b = values.corner(shape.semiaxes[:2], 2)
            yield Stroke(_ellipse(a, b), fill=mixed(shape.colour, WHITE, 0.65), edge=shape.colour, width=2)
        case sh.Body():
            factor = size(None if shape.fit else shape.scale, values, unit)
            corners = factor * np.array([values.corner(c, 2) for c in shape.outline or _SQUARE])
            yield Stroke(_own(corners), fill=mixed(shape.colour, WHITE, 0.65), edge=shape.colour, width=2)
        case sh.Frame():
            for start, end in shape.rods:
                yield Stroke(_line(values.corner(start, 2), values.corner(end, 2)), edge=shape.colour, width=4, closed=False)
        case _:
            raise TypeError(f"no strokes for {shape!r}")


_SQUARE = (("-1", "-1"), ("1", "-1"), ("1", "1"), ("-1", "1"))


def _point(shape: sh.Point, values: Values, unit: float) -> Item:
    if shape.radius is None:
        return Dot(values.place(shape.at, 2), 7.0, shape.colour, WHITE, Source(shape.at))
    r = size(shape.radius, values, unit)
    return _rigid(shape.at, 0, (Stroke(_ellipse(r, r), fill=shape.colour, edge=mixed(shape.colour, DARK, 0.5), width=1),), values)


def _words(text: str, at: Any, colour: str, values: Values) -> list[Item]:
    return [Words(values.place(at, 2), pretty(text), colour, source=Source(at))] if text else []


def _rigid(at: Any, angle: str | float, strokes: tuple[Stroke, ...], values: Values) -> Piece:
    turned = np.unwrap(values.of(angle), discont=1.5 * np.pi)
    return Piece(strokes, values.place(at, 2), turned, np.zeros(len(values.times)), Source(at, angle=angle))


def _between(shape: sh.Rod | sh.Spring | sh.Arrow, strokes: tuple[Stroke, ...], values: Values) -> Piece:
    """Strokes along the line from the start of a shape to its end."""
    a, b = values.place(shape.start, 2), values.place(shape.end, 2)
    way = b - a
    turned = np.unwrap(np.arctan2(way[:, 1], way[:, 0]))
    return Piece(strokes, a, turned, np.hypot(way[:, 0], way[:, 1]), Source(shape.start, end=shape.end))


def _coil(shape: sh.Spring, values: Values, unit: float) -> Stroke:
    half = size(shape.width, values, 1.2 * unit) / 2
    u = np.linspace(0, 1, 16 * shape.coils + 1)
    inside = (u > 0) & (u < 1)
    points = np.column_stack([0.08 + 0.84 * u, 0 * u, half * np.sin(2 * np.pi * shape.coils * u) * inside])
    points = np.vstack([[0, 0, 0], points, [1, 0, 0]])
    return Stroke(points, edge=shape.colour, width=2, closed=False)


def _arrow(colour: str, head: float) -> Iterable[Stroke]:
    yield Stroke(np.array([[0.0, 0, 0], [1, -0.8 * head, 0]]), edge=colour, width=2.5, closed=False)
    yield Stroke(np.array([[1.0, 0, 0], [1, -head, 0.4 * head], [1, -head, -0.4 * head]]), fill=colour, edge=colour, width=1)


def _own(points: Array) -> Array:
    """Points of the plane as vertices of a rigid stroke."""
    return np.column_stack([np.zeros(len(points)), points])


def _line(a: Sequence[float] | Array, b: Sequence[float] | Array, stretch: bool = False) -> Array:
    if stretch:
        return np.array([[a[0], 0.0, 0.0], [b[0], 0.0, 0.0]])
    return _own(np.array([a, b], float))


def _ellipse(a: float, b: float) -> Array:
    u = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    return _own(np.column_stack([a * np.cos(u), b * np.sin(u)]))


def _sector(r: float, first: float, last: float) -> Array:
    u = np.linspace(first, last, ROUND // 4)
    return _own(np.vstack([[0.0, 0.0], np.column_stack([r * np.cos(u), r * np.sin(u)])]))


def _lens(a: float, b: float) -> Array:
    u = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    return _own(np.column_stack([a * np.cos(u), b * np.sin(u) * np.abs(np.sin(u))]))


def _rounded(a: float, b: float) -> Array:
    """A rectangle with round corners: a superellipse."""
    u = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    c, s = np.cos(u), np.sin(u)
    return _own(np.column_stack([a * np.sign(c) * np.abs(c) ** 0.35, b * np.sign(s) * np.abs(s) ** 0.35]))


ROW, _DIAL, _COLUMNS = 0.24, 0.13, 3
"""Distance between axes, radius of a dial and number of dials in a row; an axis has the length 1."""


def abstract(shapes: Sequence[Shape], values: Values) -> tuple[list[Item], Array]:
    """Return the parts of all quantities, and the box (left, right, bottom, top) that contains them and their labels."""
    sliders = [shape for shape in shapes if isinstance(shape, Slider)]
    dials = [shape for shape in shapes if isinstance(shape, Dial)]
    items: list[Item] = []
    for k, shape in enumerate(sliders):
        items += _slider(shape, -ROW * k, values)
    items += dial_items(shapes, values)
    columns, pitch = min(_COLUMNS, len(dials)), 3.4 * _DIAL
    rows = -(-len(dials) // _COLUMNS)
    bottom = _below(sliders) - pitch * rows if dials else -ROW * (len(sliders) - 1) - 0.12
    high = 0.12 if sliders else 0.08
    wide = (-0.22, 1.34) if sliders else (0.5 - 0.55 * pitch * columns, 0.5 + 0.55 * pitch * columns)
    return items, np.array([*wide, bottom, high])


def dial_items(shapes: Sequence[Shape], values: Values) -> list[Item]:
    """Return the parts of the dials, which are below the axes of the sliders."""
    dials = [shape for shape in shapes if isinstance(shape, Dial)]
    top, columns, pitch = _below([shape for shape in shapes if isinstance(shape, Slider)]), min(_COLUMNS, len(dials)), 3.4 * _DIAL
    items: list[Item] = []
    for k, dial in enumerate(dials):
        x = 0.5 + pitch * (k % columns - (columns - 1) / 2)
        items += _dial(dial, (x, top - _DIAL - pitch * (k // columns)), values)
    return items


def _below(sliders: Sequence[Slider]) -> float:
    return -ROW * len(sliders) - (0.02 if sliders else 0.0)


def _slider(shape: Slider, y: float, values: Values) -> list[Item]:
    value = values.of(shape.value)
    low, high = float(value.min()), float(value.max())
    if high - low < _CONSTANT * max(1.0, abs(high), abs(low)):
        low, high = low - 1, high + 1
    step = nice_step(high - low, 4)
    low, high = step * np.floor(low / step + _AT_A_TICK), step * np.ceil(high / step - _AT_A_TICK)
    n = len(values.times)
    ticks = np.arange(round(low / step), round(high / step) + 1) * step
    marks = [_mark((tick - low) / (high - low), 0.012) for tick in ticks]
    axis = Stroke(np.array([[0, 0, 0], [0, 1, 0]], float), edge=GREY, width=2, closed=False)
    items: list[Item] = [_fixed((axis, *marks), (0.0, y))]
    items += [
        Words(np.array([[(tick - low) / (high - low), y]]), number(float(tick)), GREY, shift=(0, -20), align="center", size=11)
        for tick in ticks
    ]
    items.append(Words(np.array([[-0.05, y]]), shape.label or pretty(shape.value), DARK, shift=(0, 0), align="right"))
    items.append(Words(np.array([[1.06, y]]), "", DARK, shift=(0, 0), values=value))
    items.append(Dot(np.column_stack([(value - low) / (high - low), np.full(n, y)]), 8.0, shape.colour, WHITE))
    return items


def _dial(shape: Dial, centre: tuple[float, float], values: Values) -> list[Item]:
    angle = values.of(shape.value)
    u = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    rim = np.column_stack([0 * u, _DIAL * np.cos(u), _DIAL * np.sin(u)])
    ticks = [Stroke(np.array([[0, r * np.cos(a), r * np.sin(a)] for r in (0.88 * _DIAL, _DIAL)]), edge=GREY, closed=False) for a in u[::8]]
    face = _fixed((Stroke(rim, fill=mixed(shape.colour, WHITE, 0.92), edge=GREY, width=2), *ticks), centre)
    hand = Stroke(np.array([[0, 0, 0], [0, 0.86 * _DIAL, 0]], float), edge=shape.colour, width=4, closed=False)
    n = len(values.times)
    place = np.tile(np.array(centre), (n, 1))
    low = centre[1] - 1.3 * _DIAL
    origin = Source((str(centre[0]), str(low)), value=shape.value)
    label = Words(np.array([[centre[0], low]]), f"{shape.label or pretty(shape.value)} = ", DARK, (0, 0), "center", angle, source=origin)
    source = Source((str(centre[0]), str(centre[1])), angle=shape.value)
    return [face, Piece((hand,), place, angle, np.zeros(n), source), Dot(place[:1], 5.0, shape.colour, WHITE), label]


def _mark(x: float, half: float) -> Stroke:
    return Stroke(np.array([[0, x, -half], [0, x, half]]), edge=GREY, closed=False)


def _fixed(strokes: tuple[Stroke, ...], place: tuple[float, float]) -> Piece:
    return Piece(strokes, np.array([place]), np.zeros(1), np.zeros(1))
