"""The two ends of a steering problem: complete states, independent conditions, and ends that contradict the constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.errors import InitialError
from chetaev.core.fixes import InPython
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Input, Parameter
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.classify import classify
from chetaev.mechanics.ranks.split import split
from chetaev.mechanics.tolerances import ALMOST_ZERO, NEWTON_CUT
from chetaev.numerics.corners.modes import smooth
from chetaev.numerics.evaluation.motion_start import begin
from chetaev.numerics.smooth_pieces.switching import Surfaces
from chetaev.paths.boundary.counting import separation
from chetaev.paths.optimal.problem import Array, Problem
from chetaev.paths.optimal.transcription import Ends

_MISSED_CONDITION = 1e-8
"""Largest residual of a condition, relative to its terms, at a state that satisfies it; the same as for starts of motions."""
_DEPENDENT = 1e-8
"""Length of a unit row after projection off others, below which it depends on them."""
_MOST_ITERATIONS = 60
"""Limit of Newton's iterations with steps of least norm."""
_TRIES = 6
"""Number of points from which a state at the end is searched."""
_START_TOLERANCE = 1e-9
"""Tolerance with which switching surfaces are decided at the start, as the default of `simulate`."""
_LEAST_SIZE = 1e-3
"""Relative to its typical size: smallest size of a jet in the terms with which a residual is compared."""
_SHORTEST_STEP = 1e-15
"""Relative to the largest jet: Newton's iteration ends with a shorter step, which is round-off."""
_OPEN_JET = 1e-6
"""Smallest component of a unit null vector of a jet that is named as missing in a message."""


@dataclass(frozen=True)
class Placed:
    """Both ends: states, and the independent conditions."""

    start: Array
    end: Array
    """A state that satisfies the conditions at the end; where they do not determine it, it is near the start."""
    ends: Ends


def place(problem: Problem, start: Mapping[str, Any]) -> Placed:
    """Complete the start, find a state at the end, and choose independent conditions.

    Args:
        problem: The problem.
        start: The start as the user wrote it.

    Raises:
        InitialError: If initial values are missing, or the values at an end contradict the constraints.
    """
    driven = problem.driven
    whole: Array | None = None
    if not problem.free_start and not driven:
        whole = _completed(problem, start)
        x0 = whole
    else:
        x0 = _solved(problem, problem.start, f"{problem.where}, start", None)
        _require_complete(problem, x0)
    x1 = _solved(problem, problem.end, f"{problem.where}, end", x0)
    if whole is not None:
        _require_inside(problem, whole, "start")
    if {c.expression for c in problem.end} >= set(problem.state):
        _require_inside(problem, x1, "end")
    first, last = _Rows(problem, problem.start), _Rows(problem, problem.end)
    given, hidden = len(problem.start), len(problem.hidden)
    at_start = _independent(first.slopes(x0), range(given), range(given, given + hidden))
    at_end = _independent(last.slopes(x1), range(len(problem.end), len(problem.end) + hidden), range(len(problem.end)))
    ends = Ends(
        whole,
        tuple(k for k in at_start if k < given),
        () if whole is not None else tuple(k - given for k in at_start if k >= given),
        tuple(k for k in at_end if k < len(problem.end)),
    )
    return Placed(x0, x1, ends)


def _completed(problem: Problem, start: Mapping[str, Any]) -> Array:
    """The start, completed as in `simulate`."""
    span = problem.longest if np.isfinite(problem.longest) else 1.0
    switched = smooth(problem.equations, Frozen(problem.binding.inputs))
    surfaces = Surfaces(switched, problem.binding, _START_TOLERANCE, 1.0, span)
    found = begin(surfaces, start, problem.t0, f"{problem.where}, start").jets
    return np.array([found[z] for z in problem.state])


