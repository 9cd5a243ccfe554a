r"""Lagrangians of a variational dynamical form: that of Vainberg and Tonti, (8.4) of Krupková, and one of lowest order.

$$ L = (q^\sigma - c^\sigma) \int_0^1 E_\sigma\bigl(t, j^s(c + u(q - c))\bigr)\,du $$

where the centre $c(t)$ is a curve, 0 in the paper. The formula needs a domain that is star-shaped about the centre, so a form with $1/q$ or
$\log q'$ needs another centre. Terms that are homogeneous of degree $d \ne -1$ in all jets need no integral and no centre: along
$\delta q = q$ they are multiplied by $d$, and self-adjointness turns that into $L = q^\sigma E_\sigma/(d + 1)$.

A Lagrangian of lowest order is built one order of the form at a time. A variational form of order $s$ is affine in $q_s$ (Corollary 8.6),
$E_\sigma = A_\sigma + B_{\sigma\nu} q_s^\nu$.

- $s = 2c$, $c \ge 1$: $B$ is symmetric and lives on $J^c Y$; $L$ with $\partial^2 L/\partial q_c^\sigma \partial q_c^\nu = (-1)^c
  B_{\sigma\nu}$ has the same leading part.
- $s = 2c - 1$: $B$ is antisymmetric and lives on $J^{c-1}Y$; $L = w_\nu q_c^\nu$ with
  $\partial_\sigma w_\nu - \partial_\nu w_\sigma = (-1)^{c-1} B_{\sigma\nu}$ in the variables $q_{c-1}$ has it.
- $s = 0$: $E_\sigma = \partial L/\partial q^\sigma$.

Subtracting the Euler-Lagrange expressions of $L$ leaves a variational form of lower order. Every integral is over jets of a single order,
which avoids the trigonometric and singular coefficients that make (8.4) difficult, and the sum has the order of Corollary 8.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy
from sympy import Expr, S

from chetaev.core.calculus import total_derivative
from chetaev.core.notation.bounds import NOT_FINITE
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Jet
from chetaev.core.zero import known_zero
from chetaev.singular.inverse.primitives import antiderivative, potential, vector_potential
from chetaev.singular.inverse.variation import euler_operator, highest_order, jets_of, tidy, without_jets

CENTRES: tuple[Expr, ...] = (S.Zero, S.One, TIME + 1, TIME + 1 + TIME**2 / 2 + TIME**3 / 6)
"""Curves tried as centres: rest at 0, rest at 1, and motions with nonzero velocities and accelerations, where forms such as 1/q or log q'
are defined."""


@dataclass(frozen=True)
class Candidate:
    """A Lagrangian, its construction, and whether its Euler-Lagrange expressions are proved to be the form (None: verified at points)."""

    lagrangian: Expr
    made_by: str
    proved: bool | None


def reproduces(lagrangian: Expr, coordinates: Sequence[Jet], rows: Sequence[Expr]) -> bool:
    """Whether the Euler-Lagrange expressions of `lagrangian` are proved to be the rows."""
    return all(known_zero(e - row) for e, row in zip(euler_operator(lagrangian, coordinates), rows, strict=True))


@public
def tonti_lagrangian(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Candidate | None:
    """The Lagrangian (8.4) of Vainberg and Tonti for a variational form, verified.

    Args:
        coordinates: The coordinates.
        rows: The rows of the form, one for each coordinate, with Krupková's sign.

    Returns:
        The Lagrangian and whether it is proved; None if SymPy does not find the integral about any centre, or the form is not variational.
    """
    return homogeneous_lagrangian(coordinates, rows) or contracted_lagrangian(coordinates, rows)


def homogeneous_lagrangian(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Candidate | None:
    r"""$\sum_d q^\sigma E^{(d)}_\sigma/(d + 1)$, if every term of the rows is homogeneous and no degree is -1."""
    found = S.Zero
    for q, row in zip(coordinates, rows, strict=True):
        for term in sympy.Add.make_args(tidy(row)):
            d = degree(term, jets_of(term, coordinates))
            if d is None or d == -1:
                return None
            found += q * term / (d + 1)
    return _verified(tidy(found), "Vainberg-Tonti", coordinates, rows)


def contracted_lagrangian(coordinates: Sequence[Jet], rows: Sequence[Expr], centres: Sequence[Expr] = CENTRES) -> Candidate | None:
    """The integral (8.4) about the first centre for which it is found."""
    for centre in centres:
        found = contracted(coordinates, rows, centre)
        verified = None if found is None else _verified(found, f"Vainberg-Tonti about {centre}", coordinates, rows)
        if verified is not None:
            return verified
    return None


def _verified(found: Expr, made_by: str, coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Candidate | None:
    proved = reproduces(found, coordinates, rows)
    return None if proved is False else Candidate(found, made_by, proved)


def contracted(coordinates: Sequence[Jet], rows: Sequence[Expr], centre: Expr) -> Expr | None:
    """The integral (8.4) along the straight homotopy to a centre, the same curve for every coordinate."""
    u = sympy.Dummy("u", real=True)
    highest = highest_order(rows, coordinates)
    curve = [total_derivative(centre, k) if k else centre for k in range(highest + 1)]
    moved = {q.d(k): curve[k] + u * (q.d(k) - curve[k]) for q in coordinates for k in range(highest + 1)}
    integrand = sympy.Add(*[(q - centre) * row.xreplace(moved) for q, row in zip(coordinates, rows, strict=True)])
    start = tidy(integrand).xreplace({u: S.Zero})
    if start.has(*NOT_FINITE):
        return None  # the form is singular at the centre
    primitive = antiderivative(integrand, u)
    if primitive is None:
        return None
    found = primitive.xreplace({u: S.One}) - primitive.xreplace({u: S.Zero})
    return None if found.has(*NOT_FINITE) else tidy(found)


def degree(e: Expr, variables: set[Jet]) -> Expr | None:
    """The degree of homogeneity in the variables; None if the expression is not homogeneous, as far as its form shows."""
    if not e.free_symbols & variables:
        return S.Zero
    if e in variables:
        return S.One
    if e.is_Mul:
        known = [d for factor in e.args if (d := degree(factor, variables)) is not None]
        return sympy.Add(*known) if len(known) == len(e.args) else None
    if e.is_Add:
        degrees = [degree(term, variables) for term in e.args]
        return degrees[0] if len(set(degrees)) == 1 else None
    if e.is_Pow and not e.exp.free_symbols & variables:
        inner = degree(e.base, variables)
        return None if inner is None else e.exp * inner
    return S.Zero if all(degree(a, variables) == 0 for a in e.args) else None


def minimal_lagrangian(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Candidate | None:
    """A Lagrangian of lowest order for a variational form; None if an integral was not found or the form is not variational."""
    left = [tidy(row) for row in rows]
    total: Expr = S.Zero
    while not all(known_zero(row) for row in left):
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
    """The rows without the Euler-Lagrange expressions of `part`; highest derivatives that cancel only formally become numbers."""
    top = [q.d(order) for q in coordinates]
    return [without_jets(tidy(row - e), top) for row, e in zip(rows, euler_operator(part, coordinates), strict=True)]


def _leading_part(coordinates: Sequence[Jet], rows: Sequence[Expr], order: int) -> Expr | None:
    if order == 0:
        return potential(rows, coordinates)
    half = (order + 1) // 2
    lives_on = half if order % 2 == 0 else half - 1
    above = [q.d(k) for q in coordinates for k in range(lives_on + 1, order + 1)]
    leading = [[without_jets(tidy(row.diff(q.d(order))), above) for q in coordinates] for row in rows]
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
