"""Expressions of a graph, compiled for evaluation: values, bounds of their errors, values with many digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.exact.program import many_digit_values
from chetaev.core.support.lines import present
from chetaev.core.values import Undefined, many_digits
from chetaev.numerics.graphs.arithmetic import is_nothing
from chetaev.numerics.graphs.rounding_bounds import values_and_doubts
from chetaev.numerics.machine.engine import entry_of
from chetaev.numerics.machine.kernels import compile_kernel
from chetaev.numerics.machine.rounding_bounds import doubting
from chetaev.numerics.machine.tape import Line, lines_of, tape_of

if TYPE_CHECKING:
    from chetaev.numerics.graphs.algebra import GraphAlgebra

_WITHOUT_THEOREM = frozenset(
    (
        ca.OP_LOG,
        ca.OP_ASIN,
        ca.OP_ACOS,
        ca.OP_ATAN,
        ca.OP_ATAN2,
        ca.OP_ASINH,
        ca.OP_ACOSH,
        ca.OP_ATANH,
        ca.OP_ERF,
        ca.OP_POW,
        ca.OP_CONSTPOW,
    )
)
"""Functions that exact arithmetic does not add up: of these identities hold that it takes for sums that are not zero."""


class _Room:
    """A point and a result that stay in their places in memory: to ask an array for its address takes longer than a small program."""

    def __init__(self, size: int, results: int) -> None:
        self.point, self.result = np.zeros(size), np.zeros(results)
        self.begin, self.end = self.point.ctypes.data, self.result.ctypes.data


class GraphTape:
    """Expressions of a graph compiled for evaluation."""

    def __init__(self, algebra: GraphAlgebra, expressions: Sequence[ca.SX]) -> None:
        size, nonzero = len(expressions), sorted((k, e) for k, e in present(expressions) if not is_nothing(e))
        self.places = None if len(nonzero) in (0, size) else np.array([k for k, _ in nonzero])
        """Where the expressions stand that are not zero; None if all are computed."""
        expressions = [e for _, e in nonzero] if nonzero else list(expressions)
        self._algebra, self._column = algebra, ca.vertcat(*expressions) if expressions else ca.SX(0, 1)
        self.symbols: frozenset[Symbol] = algebra.symbols_of(expressions)
        self.order = sorted(self.symbols, key=lambda z: z.name)
        """The symbols in the order in which a point lists their values."""
        self._function = algebra.function("tape", [algebra.vector(self.order)], self._column)
        """The computed expressions."""
        self.size, self._computed = size, len(expressions)
        self._free: list[tuple[Any, Callable[[], None]]] = []
        """Rooms that no call uses at present; a call in another thread takes another one."""
        self._rooms: list[_Room] = []
        """Rooms of `between` that no call uses at present."""

    @cached_property
    def function(self) -> ca.Function:
        """All expressions as a function of the symbols in order."""
        if self.places is None:
            return self._function
        whole = ca.SX.zeros(self.size, 1)
        whole[self.places.tolist()] = self._column
        return self._algebra.function("tape", [self._algebra.vector(self.order)], whole)

    def __call__(self, values: Mapping[Symbol, float]) -> list[float]:
        """The values of the expressions; `Undefined` where one is not finite."""
        return self._spread(self.computed(values)).tolist()

    def computed(self, values: Mapping[Symbol, float]) -> NDArray[np.float64]:
        """The values of the expressions that are not zero everywhere, which stand at `places`; `Undefined` where one is not finite."""
        numbers = self.run(np.array([values[z] for z in self.order], dtype=float))
        if not np.isfinite(numbers).all():
            raise Undefined("not a finite number")
        return numbers

    def at(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of the expressions, finite or not, at a point whose values stand in order."""
        return self._spread(self.run(point))

    def run(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of the expressions that are not zero everywhere, in their order."""
        numbers = np.empty(self._computed)
        try:
            used = self._free.pop()
        except IndexError:
            used = self._function.buffer()  # numbers in place: a call through CasADi's own matrices takes five times as long
        room, run = used
        room.set_arg(0, point.data)
        room.set_res(0, numbers.data)
        run()
        self._free.append(used)
        return numbers

    def _spread(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers of the computed expressions among zeros for the others."""
        if self.places is None:
            return numbers
        found = np.zeros(self.size)
        found[self.places] = numbers
        return found

    def doubts(self, values: Mapping[Symbol, float], doubts: Mapping[Symbol, float]) -> list[float]:
        """Bounds of the errors of the expressions, from those of the symbols."""
        return self._spread(self.computed_doubts(values, doubts)).tolist()

    def computed_doubts(self, values: Mapping[Symbol, float], doubts: Mapping[Symbol, float]) -> NDArray[np.float64]:
        """Bounds of the errors of the expressions that are not zero everywhere, in their order."""
        point, spread = (np.array([given[z] for z in self.order], dtype=float) for given in (values, doubts))
        return values_and_doubts(self._function, point, spread, self._lines)[1]

    def with_digits(self, values: Mapping[Symbol, float], digits: int) -> NDArray[np.float64] | None:
        """The values of the expressions computed with many decimal `digits` and then rounded; None where one has no value."""
        mp, _ = many_digits(digits)
        program, _ = self._algebra.program(ca.vertsplit(self._column), self.order)
        try:
            found = many_digit_values(program, [mp.mpf(values[z]) for z in self.order], mp)
        except (ValueError, ZeroDivisionError, OverflowError, KeyError):
            return None
        return self._spread(np.array([float(v) for v in found]))

    def between(self, point: NDArray[np.float64]) -> tuple[list[float], list[float]] | None:
        """The expressions at a point whose numbers are exact, plus bounds of their errors and minus these, in machine code; None where
        programs are not interpreted. Both sums are rounded; a bound without a value is not a number, or infinite.
        """
        if self._bounds is None:
            return None
        try:
            used = self._rooms.pop()
        except IndexError:
            used = _Room(len(self.order), 2 * self._computed)
        used.point[:] = point
        self._bounds(0.0, used.begin, 0, used.end)
        above, below = used.result[: self._computed], used.result[self._computed :]
        found = self._spread(above).tolist(), self._spread(below).tolist()
        self._rooms.append(used)
        return found

    @cached_property
    def _bounds(self) -> Callable[..., None] | None:
        """The code of these sums."""
        point, nothing = ca.SX.sym("point", len(self.order)), ca.SX(0, 1)
        kernel = compile_kernel(ca.Function("between", [ca.SX.sym("t"), point, nothing], [self._function(point)]), False, False)
        address = doubting(kernel)
        return entry_of(address) if address else None

    @cached_property
    def may_saturate(self) -> bool:
        """Whether terms may cancel by an identity that exact arithmetic does not know, at a place where a small change of the symbols
        changes nothing: 2*atan(exp(x)) - asin(tanh(x)) at x = -20, where tanh(x) is -1.
        """
        return any(self._function.instruction_id(k) in _WITHOUT_THEOREM for k in range(self._function.n_instructions()))

    @cached_property
    def _lines(self) -> list[Line]:
        """The tape of the function, which bounds at all points go through."""
        return list(lines_of(tape_of(self._function)))
