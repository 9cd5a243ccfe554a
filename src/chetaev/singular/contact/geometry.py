r"""The contact manifold $(TQ \times \mathbb{R}, \eta_L)$ of a regular Lagrangian with an action variable, and its fields.

$$ \eta_L = ds - \frac{\partial L}{\partial v^i}\,dq^i, \qquad E_L = v^i\frac{\partial L}{\partial v^i} - L, \qquad
   i_R\,d\eta = 0,\ \eta(R) = 1: \quad R = \partial_s - W^{ij} L_{s v^j}\,\partial_{v^i}, $$

with $W = L_{vv}$. The contact Hamiltonian field of a function $f$ satisfies $\eta(X_f) = -f$ and $\mathcal L_{X_f}\eta = -R(f)\,\eta$; that
of the energy is Herglotz' field, since $R(E_L) = -L_s$. The Jacobi bracket is $\{f, g\} = -\eta([X_f, X_g]) = X_f(g) + g\,R(f)$, and $f$ is
dissipated, $X_E(f) = L_s f$, exactly if $\{E_L, f\} = 0$; quotients of dissipated quantities are conserved. For a Lagrangian with explicit
time the same holds at fixed time, and the motion follows $X_E + R_t$ with $R_t = \partial_t - W^{ij} L_{t v^j}\,\partial_{v^i}$ (cocontact
geometry).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Matrix, S, Symbol

from chetaev.core.declarations import read_value
from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Ask, SetPart, UsePrinciple
from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Coordinate, jets_in
from chetaev.core.zero import vanishes
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.principles import Herglotz
from chetaev.mechanics.ranks.generic import RANK_POINTS, generic_rank, points_on
from chetaev.singular.dirac_bergmann.legendre_map import tidied
from chetaev.singular.forms.distributions import Distribution, characteristic_distribution
from chetaev.singular.forms.exterior import Form, d, zero_form
from chetaev.singular.forms.fields import VectorField


@public
@dataclass(frozen=True)
class ContactGeometry:
    """Form, energy, Reeb field, contact Hamiltonian fields and bracket of a Lagrangian with an action variable."""

    equations: Equations = field(repr=False)
    """The equations under Herglotz' principle."""
    coordinates: tuple[Coordinate, ...]
    """The coordinates q."""
    action: Symbol
    """The action variable s."""
    lagrangian: Expr
    """The Lagrangian."""

    @cached_property
    def velocities(self) -> tuple[Coordinate, ...]:
        """The velocities v."""
        return tuple(q.d() for q in self.coordinates)

    @cached_property
    def timed(self) -> bool:
        """Whether the Lagrangian contains time."""
        return TIME in self.lagrangian.free_symbols

    @cached_property
    def variables(self) -> tuple[Symbol, ...]:
        """The coordinates $(q, v, s)$ of the contact manifold, after time if the Lagrangian contains it."""
        return (*((TIME,) if self.timed else ()), *self.coordinates, *self.velocities, self.action)

    @cached_property
    def momenta(self) -> tuple[Expr, ...]:
        r"""$\partial L/\partial v^i$."""
        return tuple(self.lagrangian.diff(v) for v in self.velocities)

    @cached_property
    def eta(self) -> Form:
        r"""The contact form $\eta_L$."""
        total = d(self.action)
        for q, p in zip(self.coordinates, self.momenta, strict=True):
            total = total - p * d(q)
        return total

    @cached_property
    def energy(self) -> Expr:
        """$E_L$, the contact Hamiltonian."""
        return Add(*[p * v for p, v in zip(self.momenta, self.velocities, strict=True)]) - self.lagrangian

    @cached_property
    def hessian(self) -> Matrix:
        """$W = L_{vv}$."""
        return Matrix([[p.diff(v) for v in self.velocities] for p in self.momenta])

    @cached_property
    def regular(self) -> bool:
        r"""Whether $\eta_L$ is a contact form, at general points: $W$ is regular."""
        symbols = sorted(self.hessian.free_symbols, key=lambda z: z.name)
        return generic_rank(self.hessian.tolist(), points_on([], symbols, count=RANK_POINTS)) == len(self.coordinates)

    @cached_property
    def determinant(self) -> Expr:
        r"""$\det W$: where it vanishes $\eta_L$ is not a contact form."""
        return tidied(self.hessian.det(method="berkowitz"))

    @cached_property
    def reeb(self) -> VectorField:
        """The Reeb field $R$; raises a PrincipleError for a singular Lagrangian."""
        lift = -self._inverse * Matrix([p.diff(self.action) for p in self.momenta])
        return VectorField({self.action: S.One, **dict(zip(self.velocities, map(tidied, lift), strict=True))})

    @cached_property
    def time_field(self) -> VectorField:
        r"""$R_t$, the motion of time with $i_{R_t}d\eta = 0$ and $\eta(R_t) = 0$; zero without time."""
        if not self.timed:
            return VectorField({})
        lift = -self._inverse * Matrix([p.diff(TIME) for p in self.momenta])
        return VectorField({TIME: S.One, **dict(zip(self.velocities, map(tidied, lift), strict=True))})

    @cached_property
    def field(self) -> VectorField:
        """Herglotz' field: $q' = v$, $s' = L$, and the accelerations of Herglotz' equations."""
        return self.hamiltonian_field(self.energy) + self.time_field

    def hamiltonian_field(self, function: Any) -> VectorField:
        r"""The contact Hamiltonian field $X_f$ of a function, at fixed time: $\eta(X_f) = -f$, $\mathcal L_{X_f}\eta = -R(f)\,\eta$.

        Args:
            function: An expression in positions, velocities, time and the action variable, or its text.

        Raises:
            NotationError: If a text is not such an expression.
        """
        f, s, n = self._read(function), self.action, len(self.coordinates)
        p = self.momenta
        across = Matrix([[e.diff(q) for q in self.coordinates] for e in p])  # L_{v^i q^j}
        a = self._inverse * Matrix([f.diff(v) for v in self.velocities])
        rate = self.reeb(f)
        c = Add(*[p[i] * a[i] for i in range(n)]) - f
        rest = across.T * a - across * a
        rest -= Matrix([f.diff(q) + rate * p[i] + p[i].diff(s) * c for i, q in enumerate(self.coordinates)])
        b = self._inverse * rest
        found: dict[Symbol, Expr] = dict(zip(self.coordinates, a, strict=True))
        found |= dict(zip(self.velocities, b, strict=True))
        return VectorField({z: tidied(e) for z, e in {**found, s: c}.items()})

    def bracket(self, f: Any, g: Any) -> Expr:
        r"""The Jacobi bracket $\{f, g\} = X_f(g) + g\,R(f)$.

        Args:
            f: A function, as in `hamiltonian_field`.
            g: Another function.

        Raises:
            NotationError: If a text is not an expression in the names of the system.
        """
        first, second = self._read(f), self._read(g)
        return tidied(self.hamiltonian_field(first)(second) + second * self.reeb(first))

    def rate(self, f: Any) -> Expr:
        """The rate of a function along Herglotz' motion.

        Args:
            f: A function, as in `hamiltonian_field`.

        Raises:
            NotationError: If a text is not an expression in the names of the system.
        """
        return tidied(self.field(self._read(f)))

    def is_dissipated(self, f: Any) -> bool | None:
        """Whether a function is dissipated like the energy, $f' = L_s f$: True, False or None (undecided).

        Args:
            f: A function, as in `hamiltonian_field`.

        Raises:
            NotationError: If a text is not an expression in the names of the system.
        """
        function = self._read(f)
        return vanishes(self.field(function) - self.lagrangian.diff(self.action) * function)

    @cached_property
    def omega_variables(self) -> tuple[Symbol, ...]:
        r"""The coordinates $(q, s, v, v_s)$ of $T(Q \times \mathbb{R})$; $s$ is a coordinate there."""
        s = Coordinate(str(self.action.name))
        return (*self.coordinates, s, *self.velocities, s.d())

    @cached_property
    def omega(self) -> Form:
        r"""$\Omega_L = -d\Theta_L$ on $T(Q \times \mathbb{R})$ with $\Theta_L = (\partial L/\partial v^i)\,dq^i$, (14), at fixed time."""
        s = Coordinate(str(self.action.name))
        theta = zero_form(1)
        for q, p in zip(self.coordinates, self.momenta, strict=True):
            theta = theta + p.xreplace({self.action: s}) * d(q)
        return Form(2, {blade: c for blade, c in (-d(theta)).terms.items() if TIME not in blade})

    @cached_property
    def omega_kernel(self) -> Distribution:
        r"""The kernel of $\Omega_L$: for a regular Lagrangian $\partial_{v_s}$ and the lift of the Reeb field, not the first alone."""
        return characteristic_distribution(self.omega, self.omega_variables)

    @cached_property
    def _inverse(self) -> Matrix:
        if not self.regular:
            raise PrincipleError(
                "the Lagrangian is singular.",
                where=about(f"contact geometry of {self.equations.system.label}", "lagrangian"),
                why="det L_vv = 0: the form ds - L_v dq is not a contact form, and has no single Reeb field.",
                hint=(Ask("precontact", "system"), " finds the set on which Herglotz' equations have solutions"),
            )
        return self.hessian.inv(method="ADJ").applyfunc(tidied)

    def _read(self, given: Any) -> Expr:
        return read_value(given, self.equations.vocabulary, f"contact geometry of {self.equations.system.label}")

    def __str__(self) -> str:
        lines = [f"contact geometry of {self.equations.system.label}", f"  η = {self.eta}", f"  E = {show(tidied(self.energy))}"]
        if not self.regular:
            return "\n".join([*lines, "  singular: no contact form"])
        where = "everywhere" if self.determinant.is_number else f"where {show(self.determinant)} != 0"
        return "\n".join([*lines, f"  R = {self.reeb}", f"  X = {self.field}", f"  a contact form {where}"])


