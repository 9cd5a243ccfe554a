"""The parts of a system, one line each: their names, and how they are printed, written to files and read from them.

A part is an argument of `System`, a field of it, and a key of files under the same name. To add a part: a line in `PARTS`, the argument
and the field in `core/system.py`, and the code that uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

import sympy
from sympy import Expr

from chetaev.core.notation.lexer import spell
from chetaev.core.notation.show import latex, show
from chetaev.core.rows.constraints import Constraint, VariationalConstraint, by_label
from chetaev.core.support.plain import contacts, mapping, named_texts, require_keys, text_of, texts
from chetaev.core.support.text import in_latex

if TYPE_CHECKING:
    from chetaev.core.rows.unilateral import Contact
    from chetaev.core.system import System


class Kind(Enum):
    """The type of a part as plain data."""

    WORD = "a text"
    NAMES = "kinds by name"
    FORMULA = "a text of the notation"
    FORMULAS = "texts of the notation by name"
    ROWS = "a list of rows, or rows by name"
    GROUPS = "groups by name"
    UNITS = "units by name"
    CONTACTS = "inequalities with coefficients of restitution by name"


@dataclass(frozen=True)
class Part:
    """One part of a system, such as its kinematic rows."""

    name: str
    kind: Kind
    title: str
    """The first column of its lines in a printed system; `{}` stands for the name of a formula."""
    default: Any = None
    """Its value if it is left out, as plain data."""
    required: bool = False
    heading: str = ""
    """The title in a report, where it differs."""
    left_side: str = ""
    """The left-hand side of its formulas in a report."""
    table: str = ""
    """The table of a model file that contains its key; empty if the key stands at the top level."""
    declares: bool = False
    """Whether formulas may use its names; model files begin with such tables."""
    defines: bool = False
    """Whether its names stand for expressions; motion files and reports list such parts last."""
    open_word: str = ""
    """The word for a formula without a value, if that is allowed."""
    instead: str = ""
    """The part that may stand in its place; this part is then neither printed nor written."""

    def titled(self, name: str) -> str:
        """The title of one formula."""
        return self.title.format(name)

    def formulas(self, system: System) -> dict[str, Any]:
        """Its formulas by name, a single one under an empty name; None for one that is left open."""
        found = getattr(system, self.name)
        if self.instead and getattr(system, self.instead):
            return {}
        if self.kind is Kind.FORMULA:
            return {"": found} if self.required or found != 0 else {}
        return {name_of(key): e for key, e in found.items()}

    def rows(self, system: System) -> list[tuple[str, Any]]:
        """Its rows with their labels."""
        labels = getattr(system, f"{self.name}_labels")
        return list(zip(labels, getattr(system, self.name) or (), strict=True))

    def argument(self, system: System, keep_texts: bool) -> Any:
        """The part of `system` as an argument of the constructor; `keep_texts` keeps the user's texts of rows."""
        if self.kind is Kind.GROUPS:
            return dict(system.own_groups)
        if self.kind is Kind.UNITS:
            return dict(system.units)
        found = getattr(system, self.name)
        if self.kind is Kind.CONTACTS:
            return {c.name: c if keep_texts else replace(c, text="", restitution_text="") for c in found}
        if self.kind is Kind.ROWS:
            return found if keep_texts or found is None else tuple(replace(row, text="") for row in found)
        if self.kind is Kind.FORMULAS:
            return self.formulas(system)
        if self.kind is Kind.FORMULA:
            return self.formulas(system).get("") if self.instead else found
        return self.plain(system, AsShown())

    def plain(self, system: System, words: AsWritten) -> Any:
        """The part of a system as texts, lists and mappings."""
        if self.kind is Kind.GROUPS:
            return {word: group.plain for word, group in system.own_groups.items()}
        found = getattr(system, self.name)
        if self.kind is Kind.UNITS:
            return dict(found)
        if self.kind is Kind.CONTACTS:
            return {c.name: words.contact(c) for c in found}
        if self.kind is Kind.NAMES:
            return dict(system.kinds) if self.name == "coordinates" else {p.name: "positive" if p.is_positive else "real" for p in found}
        if self.kind is Kind.WORD:
            return found.base if isinstance(found, sympy.Symbol) else found
        if self.kind is Kind.ROWS:
            labels = getattr(system, f"{self.name}_labels")
            return None if found is None else by_label(found, labels, list(map(words.row, found)))
        own = {name: system.written.get(self.titled(name), "") for name in self.formulas(system)}
        written = {name: None if e is None else words.formula(own[name], e) for name, e in self.formulas(system).items()}
        return written if self.kind is Kind.FORMULAS else written.get("")

    def read(self, given: Any) -> Any:
        """Plain data as an argument of the constructor; data of another type raise a TypeError."""
        if given is None and self.default is None and (self.instead or not self.required):
            return None
        if self.kind is Kind.ROWS:
            return named_texts(given, self.name) if isinstance(given, dict) else texts(given, self.name)
        if self.kind in (Kind.WORD, Kind.FORMULA):
            return text_of(given, self.name)
        if self.kind is Kind.CONTACTS:
            return contacts(given, self.name)
        if self.kind is Kind.GROUPS:
            return {word: mapping(group, self.name) for word, group in mapping(given, self.name).items()}
        if self.open_word:
            return {name: None if e is None else text_of(e, self.name) for name, e in mapping(given, self.name).items()}
        return named_texts(given, self.name)

    def lines(self, system: System, form: Literal["text", "latex"]) -> Iterator[tuple[str, str]]:
        """Titles and texts, as a system is printed."""
        text = form == "text"
        if self.kind is Kind.GROUPS:
            return
        found = getattr(system, self.name)
        if self.kind is Kind.NAMES:
            listed = [z for z in found if self.name != "coordinates" or z.base in system.kinds]
            if listed:
                yield self.title, (" " if text else r"\ ").join(show(z, form) for z in listed)
            for name, group in system.groups.items() if self.name == "coordinates" else ():
                yield f"group {name}", str(group) if text else in_latex(str(group))
        elif self.kind is Kind.CONTACTS:
            for c in found:
                yield self.titled(c.name), f"{c}, restitution {c.bounce}" if text else rf"{c.latex()},\; e = {latex(c.bounce)}"
        elif self.kind is Kind.ROWS:
            yield from ((label, str(row) if text else row.latex()) for label, row in self.rows(system))
        elif self.kind is Kind.UNITS:
            listed = [(show(sympy.Symbol(name), form), unit) for name, unit in found.items()]
            texts = [f"{name} [{unit}]" if text else rf"{name}\ [{in_latex(unit)}]" for name, unit in listed]
            yield from [(self.title, (" " if text else r"\ ").join(texts))] if texts else []
        elif self.kind is Kind.WORD:
            yield from [(self.title, show(found, form))] if isinstance(found, sympy.Symbol) else []
        else:
            for name, e in self.formulas(system).items():
                title = self.titled(name)
                if e is None:
                    yield title, self.open_word if text else rf"\text{{{self.open_word}}}"
                else:
                    given = system.as_written(title, e)
                    yield title, latex(given) if not text else given if isinstance(given, str) else show(given)


