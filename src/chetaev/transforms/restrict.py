r"""Removal of holonomic constraints: the Lagrangian pulled back to the submanifold that they define.

With a parametrisation $q = f(t, y)$ of $\{\phi_a(t, q) = 0\}$ the motion is that of $L(t, f, Df)$ in the coordinates $y$; other
constraints, forces and variations are pulled back too.

Rows that are affine in a coordinate are solved for it, and $x^2 + y^2 = c^2$ is parametrised as a circle; for any other surface the user
must give a parametrisation. Integrable constraints on velocities are first replaced by their integrals $f(t, q) = c$. The multiplier of a
removed row follows from the equations of motion; under the vakonomic principle the multiplier of a row on velocities is determined up to a
constant that does not influence the motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy import Add, Expr, S

from chetaev.core.errors import ModelError, PrincipleError, about
from chetaev.core.fixes import Ask, UsePrinciple, listed
from chetaev.core.notation import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Jet, Multiplier, Parameter, jets_in
from chetaev.core.system import System, fresh_coordinates
from chetaev.core.zero import known_zero
from chetaev.mechanics.classify import classify
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.origins import Variation
from chetaev.mechanics.principles import AsStated, Chetaev, DAlembert, Hamilton, Herglotz, Principle, Vakonomic
from chetaev.mechanics.principles.base import points_of
from chetaev.mechanics.ranks.generic import generic_rank, points_on
from chetaev.transforms.tools.morphism import Morphism, image_of
from chetaev.transforms.tools.nullspace import independent, normal_solve
from chetaev.transforms.tools.options import FORMULA, INVERSE
from chetaev.transforms.tools.pullback import (
    Substitution,
    collapsed,
    new_coordinates,
    pulled_back,
    read_inverse,
    read_substitution,
    require_inverse_on,
    slope,
    substitution_rule,
)
from chetaev.transforms.tools.theorem import theorem

Constants = dict[Parameter, Expr]
"""The constants of integration, each with its integral."""


@public
@theorem(formula=FORMULA, inverse=INVERSE)
def restrict(
    given: Any,
    formulas: Mapping[str, Any] | None = None,
    inverse: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Morphism:
    """Remove holonomic constraints: write a system in coordinates of their surface.

    Integrable rows on velocities are holonomic up to a constant, and are removed too; the constants `c1, c2, ...` are parameters of the
    target, which `morphism.parameters(start)` computes. Rows that cannot be integrated stay.

    Args:
        given: A system, a model or equations under a principle whose reactions to the removed rows do no work along their surface, such
            as d'Alembert's, Chetaev's and the vakonomic principle, and mixtures of them.
        formulas: A parametrisation of the surface, `{"x": "l*sin(theta)", "y": "-l*cos(theta)"}`; by default rows are solved for a
            coordinate or parametrised as circles.
        inverse: The new coordinates as functions of the old ones, `{"theta": "atan2(x, -y)"}`, to map a start forward.
        kinds: Kinds of the new coordinates, such as `{"theta": "angle"}`.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If there is no constraint to remove, no formula for its surface, or the principle does not allow it.
        ModelError: If the formulas are not a chart of the surface, or for group coordinates.
        UsageError: If a name is unknown.

    >>> from chetaev import DAlembert, System
    >>> bead = System("x y", "g", lagrangian="x'^2/2 + y'^2/2 - g*y", kinematic=["y = x^2"], name="bead")
    >>> print(restrict(derive(bead, DAlembert())).target)
    bead, restricted · Hamilton()
      E_x  2*g*x + 4*x*x'^2 + x''*(4*x^2 + 1) = 0
      1 equation for 1 unknown: x
    """
    source = given if isinstance(given, Equations) else derive(given)
    require_coordinates(source.system, "restrict")
    where = f"restrict {source.system.label}"
    _require_own_multipliers(source, where)
    holonomic = [row for row in source.system.kinematic if _is_position_row(row)]
    first = _restricted(source, source.system, holonomic, Frozen(), formulas, inverse, kinds, where) if holonomic else None
    here = source if first is None else first.target
    if not any(row.kind in ("linear", "affine") for row in here.system.kinematic):
        if first is None:
            raise _nothing_to_remove(source, where)
        return first
    integrated, surfaces, constants = with_integrals(here.system, where)
    if not surfaces:
        if first is None:
            raise _nothing_to_remove(source, where)
        return first
    again = (formulas, inverse, kinds) if first is None else (None, None, None)
    second = _restricted(here, integrated, surfaces, constants, *again, where)
    return second if first is None else first.then(second)


def _restricted(
    source: Equations,
    system: System,
    surfaces: list[Constraint],
    constants: Mapping[Parameter, Expr],
    formulas: Mapping[str, Any] | None,
    inverse: Mapping[str, Any] | None,
    kinds: Mapping[str, str] | None,
    where: str,
) -> Morphism:
    """The pull-back to `surfaces`, which are rows of `system`; they may replace rows of `source` on velocities."""
    if formulas is None:
        table, known = _solved(source, surfaces, where)
        kinds = {z.base: "angle" for z in known}  # only circles have known inverses
    else:
        table = read_substitution(system, formulas, where)
        known = read_inverse(system, inverse or {}, where)
        _require_chart(system, table, surfaces, where)
        require_inverse_on(table, known, where)
    rule = substitution_rule(table)
    left = [row for row in surfaces if not known_zero(rule(row.residual))]
    if left:
        raise PrincipleError(
            f"the formulas do not satisfy {left[0]}.",
            where=about(where, "formulas"),
            why=f"Inserted, it reads {show(rule(left[0].residual))} = 0.",
            hint="a parametrisation of the surface the holonomic rows define",
        )
    places = [k for k, row in enumerate(system.kinematic) if not known_zero(rule(row.residual))]
    rows = [system.kinematic[k] for k in places]
    name = source.system.name if source.system.name.endswith("restricted") else f"{source.system.name}, restricted".lstrip(", ")
    smaller = pulled_back(system, table, kinds or {}, rows, name)
    labels = dict(zip([system.kinematic_labels[k] for k in places], smaller.kinematic_labels, strict=True))
    target = derive(smaller, _principle(source, labels))
    kept = [source.multipliers[k] for k in places]
    removed = [m for m in source.multipliers if m not in kept]
    _require_same_motion(source, target, table, dict(zip(kept, target.multipliers, strict=False)), where)
    multipliers: dict[Jet, Expr] = dict(zip(target.multipliers, kept, strict=True))
    action: dict[Jet, Expr] = {source.lowered.action: source.lowered.action} if source.lowered.action is not None else {}
    shared: dict[Jet, Expr] = {q: q for q in source.system.coordinates if q not in table}
    back: dict[Jet, Expr] = {**shared, **table, **action, **dict(zip(kept, target.multipliers, strict=True))}
    reactions, free = _reactions(source, removed)
    return Morphism(
        source,
        target,
        Frozen({**shared, **known, **action, **multipliers}),
        Frozen({**back, **{m: collapsed(image_of(e, back, target)) for m, e in reactions.items()}}),
        "a holonomic constraint is removed by a parametrisation of its surface",
        also_chosen=Frozen(dict.fromkeys(free, S.Zero)),
        constants=Frozen(constants),
        notes=tuple(f"{m.base} starts at 0: its constant has no influence on the motion." for m in free),
    )


def _is_position_row(row: Constraint) -> bool:
    return row.kind == "holonomic" and not row.has_action


def _require_own_multipliers(source: Equations, where: str) -> None:
    """Raise a PrincipleError unless every row has a multiplier of its own, which leaves together with the row."""
    system = source.system
    if system.variational is not None:
        raise _not_along_surface(source, where, " with stated variations")
    if len(source.multipliers) != len(system.kinematic) or source.rewritten is not None:
        count = f" with {len(source.multipliers)} multipliers for {len(system.kinematic)} kinematic rows"
        raise _not_along_surface(source, where, count if source.rewritten is None else ", and its rows are rewritten")


def _require_same_motion(source: Equations, target: Equations, table: Substitution, kept: Mapping[Jet, Multiplier], where: str) -> None:
    r"""Raise a PrincipleError unless the normal form of the target is that of the source along the surface.

    For displacements $\delta q = f_y\,\delta y$ the variation of the lowered Lagrangian is that of its pull-back, and a reaction has the
    coefficients $R_{V\,i}\, \partial f^i/\partial y$. They have to vanish for the removed rows, and to be those of the target for others.
    """
    rule = substitution_rule(table)

    def pulled(e: Expr) -> Expr:
        multipliers = {z: kept[z.d(-z.order)].d(z.order) for z in jets_in(e, Multiplier) if z.d(-z.order) in kept}
        return rule(e).xreplace(multipliers)

    if not known_zero(pulled(source.lowered.lagrangian) - target.lowered.lagrangian):
        raise _not_along_surface(source, where, ", which varies another function than the Lagrangian")
    for m, row in source.lowered.reactions.items():
        there = target.lowered.reactions.get(kept[m], Frozen()) if m in kept else Frozen()
        for y in target.system.coordinates:
            along = Add(*[pulled(c) * slope(table, q, y) for q, c in row.items()])
            if not known_zero(along - there.get(y, S.Zero)):
                what = f"the surface changes the row of {m.base}" if m in kept else f"{m.base} acts along the surface"
                raise _not_along_surface(source, where, f", in which {what}")


def _not_along_surface(source: Equations, where: str, what: str) -> PrincipleError:
    return PrincipleError(
        f"{source.system.label} is under {source.principle}{what}.",
        where=about(where, "principle"),
        why="A holonomic row can be removed if its own gradient restricts the variations.",
        hint=listed([UsePrinciple(p) for p in (DAlembert(), Chetaev(), Vakonomic())]),
    )


def _nothing_to_remove(source: Equations, where: str) -> PrincipleError:
    listed = ", ".join(f"{label} is {row.kind}" for label, row in source.system.kinematic_rows()) or "there is none"
    return PrincipleError(
        f"no holonomic or integrable constraint to remove: {listed}.",
        where=about(where, "kinematic"),
        why="A constraint on velocities that cannot be integrated does not confine the positions.",
        hint=(
            Ask("reduce_velocities", "system"),
            " treats rows that are linear in the velocities; ",
            Ask("classify"),
            " shows which rows are integrable",
        ),
    )


def _require_chart(system: System, table: Substitution, surfaces: list[Constraint], where: str) -> None:
    """Raise a ModelError unless the formulas have as many coordinates as the surface has dimensions."""
    old, new = system.coordinates, new_coordinates(system, table)
    points = points_on([row.residual for row in surfaces], list(old))
    normals = generic_rank([[row.residual.diff(q) for q in old] for row in surfaces], points)
    if len(new) != len(old) - normals:
        raise ModelError(
            f"the formulas use {len(new)} coordinates; the surface has {len(old) - normals} dimensions.",
            where=about(where, "formulas"),
            why="The new coordinates must be a chart of the surface; every unknown name in a formula is a new coordinate.",
            hint="declare constants as parameters",
        )
    slopes = [[table.get(q, q).diff(y) for y in new] for q in old]
    if generic_rank(slopes, points_on([], [*new, *[z for row in slopes for e in row for z in e.free_symbols]])) < len(new):
        raise ModelError("the formulas depend on each other: their Jacobian does not have full rank.", where=about(where, "formulas"))


def _reactions(source: Equations, removed: Sequence[Multiplier]) -> tuple[dict[Multiplier, Expr], list[Multiplier]]:
    """The multipliers of removed rows as functions of jets of the source, and the multipliers of which only the rate occurs."""
    rows = [row.residual for row in source.rows if isinstance(row.origin, Variation)]
    moving = [m for m in removed if any(m.d() in e.free_symbols for e in rows)]
    still = [m for m in removed if m not in moving]
    if moving or not still:
        return {}, moving
    slopes = [[-e.diff(m) for e in rows] for m in still]
    free = [e.xreplace(dict.fromkeys(still, S.Zero)) for e in rows]
    right = [Add(*[c * e for c, e in zip(line, free, strict=True)]) for line in slopes]
    if not independent(slopes, points_of(source.system, source.system.kinematic)):
        return {}, []
    return dict(zip(still, normal_solve(slopes, right), strict=True)), []


def _principle(source: Equations, labels: Mapping[str, str]) -> Principle:
    """The principle for the restricted system, of which `labels` has the remaining rows."""
    if labels:
        return source.principle.for_rows(labels)
    if source.system.equations:
        return AsStated()
    return Hamilton() if source.lowered.action is None else Herglotz()


_ANGLES = ("alpha", "beta", "gamma", *["alpha"] * 20)
"""Names for the angles of circles; after the third `fresh` appends underscores."""


def _solved(source: Equations, rows: list[Constraint], where: str) -> tuple[Substitution, dict[Jet, Expr]]:
    """A formula for one coordinate from each row, one row after the other."""
    table: Substitution = {}
    known: dict[Jet, Expr] = {}
    for row in rows:
        residual = substitution_rule(table)(row.residual)
        if known_zero(residual):
            continue  # the row follows from the earlier ones
        found = _affine(residual) or _circle(residual, fresh_coordinates(source.system, _ANGLES[: len(known) + 1])[-1])
        if found is None:
            raise PrincipleError(
                f"{row} is neither affine in a coordinate with a constant factor nor a circle.",
                where=about(where, "kinematic"),
                why="There is no formula for its surface that is valid everywhere.",
                hint=(Ask("restrict", 'system, {"x": "...", "y": "..."}, inverse={...}'), " with a parametrisation"),
            )
        formulas, inverse = found
        table = {q: e.xreplace(dict(formulas)) for q, e in table.items()} | formulas
        known |= inverse
    return table, known


def _affine(residual: Expr) -> tuple[Substitution, dict[Jet, Expr]] | None:
    """The solution of a row for a coordinate whose factor is free of coordinates; None if there is none."""
    for q in sorted(jets_in(residual, Coordinate), key=lambda z: z.name, reverse=True):
        factor = residual.diff(q)
        if not jets_in(factor) and not known_zero(factor) and isinstance(q, Coordinate):
            rest = residual.xreplace({q: S.Zero})
            return {q: sympy.expand(-rest / factor)}, {}
    return None


def _circle(residual: Expr, angle: Coordinate) -> tuple[Substitution, dict[Jet, Expr]] | None:
    r"""$x^2 + y^2 - c^2$ with $c$ free of coordinates: $x = c\sin\alpha$, $y = -c\cos\alpha$, the angle measured from the downward line."""
    coordinates = sorted(jets_in(residual, Coordinate), key=lambda z: z.name)
    if len(coordinates) != 2:
        return None
    x, y = coordinates
    factor = residual.diff(x, 2) / 2
    size = -residual.xreplace({x: S.Zero, y: S.Zero})
    if jets_in(factor) or jets_in(size) or not known_zero(residual - Add(factor * x**2, factor * y**2, -size)):
        return None
    radius = sympy.sqrt(size / factor)
    radius = radius.args[0] if isinstance(radius, sympy.Abs) else radius  # both signs of a radius describe the same circle
    return {x: radius * sympy.sin(angle), y: -radius * sympy.cos(angle)}, {angle: sympy.atan2(x / radius, -y / radius)}


def with_integrals(system: System, where: str) -> tuple[System, list[Constraint], Constants]:
    """The system with integrable rows on velocities replaced by their integrals, the new rows, and the constants.

    All rows on velocities are replaced if they are jointly integrable, otherwise those that are integrable separately.
    """
    places = [k for k, row in enumerate(system.kinematic) if row.kind in ("linear", "affine") and not row.has_action]
    found = _integrals(system, places, where)
    if not found:
        found = {k: e for place in places for k, e in _integrals(system, [place], where).items()}
    names = fresh_coordinates(system, [f"c{n + 1}" for n in range(len(found))])
    constants = {Parameter(z.base): e for z, e in zip(names, found.values(), strict=True)}
    surfaces = {k: Constraint(e, c, name=system.kinematic[k].name) for (k, e), c in zip(found.items(), constants, strict=True)}
    rows = [surfaces.get(k, row) for k, row in enumerate(system.kinematic)]
    return system.replace(kinematic=rows, parameters=[*system.parameters, *constants]), list(surfaces.values()), constants


def _integrals(system: System, places: list[int], where: str) -> dict[int, Expr]:
    """One integral for each of the rows `places` if they are jointly integrable; otherwise empty."""
    if not places:
        return {}
    classified = classify(system.replace(kinematic=[system.kinematic[k] for k in places], variational=None))
    if classified.contradictory or not classified.integrable:
        return {}
    if classified.redundant or len(classified.integrals) != len(places):
        raise PrincipleError(
            f"{system.kinematic_labels[places[0]]} and the rows on velocities after it are integrable, but not every integral was found."
            if len(places) > 1
            else f"{system.kinematic_labels[places[0]]} is integrable, but its integral was not found.",
            where=where,
            why=f"{len(classified.integrals)} of {len(places)} integrals are known; redundant rows have none of their own.",
            hint="write the rows as constraints on positions, and drop redundant ones",
        )
    return dict(zip(places, classified.integrals, strict=True))
