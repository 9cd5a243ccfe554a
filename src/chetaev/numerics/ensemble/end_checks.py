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
from chetaev.numerics.machine.vectors.states import code_in_lanes, doubts_in_lanes
from chetaev.numerics.methods.lanes.layout import EndCode
from chetaev.numerics.methods.lanes.together import evaluate_together, judge_together
from chetaev.numerics.motion.certification import ROWS, held_function
from chetaev.numerics.smooth_pieces.rounding import DISTANCE_FOR_TERMS, neighbours

_CHECKS: Remembered[EndChecks | None] = Remembered(64)


@dataclass(frozen=True)
class EndChecks:
    """Code for several states that judges them."""

    code: EndCode
    size: int
    """The length of a state."""

    def __call__(self, t: Array, states: Array, p: Array, some: Indices) -> tuple[Mask, Array, Array, Array]:
        """Which members have rows that hold, up to round-off that hides nothing; the last residual, and the size of its terms; and the
        states of some members with their rates.
        """
        clear, last, terms = judge_together(self.code, t, states, p, neighbours(self.size))
        rates = evaluate_together(self.code.rates, t[some], states[some], p[some], self.size)
        return clear, last, terms, np.hstack([states[some], rates])


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
    sizes = rows, held[1].n_out, compiled.measure.n_out
    return EndChecks(EndCode(rates, holding, measure, restricting, doubting, *sizes, ROWS, DISTANCE_FOR_TERMS), compiled.size)
