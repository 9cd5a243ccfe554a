"""A scene as recipes, from which a page makes the arrays of a drawing, with the values of expressions along a motion that it computes.

A recipe names columns. A column is a number, or the values of an expression of the scene over time. Sizes of shapes are values of columns
at the start; the vertices of strokes and meshes are affine functions of these sizes, found by evaluating the shape at several sizes and
checked at another one. A shape that fails the check keeps its form, and the caption states that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from chetaev.core.scene import Ground, Scene, Shape, Slider
from chetaev.core.scene import shapes as sh
from chetaev.core.scene.fields import DARK, entries_of, turns_of
from chetaev.plot.scenes.compose import compose, unit_of
from chetaev.plot.scenes.drawing import Array, Camera, Item, Piece, Solid, Words
from chetaev.plot.scenes.meshes import packed
from chetaev.plot.scenes.pages import drawing_data, item_data, mesh_data
from chetaev.plot.scenes.planar import ROUND, ROW, dial_items, planar
from chetaev.plot.scenes.spatial import spatial
from chetaev.plot.scenes.text import pretty
from chetaev.plot.scenes.values import Values, number_of

if TYPE_CHECKING:
    from chetaev.numerics.motion.trajectory import Trajectory

_SAME_VERTICES = 1e-7
"""Largest difference, relative to the size of a shape, between its vertices and their affine function of the sizes: below a pixel."""

_VERTEX_DIGITS = 4
"""Significant digits of vertices: finer than a pixel of a shape that fills the screen."""
_QUARTER = ROUND // 4
"""Number of corners of a quarter of a circle."""
_SET_TO_ZERO = 1e-7
"""Relative to the size of the body: smaller coordinates of vertices are round-off, and zeros make a page shorter."""
_RING_ERROR = 1e-9
"""Relative: largest distance of points from an ellipse that is stored by its semiaxes."""


@dataclass(frozen=True)
class _Probed(Values):
    """Values with given sizes, which record the expressions of the sizes that a shape reads."""

    sizes: Mapping[str, float] = field(default_factory=dict)
    read: dict[str, float] = field(default_factory=dict)

    def constant(self, text: str | float) -> float:
        word = str(text)
        found = self.sizes[word] if word in self.sizes else super().constant(text)
        if number_of(word) is None:
            self.read[word] = found
        return found


@dataclass
class Columns:
    """The columns of a page: numbers and expressions, without repetition."""

    entries: list[str | float] = field(default_factory=list)

    def of(self, text: str | float) -> int:
        """Return the index of the column of an expression."""
        number = number_of(str(text))
        entry = str(text).strip() if number is None else number
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry)

    @property
    def texts(self) -> list[str]:
        """The expressions, in the order of the columns."""
        return [entry for entry in self.entries if isinstance(entry, str)]


def live_data(motion: Trajectory, scene: Scene, times: Array, finer: int) -> tuple[dict[str, Any], Columns]:
    """Return the drawing of a scene as data for a page that computes the motion, and the columns that it needs."""
    drawing = compose(motion, scene, times)
    columns = Columns()
    meshes: list[Any] = []
    values = Values(motion, times)
    data = drawing_data(drawing)
    if scene.abstract:
        sliders = [shape for shape in scene.shapes if isinstance(shape, Slider)]
        items = [_scale(shape, k, columns) for k, shape in enumerate(sliders)]
        items += [_recipe(item, columns, 1.0, []) for item in dial_items(scene.shapes, values)]
        return {**data, "quantities": True, **packed([]), **_shared(items)}, columns
    follow = None if scene.follow is None else values.place(scene.follow, scene.dimension)
    unit = unit_of(scene, [values], scene.dimension, follow)
    kept: list[str] = []
    items = []
    size = float(drawing.view.distance if isinstance(drawing.view, Camera) else drawing.view.half.max())
    for shape in scene.shapes:
        if isinstance(shape, Ground):
            if shape.height is not None and data["floor"]:
                data["floor"]["at"] = columns.of(shape.height)
            continue
        made, follows = _parts(_multiplied(shape), values, unit, scene.dimension, size, columns, meshes)
        items += made
        kept += [] if follows else [shape.word]
    for item in items:
        if item["kind"] == "track":
            item["steps"] = round(item["steps"]) if item["steps"] else 0
            item["finer"] = finer
    if kept:
        words = f"the sliders do not change the form of: {', '.join(dict.fromkeys(kept))}"
        data["caption"] = "; ".join(filter(None, [data["caption"], words]))
    if follow is not None:
        middle = drawing.view.target if isinstance(drawing.view, Camera) else drawing.view.centre
        data["follow"] = [columns.of(e) for e in (*(scene.follow or ()), *("0",) * scene.dimension)[: scene.dimension]]
        data["offset"] = [float(f"{v:.7g}") for v in middle[0] - follow[0]]
        for name in ("cx", "cy", "tx", "ty", "tz"):  # computed by the page
            data.pop(name, None)
    return {**data, **packed(meshes), **_shared(items)}, columns


def _shared(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return items whose strokes are indices into a list without repetition."""
    strokes: list[dict[str, Any]] = []
    for item in items:
        for stroke in item.get("strokes", ()):
            strokes += [] if stroke in strokes else [stroke]
    return {
        "items": [item | ({"strokes": [strokes.index(s) for s in item["strokes"]]} if "strokes" in item else {}) for item in items],
        "strokes": strokes,
    }


