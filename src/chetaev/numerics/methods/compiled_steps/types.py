"""Arguments and results of the compiled strides: named tuples, which numba passes field by field."""

from __future__ import annotations

from typing import NamedTuple

from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix, Stack


class Path(NamedTuple):
    """The position of a run: its clock and its counts (`codes`), the state, the last signs of the watched functions, the kinds of the
    components, and rows of data about their sizes.
    """

    clock: Array
    counts: Integers
    y: Array
    signs: Integers
    kinds: Integers
    scales: Matrix


class Room(NamedTuple):
    """Room for one step.

    The order of its polynomial and the coefficients, a row for each component with zeros up to a multiple of four; room for powers of a
    place, and `weights` of the coefficients in some places (`codes`); its end before (`free`) and after (`end`) projection, a trial
    state, a state at some `place` of the step (these have room behind them up to a multiple of four); the `places` where the method
    evaluates the rates, as parts of a step; watched functions and residuals at the end, watched functions in a place, and in several
    places; determinants in many. `seam` is the largest part of a size by which the slope at the end of a series may differ from the rates
    there, over a step; 0 = they are not compared. `read` are the components that the determinant reads.
    """

    order: int
    rows: Matrix
    powers: Array
    weights: Matrix
    free: Array
    end: Array
    trial: Array
    place: Array
    places: Array
    after: Array
    residuals: Array
    values: Array
    samples: Matrix
    levels: Array
    seam: float
    read: Integers


class Kept(NamedTuple):
    """Steps of a stride: their ends, and their polynomials."""

    nodes: Array
    states: Matrix
    rows: Stack


class Newton(NamedTuple):
    """Room for Newton's method of Radau IIA: the Jacobian, column by column, the factors of the real and of the complex matrix and their
    pivots, the stages in both bases, the rates there and the corrections, the slope at the start, the estimated error, and the polynomial
    of the step before with the state at its beginning.

    With an `order` of the components the matrices are bands (`bands`), `lower` entries wide below the diagonal; the Jacobian has its
    entries that may differ from zero, which stand at `places` of the bands, and `sorted` has room for two vectors in that order. Components
    that no rate reads, such as work, are not in the order: the entries of their `rows` and `columns` are the last of the Jacobian, and
    they are `found` last, with the three numbers of the `diagonal`. Without an order the matrices are dense.
    """

    lower: int
    order: Integers
    places: Integers
    found: Integers
    rows: Integers
    columns: Integers
    diagonal: Array
    sorted: Matrix
    jacobian: Array
    real: Matrix
    complex_real: Matrix
    complex_imaginary: Matrix
    pivots: Integers
    complex_pivots: Integers
    z: Matrix
    w: Matrix
    f: Matrix
    d: Matrix
    slope: Array
    error: Array
    before: Matrix
    past: Array
