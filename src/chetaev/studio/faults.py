"""Errors as the page receives them: kind, message, place in the text, and fixes. No traceback and no path of this machine."""

from __future__ import annotations

import re
from typing import Any

from chetaev.core.errors import ChetaevError, NotationError
from chetaev.core.fixes import ChooseBranch, ChooseGauge, Fix, Guess, SetInitial, SetInput, SetParameter, UsePrinciple
from chetaev.core.notation.vocabulary import UNKNOWN
from chetaev.core.support.registry import words_of
from chetaev.core.support.text import visible
from chetaev.io.writing import in_the_file
from chetaev.studio.positions import Span, span_of

_NAME = re.compile(r"[^\W\d]\w*")
"""A name as a table of a model file can have it without quotes."""
_MEANT = re.compile(r"Did you mean (\S+)\?")
_LONGEST_MESSAGE = 2000
"""Characters of a message; a message quotes texts of the user, which may be long."""

_NOWHERE = Span(1, 1, 1)
"""The place of an error that lies nowhere in the text."""


def refusal(fault: ChetaevError, text: str) -> dict[str, Any]:
    """Return the answer to a request whose model raised an error that the user can correct."""
    fault.voice = in_the_file
    span = span_of(fault, text)
    words = "  ".join(part for part in (fault.what, fault.why) if part)
    fixes = [_fix(fix) for fix in fault.fixes]
    meant = _MEANT.search(f"{words} {fault.hint}")
    if meant and isinstance(fault, NotationError) and fault.text:
        fixes.insert(0, {"text": f"replace by {visible(meant[1])}", "kind": "Replace", "replacement": visible(meant[1])})
    strange = _undeclared(fault)
    if strange:
        fixes.append({"text": f"declare {strange} as a parameter", "kind": "Declare", "parameter": strange})
    return failed(type(fault).__name__, words, span, fixes, hint=fault.hint, where=_place(fault))


def _undeclared(fault: ChetaevError) -> str:
    """Return a name that nothing declares and that could be a parameter; one with a prime is that of a coordinate."""
    if not isinstance(fault, NotationError) or not fault.what.startswith(UNKNOWN):
        return ""
    first, last = fault.span
    name = fault.text[first:last]
    return name if _NAME.fullmatch(name) and not fault.text[last:].lstrip().startswith(("'", "(")) else ""


def failed(
    kind: str, message: str, span: Span = _NOWHERE, fixes: list[dict[str, Any]] | None = None, *, hint: str = "", where: str = ""
) -> dict[str, Any]:
    """Return an answer with one error."""
    error = {"kind": kind, "message": _short(message), "hint": _short(hint), "where": _short(where), **span._asdict(), "fixes": fixes or []}
    return {"ok": False, "errors": [error]}


def own_fault(fault: BaseException) -> dict[str, Any]:
    """Return the answer after an error in chetaev itself: its kind only, since its text may hold paths."""
    what = (
        f"chetaev itself failed ({type(fault).__name__}). This is a fault of chetaev, not of your model; please report it with the model."
    )
    return failed("InternalError", what)


def _fix(fix: Fix) -> dict[str, Any]:
    """Return a fix as data that a page can act on."""
    found: dict[str, Any] = {"kind": type(fix).__name__, "text": _short(in_the_file(fix))}
    match fix:
        case SetParameter(names) | SetInput(names) | SetInitial(names) | Guess(names):
            found["names"] = list(names)
        case UsePrinciple(principle):
            found["principle"] = words_of(principle)
        case ChooseBranch(number):
            found["branch"] = number
        case ChooseGauge(functions):
            found["names"] = [name for name, _ in functions]
    return found


def _place(fault: ChetaevError) -> str:
    """Return the place as the error names it, without the name of the text and the line, which the page shows itself."""
    parts = [part for part in str(fault.where).split(", ") if part != "the model" and not part.startswith("line ")]
    return ", ".join(parts)


def _short(text: str) -> str:
    return visible(text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]} ...")
