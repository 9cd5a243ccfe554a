"""prepare: everything about a motion that does not depend on its start is decided once, for calls in microseconds."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sympy import Expr

from chetaev.core.declarations import read_value
from chetaev.core.errors import ChetaevError, InitialError, ParameterError, StateError, UnfinishedError, UsageError, about
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import cuts_its_traceback, public
from chetaev.core.support.waiting import setting_up
from chetaev.core.symbols import Jet
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles.given_forces import require_no_contact
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.driving.feedback import with_feedback
from chetaev.numerics.evaluation.motion_start import begin
from chetaev.numerics.flow.compiled import Array, compile_equations
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.binding import Binding, bind, inputs_of
from chetaev.numerics.methods.accuracy import Accuracy, read_accuracy
from chetaev.numerics.motion.direct_run import Straight
from chetaev.numerics.motion.settings import MOST_STEPS
from chetaev.numerics.motion.simulate import names_of_state, read_max_step, read_max_steps, read_times, simulate
from chetaev.numerics.motion.trajectory import Outcome, Trajectory
from chetaev.numerics.prepared.rates import Rates
from chetaev.numerics.smooth_pieces.switching import Surfaces
from chetaev.numerics.start.data import read_state
from chetaev.numerics.verdict.branch_choice import decided_by_numbers, on_one_branch


@public
def prepare(
    equations: Any,
    t: Any = None,
    tolerance: Any = None,
    outputs: Sequence[str] | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    scale: Mapping[str, Any] | None = None,
    max_steps: int = MOST_STEPS,
    max_step: Any = None,
) -> Prepared:
    """Motions over one interval, prepared for many calls with arrays.

    Args:
        equations: Equations, or a model, which brings its own interval, inputs and settings; arguments given here take precedence.
        t: The interval `(t0, t1)`.
        tolerance: The tolerance, as in `simulate`.
        outputs: Jets, multipliers or expressions, as texts, whose values at the end are computed; the jets of the state by default.
        inputs: What drives the motion, by name: formulas of time, or of the state.
        scale: Typical sizes of jets, as in `simulate`.
        max_steps: The largest number of steps.
        max_step: The longest step, as in `simulate`.

    Returns:
        A value that can be called, pickled and used by several threads.

    Raises:
        UsageError: For an argument of a wrong type or value, and if the motion depends on the choice of a branch or a gauge.
        NotationError: If an output cannot be read.

    >>> import chetaev as ch
    >>> spring = ch.System("x", "k", lagrangian="x'^2/2 - k*x^2/2")
    >>> run = prepare(ch.derive(spring), (0, 3.141592653589793), tolerance=1e-12, outputs=["x", "x''"])
    >>> y0, p = run.start({"x": 1, "x'": 0}, parameters={"k": 1})
    >>> run(y0, p).round(9)
    array([-1.,  1.])
    """
    if isinstance(equations, Model):
        model, equations = equations, derive(equations)
        own = model.run
        if own["branch"] is not None or own["gauge"] is not None:
            raise _undetermined(f"prepare {equations.system.label}")
        if own["conserve"] is not None or own["events"]:
            what = "the model asks for events or conserve, which prepare does not take."
            raise UsageError(
                what,
                where=f"prepare {equations.system.label}",
                hint=(Ask("ch.simulate", "model"), ", or ", Ask("prepare", "ch.derive(model), ...")),
            )
        t = model.interval if t is None else t
        tolerance, scale, max_step = (
            own[name] if given is None else given for name, given in (("tolerance", tolerance), ("scale", scale), ("max_step", max_step))
        )
        inputs = {**model.inputs, **(inputs or {})}
    if not isinstance(equations, Equations):
        hint = Ask("prepare", "ch.derive(system, principle), t=(0, 10)")
        raise UsageError(
            f"prepare takes equations or a model, not {type(equations).__name__}.", where=about("prepare", "equations"), hint=hint
        )
    where = f"prepare {equations.system.label}"
    require_no_contact(equations.system, "prepare")
    equations, inputs = with_feedback(equations, inputs, where)
    times = read_times(t, where)
    if len(times) != 2:
        raise UsageError(f"prepare takes an interval of two times, not {len(times)} times.", where=where, hint=SetArgument("t", (0, 10)))
    driven = Frozen(inputs_of(equations.system, inputs, where))
    if not decided_by_numbers(equations) and not on_one_branch(equations, driven):
        raise _undetermined(where)
    switched = smooth(equations, driven)
    accuracy = read_accuracy(tolerance, scale, names_of_state(switched, scale), where)
    wanted = None if outputs is None else _texts(outputs, where)
    found = Prepared(
        equations,
        (float(times[0]), float(times[1])),
        accuracy,
        wanted,
        driven,
        read_max_steps(max_steps, where),
        read_max_step(max_step, where),
    )
    with setting_up(None, equations.system.name or "prepare"):
        found.make()
    return found


@public
@dataclass(frozen=True)
class Prepared:
    """Motions over one interval: `run(y0, p)` gives the outputs at the end.

    All arrays are in the order of `state`, `parameters` and `outputs`.
    """

    equations: Equations
    """The `equations` of the motions."""
    t: tuple[float, float]
    """The interval `t`."""
    accuracy: Accuracy
    """The `accuracy`: tolerances and typical sizes."""
    asked: tuple[str, ...] | None
    """The outputs `asked` for; None for the state."""
    inputs: Frozen[str, Expr]
    """The `inputs` as functions of time."""
    max_steps: int
    """The largest number of steps, `max_steps`."""
    max_step: float
    """The longest step, `max_step`."""
    _given: dict[str, frozenset[Jet]] = field(default_factory=dict, repr=False, compare=False)
    """The jets that the last start gave; `complete` computes the others."""

    @property
    def state(self) -> tuple[str, ...]:
        """The names of the jets of a state."""
        return tuple(z.name for z in self.jets)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(z.name for z in self.equations.system.parameters)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs: texts, as they were given, or the names of the state."""
        return self.state if self.asked is None else self.asked

    def make(self) -> None:
        """Make what all calls need."""
        _ = self.jets, self._expressions, self._straight, self._positive, self._shapes
        if not self._switched.modes:
            _ = self.address

    def start(self, start: State | Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> tuple[Array, Array]:
        """Complete and check initial data; return them and the parameters as arrays.

        Args:
            start: The initial data.
            parameters: The values of the parameters.

        Raises:
            StateError: If a jet of the state is not determined at this start.
            InitialError: If no state has these data.
            ParameterError: If a value is missing or is not a number that the parameter may have.
        """
        where = f"prepare {self.equations.system.label}, start"
        binding = bind(self.equations.system, parameters, self.inputs, where)
        found = begin(self.surfaces(binding), start, self.t[0], where)
        missing = [z.name for z in self.jets if z not in found.jets]
        if missing:
            raise StateError(f"{missing[0]} is no part of the state at this start.", where=where, hint=Ask("simulate"))
        self._given["last"] = frozenset(read_state(self.equations, start, binding, where, expressions=True).fixed)
        y0 = np.array([found.jets[z] for z in self.jets])
        return y0, np.array([binding.parameters[z] for z in self.equations.system.parameters], dtype=float)

    @cuts_its_traceback
    def __call__(self, y0: ArrayLike, p: ArrayLike = ()) -> Array:
        """The outputs at the end of the motion from a complete state.

        Residuals of the constraints below 1e-8, relative to their terms, are removed by projection.

        Raises:
            UsageError: For arrays of another shape.
            InitialError: For a state that contradicts the constraints, or is not finite; ParameterError for a parameter out of its range.
            StateError: If the equations do not determine the motion at the start.
            UnfinishedError: If the motion does not reach the end of the interval; its attribute `outcome` says why.
        """
        try:
            found = self._ends(y0, p)
            if not all(map(isfinite, found.tolist())):
                missing = next(text for text, value in zip(self.outputs, found.tolist(), strict=True) if not isfinite(value))
                raise StateError(f"{missing} has no finite value at the end of the motion.", where=self._where, hint=InPython("run.many"))
            return found
        except ChetaevError as fault:
            raise fault.leaving("Prepared")  # noqa: B904 - the same error

    def _ends(self, y0: ArrayLike, p: ArrayLike) -> Array:
        """The outputs at the end; NaN or infinite for one without a finite value there."""
        y, q, straight = _real_numbers(y0), _real_numbers(p), self._straight
        if straight is not None and y is not None and q is not None and (y.shape, q.shape) == self._shapes:
            found = straight.run(y, q)
            if found is not None:
                return found
        return self._by_simulate(*self._rows(y0, p))

    def many(self, y0: ArrayLike, p: ArrayLike, *, outcomes: bool = False, threads: int = 1) -> Any:
        """The outputs at the ends of many motions, a line each; NaN for motions that do not start, or do not finish.

        An output without a value at the end, as the logarithm of a negative number, is NaN too; a single call raises a StateError there.

        Args:
            y0: A line for each state; one line serves all.
            p: A line for each vector of parameters; one line serves all.
            outcomes: Whether to return the outcomes too: a list of words, `"not_started"` for a start without a motion.
            threads: The number of threads.

        Raises:
            UsageError: If the shapes do not fit, or if an argument is no array of real numbers. A motion that would raise an InitialError,
                a ParameterError, a StateError or an UnfinishedError in a single call has a line of NaN instead.
        """
        found, given = _real_numbers(y0), _real_numbers(p)
        if found is None or given is None:
            raise self._misfit(found, given, self._where)
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise UsageError(f"threads={threads!r} is not a number of threads.", where=self._where, hint=SetArgument("threads", 4))
        states, values = np.atleast_2d(found), np.atleast_2d(given)
        size = max(len(states), len(values)) if len(states) and len(values) else 0
        if states.ndim != 2 or values.ndim != 2 or any(len(lines) not in (1, size) for lines in (states, values)):
            what = f"many takes as many lines of states as of parameters, not {len(states)} and {len(values)}."
            raise UsageError(what, where=self._where, hint=(InPython("run.many(Y0, P)"), ", with a line for each motion"))
        self._rows(np.zeros(states.shape[1]), np.ones(values.shape[1]))  # shapes are the same for all
        states, values = np.broadcast_to(states, (size, states.shape[1])), np.broadcast_to(values, (size, values.shape[1]))
        ends, words = np.full((size, len(self.outputs)), np.nan), [str(Outcome.FINISHED)] * size

        def one(k: int) -> None:
            try:
                ends[k] = self._ends(states[k], values[k])
            except UnfinishedError as fault:
                words[k] = str(fault.outcome)
            except (InitialError, ParameterError, StateError):
                words[k] = "not_started"

        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                for _ in pool.map(one, range(size)):
                    pass
        else:
            for k in range(size):
                one(k)
        return (ends, words) if outcomes else ends

    def rates(self, t: float, y: ArrayLike, p: ArrayLike = ()) -> Array:
        """The rates of the state, as SciPy calls its `fun`: `solve_ivp(run.rates, run.t, y0, args=(p,))`.

        The state is taken as it is, without a check or a projection. Where the equations have no value, neither have the rates.

        Args:
            t: The time.
            y: The state, in the order of `state`.
            p: The parameters, in the order of `parameters`.

        Raises:
            UsageError: If the time, the state or the parameters are no real numbers, or if their shapes do not fit.
        """
        if type(t) is not float:
            time = t if isinstance(t, float) else _real_numbers(t)
            if time is None or np.shape(time) or not isfinite(time):
                raise UsageError("the time is not a number.", where=f"{self._where}, rates", hint=InPython("run.rates(t, y, p)"))
            t = float(time)
        state, values = _real_numbers(y), _real_numbers(p)
        if state is None or values is None or (state.shape, values.shape) != self._shapes:
            raise self._misfit(state, values, f"{self._where}, rates")
        return self._rates(t, state, values)

    def complete(self, y0: ArrayLike, p: ArrayLike = (), given: Sequence[str] | None = None) -> Array:
        """Compute again what `start` completed: the jets that were not among the data of the last start, from those that were.

        Args:
            y0: A state; the values of jets that are computed do not matter.
            p: The parameters.
            given: The names of the jets that are given, instead of those of the last start.

        Raises:
            UsageError: If the shapes do not fit, or if a name in `given` is not a jet of the state.
            InitialError: If no state has these data.
            ParameterError: If a parameter is not finite.
        """
        y, q = self._rows(y0, p)
        names = {z.name: z for z in self.jets}
        if given is None:
            kept: Sequence[str] = [z.name for z in self.jets if z in self._given.get("last", frozenset(self.jets))]
        else:
            several = isinstance(given, Sequence) and not isinstance(given, str)
            unknown = [name for name in given if name not in names] if several else [given]
            if unknown:
                hint = f"jets of the state: {' '.join(names)}"
                raise UsageError(f"{unknown[0]} is no jet of the state.", where=self._where, hint=hint)
            kept = given
        values = dict(zip(names, y.tolist(), strict=True))
        where = f"{self._where}, complete"
        found = begin(self.surfaces(self.bound(q)), {name: values[name] for name in kept}, self.t[0], where)
        return np.array([found.jets[z] for z in self.jets])

    @property
    def address(self) -> int:
        """The address of the rates in machine code, `void rates(double t, double *state, double *parameters, double *out)`.

        It is valid in this process, and may be called from any thread and without Python: from C, or from numba through `cfunction`.
        """
        return self._rates.address

    @cached_property
    def cfunction(self) -> Any:
        """The rates as a ctypes function, which numba calls in compiled code: `f(t, y.ctypes, p.ctypes, out.ctypes)`."""
        return ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(self.address)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.equations, self.t, self.accuracy, self.asked, self.inputs, self.max_steps, self.max_step, self._given)
        return _again, fields

    # -- what is decided once

    @property
    def _where(self) -> str:
        return f"prepare {self.equations.system.label}"

    @property
    def has_corners(self) -> bool:
        """Whether the equations switch, as at `sign` and `abs`."""
        return bool(self._switched.modes)

    @cached_property
    def _switched(self) -> Switched:
        return smooth(self.equations, self.inputs)

    @cached_property
    def _flow(self) -> Flow:
        return compile_equations(self._switched.smooth).flow

    @cached_property
    def jets(self) -> tuple[Jet, ...]:
        """The jets of a state."""
        return self._flow.state

    @cached_property
    def _expressions(self) -> list[Expr]:
        """The outputs; jets of the state may be named in ways that the notation does not have, as those of a group."""
        names, vocabulary, charted = {z.name: z for z in self.jets}, self.equations.vocabulary, self.equations.system.charted
        where = f"{self._where}, outputs"
        return [names[text] if text in names else charted(read_value(text, vocabulary, where)) for text in self.outputs]

    @cached_property
    def _straight(self) -> Straight | None:
        """Compiled motions; None where every motion is left to `simulate`."""
        system = self._flow.system
        if self._switched.modes or not system.plain or system.added:
            return None
        flow, compiled = self._flow, compile_equations(self.equations)
        outputs = [flow.with_inputs(flow.on_state(flow.graph.of(e)), self.inputs) for e in self._expressions]
        return Straight(compiled, self.inputs, self.t, self.accuracy, (self.max_steps, self.max_step), outputs)

    @cached_property
    def _positive(self) -> list[int]:
        return [k for k, z in enumerate(self.equations.system.parameters) if z.is_positive]

    @cached_property
    def _shapes(self) -> tuple[tuple[int], tuple[int]]:
        return (len(self.jets),), (len(self.equations.system.parameters),)

    @cached_property
    def _rates(self) -> Rates:
        if self._switched.modes:
            what = "the rates of equations with corners depend on the side of each corner."
            raise UsageError(what, where=f"{self._where}, rates", hint=Ask("evaluate"))
        return Rates(self.equations, self.inputs, self.bound)

    # -- arguments, and all motions that are not straight

    def _misfit(self, y: Array | None, q: Array | None, where: str) -> UsageError:
        """What is wrong with arrays that are none of real numbers, or have another shape."""
        if y is None or q is None:
            hint = (f"{self._order}; ", InPython("y0, p = run.start({...}, {...})"), " makes both")
            return UsageError("state and parameters are arrays of real numbers.", where=where, hint=hint)
        (n,), (m,) = self._shapes
        what = f"a state has {n} numbers and there are {m} parameters; the shapes given are {y.shape} and {q.shape}."
        return UsageError(what, where=where, hint=self._order)

    def _rows(self, y0: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
        y, q = _real_numbers(y0), _real_numbers(p)
        if y is None or q is None or (y.shape, q.shape) != self._shapes:
            raise self._misfit(y, q, self._where)
        if not all(map(isfinite, y.tolist())):
            raise InitialError("the state is not finite.", where=self._where, hint="finite real numbers")
        values = q.tolist()
        if not all(map(isfinite, values)):
            raise ParameterError("a parameter is not finite.", where=self._where, hint="finite real numbers")
        if self._positive and not all(values[k] > 0.0 for k in self._positive):
            self.bound(q)  # which names it
        return y, q

    @property
    def _order(self) -> str:
        """In which order numbers are given."""
        return f"y0 in the order {' '.join(self.state)}; p in the order {' '.join(self.parameters) or '()'}"

    def bound(self, p: Array) -> Binding:
        """Values bound to the parameters, and the inputs.

        Args:
            p: The parameters, in the order of `parameters`.

        Raises:
            ParameterError: If a value is not one that the parameter may have.
        """
        return bind(self.equations.system, dict(zip(self.parameters, p.tolist(), strict=True)), self.inputs, self._where)

    def surfaces(self, binding: Binding) -> Surfaces:
        """The switching surfaces with bound values.

        Args:
            binding: The values of parameters and inputs.
        """
        span = self.t[1] - self.t[0]
        return Surfaces(self._switched, binding, self.accuracy.relative, float(np.sign(span)), abs(span))

    def _by_simulate(self, y: Array, p: Array) -> Array:
        motion: Trajectory = simulate(
            self.equations,
            dict(zip(self.state, y.tolist(), strict=True)),
            self.t,
            parameters=dict(zip(self.parameters, p.tolist(), strict=True)),
            inputs=self.inputs,
            keep="final",
            max_steps=self.max_steps,
            max_step=None if self.max_step == np.inf else self.max_step,
            progress=False,
            **self.accuracy.wish,
        )
        if motion.outcome is not Outcome.FINISHED:
            raise UnfinishedError(motion.message, where=self._where, outcome=motion.outcome, motion=motion)
        values: list[float] = []
        for text in self.outputs:
            try:
                values.append(float(motion.final[text]))
            except StateError:
                values.append(np.nan)
        return np.array(values)


def _real_numbers(given: Any) -> Array | None:
    """Real numbers as an array; None for anything else. Texts, dates, truth values, imaginary parts and masks would be read as numbers by
    NumPy.
    """
    if type(given) is np.ndarray and given.dtype is _DOUBLE:
        return given
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "fiuO" or (isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given)):
            return None
        if array.dtype.kind == "O" and not all(isinstance(value, Real) and not isinstance(value, bool) for value in array.ravel()):
            return None
        return np.asarray(array, np.float64)
    except (TypeError, ValueError, OverflowError, NotImplementedError):  # nested lists of several lengths, and objects that are no numbers
        return None


_DOUBLE = np.dtype(np.float64)


def _again(*fields: Any) -> Prepared:
    found = Prepared(*fields)
    found.make()
    return found


def _texts(outputs: Any, where: str) -> tuple[str, ...]:
    if isinstance(outputs, str) or not isinstance(outputs, Sequence) or not all(isinstance(text, str) for text in outputs) or not outputs:
        raise UsageError(
            f"outputs={outputs!r} is not a list of texts.",
            where=where,
            hint=(SetArgument("outputs", ["x", "x'"]), ", or none for the state"),
        )
    return tuple(outputs)


def _undetermined(where: str) -> UsageError:
    return UsageError(
        "the motion of these equations depends on a branch or a gauge, which prepare does not take.",
        where=where,
        why="The system Jacobian is singular at random states.",
        hint=Ask("ch.simulate", "..., branch=..., gauge=..."),
    )
