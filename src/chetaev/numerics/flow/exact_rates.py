"""Expressions of a flow in as many digits as they need: what doubles should have given.

The graphs, in which every number of the text is exact, run as programs. Pairs of doubles with bounds of their errors mostly decide; where a
bound leaves a result open, or a function is not known there, mpmath adds digits until two results agree.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import mpmath
import numpy as np
from numpy.typing import NDArray

from chetaev.core.exact.program import Program, many_digit_values
from chetaev.core.symbols import TIME
from chetaev.core.values import many_digits
from chetaev.mechanics.tolerances import NEGLIGIBLE_ERROR
from chetaev.numerics.flow.compiled import Compiled
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.machine.kernels import Foreign, Kernel
from chetaev.numerics.machine.two_doubles.programs import InTwoDoubles, in_two_doubles

Array = NDArray[np.float64]
Needed = Array | float | Callable[[Array], Array]
"""Absolute errors that do not matter, or what computes them from the values."""

_DIGITS_TRIED = (30, 60, 150, 400, 1200)
"""Decimal digits that are tried one after the other: 1 - tanh(300)^2 needs 260."""
_SAME_RESULT = 1e-14
"""Relative difference of two results that agree."""
_NO_VALUE = (ValueError, ZeroDivisionError, OverflowError, KeyError)
"""What an operation without a real value raises."""
_NUMBERS = ctypes.POINTER(ctypes.c_double)
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_double, _NUMBERS, _NUMBERS, _NUMBERS)
"""What a compiled loop calls: the signature of a kernel."""
_KEPT: list[Any] = []
"""Entries that loops may call; they are kept as long as the process, like all code."""
_PROGRAMS: Remembered[Program] = Remembered(64)
_IN_TWO_DOUBLES: Remembered[InTwoDoubles | None] = Remembered(64)
_CERTAIN = 1e-18
"""Relative bound of the error of a result in pairs of doubles that has all digits of a double, up to half a unit of the last one."""
_FIRST_DIGITS = 1e-6
"""Relative bound of the errors of results in pairs of doubles that take the place of those with the fewest digits, which have no bounds."""
_PART_OF_ALLOWED = 1e-2
"""Largest error of a residual, in units of the largest one allowed."""
_CERTAIN_BESIDE_NEEDED = 0.1
"""The same relative to an error that does not matter: the bound is a proof, where digits only agree, and far above the error itself."""


def with_enough_digits(
    compute: Callable[[mpmath.MPContext], Sequence[Any]], needed: Needed = 0.0, before: Array | None = None
) -> Array | None:
    """Numbers that are computed with more and more digits, until they agree; None where they have no value, or too many digits cancel. If
    given, `before` were computed with the fewest of these digits.
    """
    for digits in _DIGITS_TRIED if before is None else _DIGITS_TRIED[1:]:
        try:
            found = np.array([float(v) for v in compute(many_digits(digits)[0])])
        except _NO_VALUE:
            before = None
            continue
        if not np.isfinite(found).all():  # too large for doubles
            return None
        if before is not None and (np.abs(found - before) <= np.maximum(_SAME_RESULT * np.abs(found), _errors(needed, found))).all():
            return found
        before = found
    return None


def _errors(needed: Needed, found: Array) -> Array | float:
    return needed(found) if callable(needed) else needed


class Exact:
    """Expressions of a flow with bound parameters and inputs."""

    def __init__(self, compiled: Compiled, binding: Binding, name: Hashable, expressions: Callable[[], Sequence[ca.SX]]) -> None:
        flow = compiled.flow
        graph, self._states = flow.graph, len(flow.state)
        symbols = [TIME, *flow.state, *flow.arguments]
        self._program = _PROGRAMS.get(compiled, name, lambda: graph.program(list(expressions()), symbols)[0])
        driving, parameters = compiled.driving(binding), flow.system.equations.system.parameters
        self._quick = None if driving else _IN_TWO_DOUBLES.get(self._program, (), lambda: in_two_doubles(self._program))
        self._first = 1 + self._states + len(parameters)
        self._inputs: Program | None = None
        if driving:
            self._inputs = graph.program([graph.of(e) for e in driving], [TIME, *parameters])[0]

    @property
    def length(self) -> int:
        """The number of instructions."""
        return len(self._program.lines)

    def __call__(self, t: float, y: Array, p: Array, needed: Needed = 0.0) -> Array | None:
        """The values at a state, if they have any (`with_enough_digits`). The entries of p for inputs are not read."""
        known = self.enclosed(t, y, p, needed)
        if known is not None and not known[1].any():
            return known[0]

        def compute(mp: mpmath.MPContext) -> Sequence[Any]:
            return self._values([mp.mpf(float(v)) for v in (t, *y[: self._states], *p[:-1])], mp)

        before = None if known is None or not (known[1] <= _FIRST_DIGITS * np.abs(known[0])).all() else known[0]
        return with_enough_digits(compute, needed, before)

    def with_zeros(self, t: float, y: Array, p: Array, needed: Needed = 0.0) -> tuple[Array, Array] | None:
        """The same, with zeros for bounds of errors that do not matter."""
        found = self(t, y, p, needed)
        return None if found is None else (found, np.zeros(len(found)))

    def enclosed(self, t: float, y: Array, p: Array, needed: Needed = 0.0) -> tuple[Array, Array] | None:
        """The values in pairs of doubles, and bounds of their errors, all zero where none matters; None where not all have a value."""
        if self._quick is None:
            return None
        found, bounds = self._quick(np.array([t, *y[: self._states], *p[:-1]]))
        if not np.isfinite(found).all():
            return None
        allowed = np.maximum(_CERTAIN * np.abs(found), _CERTAIN_BESIDE_NEEDED * np.asarray(_errors(needed, found)))
        return found, np.zeros(len(found)) if (bounds <= allowed).all() else bounds

    def along(self, t: float, y: Array, p: Array, of_state: Array, of_parameters: Array) -> Array | None:
        """The derivatives of the values along a direction of state and parameters: differences of states that are close together beside
        the digits.
        """

        def compute(mp: mpmath.MPContext) -> Sequence[Any]:
            given = [mp.mpf(float(v)) for v in (t, *y[: self._states], *p[:-1])]
            moves = [mp.mpf(float(v)) for v in (0.0, *of_state, *of_parameters)]
            moves += [mp.mpf(0)] * (len(given) - len(moves))
            step = mp.mpf(10) ** -(mp.dps // 3)
            ahead, behind = (self._values([v + s * step * d for v, d in zip(given, moves, strict=True)], mp) for s in (1, -1))
            return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]

        return with_enough_digits(compute, NEGLIGIBLE_ERROR)

    def _values(self, given: list[Any], mp: mpmath.MPContext) -> Sequence[Any]:
        if self._inputs is not None:
            known = many_digit_values(self._inputs, [given[0], *given[1 + self._states : self._first]], mp)
            given[self._first : self._first + len(known)] = known
        return many_digit_values(self._program, given, mp)


def exact_rates(compiled: Compiled, binding: Binding) -> Exact:
    """The rates of the jets of the state, and of the work done if it is part of the state."""
    flow = compiled.flow
    return Exact(compiled, binding, "rates", lambda: [*flow.rates, *([flow.power] if flow.has_power else [])])


def with_exact_rates(compiled: Compiled, binding: Binding) -> Compiled:
    """Compiled equations whose rates are computed in many digits, a thousand times as slowly."""
    exact, rhs = exact_rates(compiled, binding), compiled.rhs

    def rates(t: float, y: Array, p: Array) -> Array:
        found = exact(t, y, p)
        return np.full(rhs.n_out, np.nan) if found is None else found

    return replace(compiled, rhs=_foreign(rhs, rates))


def with_exact_functions(watch: Kernel, compiled: Compiled, binding: Binding, name: Hashable, expressions: Sequence[ca.SX]) -> Kernel:
    """A kernel whose last results are expressions that are computed in many digits; the first ones are those of the kernel. An expression
    without a value in many digits has that of the kernel.
    """
    exact, first = Exact(compiled, binding, name, lambda: expressions), watch.n_out - len(expressions)

    def functions(t: float, y: Array, p: Array) -> Array:
        found, values = watch(t, y, p), exact(t, y, p, NEGLIGIBLE_ERROR)
        return found if values is None else np.concatenate([found[:first], values])

    return _foreign(watch, functions)


def _foreign(kernel: Kernel, compute: Callable[[float, Array, Array], Array]) -> Foreign:
    """A kernel that computes in Python what a kernel computes in machine code, with results that are right to the last digit."""
    n, m = kernel.n_state, kernel.n_parameters

    def values(t: float, y: Any, p: Any) -> Array:
        return compute(t, np.ctypeslib.as_array(y, (n,)), np.ctypeslib.as_array(p, (m,)))

    def plain(t: float, y: Any, p: Any, out: Any) -> None:
        np.ctypeslib.as_array(out, (kernel.n_out,))[:] = values(t, y, p)

    def bound(t: float, y: Any, p: Any, out: Any) -> None:
        found = values(t, y, p)
        np.ctypeslib.as_array(out, (2, kernel.n_out))[:] = [found * (1 + EPSILON), found * (1 - EPSILON)]

    entries = [_ENTRY(plain), _ENTRY(bound)]
    _KEPT.extend(entries)
    code, doubts = (int(ctypes.cast(entry, ctypes.c_void_p).value or 0) for entry in entries)
    return Foreign(kernel.program, n, m, kernel.n_out, kernel.instructions, kernel.hot, code, doubts)


@dataclass(frozen=True)
class ExactRows:
    """The rows that restrict the state, and their slopes by the jets that occur in them."""

    values: Exact
    """The rows, and then their slopes."""
    rows: NDArray[np.int64]
    """For each slope the number of its row."""
    jets: NDArray[np.int64]
    """For each slope the place of its jet in the state."""

    def relative(self, t: float, y: Array, p: Array, usual: Array, allowed: float) -> Array | None:
        """The residuals relative to the contributions of jets of their `usual` sizes, right to a small part of `allowed`; None without a
        value.
        """

        def terms(found: Array) -> Array:
            first = len(found) - len(self.rows)
            return np.bincount(self.rows, np.abs(found[first:]) * usual[self.jets], minlength=first).astype(np.float64)

        def needed(found: Array) -> Array:
            each = _PART_OF_ALLOWED * allowed * terms(found)
            parts = np.bincount(self.rows)[self.rows] * usual[self.jets]
            with np.errstate(over="ignore"):
                slopes = np.divide(each[self.rows], parts, out=np.full(len(parts), np.inf), where=parts > 0)
            return np.maximum(np.concatenate([each, slopes]), NEGLIGIBLE_ERROR)

        found = self.values(t, y, p, needed)
        if found is None:
            return None
        sizes = terms(found)
        relative: Array = np.abs(found[: len(sizes)]) / np.where(sizes > 0, sizes, 1.0)
        return relative


def exact_rows(compiled: Compiled, binding: Binding) -> ExactRows:
    """The rows that restrict the state in as many digits as they need."""
    flow = compiled.flow
    place = {z: k for k, z in enumerate(flow.state)}
    rows = [flow.system.row(pair) for pair in flow.system.hidden()]
    occurring = [sorted(place[z] for z in flow.graph.symbols(row) if z in place) for row in rows]

    def expressions() -> list[ca.SX]:
        jets = [[flow.state[k] for k in places] for places in occurring]
        return [*rows, *[slope for row, own in zip(rows, jets, strict=True) for slope in flow.graph.gradient(row, own)]]

    values = Exact(compiled, binding, "rows", expressions)
    numbers = np.repeat(np.arange(len(rows)), list(map(len, occurring)))
    return ExactRows(values, numbers, np.array([k for places in occurring for k in places], np.int64))
