"""Consistent initial data: what the user gives, completed from the constraints.

The rows that restrict the state are taken in Pryce's stages, positions first. At each stage the missing jets are solved for where they
enter affinely; a jet that enters otherwise needs a guess. What is still missing at the end is free data and is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chetaev.analysis.ranks import Matrix, equilibrated
from chetaev.equations import Equations
from chetaev.errors import InitialError, StateError, did_you_mean
from chetaev.frozen import Frozen
from chetaev.notation import parse_expression
from chetaev.numerics.binding import Binding, number
from chetaev.numerics.prolong import Prolongation
from chetaev.symbols import Input, Jet, Multiplier
from chetaev.values import Undefined
from chetaev.zero import seems_zero

_CONTRADICTION = 1e-8
_CUT = 1e-9
_STEPS = 40


@dataclass(frozen=True)
class State:
    """Initial data: `fixed` values must hold, `guess` values may be moved onto the constraints."""

    fixed: Mapping[str, Any] = field(default_factory=dict)
    guess: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("fixed", "guess"):
            object.__setattr__(self, name, Frozen(getattr(self, name)))


@dataclass(frozen=True)
class Data:
    """Initial data read: values by jet."""

    fixed: dict[Jet, float]
    guess: dict[Jet, float]


def read_state(equations: Equations, start: State | Mapping[str, Any], binding: Binding, where: str) -> Data:
    """The user's data with every name understood and every value a number."""
    if not isinstance(start, State):
        start = State(fixed=start)
    fixed = _read(equations, start.fixed, binding, where)
    guess = _read(equations, start.guess, binding, where)
    both = [z.name for z in fixed if z in guess]
    if both:
        raise InitialError(f"{both[0]} is given both as fixed and as a guess.", where=where, hint="give it once")
    if not equations.lowered.vakonomic:  # reaction multipliers are never state: a value is at most a guess
        guess |= {z: v for z, v in fixed.items() if isinstance(z, Multiplier)}
        fixed = {z: v for z, v in fixed.items() if not isinstance(z, Multiplier)}
    return Data(fixed, guess)


def complete(system: Prolongation, data: Data, binding: Binding, t: float, where: str) -> dict[Jet, float]:
    """A value for every jet of the state, consistent with all hidden constraints."""
    state = system.structure.state
    known = {z: v for z, v in data.fixed.items() if z in state}
    for k in range(-max(system.structure.row_offsets, default=0), 0):
        _solve_stage(system, k, known, data.guess, binding, t, where)
    for z, v in data.guess.items():
        if z in state:
            known.setdefault(z, v)
    missing = [z for z in state if z not in known]
    if missing:
        raise _too_few(system, missing, where)
    return _projected(system, known, data, binding, t, where)


def _solve_stage(
    system: Prolongation, k: int, known: dict[Jet, float], guess: Mapping[Jet, float], binding: Binding, t: float, where: str
) -> None:
    """Fill in what one stage determines."""
    pairs = system.stage(k)
    present = system.symbols(pairs)
    missing = [z for z in system.structure.state if z in present and z not in known]
    if not missing:
        return
    trial = {**known, **{z: guess.get(z, 0.0) for z in missing}}
    curved = _curved(system, pairs, missing)
    unguessed = [z for z in curved if z not in guess]
    if unguessed:
        if _determined_later(system, k, missing):
            return
        names = " ".join(z.name for z in unguessed) + (" is" if len(unguessed) == 1 else " are")
        raise InitialError(
            f"{names} missing, and the equations that would give a value are not linear in it.",
            where=where,
            why="There may be several solutions, or none.",
            hint=f"give the value, or State(fixed, guess={{{', '.join(f'{z.name!r}: ...' for z in unguessed)}}})",
        )
    for _ in range(_STEPS if curved else 1):
        residual, jacobian = _numbers(system, pairs, missing, binding, t, trial, where)
        step, null = least_norm(jacobian, -residual)
        trial |= {z: float(trial[z] + s) for z, s in zip(missing, step, strict=True)}
        if np.abs(step).max(initial=0.0) < 1e-13 * max(1.0, *map(abs, trial.values())):
            break
    determined = np.abs(null).max(axis=1, initial=0.0) < _CUT
    known |= {z: trial[z] for z, sure in zip(missing, determined, strict=True) if sure}


def _determined_later(system: Prolongation, k: int, missing: list[Jet]) -> bool:
    """Whether a later stage contains the missing jets as well, perhaps affinely."""
    later = [pair for m in range(k + 1, 0) for pair in system.stage(m)]
    return bool(later) and not _curved(system, later, missing) and all(z in system.symbols(later) for z in missing)


def _curved(system: Prolongation, pairs: list[tuple[int, int]], unknowns: list[Jet]) -> list[Jet]:
    """The unknowns in which the rows are not affine."""
    found = set()
    for pair in pairs:
        row = system.row(*pair)
        for z in unknowns:
            slope = row.diff(z) if row.has(z) else row * 0
            found |= {z for w in unknowns if slope.has(w) and not seems_zero(slope.diff(w))}
    return [z for z in unknowns if z in found]


