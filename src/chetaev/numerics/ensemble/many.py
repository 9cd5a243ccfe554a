"""simulate_many: many motions of one system at once, each the motion `simulate` gives, in compiled code on all processors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chetaev.core.errors import Interrupted, UsageError
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.ensemble.collect import collect
from chetaev.numerics.ensemble.completion import completed
from chetaev.numerics.ensemble.corners import follow_alone
from chetaev.numerics.ensemble.given import read
from chetaev.numerics.ensemble.result import Ensemble
from chetaev.numerics.ensemble.run import Integration
from chetaev.numerics.ensemble.threads import Workers
from chetaev.numerics.methods.accuracy import read_accuracy
from chetaev.numerics.motion.settings import is_usual
from chetaev.numerics.motion.simulate import names_of_state, read_max_step, read_max_steps, read_method, read_times
from chetaev.numerics.stability.given import refuse_choice


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
    threads: int | None = None,
    max_steps: int = 1_000_000,
    max_step: Any = None,
    progress: bool | None = None,
    branch: None = None,
    gauge: None = None,
) -> Ensemble:
    """The ends of many motions over one interval.

    Each member ends where `simulate` with `keep="final"` ends from the same start, whatever the other members and the number of threads
    are. Members that reach a corner of sign, abs, min or max are run by `simulate` itself, one after another, which takes longer. A member
    that fails affects no other: `ensemble.failed` lists such members, `ensemble.started` those with a motion, and `ensemble.message(i)`
    gives the reason.

    Args:
        equations: Equations, or a model, which brings its own start, interval, values and settings; arguments given here take precedence.
        starts: A mapping (or a `State`) to numbers, texts or arrays, or a list of such mappings, one per member.
        t: The interval `(t0, t1)`.
        parameters: A mapping to numbers or arrays. All arrays are broadcast against each other.
        tolerance: The tolerance, as in `simulate`.
        scale: Typical sizes of jets, as in `simulate`.
        inputs: Functions of time for the inputs, by name.
        method: The integrator; `simulate` runs every member if it is not the default one.
        threads: The number of threads; all processors by default.
        max_steps: The largest number of steps of a member.
        max_step: The longest step, as in `simulate`.
        progress: Whether a bar shows the progress; by default for runs longer than a second on a terminal or in a notebook.
        branch: Not supported; only None is accepted.
        gauge: Not supported; only None is accepted.

    Returns:
        The ends, extrema, drifts and outcomes of all members.

    Raises:
        UsageError: For an argument of a wrong type or value, and for a model with events.
        ParameterError: If a value of a parameter or an input is missing.
        KeyboardInterrupt: After Ctrl-C; its attribute `motion` holds the ensemble so far.

    >>> from chetaev import System, derive
    >>> spring = System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
    >>> ensemble = simulate_many(derive(spring), {"x": [1, 2, 3], "x'": 0}, (0, 3.141592653589793), parameters={"k": 1}, tolerance=1e-12)
    >>> ensemble.final["x"].round(9)
    array([-1., -2., -3.])
    """
    refuse_choice("simulate_many", branch, gauge)
    own = starts is None
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        starts = model.start if starts is None else starts
        t = model.t if t is None else t
        tolerance = model.tolerance if tolerance is None else tolerance
        max_step = model.max_step if max_step is None else max_step
        scale = model.run["scale"] if scale is None else scale
        method = model.method if method is None else method
        refuse_choice("simulate_many", **model.choice)
        if model.events:
            what = "simulate_many takes no events, and the model has some."
            raise UsageError(what, where="simulate_many", hint="simulate, member by member; or dataclasses.replace(model, events=())")
        parameters, inputs = {**model.parameters, **(parameters or {})}, {**model.inputs, **(inputs or {})}
    if not isinstance(equations, Equations):
        hint = "simulate_many(ch.derive(system, principle), starts, t, ...)"
        raise UsageError(f"simulate_many takes equations or a model, not {type(equations).__name__}.", where="simulate_many", hint=hint)
    where = f"simulate_many {equations.system.label}"
    if starts is None:
        raise UsageError("no starts are given.", where=where, hint='simulate_many(equations, {"x": [0, 1, 2], ...}, t)')
    times = read_times(t, where)
    if len(times) != 2:
        raise UsageError("an ensemble keeps the end of each motion only.", where=where, hint="t=(t0, t1)")
    method = read_method(method, where)
    max_steps, longest = read_max_steps(max_steps, where), read_max_step(max_step, where)
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads={threads!r} is not a number of threads.", where=where, hint="threads=4, or None for all processors")
    given = read(equations, starts, parameters, inputs, float(times[0]), where, one_start=own)
    accuracy = read_accuracy(tolerance, scale, names_of_state(given.switched, scale), where)
    t1 = float(times[1])
    with Workers(threads, given.size, progress, equations.system.name or "simulate_many") as workers:
        run = Integration(given, completed(given), accuracy, max_steps, longest, workers)
        if is_usual(method):
            run.to(t1)
        else:
            run.leave_to_simulate()
        cornered = map(int, np.flatnonzero(run.cornered))
        motions, notes = follow_alone(given, cornered, t1, accuracy, method, max_steps, max_step, workers)
    ensemble = collect(run, motions, run.completion.notes | notes)
    if workers.stopped:
        raise Interrupted(ensemble)
    return ensemble
