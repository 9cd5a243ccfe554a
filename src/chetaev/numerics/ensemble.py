"""simulate_many: many motions of one system at once, each the motion `simulate` gives, in compiled code on all processors.

What is given may be arrays: initial data and parameters are broadcast against each other. Missing initial values are computed for all
members together, stage by stage as `initial.complete` does it for one; a member whose data are singular, contradictory or not finite is
reported as failed and affects no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numba import njit
from numpy.typing import NDArray
from sympy import Expr

from chetaev.calculus import total_derivative
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import ChetaevError, InitialError, ParameterError, UsageError, require_mapping
from chetaev.frozen import Frozen
from chetaev.model import Model
from chetaev.notation import Vocabulary, from_sympy, parse_expression
from chetaev.notation.lexer import spell
from chetaev.numerics import elimination, initial
from chetaev.numerics import simulate as single
from chetaev.numerics.binding import Binding, bind, number
from chetaev.numerics.compiled import Compiled, compile_equations
from chetaev.numerics.elimination import PivotOrder
from chetaev.numerics.evaluate import evaluate
from chetaev.numerics.flow import Flow
from chetaev.numerics.graph import GraphAlgebra
from chetaev.numerics.initial import Data, State, complete, read_state
from chetaev.numerics.machine import Kernel, call_kernel, compile_kernel
from chetaev.numerics.methods import dop853
from chetaev.numerics.prolong import Pair, Problem, Prolongation, least_norm
from chetaev.symbols import TIME, Input, Jet, Multiplier
from chetaev.trajectory import Outcome

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_COUNTS = ("accepted", "rejected", "evaluations", "projections")
_RANK = 1e-9
_OPEN = 1e-7
_SUSPICIOUS = 1e-6
_TOGETHER = 16
"""So many members at the same time are worth a pool of their own."""


@dataclass(frozen=True, repr=False, eq=False)
class Ensemble:
    """The ends of many motions. `ensemble.final["x'"]` is an array over the members, and so is any expression in their jets.

    A member that did not start has NaN for its states; `message(i)` says why it failed.
    """

    equations: Equations
    shape: tuple[int, ...]
    """The shape of the arrays that were given; members count in C order."""
    t: Array
    """The time each member reached."""
    outcome: NDArray[Any]
    """Why each member ended, as an array of `Outcome`."""
    drift: Frozen[str, Array]
    """The largest residual of every constraint and of the energy balance, by member."""
    extrema: Frozen[str, tuple[Array, Array]]
    """The least and the largest value of every jet of the state, by member."""
    counts: Frozen[str, Indices]
    start: Columns
    """The completed initial data."""
    final: Columns
    """The ends; `Columns` are mappings from names to arrays over the members."""
    notes: Frozen[int, str]
    """What kept some members from starting."""
    status: Indices
    """How the loop ended, by member, as numbers of `dop853.Status`."""
    max_steps: int

    @cached_property
    def failed(self) -> Indices:
        """The members that did not reach the end."""
        return np.flatnonzero(self.outcome != Outcome.FINISHED)

    @property
    def parameters(self) -> Frozen[str, Array]:
        """The value of every parameter, by member."""
        names = [z.name for z in self.equations.system.parameters]
        return Frozen({name: self.start.batch.p[:, k].copy() for k, name in enumerate(names)})

    def message(self, member: int) -> str:
        """Why a member ended."""
        k = range(len(self))[member]
        return self.notes.get(k) or verdict(dop853.Status(int(self.status[k])), float(self.t[k]), self.max_steps)[1]

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.equations.system.name or 'system'} · {self.equations.principle}"]
        tally = [f"{int(np.sum(self.outcome == o))} {o}" for o in Outcome if np.any(self.outcome == o)]
        lines.append(f"  {len(self)} member{'s' * (len(self) != 1)}: {', '.join(tally)}")
        steps = self.counts["accepted"]
        lines.append(f"  {int(steps.min())} to {int(steps.max())} steps each, {int(steps.sum())} in all")
        width = max((len(name) for name in self.drift), default=0)
        for name, sizes in self.drift.items():
            known = sizes[np.isfinite(sizes)]
            lines.append(f"  {name:<{width}}  at most {known.max():.1e}" if len(known) else f"  {name:<{width}}  not known")
        lines += [f"  member {k}: {self.message(int(k))}" for k in self.failed[:5]]
        if len(self.failed) > 5:
            lines.append(f"  … and {len(self.failed) - 5} more; ensemble.failed lists them")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False, eq=False)
class Columns(Mapping[str, Any]):
    """States of all members: a mapping over the state that reads any expression."""

    equations: Equations
    batch: _Batch
    t: Array
    states: Array
    flows: tuple[Flow, ...]
    which: Indices
    """The flow, that is the choice of pivots, by which each member is read."""

    def __getitem__(self, name: str) -> Array:
        for k, z in enumerate(self.flows[0].state):
            if z.name == name:
                return self.states[:, k].copy()
        expression = parse_expression(name, self.equations.vocabulary, f"ensemble of {self.equations.system.label}")
        return self._values(expression)

    def reaction(self, coordinate: str) -> Array:
        """The generalised reaction on a coordinate."""
        return self._values(self.equations.reaction(coordinate))

    def _values(self, expression: Expr) -> Array:
        found = np.full(len(self.t), np.nan)
        for k in np.unique(self.which):
            flow, members = self.flows[k], np.flatnonzero(self.which == k)
            function = flow.function([self.batch.with_inputs(flow.on_state(flow.graph.of(expression)))])
            found[members] = self.batch.values(function, self.t, self.states, members)[:, 0]
        return found

    def __iter__(self) -> Iterator[str]:
        return (z.name for z in self.flows[0].state)

    def __len__(self) -> int:
        return len(self.flows[0].state)

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {self[name]}" for name in self)


def simulate_many(
    equations: Any,
    starts: Any = None,
    t: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
    inputs: Mapping[str, Any] | None = None,
    threads: int | None = None,
    max_steps: int = 1_000_000,
) -> Ensemble:
    """The ends of many motions over `t = (t0, t1)`.

    `starts` is a mapping (or a `State`) whose values are numbers, texts or arrays, or a list of such mappings, one per member; `parameters`
    is a mapping to numbers or arrays. All arrays are broadcast against each other. Each member ends where `simulate` with
    `keep="final"` ends from the same start, bit for bit, whatever the other members and the number of threads are.

    >>> from chetaev import System
    >>> spring = System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
    >>> ensemble = simulate_many(derive(spring), {"x": [1, 2, 3], "x'": 0}, (0, 3.141592653589793), parameters={"k": 1}, tolerance=1e-12)
    >>> ensemble.final["x"].round(9)
    array([-1., -2., -3.])
    """
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        starts = model.start if starts is None else starts
        t = model.t if t is None else t
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    if not isinstance(equations, Equations):
        hint = "simulate_many(ch.derive(system, principle), starts, t, ...)"
        raise UsageError(f"simulate_many takes equations or a model, not {type(equations).__name__}.", where="simulate_many", hint=hint)
    where = f"simulate_many {equations.system.label}"
    if starts is None:
        raise UsageError("no starts are given.", where=where, hint='simulate_many(equations, {"x": [0, 1, 2], ...}, t)')
    times = single._times(t, where)
    if len(times) != 2:
        raise UsageError("an ensemble keeps the end of each motion only.", where=where, hint="t=(t0, t1)")
    tolerance = single._positive(tolerance, "tolerance", where)
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads={threads!r} is not a number of threads.", where=where, hint="threads=4, or None for all processors")
    compiled = _compiled(equations, where)
    read = _read(equations, compiled, starts, parameters, inputs, float(times[0]), where)
    completion = _completed(read, compiled)
    run = _Integration(read, compiled, completion, tolerance, max_steps, threads)
    return run.to(float(times[1]))


def verdict(status: dop853.Status, t: float, max_steps: int) -> tuple[Outcome, str]:
    """How a run without events ended, in words."""
    if status is dop853.Status.FINISHED:
        return Outcome.FINISHED, "the end of the interval was reached."
    if status in (dop853.Status.WATCH, dop853.Status.FLOOR):
        return Outcome.LEFT_DOMAIN, f"the system Jacobian becomes singular at t = {t:.12g}."
    if status is dop853.Status.NOT_FINITE:
        return Outcome.LEFT_DOMAIN, f"the equations have no finite value near t = {t:.12g}."
    if status is dop853.Status.DRIFT:
        return Outcome.DRIFT_EXCEEDED, f"the state cannot be brought back to the constraints at t = {t:.12g}."
    if status is dop853.Status.INTERRUPTED:
        return Outcome.INTERRUPTED, f"stopped by the user at t = {t:.12g}."
    if status is dop853.Status.TOO_MANY_STEPS:
        return Outcome.STEP_TOO_SMALL, f"{max_steps} steps did not suffice; t = {t:.12g} was reached."
    return Outcome.STEP_TOO_SMALL, f"the step became too small at t = {t:.12g}."


# ------------------------------------------------------------ what is given


@dataclass(frozen=True)
class _Batch:
    """Functions of (t, x, p) evaluated for many members, each with its own parameters."""

    compiled: Compiled
    p: Array
    written: Mapping[str, Expr]
    """The inputs as functions of time and parameters, by name."""

    @cached_property
    def inputs(self) -> ca.Function | None:
        """The jets of inputs that stand in p."""
        flow = self.compiled.flow
        if not flow.inputs:
            return None
        graph = flow.graph
        known = graph.vector(flow.system.equations.system.parameters)
        return ca.Function("inputs", [graph.leaf(TIME), known], [ca.densify(ca.vertcat(*map(self._written, flow.inputs)))])

    def with_inputs(self, e: ca.SX) -> ca.SX:
        """An expression in which jets of inputs that do not stand in p are written out."""
        flow = self.compiled.flow
        others = [z for z in flow.graph.symbols(e) if isinstance(z, Input) and z not in flow.inputs]
        return ca.substitute(e, flow.graph.vector(others), ca.vertcat(*map(self._written, others))) if others else e

    def _written(self, z: Input) -> ca.SX:
        return self.compiled.flow.graph.of(total_derivative(self.written[z.base], z.order))

    def at(self, t: Array, members: Indices) -> Array:
        """The vectors p of some members, with the inputs at their times."""
        p: Array = self.p[members]
        if self.inputs is not None and len(members):
            first = self.inputs.size1_in(1)
            p[:, first : first + self.inputs.size1_out(0)] = _mapped(self.inputs, t[members], p[:, :first])
        return p

    def values(self, function: ca.Function | Kernel, t: Array, states: Array, members: Indices) -> Array:
        """One row per member."""
        if isinstance(function, Kernel):
            return _each(function, t[members], states[members], self.at(t, members))
        if not len(members):
            return np.zeros((0, function.size1_out(0)))
        return _mapped(function, t[members], states[members], self.at(t, members))


@dataclass(frozen=True)
class _Group:
    """Members for which the same jets are given."""

    members: Indices
    fixed: dict[Jet, Array]
    guess: dict[Jet, Array]

    def data(self, member: int) -> Data:
        """The data of one member."""
        at = int(np.flatnonzero(self.members == member)[0])
        return Data({z: float(v[at]) for z, v in self.fixed.items()}, {z: float(v[at]) for z, v in self.guess.items()})


@dataclass(frozen=True)
class _Read:
    """What the user gave, by member, every name understood."""

    equations: Equations
    batch: _Batch
    binding: Binding
    """Inputs; its parameters are placeholders."""
    groups: tuple[_Group, ...]
    shape: tuple[int, ...]
    t: float
    notes: dict[int, tuple[Outcome, str]]
    where: str

    @property
    def size(self) -> int:
        return len(self.batch.p)

    def bound(self, member: int) -> Binding:
        """Parameters of one member, and the inputs."""
        symbols = self.equations.system.parameters
        return Binding(dict(zip(symbols, map(float, self.batch.p[member]), strict=False)), self.binding.inputs)


def _compiled(equations: Equations, where: str) -> Compiled:
    """The kernels; where there are none, the reason in the words of `evaluate`."""
    try:
        return compile_equations(equations)
    except ChetaevError as error:
        error.where = where
        raise


def _read(
    equations: Equations,
    compiled: Compiled,
    starts: Any,
    parameters: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    t: float,
    where: str,
) -> _Read:
    arrays, binding = _parameters(equations, parameters, inputs, where)
    listed = _listed(starts, where)

    def given(start: State) -> _Given:
        return _Given(equations, binding, start, compiled.flow.state, where)

    together = None if listed is not None else given(starts if isinstance(starts, State) else State(starts))
    shapes = [*[a.shape for a in arrays.values()], *(together.shapes if together else [(len(listed or ()),)])]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        sizes = ", ".join(sorted({str(s) for s in shapes if s}))
        raise UsageError(f"arrays of the shapes {sizes} do not go together.", where=where, hint="one length for all, or scalars") from None
    size = int(np.prod(shape))
    if not size or (listed is not None and size != len(listed)):
        raise UsageError("no members are given." if not size else "more parameters than starts.", where=where, hint="one length for all")
    values = np.array([np.broadcast_to(a, shape).ravel() for a in arrays.values()], dtype=float).reshape(len(arrays), size).T
    p = np.zeros((size, len(compiled.flow.arguments) + 1))
    p[:, : values.shape[1]] = values
    groups = [together.group(np.arange(size), shape, values)] if together else _grouped(listed or [], given, values, where)
    notes = _impossible(equations, values, groups)
    return _Read(equations, _Batch(compiled, p, binding.inputs), binding, tuple(groups), shape, t, notes, where)


def _parameters(
    equations: Equations, given: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None, where: str
) -> tuple[dict[str, Array], Binding]:
    """Arrays of values in the order of the system; single numbers are checked as `simulate` checks them."""
    require_mapping(given or {}, "parameters are", where, 'parameters={"m": [1.0, 2.0]}')
    arrays: dict[str, Array] = {}
    scalars: dict[str, Any] = {}
    for key, v in (given or {}).items():
        name = spell(str(key))
        if np.ndim(v) == 0:
            scalars[name] = v.item() if isinstance(v, np.ndarray) else v
        else:
            arrays[name], scalars[name] = _numbers(v, f"{where}, parameter {name}", ParameterError), 1.0
    binding = bind(equations.system, scalars, inputs, where)
    return {z.name: arrays.get(z.name, np.array(binding.parameters[z])) for z in equations.system.parameters}, binding


def _listed(starts: Any, where: str) -> list[State] | None:
    """The starts if they are given one by one."""
    if isinstance(starts, State | Mapping):
        return None
    if isinstance(starts, str) or not isinstance(starts, Sequence):
        hint = '{"x": [0, 1, 2]}, or [{"x": 0}, {"x": 1}]'
        raise UsageError(f"the starts are given as {type(starts).__name__}.", where=where, hint=hint)
    for k, start in enumerate(starts):
        if not isinstance(start, State):
            require_mapping(start, f"start {k} is", where, '[{"x": 0}, {"x": 1}]')
    return [start if isinstance(start, State) else State(start) for start in starts]


class _Given:
    """One set of initial data with the names understood; values may be arrays."""

    def __init__(self, equations: Equations, binding: Binding, start: State, state: Sequence[Jet], where: str) -> None:
        values = [*start.fixed.values(), *start.guess.values()]
        names = [*start.fixed, *start.guess]
        # the reader of single starts learns the names; each value is represented by its number in the list
        numbered = iter(range(len(values)))
        marks = State({k: next(numbered) for k in start.fixed}, {k: next(numbered) for k in start.guess})
        read = read_state(equations, marks, binding, where)
        self.parameters = equations.system.parameters
        self.values = [self._value(v, f"{where}, {name}") for name, v in zip(names, values, strict=True)]
        loose = {z: int(k) for z, k in read.fixed.items() if isinstance(z, Multiplier) and z not in state}
        self.fixed = {z: int(k) for z, k in read.fixed.items() if z not in loose}
        self.guess = {z: int(k) for z, k in read.guess.items()} | loose  # multipliers outside the state are found, not given

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [v.shape for v in self.values if isinstance(v, np.ndarray)]

    def group(self, members: Indices, shape: tuple[int, ...], parameters: Array) -> _Group:
        """The data of several members; texts may contain parameters."""
        columns = [
            np.array(np.broadcast_to(v, shape).ravel()) if isinstance(v, np.ndarray) else self._computed(v, parameters) for v in self.values
        ]
        return _Group(members, {z: columns[k] for z, k in self.fixed.items()}, {z: columns[k] for z, k in self.guess.items()})

    def _computed(self, expression: Expr, parameters: Array) -> Array:
        graph = GraphAlgebra()
        function = ca.Function("value", [graph.vector(self.parameters)], [ca.densify(graph.of(expression))])
        return _mapped(function, parameters)[:, 0]

    def _value(self, given: Any, where: str) -> Array | Expr:
        if not isinstance(given, str | Expr):
            return _numbers(given, where, InitialError) if np.ndim(given) else np.array(_real(given, where))
        names = Vocabulary(parameters={z.name: z for z in self.parameters})
        expression = parse_expression(given, names, where) if isinstance(given, str) else from_sympy(given, names, where)
        if TIME in expression.free_symbols:
            raise InitialError(f"{given!r} depends on time.", where=where)
        return expression if expression.free_symbols else np.array(number(given, {}, where, InitialError))


def _grouped(listed: Sequence[State], given: Callable[[State], _Given], parameters: Array, where: str) -> list[_Group]:
    """Starts given one by one, gathered by the names in them and then by the texts."""
    kinds: dict[Any, list[int]] = {}
    for k, start in enumerate(listed):
        for name, v in [*start.fixed.items(), *start.guess.items()]:
            if np.ndim(v):
                raise UsageError(f"start {k} contains an array.", where=f"{where}, {name}", hint="a list holds one start per member")
        kinds.setdefault((_kind(start.fixed), _kind(start.guess)), []).append(k)
    groups = []
    for found in kinds.values():
        first = listed[found[0]]
        fixed = {name: _one_column(v, [listed[k].fixed[name] for k in found]) for name, v in first.fixed.items()}
        guess = {name: _one_column(v, [listed[k].guess[name] for k in found]) for name, v in first.guess.items()}
        groups.append(given(State(fixed, guess)).group(np.array(found), (len(found),), parameters[found]))
    return groups


def _kind(values: Mapping[Any, Any]) -> frozenset[Any]:
    """The names of some data, with the texts among the values."""
    return frozenset((str(name), v if isinstance(v, str | Expr) else None) for name, v in values.items())


def _one_column(first: Any, values: list[Any]) -> Any:
    """Numbers as an array; a text, which all of them share, as it is."""
    if isinstance(first, str | Expr):
        return first
    array = np.array(values)
    return array.astype(float) if array.dtype.kind in "iuf" else np.array([_real(v, "start") for v in values])


def _impossible(equations: Equations, parameters: Array, groups: Sequence[_Group]) -> dict[int, tuple[Outcome, str]]:
    """Members with values that are not finite or, for a positive parameter, not positive."""
    notes: dict[int, tuple[Outcome, str]] = {}
    for z, column in zip(equations.system.parameters, parameters.T, strict=True):
        for k in np.flatnonzero(~np.isfinite(column)):
            notes.setdefault(int(k), (Outcome.LEFT_DOMAIN, f"{z.name} = {column[k]:g} is not finite."))
        if z.is_positive:
            for k in np.flatnonzero(column <= 0):
                notes.setdefault(int(k), (Outcome.LEFT_DOMAIN, f"{z.name} = {column[k]:g}, but it is declared positive."))
    for group in groups:
        for jet, column in {**group.fixed, **group.guess}.items():
            for k in np.flatnonzero(~np.isfinite(column)):
                note = f"{jet.name} = {column[k]:g} at the start is not finite."
                notes.setdefault(int(group.members[k]), (Outcome.LEFT_DOMAIN, note))
    return notes


def _numbers(given: Any, where: str, kind: type[ChetaevError]) -> Array:
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise kind("the values are not an array of real numbers.", where=where, hint="numbers, all in one array") from None


def _real(given: Any, where: str) -> float:
    """A number; one that is not finite is for the member to report."""
    given = given.item() if isinstance(given, np.ndarray | np.generic) else given
    if isinstance(given, float) and not np.isfinite(given):
        return given
    return number(given, {}, where, InitialError)


def _mapped(function: ca.Function, *columns: Array) -> Array:
    """A function at many points: every argument has one row per point, and so has the result."""
    size = len(columns[0])
    found: Array = function.map(size)(*[c[None, :] if c.ndim == 1 else c.T for c in columns]).full()
    return np.ascontiguousarray(found.T)


def _each(kernel: Kernel, t: Array, states: Array, p: Array) -> Array:
    """Machine code at many points."""
    found = np.empty((len(t), kernel.n_out))
    _calls(kernel.address, t, np.ascontiguousarray(states), np.ascontiguousarray(p), found)
    return found


@njit(error_model="numpy", cache=True, nogil=True)
def _calls(address: int, t: Array, states: Array, p: Array, out: Array) -> None:
    for i in range(t.size):
        call_kernel(address, t[i], states[i].ctypes, p[i].ctypes, out[i].ctypes)


# ------------------------------------------------------------ consistent data, for all members together


@dataclass(frozen=True)
class _Completion:
    """States on the constraints, and what kept some members from getting there."""

    states: Array
    notes: dict[int, tuple[Outcome, str]]


def _completed(read: _Read, compiled: Compiled) -> _Completion:
    """A state for every member, NaN for those that have none."""
    states = np.full((read.size, compiled.size), np.nan)
    notes = dict(read.notes)
    for group in read.groups:
        alive = np.array([k for k, member in enumerate(group.members) if int(member) not in notes], dtype=np.int64)
        if len(alive):
            _Stages(read, compiled.flow, group, alive, states, notes).complete()
    if compiled.flow.has_power:
        states[:, -1] = 0.0
    states[list(notes)] = np.nan
    _refuse_singular(read, compiled.flow, states, notes)
    return _Completion(states, notes)


class _Stages:
    """`initial.complete` for many members at once. Those that differ from the rest are left to the original."""

    def __init__(
        self, read: _Read, flow: Flow, group: _Group, alive: Indices, states: Array, notes: dict[int, tuple[Outcome, str]]
    ) -> None:
        self.read, self.flow, self.group = read, flow, group
        self.members, self.states, self.notes = group.members[alive], states, notes
        self.column = {z: k for k, z in enumerate(flow.state)}
        self.x = np.zeros((len(alive), states.shape[1]))
        self.p = read.batch.at(np.full(read.size, read.t), self.members)
        self.fixed = {z: v[alive] for z, v in group.fixed.items()}
        self.guess = {z: v[alive] for z, v in group.guess.items()}
        self.odd = np.zeros(len(alive), dtype=bool)
        """Members whose matrices have another rank than those of the rest."""
        self.lost = np.zeros(len(alive), dtype=bool)
        """Members at which the equations have no finite value."""

    @property
    def system(self) -> Prolongation:
        return self.flow.system

    def complete(self) -> None:
        """Write the states of the members, or a note."""
        if any(z not in self.column for z in self.fixed):  # jets above the state, which must agree with the equations
            return self._one_by_one(self.members, whole=True)
        known = list(self.fixed)
        for z, v in self.fixed.items():
            self.x[:, self.column[z]] = v
        for k in self.system.stages():
            found = self._solved_at(k, known)
            if found is None:
                return self._too_few()
            known += found
        for z, v in self.guess.items():
            if z in self.column and z not in known:
                self.x[:, self.column[z]] = v
                known.append(z)
        if any(z not in known for z in self.column):
            return self._too_few()
        self._project()
        self._note(self.lost, Outcome.LEFT_DOMAIN, "the equations have no finite value at the start.")
        good = ~(self.odd | self.lost)
        self.states[self.members[good]] = self.x[good]
        return self._one_by_one(self.members[self.odd & ~self.lost], whole=False)

    def _solved_at(self, k: int, known: Sequence[Jet]) -> list[Jet] | None:
        """The missing jets that one stage determines, for all members; None if one of them needs a guess."""
        system = self.system
        pairs = system.stage(k)
        missing = initial._missing(system, pairs, dict.fromkeys(known, 0.0))
        if not missing:
            return []
        curved = system.curved(pairs, missing)
        if system.curved(pairs, [z for z in missing if z not in self.guess]):
            return [] if initial._affine_later(system, k, dict.fromkeys(known, 0.0), missing) else None
        columns = [self.column[z] for z in missing]
        for z in missing:
            self.x[:, self.column[z]] = self.guess.get(z, 0.0)
        opened = np.zeros((len(self.x), len(missing)), dtype=bool)
        ranks = np.zeros(len(self.x), dtype=np.int64)
        moving = np.flatnonzero(~self.lost)
        for _ in range(initial._STEPS if curved else 1):
            residual, jacobian = self._numbers(pairs, missing, moving)
            finite = np.isfinite(residual).all(axis=1) & np.isfinite(jacobian).all(axis=(1, 2))
            self.lost[moving[~finite]] = True
            moving, residual, jacobian = moving[finite], residual[finite], jacobian[finite]
            step, ranks[moving], opened[moving] = _least(jacobian, -residual)
            self.x[moving[:, None], columns] += step
            moving = moving[np.abs(step).max(axis=1, initial=0.0) >= 1e-13 * np.maximum(1.0, np.abs(self.x[moving]).max(axis=1))]
            if not len(moving):
                break
        found = np.flatnonzero(~self.lost)
        if not len(found):
            return missing
        usual = ranks[found].max()
        pattern = opened[found[ranks[found] == usual]].any(axis=0)
        self.odd |= (ranks != usual) | (opened != pattern).any(axis=1)
        return [z for z, is_open in zip(missing, pattern, strict=True) if not is_open]

    def _project(self) -> None:
        """Guesses and computed values moved as far as needed, fixed ones by round-off; what is left over is a contradiction."""
        pairs, state = self.system.hidden(), list(self.flow.state)
        if not pairs:
            return
        loose = [self.column[z] for z in state if z not in self.fixed]
        moving = np.flatnonzero(~(self.lost | self.odd))
        best, smallest = self.x.copy(), np.full(len(self.x), np.inf)
        unsettled = []
        for _ in range(initial._STEPS):
            residual, jacobian = self._numbers(pairs, state, moving)
            finite = np.isfinite(residual).all(axis=1) & np.isfinite(jacobian).all(axis=(1, 2))
            self.lost[moving[~finite & ~np.isfinite(smallest[moving])]] = True
            unsettled.append(moving[~finite])
            moving, residual, jacobian = moving[finite], residual[finite], jacobian[finite]
            size = np.abs(residual).max(axis=1)
            better = moving[size < smallest[moving]]
            best[better], smallest[moving] = self.x[better], np.minimum(size, smallest[moving])
            rough = _relative(residual, jacobian, state, self.x[moving])[0] >= initial._ROUND_OFF
            moving, residual, jacobian = moving[rough], residual[rough], jacobian[rough]
            if not loose or not len(moving):
                break
            step = _least(jacobian[:, :, loose], -residual)[0]
            going = np.abs(step).max(axis=1) >= 1e-15
            self.x[moving[going, None], loose] += step[going]
            unsettled.append(moving[~going])
            moving = moving[going]
        self.x = best
        left = np.unique(np.concatenate([moving, *unsettled]))
        self._settle(pairs, state, left[~self.lost[left]])

    def _settle(self, pairs: Sequence[Pair], state: Sequence[Jet], moving: Indices) -> None:
        """The last of the way, by round-off in all jets; members that are too far off get a note."""
        columns = [self.column[z] for z in state]
        for turn in range(2):
            if not len(moving):
                return
            residual, jacobian = self._numbers(pairs, state, moving)
            if turn == 0:
                size, worst = _relative(residual, jacobian, state, self.x[moving])
                near = size <= initial._CONTRADICTION
                for k, row, r in zip(moving[~near], worst[~near], residual[~near], strict=True):
                    text = f"the data contradict {self.system.label(pairs[int(row)])}: it is off by {r[row]:.3g}."
                    self.notes[int(self.members[k])] = (Outcome.DRIFT_EXCEEDED, text)
                going = near & (size >= initial._ROUND_OFF)
                moving, residual, jacobian = moving[going], residual[going], jacobian[going]
            self.x[moving[:, None], columns] += _least(jacobian, -residual)[0]

    def _numbers(self, pairs: Sequence[Pair], jets: Sequence[Jet], rows: Indices) -> tuple[Array, Array]:
        """Residuals of some rows and their Jacobian with respect to some jets, for some members."""
        m = len(pairs)
        if not len(rows):
            return np.zeros((0, m)), np.zeros((0, m, len(jets)))
        function = _rows(self.read.equations, tuple(pairs), tuple(jets))
        found = _mapped(function, np.full(len(rows), self.read.t), self.x[rows], self.p[rows])
        return found[:, :m], found[:, m:].reshape(len(rows), m, len(jets))

    def _note(self, which: NDArray[np.bool_], outcome: Outcome, text: str) -> None:
        for member in self.members[which]:
            self.notes[int(member)] = (outcome, text)

    def _too_few(self) -> None:
        """Data are missing for every member of the group: the reader of single starts says which."""
        if len(self.read.groups) > 1:  # the others give more
            return self._one_by_one(self.members, whole=False)
        for member in map(int, self.members[:8]):
            try:
                complete(self._problem(member), self.group.data(member))
            except InitialError:
                raise
            except ChetaevError:
                continue
        raise InitialError("the data do not determine a state.", where=self.read.where, hint="give every jet of the state")

    def _one_by_one(self, members: Indices, whole: bool) -> None:
        """The state of each member by the reader of single starts; its refusal is the note."""
        for member in map(int, members):
            data = self.group.data(member)
            try:
                if whole:
                    jets: Mapping[Jet, float] = self._evaluated(member, data)
                else:
                    jets = complete(self._problem(member), data)
            except ChetaevError as refused:
                outcome = Outcome.DRIFT_EXCEEDED if isinstance(refused, InitialError) else Outcome.LEFT_DOMAIN
                self.notes[member] = (outcome, "  ".join(filter(None, (refused.what, refused.why))))
            else:
                self.states[member, : len(self.column)] = [jets[z] for z in self.column]

    def _problem(self, member: int) -> Problem:
        return Problem(self.system, self.read.bound(member), self.read.t, self.read.where)

    def _evaluated(self, member: int, data: Data) -> Mapping[Jet, float]:
        bound = self.read.bound(member)
        start = State({z.name: v for z, v in data.fixed.items()}, {z.name: v for z, v in data.guess.items()})
        values = {str(z.name): v for z, v in bound.parameters.items()}
        return evaluate(self.read.equations, start, parameters=values, t=self.read.t, inputs=bound.inputs).jets


def _refuse_singular(read: _Read, flow: Flow, states: Array, notes: dict[int, tuple[Outcome, str]]) -> None:
    """Notes for members that start where the system Jacobian is singular; the test is that of `evaluate`."""
    members = np.array([k for k in range(read.size) if k not in notes], dtype=np.int64)
    times = np.full(read.size, read.t)
    first = _first(read.equations)
    pivots = np.abs(read.batch.values(first.pivots, times, states, members)) / first.references
    members = members[~(pivots.min(axis=1, initial=1.0) > single._WORST_PIVOT)]
    n = len(flow.order.pairs)
    found = read.batch.values(first.jacobian, times, states, members).reshape(-1, n, n)
    finite = np.isfinite(found).all(axis=(1, 2))
    for k in members[~finite]:
        notes[int(k)] = (Outcome.LEFT_DOMAIN, "the equations have no finite value at the start.")
    members, found = members[finite], found[finite]
    if not len(members):
        return
    sizes = np.linalg.svd(_scaled(found)[0], compute_uv=False)
    small = sizes[:, -1] <= _SUSPICIOUS * sizes[:, 0]
    usual = flow.system.generic_nullity or 0
    for k, jacobian in zip(members[small], found[small], strict=True):
        if least_norm(jacobian, np.zeros(len(jacobian)))[1].shape[1] > usual:
            notes[int(k)] = (Outcome.LEFT_DOMAIN, "the system Jacobian is singular at the start.")
    states[list(notes)] = np.nan


@lru_cache(maxsize=256)
def _rows(equations: Equations, pairs: tuple[Pair, ...], jets: tuple[Jet, ...]) -> ca.Function:
    """Some rows and their Jacobian with respect to some jets; no machine code, because single starts are rounded without it too."""
    flow = compile_equations(equations).flow
    written = [flow.system.row(pair) for pair in pairs]
    return flow.function([*written, *[d for r in written for d in flow.graph.gradient(r, jets)]])


def _relative(residual: Array, jacobian: Array, jets: Sequence[Jet], at: Array) -> tuple[Array, Indices]:
    """The largest residual of each member relative to the size of its terms, and where it is: `initial._largest` for many."""
    orders = np.array([z.order for z in jets])
    sizes = np.abs(at[:, : len(jets)])
    largest = np.empty_like(sizes)
    for order in set(orders.tolist()):
        largest[:, orders == order] = sizes[:, orders == order].max(axis=1, keepdims=True)
    sizes = np.maximum(np.maximum(sizes, initial._SMALL * largest), initial._TINY)
    scale = (np.abs(jacobian) * sizes[:, None, :]).max(axis=2, initial=0.0)
    scaled = np.abs(residual) / np.where(scale > 0, scale, 1.0)
    worst = scaled.argmax(axis=1)
    return scaled[np.arange(len(scaled)), worst], worst


def _scaled(matrices: Array) -> tuple[Array, Array, Array]:
    """Matrices with their rows and then their columns divided by the largest entry, and the scales."""
    rows = np.abs(matrices).max(axis=2, initial=0.0)
    rows[rows == 0] = 1.0
    scaled = matrices / rows[:, :, None]
    columns = np.abs(scaled).max(axis=1, initial=0.0)
    columns[columns == 0] = 1.0
    return scaled / columns[:, None, :], rows, columns


def _least(matrices: Array, right: Array) -> tuple[Array, Indices, NDArray[np.bool_]]:
    """Solutions of least norm, ranks, and which unknowns a null space moves: `prolong.least_norm` for many matrices."""
    size, m, n = matrices.shape
    steps, opened = np.zeros((size, n)), np.zeros((size, n), dtype=bool)
    if not size or not m or not n:
        return steps, np.zeros(size, dtype=np.int64), opened | (n > 0)
    scaled, rows, columns = _scaled(matrices)
    u, s, vt = np.linalg.svd(scaled, full_matrices=True)
    ranks = (s > _RANK * s[:, :1]).sum(axis=1)
    b = right / rows
    for r in set(ranks.tolist()):
        some = ranks == r
        weights = np.einsum("kmr,km->kr", u[some][:, :, :r], b[some]) / s[some, :r]
        found = np.einsum("krn,kr->kn", vt[some][:, :r], weights) / columns[some]
        if r < n:
            null = np.swapaxes(vt[some][:, r:], 1, 2) / columns[some][:, :, None]
            found -= np.einsum("knj,kj->kn", null, np.einsum("kjn,kn->kj", np.linalg.pinv(null), found))
            moved = np.abs(null).max(axis=2)
            opened[some] = moved > _OPEN * moved.max(axis=1, keepdims=True)
        steps[some] = found
    return steps, ranks, opened


# ------------------------------------------------------------ the run


@dataclass(frozen=True)
class _Pivoted:
    """Kernels for one order of elimination, chosen at points that no member has chosen."""

    compiled: Compiled
    watch: Kernel
    pivots: Kernel
    jacobian: Kernel

    @property
    def references(self) -> Array:
        return np.array(self.compiled.flow.solved.references)


class _Integration:
    """All members under way: where each is, and by which order of elimination it is integrated."""

    def __init__(
        self, read: _Read, compiled: Compiled, completion: _Completion, tolerance: float, max_steps: int, threads: int | None
    ) -> None:
        self.read, self.base, self.completion = read, compiled, completion
        self.tolerance, self.max_steps, self.threads = tolerance, max_steps, threads
        size, flow = read.size, compiled.flow
        self.pivoted = [_first(read.equations)]
        self.orders: dict[PivotOrder, int] = {flow.order: 0}
        self.which = np.zeros(size, dtype=np.int64)
        self.at, self.y = np.full(size, read.t), completion.states.copy()
        self.references = np.tile(self.pivoted[0].references, (size, 1))
        self.status = np.full(size, int(dop853.Status.NOT_FINITE))
        self.measured = np.full((size, len(compiled.labels)), np.nan)
        self.low, self.high = self.y.copy(), self.y.copy()
        self.counts = np.zeros((size, len(_COUNTS)), dtype=np.int64)
        self.kernel = compiled.inputs(read.binding)
        self.flag = np.zeros(1, np.int64)

    def to(self, t1: float) -> Ensemble:
        """Run all members that started to the end, choosing other pivots where the first ones wear out."""
        active = np.array([k for k in range(self.read.size) if k not in self.completion.notes], dtype=np.int64)
        batch = self.read.batch
        energy = self.base.flow.function([self.base.flow.energy])
        batch.p[active, -1] = batch.values(energy, self.at, self.y, active)[:, 0]
        for _ in range(single._REORDERINGS):
            worn = [self._advance(active[self.which[active] == k], t1) for k in np.unique(self.which[active])]
            active = self._reordered(np.sort(np.concatenate([np.zeros(0, np.int64), *worn])))
            if not len(active) or self.flag[0]:
                break
        return self._ensemble()

    def _advance(self, members: Indices, t1: float) -> Indices:
        """Integrate members with the same pivots; those whose pivots wore out on the way."""
        pivoted = self.pivoted[self.which[members[0]]]
        compiled = pivoted.compiled
        names = ("rhs", "project", "inputs", "watch", "measure")
        kernels = (compiled.rhs, compiled.project, self.kernel, pivoted.watch, compiled.measure)
        p, starts = self._parameters(pivoted, members), self.y[members]
        common: dict[str, Any] = {
            "t1": t1, "first_input": len(self.read.equations.system.parameters), "rtol": self.tolerance, "atol": self.tolerance,
            "max_steps": self.max_steps, "n_watch": 2, "n_measure": len(compiled.labels), "terminal": [True, False], "floor": [0.0, 0.5],
            "flag": self.flag, **{name: 0 if k is None else k.address for name, k in zip(names, kernels, strict=True)},
        }  # fmt: skip

        def together(t0: float, some: Indices) -> None:
            done = dop853.run_many(t0=t0, y0=starts[some], p=p[some], threads=self.threads, **common)
            self._store(members[some], done)

        def alone(k: int) -> None:
            done = dop853.run(t0=float(self.at[members[k]]), y0=starts[k], p=p[k], keep=dop853.FINAL, **common)
            self._store(members[k : k + 1], done)

        def all_of_them() -> None:
            rest = np.ones(len(members), dtype=bool)
            times, sizes = np.unique(self.at[members], return_counts=True)
            for t0 in times[sizes >= _TOGETHER]:
                some = np.flatnonzero(self.at[members] == t0)
                rest[some] = False
                together(float(t0), some)
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(alone, np.flatnonzero(rest)))

        before = self.counts[members, 0]
        single._interruptible(all_of_them, self.flag)
        status = self.status[members]
        at_once = (status == dop853.Status.NOT_FINITE) & (self.counts[members, 0] == before)
        return members[(status == dop853.Status.FLOOR) | at_once]

    def _store(self, members: Indices, done: Any) -> None:
        """What a run, or several, left."""
        self.at[members], self.y[members], self.status[members] = done.t, done.y, done.status
        self.measured[members] = np.fmax(self.measured[members], done.measured)
        self.low[members], self.high[members] = np.minimum(self.low[members], done.minima), np.maximum(self.high[members], done.maxima)
        self.counts[members] += np.stack([np.atleast_1d(getattr(done, name)) for name in _COUNTS], axis=1)

    def _parameters(self, pivoted: _Pivoted, members: Indices) -> Array:
        """The vectors p with what the watch compares with: two floors, then the references of the pivots."""
        batch = self.read.batch
        references = self.references[members]
        ratios = np.abs(batch.values(pivoted.pivots, self.at, self.y, members)) / references
        with np.errstate(invalid="ignore"):  # a pivot of zero makes the next one infinite; such a member is not finite at once
            determinant = ratios.prod(axis=1)
        smallest = np.fmin(ratios.min(axis=1, initial=1.0), 1.0)
        floors = np.stack([determinant * single._SMALLEST_DETERMINANT, smallest * single._WORST_PIVOT], axis=1)
        return np.concatenate([batch.at(self.at, members), floors, references], axis=1)

    def _reordered(self, worn: Indices) -> Indices:
        """Other pivots for members whose pivots wore out, where it is the pivots and not the state that is singular."""
        batch, flow = self.read.batch, self.base.flow
        n, function = len(flow.order.pairs), self.pivoted[0].jacobian
        now = batch.values(function, self.at, self.y, worn).reshape(-1, n, n)
        then = batch.values(function, np.full(len(self.at), self.read.t), self.completion.states, worn).reshape(-1, n, n)
        found = [np.zeros(0, np.int64)]
        for order, some in pivot_orders(now, flow.samples).items():
            usual = np.maximum(worst_pivots(then[some], order), worst_pivots(then[some], flow.order))
            good = worst_pivots(now[some], order) > 10 * single._WORST_PIVOT * usual
            members = worn[some][good & (self.which[worn[some]] != self.orders.get(order, -1))]
            if not len(members):
                continue
            if order not in self.orders:
                self.orders[order] = len(self.pivoted)
                self.pivoted.append(_pivoted(_with_order(self.base, order)))
            self.which[members] = self.orders[order]
            pivoted = self.pivoted[self.orders[order]]
            self.references[members] = np.maximum(np.abs(batch.values(pivoted.pivots, self.at, self.y, members)), pivoted.references)
            found.append(members)
        return np.sort(np.concatenate(found))

    def _ensemble(self) -> Ensemble:
        read, flow = self.read, self.base.flow
        notes = self.completion.notes
        outcomes = np.array([verdict(status, 0.0, 0)[0] for status in dop853.Status], dtype=object)
        outcome = outcomes[self.status]
        for k, (o, _) in notes.items():
            outcome[k] = o
        flows = tuple(p.compiled.flow for p in self.pivoted)
        first = np.full(read.size, read.t)
        return Ensemble(
            equations=read.equations,
            shape=read.shape,
            t=self.at,
            outcome=outcome,
            drift=Frozen(zip(self.base.labels, self.measured.T.copy(), strict=True)),
            extrema=Frozen({z.name: (self.low[:, k].copy(), self.high[:, k].copy()) for k, z in enumerate(flow.state)}),
            counts=Frozen(zip(_COUNTS, self.counts.T.copy(), strict=True)),
            start=Columns(read.equations, read.batch, first, self.completion.states, flows, self.which),
            final=Columns(read.equations, read.batch, self.at, self.y, flows, self.which),
            notes=Frozen({k: text for k, (_, text) in notes.items()}),
            status=self.status,
            max_steps=self.max_steps,
        )


def pivot_orders(matrices: Array, samples: Sequence[Array]) -> dict[PivotOrder, Indices]:
    """`elimination.pivot_order([matrix, *samples])` for many matrices at once: which of them take which order.

    Matrices that agree in the pivots chosen so far stay together. A matrix without an order, or with an entry that is not finite, is left
    out.
    """
    found: dict[PivotOrder, Indices] = {}
    n = matrices.shape[1]
    good = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    stack = [(good, matrices[good].copy(), np.array(samples, dtype=float).reshape(-1, n, n), _Left((), *[tuple(range(n))] * 2))]
    while stack:
        which, own, common, left = stack.pop()
        if not len(which):
            continue
        if not left.rows:
            found[PivotOrder(left.pairs)] = which
            continue
        chosen = left.best(own, common)
        for k in np.unique(chosen[chosen >= 0]):
            i, j = left.rows[k // len(left.columns)], left.columns[k % len(left.columns)]
            rest, same = left.without(i, j), chosen == k
            stack.append((which[same], rest.eliminated(own[same], i, j), rest.eliminated(common, i, j), rest))
    return dict(sorted(found.items(), key=lambda item: item[0].pairs))


@dataclass(frozen=True)
class _Left:
    """Rows and columns that are still to be eliminated, and the pivots before."""

    pairs: tuple[tuple[int, int], ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def without(self, i: int, j: int) -> _Left:
        return _Left((*self.pairs, (i, j)), tuple(r for r in self.rows if r != i), tuple(c for c in self.columns if c != j))

    def best(self, own: Array, common: Array) -> Indices:
        """The place of the next pivot for each matrix, -1 for none: least Markowitz count among entries never small in their column."""
        a, b = (np.abs(m[:, self.rows][:, :, self.columns]) for m in (own, common))
        present = (a > 0) | (b > 0).any(axis=0)
        allowed = _not_small(a) & _not_small(b).all(axis=0)
        worst = np.minimum(_share(a), _share(b).min(axis=0, initial=np.inf))
        largest = worst.max(axis=(1, 2), keepdims=True)
        allowed = np.where(allowed.any(axis=(1, 2), keepdims=True), allowed, worst == largest)
        count = (present.sum(axis=2)[:, :, None] - 1) * (present.sum(axis=1)[:, None, :] - 1)
        count = np.where(allowed, count, np.iinfo(np.int64).max).reshape(len(a), -1)
        nothing = (largest.ravel() < 1e-10) & ~(_not_small(a) & _not_small(b).all(axis=0)).any(axis=(1, 2))
        return np.where(nothing, -1, count.argmin(axis=1))

    def eliminated(self, work: Array, i: int, j: int) -> Array:
        """The matrices after the pivot (i, j)."""
        work = work.copy()
        scale = np.abs(work).max(axis=(1, 2), keepdims=True)
        if self.rows:
            rows, columns = np.array(self.rows)[:, None], np.array(self.columns)
            work[:, rows, columns] -= (
                work[:, self.rows, j][:, :, None] * work[:, i, self.columns][:, None, :] / work[:, i, j][:, None, None]
            )
        work[np.abs(work) < elimination._VANISHES * scale] = 0.0
        return work


def _not_small(sizes: Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (sizes >= elimination._THRESHOLD * sizes.max(axis=1, keepdims=True)) & (sizes > 0)
    return found


def _share(sizes: Array) -> Array:
    found: Array = sizes / np.maximum(sizes.max(axis=(1, 2), keepdims=True), 1e-300)
    return found


def worst_pivots(matrices: Array, order: PivotOrder) -> Array:
    """The smallest pivots of an elimination in a given order, once rows and columns are scaled to one."""
    a = _scaled(matrices)[0]
    left, worst = list(range(a.shape[1])), np.ones(len(a))
    for i, j in order.pairs:
        pivot = a[:, i, j].copy()
        worst = np.minimum(worst, np.abs(pivot))
        left.remove(i)
        a[:, left] -= (a[:, left, j] / np.where(pivot == 0, np.inf, pivot)[:, None])[:, :, None] * a[:, i][:, None, :]
    return worst


@lru_cache(maxsize=32)
def _first(equations: Equations) -> _Pivoted:
    """The kernels with the pivots that suit random points; remembered, as the equations' own are."""
    return _pivoted(compile_equations(equations))


