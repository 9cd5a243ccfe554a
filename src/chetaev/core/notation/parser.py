"""From text to expressions: a recursive-descent parser that runs nothing.

    row        = sum ["=" sum]
    sum        = ["+"|"-"] product {("+"|"-") product}
    product    = power {("*"|"/") power}          a sign may stand before a power
    power      = atom ["^" [sign] power]          right-associative, above unary minus
    atom       = number | "pi" | "t" | name primes | "δ" name | function "(" sum {"," sum} ")" | "D" "(" sum ["," integer] ")" | "(" sum ")"

Sums and products are collected n-ary, so the time is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy import Expr, Integer, Rational

from chetaev.core.errors import NotationError, did_you_mean
from chetaev.core.functions import DECLARABLE, FUNCTIONS, called, in_own_words
from chetaev.core.notation.bounds import MOST_DERIVED, MOST_NODES, Size, call_fault, fault, node_fault, power_fault
from chetaev.core.notation.collect import collected, multiplied
from chetaev.core.notation.lexer import Kind, Token, tokens
from chetaev.core.notation.vocabulary import Vocabulary
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Action, Variation

DEEPEST = 200
HIGHEST_DERIVATIVE = 20
MOST_CHOICES = 50
_MOST_DIGITS_SHIFTED = 400


def parse_expression(text: str, names: Vocabulary, where: str = "expression") -> Expr:
    """The expression a text stands for."""
    with deep():
        parser = _Parser(text, names, where)
        try:
            expression = parser.sum()
            parser.expect_end()
            return parser.accept(expression, 0, len(text))
        except RecursionError:
            raise NotationError("nested too deep.", where=where, text=text) from None


def parse_row(text: str, names: Vocabulary, where: str = "row") -> tuple[Expr, Expr]:
    """The two sides of an equation; without `=` the right-hand side is 0."""
    with deep():
        parser = _Parser(text, names, where)
        try:
            lhs = parser.sum()
            rhs: Expr = sympy.S.Zero
            if parser.take("="):
                rhs = parser.sum()
            parser.expect_end()
            return parser.accept(lhs, 0, len(text)), parser.accept(rhs, 0, len(text))
        except RecursionError:
            raise NotationError("nested too deep.", where=where, text=text) from None


class _Parser:
    """One pass over the tokens of one text; a method per rule of the grammar."""

    def __init__(self, text: str, names: Vocabulary, where: str) -> None:
        self.text, self.names, self.where = text, names, where
        self.tokens = tokens(text, where)
        self.at = 0
        self.depth = 0
        self._met: dict[tuple[str, int], Expr] = {}
        """Jets and numbers met before: SymPy deduces what it assumes of a symbol once for every new object."""

    # -- rules -------------------------------------------------------------------------------------------------------------

    def sum(self) -> Expr:
        self._descend()
        terms = [self._signed(self.product)]
        size = Size()
        while self.peek() in ("+", "-"):
            sign = self.next()
            term = self._signed(self.product)
            if size.grows(term):
                raise self.error("numbers whose sum has more than 400 digits.", sign)
            terms.append(-term if sign.text == "-" else term)
        self.depth -= 1
        return collected(terms)

    def product(self) -> Expr:
        factors = [self.power()]
        size = Size()
        while self.peek() in ("*", "/"):
            sign = self.next()
            factor = self._signed(self.power)
            if size.grows(factor):
                raise self.error("numbers whose product has more than 400 digits.", sign)
            if sign.text == "/":
                if factor.is_zero:
                    raise self.error("division by zero.", sign)
                factor = sympy.Pow(factor, -1)
            factors.append(factor)
        return multiplied(factors)

    def power(self) -> Expr:
        base = self.atom()
        if self.peek() not in ("^", "**"):
            return base
        sign = self.next()
        self._descend()
        exponent = self._signed(self.power)
        self.depth -= 1
        if exponent.is_negative and base.is_zero:
            raise self.error("division by zero.", sign)
        reason = power_fault(base, exponent)
        if reason:
            raise self.error(reason, sign)
        return sympy.Pow(base, exponent)

    def _signed(self, rule: Callable[[], Expr]) -> Expr:
        """A rule with signs before it; `-x^2` is `-(x^2)` because the rule binds above the sign."""
        minus = False
        while self.peek() in ("+", "-"):
            minus ^= self.next().text == "-"
        value = rule()
        return -value if minus else value

    def atom(self) -> Expr:
        token = self.next()
        if token.kind is Kind.NUMBER:
            return self._no_primes(self._remembered(token.text, 0, lambda: _number(self, token)), "a number")
        if token.kind is Kind.VARIATION:
            return self._variation(self.next())
        if token.kind is Kind.NAME:
            return self._named(token)
        if token.text == "(":
            inner = self.sum()
            self.close(token)
            return self._no_primes(inner, "a bracket")
        raise self.error(self._unexpected(token), token)

    def _named(self, token: Token) -> Expr:
        name = token.text
        if self.peek() == "(":
            return self._call(token)
        following = self.tokens[self.at]
        if (
            name == "delta"
            and self.names.variations is not None
            and following.kind is Kind.NAME
            and following.text in self.names.variations
        ):
            return self._variation(self.next())
        if name == "pi":
            return self._no_primes(sympy.pi, "pi")
        primes = self._primes()
        if name == "t":
            if primes:
                raise self.error("t carries no prime: dt/dt = 1.", token)
            return TIME
        return self.lookup(token, primes)

    def lookup(self, token: Token, primes: int) -> Expr:
        """What a name with primes stands for."""
        name, names = token.text, self.names
        reason = names.forbidden.get(name + "'" * primes) or names.forbidden.get(name if not primes else name + "'")
        if reason:
            raise self.error(reason, token, primes)
        if name in names.jets:
            return self._remembered(name, primes, lambda: names.jets[name].d(primes))
        if name in names.parameters:
            if primes:
                raise self.error(f"{name} is a parameter: constant, its derivative is zero.", token, primes)
            return names.parameters[name]
        if name in names.expressions:
            return self.derived(names.expressions[name], primes, token)
        if name in names.entries:
            return self.derived(names.entries[name], primes, token)
        if name in names.quasi:
            if not primes:
                raise self.error(f"{name} is a quasi-coordinate: only {name}' and δ{name} have a meaning.", token)
            return self.derived(names.quasi[name], primes - 1, token)
        if name in FUNCTIONS and name not in DECLARABLE:
            power = f"{name}(x)^2" if self.peek() in ("^", "**") else f"{name}(...)"
            raise self.error(f"{name} is a function: write {power}.", token)
        raise self.error(names.unknown(name), token)

    def _remembered(self, text: str, primes: int, make: Callable[[], Expr]) -> Expr:
        found = self._met.get((text, primes))
        if found is None:
            found = self._met[text, primes] = make()
        return found

    def derived(self, expression: Expr, times: int, token: Token) -> Expr:
        """The total derivative of an expression, kept within bounds."""
        if times > HIGHEST_DERIVATIVE:
            raise self.error(f"at most {HIGHEST_DERIVATIVE} derivatives.", token)
        for kind, name in ((Action, "the action variable"), (Variation, "a variation")):
            if times and any(isinstance(z, kind) for z in expression.free_symbols):
                raise self.error(f"{name} cannot be differentiated here.", token)
        for _ in range(times):
            expression = self.accept(self.names.total(expression), token.start, token.stop, MOST_DERIVED)
        return expression

    def _call(self, token: Token) -> Expr:
        name, opening = token.text, self.next()
        if name == "D":
            return self._derivative(token, opening)
        if name not in FUNCTIONS:
            if name in self.names.names() or name in ("t", "pi"):
                raise self.error(f"{name} is not a function.  Write {name}*(...) for a product.", token)
            raise self.error(f"unknown function.  {_FOREIGN.get(name) or _functions_like(name)}".rstrip(), token)
        make, arity = FUNCTIONS[name]
        arguments = [self.sum()]
        while self.take(","):
            arguments.append(self.sum())
        self.close(opening)
        if name in ("min", "max") and len(arguments) > 2:
            if len(arguments) > MOST_CHOICES:
                raise self.error(f"{name} of more than {MOST_CHOICES} values.", token)
            nested = arguments.pop()
            while arguments:
                nested = make(arguments.pop(), nested)
            return self._no_primes(nested, "a function")
        if len(arguments) != arity:
            raise self.error(f"{name} takes {arity} argument{'s' * (arity > 1)}, not {len(arguments)}.", token)
        reason = call_fault(name, arguments[0])
        value = called(make, *arguments) if reason is None else sympy.S.Zero
        reason = reason or node_fault(value)
        if reason:
            raise NotationError(reason, where=self.where, text=self.text, span=(token.start, self.tokens[self.at - 1].stop))
        return self._no_primes(value, "a function")

    def _derivative(self, token: Token, opening: Token) -> Expr:
        inner, times = self._component() or self.sum(), 1
        if self.take(","):
            count = self.next()
            if count.kind is not Kind.NUMBER or not count.text.isdigit() or len(count.text) > 2 or int(count.text) > HIGHEST_DERIVATIVE:
                raise self.error(f"D(e, k) takes a whole number k from 0 to {HIGHEST_DERIVATIVE}.", count)
            times = int(count.text)
        self.close(opening)
        return self._no_primes(self.derived(inner, times, token), "D(...)")

    def _component(self) -> Expr | None:
        """`A1` in `D(A1, 4)`, as derivatives of a group coordinate's components are shown: alone it means nothing."""
        token, after = self.tokens[self.at], self.tokens[self.at + 1 : self.at + 3]
        alone = token.kind is Kind.NAME and token.text in self.names.jets and token.text in self.names.forbidden
        if not alone or [t.text for t in after[:1]] != [","] or after[-1].text.strip("0") == "":
            return None
        self.at += 1
        return self.names.jets[token.text]

    def _variation(self, token: Token) -> Expr:
        name, allowed = token.text, self.names.variations
        if allowed is None:
            raise self.error("a variation stands only in variational rows.", token)
        if self.tokens[self.at].kind is Kind.PRIMES:
            raise self.error(f"δ{name} carries no prime: virtual displacements are taken at a fixed time.", self.tokens[self.at])
        reason = self.names.forbidden.get(f"δ{name}")
        if reason:
            raise self.error(reason, token)
        if name not in allowed:
            known = f"  Variations: {' '.join(f'δ{n}' for n in allowed)}.  {did_you_mean(name, allowed)}".rstrip()
            kind = "a parameter has no variation." if name in self.names.parameters else "no coordinate of this name."
            raise self.error(kind + known, token)
        return allowed[name]

    # -- tokens ------------------------------------------------------------------------------------------------------------

    def peek(self) -> str:
        token = self.tokens[self.at]
        return token.text if token.kind is Kind.SIGN else ""

    def next(self) -> Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, sign: str) -> bool:
        if self.peek() != sign:
            return False
        self.at += 1
        return True

    def close(self, opening: Token) -> None:
        token = self.tokens[self.at]
        if self.take(")"):
            return
        if token.kind is Kind.END:
            raise self.error("this bracket is never closed.", opening)
        raise self.error(self._unexpected(token), token)

    def expect_end(self) -> None:
        token = self.tokens[self.at]
        if token.kind is not Kind.END:
            raise self.error(self._unexpected(token), token)

    def _primes(self) -> int:
        token = self.tokens[self.at]
        if token.kind is not Kind.PRIMES:
            return 0
        if not token.glued:
            raise self.error("primes follow their name without a blank.", token)
        if len(token.text) > HIGHEST_DERIVATIVE:
            raise self.error(f"at most {HIGHEST_DERIVATIVE} primes.", token)
        self.at += 1
        return len(token.text)

    def _no_primes(self, value: Expr, what: str) -> Expr:
        token = self.tokens[self.at]
        if token.kind is Kind.PRIMES:
            raise self.error(f"{what} carries no prime.  Write D(expression, {min(len(token.text), 20)}) for the total derivative.", token)
        return value

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"nested more than {DEEPEST} deep.", self.tokens[self.at])

    # -- faults ------------------------------------------------------------------------------------------------------------

    def accept(self, expression: Expr, start: int, stop: int, most: int = MOST_NODES) -> Expr:
        """An expression that is finite, real and of bounded size."""
        expression = in_own_words(expression)
        reason = fault(expression, most)
        if reason:
            raise NotationError(reason, where=self.where, text=self.text, span=(start, stop))
        return expression

    def error(self, what: str, token: Token, primes: int = 0) -> NotationError:
        return NotationError(what, where=self.where, text=self.text, span=(token.start, token.stop + primes))

    def _unexpected(self, token: Token) -> str:
        before = self.tokens[self.tokens.index(token) - 1] if token is not self.tokens[0] else None
        if token.kind is Kind.END:
            return "the text ends where a value should stand." if self.text.strip() else "the text is empty."
        if token.kind is Kind.PRIMES:
            return "primes follow a name without a blank."
        if token.text == "==":
            return "write one = for an equation."
        if token.text == "=":
            return (
                "only one = in a row."
                if any(t.text == "=" for t in self.tokens[: self.at - 1])
                else "an expression is wanted here, without =."
            )
        if token.text == ")":
            return "no bracket is open here." if self.depth <= 1 else "a value should stand before this bracket."
        valued = before is not None and (before.kind in (Kind.NAME, Kind.NUMBER, Kind.PRIMES) or before.text == ")")
        if valued and (token.kind in (Kind.NAME, Kind.NUMBER, Kind.VARIATION) or token.text == "("):
            return "a sign is missing here.  Write * for a product."
        return f"{token.text!r} cannot stand here."


