"""Between the library's expressions and SymPy's own: jets and functions of time.

`x'` here is `Derivative(x(t), t)` in `sympy.physics.mechanics`; both directions match by name.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Expr
from sympy.core.function import AppliedUndef

from chetaev.core.errors import NotationError, UsageError
from chetaev.core.fixes import Advice, Ask, parts_of
from chetaev.core.functions import CORNERS, SPELLING, SYMPY_CORNERS, Branch, Step, in_own_functions, in_sympy
from chetaev.core.notation.bounds import fault, power_fault
from chetaev.core.notation.lexer import spell
from chetaev.core.notation.vocabulary import Vocabulary
from chetaev.core.support.public import public
from chetaev.core.support.rationals import exact_number, is_real_number
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Jet, Variation

_PLAIN: tuple[Any, ...] = (sympy.Add, sympy.Mul, sympy.Pow, sympy.Rational, type(sympy.pi), type(sympy.E), *SPELLING)
"""Classes of SymPy's expressions that belong to the notation as they are."""


def from_sympy(expression: Any, names: Vocabulary, where: str) -> Expr:
    """An expression built in Python, with symbols matched by name; a NotationError for functions that the notation does not have."""
    with deep():
        try:
            converted: Expr = _Import(names, where).read(_number(expression, where) if is_real_number(expression) else expression)
            converted = in_own_functions(converted)
        except RecursionError:
            raise NotationError("nested too deep.", where=where) from None
        reason = fault(converted)
        if reason:
            raise NotationError(reason, where=where)
        return converted


@public
def to_sympy(expression: Any, t: sympy.Symbol | None = None) -> Expr:
    """An expression in SymPy's functions of time: `x'` becomes `Derivative(x(t), t)`, parameters become plain symbols.

    Args:
        expression: An expression in jets and parameters.
        t: The symbol of time; by default `sympy.physics.mechanics.dynamicsymbols._t`, so that the result works with that package.

    Returns:
        The expression without symbols of this library.

    Raises:
        UsageError: If `expression` is neither an expression nor a number.
        NotationError: For a number that is not finite.
    """
    if is_real_number(expression):
        expression = _number(expression, "to_sympy")
    if not isinstance(expression, sympy.Basic):
        hint = ("for example ", Ask("to_sympy", "system.lagrangian"))
        raise UsageError(f"to_sympy takes an expression, not {type(expression).__name__}.", where="to_sympy", hint=hint)
    if t is None:
        from sympy.physics.mechanics import dynamicsymbols

        t = dynamicsymbols._t
    replacements: dict[Expr, Expr] = {}
    for symbol in expression.free_symbols:
        if isinstance(symbol, Jet):
            function = sympy.Function(symbol.base)(t)
            replacements[symbol] = sympy.Derivative(function, (t, symbol.order)) if symbol.order else function
        else:
            replacements[symbol] = t if symbol == TIME else sympy.Symbol(symbol.name)
    with deep():
        outside = expression.replace(lambda e: isinstance(e, CORNERS), in_sympy)
        return outside.xreplace(replacements)


def _number(given: Any, where: str) -> Expr:
    """A number of Python or NumPy, exactly; a NotationError if it is not finite."""
    try:
        return exact_number(given)
    except ValueError:
        raise NotationError(f"{given!r} is not a finite number.", where=where) from None


