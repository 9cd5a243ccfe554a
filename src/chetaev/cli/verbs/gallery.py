"""gallery: systems of the literature, to read and to write as files."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from chetaev.cli.options import examples
from chetaev.cli.output import check_ending, write_text
from chetaev.cli.printing import note, on_terminal, prose, say, table
from chetaev.cli.source import gallery_names
from chetaev.core.errors import UsageError


class NameType(click.ParamType):
    """A name of the gallery."""

    name = "name"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin with `incomplete`."""
        return [CompletionItem(name) for name in gallery_names() if name.startswith(incomplete)]


@click.group(
    "gallery",
    invoke_without_command=True,
    epilog=examples("chetaev gallery", "chetaev gallery show rocard", "chetaev gallery write sleigh my.toml"),
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Systems of the literature: list, show, write a file to change."""
    if ctx.invoked_subcommand is None:
        _list()


@command.command("list", epilog=examples("chetaev gallery list"))
def listed() -> None:
    """All names, with a line about each."""
    _list()


@command.command(epilog=examples("chetaev gallery show rocard"))
@click.argument("name", type=NameType())
def show(name: str) -> None:
    """A description of a system: prose, system, values, reference, corrections."""
    from chetaev.gallery import gallery

    model = gallery(name)
    if on_terminal() and model.prose:
        prose(model.name, model.prose)
        say(str(model).removeprefix(model.prose).lstrip().removeprefix(model.name).lstrip("\n"), heading=False)
    else:
        say(model)


@command.command(epilog=examples("chetaev gallery write sleigh my.toml", "chetaev gallery write sleigh - | chetaev simulate -"))
@click.argument("name", type=NameType())
@click.argument("file", required=False)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def write(name: str, file: str | None, force: bool) -> None:
    """A system as a model file: NAME.toml unless FILE is given; - prints it."""
    from chetaev.gallery import gallery
    from chetaev.io.writing import dumps

    text = dumps(gallery(name))
    if file == "-":
        click.echo(text, nl=False)
        return
    path = Path(f"{name.replace('_', '-')}.toml" if file is None else file)
    check_ending(str(path), (".toml",))
    if path.exists() and not force:
        raise UsageError("the file exists.", where=str(path), hint="another name, or --force to replace it")
    note(f"wrote {write_text(path, text)}")


def _list() -> None:
    from chetaev.gallery import description

    table(["name", "what it is"], [[name, description(name)[0]] for name in gallery_names()], right=False)
