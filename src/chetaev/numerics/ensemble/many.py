"""simulate_many: many motions of one system at once, each the motion `simulate` gives, in compiled code on all processors."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from sympy import Expr

from chetaev.core.errors import Interrupted, UsageError, about
from chetaev.core.fixes import Ask, Code, SetArgument
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.core.support.waiting import setting_up
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.driving.feedback import with_feedback
from chetaev.numerics.driving.schedule import divided, schedule
from chetaev.numerics.ensemble.arguments import read
from chetaev.numerics.ensemble.collect import Collection
from chetaev.numerics.ensemble.completion import completed
from chetaev.numerics.ensemble.members import Members, Settings, follow_alone
from chetaev.numerics.ensemble.result import Ensemble
from chetaev.numerics.ensemble.run import Integration, may_touch_zero
from chetaev.numerics.ensemble.series import room_for_series
from chetaev.numerics.ensemble.threads import Workers
from chetaev.numerics.graphs.binding import bind
from chetaev.numerics.methods.accuracy import read_accuracy
from chetaev.numerics.motion.settings import is_usual
from chetaev.numerics.motion.simulate import names_of_state, read_max_step, read_max_steps, read_method, read_times
from chetaev.numerics.slopes.directions import require_names
from chetaev.numerics.smooth_pieces.events import read_events
from chetaev.numerics.verdict.branch_choice import Selection, chosen

_BLOCK = 1 << 16
"""Members that are integrated before their results are written and their room is used again: 30 MB for a small system. Fewer would leave
processors idle between blocks."""


@public
def simulate_many(
    equations: Any,
    starts: Any = None,
    t: Any = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    tolerance: Any = None,
    scale: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    method: Any = None,
    events: Sequence[Any] | None = None,
    threads: int | None = None,
    max_steps: int | None = None,
    max_step: Any = None,
    series: Any = None,
    progress: bool | None = None,
    branch: Any = None,
    gauge: Any = None,
    slopes: Sequence[str] | None = None,
    conserve: str | None = None,
) -> Ensemble:
    """Many motions over one interval.

    Each member is the motion of `simulate` from the same start, bit for bit, whatever the other members and the number of threads are.
    Several members are computed side by side in vector registers. Members that reach a corner of sign, abs, min or max, and all members if
    there are events, contacts or sampled inputs, are run by `simulate` itself, one after another, which takes longer. A member that fails
    affects no other: `ensemble.failed` lists such members, `ensemble.started` those with a motion, and `ensemble.message(i)` gives the
    reason.

    Args:
        equations: Equations, or a model, which brings its own start, interval, values and settings; arguments given here take precedence.
        starts: A mapping (or a `State`) to numbers, texts or arrays, or a list of such mappings, one per member.
        t: The interval `(t0, t1)`, of which the ends are kept; or three or more times, at which all states are kept.
        parameters: A mapping to numbers or arrays. All arrays are broadcast against each other.
        tolerance: The tolerance, as in `simulate`.
        scale: Typical sizes of jets, as in `simulate`.
        inputs: What drives the motions, by name, as in `simulate`. With samples and controllers members are run one after another.
        method: The integrator; `simulate` runs every member if it is not the default one.
        events: Events at roots of expressions, as in `simulate`.
        threads: The number of threads; all processors by default.
        max_steps: The largest number of steps of a member, a million by default.
        max_step: The longest step, as in `simulate`.
        series: Where the states at given times are written: an array of members, times and components, or the name of a file, `"x.npy"`,
            which is mapped into memory. A new array by default; if it would not fit into memory, that is said before the run begins.
        progress: Whether a bar shows the progress; by default for runs longer than a second on a terminal or in a notebook.
        branch: The manifold of all motions, where there are several, as in `simulate`; then members are run one after another.
        gauge: Functions of time for quantities that the equations leave free, as in `simulate`; members are run one after another.
        slopes: What the motions are differentiated by, as in `simulate`: `ensemble.slope("x", "a")` is an array over the members, and over
            the times where series are kept. Members are then run by `simulate`, one after another.
        conserve: `"energy"` to project onto the energy as well, as in `simulate`; members are run one after another.

    Returns:
        The ends, extrema, drifts and outcomes of all members, and their states at given times.

    Raises:
        UsageError: For an argument of a wrong type or value, and for series that do not fit into memory.
        ParameterError: If a value of a parameter or an input is missing.
        KeyboardInterrupt: After Ctrl-C; its attribute `motion` holds the ensemble so far.

    >>> from chetaev import System, derive
    >>> spring = System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
    >>> ensemble = simulate_many(derive(spring), {"x": [1, 2, 3], "x'": 0}, (0, 3.141592653589793), parameters={"k": 1}, tolerance=1e-12)
    >>> ensemble.final["x"].round(9)
    array([-1., -2., -3.])
    >>> ensemble = simulate_many(derive(spring), {"x": [1, 2, 3], "x'": 0}, [0, 1, 2, 3], parameters={"k": 1})
    >>> ensemble["x"].shape, bool(ensemble[2].final["x"] == ensemble["x"][2, -1])
    ((3, 4), True)
    """
    own = starts is None
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        starts = model.start if starts is None else starts
        t = model.t if t is None else t
        tolerance = model.tolerance if tolerance is None else tolerance
        max_step = model.max_step if max_step is None else max_step
        max_steps = model.max_steps if max_steps is None else max_steps
        slopes = model.run["slopes"] if slopes is None else slopes
        scale = model.run["scale"] if scale is None else scale
        conserve = model.conserve if conserve is None else conserve
        method = model.method if method is None else method
        branch, gauge = (model.choice[name] if wish is None else wish for name, wish in (("branch", branch), ("gauge", gauge)))
        events = model.events if events is None else events
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    if not isinstance(equations, Equations):
        hint = Ask("simulate_many", "ch.derive(system, principle), starts, t, ...")
        raise UsageError(
            f"simulate_many takes equations or a model, not {type(equations).__name__}.",
            where=about("simulate_many", "equations"),
            hint=hint,
        )
    where = f"simulate_many {equations.system.label}"
    if starts is None:
        raise UsageError(
            "no starts are given.", where=about(where, "starts"), hint=Ask("simulate_many", 'equations, {"x": [0, 1, 2], ...}, t')
        )
    times = read_times(t, where)
    if series is not None and len(times) == 2:
        raise UsageError(
            "series is given without times at which states are stored.",
            where=about(where, "series"),
            hint=(SetArgument("t", Code("np.linspace(0, 10, 101)")), ": three or more times"),
        )
    method = read_method(method, where)
    max_steps, longest = read_max_steps(max_steps, where), read_max_step(max_step, where)
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise UsageError(
            f"threads={threads!r} is not a number of threads.",
            where=where,
            hint=(SetArgument("threads", 4), ", or None for all processors"),
        )
    equations, inputs = with_feedback(equations, inputs, where)
    stated, guessed = equations, frozenset[str]()
    formulas, sampled = divided(inputs)
    relative, sequences = read_accuracy(tolerance, None, (), where).relative, dict[str, Any]()
    if sampled:
        plan = schedule(equations, sampled, float(times[0]), float(times[-1]), relative, where)
        equations, inputs, sequences = plan.equations, {**formulas, **plan.formulas}, dict(plan.given)
        parameters = {**(parameters or {}), **{z.name: v for z, v in plan.values(plan.begin, None).items()}}
    if branch is not None or gauge is not None:
        equations, starts, guessed = _of_the_first(equations, starts, parameters, inputs, float(times[0]), branch, gauge, where)
    title = equations.system.name or "simulate_many"
    with setting_up(progress, title):
        given = read(equations, starts, parameters, inputs, float(times[0]), where, one_start=own)
    accuracy = read_accuracy(tolerance, scale, names_of_state(given.switched, scale), where)
    settings = Settings(
        times,
        accuracy,
        method,
        () if events is None else events,
        max_steps,
        max_step,
        branch,
        gauge,
        slopes,
        {} if slopes is None else _texts(starts),
        sequences,
        conserve,
    )
    read_events(settings.events, equations, given.batch.compiled.flow.state, where)
    if slopes:
        require_names(slopes, equations, starts, where)
    if conserve not in (None, "energy"):
        raise UsageError(
            f"conserve={conserve!r} is not possible.", where=where, hint=(SetArgument("conserve", "energy"), ", or leave it out")
        )
    alone = any(wish is not None for wish in (branch, gauge, slopes, conserve))
    together = is_usual(method) and not (settings.events or sampled or equations.system.unilateral or alone)
    room = room_for_series(series, given.size, len(times), given.batch.compiled.size, where) if settings.series else None
    found = Collection(given, room, max_steps)
    with Workers(threads, given.size, progress, title) as workers:
        for first in range(0, given.size, _BLOCK):
            part = given.part(first, min(first + _BLOCK, given.size))
            rows = None if room is None else room[first : first + part.size]
            with setting_up(progress, title):
                states = completed(part)  # chooses modes, which are among the parameters
                run = Integration(part, states, accuracy, max_steps, longest, workers, may_touch_zero(part), times, rows)
            if together:
                run.to(float(times[-1]))
            else:
                run.leave_to_simulate()
            motions, notes = follow_alone(Members.of(part, settings, stated, guessed), map(int, np.flatnonzero(run.cornered)), workers)
            found.add(first, run, motions, run.completion.notes | notes)
    ensemble = found.ensemble(Members.of(given, settings, stated, guessed))
    if workers.stopped:
        raise Interrupted(ensemble)
    return ensemble


def _of_the_first(
    equations: Equations,
    starts: Any,
    parameters: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None,
    t: float,
    branch: Any,
    gauge: Any,
    where: str,
) -> tuple[Equations, Any, frozenset[str]]:
    """The equations of a chosen branch and gauge, by the data of the first member; starts with guesses for what the choice determines, and
    the names of these guesses.
    """
    first = starts if isinstance(starts, State | Mapping) else starts[0]
    first = first if isinstance(first, State) else State(first)
    groups = equations.system.groups
    one = State(_first_values(first.fixed, groups), _first_values(first.guess, groups))
    binding = bind(equations.system, _first_values(parameters or {}, ()), inputs, where)
    found = chosen(equations, binding, Selection(one, t, branch, gauge, where, "simulate_many"))
    added = {} if not isinstance(found.start, State) else {z: v for z, v in found.start.guess.items() if z not in one.guess}

    def with_guesses(start: Any) -> State:
        start = start if isinstance(start, State) else State(start)
        return State(start.fixed, {**added, **start.guess})

    more = with_guesses(starts) if isinstance(starts, State | Mapping) else [with_guesses(start) for start in starts]
    return found.equations, more, frozenset(added)


def _first_values(values: Mapping[str, Any], groups: Container[str]) -> dict[str, Any]:
    """The data of the first member; elements of groups as they are."""
    return {z: v if np.ndim(v) == 0 or z in groups else np.ravel(v)[0] for z, v in values.items()}


def _texts(starts: Any) -> dict[str, Any]:
    """The values of a start that are texts or expressions, the same for all members."""
    given = starts.fixed if isinstance(starts, State) else starts
    return {key: v for key, v in given.items() if isinstance(v, str | Expr)} if isinstance(given, Mapping) else {}
