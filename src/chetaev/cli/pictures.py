"""Pictures that verbs make on request: the option --plot, with or without a file name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from chetaev.cli.say import note
from chetaev.cli.writing import check_output
from chetaev.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
_SUFFIXES = (".png", ".svg", ".pdf")
_UNNAMED = "\N{EM DASH}"
"""Stands for a file name that was not given."""


class Pictured(click.Command):
    """A verb whose --plot may stand alone: what follows it is its file only if it ends like a picture."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a lonely --plot a value, so that it does not take the model for its file."""
        filled = []
        for k, word in enumerate(args):
            filled.append(word)
            following = args[k + 1] if k + 1 < len(args) else ""
            if word == "--plot" and Path(following).suffix.lower() not in _SUFFIXES:
                filled[-1] = f"--plot={_UNNAMED}"
        return super().parse_args(ctx, filled)


def plot(what: str) -> Callable[[F], F]:
    """The option --plot."""
    return click.option("--plot", "picture", metavar="[FILE]", help=f"{what}; a png, svg or pdf.")


def check_picture(picture: str) -> None:
    """Refuse before a long run what could not be drawn after it."""
    if picture != _UNNAMED:
        check_output(picture, _SUFFIXES)


def save_picture(draw: Callable[[Any], Any], picture: str, stem: str) -> None:
    """Draw with the functions of `chetaev.plot`, write the file and say where."""
    check_picture(picture)
    path = Path(f"{stem}.png" if picture == _UNNAMED else picture)
    import chetaev.plot

    made = draw(chetaev.plot)
    try:
        made.savefig(path)
    except OSError as cause:
        raise UsageError(f"the picture cannot be written: {cause.strerror or cause}.", where=str(path), hint="another path") from None
    note(f"wrote {path}")
