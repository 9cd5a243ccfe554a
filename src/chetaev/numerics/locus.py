"""Where the equations fail: the singular locus by name, and sub-expressions without a value.

At a singular state the determinant of the system Jacobian vanishes. A factor of it says where that is (`psi' = 0`); where no formula is
found in time, the null vectors of the Jacobian say which unknown is left open and which rows depend on each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import sympy
from sympy import Expr, Symbol

from chetaev.analysis.ranks import matrices_at
from chetaev.analysis.structure import structure
from chetaev.budget import deadline
from chetaev.equations import Equations
from chetaev.notation import show
from chetaev.numerics.prolong import Prolongation, least_norm, open_jets, prolongation
from chetaev.values import Tape, Undefined, value

_SECONDS = 2.0
_ON_LOCUS = 1e-8
_INVOLVED = 0.2


def locus_at(equations: Equations, point: Mapping[Symbol, float]) -> str:
    """Where a singular state lies: `psi' = 0`, or what the equations leave open there; empty if the state is not singular.

    The point has a value for every parameter, for time, for jets of inputs and for the state.
    """
    factor = vanishing_factor(equations, point)
    if factor:
        return f"{factor} = 0"
    system = prolongation(equations)
    return "" if system is None else open_at(system, point)


def vanishing_factor(equations: Equations, point: Mapping[Symbol, float]) -> str:
    """A factor of the Jacobian's determinant that vanishes at a point; empty if none was found in time."""
    for factor in locus_factors(equations) or ():
        tape = Tape(sympy.Add.make_args(equations.system.charted(factor)))
        if not tape.symbols <= point.keys():
            continue
        try:
            parts = tape(point)
        except Undefined:
            continue
        if (len(parts) == 1 and abs(parts[0]) < _ON_LOCUS) or (len(parts) > 1 and abs(sum(parts)) <= _ON_LOCUS * max(map(abs, parts))):
            return show(factor)
    return ""


def open_at(system: Prolongation, point: Mapping[Symbol, float]) -> str:
    """Which tops the Jacobian leaves open at a point, and which rows depend on each other there; empty if none."""
    found = matrices_at(system.structure.jacobian, [point], system.algebra)
    if not found:
        return ""
    matrix = found[0]
    opened = open_jets(system.structure.top, least_norm(matrix, np.zeros(len(matrix)))[1])
    left = least_norm(matrix.T, np.zeros(matrix.shape[1]))[1]
    if not opened:
        return ""
    weights = np.abs(left * np.abs(matrix).max(axis=1, initial=0.0)[:, None]).max(axis=1, initial=0.0)
    order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > _INVOLVED * weights.max(initial=0.0)]
    rows = ", ".join(system.label(system.stage(0)[i]) for i in order)
    names = " ".join(z.name for z in opened)
    return f"{names} {'is' if len(opened) == 1 else 'are'} left open" + (f": {rows} depend on each other" if len(order) > 1 else "")


@lru_cache(maxsize=32)
def locus_factors(equations: Equations) -> tuple[Expr, ...] | None:
    """The factors of the determinant that can vanish, simplified as far as the time allows; None if the time was short."""
    bases: list[Expr] | None = None
    with deadline(_SECONDS):
        symbolic = structure(equations)
        bases = None if symbolic is None else _numerator_factors(sympy.Matrix(symbolic.jacobian).det())
    if bases is None:
        return None
    with deadline(_SECONDS):  # the factors are right, only perhaps longer than they need to be
        for _ in range(2):  # the first pass may leave squares of sine and cosine that only the second sees
            bases = [factor for base in bases for factor in _numerator_factors(sympy.trigsimp(base))]
    return tuple(dict.fromkeys(b for b in bases if b.free_symbols and not b.is_positive))


def _numerator_factors(e: Expr) -> list[Expr]:
    numerator = sympy.fraction(sympy.together(sympy.factor(e)))[0]
    return [f.base if f.is_Pow else f for f in sympy.Mul.make_args(sympy.factor(numerator))]


def without_value(rows: Sequence[Expr], point: Mapping[Symbol, float]) -> str:
    """The smallest sub-expression of some rows that has no finite value at a point, such as `log(x)` or `1/x`; empty if there is none.

    Symbols without a value in the point are left out of the search.
    """
    for row in rows:
        for node in sympy.postorder_traversal(row):
            if node.args and node.free_symbols <= point.keys() and not _has_value(node, point):
                return show(node)
    return ""


def _has_value(e: Expr, point: Mapping[Symbol, float]) -> bool:
    try:
        value(e, point)
    except Undefined:
        return False
    return True
