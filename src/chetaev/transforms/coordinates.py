"""A change of coordinates, which may depend on time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sympy import Expr, Matrix, S

from chetaev.core.errors import ModelError, PrincipleError, UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Jet
from chetaev.core.zero import known_zero
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.transforms.tools.morphism import Morphism
from chetaev.transforms.tools.options import FORMULA, INVERSE
from chetaev.transforms.tools.pullback import Substitution, new_coordinates, pulled_back, read_inverse, read_substitution
from chetaev.transforms.tools.theorem import theorem


@public
@theorem(formula=replace(FORMULA, needed=True), inverse=INVERSE)
def change_coordinates(
    given: Any, formulas: Mapping[str, Any], inverse: Mapping[str, Any] | None = None, kinds: Mapping[str, str] | None = None
) -> Morphism:
    """Write a system in new coordinates. The principle and the multipliers stay the same.

    Args:
        given: A system, a model or equations.
        formulas: Old coordinates as functions of new ones and time: `{"x": "r*cos(phi)", "y": "r*sin(phi)"}`.
        inverse: New coordinates as functions of old ones, necessary to map a start forward; computed if the formulas are affine in the new
            coordinates.
        kinds: Kinds of the new coordinates, such as `{"phi": "angle"}`; `"line"` by default.

    Returns:
        The map between the motions.

    Raises:
        ModelError: If the formulas do not define a change of coordinates, or for group coordinates.
        UsageError: If a name is unknown, or `inverse` does not give all new coordinates.
        PrincipleError: If `inverse` is not the inverse of the formulas.

    >>> from chetaev import System
    >>> plane = System("x y", lagrangian="x'^2/2 + y'^2/2", name="plane")
    >>> polar = change_coordinates(plane, {"x": "r*cos(phi)", "y": "r*sin(phi)"}, inverse={"r": "sqrt(x^2 + y^2)", "phi": "atan2(y, x)"})
    >>> polar.target.unknowns
    (phi, r)
    """
    source = given if isinstance(given, Equations) else derive(given)
    require_coordinates(source.system, "change_coordinates")
    system = source.system
    where = f"change_coordinates {system.label}"
    table = read_substitution(system, formulas, where)
    after = new_coordinates(system, table)
    _require_invertible(system.coordinates, after, table, where)
    target = derive(pulled_back(system, table, kinds or {}, list(system.kinematic), system.name), source.principle)
    multipliers = dict(zip(target.multipliers, source.multipliers, strict=True))
    action = {source.lowered.action: source.lowered.action} if source.lowered.action is not None else {}
    shared: dict[Jet, Expr] = {q: q for q in system.coordinates if q not in table}
    forward = {**shared, **action, **_inverse(source, table, inverse, where), **multipliers}
    back = {**shared, **action, **table, **{m: z for z, m in multipliers.items()}}
    return Morphism(source, target, Frozen(forward), Frozen(back), "a change of coordinates")


def _require_invertible(old: tuple[Coordinate, ...], new: list[Coordinate], table: Substitution, where: str) -> None:
    if len(old) != len(new):
        names = " ".join(y.base for y in new)
        raise ModelError(
            f"{len(old)} coordinates become {len(new)}: {names}.",
            where=about(where, "formulas"),
            why="A change of coordinates keeps their number; every unknown name in a formula is a new coordinate.",
            hint=(Ask("restrict", "system, ..."), " makes them fewer by holonomic constraints; declare constants as parameters"),
        )
    jacobian = Matrix([[table.get(q, q).diff(y) for y in new] for q in old])
    if known_zero(jacobian.det(method="berkowitz")):
        raise ModelError(
            "the formulas depend on each other: their Jacobian vanishes.",
            where=about(where, "formulas"),
            why="Different new coordinates would describe the same position.",
        )


def _inverse(source: Equations, table: Substitution, given: Mapping[str, Any] | None, where: str) -> dict[Jet, Expr]:
    """New coordinates as functions of old ones: as given and checked, or solved for if the formulas are affine in them."""
    stay = [q for q in source.system.coordinates if q not in table]
    new = [y for y in new_coordinates(source.system, table) if y not in stay]
    if given is None:
        return _solved(table, new)
    found = read_inverse(source.system, given, where)
    if set(found) != set(new):
        raise UsageError(
            f"the inverse gives {' '.join(given)}; the new coordinates are {' '.join(y.base for y in new)}.",
            where=about(where, "inverse"),
            hint="one formula each",
        )
    _require_inverse(table, found, where)
    return found


def _solved(table: Substitution, new: list[Coordinate]) -> dict[Jet, Expr]:
    jacobian = Matrix([[e.diff(y) for y in new] for e in table.values()])
    if any(set(new) & entry.free_symbols for entry in jacobian):
        return {}
    at_zero = Matrix([q - e.xreplace(dict.fromkeys(new, S.Zero)) for q, e in table.items()])
    return dict(zip(new, jacobian.LUsolve(at_zero), strict=True))


def _require_inverse(table: Substitution, inverse: dict[Jet, Expr], where: str) -> None:
    """Raise a PrincipleError unless f(inverse(q)) = q."""
    for q, e in table.items():
        difference = e.xreplace(dict(inverse)) - q
        if not known_zero(difference):
            raise PrincipleError(
                f"the inverse does not lead back to {q.base}: the formulas give {show(e.xreplace(dict(inverse)))}.",
                where=about(where, "inverse"),
                hint="check the formulas and their inverse",
            )
