"""Values for parameters, inputs and time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any

from sympy import Add, Expr, Mul, Symbol

from chetaev.core.calculus import Evaluator, total_derivative
from chetaev.core.errors import (
    ChetaevError,
    InitialError,
    NotationError,
    ParameterError,
    about,
    did_you_mean,
    require_mapping,
    with_article,
)
from chetaev.core.fixes import SetArgument, SetInput, SetParameter, sentences
from chetaev.core.notation import Vocabulary, from_sympy, parse_expression
from chetaev.core.notation.lexer import spell
from chetaev.core.sampled import Feedback, Sampled
from chetaev.core.symbols import TIME, Input
from chetaev.core.system import System
from chetaev.core.values import Tape, Undefined, many_digits, value

_DIGITS_OF_LARGE_INPUTS = 40
"""Decimal digits of the value of an input whose parts are too large for doubles."""


@dataclass(frozen=True)
class Binding:
    """Numbers for parameters and expressions for inputs, checked and complete."""

    parameters: Mapping[Symbol, float]
    inputs: Mapping[str, Expr]

    def at(self, symbols: frozenset[Symbol], t: float) -> dict[Symbol, float]:
        """Values of those symbols that are parameters, time, or jets of inputs."""
        point: dict[Symbol, float] = {**self.parameters, TIME: t}
        for z in symbols if self.inputs else ():
            if isinstance(z, Input):
                point[z] = _value_of_input(total_derivative(_reduced(self.inputs[z.base]), z.order), point)
        return point


def _value_of_input(e: Expr, point: Mapping[Symbol, float]) -> float:
    """The value of an input or of its derivative; with more digits and any exponents where parts of it are too large for doubles.

    Beside removable singularities it is that of a series, as in the equations.
    """
    regular = _with_series(e)
    if regular is not None:
        return float(regular({z: point[z] for z in regular.symbols})[0])
    try:
        return float(value(e, point))
    except Undefined:
        return float(value(e, point, many_digits(_DIGITS_OF_LARGE_INPUTS)[1]))


@lru_cache(maxsize=256)
def _reduced(e: Expr) -> Expr:
    """An input as its graph has it. Reading a model file loads no solver, so the graphs are imported here."""
    from chetaev.numerics.graphs.algebra import GraphAlgebra

    return GraphAlgebra().reduced(e)


@lru_cache(maxsize=256)
def _with_series(e: Expr) -> Evaluator | None:
    """The graph of an input with removable singularities, as code; None if it has none."""
    from chetaev.numerics.graphs.algebra import GraphAlgebra
    from chetaev.numerics.graphs.rewriting.removable import removable

    if not any(removable(part) is not None for part in e.atoms(Add, Mul)):
        return None
    graphs = GraphAlgebra()
    return graphs.tape([graphs.of(e)])


def bind(system: System, parameters: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None, where: str) -> Binding:
    """Bind every parameter and input of a system to a value; raise a ParameterError that names a missing one."""
    require_mapping(parameters or {}, "parameters are", where, SetArgument("parameters", {"m": 1.0}))
    given = {spell(str(k)): v for k, v in (parameters or {}).items()}
    bound = [z.base for z in system.inputs if z.base in given]
    if bound:
        raise ParameterError(
            f"{bound[0]} is an input, not a parameter.", where=about(where, "parameters", bound[0]), hint=SetInput((bound[0],))
        )
    known = {p.name: p for p in system.parameters}
    _refuse_unknown(given, known, "parameter", where)
    missing = [name for name in known if name not in given]
    if missing:
        place = about(where, "parameters", missing)
        raise ParameterError(f"no value for {_listed('parameter', missing)}.", where=place, hint=SetParameter(tuple(missing)))
    numbers = {
        known[name]: v if type(v) is float and math.isfinite(v) else _value_of(name, v, where) for name, v in given.items()
    }  # most values are numbers, for which calls of functions would take longer than all else here
    for symbol, v in numbers.items():
        if symbol.is_positive and v <= 0:
            raise ParameterError(
                f"{symbol.name} = {v:g}, but it is declared positive.",
                where=about(where, "parameters", symbol.name),
                hint="a positive value, or declare it real",
            )
    return Binding(numbers, inputs_of(system, inputs, where))


def _value_of(name: str, given: Any, where: str) -> float:
    """Return the number that is given for a parameter."""
    try:
        return number_of(name, given, f"{where}, parameter {name}", ParameterError)
    except ChetaevError as fault:
        fault.where = about(fault.where, "parameters", name)
        raise


def number_of(name: str, given: Any, where: str, kind: type[ChetaevError]) -> float:
    """Return the number that is given for `name`; the error for any other text says what `name` needs."""
    try:
        return number(given, {}, where, kind)
    except NotationError as fault:
        fault.advice = fault.advice or (f"{name} needs a number, such as 2.5 or pi/6",)
        raise


def number(given: Any, names: Mapping[Symbol, float], where: str, kind: type[ChetaevError]) -> float:
    """Return a finite number from a number, a text such as "pi/6", or an expression in `names`, which have values."""
    if not isinstance(given, str | Expr):
        return _finite(given, where, kind)
    expression = _expression(given, names, where)
    if TIME in expression.free_symbols:
        raise kind(f"{given!r} depends on time.", where=where)
    try:
        return float(Tape([expression])(names)[0])
    except Undefined:
        raise kind(f"{given!r} has no finite value.", where=where, hint="a finite real number") from None


def slope_of_number(given: Any, names: Mapping[Symbol, float], by: Symbol, where: str) -> float:
    """The derivative of such a number by one of the names; zero unless it is a text or an expression with that name."""
    if not isinstance(given, str | Expr):
        return 0.0
    slope = _expression(given, names, where).diff(by)
    try:
        return float(Tape([slope])(names)[0])
    except Undefined:
        raise InitialError(f"{given!r} has no derivative by {by.name} here.", where=where, hint="another value") from None


def _expression(given: str | Expr, names: Mapping[Symbol, float], where: str) -> Expr:
    vocabulary = Vocabulary(parameters={str(z.name): z for z in names})
    return parse_expression(given, vocabulary, where) if isinstance(given, str) else from_sympy(given, vocabulary, where)


def _finite(given: Any, where: str, kind: type[ChetaevError]) -> float:
    if type(given) is float and math.isfinite(given):
        return given
    hint = 'a finite real number, or a text such as "pi/6"'
    if isinstance(given, bool) or not isinstance(given, Real):
        raise kind(f"{given!r} is not a real number.", where=where, hint=hint)
    try:
        found = float(given)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise kind("the value is not finite.", where=where, hint=hint)
    return found


def inputs_of(system: System, inputs: Mapping[str, Any] | None, where: str) -> dict[str, Expr]:
    """Bind every input of a system to a function of time; raise a ParameterError that names a missing one."""
    require_mapping(inputs or {}, "inputs are", where, SetInput(("u",), "sin(t)"))
    if not system.inputs and not inputs:
        return {}
    known = {z.base: expression for z, expression in system.inputs.items()}
    given = {spell(str(k)): v for k, v in (inputs or {}).items()}
    _refuse_unknown(given, known, "input", where)
    names = Vocabulary(parameters={p.name: p for p in system.parameters})
    bound = {name: expression for name, expression in known.items() if expression is not None}
    for name, v in given.items():
        place = about(f"{where}, input {name}", "inputs", name)
        if not isinstance(v, str | Expr | Real):
            raise ParameterError(
                f"{_kind(v)} cannot drive {name} here.",
                where=place,
                why="Samples, functions and feedbacks divide a motion into pieces, as simulate and simulate_many do.",
                hint=("a formula of t: ", SetInput((name,), "sin(t)")),
            )
        bound[name] = parse_expression(v, names, place) if isinstance(v, str) else from_sympy(v, names, place)
    missing = [name for name in known if name not in bound]
    if missing:
        place = about(where, "inputs", missing)
        raise ParameterError(f"no function for {_listed('input', missing)}.", where=place, hint=SetInput(tuple(missing), "sin(t)"))
    return bound


def _kind(given: Any) -> str:
    """What a value is, in words."""
    if isinstance(given, Sampled | Feedback):
        return "samples" if isinstance(given, Sampled) else "a feedback"
    return "a Python function" if callable(given) else with_article(type(given).__name__)


def _refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any], kind: str, where: str) -> None:
    for name in given:
        if name not in known:
            listed = f"{kind}s: {' '.join(known)}." if known else f"the system has no {kind}."
            place = about(where, f"{kind}s", name)
            raise ParameterError(f"{name} is not {with_article(kind)}.", where=place, hint=sentences(listed, did_you_mean(name, known)))


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' * (len(names) > 1)} {' '.join(names)}"
