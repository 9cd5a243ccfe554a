"""The command `chetaev`: its verbs, and the exit code of every outcome."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import click

from chetaev.cli.session import INTERRUPTED, Session
from chetaev.core.errors import ChetaevError, ChetaevWarning, full_traceback
from chetaev.core.support.text import visible
from chetaev.core.support.version import VERSION

_NEW_OBJECTS_BEFORE_COLLECTION = 50_000
"""Number of new objects after which Python collects cyclic garbage. With the default of 700 or 2000 a report spends a twentieth of its time
on that; with many more a long fit would waste some tens of megabytes."""
_NEW_OBJECTS_BEFORE_FIRST_COLLECTION = 500_000
"""The same for the first time: modules and a report make 350,000 objects, which stay. To look through them takes a tenth of a second."""
_VERBS = {
    "derive": "the equations of motion, as text, LaTeX or code",
    "analyze": "is the motion unique? hidden constraints, free data",
    "classify": "what kind of constraints: integrable, redundant, ideal?",
    "simulate": "the motion, in tables and pictures",
    "compare": "the motions under several principles",
    "sweep": "many motions over parameters and starts, in a store",
    "fit": "unknown values, or the principle, from measured motions",
    "transform": "an equivalent system, by a theorem",
    "animate": "the motion as a film or an interactive page",
    "report": "everything on one self-contained page",
    "studio": "write a system and explore its motion in the browser",
    "gallery": "systems of the literature: list, show, write a file",
    "completion": "a script for your shell",
}
"""The verbs with a line of help each; they are listed here so that help imports no verb."""
_BROKEN_PIPE, _OWN_FAULT = 141, 1
"""Exit codes: 128 + SIGPIPE, as shells expect after a closed pipe; and that of an internal error of chetaev."""

_EPILOG = """\b
MODEL is a model file, - for standard input, or the name of a gallery system.

\b
Examples:
  chetaev gallery                        systems of the literature
  chetaev derive rocard                  the equations of Rocard's tyre
  chetaev gallery write sleigh my.toml   a file to change
  chetaev simulate my.toml --set a=0.5 -o run.csv --plot
  chetaev report my.toml                 everything on one page

\b
Exit codes: 0 done; 2 the model or its data must change; 3 the verdict
forbids a motion (inconsistent, undecided, no branch or gauge chosen);
4 the motion ended neither at its end nor at an event; 130 Ctrl-C, after
which simulate still prints and writes what was computed."""


class Application(click.Group):
    """The group of all verbs. Each verb is a module, imported when it is called or its help is requested."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            return None
        from importlib import import_module

        found: click.Command = import_module(f"chetaev.cli.verbs.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(_VERBS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """For an unknown verb, suggest the closest known one."""
        if args and not args[0].startswith("-") and args[0] not in _VERBS:
            from chetaev.core.errors import did_you_mean

            ctx.fail(f"{args[0]} is not a verb. {did_you_mean(args[0], _VERBS) or ''}".rstrip())
        name, found, rest = super().resolve_command(ctx, args)
        if found is not None and isinstance(ctx.obj, Session):
            ctx.obj.known_options = {word for parameter in found.params for word in parameter.opts}
        return name, found, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb. Every failure ends in a message and an exit code, not in a traceback."""
        try:
            return self._run(ctx)
        except KeyboardInterrupt:
            click.echo("\ninterrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # the reader of our output closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(_BROKEN_PIPE)
        except click.ClickException as fault:
            fault.__dict__["message"] = visible(fault.message)
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except Exception as fault:
            if full_traceback():
                raise
            click.echo(visible(_own_fault(fault)), err=True)
            ctx.exit(_OWN_FAULT)

    def _run(self, ctx: click.Context) -> Any:
        """Run a verb and print errors that the user can correct. Output is flushed here, where a closed pipe can still be handled."""
        ctx.obj = session = Session()
        try:
            return super().invoke(ctx)
        except ChetaevError as fault:
            session.tell(fault)
            ctx.exit(session.exit_code(fault))
        finally:
            sys.stdout.flush()


def _own_fault(fault: Exception) -> str:
    """Return the message for an internal error of chetaev."""
    at = fault.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = f" in {os.path.basename(at.tb_frame.f_code.co_filename)}, line {at.tb_lineno}" if at is not None else ""
    return (
        f"{type(fault).__name__}{place}: {fault}\n"
        "  This is a fault of chetaev, not of your model.\n"
        "  -> CHETAEV_TRACEBACK=1 shows where it arose; please report it with the model"
    )


@click.group(
    cls=Application,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="VERB [MODEL] ...",
    options_metavar="",
)
@click.version_option(VERSION, message="chetaev %(version)s")
@click.option("--extensions", is_flag=True, help="Import installed extensions first, so that their words can be used.")
def application(extensions: bool) -> None:
    """Constrained Lagrangian mechanics: a system, a principle, its motion."""
    if extensions:
        from chetaev.core.support.registry import import_extensions

        import_extensions()


def _collect_more_often(phase: str, info: Mapping[str, int]) -> None:
    """After the first collection, collect garbage of fewer objects."""
    gc.callbacks.remove(_collect_more_often)
    gc.set_threshold(_NEW_OBJECTS_BEFORE_COLLECTION, *gc.get_threshold()[1:])


def main() -> None:
    """The entry point."""
    gc.set_threshold(_NEW_OBJECTS_BEFORE_FIRST_COLLECTION, *gc.get_threshold()[1:])
    gc.callbacks.append(_collect_more_often)
    # further threads of linear algebra wait actively: a tenth of a second of CPU time from the start, for matrices of a few rows
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal shows a question mark for a letter that it cannot encode
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", ChetaevWarning)
        warnings.showwarning = lambda message, *_: click.echo(f"note: {message}", err=True)
    try:
        application(prog_name="chetaev")
    finally:
        gc.freeze()  # Python looks through all objects twice when it ends; memory is returned to the system as a whole
