"""Strides of methods whose steps are polynomials in powers: many steps in machine code between two looks from Python.

A stride makes steps and checks each of them with the rules of `python_loop`: the end is projected onto the constraints, nodes are enclosed
over the tube of the step, watched functions must keep their signs, residuals are measured. The first step in which something happens, or
may happen, ends the stride before it; `python_loop` makes this step once more and does what has to be done. So a stride decides nothing
that `python_loop` would decide otherwise.

`series` and `radau` make a step; `checks` asks whether it is quiet; `polynomial`, `sizes` and `matrices` are what these need; `loop` puts
them together, and is compiled (`loaded`). `types` and `codes` are the arguments, `radau_tableau` has the numbers of Radau IIA.
`methods.compiled_stepper` has the stepper of such methods.
"""

from __future__ import annotations

from pathlib import Path

from chetaev.numerics.machine.processor import targets_to_build
from chetaev.numerics.methods.compiled_steps.loaded import STRIDES


def prepare() -> None:
    """Have the strides compiled, if they are not on disk."""
    _ = STRIDES.series_stride


def build(folder: str) -> None:
    """Write the strides as machine code for the kinds of machine that a wheel is built for into a folder: what a wheel holds."""
    STRIDES.build(Path(folder), targets_to_build())