def _require_inside(problem: Problem, x: Array, word: str) -> None:
    """Raise an error for an end at which a relation along the path fails for all inputs."""
    graph = problem.flow.graph
    for relation, e in zip(problem.path, problem.relations, strict=True):
        if any(isinstance(z, Input) or z in problem.tops for z in graph.symbols(e)):
            continue
        slopes = ca.densify(ca.jacobian(e, graph.vector(problem.state)))
        found = np.array(
            problem.function("inside", [e, *ca.vertsplit(slopes.T)])(
                problem.t0, x, np.zeros(len(problem.tops)), np.zeros(len(problem.jets_of_inputs))
            )
        )
        value, size = float(found[0, 0]), float(np.abs(found[1:, 0]) @ np.abs(x))
        if value < -_MISSED_CONDITION * max(size, abs(value)):
            raise InitialError(
                f"{relation.text} fails at the {word}: the difference of its sides is {value:g}.",
                where=f"{problem.where}, path",
                hint=f"another {word}, or a weaker relation",
            )


class _Rows:
    """Conditions at an end followed by the rows that restrict the state, with their derivatives with respect to state and inputs."""

    def __init__(self, problem: Problem, conditions: Sequence[Any]) -> None:
        graph = problem.flow.graph
        column = [graph.of(c.expression) - c.value for c in conditions] + problem.hidden
        symbols = (*problem.state, *problem.jets_of_inputs)
        whole = ca.vertcat(*column) if column else ca.SX(0, 1)
        slopes: Any = ca.densify(ca.jacobian(whole, graph.vector(symbols)))
        self.count, self.width, self.n = len(column), len(symbols), len(problem.state)
        self._t0, self._m = problem.t0, len(problem.tops)
        self._f = problem.function("rows", [*column, *ca.vertsplit(ca.vec(slopes))] if column else [])

    def __call__(self, v: Array) -> tuple[Array, Array]:
        found = np.array(self._f(self._t0, v[: self.n], np.zeros(self._m), v[self.n :])).ravel()
        return found[: self.count], found[self.count :].reshape(self.count, self.width, order="F")

    def slopes(self, x: Array) -> Array:
        """The derivatives at a state with all inputs zero."""
        return self(np.concatenate([x, np.zeros(self.width - self.n)]))[1]


def _solved(problem: Problem, conditions: Sequence[Any], where: str, near: Array | None) -> Array:
    """A state that satisfies conditions and constraints, near the state `near` or the origin."""
    rows = _Rows(problem, conditions)
    place_of = {z: k for k, z in enumerate(problem.state)}
    base = np.zeros(rows.width) if near is None else np.concatenate([near, np.zeros(rows.width - rows.n)])
    for c in conditions:
        if c.expression in place_of:
            base[place_of[c.expression]] = c.value
    if not rows.count:
        return base[: rows.n]
    largest = max([float(np.abs(base).max(initial=0.0)), *[abs(c.value) for c in conditions]])
    size = np.maximum(np.abs(base), largest if largest > 0 else 1.0)
    chance, worst = np.random.default_rng(7), (np.inf, 0)
    for attempt in range(_TRIES):
        v = base + (size * chance.normal(size=rows.width) * 0.3 * attempt if attempt else 0.0)
        with np.errstate(all="ignore"):  # an attempt that overflows is rejected below
            found = _newton(rows, v)
            left, slopes = rows(found)
            terms = np.abs(left) + np.abs(slopes) @ np.maximum(np.abs(found), size * _LEAST_SIZE)
            relative = np.abs(left) / np.maximum(terms, ALMOST_ZERO)
        if np.isfinite(relative).all() and relative.max() <= _MISSED_CONDITION:
            return found[: rows.n]
        if np.isfinite(relative).all() and relative.max() < worst[0]:
            worst = (float(relative.max()), int(np.argmax(relative)))
    labels = [*[c.text for c in conditions], *problem.hidden_labels]
    raise InitialError(
        f"no state was found that satisfies {', '.join(labels)}.",
        where=where,
        why=f"In the best attempt {labels[worst[1]]} is missed.",
        hint="values that agree with the constraints, or fewer of them",
    )


