"""The record of a simulation: nodes, extrema, drift and events of all its pieces, joined under the names of the system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from sympy import Expr, Symbol

from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.enclosures.kernels import nodes_kernel
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.dop853.types import Integers
from chetaev.numerics.motion.certification import Net, usual_state
from chetaev.numerics.motion.outcomes import Verdict
from chetaev.numerics.motion.reader import Reader
from chetaev.numerics.motion.step_evidence import NOTHING, measured_by
from chetaev.numerics.motion.trajectory import Enclosed, Event, Switch, Trajectory
from chetaev.numerics.slopes.directions import Directions
from chetaev.numerics.slopes.motion_slopes import Slopes
from chetaev.numerics.slopes.variation import from_lanes
from chetaev.numerics.smooth_pieces.piece import Layout, Piece

_SUSPICIOUS = 1e-8
"""Relative to its terms: a larger residual may be round-off of vanishing terms, and is compared with typical terms."""
_COUNTS = ("accepted", "rejected", "evaluations", "projections", "shortened")


@dataclass
class Record:
    """Collects the pieces of a running simulation. With `final` only the last piece is stored."""

    switched: Switched
    binding: Binding
    final: bool
    dense: bool
    tolerance: float
    net: Net
    pieces: list[Piece] = field(default_factory=list)
    jumps: list[bool] = field(default_factory=list)
    """For each piece whether the state or the forces jump at its end."""
    events: list[Event] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    drift: dict[str, float] = field(default_factory=dict)
    """The largest residual of each row, and of the balance."""
    scales: dict[str, float] = field(default_factory=dict)
    """The largest sum of the absolute values of its terms."""
    extrema: dict[Jet, tuple[float, float]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    nodes: dict[Expr, bool] = field(default_factory=dict)
    """The functions in the data that may have narrow features, and whether they were enclosed."""
    directions: Directions | None = None
    """What the motion is differentiated by."""
    end_moves: Array | None = None
    """How the time at which an event ended the motion moves with each direction."""
    worst: float = 1.0
    """The largest ratio of a function's bound between evaluated points to its values there."""

    @property
    def steps(self) -> int:
        """Steps tried so far."""
        return self.counts["accepted"] + self.counts["rejected"]

    @property
    def largest(self) -> dict[Jet, float]:
        """The largest absolute values of jets so far."""
        return {z: max(-low, high) for z, (low, high) in self.extrema.items()}

    def add(self, piece: Piece) -> None:
        """Take in a piece."""
        run, here = piece.run, piece.setting
        labels = here.compiled.labels
        count = len(labels)
        scales = self._scales(piece, run.measured, count).tolist()
        for label, size, scale in zip(labels, run.measured.tolist(), scales, strict=False):
            known = self.drift.get(label, 0.0)
            self.drift[label] = known if known >= size or known != known else size  # NaN stays
            self.scales[label] = max(self.scales.get(label, 0.0), scale)
        extrema = zip(run.minima.tolist(), run.maxima.tolist(), strict=True)
        for z, (low, high) in zip(here.flow.state, extrema, strict=False):
            a, b = self.extrema.get(z, (np.inf, -np.inf))
            self.extrema[z] = (min(a, low), max(b, high))
        for name in _COUNTS:
            self.counts[name] += int(getattr(run, name))
        nodes = nodes_kernel(here.flow, here.binding.inputs)
        self.nodes |= {**dict.fromkeys(nodes.left_out, False), **dict.fromkeys(nodes.enclosed, True)}
        self.worst = max(self.worst, float(run.worst))
        if self.final:
            self.pieces.clear()
            self.jumps.clear()
        self.pieces.append(piece)
        self.jumps.append(False)
        self.net.add(piece)
        if self.final and len(run.nodes):  # which only the checks needed
            self.pieces[-1] = replace(piece, run=run._replace(nodes=run.nodes[:0], states=run.states[:0]))

    def _scales(self, piece: Piece, measured: Array, count: int) -> Array:
        """Return the sizes of the rows' terms; for a row whose terms vanish up to round-off, those of typical jets. A jet that is itself
        round-off beside others of its kind, as a velocity at rest, has their size; any other jet has its own.
        """
        residuals, sizes = measured[:count], measured[count:]
        if np.all(residuals <= _SUSPICIOUS * sizes):
            return sizes
        here = piece.setting
        largest = np.maximum(np.abs(piece.run.minima), np.abs(piece.run.maxima))
        state = measured_by(largest, usual_state(largest, piece))
        usual = here.compiled.measure(piece.begin, state, here.parameters(piece.begin, piece.reference))[count:]
        found: Array = np.where(np.isfinite(usual) & (sizes < NOTHING * usual), usual, sizes)
        return found

    def met(self, text: str, t: float, jets: Mapping[Jet, float]) -> None:
        """Note an event."""
        self.events.append(Event(text, t, Frozen({z.name: float(v) for z, v in jets.items()})))

    def joined(self, jets: tuple[Jet, ...], verdict: Verdict) -> Trajectory:
        """The trajectory."""
        layout = Layout(jets, any(piece.setting.flow.has_power for piece in self.pieces))
        nodes, states, which = self._kept(layout)
        last = self.pieces[-1]
        end = layout.common(last, np.array([last.end]), np.array([last.run.y]))[0]
        outcome, message = verdict
        measured = self.drift.keys() - ({"balance"} if self.switched.original.system.equations else set())  # a form has no energy
        labels = sorted((label for label in self.drift if label in measured), key=lambda label: label == "balance")
        drift = {label: relative(self.drift[label], self.scales[label]) for label in labels}
        return Trajectory(
            equations=self.switched.original,
            t=nodes,
            states=states,
            end=(last.end, end),
            jets=jets,
            outcome=outcome,
            message=message,
            drift=Frozen(drift),
            scales=Frozen({label: self.scales[label] for label in labels}),
            certificate=self.net.certificate(drift.get("balance", 0.0), self.counts["accepted"], last),
            extrema=Frozen({z.name: self.extrema[z] for z in jets if z in self.extrema}),
            events=tuple(self.events),
            counts=Frozen(self.counts),
            reader=Reader(self.switched, self.binding, layout, tuple(self.pieces), self.dense),
            tolerance=self.tolerance,
            switches=tuple(self.switches),
            pieces=which,
            enclosed=self._enclosed(),
            slopes=self._slopes(layout, which),
        )

    def _slopes(self, layout: Layout, which: Integers) -> Slopes | None:
        if self.directions is None:
            return None
        k = len(self.directions)
        kept = []
        for index, piece in enumerate(self.pieces):
            some = int((which == index).sum())
            at = [piece.run.beside.y] if self.final else piece.run.beside.states
            first = 0 if self.final else self._begins(index)
            kept.append(from_lanes(np.array(at)[first : first + some], k))
        moves = np.zeros(k) if self.end_moves is None else self.end_moves
        return Slopes(self.directions, self.switched, layout, tuple(self.pieces), tuple(kept), moves)

    def _begins(self, k: int) -> int:
        """The first node of a piece that is kept: without a jump, both pieces share the node."""
        return int(self.dense and k > 0 and not self.jumps[k - 1])

    def _enclosed(self) -> Enclosed:
        original = {mode.symbol: Symbol(f"sign({mode.text})") for mode in self.switched.modes}
        return Enclosed(self.worst, self.counts["shortened"], partial(_texts, dict(self.nodes), original))

    def _kept(self, layout: Layout) -> tuple[Array, Array, Integers]:
        if self.final:
            last = self.pieces[-1]
            at = np.array([last.end])
            return at, layout.common(last, at, np.array([last.run.y])), np.zeros(1, np.int64)
        nodes, states, which = [], [], []
        for k, piece in enumerate(self.pieces):
            t, native = np.array(piece.run.nodes), np.array(piece.run.states)
            begin, end = self._begins(k), len(t)
            if not self.dense and end and self.jumps[k] and k + 1 < len(self.pieces) and t[-1] == piece.end:
                end -= 1  # at the time of the jump, the state after it counts
            nodes.append(t[begin:end])
            states.append(layout.common(piece, t[begin:end], native[begin:end]))
            which.append(np.full(max(end - begin, 0), k, np.int64))
        return np.concatenate(nodes), np.concatenate(states), np.concatenate(which)


def _texts(nodes: Mapping[Expr, bool], original: Mapping[Symbol, Symbol]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The nodes in the notation: those that were enclosed, and the others."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for e, known in nodes.items():
        texts[known].append(show(e.xreplace(original)))
    return tuple(texts[True]), tuple(texts[False])


def relative(size: float, scale: float) -> float:
    """Return a residual relative to its terms; zero if it vanishes."""
    return 0.0 if size == 0 else size / scale if scale > 0 else np.nan


def wanted_times(times: Array, at: float, again: bool) -> Array:
    """Return the requested times after `at`; with `again` including `at` itself, after a jump."""
    if len(times) == 2:
        return np.array([at, times[-1]])
    forward = times[-1] > times[0]
    if again:
        return times[times >= at] if forward else times[times <= at]
    return times[times > at] if forward else times[times < at]


def keep_of(final: bool, times: Array, nodes: bool = False) -> int:
    """Return the code of what the integrator stores: of a `final` state also the `nodes`, if the checks need them."""
    if final:
        return dop853.NODES if nodes else dop853.FINAL
    return dop853.STEPS if len(times) == 2 else dop853.TIMES
