r"""Corners that smooth functions hide, written with the absolute value.

$$ \mathrm{arcosh}(\cosh u) = |u|, \quad \arcsin(\sin u) = \mathrm{atan2}(\sin u, |\cos u|), \quad
   \arccos(\cos u) = \tfrac\pi2 - \mathrm{atan2}(\cos u, |\sin u|), \quad \sqrt{f^2 g} = |f| \sqrt g, $$

where the square may be hidden too, as in $1 - \cos^2 u$, $1 - \cos u = 2\sin^2\frac u2$ and $x^2 - 2 x + 1$.

The error estimate of a step may miss such a corner. Written with the absolute value it has a mode, and the right-hand sides are smooth on
either side of it and a little beyond.
"""

from __future__ import annotations

from functools import lru_cache

import sympy
from sympy import Expr, Pow, S

from chetaev.core.functions import Magnitude
from chetaev.core.symbols import long
from chetaev.numerics.corners.rootless_sign_changes import moves

_OTHER = {sympy.sin: sympy.cos, sympy.cos: sympy.sin}
"""Cosine for sine, and sine for cosine."""
_HIDING = (sympy.acosh, sympy.asin, sympy.acos)
"""Functions whose derivative is infinite where their argument reaches the end of its domain."""
_MOST_TERMS = 12
"""Terms of a sum under a root in which a square is looked for. Factoring longer ones would take longer than a motion."""


def with_visible_corners(e: Expr) -> Expr:
    """`e` with hidden corners written with the absolute value.

    >>> from chetaev.core.symbols import Coordinate
    >>> x = Coordinate("x")
    >>> with_visible_corners(3 * sympy.acosh(sympy.cosh(x - 3)))
    3*Magnitude(x - 3)
    >>> with_visible_corners(sympy.sqrt(1 - sympy.cos(x) ** 2)), with_visible_corners(sympy.sqrt(x**4 + x**2))
    (Magnitude(sin(x)), sqrt(x**2 + 1)*Magnitude(x))
    """
    table: dict[Expr, Expr] = {}
    stack, seen = [e], {e}
    while stack:  # parts that occur often are visited once
        node = stack.pop()
        if isinstance(node, (*_HIDING, Pow)) and not long(node) and (found := _visible(node)) is not None and moves(node):
            table[node] = found
        new = [a for a in node.args if a not in seen]
        seen.update(new)
        stack += new
    return e.xreplace(table) if table else e


def _visible(node: Expr) -> Expr | None:
    """One function without its hidden corner; None if it has none."""
    inner = node.args[0]
    if isinstance(node, sympy.acosh):
        return Magnitude(inner.args[0]) if isinstance(inner, sympy.cosh) else None
    if isinstance(node, Pow):
        return _root(inner, node.exp) if node.exp.is_Rational and node.exp.q == 2 and node.exp > 0 else None
    if type(inner) not in _OTHER:
        return None
    angle = sympy.atan2(inner, Magnitude(_OTHER[type(inner)](inner.args[0])))
    return angle if isinstance(node, sympy.asin) else S.Pi / 2 - angle


@lru_cache(maxsize=256)
def _root(base: Expr, exponent: Expr) -> Expr | None:
    """A root with the squares in its argument taken out; None if there are none, or if the root is real only where they vanish."""
    if not base.is_Add or len(base.args) > _MOST_TERMS:
        return None  # squares that are factors are taken out already
    above, below = sympy.fraction(sympy.together(_with_half_angles(_with_one_wave(base))))
    if moves(below):
        return None  # a pole is not a corner
    try:
        number, factors = sympy.factor_list(above)
    except sympy.PolynomialError:
        return None
    squares = {f: count // 2 for f, count in factors if count > 1 and moves(f)}
    if not squares:
        return None
    inside = sympy.Mul(number / below, *[f ** (count - 2 * squares.get(f, 0)) for f, count in factors])
    root = (inside**exponent).replace(sympy.Abs, Magnitude)  # SymPy takes squares of parameters out by itself
    found = sympy.Mul(*[Magnitude(f) ** (2 * exponent * n) for f, n in squares.items()], root)
    return None if found.has(S.ImaginaryUnit) else found


def _with_one_wave(e: Expr) -> Expr:
    """A sum in which 1 - cos(u)^2 is sin(u)^2 and the like, if that leaves one function of u."""
    for wave in e.atoms(sympy.sin, sympy.cos, sympy.cosh):
        other = {sympy.cosh: sympy.sinh, **_OTHER}[type(wave)](wave.args[0])
        square = other**2 + 1 if isinstance(wave, sympy.cosh) else 1 - other**2
        found = sympy.expand(e.subs(wave**2, square))
        if not found.has(wave) and not found.is_Add:
            return found
    return e


def _with_half_angles(e: Expr) -> Expr:
    """A sum c (1 + w) or c (1 - w), where w is cos(u), sin(u) or cosh(u), as a multiple of a square."""
    for wave in e.atoms(sympy.sin, sympy.cos, sympy.cosh):
        coefficient = e.coeff(wave)
        rest = sympy.expand(e - coefficient * wave)
        if rest.has(wave) or coefficient.has(wave) or not coefficient:
            continue
        sign, half = sympy.expand(rest / coefficient), wave.args[0] / 2
        if abs(sign) != 1:
            continue
        shifted = half if not isinstance(wave, sympy.sin) else S.Pi / 4 - half
        even, odd = (sympy.cosh, sympy.sinh) if isinstance(wave, sympy.cosh) else (sympy.cos, sympy.sin)
        if isinstance(wave, sympy.cosh):
            return 2 * coefficient * (even(half) if sign == 1 else odd(half)) ** 2
        return 2 * coefficient * even(shifted) ** 2 if sign == 1 else -2 * coefficient * odd(shifted) ** 2
    return e
