r"""Euler-Lagrange expressions without terms that cancel, for Lagrangians made of factors of single coordinates.

In $\frac{d}{dt} \frac{\partial L}{\partial q'} - \frac{\partial L}{\partial q}$ of a chain of bodies most terms with products of two
velocities cancel, and a graph does not see that. Let L be a function of factors $w_i(q, q')$, each of one coordinate, as
$\theta'\cos\theta$. Then

$$ E_q[L] = \sum_i \Bigl(\frac{d}{dt} \frac{\partial L}{\partial w_i}\Bigr) \frac{\partial w_i}{\partial q'}
   + \frac{\partial L}{\partial w_i} E_q[w_i], $$

and $E_q[w_i]$ is zero for a factor that is the rate of a function, as $\theta'\cos\theta$ is that of $\sin\theta$.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import casadi as ca
from sympy import Expr, Mul, Symbol, expand

from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import TIME, Coordinate, Input, Jet, symbols_in
from chetaev.numerics.flow.nested.sums import NestedAlgebra, Product
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.arithmetic import dense, minus, plus, times

_MOST_PRODUCTS = 16
"""Most terms into which a product of sums is multiplied out; more would take longer to compute than what cancels."""


class _Factors(NestedAlgebra):
    """Nested sums in which every factor that moves with the velocity of one coordinate is a leaf."""

    def __init__(self, graph: GraphAlgebra, order: Sequence[Symbol]) -> None:
        super().__init__(graph, order)
        self.leaves: dict[Expr, ca.SX] = {}

    def _separated(self, term: Expr) -> list[Product] | None:
        """Sums within products are multiplied out: the factors of a coordinate then stand together."""
        sums = [f for f in Mul.make_args(term) if f.is_Add and len(self._moved_by(f)) > 1]
        if not sums or prod(len(f.args) for f in sums) > _MOST_PRODUCTS:
            return super()._separated(term)
        rest = Mul(*[f for f in Mul.make_args(term) if f not in sums])
        found = [super(_Factors, self)._separated(Mul(rest, *some)) for some in product(*[f.args for f in sums])]
        return None if any(some is None for some in found) else [one for some in found for one in some or ()]

    def _nested(self, node: Expr) -> ca.SX:
        bases = self._moved_by(node)
        jets = [z for z in symbols_in(node) if isinstance(z, Jet)]
        if len(bases) != 1 or not any(z.order for z in jets):
            return super()._nested(node)
        fixed, factor = node.as_independent(*jets, as_Add=False)
        if factor not in self.leaves:
            self.leaves[factor] = ca.SX.sym(f"factor {len(self.leaves)}")
        return self.leaves[factor] if fixed == 1 else times(super()._nested(fixed), self.leaves[factor])


@dataclass(frozen=True)
class EulerLagrange:
    """Euler-Lagrange expressions, in which the rates of factors are leaves."""

    expressions: list[ca.SX]
    """One for each coordinate."""
    leaves: ca.SX
    """The rates of factors."""
    rates: ca.SX
    """What they are."""


def euler_lagrange(
    graph: GraphAlgebra, lagrangian: Expr, coordinates: Sequence[Coordinate], order: Sequence[Symbol]
) -> EulerLagrange | None:
    """The expressions of all coordinates; None if the Lagrangian has jets of other kinds or of higher order."""
    allowed = {z for q in coordinates for z in (q, q.d())}
    if any(isinstance(z, Jet) and not isinstance(z, Input) and z not in allowed for z in symbols_in(lagrangian)):
        return None
    nested = _Factors(graph, order)
    written = nested.of(lagrangian)
    factors, leaves = list(nested.leaves), list(nested.leaves.values())
    driven = [z for z in symbols_in(lagrangian) if isinstance(z, Input)]
    places, speeds, driving = (graph.vector(jets) for jets in (coordinates, [q.d() for q in coordinates], driven))
    slopes = dense(ca.gradient(written, ca.vertcat(*leaves, speeds, places)))
    counts = len(leaves), len(coordinates)
    rates = ca.SX.sym("rates", len(leaves))
    moving = ca.vertcat(*leaves, speeds, places, driving, graph.leaf(TIME))
    seeds = ca.vertcat(rates, graph.vector([q.d(2) for q in coordinates]), speeds, graph.vector([z.d() for z in driven]), 1)
    column = ca.vertcat(slopes, dense(ca.jtimes(slopes[: sum(counts)], moving, seeds)))
    parts = iter(dense(ca.substitute(column, ca.vertcat(*leaves), ca.vertcat(*map(graph.of, factors)))).elements())
    of_factors, _, of_places, changes, momenta = ([next(parts) for _ in range(count)] for count in (*counts, counts[1], *counts))
    found = {q.base: minus(change, slope) for q, change, slope in zip(coordinates, momenta, of_places, strict=True)}
    for w, slope, change in zip(factors, of_factors, changes, strict=True):
        q = next(z for z in symbols_in(w) if isinstance(z, Jet))
        along = w.diff(q.d(1 - q.order))
        own = expand(total_derivative(along) - w.diff(q.d(-q.order)))
        found[q.base] = plus(found[q.base], times(change, graph.of(along)))
        if own != 0:
            found[q.base] = plus(found[q.base], times(slope, graph.of(own)))
    given = ca.vertcat(*[graph.of(total_derivative(w)) for w in factors])
    return EulerLagrange([found[q.base] for q in coordinates], rates, given)
