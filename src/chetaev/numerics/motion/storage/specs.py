"""Principles and methods in the file of a motion, which is JSON and has no word for infinity: `{"float": "inf"}` stands for it."""

from __future__ import annotations

import math
from typing import Any

from chetaev.core.support.registry import Registry, Specified

_NUMBER = "float"
"""The only key of a mapping that stands for a number which JSON cannot write."""


def written_spec(value: Specified, registry: Registry[Any], where: str) -> dict[str, Any]:
    """`value` as data of JSON from which `read_spec` makes an equal value; an error if there are none."""
    found = registry.written(value, where)
    stored: dict[str, Any] = _stored({"name": found} if isinstance(found, str) else found)
    registry.require_same(read_spec(stored, registry, where), value, where)
    return stored


def read_spec(given: Any, registry: Registry[Any], where: str) -> Any:
    """The value of the registry that data of JSON describe."""
    return registry.of_spec(_restored(given), where)


def _stored(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _stored(v) for name, v in value.items()}
    if isinstance(value, list):
        return list(map(_stored, value))
    return {_NUMBER: str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        text = value.get(_NUMBER) if len(value) == 1 else None
        return float(text) if text in ("inf", "-inf", "nan") else {name: _restored(v) for name, v in value.items()}
    return list(map(_restored, value)) if isinstance(value, list) else value
