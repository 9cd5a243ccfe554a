"""Rates of a state at any regular state: where the pivots chosen once are too small, others are chosen for the state."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import casadi as ca
import numpy as np
from sympy import Expr

from chetaev.core.errors import ChetaevError
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME
from chetaev.mechanics.equations import Equations
from chetaev.numerics.flow.compiled import Array, Compiled, compile_at, compile_equations
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel

_LEAST_PIVOT = 1e-9
"""Smallest pivot, relative to its rows and columns, for which there are rates: with a smaller one they would have six digits or fewer."""
_KERNELS: Remembered[Kernel] = Remembered(64)


class Rates:
    """The rates as SciPy calls its `fun`, and as machine code for other callers; `bound` binds values to the parameters."""

    def __init__(self, equations: Equations, inputs: Frozen[str, Expr], bound: Callable[[Array], Binding]) -> None:
        self._equations, self._inputs, self._bound = equations, inputs, bound

    def __call__(self, t: float, y: Array, p: Array) -> Array:
        found = self._checked(t, y, p)
        return found[:-1] if found[-1] > WORST_PIVOT else self._with_other_pivots(t, y, p, found)

    @cached_property
    def address(self) -> int:
        """The address of code for the rates, which are NaN where the pivots chosen once are too small."""
        flow = self._compiled.flow
        large = ca.SX(_LEAST_PIVOT) < flow.smallest_pivot
        # a factor of one, or the root of -1; comparisons with NaN are false
        return self._kernel(self._compiled, ca.vertcat(*flow.rates) * ca.sqrt(2 * large - 1), "guarded").address

    @cached_property
    def _compiled(self) -> Compiled:
        return compile_equations(self._equations)

    @cached_property
    def _checked(self) -> Kernel:
        """The rates, and the smallest pivot."""
        return self._with_pivot(self._compiled)

    def _with_pivot(self, compiled: Compiled) -> Kernel:
        flow: Flow = compiled.flow
        return self._kernel(compiled, ca.vertcat(*flow.rates, flow.smallest_pivot), "checked")

    def _with_other_pivots(self, t: float, y: Array, p: Array, found: Array) -> Array:
        """The rates with pivots chosen for a state; NaN where there are no better ones and those chosen once have no digits left."""
        flow, best = self._compiled.flow, found
        try:
            known = self._bound(p).at(frozenset(flow.arguments), t)
            other = compile_at(flow.system, {**known, **dict(zip(flow.state, map(float, y), strict=False))})
            if other.flow.state == flow.state and other.flow.order != flow.order:
                again = self._with_pivot(other)(t, y, p)
                best = again if not best[-1] >= again[-1] else best
        except ChetaevError:
            pass  # no order of pivots is known for the state, or a value has no meaning: what was found is judged
        return best[:-1] if best[-1] > _LEAST_PIVOT else np.full(len(best) - 1, np.nan)

    def _kernel(self, compiled: Compiled, column: ca.SX, kind: str) -> Kernel:
        return _KERNELS.get(compiled, (kind, self._inputs), lambda: self._made(compiled.flow, column))

    def _made(self, flow: Flow, column: ca.SX) -> Kernel:
        """Code with the inputs written out."""
        graph = flow.graph
        if flow.inputs:
            written = self._compiled.driving(Binding({}, self._inputs))
            column = ca.substitute(column, graph.vector(flow.inputs), ca.vertcat(*map(graph.of, written)))
        arguments = [graph.leaf(TIME), graph.vector(flow.state), graph.vector(self._equations.system.parameters)]
        return compile_kernel(graph.function("rates", arguments, column))
