r"""The sizes of jets: units in which the numbers of a system are of order one.

A random point of order one is meaningless for lengths in nanometres. The rows determine their units: the terms of a sum have similar
sizes, arguments of sine or exp are of order one, and $\dot q$ has the size of $q$ divided by a time that all coordinates share. In
logarithms these are linear equations for the sizes of coordinates and of time, with the numbers of the rows on the right-hand side, solved
in the least-squares sense. Other units change the sizes accordingly and leave the residuals unchanged, so that points of these sizes do not
depend on units.

If all numbers are of order one, all sizes are 1. If no choice of units explains the numbers, such as the speed of light beside that of a
train, all sizes are 1 too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import frexp, isfinite, log, log2
from types import MappingProxyType
from typing import Any

import numpy as np
from sympy import S, Symbol

from chetaev.core.calculus import NO_FRAME, Algebra, Calculus
from chetaev.core.exact.program import Compound, Program, many_digit_values
from chetaev.core.exact.signature import vanishing
from chetaev.core.support.lines import joined
from chetaev.core.symbols import TIME, Jet, Parameter, Place
from chetaev.core.values import many_digits
from chetaev.mechanics.ranks.factored import Matrix
from chetaev.mechanics.ranks.sparse import Numbers, scaled, values_at, whole

_ORDINARY = 10.0
"""Binary logarithm of the largest number of order one. Larger numbers in rows suggest other units; with a smaller value ordinary
coefficients would too."""
_CONSTANT_DIGITS = 400
"""Decimal digits with which constants whose digits cancel are evaluated."""
_EXPLAINED = 10.0
"""Largest residual of the fit, as a binary logarithm, for units that explain the numbers: terms of a sum may differ by 2^10."""
_DENSE = 200
"""Most equations and unknown sizes of a dense fit, which takes some milliseconds. Larger fits use SciPy, whose sparse matrices take longer
to import than the analysis of a small system."""

Form = tuple[float, Mapping[Any, float]]
"""The logarithm, to base two, of a size: a number and multiples of unknown logarithms."""


Sizes = Mapping[Symbol, float]
"""The sizes of symbols; a symbol that is not listed has size 1."""
ORDINARY: Sizes = MappingProxyType({})
"""All symbols are of order one."""
_FIT_ERROR = 1e-12
"""Relative tolerances of the least-squares fit of logarithms; sizes need few digits, and the sums must vanish up to round-off."""


class Slopes:
    """Rows and their derivatives by some jets at points, in units in which rows and jets are of order one."""

    def __init__(self, rows: Sequence[Any], jets: Sequence[Symbol], algebra: Algebra[Any], sizes: Sizes) -> None:
        self.count, self.jets = len(rows), jets
        self.units = units_of(jets, sizes)
        zero = algebra.of(S.Zero)
        self._tape = algebra.tape(joined([rows, *Calculus(algebra, NO_FRAME).lines(rows, jets)], zero))
        self._rows = row_sizes(rows, algebra, sizes)

    @property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols for which a point must have values."""
        return self._tape.symbols

    def __call__(self, at: Mapping[Symbol, float]) -> tuple[Matrix, Numbers]:
        """The rows and their derivatives, stored without zeros if these are many; raises `Undefined` where one has no value."""
        values, jacobian = values_at(self._tape, at, self.count, (self.count, len(self.jets)))
        return values / self._rows, scaled(jacobian, 1 / self._rows, self.units)

    def dense(self, at: Mapping[Symbol, float]) -> tuple[Matrix, Matrix]:
        """The rows and their derivatives, stored with all zeros."""
        values, jacobian = self(at)
        return values, whole(jacobian)


def units_of(symbols: Sequence[Symbol], sizes: Sizes) -> Matrix:
    """The sizes of some symbols as an array."""
    return np.array([sizes.get(z, 1.0) for z in symbols])


def largest_of_kind(jets: Mapping[Jet, float], sizes: Sizes) -> dict[Jet, float]:
    """For each jet the largest value among jets of its kind and order, compared in units of their sizes."""
    largest: dict[tuple[type[Jet], int], float] = {}
    for z, v in jets.items():
        kind = type(z), z.order
        largest[kind] = max(largest.get(kind, 0.0), abs(v) / sizes.get(z, 1.0))
    return {z: largest[type(z), z.order] * sizes.get(z, 1.0) for z in jets}


