r"""steer: inputs that lead a system from one state to another at least cost.

$$ \min \int_{t_0}^{t_1} c(t, x, u)\, dt \quad\text{with the equations of motion, } u^- \le u \le u^+, \; g(t, x, u) \ge 0. $$

Direct collocation of the rows of motion, solved by IPOPT with exact derivatives from several first paths; the mesh is refined, and its
nodes moved to the switches of inputs, until the simulated motion meets the conditions. The result is a local minimum: the least of those
to which the first paths led. L. T. Biegler, Nonlinear Programming (SIAM 2010), chapter 10; J. T. Betts, Practical Methods for Optimal
Control (SIAM 2010).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chetaev.core.errors import ParameterError, UsageError
from chetaev.core.fixes import Advice, SetArgument
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles.base import Principle
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.paths.optimal.checks import DENSE, Checked, Drive, check
from chetaev.paths.optimal.end_conditions import Placed, place, unreachable
from chetaev.paths.optimal.guesses import on_mesh, read_guess, seed
from chetaev.paths.optimal.mesh import Mesh
from chetaev.paths.optimal.problem import Problem, read_problem
from chetaev.paths.optimal.refinement import finer, residuals
from chetaev.paths.optimal.sizes import Sizes, sizes_of
from chetaev.paths.optimal.transcription import BY_CLOCK, LONGEST, OUT_OF_WORK, SHORTEST, Found, Path, Transcription
from chetaev.paths.optimal.work import Work

_FIRST_INTERVALS = 12
"""Intervals of the first mesh, on which all first paths are tried."""
_MOST_REFINEMENTS = 6
"""Most refinements of the mesh."""
_PARTS_OF_BUDGET = 4.0
"""A finer mesh may take the remaining budget divided by this number. If the finer mesh does not converge, margins on the coarser mesh need
the rest."""
_LAST_SECONDS = 5.0
"""Seconds of work, beyond the budget if need be, for the nearest path, which shows why no path was found."""
_MARGINS = 4
"""Most programs with margins for relations that fail between collocation points."""
_SIMULATED = 1e-3
"""The tolerance of the simulation relative to that of the search, so that its own error does not count."""
_AT_LIMIT = 0.9
"""A duration beyond this fraction of the longest one that is searched has no optimum below it."""
_TOLERANCES, _ACCURACIES, _BUDGETS = (1e-10, 1e-2), (1e-9, 1.0), (0.1, 1e6)
"""Smallest and largest `tolerance`, `accuracy` and `seconds` that a user may ask for. Smaller tolerances are below the error of IPOPT."""
_FINEST_SIMULATION = 1e-13
"""Smallest tolerance of the simulation that checks a path; below it round-off decides."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Steering:
    """Inputs that steer a system, and the simulated motion that they cause."""

    cost: float
    """The cost of the simulated motion; infinite if nothing was found."""
    t: float
    """The final time; NaN if nothing was found."""
    motion: Trajectory | None
    """The motion that `simulate` computes with `inputs`; None if nothing was found."""
    inputs: Mapping[str, Drive]
    """The inputs: functions of time, and samples that `simulate` takes."""
    feasible: bool
    """Whether the simulated motion keeps bounds, relations along the path and the values at the end up to `tolerance`."""
    reason: str
    """Why nothing was found; empty if `feasible`."""
    miss: float
    """The largest distance of the simulated end from what was asked, relative to typical sizes."""
    violation: float
    """The largest violation of a relation along the simulated motion, relative to typical sizes."""
    change: float
    """The relative change of the cost by the last refinement: an estimate of its error. NaN if there was none."""
    intervals: int
    """Intervals of the last mesh."""
    tried: tuple[str, ...]
    """What each first path led to."""
    verified: tuple[str, ...]
    """What was verified on the simulated motion, and how."""
    title: str
    """The problem that was stated."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.motion is None:
            return "\n".join([self.title, "  nothing found", f"  {self.reason}", *[f"  {line}" for line in self.tried]])
        lines = [self.title, f"  cost        {self.cost:.12g}", f"  final time  {self.t:.12g}"]
        if not self.feasible:
            lines.append(f"  not feasible: {self.reason}")
        return "\n".join([*lines, *[f"  {line}" for line in self.verified]])


@public
def steer(
    system: Any,
    principle: Principle | None = None,
    inputs: Mapping[str, Any] | None = None,
    start: Mapping[str, Any] | None = None,
    end: Mapping[str, Any] | None = None,
    minimise: Any = "t",
    t: Any = (0, None),
    path: Any = (),
    parameters: Mapping[str, Any] | None = None,
    *,
    guess: Any = None,
    seeds: int = 4,
    tolerance: float = 1e-6,
    accuracy: float = 1e-5,
    seconds: float = 60.0,
) -> Steering:
    r"""Inputs that steer a system between two states at least cost.

    The result is a local minimum, the least of those found from several first paths; bounds and relations hold on the simulated motion.

    Args:
        system: A system with inputs, or a model, which brings its principle and parameters.
        principle: The principle, as for `derive`.
        inputs: The inputs that are steered, with bounds: `{"u": (-1, 1)}`; None for an input without bounds, also on one side.
        start: Initial data, completed by the constraints; None as a value leaves it to the search.
        end: Jets or expressions with their values at the end; what is not named is free. Angles are not taken modulo 2 pi.
        minimise: `"t"` for the shortest time, or the integrand of the cost, an expression in t, jets, multipliers and inputs.
        t: First and final time: `(0, 2)`; `(0, None)` for a free final time, `(0, (1, 5))` for one between bounds.
        path: Inequalities that hold all the way: `["x^2 + y^2 >= 1"]`, in the same symbols as `minimise`.
        parameters: Values of the parameters.
        guess: A first path: an earlier result, or curves by name, each a function of t, a pair of times and values or a number, and
            the final time: `{"t": 3, "x": ([0, 3], [0, 1])}`.
        seeds: The number of first paths: the straight one, or the guess, and others with random bumps.
        tolerance: The largest relative miss of the end, and violation of a relation, on the simulated motion.
        accuracy: The mesh is refined until the cost changes by less than this, relatively; the error that is left is a part of it.
        seconds: The budget for iterations of IPOPT. Iterations are counted and converted to seconds, so that the answer does not depend on
            the machine. After ten times as much processor time the clock ends the search, with a `ClockWarning`.

    Returns:
        Cost, final time, inputs and the simulated motion; where nothing was found, `feasible` is False and `reason` says why.

    Raises:
        UsageError: For an argument of a wrong kind.
        ParameterError: For unknown inputs and reversed bounds.
        InitialError: If values at an end are missing or contradict the constraints.
        ModelError: For equations with corners, groups, or too high derivatives of an input.

    >>> from chetaev import System
    >>> cart = System("x", lagrangian="x'^2/2", forces={"x": "u"}, inputs={"u": None}, name="cart")
    >>> best = steer(cart, inputs={"u": (-1, 1)}, start={"x": 0, "x'": 0}, end={"x": 1, "x'": 0})
    >>> [round(v, 6) for v in (best.t, best.inputs["u"](0.3), best.inputs["u"](1.7))]
    [2.0, 1.0, -1.0]
    """
    if isinstance(system, Model):
        parameters = {**system.parameters, **(parameters or {})}
    equations = derive(system, principle) if principle is not None else derive(system)
    where = f"steer {equations.system.label}"
    _require(inputs is not None, "no input is to be steered.", where, SetArgument("inputs", {"u": (-1, 1)}))
    _require(
        start is not None and end is not None,
        "start or end is missing.",
        where,
        (SetArgument("start", {"x": 0, "x'": 0}), ", ", SetArgument("end", {"x": 1})),
    )
    _require(
        isinstance(seeds, int) and not isinstance(seeds, bool) and seeds >= 1,
        f"seeds={seeds!r} is no number of first paths.",
        where,
        SetArgument("seeds", 4),
    )
    for word, v, least, most in (
        ("tolerance", tolerance, *_TOLERANCES),
        ("accuracy", accuracy, *_ACCURACIES),
        ("seconds", seconds, *_BUDGETS),
    ):
        if isinstance(v, bool) or not isinstance(v, int | float) or not least <= v <= most:
            raise ParameterError(f"{word}={v!r} is out of range.", where=where, hint=f"a number between {least:g} and {most:g}")
    assert start is not None  # noqa: S101 - required above
    work = Work(float(seconds))
    problem = read_problem(equations, inputs, start, end, minimise, t, path, parameters, where)
    found = _Search(problem, place(problem, start), guess, seeds, (float(tolerance), float(accuracy)), work).result()
    work.report()
    if found.motion is not None and isinstance(system, Model):
        found = replace(found, motion=replace(found.motion, scene=system.scene))
    return found


def _require(good: bool, what: str, where: str, hint: Advice) -> None:
    if not good:
        raise UsageError(what, where=where, hint=hint)


@dataclass(frozen=True)
class _Candidate:
    """A path with its check."""

    found: Found
    checked: Checked
    change: float


class _Search:
    """The search for one problem."""

    def __init__(self, problem: Problem, placed: Placed, guess: Any, seeds: int, errors: tuple[float, float], work: Work) -> None:
        self.problem, self.placed, self.seeds, self.work = problem, placed, seeds, work
        self.tolerance, self.accuracy = errors
        duration, self.curves = read_guess(problem, guess)
        if duration is None and (problem.fixed_time or np.isfinite(problem.longest)):
            duration = problem.longest if problem.fixed_time else (problem.shortest + problem.longest) / 2
        self.sizes: Sizes = sizes_of(problem, placed.start, placed.end, duration)
        self.program = Transcription(problem, self.sizes, placed.ends)
        self.tried: list[str] = []

    def result(self) -> Steering:
        """The least of the paths found."""
        starts = self._first()
        best: _Candidate | None = None
        for found in starts:
            candidate = self._refined(found)
            if candidate is not None and (best is None or self._better(candidate, best)):
                best = candidate
            if best is not None and self._good(best.checked):
                break
            if self.work.left <= 0:
                break
        return self._nothing() if best is None else self._told(best)

    def _first(self) -> list[Found]:
        """Paths on the first mesh, the least cost first."""
        mesh, solved = Mesh.uniform(_FIRST_INTERVALS), []
        for k in range(self.seeds):
            if k and self.work.left <= 0:
                self.tried.append(f"path {k + 1}: not tried, the budget is spent")
                continue
            guess = seed(self.problem, self.sizes, self.placed.start, self.placed.end, mesh, k, self.curves)
            found = self.program.solve(guess, self.work, self.work.left)
            self.tried.append(
                f"path {k + 1}: " + (f"cost {found.cost:.8g}" if found.solved else _STATUS.get(found.status, "the search did not converge"))
            )
            if found.solved:
                solved.append(found)
        return sorted(solved, key=lambda found: found.cost)

    def _refined(self, found: Found) -> _Candidate | None:
        """The path on finer meshes, until the simulated motion meets the conditions and the cost no longer changes."""
        candidate, before = _Candidate(found, self._checked(found), math.nan), math.nan
        best = candidate
        for _ in range(_MOST_REFINEMENTS):
            converged = self._good(candidate.checked) and candidate.change <= self.accuracy
            if converged or self.work.left <= 0 or self._endless(found):
                return best
            violated = np.asarray((candidate.checked.where_violated < -self.tolerance / 2).any(axis=0))
            errors = residuals(self.problem, self.sizes, found.path)
            mesh = finer(self.problem, self.sizes, found.path, violated, errors)
            following = self._again(found.path, mesh) if len(mesh) > len(found.path.mesh) else None
            if following is None:
                break
            before, found = found.cost, following
            candidate = _Candidate(found, self._checked(found), abs(found.cost - before) / max(abs(found.cost), ALMOST_ZERO))
            best = candidate if self._good(candidate.checked) or not self._good(best.checked) else best
        return best if self._good(best.checked) else self._with_margins(best)

    def _checked(self, found: Found) -> Checked:
        scales = (self.program.end_scales, self.program.relation_scales)
        return check(self.problem, self.sizes, found.path, scales, max(self.tolerance * _SIMULATED, _FINEST_SIMULATION))

    def _with_margins(self, candidate: _Candidate) -> _Candidate:
        """Where relations fail between collocation points, the path again with margins in these intervals."""
        n = len(candidate.found.path.mesh)
        margins = np.zeros((len(self.problem.path), n))
        for _ in range(_MARGINS):
            checked = candidate.checked
            if checked.problem or checked.violation <= self.tolerance or self.work.left <= 0:
                break
            margins = margins + np.maximum(0.0, -1.2 * checked.where_violated)
            path = candidate.found.path
            held = on_mesh(self.problem, path, Mesh(path.mesh.widths, (False,) * (n - 1)))
            found = self.program.solve(held, self.work, self.work.left, warm=True, margins=margins)
            if not found.solved:
                break
            candidate = _Candidate(found, self._checked(found), candidate.change)
        return candidate

    def _again(self, path: Path, mesh: Mesh) -> Found | None:
        """The program on a finer mesh; with nodes that stay if it has no solution otherwise."""
        for tried in (mesh, Mesh(mesh.widths, (False,) * (len(mesh) - 1)))[: 1 + any(mesh.movable)]:
            found = self.program.solve(on_mesh(self.problem, path, tried), self.work, self.work.left / _PARTS_OF_BUDGET, warm=True)
            if found.solved:
                return found
        return None

    def _good(self, checked: Checked) -> bool:
        return not checked.problem and checked.miss <= self.tolerance and checked.violation <= self.tolerance

    def _better(self, a: _Candidate, b: _Candidate) -> bool:
        good = (self._good(a.checked), self._good(b.checked))
        if good[0] != good[1]:
            return good[0]
        return a.checked.cost < b.checked.cost

    def _told(self, best: _Candidate) -> Steering:
        checked, problem = best.checked, self.problem
        reason = self._fault(best)
        feasible = not reason
        keeps = not checked.problem
        return Steering(
            cost=checked.cost if keeps else math.inf,
            t=problem.t0 + best.found.path.duration,
            motion=checked.motion,
            inputs=Frozen(checked.inputs),
            feasible=feasible,
            reason=reason,
            miss=checked.miss if keeps else math.inf,
            violation=checked.violation if keeps else math.inf,
            change=best.change,
            intervals=len(best.found.path.mesh),
            tried=tuple(self.tried),
            verified=self._verified(best) if keeps else (),
            title=problem.where,
        )

    def _fault(self, best: _Candidate) -> str:
        """Why a path does not meet the conditions; empty if it does."""
        checked, problem = best.checked, self.problem
        if self._endless(best.found):
            latest = problem.t0 + best.found.path.duration
            return f"the cost falls as the final time grows beyond t = {latest:.3g}; give the final time a bound."
        if problem.shortest < best.found.path.duration < SHORTEST * self.sizes.duration / _AT_LIMIT:
            return "the cost falls as the final time approaches the first one: the start satisfies what is asked of the end, or almost."
        if checked.problem:
            return f"the simulation of the inputs ended early: {checked.problem}"
        if checked.miss > self.tolerance:
            k = int(np.argmax(np.abs(checked.missed) / checked.missed_sizes))
            return f"the simulated motion misses {problem.end[k].text} by {checked.missed[k]:.2g} on {len(best.found.path.mesh)} intervals."
        if not self._good(checked):
            k = int(np.argmin(checked.violated * self.program.relation_scales))
            return f"{problem.path[k].text} fails by {-checked.violated[k]:.2g} along the simulated motion."
        return ""

    def _endless(self, found: Found) -> bool:
        """Whether the duration is as long as the search allows."""
        return not np.isfinite(self.problem.longest) and found.path.duration > _AT_LIMIT * LONGEST * self.sizes.duration

    def _verified(self, best: _Candidate) -> tuple[str, ...]:
        checked, n = best.checked, len(best.found.path.mesh)
        lines = [f"simulated with the inputs found: the end is missed by {checked.miss:.1e} (relative), {n} intervals"]
        lines.append(
            "bounds of inputs hold between samples too"
            if all(order < 2 for order in self.problem.orders)
            else "bounds of inputs hold at samples"
        )
        for k, relation in enumerate(self.problem.path):
            lines.append(f"{relation.text}: at {DENSE * n} times of the simulated motion, least margin {checked.violated[k]:.2e}")
        lines.append(f"cost changed by {best.change:.1e} (relative) with the last mesh")
        lines.append(f"a local minimum: the least of {len(self.tried)} first paths")
        return tuple(lines)

    def _nothing(self) -> Steering:
        reason = unreachable(self.problem, self.placed.start) or self._nearest()
        return Steering(
            math.inf, math.nan, None, Frozen({}), False, reason, math.inf, math.inf, math.nan, 0, tuple(self.tried), (), self.problem.where
        )

    def _nearest(self) -> str:
        """How near the end can be reached, with its conditions relaxed."""
        mesh = Mesh.uniform(_FIRST_INTERVALS)
        guess = seed(self.problem, self.sizes, self.placed.start, self.placed.end, mesh, 0, self.curves)
        relaxed = self.program.solve(guess, self.work, max(self.work.left, _LAST_SECONDS), relaxed=True)
        if not relaxed.solved:
            return "no first path led to a motion that keeps bounds and relations; guess= or seeds= may help."
        kept = [self.problem.end[k] for k in self.placed.ends.end_conditions]
        sizes = [1 / self.program.end_scales[k] for k in self.placed.ends.end_conditions]
        missed = [(c, gap) for c, gap, size in zip(kept, relaxed.missed, sizes, strict=True) if abs(gap) > self.tolerance * size]
        if not missed:
            return "the search did not converge, although the end can be reached; guess= or seeds= may help."
        told = ", ".join(f"{c.text} is missed by {gap:.3g}" for c, gap in missed)
        limit = "" if not np.isfinite(self.problem.longest) else f" within a duration of {self.problem.longest:g}"
        return f"no inputs within their bounds were found that reach the end{limit}; on the nearest path {told}."


_STATUS = {
    "Infeasible_Problem_Detected": "no path nearby keeps all conditions",
    BY_CLOCK: "the clock ended it",
    OUT_OF_WORK: "the budget is spent",
    "Diverging_Iterates": "the unknowns grow without bound",
    "Invalid_Number_Detected": "an expression has no value on the way",
}
"""What IPOPT says, in words, where that is more than that it did not converge."""
