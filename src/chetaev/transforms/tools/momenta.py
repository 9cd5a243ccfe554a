r"""Momenta of a Lagrangian of any order: $p_{(k)} = \partial L/\partial q^{(k+1)} - (D - L_s)\,p_{(k+1)}$ (Ostrogradsky).

Without an action variable $L_s = 0$. The energy is $E = \sum p_{(k)} q^{(k+1)} - L$.
"""

from __future__ import annotations

from sympy import Add, Expr, S

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.symbols import Coordinate, jets_in
from chetaev.mechanics.assemble import Adjoint, calculus_of
from chetaev.mechanics.equations import Equations


def momenta(equations: Equations, q: Coordinate) -> tuple[Expr, ...]:
    """The momenta of a coordinate, that of `q` first, then those of `q'`, `q''`, ... below its highest derivative in the Lagrangian."""
    lagrangian = equations.lagrangian
    order = max((z.order for z in jets_in(lagrangian, Coordinate) if z.base == q.base), default=0)
    adjoint = Adjoint(calculus_of(equations.lowered, SYMBOLIC), lagrangian)
    found: list[Expr] = []
    momentum: Expr = S.Zero
    for k in range(order, 0, -1):
        momentum = lagrangian.diff(q.d(k)) - adjoint(momentum)
        found.append(momentum)
    return tuple(reversed(found))


def energy(equations: Equations) -> Expr:
    r"""$\sum p_{(k)} q^{(k+1)} - L$ of the lowered Lagrangian."""
    terms = [p * q.d(k + 1) for q in equations.system.coordinates for k, p in enumerate(momenta(equations, q))]
    return Add(*terms) - equations.lagrangian
