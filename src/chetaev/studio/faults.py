"""Errors as the page receives them: kind, message, place in the text, and fixes. No traceback and no path of this machine."""

from __future__ import annotations

from typing import Any

from chetaev.core.errors import ChetaevError, NotationError
from chetaev.core.fixes import ChooseBranch, ChooseGauge, Fix, Guess, LeaveOut, Replace, SetInitial, SetInput, SetParameter, UsePrinciple
from chetaev.core.support.registry import words_of
from chetaev.core.support.text import visible
from chetaev.io.fixes import in_the_file
from chetaev.io.spans import Span, span_of, span_to_replace

_LONGEST_MESSAGE = 2000
"""Characters of a message; a message quotes texts of the user, which may be long."""

_NOWHERE = Span(1, 1, 1)
"""The place of an error that lies nowhere in the text."""


def refusal(fault: ChetaevError, text: str) -> dict[str, Any]:
    """Return the answer to a request whose model raised an error that the user can correct."""
    fault.voice = in_the_file
    span = span_of(fault, text)
    words = "  ".join(part for part in (fault.what, fault.why) if part)
    in_a_formula = isinstance(fault, NotationError) and bool(fault.text)
    exact = in_a_formula or span_to_replace(fault, text) is not None  # the span has exactly the characters to replace
    fixes = [_fix(fix) for fix in fault.fixes if exact or not isinstance(fix, Replace)]
    if isinstance(fault, NotationError) and fault.undeclared and _may_be_parameter(fault):
        name = visible(fault.undeclared)
        fixes.append({"text": f"declare {name} as a parameter", "kind": "Declare", "parameter": name})
    return failed(type(fault).__name__, words, span, fixes, hint=fault.hint, where=fault.place.inner)


def _may_be_parameter(fault: NotationError) -> bool:
    """Tell whether a parameter may stand at an unknown name: not in the value of a parameter, nor as what an initial value is given to."""
    if fault.place.part == "parameters":
        return False
    return fault.place.part != "initial" or "=" in fault.text[: fault.span[0]]


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
        case SetParameter(names) | SetInput(names) | SetInitial(names) | Guess(names) | LeaveOut(names):
            found["names"] = list(names)
        case Replace(name):
            found |= {"text": f"replace by {visible(name)}", "replacement": visible(name)}
        case UsePrinciple(principle):
            found["principle"] = words_of(principle)
        case ChooseBranch(number):
            found["branch"] = number
        case ChooseGauge(functions):
            found["names"] = [name for name, _ in functions]
    return found


def _short(text: str) -> str:
    return visible(text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]} ...")
