"""From the text of a formula to its parts, in the order in which they are written.

Besides the notation a list in brackets is read, `(x', y')`, because running text has them.
"""

from __future__ import annotations

from chetaev.core.errors import NotationError
from chetaev.core.notation.lexer import Kind, Token, tokens
from chetaev.plot.formula_parts import Atom, Call, Node, Power, Product, Sum, brackets, fraction, number_latex, symbol_latex


class Reader:
    """One pass over the tokens of a text; a method per rule of the grammar in `chetaev.core.notation.parser`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text, "formula")
        self.at = 0

    def row(self) -> list[Node]:
        """The sides of a row, or the one expression."""
        found = [self._sum()]
        while self._take("="):
            found.append(self._sum())
        last = self.tokens[self.at]
        if last.kind is not Kind.END:
            raise NotationError("no formula goes on like this.", where="formula", text=self.text, span=(last.start, last.stop))
        return found

    def _sum(self) -> Node:
        terms = [(self._sign(), self._product())]
        while self._peek() in ("+", "-"):
            sign = self._next().text
            inner = self._sign()
            terms.append(("-" if (sign == "-") != (inner == "-") else "+", self._product()))
        return terms[0][1] if len(terms) == 1 and not terms[0][0] else Sum(tuple(terms))

    def _sign(self) -> str:
        minus = False
        while self._peek() in ("+", "-"):
            minus ^= self._next().text == "-"
        return "-" if minus else ""

    def _product(self) -> Node:
        parts: list[Node] = []
        above: list[Node] = [self._power()]
        below: list[Node] = []
        while self._peek() in ("*", "/"):
            over = self._next().text == "/"
            factor = self._signed_power()
            if over:
                below.append(factor)
            elif below:
                parts.append(fraction(above, below))
                above, below = [factor], []
            else:
                above.append(factor)
        if below:
            parts.append(fraction(above, below))
        else:
            parts += above
        return parts[0] if len(parts) == 1 else Product(tuple(parts))

    def _signed_power(self) -> Node:
        sign = self._sign()
        power = self._power()
        return Sum(((sign, power),)) if sign else power

    def _power(self) -> Node:
        base = self._atom()
        if self._peek() not in ("^", "**"):
            return base
        self._next()
        return Power(base, self._signed_power())

    def _atom(self) -> Node:
        token = self._next()
        if token.kind is Kind.NUMBER:
            return Atom(number_latex(token.text), True)
        if token.kind is Kind.VARIATION:
            return Atom(rf"\delta {symbol_latex(self._next().text)}")
        if token.kind is Kind.NAME:
            return self._named(token)
        if token.text != "(":
            raise NotationError(
                "a number, a name or a bracket is missing here.", where="formula", text=self.text, span=(token.start, token.stop)
            )
        inner = self._sum()
        listed = [inner]
        while self._take(","):
            listed.append(self._sum())
        self._close()
        return inner if len(listed) == 1 else Atom(f"({', '.join(part.latex() for part in listed)})")

    def _named(self, token: Token) -> Node:
        if self._peek() == "(":
            return self._call(token.text)
        following = self.tokens[self.at]
        if token.text == "delta" and following.kind is Kind.NAME:
            return Atom(rf"\delta {symbol_latex(self._next().text)}")
        primes = len(self._next().text) if following.kind is Kind.PRIMES else 0
        return Atom(symbol_latex(token.text, primes))

    def _call(self, name: str) -> Node:
        self._next()
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close()
        if name != "D":
            return Call(name, tuple(arguments))
        count = arguments[1].latex() if len(arguments) > 1 else "1"
        inner = arguments[0].latex()
        if isinstance(arguments[0], Atom):
            return Atom(f"{inner}^{{({count})}}")
        power = "" if count == "1" else f"^{{{count}}}"
        return Atom(rf"\frac{{d{power}}}{{dt{power}}}{brackets(inner)}")

    def _close(self) -> None:
        if not self._take(")"):
            raise NotationError("a bracket is not closed.", where="formula", text=self.text, span=(len(self.text) - 1, len(self.text)))

    def _peek(self) -> str:
        token = self.tokens[self.at]
        return token.text if token.kind is Kind.SIGN else ""

    def _next(self) -> Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def _take(self, sign: str) -> bool:
        found = self._peek() == sign
        self.at += found
        return found