def natural_sizes(
    rows: Sequence[Any], algebra: Algebra[Any], known: Mapping[Symbol, float] | None = None, symbols: Sequence[Symbol] = ()
) -> Sizes:
    """The sizes of symbols that `rows` suggest, with `known` values of parameters; empty if all are of order one or no sizes fit."""
    program, order = algebra.program(rows)
    values = {z: abs(float(v)) for z, v in (known or {}).items() if isinstance(z, Parameter) and v != 0 and isfinite(v)}
    if not _extreme(program, order, values):
        return ORDINARY
    fit = _Fit(order, values)
    fit.read(program)
    found = fit.solved()
    if found is None:  # no sizes explain terms that cancel, such as those of a total derivative in L
        fit = _Fit(order, values)
        fit.read(algebra.program(_without_cancelled(rows, algebra), order)[0])
        found = fit.solved()
    if found is None:
        return ORDINARY
    logs = {z: found(fit.of_symbol(z)) for z in {*order, *symbols}}
    return {z: _power(v) for z, v in logs.items()} if max(map(abs, logs.values()), default=0.0) > _ORDINARY / 2 else ORDINARY


def _without_cancelled(rows: Sequence[Any], algebra: Algebra[Any]) -> list[Any]:
    """The rows without the symbols on which they do not depend, because their terms cancel."""
    found = []
    for row in rows:
        present = sorted((z for z in algebra.symbols(row) if isinstance(z, Jet)), key=lambda z: z.name)
        zero = vanishing(algebra.program(algebra.gradient(row, present))[0]) if present else None
        idle = [z for z, cancelled in zip(present, zero or (), strict=False) if cancelled]
        found.append(algebra.without(row, idle) if idle else row)
    return found


def row_sizes(rows: Sequence[Any], algebra: Algebra[Any], sizes: Sizes) -> Matrix:
    """The size of each row, that of its largest term, for symbols of the given `sizes`."""
    program, order = algebra.program(rows)
    if not sizes and not _extreme(program, order, {}):
        return np.ones(len(rows))
    outputs = _Fit(order, {z: sizes.get(z, 1.0) for z in order}).read(program)
    return np.array([1.0 if form is None else _power(form[0]) for form in outputs])


def _power(exponent: float) -> float:
    return 2.0 ** max(-900, min(900, round(exponent)))


def _extreme(program: Program, order: Sequence[Symbol], values: Mapping[Symbol, float]) -> bool:
    """Whether any number is far from one."""
    numbers = [line[2] for line in program.lines if line[0] == "number" and line[2]]
    return any(abs(_log(c)) > _ORDINARY for c in [*numbers, *[values[z] for z in order if z in values]])


def _log(number: Fraction | float) -> float:
    if isinstance(number, Fraction):
        return log2(abs(number.numerator)) - log2(number.denominator)
    mantissa, exponent = frexp(abs(number))
    return log(mantissa, 2) + exponent


