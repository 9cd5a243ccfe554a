"""studio: write a system in the browser and explore its motion."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

from chetaev.cli.options import examples
from chetaev.cli.source import ModelType, gallery_names
from chetaev.core.errors import ModelError, UsageError


@click.command("studio", epilog=examples("chetaev studio", "chetaev studio sleigh", "chetaev studio my.toml --folder models"))
@click.argument("given", metavar="[MODEL]", type=ModelType(), required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The port on this machine; a free one unless given.")
@click.option("--folder", metavar="DIR", help="The folder whose model files can be opened and saved; that of MODEL, or this one.")
@click.option("--browser", is_flag=True, help="Open the address in the browser.")
def command(given: str | None, port: int, folder: str | None, browser: bool) -> None:
    """A page in the browser on this machine: MODEL as text, its equations as you type, its analysis, and its motion with sliders.

    The printed address contains a secret key, without which nobody can use the studio. Ctrl-C ends it.
    """
    text, file, own = _opened(given)
    chosen = Path(folder) if folder is not None else own
    if not chosen.is_dir():
        raise UsageError("this is not a folder.", where=f"--folder {chosen}", hint="--folder .")
    from chetaev.studio.server import Studio

    try:
        server = Studio(chosen, port, text=text, file=_name_in(chosen, given, file))
    except OSError as cause:
        raise UsageError(f"the port cannot be used: {cause.strerror or cause}.", where=f"--port {port}", hint="another port") from None
    _serve(server, browser)


def _opened(given: str | None) -> tuple[str, str, Path]:
    """Return the text of MODEL, a name for its file, and its folder. A model with errors can be opened too; the page shows them."""
    here = Path()
    if given is None:
        return "", "", here
    path = Path(given)
    if path.is_file():
        from chetaev.io.reading import read_text

        return read_text(path), path.name, path.parent
    name = given.replace("_", "-")
    if name in gallery_names():
        from chetaev.gallery import gallery
        from chetaev.io.writing import dumps

        return dumps(gallery(name)), "", here
    raise ModelError("neither a file nor a system of the gallery has this name.", where=given, hint="chetaev gallery lists all systems")


def _name_in(folder: Path, given: str | None, file: str) -> str:
    """Return the name of a file relative to the folder, under which the page saves it; empty if it lies elsewhere."""
    if not file or given is None:
        return ""
    try:
        return Path(given).resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return ""


def _serve(server: Any, browser: bool) -> None:
    """Serve until Ctrl-C or SIGTERM, then end all processes."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), stop)
    try:
        click.echo(server.address)
        click.echo("Ctrl-C ends the studio.", err=True)
        if browser:
            click.launch(server.address)
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), signal.SIG_IGN)  # a second Ctrl-C must not interrupt the shutdown
        click.echo("stopped", err=True)
    finally:
        server.close()
