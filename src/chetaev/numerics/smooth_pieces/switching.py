r"""The motion on a switching surface: which side it takes, or whether it slides.

A configuration of modes is *consistent* at a state if every switching function that vanishes there leaves zero to the side of its mode, and
every sliding mode lies between -1 and 1 with the state on its surface. With one surface this is the test of Filippov: if both sides lead to
$s > 0$, the motion crosses or stays above, and likewise below for $s < 0$; if the side above leads down and the side below up, it slides;
if each side leads away from the surface, it is not unique. `surface_values` finds the side to which $s$ leaves zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from chetaev.core.errors import StateError
from chetaev.core.symbols import Jet, Multiplier
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Mode
from chetaev.numerics.corners.sliding import bends_momenta
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.smooth_pieces.piece import Setting
from chetaev.numerics.smooth_pieces.surface_values import ORDERS, ROUND_OFF_OF_VALUES, Jets, SurfaceValues

_LATER_TIMES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Times, relative to the duration of the run, after which a force at its limit is tested again."""
_LEFT_LIMIT = 1e-13
"""Difference of a force from its limit, relative to the limit, above which it has left the limit."""
_SAME_RATES = 1e-9
"""Relative difference of rates up to which two configurations give the same motion."""
_MOST_SURFACES, _MOST_SURFACES_COMPILED = 8, 6
"""Most surfaces met at one moment for which all configurations that leave them are tried, and the limit if each configuration is compiled
separately. 256 configurations take two seconds; each further surface doubles that."""
_MOST_SLIDING = 3
"""Most surfaces for which sliding on any subset is tried: each of the 19 choices is compiled."""

TOO_LARGE = "the force that would keep the motion there is too large"
_CROSSES = "the motion crosses the surface"
_OTHER_SIDE = "the motion leads to the other side"
_NOT_HELD = "nothing holds the motion on the surface"
_PULLS = "the contact would have to pull"
_ORDINARY = (TOO_LARGE, _CROSSES, _OTHER_SIDE, _NOT_HELD, _PULLS)
"""Reasons that exclude one configuration but not others."""


@dataclass(frozen=True)
class Choice:
    """The result of the test: consistent configurations, and the reason if there is none."""

    configurations: tuple[Configuration, ...]
    reason: str = ""
    decided: bool = True
    """Whether all configurations were tried, so that an empty result means that none is consistent."""