_FOREIGN = {
    "ln": "Write log(...).", "arcsin": "Write asin(...).", "arccos": "Write acos(...).", "arctan": "Write atan(...).",
    "diff": "Write x' or D(..., 1).", "Derivative": "Write x' or D(..., 1).", "delta": "Write δx, glued to the name.",
    "Abs": "Write abs(...).", "sgn": "Write sign(...).", "heaviside": "Write step(...).", "Heaviside": "Write step(...).",
    "if": "Write piecewise(u, a, b): a where u < 0, else b.", "Piecewise": "Write piecewise(u, a, b): a where u < 0, else b.",
}  # fmt: skip
"""What functions of other notations are called here."""


def _functions_like(name: str) -> str:
    return f"Functions: {' '.join(FUNCTIONS)}, D.  {did_you_mean(name, FUNCTIONS)}"


def _number(parser: _Parser, token: Token) -> Expr:
    """An exact rational: decimals are read as written."""
    mantissa, _, exponent = token.text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    if len(exponent) > 5 or abs(int(exponent or 0)) > _MOST_DIGITS_SHIFTED:
        raise parser.error(f"a number of more than {_MOST_DIGITS_SHIFTED} digits.", token)
    shift = int(exponent or 0) - len(fraction)
    if not shift:
        return Integer(int((whole + fraction) or "0"))
    return Rational(Integer(int((whole + fraction) or "0")) * (Integer(10) ** shift))
