"""The spelling of names in ASCII and in LaTeX: Greek letters, indices, dots."""

from __future__ import annotations

import re
from html import escape

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
"""Largest k in `D(e, k)`, and largest number of primes in a text: derivatives of expressions grow quickly with the order. The names of
higher jets nest two `D`."""
LONGEST_NAME = 100
"""Letters of the longest name of a coordinate, parameter, input, function or group; messages and pictures repeat names."""
NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{,{LONGEST_NAME - 1}}}")
"""A name that a system or a function can declare, in its ASCII spelling."""

LATEX_LETTERS = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega "
    "varepsilon vartheta varpi varrho varsigma varphi Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)
"""Names for which LaTeX has a letter; it has none for omicron and for capitals that look like Latin ones."""
_INDEXED = re.compile(r"([A-Za-z]+?)(\d+)$")
"""A name with a number, such as `x1`, which becomes an index."""
_ABBREVIATED = re.compile(r"([A-Za-z])([A-Z][A-Za-z]*)$")
"""A letter with a capitalised word, such as `mB`, which becomes an index."""

_LETTERS = {name: letter for letter, name in GREEK.items()}
"""Greek letters by their names."""
_VARIANTS = {"epsilon": "ϵ", "phi": "ϕ", "vartheta": "ϑ", "varpi": "ϖ", "varrho": "ϱ", "varsigma": "ς"}
"""Letters that differ from those of `_LETTERS`, by their LaTeX commands: its epsilon and phi are the other forms of the letters."""


def spell(name: str) -> str:
    """A name in ASCII: `θ1` becomes `theta1`."""
    return name if name.isascii() else "".join(GREEK.get(c, c) for c in name)


def symbol_latex(name: str, primes: int = 0) -> str:
    r"""A name as a symbol, with dots.

    >>> symbol_latex("x1", 2), symbol_latex("theta"), symbol_latex("p_phi"), symbol_latex("rear"), symbol_latex("mB")
    ('\\ddot{x}_{1}', '\\theta', 'p_{\\phi}', '\\mathrm{rear}', 'm_{B}')
    """
    head, index, nested = _split(spell(name))
    base = _letters(head)
    if primes > MOST_PRIMES:
        base = f"{base}^{{({primes})}}"
    elif primes:
        base = rf"\{'d' * primes}ot{{{base}}}"
    if not index:
        return base
    below = symbol_latex(index) if nested else index if _plain(index) else rf"\mathrm{{{index}}}"
    return f"{base}_{{{below}}}"


def symbol_mathml(name: str, primes: int = 0) -> tuple[str, str]:
    """A name with dots and its index, each as one element of MathML; the index is empty if there is none.

    >>> symbol_mathml("x1", 2)
    ('<mover><mi>x</mi><mo lspace="0" rspace="0">..</mo></mover>', '<mn>1</mn>')
    """
    head, index, nested = _split(spell(name))
    base = _element(head)
    if primes > MOST_PRIMES:
        base = f"<msup>{base}<mrow><mo>(</mo><mn>{primes}</mn><mo>)</mo></mrow></msup>"
    elif primes:
        # full stops instead of an accent, because accents overlap the letters in some fonts
        base = f'<mover>{base}<mo lspace="0" rspace="0">{"." * primes}</mo></mover>'
    if not nested:
        return base, index and _element(index, greek=False)
    inner, below = symbol_mathml(index)
    return base, f"<msub>{inner}{below}</msub>" if below else inner


def _element(text: str, greek: bool = True) -> str:
    """Letters or digits as an element; MathML sets single letters in italics, several upright."""
    if text.isdigit():
        return f"<mn>{text}</mn>"
    if not greek or text not in LATEX_LETTERS:
        return f"<mi>{escape(text)}</mi>"
    letter = _VARIANTS.get(text) or _LETTERS[text.removeprefix("var")]
    return f'<mi mathvariant="normal">{letter}</mi>' if text[0].isupper() else f"<mi>{letter}</mi>"


def _split(name: str) -> tuple[str, str, bool]:
    """The letters of a name, its index, and whether the index is a name of its own, with an index perhaps."""
    head, _, tail = name.replace(".", "_").partition("_")  # A.w is a number of the rotation A
    if tail and head:
        return head, tail, True
    found = _INDEXED.fullmatch(name)
    short = _ABBREVIATED.fullmatch(name) if name not in LATEX_LETTERS else None
    return (found[1], found[2], False) if found else (short[1], short[2], False) if short else (name, "", False)


def _plain(text: str) -> bool:
    return len(text) <= 1 or text.isdigit()


def _letters(text: str) -> str:
    if text in LATEX_LETTERS:
        return f"\\{text}"
    return text if _plain(text) else rf"\mathrm{{{text}}}".replace("_", r"\_")
