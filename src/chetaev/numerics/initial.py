"""Consistent initial data: what the user gives, completed from the constraints.

The rows that restrict the state are taken in Pryce's stages, positions first. At each stage the missing jets are solved for where they
enter affinely; a jet that enters otherwise needs a guess. What is still missing at the end is free data and is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chetaev.analysis.ranks import Matrix, rank
from chetaev.declarations import read_value
from chetaev.equations import Equations
from chetaev.errors import InitialError, did_you_mean, require_mapping
from chetaev.frozen import Frozen
from chetaev.numerics.binding import Binding, number
from chetaev.numerics.prolong import Pair, Problem, Prolongation, least_norm, open_jets
from chetaev.symbols import TIME, Input, Jet, Multiplier

_CONTRADICTION = 1e-8
_ROUND_OFF = 1e-14
_SMALL = 1e-6
_TINY = 1e-12
_STEPS = 40


@dataclass(frozen=True)
class State:
    """Initial data: `fixed` values must hold, `guess` values may be moved onto the constraints."""

    fixed: Mapping[str, Any] = field(default_factory=dict)
    guess: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("fixed", "guess"):
            require_mapping(getattr(self, name), f"{name} values are", "State", 'State({"x": 0}, {"y": 1})')
            object.__setattr__(self, name, Frozen(getattr(self, name)))


@dataclass(frozen=True)
class Data:
    """Initial data read: values by jet."""

    fixed: Mapping[Jet, float]
    guess: Mapping[Jet, float]


def read_state(equations: Equations, start: State | Mapping[str, Any], binding: Binding, where: str) -> Data:
    """The user's data with every name understood and every value a number."""
    if not isinstance(start, State):
        require_mapping(start, "the state is", where, '{"x": 0, "x\'": 1}')
        start = State(fixed=start)
    fixed = _read(equations, start.fixed, binding, where)
    guess = _read(equations, start.guess, binding, where)
    both = [z.name for z in fixed if z in guess]
    if both:
        raise InitialError(f"{both[0]} is given both as fixed and as a guess.", where=where, hint="give it once")
    if not equations.lowered.vakonomic:  # a value of a reaction multiplier is at most a guess
        guess |= {z: v for z, v in fixed.items() if isinstance(z, Multiplier)}
        fixed = {z: v for z, v in fixed.items() if not isinstance(z, Multiplier)}
    return Data(fixed, guess)


def complete(problem: Problem, data: Data) -> dict[Jet, float]:
    """A value for every jet of the state, consistent with all hidden constraints."""
    system = problem.system
    state = system.structure.state
    known = {z: v for z, v in data.fixed.items() if z in state}
    for k in system.stages():
        known |= _solved_at(problem, k, known, data.guess)
    known |= _from_jets_above(problem, known, data)
    for z, v in data.guess.items():
        if z in state:
            known.setdefault(z, v)
    missing = [z for z in state if z not in known]
    if missing:
        raise _too_few(problem, missing, known)
    return _projected(problem, known, data)


def _solved_at(problem: Problem, k: int, known: Mapping[Jet, float], guess: Mapping[Jet, float]) -> dict[Jet, float]:
    """The missing jets that one stage determines."""
    system = problem.system
    pairs = system.stage(k)
    missing = _missing(system, pairs, known)
    if not missing:
        return {}
    curved = system.curved(pairs, missing)
    unguessed = system.curved(pairs, [z for z in missing if z not in guess])
    if unguessed:
        if _affine_later(system, k, known, missing):
            return {}
        raise _needs_guess(problem, unguessed)
    trial = {**known, **{z: guess.get(z, 0.0) for z in missing}}
    null: Matrix = np.zeros((len(missing), 0))
    for _ in range(_STEPS if curved else 1):
        residual, jacobian = problem.numbers(pairs, missing, trial)
        step, null = least_norm(jacobian, -residual)
        trial |= {z: float(trial[z] + s) for z, s in zip(missing, step, strict=True)}
        if np.abs(step).max(initial=0.0) < 1e-13 * max(1.0, *map(abs, trial.values())):
            break
    left_open = open_jets(missing, null)
    return {z: trial[z] for z in missing if z not in left_open}


def _from_jets_above(problem: Problem, known: Mapping[Jet, float], data: Data) -> dict[Jet, float]:
    """Missing jets of the state that follow, linearly, from given jets at the top: an acceleration, or a control."""
    system = problem.system
    given = {z: v for z, v in data.fixed.items() if z in system.structure.top}
    missing = [z for z in system.structure.state if z not in known]
    if not given or not missing:
        return {}
    pairs = system.stage(0)
    unknowns = [*missing, *[z for z in system.structure.top if z not in given]]
    if system.curved(pairs, unknowns):
        return {}
    values, jacobian = problem.numbers(pairs, unknowns, {**known, **dict.fromkeys(unknowns, 0.0), **given})
    step, null = least_norm(jacobian, -values)
    left_open = open_jets(unknowns, null)
    return {z: float(s) for z, s in zip(unknowns, step, strict=True) if z in missing and z not in left_open}


def _missing(system: Prolongation, pairs: Sequence[Pair], known: Mapping[Jet, float]) -> list[Jet]:
    present = system.symbols(pairs)
    return [z for z in system.structure.state if z in present and z not in known]


def _affine_later(system: Prolongation, k: int, known: Mapping[Jet, float], missing: list[Jet]) -> bool:
    """Whether later stages alone determine the same missing jets, affinely."""
    later = [pair for m in range(k + 1, 0) for pair in system.stage(m)]
    return _missing(system, later, known) == missing and not system.curved(later, missing)


