r"""Integrals and symmetries of a flow, and the eigenvalues that they explain.

A symmetry gives a direction $v$ that the derivative of the flow carries into itself, and so does time, $v = f$; an integral $I$ gives a
covector $dI$ with the same property. With the vectors as columns of $V$ and the covectors as rows of $W$, the eigenvalue 1 of the flow over
a period (the exponent 0 of Lyapunov) has at least the multiplicity

$$ \mathrm{rank}\,V + \mathrm{rank}\,W - \mathrm{rank}\,(W V). $$

Counting by nearness to 1 would be wrong: these eigenvalues sit in Jordan blocks and are accurate only to the root of round-off, and a true
pair may lie closer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sympy import Expr, Symbol

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import ChetaevError
from chetaev.core.symbols import TIME, Action, Jet, Multiplier
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.equations import Equations
from chetaev.orbits.flow import Array, Flow
from chetaev.transforms.symmetries import symmetries
from chetaev.transforms.tools.noether import Symmetry

_RANK = 1e-7
"""Singular values that count, for vectors and covectors of unit length: those of trivial directions are exact, or of order 1."""


@dataclass(frozen=True)
class Invariants:
    """The integrals and the symmetries of equations that do not change with time."""

    integrals: tuple[Expr, ...]
    """Expressions in jets of the state that are constant along every motion."""
    fields: tuple[Symmetry, ...]
    """Symmetries that carry motions into motions, time translation excepted."""

    def gradients(self, flow: Flow, x: Array) -> Array:
        """The gradients of the integrals at a state, a row each; integrals without a value there are left out."""
        rows = [_gradient(e, flow, x) for e in self.integrals]
        return np.array([row for row in rows if row is not None]).reshape(-1, len(x))

    def values(self, flow: Flow, x: Array) -> Array:
        """The values of the integrals at a state."""
        return np.array([_value(e, flow, x) for e in self.integrals])

    def vectors(self, flow: Flow, x: Array) -> Array:
        """The directions of the symmetries at a state, a column each."""
        columns = []
        for s in self.fields:
            parts = dict(s.field.components)
            column = []
            for z in flow.run.jets:
                base = next((q for q in parts if q.base == z.base), None)
                column.append(0.0 if base is None else _value(flow.equations.total(parts[base], z.order), flow, x))
            columns.append(column)
        return np.array(columns, dtype=float).reshape(len(columns), len(x)).T


def invariants_of(equations: Equations) -> Invariants:
    """The affine symmetries of equations with the integrals that follow; none where the search is refused."""
    try:
        found = symmetries(equations)
    except ChetaevError:
        return Invariants((), ())
    plain = [s for s in found.found if not any(_outside(e) for _, e in s.field.components)]
    fields = tuple(s for s in plain if s.field.components and s.field.time == 0 and s.gauge == 0 and _keeps_forces(s, equations))
    integrals = tuple(e for e in found.conserved if not _outside(e))
    return Invariants(integrals, fields)


def _outside(e: Expr) -> bool:
    """Whether an expression depends on time or on what is not part of a state."""
    return TIME in e.free_symbols or any(isinstance(z, Multiplier | Action) for z in e.free_symbols)


def _keeps_forces(s: Symmetry, equations: Equations) -> bool:
    """Whether a symmetry of the Lagrangian and of the constraints is one of the equations: forces must not change along it."""
    lowered = equations.lowered
    if lowered.system.forces or lowered.system.dissipation != 0:
        moved = {z for q, _ in s.field.components for z in (q, q.d())}
        acting = [*lowered.system.forces.values(), lowered.system.dissipation]
        constant = all(not e.free_symbols & {z for z in moved if isinstance(z, Jet)} for _, e in s.field.components)
        return constant and not any(e.free_symbols & {q for q, _ in s.field.components} for e in acting)
    return True


def explained(flow: Flow, invariants: Invariants, x: Array, basis: Array, with_time: bool) -> int:
    """The multiplicity of the eigenvalue that time, symmetries and integrals explain at a state, on the tangent space `basis`."""
    vectors = invariants.vectors(flow, x)
    if with_time:
        vectors = np.hstack([flow.rates(x)[:, None], vectors])
    inside = basis.T @ (vectors / flow.sizes[:, None])
    across = (invariants.gradients(flow, x) * flow.sizes) @ basis
    v, w = _unit(inside), _unit(across.T).T
    return _rank(v) + _rank(w) - _rank(w @ v)


def _unit(columns: Array) -> Array:
    lengths = np.linalg.norm(columns, axis=0)
    kept = columns[:, lengths > 0]
    found: Array = kept / lengths[lengths > 0]
    return found


def _rank(matrix: Array) -> int:
    if not matrix.size:
        return 0
    return int(np.sum(np.linalg.svd(matrix, compute_uv=False) > _RANK))


def _point(flow: Flow, x: Array) -> dict[Symbol, float]:
    point: dict[Symbol, float] = dict(zip(flow.run.jets, map(float, x), strict=True))
    point |= dict(zip(flow.equations.system.parameters, map(float, flow.p), strict=True))
    point[TIME] = flow.t0
    return point


def _value(e: Expr, flow: Flow, x: Array) -> float:
    return float(Tape([e])(_point(flow, x))[0])


def _gradient(e: Expr, flow: Flow, x: Array) -> Array | None:
    jets = list(flow.run.jets)
    if any(isinstance(z, Jet) and z not in jets for z in e.free_symbols):
        return None
    try:
        return np.array(Tape(SYMBOLIC.gradient(e, jets))(_point(flow, x)), dtype=float)
    except Undefined:
        return None
