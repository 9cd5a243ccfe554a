r"""Inputs and outputs of a linearised motion: the matrices $B$, $C$ and $D$ in the independent jets of the state.

With the rows $F(x, w, u) = 0$ that determine the jets $w$ at the top, $\partial w/\partial u = -F_w^{-1} F_u$. Constraints that do not
contain the inputs leave the chart $x = x(y)$ unchanged, and

$$ \delta y' = A\, \delta y + B\, \delta u, \qquad \delta z = C\, \delta y + D\, \delta u $$

for outputs $z(x, w, u)$. An output that contains an acceleration or a multiplier depends on $u$ directly, so that $D \ne 0$.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.calculus import SYMBOLIC, Calculus
from chetaev.core.errors import ParameterError, StateError, UsageError, about, did_you_mean
from chetaev.core.fixes import SetPart, sentences
from chetaev.core.notation import from_sympy, parse_expression
from chetaev.core.notation.lexer import spell
from chetaev.core.symbols import Input, Jet
from chetaev.core.system import System
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions, jets_at, name_of
from chetaev.numerics.stability.spectrum import inverse_of


@dataclass(frozen=True)
class Ports:
    """The matrices of inputs and outputs of a linearised motion."""

    inputs: tuple[str, ...]
    operating: Matrix
    """The values of the inputs at the state."""
    outputs: tuple[str, ...]
    B: Matrix
    C: Matrix
    D: Matrix

    def __post_init__(self) -> None:
        for name in ("operating", "B", "C", "D"):
            getattr(self, name).setflags(write=False)


@dataclass(frozen=True)
class Slopes:
    r"""The jets $w$ at the top at a state, and their derivatives by the state and by the inputs."""

    tops: Matrix
    by_state: Matrix
    by_inputs: Matrix


def read_inputs(system: System, given: Any, where: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the names of the inputs that vary, and the functions of time that are bound: zero for an input without a value."""
    if given is None:
        return (), {}
    if isinstance(given, dict) or hasattr(given, "keys"):
        bound = {spell(str(name)): given[name] for name in given}
    else:
        names = given.replace(",", " ").split() if isinstance(given, str) else list(given)
        bound = {spell(str(name)): 0 for name in names}
    known = [z.base for z in system.inputs]
    for name in bound:
        if name not in known:
            listed = sentences(f"inputs: {' '.join(known)}.", did_you_mean(name, known))
            declared = ("the system has no input; declare it: ", SetPart("inputs", {"u": None}), ".")
            raise ParameterError(f"{name} is not an input.", where=about(where, "inputs", name), hint=listed if known else declared)
    return tuple(bound), bound


def ports_at(local: Local, inputs: Sequence[str], outputs: Sequence[Any] | None) -> Ports:
    """Return the matrices of inputs and outputs at a state; a StateError if an input moves the constraints."""
    problem, free = local.problem, list(local.chart.free)
    symbols = [Input(name) for name in inputs]
    _require_plain(local, symbols)
    slopes = _slopes(local, symbols)
    system = problem.system
    state, top = directions(system), list(system.structure.top)
    acting = np.zeros((len(state), len(symbols)))
    for i, z in enumerate(state):
        if z.d() in top:
            acting[i] = slopes.by_inputs[top.index(z.d())]
    operating = problem.binding.at(frozenset(symbols), problem.t)
    values = np.array([operating[z] for z in symbols])
    if outputs is None:
        names = tuple(name_of(problem, state[i]) for i in free)
        return Ports(tuple(inputs), values, names, acting[free], np.eye(len(free)), np.zeros((len(free), len(symbols))))
    c, d = _output_slopes(local, slopes, symbols, outputs)
    return Ports(tuple(inputs), values, tuple(str(each) for each in outputs), acting[free], c, d)


