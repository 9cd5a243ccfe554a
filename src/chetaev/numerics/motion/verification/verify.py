r"""verify: an independent certificate that a motion satisfies the rows it was derived from.

The motion is read as functions of time. None of the differentiated, solved or projected equations that computed it are used:

- `nodes`: the stored states, compared with the dense output there.
- `rate of x`: $x'$ of the state against the time derivative of the dense output of $x$.
- `rate of A.w`: the same for the numbers of a group coordinate, whose rate is $\tfrac12 q\,\omega$ or the like.
- `kinematic[k]`: the constraint as stated, not differentiated.
- `work of δx`: $(E_i - u_i)\,v^i$, where $v$ is the part of the direction $\delta x$ that lies in $C_V$, the null space of $R_V$ at that
  point. Multipliers do not occur.
- `E_x`: the row itself with the multipliers the motion reports. Vakonomic motions have no $C_V$; their multipliers are part of the motion.
- `action`: $s' = L$.
- `mode of s`: the distance of $(s, m)$ from the graph of the sign, $s = 0$ or $m = \mathrm{sign}(s)$, with $|m| \le 1$, for every
  switching function of the equations and of the inputs; the other rows are taken with these modes.
- `corner max(0, sign(s))`: nested corner functions as the user wrote them, against their form in modes.
- `rest of x'^2 + y'^2`: whether planar friction can hold a body that rests.

A residual is relative to the largest sum of the terms of its row over the motion. Where all terms of a row are
smaller than the errors of typical quantities, because they vanish by symmetry, it is relative to the sum of terms of typical sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr, S, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Jet, Multiplier
from chetaev.mechanics.assemble import assemble, reaction
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Variation
from chetaev.mechanics.tolerances import ALMOST_ZERO, CUT
from chetaev.numerics.corners.mode import Direction, Mode, Touch
from chetaev.numerics.corners.modes import nested_corners, smooth
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.magnitude import magnitudes
from chetaev.numerics.motion.reader import Reader
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.motion.verification.corners import complementarity, corner_as_written, with_rest
from chetaev.numerics.motion.verification.curve import Curve, Row
from chetaev.numerics.motion.verification.labels import Check, Label

Array = NDArray[np.float64]

_OUTSIDE_DIRECTION = 1e-12
"""Length of a projected coordinate direction below which the direction is not in C_V at all."""
_MOST_ENTRIES = 100_000
"""Most entries of all matrices together whose null spaces are computed; larger systems are checked at fewer points."""


@dataclass(frozen=True)
class Residual:
    """The residual of one row along a motion, relative to the size of its terms, with the time of the largest."""

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
    residuals: Frozen[Label, Residual]

    @property
    def worst_row(self) -> Label:
        """The label of the row with the largest residual."""
        return max(self.residuals, key=lambda label: _order(self.residuals[label].largest))

    @property
    def worst(self) -> float:
        """The largest residual relative to the terms of its row; not a number if the motion has no finite value somewhere."""
        return self.residuals[self.worst_row].largest

    def __getitem__(self, label: str) -> Residual:
        return self.residuals[label]  # type: ignore[index]

    def __iter__(self) -> Iterator[Label]:
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
    """Return the residuals of the original rows along a motion, at random times: one in every step, and at least `points` in all.

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
        raise UsageError(f"points={points!r} is not a number of points.", where=where, hint=SetArgument("points", 200))
    if len(motion.t) < 2:
        raise UsageError("a motion of a single state cannot be verified.", where=where, hint=SetArgument("t", (0, 10), "simulate"))
    curve = Curve.of(motion, points)
    rows: dict[Label, Row] = {}
    for z in motion.jets:
        if z.d() in motion.jets:
            rows[Label.about("rate", z.name, Check.RATE)] = curve.against_rate(z, curve.jet(z.d()))
    for group in motion.equations.system.groups.values():
        rows |= {} if group.reduced else _turning(group, curve)
    reader = motion.reader
    inputs = reader.binding.inputs if isinstance(reader, Reader) else {}  # other readers do not provide them
    switched = smooth(motion.equations, Frozen(inputs))
    rows |= with_rest(switched, curve, _mechanics, _along)
    modes = [mode for mode in switched.modes if not isinstance(mode, Direction | Touch)]
    rows |= {Label.about("mode", mode.text, Check.MODE): _graph_of_sign(mode, curve) for mode in modes}
    touching = [mode for mode in switched.modes if isinstance(mode, Touch)]
    rows |= {Label(f"contact {m.contact.name}", Check.CONTACT): complementarity(m, curve, _along) for m in touching}
    corners = nested_corners(switched, inputs)
    rows |= {Label(f"corner {show(e)}", Check.CORNER): corner_as_written(e, switched, curve, _along) for e in corners}
    found = {Label("nodes", Check.NODES): _nodes(motion, curve)}
    found |= {label: _summary(row, curve.t, curve.faint) for label, row in rows.items()}
    title = f"{motion.equations.system.name or 'system'} · {motion.equations.principle}"
    return Verification(title, len(curve.t), Frozen(found))


