"""Slopes of jets, multipliers and expressions along a motion with slopes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import interpolate
from chetaev.numerics.slopes.directions import Directions
from chetaev.numerics.slopes.jumps import ends_of, rates
from chetaev.numerics.slopes.linear import of_energy, of_expressions
from chetaev.numerics.slopes.variation import from_lanes, seeds_of, wide_kernels
from chetaev.numerics.smooth_pieces.piece import Layout, Piece

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Slopes:
    """The slopes of a motion, piece by piece."""

    directions: Directions
    switched: Switched
    layout: Layout
    pieces: tuple[Piece, ...]
    kept: tuple[Array, ...]
    """The slopes of the state at the stored times of each piece: times x jets x directions."""
    end_moves: Array
    """The derivative of the time at which the motion ended by each direction: zero unless an event ended it."""
    _read: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Cache of the slopes that were interpolated last, since several expressions are read at the same times."""

    def along(self, e: Expr | None, by: int, times: Array, states: Array, which: Integers) -> Array:
        """The slope of `e`, or of the energy for None, at the stored times."""
        found = np.empty(len(times))
        for k in np.unique(which):
            here = which == k
            found[here] = self._in_piece(int(k), e, by, times[here], states[here], self.kept[int(k)][:, :, by])
        return found

    def between(self, e: Expr | None, by: int, times: Array, states: Array, which: Integers) -> Array:
        """As `along`, at any times."""
        return self.all_between(e, times, states, which)[:, by]

    def all_between(self, e: Expr | None, times: Array, states: Array, which: Integers) -> Array:
        """As `between`, for all directions, a column each."""
        found = np.empty((len(times), len(self.directions)))
        for k in np.unique(which):
            here, piece = which == k, self.pieces[int(k)]
            m, native = len(piece.setting.flow.state), self.layout.native(piece, states[here])
            key = (int(k), times[here].tobytes())
            if self._read.get("key") != key:
                self._read.update(key=key, slopes=self._at(piece, times[here], native))
            table = self._table(piece, e, times[here], native)
            found[here] = np.einsum("jn,njd->nd", table[2 : 2 + m], self._read["slopes"]) + table[2 + m :].T
        return found

    def at_the_end(self, e: Expr | None, by: int) -> float:
        """The derivative of the value at the end, including the change of the time of an event that ended the motion."""
        piece = self.pieces[-1]
        m = len(piece.setting.flow.state)
        t, y = np.array([piece.end]), np.array([piece.run.y])
        slope = ends_of(piece, len(self.directions))[:, by]
        moves = float(self.end_moves[by])
        table = self._table(piece, e, t, y)
        fixed = float(table[2 : 2 + m, 0] @ slope + table[2 + m + by, 0])
        if moves == 0.0:
            return fixed
        rate = float(table[1, 0] + table[2 : 2 + m, 0] @ rates(piece.setting, piece.end, np.array(piece.run.y)))
        return fixed + rate * moves

    def _in_piece(self, k: int, e: Expr | None, by: int, times: Array, states: Array, slopes: Array) -> Array:
        piece, m = self.pieces[k], len(self.pieces[k].setting.flow.state)
        table = self._table(piece, e, times, self.layout.native(piece, states))
        found: Array = np.einsum("jn,nj->n", table[2 : 2 + m], slopes) + table[2 + m + by]
        return found

    def _table(self, piece: Piece, e: Expr | None, times: Array, native: Array) -> Array:
        """Value and derivatives of an expression along states of a piece: a column for each state."""
        here = piece.setting
        return here.mapped(self._function(piece, e), times, native, piece.reference)

    def _function(self, piece: Piece, e: Expr | None) -> ca.Function:
        here, parameters = piece.setting, self.directions.parameters
        if e is None:
            return of_energy(here, parameters)
        return of_expressions(here, [self.switched.read(e, here.configuration)], parameters)

    def _at(self, piece: Piece, times: Array, native: Array) -> Array:
        """Slopes of the state between the nodes, on the linearised constraints: times x jets x directions."""
        here, beside, parameters = piece.setting, piece.run.beside, self.directions.parameters
        if len(piece.run.nodes) == 1:
            found = np.repeat(np.array(beside.states), len(times), axis=0)
        else:
            found = interpolate(piece.basis, piece.run.nodes, beside.states, beside.coefficients, times)
        if piece.project is not None:
            _, project = wide_kernels(here, parameters, False)
            assert project is not None  # noqa: S101 - there are constraints
            seeds = seeds_of(parameters, np.zeros(len(parameters)))
            kept = times if here.flow.inputs else times[:1]
            p = np.array([[*here.parameters(float(t), piece.reference), *seeds] for t in kept])
            wide = np.concatenate([native, found], axis=1)
            found = dop853.evaluate(project.address, times, wide, p if len(p) > 1 else p[0], project.n_out)[:, here.flow.size :]
        return from_lanes(found, len(parameters))
