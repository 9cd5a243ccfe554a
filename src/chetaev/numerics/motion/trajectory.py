"""A trajectory: the result of a simulation, under the names of the system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import Expr

from chetaev.core.certificate import Certificate
from chetaev.core.errors import UsageError
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.notation import parse_expression
from chetaev.core.scene import Scene
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.numerics.start.group_columns import GroupColumns

if TYPE_CHECKING:
    from chetaev.numerics.motion.reader import Reader

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_MOST_LINES = 20
"""Events, switches and rows that a printed motion lists."""
_SIDE_AFTER_SWITCH = {1: "above", -1: "below", 0: "stays zero"}
"""The side on which a switching function is after a switch, in words."""


class Outcome(StrEnum):
    """Why a simulation ended."""

    FINISHED = "finished"
    EVENT = "event"
    LEFT_DOMAIN = "left_domain"
    STEP_TOO_SMALL = "step_too_small"
    DRIFT_EXCEEDED = "drift_exceeded"
    NOT_CERTIFIED = "not_certified"
    INTERRUPTED = "interrupted"

    @property
    def reached_end(self) -> bool:
        """Whether the motion reached the end of its interval, or an event that ends it."""
        return self in (Outcome.FINISHED, Outcome.EVENT)


@dataclass(frozen=True)
class Event:
    """A root of an expression that was met on the way."""

    text: str
    t: float
    state: Frozen[str, float]


@dataclass(frozen=True)
class Switch:
    """A switching surface that was met: the mode of its function before and after, +1 or -1, and 0 while the motion slides on it."""

    text: str
    t: float
    before: int
    after: int


def _no_texts() -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (), ()


@dataclass(frozen=True, eq=False, repr=False)
class Enclosed:
    """The functions that were enclosed by bounds over the tube of every step, between the points that the steps evaluated."""

    worst: float = 1.0
    """The largest ratio of a node's slope (of a growing function: value) anywhere in a step to its size at the evaluated points."""
    shortened: int = 0
    """The number of trial steps that could have missed a feature and were repeated with a shorter length."""
    texts: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]] = _no_texts
    """Writes `nodes` and `left_out`, on demand: a hundred bodies have 4,950 distances, which take seconds to write."""

    @cached_property
    def _texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.texts()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The functions, quotients and powers in the data that could have a feature between two points, in the notation."""
        return self._texts[0]

    @property
    def left_out(self) -> tuple[str, ...]:
        """Those that were not enclosed, because they contain unknowns outside the state."""
        return self._texts[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Enclosed):
            return NotImplemented
        return (self.worst, self.shortened, *self._texts) == (other.worst, other.shortened, *other._texts)

    def __hash__(self) -> int:
        return hash((self.worst, self.shortened))

    def __repr__(self) -> str:
        return f"Enclosed(nodes={self.nodes!r}, left_out={self.left_out!r}, worst={self.worst!r}, shortened={self.shortened!r})"


@public
@dataclass(frozen=True, repr=False, eq=False)
class Trajectory(GroupColumns):
    """Nodes, states and everything that follows from them.

    `motion["x'"]`, `motion["lambda1"]` and `motion["m*x'^2/2"]` are arrays over `motion.t`; `motion.at(t)` is the same at any times.
    Where an event resets the state, or a switching surface is met, the time occurs twice in `motion.t`: with the values before, then with
    those after. `motion.at` gives the values after.
    """

    equations: Equations
    """The equations of the motion."""
    t: Array
    """The stored times."""
    states: Array
    """The states at these times, one row each."""
    end: tuple[float, Array]
    """The time and the state at which the motion ended, stored or not."""
    jets: tuple[Jet, ...]
    """The jets of a state, in the order of the columns of `states`."""
    outcome: Outcome
    """Why the motion ended."""
    message: str
    """The reason in a sentence, if the motion ended early."""
    drift: Frozen[str, float]
    """The largest residual of every constraint, hidden ones too, and of the energy balance, over all accepted steps, each relative to the
    largest sum of the absolute values of its terms (`scales`)."""
    extrema: Frozen[str, tuple[float, float]]
    """The smallest and the largest value of every jet of the state."""
    events: tuple[Event, ...]
    """The events that occurred."""
    counts: Frozen[str, int]
    """The numbers of accepted and rejected steps, evaluations, projections and shortened steps."""
    reader: Reader = field(compare=False)
    """The evaluator of expressions along the motion."""
    tolerance: float = np.nan
    """The relative tolerance of the run."""
    switches: tuple[Switch, ...] = ()
    """The switching surfaces of sign, abs, min and max that were met."""
    pieces: Integers | None = field(default=None, compare=False)
    """Which smooth piece of the motion each node belongs to."""
    enclosed: Enclosed = Enclosed()
    """Bounds of functions between the points that the steps evaluated."""
    scales: Frozen[str, float] = field(default_factory=lambda: Frozen({}))
    """The scales of `drift` and `balance`: the largest sum of the absolute values of the terms of each row, and of the energy."""
    certificate: Certificate = field(default_factory=Certificate)
    """The result of the checks of the motion."""
    asked: Any = field(default=None, compare=False, repr=False)
    """The arguments of `simulate` (`chetaev.numerics.motion.settings.Asked`); None for motions made by hand."""
    scene: Scene | None = field(default=None, compare=False, repr=False)
    """The scene of the model that was simulated."""
    slopes: Any = field(default=None, compare=False, repr=False)
    """The derivatives of the motion (`chetaev.numerics.slopes.motion_slopes.Slopes`), if they were asked for."""

    def __getitem__(self, name: str) -> Array:
        return self._column(name, self.t, self.states, self.pieces)

    @property
    def _of(self) -> Equations:
        return self.equations

    def at(self, t: ArrayLike) -> Section:
        """The motion at any times within it, interpolated at the method's order and projected onto the constraints.

        Args:
            t: A time, or a row of times, within the motion.

        Raises:
            UsageError: If `t` is neither a time nor a row of times, if it lies outside the motion, or if only single times were kept.
        """
        try:
            times = np.atleast_1d(np.asarray(t, dtype=float))
        except (TypeError, ValueError):
            times = np.empty((0, 0))
        if times.ndim != 1:
            where = f"motion of {self.equations.system.label}"
            raise UsageError(
                f"{t!r} is neither a time nor a row of times.",
                where=where,
                hint=(InPython("motion.at(0.5)"), ", ", InPython("motion.at([0, 0.5])")),
            )
        return Section(self, times, self.reader.states_at(times), scalar=np.ndim(t) == 0)

    def slope(self, name: str, by: str) -> Array:
        """The derivative of a jet, a multiplier, `"energy"` or an expression by one of the `slopes` of `simulate`, at the stored times.

        The times are kept fixed. Explicit dependence on a parameter counts: the slope of `"l*lambda1"` by l contains lambda1.

        Args:
            name: A jet, a multiplier, `"energy"` or an expression.
            by: One of the `slopes` of `simulate`.

        Raises:
            UsageError: If the motion has no slopes, or if `by` is not one of them.
            NotationError: If `name` is not an expression in the names of the system.
        """
        slopes, e, k = self._differentiated(name, by)
        found: Array = slopes.along(e, k, self.t, self.states, self._which)
        return found

    @property
    def _which(self) -> Integers:
        return np.zeros(len(self.t), np.int64) if self.pieces is None else self.pieces

    def _differentiated(self, name: str, by: str) -> tuple[Any, Expr | None, int]:
        """The slopes, an expression (None for the energy), and the place of a direction."""
        where = f"motion of {self.equations.system.label}"
        if self.slopes is None:
            raise UsageError("the motion has no slopes.", where=where, hint=SetArgument("slopes", [by], "ch.simulate"))
        k = self.slopes.directions.index(by, where)
        for z in self.jets:
            if z.name == name:
                return self.slopes, z, k
        if name == "energy" and name not in self.equations.vocabulary.names():
            return self.slopes, None, k
        return self.slopes, parse_expression(name, self.equations.vocabulary, where), k

    @property
    def method(self) -> Any:
        """The method that was used."""
        return None if self.asked is None else self.asked.method

    @cached_property
    def final(self) -> Section:
        """The end of the motion; a valid start for another."""
        t, state = self.end
        last = None if self.pieces is None else self.pieces[-1:]
        return Section(self, np.array([t]), state[None, :], scalar=True, pieces=last, last=True)

    @cached_property
    def energy(self) -> Array:
        """The energy of the lowered Lagrangian at the nodes; a UsageError for a dynamical form, which has none."""
        if self.equations.system.equations:
            raise UsageError(
                "there is no energy.",
                where=f"motion of {self.equations.system.label}",
                why="The equations are those of a dynamical form, which need not come from a Lagrangian.",
                hint=(
                    InPython("motion[...]"),
                    " gives any expression; ",
                    Ask("helmholtz", "form"),
                    " finds a Lagrangian where there is one",
                ),
            )
        found: Array = self.reader.energy(self.t, self.states, self.pieces)[0]
        return found

    @cached_property
    def balance(self) -> Array:
        """The error of the energy balance at the nodes, relative to the largest sum of terms of the energy over the motion."""
        scale = self.scales.get("balance", 1.0)
        return self.balance_absolute / scale if scale > 0 else self.balance_absolute

    @cached_property
    def balance_absolute(self) -> Array:
        """E(t) - E(t0) minus the work done, that of resets included: zero for an exact motion."""
        _ = self.energy  # raises where there is none
        energy, work = self.reader.energy(self.t, self.states, self.pieces)
        found: Array = energy - energy[0] - (work - work[0])
        return found

    @property
    def drift_absolute(self) -> Frozen[str, float]:
        """The largest residuals in the units of their rows."""
        return Frozen({label: size * self.scales.get(label, 1.0) for label, size in self.drift.items()})

    def reaction(self, coordinate: str) -> Array:
        """The generalised reaction on a coordinate, at the nodes.

        Args:
            coordinate: The name of a coordinate.

        Raises:
            ModelError: If the system has no such coordinate.
        """
        return self.reader.driven(self.equations.reaction(coordinate), self.t, self.states, self.pieces)

    def mode(self, function: str) -> Array:
        """Return the mode of a switching function at the nodes: its sign, or where the motion slides the value that keeps it there.

        Dry friction `-mu*sign(x')` is `-mu*motion.mode("x'")`, at rest too, while `motion["sign(x')"]` is 0 there.

        Args:
            function: The argument of a corner function, as the system states it: `"x'"` for `sign(x')`.

        Raises:
            UsageError: If `function` is no switching function of the motion.
            NotationError: If `function` is not an expression in the names of the system.
        """
        s = parse_expression(function, self.equations.vocabulary, f"motion of {self.equations.system.label}")
        return self.reader.mode(s, self.t, self.states, self.pieces)

    def verify(self, points: int = 200) -> Any:
        """Return a certificate that is independent of the solver: the motion inserted into the original rows.

        Args:
            points: The smallest number of random times; there is at least one in every step.

        Raises:
            UsageError: If `points` is not a positive integer, or if the motion is a single state.
        """
        from chetaev.numerics.motion.verification.verify import verify

        return verify(self, points)

    def save(self, path: Any, points: int | None = None) -> Any:
        """Write the motion: `.npz` with its model, for `ch.load`; `.csv`, `.nc`, `.mat` or `.parquet` as a table, at every step or `points`
        evenly spaced times.

        Args:
            path: The path of the file; its ending decides the format.
            points: The number of evenly spaced times in a table; every step if it is None.

        Raises:
            UsageError: If the ending of `path` is not one of these.
            ModelError: If the file cannot be written.
        """
        from chetaev.numerics.motion.storage import save

        return save(self, path, points)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the bytes that `save` writes; the equations are compiled again on loading."""
        from chetaev.numerics.motion.storage import packed, unpacked

        return unpacked, (packed(self),)

    def to_pandas(self) -> Any:
        """A data frame over time with all jets and multipliers."""
        from chetaev.numerics.motion.storage import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> Any:
        """A data set over time with all jets and multipliers."""
        from chetaev.numerics.motion.storage import to_xarray

        return to_xarray(self)

    def _column(self, name: str, times: Array, states: Array, pieces: Integers | None) -> Array:
        for k, z in enumerate(self.jets):
            if z.name == name:
                return states[:, k]
        where = f"motion of {self.equations.system.label}"
        return self.reader.values(parse_expression(name, self.equations.vocabulary, where), times, states, pieces)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from chetaev.numerics.motion.display import motion_html

        return motion_html(self)

    def __str__(self) -> str:
        steps = self.counts["accepted"]
        lines = [f"{self.equations.system.name or 'system'} · {self.equations.principle}"]
        lines.append(f"  {self.outcome}: {self.message}")
        lines.append(f"  up to t = {self.end[0]:g} in {steps} steps, {len(self.t)} points stored")
        shown, others, size = largest_residuals(self.drift, _MOST_LINES)
        width = max(map(len, shown), default=0)
        lines += [f"  {label:<{width}}  at most {self.drift[label]:.1e}" for label in shown]
        lines += [f"  and {others} more rows, at most {size:.1e}"] if others else []
        if not self.certificate.ok:
            lines += [f"  {line}" for line in str(self.certificate).splitlines()]
        lines += _first([f"  event {event.text} = 0 at t = {event.t:.12g}" for event in self.events], "events")
        lines += _first([f"  {s.text} = 0 at t = {s.t:.12g}: {_SIDE_AFTER_SWITCH[s.after]}" for s in self.switches], "switches")
        return "\n".join(lines)


