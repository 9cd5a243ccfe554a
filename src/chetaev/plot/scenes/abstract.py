"""Quantities that have no place in space: markers on axes and hands on dials, laid out in rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chetaev.core.scene import Dial, Shape, Slider
from chetaev.core.scene.fields import DARK, GREY, WHITE
from chetaev.plot.scenes.drawing import Array, Dot, Item, Piece, Stroke, Words, mixed, nice_step
from chetaev.plot.scenes.text import number, pretty
from chetaev.plot.scenes.values import Values

_ROW, _DIAL, _COLUMNS = 0.24, 0.13, 3
"""Distance between axes, radius of a dial and number of dials in a row; an axis has the length 1."""


def abstract(shapes: Sequence[Shape], values: Values) -> tuple[list[Item], Array]:
    """Return the parts of all quantities, and the box (left, right, bottom, top) that holds them and their labels."""
    sliders = [shape for shape in shapes if isinstance(shape, Slider)]
    dials = [shape for shape in shapes if isinstance(shape, Dial)]
    items: list[Item] = []
    for k, shape in enumerate(sliders):
        items += _slider(shape, -_ROW * k, values)
    top = -_ROW * len(sliders) - (0.02 if sliders else 0.0)
    columns = min(_COLUMNS, len(dials))
    pitch = 3.4 * _DIAL
    for k, dial in enumerate(dials):
        x = 0.5 + pitch * (k % columns - (columns - 1) / 2)
        items += _dial(dial, (x, top - _DIAL - pitch * (k // columns)), values)
    rows = -(-len(dials) // _COLUMNS)
    bottom = top - pitch * rows if dials else -_ROW * (len(sliders) - 1) - 0.12
    high = 0.12 if sliders else 0.08
    wide = (-0.22, 1.34) if sliders else (0.5 - 0.55 * pitch * columns, 0.5 + 0.55 * pitch * columns)
    return items, np.array([*wide, bottom, high])


def _slider(shape: Slider, y: float, values: Values) -> list[Item]:
    value = values.of(shape.value)
    low, high = float(value.min()), float(value.max())
    if high - low < 1e-9 * max(1.0, abs(high), abs(low)):
        low, high = low - 1, high + 1
    step = nice_step(high - low, 4)
    low, high = step * np.floor(low / step + 1e-9), step * np.ceil(high / step - 1e-9)
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
    label = Words(
        np.array([[centre[0], centre[1] - 1.3 * _DIAL]]), f"{shape.label or pretty(shape.value)} = ", DARK, (0, 0), "center", angle
    )
    return [face, Piece((hand,), place, angle, np.zeros(n)), Dot(place[:1], 5.0, shape.colour, WHITE), label]


def _mark(x: float, half: float) -> Stroke:
    return Stroke(np.array([[0, x, -half], [0, x, half]]), edge=GREY, closed=False)


def _fixed(strokes: tuple[Stroke, ...], place: tuple[float, float]) -> Piece:
    return Piece(strokes, np.array([place]), np.zeros(1), np.zeros(1))
