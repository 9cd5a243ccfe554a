r"""A system with group coordinates, rewritten in ordinary coordinates near an element of the group.

Around $A_0$ a rotation is $A = A_0 R(y)$ for body velocities and $R(y) A_0$ for spatial ones, where $R(y)$ belongs to the quaternion
$(1, y/2)$ (Rodrigues parameters): near $A_0$ the numbers $y$ are the angles by which the body is turned about its own axes, or about those
of space. Everything becomes rational in $y$ and its derivatives; the chart ends at half turns. Positions and plane angles are shifted.
Groups of matrices have coordinates of the second kind (`product`).

Linearisation, integrability of constraints and Helmholtz' conditions use it, since they are stated for ordinary coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy
from sympy import Expr, Rational, S, Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import ModelError, UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.lie_algebra import LieAlgebra
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.rows.constraints import VariationalConstraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Entry, jets_in
from chetaev.core.system import System, fresh_coordinates
from chetaev.mechanics.group_charts.product import ProductChart

Rule = Callable[[Expr], Expr]


@public
def in_coordinates(system: System, at: Mapping[str, Sequence[Any]] | None = None) -> System:
    """The system with every group coordinate A in ordinary coordinates A_1, A_2, ... near an element of the group.

    Args:
        system: A system; without group coordinates it is returned as it is.
        at: The stored numbers of the element for each group coordinate, such as a quaternion; the identity by default.

    Returns:
        The system in ordinary coordinates, valid up to half turns from the element.

    Raises:
        UsageError: If `system` is not a system.

    >>> top = System({"A": "SO3 body"}, "I", lagrangian="I/2*(A1'^2 + A2'^2 + A3'^2)", name="ball")
    >>> in_coordinates(top).coordinates
    (A_1, A_2, A_3)
    """
    if not isinstance(system, System):
        raise UsageError(
            f"in_coordinates takes a System, not {type(system).__name__}.",
            where=about("in_coordinates", "system"),
            hint=Ask("in_coordinates", "equations.system" if hasattr(system, "system") else "system"),
        )
    if not system.groups:
        return system
    charts = {name: _chart(system, group, (at or {}).get(name)) for name, group in system.groups.items()}
    table: dict[Symbol, Expr] = {}
    variations: dict[Coordinate, dict[Coordinate, Expr]] = {}
    for chart in charts.values():
        table |= chart.entries()
        variations |= chart.slopes()

    def rule(e: Expr) -> Expr:
        there: dict[Symbol, Expr] = {z: table[z] for z in e.free_symbols if isinstance(z, Entry)}
        there |= {z: total_derivative(velocities[z.base], z.order - 1) for z in jets_in(e, Coordinate) if z.base in velocities}
        return e.xreplace(there)

    velocities = {q.base: e for chart in charts.values() for q, e in zip(chart.group.components, chart.velocities(), strict=True)}
    kinds: dict[str, str] = {}
    for name, kind in system.kinds.items():
        kinds |= charts[name].kinds() if name in charts else {name: kind}
    return system.replace(
        coordinates=kinds,
        lagrangian=rule(system.lagrangian),
        kinematic=[replace(row, text="", lhs=rule(row.lhs), rhs=rule(row.rhs)) for row in system.kinematic],
        variational=None if system.variational is None else [_along(row, variations, rule) for row in system.variational],
        forces=_forces(system, variations, rule),
        dissipation=rule(system.dissipation) if system.dissipation != 0 else None,
        where={},
        quasi={},
        groups={},
    )


def _chart(system: System, group: GroupCoordinate, centre: Sequence[Any] | None) -> _Chart | ProductChart:
    """The chart of a group coordinate: a special one for rotations, coordinates of the second kind for other groups without formulas."""
    return (ProductChart if isinstance(group.group, MatrixGroup | LieAlgebra) else _Chart)(system, group, centre)


def require_coordinates(system: System, verb: str) -> None:
    """Raise a ModelError for a system with group coordinates, for verbs that need ordinary ones."""
    if system.groups:
        name, group = next(iter(system.groups.items()))
        raise ModelError(
            f"{name} is an element of {group.word}, and {verb} works in ordinary coordinates.",
            where=f"{verb} {system.label}",
            hint=(Ask("ch.groups.in_coordinates", "system"), " writes the system in ordinary coordinates near an element"),
        )


class _Chart:
    """The stored numbers of one group coordinate as functions of ordinary coordinates."""

    def __init__(self, system: System, group: GroupCoordinate, centre: Sequence[Any] | None = None) -> None:
        self.group = group
        self.whole = GroupCoordinate(group.name, group.group.word, group.body)  # a coordinate in a Lie algebra also gets a position
        self.coordinates = tuple(fresh_coordinates(system, [f"{group.name}_{a + 1}" for a in range(group.group.dimension)]))
        self.centre = [Rational(c) for c in centre] if centre is not None else self._unit()
        self.places = self._places()

    def entries(self) -> dict[Symbol, Expr]:
        """The entries of the matrix."""
        there = dict(zip(self.whole.places, self.places, strict=True))
        return {entry: e.xreplace(there) for entry, e in self.whole.chart.items()}

    def velocities(self) -> list[Expr]:
        """The components `A1'`, `A2'`, ... of the velocity."""
        rates = [total_derivative(e) for e in self.places]
        return self.group.group.velocity(self.places, rates, self.group.body, sympy.cos, sympy.sin)

    def slopes(self) -> dict[Coordinate, dict[Coordinate, Expr]]:
        """The components of a variation by variations of the coordinates."""
        written = self.velocities()
        pairs = zip(self.group.components, written, strict=True)
        return {q: {y: slope for y in self.coordinates if (slope := e.diff(y.d())) != 0} for q, e in pairs}

    def kinds(self) -> dict[str, str]:
        """The kinds of the coordinates."""
        turning = range(self.group.group.dimension)[self.group.group.rotation] if len(self.coordinates) < 4 else ()
        plane = self.group.group.orthogonal == 2
        return {y.base: "angle" if plane and a in turning else "line" for a, y in enumerate(self.coordinates)}

    def _unit(self) -> list[Expr]:
        return [S(v) for v in self.group.group.identity]

    def _places(self) -> list[Expr]:
        shifts = [c + y for c, y in zip(self.centre, self.coordinates, strict=False)]
        if self.group.group.orthogonal != 3:
            return shifts
        still, q0 = self.centre[:-4], self.centre[-4:]
        small = [S.One, *[y / 2 for y in self.coordinates[-3:]]]
        turned = _product(q0, small) if self.group.body else _product(small, q0)
        return [*shifts[: len(still)], *turned]


def _product(a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr]:
    """The product of two quaternions."""
    return [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]


def _along(row: VariationalConstraint, variations: Mapping[Coordinate, Mapping[Coordinate, Expr]], rule: Rule) -> VariationalConstraint:
    """A variational row in the new coordinates, under the same name."""
    found: dict[Coordinate, Expr] = {}
    for q, c in row.coefficients.items():
        for y, slope in variations.get(q, {q: S.One}).items():
            found[y] = found.get(y, S.Zero) + rule(c) * slope
    return VariationalConstraint(Frozen({y: c for y, c in found.items() if c != 0}), name=row.name)


def _forces(system: System, variations: Mapping[Coordinate, Mapping[Coordinate, Expr]], rule: Rule) -> dict[str, Expr]:
    r"""Forces dual to the new coordinates: $u_y = u_a\, \partial \xi^a/\partial y'$."""
    found: dict[str, Expr] = {}
    for q, u in system.forces.items():
        for y, slope in variations.get(q, {q: S.One}).items():
            found[y.base] = found.get(y.base, S.Zero) + rule(u) * slope
    return found
