"""The state of a run of the command line: the model that it read, for messages and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from chetaev.cli.fixes import on_the_command_line
from chetaev.core.errors import BranchError, ChetaevError, GaugeError, InitialError, Location, StateError, printable

if TYPE_CHECKING:
    from chetaev.cli.source import Source
    from chetaev.mechanics.model import Model

DONE, CHANGE, FORBIDDEN, UNFINISHED, INTERRUPTED = 0, 2, 3, 4, 130
"""The exit codes: done; the model or its data must change; the verdict forbids a motion; the motion did not finish; Ctrl-C."""


@dataclass
class Session:
    """The source that was read, and the model as the options have changed it."""

    given: str = "MODEL"
    """The argument MODEL."""
    source: Source | None = None
    model: Model | None = None
    options: dict[str, list[str]] = field(default_factory=dict)
    """The options that gave values in place of those in a table of the file, by the table."""
    known_options: Collection[str] | None = None
    """The options of the verb that runs."""

    def tell(self, fault: ChetaevError) -> None:
        """Print an error with its fixes as options; add the file and its line where the error does not name them."""
        if self.source is not None and self.source.text and not fault.place.source:
            fault.where = fault.place.within(self._place(fault))
        if fault.voice is str:  # an error in the file speaks the words of the file
            fault.voice = partial(on_the_command_line, model=self.given, known=self.known_options)
        kind = type(fault).__name__
        where, *lines = printable([str(fault.where), *fault.lines])
        click.echo(f"{click.style(kind, fg='red', bold=True) if sys.stderr.isatty() else kind} · {where}", err=True)
        for line in lines:
            click.echo(line, err=True)

    def _place(self, fault: ChetaevError) -> Location:
        """Return the table to change, and the options that gave values in its place."""
        from chetaev.io.spans import table_of, table_to_change

        assert self.source is not None  # noqa: S101 - `tell` checks it
        table = table_of(fault)
        given = self.options.get(table, [])
        replaced = table == "principle" and bool(given)  # an option names the whole principle, others give single values
        here = Location.in_file(self.source.name, "") if replaced else table_to_change(fault, self.source.text, self.source.name)
        return here.beside(*given)

    def exit_code(self, fault: ChetaevError) -> int:
        """Return FORBIDDEN if the verdict on the system forbids a motion, CHANGE if other data could give one."""
        if isinstance(fault, BranchError | GaugeError):
            return FORBIDDEN
        if isinstance(fault, StateError | InitialError) and self.model is not None:
            return FORBIDDEN if self._forbids(isinstance(fault, StateError)) else CHANGE
        return CHANGE

    def _forbids(self, any_choice: bool) -> bool:
        """Tell whether no data determine a motion; with `any_choice` also whether a branch or a gauge has to be chosen."""
        from chetaev.numerics.verdict.analyze import analyze

        try:
            verdict = analyze(self.model).verdict
        except ChetaevError:
            return False
        return not verdict.allows_motion or (any_choice and verdict.needs_choice)


def session() -> Session:
    """Return the session of the running verb."""
    found = click.get_current_context().find_object(Session)
    assert found is not None  # noqa: S101 - the application makes one before it calls a verb
    return found


def exit_code_of(motions: Iterable[Any]) -> int:
    """Return DONE if every motion reached its end or a terminal event; an interruption takes precedence over other ends."""
    outcomes = [motion.outcome for motion in motions]
    if "interrupted" in outcomes:
        return INTERRUPTED
    return DONE if all(outcome.reached_end for outcome in outcomes) else UNFINISHED
