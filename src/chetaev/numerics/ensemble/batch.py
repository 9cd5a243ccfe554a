"""Functions of (t, x, p) for many members at once, each with its own parameters and with the inputs at its own time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from weakref import ref

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import TIME, Input
from chetaev.numerics.flow.compiled import Compiled
from chetaev.numerics.graphs.buffered import Buffered
from chetaev.numerics.machine.kernels import Kernel
from chetaev.numerics.machine.vectors.states import code_in_lanes, is_made
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.lanes.together import evaluate_together

_LAST: list[tuple[Callable[[], Any], slice | None]] = [(lambda: None, None)]
"""The last indices of `as_slice`, which are not changed in place, and what it found: it is mostly asked for the same ones again."""

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FEW = 256
"""Most points at which CasADi evaluates a function in place: the arrays of the last call are kept."""
_SEVERAL = 256
"""Fewest points for which code for several states is used: to arrange the numbers takes as long as some tens of evaluations."""


@dataclass(frozen=True)
class Batch:
    """The vectors p of all members, and the evaluation of functions at their states."""

    compiled: Compiled
    p: Array
    written: Mapping[str, Expr]
    """The inputs as functions of time and parameters, by name."""

    @cached_property
    def inputs(self) -> ca.Function | None:
        """The jets of inputs that are entries of p."""
        flow = self.compiled.flow
        if not flow.inputs:
            return None
        graph = flow.graph
        known = graph.vector(flow.system.equations.system.parameters)
        return graph.function("inputs", [graph.leaf(TIME), known], ca.vertcat(*map(self._written, flow.inputs)))

    def with_inputs(self, e: ca.SX) -> ca.SX:
        """Return an expression in which jets of inputs that are not entries of p are written out."""
        return self.compiled.flow.with_inputs(e, self.written)

    def _written(self, z: Input) -> ca.SX:
        return self.compiled.flow.graph.of(total_derivative(self.written[z.base], z.order))

    def at(self, t: Array, members: Indices) -> Array:
        """The vectors p of some members, with the inputs at their times; not to be written to."""
        if self.inputs is None or not len(members):
            return np.asarray(self.p[as_slice(members)])
        p: Array = self.p[members]
        first = self.inputs.size1_in(1)
        p[:, first : first + self.inputs.size1_out(0)] = mapped(self.inputs, t[members], p[:, :first])
        return p

    def values(self, function: ca.Function | Kernel, t: Array, states: Array, members: Indices) -> Array:
        """One row per member."""
        if isinstance(function, Kernel):
            here = as_slice(members)
            return each(function, t[here], states[here], self.at(t, members))
        if not len(members):
            return np.zeros((0, function.size1_out(0)))
        return mapped(function, t[members], states[members], self.at(t, members))


def as_slice(members: Indices) -> Any:
    """The same indices, as a slice where they follow each other: what a slice reads is not copied."""
    known, found = _LAST[0]
    if known() is members:
        return members if found is None else found
    size = len(members)
    first = int(members[0]) if size else 0
    apart = not size or int(members[-1]) - first != size - 1 or not (members == np.arange(first, first + size)).all()
    _LAST[0] = ref(members), None if apart else slice(first, first + size)
    return members if apart else slice(first, first + size)


def all_in_rows(found: Mask) -> Mask:
    """Which rows of an array of truths hold throughout. Mostly all do, and to see that takes a tenth of the time."""
    return np.ones(len(found), bool) if found.all() else np.asarray(found.all(axis=1))


def mapped(function: ca.Function, *columns: Array) -> Array:
    """Evaluate a function at many points: arguments and result have one row per point."""
    size = len(columns[0])
    if size <= _FEW and all(c.size for c in columns) and (few := _at_few(function, size)) is not None:
        return few(*[np.ascontiguousarray(c, np.float64) for c in columns]).reshape(size, -1)
    found: Array = _at_points(function, size)(*[c[None, :] if c.ndim == 1 else c.T for c in columns]).full()
    return np.ascontiguousarray(found.T)


@lru_cache(maxsize=64)
def _at_points(function: ca.Function, size: int) -> ca.Function:
    return function.map(size)


@lru_cache(maxsize=64)
def _at_few(function: ca.Function, size: int) -> Buffered | None:
    """The function at some points, in place; None if not all its arguments and results are dense."""
    arguments = [function.sparsity_in(k) for k in range(function.n_in())]
    dense = all(pattern.is_dense() for pattern in [*arguments, function.sparsity_out(0)])
    return Buffered(function.map(size)) if dense else None


def each(kernel: Kernel, t: Array, states: Array, p: Array) -> Array:
    """Evaluate machine code at many points, several at a time if there is such code."""
    if len(states) >= _SEVERAL and is_made(kernel.program):
        return evaluate_together(code_in_lanes(kernel.program), t, states, p, kernel.n_out)
    return dop853.evaluate(kernel.address, t, states, p, kernel.n_out)