def _scale(shape: Slider, k: int, columns: Columns) -> dict[str, Any]:
    label = shape.label or pretty(shape.value)
    return {"kind": "scale", "value": columns.of(shape.value), "y": -ROW * k, "label": label, "colour": shape.colour, "dark": DARK}


def _multiplied(shape: Shape) -> Shape:
    """A body whose scale is multiplied into its corners, because products of two sizes are not affine."""
    if not isinstance(shape, sh.Body) or shape.fit or number_of(str(shape.scale)) is not None:
        return shape

    def scaled(corner: Sequence[str | float]) -> tuple[str, ...]:
        return tuple(f"({shape.scale})*({e})" for e in corner)

    outline = tuple(scaled(corner) for corner in shape.outline or (("-1", "-1"), ("1", "-1"), ("1", "1"), ("-1", "1")))
    return replace(shape, scale=1.0, outline=outline, size=scaled(shape.size or ("2", "1", "0.6")))


def _parts(
    shape: Shape, values: Values, unit: float, dimension: int, size: float, columns: Columns, meshes: list[Any]
) -> tuple[list[dict[str, Any]], bool]:
    """Return the recipes of the parts of a shape, and whether their forms follow the sizes."""

    def made(sizes: Mapping[str, float]) -> tuple[list[Item], dict[str, float]]:
        probed = _Probed(values.motion, values.times, values.known, sizes=sizes)
        make = spatial if dimension == 3 else planar
        return make(shape, probed, values, unit), probed.read

    items, read = made({})
    forms = _forms(items)
    slopes: dict[str, list[Array]] = {}
    for text, v in read.items():
        step = abs(v) or 1.0
        slopes[text] = [(b - a) / step for a, b in zip(forms, _forms(made({**read, text: v + step})[0]), strict=True)]
    follows = True
    if read:
        other = {text: 1.37 * v + 0.1 * (abs(v) or 1.0) * k for k, (text, v) in enumerate(read.items(), 1)}
        wanted = _forms(made(other)[0])
        found = [form + sum((other[text] - v) * slopes[text][k] for text, v in read.items()) for k, form in enumerate(forms)]
        follows = all(
            np.allclose(a, b, rtol=0, atol=_SAME_VERTICES * (np.abs(b).max(initial=0) or 1)) for a, b in zip(found, wanted, strict=True)
        )
    parts = {text: slope for text, slope in slopes.items() if follows and any(s.any() for s in slope)}
    recipes: list[dict[str, Any]] = []
    place = 0
    for item in items:
        count = len(_forms([item]))
        own = {columns.of(text): slope[place : place + count] for text, slope in parts.items()}
        base = [
            form - sum(read[text] * slope[place + k] for text, slope in parts.items())
            for k, form in enumerate(forms[place : place + count])
        ]
        recipes.append(_recipe(item, columns, size, meshes, base, own))
        place += count
    return recipes, follows


def _forms(items: Sequence[Item]) -> list[Array]:
    """The vertices of all strokes and meshes."""
    found: list[Array] = []
    for item in items:
        found += (
            [stroke.points for stroke in item.strokes]
            if isinstance(item, Piece)
            else [item.mesh.vertices]
            if isinstance(item, Solid)
            else []
        )
    return found


