"""Arguments and results of the compiled strides: named tuples, which numba passes field by field."""

from __future__ import annotations

from typing import NamedTuple

from chetaev.numerics.methods.dop853.types import Array, Integers, Matrix, Stack, Table


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
    """Room for Newton's method of Radau IIA: the entries of the Jacobian that may differ from zero, the factors of the real and of the
    complex matrix and their pivots, the stages in both bases, the rates there and the corrections, one over the error that is allowed for
    each component, the slope at the start, the estimated errors of this step and of the one before, and the polynomial of the step
    before with the state at its beginning.

    `lower`, `order`, `places`, `filled`, `followed`, `found`, `starts` and `columns` are those of `methods.elimination`; `diagonal` holds
    the numbers that are added to the diagonals of the matrices, the real one and the parts of the complex one, and their inverses;
    `sorted` has room for two vectors in the order of the matrices.
    """

    lower: int
    order: Integers
    places: Table
    filled: Table
    followed: Table
    found: Integers
    starts: Integers
    columns: Integers
    diagonal: Array
    sorted: Matrix
    jacobian: Array
    real: Matrix
    complex_real: Matrix
    complex_imaginary: Matrix
    pivots: Table
    z: Matrix
    w: Matrix
    f: Matrix
    d: Matrix
    weights: Array
    slope: Array
    error: Array
    error_before: Array
    before: Matrix
    past: Array
