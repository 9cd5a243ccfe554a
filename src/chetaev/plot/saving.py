"""Figures that are saved completely or not at all, and that notebooks display without pyplot. This module does not import matplotlib."""

from __future__ import annotations

import io
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

from chetaev.core.support.files import replacing


class Saved:
    """A mixin for matplotlib's Figure."""

    usual: ClassVar[dict[str, Any]] = {}
    """Default options of `savefig`."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save like matplotlib's `savefig`, to a path or a stream; a failure leaves no partial file.

        A path without an extension gets the default one.

        Args:
            fname: A path or a stream.
            options: Options of matplotlib's `savefig`.
        """
        options = {**self.usual, **options}
        draw = super().savefig  # type: ignore[misc]
        if not isinstance(fname, str | PathLike):
            draw(fname, **options)
            return
        text = fspath(fname)
        if not Path(text).suffix and options.get("format") is None:
            import matplotlib

            text = f"{text}.{matplotlib.rcParams['savefig.format']}"
        with replacing(text) as beside:
            draw(beside, **options)

    def _repr_png_(self) -> bytes:
        held = io.BytesIO()
        self.savefig(held, format="png")
        return held.getvalue()
