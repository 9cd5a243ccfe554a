"""From the syntax tree to SymPy: names get their meaning, and values must be finite, real and of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

import sympy
from sympy import Expr, Integer, Rational

from chetaev.core.errors import NotationError, did_you_mean
from chetaev.core.fixes import Advice, sentences
from chetaev.core.functions import DECLARABLE, FUNCTIONS, called, in_own_functions
from chetaev.core.notation.arithmetic import collected, known_to_vanish, multiplied
from chetaev.core.notation.bounds import MOST_DERIVED, MOST_DIGITS, MOST_NODES, Size, call_fault, fault, node_fault, power_fault
from chetaev.core.notation.parser import Parser
from chetaev.core.notation.tree import Call, Name, Number, Power, Product, Span, Sum, Tree, Varied
from chetaev.core.notation.vocabulary import Vocabulary
from chetaev.core.support.letters import HIGHEST_DERIVATIVE
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Action, Variation

MOST_CHOICES = 50
"""Arguments of one `min` or `max`. They become nested functions of two arguments, which are differentiated one inside the other."""


def parse_expression(text: str, names: Vocabulary, where: str = "expression") -> Expr:
    """The expression a text stands for."""
    return _sides(text, names, where, 1)[0]


def parse_row(text: str, names: Vocabulary, where: str = "row") -> tuple[Expr, Expr]:
    """The two sides of an equation; without `=` the right-hand side is 0."""
    lhs, rhs = (*_sides(text, names, where, 2), sympy.S.Zero)[:2]
    return lhs, rhs


def _sides(text: str, names: Vocabulary, where: str, most: int) -> list[Expr]:
    with deep():
        parser, meaning = Parser(text, where), _Meaning(text, names, where)
        wrong: NotationError | None = None
        trees: list[Tree] = parser.atoms
        try:
            try:
                trees = parser.row(most)
            except NotationError as error:
                wrong = error
            values = [meaning.read(tree) for tree in trees]  # a wrong name before a syntax error is the better message: `sin x`
            if wrong is not None:
                raise wrong
            return [meaning.accept(value, (0, len(text))) for value in values]
        except RecursionError:
            raise NotationError("nested too deep.", where=where, text=text) from None


class _Meaning:
    """One fold over the trees of one text; a method per kind of node."""

    def __init__(self, text: str, names: Vocabulary, where: str) -> None:
        self.text, self.names, self.where = text, names, where
        self._met: dict[tuple[str, int], Expr] = {}
        """Values of names and numbers read before: SymPy deduces the assumptions of a symbol once per object."""

    def read(self, tree: Tree) -> Expr:
        match tree:
            case Name() | Number():
                key = (tree.name, tree.primes) if isinstance(tree, Name) else (tree.text, 0)
                found = self._met.get(key)
                if found is None:
                    found = self._met[key] = self._name(tree) if isinstance(tree, Name) else self._number(tree)
                return found
            case Product():
                return self._product(tree)
            case Sum():
                return self._sum(tree)
            case Power():
                return self._power(tree)
            case Call():
                return self._call(tree)
            case Varied():
                return self._varied(tree)
        raise TypeError(f"{type(tree).__name__} is in no text of the notation")

    def _sum(self, tree: Sum) -> Expr:
        return collected([-term if sign == "-" else term for sign, term, _ in self._parts(tree.terms, tree.places, "sum")])

    def _product(self, tree: Product) -> Expr:
        factors: list[Expr] = []
        for sign, factor, place in self._parts(tree.factors, tree.places, "product"):
            if sign == "/" and known_to_vanish(factor):
                raise self.error("division by zero.", (place, place + 1))
            factors.append(sympy.Pow(factor, -1) if sign == "/" else factor)
        return multiplied(factors)

    def _parts(self, parts: tuple[tuple[str, Tree], ...], places: tuple[int, ...], what: str) -> Iterator[tuple[str, Expr, int]]:
        """Terms or factors with their signs and the places of the signs; an error where their numbers together become too large."""
        size = Size()
        for (sign, node), place in zip(parts, (-1, *places), strict=True):
            value = self.read(node)
            if place >= 0 and size.grows(value):
                raise self.error(f"numbers whose {what} has more than {MOST_DIGITS} digits.", (place, place + 1))
            yield sign, value, place

    def _power(self, tree: Power) -> Expr:
        base, exponent = self.read(tree.base), self.read(tree.exponent)
        if exponent.is_negative and known_to_vanish(base):
            raise self.error("division by zero.", tree.span)
        reason = power_fault(base, exponent)
        if reason:
            raise self.error(reason, tree.span)
        return sympy.Pow(base, exponent)

    def _number(self, tree: Number) -> Expr:
        """An exact rational: decimals are read as written."""
        mantissa, _, exponent = tree.text.lower().partition("e")
        whole, _, fraction = mantissa.partition(".")
        if len(exponent) > 5 or abs(int(exponent or 0)) > MOST_DIGITS:
            raise self.error(f"a number of more than {MOST_DIGITS} digits.", tree.span)
        shift = int(exponent or 0) - len(fraction)
        if not shift:
            return Integer(int((whole + fraction) or "0"))
        return Rational(Integer(int((whole + fraction) or "0")) * (Integer(10) ** shift))

    def _name(self, tree: Name) -> Expr:
        """The value of a name with primes."""
        name, primes, names, span = tree.name, tree.primes, self.names, tree.span
        if name == "pi":
            return sympy.pi
        if name == "t":
            if primes:
                raise self.error("t carries no prime: dt/dt = 1.", span)
            return TIME
        primed = span[0], span[1] + primes
        reason = names.forbidden.get(name + "'" * primes) or names.forbidden.get(name if not primes else name + "'")
        if reason:
            raise self.error(reason, primed)
        if name in names.jets:
            return names.jets[name].d(primes)
        if name in names.parameters:
            if primes:
                raise self.error(f"{name} is a parameter: constant, its derivative is zero.", primed)
            return names.parameters[name]
        if name in names.expressions:
            return self._total(names.expressions[name], primes, span)
        if name in names.entries:
            return self._total(names.entries[name], primes, span)
        if name in names.quasi:
            if not primes:
                raise self.error(f"{name} is a quasi-coordinate: only {name}' and δ{name} have a meaning.", span)
            return self._total(names.quasi[name], primes - 1, span)
        if name in FUNCTIONS and name not in DECLARABLE:
            power = f"{name}(x)^2" if self.text[primed[1] :].lstrip().startswith(("^", "**")) else f"{name}(...)"
            raise self.error(f"{name} is a function: write {power}.", span)
        raise self.error(names.unknown(name), span, undeclared="" if primes else self.text[slice(*span)])

    def _total(self, expression: Expr, times: int, span: Span) -> Expr:
        """The total derivative of an expression, kept within bounds."""
        if times > HIGHEST_DERIVATIVE:
            raise self.error(f"at most {HIGHEST_DERIVATIVE} derivatives.", span)
        for kind, name in ((Action, "the action variable"), (Variation, "a variation")):
            if times and any(isinstance(z, kind) for z in expression.free_symbols):
                raise self.error(f"{name} cannot be differentiated here.", span)
        for _ in range(times):
            expression = self.accept(self.names.total(expression), span, MOST_DERIVED)
        return expression

    def _call(self, tree: Call) -> Expr:
        name = tree.name
        if name == "D":
            return self._derivative(tree)
        if name not in FUNCTIONS:
            if name in self.names.names() or name in ("t", "pi"):
                raise self.error(f"{name} is not a function.  Write {name}*(...) for a product.", tree.span)
            meant = [_FOREIGN[name]] if name in _FOREIGN else [f"Functions: {' '.join(FUNCTIONS)}, D.", did_you_mean(name, FUNCTIONS)]
            raise self.error(sentences("unknown function.", *meant), tree.span)
        if not tree.arguments:
            return sympy.S.Zero  # the text ends inside these brackets; the parser's error follows
        make, arity = FUNCTIONS[name]
        arguments = [self.read(node) for node in tree.arguments]
        if name in ("min", "max") and len(arguments) > 2:
            if len(arguments) > MOST_CHOICES:
                raise self.error(f"{name} of more than {MOST_CHOICES} values.", tree.span)
            nested = arguments.pop()
            while arguments:
                nested = make(arguments.pop(), nested)
            return nested
        if len(arguments) != arity:
            raise self.error(f"{name} takes {arity} argument{'s' * (arity > 1)}, not {len(arguments)}.", tree.span)
        reason = call_fault(name, arguments[0])
        value = called(make, *arguments) if reason is None else sympy.S.Zero
        reason = reason or node_fault(value)
        if reason:
            raise self.error(reason, (tree.span[0], tree.stop))
        return value

    def _derivative(self, tree: Call) -> Expr:
        inner, *count = tree.arguments
        times = int(count[0].text) if count and isinstance(count[0], Number) else 1
        # derivatives of a group coordinate's components are shown as D(A1, 4), where A1 alone has no value
        alone = isinstance(inner, Name) and not inner.primes and inner.name in self.names.jets and inner.name in self.names.forbidden
        value = self.names.jets[inner.name] if alone and count and times and isinstance(inner, Name) else self.read(inner)
        return self._total(value, times, tree.span)

    def _varied(self, tree: Varied) -> Expr:
        name, allowed = tree.name, self.names.variations
        if tree.delta is not None and name not in (allowed or ()):
            self._name(Name("delta", 0, tree.delta))
            raise self.error("a sign is missing here.  Write * for a product.", tree.span)
        if allowed is None:
            raise self.error("a variation stands only in variational rows.", tree.span)
        reason = self.names.forbidden.get(f"δ{name}")
        if reason:
            raise self.error(reason, tree.span)
        if name not in allowed:
            kind = "a parameter has no variation." if name in self.names.parameters else "no coordinate of this name."
            known = f"Variations: {' '.join(f'δ{n}' for n in allowed)}."
            raise self.error(sentences(kind, known, did_you_mean(name, allowed)), tree.span)
        return allowed[name]

    # -- faults ------------------------------------------------------------------------------------------------------------

    def accept(self, expression: Expr, span: Span, most: int = MOST_NODES) -> Expr:
        """An expression that is finite, real and of bounded size."""
        expression = in_own_functions(expression)
        reason = fault(expression, most)
        if reason:
            raise self.error(reason, span)
        return expression

    def error(self, what: Advice, span: Span, undeclared: str = "") -> NotationError:
        return NotationError(what, where=self.where, text=self.text, span=span, undeclared=undeclared)


_FOREIGN = {
    "ln": "Write log(...).", "arcsin": "Write asin(...).", "arccos": "Write acos(...).", "arctan": "Write atan(...).",
    "diff": "Write x' or D(..., 1).", "Derivative": "Write x' or D(..., 1).", "delta": "Write δx, without a blank.",
    "Abs": "Write abs(...).", "sgn": "Write sign(...).", "heaviside": "Write step(...).", "Heaviside": "Write step(...).",
    "if": "Write piecewise(u, a, b): a where u < 0, else b.", "Piecewise": "Write piecewise(u, a, b): a where u < 0, else b.",
}  # fmt: skip
"""Advice for functions of other notations, by their names there."""
