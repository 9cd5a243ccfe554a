r"""Constants that are smaller than the round-off of the numbers they are made of.

`cos(1.5707963267948966)` is 6e-17, not zero: a mass with this factor is formally a mass, and is treated as one. The user probably meant
`cos(pi/2)`. If the numbers $r_i$ are known to their last digit, the constant $c$ is known to
$\varepsilon \sum_i |r_i\, \partial c/\partial r_i|$.
"""

from __future__ import annotations

from sympy import Dummy, Expr, Number, preorder_traversal

from chetaev.mechanics.equations import Equations

_EPSILON = 2.0**-52
"""The last digit of a double, relative to it."""
_DIGITS = 30
"""Digits of the comparison: enough to see a value below the last digit of a double."""


def below_round_off(equations: Equations) -> list[Expr]:
    """The constants in the Lagrangian and the rows whose value is smaller than the change that one last digit of their numbers makes."""
    found: dict[Expr, None] = {}
    for e in (equations.lowered.lagrangian, *[row.residual for row in equations.rows]):
        walk = preorder_traversal(e)
        for node in walk:
            if isinstance(node, Expr) and not node.free_symbols:
                walk.skip()  # report the largest constant, not its parts
                if not node.is_number or node.is_Number or node.is_NumberSymbol:
                    continue
                if _has_no_digit(node):
                    found[node] = None
    return list(found)


def _has_no_digit(constant: Expr) -> bool:
    numbers = {r: Dummy() for r in constant.atoms(Number) if not r.is_Integer}
    if not numbers:
        return False
    general = constant.xreplace(numbers)
    values = {symbol: r for r, symbol in numbers.items()}
    spread = sum(abs(general.diff(symbol).xreplace(values) * r) for r, symbol in numbers.items())
    return bool(abs(constant.evalf(_DIGITS)) < _EPSILON * spread.evalf(_DIGITS))