def _recipe(
    item: Item,
    columns: Columns,
    size: float,
    meshes: list[Any],
    base: Sequence[Array] = (),
    parts: Mapping[int, Sequence[Array]] | None = None,
) -> dict[str, Any]:
    """Return an item without its arrays, with the columns that make them."""
    source = item.source
    if source is None:  # a part that does not move
        return item_data(item, size, [])
    data = item_data(_bare(item), size, [])
    for name in ("x", "y", "z", "a", "l", "q", "values", "mesh"):
        data.pop(name, None)
    dimension = item.place.shape[1]
    data["at"] = _place(source.place, dimension, columns)
    if source.end is not None:
        data["end"] = _place(source.end, dimension, columns)
        data["tip"] = source.tip
    if isinstance(item, Piece):
        data["angle"] = columns.of(source.angle)
        for k, stroke in enumerate(data["strokes"]):
            _affine(stroke, "p", base[k] if base else item.strokes[k].points, {c: s[k] for c, s in (parts or {}).items()}, size)
    if isinstance(item, Solid):
        made = mesh_data(item.mesh, size)
        _affine(made, "v", base[0], {c: s[0] for c, s in (parts or {}).items()}, size)
        data["mesh"] = meshes.index(made) if made in meshes else len(meshes)
        if made not in meshes:
            meshes.append(made)
        turns = [] if source.rotation is None else turns_of(source.rotation)
        if turns:
            pairs = [turn.partition(" ") for turn in turns]
            data["turns"] = [["xyz".index(axis), columns.of(angle.strip())] for axis, _, angle in pairs]
        elif source.rotation is not None:
            data["entries"] = [columns.of(e) for e in entries_of(source.rotation)]
    if source.value is not None:
        data["value"] = columns.of(source.value)
    return data


def _affine(form: dict[str, Any], key: str, base: Array, parts: Mapping[int, Array], size: float) -> None:
    """Write vertices as their values at zero sizes and their derivatives with respect to each
    size; rigid strokes without the zero entry s.
    """
    parts = {c: slope for c, slope in parts.items() if slope.any()}
    flat = key == "p" and not base[:, 0].any() and not any(slope[:, 0].any() for slope in parts.values())
    if not parts and not flat:
        return

    ring = flat and _is_ring(base) and all(map(_is_ring, parts.values()))

    def rounded(values: Array) -> list[float | int] | int:
        near = np.where(np.abs(values) < _SET_TO_ZERO * size, 0.0, values)[:, int(flat) :]
        near = np.array([near[0, 0], near[_QUARTER, 1]]) if ring else near
        return (
            [int(v) if v == int(v) else float(f"{v:.{_VERTEX_DIGITS}g}") for v in near.ravel().tolist()] if near.any() or not parts else 0
        )

    form |= {"base": rounded(base), "parts": [[column, rounded(slope)] for column, slope in parts.items()]}
    form |= {"ring": 4 * _QUARTER} if ring else {"flat": True} if flat else {}
    del form[key]


def _is_ring(points: Array) -> bool:
    """Tell whether points are the corners of an ellipse about the origin, which its semiaxes determine."""
    if len(points) != 4 * _QUARTER:
        return False
    u = 2 * np.pi * np.arange(len(points)) / len(points)
    wanted = np.column_stack([0 * u, points[0, 1] * np.cos(u), points[_QUARTER, 2] * np.sin(u)])
    return np.allclose(points, wanted, rtol=0, atol=_RING_ERROR * (np.abs(points).max() or 1.0))


def _bare(item: Item) -> Item:
    """An item with a single sample, whose arrays the page makes."""
    first: dict[str, Any] = {"place": item.place[:1]}
    match item:
        case Piece():
            return replace(item, **first, angle=item.angle[:1], length=item.length[:1])
        case Solid():
            return replace(item, **first, rotation=item.rotation[:1], stretch=item.stretch[:1])
        case Words():
            return replace(item, **first, values=None)
        case _:
            return replace(item, **first)


def _place(texts: str | Sequence[str | float], dimension: int, columns: Columns) -> list[int]:
    return [columns.of(e) for e in (*texts, *("0",) * dimension)[:dimension]]
