r"""The flow of a system over a time, with its derivative, on the manifold of states.

States are vectors $x$ of all jets of the state; constraints confine them to a manifold. Directions tangent to it are the columns of an
orthonormal basis $Q$, in units in which the jets of a motion have similar sizes, so that lengths and angles are meaningful. The entries of
a group element, such as a quaternion, are part of the vector, and the fields of the group are their tangent directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import ModelError, StateError, UnfinishedError, UsageError, about
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.state import State
from chetaev.core.symbols import TIME, Input
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.ranks.split import split
from chetaev.numerics.flow.prolongation import Problem, prolongation
from chetaev.numerics.graphs.binding import bind, number
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.numerics.prepared import end_and_slopes, prepare
from chetaev.numerics.stability.position import fields
from chetaev.numerics.stability.position import normalised as on_their_groups

Array = NDArray[np.float64]

_DEPENDENT_ROW = 1e-9
"""Relative to the largest singular value of the constraint slopes, in rows of length 1: smaller ones belong to dependent rows."""
_MOST_ITERATIONS = 20
"""Limit of Newton's iterations onto the constraints; from nearby three are enough."""
_SAME_RATES = 1e-7
"""Largest relative difference of rates one period later; with a larger one the equations do not repeat."""
_STATES_TRIED = 3
"""Number of random states at which rates one period later are compared; rates that do not repeat may agree at one of them by chance."""
_ROTATION_DIMENSION = 3
"""The dimension of the rotations that a quaternion stores with four numbers."""
_LEAST_SIZE_IN_ORDER = 1e-2
"""Least size of a jet relative to the largest of its order, which sets the unit of jets that are zero all the time."""
_ON_CONSTRAINTS = 1e-14
"""In sizes of the jets: a step back to the constraints that is shorter ends the iteration."""


