r"""The checks of a simulation ("net"), which do not depend on how the motion was computed.

- *rows*: at the ends of every piece and at some of its nodes the compiled rates are inserted into the rows as stated, differentiated but
  not solved. Unknowns that are not rates, such as multipliers, are fitted. Residuals are relative to the terms of the row.
- *defect*: at a random time inside some of its steps, the derivative of the continuous motion against the rates there, times the step,
  relative to the size of the jet.
- *rounding*: at the same times, bounds of the rounding errors of the rates, added up over the motion, relative to the size of the jet. If
  these are too large, rates in many digits decide (`rounding`). Where narrow features lie at large times or positions, or large
  numbers cancel, the rates have few correct digits, and no smaller steps help. Signs of the functions of events and of switches are
  compared with those in many digits where they are not certain (`signs`).
- *balance*: energy minus work, relative to the energies that occurred; at the end also relative to the typical energies over time, because
  near a pole the terms of the energy are so large for a short time that later energies are negligible.

A row all of whose terms are round-off, because they vanish by symmetry, is measured relative to the typical sizes of its jets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.certificate import Certificate, Figure, SignOf
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.held_rows import held_rows
from chetaev.numerics.graphs.buffered import Buffered
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.interpreter import interprets
from chetaev.numerics.machine.kernels import Foreign, Kernel, compile_kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.accuracy import usual_sizes
from chetaev.numerics.methods.dop853.codes import WHEN
from chetaev.numerics.methods.dop853.types import Integers
from chetaev.numerics.motion import step_evidence
from chetaev.numerics.motion.step_evidence import measured_by
from chetaev.numerics.slopes.directions import Directions
from chetaev.numerics.slopes.rounding_check import slope_rounding
from chetaev.numerics.smooth_pieces.fitted_rows import Rows, fitted_residuals, not_zero, rows_of
from chetaev.numerics.smooth_pieces.grazing import grazed
from chetaev.numerics.smooth_pieces.piece import Piece, Setting
from chetaev.numerics.smooth_pieces.rounding import broken_row, rounding_of
from chetaev.numerics.smooth_pieces.signs import Signs, wrong_signs

ROWS = 1e-8
"""Relative to its terms: largest residual of a row. Over the gallery residuals are at most 4e-13, with pivots chosen in advance."""
_BALANCE = 100.0
"""Largest error of the balance, in units of the tolerance times (number of steps + 10); over the gallery up to 0.2."""
_ROUND_OFF_OF_ENERGIES = 1e-14
"""Relative to the terms of the energy where the pieces of a motion begin: a smaller imbalance is round-off, even if the energies vanish at
the end, as for a body that came to rest. Energies in between do not count: near a pole they are huge."""
_LARGEST_FINAL_ERROR = 1e5
"""Largest error of the balance at the end, in units of the tolerance, relative to the typical terms of the energy. With ten times more, a
planet that passes close to its sun may return with a wrong period; over the gallery up to 3."""
_LEFT_LEAST = 1e-5
"""Smallest limit of the same error: a smaller tolerance does not reduce round-off near a pole."""
_FEW_STEPS = 8
"""Fewest steps for the error at the end: in fewer steps no pole was passed, and typical energies are not known."""
_LARGEST_LIMIT = 0.3
"""Largest limit of any figure, also for a large tolerance."""
_MOST_HELD = 64
"""Most unknowns of rows that are checked with the multipliers of the flow: for more, the code takes longer to make than a fit."""
_SAMPLE = 6
"""Nodes of a piece at which the rows are checked."""
_PIECES = 64
"""Pieces of a motion whose rows are checked, besides the last."""
WEAK = 1e-6
"""Relative to the typical terms: smaller terms are replaced by this size. With the allowed residual that is 1e-14 of the typical terms,
round-off."""
_DICE = np.random.default_rng(14).uniform(size=(_PIECES, _SAMPLE))
"""Random numbers for the checked nodes, the same in every run."""
_KERNELS: Remembered[Any] = Remembered(192)
_LEAST_TOLERANCE = 1e-15
"""Smallest relative tolerance for which errors are expected to shrink; below it they are round-off."""


def held_at(compiled: Compiled, points: int, shared: bool) -> Buffered:
    """Residuals of the rows at states with rates, and the sizes of their terms; p may be the same at all points. Cached."""
    one: ca.Function = _KERNELS.get(compiled, "held", lambda: _held(compiled.flow))
    same = [2] if shared else []
    found: Buffered = _KERNELS.get(compiled, ("held", points, shared), lambda: Buffered(one.map("held", "serial", points, same, [])))
    return found


def held_function(compiled: Compiled) -> tuple[ca.Function, Kernel] | None:
    """Residuals and sizes of terms of the rows at one point, as a graph and as machine code whose products are rounded before they are
    added, unlike those of the rates; None if there are more than `_MOST_HELD` unknowns: a fit is faster then. Cached.
    """
    if len(compiled.flow.system.structure.top) > _MOST_HELD:
        return None
    one: ca.Function = _KERNELS.get(compiled, "held", lambda: _held(compiled.flow))
    code: Kernel = _KERNELS.get(compiled, "held code", lambda: compile_kernel(one, hot=False, fusing=False))
    return one, code


def _held(flow: Flow) -> ca.Function:
    rows = held_rows(flow, flow.size)
    return rows.function([*map(ca.fabs, rows.residuals), *rows.sizes], "held")


def checked_nodes(count: int, seed: int) -> Integers:
    """The nodes of a piece at which its rows are checked, of so many."""
    return (_DICE[seed % len(_DICE)] * count).astype(np.int64) if count else np.zeros(0, np.int64)


Figures = tuple[float, str, float | None]
"""The largest relative size, the row or jet it belongs to, and the time."""


class Evidence:
    """The checks of the rows of a piece, at both ends and at some of its nodes."""

    def __init__(self, piece: Piece, seed: int) -> None:
        self.piece = piece
        run = piece.run
        nodes, states = np.asarray(run.nodes), np.asarray(run.states)
        some = checked_nodes(len(nodes), seed)
        self.times = np.concatenate([[piece.begin], nodes[some], [piece.end]])
        self.states = np.concatenate([piece.first[None, :], states[some].reshape(len(some), len(run.y)), run.y[None, :]])
        self.p = _parameters(piece, self.times)
        compiled = piece.setting.compiled
        rates = compiled.stepping.at_state if run.reduced else compiled.rhs
        self.rates = dop853.evaluate(rates.early, self.times, self.states, self.p, compiled.size)

    def of_rows(self) -> Figures:
        """The residuals of the rows relative to their terms."""
        held = self._held()
        if held is not None:
            return held
        residuals, sizes = fitted_residuals(self.rows, self.times, self.states, self.rates, self.p)
        if not np.all(np.isfinite(residuals)):
            return 0.0, "", None  # a singular state, which is reported elsewhere
        scale = measured_by(sizes, sizes.max(axis=0))
        if not np.all(residuals <= ROWS * scale):
            scale = np.maximum(scale, WEAK * self._usual_terms())
            residuals, sizes = fitted_residuals(self.rows, self.times, self.states, self.rates, self.p, scale)
            scale = np.maximum(scale, sizes)
        return _largest(residuals, scale, self.times, self.rows.labels)

    def _held(self) -> Figures | None:
        """The largest residuals with the multipliers of the flow; None if these leave a residual that better ones might not leave."""
        compiled, n = self.piece.setting.compiled, len(self.times)
        system = compiled.flow.system
        if len(system.structure.top) > _MOST_HELD:
            return None
        labels = _KERNELS.get(compiled, "labels", lambda: [system.label(pair) for pair in system.stage(0)])
        held, m = held_at(compiled, n, self.p.ndim == 1), len(labels)
        found = held(self.times, np.hstack([self.states, self.rates]), self.p).reshape(n, 2 * m)
        residuals, sizes = found[:, :m], found[:, m:]
        scale = measured_by(sizes, sizes.max(axis=0))
        return _largest(residuals, scale, self.times, labels) if (residuals <= ROWS * scale).all() else None

    @cached_property
    def rows(self) -> Rows:
        """The rows as stated."""
        return rows_of(self.piece.setting.compiled)

    def _usual_state(self) -> Array:
        return usual_state(sizes_of(self.piece), self.piece)

    def _usual_terms(self) -> Array:
        """The sizes of the rows' terms if every jet were as large as the largest of its kind."""
        state, rates = self._usual_state(), usual_state(np.abs(self.rates).max(axis=0), self.piece)
        rates = np.maximum(rates, state / (abs(self.piece.end - self.piece.begin) or np.inf))
        found = np.array(
            self.rows.function(self.piece.begin, np.append(state, rates[list(self.rows.sources)]), np.atleast_2d(self.p)[0])
        ).ravel()
        terms = found[len(self.rows.labels) + len(self.rows.places[0]) :]
        return np.where(np.isfinite(terms), terms, 0.0)


