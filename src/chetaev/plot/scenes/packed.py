"""Meshes in few characters: a page with several bodies would otherwise consist of their corners.

Numbers are whole multiples of a unit, equal lists stand once, and faces are runs, since those of tubes and balls follow each other in
constant steps. `unpacked` in `plot/web/recipes.js` is the inverse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

_DIGITS = 4
"""Decimal digits of coordinates relative to the largest of a list: a tenth of a pixel of a body that fills the screen."""


def packed(meshes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return meshes as data of a page: `meshes` refer to `lists` and to `faces` by index; no list is None."""
    lists: list[Any] = []
    faces: list[Any] = []

    def index(found: Any, among: list[Any]) -> int:
        if found not in among:
            among.append(found)
        return among.index(found)

    def numbers(values: Any) -> int | None:
        return index(_whole(values), lists) if values else None

    made = []
    for mesh in meshes:
        data = {"f": index({"runs": _runs(mesh["f"]), "c": _repeated(mesh["c"])}, faces), "p": mesh["p"]}
        if "parts" in mesh:
            parts = [[column, numbers(slope)] for column, slope in mesh["parts"]]
            made.append({**data, "base": numbers(mesh["base"]), "parts": parts})
        else:
            made.append({**data, "v": numbers(mesh["v"])})
    return {"meshes": made, "lists": lists, "faces": faces}


def _whole(values: Sequence[float]) -> list[float | int]:
    """The unit, and the numbers as multiples of it."""
    largest = max(map(abs, values))
    places = _DIGITS - math.ceil(math.log10(largest)) if largest > 0 else 0
    return [float(f"1e{-places}"), *[round(v * 10.0**places) for v in values]]


def _runs(faces: Sequence[Sequence[int]]) -> list[Any]:
    """Faces as runs [face, step, count]: the corners of each are those of the one before plus the step."""
    runs: list[Any] = []
    last: Sequence[int] = []
    for face in faces:
        step = [b - a for a, b in zip(last, face, strict=True)] if len(last) == len(face) else None
        if runs and step is not None and runs[-1][1:] == [0, 1]:
            runs[-1][1:] = [step, 2]
        elif runs and step is not None and runs[-1][1] == step:
            runs[-1][2] += 1
        else:
            runs.append([face, 0, 1])
        last = face
    return runs


def _repeated(values: Sequence[int]) -> list[int]:
    """Values and how often each follows itself."""
    return [entry for value, group in groupby(values) for entry in (value, len(list(group)))]
