"""The manifolds that contain the motions, as a tree: the constraints that each step of a constraint algorithm adds.

A node is a set of states; its lines are the constraints added to those of its parent. Final constraint manifolds have a heavy frame and
show their dimension and the number of free functions of time; sets without a motion are red. Boxes do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch
from sympy import Expr

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask
from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.core.support.text import in_mathtext
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.analysis import Analysis
from chetaev.mechanics.origins import RowLabel
from chetaev.plot.style import ALERT, COLOURS, INK, SOFT, Picture, figure, given_axes, label, shortened, styled, title_of
from chetaev.singular.algorithm import Leaf, Tree
from chetaev.singular.algorithm.tree import Entry

_SHOWN = 4
"""Largest number of constraints in a box, which also states the number of further ones."""
_WIDEST = 64
"""Largest number of characters of a formula in a box; a longer one is shown as text, shortened in the middle."""
_PROPORTIONAL = 1e-9
"""Relative: two expressions whose ratios at two random points differ by less are multiples of each other."""


@public
def tree(found: Tree | Analysis, *, title: str | None = None, ax: Any = None) -> Picture:
    """Draw the tree of a constraint algorithm, or the branches in the analysis of a system.

    Args:
        found: A result of `constraint_algorithm` or of `analyze`.
        title: A title that replaces the default one.
        ax: Axes to draw into, without a default title, and with smaller letters if they are too small for the tree; by default the figure
            is new, and as large as the tree.

    Returns:
        The figure.

    Raises:
        UsageError: If `found` is of another type.

    >>> from chetaev import analyze, gallery
    >>> picture = tree(analyze(gallery("cawley")))
    >>> sum("leaf" in text.get_text() for text in picture.texts)
    2
    """
    if ax is not None:
        title = title or ""
    if isinstance(found, Tree):
        usual = in_mathtext(f"{found.form.name or 'dynamical form'} · {found.dynamics} dynamics")
        return drawn(_of_tree(found), usual if title is None else title, _notes(found), ax)
    if not isinstance(found, Analysis):
        raise UsageError(
            f"a tree or an analysis is needed, not {type(found).__name__}.", where="tree", hint=Ask("tree", "ch.analyze(equations)")
        )
    title = title_of(found) if title is None else title
    if found.tree is not None and found.tree.entries:
        return drawn(_of_tree(found.tree), title, _notes(found.tree), ax)
    return drawn(_of_analysis(found), title, [], ax)


def _of_tree(found: Tree) -> Box:
    boxes: dict[int, Box] = {}
    by_number = {entry.number: entry for entry in found.entries}
    root: Box | None = None
    for entry in found.entries:
        boxes[entry.number] = box = _of_entry(entry, by_number.get(entry.parent if entry.parent is not None else -1), found)
        if entry.parent is not None:
            boxes[entry.parent].children.append(box)
        elif root is None:
            root = box
        else:
            root.children.append(box)
    return root or Box(["no states were examined"], ALERT)


def _of_entry(entry: Entry, parent: Entry | None, found: Tree) -> Box:
    lines = _relations([show(e) for e in entry.added])
    known = () if parent is None else parent.excluded
    lines += _relations([show(e) for e in entry.excluded if e not in known], holds=False)
    if not lines:
        lines = [f"phase space, dimension {found.form.dimension}"] if parent is None else ["otherwise"]
    if entry.status == "inconsistent":
        return Box([*lines, "no motion"], ALERT, heavy=True)
    if entry.status != "final":
        return Box(lines, SOFT if entry.status != "open" else ALERT)
    leaf = _leaf_of(entry, found)
    if leaf is None:
        return Box([*lines, entry.status if entry.within is None else "part of another leaf"], SOFT)
    return Box([*lines, *_described(leaf, found.leaves.index(leaf))], COLOURS[2], heavy=True)


def _described(leaf: Leaf, number: int) -> list[str]:
    free = f"{leaf.free_functions} free function{'s' * (leaf.free_functions != 1)}" if leaf.free_functions else "unique motion"
    words = [f"leaf {number}: dimension {leaf.dimension}, {free}"]
    if leaf.excluded:
        words.append(f"without {', '.join(label(None, f'{show(e)} = 0', _WIDEST) for e in leaf.excluded[:_SHOWN])}")
    if leaf.real != "yes":
        words.append(f"real points: {leaf.real}")
    return words


def _relations(sides: Sequence[str | RowLabel], *, holds: bool = True) -> list[str]:
    """Typeset the first `_SHOWN` relations `side = 0`, or `side != 0`, and state the number of further ones."""
    shown = [_relation(side, holds) for side in sides[:_SHOWN]]
    return [*shown, f"and {len(sides) - _SHOWN} more"] if len(sides) > _SHOWN else shown


def _relation(side: str | RowLabel, holds: bool) -> str:
    """Typeset a relation; the label of a row is no formula."""
    if not holds:
        return f"{label(None, side, _WIDEST)} $\\neq 0$"
    return f"{side} = 0" if isinstance(side, RowLabel) else label(None, f"{side} = 0", _WIDEST)


def _leaf_of(entry: Entry, found: Tree) -> Leaf | None:
    """Return the leaf of a final node: its steps are those on the path to the node, up to constant factors."""
    by_number = {e.number: e for e in found.entries}
    way: list[tuple[Expr, ...]] = []
    at: Entry | None = entry
    while at is not None:
        if at.added:
            way.insert(0, at.added)
        at = by_number.get(at.parent) if at.parent is not None else None
    for leaf in found.leaves:
        if [len(step) for step in leaf.steps] == [len(step) for step in way]:
            pairs = [pair for one, other in zip(leaf.steps, way, strict=True) for pair in zip(one, other, strict=True)]
            if all(_proportional(a, b) for a, b in pairs):
                return leaf
    return None


def _proportional(a: Expr, b: Expr) -> bool:
    """Tell whether two expressions differ at most by a factor without jets, from their values at two points with the same parameters."""
    tape = Tape([a, b])
    first, second = (random_point(tape.symbols, seed) for seed in (1, 2))
    second = {z: second[z] if hasattr(z, "order") else first[z] for z in second}
    try:
        (a1, b1), (a2, b2) = tape(first), tape(second)
    except Undefined:
        return a == b
    return abs(a1 * b2 - a2 * b1) <= _PROPORTIONAL * (abs(a1 * b2) + abs(a2 * b1))


def _notes(found: Tree) -> list[str]:
    notes = [shortened(f"no real point: {', '.join(f'{show(e)} = 0' for e in empty.constraints)}", 110) for empty in found.discarded]
    return notes if found.complete else [*notes, shortened(f"incomplete: {found.reason}", 110)]


def _of_analysis(found: Analysis) -> Box:
    """Return the tree of a numerical analysis: the stated rows, their derivatives, and the families of states."""
    root = Box([f"jets of the state: {len(found.state)}"], SOFT)
    if not found.branches:
        root.children.append(_of_branch(found))
    root.children += [_of_branch(branch) for branch in found.branches]
    return root


def _of_branch(found: Analysis) -> Box:
    lines = _relations(found.hidden)
    lines.append(f"{found.verdict}")
    if found.dimension is not None:
        lines.append(f"{found.dimension} free initial value{'s' * (found.dimension != 1)}")
    if found.free_functions:
        lines.append(f"free: {', '.join(label(None, name) for name in found.free_functions)}")
    colour = COLOURS[2] if found.verdict.allows_motion else ALERT
    return Box(lines, colour, heavy=True)


_SIDE, _ALONG = {"down": 0.28, "across": 0.16}, 0.4
"""Gaps between boxes in inches: beside each other, and along the tree."""
_FIGURE_MARGIN, _BOX_PADDING = 0.2, 0.1
"""Margins around the figure and inside a box, in inches."""
_FONT_SIZE, _LINE_HEIGHT, _LINE_GAP = 10, 0.13, 0.07
"""Font size of texts in points, least height of a line and gap between lines in inches."""
_WIDEST_TREE = 7.0
"""Width of a page, in inches. Of the layouts that are at most this wide, the lowest one is taken."""


@dataclass
class Box:
    """A node of the tree; sizes and the position of its centre are in inches. y points downwards until the box is drawn."""

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
            picture.text(0, 0, line, fontsize=_FONT_SIZE + 2 * ("$" in line), color=INK, ha="center", va="center") for line in self.lines
        ]
        extents = [_extent(picture, text) for text in self.texts]
        self.heights = [max(height, _LINE_HEIGHT) for _, height in extents]
        self.width = max(width for width, _ in extents) + 2 * _BOX_PADDING
        self.height = sum(self.heights) + _LINE_GAP * (len(extents) - 1) + 2 * _BOX_PADDING

    def draw(self, sheet: _Sheet, way: str) -> None:
        """Draw the frame, the lines of text and the lines to the children."""
        at = self.y + self.height / 2 - _BOX_PADDING
        for text, height in zip(self.texts, self.heights, strict=True):
            sheet.write(text, self.x, at - height / 2)
            at -= height + _LINE_GAP
        left, low = self.x - self.width / 2, self.y - self.height / 2
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": self.colour, "linewidth": 1.6 if self.heavy else 0.9}
        round_corners = "round,pad=0,rounding_size=0.06"
        frame = FancyBboxPatch((left, low), self.width, self.height, boxstyle=round_corners, transform=sheet.inches, zorder=2, **style)
        sheet.owner.add_artist(frame)
        for child in self.children:
            begin, end = (self.x, low), (child.x, child.y + child.height / 2)
            if way == "across":
                begin, end = (left + self.width, self.y), (child.x - child.width / 2, child.y)
            colour = ALERT if child.colour == ALERT else SOFT
            way_down = Line2D((begin[0], end[0]), (begin[1], end[1]), transform=sheet.inches, color=colour, linewidth=1.0, zorder=1)
            sheet.owner.add_artist(way_down)


@dataclass
class _Sheet:
    """What a tree is drawn on, in inches: a figure of its own size, or given axes, in which an inch may be smaller."""

    picture: Picture
    ax: Any = None
    scale: float = 1.0

    @property
    def owner(self) -> Any:
        """The figure or the axes that own what is drawn."""
        return self.picture if self.ax is None else self.ax

    @property
    def inches(self) -> Any:
        """The transformation of positions in inches."""
        return self.picture.dpi_scale_trans if self.ax is None else self.ax.transData

    def write(self, text: Any, x: float, y: float) -> None:
        """Put a text that was measured in the figure at its place."""
        if self.ax is None:
            _place(self.picture, text, x, y)
            return
        size = text.get_fontsize() * self.scale
        self.ax.text(x, y, text.get_text(), fontsize=size, color=text.get_color(), ha=text.get_ha(), va=text.get_va())


def _fitted(ax: Any, wide: float, tall: float, picture: Picture) -> _Sheet:
    """Given axes whose unit is an inch of the tree, or less where the tree would not fit."""
    [ax] = given_axes(ax, 1, "tree")
    across, up = _room(ax)
    scale = min(1.0, across / wide, up / tall)
    ax.set_axis_off()
    ax.set_xlim((wide - across / scale) / 2, (wide + across / scale) / 2)
    ax.set_ylim((tall - up / scale) / 2, (tall + up / scale) / 2)
    ax.set_aspect("equal", adjustable="box")  # in axes that a layout changes later, the tree keeps its proportions
    return _Sheet(picture, ax, scale)


def _room(ax: Any) -> tuple[float, float]:
    """The width and the height of axes in inches."""
    room = ax.get_window_extent()
    return room.width / ax.figure.dpi, room.height / ax.figure.dpi


def drawn(root: Box, title: str, notes: Sequence[str], ax: Any = None) -> Any:
    """Return a figure with the title, the tree and the notes, just large enough for them; or the figure of given axes."""
    picture = figure(4, 3)
    picture.set_layout_engine("none")
    with styled():
        head = picture.text(0, 0, title, fontsize=11, color=INK, ha="left", va="top")
        foot = [picture.text(0, 0, note, fontsize=8.5, color=SOFT, ha="left", va="bottom") for note in notes]
        for box in root.all():
            box.write(picture)
        way = _direction(root, None if ax is None else _room(given_axes(ax, 1, "tree")[0]))
        width, height = _laid_out(root, way)
        above = _extent(picture, head)[1] + 0.15 if title else 0.0
        below = sum(_extent(picture, note)[1] + 0.06 for note in foot)
        wide = max([width, *(_extent(picture, text)[0] for text in (head, *foot))]) + 2 * _FIGURE_MARGIN
        tall = height + above + below + 2 * _FIGURE_MARGIN
        picture.set_size_inches(wide, tall)
        sheet = _Sheet(picture) if ax is None else _fitted(ax, wide, tall, picture)
        sheet.write(head, _FIGURE_MARGIN, tall - _FIGURE_MARGIN)
        at = _FIGURE_MARGIN
        for note in reversed(foot):
            sheet.write(note, _FIGURE_MARGIN, at)
            at += _extent(picture, note)[1] + 0.06
        for box in root.all():
            box.x, box.y = box.x + (wide - width) / 2, tall - above - _FIGURE_MARGIN - box.y
        for box in root.all():
            box.draw(sheet, way)
    return picture if sheet.ax is None else sheet.ax.figure


def _direction(root: Box, room: tuple[float, float] | None) -> str:
    """Choose "down" or "across": the layout that fits larger into a room, or without one the lower of those that fit a page."""
    sizes = {way: _laid_out(root, way) for way in _SIDE}
    if room is not None:
        return max(sizes, key=lambda way: min(room[0] / sizes[way][0], room[1] / sizes[way][1]))
    fitting = [way for way in sizes if sizes[way][0] <= _WIDEST_TREE]
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
