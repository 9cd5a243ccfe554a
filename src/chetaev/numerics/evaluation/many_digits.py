r"""Accelerations and multipliers whose digits cancel, recomputed with enough digits.

The rows of a level are linear in its jets, $r + J u = 0$. Bounds of the rounding errors of $r$ and $J$ (`graphs.rounding_bounds`) bound the
error of $u$ in doubles. If it is too large, rows and Jacobian are computed with many digits, in which every number of the text is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import mpmath
import numpy as np
from sympy import Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import StateError, about
from chetaev.core.exact.program import Program, many_digit_values
from chetaev.core.symbols import TIME, Input, Jet
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.factored import equilibrated
from chetaev.mechanics.ranks.sparse import doubts_at, values_at
from chetaev.mechanics.tolerances import CUT, NEGLIGIBLE_ERROR
from chetaev.numerics.flow.exact_rates import Array, with_enough_digits
from chetaev.numerics.flow.prolongation import Pair, Problem
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.start.clear_states import LOST_DIGITS, VIOLATED_ROW

_MOST_UNKNOWNS = 60
"""Most unknowns that are solved for with many digits, which takes a second."""


def with_all_digits(problem: Problem, jets: Mapping[Jet, float], levels: int) -> dict[Jet, float]:
    """Return the jets at a state, with those that lost digits recomputed from `levels` derivatives of the rows.

    Raises:
        StateError: If digits are lost and cannot be computed.
    """
    _require_rows(problem, jets)
    found = dict(jets)
    for level in range(levels):
        pairs, unknowns = problem.system.stage(level), [z.d(level) for z in problem.system.structure.top]
        solvable = len(pairs) == len(unknowns) <= _MOST_UNKNOWNS
        if solvable and all(z in found for z in unknowns) and _lost(problem, pairs, unknowns, found):
            found |= _again(problem, pairs, unknowns, found)
    return found


def _require_rows(problem: Problem, jets: Mapping[Jet, float]) -> None:
    """Raise a StateError if rounding hides that a row on the state does not hold: y' = (1 - cos(x))/x^2 z' with y' = 0 at x = 1e-9."""
    system, graph = problem.system, problem.system.algebra
    pairs, state = system.hidden(), system.structure.state
    size = len(pairs)
    if not pairs or any(z not in jets for z in state):
        return
    tape = system.tape(pairs, state)
    try:
        point = {**problem.binding.at(tape.symbols, problem.t), **jets}
        values, slopes = values_at(tape, point, size, (size, len(state)))
    except Undefined:
        return
    doubts = doubts_at(tape, point, _given(problem, tape.symbols), size, (size, len(state)))[0]
    terms = abs(slopes) @ np.abs([jets[z] for z in state])
    if (doubts <= VIOLATED_ROW * terms).all():
        return
    rows = [system.row(pair) for pair in pairs]
    found = _many_digits(problem, jets, [*rows, *[e for row in rows for e in graph.gradient(row, state)]])
    if found is None:
        return
    terms = np.abs(found[size:].reshape(size, len(state))) @ _usual(problem, jets)
    hidden = np.abs(found[:size] - values)  # residuals that doubles show were checked with the data
    for k in np.flatnonzero(np.minimum(hidden, np.abs(found[:size])) > VIOLATED_ROW * terms):
        raise StateError(
            f"{system.label(pairs[k])} does not hold at this state, and rounding hides it: numbers cancel in the row.",
            where=about(problem.where, "start", row=system.label(pairs[k])),
            why=f"In many digits its sides differ by {abs(found[k]):.3g}.",
            hint="give the value that satisfies the row, or write the row without the difference of nearly equal numbers",
        )


def _usual(problem: Problem, jets: Mapping[Jet, float]) -> Array:
    """The sizes of the jets of a state: the largest of their kind and order; if all of these are zero up to round-off, those that the
    numbers of the rows suggest.
    """
    state, sizes = problem.system.structure.state, problem.system.sizes_with(problem.binding.parameters)
    largest: dict[tuple[type, int], float] = {}
    natural: dict[tuple[type, int], float] = {}
    for z in state:
        kind = type(z), z.order
        largest[kind], natural[kind] = max(largest.get(kind, 0.0), abs(jets[z])), max(natural.get(kind, 0.0), sizes.get(z, 1.0))
    usual = {kind: size if size > EPSILON * natural[kind] else natural[kind] for kind, size in largest.items()}
    return np.array([usual[type(z), z.order] for z in state])


def _given(problem: Problem, symbols: Iterable[Symbol]) -> dict[Symbol, float]:
    """Bounds of the errors of given values: zero except for inputs, which are computed."""
    graph = problem.system.algebra
    driving = [z for z in symbols if isinstance(z, Input)]
    found = dict.fromkeys(symbols, 0.0)
    if driving:
        tape = graph.tape([graph.of(total_derivative(problem.binding.inputs[z.base], z.order)) for z in driving])
        point = {**problem.binding.parameters, TIME: problem.t}
        written = Tape([total_derivative(problem.binding.inputs[z.base], z.order) for z in driving])
        try:  # compare the expression in doubles with its graph, which uses series
            there, plain = tape(point), written({z: point[z] for z in written.symbols})
        except Undefined:
            return found
        bounds = tape.doubts(point, dict.fromkeys(tape.symbols, 0.0))
        found |= {z: b + abs(u - v) for z, b, u, v in zip(driving, bounds, there, plain, strict=True)}
    return found


