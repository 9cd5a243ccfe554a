r"""Integrals of $P(z)\,Q(z)^r$ with polynomials $P, Q$ and a broken exponent $r$, where the primitive is of the same kind.

If a polynomial $N$ solves $N' Q + (r + 1) N Q' = P$ then $N Q^{r+1}$ is a primitive. These are the integrals behind Kepler's potential
and the relativistic kinetic energy, with everything else in $Q$ as a constant of unknown sign.
"""

from __future__ import annotations

import sympy
from sympy import Expr, Poly, PolynomialError, Rational, S, Symbol

from chetaev.singular.inverse.variation import tidy

_LARGEST_DEGREE = 12


def root_integral(e: Expr, z: Symbol) -> Expr | None:
    """A primitive $N Q^{r+1}$, or None if the expression is not $P Q^r$ or has no such primitive."""
    found = _polynomial_times_root(tidy(e), z)
    if found is None:
        return None
    p, q, r = found
    size = max(p.degree(), 0) + 1 + q.degree() * max(0, int(sympy.ceiling(-r)) - 1)
    if size > _LARGEST_DEGREE:
        return None
    unknowns = [sympy.Dummy() for _ in range(size + 1)]
    n = Poly(unknowns[::-1], z)
    difference = n.diff(z) * q + (r + 1) * n * q.diff(z) - p
    solutions = list(sympy.linsolve(difference.all_coeffs(), unknowns))
    if not solutions:
        return None
    coefficients = [c.xreplace(dict.fromkeys(unknowns, S.Zero)) for c in solutions[0]]
    numerator = sympy.Add(*[sympy.factor(c) * z**k for k, c in enumerate(coefficients)])
    return numerator * q.as_expr() ** (r + 1)


def _polynomial_times_root(e: Expr, z: Symbol) -> tuple[Poly, Poly, Rational] | None:
    """P, Q and r of a sum of terms that contain powers of one sum Q, or of -Q, and are polynomials in z otherwise."""
    powers = [p for p in e.atoms(sympy.Pow) if p.base.is_Add and z in p.base.free_symbols and p.exp.is_Rational]
    bases = {p.base for p in powers if not p.exp.is_Integer}
    if len(bases) != 1:
        return None
    (base,) = bases
    opposite = tidy(-base)
    if any(p.base not in (base, opposite) for p in powers):
        return None
    w = sympy.Dummy(positive=True)
    marked = e.xreplace({p: (w if p.base == base else -w) ** p.exp for p in powers})
    parts = [(term.as_powers_dict().get(w, S.Zero), term) for term in sympy.Add.make_args(marked)]
    lowest = min(exponent for exponent, _ in parts)
    if not all((exponent - lowest).is_Integer for exponent, _ in parts):
        return None
    polynomial = sympy.Add(*[term / w**exponent * base ** (exponent - lowest) for exponent, term in parts])
    try:
        return Poly(sympy.expand(polynomial), z), Poly(base, z), lowest
    except PolynomialError:
        return None
