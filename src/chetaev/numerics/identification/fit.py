"""fit: unknown parameters and initial values from measured motions, by least squares with the derivatives of the motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chetaev.core.errors import StateError, UsageError, about
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.identification.evidence import is_noise
from chetaev.numerics.identification.experiments import labels, read_experiments
from chetaev.numerics.identification.minimum import STOPPED, covariance_of, minimum, sizes_of, variances_by_columns
from chetaev.numerics.identification.problem import NO_MOTION_RESIDUAL, Problem, read_unknowns
from chetaev.numerics.identification.result import Fit
from chetaev.numerics.identification.shooting import Shooting, shooting_of
from chetaev.numerics.identification.work import MOST_STEPS, Work
from chetaev.numerics.motion.trajectory import Trajectory

_PARTS_OF_RECORD = (0.2, 0.5)
"""Fractions of the record that are fitted before the whole: over a short time the sum of squares has few local minima."""
_TIMES_PER_UNKNOWN = 4
"""Fewest times of a part, for each unknown, for which the part is fitted by itself."""
_ROUNDS_OF_WEIGHTS = 3
"""Most rounds in which the weights of columns are estimated from their residuals, if no weights are given."""
_SMALLEST_SCALE = 1e-9
"""Relative to the values of a column: the smallest scale of its residuals; smaller ones are errors of the motion, not noise."""
_COMPLETED_SEARCHES = 3
"""Number of rough minima, of several, from which a search is completed."""
_SAME_SQUARES = 1.001
"""Ratio of the sums of squares of one motion and of joined segments up to which the motion follows the record as well as the segments."""
_NO_GAIN = 1e-3
"""Difference of the measure of `_squares` below which two fits are the same minimum."""
_SPREAD = 0.5
"""Relative spread of random first values of unknowns without bounds."""
_SAME_WEIGHTS = 1e-3
"""Relative change of all weights below which they are final; the unknowns then change by less than their errors."""


@public
def fit(
    model: Any,
    data: Any,
    unknown: Mapping[str, Any],
    *,
    weights: Any = None,
    start: Any = None,
    parameters: Mapping[str, Any] | None = None,
    t: tuple[float, float] | None = None,
    seeds: int = 1,
    segments: int | None = None,
    steps: int = MOST_STEPS,
    progress: bool | None = None,
) -> Fit:
    r"""Find unknown parameters and initial values by least squares, $\sum_i w_i^2 (y(t_i) - y_i)^2$.

    The derivatives of motions are exact (`simulate(..., slopes=...)`), so that errors and covariances are too. Long records are fitted part
    by part first. If the residuals then are a curve and not noise, as for chaotic motions, the record is cut into segments whose first
    states are unknowns too, and which are joined in the end (multiple shooting).

    Args:
        model: A model, or a list of models that differ in their starts, one for each experiment; or equations, with `start` and `t`.
        data: A mapping with `"t"` and names or expressions, a pandas data frame, an xarray data set, or a list of experiments.
        unknown: The values to find: names of parameters and initial values, each with bounds `(low, high)`, None, or a first value.
        weights: For each column one over the standard deviation of its values, a number or one for each time. Without weights columns are
            weighted by the spread of their own residuals.
        start: Initial data, instead of those of the model.
        parameters: Values of parameters, which take precedence.
        t: The interval of the motion; its first time is that of the start. By default that of the model.
        seeds: The number of first values from which the search may start. Those after the given one are random, and tried only if the
            residuals of the first fit are a curve and not noise.
        segments: The number of segments into which each record is cut; 1 for one motion. By default the record is cut only if one motion
            does not fit, and the number of values determines the number of segments.
        steps: The most steps of a search. A result whose search ended there says so in its `remarks`.
        progress: Whether a long search shows the motions computed so far and the size of the residuals. By default it does on a terminal
            and in a notebook.

    Returns:
        The values, with errors, covariance, and the combinations that the data do not determine.

    Raises:
        UsageError: For data or unknowns that cannot be used; the message says which.
        StateError: If there is no motion with the first values.

    >>> import chetaev as ch
    >>> spring = ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
    >>> model = ch.Model(spring, ch.Hamilton(), {"k": 1}, {"x": 1, "x'": 0}, (0, 3))
    >>> times = np.linspace(0, 3, 20)
    >>> found = fit(model, {"t": times, "x": np.cos(1.5 * times)}, {"k": (0.1, 10)})
    >>> round(found.values["k"], 8)
    2.25
    """
    problem = problem_of(model, data, unknown, weights, start, parameters, t)
    require_seeds(seeds, problem.where)
    require_segments(segments, problem.where)
    with Work(progress, problem.where, problem.where, read_steps(steps, problem.where)) as work:
        return solve_with_segments(replace(problem, work=work), seeds, segments)


def require_segments(segments: Any, where: str) -> None:
    """Raise a UsageError if `segments` is neither None nor a number of segments."""
    if segments is not None and (isinstance(segments, bool) or not isinstance(segments, int) or segments < 1):
        raise UsageError(
            f"segments={segments!r} is not a number of segments.", where=where, hint=(SetArgument("segments", 20), ", or None")
        )


def read_steps(steps: Any, where: str) -> int:
    """The most steps of a search, as a user gave them."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise UsageError(f"steps={steps!r} is not a number of steps.", where=where, hint=SetArgument("steps", MOST_STEPS))
    return steps


