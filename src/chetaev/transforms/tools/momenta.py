"""Momenta and energy of a Lagrangian of any order."""

from __future__ import annotations

from sympy import Add, Expr

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.symbols import Coordinate, jets_in
from chetaev.mechanics.assemble import Adjoint, calculus_of
from chetaev.mechanics.equations import Equations


def momenta(equations: Equations, q: Coordinate) -> tuple[Expr, ...]:
    """The momenta of a coordinate, that of `q` first, then those of `q'`, `q''`, ... below its highest derivative in the Lagrangian."""
    lagrangian = equations.lagrangian
    order = max((z.order for z in jets_in(lagrangian, Coordinate) if z.base == q.base), default=0)
    adjoint = Adjoint(calculus_of(equations.lowered, SYMBOLIC), lagrangian)
    return tuple(adjoint.momenta([lagrangian.diff(q.d(k)) for k in range(1, order + 1)]))


def energy(equations: Equations) -> Expr:
    r"""$\sum p_{(k)} q^{(k+1)} - L$ of the lowered Lagrangian."""
    terms = [p * q.d(k + 1) for q in equations.system.coordinates for k, p in enumerate(momenta(equations, q))]
    return Add(*terms) - equations.lagrangian
