"""The jets that a null space moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chetaev.core.symbols import Jet
from chetaev.mechanics.ranks.factored import Factored, Matrix, least_norm, null_space

__all__ = ["Factored", "least_norm", "null_space", "open_jets"]

_NULL = 1e-7
"""Relative to the largest component of a null vector: smaller components are the error of a null space at the cut, and move nothing."""


def open_jets(jets: Sequence[Jet], null: Matrix) -> list[Jet]:
    """Return the jets that a null space moves."""
    if not null.shape[1]:
        return []
    largest = float(np.abs(null).max())
    return [z for z, line in zip(jets, null, strict=True) if np.abs(line).max() > _NULL * largest]
