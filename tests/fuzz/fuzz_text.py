"""Texts in the notation of the model files, read by a second reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

import fuzz_graph as g

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|(δ?[A-Za-z_]\w*)('*)|(\*\*|[-+*/^(),=]))")


class Reader:
    """Reads one text. `names` gives a node to every name and number of primes, `rate` the total derivative of a node."""

    def __init__(self, text: str, names: Callable[[str, int], g.Node], rate: Callable[[g.Node], g.Node]) -> None:
        self.names, self.rate = names, rate
        self.tokens: list[tuple[str, str, int]] = []
        place, text = 0, text.strip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if not found:
                raise ValueError(f"cannot read {text[place:]!r}")
            digits, name, primes, mark = found.groups()
            kind = "number" if digits else "name" if name else "mark"
            self.tokens.append((kind, digits or name or mark, len(primes or "")))
            place = found.end()
        self.tokens.append(("end", "", 0))
        self.at = 0

    def take(self, mark: str) -> bool:
        kind, word, _ = self.tokens[self.at]
        if kind == "mark" and word == mark:
            self.at += 1
            return True
        return False

    def row(self) -> g.Node:
        """lhs - rhs, or the expression itself."""
        left = self.sum()
        if self.take("="):
            left = g.sub(left, self.sum())
        if self.tokens[self.at][0] != "end":
            raise ValueError(f"left over: {self.tokens[self.at]}")
        return left

    def sum(self) -> g.Node:
        a = self.product()
        while True:
            if self.take("+"):
                a = g.add(a, self.product())
            elif self.take("-"):
                a = g.sub(a, self.product())
            else:
                return a

    def product(self) -> g.Node:
        a = self.signed()
        while True:
            if self.take("*"):
                a = g.mul(a, self.signed())
            elif self.take("/"):
                a = g.div(a, self.signed())
            else:
                return a

    def signed(self) -> g.Node:
        if self.take("-"):
            return g.neg(self.signed())
        if self.take("+"):
            return self.signed()
        base = self.atom()
        if self.take("^") or self.take("**"):
            return g.power(base, self.signed())
        return base

    def atom(self) -> g.Node:
        kind, word, primes = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return g.number(Fraction(word))
        if kind == "mark" and word == "(":
            inside = self.sum()
            self._need(")")
            return inside
        if kind != "name":
            raise ValueError(f"unexpected {word!r}")
        if not self.take("("):
            return self.names(word, primes)
        args = [self.sum()]
        while self.take(","):
            args.append(self.sum())
        self._need(")")
        if word == "D":
            times, result = g.value_of(args[1]), args[0]
            for _ in range(int(times or 0)):
                result = self.rate(result)
            return result
        return g.apply(word, *args)

    def _need(self, mark: str) -> None:
        if not self.take(mark):
            raise ValueError(f"{mark} is missing before {self.tokens[self.at]}")


def scaled(text: str, factors: Mapping[str, tuple[str, str]]) -> str:
    """Every jet `q''` of a text in other units: (number*q''); `factors` gives the number per name and the one per prime."""

    def jet(found: re.Match[str]) -> str:
        name, primes = found.group(1), len(found.group(2))
        bare = name.removeprefix("δ")
        if bare not in factors:
            return found.group(0)
        base, rate = factors[bare]
        return f"({float(Fraction(base) * Fraction(rate) ** primes)!r}*{name}{found.group(2)})"

    return re.sub(r"(δ?[A-Za-z_]\w*)('*)(?!\w*\()", jet, text)
