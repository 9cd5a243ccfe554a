"""Conditions of a steering problem as the user writes them: values at the ends, bounds of inputs, relations along the path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr
from sympy.core.relational import GreaterThan, LessThan, StrictGreaterThan, StrictLessThan

from chetaev.core.declarations import read_value
from chetaev.core.errors import InitialError, ParameterError, UsageError, about, did_you_mean, require_mapping
from chetaev.core.fixes import Advice, InPython, SetArgument, sentences
from chetaev.core.notation import show
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.numerics.graphs.binding import Binding, number
from chetaev.numerics.start.data import read_state

_EXAMPLE = SetArgument("path", ["x^2 + y^2 >= 1"])


@dataclass(frozen=True)
class Condition:
    """An expression and the value that it must have at an end."""

    expression: Expr
    value: float
    text: str


@dataclass(frozen=True)
class Relation:
    """An expression that must not be negative along the path."""

    expression: Expr
    text: str


@dataclass(frozen=True)
class Steered:
    """An input to be found, and its bounds, which may be infinite."""

    name: str
    low: float
    high: float


def read_bounds(equations: Equations, given: Any, binding: Binding, where: str) -> tuple[Steered, ...]:
    """Read `inputs={"u": (-1, 1)}`.

    Args:
        equations: The equations.
        given: Names of inputs with their bounds; None for no bound.
        binding: The values of parameters, which may stand in a bound.
        where: The location for messages.

    Raises:
        UsageError: If there is no input to steer, or the bounds are not a pair.
        ParameterError: For an unknown input, or a lower bound above the upper one.
    """
    known = [z.base for z in equations.system.inputs]
    if not known:
        raise UsageError(
            f"{equations.system.label} has no input to steer.",
            where=where,
            hint=InPython('System(..., inputs={"u": None}, forces={"x": "u"})'),
        )
    hint = (SetArgument("inputs", {known[0]: (-1, 1)}), ", or None for no bounds")
    require_mapping(given, "inputs are", where, hint)
    found = []
    for key, pair in given.items():
        name = spell(str(key))
        if name not in known:
            listed = f"inputs: {' '.join(known)}."
            raise ParameterError(f"{name} is not an input.", where=where, hint=sentences(listed, did_you_mean(name, known)))
        low, high = _pair(pair, f"{where}, input {name}", binding, hint)
        if not low < high:
            raise ParameterError(
                f"the bounds of {name} are reversed or equal: {low:g} and {high:g}.",
                where=f"{where}, input {name}",
                hint=SetArgument("inputs", {name: (high, low)})
                if low > high
                else "the smaller bound first; a constant input needs no search",
            )
        found.append(Steered(name, low, high))
    if not found:
        raise UsageError("no input is to be steered.", where=where, hint=hint)
    names = {each.name for each in found}
    missing = [z.base for z, formula in equations.system.inputs.items() if formula is None and z.base not in names]
    if missing:
        raise ParameterError(
            f"the input {missing[0]} has neither bounds nor a formula.",
            where=where,
            hint=SetArgument("inputs", {...: ..., missing[0]: (-1, 1)}),
        )
    return tuple(found)


def _pair(given: Any, where: str, binding: Binding, hint: Advice) -> tuple[float, float]:
    if given is None:
        return -math.inf, math.inf
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise UsageError(f"{given!r} is not a pair of bounds.", where=where, hint=hint)
    low, high = (_bound(v, where, binding, side) for v, side in zip(given, (-math.inf, math.inf), strict=True))
    return low, high


def _bound(given: Any, where: str, binding: Binding, open_side: float) -> float:
    if given is None or given == open_side:
        return open_side
    return number(given, dict(binding.parameters), where, ParameterError)


def read_end(equations: Equations, given: Any, binding: Binding, where: str) -> tuple[tuple[Condition, ...], tuple[str, ...]]:
    """Read the values at an end; return the conditions and the names of the jets that are given as None.

    Args:
        equations: The equations.
        given: Jets or expressions with numbers; None leaves a jet free.
        binding: The values of parameters, which may stand in a value.
        where: The location for messages.
    """
    require_mapping(given, "an end is", where, InPython('{"x": 1, "x\'": 0}'))
    free = tuple(str(key) for key, v in given.items() if v is None)
    held = {key: v for key, v in given.items() if v is not None}
    read_state(equations, dict.fromkeys(free, 0), binding, where, expressions=True)  # raises for an unknown name
    data = read_state(equations, held, binding, where, expressions=True)
    jets = [Condition(z, v, f"{z.name} = {v:g}") for z, v in data.fixed.items()]
    others = [Condition(d.expression, d.value, f"{show(d.expression)} = {d.value:g}") for d in data.demands]
    return (*jets, *others), free


def state_only(conditions: Iterable[Condition], state: Sequence[Jet], where: str) -> None:
    """Raise an error for a condition that is not a function of the state."""
    names = {z.name for z in state}
    for each in conditions:
        beyond = [z for z in each.expression.free_symbols if isinstance(z, Jet) and z.name not in names]
        if beyond:
            raise InitialError(
                f"{each.text}: {beyond[0].name} is not part of the state.",
                where=where,
                hint=f"the state is {' '.join(z.name for z in state)}",
            )


def read_path(equations: Equations, given: Any, where: str) -> tuple[Relation, ...]:
    """Read relations such as `"x^2 + y^2 >= 1"`.

    Raises:
        UsageError: If an entry is not an inequality.
    """
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    return tuple(_relation(equations, each, f"{where}, path[{k}]") for k, each in enumerate(listed))


def _relation(equations: Equations, given: Any, where: str) -> Relation:
    charted, vocabulary = equations.system.charted, equations.vocabulary
    if isinstance(given, GreaterThan | StrictGreaterThan | LessThan | StrictLessThan):
        return Relation(charted(read_value(given.gts - given.lts, vocabulary, where)), str(given))
    if not isinstance(given, str):
        raise UsageError(f"{given!r} is not an inequality.", where=where, hint=_EXAMPLE)
    text = given.replace("≥", ">=").replace("≤", "<=")
    sides = [(text.split(sign), sign) for sign in (">=", "<=", ">", "<") if sign in text]
    if not sides or len(sides[0][0]) != 2:
        why = "An equation that holds at all times is a constraint of the system." if "=" in text and not sides else ""
        raise UsageError(f"{given!r} is not an inequality between two expressions.", where=where, why=why, hint=_EXAMPLE)
    (left, right), sign = sides[0]
    a, b = (read_value(side.strip(), vocabulary, where) for side in (left, right))
    return Relation(charted(a - b if sign.startswith(">") else b - a), given.strip())


def read_interval(t: Any, where: str) -> tuple[float, float, float]:
    """Read `t=(0, None)`, `(0, 2)` or `(0, (1, 5))`; return the first time, and the least and the largest duration."""
    hint = (
        SetArgument("t", (0, 2)),
        ", ",
        SetArgument("t", (0, None)),
        " for a free final time, ",
        SetArgument("t", (0, (1, 5))),
        " for one between bounds",
    )
    if isinstance(t, str) or not isinstance(t, Sequence) or len(t) != 2 or t[0] is None:
        raise UsageError(f"t={t!r} is not an interval.", where=about(where, "t"), hint=hint)
    t0, end = number(t[0], {}, f"{where}, t", InitialError), t[1]
    if end is None:
        return t0, 0.0, math.inf
    ends = tuple(end) if isinstance(end, Sequence) and not isinstance(end, str) else (end, end)
    if len(ends) != 2:
        raise UsageError(f"t={t!r} is not an interval.", where=about(where, "t"), hint=hint)
    low = t0 if ends[0] is None else number(ends[0], {}, f"{where}, t", InitialError)
    high = math.inf if ends[1] is None else number(ends[1], {}, f"{where}, t", InitialError)
    if not t0 <= low <= high or high <= t0:
        raise InitialError(f"the final time cannot lie between {low:g} and {high:g} after a start at {t0:g}.", where=where, hint=hint)
    return t0, low - t0, high - t0


def named(given: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping with the library's spelling of its names."""
    return {spell(str(name)): v for name, v in given.items()}