def sizes_of(piece: Piece) -> Array:
    """The largest value of each component of a piece's state."""
    return np.maximum(np.abs(piece.run.minima), np.abs(piece.run.maxima))


def _defect(piece: Piece, sizes: Array) -> Figures:
    """The largest defect of a piece, whose components have these sizes."""
    jets = piece.setting.flow.state
    found = step_evidence.defects(piece.run.inside, sizes, lambda: usual_state(sizes, piece))[: len(jets)]
    if not len(jets):
        return 0.0, "", None
    worst = int(np.argmax(found))
    return float(found[worst]), f"rate of {jets[worst].name}", float(piece.run.inside[WHEN, worst])


def _rounding(piece: Piece, sizes: Array, allowed: float, stiff: bool) -> Figures | None:
    """The error that rounding makes in the jets of a piece: a bound if it is allowed, otherwise an estimate. None if steps were not kept,
    which the estimate needs.
    """
    jets = piece.setting.flow.state
    exact = isinstance(piece.setting.compiled.rhs, Foreign)
    found = step_evidence.roundings(piece.run.inside, sizes, lambda: usual_state(sizes, piece), int(piece.run.accepted))[: len(jets)]
    if not len(jets):
        return 0.0, "", None
    worst = int(np.argmax(found))
    if found[worst] <= allowed:
        return float(found[worst]), f"rate of {jets[worst].name}", None
    scale = measured_by(sizes, usual_state(sizes, piece))[: len(jets)]
    known = rounding_of(piece, scale, allowed, stiff, exact)
    return None if known is None else (known[0], f"rate of {jets[known[1]].name}", known[2])


