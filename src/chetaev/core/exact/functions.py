"""The functions of the notation at one point of the field.

The addition theorems of exp, sine and cosine hold, and roots are multiplicative. Of log, asin, atan, ... the field knows only that they
invert exp, sin, tan: their value is a random residue of the argument, entered in the tables of exp and of the circle. Logarithms and angles
of rational numbers are sums of those of primes (`numbers`). sign is a
random odd residue of its argument, and abs, min, max and step follow from it, so that zero means zero for every configuration of signs.
Inside the argument of another function (modulo q and r) exp and the circle are random too, so identities between them are not recognised
there.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import gcd

from chetaev.core.exact.field import Extended, Field, OutsideDomain, Residue
from chetaev.core.exact.numbers import angle, logarithm, tangent_of
from chetaev.core.functions import SMOOTH


class FieldFunctions:
    """Functions at one point; tables relate inverse functions to the functions that they invert.

    `extended` gives every element of the prime field a root, in the field of the numbers a + bi. `twisted` gives every root a random sign:
    an expression that vanishes then vanishes on all branches.
    """

    def __init__(self, field: Field, extended: bool = False, twisted: bool = False) -> None:
        self.field, self.extended, self.twisted = field, extended, twisted
        self._exponentials: dict[Residue, Residue] = {}
        """exp, by its argument modulo q."""
        self._logarithms: dict[Residue, Residue] = {}
        """Arguments of exp, by its value modulo p."""
        self._circles: dict[Residue, tuple[Residue, Residue]] = {}
        """Cosine and sine, by their argument modulo r."""
        self._inverted = False

    # -- exponentials

    def exp(self, u: Residue) -> Residue:
        field = self.field
        if isinstance(u, Extended):
            return field.hashed("exp", u)
        key = u % field.q
        if key not in self._exponentials:
            known = self._from_known(key) if self._inverted else None
            self._exponentials[key] = (
                field.joined(pow(field.base, key, field.p), field.hashed("exp", u % field.p)) if known is None else known
            )
            self._logarithms.setdefault(self._exponentials[key] % field.p, u)
        return self._exponentials[key]

    def _from_known(self, key: int) -> Residue | None:
        """Exp at `key` from its value at -key, 2*key or key/2, which a logarithm defined: exp(-log(u)), exp(log(u)/2), exp(2*log(u))."""
        field, known = self.field, self._exponentials
        if -key % field.q in known:
            return field.inverse(known[-key % field.q])
        if 2 * key % field.q in known:
            return self.sqrt(known[2 * key % field.q])
        half = key * (field.q // 2 + 1) % field.q
        return known[half] * known[half] % field.modulus if half in known else None

    def _inverse_of_exp(self, tag: str, u: Residue, exponential: Residue) -> Residue:
        """The value of an inverse function at u, whose exp is given."""
        field = self.field
        self._inverted = True
        known = self._logarithms.get(exponential % field.p)
        if known is None:
            known = field.hashed(tag, u % field.p)
            self._exponentials[known % field.q] = exponential
            self._logarithms[exponential % field.p] = known
        return known

    def log(self, u: Residue) -> Residue:
        if u % self.field.p == 0:
            raise OutsideDomain
        return self._inverse_of_exp("log", u, u)

    def asinh(self, u: Residue) -> Residue:
        return self._inverse_of_exp("asinh", u, (u + self.sqrt((u * u + 1) % self.field.modulus)) % self.field.modulus)

    def acosh(self, u: Residue) -> Residue:
        return self._inverse_of_exp("acosh", u, (u + self.sqrt((u * u - 1) % self.field.modulus)) % self.field.modulus)

    def atanh(self, u: Residue) -> Residue:
        ratio = (1 + u) * self.field.inverse((1 - u) % self.field.modulus) % self.field.modulus
        return self._inverse_of_exp("atanh", u, self.sqrt(ratio))

    def cosh(self, u: Residue) -> Residue:
        e = self.exp(u)
        return (e + self.field.inverse(e)) * self.field.half % self.field.modulus

    def sinh(self, u: Residue) -> Residue:
        e = self.exp(u)
        return (e - self.field.inverse(e)) * self.field.half % self.field.modulus

    def tanh(self, u: Residue) -> Residue:
        e = self.exp(u)
        square = e * e % self.field.modulus
        return (square - 1) * self.field.inverse((square + 1) % self.field.modulus) % self.field.modulus

    # -- the circle

    def _circle(self, u: Residue) -> tuple[Residue, Residue]:
        field = self.field
        if isinstance(u, Extended):
            return self._random_circle(u)
        key = u % field.r
        if key not in self._circles:
            if -key % field.r in self._circles:
                c, s = self._circles[-key % field.r]
                self._circles[key] = c, -s % field.modulus
            else:
                (c, s), (c2, s2) = field.circle(key), self._random_circle(u % field.p)
                self._circles[key] = field.joined(c, c2), field.joined(s, s2)
        return self._circles[key]

    def _random_circle(self, u: Residue) -> tuple[int, int]:
        """A pseudo-random point of the circle modulo N that depends on `u` only."""
        n, slope = self.field.modulus, self.field.hashed("circle", u)
        below = self.field.inverse((1 + slope * slope) % n)
        if isinstance(below, Extended):
            raise OutsideDomain
        return (1 - slope * slope) * below % n, 2 * slope * below % n

    def cos(self, u: Residue) -> Residue:
        return self._circle(u)[0]

    def sin(self, u: Residue) -> Residue:
        return self._circle(u)[1]

    def tan(self, u: Residue) -> Residue:
        c, s = self._circle(u)
        return s * self.field.inverse(c) % self.field.modulus

    def _inverse_of_circle(self, tag: str, arguments: tuple[Residue, ...], c: Residue, s: Residue) -> Residue:
        angle = self.field.hashed(tag, *arguments)
        self._circles.setdefault(angle % self.field.r, (c, s))
        return angle

    def asin(self, u: Residue) -> Residue:
        return self._inverse_of_circle("asin", (u % self.field.p,), self.sqrt((1 - u * u) % self.field.modulus), u)

    def acos(self, u: Residue) -> Residue:
        return self._inverse_of_circle("acos", (u % self.field.p,), u, self.sqrt((1 - u * u) % self.field.modulus))

    def atan(self, u: Residue) -> Residue:
        c = self.field.inverse(self.sqrt((1 + u * u) % self.field.modulus))
        return self._inverse_of_circle("atan", (u % self.field.p,), c, u * c % self.field.modulus)

    def atan2(self, y: Residue, x: Residue) -> Residue:
        n, p = self.field.modulus, self.field.p
        if y % p == 0 and x % p == 0:
            raise OutsideDomain
        below = self.field.inverse(self.sqrt((x * x + y * y) % n))
        c, s = x * below % n, y * below % n
        return self._inverse_of_circle("atan2", (c % p, s % p), c, s)

    # -- logarithms and angles of numbers

    def of_number(self, name: str, u: Residue, number: Fraction) -> Residue:
        """log, atan, asin or acos of a rational number u, by those of primes where it can be factored."""
        if name == "log":
            return self._log_of(u, number)
        if name == "acos":
            return (self._turn(Fraction(1, 2)) - self.of_number("asin", u, number)) % self.field.modulus
        tangent = tangent_of(name, number)
        parts = None if tangent is None else angle(tangent)
        if parts is None or tangent is None:
            return TABLE[name](self, u)
        found = self._turn(Fraction(parts[1], 4))
        for prime, k in parts[0].items():
            found = (found + k * self.atan(self.field.number(prime))) % self.field.modulus
        t = self.field.number(tangent)
        c = self.field.inverse(self.sqrt((1 + t * t) % self.field.modulus))
        if not isinstance(found, Extended):
            self._circles.setdefault(found % self.field.r, (c, t * c % self.field.modulus))
        return found

    def _log_of(self, u: Residue, number: Fraction) -> Residue:
        primes = logarithm(number)
        if primes is None:
            return self.log(u)
        found: Residue = 0
        for p, k in primes.items():
            found = (found + k * self.log(self.field.number(Fraction(p)))) % self.field.modulus
        if not isinstance(found, Extended):
            self._exponentials.setdefault(found % self.field.q, u)
        self._logarithms.setdefault(u % self.field.p, found)
        return found

    def _turn(self, part: Fraction) -> Residue:
        """A multiple of pi."""
        return self.field.hashed("pi") * self.field.number(part) % self.field.modulus

    # -- roots and powers

    def sqrt(self, u: Residue) -> Residue:
        root = self._root(u)
        turned = self.twisted and self.field.hashed("twist", u % self.field.p) & 1
        return -root % self.field.modulus if turned else root

    def _root(self, u: Residue) -> Residue:
        field = self.field
        at_p, at_q, at_r = field.idempotents
        if isinstance(u, Extended):
            return self._extended_root(u)
        root = pow(u % field.p, (field.p + 1) // 4, field.p)
        square = (root * root - u) % field.p == 0
        if not (square or self.extended):
            raise OutsideDomain
        others = pow(u % field.q, (field.q + 1) // 4, field.q) * at_q + pow(u % field.r, (field.r + 1) // 4, field.r) * at_r
        if square:
            return (root * at_p + others) % field.modulus
        return Extended(others % field.modulus, root * at_p % field.modulus)  # -u is a square

    def _extended_root(self, u: Extended) -> Residue:
        """A root in F_p(i), if there is one."""
        p, at_p = self.field.p, self.field.idempotents[0]
        a, b = u.a % p, u.b % p
        norm = (a * a + b * b) % p
        size = pow(norm, (p + 1) // 4, p)
        if (size * size - norm) % p == 0:
            for s in (size, -size):
                square = (a + s) * pow(2, -1, p) % p
                x = pow(square, (p + 1) // 4, p)
                if x and (x * x - square) % p == 0:
                    return Extended(x * at_p % self.field.modulus, b * pow(2 * x, -1, p) * at_p % self.field.modulus)
        raise OutsideDomain

    def power(self, u: Residue, exponent: Fraction) -> Residue:
        """A power with a rational exponent."""
        field, k, root = self.field, exponent.numerator, exponent.denominator
        while root % 2 == 0:
            u, root = self.sqrt(u), root // 2
        if k < 0:
            u, k = field.inverse(u), -k
        if root > 1:
            u = self._odd_root(u, root)
        found: Residue = 1
        while k:
            if k & 1:
                found = found * u % field.modulus
            u, k = u * u % field.modulus, k >> 1
        return found

    def _odd_root(self, u: Residue, root: int) -> Residue:
        field = self.field
        primes = (field.p, field.q, field.r)
        if isinstance(u, Extended) or any(gcd(root, m - 1) > 1 for m in primes):
            return field.hashed(f"root {root}", u % field.p)
        return sum(pow(u % m, pow(root, -1, m - 1), m) * e for m, e in zip(primes, field.idempotents, strict=True)) % field.modulus

    def pow(self, u: Residue, w: Residue) -> Residue:
        """exp(w log(u))."""
        return self.exp(w * self.log(u) % self.field.modulus)

    # -- corners

    def sign(self, u: Residue) -> Residue:
        return self._odd("sign", u)

    def _by_name(self, name: str, u: Residue) -> Residue:
        """A random residue of the argument, for a function without relations to others except that it may be odd."""
        return self._odd(name, u) if SMOOTH[name].odd else self.field.hashed(name, u % self.field.p)

    def _odd(self, tag: str, u: Residue) -> Residue:
        """A random residue of the argument that changes its sign with it."""
        field = self.field
        v = u % field.p
        if v == 0:
            return 0
        if isinstance(v, Extended):
            return field.hashed(tag, v)
        return field.hashed(tag, v) if 2 * v < field.p else -field.hashed(tag, field.p - v) % field.modulus

    def step(self, u: Residue) -> Residue:
        return (1 + self.sign(u)) * self.field.half % self.field.modulus

    def magnitude(self, u: Residue) -> Residue:
        return u * self.sign(u) % self.field.modulus

    def larger(self, a: Residue, b: Residue) -> Residue:
        return (a + b + self.magnitude((a - b) % self.field.modulus)) * self.field.half % self.field.modulus

    def smaller(self, a: Residue, b: Residue) -> Residue:
        return (a + b - self.magnitude((a - b) % self.field.modulus)) * self.field.half % self.field.modulus

    def less(self, a: Residue, b: Residue) -> Residue:
        return self.step((b - a) % self.field.modulus)

    def equal(self, a: Residue, b: Residue) -> Residue:
        return int((a - b) % self.field.p == 0)


_NAMES = "exp log sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sqrt sign step pow less equal"
"""Operations that have the same name in a program and as methods of `FieldFunctions`."""


def _of_one(name: str, functions: FieldFunctions, u: Residue) -> Residue:
    return functions._by_name(name, u)


TABLE: dict[str, Callable[..., Residue]] = {
    **{name: getattr(FieldFunctions, name) for name in _NAMES.split()},
    **{name: partial(_of_one, name) for name, function in SMOOTH.items() if function.slope},
    "abs": FieldFunctions.magnitude,
    "min": FieldFunctions.smaller,
    "max": FieldFunctions.larger,
}
"""The functions by name; the first argument is the `FieldFunctions` of a point."""
