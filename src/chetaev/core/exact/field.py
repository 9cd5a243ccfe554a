r"""The finite field in which signatures are computed.

A residue is one integer modulo $N = pqr$. Modulo the prime $p$ it is the value; modulo the primes $q$ and $r$ it serves as an exponent:

- $q$ divides $p - 1$, so that $e^u = g^u$ with $g$ of order $q$ depends on $u$ modulo $q$;
- $r$ divides $p + 1$, so that $\cos u + i \sin u = h^u$ with $h$ of order $r$ on the circle of $F_p(i)$ depends on $u$ modulo $r$;
- $p \equiv 7 \pmod 8$, so that $-1$ has no root (the circle has $p + 1$ points), the root $u^{(p+1)/4}$ of a square is itself a square and
  roots are multiplicative; 2, 3, ..., 23 are squares; 3, 5, 7 and 11 do not divide $p - 1$, so that odd roots are unique.

Where the root of a non-square is needed, the field is extended by $i$: `Extended` is $a + bi$.
"""

from __future__ import annotations

import hashlib
import random
from copy import copy
from fractions import Fraction
from functools import cached_property

PRIMES = (
    (66067706060650010742426929022479, 28361127669731, 20080629044543),
    (87046246858747201294828811600039, 23665485713687, 31630910844383),
)
"""Triples p, q, r with the properties above. The chance of a wrong zero is about degree/r, so r must stay above 10^13."""

_BITS_PER_TABLE = 5
"""Bits of an exponent per table of powers of h. One more bit doubles the tables and saves a product per window."""


class OutsideDomain(ArithmeticError):
    """The random point is not in the domain of the expression: the root of a non-square, or a division by zero."""


class Extended:
    """The number $a + bi$, with $i^2 = -1$; real numbers stay integers."""

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: int) -> None:
        self.a, self.b = a, b

    def __add__(self, other: Residue) -> Extended:
        return Extended(self.a + other.a, self.b + other.b) if isinstance(other, Extended) else Extended(self.a + other, self.b)

    __radd__ = __add__

    def __neg__(self) -> Extended:
        return Extended(-self.a, -self.b)

    def __sub__(self, other: Residue) -> Extended:
        return self + (-other)

    def __rsub__(self, other: int) -> Extended:
        return -self + other

    def __mul__(self, other: Residue) -> Extended:
        if isinstance(other, Extended):
            return Extended(self.a * other.a - self.b * other.b, self.a * other.b + self.b * other.a)
        return Extended(self.a * other, self.b * other)

    __rmul__ = __mul__

    def __mod__(self, modulus: int) -> Residue:
        b = self.b % modulus
        return Extended(self.a % modulus, b) if b else self.a % modulus

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Extended) and (self.a, self.b) == (other.a, other.b)

    def __hash__(self) -> int:
        return hash((self.a, self.b))

    def __repr__(self) -> str:
        return f"{self.a}+{self.b}i"


Residue = int | Extended
Pair = tuple[int, int]


class Field:
    """Residues modulo p*q*r, with bases for exponentials and the circle that the seed chooses."""

    def __init__(self, primes: tuple[int, int, int], seed: int) -> None:
        self.p, self.q, self.r = p, q, r = primes
        self.modulus = n = p * q * r
        chance = random.Random(seed)
        self._key = chance.getrandbits(64).to_bytes(8, "big")
        self.idempotents: tuple[int, ...] = tuple(n // m * pow(n // m, -1, m) % n for m in (p, q, r))
        """Residues that are 1 modulo one of the primes and 0 modulo the others."""
        self.base = pow(chance.randrange(2, p), (p - 1) // q, p)
        self._windows = _powers(self._turn(chance), r, p)
        self._numbers: dict[Fraction, int] = {}
        self.half = self.number(Fraction(1, 2))

    @cached_property
    def prime(self) -> Field:
        """This field without the residues modulo q and r, which only exponents need."""
        found = copy(self)
        found.q = found.r = 1
        found.modulus, found.idempotents, found._numbers = self.p, (1, 0, 0), {}
        found.half = found.number(Fraction(1, 2))
        return found

    def _turn(self, chance: random.Random) -> Pair:
        """A point of order r on the circle."""
        while True:
            slope = chance.randrange(2, self.p)
            below = pow(1 + slope * slope, -1, self.p)
            point = (1 - slope * slope) * below % self.p, 2 * slope * below % self.p
            found = _raised(point, (self.p + 1) // self.r, self.p)
            if found != (1, 0):
                return found

    def circle(self, exponent: int) -> Pair:
        """Cosine and sine modulo p for an angle modulo r."""
        found = (1, 0)
        for line in self._windows:
            digit = exponent & (2**_BITS_PER_TABLE - 1)
            if digit:
                found = _product(found, line[digit], self.p)
            exponent >>= _BITS_PER_TABLE
        return found

    def hashed(self, tag: str, *values: Residue) -> int:
        """A pseudo-random residue that depends on `tag` and `values` only."""
        text = f"{tag}:{values!r}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=32, key=self._key).digest(), "big") % self.modulus

    def joined(self, value: Residue, others: int) -> Residue:
        """The residue with one value modulo p and another modulo q and r."""
        at_p, at_q, at_r = self.idempotents
        if isinstance(value, Extended):
            return Extended(value.a * at_p + others % self.q * at_q + others % self.r * at_r, value.b * at_p) % self.modulus
        return (value * at_p + others % self.q * at_q + others % self.r * at_r) % self.modulus

    def inverse(self, v: Residue) -> Residue:
        """The reciprocal; `OutsideDomain` for zero."""
        if isinstance(v, Extended):
            below = self.inverse((v.a * v.a + v.b * v.b) % self.modulus)
            return Extended(v.a, -v.b) * below % self.modulus
        try:
            return pow(v, -1, self.modulus)
        except ValueError:
            if v % self.p == 0:
                raise OutsideDomain from None
            return self.joined(pow(v, -1, self.p), self.hashed("inverse", v))

    def number(self, x: Fraction) -> int:
        """A rational number."""
        if x not in self._numbers:
            self._numbers[x] = x.numerator * pow(x.denominator, -1, self.modulus) % self.modulus
        return self._numbers[x]


def _product(u: Pair, v: Pair, p: int) -> Pair:
    return (u[0] * v[0] - u[1] * v[1]) % p, (u[0] * v[1] + u[1] * v[0]) % p


def _raised(u: Pair, exponent: int, p: int) -> Pair:
    found = (1, 0)
    while exponent:
        if exponent & 1:
            found = _product(found, u, p)
        u, exponent = _product(u, u, p), exponent >> 1
    return found


def _powers(base: Pair, order: int, p: int) -> list[list[Pair]]:
    """For each window of an exponent below `order`, the powers of `base` for all its digits."""
    windows = []
    for _ in range(order.bit_length() // _BITS_PER_TABLE + 1):
        line = [(1, 0)]
        for _ in range(2**_BITS_PER_TABLE - 1):
            line.append(_product(line[-1], base, p))
        windows.append(line)
        base = _product(line[-1], base, p)
    return windows
