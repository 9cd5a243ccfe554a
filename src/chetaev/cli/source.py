"""Reading the argument MODEL: a file, standard input, or a gallery system."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from chetaev.cli.session import session
from chetaev.core.errors import ModelError, did_you_mean
from chetaev.core.fixes import Advice, Replace, sentences

if TYPE_CHECKING:
    from chetaev.mechanics.model import Model

_INPUT = "standard input"


@dataclass(frozen=True)
class Source:
    """A model and its origin."""

    name: str
    """The name in messages."""
    stem: str
    """The default stem of output files."""
    text: str
    """The text of the file; empty for the gallery."""
    model: Model


def read(given: str) -> Source:
    """Return the model that the argument `given` names; the session keeps it for messages."""
    session().given = given
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
    if not _exists(path):
        raise _missing(path, given)
    text = read_text(path)
    return Source(path.name, path.stem, text, loads(text, path.name))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # an invalid file name: opening it raises the error for it
        return True


def _missing(path: Path, given: str) -> ModelError:
    """Return the error for a missing file, with a suggestion from this folder or from a folder with a similar name."""
    similar = _similar(path)
    if not path.suffix and len(path.parts) == 1:
        files = {Path(similar).stem: similar} if similar else {}
        nearest = did_you_mean(given, [*files, *gallery_names()])  # a file of this folder, or a system of the gallery
        meant = Replace(str(files[nearest.name])) if nearest is not None and nearest.name in files else nearest
        hint: Advice = sentences(meant, "chetaev gallery lists all systems")
        return ModelError("neither a file nor a system of the gallery has this name.", where=given, hint=hint)
    why = "" if path.parent.is_dir() else f"There is no folder {path.parent}."
    name = path.stem.replace("_", "-")
    hint = Replace(str(similar)) if similar else ""
    if not similar and name in gallery_names():
        hint = f"{name} is a system of the gallery: chetaev gallery write {name} {given}"
    return ModelError("there is no such file.", where=given, why=why, hint=hint)


def _similar(path: Path) -> Path | None:
    """Return a model file with a similar name, in this folder or in one with a similar name."""
    folder: Path | None = path.parent
    if not path.parent.is_dir():
        folder = _closest(path.parent.name, [found for found in _listed(path.parent.parent) if found.is_dir()])
    if folder is None:
        return None
    return _closest(path.stem, [found for found in _listed(folder) if found.suffix == ".toml"])


def _closest(stem: str, paths: list[Path]) -> Path | None:
    stems = {path.stem.lower(): path for path in paths}
    close = get_close_matches(stem.lower(), list(stems), n=1, cutoff=0.6)
    return stems[close[0]] if close else None


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _from_input() -> Source:
    from chetaev.io.reading import decoded, loads

    text = decoded(sys.stdin.buffer, _INPUT)
    return Source(_INPUT, "model", text, loads(text, _INPUT))


def gallery_names() -> list[str]:
    """Return the names of the gallery without reading a system."""
    from chetaev.gallery import gallery

    return gallery()


class ModelType(click.ParamType):
    """The argument MODEL; it completes to names of the gallery and to model files."""

    name = "model"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return names that begin with `incomplete`, and model files."""
        return completions(incomplete, gallery_names())


def completions(incomplete: str, names: list[str]) -> list[CompletionItem]:
    """Return names and `.toml` files that begin with `incomplete`; if there are none, leave the completion to the shell."""
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
