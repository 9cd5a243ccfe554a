"""The formulas of a page besides the right-hand side: slopes of the constraints, energy, switching functions, events, and given values.

Corners (sign, abs, min, max) are written with signs as further parameters, so that the equations are smooth in every step of an
integrator: a sign changes only where its switching function vanishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
from sympy import Expr, Rational, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.notation import Vocabulary, parse_expression
from chetaev.core.notation.lexer import spell
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Input, Jet, Place
from chetaev.export.problem import RightHandSide, Tape, assembled, located, tape_of
from chetaev.mechanics.model import Model
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.flow.energy import energy_and_power
from chetaev.numerics.flow.prolongation import Prolongation, prolongation
from chetaev.numerics.smooth_pieces.events import Watched, read_events


@dataclass(frozen=True)
class BrowserProblem:
    """A model as formulas for a program that integrates it."""

    side: RightHandSide
    """The right-hand side; the signs of switching functions follow the parameters of the model."""
    own: int
    """The number of parameters of the model, without the signs of switching functions."""
    tolerance: float
    max_step: float | None
    max_steps: int | None
    """The limits of the steps that the model gives, if any."""
    slopes: Tape
    """The derivatives of the constraints with respect to the state, row by row."""
    energy: Tape
    """The energy, from time, state, parameters and unknowns."""
    surfaces: Tape
    surface_slopes: Tape
    """The derivatives of each switching function with respect to time and state."""
    surface_names: tuple[str, ...]
    given: tuple[int, ...]
    """Indices of the jets of the state whose values the model gives."""
    given_values: Tape
    """The values of `given`, which depend on parameters only."""
    events: tuple[Watched, ...]
    event_values: Tape
    resets: tuple[tuple[tuple[int, ...], Tape], ...]
    quaternions: tuple[tuple[int, ...], ...]
    """The indices of numbers in the state whose squares sum to one."""
    outputs: Tape
    """Further expressions, from time, state, parameters and unknowns, which a page draws."""


def browser_problem(model: Any, branch: Any = None, gauge: Any = None, outputs: Sequence[str] = ()) -> BrowserProblem:
    """Return the formulas of a model for a program that integrates it, and of the expressions `outputs` along its motions."""
    found, equations, binding, now, words = located(model, branch, gauge)
    where = f"code for {equations.system.label}"
    switched = smooth(found.problem.system.equations, Frozen(binding.inputs))
    system, bound = found.problem.system, binding
    if switched.modes:
        smoothed = prolongation(switched.smooth)
        if smoothed is None or smoothed.structure.state != system.structure.state:
            raise UsageError("the equations have different structures on the sides of a corner.", where=where, hint='language "numpy"')
        system, bound = smoothed, switched.binding(binding, tuple(1 for _ in switched.modes))
    side = assembled(system, equations, bound, now, model, words)
    own = len(equations.system.parameters)
    return _with_formulas(model, side, system, switched, own, tuple(outputs), where)


def _with_formulas(
    model: Model, side: RightHandSide, system: Prolongation, switched: Switched, own: int, outputs: tuple[str, ...], where: str
) -> BrowserProblem:
    graph: Any = system.algebra
    symbols, state = graph.vector(side.symbols), side.state
    every = graph.vector((*side.symbols, *side.unknowns))
    write_out = side.write_out
    hidden = [system.row(pair) for pair in system.hidden()]
    energy = energy_and_power(system.equations, graph)[0]
    functions = [graph.of(system.equations.system.charted(mode.function)) for mode in switched.modes]
    functions = [write_out(e) for e in functions]
    watched = read_events(model.events, side.equations, state, where)
    read = [graph.of(system.equations.system.charted(_read(switched, event.expression))) for event in watched]
    index = {z: i for i, z in enumerate(state)}
    resets = []
    for event in watched:
        jets = tuple(index[z] for z in (event.reset or {}) if z in index)
        values = [graph.of(system.equations.system.charted(_read(switched, e))) for e in (event.reset or {}).values()]
        resets.append((jets, tape_of(graph, every, [write_out(e) for e in values])))
    given = _given(model, side)
    shown = [_read(switched, parse_expression(text, side.equations.vocabulary, where)) for text in outputs]
    shown = [system.equations.system.charted(e) for e in shown]
    _require_known(shown, outputs, side, where)
    return BrowserProblem(
        side=side,
        own=own,
        tolerance=float(model.tolerance[0] if isinstance(model.tolerance, tuple) else model.tolerance),
        max_step=None if model.max_step is None else float(model.max_step),
        max_steps=None if model.max_steps is None else int(model.max_steps),
        slopes=tape_of(graph, symbols, _by_state([write_out(e) for e in hidden], graph, state)),
        energy=tape_of(graph, every, [write_out(energy)]),
        surfaces=tape_of(graph, symbols, functions),
        surface_slopes=tape_of(graph, symbols, _by_state(functions, graph, (TIME, *state))),
        surface_names=tuple(mode.text for mode in switched.modes),
        given=tuple(index[z] for z in given),
        given_values=tape_of(graph, symbols, [graph.of(e) for e in given.values()]),
        events=watched,
        event_values=tape_of(graph, every, [write_out(e) for e in read]),
        resets=tuple(resets),
        quaternions=_quaternions(side),
        outputs=tape_of(graph, every, [write_out(graph.of(e)) for e in shown]),
    )


def _require_known(expressions: Sequence[Expr], texts: Sequence[str], side: RightHandSide, where: str) -> None:
    """Raise for an expression with derivatives that neither the state nor the unknowns contain."""
    known = {*side.symbols, *side.unknowns, *side.equations.system.inputs}
    for e, text in zip(expressions, texts, strict=True):
        strange = sorted(z.name for z in e.free_symbols if isinstance(z, Jet) and not isinstance(z, Input) and z not in known)
        if strange:
            what = f"{text} contains {', '.join(strange)}, which the equations do not solve for."
            raise UsageError(what, where=where, hint="an expression in coordinates, velocities, accelerations and multipliers")


def _read(switched: Switched, expression: Expr) -> Expr:
    return switched.replaced(expression) if switched.modes else expression


def _by_state(expressions: Sequence[ca.SX], graph: Any, symbols: Sequence[Symbol]) -> list[ca.SX]:
    """The derivatives of expressions with respect to symbols, row by row."""
    if not expressions:
        return []
    jacobian: Any = ca.jacobian(ca.vertcat(*expressions), graph.vector(tuple(symbols)))
    return list(ca.densify(jacobian.T).elements())  # columns of the transpose are rows


def _given(model: Model, side: RightHandSide) -> dict[Jet, Expr]:
    """The jets of the state that the model gives, as expressions in the parameters."""
    names = {z.name: z for z in side.state if not isinstance(z, Place)}
    known = dict(zip(side.state, side.start, strict=True))
    parameters = Vocabulary(parameters={p.name: p for p in side.equations.system.parameters})
    found: dict[Jet, Expr] = {}
    for name, value in model.start.fixed.items():
        z = names.get(spell(str(name)))
        if z is not None:
            found[z] = parse_expression(value, parameters, "start") if isinstance(value, str) else _rational(known[z])
    for group in side.equations.system.groups.values():
        if any(str(name) == group.name for name in model.start.fixed):
            found |= {z: _rational(known[z]) for z in group.places if z in known}
    return found


def _rational(value: float) -> Expr:
    """The exact value of a double as a fraction."""
    above, below = float(value).as_integer_ratio()
    return Rational(above, below)


def _quaternions(side: RightHandSide) -> tuple[tuple[int, ...], ...]:
    index = {z: i for i, z in enumerate(side.state)}
    groups = [group for group in side.equations.system.groups.values() if group.group.orthogonal == 3]
    return tuple(tuple(index[z] for z in group.places[-4:]) for group in groups if group.places and group.places[-1] in index)
