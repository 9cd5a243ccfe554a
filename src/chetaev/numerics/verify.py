r"""verify: an independent certificate that a motion satisfies the rows it was derived from.

The motion is read as functions of time, and nothing is taken from the differentiated, solved or projected equations it was computed by:

- `nodes`: the states kept, compared with the dense output there.
- `rate of x`: $x'$ of the state against the time derivative of the dense output of $x$.
- `rate of A.w`: the same for the place of a group coordinate, whose rate is $\tfrac12 q\,\omega$ or the like.
- `kinematic[k]`: the constraint as stated, not differentiated.
- `work of δx`: $(E_i - u_i)\,v^i$, where $v$ is the part of the direction $\delta x$ that lies in $C_V$, the null space of $R_V$ at that
  point. Multipliers do not occur.
- `E_x`: the row itself with the multipliers the motion reports. Vakonomic motions have no $C_V$; their multipliers are part of the motion.
- `action`: $s' = L$.
- `mode of s`: the distance of $(s, m)$ from the graph of the sign, $s = 0$ or $m = \mathrm{sign}(s)$, with $|m| \le 1$, for every
  switching function of the equations and of the inputs; the other rows are taken with these modes.
- `corner max(0, sign(s))`: corner functions inside one another as the user wrote them, against what the modes make of them.

Time derivatives above the state come from the dense output of each step, expanded in Chebyshev polynomials and differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from sympy import Expr, S, Symbol

from chetaev.assemble import assemble
from chetaev.equations import Equations
from chetaev.errors import UsageError
from chetaev.frozen import Frozen
from chetaev.groups.coordinate import GroupCoordinate
from chetaev.notation import show
from chetaev.numerics.graph import GraphAlgebra
from chetaev.numerics.modes import SLIDING, Direction, Mode, Switched, nested_corners, sliding, smooth
from chetaev.numerics.reader import Reader
from chetaev.symbols import TIME, Jet, Multiplier, Parameter
from chetaev.trajectory import Trajectory

Array = NDArray[np.float64]

_DEGREE = 9
"""Of the polynomial that represents a step; the method's own has degree 7, and projection bends it a little."""
_FLAT = 1e-12
"""A direction of C_V shorter than this is forbidden altogether."""
_RANK = 1e-9
_NOTHING = 1e-28
"""A component that is never larger than this part of the largest one is what projection leaves of zero."""


@dataclass(frozen=True)
class Residual:
    """How well one row holds along a motion: relative to the size of its terms, and where it is worst."""

    largest: float
    rms: float
    t: float
    scale: float
    """The size of the row's terms."""


@dataclass(frozen=True, repr=False)
class Verification(Mapping[str, Residual]):
    """Residuals by row; `worst` is the largest of them, `worst_row` its label."""

    title: str
    points: int
    residuals: Frozen[str, Residual]

    @property
    def worst_row(self) -> str:
        """The label of the row that holds least well."""
        return max(self.residuals, key=lambda label: _order(self.residuals[label].largest))

    @property
    def worst(self) -> float:
        """The largest residual relative to the terms of its row; not a number if the motion has no finite value somewhere."""
        return self.residuals[self.worst_row].largest

    def __getitem__(self, label: str) -> Residual:
        return self.residuals[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.residuals)

    def __len__(self) -> int:
        return len(self.residuals)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        width = max(map(len, self))
        lines = [
            self.title,
            f"  {self.points} points; residuals relative to the terms of each row",
            f"  {'':<{width}}  largest  rms      at t",
        ]
        lines += [f"  {label:<{width}}  {r.largest:.1e}  {r.rms:.1e}  {r.t:.6g}" for label, r in self.items()]
        return "\n".join([*lines, f"  worst: {self.worst_row}, {self.worst:.1e}"])


