"""Taylor series for tight tolerances, through the package heyoka (`pip install "chetaev[taylor]"`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import casadi as ca
import numpy as np

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import UsageError
from chetaev.core.functions import SMOOTH
from chetaev.core.symbols import TIME
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.remembered import Remembered
from chetaev.numerics.machine.tape import fold
from chetaev.numerics.methods.base import Method, Task
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.methods.dop853.types import Array
from chetaev.numerics.methods.march import Step, StepFailed, right_hand_side
from chetaev.numerics.methods.registry import METHODS
from chetaev.numerics.methods.sizes import Sizes

_LARGE = 70
"""Above so many instructions heyoka's compact code is made, which takes less time to compile."""

_GROWTH = 6.0
"""The step after one that had to be shortened may be so much longer."""

_SEAM = 50.0
"""Tolerances, over a step: a larger difference between the slope of a series at its end and the rates there means that a function took
another branch. The last terms of a series of order 20 differ by 20 tolerances at most; a smaller number only halves steps in vain."""

_CORNERS = ("fabs", "sign", "fmin", "fmax", "floor", "ceil")


@METHODS.register
class Taylor(Method):
    """Taylor series of an order chosen for the tolerance, about 20 for 1e-15: `simulate(..., method=Taylor(), tolerance=1e-15)`.

    Worth it for tight tolerances and small systems. Events, switching, resets and projection work as with the default method; the states
    between the nodes are as exact as the nodes. Compiling takes longer, and the package heyoka must be installed.

    F. Biscani, D. Izzo, Revisiting high-order Taylor methods for astrodynamics and celestial mechanics, MNRAS 504 (2021) 2614.
    """

    word = "taylor"
    papers = ("heyoka",)

    def stepper(self, task: Task) -> _Series:
        """What makes the steps of one smooth piece."""
        return _Series(task)


class _Series:
    """heyoka's integrator, step by step, for a state in units of its own typical sizes: heyoka compares errors with the number one."""

    places: tuple[float, ...] = (0.0,)
    """A series knows the rates and their derivatives where it begins."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.rejected, self.evaluations = 0, 0
        self.series = _integrator(task)
        self.sizes = Sizes(task.measures, right_hand_side(task), task.t0, task.y0, task.t1 - task.t0, task.round_off(task.t0, task.y0))
        count = len(task.compiled.flow.system.equations.system.parameters)
        self.known = np.append(task.p[:count], task.p[-1])
        self.limit, self.limited = task.max_step, False
        self.rates = right_hand_side(task) if _branches(task.rates) else None
        self.restart(task.t0, task.y0)

    def step(self) -> Step:
        series, y, t = self.series, self.y, float(self.series.time)
        limit = np.copysign(min(abs(self.task.t1 - t), self.limit), self.task.t1 - t)
        self._try(limit)
        while not self._meets_rates(t):
            limit, self.limited = 0.5 * (float(series.time) - t), True
            self.restart(t, y)
            self.rejected += 1
            if abs(limit) < 10 * np.finfo(float).eps * abs(t):
                raise StepFailed(Status.STEP_TOO_SMALL)
            self._try(limit)
        self.evaluations += 1
        at = float(series.time)
        h = at - t
        self.limit = min(self.task.max_step, _GROWTH * abs(h)) if self.limited else self.task.max_step
        self.limited = False
        if abs(self.task.t1 - at) <= 4 * np.spacing(abs(self.task.t1)):
            at = self.task.t1
        if h == 0.0 or abs(h) < 10 * np.finfo(float).eps * abs(t):
            raise StepFailed(Status.STEP_TOO_SMALL)
        powers = h ** np.arange(1, series.tc.shape[1])
        rows = np.array(series.tc[:, 1:] * powers).T * self.units
        end = np.array(series.state) * self.units
        rows[-1] += end - y - rows.sum(axis=0)
        self.sizes.remember(end)
        self.restart(float(series.time), end)
        return Step(at, end, rows)

    def _meets_rates(self, t: float) -> bool:
        """Whether the series has the right slope at its end, if a function may have changed its branch on the way.

        The series of sqrt(1 - cos(x)^2) before pi is that of sin(x), beyond pi too: it converges, to another function.
        """
        if self.rates is None:
            return True
        at = float(self.series.time)
        powers = np.arange(1, self.series.tc.shape[1]) * (at - t) ** np.arange(self.series.tc.shape[1] - 1)
        rates = self.rates(at, np.array(self.series.state) * self.units) / self.units
        off = np.abs((self.series.tc[:, 1:] * powers).sum(axis=1) - rates) * abs(at - t)
        return bool(off.max() <= _SEAM * max(self.task.tolerance, float(np.finfo(float).eps)))

    def restart(self, t: float, y: Array) -> None:
        self.y, self.units = np.array(y), _powers_of_two(self.sizes.units)
        values = np.append(self.known, self.units)
        self.series.time = t
        self.series.pars[:] = values[: len(self.series.pars)]  # heyoka knows them up to the last that occurs
        self.series.state[:] = y / self.units

    def shorten(self, t: float, y: Array, h: float) -> None:
        self.restart(t, y)
        self.limit, self.limited = abs(h), True

    def straight(self, t0: float, y0: Array, t1: float) -> Array:
        self.restart(t0, y0)
        while self.series.time != t1:
            self._try(t1 - float(self.series.time))
        return np.array(self.series.state) * self.units

    def _try(self, limit: float) -> None:
        outcome, _ = self.series.step(limit, write_tc=True)
        if outcome.name not in ("success", "time_limit") or not np.all(np.isfinite(self.series.state)):
            raise StepFailed(Status.NOT_FINITE)


def _branches(rates: ca.Function) -> bool:
    """Whether rates contain functions that are not analytic where their argument has an end of its domain, such as sqrt and acos."""
    branching = {ca.OP_SQRT, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ACOSH, ca.OP_ATAN2, ca.OP_POW, ca.OP_CONSTPOW}
    return any(rates.instruction_id(k) in branching for k in range(rates.n_instructions()))


def _powers_of_two(units: Array) -> Array:
    """Numbers by which one divides without rounding."""
    return np.exp2(np.round(np.log2(units)))


_KNOWN: Remembered[Any] = Remembered(16)


def _integrator(task: Task) -> Any:
    """An integrator for the rates of a piece; remembered, because compiling takes time."""
    flow = task.compiled.flow
    inputs = tuple(total_derivative(task.binding.inputs[z.base], z.order) for z in flow.inputs)
    tolerance = max(task.tolerance, float(np.finfo(float).eps))
    rates = task.rates
    return _KNOWN.get(rates, (inputs, tolerance), lambda: _made(_written_out(rates, flow, [flow.graph.of(e) for e in inputs]), tolerance))


def _made(rates: ca.Function, tolerance: float) -> Any:
    heyoka = _package()
    state = [heyoka.expression(f"x{k}") for k in range(rates.size1_in(1))]
    converted = expressions(rates, [[heyoka.time], state, [heyoka.par[k] for k in range(rates.size1_in(2))]])
    compact = rates.n_instructions() > _LARGE
    return heyoka.taylor_adaptive(list(zip(state, converted, strict=True)), np.zeros(len(state)), tol=tolerance, compact_mode=compact)


def _written_out(rhs: ca.Function, flow: Flow, inputs: list[ca.SX]) -> ca.Function:
    """The rates as a function of (t, x, p): x is in units of sizes, p holds parameters, energy and sizes, inputs depend on t."""
    graph, parameters = flow.graph, flow.system.equations.system.parameters
    known, n = graph.vector(parameters), rhs.size1_in(1)
    t, x, energy, units = graph.leaf(TIME), ca.SX.sym("x", n), ca.SX.sym("e"), ca.SX.sym("u", n)
    column = rhs(t, x * units, ca.vertcat(known, *inputs, energy)) / units
    return graph.function("rates", [t, x, ca.vertcat(known, energy, units)], column, cse=True)


def expressions(function: ca.Function, arguments: list[list[Any]]) -> list[Any]:
    """The outputs of an SX function as heyoka expressions. Integer powers become products: heyoka's own power has no value at 0^3."""
    heyoka = _package()

    def apply(operation: int, known: tuple[_Known, ...]) -> _Known:
        values = [value for value, _ in known]
        if operation == ca.OP_LT and known[0][1] is not None:  # a limit (`vanishing`), on one side of which a step begins
            return heyoka.lt(*values), None
        if operation == ca.OP_NOT:
            return 1.0 - values[0], None
        if operation in (ca.OP_POW, ca.OP_CONSTPOW):
            return _power(values[0], values[1], known[1][1]), None
        return _operation(operation)(*values), None

    found = fold(function, lambda k, entry: (arguments[k][entry], None), lambda number: (heyoka.expression(number), number), apply)
    return [heyoka.expression(0.0) if known is None else known[0] for known in found]


