"""Ranks that floating point cannot decide, decided with forty digits.

A singular value of 1e-7 may be genuine, or the error of a point that is not exactly on its constraint set. The instruction tape of the
graph runs in mpmath as well as in floats: Newton's iteration at fixed rank improves the point, with the pseudo-inverse in floats and the
residual in many digits, and the matrix is evaluated there. Then a genuine small value stays, and a zero falls to 1e-30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import mpmath
import numpy as np
from sympy import Symbol

from chetaev.core.calculus import Algebra
from chetaev.core.exact.program import Program, many_digit_values
from chetaev.core.symbols import Input, Jet
from chetaev.core.values import many_digits
from chetaev.mechanics.ranks.generic import Matrix, factored_at, matrices_at
from chetaev.mechanics.ranks.sizes import ORDINARY, Sizes
from chetaev.mechanics.tolerances import POINT_ERROR, STATE_ERROR

_MANY_DIGITS = 40
"""Decimal digits of the exact evaluation: zeros then stand clearly below genuine small values."""
_ZERO_IN_FLOATS = 1e-8
"""Relative singular value that separates zero from nonzero in floats."""
_SURELY_NONZERO, _SURELY_ZERO = 1e-5, 1e-9
"""Relative singular values above and below which floats decide; a value between them needs many digits."""
_NONZERO_IN_DIGITS, _ZERO_IN_DIGITS = 1e-15, 1e-25
"""Relative singular values above and below which values with `_MANY_DIGITS` digits decide; one between them leaves the rank undecided."""
_UNDERFLOW_DIGITS = (300, 3000)
"""Decimal digits with which 1 + tanh(-300) and 1 + tanh(-3000) are not zero; the second are used where the first give zero. A value below
1e-3000 relative to 1 still counts as zero."""
_SHORTER = 0.9
"""Largest ratio of Newton's second step to the first at a root: it is 1/2 at a double root, 4/5 at a fivefold one. For exp and tanh, which
have no root, both steps are equal."""
_LARGEST_MATRIX = 14
"""Largest dimension of a matrix that is evaluated in many digits, which takes seconds beyond it."""
_NEWTON_STEPS = 4
"""Newton steps in many digits; the error is squared in each."""


def sure_rank(
    entries: Sequence[Sequence[ca.SX]], rows: Sequence[ca.SX], point: Mapping[Symbol, float], algebra: Algebra[Any], sizes: Sizes = ORDINARY
) -> int | None:
    """Return the rank of a matrix at a point where rows vanish; None if it is undefined there, or undecided with `_MANY_DIGITS` digits."""
    found = factored_at(entries, [point], algebra, sizes, POINT_ERROR if rows else STATE_ERROR)
    if not found:
        return None
    r = _gap(found[0].sizes, _ZERO_IN_FLOATS, _SURELY_NONZERO, _SURELY_ZERO)
    if r is not None or min(found[0].jacobian.shape) > _LARGEST_MATRIX:
        return r
    return _with_many_digits(entries, rows, point, algebra, found[0].scales)


def vanishes_near(e: ca.SX, point: Mapping[Symbol, float], algebra: Algebra[Any], sizes: Sizes = ORDINARY) -> bool:
    """Tell whether an expression that is zero at a point in floats has a root there, as x^2, and does not underflow, as exp(-1e4)."""
    symbols = sorted(algebra.symbols(e), key=lambda z: z.name)
    units = {z: sizes.get(z, 1.0) for z in symbols if isinstance(z, Jet) and not isinstance(z, Input)}
    program = algebra.program([e, *algebra.gradient(e, list(units))], symbols)[0]
    for digits in _UNDERFLOW_DIGITS:
        found = _has_root(program, [point.get(z, 0.5) for z in symbols], [units.get(z) for z in symbols], digits)
        if found is not None:
            return found
    return True


def _has_root(program: Program, point: Sequence[float], units: Sequence[float | None], digits: int) -> bool | None:
    """Tell whether two steps of Newton's iteration become shorter; `program` computes the value and its slopes by inputs with `units`.

    None if more digits are needed: the value is zero, or undefined.
    """
    mp, _ = many_digits(digits)
    at = [mp.mpf(v) for v in point]
    moved = [(k, u) for k, u in enumerate(units) if u is not None]
    lengths = []
    for _ in range(2):
        try:
            value, *slopes = many_digit_values(program, at, mp)
        except (ValueError, ZeroDivisionError, OverflowError, KeyError):
            return None
        steepest = sum((slope * u) ** 2 for slope, (_, u) in zip(slopes, moved, strict=True))
        if value == 0 or steepest == 0:
            return None
        lengths.append(abs(value) / mp.sqrt(steepest))
        for slope, (k, u) in zip(slopes, moved, strict=True):
            at[k] -= value / steepest * slope * u**2
    return bool(lengths[1] <= _SHORTER * lengths[0])


def _gap(sizes: Any, cut: float, clear: float, zero: float) -> int | None:
    """Return the number of nonzero singular values; None if one lies between `zero` and `clear`."""
    r = int(sum(s > cut for s in sizes))
    sharp = (r == 0 or sizes[r - 1] > clear) and (r == len(sizes) or sizes[r] < zero)
    return r if sharp else None


def _with_many_digits(
    entries: Sequence[Sequence[ca.SX]],
    rows: Sequence[ca.SX],
    point: Mapping[Symbol, float],
    algebra: Algebra[Any],
    scales: tuple[Matrix, Matrix],
) -> int | None:
    mp, _ = many_digits(_MANY_DIGITS)
    flat = [e for line in entries for e in line]
    symbols = sorted(algebra.symbols(ca.vertcat(*flat, *rows)), key=lambda z: z.name)
    at = {z: mp.mpf(point.get(z, 0.5)) for z in symbols}
    try:
        at = _polished(rows, at, symbols, algebra, mp)
        values = many_digit_values(algebra.program(flat, symbols)[0], [at[z] for z in symbols], mp)
    except (ValueError, ZeroDivisionError, OverflowError, KeyError):
        return None
    m, n = len(entries), len(entries[0])
    matrix = mp.matrix(m, n)
    for k, v in enumerate(values):
        matrix[k // n, k % n] = v / mp.mpf(scales[0][k // n]) / mp.mpf(scales[1][k % n])
    sizes = list(mp.svd_r(matrix if m >= n else matrix.T, compute_uv=False))
    return _gap([s / sizes[0] for s in sizes] if sizes[0] > 0 else sizes, _NONZERO_IN_DIGITS, _NONZERO_IN_DIGITS, _ZERO_IN_DIGITS)


def _polished(
    rows: Sequence[ca.SX], at: dict[Symbol, Any], symbols: Sequence[Symbol], algebra: Algebra[Any], mp: mpmath.MPContext
) -> dict[Symbol, Any]:
    """Move the point onto the rows; each step is computed in floats, with fixed rank, and added in many digits."""
    if not rows:
        return at
    jets = [z for z in symbols if isinstance(z, Jet) and not isinstance(z, Input)]
    residual, _ = algebra.program(rows, symbols)
    jacobian = matrices_at([algebra.gradient(r, jets) for r in rows], [{z: float(v) for z, v in at.items()}], algebra)
    if not jacobian:
        return at
    inverse = np.linalg.pinv(jacobian[0], rcond=_SURELY_NONZERO)
    for _ in range(_NEWTON_STEPS):
        left = many_digit_values(residual, [at[z] for z in symbols], mp)
        for i, z in enumerate(jets):
            at[z] = at[z] - sum((mp.mpf(float(inverse[i, k])) * v for k, v in enumerate(left)), mp.mpf(0))
    return at
