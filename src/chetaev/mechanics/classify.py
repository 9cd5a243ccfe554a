"""classify: the kinds of constraints of a system, and their integrability.

Integrability belongs to a set of rows, not to a row: two rows that are each nonintegrable may be integrable together, and a row that
looks nonholonomic may be the derivative of a position constraint. Here the whole velocity-linear set is examined, time included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sympy import Expr, Rational, S, Symbol

from chetaev.core.calculus import partials, total_derivative
from chetaev.core.display.html import card, columns, facts, set_row
from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.notation import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.budget import Answer
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Input, jets_in
from chetaev.core.system import System
from chetaev.mechanics.distributions import Pfaffian, integrable_rank, integrals, rank_with_and_without
from chetaev.mechanics.group_charts.chart import in_coordinates
from chetaev.mechanics.principles.base import chetaev_row, contact_calculus, inclusion, points_of
from chetaev.mechanics.ranks.generic import SCALED_POINTS, generic_rank, points_on

_FLAG_SECONDS = 4.0
"""Budget for Cartan's derived flag, whose expressions may grow large; without an answer `integral_count` is None."""


@public
@dataclass(frozen=True, repr=False)
class Classification:
    """Kinds of rows, integrability of the velocity-linear set, redundancy, and the relation of C_V to C_K."""

    system: System
    """The classified system."""
    kinds: tuple[str, ...]
    """The kind of each kinematic row."""
    velocity_rows: tuple[int, ...]
    """The rows linear or affine in the velocities."""
    integrable: bool | None
    """Whether these are integrable together (Frobenius, time included); None if undecided; True if there are none."""
    integral_count: int | None
    """The number of independent integrals of these rows together: 0 for a completely nonholonomic set; None if undecided, see `reason`."""
    integrals: tuple[Expr, ...]
    """The integrals for which a formula was found; each is constant on every motion."""
    redundant: tuple[int, ...]
    """Rows that follow from the rows before them and their derivatives."""
    contradictory: bool
    """Whether no velocity satisfies the velocity-linear rows."""
    virtual: str
    """C_V against the d'Alembert/Chetaev one: `equals`, `contains`, `is contained in`, `differs`, or `not stated`."""
    reason: str = ""
    """The reason why the number of integrals is not decided: the budget or the clock."""

    @property
    def holonomic(self) -> bool | None:
        """Whether all constraints restrict positions only, possibly through their derivatives."""
        if any(kind not in ("holonomic", "linear", "affine") for kind in self.kinds):
            return False
        return self.integrable

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = []
        for k, (label, row) in enumerate(self.system.kinematic_rows()):
            kind = f"{self.kinds[k]}{', redundant' if k in self.redundant else ''}"
            lines.append((f"<code>{escape(label)}</code>", escape(kind), set_row(str(row), *row.sides)))
        table = columns(("", "", ""), lines, numbers_from=3) if lines else "<p>no kinematic constraint</p>"
        return card(self.system.name or "system", table, facts(escape(fact.strip()) for fact in self.facts))

    def __str__(self) -> str:
        return "\n".join([self.system.name or "system", *(f"  {line}" for line in self.lines)])

    @property
    def lines(self) -> list[str]:
        """The kind of each row, and the facts about the rows together, as lines of text."""
        lines = []
        width = max((len(kind) for kind in self.kinds), default=0)
        labels = self.system.kinematic_labels
        longest = max(map(len, labels), default=0)
        for k, (kind, row) in enumerate(zip(self.kinds, self.system.kinematic, strict=True)):
            note = "  (redundant)" if k in self.redundant else ""
            lines.append(f"{labels[k]:<{longest}}  {kind:<{width}}  {row}{note}")
        if not self.kinds:
            lines.append("no kinematic constraint")
        return [*lines, *self.facts]

    @property
    def facts(self) -> list[str]:
        """Sentences about the rows together: integrability, integrals, and the virtual displacements."""
        stated = self.kinds or self.virtual != "not stated"
        return [*self._integrability(), *([self._virtual_sentence()] if stated else [])]

    def _integrability(self) -> list[str]:
        if not self.velocity_rows:
            return []
        names = " ".join(self.system.kinematic_labels[k] for k in self.velocity_rows)
        one = len(self.velocity_rows) == 1
        if self.contradictory:
            return [f"{names}: no velocity satisfies {'this row' if one else 'these rows'}"]
        if self.integrable is None:
            return [f"{names}: integrability undecided"]
        lines = []
        if self.integrable:
            lines.append(f"{names}: integrable{'' if one else ' together'} (semiholonomic: holonomic in disguise, up to a constant)")
        elif self.integral_count is None:
            lines.append(f"{names}: not integrable (nonholonomic); whether some integrals follow was not decided: {self.reason}")
        elif self.integral_count:
            lines.append(f"{names}: not integrable{'' if one else ' together'}, but {self.integral_count} integral(s) follow")
        else:
            lines.append(f"{names}: not integrable (nonholonomic)")
        lines += [f"  {show(f)} = constant" for f in self.integrals]
        missing = (self.integral_count or 0) - len(self.integrals)
        if missing > 0:
            lines.append(f"  {missing} more integral(s) exist; no formula found")
        return lines

    def _virtual_sentence(self) -> str:
        if self.virtual == "not stated":
            return "virtual displacements: none stated; only VirtualWork() needs them"
        if self.virtual == "equals":
            return "virtual displacements: C_V equals that of d'Alembert and Chetaev"
        words = {"contains": "contains", "is contained in": "is contained in", "differs": "differs from"}[self.virtual]
        return f"virtual displacements: C_V {words} that of d'Alembert and Chetaev; only VirtualWork() applies"


