"""Code for several members at once: whether its compilation pays, and its addresses."""

from __future__ import annotations

from chetaev.numerics.machine.kernels import Foreign, Kernel
from chetaev.numerics.machine.processor import LANES
from chetaev.numerics.machine.rounding_bounds import program_with_inputs
from chetaev.numerics.machine.vectors.states import code_in_lanes, doubts_in_lanes, is_made, runs_in_lanes
from chetaev.numerics.methods.lanes import ONE_BY_ONE, Wide

_LONGEST = 4000
"""Most instructions of all kernels together: code for several states takes three times as long to make as code for one, a second for
4000."""
_ENOUGH = 128
"""Fewest members for which code for several states is compiled if it does not exist yet: this takes as long as some thousands of steps."""


def wide_of(members: int, first_input: int = 0, **kernels: Kernel | None) -> Wide:
    """The addresses of kernels for several states, under the names of `Wide`; no code at all if its compilation does not pay.

    The results of members do not depend on it. The inputs are in p from the index `first_input` on.
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
    rates = kernels["rhs"]
    doubting = 0 if rates is None else doubts_in_lanes(program_with_inputs(rates, kernels.get("inputs"), first_input), rates.n_out)
    return ONE_BY_ONE._replace(doubting=doubting, **{name: code_in_lanes(kernel.program) for name, kernel in used.items()})
