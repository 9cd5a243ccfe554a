"""Rewriting rows so that affine ones are visibly affine in the jets they are solved for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chetaev.mechanics.structure import Structure


def plainly_affine(found: Structure) -> Structure:
    """Rewrite affine rows as a sum of slopes times top jets and a remainder.

    A total derivative in L leaves terms such as $6 x' x'' - 6 x' x''$ in a row. They change no value, but the slope of the row by $x''$
    then contains $x''$, and so would the solution for it.
    """
    algebra, top = found.algebra, found.top
    zero = [i for i, c in enumerate(found.row_offsets) if c == 0]
    slopes = [algebra.gradient(found.rows[i], top) for i in zero]
    bent = np.array(algebra.which_contain([e for line in slopes for e in line], top), dtype=bool).reshape(len(zero), len(top))
    written: dict[int, Any] = {}
    for i, line, shows in zip(zero, slopes, bent, strict=True):
        if shows.any():
            terms = [algebra.without(e, top) * algebra.of(z) for e, z in zip(line, top, strict=True)]
            written[i] = sum(terms, algebra.without(found.rows[i], top))
    return replace(found, rows=tuple(written.get(i, row) for i, row in enumerate(found.rows))) if written else found
