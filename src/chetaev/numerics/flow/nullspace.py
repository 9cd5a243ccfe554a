"""Which jets a null space moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chetaev.core.symbols import Jet
from chetaev.mechanics.ranks.factored import Factored, Matrix, least_norm, null_space

__all__ = ["Factored", "least_norm", "null_space", "open_jets"]

OPEN = 1e-7
"""What a null vector may have in a direction, beside its largest component, without moving it: the error of a null space at the cut."""


def open_jets(jets: Sequence[Jet], null: Matrix) -> list[Jet]:
    """The jets a null space moves."""
    if not null.shape[1]:
        return []
    largest = float(np.abs(null).max())
    return [z for z, line in zip(jets, null, strict=True) if np.abs(line).max() > OPEN * largest]
