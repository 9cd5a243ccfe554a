"""fit: unknown parameters and initial values from measured motions, by least squares with the derivatives of the motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import least_squares

from chetaev.core.display.html import card, columns, facts, number, set_name
from chetaev.core.errors import StateError, UsageError
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.identification.evidence import is_noise
from chetaev.numerics.identification.experiments import Experiment, labels, read_experiments
from chetaev.numerics.identification.problem import Problem, read_unknowns
from chetaev.numerics.motion.trajectory import Trajectory

_PARTS = (0.2, 0.5)
"""Parts of the record that are fitted before the whole: over a short time a motion depends on its values without many minima."""
_FEW = 4
"""Times of a record, for each unknown, with less of which parts are not fitted by themselves."""
_OPEN = 1e-7
"""Relative singular value of the derivatives, in units of their columns, below which a combination of unknowns has no influence:
derivatives are exact to 1e-9."""
_ROUNDS = 3
"""How often the weights of columns are found from their residuals, where no weights are given."""
_EXACT = 1e-9
"""Relative to the values of a column: residuals below this are errors of the motion, not noise."""
_ROUGH, _FINE = 1e-4, 1e-12
"""Relative changes of the sum of squares, and of the unknowns, that end a search: one of several, and the last one."""
_FEW_CALLS, _MOST_CALLS = 25, 100
"""The most motions of a search: one of several, and the last one."""
_POLISHED = 3
"""How many of several rough minima are searched to the end."""
_SPREAD = 0.5
"""Relative spread of random first values of unknowns without bounds."""


@dataclass(frozen=True, repr=False)
class Fit:
    """Values found by least squares, with what they are worth."""

    values: Frozen[str, float]
    """The value of each unknown."""
    covariance: Array
    """The covariance of the unknowns, in their order; infinite where data do not determine them."""
    unidentifiable: list[dict[str, float]]
    """Combinations of unknowns that the data do not determine, each as the changes of the unknowns that leave the data as they are."""
    model: Model
    """The model with these values."""
    motions: tuple[Trajectory, ...]
    """The motion of each experiment."""
    residuals: Frozen[str, Array]
    """Motion minus data, by column; those of several experiments have its number before: `2: x`."""
    chi2: float
    """The weighted sum of squares."""
    degrees: int
    """The number of values less the number of unknowns that they determine."""
    weighted: bool
    """Whether the user gave weights."""
    message: str
    """How the search ended."""
    deviations: Frozen[str, float] = field(default_factory=Frozen)
    """The standard deviation of the residuals of each column."""
    experiments: tuple[Experiment, ...] = ()
    """The data."""

    def column(self, name: str) -> tuple[Array, Array, Trajectory]:
        """The times and values of a column of the data, by its name in `residuals`, and the motion of its experiment."""
        for k, own in labels(self.experiments):
            if name == (f"{k + 1}: {own}" if len(self.experiments) > 1 else own):
                return self.experiments[k].t, self.experiments[k].columns[own], self.motions[k]
        raise UsageError(f"{name} is no column of the data.", where="fit", hint=f"columns: {', '.join(self.residuals)}")

    @property
    def motion(self) -> Trajectory:
        """The motion of the first experiment."""
        return self.motions[0]

    @cached_property
    def errors(self) -> dict[str, float]:
        """The standard error of each unknown; without weights by the variance of the residuals."""
        return {name: float(np.sqrt(v)) for name, v in zip(self.values, np.diag(self.covariance), strict=True)}

    @cached_property
    def correlations(self) -> Array:
        """The correlations of the unknowns."""
        sizes = np.sqrt(np.diag(self.covariance))
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Array = self.covariance / np.outer(sizes, sizes)
        return found

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of an unknown, by Student's distribution."""
        if name not in self.values:
            raise UsageError(f"{name} is no unknown of the fit.", where="fit", hint=f"unknowns: {' '.join(self.values)}")
        width = float(stats.t.ppf(0.5 + level / 2, max(self.degrees, 1))) * self.errors[name]
        return self.values[name] - width, self.values[name] + width

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        found = []
        for name, v in self.values.items():
            low, high = self.interval(name)
            found.append((set_name(name), number(v, 8), f"± {number(self.errors[name], 2)}", f"{number(low)} to {number(high)}"))
        table = columns(("", "value", "error", "95 %"), found)
        return card(title, table, facts(escape(line.strip()) for line in lines[len(self.values) :]))

    def __str__(self) -> str:
        lines = [f"fit of {self.model.system.name or 'system'} · {self.model.principle}"]
        width = max(map(len, self.values))
        for name, v in self.values.items():
            low, high = self.interval(name)
            lines.append(f"  {name:<{width}}  {v:.8g} ± {self.errors[name]:.2g}  (95 %: {low:.6g} to {high:.6g})")
        kind = "chi squared" if self.weighted else "sum of squares, in units of the residuals' spread"
        lines.append(f"  {kind}: {self.chi2:.6g}, {self.degrees} degrees of freedom")
        lines += [f"  residuals of {name}: {size:.3g}" for name, size in self.deviations.items()]
        lines += [f"  not determined: {_combination(one)}" for one in self.unidentifiable]
        return "\n".join(lines)


