"""Typical sizes of slopes: that of the jet over that of what it is differentiated by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chetaev.core.symbols import Jet
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.methods.accuracy import usual_sizes
from chetaev.numerics.slopes.directions import By, Directions
from chetaev.numerics.smooth_pieces.piece import Setting


def usual_slopes(here: Setting, jets: Mapping[Jet, float], before: Mapping[Jet, float], directions: Directions, span: float) -> Array:
    """The sizes, a line for each jet and a column for each direction; zero where nothing has a size yet."""
    state = here.flow.state
    largest = np.array([max(abs(jets[z]), before.get(z, 0.0)) for z in state])
    usual = usual_sizes(largest, state, span)
    found = []
    if directions.usual is not None:
        usual = np.array([directions.usual.get(z, v) for z, v in zip(state, usual.tolist(), strict=True)])
    for by in directions.several:
        if directions.usual is not None and by.parameter is None:
            found.append(usual)
            continue
        size = _size(by, here, dict(zip(state, map(float, usual), strict=True)))
        found.append(usual / size if size > 0 else np.zeros(len(state)))
    return np.array(found).T


def _size(by: By, here: Setting, usual: Mapping[Jet, float]) -> float:
    if by.parameter is not None:
        return abs(here.binding.parameters[by.parameter])
    return 1.0 if by.jet is None else usual.get(by.jet, 0.0)
