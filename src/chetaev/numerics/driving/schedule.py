"""A schedule of inputs: their polynomials between breakpoints, with coefficients that are parameters of the equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sympy import Expr, Rational, Symbol

from chetaev.core.errors import InitialError, ParameterError, UsageError, about
from chetaev.core.fixes import InPython, SetArgument, SetInput, SetPart
from chetaev.core.notation.lexer import spell
from chetaev.core.sampled import Feedback, Sampled, sampled_pair
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Input, Parameter
from chetaev.mechanics.equations import Equations
from chetaev.numerics.driving.functions import samples_of
from chetaev.numerics.driving.polynomials import Polynomials, polynomials_of
from chetaev.numerics.graphs.binding import Binding, number

_ROUND_OFF_OF_VALUES = 1e-14
"""Rounding error of the values of two polynomials where they meet, relative to their coefficients."""

State = Mapping[str, float]
"""The jets of a state, by name."""
_TOLERANCE_AT_A_TIME = 1e-9
"""Tolerance of polynomials for the value of an input at a single time, as the default of `simulate`."""


@dataclass(frozen=True, eq=False)
class _Sequence:
    """The polynomials of one input."""

    symbols: tuple[Parameter, ...]
    polynomials: Polynomials

    def values(self, t: float, forward: bool, _: State) -> np.ndarray:
        return self.polynomials.numbers(self.polynomials.index(t, forward))

    def ends(self, t: float, forward: bool) -> float:
        return self.polynomials.ends(t, forward)


@dataclass(frozen=True, eq=False)
class _Held:
    """The values of a controller, which is called once per period; each value is held until the next call."""

    symbols: tuple[Parameter, ...]
    feedback: Feedback
    begin: float
    where: str
    calls: dict[int, float] = field(default_factory=dict)
    """The values so far, by the number of the period."""

    def values(self, t: float, forward: bool, state: State) -> np.ndarray:
        k = self._period(t)
        if k not in self.calls:
            self.calls[k] = _number(self.feedback.function(t, dict(state)), t, self.where)
        return np.array([0.0, 1.0, self.calls[k]])

    def ends(self, t: float, forward: bool) -> float:
        return self.begin + (self._period(t) + 1) * self.feedback.period

    def _period(self, t: float) -> int:
        """The index of the period that contains `t`; a time within round-off of a beginning belongs to the period that begins there."""
        ratio = (t - self.begin) / self.feedback.period
        nearest = round(ratio)
        return nearest if self.begin + nearest * self.feedback.period <= t else int(np.floor(ratio))

    def samples(self, end: float) -> Sampled:
        times = [self.begin + k * self.feedback.period for k in sorted(self.calls)]
        values = [self.calls[k] for k in sorted(self.calls)]
        more = [end] if end > times[-1] else [times[-1] + self.feedback.period]
        return Sampled([*times, *more], [*values, values[-1]], "hold", origin=f"a feedback every {self.feedback.period:g}")


@dataclass(frozen=True, eq=False)
class Schedule:
    """The inputs of a run that are not formulas."""

    equations: Equations
    """The equations, with the coefficients of the polynomials as further parameters."""
    formulas: Frozen[str, Expr]
    """The polynomials, by the names of inputs."""
    begin: float
    """The time of the start."""
    forward: bool
    """Whether time increases."""
    sequences: Mapping[str, _Sequence | _Held]
    given: Frozen[str, Any]
    """The samples, or the feedback, of each input."""

    def first(self, binding: Binding) -> tuple[Equations, Binding]:
        """The equations of the run, and its values at the start, where feedbacks are zero until they are called."""
        values = {**binding.parameters, **self.values(self.begin, None)}
        return self.equations, Binding(values, {**binding.inputs, **self.formulas})

    def values(self, t: float, state: State | None) -> dict[Symbol, float]:
        """The parameters with which a motion continues from a time and a state; without a state a feedback is zero."""
        found: dict[Symbol, float] = {}
        for one in self.sequences.values():
            unknown = state is None and isinstance(one, _Held)
            numbers = np.array([0.0, 1.0, 0.0]) if unknown else one.values(t, self.forward, state or {})
            found |= {z: float(v) for z, v in zip(one.symbols, numbers, strict=True)}
        return found

    def ends(self, t: float) -> float:
        """The time until which these values hold."""
        ends = [one.ends(t, self.forward) for one in self.sequences.values()]
        return min(ends) if self.forward else max(ends)

    def rounding(self, z: Input, t: float) -> float:
        """A bound for the round-off in the difference between the values of `z`, an input or its derivative, on both sides of a
        breakpoint.
        """
        one = self.sequences.get(z.base)
        if not isinstance(one, _Sequence):
            return 0.0
        sides = [one.polynomials.numbers(one.polynomials.index(t, forward)) for forward in (True, False)]
        return _ROUND_OFF_OF_VALUES * sum(float(np.abs(c).sum()) / abs(half) ** z.order for _, half, *c in sides)

    @property
    def feedback(self) -> bool:
        """Whether an input depends on the state."""
        return any(isinstance(one, _Held) for one in self.sequences.values())

    @property
    def not_enclosed(self) -> tuple[str, ...]:
        """Sentences about inputs that are known at single times only."""
        found = []
        for name, given in self.given.items():
            if isinstance(given, Feedback):
                found.append(f"{name} is the value of a Python function, called every {given.period:g} and held in between")
            elif given.origin:
                times = len(given.times)
                found.append(f"{name} is {given.origin}, known at {times} times; what it does between them cannot be enclosed")
        return tuple(found)

    def samples(self, end: float) -> dict[str, Sampled]:
        """The inputs of the motion as samples."""
        return {name: one.samples(end) if isinstance(one, _Held) else self.given[name] for name, one in self.sequences.items()}


def divided(inputs: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide given inputs into formulas, and samples, functions and feedbacks."""
    formulas: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, given in (inputs or {}).items():
        (others if isinstance(given, Sampled | Feedback) or callable(given) or _is_table(given) else formulas)[name] = given
    return formulas, others


