r"""The nonlinear program of a steering problem on a mesh, and its solution by IPOPT.

Unknowns are the states at nodes and collocation points, the top jets $y$ at collocation points, the inputs, and the duration, all in
typical sizes. At each collocation point $\dot x = f(x, y)$ and $A(x) y + b(x, u) = 0$. Where constraints restrict the state, the state at
the end of an interval is projected onto them, $x_{k+1} = z_k + G^T \mu_k$ with $h(x_{k+1}) = 0$, as the integrators of this library do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from chetaev.paths.optimal.mesh import STAGES, Mesh, basis_at, collocation, jets_on, unknowns_of
from chetaev.paths.optimal.problem import Array, Problem
from chetaev.paths.optimal.sizes import Sizes
from chetaev.paths.optimal.work import ENTRIES_PER_SECOND, Work

_TOLERANCE = 1e-10
"""Tolerance of the program in typical sizes; it must be below the error of the mesh."""
_ITERATIONS = (250, 400)
"""Largest numbers of iterations of the interior-point method, from a first path and from a path on another mesh. A first path that needs
more seldom leads to a solution."""
_NARROWEST = 0.1
"""Least fraction of an adjacent interval that remains when a node moves."""
SHORTEST = 1e-3
"""Shortest duration relative to the first one, if the final time is free."""
LONGEST = 1e3
"""Longest duration relative to the first one, if the final time is free."""
_LONGEST_PULL = 0.1
"""Largest multiplier of the projection at a node, in typical sizes: a larger one could reach another sheet of the constraints."""
_SHORTEST_CALL = 0.1
"""Processor time, in seconds, that IPOPT gets at least; it refuses to run without any."""
_ENOUGH = ("Solve_Succeeded", "Solved_To_Acceptable_Level")
_MOST_ITERATIONS = "Maximum_Iterations_Exceeded"
BY_CLOCK, OUT_OF_WORK = "Maximum_CpuTime_Exceeded", "Out_Of_Work"
"""The words for a program that the clock ended, as IPOPT says it, and for one that exhausted the budget."""
_ACCEPTABLE, _ACCEPTABLE_VIOLATION = 1e-8, 1e-9
"""Scaled errors of the optimality conditions and of the constraints with which IPOPT may end after several iterations without progress;
larger ones would pass unfinished paths to the checks."""
_WARM_BARRIER, _WARM_PUSH = 1e-4, 1e-6
"""The first barrier parameter of IPOPT, and the distance to which it moves variables from their bounds, where a program begins at the
solution on the mesh before. Larger ones move the path far from that solution."""


@dataclass(frozen=True, eq=False)
class Path:
    """A discrete path, in the user's units."""

    mesh: Mesh
    duration: float
    nodes: Array
    """States at the nodes: jets x (intervals + 1)."""
    stages: Array
    """States at the collocation points: jets x (intervals * STAGES)."""
    tops: Array
    inputs: tuple[Array, ...]
    """The unknowns of each input (`mesh.jets_on`)."""

    def interpolated(self, s: Array) -> tuple[Array, Array]:
        """The states and their derivatives with respect to s = (t - t0)/duration at the fractions `s` of the duration."""
        edges, n = self.mesh.nodes, len(self.nodes)
        which = np.clip(np.searchsorted(edges, s, side="right") - 1, 0, len(self.mesh) - 1)
        tau, width = (s - edges[which]) / self.mesh.widths[which], self.mesh.widths[which]
        values = np.concatenate([self.nodes[:, :-1, None], self.stages.reshape(n, len(self.mesh), STAGES)], axis=2)[:, which]
        basis, slopes = basis_at(tau)
        return np.einsum("ijk,jk->ij", values, basis), np.einsum("ijk,jk->ij", values, slopes) / width

    def input_jets(self, orders: tuple[int, ...], taus: Array) -> Array:
        """The jets of all inputs at the fractions `taus` of every interval, in an array jets x (intervals * fractions)."""
        h = ca.DM(self.duration * self.mesh.widths).T
        rows = [r for order, u in zip(orders, self.inputs, strict=True) for r in jets_on(order, ca.DM(u), len(self.mesh), taus, h)]
        return np.array(ca.vertcat(*rows)) if rows else np.zeros((0, len(self.mesh) * len(taus)))


@dataclass(frozen=True)
class Found:
    """The result of IPOPT."""

    path: Path
    cost: float
    solved: bool
    status: str
    violation: float
    """The largest residual of an equation, in typical sizes."""
    missed: tuple[float, ...] = ()
    """The residual of each condition at the end, if they were relaxed."""


