"""What goes into the compiled loop that carries a frame, and what comes out."""

from __future__ import annotations

from typing import NamedTuple

from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix


class Frame(NamedTuple):
    """Where the columns of a frame stand in a state, and what lengths and angles are measured by."""

    own: int
    """Numbers of the state before its slopes."""
    lanes: int
    """Slopes of a jet, one after another."""
    change: int
    """The address of code of the slopes of momenta by the jets, row by row; 0 = no momenta."""
    units: Array
    """The units of jets."""
    momenta: Integers
    """The numbers of the jets in whose place a momentum counts."""
    matrix: Array
    """Room for what `change` writes."""
    columns: Matrix
    """Room for the columns, a row each."""


class Tally(NamedTuple):
    """Sums over parts of a motion that are `width` long: the logarithms by which columns grew, a row for each part, and its length."""

    begin: float
    width: float
    logs: Matrix
    lengths: Array
    last: Array
    """The time up to which all is counted."""
