"""Route requests of the page to their answers, whether they come over HTTP (`server`) or as messages of a notebook (`notebook`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from chetaev.core.errors import ChetaevError
from chetaev.core.support.version import VERSION
from chetaev.gallery import description, gallery
from chetaev.studio.folder import Folder, MissingError, OutsideError
from chetaev.studio.jobs import SECONDS, Jobs
from chetaev.studio.page import example

VERBS = ("derive", "analyze", "simulate", "compare", "code", "motion", "report", "sweep", "film")
"""The requests about a text; a separate process computes each answer."""
_KINDS = {400: "Malformed", 403: "Forbidden", 404: "Unknown", 405: "Unknown", 413: "TooLarge", 500: "InternalError"}
"""The kinds of errors by status."""


class RefusedError(Exception):
    """A request that is refused, with a status and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason

    @property
    def answer(self) -> dict[str, Any]:
        """The refusal as an answer."""
        return trouble(_KINDS.get(self.status, "Refused"), self.reason)


class Dispatcher:
    """Answers the requests of a studio with its folder, its first text and its processes. Use `close` to end the processes."""

    def __init__(self, folder: str | Path = ".", *, text: str = "", file: str = "", seconds: float = SECONDS) -> None:
        self.folder = Folder(folder)
        self.first = {"text": text or example(), "file": file}
        self.jobs = Jobs(seconds)

    def close(self) -> None:
        """End all processes."""
        self.jobs.close()

    def require(self, method: str, name: str) -> None:
        """Raise a RefusedError for an unknown method or name, before the body of a request is read."""
        if (method, name) in _ROUTES or (method == "POST" and name in VERBS) or (method == "GET" and name.startswith("gallery/")):
            return
        known = name in VERBS or any(path == name for _, path in _ROUTES)
        raise RefusedError(405 if known else 404, "there is nothing at this address.")

    def reply(self, method: str, name: str, body: Any = None) -> dict[str, Any]:
        """Return the answer to a request; a requested page is in its field `html`.

        Raises:
            RefusedError: If the name is unknown, the request is malformed, or it names a file outside the folder.
        """
        self.require(method, name)
        if method == "POST" and not isinstance(body, dict):
            raise RefusedError(400, "the request is not an object.")
        try:
            if method == "POST" and name in VERBS:
                return self._computed(name, dict(body))
            if name.startswith("gallery/"):
                return self._gallery_system(name.removeprefix("gallery/"))
            return _ROUTES[method, name](self, body)
        except OutsideError as fault:
            raise RefusedError(403, str(fault)) from None
        except MissingError as fault:
            raise RefusedError(404, str(fault)) from None
        except ChetaevError as fault:
            return trouble(type(fault).__name__, f"{fault.what} {fault.why}".strip())

    def _computed(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        client, serial = body.pop("client", ""), body.pop("serial", 0)
        if client is None:
            client = ""
        if not isinstance(client, str) or len(client) > 200:
            raise RefusedError(400, "client is not a short text.")
        if isinstance(serial, bool) or not isinstance(serial, int | float) or serial != serial:
            raise RefusedError(400, "serial is not a number.")
        found = self.jobs.run(verb, body, client, serial)
        if "malformed" in found:
            raise RefusedError(400, found["malformed"])
        return found

    def _health(self, _: Any) -> dict[str, Any]:
        return {"ok": True, "version": VERSION, "folder": self.folder.root.name, "seconds": self.jobs.seconds}

    def _gallery(self, _: Any) -> dict[str, Any]:
        systems = [{"name": name, "title": description(name)[0], "about": description(name)[1]} for name in gallery()]
        return {"ok": True, "systems": systems}

    def _gallery_system(self, name: str) -> dict[str, Any]:
        if name not in gallery():
            raise RefusedError(404, "the gallery has no such system.")
        return self.jobs.run("gallery", {"name": name})

    def _first(self, _: Any) -> dict[str, Any]:
        return {"ok": True, **self.first}

    def _files(self, _: Any) -> dict[str, Any]:
        return {"ok": True, "files": self.folder.files()}

    def _open(self, body: dict[str, Any]) -> dict[str, Any]:
        file = _text(body, "file")
        return {"ok": True, "file": file, "text": self.folder.open(file)}

    def _save(self, body: dict[str, Any]) -> dict[str, Any]:
        file, text = _text(body, "file"), _text(body, "text")
        return {"ok": True, "file": file, "replaced": self.folder.save(file, text)}


_ROUTES: dict[tuple[str, str], Callable[[Dispatcher, Any], dict[str, Any]]] = {
    ("GET", "health"): Dispatcher._health,
    ("GET", "gallery"): Dispatcher._gallery,
    ("GET", "files"): Dispatcher._files,
    ("GET", "first"): Dispatcher._first,
    ("POST", "open"): Dispatcher._open,
    ("POST", "save"): Dispatcher._save,
}


def _text(body: dict[str, Any], name: str) -> str:
    if not isinstance(body.get(name), str):
        raise RefusedError(400, f"{name} is missing, or not a text.")
    found: str = body[name]
    return found


def trouble(kind: str, message: str) -> dict[str, Any]:
    """Return an answer with one error that has no location in the text."""
    error = {"kind": kind, "message": message, "hint": "", "where": "", "line": 1, "column": 1, "length": 1, "fixes": []}
    return {"ok": False, "errors": [error]}