@dataclass
class Surfaces(SurfaceValues):
    """The switching surfaces of one run, and the choice of a configuration where the motion meets them."""

    def driven_by(self, binding: Binding) -> Surfaces:
        """A copy with other inputs, which keeps the largest sizes of the functions so far."""
        fresh = Surfaces(self.switched, binding, self.tolerance, self.direction, self.span, self.component, self.exact)
        return replace(fresh, _largest=self._largest, _fastest=self._fastest)

    def choose(self, before: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> Choice:
        """Return the consistent configurations in which `open_modes` may change and the other modes stay.

        Signs of multipliers are open whenever a mode changes: a multiplier depends on all modes, and jumps with them. If too many signs are
        open for all choices to be tried, those of multipliers stay, provided that the result agrees with them.
        """
        implicit = self.switched.implicit_modes
        together = tuple(sorted({*open_modes, *implicit}))
        if not implicit or len(together) <= self._most:
            return self._chosen(before, together, t, jets)
        choice = self._chosen(before, [k for k in together if k not in implicit], t, jets)
        if len(choice.configurations) == 1 and all(
            self.leaves(choice.configurations[0], k, t, jets) in (0, choice.configurations[0][k]) for k in implicit
        ):
            return choice
        return Choice((), f"{len(together)} signs, of multipliers among them, are open together; at most {self._most} are tried.", False)

    def _chosen(self, before: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> Choice:
        """Return the consistent configurations in which these modes alone may change."""
        still = [k for k in open_modes if isinstance(self.switched.modes[k], Direction)]
        if still:
            return self._rests(before, still, [k for k in open_modes if k not in still], t, jets)
        if len(open_modes) == 1 and not self.switched.contacts:
            return self._one(before, open_modes[0], t, jets)
        if len(open_modes) > self._most and self.switched.contacts:
            return Choice((), f"{len(open_modes)} contacts and switching functions vanish together; at most {self._most} are tried.", False)
        if len(open_modes) > self._most:
            return self._followed(before, open_modes, t, jets)
        reasons: list[str] = []
        found: list[Configuration] = []
        implicit, contacts = self.switched.implicit_modes, self.switched.contacts
        by_multipliers = implicit or self.switched.rough  # motion along a surface and motion that leaves it may both be possible
        options = [
            (1, SLIDING) if k in contacts else (before[k] or 1, -(before[k] or 1), *(() if k in implicit else (SLIDING,)))
            for k in open_modes
        ]
        states = sum(k not in implicit for k in open_modes)
        for slides in range(states + 1):  # sliding is compiled only if no motion leaves all surfaces
            if slides and states > _MOST_SLIDING and not contacts:
                return self._many_held(before, open_modes, t, jets)
            for values in product(*options):
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
            if found and not by_multipliers:
                return Choice(tuple(found))
        if found:
            return Choice(tuple(found))
        usual = self._paradox() if by_multipliers else "no side is consistent."
        return Choice((), next((r for r in reasons if r not in _ORDINARY), usual))

    def _paradox(self) -> str:
        """The sentence of Painleve's paradox."""
        signs = [self.switched.modes[k].text for k in self.switched.implicit_modes]
        names = ", ".join(signs or [self.switched.modes[k].unknown.name for k in self.switched.contacts])
        return f"no sign of {names} agrees with the forces that it causes (Painleve's paradox)."

    @property
    def _most(self) -> int:
        """The largest number of surfaces for which all configurations are tried."""
        return _MOST_SURFACES_COMPILED if self.switched.by_itself else _MOST_SURFACES

    def go_on(self, changed: Configuration, met: Sequence[int], t: float, jets: Jets) -> Choice:
        """Return the configurations that continue the motion from a state on the surfaces of the modes `met`.

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
        if fault == _PULLS:
            here = self.setting(configuration)
            return tuple(k for k in slides if k in self.switched.contacts and not self._presses(here, k, t, jets(here)))
        if fault != TOO_LARGE:
            return tuple(slides)
        here = self.setting(configuration)
        slides = [k for k in slides if k not in self.switched.contacts]
        values = self.numbers(here, [self.switched.held(self.switched.modes[k], configuration) for k in slides], t, jets(here))
        return tuple(k for k, v in zip(slides, values, strict=True) if not abs(v) <= 1 + ROUND_OFF_OF_VALUES)

    def _many_held(self, before: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> Choice:
        """Find which of many surfaces hold the motion: at first all; a surface whose force is too large is left to the side of the force.

        Each surface has to attract the motion from both sides, as dry friction does.
        """
        configuration = _with(before, dict.fromkeys(open_modes, SLIDING))
        for _ in open_modes:
            slides = [k for k in open_modes if configuration[k] == SLIDING]
            reason = self.sliding_fault(configuration, t, jets) if slides else ""
            if reason != TOO_LARGE:
                break
            here = self.setting(configuration)
            forces = self.numbers(here, [self.switched.held(self.switched.modes[k], configuration) for k in slides], t, jets(here))
            configuration = _with(
                configuration, {k: int(np.sign(v)) for k, v in zip(slides, forces, strict=True) if abs(v) > 1 + ROUND_OFF_OF_VALUES}
            )
        reason = reason or self._fault(configuration, open_modes, t, jets)
        sides = ((k, side) for k in slides for side in (1, -1))
        if not reason and all(self.leaves(_with(configuration, {k: side}), k, t, jets) == -side for k, side in sides):
            return Choice((configuration,))
        reason = f"{len(open_modes)} switching functions vanish together, and it is not known which of them hold the motion."
        return Choice((), reason, decided=False)

    def _rests(self, before: Configuration, still: Sequence[int], others: Sequence[int], t: float, jets: Jets) -> Choice:
        """The choice in which bodies under planar friction without speed stay at rest; if they do not, the reason is TOO_LARGE."""
        rest = _with(before, dict.fromkeys(still, SLIDING))
        if others:
            return self.choose(rest, others, t, jets)
        reason = self.sliding_fault(rest, t, jets)
        return Choice((), reason) if reason else Choice((rest,))

    def _followed(self, before: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> Choice:
        """Find the sides on which many functions leave zero, from two guesses: all modes as before, and all on the other side. For
        functions whose side depends on modes, all choices are tried; if no choice leaves the surfaces, some of them hold the motion.
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
        swayed = sorted({k for configuration in found for k in self._dependent_on_modes(configuration, open_modes, t, jets)})
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

    def _dependent_on_modes(self, configuration: Configuration, open_modes: Sequence[int], t: float, jets: Jets) -> list[int]:
        """Return the functions whose side after zero may change if some modes change.

        Rates are affine in the modes except for products: the change by each mode alone, and by all together, bounds the total change.
        """
        flips = [_with(configuration, {j: -configuration[j] for j in some}) for some in (*((k,) for k in open_modes), open_modes)]
        found = [k for k in open_modes if self.algebraic(self.setting(configuration), k)]
        unknown = [k for k in open_modes if k not in found]
        for order in range(1, ORDERS + 1):
            settings = [self.setting(other) for other in (configuration, *flips)]
            rates = np.array([[self._number(here, k, order, t, jets(here)) for k in unknown] for here in settings])
            own, sizes = rates[0, :, 0], rates[:, :, 1].max(axis=0)
            changes = np.abs(rates[1:, :, 0] - own)
            change = np.maximum(changes[:-1].sum(axis=0), changes[-1])
            still = (np.abs(own) <= ROUND_OFF_OF_VALUES * sizes) & (change <= ROUND_OFF_OF_VALUES * sizes)
            found += [k for k, rate, other, rests in zip(unknown, own, change, still, strict=True) if not (rests or abs(rate) > other)]
            unknown = [k for k, rests in zip(unknown, still, strict=True) if rests]
            if not unknown:
                break
        return found

    def _same_motion(self, configurations: Sequence[Configuration], t: float, jets: Jets) -> bool:
        """Tell whether configurations give the same motion: for a body held by two forces, their shares of the load are not determined."""
        rates = []
        for configuration in configurations:
            here = self.setting(configuration)
            native = here.native(jets(here), 0.0)
            found = here.compiled.rhs(t, native, here.parameters(t))[: len(here.flow.state)]
            rates.append(dict(zip(here.flow.state, found, strict=True)))
        names = [z for z in rates[0] if all(z in r for r in rates)]
        table = np.array([[r[z] for z in names] for r in rates])
        sizes = np.abs(table).max(axis=0)
        return bool(np.all(np.ptp(table, axis=0) <= np.maximum(_SAME_RATES * sizes, ROUND_OFF_OF_VALUES * sizes.max(initial=0.0))))

    def _one(self, before: Configuration, k: int, t: float, jets: Jets) -> Choice:
        """The test for one surface; the equations of sliding are compiled only if it may happen."""
        sides = {m: _with(before, {k: m}) for m in (1, -1)}
        leaves = {m: self.leaves(sides[m], k, t, jets) for m in (1, -1)}
        if leaves[1] > 0 or leaves[-1] < 0:
            return Choice(tuple(sides[m] for m in (1, -1) if leaves[m] == m))
        if leaves[1] == leaves[-1] == 0:
            return Choice((sides[before[k]] if before[k] else sides[1],))
        if k in self.switched.implicit_modes and all(leaves.values()):
            return Choice((), self._paradox())
        slide = _with(before, {k: SLIDING})
        reason = "" if k not in self.switched.implicit_modes else _NOT_HELD
        reason = reason or self._fault(slide, (k,), t, jets)
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
            return _NOT_HELD  # such as friction with the coefficient zero
        if any(way not in (0, configuration[k]) for k, way in ways.items()):
            return _OTHER_SIDE
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
            return self.nonlinear_multipliers(configuration) or f"motion with {names} has other initial values than motion off it."
        return ""

    def nonlinear_multipliers(self, configuration: Configuration) -> str:
        """Return the reason why motion on a surface is refused if the state holds multipliers of reactions; empty if it holds none.

        Rows that are linear in a multiplier determine it, so that it is not part of the state; otherwise it would jump with a force.
        """
        reactions = {m.base for m in self.switched.base(configuration).lowered.reactions}
        names = sorted({z.base for z in self.jets(configuration) if isinstance(z, Multiplier) and z.base in reactions})
        if not names:
            return ""
        listed = ", ".join(names)
        return f"forces are not linear in {listed}; rest is computed where they are linear in a multiplier or in its absolute value."

    def sliding_fault(self, configuration: Configuration, t: float, jets: Jets) -> str:
        """Return the reason why the motion cannot slide in a configuration; empty if it can."""
        slides = [k for k, m in enumerate(configuration) if m == SLIDING]
        names = ", ".join(f"{self.switched.modes[k].text} = 0" for k in slides)
        closed, slides = [k for k in slides if k in self.switched.contacts], [k for k in slides if k not in self.switched.contacts]
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
        if not all(self._presses(here, k, t, state) for k in closed):
            return _PULLS
        if not slides:
            return ""
        if {unknown.name for mode in modes for unknown in mode.unknowns} & set(here.flow.system.undetermined):
            return f"the forces that keep {names} are not unique."
        values = self.numbers(here, [self.switched.held(mode, here.configuration) for mode in modes], t, state)
        rows = here.compiled.measure(t, here.native(state, 0.0), here.parameters(t))
        held = {label: row.surface for label, row in here.flow.system.equations.system.kinematic_rows() if row.surface}
        places = {self.switched.modes[k].text: k for k in slides}
        off = [
            abs(r) > 10 * self.tolerance * self._usual(places.get(held[base]), len(label) - len(base), state)
            for r, label in zip(rows, here.compiled.labels, strict=False)
            if (base := label.rstrip("'")) in held
        ]
        if not np.all(np.isfinite(values)) or any(off):
            return _CROSSES
        return "" if np.all(np.abs(self._later(here, modes, t, state, values)) <= 1 + ROUND_OFF_OF_VALUES) else TOO_LARGE

    def _presses(self, here: Setting, k: int, t: float, state: Mapping[Jet, float]) -> bool:
        """Whether the multiplier of a closed contact is not negative now, or, if it vanishes, shortly after."""
        value, size = self.press(here, k, t, state)
        if not np.isfinite(value) or abs(value) > ROUND_OFF_OF_VALUES * size or not self.span:
            return bool(value >= -ROUND_OFF_OF_VALUES * size)
        native = here.native(state, 0.0)
        for part in _LATER_TIMES:
            step = self.direction * part * self.span
            ahead, size = self.press(here, k, t + step, here.named(self._moved(here, t, native, step)))
            if abs(ahead) > ROUND_OFF_OF_VALUES * size:
                return bool(ahead > 0)
        return True

    def _usual(self, k: int | None, order: int, state: Mapping[Jet, float]) -> float:
        """The typical size of a derivative of a switching function: the largest size of its terms so far, and its change during the run
        with the rates on the two sides of its surface. Jets have other units, and are used only if neither is known.
        """
        seen = [] if k is None else [self._fastest.get((k, order), 0.0), self._fastest.get((k, order + 1), 0.0) * abs(self.span)]
        return max(seen, default=0.0) or self._extent(state)

    def _later(self, here: Setting, modes: Sequence[Mode], t: float, jets: Mapping[Jet, float], values: Array) -> Array:
        """Return the forces that hold the motion on its surfaces, with infinity for those at their limit that exceed it shortly after.

        The test is repeated after each of `_LATER_TIMES` until they have left the limit, because the order of their first derivative that
        is not zero is unknown.
        """
        found = np.abs(values)
        native, limit = here.native(jets, 0.0), np.abs(found - 1) <= ROUND_OFF_OF_VALUES
        if not limit.any() or not self.span:
            return found
        function = here.function([self.switched.held(mode, here.configuration) for mode in modes])
        for part in _LATER_TIMES:
            step = self.direction * part * self.span
            ahead = np.abs(here.numbers(function, t + step, self._moved(here, t, native, step)))
            left = limit & (np.abs(ahead - 1) > _LEFT_LIMIT)
            found[left & (ahead > 1)] = np.inf
            limit &= ~left
        return found

    def _moved(self, here: Setting, t: float, native: Array, h: float) -> Array:
        """The state after a short time `h`, by one classical Runge-Kutta step."""

        def rates(at: float, y: Array) -> Array:
            return np.array(here.compiled.rhs(at, y, here.parameters(at)))

        first = rates(t, native)
        second = rates(t + h / 2, native + h / 2 * first)
        third = rates(t + h / 2, native + h / 2 * second)
        fourth = rates(t + h, native + h * third)
        return native + h / 6 * (first + 2 * second + 2 * third + fourth)


def _with(configuration: Configuration, changes: Mapping[int, int]) -> Configuration:
    return tuple(changes.get(k, m) for k, m in enumerate(configuration))
