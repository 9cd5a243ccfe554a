"""Code for several members at once: whether its compilation pays, and its addresses."""

from __future__ import annotations

from collections.abc import Sequence

from chetaev.numerics.machine.kernels import Foreign, Kernel
from chetaev.numerics.machine.processor import LANES
from chetaev.numerics.machine.rounding_bounds import program_with_inputs
from chetaev.numerics.machine.vectors.states import code_in_lanes, doubts_in_lanes, is_made, runs_in_lanes
from chetaev.numerics.methods.dop853.tableau import LAST_SUMS, NODES, SUMS
from chetaev.numerics.methods.lanes import ONE_BY_ONE, Wide
from chetaev.numerics.methods.lanes.stages import lane_stages_code

_LONGEST = 4000
"""Most instructions of all kernels together: code for several states takes three times as long to make as code for one, a second for
4000."""
_ENOUGH = 128
"""Fewest members for which code for several states is compiled if it does not exist yet: this takes as long as some thousands of steps."""

PAYS = 1 << 22
"""Steps of members with a right-hand side after which further code for several states is made: all stages of a step in one function, and
the evaluations where motions begin and end. This takes 0.2 to 0.4 s, and saves 15 to 30 ns in each step."""


def wide_of(members: int, first_input: int = 0, begin: Kernel | None = None, **kernels: Kernel | None) -> Wide:
    """The addresses of kernels for several states, under the names of `Wide`; no code at all if it is not worth making.

    The results of members do not depend on it. The inputs are in p from the index `first_input` on; `begin` computes further components.
    """
    if kernels.get("ends") is not None:
        kernels |= {"watch": None, "measure": None}
    used = {name: kernel for name, kernel in kernels.items() if kernel is not None}
    made = all(is_made(kernel.program) for kernel in used.values())
    long = sum(kernel.instructions for kernel in used.values()) > _LONGEST
    if any(isinstance(kernel, Foreign) for kernel in used.values()):
        return ONE_BY_ONE
    if not runs_in_lanes() or members < (LANES if made else _ENOUGH) or (long and not made):
        return ONE_BY_ONE
    rates, inputs = kernels["rhs"], kernels.get("inputs")
    doubting = 0 if rates is None else doubts_in_lanes(program_with_inputs(rates, inputs, first_input), rates.n_out)
    stages = 0 if rates is None or inputs is not None else _stages_of(rates)
    if rates is not None and begin is not None and makes_more_code(rates):
        used["begin"] = begin
    return ONE_BY_ONE._replace(doubting=doubting, stages=stages, **{name: code_in_lanes(kernel.program) for name, kernel in used.items()})


def count_steps(rates: Kernel, steps: int) -> None:
    """Count steps of members: after many of them the next ensemble makes all stages of a step in one function."""
    _steps[rates.program] = _steps.get(rates.program, 0) + steps


def makes_more_code(rates: Kernel) -> bool:
    """Whether many steps were taken with a right-hand side."""
    return runs_in_lanes() and _steps.get(rates.program, 0) >= PAYS


def make_code(rates: Kernel, kernels: Sequence[Kernel | None]) -> None:
    """Make code of kernels for several states, if many steps were taken with a right-hand side."""
    if makes_more_code(rates):
        for kernel in kernels:
            if kernel is not None and not isinstance(kernel, Foreign):
                code_in_lanes(kernel.program)


def _stages_of(rates: Kernel) -> int:
    """The address of all stages of a step in one function, with the same bits; 0 before many steps, or where nothing would be gained."""
    program = rates.program
    if program not in _stages and makes_more_code(rates):
        _stages[program] = lane_stages_code(program, rates.n_out, SUMS, NODES, LAST_SUMS)
    return _stages.get(program, 0)


_steps: dict[bytes, int] = {}
_stages: dict[bytes, int] = {}