def _many_digits(problem: Problem, jets: Mapping[Jet, float], expressions: Sequence[ca.SX]) -> Array | None:
    """Expressions at a state, with many digits."""
    program, symbols, inputs = _programs(problem, expressions)
    return with_enough_digits(lambda mp: many_digit_values(program, _point(problem, jets, symbols, inputs, mp), mp), NEGLIGIBLE_ERROR)


def _lost(problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], jets: Mapping[Jet, float]) -> bool:
    """Tell whether rounding may make an unknown wrong."""
    tape = problem.system.tape(pairs, unknowns)
    try:
        point = {**problem.binding.at(tape.symbols, problem.t), **jets}
        values = np.array(tape(point))
    except Undefined:
        return False
    doubts = np.array(tape.doubts(point, _given(problem, tape.symbols)))
    size, u = len(pairs), np.array([jets[z] for z in unknowns])
    jacobian = values[size:].reshape(size, len(unknowns))
    unsure = doubts[size:].reshape(jacobian.shape)
    errors = doubts[:size] + unsure @ np.abs(u)
    if not np.isfinite(errors).all():
        return True
    sizes = np.abs(jacobian).max(axis=1, initial=0.0)
    inverse = np.linalg.pinv(jacobian / np.where(sizes > 0, sizes, 1.0)[:, None])
    off = np.abs(inverse) @ (errors / np.where(sizes > 0, sizes, 1.0))
    return bool(np.any(off > LOST_DIGITS * np.abs(u))) and not _dependent(jacobian, unsure, sizes)


def _dependent(jacobian: Array, unsure: Array, sizes: Array) -> bool:
    """Tell whether rows depend on each other at a state although the digits of their slopes are right: redundant constraints.

    Such rows agree only up to the rounding of the state, so more digits would show differences without meaning.
    """
    if (unsure > LOST_DIGITS * sizes[:, None]).any():
        return False
    s = np.linalg.svd(equilibrated(jacobian, 0.0)[1], compute_uv=False)
    return len(s) < max(jacobian.shape) or bool(s[-1] <= CUT * s[0])


def _again(problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], jets: Mapping[Jet, float]) -> dict[Jet, float]:
    """The unknowns with many digits."""
    system, graph = problem.system, problem.system.algebra
    rows = [system.row(pair) for pair in pairs]
    program, symbols, inputs = _programs(problem, [*rows, *[e for row in rows for e in graph.gradient(row, unknowns)]])

    def compute(mp: mpmath.MPContext) -> list[Any]:
        n, without = len(unknowns), {**jets, **dict.fromkeys(unknowns, 0.0)}
        values = many_digit_values(program, _point(problem, without, symbols, inputs, mp), mp)
        matrix = mp.matrix(n, n)
        for k, v in enumerate(values[n:]):
            matrix[k // n, k % n] = v
        return list(mp.lu_solve(matrix, mp.matrix([-v for v in values[:n]])))

    found = with_enough_digits(compute)
    if found is None:
        raise StateError(
            f"{', '.join(z.name for z in unknowns[:3])} have no correct digit here: numbers cancel in the equations.",
            where=problem.where,
            why="Rounding changes the rows by their own size, and more digits do not determine these values either.",
            hint="another state, or the same terms written without the difference of nearly equal numbers",
        )
    return dict(zip(unknowns, map(float, found), strict=True))


Inputs = tuple[Program, list[Symbol], list[Input]]
"""Inputs as a program of time and parameters, the symbols that it reads, and the inputs."""


def _programs(problem: Problem, expressions: Sequence[ca.SX]) -> tuple[Program, list[Symbol], Inputs]:
    """Expressions as a program with the symbols that it reads, and the inputs among these."""
    graph = problem.system.algebra
    program, symbols = graph.program(expressions)
    driving = [z for z in symbols if isinstance(z, Input)]
    of_time, own = graph.program([graph.of(total_derivative(problem.binding.inputs[z.base], z.order)) for z in driving])
    return program, symbols, (of_time, own, driving)


def _point(problem: Problem, jets: Mapping[Jet, float], symbols: Sequence[Symbol], inputs: Inputs, mp: mpmath.MPContext) -> list[Any]:
    """The values of symbols at a state, inputs with many digits too."""
    of_time, own, driving = inputs
    point: dict[Symbol, Any] = {z: mp.mpf(v) for z, v in {**problem.binding.parameters, TIME: problem.t, **jets}.items()}
    known = many_digit_values(of_time, [point[z] for z in own], mp)
    point |= dict(zip(driving, known, strict=True))
    return [point[z] for z in symbols]
