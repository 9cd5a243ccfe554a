r"""Servo-constraints: rows that actuators enforce, each by a force along a direction of its own.

A servo-constraint is a kinematic row whose reaction is not normal to it: the virtual displacements that do no work are those of the
actuator, not those of the row (000 and 001; H. Béghin, thesis, Paris 1922). With $b^a_i$ the direction of actuator $a$, the equations are

$$ E_i = u_i + \lambda_k R^k_i + \sum_a \mu_a b^a_i, \qquad R_K = 0, \quad F(q, q', t) = 0, $$

where $F$ are the rows to follow and $\mu_a$ the forces of the actuators: inverse dynamics is reading them off a motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy
from sympy import Expr

from chetaev.core.declarations import read_value
from chetaev.core.errors import ModelError, PrincipleError, UsageError, about, require_mapping
from chetaev.core.fixes import Advice, Ask, Code, InPython, SetArgument, SetPart
from chetaev.core.notation.lexer import spell
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Input, delta
from chetaev.core.system import System
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Chetaev, Principle, VirtualWork
from chetaev.mechanics.principles.given_forces import require_no_contact


@public
def servo(
    system: Any,
    follow: Sequence[Any] | Mapping[str, Any] | str,
    by: Mapping[str, Any] | Sequence[str],
    principle: Principle | None = None,
) -> Model:
    """A system whose actuators enforce rows, as a model under the principle of virtual work.

    The force of every actuator is read by its name: `motion["u"]`, `evaluate(...)["u"]`. `analyze` returns the index and the states where
    actuators no longer determine the rows.

    Args:
        system: A system, or a model, whose values are kept.
        follow: Rows that the actuators enforce, in the notation of `kinematic`, of any order: `["x = sin(t)"]`; a mapping names them.
        by: The actuators: a mapping from names to generalised forces per unit of force, `{"u": {"x": "1"}}`, or names of open inputs that
            occur in the forces of the system.
        principle: The principle that gives the reactions of the system's own rows; that of d'Alembert and Chetaev if nothing is given.

    Returns:
        A model that all verbs take.

    Raises:
        ModelError: If an actuator has a name that is taken, or no direction.
        PrincipleError: If the reactions of the system's own rows are not of the form of virtual work.
        UsageError: If there are more or fewer actuators than rows to follow.

    >>> from chetaev import evaluate
    >>> trolley = System("x th", "m g l", lagrangian="x'^2/2 + m*(x'^2 + 2*l*x'*th'*cos(th) + l^2*th'^2)/2 + m*g*l*cos(th)", name="trolley")
    >>> model = servo(trolley, ["x = t^2/2"], {"u": {"x": "1"}})
    >>> now = evaluate(model, {"th": 0, "th'": 0}, parameters={"m": 2, "g": 10, "l": 1})
    >>> now["u"], now["th''"]
    (1.0, -1.0)
    """
    model = system if isinstance(system, Model) else None
    system = getattr(system, "system", system)
    if not isinstance(system, System):
        raise UsageError(
            f"servo takes a System or a Model, not {type(system).__name__}.",
            where=about("servo", "system"),
            hint=Ask("servo", "system, follow, by"),
        )
    where = f"servo {system.label}"
    require_no_contact(system, "servo")
    for title, given in (("follow", follow), ("by", by)):
        if not isinstance(given, str | Mapping | Iterable):
            hint = Ask("servo", "system, ...")
            raise UsageError(f"{title} is given as {type(given).__name__}, not as a list or by name.", where=where, hint=hint)
    rows = {"": [follow]} if isinstance(follow, str) else {"": follow} if not isinstance(follow, Mapping) else None
    wanted = list(follow) if rows is None else list(rows[""])
    system, directions = _actuators(system, by, where)
    if len(wanted) != len(directions):
        raise UsageError(
            f"{len(wanted)} row(s) to follow and {len(directions)} actuator(s).",
            where=where,
            why="Every actuator enforces one row; with fewer the rows contradict the motion, with more the forces are not determined.",
            hint="as many actuators as rows",
        )
    own = _own_reactions(system, principle or (model.principle if model is not None else Chetaev()), where)
    acting = {name: sympy.Add(*[e * delta(q) for q, e in parts.items()]) for name, parts in directions.items()}
    stated = dict(zip(_labels(system, len(own)), own, strict=True))
    _require_different_names(list(stated), acting, where)
    served = system.replace(kinematic=_joined(system, follow, wanted, where), variational={**stated, **acting}, units={})
    served = served.exchange(units=system.units)  # rows to follow are numbers in these units, as inputs are: "x = sin(t)"
    if model is None:
        return Model(served, VirtualWork())
    kept = ("parameters", "start", "t", "tolerance", "inputs", "max_step", "method", "scale", "events", "scene")
    return Model(served, VirtualWork(), **{name: getattr(model, name) for name in kept})


def _joined(system: System, follow: Any, wanted: Sequence[Any], where: str) -> Any:
    """The kinematic rows of the system and those to follow, by name if one of them has a name."""
    own = [row.text or sympy.Eq(row.lhs, row.rhs, evaluate=False) for row in system.kinematic]
    named = isinstance(follow, Mapping) or any(row.name for row in system.kinematic)
    if not named:
        return [*own, *wanted]
    labels = system.kinematic_labels
    more = follow if isinstance(follow, Mapping) else {f"kinematic[{len(own) + k}]": row for k, row in enumerate(wanted)}
    _require_different_names(labels, more, where)
    return {**dict(zip(labels, own, strict=True)), **more}


def _require_different_names(own: Sequence[str], more: Mapping[str, Any], where: str) -> None:
    """Raise a UsageError if a row or an actuator has the name of a row of the system, which it would replace."""
    for name in own:
        if name in more:
            raise UsageError(f"the system already has a row {name!r}.", where=where, hint="another name")


def _labels(system: System, count: int) -> list[str]:
    """Names, not those of actuators, for the variational rows of the system itself."""
    rows: Sequence[Any] = system.variational if system.variational is not None else system.kinematic
    names = [row.name for row in rows] if len(rows) == count else [""] * count
    return [name or f"variational[{k}]" for k, name in enumerate(names)]


def _own_reactions(system: System, principle: Principle, where: str) -> list[Expr]:
    """The variational rows of the system's own constraints, as linear forms in variations."""
    if system.variational is None and not system.kinematic:
        return []
    rule = VirtualWork() if system.variational is not None else principle
    lowered = rule.lower(system)
    if lowered.costates or lowered.action is not None:
        raise PrincipleError(
            f"{rule} adds more than reactions.",
            where=about(where, "rule"),
            why="Servo-constraints are stated for virtual work: multipliers of the system's own rows are forces too.",
            hint=SetArgument("principle", Code("ch.DAlembert()")),
        )
    return [sympy.Add(*[c * delta(q) for q, c in row.items()]) for row in lowered.reactions.values()]