def _newton(rows: _Rows, v: Array) -> Array:
    for _ in range(_MOST_ITERATIONS):
        left, slopes = rows(v)
        if not (np.isfinite(left).all() and np.isfinite(slopes).all()):
            return v
        lengths = np.maximum(np.abs(slopes).max(axis=1), ALMOST_ZERO)
        step = np.linalg.lstsq(slopes / lengths[:, None], -left / lengths, rcond=NEWTON_CUT)[0]
        v = v + step
        if np.abs(step).max() <= _SHORTEST_STEP * (ALMOST_ZERO + np.abs(v).max()):
            break
    return v


def _independent(slopes: Array, first: Sequence[int], second: Sequence[int]) -> list[int]:
    """The indices of rows that do not depend on earlier ones, where `first` come before `second`."""
    basis: list[Array] = []
    found = []
    columns = np.maximum(np.abs(slopes).max(axis=0, initial=0.0), ALMOST_ZERO)
    for k in (*first, *second):
        row = slopes[k] / columns
        length = float(np.linalg.norm(row))
        if not length > 0 or not np.isfinite(length):
            continue
        row = row / length
        for _ in range(2):  # two passes make the row orthogonal to round-off
            for b in basis:
                row = row - (row @ b) * b
        if np.linalg.norm(row) > _DEPENDENT:
            basis.append(row / np.linalg.norm(row))
            found.append(k)
    return sorted(found)


def _require_complete(problem: Problem, x0: Array) -> None:
    """Raise an error if conditions, constraints and jets given as None do not account for the whole start."""
    free = [np.eye(len(problem.state))[k] for k, z in enumerate(problem.state) if z.name in problem.free_start]
    rows = np.vstack([_Rows(problem, problem.start).slopes(x0)[:, : len(problem.state)], *free])
    null = split(rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), ALMOST_ZERO)).null
    open_jets = [z.name for k, z in enumerate(problem.state) if np.abs(null[k]).max(initial=0.0) > _OPEN_JET]
    if open_jets:
        raise InitialError(
            f"no initial value for {' '.join(open_jets)}.",
            where=f"{problem.where}, start",
            hint=("a value, or ", InPython(f'{{"{open_jets[0]}": None}}'), " to leave it to the search"),
        )


def unreachable(problem: Problem, start: Array) -> str:
    """Why no motion joins the ends: an integral of the constraints, such as `x - R*phi`,
    that differs between them; empty if there is none.
    """
    system = problem.equations.system
    if not any(kind in ("linear", "affine") for kind in (row.kind for row in system.kinematic)):
        return ""
    known = classify(system)
    for integral in known.integrals:
        values = [_value(problem, integral, dict(zip(problem.state, x, strict=True)), t) for x, t in ((start, problem.t0),)]
        at_end = _value_at_end(problem, integral)
        if values[0] is None or at_end is None:
            continue
        size = max(abs(values[0]), abs(at_end), _terms(problem, integral, start))
        if abs(values[0] - at_end) > _MISSED_CONDITION * size:
            return separation(known, integral, values[0], at_end)
    return ""


def _value_at_end(problem: Problem, integral: Expr) -> float | None:
    """The value of an integral at the end, if the conditions there fix it."""
    fixed = {c.expression: c.value for c in problem.end}
    moving = [z for z in integral.free_symbols if not isinstance(z, Parameter)]
    return _value(problem, integral, fixed, None) if all(z in fixed for z in moving) else None


def _value(problem: Problem, e: Expr, values: Mapping[Any, float], t: float | None) -> float | None:
    point = {**problem.binding.at(frozenset(), problem.t0 if t is None else t), **values}
    try:
        return float(Tape([e])(point)[0])
    except (Undefined, KeyError):
        return None


def _terms(problem: Problem, e: Expr, start: Array) -> float:
    values = dict(zip(problem.state, start, strict=True))
    found = [_value(problem, term, values, problem.t0) for term in e.as_ordered_terms()]
    return max((abs(v) for v in found if v is not None), default=0.0)
