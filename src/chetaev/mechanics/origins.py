"""Where a row of equations comes from. What a row is decides mathematics; its label is only how it prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Variation:
    """The variation of a coordinate: along it if it is a quasi-velocity, or `combined` with those of others so that multipliers cancel."""

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
    """A kinematic row of the system, by its label; `varied` is the multiplier whose variation it is under vakonomic principles."""

    label: str
    varied: str = ""

    def __str__(self) -> str:
        return f"variation of {self.varied}" if self.varied else "stated by the user"


@dataclass(frozen=True)
class Defined:
    """A row that defines something a transformation introduced."""

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
    """A switching surface on which the motion is held."""

    label: str

    def __str__(self) -> str:
        return "sliding"


@dataclass(frozen=True)
class Chosen:
    """A gauge: a function of time chosen by the user for what the equations leave free."""

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
    """What other rows and their derivatives imply."""

    label: str

    def __str__(self) -> str:
        return "a consequence of the rows"


Origin = Variation | Stated | Defined | ActionRate | Sliding | Chosen | Branch | Slope | Consequence
_KINDS: dict[str, type] = {kind.__name__.lower(): kind for kind in Origin.__args__}


def spec_of_origin(origin: Origin) -> dict[str, Any]:
    """An origin as plain data, for files."""
    return {"kind": type(origin).__name__.lower(), **asdict(origin)}


def origin_of_spec(spec: dict[str, Any]) -> Origin:
    """The origin of plain data; `KeyError` or `TypeError` where the data are not of this form."""
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in spec.items() if name != "kind"}
    found: Origin = _KINDS[spec["kind"]](**fields)
    return found