def verify(motion: Trajectory, points: int = 200) -> Verification:
    """The residuals of the original rows along a motion, at so many times spread evenly over it.

    For a motion computed with some tolerance expect residuals of `E_x` one or two orders above it, because the derivative of an interpolant
    is less exact than the interpolant. Undifferentiated constraints hold to round-off.

    >>> from chetaev import System, derive, simulate
    >>> spring = System("x", lagrangian="x'^2/2 - x^2/2", name="spring")
    >>> found = verify(simulate(derive(spring), {"x": 1, "x'": 0}, (0, 10)))
    >>> found.worst < 1e-6
    True
    """
    where = f"verify the motion of {motion.equations.system.label}"
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise UsageError(f"points={points!r} is not a number of points.", where=where, hint="points=200")
    if len(motion.t) < 2:
        raise UsageError("a motion of a single state cannot be verified.", where=where, hint="simulate(..., t=(t0, t1))")
    curve = _Curve.of(motion, points)
    rows: dict[str, tuple[Array, Array]] = {}
    for z in motion.jets:
        if z.d() in motion.jets:
            rows[f"rate of {z.name}"] = (curve.jet(z.d()) - curve.rate(z, 1), np.abs(curve.jet(z.d())) + curve.natural(z, 1))
    for group in motion.equations.system.groups.values():
        rows |= {} if group.reduced else _turning(group, curve)
    reader = motion.reader
    inputs = reader.binding.inputs if isinstance(reader, Reader) else {}  # another account of the motion does not tell them
    switched = smooth(motion.equations, Frozen(inputs))
    rows |= _with_rest(switched, curve)
    rows |= {f"mode of {mode.text}": _graph_of_sign(mode, curve) for mode in switched.modes if not isinstance(mode, Direction)}
    rows |= {f"corner {show(e)}": _corner(e, switched, curve) for e in nested_corners(switched, inputs)}
    found = {"nodes": _nodes(motion)}
    found |= {label: _summary(residual, terms, curve.t) for label, (residual, terms) in rows.items()}
    title = f"{motion.equations.system.name or 'system'} · {motion.equations.principle}"
    return Verification(title, points, Frozen(found))


@dataclass(frozen=True)
class _Curve:
    """A motion at some times, with the time derivatives of its dense output there."""

    motion: Trajectory
    t: Array
    states: Array
    half: Array
    """Half the length of the step each time lies in."""
    place: Array
    """Where in its step each time lies, from -1 to 1."""
    coefficients: Array
    """Chebyshev coefficients of the states over each step: time, degree, component."""

    @staticmethod
    def of(motion: Trajectory, points: int) -> _Curve:
        nodes = motion.t
        first, last = float(nodes[0]), float(nodes[-1])
        t = first + (last - first) * (np.arange(points) + 0.5) / points
        forward = 1.0 if last > first else -1.0
        step = np.clip(np.searchsorted(forward * nodes, forward * t, side="right") - 1, 0, len(nodes) - 2)
        middle, half = (nodes[step + 1] + nodes[step]) / 2, (nodes[step + 1] - nodes[step]) / 2
        inner = chebyshev.chebpts1(_DEGREE + 1)
        times = middle[:, None] + half[:, None] * inner
        states = motion.at(times.ravel()).states.reshape(*times.shape, -1)
        coefficients = np.einsum("dm,pmc->pdc", np.linalg.inv(chebyshev.chebvander(inner, _DEGREE)), states)
        return _Curve(motion, t, motion.at(t).states, half, (t - middle) / half, coefficients)

    def only(self, wanted: NDArray[np.bool_]) -> _Curve:
        """The curve at some of its times."""
        parts = (self.t, self.states, self.half, self.place, self.coefficients)
        return _Curve(self.motion, *[part[wanted] for part in parts])

    def jet(self, z: Jet) -> Array:
        """A jet: of the state, or a derivative of the highest one of the state, or what the motion reports."""
        if z in self.motion.jets:
            return self.states[:, self.motion.jets.index(z)]
        top = self._below(z)
        return self.reported(z) if top is None else self.rate(top, z.order - top.order)

    def rate(self, z: Jet, times: int) -> Array:
        """A derivative of the dense output of a jet of the state."""
        column = self.coefficients[:, :, self.motion.jets.index(z)]
        derived = chebyshev.chebder(column.T, times)
        values = np.einsum("pd,dp->p", chebyshev.chebvander(self.place, len(derived) - 1), derived)
        return values / self.half**times

    def natural(self, z: Jet, times: int) -> float:
        """What a derivative of a jet is compared with where it vanishes: the jet itself over the duration of the motion."""
        return float(np.abs(self.jet(z)).max()) / abs(float(self.motion.t[-1] - self.motion.t[0])) ** times

    def size(self, z: Symbol) -> Array:
        """How large a symbol is, for comparison."""
        found = np.abs(self.value(z))
        top = self._below(z) if isinstance(z, Jet) and z not in self.motion.jets else None
        return found if top is None else found + self.natural(top, z.order - top.order)

    def _below(self, z: Jet) -> Jet | None:
        """The highest jet of the state below a jet."""
        below = [w for w in self.motion.jets if w.base == z.base and type(w) is type(z) and w.order < z.order]
        return max(below, key=lambda w: w.order, default=None)

    def reported(self, z: Symbol) -> Array:
        """What the motion itself says: multipliers, inputs, parameters, modes."""
        known = z not in self.motion.equations.system.parameters and isinstance(z, Parameter)
        return (self.motion.reader.driven if known else self.motion.reader.values)(z, self.t, self.states)

    def value(self, z: Symbol) -> Array:
        """Any symbol of a row along the motion."""
        if z == TIME:
            return self.t
        return self.jet(z) if isinstance(z, Jet) else self.reported(z)