@public
def contact_geometry(given: Any) -> ContactGeometry:
    r"""The contact geometry of a Lagrangian of first order with an action variable (002, section 2.5).

    Args:
        given: A system with an action variable, a model or equations, under `Herglotz()` without constraints and forces.

    Returns:
        Contact form, energy, Reeb field, contact Hamiltonian fields, Jacobi bracket, and the form on $T(Q \times \mathbb{R})$.

    Raises:
        PrincipleError: If there is no action variable, the Lagrangian is of higher order, or constraints or forces act.
        ModelError: For group coordinates.

    >>> from chetaev import System
    >>> print(contact_geometry(System("x", "k c", lagrangian="x'^2/2 - k*x^2/2 - c*s", action="s")))
    contact geometry of system
      η = ds - x'*dx
      E = c*s + k*x^2/2 + x'^2/2
      R = ∂s
      X = (x'^2/2 - c*s - k*x^2/2)*∂s + x'*∂x - (c*x' + k*x)*∂x'
      a contact form everywhere
    """
    return ContactGeometry(*_read(given, "contact geometry"))


def _read(given: Any, verb: str) -> tuple[Equations, tuple[Coordinate, ...], Symbol, Expr]:
    """Equations, coordinates, action variable and Lagrangian of a free system under Herglotz' principle."""
    equations = given if isinstance(given, Equations) else derive(given, None if hasattr(given, "principle") else Herglotz())
    system, lowered = equations.system, equations.lowered
    where = f"{verb} of {system.label}"
    require_coordinates(system, verb)
    if lowered.action is None:
        hint = (SetPart("action", "s", whole=True), " under ", UsePrinciple(Herglotz()))
        raise PrincipleError(f"{system.label} has no action variable.", where=about(where, "action"), hint=hint)
    if lowered.reactions or lowered.costates or system.kinematic or system.forces or system.dissipation != 0:
        raise PrincipleError(
            f"constraints or forces act on {system.label}.",
            where=where,
            why="The contact form and its fields belong to the Lagrangian alone.",
            hint=(Ask("contact_as_nonholonomic", "..."), " or ", Ask("contact_as_vakonomic", "..."), " treat constraints on Q x R"),
        )
    if any(z.order > 1 for z in jets_in(lowered.lagrangian)):
        raise PrincipleError(
            "the Lagrangian contains second or higher derivatives.",
            where=about(where, "lagrangian"),
            why="The contact form of 002 is defined on TQ x R.",
            hint=(UsePrinciple(Herglotz()), " treats any order directly"),
        )
    return equations, system.coordinates, lowered.action, lowered.lagrangian
