r"""Dirac and Bergmann's analysis of a singular Lagrangian: constraints in phase space, their classes, multipliers and motion.

The total Hamiltonian $H_T = H + u_\alpha \varphi_\alpha$ contains the primary constraints with multipliers. The condition that a constraint
stays zero, $\partial_t \varphi + \{\varphi, H\} + u_\alpha \{\varphi, \varphi_\alpha\} = 0$, determines multipliers or is a further
constraint, until no new ones arise. The multipliers that remain are the free functions of the motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Add, Expr, Matrix, Symbol

from chetaev.core.errors import PrincipleError, UsageError
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance, limited, size
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME
from chetaev.core.zero import vanishes
from chetaev.mechanics.principles import Principle
from chetaev.mechanics.ranks.generic import points_on
from chetaev.singular.algorithm.elimination import Row, Solved
from chetaev.singular.algorithm.reality import parameter_assumptions
from chetaev.singular.algorithm.space import Fraction, Poly, Space, free_names
from chetaev.singular.dirac_bergmann.classes import (
    Classes,
    Pairs,
    classify,
    gauge_directions,
    independent,
    poisson_bracket,
    ring_bracket,
    slopes,
)
from chetaev.singular.dirac_bergmann.closure import Closure, Manifold, close, doubtful, refusals
from chetaev.singular.dirac_bergmann.legendre_map import Primary, Source, legendre_map, read_source, tidied
from chetaev.singular.dirac_bergmann.result import Dirac, in_entries

_POINTS_OF_MANIFOLD = 4
"""Number of real points of the final manifold at which gauge directions are counted; the largest count is taken."""

_LARGEST_IN_PLACE = 60
"""Size, in nodes, of a Lagrangian whose Legendre map is computed in this process, within a tenth of a second."""


@public
def dirac(given: Any, principle: Principle | None = None, *, seconds: float = 30.0) -> Dirac:
    """Run Dirac and Bergmann's analysis of a Lagrangian of first order, which may be singular.

    Args:
        given: A system, a model or equations without forces, reactions and dissipation.
        principle: The principle, for a system that needs one.
        seconds: The budget for the Legendre map, and again for the constraints, counted in operations.

    Returns:
        Constraints, their classes, the total Hamiltonian, multipliers and rates.

    Raises:
        UsageError: If `seconds` is not a positive number.
        PrincipleError: If the equations are not those of a first-order Lagrangian alone, if the states split into several manifolds, or if
            the budget does not suffice.

    >>> from chetaev import System
    >>> print(dirac(System("x y", "B", lagrangian="B/2*(x*y' - y*x') - x^2/2", name="strong field")))
    strong field · Dirac's analysis
      H             x^2/2
      primary       B*y/2 + p_x = 0
                    p_y - B*x/2 = 0
      first class   none
      second class  B*y/2 + p_x, p_y - B*x/2
      H_T           u1*(B*y/2 + p_x) + u2*(p_y - B*x/2) + x^2/2
      multiplier    u1 = 0  (x')
      multiplier    u2 = x/B  (y')
      states        dimension 2; 0 free functions
      generic       B != 0
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"seconds={seconds!r} is not a positive number.", where="dirac", hint=SetArgument("seconds", 30))
    source = read_source(given, principle, "dirac", groups=True)
    where = f"dirac {source.label}"
    result: Dirac | None = None
    with deep(), refusals(where, written=source.written):
        small = size(source.lagrangian) <= _LARGEST_IN_PLACE
        primary = limited(legendre_map, source, where, seconds=seconds, small=small).value  # SymPy solves for the velocities
        if primary is not None:
            with allowance(seconds):
                result = in_entries(_Analysis(source, primary).result())
    if result is None:
        raise PrincipleError(
            f"the constraints were not closed within a budget of {seconds:g} seconds.",
            where=where,
            why="The time that the algebra takes cannot be predicted.",
            hint=(Ask("dirac", "system, seconds=300"), ", or ", Ask("constraint_algorithm", "system"), ", which returns finished branches"),
        )
    return result


@dataclass(frozen=True)
class _Analysis:
    source: Source
    primary: Primary

    @property
    def pairs(self) -> Pairs:
        return self.source.pairs

    def result(self) -> Dirac:
        source, primary = self.source, self.primary
        momenta = list(source.momenta)
        values_of_brackets = [pair[2] for pair in self.pairs if len(pair) == 3]
        space = Space(
            [*momenta, *source.positions],
            [primary.hamiltonian, *primary.constraints, *momenta, *primary.nonzero, *values_of_brackets],
            source.parameters,
        )
        energy, phis = space.read(primary.hamiltonian), [space.read(e) for e in primary.constraints]
        consistency = _Consistency(space, self.pairs, energy, phis)
        avoided = [space.read(e)[0] for e in primary.nonzero] + [d for _, d in [energy, *phis] if not d.is_ground]
        factors = [f for e in avoided for f in space.factors(e)]
        closure = close(space, [n for n, _ in phis], consistency.rows, factors)
        names = _names(source, len(phis))
        total = Add(primary.hamiltonian, *[u * e for u, e in zip(names, primary.constraints, strict=True)])
        velocities = (
            {} if primary.velocities is None else {u: source.coordinates[i].d() for u, i in zip(names, primary.velocities, strict=True)}
        )
        generations, kept = self._generations(space, closure, phis)
        excluded = doubtful(space, [*factors, *space.nonzero, *closure.assumed])
        shared: dict[str, Any] = {
            "source": source,
            "hamiltonian": primary.hamiltonian,
            "generations": generations,
            "total": tidied(total),
            "velocities": Frozen(velocities),
            "irregular": tuple(space.expression(f) for f in closure.irregular),
        }
        if closure.solved is None:
            return self._inconsistent(shared, space, closure, excluded)
        values = _multipliers(space, closure.solved, names)
        free = tuple(names[k] for k in closure.solved.free)
        classes = classify(Manifold.of(space, closure.branch), kept, self.pairs)
        # use all generators: two independent components of r x p = 0 also vanish where r3 = p3 = 0
        vanishing = [space.expression(g) for g in closure.branch.constraints(space) if g not in space.relations]
        points = points_on(vanishing, self._symbols(), count=_POINTS_OF_MANIFOLD)
        generators = self._generators(values, free, names)
        determined = Add(
            primary.hamiltonian,
            *[values[u].xreplace(dict.fromkeys(free, 0 * u)) * e for u, e in zip(names, primary.constraints, strict=True)],
        )
        return Dirac(
            **shared,
            consistent=True,
            failing=(),
            multipliers=Frozen(values),
            free=free,
            classes=classes,
            primary_first_class=generators,
            gauge_directions=gauge_directions(generators, determined, self.pairs, points, (source.momenta, source.placed)),
            rates=Frozen(self._rates(total, values)),
            excluded=tuple(dict.fromkeys([*excluded, *_loci(closure.solved, space), *_zeros_on(space, closure, classes)])),
            assumptions=parameter_assumptions(space),
            point=points[0] if points else None,
        )

    @staticmethod
    def _inconsistent(shared: dict[str, Any], space: Space, closure: Closure, excluded: Sequence[Expr]) -> Dirac:
        """The result where no state satisfies all constraints."""
        return Dirac(
            **shared,
            consistent=False,
            failing=tuple(space.expression(closure.branch.reduce(space, f)) for f in closure.failing),
            multipliers=Frozen({}),
            free=(),
            classes=Classes((), (), Matrix(0, 0, []), ()),
            primary_first_class=(),
            gauge_directions=None,
            rates=Frozen({}),
            excluded=tuple(excluded),
            assumptions=parameter_assumptions(space),
            point=None,
        )

    def _generations(self, space: Space, closure: Closure, phis: Sequence[Fraction]) -> tuple[tuple[tuple[Expr, ...], ...], list[Fraction]]:
        """The independent constraints by step, primary ones as the Legendre map gave them."""
        later = [[(f, space.one) for f in step] for step in closure.steps[1:]]
        everything = [*phis, *[f for step in later for f in step]]
        self._require_moving([space.quotient(f) for f in everything])
        chosen = set(independent(Manifold.of(space, closure.branch), everything, [*self.source.positions, *self.source.momenta]))
        generations: list[tuple[Expr, ...]] = [tuple(self.primary.constraints[i] for i in range(len(phis)) if i in chosen)]
        at = len(phis)
        for step in later:
            kept = tuple(space.expression(f) for i, (f, _) in enumerate(step) if at + i in chosen)
            at += len(step)
            if kept:
                generations.append(kept)
        return tuple(g for g in generations if g), [everything[i] for i in sorted(chosen)]

    def _require_moving(self, constraints: Sequence[Expr]) -> None:
        """Raise a PrincipleError for a constraint on numbers that are constant along every motion, such as a determinant."""
        if not self.source.written:
            return
        for e in constraints:
            if all(vanishes(f) is True for p in self.source.momenta for f in (e.diff(p), poisson_bracket(e, p, self.pairs))):
                raise PrincipleError(
                    f"{show(e.xreplace(self.source.written))} = 0 is a condition on the start.",
                    where=f"dirac {self.source.label}",
                    why="The expression is constant along every motion on the group, so that motions exist only where it vanishes.",
                    hint="for a start in the group it is a number; if that is not zero there is no motion",
                )

    def _symbols(self) -> list[Symbol]:
        return [*self.source.positions, *self.source.momenta, *self.source.parameters, TIME]

    def _generators(self, values: Mapping[Symbol, Expr], free: Sequence[Symbol], names: Sequence[Symbol]) -> tuple[Expr, ...]:
        """The combination of primary constraints that each free multiplier multiplies."""
        return tuple(Add(*[values[u].diff(k) * e for u, e in zip(names, self.primary.constraints, strict=True)]) for k in free)

    def _rates(self, total: Expr, values: Mapping[Symbol, Expr]) -> dict[Symbol, Expr]:
        found = {}
        for z in (*self.source.positions, *self.source.momenta):
            found[z] = tidied(poisson_bracket(z, total, self.pairs).xreplace(dict(values)))
        return found


@dataclass(frozen=True)
class _Consistency:
    r"""The rows $\{\varphi, \varphi_\alpha\} u_\alpha + \{\varphi, H\} + \partial_t\varphi = 0$ of constraints."""

    space: Space
    pairs: Pairs
    energy: Fraction
    primaries: Sequence[Fraction]

    def rows(self, constraints: Sequence[Poly]) -> list[Row]:
        space = self.space
        energy, primaries = slopes(space, self.energy), [slopes(space, f) for f in self.primaries]
        rows = []
        for g in constraints:
            parts = slopes(space, (g, space.one))
            drift = space.sum([ring_bracket(space, parts, energy, self.pairs), *([parts[TIME]] if TIME in parts else [])])
            row, _ = space.cleared([*[ring_bracket(space, parts, f, self.pairs) for f in primaries], drift])
            rows.append(row)
        # without constraints, one row of zeros keeps the number of columns
        return rows or [[space.zero] * (len(primaries) + 1)]


def _names(source: Source, count: int) -> list[Symbol]:
    """The multipliers `u1`, `u2`, ... of the primary constraints."""
    taken = {z.base for z in (*source.coordinates, *source.momenta)} | {p.name for p in source.parameters}
    return [Symbol(name, real=True) for name in free_names(taken, count)]


def _multipliers(space: Space, solved: Solved, names: Sequence[Symbol]) -> dict[Symbol, Expr]:
    values = {}
    for j, u in enumerate(names):
        term, free = solved.rate(space, j)
        values[u] = tidied(Add(space.quotient(term), *[space.quotient(c) * names[k] for k, c in free.items()]))
    return values


def _loci(solved: Solved, space: Space) -> list[Expr]:
    """Denominators of the multipliers that may vanish."""
    found: list[Poly] = []
    for j in range(solved.unknowns):
        term, free = solved.rate(space, j)
        for _, d in [term, *free.values()]:
            found += space.factors(d)
    return doubtful(space, found)


def _zeros_on(space: Space, closure: Closure, classes: Classes) -> list[Expr]:
    """Denominators of the Dirac bracket that are not constant on the final manifold."""
    pairs = [(e, closure.branch.reduce(space, space.read(e)[0])) for e in classes.determinant_factors]
    return [e for e, rest in pairs if rest and doubtful(space, space.factors(rest))]
