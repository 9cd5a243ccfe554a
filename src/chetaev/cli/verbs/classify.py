"""classify: what kind of constraints a system has."""

from __future__ import annotations

import click

from chetaev.cli.options import examples
from chetaev.cli.printing import say
from chetaev.cli.source import MODEL, read


@click.command("classify", epilog=examples("chetaev classify disk", "chetaev classify my.toml"))
@MODEL
def command(given: str) -> None:
    """What kind of constraints MODEL has: integrable, redundant, ideal?

    Kinds of the rows, whether those on velocities are integrable together and by which integrals, rows that follow from others, and
    whether the virtual displacements are those of d'Alembert.
    """
    from chetaev.mechanics.classify import classify

    say(classify(read(given).model))
