"""The transitions of a motion at events of the user: which are met together, when a motion ends, and where it continues after a reset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from sympy import Expr

from chetaev.core.errors import InitialError
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Coordinate, Jet, jets_in
from chetaev.numerics.corners.mode import Configuration
from chetaev.numerics.evaluation.motion_start import Start, begin
from chetaev.numerics.methods import dop853
from chetaev.numerics.motion import outcomes
from chetaev.numerics.motion.outcomes import Ending, Verdict
from chetaev.numerics.motion.transitions.switches import FAR, TOO_SOON, Transitions
from chetaev.numerics.slopes.jumps import Crossing, Moves
from chetaev.numerics.smooth_pieces.bounces import LOWEST
from chetaev.numerics.smooth_pieces.events import Watched
from chetaev.numerics.smooth_pieces.piece import Evaluator, Piece, Setting
from chetaev.numerics.smooth_pieces.request import Place

LEAST = 4e-13
"""Relative to the duration of the run: roots that follow in less time are the beginning itself, within the accuracy of located roots."""
_SIMULTANEOUS = 1e-12
"""Relative to the duration of the run: events closer to each other than this are simultaneous. With less, round-off of located roots
separates them, and only the first of two resets acts."""
_STOPPED = 1e-14
"""Relative to the speed before a reset: a smaller speed is rest."""


@dataclass
class EventTransitions(Transitions):
    """Abstract: a running simulation, as far as events of the user end a piece."""

    derivatives: dict[tuple[int, Configuration, Expr], tuple[Setting, Evaluator]] = field(default_factory=dict)
    """The functions of events with their derivatives along the motion."""

    def _met_here(self, piece: Piece) -> int | None:
        """Return the first stopping event whose root is at the end of a piece (a switch or the last time), within the accuracy of located
        roots; other events there that were not found are recorded. A switch is made where the motion continues after the event.
        """
        here, t, jets = piece.setting, float(piece.run.t), piece.setting.named(piece.run.y)
        if abs(t - piece.begin) <= _SIMULTANEOUS * self.request.span:
            return None
        known = self._recorded_at_the_end(piece)
        for k, event in enumerate(self.request.events):
            value, rate, _ = self._rates_of(here, event, t, jets)
            near = abs(value) <= LEAST * self.request.span * abs(rate) < np.inf
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
        (before, rate, _), (after, later, _) = (self._rates_of(each, event, t, jets) for each in (here, there))
        least = LEAST * self.request.span * max(abs(rate), abs(later))
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
        known = self._recorded_at_the_end(piece)
        met = []
        for k, event in enumerate(events):
            value, rate, _ = self._rates_of(here, event, t, here.named(native))
            away = abs(value) > _SIMULTANEOUS * self.request.span * abs(rate) or rate == 0 or event.direction not in (0, np.sign(rate))
            if k == index or not away:
                met.append(event)
            if k == index or not (away or k in known):
                self.record.met(event.text, t, here.named(native))
        last = next((event for event in met if event.terminal), events[index])
        resets = [event.reset for event in met if event.reset is not None]
        return replace(last, reset=Frozen({z: v for reset in reversed(resets) for z, v in reset.items()}) if resets else None)

    def _recorded_at_the_end(self, piece: Piece) -> set[int]:
        """The events whose roots the run recorded at the end of a piece; its first two functions are those of the library."""
        found = zip(piece.run.found_indices, piece.run.found_times, strict=True)
        return {int(k) - 2 for k, at in found if abs(at - float(piece.run.t)) <= _SIMULTANEOUS * self.request.span}

    def _rates_of(self, here: Setting, event: Watched, t: float, jets: Mapping[Jet, float]) -> tuple[float, float, float]:
        """The function of an event and its first two derivatives along the motion, in the direction in which it is followed."""
        function = self.request.switched.read(event.expression, here.configuration)
        key = (id(here.compiled), here.configuration, function)
        if key not in self.derivatives:
            total = here.flow.system.equations.total
            self.derivatives[key] = here, here.evaluator([function, total(function), total(function, 2)])
        value, rate, second = map(float, self.derivatives[key][1](here, t, here.native(jets, 0.0)))
        if abs(value) <= _SIMULTANEOUS * self.request.span * abs(rate) and here.keeps(function):
            rate = second = 0.0  # round-off of a function that is constant along the motion
        return value, rate * self.surfaces.direction, second

    def _sent_back(self, piece: Piece, there: Setting, jets: Mapping[Jet, float], event: Watched) -> tuple[int, float] | None:
        """Return the direction of the next crossing and the time until then, if a reset reverses the motion.

        By the first two derivatives, a ball that leaves with the speed v under the acceleration g returns after 2v/g; one that does not
        leave, immediately. None if the motion continues through the surface.
        """
        here, t = piece.setting, float(piece.run.t)
        was, old, _ = self._rates_of(here, event, t, here.named(piece.run.y))
        value, rate, second = self._rates_of(there, event, t, jets)
        fires = event.direction or int(np.sign(old))
        stopped = abs(rate) <= _STOPPED * abs(old)
        if abs(value) > 10 * abs(was) + TOO_SOON * self.request.span * abs(old):  # the reset moved it off the surface
            return None
        if not np.isfinite(rate + second) or not fires or not (stopped or fires * rate < 0):
            return None
        if stopped:
            return (fires, 0.0) if fires * second > 0 else None
        return fires, 2 * abs(rate / second) if fires * second > 0 else np.inf

    def _reset(self, piece: Piece, event: Watched, index: int) -> Place | Verdict:
        here, t = piece.setting, float(piece.run.t)
        limit = self._accumulates(f"event {event.text}", t)
        if limit is not None:
            return outcomes.accumulation(event.text, t, limit if np.isfinite(limit) else None, self._contact(piece, event))
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
        if back is not None and (back[1] < TOO_SOON * self.request.span or self._unresolved(there, event, t, start.jets)):
            times = self.recent[f"event {event.text}"]
            ratio = back[1] / abs(times[-1] - times[-2]) if len(times) > 1 else 0.0
            limit = t + self.surfaces.direction * back[1] / (1 - ratio) if ratio < 1 else None
            return outcomes.accumulation(event.text, t, limit, self._contact(piece, event))
        surface = self.request.switched.read(self.request.events[index].expression, here.configuration)
        crossing = Crossing(surface, dict(zip(event.reset, new, strict=True)), self._reset_map(dict(zip(event.reset, new, strict=True))))
        found = Place(there, t, start.jets, work, piece.energy + after - before, jump=True, crossing=crossing)
        return found if back is None else replace(found, awaited=(index, back[0]), expected_in=back[1])

    def _unresolved(self, here: Setting, event: Watched, t: float, jets: Mapping[Jet, float]) -> bool:
        """Whether the function of an event turns back before it differs from zero by more than the round-off of the state."""
        function = self.request.switched.read(event.expression, here.configuration)
        _, rate, second = self._rates_of(here, event, t, jets)
        terms = here.numbers(here.function([function.diff(z) * z for z in (TIME, *jets_in(function))]), t, here.native(jets, 0.0))
        return bool(rate**2 <= 2 * abs(second) * LOWEST * float(np.abs(terms).sum()))

    def _contact(self, piece: Piece, event: Watched) -> str:
        """Return the inequality that the resets of an event keep, if it restricts positions; otherwise nothing."""
        jets = jets_in(event.expression)
        if not jets or any(z.order or not isinstance(z, Coordinate) for z in jets):
            return ""
        here, t = piece.setting, float(piece.run.t)
        rising = event.direction or self._rates_of(here, event, t, here.named(piece.run.y))[1]
        return f"{event.text} {'<=' if rising > 0 else '>='} 0"

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
