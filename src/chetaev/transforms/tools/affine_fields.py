r"""The search for symmetries: affine fields $X = \tau\,\partial_t + (a^i + B^i_j q^j + c^i t)\,\partial_{q^i}$ by linear algebra.

The condition that a field leaves a Lagrangian, its Euler-Lagrange expressions or a constraint unchanged is linear in its coefficients. At
random points these conditions become rows of numbers; the vectors of their null space are rounded to rational numbers, and the symmetries
are proved afterwards.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Add, Expr, Rational, S, Symbol

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.symbols import TIME, Input, Jet, jets_in
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.ranks.generic import Point, points_on
from chetaev.mechanics.ranks.sizes import ORDINARY, Sizes, units_of
from chetaev.mechanics.ranks.split import split

Matrix = NDArray[np.float64]

_ZERO_ENTRY = 1e-7
"""Size below which entries of null vectors of order one are zero, and relative distance of an entry from its fraction. A wrong fraction
fails the proof; with a smaller value errors of points would hide fields."""
_LARGEST_DENOMINATOR = 1000
"""Largest denominator of a coefficient. Much larger ones would approximate any number within `_ZERO_ENTRY`."""


@dataclass(frozen=True)
class Field:
    r"""$\tau\,\partial_t + \xi^i(t, q)\,\partial_{q^i}$ with constant $\tau$; for group coordinates $\xi^a X_a$ in their frame."""

    components: tuple[tuple[Jet, Expr], ...]
    time: Expr = S.Zero
    speeds: tuple[tuple[Jet, Expr], ...] = ()
    """The changes of the velocities of group coordinates, by component."""
    entries: tuple[tuple[Symbol, Expr], ...] = ()
    """The changes of the entries of the matrices of group coordinates."""
    turned: tuple[tuple[Jet, Expr], ...] = ()
    """The part of the displacement that is constant in the frame, for printing."""
    named: tuple[tuple[str, Expr], ...] = ()
    """The translations from the other side, such as `E1*A`, for printing."""

    def applied(self, e: Expr, total: Any) -> Expr:
        r"""$\mathrm{pr}\,X(e) = \tau\,\partial_t e + D^k\xi^i\,\partial e/\partial q_i^{(k)}$; given functions of time count as time."""
        terms = []
        if self.time != 0:
            terms += [self.time * e.diff(TIME)] + [self.time * z.d() * e.diff(z) for z in jets_in(e, Input)]
        speeds = dict(self.speeds)
        for q, xi in self.components:
            jets = sorted((z for z in jets_in(e) if z.base == q.base and q not in speeds), key=lambda z: z.order)
            terms += [total(xi, z.order) * e.diff(z) for z in jets]
        for q, rate in speeds.items():
            jets = sorted((z for z in jets_in(e) if z.base == q.base), key=lambda z: z.order)
            terms += [total(rate, z.order - 1) * e.diff(z) for z in jets] if rate != 0 else []
        present = e.free_symbols
        terms += [change * e.diff(z) for z, change in self.entries if z in present]
        return Add(*terms)

    def characteristic(self, q: Jet) -> Expr:
        r"""$\xi^q - \tau \dot q$, the displacement of a motion at a fixed time."""
        return dict(self.components).get(q, S.Zero) - self.time * q.d()


@dataclass(frozen=True)
class Ansatz:
    """All affine fields in some variables, as vectors of coefficients."""

    variables: tuple[Jet, ...]

    @cached_property
    def size(self) -> int:
        """The number of coefficients: those of time, constants, boosts and the matrix."""
        n = len(self.variables)
        return 1 + 2 * n + n * n

    def units(self, sizes: Sizes) -> Matrix:
        """The sizes of the coefficients, from those of time and of the variables."""
        own, time = units_of(self.variables, sizes), sizes.get(TIME, 1.0)
        found: Matrix = np.concatenate([[time], own, own / time, (own[:, None] / own).ravel()])
        return found

    def field(self, vector: Sequence[Fraction]) -> Field:
        """The field of a vector."""
        n = len(self.variables)
        numbers = [Rational(v.numerator, v.denominator) for v in vector]
        constants, boosts, matrix = numbers[1 : 1 + n], numbers[1 + n : 1 + 2 * n], numbers[1 + 2 * n :]
        components = []
        for i, q in enumerate(self.variables):
            line = matrix[i * n : (i + 1) * n]
            xi = Add(constants[i], boosts[i] * TIME, *[b * z for b, z in zip(line, self.variables, strict=True)])
            if xi != 0:
                components.append((q, xi))
        return Field(tuple(components), numbers[0])

    def invariance(self, expressions: Sequence[Expr], weights: bool = False) -> Condition:
        r"""The condition that expressions do not change; for Euler-Lagrange expressions, with `weights`, $\mathrm{pr}X(E_i) + \partial_i
        \xi^j E_j = 0$.
        """
        return Invariance(self, tuple(expressions), weights)

    def annihilation(self, rows: Sequence[Sequence[Expr]]) -> Condition:
        r"""The condition that the rows vanish on $\xi - \tau\dot q$; a row has an entry for each variable."""
        return Annihilation(self, rows)


class Condition(ABC):
    """Abstract: a condition that is linear in the coefficients of a field."""

    ansatz: Any
    """The fields, as vectors of coefficients."""
    count: int
    """The number of rows at a point."""
    symbols: frozenset[Symbol]
    order: int
    """The highest derivative that occurs."""

    @abstractmethod
    def rows(self, point: Mapping[Symbol, float]) -> Iterator[Matrix]:
        """The condition at a point."""


class Annihilation(Condition):
    """Rows that vanish on a field."""

    order = 1

    def __init__(self, ansatz: Ansatz, rows: Sequence[Sequence[Expr]]) -> None:
        self.ansatz, self.count = ansatz, len(rows)
        self.tape = Tape([e for row in rows for e in row])
        self.symbols = self.tape.symbols

    def rows(self, point: Mapping[Symbol, float]) -> Iterator[Matrix]:
        variables = self.ansatz.variables
        positions = np.array([point[y] for y in variables])
        speeds = np.array([point[y.d()] for y in variables])
        for line in np.array(self.tape(point)).reshape(self.count, len(variables)):
            yield np.concatenate([[-line @ speeds], line, line * point[TIME], np.outer(line, positions).ravel()])


class Invariance(Condition):
    """Expressions that do not change along a field."""

    def __init__(self, ansatz: Ansatz, expressions: tuple[Expr, ...], weights: bool) -> None:
        self.ansatz, self.weights, self.count = ansatz, weights, len(expressions)
        self.jets = [sorted((z for z in jets_in(e) if z.base in self._bases), key=str) for e in expressions]
        self.given = [sorted(jets_in(e, Input), key=str) for e in expressions]
        tapes = []
        for e, jets, given in zip(expressions, self.jets, self.given, strict=True):
            tapes.append(Tape([e, *SYMBOLIC.gradient(e, [TIME, *jets, *given]), *jets, *[z.d() for z in given]]))
        self.tapes = tapes
        self.symbols = frozenset().union(*[t.symbols for t in tapes])
        self.order = max((z.order for jets in self.jets for z in jets), default=0)

    @property
    def _bases(self) -> set[str]:
        return {z.base for z in self.ansatz.variables}

    def rows(self, point: Mapping[Symbol, float]) -> Iterator[Matrix]:
        """The conditions at a point, one row for each expression."""
        values = []
        slopes = []
        for tape, jets, given in zip(self.tapes, self.jets, self.given, strict=True):
            value, by_time, *rest = tape(point)
            values.append(value)
            count = len(jets) + len(given)
            rates = rest[count + len(jets) :]
            by_time += sum(d * r for d, r in zip(rest[len(jets) : count], rates, strict=True))
            slopes.append((by_time, dict(zip(jets, rest[: len(jets)], strict=True))))
        places = {z.base: i for i, z in enumerate(self.ansatz.variables)}
        for i, (by_time, by_jet) in enumerate(slopes):
            row = self._row(by_time, by_jet, point, places)
            if self.weights:
                n = len(places)
                for j, e in enumerate(values):
                    row[1 + 2 * n + j * n + i] += e
            yield row

    def _row(self, by_time: float, by_jet: Mapping[Jet, float], point: Mapping[Symbol, float], places: Mapping[str, int]) -> Matrix:
        n = len(places)
        row = np.zeros(self.ansatz.size)
        row[0] = by_time
        for z, slope in by_jet.items():
            i = places[z.base]
            if z.order == 0:
                row[1 + i] += slope
                row[1 + n + i] += slope * point[TIME]
            elif z.order == 1:
                row[1 + n + i] += slope
            for j, y in enumerate(self.ansatz.variables):
                row[1 + 2 * n + i * n + j] += slope * point[y.d(z.order)]
        return row


def conditions_at(conditions: Sequence[Condition], surface: Sequence[Expr] = (), sizes: Sizes = ORDINARY) -> Matrix:
    """Rows of numbers that represent the conditions at sufficiently many random points, or points of a surface, with symbols of these
    sizes.
    """
    rows: list[Matrix] = []
    for condition in conditions:
        wanted = condition.ansatz.size // max(condition.count, 1) + 12
        symbols = {*condition.symbols, TIME, *[y.d(k) for y in condition.ansatz.variables for k in range(condition.order + 1)]}
        points: Sequence[Point] = (
            points_on(surface, list(symbols), count=wanted, sizes=sizes) if surface else _random(symbols, wanted, sizes)
        )
        for point in points:
            try:
                rows += list(condition.rows({**random_point(symbols, 0, sizes=sizes), **point}))
            except Undefined:
                continue
    if surface and not rows and any(c.count for c in conditions):  # no point of the surface was found, so no field is known to keep it
        return np.eye(conditions[0].ansatz.size)
    return np.array(rows) if rows else np.zeros((0, conditions[0].ansatz.size if conditions else 0))


def _random(symbols: set[Symbol], count: int, sizes: Sizes) -> list[Point]:
    """Random points of the given sizes, some of them larger or smaller."""
    return [random_point(symbols, seed, sizes=sizes) for seed in range(count)]


def rational_null_space(matrix: Matrix, units: Matrix, known: Sequence[Sequence[Fraction]] = ()) -> list[list[Fraction]]:
    """The vectors of the null space in row echelon form that are rational and independent of `known`.

    The coefficients are of order one in their `units`; the first of each vector is one.
    """
    matrix = matrix * units
    sizes = np.abs(matrix).max(axis=1, initial=0.0)
    scaled = matrix[sizes > 0] / sizes[sizes > 0][:, None]
    found: list[list[Fraction]] = []
    for line in _echelon(split(scaled).null.T):
        fractions = _rational(line, units)
        if fractions is not None and _is_new(fractions, [*known, *found], units):
            found.append(fractions)
    return found


def _echelon(rows: Matrix) -> Matrix:
    """Reduced row echelon form."""
    a = np.array(rows, dtype=float)
    top = 0
    for column in range(a.shape[1]):
        if top == len(a):
            break
        k = top + int(np.argmax(np.abs(a[top:, column])))
        if abs(a[k, column]) < _ZERO_ENTRY:
            continue
        a[[top, k]] = a[[k, top]]
        a[top] /= a[top, column]
        others = np.arange(len(a)) != top
        a[others] -= np.outer(a[others, column], a[top])
        top += 1
    a[np.abs(a) < _ZERO_ENTRY] = 0.0
    return a[:top]


def _is_new(vector: Sequence[Fraction], known: Sequence[Sequence[Fraction]], units: Matrix) -> bool:
    rows = np.array([[float(v) for v in line] for line in [*known, vector]]) / units
    return len(_echelon(rows / np.abs(rows).max(axis=1, keepdims=True))) == len(rows)


def _rational(line: Matrix, units: Matrix) -> list[Fraction] | None:
    """The coefficients of a vector, given in their units, as fractions; None if one is not near a simple fraction."""
    first = units[int(np.flatnonzero(line)[0])]
    found = [_fraction(float(v)) for v in line * (units / first)]
    return None if any(f is None for f in found) else [f for f in found if f is not None]


def _fraction(v: float) -> Fraction | None:
    """A simple fraction near a number, or a power of ten times a simple fraction: in other units 1/3 may be 1000000/3."""
    powers = (0, math.floor(math.log10(abs(v)))) if v else (0,)
    for ten in (Fraction(10) ** power for power in powers):
        found = ten * (Fraction(v) / ten).limit_denominator(_LARGEST_DENOMINATOR)
        if abs(float(found) - v) <= _ZERO_ENTRY * abs(v):
            return found
    return None
