r"""Polynomials in atoms, with integer exponents of either sign, and the two rules of sine and cosine that lose no digits.

A monomial is one integer: the exponent of atom k stands in its k-th byte, so that the product of two monomials is the sum of two integers.
Exponents may be negative, which makes a monomial a quotient.

With $s = \sin u$ and $c = \cos u$, coefficients $\alpha, \beta$ of equal sign and any monomial $A$,

$$ \alpha A s^2 + \beta A c^2 = \mu A + (\alpha - \mu) A s^2 + (\beta - \mu) A c^2, \qquad
   \alpha A - \beta A s^2 = (\alpha - \mu) A - (\beta - \mu) A s^2 + \mu A c^2, $$

where $|\mu| = \min(|\alpha|, |\beta|)$. Both rules make the sum of the absolute coefficients smaller, so they end, and neither subtracts
terms that were added before. The usual normal form, with $1 - c^2$ in place of $s^2$, does: it has no digits left where $s$ is small.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Number = Any
"""An integer, or a `Fraction` that is no integer: integers are faster."""
Terms = dict[int, Number]
"""Coefficients by monomial; none is zero."""

_BITS = 8
"""Bits of an exponent within a monomial."""
_HALF = 1 << (_BITS - 1)
"""An exponent is shifted by this number to be read as a natural number."""
MOST = _HALF // 2 - 1
"""Largest absolute exponent of an atom; products of two such monomials still fit into their bytes."""


class Atoms:
    """Numbers of atoms, and which of them are the sine and the cosine of one argument."""

    def __init__(self) -> None:
        self.count = 0
        self._partners: dict[int, int] = {}
        self._denominators: dict[int, Terms] = {}
        """For atoms that are reciprocals of sums, these sums."""
        self._shift = 0
        """The exponents of all atoms shifted to natural numbers."""
        self._exponents: dict[int, tuple[tuple[int, int], ...]] = {}

    def new(self) -> int:
        """The number of one more atom."""
        self._shift |= _HALF << (_BITS * self.count)
        self.count += 1
        return self.count - 1

    def new_circle(self) -> tuple[int, int]:
        """The numbers of a sine and the cosine of the same argument."""
        sine, cosine = self.new(), self.new()
        self._partners |= {sine: cosine, cosine: sine}
        return sine, cosine

    def new_reciprocal(self, denominator: Terms) -> int:
        """The number of the reciprocal of a sum."""
        atom = self.new()
        self._denominators[atom] = denominator
        return atom

    def exponents(self, monomial: int) -> tuple[tuple[int, int], ...]:
        """The atoms of a monomial with their exponents."""
        found = self._exponents.get(monomial)
        if found is None:
            shifted = (monomial + self._shift).to_bytes(self.count + 1, "little")
            found = tuple((atom, byte - _HALF) for atom, byte in enumerate(shifted[: self.count]) if byte != _HALF)
            self._exponents[monomial] = found
        return found

    def collapsed(self, terms: Terms) -> Terms:
        """The polynomial after the rules of sine and cosine, and with sums divided by themselves, in place."""
        if len(terms) < 2 or not (self._partners or self._denominators):
            return terms
        waiting = list(terms)
        while waiting:
            monomial = waiting.pop()
            for atom, exponent in self.exponents(monomial) if monomial in terms else ():
                if atom in self._partners:
                    waiting += self._merged(terms, monomial, atom)
                elif exponent > 0 and atom in self._denominators:
                    waiting += self._cancelled(terms, monomial, atom)
        return terms

    def _cancelled(self, terms: Terms, monomial: int, atom: int) -> list[int]:
        """Replace a sum times its reciprocal, of which a monomial is the first term, by one; the monomial that is left."""
        denominator = self._denominators[atom]
        first = max(denominator)
        rest = monomial - power_of(atom) - first
        shift = rest + power_of(atom)
        if any(shift + m not in terms for m in denominator):
            return []
        factor = quotient(terms[monomial], denominator[first])
        if any(terms[shift + m] != factor * c for m, c in denominator.items()):
            return []
        for m in denominator:
            del terms[shift + m]
        add_term(terms, rest, factor)
        return [rest]

    def _merged(self, terms: Terms, monomial: int, atom: int) -> list[int]:
        """Apply the rules to a monomial with a sine or cosine; the monomials whose coefficients changed."""
        rest = monomial - (2 << (_BITS * atom))
        partner = rest + (2 << (_BITS * self._partners[atom]))
        changed = []
        for other, made, sign in ((partner, rest, 1), (rest, partner, -1)):
            alpha, beta = terms.get(monomial, 0), sign * terms.get(other, 0)
            if alpha * beta > 0:
                common = min(abs(alpha), abs(beta)) * (1 if alpha > 0 else -1)
                add_term(terms, monomial, -common)
                add_term(terms, other, -sign * common)
                add_term(terms, made, sign * common)
                changed += [m for m in (monomial, other, made) if m in terms]
        return changed


def add_term(terms: Terms, monomial: int, coefficient: Number) -> None:
    """Add a term to a polynomial, in place."""
    total = terms.get(monomial, 0) + coefficient
    if total:
        terms[monomial] = total
    else:
        terms.pop(monomial, None)


def quotient(a: Number, b: Number) -> Number:
    """The quotient of two numbers; an integer if it is one, since integers are faster."""
    if b == 1:
        return a
    if isinstance(a, int) and isinstance(b, int) and not a % b:
        return a // b
    found = Fraction(a) / b
    return found.numerator if found.denominator == 1 else found


def power_of(atom: int, exponent: int = 1) -> int:
    """The monomial of a power of an atom."""
    return exponent << (_BITS * atom) if exponent >= 0 else -(-exponent << (_BITS * atom))


def total(a: Mapping[int, Number], b: Mapping[int, Number], factor: int = 1) -> Terms:
    """The sum of a polynomial and a multiple of another one."""
    found = dict(a)
    for monomial, coefficient in b.items():
        add_term(found, monomial, factor * coefficient)
    return found


def product(a: Mapping[int, Number], b: Mapping[int, Number]) -> Terms:
    """The product of two polynomials."""
    found: Terms = {}
    for first, alpha in a.items():
        for second, beta in b.items():
            monomial = first + second
            found[monomial] = found.get(monomial, 0) + alpha * beta
    return {monomial: coefficient for monomial, coefficient in found.items() if coefficient}
