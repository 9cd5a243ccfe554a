r"""The net under a simulation: evidence that does not depend on how the motion was computed.

- *rows*: at the ends of every piece and at some of its nodes the compiled rates are inserted into the rows, which are evaluated as they are
  written, differentiated but not solved. What is no rate, such as multipliers, is fitted. Residuals are relative to the terms of the row.
- *defect*: at a random place inside some of its steps, the derivative of the continuous motion against the rates there, times the step,
  relative to the size of the jet.
- *balance*: energy minus work, relative to the energies that occurred.

A row all of whose terms are round-off, because they vanish by symmetry, is measured by what is usual for its jets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from chetaev.certificate import Certificate, Figure
from chetaev.numerics.accuracy import kinds_of
from chetaev.numerics.compiled import Array, Compiled
from chetaev.numerics.magnitude import magnitudes
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import derivatives
from chetaev.numerics.pieces import Piece
from chetaev.numerics.remembered import Remembered
from chetaev.symbols import TIME, Jet

ROWS = 1e-8
"""The residual of a row that rates may leave, relative to its terms. Over the gallery they leave up to 4e-13, elimination with pivots
chosen beforehand included."""
_DEFECT = 1e4
"""The defect of a step in units of the tolerance: the derivative of an interpolant is less exact than the motion, over the gallery by a
factor of up to 800."""
_BALANCE = 100.0
"""The balance in units of the tolerance times ten more than the number of steps; over the gallery up to 0.2."""
_RANK = 1e-13
"""Directions of the fitted unknowns below this are not determined."""
_MOST = 0.3
"""No figure may be larger, however loose the tolerance is."""
_LEAST = 1e-10
"""Round-off in the derivative of an interpolant."""
_SAMPLE = 8
"""Nodes and steps of a piece that are looked at."""
_PIECES = 64
"""Pieces of a motion that are looked at, besides the last."""
NOTHING = 1e-10
"""Terms below this part of what is usual for their jets are round-off."""
_KERNELS: Remembered[Any] = Remembered(64)


@dataclass(frozen=True)
class Rows:
    """The rows of a flow as they are written, as a function of (t, state and rates, p). It is called a few times only."""

    labels: tuple[str, ...]
    function: ca.Function
    """Residuals without the fitted unknowns, their coefficients, and the sizes of all other terms."""
    sources: tuple[int, ...]
    """The places of those rates that occur."""
    fitted: int
    """How many unknowns are fitted."""


def rows_of(compiled: Compiled) -> Rows:
    """The rows of compiled equations; remembered."""
    found: Rows = _KERNELS.get(compiled, (), lambda: _rows(compiled))
    return found


def _rows(compiled: Compiled) -> Rows:
    flow = compiled.flow
    pairs = flow.system.stage(0)
    rows = [flow.system.row(pair) for pair in pairs]
    rates = {z.d(): k for k, z in enumerate(flow.state)}
    top = flow.system.structure.top
    moving = [z for z in top if z in rates]
    fitted = [z for z in top if z not in rates]
    column = ca.vertcat(*rows)
    slopes = ca.densify(ca.jacobian(column, flow.graph.vector(fitted))) if fitted else ca.SX(len(rows), 0)
    plain = ca.vertsplit(ca.densify(flow.graph.without(column, fitted)))
    outputs = [*plain, *ca.vertsplit(ca.vec(slopes)), *magnitudes(plain)]
    x = ca.vertcat(flow.graph.vector(flow.state), *flow.work, flow.graph.vector(moving))
    p = ca.vertcat(flow.graph.vector(flow.arguments), flow.start_energy)
    function = flow.graph.function("rows", [flow.graph.leaf(TIME), x, p], ca.vertcat(*outputs))
    return Rows(tuple(map(flow.system.label, pairs)), function, tuple(rates[z] for z in moving), len(fitted))


@dataclass(frozen=True)
class Evidence:
    """What a piece shows: sizes of residuals and defects, where each is worst."""

    piece: Piece
    seed: int

    @cached_property
    def sizes(self) -> Array:
        """The largest value of each component."""
        run = self.piece.run
        return np.maximum(np.abs(run.minima), np.abs(run.maxima))

    def rows(self) -> tuple[float, str, float]:
        """The largest residual of a row relative to its terms, its label, and the time."""
        piece = self.piece
        compiled = piece.setting.compiled
        rows, times, states = rows_of(compiled), *self._nodes()
        residuals, sizes = residuals_at(rows, compiled, piece.setting, times, states, piece.reference)
        if not np.all(np.isfinite(residuals)):
            return 0.0, "", np.nan  # a singular state, of which others tell
        scale = measured_by(measured_by(sizes, sizes.max(axis=0)), self._usual(rows, times, states))
        relative = np.where(residuals > 0, residuals / _sizes(scale), 0.0)
        i, k = np.unravel_index(int(np.argmax(relative)), relative.shape) if relative.size else (0, 0)
        return (float(relative[i, k]), rows.labels[k], float(times[i])) if relative.size else (0.0, "", np.nan)

    def _nodes(self) -> tuple[Array, Array]:
        """Both ends, and some nodes between."""
        run, piece = self.piece.run, self.piece
        inside = np.random.default_rng(self.seed).integers(0, max(len(run.nodes), 1), _SAMPLE if len(run.nodes) else 0)
        times = np.concatenate([[piece.begin], np.asarray(run.nodes)[inside], [piece.end]])
        states = np.vstack([piece.first, np.asarray(run.states)[inside].reshape(len(inside), len(piece.first)), run.y])
        return times, states

    def _usual(self, rows: Rows, times: Array, states: Array) -> Array:
        """The sizes of the rows' terms if every jet were as large as the largest of its kind."""
        setting = self.piece.setting
        flow = setting.flow
        state = usual_state(self.sizes, flow.state, flow.system.equations.system, self.piece.end - self.piece.begin)
        rates = np.abs(_rates(setting.compiled, setting, times, states, self.piece.reference)).max(axis=0)
        rates = np.maximum(usual_state(rates, flow.state, flow.system.equations.system, np.inf), state / _span(self.piece))
        y = np.concatenate([state, rates[list(rows.sources)]])
        p = setting.parameters(float(times[0]), self.piece.reference)
        n = len(rows.labels)
        found = np.array(rows.function(float(times[0]), y, p)).ravel()[n * (1 + rows.fitted) :]
        return np.where(np.isfinite(found), found, 0.0)

    def defect(self) -> tuple[float, str, float]:
        """The largest defect of a step relative to the size of its jet, the jet, and the time."""
        piece, run = self.piece, self.piece.run
        steps = len(run.coefficients)
        if not steps:
            return 0.0, "", np.nan
        random = np.random.default_rng(self.seed)
        which = random.permutation(steps)[:_SAMPLE] if steps > _SAMPLE else np.arange(steps)
        nodes = np.asarray(run.nodes)
        h = nodes[which + 1] - nodes[which]
        times = nodes[which] + h * random.uniform(0.05, 0.95, len(which))
        states, slopes = derivatives(piece.basis, nodes, np.asarray(run.states), np.asarray(run.coefficients), times)
        rates = _rates(piece.setting.compiled, piece.setting, times, states, piece.reference)
        flow = piece.setting.flow
        usual = usual_state(self.sizes, flow.state, flow.system.equations.system, piece.end - piece.begin)
        scale = np.maximum(np.maximum(self.sizes, np.abs(h[:, None] * rates)), NOTHING * usual)
        off = np.abs(h[:, None] * (slopes - rates))
        relative = np.where(off > 0, off / np.where(scale > 0, scale, 1.0), 0.0)[:, : len(flow.state)]
        relative = np.where(np.isfinite(relative), relative, 0.0)
        i, k = np.unravel_index(int(np.argmax(relative)), relative.shape)
        return float(relative[i, k]), f"rate of {flow.state[k].name}", float(times[i])


