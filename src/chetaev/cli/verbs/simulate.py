"""simulate: the motion, in files and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from chetaev.cli.examples import examples
from chetaev.cli.outcome import code_of
from chetaev.cli.pictures import Pictured, check_picture, plot, save_picture
from chetaev.cli.say import note, say, table
from chetaev.cli.source import MODEL, read
from chetaev.cli.wishes import Wishes, wishes
from chetaev.cli.writing import check_output, write_motion
from chetaev.errors import UsageError

if TYPE_CHECKING:
    from chetaev.trajectory import Trajectory

_METHODS = ("explicit", "implicit", "taylor")


@click.command(
    "simulate",
    cls=Pictured,
    epilog=examples(
        "chetaev simulate rocard -o run.csv --plot",
        'chetaev simulate sleigh --set a=0.5 --set "theta\'=2" --t 0,20',
        'chetaev simulate cawley --set q3=0 --set "q3\'=0" --gauge "q2=t^2"',
    ),
)
@MODEL
@wishes
@click.option("--method", type=click.Choice(_METHODS), metavar="NAME", help="explicit, implicit (if stiff), taylor (if tight).")
@click.option("--points", type=int, metavar="N", help="So many evenly spaced times in the table.")
@click.option("-o", "output", metavar="FILE", help="run.csv, run.nc, run.npz; - prints a csv.")
@plot("The coordinates over time")
@click.option("--verify", is_flag=True, help="A certificate that shares nothing with the solver.")
@click.pass_context
def command(
    ctx: click.Context,
    given: str,
    wishes: Wishes,
    method: str | None,
    points: int | None,
    output: str | None,
    picture: str | None,
    verify: bool,
) -> None:
    """The motion of MODEL: how it ended, its range, its drift."""
    if output is not None:
        check_output(output)
    if picture is not None:
        check_picture(picture)
    if points is not None and (output is None or output.endswith(".npz")):
        raise UsageError("--points is for tables.", where="simulate", hint="-o run.csv or -o run.nc; an npz file holds the whole motion")
    if points is not None and points < 2:
        raise UsageError(f"{points} points make no table.", where="simulate --points", hint="--points 500")
    source = read(given)
    model = wishes.model(source.model)
    from chetaev.numerics.simulate import simulate

    motion = simulate(model, method=_method(method), **wishes.choice)
    if output == "-":
        write_motion(motion, output, points)
    else:
        say(motion)
        _values(motion)
    if verify:
        say(motion.verify())
    if output is not None and output != "-":
        note(f"wrote {write_motion(motion, output, points)}")
    if picture is not None:
        save_picture(lambda plots: plots.series(motion), picture, source.stem)
    ctx.exit(code_of([motion]))


def _method(name: str | None) -> Any:
    if name == "implicit":
        from chetaev.numerics.methods.implicit import Implicit

        return Implicit()
    if name == "taylor":
        from chetaev.numerics.methods.taylor import Taylor

        return Taylor()
    return None


def _values(motion: Trajectory) -> None:
    """Start, end and range of the state."""
    click.echo()
    rows = []
    for name, (least, largest) in motion.extrema.items():
        start = motion[name][0] if len(motion.t) else float("nan")
        rows.append([name, *[f"{v + 0.0:.6g}" for v in (start, motion.final[name], least, largest)]])
    table([f"t = {motion.t[0]:g} to {motion.end[0]:g}", "start", "end", "least", "largest"], rows)
