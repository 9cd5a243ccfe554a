"""Reading the arguments of an ensemble: initial data and parameters as columns over the members, with resolved names.

Initial data may be a mapping with arrays in it or a list of starts; members for which the same jets are given form a group and are
completed together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sympy import Expr, Symbol

from chetaev.core.errors import ChetaevError, InitialError, ParameterError, UsageError, about, require_mapping
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import Vocabulary, from_sympy, parse_expression
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Jet, Multiplier
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.ensemble.batch import Array, Batch, Indices, mapped
from chetaev.numerics.flow.compiled import Compiled, compile_at, compile_equations
from chetaev.numerics.flow.prolongation import square_prolongation
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.graphs.binding import Binding, bind, number
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.motion.trajectory import Outcome
from chetaev.numerics.start.attitude import read_elements, stated_members
from chetaev.numerics.start.completed import on_its_component, state_at
from chetaev.numerics.start.data import Data, read_state

_NAMED: Remembered[Data] = Remembered(64)
"""The jets that texts of users name, by equations without groups and these texts, with the index of each value in their list."""

Notes = dict[int, tuple[Outcome, str]]
"""The reasons why members did not start, by member."""


@dataclass(frozen=True)
class Group:
    """Members for which the same jets are given."""

    members: Indices
    fixed: dict[Jet, Array]
    guess: dict[Jet, Array]

    def data(self, member: int) -> Data:
        """The data of one member."""
        at = int(np.flatnonzero(self.members == member)[0])
        return Data({z: float(v[at]) for z, v in self.fixed.items()}, {z: float(v[at]) for z, v in self.guess.items()})

    def part(self, first: int, last: int) -> Group | None:
        """The data of those members that lie from `first` up to `last`, counted from `first`; None if there are none."""
        inside = np.flatnonzero((self.members >= first) & (self.members < last))
        fixed, guess = ({z: v[inside] for z, v in columns.items()} for columns in (self.fixed, self.guess))
        return Group(self.members[inside] - first, fixed, guess) if len(inside) else None


@dataclass(frozen=True)
class Given:
    """The user's data by member, with resolved names."""

    switched: Switched
    """The equations with a mode for every corner; modes are parameters, which follow the user's in p."""
    batch: Batch
    groups: tuple[Group, ...]
    shape: tuple[int, ...]
    t: float
    given_inputs: Mapping[str, Expr]
    """The functions of time that drive the motion, as the user wrote them."""
    notes: Notes
    where: str

    @cached_property
    def size(self) -> int:
        """The number of members."""
        return len(self.batch.p)

    @property
    def equations(self) -> Equations:
        """The equations that are integrated, without corners."""
        return self.switched.smooth

    @cached_property
    def binding(self) -> Binding:
        """The inputs; parameters differ from member to member."""
        return Binding({}, self.switched.inputs)

    @cached_property
    def ranges(self) -> dict[Symbol, tuple[float, float]]:
        """The least and the largest value of each parameter, modes among them, once those are chosen (`completion.completed`)."""
        p = self.batch.p
        return {z: (float(p[:, k].min()), float(p[:, k].max())) for k, z in enumerate(self.equations.system.parameters)} if len(p) else {}

    @property
    def alike(self) -> bool:
        """Whether the values of all members are equal, to the bit: zeros could differ in sign. Inputs count as different."""
        return self.batch.inputs is None and all(low == high != 0.0 for low, high in self.ranges.values())

    def bound(self, member: int) -> Binding:
        """Parameters of one member, modes among them, and the inputs."""
        symbols = self.equations.system.parameters
        return Binding(dict(zip(symbols, map(float, self.batch.p[member]), strict=False)), self.switched.inputs)

    def part(self, first: int, last: int) -> Given:
        """The members from `first` up to `last`, counted from `first`; their vectors p are those of all members, not copies."""
        if first == 0 and last == self.size:
            return self
        groups = tuple(part for group in self.groups if (part := group.part(first, last)) is not None)
        notes = {k - first: note for k, note in self.notes.items() if first <= k < last}
        batch = Batch(self.batch.compiled, self.batch.p[first:last], self.batch.written)
        return Given(self.switched, batch, groups, (last - first,), self.t, self.given_inputs, notes, self.where)

    def data(self, member: int) -> Data:
        """The initial data of one member."""
        group = next(group for group in self.groups if member in group.members)
        return group.data(member)


