"""A simulation: smooth pieces one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sympy import Add

from chetaev.core.errors import InitialError, StateError
from chetaev.core.state import State
from chetaev.core.symbols import Input, Jet, jets_in
from chetaev.numerics.corners.mode import SLIDING, Direction, Touch
from chetaev.numerics.evaluation.motion_start import Start, begin
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import Explicit, Task, Wide
from chetaev.numerics.methods.dop853.scale_constants import TIME_LEFT
from chetaev.numerics.methods.implicit import Implicit
from chetaev.numerics.motion import outcomes
from chetaev.numerics.motion.certification import Net
from chetaev.numerics.motion.outcomes import Ending, Verdict
from chetaev.numerics.motion.progress import Progress
from chetaev.numerics.motion.record import Record, wanted_times
from chetaev.numerics.motion.trajectory import Outcome, Switch, Trajectory
from chetaev.numerics.motion.transitions.events import LEAST, EventTransitions
from chetaev.numerics.motion.transitions.switches import FAR
from chetaev.numerics.motion.watched_functions import SMALLEST_PIVOT, Watching, changes_of, make_task, watching
from chetaev.numerics.slopes.augmented import slopes_with_state
from chetaev.numerics.slopes.jumps import carried, ends_of, time_slopes
from chetaev.numerics.slopes.variation import from_lanes
from chetaev.numerics.smooth_pieces.bounces import touched_at
from chetaev.numerics.smooth_pieces.events import Watched
from chetaev.numerics.smooth_pieces.momentum_jumps import Refused, across_inputs
from chetaev.numerics.smooth_pieces.piece import Piece, Setting, reference
from chetaev.numerics.smooth_pieces.request import Place, Request
from chetaev.numerics.smooth_pieces.surface_poles import has_pole_at_begin, has_pole_at_end
from chetaev.numerics.smooth_pieces.switching import Surfaces

REORDERINGS = 20
"""Most changes of pivots in a run: a run that needs more is near a singular locus, and each change compiles."""
_PIECE_AFTER_RESET = 0.3
"""Length of the first piece after a reset, relative to the time until the same event is expected again."""
_CRAWLING_TIME = 1e-2
"""Relative to the duration of the run: how long a body that starts to move against planar friction is followed by an implicit method. After
a hundredth of this an explicit method would make a hundred times more steps."""
_GROWTH_AFTER_RESET = 20.0
"""Largest ratio of the length of the next piece to that one."""
_FOLLOWED_CLOSELY = 2.5e-5
"""Relative to the duration of the run: roots that follow the beginning of a piece in less time are found in a separate short piece, since
the integrator takes roots in the first 1e-6 of its first step for the beginning."""
_JUST_AHEAD = 1e-5
"""Relative to the time: a determinant that has fallen to half in this time is about to vanish; one that decays falls more slowly."""
_ROUND_OFF = 8 * float(np.finfo(float).eps)
"""Relative to its terms: a smaller sum is zero."""


@dataclass
class Course(EventTransitions):
    """A running simulation."""

    progress: Progress = field(kw_only=True)
    beginning: Mapping[Jet, Array] | None = None
    """The slopes of the start."""
    reorderings: int = 0
    driven_until: float | None = None
    """The time at which the present polynomials of scheduled inputs end; None before the first piece."""
    latest: Piece | None = None
    """The piece that was followed last."""
    left: str | None = None
    """The switching function at whose surface it ended."""

    def run(self, start: Start) -> Trajectory:
        """Run piece after piece, until the end or until the motion cannot continue."""
        request = self.request
        t = float(request.times[0])
        here = start.setting.suited(t, start.jets)
        energy = here.compiled.energy_at(t, here.native(start.jets, 0.0), here.parameters(t))
        jets = self.surfaces.jets(here.configuration)
        first = Place(here, t, start.jets, 0.0, energy, slopes=self.beginning, crawling=start.crawling)
        with self.progress:
            found: Place | Verdict = self._begun(first)
            while isinstance(found, Place):
                try:
                    found = self._next(found)
                except KeyboardInterrupt:  # between two pieces; during a piece the integrator is asked to stop
                    if not self.record.pieces:
                        raise
                    found = outcomes.verdict(dop853.Status.INTERRUPTED, Ending(self.record.pieces[-1].end))
        return self.record.joined(jets, found)

    def _begun(self, place: Place) -> Place | Verdict:
        """Return the first place, after the events that are met there: a motion that starts on the surface of an event and passes through
        it in the event's direction meets it immediately.
        """
        hit = self._hit(place)
        if hit is not None:
            return hit
        events = self.request.events
        met = [k for k, event in enumerate(events) if event.direction and self._goes_through(place, event)]
        stopping = next((k for k in met if events[k].stops), None)
        if stopping is None:
            for k in met:
                self.record.met(events[k].text, place.t, place.jets)
            return place
        piece, _ = self._piece(place, place.t)
        self.record.add(piece)
        event = self._at_once(piece, stopping)
        if event.terminal:
            return outcomes.verdict(dop853.Status.WATCH, Ending(place.t, event=event.text))
        return self._differentiated(piece, self._reset(piece, event, stopping))

    def _hit(self, place: Place) -> Place | Verdict | None:
        """Return the place after an impact with which the motion starts; None if it starts with none."""
        here, t, jets = place.setting, place.t, place.jets
        closing = [k for k in touched_at(self.surfaces, here, t, jets) if self.surfaces.speed(here, k, t, jets) < 0]
        if not closing:
            return None
        piece, _ = self._piece(place, place.t)
        self.record.add(piece)
        self.record.met(self.request.switched.modes[closing[0]].text, t, jets)
        return self._differentiated(piece, self._struck(piece, here, t, jets, closing[0]))

    def _differentiated(self, piece: Piece, found: Place | Verdict) -> Place | Verdict:
        """Return the same place with the slopes of its state, or note how the end moves."""
        if self.request.slopes is None:
            return found
        parameters = self.request.slopes.parameters
        if isinstance(found, Place):
            slopes = carried(piece, found.setting, found.t, found.jets, found.crossing, parameters)
            return replace(found, slopes=slopes)
        if found[0] is Outcome.EVENT and self.ended_by is not None:
            self.record.end_moves = time_slopes(piece, self.ended_by, ends_of(piece, len(parameters)), parameters)
        return found

    def _goes_through(self, place: Place, event: Watched) -> bool:
        """Tell whether the motion starts on the surface of an event and leaves it on the side where the event has happened.

        A motion that starts at rest on the surface of an event with a reset passes through it: a body that is pressed against a wall. For
        an event without a reset, a motion that starts at rest has not met x' = 0.
        """
        here, t = place.setting, place.t
        function = self.request.switched.read(event.expression, here.configuration)
        terms = here.numbers(here.function(Add.make_args(function)), t, here.native(place.jets, 0.0))
        if not abs(terms.sum()) <= _ROUND_OFF * np.abs(terms).sum():
            return False
        _, rate, second = self._rates_of(here, event, t, place.jets)
        if event.reset is not None:
            return event.direction * (rate or second) > 0
        return event.direction * rate > 0 and all(z.order == 0 for z in jets_in(function))

    def _next(self, place: Place) -> Place | Verdict:
        """Run a piece from a place; return the beginning of the next one, or the verdict if there is none."""
        driven = self._driven(place)
        if not isinstance(driven, Place):
            return driven
        place = driven
        if place.jump and self.record.jumps:
            self.record.jumps[-1] = True
        if place.jump or self.smooth_since is None:
            self.smooth_since = place.t, place.jets
        end, forward = float(self.request.times[-1]), self.surfaces.direction
        near = place.t + forward * min(
            _PIECE_AFTER_RESET * place.expected_in, _CRAWLING_TIME * abs(end - float(self.request.times[0])) if place.crawling else np.inf
        )
        piece, task = self._piece(place, self._until(place, near if (end - near) * forward > 0 else end))
        if self.left is not None and has_pole_at_begin(piece):
            return outcomes.pole_on_surface(self.left, piece.begin)
        self.record.add(piece)
        self.latest = piece
        met = self._met(piece)
        self.left = None if met is None else self.request.switched.modes[met].text
        if self.left is not None and has_pole_at_end(piece):
            return self._ended(piece, task) if self._is_singular(piece, task) else outcomes.pole_on_surface(self.left, piece.end)
        beyond = self.surfaces.wrong_side(piece.setting, float(piece.run.t), piece.setting.named(piece.run.y), met)
        if beyond is not None:
            return outcomes.wrong_side(beyond, float(piece.run.t))
        found = self._after(piece, task)
        found = self._differentiated(piece, self._jumped_over(piece, found) if isinstance(found, Place) else found)
        paused = (place.awaited is not None or np.isfinite(place.expected_in)) and isinstance(found, Place) and not found.jump
        return replace(found, expected_in=_GROWTH_AFTER_RESET * place.expected_in) if paused and isinstance(found, Place) else found

    def _until(self, place: Place, wanted: float) -> float:
        """The end of a piece: the wanted time, or the breakpoint before it."""
        schedule = self.request.schedule
        if schedule is None:
            return wanted
        if self.driven_until is None:
            self.driven_until = schedule.ends(place.t)
        return wanted if (self.driven_until - wanted) * self.surfaces.direction > 0 else self.driven_until

    def _driven(self, place: Place) -> Place | Verdict:
        """Return the same place with the inputs that follow a breakpoint, if it is one."""
        schedule, until = self.request.schedule, self.driven_until
        if schedule is None or until is None or (until - place.t) * self.surfaces.direction > 0:
            return place
        state = {z.name: v for z, v in place.jets.items()}
        values = schedule.values(place.t, state)
        self.driven_until = schedule.ends(place.t)
        known = self.surfaces
        binding = replace(known.binding, parameters={**known.binding.parameters, **values})
        self.surfaces = known.driven_by(binding)
        here = place.setting
        there = replace(here, binding=replace(here.binding, parameters={**here.binding.parameters, **values}))
        before = place.jets
        try:
            place = replace(place, jets=self._with_momenta(here, there, place))
            there, jets = self._continued(there, place)
        except (InitialError, StateError) as fault:
            return outcomes.input_jumps(place.t, fault.what)
        except Refused as reason:
            return outcomes.momentum_of_input(place.t, str(reason))
        gained = _energy(there, place.t, jets) - _energy(here, place.t, before)
        found = replace(place, setting=there, jets=jets, energy=place.energy + gained, jump=True)
        return found if self.latest is None else self._jumped_over(self.latest, found)

    def _with_momenta(self, here: Setting, there: Setting, place: Place) -> Mapping[Jet, float]:
        """The state with velocities that keep the momenta: these contain inputs that may jump, as the mass in u*x'^2/2 does."""
        schedule, t = self.request.schedule, place.t
        inputs = frozenset(jets_in(here.flow.system.equations.lowered.lagrangian, Input))
        if schedule is None or not inputs:
            return place.jets
        old, new = here.binding.at(inputs, t), there.binding.at(inputs, t)
        changes = {z: (old[z], new[z]) for z in inputs if abs(old[z] - new[z]) > schedule.rounding(z, t)}
        moved = across_inputs(self.request.switched, here, changes, t, place.jets) if changes else place.jets
        if moved is not place.jets and self.request.slopes is not None:
            raise Refused("slopes are not known where a momentum contains an input that jumps.")
        return moved

    def _continued(self, there: Setting, place: Place) -> tuple[Setting, Mapping[Jet, float]]:
        """The setting and the state with new inputs: where functions switch with an input, other modes may hold."""
        if self.request.switched.modes:
            start = begin(self.surfaces, State({z.name: v for z, v in place.jets.items()}), place.t, self.request.where)
            for mode, before, after in zip(
                self.request.switched.modes, place.setting.configuration, start.setting.configuration, strict=True
            ):
                if before != after:
                    self.record.switches.append(Switch(mode.text, place.t, before, after))
            return start.setting.suited(place.t, start.jets), start.jets
        jets, far = self._settled(there, place.t, place.jets)
        if not far <= FAR:
            raise StateError("the state does not satisfy the constraints with the new value.", where=self.request.where)
        return there, jets

    def _piece(self, place: Place, until: float) -> tuple[Piece, Task]:
        here, request = self.surfaces.watched(place.setting, place.t, place.jets), self.request
        place = replace(place, setting=here)
        watched = watching(_awaiting(request, place.awaited), place)
        until = self._before_others(here, watched, place, until)
        conserving = request.conserve and not here.flow.has_power
        project = here.compiled.conserving() if conserving else here.compiled.project
        wanted = wanted_times(request.times, place.t, place.jump or not self.record.pieces)
        wanted = wanted[(until - wanted) * self.surfaces.direction >= 0]
        task = make_task(request, place, until, watched, project, self.progress, request.max_steps - self.record.steps, wanted)
        task = replace(task, accuracy=request.accuracy, before=self.record.largest, wide=self._wide(here, place, conserving))
        method = Implicit() if place.crawling else request.method
        if method == Explicit() and request.reduced and not conserving:
            task = replace(task, stepping=here.compiled.reduced_stepping)
        run = self.progress.follow(method.run, task)
        if (
            not method.smooth and run.looked
        ):  # the method is less exact between its nodes than at them, so that the defect does not measure its error
            run.inside[dop853.codes.OFF] = 0.0
        first = here.native(place.jets, place.work)
        piece = Piece(here, run, method.basis, project, place.energy, place.work, place.t, float(run.t), first)
        self._check_signs(piece, watched, task)
        if task.wide is not None and request.slopes is not None:
            self.record.net.differentiated(piece, request.slopes, from_lanes(task.wide.usual, len(request.slopes)))
        return piece, task

    def _check_signs(self, piece: Piece, watched: Watching, task: Task) -> None:
        """Have the signs of the functions checked by which a piece was led."""
        request = self.request
        modes = changes_of(request.switched, piece.setting.configuration)
        texts = [*[event.text for event in request.events], *[request.switched.modes[change.mode].text for change in modes]]
        span = request.span
        sides = [*[0] * len(request.events), *[-change.direction for change in modes]]
        self.record.net.watch(piece, watched.functions[: len(texts)], sides, texts, task.watch, span)
        known, m = request.switched.modes, piece.setting.configuration
        plain = {len(request.events) + k: change for k, change in enumerate(modes) if not isinstance(known[change.mode], Touch | Direction)}
        plain = {k: change for k, change in plain.items() if m[change.mode] != SLIDING}

        def beyond(k: int) -> Setting | None:
            try:
                return self.surfaces.setting(tuple(plain[k].value if j == plain[k].mode else value for j, value in enumerate(m)))
            except StateError:
                return None  # nothing moves there

        functions = watched.functions[: len(texts)]
        self.record.net.graze(piece, functions, {k: texts[k] for k in plain}, task.watch, beyond, request.tolerance)

    def _wide(self, here: Setting, place: Place, conserving: bool) -> Wide | None:
        """The slopes that are integrated together with the state of a piece."""
        if self.request.slopes is None or place.slopes is None:
            return None
        span = float(self.request.times[-1] - self.request.times[0])
        return slopes_with_state(here, place.t, place.jets, place.slopes, self.request.slopes, self.record.largest, span, conserving)

    def _before_others(self, here: Setting, watched: Watching, place: Place, until: float) -> float:
        """Return the latest end of a piece for which a root shortly after its beginning is not taken for the beginning itself.

        Roots of modes that vanish at the beginning are the beginning; all other modes are met, at any distance. Roots of events, which may
        have been met already, are the beginning if they follow within the accuracy of located roots.
        """
        t, end = place.t, float(self.request.times[-1])
        span = abs(end - float(self.request.times[0]))
        ahead = self.surfaces.direction * min(_FOLLOWED_CLOSELY * span, abs(until - t))
        if not watched.watches or not ahead:
            return until
        watch, energy = here.watch(watched.functions), reference(here, place.energy, place.work)
        y = here.native(place.jets, place.work)
        rates = here.compiled.rhs(t, y, here.parameters(t, energy))

        def signs(later: float) -> Array:
            return np.sign(watch(t + later, y + later * rates, here.parameters(t + later, energy))[2:])

        with np.errstate(invalid="ignore"):
            turned = np.flatnonzero(signs(0.0) * signs(ahead) < 0)
            turned = turned[[k != (place.awaited or (-1,))[0] for k in turned]]
            if not len(turned):
                return until
            events, least = len(self.request.events), 32 * float(np.spacing(abs(t)))
            changes = changes_of(self.request.switched, here.configuration)
            begun = {events + k for k, change in enumerate(changes) if change.mode in self.surfaces.vanishing(here, t, place.jets)}
            modes = [int(k) for k in turned if events <= k < events + len(changes) and k not in begun]
            others = [int(k) for k in turned if k not in modes]
            found = (_first_turn(signs, which, ahead, floor) for which, floor in ((modes, least), (others, LEAST * span + least)))
            return min((until, *(t + 4 * far for far in found if far)), key=lambda at: abs(at - t))

    def _met(self, piece: Piece) -> int | None:
        """The mode at whose surface a piece ended."""
        index = int(piece.run.index) - 2 - len(self.request.events)
        if piece.run.status is not dop853.Status.WATCH or index < 0:
            return None
        return changes_of(self.request.switched, piece.setting.configuration)[index].mode

    def _after(self, piece: Piece, task: Task) -> Place | Verdict:
        run, here, request = piece.run, piece.setting, self.request
        t, native, events = float(run.t), np.array(run.y), request.events
        for at, index, state in zip(run.found_times, run.found_indices, run.found_states, strict=True):
            if 2 <= index < 2 + len(events):
                self.record.met(events[int(index) - 2].text, float(at), here.named(state))
        index = int(run.index) - 2
        renewed = None
        if run.status is dop853.Status.FLOOR and run.index == 0 and self._decays(piece, task):
            return Place(here, t, here.named(native), self._work(piece), piece.energy)
        if run.status is dop853.Status.FLOOR and self.reorderings < REORDERINGS:
            renewed = here.with_other_pivots(t, native) if run.index == 1 else here.with_other_minor(t, native)
        if renewed is not None:
            self.reorderings += 1
            return Place(renewed, t, here.named(native), self._work(piece), piece.energy)
        if run.status is dop853.Status.FINISHED and t != float(request.times[-1]):
            met = (
                self._met_here(piece) if t == self.driven_until else None
            )  # the next piece begins there, and takes roots for its beginning
            going_on = Place(here, t, here.named(native), self._work(piece), piece.energy)
            return going_on if met is None else self._stopped_by(piece, met)
        if run.status is dop853.Status.FINISHED:
            last = self._met_here(piece)
            return self._ended(piece, task) if last is None else self._met_at_the_end(piece, last)
        if run.status in (dop853.Status.NOT_FINITE, dop853.Status.STEP_TOO_SMALL):
            end = self.surfaces.end_of_a_side(here, t, native, piece.first)
            if end is not None:
                later, beyond = self.surfaces.just_beyond(here, end, t, native)
                self.left = request.switched.modes[end].text
                if has_pole_at_end(piece, (later, here.native(beyond, native[-1]))):
                    return outcomes.pole_on_surface(self.left, later)
                found = self._switched(piece, task, end, -here.configuration[end], beyond)
                found = self._through(found, request.switched.driven(request.switched.modes[end].function, here.configuration))
                return replace(found, t=later) if isinstance(found, Place) and self._within(later) else found
        if run.status is not dop853.Status.WATCH or index < 0:
            return self._ended(piece, task)
        if index >= len(events) and self._is_singular(piece, task):
            return self._ended(piece, task)
        met = index if index < len(events) else self._met_here(piece)
        if met is not None and t == float(request.times[-1]):
            return self._met_at_the_end(piece, met)
        if met is not None:
            return self._stopped_by(piece, met)
        change = changes_of(request.switched, here.configuration)[index - len(events)]
        return self._through(self._switched(piece, task, change.mode, change.value), change.function)

    def _is_singular(self, piece: Piece, task: Task) -> bool:
        """Whether a piece ends at a singular state; max(0, 1 - abs(x)) as a pivot vanishes at regular states too."""
        here, fallen = piece.setting, self._lowest_fall(piece, task) <= SMALLEST_PIVOT
        return fallen and not here.regular(float(piece.run.t), here.named(_without_round_off(piece)))

    def _stopped_by(self, piece: Piece, index: int) -> Place | Verdict:
        """Continue after an event that ends a piece, or end the motion."""
        event = self._at_once(piece, index)
        if not event.terminal and event.reset is not None:
            return self._reset(piece, event, index)
        self.ended_by = self.request.switched.read(self.request.events[index].expression, piece.setting.configuration)
        status = dop853.Status.WATCH if event.terminal else dop853.Status.FINISHED
        return outcomes.verdict(status, Ending(float(piece.run.t), event=event.text))

    def _decays(self, piece: Piece, task: Task) -> bool:
        """Whether a small determinant became so over the whole time, as exp(-t) does, and does not vanish at a time just ahead."""
        t, y = float(piece.run.t), np.array(piece.run.y)
        ahead = _JUST_AHEAD * (abs(t) + TIME_LEFT * abs(float(self.request.times[-1]) - t)) * self.surfaces.direction
        rates = task.rhs(t, y, task.parameters_at(t, y))
        places = ((t - far, y - far * rates) for far in (0.0, ahead))
        here, before = (abs(float(task.watch(at, state, task.parameters_at(at, state))[0])) for at, state in places)
        return bool(0 < before < 2 * here)

    def _within(self, t: float) -> bool:
        """Whether a time is before the end of the run."""
        return (float(self.request.times[-1]) - t) * self.surfaces.direction > 0


