"""Pictures in files: matplotlib draws beside the file, which then takes its place."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from chetaev.core.support.files import replacing


def save_figure(draw: Callable[..., None], name: Any, options: dict[str, Any]) -> None:
    """Save a figure with matplotlib's own `savefig`, given as `draw`. A name without an ending gets the usual one; a stream is no file."""
    if not isinstance(name, str | PathLike):
        draw(name, **options)
        return
    text = fspath(name)
    if not Path(text).suffix and options.get("format") is None:
        import matplotlib

        text = f"{text}.{matplotlib.rcParams['savefig.format']}"
    with replacing(text) as beside:
        draw(beside, **options)
