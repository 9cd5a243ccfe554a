"""Lie groups as coordinates: rotations and rigid motions without angles; reduction by symmetry and reconstruction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chetaev.groups.chart import in_coordinates
    from chetaev.groups.coordinate import GroupCoordinate
    from chetaev.groups.reduction import reduce

_HOMES = {"GroupCoordinate": "coordinate", "in_coordinates": "chart", "reduce": "reduction"}

__all__ = ["GroupCoordinate", "in_coordinates", "reduce"]


def __getattr__(name: str) -> Any:
    """Verbs are imported when they are first used: symbols and systems need the coordinates alone."""
    if name not in _HOMES:
        raise AttributeError(f"module 'chetaev.groups' has no attribute {name!r}")
    return getattr(import_module(f"chetaev.groups.{_HOMES[name]}"), name)
