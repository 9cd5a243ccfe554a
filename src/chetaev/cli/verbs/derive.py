"""derive: the equations of motion as text, LaTeX or code."""

from __future__ import annotations

from pathlib import Path

import click

from chetaev.cli import options
from chetaev.cli.options import examples
from chetaev.cli.output import check_ending, write_text
from chetaev.cli.printing import note, say, with_option
from chetaev.cli.source import MODEL, read
from chetaev.core.errors import UsageError

_ENDINGS = {
    "text": (".txt",),
    "latex": (".tex",),
    "numpy": (".py",),
    "casadi": (".py",),
    "c": (".c",),
    "javascript": (".js", ".mjs"),
}
"""File extensions by format; registered languages may have any."""


@click.command(
    "derive",
    epilog=examples(
        "chetaev derive rocard",
        "chetaev derive sleigh --principle vakonomic --latex",
        "chetaev derive disk --code c -o disk.c && gcc -O2 disk.c -lm",
    ),
)
@MODEL
@options.principle
@click.option("--latex", is_flag=True, help="As a LaTeX aligned block.")
@click.option(
    "--code", "language", metavar="LANGUAGE", help="A self-contained right-hand side: numpy, c, casadi, javascript, or a registered one."
)
@click.option("--eliminate", is_flag=True, help="Without multipliers.")
@click.option("--simplify", is_flag=True, help="Simplify, for at most ten seconds.")
@options.setting
@options.choice
@click.option("-o", "output", metavar="FILE", help="Write to a file.")
def command(
    given: str,
    word: str | None,
    latex: bool,
    language: str | None,
    eliminate: bool,
    simplify: bool,
    settings: tuple[str, ...],
    branch: str | None,
    gauges: tuple[str, ...],
    output: str | None,
) -> None:
    """The equations of motion of MODEL, as text, LaTeX or code."""
    if language is not None and (latex or eliminate or simplify):
        raise UsageError("--code cannot be combined with other forms.", where="derive --code", hint="leave out the other options")
    if language is None and (branch is not None or gauges):
        raise UsageError("--branch and --gauge need --code.", where="derive", hint="--code numpy, or leave them out")
    if output is not None and (form := language.lower() if language is not None else "latex" if latex else "text") in _ENDINGS:
        check_ending(output, _ENDINGS[form])
    model = options.changed(read(given).model, word, settings)
    if language is not None:
        from chetaev.export import code

        text = code(model, language.lower(), branch=options.branch_of(branch), gauge=options.gauge_of(gauges))
    else:
        from chetaev.mechanics.derivation import derive

        equations = derive(model)
        equations = equations.eliminate() if eliminate else equations
        equations = equations.simplify() if simplify else equations
        text = equations.latex() if latex else with_option(equations)
    if output is not None:
        note(f"wrote {write_text(Path(output), text)}")
    elif language is not None or latex:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        say(text)
