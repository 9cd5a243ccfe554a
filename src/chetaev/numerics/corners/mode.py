"""A mode: a switching function and the number that stands for its sign."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy
from sympy import Expr

from chetaev.core.rows.unilateral import Contact
from chetaev.core.symbols import TIME, Input, Jet, Multiplier, Parameter, jets_in, moved_by, symbols_in
from chetaev.numerics.corners.planar_friction import Component
from chetaev.numerics.corners.rootless_sign_changes import moves

SLIDING = 0
"""The value of a mode in a configuration while the motion stays on its surface."""

Configuration = tuple[int, ...]
"""For every mode +1, -1 or SLIDING."""


@dataclass(frozen=True)
class Mode:
    """A switching function, smooth in itself, and the symbol that stands for its sign."""

    symbol: Parameter
    function: Expr
    text: str
    """The function in the notation."""

    @property
    def unknown(self) -> Multiplier:
        """The mode as an unknown of sliding motion."""
        return Multiplier(str(self.symbol.name))

    @property
    def unknowns(self) -> tuple[Multiplier, ...]:
        """All unknowns of sliding motion."""
        return (self.unknown,)

    @cached_property
    def constant(self) -> bool:
        """Whether the function depends on parameters alone, so that the mode never changes."""
        return not moves(self.function)

    @cached_property
    def jets(self) -> frozenset[Jet]:
        """The jets in the function, without inputs."""
        return frozenset(jets_in(self.function) - jets_in(self.function, Input))

    @cached_property
    def of_time(self) -> bool:
        """Whether the function depends on time and parameters alone."""
        return TIME in symbols_in(self.function) and not jets_in(self.function) and not moved_by(self.function)


@dataclass(frozen=True)
class Direction(Mode):
    """The square of a speed on whose unit vector a force depends (`planar_friction`). Its mode is 1 in motion and SLIDING at rest."""

    components: tuple[Component, ...]

    @property
    def unknowns(self) -> tuple[Multiplier, ...]:
        """The components of the vector that replaces the unit vector at rest."""
        return tuple(Multiplier(f"{c.velocity.name} over {self.symbol.name}") for c in self.components)

    @property
    def length(self) -> Expr:
        """The square of that vector's length."""
        return sympy.Add(*[c.weight * n**2 for c, n in zip(self.components, self.unknowns, strict=True)])


@dataclass(frozen=True)
class Touch(Mode):
    """The gap of a unilateral contact. Its mode is 1 while the contact is open and SLIDING while it is closed.

    The symbol is the depth at which the contact is met: zero, or round-off where the gap opens from zero without speed.
    """

    contact: Contact

    @property
    def unknown(self) -> Multiplier:
        """The multiplier of the contact."""
        return self.contact.multiplier
