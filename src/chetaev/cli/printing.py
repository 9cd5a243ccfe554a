"""Print text of the library, laid out for a terminal.

A pipe or a file gets the plain text, line by line as in Python. A terminal gets the same text with a heading, coloured labels, and long
rows wrapped with a hanging indent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from chetaev.core.support.text import visible

if TYPE_CHECKING:
    from chetaev.mechanics.equations import Equations

_MOST_LINES = 24
"""Largest number of lines of one row on a terminal, about one screen; the rest of the row is replaced by a note."""
_WIDEST = 160
"""Largest number of characters of a line of formulas on a wide terminal."""
_READABLE = 100
"""Largest number of characters of a line of prose on a wide terminal."""
_LABELLED = re.compile(r"(\s*)(\S+(?: \S+)*)(\s{2,})(?=\S)")


def say(value: Any, heading: bool = True, err: bool = False) -> None:
    """Print a value of the library; with `heading` its first line is a heading.

    `err` prints to the error stream, for verbs whose standard output is a table for another program.
    """
    text = visible(str(value))
    if not on_terminal(err):
        click.echo(text, err=err)
        return
    from rich.console import Console

    console = Console(highlight=False, stderr=err)
    width = min(console.width, _WIDEST)
    for k, line in enumerate(text.split("\n")):
        label, shown = _laid_out(line, width)
        styled = _styled(label, shown, heading=heading and k == 0)
        console.print(styled, soft_wrap=True)


def with_option(equations: Equations) -> str:
    """Return equations as text whose hint for long rows names the command-line option instead of the Python method."""
    from chetaev.mechanics.equations import LONG_ROWS

    return str(equations).replace(LONG_ROWS, "--simplify may shorten long rows")


def prose(title: str, text: str) -> None:
    """Print paragraphs under a title, wrapped to the width of the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(visible(title), style="bold"), soft_wrap=True)
    for paragraph in re.split(r"\n\s*\n", visible(text).strip()):
        console.print(Text("\n".join(wrap(" ".join(paragraph.split()), min(console.width, _READABLE)))), soft_wrap=True)
    console.print()


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: bool = True) -> None:
    """Print a table with its first column left-aligned; to a pipe without colours and without wrapping."""
    from rich.console import Console
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold" if on_terminal() else "")
    for k, name in enumerate(columns):
        made.add_column(name, justify="right" if right and k else "left", no_wrap=k == 0, style="cyan" if k == 0 and on_terminal() else "")
    for row in rows:
        made.add_row(*(_escaped(cell) for cell in row))
    if on_terminal():
        Console(highlight=False).print(made)
        return
    console = Console(highlight=False, width=10_000, color_system=None, file=sys.stdout)
    with console.capture() as held:
        console.print(made)
    click.echo("\n".join(line.rstrip() for line in held.get().splitlines()))


def note(text: str) -> None:
    """Print a message to the error stream, so that output can be piped."""
    click.echo(visible(text), err=True)


def on_terminal(err: bool = False) -> bool:
    """Tell whether standard output, or with `err` the error stream, is a terminal."""
    return (sys.stderr if err else sys.stdout).isatty()


def _escaped(text: str) -> Any:
    from rich.text import Text

    return Text(visible(text))


def _laid_out(line: str, width: int) -> tuple[str, str]:
    """Return the label of a line, and the line wrapped with an indent as wide as the label."""
    found = _LABELLED.match(line)
    label = found[0] if found and len(found[0]) <= width // 2 else re.match(r"\s*", line)[0]  # type: ignore[index]
    if len(line) <= width:
        return label, line
    indent = " " * (len(label) if label.strip() else len(label) + 2)
    lines = wrap(line[len(label) :], width - len(indent), break_on_hyphens=False, break_long_words=True) or [""]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"... {len(line)} characters in all; -o FILE or a pipe shows them"]
    return label, "\n".join([label + lines[0], *[indent + part for part in lines[1:]]])


def _styled(label: str, shown: str, heading: bool) -> Any:
    from rich.text import Text

    if heading:
        return Text(shown, style="bold")
    made = Text(shown)
    if label.strip():
        made.stylize("cyan", 0, len(label))
    for word, style in _VERDICTS.items():
        made.highlight_words([word], style)
    return made


_VERDICTS = {
    "REGULAR": "green",
    "CONSTRAINED": "green",
    "GAUGE": "yellow",
    "BRANCHING": "yellow",
    "INCONSISTENT": "red",
    "UNDECIDED": "red",
    "finished:": "green",
    "left_domain:": "red",
    "step_too_small:": "red",
    "drift_exceeded:": "red",
    "not_certified:": "red",
    "interrupted:": "red",
}
