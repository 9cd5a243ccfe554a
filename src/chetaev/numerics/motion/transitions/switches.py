"""The transitions between smooth pieces of a motion at switching surfaces: rest, impacts, jumps of the Lagrangian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sympy import Expr

from chetaev.core.errors import StateError
from chetaev.core.symbols import Input, Jet, jets_in, moved_by
from chetaev.numerics.corners.mode import SLIDING, Configuration, Direction, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.methods import dop853
from chetaev.numerics.methods.base import Task
from chetaev.numerics.motion import outcomes
from chetaev.numerics.motion.outcomes import Ending, Verdict, locus_near, pole_near
from chetaev.numerics.motion.record import Record
from chetaev.numerics.motion.trajectory import Switch
from chetaev.numerics.slopes.jumps import Crossing, Moves
from chetaev.numerics.smooth_pieces.bounces import Landing, landed, repeat_impact, touched_at
from chetaev.numerics.smooth_pieces.momentum_jumps import Refused, across, across_together
from chetaev.numerics.smooth_pieces.piece import Piece, Setting
from chetaev.numerics.smooth_pieces.request import Place, Request
from chetaev.numerics.smooth_pieces.switching import TOO_LARGE, Surfaces

FALLEN_PIVOT = 1e-4
"""Relative fall of a pivot or of the determinant: where steps become too small, or projection fails, and one fell below this, the singular
locus is reported as the reason."""
TOO_SOON = 1e-9
"""Relative to the duration of the run: shorter intervals between events of one kind are an accumulation, which ends the run."""
_MOST_CLOSE_EVENTS = 3
"""Number of such intervals in a row that end the run."""
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
        return replace(found, energy=piece.energy + after - before, jump=True, expected_in=landing.expected_in)

    @staticmethod
    def _meet_together(here: Setting, touched: Sequence[int]) -> bool:
        """Whether several open contacts are hit at one moment: a small change of the start separates the impacts."""
        return sum(here.configuration[k] != SLIDING for k in touched) > 1

    def _impact_map(self, landing: Landing) -> Moves:
        """The state after an impact from the state before, with any values of the parameters."""
        return lambda here, t, jets: repeat_impact(self._surfaces_with(here), here, landing, t, jets)

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
        del times[: -_MOST_CLOSE_EVENTS - 1]
        gaps = np.abs(np.diff(times))
        if len(gaps) < _MOST_CLOSE_EVENTS or not np.all(gaps < TOO_SOON * self.request.span):
            return None
        ratio = float(gaps[-1] / gaps[-2]) if gaps[-2] > 0 else 1.0
        return t + (times[-1] - times[-2]) * ratio / (1 - ratio) if ratio < 1 else np.inf

    def _surfaces_with(self, here: Setting) -> Surfaces:
        """The surfaces with the values of the parameters that a setting has."""
        known, own = self.surfaces, {z: here.binding.parameters[z] for z in self.request.binding.parameters}
        binding = replace(self.request.binding, parameters=own)
        return Surfaces(known.switched, binding, known.tolerance, known.direction, known.span, known.component)


def _jump_map(switched: Switched, k: int) -> Moves:
    """The state beyond a jump of the Lagrangian from the state before."""
    return lambda here, t, jets: across(switched, here, k, t, jets).jets
