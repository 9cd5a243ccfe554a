r"""Products of factors that leave the range of doubles while the product does not, such as $e^{-1000} e^x$ at $x = 1000$.

In doubles $e^{-1000}$ is zero, and so would be the product wherever the motion is. One exponential of the sum of the arguments has the
value wherever it is a double. A constant exponential beside a hyperbolic function or a sum goes into their terms, beside powers into
their bases: $e^{-800} x^{100} = (e^{-8} x)^{100}$. Beside anything else it is negligible, and stays. A number goes into a power as well:
$10^{-360} x^{40}$, which is what $(x/10^9)^{40}$ is multiplied out.

Graphs of values (`algebra`) and of enclosures are made of the same factors: with other ones an enclosure of zero would prove that a barrier
is not there.
"""

from __future__ import annotations

import sympy
from sympy import Add, Expr, Mul

_RANGE = 600
"""Largest size of the argument of a constant exponential that is used as it stands: doubles end at e^709, and the margin leaves room for
other factors. Beyond it the constant is merged with the other factors of its product."""

_FEWEST_MERGED = 2
"""Number of exponentials of a product, constants apart, from which they are merged: one may make up for the other, as in
exp(x)*exp(-x^2)."""

_GROWING = (sympy.exp, sympy.cosh, sympy.sinh)


def merged(node: Expr) -> Expr | None:
    """Return a product with one exponential in place of several; None for a product that is evaluated as it stands.

    >>> x, y = sympy.symbols("x y")
    >>> merged(y*sympy.exp(-1000)*sympy.exp(x))
    y*exp(x - 1000)
    >>> merged(sympy.exp(-2)*sympy.exp(x)) is None
    True
    """
    found = [f for f in node.args if isinstance(f, sympy.exp)]
    extreme = next((f for f in found if _extreme(f)), None)
    if len(found) >= 2 and (extreme is not None or sum(bool(f.free_symbols) for f in found) >= _FEWEST_MERGED):
        return Mul(*[f for f in node.args if f not in found], sympy.exp(Add(*[f.args[0] for f in found])))
    others = [f for f in node.args if f is not extreme]
    grows = (
        None if extreme is None else next((f for f in others if isinstance(f, Add | sympy.cosh | sympy.sinh) and f.has(*_GROWING)), None)
    )
    if extreme is None or grows is None:
        return None
    rest = Mul(*[f for f in others if f is not grows])
    return Add(*[Mul(rest, term, extreme) for term in Add.make_args(grows if grows.is_Add else grows.rewrite(sympy.exp).expand())])


Absorbed = tuple[Expr, Expr, list[tuple[Expr, int]]]
"""Other factors of a product, a number, and powers: that number multiplies the base of each of them."""

_LARGEST_EXPONENT = 1000
"""Largest binary exponent of a number that is used as a double. Doubles end at 1023; the margin leaves room for a product."""


def in_range(number: Expr) -> bool:
    """Tell whether a rational number may be a factor of a product of doubles."""
    return bool(abs(abs(number.p).bit_length() - number.q.bit_length()) < _LARGEST_EXPONENT)


def into_powers(node: Expr) -> Absorbed | None:
    """Return the other factors of a product with an extreme constant and powers, a root of the constant, and the powers that absorb it.

    None for a product without an extreme constant, or without a power of it. Of powers beside a rational number the highest ones absorb it,
    up to a number of moderate size, which stays among the other factors.

    >>> x, y = sympy.symbols("x y")
    >>> into_powers(sympy.exp(-800)*x**60*y**40*sympy.sin(x))
    (sin(x), exp(-8), [(x, 60), (y, 40)])
    >>> into_powers(x**400/2**1201)
    (1/2, 1/8, [(x, 400)])
    """
    number = node.args[0]
    if number.is_Rational and not in_range(number):
        return _number_into_powers(node)
    extreme = next((f for f in node.args if _extreme(f)), None)
    powers = [f for f in node.args if f.is_Pow and f.exp.is_Integer and f.exp > 1]
    if extreme is None or not powers:
        return None
    rest = Mul(*[f for f in node.args if f is not extreme and f not in powers])
    root = sympy.exp(extreme.args[0] / sum(int(f.exp) for f in powers))
    return rest, root, [(f.base, int(f.exp)) for f in powers]


def _number_into_powers(node: Expr) -> Absorbed | None:
    number, *factors = node.args
    whole = [f for f in factors if f.is_Pow and f.exp.is_Integer]
    # numbers come from the bases of powers of symbols and functions: SymPy takes none out of a sum
    powers = [f for f in whole if not f.base.is_Add] or whole
    if not powers:
        return None
    n = max((int(f.exp) for f in powers), key=abs)
    highest = [f for f in powers if f.exp == n]
    unit = sympy.Rational(2) ** round((abs(number.p).bit_length() - number.q.bit_length()) / (n * len(highest)))
    rest = Mul(number / unit ** (n * len(highest)), *[f for f in factors if f not in highest])
    return rest, unit, [(f.base, n) for f in highest]


def _extreme(factor: Expr) -> bool:
    return bool(isinstance(factor, sympy.exp) and factor.args[0].is_number and abs(float(factor.args[0])) > _RANGE)
