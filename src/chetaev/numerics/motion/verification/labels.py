"""The labels of residuals: what they print, and what is checked, as data."""

from __future__ import annotations

from enum import Enum

from chetaev.mechanics.assemble import Row
from chetaev.mechanics.origins import ActionRate, Origin, Variation


class Check(Enum):
    """What a residual compares."""

    NODES = "stored states against the dense output"
    RATE = "velocity against the derivative of the position"
    CONSTRAINT = "the constraint as stated"
    WORK = "virtual work, without multipliers"
    EQUATION = "the row with its multipliers"
    ACTION = "s' = L"
    MODE = "distance from the graph of the sign"
    REST = "friction holds the body at rest"
    CONTACT = "gap and reaction, of which one vanishes"
    CORNER = "a nested corner as it is written"


class Label(str):
    """The label of a residual: `check` is what is compared, `origin` that of its row, if it has one, `name` the quantity it is about."""

    check: Check
    origin: Origin | None
    name: str

    def __new__(cls, text: str, check: Check, origin: Origin | None = None, name: str = "") -> Label:
        found = super().__new__(cls, text)
        found.check, found.origin, found.name = check, origin, name
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return Label, (str(self), self.check, self.origin, self.name)

    @classmethod
    def about(cls, word: str, name: str, check: Check) -> Label:
        """`rate of x`."""
        return cls(f"{word} of {name}", check, name=name)

    @classmethod
    def of_row(cls, row: Row[object]) -> Label:
        """The label of a row of the equations."""
        kinds = {Variation: Check.EQUATION, ActionRate: Check.ACTION}
        return cls(row.label, kinds.get(type(row.origin), Check.CONSTRAINT), row.origin)
