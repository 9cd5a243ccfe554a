"""Whether a divisor is known to be zero, as SymPy knows it, but without asking SymPy about long sums.

SymPy deduces signs and parities of every part before it answers, which takes milliseconds for the distance of two bodies. What it calls
zero is zero for all values of the symbols; so an expression that has another value at one point need not be asked about. A polynomial in
symbols with rational numbers is evaluated exactly, modulo a prime.
"""

from __future__ import annotations

from zlib import crc32

from sympy import Expr

_PRIME = 2**61 - 1
"""The modulus. A polynomial that vanishes modulo it by chance is left to SymPy, so its size affects time only."""


def known_to_vanish(e: Expr) -> bool:
    """Whether SymPy knows that `e` is zero."""
    while e.is_Pow and e.exp.is_Rational and e.exp.is_positive:  # a power vanishes where its base does
        e = e.base
    return not _residue(e) and bool(e.is_zero)


def _residue(e: Expr) -> int | None:
    """The value of a polynomial at a fixed point modulo the prime; None for other expressions."""
    if e.is_Symbol:
        return crc32(e.name.encode()) + 1
    if e.is_Rational:
        return int(e.p) * pow(int(e.q), -1, _PRIME) % _PRIME if e.q % _PRIME else None
    if e.is_Pow:
        base = _residue(e.base) if e.exp.is_Integer and e.exp.p > 0 else None
        return None if base is None else pow(base, int(e.exp), _PRIME)
    if not e.is_Add and not e.is_Mul:
        return None
    found = int(e.is_Mul)
    for part in e.args:
        value = _residue(part)
        if value is None:
            return None
        found = (found * value if e.is_Mul else found + value) % _PRIME
    return found
