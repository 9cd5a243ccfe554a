"""Consistent initial data for all members together, stage by stage as `initial.complete` does it for one.

A member whose data are singular, contradictory or not finite gets a note and affects no other; a member whose matrices have another rank
than those of the others is completed by `initial.complete`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chetaev.core.errors import ChetaevError, InitialError, StateError
from chetaev.core.state import State
from chetaev.core.symbols import Jet
from chetaev.mechanics.ranks.factored import CUT
from chetaev.mechanics.ranks.sizes import units_of
from chetaev.numerics.ensemble.batch import Array, Indices, Mask, each
from chetaev.numerics.ensemble.given import Given, Group, Notes, refusal
from chetaev.numerics.ensemble.linear import least_norms, ranks_beside, scaled
from chetaev.numerics.ensemble.pivoted import pivoted
from chetaev.numerics.ensemble.settling import Settling, terms, weights
from chetaev.numerics.evaluation.evaluate import evaluate
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.local_rank import factored_at, require_clear
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation
from chetaev.numerics.graphs.remembered import Remembered
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.pieces.piece import WORST_PIVOT
from chetaev.numerics.start import initial
from chetaev.numerics.start.data_faults import ROUGH
from chetaev.numerics.start.initial import Data, complete

_SUSPICIOUS = 1e-6
"""Relative to the largest singular value: a member with a smaller one that counts for the rank is checked individually."""
_FLAT = 1e-9
"""Relative cut of singular values in common scales: a member with a lower rank than others may be at a turning point."""


@dataclass(frozen=True)
class Completed:
    """States on the constraints, and the reasons why some members have none."""

    states: Array
    notes: Notes
    alone: Mask
    """Members at which the equations have another rank than the compiled ones; `simulate` runs them."""


def completed(read: Given) -> Completed:
    """A state for every member, NaN for those that have none."""
    flow = read.batch.compiled.flow
    states = np.full((read.size, flow.size), np.nan)
    notes = dict(read.notes)
    for group in read.groups:
        alive = np.flatnonzero(~noted(notes, read.size)[group.members])
        if len(alive):
            _Stages(read, flow, group, alive, states, notes).complete()
    if flow.has_power:
        states[:, -1] = 0.0
    alone = np.zeros(read.size, dtype=bool)
    _set_apart(read, flow, states, notes, alone)
    states[list(notes)] = np.nan
    return Completed(states, notes, alone)


def noted(notes: Notes, size: int) -> Mask:
    """Which members have a note."""
    found = np.zeros(size, dtype=bool)
    found[list(notes)] = True
    return found


class _Stages:
    """`initial.complete` for many members at once. Members with other ranks are left to the original."""

    def __init__(self, read: Given, flow: Flow, group: Group, alive: Indices, states: Array, notes: Notes) -> None:
        self.read, self.flow, self.group = read, flow, group
        self.members, self.states, self.notes = group.members[alive], states, notes
        self.column = {z: k for k, z in enumerate(flow.state)}
        self.x = np.zeros((len(alive), len(flow.state)))
        self.p = read.batch.at(np.full(read.size, read.t), self.members)
        self.fixed = {z: v[alive] for z, v in group.fixed.items()}
        self.guess = {z: v[alive] for z, v in group.guess.items()}
        self.odd = np.zeros(len(alive), dtype=bool)
        """Members whose matrices have another rank than those of the others."""
        self.lost = np.zeros(len(alive), dtype=bool)
        """Members at which the equations have no finite value."""

    @property
    def system(self) -> Prolongation:
        return self.flow.system

    def complete(self) -> None:
        """Write the states of the members, or a note."""
        if any(z not in self.column for z in self.fixed):  # jets above the state, which must agree with the equations
            return self._one_by_one(self.members, whole=True)
        for z, v in self.fixed.items():
            self.x[:, self.column[z]] = v
        self._choose_modes()
        if not self._staged():
            return self._too_few()
        self._project()
        for member in self.members[self.lost]:
            self.notes[int(member)] = (Outcome.LEFT_DOMAIN, "the equations have no finite value at the start.")
        good = ~(self.odd | self.lost)
        self.states[self.members[good], : len(self.column)] = self.x[good]
        return self._one_by_one(self.members[self.odd & ~self.lost], whole=False)

    def _choose_modes(self) -> None:
        """Set the signs of the switching functions that the data determine; `simulate` runs a member for which they change later."""
        modes, batch = self.read.switched.modes, self.read.batch
        x = self.x.copy()
        for z, v in self.guess.items():
            if z in self.column:
                x[:, self.column[z]] = v
        first = len(self.read.switched.original.system.parameters)
        for _ in modes:  # a function may contain the modes before it
            surfaces = pivoted(self.read.switched, self.read.batch.compiled).surfaces
            signs = np.sign(each(surfaces, np.full(len(x), self.read.t), self._widened(x), self.p)[:, : len(modes)])
            self.p[:, first : first + len(modes)] = np.where(np.abs(signs) == 1.0, signs, 1.0)
        batch.p[self.members, first : first + len(modes)] = self.p[:, first : first + len(modes)]

    def _widened(self, x: Array) -> Array:
        """Return states with a column for the work done."""
        return np.concatenate([x, np.zeros((len(x), 1))], axis=1) if self.flow.has_power else x

    def _staged(self) -> bool:
        """Set the fixed values, and the jets that the stages determine from them and the guesses; False if some jets have no value."""
        known, system, rough = set(self.fixed), self.system, False
        for k in system.stages():
            pairs = system.stage(k)
            missing = self._missing(pairs, known)
            unguessed = [z for z in missing if z not in self.guess]
            if system.curved(pairs, unguessed):
                later = [pair for m in range(k + 1, 0) for pair in system.stage(m)]
                if self._missing(later, known) != missing or system.curved(later, missing):
                    return False
                continue
            bent = bool(system.curved(pairs, missing))
            known |= self._solved(pairs, missing, bent, rough)
            rough |= bent
        for z, v in self.guess.items():
            if z in self.column and z not in known:
                self.x[:, self.column[z]] = v
                known.add(z)
        return known >= self.column.keys()

    def _missing(self, pairs: Sequence[Pair], known: Container[Jet]) -> list[Jet]:
        present = self.system.symbols(pairs)
        return [z for z in self.column if z in present and z not in known]

    def _solved(self, pairs: Sequence[Pair], missing: Sequence[Jet], bent: bool, rough: bool) -> set[Jet]:
        """Return the missing jets that one stage determines. Guesses count as given, although they may move."""
        if not missing:
            return set()
        for z in missing:
            self.x[:, self.column[z]] = self.guess.get(z, 0.0)
        columns = [self.column[z] for z in missing]
        if bent:
            self._settle(pairs, columns, np.flatnonzero(~self.lost))
        else:
            some, residual, jacobian = self._finite(pairs, np.flatnonzero(~self.lost))
            self.x[some[:, None], columns] += least_norms(jacobian[:, :, columns], -residual)[0]
        some, _, jacobian = self._finite(pairs, np.flatnonzero(~self.lost))
        if not len(some):
            return set(missing)
        self._set_apart(some, ranks_beside(jacobian[:, :, columns], ROUGH if rough or bent else _FLAT))
        unguessed = [z for z in missing if z not in self.guess]
        right = np.zeros(jacobian.shape[:2])
        _, ranks, opened = least_norms(jacobian[:, :, [self.column[z] for z in unguessed]], right)
        pattern = opened[ranks == ranks.max()].any(axis=0)
        self.odd[some] |= (opened != pattern).any(axis=1)
        return {*missing} - {z for z, is_open in zip(unguessed, pattern, strict=True) if is_open}

    def _set_apart(self, some: Indices, ranks: Indices) -> None:
        """Leave members of lower rank than others, which may be at a turning point, to `initial.complete`."""
        self.odd[some] |= ranks < ranks.max()

    def _project(self) -> None:
        """Move guesses and computed values as far as needed, fixed ones by round-off; a remaining residual is a contradiction."""
        pairs, state = self.system.hidden(), self.flow.state
        if not pairs:
            return
        loose = [self.column[z] for z in state if z not in self.fixed]
        self._settle(pairs, loose, np.flatnonzero(~(self.lost | self.odd)))
        some, residual, jacobian = self._finite(pairs, np.flatnonzero(~(self.lost | self.odd)))
        scaled_residual = np.abs(residual) / terms(jacobian, state, self.x[some], self._units)
        size, worst = scaled_residual.max(axis=1, initial=0.0), scaled_residual.argmax(axis=1)
        for k in np.flatnonzero(size > initial._CONTRADICTION):
            text = f"the data contradict {self.system.label(pairs[int(worst[k])])}: it is off by {residual[k, worst[k]]:.3g}."
            self.notes[int(self.members[some[k]])] = (Outcome.DRIFT_EXCEEDED, text)
        rough = (size >= initial._ROUND_OFF) & (size <= initial._CONTRADICTION)
        self._round_off(pairs, loose, some[rough], residual[rough], jacobian[rough])

    def _round_off(self, pairs: Sequence[Pair], loose: Sequence[int], some: Indices, residual: Array, jacobian: Array) -> None:
        """Move all jets by round-off where only fixed values can remove a residual of that size."""
        free, every = least_norms(jacobian[:, :, loose], -residual)[1], least_norms(jacobian, -residual)[1]
        stuck = free < every
        some, residual, jacobian = some[stuck], residual[stuck], jacobian[stuck]
        for _ in range(2):
            self.x[some] += least_norms(jacobian, -residual)[0]
            residual, jacobian = self._numbers(pairs, self.x[some], some)

    def _settle(self, pairs: Sequence[Pair], columns: Sequence[int], some: Indices) -> None:
        """Move some jets of some members to the rows."""
        some, _, jacobian = self._finite(pairs, some)
        if not len(some):
            return
        x = self.x[some]
        move = weights(columns, self.flow.state, x, self.guess, self._units)
        scale = terms(jacobian, self.flow.state, x, self._units)
        Settling(lambda at, which: self._numbers(pairs, at, some[which]), columns, move, scale, x).settle()
        self.x[some] = x

    def _finite(self, pairs: Sequence[Pair], some: Indices) -> tuple[Indices, Array, Array]:
        """Return the members at which the rows have finite values, and the values; mark the others as undefined."""
        residual, jacobian = self._numbers(pairs, self.x[some], some)
        finite = np.isfinite(residual).all(axis=1) & np.isfinite(jacobian).all(axis=(1, 2))
        self.lost[some[~finite]] = True
        return some[finite], residual[finite], jacobian[finite]

    def _numbers(self, pairs: Sequence[Pair], x: Array, some: Indices) -> tuple[Array, Array]:
        """Residuals of some rows and their Jacobian with respect to the state, at states of some members."""
        m, n = len(pairs), len(self.column)
        kernel = _rows(self.flow, tuple(pairs))
        found = each(kernel, np.full(len(some), self.read.t), self._widened(x), self.p[some])
        return found[:, :m], found[:, m:].reshape(len(some), m, n)

    def _too_few(self) -> None:
        """Handle missing data of a whole group: `initial.complete` raises and names them."""
        if len(self.read.groups) > 1:  # other groups may have enough data
            return self._one_by_one(self.members, whole=False)
        fault: ChetaevError | None = None
        for member in map(int, self.members[:8]):
            try:
                complete(self._problem(member), self.group.data(member))
            except InitialError:
                raise
            except ChetaevError as refused:
                fault = fault or refused
        raise fault or InitialError("the data do not determine a state.", where=self.read.where, hint="give every jet of the state")

    def _one_by_one(self, members: Indices, whole: bool) -> None:
        """Complete each member by `initial.complete`; its error becomes the note."""
        for member in map(int, members):
            data = self.group.data(member)
            try:
                jets = self._evaluated(member, data) if whole else complete(self._problem(member), data)
            except ChetaevError as refused:
                self.notes[member] = refusal(refused)
            else:
                self.states[member, : len(self.column)] = [jets[z] for z in self.column]

    @cached_property
    def _units(self) -> Array:
        """The typical sizes of the jets of the state, from the numbers in the rows and the parameters of the first member."""
        return units_of(self.flow.state, self._problem(int(self.members[0])).sizes)

    def _problem(self, member: int) -> Problem:
        return Problem(self.system, self.read.bound(member), self.read.t, self.read.where)

    def _evaluated(self, member: int, data: Data) -> Mapping[Jet, float]:
        bound = self.read.bound(member)
        start = State({z.name: v for z, v in data.fixed.items()}, {z.name: v for z, v in data.guess.items()})
        values = {str(z.name): v for z, v in bound.parameters.items()}
        return evaluate(self.read.equations, start, parameters=values, t=self.read.t, inputs=bound.inputs).jets


def _set_apart(read: Given, flow: Flow, states: Array, notes: Notes, alone: Mask) -> None:
    """Add notes for members without a value of the equations; leave those with another rank of the system Jacobian to `simulate`.

    Where rows are dependent at the sampled states, members may still be regular, or ill-conditioned.
    """
    members = np.flatnonzero(~noted(notes, read.size))
    times = np.full(read.size, read.t)
    kernels = pivoted(read.switched, read.batch.compiled)
    usual = flow.system.generic_nullity or 0
    # (almost) dependent rows are similar in all members: the first member decides whether all have to be checked individually
    alike = not len(members) or _as_compiled(read, flow, states[members[0]], int(members[0]))
    if not usual and alike:
        members = members[~(read.batch.values(kernels.pivots, times, states, members)[:, 1] > WORST_PIVOT)]
    found = read.batch.values(kernels.jacobian, times, states, members).reshape(
        len(members), len(flow.system.structure.jacobian), len(flow.system.structure.top)
    )
    finite = np.isfinite(found).all(axis=(1, 2))
    for k in members[~finite]:
        notes[int(k)] = (Outcome.LEFT_DOMAIN, "the equations have no finite value at the start.")
    members, found = members[finite], found[finite]
    if not len(members):
        return
    sizes = np.linalg.svd(scaled(found)[0], compute_uv=False)
    last = found.shape[2] - usual
    odd = sizes[:, last - 1] <= _SUSPICIOUS * sizes[:, 0]
    if usual:
        odd |= (sizes[:, last:] > CUT * sizes[:, :1]).any(axis=1)
    if not alike:
        odd[:] = True
    for k in members[odd]:
        alone[k] = not _as_compiled(read, flow, states[k], int(k))


def _as_compiled(read: Given, flow: Flow, state: Array, member: int) -> bool:
    """Tell whether the rows have the compiled rank at a member's state."""
    problem = Problem(flow.system, read.bound(member), read.t, read.where)
    jets = dict(zip(flow.state, map(float, state), strict=False))
    pairs, top = flow.system.stage(0), flow.system.structure.top
    try:
        _, found = factored_at(problem, pairs, top, {**jets, **dict.fromkeys(top, 0.0)})
        require_clear(problem, pairs, top, found)
    except StateError:
        return False
    return found.nullity == (flow.system.generic_nullity or 0)


_ROWS: Remembered[Kernel] = Remembered(256)


def _rows(flow: Flow, pairs: tuple[Pair, ...]) -> Kernel:
    """Return the kernel of some rows and their Jacobian with respect to the state; cached."""
    return _ROWS.get(flow.system, pairs, lambda: _made(flow, pairs))


def _made(flow: Flow, pairs: tuple[Pair, ...]) -> Kernel:
    written = [flow.system.row(pair) for pair in pairs]
    return compile_kernel(flow.function([*written, *[d for r in written for d in flow.graph.gradient(r, flow.state)]], "rows"), hot=False)
