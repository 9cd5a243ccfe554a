"""eigenvalue_sweep: eigenvalues of the linearised motion along a parameter, as continuous branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chetaev.core.errors import ParameterError, StateError, UsageError, about, did_you_mean
from chetaev.core.fixes import InPython, sentences
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.stability.arguments import Start, local_motion, read_model, refuse_choice
from chetaev.numerics.stability.spectrum import Complex, matched, ordered


@public
def eigenvalue_sweep(
    equations: Any,
    state: Start | Callable[[float], Start] | None,
    parameter: str,
    values: Any,
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    branch: None = None,
    gauge: None = None,
) -> Complex:
    """Eigenvalues of the linearised motion over a range of values of a parameter.

    Args:
        equations: Equations or a model.
        state: A state, or a function from a value to a state, for an equilibrium that depends on the parameter; None for a model's start.
        parameter: The name of a parameter, or of a jet of the state such as `psi'`.
        values: The values.
        parameters: Values of the other parameters, by name.
        t: The time.
        inputs: Functions of time for the inputs, by name.
        branch: Not supported; only None is accepted.
        gauge: Not supported; only None is accepted.

    Returns:
        An array with a row per value. Each column follows one eigenvalue: neighbouring rows are matched so that columns are smooth.

    Raises:
        StateError: If the number of eigenvalues changes, or the motion has no linearisation.
        ParameterError: If `parameter` is neither a parameter nor a jet of the state.
        UsageError: If `values` is not a sequence of numbers, or a branch or a gauge is given.

    >>> from chetaev import System, derive
    >>> well = derive(System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    >>> eigenvalue_sweep(well, {"x": 0, "x'": 0}, "k", [-4, 4]).round(12)
    array([[ 2.+0.j, -2.+0.j],
           [ 0.+2.j,  0.-2.j]])
    """
    refuse_choice("eigenvalue_sweep", branch, gauge)
    if isinstance(equations, Model):
        state = equations.start if state is None else state
        t = equations.t[0] if t is None else t
    equations, parameters, inputs = read_model("eigenvalue_sweep", equations, parameters, inputs)
    where = f"eigenvalue_sweep {equations.system.label}"
    is_jet = _is_jet(equations, parameter, where)
    points = _points(values, where)
    rows: list[Complex] = []
    for k, v in enumerate(points):
        at: Any = state(float(v)) if callable(state) else state
        changed = parameters if is_jet else {**without(parameters, parameter), parameter: float(v)}
        at = _with_value(at, parameter, float(v)) if is_jet else at
        found = ordered(local_motion("eigenvalue_sweep", equations, at, changed, t, inputs).spectrum[0])
        if rows and len(found) != len(rows[0]):
            what = f"the motion has {len(rows[0])} free values at first and {len(found)} at {parameter} = {v:g}."
            raise StateError(what, where=where, why="Eigenvalues cannot be followed through a change of dimension.")
        rows.append(found if k == 0 else found[matched(rows, points[: k + 1], found)])
    return np.array(rows)


def _is_jet(equations: Equations, parameter: str, where: str) -> bool:
    """Whether the sweep runs over a jet of the state; a ParameterError if it is neither that nor a parameter."""
    known = [p.name for p in equations.system.parameters]
    if not isinstance(parameter, str):
        raise UsageError(
            f"the parameter is given as {type(parameter).__name__}.", where=about(where, "parameter"), hint='its name, such as "m"'
        )
    if spell(parameter) in known:
        return False
    names = [z.base for z in equations.unknowns]
    if spell(parameter).rstrip("'") in names:
        return True
    listed = f"parameters: {' '.join(known)}." if known else "the system has no parameter."
    hint = sentences(listed, did_you_mean(parameter, known) or "A jet such as psi' is accepted too.")
    raise ParameterError(f"{parameter} is not a parameter.", where=about(where, "parameter"), hint=hint)


def _with_value(start: Any, name: str, v: float) -> Any:
    """The start with the jet `name` fixed at `v`."""
    if isinstance(start, State):
        guess = {k: g for k, g in start.guess.items() if spell(str(k)) != spell(name)}
        return State({**without(start.fixed, name), name: v}, guess)
    return {**without(start, name), name: v} if isinstance(start, Mapping) else start


def without(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a mapping without one name, in any of its spellings."""
    return {k: v for k, v in given.items() if spell(str(k)) != spell(name)}


def _points(values: Any, where: str) -> Matrix:
    hint = InPython("numpy.linspace(0, 1, 50)")
    try:
        points = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise UsageError("the values of the parameter are not numbers.", where=about(where, "values"), hint=hint) from None
    if points.ndim != 1 or not len(points):
        raise UsageError("the values of the parameter are not a list of numbers.", where=about(where, "values"), hint=hint)
    if not np.all(np.isfinite(points)):
        raise ParameterError("a value of the parameter is not finite.", where=about(where, "values"), hint=hint)
    return points
