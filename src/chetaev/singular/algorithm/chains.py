r"""Chains: equations that are linear in their leading jets, $S v + r = 0$, and determine these where $\det S \ne 0$.

A constraint of a singular system and its derivatives contain one jet after the other linearly, with the same coefficient: from
$\lambda^2 - y'\lambda = xy$ follow $(2\lambda - y')\lambda' = \dots$ and $(2\lambda - y')\lambda'' = \dots$. Together with all their
consequences at the zeros of the coefficient these equations have Gröbner bases beyond any budget. A search with chains first distinguishes
whether the coefficient vanishes. If it does not, the equation is kept as a block, and its jet is eliminated from other polynomials. This is
the block-triangular substitution of differential elimination (characteristic sets of Ritt, regular chains).

Leading jets are those of the lowest level: the level of a jet is the number of derivatives by which it lies below the highest one of its
coordinate in the rows. A multiplier has the level of the accelerations, which it determines.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from chetaev.core.symbols import Jet
from chetaev.singular.algorithm.ideals import basis_of, normal_form
from chetaev.singular.algorithm.multipliers import Block, determinant, determined, without_blocks
from chetaev.singular.algorithm.reality import never_vanishes
from chetaev.singular.algorithm.ring import Poly, support
from chetaev.singular.algorithm.space import Space

_LARGEST_BLOCK = 3
"""Largest number of equations of a block. Determinants of more equations cost more than they save in the search."""
_CHOICES = 40
"""Number of blocks among which the one with the simplest determinant is taken. With fewer, unnecessary cases are distinguished."""


@dataclass
class Task:
    """A branch under construction: its processed parts, and `pending` polynomials that must vanish too."""

    solved: dict[int, Poly]
    generators: list[Poly]
    pending: list[Poly]
    nonzero: tuple[Poly, ...]
    blocks: tuple[Block, ...] = ()
    first: Poly | None = None
    """The pending polynomial to process first."""

    def with_pending(self, more: Iterable[Poly], first: Poly | None = None) -> Task:
        """A copy with further pending polynomials."""
        return Task(dict(self.solved), list(self.generators), [*self.pending, *more], self.nonzero, self.blocks, first)

    def taken(self, multipliers: Container[int]) -> Poly:
        """The polynomial to process now, pending no more: the shortest if none is to be first, and those with multipliers last."""
        if self.first in self.pending:
            self.pending.remove(self.first)
            return self.first
        self.pending.sort(key=lambda f: (any(i in multipliers for i in support(f)), len(f)), reverse=True)
        return self.pending.pop()


def rank_jets(space: Space, rows: Sequence[Sequence[Poly]], columns: Sequence[Jet]) -> None:
    """Set the levels of the jets of a space with chains. `rows` are coefficients of the rates of `columns`, and terms without them."""
    highest: dict[Jet, int] = {}

    def meet(z: Jet, order: int) -> None:
        q = z.d(-z.order)
        highest[q] = max(highest.get(q, 0), order)

    for row in rows:
        for entry, z in zip(row, columns, strict=False):
            if entry:
                meet(z, z.order + 1)
        for z in (space.symbols[i] for entry in row for i in support(entry)):
            if isinstance(z, Jet):
                meet(z, z.order)
    farthest = len(space.symbols)
    space.levels = tuple(highest.get(z.d(-z.order), 0) - z.order if isinstance(z, Jet) else farthest for z in space.symbols)


def free_of_blocks(space: Space, task: Task) -> bool:
    """Eliminate jets of blocks from generators and from the pending polynomials that they lead; return False if there are none.

    Other pending polynomials keep such jets, because elimination could make them very long.
    """
    done = determined(task.blocks)
    loose = [f for f in task.pending if leading_jets(space, f) & done] + [g for g in task.generators if support(g) & done]
    if not loose:
        return False
    task.pending = [f for f in task.pending if f not in loose]
    task.generators = [g for g in task.generators if g not in loose]
    basis = basis_of(space, task.generators)
    for f in loose:
        lead = leading_jets(space, f)
        blocks = [block for block in task.blocks if lead & {*block.columns}] or task.blocks
        _append(space, task, without_blocks(space, f, blocks, basis))
    return True


def _append(space: Space, task: Task, f: Poly) -> None:
    """Append a polynomial, without factors that do not vanish, to the pending ones."""
    if f:
        found = space.one
        for g in space.factors(f):
            found = found if g in task.nonzero else found * g
        task.pending.append(found)


def extend_chain(space: Space, task: Task, f: Poly) -> list[Task] | None:
    """Form a block of an equation, alone or with other pending ones, that determines its leading jets; None if that is impossible.

    Returns an empty list if the task changed without a case distinction; otherwise the cases: a factor of the determinant vanishes, or none
    does.
    """
    basis, done = basis_of(space, task.generators), determined(task.blocks)
    block = leading_block(space, f, task.pending, basis, task.nonzero, done)
    if block is None:
        if support(f) & done:
            _append(space, task, without_blocks(space, f, task.blocks, basis))
            return []
        return None
    factors = [g for g in space.factors(block.determinant) if g not in task.nonzero]
    # the factor comes first: before it is a generator or a block, the equation would lead to the same block and the same cases again
    zero = [task.with_pending([g, f], first=g) for g in factors if not never_vanishes(space, g)]
    task.pending = [g for g in (*task.pending, f) if space.monic(g) not in block.rows]
    task.nonzero, task.blocks = (*task.nonzero, *factors), (*task.blocks, block)
    return [*zero, task] if zero else []


def leading_block(
    space: Space, f: Poly, others: Sequence[Poly], basis: Sequence[Poly], nonzero: Sequence[Poly], done: set[int]
) -> Block | None:
    """A block of `f` and some of the `others` for jets of the lowest level in `f`, with the simplest determinant; None without one.

    The determinant contains no jet of `done`, which other blocks determine.
    """
    leading = leading_jets(space, f)
    if not leading:
        return None
    beside = [
        g for g in others if leading_jets(space, g) & leading and space.levels[min(leading_jets(space, g))] == space.levels[min(leading)]
    ]
    found = [
        (_cost(space, block, nonzero), k, block)
        for k, block in enumerate(islice(_blocks(space, f, beside, sorted(leading), basis), _CHOICES))
        if not support(block.determinant) & done
    ]
    return min(found)[2] if found else None


def leading_jets(space: Space, f: Poly) -> set[int]:
    """The jets of the lowest level."""
    jets = [i for i in support(f) if isinstance(space.symbols[i], Jet)]
    lowest = min((space.levels[i] for i in jets), default=0)
    return {i for i in jets if space.levels[i] == lowest}


def _cost(space: Space, block: Block, nonzero: Sequence[Poly]) -> tuple[bool, int, int, int]:
    """The sort key of a block: first blocks without case distinctions, then large blocks,
    in which rotations cancel, then few short cases.
    """
    doubtful = [g for g in space.factors(block.determinant) if g not in nonzero and not never_vanishes(space, g)]
    return bool(doubtful), -len(block.rows), len(doubtful), sum(map(len, doubtful))


def _blocks(space: Space, f: Poly, beside: Sequence[Poly], leading: Sequence[int], basis: Sequence[Poly]) -> Iterator[Block]:
    for size in range(1, min(_LARGEST_BLOCK, len(beside) + 1, len(leading)) + 1):
        for more in combinations(beside, size - 1):
            rows = (f, *more)
            for columns in combinations(leading, size):
                if any(sum(m[i] for i in columns) > 1 for g in rows for m in g):
                    continue
                matrix = tuple(tuple(normal_form(space.slope(g, i), basis) for i in columns) for g in rows)
                d = normal_form(determinant(matrix), basis)
                if d:
                    rest = tuple(space.ring.from_dict({m: c for m, c in g.items() if not any(m[i] for i in columns)}) for g in rows)
                    yield Block(tuple(map(space.monic, rows)), columns, matrix, rest, d, (d,))
