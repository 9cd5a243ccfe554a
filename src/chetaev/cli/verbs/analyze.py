"""analyze: whether the motion is unique."""

from __future__ import annotations

import click

from chetaev.cli import options
from chetaev.cli.options import examples
from chetaev.cli.output import Pictured, plot, save_picture
from chetaev.cli.printing import say
from chetaev.cli.session import DONE, FORBIDDEN
from chetaev.cli.source import MODEL, read


@click.command(
    "analyze",
    cls=Pictured,
    epilog=examples("chetaev analyze rocard", "chetaev analyze cawley --plot tree.svg", "chetaev analyze - < my.toml && echo a motion"),
)
@MODEL
@options.principle
@plot("The manifolds that contain the motions, as a tree")
@click.pass_context
def command(ctx: click.Context, given: str, word: str | None, picture: str | None) -> None:
    """Is the motion of MODEL unique? Verdict, hidden constraints, free data.

    The verdict is REGULAR, CONSTRAINED, GAUGE, BRANCHING, INCONSISTENT or UNDECIDED; the last two end with exit code 3.
    """
    from chetaev.numerics.verdict.analyze import analyze

    source = read(given)
    found = analyze(options.changed(source.model, word))
    say(found)
    if picture is not None:
        save_picture(lambda plots: plots.tree(found), picture, source.stem)
    ctx.exit(DONE if found.verdict.allows_motion else FORBIDDEN)