def _largest(found: Array, scale: Array, times: Array, labels: Sequence[str]) -> Figures:
    relative = found / not_zero(scale)
    if not relative.size:
        return 0.0, "", None
    i, k = divmod(int(np.argmax(relative)), relative.shape[1])
    return float(relative[i, k]), labels[k], float(times[i])


def _parameters(piece: Piece, times: Array) -> Array:
    """The vectors p at some times; one vector without inputs."""
    setting = piece.setting
    if not setting.flow.inputs:
        return piece.parameters
    return np.array([setting.parameters(float(t), piece.reference) for t in times])


def usual_state(sizes: Array, piece: Piece) -> Array:
    """Return for each component of a piece's state the largest of its kind; a velocity is at least a coordinate over the duration."""
    flow = piece.setting.flow
    return usual_sizes(sizes, flow.state, piece.end - piece.begin)


@dataclass
class Net:
    """Collects the evidence of a motion piece by piece."""

    tolerance: float
    defects: bool
    """Whether the motion between the nodes is about as exact as the nodes, so that its defect is evidence."""
    judged: bool = True
    """Whether round-off is judged."""
    rows: list[Figures] = field(default_factory=list)
    between: list[Figures] = field(default_factory=list)
    rounded: list[Figures] = field(default_factory=list)
    grazing: list[Figures] = field(default_factory=list)
    unsettled: bool = False
    """Whether rounding may make the motion wrong, and the stored states do not decide it."""
    last: Piece | None = None
    """The last piece, if it was not checked."""
    usual: float = 0.0
    """The integral over time of the fourth root of the terms of the energy."""
    duration: float = 0.0
    begun: float = 0.0
    """The largest terms of the energy where pieces begin."""

    def add(self, piece: Piece) -> None:
        """Check a piece; its rows only if not those of `_PIECES` pieces were checked already."""
        self.usual += float(piece.run.usual)
        self.duration += abs(piece.end - piece.begin)
        if piece.run.looked:
            sizes = sizes_of(piece)
            self.between += [_defect(piece, sizes)] if self.defects else []
            if interprets() and self.judged:
                self._round(piece, sizes)
        if len(self.rows) >= _PIECES:
            self.last = piece
            return
        self.begun = max(self.begun, _energies(piece, piece.begin, piece.first)[1])
        self.rows.append(Evidence(piece, len(self.rows)).of_rows())
        broken = broken_row(piece, ROWS, lambda: usual_state(sizes_of(piece), piece)) if interprets() else None
        if broken is not None:
            size, row, at = broken
            self.rows.append((size, piece.setting.flow.system.label(piece.setting.flow.system.hidden()[row]), at))

    def watch(
        self, piece: Piece, functions: Sequence[Expr], sides: Sequence[int], texts: Sequence[str], watch: Kernel, span: float
    ) -> None:
        """Check the signs of the functions of events and modes by which a piece was led; `span` is the duration of the run, `sides` are as
        in `wrong_signs`.
        """
        if not functions or not interprets():
            return
        sizes = sizes_of(piece)
        scale = measured_by(sizes, usual_state(sizes, piece))
        found = wrong_signs(piece, functions, sides, watch, scale, span, self._rounding_allowed(piece))
        if found is None:
            self.unsettled = True
        elif found[0] > 0:
            self.rounded.append((found[0], SignOf(texts[found[1]]), found[2]))

    def graze(
        self,
        piece: Piece,
        functions: Sequence[Expr],
        modes: Mapping[int, str],
        watch: Kernel,
        other: Callable[[int], Setting | None],
        tolerance: float,
    ) -> None:
        """Check what surfaces that a piece grazes make of the state; `modes` has the texts of switching functions by their places among
        the functions, `other` gives the setting beyond one, and `tolerance` is that of the run, which may be repeated with a smaller one.
        """
        if not modes or isinstance(watch, Foreign):
            return
        sizes = sizes_of(piece)
        scale = measured_by(sizes, usual_state(sizes, piece))
        signs = Signs(piece.setting, tuple(functions), watch, tolerance * scale, 0.0)
        found = grazed(piece, signs, list(modes), other, scale)
        if found is not None:
            self.grazing.append((found[0], modes[found[1]], found[2]))

    def differentiated(self, piece: Piece, directions: Directions, usual: Array) -> None:
        """Check the slopes of a piece, whose typical sizes are `usual`."""
        found = slope_rounding(piece, directions, usual, self._rounding_allowed(piece)) if interprets() and self.judged else None
        if found is not None:
            self.rounded.append(found)

    def _round(self, piece: Piece, sizes: Array) -> None:
        found = _rounding(piece, sizes, self._rounding_allowed(piece), not self.defects)
        if found is None:
            self.unsettled = True
        else:
            self.rounded.append(found)

    def _rounding_allowed(self, piece: Piece) -> float:
        return float(step_evidence.rounding_allowed(self.tolerance, int(piece.run.accepted)))

    def certificate(self, balance: float, steps: int, end: Piece) -> Certificate:
        """Return the figures of the motion; for the balance the worse of two: during the motion, and at the end."""
        if self.last is not None:
            self.rows.append(Evidence(self.last, 0).of_rows())
        figures = [_worst("rows", self.rows, ROWS)]
        if self.between:
            figures.append(_worst("defect", self.between, step_evidence.defect_allowed(self.tolerance)))
        if self.rounded:
            figures.append(_worst("rounding", self.rounded, float(step_evidence.rounding_allowed(self.tolerance, steps))))
        if self.grazing:
            figures.append(_worst("grazing", self.grazing, step_evidence.defect_allowed(self.tolerance)))
        on_the_way = Figure("balance", balance, float(balance_allowed(self.tolerance, steps)), "balance")
        residual, terms = _energies(end, end.end, end.run.y)
        left = float(left_at_the_end(residual, min(terms, float(end.run.measured[-1])), self.usual, self.duration, self.begun))
        at_the_end = Figure("balance", left, float(left_allowed(self.tolerance, steps)), "balance", end.end)
        figures.append(max(on_the_way, at_the_end, key=lambda figure: figure.ratio))
        return Certificate(tuple(figures))


