"""Poles on switching surfaces: 1/abs(t - 1) has its pole where the modes change.

Inside a piece, enclosures keep steps from passing over a pole. One on a surface lies where a piece ends, located up to round-off, and the
next piece begins beyond it. So the rates are looked at on the way to the surface, at distances that become ten times as short from one to
the next: rates that grow all the way have a pole there, which no motion crosses. A pole beside other terms, as in 5 + 10^-6/abs(t - 1),
shows near the surface only, by changes of the rates that grow.
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
_NEAR = 6
"""Number of changes between the nearest distances that grow at a pole beside other terms. Fewer may be rounding errors that grow by
chance."""
_STEEP = 10.0**0.5
"""Growth of these changes over one power of ten. That of a pole is 10; of a root or a logarithm they do not grow."""
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
    """Whether a rate grows at the distances, and at half of them too: rounding errors of a rate that vanishes may grow once by chance."""
    return _grows_at(piece, near, far, 1.0) and _grows_at(piece, near, far, 0.5)


def _grows_at(piece: Piece, near: tuple[float, Array], far: tuple[float, Array], unit: float) -> bool:
    """The states on the way lie on the straight line between both ends: the distance from the surface falls as along the motion."""
    t, span = near[0], far[0] - near[0]
    kept = [unit * 10.0**-k for k in range(_FARTHEST, _NEAREST + 1) if 10.0**-k * abs(span) >= _SPACINGS * np.spacing(abs(t))]
    if len(kept) < _FEWEST:
        return False
    with np.errstate(all="ignore"):
        rates = np.array([_rates(piece, t + part * span, near[1] + part * (far[1] - near[1])) for part in kept])
        sizes, changes = np.abs(rates), np.abs(np.diff(rates, axis=0))[-_NEAR:]
        grows = np.all(sizes[1:] > _GROWTH * sizes[:-1], axis=0)
        if len(changes) == _NEAR:
            grows |= np.all(changes[1:] > _STEEP * changes[:-1], axis=0) & (sizes[-1] > 2 * sizes[0])
        return bool(np.any(grows))


def _rates(piece: Piece, t: float, y: Array) -> Array:
    return piece.setting.compiled.rhs(t, y, piece.setting.parameters(t, piece.reference))
