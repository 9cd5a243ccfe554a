"""simulate: the motion, in files and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from chetaev.cli.options import MotionOptions, examples, motion_options
from chetaev.cli.output import Pictured, check_output, check_picture, plot, save_picture, write_motion
from chetaev.cli.printing import note, say, table
from chetaev.cli.session import UNFINISHED, exit_code_of
from chetaev.cli.source import MODEL, read
from chetaev.core.certificate import ORDERS_ABOVE, allowed_residual
from chetaev.core.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from chetaev.numerics.motion.trajectory import Trajectory
    from chetaev.numerics.motion.verification.verify import Verification

_MEANING = f"certified: no row is off by more than {ORDERS_ABOVE:.0f} times the tolerance"


class MethodType(click.ParamType):
    """A method by its word in model files, with its settings if it has some."""

    name = "method"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the words that begin with `incomplete`."""
        from chetaev.numerics.methods import METHODS

        return [CompletionItem(word) for word in METHODS.words() if word.startswith(incomplete)]


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
@motion_options
@click.option(
    "--method", type=MethodType(), metavar="NAME", help="explicit, implicit (stiff), taylor (small tolerance), or a registered one."
)
@click.option("--max-step", type=float, metavar="H", help="The longest step; by default the model's own, or no limit.")
@click.option("--points", type=int, metavar="N", help="Number of evenly spaced times in the table.")
@click.option("-o", "output", metavar="FILE", help="run.csv, run.nc, run.mat, run.parquet, run.npz; - prints a csv.")
@plot("The coordinates over time")
@click.option("--verify", is_flag=True, help=f"A certificate that is independent of the solver; {_MEANING}.")
@click.pass_context
def command(
    ctx: click.Context,
    given: str,
    wanted: MotionOptions,
    method: str | None,
    max_step: float | None,
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
        raise UsageError("--points needs a table.", where="simulate", hint="-o run.csv or -o run.nc; an npz file has the whole motion")
    if points is not None and points < 2:
        raise UsageError(f"--points {points} is too small: a table has at least two.", where="simulate --points", hint="--points 500")
    source = read(given)
    model = wanted.model(source.model)
    from chetaev.numerics.methods import METHODS
    from chetaev.numerics.motion.simulate import simulate

    try:
        chosen = None if method is None else METHODS.of_words(method, f"--method {method}")
        motion = simulate(model, method=chosen, max_step=max_step, **wanted.choice)
    except Interrupted as stopped:  # the part that was computed is still printed and written
        motion = stopped.motion
    if output == "-":
        write_motion(motion, output, points)
    else:
        say(motion)
        _values(motion)
    agrees = True
    if verify:
        certificate, err = motion.verify(), output == "-"  # with `-` standard output has only the table
        say(certificate, err=err)
        agrees = certificate.worst <= allowed_residual(motion.tolerance)
        say(certified(certificate, motion.tolerance), heading=False, err=err)
    if output is not None and output != "-":
        note(f"wrote {write_motion(motion, output, points)}")
    if picture is not None:
        save_picture(lambda plots: plots.series(motion), picture, source.stem)
    ctx.exit(exit_code_of([motion]) if agrees else UNFINISHED)


def certified(found: Verification, tolerance: float) -> str:
    """Return the verdict on the residuals: certified if they are at most three orders above the tolerance, or at round-off.

    The derivative of an interpolant is less accurate than the interpolant, by one to two and a half orders of magnitude over the gallery.
    """
    most = allowed_residual(tolerance)
    limit = f"the limit is {most:.0e} for a tolerance of {tolerance:.0e}"
    if found.worst <= most:
        return f"  verdict: certified; no row is off by more than {found.worst:.1e} of its terms; {limit}"
    fact = f"{found.worst_row} is off by {found.worst:.1e} of its terms; {limit}"
    return f"  verdict: NOT certified; {fact}; a smaller --tolerance, or --method implicit, may help"


def _values(motion: Trajectory) -> None:
    """Print start, end and range of the state."""
    from chetaev.numerics.evaluation.printed_numbers import sizes_beside

    click.echo()
    rows = []
    jets = {z.name: z for z in motion.jets}
    sizes = sizes_beside({jets[name]: max(map(abs, ends)) for name, ends in motion.extrema.items()}, motion.equations.system)
    begin = motion.t[0] if motion.asked is None else motion.asked.t[0]
    for name, (least, largest) in motion.extrema.items():
        start = motion[name][0] if motion.t[0] == begin else float("nan")  # with keep = "final" the start is not stored
        values = (start, motion.final[name], least, largest)
        rows.append([name, *[f"{sizes[jets[name]].cleared(v) + 0.0:.6g}" for v in values]])
    table([f"t = {begin:g} to {motion.end[0]:g}", "start", "end", "least", "largest"], rows)
