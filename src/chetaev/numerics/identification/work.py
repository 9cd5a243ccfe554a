"""The work of a search: the motions computed so far, and how far they are from the data."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from chetaev.numerics.motion.progress import Bar

MOST_STEPS = 100
"""Steps of a search, each with a motion of every record and its derivatives, after which it is ended, unless the user says otherwise. A
search that converges takes ten to thirty."""


class Work:
    """Counts the motions of a search, and shows them where somebody watches a long search. `steps` are the most steps of each search."""

    def __init__(self, shown: bool | None = False, title: str = "fit", where: str = "fit", steps: int = MOST_STEPS) -> None:
        self.motions, self.steps, self._note = 0, steps, ""
        self._bar = Bar(shown, where, desc=title, bar_format="{desc}: {n_fmt} motions, {elapsed}{postfix}")
        self.stage = ""
        """What is searched for just now, such as a principle."""

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.__exit__(kind, error, trace)

    def count(self) -> None:
        """Note that a motion is computed."""
        self.motions += 1
        self._bar.show(self.motions, ", ".join(part for part in (self.stage, self._note) if part))

    def far(self, residual: float) -> None:
        """Note the root mean square of the residuals, in units of the spread of the data, or of their errors where weights are given."""
        self._note = f"residual {residual:.3g}"