def _actuators(system: System, by: Any, where: str) -> tuple[System, dict[str, dict[Coordinate, Expr]]]:
    """The system without its actuators, and the direction of each."""
    if isinstance(by, str) or not isinstance(by, Mapping):
        return _from_inputs(system, by.split() if isinstance(by, str) else list(by), where)
    taken = {*system.vocabulary.names(), "t", "pi"}
    found: dict[str, dict[Coordinate, Expr]] = {}
    coordinates = {q.base: q for q in system.coordinates}
    for given, parts in by.items():
        name = spell(str(given))
        if name in taken or not name.isidentifier():
            hint: Advice = ("another name, or ", SetArgument("by", [name]), " for an input that occurs in the forces")
            raise ModelError(f"{name!r} cannot be the name of an actuator: it is taken, or not a name.", where=where, hint=hint)
        require_mapping(parts, f"the direction of {name} is", where, InPython('{"x": "1"}'))
        direction: dict[Coordinate, Expr] = {}
        for coordinate, text in parts.items():
            q = coordinates.get(spell(str(coordinate)))
            if q is None:
                hint = f"coordinates: {' '.join(coordinates)}"
                raise ModelError(f"{coordinate} is not a coordinate.", where=f"{where}, {name}", hint=hint)
            direction[q] = read_value(text, system.vocabulary, f"{where}, {name} on {q.base}")
        if not any(direction.values()):
            raise ModelError(f"the actuator {name} has no direction.", where=where, hint=SetArgument("by", {"u": {"x": "1"}}))
        found[name] = direction
    return system, found


def _from_inputs(system: System, names: Sequence[str], where: str) -> tuple[System, dict[str, dict[Coordinate, Expr]]]:
    """Actuators that are inputs in the forces: their directions are the derivatives of the forces by them."""
    known = {z.base: z for z, e in system.inputs.items() if e is None}
    chosen: dict[str, Input] = {}
    for given in names:
        name = spell(str(given))
        if name not in known:
            listed = f"open inputs: {' '.join(known)}" if known else "the system has no open input"
            raise ModelError(
                f"{name} is not an open input.",
                where=about(where, "inputs", name),
                hint=(f"{listed}; or ", SetArgument("by", {name: {"x": "1"}})),
            )
        chosen[name] = known[name]
    directions = {name: {q: e.diff(z) for q, e in system.forces.items() if e.has(z)} for name, z in chosen.items()}
    for name, direction in directions.items():
        if not direction:
            raise ModelError(
                f"the input {name} occurs in no force.", where=about(where, "inputs", name), hint=SetPart("forces", {"x": name})
            )
        if any(e.free_symbols & set(chosen.values()) for e in direction.values()):
            raise ModelError(
                f"the forces are not affine in {name}.", where=about(where, "forces"), hint="a force that is a multiple of the input"
            )
    zero = dict.fromkeys(chosen.values(), sympy.S.Zero)
    forces = {q.base: e.xreplace(zero) for q, e in system.forces.items()}
    inputs = {z.base: e for z, e in system.inputs.items() if z not in zero}
    return system.replace(forces=forces, inputs=inputs), directions
