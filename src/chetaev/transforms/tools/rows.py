"""Rows of a system rewritten in other coordinates, both sides kept apart for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sympy import Add, Expr

from chetaev.core.constraints import Constraint
from chetaev.core.symbols import Coordinate, delta, order_in


def rewritten(row: Constraint, rule: Callable[[Expr], Expr]) -> Constraint:
    """A row after a rule; derivatives that only seem to occur in it are left out first."""
    seeming = max(order_in(row.lhs, Coordinate), order_in(row.rhs, Coordinate)) > row.order
    return Constraint(rule(row.residual)) if seeming else Constraint(rule(row.lhs), rule(row.rhs))


def virtual(coefficients: Mapping[Coordinate, Expr] | Iterable[tuple[Coordinate, Expr]]) -> Expr:
    r"""The form $R_i\,\delta q^i$ of a variational row."""
    pairs = coefficients.items() if isinstance(coefficients, Mapping) else coefficients
    return Add(*[c * delta(q) for q, c in pairs])