@dataclass(frozen=True)
class Ends:
    """The data of the two ends: which conditions and hidden rows are independent there."""

    start: Array | None
    """The whole state at the start, if it is known."""
    start_conditions: tuple[int, ...]
    start_hidden: tuple[int, ...]
    end_conditions: tuple[int, ...]


class Transcription:
    """The program of a problem; one object serves all meshes."""

    def __init__(self, problem: Problem, sizes: Sizes, ends: Ends) -> None:
        self.problem, self.sizes, self.ends = problem, sizes, ends
        self.n, self.m = len(problem.state), len(problem.tops)
        self._dynamics = self._scaled("dynamics", [*problem.xdot, *problem.rows])
        self._others = self._scaled("others", [problem.integrand, *problem.relations])
        self._hidden = self._scaled("hidden", problem.hidden)
        self._start = self._ends("start", problem.start)
        self._end = self._ends("end", problem.end)
        self.row_scales, self.hidden_scales = 1 / sizes.rows, self._gradient_sizes(self._hidden)
        self.start_scales, self.end_scales = self._gradient_sizes(self._start), self._gradient_sizes(self._end)
        self.relation_scales = self._gradient_sizes(self._others)[1:]

    def _scaled(self, name: str, expressions: Any) -> ca.Function:
        """A function of state, top jets and inputs in typical sizes, and of time in the user's unit."""
        return self._in_sizes(self.problem.function(name, expressions))

    def _ends(self, name: str, conditions: Any) -> ca.Function:
        return self._in_sizes(self.problem.of_state(name, conditions))

    def _in_sizes(self, f: ca.Function) -> ca.Function:
        sizes, problem = self.sizes, self.problem
        units = np.repeat(sizes.u, [order + 1 for order in problem.orders])
        t, x, y, w = ca.SX.sym("t"), ca.SX.sym("x", self.n), ca.SX.sym("y", self.m), ca.SX.sym("w", len(units))
        return ca.Function(f.name(), [t, x, y, w], [f(t, x * sizes.x, y * sizes.y, w * units)], {"cse": True})

    def _gradient_sizes(self, f: ca.Function) -> Array:
        """Factors that make the slopes of rows in the state of order one, at random states of typical size."""
        count = f.size1_out(0)
        if not count:
            return np.zeros(0)
        t, x, y, w = (ca.SX.sym(name, f.size1_in(k)) for k, name in enumerate("txyw"))
        slopes = ca.Function("slopes", [t, x, y, w], [ca.densify(ca.jacobian(f(t, x, y, w), ca.vertcat(x, y, w)))])
        chance = np.random.default_rng(3)
        largest = np.zeros(count)
        for _ in range(8):
            at = [chance.uniform(-1, 1, f.size1_in(k)) for k in (1, 2, 3)]
            found = np.abs(np.array(slopes(self.problem.t0, *at)))
            largest = np.maximum(largest, np.nan_to_num(found, posinf=0.0).max(axis=1, initial=0.0))
        return np.where(largest > 0, 1 / np.where(largest > 0, largest, 1.0), 1.0)

    # -- the program

    def solve(
        self, guess: Path, work: Work, seconds: float, *, relaxed: bool = False, warm: bool = False, margins: Array | None = None
    ) -> Found:
        """Solve the program on the mesh of a guess, with at most `seconds` of the budget `work`.

        With `relaxed`, violations of the conditions at the end are penalised instead of forbidden. `margins` are the least values of the
        relations in typical sizes, in an array relations x intervals.
        """
        program = _Program(self, guess.mesh, guess.duration, relaxed, margins)
        entries = max(1, ca.jacobian_sparsity(program.g, program.v).nnz())
        affordable = max(1, int(seconds * ENTRIES_PER_SECOND / entries))
        options: dict[str, Any] = {
            "ipopt.print_level": 0,
            "print_time": False,
            "ipopt.sb": "yes",
            "ipopt.tol": _TOLERANCE,
            "ipopt.constr_viol_tol": _TOLERANCE,
            "ipopt.acceptable_tol": _ACCEPTABLE,
            "ipopt.acceptable_constr_viol_tol": _ACCEPTABLE_VIOLATION,
            "ipopt.max_iter": min(_ITERATIONS[warm], affordable),
            "ipopt.max_cpu_time": max(work.time_left, _SHORTEST_CALL),
            "ipopt.mu_strategy": "adaptive",
            "ipopt.bound_relax_factor": 0.0,
            "ipopt.fixed_variable_treatment": "make_parameter",
            "error_on_fail": False,
            "show_eval_warnings": False,
        }
        if warm:
            options |= {"ipopt.mu_strategy": "monotone", "ipopt.mu_init": _WARM_BARRIER}
            options |= {"ipopt.bound_push": _WARM_PUSH, "ipopt.bound_frac": _WARM_PUSH}
        solver = ca.nlpsol("steer", "ipopt", {"x": program.v, "f": program.objective, "g": program.g}, options)
        found = solver(x0=program.packed(guess), lbx=program.lower, ubx=program.upper, lbg=program.least, ubg=program.most)
        status, iterations = str(solver.stats()["return_status"]), int(solver.stats()["iter_count"])
        work.did(iterations + 1, entries)
        work.by_clock = work.by_clock or status == BY_CLOCK
        if status == _MOST_ITERATIONS and affordable < _ITERATIONS[warm]:
            status = OUT_OF_WORK
        g, v = np.array(found["g"]).ravel(), np.array(found["x"]).ravel()
        low, high = np.array(program.least), np.array(program.most)
        outside = np.maximum(np.maximum(low - g, g - high), 0.0)
        violation = float(np.nan_to_num(outside, nan=np.inf).max(initial=0.0))
        path = program.unpacked(v, guess.mesh)
        cost = float(program.cost_at(v))
        return Found(path, cost, status in _ENOUGH and np.isfinite(cost), status, violation, program.missed(v) if relaxed else ())


