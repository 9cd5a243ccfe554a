"""First paths: straight lines with bumps, values given by the user, and paths of another mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import ParameterError, UsageError, did_you_mean
from chetaev.core.fixes import Advice, SetArgument, sentences
from chetaev.core.notation.lexer import spell
from chetaev.core.sampled import Sampled, sampled_pair
from chetaev.numerics.driving.polynomials import polynomials_of
from chetaev.numerics.graphs.binding import number
from chetaev.paths.optimal.mesh import Mesh, collocation
from chetaev.paths.optimal.problem import Array, Problem
from chetaev.paths.optimal.sizes import Sizes, middle
from chetaev.paths.optimal.transcription import Path

_BUMP = 0.6
"""Height of random bumps of a guess, in typical sizes. With lower bumps all seeds lead to one path, with higher ones few converge."""
_SLOWER = (1.0, 1.0, 1.6, 1.0, 2.5, 0.7)
"""Durations of successive seeds relative to that of the first one; the list is repeated."""

Curve = Callable[[Array], Array]
_INSIDE = 1e-9
"""Relative to an interval: distance from its ends at which inputs are read, so that jumps at mesh points belong to the right side."""


def seed(problem: Problem, sizes: Sizes, x0: Array, x1: Array, mesh: Mesh, k: int, given: Mapping[str, Curve]) -> Path:
    """The k-th guess: straight between the ends for k = 0, with bumps otherwise; the curves `given` replace its components."""
    chance = np.random.default_rng(k)
    bases = {z.base: chance.normal() for z in problem.state}
    duration = sizes.duration if problem.fixed_time else sizes.duration * _SLOWER[k % len(_SLOWER)]
    duration = min(max(duration, problem.shortest), problem.longest)
    place = {z: j for j, z in enumerate(problem.state)}

    def states(s: Array) -> Array:
        found = x0[:, None] + (x1 - x0)[:, None] * s
        for z, j in place.items():
            bottom = place.get(type(z)(z.base, 0))
            height = _BUMP * bases[z.base] * sizes.x[j if bottom is None else bottom] if k else 0.0
            if z.order == 0:
                found[j] += height * np.sin(np.pi * s)
            elif z.order == 1 and bottom is not None:
                found[j] = ((x1 - x0)[bottom] + height * np.pi * np.cos(np.pi * s)) / duration
            if z.name in given:
                found[j] = given[z.name](s)
        return found

    rest = middle(problem)
    heights = [given.get(each.name) for each in problem.steered]

    def inputs(s: Array, i: int) -> Array:
        curve = heights[i]
        return np.full(len(s), rest[i]) if curve is None else np.clip(curve(s), problem.steered[i].low, problem.steered[i].high)

    us = []
    for i, order in enumerate(problem.orders):
        low, high = mesh.nodes[:-1], mesh.nodes[1:]
        inner = _INSIDE
        if order == 0:
            us.append(np.concatenate([inputs(low + inner * (high - low), i), inputs(high - inner * (high - low), i)]))
        else:
            us.append(np.concatenate([inputs(mesh.nodes, i), *([np.zeros(len(mesh) + 1)] if order == 2 else [])]))
    points = mesh.points()
    path = Path(mesh, duration, states(mesh.nodes), states(points), np.zeros((len(problem.tops), len(points))), tuple(us))
    return with_tops(problem, path)


def with_tops(problem: Problem, path: Path) -> Path:
    """The path with the top jets that the rows determine at its states."""
    if not problem.tops:
        return path
    points = path.mesh.points()
    w = path.input_jets(problem.orders, collocation()[0])
    times = problem.t0 + path.duration * points
    tops = problem.tops_along(times, path.stages, w)
    return Path(path.mesh, path.duration, path.nodes, path.stages, np.nan_to_num(tops, posinf=0.0, neginf=0.0), path.inputs)


def on_mesh(problem: Problem, path: Path, mesh: Mesh) -> Path:
    """The path on another mesh; inputs that are splines keep their second derivatives."""
    nodes, points = path.interpolated(mesh.nodes)[0], path.interpolated(mesh.points())[0]
    edges, widths, n = path.mesh.nodes, path.mesh.widths, len(path.mesh)

    def pieces(s: Array, from_left: bool) -> tuple[NDArray[np.int64], Array]:
        which = np.clip(np.searchsorted(edges, s, side="right" if from_left else "left") - 1, 0, n - 1).astype(np.int64)
        return which, (s - edges[which]) / widths[which]

    us = []
    for u, order in zip(path.inputs, problem.orders, strict=True):
        if order == 0:
            inner = _INSIDE * mesh.widths
            parts = []
            for s, left in ((mesh.nodes[:-1] + inner, True), (mesh.nodes[1:] - inner, False)):
                k, tau = pieces(s, left)
                parts.append(u[k] * (1 - tau) + u[n + k] * tau)
            us.append(np.concatenate(parts))
        else:
            k, tau = pieces(mesh.nodes, True)
            value = u[k] * (1 - tau) + u[k + 1] * tau
            if order == 2:
                m, h = u[n + 1 :], path.duration * widths[k]
                value = value + h**2 / 6 * (((1 - tau) ** 3 - (1 - tau)) * m[k] + (tau**3 - tau) * m[k + 1])
                us.append(np.concatenate([value, m[k] * (1 - tau) + m[k + 1] * tau]))
            else:
                us.append(value)
    return with_tops(problem, Path(mesh, path.duration, nodes, points, path.tops, tuple(us)))


def read_guess(problem: Problem, given: Any) -> tuple[float | None, dict[str, Curve]]:
    """Read `guess={"t": 3, "x": (times, values), "u": lambda t: ...}`; return the duration and the curves as functions of s in [0, 1]."""
    where = f"{problem.where}, guess"
    if given is None:
        return None, {}
    if hasattr(given, "motion") and hasattr(given, "inputs"):  # an earlier result
        return _from_result(problem, given, where)
    if not isinstance(given, Mapping):
        hint: Advice = SetArgument("guess", {"t": 3, "x": ([0, 3], [0, 1])}), ", or a result of steer"
        raise UsageError(f"a guess cannot be of type {type(given).__name__}.", where=where, hint=hint)
    known = [*(z.name for z in problem.state), *(each.name for each in problem.steered)]
    curves: dict[str, Curve] = {}
    span = number(given["t"], {}, where, ParameterError) - problem.t0 if "t" in given else None
    if span is not None and not span > 0:
        raise ParameterError(f"the final time {given['t']} of the guess is not after t = {problem.t0:g}.", where=where, hint="a later time")
    for key, v in given.items():
        name = spell(str(key))
        if name == "t":
            continue
        if name not in known:
            hint = sentences(f"t, jets of the state and inputs: {' '.join(known)}.", did_you_mean(name, known))
            raise ParameterError(f"{name} is neither a jet of the state nor an input that is steered.", where=where, hint=hint)
        curves[name] = _curve(problem, v, span, f"{where}, {name}")
    return span, curves


def _curve(problem: Problem, v: Any, span: float | None, where: str) -> Curve:
    v = sampled_pair(v)
    if isinstance(v, Sampled):
        polynomials, first, last = polynomials_of(v), v.times[0], v.times[-1]
        return lambda s: np.array([polynomials(first + (last - first) * float(a)) for a in s])
    if callable(v):
        if span is None:
            raise UsageError("a function of time needs a final time.", where=where, hint=SetArgument("guess", {"t": 3, ...: ...}))
        return lambda s: np.array([float(v(problem.t0 + span * float(a))) for a in s])
    constant = number(v, dict(problem.binding.parameters), where, ParameterError)
    return lambda s: np.full(len(s), constant)


def _from_result(problem: Problem, given: Any, where: str) -> tuple[float | None, dict[str, Curve]]:
    if given.motion is None:
        raise UsageError(
            "the result given as a guess found no motion.", where=where, hint=(SetArgument("guess", None), ", or a mapping of curves")
        )
    motion, first = given.motion, float(given.motion.t[0])
    last = float(motion.t[-1])
    names = {z.name for z in problem.state}
    known = [name for name in names if name in motion.final]

    def times(s: Array) -> Array:
        return first + (last - first) * np.clip(s, 0.0, 1.0)

    def read(name: str) -> Curve:
        return lambda s: np.asarray(motion.at(times(s))[name], float)

    def driven(drive: Any) -> Curve:
        return lambda s: np.array([float(drive(t)) for t in times(s)])

    curves = {name: read(name) for name in known}
    curves |= {each.name: driven(given.inputs[each.name]) for each in problem.steered if each.name in given.inputs}
    return last - first, curves
