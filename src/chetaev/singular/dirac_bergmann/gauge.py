r"""The directions in which free functions move a state: what the primary constraints of first class generate.

A change of the free functions displaces the state along $X_\psi$ for the primary constraints $\psi$ of first class, a moment later also
along $X_{\partial_t\psi + \{\psi, H'\}}$, and so on, brackets included. Dirac's conjecture says that all constraints of first class are
reached. It fails where a constraint is the square of another one (Cawley): $X_{z^2}$ vanishes on $z = 0$.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sympy import Expr, Symbol

from chetaev.core.functions import in_own_words
from chetaev.core.symbols import TIME
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.generic import rank
from chetaev.singular.dirac_bergmann.poisson import Pairs, poisson_bracket


def gauge_directions(generators: Sequence[Expr], hamiltonian: Expr, pairs: Pairs, points: Sequence[Mapping[Symbol, float]]) -> int | None:
    """The number of directions at the points where it is largest; None if there is no point."""
    if not generators:
        return 0
    known = list(generators)
    new = list(generators)
    found = _rank(known, pairs, points)
    if found is None:
        return None
    while new:
        next_ones = [in_own_words(g.diff(TIME)) + poisson_bracket(g, hamiltonian, pairs) for g in new]
        next_ones += [poisson_bracket(g, k, pairs) for g in new for k in generators if g != k]
        kept: list[Expr] = []
        for g in next_ones:
            larger = _rank([*known, g], pairs, points)
            if larger is not None and larger > found:
                known.append(g)
                kept.append(g)
                found = larger
        new = kept
    return found


def _rank(functions: Sequence[Expr], pairs: Pairs, points: Sequence[Mapping[Symbol, float]]) -> int | None:
    """The rank of the differentials at general points: Hamiltonian fields are independent exactly if these are."""
    variables = [z for pair in pairs for z in pair]
    tape = Tape([in_own_words(f.diff(z)) for f in functions for z in variables])
    ranks = []
    for point in points:
        try:
            values = tape(point)
        except Undefined:
            continue
        ranks.append(rank(np.array(values, dtype=float).reshape(len(functions), len(variables))))
    return max(ranks) if ranks else None
