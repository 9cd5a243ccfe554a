"""The gallery: a file per system, with a description, values and a scene.

A system that is plain data is a model file, such as `sleigh.toml`; a family of systems, or one whose expressions are computed, is a module
with a function `model()`, such as `chain.py`. Both begin with a sentence that names the system and a paragraph that describes it.

`pictures` has a small picture of each, which `tools/gallery_pictures.py` draws. The documentation and the tests use the same gallery. The
package is callable: `chetaev.gallery()` lists the names, `chetaev.gallery("rocard")` returns a `Model`.
"""

from __future__ import annotations

import ast
from base64 import b64encode
from functools import cache
from html import escape
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, overload

from chetaev.core.errors import ModelError, UsageError, about, did_you_mean
from chetaev.core.fixes import Ask, sentences
from chetaev.core.support.lazy import make_callable
from chetaev.core.support.public import public

if TYPE_CHECKING:
    from chetaev.mechanics.model import Model


class Names(list[str]):
    """The names of the gallery; a notebook shows them as a table with pictures."""

    def _repr_html_(self) -> str:
        from chetaev.core.display.html import card, columns  # imported here, so that listing names does not load SymPy

        lines = []
        for name in self:
            title, described = description(name)
            lines.append((_picture(name), f"<code>{escape(name)}</code>", f"{escape(title)}. <small>{escape(described)}</small>"))
        return card("gallery", columns(("", "", ""), lines, numbers_from=3))


@public
@overload
def gallery() -> list[str]: ...
@public
@overload
def gallery(name: str, **options: Any) -> Model: ...
@public
def gallery(name: str | None = None, **options: Any) -> list[str] | Model:
    """Return the names of all systems of the gallery, or one of them as a model.

    Args:
        name: The name of a system; None for the list of names.
        options: Options of a family of systems: `gallery("chain", n=5)`.

    Returns:
        The sorted names, which a notebook shows with pictures, or the model.

    Raises:
        ModelError: If there is no such system.
        UsageError: If the system does not have an option.
    """
    if name is None:
        return Names(sorted(_files()))
    if not isinstance(name, str) or name.replace("_", "-") not in _files():
        hint = [*sentences(did_you_mean(str(name), _files()), Ask("gallery", "")), " lists all"]
        raise ModelError(f"there is no system {name!r}.", where=about("gallery", "name"), hint=hint)
    name = name.replace("_", "-")
    return _made(name, **options) if options else _usual(name)


@cache
def _usual(name: str) -> Model:
    """Return a system with its default options; models are immutable, so all callers share one."""
    return _made(name)


def _made(name: str, **options: Any) -> Model:
    found = _files()[name]
    if found.endswith(".py"):
        model: Model = import_module(f"{__name__}.{found.removesuffix('.py')}").model(**options)
        return model
    if options:
        raise UsageError(f"{name} has no option {next(iter(options))}.", where=f"gallery {name!r}", hint=Ask("gallery", "name"))
    from chetaev.io.reading import read_gallery

    return read_gallery(_text(found), found)


def description(name: str) -> tuple[str, str]:
    """Return the sentence that names a system and the paragraph that describes it, read from its file; the model is not made."""
    found = _files()[name]
    if found.endswith(".py"):
        tree = ast.parse(_text(found))
        model = next(part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == "model")
        title, described = ast.get_docstring(tree) or "", (ast.get_docstring(model) or "").partition("\n\n")[0]
    else:
        comment = _text(found).partition("\n\n")[0]
        title, _, described = "\n".join(line.removeprefix("#").strip() for line in comment.splitlines()).partition("\n\n")
    return title.partition("\n")[0].rstrip("."), " ".join(described.split())


@cache
def _files() -> dict[str, str]:
    """Return the files of the gallery by the names of their systems."""
    found = [path.name for path in files(__name__).iterdir() if path.name.endswith((".py", ".toml")) and not path.name.startswith("_")]
    return {name.rpartition(".")[0].replace("_", "-"): name for name in found}


def _picture(name: str) -> str:
    """Return the small picture of a system as an HTML element; empty for a system without one."""
    file = files(__name__) / "pictures" / f"{name}.png"
    if not file.is_file():
        return ""
    return f'<img alt="" src="data:image/png;base64,{b64encode(file.read_bytes()).decode()}">'


def _text(file: str) -> str:
    return (files(__name__) / file).read_text(encoding="utf-8")


make_callable(__name__, gallery)
