"""Minified scripts: without comments and spaces, and with short names.

Pages contain the scripts that draw and compute. Their sources have long names and comments for readers; a page needs neither.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, product
from string import ascii_letters

_TOKENS = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?P<note>//[^\n]*|/\*.*?\*/)|(?P<space>[ \t]+)""", re.DOTALL
)
"""String literals, comments and spaces of a script."""
_TIGHT = frozenset("{}()[],;:=<>?&|*!\n")
"""Characters beside which a script needs no space."""


def squeezed(text: str) -> str:
    """A script or style without comments and unnecessary spaces; string literals are not changed."""
    found: list[str] = []
    place = 0
    while place < len(text):
        token = _TOKENS.match(text, place)
        if token is None:
            if text[place] != "\n" or (found and found[-1] != "\n"):
                found.append(text[place])
            place += 1
            continue
        place = token.end()
        if token["text"]:
            found.append(token["text"])
        elif token["space"]:
            after = text[place : place + 1]
            if not (not found or found[-1][-1] in _TIGHT or after in _TIGHT or not after):
                found.append(" ")
    return "\n".join(_joined("".join(found).strip().split("\n")))


def _joined(lines: Sequence[str]) -> list[str]:
    """The lines with successive declarations of constants merged into one."""
    found: list[str] = []
    whole = False
    for line in lines:
        if line.startswith("const ") and whole:
            found[-1] = f"{found[-1][:-1]},"
            found.append(line[len("const ") :])
        else:
            found.append(line)
            whole = line.startswith("const ")
        whole = whole and line.endswith(";")
    return found


_WORDS = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<template>`(?:\\.|[^`\\])*`)|(?P<number>\d[\w.]*)|(?P<name>[A-Za-z_$][\w$]*)
    |(?P<sign>=>|\.\.\.|\?\.|[=!<>]==?|&&|\|\||\?\?|\S)|(?P<space>\s+)""",
    re.VERBOSE,
)
"""The words of a squeezed script."""
_INSIDE = re.compile(r"\$\{([^{}`]*)\}")
"""An expression in a template."""
_BLOCKS = frozenset([")", "=>", "else", "try", "finally", "do", ";", "{", "}", ""])
"""Tokens after which a brace opens a block. After any other it may open an object, whose names are properties."""
_KEPT = frozenset(["api", "data", "DATA"])
"""Names that tests use in a page; they are not replaced."""
_ALIASED, _OFTEN = ("Math", "Number", "Float64Array"), 10
"""Objects of the language that get a short name, and the number of occurrences above which that saves characters."""
_SHORTEST_REPLACED = 3
"""Number of letters of the shortest name that is replaced; new names have two."""
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def renamed(text: str) -> str:
    """A squeezed script with short names in place of those that it declares.

    A name is replaced everywhere or nowhere. It is kept if it occurs anywhere as a property, or as a name in an object or in a pattern of
    one, since strings or other scripts may use it; new names occur nowhere else in the script. Scopes are not distinguished: a script must
    not use a name of the browser that it also declares in another scope.
    """
    words = [(m.lastgroup or "", m[0]) for m in _WORDS.finditer(text)]
    seen, uses = _names(words)
    fresh = _fresh(set(uses))
    aliases = {name: next(fresh) for name in _ALIASED if uses[name] > _OFTEN and name not in seen}
    short = aliases | dict(zip(_by_use(seen, uses), fresh, strict=False))
    head = "const " + ",".join(f"{alias}={name}" for name, alias in aliases.items()) + ";\n" if aliases else ""
    found = [""]
    for (kind, word), (_, after) in zip(words, [*words[1:], ("", "")], strict=True):
        if kind == "name":
            found.append(short.get(word, word))
        elif word == " " and not _apart(found[-1][-1:], after[:1]):
            continue
        elif kind == "template":
            found.append(_INSIDE.sub(lambda m: "${" + _replaced(m[1], short) + "}", word))
        else:
            found.append(word)
    return head + "".join(found).removeprefix("export ").replace("\nexport ", "\n")


def _apart(before: str, after: str) -> bool:
    """Tell whether the space between two characters is necessary, because they would form a longer word, `--`, or a comment."""
    return all(c.isalnum() or c in "_$" for c in (before, after)) or all(c in "+-/" for c in (before, after))


def _replaced(text: str, short: dict[str, str]) -> str:
    return "".join(short.get(m[0], m[0]) if m.lastgroup == "name" else m[0] for m in _WORDS.finditer(text))


def _by_use(names: set[str], uses: Counter[str]) -> list[str]:
    """The names that can be replaced, those with the largest total length first."""
    able = [name for name in names if len(name) >= _SHORTEST_REPLACED and name not in _KEPT]
    return sorted(able, key=lambda name: (-uses[name] * len(name), name))


def _fresh(taken: set[str]) -> Iterator[str]:
    """Short names that are not `taken` and not reserved words of the language."""
    for length in count(2):
        for letters in product(ascii_letters, repeat=length):
            name = "".join(letters)
            if name not in taken and name not in ("as", "do", "if", "in", "is", "of", "for", "get", "let", "new", "set", "try", "var"):
                yield name


def _names(words: Sequence[tuple[str, str]]) -> tuple[set[str], Counter[str]]:
    """The names that a script declares and never uses as properties, and the number of occurrences of every name."""
    declared: set[str] = set()
    properties: set[str] = set()
    uses: Counter[str] = Counter()
    plain = [(kind, word) for kind, word in words if kind != "space"]
    for kind, word in plain:  # names in templates count as uses
        if kind == "template":
            inner = [m[0] for part in _INSIDE.finditer(word) for m in _WORDS.finditer(part[1]) if m.lastgroup == "name"]
            uses.update(inner)
            bare = _INSIDE.sub("", word)
            properties.update(re.findall(r"[A-Za-z_$][\w$]*", bare) if "${" in bare else ())
            properties.update(re.findall(r"\.\s*([A-Za-z_$][\w$]*)", "".join(m[1] for m in _INSIDE.finditer(word))))
    place: list[tuple[str, str, list[str]]] = []  # the open brackets: kind, the word before, and the names that begin entries in them
    before = ""
    for k, (kind, word) in enumerate(plain):
        after = plain[k + 1][1] if k + 1 < len(plain) else ""
        if kind == "name":
            uses[word] += 1
            inner_kind, opener, entries = place[-1] if place else ("{", "", [])
            if before in (".", "?.") or (inner_kind == "object" and before in ("{", ",")):
                properties.add(word)
            elif before in ("const", "let", "var", "function", "class") or (inner_kind == "{" and before == "," and after == "="):
                declared.add(word)
            elif before in ("(", "[", ",", "..."):
                entries.append(word)
                declared.update([word] if inner_kind == "[" and opener in ("const", "let") else [])
        elif word in _OPENING:
            bracket = word if word != "{" or before in _BLOCKS else "object"
            name_before = plain[k - 2][1] if k > 1 else ""
            place.append((bracket, "function" if name_before == "function" else before, []))
        elif word in _CLOSING and place:
            bracket, opener, entries = place.pop()
            if bracket == "(" and (after == "=>" or (after == "{" and opener in ("function", "catch"))):
                declared.update(entries)
            elif bracket == "(" and after == "{":
                declared.update(entries if opener not in ("if", "for", "while", "switch") else [])
        before = word
    return declared - properties, uses
