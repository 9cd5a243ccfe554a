r"""From the notation to LaTeX, as it is written: nothing is multiplied out, sorted or simplified.

A text of the notation, the user's own or one that `chetaev.show` wrote, becomes a small tree whose nodes know how they are set:

    product over product     a fraction, $\frac{I}{2}\dot\psi^2$ for `I/2*psi'^2`
    name                     Greek letters, digits as indices, several letters upright; primes are dots
    function                 $\cos\theta$ where nothing can be misread, else $\cos(\theta)$

`pieces` cuts a long formula between terms, between factors, and inside brackets where a factor alone is too long, so that a reader's
window decides where lines end. Nothing here knows the system: unknown names are set like known ones.
"""

from __future__ import annotations

from chetaev.core.support.recursion import deep
from chetaev.plot.formula_parts import Node, estimated_width, symbol_latex
from chetaev.plot.formula_reading import Reader

__all__ = ["estimated_width", "latex", "pieces", "symbol_latex"]


def latex(text: str) -> str:
    r"""A row or an expression of the notation in LaTeX.

    >>> latex("x1' = I/2*psi'^2*cos(theta - epsilon)")
    '\\dot{x}_{1} = \\frac{I}{2} \\dot{\\psi}^{2} \\cos(\\theta - \\epsilon)'
    """
    return " = ".join(side.latex() for side in _sides(text))


def pieces(text: str, width: int) -> list[str]:
    r"""A row or an expression in pieces between which a line may end, none much wider than so many characters if that can be.

    >>> pieces("m*x'' = -lambda1*sin(theta) + u", 10)
    ['m \\ddot{x}', '= \\, {-}\\lambda_{1} \\sin\\theta', '+ \\, u']
    """
    found: list[str] = []
    for k, side in enumerate(_sides(text)):
        cut = list(side.cut(width))
        found += cut if k == 0 else [rf"= \, {cut[0]}", *cut[1:]]
    return found


def _sides(text: str) -> list[Node]:
    with deep():
        return Reader(text).row()
