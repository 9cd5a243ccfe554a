"""The peers: heyoka; Pinocchio; and sympy.physics.mechanics.LagrangesMethod, lambdify and SciPy's solve_ivp, used as well as they can be.

The mass matrix is solved numerically in each call, with common sub-expressions shared (`lambdify(..., cse=True)`): the faster of the two
documented ways. The other one, `LagrangesMethod.rhs()`, inverts the matrix symbolically and soon grows beyond bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from symbolic import Symbolic
from sympy.physics.mechanics import LagrangesMethod

Array = NDArray[np.float64]
Rhs = Callable[[float, Array], Array]


def lambdified(system: Symbolic, symbolic_inverse: bool = False) -> Rhs:
    """The right-hand side of coordinates and velocities."""
    method = LagrangesMethod(
        system.lagrangian, system.coordinates, hol_coneqs=list(system.holonomic) or None, nonhol_coneqs=list(system.nonholonomic) or None
    )
    method.form_lagranges_equations()
    state = [*system.coordinates, *[z.diff() for z in system.coordinates]]
    n, values = len(state), list(system.values)
    if symbolic_inverse:
        explicit = sympy.lambdify([state, system.parameters], method.rhs(), cse=True)
        return lambda t, y: explicit(y, values).ravel()[:n]
    both = sympy.lambdify([state, system.parameters], [method.mass_matrix_full, method.forcing_full], cse=True)

    def rhs(t: float, y: Array) -> Array:
        mass, forcing = both(y, values)
        found: Array = np.linalg.solve(mass, forcing).ravel()[:n]
        return found

    return rhs


def integrate(rhs: Rhs, t: float, start: Any, tolerance: float, method: str = "DOP853") -> Array:
    """The state at t, from 0."""
    found: Array = solve_ivp(rhs, (0.0, t), start, method=method, rtol=tolerance, atol=tolerance).y[:, -1]
    return found


def has_heyoka() -> bool:
    """Whether heyoka is installed."""
    return find_spec("heyoka") is not None


@lru_cache(maxsize=64)
def taylor(rhs: Callable[..., None], start: tuple[float, ...], p: tuple[float, ...], tolerance: float) -> Callable[[float], Array]:
    """What gives the state at a time, from 0, by heyoka's Taylor series of a right-hand side as those of `hand`.

    The right-hand side is executed once with heyoka's expressions for numbers, and heyoka's functions for NumPy's.
    """
    import heyoka as hy

    y = hy.make_vars(*[f"y{k}" for k in range(len(start))])
    rates: list[Any] = [None] * len(y)
    FunctionType(rhs.__code__, {"np": hy})(None, y, [hy.par[k] for k in range(len(p))], rates)
    series = hy.taylor_adaptive(list(zip(y, rates, strict=True)), list(start), tol=tolerance)
    series.pars[:] = p[: len(series.pars)]  # up to the last one that occurs
    state, first = series.state, np.array(start)

    def end(t: float) -> Array:
        series.time = 0.0
        state[:] = first
        series.propagate_until(t)
        return np.array(state)

    return end


def has_pinocchio() -> bool:
    """Whether Pinocchio is installed."""
    return find_spec("pinocchio") is not None


def articulated_chain(masses: Array, lengths: Array, gravity: float) -> Callable[[Array, Array], Array]:
    """What gives the second derivatives of the angles of a chain's joints, from these angles and their derivatives, by the
    articulated-body algorithm of Pinocchio.

    Joints turn one body against the one before it: their angles are differences of the angles from the vertical.
    """
    import pinocchio as pin

    model, joint, place = pin.Model(), 0, np.zeros(3)
    model.gravity.linear = np.array([0.0, -gravity, 0.0])
    for k, (m, a) in enumerate(zip(masses, lengths, strict=True)):
        joint = model.addJoint(joint, pin.JointModelRZ(), pin.SE3(np.eye(3), place), f"joint {k}")
        place = np.array([0.0, -a, 0.0])
        model.appendBodyToJoint(joint, pin.Inertia(m, place, np.zeros((3, 3))), pin.SE3.Identity())
    data, torque = model.createData(), np.zeros(len(masses))

    def accelerations(angles: Array, rates: Array) -> Array:
        found: Array = pin.aba(model, data, angles, rates, torque)
        return found

    return accelerations
