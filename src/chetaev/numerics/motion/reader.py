"""Values of expressions along a motion, and states between its nodes, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.core.errors import UsageError
from chetaev.core.fixes import SetArgument
from chetaev.core.sampled import Sampled
from chetaev.core.support.frozen import Frozen
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.smooth_pieces.clear_readings import read
from chetaev.numerics.smooth_pieces.piece import Layout, Piece


@dataclass(frozen=True)
class Reader:
    """Reads a motion; every time belongs to one piece, the later one where two meet."""

    switched: Switched
    binding: Binding
    """The user's values and functions of time."""
    layout: Layout
    pieces: tuple[Piece, ...]
    dense: bool
    """Whether states between the nodes are stored."""
    samples: Frozen[str, Sampled] = field(default_factory=Frozen)
    """The inputs that were no formulas, as samples."""

    def pieces_at(self, times: Array) -> NDArray[np.int64]:
        """Return the index of the piece of each time; the later one where two meet."""
        forward = 1.0 if self.pieces[-1].end >= self.pieces[0].begin else -1.0
        begins = forward * np.array([piece.begin for piece in self.pieces])
        return np.clip(np.searchsorted(begins, forward * times, side="right") - 1, 0, len(self.pieces) - 1)

    def values(self, expression: Expr, times: Array, states: Array, pieces: NDArray[np.int64] | None = None) -> Array:
        """Evaluate an expression along states as the user reads it: sign(s) is 0 while the motion slides on s = 0."""
        return self._along(expression, times, states, pieces, reading=True)

    def driven(self, expression: Expr, times: Array, states: Array, pieces: NDArray[np.int64] | None = None) -> Array:
        """Evaluate an expression as the equations use it: while the motion slides on s = 0, sign(s) is the value that keeps it there."""
        return self._along(expression, times, states, pieces, reading=False)

    def several(self, expressions: Sequence[Expr], times: Array, states: Array) -> Array:
        """Evaluate expressions as the equations use them, a row for each: in one call, because all multipliers are computed together."""
        which = self.pieces_at(times)
        found = np.empty((len(expressions), len(times)))
        for k in np.unique(which):
            piece, here = self.pieces[int(k)], which == k
            function = piece.setting.functions([self.switched.driven(e, piece.setting.configuration) for e in expressions])
            native = self.layout.native(piece, states[here])
            found[:, here] = piece.setting.mapped(function, times[here], native, piece.reference)
        return found

    def _along(self, e: Expr, times: Array, states: Array, pieces: NDArray[np.int64] | None, reading: bool) -> Array:
        which = self.pieces_at(times) if pieces is None else pieces
        found = np.empty(len(times))
        for k in np.unique(which):
            piece = self.pieces[int(k)]
            here = which == k
            replaced = self.switched.read if reading else self.switched.driven
            own = replaced(e, piece.setting.configuration)
            written = piece.setting.written(own)
            native = self.layout.native(piece, states[here])
            found[here] = read(piece, piece.setting.flow.function([written]), written, own, times[here], native)
        return found

    def energy(self, times: Array, states: Array, pieces: NDArray[np.int64] | None = None) -> tuple[Array, Array]:
        """Return the energy, and the work done since the start, including energy changes by resets."""
        which = self.pieces_at(times) if pieces is None else pieces
        energy, work = np.empty(len(times)), np.empty(len(times))
        for k in np.unique(which):
            piece = self.pieces[int(k)]
            here = which == k
            native = self.layout.native(piece, states[here])
            energy[here] = read(piece, piece.setting.energy, piece.setting.flow.energy, "energy", times[here], native)
            done = native[:, -1] if piece.setting.flow.has_power else piece.work
            work[here] = done + piece.energy - self.pieces[0].energy + self._of_time(piece, times[here], native)
        return energy, work

    def _of_time(self, piece: Piece, times: Array, native: Array) -> Array | float:
        """The energy of time alone, which the balance of the piece leaves out of energy and work."""
        flow = piece.setting.flow
        if flow.energy_of_time.is_zero():
            return 0.0
        begin = self.pieces[0]
        function, first = (each.setting.flow.function([each.setting.flow.energy_of_time]) for each in (piece, begin))
        now: Array = piece.setting.mapped(function, times, native, piece.reference)[0]
        return now - float(begin.setting.numbers(first, begin.begin, begin.first)[0])

    def mode(self, s: Expr, times: Array, states: Array, pieces: NDArray[np.int64] | None = None) -> Array:
        """The sign of a switching function, and while the motion slides on its surface the value between -1 and 1 that keeps it there."""
        found = self.switched.mode(s)
        if found is None:
            known = " ".join(repr(mode.text) for mode in self.switched.modes) or "none"
            raise UsageError(
                "this is no switching function of the motion.",
                where=f"motion of {self.switched.original.system.label}",
                hint=f"switching functions: {known}",
            )
        k, sign = found
        return sign * self.driven(self.switched.modes[k].symbol, times, states, pieces)

    def states_at(self, times: Array, pieces: NDArray[np.int64] | None = None) -> Array:
        """States between the nodes, on the constraints; the state after a reset at the time of the reset."""
        where = f"motion of {self.switched.original.system.label}"
        if not self.dense:
            raise UsageError("only single times were kept.", where=where, hint=SetArgument("t", (0, 10), "simulate"))
        forward = 1.0 if self.pieces[-1].end >= self.pieces[0].begin else -1.0
        inside = (forward * (times - self.pieces[0].begin) >= 0) & (forward * (self.pieces[-1].end - times) >= 0)
        if not inside.all():
            known = f"{self.pieces[0].begin:g} to {self.pieces[-1].end:g}"
            raise UsageError("a time outside the motion.", where=where, hint=f"the motion is known from t = {known}")
        which = self.pieces_at(times) if pieces is None else pieces
        found = np.empty((len(times), self.layout.size))
        for k in np.unique(which):
            piece, here = self.pieces[int(k)], which == k
            found[here] = self.layout.common(piece, times[here], piece.states_at(times[here]))
        return found
