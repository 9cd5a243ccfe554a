"""All compiled loops: before several processes would each compile them, and for what a wheel holds. A new loop is one name here."""

from __future__ import annotations

from pathlib import Path

from chetaev.numerics.machine.processor import targets_to_build
from chetaev.numerics.machine.two_doubles.loaded import TWO_DOUBLES
from chetaev.numerics.methods.compiled_steps.loaded import STRIDES
from chetaev.numerics.methods.dop853.loaded import LOOP
from chetaev.numerics.methods.frames.loaded import FRAME_LOOP
from chetaev.numerics.methods.lanes.loaded import AT_MEMBERS, LANE_LOOP

LOOPS = (LOOP, STRIDES, LANE_LOOP, AT_MEMBERS, FRAME_LOOP, TWO_DOUBLES)
"""Every loop that numba compiles. A wheel holds the machine code of these only; another one would be compiled by the first simulation."""


def prepare() -> None:
    """Have the loops compiled that are not on disk."""
    for loop in LOOPS:
        getattr(loop, loop.names[0])


def build(folder: str) -> None:
    """Write the loops into a folder, as machine code for the kinds of machine that a wheel is built for."""
    for loop in LOOPS:
        loop.build(Path(folder), targets_to_build(wide=loop is LANE_LOOP))
