"""Values of expressions at one state of a motion, also of jets that the equations of motion determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.errors import StateError
from chetaev.mechanics.equations import Equations
from chetaev.numerics.evaluation.evaluate import Evaluation, evaluate
from chetaev.numerics.flow.compiled import Array, Compiled, compile_at, compile_on_component
from chetaev.numerics.graphs.binding import Binding, bind


def values_at(
    equations: Equations,
    start: Any,
    expressions: Sequence[Expr],
    *,
    parameters: Mapping[str, Any] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
) -> list[float]:
    """Expressions in jets of any order, multipliers and time, at a start that may be incomplete."""
    where = f"values of {equations.system.label}"
    now = evaluate(equations, start, parameters=parameters, t=t, inputs=inputs)
    binding = bind(equations.system, parameters, inputs, where)
    found = _read(_compiled(equations, now, binding, t), expressions, now, binding, t)
    if not np.all(np.isfinite(found)):  # a pivot may vanish here although the state is not singular
        point = {**binding.at(frozenset(equations.system.parameters), t), **now.jets}
        found = _read(compile_at(_compiled(equations, now, binding, t).flow.system, point), expressions, now, binding, t)
    if not np.all(np.isfinite(found)):
        raise StateError("an expression has no finite value at this state.", where=where, hint="another state")
    return [float(v) for v in found]


def _compiled(equations: Equations, now: Evaluation, binding: Binding, t: float) -> Compiled:
    return compile_on_component(equations, binding, t, now.jets)


def _read(compiled: Compiled, expressions: Sequence[Expr], now: Evaluation, binding: Binding, t: float) -> Array:
    flow = compiled.flow
    state = np.array([*[now.jets[z] for z in flow.state], *([0.0] if flow.has_power else [])])
    function = flow.function([flow.with_inputs(flow.on_state(flow.graph.of(e)), binding.inputs) for e in expressions])
    return np.array(function(t, state, compiled.parameters(binding, t, 0.0))).ravel()
