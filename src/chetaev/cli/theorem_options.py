"""Options of the verb `transform` from those that theorems declare, and the arguments that their texts give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from chetaev.cli.options import pairs
from chetaev.core.errors import Location, UsageError
from chetaev.core.support.plain import DECIMAL

if TYPE_CHECKING:
    from chetaev.transforms.tools.options import Option

DESTINATION = "of_theorem_"
"""How the names of these options begin inside the command, so that they differ from its own."""

_TRUTH = {"true": True, "false": False}


def option_of(name: str, option: Option, theorems: Sequence[str], shown: bool) -> click.Option:
    """Return an option of the command; the page of help names the `theorems` that have it, and leaves it out unless it is `shown`."""
    from chetaev.transforms.tools.options import Form

    spellings = [f"--{name}", *([f"--{name.replace('-', '_')}"] if "-" in name else [])]
    owners = f" ({', '.join(theorems)})" if theorems else ""
    said = f"{option.help or 'An argument'}{owners}."
    declared = [*spellings, DESTINATION + name.replace("-", "_")]
    if option.form is Form.FLAG:
        return click.Option(declared, is_flag=True, help=said, hidden=not shown)
    return click.Option(declared, multiple=True, metavar=option.metavar, help=said, hidden=not shown)


def argument_of(name: str, option: Option, given: Any) -> Any:
    """Return the argument of a theorem for the texts that were given to an option."""
    from chetaev.transforms.tools.options import Form

    if option.form is Form.FLAG:
        return given
    texts = [text.strip() for text in given]
    example = option.example.removeprefix(f"--{name} ") or '"x = ..."'
    if option.form is Form.FORMULAS or (option.form is Form.ANY and all("=" in text for text in texts)):
        return pairs(texts, f"--{name}", example)
    if option.form is Form.TEXTS:
        return texts
    if len(texts) > 1:
        raise UsageError(f"--{name} is given {len(texts)} times.", where=_place(name), hint="give it once")
    return _single(name, option.form, texts[0])


def _single(name: str, form: Any, text: str) -> Any:
    """Return the one value of an option."""
    from chetaev.transforms.tools.options import Form

    if form is Form.TEXT:
        return text
    is_number = DECIMAL.fullmatch(text) is not None
    is_whole = is_number and text.lstrip("+-").isdecimal()
    if (form in (Form.NUMBER, Form.ANY) and is_number) or (form is Form.INTEGER and is_whole):
        return int(text) if is_whole else float(text)
    if form in (Form.TRUTH, Form.ANY) and text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if form is Form.ANY:
        return text
    raise UsageError(f"{text!r} is not {form.value}.", where=_place(name), hint=f"--{name} followed by {form.value}")


def _place(name: str) -> Location:
    return Location(f"--{name}", source=f"--{name}")
