"""Names and numbers as text of a picture: `theta1'` becomes θ₁′."""

from __future__ import annotations

import re
from math import ceil, log10

from chetaev.core.support.letters import GREEK, LATEX_LETTERS

_LETTERS = {name: letter for letter, name in GREEK.items() if name in LATEX_LETTERS or name == "omicron"} | {"varphi": "φ", "phi": "ϕ"}
"""Greek letters by their names, without capitals that look like Latin ones."""
_LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def pretty(text: str) -> str:
    """Return an expression with Greek letters, subscripts and primes."""
    return re.sub(r"([A-Za-z]+)_?(\d*)('*)", _word, text).replace("*", "\u2009").replace(" - ", " \u2212 ")


def number(value: float, digits: int = 3) -> str:
    """Return a number in `digits` digits, with a typographic minus sign."""
    text = f"{value:.{digits}g}"
    return "0" if float(text) == 0 else text.replace("-", "\u2212").replace("e+0", "e").replace("e\u22120", "e\u2212")


def time_digits(span: float) -> int:
    """Return the decimals of a time label: enough for about a thousand different labels over `span`."""
    return min(12, max(0, 3 - ceil(log10(span)))) if span > 0 else 2


def _word(found: re.Match[str]) -> str:
    name, index, primes = found.groups()
    return _LETTERS.get(name, name) + index.translate(_LOW) + "′" * len(primes)
