"""Stiff systems: the implicit Runge-Kutta method Radau IIA of order 5."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.methods.base import Method, Task
from chetaev.numerics.methods.dop853 import Status
from chetaev.numerics.methods.dop853.types import Array
from chetaev.numerics.methods.march import Step, StepFailed, call, right_hand_side
from chetaev.numerics.methods.registry import METHODS
from chetaev.numerics.methods.sizes import Sizes

_ORDER = 4
"""With which power of the step its estimated error grows."""


@METHODS.register
class Implicit(Method):
    """For stiff systems, where an explicit method takes very many small steps: `simulate(..., method=Implicit())`.

    Radau IIA of order 5 in SciPy's version, on compiled rates with their exact Jacobian. Events, switching, resets and projection work as
    with the default method. Tolerances mean the same, but errors are larger for the same tolerance; states between the nodes come from
    polynomials of degree 3 and are less exact than the nodes, and so are the times of events that neither end nor change the motion.

    Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.8.
    """

    word = "implicit"
    papers = ("Radau",)
    smooth: ClassVar[bool] = False

    def stepper(self, task: Task) -> _Radau:
        """What makes the steps of one smooth piece."""
        return _Radau(task)


class _Radau:
    """SciPy's Radau, step by step."""

    places: tuple[float, ...] = (0.0, (4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0)

    def __init__(self, task: Task) -> None:
        self.task = task
        self.rates, self.slopes = right_hand_side(task), _jacobian(task)
        self.rejected, self.evaluations = 0, 0
        self.limit: float | None = None
        """The longest next step, if it is to be shorter than usual."""
        self.sizes = Sizes(task.measures, self.rates, task.t0, task.y0, task.t1 - task.t0, task.round_off(task.t0, task.y0))

    @cached_property
    def solver(self) -> Any:
        """SciPy's solver, which begins only where there is a step to make: it knows no interval without a length."""
        task = self.task
        first = max(self.sizes.first_step(_ORDER, task.t1 - task.t0), 100 * np.spacing(abs(task.t0)))
        return self._solver(task.t0, task.y0, task.t1, first)

    def _solver(self, t0: float, y0: Array, t1: float, first: float) -> Any:
        from scipy.integrate import Radau

        relative, absolute = max(self.task.tolerance, 100 * np.finfo(float).eps), self.sizes.absolute
        steps = {"first_step": min(first, abs(t1 - t0), self.task.max_step), "max_step": self.task.max_step}
        return Radau(self.rates, t0, np.array(y0), t1, rtol=relative, atol=absolute, jac=self.slopes, **steps)

    def step(self) -> Step:
        solver, before = self.solver, self.solver.nfev
        if self.limit is not None:
            solver.max_step, self.limit = self.limit, None
        else:
            solver.max_step = self.task.max_step
        with np.errstate(all="ignore"):
            try:
                self._renew_jacobian()
                solver.step()
            except (ValueError, np.linalg.LinAlgError):  # SciPy does not factor a matrix that is not finite
                raise StepFailed(Status.NOT_FINITE) from None
        self.evaluations += solver.nfev - before
        if solver.status == "failed":
            raise StepFailed(Status.STEP_TOO_SMALL)
        if not np.all(np.isfinite(solver.y)):
            raise StepFailed(Status.NOT_FINITE)
        self.sizes.remember(solver.y)
        solver.atol = self.sizes.absolute
        return Step(float(solver.t), np.array(solver.y), np.array(solver.dense_output().Q.T))

    def _renew_jacobian(self) -> None:
        """Take the Jacobian at the beginning of the step.

        SciPy keeps an old one as long as Newton's method converges, and divides the estimated error by it: behind a place of strong damping
        an old Jacobian makes the errors of long steps vanish.
        """
        solver = self.solver
        if not solver.current_jac:
            solver.J, solver.current_jac = solver.jac(solver.t, solver.y, solver.f), True
            solver.LU_real = solver.LU_complex = None

    def restart(self, t: float, y: Array) -> None:
        """The method has one step only: a state moved a little needs a new slope, and the old step size."""
        if t == self.solver.t:
            self.solver.y = np.array(y)
            self.solver.f = self.rates(t, y)
            self.evaluations += 1

    def shorten(self, t: float, y: Array, h: float) -> None:
        self.solver, self.limit = self._solver(t, y, self.task.t1, abs(h)), abs(h)

    def straight(self, t0: float, y0: Array, t1: float) -> Array:
        if t0 == t1:
            return np.array(y0)
        solver = self._solver(t0, y0, t1, abs(t1 - t0))
        while solver.status == "running":
            solver.step()
        self.evaluations += solver.nfev
        return np.array(solver.y)


def _jacobian(task: Task) -> Any:
    r"""$\partial f/\partial y$ in machine code."""
    rhs = task.rates
    t, x, p = (ca.SX.sym(name, rhs.size1_in(i)) for i, name in enumerate("txp"))
    slopes = ca.densify(ca.vec(ca.jacobian(rhs(t, x, p), x)))
    kernel = compile_kernel(ca.Function("slopes", [t, x, p], [slopes], {"cse": True}), hot=False)
    n = len(task.y0)
    return lambda at, y: call(task, kernel, at, y).reshape(n, n, order="F")
