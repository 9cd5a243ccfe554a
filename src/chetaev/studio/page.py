"""The page of the studio: the files of web/ in one document, with a content security policy that allows only its own scripts."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

_SCRIPTS = ("text.js", "formulas.js", "curves.js", "editor.js", "adopt.js", "asking.js", "sweep.js", "studio.js")
"""The scripts, in the order of their dependencies."""

AROUND = "http://127.0.0.1:* http://localhost:* vscode-webview:"
"""Pages that may show the studio in a frame: notebooks on this machine."""


@cache
def page(framed: bool = False) -> tuple[str, str]:
    """Return the document and its policy; with `framed` pages of this machine, such as notebooks, may show it in a frame."""
    style = _file("studio.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_file, _SCRIPTS)) + "\n})();\n"
    text = _file("studio.html").replace("<!--style-->", f"<style>{style}</style>").replace("<!--script-->", f"<script>{script}</script>")
    around = AROUND if framed else "'none'"
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; connect-src 'self'; frame-src 'self'; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors {around}"
    )
    return text, policy


def example() -> str:
    """Return the text of the model with which an empty studio starts."""
    return _file("example.toml")


def _file(name: str) -> str:
    return (files("chetaev.studio") / "web" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
