"""Formulas in running text: words in the notation, with names of the system, are typeset as formulas.

A word is part of a formula if it consists of signs of the notation and all its names are names of the system, functions or single
letters; a formula has at least one name of the system. A name that may be an English word, such as `a` or `rear`, is not typeset alone,
unless it is a letter before punctuation, where no article can be. Text between backquotes is code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from html import escape
from typing import NamedTuple

from chetaev.core.display.html import set_formula
from chetaev.core.errors import ChetaevError
from chetaev.core.functions import DECLARABLE, FUNCTIONS
from chetaev.core.support.letters import symbol_latex
from chetaev.report.html_text import set_relation

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SIGNS = re.compile(r"[A-Za-z0-9_'()*/^+\-.]+")
_RELATIONS = ("!=", ">", "<")
_BETWEEN = ("=", "+", "-", "*", "/", *_RELATIONS)
_WORDS = frozenset(("a", "A", "I"))
_TAIL = ".,;:"
_FUNCTIONS = FUNCTIONS.keys() - DECLARABLE
"""Functions whose names cannot be declared as names of a system."""
_CODE = re.compile(r"`([^`]+)`")


class Setter(NamedTuple):
    """The functions that typeset formulas in running text."""

    formula: Callable[[str], str]
    """Typesets an expression or a row of the notation."""
    relation: Callable[[str, str], str]
    """Typesets a relation that is not in the notation, such as `!=`, and the expression after it."""


HTML = Setter(set_formula, set_relation)


def prose(text: str, names: Collection[str]) -> str:
    """Return the paragraphs of `text`, which blank lines separate, as HTML."""
    known = {*names, *_FUNCTIONS, "t", "pi"}
    parts = [_paragraph(part.split(), known) for part in text.split("\n\n") if part.strip()]
    return "".join(f"<p>{part}</p>" for part in parts)


def line(text: str, names: Collection[str], setter: Setter = HTML) -> str:
    """Return a single line as HTML, with formulas typeset by `setter`."""
    return _paragraph(text.split(), {*names, *_FUNCTIONS, "t", "pi"}, setter)


def _paragraph(words: list[str], known: set[str], setter: Setter = HTML) -> str:
    found: list[str] = []
    at = 0
    while at < len(words):
        stop = _run(words, at, known)
        made = _formula(words[at:stop], known, setter) if stop > at else None
        if made is None:
            found.append(_CODE.sub(r"<code>\1</code>", escape(words[at], quote=False)))
            at += 1
        else:
            found.append(made)
            at = stop
    return " ".join(found)


def _run(words: list[str], at: int, known: set[str]) -> int:
    """Return the end of the longest formula that begins at word `at`: operands with signs between them, every bracket closed.

    Inside brackets a formula continues after a comma: `(x', y')`. Elsewhere punctuation ends it.
    """
    stop, good, depth = at, at, 0
    while stop < len(words):
        word = words[stop]
        bare = word.rstrip(_TAIL)
        if not _operand(bare, known):
            return good
        depth += bare.count("(") - bare.count(")")
        stop += 1
        if depth == 0:
            good = stop
        if bare != word:
            if depth <= 0 or word[len(bare) :] != ",":
                return good
        elif stop < len(words) and words[stop] in _BETWEEN:
            stop += 1
        else:
            return good
    return good


def _operand(word: str, known: set[str]) -> bool:
    """Tell whether a word can be part of a formula: signs of the notation, known names and single letters, at least one name or digit."""
    names = _NAME.findall(word)
    named = all(name in known or len(name) == 1 for name in names)
    return bool(_SIGNS.fullmatch(word)) and named and bool(names or re.search(r"\d", word))


def _english(word: str) -> bool:
    """Tell whether a name may be an English word."""
    return word in _WORDS or (len(word) > 1 and word.isalpha() and symbol_latex(word).startswith(r"\mathrm"))


def _symbol(word: str, tail: str) -> bool:
    """Tell whether a letter that may be an article is a symbol, because punctuation follows."""
    return word in _WORDS and bool(tail)


def _enclosed(text: str) -> bool:
    """Tell whether one pair of brackets encloses the whole text, so that it may belong to the sentence."""
    depth = 0
    for k, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return k == len(text) - 1 and text[0] == "("
    return False


def _formula(words: list[str], known: set[str], setter: Setter) -> str | None:
    """Typeset words as a formula; None if they have no name of the system or cannot be read."""
    text = " ".join(words)
    bare = text.rstrip(_TAIL)
    tail = text[len(bare) :]
    if not any(name in known and name not in _FUNCTIONS for name in _NAME.findall(bare)) or (_english(bare) and not _symbol(bare, tail)):
        return None
    relation = next((sign for sign in _RELATIONS if f" {sign} " in bare), None)
    try:
        if relation is None:
            opening, closing = ("(", ")") if _enclosed(bare) and "," not in bare else ("", "")
            return f"{opening}{setter.formula(bare)}{closing}{escape(tail)}"
        left, right = bare.split(f" {relation} ", 1)
        return setter.formula(left) + " " + setter.relation(relation, right) + escape(tail)
    except ChetaevError:
        return None
