r"""The Euler-Lagrange operator with the sign of Krupková, and its linearisation.

$$ E_\sigma(L) = \sum_k (-1)^k D^k \frac{\partial L}{\partial q_k^\sigma}, \qquad
   \delta E_\sigma = \sum_{\nu, k} \frac{\partial E_\sigma}{\partial q_k^\nu} D^k \delta q^\nu. $$

The first is minus the rows that `assemble` forms. The second, the Fréchet derivative, is a matrix of differential operators; it is formally
self-adjoint exactly if $E$ has a Lagrangian.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy
from sympy import Expr, S

from chetaev.core.calculus import SYMBOLIC, Calculus, Frame, total_derivative
from chetaev.core.notation.bounds import NOT_FINITE
from chetaev.core.support.budget import size, spend
from chetaev.core.symbols import Jet, jets_in
from chetaev.mechanics.assemble import euler_lagrange

Operator = list[Expr]
"""The coefficients of $\\sum_k a_k D^k$, lowest first."""

_EXPANDED = 4
"""Operations counted for the expansion of a node. With a wrong weight budgets depend on the kind of work."""
_SAFE = (S.Zero, S.One, sympy.Rational(3, 7))
"""Values tried for jets on which an expression does not depend; at 0 a quotient may be undefined."""


def euler_operator(lagrangian: Expr, coordinates: Sequence[Jet]) -> list[Expr]:
    r"""The expressions $E_\sigma$ of a Lagrangian of any order, $L_q - D L_{q'} + ...$.

    >>> from chetaev.core.symbols import Coordinate
    >>> x = Coordinate("x")
    >>> euler_operator((x.d() ** 2 - x**2) / 2, [x])
    [-x - x'']
    """
    calculus = Calculus(SYMBOLIC, Frame.of_coordinates(coordinates))
    return [tidy(-e) for e in euler_lagrange(calculus, lagrangian)]


def linearised(row: Expr, q: Jet) -> Operator:
    r"""The coefficients $\partial E/\partial q_k$ for k = 0, 1, ... up to the order at which q occurs."""
    highest = highest_order([row], [q])
    return SYMBOLIC.gradient(row, [q.d(k) for k in range(highest + 1)])


def adjoint(operator: Operator) -> Operator:
    r"""The formal adjoint: $\sum_k (-D)^k \circ a_k$ has the coefficients $\sum_{k \ge l} (-1)^k \binom{k}{l} D^{k-l} a_k$."""
    found = [S.Zero] * len(operator)
    for k, coefficient in enumerate(operator):
        derivative = coefficient
        for j in range(k, -1, -1):
            found[j] += (-1) ** k * sympy.binomial(k, j) * derivative
            derivative = total_derivative(derivative) if j and derivative != 0 else derivative
    return found


def highest_order(expressions: Iterable[Expr], coordinates: Sequence[Jet]) -> int:
    """The highest order at which one of the coordinates occurs; 0 if none does."""
    bases = {q.base for q in coordinates}
    return max((z.order for e in expressions for z in jets_in(e) if z.base in bases), default=0)


def jets_of(expression: Expr, coordinates: Sequence[Jet]) -> set[Jet]:
    """The jets of the coordinates in an expression; inputs are given functions of time and do not count."""
    bases = {q.base for q in coordinates}
    return {z for z in jets_in(expression) if z.base in bases}


def without_jets(expression: Expr, jets: Iterable[Jet]) -> Expr:
    """`expression`, whose value does not depend on `jets`, with these replaced by numbers."""
    present = [z for z in jets if z in expression.free_symbols]
    for value in _SAFE if present else ():
        try:
            found = expression.xreplace(dict.fromkeys(present, value))
        except ZeroDivisionError:
            continue
        if not found.has(*NOT_FINITE):
            return tidy(found)
    return expression


def tidy(expression: Expr) -> Expr:
    """`expression` with products of sums expanded, so that equal terms cancel; roots and denominators are not changed."""
    spend(_EXPANDED * size(expression))
    closed = {e: sympy.Dummy() for e in expression.atoms(sympy.Pow) if e.base.is_Add and not (e.exp.is_Integer and e.exp.is_positive)}
    expanded = sympy.expand(expression.xreplace(closed), power_base=False, power_exp=False, log=False)
    return expanded.xreplace({dummy: e for e, dummy in closed.items()})
