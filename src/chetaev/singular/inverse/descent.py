r"""A Lagrangian of minimal order from a variational form, one order of the form at a time.

A variational form of order $s$ is affine in $q_s$ (Corollary 8.6 of Krupková), $E_\sigma = A_\sigma + B_{\sigma\nu} q_s^\nu$.

- $s = 2c$, $c \ge 1$: $B$ is symmetric and lives on $J^c Y$; $L$ with $\partial^2 L/\partial q_c^\sigma \partial q_c^\nu = (-1)^c
  B_{\sigma\nu}$ has the same leading part.
- $s = 2c - 1$: $B$ is antisymmetric and lives on $J^{c-1}Y$; $L = w_\nu q_c^\nu$ with
  $\partial_\sigma w_\nu - \partial_\nu w_\sigma = (-1)^{c-1} B_{\sigma\nu}$ in the variables $q_{c-1}$ has it.
- $s = 0$: $E_\sigma = \partial L/\partial q^\sigma$.

Subtracting the Euler-Lagrange expressions of $L$ leaves a variational form of lower order. Every integral is over the jets of one order
alone, so trigonometric and singular coefficients that make (8.4) unwieldy do no harm here, and the sum has the order of Corollary 8.13 at
once.
"""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Expr, S

from chetaev.core.symbols import Jet
from chetaev.core.zero import seems_zero
from chetaev.singular.inverse.primitives import potential, vector_potential
from chetaev.singular.inverse.tonti import Candidate, reproduces
from chetaev.singular.inverse.variation import euler_operator, held, highest_order, tidy


def minimal_lagrangian(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Candidate | None:
    """A Lagrangian of lowest order for a variational form; None if an integral was not found or the form is not variational."""
    left = [tidy(row) for row in rows]
    total: Expr = S.Zero
    while not all(seems_zero(row) for row in left):
        order = highest_order(left, coordinates)
        part = _leading_part(coordinates, left, order)
        if part is None:
            return None
        total += part
        if order == 0:
            break
        left = _lowered(coordinates, left, part, order)
    proved = reproduces(tidy(total), coordinates, rows)
    return None if proved is False else Candidate(tidy(total), "order by order", proved)


def _lowered(coordinates: Sequence[Jet], rows: Sequence[Expr], part: Expr, order: int) -> list[Expr]:
    """The rows without what the part accounts for: what did not cancel by itself in the highest derivatives is held fixed."""
    top = [q.d(order) for q in coordinates]
    return [held(tidy(row - e), top) for row, e in zip(rows, euler_operator(part, coordinates), strict=True)]


def _leading_part(coordinates: Sequence[Jet], rows: Sequence[Expr], order: int) -> Expr | None:
    if order == 0:
        return potential(rows, coordinates)
    half = (order + 1) // 2
    lives_on = half if order % 2 == 0 else half - 1
    above = [q.d(k) for q in coordinates for k in range(lives_on + 1, order + 1)]
    leading = [[held(tidy(row.diff(q.d(order))), above) for q in coordinates] for row in rows]
    if order % 2:
        variables = [q.d(half - 1) for q in coordinates]
        w = vector_potential([[(-1) ** (half - 1) * b for b in row] for row in leading], variables)
        return None if w is None else sum((a * q.d(half) for a, q in zip(w, coordinates, strict=True)), S.Zero)
    return _twice_integrated(leading, [q.d(half) for q in coordinates], (-1) ** half)


def _twice_integrated(hessian: Sequence[Sequence[Expr]], variables: Sequence[Jet], sign: int) -> Expr | None:
    """A function with a given matrix of second derivatives."""
    gradient = []
    for row in hessian:
        first = potential([sign * b for b in row], variables)
        if first is None:
            return None
        gradient.append(first)
    return potential(gradient, variables)
