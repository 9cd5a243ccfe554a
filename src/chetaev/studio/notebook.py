"""`ch.studio(model)`: the studio of a model, in a notebook or in a window of the browser."""

from __future__ import annotations

import atexit
import html
import threading
from pathlib import Path
from typing import Any

from chetaev.core.errors import UsageError
from chetaev.mechanics.model import Model


class Window:
    """A studio that runs in the background until `close()` or the end of Python.

    Notebooks show it as a widget if anywidget is installed, which also works with a kernel elsewhere, or otherwise in a frame. `address` is
    its address for a browser on this machine.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self.address: str = server.address
        self._widget: Any = None
        self._thread = threading.Thread(target=server.serve_forever, name="chetaev studio", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def close(self) -> None:
        """End the server and its processes; a second call does nothing."""
        if self._server is not None:
            server, self._server = self._server, None
            server.shutdown()
            server.close()
            atexit.unregister(self.close)

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Studio at {self.address}>" if self._server is not None else "<Studio, closed>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """What a notebook shows."""
        from chetaev.studio.widget import available, widget

        if self._server is None or not available():
            return {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self._widget is None:
            self._widget = widget(self._server.desk)
        return self._widget._repr_mimebundle_(**options)

    def _repr_html_(self) -> str:
        if self._server is None:
            return "<p>This studio is closed.</p>"
        address = html.escape(self.address)
        return (
            f'<iframe src="{address}" title="chetaev studio" style="width:100%;height:80vh;border:1px solid #8884"></iframe>'
            f'<p><a href="{address}" target="_blank" rel="noreferrer">open in a window</a></p>'
        )


def studio(model: Any = None, *, folder: Any = ".", port: int = 0) -> Window:
    """The studio of a model: its text, equations, analysis and motion in a page of the browser, all to change.

    Args:
        model: A model, the path of a model file, or the name of a gallery system; None for an example.
        folder: The folder whose model files the page may open and save.
        port: The port on this machine; 0 for a free one.

    Returns:
        A window that notebooks show as a widget or in a frame, with `address` for a browser and `close()`.

    Raises:
        UsageError: If `model` is none of these, `folder` is not a folder, or the port is taken.
    """
    from chetaev.studio.server import Studio

    text, file = _text_of(model)
    if not Path(folder).is_dir():
        raise UsageError(f"{str(folder)!r} is not a folder.", where="studio", hint='studio(model, folder=".")')
    try:
        return Window(Studio(folder, port, text=text, file=file, framed=True))
    except (OSError, OverflowError) as cause:
        reason = getattr(cause, "strerror", None) or cause
        raise UsageError(f"port {port} cannot be used: {reason}.", where="studio", hint="port=0") from None


def _text_of(model: Any) -> tuple[str, str]:
    """The text of a model, and a name for its file."""
    if model is None:
        return "", ""
    from chetaev.io.reading import read_text
    from chetaev.io.writing import dumps

    if isinstance(model, str | Path) and str(model).endswith(".toml"):
        return read_text(model), Path(model).name
    if isinstance(model, str):
        from chetaev.gallery import gallery

        return dumps(gallery(model)), f"{model.replace('_', '-')}.toml"
    if isinstance(model, Model):
        return dumps(model), ""
    raise UsageError(f"studio takes a model, not {type(model).__name__}.", where="studio", hint='studio(ch.gallery("sleigh"))')
