"""which: the principle, or the model, that fits measured motions best, or None if the data do not decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import Any

import numpy as np

from chetaev.core.display.html import card, columns, facts
from chetaev.core.display.html import number as typeset
from chetaev.core.errors import ChetaevError, InitialError, StateError, UsageError
from chetaev.core.fixes import Ask
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.core.symbols import Multiplier
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import Principle
from chetaev.numerics.evaluation.evaluate import evaluate
from chetaev.numerics.evaluation.values_at import values_at
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.flow.prolongation import prolongation
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.identification.evidence import criteria, is_noise
from chetaev.numerics.identification.experiments import Experiment
from chetaev.numerics.identification.fit import problem_of, read_steps, require_seeds, require_segments, solve, solve_with_segments
from chetaev.numerics.identification.problem import Problem
from chetaev.numerics.identification.result import Fit
from chetaev.numerics.identification.work import MOST_STEPS, Work

_DECISIVE_DIFFERENCE = 10.0
"""The difference of Akaike's criterion that decides. A superfluous unknown improves it by this much in one of two thousand records."""
_FITTED_PART = 0.7
"""The fraction of the record that is fitted to predict the rest."""
_IMPOSSIBLE = 1e-6
"""Probability of a sum of weighted squares below which a principle does not fit."""


@dataclass(frozen=True)
class Row:
    """One candidate and its evidence."""

    candidate: Any
    """The principle or the model."""
    fit: Fit
    rms: float
    """Root mean square of the residuals, in units of the columns' own spread."""
    unknowns: int
    aic: float
    bic: float
    prediction: float
    """Root mean square error in the last part of the record, predicted from the first; NaN where that fails."""
    fits: bool
    """Whether the residuals look like noise."""


@public
@dataclass(frozen=True, repr=False)
class Answer:
    """The best candidate, or None if the data do not decide, with the evidence for all candidates."""

    best: Any
    """A principle or a model; None if the best two do not differ by more than the evidence allows, or none fits."""
    table: tuple[Row, ...]
    """All candidates, the best first."""
    reason: str
    """The reason for `best`, in a sentence."""
    failed: tuple[tuple[Any, str], ...] = ()
    """Candidates for which no motion was found, with the reason."""

    @property
    def _remarks(self) -> list[tuple[Any, str]]:
        return [*self.failed, *((row.candidate, remark) for row in self.table for remark in row.fit.remarks)]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = []
        for row in self.table:
            name = str(row.candidate if isinstance(row.candidate, Principle) else row.candidate.name or row.candidate.principle)
            numbers = (typeset(row.rms, 3), str(row.unknowns), typeset(row.aic, 5), typeset(row.bic, 5), typeset(row.prediction, 3))
            lines.append((escape(name), *numbers, "yes" if row.fits else "no"))
        head = ("", "residual", "unknowns", "AIC", "BIC", "prediction", "fits")
        return card(self.reason, columns(head, lines), facts(escape(f"{candidate}: {why}") for candidate, why in self._remarks))

    def __str__(self) -> str:
        lines = [self.reason, f"  {'':<28} {'residual':>10} {'unknowns':>8} {'AIC':>12} {'BIC':>12} {'prediction':>10}  fits"]
        for row in self.table:
            name = str(row.candidate if isinstance(row.candidate, Principle) else row.candidate.name or row.candidate.principle)
            numbers = f"{row.rms:>10.3g} {row.unknowns:>8} {row.aic:>12.5g} {row.bic:>12.5g} {row.prediction:>10.3g}"
            lines.append(f"  {name:<28} {numbers}  {'yes' if row.fits else 'no'}")
        lines += [f"  {candidate}: {why}" for candidate, why in self._remarks]
        return "\n".join(lines)


