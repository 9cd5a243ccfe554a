"""Generic ranks on a constraint manifold, found exactly: in a finite field, at random points that satisfy the rows.

The rank off the manifold can differ: two rows may be independent everywhere except on the manifold. So random points of the manifold are
made over the field (`chetaev.core.exact.manifold`), order by order: rows without derivatives restrict positions, rows with first
derivatives velocities. Where that fails (loops of rods, rows of high degree) the answer is None, and `generic` decides by numbers with
error bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from sympy import Symbol

from chetaev.core.calculus import SYMBOLIC, Algebra
from chetaev.core.exact.field import OutsideDomain, Residue
from chetaev.core.exact.manifold import Single, Stage, points_of
from chetaev.core.exact.matrices import independent_of_previous, null_space, rank
from chetaev.core.exact.program import Program
from chetaev.core.exact.signature import TRIALS, Spot
from chetaev.core.symbols import Input, Jet, Multiplier, Parameter
from chetaev.core.zero import charted

_ROOTED = 6
"""Points at which a rank is computed if roots occur: entries such as sqrt(u^2) - u vanish at half of them."""


Staged = Sequence[tuple[Sequence[Any], Sequence[Symbol]]]
"""Groups of rows that are solved one after the other, each with the symbols it is solved for."""


class FieldPoints:
    """Points of a constraint manifold in the field, with a value for every symbol; empty if none is found.

    Rows are solved order by order, or with multipliers last, or in the given `stages`.
    """

    def __init__(
        self, rows: Sequence[Any], expressions: Sequence[Any], algebra: Algebra[Any] = SYMBOLIC, stages: Staged | None = None
    ) -> None:
        self.algebra = algebra
        rows = [charted(row) for row in rows] if algebra is SYMBOLIC else rows
        present = algebra.symbols_of([*rows, *expressions])
        self.symbols: list[Symbol] = sorted(present, key=lambda z: z.name)
        self._number = {z: k for k, z in enumerate(self.symbols)}
        whole, _ = algebra.program(rows, self.symbols)
        asked, _ = algebra.program(expressions, self.symbols)
        count = _ROOTED if whole.roots or asked.roots else TRIALS
        self.spots: list[Spot] = []
        for staged in [stages] if stages is not None else self._orders(rows):
            steps = self._steps(staged)
            self.spots = self.spots or ([] if steps is None else points_of(whole, steps, count))

    def values(self, expressions: Sequence[Any]) -> list[tuple[Spot, list[Residue]]]:
        """The values of `expressions` at the points at which they are defined."""
        program, _ = self.algebra.program(expressions, self.symbols)
        found = []
        for spot in self.spots:
            try:
                found.append((spot, spot.run(program)))
            except OutsideDomain:
                continue
        return found

    def _orders(self, rows: Sequence[Any]) -> Iterator[Staged]:
        """The stages to be tried: order by order, then with all multipliers after all coordinates, since they follow from accelerations."""
        yield self._by_order(rows)
        reacting = [row for row in rows if any(isinstance(z, Multiplier) for z in self.algebra.symbols(row))]
        if reacting and not self.spots:
            multipliers = {z for row in reacting for z in self.algebra.symbols(row) if isinstance(z, Multiplier)}
            before = [row for row in rows if not any(row is other for other in reacting)]
            yield [*self._by_order(before), (reacting, sorted(multipliers, key=lambda z: z.name))]

    def _by_order(self, rows: Sequence[Any]) -> Staged:
        """The rows of each order, and their highest jets."""
        orders = [max((z.order for z in self.algebra.symbols(row) if _is_unknown(z)), default=0) for row in rows]
        found = []
        for order in sorted(set(orders)):
            staged = [row for row, k in zip(rows, orders, strict=True) if k == order]
            jets = {z for row in staged for z in self.algebra.symbols(row) if _is_unknown(z) and z.order == order}
            found.append((staged, sorted(jets, key=lambda z: z.name)))
        return found

    def _steps(self, stages: Staged) -> list[Stage | Single] | None:
        """Steps that solve the rows one stage after the other; None if none are found."""
        steps: list[Stage | Single] = []
        met: set[Symbol] = set()
        for staged, moved in stages:
            if not staged:
                continue
            present = set().union(*[self.algebra.symbols(row) for row in staged])
            jets = [z for z in moved if z in present and z not in met]
            found = self._stage(staged, jets) or self._one_by_one(staged, jets, met)
            if found is None:
                return None
            steps += found
            met |= set().union(*[self.algebra.symbols(row) for row in staged])
        return steps

    def _stage(self, rows: Sequence[Any], jets: Sequence[Symbol]) -> list[Stage | Single] | None:
        """All rows at once, if they are affine in their jets."""
        number = {z: k for k, z in enumerate(jets)}
        slopes: list[Any] = []
        places: list[tuple[int, int]] = []
        for i, row in enumerate(rows):
            own = sorted((z for z in self.algebra.symbols(row) if z in number), key=number.__getitem__)
            slopes += self.algebra.gradient(row, own)
            places += [(i, number[z]) for z in own]
        if not jets or any(self.algebra.which_contain(slopes, jets)):
            return None
        program, _ = self.algebra.program([*rows, *slopes], self.symbols)
        return [Stage(program, len(rows), tuple(self._number[z] for z in jets), tuple(places))]

    def _one_by_one(self, rows: Sequence[Any], jets: Sequence[Symbol], met: set[Symbol]) -> list[Stage | Single] | None:
        """A step for each row, solved for a jet or a parameter that no earlier row contains; None if there is none.

        Rows with the fewest choices come first.
        """
        number = {z: k for k, z in enumerate(jets)}
        present = [self.algebra.symbols(row) for row in rows]
        choices = [self._choices(row, inside - met, number) for row, inside in zip(rows, present, strict=True)]
        holding: dict[Symbol, list[int]] = {}
        for k, inside in enumerate(present):
            for z in inside:
                holding.setdefault(z, []).append(k)
        steps: list[Stage | Single] = []
        left = dict.fromkeys(range(len(rows)))
        while left:
            chosen = min((k for k in left if choices[k]), key=lambda k: len(choices[k]), default=None)
            if chosen is None:
                return None
            del left[chosen]
            z, slopes = next(iter(choices[chosen].items()))
            program, order = self.algebra.program([rows[chosen], *slopes], sorted(present[chosen], key=lambda z: z.name))
            inputs = tuple(self._number[own] for own in order)
            steps.append(Single(program, self._number[z], inputs, self._by_jets(rows[chosen], order) if isinstance(z, Parameter) else None))
            for fixed in present[chosen]:
                for k in holding[fixed]:
                    choices[k].pop(fixed, None)
        return steps

    def _by_jets(self, row: Any, order: Sequence[Symbol]) -> Program | None:
        """The slopes of a row by its jets, as a program of the inputs in `order`; None for a row without jets."""
        jets = [z for z in order if _is_unknown(z)]
        return self.algebra.program(self.algebra.gradient(row, jets), order)[0] if jets else None

    def _choices(self, row: Any, present: AbstractSet[Symbol], jets: Mapping[Symbol, int]) -> dict[Symbol, list[Any]]:
        """The jets, then the parameters, among the symbols `present` that a row can be solved for, with its slopes by them."""
        own = sorted((z for z in present if z in jets), key=jets.__getitem__)
        own += sorted((z for z in present if isinstance(z, Parameter) and z not in jets), key=lambda z: z.name)
        return {z: slopes for z in own if (slopes := self._slopes(row, z)) is not None}

    def _slopes(self, row: Any, z: Symbol) -> list[Any] | None:
        """The first and second derivatives of a row by `z`, if its degree in `z` is at most two; else None."""
        first = self.algebra.gradient(row, [z])
        second = self.algebra.gradient(first[0], [z])
        return None if any(self.algebra.which_contain(second, [z])) else [*first, *second]


def _is_unknown(z: Symbol) -> bool:
    return isinstance(z, Jet) and not isinstance(z, Input)


def exact_rank(
    entries: Sequence[Sequence[Any]], rows: Sequence[Any] = (), algebra: Algebra[Any] = SYMBOLIC, stages: Staged | None = None
) -> int | None:
    """The generic rank of a matrix where the rows hold; None if no point of that manifold is found over the field."""
    if not entries or not entries[0]:
        return 0
    found = _matrices(entries, rows, algebra, stages)
    return max((rank(matrix, p) for matrix, p in found), default=None)


def free_columns(
    entries: Sequence[Sequence[Any]], rows: Sequence[Any] = (), algebra: Algebra[Any] = SYMBOLIC, stages: Staged | None = None
) -> list[int] | None:
    """Unknowns that linear equations leave free where the rows hold, chosen greedily from the first; None without a point."""
    if not entries:
        return None
    width = len(entries[0])
    nulls = [(null_space(matrix, width, p), p) for matrix, p in _matrices(entries, rows, algebra, stages)]
    if not nulls:
        return None
    null, p = min(nulls, key=lambda found: len(found[0]))
    return [k for k, free in enumerate(independent_of_previous([[vector[k] for vector in null] for k in range(width)], p)) if free]


def _matrices(
    entries: Sequence[Sequence[Any]], rows: Sequence[Any], algebra: Algebra[Any], stages: Staged | None
) -> list[tuple[list[list[Residue]], int]]:
    """A matrix at points of the manifold over the field, with the prime of each."""
    flat = [charted(e) if algebra is SYMBOLIC else e for line in entries for e in line]
    width = len(entries[0])
    found = FieldPoints(rows, flat, algebra, stages).values(flat)
    return [([values[k : k + width] for k in range(0, len(values), width)], spot.field.p) for spot, values in found]


def exactly_zero(
    expressions: Sequence[Any], rows: Sequence[Any] = (), algebra: Algebra[Any] = SYMBOLIC, stages: Staged | None = None
) -> list[bool] | None:
    """For each expression, whether it vanishes wherever the rows hold; None if no point of that manifold is found over the field."""
    expressions = [charted(e) for e in expressions] if algebra is SYMBOLIC else expressions
    found = FieldPoints(rows, expressions, algebra, stages).values(expressions)
    if not found:
        return None
    return [all(values[k] == 0 for _, values in found) for k in range(len(expressions))]
