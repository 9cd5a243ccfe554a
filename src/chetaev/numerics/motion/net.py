r"""The net under a simulation: evidence that does not depend on how the motion was computed.

- *rows*: at the ends of every piece and at some of its nodes the compiled rates are inserted into the rows, which are evaluated as they are
  written, differentiated but not solved. What is no rate, such as multipliers, is fitted. Residuals are relative to the terms of the row.
- *defect*: at a random place inside some of its steps, the derivative of the continuous motion against the rates there, times the step,
  relative to the size of the jet.
- *balance*: energy minus work, relative to the energies that occurred; at the end also relative to what is usual over time, because beside
  a pole the terms of the energy are so large for a moment that nothing of later energies is seen.

A row all of whose terms are round-off, because they vanish by symmetry, is measured by what is usual for its jets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from chetaev.core.certificate import Certificate, Figure
from chetaev.core.symbols import TIME
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.graphs.magnitude import magnitudes
from chetaev.numerics.graphs.remembered import Remembered
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.accuracy import usual_sizes
from chetaev.numerics.methods.base import derivatives
from chetaev.numerics.pieces.piece import Piece

ROWS = 1e-8
"""The residual of a row that rates may leave, relative to its terms. Over the gallery they leave up to 4e-13, elimination with pivots
chosen beforehand included."""
_DEFECT = 1e4
"""The defect of a step in units of the tolerance: the derivative of an interpolant is less exact than the motion, over the gallery by a
factor of up to 800."""
_BALANCE = 100.0
"""The balance in units of the tolerance times ten more than the number of steps; over the gallery up to 0.2."""
_ROUND_OFF_OF_ENERGIES = 1e-14
"""Relative to the terms of the energy where the pieces of a motion begin. A smaller imbalance is round-off, whatever it is beside
energies that vanish at the end, as those of a body that came to rest. Energies on the way do not count: beside a pole they are huge."""
_LEFT = 1e5
"""What may be left of the balance at the end, in units of the tolerance, relative to the usual terms of the energy. Ten times more,
and a planet that falls by its sun comes back with a wrong period; over the gallery up to 3."""
_LEFT_LEAST = 1e-5
"""And at least so much: round-off beside a pole is not made smaller by a tolerance."""
_FEW_STEPS = 8
"""In fewer steps no pole was passed, and what is usual is not known."""
_RANK = 1e-13
"""Directions of the fitted unknowns below this are not determined."""
_MOST = 0.3
"""No figure may be larger, however loose the tolerance is."""
_CLEAR = 1e-6
"""A defect that needs no other scale than the size of its jet."""
_LEAST = 1e-10
"""Round-off in the derivative of an interpolant."""
_DIGITS = 2.0
"""Units in the last place of the time to which the length of a step is known: both of its ends are rounded. Less, and steps of 1e-12
between two switches seem not to follow the equations."""
_SAMPLE = 6
"""Nodes and steps of a piece that are looked at."""
_PIECES = 64
"""Pieces of a motion that are looked at, besides the last."""
WEAK = 1e-6
"""Terms below this part of what is usual are judged by what is usual: with the residual allowed that is 1e-14 of it, round-off."""
NOTHING = 1e-10
"""Terms below this part of what is usual for their jets are round-off."""
_DICE = np.random.default_rng(14).uniform(size=(_PIECES, 3 * _SAMPLE))
"""Random places, the same in every run."""
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
    x = ca.vertcat(flow.x, flow.graph.vector(moving))
    function = flow.graph.function("rows", [flow.graph.leaf(TIME), x, flow.p], ca.vertcat(*outputs))
    return Rows(tuple(map(flow.system.label, pairs)), function, tuple(rates[z] for z in moving), len(fitted))


Figures = tuple[float, str, float | None]
"""The largest relative size, the row or jet it belongs to, and the time."""


class Evidence:
    """What a piece shows, at both ends, at some of its nodes, and in random places between others."""

    def __init__(self, piece: Piece, seed: int, defects: bool) -> None:
        self.piece, self.rows = piece, rows_of(piece.setting.compiled)
        run, dice = piece.run, _DICE[seed % len(_DICE)]
        nodes, states = np.asarray(run.nodes), np.asarray(run.states)
        some = (dice[:_SAMPLE] * len(nodes)).astype(np.int64) if len(nodes) else np.zeros(0, np.int64)
        self.times = np.concatenate([[piece.begin], nodes[some], [piece.end]])
        self.states = np.concatenate([piece.first[None, :], states[some].reshape(len(some), len(run.y)), run.y[None, :]])
        self.count = len(self.times)
        steps = len(run.coefficients) if defects else 0
        self.h = self.slopes = np.zeros((0, 1))
        if steps:
            which = (dice[_SAMPLE : 2 * _SAMPLE] * steps).astype(np.int64)
            self.h = (nodes[which + 1] - nodes[which])[:, None]
            between = nodes[which] + self.h[:, 0] * (0.05 + 0.9 * dice[2 * _SAMPLE :])
            there, self.slopes = derivatives(piece.basis, nodes, states, np.asarray(run.coefficients), between)
            self.times, self.states = np.concatenate([self.times, between]), np.concatenate([self.states, there])
        self.p = _parameters(piece, self.times)
        compiled = piece.setting.compiled
        self.rates = dop853.evaluate(compiled.rhs.early, self.times, self.states, self.p, compiled.size)

    def of_rows(self) -> Figures:
        """The residuals of the rows relative to their terms."""
        n = self.count
        residuals, sizes = fitted_residuals(self.rows, self.times[:n], self.states[:n], self.rates[:n], self.p[:n])
        if not np.all(np.isfinite(residuals)):
            return 0.0, "", None  # a singular state, of which others tell
        scale = measured_by(sizes, sizes.max(axis=0))
        if not np.all(residuals <= ROWS * scale):
            scale = np.maximum(scale, WEAK * self._usual_terms())
            residuals, sizes = fitted_residuals(self.rows, self.times[:n], self.states[:n], self.rates[:n], self.p[:n], scale)
            scale = np.maximum(scale, sizes)
        return _largest(residuals, scale, self.times, self.rows.labels)

    def of_defects(self) -> Figures:
        """Derivatives of the continuous motion against the rates, over a step, relative to the sizes of the jets."""
        rates, jets = self.rates[self.count :], self.piece.setting.flow.state
        times = self.times[self.count :]
        digits = _DIGITS * np.spacing(np.abs(times))[:, None] * np.abs(rates)  # what the last digits of the time leave open
        off = np.maximum(np.abs(self.h * (self.slopes - rates)) - digits, 0.0)[:, : len(jets)]
        off = np.where(np.isfinite(off), off, 0.0)
        scale = np.maximum(self.sizes, np.abs(self.h * rates))
        if not np.all(off <= _CLEAR * scale[:, : len(jets)]):  # a jet that is round-off of its kind has rates of round-off
            scale = np.maximum(measured_by(self.sizes, self._usual_state()), np.abs(self.h * rates))
        return _largest(off, scale[:, : len(jets)], times, [f"rate of {z.name}" for z in jets])

    @cached_property
    def sizes(self) -> Array:
        """The largest value of each component."""
        run = self.piece.run
        return np.maximum(np.abs(run.minima), np.abs(run.maxima))

    def _usual_state(self) -> Array:
        return usual_state(self.sizes, self.piece)

    def _usual_terms(self) -> Array:
        """The sizes of the rows' terms if every jet were as large as the largest of its kind."""
        state, rates = self._usual_state(), usual_state(np.abs(self.rates).max(axis=0), self.piece)
        rates = np.maximum(rates, state / (abs(self.piece.end - self.piece.begin) or np.inf))
        found = np.array(self.rows.function(self.piece.begin, np.append(state, rates[list(self.rows.sources)]), self.p[0])).ravel()
        terms = found[len(self.rows.labels) * (1 + self.rows.fitted) :]
        return np.where(np.isfinite(terms), terms, 0.0)


