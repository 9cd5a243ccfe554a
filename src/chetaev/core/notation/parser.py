"""From text to the syntax tree: a recursive-descent parser that evaluates nothing and knows no names.

    row        = sum {"=" sum}
    sum        = ["+"|"-"] product {("+"|"-") product}
    product    = power {("*"|"/") power}          a sign may stand before a power
    power      = atom ["^" [sign] power]          right-associative, above unary minus
    atom       = number | name primes | "δ" name | function "(" sum {"," sum} ")" | "D" "(" sum ["," integer] ")" | "(" sum ")"

Sums and products are collected n-ary, so the time is linear in the length of the text.
"""

from __future__ import annotations

from chetaev.core.errors import NotationError
from chetaev.core.notation.bounds import DEEPEST_NODES
from chetaev.core.notation.lexer import Kind, Token, tokens
from chetaev.core.notation.tree import Call, Name, Number, Power, Product, Span, Sum, Tree, Varied, negative
from chetaev.core.support.letters import HIGHEST_DERIVATIVE

DEEPEST = 200
"""Depth of brackets and powers in a text. The parser recurses, and so do all functions of the result."""


class Parser:
    """One pass over the tokens of one text; a method per rule of the grammar.

    With `meant=False` the text is only typeset: it may contain lists `(x, y)`, and may be nested as deep as texts that `show` writes.
    """

    def __init__(self, text: str, where: str, meant: bool = True) -> None:
        self.text, self.where = text, where
        self.lists, self.deepest = not meant, DEEPEST if meant else DEEPEST_NODES
        self.tokens = tokens(text, where)
        self.signs = [token.text if token.kind is Kind.SIGN else "" for token in self.tokens]
        self.at = 0
        self.depth = 0
        self.atoms: list[Tree] = []
        """Atoms read so far, open calls without their arguments: after a syntax error, an unknown name among them is reported instead."""

    def row(self, most: int) -> list[Tree]:
        """The sides of an equation, or the one expression that a text is."""
        found = [self.sum()]
        while len(found) < most and self.take("="):
            found.append(self.sum())
        token = self.tokens[self.at]
        if token.kind is not Kind.END:
            raise self.error(self._unexpected(token), token)
        return found

    # -- rules -------------------------------------------------------------------------------------------------------------

    def sum(self) -> Tree:
        self._descend()
        signs = self.signs
        terms = [("-" if self._minus() else "+", self.product())]
        places: list[int] = []
        while signs[self.at] in ("+", "-"):
            places.append(self.tokens[self.at].start)
            terms.append(("-" if self._minus() else "+", self.product()))
        self.depth -= 1
        return terms[0][1] if len(terms) == 1 and terms[0][0] == "+" else Sum(tuple(terms), tuple(places))

    def product(self) -> Tree:
        first, signs = self.power(), self.signs
        if signs[self.at] not in ("*", "/"):
            return first
        factors = [("*", first)]
        places: list[int] = []
        while signs[self.at] in ("*", "/"):
            sign = self.next()
            factors.append((sign.text, self._signed_power()))
            places.append(sign.start)
        return Product(tuple(factors), tuple(places))

    def power(self) -> Tree:
        base = self.atom()
        if self.signs[self.at] not in ("^", "**"):
            return base
        sign = self.next()
        self._descend()
        exponent = self._signed_power()
        self.depth -= 1
        return Power(base, exponent, sign.span)

    def _signed_power(self) -> Tree:
        """A power with signs before it; `-x^2` is `-(x^2)` because the power binds above the sign."""
        minus = self._minus()
        power = self.power()
        return negative(power) if minus else power

    def _minus(self) -> bool:
        """Whether the signs that stand here, if any, make a minus together."""
        minus = False
        while self.signs[self.at] in ("+", "-"):
            minus ^= self.signs[self.at] == "-"
            self.at += 1
        return minus

    def atom(self) -> Tree:
        mark, token = len(self.atoms), self.next()
        if token.kind is Kind.NUMBER:
            found = self._no_primes(Number(token.text, token.span), "a number")
        elif token.kind is Kind.VARIATION:
            found = self._varied(self.next())
        elif token.kind is Kind.NAME:
            found = self._named(token)
        elif token.text == "(":
            inside = self._listed(token, self.lists)
            found = self._no_primes(inside[0] if len(inside) == 1 else Call("", inside), "a bracket")
        else:
            raise self.error(self._unexpected(token), token)
        self.atoms[mark:] = (found,)
        return found

    def _listed(self, opening: Token, many: bool) -> tuple[Tree, ...]:
        """The expressions in brackets, up to the closing one."""
        found = [self.sum()]
        while many and self.take(","):
            found.append(self.sum())
        self.close(opening)
        return tuple(found)

    def _named(self, token: Token) -> Tree:
        if self.signs[self.at] == "(":
            return self._call(token)
        if token.text == "delta" and self.tokens[self.at].kind is Kind.NAME:
            return self._varied(self.next(), token.span)
        if token.text == "pi":
            return self._no_primes(Name("pi", 0, token.span), "pi")
        return Name(token.text, self._primes(), token.span)

    def _call(self, token: Token) -> Tree:
        opening, name = self.next(), token.text
        if name == "D":
            arguments = self._derivative(opening)
        else:
            self.atoms.append(Call(name, (), token.span))
            arguments = self._listed(opening, many=True)
        made = Call(name, arguments, token.span, self.tokens[self.at - 1].stop)
        return self._no_primes(made, "D(...)" if name == "D" else "a function")

    def _derivative(self, opening: Token) -> tuple[Tree, ...]:
        inner = self.sum()
        count = None
        if self.take(","):
            if isinstance(inner, Name):
                self.atoms.pop()  # a name such as A1 may have a value only as a derivative
            count = self.next()
            if count.kind is not Kind.NUMBER or not count.text.isdigit() or len(count.text) > 2 or int(count.text) > HIGHEST_DERIVATIVE:
                raise self.error(f"D(e, k) takes a whole number k from 0 to {HIGHEST_DERIVATIVE}.", count)
        self.close(opening)
        return (inner,) if count is None else (inner, Number(count.text, count.span))

    def _varied(self, token: Token, delta: Span | None = None) -> Tree:
        self.atoms.append(found := Varied(token.text, token.span, delta))
        if self.tokens[self.at].kind is Kind.PRIMES:
            raise self.error(f"δ{token.text} carries no prime: virtual displacements are taken at a fixed time.", self.tokens[self.at])
        return found

    # -- tokens ------------------------------------------------------------------------------------------------------------

    def next(self) -> Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, sign: str) -> bool:
        if self.signs[self.at] != sign:
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

    def _no_primes(self, value: Tree, what: str) -> Tree:
        token = self.tokens[self.at]
        if token.kind is Kind.PRIMES:
            raise self.error(
                f"{what} carries no prime.  Write D(expression, {min(len(token.text), HIGHEST_DERIVATIVE)}) for the total derivative.",
                token,
            )
        return value

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > self.deepest:
            raise self.error(f"nested more than {self.deepest} deep.", self.tokens[self.at])

    # -- faults ------------------------------------------------------------------------------------------------------------

    def error(self, what: str, token: Token) -> NotationError:
        return NotationError(what, where=self.where, text=self.text, span=token.span)

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
                else "an expression is expected here, without =."
            )
        if token.text == ")":
            return "no bracket is open here." if self.depth <= 1 else "a value should stand before this bracket."
        valued = before is not None and (before.kind in (Kind.NAME, Kind.NUMBER, Kind.PRIMES) or before.text == ")")
        if valued and (token.kind in (Kind.NAME, Kind.NUMBER, Kind.VARIATION) or token.text == "("):
            return "a sign is missing here.  Write * for a product."
        return f"{token.text!r} cannot stand here."