def least_norm(jacobian: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
    """The solution of least norm, and a basis of the null space as columns; scaling keeps tiny pivots from hiding."""
    if jacobian.shape[1] == 0:
        return np.zeros(0), np.zeros((0, 0))
    rows, scaled, columns = equilibrated(jacobian)
    u, s, vt = np.linalg.svd(scaled, full_matrices=True)
    cut = _CUT * s[0] if len(s) and s[0] > 0 else np.inf
    r = int(np.sum(s > cut))
    null: Matrix = (vt[r:].T) / columns[:, None]
    step: Matrix = (vt[:r].T @ ((u[:, :r].T @ (right / rows)) / s[:r])) / columns
    if null.shape[1]:  # scaling bent the metric: take the least norm in the user's variables
        step = step - null @ np.linalg.lstsq(null, step, rcond=None)[0]
    return step, null


def _numbers(
    system: Prolongation,
    pairs: list[tuple[int, int]],
    unknowns: list[Jet],
    binding: Binding,
    t: float,
    jets: Mapping[Jet, float],
    where: str,
) -> tuple[Matrix, Matrix]:
    try:
        return system.numbers(pairs, unknowns, system.point(pairs, binding, t, jets))
    except Undefined as cause:
        raise StateError(f"the equations have no finite value at this state ({cause}).", where=where, hint="another state") from None


def _projected(system: Prolongation, known: dict[Jet, float], data: Data, binding: Binding, t: float, where: str) -> dict[Jet, float]:
    """The data moved onto the hidden constraints: guesses as far as needed, fixed values only by round-off."""
    pairs = system.hidden()
    if not pairs:
        return known
    state = list(system.structure.state)
    loose = [z for z in state if z not in data.fixed]
    for _ in range(_STEPS):
        residual, jacobian = _numbers(system, pairs, loose, binding, t, known, where)
        if _largest(residual, jacobian, loose, known)[0] < _CONTRADICTION or not loose:
            break
        step, _ = least_norm(jacobian, -residual)
        known = {**known, **{z: float(known[z] + s) for z, s in zip(loose, step, strict=True)}}
    residual, jacobian = _numbers(system, pairs, state, binding, t, known, where)
    size, worst = _largest(residual, jacobian, state, known)
    if size > _CONTRADICTION:
        raise InitialError(
            f"the data contradict {system.label(pairs[worst])}: it is off by {residual[worst]:.3g}.",
            where=where,
            why=f"These must vanish on every state: {', '.join(system.label(p) for p in pairs)}.",
            hint="leave out one of the values, or give it as a guess",
        )
    for _ in range(2):
        step, _ = least_norm(jacobian, -residual)
        known = {**known, **{z: float(known[z] + s) for z, s in zip(state, step, strict=True)}}
        residual, jacobian = _numbers(system, pairs, state, binding, t, known, where)
    return known


def _largest(residual: Matrix, jacobian: Matrix, jets: list[Jet], at: Mapping[Jet, float]) -> tuple[float, int]:
    """The largest residual relative to the size of its row, and where it is."""
    sizes = np.array([max(1.0, abs(at[z])) for z in jets])
    scale = np.maximum(1.0, (np.abs(jacobian) * sizes).max(axis=1, initial=0.0))
    scaled = np.abs(residual) / scale
    worst = int(np.argmax(scaled))
    return float(scaled[worst]), worst


def _too_few(system: Prolongation, missing: list[Jet], where: str) -> InitialError:
    needed = min(len(missing), max(1, system.structure.dimension))
    multipliers = [z for z in missing if isinstance(z, Multiplier)]
    why = f"{multipliers[0].name} is free data in vakonomic motion." if multipliers else ""
    if len(missing) == 1:
        what, hint = f"no initial value for {missing[0].name}.", f"{{..., {missing[0].name!r}: ...}}"
    else:
        what = f"no initial values for {' '.join(z.name for z in missing)}."
        hint = f"give up to {needed} of them; the rest follow from the constraints"
    return InitialError(what, where=where, why=why, hint=hint)


def _read(equations: Equations, given: Mapping[str, Any], binding: Binding, where: str) -> dict[Jet, float]:
    values: dict[Jet, float] = {}
    known = [z.base for z in equations.unknowns]
    for key, v in given.items():
        jet = key if isinstance(key, Jet) else parse_expression(str(key), equations.vocabulary, where)
        if not isinstance(jet, Jet) or isinstance(jet, Input) or jet.base not in known:
            hint = f"jets of {' '.join(known)}.  {did_you_mean(str(key), known)}".rstrip()
            raise InitialError(f"{key} is not an unknown of the motion.", where=where, hint=hint)
        values[jet] = number(v, dict(binding.parameters), f"{where}, {key}", InitialError)
    return values
