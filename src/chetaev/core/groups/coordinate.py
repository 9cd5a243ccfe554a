r"""A group-valued coordinate: its components, entries and places, and how they move.

The fields $X_a$ with $\xi^a = A_a'$ are left-invariant for body components ($X_a A = A E_a$) and right-invariant for spatial ones
($X_a A = E_a A$). With $[E_a, E_b] = c^c_{ab} E_c$ their brackets are $[X_a, X_b] = c^c_{ab} X_c$ and $-c^c_{ab} X_c$: this sign is all
that distinguishes the Euler-Poincare equations of the two sides (001, section 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import sympy
from sympy import Expr, S, Symbol

from chetaev.core.errors import ModelError
from chetaev.core.fixes import Ask
from chetaev.core.groups.kinds import Group
from chetaev.core.groups.lookup import group_of
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Entry, Place, component_name, entry_name

_RESERVED_SIZES = (6, 4)
"""Dimension and size whose names every group coordinate A reserves, A1 to A6 and A11 to A44: another group then needs no other names."""


@public
@dataclass(frozen=True)
class GroupCoordinate:
    """A coordinate `name` that takes values in a group, with velocities on one side.

    In lower case the word names the Lie algebra: then only the velocity is known, as in a system reduced by its symmetry, and there are no
    entries and no places.
    """

    name: str
    """The name of the coordinate."""
    key: str
    """The word of the group, such as `SO3`, or of its Lie algebra, such as `so3`; with its data in braces if it belongs to one system."""
    body: bool
    """Whether velocities are body components; otherwise they are spatial."""

    @property
    def word(self) -> str:
        """The word of the group or of its Lie algebra."""
        return self.key.partition("{")[0]

    @cached_property
    def group(self) -> Group:
        """The group."""
        found = group_of(self.key)
        if found is None:  # declarations are checked before; a stored motion may name a group that is not registered
            raise ModelError(
                f"{self.word} is not a group.", where=f"coordinate {self.name}", hint=(Ask("ch.register", "..."), " the group first")
            )
        return found

    @property
    def reduced(self) -> bool:
        """Whether only the velocity is known."""
        return self.group.algebra_only or self.key.islower()

    @cached_property
    def components(self) -> tuple[Coordinate, ...]:
        """`A1`, `A2`, ...: quasi-coordinates, which have derivatives and variations but no values."""
        return tuple(Coordinate(component_name(self.name, a + 1)) for a in range(self.group.dimension))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The stored numbers of an element, such as a quaternion."""
        names = tuple(q.base for q in self.components)
        return () if self.reduced else tuple(Place(f"{self.name}.{suffix}", 0, names) for suffix in self.group.places)

    @cached_property
    def chart(self) -> dict[Symbol, Expr]:
        """The entries of the matrix as expressions in the places; entries that are constant are left out."""
        if self.reduced:
            return {}
        written = self.group.matrix(self.places, sympy.cos, sympy.sin)
        cells = [(i, j) for i in range(self.group.size) for j in range(self.group.size) if isinstance(self.matrix[i, j], Entry)]
        return {self._entry(i, j): written[i][j] for i, j in cells}

    @cached_property
    def matrix(self) -> sympy.ImmutableMatrix:
        """The matrix of entries."""
        n = self.group.size
        if isinstance(self.group, MatrixGroup):
            cells = {(i, j): self.group.cell(i, j) for i in range(n) for j in range(n)}
            return sympy.ImmutableMatrix(n, n, lambda i, j: cells[i, j][2] * self._entry(*cells[i, j][:2]))
        written = self.group.matrix(self.places, sympy.cos, sympy.sin)
        return sympy.ImmutableMatrix(n, n, lambda i, j: self._entry(i, j) if isinstance(written[i][j], Expr) else written[i][j])

    @cached_property
    def entries(self) -> dict[str, Expr]:
        """The entries by name, `A11` to `A33`."""
        n = range(0 if self.reduced else self.group.size)
        return {entry_name(self.name, i + 1, j + 1): self.matrix[i, j] for i in n for j in n}

    @cached_property
    def fields(self) -> tuple[Mapping[Symbol, Expr], ...]:
        """For each component the rates of entries and places when it alone has velocity one."""
        return tuple(self._field(a) for a in range(self.group.dimension))

    @cached_property
    def structure(self) -> dict[tuple[int, int], dict[int, Expr]]:
        """The structure constants of the fields, by their numbers."""
        sign = 1 if self.body else -1
        return {pair: {c: sign * S(value) for c, value in parts.items()} for pair, parts in self.group.brackets.items()}

    def _field(self, a: int) -> dict[Symbol, Expr]:
        if self.reduced:
            return {}
        basis, n = sympy.Matrix(self.group.basis[a]), self.group.size
        moved = self.matrix * basis if self.body else basis * self.matrix
        found = {self.matrix[i, j]: moved[i, j] for i in range(n) for j in range(n) if isinstance(self.matrix[i, j], Entry)}
        unit = [S.One if b == a else S.Zero for b in range(self.group.dimension)]
        rates = self.group.rates(self.places, unit, self.body, sympy.cos, sympy.sin)
        found |= {z: S(rate) for z, rate in zip(self.places, rates, strict=True)}
        return {z: rate for z, rate in found.items() if rate != 0}

    def _entry(self, i: int, j: int) -> Entry:
        return Entry(self.name, self.key, i + 1, j + 1, tuple(q.base for q in self.components))

    def __str__(self) -> str:
        if not self.group.sided and (self.body or not self.group.algebra_only):
            return self.word
        return f"{self.word} {'body' if self.body else 'spatial'}"


@lru_cache(maxsize=256)
def coordinate_of(name: str, key: str, body: bool = True) -> GroupCoordinate:
    """A group coordinate from a cache, so that its chart, matrix and fields are computed once."""
    return GroupCoordinate(name, key, body)


def reserved_names(name: str, group: Group) -> list[str]:
    """The names that a coordinate `name` with values in `group` reserves: of its components and of its entries."""
    dimension, size = max(_RESERVED_SIZES[0], group.dimension), max(_RESERVED_SIZES[1], group.size)
    components = [component_name(name, a + 1) for a in range(dimension)]
    return components + [entry_name(name, i + 1, j + 1) for i in range(size) for j in range(size)]


def in_chart(symbol: Symbol) -> Expr | None:
    """An entry of a group element as an expression in the places; None for any other symbol."""
    return coordinate_of(symbol.group, symbol.kind).chart[symbol] if isinstance(symbol, Entry) else None
