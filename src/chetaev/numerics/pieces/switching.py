r"""The motion on a switching surface: which side it takes, or whether it slides.

A configuration of modes is *consistent* at a state if every switching function that vanishes there leaves zero to the side of its mode, and
every sliding mode lies between -1 and 1 with the state on its surface. With one surface this is the test of Filippov: both sides lead to
$s > 0$, the motion crosses or stays above; both to $s < 0$; the side above leads down and the side below up, it slides; each side leads
away from the surface, it is not unique. Which way $s$ leaves zero is decided by the first of $s', s'', s'''$ along the flow of the
configuration that is not zero (up to round-off of its own terms), so that continuous corners and tangencies need no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
from sympy import expand

from chetaev.core.errors import StateError
from chetaev.core.symbols import TIME, Jet, jets_in, moved_by
from chetaev.numerics.corners.modes import SLIDING, Configuration, Direction, Mode, Switched, bends_momenta
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.pieces.momentum_jumps import has_jump
from chetaev.numerics.pieces.piece import Seat, Setting, setting
from chetaev.numerics.pieces.planar_rest import Resting

_ROUND_OFF = 1e-11
"""Relative to its terms: a smaller rate is zero. With a smaller number, round-off would decide on a side."""
_TINY = 1e-14
"""Relative to its terms: a switching function of this size is round-off of zero."""
_LOCATED = 2e-13
"""Accuracy of located roots, relative to the duration of the run: brackets are 1e-13 of a step wide. With a smaller number, a located root
does not count as one; with a larger one, switches that follow each other closely are merged.
"""
_ORDERS = 3
"""Highest derivative of a switching function that decides on which side it leaves zero. Contact of higher order counts as staying."""
_NEAR = 1e-3
"""Times the tolerance, relative to its terms: a smaller switching function vanishes. With a larger number, switches that follow each other
closely are merged; with a smaller one, simultaneous switches are taken one after another, in the order of round-off.
"""
_APART = 1e-8
"""Relative to its terms: a larger switching function is off its surface, so its sign and not its derivatives count."""
_LATER = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Times, relative to the duration of the run, after which a force at its limit is tested again for exceeding it."""
_LEFT = 1e-13
"""Relative difference from its limit beyond which a force has left the limit."""
_EXCEEDED = 1e-6
"""Relative excess over its limit beyond which a force at the end of a piece is not explained by round-off."""
_SAME = 1e-9
"""Relative difference of rates up to which two configurations move the state alike."""
_MOST, _MOST_COMPILED = 8, 6
"""Surfaces met at one moment of which all configurations are tried in which the motion leaves them, and the same where each configuration
is compiled by itself. 256 take two seconds; each further surface doubles that."""
_MOST_SLIDING = 3
"""Most surfaces for which sliding on any subset is tried: each of the 19 choices is compiled."""


TOO_LARGE = "the force that would keep the motion there is too large"


@dataclass(frozen=True)
class Choice:
    """The result of the test: consistent configurations, and the reason if there is none."""

    configurations: tuple[Configuration, ...]
    reason: str = ""
    decided: bool = True
    """Whether all configurations were tried, so that none means that there is none."""


Jets = Callable[[Setting], Mapping[Jet, float]]
"""The state in a setting: the same for all, or completed from initial data by the constraints of each."""


@dataclass(frozen=True)
class Table:
    """All switching functions at a state."""

    values: Array
    sizes: Array
    """The sizes of their terms."""
    rate: Callable[[int], float]
    """The rate of one of them along the flow."""


