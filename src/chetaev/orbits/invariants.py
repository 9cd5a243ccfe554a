r"""Integrals and symmetries of a flow, and the eigenvalues that they explain.

The derivative of the flow maps the direction $v$ of a symmetry to the direction of a symmetry, and the direction $v = f$ of time to itself;
an integral $I$ gives a covector $dI$ with the same property. With the vectors as columns of $V$ and the covectors as rows of $W$, the
derivative $M$ of the flow over a period leaves the spaces $\mathrm{span}\,V \subset \mathrm{span}\,V + \ker W$ invariant. Its eigenvalues
on the first space and on the quotient by the second one are explained; their number is

$$ \mathrm{rank}\,V + \mathrm{rank}\,W - \mathrm{rank}\,(W V). $$

Those on the quotient of the two spaces remain. For an orbit that closes the explained ones are 1; for one that closes up to an element $g$
of a group they are the eigenvalues of $\mathrm{Ad}_{g^{-1}}$, such as $1, e^{\pm i\theta}$ for displacements of a plane that turn by
$\theta$.

Choosing eigenvalues by their distance from 1 would be wrong: they belong to Jordan blocks and are accurate only to the root of round-off,
and a pair that is not explained may lie closer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Add, Expr, S, Symbol

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import ChetaevError, StateError
from chetaev.core.support.budget import size
from chetaev.core.symbols import TIME, Action, Jet, Multiplier, Place
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.split import split
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.orbits.flow import Array, Flow
from chetaev.transforms.symmetries import symmetries
from chetaev.transforms.tools.affine_fields import Field
from chetaev.transforms.tools.noether import Symmetry, shown_field

Complex = NDArray[np.complex128]

_LEAST_SINGULAR_VALUE = 1e-7
"""Smallest singular value that counts as nonzero, for vectors and covectors of unit length; those that
occur are exact zeros or of order 1."""
_LARGEST_LAGRANGIAN = 500
"""Nodes of a Lagrangian above which combinations of symmetries are not searched: for a bicycle that would take hours."""
_VANISHING_COMMUTATOR = 1e-5
"""Largest commutator of a symmetry and the rates, relative to its terms. Differences have errors of 1e-9; for a field that is not a
symmetry the commutator has the size of its terms."""
_STATES_TRIED = 3
"""Number of random states at which the commutator is computed; a field that is not a symmetry may pass at one of them by chance."""
_DIFFERENCE_STEP = 1e-5
"""Step of the differences of rates, in units of the sizes of the jets."""


@dataclass(frozen=True, eq=False)
class Invariants:
    """The integrals and the symmetries of equations that do not change with time."""

    equations: Equations
    integrals: tuple[Expr, ...]
    """Expressions in jets of the state that are constant along every motion."""
    fields: tuple[Symmetry, ...]
    """Symmetries that map motions to motions, other than time translation."""
    tapes: dict[Any, Tape] = field(default_factory=dict, repr=False)
    """Cache of compiled expressions; the key names the quantity and the jets of the state."""

    @property
    def names(self) -> tuple[str, ...]:
        """The symmetries as they are printed, such as `y*d/dx - x*d/dy`."""
        return tuple(shown_field(s.field) for s in self.fields)

    def gradients(self, flow: Flow, x: Array) -> Array:
        """The gradients of the integrals at a state, a row for each; zeros if an integral has no value there."""
        return np.array([self._gradient(k, flow, x) for k in range(len(self.integrals))], dtype=float).reshape(-1, len(x))

    def values(self, flow: Flow, x: Array) -> Array:
        """The values of the integrals at a state."""
        if not self.integrals:
            return np.zeros(0)
        if "values" not in self.tapes:
            self.tapes["values"] = Tape([self.equations.system.charted(e) for e in self.integrals])
        return np.array(self.tapes["values"](_point(flow, x)), dtype=float)

    def vectors(self, flow: Flow, x: Array) -> Array:
        """The fields of the symmetries at a state, a column for each."""
        if not self.fields:
            return np.zeros((len(x), 0))
        key = "vectors", flow.run.jets
        if key not in self.tapes:
            self.tapes[key] = Tape([_displacement(s.field, z, self.equations) for s in self.fields for z in flow.run.jets])
        return np.array(self.tapes[key](_point(flow, x)), dtype=float).reshape(len(self.fields), len(x)).T

    def _gradient(self, k: int, flow: Flow, x: Array) -> Array:
        key = "gradient", k, flow.run.jets
        if key not in self.tapes:
            e = self.equations.system.charted(self.integrals[k])
            self.tapes[key] = Tape(SYMBOLIC.gradient(e, list(flow.run.jets)))
        try:
            return np.array(self.tapes[key](_point(flow, x)), dtype=float)
        except Undefined:
            return np.zeros(len(x))


def invariants_of(flow: Flow) -> Invariants:
    """The affine symmetries of a flow and the integrals that follow from them; none for equations that the search does not accept."""
    equations = flow.equations
    try:
        found = symmetries(equations, combined=size(equations.lagrangian) <= _LARGEST_LAGRANGIAN)
    except ChetaevError:
        return Invariants(equations, (), ())
    fields = tuple(s for s in found.found if s.field.components and s.field.time == 0 and s.gauge == 0 and not _moving(s.field))
    state = set(flow.run.jets)
    written = [(e, equations.system.charted(e).free_symbols) for e in found.conserved if not _outside(e)]
    integrals = tuple(e for e, symbols in written if all(z in state for z in symbols if isinstance(z, Jet)))
    kept = Invariants(equations, integrals, fields)
    good = _commuting(flow, kept)
    return Invariants(equations, integrals, tuple(s for s, ok in zip(fields, good, strict=True) if ok))


def _outside(e: Expr) -> bool:
    """Whether an expression depends on time or on symbols that are not jets of a state."""
    return TIME in e.free_symbols or any(isinstance(z, Multiplier | Action) for z in e.free_symbols)


def _moving(given: Field) -> bool:
    """Whether a field depends on time or on multipliers, or moves multipliers."""
    return any(_outside(e) or isinstance(q, Multiplier | Action) for q, e in (*given.components, *given.speeds))


def _displacement(given: Field, z: Jet, equations: Equations) -> Expr:
    """The change of a jet of the state along a field."""
    system, parts, speeds = equations.system, dict(given.components), dict(given.speeds)
    if isinstance(z, Place):
        (group,) = [g for g in system.groups.values() if z in g.places]
        terms = [parts.get(q, S.Zero) * move.get(z, S.Zero) for q, move in zip(group.components, group.fields, strict=True)]
        return system.charted(Add(*terms))
    base = z.d(-z.order)
    if base in speeds:
        return system.charted(equations.total(speeds[base], z.order - 1))
    known = next((q for q in parts if q.base == z.base), None)
    return S.Zero if known is None else system.charted(equations.total(parts[known], z.order))


def _commuting(flow: Flow, invariants: Invariants) -> list[bool]:
    """Which fields map motions to motions: at random states they are tangent to the constraints and commute with the rates.

    Symmetries of the Lagrangian are not enough: a virtual displacement that keeps the Lagrangian gives a momentum, but may change the
    constraints or the forces.
    """
    good = [True] * len(invariants.fields)
    chance, tried = np.random.default_rng(13), 0
    for _ in range(4 * _STATES_TRIED if good else 0):
        x = flow.settled(flow.start + 0.1 * flow.sizes * chance.normal(size=len(flow.start)))
        t = flow.t0 + float(chance.uniform()) * (flow.run.t[1] - flow.run.t[0])
        try:
            differ = _commutators(flow, invariants, x, t)
        except (StateError, Undefined):
            continue
        good = [ok and small for ok, small in zip(good, differ, strict=True)]
        tried += 1
        if tried == _STATES_TRIED:
            break
    return good if tried else [False] * len(good)


def _commutators(flow: Flow, invariants: Invariants, x: Array, t: float) -> list[bool]:
    found = []
    vectors, f = invariants.vectors(flow, x), flow.rates(x, t)
    rows = flow.constraints(x)[1]
    step = _DIFFERENCE_STEP / (float(np.linalg.norm(f / flow.sizes)) or 1.0)
    ahead, behind = (invariants.vectors(flow, x + s * step * f) for s in (1, -1))
    for k in range(vectors.shape[1]):
        v = vectors[:, k] / flow.sizes
        length = float(np.linalg.norm(v)) or 1.0
        h = _DIFFERENCE_STEP / length
        slope = (flow.rates(x + h * vectors[:, k], t) - flow.rates(x - h * vectors[:, k], t)) / (2 * h)
        turned = (ahead[:, k] - behind[:, k]) / (2 * step)
        if not np.all(np.isfinite(slope)):
            raise StateError("the rates have no value near this state.", where=flow.where)
        terms = (np.abs(slope) + np.abs(turned) + length * np.abs(f)) / flow.sizes
        tangent = bool(np.all(np.abs(rows @ v) <= _VANISHING_COMMUTATOR * length)) if len(rows) else True
        found.append(
            tangent and bool(np.all(np.abs(slope - turned) / flow.sizes <= _VANISHING_COMMUTATOR * max(float(terms.max()), ALMOST_ZERO)))
        )
    return found


def explained(flow: Flow, invariants: Invariants, x: Array, basis: Array, with_time: bool) -> int:
    """The multiplicity of the eigenvalues that time, symmetries and integrals explain at a state, on the tangent space `basis`."""
    v, p = _spaces(flow, invariants, x, basis, with_time)
    return v.shape[1] + p.shape[1]


@dataclass(frozen=True)
class Divided:
    """The eigenvalues of the flow over a period, separated into those that time, symmetries and integrals explain and the others."""

    explained: Complex
    """The eigenvalues that time, symmetries and integrals explain."""
    remaining: Complex
    block: Array
    """The matrix that has the remaining eigenvalues."""


def divided(flow: Flow, invariants: Invariants, x: Array, basis: Array, matrix: Array, with_time: bool) -> Divided:
    """Separate the eigenvalues of the derivative of the flow, a matrix on the tangent space `basis`, into explained and remaining ones."""
    v, p = _spaces(flow, invariants, x, basis, with_time)
    both = np.hstack([v, p])
    rest = np.linalg.svd(both, full_matrices=True)[0][:, both.shape[1] :] if both.shape[1] else np.eye(len(matrix))
    values = [np.linalg.eigvals(q.T @ matrix @ q).astype(complex) for q in (v, p, rest)]
    return Divided(np.concatenate(values[:2]), values[2], rest.T @ matrix @ rest)


def _spaces(flow: Flow, invariants: Invariants, x: Array, basis: Array, with_time: bool) -> tuple[Array, Array]:
    """Orthonormal bases of the span of time and symmetries, and of the part of the gradients of integrals orthogonal to it."""
    vectors = invariants.vectors(flow, x)
    if with_time:
        vectors = np.hstack([flow.rates(x)[:, None], vectors])
    v = _span(_unit(basis.T @ (vectors / flow.sizes[:, None])))
    w = _span(_unit(basis.T @ (invariants.gradients(flow, x) * flow.sizes).T))
    if not w.shape[1]:
        return v, w
    left, s, _ = np.linalg.svd(w.T @ v, full_matrices=True) if v.shape[1] else (np.eye(w.shape[1]), np.zeros(0), None)
    across: Array = w @ left[:, int(np.sum(s > _LEAST_SINGULAR_VALUE)) :]
    return v, across


def phases(flow: Flow, invariants: Invariants, x: Array, gradients: Array) -> Array:
    """The directions of time and symmetries along which integrals do not change, as rows of length 1 in units of the jets.

    `gradients` are those of the integrals that are kept, in the same units. They exclude the other directions: a rotation changes the
    angular momentum.
    """
    vectors = invariants.vectors(flow, x)
    if flow.autonomous:
        vectors = np.hstack([flow.rates(x)[:, None], vectors])
    v = _span(_unit(vectors / flow.sizes[:, None]))
    changed = _unit(gradients.T).T @ v
    if not changed.size:
        return v.T
    found: Array = split(changed, _LEAST_SINGULAR_VALUE, size=1.0).null.T @ v.T
    return found


def _unit(columns: Array) -> Array:
    lengths = np.linalg.norm(columns, axis=0)
    kept = columns[:, lengths > 0]
    found: Array = kept / lengths[lengths > 0]
    return found


def _span(columns: Array) -> Array:
    """An orthonormal basis of the space of columns."""
    if not columns.size:
        return np.zeros((len(columns), 0))
    left, s, _ = np.linalg.svd(columns, full_matrices=False)
    found: Array = left[:, s > _LEAST_SINGULAR_VALUE]
    return found


def _point(flow: Flow, x: Array) -> dict[Symbol, float]:
    point: dict[Symbol, float] = dict(zip(flow.run.jets, map(float, x), strict=True))
    point |= dict(zip(flow.equations.system.parameters, map(float, flow.p), strict=True))
    point[TIME] = flow.t0
    return point
