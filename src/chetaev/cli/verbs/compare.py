"""compare: one system under several principles."""

from __future__ import annotations

from dataclasses import replace

import click

from chetaev.cli import options
from chetaev.cli.options import examples
from chetaev.cli.output import Pictured, check_picture, plot, save_picture
from chetaev.cli.printing import say
from chetaev.cli.session import exit_code_of
from chetaev.cli.source import MODEL, read
from chetaev.core.errors import Location, UsageError

_TOLERANCE = 1e-10
"""The tolerance of the compared motions unless one is given. It is below the default of `simulate`, so that printed differences are not
errors."""


@click.command(
    "compare",
    cls=Pictured,
    epilog=examples(
        "chetaev compare disk --plot",
        "chetaev compare sleigh --principles dalembert,vakonomic --t 0,5",
        "chetaev compare my.toml --principles dalembert,vakonomic --set lambda1=0",
    ),
)
@MODEL
@click.option("--principles", "words", metavar="NAME,NAME", help="The principles; by default those that the model names.")
@options.setting
@options.run
@plot("The motions side by side")
@click.pass_context
def command(
    ctx: click.Context,
    given: str,
    words: str | None,
    settings: tuple[str, ...],
    interval: str | None,
    tolerance: float | None,
    picture: str | None,
) -> None:
    """The motions of MODEL under several principles, and how far apart they are.

    Vakonomic motion of nonholonomic systems needs initial multipliers: in the file's [[compare]] tables, or by --set lambda1=0.
    """
    if picture is not None:
        check_picture(picture)
    source = read(given)
    model = options.changed(source.model, None, (), interval, tolerance)
    wanted = options.read_principles(words) if words else list(model.principles)
    if len(wanted) < 2 or len(set(wanted)) < len(wanted):
        raise UsageError(
            "compare needs at least two different principles.",
            where=Location(f"compare {source.name}", source=source.name),
            hint="--principles dalembert,vakonomic",
        )
    from chetaev.mechanics.model import under

    cases = {p: options.changed(under(model, p), settings=settings) for p in wanted}
    first = cases[wanted[0]]
    data = {p: {name: v for name, v in case.start.fixed.items() if first.start.fixed.get(name) != v} for p, case in cases.items()}
    model = replace(first, also={p: data[p] for p in wanted[1:]})
    from chetaev.numerics.comparison.compare import compare

    found = compare(model, wanted, tolerance=_TOLERANCE if tolerance is None else tolerance)
    say(found)
    if picture is not None:
        save_picture(lambda plots: plots.compare(found), picture, source.stem)
    ctx.exit(exit_code_of(found.motions.values()))
