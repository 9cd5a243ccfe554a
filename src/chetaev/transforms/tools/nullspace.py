"""Null spaces of matrices of expressions, and solutions of linear equations, if possible without denominators that may vanish."""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from sympy import Add, Expr, Matrix, Mul, S

from chetaev.core.symbols import jets_in
from chetaev.core.zero import known_zero
from chetaev.mechanics.ranks.generic import Point, generic_rank
from chetaev.mechanics.ranks.row_reduction import row_reduce

Vector = tuple[Expr, ...]

_LARGEST_SHORTENED = 150
"""Operations in an expression up to which it is shortened; SymPy takes seconds for longer ones."""
_ANGLES = 3
"""Number of angles in an expression up to which it is shortened; the polynomials have twice as many variables."""


def null_basis(rows: Sequence[Sequence[Expr]], width: int, points: Sequence[Point]) -> tuple[Vector, ...]:
    """A basis of the null space of `rows`, if possible without denominators that depend on jets.

    The row `y'*cos(theta) - x'*sin(theta)` gives `(cos(theta), sin(theta), 0)`, which is defined for all theta, not `(1, tan(theta), 0)`.
    """
    reduced = row_reduce(rows, points)
    basis = []
    for f in range(width):
        if f in reduced.pivots.values():
            continue
        vector = [S.Zero] * width
        vector[f] = S.One
        for a, p in reduced.pivots.items():
            vector[p] = -reduced.rows[a][f]
        basis.append(_primitive(vector))
    return tuple(basis)


def solution(rows: Sequence[Sequence[Expr]], right: Sequence[Expr], points: Sequence[Point]) -> Vector:
    """A vector with `rows @ vector = right`: by constant pivots if they exist, otherwise the vector of least norm."""
    width = len(rows[0])
    if all(e == 0 for e in right):
        return (S.Zero,) * width
    reduced = row_reduce(rows, points)
    if not any(jets_in(d) for d in reduced.divisors) and len(reduced.pivots) == len(rows):
        columns = [reduced.pivots[a] for a in range(len(rows))]
        square = [[row[p] for p in columns] for row in rows]
        found = _by_cramer(square, right)
        vector = dict(zip(columns, found, strict=True))
        return tuple(vector.get(i, S.Zero) for i in range(width))
    weights = normal_solve(rows, right)
    return tuple(tidy(Add(*[w * row[i] for w, row in zip(weights, rows, strict=True)])) for i in range(width))


def normal_solve(rows: Sequence[Sequence[Expr]], right: Sequence[Expr]) -> list[Expr]:
    r"""$(R R^T)^{-1}$ times a vector, without a search for pivots: the matrix is positive where the rows are independent."""
    gram = [[tidy(Add(*[a * b for a, b in zip(r, s, strict=True)])) for s in rows] for r in rows]
    return positive_solve(gram, right)


def positive_solve(matrix: Sequence[Sequence[Expr]], right: Sequence[Expr]) -> list[Expr]:
    """The solution of a system with a positive matrix, by elimination without a choice of pivots."""
    a = [list(row) for row in matrix]
    b = list(right)
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            if a[i][k] == 0:
                continue
            factor = a[i][k] / a[k][k]
            a[i] = [x - factor * y for x, y in zip(a[i], a[k], strict=True)]
            b[i] = b[i] - factor * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - Add(*[a[k][j] * b[j] for j in range(k + 1, n)])) / a[k][k]
    return b


def independent(rows: Sequence[Sequence[Expr]], points: Sequence[Point]) -> bool:
    """Whether rows are linearly independent on the set from which `points` are taken."""
    return generic_rank(rows, points) == len(rows)


def tidy(e: Expr) -> Expr:
    r"""The shorter of `e` and its form after $\cos^2 + \sin^2 = 1$; a long expression is returned as it is."""
    if not e.has(sympy.sin, sympy.cos) or _is_long(e):
        return e
    whole = sympy.expand(sympy.expand_trig(e))
    forms = {e: None}  # an ordered set
    for first, second in ((sympy.cos, sympy.sin), (sympy.sin, sympy.cos)):
        expanded = whole
        for argument in sorted({f.args[0] for f in expanded.atoms(first)}, key=str):
            expanded = _even(expanded, first(argument), 1 - second(argument) ** 2)
        forms |= {expanded: None, sympy.factor_terms(expanded): None}
    sizes = {form: sympy.count_ops(form) for form in forms}
    shortest = [form for form, size in sizes.items() if size == min(sizes.values())]
    return shortest[0] if len(shortest) == 1 else min(shortest, key=str)