@dataclass(frozen=True)
class Flow:
    """The flow of equations with values for their parameters."""

    equations: Equations
    run: Any
    """The prepared motion, from its first time on."""
    start: Array
    p: Array
    sizes: Array
    """Typical sizes of the jets of the state."""
    where: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the jets of the state."""
        found: tuple[str, ...] = self.run.state
        return found

    @property
    def t0(self) -> float:
        """The first time."""
        return float(self.run.t[0])

    @property
    def known(self) -> dict[Any, float]:
        """The values of the parameters."""
        return dict(zip(self.equations.system.parameters, map(float, self.p), strict=True))

    @cached_property
    def autonomous(self) -> bool:
        """Whether time occurs nowhere in the equations; rates at one state could not show it."""
        system = prolongation(self.equations)
        present = set() if system is None else system.symbols([*system.hidden(), *system.stage(0)])
        return not any(z == TIME or isinstance(z, Input) for z in present)

    def rates(self, x: Array, t: float | None = None) -> Array:
        """The rates of the state."""
        return np.asarray(self.run.rates(self.t0 if t is None else t, x, self.p), dtype=float)

    def require_repetition(self, x: Array, duration: float, place: str = "") -> None:
        """Raise if the rates near `x` differ after `duration`; `place` names the value of a parameter in the message."""
        if self.autonomous:
            return
        chance, moment = np.random.default_rng(9), self.t0 + 0.37 * duration
        for _ in range(_STATES_TRIED):
            near = x + 0.1 * self.sizes * chance.normal(size=len(x))
            a, b = self.rates(near, moment), self.rates(near, moment + duration)
            if np.any(np.abs(a - b) > _SAME_RATES * (np.abs(a) + np.abs(b) + self.sizes / duration)):
                what = f"the equations do not repeat after the period {duration:.6g}{place}."
                raise StateError(what, where=self.where, hint=("an expression in the parameters: ", SetArgument("period", "2*pi/w")))

    def after(self, x: Array, duration: float, first: Array | None = None) -> tuple[Array, Array, Trajectory]:
        """The state after `duration`, the derivatives of the flow along the columns of `first`
        (by default all directions), and the motion.
        """
        columns = np.eye(len(x)) if first is None else first
        blocks = [columns[:, k : k + len(x)] for k in range(0, columns.shape[1], len(x))]
        ends = [end_and_slopes(self.run, x, self.p, self.names[: b.shape[1]], b, self.t0 + duration) for b in blocks]
        return ends[0].y, np.hstack([end.slopes for end in ends]), ends[0].motion

    def after_by(
        self, x: Array, duration: float, parameter: str | None, moved: Array | None = None, checked: bool = True
    ) -> tuple[Array, Array, Array]:
        """The state after `duration` and its derivatives with respect to the start, in units of `sizes`, and to a parameter.

        Changes of the start are projected on the tangent space. `moved` is the derivative of the start with respect to the parameter.
        If `checked`, a StateError is raised where round-off may spoil the result.
        """
        names, columns, n = list(self.names), np.diag(self.sizes), len(x)
        if parameter is not None:
            names, columns = [*names, parameter], np.hstack([columns, (np.zeros(n) if moved is None else moved)[:, None]])
        end = end_and_slopes(self.run, x, self.p, names, columns, self.t0 + duration, judged=checked)
        basis = self.tangent(x)
        return end.y, end.slopes[:, :n] @ basis @ basis.T / self.sizes[:, None], end.slopes[:, n:].sum(axis=1) / self.sizes

    def tangent(self, x: Array) -> Array:
        """An orthonormal basis of the tangent space, in units of `sizes`."""
        rows, kept = self.constraints(x)[1], self.on_groups(x)
        if not len(rows):
            return kept
        found: Array = kept @ split(rows @ kept, _DEPENDENT_ROW).null
        return found

    def on_groups(self, x: Array) -> Array:
        """An orthonormal basis of the tangent directions of the groups and of all other jets, in units of `sizes`."""
        groups = [group for group in self.equations.system.groups.values() if group.places]
        if not groups:
            return np.eye(len(x))
        found: Array = np.linalg.qr(fields(self.equations.system, self.run.jets, x) / self.sizes[:, None])[0]
        return found

    def side(self, end: Array, target: Array) -> Array:
        """Factors 1 or -1 of the entries of `end`: of two opposite quaternions, which are the same rotation, the one nearer to `target`."""
        found, places = np.ones(len(end)), {z: k for k, z in enumerate(self.run.jets)}
        for group in self.equations.system.groups.values():
            if group.places and group.group.orthogonal == _ROTATION_DIMENSION:
                numbers = [places[z] for z in group.places[-4:]]
                found[numbers] = -1.0 if float(end[numbers] @ target[numbers]) < 0 else 1.0
        return found

    def settled(self, x: Array) -> Array:
        """The state moved onto the constraints by the smallest change, in units of `sizes`."""
        x = self.normalised(x)
        for _ in range(_MOST_ITERATIONS):
            residual, rows = self.constraints(x)
            if not len(rows):
                break
            kept = self.on_groups(x)
            step = kept @ np.linalg.lstsq(rows @ kept, residual, rcond=_DEPENDENT_ROW)[0]
            x = self.normalised(x - self.sizes * step)
            if float(np.abs(step).max(initial=0.0)) < _ON_CONSTRAINTS:
                break
        return x

    def normalised(self, x: Array) -> Array:
        """The state with its group elements projected on their groups."""
        system, jets = self.equations.system, self.run.jets
        if not system.groups:
            return x
        found = on_their_groups(system, dict(zip(jets, map(float, x), strict=True)))
        return np.array([found[z] for z in jets])

    def constraints(self, x: Array) -> tuple[Array, Array]:
        """The residuals of all constraints, each relative to its slopes, and these slopes in units of `sizes`."""
        problem = self._problem
        pairs = problem.system.hidden()
        if not pairs:
            return np.zeros(0), np.zeros((0, len(x)))
        residual, rows = problem.numbers(pairs, self.run.jets, dict(zip(self.run.jets, map(float, x), strict=True)))
        rows = rows * self.sizes
        lengths = np.linalg.norm(rows, axis=1)
        lengths[lengths == 0] = 1.0
        return residual / lengths, rows / lengths[:, None]

    @cached_property
    def _problem(self) -> Problem:
        names = [str(z.name) for z in self.equations.system.parameters]
        binding = bind(self.equations.system, dict(zip(names, map(float, self.p), strict=True)), self.run.inputs, self.where)
        system = prolongation(self.equations)
        if system is None:
            raise StateError("the equations do not determine the motion.", where=self.where)
        return Problem(system, binding, self.t0, self.where)

    def later(self, duration: float) -> Flow:
        """The flow from a later time on."""
        if self.autonomous or duration == 0:
            return self
        begin = self.t0 + duration
        return replace(self, run=replace(self.run, t=(begin, begin + (self.run.t[1] - self.run.t[0]))))


def flow_of(
    verb: str,
    equations: Any,
    start: State | Mapping[str, Any] | None,
    parameters: Mapping[str, Any] | None,
    t: float,
    duration: Any,
    tolerance: float,
    inputs: Mapping[str, Any] | None = None,
) -> tuple[Flow, float]:
    """The flow of equations or of a model, and the value of `duration`, which may be an expression in the parameters."""
    if isinstance(equations, Model):
        start = equations.start if start is None else start
        parameters, inputs = {**equations.parameters, **(parameters or {})}, {**equations.inputs, **(inputs or {})}
        equations = derive(equations)
    if not isinstance(equations, Equations):
        hint = InPython(f"orbits.{verb}(ch.derive(system, principle), start, ...)")
        raise UsageError(f"{verb} takes equations or a model, not {type(equations).__name__}.", where=verb, hint=hint)
    where = f"{verb} {equations.system.label}"
    if start is None:
        raise UsageError(
            "no start is given.", where=about(where, "start"), hint=InPython(f'orbits.{verb}(equations, {{"x": 1, "x\'": 0}}, ...)')
        )
    binding = bind(equations.system, parameters, inputs, where)
    length = number(duration, dict(binding.parameters), where, UsageError)
    if not length > 0:
        raise UsageError(f"{duration!r} is not a positive time.", where=where, hint="a positive number")
    run = prepare(equations, t=(t, t + length), tolerance=tolerance, inputs=inputs)
    if run.has_corners:
        raise ModelError(
            "the equations have corners.",
            where=where,
            why="Where a sign or an absolute value switches, the flow may have no derivative with respect to the state.",
            hint=(
                "a smooth function instead, such as tanh(50*x') for sign(x'); ",
                Ask("simulate"),
                " and ",
                Ask("orbits.section"),
                " accept corners",
            ),
        )
    x, p = run.start(start, parameters=parameters)
    return Flow(equations, run, x, p, sizes_of(run, x, p), where), length


def sizes_of(run: Any, x: Array, p: Array) -> Array:
    """Typical sizes of jets: their largest values over the motion, at least a fraction of the largest of the same order."""
    orders = np.array([z.order for z in run.jets])
    try:
        extrema = end_and_slopes(run, x, p, run.state[:1]).motion.extrema
        sizes = np.maximum(np.abs(x), [max(map(abs, extrema[z.name])) for z in run.jets])
    except UnfinishedError:
        sizes = np.abs(x)
    for group in run.equations.system.groups.values():
        pure = group.places[-4:] if group.group.orthogonal == _ROTATION_DIMENSION else ()
        sizes[[run.jets.index(z) for z in pure]] = 1.0
    largest = {k: float(sizes[orders == k].max(initial=0.0)) or 1.0 for k in set(orders.tolist())}
    return np.maximum(sizes, _LEAST_SIZE_IN_ORDER * np.array([largest[k] for k in orders.tolist()]))
