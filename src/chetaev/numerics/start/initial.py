"""Consistent initial data: the user's values, completed from the constraints.

The rows that restrict the state are taken in Pryce's stages, positions first. At each stage the missing jets are solved for where they
enter affinely; a jet that enters otherwise needs a guess. A value given for a jet above the state, or for an expression, adds a row. Jets
that are still missing at the end are free data, and the error names them. Fixed values keep every bit, unless only they can remove a
residual of round-off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr

from chetaev.core.declarations import read_value
from chetaev.core.errors import InitialError, NotationError, did_you_mean, require_mapping
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.symbols import TIME, Input, Jet, Multiplier, Place, jets_in
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import Factored
from chetaev.mechanics.ranks.generic import rank
from chetaev.numerics.flow.local_rank import factored_at, require_clear
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation, least_norm, open_jets, prolongation
from chetaev.numerics.graphs.binding import Binding, number
from chetaev.numerics.start.attitude import read_element
from chetaev.numerics.start.blocks import solved_in_blocks
from chetaev.numerics.start.data_faults import ROUGH, contradiction, needs_guess, too_few, turning_point
from chetaev.numerics.start.newton import Conditions, Demand, flat_here, residual_of, settle, significant, weights

_CONTRADICTION = 1e-8
"""Relative to its terms: a larger residual contradicts the data. Data typed with nine digits must pass; a larger number would accept wrong
data."""
_ROUND_OFF = 1e-14
"""Relative to its terms: a smaller residual needs no correction."""
_SLOPELESS = 1e-12
"""Relative to slopes nearby: smaller ones count as zero at exact data (`ROUGH` after an iteration)."""


@dataclass(frozen=True)
class Data:
    """Initial data read: values by jet, and values demanded of expressions."""

    fixed: Mapping[Jet, float]
    guess: Mapping[Jet, float]
    demands: tuple[Demand, ...] = ()

    def on(self, system: Prolongation) -> Data:
        """Return the data for rows with a known state: multipliers outside the state are computed, so their values become guesses."""
        loose = {z: v for z, v in self.fixed.items() if isinstance(z, Multiplier) and z not in system.structure.state}
        return replace(self, fixed={z: v for z, v in self.fixed.items() if z not in loose}, guess={**self.guess, **loose})


def read_state(equations: Equations, start: State | Mapping[str, Any], binding: Binding, where: str, *, expressions: bool = False) -> Data:
    """Return the user's data with resolved names and numbers; `expressions` allows values of expressions too."""
    if not isinstance(start, State):
        require_mapping(start, "the state is", where, '{"x": 0, "x\'": 1}')
        start = State(fixed=start)
    fixed, demands = _read(equations, start.fixed, binding, where, expressions)
    guess, _ = _read(equations, start.guess, binding, where, False)
    both = [z.name for z in fixed if z in guess]
    if both:
        raise InitialError(f"{both[0]} is given both as fixed and as a guess.", where=where, hint="give it once")
    return Data(fixed, guess, tuple(demands))


class MissingData(InitialError):
    """Data are missing; raised without naming them where the caller does not need the names, which take long to find."""


def complete(problem: Problem, data: Data, *, explain: bool = True) -> dict[Jet, float]:
    """Return a value for every jet of the state, consistent with all hidden constraints.

    If data are missing, raise an InitialError that names them, or with `explain=False` a MissingData error.
    """
    state = problem.system.structure.state
    _require_places(problem, data)
    known = _staged(problem, data)
    known |= _demanded(problem, known, data)
    for z, v in data.guess.items():
        if z in state:
            known.setdefault(z, v)
    missing = [z for z in state if z not in known]
    if missing:
        raise _missing_data(problem, known, missing, data) if explain else MissingData("data are missing.", where=problem.where)
    return _projected(problem, known, data)


def _require_places(problem: Problem, data: Data) -> None:
    """Raise if the value of a group coordinate is not given, at least as a guess: there is no default to start from."""
    for name, group in problem.system.equations.system.groups.items():
        if any(z in problem.system.structure.state and z not in data.fixed and z not in data.guess for z in group.places):
            raise InitialError(
                f"no initial value for {name}.",
                where=problem.where,
                why=f"{name} is an element of {group.word}.",
                hint=f'{{"{name}": {group.group.example}, ...}}',
            )