def _is_long(*expressions: Expr) -> bool:
    """Whether polynomial algebra with these expressions would take long."""
    angles = {z for e in expressions for f in e.atoms(sympy.sin, sympy.cos) for z in f.free_symbols}
    return len(angles) > _ANGLES or sum(sympy.count_ops(e) for e in expressions) > _LARGEST_SHORTENED


def _even(e: Expr, function: Expr, square: Expr) -> Expr:
    """The expanded expression with even powers of `function` replaced by powers of `square`; unchanged if it is not a polynomial in it."""
    if e.has(function) and all(power.exp.is_Integer and power.exp.is_positive for power in e.atoms(sympy.Pow)):
        terms = [term.as_independent(function, as_Add=False) for term in Add.make_args(e)]
        powers = [(coefficient, *power.as_base_exp()) for coefficient, power in terms]
        if any(base not in (function, 1) for _, base, _ in powers):
            return e
        if all(k < 2 for _, base, k in powers if base == function):
            return e
        return sympy.expand(Add(*[c * square ** (k // 2) * base ** (k % 2) for c, base, k in powers]))
    symbol = sympy.Dummy()
    e = e.xreplace({function: symbol})
    if not e.is_polynomial(symbol):
        return e.xreplace({symbol: function})
    terms = sympy.Poly(e, symbol).terms()
    return sympy.expand(Add(*[c * square ** (k // 2) * function ** (k % 2) for (k,), c in terms]))


def _primitive(vector: Sequence[Expr]) -> Vector:
    """The multiple of a vector without denominators and common factors that depend on jets."""
    if _is_long(*vector):
        return tuple(vector)
    numerators, denominators = zip(*[sympy.fraction(sympy.together(e)) for e in vector], strict=True)
    scale = S.One
    for d in denominators:
        moving = Mul(*[factor for factor in Mul.make_args(sympy.factor_terms(d)) if jets_in(factor)])
        scale = sympy.lcm(scale, moving)
    entries = [tidy(sympy.cancel(scale * n / d)) for n, d in zip(numerators, denominators, strict=True)]
    common = S.Zero
    for e in entries:
        common = sympy.gcd(common, sympy.expand_trig(sympy.fraction(sympy.together(e))[0]))
    common = Mul(*[factor for factor in Mul.make_args(sympy.factor_terms(common)) if jets_in(factor) or factor.is_positive])
    if common != 1:
        entries = [tidy(sympy.cancel(sympy.expand_trig(e) / common)) for e in entries]
    return tuple(entries)


def _by_cramer(square: Sequence[Sequence[Expr]], right: Sequence[Expr]) -> list[Expr]:
    matrix = Matrix(square)
    determinant = matrix.det(method="berkowitz")
    adjugate = matrix.adjugate()
    return [Add(*[adjugate[i, j] * right[j] for j in range(len(right))]) / determinant for i in range(len(right))]


def explicit_solve(matrix: Sequence[Sequence[Expr]], right: Sequence[Expr]) -> list[Expr] | None:
    """The solution for a diagonal matrix, or by Cramer's rule for a matrix of up to three rows with short entries; None otherwise."""
    size = len(right)
    if size > 3 or _is_long(*[e for row in matrix for e in row]) or any(sympy.count_ops(e) > _LARGEST_SHORTENED for e in right):
        return None
    if all(matrix[i][j] == 0 for i in range(size) for j in range(size) if i != j):
        return [tidy(b / matrix[i][i]) for i, b in enumerate(right)]
    return [tidy(e) for e in _by_cramer(matrix, right)]


def is_singular(matrix: Sequence[Sequence[Expr]], points: Sequence[Point]) -> bool:
    """Whether a square matrix is singular: by its determinant up to 2 x 2, otherwise by its rank at `points`."""
    if len(matrix) <= 2:
        return known_zero(Matrix(matrix).det(method="berkowitz"))
    return generic_rank(matrix, points) < len(matrix)
