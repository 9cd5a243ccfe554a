"""Kernels of one set of equations for one order of elimination, with a lower limit of the pivots for each member.

The limit of a member is relative to its smallest pivot where its order was chosen, so it is an entry of its vector p. Kernels are cached by
equations and order: a second ensemble of the same equations compiles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from sympy import Expr

from chetaev.core.symbols import TIME, Input
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.enclosures.kernels import bounds_kernel
from chetaev.numerics.flow.compiled import Compiled
from chetaev.numerics.flow.elimination import PivotOrder
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.magnitude import magnitudes
from chetaev.numerics.machine.kernels import Kernel, compile_kernel


@dataclass(frozen=True)
class Pivoted:
    """Kernels for one order of elimination."""

    compiled: Compiled
    watch: Kernel
    """The determinant, whether the pivots are above their limit; then, for every mode that can change, its function times its sign,
    which becomes negative beyond the corner."""
    pivots: Kernel
    """The determinant and the smallest pivot."""
    jacobian: Kernel
    surfaces: Kernel
    """The switching functions of all modes, then the sums of their terms' sizes, then their rates."""
    changing: int
    """How many modes can change."""
    bounds: Kernel | None
    """Bounds of these functions over a tube."""
    places: tuple[int, ...]
    """The index of each function among the bounds; -1 for none."""
    timed: bool
    """Whether a corner depends on time alone: error control, which compares states, does not react before it."""


_PIVOTED: Remembered[Pivoted] = Remembered(64)


def pivoted(switched: Switched, base: Compiled, order: PivotOrder | None = None) -> Pivoted:
    """Return the kernels for an order of elimination, by default that of `base`; cached."""
    return _PIVOTED.get(base, (switched, order), lambda: _pivoted(switched, base, order))


def _pivoted(switched: Switched, base: Compiled, order: PivotOrder | None) -> Pivoted:
    compiled = base if order is None or order == base.flow.order else _with_order(base, order)
    flow = compiled.flow
    functions = [_on_flow(flow, mode.function, switched) for mode in switched.modes]
    rates = [flow.with_inputs(flow.rate_of(e), switched.inputs) for e in functions]
    changing = [(mode, e) for mode, e in zip(switched.modes, functions, strict=True) if not mode.constant]
    signed = [flow.graph.leaf(mode.symbol) * e for mode, e in changing]
    bounds, known = bounds_kernel(flow, [mode.symbol * switched.replaced(mode.function) for mode, _ in changing], switched.inputs)
    jacobian = flow.function([e for line in flow.system.structure.jacobian for e in line], "jacobian")
    return Pivoted(
        compiled,
        compile_kernel(_watch(flow, flow.watch(signed)), hot=False),
        compiled.watch(),
        compile_kernel(jacobian, hot=False),
        compile_kernel(flow.function([*functions, *magnitudes(functions), *rates], "surfaces"), hot=False),
        len(changing),
        bounds,
        tuple(k if found else -1 for k, found in enumerate(known)),
        any(z == TIME or isinstance(z, Input) for _, e in changing for z in flow.graph.symbols(e)),
    )


def _on_flow(flow: Flow, e: Expr, switched: Switched) -> ca.SX:
    """An expression on the state, with those inputs written out that are no arguments of the flow."""
    return flow.with_inputs(flow.on_state(flow.graph.of(switched.replaced(e))), switched.inputs)


def _with_order(base: Compiled, order: PivotOrder) -> Compiled:
    """The kernels for another order of elimination; the projection does not depend on it."""
    flow = Flow(base.flow.system, order, base.flow.samples, residues=base.flow.residues, freeze=base.flow.freeze)
    return Compiled(flow, compile_kernel(flow.rhs()), base.project, compile_kernel(flow.measure()[0], hot=False), base.labels)


def _watch(flow: Flow, plain: ca.Function) -> ca.Function:
    """Replace the smallest pivot by a function that is 0 below the limit, which follows the energy in p, and 1 above."""
    length = len(flow.arguments) + 1
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", plain.size1_in(1)), ca.SX.sym("p", length + 1)
    found = plain(t, x, p[:length])
    below = found[1] < p[length]
    return ca.Function("watch", [t, x, p], [ca.densify(ca.vertcat(found[0], 1 - below, found[2:]))], {"cse": True})
