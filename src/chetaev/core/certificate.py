"""What a motion's own evidence says of it: figures, each with what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan


@dataclass(frozen=True)
class Figure:
    """One kind of evidence where it is worst: a relative size, what is allowed, the row or jet, the time where it is known."""

    kind: str
    size: float
    allowed: float
    subject: str
    t: float | None = None

    @property
    def ok(self) -> bool:
        """Whether it is within what is allowed; what is no number is not."""
        return self.size <= self.allowed

    @property
    def ratio(self) -> float:
        """In units of what is allowed."""
        return inf if isnan(self.size) else self.size / self.allowed

    @property
    def where(self) -> str:
        """The row or jet, and the time."""
        return self.subject if self.t is None else f"{self.subject} at t = {self.t:.6g}"

    def __str__(self) -> str:
        return f"{self.kind:<8}  {self.size:.1e}  of at most {self.allowed:.0e}  {self.where}"


@dataclass(frozen=True, repr=False)
class Certificate:
    """The net under a simulation: rates inserted into the original rows, the defect between the nodes, and the balance of energy.

    `worst` is the figure nearest to, or furthest beyond, what is allowed, relative to the terms of its row; `where` is its place. A motion
    that is not `ok` does not end with `finished`.
    """

    figures: tuple[Figure, ...] = ()
    repeated: bool = False
    """Whether the motion was computed a second time, with smaller steps, because the first one was not ok."""

    @property
    def ok(self) -> bool:
        """Whether all figures are within what is allowed."""
        return all(figure.ok for figure in self.figures)

    @property
    def _least(self) -> Figure | None:
        return max(self.figures, key=lambda figure: figure.ratio, default=None)

    @property
    def missing(self) -> tuple[str, ...]:
        """The kinds of evidence that were not looked at: the defect, where the motion between the steps is not kept or not smooth."""
        known = {figure.kind for figure in self.figures}
        return tuple(kind for kind in _FACTS if kind not in known)

    @property
    def worst(self) -> float:
        """The size of the worst figure; 0 if nothing was looked at."""
        return 0.0 if self._least is None else self._least.size

    @property
    def where(self) -> str:
        """The row or jet of the worst figure, and the time."""
        return "" if self._least is None else self._least.where

    @property
    def sentence(self) -> str:
        """What is wrong, in words; empty if nothing is."""
        found = self._least
        if found is None or found.ok:
            return ""
        place = "" if found.kind == "balance" else f" ({found.where})"
        return f"{_FACTS[found.kind]} by {found.size:.1e}{place}, and at most {found.allowed:.0e} is allowed."

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        words = "ok" if self.ok else "NOT ok"
        again = "; computed twice, the second time with smaller steps" if self.repeated else ""
        rest = [f"  {kind:<8}  not looked at: {_REASONS[kind]}" for kind in self.missing]
        return "\n".join([f"certificate: {words}{again}", *[f"  {figure}" for figure in self.figures], *rest])


_FACTS = {
    "rows": "the rates computed do not satisfy the rows they were derived from: a row is off",
    "defect": "the motion between two steps does not follow the equations: a jet is off",
    "balance": "energy and work do not balance: relative to the energies that occurred they differ",
}

_REASONS = {
    "rows": "there is no motion",
    "defect": "the motion between the steps was not kept, or is less exact than they are",
    "balance": "there is no motion",
}
