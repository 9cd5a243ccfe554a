r"""Arguments that hold over the real numbers only: sums of squares, signs, ranges, and quadratic forms that factor over $\sqrt d$.

A polynomial that is a sum of squares with positive coefficients vanishes at a real point only if every square does; with a positive
constant among them it never vanishes. The squares are found by completing them one variable after another; the result is exact, but a
polynomial without such a certificate may still have no real zero. Where it contains functions, their ranges may exclude zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction as Ratio
from itertools import combinations, product
from typing import Any

import sympy
from sympy import Expr, Symbol

from chetaev.core.support.budget import spend
from chetaev.mechanics.definite import bounded_away
from chetaev.singular.algorithm.ring import Poly, support, weight
from chetaev.singular.algorithm.space import MOST_ANGLES, Space

_MOST_TERMS = 60
"""Number of terms of a polynomial above which a sum of squares is not searched; completing
squares may double the terms with each variable."""
_POINTS_TRIED = 6
"""Number of points at which a polynomial is evaluated before its squares are searched. With fewer, more indefinite polynomials lead to a
search over all orders of their variables, whose number doubles with each variable."""
MOST_SURDS = 3
"""Largest number of square roots adjoined to the ring in one search; each doubles the degree of the following polynomials."""


class NeedsSurd(Exception):
    """A quadratic form factors over the square root of a positive element, `square`, that the ring does not contain yet."""

    def __init__(self, square: Expr, factors: tuple[Expr, Expr]) -> None:
        super().__init__(str(square))
        self.square, self.factors = square, factors


def sign_of(space: Space, c: Any) -> int:
    """The sign of a coefficient: 1, -1, or 0 if it is unknown."""
    if not space.parameters:
        return 1 if c > 0 else -1 if c < 0 else 0
    sign = 1
    for part in (c.numer, c.denom):
        signs = {1 if v > 0 else -1 for v in part.values()}
        odd = any(e % 2 and not space.parameters[i].is_positive for m in part for i, e in enumerate(m))
        if len(signs) != 1 or odd:
            return 0
        sign *= signs.pop()
    return sign


def unsigned_parameters(space: Space, coefficients: Iterable[Any]) -> tuple[Symbol, ...]:
    """The declared parameters in some coefficients whose signs are not known."""
    if not space.parameters:
        return ()
    inside = {i for c in coefficients for part in (c.numer, c.denom) for i in support(part)}
    declared = (space.parameters[i] for i in sorted(inside))
    return tuple(p for p in declared if not p.is_positive and p not in space.translation.constants)


def parameter_assumptions(space: Space) -> tuple[Expr, ...]:
    """The irreducible expressions in parameters that were divided by, or whose sign was used, without those that cannot vanish."""
    found: dict[str, Expr] = {}
    for c in dict.fromkeys(space.divisors):
        for part in (c.numer, c.denom):
            for f, _ in part.factor_list()[1]:
                if not sign_of(space, space.domain(f)) or _vanishes_with_parameters(space, f):
                    e = space.in_jets(f.as_expr(*space.parameters))
                    found.setdefault(str(e), e)
    return tuple(sorted(found.values(), key=lambda e: (sympy.count_ops(e), str(e))))


def _vanishes_with_parameters(space: Space, f: Poly) -> bool:
    """Whether a polynomial vanishes where all parameters do whose signs are not known, as a^2 + b^2, unlike a^2 + 1."""
    return not any(all(not e or space.parameters[i].is_positive for i, e in enumerate(m)) for m in f)


def must_vanish(space: Space, f: Poly) -> list[Poly] | None:
    """Polynomials that all vanish at every real zero of `f`; a constant among them means that `f` has no real zero. None without a
    certificate.
    """
    if f.is_ground or len(f) > _MOST_TERMS:
        return None
    for form in _variants(space, f):
        for signed in (form, -form) if form else ():
            recorded = len(space.divisors)
            found = _squares(space, signed)
            if found is not None:
                return [space.one] if _off_a_circle(space, found) else found
            del space.divisors[recorded:]
    functions = any(f.degree(space.variables[i]) > 0 for i in space.generators)
    return [space.one] if functions and bounded_away(space.expression(f)) else None


def never_vanishes(space: Space, f: Poly) -> bool:
    """Whether a polynomial provably has no real zero."""
    found = must_vanish(space, f)
    return found is not None and any(g.is_ground for g in found)


def quadratic_factors(space: Space, f: Poly) -> tuple[Poly, Poly] | None:
    r"""The two factors of $4a f = (2ax + b)^2 - d\,s^2$ over $\sqrt d$ with $d > 0$, where both can vanish together.

    Only then do two real manifolds cross: $x^2 = 2y^2$ is a pair of lines, while $x^2 = 2$ is already a smooth set.
    """
    for i, x in enumerate(space.variables):
        if i in space.generators or f.degree(x) != 2:
            continue
        a, b, c = (_coefficient(space, f, i, k) for k in (2, 1, 0))
        if not a.is_ground:
            continue
        discriminant = b**2 - 4 * a * c
        if discriminant.is_ground:
            continue
        lead, factors = space.factor_list(discriminant)
        if any(power % 2 for _, power in factors):
            continue
        root = space.one
        for g, power in factors:
            root *= g ** (power // 2)
        if sign_of(space, lead) <= 0:
            continue
        square, outside = _square_free(space, lead)
        if square == 1:
            continue
        middle, shift = 2 * a * x + b, root.mul_ground(outside)
        if square not in space.surds:
            left, right = (space.expression(g.mul_ground(1 / (2 * a.LC))) for g in (middle, shift))
            right *= sympy.sqrt(square)
            raise NeedsSurd(square, (left - right, left + right))
        shift *= space.variables[space.surds[square]]
        return middle - shift, middle + shift
    return None


def _square_free(space: Space, c: Any) -> tuple[Expr, Any]:
    """A positive coefficient as `square-free * outside^2`."""
    expression = space.domain.to_sympy(c)
    n, d = sympy.fraction(sympy.together(expression))
    content, factors = sympy.factor_list(n * d)
    inside, outside = sympy.S.One, sympy.S.One
    pairs = [*factors, *[(sympy.Integer(p), k) for p, k in sympy.factorint(int(content)).items()]]
    for base, power in pairs:
        inside *= base ** (power % 2)
        outside *= base ** (power // 2)
    return inside, space.domain.from_sympy(sympy.cancel(outside / d))


def _squares(space: Space, f: Poly) -> list[Poly] | None:
    """The bases of a sum of squares, or None. Their coefficients are recorded, since a^2 x^2 may vanish without x."""
    if not f:
        return []
    spend(weight(f))
    if all(_nonnegative(space, m) and sign_of(space, c) > 0 for m, c in f.items()):
        for c in f.values():
            space.record(c)
        return [_base(space, m) for m in f]
    if _somewhere_negative(space, f):
        return None
    degrees = f.degrees()
    for i, x in enumerate(space.variables):
        if degrees[i] != 2:
            continue
        a, b, c = (_coefficient(space, f, i, k) for k in (2, 1, 0))
        if not a.is_ground or sign_of(space, a.LC) <= 0:
            continue
        rest = _squares(space, c - (b**2).mul_ground(1 / (4 * a.LC)))
        if rest is not None:
            space.record(a.LC)
            return [x + b.mul_ground(1 / (2 * a.LC)), *rest]
    return _squares_times_square(space, f)


def _somewhere_negative(space: Space, f: Poly) -> bool:
    """Whether a polynomial is negative at one of some points; then no sum of squares, with positive coefficients, equals it.

    Positive variables and parameters have positive values there; relations between variables need not hold, because a certificate is an
    identity of polynomials. The arithmetic is exact.
    """
    count = len(space.variables)
    for trial in range(_POINTS_TRIED):
        point = [_trial_value(trial, i, i in space.positive) for i in range(count)]
        parameters = [_trial_value(trial, count + k, True) for k in range(len(space.parameters))]
        total = Ratio(0)
        for m, c in f.items():
            value = _number_at(c, parameters) if space.parameters else Ratio(int(c.numerator), int(c.denominator))
            if value is None:
                break
            for i, e in enumerate(m):
                if e:
                    value *= point[i] ** e
            total += value
        else:
            if total < 0:
                return True
    return False


def _trial_value(trial: int, place: int, positive: bool) -> Ratio:
    """A coordinate of a trial point: irregular values that are zero, small, of order one or large, of both signs."""
    if trial == 0 and not positive:
        return Ratio(0)
    size = Ratio(7919 * (place + 3) * (trial + 2) % 997 + 1, (101, 997, 499, 31, 7, 1)[trial % _POINTS_TRIED])
    return size if positive or 104729 * (place + 1) * (trial + 5) % 1009 % 2 else -size


def _number_at(coefficient: Any, values: list[Ratio]) -> Ratio | None:
    """The value of a rational function of the parameters; None at its poles."""
    parts = []
    for part in (coefficient.numer, coefficient.denom):
        total = Ratio(0)
        for m, c in part.items():
            value = Ratio(int(c.numerator), int(c.denominator))
            for v, e in zip(values, m, strict=True):
                value *= v**e
            total += value
        parts.append(total)
    return parts[0] / parts[1] if parts[1] else None


def _squares_times_square(space: Space, f: Poly) -> list[Poly] | None:
    """The bases of $g^2 h$ where $h$ is a sum of squares; $y^2 (t - 1)^2$ has no constant coefficient for completing a square."""
    if len(f) > _MOST_TERMS:
        return None
    lead, factors = space.factor_list(f)
    if all(power == 1 for _, power in factors):
        return None
    square, rest = space.one, space.ring.ground_new(lead)
    for g, power in factors:
        square *= g ** (power // 2)
        rest *= g ** (power % 2)
    found = _squares(space, rest)
    return None if found is None else [square * g for g in found]


def _nonnegative(space: Space, monomial: tuple[int, ...]) -> bool:
    return all(e % 2 == 0 or i in space.positive for i, e in enumerate(monomial))


def _base(space: Space, monomial: tuple[int, ...]) -> Poly:
    """The product of the variables of a monomial that may vanish."""
    return space.ring.from_dict({tuple(1 if e and i not in space.positive else 0 for i, e in enumerate(monomial)): space.domain.one})


def _coefficient(space: Space, f: Poly, i: int, power: int) -> Poly:
    return space.ring.from_dict({(*m[:i], 0, *m[i + 1 :]): c for m, c in f.items() if m[i] == power})


def _variants(space: Space, f: Poly) -> Iterator[Poly]:
    """The polynomial as it is, and in other forms modulo $c^2 + s^2 = 1$: $2 - c^2 = 1 + s^2$."""
    yield f
    pairs = space.circles(f)
    if not pairs or len(pairs) > MOST_ANGLES:
        return
    for choice in product((0, 1), repeat=len(pairs)):
        yield space.exchanged(f, [pair[:: 1 - 2 * which] for which, pair in zip(choice, pairs, strict=True)])
    yield _homogeneous(space, f, pairs)


def _off_a_circle(space: Space, polynomials: Sequence[Poly]) -> bool:
    """Whether some of the polynomials vanish together only where cosine and sine of one angle do, which is nowhere."""
    linear = [g for g in polynomials if all(sum(m) == 1 for m in g)]
    for i, j in {pair for g in linear for pair in space.circles(g)}:
        x, y = space.variables[i], space.variables[j]
        inside = [g for g in linear if all(m[i] + m[j] for m in g)]
        slopes = [(g.diff(x), g.diff(y)) for g in inside]
        if any(a * d != b * c for (a, b), (c, d) in combinations(slopes, 2)):
            return True
    return False


def _homogeneous(space: Space, f: Poly, pairs: Iterable[tuple[int, int]]) -> Poly:
    r"""The polynomial made homogeneous in cosine and sine by $1 = c^2 + s^2$, if all degrees are even or all odd: $c s + 1$ becomes
    definite.
    """
    for i, j in pairs:
        degrees = {m[i] + m[j] for m in f}
        if len({degree % 2 for degree in degrees}) != 1:
            continue
        one, total = space.variables[i] ** 2 + space.variables[j] ** 2, space.zero
        for m, c in f.items():
            total += space.ring.from_dict({m: c}) * one ** ((max(degrees) - m[i] - m[j]) // 2)
        f = total
    return f