def require_seeds(seeds: Any, where: str) -> None:
    """Raise a UsageError if `seeds` is not a number of first values."""
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise UsageError(f"seeds={seeds!r} is not a number of first values.", where=where, hint=SetArgument("seeds", 10))


def problem_of(model: Any, data: Any, unknown: Any, weights: Any, start: Any, parameters: Any, t: Any) -> Problem:
    """Read the arguments of a fit."""
    models = _models(model, start, parameters, t)
    equations = derive(models[0]) if not isinstance(model, Equations) else model
    where = f"fit {equations.system.label}"
    interval = (float(models[0].t[0]), float(models[0].t[-1])) if t is None else _interval(t, where)
    experiments = read_experiments(data, equations, weights, interval, where)
    if len(models) not in (1, len(experiments)):
        raise UsageError(
            f"{len(models)} models for {len(experiments)} experiments.",
            where=about(where, "models"),
            hint="one model, or one for each experiment",
        )
    models = models * len(experiments) if len(models) == 1 else models
    unknowns = read_unknowns(models[0], equations, unknown, where)
    values = sum(one.size for one in experiments)
    if values < len(unknowns):
        what = f"{values} values for {len(unknowns)} unknowns."
        raise UsageError(what, where=where, why="Fewer values than unknowns determine nothing.", hint="more data, or fewer unknowns")
    return Problem(tuple(models), equations, unknowns, experiments, interval, where)


def _interval(t: Any, where: str) -> tuple[float, float]:
    try:
        first, last = (float(v) for v in t)
    except (TypeError, ValueError):
        raise UsageError(
            f"t={t!r} is not an interval.", where=where, hint=(SetArgument("t", (0, 5)), ": the time of the start, and the end")
        ) from None
    return first, last


def _models(given: Any, start: Any, parameters: Any, t: Any) -> list[Model]:
    several = list(given) if isinstance(given, list | tuple) else [given]
    found = []
    for one in several:
        if isinstance(one, Equations):
            if start is None or t is None:
                raise UsageError(
                    "equations need a start and an interval t.",
                    where=f"fit {one.system.label}",
                    hint=Ask("fit", "equations, data, ..., start={...}, t=(0, 5)"),
                )
            one = Model(one.system, one.principle, dict(parameters or {}), State({}), t)
        if not isinstance(one, Model):
            what = f"fit takes a model, not {type(one).__name__}."
            raise UsageError(
                what,
                where="fit",
                hint=(InPython("ch.Model(system, principle, parameters, start, t)"), ", or equations with a start and an interval t"),
            )
        if parameters:
            one = replace(one, parameters={**one.parameters, **parameters})
        if start is not None:
            one = replace(one, start=start if isinstance(start, State) else State(start))
        found.append(one)
    return found


def solve(problem: Problem, seeds: int) -> Fit:
    """The best fit from several first values."""
    scales = _scales(problem, None)
    firsts = _firsts(problem, seeds)
    problem = problem.with_limit(firsts[0])
    residual, _ = problem.residuals(firsts[0], scales)
    if np.all(residual >= NO_MOTION_RESIDUAL) and seeds == 1:
        problem.motions(firsts[0])  # raises with the reason
        raise StateError(
            "there is no motion over all times of the data with the first values.", where=problem.where, hint="other first values"
        )
    found = [_searched(problem, firsts[0], scales, False)]
    if len(firsts) > 1 and not _leaves_noise_only(problem, found[0][0], scales):
        rough = sorted((_searched(problem, first, scales, True) for first in firsts[1:]), key=lambda one: one[1])
        found += [_search(problem, one[0], scales, None) for one in rough[:_COMPLETED_SEARCHES]]
    x, _, message = min(found, key=lambda one: one[1])
    return _finished(problem, x, scales, message)


