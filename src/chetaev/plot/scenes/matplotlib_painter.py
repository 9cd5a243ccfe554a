"""Drawing with matplotlib, one frame at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.scene.fields import DARK, GREY, WHITE
from chetaev.plot.saving import Saved
from chetaev.plot.scenes.drawing import Array, Camera, Dot, Drawing, Floor, Piece, Track, Window, Words, mixed
from chetaev.plot.scenes.perspective import Projection, paint_space
from chetaev.plot.scenes.text import number, pretty, time_digits

WIDTH = 800
"""Width of a picture in pixels; the web page uses the same width."""
_DPI = 100
"""Pixels per inch; they determine the size of texts relative to the picture."""
_HEAD, _LEFT, _FOOT, _RIGHT = 34, 70, 52, 20
"""Pixels for title and time at the top, and for numbers on axes at the other sides."""


@dataclass
class Painter:
    """One figure that can be redrawn at any sample of a drawing."""

    drawing: Drawing
    clock: str = ""
    """A suffix of the time label, such as the speed."""
    _artists: list[Any] = field(default_factory=list)

    @cached_property
    def figure(self) -> Any:
        """The figure, with even numbers of pixels in both directions, which films require."""
        return self._made[0]

    def draw(self, k: int) -> Any:
        """The figure at the sample k."""
        figure, axes, time = self._made
        for artist in self._artists:
            artist.remove()
        self._artists.clear()
        drawing = self.drawing
        if isinstance(drawing.view, Camera):
            self._artists += paint_space(axes, drawing, k)
            self._words(axes, k, Projection(drawing.view, k))
        else:
            self._plane(axes, drawing.view, k)
        time.set_text(f"t = {drawing.times[k]:.{self._digits}f}{self.clock}")
        return figure

    @cached_property
    def _digits(self) -> int:
        return time_digits(abs(float(self.drawing.times[-1] - self.drawing.times[0])))

    @cached_property
    def _made(self) -> tuple[Any, Any, Any]:
        canvas, figures = _matplotlib()
        graph = self.drawing.axes is not None
        left, right, foot = (_LEFT, _RIGHT, _FOOT) if graph else (0, 0, 0)
        wide = WIDTH - left - right
        tall = round(wide / self.drawing.ratio)
        height = tall + _HEAD + foot
        height += height % 2
        figure = _still(figures)(figsize=(WIDTH / _DPI, height / _DPI), dpi=_DPI, facecolor="white")
        canvas.FigureCanvasAgg(figure)
        axes = figure.add_axes((left / WIDTH, foot / height, wide / WIDTH, tall / height), facecolor="white")
        axes.set_aspect("equal", adjustable="box")
        middle = 1 - 0.52 * _HEAD / height
        title = self.drawing.title[:1].upper() + self.drawing.title[1:]
        figure.text(12 / WIDTH, middle, title, size=11, color=DARK, va="center", weight="bold", parse_math=False)
        time = figure.text(1 - 12 / WIDTH, middle, "", size=11, color=DARK, va="center", ha="right", family="monospace")
        if self.drawing.caption:
            axes.text(
                0.5,
                0.012,
                self.drawing.caption,
                transform=axes.transAxes,
                size=9,
                color=GREY,
                ha="center",
                va="bottom",
                zorder=10,
                parse_math=False,
            )
        _legend(figure, self.drawing, left + 12, _HEAD + 12)
        if self.drawing.axes is not None:
            _graph(axes, *self.drawing.axes)
        else:
            axes.set_axis_off()
        return figure, axes, time

    def _plane(self, axes: Any, view: Window, k: int) -> None:
        left, right, bottom, top = view.limits(k)
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
        if self.drawing.floor is not None:
            self._artists += _ground(axes, self.drawing.floor, (left, right, bottom, top))
        for z, item in enumerate(self.drawing.items, 2):
            match item:
                case Piece():
                    self._artists += [_stroke(axes, item, stroke, k, z) for stroke in item.strokes]
                case Dot():
                    x, y = _row(item.place, k)
                    (dot,) = axes.plot(
                        [x], [y], "o", ms=2 * item.radius * 0.72, mfc=item.fill, mec=item.edge, mew=1.5, zorder=z, clip_on=False
                    )
                    self._artists.append(dot)
                case Track():
                    self._artists += _track(axes, item, k, z)
        self._words(axes, k, None)

    def _words(self, axes: Any, k: int, projection: Projection | None) -> None:
        for item in self.drawing.items:
            if not isinstance(item, Words):
                continue
            place = _row(item.place, k)
            at = place if projection is None else projection.pictured(place[None])[0][0]
            text = item.text + ("" if item.values is None else number(float(item.values[k])))
            self._artists.append(
                axes.annotate(
                    text, tuple(at), tuple(0.72 * s for s in item.shift), textcoords="offset points", ha=item.align, va="center",
                    size=0.72 * item.size, color=item.colour, zorder=100, parse_math=False,
                )
            )  # fmt: skip


def picture(drawing: Drawing, k: int, clock: str = "") -> Any:
    """Return a new figure of the frame `k`."""
    return Painter(drawing, clock).draw(k)


@lru_cache(maxsize=1)
def _still(figures: Any) -> Any:
    """Return a class of figures that notebooks display without pyplot."""
    return type("Still", (Saved, figures.Figure), {})


def _matplotlib() -> tuple[Any, Any]:
    try:
        import matplotlib.backends.backend_agg as canvas
        import matplotlib.figure as figures
    except ImportError as fault:
        raise UsageError("matplotlib is not installed.", where="animate", hint="pip install matplotlib") from fault
    return canvas, figures


def _graph(axes: Any, across: str, up: str) -> None:
    """Names, numbers and a grid."""
    axes.set_xlabel(pretty(across), size=12, color=DARK)
    axes.set_ylabel(pretty(up), size=12, color=DARK)
    axes.tick_params(colors=GREY, labelsize=9)
    for spine in axes.spines.values():
        spine.set_color(mixed(GREY, WHITE, 0.4))
    axes.grid(visible=True, color=mixed(GREY, WHITE, 0.8), linewidth=0.8)
    axes.set_axisbelow(True)


def _legend(figure: Any, drawing: Drawing, left: int, down: int) -> None:
    """The names of the motions, each in its colour, in the upper corner of the picture."""
    for k, (name, colour) in enumerate(drawing.legend):
        height = 1 - (down + 18 * k) / (figure.get_figheight() * _DPI)
        figure.text(left / WIDTH, height, f"\u25cf {name}", size=10, color=colour, va="center", parse_math=False)


def _row(rows: Array, k: int) -> Array:
    found: Array = rows[min(k, len(rows) - 1)]
    return found


def _stroke(axes: Any, piece: Piece, stroke: Any, k: int, z: int) -> Any:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = piece.vertices(stroke, min(k, len(piece.place) - 1))
    if stroke.closed:
        points = np.vstack([points, points[:1]])
    patch = PathPatch(
        Path(points),
        facecolor=stroke.fill or "none",
        edgecolor=stroke.edge or "none",
        linewidth=0.72 * stroke.width,
        capstyle="round",
        joinstyle="round",
        zorder=z,
    )
    return axes.add_patch(patch)


def _track(axes: Any, track: Track, k: int, z: int) -> list[Any]:
    last = k * track.finer + 1
    first = max(0, (k - track.steps) * track.finer) if track.steps else 0
    points = track.place[first:last]
    if len(points) < 2:
        return []
    if not track.steps:
        return list(axes.plot(points[:, 0], points[:, 1], color=track.colour, lw=0.72 * track.width, alpha=0.75, zorder=z))
    import matplotlib.collections

    lines_of: Any = matplotlib.collections.LineCollection  # its type stubs lack arrays
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    age = (np.arange(first, last - 1) - (last - 1 - track.steps * track.finer)) / (track.steps * track.finer)
    colours = [mixed(WHITE, track.colour, float(0.85 * max(0.0, a))) for a in age]
    return [axes.add_collection(lines_of(pieces, colors=colours, linewidths=0.72 * track.width, zorder=z), autolim=False)]


def _ground(axes: Any, floor: Floor, limits: tuple[float, float, float, float]) -> list[Any]:
    left, right, bottom, top = limits
    pale = mixed(floor.colour, WHITE, 0.75)
    if floor.height is None:
        xs = np.arange(np.ceil(left / floor.spacing), right / floor.spacing) * floor.spacing
        ys = np.arange(np.ceil(bottom / floor.spacing), top / floor.spacing) * floor.spacing
        return [axes.axvline(x, color=pale, lw=0.8, zorder=0) for x in xs] + [axes.axhline(y, color=pale, lw=0.8, zorder=0) for y in ys]
    (line,) = axes.plot([left, right], [floor.height] * 2, color=floor.colour, lw=1.5, zorder=1)
    below = axes.axhspan(bottom, floor.height, facecolor=mixed(floor.colour, WHITE, 0.85), edgecolor="none", zorder=0)
    return [line, below]