@public
def which(
    model: Any,
    candidates: Any = None,
    data: Any = None,
    unknown: Mapping[str, Any] | None = None,
    *,
    weights: Any = None,
    t: tuple[float, float] | None = None,
    seeds: int = 12,
    segments: int | None = 1,
    steps: int = MOST_STEPS,
    progress: bool | None = None,
) -> Answer:
    """Compare principles, or models, by measured motions: fit each with its own free data, and rank them by their evidence.

    Multipliers that are free initial data under a principle (vakonomic ones) are fitted with the other unknowns, from many first values:
    the sum of squares of a wrong principle has many minima.

    Args:
        model: A model, whose principle is replaced by each candidate; or a list of models, then `data` follows.
        candidates: Principles (or models).
        data: As in `fit`.
        unknown: As in `fit`.
        weights: As in `fit`.
        t: As in `fit`.
        seeds: The number of first values for each candidate.
        segments: As in `fit`, for records of chaotic motions; by default each record is one motion.
        steps: As in `fit`.
        progress: As in `fit`.

    Returns:
        The best candidate, or None if the data do not decide, and a table of the evidence.

    Raises:
        UsageError: For data, unknowns or candidates that cannot be used.
    """
    if isinstance(model, list | tuple):  # which(models, data, unknown)
        if candidates is not None and data is not None:
            what = "models and other candidates are given at once."
            raise UsageError(
                what,
                where="which",
                hint=(Ask("which", "model, [ch.DAlembert(), ...], data"), ", or ", Ask("which", "[model, other], data")),
            )
        model, candidates, data = None, list(model), candidates if data is None else data
    choices = _choices(model, candidates)
    require_seeds(seeds, "which")
    require_segments(segments, "which")
    rows, failed = [], []
    solved = partial(solve_with_segments, seeds=seeds, count=segments)
    with Work(progress, "which", "which", read_steps(steps, "which")) as work:
        for candidate, own in choices:
            work.stage = str(own.principle)
            try:
                rows.append(_row(candidate, own, data, unknown, weights, t, solved, work))
            except (StateError, InitialError) as fault:
                failed.append((candidate, fault.what))
    rows.sort(key=lambda row: row.aic)
    best, reason = _decision(rows)
    return Answer(best, tuple(rows), reason, tuple(failed))


def _choices(model: Any, candidates: Any) -> list[tuple[Any, Model]]:
    where = "which"
    hint = (
        Ask("which", "model, [ch.DAlembert(), ch.Vakonomic()], data, unknown={...}"),
        ", or ",
        Ask("which", "[model, other], data, unknown={...}"),
    )
    if not isinstance(candidates, Sequence) or isinstance(candidates, str) or not candidates:
        raise UsageError("no candidates are given.", where=where, hint=hint)
    found: list[tuple[Any, Model]] = []
    for one in candidates:
        if isinstance(one, Model):
            found.append((one, one))
        elif isinstance(one, Principle) and isinstance(model, Model):
            own = model.under(one) if one in model.principles else replace(model, principle=one, also={}, invariants={})
            found.append((one, own))
        else:
            raise UsageError(f"{one!r} is neither a principle of a model nor a model.", where=where, hint=hint)
    return found


def _row(candidate: Any, model: Model, data: Any, unknown: Any, weights: Any, t: Any, solved: Callable[[Problem], Fit], work: Work) -> Row:
    """A candidate, fitted by `solved`, and its evidence."""
    state = _multipliers(model)
    asked = {name: spec for name, spec in (unknown or {}).items() if name in state or not _is_multiplier(name)}
    free = _free_multipliers(model, [name for name in state if name not in asked])
    model = replace(model, start=State({**free, **model.start.fixed}, model.start.guess))
    own = {**asked, **free}
    problem = problem_of(model, data, own, weights, None, None, t)
    usual = _usual_multiplier(model) if free else 0.0
    unknowns = tuple(replace(u, spread=max(abs(u.first), usual)) if u.name in free else u for u in problem.unknowns)
    problem = replace(problem, unknowns=unknowns, work=work)
    found = solved(problem)
    sizes = _spreads(problem)
    weighted = problem.experiments[0].weights is not None
    parts = {name: v / sizes[name] for name, v in found.residuals.items()}
    aic, bic = criteria(list(parts.values()), len(own), found.chi2 if weighted else None)
    columns = [
        (one.columns[name], f"{k + 1}: {name}" if len(problem.experiments) > 1 else name)
        for k, one in enumerate(problem.experiments)
        for name in one.columns
    ]
    fits = all(is_noise(found.residuals[label], column) for column, label in columns)
    if weighted:
        from scipy import stats  # reports know fits, but few compute one

        fits = bool(stats.chi2.sf(found.chi2, max(found.degrees, 1)) > _IMPOSSIBLE)
    rms = float(np.sqrt(np.mean(np.concatenate(list(parts.values())) ** 2)))
    return Row(candidate, found, rms, len(own), aic, bic, _prediction(problem, found, sizes), fits)


def _is_multiplier(name: str) -> bool:
    return name.removeprefix("lambda") != name and name.removeprefix("lambda").isdecimal()


def _multipliers(model: Model) -> list[str]:
    """The multipliers that are part of the state under the principle of a model."""
    system = prolongation(derive(model))
    return [z.name for z in (() if system is None else system.structure.state) if isinstance(z, Multiplier)]


