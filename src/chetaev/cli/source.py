"""Where a model comes from: a file, standard input, or the gallery."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from chetaev.cli.session import session
from chetaev.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from chetaev.model import Model

_INPUT = "standard input"


@dataclass(frozen=True)
class Source:
    """A model and where it was found."""

    name: str
    """How messages call it."""
    stem: str
    """What files made from it are called."""
    text: str
    """The text of the file; empty for the gallery."""
    model: Model


def read(given: str) -> Source:
    """The model that the argument of a verb names; the session remembers it for messages."""
    found = _from_input() if given == "-" else _from_gallery(given) if _is_gallery(given) else _from_file(given)
    session().source, session().model = found, found.model
    return found


def _is_gallery(given: str) -> bool:
    return given.replace("_", "-") in gallery_names() and not Path(given).is_file()


def _from_gallery(name: str) -> Source:
    from chetaev.gallery import gallery

    return Source(name, name.replace("_", "-"), "", gallery(name))


def _from_file(given: str) -> Source:
    from chetaev.io.reading import loads, read_text

    path = Path(given)
    if not path.exists() and not path.suffix and len(path.parts) == 1:
        hint = f"{did_you_mean(given, gallery_names())}  chetaev gallery lists all systems".strip()
        raise ModelError("neither a file nor a system of the gallery has this name.", where=given, hint=hint)
    text = read_text(path)
    return Source(path.name, path.stem, text, loads(text, path.name))


def _from_input() -> Source:
    from chetaev.io.reading import decoded, loads

    text = decoded(sys.stdin.buffer, _INPUT)
    return Source(_INPUT, "model", text, loads(text, _INPUT))


def gallery_names() -> list[str]:
    """The names of the gallery, without importing a system."""
    spec = find_spec("chetaev.gallery")
    folders = spec.submodule_search_locations if spec is not None else None
    return sorted(module.name.replace("_", "-") for module in iter_modules(folders or []) if not module.name.startswith("_"))


class ModelType(click.ParamType):
    """The argument MODEL; it completes to names of the gallery and to model files."""

    name = "model"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names that begin like the word, and model files; other files are left to the shell."""
        return completions(incomplete, gallery_names())


def completions(incomplete: str, names: list[str]) -> list[CompletionItem]:
    """Names and `.toml` files that begin with a word; where there are none, whatever files the shell finds."""
    folder = Path(incomplete).parent if not incomplete.endswith("/") else Path(incomplete)
    prefix = "" if str(folder) == "." and not incomplete.startswith("./") else f"{folder}/".replace("//", "/")
    try:
        files = [f"{prefix}{path.name}" for path in sorted(folder.glob("*.toml"))]
    except OSError:
        files = []
    found = [word for word in [*names, *files] if word.startswith(incomplete)]
    return [CompletionItem(word) for word in found] or [CompletionItem(incomplete, type="file")]


MODEL = click.argument("given", metavar="MODEL", type=ModelType())
"""The argument of every verb."""
