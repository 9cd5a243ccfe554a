"""A unit: a product of powers, exact, with the symbols in which it was written.

Two units are equal if numbers in them may be added: `N` and `kg m/s^2` are, `mm` and `m` are not. A unit is therefore a product of powers
of the seven base units, of prime numbers and of pi; exponents are fractions, so that nothing is rounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from chetaev.core.errors import NotationError, did_you_mean
from chetaev.core.fixes import Advice
from chetaev.core.support.frozen import Frozen

_LONGEST_UNIT = 100
"""Characters of the text of a unit. A longer one is a mistake, and could not stand beside an axis."""
_DEEPEST = 8
"""Brackets inside each other in the text of a unit; the reader calls itself for each, so hostile texts must not have thousands."""
_LARGEST_POWER = 20
"""Largest exponent in the text of a unit, above those of all formulas of mechanics; huge exponents would take time and memory."""

BASE = ("kg", "m", "s", "A", "K", "mol", "cd")
"""The base units of the SI, in the order in which they are written."""
_SI = {
    "rad": "", "sr": "", "g": "kg 10^-3", "Hz": "s^-1", "N": "kg m s^-2", "Pa": "kg m^-1 s^-2", "J": "kg m^2 s^-2", "W": "kg m^2 s^-3",
    "C": "A s", "V": "kg m^2 s^-3 A^-1", "F": "kg^-1 m^-2 s^4 A^2", "Ohm": "kg m^2 s^-3 A^-2", "S": "kg^-1 m^-2 s^3 A^2",
    "Wb": "kg m^2 s^-2 A^-1", "T": "kg s^-2 A^-1", "H": "kg m^2 s^-2 A^-2", "lm": "cd", "lx": "cd m^-2", "Bq": "s^-1", "Gy": "m^2 s^-2",
    "Sv": "m^2 s^-2", "kat": "mol s^-1", "L": "m^3 10^-3", "t": "kg 10^3", "eV": "kg m^2 s^-2 1602176634 10^-28",
    "bar": "kg m^-1 s^-2 10^5",
}  # fmt: skip
"""Units that take prefixes, by the base units and numbers that they are."""
_OTHERS = {
    "1": "", "%": "10^-2", "deg": "pi 180^-1", "°": "pi 180^-1", "rev": "pi 2", "min": "s 60", "h": "s 3600", "d": "s 86400",
    "rpm": "pi 30^-1 s^-1", "in": "m 254 10^-4", "ft": "m 3048 10^-4", "mi": "m 1609344 10^-3", "lb": "kg 45359237 10^-8",
    "lbf": "kg m s^-2 45359237 10^-8 980665 10^-5", "kgf": "kg m s^-2 980665 10^-5", "psi": "kg m^-1 s^-2 45359237 980665 254^-2 10^-5",
    "atm": "kg m^-1 s^-2 101325", "mmHg": "kg m^-1 s^-2 133322387415 10^-9", "au": "m 149597870700", "ha": "m^2 10^4",
    "cal": "kg m^2 s^-2 4184 10^-3", "kn": "m 1852 s^-1 3600^-1", "USD": "USD", "EUR": "EUR",
}  # fmt: skip
"""Units without prefixes; those of money have a dimension of their own."""
_PREFIXES = {
    "Q": 30, "R": 27, "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1, "d": -1, "c": -2, "m": -3,
    "µ": -6, "u": -6, "n": -9, "p": -12, "f": -15, "a": -18, "z": -21, "y": -24, "r": -27, "q": -30,
}  # fmt: skip
"""Powers of ten."""
_PREFIXED = {*_SI, *BASE} - {"kg"}
_SPELLINGS = str.maketrans({"Ω": "Ohm", "\N{OHM SIGN}": "Ohm", "μ": "µ", "·": "*", "⋅": "*", "×": "*", "−": "-"})
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_SUPERSCRIPT = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_RAISE = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_WHOLE_POWER = re.compile(r"(?:\^|\*\*)(-?[0-9]+)(?![0-9.])")
_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-zµ]+|[%°])|(?P<power>\*\*|\^)|(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<sign>[-*/()]))")
_NOTHING: Frozen[str, Fraction] = Frozen()


@dataclass(frozen=True)
class Unit:
    """A unit; equality compares `factors` only."""

    factors: Frozen[str, Fraction] = _NOTHING
    """Exponents of base units, of prime numbers and of pi; none is zero."""
    symbols: Frozen[str, Fraction] = field(default=_NOTHING, compare=False)
    """Exponents of the symbols in which the unit was written, for display."""

    def __mul__(self, other: Unit) -> Unit:
        return Unit(_product(self.factors, other.factors), _product(self.symbols, other.symbols))

    def __truediv__(self, other: Unit) -> Unit:
        return self * other**-1

    def __pow__(self, exponent: Fraction | int) -> Unit:
        return Unit(_power(self.factors, Fraction(exponent)), _power(self.symbols, Fraction(exponent)))

    @property
    def pure(self) -> bool:
        """Whether quantities in this unit are pure numbers, with one as the unit."""
        return not self.factors

    @property
    def dimension(self) -> Frozen[str, Fraction]:
        """The exponents of the base units; two units of one dimension differ by a number."""
        return Frozen({name: n for name, n in self.factors.items() if not name.isdigit() and name != "pi"})

    def __str__(self) -> str:
        """The unit in one line: `kg m^2/s^2`. Radians are written where nothing but time stands beside them."""
        shown = {name: n for name, n in self.symbols.items() if n}
        pure = {name for name in shown if not _named(name)}
        if pure and (shown.keys() - pure - {"s", "ms", "min", "h"} or any(shown[name] != 1 for name in pure)):
            shown = {name: n for name, n in shown.items() if name not in pure}
        ordered = sorted(shown.items(), key=lambda item: BASE.index(item[0]) if item[0] in BASE else -1)
        above = [_raised(name, n) for name, n in ordered if n > 0]
        below = [_raised(name, -n) for name, n in ordered if n < 0]
        if not below:
            return " ".join(above) or "1"
        divisor = below[0] if len(below) == 1 else f"({' '.join(below)})"
        return f"{' '.join(above) or '1'}/{divisor}"


PURE = Unit()
"""The unit of a number."""


def read_unit(given: Any, where: str) -> Unit:
    """Return the unit that a text describes: symbols of units with prefixes, products (a space or `*`), quotients, powers and brackets.

    Raises a NotationError, with the place in the text, for everything else.

    >>> read_unit("kg m^2/s^2", "units") == read_unit("J", "units"), read_unit("mm", "units") == read_unit("m", "units")
    (True, False)
    """
    if not isinstance(given, str):
        raise NotationError(f"a unit is a text, not {type(given).__name__}.", where=where, hint='"kg m/s^2"; "1" for a pure number')
    if len(given) > _LONGEST_UNIT:
        raise NotationError(f"the text of a unit has {len(given)} characters; at most {_LONGEST_UNIT} are read.", where=where)
    return _Reader(given, where).unit()


def typeset(unit: str) -> str:
    """Return the text of a unit with raised exponents and dots for products.

    >>> typeset("kg*m^2/s^2")
    'kg·m²/s²'
    """
    return _WHOLE_POWER.sub(lambda found: found[1].translate(_RAISE), unit).replace("*", "·")


class _Reader:
    """Reads the text of a unit."""

    def __init__(self, text: str, where: str) -> None:
        self.text = _SUPERSCRIPT.sub(lambda found: "^" + found[0].translate(_RAISED), text.translate(_SPELLINGS))
        self.where, self.position, self.depth = where, 0, 0

    def unit(self) -> Unit:
        if not self.text.strip():
            raise self._fault("a unit is missing.", '"1" for a pure number')
        found = self._product()
        if self._peek() is not None:
            raise self._fault("this is not part of a unit.")
        return found

    def _product(self) -> Unit:
        found, divided = self._powered(), False
        while (token := self._peek()) is not None and token.group().strip() != ")":
            sign = token["sign"]
            if sign in ("*", "/"):
                self._take()
                divided = sign == "/"
                other = self._powered()
                found = found / other if divided else found * other
            elif divided:
                raise self._fault("a product after a quotient has two meanings.", 'brackets, as in "W/(m K)", or a sign *')
            else:
                found = found * self._powered()
        return found

    def _powered(self) -> Unit:
        found = self._single()
        token = self._peek()
        if token is None or not token["power"]:
            return found
        self._take()
        return found ** self._exponent()

    def _single(self) -> Unit:
        token = self._peek()
        if token is not None and token["name"]:
            found = _known(token["name"])
            if found is None:
                near = did_you_mean(token["name"], [*BASE, *_SI, *_OTHERS])
                raise self._fault(
                    f"{token['name']} is not a unit.", near or "SI units with prefixes, such as kg mm N ms rad; 1 for a pure number"
                )
            self._take()
            return found
        if token is not None and token["number"] == "1":
            self._take()
            return PURE
        if token is not None and token["sign"] == "(" and self.depth < _DEEPEST:
            self._take()
            self.depth += 1
            found = self._product()
            self.depth -= 1
            self._close()
            return found
        raise self._fault("the symbol of a unit is expected here.", 'such as "kg m^2/s"; a number is not a unit')

    def _exponent(self) -> Fraction:
        token = self._peek()
        if token is not None and token["sign"] == "(":
            self._take()
            found = self._signed()
            token = self._peek()
            if token is not None and token["sign"] == "/":
                self._take()
                below = self._signed()
                if not below:
                    raise self._fault("this exponent divides by zero.")
                found /= below
            self._close()
        else:
            found = self._signed()
        if abs(found) > _LARGEST_POWER or found.denominator > _LARGEST_POWER:
            raise self._fault(f"an exponent is at most {_LARGEST_POWER}.")
        return found

    def _signed(self) -> Fraction:
        token, sign = self._peek(), 1
        if token is not None and token["sign"] == "-":
            self._take()
            token, sign = self._peek(), -1
        if token is None or not token["number"]:
            raise self._fault("a number is expected as the exponent.", '"m/s^2", "m^(1/2)"')
        self._take()
        return sign * Fraction(token["number"])

    def _close(self) -> None:
        token = self._peek()
        if token is None or token["sign"] != ")":
            raise self._fault("a bracket is not closed.")
        self._take()

    def _peek(self) -> re.Match[str] | None:
        if not self.text[self.position :].strip():
            return None
        token = _TOKEN.match(self.text, self.position)
        if token is None:
            raise self._fault("this is not part of a unit.")
        return token

    def _take(self) -> None:
        token = _TOKEN.match(self.text, self.position)
        self.position = token.end() if token else self.position

    def _fault(self, what: str, hint: Advice = "") -> NotationError:
        start = len(self.text) - len(self.text[self.position :].lstrip())
        found = _TOKEN.match(self.text, self.position)
        stop = found.end() if found else start + 1
        return NotationError(what, where=self.where, text=self.text or " ", span=(start, max(stop, start + 1)), hint=hint)


@lru_cache(maxsize=1000)
def _known(symbol: str) -> Unit | None:
    """Return the unit with this symbol, which may have a prefix; None if there is none."""
    factors = _named(symbol)
    return None if factors is None else Unit(factors, Frozen({} if symbol == "1" else {symbol: Fraction(1)}))


@lru_cache(maxsize=1000)
def _named(symbol: str) -> Frozen[str, Fraction] | None:
    """Return the exponents of a symbol, with its prefix; None if it is unknown."""
    if symbol in BASE:
        return Frozen({symbol: Fraction(1)})
    if symbol in _OTHERS or symbol in _SI:
        return _listed(_OTHERS.get(symbol, _SI.get(symbol, "")))
    for length in (1, 2):
        prefix, rest = symbol[:length], symbol[length:]
        if prefix in _PREFIXES and rest in _PREFIXED:
            found = _named(rest)
            return None if found is None else _product(found, _number(10, Fraction(_PREFIXES[prefix])))
    return None


def _listed(text: str) -> Frozen[str, Fraction]:
    """Return the exponents that a line of the tables lists."""
    found = _NOTHING
    for part in text.split():
        name, _, power = part.partition("^")
        exponent = Fraction(power or 1)
        found = _product(found, _number(int(name), exponent) if name.isdigit() else Frozen({name: exponent}))
    return found


def _number(value: int, exponent: Fraction) -> Frozen[str, Fraction]:
    """Return a power of a whole number as powers of primes."""
    found: dict[str, Fraction] = {}
    divisor = 2
    while value > 1:
        divisor = divisor if divisor * divisor <= value else value
        while value % divisor == 0:
            value //= divisor
            found[str(divisor)] = found.get(str(divisor), Fraction(0)) + exponent
        divisor += 1
    return Frozen(found)


def _product(first: Mapping[str, Fraction], second: Mapping[str, Fraction]) -> Frozen[str, Fraction]:
    found = {name: first.get(name, Fraction(0)) + second.get(name, Fraction(0)) for name in (*first, *second)}
    return Frozen({name: n for name, n in found.items() if n})


def _power(given: Mapping[str, Fraction], exponent: Fraction) -> Frozen[str, Fraction]:
    return Frozen({name: n * exponent for name, n in given.items() if exponent})


def _raised(name: str, exponent: Fraction) -> str:
    if exponent == 1:
        return name
    return f"{name}^{exponent}" if exponent.denominator == 1 else f"{name}^({exponent})"
