r"""The velocities that kinematic rows allow, as a drift and control fields, and their Lie brackets.

Rows that are affine in the velocities and in the open inputs, $R(q)\, q' + S(q)\, u + b(q) = 0$, allow the velocities
$q' = X_0(q) + \sum_i v^i X_i(q)$: the inputs, or velocities that the rows leave free, are the controls $v$. In a frame with structure
functions $C$,

$$ [f, g]^c = f^a X_a(g^c) - g^a X_a(f^c) + C^c_{ab} f^a g^b. $$
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Symbol

from chetaev.core.calculus import SYMBOLIC, Algebra, Frame
from chetaev.core.errors import ModelError, about
from chetaev.core.exact.field import Residue
from chetaev.core.exact.matrices import reciprocal, reduced
from chetaev.core.fixes import SetPart
from chetaev.core.support.budget import size
from chetaev.core.symbols import TIME, Input, Jet
from chetaev.core.system import System
from chetaev.mechanics.ranks.exact import FieldPoints

_LARGEST_CLEARED = 400
"""Size of rows whose fields are written without denominators; SymPy takes seconds for longer ones."""

Field = tuple[Any, ...]
"""The components of a vector field in the frame of a system, in any algebra."""


@dataclass(frozen=True)
class Affine:
    """Rows affine in velocities and inputs: the coefficients of each unknown and the rest, as SymPy expressions."""

    unknowns: tuple[Jet, ...]
    """Velocities, then open inputs."""
    matrix: tuple[tuple[Expr, ...], ...]
    rest: tuple[Expr, ...]
    holonomic: tuple[Expr, ...]
    """The rows on positions; their derivatives are among the others."""


def affine_rows(system: System, where: str) -> Affine:
    """Read the kinematic rows of a system; a ModelError for rows that are not affine in the velocities."""
    inputs = tuple(z for z, expression in system.inputs.items() if expression is None)
    unknowns = (*system.velocities, *inputs)
    residuals, holonomic = [], []
    for label, row in system.kinematic_rows():
        if row.order > 1 or (row.order and not row.affine) or row.has_action:
            raise ModelError(
                f"{label} is {'of order ' + str(row.order) if row.order > 1 else 'not affine in the velocities'}.",
                where=about(where, "kinematic", row=label),
                why="Brackets are those of the vector fields that rows affine in the velocities allow.",
                hint="rows such as y'*cos(theta) = x'*sin(theta)",
            )
        residual = row.residual
        if row.order == 0:
            holonomic.append(system.charted(residual))
            residual = system.vocabulary.total(residual)
        residuals.append(residual)
    matrix, rest = [], []
    for (label, _), residual in zip(system.kinematic_rows(), residuals, strict=True):
        present = residual.free_symbols
        named = sorted(z.name for z in present if z == TIME or (isinstance(z, Input) and z not in inputs))
        if named:
            raise ModelError(
                f"{label} depends on {named[0]}.",
                where=about(where, "kinematic", row=label),
                why="The fields would change with time.",
                hint=(
                    'a coordinate with the row "tau\' = 1" in the place of t; ',
                    SetPart("inputs", {"u": None}),
                    " for an input that is free",
                ),
            )
        line = [residual.diff(z) if z in present else sympy.S.Zero for z in unknowns]
        curved = any(slope.free_symbols & set(unknowns) for slope in line)
        if curved:
            place = about(where, "kinematic", row=label)
            raise ModelError(f"{label} is not affine in velocities and inputs.", where=place, hint="rows such as x' = v*cos(theta)")
        matrix.append(tuple(line))
        rest.append(residual.xreplace(dict.fromkeys(unknowns, sympy.S.Zero)))
    return Affine(unknowns, tuple(matrix), tuple(rest), tuple(holonomic))


def moved_to(rows: Affine, given: Mapping[Symbol, Expr]) -> Affine:
    r"""The rows around `given` values: $z$ then stands for its difference from the value.

    Angles such as $\pi/2$ are taken out of sines and cosines, which the finite field could not evaluate there.
    """
    if not given:
        return rows
    shifts = {z: z + v for z, v in given.items()}

    def moved(lines: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple(e.xreplace(shifts).replace(_has_pi, _without_pi) for e in lines)

    return Affine(rows.unknowns, tuple(map(moved, rows.matrix)), moved(rows.rest), moved(rows.holonomic))


def _has_pi(e: Expr) -> bool:
    return isinstance(e, sympy.sin | sympy.cos | sympy.tan) and e.args[0].has(sympy.pi)


def _without_pi(e: Expr) -> Expr:
    turn, rest = sympy.expand(e.args[0]).as_independent(*e.free_symbols, as_Add=True)
    sine = sympy.sin(rest) * sympy.cos(turn) + sympy.cos(rest) * sympy.sin(turn)
    cosine = sympy.cos(rest) * sympy.cos(turn) - sympy.sin(rest) * sympy.sin(turn)
    return {sympy.sin: sine, sympy.cos: cosine}.get(e.func, sine / cosine)


@dataclass(frozen=True)
class Solved:
    """The drift and the control fields of affine rows, near the points at which pivots were chosen."""

    drift: Field
    controls: tuple[Field, ...]
    names: tuple[str, ...]
    """The free velocity or input of each control field."""


def solved(rows: Affine, system: System, algebra: Algebra[Any], pivots: Pivots) -> Solved:
    """Solve the rows for the bound unknowns, in the order of `pivots`, and read off the fields.

    The fields of short rows are multiplied by their denominators, which do not vanish where the pivots do not.
    """
    if algebra is not SYMBOLIC and size(*[e for line in rows.matrix for e in line]) > _LARGEST_CLEARED:
        return _solved(rows, system, algebra, pivots)
    found = _solved(rows, system, SYMBOLIC, pivots)
    controls = tuple(_without_denominators(f) for f in found.controls)
    fields = [tuple(algebra.of(e) for e in f) for f in (found.drift, *controls)]
    return Solved(fields[0], tuple(fields[1:]), found.names)


def _without_denominators(f: Field) -> Field:
    parts = [sympy.fraction(sympy.together(e)) for e in f]
    common = sympy.lcm_list([below for _, below in parts]) if parts else sympy.S.One
    return tuple(sympy.cancel(common / below) * above for above, below in parts)


def _solved(rows: Affine, system: System, algebra: Algebra[Any], pivots: Pivots) -> Solved:
    width = len(rows.unknowns)
    table = [[algebra.of(system.charted(e)) for e in (*line, b)] for line, b in zip(rows.matrix, rows.rest, strict=True)]
    for i, j in pivots.places:
        pivot = table[i][j]
        table[i] = [_quotient(e, pivot) for e in table[i]]
        for k, line in enumerate(table):
            if k != i:
                share = line[j]
                table[k] = [_minus(e, _product(share, f)) for e, f in zip(line, table[i], strict=True)]
    bound = {j: table[i] for i, j in pivots.places}
    one, zero = algebra.of(sympy.S.One), algebra.of(sympy.S.Zero)
    dimension = len(system.velocities)

    def field(free: int | None) -> Field:
        found = []
        for j in range(dimension):
            if j in bound:
                found.append(_minus(zero, bound[j][width if free is None else free]))
            else:
                found.append(one if j == free else zero)
        return tuple(found)

    free = [j for j in range(width) if j not in bound]
    return Solved(field(None), tuple(field(j) for j in free), tuple(rows.unknowns[j].name for j in free))


@dataclass(frozen=True)
class Pivots:
    """The order in which rows are solved: pairs of a row and an unknown whose pivots do not vanish at the points."""

    places: tuple[tuple[int, int], ...]


def choose_pivots(rows: Affine, points: FieldPoints, algebra: Algebra[Any], system: System) -> Pivots | None:
    """Pivots that do not vanish at the points, velocities before inputs; None if no point has values."""
    width = len(rows.unknowns)
    flat = [algebra.of(system.charted(e)) for line in rows.matrix for e in line]
    if not rows.matrix:
        return Pivots(())
    found = points.values(flat)
    if not found:
        return None
    spot, values = found[0]
    matrix = [list(values[k : k + width]) for k in range(0, len(values), width)]
    p = spot.field.p
    places: list[tuple[int, int]] = []
    for j in reduced(matrix, p)[1]:  # the columns of pivots; rows are chosen in the same order below
        i = next(i for i in range(len(matrix)) if matrix[i][j] != 0 and i not in {k for k, _ in places})
        places.append((i, j))
        matrix = _eliminated(matrix, i, j, p)
    return Pivots(tuple(places))


def _eliminated(matrix: list[list[Residue]], i: int, j: int, p: int) -> list[list[Residue]]:
    factor = reciprocal(matrix[i][j], p)
    top = [v * factor % p for v in matrix[i]]
    return [top if k == i else [(v - line[j] * w) % p for v, w in zip(line, top, strict=True)] for k, line in enumerate(matrix)]


def bracket(f: Field, g: Field, frame: Frame, algebra: Algebra[Any]) -> Field:
    """The Lie bracket of two fields, in the components of the frame."""
    both = (_along(f, g, frame, algebra), _along(g, f, frame, algebra))
    found = [_minus(a, b) for a, b in zip(*both, strict=True)]
    for a, b in frame.structure:
        for c, value in frame.bracket(a, b).items():
            change = _minus(_product(f[a], g[b]), _product(f[b], g[a]))
            found[c] = found[c] + _product(algebra.of(value), change)
    return tuple(found)


def _along(f: Field, components: Field, frame: Frame, algebra: Algebra[Any]) -> list[Any]:
    """The derivatives of functions along a field."""
    rates: dict[Any, Any] = {}
    for amount, parts in zip(f, frame.fields, strict=True):
        if not _is_zero(amount):
            for z, c in parts.items():
                term = amount if c == 1 else _product(algebra.of(c), amount)
                rates[z] = rates[z] + term if z in rates else term
    present = algebra.symbols_of(list(components))
    rates = {z: rate for z, rate in rates.items() if z in present}
    if not rates:
        return [algebra.of(sympy.S.Zero)] * len(components)
    return algebra.along(list(components), rates)


def _is_zero(e: Any) -> bool:
    return bool(e.is_zero() if callable(e.is_zero) else e.is_zero)


def _product(a: Any, b: Any) -> Any:
    return a if _is_zero(a) else b if _is_zero(b) else a * b


def _quotient(a: Any, b: Any) -> Any:
    return a if _is_zero(a) else a / b


def _minus(a: Any, b: Any) -> Any:
    return a if _is_zero(b) else a - b


def points_with(system: System, rows: Affine, fixed: Iterable[Symbol], algebra: Algebra[Any]) -> FieldPoints:
    """Points over the field at which rows on positions hold and some symbols vanish; all symbols of the rows have values."""
    fixed = list(fixed)
    moving = [q for q in system.coordinates if q not in system.frame.turning]
    everything = [algebra.of(system.charted(e)) for line in (*rows.matrix, rows.rest) for e in line]
    everything += [algebra.of(z) for z in {*fixed, *moving}]
    values = [algebra.of(z) for z in fixed]
    held = [algebra.of(e) for e in rows.holonomic]
    stages = [(values, fixed), (held, [q for q in moving if q not in fixed])]
    return FieldPoints([*values, *held], everything, algebra, stages)
