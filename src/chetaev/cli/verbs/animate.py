"""animate: the motion as a film or as an interactive page."""

from __future__ import annotations

import click

from chetaev.cli.options import MotionOptions, examples, motion_options, slider, slider_ranges
from chetaev.cli.output import check_output
from chetaev.cli.printing import note
from chetaev.cli.session import exit_code_of
from chetaev.cli.source import MODEL, read

_FILMS = (".mp4", ".gif", ".html")


@click.command(
    "animate",
    epilog=examples(
        "chetaev animate rocard",
        "chetaev animate sleigh -o sleigh.mp4 --t 0,20 --seconds 8",
        "chetaev animate leaning-disk -o disk.html",
        """chetaev animate sleigh --slider a=0.1:1 --slider "theta'=-1:1" -o page.html""",
    ),
)
@MODEL
@click.option("-o", "output", metavar="FILE", help="film.mp4, film.gif, page.html; NAME-motion.html unless given.")
@click.option("--seconds", type=float, metavar="S", help="How long the film lasts; as long as the motion unless given.")
@click.option("--fps", type=int, default=30, metavar="N", help="Pictures per second; 30 unless given.")
@slider
@motion_options
@click.pass_context
def command(
    ctx: click.Context,
    given: str,
    output: str | None,
    seconds: float | None,
    fps: int,
    sliders: tuple[str, ...],
    wanted: MotionOptions,
) -> None:
    """The motion of MODEL as a film (mp4, gif) or a self-contained page (html); with sliders the page computes the motion."""
    if output is not None:
        check_output(output, (".html",) if sliders else _FILMS)
    ranges = slider_ranges(sliders)
    source = read(given)
    model = wanted.model(source.model)
    from chetaev.numerics.motion.simulate import simulate
    from chetaev.plot.animation import animate

    motion = simulate(model, **wanted.choice)
    path = f"{source.stem}-motion.html" if output is None else output
    animate(motion, model.scene, seconds=seconds, fps=fps, sliders=ranges).save(path)
    note(f"wrote {path}")
    ctx.exit(exit_code_of([motion]))
