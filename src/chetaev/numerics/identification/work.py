"""The work of a search: the number of motions computed so far, and the size of their residuals, for a progress bar."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from chetaev.numerics.motion.progress import Bar

MOST_STEPS = 100
"""Steps of a search, each with a motion of every record and its derivatives, after which it ends by default. A search that converges takes
ten to thirty."""


class Work:
    """Counts the motions of a search, and shows them on a terminal or in a notebook. `steps` is the limit of steps of each search."""

    def __init__(self, shown: bool | None = False, title: str = "fit", where: str = "fit", steps: int = MOST_STEPS) -> None:
        self.motions, self.steps, self._note = 0, steps, ""
        self._bar = Bar(shown, where, desc=title, bar_format="{desc}: {n_fmt} motions, {elapsed}{postfix}")
        self.stage = ""
        """A word for the present part of the search, such as a principle."""

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.__exit__(kind, error, trace)

    def count(self) -> None:
        """Count one more motion."""
        self.motions += 1
        self._bar.show(self.motions, ", ".join(part for part in (self.stage, self._note) if part))

    def note_residual(self, residual: float) -> None:
        """Show the root mean square of the residuals, in units of the spread of the data, or of their errors if weights are given."""
        self._note = f"residual {residual:.3g}"
