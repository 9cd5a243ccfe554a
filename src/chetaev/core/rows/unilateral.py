"""Unilateral contacts: rows `y >= 0` that act only where they are equations, with a coefficient of restitution for impacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Expr, S

from chetaev.core.declarations import Names, read_value
from chetaev.core.errors import Location, ModelError
from chetaev.core.fixes import SetPart
from chetaev.core.notation import Vocabulary
from chetaev.core.notation.show import latex, show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.public import public
from chetaev.core.symbols import Action, Coordinate, Multiplier, jets_in, moved_by

_HINT = (
    SetPart("unilateral", {"floor": ("y >= 0", "1/2")}),
    ", or ",
    SetPart("unilateral", ["y >= 0"]),
    " for impacts without rebound",
)
_SIGNS = {"≥": ">=", "≤": "<="}


@public
@dataclass(frozen=True)
class Contact:
    """A contact: its gap is never negative, its multiplier never pulls, and one of the two vanishes.

    At an impact the speed of the gap changes from $s'$ to $-e s'$, with the coefficient of restitution $e$.
    """

    name: str
    gap: Expr
    """The expression that is never negative, in coordinates and time."""
    restitution: Expr
    """The coefficient of restitution, between 0 and 1."""
    text: str = field(default="", compare=False)
    """The inequality as the user wrote it."""
    restitution_text: str = field(default="", compare=False)

    @property
    def multiplier(self) -> Multiplier:
        """The multiplier of the reaction, `lambda_floor`."""
        return Multiplier(f"lambda_{self.name}")

    @property
    def row(self) -> Constraint:
        """The constraint while the contact is closed."""
        return Constraint(self.gap, name=self.name)

    def __str__(self) -> str:
        return self.text or f"{show(self.gap)} >= 0"

    @property
    def bounce(self) -> str:
        """The coefficient of restitution as text."""
        return self.restitution_text or show(self.restitution)

    def latex(self) -> str:
        """The inequality in LaTeX."""
        lhs, rhs = self.sides
        return rf"{latex(lhs)} \geq {latex(rhs)}"

    @property
    def sides(self) -> tuple[str | Expr, str | Expr]:
        """The larger and the smaller side, as the user wrote them or as expressions."""
        found = _split(self.text) if self.text else None
        return (self.gap, S.Zero) if found is None else found

    @property
    def texts(self) -> tuple[str, ...]:
        """The user's texts of both sides and of the coefficient of restitution."""
        return tuple(part for part in (*self.sides, self.restitution_text) if isinstance(part, str))


def contact_names(given: Any) -> list[str]:
    """The names of the contacts in the argument `unilateral`: `u1`, `u2`, ... in a list; checks come later."""
    if isinstance(given, Mapping):
        return [str(name) for name in given]
    return [f"u{k + 1}" for k in range(len(given))] if isinstance(given, Sequence) and not isinstance(given, str) else []


def declared_contacts(given: Any, names: Names, place: Location) -> tuple[Multiplier, ...]:
    """The multipliers of the contacts, declared as names of the system."""
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):
        raise ModelError(f"unilateral is given as {type(given).__name__}.", where=place.about("unilateral"), hint=_HINT)
    found = []
    for name in contact_names(given):
        if not name.isidentifier() or not name.isascii():
            raise ModelError(f"{name!r} cannot be the name of a contact.", where=place.at("unilateral"), hint="letters, digits and _")
        found.append(Multiplier(names.declare(f"lambda_{name}", "multiplier of a contact")))
    return tuple(found)


def read_contacts(given: Any, vocabulary: Vocabulary, place: Location) -> tuple[Contact, ...]:
    """The contacts of the argument `unilateral`."""
    entries = given.values() if isinstance(given, Mapping) else given
    return tuple(
        _read(name, entry, vocabulary, place.at("unilateral", name)) for name, entry in zip(contact_names(given), entries, strict=True)
    )


def _read(name: str, entry: Any, vocabulary: Vocabulary, where: Location | str) -> Contact:
    if isinstance(entry, Contact):
        gap = read_value(entry.gap, vocabulary, where)
        found = Contact(name, gap, _coefficient(entry.restitution, vocabulary, where), entry.text, entry.restitution_text)
    else:
        pair = isinstance(entry, tuple | list)
        if pair and len(entry) != 2:
            raise ModelError(f"a contact with {len(entry)} entries.", where=where, hint=_HINT)
        row, restitution = entry if pair else (entry, 0)
        bounce = restitution if isinstance(restitution, str) else ""
        text = " ".join(row.split()) if isinstance(row, str) else ""
        gap = _gap(row, vocabulary, where)
        found = Contact(name, gap, _coefficient(restitution, vocabulary, where), text, bounce)
    _require_meaning(found, where)
    return found


def _gap(row: Any, vocabulary: Vocabulary, where: str) -> Expr:
    """The larger side minus the smaller one."""
    if isinstance(row, sympy.core.relational.GreaterThan | sympy.core.relational.LessThan):
        larger, smaller = row.gts, row.lts
    else:
        sides = _split(row) if isinstance(row, str) else None
        if sides is None:
            raise ModelError(f"{row!r} is not an inequality with >= or <=.", where=where, hint=_HINT)
        larger, smaller = sides
    return read_value(larger, vocabulary, where) - read_value(smaller, vocabulary, where)


def _split(row: str) -> tuple[str, str] | None:
    """The larger and the smaller side of a text; None if it has no sign, or several."""
    for mark, sign in _SIGNS.items():
        row = row.replace(mark, sign)
    for sign in (">=", "<="):
        first, found, second = row.partition(sign)
        if found and not any(c in first + second for c in "<>="):
            return (first.strip(), second.strip()) if sign == ">=" else (second.strip(), first.strip())
    return None


def _coefficient(given: Any, vocabulary: Vocabulary, where: str) -> Expr:
    """The coefficient of restitution, an expression or a number."""
    read = read_value(str(given) if isinstance(given, float | int) and not isinstance(given, bool) else given, vocabulary, where)
    if read.is_number and not (0 <= read <= 1):
        raise ModelError(
            f"the coefficient of restitution is {show(read)}.", where=where, hint="a number from 0 (no rebound) to 1 (elastic)"
        )
    return read


def _require_meaning(contact: Contact, where: str) -> None:
    """Raise a ModelError for a gap that is not a function of the configuration."""
    jets = jets_in(contact.gap, Coordinate)
    if jets_in(contact.gap, Action) or any(z.order for z in jets):
        raise ModelError(
            f"{contact} contains a velocity or the action.",
            where=where,
            why="A contact is a wall in the configuration: its gap depends on coordinates and time.",
            hint="a gap without primes",
        )
    if not moved_by(contact.gap):
        raise ModelError(f"{contact} contains no coordinate.", where=where, hint=_HINT)
