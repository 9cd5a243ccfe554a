r"""Quotients that vanish where their denominator overflows a double, such as $1/\cosh^2(u)$ and $1/(1 + e^u)$ for large $u$.

The value would be right as it stands, $1/\infty = 0$, but its slopes are $\infty/\infty$. So the growing functions are evaluated at
$I u$ in place of $u$, and the quotient is multiplied by $I$, where $I$ is 1 as long as the square of the denominator is a double, and 0
beyond:

$$ \frac{1}{b^n} \to \frac{I}{(I\,b(I u) + 1 - I)^n}. $$

Beyond the limit a denominator with one term is that term, $c\,e^u$ or $c\,e^{|u|}/2$, to 150 digits, and the quotient a falling
exponential, which is added, times $1 - I$: cut off to zero it would jump where it is 1e-152, and for a body at rest there is no other size
beside which that is small.
$I$ is a comparison of the graph and has no slope. Within the limit the result is the same to the last bit. For formal questions $I$ is 1
(`tape`).
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import sympy
from sympy import Expr, Rational

_SQUARE = 350
"""Exponent of e up to which the square of a number is a double: doubles end at e^709, and the margin leaves room for a factor."""

_NEGLIGIBLE_BESIDE = 10**100
"""Largest ratio of the number to the coefficient of the growing term for which the number is negligible beyond the limit, e^350."""


def parts(base: Expr, exponent: Expr) -> tuple[Expr, tuple[tuple[Expr, Expr], ...]] | None:
    """Return the number and the terms, each a coefficient and a growing function, of a denominator that is large where one of them is.

    None for other expressions, such as sums with terms of both signs, which may cancel.

    >>> x = sympy.Symbol("x")
    >>> parts(1 + 2*sympy.exp(3*x), sympy.Integer(-2))
    (1, ((2, exp(3*x)),))
    >>> parts(sympy.exp(x) - sympy.exp(2*x), sympy.Integer(-1)) is None
    True
    """
    if not (exponent.is_Rational and exponent.p < 0):  # SymPy derives `is_negative` for every fraction anew
        return None
    number, terms = base.as_coeff_Add()
    found = [term.as_coeff_Mul() for term in sympy.Add.make_args(terms)]
    signs = {bool(c.is_negative) for c, _ in found}
    growing = all(isinstance(f, sympy.exp | sympy.cosh) and f.args[0].free_symbols for _, f in found)
    return (number, tuple(found)) if growing and len(signs) == 1 and all(c.is_Rational for c, _ in found) else None


def limit_of(exponent: Expr) -> Expr:
    """Return the largest argument of the growing functions in a power with this exponent."""
    return Rational(_SQUARE) / (-exponent if -exponent > 1 else 1)


def inside(limit: ca.SX, functions: list[tuple[Expr, ca.SX]]) -> ca.SX:
    """Return 1 if the arguments of all functions are below the limit, otherwise 0; NaN counts as below, so that it stays visible."""
    found = ca.SX(1)
    for f, u in functions:
        for reach in (u, ca.SX.unary(ca.OP_NEG, u)) if isinstance(f, sympy.cosh) else (u,):
            found = found * ca.SX.unary(ca.OP_NOT, ca.SX.binary(ca.OP_LT, limit, reach))
    return found


def first_term(exponent: Expr, number: Expr, terms: Sequence[tuple[Expr, Expr]]) -> Expr | None:
    """Return the factor of the exponential that equals the quotient beyond the limit; None for several terms, or without a real power."""
    factor, f = terms[0]
    if len(terms) > 1 or abs(number) > abs(factor) * _NEGLIGIBLE_BESIDE or not (factor.is_positive or exponent.is_Integer):
        return None
    found: Expr = (factor / 2 if isinstance(f, sympy.cosh) else factor) ** exponent
    return found


def outside(limit: ca.SX, f: Expr, u: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return whether the argument of a function is beyond the limit (1 or 0), and its absolute value there (0 within)."""
    right = ca.SX.binary(ca.OP_LT, limit, u)
    if not isinstance(f, sympy.cosh):
        return right, right * u
    left = ca.SX.binary(ca.OP_LT, limit, ca.SX.unary(ca.OP_NEG, u))
    return right + left, (right - left) * u