def solve_with_segments(problem: Problem, seeds: int, count: int | None) -> Fit:
    """The best fit with each record in `count` segments; if `count` is None, only if one motion does not fit."""
    if count == 1:
        return solve(problem, seeds)
    whole: Fit | None = None
    if count is None:
        whole = solve(problem, seeds)
        noise = all(is_noise(whole.residuals[name], whole.column(name)[1]) for name in whole.residuals)
        if noise and not whole.unidentifiable:  # derivatives that grow without bound may hide influences of the unknowns
            return whole
    first = np.array([u.first for u in problem.unknowns])
    try:
        shooting = shooting_of(problem, first, _scales(problem, None), count)
        return _joined(problem.with_limit(first), shooting, whole)
    except (StateError, UsageError) as fault:
        if whole is None:
            raise
        # the user did not ask for segments
        return replace(whole, remarks=(*whole.remarks, f"fitted as one motion; in segments: {fault.what}"))


def _joined(problem: Problem, shooting: Shooting, whole: Fit | None) -> Fit:
    """The fit by segments, as one motion if one computed motion follows the record; the fit `whole` without segments if that is better."""
    scales = _scales(problem, None)
    found, cost, message = shooting.solved(scales)
    if problem.experiments[0].weights is None:
        for _ in range(_ROUNDS_OF_WEIGHTS):
            scales = _scales(problem, found.residuals_of())
            found, cost, message = found.solved(scales, found.last_penalty)
    result = _result_of_segments(found, scales, message)
    x, same, message = _search(problem, found.x[: len(problem.unknowns)], scales, None)
    if same <= cost * _SAME_SQUARES:
        result = replace(_result(problem, x, scales, message), covariance=result.covariance, unidentifiable=result.unidentifiable)
        result = replace(result, degrees=sum(one.size for one in problem.experiments) - len(x) + len(result.unidentifiable))
    return whole if whole is not None and _squares(whole) < _squares(result) - _NO_GAIN else result


def _squares(found: Fit) -> float:
    """A measure for fits of the same data, with or without weights."""
    return found.chi2 if found.weighted else sum(len(v) * float(np.log(np.mean(v**2) or ALMOST_ZERO)) for v in found.residuals.values())


def _finished(problem: Problem, x: Array, scales: Mapping[tuple[int, str], float], message: str) -> Fit:
    """The fit of one motion near x; without given weights those of the columns are estimated from their residuals."""
    if problem.experiments[0].weights is None:
        for _ in range(_ROUNDS_OF_WEIGHTS):
            new = _scales(problem, _differences(problem, problem.motions(x, slopes=False)))
            x, _, message = _search(problem, x, new, None)
            close = all(abs(new[key] / scales[key] - 1) < _SAME_WEIGHTS for key in new)
            scales = new
            if close:
                break
    return _result(problem, x, scales, message)


def _differences(problem: Problem, motions: Sequence[Trajectory]) -> dict[tuple[int, str], Array]:
    """Motion minus data, of each column of each experiment."""
    return {
        (k, name): motions[k].at(problem.experiments[k].t)[name] - problem.experiments[k].columns[name]
        for k, name in labels(problem.experiments)
    }


def _scales(problem: Problem, residuals: Mapping[tuple[int, str], Array] | None) -> dict[tuple[int, str], float]:
    """Divisors of the residuals by column: at first the spread of the data, then that of their residuals; none with weights."""
    if problem.experiments[0].weights is not None:
        return {}
    found: dict[str, list[Array]] = {}
    sizes: dict[str, float] = {}
    for k, name in labels(problem.experiments):
        one = problem.experiments[k]
        column = one.columns[name]
        sizes[name] = max(sizes.get(name, 0.0), float(np.abs(column).max()))
        off = column - column.mean() if residuals is None else residuals[k, name]
        found.setdefault(name, []).append(off)
    spread = {name: float(np.sqrt(np.mean(np.concatenate(parts) ** 2))) for name, parts in found.items()}
    spread = {name: max(size, _SMALLEST_SCALE * sizes[name]) or 1.0 for name, size in spread.items()}
    return {(k, name): spread[name] for k, name in labels(problem.experiments)}


def _firsts(problem: Problem, seeds: int) -> list[Array]:
    """The given first values, then random ones, within their bounds."""
    first = np.array([u.first for u in problem.unknowns])
    sizes = np.array([u.spread or abs(u.first) or 1.0 for u in problem.unknowns])
    random = np.random.default_rng(0)
    found = [first]
    for _ in range(seeds - 1):
        free = first + _SPREAD * sizes * random.standard_normal(len(first)) * random.choice([0.3, 1.0, 3.0])
        inside = np.array([random.uniform(u.low, u.high) if u.bounded else v for u, v in zip(problem.unknowns, free, strict=True)])
        found.append(np.clip(inside, *problem.bounds))
    return found


