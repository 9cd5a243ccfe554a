"""Pictures that verbs make on request: the option --plot, with or without a file name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from chetaev.cli.say import note
from chetaev.cli.source import gallery_names
from chetaev.cli.writing import check_output
from chetaev.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
_SUFFIXES = (".png", ".svg", ".pdf")
_UNNAMED = "\N{EM DASH}"
"""The value of --plot without a file name."""


class Pictured(click.Command):
    """A verb whose --plot needs no value: the next word is its file if it ends like a picture, or if another word names the model."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a --plot without a file name a value, so that it does not take the model for its file."""
        filled = []
        for k, word in enumerate(args):
            filled.append(word)
            if word == "--plot" and not _names_a_picture(args, k + 1):
                filled[-1] = f"--plot={_UNNAMED}"
        return super().parse_args(ctx, filled)


def _names_a_picture(args: list[str], k: int) -> bool:
    """Tell whether word `k` is the file of a picture; its ending is checked later."""
    if k >= len(args) or args[k].startswith("-"):
        return False
    return Path(args[k]).suffix.lower() in _SUFFIXES or any(_names_a_model(args, j) for j in range(len(args)) if j != k)


def _names_a_model(args: list[str], k: int) -> bool:
    if args[k] == "-":
        return k == 0 or args[k - 1] != "-o"
    return Path(args[k]).suffix.lower() == ".toml" or args[k].replace("_", "-") in gallery_names()


def plot(what: str) -> Callable[[F], F]:
    """The option --plot."""
    return click.option("--plot", "picture", metavar="[FILE]", help=f"{what}; a png, svg or pdf.")


def check_picture(picture: str) -> None:
    """Raise before a long run if the picture could not be written after it."""
    if picture != _UNNAMED:
        check_output(picture, _SUFFIXES)


def save_picture(draw: Callable[[Any], Any], picture: str, stem: str) -> None:
    """Draw with the functions of `chetaev.plot`, write the file and print its path."""
    check_picture(picture)
    path = Path(f"{stem}.png" if picture == _UNNAMED else picture)
    import chetaev.plot

    made = draw(chetaev.plot)
    try:
        made.savefig(path)
    except OSError as cause:
        raise UsageError(f"the picture cannot be written: {cause.strerror or cause}.", where=str(path), hint="another path") from None
    note(f"wrote {path}")
