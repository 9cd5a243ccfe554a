r"""The equations a motion's vector field obeys: dynamical rows, and tangency to the constraints.

Proper dynamics (paths): $\xi = \partial_t + \sum_{k<s-1} q_{k+1}\,\partial_{q_k} + \xi_{s-1}\,\partial_{q_{s-1}}$ is a semispray, and
(5.12) of Krupková says $A_\sigma + B_{\sigma\nu}\,\xi^\nu_{s-1} = 0$. Extended dynamics (Hamilton paths): all components are unknown and
obey (5.10), $\sum_k 2F^{ik}_{\sigma\nu}(\xi_k^\nu - q_{k+1}^\nu) + \delta^{i0}(A_\sigma + \dots) = 0$. A constraint $g$ adds the row
$\xi(g) = 0$.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Expr

from chetaev.core.symbols import TIME, Jet
from chetaev.singular.algorithm.elimination import Row
from chetaev.singular.algorithm.ring import Fraction, Poly
from chetaev.singular.algorithm.space import Space
from chetaev.singular.dynamical.dynamical import DynamicalForm


@dataclass(frozen=True)
class Dynamics:
    """What is asked of the vector field, in expressions: rows over unknown components, and the known components."""

    form: DynamicalForm
    kind: str
    unknowns: tuple[Jet, ...]
    """The jets whose rates are unknown."""
    known: dict[Jet, Jet]
    """The jets whose rate is another jet."""
    entries: tuple[tuple[Expr, ...], ...]
    """Coefficients of the unknown rates, then the term without them."""


def dynamics_of(form: DynamicalForm, kind: str) -> Dynamics:
    """The rows of proper or extended dynamics."""
    s, coordinates = form.order, form.coordinates
    if kind == "proper":
        known = {q.d(k): q.d(k + 1) for k in range(s - 1) for q in coordinates}
        return Dynamics(form, kind, tuple(q.d(s - 1) for q in coordinates), known, tuple(map(tuple, form.B_and_A.tolist())))
    return Dynamics(form, kind, form.phase, {}, form.lepage.hamilton_rows())


class Rows:
    """The dynamical rows in the ring, and tangency rows made on demand."""

    def __init__(self, space: Space, dynamics: Dynamics) -> None:
        self.space, self.dynamics = space, dynamics
        self.columns = {z: j for j, z in enumerate(dynamics.unknowns)}
        self.denominators: list[Poly] = []
        self.dynamical = [self._cleared([space.read(e) for e in row], keep=True) for row in dynamics.entries]

    def tangency(self, g: Poly) -> Row:
        r"""$\xi(g) = 0$ as a row."""
        space = self.space
        row: list[Fraction] = [(space.zero, space.one)] * (len(self.columns) + 1)
        rest: list[Fraction] = []
        for z, (n, d) in space.partials(g).items():
            if z in self.columns:
                row[self.columns[z]] = (n, d)
            elif z == TIME:
                rest.append((n, d))
            else:
                rest.append((n * space.variables[space.index[self.dynamics.known[z]]], d))
        row[-1] = space.sum(rest)
        return self._cleared(row, keep=False)

    def all(self, constraints: Sequence[Poly]) -> list[Row]:
        """The dynamical rows and the tangency rows of some constraints."""
        return [*self.dynamical, *[self.tangency(g) for g in constraints]]

    def _cleared(self, row: Sequence[Fraction], keep: bool) -> Row:
        """The row multiplied by its common denominator, which does not vanish where the functions are defined."""
        common = self.space.one
        for _, d in row:
            common = self.space.lcm(common, d)
        if keep and not common.is_ground:
            self.denominators.append(common)
        return [n * common.exquo(d) if n else n for n, d in row]
