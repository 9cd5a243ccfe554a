r"""Energy of the lowered Lagrangian and the power that changes it, in any algebra.

$$ E = \sum_{i,k} p_i^{(k)} q_i^{(k+1)} - L, \qquad
   p_i^{(k)} = \sum_j \bigl(-(D - L_s)\bigr)^j \frac{\partial L}{\partial q_i^{(k+1+j)}}, $$

$$ \dot E = P = -\partial_t L + (u_i - \partial F/\partial q'^i + \lambda_a R_V^a{}_i)\, q'^i + L_s E. $$
"""

from __future__ import annotations

from typing import Any

from sympy import S

from chetaev.core.calculus import Algebra
from chetaev.core.symbols import TIME, Input, highest_orders
from chetaev.mechanics.assemble import Adjoint, calculus_of, right_hand_side
from chetaev.mechanics.equations import Equations


def energy_and_power(equations: Equations, algebra: Algebra[Any]) -> tuple[Any, Any]:
    """$E$ and $P$ as expressions in jets and multipliers; both zero for the equations of a dynamical form, which has no energy."""
    lowered = equations.lowered
    if lowered.system.equations:
        return algebra.of(S.Zero), algebra.of(S.Zero)
    calculus = calculus_of(lowered, algebra)
    lagrangian = algebra.of(lowered.lagrangian)
    adjoint = Adjoint(calculus, lagrangian)
    energy = -lagrangian
    orders = highest_orders(algebra.symbols(lagrangian))
    jets = [[v.d(k) for k in range(max(orders.get(v.base, 0) - v.order, 0) + 1)] for v in calculus.frame.velocities]
    partials = iter(algebra.gradient(lagrangian, [z for line in jets for z in line]))  # in one call, which is faster
    for line in jets:
        momenta = adjoint.momenta([next(partials) for _ in line])
        for jet, momentum in zip(reversed(line), reversed(momenta), strict=True):
            energy = energy + momentum * algebra.of(jet)
    power = -_explicit_rate(lagrangian, algebra)
    for q, velocity in zip(equations.system.coordinates, calculus.frame.velocities, strict=True):
        power = power + algebra.of(right_hand_side(lowered, q) * velocity)
    if adjoint.damping is not None:
        power = power + adjoint.damping * energy
    return energy, power


def _explicit_rate(lagrangian: Any, algebra: Algebra[Any]) -> Any:
    """The rate of the Lagrangian by time and inputs alone."""
    moving = {z: algebra.of(z.d()) for z in algebra.symbols(lagrangian) if isinstance(z, Input)}
    if TIME in algebra.symbols(lagrangian):
        moving[TIME] = algebra.of(TIME * 0 + 1)
    return algebra.along([lagrangian], moving)[0]