def read(
    equations: Equations,
    starts: Any,
    parameters: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    t: float,
    where: str,
    one_start: bool = False,
) -> Given:
    """Return columns over the members, broadcast against each other; raise a UsageError if their shapes do not fit.

    `one_start` says that the start is that of one motion, as in a model: an array that can be one group element is one.
    """
    arrays, binding = _parameters(equations, parameters, inputs, where)
    switched = smooth(equations, Frozen(binding.inputs))
    stated = square_prolongation(switched.smooth)
    at_random = stated is None or stated.generic_nullity is not None
    known = _compiled(switched.smooth, where) if at_random else None
    state = known.flow.state if known else stated.structure.state if stated else ()
    listed = _listed(starts, where)
    if equations.system.groups:
        constants = {z: float(arrays[z.name]) for z in equations.system.parameters if not arrays[z.name].ndim}
        if listed is None:
            start = starts if isinstance(starts, State) else State(starts)
            starts = _standing(equations, start, constants, where, None if one_start else _stated_members(equations, start, arrays))
        else:
            listed = [_standing(equations, start, constants, f"{where}, start {k}", None) for k, start in enumerate(listed)]

    def given(start: State) -> _Columns:
        return _Columns(equations, binding, start, state, where)

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
    values = np.array([_spread(a, shape, size) for a in arrays.values()], dtype=float).reshape(len(arrays), size).T
    groups = [together.group(np.arange(size), shape, values)] if together else _grouped(listed or [], given, values, where)
    compiled = known or _on_component(switched, groups, values, t, where)
    p = np.zeros((size, len(compiled.flow.arguments) + 1))
    p[:, : values.shape[1]] = values
    p[:, values.shape[1] : values.shape[1] + len(switched.modes)] = 1.0
    notes = _impossible(equations, values, groups)
    return Given(switched, Batch(compiled, p, switched.inputs), tuple(groups), shape, t, binding.inputs, notes, where)


def _compiled(equations: Equations, where: str) -> Compiled:
    """Return the kernels; an error names the function that the user called."""
    try:
        return compile_equations(equations)
    except ChetaevError as error:
        error.where = where
        raise


def _on_component(switched: Switched, groups: Sequence[Group], values: Array, t: float, where: str) -> Compiled:
    """Return the kernels for the component of the constraint set of the first member, if random states lie on another one."""
    data = next(group for group in groups if 0 in group.members).data(0)
    start = State({z.name: v for z, v in data.fixed.items()}, {z.name: v for z, v in data.guess.items()})
    numbers = [*map(float, values[0]), *[1.0] * len(switched.modes)]
    binding = Binding(dict(zip(switched.smooth.system.parameters, numbers, strict=True)), switched.inputs)
    found = on_its_component(state_at(switched.smooth, start, binding, t, where))
    return compile_at(found.problem.system, found.problem.point(found.state)) if found.elsewhere else _compiled(switched.smooth, where)


def _parameters(
    equations: Equations, given: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None, where: str
) -> tuple[dict[str, Array], Binding]:
    """Arrays of values in the order of the system; single numbers are checked as `simulate` checks them."""
    require_mapping(given or {}, "parameters are", where, SetArgument("parameters", {"m": [1.0, 2.0]}))
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
        hint = (InPython('{"x": [0, 1, 2]}'), ", or ", InPython('[{"x": 0}, {"x": 1}]'))
        raise UsageError(f"the starts are given as {type(starts).__name__}.", where=about(where, "starts"), hint=hint)
    for k, start in enumerate(starts):
        if not isinstance(start, State):
            require_mapping(start, f"start {k} is", where, InPython('[{"x": 0}, {"x": 1}]'))
    return [start if isinstance(start, State) else State(start) for start in starts]


def _stated_members(equations: Equations, start: State, parameters: Mapping[str, Array]) -> tuple[int, ...]:
    """Return the shape of the members from unambiguous arrays: parameters, numbers, and arrays that hold several elements."""
    shapes = [a.shape for a in parameters.values()]
    for key, v in [*start.fixed.items(), *start.guess.items()]:
        group = equations.system.groups.get(spell(str(key)))
        shapes.append(np.shape(v) if group is None else stated_members(group, v))
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:  # `read` raises where the columns are joined
        return ()


