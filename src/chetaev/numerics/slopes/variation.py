r"""The variational equations as machine code, together with the equations of motion.

With rates $x' = f(t, x, p)$ a slope $S$ along a direction follows $S' = f_x S + f_p$. The highest jets $u$ solve $A u = b$, rows $r(t, x,
u, p) = 0$ that are linear in them, so their slopes solve $A\,\dot u = -(r_x S + r_p)$ with the same elimination. One forward sweep over the
rows gives the right-hand sides. Several directions are in lanes of the same code and share the values of the motion. After each step the
state is moved onto the constraints; the derivative of that map moves slopes onto the linearised constraints, $C_x S + C_p = 0$.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from sympy import Expr, Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import TIME
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.arithmetic import dense
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.machine.vectors.directions import compile_lanes, lanes_for
from chetaev.numerics.methods import dop853
from chetaev.numerics.slopes.linear import Parameters
from chetaev.numerics.smooth_pieces.piece import Setting

_KERNELS: Remembered[tuple[Kernel, Kernel | None]] = Remembered(64)
_SINGLE: Remembered[Kernel] = Remembered(64)
_ROWS: Remembered[Kernel] = Remembered(64)


def moving_parameters(parameters: Parameters) -> tuple[Symbol, ...]:
    """The parameters that some direction moves, each once."""
    return tuple(dict.fromkeys(p for p in parameters if p is not None))


def wide_kernels(here: Setting, parameters: Parameters, conserve: bool) -> tuple[Kernel, Kernel | None]:
    """Machine code of the rates of state, work and slopes, and of the projection of state and slopes; cached.

    A vector is the state with the work done, then for each jet of the state its slopes, in lanes. Behind p follow, in lanes, the slopes of
    the moving parameters and that of the energy at the start.
    """
    inputs, moved, lanes = tuple(sorted(here.binding.inputs.items())), moving_parameters(parameters), lanes_for(len(parameters))
    key = (tuple(p.name for p in moved), lanes, inputs, conserve)
    return _KERNELS.get(here.compiled, key, lambda: _made(here.flow, moved, inputs, lanes, conserve))


def seeds_of(parameters: Parameters, energies: Array) -> Array:
    """The numbers behind p: one for the parameter of each direction, and the slopes of the energy."""
    moved, lanes = moving_parameters(parameters), lanes_for(len(parameters))
    found = np.zeros((len(moved) + 1, lanes))
    for k, parameter in enumerate(parameters):
        found[:-1, k] = [float(parameter == p) for p in moved]
    found[-1, : len(energies)] = energies
    return found.ravel()


def in_lanes(slopes: Array) -> Array:
    """Slopes, a line for each jet and a column for each direction, in the layout of the integrated vector."""
    found = np.zeros((len(slopes), lanes_for(slopes.shape[1])))
    found[:, : slopes.shape[1]] = slopes
    return found.ravel()


def from_lanes(beside: Array, directions: int) -> Array:
    """The inverse of `in_lanes` along the last axis of an array, as jets x directions."""
    lanes = lanes_for(directions)
    found: Array = beside.reshape(*beside.shape[:-1], beside.shape[-1] // lanes, lanes)[..., :directions]
    return found


def _made(
    flow: Flow, parameters: Sequence[Symbol], inputs: Sequence[tuple[str, Expr]], lanes: int, conserve: bool
) -> tuple[Kernel, Kernel | None]:
    arguments, moving, sown = _sown(flow, parameters, inputs)
    graph, m, places = flow.graph, len(flow.state), (flow.size, len(flow.arguments) + 1, lanes)
    rhs = compile_lanes(_wide(flow, parameters, inputs), *places)
    step = flow.project(conserve)
    if step is None:
        return rhs, None
    moved = step(graph.leaf(TIME), flow.x, flow.p)
    column = ca.vertcat(moved, ca.jtimes(moved[:m], moving, sown))
    return rhs, compile_lanes(graph.function("wide_project", arguments, dense(column)), *places)


def _sown(flow: Flow, parameters: Sequence[Symbol], inputs: Sequence[tuple[str, Expr]]) -> tuple[list[ca.SX], ca.SX, ca.SX]:
    """Time, state with slopes, and p with seeds; the symbols that move along a direction; and their seeds."""
    graph, m, k = flow.graph, len(flow.state), len(parameters)
    slopes, seeds = ca.SX.sym("slopes", m), ca.SX.sym("seeds", k + 1)
    arguments = [graph.leaf(TIME), ca.vertcat(flow.x, slopes), ca.vertcat(flow.p, seeds)]
    moving = ca.vertcat(graph.vector(flow.state), graph.vector(flow.arguments), flow.start_energy)
    return arguments, moving, ca.vertcat(slopes, _argument_seeds(flow, parameters, seeds, dict(inputs)), seeds[k])


def _wide(flow: Flow, parameters: Sequence[Symbol], inputs: Sequence[tuple[str, Expr]]) -> ca.Function:
    """The rates of state, work and the slopes in one direction."""
    arguments, moving, sown = _sown(flow, parameters, inputs)
    power = [flow.power] if flow.has_power else []
    column = ca.vertcat(*flow.rates, *power, rate_slopes(flow, moving, sown))
    return flow.graph.function("wide", arguments, dense(column))


def one_direction(here: Setting, parameters: Parameters) -> Kernel:
    """Machine code of the rates of state, work and the slopes in one direction, as `wide_kernels` has it in several; cached."""
    inputs, moved = tuple(sorted(here.binding.inputs.items())), moving_parameters(parameters)
    key = (tuple(p.name for p in moved), inputs)
    return _SINGLE.get(here.compiled, key, lambda: compile_kernel(_wide(here.flow, moved, inputs), hot=False))


def rate_slopes(flow: Flow, moving: ca.SX, seeds: ca.SX) -> ca.SX:
    """The derivatives of the rates along a seed of the moving symbols."""
    if flow.solved.null:  # for multipliers of least norm the null space moves too
        return ca.jtimes(ca.vertcat(*flow.rates), moving, seeds)
    graph, top = flow.graph, flow.system.structure.top
    tops = ca.vertcat(*[flow.tops[z] for z in top])
    rows = ca.vertcat(*[flow.system.row(pair) for pair in flow.system.stage(0)])
    right = ca.substitute(ca.densify(-ca.jtimes(rows, moving, seeds)), graph.vector(top), tops)
    moved = dict(zip(top, flow.solved.again(_parts(right)), strict=False))
    own = [moved.get(z.d()) for z in flow.state]
    rest = [rate for rate, found in zip(flow.rates, own, strict=True) if found is None]
    others = iter(_parts(ca.densify(ca.jtimes(ca.vertcat(*rest), moving, seeds))) if rest else ())
    return ca.vertcat(*[next(others) if found is None else found for found in own])


def eliminated_rates(here: Setting, parameters: Parameters, times: Array, wide: Array, p: Array) -> tuple[Array, Array]:
    """The rates of slopes in one direction at states, a line each, by an elimination that chooses its pivots at each state, with bounds of
    their errors by the round-off of its coefficients, which have the same formulas as those of the compiled elimination.

    They are NaN where a rate is not an unknown of the rows, and where the rows leave multipliers open.
    """
    flow, top = here.flow, here.flow.system.structure.top
    found, bounds = np.full((2, len(times), len(flow.state)), np.nan)
    inputs, moved = tuple(sorted(here.binding.inputs.items())), moving_parameters(parameters)
    rows = (
        None if flow.solved.null else _ROWS.get(here.compiled, (tuple(q.name for q in moved), inputs), lambda: _rows(flow, moved, inputs))
    )
    first = len(flow.system.equations.system.parameters)
    address = 0 if rows is None else doubting(rows, here.compiled.inputs(here.binding), first)
    if rows is None or not address:
        return found, bounds
    tops, off = _solved(address, rows.n_out, times, np.hstack([wide, np.zeros((len(times), len(top)))]), p, -2)
    moved_tops, own = _solved(address, rows.n_out, times, np.hstack([wide, tops]), p, -1)
    shifted, _ = _solved(address, rows.n_out, times, np.hstack([wide, tops + off]), p, -1)
    own += np.abs(shifted - moved_tops)
    for k, z in enumerate(flow.state):
        if z.d() in top:
            found[:, k], bounds[:, k] = moved_tops[:, top.index(z.d())], own[:, top.index(z.d())]
    return found, bounds


def _solved(address: int, outputs: int, times: Array, wide: Array, p: Array, side: int) -> tuple[Array, Array]:
    """The solution of the rows at each state for one of their two right-hand sides, and a bound of its error by those of the coefficients:
    for A u = b it is |A^-1| (|db| + |dA| |u|).
    """
    both = dop853.evaluate(address, times, wide, p, 2 * outputs)
    upper, lower = both[:, :outputs], both[:, outputs:]
    n = round((1 + outputs) ** 0.5) - 1  # n rows with n coefficients and two sides
    middle, half = ((upper + lower) / 2).reshape(-1, n + 2, n), (np.abs(upper - lower) / 2).reshape(-1, n + 2, n)
    usable = np.flatnonzero(np.isfinite(middle).all(axis=(1, 2)) & np.isfinite(half).all(axis=(1, 2)))
    usable = usable[np.linalg.slogdet(middle[usable, :-2])[0] != 0]
    solution, bounds = np.full((2, len(times), n), np.nan)
    matrices, doubts = middle[usable, :-2].transpose(0, 2, 1), half[usable, :-2].transpose(0, 2, 1)
    solution[usable] = np.linalg.solve(matrices, -middle[usable, side][..., None])[..., 0]
    errors = half[usable, side][..., None] + doubts @ np.abs(solution[usable])[..., None]
    bounds[usable] = (np.abs(np.linalg.inv(matrices)) @ errors)[..., 0]
    return solution, bounds


def _rows(flow: Flow, parameters: Sequence[Symbol], inputs: Sequence[tuple[str, Expr]]) -> Kernel:
    """The matrix of the rows, their remainder without tops, and their derivative along a direction; the tops follow the slopes of the
    state.
    """
    (t, state, p), moving, sown = _sown(flow, parameters, inputs)
    graph, top = flow.graph, flow.system.structure.top
    rows, unknown = ca.vertcat(*[flow.system.row(pair) for pair in flow.system.stage(0)]), graph.vector(top)
    table = ca.horzcat(ca.jacobian(rows, unknown), graph.without(rows, top), ca.jtimes(rows, moving, sown))
    return compile_kernel(graph.function("rows", [t, ca.vertcat(state, unknown), p], ca.vec(dense(table))), hot=False)


def _parts(column: ca.SX) -> list[ca.SX]:
    return [column[k] for k in range(column.numel())]


def _argument_seeds(flow: Flow, parameters: Sequence[Symbol], seeds: ca.SX, inputs: dict[str, Expr]) -> ca.SX:
    """The derivatives of parameters and jets of inputs along the moving parameters."""
    own = len(flow.arguments) - len(flow.inputs)
    seed = dict(zip(parameters, _parts(seeds), strict=False))
    column = [seed.get(z, ca.SX(0)) for z in flow.arguments[:own]]
    for z in flow.inputs:
        u = total_derivative(inputs[z.base], z.order)
        column.append(sum((flow.graph.of(u.diff(p)) * seed[p] for p in parameters if p in u.free_symbols), ca.SX(0)))
    return ca.vertcat(*column) if column else ca.SX(0, 1)
