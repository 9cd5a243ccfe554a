"""Initial data as the user gives them: a value that files, models and the command line hold; `numerics.start` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chetaev.core.errors import require_mapping
from chetaev.core.fixes import InPython
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public

_ELEMENT = 16
"""Longest sequence of numbers that is an element of a group. Longer ones are columns of an ensemble and stay as they are."""
_ROWS = 16
"""Rows of the largest square array that is an element of a group of matrices."""


@public
@dataclass(frozen=True)
class State:
    """Initial data by name: `fixed` values must hold, `guess` values may be changed to satisfy the constraints."""

    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values that the start must have, by the names of jets."""
    guess: Mapping[str, Any] = field(default_factory=dict)
    """Values from which the solver starts, by the names of jets."""

    def __post_init__(self) -> None:
        for name in ("fixed", "guess"):
            require_mapping(getattr(self, name), f"{name} values are", "State", InPython('State({"x": 0}, {"y": 1})'))
            object.__setattr__(self, name, Frozen({key: _fixed_value(v) for key, v in getattr(self, name).items()}))


def _fixed_value(given: Any) -> Any:
    """An immutable value: an array or list for an element of a group becomes a tuple; columns of ensembles stay."""
    if hasattr(given, "tolist") and 0 < getattr(given, "ndim", 0) < 3:  # an array of NumPy's
        square = given.ndim == 2 and given.shape[0] == given.shape[1] <= _ROWS
        given = given.tolist() if square or given.size <= _ELEMENT else given
    small = isinstance(given, list | tuple) and len(given) <= _ELEMENT
    return tuple(map(_fixed_value, given)) if small else given
