r"""Constraint structures (003, section 10): a constraint $\mathcal Q \subset J^r Y$ with its canonical distribution, the Chetaev bundle.

Equations $f^i(t, q, \dots, q_r) = 0$ with $\mathrm{rank}\,(\partial f^i/\partial q_r^\sigma) = k$ define the constraint 1-forms

$$ \varphi^i = f^i\,dt + \frac{\partial f^i}{\partial q_r^\sigma}\,\omega^\sigma, \qquad (10.5) $$

and the forms $\varphi^i, df^i$ annihilate a distribution of rank $rm + m + 1 - 2k$ on $J^rY$ that is tangent to $\mathcal Q$; on
$\mathcal Q$ it is the canonical distribution $\mathcal C$, of corank $k$. Where the rows can be solved for $k$ derivatives $q_r^{m-k+i} =
g^i$ the jets that remain are coordinates of $\mathcal Q$ (normal charts, (10.3)); otherwise $\mathcal Q$ stays implicit, and everything
is a statement at its points.

    >>> disk = ConstraintStructure("x y phi theta", ["x' = theta'*cos(phi)", "y' = theta'*sin(phi)"])
    >>> print(disk.forms[0])
    -cos(phi)*dtheta + dx
    >>> print(disk.canonical_forms[0])
    -cos(phi)*dtheta + dx
    >>> disk.order, disk.corank, disk.integrable
    (1, 2, False)

Rows of lower order, holonomic ones too, are differentiated up to the order of the structure, as in (11.8); `prolonged` holds the rows of
lower order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import sympy
from sympy import Expr, Matrix, S, Symbol

from chetaev.core.calculus import SYMBOLIC, total_derivative
from chetaev.core.declarations import checked_name
from chetaev.core.errors import ModelError, UsageError, about
from chetaev.core.functions import in_own_functions
from chetaev.core.notation import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Input, Jet, Parameter, jets_in
from chetaev.core.zero import vanishes
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.ranks.generic import RANK_POINTS, Points, generic_rank, matrices_at, points_on
from chetaev.mechanics.ranks.generic import rank as numerical_rank
from chetaev.singular.dynamical.dynamical_form import DynamicalForm
from chetaev.singular.forms.contact import contact_form
from chetaev.singular.forms.distributions import Distribution, annihilated_by, is_involutive
from chetaev.singular.forms.exterior import Form, all_of, d, exact, pull_back, zero_form
from chetaev.singular.forms.fields import VectorField

_LONG = 400
"""Operations in an expression above which it is not shortened, since SymPy would take seconds."""


@public
class ConstraintStructure:
    """A constraint of order r with its canonical distribution."""

    def __init__(self, coordinates: Any, rows: Sequence[Any], parameters: Any = "", *, name: str = "") -> None:
        """Read and check the rows.

        Args:
            coordinates: Names or symbols, as in `System`.
            rows: Strings in the notation or expressions in jets, fewer than coordinates; `lhs = rhs` means `lhs - rhs`.
            parameters: Names or symbols, as in `System`.
            name: The name of the constraint in messages.

        Raises:
            ModelError: If there are too many rows, no real points, or rows that depend on each other in their highest derivatives.
            NotationError: For a text that is not in the notation.
        """
        read = DynamicalForm(coordinates, rows, parameters, name=name)
        self._fill(read.coordinates, read.parameters, read.rows, name)

    @classmethod
    def of_rows(
        cls,
        coordinates: Sequence[Jet],
        rows: Sequence[Expr],
        parameters: Sequence[Parameter] = (),
        order: int | None = None,
        name: str = "",
    ) -> ConstraintStructure:
        """The structure of rows given as expressions, prolonged to `order` if that is given.

        Args:
            coordinates: The coordinates.
            rows: Expressions in jets of the coordinates; each is zero on the constraint.
            parameters: The parameters that occur in the rows.
            order: The order of the jets on which the constraint lies; that of the rows if it is None.
            name: The name of the structure in texts.

        Raises:
            ModelError: If there are no rows, too many, or rows that are not independent.
            UsageError: If a row has a higher order than `order`.
        """
        made = cls.__new__(cls)
        made._fill(tuple(coordinates), tuple(parameters), tuple(rows), name, order)
        return made

    @classmethod
    def of(cls, system: Any) -> ConstraintStructure:
        """The structure of the kinematic rows of a system or a model.

        Args:
            system: A system or a model.

        Raises:
            ModelError: If a row contains an input or the action variable, or if the system has group coordinates.
        """
        system = getattr(system, "system", system)
        require_coordinates(system, "a constraint structure")
        where = f"constraint structure of {system.label}"
        given = {z for row in system.kinematic for z in jets_in(row.residual, Input)}
        if given or any(row.has_action for row in system.kinematic):
            what = "an input" if given else "the action variable"
            raise ModelError(
                f"a kinematic row contains {what}.",
                where=about(where, "kinematic"),
                why="A constraint is a submanifold of the jets of the coordinates.",
                hint="write the input as an expression in t",
            )
        return cls.of_rows(system.coordinates, [row.residual for row in system.kinematic], system.parameters, name=system.name)

    def _fill(
        self, coordinates: tuple[Jet, ...], parameters: tuple[Parameter, ...], rows: tuple[Expr, ...], name: str, order: int | None = None
    ) -> None:
        self.coordinates, self.parameters, self.name = coordinates, parameters, checked_name(name, "constraint structure")
        genuine = [Constraint(e, S.Zero) for e in rows]
        if not rows:
            raise ModelError("no row is given.", where=about(self._where, "rows"), hint="a constraint has at least one row")
        self.own_orders = tuple(c.order for c in genuine)
        self.order = max(1, *self.own_orders) if order is None else order
        if self.order < max(1, *self.own_orders):
            raise UsageError(f"a row of order {max(self.own_orders)} is not a function on jets of order {self.order}.", where=self._where)
        self.own_rows = tuple(c.residual for c in genuine)
        towers = [
            [total_derivative(c.residual, k) for k in range(self.order - c.order + 1)] for c in genuine
        ]  # (11.8): u_r = 0, u_{r+1} = 0, ...
        self.rows = tuple(tower[-1] for tower in towers)
        self.prolonged = tuple(e for tower in towers for e in tower[:-1])
        """Rows of lower order with their derivatives below the order of the structure: the manifold $\\mathcal P \\subset \\mathcal Q$."""
        if len(rows) >= len(coordinates):
            raise ModelError(
                f"{len(rows)} rows for {len(coordinates)} coordinates.",
                where=self._where,
                why="A constraint leaves at least one coordinate free (1 <= k <= m - 1).",
                hint="state fewer rows",
            )
        self._require_rank()

    @property
    def _where(self) -> str:
        return f"constraint structure {self.name!r}" if self.name else "constraint structure"

    @property
    def corank(self) -> int:
        """The number k of independent rows."""
        return len(self.rows)

    @cached_property
    def slopes(self) -> Matrix:
        r"""The matrix $\partial f^i/\partial q_r^\sigma$ of (10.2); differentiation in time does not change it."""
        bare = zip(self.own_rows, self.own_orders, strict=True)
        return Matrix([SYMBOLIC.gradient(e, [q.d(k) for q in self.coordinates]) for e, k in bare])

    @cached_property
    def points(self) -> Points:
        """Random points of the constraint."""
        symbols = [*self.jets, *self.parameters, TIME]
        return points_on([*self.prolonged, *self.rows], symbols, count=RANK_POINTS)

    @cached_property
    def jets(self) -> tuple[Jet, ...]:
        """The jets up to the order of the structure."""
        return tuple(q.d(k) for k in range(self.order + 1) for q in self.coordinates)

    def _require_rank(self) -> None:
        if not self.points:
            raise ModelError("no real point was found where the rows hold.", where=self._where)
        found = generic_rank(self.slopes.tolist(), self.points)
        if found < self.corank:
            raise ModelError(
                f"the {self.corank} rows are not independent in their highest derivatives: their rank is {found}.",
                where=self._where,
                why="A constraint is a submanifold fibred over the jets of lower order, (10.2).",
                hint="state the lower-order row that follows from them instead",
            )

    @cached_property
    def dependent(self) -> tuple[int, ...]:
        """The indices of the coordinates whose highest derivatives the rows determine, in the order of the rows: the simplest regular
        block.
        """
        k, m = self.corank, len(self.coordinates)
        best: tuple[tuple[int, int, int], tuple[int, ...]] | None = None
        for columns in combinations(reversed(range(m)), k):
            block = self.slopes.extract(list(range(k)), sorted(columns))
            if any(numerical_rank(a) < k for a in matrices_at(block.tolist(), self.points)):
                continue
            determinant = block.det(method="berkowitz")
            moving = {z for z in determinant.free_symbols if not isinstance(z, Parameter)}
            key = (0 if self._affine(sorted(columns)) else 1, len(moving), sympy.count_ops(determinant))
            if best is None or key < best[0]:
                best = (key, tuple(sorted(columns)))
            if key == (0, 0, 0):
                break
        if best is None:
            raise ModelError("no regular block was found in the rows at random points.", where=self._where)
        return best[1]

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """The indices of the other coordinates."""
        return tuple(i for i in range(len(self.coordinates)) if i not in self.dependent)

    def _affine(self, columns: Sequence[int]) -> bool:
        tops = [self.coordinates[j].d(k) for k in set(self.own_orders) for j in columns]
        return all(vanishes(c.diff(z)) is True for c in self.slopes.extract(list(range(self.corank)), list(columns)) for z in tops)

    @cached_property
    def block(self) -> Matrix:
        """The regular block of `slopes`."""
        return self.slopes.extract(list(range(self.corank)), list(self.dependent))

    @cached_property
    def gradient(self) -> Matrix:
        r"""The matrix $\partial g^i/\partial q_r^l$ of the solved rows, even if they stay implicit: $-(f_{dep})^{-1} f_{ind}$."""
        rest = self.slopes.extract(list(range(self.corank)), list(self.independent))
        return (-self._inverse * rest).applyfunc(tidied)

    @cached_property
    def _inverse(self) -> Matrix:
        return self.block.inv(method="ADJ").applyfunc(tidied)

    @cached_property
    def admissible(self) -> Matrix:
        r"""Virtual displacements: a column for each independent coordinate; they span the $\pi$-vertical
        part of $\mathcal C$ at order 0.
        """
        m = len(self.coordinates)
        found = sympy.zeros(m, len(self.independent))
        for column, j in enumerate(self.independent):
            found[j, column] = S.One
            for row, i in enumerate(self.dependent):
                found[i, column] = self.gradient[row, column]
        return found

    @cached_property
    def solved(self) -> dict[Symbol, Expr] | None:
        """The dependent jets as functions of the others, lower ones first; None if the rows are not affine in them."""
        if not self._affine(self.dependent):
            return None
        if len(set(self.own_orders)) > 1:
            return None
        first = self.own_orders[0]
        values: dict[Symbol, Expr] = {}
        for k in range(first, self.order + 1):
            tops = [self.coordinates[i].d(k) for i in self.dependent]
            rows = [total_derivative(e, k - first).xreplace(values) for e in self.own_rows]
            rest = Matrix([SYMBOLIC.without(e, tops) for e in rows])
            found = (-self._inverse.xreplace(values) * rest).applyfunc(tidied)
            values |= {z: in_own_functions(e.xreplace(values)) for z, e in zip(tops, found, strict=True)}
        return values

    @cached_property
    def variables(self) -> tuple[Symbol, ...]:
        """Coordinates of the constraint, time first: all jets except the solved ones, or all jets if the rows stay implicit."""
        solved = self.solved or {}
        return (TIME, *[z for z in self.jets if z not in solved])

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        r"""The constraint 1-forms $\varphi^i$ of (10.5) on $J^rY$."""
        found = []
        for e, row in zip(self.rows, self.slopes.tolist(), strict=True):
            form = e * d(TIME)
            for q, c in zip(self.coordinates, row, strict=True):
                form = form + c * contact_form(q)
            found.append(form.map(tidied))
        return tuple(found)

    @cached_property
    def canonical_forms(self) -> tuple[Form, ...]:
        r"""The forms $\iota^*\varphi^i$ that annihilate the canonical distribution; on $J^rY$ where the constraint stays implicit."""
        if self.solved is None:
            return tuple(form - e * d(TIME) for form, e in zip(self.forms, self.rows, strict=True))
        return tuple(pull_back(form, self.solved).map(tidied) for form in self.forms)

    @cached_property
    def canonical(self) -> Distribution:
        r"""The canonical distribution $\mathcal C$ on the constraint.

        On a solved constraint it is a distribution on the variables of $\mathcal Q$. Otherwise it is the distribution on $J^rY$ that the
        forms and the differentials of the rows annihilate, at points of $\mathcal Q$. With rows of lower order it is the induced one of
        (11.10).
        """
        if self.solved is not None:
            return annihilated_by([f for f in self.canonical_forms if f.terms] or [zero_form(1)], self.variables)
        everything = [*self.prolonged, *self.rows]
        return annihilated_by([*self.canonical_forms, *[d(e) for e in everything]], (TIME, *self.jets), on=everything)

    @cached_property
    def integrable(self) -> bool | None:
        """Whether the canonical distribution is completely integrable: True, False or None (undecided)."""
        return is_involutive(self.canonical)

    @cached_property
    def degrees(self) -> tuple[int | None, ...]:
        r"""The degree $p$ of each row as it was given: $f = d^pu/dt^p$; 0 for a row that is not a total derivative, None if undecided."""
        from chetaev.singular.dynamical.constrained_system import semiholonomic_degree

        return tuple(semiholonomic_degree(e, self.coordinates) for e in self.own_rows)

    def semispray(self, components: Mapping[Jet, Any]) -> VectorField:
        r"""The constraint semispray $\Gamma$ with components for the highest derivatives of the independent coordinates (section 10).

        Args:
            components: The highest derivatives of the independent coordinates, by coordinate.

        Raises:
            UsageError: If a component is missing.
            ModelError: If the rows are not solved for highest derivatives.
        """
        values = self._solved_or_refuse("semispray")
        wanted = [self.coordinates[i] for i in self.independent]
        missing = [q for q in wanted if q not in components]
        if missing:
            raise UsageError(
                f"no component for {missing[0]}.", where=self._where, hint=f"components for {' '.join(q.base for q in wanted)}"
            )
        found: dict[Symbol, Expr] = {TIME: S.One}
        for z in self.variables[1:]:
            if isinstance(z, Jet):
                top = z.order == self.order
                found[z] = exact(components[z.d(-self.order)]) if top else values.get(z.d(), z.d())
        return VectorField(found)

    def is_connection(self, field: Mapping[Symbol, Expr]) -> bool | None:
        r"""Whether a field on $\mathcal Q$ spans a constraint connection: horizontal, in $\mathcal C$, and a semispray.

        The paper omits the last condition; without it $\partial_t + (q_1' + 1)\partial_{q_1} + (g + g_{q_1'})\partial_{q_2}$ would be a
        connection.

        Args:
            field: The components of a vector field, by variable.

        Raises:
            ModelError: If the rows are not solved for highest derivatives.
        """
        values = self._solved_or_refuse("is_connection")
        field = VectorField(field)
        time = field.get(TIME, S.Zero)
        vertical = vanishes(time)
        inside = all_of(vanishes(form(field)) for form in self.canonical_forms)
        lower = [z for z in self.variables[1:] if isinstance(z, Jet) and z.order < self.order]
        spray = all_of(vanishes(field.get(z, S.Zero) - values.get(z.d(), z.d()) * time) for z in lower)
        return all_of([None if vertical is None else not vertical, inside, spray])

    def _solved_or_refuse(self, verb: str) -> dict[Symbol, Expr]:
        if self.solved is None:
            raise ModelError(
                "the rows are not solved for highest derivatives.",
                where=f"{verb} on {self._where}",
                why="Fields on the constraint are written in a normal chart, (10.3).",
                hint="state the rows in the form q' = g, each for another coordinate, all of the same order",
            )
        return self.solved

    def __str__(self) -> str:
        names = " ".join(q.base for q in self.coordinates)
        lines = [f"{self.name or 'constraint'} of order {self.order}, codimension {self.corank}, on the jets of {names}"]
        lines += [f"  {show(e)} = 0" for e in (*self.prolonged, *self.rows)]
        lines += [f"  φ{k + 1} = {form}" for k, form in enumerate(self.canonical_forms)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ConstraintStructure of order {self.order}, codimension {self.corank}>"


def tidied(e: Expr) -> Expr:
    """The shorter of `e` and its form after cancellation; `e` itself if it is long."""
    if not (e.is_Add or e.is_Mul) or sympy.count_ops(e) > _LONG:
        return e
    short = sympy.cancel(e) if not e.atoms(sympy.Function) else sympy.expand(e)
    if vanishes(short) is True:
        return S.Zero
    return min(e, short, key=sympy.count_ops)
