"""The image of a Legendre map that is not affine, by elimination of the velocities."""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Add, Expr, S, Symbol
from sympy.polys.orderings import ProductOrder, grevlex
from sympy.polys.rings import PolyRing

from chetaev.core.errors import PrincipleError
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.generic import points_on
from chetaev.singular.algorithm.ideals import groebner
from chetaev.singular.algorithm.space import Poly, Space
from chetaev.singular.dirac_bergmann.source import Source

_ENERGY = Symbol("_h", real=True)
_POINTS = 6


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
    """The root of a relation of degree one or two in the energy that belongs to the Lagrangian's own values."""
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
    """Whether a formula in the momenta takes the energy's values at random velocities."""
    values = formula.xreplace(dict(zip(source.momenta, slopes, strict=True)))
    tape = Tape([energy, values])
    met = 0
    for point in points_on([], sorted(tape.symbols, key=lambda z: z.name), count=4 * _POINTS):
        try:
            a, b = tape(point)
        except Undefined:
            continue
        met += 1
        if abs(a - b) > 1e-9 * (1 + abs(a)):
            return False
    return met >= _POINTS // 2


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
        why="The momenta are not linear in the velocities, and elimination of the velocities does not settle it.",
        hint="constraint_algorithm takes the Euler-Lagrange equations themselves",
    )