def _require_plain(local: Local, inputs: Sequence[Input]) -> None:
    """Raise a StateError if constraints contain an input, or the rows of motion its derivative."""
    system = local.problem.system
    bases = {z.base for z in inputs}
    hidden = [(z, pair) for pair in system.hidden() for z in system.symbols([pair]) if isinstance(z, Input) and z.base in bases]
    if hidden:
        z, pair = hidden[0]
        raise StateError(
            f"{system.label(pair)} contains the input {z.base}.",
            where=local.problem.where,
            why="The states that satisfy the constraints move with the input, so a state has no derivative by the input alone.",
            hint=f"let {z.base} be a coordinate that a force moves, or take its derivative as the input",
        )
    rates = [z for z in system.symbols(system.stage(0)) if isinstance(z, Input) and z.base in bases and z.order]
    if rates:
        raise StateError(
            f"the equations contain {rates[0].name}, a derivative of the input {rates[0].base}.",
            where=local.problem.where,
            why="The motion then depends on the derivative of the input as well.",
            hint=f"let {rates[0].base} be a coordinate that a force moves, or take {rates[0].name} as the input",
        )


def _slopes(local: Local, inputs: Sequence[Input]) -> Slopes:
    problem, x = local.problem, local.view.spot.x
    system = problem.system
    state, top = directions(system), system.structure.top
    pairs, jets, n = system.stage(0), jets_at(problem, x), len(state)
    zero = dict.fromkeys(top, 0.0)
    values, jacobian = problem.numbers(pairs, (*state, *top, *inputs), {**jets, **zero})
    inverse = inverse_of(jacobian[:, n : n + len(top)])[0]
    tops = -inverse @ values
    values, jacobian = problem.numbers(pairs, (*state, *top, *inputs), {**jets, **dict(zip(top, map(float, tops), strict=True))})
    tops = tops - inverse @ values  # removes round-off
    return Slopes(tops, -inverse @ jacobian[:, :n], -inverse @ jacobian[:, n + len(top) :])


def _output_slopes(local: Local, slopes: Slopes, inputs: Sequence[Input], outputs: Sequence[Any]) -> tuple[Matrix, Matrix]:
    """The derivatives of outputs by the independent jets and by the inputs."""
    problem = local.problem
    system = problem.system
    equations, where = system.equations, f"{problem.where}, outputs"
    state, top = directions(system), system.structure.top
    read = [_read(each, equations.vocabulary, where) for each in outputs]
    charted = [equations.system.charted(e) for e in read]
    jets = {**jets_at(problem, local.view.spot.x), **dict(zip(top, map(float, slopes.tops), strict=True))}
    calculus = Calculus(SYMBOLIC, equations.system.frame)
    both = (*state, *top, *inputs)
    lines = []
    for text, e in zip(outputs, charted, strict=True):
        unknown = [z for z in e.free_symbols if isinstance(z, Jet) and not isinstance(z, Input) and z not in jets]
        if unknown:
            highest = ", ".join(z.name for z in (*state, *top))
            raise UsageError(
                f"{text} contains {unknown[0].name}, which the equations do not determine.", where=where, hint=f"an expression in {highest}"
            )
        gradient = calculus.gradient(e, both)
        tape = Tape(gradient)
        try:
            lines.append(tape({**problem.binding.at(tape.symbols, problem.t), **jets}))
        except Undefined:
            raise StateError(f"the derivative of {text} has no finite value at this state.", where=where, hint="another state") from None
    table = np.array(lines, dtype=float).reshape(len(outputs), len(both))
    n, m = len(state), len(top)
    by_state, by_tops, by_inputs = table[:, :n], table[:, n : n + m], table[:, n + m :]
    return (by_state + by_tops @ slopes.by_state) @ local.view.tangent, by_inputs + by_tops @ slopes.by_inputs


def _read(given: Any, vocabulary: Any, where: str) -> Expr:
    return parse_expression(given, vocabulary, where) if isinstance(given, str) else from_sympy(given, vocabulary, where)