def _turning(group: GroupCoordinate, curve: _Curve) -> dict[str, tuple[Array, Array]]:
    """The rates of the places of a group coordinate against those that its velocity says."""
    velocity = [curve.jet(q.d()) for q in group.components]
    said = group.group.rates([curve.jet(z) for z in group.places], velocity, group.body, np.cos, np.sin)
    return {
        f"rate of {z.name}": (rate - curve.rate(z, 1), np.abs(rate) + curve.natural(z, 1))
        for z, rate in zip(group.places, said, strict=False)
    }


def _mechanics(equations: Equations, curve: _Curve, held: Sequence[Multiplier] = ()) -> dict[str, tuple[Array, Array]]:
    """Residuals and sizes of terms of the rows as the principle states them, before anything is eliminated or differentiated.

    Multipliers of forces that hold a body at rest belong to no reaction.
    """
    lowered = equations.lowered
    graph = GraphAlgebra()
    coordinates = lowered.system.coordinates
    written = {row.label: row.residual for row in assemble(lowered, graph)}
    forces = [f"E_{q.base}" for q in coordinates]
    values = _Values(graph, curve)
    found = {label: values.row(e) for label, e in written.items() if label not in forces}
    reported = len(equations.multipliers) == len(lowered.multipliers)
    if not lowered.vakonomic and len(lowered.multipliers) > len(held):
        found |= _virtual_work(equations, values, [written.get(label, graph.of(S.Zero)) for label in forces], held)
    if reported:
        found |= {label: values.row(written[label]) for label in forces if label in written}  # nothing acts on the others
    return {label: found[label] for label in sorted(found, key=_reading_order)}