def _first_turn(signs: Callable[[float], Array], which: Sequence[int], ahead: float, least: float) -> float:
    """Return the time until the first of some functions has changed its sign, to a hundredth; 0 if that is at most `least`."""
    if not which:
        return 0.0
    first, near, far = signs(0.0), 0.0, ahead
    while abs(far - near) > 1e-2 * abs(far) and abs(far) > least:
        middle = 0.5 * (near + far)
        near, far = (near, middle) if np.any((first * signs(middle))[list(which)] < 0) else (middle, far)
    return far if abs(far) > least else 0.0


def _energy(here: Setting, t: float, jets: Mapping[Jet, float]) -> float:
    return here.compiled.energy_at(t, here.native(jets, 0.0), here.parameters(t))


def _awaiting(request: Request, awaited: tuple[int, int] | None) -> Request:
    """Return the request with an event in one direction only: its root was located up to round-off, on either side."""
    if awaited is None:
        return request
    events = [replace(e, direction=awaited[1]) if k == awaited[0] else e for k, e in enumerate(request.events)]
    return replace(request, events=tuple(events))


def _without_round_off(piece: Piece) -> Array:
    """The end of a piece, with zeros in place of components that are round-off of their values at its beginning.

    Where a piece ends at a root, the function of the root is round-off there; as a pivot it would seem to be merely small.
    """
    end = np.array(piece.run.y)
    return np.where(np.abs(end) <= _ROUND_OFF * np.abs(piece.first), 0.0, end)


