"""From expressions to the syntax tree, and from there to the notation, to LaTeX and to MathML. `parse(show(e)) == e`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import sympy
from sympy import Expr, Rational, Symbol

from chetaev.core.functions import SPELLING
from chetaev.core.notation.formula import EQUALS, Formula, leading
from chetaev.core.notation.parser import Parser
from chetaev.core.notation.tree import Call, Foreign, Name, Number, Power, Product, Sum, Tree, Varied, negative
from chetaev.core.notation.typeset import Typeset
from chetaev.core.support.public import public
from chetaev.core.support.rationals import exact_number, is_real_number
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Jet, Variation, jet_name

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
"""The precedence of a text, weakest first."""
Form = Literal["text", "latex", "mathml"]
_ONE = Number("1")
"""The numerator of a fraction without factors above."""


@public
def show(expression: Any, form: Form = "text") -> str:
    r"""An expression as text of the notation, as LaTeX or as MathML.

    Args:
        expression: A SymPy expression in jets and parameters, or a number.
        form: `"text"` for the notation, which `parse` reads back, `"latex"`, or `"mathml"` for an element that browsers set.

    Returns:
        The text.

    Raises:
        ValueError: If `form` is `"text"` and the notation cannot write the expression.

    >>> from chetaev.core.symbols import Coordinate, Parameter
    >>> x, m = Coordinate("x"), Parameter("m")
    >>> show(m * x.d(1) ** 2 / 2)
    "m*x'^2/2"
    >>> show(m * x.d(2), "latex")
    'm \\ddot{x}'
    """
    with deep():
        if form == "text":
            return Showing()(expression)
        found = Typeset().whole(tree_of(expression))
        return found.latex if form == "latex" else found.element()


class Showing:
    """As `show`, for several expressions with parts in common: each part is read and written once."""

    def __init__(self) -> None:
        self._reading, self._text = _Reading(), _Text()

    def __call__(self, expression: Any) -> str:
        with deep():
            return self._text.show(_tree(expression, self._reading), _SUM)


def latex(*sides: str | Expr, tables: bool = True) -> str:
    r"""LaTeX of a row or an expression, given by its sides or as one text; texts keep their order.

    With `tables=False` the result has no tables, for matplotlib.

    >>> latex("x1' = I/2*psi'^2*cos(theta - epsilon)")
    '\\dot{x}_{1} = \\frac{I}{2} \\dot{\\psi}^{2} \\cos(\\theta - \\epsilon)'
    """
    return _row(sides, tables).latex


def mathml(*sides: str | Expr) -> str:
    r"""A row or an expression as a `<math>` element; texts keep their order.

    >>> mathml("x' = 0")
    '<math displaystyle="true" alttext="\\dot{x} = 0"><mover><mi>x</mi><mo lspace="0" rspace="0">.</mo></mover><mo>=</mo><mn>0</mn></math>'
    """
    return _row(sides, True).element()


def _row(sides: Sequence[str | Expr], tables: bool) -> Formula:
    with deep():
        first, *rest = map(Typeset(tables).whole, _trees(sides))
        for side in rest:
            first = first.then(EQUALS).then(side)
    return first


def pieces(*sides: str | Expr, width: int) -> list[Formula]:
    r"""A row or an expression in pieces between which a line may end, each at most about `width` characters wide if possible.

    >>> [piece.latex for piece in pieces("m*x'' = -lambda1*sin(theta) + u", width=10)]
    ['m \\ddot{x}', '= \\, -\\lambda_{1} \\sin\\theta', '+ \\, u']
    """
    found: list[Formula] = []
    with deep():
        for k, tree in enumerate(_trees(sides)):
            cut = list(Typeset().cut(tree, width))
            found += cut if k == 0 else [leading("=").then(cut[0]), *cut[1:]]
    return found


def _trees(sides: Sequence[str | Expr]) -> list[Tree]:
    found: list[Tree] = []
    for side in sides:
        found += Parser(side, "formula", meant=False).row(len(side)) if isinstance(side, str) else [tree_of(side)]
    return found


def in_notation(expression: Expr) -> bool:
    """Whether an expression can be written in the notation. Shared parts are visited once."""
    plain = (sympy.Symbol, sympy.Add, sympy.Mul, sympy.Pow, sympy.Rational, *SPELLING)
    seen, stack = {expression}, [expression]
    while stack:
        node = stack.pop()
        if not isinstance(node, plain) and node is not sympy.pi and node is not sympy.E:
            return False
        new = {a for a in node.args if a not in seen}
        seen |= new
        stack += new
    return True


def tree_of(expression: Any) -> Tree:
    """The tree of an expression, in SymPy's order of terms and factors; a number of Python is read as it is written."""
    return _tree(expression, _Reading())


