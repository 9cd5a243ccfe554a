"""Animations as parts of a page: the drawing as JSON, and the scripts that play it. A page needs no network."""

from __future__ import annotations

import hashlib
import html
import json
from functools import lru_cache
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from chetaev.core.scene.fields import WHITE
from chetaev.plot.scenes.drawing import Array, Camera, Dot, Drawing, Item, Mesh, Piece, Solid, Track, Window, Words, mixed, nice_step, still
from chetaev.plot.scenes.text import pretty, time_digits
from chetaev.plot.scenes.values import quaternions

if TYPE_CHECKING:
    from chetaev.plot.animation import Animation

_PLACE_DIGITS = 5
"""Decimal digits of positions, relative to the size of the picture: finer than a pixel. More digits make pages larger."""
_numbers = count(1)


def fragment(animation: Animation, *, library: bool = True, autoplay: bool = True) -> str:
    """Return an element and the script that fills it. Each call has a new id; all global names of the scripts begin with `chetaev`."""
    data = encode(animation, autoplay)
    name = f"chetaev-{hashlib.sha256(data.encode()).hexdigest()[:8]}-{next(_numbers)}"
    scripts = f"{scripts_for(isinstance(animation.page_drawing.view, Camera))}\n" if library else ""
    return (
        f'<div id="{name}" class="chetaev-animation" style="max-width:800px"><noscript>Playing this needs JavaScript.</noscript></div>\n'
        f"{scripts}"
        f'<script>(window.chetaevAnimations = window.chetaevAnimations || []).push(["{name}", {data}]);</script>\n'
    )


def scripts_for(space: bool) -> str:
    """Return the scripts that a page needs once; animations in space (`space`) need three.js as well."""
    three = f"<script>if (!window.chetaevThree) {{\n{script('three.min.js')}\ndelete window.__THREE__;\n}}</script>\n" if space else ""
    parts = "\n".join(script(name) for name in ("plane.js", "space.js", "viewer.js"))
    return f'{three}<script>\n(function () {{\n"use strict";\n{parts}}})();\n</script>'