def _turning(group: GroupCoordinate, curve: Curve) -> dict[Label, Row]:
    """Compare the rates of the numbers of a group coordinate with those that follow from its velocity."""
    velocity = [curve.jet(q.d()) for q in group.components]
    said = group.group.rates([curve.jet(z) for z in group.places], velocity, group.body, np.cos, np.sin)
    turning = max((float(np.abs(rate).max(initial=0.0)) for rate in said), default=0.0)
    found = {}
    for z, rate in zip(group.places, said, strict=False):
        row = curve.against_rate(z, rate)
        found[Label.about("rate", z.name, Check.RATE)] = row._replace(
            usual=max(turning, curve.usual(z) / abs(curve.motion.t[-1] - curve.motion.t[0]))
        )
    return found


def _along(expressions: Sequence[Expr], curve: Curve) -> Array:
    """Expressions along a curve, one line each."""
    graph = GraphAlgebra()
    return _Values(graph, curve).evaluated([graph.of(e) for e in expressions])


def _mechanics(equations: Equations, curve: Curve, held: Sequence[Multiplier] = ()) -> dict[Label, Row]:
    """Residuals and sizes of terms of the rows as the principle states them, before anything is eliminated or differentiated.

    Multipliers of forces that hold a body at rest belong to no reaction.
    """
    lowered = equations.lowered
    graph = GraphAlgebra()
    coordinates = lowered.system.coordinates
    rows = assemble(lowered, graph)
    varied = {row.origin.coordinate: row.residual for row in rows if isinstance(row.origin, Variation)}
    values = _Values(graph, curve)
    reported = len(equations.multipliers) == len(lowered.multipliers)
    stated = [row for row in rows if reported or not isinstance(row.origin, Variation)]
    found = dict(zip(map(Label.of_row, stated), values.rows([row.residual for row in stated]), strict=True))
    first = {label: row for label, row in found.items() if label.check is Check.CONSTRAINT}
    last = {label: row for label, row in found.items() if label.check is not Check.CONSTRAINT}
    work: dict[Label, Row] = {}
    if len(lowered.reactions) > len(held):
        acting = tuple(lowered.reactions)[: len(lowered.reactions) - len(held)]  # those that hold a body at rest come last
        nothing = graph.of(S.Zero)
        own = [varied.get(q.base, nothing) for q in coordinates]  # no force acts on coordinates without a row
        if lowered.system.multipliers_in_forces:  # which do work
            free = [row + graph.of(reaction(lowered, q)) for row, q in zip(own, coordinates, strict=True)]
        else:
            free = [graph.without(row, acting) for row in own]
        work = _virtual_work(equations, values, free)
    return {**first, **work, **last}


def _graph_of_sign(mode: Mode, curve: Curve) -> Row:
    """Return the distance of a switching function and its mode from the graph of the sign."""
    graph = GraphAlgebra()
    values = _Values(graph, curve)
    s, terms, usual, _ = values.rows([graph.of(mode.function)])[0]
    m = curve.value(mode.symbol)
    wrong = np.where(np.abs(m) < 1, np.abs(s), np.maximum(-m * s, 0.0))
    return Row(wrong + np.maximum(np.abs(m) - 1, 0.0), np.maximum(terms, np.abs(s)), usual)


