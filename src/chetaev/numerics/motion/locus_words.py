"""The singular locus that a motion met, as an equation."""

from __future__ import annotations

from collections.abc import Mapping

from chetaev.core.notation import show
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined, value
from chetaev.numerics.flow.locus import locus_at, locus_factors
from chetaev.numerics.pieces.piece import Piece

_FALLEN = 1e-3
"""Relative to an earlier state: a factor of the determinant that fell below this is the locus. Larger factors may have fallen by chance."""


def locus_near(piece: Piece, t: float, jets: Mapping[Jet, float]) -> str:
    """Return the locus at the end of a piece as an equation; empty if none was found.

    A run ends shortly before the locus, where no factor of the determinant vanishes to the last digit: then the factor that fell most since
    an earlier state is named.
    """
    here = piece.setting
    equations = here.switched.equations(here.configuration)
    end = here.point(piece.end, here.named(piece.run.y))
    found = locus_at(equations, end, here.flow.system)
    if found:
        return found
    begin = here.point(t, jets)
    falls = {}
    for factor in locus_factors(equations) or ():
        if factor.free_symbols <= begin.keys():
            try:
                falls[factor] = abs(float(value(factor, end))) / abs(float(value(factor, begin)))
            except (Undefined, ZeroDivisionError):
                continue
    lowest = min(falls, key=lambda factor: falls[factor], default=None)
    return f"{show(lowest)} = 0" if lowest is not None and falls[lowest] < _FALLEN else ""
