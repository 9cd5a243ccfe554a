"""Export: the right-hand side of a model as a self-contained file, in Python with NumPy, as a CasADi graph, or in C.

problem        the linear system that gives accelerations and multipliers, as data, and its operations as plain nodes
spelling       the syntax of these operations in each language
program        tapes as formulas in a language, names, and the text at the head of a file
python_files   the files for NumPy and CasADi
c_file         the file for C
browser_problem  further formulas for a program that integrates the motion: slopes, energy, switching functions, events
javascript_file  the module for browsers and node, with web/integrator.js, web/switches.js and web/events.js
minified       scripts without comments and with short names, for pages
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chetaev.core.errors import UsageError
from chetaev.core.fixes import InPython
from chetaev.core.support.public import public
from chetaev.core.support.registry import chosen
from chetaev.export.browser_problem import browser_problem
from chetaev.export.c_file import c_file
from chetaev.export.javascript_file import javascript_file
from chetaev.export.problem import RightHandSide, right_hand_side
from chetaev.export.python_files import casadi_file, numpy_file


@public
@dataclass(frozen=True)
class Language:
    """A language that `code` writes: its `word`, and the function `write` that returns the text of a file.

    `write` takes a `RightHandSide` (`chetaev.export.problem`): names, numbers, and tapes of operations, which a table of spellings
    (`chetaev.export.spelling`) turns into lines. An operation without a spelling raises.
    """

    word: str
    write: Callable[[Any], str]
    source: Callable[[Any, Any, Any], Any] = right_hand_side
    """Makes the argument of `write` from a model, a branch and a gauge."""


LANGUAGES: dict[str, Language] = {}
"""Every language under its word."""


def register_language(language: Language) -> Language:
    """Make a language known to `code` and `--code`."""
    if not isinstance(language.word, str) or not language.word.isidentifier() or not language.word.islower():
        hint = InPython('Language("fortran", write)')
        raise UsageError(f"{language.word!r} is not a word of lowercase letters and digits.", where="register", hint=hint)
    known = LANGUAGES.get(language.word, language).write
    if (known.__module__, known.__qualname__) != (language.write.__module__, language.write.__qualname__):
        raise UsageError(f"{language.word} is the word of another language.", where="register", hint="another word")
    LANGUAGES[language.word] = language
    return language


for _word, _write in (("numpy", numpy_file), ("c", c_file), ("casadi", casadi_file)):
    register_language(Language(_word, _write))
register_language(Language("javascript", javascript_file, browser_problem))

__all__ = ["LANGUAGES", "Language", "RightHandSide", "code", "register_language"]


@public
def code(model: Any, language: str, *, branch: Any = None, gauge: Any = None) -> str:
    """Write the right-hand side of a model's equations as a program that runs without this library.

    The file has the model's parameters, a consistent start, and functions of time, state and parameters: `unknowns` returns accelerations
    and multipliers, `rhs` the rates of the state, `constraints` the residuals of the constraints. It solves the equations by an elimination
    with pivots, so it is correct wherever the motion is determined. Unlike `simulate`, it evaluates sign, abs, min and max without locating
    the times at which they switch.

    Args:
        model: A model with values and a start.
        language: `"numpy"`, `"c"`, `"casadi"`, `"javascript"`, or a registered language. The JavaScript module integrates motions, with
            projection, switches and events.
        branch: The manifold of the motion, as in `simulate`.
        gauge: Functions of time for free quantities, as in `simulate`.

    Returns:
        The text of the file.

    Raises:
        UsageError: If `language` is unknown, or `model` is not a model.

    >>> import chetaev as ch
    >>> text = code(ch.gallery("sleigh"), "numpy")
    >>> "def rhs(t, state, parameters=PARAMETERS):" in text and "import chetaev" not in text
    True
    """
    written = chosen(LANGUAGES, language, "language", "code")
    return written.write(written.source(model, branch, gauge))