class _Fit:
    """Equations between logarithms of sizes, read from a program."""

    def __init__(self, order: Sequence[Symbol], values: Mapping[Symbol, float]) -> None:
        self.order, self.values = order, values
        self._slots: dict[int, Form | None] = {}
        self._equations: list[Form] = []
        self._sums = 0

    def of_symbol(self, z: Symbol) -> Form:
        """The size of a symbol."""
        if z in self.values:
            return _log(self.values[z]), {}
        if z == TIME:
            return 0.0, {TIME: 1.0}
        if isinstance(z, Place):
            return 0.0, {}
        if isinstance(z, Jet):
            return 0.0, {z.base: 1.0, TIME: -float(z.order)} if z.order else {z.base: 1.0}
        return 0.0, {z: 1.0}

    def read(self, program: Program) -> list[Form | None]:
        """Add the equations of a program; returns the sizes of its outputs, None for zero."""
        for operation, target, a, b in program.lines:
            self._slots[target] = self._line(operation, a, b)
        return [self._slots[slot] for slot in program.outputs]

    def _line(self, operation: str, a: Any, b: Any) -> Form | None:
        if operation == "input":
            return self.of_symbol(self.order[a])
        if operation == "number":
            return (_log(a), {}) if a else None
        if isinstance(a, Compound):
            value = many_digit_values(a.program, (), many_digits(_CONSTANT_DIGITS)[0])[0]
            return (_log(float(value)), {}) if float(value) else None
        if operation in ("constant", "undefined"):
            return 0.0, {}
        first = self._slots[a]
        if operation in _ALIKE:
            return self._alike(first, self._slots[b])
        if operation in _SAME:
            return first
        if operation == "where":
            return self._slots[b]
        if operation in _FACTORS:
            second = None if b is None else self._slots.get(b)
            return self._product(operation, first, second)
        if operation == "power":
            return None if first is None else _scaled(first, float(b))
        return self._function(operation, first, None if b is None else self._slots.get(b))

    def _product(self, operation: str, a: Form | None, b: Form | None) -> Form | None:
        if operation in ("mul", "div"):
            return None if a is None or b is None else _added(a, b, 1.0 if operation == "mul" else -1.0)
        if a is None:
            return None
        return (a[0] + 1.0, a[1]) if operation == "twice" else _scaled(a, _FACTORS[operation])

    def _alike(self, a: Form | None, b: Form | None) -> Form | None:
        """The size of a sum, an unknown to which both terms should be equal."""
        if a is None or b is None:
            return b if a is None else a
        if not a[1] and not b[1]:
            return max(a, b, key=lambda form: form[0])
        self._sums += 1
        total: Form = (0.0, {self._sums: 1.0})
        self._equations += [_added(a, total, -1.0), _added(b, total, -1.0)]
        return total

    def _function(self, operation: str, a: Form | None, b: Form | None) -> Form:
        """The size 1 of a function's value. Arguments have size 1; those of comparisons and `atan2` equal sizes; that of `sign` any
        size.
        """
        if operation in ("less", "equal", "atan2"):
            self._alike(a, b)
        elif operation not in ("sign", "step", "not"):
            self._equations += [form for form in (a, b) if form is not None and form[1]]
        return 0.0, {}

    def solved(self) -> Any:
        """A function from forms to logarithms of sizes; None if no sizes fit all equations."""
        names = {name: k for k, name in enumerate(dict.fromkeys(name for _, parts in self._equations for name in parts))}
        if not names:
            return None
        right = -np.array([number for number, _ in self._equations])
        found, residual = self._fitted(names, right)
        if not np.abs(residual).max(initial=0.0) < _EXPLAINED:
            return None
        return lambda form: form[0] + sum(c * (float(found[names[name]]) if name in names else 0.0) for name, c in form[1].items())

    def _fitted(self, names: Mapping[Any, int], right: Matrix) -> tuple[Matrix, Matrix]:
        """The least-squares solution of least norm, and the residual of every equation."""
        entries, shape = list(self._entries(names)), (len(self._equations), len(names))
        if max(shape) <= _DENSE:
            dense = np.zeros(shape)
            for c, line, column in entries:
                dense[line, column] += c
            found = np.array(np.linalg.lstsq(dense, right, rcond=None)[0], dtype=np.float64)
            return found, dense @ found - right
        from scipy.sparse import csr_matrix
        from scipy.sparse.linalg import lsqr

        data, lines, columns = zip(*entries, strict=True) if entries else ((), (), ())
        matrix = csr_matrix((data, (lines, columns)), shape=shape)
        found = lsqr(matrix, right, atol=_FIT_ERROR, btol=_FIT_ERROR)[0]
        return found, matrix @ found - right

    def _entries(self, names: Mapping[Any, int]) -> Iterator[tuple[float, int, int]]:
        for line, (_, parts) in enumerate(self._equations):
            for name, c in parts.items():
                yield c, line, names[name]


_ALIKE = frozenset("add sub min max".split())
"""Operations whose arguments should have equal sizes."""
_SAME = frozenset("neg assign abs".split())
"""Operations that keep the size of their argument."""
_FACTORS = {"mul": 1.0, "div": 1.0, "sq": 2.0, "twice": 1.0, "inv": -1.0, "sqrt": 0.5}
"""Operations that multiply the logarithm of a size."""


def _scaled(form: Form, factor: float) -> Form:
    return form[0] * factor, {name: c * factor for name, c in form[1].items()}


def _added(a: Form, b: Form, factor: float) -> Form:
    parts = dict(a[1])
    for name, c in b[1].items():
        parts[name] = parts.get(name, 0.0) + factor * c
    return a[0] + factor * b[0], {name: c for name, c in parts.items() if c}
