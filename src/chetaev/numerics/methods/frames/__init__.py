"""A frame of directions carried along a motion by its linearised equations, and made orthonormal after every step, in compiled code.

`carrying` has the method of such a motion, `loop` its loop, `types` what goes into it, `loaded` loads the machine code.
"""

from __future__ import annotations

from pathlib import Path

from chetaev.numerics.machine.processor import targets_to_build
from chetaev.numerics.methods.frames.loaded import FRAME_LOOP

__all__ = ["build", "prepare"]


def prepare() -> None:
    """Have the loop compiled, if it is not on disk."""
    _ = FRAME_LOOP.carry


def build(folder: str) -> None:
    """Write the loop as machine code for the kinds of machine that a wheel is built for into a folder: what a wheel holds."""
    FRAME_LOOP.build(Path(folder), targets_to_build())