def _with_rest(switched: Switched, curve: _Curve) -> dict[str, tuple[Array, Array]]:
    """The rows of mechanics. Where planar friction holds a body at rest they contain what takes the place of its unit vector, `rest of`
    says whether that is no longer than one and the speed is zero.
    """
    directions = [(k, mode) for k, mode in enumerate(switched.modes) if isinstance(mode, Direction)]
    reader, count = curve.motion.reader, len(curve.t)
    if not directions or not isinstance(reader, Reader):
        return _mechanics(switched.smooth, curve)
    configurations = [reader.pieces[k].setting.configuration for k in reader.pieces_at(curve.t)]
    still = np.array([[m[k] == SLIDING for k, _ in directions] for m in configurations])
    rows: dict[str, tuple[Array, Array]] = {}
    for kind in np.unique(still, axis=0):
        here = (still == kind).all(axis=1)
        resting = tuple(mode for (_, mode), rests in zip(directions, kind, strict=True) if rests)
        part = curve.only(here)
        held = [unknown for mode in resting for unknown in mode.unknowns]
        found = _mechanics(sliding(switched.smooth, resting) if resting else switched.smooth, part, held)
        stated = len(switched.original.system.kinematic)
        found = {label: columns for label, columns in found.items() if label not in {f"kinematic[{stated + k}]" for k in range(len(held))}}
        values = _Values(GraphAlgebra(), part)
        for mode in resting:
            length, speed = (values.of(values.graph.of(e)) for e in (mode.length, mode.function))
            found[f"rest of {mode.text}"] = np.maximum(length - 1, 0.0) + np.abs(speed), np.ones(len(part.t))
        for label, columns in found.items():
            for whole, column in zip(rows.setdefault(label, (np.zeros(count), np.zeros(count))), columns, strict=True):
                whole[here] = column
    return rows


def _graph_of_sign(mode: Mode, curve: _Curve) -> tuple[Array, Array]:
    """How far a switching function and its mode are from being a number and its sign."""
    graph = GraphAlgebra()
    values = _Values(graph, curve)
    s, terms = values.row(graph.of(mode.function))
    m = curve.value(mode.symbol)
    wrong = np.where(np.abs(m) < 1, np.abs(s), np.maximum(-m * s, 0.0))
    return wrong + np.maximum(np.abs(m) - 1, 0.0), np.maximum(terms, np.abs(s))


def _corner(corner: Expr, switched: Switched, curve: _Curve) -> tuple[Array, Array]:
    """A corner function of the user's against what the modes make of it; while the motion slides on a surface they may differ."""
    graph = GraphAlgebra()
    values = _Values(graph, curve)
    written, known = (values.of(graph.of(e)) for e in (corner, switched.replaced(corner)))
    inside = [curve.value(mode.symbol) for mode in switched.modes if not isinstance(mode, Direction)]
    slides = np.any([np.abs(m) < 1 for m in inside], axis=0)
    return np.where(slides, 0.0, written - known), np.abs(written) + np.abs(known)


def _virtual_work(
    equations: Equations, values: _Values, rows: Sequence[ca.SX], held: Sequence[Multiplier]
) -> dict[str, tuple[Array, Array]]:
    """Virtual work against the projections of the coordinate directions onto C_V."""
    lowered, graph = equations.lowered, values.graph
    coordinates = lowered.system.coordinates
    acting = lowered.multipliers[: len(lowered.multipliers) - len(held)]  # those that hold a body at rest come last
    free = [values.row(graph.without(e, acting)) for e in rows]
    force, size = np.stack([r for r, _ in free], axis=1), np.stack([s for _, s in free], axis=1)
    entries = [graph.of(row.get(q, S.Zero)) for row in lowered.reactions for q in coordinates]
    matrices = np.stack([values.of(e) for e in entries], axis=1).reshape(-1, len(lowered.reactions), len(coordinates))
    allowed = _projectors(matrices)
    found = {}
    for k, q in enumerate(coordinates):
        direction = allowed[:, :, k]
        if not np.abs(direction).max() <= _FLAT:
            found[f"work of δ{q.base}"] = (np.sum(direction * force, axis=1), np.sum(np.abs(direction) * size, axis=1))
    return found


