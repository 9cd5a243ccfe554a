"""Equations of motion: labelled rows with their origins, how they are printed, and how multipliers are eliminated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import sympy
from sympy import Expr, S, Symbol

from chetaev.core.calculus import SYMBOLIC, Algebra
from chetaev.core.display.html import card, rows, set_formula, set_row
from chetaev.core.errors import ModelError, PrincipleError, StateError, UsageError, about
from chetaev.core.fixes import Ask, InPython
from chetaev.core.functions import has_corner_in
from chetaev.core.notation import Vocabulary, show
from chetaev.core.notation.lexer import names_in, spell
from chetaev.core.notation.named_parts import named_parts
from chetaev.core.notation.reduction import reduced
from chetaev.core.notation.show import latex, mathml
from chetaev.core.rows.constraints import Constraint
from chetaev.core.rows.unilateral import Contact
from chetaev.core.support.budget import allowance, limited, size
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Coordinate, Jet, Multiplier, jets_in
from chetaev.core.system import System
from chetaev.mechanics.assemble import Row, assemble, calculus_of, euler_lagrange, origins, reaction
from chetaev.mechanics.origins import Origin, Variation
from chetaev.mechanics.principles.base import Lowered, Principle, points_of
from chetaev.mechanics.principles.given_forces import require_no_contact
from chetaev.mechanics.ranks.row_reduction import by_pivots, row_reduce

LONG_ROWS = "long rows: .simplify() may shorten them"
"""The last line of a print with long rows."""
_LONG_ROW = 400
"""Characters of a printed row, five lines of a terminal, above which the print says that `simplify` exists."""
_LARGEST_IN_PLACE = 12
"""Size of the two sides of a row that are simplified in place, within some milliseconds. SymPy may take seconds for a few terms more."""


@public
@dataclass(frozen=True)
class Equations:
    """The rows `E_i = u_i + lambda_a R_V[a, i]`, the kinematic rows, and `s' = L` under Herglotz' principle.

    Symbolic rows are formed on first use; the numerics forms the same rows on its own graph by `assembled`.
    """

    lowered: Lowered
    """The system in normal form."""
    principle: Principle
    """The principle under which the equations hold."""
    rewritten: tuple[Row[Expr], ...] | None = None
    """Rows that replace the assembled ones, after `eliminate` or `simplify`."""
    assumptions: tuple[Expr, ...] = ()
    """Expressions that must not vanish for the rows to hold."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Computed once, since caches ask for it in every call."""
        return hash((self.lowered, self.principle, self.rewritten, self.assumptions))

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name != "_hash"}  # hashes of texts differ between processes

    @property
    def system(self) -> System:
        """The system the equations belong to."""
        return self.lowered.system

    @cached_property
    def rows(self) -> tuple[Row[Expr], ...]:
        """The rows as SymPy expressions."""
        return self._assembled(SYMBOLIC)

    @property
    def variations(self) -> dict[str, Expr]:
        """The residuals of the rows that are variations, by the name of the coordinate."""
        return {row.origin.coordinate: row.residual for row in self.rows if isinstance(row.origin, Variation)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the rows, without forming them."""
        return tuple(origin.label for origin in self.origins)

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of the rows, without forming the rows."""
        return origins(self.lowered) if self.rewritten is None else tuple(row.origin for row in self.rewritten)

    def assembled(self, algebra: Algebra[Any]) -> tuple[Row[Any], ...]:
        """The rows in any algebra; they are formed once for SymPy and once for each graph.

        Args:
            algebra: The algebra of the expressions: SymPy's, or that of a graph.
        """
        return self.rows if algebra is SYMBOLIC else self._assembled(algebra)

    def _assembled(self, algebra: Algebra[Any]) -> tuple[Row[Any], ...]:
        with deep():
            if self.rewritten is None:
                return assemble(self.lowered, algebra)
            return tuple(replace(row, lhs=algebra.of(row.lhs), rhs=algebra.of(row.rhs)) for row in self.rewritten)

    @property
    def multipliers(self) -> tuple[Multiplier, ...]:
        """The multipliers that occur, in the order of their rows."""
        if self.rewritten is None:
            return self.lowered.multipliers
        present = {z.base for row in self.rewritten for z in jets_in(row.residual, Multiplier)}
        return tuple(m for m in self.lowered.multipliers if m.base in present)

    @property
    def unknowns(self) -> tuple[Jet, ...]:
        """Coordinates, multipliers, and the action variable."""
        action = (self.lowered.action,) if self.lowered.action is not None else ()
        return (*self.system.coordinates, *self.multipliers, *action)

    @property
    def counts(self) -> tuple[int, int]:
        """Number of rows and number of unknowns."""
        coordinates, kinematic = len(self.lowered.varied), len(self.system.kinematic)
        action = self.lowered.action is not None
        rows = coordinates + kinematic + action if self.rewritten is None else len(self.rewritten)
        return rows, len(self.unknowns)

    @property
    def lagrangian(self) -> Expr:
        """The lowered Lagrangian: under vakonomic principles it contains the multipliers; a PrincipleError for a dynamical form."""
        if self.system.equations:
            raise PrincipleError(
                f"{self.system.label} has equations of its own and no Lagrangian.",
                where=about(f"lagrangian of {self.system.label}", "equations"),
                why="The rows of a dynamical form need not come from one.",
                hint=(Ask("ch.helmholtz", "form"), " finds a Lagrangian where there is one"),
            )
        return self.lowered.lagrangian

    @property
    def variational(self) -> tuple[Any, ...]:
        """The rows of R_V, by coordinate; one per reaction."""
        return tuple(self.lowered.reactions.values())

    def total(self, expression: Expr, times: int = 1) -> Expr:
        """The total derivative along the motion, with `s' = L` where there is an action variable.

        Args:
            expression: An expression in jets of the system.
            times: The number of derivatives.
        """
        return calculus_of(self.lowered, SYMBOLIC).total(expression, times)

    def reaction(self, coordinate: Coordinate | str) -> Expr:
        r"""The generalised reaction $\lambda_a R_V^a{}_i$ on a coordinate.

        A costate contributes its part of the equation, $E_i[L] - E_i[L + \lambda R_K]$.

        Args:
            coordinate: A coordinate of the system, or its name.

        Raises:
            ModelError: If `coordinate` is not a coordinate of the system.
        """
        q = Coordinate(spell(coordinate)) if isinstance(coordinate, str) else coordinate
        if q not in self.system.coordinates:
            known = " ".join(z.base for z in self.system.coordinates)
            raise ModelError(
                f"{q} is not a coordinate.", where=about(f"reaction on {self.system.label}", "coordinate"), hint=f"one of {known}"
            )
        acting = reaction(self.lowered, q)
        if not self.lowered.costates:
            return acting
        calculus = calculus_of(self.lowered, SYMBOLIC)
        i = self.system.coordinates.index(q)
        silent = self.lagrangian.xreplace(dict.fromkeys(self.lowered.costates, S.Zero))
        free, whole = (euler_lagrange(calculus, e)[i] for e in (silent, self.lagrangian))
        return free - whole + acting

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names an expression about the motion may use: those of the system, multipliers and `s'`.

        The name of a stated variational row, if it is not taken, also names its multiplier, such as the force of an actuator.
        """
        names = self.system.vocabulary
        jets = {**names.jets, **{m.base: m for m in self.lowered.multipliers}}
        reason = "the multiplier of a reaction carries no prime: it is not part of the state."
        rate = "" if self.system.action is None else self.system.action.d().name  # along a motion it has a value
        forbidden = {name: why for name, why in names.forbidden.items() if name != rate}
        known = {*names.names(), *jets}
        named = {row.name: m for m, row in zip(self.lowered.reactions, self.system.variational or (), strict=False) if row.name}
        expressions = {**names.expressions, **{name: m for name, m in named.items() if name.isidentifier() and name not in known}}
        return replace(
            names, jets=jets, expressions=expressions, forbidden={**forbidden, **{f"{m.base}'": reason for m in self.lowered.reactions}}
        )

    def eliminate(self) -> Equations:
        """The equations without multipliers: virtual work along a basis of C_V. They hold where no expression in `assumptions` vanishes.

        Raises:
            PrincipleError: If a derivative of a multiplier occurs, if a force is not affine in the multipliers, or if there are contacts.
            StateError: If no point was found at which the coefficients of the multipliers are defined and not zero.
        """
        if not self.multipliers:
            return self
        moving = sorted((z for row in self.rows for z in jets_in(row.residual, Multiplier) if z.order), key=lambda z: z.name)
        if moving:
            raise PrincipleError(
                f"{moving[0].base} cannot be eliminated.",
                where=about(f"eliminate {self.system.label}", "principle"),
                why="Its derivative occurs: the multipliers of vakonomic motion are part of the state.",
                hint="transform to momenta, or keep the multipliers",
            )
        require_no_contact(self.system, "eliminate")
        self._require_affine_in_multipliers()
        with deep():
            rows, assumptions = without_multipliers(self)
        return replace(self, rewritten=rows, assumptions=(*self.assumptions, *assumptions))

    def _require_affine_in_multipliers(self) -> None:
        """Raise a PrincipleError if a force is not affine in the multipliers, which then cannot be eliminated."""
        inside = self.system.multipliers_in_forces
        slopes = [u.diff(m) for u in self.system.forces.values() for m in inside]
        if any(has_corner_in(u, inside) for u in self.system.forces.values()) or any(e.free_symbols & inside for e in slopes):
            raise PrincipleError(
                f"a force is not affine in {min(m.base for m in inside)}.",
                where=about(f"eliminate {self.system.label}", "forces"),
                why="Its sign depends on the motion, so the rows without it would depend on it too.",
                hint="keep the multipliers",
            )

    def simplify(self, seconds: float = 10.0) -> Equations:
        """The equations with rows simplified by SymPy; rows that the budget does not reach stay unchanged.

        Args:
            seconds: The budget in seconds, counted in operations, so that the answer does not depend on the machine.

        Raises:
            UsageError: If `seconds` is not a positive number.
        """
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            raise UsageError(
                f"simplify takes a time in seconds, not {seconds!r}.",
                where=about(f"simplify {self.system.label}", "seconds"),
                hint=InPython("simplify(seconds=10)"),
            )
        sides = simplified([(row.lhs, row.rhs) for row in self.rows], seconds)
        rows = [replace(row, lhs=lhs, rhs=rhs) for row, (lhs, rhs) in zip(self.rows, sides, strict=True)]
        return replace(self, rewritten=tuple(rows))

    def __iter__(self) -> Iterator[Row[Expr]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return self.counts[0]

    def __getitem__(self, key: int | str) -> Row[Expr]:
        """A row by number or by label."""
        if isinstance(key, int):
            return self.rows[key]
        for row in self.rows:
            if row.label == key:
                return row
        labels = " ".join(row.label for row in self.rows)
        raise UsageError(f"no row {key!r}.", where=f"equations of {self.system.label}", hint=f"one of {labels}")

    def __str__(self) -> str:
        width = max([len(row.label) for row in self.rows] + [len("contact")] * bool(self.system.unilateral))
        printed, named = self._printed
        lines = [f"{self.system.name or 'system'} · {self.principle}"]
        lines += [f"  {row.label:<{width}}  {printed.row_text(row)}" for row in printed.rows]
        lines += [f"  {'where':<{width}}  {name} = {show(reduced(e))}" for name, e in named]
        lines += [f"  {'where':<{width}}  {name} = {show(e)}" for name, e in self.system.where.items() if self._quotes(name)]
        lines += [f"  {'where':<{width}}  {name}' = {show(e)}" for name, e in self.system.quasi.items() if self._quotes(name)]
        lines += [f"  {'contact':<{width}}  {self.contact_text(c)}" for c in self.system.unilateral]
        lines.append(f"  {self.count_text()}")
        if self.rewritten is None and any(len(line) > _LONG_ROW for line in lines):
            lines.append(f"  {LONG_ROWS}")
        if printed.assumptions:
            lines.append(f"  valid where {', '.join(f'{show(a)} != 0' for a in printed.assumptions)}")
        return "\n".join(lines)

    @cached_property
    def _printed(self) -> tuple[Equations, list[tuple[Symbol, Expr]]]:
        """These equations for reading, with names for long parts that repeat, and what the names stand for."""
        rows = [row for row in self.rows if self._stated(row) is None]
        sides = [side for row in rows for side in (row.lhs, row.rhs)]
        found, parts = named_parts([*sides, *self.assumptions], self.vocabulary.names())
        if not parts:
            return self, parts
        named = {row.label: replace(row, lhs=found[2 * k], rhs=found[2 * k + 1]) for k, row in enumerate(rows)}
        shown = tuple(named.get(row.label, row) for row in self.rows)
        return replace(self, rewritten=shown, assumptions=tuple(found[len(sides) :])), parts

    def __repr__(self) -> str:
        return f"<Equations of {self.system.label} under {self.principle}: {self.count_text()}>"

    def latex(self) -> str:
        """All rows as a LaTeX `aligned` block."""
        printed, named = self._printed
        sides: list[tuple[str | Expr, str | Expr]] = [printed.sides(row) for row in printed.rows]
        sides += [(name, reduced(e)) for name, e in named]
        sides += [(name, e) for name, e in self.system.where.items() if self._quotes(name)]
        sides += [(f"{name}'", e) for name, e in self.system.quasi.items() if self._quotes(name)]
        rows = [f"{latex(lhs)} &= {latex(rhs)}" for lhs, rhs in sides]
        rows += [rf"0 \leq {latex(c.multiplier)} &\perp {latex(c.gap)} \geq 0" for c in self.system.unilateral]
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def mathml(self) -> dict[str, str]:
        """Each row by its label as an element of MathML, which browsers set; kinematic rows as the user wrote them."""
        return {row.label: mathml(*self.sides(row)) for row in self.rows}

    def _repr_html_(self) -> str:
        """The rows with their labels, in their order."""
        printed, named = self._printed
        shown = [(f"<code>{escape(row.label)}</code>", set_row(printed.row_text(row), *printed.sides(row))) for row in printed.rows]
        shown += [("where", set_row(show(reduced(e)), name, reduced(e))) for name, e in named]
        shown += [("where", set_formula(name, e)) for name, e in self.system.where.items() if self._quotes(name)]
        shown += [("where", set_formula(f"{name}'", e)) for name, e in self.system.quasi.items() if self._quotes(name)]
        shown += [("contact", escape(self.contact_text(c))) for c in self.system.unilateral]
        valid = ", ".join(f"{set_formula(a)} ≠ 0" for a in printed.assumptions)
        parts = [rows(shown, html_labels=True), f"<p>{escape(self.count_text())}</p>", f"<p>valid where {valid}</p>" if valid else ""]
        return card(f"{self.system.name or 'system'} · {self.principle}", *parts)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def sides(self, row: Row[Expr]) -> tuple[str | Expr, str | Expr]:
        """Both sides of a row for reading: kinematic rows as the user wrote them, others as expressions, without sin(u)^2 + cos(u)^2.

        Args:
            row: A row of these equations.
        """
        stated = self._stated(row)
        return stated.sides if stated else (reduced(row.lhs), reduced(row.rhs))

    def row_text(self, row: Row[Expr]) -> str:
        """A row as text; kinematic rows as the user wrote them.

        Args:
            row: A row of these equations.
        """
        return str(self._stated(row) or f"{show(reduced(row.lhs))} = {show(reduced(row.rhs))}")

    def contact_text(self, contact: Contact) -> str:
        """A contact with its complementarity as text.

        Args:
            contact: A contact of the system.
        """
        name = contact.multiplier.base
        return f"{contact}, {name} >= 0, one of them is 0; restitution {contact.bounce}"

    def _stated(self, row: Row[Expr]) -> Constraint | None:
        """The kinematic row of the system that equals `row`, or None."""
        for label, constraint in zip(self.system.kinematic_labels, self.system.kinematic, strict=True):
            if row.label == label and row.lhs == constraint.lhs and row.rhs == constraint.rhs:
                return constraint
        return None

    def _quotes(self, name: str) -> bool:
        """Whether a kinematic row, shown as the user wrote it, uses a named expression."""
        return any(name in names_in(row.text) for row in self.system.kinematic)

    def count_text(self) -> str:
        """The numbers of equations and unknowns, and the names of the unknowns, as text."""
        rows, unknowns = self.counts
        names = " ".join(z.base for z in self.unknowns)
        contacts = len(self.system.unilateral)
        touching = f" and {contacts} contact{'s' * (contacts != 1)}" if contacts else ""
        text = f"{rows} equation{'s' * (rows != 1)}{touching} for {unknowns} unknown{'s' * (unknowns != 1)}: {names}"
        rows += contacts
        if rows > unknowns:
            text += f"  ({rows - unknowns} more equation{'s' * (rows - unknowns > 1)} than unknowns: overdetermined)"
        if rows < unknowns:
            text += f"  ({unknowns - rows} more unknown{'s' * (unknowns - rows > 1)} than equations: underdetermined)"
        return text


def without_multipliers(equations: Equations) -> tuple[tuple[Row[Expr], ...], tuple[Expr, ...]]:
    r"""Rows without multipliers, and the pivots that must not vanish.

    With $R_V$ reduced so that the pivot columns form the identity, $\delta q_p = -R'_{pf}\, \delta q_f$ is a basis of C_V and
    the rows are $(E_f - u_f) - R'_{pf} (E_p - u_p) = 0$.
    """
    dynamic = [row for row in equations.rows if isinstance(row.origin, Variation)]
    others = [row for row in equations.rows if not isinstance(row.origin, Variation)]
    coefficients = [[-row.residual.diff(m) for row in dynamic] for m in equations.multipliers]
    points = points_of(equations.system, equations.system.kinematic)
    reduced = row_reduce(coefficients, points)
    if not reduced.pivots and any(e != 0 for line in coefficients for e in line):
        what = "no point was found at which the coefficients of the multipliers are defined and not zero."
        raise StateError(what, where=f"eliminate {equations.system.label}", hint="keep the multipliers")
    free = [_without(row) for row in dynamic]
    solved, divisors = by_pivots(coefficients, reduced)
    kept = []
    for f, row in enumerate(dynamic):
        if f in reduced.pivots.values():
            continue
        parts = [(free[f], S.One, row.label)]
        parts += [(free[p], -factor, dynamic[p].label) for p, factor in solved[f].items() if factor != 0]
        # without zeros: SymPy examines a long factor of zero for a minute, whether it is finite
        lhs = sum((factor * e for (e, _), factor, _ in parts if e != 0), S.Zero)
        rhs = sum((factor * u for (_, u), factor, _ in parts if u != 0), S.Zero)
        assert isinstance(row.origin, Variation)  # noqa: S101
        kept.append(Row(replace(row.origin, combined=tuple(label for _, _, label in parts)), lhs, rhs))
    return (*kept, *others), divisors


def _without(row: Row[Expr]) -> tuple[Expr, Expr]:
    """Both sides of a row with all multipliers set to zero."""
    zero = dict.fromkeys(jets_in(row.residual, Multiplier), S.Zero)
    return row.lhs.xreplace(zero), row.rhs.xreplace(zero)


def simplified(groups: Sequence[tuple[Expr, ...]], seconds: float) -> list[tuple[Expr, ...]]:
    """Return groups of expressions simplified by SymPy; groups that the common budget of `seconds` does not reach stay unchanged."""
    found = list(groups)
    with allowance(seconds), deep():  # expressions that are not simplified are still right
        for k, group in enumerate(groups):
            found[k] = limited(_each_simplified, *group, seconds=seconds, small=size(*group) <= _LARGEST_IN_PLACE).or_else(group)
    return found


def _each_simplified(*group: Expr) -> tuple[Expr, ...]:
    return tuple(sympy.simplify(e) for e in group)