_Known = tuple[Any, float | None]
"""An expression, and its value if it is a number."""


def _operation(code: int) -> Callable[..., Any]:
    heyoka = _package()
    known: dict[int, Callable[..., Any]] = {
        ca.OP_ADD: lambda a, b: a + b,
        ca.OP_SUB: lambda a, b: a - b,
        ca.OP_MUL: lambda a, b: a * b,
        ca.OP_DIV: lambda a, b: a / b,
        ca.OP_NEG: lambda a: -a,
        ca.OP_SQ: lambda a: a * a,
        ca.OP_TWICE: lambda a: a + a,
        ca.OP_INV: lambda a: 1.0 / a,
        ca.OP_ATAN2: lambda a, b: heyoka.atan2(a, b),
        **{getattr(ca, f"OP_{name.upper()}"): getattr(heyoka, name) for name in SMOOTH},
    }
    if code not in known:
        corners = {getattr(ca, f"OP_{name.upper()}"): name for name in _CORNERS}
        name = corners.get(code, f"operation {code} of the graph")
        raise UsageError(f"{name} has no Taylor series.", where="simulate, method Taylor()", hint="leave out method=")
    return known[code]


def _power(base: Any, exponent: Any, number: float | None) -> Any:
    """Integer and half-integer powers as products and roots."""
    heyoka = _package()
    if number is None or not float(2 * number).is_integer() or abs(number) > 128:
        return base**exponent
    result, left, square = heyoka.sqrt(base) if not float(number).is_integer() else None, int(abs(number)), base
    while left:
        if left & 1:
            result = square if result is None else result * square
        left >>= 1
        square = square * square if left else square
    result = heyoka.expression(1.0) if result is None else result
    return 1.0 / result if number < 0 else result


def _package() -> Any:
    try:
        return import_module("heyoka")
    except ImportError:
        raise UsageError(
            "the method Taylor() needs the package heyoka, which is not installed.",
            where="simulate",
            hint='pip install "chetaev[taylor]"',
        ) from None
