"""sweep: a model at many points, in a store that can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chetaev.cli.options import changed, examples, pairs, run, setting
from chetaev.cli.printing import note, say
from chetaev.cli.source import ModelType, read
from chetaev.core.errors import UsageError

if TYPE_CHECKING:
    from chetaev.sweeps.result import Sweep

_OVER = "--over a=0.1:1:50"


@click.command(
    "sweep",
    epilog=examples(
        "chetaev sweep sleigh --over a=0.1:1:20 --measure end=x -o one.zarr",
        'chetaev sweep sleigh --over "theta\'=-1:1:9" --lyapunov top -o two.zarr',
        "chetaev sweep status one.zarr",
    ),
)
@click.argument("given", metavar="MODEL", type=ModelType())
@click.argument("store", metavar="[STORE]", required=False)
@click.option("--over", "ranges", multiple=True, metavar="NAME=LOW:HIGH:N", help="A parameter or initial value; or NAME=1,2,5.")
@click.option("--sample", "points", type=int, metavar="N", help="N Sobol points in --over NAME=LOW:HIGH instead of a grid.")
@click.option("--measure", "texts", multiple=True, metavar="NAME=EXPR", help="An expression at the end of the motion.")
@click.option("--count", "counts", multiple=True, metavar="NAME=EXPR", help="The number of roots of EXPR along the motion.")
@click.option("--first", "firsts", multiple=True, metavar="NAME=EXPR", help="The time of the first root of EXPR.")
@click.option("--lyapunov", "exponent", metavar="NAME", help="The largest Lyapunov exponent.")
@setting
@run
@click.option("-o", "output", metavar="FOLDER", help="The store, chart.zarr.")
@click.option("--resume", is_flag=True, help="Resume an existing store.")
@click.option("--workers", type=int, metavar="N", help="Processes of a local Dask cluster.")
@click.option("--cluster", metavar="ADDRESS", help="The scheduler of a Dask cluster.")
@click.option("--chunk", type=int, metavar="N", help="Largest number of members of a chunk.")
def command(
    given: str,
    store: str | None,
    ranges: tuple[str, ...],
    points: int | None,
    texts: tuple[str, ...],
    counts: tuple[str, ...],
    firsts: tuple[str, ...],
    exponent: str | None,
    settings: tuple[str, ...],
    interval: str | None,
    tolerance: float | None,
    output: str | None,
    resume: bool,
    workers: int | None,
    cluster: str | None,
    chunk: int | None,
) -> None:
    """Run MODEL at many points; or show the progress of a sweep: status STORE."""
    if given == "status":
        _status(store)
        return
    if store is not None:
        raise UsageError(f"{store} is one word too many.", where="sweep", hint="-o chart.zarr names the store")
    if output is None:
        raise UsageError("no store is named.", where="sweep", hint="-o chart.zarr")
    if cluster is not None and workers is not None:
        raise UsageError("--workers needs a local cluster.", where="sweep", hint="--workers 4, or --cluster ADDRESS")
    folder = Path(output)
    if folder.is_dir() and any(folder.iterdir()) and not resume:
        raise UsageError(f"{output} exists.", where="sweep", hint="--resume continues it; or another name")
    model = changed(read(given).model, None, settings, interval, tolerance)
    found = _sweep(
        model,
        _over(ranges, points),
        _measures(texts, counts, firsts, exponent),
        output,
        "local" if workers is not None else cluster,
        chunk,
        workers=workers,
    )
    say(found)
    note(f"wrote {output}")


def _sweep(model: Any, over: Any, measures: Any, output: str, cluster: str | None, chunk: int | None, workers: int | None) -> Sweep:
    from chetaev.sweeps.run import sweep

    return sweep(model, over, measures, output, cluster, chunk, workers=workers)


def _status(store: str | None) -> None:
    if store is None:
        raise UsageError("no store is named.", where="sweep status", hint="chetaev sweep status chart.zarr")
    from chetaev.sweeps.result import status

    say(status(store))


def _over(ranges: Sequence[str], points: int | None) -> Any:
    """Read the points from `a=0.1:1:50`, `a=1,2,5`, or `a=0.1:1` for a sample."""
    from chetaev.sweeps.points import grid, sample

    given = pairs(ranges, "--over", "a=0.1:1:50")
    if not given:
        raise UsageError("nothing is varied.", where="--over", hint=_OVER)
    if points is not None:
        ends = {name: tuple(part.strip() for part in text.split(":")) for name, text in given.items()}
        for name, limits in ends.items():
            if len(limits) != 2:
                raise UsageError(
                    f"{given[name]!r} is not a range of a sample.", where=f"--over {name}", hint=f"--over {name}=0.1:1 --sample 256"
                )
        return sample(ends, points)
    found: dict[str, Any] = {}
    for name, text in given.items():
        parts = [part.strip() for part in text.split(":")]
        if len(parts) == 1:
            found[name] = [part.strip() for part in text.split(",")]
        elif len(parts) == 3 and parts[2].isascii() and parts[2].isdigit():
            found[name] = grid(parts[0], parts[1], int(parts[2]))
        else:
            raise UsageError(f"{text!r} is not a range.", where=f"--over {name}", hint=f"{_OVER}, or --over a=1,2,5")
    return found


def _measures(texts: Sequence[str], counts: Sequence[str], firsts: Sequence[str], exponent: str | None) -> dict[str, Any]:
    from chetaev.numerics.smooth_pieces.events import On
    from chetaev.sweeps.measures import count, largest_lyapunov

    found: dict[str, Any] = {}
    kinds: tuple[tuple[str, Sequence[str], Any], ...] = (("--measure", texts, str), ("--count", counts, count), ("--first", firsts, On))
    for option, given, kind in kinds:
        for name, text in pairs(given, option, "end=x").items():
            if name in found:
                raise UsageError(f"{name} is measured twice.", where=option, hint="a name for each measure")
            found[name] = kind(text)
    if exponent is not None:
        if exponent in found:
            raise UsageError(f"{exponent} is measured twice.", where="--lyapunov", hint="a name for each measure")
        found[exponent] = largest_lyapunov()
    if not found:
        raise UsageError("nothing is measured.", where="sweep", hint='--measure end=x, --count "hits=theta - pi", --lyapunov top')
    return found
