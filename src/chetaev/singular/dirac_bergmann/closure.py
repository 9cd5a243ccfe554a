"""The loop that Dirac's and the presymplectic algorithm share: rows linear in unknowns give constraints, which give rows, until closed.

A state is admissible if the rows of the constraints found so far can be solved for the unknowns: multipliers in one case, components of the
vector field in the other. Rows left without unknowns are further constraints. The algebra is that of `chetaev.singular.algorithm`; this
loop follows one manifold and raises `Branching` where the states split into several.

Zeros and ranks on the manifold are found in a finite field if it has points of the manifold (`mechanics.ranks.exact`), which is faster than
the ideals of `constraint_algorithm`, which must distinguish all cases. Otherwise a real point with a value well above its round-off proves
that an expression does not vanish; without such a point the ideals decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Expr, Symbol

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import PrincipleError
from chetaev.core.fixes import Advice, Ask
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Parameter
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.ranks.exact import exact_rank
from chetaev.mechanics.ranks.generic import Point, Points, generic_rank, points_on, zero_on
from chetaev.mechanics.ranks.sizes import Sizes, natural_sizes
from chetaev.singular.algorithm.branches import Branch, refine
from chetaev.singular.algorithm.elimination import Constraints, Elimination, Row, Solved, Split, eliminate
from chetaev.singular.algorithm.ideals import dimension
from chetaev.singular.algorithm.reality import NeedsSurd, never_vanishes
from chetaev.singular.algorithm.redundancy import rank_on
from chetaev.singular.algorithm.search import added_to
from chetaev.singular.algorithm.space import Poly, Space
from chetaev.singular.algorithm.translation import UnsupportedFunction

_POINTS_OF_MANIFOLD = 4
"""Number of real points of a manifold at which expressions are tested."""
_CLEAR = 1e-6
"""Least size of an expression that must not vanish at a point of a branch, relative to its terms there and to its usual size. With a
smaller value, points of other branches, which are known up to `POINT_ERROR`, would count as points of this one."""


class _Terms:
    """An expression as a sum of terms, with their usual size."""

    def __init__(self, e: Expr, sizes: Sizes) -> None:
        self._tape = Tape(Add.make_args(e))
        try:
            self._usual = max(map(abs, self._tape(random_point(self._tape.symbols, 0, sizes=sizes))))
        except Undefined:
            self._usual = 0.0

    def clear(self, point: Point) -> bool:
        """Whether the expression is not zero at a point, well above the error of the point."""
        try:
            terms = self._tape(point)
        except Undefined:
            return False
        return bool(abs(sum(terms)) > _CLEAR * max(self._usual, *map(abs, terms)))


@dataclass(frozen=True)
class Manifold:
    """A branch with some of its real points."""

    space: Space
    branch: Branch
    points: Points

    @staticmethod
    def of(space: Space, branch: Branch) -> Manifold:
        """A branch, with points found for it."""
        rows = [space.expression(g) for g in branch.constraints(space) if g not in space.relations]
        symbols: list[Symbol] = [*space.phase, *[p for p in space.parameters if isinstance(p, Parameter)], TIME]
        known = [p for p in symbols if p not in space.translation.constants]
        sizes = natural_sizes(rows, SYMBOLIC, symbols=known)
        avoided = [_Terms(space.expression(n), sizes) for n in branch.nonzero]
        found = Points(rows=rows)
        for point in points_on(rows, known, count=2 * _POINTS_OF_MANIFOLD, sizes=sizes):
            if len(found) < _POINTS_OF_MANIFOLD and all(terms.clear(point) for terms in avoided):
                found.append(point)
        return Manifold(space, branch, found)

    def vanishes(self, f: Poly) -> bool:
        """Whether a polynomial is zero on the branch."""
        if not self.branch.reduce(self.space, f):
            return True
        known = zero_on([self.space.expression(f)], self.points)[0] if self.points else None
        return self.branch.vanishes(self.space, f) if known is None else known

    def rank(self, rows: Sequence[Sequence[Poly]]) -> int:
        """The rank of a matrix at general points."""
        if not rows:
            return 0
        written = [[self.space.expression(e) for e in row] for row in rows]
        known = exact_rank(written, self.points.rows) if self.points else None
        if known is not None:
            return known
        most = min(len(written), len(written[0]))
        if self.points and generic_rank(written, self.points) == most:  # a minor well above round-off at a point proves full rank
            return most
        return rank_on(self.space, self.branch, [[self.branch.reduce(self.space, e) for e in row] for row in rows])

    def eliminate(self, rows: Sequence[Row]) -> Solved | Constraints | Split:
        """Elimination with pivots that do not vanish at general points; `Split` holds the factors of a pivot that may vanish."""
        if not self.points:
            return eliminate(self.space, self.branch, rows)
        reached = Elimination(self.space, self.branch, rows).advance()
        if not isinstance(reached, list):
            return reached
        zero = [f for f in reached[0] if self.vanishes(f)]
        if zero:
            return Constraints(zero[:1], radical=True)
        safe = next((factors for factors in reached if all(never_vanishes(self.space, f) for f in factors)), None)
        return Split(reached[0] if safe is None else safe)


def with_nonzero(branch: Branch, factors: Sequence[Poly]) -> Branch:
    """The branch without the zeros of further polynomials."""
    return replace(branch, nonzero=(*branch.nonzero, *factors))


RowsFor = Callable[[Sequence[Poly]], list[Row]]
"""The rows that the constraints found so far impose on the unknowns."""


class Branching(Exception):
    """The states split into several manifolds: one tuple of constraints for each."""

    def __init__(self, manifolds: Sequence[Sequence[Expr]]) -> None:
        super().__init__("several manifolds")
        self.manifolds = tuple(tuple(m) for m in manifolds)


_OTHER_WAY = (Ask("constraint_algorithm"), " takes any equations")


@contextmanager
def refusals(where: str, hint: Advice = _OTHER_WAY, written: Mapping[Any, Expr] = Frozen()) -> Iterator[None]:
    """Turn a `Branching` or an unsupported function in the block into a PrincipleError; `written` replaces symbols in its message."""
    try:
        yield
    except Branching as fact:
        parts = " or ".join("{" + ", ".join(f"{show(e.xreplace(written))} = 0" for e in m) + "}" for m in fact.manifolds)
        raise PrincipleError(
            f"the constraints split into several manifolds: {parts}.",
            where=where,
            why="Dirac's analysis follows one manifold of constant rank.",
            hint=(Ask("constraint_algorithm", "system"), " follows all of them"),
        ) from None
    except UnsupportedFunction as fact:
        raise PrincipleError(f"{fact}.", where=where, hint=hint) from None


@dataclass(frozen=True)
class Closure:
    """The end of the loop: `solved` is None if no state is admissible, and then `failing` holds polynomials that cannot vanish."""

    branch: Branch
    solved: Solved | None
    steps: tuple[tuple[Poly, ...], ...]
    """The constraints at the start, and those that each step added: first as they were found, then generators of the ideal.

    There may be more generators than the codimension, and a part of them may vanish on a larger set than all.
    """
    irregular: tuple[Poly, ...]
    """Constraints whose differential vanishes with them, such as a square; polynomials with the same zeros replace them."""
    assumed: tuple[Poly, ...]
    """Pivots that were assumed not to vanish; their zeros are not analysed."""
    failing: tuple[Poly, ...] = ()


def close(space: Space, start: Sequence[Poly], rows_for: RowsFor, nonzero: Sequence[Poly] = ()) -> Closure:
    """Follow the constraints from a start until they are closed."""
    empty = Branch(nonzero=(*space.nonzero, *nonzero))
    base = _only(space, empty, space.relations) or empty
    branch = _only(space, base, start)
    if branch is None:
        return Closure(base, None, (), (), (), tuple(start))
    steps = [tuple(start)]
    irregular: list[Poly] = []
    assumed: list[Poly] = []
    while True:
        outcome = Manifold.of(space, branch).eliminate(rows_for(branch.constraints(space)))
        if isinstance(outcome, Solved):
            return Closure(outcome.branch, outcome, tuple(steps), tuple(irregular), tuple(assumed))
        if not isinstance(outcome, Constraints):
            fresh = [f for f in outcome.factors if f not in assumed]
            assumed += fresh
            branch = with_nonzero(branch, outcome.factors)
            continue
        child = _only(space, branch, outcome.polynomials)
        if child is None:
            return Closure(branch, None, tuple(steps), tuple(irregular), tuple(assumed), tuple(outcome.polynomials))
        manifold = Manifold.of(space, child)
        irregular += [f for f in outcome.polynomials if _flat_on(manifold, f)]
        added = added_to(space, branch, child)
        if added:
            steps.append(tuple(dict.fromkeys([*_as_found(space, branch, outcome.polynomials), *added])))
        branch = child


def _only(space: Space, branch: Branch, new: Sequence[Poly]) -> Branch | None:
    """The single branch that remains when further polynomials vanish; None if it is empty."""
    try:
        found, _ = refine(space, branch, list(new))
    except NeedsSurd as need:
        raise Branching([[factor] for factor in need.factors]) from None
    found = _largest(space, [b for b in found if not _at_an_instant(space, b)])
    if len(found) > 1:
        raise Branching([[space.expression(g) for g in added_to(space, branch, b)] for b in found])
    return found[0] if found else None


def _largest(space: Space, branches: Sequence[Branch]) -> list[Branch]:
    """The branches that are not contained in another one: the zeros of $a + x b$ contain the common zeros of $a$ and $x$."""
    kept: list[Branch] = []
    for b in sorted(branches, key=lambda b: -dimension(space, b.determined, b.basis)):
        if not any(all(b.vanishes(space, g) for g in a.constraints(space)) for a in kept):
            kept.append(b)
    return kept


def _as_found(space: Space, branch: Branch, polynomials: Sequence[Poly]) -> list[Poly]:
    """Constraints without factors that do not vanish on the branch or vanish only at instants; products and powers are omitted."""
    found = []
    for f in polynomials:
        factors = [g for g in space.factors(branch.reduce(space, f)) if g not in branch.nonzero and not _of_time_alone(space, g)]
        if len(factors) == 1:
            found.append(factors[0])
    return found


def _of_time_alone(space: Space, f: Poly) -> bool:
    """Whether a factor depends on time only, so that its zeros exclude no state."""
    return space.expression(f).free_symbols <= {TIME, *space.parameters}


def _at_an_instant(space: Space, branch: Branch) -> bool:
    """Whether a branch fixes the time, so that no motion stays on it."""
    found = [space.expression(g).free_symbols for g in branch.constraints(space) if g not in space.relations]
    return any(TIME in symbols and symbols <= {TIME, *space.parameters} for symbols in found)


def _flat_on(manifold: Manifold, f: Poly) -> bool:
    """Whether the differential of a constraint vanishes on the manifold."""
    return all(manifold.vanishes(n) for n, _ in manifold.space.partials(f).values())


def doubtful(space: Space, factors: Sequence[Poly]) -> list[Expr]:
    """The factors that may have real zeros, as expressions."""
    return [space.expression(f) for f in dict.fromkeys(factors) if not never_vanishes(space, f) and not _positive(space, f)]


def _positive(space: Space, f: Poly) -> bool:
    return len(f) == 1 and all(i in space.positive for m in f for i, e in enumerate(m) if e)
