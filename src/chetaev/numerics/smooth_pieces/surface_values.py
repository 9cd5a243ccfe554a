r"""Switching functions at a state: their values, the sizes of their terms, and the side on which they leave zero.

The first of $s', s'', s'''$ along the flow of the configuration that is not zero (up to round-off of its own terms) decides to which side
$s$ leaves zero, so that continuous corners and tangencies need no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
from sympy import expand

from chetaev.core.errors import StateError
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Jet, jets_in, moved_by
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Mode, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.flow.compiled import Array, Compiled
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.smooth_pieces.momentum_jumps import has_jump
from chetaev.numerics.smooth_pieces.piece import ComponentState, Setting, setting
from chetaev.numerics.smooth_pieces.planar_rest import Resting

ROUND_OFF_OF_VALUES = 1e-11
"""Rates, multipliers, and differences of forces from their limits, below this relative to their terms, are zero. With a smaller number,
round-off would decide on a side."""
_ROUND_OFF_OF_ZERO = 1e-14
"""Switching function, relative to its terms, below which it is round-off of zero."""
_ROOT_ACCURACY = 2e-13
"""Accuracy of located roots, relative to the duration of the run: brackets are 1e-13 of a step wide. With a smaller number, a located root
does not count as one; with a larger one, switches that follow each other closely are merged.
"""
ORDERS = 3
"""Highest derivative of a switching function that is used to find the side on which it leaves zero. With contact of higher order it counts
as staying."""
ON_SURFACE = 1e-3
"""Switching function, relative to its terms and in units of the tolerance, below which it vanishes. With a larger number, switches that
follow each other closely are merged; with a smaller one, simultaneous switches are taken one after another, in the order of round-off."""
_OFF_SURFACE = 1e-8
"""Switching function, relative to its terms, above which the state is off the surface, so that the sign decides and not the derivatives."""
_EXCEEDED = 1e-6
"""Relative excess over its limit beyond which a force at the end of a piece is not explained by round-off."""

_DEPTH = 64 * float(np.finfo(float).eps)
"""Gap, relative to its terms, below which it is round-off of zero. With a smaller number a body that lifts off meets its contact again
immediately; with a larger one it could visibly sink into it."""
_TIMES_BEFORE = (1e-8, 1e-11)
"""Two times before a change of sign, relative to the duration of the run, at which the values of a function are compared. They are longer
than the accuracy of located roots; a root that is steeper than the first of them looks like a jump."""
_NOT_DECREASING = 0.5
"""Ratio of the later value to the earlier one above which the function does not tend to zero; it is 1e-3 for simple roots."""

_CONTINUOUS = 1e-3
"""Difference of the rates on the two sides of a surface, relative to the rates where the piece began, up to which they are continuous: cube
roots of round-off are 1e-5, and near a pole a force is much larger than usual."""

_TABLES: Remembered[tuple[Compiled, ca.Function]] = Remembered(64)
"""Switching functions with their slopes, beside the compiled equations whose identity is a part of the key."""

Jets = Callable[[Setting], Mapping[Jet, float]]
"""The state in a setting: the same in all settings, or completed from initial data by the constraints of each."""


@dataclass(frozen=True)
class Table:
    """All switching functions at a state."""

    values: Array
    sizes: Array
    """The sizes of their terms."""
    rate: Callable[[int], float]
    """The rate of one of them along the flow."""


@dataclass
class SurfaceValues:
    """Abstract: the switching functions of one run. Settings and functions are made once."""

    switched: Switched
    binding: Binding
    tolerance: float
    direction: float
    """+1 for a run forwards in time, -1 backwards."""
    span: float = 0.0
    """The duration of the run."""
    component: ComponentState | None = None
    """The start of the run, if random states do not lie on its component of the constraint set."""
    exact: bool = False
    """Whether rates and watched functions are computed in many digits."""
    _settings: dict[Configuration, Setting] = field(default_factory=dict)
    _functions: dict[Any, tuple[Setting, ca.Function]] = field(default_factory=dict)
    _largest: dict[int, float] = field(default_factory=dict)
    """The largest size of the terms of each switching function at the states so far."""
    _fastest: dict[tuple[int, int], float] = field(default_factory=dict)
    """The largest size of the terms of their derivatives, by index and order, to recognise round-off."""
    _jumps: dict[int, bool] = field(default_factory=dict)
    _alike: dict[tuple[int, int], bool] = field(default_factory=dict)
    _tables: dict[Any, tuple[Setting, ca.Function]] = field(default_factory=dict)
    _last: tuple[Any, Table] | None = None
    _latest: ComponentState | None = None
    """The last state at which switching functions were computed."""
    _rest: Resting | None = None
    _farthest: float = 0.0
    """The largest value of a jet at the states so far."""

    def setting(self, configuration: Configuration) -> Setting:
        """The compiled equations of a configuration."""
        if configuration not in self._settings:
            found = self._compiled(configuration)
            self._settings[configuration] = found.in_many_digits() if self.exact else found
        return self._settings[configuration]

    def _compiled(self, configuration: Configuration) -> Setting:
        """The equations of a configuration, compiled for the state where the motion started, or for the last state if they have no values
        at the start: exp(-abs(x)), continued beyond its corner, grows without bound.
        """
        try:
            return setting(self.switched, configuration, self.binding, self.component)
        except StateError:
            if self._latest is None:
                raise
            return setting(self.switched, configuration, self.binding, self._latest)

    def has_jump(self, k: int) -> bool:
        """Whether the Lagrangian or a momentum may jump with a mode."""
        if k not in self._jumps:
            self._jumps[k] = has_jump(self.switched, self.switched.modes[k])
        return self._jumps[k]

    @property
    def resting(self) -> Resting:
        """The speeds that count as rest in this run."""
        self._rest = self._rest or Resting(self.tolerance, self.span)
        return self._rest

    def watched(self, here: Setting, t: float, jets: Mapping[Jet, float]) -> Setting:
        """A setting for a piece from a state, with the speeds below which bodies are at rest."""
        here = self._with_depths(here, t, jets)
        modes = zip(self.switched.modes, here.configuration, strict=True)
        moving = [mode for mode, m in modes if isinstance(mode, Direction) and m != SLIDING]
        return self.resting.watched(here, t, jets, moving) if moving else here

    def _with_depths(self, here: Setting, t: float, jets: Mapping[Jet, float]) -> Setting:
        """The setting with depths for gaps that open from zero without speed, so that their round-off is not taken for another contact."""
        depths = {}
        for k in self.switched.contacts:
            value, size = self._number(here, k, 0, t, jets) if here.configuration[k] != SLIDING else (np.inf, 0.0)
            if abs(value) <= _DEPTH * size and self.speed(here, k, t, jets) == 0:
                depths[self.switched.modes[k].symbol] = 2 * _DEPTH * size
        return replace(here, binding=replace(here.binding, parameters={**here.binding.parameters, **depths})) if depths else here

    def jets(self, configuration: Configuration) -> tuple[Jet, ...]:
        """Return the jets of the state of a configuration without sliding."""
        return self.setting(tuple(m or 1 for m in configuration)).flow.state

    def values(self, here: Setting, t: float, jets: Mapping[Jet, float]) -> Array:
        """The switching functions at a state."""
        return self._table(here, t, jets).values

    def wrong_side(self, here: Setting, t: float, jets: Mapping[Jet, float], met: int | None = None) -> str | None:
        """Return a corner whose mode has the wrong sign at the state; None if all agree, as they must after a piece.

        The corner `met` that ended the piece is exempt: its root was located on the new side.
        """
        modes = [(k, (mode, m)) for k, (mode, m) in enumerate(zip(self.switched.modes, here.configuration, strict=True)) if k != met]
        values = self.values(here, t, jets)
        beyond = [k for k, (mode, m) in modes if not isinstance(mode, Direction) and m * values[k] < 0]
        beyond = [k for k in beyond if k not in self.vanishing(here, t, jets)]  # except at a located root
        held = [(k, self.switched.held(mode, here.configuration)) for k, (mode, m) in modes if m == SLIDING and not isinstance(mode, Touch)]
        forces = self.numbers(here, [e for _, e in held], t, jets) if held else ()
        beyond += [k for (k, _), force in zip(held, forces, strict=True) if abs(force) > 1 + _EXCEEDED]
        return self.switched.modes[beyond[0]].text if beyond else None

    def vanishing(self, here: Setting, t: float, jets: Mapping[Jet, float]) -> tuple[int, ...]:
        """Return the modes whose functions vanish at a state: up to `ON_SURFACE` times the tolerance, relative to their largest terms so
        far and to their change over the duration of the run.

        Functions of time alone are more accurate, and so is the order of two functions that differ by a constant: these vanish up to
        round-off and the accuracy of located roots.
        """
        found: list[int] = []
        exactly: set[int] = set()
        self._farthest = self._extent(jets)
        table = self._table(here, t, jets)
        for k, (mode, value, size) in enumerate(zip(self.switched.modes, table.values, table.sizes, strict=True)):
            self._largest[k] = size = max(size, self._largest.get(k, 0.0))
            if mode.constant or not np.isfinite(value):
                continue
            if isinstance(mode, Direction):
                found += [k] if value <= self.resting.level(mode) else []
                continue
            change = 0.0 if self.algebraic(here, k) else abs(table.rate(k)) * self.span
            change = change if np.isfinite(change) else 0.0
            least, near = (
                max(_ROUND_OFF_OF_ZERO * size, _ROOT_ACCURACY * change),
                max(ON_SURFACE * self.tolerance, _ROUND_OFF_OF_ZERO) * max(size, change),
            )
            exactly |= {k} if abs(value) <= least else set()
            if abs(value) <= max(least, 0.0 if mode.of_time else near):
                found.append(k)
        return tuple(k for k in found if k in exactly or not any(self._parallel(k, j) for j in found if j != k))

    def speed(self, here: Setting, k: int, t: float, jets: Mapping[Jet, float]) -> float:
        """The rate of a gap, forwards in time; zero up to round-off of its terms."""
        rate, size = self._number(here, k, 1, t, jets)
        self._fastest[k, 1] = size = max(size, self._fastest.get((k, 1), 0.0))
        return 0.0 if abs(rate) <= ROUND_OFF_OF_VALUES * size else rate * self.direction

    def acceleration(self, here: Setting, k: int, t: float, jets: Mapping[Jet, float]) -> float:
        """The second derivative of a gap along the flow."""
        return self._number(here, k, 2, t, jets)[0]

    def size_of(self, here: Setting, k: int, t: float, jets: Mapping[Jet, float]) -> float:
        """The size of the terms of a switching function at a state."""
        return self._number(here, k, 0, t, jets)[1]

    def largest(self, k: int) -> float:
        """The largest size of the terms of a switching function so far."""
        return self._largest.get(k, 0.0)

    def press(self, here: Setting, k: int, t: float, jets: Mapping[Jet, float]) -> tuple[float, float]:
        """The multiplier of a closed contact, and the size of its terms."""
        key = (id(here.compiled), self.switched.kind(here.configuration), k, -1)
        if key not in self._functions:
            self._functions[key] = here, _with_slopes(here.function([self.switched.modes[k].unknown]))
        return self._measured(here, key, t, jets)

    def _parallel(self, j: int, k: int) -> bool:
        """Tell whether two switching functions differ by a constant, up to a factor: then they never vanish together."""
        key = (min(j, k), max(j, k))
        if key not in self._alike:
            self._alike[key] = parallel(self.switched.modes[j], self.switched.modes[k])
        return self._alike[key]

    def _extent(self, jets: Mapping[Jet, float]) -> float:
        """The largest value of a jet, here or before."""
        return max([self._farthest, *map(abs, jets.values())])

    def leaves(self, configuration: Configuration, k: int, t: float, jets: Jets) -> int:
        """Return the side on which a switching function leaves zero along the flow of a configuration; 0 if it stays, up to `ORDERS`."""
        here = self.setting(configuration)
        state = jets(here)
        found = self._side(here, k, t, state)
        if found is None:  # a pivot may vanish at this state, or be a parameter that is zero
            found = self._side(here.suited(t, state), k, t, state)
        if found is None:
            raise StateError("not finite", where="")
        return found

    def _side(self, here: Setting, k: int, t: float, state: Mapping[Jet, float]) -> int | None:
        """The side on which a switching function leaves zero, with the pivots of a setting; None if a rate has no value."""
        if self.algebraic(here, k):  # such as sign(x''): its function need not vanish on one side of the surface
            value, size = self._number(here, k, 0, t, state)
            if abs(value) > _OFF_SURFACE * size:
                return int(np.sign(value))
        for order in range(1, ORDERS + 1):
            rate, size = self._number(here, k, order, t, state)
            if not np.isfinite(rate):
                return None
            self._fastest[k, order] = size = max(size, self._fastest.get((k, order), 0.0))
            if abs(rate) > ROUND_OFF_OF_VALUES * size:
                return int(np.sign(rate * self.direction**order))
        return 0

    def jumps_at(self, here: Setting, k: int, t: float, native: Array) -> bool:
        """Whether a switching function changed its sign at a state without a root: shortly before, it has the other sign and its size does
        not decrease towards the state.
        """
        if not self.switched.may_jump(self.switched.modes[k]):
            return False
        rates, before = here.compiled.rhs(t, native, here.parameters(t)), []
        for part in _TIMES_BEFORE:
            h = self.direction * max(part * self.span, part / _TIMES_BEFORE[-1] * 16 * float(np.spacing(abs(t))))
            before.append(self._number(here, k, 0, t - h, here.named(native - h * rates))[0])
        return bool(before[1] * here.configuration[k] > 0 and abs(before[1]) > _NOT_DECREASING * abs(before[0]))

    def algebraic(self, here: Setting, k: int) -> bool:
        """Whether a switching function depends on more than the state, and so on its own mode."""
        return not self.switched.modes[k].jets <= set(here.flow.state)

    def end_of_a_side(self, here: Setting, t: float, native: Array, first: Array) -> int | None:
        """Return the mode whose surface the motion has reached and whose side has no values beyond: that of a `piecewise` such as sqrt(x),
        or of a power such as abs(x)^(3/2), if the rates are the same on the other side. `first` is the state at the beginning of the piece.
        """
        chosen, modes, jets = self.switched.chosen, self.switched.modes, here.named(native)
        if not modes or not np.all(np.isfinite(native)):
            return None
        for k in self.vanishing(here, t, jets):
            m = here.configuration[k]
            try:
                leaving = m and self.leaves(here.configuration, k, t, lambda _: jets) == -m
                if leaving and (modes[k].symbol in chosen or self._continues(here, k, t, native, first)):
                    return k
            except StateError:
                continue
        return None

    def _continues(self, here: Setting, k: int, t: float, native: Array, first: Array) -> bool:
        """Whether the rates just beyond the surface of a mode equal those before it, relative to the rates where the piece began. Near a
        pole they are much larger.
        """
        later, beyond = self.just_beyond(here, k, t, native)
        there = self.setting(tuple(-m if j == k else m for j, m in enumerate(here.configuration)))
        if set(there.flow.state) != set(here.flow.state):
            return False
        n = len(here.flow.state)
        before = np.array(here.compiled.rhs(t, native, here.parameters(t)))[:n]
        after = np.array(there.compiled.rhs(later, there.native(beyond, 0.0), there.parameters(later)))[:n]
        usual = np.abs(here.compiled.rhs(t, first, here.parameters(t)))[:n]
        moved = dict(zip(there.flow.state, after, strict=True))
        off = [abs(moved[z] - v) for z, v in zip(here.flow.state, before, strict=True)]
        return bool(np.all(np.isfinite(off)) and np.max(off) <= _CONTINUOUS * np.max(usual))

    def just_beyond(self, here: Setting, k: int, t: float, native: Array) -> tuple[float, dict[Jet, float]]:
        """Time and state moved across the surface of a mode by a few units of round-off, so that the other side has a value there."""
        jets = here.named(native)
        (value, size), (rate, _) = (self._number(here, k, order, t, jets) for order in (0, 1))
        later = self.direction * max(2 * abs(value / rate), 4 * EPSILON * max(size / abs(rate), abs(t)))
        moved = native + later * here.compiled.rhs(t, native, here.parameters(t))
        if not np.all(np.isfinite(moved)):
            return t, jets
        return t + later, here.named(moved)

    def numbers(self, here: Setting, expressions: Sequence[Any], t: float, jets: Mapping[Jet, float]) -> Array:
        """Expressions at a state."""
        return here.numbers(here.function(expressions), t, here.native(jets, 0.0))

    def _table(self, here: Setting, t: float, jets: Mapping[Jet, float]) -> Table:
        """All switching functions at a state, with the sizes of their terms and their rates; the last one is cached."""
        if not self.switched.modes:
            return Table(np.zeros(0), np.zeros(0), lambda _: 0.0)
        native = here.native(jets, 0.0)
        key = (id(here.compiled), here.configuration, t, native.tobytes())
        if self._last is None or self._last[0] != key:
            self._last = key, self._new_table(here, t, native)
        return self._last[1]

    def _new_table(self, here: Setting, t: float, native: Array) -> Table:
        kind = (id(here.compiled), self.switched.kind(here.configuration))
        if kind not in self._tables:
            key = (*kind, Frozen(here.binding.inputs))
            self._tables[kind] = here, _TABLES.get(self.switched, key, lambda: (here.compiled, _values_and_slopes(here)))[1]
        p = here.parameters(t)
        found = np.array(self._tables[kind][1](t, native, p))
        values, slopes = found[:, 0], found[:, 1:]
        sizes = np.abs(slopes * np.concatenate([[t], native, p])).sum(axis=1)
        with np.errstate(invalid="ignore"):  # at a pole
            rates = slopes[:, 0] + slopes[:, 1 : 1 + len(native)] @ here.compiled.rhs(t, native, p)
        jets = here.named(native)
        self._latest = ComponentState(t, jets)
        if here.flow.inputs:  # inputs in p change with time
            return Table(values, sizes, lambda k: self._number(here, k, 1, t, jets)[0])
        return Table(values, sizes, lambda k: float(rates[k]))

    def _number(self, here: Setting, k: int, order: int, t: float, jets: Mapping[Jet, float]) -> tuple[float, float]:
        """A derivative of a switching function along the flow, and the size of its terms."""
        key = (id(here.compiled), self.switched.kind(here.configuration), k, order)
        if key not in self._functions:
            self._functions[key] = here, _rate_and_size(here, k, order)
        return self._measured(here, key, t, jets)

    def _measured(self, here: Setting, key: Any, t: float, jets: Mapping[Jet, float]) -> tuple[float, float]:
        """The value of a function at a state, and the size of its terms, from its slopes."""
        native = here.native(jets, 0.0)
        value, *slopes = here.numbers(self._functions[key][1], t, native)
        place = np.concatenate([[t], native, here.parameters(t)])
        return float(value), float(np.sum(np.abs(np.array(slopes) * place)))


def _values_and_slopes(here: Setting) -> ca.Function:
    """All switching functions, each in a row with its slopes by time, state and parameters."""
    switched = here.switched
    value = here.functions([switched.driven(mode.function, here.configuration) for mode in switched.modes])
    t, x, p = (ca.SX.sym(name, value.size1_in(i)) for i, name in enumerate("txp"))
    e = value(t, x, p)
    return ca.Function("values", [t, x, p], [ca.densify(ca.horzcat(e, ca.jacobian(e, ca.vertcat(t, x, p))))])


def _rate_and_size(here: Setting, k: int, order: int) -> ca.Function:
    """A derivative of a switching function, and its slopes by time, state and parameters."""
    switched, flow = here.switched, here.flow
    function = switched.driven(switched.modes[k].function, here.configuration)
    along = order == 1 and not flow.inputs  # on the graph, where derivatives of nested corners stay small
    value = here.function([function if along or not order else flow.system.equations.total(function, order)])
    t, x, p = (ca.SX.sym(name, value.size1_in(i)) for i, name in enumerate("txp"))
    e = value(t, x, p)
    if along:
        e = ca.jtimes(e, ca.vertcat(t, x), ca.vertcat(1, flow.rhs()(t, x, p)))
    return ca.Function("rate", [t, x, p], [ca.densify(ca.vertcat(e, ca.jacobian(e, ca.vertcat(t, x, p)).T))])


def _with_slopes(value: ca.Function) -> ca.Function:
    """A function with its slopes by time, state and parameters."""
    t, x, p = (ca.SX.sym(name, value.size1_in(i)) for i, name in enumerate("txp"))
    e = value(t, x, p)
    return ca.Function("sized", [t, x, p], [ca.densify(ca.vertcat(e, ca.jacobian(e, ca.vertcat(t, x, p)).T))])


def parallel(a: Mode, b: Mode) -> bool:
    """Whether the functions of two modes differ by a constant other than zero, up to a factor; tested for functions that are affine in a
    symbol.
    """
    for z in sorted(jets_in(a.function) | ({TIME} & a.function.free_symbols), key=lambda z: str(z.name)):
        slopes = a.function.diff(z), b.function.diff(z)
        if all(slope.is_number and slope != 0 for slope in slopes):
            difference = expand(slopes[1] * a.function - slopes[0] * b.function)
            return difference != 0 and not jets_in(difference) and TIME not in difference.free_symbols and not moved_by(difference)
    return False
