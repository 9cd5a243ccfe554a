"""Values of constants, such as log(1 + 1e-20) or exp(pi*sqrt(163)) - 262537412640768744, whose digits cancel in doubles.

A constant is evaluated with enough digits to make its value certain. One that vanishes with thousands of digits is zero if that is proved;
without a proof it has the value 0 but stays in the equations, so that nothing is divided by its round-off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy
from sympy import Expr

from chetaev.core.support.budget import apart, limited
from chetaev.core.values import Tape, Undefined, many_digits
from chetaev.core.zero import vanishes

_PAIRS_OF_DIGITS = ((60, 90), (400, 500), (3000, 3200))
"""Pairs of decimal digits with which a value must agree to count as certain; if it does not, the next pair is tried."""
_SAME_VALUE = 1e-20
"""Relative difference of two values that agree."""
_CANCELLED_DIGITS = 1e-13
"""Relative error of a value in doubles above which digits cancelled; a few operations leave 1e-15."""
_PROOF_SECONDS = 4.0
"""Budget of a proof that an algebraic number is zero."""


@dataclass(frozen=True)
class Cancelled:
    """A constant whose digits cancel in doubles."""

    value: float
    """The value of the constant, rounded; 0 for a constant that vanishes."""
    zero: bool
    """Whether it is proved to be zero."""


def for_doubles(expression: Expr) -> Expr:
    """Return an expression with constants whose digits cancel replaced by their values, for evaluation in doubles."""
    found: dict[Expr, Expr] = {}
    walk = sympy.preorder_traversal(expression)
    for node in walk:
        part = constant_part(node) if isinstance(node, Expr) else None
        known = None if part is None else cancelled(part)
        if part is None or known is None:
            continue
        rest = [term for term in node.args if not term.is_number] if node.is_Add else []
        found[node] = sympy.Add(sympy.Rational(known.value), *map(for_doubles, rest))
        walk.skip()
    return expression.xreplace(found) if found else expression


def constant_part(node: Expr) -> Expr | None:
    """Return `node` if it is a constant function or sum, or the constant terms of a sum, if digits may cancel there; else None."""
    if node.is_Function and node.is_number:
        return node
    if not node.is_Add:
        return None
    terms = [term for term in node.args if term.is_number]
    if len(terms) < 2:
        return None
    return node if len(terms) == len(node.args) else sympy.Add(*terms)


@lru_cache(maxsize=4096)
def cancelled(constant: Expr) -> Cancelled | None:
    """Return the value of a `constant` whose digits cancel in doubles; None if its value in doubles is right, or there is none."""
    tape = Tape([constant])
    try:
        rough = float(tape({})[0])
    except Undefined:
        return None
    for pair in _PAIRS_OF_DIGITS:
        try:
            first, second = (tape({}, many_digits(digits)[1])[0] for digits in pair)
        except Undefined:
            return None
        if abs(first - second) <= _SAME_VALUE * abs(second) and second != 0:
            value = float(second)
            return None if abs(rough - value) <= _CANCELLED_DIGITS * abs(value) or not math.isfinite(value) else Cancelled(value, False)
    return Cancelled(0.0, _is_zero(constant))


def is_zero(constant: Expr) -> bool | None:
    """Return whether an expression without symbols is zero; None if it vanishes with many digits without a proof, or has no value."""
    try:
        Tape([constant])({})
    except Undefined:
        return None
    known = cancelled(constant)
    return False if known is None or known.value else known.zero or None


def _is_zero(constant: Expr) -> bool:
    """Whether a constant that vanishes with many digits is proved to be zero."""
    if vanishes(constant) is True:
        return True
    with apart():
        return bool(limited(_algebraic_zero, constant, seconds=_PROOF_SECONDS).value)


def _algebraic_zero(constant: Expr) -> bool:
    """Whether the minimal polynomial of an algebraic number is that of zero."""
    x: Any = sympy.Dummy("x")
    try:
        return bool(sympy.minimal_polynomial(constant, x) == x)
    except (NotImplementedError, sympy.polys.polyerrors.NotAlgebraic):
        return False
