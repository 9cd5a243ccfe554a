"""Divisors and factors of polynomials with rational coefficients: small ones here, others in a process that counts their work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, TypeVar, cast

from sympy import Symbol
from sympy.polys.domains import QQ
from sympy.polys.orderings import lex
from sympy.polys.rings import PolyRing

from chetaev.core.support.budget import OPERATIONS, OUT_OF_WORK, apart, give_up, limited, remaining, spend

T = TypeVar("T")
Poly = Any
"""A polynomial with rational coefficients."""
_DIVISOR = 20
"""Operations counted for a greatest common divisor, per term and degree. With wrong weights budgets depend on the kind of work."""
_FACTORS = 60
"""Operations counted for a factorisation, per term and degree."""
_LARGE = 40_000
"""Estimate, in operations, above which divisors and factors are computed in a separate process, where their work is counted. Below it they
take at most half a second, as long as the process needs to start."""


def greatest_common_divisor(f: Poly, g: Poly) -> Poly:
    """The greatest common divisor of two polynomials that are not zero."""
    estimate = _DIVISOR * (len(f) + len(g)) * (1 + min(_degree(f), _degree(g)))
    if estimate > _LARGE:
        return f.ring.from_dict(dict(_elsewhere(_divisor, estimate, f.ring.symbols, f, g)))
    spend(estimate)
    return f.gcd(g)


def factors(f: Poly) -> list[tuple[Poly, int]]:
    """The irreducible factors of a polynomial that is not zero, with their powers.

    Variables that do not occur are left out meanwhile: with twenty of them SymPy takes a hundred times as long for five terms.
    """
    if f.is_ground:
        return []
    ring = f.ring
    used = [i for i in range(ring.ngens) if any(m[i] for m in f)]
    small = PolyRing([ring.symbols[i] for i in used], QQ, lex)
    whole = small.from_dict({tuple(m[i] for i in used): c for m, c in f.items()})
    estimate = (_DIVISOR if 1 in whole.degrees() else _FACTORS) * len(f) * (1 + _degree(f))
    if estimate > _LARGE:
        found = [(dict(g), power) for g, power in _elsewhere(_irreducible, estimate, small.symbols, whole)]
    else:
        spend(estimate)
        found = irreducible(whole)
    return [(ring.from_dict({_spread(m, used, ring.ngens): c for m, c in g.items()}), power) for g, power in found]


def _degree(f: Poly) -> int:
    return max((sum(m) for m in f), default=0)


Terms = tuple[tuple[tuple[int, ...], Any], ...]
"""The monomials of a polynomial with their coefficients, as they are sent to another process."""


def _sent(symbols: Sequence[Symbol], *polynomials: Poly) -> tuple[tuple[Symbol, ...], tuple[Terms, ...]]:
    return tuple(symbols), tuple(tuple(sorted(f.items())) for f in polynomials)


def _received(symbols: Sequence[Symbol], terms: Sequence[Terms]) -> list[Poly]:
    ring = PolyRing(symbols, QQ, lex)
    return [ring.from_dict(dict(part)) for part in terms]


def _divisor(symbols: tuple[Symbol, ...], terms: tuple[Terms, ...]) -> Terms:
    """The greatest common divisor of two polynomials."""
    f, g = _received(symbols, terms)
    return _sent(symbols, f.gcd(g))[1][0]


def _irreducible(symbols: tuple[Symbol, ...], terms: tuple[Terms, ...]) -> list[tuple[Terms, int]]:
    """The irreducible factors of a polynomial, with their powers."""
    (f,) = _received(symbols, terms)
    return [(_sent(symbols, g)[1][0], power) for g, power in irreducible(f)]


def _elsewhere(function: Callable[..., T], estimate: float, symbols: Sequence[Symbol], *polynomials: Poly) -> T:
    """Compute a divisor or factors in another process; without an answer the allowance ends. `estimate` is only right for usual
    polynomials.
    """
    spend(estimate)
    left = remaining() + estimate
    with apart():  # what exceeds the estimate is spent below
        answer = limited(function, *_sent(symbols, *polynomials), seconds=left / OPERATIONS, small=left == inf)
    spend(max(0.0, answer.seconds * OPERATIONS - estimate))
    if not answer.done:
        give_up(by_clock=answer.reason != OUT_OF_WORK)
    return cast(T, answer.value)


def irreducible(f: Poly) -> list[tuple[Poly, int]]:
    r"""The irreducible factors of a polynomial over the rationals, with their powers.

    A polynomial $a x + b$, linear in a variable, is irreducible after division by the common divisor of $a$ and $b$. Equations of mechanics
    are almost always linear in some variable, and SymPy's search for factors takes up to a hundred times as long as this divisor.
    """
    linear = [i for i, degree in enumerate(f.degrees()) if degree == 1]
    if not linear:
        return list(f.factor_list()[1])
    i = min(linear, key=lambda i: sum(m[i] for m in f))
    slope = f.diff(f.ring.gens[i])
    common = slope.gcd(f - slope * f.ring.gens[i])
    whole = f.exquo(common).clear_denoms()[1].primitive()[1]
    own = whole if whole[max(whole)] > 0 else -whole  # the sign that SymPy gives its factors
    return [(own, 1), *(() if common.is_ground else irreducible(common))]


def _spread(monomial: Sequence[int], places: Sequence[int], count: int) -> tuple[int, ...]:
    """A monomial of some variables as one of all variables."""
    found = [0] * count
    for i, e in zip(places, monomial, strict=True):
        found[i] = e
    return tuple(found)
