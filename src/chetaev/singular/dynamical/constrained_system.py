r"""Constrained systems (003, section 11): a dynamical form subject to a constraint structure.

The constrained system is the class of $\iota^*\alpha$ modulo the constraint ideal and 2-contact forms. With $P = (\delta^j_l,\ \partial
g^i/\partial q^l)$ the matrix of virtual displacements and $h^i = \hat d g^i/dt$, (11.5)-(11.7) read

$$ A' = P^T (A + B_{\cdot, dep}\, h), \qquad B' = P^T B P, \qquad A'_l + B'_{lp}\, q_s^p = 0, $$

for constraints of order $r \le s - 1$, lower orders being prolonged to $s - 1$ (11.8). For $r \ge s$ the rows are $P^T E$ and
$\alpha_{\mathcal Q} = (P^T E)_l\, \omega^l \wedge dt$. The constraint rows complete the equations. $P$ and $h$ need no solved rows: $h =
-(f_{dep})^{-1}\,\hat d f/dt$ at the points of the constraint, where $\hat d$ leaves the derivatives of order $s$ out.

A holonomic constraint $u^i(t, q) = 0$ (10.3, 11.6, 11.7) induces no constraint in the tangent bundle of $\mathcal P = J^{s-1}\mathcal
Q_0$: the constrained system is the pull-back $J^{s-1}\iota_0^*\,\alpha$, and for a Lagrangian system the one of the pulled-back Lagrangian.
A *semiholonomic* constraint of degree $p$ is $f^i = d^p u^i/dt^p$; the values of $u$ and its derivatives below $p$ are then first integrals
of the constraint alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Matrix, S, binomial

from chetaev.core.calculus import SYMBOLIC, total_derivative
from chetaev.core.errors import ModelError, UsageError
from chetaev.core.fixes import Ask, SetArgument, UsePrinciple
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.budget import limited, size
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Coordinate, Jet, Parameter, jets_in
from chetaev.core.system import System
from chetaev.core.zero import vanishes
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import AsStated, Chetaev
from chetaev.singular.dynamical.constraint_dynamics import ConstraintConnection, distribution_of, semispray_of
from chetaev.singular.dynamical.constraint_structure import ConstraintStructure, tidied
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.forms.contact import contact_form
from chetaev.singular.forms.distributions import Distribution
from chetaev.singular.forms.exterior import Form, all_of, d, exact, wedge, zero_form
from chetaev.singular.forms.fields import VectorField, prolonged_map

_LARGEST_IN_PLACE = 60
"""Size, in nodes, of rows that are reduced in this process, within a tenth of a second."""


@public
@dataclass(frozen=True)
class ConstrainedSystem:
    """A dynamical form on a constraint: the matrices $A'$, $B'$ of (11.6), the rows (11.7) and the 2-form (11.5)."""

    form: DynamicalForm
    """The dynamical form without the constraint."""
    structure: ConstraintStructure
    """The constraint prolonged to order $s - 1$, or at its original order if that is higher."""
    own: ConstraintStructure
    """The constraint as it was given."""

    @property
    def case(self) -> str:
        """`below`, `equal` or `above`: the order of the constraint compared with that of the phase space $J^{s-1}Y$."""
        phase = self.form.order - 1
        highest = max(self.own.own_orders)
        return "below" if highest < phase else "equal" if highest == phase else "above"

    @cached_property
    def independent(self) -> tuple[Jet, ...]:
        """The coordinates whose derivatives are coordinates of the constraint."""
        return tuple(self.form.coordinates[i] for i in self.structure.independent)

    @cached_property
    def drift(self) -> Matrix:
        r"""$\hat d g^i/dt$: the highest derivatives of the dependent coordinates without terms in those of the independent ones."""
        s = self.form.order
        tops = [q.d(s) for q in self.form.coordinates]
        rates = [SYMBOLIC.without(total_derivative(e), tops) for e in self.structure.rows]
        inverse = self.structure.block.inv(method="ADJ")
        return (-inverse * Matrix(rates)).applyfunc(tidied)

    @cached_property
    def A(self) -> Matrix:  # noqa: N802 - the paper's letter
        """The column $A'_l$ of (11.6); for constraints above the phase space the rows $P^T E$."""
        return self._on_constraint(self._plain_a)

    @cached_property
    def B(self) -> Matrix:  # noqa: N802 - the paper's letter
        """The matrix $B'_{lp}$ of (11.6); zero for constraints above the phase space."""
        if self.case == "above":
            n = len(self.independent)
            return Matrix(n, n, [S.Zero] * n * n)
        p = self.structure.admissible
        return self._on_constraint(p.T * self.form.B * p)

    @property
    def _plain_a(self) -> Matrix:
        p = self.structure.admissible
        if self.case == "above":
            return p.T * Matrix(self.form.rows)
        lifted = Matrix([S.Zero] * len(self.form.coordinates))
        for k, i in enumerate(self.structure.dependent):
            lifted[i] = self.drift[k]
        return p.T * (self.form.A + self.form.B * lifted)

    def _on_constraint(self, matrix: Matrix) -> Matrix:
        """The matrix with the dependent jets substituted, if the rows are solved."""
        values = self.structure.solved or {}
        return matrix.applyfunc(lambda e: tidied(e.xreplace(values)))

    @cached_property
    def rows(self) -> tuple[Expr, ...]:
        """The $m - k$ reduced equations (11.7), as expressions that vanish along the motion."""
        tops = [q.d(self.form.order) for q in self.independent]
        products = [[self.B[k, j] * z for j, z in enumerate(tops)] for k in range(len(tops))]
        return tuple(Add(self.A[k], *terms) for k, terms in enumerate(products))

    @cached_property
    def alpha(self) -> Form:
        r"""A representative $\alpha_{\mathcal Q}$ of the constrained system, (11.5)."""
        s = self.form.order
        total = zero_form(2)
        for k, q in enumerate(self.independent):
            total = total + self.A[k] * wedge(contact_form(q), d(TIME))
            for j, p in enumerate(self.independent):
                if self.B[k, j] != 0:
                    total = total + self.B[k, j] * wedge(contact_form(q), d(p.d(s - 1)))
        return total

    @cached_property
    def equations(self) -> DynamicalForm:
        """The equations of motion: the reduced rows, then the constraint rows as they were given."""
        rows = [*self.rows, *self.own.own_rows]
        return DynamicalForm([*self.form.coordinates], rows, [*self.parameters], inputs=self.form.inputs, name=self.form.name)

    @cached_property
    def distribution(self) -> Distribution:
        r"""The constraint dynamical distribution $\Delta_{\alpha_{\mathcal Q}}$ (section 11), generically."""
        return distribution_of(self)

    @cached_property
    def semispray(self) -> VectorField:
        r"""The constraint semispray $\Gamma$ of a regular constrained system; raises a ModelError if $B'$ is singular."""
        return semispray_of(self)

    @property
    def connection(self) -> ConstraintConnection:
        """The constraint connection, the line that the semispray spans; it prints its forms."""
        return ConstraintConnection(self.semispray, self.structure.variables)

    @cached_property
    def regularity(self) -> Any:
        """The class of the constrained system: regular, weakly regular and semiregular, on the constraint (`regularity(constrained)`)."""
        from chetaev.singular.regularity_classes import regularity

        return regularity(self)

    @cached_property
    def lagrangian(self) -> Any:
        """Whether the constrained system is Lagrangian (Theorem 11.4), with a closed representative: `.lagrangian`, `.representative`."""
        from chetaev.singular.dynamical.closed_representative import closed_representative

        return closed_representative(self)

    @property
    def is_lagrangian(self) -> bool | None:
        """True, False, or None for undecided."""
        answer: bool | None = self.lagrangian.lagrangian
        return answer

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the form, then those of the constraint that the form does not have."""
        return tuple(dict.fromkeys([*self.form.parameters, *self.own.parameters]))

    @property
    def label(self) -> str:
        """The name of the form in messages."""
        return self.form.label

    @cached_property
    def system(self) -> System:
        """The system of the form, under the rows of the constraint as they were given."""
        source, rows = self.form.source, [Constraint(e, S.Zero) for e in self.own.own_rows]
        lagrangian = source is not None and source.rewritten is None and not source.system.kinematic and not source.lowered.action
        free = source.system if source is not None and lagrangian else self.form.system
        return free.replace(parameters=self.parameters, kinematic=rows)

    def as_equations(self) -> Equations:
        r"""The equations with multipliers, for `derive(constrained)`: $-E_\sigma = \lambda_a\,\partial f^a/\partial q^\sigma_{k_a}$.

        The displacements come from each row as it was given, at its own order $k_a$. For the form of a Lagrangian they are the equations
        of Chetaev's principle.
        """
        return derive(self.system, AsStated() if self.system.equations else Chetaev())


@public
def constrain(form: DynamicalForm, structure: ConstraintStructure, *, seconds: float = 30.0) -> ConstrainedSystem:
    """Form the constrained system of a dynamical form and a constraint on the same coordinates.

    Args:
        form: A dynamical form with one row for each coordinate.
        structure: The constraint.
        seconds: The budget for the formulas of the reduced equations, counted in operations.

    Returns:
        The constrained system.

    Raises:
        ModelError: If the coordinates or the numbers of rows do not match, or the budget does not suffice.

    >>> free = DynamicalForm("x y", ["-x''", "-y'' - 1"])
    >>> system = constrain(free, ConstraintStructure("x y", ["y' = x*x'"]))
    >>> system.case, system.rows
    ('equal', (x*(-x'**2 - 1) + x''*(-x**2 - 1),))
    """
    where = f"constrain {form.label}"
    if len(form.rows) != len(form.coordinates):
        raise ModelError(
            f"{len(form.rows)} rows for {len(form.coordinates)} coordinates.",
            where=where,
            why="The rows of a dynamical form are indexed by its coordinates.",
            hint="state one row for each coordinate, without constraints",
        )
    if tuple(q.base for q in form.coordinates) != tuple(q.base for q in structure.coordinates):
        theirs = " ".join(q.base for q in structure.coordinates)
        raise ModelError(
            f"the constraint is on the jets of {theirs}, the form on those of {' '.join(q.base for q in form.coordinates)}.",
            where=where,
            hint="name the same coordinates in the same order",
        )
    order = max(form.order - 1, structure.order)
    lifted = structure
    if order > structure.order:
        lifted = ConstraintStructure.of_rows(structure.coordinates, structure.own_rows, structure.parameters, order, structure.name)
    system = ConstrainedSystem(form, lifted, structure)
    small = size(*form.rows, *lifted.rows) <= _LARGEST_IN_PLACE
    with deep():
        answer = limited(_formed, system, seconds=seconds, small=small)
    if answer.value is None:
        raise ModelError(
            f"the reduced equations were not formed within a budget of {seconds:g} seconds: {answer.reason}.",
            where=where,
            why="They are exact formulas, with the dependent derivatives eliminated.",
            hint=(
                Ask("constrain", "form, structure, seconds=300"),
                ", or ",
                UsePrinciple(Chetaev(), "system"),
                ", which keeps the multipliers",
            ),
        )
    return answer.value


def _formed(system: ConstrainedSystem) -> ConstrainedSystem:
    """The system with its rows computed and kept."""
    _ = system.rows
    return system


@public
def pulled_back(form: DynamicalForm, surface: Mapping[Jet, Any]) -> DynamicalForm:
    r"""The dynamical form on a holonomic surface $q^i = g^i(t, q^l)$: $E'_l = (E_l + E_i\,\partial g^i/\partial q^l) \circ J^s\iota_0$.

    Args:
        form: The dynamical form.
        surface: The functions $g^i$ by the coordinates $q^i$ that they replace.

    Returns:
        The form in the remaining coordinates.

    Raises:
        UsageError: If `surface` does not express coordinates of the form.

    >>> plane = DynamicalForm("x y", ["-x''", "-y'' - 1"])
    >>> x, y = plane.coordinates
    >>> pulled_back(plane, {y: x**2}).rows
    (2*x*(-2*x*x'' - 2*x'**2 - 1) - x'',)
    """
    where = f"pull-back of {form.label}"
    values = {q: exact(e) for q, e in surface.items()}
    rest = [q for q in form.coordinates if q not in values]
    for q, e in values.items():
        if q not in form.coordinates:
            raise UsageError(f"{q} is not a coordinate.", where=where, hint=f"one of {' '.join(z.base for z in form.coordinates)}")
        wrong = sorted((z for z in jets_in(e) if z.order or z not in rest), key=lambda z: z.name)
        if wrong:
            raise UsageError(
                f"{q} is given by {wrong[0]}.", where=where, hint="positions of the surface depend on time and the other coordinates"
            )
    if not rest:
        raise UsageError("no coordinate is left.", where=where, hint="give fewer coordinates")
    section = prolonged_map(values, form.highest)
    by_name = dict(zip(form.coordinates, form.rows, strict=True))
    rows = []
    for q in rest:
        row = Add(by_name[q], *[by_name[z] * e.diff(q) for z, e in values.items()])
        rows.append(row.xreplace(section))
    return DynamicalForm(rest, rows, [*form.parameters], name=form.name)


@public
def semiholonomic(coordinates: Any, functions: Sequence[Any], degree: int, parameters: Any = "") -> ConstraintStructure:
    r"""The semiholonomic constraint $d^p u^i/dt^p = 0$ of a degree $p \ge 1$.

    Args:
        coordinates: Names or symbols of the coordinates.
        functions: The functions $u^i$, as strings or expressions.
        degree: The degree p.
        parameters: Names or symbols of the parameters.

    Returns:
        The constraint structure with the rows $d^p u^i/dt^p = 0$.

    Raises:
        UsageError: If `degree` is not a positive integer.

    >>> print(semiholonomic("x y", ["x*y"], 2).rows[0])
    x*y'' + 2*x'*y' + x''*y
    """
    if isinstance(degree, bool) or not isinstance(degree, int) or degree < 1:
        raise UsageError(
            f"degree={degree!r} is not a positive integer.",
            where="semiholonomic",
            hint=(SetArgument("degree", 1), " for a constraint du/dt = 0"),
        )
    read = DynamicalForm(coordinates, functions, parameters)
    rows = [total_derivative(u, degree) for u in read.rows]
    return ConstraintStructure.of_rows(read.coordinates, rows, read.parameters)


@public
def semiholonomic_degree(row: Expr, coordinates: Sequence[Jet] | None = None) -> int | None:
    r"""The largest $p$ with $f = d^p u/dt^p$ for some function $u$; 0 if $f$ is not a total derivative, None if that could not be decided.

    $f$ is a $p$-th total derivative exactly if the higher Euler operators
    $E^{(k)}_\sigma f = \sum_{j \ge k} \binom{j}{k} (-D)^{j-k}\, \partial f/\partial q_j^\sigma$ vanish for $k < p$.

    Args:
        row: The function f.
        coordinates: The coordinates; None for those that occur in `row`.

    Returns:
        The degree, or None.

    >>> from chetaev.core.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> [semiholonomic_degree(f) for f in (x.d(1) * y, x.d(1) * y + x * y.d(1), x.d(2) + y.d(2) * y + y.d(1) ** 2)]
    [0, 1, 2]
    """
    found = sorted({Coordinate(z.base) for z in jets_in(row, Coordinate)}, key=lambda q: q.base) if coordinates is None else coordinates
    top = max((z.order for z in jets_in(row)), default=0)
    for p in range(top + 1):
        answer = all_of(vanishes(_higher_euler(row, q, p, top)) for q in found)
        if answer is None:
            return None
        if not answer:
            return p
    return top + 1


def _higher_euler(f: Expr, q: Jet, k: int, top: int) -> Expr:
    terms = [binomial(j, k) * (-1) ** (j - k) * total_derivative(f.diff(q.d(j)), j - k) for j in range(k, top + 1)]
    return Add(*terms)
