"""Taylor series for tight tolerances; `series` has the recurrences of their coefficients."""

from __future__ import annotations

from math import ceil, log

import casadi as ca
import numpy as np

from chetaev.core.calculus import total_derivative
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.methods import METHODS
from chetaev.numerics.methods.base import Method, Task
from chetaev.numerics.methods.compiled_stepper import Strides
from chetaev.numerics.methods.compiled_steps import codes
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.methods.dop853.arguments import width_of
from chetaev.numerics.methods.stepper import Step, StepFailed, right_hand_side
from chetaev.numerics.methods.taylor.series import series_of

_LEAST_ORDER = 4
"""The lowest order, for tolerances at which a series is not worth it: the polynomial of a step has three rows at least."""
_SEAM = 50.0
"""Tolerances, over a step: a larger difference between the slope of a series at its end and the rates there means that a function took
another branch. The last terms of a series of order 20 differ by 20 tolerances at most; a smaller number only halves steps in vain."""


@public
@METHODS.register
class Taylor(Method):
    """Taylor series of an order chosen for the tolerance, 19 for 1e-15: `simulate(..., method=Taylor(), tolerance=1e-15)`.

    Worth it for tight tolerances and small systems. Events, switching, resets and projection work as with the default method; the states
    between the nodes are as exact as the nodes. Compiling takes longer.

    A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods, Experimental
    Mathematics 14 (2005) 99-117.
    """

    word = "taylor"
    papers = ("Jorba",)

    def stepper(self, task: Task) -> Strides:
        """Return the object that makes the steps of one smooth piece. A series knows the rates and their derivatives where it begins."""
        order = _order(task.tolerance)
        kernel = _kernel(task, order).address
        if not _BRANCHING.get(task.rates, (), lambda: _branches(task.rates)):
            return Strides(task, "series", kernel, order, (0.0,))
        seam = _SEAM * max(task.measures.rtol, float(np.finfo(float).eps))
        return _Branching(task, "series", kernel, order, (0.0,), seam=seam)


class _Branching(Strides):
    """A series of functions that may take another branch inside a step: the slope at its end is compared with the rates there.

    A stride ends before a step in which they differ (`compiled_steps.series.meets_rates`); this one is then halved until they agree.
    """

    def step(self) -> Step:
        """The next step whose series is that of the equations at its end, too."""
        t, y = float(self._path.clock[codes.NOW]), self._path.y.copy()
        found = super().step()
        while not self._meets_rates(t, found):
            h = 0.5 * (found.t - t)
            if abs(h) < 10 * np.finfo(float).eps * abs(t):
                raise StepFailed(Status.STEP_TOO_SMALL)
            self.rejected += 1
            self.shorten(t, y, h)
            found = super().step()
        return found

    def _meets_rates(self, t: float, found: Step) -> bool:
        scales, measures = self._path.scales, self.task.measures
        units = np.maximum(scales[codes.TYPICAL], (scales[codes.ATOL] + scales[codes.NOISE]) / measures.rtol)
        slope = np.arange(1, len(found.rows) + 1) @ found.rows
        off = np.abs(slope - (found.t - t) * right_hand_side(self.task)(found.t, found.y))
        return bool(np.all(off <= self._room.seam * units))


def _branches(rates: ca.Function) -> bool:
    """Whether rates contain functions that are not analytic where their argument has an end of its domain, such as sqrt and acos."""
    branching = {ca.OP_SQRT, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ACOSH, ca.OP_ATAN2, ca.OP_POW, ca.OP_CONSTPOW}
    return any(rates.instruction_id(k) in branching for k in range(rates.n_instructions()))


def _order(tolerance: float) -> int:
    """The order at which a series of coefficients that fall by e^2 reaches the tolerance: Jorba, Zou, section 3.2."""
    return max(_LEAST_ORDER, ceil(1 - log(max(tolerance, float(np.finfo(float).eps))) / 2))


_KNOWN: Remembered[Kernel] = Remembered(16)
_BRANCHING: Remembered[bool] = Remembered(16)


def _kernel(task: Task, order: int) -> Kernel:
    """Machine code for the coefficients of a piece; remembered, because compiling takes time."""
    flow = task.compiled.flow
    inputs = tuple(total_derivative(task.binding.inputs[z.base], z.order) for z in flow.inputs)
    rates = task.rates
    graphs = [flow.graph.of(e) for e in inputs]
    return _KNOWN.get(rates, (inputs, order), lambda: compile_kernel(series_of(_written_out(rates, flow, graphs), order, width_of(1))))


def _written_out(rates: ca.Function, flow: Flow, inputs: list[ca.SX]) -> ca.Function:
    """The rates as a function of (t, y, p) in which inputs depend on t; their entries of p are not read."""
    if not inputs:
        return rates
    graph, parameters = flow.graph, flow.system.equations.system.parameters
    known, unread, energy = graph.vector(parameters), ca.SX.sym("i", len(inputs)), ca.SX.sym("e")
    t, y = graph.leaf(TIME), ca.SX.sym("y", rates.size1_in(1))
    column = rates(t, y, ca.vertcat(known, *inputs, energy))
    return graph.function("rates", [t, y, ca.vertcat(known, unread, energy)], column, cse=True)
