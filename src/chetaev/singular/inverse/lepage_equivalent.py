r"""The Lepagean equivalent of a Lagrangian: Cartan form, momenta and Hamiltonian, for any order.

Remark 8.8 and (8.15) of Krupková:

$$ \theta_\lambda = L\,dt + \sum_{i=0}^{r-1} p_\sigma^i\, \omega_i^\sigma = -H\,dt + \sum_{i=0}^{r-1} p_\sigma^i\, dq_i^\sigma, \qquad
   p_\sigma^i = \sum_{k=0}^{r-i-1} (-D)^k \frac{\partial L}{\partial q_{i+k+1}^\sigma}, \qquad H = -L + \sum_i p_\sigma^i q_{i+1}^\sigma. $$

Its differential $\alpha = d\theta = -dH \wedge dt + \sum dp_\sigma^i \wedge dq_i^\sigma$ is the one closed 2-form in the Lepage class of
the Euler-Lagrange form (Theorem 8.1), for any equivalent Lagrangian. With a Lagrangian of minimal order it is the canonical form (8.5), and
the momenta are determined by the form $E$ up to a gauge function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sympy import Expr, S

from chetaev.core.calculus import total_derivative
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Jet
from chetaev.singular.forms.exterior import Form, d
from chetaev.singular.inverse.variation import highest_order, tidy


class Momenta(Frozen[Jet, Expr]):
    r"""Momenta by their conjugate jets: $p^i_\sigma$ belongs to $q_i^\sigma$. The name of a jet is also a key: `momenta["q'"]`."""

    def __missing__(self, key: object) -> Expr:
        for jet, momentum in self.items():
            if jet.name == key:
                return momentum
        raise KeyError(key)


@public
@dataclass(frozen=True)
class LepageanEquivalent:
    """A Lagrangian of order r with its momenta and Hamiltonian; `cartan` and `alpha` are the forms."""

    coordinates: tuple[Jet, ...]
    lagrangian: Expr
    order: int
    momenta: Momenta
    hamiltonian: Expr

    @cached_property
    def cartan(self) -> Form:
        r"""The Cartan form $\theta = -H\,dt + p_\sigma^i\,dq_i^\sigma$."""
        return sum((p * d(q) for q, p in self.momenta.items()), -self.hamiltonian * d(TIME))

    @cached_property
    def alpha(self) -> Form:
        r"""$\alpha = d\theta = -dH \wedge dt + dp_\sigma^i \wedge dq_i^\sigma$."""
        return d(self.cartan).map(tidy)

    def __str__(self) -> str:
        lines = [f"L = {show(self.lagrangian)}"]
        lines += [f"  p({q}) = {show(p)}" for q, p in self.momenta.items()]
        return "\n".join([*lines, f"  H = {show(self.hamiltonian)}"])


@public
def lepagean_equivalent(lagrangian: Expr, coordinates: Sequence[Jet]) -> LepageanEquivalent:
    """Momenta and Hamiltonian of a Lagrangian of any order.

    Args:
        lagrangian: The Lagrangian, an expression in jets.
        coordinates: The coordinates.

    Returns:
        Momenta, Hamiltonian and Cartan form.

    >>> from chetaev.core.symbols import Coordinate
    >>> q = Coordinate("q")
    >>> print(lepagean_equivalent(q.d(2) ** 2 / 2 - q**2 / 2, [q]))
    L = q''^2/2 - q^2/2
      p(q) = -q'''
      p(q') = q''
      H = q^2/2 + q''^2/2 - q'*q'''
    """
    order = highest_order([lagrangian], coordinates)
    momenta: dict[Jet, Expr] = {}
    for q in coordinates:
        momentum: Expr = S.Zero
        for i in range(order - 1, -1, -1):  # p^i = dL/dq_(i+1) - D p^(i+1)
            momentum = tidy(lagrangian.diff(q.d(i + 1)) - (total_derivative(momentum) if momentum != 0 else 0))
            momenta[q.d(i)] = momentum
    ordered = {q.d(i): momenta[q.d(i)] for i in range(order) for q in coordinates}
    hamiltonian = tidy(sum((p * q.d() for q, p in ordered.items()), -lagrangian))
    return LepageanEquivalent(tuple(coordinates), lagrangian, order, Momenta(ordered), hamiltonian)
