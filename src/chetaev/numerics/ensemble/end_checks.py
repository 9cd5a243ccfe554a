"""What is checked where motions begin and end, for several members at once: whether their rows hold beyond doubt, and what is measured.

Members of whom this is not clear here are judged one by one, by `run`; the code has the bits of that for one state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chetaev.numerics.ensemble.batch import Array, Indices, Mask
from chetaev.numerics.ensemble.side_by_side import makes_more_code
from chetaev.numerics.flow.compiled import Compiled
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Foreign
from chetaev.numerics.machine.processor import LANES
from chetaev.numerics.machine.vectors.states import code_in_lanes, doubts_in_lanes
from chetaev.numerics.methods.lanes.blocks import evaluate_blocks, in_blocks, of_points
from chetaev.numerics.motion.certification import ROWS, held_function
from chetaev.numerics.smooth_pieces.rounding import DISTANCE_FOR_TERMS, neighbours

_CHECKS: Remembered[EndChecks | None] = Remembered(64)


@dataclass(frozen=True)
class EndChecks:
    """Addresses of code for several states, and the sizes of its results."""

    rates: int
    held: int
    measure: int
    restricting: int
    doubting: int
    size: int
    """The length of a state."""
    rows: int
    """The number of rows on the state."""
    sizes: tuple[int, int]
    """How many numbers `held` and `measure` compute."""

    def __call__(self, t: Array, states: Array, p: Array, some: Indices) -> tuple[Mask, Array, Array, Array]:
        """Which members have rows that hold, up to round-off that hides nothing; the last residual, and the size of its terms; and the
        states of some members with their rates.
        """
        times, parameters, y = in_blocks(t[:, None]), in_blocks(p), in_blocks(states, self.size)

        def found(code: int, where: Array, count: int) -> Array:
            room = np.empty((len(y), count, y.shape[2]))
            evaluate_blocks(code, times, where, parameters, room)
            return room

        evaluate_blocks(self.rates, times, y, parameters, y[:, self.size :])
        held, measured = (found(code, y, count) for code, count in zip((self.held, self.measure), self.sizes, strict=True))
        half = self.sizes[0] // 2
        clear: Mask = np.all(held[:, :half] <= ROWS * held[:, half:], axis=1)
        if self.rows:
            both, values = found(self.doubting, y, 2 * self.rows), found(self.restricting, y, self.rows)
            with np.errstate(invalid="ignore", over="ignore"):
                doubts, terms = np.abs(both[:, : self.rows] - both[:, self.rows :]) / 2, np.zeros(values.shape)
                for factors in neighbours(self.size):
                    moved = found(self.restricting, y[:, : self.size] * factors[:, None], self.rows)
                    terms = np.maximum(terms, np.abs(moved - values) / DISTANCE_FOR_TERMS)
                    certain = doubts <= ROWS * terms
                    if certain.all():
                        break
                clear &= certain.all(axis=1)
        size = len(states)
        last = measured[:, measured.shape[1] // 2 - 1], measured[:, -1]
        return of_points(clear, size), of_points(last[0], size), of_points(last[1], size), y[some // LANES, :, some % LANES]


def end_checks(compiled: Compiled) -> EndChecks | None:
    """The checks of a system with which many steps were taken; None for another one, or if some of the code is not possible. Cached."""
    if not makes_more_code(compiled.stepping.rhs):
        return None
    return _CHECKS.get(compiled, "checks", lambda: _end_checks(compiled))


def _end_checks(compiled: Compiled) -> EndChecks | None:
    held, kernels = held_function(compiled), (compiled.stepping.at_state, compiled.measure)
    rows = len(compiled.flow.system.hidden())
    if held is None or any(isinstance(kernel, Foreign) for kernel in kernels):
        return None
    doubting = doubts_in_lanes(compiled.restricting.program, rows) if rows else 0
    if rows and not doubting:
        return None
    rates, measure, holding = (code_in_lanes(kernel.program) for kernel in (*kernels, held[1]))
    restricting = code_in_lanes(compiled.restricting.program) if rows else 0
    return EndChecks(rates, holding, measure, restricting, doubting, compiled.size, rows, (held[1].n_out, compiled.measure.n_out))