_LATE = ("drift", "extrema", "counts", "reader", "enclosed", "scales", "certificate")
"""Records that a short motion computes when one of them is read."""


class _Late:
    """One of these records: a value that is stored in the motion hides it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, motion: Trajectory | None, kind: type[Trajectory]) -> Any:
        if motion is None:
            return self
        records = motion.__dict__.get("_records")
        if records is None:
            raise AttributeError(self._name)
        whole = records()
        for name in _LATE:
            motion.__dict__.setdefault(name, getattr(whole, name))
        return motion.__dict__[self._name]


for _name in _LATE:
    setattr(Trajectory, _name, _Late(_name))


def with_late_records(records: Callable[[], Trajectory], **known: Any) -> Trajectory:
    """A motion whose other fields are those of what `records` returns, which is called when one of them is read."""
    found = Trajectory(**known, **dict.fromkeys(_LATE))  # type: ignore[arg-type]
    for name in _LATE:
        del found.__dict__[name]
    found.__dict__["_records"] = records
    return found


def asked_for(motion: Trajectory, equations: Equations, asked: Any, scene: Scene | None) -> Trajectory:
    """The motion with what was asked for, which leaves other records for later."""
    found: Trajectory = object.__new__(Trajectory)
    found.__dict__.update(motion.__dict__, equations=equations, asked=asked, scene=scene)
    return found


def largest_residuals(drift: Mapping[str, float], most: int) -> tuple[list[str], int, float]:
    """The labels of the balance and of at most `most` rows, those that are least satisfied, in the order of the system; the number of the
    others, and the largest residual among them.
    """
    rows = sorted(
        (label for label in drift if label != "balance"), key=lambda label: -drift[label] if drift[label] == drift[label] else -inf
    )
    others = rows[most:]
    hidden = set(others)
    return [label for label in drift if label not in hidden], len(others), drift[others[0]] if others else 0.0


def _first(lines: list[str], noun: str) -> list[str]:
    """Truncate to `_MOST_LINES` lines, and say how many follow."""
    return lines if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], f"  and {len(lines) - _MOST_LINES} more {noun}"]


@public
@dataclass(frozen=True, repr=False)
class Section(Mapping[str, Any], GroupColumns):
    """A motion at some times: a mapping over the state that reads any expression."""

    motion: Trajectory
    t: Array
    states: Array
    scalar: bool
    pieces: Integers | None = None
    last: bool = False
    """Whether this is the end of the motion."""

    def slope(self, name: str, by: str) -> Any:
        """The derivative of a jet, a multiplier, `"energy"` or an expression by one of the `slopes` of `simulate`.

        Times are kept fixed, except at the end of a motion that an event ended: there the time moves with the event, and `slope("t", by)`
        is the derivative of its time.
        """
        slopes, e, k = self.motion._differentiated(name, by)
        if self.last:
            return float(slopes.at_the_end(e, k))
        column = slopes.between(e, k, self.t, self.states, self._which)
        return float(column[0]) if self.scalar else column

    def all_slopes(self, name: str) -> Array:
        """The derivatives of a quantity by all `slopes` of the motion, in their order: a line for each time."""
        slopes, e, _ = self.motion._differentiated(name, self.motion.slopes.directions.names[0])
        found: Array = slopes.all_between(e, self.t, self.states, self._which)
        return found

    @property
    def _which(self) -> Integers:
        return self.motion.reader.pieces_at(self.t) if self.pieces is None else self.pieces

    def __getitem__(self, name: str) -> Any:
        column = self.motion._column(name, self.t, self.states, self.pieces)
        return float(column[0]) if self.scalar else column

    @property
    def _of(self) -> Equations:
        return self.motion.equations

    def __iter__(self) -> Iterator[str]:
        return (z.name for z in self.motion.jets)

    def __contains__(self, name: object) -> bool:
        return any(z.name == name for z in self.motion.jets)

    def __len__(self) -> int:
        return len(self.motion.jets)

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {self[name]}" for name in self)
