"""Write a figure to a temporary file and then move it to its path, so that a failure leaves no partial file."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from chetaev.core.support.files import replacing


def save_figure(draw: Callable[..., None], name: Any, options: dict[str, Any]) -> None:
    """Save a figure by matplotlib's own `savefig`, given as `draw`, to a path or a stream. A path without an ending gets the default."""
    if not isinstance(name, str | PathLike):
        draw(name, **options)
        return
    text = fspath(name)
    if not Path(text).suffix and options.get("format") is None:
        import matplotlib

        text = f"{text}.{matplotlib.rcParams['savefig.format']}"
    with replacing(text) as beside:
        draw(beside, **options)