def _missing_data(problem: Problem, known: Mapping[Jet, float], missing: Sequence[Jet], data: Data) -> InitialError:
    """Return the error for jets that neither constraints nor demands determine, or determine only nonlinearly."""
    rows, tops = _conditions(problem, data)
    given = {z: v for z, v in data.fixed.items() if z in problem.system.structure.top}
    curved = [z for z in rows.curved([*missing, *tops]) if z in missing]
    if curved:
        return needs_guess(rows, curved, [*missing, *tops], {**known, **given}, data.guess)
    fixed = {z: v for z, v in known.items() if z in data.fixed}  # what follows from them here may not follow beside this state
    loose = [z for z in problem.system.structure.state if z not in fixed]
    return too_few(rows, missing, [*loose, *tops], {**fixed, **given}, {**data.guess, **{z: v for z, v in known.items() if z in loose}})


def _staged(problem: Problem, data: Data) -> dict[Jet, float]:
    """Return the fixed values, and the jets that the stages of the constraints determine from them and the guesses."""
    system = problem.system
    known = {z: v for z, v in data.fixed.items() if z in system.structure.state}
    rough = False
    for k in system.stages():
        rows = Conditions(problem, tuple(system.stage(k)))
        missing = _missing(system, rows.pairs, known)
        if not missing:
            continue
        unguessed = [z for z in missing if z not in data.guess]
        curved = rows.curved(unguessed)
        if curved:
            known |= solved_in_blocks(problem, known, data.guess)
            missing = _missing(system, rows.pairs, known)
            unguessed = [z for z in missing if z not in data.guess]
            curved = rows.curved(unguessed)
        if curved:
            if _affine_later(system, k, known, missing) or _asks_more(problem, data):
                continue
            hidden = Conditions(problem, tuple(system.hidden()))
            raise needs_guess(hidden, curved, [z for z in system.structure.state if z not in known], known, data.guess)
        if not missing:
            continue
        bent = bool(rows.curved(missing))
        known |= _solved(rows, missing, bent, rough, known, data)
        rough |= bent
    return known


def _solved(rows: Conditions, missing: Sequence[Jet], bent: bool, rough: bool, known: Mapping[Jet, float], data: Data) -> dict[Jet, float]:
    """Return the missing jets that one stage determines; guesses count as given, although they may move.

    `bent` says that the rows are not affine in the missing jets; `rough` that an earlier stage was solved by iteration, so that `known` is
    exact only to the accuracy of that iteration. `flat` are jets at a turning point, in which the rows have no slope here; the data are
    `firm` if the user fixed all known values, so that a contradiction cannot be removed by moving one.
    """
    unguessed = [z for z in missing if z not in data.guess]
    trial = {**known, **{z: data.guess.get(z, 0.0) for z in missing}}
    slopeless = ROUGH if rough else _SLOPELESS
    flat = flat_here(rows, unguessed, trial, slopeless)
    trial |= _affine_step(rows, [z for z in unguessed if z not in flat], trial)
    if len(unguessed) < len(missing) and residual_of(rows, list(trial), trial).scaled > _ROUND_OFF:  # guesses have to move
        trial = settle(rows, missing, weights(missing, trial, data.guess, rows.sizes), trial)
        flat = flat_here(rows, unguessed, trial, ROUGH if bent else slopeless)
    firm = all(z in data.fixed for z in known)
    if flat or (bent and firm):  # no later stage can remove a fault of this one
        size = residual_of(rows, list(trial), trial)
        if size.scaled > _CONTRADICTION and (firm or not bent):
            raise _fails_here(rows, known, trial, data, turning_point(flat) if flat else "")
    _, factored = factored_at(rows.problem, rows.pairs, unguessed, trial)
    if not (flat or bent):
        require_clear(rows.problem, rows.pairs, unguessed, factored)
    left_open = {*flat, *open_jets(unguessed, factored.null_in(weights(unguessed, trial, {}, rows.sizes)))}
    return {z: trial[z] for z in missing if z in data.guess or z not in left_open}


