"""Lie groups as coordinates: rotations and rigid motions without angles, reduction by symmetry, and reconstruction."""

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.kinds import Group
from chetaev.mechanics.group_chart import in_coordinates
from chetaev.transforms.group_reduction import reduce

__all__ = ["Group", "GroupCoordinate", "in_coordinates", "reduce"]
