"""The rows of a system together with their total derivatives, and their numbers at a state.

`rows` has the rows and their derivatives, `ranks` the rank of their system Jacobian, `problem` their numbers for given values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from chetaev.core.calculus import NO_FRAME, Calculus
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.structure import Structure, raised, structure
from chetaev.numerics.flow.prolongation.problem import Problem
from chetaev.numerics.flow.prolongation.ranks import Prolongation
from chetaev.numerics.flow.prolongation.rows import Pair
from chetaev.numerics.graphs.algebra import GraphAlgebra

__all__ = ["Pair", "Problem", "Prolongation", "plainly_affine", "prolongation", "square_prolongation"]


@lru_cache(maxsize=32)
def prolongation(equations: Equations) -> Prolongation | None:
    """Return the rows that determine the motion, with their derivatives. Cached, because forming the rows takes time.

    Where the stated rows do not suffice, their consequences are added. If these do not determine the motion either, the square system is
    returned unchanged (its `generic_nullity` is None), or None if it has no structure.
    """
    from chetaev.numerics.flow.closure import closure_of  # local: it imports this module

    system = square_prolongation(equations)
    if system is not None and system.generic_nullity is not None:
        return system
    found = closure_of(equations)
    return found.system if found.determined else system


@lru_cache(maxsize=32)
def square_prolongation(equations: Equations) -> Prolongation | None:
    """The rows as they are stated, with their derivatives; None if they cannot be assigned to the unknowns one by one."""
    found = structure(equations, GraphAlgebra())
    if found is None:
        return None
    system = Prolongation(equations, found)
    top = found.top
    curved = system.curved(system.stage(0), top)
    if not curved:
        plain = plainly_affine(found)
        return system if plain is found else Prolongation(equations, plain)
    rows = {i for i, c in enumerate(found.row_offsets) if system.curved([(i, c)], top)}
    return Prolongation(equations, raised(found, rows, {top.index(z) for z in curved}))


def plainly_affine(found: Structure) -> Structure:
    """Rewrite affine rows as a sum of slopes times top jets and a remainder.

    A total derivative in L leaves terms such as $6 x' x'' - 6 x' x''$ in a row. They change no value, but the slope of the row by $x''$
    then contains $x''$, and so would the solution for it.
    """
    algebra, top = found.algebra, found.top
    zero = [i for i, c in enumerate(found.row_offsets) if c == 0]
    slopes = Calculus(algebra, NO_FRAME).lines([found.rows[i] for i in zero], top)
    varying = iter(algebra.which_contain([e for line in slopes for e in line.entries.values()], top))
    written: dict[int, Any] = {}
    for i, line in zip(zero, slopes, strict=True):
        shows = [next(varying) for _ in line.entries]
        if any(shows):
            terms = [algebra.without(e, top) * algebra.of(z) for e, z in zip(line, top, strict=True)]
            written[i] = sum(terms, algebra.without(found.rows[i], top))
    return replace(found, rows=tuple(written.get(i, row) for i, row in enumerate(found.rows))) if written else found
