"""Consistent initial data: the user's values, completed from the constraints.

The rows that restrict the state are taken in Pryce's stages, positions first. At each stage the missing jets are solved for where they
enter affinely, or have one root only; all others need a guess. A value given for a jet above the state, or for an expression, adds a row.
Jets that are still missing at the end are free data, and the error names them. Fixed values are not changed, unless only that can remove a
residual of round-off.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from chetaev.core.errors import ChetaevError, InitialError, StateError
from chetaev.core.symbols import Input, Jet, jets_in
from chetaev.mechanics.ranks.factored import FactoredStack, Flags, Indices, Matrix, least_norm, open_jets
from chetaev.mechanics.ranks.sparse import sparse_least_norm
from chetaev.mechanics.tolerances import CONTRADICTION, CUT, NOISE, OPEN
from chetaev.numerics.flow.local_rank import factored_at, may_be_round_off, require_clear
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation
from chetaev.numerics.start.blocks import solved_in_blocks
from chetaev.numerics.start.conditions import Alone, Conditions, Demand, Members, Residual, Rows, residual_of
from chetaev.numerics.start.data import Data, require_elements
from chetaev.numerics.start.data_faults import SLOPELESS_AFTER_ITERATION, contradiction, needs_guess, too_few, turning_point
from chetaev.numerics.start.direct_completion import completion_of
from chetaev.numerics.start.newton import flat_here, null_at, ranks_beside, settle, settle_together

_ROWS_HOLD = 1e-14
"""Relative residual up to which rows hold."""
_SLOPELESS = 1e-12
"""Slope, relative to slopes nearby, below which it counts as zero if all values were given or follow by one linear solution."""


class MissingData(InitialError):
    """Data are missing; raised without their names if the caller does not need these, since finding them takes long."""


Fault = Callable[[bool], ChetaevError]
"""The error of a member without a state, with an explanation if the argument is true, which takes longer than a completion."""


def complete(problem: Problem, data: Data, *, explain: bool = True) -> dict[Jet, float]:
    """A value for every jet of the state, consistent with all hidden constraints: a batch of one.

    If data are missing, raise an InitialError that names them, or with `explain=False` a MissingData error.
    """
    state = problem.system.structure.state
    x, faults = complete_together(Alone(problem, state), data, 1)
    if faults:
        raise faults[0](explain)
    return dict(zip(state, x[0].tolist(), strict=True))


def complete_together(members: Members, data: Data, size: int) -> tuple[Matrix, dict[int, Fault]]:
    """The states of all members, a line each, and the errors of members without a state, by index.

    The values of the data are numbers or columns over the members. Members are completed together as long as the same jets are determined;
    a member that needs another decision than the rest is completed alone, by the same steps.
    """
    problem, column = members.one(0), {z: k for k, z in enumerate(members.jets)}
    require_elements(problem, data)
    x, faults = np.zeros((size, len(column))), dict[int, Fault]()
    known = {z: None for z in data.fixed if z in column}
    for z in known:
        x[:, column[z]] = data.fixed[z]
    left = np.arange(size)
    if not data.guess and not data.demands and len(known) == len(data.fixed) and (known_way := completion_of(problem.system)) is not None:
        clear = known_way.complete(members, known, x, left)
        left = left if clear is None else np.flatnonzero(~clear)
    work = [_Work(members, column, data, left, x[left], known, tuple(problem.system.stages()), False, faults)] if len(left) else []
    while work:
        part = work.pop()
        try:
            if part.stages and part.directly(x):
                continue
            if part.stages:
                work.append(part.next_stage())
            else:
                part.finish()
                x[part.which] = part.x
        except _Split as apart:
            work += [part.of(some) for some in apart.parts if len(some)]
        except (InitialError, StateError) as refused:
            faults[int(part.which[0])] = partial(_unchanged, refused)
    return x, faults


def _unchanged(refused: ChetaevError, explain: bool) -> ChetaevError:
    return refused


class _Split(Exception):
    """Raised to continue with parts of the members, given by their indices, instead of all together."""

    def __init__(self, parts: Sequence[Indices]) -> None:
        super().__init__()
        self.parts = parts


@dataclass
class _Work:
    """Members for which the same jets are known, at one stage of their completion."""

    members: Members
    place: Mapping[Jet, int]
    """The columns of the jets of the state."""
    data: Data
    which: Indices
    x: Matrix
    """Their states: a line for each, zero for jets that are not known yet."""
    known: dict[Jet, None]
    stages: tuple[int, ...]
    inexact: bool
    """Whether some known values were found by an iteration."""
    faults: dict[int, Fault]

    def of(self, some: Indices) -> _Work:
        """A copy for some of the members, given by their indices."""
        return replace(self, which=self.which[some], x=self.x[some], known=dict(self.known))

    @property
    def problem(self) -> Problem:
        """The problem of the first member."""
        return self.members.one(int(self.which[0]))

    def _columns(self, jets: Sequence[Jet]) -> list[int]:
        return [self.place[z] for z in jets]

    def _data(self, k: int = 0) -> Data:
        """The data of one of the members."""
        at = int(self.which[k])
        return replace(self.data, fixed=_of_member(self.data.fixed, at), guess=_of_member(self.data.guess, at))

    def _at(self, k: int = 0, x: Matrix | None = None, jets: Iterable[Jet] = ()) -> dict[Jet, float]:
        """The known values of member `k`, and those of `jets`, in its state or in the trial state `x`."""
        line = (self.x if x is None else x)[k].tolist()
        return {z: line[self.place[z]] for z in (*self.known, *jets)}

    def _alone(self, some: Flags | None = None) -> None:
        """Continue with all or some members one by one, because the next step handles a single state."""
        if len(self.which) > 1:
            apart = np.ones(len(self.which), dtype=bool) if some is None else some
            raise _Split([*[np.array([k]) for k in np.flatnonzero(apart)], np.flatnonzero(~apart)])

    def _without(self, faults: Mapping[int, Fault]) -> None:
        """Continue without members that have no state, and record their errors."""
        if faults:
            self.faults.update({int(self.which[k]): fault for k, fault in faults.items()})
            raise _Split([np.setdiff1d(np.arange(len(self.which)), list(faults))])

    def _require_finite(self, rows: Rows, x: Matrix, finite: Flags, jets: Iterable[Jet] = ()) -> None:
        if not finite.all():
            self._without({k: partial(_undefined, rows.conditions, self._at(k, x, jets)) for k in np.flatnonzero(~finite).tolist()})

    def directly(self, x: Matrix) -> bool:
        """Complete members by divisions as soon as the jets with guesses are known, and tell whether this is clear for all of them; write
        their states to x.
        """
        data = self.data
        if not data.guess or not data.guess.keys() <= self.known.keys() or data.demands or not data.fixed.keys() <= self.place.keys():
            return False
        way = completion_of(self.problem.system)
        trial = self.x.copy()
        clear = None if way is None else way.complete(self.members, self.known, trial, self.which)
        if clear is None or not clear.any():
            return False
        if not clear.all():
            raise _Split([np.flatnonzero(clear), np.flatnonzero(~clear)])
        x[self.which] = trial
        return True

    def next_stage(self) -> _Work:
        """The work after one more stage of the constraints, with the jets that it determines."""
        k, *later = self.stages
        after = replace(self, stages=tuple(later))
        system, data = self.problem.system, self.data
        pairs = tuple(system.stage(k))
        missing = _missing(system, pairs, self.known)
        if not missing:
            return after
        curved = system.curved(pairs, [z for z in missing if z not in data.guess])
        if curved:
            self._alone()
            found = solved_in_blocks(self.problem, self._at(), self._data().guess).found
            self.x[0, self._columns(list(found))] = list(found.values())
            self.known |= dict.fromkeys(found)
            missing = _missing(system, pairs, self.known)
            curved = system.curved(pairs, [z for z in missing if z not in data.guess])
        if curved:
            if _affine_later(system, k, self.known, missing) or _asks_more(self.problem, data):
                return after
            hidden = Conditions(self.problem, tuple(system.hidden()))
            unknowns = [z for z in system.structure.state if z not in self.known]
            self._without({0: partial(_needs_guess, hidden, curved, unknowns, self._at(), self._data().guess)})
        if missing:
            nonlinear = bool(system.curved(pairs, missing))
            after.x, determined = self._solved(pairs, missing, nonlinear)
            after.known = self.known | dict.fromkeys(determined)
            after.inexact = self.inexact or nonlinear
        return after

    def _solved(self, pairs: tuple[Pair, ...], missing: Sequence[Jet], nonlinear: bool) -> tuple[Matrix, list[Jet]]:
        """A trial state of each member, and the missing jets that one stage determines; guesses count as given, although they may move."""
        data, rows = self.data, Rows(Conditions(self.problem, pairs), self.members)
        unguessed = [z for z in missing if z not in data.guess]
        slopeless = SLOPELESS_AFTER_ITERATION if self.inexact else _SLOPELESS
        trial = self.x.copy()
        for z, k in zip(missing, self._columns(missing), strict=True):
            trial[:, k] = data.guess[z][self.which] if z in data.guess and np.ndim(data.guess[z]) else data.guess.get(z, 0.0)
        residual, jacobian, finite = rows.look(trial, self.which)
        self._require_finite(rows, trial, finite, missing)
        turning = self._turning(rows, unguessed, missing, trial, jacobian, slopeless)
        steep = self._columns([z for z in unguessed if z not in turning])
        if steep:
            trial[:, steep] += FactoredStack(jacobian[:, :, steep]).solved(-residual)
        if len(unguessed) < len(missing):  # move guesses if the rows do not hold
            scaled, _, finite = rows.residuals(trial, self.which)
            self._require_finite(rows, trial, finite, missing)
            far = np.flatnonzero(scaled.max(axis=1, initial=0.0) > _ROWS_HOLD)
            if len(far):
                moved = trial[far]
                settle_together(rows, self._columns(missing), moved, self.which[far], data.guess)
                trial[far] = moved
                jacobian = rows.look(trial, self.which)[1]
                turning = self._turning(rows, unguessed, missing, trial, jacobian, SLOPELESS_AFTER_ITERATION if nonlinear else slopeless)
        all_fixed = all(z in data.fixed for z in self.known)
        if turning or (nonlinear and all_fixed):  # no later stage can remove a failure here
            scaled = rows.residuals(trial, self.which)[0]
            if all_fixed or not nonlinear:
                failing = np.flatnonzero(scaled.max(axis=1, initial=0.0) > CONTRADICTION).tolist()
                note = turning_point(turning) if turning else ""
                faults = {
                    k: partial(_fails_here, rows.conditions, self._at(k), self._at(k, trial, missing), self._data(k), note) for k in failing
                }
                if turning and faults:  # there is one member, and its turning point is explained
                    raise faults[0](True)
                self._without(faults)
        opened = self._open(rows, unguessed, trial, self._at(0, trial, missing), not (turning or nonlinear))
        return trial, [z for z in missing if z in data.guess or not (z in turning or z in opened)]

    def _turning(
        self, rows: Rows, unguessed: Sequence[Jet], missing: Sequence[Jet], trial: Matrix, jacobian: Matrix, cut: float
    ) -> list[Jet]:
        """The unknowns at a turning point; a member that may be at one is continued alone."""
        if not unguessed:
            return []
        found, usual, _ = ranks_beside(rows, self._columns(unguessed), trial, self.which, jacobian, cut)
        suspicious = found < usual
        if not suspicious.any():
            return []
        self._alone(suspicious)
        return flat_here(rows.conditions, unguessed, self._at(0, trial, missing), cut)

    def _open(self, rows: Rows, unguessed: Sequence[Jet], trial: Matrix, first: Mapping[Jet, float], judged: bool) -> list[Jet]:
        """The unknowns that the rows leave open, the same for all members; if a rank is not clear, members are continued alone."""
        columns = self._columns(unguessed)
        _, jacobian, finite = rows.look(trial, self.which)
        self._require_finite(rows, trial, finite, first)
        if not columns:
            return []
        slopes = jacobian[:, :, columns]
        stack = FactoredStack(slopes)
        m, n = slopes.shape[1:]
        clear = (stack.ranks == min(m, n)) & ~may_be_round_off(slopes)
        if clear.all() and n <= m:
            return []
        self._alone(~clear if n <= m or not judged else None)
        units = rows.weights(columns, trial)
        if not clear.all() or judged:
            problem, pairs = rows.conditions.problem, rows.conditions.pairs
            _, factored = factored_at(problem, pairs, unguessed, first)
            if judged:
                require_clear(problem, pairs, unguessed, factored, first)
            return open_jets(unguessed, factored.null_in(units[0]))
        moved = np.abs(stack.null_in(slice(None), m, units)).max(axis=2)
        pattern = moved > OPEN * moved.max(axis=1, keepdims=True)
        differing = (pattern != pattern[0]).any(axis=1)
        if differing.any():
            raise _Split([np.flatnonzero(~differing), np.flatnonzero(differing)])
        return [z for z, is_open in zip(unguessed, pattern[0], strict=True) if is_open]

    def finish(self) -> None:
        """Complete jets that the stages leave open from demands and guesses, then move the states onto all hidden constraints."""
        problem, state = self.problem, self.members.jets
        if _asks_more(problem, self.data):
            self._alone()
            found = _demanded(problem, self._at(), self._data())
            self.x[0, self._columns(list(found))] = list(found.values())
            self.known |= dict.fromkeys(found)
        for z, v in self.data.guess.items():
            if z in self.place and z not in self.known:
                self.x[:, self.place[z]] = v[self.which] if np.ndim(v) else v
                self.known[z] = None
        missing = [z for z in state if z not in self.known]
        if missing:
            self._without(
                {
                    k: partial(_missing_data, self.members.one(int(self.which[k])), self._at(k), missing, self._data(k))
                    for k in range(len(self.which))
                }
            )
        self._project()

    def _project(self) -> None:
        """Move guesses and computed values onto the constraints, and fixed values only if nothing else can remove round-off."""
        problem, state, data = self.problem, self.members.jets, self.data
        loose = self._columns([z for z in state if z not in data.fixed])
        if _asks_more(problem, data):
            found = _meeting_demands(problem, self._at(), [state[k] for k in loose], self._data())
            self.x[0] = [found[z] for z in state]
        rows = Rows(Conditions(problem, tuple(problem.system.hidden())), self.members)
        if not rows.conditions.pairs:
            return
        self.known = dict.fromkeys(state)
        finite = settle_together(rows, loose, self.x, self.which, data.guess)
        self._require_finite(rows, self.x, finite)
        scaled, residual, _ = rows.residuals(self.x, self.which)
        size = scaled.max(axis=1, initial=0.0)
        failing = np.flatnonzero(size > CONTRADICTION).tolist()
        self._without({k: self._contradiction(rows, k, scaled[k], residual[k]) for k in failing})
        some = np.flatnonzero(size >= _ROWS_HOLD)
        if not len(some) or (not loose and _moved_sparsely(rows, self.x)):
            return
        residual, jacobian, _ = rows.look(self.x[some], self.which[some])
        stuck = FactoredStack(jacobian[:, :, loose], NOISE).ranks < FactoredStack(jacobian, NOISE).ranks
        some, residual, jacobian = some[stuck], residual[stuck], jacobian[stuck]
        for _ in range(2 if len(some) else 0):
            self.x[some] += FactoredStack(rows.significant(jacobian, self.x[some])).solved(-residual)
            residual, jacobian, _ = rows.look(self.x[some], self.which[some])

    def _contradiction(self, rows: Rows, k: int, scaled: Matrix, residual: Matrix) -> Fault:
        """The error for data that leave a residual."""
        worst = int(np.argmax(scaled))
        at, conditions = self._at(k), replace(rows.conditions, problem=self.members.one(int(self.which[k])))
        fixed = {z: v for z, v in at.items() if z in self.data.fixed}
        size = Residual(float(scaled[worst]), worst, float(residual[worst]))
        return partial(contradiction, conditions, fixed, at, self._data(k).guess, size, "")


def _moved_sparsely(rows: Rows, x: Matrix) -> bool:
    """Take the same steps for a single start with large sparse rows, if these are clearly independent."""
    moved = x.copy()
    for _ in range(2):
        found = rows.look_sparsely(moved)
        step = None if found is None else sparse_least_norm(rows.significant(found[1], moved), -found[0], CUT)
        if step is None:
            return False
        moved += step
    x[:] = moved
    return True


def _needs_guess(
    rows: Conditions, curved: Sequence[Jet], unknowns: Sequence[Jet], known: Mapping[Jet, float], guess: Mapping[Jet, float], explain: bool
) -> InitialError:
    return needs_guess(rows, curved, unknowns, known, guess) if explain else MissingData("data are missing.", where=rows.problem.where)


def _of_member(values: Mapping[Jet, Any], member: int) -> dict[Jet, float]:
    return {z: float(v[member]) if np.ndim(v) else v for z, v in values.items()}


def _undefined(rows: Conditions, at: Mapping[Jet, float], explain: bool) -> ChetaevError:
    if not explain:
        return StateError("the equations have no finite value at the start.", where=rows.problem.where)
    return rows.undefined(at)


def _missing_data(problem: Problem, known: Mapping[Jet, float], missing: Sequence[Jet], data: Data, explain: bool) -> InitialError:
    """The error for jets that constraints and demands do not determine, or determine nonlinearly."""
    if not explain:
        return MissingData("data are missing.", where=problem.where)
    rows, tops = _conditions(problem, data)
    given = {z: v for z, v in data.fixed.items() if z in problem.system.structure.top}
    curved = [z for z in rows.curved([*missing, *tops]) if z in missing]
    if curved:
        return needs_guess(rows, curved, [*missing, *tops], {**known, **given}, data.guess)
    fixed = {z: v for z, v in known.items() if z in data.fixed}  # values that follow from these here need not follow at nearby states
    loose = [z for z in problem.system.structure.state if z not in fixed]
    return too_few(rows, missing, [*loose, *tops], {**fixed, **given}, {**data.guess, **{z: v for z, v in known.items() if z in loose}})


def _fails_here(
    rows: Conditions, known: Mapping[Jet, float], trial: Mapping[Jet, float], data: Data, note: str, explain: bool
) -> InitialError:
    """The error for a contradiction in one stage, with the rows of the stages before it."""
    system = rows.problem.system
    through = system.hidden()[: system.hidden().index(rows.pairs[-1]) + 1]
    at = {**dict.fromkeys(_missing(system, through, trial), 0.0), **trial}
    all_rows = Conditions(rows.problem, tuple(through))
    fixed = {z: v for z, v in known.items() if z in data.fixed}
    return contradiction(all_rows, fixed, at, data.guess, residual_of(all_rows, at), note, explain)


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
        found = solved_in_blocks(problem, {**known, **given}, data.guess, tops=True).found if given else {}
        return {z: found[z] for z in missing if z in found}
    start = {**known, **given, **{z: data.guess.get(z, 0.0) for z in unknowns}}
    if rows.curved(unknowns):
        start = settle(rows, unknowns, start, data.guess)
    else:
        start |= _affine_step(rows, unknowns, start)
    left_open = open_jets(unguessed, null_at(rows, unguessed, start, noise=0.0))
    return {z: start[z] for z in missing if z not in left_open}


def _asks_more(problem: Problem, data: Data) -> bool:
    """Tell whether the user gives values besides those of the state."""
    return bool(data.demands) or not data.fixed.keys().isdisjoint(problem.system.structure.top)


def _on_state(problem: Problem, data: Data) -> tuple[Demand, ...]:
    """The demands that concern the state alone."""
    state = set(problem.system.structure.state)
    return tuple(d for d in data.demands if {z for z in jets_in(d.expression) if not isinstance(z, Input)} <= state)


def _conditions(problem: Problem, data: Data) -> tuple[Conditions, list[Jet]]:
    """All rows that data and demands must satisfy together, and the tops that have to be found with the state."""
    system = problem.system
    above = len(_on_state(problem, data)) < len(data.demands) or any(z in system.structure.top for z in data.fixed)
    pairs = [*system.hidden(), *(system.stage(0) if above else [])]
    tops = [z for z in system.structure.top if z not in data.fixed] if above else []
    return Conditions(problem, tuple(pairs), data.demands), tops


def _missing(system: Prolongation, pairs: Sequence[Pair], known: Container[Jet]) -> list[Jet]:
    present = system.symbols(pairs)
    return [z for z in system.structure.state if z in present and z not in known]


def _affine_later(system: Prolongation, k: int, known: Container[Jet], missing: list[Jet]) -> bool:
    """Whether later stages alone determine the same missing jets, affinely."""
    later = [pair for m in range(k + 1, 0) for pair in system.stage(m)]
    return _missing(system, later, known) == missing and not system.curved(later, missing)


def _meeting_demands(problem: Problem, at: dict[Jet, float], loose: Sequence[Jet], data: Data) -> dict[Jet, float]:
    """Move the jets in `loose` until the demands hold too. `evaluate._check_given` checks fixed accelerations later."""
    rows, tops = _conditions(problem, data)
    given = {z: v for z, v in data.fixed.items() if z in problem.system.structure.top}
    start = {**at, **given, **dict.fromkeys(tops, 0.0)}
    start |= _affine_step(rows, tops, start)
    unknowns = [*loose, *tops]
    found = settle(rows, unknowns, start, data.guess)
    size = residual_of(rows, found)
    if size.scaled <= CONTRADICTION:
        return {z: found[z] for z in at}
    if not data.demands:
        return at
    if given:
        return _meeting_demands(problem, at, loose, replace(data, fixed={z: v for z, v in data.fixed.items() if z not in given}))
    raise contradiction(rows, {z: v for z, v in at.items() if z in data.fixed}, found, data.guess, size)