def _virtual_work(equations: Equations, values: _Values, rows: Sequence[ca.SX]) -> dict[Label, Row]:
    """Return the virtual work, by rows without the multipliers of reactions, along the projections of the coordinate directions onto C_V;
    for large systems at some of the points only.
    """
    lowered, graph = equations.lowered, values.graph
    coordinates = lowered.system.coordinates
    free = values.rows(rows)
    force, size = np.stack([row.residual for row in free], axis=1), np.stack([row.terms for row in free], axis=1)
    usual, noise = np.array([row.usual for row in free]), np.stack([row.noise + 0.0 * row.residual for row in free], axis=1)
    entries = [graph.of(row.get(q, S.Zero)) for row in lowered.reactions.values() for q in coordinates]
    matrices = values.evaluated(entries).T.reshape(-1, len(lowered.reactions), len(coordinates))
    every = max(1, len(matrices) * len(coordinates) * len(lowered.reactions) // _MOST_ENTRIES)
    allowed = np.zeros((len(matrices), len(coordinates), len(coordinates)))
    allowed[::every] = _projectors(matrices[::every])
    found = {}
    for k, q in enumerate(coordinates):
        direction = allowed[:, :, k]
        if not np.abs(direction).max() <= _OUTSIDE_DIRECTION:
            work, terms = np.sum(direction * force, axis=1), np.sum(np.abs(direction) * size, axis=1)
            most = float(np.max(np.sum(np.abs(direction) * usual, axis=1)))
            found[Label.about("work", f"δ{q.base}", Check.WORK)] = Row(work, terms, most, np.sum(np.abs(direction) * noise, axis=1))
    return found


def _projectors(matrices: Array) -> Array:
    """Orthogonal projections onto the null spaces of matrices."""
    scales = np.abs(matrices).max(axis=2, keepdims=True)
    finite = np.isfinite(matrices).all(axis=(1, 2), keepdims=True)
    scaled = np.where(finite, matrices / np.where(scales > 0, scales, 1.0), 0.0)
    _, s, vt = np.linalg.svd(scaled, full_matrices=False)
    kept = vt * np.where(s > CUT * np.maximum(s[:, :1], ALMOST_ZERO), 1.0, 0.0)[:, :, None]
    return np.where(finite, np.eye(matrices.shape[2]) - np.einsum("pri,prj->pij", kept, kept), np.nan)


class _Values:
    """Expressions of a graph along a curve."""

    def __init__(self, graph: GraphAlgebra, curve: Curve) -> None:
        self.graph, self.curve = graph, curve

    def rows(self, expressions: Sequence[ca.SX]) -> list[Row]:
        """Residuals with the sizes of their terms, for all rows at once."""
        n = len(expressions)
        function, symbols = self._function([*expressions, *magnitudes(expressions)])
        found = self._along(function, symbols)
        usual = np.array([float(self.curve.t.max()) if z == TIME else self.curve.usual(z) for z in symbols])
        sizes = np.array(function(usual)).ravel()[n:]
        sizes = np.where(np.isfinite(sizes), sizes, 0.0)
        noise = self._round_off(expressions)
        return [Row(found[k], found[n + k], float(sizes[k]), noise[k]) for k in range(n)]

    def _round_off(self, expressions: Sequence[ca.SX]) -> Array:
        """Return the effect of the round-off of derivatives of the dense output on rows."""
        column = ca.densify(ca.vertcat(*expressions))
        derived = [z for z in self.graph.symbols(column) if isinstance(z, Jet) and self.curve.derived(z)]
        found = np.zeros((len(expressions), len(self.curve.t)))
        for z, slopes in zip(derived, ca.horzsplit(ca.densify(ca.jacobian(column, self.graph.vector(derived)))), strict=True):
            rows = [k for k, e in enumerate(ca.vertsplit(slopes)) if not e.is_zero()]
            found[rows] += np.abs(self.evaluated([slopes[k] for k in rows])) * self.curve.round_off(z)
        return found

    def evaluated(self, expressions: Sequence[ca.SX]) -> Array:
        """The values of expressions, one line each."""
        return self._along(*self._function(expressions))

    def _function(self, expressions: Sequence[ca.SX]) -> tuple[ca.Function, list[Symbol]]:
        column = ca.densify(ca.vertcat(*expressions))
        symbols = sorted(self.graph.symbols(column), key=lambda z: str(z.name))
        return self.graph.function("rows", [self.graph.vector(symbols)], column, cse=True), symbols

    def _along(self, function: ca.Function, symbols: Sequence[Symbol]) -> Array:
        size = len(self.curve.t)
        if not symbols:
            return np.repeat(np.array(function(np.zeros(0))), size, axis=1)
        found: Array = function.map(size)(np.stack([self.curve.value(z) for z in symbols])).full()
        return found


def _nodes(motion: Trajectory, curve: Curve) -> Residual:
    """Compare the stored states, and the end, with the dense output at their times."""
    count = len(motion.jets)
    times = np.append(motion.t, motion.end[0])
    kept = np.vstack([motion.states, motion.end[1]])[:, :count]
    dense = motion.at(times).states[:, :count]
    before = np.append(np.diff(times) == 0, False)
    before[-2:] = False
    if motion.pieces is not None and before.any():  # the state before a jump is the end of a piece
        which = np.append(motion.pieces, motion.pieces[-1])
        dense[before] = motion.reader.states_at(times[before], which[before])[:, :count]
    scale, usual = np.abs(dense).max(axis=0), np.array([curve.usual(z) for z in motion.jets])
    scale = np.where(scale > curve.faint * usual, scale, usual)
    off = np.abs(kept - dense) / np.where(scale > 0, scale, 1.0)
    return _summary(Row(off.max(axis=1), np.ones(len(times)), 1.0), times, 0.0)


def _summary(row: Row, t: Array, faint: float) -> Residual:
    """Return the residual relative to the largest terms along the motion, so that times where all terms vanish do not matter."""
    off = np.abs(row.residual) - row.noise
    residual, size = np.where(off < 0, 0.0, off), float(np.max(row.terms))
    size = size if not size <= faint * row.usual else row.usual
    scale = size if size > 0 else 1.0
    relative = np.abs(residual) / scale
    worst = int(np.argmax(np.where(np.isnan(relative), np.inf, relative)))
    return Residual(float(relative[worst]), float(np.sqrt(np.mean(relative**2))), float(t[worst]), size)


def _order(size: float) -> float:
    return np.inf if np.isnan(size) else size