def residuals_at(rows: Rows, compiled: Compiled, setting: Any, times: Array, states: Array, energy: float) -> tuple[Array, Array]:
    """Residuals of the rows with the compiled rates at states, and the sizes of their terms."""
    p = _parameters(compiled, setting, times, energy)
    rates = dop853.evaluate(compiled.rhs.early, times, states, p, compiled.size)
    return fitted_residuals(rows, times, states, rates, p)


def fitted_residuals(rows: Rows, times: Array, states: Array, rates: Array, p: Array) -> tuple[Array, Array]:
    """Residuals with those unknowns fitted that are no rates, and the sizes of the terms."""
    n, m = len(rows.labels), rows.fitted
    y = np.hstack([states, rates[:, list(rows.sources)]])
    found = np.ascontiguousarray(np.array(rows.function(times[None, :], y.T, p.T)).T)
    residual, sizes = found[:, :n], found[:, n * (1 + m) :].copy()
    if m and np.all(np.isfinite(found)):
        slopes = found[:, n : n * (1 + m)].reshape(-1, m, n).transpose(0, 2, 1)
        across = _sizes(np.abs(slopes).max(axis=2, keepdims=True))
        down = _sizes(np.abs(slopes / across).max(axis=1, keepdims=True))
        inverse = np.linalg.pinv(slopes / across / down, rcond=_RANK)
        values = -np.einsum("kij,kj->ki", inverse, residual / across[:, :, 0]) / down[:, 0]
        residual = residual + np.einsum("kij,kj->ki", slopes, values)
        sizes += np.einsum("kij,kj->ki", np.abs(slopes), np.abs(values))
    return np.abs(residual), sizes


