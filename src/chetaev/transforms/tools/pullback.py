r"""A system in other coordinates: $q = f(t, y)$ substituted everywhere, derivatives by $D$, variations by $\delta q = f_y\,\delta y$.

Charts with angles produce squares of sines and cosines that cancel: in polar coordinates two of the eight terms of $\dot x^2 + \dot y^2$
remain. `collapsed` replaces even powers of the sine by the cosine, or the other way round, by $\sin^2 a + \cos^2 a = 1$ and
$\cosh^2 a - \sinh^2 a = 1$, and keeps the shortest form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import sympy
from sympy import Add, Expr, Pow, S, cos, cosh, sin, sinh

from chetaev.core.calculus import total_derivative
from chetaev.core.declarations import read_value
from chetaev.core.errors import ModelError, PrincipleError, UsageError, about, require_mapping
from chetaev.core.fixes import Ask, InPython
from chetaev.core.functions import DECLARABLE, FUNCTIONS
from chetaev.core.notation import Vocabulary
from chetaev.core.notation.lexer import Kind, spell, tokens
from chetaev.core.rows.constraints import Constraint, VariationalConstraint
from chetaev.core.support.budget import limited, size
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate, Jet, Parameter, delta, jets_in, order_in
from chetaev.core.system import System
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.equations import Equations

Substitution = dict[Coordinate, Expr]
"""Old coordinates as expressions in time and coordinates, new or old."""

_RANDOM_POINTS = 24
"""Number of random points at which a given inverse is tested; it must hold at least at one of them, on a part of the surface."""
_LEADS_BACK = 1e-9
"""Largest difference of a position after the formulas and their inverse, relative to the position. Round-off would exceed a smaller value;
a larger one accepts formulas that are only approximate inverses."""


def read_substitution(system: System, given: Mapping[str, Any], where: str) -> Substitution:
    """Read formulas for old coordinates; every name in them that the system does not have is a new coordinate."""
    require_mapping(given, "formulas are", where, InPython('{"x": "r*cos(phi)", "y": "r*sin(phi)"}'))
    known = {q.base: q for q in system.coordinates}
    names = [spell(str(name)) for name in given]
    for name in names:
        if name not in known:
            raise UsageError(f"{name} is not a coordinate.", where=about(where, "formulas", name), hint=f"one of {' '.join(known)}")
    replaced = [known[name] for name in names]
    vocabulary = system.vocabulary
    jets = {name: z for name, z in vocabulary.jets.items() if z not in replaced}
    for value in given.values():
        for name in _names(value, where):
            if name not in jets and name not in vocabulary.parameters and name not in ("t", "pi") and Coordinate(name) not in replaced:
                jets[name] = Coordinate(name)
    read = Vocabulary(jets, vocabulary.parameters)
    table = {q: read_value(e, read, f"{where}, {q.base}") for q, e in zip(replaced, given.values(), strict=True)}
    for q, e in table.items():
        if any(z.order for z in jets_in(e)):
            raise ModelError(
                f"the formula for {q.base} contains a derivative.",
                where=about(where, "formulas", q.base),
                why="Coordinates are functions of coordinates and time.",
                hint=(Ask("lift", "system"), " makes velocities coordinates"),
            )
    return table


def read_inverse(system: System, given: Mapping[str, Any], where: str) -> dict[Jet, Expr]:
    """Read formulas for new coordinates as functions of the old ones."""
    vocabulary = Vocabulary(system.vocabulary.jets, system.vocabulary.parameters)
    return {Coordinate(spell(str(name))): read_value(e, vocabulary, f"{where}, inverse, {name}") for name, e in given.items()}


def require_inverse_on(table: Substitution, inverse: Mapping[Jet, Expr], where: str) -> None:
    """Raise a PrincipleError unless $f(g(f(y))) = f(y)$ for a given inverse g, at least on a part of the surface."""
    new = {z for e in table.values() for z in jets_in(e, Coordinate)} - set(table)
    strange = [z for z in inverse if z not in new]
    if strange:
        raise UsageError(
            f"{strange[0].base} is not a new coordinate.",
            where=about(where, "formulas", strange[0].base),
            hint="the inverse gives new coordinates by old ones",
        )
    rule = substitution_rule(table)
    there = {z: rule(e) for z, e in inverse.items()}
    moved = [e for e in table.values() if jets_in(e, Coordinate) & set(inverse)]
    tape = Tape([*[e.xreplace(there) for e in moved], *moved])
    seen = False
    for seed in range(_RANDOM_POINTS):
        point = {z: abs(v) if isinstance(z, Parameter) else v for z, v in random_point(tape.symbols, seed).items()}
        try:
            values = tape(point)
        except Undefined:
            continue
        seen = True
        if all(abs(a - b) <= _LEADS_BACK * abs(b) for a, b in zip(values[: len(moved)], values[len(moved) :], strict=True)):
            return
    if seen:
        raise PrincipleError(
            "the inverse does not lead back to the surface.",
            where=about(where, "inverse"),
            why="The formulas, the inverse and the formulas again do not give the same positions.",
            hint="check the formulas and their inverse",
        )


def new_coordinates(system: System, table: Substitution) -> list[Coordinate]:
    """The coordinates after a substitution: first the remaining ones in their order, then the new ones."""
    stay = [q for q in system.coordinates if q not in table]
    present = [z for e in table.values() for z in sorted(jets_in(e, Coordinate), key=lambda z: z.name)]
    return list(dict.fromkeys([*stay, *present]))


def pulled_back(system: System, table: Substitution, kinds: Mapping[str, str], rows: list[Constraint], name: str) -> System:
    """The system in the new coordinates, with the given kinematic rows rewritten and the others left out."""
    rule = substitution_rule(table)
    after = new_coordinates(system, table)
    forces, equations = (
        {y: collapsed(Add(*[rule(u) * slope(table, q, y) for q, u in given.items()])) for y in after if given}
        for given in (system.forces, system.equations)
    )
    variational = None
    if system.variational is not None:
        variational = [
            moved_row(row, {y: Add(*[rule(c) * slope(table, q, y) for q, c in row.coefficients.items()]) for y in after})
            for row in system.variational
        ]
    return system.replace(
        coordinates={y.base: kinds.get(y.base, system.kinds.get(y.base, "line")) for y in after},
        lagrangian=None if equations else collapsed(rule(system.lagrangian)),
        equations=equations,
        kinematic=[rewritten(row, rule) for row in rows],
        variational=variational,
        forces={y: u for y, u in forces.items() if u != 0},
        dissipation=collapsed(rule(system.dissipation)) if system.dissipation != 0 else None,
        where={},
        quasi={},
        name=name,
    )


def substitution_rule(table: Substitution) -> Any:
    """The rule that rewrites an expression in jets."""

    def rule(e: Expr) -> Expr:
        jets = [z for z in jets_in(e, Coordinate) if Coordinate(z.base) in table]
        return e.xreplace({z: total_derivative(table[Coordinate(z.base)], z.order) for z in jets})

    return rule


def slope(table: Substitution, q: Coordinate, y: Coordinate) -> Expr:
    r"""$\partial q/\partial y$ for an old coordinate and one after the substitution."""
    if q in table:
        return table[q].diff(y)
    return S.One if q == y else S.Zero


def _names(value: Any, where: str) -> list[str]:
    if isinstance(value, str):
        found = tokens(value, where)
        names = [(token.text, after.text) for token, after in pairwise(found) if token.kind is Kind.NAME]
        return [spell(name) for name, after in names if name not in FUNCTIONS or (name in DECLARABLE and after != "(")]
    return [z.base for z in jets_in(value)] if isinstance(value, Expr) else []


def rewritten(row: Constraint, rule: Callable[[Expr], Expr]) -> Constraint:
    """`rule` applied to both sides of a row, which keeps its name, or to its residual if derivatives in it cancel."""
    seeming = max(order_in(row.lhs, Coordinate), order_in(row.rhs, Coordinate)) > row.order
    lhs, rhs = (row.residual, S.Zero) if seeming else (row.lhs, row.rhs)
    return replace(row, text="", lhs=rule(lhs), rhs=rule(rhs))


def virtual(coefficients: Mapping[Coordinate, Expr] | Iterable[tuple[Coordinate, Expr]]) -> Expr:
    r"""The form $R_i\,\delta q^i$ of a variational row."""
    pairs = coefficients.items() if isinstance(coefficients, Mapping) else coefficients
    return Add(*[c * delta(q) for q, c in pairs])


def moved_row(row: VariationalConstraint, coefficients: Mapping[Coordinate, Expr]) -> VariationalConstraint:
    """The variational row with other coefficients, under the same name."""
    return VariationalConstraint(Frozen({q: c for q, c in coefficients.items() if c != 0}), name=row.name)


def virtual_rows(source: Equations, rule: Callable[[Expr], Expr] = lambda e: e) -> list[VariationalConstraint]:
    """The rows of the reactions with `rule` applied to their coefficients; a row that the system states keeps its name."""
    stated = list(source.system.variational or ())
    found = []
    for row in source.variational:
        own = next((each for each in stated if each.coefficients == row), None)
        if own is not None:
            stated.remove(own)
        found.append(moved_row(own or VariationalConstraint(row), {q: rule(c) for q, c in row.items()}))
    return found


_SHORTENING_SECONDS = 1.0
"""Budget, in seconds of counted operations, to shorten one expression; beyond it the expression stays as it is."""
_LARGEST_IN_PLACE = 600
"""Size, in nodes, of expressions that are expanded in this process, within a tenth of a second."""
_LARGEST_EXPANDED = 2000
"""Operations in an expression above which it is not expanded: that would take seconds and not make it shorter."""


def collapsed(e: Expr) -> Expr:
    """The shortest of an expression and its forms without squares of sines, or without squares of cosines."""
    if not e.has(sin, cos, sinh, cosh) or e.count_ops() > _LARGEST_EXPANDED:
        return e
    above, below = sympy.fraction(e)
    short = limited(_shortest_fraction, above, below, seconds=_SHORTENING_SECONDS, small=size(above, below) <= _LARGEST_IN_PLACE)
    return min(e, short.or_else(e), key=sympy.count_ops)


def _shortest_fraction(above: Expr, below: Expr) -> Expr:
    return _shortest(above) / _shortest(below)


def _shortest(e: Expr) -> Expr:
    expanded = sympy.expand(e)
    return min([e, *[sympy.factor_terms(without(expanded)) for without in (_without_sines, _without_cosines)]], key=sympy.count_ops)


def _without_sines(e: Expr) -> Expr:
    return _squares_replaced(e, sin, lambda a: 1 - cos(a) ** 2, sinh, lambda a: cosh(a) ** 2 - 1)


def _without_cosines(e: Expr) -> Expr:
    return _squares_replaced(e, cos, lambda a: 1 - sin(a) ** 2, cosh, lambda a: 1 + sinh(a) ** 2)


def _squares_replaced(e: Expr, circular: type, by: Callable[[Expr], Expr], hyperbolic: type, hyperbolic_by: Callable[[Expr], Expr]) -> Expr:
    """The expression with even powers of functions replaced by formulas, expanded."""

    def replacement(power: Pow) -> Expr:
        function = power.base
        formula = by if isinstance(function, circular) else hyperbolic_by
        pairs, single = divmod(int(power.exp), 2)
        return formula(function.args[0]) ** pairs * function**single

    powers = [p for p in e.atoms(Pow) if isinstance(p.base, (circular, hyperbolic)) and p.exp.is_Integer and p.exp > 1]
    return sympy.expand(e.xreplace({p: replacement(p) for p in powers}))
