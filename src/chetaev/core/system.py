"""A mechanical system is data: Lagrangian, constraints on the motion, constraints on the variations, forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr

from chetaev.core.calculus import Frame
from chetaev.core.declarations import (
    COORDINATE_KINDS,
    PARAMETER_KINDS,
    Names,
    base_vocabulary,
    checked_name,
    components_of,
    groups_in,
    read_named,
    read_names,
    read_value,
    with_multipliers,
    with_variations,
    without_multipliers,
)
from chetaev.core.errors import Location, ModelError, UsageError, about, did_you_mean, require_mapping
from chetaev.core.fixes import Code, Replace, SetPart, sentences
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.lie_algebra import LieAlgebra
from chetaev.core.groups.lookup import read_groups
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.notation import Vocabulary
from chetaev.core.notation.lexer import names_in, spell
from chetaev.core.parts import ARGUMENTS, PART_TITLED, PARTS, Kind, arguments_of, texts_in
from chetaev.core.rows.constraints import Constraint, VariationalConstraint, by_label
from chetaev.core.rows.reading import (
    MOST_ROWS,
    named_rows,
    rayleigh,
    read_constraint,
    read_equations,
    read_forces,
    read_inputs,
    read_variational,
    require_one,
)
from chetaev.core.rows.unilateral import Contact, declared_contacts, read_contacts
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.text import in_latex
from chetaev.core.support.waiting import reading
from chetaev.core.symbols import Action, Coordinate, Input, Jet, Multiplier, Parameter, jets_in
from chetaev.core.units.checking import check_dimensions, is_consistent, names_with_units, read_units

_OTHER_WORDS = {
    **dict.fromkeys(("constraint", "constraints", "holonomic", "nonholonomic", "rows"), "kinematic"),
    **dict.fromkeys(("kinetic", "potential", "energy", "L"), "lagrangian"),
}
"""Parts by the names that users of other libraries try."""


@public
@dataclass(frozen=True, init=False)
class System:
    """A mechanical system: Lagrangian, constraints, forces. `derive` makes equations of it.

    Texts, SymPy expressions in jets and SymPy functions of time are accepted everywhere.

    >>> sleigh = System("x y theta", parameters="m J", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2",
    ...                 kinematic=["y'*cos(theta) - x'*sin(theta) = 0"], name="sleigh")
    >>> sleigh.kinematic[0].kind
    'linear'
    """

    coordinates: tuple[Coordinate, ...]
    kinds: Frozen[str, str]
    parameters: tuple[Parameter, ...]
    lagrangian: Expr
    equations: Frozen[Coordinate, Expr]
    """The rows $E_\\sigma$ of a dynamical form by coordinate, where there is no Lagrangian; they have its sign, not that of `derive`."""
    kinematic: tuple[Constraint, ...]
    variational: tuple[VariationalConstraint, ...] | None
    forces: Frozen[Coordinate, Expr]
    dissipation: Expr
    unilateral: tuple[Contact, ...]
    """Contacts, each with a gap that is never negative and a coefficient of restitution."""
    action: Action | None
    inputs: Frozen[Input, Expr | None]
    where: Frozen[str, Expr]
    quasi: Frozen[str, Expr]
    name: str
    own_groups: Frozen[str, MatrixGroup | LieAlgebra]
    """The groups that the system defines, by the words that kinds of coordinates use."""
    lagrangian_text: str = field(compare=False)
    written: Frozen[str, str] = field(compare=False, repr=False)
    """The user's texts of the parts, by the titles under which they are printed; named expressions in them keep their names."""
    units: Frozen[str, str] = field(compare=False, repr=False)
    """Units by name, as texts: labels, and a check of dimensions. No number is converted, so systems that differ in them are equal."""

    def __init__(
        self,
        coordinates: Any,
        parameters: Any = "",
        *,
        lagrangian: Any = None,
        equations: Mapping[Any, Any] | None = None,
        kinematic: Sequence[Any] | Mapping[str, Any] = (),
        variational: Sequence[Any] | Mapping[str, Any] | None = None,
        forces: Mapping[Any, Any] | None = None,
        dissipation: Any = None,
        unilateral: Sequence[Any] | Mapping[str, Any] = (),
        action: Any = None,
        inputs: Mapping[Any, Any] | None = None,
        groups: Mapping[str, Any] | None = None,
        units: Mapping[str, str] | None = None,
        where: Mapping[str, Any] | None = None,
        quasi: Mapping[str, Any] | None = None,
        name: str = "",
        **unknown: Any,
    ) -> None:
        """Read and check all parts.

        Args:
            coordinates: Names (`"x y"`), symbols, or a mapping to kinds: `{"psi": "angle", "x": "line", "A": "SO3 body"}`.
            parameters: Names, symbols, or `{"M": "positive"}`. Parameters are constants; their values are given later.
            lagrangian: The Lagrangian, of any order, with or without time.
            equations: In its place a dynamical form: rows `E_x(t, q, q', ...)` by coordinate, one for each, with the sign of the
                Euler-Lagrange expressions `dL/dq - D dL/dq' + ...`; `lhs = rhs` means `lhs - rhs`. No principle varies them.
            kinematic: Rows `lhs = rhs` on jets of any order; without `=` the right-hand side is 0. A mapping `{"blade": "..."}` names them.
            variational: Rows linear in the variations δx, as a list or by name. None: the principle computes them; `[]`: there are none.
            forces: External forces u_i by coordinate, on the right-hand side of the equations. They may contain the multipliers `lambda1`,
                `lambda2`, ... of the rows: `"-mu*abs(lambda1)*sign(x')"` is Coulomb friction by the normal force.
            dissipation: Rayleigh's function F, which adds the forces `-dF/dq'`.
            unilateral: Contacts by name, `{"floor": ("y >= 0", "e")}` with a coefficient of restitution, or a list `["y >= 0"]` without
                rebound. The multiplier of a contact is `lambda_floor` (`lambda_u1`, ... in a list); it never pulls.
            action: The name of the action variable s, for Herglotz' principle.
            inputs: Given functions of time by name; None leaves a function open until the equations are evaluated.
            groups: Lie groups by the words that `coordinates` uses: `{"G": ch.groups.matrix_group(basis)}`; they shadow ready-made ones.
            units: Units by name, `{"m": "kg", "x": "m", "t": "s"}`: labels of axes and reports. Time is in seconds unless `t` has a unit.
                Where the units of all names in a sum are known, they must agree. No number is converted.
            where: Named sub-expressions in any order; a prime on a name means the total derivative.
            quasi: Quasi-velocities: `{"w": "x'*cos(theta) + y'*sin(theta)"}` makes `w'` that expression.
            name: The name of the system in messages and headings.
            unknown: Further keywords are refused, with a suggestion.

        Raises:
            UsageError: For an unknown keyword or an argument of a wrong type.
            ModelError: If parts contradict each other: a name declared twice, a force on an unknown coordinate, a row without meaning, a
                sum of different units.
            NotationError: For a text that is not in the notation.
        """
        name = checked_name(name, "system")
        place = Location(f"system {name!r}" if name else "system")
        for word in unknown:
            meant = Replace(_OTHER_WORDS[word]) if word in _OTHER_WORDS else did_you_mean(word, ARGUMENTS)
            raise UsageError(
                f"System has no part {word!r}.", where=about(place, word), hint=sentences(meant, f"Parts: {' '.join(ARGUMENTS)}")
            )
        given = {"lagrangian": lagrangian, "dissipation": dissipation, "forces": forces, "inputs": inputs, "where": where, "quasi": quasi}
        given["equations"] = equations if not isinstance(equations, Mapping) else {k: e for k, e in equations.items() if "=" not in str(e)}
        for part in [part.name for part in PARTS if part.kind is Kind.FORMULAS]:
            if given[part] is not None:
                require_mapping(given[part], f"{part} are", place, SetPart(part, {"...": "..."}))
        names = Names(place)
        if groups is not None:
            require_mapping(groups, "groups are", place, SetPart("groups", {"G": Code("ch.groups.matrix_group(basis)")}))
        own = Frozen(read_groups(groups or {}, place))
        kinds = read_names(coordinates, "coordinate", COORDINATE_KINDS, names, own)
        if not kinds:
            raise ModelError("no coordinate is declared.", where=place.about("coordinates"), hint=SetPart("coordinates", "x y"))
        parameter_kinds = read_names(parameters, "parameter", PARAMETER_KINDS, names)
        given_inputs = {Input(names.declare(_input_name(k), "input")): v for k, v in (inputs or {}).items()}
        action_symbol = Action(names.declare(str(action), "action variable")) if action is not None else None
        base = base_vocabulary(kinds, own, parameter_kinds, given_inputs, action_symbol)
        reacting = _multipliers(_count(kinematic if variational is None else variational))
        reacting += declared_contacts(unilateral, names, place)
        with reading(name or "system"):
            vocabulary = read_named(where or {}, quasi or {}, without_multipliers(base, reacting), names)

        def read(value: Any, part: str, key: str | None = None) -> Expr:
            return read_value(value, vocabulary, place.at(part, key))

        put = object.__setattr__
        put(self, "name", name)
        put(self, "own_groups", own)
        put(self, "coordinates", components_of(kinds, own))
        put(self, "kinds", Frozen(kinds))
        put(self, "parameters", tuple(base.parameters.values()))
        put(self, "action", action_symbol)
        put(self, "inputs", Frozen(read_inputs(given_inputs, base, place)))
        put(self, "where", Frozen(vocabulary.expressions))
        put(self, "quasi", Frozen(vocabulary.quasi))
        require_one(lagrangian, equations, place)
        with reading(name or "system"):
            put(self, "lagrangian", sympy.S.Zero if equations else read(lagrangian, "lagrangian"))
        put(self, "equations", Frozen(read_equations(equations or {}, self.coordinates, vocabulary, place)))
        self._keep_texts(texts_in(given))
        put(self, "dissipation", sympy.S.Zero if dissipation is None else rayleigh(read(dissipation, "dissipation"), place))
        acting = with_multipliers(vocabulary, reacting)
        put(self, "forces", Frozen(read_forces(forces or {}, self.coordinates, acting, place)))
        rows = named_rows(kinematic, "kinematic", place)
        put(self, "kinematic", tuple(read_constraint(r, vocabulary, at, title) for title, at, r in rows))
        if variational is not None:
            with_deltas = with_variations(vocabulary, action_symbol)
            stated = named_rows(variational, "variational", place)
            variational = [read_variational(r, with_deltas, at, title) for title, at, r in stated]
        put(self, "variational", None if variational is None else tuple(variational))
        put(self, "unilateral", read_contacts(unilateral, vocabulary, place))
        put(self, "units", read_units({} if units is None else units, self, place))
        if self.units:
            check_dimensions(self, place)

    @classmethod
    def of_parts(cls, plain: Mapping[str, Any]) -> System:
        """A system from plain data, as `parts_of` gives them: texts, lists of texts, and texts by name.

        Args:
            plain: The parts by their names in model files.

        Raises:
            ChetaevError: As the constructor raises for the same parts.
        """
        return cls(**arguments_of(plain))

    def _keep_texts(self, texts: Mapping[str, str]) -> None:
        object.__setattr__(self, "written", Frozen(texts))
        object.__setattr__(self, "lagrangian_text", self.written.get("lagrangian", ""))

    @cached_property
    def frame(self) -> Frame:
        """The frame of the configuration: velocities, vector fields and structure functions."""
        return Frame.of_coordinates(self.coordinates, self.groups.values())

    @cached_property
    def groups(self) -> Frozen[str, GroupCoordinate]:
        """The coordinates that take values in a Lie group, by name."""
        return Frozen(groups_in(self.kinds, self.own_groups))

    def charted(self, expression: Expr) -> Expr:
        """`expression` with the entries of group coordinates as functions of the stored numbers, such as quaternions.

        Args:
            expression: An expression in jets of the system, which may contain entries such as `A[1,2]`.
        """
        entries = {z: e for group in self.groups.values() for z, e in group.chart.items() if z in expression.free_symbols}
        return expression.xreplace(entries) if entries else expression

    def by_name(self, jets: Sequence[Jet]) -> tuple[str, ...]:
        """The names of `jets`; places of a group coordinate, and its components of order 0, by the name of the coordinate.

        Args:
            jets: Jets of the system.
        """
        owner = {z.base: name for name, group in self.groups.items() for z in (*group.places, *group.components)}
        return tuple(dict.fromkeys(z.name if z.order or z.base not in owner else owner[z.base] for z in jets))

    @property
    def velocities(self) -> tuple[Coordinate, ...]:
        """`q'` for every coordinate `q`."""
        return tuple(q.d() for q in self.coordinates)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names an expression about this system may use."""
        parameters = {p.name: "positive" if p.is_positive else "real" for p in self.parameters}
        base = base_vocabulary(self.kinds, self.own_groups, parameters, self.inputs, self.action)
        return replace(base, expressions=self.where, quasi=self.quasi)

    @cached_property
    def acting_vocabulary(self) -> Vocabulary:
        """The names a force may use: those of the system, and the multipliers of its rows."""
        rows = self.kinematic if self.variational is None else self.variational
        return with_multipliers(self.vocabulary, (*_multipliers(len(rows)), *[contact.multiplier for contact in self.unilateral]))

    @cached_property
    def multipliers_in_forces(self) -> frozenset[Multiplier]:
        """The multipliers that forces contain."""
        return frozenset(z for u in self.forces.values() for z in jets_in(u, Multiplier))

    @cached_property
    def kinematic_labels(self) -> tuple[str, ...]:
        """The labels of the kinematic rows: the user's names, or numbers."""
        return tuple(f"sliding[{row.surface}]" if row.surface else row.name or f"kinematic[{k}]" for k, row in enumerate(self.kinematic))

    @property
    def variational_labels(self) -> tuple[str, ...]:
        """The labels of the variational rows: the user's names, or numbers."""
        return tuple(row.name or f"variational[{k}]" for k, row in enumerate(self.variational or ()))

    def kinematic_rows(self) -> list[tuple[str, Constraint]]:
        """The kinematic rows with their labels."""
        return list(zip(self.kinematic_labels, self.kinematic, strict=True))

    @property
    def label(self) -> str:
        """The name of the system in messages."""
        return f"'{self.name}'" if self.name else "system"

    def replace(self, **changes: Any) -> System:
        """A copy with some parts changed; `changes` are arguments of the constructor.

        If `where` or `quasi` change, formulas and rows whose texts use names from these follow their new meanings. A text with a name that
        no longer exists keeps its meaning, as an expression.

        Args:
            changes: Arguments of the constructor with their new values.

        Raises:
            ChetaevError: As the constructor raises for the changed parts.
        """
        renamed = bool(changes.keys() & {"where", "quasi"})
        parts = {part.name: part.argument(self, keep_texts=not renamed) for part in PARTS}
        if renamed:
            defined = {name for part in ("where", "quasi") for name in {**(changes.get(part, parts[part]) or {})}}
            parts |= self._following({spell(str(name)) for name in defined}, parts)
        kept = parts.pop("units")
        changed = System(**(parts | changes))
        if kept and "units" not in changes:
            changed._keep_units(kept, self, check=not changes.keys() & {"coordinates", "parameters", "action"})
        if not renamed:
            kept = {title: text for title, text in self.written.items() if PART_TITLED[title.split()[0]] not in changes}
            changed._keep_texts(kept | dict(changed.written))
        return changed

    def _keep_units(self, kept: Mapping[str, str], before: System, check: bool) -> None:
        """Take over the units of names that `before` has in the same role; a transformation gives other names other meanings."""
        same = {*self.coordinates, *self.parameters, *self.inputs} & {*before.coordinates, *before.parameters, *before.inputs}
        names = {z.name for z in same} | {name for name in self.where if before.where.get(name) == self.where[name]} | {"t"}
        known = names & {*names_with_units(self)}
        object.__setattr__(self, "units", Frozen({name: unit for name, unit in kept.items() if name in known}))
        if check and self.units and is_consistent(before):  # rows that a servo follows are not
            check_dimensions(self, Location(f"system {self.name!r}" if self.name else "system"))

    def _following(self, defined: Set[str], parts: Mapping[str, Any]) -> dict[str, Any]:
        """The parts with the user's texts in place of expressions where these texts use named expressions, all of which are `defined`."""
        known = {*self.where, *self.quasi}

        def follows(text: str) -> bool:
            used = names_in(text) & known
            return bool(used) and used <= defined

        found: dict[str, Any] = {}
        for part in PARTS:
            given = parts[part.name]
            if part.kind is Kind.ROWS and given is not None:
                rows = getattr(self, part.name)
                found[part.name] = by_label(
                    rows,
                    getattr(self, f"{part.name}_labels"),
                    [old.text if follows(old.text) else new for old, new in zip(rows, given, strict=True)],
                )
            elif part.kind is Kind.CONTACTS:
                found[part.name] = {
                    c.name: (str(c), c.bounce) if any(follows(side) for side in c.texts) else given[c.name] for c in self.unilateral
                }
            elif part.kind is Kind.FORMULAS:
                texts = {name: self.written.get(part.titled(name), "") for name in given}
                found[part.name] = {name: texts[name] if follows(texts[name]) else e for name, e in given.items()}
            elif part.kind is Kind.FORMULA and follows(text := self.written.get(part.titled(""), "")):
                found[part.name] = text
        return found

    def exchange(self, **parts: Any) -> System:
        """A copy with some fields replaced by values in their final form, which are neither read nor checked.

        Args:
            parts: Fields of the system with their new values.
        """
        changed: System = object.__new__(System)
        for each in fields(System):
            object.__setattr__(changed, each.name, parts.get(each.name, getattr(self, each.name)))
        return changed

    def __str__(self) -> str:
        return "\n".join(f"{title:<15} {text}".rstrip() for title, text in self._lines("text"))

    def _repr_html_(self) -> str:
        from chetaev.core.display.parts import system_html

        return system_html(self)

    def _repr_latex_(self) -> str:
        rows = [f"{in_latex(title)} & {text}" for title, text in self._lines("latex")]
        return r"$\displaystyle \begin{array}{ll}" + r" \\ ".join(rows) + r"\end{array}$"

    def as_written(self, title: str, e: Expr | None) -> Any:
        """The user's text of a part, by its title in the printed system; the expression `e` if there is none.

        Args:
            title: The title of the part in the printed system.
            e: The expression of the part; None if the part is absent.
        """
        return self.written.get(title, "") or e

    def _lines(self, form: Any) -> list[tuple[str, str]]:
        return [(self.name or "system", ""), *[line for part in PARTS for line in part.lines(self, form)]]


