r"""The image of the Legendre map $p_i = \partial L/\partial \dot q^i$ of a singular Lagrangian, and the canonical Hamiltonian on it.

For momenta affine in the velocities, $p = W \dot q + b$ with $W$ of rank $r$, a principal block $W_{aa}$ of size $r$ is regular, and

$$ \varphi_\alpha = p_\alpha - b_\alpha - W_{\alpha a} W_{aa}^{-1} (p_a - b_a) = 0 $$

are the primary constraints. Since they are solved for momenta, their multipliers in the total Hamiltonian are the velocities
$\dot q^\alpha$. The canonical Hamiltonian $p_i \dot q^i - L$ does not depend on $\dot q^\alpha$ there, and these are set to zero.

Other momenta (the relativistic particle) are treated by elimination: a Gröbner basis of the relations between $p$, $q$, $\dot q$ and
$h = p_i \dot q^i - L$ in which velocities stand first.

The input is a Lagrangian of first order: a system, a model or equations without other forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import sympy
from sympy import Add, Expr, Matrix, S, Symbol
from sympy.polys.orderings import ProductOrder, grevlex
from sympy.polys.rings import PolyRing

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Ask, SetInput, UsePrinciple, listed
from chetaev.core.functions import in_own_functions
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Coordinate, Entry, Jet, Parameter, jets_in
from chetaev.core.system import System, fresh_coordinates
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import vanishes
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.principles import Hamilton, Principle, Vakonomic
from chetaev.mechanics.ranks.generic import RANK_POINTS, SCALED_POINTS, generic_rank, points_on
from chetaev.singular.algorithm.ideals import groebner
from chetaev.singular.algorithm.space import Poly, Space
from chetaev.singular.dynamical.dynamical_form import input_values


@dataclass(frozen=True)
class Source:
    """Coordinates (multipliers of vakonomic motion among them), their momenta, parameters and the Lagrangian."""

    coordinates: tuple[Jet, ...]
    momenta: tuple[Coordinate, ...]
    parameters: tuple[Parameter, ...]
    lagrangian: Expr
    system: System

    @cached_property
    def positions(self) -> tuple[Jet, ...]:
        """The variables of the configuration: the coordinates, and for group coordinates the stored entries of their matrices."""
        found: list[Jet] = []
        for q in self.coordinates:
            if q not in self.system.frame.turning:
                found.append(q)
        return (*found, *[z for _, group in self._groups for z in group.chart.values() if isinstance(z, Jet)])

    @cached_property
    def placed(self) -> tuple[Coordinate, ...]:
        """The momenta of coordinates that have positions; in a reduced system the velocity of a group coordinate has none."""
        without = {q for group in self.system.groups.values() if group.reduced for q in group.components}
        return tuple(p for q, p in zip(self.coordinates, self.momenta, strict=True) if q not in without)

    @cached_property
    def pairs(self) -> tuple[Any, ...]:
        r"""Variables with their brackets: coordinates with momenta, $\{z, p_a\} = X_a z$ and $\{p_a, p_b\} = -C^c_{ab} p_c$ on groups."""
        frame, p = self.system.frame, dict(zip(self.coordinates, self.momenta, strict=True))
        found: list[Any] = [(q, p[q]) for q in self.coordinates if q not in frame.turning]
        for _, group in self._groups:
            entries = {z for z in group.chart.values() if isinstance(z, Jet)}
            for a, q in enumerate(group.components):
                found += [(z, p[q], e) for z, e in group.fields[a].items() if z in entries]
        for (a, b), parts in frame.structure.items():
            value = Add(*[-c * p[frame.velocities[k].d(-1)] for k, c in parts.items()])
            if value != 0:
                found.append((p[frame.velocities[a].d(-1)], p[frame.velocities[b].d(-1)], value))
        return tuple(found)

    @cached_property
    def written(self) -> dict[Symbol, Symbol]:
        """The entries by which stored numbers of groups are written."""
        return {e: z for _, group in self._groups for z, e in group.chart.items() if isinstance(e, Jet)}

    @cached_property
    def stored(self) -> dict[Symbol, Symbol]:
        """The stored numbers of the entries of groups."""
        return {z: e for e, z in self.written.items()}

    @property
    def _groups(self) -> list[tuple[str, GroupCoordinate]]:
        return [(name, group) for name, group in self.system.groups.items() if isinstance(group.group, MatrixGroup) and not group.reduced]

    @property
    def label(self) -> str:
        """The name of the system in messages."""
        return self.system.label


def read_source(given: Any, principle: Principle | None, verb: str, groups: bool = False) -> Source:
    """The Lagrangian of `given`; raises a PrincipleError if its equations are not those of a Lagrangian of first order."""
    equations = given if isinstance(given, Equations) else derive(given, principle)
    system, lowered = equations.system, equations.lowered
    where = f"{verb} {system.label}"
    if not groups:
        require_coordinates(system, verb)
    _require_entries(system, lowered.lagrangian, where)
    if lowered.action is not None or lowered.reactions or system.equations or system.dissipation != 0 or any(system.forces.values()):
        raise PrincipleError(
            f"the equations under {equations.principle} are not those of a Lagrangian alone.",
            where=about(where, "principle"),
            why="A Hamiltonian cannot contain forces, reactions, dissipation or an action variable.",
            hint=(
                *listed([UsePrinciple(Hamilton()), UsePrinciple(Vakonomic())]),
                ", without forces; constraint_algorithm accepts any equations",
            ),
        )
    coordinates = (*system.coordinates, *lowered.costates)
    lagrangian = system.charted(_written_out(lowered.lagrangian, system, where))
    high = [z for z in jets_in(lagrangian) if z.order > 1]
    if high:
        raise PrincipleError(
            f"the Lagrangian contains {min(high, key=lambda z: z.name)}.",
            where=about(where, "lagrangian"),
            why="Momenta are taken from a Lagrangian of first order.",
            hint="constraint_algorithm accepts Lagrangians of any order",
        )
    momenta = tuple(fresh_coordinates(system, [f"p_{q.base}" for q in coordinates]))
    return Source(coordinates, momenta, system.parameters, lagrangian, system)


def _require_entries(system: System, lagrangian: Expr, where: str) -> None:
    """Raise a PrincipleError where the Lagrangian contains a rotation that is stored as a quaternion."""
    for z in sorted(lagrangian.free_symbols, key=str):
        if isinstance(z, Entry) and not isinstance(system.groups[z.group].group, MatrixGroup):
            raise PrincipleError(
                f"the Lagrangian depends on the position {z.group}, an element of {system.groups[z.group].word}.",
                where=about(where, "lagrangian"),
                why="The entries of a rotation satisfy quadratic relations; Dirac's analysis needs independent variables in phase space.",
                hint=(Ask("ch.groups.in_coordinates", "system"), ", or a group of matrices such as SO4, whose entries are independent"),
            )


def _written_out(lagrangian: Expr, system: System, where: str) -> Expr:
    """The Lagrangian with every input replaced by the function of time it stands for."""
    values = input_values([lagrangian], system.inputs)
    missing = next((z.base for z, value in values.items() if value is None), None)
    if missing is not None:
        raise PrincipleError(
            f"the input {missing} has no value.",
            where=about(where, "inputs", missing),
            why="Constraints are differentiated in time, which needs a formula for the input.",
            hint=SetInput((missing,), "sin(t)"),
        )
    return lagrangian.xreplace(values)


_ENERGY = Symbol("_h", real=True)
"""The energy as a variable of the elimination."""
_RANDOM_VELOCITIES = 6
"""Number of random velocities at which a formula is compared with the energy; at half of them both must be defined."""

_MOST_BLOCKS = 200
"""Largest number of principal blocks that are compared for the simplest determinant."""
_SAME_ENERGY = 1e-9
"""Largest relative difference between a formula and the energy at random points, due to round-off. A wrong root differs by about the energy
itself."""
_UNDECIDED_SIGN = 1e-6
"""Absolute value of a constraint, at points of order one, below which its sign is undecided and another point is taken."""
_LONG = 400
"""Operations in an expression above which it is not shortened, since SymPy would take seconds."""


@dataclass(frozen=True)
class Primary:
    """Primary constraints, the canonical Hamiltonian, and expressions that must not vanish for the formulas to hold."""

    constraints: tuple[Expr, ...]
    hamiltonian: Expr
    nonzero: tuple[Expr, ...]
    velocities: tuple[int, ...] | None
    """The coordinates whose velocities are the multipliers; None if the constraints are not solved for momenta."""


def legendre_map(source: Source, where: str) -> Primary:
    """The primary constraints and the canonical Hamiltonian of a Lagrangian of first order."""
    velocities = [q.d() for q in source.coordinates]
    slopes = SYMBOLIC.gradient(source.lagrangian, velocities)
    hessian = Matrix([SYMBOLIC.gradient(e, velocities) for e in slopes])
    if all(vanishes(e.diff(v)) is True for e in hessian for v in velocities if v in e.free_symbols):
        at_rest = dict.fromkeys(velocities, S.Zero)
        return _affine(source, hessian.xreplace(at_rest), Matrix([SYMBOLIC.without(e, velocities) for e in slopes]), where)
    return _general(source, slopes, hessian, where)


def _affine(source: Source, hessian: Matrix, offset: Matrix, where: str) -> Primary:
    n = len(source.coordinates)
    points = points_on([], sorted(hessian.free_symbols, key=lambda z: z.name), count=RANK_POINTS)
    rank = generic_rank(hessian.tolist(), points)
    solved = _regular_block(hessian, rank)
    if len(solved) != rank:
        raise _undecided(where)
    free = tuple(i for i in range(n) if i not in solved)
    block = hessian.extract(list(solved), list(solved))
    rest = hessian.extract(list(free), list(solved))
    if (
        any(vanishes(e) is False for e in (hessian.extract(list(free), list(free)) - rest * _inverse(block) * rest.T if rank else hessian))
        and rank < n
    ):
        raise _undecided(where)
    p = Matrix(source.momenta)
    inverse = _inverse(block)
    speeds = inverse * (p.extract(list(solved), [0]) - offset.extract(list(solved), [0])) if rank else Matrix(0, 1, [])
    constraints = []
    for row, i in enumerate(free):
        moved = Add(*[rest[row, k] * speeds[k] for k in range(rank)])
        constraints.append(tidied(p[i] - offset[i] - moved))
    values = {source.coordinates[i].d(): S.Zero for i in free} | {source.coordinates[i].d(): speeds[k] for k, i in enumerate(solved)}
    energy = Add(*[p[i] * speeds[k] for k, i in enumerate(solved)]) - source.lagrangian.xreplace(values)
    return Primary(tuple(constraints), tidied(energy), _factors(block.det(method="berkowitz") if rank else S.One), free)


def _undecided(where: str) -> PrincipleError:
    return PrincipleError(
        "the rank of the matrix of second derivatives could not be decided.",
        where=where,
        why="Numbers and formulas disagree about it.",
        hint="constraint_algorithm accepts the Euler-Lagrange equations",
    )


def _regular_block(hessian: Matrix, rank: int) -> tuple[int, ...]:
    """The rows of the principal block with the simplest determinant that does not vanish."""
    best: tuple[tuple[int, int], tuple[int, ...]] | None = None
    for count, rows in enumerate(combinations(range(hessian.rows), rank)):
        determinant = hessian.extract(list(rows), list(rows)).det(method="berkowitz") if rank else S.One
        if vanishes(determinant) is not False:
            continue
        moving = {z for z in determinant.free_symbols if not isinstance(z, Parameter)}
        key = (len(moving), sympy.count_ops(determinant))
        if best is None or key < best[0]:
            best = (key, rows)
        if key == (0, 0) or count >= _MOST_BLOCKS:
            break
    return best[1] if best else ()


def _inverse(block: Matrix) -> Matrix:
    return block.inv(method="ADJ").applyfunc(tidied) if block.rows else block


def _general(source: Source, slopes: Sequence[Expr], hessian: Matrix, where: str) -> Primary:
    """Primary constraints by elimination of the velocities; their number must be the corank of the second derivatives."""
    symbols = sorted(hessian.free_symbols, key=lambda z: z.name)
    corank = hessian.rows - generic_rank(hessian.tolist(), points_on([], symbols, count=SCALED_POINTS))
    velocities = [q.d() for q in source.coordinates]
    energy = Add(*[e * v for e, v in zip(slopes, velocities, strict=True)]) - source.lagrangian
    still = vanishes(energy) is True
    constraints, hamiltonian = image_of(source, slopes, None if still else energy, where)
    if len(constraints) != corank:
        raise PrincipleError(
            f"elimination of the velocities gives {len(constraints)} relations between the momenta instead of {corank}.",
            where=where,
            why="The number of equations of the image of the Legendre map is not its codimension.",
            hint="constraint_algorithm accepts the Euler-Lagrange equations",
        )
    if len(constraints) == 1:
        constraints = (_oriented(constraints[0], source, slopes),)
    return Primary(constraints, hamiltonian, (), None)


def _oriented(constraint: Expr, source: Source, slopes: Sequence[Expr]) -> Expr:
    r"""The constraint with the sign for which $\dot q = u\,\partial\varphi/\partial p + \dots$ with $u > 0$ gives the velocities of the
    momenta.

    For a Lagrangian homogeneous of first degree the size of $u$ is free, but not its sign: the momenta change sign with the velocities.
    """
    velocities = [q.d() for q in source.coordinates]
    at = dict(zip(source.momenta, slopes, strict=True))
    along = Add(*[v * constraint.diff(p).xreplace(at) for v, p in zip(velocities, source.momenta, strict=True)])
    tape = Tape([along, *slopes])
    for point in points_on([], sorted(tape.symbols, key=lambda z: z.name), count=20):
        try:
            value = tape(point)[0]
        except Undefined:
            continue
        if abs(value) > _UNDECIDED_SIGN:
            return -constraint if value < 0 else constraint
    return constraint


def tidied(e: Expr) -> Expr:
    """The shortest of `e` and two other forms, a fraction and a sum; `e` itself if it is long."""
    if not (e.is_Add or e.is_Mul) or sympy.count_ops(e) > _LONG:
        return e
    short = sympy.cancel(e) if not e.atoms(sympy.Function) else sympy.together(e)
    return min([e, sympy.factor_terms(short), sympy.expand(short)], key=lambda f: (sympy.count_ops(f), len(str(f))))


def _factors(determinant: Expr) -> tuple[Expr, ...]:
    """The factors of a determinant that depend on the state."""
    product = sympy.factor(determinant) if sympy.count_ops(determinant) < _LONG else determinant
    parts = [f.base if f.is_Pow and f.exp.is_positive else f for f in sympy.Mul.make_args(product)]
    return tuple(f for f in parts if any(not isinstance(z, Parameter) for z in f.free_symbols))


def image_of(source: Source, slopes: Sequence[Expr], energy: Expr | None, where: str) -> tuple[tuple[Expr, ...], Expr]:
    r"""Relations between the momenta $p_i = $ `slopes[i]`, and the energy as a function of positions and momenta (0 if it is None)."""
    velocities = [q.d() for q in source.coordinates]
    space = Space(
        [*velocities, *source.momenta, *source.coordinates], [*slopes, *source.momenta, *([energy] if energy else [])], source.parameters
    )
    moving = set(velocities)
    for g in space.generators.values():
        if g.definition.free_symbols & moving:
            moving.add(g.symbol)
    first = [z for z in space.symbols if z in moving]
    last = [z for z in space.symbols if z not in moving]
    ring = _elimination_ring([Symbol("_y"), *first], [_ENERGY], last, space)
    found = groebner(_relations(source, slopes, energy, space, ring), lambda f: _monic(space, f))
    if any(f.is_ground for f in found):
        raise _refusal("the momenta have no common image.", where)
    high, low = 1 + len(first), 2 + len(first)
    without = [f for f in found if not any(any(m[:high]) for m in f)]
    constraints = [f for f in without if not any(m[high] for m in f)]
    back = tuple(_expression(space, f, last, low) for f in constraints)
    if energy is None:
        return back, S.Zero
    return back, _hamiltonian(source, slopes, energy, [_polynomial(space, f, last, low) for f in without if f not in constraints], where)


def _elimination_ring(first: list[Symbol], middle: list[Symbol], last: list[Symbol], space: Space) -> PolyRing:
    a, b = len(first), len(first) + len(middle)
    order = ProductOrder((grevlex, lambda m: m[:a]), (grevlex, lambda m: m[a:b]), (grevlex, lambda m: m[b:]))
    return PolyRing([*first, *middle, *last], space.domain, order)


def _relations(source: Source, slopes: Sequence[Expr], energy: Expr | None, space: Space, ring: PolyRing) -> list[Poly]:
    place = {z: ring.symbols.index(z) for z in space.symbols}

    def lift(f: Poly) -> Poly:
        found = {}
        for m, c in f.items():
            to = [0] * len(ring.symbols)
            for i, e in enumerate(m):
                if e:
                    to[place[space.symbols[i]]] = e
            found[tuple(to)] = c
        return ring.from_dict(found)

    denominators = list(space.nonzero)
    relations = [lift(f) for f in space.relations]
    for p, e in zip(source.momenta, slopes, strict=True):
        n, d = space.read(e)
        denominators.append(d)
        relations.append(lift(space.variables[space.index[p]] * d - n))
    if energy is not None:
        n, d = space.read(energy)
        denominators.append(d)
        relations.append(ring.gens[ring.symbols.index(_ENERGY)] * lift(d) - lift(n))
    product = ring.one
    for f in dict.fromkeys(denominators):
        product *= lift(f)
    return [*relations, ring.gens[0] * product - 1]


def _hamiltonian(source: Source, slopes: Sequence[Expr], energy: Expr, relations: Sequence[Expr], where: str) -> Expr:
    """The root of a relation of degree one or two in the energy that agrees with the energy at random velocities."""
    for relation in sorted(relations, key=sympy.count_ops):
        degree = sympy.degree(relation, _ENERGY)
        if degree > 2:
            continue
        roots = sympy.roots(sympy.Poly(relation, _ENERGY), multiple=True) if degree == 2 else sympy.solve(relation, _ENERGY)
        fitting = [r for r in roots if _agrees(source, slopes, energy, r)]
        if len(fitting) == 1:
            return fitting[0]
    raise _refusal("no single formula gives the energy as a function of the momenta.", where)


def _agrees(source: Source, slopes: Sequence[Expr], energy: Expr, formula: Expr) -> bool:
    """Whether a formula in the momenta equals the energy at random velocities."""
    values = in_own_functions(formula.xreplace(dict(zip(source.momenta, slopes, strict=True))))  # sqrt(v^6) became |v|^3
    tape = Tape([energy, values])
    met = 0
    for point in points_on([], sorted(tape.symbols, key=lambda z: z.name), count=4 * _RANDOM_VELOCITIES):
        try:
            a, b = tape(point)
        except Undefined:
            continue
        met += 1
        if abs(a - b) > _SAME_ENERGY * (1 + abs(a)):
            return False
    return met >= _RANDOM_VELOCITIES // 2


def _expression(space: Space, f: Poly, last: Sequence[Symbol], low: int) -> Expr:
    e = space.in_jets(Add(*_terms(space, f, last, low)))
    return sympy.numer(sympy.together(e)) if not e.atoms(sympy.Function) else e


def _polynomial(space: Space, f: Poly, last: Sequence[Symbol], low: int) -> Expr:
    """A polynomial in positions, momenta and the energy."""
    terms = _terms(space, f, last, low)
    return space.in_jets(Add(*[t * _ENERGY ** m[low - 1] for t, m in zip(terms, f, strict=True)]))


def _terms(space: Space, f: Poly, last: Sequence[Symbol], low: int) -> list[Expr]:
    coefficient = space.domain.to_sympy
    return [coefficient(c) * sympy.Mul(*[z**e for z, e in zip(last, m[low:], strict=True) if e]) for m, c in f.items()]


def _monic(space: Space, f: Poly) -> Poly:
    space.record(f.LC)
    return f.monic()


def _refusal(what: str, where: str) -> PrincipleError:
    return PrincipleError(
        what,
        where=where,
        why="The momenta are not linear in the velocities, and elimination of the velocities gives no answer.",
        hint="constraint_algorithm accepts the Euler-Lagrange equations",
    )