class _Import:
    """One conversion from SymPy; every part is converted once."""

    def __init__(self, names: Vocabulary, where: str) -> None:
        self.names, self.where = names, where
        self.known: dict[Expr, Expr] = {}

    def read(self, node: Any) -> Expr:
        if not isinstance(node, Expr):
            raise self.error(f"expected an expression, found {node!r}.")
        if node not in self.known:
            self.known[node] = self._read(node)
        return self.known[node]

    def _read(self, node: Any) -> Expr:
        if isinstance(node, sympy.Float):
            return exact_number(node)
        if isinstance(node, sympy.Symbol):
            return self._symbol(node)
        if isinstance(node, AppliedUndef):
            return self._jet(self._moving(node), 0)
        if isinstance(node, sympy.Derivative):
            return self._derivative(node)
        if type(node) in SYMPY_CORNERS:
            make = SYMPY_CORNERS[type(node)]
            arguments = [self.read(a) for a in node.args]
            value = arguments.pop()
            if not arguments:
                return make(value)
            while arguments:
                value = make(arguments.pop(), value)
            return value
        if isinstance(node, sympy.Heaviside):
            return Step(self.read(node.args[0]))
        if isinstance(node, sympy.Piecewise):
            return self._piecewise(node)
        if isinstance(node, sympy.Pow):
            reason = power_fault(node.base, node.exp)
            if reason:
                raise self.error(reason)
        if isinstance(node, _PLAIN):
            return node.func(*[self.read(a) for a in node.args]) if node.args else node
        raise self.error(f"{type(node).__name__} is not in the notation: {node}.")

    def _piecewise(self, node: sympy.Piecewise) -> Expr:
        """Nested `piecewise`, built from the last piece to the first; each condition must be an inequality."""
        *pieces, (last, condition) = node.args
        if condition != sympy.true:
            raise self.error(f"{node} has no value where none of its conditions holds: let the last one be True.")
        value = self.read(last)
        for piece, condition in reversed(pieces):
            if not isinstance(condition, sympy.StrictLessThan | sympy.LessThan | sympy.StrictGreaterThan | sympy.GreaterThan):
                raise self.error(f"the condition {condition} is not an inequality between two expressions.")
            inside, u = self.read(piece), self.read(condition.lhs - condition.rhs)
            below = isinstance(condition, sympy.StrictLessThan | sympy.LessThan)
            value = Branch(u, inside, value) if below else Branch(u, value, inside)
        return value

    def _symbol(self, node: sympy.Symbol) -> Expr:
        if isinstance(node, Variation):
            return self._variation(node)
        if isinstance(node, Jet):
            return self._jet(node.base, node.order)
        name = spell(node.name)
        if name in self.names.entries:
            return self.names.entries[name]
        if name == TIME.name:
            return TIME
        if name in self.names.parameters:
            return self.names.parameters[name]
        return self._jet(name, 0)

    def _jet(self, name: str, order: int) -> Expr:
        names = self.names
        reason = names.forbidden.get(name + "'" * min(order, 1))
        if reason:
            raise self.error(f"{name}: {reason}")
        if name in names.jets:
            return names.jets[name].d(order)
        if name in names.expressions or name in names.quasi:
            raise self.error(f"{name} is a named expression; in Python use the expression itself.")
        raise self.error((f"{name}: ", *parts_of(names.unknown(name))))

    def _derivative(self, node: sympy.Derivative) -> Expr:
        times = [(v, int(count)) for v, count in node.variable_count]
        if not isinstance(node.expr, AppliedUndef) or any(v not in node.expr.args for v, _ in times):
            raise self.error(f"{node} is not the derivative of a coordinate with respect to time.")
        return self._jet(self._moving(node.expr), sum(count for _, count in times))

    def _moving(self, node: AppliedUndef) -> str:
        """The name of a function of time; a NotationError for others, such as `x(t - 1)` or `phi(x, t)`."""
        if len(node.args) != 1 or not isinstance(node.args[0], sympy.Symbol) or node.args[0].name != TIME.name:
            raise self.error(f"{node}: a coordinate is a function of t alone.  Delays and fields are outside this library.")
        return spell(node.func.__name__)

    def _variation(self, node: Variation) -> Expr:
        allowed = self.names.variations
        if allowed is None or node.coordinate not in allowed:
            raise self.error(f"{node.name}: a variation stands only in variational rows, before a coordinate.")
        return allowed[node.coordinate]

    def error(self, what: Advice) -> NotationError:
        return NotationError(what, where=self.where)