def _largest(found: Array, scale: Array, times: Array, labels: Sequence[str]) -> Figures:
    relative = found / _sizes(scale)
    if not relative.size:
        return 0.0, "", None
    i, k = divmod(int(np.argmax(relative)), relative.shape[1])
    return float(relative[i, k]), labels[k], float(times[i])


def fitted_residuals(rows: Rows, times: Array, states: Array, rates: Array, p: Array, scale: Array | None = None) -> tuple[Array, Array]:
    """Residuals with those unknowns fitted that are no rates, and the sizes of the terms.

    Rows are weighed by their largest coefficient of a fitted unknown, or by the scales that they are judged by: a row in which a multiplier
    has a coefficient of round-off must not decide about it.
    """
    n, m = len(rows.labels), rows.fitted
    y = np.hstack([states, rates[:, list(rows.sources)]])
    found = np.ascontiguousarray(np.array(rows.function(times[None, :], y.T, p.T)).T)
    residual, sizes = found[:, :n], found[:, n * (1 + m) :].copy()
    if m and np.all(np.isfinite(found)):
        slopes = found[:, n : n * (1 + m)].reshape(-1, m, n).transpose(0, 2, 1)
        across = _sizes(np.abs(slopes).max(axis=2, keepdims=True)) if scale is None else _sizes(scale)[:, :, None]
        down = _sizes(np.abs(slopes / across).max(axis=1, keepdims=True))
        inverse = np.linalg.pinv(slopes / across / down, rcond=_RANK)
        values = -np.einsum("kij,kj->ki", inverse, residual / across[:, :, 0]) / down[:, 0]
        residual = residual + np.einsum("kij,kj->ki", slopes, values)
        sizes += np.einsum("kij,kj->ki", np.abs(slopes), np.abs(values))
    return np.abs(residual), sizes