def _spreads(problem: Problem) -> dict[str, float]:
    """The spread of each column of the data."""
    several = len(problem.experiments) > 1
    found = {}
    for k, one in enumerate(problem.experiments):
        for name, column in one.columns.items():
            spread = float(np.std(column)) or float(np.abs(column).max()) or 1.0
            found[f"{k + 1}: {name}" if several else name] = spread
    return found


def _free_multipliers(model: Model, state: Sequence[str]) -> dict[str, float]:
    """The multipliers in `state` that are free initial data, with first values: those of the start, or zero."""
    equations = derive(model)
    missing = [name for name in state if name not in model.start.fixed]
    values = {
        p: number(model.parameters[p.name], {}, "which", UsageError) for p in equations.system.parameters if p.name in model.parameters
    }
    found = {name: number(model.start.fixed[name], values, "which", InitialError) for name in state if name in model.start.fixed}
    for name in [*missing, None]:
        try:
            start = State({**model.start.fixed, **found}, model.start.guess)
            evaluate(equations, start, parameters=dict(model.parameters), t=float(model.t[0]), inputs=dict(model.inputs))
            return found
        except ChetaevError:
            if name is None:
                return found
            found[name] = 0.0
    return found


def _usual_multiplier(model: Model) -> float:
    """The typical size of a vakonomic multiplier: that of the momenta divided by coefficients of velocities in the rows, at the start."""
    equations, coordinates = derive(model), model.system.coordinates
    momenta = [model.system.lagrangian.diff(q.d()) for q in coordinates]
    rows = [row.residual.diff(q.d()) for row in model.system.kinematic for q in coordinates]
    wanted = [e for e in (*momenta, *rows) if e != 0]
    settings: dict[str, Any] = {"parameters": dict(model.parameters), "t": float(model.t[0]), "inputs": dict(model.inputs)}
    try:
        found = np.abs(values_at(equations, model.start, wanted, **settings))
    except ChetaevError:
        return 0.0
    count = sum(e != 0 for e in momenta)
    return float(found[:count].max(initial=0.0) / (found[count:].max(initial=0.0) or 1.0))


def _prediction(problem: Problem, found: Fit, sizes: Mapping[str, float]) -> float:
    """The error of the last part of the record, predicted by a fit of the first part that starts from the whole fit."""
    last = max(float(one.t[-1]) for one in problem.experiments)
    until = problem.t[0] + _FITTED_PART * (last - problem.t[0])
    first = tuple(_cut(one, one.t <= until) for one in problem.experiments)
    if any(one.size == 0 for one in first) or sum(one.size for one in first) < len(problem.unknowns):
        return float("nan")
    unknowns = tuple(replace(u, first=float(found.values[u.name])) for u in problem.unknowns)
    try:
        trained = solve(replace(problem, experiments=first, unknowns=unknowns, _known={}), 1)
        x = np.array([trained.values[u.name] for u in unknowns])
        motions = problem.motions(x, slopes=False)
    except ChetaevError:
        return float("nan")
    errors: list[Array] = []
    for k, (one, motion) in enumerate(zip(problem.experiments, motions, strict=True)):
        later = one.t > until
        if not motion.outcome.reached_end or not later.any():
            continue
        at = motion.at(one.t[later])
        for name, column in one.columns.items():
            label = f"{k + 1}: {name}" if len(problem.experiments) > 1 else name
            errors.append((at[name] - column[later]) / sizes[label])
    return float(np.sqrt(np.mean(np.concatenate(errors) ** 2))) if errors else float("nan")


def _cut(one: Experiment, some: Any) -> Experiment:
    weights = None if one.weights is None else {name: w[some] for name, w in one.weights.items()}
    return Experiment(one.t[some], {name: v[some] for name, v in one.columns.items()}, weights)


def _decision(rows: Sequence[Row]) -> tuple[Any, str]:
    if not rows:
        return None, "no candidate has a motion like the data."
    first = rows[0]
    if not first.fits:
        return None, "cannot tell: no candidate fits; the residuals of the best one are a curve, not noise."
    if len(rows) == 1:
        return first.candidate, "there is one candidate, and it fits."
    gap = rows[1].aic - first.aic
    if gap < _DECISIVE_DIFFERENCE:
        return None, f"cannot tell: the best two differ by {gap:.3g} in Akaike's criterion, less than {_DECISIVE_DIFFERENCE:g}."
    return first.candidate, f"{first.candidate if isinstance(first.candidate, Principle) else first.candidate.name} fits best."