@public
def classify(system: Any) -> Classification:
    """Classify the constraints of a system.

    Args:
        system: A system or a model.

    Returns:
        Kinds of rows, integrability, redundant rows, and the relation of stated variations to those of d'Alembert and Chetaev.

    Raises:
        UsageError: If `system` is neither a system nor a model.

    >>> rolling = System("x phi", "R", lagrangian="x'^2 + phi'^2", kinematic=["x' = R*phi'"], name="rolling on a line")
    >>> print(classify(rolling))
    rolling on a line
      kinematic[0]  linear  x' = R*phi'
      kinematic[0]: integrable (semiholonomic: holonomic in disguise, up to a constant)
        x - R*phi = constant
      virtual displacements: none stated; only VirtualWork() needs them
    """
    system = getattr(system, "system", system)
    if not isinstance(system, System):
        raise UsageError(
            f"classify takes a System or a Model, not {type(system).__name__}.",
            where=about("classify", "system"),
            hint=Ask("classify", "system"),
        )
    with deep():
        flat = in_coordinates(system)
        rows = system.kinematic
        linear = tuple(k for k, row in enumerate(rows) if row.kind in ("linear", "affine") and not row.has_action)
        pfaffian, contradictory = _pfaffian(flat, [flat.kinematic[k] for k in linear])
        examined = bool(linear) and not contradictory
        counted = _integral_count(pfaffian, flat) if examined else Answer(0)
        count = counted.value
        written = count and not system.groups and _explicit(pfaffian, system)  # formulas in a chart of the group would not help a reader
        return Classification(
            system=system,
            kinds=tuple(row.kind for row in rows),
            velocity_rows=linear,
            integrable=pfaffian.integrable if examined else not contradictory,
            integral_count=count,
            integrals=tuple(integrals(pfaffian)) if written else (),
            redundant=_redundant(flat),
            contradictory=contradictory,
            virtual=_virtual(system),
            reason=counted.reason,
        )


def constraints_are_holonomic(system: System) -> bool | None:
    """Whether all constraints restrict positions only, possibly through their derivatives; None if undecided."""
    if any(row.kind not in ("holonomic", "linear", "affine") for row in system.kinematic):
        return False
    if all(row.kind == "holonomic" for row in system.kinematic):
        return True
    system = in_coordinates(system)
    pfaffian, contradictory = _pfaffian(system, [row for row in system.kinematic if row.kind != "holonomic"])
    return None if contradictory else pfaffian.integrable


