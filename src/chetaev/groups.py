"""Lie groups as coordinates: rotations and rigid motions without angles, reduction by symmetry, and reconstruction."""

from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.kinds import Group
from chetaev.core.groups.lie_algebra import LieAlgebra, lie_algebra
from chetaev.core.groups.matrix_group import MatrixGroup, matrix_group
from chetaev.core.groups.ready_made import ready_made
from chetaev.mechanics.group_charts.chart import in_coordinates
from chetaev.transforms.group_reduction import reduce

__all__ = ["Group", "GroupCoordinate", "LieAlgebra", "MatrixGroup", "in_coordinates", "lie_algebra", "matrix_group", "ready_made", "reduce"]
