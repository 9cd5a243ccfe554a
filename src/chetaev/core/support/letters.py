"""The spelling of names in ASCII and in LaTeX: Greek letters, indices, dots."""

from __future__ import annotations

import re

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi omega"
).split()
"""English names of the Greek letters, in their order."""
_SMALL = [chr(c) for c in range(0x3B1, 0x3CA) if c != 0x3C2]
"""The small Greek letters in the same order, without the final sigma."""
GREEK = dict(zip(_SMALL, _GREEK, strict=True)) | {s.upper(): name.capitalize() for s, name in zip(_SMALL, _GREEK, strict=True)}
"""The ASCII spelling of each Greek letter."""

MOST_PRIMES = 3
"""Derivatives up to this order are written with primes and dots, higher ones as `D(x, 4)`."""
HIGHEST_DERIVATIVE = 20
"""Largest k in `D(e, k)`, and largest number of primes in a text: derivatives of expressions grow quickly with the order. Names of higher
jets nest two."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""A name that a system or a function can declare, in its ASCII spelling."""

_COMMANDS = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega "
    "varepsilon vartheta varpi varrho varsigma varphi Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)
"""Names for which LaTeX has a letter; it has none for omicron and for capitals that look like Latin ones."""
_INDEXED = re.compile(r"([A-Za-z]+?)(\d+)$")
"""A name with a number, such as `x1`, which becomes an index."""
_ABBREVIATED = re.compile(r"([A-Za-z])([A-Z][A-Za-z]*)$")
"""A letter with a capitalised word, such as `mB`, which becomes an index."""


def spell(name: str) -> str:
    """A name in ASCII: `θ1` becomes `theta1`."""
    return name if name.isascii() else "".join(GREEK.get(c, c) for c in name)


def symbol_latex(name: str, primes: int = 0) -> str:
    r"""A name as a symbol, with dots.

    >>> symbol_latex("x1", 2), symbol_latex("theta"), symbol_latex("p_phi"), symbol_latex("rear"), symbol_latex("mB")
    ('\\ddot{x}_{1}', '\\theta', 'p_{\\phi}', '\\mathrm{rear}', 'm_{B}')
    """
    base, index = _parts(spell(name))
    if primes > MOST_PRIMES:
        base = f"{base}^{{({primes})}}"
    elif primes:
        base = rf"\{'d' * primes}ot{{{base}}}"
    return f"{base}_{{{index}}}" if index else base


def _parts(name: str) -> tuple[str, str]:
    head, _, tail = name.replace(".", "_").partition("_")  # A.w is a number of the rotation A
    if tail and head:
        return _letters(head), symbol_latex(tail)
    found = _INDEXED.fullmatch(name)
    if found:
        return _letters(found[1]), found[2]
    short = _ABBREVIATED.fullmatch(name)
    if short and name not in _COMMANDS:
        return short[1], short[2] if len(short[2]) == 1 else rf"\mathrm{{{short[2]}}}"
    return _letters(name), ""


def _letters(text: str) -> str:
    if text in _COMMANDS:
        return f"\\{text}"
    return text if len(text) <= 1 or text.isdigit() else rf"\mathrm{{{text}}}".replace("_", r"\_")
