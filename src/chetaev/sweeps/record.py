"""The description in a store: points, measures, model, version and processor of a sweep. It decides whether a call can resume a store."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.support.version import VERSION
from chetaev.io.writing import dumps
from chetaev.sweeps.measures import described
from chetaev.sweeps.points import Points
from chetaev.sweeps.study import OUTCOMES, Study, plain_settings, processor

FORMAT = 1
"""Version of the layout of stores; a store with a larger number was written by a later version of the library."""

_SUBJECTS = {
    "model": "the model differs",
    "points": "the points differ",
    "measures": "the measures differ",
    "chunks": "the size of the chunks differs",
}
"""The keys of a description that must agree with a store that is resumed, with the text of the message if they do not."""


def record_of(study: Study, points: Points, chunks: tuple[int, ...]) -> dict[str, Any]:
    """The description of a sweep."""
    return {
        "format": FORMAT,
        "model": dumps(study.model, "sweep"),
        "points": {
            "dimensions": list(points.dimensions),
            "shape": list(points.shape),
            "grid": points.is_grid,
            "names": list(points.values),
            "sha256": {name: digest(values) for name, values in points.values.items()},
        },
        "measures": {name: described(measure) for name, measure in study.measures.items()},
        "chunks": list(chunks),
        "settings": plain_settings(study.model),
        "outcomes": list(OUTCOMES),
        "versions": {"chetaev": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        "processor": processor(),
    }


def digest(values: Any) -> str:
    """A checksum of an array of numbers."""
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def sealed(record: Mapping[str, Any]) -> dict[str, str]:
    """The description with its checksum, as attributes of a store."""
    text = json.dumps(record, ensure_ascii=False)
    return {"chetaev_sweep": text, "chetaev_sha256": hashlib.sha256(text.encode("utf-8")).hexdigest()}


def unsealed(attributes: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """Read the description in the attributes of a store; raise an error if it is missing, damaged or of a later version."""
    text = attributes.get("chetaev_sweep")
    if not isinstance(text, str):
        raise UsageError(f"{name} is not a store of a sweep.", where=where, hint="another name; nothing was changed")
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != attributes.get("chetaev_sha256"):
        raise UsageError(
            f"the description in {name} is damaged: its checksum does not match.",
            where=where,
            hint="restore zarr.json from a backup; the results beside it were not changed",
        )
    found: dict[str, Any] = json.loads(text)
    if found.get("format", 0) > FORMAT:
        version = found.get("versions", {}).get("chetaev", "a later version")
        raise UsageError(
            f"{name} was written by chetaev {version}, which is later than this one ({VERSION}).",
            where=where,
            hint=f"open it with chetaev {version} or later; nothing was changed",
        )
    return found


def require_same(found: Mapping[str, Any], wanted: Mapping[str, Any], name: str, where: str) -> None:
    """Raise a UsageError if a store holds a different sweep than `wanted`."""
    for key, said in _SUBJECTS.items():
        if found.get(key) != wanted[key]:
            what = f"{name} holds another sweep: {said}."
            raise UsageError(what, where=where, why=_difference(found.get(key), wanted[key]), hint="another name; nothing was changed")


def require_same_bits(found: Mapping[str, Any], wanted: Mapping[str, Any], name: str, where: str) -> None:
    """Raise a UsageError if new chunks may differ from those of the store in their last bits, because versions or processors differ."""
    hint = (
        "finish it where it began, choose another name, or accept results that may differ in their last digits: ",
        SetArgument("anywhere", True),
    )
    there, here = found.get("versions", {}), wanted["versions"]
    for package in ("chetaev", "numpy"):
        if there.get(package) != here[package]:
            what = f"{name} was begun with {package} {there.get(package)}, and this is {package} {here[package]}."
            raise UsageError(what, where=where, hint=hint)
    require_same_processor(str(found.get("processor")), wanted["processor"], name, where)


def require_same_processor(there: str, here: str, name: str, where: str) -> None:
    """Raise a UsageError for another processor than that of the store."""
    if there != here:
        first, second = there.split(" ")[0], here.split(" ")[0]
        what = f"{name} was begun on a processor {first}, and this one is {second} or has other features."
        hint = (
            "finish it where it began, choose another name, or accept results that may differ in their last digits: ",
            SetArgument("anywhere", True),
        )
        raise UsageError(what, where=where, hint=hint)


def _difference(there: Any, here: Any) -> str:
    """The first difference between two entries of descriptions, as a sentence."""
    if isinstance(there, str) and isinstance(here, str):
        pairs = zip(there.splitlines(), here.splitlines(), strict=False)
        line = next(((a, b) for a, b in pairs if a != b), None)
        return "" if line is None else f"There: {line[0].strip()[:120]}  Here: {line[1].strip()[:120]}"
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for name in [*there, *[name for name in here if name not in there]]:
            if there.get(name) != here.get(name):
                if name == "sha256":
                    names = [z for z in there[name] if there[name][z] != here[name].get(z)] or list(there[name])
                    return f"The values of {' '.join(names)} differ."
                return f"{name}: {there.get(name)} there, {here.get(name)} here."
    return f"{there} there, {here} here."
