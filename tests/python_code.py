"""Python code in the text of a message, which a reader on the command line or of a model file cannot use."""

from __future__ import annotations

import re

from chetaev.core.functions import FUNCTIONS

_KEYWORD = re.compile(r"(?<![\w.'\[-])(?!CHETAEV_)[A-Za-z_]+=(?=[\"'\w(\[{.-])")
"""`t=(0, 10)`; model files and the notation write blanks around the sign."""
_LIBRARY = re.compile(r"(?<![\w.])ch\.\w")
_MAPPING = re.compile(r"\{[\"']\w+[\"']: |\{\.\.\.")
_CALL = re.compile(r"(?<![\w.'δ])([A-Za-z_][\w.]*)\((?!s\))")
_OPTION = re.compile(r"--?[a-z][\w-]* (?:\"[^\"]*\"|'[^']*'|\S+)")
_SAID = re.compile(r"in Python, .*")
_WORDS = frozenset((*FUNCTIONS, "D", "d", "det", "f", "R", "herglotz", "mixed"))
"""Names before a bracket that belong to the notation, to mathematics, or to the words for principles."""


def python_code_in(text: str) -> bool:
    """Whether a text contains Python code that is not announced as such; options of the command line do not count."""
    plain = _SAID.sub("", _OPTION.sub("", text))
    if _KEYWORD.search(plain) or _LIBRARY.search(plain) or _MAPPING.search(plain):
        return True
    return any(found[1] not in _WORDS for found in _CALL.finditer(plain))
