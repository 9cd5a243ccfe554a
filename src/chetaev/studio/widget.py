"""The studio as a widget of a notebook: the same page, whose requests travel through the notebook's own messages.

It needs no address of this machine, so that it also works where the kernel runs elsewhere. anywidget is imported when a notebook shows it.
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from chetaev.studio.desk import Desk, RefusedError, trouble
from chetaev.studio.page import page


def available() -> bool:
    """Tell whether a notebook runs this and anywidget is installed."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None and find_spec("anywidget") is not None


def answered(desk: Desk, content: Any) -> dict[str, Any]:
    """Return the message that answers a message of the page: its number, and the answer of the desk."""
    asked = content if isinstance(content, dict) else {}
    number, method, path = asked.get("id"), asked.get("method"), asked.get("path")
    try:
        if not isinstance(method, str) or not isinstance(path, str):
            raise RefusedError(400, "method and path are missing.")
        answer = desk.reply(method, path, asked.get("body"))
    except RefusedError as refused:
        answer = refused.answer
    except Exception as fault:
        answer = trouble("InternalError", f"the studio itself failed at this request ({type(fault).__name__}).")
    return {"id": number, "answer": answer}


def script() -> str:
    """Return the module that shows the widget in the page of a notebook."""
    return (files("chetaev.studio") / "web" / "widget.js").read_text(encoding="utf-8")


@cache
def _kind() -> type:
    import anywidget
    import traitlets

    class StudioWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        _esm = script()
        page = traitlets.Unicode(page()[0]).tag(sync=True)

        def __init__(self, desk: Desk) -> None:
            super().__init__()
            self._desk = desk
            self.on_msg(self._asked)

        def _asked(self, _: Any, content: Any, __: Any) -> None:
            """Answer from a thread: the kernel stays free, and a later request can end an earlier one."""
            threading.Thread(target=lambda: self.send(answered(self._desk, content)), name="chetaev studio", daemon=True).start()

    return StudioWidget


def widget(desk: Desk) -> Any:
    """Return a widget that shows the page of a studio."""
    return _kind()(desk)
