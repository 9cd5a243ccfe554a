"""Check a path by simulation: the inputs as samples, the motion that they cause, and its errors at the end and along the path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from scipy.linalg import qr

from chetaev.core.errors import ChetaevError
from chetaev.core.sampled import Sampled
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.driving.polynomials import Polynomials, polynomials_of
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.paths.optimal.mesh import Mesh
from chetaev.paths.optimal.problem import Array, Problem
from chetaev.paths.optimal.sizes import Sizes
from chetaev.paths.optimal.transcription import Path

DENSE = 24
"""Number of times in each interval at which relations are evaluated on the simulated motion."""
_CONTINUOUS = 1e-9
"""Jump of an input between intervals, relative to its size, below which the input counts as continuous."""
_MOST_STEPS = 20_000
"""Largest number of steps of the simulation: more mean that the inputs lead to a singular state."""
_GAUSS = 5
"""Points of the Gauss rule in each interval for the cost: order 10."""
_DEPENDENT_ROW = 1e-9
"""Relative to the largest pivot: hidden rows with a smaller one determine no further jet of the start."""


@dataclass(frozen=True, init=False, repr=False)
class Drive(Sampled):
    """Samples of an input that was found; a function of time, and an input of `simulate`."""

    def __call__(self, t: float) -> float:
        """The value at a time."""
        return self._polynomials(float(t))

    @cached_property
    def _polynomials(self) -> Polynomials:
        return polynomials_of(self)


@dataclass(frozen=True, eq=False)
class Checked:
    """A simulated path."""

    motion: Trajectory | None
    inputs: dict[str, Drive]
    cost: float
    missed: Array
    """For each condition at the end, its value on the simulated motion minus the required value."""
    missed_sizes: Array
    """Typical sizes of these conditions."""
    distance: float
    """The largest distance of states at nodes between path and motion, in typical sizes."""
    violated: Array
    """The least value of each relation over the sampled times; negative if it fails."""
    where_violated: Array
    """The least value of each relation in each interval, in typical sizes: relations x intervals."""
    problem: str = ""
    """Why the simulation failed; empty if it did not."""

    @property
    def violation(self) -> float:
        """The largest violation of a relation, in typical sizes."""
        return max(0.0, -float(self.where_violated.min(initial=0.0)))

    @property
    def miss(self) -> float:
        """The largest relative miss of the end."""
        return float((np.abs(self.missed) / self.missed_sizes).max(initial=0.0))


def drives(problem: Problem, sizes: Sizes, path: Path) -> dict[str, Drive]:
    """The inputs of a path as samples."""
    times = problem.t0 + path.duration * path.mesh.nodes
    n, found = len(path.mesh), {}
    for k, (each, order, u) in enumerate(zip(problem.steered, problem.orders, path.inputs, strict=True)):
        if order == 0:
            ts, vs = [times[0]], [u[0]]
            for j in range(1, n):
                before, after = u[n + j - 1], u[j]
                if abs(before - after) > _CONTINUOUS * sizes.u[k]:
                    ts += [times[j], times[j]]
                    vs += [before, after]
                else:
                    ts.append(times[j])
                    vs.append((before + after) / 2)
            found[each.name] = Drive([*ts, times[n]], [*vs, u[2 * n - 1]], "linear", "an optimal input")
        else:
            found[each.name] = Drive(times, u[: n + 1], "linear" if order == 1 else "cubic", "an optimal input")
    return found


def check(problem: Problem, sizes: Sizes, path: Path, scales: tuple[Array, Array], tolerance: float) -> Checked:
    """Simulate the inputs of a path and compare; `scales` are the typical sizes of the conditions at the end and of the relations."""
    inputs = drives(problem, sizes, path)
    ends, relation_scales = scales
    start = _start(problem, path)
    t1 = problem.t0 + path.duration
    parameters = {z.name: v for z, v in problem.binding.parameters.items()}
    nothing = np.zeros(0)
    motion: Trajectory | None = None
    reason = ""
    # jets of a system that starts at rest are almost zero; if errors relative to them are too strict, use the sizes of the path
    for scale in (None, {z.name: float(size) for z, size in zip(problem.state, sizes.x, strict=True)}):
        try:
            motion = simulate(
                problem.equations,
                start,
                (problem.t0, t1),
                parameters=parameters,
                inputs=dict(inputs),
                tolerance=tolerance,
                scale=scale,
                max_steps=_MOST_STEPS,
                progress=False,
            )
        except ChetaevError as fault:
            reason = str(fault.what)
            break
        if motion.outcome is Outcome.FINISHED:
            break
        reason = motion.message
    if motion is None or motion.outcome is not Outcome.FINISHED:
        return Checked(motion, inputs, np.inf, nothing, nothing, np.inf, nothing, np.zeros((0, len(path.mesh))), reason)
    reading = _Reading(problem, motion, inputs)
    node_times = np.clip(problem.t0 + path.duration * path.mesh.nodes, problem.t0, t1)
    distance = float((np.abs(reading.states(node_times) - path.nodes) / sizes.x[:, None]).max(initial=0.0))
    last, jets = reading.states(np.array([t1]))[:, 0], reading.jets(t1, False)
    missed = np.array(problem.of_state("missed", problem.end)(t1, last, np.zeros(len(problem.tops)), jets)).ravel()
    least, by_interval = _relations(problem, path.mesh, path.duration, reading, relation_scales)
    return Checked(motion, inputs, _cost(problem, path, reading), missed, 1 / ends, distance, least, by_interval)


def _start(problem: Problem, path: Path) -> dict[str, float]:
    """The start of the simulation, without the jets that constraints and inputs determine: their rounded values would contradict these."""
    x = path.nodes[:, 0]
    given = {z.name: float(v) for z, v in zip(problem.state, x, strict=True)}
    if not problem.driven:
        return given
    graph = problem.flow.graph
    slopes = ca.densify(ca.jacobian(ca.vertcat(*problem.hidden), graph.vector(problem.state)))
    w = path.input_jets(problem.orders, np.array([0.0]))[:, 0]
    table = np.array(problem.function("slopes", ca.vertsplit(ca.vec(slopes)))(problem.t0, x, np.zeros(len(problem.tops)), w))
    matrix = table.reshape(len(problem.hidden), len(problem.state), order="F")
    _, r, columns = qr(matrix, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > _DEPENDENT_ROW * max(abs(float(r[0, 0])), ALMOST_ZERO)).sum())
    for k in columns[:rank]:
        del given[problem.state[k].name]
    return given


class _Reading:
    """Evaluates states, jets of inputs and functions along a simulated motion."""

    def __init__(self, problem: Problem, motion: Trajectory, inputs: dict[str, Drive]) -> None:
        self.problem, self.motion = problem, motion
        self._polynomials = [polynomials_of(inputs[each.name]) for each in problem.steered]

    def states(self, times: Array) -> Array:
        """The states at some times, in an array jets x times."""
        section = self.motion.at(times)
        return np.array([np.asarray(section[z.name], float) for z in self.problem.state]).reshape(len(self.problem.state), len(times))

    def jets(self, t: float, forward: bool) -> Array:
        """The jets of inputs just after time `t` if `forward`, else just before it."""
        found = []
        for polynomial, order in zip(self._polynomials, self.problem.orders, strict=True):
            centre, half, *c = polynomial.numbers(polynomial.index(t, forward))
            for k in range(order + 1):
                found.append(np.polynomial.polynomial.polyval((t - centre) / half, np.polynomial.polynomial.polyder(c, k)) / half**k)
        return np.array(found)

    def values(self, f: ca.Function, times: Array, forward: bool = True) -> Array:
        """A function of the problem along the motion."""
        x, w = self.states(times), np.column_stack([self.jets(float(t), forward) for t in times])
        return np.array(f.map(len(times))(times[None, :], x, self.problem.tops_along(times, x, w), w))


def _relations(problem: Problem, mesh: Mesh, duration: float, reading: _Reading, scales: Array) -> tuple[Array, Array]:
    """The least values of the relations, and their least values in each interval in typical sizes."""
    if not problem.path:
        return np.zeros(0), np.zeros((0, len(mesh)))
    f = problem.function("relations", problem.relations)
    inner = (np.arange(DENSE) + 0.5) / DENSE
    s = (mesh.nodes[:-1, None] + mesh.widths[:, None] * inner).ravel()
    values = reading.values(f, problem.t0 + duration * s)
    by_interval = (values * scales[:, None]).reshape(len(scales), len(mesh), DENSE).min(axis=2)
    return values.min(axis=1), by_interval


def _cost(problem: Problem, path: Path, reading: _Reading) -> float:
    """The integral of the cost along the simulated motion."""
    if problem.cost is None:
        return path.duration
    f = problem.function("integrand", [problem.integrand])
    nodes, weights = np.polynomial.legendre.leggauss(_GAUSS)
    s = (path.mesh.nodes[:-1, None] + path.mesh.widths[:, None] * (nodes + 1) / 2).ravel()
    values = reading.values(f, problem.t0 + path.duration * s)[0]
    return float(np.sum(values.reshape(len(path.mesh), _GAUSS) * weights * path.mesh.widths[:, None] / 2) * path.duration)
