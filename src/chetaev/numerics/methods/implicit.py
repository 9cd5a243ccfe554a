"""Stiff systems: the implicit Runge-Kutta method Radau IIA of order 5."""

from __future__ import annotations

from typing import ClassVar

import casadi as ca
import numpy as np

from chetaev.core.support.public import public
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.methods import METHODS
from chetaev.numerics.methods.base import Method, Task
from chetaev.numerics.methods.compiled_stepper import Strides
from chetaev.numerics.methods.compiled_steps.types import Newton
from chetaev.numerics.methods.dop853.arguments import width_of

_ORDER = 4
"""The power of the step with which the estimated error grows."""
_STAGES = (0.0, (4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0)
"""The points at which a step evaluates the rates, as parts of the step."""


@public
@METHODS.register
class Implicit(Method):
    """For stiff systems, where an explicit method takes very many small steps: `simulate(..., method=Implicit())`.

    Radau IIA of order 5, on compiled rates with their exact Jacobian. Events, switching, resets and projection work as with the default
    method. Tolerances mean the same, but errors are larger for the same tolerance; states between the nodes come from polynomials of
    degree 3 and are less exact than the nodes, and so are the times of events that neither end nor change the motion.

    Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.
    """

    word = "implicit"
    papers = ("Radau",)
    smooth: ClassVar[bool] = False

    def stepper(self, task: Task) -> Strides:
        """Return the object that makes the steps of one smooth piece."""
        found = Strides(task, "radau", _jacobian(task.rates).address, 3, _STAGES, (_room(len(task.y0)),))
        first = found.sizes.first_step(_ORDER, task.t1 - task.t0)
        found.shorten(task.t0, task.y0, max(first, 100 * float(np.spacing(abs(task.t0)))))
        return found


_KNOWN: Remembered[Kernel] = Remembered(16)


def _jacobian(rates: ca.Function) -> Kernel:
    r"""$\partial f/\partial y$ in machine code, column by column."""

    def made() -> Kernel:
        t, x, p = (ca.SX.sym(name, rates.size1_in(i)) for i, name in enumerate("txp"))
        slopes = ca.densify(ca.vec(ca.jacobian(rates(t, x, p), x)))
        return compile_kernel(ca.Function("slopes", [t, x, p], [slopes], {"cse": True}))

    return _KNOWN.get(rates, (), made)


def _room(n: int) -> Newton:
    square, stages = np.zeros((3, n, n)), np.zeros((4, 3, n))
    return Newton(
        jacobian=np.zeros(n * n),
        real=square[0],
        complex_real=square[1],
        complex_imaginary=square[2],
        pivots=np.zeros(n, np.int64),
        complex_pivots=np.zeros(n, np.int64),
        z=stages[0],
        w=stages[1],
        f=stages[2],
        d=stages[3],
        slope=np.zeros(n),
        error=np.zeros(n),
        before=np.zeros((n, width_of(3))),
        past=np.zeros(n),
    )
