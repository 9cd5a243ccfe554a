"""The origins of rows of equations. Algorithms decide by the origin of a row; its label is only for printing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Variation:
    """The variation of `coordinate`, `along` it if it is a quasi-velocity, or `combined` with others so that multipliers cancel."""

    coordinate: str
    along: bool = False
    combined: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`E_x`."""
        return f"E_{self.coordinate}"

    def __str__(self) -> str:
        if self.combined:
            return f"virtual work of {' '.join(self.combined)}"
        return f"variation {'along' if self.along else 'of'} {self.coordinate}"


@dataclass(frozen=True)
class Stated:
    """A kinematic row of the system, by its label; `varied` names the costate whose variation it is under vakonomic principles."""

    label: str
    varied: str = ""

    def __str__(self) -> str:
        return f"variation of {self.varied}" if self.varied else "stated by the user"


@dataclass(frozen=True)
class Defined:
    """A row that defines `what`, which a transformation introduced."""

    label: str
    what: str

    def __str__(self) -> str:
        return f"definition of {self.what}"


@dataclass(frozen=True)
class ActionRate:
    """`s' = L`."""

    @property
    def label(self) -> str:
        """`action`."""
        return "action"

    def __str__(self) -> str:
        return "Herglotz' principle"


@dataclass(frozen=True)
class Sliding:
    """A switching surface along which the motion slides."""

    label: str

    def __str__(self) -> str:
        return "sliding"


@dataclass(frozen=True)
class Chosen:
    """A gauge: a function of time that the user chose for a free quantity."""

    text: str

    @property
    def label(self) -> str:
        """`gauge[q2 = sin(t)]`."""
        return f"gauge[{self.text}]"

    def __str__(self) -> str:
        return "gauge"


@dataclass(frozen=True)
class Branch:
    """An equation of the branch on which the motion lies."""

    number: int
    text: str

    @property
    def label(self) -> str:
        """`branch[0]`."""
        return f"branch[{self.number}]"

    def __str__(self) -> str:
        return f"branch {self.text}"


@dataclass(frozen=True)
class Slope:
    """A slope of a row that vanishes wherever the row holds."""

    number: int

    @property
    def label(self) -> str:
        """`slope[0]`."""
        return f"slope[{self.number}]"

    def __str__(self) -> str:
        return "a slope that vanishes wherever its row holds"


@dataclass(frozen=True)
class Consequence:
    """A row that other rows and their derivatives imply."""

    label: str

    def __str__(self) -> str:
        return "a consequence of the rows"


class RowLabel(str):
    """The label of a row, with a prime for each derivative, where formulas may stand too."""


Origin = Variation | Stated | Defined | ActionRate | Sliding | Chosen | Branch | Slope | Consequence
_KINDS: dict[str, type] = {kind.__name__.lower(): kind for kind in Origin.__args__}
"""The classes of origins by the word in files."""


def spec_of_origin(origin: Origin) -> dict[str, Any]:
    """An origin as plain data, for files."""
    return {"kind": type(origin).__name__.lower(), **asdict(origin)}


def origin_of_spec(spec: dict[str, Any]) -> Origin:
    """The origin that `spec` describes; a KeyError or TypeError for data of another form."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in spec.items() if name != "kind"}
    found: Origin = _KINDS[spec["kind"]](**fields)
    return found
