"""Exact numbers of groups: read from numbers and texts, and linear algebra with them, without rounding.

Numbers are rational, or algebraic such as sqrt(2), or any other constant of the notation; zero is decided exactly in the first two cases,
and by SymPy in the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Complex, Real
from typing import Any

import sympy
from sympy import Expr, ImmutableMatrix, Matrix, S
from sympy.polys.matrices import DomainMatrix

from chetaev.core.errors import ModelError
from chetaev.core.support.rationals import exact_number

_IMAGINARY = ("i", "I")
"""The spellings of the imaginary unit in texts."""
_LONGEST_NUMBER = 400
"""Characters of a number that is given as a text."""


def number_of(given: Any, where: str) -> tuple[Expr, Expr]:
    """The real and the imaginary part of a number given as a number, a text or a SymPy expression; decimal numbers are exact."""
    if isinstance(given, str):
        return _of_text(given, where)
    if isinstance(given, Expr):
        return _parts(given, where)
    if isinstance(given, bool) or not isinstance(given, Complex):
        raise ModelError(f"{given!r} is not a number.", where=where, hint='a number, or a text such as "sqrt(2)/2" or "i/2"')
    if isinstance(given, Real):
        return _real(given, where), S.Zero
    return _real(given.real, where), _real(given.imag, where)


def real_number(given: Any, where: str) -> Expr:
    """A real number given in any of these forms."""
    re, im = number_of(given, where)
    if im != 0:
        raise ModelError(f"{given!r} is not real.", where=where, hint="a real number")
    return re


def matrix_of(given: Any, where: str) -> tuple[Matrix, Matrix]:
    """The real and the imaginary part of a square matrix given as nested lists, an array or a SymPy matrix."""
    rows = given.tolist() if hasattr(given, "tolist") else given
    square = isinstance(rows, Sequence) and not isinstance(rows, str) and len(rows) > 0
    lists = [row.tolist() if hasattr(row, "tolist") else row for row in rows] if square else []
    if not square or any(isinstance(row, str) or not isinstance(row, Sequence) or len(row) != len(lists) for row in lists):
        raise ModelError("this is not a square matrix.", where=f"matrix_group, {where}", hint="[[0, 1], [0, 0]]")
    n = len(lists)
    parts = [[number_of(v, f"matrix_group, {where}, entry {i + 1} {j + 1}") for j, v in enumerate(row)] for i, row in enumerate(lists)]
    return Matrix(n, n, lambda i, j: parts[i][j][0]), Matrix(n, n, lambda i, j: parts[i][j][1])


def as_text(e: Expr) -> str:
    """A number in the notation, without blanks."""
    from chetaev.core.notation.show import show

    return str(e) if e.is_Integer else show(e).replace(" ", "")


def expression_of(text: str) -> Expr:
    """The number of a text that `as_text` wrote."""
    return sympy.Integer(text) if text.lstrip("-").isdigit() else _of_text(text, "group")[0]


def spanned(matrices: Sequence[ImmutableMatrix]) -> list[ImmutableMatrix]:
    """A basis, in reduced form, of the span of `matrices`."""
    if not matrices:
        return []
    shape = matrices[0].shape
    reduced, pivots = _reduced(Matrix([list(e) for e in matrices]))
    return [ImmutableMatrix(*shape, list(reduced.row(k))) for k in range(len(pivots))]


def combinations(basis: Sequence[ImmutableMatrix], wanted: Sequence[ImmutableMatrix]) -> list[list[Expr] | None]:
    """The coefficients of each of `wanted` in an independent basis; None for one outside its span."""
    if not wanted:
        return []
    d = len(basis)
    whole = Matrix([list(e) for e in (*basis, *wanted)]).T
    reduced, pivots = _reduced(whole)
    outside = [any(reduced[i, d + k] != 0 for i in range(d, reduced.rows)) for k in range(len(wanted))]
    if any(outside):  # the pivots of open columns changed the others: each column by itself
        outside, columns = [], []
        for e in wanted:
            one, ends = _reduced(Matrix([list(b) for b in (*basis, e)]).T)
            outside.append(d in ends)
            columns.append([one[i, d] for i in range(d)])
    else:
        columns = [[reduced[i, d + k] for i in range(d)] for k in range(len(wanted))]
    assert pivots[:d] == tuple(range(d))  # noqa: S101 - callers check independence
    return [None if out else column for out, column in zip(outside, columns, strict=True)]


def _reduced(m: Matrix) -> tuple[Matrix, tuple[int, ...]]:
    """The reduced row echelon form without rounding, in the smallest field that contains the entries."""
    found, pivots = DomainMatrix.from_Matrix(m, extension=True).to_field().rref()
    return found.to_Matrix(), pivots


def _of_text(text: str, where: str) -> tuple[Expr, Expr]:
    from chetaev.core.notation import Vocabulary, parse_expression
    from chetaev.core.symbols import Parameter

    if len(text) > _LONGEST_NUMBER:
        raise ModelError(f"a number of {len(text)} characters.", where=where, hint=f"at most {_LONGEST_NUMBER}")
    units = {name: Parameter(name) for name in _IMAGINARY}
    found = parse_expression(text, Vocabulary(parameters=units), where)
    return _parts(found.xreplace(dict.fromkeys(units.values(), sympy.I)), where)


def _parts(e: Expr, where: str) -> tuple[Expr, Expr]:
    if e.free_symbols or not e.is_number:
        raise ModelError(f"{e} is not a number.", where=where, hint='a number, or a text such as "sqrt(2)/2" or "i/2"')
    if e.has(sympy.Float):
        e = e.xreplace({v: _real(v, where) for v in e.atoms(sympy.Float)})
    re, im = sympy.expand_complex(e).as_real_imag() if e.has(sympy.I) else (e, S.Zero)
    if any(v.has(sympy.oo, sympy.zoo, sympy.nan) or v.is_finite is False for v in (re, im)):
        raise ModelError(f"{e} has no finite value.", where=where, hint="a finite number")
    return sympy.radsimp(re), sympy.radsimp(im)


def _real(v: Any, where: str) -> Expr:
    try:
        return exact_number(v)
    except ValueError:
        raise ModelError("the value is not finite.", where=where, hint="a finite number") from None