def left_at_the_end(residual: Any, terms: Any, usual: Any, duration: Any, begun: Any) -> Any:
    """Return energy minus work where motions end, relative to the terms of the energy there, or to their typical size, since the terms may
    vanish at the end. `usual` is the integral of the fourth root of the terms over time; `begun` are the terms where pieces begin, whose
    round-off does not count. `terms` are at most the largest on the way, which are those of remainders of angles that turn on and on: the
    whole angle at the end has more rounding.
    """
    if isinstance(residual, float):  # one motion; NumPy would take twenty times as long
        left = max(abs(residual) - _ROUND_OFF_OF_ENERGIES * begun, 0.0)
        usually = max(terms, (usual / duration) ** 4 if duration > 0 else 0.0)
        return left / usually if usually > 0 else 0.0
    off = np.maximum(np.abs(residual) - _ROUND_OFF_OF_ENERGIES * begun, 0.0)
    size = np.maximum(terms, (usual / np.where(duration > 0, duration, np.inf)) ** 4)
    found: Array = np.where(size > 0, off / not_zero(size), 0.0)
    return found


def left_allowed(tolerance: float, steps: Any) -> Any:
    """Return the largest relative error of the balance at the end."""
    if isinstance(steps, int):
        return (
            inf
            if steps < _FEW_STEPS
            else min(max(_LARGEST_FINAL_ERROR * tolerance, _LEFT_LEAST, balance_allowed(tolerance, steps)), _LARGEST_LIMIT)
        )
    allowed = np.minimum(np.maximum(max(_LARGEST_FINAL_ERROR * tolerance, _LEFT_LEAST), balance_allowed(tolerance, steps)), _LARGEST_LIMIT)
    return np.where(steps < _FEW_STEPS, np.inf, allowed)


def _energies(piece: Piece, t: float, state: Array) -> tuple[float, float]:
    """Energy minus work, and the size of the terms of the energy, at a state of a piece."""
    compiled = piece.setting.compiled
    p = piece.setting.parameters(t, piece.reference) if piece.setting.flow.inputs else piece.parameters
    found = compiled.measure(t, state, p)
    return float(found[len(compiled.labels) - 1]), float(found[-1])


def balance_allowed(tolerance: float, steps: Any) -> Any:
    """Return the largest relative error of the balance after a number of steps."""
    if isinstance(steps, int):
        return min(_BALANCE * max(tolerance, _LEAST_TOLERANCE) * (10.0 + steps), _LARGEST_LIMIT)
    return np.minimum(_BALANCE * np.maximum(tolerance, _LEAST_TOLERANCE) * (10.0 + steps), _LARGEST_LIMIT)


def _worst(kind: str, found: Sequence[Figures], allowed: float) -> Figure:
    size, subject, t = max(found, key=lambda one: one[0])
    return Figure(kind, size, allowed, subject or kind, t)
