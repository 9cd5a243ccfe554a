"""The values of a scene's expressions along a motion, at uniform times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import UsageError
from chetaev.core.scene import Shape
from chetaev.core.scene.fields import entries_of, turns_of
from chetaev.numerics.motion.trajectory import Trajectory

Array = NDArray[np.float64]

_SIZES = ("radius", "length", "width", "thickness", "scale", "semiaxes", "size")
"""The fields of shapes that are lengths."""
_AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Values:
    """Expressions along a motion at the given times.

    A motion without dense output is interpolated linearly between its stored times.
    """

    motion: Trajectory
    times: Array
    known: dict[str, Array] = field(default_factory=dict, repr=False)
    """The expressions that were evaluated so far."""

    def of(self, text: str | float) -> Array:
        """Evaluate an expression at all times."""
        word = str(text)
        if word not in self.known:
            number = number_of(word)
            self.known[word] = self._read(word) if number is None else np.full(len(self.times), number)
        return self.known[word]

    def constant(self, text: str | float) -> float:
        """Evaluate an expression at the first time."""
        return float(self.of(text)[0])

    def place(self, place: Sequence[str | float], dimension: int) -> Array:
        """Return a moving point, a row per time; a missing third coordinate is zero."""
        columns = [self.of(e) for e in place] + [np.zeros(len(self.times))] * (dimension - len(place))
        return np.column_stack(columns)

    def corner(self, place: Sequence[str | float], dimension: int) -> Array:
        """Return a point that is fixed in a body."""
        return np.array([self.constant(e) for e in place] + [0.0] * (dimension - len(place)))

    def rotation(self, given: str | None) -> Array:
        """Return rotation matrices, one per time, from turns about axes, nine entries or the name of a rotation."""
        found = np.tile(np.eye(3), (len(self.times), 1, 1))
        if given is None:
            return found
        turns = turns_of(given)
        if not turns:
            return np.column_stack([self.of(e) for e in entries_of(given)]).reshape(-1, 3, 3)
        for part in turns:
            axis, _, angle = part.partition(" ")
            found = found @ turn(_AXES[axis], self.of(angle.strip()))
        return found

    @cached_property
    def _single(self) -> Array | None:
        """Return the stored times of a motion without dense output, otherwise None."""
        if getattr(self.motion.reader, "dense", True):
            return None
        return self.motion.t

    @cached_property
    def _section(self) -> Any:
        return self.motion.at(self.times)

    def _read(self, text: str) -> Array:
        if self._single is None:
            return np.asarray(self._section[text], float)
        forward = 1.0 if self._single[-1] >= self._single[0] else -1.0
        return np.interp(forward * self.times, forward * self._single, self.motion[text])


def require_sizes(shapes: Iterable[Shape], values: Values) -> None:
    """Raise a UsageError for sizes that are negative or not a number: such shapes would be drawn inside out, or not at all."""
    for shape in shapes:
        for name in _SIZES:
            given = getattr(shape, name, None)
            for text in given if isinstance(given, tuple) else (given,):
                plain = isinstance(text, int | float) or number_of(str(text)) is not None
                v = 0.0 if text is None else float(text) if plain else values.constant(text)
                if not 0 <= v < np.inf:
                    raise UsageError(
                        f"{text} is not a size." if plain else f"{text} is {v:g} at the start, which is not a size.",
                        where=f"scene, {type(shape).__name__}, {name}",
                        hint="a number or an expression that is not negative, such as abs(...); leave it out for one that fits the picture",
                    )


def turn(axis: int, angles: Array) -> Array:
    """Return rotations about a coordinate axis by the right-hand rule."""
    c, s = np.cos(angles), np.sin(angles)
    found = np.tile(np.eye(3), (len(angles), 1, 1))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    found[:, i, i], found[:, i, j], found[:, j, i], found[:, j, j] = c, -s, s, c
    return found


def quaternions(rotations: Array) -> Array:
    """Return unit quaternions (x, y, z, w) of rotation matrices, with signs that are continuous in time."""
    m = rotations
    trace = m[:, 0, 0] + m[:, 1, 1] + m[:, 2, 2]
    # use the row of q q^T with the largest diagonal entry, which is the best conditioned
    outer = np.empty((len(m), 4, 4))
    for i in range(3):
        for j in range(3):
            outer[:, i, j] = m[:, i, j] + m[:, j, i] if i != j else 1 + 2 * m[:, i, i] - trace
        k, last = (i + 1) % 3, (i + 2) % 3
        outer[:, i, 3] = outer[:, 3, i] = m[:, last, k] - m[:, k, last]
    outer[:, 3, 3] = 1 + trace
    best = np.argmax(np.einsum("nii->ni", outer), axis=1)
    q = outer[np.arange(len(m)), best]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    jumps = np.sum(q[1:] * q[:-1], axis=1) < 0
    signs = np.concatenate([[1.0], np.where(jumps, -1.0, 1.0)]).cumprod()
    return q * signs[:, None]


def number_of(text: str) -> float | None:
    """Return the number that a string contains, or None for an expression."""
    return float(text) if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", text) else None
