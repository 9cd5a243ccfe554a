"""Consistent initial data for all members together, by the completion of single starts, and what kept members from having them.

A member whose data are singular, contradictory or not finite gets a note and affects no other; a member whose system Jacobian has another
rank than the compiled one is left to `simulate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from sympy import Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import ChetaevError, InitialError, StateError
from chetaev.core.state import State
from chetaev.core.symbols import TIME, Jet
from chetaev.core.values import Undefined
from chetaev.mechanics.ranks.factored import FactoredStack
from chetaev.mechanics.tolerances import CUT
from chetaev.numerics.ensemble.arguments import Given, Group, Notes, refusal
from chetaev.numerics.ensemble.batch import Array, Indices, Mask, as_slice, each, mapped
from chetaev.numerics.ensemble.pivoted import pivoted
from chetaev.numerics.ensemble.side_by_side import makes_more_code
from chetaev.numerics.evaluation.evaluate import evaluate
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.local_rank import factored_at, require_clear
from chetaev.numerics.flow.prolongation import Problem
from chetaev.numerics.graphs.arithmetic import dense
from chetaev.numerics.graphs.graph_tape import GraphTape
from chetaev.numerics.machine.instructions import TURNING
from chetaev.numerics.machine.kernels import Kernel, compile_kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.smooth_pieces.piece import WORST_PIVOT
from chetaev.numerics.start.clear_states import clear_states
from chetaev.numerics.start.conditions import Alone
from chetaev.numerics.start.data import Data
from chetaev.numerics.start.initial import MissingData, complete_together

_SUSPICIOUS = 1e-6
"""Singular values below this part of the largest mean that the rank of this member is judged separately."""
_ASKED = 8
"""Members for which the missing data are listed, if data are missing for all of them."""


@dataclass(frozen=True)
class Completed:
    """States on the constraints, and the reasons why some members have none."""

    states: Array
    notes: Notes
    alone: Mask
    """Members at which the equations have another rank than the compiled ones; `simulate` runs them."""
    pivots: Array | None
    """The determinant and the smallest pivot at all states, where they were computed."""


def completed(read: Given) -> Completed:
    """A state for every member, NaN for those that have none."""
    flow = read.batch.compiled.flow
    states = np.full((read.size, flow.size), np.nan)
    notes = dict(read.notes)
    for group in read.groups:
        alive = np.flatnonzero(~noted(notes, read.size)[group.members])
        if len(alive):
            _complete(read, flow, group, alive, states, notes)
    if flow.has_power:
        states[:, -1] = 0.0
    alone = np.zeros(read.size, dtype=bool)
    pivots = _set_apart(read, flow, states, notes, alone)
    states[list(notes)] = np.nan
    return Completed(states, notes, alone, pivots)


def noted(notes: Notes, size: int) -> Mask:
    """Which members have a note."""
    found = np.zeros(size, dtype=bool)
    found[list(notes)] = True
    return found


def _complete(read: Given, flow: Flow, group: Group, alive: Indices, states: Array, notes: Notes) -> None:
    """Write the states of the members of a group, or notes."""
    here = as_slice(alive)
    members = group.members[here]
    data = Data({z: v[here] for z, v in group.fixed.items()}, {z: v[here] for z, v in group.guess.items()})
    if any(z not in flow.state for z in data.fixed):  # jets above the state, which must agree with the equations
        for member in map(int, members):
            try:
                jets = _evaluated(read, member, group.data(member))
                states[member, : len(flow.state)] = [jets[z] for z in flow.state]
            except ChetaevError as refused:
                notes[member] = refusal(refused)
        return
    _choose_modes(read, flow, members, data)
    only = len(read.groups) == 1
    try:
        found, faults = complete_together(_Together(read, flow, members), data, len(members))
    except InitialError as refused:  # all members lack the same values
        if only:
            raise
        notes.update({int(member): refusal(refused) for member in members})
        return
    states[as_slice(members), : len(flow.state)] = found
    short = {k: fault(False) for k, fault in faults.items()}
    missing = [k for k, fault in short.items() if isinstance(fault, MissingData)]
    if only and len(missing) == len(members):
        raise _first_refusal([faults[k](True) for k in missing[:_ASKED]])
    for k, fault in short.items():
        notes[int(members[k])] = refusal(faults[k](True) if k in missing else fault)


def _first_refusal(faults: Sequence[ChetaevError]) -> ChetaevError:
    """Of what keeps members from having a state, the first that concerns the data."""
    return next((fault for fault in faults if isinstance(fault, InitialError)), faults[0])


def _choose_modes(read: Given, flow: Flow, members: Indices, data: Data) -> None:
    """Choose the signs of the switching functions as far as the data determine them; a member for which they change later is run alone."""
    modes = read.switched.modes
    if not modes:
        return
    x = np.zeros((len(members), flow.size))
    for k, z in enumerate(flow.state):
        x[:, k] = data.fixed.get(z, data.guess.get(z, 0.0))
    first, times = len(read.switched.original.system.parameters), np.full(read.size, read.t)
    for _ in modes:  # a function may contain the modes before it
        surfaces = pivoted(read.switched, read.batch.compiled).surfaces
        signs = np.sign(each(surfaces, times[members], x, read.batch.at(times, members))[:, : len(modes)])
        chosen = np.where(np.abs(signs) == 1.0, signs, 1.0)
        if np.array_equal(chosen, read.batch.p[members, first : first + len(modes)]):
            return
        read.batch.p[members, first : first + len(modes)] = chosen


class _Together:
    """Members of a group, each with its own parameters and inputs."""

    def __init__(self, read: Given, flow: Flow, members: Indices) -> None:
        self.read, self.members, self.jets = read, members, flow.state
        self._graph, self._system = flow.graph, flow.system
        self._place = {z: k for k, z in enumerate(flow.state)}
        self._parameters = read.batch.p[as_slice(members), : len(read.equations.system.parameters)]
        self._columns: dict[Symbol, Array] = {TIME: np.full(len(members), read.t)}
        self._columns |= dict(zip(read.equations.system.parameters, self._parameters.T, strict=True))

    def one(self, member: int) -> Problem:
        """The problem of one member."""
        return Problem(self._system, self.read.bound(int(self.members[member])), self.read.t, self.read.where)

    def values(self, tape: GraphTape, x: Array, which: Indices) -> Array:
        """A tape at states of some members, in machine code."""
        points, here = np.empty((len(which), len(tape.order))), as_slice(which)
        for k, z in enumerate(tape.order):
            points[:, k] = x[:, self._place[z]] if z in self._place else self._column(z)[here]
        kernel, times, nothing = _kernel(tape), self._columns[TIME][here], np.zeros((len(which), 0))
        if not _turns(tape):
            return each(kernel, times, points, nothing)
        if kernel.with_library is None:
            return mapped(tape.function, points)
        return dop853.evaluate(kernel.with_library, times, points, nothing, kernel.n_out)

    def _column(self, z: Symbol) -> Array:
        """The values of a parameter or an input for all members."""
        if z not in self._columns:
            graph = self._graph
            given = graph.vector(self.read.equations.system.parameters)
            written = graph.of(total_derivative(self.read.switched.inputs[z.base], z.order))
            function = graph.function("input", [graph.leaf(TIME), given], written)
            self._columns[z] = mapped(function, self._columns[TIME], self._parameters)[:, 0]
        return self._columns[z]


def _evaluated(read: Given, member: int, data: Data) -> Mapping[Jet, float]:
    """The state of a member from accelerations or multipliers among its data."""
    bound = read.bound(member)
    start = State({z.name: v for z, v in data.fixed.items()}, {z.name: v for z, v in data.guess.items()})
    values = {str(z.name): v for z, v in bound.parameters.items()}
    return evaluate(read.equations, start, parameters=values, t=read.t, inputs=bound.inputs).jets


def _set_apart(read: Given, flow: Flow, states: Array, notes: Notes, alone: Mask) -> Array | None:
    """Add notes for members without a value of the equations; leave those with another rank of the system Jacobian to `simulate`. Return
    the determinant and the smallest pivot of all members, if they were needed.

    Where rows are dependent at the sampled states, members may still be regular, or ill-conditioned.
    """
    members = np.flatnonzero(~noted(notes, read.size))
    times = np.full(read.size, read.t)
    kernels = pivoted(read.switched, read.batch.compiled)
    usual = flow.system.generic_nullity or 0
    # (almost) dependent rows are similar in all members: the first member decides whether all have to be checked individually
    alike = not len(members) or any(judge(read, flow, states[members[0]], int(members[0])) for judge in (_clear, _as_compiled))
    pivots = None
    if not usual and alike:
        found = read.batch.values(kernels.pivots, times, states, members)
        pivots = found if len(members) == read.size else None
        members = members[~(found[:, 1] > WORST_PIVOT)]
        if not len(members):
            return pivots
    found = read.batch.values(kernels.jacobian, times, states, members).reshape(
        len(members), len(flow.system.structure.jacobian), len(flow.system.structure.top)
    )
    finite = np.isfinite(found).all(axis=(1, 2))
    for k in members[~finite]:
        notes[int(k)] = (Outcome.LEFT_DOMAIN, "the equations have no finite value at the start.")
    members, found = members[finite], found[finite]
    if not len(members):
        return pivots
    sizes = FactoredStack(found).found.sizes
    last = found.shape[2] - usual
    suspicious = sizes[:, last - 1] <= _SUSPICIOUS
    if usual:
        suspicious |= (sizes[:, last:] > CUT).any(axis=1)
    if not alike:
        suspicious[:] = True
    for k in members[suspicious]:
        alone[k] = not _as_compiled(read, flow, states[k], int(k))
    return pivots


def _clear(read: Given, flow: Flow, state: Array, member: int) -> bool:
    """Tell whether the system Jacobian is regular at a member's state beyond doubt, as `simulate` asks of a start. The code for that is
    made for systems with which many steps were taken.
    """
    clear = clear_states(flow.system) if makes_more_code(read.batch.compiled.stepping.rhs) else None
    if clear is None:
        return False
    at = Alone(Problem(flow.system, read.bound(member), read.t, read.where), flow.state)
    try:
        return clear.values(at, state[None, : len(flow.state)]) is not None
    except Undefined:  # an input has no value
        return False


def _as_compiled(read: Given, flow: Flow, state: Array, member: int) -> bool:
    """Tell whether the rows have the compiled rank at a member's state."""
    problem = Problem(flow.system, read.bound(member), read.t, read.where)
    jets = dict(zip(flow.state, map(float, state), strict=False))
    pairs, top = flow.system.stage(0), flow.system.structure.top
    try:
        at = {**jets, **dict.fromkeys(top, 0.0)}
        _, found = factored_at(problem, pairs, top, at)
        require_clear(problem, pairs, top, found, at)
    except StateError:
        return False
    return found.nullity == (flow.system.generic_nullity or 0)


@lru_cache(maxsize=256)
def _turns(tape: GraphTape) -> bool:
    """Whether a tape has sines or cosines: single starts have those of the mathematical library, and machine code usually has its own,
    which differ in the last digit.
    """
    function = tape.function
    return any(function.instruction_id(k) in TURNING for k in range(function.n_instructions()))


@lru_cache(maxsize=256)
def _kernel(tape: GraphTape) -> Kernel:
    """A tape as machine code for many points, with the bits that it has at one; remembered."""
    t, point, nothing = ca.SX.sym("t"), ca.SX.sym("point", len(tape.order)), ca.SX.sym("p", 0)
    return compile_kernel(ca.Function("tape", [t, point, nothing], [dense(tape.function(point))]), hot=False, fusing=False)