PARTS = (
    Part("name", Kind.WORD, "", ""),
    Part("coordinates", Kind.NAMES, "coordinates", required=True, declares=True),
    Part("parameters", Kind.NAMES, "parameters", {}, declares=True),
    Part("lagrangian", Kind.FORMULA, "lagrangian", required=True, heading="Lagrangian", left_side="L", instead="equations"),
    Part("equations", Kind.FORMULAS, "equation {}", {}, heading="equation of {}", left_side="E_{}"),
    Part("where", Kind.FORMULAS, "where {}", {}, heading="where", left_side="{}", declares=True, defines=True),
    Part("quasi", Kind.FORMULAS, "quasi {}'", {}, heading="quasi-velocities", left_side="{}'", declares=True, defines=True),
    Part("kinematic", Kind.ROWS, "", [], table="constraints"),
    Part("variational", Kind.ROWS, "", table="constraints"),
    Part("forces", Kind.FORMULAS, "force {}", {}, heading="force on {}"),
    Part("dissipation", Kind.FORMULA, "dissipation", left_side="F"),
    Part("unilateral", Kind.CONTACTS, "contact {}", {}),
    Part("action", Kind.WORD, "action"),
    Part("inputs", Kind.FORMULAS, "input {}", {}, heading="input", left_side="{}", declares=True, open_word="open"),
    Part("groups", Kind.GROUPS, "", {}),
    Part("units", Kind.UNITS, "units", {}),
)
"""The parts in the order in which they are printed."""
STORED = tuple(sorted(PARTS, key=lambda part: part.defines))
"""The parts in the order of motion files and reports."""
ARGUMENTS = tuple(part.name for part in (*STORED[1:], STORED[0]))
"""The names of the parts in the order of the constructor's arguments."""
PART_TITLED = {part.title.split()[0]: part.name for part in PARTS if part.title}
"""Names of parts by the first word of their titles."""


class AsWritten:
    """Converts formulas and rows to texts: the user's own text where there is one, else the notation."""

    def formula(self, text: str, expression: Expr) -> str:
        """A formula, and the user's text of it if there is one."""
        return text or show(expression)

    def row(self, row: Constraint | VariationalConstraint) -> str:
        """A row, which knows the user's text."""
        return str(row)

    def contact(self, contact: Contact) -> list[str]:
        """A contact: its inequality and its coefficient of restitution."""
        return [str(contact), contact.bounce]


class AsShown(AsWritten):
    """Converts formulas and rows to texts by `show`, without the user's own texts."""

    def formula(self, _: str, expression: Expr) -> str:
        return show(expression)

    def row(self, row: Constraint | VariationalConstraint) -> str:
        return str(replace(row, text=""))

    def contact(self, contact: Contact) -> list[str]:
        return super().contact(replace(contact, text="", restitution_text=""))


def parts_of(system: System, words: AsWritten) -> dict[str, Any]:
    """All parts as plain data, in the form that `System.of_parts` reads."""
    return {part.name: part.plain(system, words) for part in STORED}


def arguments_of(plain: Any) -> dict[str, Any]:
    """The arguments of the constructor from plain data, each checked for its type."""
    require_keys(plain, ARGUMENTS, "a system")
    required = {part.name for part in PARTS if part.required and not (part.instead and plain.get(part.instead))}
    return {part.name: part.read(plain[part.name] if part.name in required else plain.get(part.name, part.default)) for part in PARTS}


def texts_in(given: Mapping[str, Any]) -> dict[str, str]:
    """The texts among the formulas that the constructor is given, by title."""
    found: dict[str, Any] = {}
    for part in PARTS:
        if part.kind is Kind.FORMULA:
            found[part.title] = given[part.name]
        elif part.kind is Kind.FORMULAS:
            found |= {part.titled(name_of(key)): e for key, e in (given[part.name] or {}).items()}
    return {title: " ".join(text.split()) for title, text in found.items() if isinstance(text, str)}


def name_of(key: Any) -> str:
    """The name of a formula whose key is a text, a symbol or a function of time."""
    if isinstance(key, sympy.Function):
        return spell(str(key.func.__name__))
    return spell(key.name if isinstance(key, sympy.Symbol) else str(key))
