"""The definition of quasi-velocities: read, checked, and completed to as many as there are coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from sympy import Add, Expr, Rational, S

from chetaev.core.calculus import degree
from chetaev.core.declarations import read_value
from chetaev.core.errors import ModelError, UsageError, require_mapping
from chetaev.core.functions import has_corner_in
from chetaev.core.notation import show
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import TIME, Coordinate, Input, Jet, jets_in
from chetaev.core.system import System, fresh_coordinates
from chetaev.core.zero import known_zero
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles.base import points_of
from chetaev.mechanics.ranks.generic import Point, matrices_at
from chetaev.mechanics.ranks.row_reduction import row_reduce
from chetaev.transforms.tools.nullspace import independent
from chetaev.transforms.tools.velocity_frame import VelocityFrame

_MOST = 5000
"""Choices of coordinates that are compared with each other; for more, row reduction chooses."""
_TINY = 1e-9
"""Relative determinant below which a frame is singular at a point."""


@dataclass(frozen=True)
class Definition:
    """Quasi-velocities as the user wrote them, completed to as many as there are coordinates."""

    source: Equations
    where: str
    given: Mapping[str, Any] | None

    @cached_property
    def plain(self) -> System:
        """The system without named expressions: the target has none, so their names are free."""
        return self.source.system.replace(where={}, quasi={})

    @cached_property
    def read(self) -> dict[str, Expr]:
        """The formulas by name."""
        system = self.source.system
        formulas = dict(system.quasi) if self.given is None else self._parsed(self.given)
        if not formulas:
            raise UsageError(
                "no quasi-velocity is given.",
                where=self.where,
                hint='quasi={...} in the system, or velocities={"v": "x\'*cos(theta) + y\'*sin(theta)", ...}',
            )
        if len(formulas) > len(system.coordinates):
            raise ModelError(
                f"{len(formulas)} quasi-velocities are given for {len(system.coordinates)} coordinates.",
                where=self.where,
                why="They depend on each other.",
                hint=f"at most {len(system.coordinates)} of them: velocities={{...}}",
            )
        return formulas

    def _parsed(self, given: Mapping[str, Any]) -> dict[str, Expr]:
        require_mapping(given, "velocities are", self.where, 'velocities={"v": "..."}')
        names = [spell(str(name)) for name in given]
        taken = [n for n, z in zip(names, fresh_coordinates(self.plain, names), strict=True) if n != z.base]
        if taken:
            raise UsageError(f"{taken[0]} has a meaning already.", where=self.where, hint="another name")
        vocabulary = self.source.system.vocabulary
        return {n: read_value(e, vocabulary, f"{self.where}, {n}") for n, e in zip(names, given.values(), strict=True)}

    @cached_property
    def points(self) -> list[Point]:
        """Points of the constraint manifold."""
        return points_of(self.source.system, self.source.system.kinematic)

    @cached_property
    def formulas(self) -> dict[Coordinate, Expr]:
        """All quasi-velocities by velocities."""
        slopes = [_affine(n, e, self.source.system, self.where)[0] for n, e in self.read.items()]
        if not independent(slopes, self.points):
            raise ModelError(
                f"the quasi-velocities {' '.join(self.read)} depend on each other.",
                where=self.where,
                why="Different velocities would have the same quasi-velocities.",
                hint="independent combinations of the velocities",
            )
        added = [self.source.system.coordinates[i] for i in self._free_columns(slopes)]
        names = fresh_coordinates(self.plain, [*self.read, *[f"v_{q.base}" for q in added]])
        return dict(zip(names, [*self.read.values(), *[q.d() for q in added]], strict=True))

    def _free_columns(self, slopes: Sequence[Sequence[Expr]]) -> list[int]:
        """The coordinates whose velocities complete the frame with the largest determinant, at random points and at the origin."""
        count, width = len(slopes), len(self.source.system.coordinates)
        if comb(width, count) > _MOST:
            return row_reduce(slopes, self.points).free_columns()
        origin = {z: 0.0 for row in slopes for e in row for z in e.free_symbols if isinstance(z, Jet) or z == TIME}
        inside, everywhere = (matrices_at(slopes, points) for points in (self.points, [*self.points, origin]))

        def safety(columns: tuple[int, ...]) -> tuple[bool, float, float]:
            sizes = [abs(np.linalg.det(a[:, columns] / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), _TINY))) for a in everywhere]
            return min(sizes[: len(inside)]) > _TINY, round(min(sizes), 9), float(np.mean(sizes))

        chosen = max(combinations(range(width), count), key=safety)
        return [i for i in range(width) if i not in chosen]

    @cached_property
    def frame(self) -> VelocityFrame:
        """The quasi-velocities as a frame."""
        system = self.source.system
        slopes, rests = zip(*[_affine(w.base, e, system, self.where) for w, e in self.formulas.items()], strict=True)
        return VelocityFrame(system.coordinates, tuple(self.formulas), slopes, rests)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on the velocities that were added."""
        added = list(self.formulas.items())[len(self.read) :]
        if not added:
            return ()
        words = ", ".join(f"{w.base} = {show(e)}" for w, e in added)
        return (f"Added to {' '.join(self.read)}, so that there are as many as coordinates: {words}.",)


def _affine(name: str, e: Expr, system: System, where: str) -> tuple[tuple[Expr, ...], Expr]:
    """The coefficients of the velocities in a quasi-velocity, and the rest."""
    velocities = system.velocities
    strange = [z for z in jets_in(e) if not isinstance(z, Input) and z not in (*system.coordinates, *velocities)]
    if strange:
        raise ModelError(
            f"{name} contains {sorted(z.name for z in strange)[0]}: {show(e)}",
            where=where,
            why="A quasi-velocity is a function of positions, velocities and time.",
            hint=f"{name} as a sum of coefficient times velocity",
        )
    if degree(e, velocities) <= 1:
        slopes = tuple(e.diff(v) for v in velocities)
        return slopes, e.xreplace(dict.fromkeys(velocities, S.Zero))
    if has_corner_in(e, velocities) or any(not known_zero(e.diff(v).diff(w)) for v in velocities for w in velocities):
        raise ModelError(
            f"{name} is not linear in the velocities: {show(e)}",
            where=where,
            why="Quasi-velocities are coordinates on the linear space of velocities.",
            hint=f"{name} as a sum of coefficient times velocity",
        )
    anywhere = dict.fromkeys(velocities, Rational(7, 5))  # velocities cancel here; at rest a formula may be 0/0
    slopes = tuple(e.diff(v).xreplace(anywhere) for v in velocities)
    return slopes, (e - Add(*[c * v for c, v in zip(slopes, velocities, strict=True)])).xreplace(anywhere)
