"""simulate: from equations and initial data to a trajectory, in compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from chetaev.core.errors import InitialError, Interrupted, StateError, UsageError, about
from chetaev.core.fixes import Ask, Code, LeaveOut, SetArgument, SetInput, listed
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.waiting import setting_up
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.driving.feedback import with_feedback
from chetaev.numerics.driving.schedule import Schedule, divided, schedule
from chetaev.numerics.evaluation.motion_start import Start, begin
from chetaev.numerics.flow.compiled import Array, compile_equations
from chetaev.numerics.flow.prolongation import square_prolongation
from chetaev.numerics.graphs.binding import bind, number
from chetaev.numerics.methods import METHODS
from chetaev.numerics.methods.accuracy import read_accuracy
from chetaev.numerics.methods.base import Explicit, Method
from chetaev.numerics.motion.one_piece import Wanted, one_piece
from chetaev.numerics.motion.outcomes import not_certified
from chetaev.numerics.motion.progress import Progress
from chetaev.numerics.motion.run import follow, stopped
from chetaev.numerics.motion.series_runs import suits
from chetaev.numerics.motion.settings import MOST_STEPS, MOST_TIMES, Asked, plain_settings, settled
from chetaev.numerics.motion.trajectory import Outcome, Trajectory, asked_for
from chetaev.numerics.slopes.directions import given_slopes, read_directions
from chetaev.numerics.slopes.start_slopes import first_slopes
from chetaev.numerics.smooth_pieces.events import On, read_events
from chetaev.numerics.smooth_pieces.request import Request
from chetaev.numerics.smooth_pieces.switching import Surfaces
from chetaev.numerics.verdict.branch_choice import Selection, chosen, several_at

__all__ = ["On", "simulate"]

_FINER = 1e-3
"""Factor of the tolerance with which a motion is computed again after its checks failed."""
_FINEST = 1e-14
"""Smallest tolerance of that second run; round-off dominates below it."""


@public
def simulate(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    t: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    tolerance: Any = None,
    scale: Mapping[str, Any] | None = None,
    method: Method | None = None,
    events: Sequence[Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    branch: Any = None,
    gauge: Any = None,
    conserve: str | None = None,
    keep: str | None = None,
    max_steps: int | None = None,
    max_step: Any = None,
    progress: bool | None = None,
    slopes: Sequence[str] | None = None,
) -> Trajectory:
    """The motion from a state.

    An explicit method of order 8 with error control runs in machine code; after each step the state is projected onto all constraints,
    hidden ones too. sign, step, abs, min, max and piecewise are switched where their arguments vanish, and dry friction sticks:
    `motion.switches` lists these times. Where a Lagrangian jumps, momenta jump as they would at a steep smooth step. Bounds on the data
    between the points of a step (`motion.enclosed`) keep steps from passing over a narrow barrier, a pulse or a pole.

    Args:
        equations: Equations, or a model, which brings its own start, interval, values and settings; arguments given here take precedence.
        start: Initial data by name, or a `State` with guesses.
        t: The interval `(t0, t1)`, or three or more increasing or decreasing times. Two times always mean an interval, as an array too, and
            every step is stored; with more times, the states at these are stored.
        parameters: Values of the parameters, by name.
        tolerance: The tolerance, 1e-9 by default, relative to each jet and to its typical size over the run, whatever its units are. With
            `(1e-9, 1e-12)` the error of a jet x in a step is at most `1e-9*abs(x) + 1e-12`.
        scale: Typical sizes of jets: `{"x": 1e-9}`.
        method: The integrator; `Implicit()` for stiff systems, `Taylor()` for very tight tolerances.
        events: Events at roots of expressions, texts or `On(...)`; they may end the motion or change its state.
        inputs: What drives the inputs, by name: a formula of t and parameters (`"sin(2*t)"`), or of the state too (`"-k*x - c*x'"`, a
            feedback in the forces); a Python function of t; samples `(times, values)`, joined by lines, or `Sampled(times, values,
            "cubic")`; `Feedback(function, period=0.01)`, a controller that is called once a period. The motion is divided at the times of
            the samples. Of a Python function single values are known only, as `motion.certificate` says.
        branch: The manifold of the motion, where there are several: its number, an object (`analysis.branches[0]`, a leaf of the constraint
            algorithm) or its constraints (`"q3 = 0"`). A start on exactly one of them needs no choice.
        gauge: Functions of time for quantities that the equations leave free: `{"q2": "sin(t)"}`.
        conserve: `"energy"` to project onto the energy as well, where it is a first integral.
        keep: `"steps"`, the default, or `"final"` to store the end, extrema and drift only.
        max_steps: The largest number of steps, a million by default.
        max_step: The longest step, for data without known bounds.
        progress: Whether a bar shows the progress; by default for runs longer than a second on a terminal or in a notebook.
        slopes: Parameters, and values given in the start, by which the motion is differentiated: `motion.slope("x", "a")`. A slope by an
            initial value keeps the other given values; what was completed follows from the constraints. `"δA1"` varies a group element.

    Returns:
        The motion. Its `outcome` says whether and why it ended early.

    Raises:
        UsageError: For an argument of a wrong type or value.
        InitialError: If initial data are missing or contradict the constraints.
        ParameterError: If a value of a parameter or an input is missing.
        StateError: If the equations do not determine the motion at the start; BranchError and GaugeError if a choice is missing.
        KeyboardInterrupt: After Ctrl-C; its attribute `motion` holds the motion so far, with the outcome `interrupted`.

    >>> from chetaev import System
    >>> spring = System("x", lagrangian="x'^2/2 - x^2/2")
    >>> motion = simulate(derive(spring), {"x": 1, "x'": 0}, (0, 3.141592653589793), tolerance=1e-12)
    >>> round(motion.final["x"], 10)
    -1.0
    """
    scene = equations.scene if isinstance(equations, Model) else None
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        start = model.start if start is None else start
        t = model.t if t is None else t
        own = model.run
        tolerance, scale, method, max_step, max_steps, conserve, branch, gauge, events, keep, slopes = (
            own[name] if given is None else given
            for name, given in {
                "tolerance": tolerance, "scale": scale, "method": method, "max_step": max_step, "max_steps": max_steps,
                "conserve": conserve, "branch": branch, "gauge": gauge, "events": events, "keep": keep, "slopes": slopes,
            }.items()
        )  # fmt: skip
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    if not isinstance(equations, Equations):
        hint = Ask("simulate", "ch.derive(system, principle), start, (0, 10), ...")
        raise UsageError(
            f"simulate takes equations or a model, not {type(equations).__name__}.", where=about("simulate", "equations"), hint=hint
        )
    where, events = f"simulate {equations.system.label}", () if events is None else events
    if start is None:
        raise UsageError("no state is given.", where=about(where, "start"), hint=Ask("simulate", 'equations, {"x": 0, ...}, (0, 10)'))
    times = read_times(t, where)
    equations, inputs = with_feedback(equations, inputs, where) if inputs else (equations, inputs)
    written, others = divided(inputs)
    plan = _planned(equations, others, times, tolerance, where) if others else None
    binding = bind(equations.system, parameters, written | dict.fromkeys(others, 0), where)
    users = equations
    if plan is not None:
        equations, binding = plan.first(binding)
    at_once = method is None or (suits(method) and keep == "final" and slopes is None)
    plain = plan is None and at_once and not events and conserve is None and branch is None and gauge is None and not scale
    title = equations.system.name or "simulate"
    with setting_up(progress, title):
        known = one_piece(equations, binding.inputs, method) if plain else None
    if known is not None:
        accuracy, steps, longest = (
            read_accuracy(tolerance, None, (), where),
            read_max_steps(max_steps, where),
            read_max_step(max_step, where),
        )
        final = _one_of(keep, (None, "steps", "final"), "keep", where) == "final"
        shown = Progress(progress, float(times[0]), float(times[-1]), title, where)
        start = State(start) if isinstance(start, Mapping) else start  # once: it is read here, and noted with the motion
        short = known.motion(start, binding, Wanted(times, accuracy, final, steps, longest, slopes, method), where, shown)
        if short is not None:
            settings, unwritten = plain_settings(accuracy, short, steps, longest, final)
            asked = _asked(start, times, method or Explicit(), settings, unwritten)
            return _unless_interrupted(asked_for(short, _labelled(short.equations, equations), asked, scene))
    wish = Selection({} if start is None else start, float(times[0]), branch, gauge, where, "simulate")
    with setting_up(progress, title):
        stated, meant = equations, chosen(equations, binding, wish)
        equations, start, where = meant.equations, meant.start, meant.where
        switched = smooth(equations, Frozen(binding.inputs))
    accuracy = read_accuracy(tolerance, scale, names_of_state(switched, scale), where)
    duration = float(times[-1] - times[0])
    if duration < 0 and switched.contacts:
        raise UsageError(
            "a motion with contacts cannot be followed backwards in time.",
            where=about(where, "unilateral"),
            why="The velocity after an impact does not determine the velocity before.",
            hint="times in rising order",
        )
    surfaces = Surfaces(switched, binding, accuracy.relative, float(np.sign(duration)), abs(duration))
    with setting_up(progress, title):
        surfaces, begun = _begun(surfaces, start, stated, wish, plan, where)
    binding = surfaces.binding
    request = Request(
        switched=switched,
        binding=binding,
        times=times,
        tolerance=accuracy.relative,
        accuracy=accuracy,
        method=read_method(method, where),
        events=read_events(events, equations, surfaces.jets(begun.setting.configuration), where),
        conserve=_conserved(conserve, not equations.system.equations and begun.setting.flow.conserves_energy, where),
        final=_one_of(keep, (None, "steps", "final"), "keep", where) == "final",
        max_steps=read_max_steps(max_steps, where),
        max_step=read_max_step(max_step, where),
        where=where,
        slopes=None if slopes is None else read_directions(slopes, equations, start, binding, where),
        schedule=plan,
    )
    motion = _followed(request, begun, surfaces, progress, _first_slopes(request, begun, start, equations))
    if plan is not None:
        reader: Any = motion.reader
        samples = Frozen(plan.samples(motion.end[0]))
        seen = replace(motion.certificate, beyond=plan.not_enclosed)
        motion = replace(motion, equations=users, reader=replace(reader, samples=samples), certificate=seen)
    motion = _with_labels(motion, stated)
    settings, unwritten = settled(accuracy, request, {"branch": branch, "gauge": gauge}, stated.rewritten is not None)
    return _unless_interrupted(replace(motion, asked=_asked(wish.start, times, request.method, settings, unwritten), scene=scene))


def _begun(surfaces: Surfaces, start: Any, stated: Equations, wish: Selection, plan: Schedule | None, where: str) -> tuple[Surfaces, Start]:
    """The state at which a motion begins, with the surfaces and the first values of controllers; `stated` are the equations as given."""
    try:
        begun = begin(surfaces, start, wish.t, where)
        return (surfaces, begun) if plan is None or not plan.feedback else _under_feedback(plan, surfaces, begun, start, where)
    except StateError as fault:
        raise (several_at(stated, surfaces.binding, wish) if wish.branch is None else None) or fault from None
    except Undefined as cause:  # inputs are evaluated before anything else
        what = f"an input, or a derivative of one that the equations contain, has no finite value at t = {wish.t:g}."
        raise StateError(what, where=where, hint="begin at another time") from cause


def _followed(request: Request, begun: Start, surfaces: Surfaces, progress: bool | None, slopes: Mapping[Jet, Array] | None) -> Trajectory:
    """The motion of a request. Where its checks fail, it is computed again: in many digits, or with a finer tolerance."""
    first, last, accuracy = float(request.times[0]), float(request.times[-1]), request.accuracy
    title = request.switched.original.system.name or "simulate"

    def run(request: Request, begun: Start, surfaces: Surfaces) -> Trajectory:
        return follow(request, begun, surfaces, Progress(progress, first, last, title, request.where), accuracy.relative, slopes)

    motion = run(request, begun, surfaces)
    if motion.certificate.ok or not motion.outcome.reached_end:
        return motion
    if request.schedule is not None and request.schedule.feedback:  # a controller may keep a state between its calls: no run is repeated
        return certified(motion, motion)
    if request.method == Explicit() and begun.setting.compiled.reduced_stepping:  # whose constant pivots may be small
        request = replace(request, reduced=False)
        again = run(request, begun, replace(surfaces, _rest=None))
        if again.certificate.ok or again.outcome is Outcome.INTERRUPTED:
            return again
    if motion.certificate.failed == ("rounding",) and (few := _affordable_steps(begun, request)):
        slow = replace(begun, setting=begun.setting.in_many_digits())
        again = run(replace(request, method=Explicit(), max_steps=few), slow, replace(surfaces, exact=True, _settings={}, _rest=None))
        if again.outcome is Outcome.INTERRUPTED:
            motion = stopped(motion)
        elif again.outcome.reached_end and again.certificate.ok:
            motion = replace(again, certificate=replace(again.certificate, digits=True))
    if not motion.certificate.ok and motion.outcome.reached_end:
        finer = replace(accuracy, relative=max(_FINER * accuracy.relative, min(_FINEST, accuracy.relative)))
        surfaces = replace(surfaces, tolerance=finer.relative, _rest=None)
        begun = replace(begun, setting=begun.setting.renew(first, begun.jets))
        motion = certified(motion, run(replace(request, tolerance=finer.relative, accuracy=finer), begun, surfaces))
    return motion


def _with_labels(motion: Trajectory, given: Equations) -> Trajectory:
    """Return the motion with the equations that were given where equal ones, with other units or texts, were compiled before."""
    found = _labelled(motion.equations, given)
    return motion if found is motion.equations else replace(motion, equations=given)


def _labelled(compiled: Equations, given: Equations) -> Equations:
    """Return the equations that were given where equal ones, with other units or texts, were compiled before."""
    own = compiled.system
    same = own is given.system or (own.units, own.written) == (given.system.units, given.system.written)
    return compiled if same or compiled != given else given


def _planned(equations: Equations, given: Mapping[str, Any], times: Array, tolerance: Any, where: str) -> Schedule:
    """The schedule of inputs that are no formulas."""
    accuracy = read_accuracy(tolerance, None, (), where)
    return schedule(equations, given, float(times[0]), float(times[-1]), accuracy.relative, where)


def _under_feedback(plan: Schedule, surfaces: Surfaces, begun: Start, start: Any, where: str) -> tuple[Surfaces, Start]:
    """The beginning of a run with the first values of its controllers, which are called at a state that must not depend on them."""
    values = plan.values(plan.begin, {z.name: v for z, v in begun.jets.items()})
    binding = replace(surfaces.binding, parameters={**surfaces.binding.parameters, **values})
    driven = Surfaces(surfaces.switched, binding, surfaces.tolerance, surfaces.direction, surfaces.span)
    again = begin(driven, start, plan.begin, where)
    if dict(again.jets) != dict(begun.jets):
        raise UsageError(
            "the constraints contain the feedback.",
            where=about(where, "inputs"),
            why="The state at which the controller is asked would depend on its answer.",
            hint=("a feedback in forces, or ", Ask("servo"), " for forces that enforce a row"),
        )
    return driven, again


_ENDLESS = 2**62
"""Steps: more than any run takes, and a number that the compiled loop can count to."""
_EXPENSIVE = 400_000
"""Instructions in many digits, each a few microseconds, that a motion may take when it is computed again in many digits."""
_STAGES = 16
"""Evaluations of the rates per step, with comparisons inside steps and rejected steps."""
_FEWEST_STEPS = 30
"""Fewest steps that must be affordable in many digits: otherwise the motion is not computed again."""


def _affordable_steps(begun: Start, request: Request) -> int:
    """The number of steps for which a motion can be computed again with rates in many digits, by the explicit method; 0 for a stiff one.

    How many steps it took in doubles does not count: where these have lost their digits, their noise makes steps short.
    """
    if not request.method.smooth or request.slopes is not None:
        return 0
    steps = _EXPENSIVE // (_STAGES * max(begun.setting.compiled.rhs.instructions, 1))
    return min(request.max_steps, steps) if steps >= _FEWEST_STEPS else 0


def _first_slopes(request: Request, begun: Start, start: Any, equations: Equations) -> dict[Jet, Array] | None:
    """The slopes of a start, where a motion is differentiated."""
    if request.slopes is None:
        return None
    if not isinstance(request.method, Explicit):
        raise UsageError(
            "slopes need the explicit method.",
            where=about(request.where, "slopes"),
            why="They run beside the state in its compiled loop, which other methods do not have.",
            hint=LeaveOut(("method",), argument=True),
        )
    if request.schedule is not None and request.schedule.feedback:
        raise UsageError(
            "a motion with a Feedback has no slopes.",
            where=about(request.where, "slopes"),
            why="How the answers of a Python function depend on the state is not known.",
            hint=("a formula of the state is differentiated: ", SetInput(("u",), "-k*x'")),
        )
    given = given_slopes(equations, start, request.binding, request.slopes, request.where)
    return first_slopes(begun.setting, float(request.times[0]), begun.jets, given, request.slopes, request.where)


def _unless_interrupted(motion: Trajectory) -> Trajectory:
    """The motion, unless the user stopped it: then KeyboardInterrupt carries it."""
    if motion.outcome is Outcome.INTERRUPTED:
        raise Interrupted(motion)
    return motion


def _asked(start: Any, times: Array, method: Method, settings: Frozen[str, Any], unwritten: tuple[str, ...]) -> Asked:
    """The arguments of a run."""
    begun_at = start if isinstance(start, State) else State(start)
    if len(times) > MOST_TIMES:
        times, unwritten = times[[0, -1]], (*unwritten, f"the {len(times)} times at which states were stored")
    return Asked(begun_at, tuple(times.tolist()), method, unwritten, settings)


def certified(first: Trajectory, second: Trajectory) -> Trajectory:
    """Return one of two motions: the first, whose checks failed, or the second, computed again with smaller steps and other pivots."""
    if second.outcome is Outcome.INTERRUPTED:
        return stopped(first)
    better = second if second.outcome == first.outcome else first
    found = replace(better.certificate, repeated=True)
    if found.ok:
        return replace(better, certificate=found, tolerance=first.tolerance)
    outcome, message = not_certified(found, better.outcome)
    return replace(better, certificate=found, tolerance=first.tolerance, outcome=outcome, message=message)


def names_of_state(switched: Switched, scale: Any) -> list[str]:
    """Return the names of the jets of the state, if `scale` is given; otherwise none are needed."""
    if not scale:
        return []
    stated = square_prolongation(switched.smooth)
    state = compile_equations(switched.smooth).flow.state if stated is None else stated.structure.state
    return [z.name for z in state]


def read_method(given: Any, where: str) -> Method:
    """Return the method, the explicit one by default."""
    if given is None:
        return Explicit()
    if not isinstance(given, Method):
        raise UsageError(
            f"{given!r} is not a method.",
            where=about(where, "method"),
            hint=[*[part for fix in _methods_for(given, where) for part in (fix, ", ")], "or none"],
        )
    return given


def _methods_for(given: Any, where: str) -> list[SetArgument]:
    """The methods to choose from besides the usual one: that with the word `given`, or all that are registered."""
    kinds = [METHODS.kind_of(word, where) for word in METHODS.words() if word != Explicit.word]
    meant = [kind for kind in kinds if given is kind or str(given).lower() == kind.word] or kinds
    return [SetArgument("method", Code(_call(kind), kind.word)) for kind in meant]


def _call(kind: type[Method]) -> str:
    """The call that makes a method, as Python; three dots for settings that have no default."""
    needed = any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature(kind).parameters.values())
    home = "ch." * kind.__module__.startswith("chetaev.")
    return f"{home}{kind.__name__}({'...' * needed})"


def _one_of(given: Any, known: Sequence[Any], name: str, where: str) -> Any:
    if given not in known:
        hint = listed([SetArgument(name, word) for word in known if word is not None])
        raise UsageError(f"{name}={given!r} is not known.", where=about(where, name), hint=hint)
    return given


def _conserved(given: Any, conserves: bool | None, where: str) -> bool:
    """Tell whether to project onto the energy; raise where the energy changes, or may change."""
    wanted: bool = _one_of(given, (None, "energy"), "conserve", where) == "energy"
    if wanted and conserves is None:
        raise UsageError(
            "whether the energy is a first integral here is undecided.",
            where=about(where, "conserve"),
            why="No exact point of the constraint manifold was found at which the power could be tried; motion.balance still compares the "
            "energy with the work done.",
            hint="leave out conserve",
        )
    if wanted and not conserves:
        raise UsageError(
            "the energy is not a first integral here.",
            where=about(where, "conserve"),
            why="Forces, time, dissipation or reactions do work; motion.balance compares the energy with that work.",
            hint="leave out conserve",
        )
    return wanted


def read_max_steps(given: Any, where: str) -> int:
    """Return the largest number of steps, `MOST_STEPS` by default."""
    if given is None:
        return MOST_STEPS
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise UsageError(f"max_steps={given!r} is not a number of steps.", where=where, hint=SetArgument("max_steps", 1000000))
    return min(int(given), _ENDLESS)


def read_max_step(given: Any, where: str) -> float:
    """Return the longest step allowed; infinite by default."""
    if given is None:
        return np.inf
    found = number(given, {}, f"{where}, max_step", InitialError)
    if found <= 0:
        raise InitialError(
            f"max_step = {found:g} is not positive.",
            where=where,
            hint=(SetArgument("max_step", 0.1), ", a length of time, or leave it out"),
        )
    return found


def read_times(t: Any, where: str) -> Array:
    """Return the ends of an interval, or all times that are wanted."""
    if isinstance(t, str):
        raise UsageError(f"t={t!r} is not an interval.", where=where, hint=(SetArgument("t", (0, 10)), ", or an array of times"))
    if t is None:
        raise UsageError("no interval is given.", where=where, hint=SetArgument("t", (0, 10)))
    try:
        times = np.array([number(v, {}, f"{where}, t", InitialError) for v in t])
    except TypeError:
        raise UsageError(f"t={t!r} is not an interval.", where=where, hint=(SetArgument("t", (0, 10)), ", or an array of times")) from None
    if len(times) == 2:  # an interval, as usual: NumPy would take longer than ten steps
        runs = times[0] != times[1] and times[0] - times[1] == times[0] - times[1]
    else:
        steps = np.diff(times)
        runs = len(times) > 2 and bool(np.all(steps > 0) or np.all(steps < 0))
    if not runs:
        hint = (SetArgument("t", (0, 10)), ", of some length, or increasing (or decreasing) times")
        raise InitialError("the times do not run from a beginning to an end.", where=about(where, "t"), hint=hint)
    return times