def _tree(expression: Any, reading: _Reading) -> Tree:
    if is_real_number(expression):
        expression = exact_number(expression)
    return reading.tree(expression) if isinstance(expression, Expr) else Foreign(expression)


class _Reading:
    """Converts one expression to a tree. A part that occurs in many places, as in nested derivatives, becomes one node."""

    def __init__(self) -> None:
        self._known: dict[Expr, Tree] = {}

    def tree(self, e: Expr) -> Tree:
        found = self._known.get(e)
        if found is None:
            found = self._known[e] = self._made(e)
        return found

    def _made(self, e: Expr) -> Tree:
        if isinstance(e, Symbol):
            return _symbol(e)
        if e.is_Rational:
            size: Tree = Number(str(abs(e.p)))
            size = size if e.q == 1 else Product((("*", size), ("/", Number(str(e.q)))))
            return negative(size) if e.p < 0 else size
        if e is sympy.pi:
            return Name("pi")
        if e is sympy.E:
            return Call("exp", (_ONE,))
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(*e.args)
        name = SPELLING.get(type(e))
        return Foreign(e) if name is None else Call(name, tuple(map(self.tree, e.args)))

    def _sum(self, e: Expr) -> Tree:
        trees = [self.tree(term) for term in e.as_ordered_terms()]
        parts = [tree.terms if isinstance(tree, Sum) else (("+", tree),) for tree in trees]
        parts.sort(key=lambda terms: terms[0][0] == "-")  # stable: a sum begins with a positive term if it has one
        return Sum(tuple(term for terms in parts for term in terms))

    def _product(self, e: Expr) -> Tree:
        coefficient, rest = e.as_coeff_Mul()
        if not coefficient.is_Rational:
            coefficient, rest = sympy.S.One, e
        above: list[Tree] = [] if abs(coefficient.p) == 1 else [Number(str(abs(coefficient.p)))]
        below: list[Tree] = []
        for factor in rest.as_ordered_factors():
            base, exponent = factor.args if factor.is_Pow else (factor, sympy.S.One)
            if exponent.is_Rational and exponent.is_negative:
                below.append(self.tree(sympy.Pow(base, -exponent)))
            else:
                above.append(self.tree(factor))
        below += [] if coefficient.q == 1 else [Number(str(coefficient.q))]
        factors = (*(("*", f) for f in above or [_ONE]), *(("/", f) for f in below))
        tree = factors[0][1] if len(factors) == 1 else Product(factors)
        return negative(tree) if coefficient.is_negative else tree

    def _power(self, base: Expr, exponent: Expr) -> Tree:
        if exponent.is_Rational and exponent.is_negative:
            return Product((("*", _ONE), ("/", self.tree(sympy.Pow(base, -exponent)))))
        if exponent == Rational(1, 2):
            return Call("sqrt", (self.tree(base),))
        return Power(self.tree(base), self.tree(exponent))


def _symbol(e: sympy.Symbol) -> Tree:
    if isinstance(e, Variation):
        return Varied(e.coordinate)
    return Name(e.base, e.order) if isinstance(e, Jet) else Name(e.name)


class _Text:
    """Converts one tree to text. A node that occurs in many places is converted once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, int]] = {}

    def show(self, tree: Tree, room: int) -> str:
        """Text of a node, in brackets when it binds weaker than its surroundings."""
        found = self._known.get(id(tree))
        if found is None:
            found = self._known[id(tree)] = self._written(tree)
        text, strength = found
        return text if strength >= room else f"({text})"

    def _written(self, tree: Tree) -> tuple[str, int]:
        match tree:
            case Name():
                return jet_name(tree.name, tree.primes), _ATOM
            case Number():
                return tree.text, _ATOM
            case Product():
                text = "".join(f"{sign}{self.show(factor, _POWER)}" for sign, factor in tree.factors)
                return text[1:], _PRODUCT
            case Sum():
                text = "".join(f" {sign} {self.show(term, _PRODUCT)}" for sign, term in tree.terms)
                return text[3:] if text.startswith(" +") else f"-{text[3:]}", _SUM
            case Power():
                return f"{self.show(tree.base, _ATOM)}^{self.show(tree.exponent, _ATOM)}", _POWER
            case Call():
                return f"{tree.name}({', '.join(self.show(a, _SUM) for a in tree.arguments)})", _ATOM
            case Varied():
                return f"delta {tree.name}", _ATOM
            case Foreign():
                raise ValueError(f"{type(tree.expression).__name__} is not in the notation")
