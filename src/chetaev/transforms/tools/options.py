"""Options of `chetaev transform`: each theorem declares its own, and the command line is made from them.

The options of a function that a user registers are its arguments after the first. Their forms follow from annotations and defaults: `order:
int`, `factor=2.0`, `along: Sequence[str]`, `exact=False`. If neither determines the form, `--factor 3` is a number, `--formula "F = x"` a
mapping, and anything else a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from inspect import Parameter, signature
from typing import Any

from chetaev.core.errors import UsageError

TAKEN = ("principle", "set", "simplify", "check", "help")
"""Options of every transformation, which no theorem may declare."""


class Form(Enum):
    """What the texts after an option are."""

    FORMULAS = "names with formulas, in as many options as there are names"
    TEXTS = "texts, one in each option"
    TEXT = "a text"
    INTEGER = "a whole number"
    NUMBER = "a number"
    TRUTH = "true or false"
    FLAG = "no text: the option alone says yes"
    ANY = "a number, true or false, names with formulas, or a text"


@dataclass(frozen=True)
class Option:
    """An option of the command line for one argument of a theorem."""

    argument: str
    form: Form = Form.TEXT
    metavar: str = "TEXT"
    """What stands for the value on the page of help."""
    help: str = ""
    """A sentence about it on that page."""
    example: str = ""
    """The option with a value, for messages."""
    needed: bool = False


FORMULA = Option(
    "formulas",
    Form.FORMULAS,
    '"OLD = ..."',
    "An old coordinate by new ones",
    '--formula "x = r*cos(phi)" --formula "y = r*sin(phi)"',
)
INVERSE = Option("inverse", Form.FORMULAS, '"NEW = ..."', "A new coordinate by old ones", '--inverse "r = sqrt(x^2 + y^2)"')
VELOCITY = Option("velocities", Form.FORMULAS, '"V = ..."', "A quasi-velocity", "--velocity \"v = x'*cos(theta) + y'*sin(theta)\"")
"""Options that several theorems have."""

_METAVARS = {
    Form.FORMULAS: '"NAME = ..."',
    Form.INTEGER: "N",
    Form.NUMBER: "NUMBER",
    Form.TRUTH: "true|false",
    Form.ANY: "VALUE",
}
_BY_ANNOTATION = {
    "bool": Form.TRUTH,
    "int": Form.INTEGER,
    "float": Form.NUMBER,
    "str": Form.TEXT,
    **dict.fromkeys(("Mapping", "dict", "Dict"), Form.FORMULAS),
    **dict.fromkeys(("Sequence", "Iterable", "list", "List", "tuple", "Tuple"), Form.TEXTS),
}
_BY_DEFAULT: tuple[tuple[type | Any, Form], ...] = (
    (bool, Form.TRUTH),
    (int | float, Form.NUMBER),
    (str, Form.TEXT),
    (Mapping, Form.FORMULAS),
    (list | tuple, Form.TEXTS),
)
_HEAD = re.compile(r"(?:(?:\w+\.)*Optional\[)?(?:\w+\.)*(\w+)")
"""The first name of an annotation that is a text."""


def options_of(verb: Callable[..., Any]) -> dict[str, Option]:
    """The options of a function for its arguments after the first, under their own names with hyphens."""
    found: dict[str, Option] = {}
    for p in list(signature(verb).parameters.values())[1:]:
        if p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            continue
        name = p.name.replace("_", "-")
        if p.kind is Parameter.POSITIONAL_ONLY or name in TAKEN:
            taken = f"--{name} is an option of every transformation.", "another name for the argument"
            unnamed = "An option gives its argument by name.", f"def {verb.__name__}(source, *, {p.name})"
            why, hint = taken if name in TAKEN else unnamed
            raise UsageError(f"the argument {p.name} of {verb.__name__} cannot be an option.", where="register", why=why, hint=hint)
        form = _form(p)
        found[name] = Option(p.name, form, _METAVARS.get(form, "TEXT"), needed=p.default is Parameter.empty)
    return found


def _form(p: Parameter) -> Form:
    """The form of the texts for an argument, from its annotation or its default."""
    if p.default is False:
        return Form.FLAG
    if p.annotation is not Parameter.empty:
        text = p.annotation.__name__ if isinstance(p.annotation, type) else str(p.annotation)
        head = _HEAD.match(text)
        return _BY_ANNOTATION.get(head[1] if head else "", Form.ANY)
    return next((form for kind, form in _BY_DEFAULT if isinstance(p.default, kind)), Form.ANY)
