r"""The exponential of a matrix times a variable, in closed form.

With the minimal polynomial of $M$ of degree $k$, $e^{yM} = \sum_{j<k} c_j(y) M^j$. At each root $\lambda$ of multiplicity $r$ the
polynomial $\sum c_j \lambda^j$ has the value $e^{\lambda y}$, and its first $r - 1$ derivatives with respect to $\lambda$ have those of
$e^{\lambda y}$; these linear equations determine the functions $c_j$. Pairs of complex roots give sines and cosines.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr, ImmutableMatrix, S, Symbol

from chetaev.core.groups.exact_numbers import combinations, spanned


def exponential(m: ImmutableMatrix, y: Expr) -> sympy.Matrix | None:
    """$e^{yM}$ for a real expression y; None if the eigenvalues have no closed form."""
    n = m.rows
    powers = [ImmutableMatrix(sympy.eye(n))]
    while len(spanned([*powers, powers[-1] * m])) > len(powers):
        powers.append(powers[-1] * m)
    k = len(powers)
    (last,) = combinations(powers, [powers[-1] * m])
    assert last is not None  # noqa: S101 - the loop ended because it depends on the others
    z = Symbol("z")
    roots = sympy.roots(sympy.Poly(z**k - sum((c * z**j for j, c in enumerate(last)), S.Zero), z))
    if sum(roots.values()) < k or any(root.is_real is None for root in roots):
        return None
    rows: list[list[Expr]] = []
    values: list[Expr] = []
    for root, count in roots.items():
        re, im = root.as_real_imag()
        if im.is_negative:
            continue
        for times in range(count):
            slopes = [sympy.diff(z**j, z, times).subs(z, root) for j in range(k)]
            grown = y**times * sympy.exp(re * y)
            if im == 0:
                rows.append(slopes)
                values.append(grown)
                continue
            parts = [sympy.expand_complex(e).as_real_imag() for e in slopes]
            rows += [[a for a, _ in parts], [b for _, b in parts]]
            values += [grown * sympy.cos(im * y), grown * sympy.sin(im * y)]
    coefficients = sympy.Matrix(rows).inv() * sympy.Matrix(values)
    found: Any = sympy.zeros(n, n)
    for c, power in zip(coefficients, powers, strict=True):
        found += c * power
    return found.applyfunc(sympy.expand)
