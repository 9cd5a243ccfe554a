"""Names of singular loci, and sub-expressions without a value.

At a singular state the determinant of the system Jacobian vanishes. A vanishing factor of it names the locus (`psi' = 0`); where no formula
is found, the null vectors of the Jacobian give the unknowns that are left open and the dependent rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy
from sympy import Expr, Function, Symbol

from chetaev.core.notation import show
from chetaev.core.symbols import Jet
from chetaev.core.values import Tape, Undefined, value
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import Factored, open_jets
from chetaev.mechanics.ranks.generic import matrices_at
from chetaev.mechanics.ranks.sizes import ORDINARY, largest_of_kind
from chetaev.mechanics.singular_locus import locus_factors
from chetaev.numerics.flow.prolongation import Prolongation, prolongation

_ON_LOCUS = 1e-8
"""Relative to its terms: a smaller factor vanishes at a state. A single term is compared with its size at the largest jets."""
_NAMED_WEIGHT = 0.2
"""Relative to the largest weight in a dependence: rows with a larger weight are named."""


def locus_at(equations: Equations, point: Mapping[Symbol, float], system: Prolongation | None = None) -> str:
    """Return the locus of a singular state: `psi' = 0`, or the unknowns that the rows leave open there; empty if the state is not singular.

    The point has a value for every parameter, for time, for jets of inputs and for the state. With `system`, the rows of a motion, no
    consequences are derived: deriving them at other states takes minutes for many rows, and does not describe this one.
    """
    factor = vanishing_factor(equations, point)
    if factor:
        return f"{factor} = 0"
    system = prolongation(equations) if system is None else system
    return "" if system is None else open_at(system, point)


def vanishing_factor(equations: Equations, point: Mapping[Symbol, float]) -> str:
    """A factor of the Jacobian's determinant that vanishes at a point; empty if none is known."""
    for factor in locus_factors(equations) or ():
        tape = Tape(sympy.Add.make_args(equations.system.charted(factor)))
        if not tape.symbols <= point.keys():
            continue
        try:
            parts = tape(point)
        except Undefined:
            continue
        usual = max(map(abs, parts)) if len(parts) > 1 else _usual(factor, tape, point)
        if abs(sum(parts)) <= _ON_LOCUS * usual:
            return show(factor)
    return ""


def _usual(factor: Expr, tape: Tape, point: Mapping[Symbol, float]) -> float:
    """The size of a single term if each of its jets were as large as the largest of its order; at least 1 for functions such as sin(q)."""
    jets = {z: v for z, v in point.items() if isinstance(z, Jet)}
    least = 1.0 if factor.has(Function) else 0.0
    try:
        return max(least, abs(tape({**point, **largest_of_kind(jets, ORDINARY)})[0]))
    except Undefined:
        return least


def open_at(system: Prolongation, point: Mapping[Symbol, float]) -> str:
    """Which tops the Jacobian leaves open at a point, and which rows depend on each other there; empty if none."""
    found = matrices_at(system.structure.jacobian, [point], system.algebra)
    if not found:
        return ""
    matrix = found[0]
    opened = open_jets(system.structure.top, Factored(matrix).null)
    if not opened:
        return ""
    weights = np.abs(Factored(matrix.T).null).max(axis=1, initial=0.0)
    order = [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > _NAMED_WEIGHT * weights.max(initial=0.0)]
    rows = ", ".join(system.label(system.stage(0)[i]) for i in order)
    names = " ".join(z.name for z in opened)
    return f"{names} {'is' if len(opened) == 1 else 'are'} left open" + (f": {rows} depend on each other" if len(order) > 1 else "")


def without_value(rows: Sequence[Expr], point: Mapping[Symbol, float]) -> Expr | None:
    """The smallest sub-expression of some rows that has no finite value at a point, such as `log(x)` or `1/x`; None if all have one.

    Symbols without a value in the point are left out of the search.
    """
    for row in rows:
        for node in sympy.postorder_traversal(row):
            if node.args and node.free_symbols <= point.keys() and not _has_value(node, point):
                return node
    return None


def _has_value(e: Expr, point: Mapping[Symbol, float]) -> bool:
    try:
        value(e, point)
    except Undefined:
        return False
    return True
