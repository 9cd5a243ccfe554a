r"""Constrained systems (003, section 11): a dynamical form subject to a constraint structure.

The constrained system is the class of $\iota^*\alpha$ modulo the constraint ideal and 2-contact forms. With $P = (\delta^j_l,\ \partial
g^i/\partial q^l)$ the matrix of virtual displacements and $h^i = \hat d g^i/dt$, (11.5)-(11.7) read

$$ A' = P^T (A + B_{\cdot, dep}\, h), \qquad B' = P^T B P, \qquad A'_l + B'_{lp}\, q_s^p = 0, $$

for constraints of order $r \le s - 1$, lower orders being prolonged to $s - 1$ (11.8). For $r \ge s$ the rows are $P^T E$ and
$\alpha_{\mathcal Q} = (P^T E)_l\, \omega^l \wedge dt$. The constraint rows complete the equations. $P$ and $h$ need no solved rows: $h =
-(f_{dep})^{-1}\,\hat d f/dt$ at the points of the constraint, where $\hat d$ leaves the derivatives of order $s$ out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sympy import Add, Expr, Matrix, S

from chetaev.core.calculus import SYMBOLIC, total_derivative
from chetaev.core.errors import ModelError
from chetaev.core.fixes import UsePrinciple
from chetaev.core.support.budget import limited, size
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Jet
from chetaev.mechanics.principles import Chetaev
from chetaev.singular.dynamical.constraint_structure import ConstraintStructure, tidied
from chetaev.singular.dynamical.dynamical import DynamicalForm
from chetaev.singular.forms.contact import contact_form
from chetaev.singular.forms.exterior import Form, d, wedge, zero_form

_SHORT = 60
"""Size of rows that are reduced in place, within a tenth of a second."""


@dataclass(frozen=True)
class ConstrainedSystem:
    """A dynamical form on a constraint: the matrices $A'$, $B'$ of (11.6), the rows (11.7) and the 2-form (11.5)."""

    form: DynamicalForm
    """The dynamical form without the constraint."""
    structure: ConstraintStructure
    """The constraint prolonged to order $s - 1$, or at its own order if that is higher."""
    own: ConstraintStructure
    """The constraint as it was given."""

    @property
    def case(self) -> str:
        """`below`, `equal` or `above`: the order of the constraint against that of the phase space $J^{s-1}Y$."""
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
        """The column $A'_l$ of (11.6); for constraints above the phase space the rows $P^T E$ themselves."""
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
        return DynamicalForm([*self.form.coordinates], rows, [*self.form.parameters], name=self.form.name)


def constrain(form: DynamicalForm, structure: ConstraintStructure, *, seconds: float = 30.0) -> ConstrainedSystem:
    """The constrained system of a dynamical form and a constraint on the same coordinates.

    Args:
        form: A dynamical form with one row for each coordinate.
        structure: The constraint.
        seconds: The budget for the formulas of the reduced equations, counted in operations.

    Returns:
        The constrained system.

    Raises:
        ModelError: If the coordinates or the numbers of rows do not fit, or the budget does not suffice.

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
    small = size(*form.rows, *lifted.rows) <= _SHORT
    with deep():
        answer = limited(_formed, system, seconds=seconds, small=small)
    if answer.value is None:
        raise ModelError(
            f"the reduced equations were not formed within a budget of {seconds:g} seconds: {answer.reason}.",
            where=where,
            why="They are exact formulas, with the dependent derivatives eliminated.",
            hint=("constrain(form, structure, seconds=300), or ", UsePrinciple(Chetaev(), "system"), ", which keeps the multipliers"),
        )
    return answer.value


def _formed(system: ConstrainedSystem) -> ConstrainedSystem:
    """The system with its rows computed and kept."""
    _ = system.rows
    return system