def _fails_here(rows: Conditions, known: Mapping[Jet, float], trial: Mapping[Jet, float], data: Data, note: str) -> InitialError:
    """Return the error for a contradiction in one stage, together with the stages before it."""
    system = rows.problem.system
    through = system.hidden()[: system.hidden().index(rows.pairs[-1]) + 1]
    at = {**dict.fromkeys(_missing(system, through, trial), 0.0), **trial}
    all_rows = Conditions(rows.problem, tuple(through))
    fixed = {z: v for z, v in known.items() if z in data.fixed}
    return contradiction(all_rows, fixed, at, data.guess, residual_of(all_rows, list(at), at), note)


def _affine_step(rows: Conditions, unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> dict[Jet, float]:
    """Return the values of least norm that solve rows affine in the unknowns, with the other jets fixed."""
    residual, jacobian = rows.numbers(unknowns, at)
    step, _ = least_norm(jacobian, -residual)
    return {z: float(at[z] + s) for z, s in zip(unknowns, step, strict=True)}


def _demanded(problem: Problem, known: Mapping[Jet, float], data: Data) -> dict[Jet, float]:
    """Return missing jets of the state that follow from demands: values of an expression, an acceleration, a control."""
    system = problem.system
    missing = [z for z in system.structure.state if z not in known]
    if not missing or not _asks_more(problem, data):
        return {}
    rows, tops = _conditions(problem, data)
    given = {z: v for z, v in data.fixed.items() if z in system.structure.top}
    unknowns = [*missing, *tops]
    unguessed = [z for z in unknowns if z not in data.guess]
    if rows.curved(unguessed):
        return {}
    start = {**known, **given, **{z: data.guess.get(z, 0.0) for z in unknowns}}
    if rows.curved(unknowns):
        start = settle(rows, unknowns, weights(unknowns, start, data.guess, rows.sizes), start)
    else:
        start |= _affine_step(rows, unknowns, start)
    null = Factored(rows.numbers(unguessed, start)[1]).null_in(weights(unguessed, start, {}, rows.sizes))
    left_open = open_jets(unguessed, null)
    return {z: start[z] for z in missing if z not in left_open}


def _asks_more(problem: Problem, data: Data) -> bool:
    """Tell whether the user gives values besides those of the state."""
    return bool(data.demands) or any(z in problem.system.structure.top for z in data.fixed)


def _on_state(problem: Problem, data: Data) -> tuple[Demand, ...]:
    """The demands that concern the state alone."""
    state = set(problem.system.structure.state)
    return tuple(d for d in data.demands if {z for z in jets_in(d.expression) if not isinstance(z, Input)} <= state)


def _conditions(problem: Problem, data: Data) -> tuple[Conditions, list[Jet]]:
    """All rows that data and demands must satisfy together, and the jets at the top that have to be found along with the state."""
    system = problem.system
    above = len(_on_state(problem, data)) < len(data.demands) or any(z in system.structure.top for z in data.fixed)
    pairs = [*system.hidden(), *(system.stage(0) if above else [])]
    tops = [z for z in system.structure.top if z not in data.fixed] if above else []
    return Conditions(problem, tuple(pairs), data.demands), tops


def _missing(system: Prolongation, pairs: Sequence[Pair], known: Mapping[Jet, float]) -> list[Jet]:
    present = system.symbols(pairs)
    return [z for z in system.structure.state if z in present and z not in known]


def _affine_later(system: Prolongation, k: int, known: Mapping[Jet, float], missing: list[Jet]) -> bool:
    """Whether later stages alone determine the same missing jets, affinely."""
    later = [pair for m in range(k + 1, 0) for pair in system.stage(m)]
    return _missing(system, later, known) == missing and not system.curved(later, missing)


def _projected(problem: Problem, known: Mapping[Jet, float], data: Data) -> dict[Jet, float]:
    """Move the data onto the hidden constraints: guesses as far as needed, fixed values only where nothing else can remove round-off."""
    state = list(problem.system.structure.state)
    at = {z: known[z] for z in state}
    loose = [z for z in state if z not in data.fixed]
    if _asks_more(problem, data):
        at = _meeting_demands(problem, at, loose, data)
    rows = Conditions(problem, tuple(problem.system.hidden()))
    if not rows.pairs:
        return at
    at = settle(rows, loose, weights(loose, at, data.guess, rows.sizes), at)
    size = residual_of(rows, state, at)
    if size.scaled > _CONTRADICTION:
        raise contradiction(rows, {z: v for z, v in at.items() if z in data.fixed}, at, data.guess, size)
    residual, jacobian = rows.numbers(state, at)
    if size.scaled < _ROUND_OFF or rank(jacobian[:, [state.index(z) for z in loose]]) == rank(jacobian):
        return at
    for _ in range(2):
        step = least_norm(significant(jacobian, state, at, rows.sizes), -residual)[0]
        at |= {z: float(at[z] + s) for z, s in zip(state, step, strict=True)}
        residual, jacobian = rows.numbers(state, at)
    return at


def _meeting_demands(problem: Problem, at: dict[Jet, float], loose: Sequence[Jet], data: Data) -> dict[Jet, float]:
    """Move the data, where they may move, until the demands hold too. `evaluate._check_given` checks fixed accelerations later."""
    rows, tops = _conditions(problem, data)
    given = {z: v for z, v in data.fixed.items() if z in problem.system.structure.top}
    start = {**at, **given, **dict.fromkeys(tops, 0.0)}
    start |= _affine_step(rows, tops, start)
    unknowns = [*loose, *tops]
    found = settle(rows, unknowns, weights(unknowns, start, data.guess, rows.sizes), start)
    size = residual_of(rows, list(found), found)
    if size.scaled <= _CONTRADICTION:
        return {z: found[z] for z in at}
    if not data.demands:
        return at
    if given:
        return _meeting_demands(problem, at, loose, replace(data, fixed={z: v for z, v in data.fixed.items() if z not in given}))
    raise contradiction(rows, {z: v for z, v in at.items() if z in data.fixed}, found, data.guess, size)


def _read(
    equations: Equations, given: Mapping[str, Any], binding: Binding, where: str, expressions: bool
) -> tuple[dict[Jet, float], list[Demand]]:
    values: dict[Jet, float] = {}
    demands: list[Demand] = []
    known = [z.base for z in equations.unknowns]
    for key, v in given.items():
        group = equations.system.groups.get(spell(str(key)))
        if group is not None:
            if any(z in values for z in group.places):
                raise InitialError(f"{key} is given twice.", where=where, hint="give it once")
            values |= read_element(group, v, dict(binding.parameters), f"{where}, {key}")
            continue
        jet = _named(equations, key, where)
        moving = {z for z in jets_in(equations.system.charted(jet)) if z.base in known or isinstance(z, Place)}
        is_jet = isinstance(jet, Jet) and not isinstance(jet, Input) and bool(moving)
        if not is_jet and not (expressions and moving):
            hint = f"jets of {' '.join(known)}.  {did_you_mean(str(key), known)}".rstrip()
            hint = f"evaluate(..., t={v})" if jet == TIME else hint
            raise InitialError(f"{key} is not an unknown of the motion.", where=where, hint=hint)
        if jet in values or any(d.expression == jet for d in demands):
            raise InitialError(f"{key if not is_jet else jet.name} is given twice.", where=where, hint="give it once")
        found = number(v, dict(binding.parameters), f"{where}, {key}", InitialError)
        if is_jet:
            values[jet] = found
        else:
            demands.append(Demand(equations.system.charted(jet), found))
    return values, demands


def _named(equations: Equations, key: Any, where: str) -> Expr:
    """Return the expression of a key; the error for an unknown name lists the state.

    A state of a motion is always a valid start, even if it contains rates of multipliers, which rows cannot contain.
    """
    try:
        return read_value(key, equations.vocabulary, where)
    except NotationError as error:
        system = prolongation(equations)
        for z in () if system is None else system.structure.state:
            if z.name == key:
                return z
        if system is not None and not error.hint:
            error.advice = (f"the state is {' '.join(equations.system.by_name(system.structure.state))}",)
        raise
