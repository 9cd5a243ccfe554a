r"""The search for symmetries of systems with group coordinates.

The fields are affine in the ordinary coordinates, as in `affine_fields`, and include translations of each group coordinate from both sides.
Each basis field is applied to the expressions, and the results at random points are rows of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sympy import Add, Expr, Rational, S, Symbol

from chetaev.core.symbols import TIME, Jet, order_in
from chetaev.core.values import Tape
from chetaev.mechanics.equations import Equations
from chetaev.transforms.tools.affine_fields import Condition, Field, Matrix
from chetaev.transforms.tools.translations import from_the_other_side, moved_entries


@dataclass(frozen=True, eq=False)
class FrameAnsatz:
    """Affine fields in ordinary coordinates and multipliers, and translations of group coordinates, as vectors of coefficients."""

    equations: Equations

    @cached_property
    def variables(self) -> tuple[Jet, ...]:
        """The ordinary coordinates, the components of group coordinates, and multipliers that are varied."""
        return (*self.equations.system.coordinates, *self.equations.lowered.costates)

    @cached_property
    def units(self) -> tuple[Field, ...]:
        """The basis fields, each with one coefficient equal to one."""
        turning = self.equations.system.frame.turning
        plain = [z for z in self.variables if z not in turning]
        found = [Field((), S.One)]
        found += [Field(((q, e),)) for q in plain for e in (S.One, TIME, *plain)]
        return (*found, *self._translations())

    def _translations(self) -> Iterator[Field]:
        frame = self.equations.system.frame
        for group in self.equations.system.groups.values():
            numbers = [frame.turning[q] for q in group.components]
            for b, q in enumerate(group.components):
                speeds = []
                for c in numbers:
                    terms = [frame.bracket(a, numbers[b]).get(c, S.Zero) * frame.velocities[a] for a in numbers]
                    speeds.append((frame.velocities[c].d(-1), Add(*terms)))
                entries = tuple(moved_entries(group, b, other=False).items())
                yield Field(((q, S.One),), speeds=tuple(speeds), entries=entries, turned=((q, S.One),))
            for b, line in enumerate(from_the_other_side(group) or ()):
                components = tuple((q, e) for q, e in zip(group.components, line, strict=True) if e != 0)
                entries = tuple(moved_entries(group, b, other=True).items())
                still = tuple((q, S.Zero) for q in group.components)
                name = f"E{b + 1}*{group.name}" if group.body else f"{group.name}*E{b + 1}"
                yield Field(components, speeds=still, entries=entries, named=((name, S.One),))

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return len(self.units)

    def field(self, vector: Sequence[Fraction]) -> Field:
        """The field of a vector."""
        pairs = [(Rational(v.numerator, v.denominator), unit) for v, unit in zip(vector, self.units, strict=True) if v]

        def joined(part: str) -> tuple[tuple[Any, Expr], ...]:
            total: dict[Any, Expr] = {}
            for c, unit in pairs:
                for z, e in getattr(unit, part):
                    total[z] = total.get(z, S.Zero) + c * e
            return tuple((z, e) for z, e in total.items() if e != 0 or part == "speeds")

        time = Add(*[c * unit.time for c, unit in pairs])
        return Field(joined("components"), time, joined("speeds"), joined("entries"), joined("turned"), joined("named"))

    def invariance(self, expressions: Sequence[Expr], weights: bool = False) -> Condition:
        """The condition that expressions do not change."""
        total = self.equations.total
        return _Linear(self, [[unit.applied(e, total) for unit in self.units] for e in expressions])

    def annihilation(self, rows: Sequence[Sequence[Expr]]) -> Condition:
        """The condition that the rows, with an entry for each variable, vanish on the displacements."""
        lines = [[Add(*[c * u.characteristic(z) for z, c in zip(self.variables, row, strict=True)]) for u in self.units] for row in rows]
        return _Linear(self, lines)


class _Linear(Condition):
    """A condition given by rows of expressions, with an entry for every coefficient."""

    def __init__(self, ansatz: FrameAnsatz, lines: Sequence[Sequence[Expr]]) -> None:
        self.ansatz, self.count = ansatz, len(lines)
        self.tape = Tape([e for line in lines for e in line])
        self.symbols = self.tape.symbols
        self.order = max((order_in(e, Jet) for line in lines for e in line), default=0)

    def rows(self, point: Mapping[Symbol, float]) -> Iterator[Matrix]:
        yield from np.array(self.tape(point), dtype=float).reshape(self.count, self.ansatz.size)
