"""The state of a run of the command line: the model it read, for messages, exit codes, and suggested fixes as options."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from chetaev.core.errors import BranchError, ChetaevError, GaugeError, InitialError, ParameterError, PrincipleError, StateError
from chetaev.core.fixes import Ask, ChooseBranch, ChooseGauge, Fix, Guess, SetInitial, SetInput, SetParameter, UsePrinciple
from chetaev.core.support.text import visible

if TYPE_CHECKING:
    from chetaev.cli.source import Source
    from chetaev.mechanics.model import Model

DONE, CHANGE, FORBIDDEN, UNFINISHED, INTERRUPTED = 0, 2, 3, 4, 130
"""The exit codes: done; the model or its data must change; the verdict forbids a motion; the motion did not finish; Ctrl-C."""

_TABLES: tuple[tuple[type[ChetaevError], str], ...] = (
    (ParameterError, "parameters"),
    (InitialError, "initial"),
    (PrincipleError, "principle"),
)
"""The table of a model file in which an error found after reading can be corrected."""


@dataclass
class Session:
    """The source that was read, and the model as the options have changed it."""

    given: str = "MODEL"
    """The argument MODEL."""
    source: Source | None = None
    model: Model | None = None

    def tell(self, fault: ChetaevError) -> None:
        """Print an error with its fixes as options; add the file and its line where the error does not name them."""
        if self.source is not None and self.source.text and not fault.place.source:
            fault.where = f"{self._place(fault)}, {fault.where}"
        head, _, rest = str(fault).partition("\n")
        kind, dot, where = head.partition(" · ")
        if sys.stderr.isatty():
            kind = click.style(kind, fg="red", bold=True)
        click.echo(f"{kind}{dot}{where}", err=True)
        if rest:
            click.echo(rest, err=True)
        options = filter(None, (on_the_command_line(fix, self.given) for fix in fault.fixes))
        more = "  or  ".join(dict.fromkeys(options))
        if more:
            click.echo(f"  -> here: {visible(more)}", err=True)

    def _place(self, fault: ChetaevError) -> str:
        from chetaev.io.places import line_of, place

        assert self.source is not None  # noqa: S101 - `tell` checks it
        table = next((name for kind, name in _TABLES if isinstance(fault, kind)), "")
        if not table or line_of(self.source.text, table) is None:
            return self.source.name
        return place(self.source.name, self.source.text, table)

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


def on_the_command_line(fix: Fix, model: str = "MODEL") -> str:
    """Return `fix` as options; `model` is the argument MODEL. Empty for a fix that has no option.

    >>> on_the_command_line(ChooseGauge((("q2", "sin(t)"),), "simulate"))
    '--gauge "q2 = sin(t)"'
    """
    match fix:
        case SetParameter(names):
            return " ".join(f"--set {name}=..." for name in names)
        case SetInput(names, example):
            return " ".join(f'--set "{name} = {example or "..."}"' for name in names)
        case SetInitial(names):
            return " ".join(f'--set "{name} = ..."' for name in names)
        case Guess():  # there is no option for guesses
            from chetaev.io.writing import in_the_file

            return f"in the file, {in_the_file(fix)}"
        case UsePrinciple(principle):
            from chetaev.core.support.registry import words_of

            words = words_of(principle)
            return f"--principle {words}" if words == principle.word else f'--principle "{words}"'
        case ChooseBranch(number):
            return f"--branch {number}"
        case ChooseGauge(functions):
            return " ".join(f'--gauge "{name} = {text}"' for name, text in functions)
        case Ask(verb):
            return f"chetaev {verb} {quote(model)}"
    return ""