def _count(rows: Any) -> int:
    """The number of rows in a part; 0 if `rows` is not a list, which reading the rows refuses later."""
    return len(rows) if isinstance(rows, Sequence | Mapping) and not isinstance(rows, str) else 0


def _multipliers(count: int) -> tuple[Multiplier, ...]:
    """The multipliers of `count` rows, which the numerics names in the same way."""
    return tuple(Multiplier(f"lambda{k + 1}") for k in range(min(count, MOST_ROWS)))


def _input_name(key: Any) -> str:
    return key.base if isinstance(key, Input) else str(key)


def fresh_coordinates(system: System, wanted: Sequence[str]) -> list[Coordinate]:
    """New coordinates with the names `wanted`; underscores are appended to names that `system` has already."""
    taken = {*system.vocabulary.jets, *system.vocabulary.parameters, *system.where, *system.quasi, "t", "pi"}
    found = []
    for name in wanted:
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(Coordinate(name))
    return found


def group_named(system: System, name: str, where: str) -> GroupCoordinate:
    """The group coordinate `name`; a UsageError if there is none, or if only its velocity is known."""
    found = system.groups.get(spell(str(name)))
    if found is None or found.reduced:
        known = " ".join(name for name, group in system.groups.items() if not group.reduced) or "none"
        raise UsageError(f"{name} is not a group coordinate.", where=where, hint=f"group coordinates: {known}")
    return found


def lowest_written(system: System, z: Jet) -> str:
    """The lowest jet with a value of the quantity of `z`: `q2`, but `A3'` for a component of a group coordinate."""
    return f"{z.base}'" if z.d(-z.order) in system.frame.turning else z.base
