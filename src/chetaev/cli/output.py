"""Files that verbs write: text, tables of motions, and pictures by the option --plot, with or without a file name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from chetaev.cli.printing import note
from chetaev.cli.source import gallery_names
from chetaev.core.errors import UsageError
from chetaev.core.support import files

if TYPE_CHECKING:
    from chetaev.numerics.motion.trajectory import Trajectory

F = TypeVar("F", bound=Callable[..., Any])
_TABLES = (".csv", ".nc", ".npz", ".mat", ".parquet")
_SUFFIXES = (".png", ".svg", ".pdf")
_FORMATS = (*_TABLES, *_SUFFIXES, ".toml", ".html", ".htm", ".mp4", ".gif", ".py", ".c", ".js", ".mjs", ".tex")
"""Extensions of the files that the library reads or writes; a text must not get one of another format."""
_UNNAMED = "\N{EM DASH}"
"""The value of --plot without a file name."""


def write_text(path: Path, text: str) -> Path:
    """Write a text; raise a UsageError if the file cannot be written."""
    try:
        files.write_text(path, text if text.endswith("\n") else text + "\n")
    except OSError as cause:
        raise UsageError(f"the file cannot be written: {cause.strerror or cause}.", where=str(path), hint="another path") from None
    return path


def check_ending(given: str, own: tuple[str, ...]) -> None:
    """Raise a UsageError for a file whose extension belongs to another format; unknown extensions are allowed."""
    if Path(given).suffix.lower() in _FORMATS:
        files.require_ending(given, own, given)


def check_output(given: str, suffixes: tuple[str, ...] = _TABLES) -> None:
    """Raise before a long run if the file could not be written after it."""
    if given == "-":
        return
    files.require_ending(given, suffixes, given)
    path = Path(given)
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}.", where=given, hint=f"mkdir -p {path.parent}")


def write_motion(motion: Trajectory, given: str, points: int | None) -> str:
    """Write a motion in the format of the file's extension; `-` is standard output. Return a line about the file."""
    from chetaev.numerics.motion.storage.tables import column_names, write_csv

    if given == "-":
        write_csv(sys.stdout, motion, points)
    else:
        motion.save(given, points)
    if given.lower().endswith(".npz"):
        return given
    times = len(motion.t) if points is None else points
    line = f"{given}: {len(column_names(motion))} columns at {times} times"
    return line + ("" if points else "; --points N for evenly spaced ones")


class Pictured(click.Command):
    """A verb whose --plot needs no value: the next word is its file if it has the extension
    of a picture, or if another word is the model.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a --plot without a file name a value, so that click does not take the model for the file."""
        filled = []
        for k, word in enumerate(args):
            filled.append(word)
            if word == "--plot" and not _names_a_picture(args, k + 1):
                filled[-1] = f"--plot={_UNNAMED}"
        return super().parse_args(ctx, filled)


def _names_a_picture(args: list[str], k: int) -> bool:
    """Tell whether word `k` is the file of a picture; its extension is checked later."""
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
