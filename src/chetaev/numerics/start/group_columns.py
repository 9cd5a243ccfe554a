"""The elements and velocities of group coordinates along a motion, read from columns with names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from chetaev.core.system import group_named
from chetaev.mechanics.equations import Equations
from chetaev.numerics.start.attitude import Array, matrices, on_side, quaternions


class GroupColumns(ABC):
    """Abstract: reads group coordinates from named columns."""

    @property
    @abstractmethod
    def _of(self) -> Equations:
        """The equations the columns belong to."""

    @abstractmethod
    def __getitem__(self, name: str) -> Any:
        """A column by name."""

    def rotation(self, name: str) -> Array:
        """The matrices of a group coordinate: an array of 3x3 rotations for SO3, of homogeneous matrices for SE2 and SE3.

        Args:
            name: The name of a group coordinate.

        Raises:
            UsageError: If the system has no group coordinate `name`.
        """
        return self.matrix(name)

    def matrix(self, name: str) -> Array:
        """The matrices of a coordinate in any group.

        Args:
            name: The name of a group coordinate.

        Raises:
            UsageError: If the system has no group coordinate `name`.
        """
        return matrices(*self._places(name))

    def quaternion(self, name: str) -> Array:
        """The unit quaternions (scalar first) of a rotation or rigid motion of space.

        Args:
            name: The name of a group coordinate in SO3 or SE3.

        Raises:
            UsageError: If the system has no such group coordinate.
        """
        return quaternions(*self._places(name))

    def velocity(self, name: str, side: str) -> Array:
        """The velocity of a group coordinate, in `"body"` or in `"spatial"` components.

        Args:
            name: The name of a group coordinate.
            side: `"body"` or `"spatial"`.

        Raises:
            UsageError: If the system has no group coordinate `name`, or if `side` is another word.
        """
        group, places = self._places(name)
        stated = np.stack([self[q.d().name] for q in group.components], axis=-1)
        return on_side(group, places, stated, side, f"motion of {self._of.system.label}")

    def angular_velocity(self, name: str, side: str) -> Array:
        """The angular velocity of a group coordinate, in `"body"` or in `"spatial"` components.

        Args:
            name: The name of a group coordinate.
            side: `"body"` or `"spatial"`.

        Raises:
            UsageError: If the system has no group coordinate `name`, or if `side` is another word.
        """
        group, _ = self._places(name)
        found: Array = self.velocity(name, side)[..., group.group.rotation]
        return found

    def _places(self, name: str) -> Any:
        group = group_named(self._of.system, name, f"motion of {self._of.system.label}")
        return group, np.stack([self[z.name] for z in group.places], axis=-1)
