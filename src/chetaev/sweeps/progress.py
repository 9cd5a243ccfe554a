"""The progress of a sweep: a bar with the time left, in a terminal or a notebook."""

from __future__ import annotations

from typing import Any, Self

from chetaev.numerics.motion.progress import output_is_watched


class Bar:
    """A progress bar that counts members; its estimate of the time left excludes chunks that earlier calls computed."""

    def __init__(self, shown: bool | None, total: int, before: int, title: str) -> None:
        self._bar: Any = None
        if output_is_watched() if shown is None else shown:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=total, initial=before, desc=title, unit=" motions", smoothing=0.1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def add(self, members: int) -> None:
        """Count a chunk that is on the disk."""
        if self._bar is not None:
            self._bar.update(members)

    def say(self, text: str) -> None:
        """Show a line above the bar."""
        if self._bar is not None:
            self._bar.write(text)
