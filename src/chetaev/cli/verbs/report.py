"""report: everything about a model on one page."""

from __future__ import annotations

import click

from chetaev.cli.options import MotionOptions, examples, motion_options, slider, slider_ranges
from chetaev.cli.output import check_output
from chetaev.cli.printing import note
from chetaev.cli.session import CHANGE, FORBIDDEN, exit_code_of
from chetaev.cli.source import MODEL, read


@click.command(
    "report",
    epilog=examples("chetaev report rocard", "chetaev report my.toml -o my.html --t 0,20"),
)
@MODEL
@click.option("-o", "output", metavar="FILE.html", help="NAME.html unless given.")
@click.option("--simplify", is_flag=True, help="Simplify the equations, for at most ten seconds.")
@slider
@motion_options
@click.pass_context
def command(ctx: click.Context, given: str, output: str | None, simplify: bool, sliders: tuple[str, ...], wanted: MotionOptions) -> None:
    """Everything about MODEL on one page: equations, verdict, pictures, animation.

    The page is one self-contained html file: it needs no network and can be sent to a colleague.
    """
    if output is not None:
        check_output(output, (".html", ".htm"))
    source = read(given)
    model = wanted.model(source.model)
    from chetaev.report import report

    page = report(model, simplify=simplify, sliders=slider_ranges(sliders), **wanted.choice)
    note(f"wrote {page.save(f'{source.stem}.html' if output is None else output)}")
    if page.motion is not None:
        ctx.exit(exit_code_of([page.motion]))
    if model.start.fixed or model.start.guess:
        note(f"the page explains why there is no motion: the verdict is {page.analysis.verdict}")
        ctx.exit(CHANGE if page.analysis.verdict in ("REGULAR", "CONSTRAINED") else FORBIDDEN)  # at a singular start the data must change
