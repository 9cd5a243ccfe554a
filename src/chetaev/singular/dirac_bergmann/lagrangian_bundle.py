r"""Degenerate time-dependent Lagrangians on their bundle (004, section 2.2): Ω̃, the constraint algorithm, the reduced problem, SODE.

On the Lagrangian bundle with coordinates $(t, q, \dot u, v)$ a Lagrangian is the section $\dot u = L$, and

$$ \tilde\Omega_l = d\dot u \wedge dt + d\!\left(\frac{\partial L}{\partial v^i}\right) \wedge \omega^i
   - \frac{\partial L}{\partial v^i}\,dv^i \wedge dt, \qquad \varphi_l = \dot u - L, \qquad \tilde Z \lrcorner \tilde\Omega_l = -d\varphi_l.
   \tag{2.21, 2.22} $$

Its solutions are the horizontal lifts (2.19) of those of $Z \lrcorner \Omega_l = 0$, $Z(t) = 1$ on $j_1$, (2.23). The algorithm runs
through $M_0 = \{\dot u = L\}, M_1, \dots$, (2.24)-(2.27). The distribution $D = \ker\Omega_l \cap V$ consists of the vertical fields that
$L_{vv}$ annihilates; momenta and energy are constant along it, so that the quotient has the coordinates $(t, q)$ and independent momenta,
and the problem (2.28) there is that of $d(p\,dq - H\,dt)$ on the primary constraints. Equivalence theorem: one problem has a solution on
some final manifold exactly if the other does. On the submanifold $S$ where a semi-prolongable solution is a second-order equation, the
motion is unique.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Matrix, S, Symbol

from chetaev.core.errors import PrincipleError
from chetaev.core.fixes import Ask, InPython
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME
from chetaev.core.system import fresh_coordinates
from chetaev.core.zero import vanishes
from chetaev.mechanics.principles import Principle
from chetaev.singular.dirac_bergmann.closure import refusals
from chetaev.singular.dirac_bergmann.legendre_map import Source, legendre_map, read_source, tidied
from chetaev.singular.dirac_bergmann.presymplectic import Presymplectic, SolvedSet, presymplectic, solved_set
from chetaev.singular.forms.distributions import Distribution, annihilated_by, characteristic_distribution, rank
from chetaev.singular.forms.exterior import Form, all_of, d, interior, wedge, zero_form
from chetaev.singular.forms.fields import VectorField

_ALGORITHM_SECONDS = 30.0
"""Budget of each algorithm, in seconds of counted operations."""


@public
@dataclass(frozen=True)
class LagrangianBundle:
    """The forms of a Lagrangian section on its bundle, and the problems of motion there."""

    source: Source = field(repr=False)
    """The first-order Lagrangian with its coordinates."""
    rate: Symbol
    r"""$\\dot u$, whose value on motions is the Lagrangian."""

    @cached_property
    def velocities(self) -> tuple[Symbol, ...]:
        """The velocities v."""
        return tuple(q.d() for q in self.source.coordinates)

    @cached_property
    def momenta(self) -> tuple[Expr, ...]:
        r"""$\partial L/\partial v^i$."""
        return tuple(self.source.lagrangian.diff(v) for v in self.velocities)

    @cached_property
    def variables(self) -> tuple[Symbol, ...]:
        r"""$(t, q, \dot u, v)$."""
        return (TIME, *self.source.coordinates, self.rate, *self.velocities)

    @cached_property
    def phi(self) -> Expr:
        r"""The trivialisation $\varphi_l = \dot u - L$; it vanishes on $M_0$, (2.25)."""
        return self.rate - self.source.lagrangian

    @cached_property
    def omega(self) -> Form:
        r"""$\tilde\Omega_l$, (2.21)."""
        total = wedge(d(self.rate), d(TIME))
        for q, v, p in zip(self.source.coordinates, self.velocities, self.momenta, strict=True):
            total = total + wedge(d(p), d(q) - v * d(TIME)) - p * wedge(d(v), d(TIME))
        return total

    @cached_property
    def kernel(self) -> Distribution:
        r"""The kernel of $\tilde\Omega_l$; for vakonomic rows affine in the velocities the $2r$ fields (3.19)."""
        return characteristic_distribution(self.omega, self.variables)

    @cached_property
    def vertical(self) -> Distribution:
        r"""$D = \ker\Omega_l \cap V$: the vertical fields on $j_1$ that $L_{vv}$ annihilates."""
        flat = [d(z) for z in (TIME, *self.source.coordinates)]
        rows = []
        for p in self.momenta:
            row = zero_form(1)
            for v in self.velocities:
                row = row + p.diff(v) * d(v)
            rows.append(row)
        return annihilated_by([*flat, *rows], (TIME, *self.source.coordinates, *self.velocities))

    def lift(self, given: Mapping[Symbol, Expr]) -> VectorField:
        r"""The horizontal lift $X + X(L)\,\partial_{\dot u}$ of a field on $j_1$, (2.19).

        Args:
            given: The components of a vector field, by variable.
        """
        base = VectorField(given)
        return base + VectorField({self.rate: tidied(base(self.source.lagrangian))})

    def almost_tangent(self, given: Mapping[Symbol, Expr]) -> VectorField:
        r"""$\tilde J(X) = \omega^i(X)\,(\partial L/\partial v^i\;\partial_{\dot u} + \partial_{v^i})$, (2.20).

        Args:
            given: The components of a vector field, by variable.
        """
        pairs = zip(self.source.coordinates, self.velocities, strict=True)
        tilt = [given.get(q, S.Zero) - v * given.get(TIME, S.Zero) for q, v in pairs]
        found: dict[Symbol, Expr] = dict(zip(self.velocities, tilt, strict=True))
        return VectorField({**found, self.rate: Add(*[w * p for w, p in zip(tilt, self.momenta, strict=True)])})

    @cached_property
    def solution(self) -> SolvedSet:
        r"""The problem (2.22) on the bundle, from $M_0$ on."""
        unknowns = [z for z in self.variables if z != TIME]
        entries = {z: interior({z: S.One}, self.omega) for z in self.variables}
        slope = d(self.phi)
        rows = [
            [*[entries[z].coefficient(w) for z in unknowns], entries[TIME].coefficient(w) + slope.coefficient(w)] for w in self.variables
        ]
        return self._solved(rows, unknowns, (self.phi,))

    @cached_property
    def dynamics(self) -> Presymplectic:
        """The problem (2.23) on $j_1$: kernel, steps, final manifold and field."""
        return presymplectic(self._poincare_cartan, None, self._jets, seconds=_ALGORITHM_SECONDS)

    @cached_property
    def second_order(self) -> SolvedSet:
        r"""The submanifold $S$ on which a solution of (2.23) is a second-order equation, and that solution: the motion."""
        still = self._jets[1:]
        entries = {z: interior({z: S.One}, self._poincare_cartan) for z in self._jets}
        rows = [[*[entries[z].coefficient(w) for z in still], entries[TIME].coefficient(w)] for w in self._jets]
        for q, v in zip(self.source.coordinates, self.velocities, strict=True):
            rows.append([*[S.One if z == q else S.Zero for z in still], -v])
        return self._solved(rows, still, ())

    @cached_property
    def reduced(self) -> Presymplectic:
        """The problem (2.28) on the quotient by $D$, in $(t, q)$ and independent momenta."""
        where = f"reduced problem of {self.source.label}"
        primary = legendre_map(self.source, where)
        if primary.velocities is None:
            raise PrincipleError(
                "the primary constraints are not solved for momenta.",
                where=where,
                why="The quotient by D then has no chart of positions and momenta.",
                hint=(InPython("lagrangian_bundle(system).dynamics"), " is the problem before the reduction"),
            )
        bound = [self.source.momenta[i] for i in primary.velocities]
        values = {p: tidied(p - e) for p, e in zip(bound, primary.constraints, strict=True)}
        theta = zero_form(1)
        for q, p in zip(self.source.coordinates, self.source.momenta, strict=True):
            theta = theta + values.get(p, p) * d(q)
        form = d(primary.hamiltonian.xreplace(values) * d(TIME) - theta)
        names = (TIME, *self.source.coordinates, *[p for p in self.source.momenta if p not in values])
        return presymplectic(form, None, names, seconds=_ALGORITHM_SECONDS)

    @cached_property
    def equivalent(self) -> bool | None:
        """Whether the three problems agree as the theorems state: all solvable or none, with dimensions that differ by the rank of D."""
        answers = {self.dynamics.consistent, self.solution.consistent, self.reduced.consistent}
        if len(answers) > 1:
            return False
        if not self.dynamics.consistent:
            return True
        leaves = rank(self.vertical)
        return self.solution.dimension == self.dynamics.dimension == self.reduced.dimension + leaves

    def is_semi_prolongable(self, given: Mapping[Symbol, Expr]) -> bool | None:
        """Whether a solution projects to the quotient modulo vertical fields: its rates of positions are constant along D.

        Args:
            given: The components of a solution as a vector field, by variable.
        """
        return all_of(vanishes(z(given.get(q, S.Zero))) for z in self.vertical.fields for q in self.source.coordinates)

    @property
    def _jets(self) -> tuple[Symbol, ...]:
        return (TIME, *self.source.coordinates, *self.velocities)

    @cached_property
    def _poincare_cartan(self) -> Form:
        pairs = list(zip(self.source.coordinates, self.velocities, self.momenta, strict=True))
        energy = Add(*[p * v for _, v, p in pairs]) - self.source.lagrangian
        theta = -energy * d(TIME)
        for q, _, p in pairs:
            theta = theta + p * d(q)
        return -d(theta)

    def _solved(self, rows: Any, unknowns: Any, on: tuple[Expr, ...]) -> SolvedSet:
        where = f"Lagrangian bundle of {self.source.label}"
        found: SolvedSet | None = None
        with deep(), refusals(where), allowance(_ALGORITHM_SECONDS) as clock:
            found = solved_set(rows, unknowns, on)
        if clock.expired or found is None:
            raise PrincipleError(
                "the constraints were not closed within the budget.", where=where, hint=Ask("constraint_algorithm", "system")
            )
        return found

    def __str__(self) -> str:
        regular = "regular" if Matrix(self.momenta).jacobian(Matrix(self.velocities)).det(method="berkowitz") != 0 else "degenerate"
        lines = [f"Lagrangian section {show(self.rate)} = {show(self.source.lagrangian)} ({regular})", f"  Ω = {self.omega}"]
        lines.append(f"  kernel  {', '.join(map(str, self.kernel.fields)) or 'none'}")
        lines.append(f"  D       {', '.join(map(str, self.vertical.fields)) or 'none'}")
        return "\n".join(lines)


@public
def lagrangian_bundle(given: Any, principle: Principle | None = None) -> LagrangianBundle:
    """The Lagrangian bundle of a Lagrangian of first order, with or without time (004, sections 2.2 and 3.2).

    Args:
        given: A system, a model or equations without forces, reactions and dissipation.
        principle: The principle, for a system that needs one, such as `Vakonomic()`.

    Returns:
        The form Ω̃, its kernel, the constraint algorithm on the bundle and on jets, the reduced problem, and the second-order solution.

    Raises:
        PrincipleError: If the equations are not those of a first-order Lagrangian alone.

    >>> from chetaev import System, Vakonomic
    >>> bundle = lagrangian_bundle(System("x y", lagrangian="x'^2/2 + y'^2/2 - t*x", kinematic=["y' = x"]), Vakonomic())
    >>> print(str(bundle.dynamics).splitlines()[-1])
    final set      dimension 5, 1 free components of the field
    >>> bundle.equivalent, bundle.second_order.dimension
    (True, 4)
    """
    source = read_source(given, principle, "lagrangian_bundle")
    (u,) = fresh_coordinates(source.system, ["u"])
    return LagrangianBundle(source, u.d())
