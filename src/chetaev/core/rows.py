"""Rows of constraints from texts and expressions: their names, their two sides, and what makes them refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy import Expr

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.constraints import Constraint, VariationalConstraint
from chetaev.core.errors import Location, ModelError, NotationError
from chetaev.core.functions import has_corner_in
from chetaev.core.notation import Vocabulary, from_sympy, parse_row, show
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate, Variation, delta, moved_by, symbols_in
from chetaev.core.zero import known_zero

MOST_ROWS = 10_000
"""Largest number of rows of constraints. Reading this many takes about five seconds; larger systems cannot be solved here."""
_ROWS = (Constraint, VariationalConstraint)
"""Classes of rows that carry their own name."""
_ROW_NAME = re.compile(r"[^\W\d][\w -]{0,59}")
"""The form of a row's name: at most 60 characters, for tables."""
_TAKEN = re.compile(r"(E_.*|action|balance|energy|lambda\d*)")
"""Labels of the library, which a row's name must not repeat."""


def named_rows(given: Any, part: str, place: Location) -> list[tuple[str, Location, Any]]:
    """The rows of a part, each with the name the user gave it and its place."""
    if isinstance(given, str) or not isinstance(given, Sequence | Mapping):
        raise ModelError(f"{part} is given as {type(given).__name__}.", where=place.about(part), hint=f'a list of rows: {part}=["..."]')
    if len(given) > MOST_ROWS:
        what = f"{part} has {len(given)} rows; at most {MOST_ROWS} are read."
        raise ModelError(what, where=place.at(part), hint="a constraint restricts at most one coordinate: fewer rows say the same")
    if isinstance(given, Mapping):
        return [(_row_name(name, part, k, place), place.at(part, str(name)), row) for k, (name, row) in enumerate(given.items())]
    rows = [(getattr(row, "name", "") if isinstance(row, _ROWS) else "", place.at(part, k), row) for k, row in enumerate(given)]
    names = [name for name, _, _ in rows if name]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise ModelError(f"two rows are called {twice!r}.", where=place.at(part), hint="a name for each row")
    return rows


def _row_name(name: Any, part: str, number: int, place: Location) -> str:
    """The name of a row, or a ModelError; a row whose name is its own number has no name."""
    if name == f"{part}[{number}]":
        return ""
    if not isinstance(name, str) or not _ROW_NAME.fullmatch(name) or _TAKEN.fullmatch(name):
        raise ModelError(
            f"{name!r} cannot be the name of a row.",
            where=place.at(part),
            why="A name begins with a letter, has letters, digits, spaces and hyphens, and is not E_x or action.",
            hint=f'{part}={{"blade": "..."}}',
        )
    return name


def read_sides(given: Any, vocabulary: Vocabulary, where: str) -> tuple[Expr, Expr]:
    """The two sides of a row that is given as a text, an equation, a row of another system, or an expression that vanishes."""
    if isinstance(given, str):
        return parse_row(given, vocabulary, where)
    if isinstance(given, sympy.Eq):
        return from_sympy(given.lhs, vocabulary, where), from_sympy(given.rhs, vocabulary, where)
    if isinstance(given, Constraint):
        return from_sympy(given.lhs, vocabulary, where), from_sympy(given.rhs, vocabulary, where)
    if isinstance(given, VariationalConstraint):
        given = sympy.Add(*[c * delta(q) for q, c in given.coefficients.items()])
    return from_sympy(given, vocabulary, where), sympy.S.Zero


def read_constraint(given: Any, vocabulary: Vocabulary, where: str, name: str) -> Constraint:
    """A kinematic row; a ModelError if it restricts no motion."""
    row = Constraint(*read_sides(given, vocabulary, where), text=_as_written(given), name=name)
    empty = not moved_by(row.residual)
    if empty or known_zero(row.residual):
        fact = "contains no coordinate"
        if row.residual.is_number or not empty:
            fact = "can never hold" if row.residual.is_number and row.residual != 0 else "holds for every motion"
        raise ModelError(
            f"{row} {fact}.",
            where=where,
            why="A constraint restricts the motion; this row does not.",
            hint="remove the row, or write the coordinate that is meant",
        )
    return row


def read_variational(given: Any, vocabulary: Vocabulary, where: str, name: str) -> VariationalConstraint:
    """A variational row; a NotationError unless it is linear in the variations, without a rest."""
    lhs, rhs = read_sides(given, vocabulary, where)
    form = lhs - rhs
    varied = [z.coordinate for z in symbols_in(form) if isinstance(z, Variation)]
    deltas = [Coordinate(name) for name in sorted(varied, key=vocabulary.positions.__getitem__)]
    coefficients = dict(zip(deltas, SYMBOLIC.gradient(form, [delta(q) for q in deltas]), strict=True))
    rest = form.xreplace({delta(q): sympy.S.Zero for q in deltas})
    curved = has_corner_in(form, map(delta, deltas))
    curved = curved or any(isinstance(z, Variation) and not known_zero(c.diff(z)) for c in coefficients.values() for z in c.free_symbols)
    if curved or not known_zero(rest) or not deltas:
        what = "no variation occurs here." if not deltas else "not linear in the variations."
        raise NotationError(
            what,
            where=where,
            text=given if isinstance(given, str) else f"{show(lhs)} = {show(rhs)}",
            span=(0, len(given) if isinstance(given, str) else 1),
            why="A variational row is R_V·δq = 0: a sum of coefficient times δcoordinate.",
        )
    flat = {q: c.xreplace({delta(p): sympy.S.Zero for p in deltas}) for q, c in coefficients.items()}
    return VariationalConstraint(Frozen({q: c for q, c in flat.items() if c != 0}), text=_as_written(given), name=name)


def _as_written(given: Any) -> str:
    if isinstance(given, Constraint | VariationalConstraint):
        return given.text
    return " ".join(given.split()) if isinstance(given, str) else ""
