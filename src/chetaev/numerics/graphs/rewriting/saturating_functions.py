r"""Functions with a finite limit whose argument overflows a double, such as $\exp(1 - e^{u})$, $\tanh(e^u)$ and $1/(1 + x^{400})$.

The value is right as it stands, $\exp(-\infty) = 0$, but its slope is $0 \cdot \infty$. Where the argument is a sum that is large wherever
one of its growing terms is large, these are held at `LARGE` beyond their limit, with a slope of zero:

$$ G(u) \to I\,G(I u) + (1 - I)\,\mathrm{LARGE}, $$

with $I$ 1 within the limit and 0 beyond, as in `overflow`. The outer function has reached its limit there to 150 digits. Within the limit
the result is the same to the last bit. A logarithm has no limit: beyond it is linear in the exponent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy
from sympy import Expr, Rational

from chetaev.core.functions import SMOOTH, SPELLING
from chetaev.core.symbols import long

LARGE = 1e150
"""The value of a growing function beyond its limit. Its square is a double, and a coefficient of 1e-100 leaves it large."""
_EXPONENT = 345
"""Natural logarithm of `LARGE`, rounded down."""
_LOWEST_GROWING_POWER = 16
"""Smallest power of a tame expression that counts as growing: lower ones overflow where a value is above 1e19."""
_TAME_POWER = 4
"""Largest power in an expression that is negligible beside `LARGE`."""
_COEFFICIENT = 10**100
"""Largest coefficient of a growing term, and inverse of the smallest."""
_MOST_PARTS = 200
"""Longer arguments are left as they are."""
_TAME = frozenset([*[name for name, function in SMOOTH.items() if function.bounded], *"abs sign min max step log sqrt asinh".split()])
"""Functions that are negligible beside `LARGE` if their arguments are tame."""
SATURATING = frozenset(["exp", *[name for name, function in SMOOTH.items() if function.saturates]])
"""Functions with a finite limit; exp only towards minus infinity."""


@dataclass(frozen=True)
class Growing:
    """A function that is too large where its argument is above a limit, or also where it is below the negative limit."""

    node: Expr
    argument: Expr
    limit: Rational
    both: bool
    """Whether it is large below the negative limit too."""
    odd: bool = False
    """Whether it is negative there."""


def growing(node: Expr) -> Growing | None:
    """A node as a growing function; None for other nodes.

    >>> x = sympy.Symbol("x")
    >>> growing(sympy.cosh(x)**3).limit, growing(x**3)
    (115, None)
    """
    if isinstance(node, sympy.exp):
        return Growing(node, node.args[0], Rational(_EXPONENT), both=False)
    inner, power = (node.base, node.exp) if node.is_Pow else (node, sympy.Integer(1))
    if not (power.is_Integer and power > 0):
        return None
    if isinstance(inner, sympy.cosh | sympy.sinh):
        odd = isinstance(inner, sympy.sinh) and bool(power % 2)
        return Growing(node, inner.args[0], Rational(_EXPONENT, power), both=True, odd=odd)
    if power >= _LOWEST_GROWING_POWER and _is_tame(inner):
        return Growing(node, inner, Rational(math.floor(1000 * math.exp(_EXPONENT / int(power))), 1000), both=True, odd=bool(power % 2))
    return None


def terms_of(argument: Expr) -> list[tuple[Expr, Growing | None]] | None:
    """The terms of a sum that is large wherever one of its growing functions is: coefficient and growing function, or the term and None.

    None if no function grows, or if terms may cancel.

    >>> x = sympy.Symbol("x")
    >>> [c for c, f in terms_of(1 - 2*sympy.exp(x))], terms_of(sympy.exp(x) - sympy.exp(2*x))
    ([1, -2], None)
    """
    if not argument.free_symbols or long(argument, _MOST_PARTS):
        return None
    found: list[tuple[Expr, Growing | None]] = []
    for term in sympy.Add.make_args(argument):
        factor, rest = _reasonable(*term.as_coeff_Mul())
        grows = growing(rest)
        if grows is None and not _is_tame(term):
            return None
        if grows is not None and not 1 <= abs(factor) * _COEFFICIENT <= _COEFFICIENT**2:
            return None
        found.append((factor, grows) if grows is not None else (term, None))
    large = [(factor, grows) for factor, grows in found if grows is not None]
    one_sign = len({bool(factor.is_negative) for factor, _ in large}) == 1 and not any(grows.odd for _, grows in large)
    return found if len(large) == 1 or (large and one_sign) else None


def _reasonable(factor: Expr, rest: Expr) -> tuple[Expr, Expr]:
    """A coefficient and a power, which absorbs a very large or small coefficient: (x/5)^400 is 5^-400 times x^400."""
    if 1 <= abs(factor) * _COEFFICIENT <= _COEFFICIENT**2 or not (
        rest.is_Pow and rest.exp.is_Integer and rest.exp >= _LOWEST_GROWING_POWER
    ):
        return factor, rest
    unit = Rational(2) ** round((factor.p.bit_length() - factor.q.bit_length()) / int(rest.exp))
    return factor / unit**rest.exp, sympy.Pow(unit * rest.base, rest.exp, evaluate=False)


def _is_tame(e: Expr) -> bool:
    """Tell whether an expression is negligible beside `LARGE` at states of any reasonable size."""
    if not e.args:
        return bool(e.is_number or e.is_Symbol)
    if e.is_Pow:
        return bool(e.exp.is_Rational and 0 < e.exp <= _TAME_POWER) and _is_tame(e.base)
    return (e.is_Add or e.is_Mul or SPELLING.get(type(e)) in _TAME) and all(map(_is_tame, e.args))