class _Program:
    """Symbols, equations and bounds on one mesh."""

    def __init__(self, owner: Transcription, mesh: Mesh, duration: float, relaxed: bool, margins: Array | None) -> None:
        self.owner, self.mesh, self.relaxed = owner, mesh, relaxed
        p, s, n, m, count = owner.problem, owner.sizes, owner.n, owner.m, len(mesh)
        self.h_count = len(p.hidden)
        points = count * STAGES
        x, z, y = ca.MX.sym("x", n, count + 1), ca.MX.sym("z", n, points), ca.MX.sym("y", m, points)
        us = [ca.MX.sym(f"u{k}", unknowns_of(order, count)) for k, order in enumerate(p.orders)]
        time, widths, mu = ca.MX.sym("T"), ca.MX.sym("w", count), ca.MX.sym("mu", self.h_count, count)
        slack = ca.MX.sym("slack", 2 * len(owner.ends.end_conditions) if relaxed else 0)
        self.parts = [x, z, y, *us, time, widths, mu, slack]
        self.v = ca.vertcat(*[ca.vec(part) for part in self.parts])
        self._equations: list[Any] = []
        self.least: list[float] = []
        self.most: list[float] = []
        c, slopes, weights = collocation()
        spread = ca.kron(ca.DM.eye(count), ca.DM.ones(1, STAGES))
        h = s.duration * time * widths.T
        starts = ca.horzcat(0, ca.cumsum(widths[:-1].T)) if count > 1 else ca.MX(1, 1)
        times = p.t0 + s.duration * time * (starts @ spread + (widths.T @ spread) * ca.DM(np.tile(c, count)).T)
        w = self._jets(us, c, h / s.duration, points)
        out = owner._dynamics.map(points)(times, z, y, w)
        rates = ca.DM(1 / s.x) * out[:n, :]
        defects = x[:, :count] @ ca.kron(ca.DM.eye(count), ca.DM(slopes[:1])) + z @ ca.kron(ca.DM.eye(count), ca.DM(slopes[1:]))
        self._equal(defects - rates * ca.repmat(h @ spread, n, 1))
        if m:
            self._equal(ca.DM(owner.row_scales) * out[n:, :])
        last = z @ ca.kron(ca.DM.eye(count), ca.DM([[0.0]] * (STAGES - 1) + [[1.0]]))
        at_nodes = self._jets_at_nodes(us, h / s.duration)
        node_times = p.t0 + s.duration * time * ca.horzcat(0, ca.cumsum(widths.T))
        self._nodes(x, last, mu, at_nodes, node_times)
        self._at_ends(x, at_nodes, node_times, slack)
        others = owner._others.map(points)(times, z, y, w)
        if p.path:
            self._between(ca.DM(owner.relation_scales) * others[1:, :], 0.0, np.inf)
            if margins is not None:
                self.least[-len(p.path) * points :] = np.repeat(margins, STAGES, axis=1).ravel(order="F").tolist()
        for u, order in zip(us, p.orders, strict=True):
            self._joined(u, order, count, h / s.duration)
        cost = ca.sum2(others[0, :] * (h @ spread) * ca.DM(np.tile(weights, count)).T)
        self._movable(widths)
        self.g = ca.vertcat(*self._equations)
        self._cost = ca.Function("cost", [self.v], [cost])
        self._bounds()
        self.objective = ca.sum1(slack) if relaxed else cost / self._cost_size(duration)

    def cost_at(self, v: Array) -> float:
        """The integral of the cost."""
        return float(self._cost(v))

    def _jets(self, us: list[Any], taus: Array, h: Any, points: int) -> Any:
        """The jets of inputs, in units of their sizes and of the user's time."""
        rows: list[Any] = []
        size = self.owner.sizes.duration
        for order, u in zip(self.owner.problem.orders, us, strict=True):
            rows += [row / size**k for k, row in enumerate(jets_on(order, u, len(self.mesh), taus, h))]
        return ca.vertcat(*rows) if rows else ca.MX(0, points)

    def _jets_at_nodes(self, us: list[Any], h: Any) -> Any:
        count = len(self.mesh)
        both = self._jets(us, np.array([0.0, 1.0]), h, 2 * count)
        return ca.horzcat(both[:, ::2], both[:, -1])

    def _nodes(self, x: Any, last: Any, mu: Any, w: Any, times: Any) -> None:
        """The equations of the states at the ends of intervals, which are projected where rows restrict them."""
        owner, count, n = self.owner, len(self.mesh), self.owner.n
        if not self.h_count:
            self._equal(x[:, 1:] - last)
            return
        t, a, b, q, e = ca.SX.sym("t"), ca.SX.sym("x", n), ca.SX.sym("y", owner.m), ca.SX.sym("w", w.size1()), ca.SX.sym("mu", self.h_count)
        rows = ca.DM(owner.hidden_scales) * owner._hidden(t, a, b, q)
        slopes = ca.jacobian(rows, a) * ca.DM(owner.problem.pulled)
        pull = ca.Function("pull", [t, a, b, q, e], [slopes.T @ e])
        nothing = ca.DM.zeros(owner.m, count)
        self._equal(x[:, 1:] - last - pull.map(count)(times[:, 1:], last, nothing, w[:, 1:], mu))
        held = ca.Function("held", [t, a, b, q], [rows])
        self._equal(held.map(count)(times[:, 1:], x[:, 1:], nothing, w[:, 1:]))
        first = held(times[:, 0], x[:, 0], ca.DM.zeros(owner.m, 1), w[:, 0])
        chosen = list(owner.ends.start_hidden)
        if chosen:
            self._equal(first[chosen])

    def _at_ends(self, x: Any, w: Any, times: Any, slack: Any) -> None:
        owner = self.owner
        nothing = ca.DM.zeros(owner.m, 1)
        chosen = list(owner.ends.start_conditions)
        if owner.ends.start is None and chosen:
            self._equal((ca.DM(owner.start_scales) * owner._start(times[:, 0], x[:, 0], nothing, w[:, 0]))[chosen])
        kept = list(owner.ends.end_conditions)
        if kept:
            left = (ca.DM(owner.end_scales) * owner._end(times[:, -1], x[:, -1], nothing, w[:, -1]))[kept]
            self._equal(left - slack[: len(kept)] + slack[len(kept) :] if self.relaxed else left)

    def _joined(self, u: Any, order: int, count: int, h: Any) -> None:
        """The equations that the slopes of a cubic spline agree at inner nodes."""
        if order == 2:
            low, high = jets_on(2, u, count, np.array([0.0]), h)[1], jets_on(2, u, count, np.array([1.0]), h)[1]
            self._equal(low[:, 1:] - high[:, :-1])

    def _movable(self, widths: Any) -> None:
        """The equations that intervals between fixed nodes keep their common length."""
        groups = self.groups()
        for group in groups:
            if len(group) > 1:
                self._equal(ca.sum1(widths[group]) - float(self.mesh.widths[group].sum()))

    def groups(self) -> list[list[int]]:
        """Groups of the intervals between two fixed nodes."""
        found = [[0]]
        for k, moves in enumerate(self.mesh.movable):
            if moves:
                found[-1].append(k + 1)
            else:
                found.append([k + 1])
        return found

    def _equal(self, e: Any) -> None:
        self._between(e, 0.0, 0.0)

    def _between(self, e: Any, low: float, high: float) -> None:
        count = e.numel()
        self._equations.append(ca.vec(e))
        self.least += [low] * count
        self.most += [high] * count

    def _bounds(self) -> None:
        p, s, count = self.owner.problem, self.owner.sizes, len(self.mesh)
        low, high = [], []
        for part in self.parts:
            low.append(np.full(part.numel(), -np.inf))
            high.append(np.full(part.numel(), np.inf))
        if self.owner.ends.start is not None:
            low[0][: self.owner.n] = high[0][: self.owner.n] = self.owner.ends.start / s.x
        for k, (each, order) in enumerate(zip(p.steered, p.orders, strict=True)):
            size = 2 * count if order == 0 else count + 1
            low[3 + k][:size], high[3 + k][:size] = each.low / s.u[k], each.high / s.u[k]
            if order == 2:
                for end in (count + 1, 2 * count + 1):
                    low[3 + k][end] = high[3 + k][end] = 0.0
        at = 3 + len(p.steered)
        low[at][:] = max(p.shortest, 0.0 if p.fixed_time else SHORTEST * s.duration) / s.duration
        high[at][:] = min(p.longest, p.longest if p.fixed_time else max(LONGEST * s.duration, p.shortest)) / s.duration
        moving = np.zeros(count, dtype=bool)
        for group in self.groups():
            moving[group] = len(group) > 1
        low[at + 1][:] = np.where(moving, _NARROWEST * self.mesh.widths, self.mesh.widths)
        high[at + 1][:] = np.where(moving, 1.0, self.mesh.widths)
        low[at + 2][:], high[at + 2][:] = -_LONGEST_PULL, _LONGEST_PULL
        low[at + 3][:] = 0.0
        self.lower, self.upper = np.concatenate(low), np.concatenate(high)

    def _cost_size(self, duration: float) -> float:
        """A typical cost: that of states and inputs of typical size."""
        owner, chance = self.owner, np.random.default_rng(5)
        if owner.problem.cost is None:
            return duration
        found = []
        for _ in range(8):
            at = [chance.uniform(-1, 1, owner._others.size1_in(k)) for k in (1, 2, 3)]
            found.append(abs(float(np.array(owner._others(owner.problem.t0, *at)).ravel()[0])))
        good = [v for v in found if np.isfinite(v) and v > 0]
        return float(np.median(good)) * duration if good else 1.0

    # -- between arrays and vectors

    def packed(self, path: Path) -> Array:
        """The unknowns of a path."""
        s, orders = self.owner.sizes, self.owner.problem.orders
        parts = [(path.nodes / s.x[:, None]).ravel(order="F"), (path.stages / s.x[:, None]).ravel(order="F")]
        parts.append((path.tops / s.y[:, None]).ravel(order="F"))
        parts += [u / self._unit(k, order) for k, (u, order) in enumerate(zip(path.inputs, orders, strict=True))]
        parts += [np.array([path.duration / s.duration]), path.mesh.widths, np.zeros(self.h_count * len(self.mesh))]
        found = np.concatenate([*parts, np.zeros(self.parts[-1].numel())])
        return np.clip(found, self.lower, self.upper)

    def unpacked(self, v: Array, mesh: Mesh) -> Path:
        """The path of a vector of unknowns."""
        s, orders, at, found = self.owner.sizes, self.owner.problem.orders, 0, []
        for part in self.parts:
            found.append(v[at : at + part.numel()].reshape(part.shape, order="F"))
            at += part.numel()
        x, z, y = (part * size[:, None] for part, size in zip(found[:3], (s.x, s.x, s.y), strict=True))
        us = []
        for k, (each, order) in enumerate(zip(self.owner.problem.steered, orders, strict=True)):
            u, size = found[3 + k].ravel() * self._unit(k, order), 2 * len(mesh) if order == 0 else len(mesh) + 1
            u[:size] = np.clip(u[:size], each.low, each.high)
            us.append(u)
        time, widths = float(found[3 + len(us)][0, 0]) * s.duration, found[4 + len(us)].ravel()
        return Path(replace(mesh, widths=widths / widths.sum()), time, x, z, y, tuple(us))

    def _unit(self, k: int, order: int) -> Array:
        """The units of the unknowns of an input."""
        s, count = self.owner.sizes, len(self.mesh)
        unit = np.full(unknowns_of(order, count), s.u[k])
        if order == 2:
            unit[count + 1 :] /= s.duration**2
        return unit

    def missed(self, v: Array) -> tuple[float, ...]:
        """The residuals of the relaxed conditions at the end, in the units of the conditions."""
        kept, slack = list(self.owner.ends.end_conditions), v[len(v) - self.parts[-1].numel() :]
        return tuple(float(slack[j] - slack[len(kept) + j]) / self.owner.end_scales[k] for j, k in enumerate(kept))
