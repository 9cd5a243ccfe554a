r"""Groups of matrices that have a word of their own: SO4, SL2, SU2, GL2, H3, Aff1 and the like.

| word | matrices | basis |
|---|---|---|
| `SO`n, n >= 4 | orthogonal, determinant 1 | $e_j e_i^T - e_i e_j^T$, ij = 12, 13, ..., 23, ...: from axis i to axis j |
| `SL`n | determinant 1 | $e_{ii} - e_{i+1,i+1}$; then $e_{ij}$, i < j; then $e_{ji}$ in the same order. SL2: H, X, Y |
| `SU`n | unitary, determinant 1 | SU2: $-i\sigma_a/2$, with the brackets of SO3; n > 2: $-i\lambda_a/2$, Gell-Mann's matrices |
| `GL`n | invertible | $e_{11}, e_{12}, \dots$ row by row |
| `H`(2k+1) | Heisenberg, k + 2 rows | $e_{1,1+i}$, then $e_{1+i,k+2}$, then the centre: $[E_1, E_2] = E_3$ for H3 |
| `Aff`n | affine maps of $R^n$ | $e_{ij}$ row by row, then translations: $[E_1, E_2] = E_2$ for Aff1 |
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from sympy import I, Matrix, Rational, sqrt, zeros

from chetaev.core.groups.matrix_group import MOST_DIMENSIONS, MatrixGroup, matrix_group
from chetaev.core.support.public import public

_WORD = re.compile(r"(SO|SL|SU|GL|H|Aff)([1-9])", re.IGNORECASE)
"""A family and a number."""
EXAMPLES = ("SO4", "SL2", "SU2", "GL2", "H3", "Aff1")
"""A word of each family, for messages."""


@public
@lru_cache(maxsize=64)
def ready_made(word: str) -> MatrixGroup | None:
    """The group of a word such as `SL2`.

    Args:
        word: The word of a family and a size: `SO4`, `SL2`, `SU2`, `GL2`, `H3`, `Aff1`.

    Returns:
        The matrix group; None if no family has this word.
    """
    found = _family(word)
    if found is None or f"{found[0]}{found[1]}" != word:
        return None
    return matrix_group(_BASES[found[0]](found[1]))


def spelled(word: str) -> str:
    """The word with the capitals of its family: `SL2` for `sl2`."""
    found = _family(word)
    return word if found is None else f"{found[0]}{found[1]}"


def _family(word: str) -> tuple[str, int] | None:
    found = _WORD.fullmatch(word)
    if found is None or not (word.islower() or found[1] in _BASES):
        return None
    family = next(name for name in _BASES if name.lower() == found[1].lower())
    n = int(found[2])
    sizes = {"SO": n * (n - 1) // 2, "SL": n * n - 1, "SU": n * n - 1, "GL": n * n, "H": n, "Aff": n * n + n}
    least = {"SO": 4, "SL": 2, "SU": 2, "GL": 1, "H": 3, "Aff": 1}
    if n < least[family] or sizes[family] > MOST_DIMENSIONS or (family == "H" and n % 2 == 0):
        return None
    return family, n


def _unit(n: int, i: int, j: int) -> Matrix:
    found = zeros(n, n)
    found[i, j] = 1
    return found


def _orthogonal(n: int) -> list[Matrix]:
    return [_unit(n, j, i) - _unit(n, i, j) for i in range(n) for j in range(i + 1, n)]


def _special_linear(n: int) -> list[Matrix]:
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    diagonal = [_unit(n, i, i) - _unit(n, i + 1, i + 1) for i in range(n - 1)]
    return [*diagonal, *[_unit(n, i, j) for i, j in pairs], *[_unit(n, j, i) for i, j in pairs]]


def _special_unitary(n: int) -> list[Matrix]:
    r"""$-i\lambda_a/2$ in Gell-Mann's order: for each new row the pairs with it, real then imaginary, then a diagonal matrix."""
    found: list[Any] = []
    for k in range(1, n):
        for i in range(k):
            found += [_unit(n, i, k) + _unit(n, k, i), -I * _unit(n, i, k) + I * _unit(n, k, i)]
        weight = sqrt(Rational(2, k * (k + 1)))
        found.append(weight * (sum((_unit(n, i, i) for i in range(k)), zeros(n, n)) - k * _unit(n, k, k)))
    return [-I * e / 2 for e in found]


def _linear(n: int) -> list[Matrix]:
    return [_unit(n, i, j) for i in range(n) for j in range(n)]


def _heisenberg(dimension: int) -> list[Matrix]:
    k = (dimension - 1) // 2
    n = k + 2
    return [*[_unit(n, 0, 1 + i) for i in range(k)], *[_unit(n, 1 + i, n - 1) for i in range(k)], _unit(n, 0, n - 1)]


def _affine(n: int) -> list[Matrix]:
    return [*[_unit(n + 1, i, j) for i in range(n) for j in range(n)], *[_unit(n + 1, i, n) for i in range(n)]]


_BASES = {
    "SO": _orthogonal,
    "SL": _special_linear,
    "SU": _special_unitary,
    "GL": _linear,
    "H": _heisenberg,
    "Aff": _affine,
}
"""The bases by family."""