@dataclass
class Surfaces:
    """The switching surfaces of one run. Settings and functions are made once."""

    switched: Switched
    binding: Binding
    tolerance: float
    direction: float
    """+1 for a run forwards in time, -1 backwards."""
    span: float = 0.0
    """The duration of the run."""
    seat: Seat | None = None
    """The start of the run, if random states do not lie on its component of the constraint set."""
    _settings: dict[Configuration, Setting] = field(default_factory=dict)
    _functions: dict[tuple[int, int, int], tuple[Setting, ca.Function]] = field(default_factory=dict)
    _largest: dict[int, float] = field(default_factory=dict)
    """The largest size of the terms of each switching function at the states so far."""
    _fastest: dict[tuple[int, int], float] = field(default_factory=dict)
    """The same for their derivatives, to recognise round-off."""
    _jumps: dict[int, bool] = field(default_factory=dict)
    _alike: dict[tuple[int, int], bool] = field(default_factory=dict)
    _tables: dict[Any, tuple[Setting, ca.Function]] = field(default_factory=dict)
    _last: tuple[Any, Table] | None = None
    _rest: Resting | None = None
    _farthest: float = 0.0
    """The largest value of a jet at the states so far."""

    def setting(self, configuration: Configuration) -> Setting:
        """The compiled equations of a configuration."""
        if configuration not in self._settings:
            self._settings[configuration] = setting(self.switched, configuration, self.binding, self.seat)
        return self._settings[configuration]

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
        """A setting for a piece from a state, in which speeds that count as rest are known."""
        modes = zip(self.switched.modes, here.configuration, strict=True)
        moving = [mode for mode, m in modes if isinstance(mode, Direction) and m != SLIDING]
        return self.resting.watched(here, t, jets, moving) if moving else here

    def jets(self, configuration: Configuration) -> tuple[Jet, ...]:
        """Return the jets of the state of a configuration without sliding."""
        return self.setting(tuple(m or 1 for m in configuration)).flow.state

    def values(self, here: Setting, t: float, jets: Mapping[Jet, float]) -> Array:
        """The switching functions at a state."""
        return self._table(here, t, jets).values

    def wrong_side(self, here: Setting, t: float, jets: Mapping[Jet, float], met: int | None = None) -> str | None:
        """Return a corner for which the state lies on the other side than its mode; None if all agree, as they must after a piece.

        The corner `met` that ended the piece is exempt: its root was located on the new side.
        """
        modes = [(k, (mode, m)) for k, (mode, m) in enumerate(zip(self.switched.modes, here.configuration, strict=True)) if k != met]
        values = self.values(here, t, jets)
        beyond = [k for k, (mode, m) in modes if not isinstance(mode, Direction) and m * values[k] < 0]
        beyond = [k for k in beyond if k not in self.vanishing(here, t, jets)]  # except at a located root
        held = [(k, self.switched.held(mode)) for k, (mode, m) in modes if m == SLIDING]
        forces = self.numbers(here, [e for _, e in held], t, jets) if held else ()
        beyond += [k for (k, _), force in zip(held, forces, strict=True) if abs(force) > 1 + _EXCEEDED]
        return self.switched.modes[beyond[0]].text if beyond else None

    def vanishing(self, here: Setting, t: float, jets: Mapping[Jet, float]) -> tuple[int, ...]:
        """Return the modes whose functions vanish at a state: up to `_NEAR` times the tolerance, relative to their largest terms so far and
        to their change over the duration of the run.

        Functions of time alone are known more exactly, and so is the order of two functions that differ by a constant: these vanish up to
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
            least, near = max(_TINY * size, _LOCATED * change), max(_NEAR * self.tolerance, _TINY) * max(size, change)
            exactly |= {k} if abs(value) <= least else set()
            if abs(value) <= max(least, 0.0 if mode.of_time else near):
                found.append(k)
        return tuple(k for k in found if k in exactly or not any(self._parallel(k, j) for j in found if j != k))

    def _parallel(self, j: int, k: int) -> bool:
        """Tell whether two switching functions differ by a constant, up to a factor: then they never vanish together."""
        key = (min(j, k), max(j, k))
        if key not in self._alike:
            self._alike[key] = parallel(self.switched.modes[j], self.switched.modes[k])
        return self._alike[key]

    def _extent(self, jets: Mapping[Jet, float]) -> float:
        """The largest value of a jet, here or before."""
        return max([self._farthest, *map(abs, jets.values())])

    def choose(self, before: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> Choice:
        """Return the consistent configurations in which `open_modes` may change and the other modes stay."""
        still = [k for k in open_modes if isinstance(self.switched.modes[k], Direction)]
        if still:
            return self._rests(before, still, [k for k in open_modes if k not in still], t, jets)
        if len(open_modes) == 1:
            return self._one(before, open_modes[0], t, jets)
        if len(open_modes) > self._most:
            return self._followed(before, open_modes, t, jets)
        reasons: list[str] = []
        for slides in range(len(open_modes) + 1):  # sliding is compiled only if no motion leaves all surfaces
            if slides and len(open_modes) > _MOST_SLIDING:
                return self._many_held(before, open_modes, t, jets)
            found = []
            for values in product(*[((before[k] or 1), -(before[k] or 1), SLIDING) for k in open_modes]):
                if values.count(SLIDING) != slides:
                    continue
                configuration = _with(before, dict(zip(open_modes, values, strict=True)))
                reason = self._fault(configuration, open_modes, t, jets)
                if reason:
                    reasons.append(reason)
                else:
                    found.append(configuration)
            if len(found) > 1 and self._same_motion(found, t, jets):
                found = found[:1]
            if found:
                return Choice(tuple(found))
        return Choice((), next((r for r in reasons if r.endswith(".")), "no side is consistent."))

    @property
    def _most(self) -> int:
        """Surfaces of which all configurations are tried."""
        return _MOST_COMPILED if self.switched.by_itself else _MOST

    def go_on(self, changed: Configuration, met: Sequence[int], t: float, jets: Jets) -> Choice:
        """Return the configurations that continue the motion from a state in which some modes are met.

        Modes that hold the motion on their surfaces may also change, if a force jumps where another mode switches.
        """
        choice = self.choose(changed, met, t, jets) if met else Choice((changed,))
        if len(choice.configurations) > 1:
            return choice
        held = [k for k, m in enumerate(changed) if m == SLIDING and k not in met and not isinstance(self.switched.modes[k], Direction)]
        loose = [k for k in held if not choice.configurations or k in self.released(choice.configurations[0], t, jets)]
        return self.choose(changed, sorted({*met, *loose}), t, jets) if loose else choice

    def released(self, configuration: Configuration, t: float, jets: Jets) -> tuple[int, ...]:
        """The surfaces on which a configuration does not hold the motion."""
        slides = [k for k, m in enumerate(configuration) if m == SLIDING]
        if not slides:
            return ()
        fault = self.sliding_fault(configuration, t, jets)
        if not fault:
            return ()
        if fault != TOO_LARGE:
            return tuple(slides)
        here = self.setting(configuration)
        values = self.numbers(here, [self.switched.held(self.switched.modes[k]) for k in slides], t, jets(here))
        return tuple(k for k, v in zip(slides, values, strict=True) if not abs(v) <= 1 + _ROUND_OFF)

    def _many_held(self, before: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> Choice:
        """Find which of many surfaces hold the motion: first all, then without those whose force is too large, to the side it points to.

        Every one of them has to attract the motion from both sides, as dry friction does.
        """
        configuration = _with(before, dict.fromkeys(open_modes, SLIDING))
        for _ in open_modes:
            slides = [k for k in open_modes if configuration[k] == SLIDING]
            reason = self.sliding_fault(configuration, t, jets) if slides else ""
            if reason != TOO_LARGE:
                break
            here = self.setting(configuration)
            forces = self.numbers(here, [self.switched.held(self.switched.modes[k]) for k in slides], t, jets(here))
            configuration = _with(
                configuration, {k: int(np.sign(v)) for k, v in zip(slides, forces, strict=True) if abs(v) > 1 + _ROUND_OFF}
            )
        reason = reason or self._fault(configuration, open_modes, t, jets)
        sides = ((k, side) for k in slides for side in (1, -1))
        if not reason and all(self.leaves(_with(configuration, {k: side}), k, t, jets) == -side for k, side in sides):
            return Choice((configuration,))
        reason = f"{len(open_modes)} switching functions vanish together, and it is not known which of them hold the motion."
        return Choice((), reason, decided=False)

    def _rests(self, before: Configuration, still: Sequence[int], others: Sequence[int], t: float, jets: Jets) -> Choice:
        """Whether bodies under planar friction that have no speed stay at rest; if they do not, the reason is TOO_LARGE."""
        rest = _with(before, dict.fromkeys(still, SLIDING))
        if others:
            return self.choose(rest, others, t, jets)
        reason = self.sliding_fault(rest, t, jets)
        return Choice((), reason) if reason else Choice((rest,))

    def _followed(self, before: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> Choice:
        """Find the sides on which many functions leave zero, from two guesses: all modes as before, and all on the other side. For
        functions whose side depends on the modes of others, or on their own, all choices are tried; if no choice leaves, some surfaces
        hold the motion.
        """
        found: list[Configuration] = []
        for side in (1, -1):
            configuration = _with(before, {k: side * (before[k] or 1) for k in open_modes})
            for _ in range(2 * len(open_modes)):
                ways = {k: self.leaves(configuration, k, t, jets) for k in open_modes}
                wanted = _with(configuration, {k: way for k, way in ways.items() if way})
                if wanted == configuration:
                    found.append(configuration)
                    break
                configuration = wanted
        if not found:
            return self._many_held(before, open_modes, t, jets)
        if len(found) > 1 and not self._same_motion(found, t, jets):
            return Choice(tuple(found))
        swayed = sorted({k for configuration in found for k in self._swayed(configuration, open_modes, t, jets)})
        if len(swayed) > self._most:
            reason = f"{len(open_modes)} switching functions vanish together, and the sides of {len(swayed)} depend on each other."
            return Choice((), reason, decided=False)
        for sides in product((1, -1), repeat=len(swayed)):
            configuration = _with(found[0], dict(zip(swayed, sides, strict=True)))
            if configuration not in found and not self._fault(configuration, open_modes, t, jets):
                found.append(configuration)
        if len(found) > 1 and self._same_motion(found, t, jets):
            found = found[:1]
        return Choice(tuple(found))

    def _swayed(self, configuration: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> list[int]:
        """Return the functions whose side after zero may change if some modes change.

        Rates are affine in the modes except for products: the change by each mode alone, and by all together, bounds the total change.
        """
        flips = [_with(configuration, {j: -configuration[j] for j in some}) for some in (*((k,) for k in open_modes), open_modes)]
        found = [k for k in open_modes if self.algebraic(self.setting(configuration), k)]
        unknown = [k for k in open_modes if k not in found]
        for order in range(1, _ORDERS + 1):
            settings = [self.setting(other) for other in (configuration, *flips)]
            rates = np.array([[self._number(here, k, order, t, jets(here)) for k in unknown] for here in settings])
            own, sizes = rates[0, :, 0], rates[:, :, 1].max(axis=0)
            changes = np.abs(rates[1:, :, 0] - own)
            change = np.maximum(changes[:-1].sum(axis=0), changes[-1])
            still = (np.abs(own) <= _ROUND_OFF * sizes) & (change <= _ROUND_OFF * sizes)
            found += [k for k, rate, other, rests in zip(unknown, own, change, still, strict=True) if not (rests or abs(rate) > other)]
            unknown = [k for k, rests in zip(unknown, still, strict=True) if rests]
            if not unknown:
                break
        return found

    def _same_motion(self, configurations: Sequence[Configuration], t: float, jets: Jets) -> bool:
        """Tell whether configurations move the state alike: for a body held by two forces their shares of the load are undetermined."""
        rates = []
        for configuration in configurations:
            here = self.setting(configuration)
            native = here.native(jets(here), 0.0)
            found = here.compiled.rhs(t, native, here.parameters(t))[: len(here.flow.state)]
            rates.append(dict(zip(here.flow.state, found, strict=True)))
        names = [z for z in rates[0] if all(z in r for r in rates)]
        table = np.array([[r[z] for z in names] for r in rates])
        sizes = np.abs(table).max(axis=0)
        return bool(np.all(np.ptp(table, axis=0) <= np.maximum(_SAME * sizes, _ROUND_OFF * sizes.max(initial=0.0))))

    def _one(self, before: Configuration, k: int, t: float, jets: Jets) -> Choice:
        """The test for one surface, in which sliding is compiled only where it may happen."""
        sides = {m: _with(before, {k: m}) for m in (1, -1)}
        leaves = {m: self.leaves(sides[m], k, t, jets) for m in (1, -1)}
        if leaves[1] > 0 or leaves[-1] < 0:
            return Choice(tuple(sides[m] for m in (1, -1) if leaves[m] == m))
        if leaves[1] == leaves[-1] == 0:
            return Choice((sides[before[k]] if before[k] else sides[1],))
        slide = _with(before, {k: SLIDING})
        reason = self._fault(slide, (k,), t, jets)
        if not reason:
            return Choice((slide,))
        marginal = [m for m in (1, -1) if leaves[m] == 0]
        return Choice((sides[marginal[0]],)) if marginal else Choice((), reason)

    def _fault(self, configuration: Configuration, open_modes: Iterable[int], t: float, jets: Jets) -> str:
        """Return the reason why a configuration is not consistent; empty if it is."""
        leaving = [k for k in open_modes if configuration[k] != SLIDING]
        if leaving and SLIDING in configuration and (reason := self._unlike(configuration)):
            return reason
        try:
            ways = {k: self.leaves(configuration, k, t, jets) for k in leaving}
        except StateError:
            if SLIDING not in configuration:
                raise
            return "nothing holds the motion on the surface"  # such as friction with the coefficient zero
        if any(way not in (0, configuration[k]) for k, way in ways.items()):
            return "the motion leads to the other side"
        if SLIDING not in configuration:
            return ""
        return self.sliding_fault(configuration, t, jets)

    def _unlike(self, configuration: Configuration) -> str:
        """Return the reason why a state off some surfaces is not a state of motion on them; empty if it is."""
        names = ", ".join(f"{mode.text} = 0" for mode, m in zip(self.switched.modes, configuration, strict=True) if m == SLIDING)
        try:
            slides = self.setting(configuration).flow.state
        except StateError:
            return f"the equations do not determine the motion while {names}."
        if set(slides) != set(self.jets(configuration)):
            return f"motion with {names} has other initial values than motion off it."
        return ""

    def sliding_fault(self, configuration: Configuration, t: float, jets: Jets) -> str:
        """Return the reason why the motion cannot slide in a configuration; empty if it can."""
        slides = [k for k, m in enumerate(configuration) if m == SLIDING]
        names = ", ".join(f"{self.switched.modes[k].text} = 0" for k in slides)
        modes = [self.switched.modes[k] for k in slides]
        if bends_momenta(self.switched.smooth, modes):
            return f"a momentum contains the sign of {modes[0].text}, and nothing says how it changes while {names}."
        try:
            here = self.setting(configuration)
            state = jets(here)
        except StateError:
            return f"the equations do not determine the motion while {names}."
        reason = self._unlike(configuration)
        if reason:
            return reason
        if {unknown.name for mode in modes for unknown in mode.unknowns} & set(here.flow.system.undetermined):
            return f"the forces that keep {names} are not unique."
        values = self.numbers(here, [self.switched.held(mode) for mode in modes], t, state)
        rows = here.compiled.measure(t, here.native(state, 0.0), here.parameters(t))
        held = {label: row.surface for label, row in here.flow.system.equations.system.kinematic_rows() if row.surface}
        places = {self.switched.modes[k].text: k for k in slides}
        off = [
            abs(r) > 10 * self.tolerance * self._usual(places.get(held[base]), len(label) - len(base), state)
            for r, label in zip(rows, here.compiled.labels, strict=False)
            if (base := label.rstrip("'")) in held
        ]
        if not np.all(np.isfinite(values)) or any(off):
            return "the motion crosses the surface"
        return "" if np.all(np.abs(self._later(here, modes, t, state, values)) <= 1 + _ROUND_OFF) else TOO_LARGE

    def _usual(self, k: int | None, order: int, state: Mapping[Jet, float]) -> float:
        """What a derivative of a switching function usually is: the sizes of its terms, and what it changes by in the run with the rates
        seen on the two sides of its surface. Other jets have other units; they are asked only where nothing else is known.
        """
        seen = [] if k is None else [self._fastest.get((k, order), 0.0), self._fastest.get((k, order + 1), 0.0) * abs(self.span)]
        return max(seen, default=0.0) or self._extent(state)

    def _later(self, here: Setting, modes: Sequence[Mode], t: float, jets: Mapping[Jet, float], values: Array) -> Array:
        """Return the forces that hold the motion on its surfaces, with infinity for those at their limit that exceed it shortly after.

        The test is repeated after each time of `_LATER` until they have left the limit, because they may leave it with any order.
        """
        found = np.abs(values)
        native, limit = here.native(jets, 0.0), np.abs(found - 1) <= _ROUND_OFF
        if not limit.any() or not self.span:
            return found
        function = here.function([self.switched.held(mode) for mode in modes])
        for part in _LATER:
            step = self.direction * part * self.span
            ahead = np.abs(here.numbers(function, t + step, self._moved(here, t, native, step)))
            left = limit & (np.abs(ahead - 1) > _LEFT)
            found[left & (ahead > 1)] = np.inf
            limit &= ~left
        return found

    def _moved(self, here: Setting, t: float, native: Array, h: float) -> Array:
        """The state a short time later, by one step of Runge and Kutta."""

        def rates(at: float, y: Array) -> Array:
            return np.array(here.compiled.rhs(at, y, here.parameters(at)))

        first = rates(t, native)
        second = rates(t + h / 2, native + h / 2 * first)
        third = rates(t + h / 2, native + h / 2 * second)
        fourth = rates(t + h, native + h * third)
        return native + h / 6 * (first + 2 * second + 2 * third + fourth)

    def leaves(self, configuration: Configuration, k: int, t: float, jets: Jets) -> int:
        """Return the side on which a switching function leaves zero along the flow of a configuration; 0 if it stays, up to `_ORDERS`."""
        here = self.setting(configuration)
        state = jets(here)
        if self.algebraic(here, k):  # such as sign(x''): it may not vanish at all on one side of the surface
            value, size = self._number(here, k, 0, t, state)
            if abs(value) > _APART * size:
                return int(np.sign(value))
        for order in range(1, _ORDERS + 1):
            rate, size = self._number(here, k, order, t, state)
            if not np.isfinite(rate):
                raise StateError("not finite", where="")
            self._fastest[k, order] = size = max(size, self._fastest.get((k, order), 0.0))
            if abs(rate) > _ROUND_OFF * size:
                return int(np.sign(rate * self.direction**order))
        return 0

    def algebraic(self, here: Setting, k: int) -> bool:
        """Whether a switching function depends on more than the state, and so on its own mode."""
        return not self.switched.modes[k].jets <= set(here.flow.state)

    def end_of_a_side(self, here: Setting, t: float, native: Array) -> int | None:
        """Return the mode of a `piecewise` whose surface the motion has reached and whose side has no values beyond, as sqrt(x)."""
        chosen, modes, jets = self.switched.chosen, self.switched.modes, here.named(native)
        if not chosen or not np.all(np.isfinite(native)):
            return None
        for k in self.vanishing(here, t, jets):
            m = here.configuration[k]
            try:
                if m and modes[k].symbol in chosen and self.leaves(here.configuration, k, t, lambda _: jets) == -m:
                    return k
            except StateError:
                continue
        return None

    def just_beyond(self, here: Setting, k: int, t: float, native: Array) -> tuple[float, dict[Jet, float]]:
        """Time and state moved over the surface of a mode, by round-off, so that the other side has a value there."""
        jets = here.named(native)
        value, rate = (self._number(here, k, order, t, jets)[0] for order in (0, 1))
        later = self.direction * 2 * abs(value / rate)
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
        kind = (id(here.compiled), tuple(m == SLIDING for m in here.configuration))
        if kind not in self._tables:
            self._tables[kind] = here, _values_and_slopes(here)
        p = here.parameters(t)
        found = np.array(self._tables[kind][1](t, native, p))
        values, slopes = found[:, 0], found[:, 1:]
        sizes = np.abs(slopes * np.concatenate([[t], native, p])).sum(axis=1)
        rates = slopes[:, 0] + slopes[:, 1 : 1 + len(native)] @ here.compiled.rhs(t, native, p)
        jets = here.named(native)
        if here.flow.inputs:  # which change with time in p
            return Table(values, sizes, lambda k: self._number(here, k, 1, t, jets)[0])
        return Table(values, sizes, lambda k: float(rates[k]))

    def _number(self, here: Setting, k: int, order: int, t: float, jets: Mapping[Jet, float]) -> tuple[float, float]:
        """A derivative of a switching function along the flow, and the size of its terms."""
        key = (id(here.compiled), k, order)
        if key not in self._functions:
            self._functions[key] = here, _rate_and_size(here, k, order)
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
    along = order == 1 and not flow.inputs  # on the graph, where a derivative does not grow with the nesting of corners
    value = here.function([function if along or not order else flow.system.equations.total(function, order)])
    t, x, p = (ca.SX.sym(name, value.size1_in(i)) for i, name in enumerate("txp"))
    e = value(t, x, p)
    if along:
        e = ca.jtimes(e, ca.vertcat(t, x), ca.vertcat(1, flow.rhs()(t, x, p)))
    return ca.Function("rate", [t, x, p], [ca.densify(ca.vertcat(e, ca.jacobian(e, ca.vertcat(t, x, p)).T))])


def parallel(a: Mode, b: Mode) -> bool:
    """Whether the functions of two modes differ by a constant that is not zero, up to a factor; found for those affine in a symbol."""
    for z in sorted(jets_in(a.function) | ({TIME} & a.function.free_symbols), key=lambda z: str(z.name)):
        slopes = a.function.diff(z), b.function.diff(z)
        if all(slope.is_number and slope != 0 for slope in slopes):
            difference = expand(slopes[1] * a.function - slopes[0] * b.function)
            return difference != 0 and not jets_in(difference) and TIME not in difference.free_symbols and not moved_by(difference)
    return False


def _with(configuration: Configuration, changes: Mapping[int, int]) -> Configuration:
    return tuple(changes.get(k, m) for k, m in enumerate(configuration))
