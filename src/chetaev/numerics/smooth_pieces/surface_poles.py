"""Poles on switching surfaces: 1/abs(t - 1) has its pole where the modes change.

Inside a piece, enclosures keep steps from passing over a pole. One on a surface lies where a piece ends, located up to round-off, and the
next piece begins beyond it. So the rates are looked at on the way to the surface, at distances that become ten times as short from one to
the next: rates that grow all the way have a pole there, which no motion crosses.
"""

from __future__ import annotations

import numpy as np

from chetaev.numerics.smooth_pieces.piece import Array, Piece

_NEAREST, _FARTHEST = 12, 3
"""Powers of ten of the distances, relative to the piece. Rates that stop growing nearer than that count as a pole."""
_GROWTH = 10.0**0.1
"""Growth of a rate over one power of ten: that of the tenth root of the inverse distance. A logarithm grows less when it is near."""
_FEWEST = 5
"""Fewest distances that tell anything."""
_SPACINGS = 1e3
"""Distances are at least this many spacings of neighbouring numbers at the surface; nearer, digits of the distance are missing."""


def has_pole_at_begin(piece: Piece) -> bool:
    """Whether a rate grows without bound towards the surface where a piece begins."""
    return _grows(piece, (piece.begin, piece.first), (piece.end, np.array(piece.run.y)))


def has_pole_at_end(piece: Piece, beyond: tuple[float, Array] | None = None) -> bool:
    """Whether a rate grows without bound towards the surface where a piece ends, or which lies half-way to a state `beyond`."""
    t, y = piece.end, np.array(piece.run.y)
    if beyond is not None:
        t, y = 0.5 * (t + beyond[0]), 0.5 * (y + beyond[1])
    return _grows(piece, (t, y), (piece.begin, piece.first))


def _grows(piece: Piece, near: tuple[float, Array], far: tuple[float, Array]) -> bool:
    """The states on the way lie on the straight line between both ends: the distance from the surface falls as along the motion."""
    t, span = near[0], far[0] - near[0]
    kept = [10.0**-k for k in range(_FARTHEST, _NEAREST + 1) if 10.0**-k * abs(span) >= _SPACINGS * np.spacing(abs(t))]
    if len(kept) < _FEWEST:
        return False
    with np.errstate(all="ignore"):
        sizes = np.array([np.abs(_rates(piece, t + part * span, near[1] + part * (far[1] - near[1]))) for part in kept])
        return bool(np.any(np.all(sizes[1:] > _GROWTH * sizes[:-1], axis=0)))


def _rates(piece: Piece, t: float, y: Array) -> Array:
    return piece.setting.compiled.rhs(t, y, piece.setting.parameters(t, piece.reference))
