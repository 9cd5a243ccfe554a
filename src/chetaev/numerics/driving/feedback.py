"""Feedback as a formula: an input that is an expression in the state is put into the forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sympy import Expr

from chetaev.core.errors import NotationError, PrincipleError, about
from chetaev.core.notation import from_sympy, parse_expression
from chetaev.core.notation.lexer import spell
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Input, jets_in, moved_by
from chetaev.core.system import System
from chetaev.mechanics.equations import Equations


def with_feedback(equations: Equations, inputs: Mapping[str, Any] | None, where: str) -> tuple[Equations, dict[str, Any]]:
    """Return equations in which inputs that depend on the state are replaced by their expressions, and the other inputs.

    Such an input becomes a named expression of the system, and forces contain it. In a Lagrangian or in a constraint an input is a function
    of time, which is not varied; whether a function of the state in its place is varied, the user has to state.
    """
    given = dict(inputs or {})
    known = {z.base: z for z in equations.system.inputs}
    found: dict[str, Expr] = {}
    for name, value in given.items():
        base = spell(str(name))
        if base in known and isinstance(value, str | Expr):
            expression = _expression(value, equations.system, f"{where}, input {base}")
            if expression is not None:
                found[base] = expression
    if not found:
        return equations, given
    for base in found:
        _require_in_forces(equations, base, where)
    system = _replaced(equations, found)
    rest = {name: value for name, value in given.items() if spell(str(name)) not in found}
    return replace(equations, lowered=equations.lowered.exchange(system=system)), rest


@lru_cache(maxsize=256)
def _expression(given: str | Expr, system: System, where: str) -> Expr | None:
    """The expression of an input if it depends on the state; None for a function of time, or for a text with unknown names."""
    try:
        names = system.acting_vocabulary
        read = parse_expression(given, names, where) if isinstance(given, str) else from_sympy(given, names, where)
    except NotationError:
        return None  # `bind` raises the error
    return read if moved_by(read) or any(not isinstance(z, Input) for z in jets_in(read)) else None


def _require_in_forces(equations: Equations, base: str, where: str) -> None:
    """Raise a PrincipleError if an input occurs outside the forces."""
    system = equations.system
    places = {"the Lagrangian": [system.lagrangian], "the dissipation": [system.dissipation], "equations": system.equations.values()}
    places |= {label: [row.residual] for label, row in system.kinematic_rows()}
    rows = system.variational or ()
    places |= {label: row.coefficients.values() for label, row in zip(system.variational_labels, rows, strict=True)}
    for place, expressions in places.items():
        if any(z.base == base for e in expressions for z in jets_in(e, Input)):
            raise PrincipleError(
                f"{base} depends on the state, and {place} contains it.",
                where=about(f"{where}, input {base}", "inputs", base),
                why="A principle varies the state, but not an input: whether the expression is varied must be stated.",
                hint="write the expression into the system, or let the input act by a force",
            )


def _replaced(equations: Equations, found: Mapping[str, Expr]) -> System:
    """The system with named expressions in place of inputs; the texts of the forces use these names and stay valid."""
    system = equations.system

    def put(e: Expr) -> Expr:
        return e.xreplace({z: equations.total(found[z.base], z.order) for z in jets_in(e, Input) if z.base in found})

    forces = Frozen({q: put(e) for q, e in system.forces.items()})
    rest = Frozen({z: e for z, e in system.inputs.items() if z.base not in found})
    return system.exchange(forces=forces, inputs=rest, where=Frozen({**system.where, **found}))