def _pivoted(compiled: Compiled) -> _Pivoted:
    flow = compiled.flow
    pivots = flow.function(list(flow.solved.pivots), "pivots")
    jacobian = flow.function([e for line in flow.system.structure.jacobian for e in line], "jacobian")
    return _Pivoted(compiled, compile_kernel(_watch(flow, pivots)), compile_kernel(pivots), compile_kernel(jacobian))


def _with_order(base: Compiled, order: PivotOrder) -> Compiled:
    """The kernels for another order of elimination; the projection does not depend on it."""
    flow = Flow(base.flow.system, order, base.flow.samples)
    return Compiled(flow, compile_kernel(flow.rhs()), base.project, compile_kernel(flow.measure()[0]), base.labels)


def _watch(flow: Flow, pivots: ca.Function) -> ca.Function:
    """The determinant, and 1 as long as it and the pivots are above the floors that stand in p after the energy, followed by references."""
    count = len(flow.order.pairs)
    length = len(flow.arguments) + 1
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", pivots.size1_in(1)), ca.SX.sym("p", length + 2 + count)
    found = pivots(t, x, p[:length])
    determinant, smallest = ca.SX(flow.solved.sign), ca.SX(1)
    for k in range(count):
        ratio = found[k] / p[length + 2 + k]
        determinant, smallest = determinant * ratio, ca.fmin(smallest, ca.fabs(ratio))
    below = ca.logic_or(ca.fabs(determinant) < p[length], smallest < p[length + 1])
    return ca.Function("watch", [t, x, p], [ca.densify(ca.vertcat(determinant, 1 - below))], {"cse": True})