def _standing(equations: Equations, start: State, constants: Mapping[Symbol, float], where: str, members: tuple[int, ...] | None) -> State:
    """Return a start with the numbers of group elements, one element for all members or one for each.

    Without `members` a square array is one element.
    """

    def placed(values: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, v in values.items():
            group = equations.system.groups.get(spell(str(key)))
            if group is None:
                found[key] = v
                continue
            place = f"{where}, {key}"
            found |= {z.name: w for z, w in read_elements(group, v, constants, place, members).items()}
        return found

    return State(placed(start.fixed), placed(start.guess))


class _Columns:
    """One set of initial data with resolved names; values may be arrays."""

    def __init__(self, equations: Equations, binding: Binding, start: State, state: Sequence[Jet], where: str) -> None:
        values = [*start.fixed.values(), *start.guess.values()]
        names = [*start.fixed, *start.guess]

        def marked() -> Data:
            """`read_state` resolves the names; each value is represented by its index in the list."""
            numbered = iter(range(len(values)))
            marks = State({k: next(numbered) for k in start.fixed}, {k: next(numbered) for k in start.guess})
            return read_state(equations, marks, binding, where)

        usual = not equations.system.groups and all(type(name) is str for name in names)
        read = _NAMED.get(equations, (tuple(start.fixed), tuple(start.guess)), marked) if usual else marked()
        self.parameters = equations.system.parameters
        self.values = [self._value(v, f"{where}, {name}") for name, v in zip(names, values, strict=True)]
        loose = {z: int(k) for z, k in read.fixed.items() if isinstance(z, Multiplier) and z not in state}
        self.fixed = {z: int(k) for z, k in read.fixed.items() if z not in loose}
        self.guess = {z: int(k) for z, k in read.guess.items()} | loose  # multipliers outside the state are computed

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [v.shape for v in self.values if isinstance(v, np.ndarray)]

    def group(self, members: Indices, shape: tuple[int, ...], parameters: Array) -> Group:
        """The data of several members; texts may contain parameters."""
        size = len(members)
        columns = [np.array(_spread(v, shape, size)) if isinstance(v, np.ndarray) else self._computed(v, parameters) for v in self.values]
        return Group(members, {z: columns[k] for z, k in self.fixed.items()}, {z: columns[k] for z, k in self.guess.items()})

    def _computed(self, expression: Expr, parameters: Array) -> Array:
        graph = GraphAlgebra()
        function = graph.function("value", [graph.vector(self.parameters)], graph.of(expression))
        return mapped(function, parameters)[:, 0]

    def _value(self, given: Any, where: str) -> Array | Expr:
        if not isinstance(given, str | Expr):
            return _numbers(given, where, InitialError) if np.ndim(given) else np.array(_real(given, where))
        names = Vocabulary(parameters={z.name: z for z in self.parameters})
        expression = parse_expression(given, names, where) if isinstance(given, str) else from_sympy(given, names, where)
        if TIME in expression.free_symbols:
            raise InitialError(f"{given!r} depends on time.", where=where)
        return expression if expression.free_symbols else np.array(number(given, {}, where, InitialError))


def _grouped(listed: Sequence[State], given: Callable[[State], _Columns], parameters: Array, where: str) -> list[Group]:
    """Group starts that are given one by one, by their names and then by their texts."""
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


def _impossible(equations: Equations, parameters: Array, groups: Sequence[Group]) -> Notes:
    """Members with values that are not finite or, for a positive parameter, not positive."""
    notes: Notes = {}
    given = [column for group in groups for columns in (group.fixed, group.guess) for column in columns.values()]
    positive = (column for z, column in zip(equations.system.parameters, parameters.T, strict=True) if z.is_positive)
    if all(np.isfinite(column).all() for column in (parameters, *given)) and all((column > 0).all() for column in positive):
        return notes  # the usual case
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


def _spread(values: Array, shape: tuple[int, ...], size: int) -> Array:
    """Values for all members; not to be written to."""
    if values.shape == shape:
        return values.ravel()
    return np.full(size, values) if not values.ndim else np.broadcast_to(values, shape).ravel()


def _numbers(given: Any, where: str, kind: type[ChetaevError]) -> Array:
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise kind("the values are not an array of real numbers.", where=where, hint="numbers, all in one array") from None


def _real(given: Any, where: str) -> float:
    """Return a number; one that is not finite becomes a note of its member."""
    given = given.item() if isinstance(given, np.ndarray | np.generic) else given
    if isinstance(given, float) and not np.isfinite(given):
        return given
    return number(given, {}, where, InitialError)


def refusal(error: ChetaevError) -> tuple[Outcome, str]:
    """Return an error as the note of a member that did not start."""
    outcome = Outcome.DRIFT_EXCEEDED if isinstance(error, InitialError) else Outcome.LEFT_DOMAIN
    return outcome, "  ".join(filter(None, (error.what, error.why)))