def _sizes(found: Array) -> Array:
    return np.where(found > 0, found, 1.0)


def measured_by(sizes: Array, usual: Array) -> Array:
    """Sizes of terms, or what is usual where they are round-off of that."""
    return np.where(sizes > NOTHING * usual, sizes, usual)


def _parameters(piece: Piece, times: Array) -> Array:
    """The vectors p at some times."""
    setting = piece.setting
    kept = times if setting.flow.inputs else times[:1]
    p = np.array([setting.parameters(float(t), piece.reference) for t in kept])
    return p if len(p) == len(times) else np.repeat(p, len(times), axis=0)


def usual_state(sizes: Array, piece: Piece) -> Array:
    """For each component of a piece's state the largest of its kind; a velocity is at least a coordinate over the duration."""
    flow = piece.setting.flow
    return usual_sizes(sizes, flow.state, piece.end - piece.begin)


@dataclass
class Net:
    """Collects the evidence of a motion piece by piece."""

    tolerance: float
    defects: bool
    """Whether the continuous motion between the nodes is known, and tells something."""
    rows: list[Figures] = field(default_factory=list)
    between: list[Figures] = field(default_factory=list)
    last: Piece | None = None
    """The last piece, if it was not looked at."""
    usual: float = 0.0
    """The integral over time of the fourth root of the terms of the energy."""
    duration: float = 0.0
    begun: float = 0.0
    """The largest terms of the energy where pieces begin."""

    def add(self, piece: Piece) -> None:
        """Look at a piece, if there are not many already."""
        self.usual += float(piece.run.usual)
        self.duration += abs(piece.end - piece.begin)
        if len(self.rows) >= _PIECES:
            self.last = piece
            return
        self.begun = max(self.begun, float(_energies(piece, np.array([piece.begin]), piece.first[None, :])[1][0]))
        evidence = Evidence(piece, len(self.rows), self.defects)
        self.rows.append(evidence.of_rows())
        if len(evidence.h):
            self.between.append(evidence.of_defects())

    def certificate(self, balance: float, steps: int, end: Piece) -> Certificate:
        """The figures of the motion; of the balance the one that is worse, on the way or at the end."""
        if self.last is not None:
            self.rows.append(Evidence(self.last, 0, False).of_rows())
        figures = [_worst("rows", self.rows, ROWS)]
        if self.between:
            figures.append(_worst("defect", self.between, float(np.minimum(_DEFECT * self.tolerance + _LEAST, _MOST))))
        on_the_way = Figure("balance", balance, float(balance_allowed(self.tolerance, steps)), "balance")
        residual, terms = _energies(end, np.array([end.end]), np.asarray(end.run.y)[None, :])
        left = float(left_at_the_end(residual, terms, self.usual, self.duration, self.begun)[0])
        at_the_end = Figure("balance", left, float(left_allowed(self.tolerance, steps)), "balance", end.end)
        figures.append(max(on_the_way, at_the_end, key=lambda figure: figure.ratio))
        return Certificate(tuple(figures))


def left_at_the_end(residual: Array, terms: Array, usual: Any, duration: Any, begun: Any) -> Array:
    """Energy minus work where motions end, relative to the terms of the energy there, or to what they usually are: where energies vanish
    the terms do. `usual` is the integral of the fourth root of the terms over time; `begun` are the terms where a piece begins, of which
    round-off is not counted.
    """
    off = np.maximum(np.abs(residual) - _ROUND_OFF_OF_ENERGIES * begun, 0.0)
    size = np.maximum(terms, (usual / np.where(duration > 0, duration, np.inf)) ** 4)
    found: Array = np.where(size > 0, off / _sizes(size), 0.0)
    return found


def left_allowed(tolerance: float, steps: Any) -> Any:
    """The relative balance that may be left at the end."""
    allowed = np.minimum(np.maximum(max(_LEFT * tolerance, _LEFT_LEAST), balance_allowed(tolerance, steps)), _MOST)
    return np.where(steps < _FEW_STEPS, np.inf, allowed)


def _energies(piece: Piece, times: Array, states: Array) -> tuple[Array, Array]:
    """Energy minus work, and the sizes of the terms of the energy, at states of a piece."""
    compiled, last = piece.setting.compiled, len(piece.setting.compiled.labels) - 1
    found = dop853.evaluate(compiled.measure.early, times, states, _parameters(piece, times), compiled.measure.n_out)
    return found[:, last], found[:, -1]


def balance_allowed(tolerance: float, steps: Any) -> Any:
    """The relative balance that a number of steps may leave."""
    return np.minimum(_BALANCE * np.maximum(tolerance, 1e-15) * (10.0 + steps), _MOST)


def _worst(kind: str, found: Sequence[Figures], allowed: float) -> Figure:
    size, subject, t = max(found, key=lambda one: one[0])
    return Figure(kind, size, allowed, subject or kind, t)