_NEEDS_NODES: Remembered[list[bool]] = Remembered(64)
"""Whether a motion of these equations was repeated because its checks needed nodes; the next ones keep them."""


def follow(
    request: Request,
    start: Start,
    surfaces: Surfaces,
    progress: Progress,
    certified_to: float,
    slopes: Mapping[Jet, Array] | None = None,
) -> Trajectory:
    """Return the trajectory from a start with its slopes; `certified_to` is the tolerance of its certificate."""
    dense = not request.final and len(request.times) == 2
    needs = _NEEDS_NODES.get(request.switched, (), lambda: [False])
    request = replace(request, nodes=needs[0] and not request.events and not request.switched.modes)
    net = Net(certified_to, request.method.smooth, request.judged)
    record = Record(request.switched, request.binding, request.final, dense, request.tolerance, net)
    record.directions = request.slopes
    motion = Course(request, surfaces, record, progress=progress, beginning=slopes).run(start)
    if not net.unsettled or not motion.outcome.reached_end:
        return motion
    needs[0] = True
    whole, fresh = replace(request, final=False, times=request.times[[0, -1]], slopes=None), replace(surfaces, _rest=None)
    again = follow(whole, start, fresh, Progress(False, progress.t0, progress.t1, progress.title, request.where), certified_to)
    if again.outcome is Outcome.INTERRUPTED:
        return stopped(motion)
    return replace(motion, certificate=motion.certificate.with_figures(again.certificate, "rounding"))


def stopped(motion: Trajectory) -> Trajectory:
    """A motion whose checks the user did not wait for."""
    outcome, message = outcomes.stopped_in_checks()
    return replace(motion, outcome=outcome, message=message)
