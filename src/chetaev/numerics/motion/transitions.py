"""The transitions between smooth pieces of a motion: switching surfaces, bodies that stop or set off, jumps, events and resets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sympy import Expr

from chetaev.core.errors import InitialError, StateError
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Input, Jet, jets_in, moved_by
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.evaluation.motion_start import Start, begin
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import Task
from chetaev.numerics.motion import outcomes
from chetaev.numerics.motion.outcomes import Ending, Verdict, locus_near, pole_near
from chetaev.numerics.motion.record import Record
from chetaev.numerics.motion.trajectory import Switch
from chetaev.numerics.slopes.jumps import Crossing, Moves
from chetaev.numerics.smooth_pieces.bounces import Landing, landed, struck_alike, touched_at
from chetaev.numerics.smooth_pieces.events import Watched
from chetaev.numerics.smooth_pieces.momentum_jumps import Refused, across, across_together
from chetaev.numerics.smooth_pieces.piece import Evaluator, Piece, Setting
from chetaev.numerics.smooth_pieces.request import Place, Request
from chetaev.numerics.smooth_pieces.switching import TOO_LARGE, Surfaces

FALLEN_PIVOT = 1e-4
"""Relative fall of a pivot or of the determinant: where steps become too small, or projection fails, and one fell below this, the singular
locus is reported as the reason."""
_TOO_SOON = 1e-9
"""Relative to the duration of the run: shorter intervals between events of one kind are an accumulation, which ends the run."""
_IN_A_ROW = 3
"""Number of such intervals in a row that end the run."""
LEAST = 4e-13
"""Relative to the duration of the run: roots that follow in less time are the beginning itself, within the accuracy of located roots."""
_AT_ONCE = 1e-12
"""Relative to the duration of the run: events closer to each other than this are simultaneous."""
_STOPPED = 1e-14
"""Relative to the speed before a reset: a smaller speed is rest."""
FAR = 10.0
"""Tolerances: a larger correction is not round-off."""


@dataclass
class Transitions:
    """Abstract: a running simulation, as far as it ends a piece and begins the next one."""

    request: Request
    surfaces: Surfaces
    record: Record
    recent: dict[str, list[float]] = field(default_factory=dict)
    """The last times of each kind of event."""
    smooth_since: tuple[float, Mapping[Jet, float]] | None = None
    """The time and the state after which only pivots changed."""
    derivatives: dict[tuple[int, Configuration, Expr], tuple[Setting, Evaluator]] = field(default_factory=dict)
    """The functions of events with their derivatives along the motion."""

    ended_by: Expr | None = None
    """The function of the event that ended the motion."""

    def _through(self, found: Place | Verdict, surface: Expr) -> Place | Verdict:
        """Note the surface through which a place was reached."""
        if not isinstance(found, Place) or self.request.slopes is None:
            return found
        known = found.crossing
        return replace(found, crossing=Crossing(surface) if known is None else replace(known, surface=surface))

    def _ended(self, piece: Piece, task: Task) -> Verdict:
        """Return the verdict on a run that ends."""
        status = piece.run.status
        stuck = status in (dop853.Status.STEP_TOO_SMALL, dop853.Status.DRIFT)
        begun = self.smooth_since or (piece.begin, piece.setting.named(piece.first))
        if stuck and min(self._lowest_fall(piece, task), piece.setting.fall_of_determinant(piece, *begun)) < FALLEN_PIVOT:
            status = dop853.Status.FLOOR
        near = status in (dop853.Status.FLOOR, dop853.Status.WATCH, dop853.Status.NOT_FINITE)
        locus = locus_near(piece, *begun) if near else pole_near(piece, *begun) if status is dop853.Status.STEP_TOO_SMALL else ""
        return outcomes.verdict(status, Ending(float(piece.run.t), self.request.max_steps, locus=locus))

    @property
    def _multipliers(self) -> str:
        """The multipliers whose signs are modes, in words."""
        switched = self.request.switched
        signs = [switched.modes[k].text for k in switched.implicit_modes]
        return ", ".join(signs or [switched.modes[k].unknown.name for k in switched.contacts if switched.rough])

    def _work(self, piece: Piece) -> float:
        return float(piece.run.y[-1]) if piece.setting.flow.has_power else piece.work

    def _lowest_fall(self, piece: Piece, task: Task) -> float:
        """Return the largest relative fall of a pivot in a piece: a surface that is a singular locus is not a switch."""
        return piece.setting.lowest_fall(piece) if task.watches else 1.0

    def _switched(self, piece: Piece, task: Task, k: int, value: int, beyond: Mapping[Jet, float] | None = None) -> Place | Verdict:
        here, t = piece.setting, float(piece.run.t)
        before = here.configuration
        mode = self.request.switched.modes[k]
        if isinstance(mode, Touch) and value == SLIDING:
            return self._touches(piece, k)
        if isinstance(mode, Direction):
            return self._rests(piece, k, mode) if value == SLIDING else self._sets_off(piece, k, mode, here.named(piece.run.y))
        jets = here.named(piece.run.y) if beyond is None else beyond
        leaving = before[k] == SLIDING
        jumps = not leaving and self.surfaces.jumps_at(here, k, t, piece.run.y)
        if jumps and self.surfaces.has_jump(k):
            return outcomes.no_continuation(mode.text, t, "the function jumps there, and the Lagrangian jumps with its sign.")
        leaving |= jumps
        several = self.request.switched.implicit_modes or self.request.switched.contacts
        tilted = bool(several) and before[k] == SLIDING
        leaving &= not tilted  # with its own force the multiplier may allow no way on, or several
        known = {k: value} if leaving else {}
        changed = tuple(known.get(j, m) for j, m in enumerate(before))
        try:
            met = [j for j in self.surfaces.vanishing(here, t, jets) if before[j] != SLIDING and j != k]
            if not leaving and self.surfaces.has_jump(k):
                return self._jumped(piece, k, met)
            met += [] if leaving else [k]
            choice = self.surfaces.go_on(changed, sorted(met), t, lambda _: jets)
        except StateError:
            return self._ended(piece, task)
        options = choice.configurations
        if len(options) > 1:
            return outcomes.not_unique(mode.text, t, self._multipliers)
        if not options:
            return outcomes.no_continuation(mode.text, t, choice.reason, choice.decided)
        after = options[0]
        limit = self._accumulates(f"mode {k}", t)
        if limit is not None:
            after = tuple(SLIDING if j == k else m for j, m in enumerate(after))
            return self._onto(piece, before, after, mode.text, limit, beyond)
        return self._set_free(piece, after, mode.text, jets, beyond)

    def _touches(self, piece: Piece, k: int) -> Place | Verdict:
        """Continue after an impact: contacts open with the speeds that restitution gives, or stay closed."""
        here, t = piece.setting, float(piece.run.t)
        jets = here.named(piece.run.y)
        self.record.met(self.request.switched.modes[k].text, t, jets)
        return self._struck(piece, here, t, jets, k)

    def _struck(self, piece: Piece, here: Setting, t: float, jets: Mapping[Jet, float], k: int) -> Place | Verdict:
        """The beginning of the piece after an impact."""
        text, surfaces = self.request.switched.modes[k].text, self.surfaces
        try:
            touched = touched_at(surfaces, here, t, jets, k)
            landing = landed(surfaces, here, touched, t, jets)
            choice = surfaces.go_on(landing.configuration, landing.open_modes, t, lambda _: landing.jets)
        except Refused as reason:
            return outcomes.no_continuation(text, t, str(reason))
        except StateError as fault:
            return outcomes.no_continuation(text, t, fault.what)
        if len(choice.configurations) > 1:
            return outcomes.not_unique(text, t, self._multipliers)
        if not choice.configurations:
            return outcomes.no_continuation(text, t, choice.reason, choice.decided)
        found = self._onto(piece, here.configuration, choice.configurations[0], text, None, landing.jets)
        if not isinstance(found, Place):
            return found
        there = found.setting
        after = there.compiled.energy_at(t, there.native(found.jets, 0.0), there.parameters(t))
        before = here.compiled.energy_at(t, here.native(jets, 0.0), here.parameters(t))
        if self.request.slopes is not None:
            if self._meet_together(here, touched):
                return outcomes.no_continuation(text, t, "several contacts are hit at once, and slopes are not known there.")
            gap = self.request.switched.driven(self.request.switched.modes[k].function, here.configuration)
            found = replace(found, crossing=Crossing(gap, moves=self._impact_map(landing)))
        return replace(found, energy=piece.energy + after - before, jump=True, soon=landing.soon)

    @staticmethod
    def _meet_together(here: Setting, touched: Sequence[int]) -> bool:
        """Whether several open contacts are hit at one moment: a small change of the start separates the impacts."""
        return sum(here.configuration[k] != SLIDING for k in touched) > 1

    def _impact_map(self, landing: Landing) -> Moves:
        """The state after an impact from the state before, with any values of the parameters."""
        return lambda here, t, jets: struck_alike(self._surfaces_with(here), here, landing, t, jets)

    def _set_free(
        self, piece: Piece, after: Configuration, text: str, jets: Mapping[Jet, float], state: Mapping[Jet, float] | None
    ) -> Place | Verdict:
        """Return the beginning of the piece in another configuration, in which bodies move that planar friction no longer holds."""
        t, modes = float(piece.run.t), self.request.switched.modes
        free = [k for k in self.surfaces.released(after, t, lambda _: jets) if isinstance(modes[k], Direction)]
        for k in free:
            direction = modes[k]
            assert isinstance(direction, Direction)  # noqa: S101 - chosen above
            after = tuple(1 if j == k else m for j, m in enumerate(after))
            moving = self.surfaces.resting.set_off(self.surfaces.setting(after), direction, t, jets)
            if moving is None:
                return outcomes.no_continuation(text, t, "the body does not stay at rest, and no direction leads on.")
            jets = state = moving
        found = self._onto(piece, piece.setting.configuration, after, text, None, state)
        return replace(found, jump=True, crawling=True) if free and isinstance(found, Place) else found

    def _rests(self, piece: Piece, k: int, direction: Direction) -> Place | Verdict:
        """Continue after a body under planar friction has lost its speed: it stays, or it turns around."""
        here, t = piece.setting, float(piece.run.t)
        before = here.configuration
        after = tuple(SLIDING if j == k else m for j, m in enumerate(before))
        jets = self.surfaces.resting.stilled(here, direction, t, here.named(piece.run.y))
        choice = self.surfaces.go_on(after, [], t, lambda _: jets)
        if len(choice.configurations) > 1:
            return outcomes.not_unique(direction.text, t, self._multipliers)
        if not choice.configurations:
            return outcomes.no_continuation(direction.text, t, choice.reason, choice.decided)
        after = choice.configurations[0]
        fault = self.surfaces.sliding_fault(after, t, lambda _: jets)
        if fault not in ("", TOO_LARGE):
            return outcomes.no_continuation(direction.text, t, fault)
        if fault and k in self.surfaces.released(after, t, lambda _: jets):
            return self._sets_off(piece, k, direction, jets)
        return self._set_free(piece, after, direction.text, jets, jets)

    def _sets_off(self, piece: Piece, k: int, direction: Direction, jets: Mapping[Jet, float]) -> Place | Verdict:
        """Continue after a body under planar friction starts to move."""
        t, before = float(piece.run.t), piece.setting.configuration
        limit = self._accumulates(f"mode {k}", t)
        if limit is not None:
            return outcomes.accumulation(direction.text, t, limit if np.isfinite(limit) else None)
        after = tuple(1 if j == k else m for j, m in enumerate(before))
        moving = self.surfaces.resting.set_off(self.surfaces.setting(after), direction, t, jets)
        if moving is None:
            return outcomes.no_continuation(direction.text, t, "the body does not stay at rest, and no direction leads on.")
        found = self._onto(piece, before, after, direction.text, None, moving)
        return replace(found, jump=True, crawling=True) if isinstance(found, Place) else found

    def _jumped(self, piece: Piece, k: int, met: Sequence[int]) -> Place | Verdict:
        """Continue where the Lagrangian jumps with a mode."""
        here, t, text = piece.setting, float(piece.run.t), self.request.switched.modes[k].text
        before = here.configuration
        try:
            jets = here.named(piece.run.y)
            if met and piece.run.beside is not None:
                raise Refused("another switching function vanishes at the same moment, and the motions beside this one jump in two ways.")
            together = (self.request.switched, self.surfaces.setting, here, [k, *met], t, jets)
            jump = across_together(*together) if met else across(self.request.switched, here, k, t, jets)
        except Refused as reason:
            return outcomes.no_continuation(text, t, str(reason))
        limit = self._accumulates(f"mode {k}", t)
        if limit is not None:
            return outcomes.accumulation(text, t, limit if np.isfinite(limit) else None)
        after = tuple(-m if jump.crosses and j in (k, *met) else m for j, m in enumerate(before))
        found = self._onto(piece, before, after, text, None, jump.jets)
        if not isinstance(found, Place):
            return found
        crossing = Crossing(here.switched.driven(here.switched.modes[k].function, before), moves=_jump_map(here.switched, k))
        return replace(found, jump=True, energy=found.energy + jump.gained, crossing=crossing)

    def _onto(
        self,
        piece: Piece,
        before: Configuration,
        after: Configuration,
        text: str,
        limit: float | None,
        state: Mapping[Jet, float] | None = None,
    ) -> Place | Verdict:
        """The beginning of the piece in another configuration, its state on the constraints of that one."""
        here, t = piece.setting, float(piece.run.t)
        try:
            there = self.surfaces.setting(after)
            if set(self.surfaces.jets(after)) != set(self.surfaces.jets(before)):
                return outcomes.no_continuation(text, t, "the motion has other initial values on the other side.")
            jets, far = self._settled(there, t, here.named(piece.run.y) if state is None else state)
        except StateError as fault:
            return outcomes.no_continuation(text, t, fault.what)
        if limit is not None and (far > FAR or self.surfaces.sliding_fault(after, t, lambda _: jets)):
            return outcomes.accumulation(text, t, limit if np.isfinite(limit) else None)
        if not far <= FAR:
            reason = self.surfaces.nonlinear_multipliers(before)
            return outcomes.no_continuation(text, t, reason, decided=False) if reason else outcomes.corner_of_constraints(text, t)
        for j, (m, new) in enumerate(zip(before, after, strict=True)):
            if m != new:
                self.record.switches.append(Switch(self.request.switched.modes[j].text, t, m, new))
        energy = piece.energy + self._given_away(piece, there, jets, after)
        return Place(there.suited(t, jets), t, jets, self._work(piece), energy, jump=before != after)

    def _given_away(self, piece: Piece, there: Setting, jets: Mapping[Jet, float], after: Configuration) -> float:
        """Return the work of a switch that depends on time alone: switching on a potential changes the energy."""
        here, t = piece.setting, piece.end
        changed = [mode for mode, m, new in zip(self.request.switched.modes, here.configuration, after, strict=True) if m != new]
        if not changed or any(moved_by(mode.function) or jets_in(mode.function) - jets_in(mode.function, Input) for mode in changed):
            return 0.0
        new = there.compiled.energy_at(t, there.native(jets, 0.0), there.parameters(t))
        return new - here.compiled.energy_at(t, piece.run.y, here.parameters(t))

    def _settled(self, there: Setting, t: float, jets: Mapping[Jet, float]) -> tuple[dict[Jet, float], float]:
        """Return a state on the constraints of a setting, and the correction it needed, in units of the tolerance."""
        compiled, native = there.compiled, there.native(jets, 0.0)
        if compiled.project is None:
            return dict(jets), 0.0
        inputs, first = compiled.inputs(there.binding), len(there.flow.system.equations.system.parameters)
        code = dop853.Code(0, compiled.project.early, 0 if inputs is None else inputs.early, first_input=first)
        measures = self.request.accuracy.measures(there.flow.state, there.flow.size)
        sizes = [self.record.largest.get(z, 0.0) for z in there.flow.state] + [0.0] * (there.flow.size - len(there.flow.state))
        limits = dop853.Limits(measures.rtol, measures.atol, np.fmax(measures.sizes, sizes), kinds=measures.kinds)
        moved, far = dop853.settle(code, [t], native[None, :], there.parameters(t), limits)
        return {**jets, **there.named(moved[0])}, float(far[0])

    def _accumulates(self, kind: str, t: float) -> float | None:
        """Return the time at which events of a kind accumulate, infinity if it is not known; None if they do not accumulate."""
        times = self.recent.setdefault(kind, [])
        times.append(t)
        del times[: -_IN_A_ROW - 1]
        gaps = np.abs(np.diff(times))
        span = abs(float(self.request.times[-1] - self.request.times[0]))
        if len(gaps) < _IN_A_ROW or not np.all(gaps < _TOO_SOON * span):
            return None
        ratio = float(gaps[-1] / gaps[-2]) if gaps[-2] > 0 else 1.0
        return t + (times[-1] - times[-2]) * ratio / (1 - ratio) if ratio < 1 else np.inf

    def _met_here(self, piece: Piece) -> int | None:
        """Return the first stopping event whose root is at the end of a piece (a switch or the last time), within the accuracy of located
        roots; other events there that were not found are recorded. A switch is made where the motion continues after the event.
        """
        here, t, jets = piece.setting, float(piece.run.t), piece.setting.named(piece.run.y)
        span = abs(float(self.request.times[-1] - self.request.times[0]))
        if abs(t - piece.begin) <= _AT_ONCE * span:
            return None
        found = zip(piece.run.found_indices, piece.run.found_times, strict=True)
        known = {int(k) - 2 for k, at in found if abs(at - t) <= _AT_ONCE * span}
        for k, event in enumerate(self.request.events):
            value, rate, _ = self._rates_of(here, event, t, jets)
            near = abs(value) <= LEAST * span * abs(rate) < np.inf
            if k in known or rate == 0 or not near or event.direction not in (0, np.sign(rate)):
                continue
            if event.stops:
                return k
            self.record.met(event.text, t, jets)
        return None

    def _jumped_over(self, piece: Piece, place: Place) -> Place | Verdict:
        """Return where the motion continues from the place after a piece if functions of events change their sign by a jump there: with a
        function that switches, or with an input. Values that a reset or an impact gives to the state are no such jumps.
        """
        here, there, t = piece.setting, place.setting, place.t
        if (here.configuration, here.binding) == (there.configuration, there.binding) or t != piece.end:
            return place
        jets = here.named(piece.run.y)
        stopping = None
        for k in (k for k, event in enumerate(self.request.events) if self._jumps(event, here, there, t, {**place.jets, **jets})):
            self.record.met(self.request.events[k].text, t, jets)
            if stopping is None and self.request.events[k].stops:
                stopping = k
        if stopping is None:
            return place
        event, surface = self.request.events[stopping], TIME if place.crossing is None else place.crossing.surface
        if event.terminal or event.reset is None:
            self.ended_by = surface
            return outcomes.verdict(dop853.Status.WATCH, Ending(t, event=event.text))
        found = self._reset(piece, event, stopping)
        if not isinstance(found, Place) or found.crossing is None:
            return found
        return replace(found, crossing=replace(found.crossing, surface=surface))

    def _jumps(self, event: Watched, here: Setting, there: Setting, t: float, jets: Mapping[Jet, float]) -> bool:
        """Whether the function of an event has another sign in another setting, and no root at this state, which is found by itself."""
        span = abs(float(self.request.times[-1] - self.request.times[0]))
        (before, rate, _), (after, later, _) = (self._rates_of(each, event, t, jets) for each in (here, there))
        least = LEAST * span * max(abs(rate), abs(later))
        return bool(before * after < 0 and min(abs(before), abs(after)) > least and event.direction in (0, np.sign(after)))

    def _met_at_the_end(self, piece: Piece, index: int) -> Verdict:
        """Return the verdict on a motion that meets a stopping event at the last time, where a reset has no effect."""
        event = self._at_once(piece, index)
        if event.terminal:
            self.ended_by = self.request.switched.read(self.request.events[index].expression, piece.setting.configuration)
        status = dop853.Status.WATCH if event.terminal else dop853.Status.FINISHED
        return outcomes.verdict(status, Ending(float(piece.run.t), event=event.text))

    def _at_once(self, piece: Piece, index: int) -> Watched:
        """Combine the event that ended a piece with simultaneous ones: each may end the motion, and new values are taken from all, from the
        first event where two give the same jet different values.
        """
        here, t, native, events = piece.setting, float(piece.run.t), np.array(piece.run.y), self.request.events
        span = abs(float(self.request.times[-1] - self.request.times[0]))
        known = {int(k) - 2 for k, at in zip(piece.run.found_indices, piece.run.found_times, strict=True) if abs(at - t) <= _AT_ONCE * span}
        met = []
        for k, event in enumerate(events):
            value, rate, _ = self._rates_of(here, event, t, here.named(native))
            away = abs(value) > _AT_ONCE * span * abs(rate) or rate == 0 or event.direction not in (0, np.sign(rate))
            if k == index or not away:
                met.append(event)
            if k == index or not (away or k in known):
                self.record.met(event.text, t, here.named(native))
        last = next((event for event in met if event.terminal), events[index])
        resets = [event.reset for event in met if event.reset is not None]
        return replace(last, reset=Frozen({z: v for reset in reversed(resets) for z, v in reset.items()}) if resets else None)

    def _rates_of(self, here: Setting, event: Watched, t: float, jets: Mapping[Jet, float]) -> tuple[float, float, float]:
        """The function of an event and its first two derivatives along the motion, in the direction in which it is followed."""
        function = self.request.switched.read(event.expression, here.configuration)
        key = (id(here.compiled), here.configuration, function)
        if key not in self.derivatives:
            total = here.flow.system.equations.total
            self.derivatives[key] = here, here.evaluator([function, total(function), total(function, 2)])
        value, rate, second = map(float, self.derivatives[key][1](here, t, here.native(jets, 0.0)))
        span = abs(float(self.request.times[-1] - self.request.times[0]))
        if abs(value) <= _AT_ONCE * span * abs(rate) and here.keeps(function):
            rate = second = 0.0  # round-off of a function that is constant along the motion
        return value, rate * self.surfaces.direction, second

    def _sent_back(self, piece: Piece, there: Setting, jets: Mapping[Jet, float], event: Watched) -> tuple[int, float] | None:
        """Return the direction of the next crossing and the time until then, if a reset reverses the motion.

        By the first two derivatives, a ball that leaves with the speed v under the acceleration g returns after 2v/g; one that does not
        leave, immediately. None if the motion continues through the surface.
        """
        here, t = piece.setting, float(piece.run.t)
        span = abs(float(self.request.times[-1] - self.request.times[0]))
        was, old, _ = self._rates_of(here, event, t, here.named(piece.run.y))
        value, rate, second = self._rates_of(there, event, t, jets)
        fires = event.direction or int(np.sign(old))
        stopped = abs(rate) <= _STOPPED * abs(old)
        if abs(value) > 10 * abs(was) + _TOO_SOON * span * abs(old):  # the reset moved it off the surface
            return None
        if not np.isfinite(rate + second) or not fires or not (stopped or fires * rate < 0):
            return None
        if stopped:
            return (fires, 0.0) if fires * second > 0 else None
        return fires, 2 * abs(rate / second) if fires * second > 0 else np.inf

    def _reset(self, piece: Piece, event: Watched, index: int) -> Place | Verdict:
        here, t = piece.setting, float(piece.run.t)
        span = abs(float(self.request.times[-1] - self.request.times[0]))
        limit = self._accumulates(f"event {event.text}", t)
        if limit is not None:
            return outcomes.accumulation(event.text, t, limit if np.isfinite(limit) else None)
        assert event.reset is not None  # noqa: S101 - only events with a reset come here
        jets = here.named(piece.run.y)
        new = [self.request.switched.read(e, here.configuration) for e in event.reset.values()]
        values = here.numbers(here.function(new), t, np.array(piece.run.y), piece.reference)
        try:
            start = self._restarted(jets, {z: float(v) for z, v in zip(event.reset, values, strict=True)}, t)
        except InitialError as fault:
            place = f"{self.request.where}, reset where {event.text} = 0 at t = {t:.12g}"
            raise InitialError(fault.what, where=place, why=fault.why, hint="new values that satisfy the constraints") from fault
        there = start.setting.suited(t, start.jets)
        work = self._work(piece)
        after = there.compiled.energy_at(t, there.native(start.jets, work), there.parameters(t))
        before = here.compiled.energy_at(t, piece.run.y, here.parameters(t))
        back = self._sent_back(piece, there, start.jets, event)
        if back is not None and back[1] < _TOO_SOON * span:
            times = self.recent[f"event {event.text}"]
            ratio = back[1] / abs(times[-1] - times[-2]) if len(times) > 1 else 0.0
            return outcomes.accumulation(event.text, t, t + self.surfaces.direction * back[1] / (1 - ratio) if ratio < 1 else None)
        surface = self.request.switched.read(self.request.events[index].expression, here.configuration)
        crossing = Crossing(surface, dict(zip(event.reset, new, strict=True)), self._reset_map(dict(zip(event.reset, new, strict=True))))
        found = Place(there, t, start.jets, work, piece.energy + after - before, jump=True, crossing=crossing)
        return found if back is None else replace(found, awaited=(index, back[0]), soon=back[1])

    def _reset_map(self, new: Mapping[Jet, Expr]) -> Moves:
        """The state after a reset from the state before, with any values of the parameters."""

        def moved(here: Setting, t: float, jets: Mapping[Jet, float]) -> Mapping[Jet, float]:
            values = here.numbers(here.function(list(new.values())), t, here.native(jets, 0.0))
            known, self.surfaces = self.surfaces, self._surfaces_with(here)
            try:
                return self._restarted(jets, dict(zip(new, map(float, values), strict=True)), t).jets
            finally:
                self.surfaces = known

        return moved

    def _surfaces_with(self, here: Setting) -> Surfaces:
        """The surfaces with the values of the parameters that a setting has."""
        known, own = self.surfaces, {z: here.binding.parameters[z] for z in self.request.binding.parameters}
        binding = replace(self.request.binding, parameters=own)
        return Surfaces(known.switched, binding, known.tolerance, known.direction, known.span, known.seat)

    def _restarted(self, jets: Mapping[Jet, float], given: Mapping[Jet, float], t: float) -> Start:
        """Return the state after a reset: jets of lower order than the given ones stay, up to round-off; the others may move."""
        lowest = min(z.order for z in given)
        new = {z.name: v for z, v in given.items()}
        stays = {z.name: v for z, v in jets.items() if z not in given and z.order < lowest}
        loose = {z.name: v for z, v in jets.items() if z not in given and z.order >= lowest}
        try:
            return begin(self.surfaces, State({**new, **stays}, loose), t, self.request.where)
        except InitialError:
            start = begin(self.surfaces, State(new, {**stays, **loose}), t, self.request.where)
            sizes = self.record.largest
            moved = (abs(v - jets[z]) > FAR * self.request.tolerance * sizes.get(z, 0.0) for z, v in start.jets.items() if z.name in stays)
            if any(moved):
                raise
            return start


def _jump_map(switched: Switched, k: int) -> Moves:
    """The state beyond a jump of the Lagrangian from the state before."""
    return lambda here, t, jets: across(switched, here, k, t, jets).jets
