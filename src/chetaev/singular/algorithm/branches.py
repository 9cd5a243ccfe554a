r"""Branches: sets where some polynomials vanish and others do not, in a normal form.

Constraints that are linear in a variable with a constant coefficient are *solved*: the variable is replaced everywhere. The remaining
nonlinear generators, mostly few, have a Gröbner basis. Multipliers may be determined by blocks of linear equations. Adding constraints to a
branch may split it: products into their factors, sums of squares into their bases, quadratic forms into two linear factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from chetaev.core.support.budget import spend
from chetaev.core.symbols import TIME, Jet, Multiplier
from chetaev.singular.algorithm.chains import Task, extend_chain, free_of_blocks
from chetaev.singular.algorithm.ideals import basis_of, normal_form, saturate, vanishes_on
from chetaev.singular.algorithm.multipliers import Block, determinant, determined, multiplier_block, without_blocks
from chetaev.singular.algorithm.reality import must_vanish, never_vanishes, quadratic_factors
from chetaev.singular.algorithm.ring import Poly, support, weight
from chetaev.singular.algorithm.space import Space


@dataclass(frozen=True)
class Branch:
    r"""The set $\{x_i = e_i,\ g = 0,\ n \ne 0\}$, with blocks $S\lambda + r = 0$.

    The $e_i$, $g$, $n$ and blocks contain no solved variable, the $g$ and $n$ no multiplier of a block.
    """

    solved: dict[int, Poly] = field(default_factory=dict)
    generators: tuple[Poly, ...] = ()
    basis: tuple[Poly, ...] = ()
    nonzero: tuple[Poly, ...] = ()
    blocks: tuple[Block, ...] = ()

    def key(self) -> object:
        """A hashable key that is equal for equal branches."""
        rows = frozenset(row for block in self.blocks for row in block.rows)
        return frozenset(self.solved.items()), frozenset(self.basis), frozenset(self.nonzero), rows

    def constraints(self, space: Space) -> list[Poly]:
        """Generators of the ideal: the solved variables first."""
        return [space.variables[i] - e for i, e in sorted(self.solved.items())] + self.equations()

    def equations(self) -> list[Poly]:
        """The constraints that are not solved."""
        return [*self.generators, *[row for block in self.blocks for row in block.rows]]

    @property
    def determined(self) -> set[int]:
        """The variables that are solved or determined by blocks."""
        return {*self.solved, *determined(self.blocks)}

    def reduce(self, space: Space, f: Poly) -> Poly:
        """The normal form of a polynomial on the branch; multipliers of blocks stay."""
        return normal_form(substitute(space, f, self.solved), self.basis)

    def vanishes(self, space: Space, f: Poly) -> bool:
        """Whether a polynomial is zero on the branch, over the complex numbers."""
        rest = self.reduce(space, f)
        if self.blocks and rest:
            rest = without_blocks(space, rest, self.blocks, self.basis)
        return not rest or vanishes_on(space, rest, self.basis, self.nonzero)

    def is_unit(self, space: Space, f: Poly) -> bool:
        """Whether a polynomial is a product of factors that do not vanish on the branch."""
        return bool(f) and (f.is_ground or all(g in self.nonzero for g in space.factors(f)))


@dataclass(frozen=True)
class Infeasible:
    """A set without points; `certificate` is a sum of squares that cannot vanish, if that is the reason."""

    constraints: tuple[Poly, ...]
    certificate: Poly | None = None


def substitute(space: Space, f: Poly, values: dict[int, Poly]) -> Poly:
    """The polynomial with some variables replaced."""
    present = support(f)
    pairs = [(space.variables[i], values[i]) for i in present if i in values]
    if not pairs:
        return f
    found = f.compose(pairs)
    spend(weight(f) + weight(found))
    return found


def refine(space: Space, branch: Branch, new: Sequence[Poly]) -> tuple[list[Branch], list[Infeasible]]:
    """The branches into which `branch` splits when the polynomials `new` vanish, and the sets that were found empty."""
    stack = [Task(dict(branch.solved), list(branch.generators), list(new), branch.nonzero, branch.blocks)]
    found: dict[object, Branch] = {}
    infeasible: list[Infeasible] = []
    while stack:
        outcome = _settle(space, stack.pop())
        if isinstance(outcome, list):
            stack.extend(outcome)
        elif isinstance(outcome, Infeasible):
            infeasible.append(outcome)
        else:
            found.setdefault(outcome.key(), outcome)
    return list(found.values()), infeasible


def _settle(space: Space, task: Task) -> Branch | Infeasible | list[Task]:
    """Process all pending polynomials; return one branch, an empty set, or several tasks."""
    while True:
        outcome = _process_pending(space, task)
        if outcome is not None:
            return outcome
        nonzero = _nonzero(space, task)
        if nonzero is None or any(space.number(n) for n in nonzero):
            return _infeasible(space, task)
        basis = basis_of(space, task.generators)
        if (basis and basis[0].is_ground) or any(not normal_form(n, basis) for n in nonzero):
            return _infeasible(space, task)
        # a determinant without real zeros on the branch excludes no real points
        certain = [f for block in task.blocks if block.everywhere for f in space.factors(block.determinant)]
        done = determined(task.blocks)  # `nonzero` also has the forms of these polynomials without jets of blocks
        entangled = _entangled(basis, [n for n in nonzero if n not in certain and not (space.chains and support(n) & done)])
        if entangled:
            closure = saturate(space, basis, entangled)
            if closure and closure[0].is_ground:
                return _infeasible(space, task)
            if set(closure) != set(basis):
                task.generators, task.pending, basis = [], closure, closure
                continue
        again = _unfinished(space, basis, nonzero)
        implied = _implied(space, task, basis)
        if again or implied:
            task.generators, task.pending = [], [*basis, *implied]
            continue
        generators = task.generators if len(task.generators) <= len(basis) else basis
        return Branch(task.solved, tuple(generators), tuple(basis), nonzero, task.blocks)


def _process_pending(space: Space, task: Task) -> Infeasible | list[Task] | None:
    while task.pending:
        spend(sum(map(len, task.pending)))  # each step looks at all of them
        task.pending = [g for g in (substitute(space, f, task.solved) for f in task.pending) if g]
        constant = next((f for f in task.pending if f.is_ground), None)
        if constant is not None:
            space.record(constant.LC)  # nonzero for generic values of the parameters
            return _infeasible(space, task)
        if any(space.number(f) is False for f in task.pending):
            return _infeasible(space, task)
        signed = next((f for f in task.pending if support(f) & space.positive and never_vanishes(space, f)), None)
        if signed is not None:
            return _infeasible(space, task, signed)
        if _solve_one(space, task) or (space.chains and free_of_blocks(space, task)):
            continue
        # other polynomials come first: they may imply that the determinant of a block vanishes
        last = not space.chains and bool(task.pending) and all(support(f) & space.multipliers for f in task.pending)
        cases = _determine_multipliers(space, task) if last else None
        if cases:
            return cases
        if cases is not None or _solve_block(space, task):
            continue
        if not task.pending:
            break
        f = task.taken(space.multipliers)
        factors = [g for g in space.factors(f) if g not in task.nonzero]
        if not factors:
            return _infeasible(space, task)
        if len(factors) > 1:
            return [task.with_pending([g]) for g in reversed(factors)]
        f = factors[0]
        if _linear_variable(space, f, []) is not None:
            task.pending.append(f)
            continue
        squares = must_vanish(space, f)
        if squares is not None:
            if any(g.is_ground for g in squares):
                return _infeasible(space, task.with_pending([f]), f)
            task.pending += squares
            continue
        pair = quadratic_factors(space, f)
        if pair is not None:
            return [task.with_pending([g]) for g in pair]
        cases = extend_chain(space, task, f) if space.chains else None
        if cases:
            return cases
        if cases is None and f not in task.generators:
            task.generators.append(f)
    return None


def _infeasible(space: Space, task: Task, certificate: Poly | None = None) -> Infeasible:
    solved = [space.variables[i] - e for i, e in sorted(task.solved.items())]
    return Infeasible((*solved, *task.generators, *[f for f in task.pending if f]), certificate)


def _linear_variable(space: Space, f: Poly, others: Sequence[Poly]) -> int | None:
    """A variable that occurs in `f` only in one term, a constant times itself.

    Multipliers are preferred, then high derivatives, then variables that are rare in `others`; so low jets of coordinates remain.
    """
    best: tuple[int, int, int, int] | None = None
    for i, z in enumerate(space.symbols):
        if z == TIME:
            continue
        powers = [m for m in f if m[i]]
        if len(powers) == 1 and sum(powers[0]) == 1:
            order = z.order if isinstance(z, Jet) else -1
            key = (0 if isinstance(z, Multiplier) else 1, -order, sum(m[i] for g in others for m in g), i)
            best = key if best is None or key < best else best
    return None if best is None else best[3]


def _solve_one(space: Space, task: Task) -> bool:
    """Solve one pending polynomial for a variable, if one is linear."""
    for k, f in enumerate(task.pending):
        others = [*task.generators, *task.pending[:k], *task.pending[k + 1 :]]
        i = _linear_variable(space, f, others)
        if i is None:
            continue
        c = next(v for m, v in f.items() if m[i])
        space.record(c)
        del task.pending[k]
        _replace(space, task, {i: space.variables[i] - f.mul_ground(1 / c)})
        return True
    return False


def _solve_block(space: Space, task: Task, most: int = 3) -> bool:
    """Solve two or three polynomials jointly for variables in which they are affine with a constant determinant on the branch."""
    polynomials = [*task.pending, *[g for g in task.generators if g not in space.relations]]
    if len(polynomials) < 2 or len(polynomials) > 8:
        return False
    basis = basis_of(space, task.generators)
    for size in range(2, most + 1):
        for chosen in combinations(polynomials, size):
            candidates = _affine_variables(space, chosen)
            if len(candidates) > 8:
                candidates = candidates[:8]
            for columns in combinations(candidates, size):
                if any(sum(m[i] for i in columns) > 1 for f in chosen for m in f):
                    continue
                matrix = [[space.slope(f, i) for i in columns] for f in chosen]
                d = normal_form(determinant(matrix), basis)
                if not d or not d.is_ground:
                    continue
                space.record(d.LC)
                rest = [space.ring.from_dict({m: c for m, c in f.items() if not any(m[i] for i in columns)}) for f in chosen]
                values = {}
                for k, i in enumerate(columns):
                    changed = [[-r if n == k else e for n, e in enumerate(row)] for row, r in zip(matrix, rest, strict=True)]
                    values[i] = normal_form(determinant(changed), basis).mul_ground(1 / d.LC)
                _replace(space, task, values)  # the polynomials stay pending, since they need not be zero modulo the generators
                task.pending = [normal_form(f, basis) for f in task.pending]
                return True
    return False


def _determine_multipliers(space: Space, task: Task) -> list[Task] | None:
    """Determine multipliers by a block of equations, or remove those that are determined from pending polynomials; None if nothing changes.

    Returns an empty list if the determinant vanishes nowhere on the branch; otherwise two cases: it vanishes, or it does not.
    """
    basis = basis_of(space, task.generators)
    done = determined(task.blocks)
    known = [f for f in task.pending if support(f) & done and not support(f) & space.multipliers - done]
    if known:
        others = [f for f in task.pending if f not in known]
        task.pending = others + [f for f in (without_blocks(space, f, task.blocks, basis) for f in known) if f]
        return []
    branch = Branch(dict(task.solved), tuple(task.generators), tuple(basis), task.nonzero)
    block = multiplier_block(space, [*task.pending, *task.generators], branch.constraints(space), basis, done)
    if block is None:
        return None
    factors = [f for f in space.factors(block.determinant) if f not in task.nonzero]
    cases = []
    if factors and refine(space, branch, block.minors)[0]:
        cases = [task.with_pending(block.minors)]
    elif factors:
        block = replace(block, everywhere=True)
    rest = Task(
        dict(task.solved),
        [g for g in task.generators if g not in block.rows],
        [f for f in task.pending if f not in block.rows],
        (*task.nonzero, *factors),
        (*task.blocks, replace(block, rows=tuple(map(space.monic, block.rows)))),
    )
    if cases:
        return [*cases, rest]
    task.generators, task.pending, task.nonzero, task.blocks = rest.generators, rest.pending, rest.nonzero, rest.blocks
    return []


def _replace(space: Space, task: Task, values: dict[int, Poly]) -> None:
    """Substitute `values` for variables everywhere; generators that change are pending again."""
    task.solved = {k: substitute(space, e, values) for k, e in task.solved.items()} | values
    task.pending = [substitute(space, f, values) for f in task.pending]
    changed = [(g, substitute(space, g, values)) for g in task.generators]
    task.pending += [h for g, h in changed if h is not g and h != g]
    task.generators = [g for g, h in changed if h is g or h == g]
    loose = [block for block in task.blocks if any(support(f) & values.keys() for f in block.rows)]
    task.pending += [substitute(space, f, values) for block in loose for f in block.rows]
    task.blocks = tuple(block for block in task.blocks if block not in loose)


def _affine_variables(space: Space, polynomials: Sequence[Poly]) -> list[int]:
    found = []
    for i, z in enumerate(space.symbols):
        if i in space.generators or z == TIME:
            continue
        if any(m[i] for f in polynomials for m in f) and all(m[i] <= 1 for f in polynomials for m in f):
            found.append(i)
    return found


def _nonzero(space: Space, task: Task) -> tuple[Poly, ...] | None:
    """The irreducible factors of the polynomials that must not vanish; None if one vanishes."""
    found: list[Poly] = []
    for n in task.nonzero:
        rest = substitute(space, n, task.solved)
        if not rest:
            return None
        found += [g for g in space.factors(rest) if g not in found]
    mixed = [n for n in found if support(n) & determined(task.blocks)] if space.chains else []
    if mixed:
        basis = basis_of(space, task.generators)
        for n in mixed:
            rest = without_blocks(space, n, task.blocks, basis)
            if not rest:
                return None
            found += [g for g in space.factors(rest) if g not in found]
    return tuple(found)


def _entangled(basis: Sequence[Poly], nonzero: Sequence[Poly]) -> list[Poly]:
    """The polynomials of `nonzero` by which the ideal has to be saturated.

    Generators fall into groups that share no variable. A group of one irreducible generator is prime: removing the zeros of another
    polynomial does not change its closure.
    """
    groups: list[tuple[set[int], int]] = []
    for g in basis:
        variables, count = support(g), 1
        apart = []
        for known, number in groups:
            if known & variables:
                variables, count = variables | known, count + number
            else:
                apart.append((known, number))
        groups = [*apart, (variables, count)]
    connected = set().union(*[variables for variables, count in groups if count > 1])
    return [n for n in nonzero if support(n) & connected]


def _unfinished(space: Space, basis: Sequence[Poly], nonzero: Sequence[Poly]) -> bool:
    """Whether an element of the basis has a linear variable, a factor, or a sum of squares that the generators did not show."""
    for g in basis:
        if g in space.relations and len(space.factors(g)) == 1:
            continue
        if _linear_variable(space, g, []) is not None or must_vanish(space, g) is not None:
            return True
        factors = space.factors(g)
        if len(factors) != 1 or not _same(space, factors[0], g) or factors[0] in nonzero or quadratic_factors(space, g) is not None:
            return True
    return False


def _same(space: Space, f: Poly, g: Poly) -> bool:
    """Whether two monic polynomials are equal; with chains, modulo the relations of sines and cosines and up to a number."""
    if f == g or not space.chains:
        return bool(f == g)
    pairs = space.circles(g)
    return bool(space.exchanged(f, pairs).monic() == space.exchanged(g, pairs).monic())


def _implied(space: Space, task: Task, basis: Sequence[Poly]) -> list[Poly]:
    """Relations for functions of solved jets that are not zero modulo the basis."""
    found = []
    for i in space.generators:
        f = space.implied(i, task.solved)
        rest = normal_form(substitute(space, f, task.solved), basis) if f else None
        if rest:
            found.append(rest)
    return found
