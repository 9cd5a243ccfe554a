"""Rows of constraints, forces, equations and inputs from texts and expressions, with the reasons why some are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
from sympy import Expr

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.declarations import read_value
from chetaev.core.errors import Location, ModelError, NotationError, did_you_mean
from chetaev.core.fixes import SetPart, sentences
from chetaev.core.functions import has_corner_in
from chetaev.core.notation import Vocabulary, from_sympy, parse_row, show
from chetaev.core.parts import name_of
from chetaev.core.rows.constraints import Constraint, VariationalConstraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate, Input, Variation, delta, jets_in, moved_by, symbols_in
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
        raise ModelError(
            f"{part} is given as {type(given).__name__}.", where=place.about(part), hint=("a list of rows: ", SetPart(part, ["..."]))
        )
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
            hint=SetPart(part, {"blade": "..."}),
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


def rayleigh(function: Expr, place: Location) -> Expr:
    """Rayleigh's function must contain velocities, and nothing of higher order."""
    orders = {z.order for z in jets_in(function, Coordinate)}
    if function != 0 and (1 not in orders or max(orders) > 1):
        what = "contains no velocity." if 1 not in orders else "contains a derivative of higher order."
        why = "Rayleigh's function F gives the forces -dF/dq'."
        raise ModelError(f"the dissipation {what}", where=place.at("dissipation"), why=why, hint=SetPart("dissipation", "c/2*x'^2"))
    return function


def read_inputs(given: Mapping[Input, Any], base: Vocabulary, place: Location) -> dict[Input, Expr | None]:
    """The given functions of time; None for one that is left open."""
    reason = "an input is a function of t and parameters alone.  What depends on the motion goes into forces."
    moving = dict.fromkeys([name + primes for name in base.jets for primes in ("", "'")], reason)
    known = Vocabulary(parameters=base.parameters, forbidden=moving)
    return {z: None if v is None else read_value(v, known, place.at("inputs", z.base)) for z, v in given.items()}


def require_one(lagrangian: Any, equations: Any, place: Location) -> None:
    """Raise a ModelError unless exactly one of a Lagrangian and the equations of a form is given."""
    if lagrangian is None and not equations:
        hint = (SetPart("lagrangian", "m/2*x'^2"), ", or ", SetPart("equations", {"x": "-x'' - x"}), " for a form without a Lagrangian")
        raise ModelError("neither a Lagrangian nor equations are given.", where=place.at("lagrangian"), hint=hint)
    if lagrangian is not None and equations:
        raise ModelError(
            "a Lagrangian and equations are given.",
            where=place.at("equations"),
            why="The equations of a dynamical form take the place of those that a Lagrangian gives.",
            hint=("what is added to the equations of a Lagrangian is a force: ", SetPart("forces", {...: ...})),
        )


def read_equations(
    given: Mapping[Any, Any], coordinates: Sequence[Coordinate], vocabulary: Vocabulary, place: Location
) -> dict[Coordinate, Expr]:
    """The rows of a dynamical form in the order of the coordinates; one row for each."""
    rows: dict[Coordinate, Expr] = {}
    for q, value in _by_coordinate(given, coordinates, "an equation of {}", "one row for each coordinate", place.at("equations")):
        lhs, rhs = read_sides(value, vocabulary, place.at("equations", q.base))
        rows[q] = lhs - rhs
    missing = [q.base for q in coordinates if given and q not in rows]
    if missing:
        raise ModelError(
            f"no equation of {missing[0]}.",
            where=place.at("equations"),
            why="A dynamical form has one row for each coordinate.",
            hint=(SetPart("equations", {...: ..., missing[0]: "..."}), "; 0 for none, and rows beyond these are kinematic"),
        )
    return {q: rows[q] for q in coordinates if given}


def read_forces(given: Mapping[Any, Any], coordinates: Sequence[Coordinate], acting: Vocabulary, place: Location) -> dict[Coordinate, Expr]:
    """The forces by coordinate, without those that are zero."""
    stated = _by_coordinate(given, coordinates, "a force on {}", "add them up", place.at("forces"))
    forces = {q: read_value(value, acting, place.at("forces", q.base)) for q, value in stated}
    return {q: u for q, u in forces.items() if u != 0}


def _by_coordinate(
    given: Mapping[Any, Any], coordinates: Sequence[Coordinate], noun: str, instead: str, where: Location
) -> Iterator[tuple[Coordinate, Any]]:
    """The entries of a part that is given by coordinate; a ModelError for an unknown coordinate, and for one that is named twice."""
    known = {q.base: q for q in coordinates}
    seen: set[str] = set()
    for key, value in given.items():
        name = name_of(key)
        if name not in known:
            hint = sentences(f"one of {' '.join(known)}.", did_you_mean(name, list(known)))
            raise ModelError(f"{noun.format(name)}, which is not a coordinate.", where=where, hint=hint)
        if name in seen:
            plural = re.sub(r"^an? (\w+)", r"two \1s", noun)
            raise ModelError(f"{plural.format(name)}.", where=where, hint=instead)
        seen.add(name)
        yield known[name], value