def page(animation: Animation) -> str:
    """Return a page with only the animation."""
    title = html.escape(animation.page_drawing.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>body {{ margin: 8px; background: #fff; }} .chetaev-animation {{ margin: 0 auto; }}</style>\n"
        f"</head>\n<body>\n{fragment(animation)}</body>\n</html>\n"
    )


def enclosed(animation: Animation) -> str:
    """Return the page in a frame, for notebooks, so that their scripts and styles do not affect it."""
    inside = html.escape(animation.page(), quote=True)
    tall = round(784 / animation.page_drawing.ratio) + (430 + 34 * len(animation.slides) if animation.slides else 96)
    return (
        f'<iframe srcdoc="{inside}" title="{html.escape(animation.page_drawing.title)}" loading="lazy" '
        f'style="width:100%;max-width:802px;aspect-ratio:802/{tall};border:0"></iframe>'
    )


def encode(animation: Animation, autoplay: bool) -> str:
    """Return the drawing as JSON, escaped for use inside a script."""
    drawing = animation.page_drawing
    meshes: list[Mesh] = []
    size = _size(drawing)
    data = drawing_data(drawing) | {"clock": animation.clock, "seconds": animation.seconds, "autoplay": autoplay}
    data["items"] = [item_data(item, size, meshes) for item in drawing.items]
    data["meshes"] = [mesh_data(mesh, size) for mesh in meshes]
    return in_script(data)


def in_script(data: Any) -> str:
    """Return data as JSON that cannot end a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def drawing_data(drawing: Drawing) -> dict[str, Any]:
    """Return the data of a drawing without its items."""
    view = drawing.view
    return {
        "title": drawing.title[:1].upper() + drawing.title[1:],
        "caption": drawing.caption,
        "legend": [list(entry) for entry in drawing.legend],
        "t": [float(drawing.times[0]), float(drawing.times[-1])],
        "digits": time_digits(abs(float(drawing.times[-1] - drawing.times[0]))),
        "n": len(drawing.times),
        "ratio": round(drawing.ratio, 4),
        "space": isinstance(view, Camera),
        **_view(view, _size(drawing)),
        "axes": _axes(drawing) if drawing.axes else None,
        "floor": _floor(drawing),
    }


@lru_cache
def script(name: str) -> str:
    """Return the text of a script of `plot/web`."""
    return (files("chetaev.plot") / "web" / name).read_text(encoding="utf-8")


def _size(drawing: Drawing) -> float:
    return float(drawing.view.half.max()) if isinstance(drawing.view, Window) else drawing.view.distance


def _view(view: Window | Camera, size: float) -> dict[str, Any]:
    if isinstance(view, Window):
        x, y = (_list(still(view.centre[:, i]), size) for i in (0, 1))
        return {"cx": x, "cy": y, "half": [float(f"{h:.7g}") for h in view.half]}
    tx, ty, tz = (_list(still(view.target[:, i]), size) for i in (0, 1, 2))
    lens = {"distance": view.distance, "azimuth": view.azimuth, "elevation": view.elevation, "fov": view.fov}
    return {"tx": tx, "ty": ty, "tz": tz, **{name: float(f"{value:.7g}") for name, value in lens.items()}}


def _floor(drawing: Drawing) -> dict[str, Any] | None:
    floor = drawing.floor
    if floor is None:
        return None
    share = 0.55 if isinstance(drawing.view, Camera) else 0.75 if floor.height is None else 0.85
    return {"height": floor.height, "spacing": floor.spacing, "colour": floor.colour, "pale": mixed(floor.colour, WHITE, share)}


def _axes(drawing: Drawing) -> dict[str, Any]:
    """Names and ticks of a graph."""
    view = drawing.view
    if not isinstance(view, Window) or drawing.axes is None:
        raise TypeError("axes belong to a planar picture")
    left, right, bottom, top = view.limits(0)
    found: dict[str, Any] = {"names": [pretty(name) for name in drawing.axes]}
    for name, low, high, parts in (("x", left, right, 7), ("y", bottom, top, 6)):
        step = nice_step(high - low, parts)
        found[name] = [float(f"{k * step:.6g}") for k in range(int(np.ceil(low / step)) - 4, int(np.floor(high / step)) + 5)]
    return found


def item_data(item: Item, size: float, meshes: list[Mesh]) -> dict[str, Any]:
    """Return a part of a drawing with its arrays; a new mesh is added to `meshes`."""
    names = "xyz"[: item.place.shape[1]]
    moves = isinstance(item, Track)  # all points of a path are needed even if it does not move
    where = {name: _list(item.place[:, i] if moves else still(item.place[:, i]), size) for i, name in enumerate(names)}
    match item:
        case Piece():
            strokes = [
                {"p": _list(s.points.ravel(), size), "fill": s.fill, "edge": s.edge, "width": s.width, "closed": s.closed}
                for s in item.strokes
            ]
            return {"kind": "piece", "strokes": strokes, **where, "a": _list(still(item.angle), 1), "l": _list(still(item.length), size)}
        case Dot():
            return {"kind": "dot", **where, "r": item.radius, "fill": item.fill, "edge": item.edge}
        case Track():
            return {"kind": "track", **where, "colour": item.colour, "finer": item.finer, "steps": item.steps, "width": item.width}
        case Words():
            values = None if item.values is None else [float(f"{v:.4g}") for v in item.values]
            look = {"colour": item.colour, "shift": item.shift, "align": item.align, "size": item.size}
            return {"kind": "words", **where, "text": item.text, "values": values, **look}
        case Solid():
            known = next((k for k, mesh in enumerate(meshes) if mesh is item.mesh or _same(mesh, item.mesh)), len(meshes))
            if known == len(meshes):
                meshes.append(item.mesh)
            turned = quaternions(still(item.rotation))
            return {"kind": "solid", "mesh": known, **where, "q": _list(turned.ravel(), 0.3), "l": _list(still(item.stretch), size)}


def _same(a: Mesh, b: Mesh) -> bool:
    return a.paints == b.paints and np.array_equal(a.faces, b.faces) and np.array_equal(a.vertices, b.vertices)


def mesh_data(mesh: Mesh, size: float) -> dict[str, Any]:
    """Return vertices, faces and colours of a mesh."""
    palette = list(dict.fromkeys(mesh.paints))
    extent = float(np.abs(mesh.vertices).max()) or size
    return {
        "v": _list(mesh.vertices.ravel(), min(10 * size, 10 * extent)),
        "f": [face[:3] if face[2] == face[3] else face for face in mesh.faces.tolist()],
        "c": [palette.index(paint) for paint in mesh.paints],
        "p": palette,
    }


def _list(values: Array, size: float) -> list[float | int]:
    """Round numbers to `_PLACE_DIGITS` digits of `size`; integers have no decimal point."""
    digits = int(np.clip(_PLACE_DIGITS - np.floor(np.log10(size)), 0, 15)) if size > 0 else _PLACE_DIGITS
    rounded = np.round(np.nan_to_num(values), digits)
    return [int(v) if v == int(v) else v for v in rounded.tolist()]
