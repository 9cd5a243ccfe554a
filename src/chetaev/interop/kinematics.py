"""Velocities of SymPy's points and frames, found from positions and orientations alone.

In `sympy.physics.mechanics` velocities may be declared, and declared velocities may already contain a constraint, such as rolling. Kane's
method allows that, since it uses partial velocities in independent speeds. Lagrange's equations do not: they need the kinetic energy off
the constraints, where such a declared velocity is wrong.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import sympy
from sympy import Expr
from sympy.physics.mechanics import dynamicsymbols
from sympy.physics.vector import Vector

from chetaev.core.errors import ModelError
from chetaev.core.fixes import Code, InPython, SetArgument

_MOST_SIMPLIFIED = 400
"""Largest number of operations of a relative angular velocity that is simplified; those about a single axis have fewer, and SymPy takes
seconds for longer ones."""


class Kinematics:
    """Velocities in an inertial frame, relative to a fixed point."""

    def __init__(self, frame: Any, origin: Any, where: str) -> None:
        self.frame, self.origin, self.where = frame, origin, where

    @cached_property
    def _turning(self) -> dict[Any, Any]:
        return {self.frame: Vector(0)}

    def angular_velocity(self, frame: Any) -> Any:
        """The angular velocity of a frame, from its orientation."""
        if frame not in self._turning:
            try:
                path = self.frame._dict_list(frame, 0)
            except ValueError:
                raise ModelError(
                    f"the orientation of {frame} relative to {self.frame} is not known.",
                    where=self.where,
                    why="The kinetic energy is found from orientations; a declared angular velocity may contain a constraint.",
                    hint=("orient the frame: ", InPython(f"{frame}.orient_axis({self.frame}, ...)")),
                ) from None
            total = Vector(0)
            for outer, inner in pairwise(path):
                total += _relative(outer, inner)
            self._turning[frame] = total
        return self._turning[frame]

    def load_velocity(self, place: Any, declared: bool) -> Any:
        """The velocity of a point or the angular velocity of a frame where a load acts.

        Where its position or orientation is not known, the declared velocity is returned if `declared` is true. Lagrange's method of SymPy
        states it for its loads; one that contains a constraint changes their generalised forces by multiples of the rows only.
        """
        turns = hasattr(place, "dcm")
        if not turns and self.origin is None:
            return self._declared_velocity(place)
        try:
            return self.angular_velocity(place) if turns else self.velocity(place)
        except ModelError:
            if not declared:
                raise
            return self._declared_velocity(place)

    def _declared_velocity(self, place: Any) -> Any:
        """The velocity or angular velocity that SymPy knows, declared or found from declared ones."""
        turns = hasattr(place, "dcm")
        try:
            return place.ang_vel_in(self.frame) if turns else place.vel(self.frame)
        except ValueError:
            call = "set_ang_vel" if turns else "set_vel"
            raise ModelError(
                f"the {'angular velocity' if turns else 'velocity'} of {place} in {self.frame} is not known, and a load acts there.",
                where=self.where,
                why="The generalised force of a load is its product with the partial velocities.",
                hint=("declare it: ", InPython(f"{place}.{call}({self.frame}, ...)")),
            ) from None

    def velocity(self, point: Any) -> Any:
        """The velocity of a point, from its position."""
        try:
            position = point.pos_from(self.origin)
        except ValueError:
            raise ModelError(
                f"the position of {point} relative to {self.origin} is not known.",
                where=self.where,
                why="The kinetic energy is found from positions; a velocity that is only declared may contain a constraint.",
                hint=(
                    f"locate {point}: ",
                    InPython(f"{point}.set_pos(...)"),
                    ", or name another fixed point: ",
                    SetArgument("origin", Code("O"), "from_mechanics"),
                ),
            ) from None
        found = Vector(0)
        t = dynamicsymbols._t
        for components, frame in position.args:
            part = Vector([(components, frame)])
            found += Vector([(components.diff(t), frame)]) + (self.angular_velocity(frame) ^ part)
        return found

    def kinetic_energy(self, body: Any) -> Expr:
        """The kinetic energy of a particle or a rigid body."""
        point = body.masscenter if hasattr(body, "masscenter") else body.point
        v = self.velocity(point)
        found = body.mass * (v & v) / 2
        if hasattr(body, "central_inertia") and hasattr(body, "frame"):
            w = self.angular_velocity(body.frame)
            found += (w & (body.central_inertia & w)) / 2
        return sympy.S(found)

    def declared(self, bodies: Any) -> dict[str, tuple[Any, Any]]:
        """The declared velocities of points and frames of bodies, each with that found from positions, by name."""
        found = {}
        for body in bodies:
            point = body.masscenter if hasattr(body, "masscenter") else body.point
            if self.frame in point._vel_dict:
                found[f"the velocity of {point}"] = point._vel_dict[self.frame], self.velocity(point)
            frame = getattr(body, "frame", None)
            if frame is not None and frame != self.frame:
                found[f"the angular velocity of {frame}"] = frame.ang_vel_in(self.frame), self.angular_velocity(frame)
        return found


def _relative(outer: Any, inner: Any) -> Any:
    """The angular velocity of a frame in the adjacent frame."""
    turn = outer.dcm(inner)
    spin = turn.T * turn.diff(dynamicsymbols._t)
    parts = [spin[2, 1], spin[0, 2], spin[1, 0]]
    parts = [sympy.trigsimp(e) if e.count_ops() <= _MOST_SIMPLIFIED else e for e in parts]
    return Vector([(sympy.Matrix(parts), inner)])


def fixed_point(bodies: Any, frame: Any, where: str) -> Any:
    """A point that is at rest in a frame, and from which the positions of bodies are known."""
    seen: list[Any] = []
    ahead = [body.masscenter if hasattr(body, "masscenter") else body.point for body in bodies]
    while ahead:
        point = ahead.pop(0)
        if point in seen:
            continue
        seen.append(point)
        if point._vel_dict.get(frame) == 0:
            return point
        ahead += list(point._pos_dict)
    raise ModelError(
        f"no fixed point is known: none of the points has the velocity zero in {frame}.",
        where=where,
        hint=(SetArgument("origin", Code("O"), "from_mechanics"), " with a point O at rest"),
    )
