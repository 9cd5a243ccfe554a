"""fit: unknown values, or the principle, from a table of measured values."""

from __future__ import annotations

import csv
import io
from collections import Counter

import click

from chetaev.cli import options
from chetaev.cli.options import examples
from chetaev.cli.printing import say
from chetaev.cli.source import MODEL, read
from chetaev.core.errors import Location, UsageError
from chetaev.core.support.files import read_bytes

_LARGEST_TABLE = 100_000_000
"""Largest size of a table of measured values in bytes. A longer one is refused: a device may have no end, and a fit of millions of values
takes hours."""


@click.command(
    "fit",
    epilog=examples(
        "chetaev fit sleigh data.csv --unknown a=0,1 --unknown J",
        'chetaev fit my.toml data.csv --unknown a --unknown "theta\'"',
        "chetaev fit my.toml data.csv --unknown a --principles dalembert,vakonomic",
    ),
)
@MODEL
@click.argument("table", metavar="DATA.csv")
@click.option("--unknown", "unknowns", multiple=True, metavar="NAME[=LOW,HIGH]", help="A parameter or an initial value to be found.")
@click.option("--principles", "words", metavar="NAME,NAME", help="Compare these principles.")
@click.option("--seeds", type=int, default=None, metavar="N", help="The number of first values from which the search starts.")
@options.setting
@options.run
def command(
    given: str,
    table: str,
    unknowns: tuple[str, ...],
    words: str | None,
    seeds: int | None,
    settings: tuple[str, ...],
    interval: str | None,
    tolerance: float | None,
) -> None:
    """Values of MODEL from measured motions: a table with a column t and columns that are names or expressions."""
    source = read(given)
    model = options.changed(source.model, None, settings, interval, tolerance)
    where = Location(f"fit {source.name}", source=source.name)
    if not unknowns:
        raise UsageError("no unknown is named.", where=where, hint="--unknown a, or --unknown a=0,1 with bounds")
    read_unknowns = [_unknown(text, where) for text in unknowns]
    if twice := _given_twice([name for name, _ in read_unknowns]):
        raise UsageError(f"--unknown {twice} is given twice.", where=where, hint="once, with or without bounds")
    wanted = dict(read_unknowns)
    data = _table(table, where)
    from chetaev.numerics.identification import fit, which

    if words is None:
        say(fit(model, data, wanted, seeds=1 if seeds is None else seeds))
        return
    principles = options.read_principles(words)
    say(which(model, principles, data, wanted) if seeds is None else which(model, principles, data, wanted, seeds=seeds))


def _unknown(text: str, where: Location) -> tuple[str, tuple[str, str] | str | None]:
    name, equals, bounds = text.partition("=")
    parts = [part.strip() for part in bounds.split(",")]
    if not equals:
        return name.strip(), None
    if len(parts) > 2 or not all(parts):
        raise UsageError(f"--unknown {text}: these are not bounds.", where=where, hint="--unknown a=0,1, or a first value: --unknown a=0.5")
    return name.strip(), parts[0] if len(parts) == 1 else (parts[0], parts[1])


def _given_twice(names: list[str]) -> str | None:
    """A name that occurs more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _table(path: str, where: Location) -> dict[str, list[float]]:
    """The columns of a file, under the names in its first line."""
    hint = "a text file with names in its first line"
    try:
        contents = read_bytes(path, _LARGEST_TABLE + 1)
        if len(contents) > _LARGEST_TABLE:
            raise UsageError(f"{path} has more than {_LARGEST_TABLE} bytes, the largest size allowed.", where=where, hint=hint)
        stream = io.StringIO(contents.decode("utf-8-sig"), newline="")
        lines = [line for line in csv.reader(stream, skipinitialspace=True) if line]
    except OSError as fault:
        raise UsageError(f"{path} cannot be read: {fault.strerror or fault}.", where=where, hint=hint) from None
    except (UnicodeDecodeError, csv.Error) as fault:
        raise UsageError(f"{path} cannot be read: {fault}.", where=where, hint=hint) from None
    if len(lines) < 2:
        raise UsageError(f"{path} has no data.", where=where, hint="names in the first line, then a line for each time")
    names = [name.strip() for name in lines[0]]
    if twice := _given_twice(names):
        raise UsageError(f"{path} has two columns {twice!r}.", where=where, hint="one column for each name")
    found: dict[str, list[float]] = {name: [] for name in names}
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(names):
            raise UsageError(
                f"{path}, line {number}: {len(line)} values for {len(names)} columns.", where=where, hint="a value for each column"
            )
        for name, text in zip(names, line, strict=True):
            try:
                found[name].append(float(text))
            except ValueError:
                raise UsageError(f"{path}, line {number}: {text!r} is not a number.", where=where, hint=f"a value of {name}") from None
    return found
