"""A tree of framed texts, laid out so that no box touches another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch

from chetaev.plot.style import ALERT, INK, SOFT, Picture, figure, styled

_SIDE, _ALONG = {"down": 0.28, "across": 0.16}, 0.4
"""Gaps between boxes in inches: beside each other, and along the tree."""
_MARGIN, _PAD = 0.2, 0.1
"""Inches: around the figure, and inside a box."""
_SIZE, _LINE, _LEADING = 10, 0.13, 0.07
"""Of texts: font size in points, least height of a line and gap between lines in inches."""
_WIDE = 7.0
"""Inches. Among the directions in which the tree is at most this wide, the one that makes it lowest is taken."""


@dataclass
class Box:
    """A node of the tree; sizes and the place of its centre in inches. y points downwards until the box is drawn."""

    lines: list[str]
    colour: str = SOFT
    heavy: bool = False
    children: list[Box] = field(default_factory=list)
    texts: list[Any] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0

    def all(self) -> Iterator[Box]:
        """Yield the box and all its descendants."""
        yield self
        for child in self.children:
            yield from child.all()

    def write(self, picture: Picture) -> None:
        """Create and measure one text per line: lines with formulas are taller than others."""
        self.texts = [
            picture.text(0, 0, line, fontsize=_SIZE + 2 * ("$" in line), color=INK, ha="center", va="center") for line in self.lines
        ]
        extents = [_extent(picture, text) for text in self.texts]
        self.heights = [max(height, _LINE) for _, height in extents]
        self.width = max(width for width, _ in extents) + 2 * _PAD
        self.height = sum(self.heights) + _LEADING * (len(extents) - 1) + 2 * _PAD

    def draw(self, picture: Picture, way: str) -> None:
        """Draw the frame, the lines of text and the lines to the children."""
        at = self.y + self.height / 2 - _PAD
        for text, height in zip(self.texts, self.heights, strict=True):
            _place(picture, text, self.x, at - height / 2)
            at -= height + _LEADING
        left, low = self.x - self.width / 2, self.y - self.height / 2
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": self.colour, "linewidth": 1.6 if self.heavy else 0.9}
        round_corners = "round,pad=0,rounding_size=0.06"
        inches = picture.dpi_scale_trans
        picture.add_artist(
            FancyBboxPatch((left, low), self.width, self.height, boxstyle=round_corners, transform=inches, zorder=2, **style)
        )
        for child in self.children:
            begin, end = (self.x, low), (child.x, child.y + child.height / 2)
            if way == "across":
                begin, end = (left + self.width, self.y), (child.x - child.width / 2, child.y)
            colour = ALERT if child.colour == ALERT else SOFT
            picture.add_artist(Line2D((begin[0], end[0]), (begin[1], end[1]), transform=inches, color=colour, linewidth=1.0, zorder=1))


def drawn(root: Box, title: str, notes: Sequence[str]) -> Picture:
    """Return a figure with the title, the tree and the notes, as large as they need."""
    picture = figure(4, 3)
    picture.set_layout_engine("none")
    with styled():
        head = picture.text(0, 0, title, fontsize=11, color=INK, ha="left", va="top")
        foot = [picture.text(0, 0, note, fontsize=8.5, color=SOFT, ha="left", va="bottom") for note in notes]
        for box in root.all():
            box.write(picture)
        way = _direction(root)
        width, height = _laid_out(root, way)
        above = _extent(picture, head)[1] + 0.15 if title else 0.0
        below = sum(_extent(picture, note)[1] + 0.06 for note in foot)
        wide = max([width, *(_extent(picture, text)[0] for text in (head, *foot))]) + 2 * _MARGIN
        tall = height + above + below + 2 * _MARGIN
        picture.set_size_inches(wide, tall)
        _place(picture, head, _MARGIN, tall - _MARGIN)
        at = _MARGIN
        for note in reversed(foot):
            _place(picture, note, _MARGIN, at)
            at += _extent(picture, note)[1] + 0.06
        for box in root.all():
            box.x, box.y = box.x + (wide - width) / 2, tall - above - _MARGIN - box.y
        for box in root.all():
            box.draw(picture, way)
    return picture


def _direction(root: Box) -> str:
    """Choose "down" or "across": the lower layout among those that fit a page, otherwise the narrower one."""
    sizes = {way: _laid_out(root, way) for way in _SIDE}
    fitting = [way for way in sizes if sizes[way][0] <= _WIDE]
    return min(fitting, key=lambda way: sizes[way][1]) if fitting else min(sizes, key=lambda way: sizes[way][0])


def _laid_out(root: Box, way: str) -> tuple[float, float]:
    """Place every box, boxes of one depth in line and each parent centred on its children; return the size of the tree."""
    down, gap = way == "down", _SIDE[way]
    depths: list[float] = []
    spans: dict[int, float] = {}

    def measure(box: Box, depth: int) -> float:
        """Return the extent of a box and its descendants across the direction of growth."""
        if len(depths) <= depth:
            depths.append(0.0)
        depths[depth] = max(depths[depth], box.height if down else box.width)
        inner = sum(measure(child, depth + 1) for child in box.children) + gap * max(len(box.children) - 1, 0)
        spans[id(box)] = max(box.width if down else box.height, inner)
        return spans[id(box)]

    def place(box: Box, depth: int, begin: float) -> None:
        along = sum(depths[:depth]) + _ALONG * depth
        side = begin + spans[id(box)] / 2
        box.x, box.y = (side, along + depths[depth] / 2) if down else (along + box.width / 2, side)
        inner = sum(spans[id(child)] for child in box.children) + gap * max(len(box.children) - 1, 0)
        at = begin + (spans[id(box)] - inner) / 2
        for child in box.children:
            place(child, depth + 1, at)
            at += spans[id(child)] + gap

    across = measure(root, 0)
    place(root, 0, 0.0)
    length = sum(depths) + _ALONG * (len(depths) - 1)
    return (across, length) if down else (length, across)


def _extent(picture: Picture, text: Any) -> tuple[float, float]:
    """Return width and height of a text in inches."""
    box = text.get_window_extent(FigureCanvasAgg(picture).get_renderer())
    return box.width / picture.dpi, box.height / picture.dpi


def _place(picture: Picture, text: Any, x: float, y: float) -> None:
    wide, tall = picture.get_size_inches()
    text.set_position((x / wide, y / tall))
