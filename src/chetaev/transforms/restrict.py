r"""Holonomic constraints removed: the Lagrangian pulled back to the submanifold they define.

With a parametrisation $q = f(t, y)$ of $\{\phi_a(t, q) = 0\}$ the motion is that of $L(t, f, Df)$ in the coordinates $y$; other
constraints, forces and variations are pulled back too.

Rows that are affine in a coordinate are solved for it, and $x^2 + y^2 = c^2$ is a circle; any
other surface needs a parametrisation from the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy import Add, Expr, S

from chetaev.constraints import Constraint
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import PrincipleError
from chetaev.frozen import Frozen
from chetaev.notation import show
from chetaev.principles import Chetaev, DAlembert, Hamilton, Herglotz, Principle, Vakonomic
from chetaev.symbols import Coordinate, Jet, jets_in
from chetaev.transforms.morphism import Morphism
from chetaev.transforms.names import fresh
from chetaev.transforms.pullback import Substitution, pulled_back, read_inverse, read_substitution, substitution_rule
from chetaev.zero import seems_zero


def restrict(
    given: Any,
    formulas: Mapping[str, Any] | None = None,
    inverse: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Morphism:
    """The system on the surface of its holonomic constraints, without them.

    `formulas` parametrise the surface: `{"x": "l*sin(theta)", "y": "-l*cos(theta)"}`, with `inverse={"theta": "atan2(x, -y)"}`.

    >>> from chetaev import DAlembert, System
    >>> bead = System("x y", "g", lagrangian="x'^2/2 + y'^2/2 - g*y", kinematic=["y = x^2"], name="bead")
    >>> print(restrict(derive(bead, DAlembert())).target)
    bead, restricted · Hamilton()
      E_x  2*g*x + 4*x*x'^2 + x''*(4*x^2 + 1) = 0
      1 equation for 1 unknown: x
    """
    source = given if isinstance(given, Equations) else derive(given)
    system = source.system
    where = f"restrict {system.label}"
    holonomic = _holonomic_rows(source, where)
    if formulas is None:
        table, known = _solved(source, holonomic, where)
    else:
        table = read_substitution(system, formulas, where)
        known = read_inverse(system, inverse or {}, where)
    rule = substitution_rule(table)
    removed = [row for row in holonomic if seems_zero(rule(row.residual))]
    left = [row for row in holonomic if row not in removed]
    if left and formulas is not None:
        raise PrincipleError(
            f"the formulas do not satisfy {left[0]}.",
            where=where,
            why=f"Inserted, it reads {show(rule(left[0].residual))} = 0.",
            hint="a parametrisation of the surface the holonomic rows define",
        )
    rows = [row for row in system.kinematic if row not in removed]
    principle = _principle(source.principle, bool(rows))
    target = derive(pulled_back(system, table, kinds or {}, rows, f"{system.name}, restricted".lstrip(", ")), principle)
    kept = [m for m, row in zip(source.multipliers, system.kinematic, strict=True) if row in rows]
    multipliers: dict[Jet, Expr] = dict(zip(target.multipliers, kept, strict=True))
    action: dict[Jet, Expr] = {source.lowered.action: source.lowered.action} if source.lowered.action is not None else {}
    shared: dict[Jet, Expr] = {q: q for q in system.coordinates if q not in table}
    return Morphism(
        source,
        target,
        Frozen({**shared, **known, **action, **multipliers}),
        Frozen({**shared, **table, **action, **{m: z for z, m in multipliers.items()}}),
        "a holonomic constraint is removed by a parametrisation of its surface",
    )


def _holonomic_rows(source: Equations, where: str) -> list[Constraint]:
    system = source.system
    inner = source.principle.inner if isinstance(source.principle, Herglotz) else source.principle
    if not isinstance(inner, DAlembert | Chetaev | Vakonomic) or system.variational is not None:
        raise PrincipleError(
            f"{system.label} is under {source.principle}" + (" with stated variations." if system.variational is not None else "."),
            where=where,
            why="A holonomic row can be removed if its own gradient restricts the variations.",
            hint="DAlembert(), Chetaev() or Vakonomic()",
        )
    rows = [row for row in system.kinematic if row.kind == "holonomic" and not row.has_action]
    if not rows:
        listed = ", ".join(f"kinematic[{k}] is {row.kind}" for k, row in enumerate(system.kinematic))
        raise PrincipleError(
            f"no holonomic constraint to remove: {listed}.",
            where=where,
            why="A constraint on velocities that cannot be integrated does not confine the positions.",
            hint="ch.classify tells integrable rows; write an integrable row as its integral",
        )
    return rows


def _principle(principle: Principle, constrained: bool) -> Principle:
    """The principle for what is left."""
    if constrained:
        return principle
    return Herglotz() if isinstance(principle, Herglotz) else Hamilton()


def _solved(source: Equations, rows: list[Constraint], where: str) -> tuple[Substitution, dict[Jet, Expr]]:
    """Formulas for one coordinate a row, found one after the other."""
    table: Substitution = {}
    known: dict[Jet, Expr] = {}
    for row in rows:
        residual = substitution_rule(table)(row.residual)
        found = _affine(residual, source) or _circle(residual, source)
        if found is None:
            raise PrincipleError(
                f"{row} is not affine in a coordinate with a constant factor, and no circle.",
                where=where,
                why="There is no formula for its surface that is valid everywhere.",
                hint='restrict(system, {"x": "...", "y": "..."}, inverse={...}) with a parametrisation',
            )
        formulas, inverse = found
        table = {q: e.xreplace(dict(formulas)) for q, e in table.items()} | formulas
        known |= inverse
    return table, known


def _affine(residual: Expr, source: Equations) -> tuple[Substitution, dict[Jet, Expr]] | None:
    """A coordinate whose factor in the row is free of coordinates."""
    for q in sorted(jets_in(residual, Coordinate), key=lambda z: z.name, reverse=True):
        factor = residual.diff(q)
        if not jets_in(factor) and not seems_zero(factor) and isinstance(q, Coordinate):
            rest = residual.xreplace({q: S.Zero})
            return {q: sympy.expand(-rest / factor)}, {}
    return None


def _circle(residual: Expr, source: Equations) -> tuple[Substitution, dict[Jet, Expr]] | None:
    r"""$x^2 + y^2 - c^2$ with $c$ free of coordinates: $x = c\sin\alpha$, $y = -c\cos\alpha$, the angle measured from the downward line."""
    coordinates = sorted(jets_in(residual, Coordinate), key=lambda z: z.name)
    if len(coordinates) != 2:
        return None
    x, y = coordinates
    factor = residual.diff(x, 2) / 2
    size = -residual.xreplace({x: S.Zero, y: S.Zero})
    if jets_in(factor) or jets_in(size) or not seems_zero(residual - Add(factor * x**2, factor * y**2, -size)):
        return None
    (angle,) = fresh(source.system, ["alpha"])
    radius = sympy.sqrt(size / factor)
    radius = radius.args[0] if isinstance(radius, sympy.Abs) else radius  # either sign of a radius describes the circle
    return {x: radius * sympy.sin(angle), y: -radius * sympy.cos(angle)}, {angle: sympy.atan2(x / radius, -y / radius)}