def _is_table(given: Any) -> bool:
    """Whether a value is a pair of times and values, or any array; the reader refuses arrays that are not pairs."""
    return isinstance(given, tuple | list) or (hasattr(given, "__array__") and not isinstance(given, Expr | float | int))


def schedule(equations: Equations, given: Mapping[str, Any], t0: float, t1: float, tolerance: float, where: str) -> Schedule:
    """The schedule of inputs between two times."""
    forward = t1 > t0
    known = {z.base for z in equations.system.inputs}
    sequences: dict[str, _Sequence | _Held] = {}
    formulas: dict[str, Expr] = {}
    read: dict[str, Any] = {}
    for name, value in given.items():
        base = spell(str(name))
        place = f"{where}, input {base}"
        if base not in known:
            hint = f"inputs: {' '.join(sorted(known))}" if known else ("declare it: ", SetPart("inputs", {"u": None}, whole=True))
            raise ParameterError(f"{base} is not an input.", where=about(where, "inputs", base), hint=hint)
        read[base] = value if isinstance(value, Feedback) else _samples(value, t0, t1, tolerance, place)
        if isinstance(value, Feedback):
            if not forward:
                raise UsageError(
                    "a feedback runs forwards in time.",
                    where=place,
                    hint=(SetArgument("t", (0, 10)), " with a second time after the first"),
                )
            symbols = _symbols(base, 0)
            sequences[base] = _Held(symbols, value, t0, place)
        else:
            polynomials = polynomials_of(read[base])
            symbols = _symbols(base, polynomials.degree)
            sequences[base] = _Sequence(symbols, polynomials)
        formulas[base] = _polynomial(symbols)
    system = equations.system
    added = [z for one in sequences.values() for z in one.symbols]
    extended = equations.lowered.exchange(system=system.exchange(parameters=(*system.parameters, *added)))
    return Schedule(replace(equations, lowered=extended), Frozen(formulas), t0, forward, sequences, Frozen(read))


def at_time(inputs: Mapping[str, Any], at: Any, where: str) -> dict[str, Any]:
    """Inputs as formulas that hold at one time, 0 by default; samples are replaced by the polynomial that begins or continues there.

    A feedback has a value along a motion only.
    """
    found, others = divided(inputs)
    t = number(0.0 if at is None else at, {}, f"{where}, t", InitialError) if others else 0.0
    for name, value in others.items():
        place = f"{where}, input {name}"
        if (not isinstance(value, Sampled) and callable(value)) or isinstance(value, Feedback):
            what = "a feedback has values" if isinstance(value, Feedback) else "the derivatives of a Python function are known"
            raise UsageError(f"{what} along a motion only.", where=place, hint=("a number, or a formula: ", SetInput((name,), "0.5")))
        polynomials = polynomials_of(_samples(value, t, t, _TOLERANCE_AT_A_TIME, place))
        symbols = _symbols(str(name), polynomials.degree)
        numbers = polynomials.numbers(polynomials.index(t, True))
        found[name] = _polynomial(symbols).xreplace(dict(zip(symbols, [Rational(float(v)) for v in numbers], strict=True)))
    return found


def _samples(given: Any, t0: float, t1: float, tolerance: float, where: str) -> Sampled:
    """Samples from samples, a pair of times and values, or a function of time."""
    if callable(given) and not isinstance(given, Sampled):
        return samples_of(given, t0, t1, tolerance, where)
    try:
        found = sampled_pair(given)
    except UsageError as fault:
        raise ParameterError(fault.what, where=where, why=fault.why, hint=fault.advice) from None
    if not isinstance(found, Sampled):
        what = f"an array of shape {given.shape}" if hasattr(given, "shape") else f"a {type(given).__name__}"
        raise ParameterError(
            f"{what} is not an input.",
            where=about(where, "inputs"),
            why="Values alone do not say at which times they hold.",
            hint=(
                "a pair (times, values), ",
                InPython('ch.Sampled(times, values, "cubic")'),
                ', a function of t, or a text such as "sin(t)"',
            ),
        )
    if not found.covers(t0, t1):
        raise ParameterError(
            f"the samples are from t = {found.times[0]:g} to {found.times[-1]:g}, and the motion from t = {t0:g} to {t1:g}.",
            where=where,
            hint="a shorter interval, or more samples",
        )
    return found


def _symbols(name: str, degree: int) -> tuple[Parameter, ...]:
    """The parameters of a polynomial. A name with a dot cannot be declared, so it differs from all names of the user."""
    return tuple(Parameter(f"{name}.{part}") for part in ("centre", "half", *[f"c{k}" for k in range(degree + 1)]))


def _polynomial(symbols: tuple[Parameter, ...]) -> Expr:
    """The polynomial as a formula of time, by Horner's rule."""
    centre, half, *c = symbols
    s = (TIME - centre) / half
    found: Expr = c[-1]
    for one in c[-2::-1]:
        found = one + s * found
    return found if len(c) > 1 else c[0]


def _number(given: Any, t: float, where: str) -> float:
    try:
        found = float(given)
    except (TypeError, ValueError):
        what = f"the feedback returns {type(given).__name__} at t = {t:g}, not a number."
        raise ParameterError(what, where=where, hint=InPython('lambda t, state: -2*state["x"]')) from None
    if not np.isfinite(found):
        raise ParameterError(f"the feedback returns {found} at t = {t:g}.", where=where, hint="a controller with finite values")
    return found
