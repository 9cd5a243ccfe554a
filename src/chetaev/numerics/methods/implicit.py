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
from chetaev.numerics.methods.elimination import Elimination, elimination_of

_ORDER = 4
"""The power of the step with which the estimated error grows."""
_DEGREE = 4
"""Degree of the polynomials of steps."""
_STAGES = (0.0, (4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0)
"""The points at which a step evaluates the rates, as parts of the step."""


@public
@METHODS.register
class Implicit(Method):
    """For stiff systems, where an explicit method takes very many small steps: `simulate(..., method=Implicit())`.

    Radau IIA of order 5, on compiled rates with their exact Jacobian. Events, switching, resets and projection work as with the default
    method, and errors are about as large for the same tolerance. States between the nodes come from polynomials of degree 4, and so do the
    times of events that neither end nor change the motion.

    Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.
    """

    word = "implicit"
    papers = ("Radau",)
    smooth: ClassVar[bool] = False

    def stepper(self, task: Task) -> Strides:
        """Return the object that makes the steps of one smooth piece."""
        kernel, elimination = _jacobian(task.rates)
        found = Strides(task, "radau", kernel.address, _DEGREE, _STAGES, (_room(len(task.y0), elimination),))
        first = found.sizes.first_step(_ORDER, task.t1 - task.t0)
        found.shorten(task.t0, task.y0, max(first, 100 * float(np.spacing(abs(task.t0)))))
        return found


_KNOWN: Remembered[tuple[Kernel, Elimination]] = Remembered(16)


def _jacobian(rates: ca.Function) -> tuple[Kernel, Elimination]:
    r"""The entries of $\partial f/\partial y$ that may differ from zero, in machine code, and how systems with it are solved."""

    def made() -> tuple[Kernel, Elimination]:
        t, x, p = (ca.SX.sym(name, rates.size1_in(i)) for i, name in enumerate("txp"))
        slopes = ca.jacobian(rates(t, x, p), x)
        found = elimination_of(slopes.sparsity())
        entries = ca.vertcat(ca.SX(0, 1), *[slopes.nz[k] for k in found.entries])
        return compile_kernel(ca.Function("slopes", [t, x, p], [ca.densify(entries)], {"cse": True})), found

    return _KNOWN.get(rates, (), made)


def _room(n: int, found: Elimination) -> Newton:
    stages, square = np.zeros((4, 3, n)), np.zeros((3, len(found.order), found.width))
    return Newton(
        lower=found.lower,
        order=found.order,
        places=found.places,
        filled=found.filled,
        followed=found.followed,
        found=found.found,
        starts=found.starts,
        columns=found.columns,
        diagonal=np.zeros(6),
        sorted=np.zeros((2, len(found.order))),
        jacobian=np.zeros(len(found.entries)),
        real=square[0],
        complex_real=square[1],
        complex_imaginary=square[2],
        pivots=np.zeros((2, len(found.order)), np.int64),
        z=stages[0],
        w=stages[1],
        f=stages[2],
        d=stages[3],
        weights=np.zeros(n),
        slope=np.zeros(n),
        error=np.zeros(n),
        error_before=np.zeros(n),
        before=np.zeros((n, width_of(_DEGREE))),
        past=np.zeros(n),
    )
