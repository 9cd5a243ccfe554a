"""A branch in the making: polynomials that are settled, and polynomials that still have to vanish."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chetaev.singular.algorithm.multipliers import Block
from chetaev.singular.algorithm.ring import Poly


@dataclass
class Task:
    """The parts of a branch, and `pending` polynomials that are not sorted into them yet."""

    solved: dict[int, Poly]
    generators: list[Poly]
    pending: list[Poly]
    nonzero: tuple[Poly, ...]
    blocks: tuple[Block, ...] = ()

    def with_pending(self, more: Iterable[Poly]) -> Task:
        """A copy in which further polynomials have to vanish."""
        return Task(dict(self.solved), list(self.generators), [*self.pending, *more], self.nonzero, self.blocks)
