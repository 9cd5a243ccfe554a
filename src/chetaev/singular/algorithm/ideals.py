"""Gröbner bases with a record of divisors, saturation, radical membership, dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any

from sympy import Symbol
from sympy.polys.rings import PolyRing

from chetaev.core.support.budget import spend
from chetaev.singular.algorithm.ring import BlockOrder, Poly, ring_of, terms_of_products, weight
from chetaev.singular.algorithm.space import Space


def normal_form(f: Poly, basis: Sequence[Poly]) -> Poly:
    """The remainder modulo monic polynomials; unique if they are a Gröbner basis.

    Terms are taken from a heap, largest first, so that each is reduced once; leading monomials of the basis are found once.
    """
    if not f or not basis:
        return f
    ring = f.ring
    order, divide, times = ring.order, ring.monomial_div, ring.monomial_mul
    leads = [(g.LM, g) for g in basis]
    work = dict(f)
    heap = [_Largest(order(m), m) for m in work]
    heapify(heap)
    rest = ring.zero
    spend(weight(f))
    weights = [weight(g) for g in basis]
    while heap:
        m = heappop(heap).monomial
        c = work.pop(m, None)
        if c is None or not c:
            continue
        for k, (lead, g) in enumerate(leads):
            quotient = divide(m, lead)
            if quotient is None:
                continue
            spend(weights[k] * terms_of_products(f, c))
            for n, v in g.items():
                if n != lead:
                    product = times(n, quotient)
                    if product in work:
                        work[product] -= c * v
                    else:
                        work[product] = -c * v
                        heappush(heap, _Largest(order(product), product))
            break
        else:
            rest[m] = c
    return rest


class _Largest:
    """A monomial in a heap whose first element is the largest."""

    __slots__ = ("key", "monomial")

    def __init__(self, key: tuple[int, ...], monomial: tuple[int, ...]) -> None:
        self.key, self.monomial = key, monomial

    def __lt__(self, other: _Largest) -> bool:
        return self.key > other.key


def basis_of(space: Space, polynomials: Iterable[Poly]) -> list[Poly]:
    """The reduced Gröbner basis of an ideal in the order of the space."""
    return groebner([f for f in polynomials if f], space.monic)


def saturate(space: Space, basis: Sequence[Poly], nonzero: Iterable[Poly]) -> list[Poly]:
    """The ideal of the closure of the zeros of `basis` without the zeros of the polynomials `nonzero` (Rabinowitsch's trick)."""
    factors = [n for n in nonzero if not n.is_ground]
    if not basis or not factors:
        return list(basis)
    ring = ring_of(space.symbols, space.domain, space.blocks, Symbol("_y"))

    def monic(f: Poly) -> Poly:
        space.record(f.LC)
        return f.monic()

    def lift(f: Poly) -> Poly:
        return ring.from_dict({(0, *m): c for m, c in f.items()})

    product = ring.one
    for n in factors:
        product *= lift(n)
    larger = groebner([*map(lift, basis), ring.gens[0] * product - 1], monic)
    kept = [space.ring.from_dict({m[1:]: c for m, c in g.items()}) for g in larger if all(m[0] == 0 for m in g)]
    return basis_of(space, kept)


def vanishes_on(space: Space, f: Poly, basis: Sequence[Poly], nonzero: Sequence[Poly]) -> bool:
    """Whether a polynomial vanishes on the zeros of an ideal where some others do not vanish, over the complex numbers."""
    rest = normal_form(f, basis)
    if not rest:
        return True
    if rest.is_ground or not basis:
        return False
    # any monomial order decides whether 1 is in the ideal; with the new variable last the basis is found much faster
    count = len(space.symbols)
    ring = PolyRing([*space.ring.symbols, Symbol("_y")], space.domain, BlockOrder([*space.blocks, (count, count + 1)]))

    def monic(f: Poly) -> Poly:
        space.record(f.LC)
        return f.monic()

    def lift(f: Poly) -> Poly:
        return ring.from_dict({(*m, 0): c for m, c in f.items()})

    product = lift(rest)
    for n in nonzero:
        if not n.is_ground:
            product *= lift(n)
    return groebner([*map(lift, basis), ring.gens[-1] * product - 1], monic)[0].is_ground


def dimension(space: Space, solved: Iterable[int], basis: Sequence[Poly]) -> int:
    """The dimension of the set of zeros: the size of the largest set of variables that contains no leading monomial."""
    if any(g.is_ground for g in basis):
        return -1
    leading = [frozenset(i for i, e in enumerate(g.LM) if e) for g in basis]
    bound = set().union(*leading)
    free = len(space.symbols) - len(set(solved)) - len(bound)
    for size in range(len(bound), -1, -1):
        if any(not any(m <= set(chosen) for m in leading) for chosen in combinations(sorted(bound), size)):
            return free + size
    return free


def groebner(polynomials: Sequence[Poly], monic: Callable[[Poly], Poly]) -> list[Poly]:
    """Buchberger's algorithm with the criteria of Gebauer and Möller; every leading coefficient passes through `monic`."""
    basis: list[Poly] = []
    pairs: list[tuple[Any, int, int]] = []
    alive: list[bool] = []

    def insert(f: Poly) -> None:
        ring = f.ring
        k, lead = len(basis), f.LM
        lcms = {i: ring.monomial_lcm(basis[i].LM, lead) for i in range(k) if alive[i]}
        pairs[:] = [
            p
            for p in pairs
            if ring.monomial_div(p[0], lead) is None
            or ring.monomial_lcm(basis[p[1]].LM, lead) == p[0]
            or ring.monomial_lcm(basis[p[2]].LM, lead) == p[0]
        ]
        fresh: list[tuple[Any, int]] = []
        for i, m in sorted(lcms.items(), key=lambda item: ring.order(item[1])):
            if not any(ring.monomial_div(m, other) is not None for other, _ in fresh):
                fresh.append((m, i))
        pairs.extend((m, i, k) for m, i in fresh if ring.monomial_mul(basis[i].LM, lead) != m)
        for i in lcms:
            if ring.monomial_div(basis[i].LM, lead) is not None:
                alive[i] = False
        basis.append(f)
        alive.append(True)

    for f in sorted(polynomials, key=lambda f: f.ring.order(f.LM)):
        rest = normal_form(f, [g for g, keep in zip(basis, alive, strict=True) if keep])
        if rest:
            insert(monic(rest))
    while pairs:
        if any(g.is_ground for g in basis):
            return [basis[0].ring.one]
        order = basis[0].ring.order
        best = min(range(len(pairs)), key=lambda n: order(pairs[n][0]))
        m, i, j = pairs.pop(best)
        rest = normal_form(_s_polynomial(basis[i], basis[j], m), [g for g, keep in zip(basis, alive, strict=True) if keep])
        if rest:
            insert(monic(rest))
    return _reduced([g for g, keep in zip(basis, alive, strict=True) if keep])


def _s_polynomial(f: Poly, g: Poly, lcm: Any) -> Poly:
    ring = f.ring
    return f.mul_monom(ring.monomial_div(lcm, f.LM)) - g.mul_monom(ring.monomial_div(lcm, g.LM))


def _reduced(basis: list[Poly]) -> list[Poly]:
    """Every element reduced by the others, ordered by leading monomial."""
    if any(g.is_ground for g in basis):
        return [basis[0].ring.one]
    found = []
    for k, g in enumerate(basis):
        found.append(normal_form(g, [h for i, h in enumerate(basis) if i != k]))
    return sorted((g for g in found if g), key=lambda g: g.ring.order(g.LM))