def _span(piece: Piece) -> float:
    return abs(piece.end - piece.begin) or np.inf


def _sizes(found: Array) -> Array:
    return np.where(found > 0, found, 1.0)


def measured_by(sizes: Array, usual: Array) -> Array:
    """Sizes of terms, or what is usual where they are round-off of that."""
    return np.where(sizes > NOTHING * usual, sizes, usual)


def _rates(compiled: Compiled, setting: Any, times: Array, states: Array, energy: float) -> Array:
    return dop853.evaluate(compiled.rhs.early, times, states, _parameters(compiled, setting, times, energy), compiled.size)


def _parameters(compiled: Compiled, setting: Any, times: Array, energy: float) -> Array:
    """The vectors p at some times."""
    kept = times if compiled.flow.inputs else times[:1]
    p = np.array([setting.parameters(float(t), energy) for t in kept])
    return np.array(np.broadcast_to(p, (len(times), p.shape[1])))


def usual_state(sizes: Array, state: Sequence[Jet], system: Any, span: float) -> Array:
    """For each component the largest of its kind; a velocity is at least a coordinate over the duration."""
    kinds = kinds_of(state, len(sizes), system)
    among = np.zeros(len(sizes))
    np.maximum.at(among, kinds, sizes)
    found: NDArray[np.float64] = among[kinds]
    places = {z: k for k, z in enumerate(state)}
    for z in sorted(places, key=lambda z: z.order):
        below = places.get(type(z)(z.base, z.order - 1)) if z.order else None
        if below is not None and span != 0:
            found[places[z]] = max(found[places[z]], found[below] / abs(span))
    return found


@dataclass
class Net:
    """Collects the evidence of a motion piece by piece."""

    tolerance: float
    defects: bool
    """Whether the continuous motion between the nodes is known, and tells something."""
    rows: list[tuple[float, str, float]] = field(default_factory=list)
    between: list[tuple[float, str, float]] = field(default_factory=list)
    last: Piece | None = None
    """The last piece, if it was not looked at."""

    def add(self, piece: Piece) -> None:
        """Look at a piece, if there are not many already."""
        if len(self.rows) >= _PIECES:
            self.last = piece
            return
        evidence = Evidence(piece, len(self.rows))
        self.rows.append(evidence.rows())
        if self.defects:
            self.between.append(evidence.defect())

    def certificate(self, balance: float, steps: int, repeated: bool) -> Certificate:
        """The figures of the motion."""
        if self.last is not None:
            self.rows.append(Evidence(self.last, 0).rows())
        figures = [_worst("rows", self.rows, ROWS)]
        if self.between:
            figures.append(_worst("defect", self.between, float(np.minimum(_DEFECT * self.tolerance + _LEAST, _MOST))))
        figures.append(Figure("balance", balance, float(balance_allowed(self.tolerance, steps)), "balance", np.nan))
        return Certificate(tuple(figures), repeated)


def balance_allowed(tolerance: float, steps: Any) -> Any:
    """The relative balance that a number of steps may leave."""
    return np.minimum(_BALANCE * np.maximum(tolerance, 1e-15) * (10.0 + steps), _MOST)


def _worst(kind: str, found: Sequence[tuple[float, str, float]], allowed: float) -> Figure:
    size, subject, t = max(found, key=lambda one: one[0])
    return Figure(kind, size, allowed, subject or kind, t)