def _combination(one: Mapping[str, float]) -> str:
    return ", ".join(f"{name} by {v:.4g}" for name, v in one.items()) + " together change nothing"


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
) -> Fit:
    r"""Find unknown parameters and initial values by least squares, $\sum_i w_i^2 (y(t_i) - y_i)^2$.

    The derivatives of motions are exact (`simulate(..., slopes=...)`), so that errors and covariances are too. Long records are fitted part
    by part first.

    Args:
        model: A model, or a list of models that differ in their starts, one for each experiment; or equations, with `start` and `t`.
        data: A mapping with `"t"` and names or expressions, a pandas data frame, an xarray data set, or a list of experiments.
        unknown: What to find: names of parameters and of initial values, each with bounds `(low, high)`, None, or a first value.
        weights: For each column one over the standard deviation of its values, a number or one for each time. Without weights columns are
            weighted by the spread of their own residuals.
        start: Initial data, instead of those of the model.
        parameters: Values of parameters, which take precedence.
        t: The interval of the motion; its first time is that of the start. By default that of the model.
        seeds: The number of first values from which the search may start. Others than the given ones are random, and tried if the residuals
            of the first fit are a curve and no noise.

    Returns:
        The values, with errors, covariance and what the data leave open.

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
    return solve(problem, seeds)


def require_seeds(seeds: Any, where: str) -> None:
    """Raise a UsageError if `seeds` is not a number of first values."""
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise UsageError(f"seeds={seeds!r} is not a number of first values.", where=where, hint="seeds=10")


def problem_of(model: Any, data: Any, unknown: Any, weights: Any, start: Any, parameters: Any, t: Any) -> Problem:
    """Read the arguments of a fit."""
    models = _models(model, start, parameters, t)
    equations = derive(models[0]) if not isinstance(model, Equations) else model
    where = f"fit {equations.system.label}"
    interval = (float(models[0].t[0]), float(models[0].t[-1])) if t is None else _interval(t, where)
    experiments = read_experiments(data, equations, weights, interval, where)
    if len(models) not in (1, len(experiments)):
        raise UsageError(
            f"{len(models)} models for {len(experiments)} experiments.", where=where, hint="one model, or one for each experiment"
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
        raise UsageError(f"t={t!r} is no interval.", where=where, hint="t=(0, 5): the time of the start, and the end") from None
    return first, last


def _models(given: Any, start: Any, parameters: Any, t: Any) -> list[Model]:
    several = list(given) if isinstance(given, list | tuple) else [given]
    found = []
    for one in several:
        if isinstance(one, Equations):
            if start is None or t is None:
                raise UsageError(
                    "equations need start= and t=.",
                    where=f"fit {one.system.label}",
                    hint="fit(equations, data, ..., start={...}, t=(0, 5))",
                )
            one = Model(one.system, one.principle, dict(parameters or {}), State({}), t)
        if not isinstance(one, Model):
            what = f"fit takes a model, not {type(one).__name__}."
            raise UsageError(what, where="fit", hint="ch.Model(system, principle, parameters, start, t), or equations with start= and t=")
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
    if np.all(residual >= 1e6) and seeds == 1:
        problem.motions(firsts[0])  # raises with the reason
        raise StateError(
            "there is no motion over all times of the data with the first values.", where=problem.where, hint="other first values"
        )
    found = [_searched(problem, firsts[0], scales, False)]
    if len(firsts) > 1 and not _misses_nothing(problem, found[0][0], scales):
        rough = sorted((_searched(problem, first, scales, True) for first in firsts[1:]), key=lambda one: one[1])
        found += [_search(problem, one[0], scales, None) for one in rough[:_POLISHED]]
    x, _, message = min(found, key=lambda one: one[1])
    if problem.experiments[0].weights is None:
        for _ in range(_ROUNDS):
            new = _scales(problem, x)
            x, _, message = _search(problem, x, new, None)
            close = all(abs(new[key] / scales[key] - 1) < 1e-3 for key in new)
            scales = new
            if close:
                break
    return _result(problem, x, scales, message)


def _scales(problem: Problem, x: Array | None) -> dict[tuple[int, str], float]:
    """What residuals of columns are divided by: the spread of the data at first, then that of their residuals; nothing with weights."""
    if problem.experiments[0].weights is not None:
        return {}
    motions = None if x is None else problem.motions(x, slopes=False)
    found: dict[str, list[Array]] = {}
    sizes: dict[str, float] = {}
    for k, name in labels(problem.experiments):
        one = problem.experiments[k]
        column = one.columns[name]
        sizes[name] = max(sizes.get(name, 0.0), float(np.abs(column).max()))
        off = column - column.mean() if motions is None else motions[k].at(one.t)[name] - column
        found.setdefault(name, []).append(off)
    spread = {name: float(np.sqrt(np.mean(np.concatenate(parts) ** 2))) for name, parts in found.items()}
    spread = {name: max(size, _EXACT * sizes[name]) or 1.0 for name, size in spread.items()}
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
        low, high = (np.array([getattr(u, side) for u in problem.unknowns]) for side in ("low", "high"))
        found.append(np.clip(inside, low, high))
    return found


def _searched(problem: Problem, first: Array, scales: Mapping[tuple[int, str], float], quick: bool) -> tuple[Array, float, str]:
    """The minimum from first values, part by part; with `quick` roughly, as one of several."""
    whole = None if quick else _search(problem, first, scales, None)
    if whole is not None and _misses_nothing(problem, whole[0], scales):
        return whole
    begin = problem.t[0]
    last = max(float(one.t[-1]) for one in problem.experiments)
    x = first
    for part in _PARTS:
        until = begin + part * (last - begin)
        times = sum(int((one.t <= until).sum()) for one in problem.experiments)
        if times >= _FEW * len(x):
            x, _, _ = _search(problem, x, scales, until, quick)
    found = _search(problem, x, scales, None, quick)
    return found if whole is None else min(found, whole, key=lambda one: one[1])


def _misses_nothing(problem: Problem, x: Array, scales: Mapping[tuple[int, str], float]) -> bool:
    """Whether the residuals of all columns look like noise: then no other minimum is searched for."""
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
    low, high = (np.array([getattr(u, side) for u in problem.unknowns]) for side in ("low", "high"))
    inside = np.clip(x, low, high)
    found = least_squares(
        lambda v: problem.residuals(v, scales, until)[0],
        inside,
        jac=lambda v: problem.residuals(v, scales, until)[1],
        bounds=(low, high),
        x_scale="jac",
        xtol=_ROUGH if quick else _FINE,
        ftol=_ROUGH if quick else _FINE,
        gtol=_ROUGH if quick else _FINE,
        max_nfev=_FEW_CALLS if quick else _MOST_CALLS,
    )
    return np.array(found.x), float(found.cost), str(found.message)


def _result(problem: Problem, x: Array, scales: Mapping[tuple[int, str], float], message: str) -> Fit:
    residual, jacobian = problem.residuals(x, scales)
    if np.all(residual >= 1e6):
        raise StateError("no values were found with which there is a motion.", where=problem.where, hint="other first values, or seeds=20")
    weighted = problem.experiments[0].weights is not None
    chi2 = float(residual @ residual)
    covariance, combinations, rank = _covariance(jacobian, problem.names)
    degrees = len(residual) - rank
    if not weighted:
        known = np.isfinite(covariance) & (degrees > 0)
        covariance = np.where(known, np.where(known, covariance, 0.0) * (chi2 / max(degrees, 1)), np.inf)
    motions = tuple(problem.motions(x))
    several = len(problem.experiments) > 1
    off = {
        (f"{k + 1}: {name}" if several else name): motions[k].at(problem.experiments[k].t)[name] - problem.experiments[k].columns[name]
        for k, name in labels(problem.experiments)
    }
    return Fit(
        Frozen(problem.values_of(x)),
        covariance,
        combinations,
        problem.model_at(x),
        motions,
        Frozen(off),
        chi2,
        degrees,
        weighted,
        message,
        Frozen({name: float(np.sqrt(np.mean(v**2))) for name, v in off.items()}),
        problem.experiments,
    )


def _covariance(jacobian: Array, names: list[str]) -> tuple[Array, list[dict[str, float]], int]:
    """The inverse of J^T J, infinite for unknowns in combinations without influence, these combinations, and the rank."""
    norms = np.sqrt((jacobian**2).sum(axis=0))
    units = np.where(norms > 0, norms, 1.0)
    _, s, v = np.linalg.svd(jacobian / units, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(names) - len(s))])
    determined = s > _OPEN * max(float(s.max(initial=0.0)), 1e-300)
    covariance = (v[determined].T / s[determined] ** 2) @ v[determined]
    combinations = []
    for line in v[~determined]:
        moved = line / units
        moved = moved / np.abs(moved).max() * np.sign(moved[np.abs(moved).argmax()])
        combinations.append({name: float(c) for name, c in zip(names, moved, strict=True) if abs(c) > 1e-6})
    covariance = covariance / np.outer(units, units)
    loose = [k for k, name in enumerate(names) if any(name in one for one in combinations)]
    covariance[loose, loose] = np.inf
    return covariance, combinations, int(determined.sum())