def _pfaffian(system: System, rows: Sequence[Constraint]) -> tuple[Pfaffian, bool]:
    """The forms of velocity-linear rows with the differentials of holonomic ones, and whether they contradict each other."""
    holonomic = [_written_out(row.residual, system) for row in system.kinematic if row.kind == "holonomic" and not row.has_action]
    variables: tuple[Symbol, ...] = (*system.coordinates, TIME)
    forms = [_form(_written_out(row.residual, system), system, variables) for row in rows]
    forms += [tuple(partials(phi, variables)) for phi in holonomic]
    symbols = [z for form in forms for e in form for z in e.free_symbols]
    points = points_on(holonomic, [*variables, *symbols], count=SCALED_POINTS)
    with_time, without = rank_with_and_without(forms, points) if forms and points else (0, 0)
    return Pfaffian(variables, tuple(forms), points, bool(holonomic)), with_time > without


def _form(residual: Expr, system: System, variables: Sequence[Symbol]) -> tuple[Expr, ...]:
    r"""$A_i\, dq^i + b\, dt$ of the row $A_i q'^i + b = 0$."""
    velocities = dict.fromkeys(system.velocities, S.Zero)
    components = dict(zip(system.coordinates, partials(residual, system.velocities), strict=True)) | {TIME: residual.xreplace(velocities)}
    return tuple(components.get(z, S.Zero) for z in variables)


def _written_out(residual: Expr, system: System) -> Expr:
    """The row with its inputs as functions of time; an open input becomes a generic polynomial, which has generic ranks and brackets."""
    generic = sum((Rational(7 + 3 * k, 5 + k) * TIME**k for k in range(6)), S.Zero)
    defined = {z.base: generic if e is None else e for z, e in system.inputs.items()}
    jets = jets_in(residual, Input)
    return residual.xreplace({z: total_derivative(defined[z.base], z.order) for z in jets}) if jets else residual


def _explicit(pfaffian: Pfaffian, system: System) -> bool:
    """Whether integrals have formulas: no holonomic rows restrict the space, and every input is given."""
    rows = [row.residual for row in system.kinematic]
    open_inputs = {z.base for z, e in system.inputs.items() if e is None}
    return not pfaffian.restricted and not any(z.base in open_inputs for e in rows for z in jets_in(e, Input))


def _integral_count(pfaffian: Pfaffian, system: System) -> Answer[int]:
    """The number of integrals, without those of the holonomic rows."""
    holonomic = sum(row.kind == "holonomic" and not row.has_action for row in system.kinematic)
    forms = pfaffian.forms[len(pfaffian.forms) - holonomic :]
    found = integrable_rank(pfaffian, _FLAG_SECONDS)
    return found if found.value is None else Answer(found.value - generic_rank(forms, pfaffian.points))


def _redundant(system: System) -> tuple[int, ...]:
    """Rows whose gradient, on the manifold, depends on those of earlier rows prolonged to the same order."""
    rows = system.kinematic
    if len(rows) < 2:
        return ()
    calculus = contact_calculus(system)
    top = max(row.order for row in rows)
    prolonged = [[calculus.total(row.residual, k) for k in range(top - row.order + 1)] for row in rows]
    everything = [e for family in prolonged for e in family]
    points = points_on(everything, [])
    jets = sorted({z for e in everything for z in jets_in(e)}, key=lambda z: z.name)
    kept: list[list[Expr]] = []
    redundant = []
    for k in sorted(range(len(rows)), key=lambda k: (rows[k].order, k)):
        gradients = [*kept, partials(rows[k].residual, jets)]
        if generic_rank(gradients, points) < len(gradients) and (points or points.rows):
            redundant.append(k)
        else:
            kept += [partials(e, jets) for e in prolonged[k]]
    return tuple(sorted(redundant))


def _virtual(system: System) -> str:
    if system.variational is None:
        return "not stated"
    stated = [row.coefficients for row in system.variational]
    computed = [chetaev_row(system, row) for row in system.kinematic]
    points = points_of(system, system.kinematic)
    stated_spans_more, computed_spans_more = inclusion(stated, computed, system.coordinates, points)
    if stated_spans_more and computed_spans_more:
        return "equals"
    if computed_spans_more:
        return "contains"
    return "is contained in" if stated_spans_more else "differs"
