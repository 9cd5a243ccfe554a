r"""What the equations say when a single solve does not: completion by differentiation, judged at random points.

Rows are differentiated $c_i + k$ times for $k = 0, 1, \ldots$ Jets are split by the offsets into the state $x$ (below the top), the top
$y$ and what lies above, $w$. At points where all rows of the array vanish, ranks of its Jacobian tell how many constraints the state
obeys (`hidden`), which tops are left free, and whether the motion that the tops describe stays on the constraints (`tangent`). When it
does at every point, the array is complete. The answer is numerical evidence at several points, not a proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chetaev.analysis.ranks import Matrix, Point, points_on, rank
from chetaev.analysis.structure import loose_structure
from chetaev.equations import Equations
from chetaev.numerics.graph import GraphAlgebra
from chetaev.numerics.prolong import Prolongation, null_space, open_jets
from chetaev.symbols import TIME, Input, Jet, Multiplier
from chetaev.values import Undefined

_POINTS = 6
_MOST = 4
_TANGENT = 1e-6
_LARGEST = 100_000


@dataclass(frozen=True)
class Kind:
    """What one point of the array looks like."""

    hidden: int
    """Independent constraints on the state."""
    free: tuple[str, ...]
    """Tops the equations leave open."""
    tangent: bool


@dataclass(frozen=True)
class Completion:
    """The completed array: kinds of points met, the most frequent first."""

    system: Prolongation
    level: int
    kinds: tuple[tuple[Kind, int], ...]

    @property
    def complete(self) -> bool:
        """Whether the motion stays on the constraints at every point met."""
        return bool(self.kinds) and all(kind.tangent for kind, _ in self.kinds)


def completion(equations: Equations) -> Completion:
    """Differentiate until the constraints are closed, or the budget is spent."""
    system = Prolongation(equations, loose_structure(equations, GraphAlgebra()))
    found = Completion(system, 0, ())
    for level in range(_MOST + 1):
        array = _Array(system, level)
        if array.size > _LARGEST:
            break
        found = Completion(system, level, array.kinds())
        if found.complete:
            break
    return found


class _Array:
    """All rows up to a level, with their Jacobian split by the offsets."""

    def __init__(self, system: Prolongation, level: int) -> None:
        graph = system.algebra
        offsets = dict(zip((z.base for z in system.structure.unknowns), system.structure.unknown_offsets, strict=True))
        self.rows = [system.row((i, times)) for i, c in enumerate(system.structure.row_offsets) for times in range(c + level + 1)]
        present = set().union(*[graph.symbols(r) for r in self.rows])
        jets = {z for z in present if isinstance(z, Jet) and z.base in offsets} | set(system.structure.state) | set(system.structure.top)
        self.x = sorted((z for z in jets if z.order < offsets[z.base]), key=lambda z: z.name)
        self.y = sorted((z for z in jets if z.order == offsets[z.base]), key=lambda z: z.name)
        self.w = sorted((z for z in jets if z.order > offsets[z.base]), key=lambda z: z.name)
        self.inputs = sorted((z for z in present if isinstance(z, Input)), key=lambda z: z.name)
        columns = [*self.x, *self.y, *self.w, TIME, *self.inputs]
        self.graph = graph
        gradient = [d for r in self.rows for d in graph.gradient(r, columns)]
        self.size = len(gradient)
        self._tape = graph.tape(gradient) if self.size <= _LARGEST else None

    def kinds(self) -> tuple[tuple[Kind, int], ...]:
        """The kinds of points met, with how often."""
        points = points_on(self.rows, [*self.x, *self.y, *self.w], count=_POINTS, algebra=self.graph)
        found = Counter(kind for kind in map(self._kind, points) if kind is not None)
        return tuple(found.most_common())

    def _kind(self, point: Point) -> Kind | None:
        split = self._split(point)
        if split is None:
            return None
        jx, jy, jw, jt = split
        jyw = np.hstack([jy, jw])
        above = rank(jyw)
        hidden = rank(np.hstack([jx, jyw])) - above
        null = _rows_of(null_space(jyw), len(self.y))
        opened = tuple(z.name for z in open_jets(self.y, null) if not isinstance(z, Multiplier) or self._is_state(z))
        return Kind(hidden, opened, self._tangent(point, jx, jyw, jt, null))

    def _is_state(self, z: Jet) -> bool:
        return z.order > 0

    def _split(self, point: Mapping[Any, float]) -> tuple[Matrix, Matrix, Matrix, Matrix] | None:
        assert self._tape is not None  # noqa: S101 - arrays that are too large are not asked
        try:
            values = np.array(self._tape({**dict.fromkeys(self._tape.symbols, 0.5), **point}))
        except Undefined:
            return None
        jacobian = values.reshape(len(self.rows), -1)
        a, b, c = len(self.x), len(self.x) + len(self.y), len(self.x) + len(self.y) + len(self.w)
        rates = np.array([1.0, *[point.get(z.d(), 0.5) for z in self.inputs]])
        return jacobian[:, :a], jacobian[:, a:b], jacobian[:, b:c], jacobian[:, c:] @ rates

    def _tangent(self, point: Mapping[Any, float], jx: Matrix, jyw: Matrix, jt: Matrix, null: Matrix) -> bool:
        """Whether the state moves along the constraints, whatever the free tops are."""
        rates = np.array([point.get(z.d(), 0.0) for z in self.x])
        directions = [jt + jx @ rates]
        for column in null.T:
            shifted = dict(zip(self.y, column, strict=True))
            directions.append(jx @ np.array([shifted.get(z.d(), 0.0) for z in self.x]))
        return all(_in_range(jyw, v) for v in directions)


def _in_range(matrix: Matrix, vector: Matrix) -> bool:
    size = float(np.abs(vector).max(initial=0.0))
    if size < 1e-9 or matrix.shape[1] == 0:
        return size < 1e-7
    left = vector - matrix @ np.linalg.lstsq(matrix, vector, rcond=1e-9)[0]
    return float(np.abs(left).max()) < _TANGENT * max(1.0, size)


def _rows_of(null: Matrix, count: int) -> Matrix:
    """The part of a null space on the first rows, without columns that vanish there."""
    part = null[:count]
    if not part.shape[1]:
        return part
    u, s, _ = np.linalg.svd(part, full_matrices=False)
    return u[:, s > 1e-7 * max(1.0, float(s[0]))]