def _searched(problem: Problem, first: Array, scales: Mapping[tuple[int, str], float], quick: bool) -> tuple[Array, float, str]:
    """The minimum from `first`, part by part; with `quick` a rough one."""
    whole = None if quick else _search(problem, first, scales, None)
    if whole is not None and _leaves_noise_only(problem, whole[0], scales):
        return whole
    begin = problem.t[0]
    last = max(float(one.t[-1]) for one in problem.experiments)
    x = first
    for part in _PARTS_OF_RECORD:
        until = begin + part * (last - begin)
        times = sum(int((one.t <= until).sum()) for one in problem.experiments)
        if times >= _TIMES_PER_UNKNOWN * len(x):
            x, _, _ = _search(problem, x, scales, until, quick)
    found = _search(problem, x, scales, None, quick)
    return found if whole is None else min(found, whole, key=lambda one: one[1])


def _leaves_noise_only(problem: Problem, x: Array, scales: Mapping[tuple[int, str], float]) -> bool:
    """Whether the residuals of all columns look like noise, so that no other minimum has to be found."""
    residual, _ = problem.residuals(x, scales)
    first = 0
    for one in problem.experiments:
        for column in one.columns.values():
            part = residual[first : first + len(one.t)]
            if not is_noise(part, column / (np.std(column) or 1.0)):
                return False
            first += len(one.t)
    return True


def _search(
    problem: Problem, x: Array, scales: Mapping[tuple[int, str], float], until: float | None, quick: bool = False
) -> tuple[Array, float, str]:
    return minimum(lambda v: problem.residuals(v, scales, until), x, *problem.bounds, problem.work.steps, quick)


def _result(problem: Problem, x: Array, scales: Mapping[tuple[int, str], float], message: str) -> Fit:
    residual, jacobian = problem.residuals(x, scales)
    if np.all(residual >= NO_MOTION_RESIDUAL):
        raise StateError(
            "no values were found with which there is a motion.",
            where=problem.where,
            hint=("other first values, or ", SetArgument("seeds", 20)),
        )
    motions = problem.motions(x)
    columns = [name for k, name in labels(problem.experiments) for _ in problem.experiments[k].t]
    uncertain = covariance_of(jacobian, problem.names, _variances(problem, residual, columns), sizes_of(x))
    return _reported(problem, x, residual, uncertain, motions, _differences(problem, motions), message)


def _result_of_segments(found: Shooting, scales: Mapping[tuple[int, str], float], message: str) -> Fit:
    problem, x = found.problem, found.x[: len(found.problem.unknowns)]
    residual, _, _, _ = found.parts(found.x, scales)
    uncertain = found.covariance(scales, _variances(problem, residual, found.columns))
    fitted = _reported(problem, x, residual, uncertain, problem.motions(x), found.residuals_of(), message)
    motions = list(zip(found.segments, found.motions(found.x), strict=True))
    parts = tuple(tuple(own for segment, own in motions if segment.experiment == k) for k in range(len(problem.experiments)))
    return replace(fitted, segments=parts)


def _variances(problem: Problem, residual: Array, columns: Sequence[str]) -> Callable[[Array], Array]:
    """The variances of the values: those of the weights, or else of the residuals of each column."""
    return np.ones_like if problem.experiments[0].weights is not None else variances_by_columns(residual, columns)


def _reported(
    problem: Problem,
    x: Array,
    residual: Array,
    uncertain: tuple[Array, list[dict[str, float]], int],
    motions: Sequence[Trajectory],
    residuals: Mapping[tuple[int, str], Array],
    message: str,
) -> Fit:
    """The fit with the values x; `uncertain` is the result of `covariance_of`."""
    weighted = problem.experiments[0].weights is not None
    chi2 = float(residual @ residual)
    covariance, combinations, rank = uncertain
    degrees = len(residual) - rank
    if not weighted and degrees <= 0:
        covariance = np.full(covariance.shape, np.inf)
    several = len(problem.experiments) > 1
    off = {(f"{k + 1}: {name}" if several else name): v for (k, name), v in residuals.items()}
    return Fit(
        Frozen(problem.values_of(x)),
        covariance,
        combinations,
        problem.model_at(x),
        tuple(motions),
        Frozen(off),
        chi2,
        degrees,
        weighted,
        message,
        Frozen({name: float(np.sqrt(np.mean(v**2))) for name, v in off.items()}),
        problem.experiments,
        remarks=(f"{STOPPED}, {problem.work.steps}; other values near may fit better",) if message == STOPPED else (),
    )
