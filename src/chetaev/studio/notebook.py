"""`ch.studio(model)`: the studio of a model, in a notebook or in a window of the browser.

A notebook shows the studio as a widget, whose requests are messages of the notebook. The widget needs no address of this machine, so that
it also works if the kernel runs elsewhere. anywidget is imported when a notebook shows it; without it the page is in a frame.
"""

from __future__ import annotations

import atexit
import html
import sys
import threading
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.support.public import public
from chetaev.mechanics.model import Model
from chetaev.studio.dispatch import Dispatcher, RefusedError, trouble
from chetaev.studio.page import page


@public
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
        """The representations that a notebook may show."""
        if self._server is None or not _has_widgets():
            return {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self._widget is None:
            self._widget = _widget_class()(self._server.dispatcher)
        return self._widget._repr_mimebundle_(**options)

    def _repr_html_(self) -> str:
        if self._server is None:
            return "<p>This studio is closed.</p>"
        address = html.escape(self.address)
        return (
            f'<iframe src="{address}" title="chetaev studio" style="width:100%;height:80vh;border:1px solid #8884"></iframe>'
            f'<p><a href="{address}" target="_blank" rel="noreferrer">open in a window</a></p>'
        )


@public
def studio(model: Any = None, *, folder: Any = ".", port: int = 0) -> Window:
    """Open the studio of a model: a page of the browser with its text, equations, analysis and motion, which can be edited.

    Args:
        model: A model, the path of a model file, or the name of a gallery system; None for an example.
        folder: The folder whose model files the page may open and save.
        port: The port on this machine; 0 for a free one.

    Returns:
        A window that notebooks show as a widget or in a frame, with `address` for a browser and `close()`.

    Raises:
        UsageError: If `model` is of another type, `folder` is not a folder, or the port is taken.
    """
    from chetaev.studio.server import Studio

    text, file = _text_of(model)
    if not Path(folder).is_dir():
        raise UsageError(f"{str(folder)!r} is not a folder.", where="studio", hint=Ask("studio", 'model, folder="."'))
    try:
        return Window(Studio(folder, port, text=text, file=file, framed=True))
    except (OSError, OverflowError) as cause:
        reason = getattr(cause, "strerror", None) or cause
        raise UsageError(f"port {port} cannot be used: {reason}.", where="studio", hint=SetArgument("port", 0)) from None


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
    raise UsageError(f"studio takes a model, not {type(model).__name__}.", where="studio", hint=Ask("studio", 'ch.gallery("sleigh")'))


def _has_widgets() -> bool:
    """Tell whether this process is the kernel of a notebook and anywidget is installed."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None and find_spec("anywidget") is not None


def answered(dispatcher: Dispatcher, content: Any) -> dict[str, Any]:
    """Return the message that answers a message of the page: its id, and the answer."""
    asked = content if isinstance(content, dict) else {}
    number, method, path = asked.get("id"), asked.get("method"), asked.get("path")
    try:
        if not isinstance(method, str) or not isinstance(path, str):
            raise RefusedError(400, "method and path are missing.")
        answer = dispatcher.reply(method, path, asked.get("body"))
    except RefusedError as refused:
        answer = refused.answer
    except Exception as fault:
        answer = trouble("InternalError", f"the studio itself failed at this request ({type(fault).__name__}).")
    return {"id": number, "answer": answer}


def script() -> str:
    """Return the module that shows the widget in the page of a notebook."""
    return (files("chetaev.studio") / "web" / "widget.js").read_text(encoding="utf-8")


@cache
def _widget_class() -> type:
    import anywidget
    import traitlets

    class StudioWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        _esm = script()
        page = traitlets.Unicode(page()[0]).tag(sync=True)

        def __init__(self, dispatcher: Dispatcher) -> None:
            super().__init__()
            self._dispatcher = dispatcher
            self.on_msg(self._asked)

        def _asked(self, _: Any, content: Any, __: Any) -> None:
            """Answer from a thread, so that the kernel stays responsive and a later request can end an earlier one."""
            threading.Thread(target=lambda: self.send(answered(self._dispatcher, content)), name="chetaev studio", daemon=True).start()

    return StudioWidget