def _projectors(matrices: Array) -> Array:
    """Orthogonal projections onto the null spaces of matrices."""
    scales = np.abs(matrices).max(axis=2, keepdims=True)
    finite = np.isfinite(matrices).all(axis=(1, 2), keepdims=True)
    scaled = np.where(finite, matrices / np.where(scales > 0, scales, 1.0), 0.0)
    _, s, vt = np.linalg.svd(scaled, full_matrices=False)
    kept = vt * np.where(s > _RANK * np.maximum(s[:, :1], 1e-300), 1.0, 0.0)[:, :, None]
    return np.where(finite, np.eye(matrices.shape[2]) - np.einsum("pri,prj->pij", kept, kept), np.nan)


class _Values:
    """Expressions of a graph along a curve."""

    def __init__(self, graph: GraphAlgebra, curve: _Curve) -> None:
        self.graph, self.curve = graph, curve
        self._known: dict[Symbol, Array] = {}

    def of(self, e: ca.SX) -> Array:
        """The values of an expression."""
        return self._evaluated([e])[0]

    def row(self, e: ca.SX) -> tuple[Array, Array]:
        r"""A residual, and the size of its terms $\sum_z |\partial e/\partial z|\,|z|$ over the quantities in it."""
        symbols = [z for z in sorted(self.graph.symbols(e), key=lambda z: str(z.name)) if z != TIME]
        residual, *slopes = self._evaluated([e, *self.graph.gradient(e, symbols)])
        sizes = [np.abs(slope) * self.curve.size(z) for z, slope in zip(symbols, slopes, strict=True)]
        return residual, sum(sizes, np.zeros_like(residual))

    def _value(self, z: Symbol) -> Array:
        if z not in self._known:
            self._known[z] = self.curve.value(z)
        return self._known[z]

    def _evaluated(self, expressions: Sequence[ca.SX]) -> Array:
        column = ca.densify(ca.vertcat(*expressions))
        symbols = sorted(self.graph.symbols(column), key=lambda z: str(z.name))
        size = len(self.curve.t)
        if not symbols:
            return np.repeat(np.array(self.graph.function("row", [], column)()["o0"].full()), size, axis=1)
        function = self.graph.function("row", [self.graph.vector(symbols)], column)
        found: Array = function.map(size)(np.stack([self._value(z) for z in symbols])).full()
        return found


def _nodes(motion: Trajectory) -> Residual:
    """The states kept, and the end, against the dense output at their times."""
    count = len(motion.jets)
    times = np.append(motion.t, motion.end[0])
    kept = np.vstack([motion.states, motion.end[1]])[:, :count]
    dense = motion.at(times).states[:, :count]
    before = np.append(np.diff(times) == 0, False)
    before[-2:] = False
    if motion.pieces is not None and before.any():  # the state before a jump is the end of a piece
        which = np.append(motion.pieces, motion.pieces[-1])
        dense[before] = motion.reader.states_at(times[before], which[before])[:, :count]
    scale = np.abs(dense).max(axis=0)
    off = np.abs(kept - dense) / np.where(scale > _NOTHING * scale.max(initial=0.0), scale, 1.0)
    return _summary(off.max(axis=1), np.ones(len(times)), times)


def _summary(residual: Array, terms: Array, t: Array) -> Residual:
    """Relative to the largest size the terms have along the motion, so that moments where all of them vanish do not count."""
    size = float(np.max(terms))
    scale = size if size > 0 else 1.0
    relative = np.abs(residual) / scale
    worst = int(np.argmax(np.where(np.isnan(relative), np.inf, relative)))
    return Residual(float(relative[worst]), float(np.sqrt(np.mean(relative**2))), float(t[worst]), size)


def _order(size: float) -> float:
    return np.inf if np.isnan(size) else size


def _reading_order(label: str) -> int:
    return ["kinematic", "work", "E_", "action"].index(next(p for p in ("kinematic", "work", "E_", "action") if label.startswith(p)))