def _projected(problem: Problem, known: Mapping[Jet, float], data: Data) -> dict[Jet, float]:
    """The data moved onto the hidden constraints: guesses as far as needed, fixed values only by round-off."""
    pairs = problem.system.hidden()
    state = list(problem.system.structure.state)
    at = {z: known[z] for z in state}
    if not pairs:
        return at
    at = _nearest(problem, pairs, [z for z in state if z not in data.fixed], at)
    residual, jacobian = problem.numbers(pairs, state, at)
    size, worst = _largest(residual, jacobian, state, at)
    if size > _CONTRADICTION:
        raise _contradiction(problem, pairs, worst, float(residual[worst]))
    if size < _ROUND_OFF:
        return at
    for _ in range(2):
        at = _moved(at, state, least_norm(jacobian, -residual)[0])
        residual, jacobian = problem.numbers(pairs, state, at)
    return at


def _nearest(problem: Problem, pairs: Sequence[Pair], loose: Sequence[Jet], at: dict[Jet, float]) -> dict[Jet, float]:
    """The values that come nearest to the constraints when only some jets may move; Newton's iteration may overshoot on the way."""
    best, smallest = at, np.inf
    for _ in range(_STEPS):
        residual, jacobian = problem.numbers(pairs, loose, at)
        size = float(np.abs(residual).max())
        if size < smallest:
            best, smallest = at, size
        if not loose or smallest == 0:
            break
        step = least_norm(jacobian, -residual)[0]
        if np.abs(step).max(initial=0.0) < 1e-15 or not np.all(np.isfinite(step)):
            break
        at = _moved(at, loose, step)
    return best


def _moved(at: Mapping[Jet, float], jets: Sequence[Jet], step: Matrix) -> dict[Jet, float]:
    return {**at, **{z: float(at[z] + s) for z, s in zip(jets, step, strict=True)}}


def _largest(residual: Matrix, jacobian: Matrix, jets: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[float, int]:
    """The largest residual relative to the size of its terms, and where it is.

    A jet counts with its value, or with a millionth of the largest jet of its order: a velocity that is zero up to round-off among
    velocities of order one contradicts nothing.
    """
    largest = {z.order: max(abs(at[w]) for w in jets if w.order == z.order) for z in jets}
    sizes = np.array([max(abs(at[z]), _SMALL * largest[z.order], _TINY) for z in jets])
    scale = (np.abs(jacobian) * sizes).max(axis=1, initial=0.0)
    scaled = np.abs(residual) / np.where(scale > 0, scale, 1.0)
    worst = int(np.argmax(scaled))
    return float(scaled[worst]), worst


def _needs_guess(problem: Problem, jets: Sequence[Jet]) -> InitialError:
    names, one = " ".join(z.name for z in jets), len(jets) == 1
    return InitialError(
        f"{names} {'is' if one else 'are'} missing, and the equations for {'it' if one else 'them'} are not linear.",
        where=problem.where,
        why="There may be several solutions, or none.",
        hint=f"give the value, or State(fixed, guess={{{', '.join(f'{chr(34)}{z.name}{chr(34)}: ...' for z in jets)}}})",
    )


def _too_few(problem: Problem, missing: Sequence[Jet], known: Mapping[Jet, float]) -> InitialError:
    multipliers = [z for z in missing if isinstance(z, Multiplier)]
    why = f"{multipliers[0].name} at t = {problem.t:g} is free data in vakonomic motion." if multipliers else ""
    trial = {**known, **dict.fromkeys(missing, 0.5)}
    _, jacobian = problem.numbers(problem.system.hidden(), missing, trial)
    needed = len(missing) - rank(jacobian)
    if needed == 0:
        why = "They enter the constraints nonlinearly or degenerately at these data."
    if needed in (0, len(missing)):
        hint = f"{{..., {', '.join(f'{chr(34)}{z.name}{chr(34)}: ...' for z in missing)}}}"
    else:
        hint = f"give {needed} of them; the rest follow from the constraints"
    names = " ".join(z.name for z in missing)
    return InitialError(f"no initial value{'s' * (len(missing) > 1)} for {names}.", where=problem.where, why=why, hint=hint)


def _contradiction(problem: Problem, pairs: Sequence[Pair], worst: int, size: float) -> InitialError:
    label = problem.system.label
    return InitialError(
        f"the data contradict {label(pairs[worst])}: it is off by {size:.3g}.",
        where=problem.where,
        why=f"These must vanish on every state: {', '.join(label(p) for p in pairs)}.",
        hint="leave out one of the values, or give it as a guess; ch.classify tells whether the rows themselves contradict",
    )


def _read(equations: Equations, given: Mapping[str, Any], binding: Binding, where: str) -> dict[Jet, float]:
    values: dict[Jet, float] = {}
    known = [z.base for z in equations.unknowns]
    for key, v in given.items():
        jet = read_value(key, equations.vocabulary, where)
        if not isinstance(jet, Jet) or isinstance(jet, Input) or jet.base not in known:
            hint = f"jets of {' '.join(known)}.  {did_you_mean(str(key), known)}".rstrip()
            hint = f"evaluate(..., t={v})" if jet == TIME else hint
            raise InitialError(f"{key} is not an unknown of the motion.", where=where, hint=hint)
        if jet in values:
            raise InitialError(f"{jet.name} is given twice.", where=where, hint="give it once")
        values[jet] = number(v, dict(binding.parameters), f"{where}, {key}", InitialError)
    return values
