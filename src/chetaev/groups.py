"""Lie groups as coordinates: rotations and rigid motions without angles, reduction by symmetry, and reconstruction."""

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.mechanics.group_chart import in_coordinates
from chetaev.transforms.group_reduction import reduce

__all__ = ["GroupCoordinate", "in_coordinates", "reduce"]
