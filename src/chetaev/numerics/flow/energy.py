r"""Energy of the lowered Lagrangian and the power that changes it, in any algebra.

$$ E = \sum_{i,k} p_i^{(k)} q_i^{(k+1)} - L, \qquad
   p_i^{(k)} = \sum_j \bigl(-(D - L_s)\bigr)^j \frac{\partial L}{\partial q_i^{(k+1+j)}}, $$

$$ \dot E = P = -\partial_t L + (u_i - \partial F/\partial q'^i + \lambda_a R_V^a{}_i)\, q'^i + L_s E. $$
"""

from __future__ import annotations

from typing import Any

from sympy import Add, Expr, Mul, S

from chetaev.core.calculus import Algebra
from chetaev.core.symbols import TIME, Input, Parameter, highest_orders
from chetaev.mechanics.assemble import Adjoint, calculus_of, right_hand_side
from chetaev.mechanics.equations import Equations


def of_time_alone(lagrangian: Expr) -> tuple[Expr, Expr]:
    """A function of time alone in a Lagrangian, and the rest of it.

    Such a term changes no equation. It changes the energy and the work by the same known amount, so the work need not be integrated.
    Symbols that stand for the signs of switching functions, whose names are no identifiers, may jump; their terms stay in the rest.
    """
    if all(z == TIME or isinstance(z, Input) or (isinstance(z, Parameter) and z.name.isidentifier()) for z in lagrangian.free_symbols):
        return lagrangian, S.Zero
    if lagrangian.is_Add:
        parts = [of_time_alone(term) for term in lagrangian.args]
        if all(part is S.Zero for part, _ in parts):
            return S.Zero, lagrangian  # not written again: sums over all pairs of bodies are long
        return Add(*[part for part, _ in parts]), Add(*[rest for _, rest in parts])
    if lagrangian.is_Mul:
        factors = [of_time_alone(factor) for factor in lagrangian.args]
        moving = [k for k, (_, rest) in enumerate(factors) if rest != 0]
        if len(moving) == 1 and factors[moving[0]][0] is not S.Zero:  # a factor of time alone times a sum
            known = Mul(*[part for k, (part, _) in enumerate(factors) if k != moving[0]])
            return known * factors[moving[0]][0], known * factors[moving[0]][1]
    if lagrangian.is_Pow and lagrangian.exp == 2:
        part, rest = of_time_alone(lagrangian.base)
        return part**2, rest * (rest + 2 * part)
    return S.Zero, lagrangian


def energy_and_power(equations: Equations, algebra: Algebra[Any], lagrangian: Expr | None = None) -> tuple[Any, Any]:
    """$E$ and $P$ as expressions in jets and multipliers; both zero for the equations of a dynamical form, which has no energy.

    `lagrangian` takes the place of that of the equations: the same without a function of time alone.
    """
    lowered = equations.lowered
    if lowered.system.equations:
        return algebra.of(S.Zero), algebra.of(S.Zero)
    calculus = calculus_of(lowered, algebra)
    written = algebra.of(lowered.lagrangian if lagrangian is None else lagrangian)
    adjoint = Adjoint(calculus, written)
    energy = -written
    orders = highest_orders(algebra.symbols(written))
    jets = [[v.d(k) for k in range(max(orders.get(v.base, 0) - v.order, 0) + 1)] for v in calculus.frame.velocities]
    partials = iter(algebra.gradient(written, [z for line in jets for z in line]))  # in one call, which is faster
    for line in jets:
        momenta = adjoint.momenta([next(partials) for _ in line])
        for jet, momentum in zip(reversed(line), reversed(momenta), strict=True):
            energy = energy + momentum * algebra.of(jet)
    power = -_explicit_rate(written, algebra)
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
