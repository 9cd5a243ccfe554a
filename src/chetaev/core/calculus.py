r"""Differentiation on jets, written once for every kind of expression.

The mechanics of the library needs two operations on expressions: the gradient with respect to some symbols, and the derivative along a
direction. `Algebra` names them; `SymbolicAlgebra` gives them for SymPy expressions, and an automatic-differentiation graph can give them as
well. Everything else, the total derivative

$$ D = \partial_t + \xi^a X_a + \sum_{k \ge 1} \xi_a^{(k)} \frac{\partial}{\partial \xi_a^{(k-1)}} + L\, \partial_s, $$

is built on these two. A `Frame` says how the configuration moves: vector fields $X_a$ with velocities $\xi^a$ and structure functions
$[X_a, X_b] = C^c_{ab} X_c$. Coordinates are the frame $X_a = \partial/\partial q^a$, $\xi^a = q'^a$, $C = 0$.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import sympy
from sympy import Basic, Expr, Symbol

from chetaev.core.exact.program import Program
from chetaev.core.functions import in_own_functions
from chetaev.core.support.lines import Line
from chetaev.core.symbols import TIME, Action, Coordinate, Jet, Place, symbols_in
from chetaev.core.values import Tape

if TYPE_CHECKING:
    from chetaev.core.groups.coordinate import GroupCoordinate

E = TypeVar("E")


class Algebra(Protocol[E]):
    """The operations on one kind of expression: conversion from SymPy, derivatives, symbols, evaluation."""

    def of(self, expression: Expr) -> E:
        """The expression in this algebra."""

    def gradient(self, e: E, symbols: Sequence[Symbol]) -> list[E]:
        """The partial derivatives with respect to the symbols."""

    def along(self, expressions: Sequence[E], rates: Mapping[Symbol, E]) -> list[E]:
        """The derivatives in a direction: the sum of rate times partial derivative, for each expression."""

    def symbols(self, e: E) -> AbstractSet[Symbol]:
        """The symbols that `e` depends on."""

    def symbols_of(self, expressions: Sequence[E]) -> AbstractSet[Symbol]:
        """The symbols that any of `expressions` depends on."""

    def symbols_of_each(self, expressions: Sequence[E]) -> Sequence[AbstractSet[Symbol]]:
        """For each of `expressions` the symbols that it depends on."""

    def which_contain(self, expressions: Sequence[E], symbols: Sequence[Symbol]) -> list[bool]:
        """For each expression whether it depends on any of the symbols."""

    def without(self, e: E, symbols: Sequence[Symbol]) -> E:
        """`e` with `symbols` set to zero."""

    def tape(self, expressions: Sequence[E]) -> Evaluator:
        """An evaluator of `expressions` at points."""

    def program(self, expressions: Sequence[E], symbols: Sequence[Symbol] | None = None) -> tuple[Program, list[Symbol]]:
        """The expressions as a program for exact arithmetic, and its input symbols, in the order of `symbols` if that is given."""


class Evaluator(Protocol):
    """Expressions that are prepared for evaluation at points."""

    symbols: frozenset[Symbol]

    def __call__(self, values: Mapping[Symbol, float]) -> Sequence[float]:
        """The values of the expressions at a point; raises `Undefined` where one has no finite value."""


class SymbolicAlgebra:
    """The algebra of SymPy expressions, in which equations are shown."""

    def of(self, expression: Expr) -> Expr:
        return expression

    def gradient(self, e: Expr, symbols: Sequence[Symbol]) -> list[Expr]:
        return [_tidy(slope) for slope in partials(e, symbols)]

    def along(self, expressions: Sequence[Expr], rates: Mapping[Symbol, Expr]) -> list[Expr]:
        slopes = [self.gradient(e, list(rates)) for e in expressions]
        return [sympy.Add(*[rate * slope for rate, slope in zip(rates.values(), line, strict=True)]) for line in slopes]

    def symbols(self, e: Expr) -> set[Symbol]:
        return set(symbols_in(e))

    def symbols_of(self, expressions: Sequence[Expr]) -> set[Symbol]:
        return set(symbols_in(*expressions))

    def symbols_of_each(self, expressions: Sequence[Expr]) -> list[set[Symbol]]:
        return [set(symbols_in(e)) for e in expressions]

    def which_contain(self, expressions: Sequence[Expr], symbols: Sequence[Symbol]) -> list[bool]:
        return [not symbols_in(e).isdisjoint(symbols) for e in expressions]

    def without(self, e: Expr, symbols: Sequence[Symbol]) -> Expr:
        return e.xreplace(dict.fromkeys(symbols, sympy.S.Zero))

    def tape(self, expressions: Sequence[Expr]) -> Tape:
        return Tape(expressions)

    def program(self, expressions: Sequence[Expr], symbols: Sequence[Symbol] | None = None) -> tuple[Program, list[Symbol]]:
        return Tape(expressions).program(symbols)


SYMBOLIC = SymbolicAlgebra()
"""The one symbolic algebra; it holds no state."""


@dataclass(frozen=True)
class Frame:
    """Velocities and vector fields of the configuration: `D z = sum_a xi^a X_a(z)` for every configuration symbol `z`.

    `fields[a]` maps configuration symbols to the components of $X_a$; `structure[a, b]` (for a < b) maps `c` to $C^c_{ab}$.
    """

    velocities: tuple[Jet, ...]
    fields: tuple[Mapping[Symbol, Expr], ...]
    structure: Mapping[tuple[int, int], Mapping[int, Expr]] = field(default_factory=dict)

    @staticmethod
    def of_coordinates(coordinates: Sequence[Coordinate], groups: Iterable[GroupCoordinate] = ()) -> Frame:
        """The frame of coordinate directions, and of the invariant fields of group coordinates."""
        fields: list[Mapping[Symbol, Expr]] = [{q: sympy.S.One} for q in coordinates]
        structure: dict[tuple[int, int], Mapping[int, Expr]] = {}
        for group in groups:
            first = coordinates.index(group.components[0])
            fields[first : first + len(group.fields)] = group.fields
            for (a, b), parts in group.structure.items():
                structure[first + a, first + b] = {first + c: sympy.S(value) for c, value in parts.items()}
        return Frame(tuple(q.d() for q in coordinates), tuple(fields), structure)

    @cached_property
    def turning(self) -> dict[Jet, int]:
        """The components `A1`, `A2`, ... of group coordinates, with the number of their field. They have velocities but no values."""
        return {v.d(-1): a for a, v in enumerate(self.velocities) if v.d(-1) not in self.fields[a]}

    def bracket(self, a: int, b: int) -> Mapping[int, Expr]:
        """The components $C^c_{ab}$ by `c`."""
        if a > b:
            return {c: -value for c, value in self.bracket(b, a).items()}
        return self.structure.get((a, b), {})

    @cached_property
    def partners(self) -> dict[int, list[int]]:
        """For each field those with which it has a bracket, in ascending order; fields without one are left out."""
        found: dict[int, list[int]] = {}
        for pair in self.structure:
            for a, b in (pair, pair[::-1]):
                found.setdefault(a, []).append(b)
        return {a: sorted(others) for a, others in found.items()}

    @cached_property
    def rates(self) -> dict[Symbol, list[tuple[Jet, Expr]]]:
        """For every configuration symbol the pairs (velocity, component) whose products add up to its rate."""
        found: dict[Symbol, list[tuple[Jet, Expr]]] = {}
        for velocity, components in zip(self.velocities, self.fields, strict=True):
            for z, component in components.items():
                found.setdefault(z, []).append((velocity, component))
        return found


@dataclass(frozen=True)
class Calculus(Generic[E]):
    """An algebra together with a frame and, for contact dynamics, the rate `s' = L` of the action variable."""

    algebra: Algebra[E]
    frame: Frame
    action: Action | None = None
    action_rate: E | None = None

    def total(self, e: E, times: int = 1) -> E:
        """The total derivative, `times` times."""
        for _ in range(times):
            (e,) = self.totals([e])
        return e

    def totals(self, expressions: Sequence[E]) -> list[E]:
        """The total derivatives of several expressions; an algebra of graphs differentiates shared parts once."""
        moving = self.frame.rates
        rates = {z: rate for z in self.algebra.symbols_of(expressions) if (rate := self._rate(z, moving)) is not None}
        return self.algebra.along(expressions, rates)

    def fields(self, e: E) -> list[E]:
        """The derivatives $X_a(e)$ along all fields of the frame, from one gradient."""
        present = self.algebra.symbols(e)
        moving = sorted({z for components in self.frame.fields for z in components} & present, key=lambda z: z.name)
        slopes: dict[Symbol, Any] = dict(zip(moving, self.algebra.gradient(e, moving), strict=True))
        return [self._along_field(components, slopes) for components in self.frame.fields]

    def gradient(self, e: E, jets: Sequence[Jet]) -> list[E]:
        """The partial derivatives with respect to jets; for the component of a group coordinate itself, the derivative along its field."""
        turning = self.frame.turning
        numbers = [turning.get(z) for z in jets] if turning else []
        slopes = self.algebra.gradient(e, jets)
        if any(a is not None for a in numbers):
            fields = self.fields(e)
            slopes = [slope if a is None else fields[a] for a, slope in zip(numbers, slopes, strict=True)]
        return slopes

    def lines(self, expressions: Sequence[E], jets: Sequence[Jet]) -> list[Line]:
        """The gradients of several expressions, each by the jets that occur in it."""
        place, zero = {z: j for j, z in enumerate(jets)}, self.algebra.of(sympy.S.Zero)
        turning = [z for z in self.frame.turning if z in place]
        found = []
        for e in expressions:
            own = sorted({place[z] for z in (*self.algebra.symbols(e), *turning) if z in place})
            found.append(Line(dict(zip(own, self.gradient(e, [jets[j] for j in own]), strict=True)), len(jets), zero))
        return found

    def _along_field(self, components: Mapping[Symbol, Expr], slopes: Mapping[Symbol, Any]) -> Any:
        terms = [slopes[z] if c == 1 else self.algebra.of(c) * slopes[z] for z, c in components.items() if z in slopes]
        return sum(terms[1:], terms[0]) if terms else self.algebra.of(sympy.S.Zero)

    def _rate(self, z: Symbol, moving: Mapping[Symbol, list[tuple[Jet, Expr]]]) -> Any:
        if z in moving:
            return self.algebra.of(sympy.Add(*[velocity * component for velocity, component in moving[z]]))
        if self.action is not None and z == self.action:
            return self.action_rate
        if isinstance(z, Place):  # no field moves it: a constant entry, as in a unipotent group
            return None
        if isinstance(z, Jet):
            return self.algebra.of(z.d())
        return self.algebra.of(sympy.S.One) if z == TIME else None


NO_FRAME = Frame((), ())
"""The frame of plain jets."""
_ORDINARY = Calculus(SYMBOLIC, NO_FRAME)
"""Differentiation without group coordinates and without an action variable."""


def total_derivative(expression: Expr, times: int = 1) -> Expr:
    """$D$ of a SymPy expression in ordinary jets: every jet goes to the next one, `t` to 1, parameters to 0.

    >>> from chetaev.core.symbols import Coordinate
    >>> x = Coordinate("x")
    >>> total_derivative(TIME * x.d(1) ** 2)
    2*t*x'*x'' + x'**2
    """
    return _ORDINARY.total(expression, times)


def degree(e: Expr, symbols: Iterable[Symbol]) -> int:
    """The degree of `e` in `symbols` as it is written, without simplification: 0, 1, or 2 for everything that is not visibly affine.

    >>> from chetaev.core.symbols import Coordinate
    >>> x, y = Coordinate("x"), Coordinate("y")
    >>> degree(x + sympy.sin(y), [x]), degree(x * (x + 1) - x**2, [x]), degree(sympy.sin(y), [x])
    (1, 2, 0)
    """
    found: dict[Expr, int] = dict.fromkeys(symbols, 1)
    stack = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if node in found:
            continue
        if node.args and not ready:
            stack.append((node, True))
            stack += [(a, False) for a in node.args]
            continue
        parts = [found[a] for a in node.args]
        found[node] = max(parts, default=0) if node.is_Add else min(2, sum(parts)) if node.is_Mul else 2 * any(parts)
    return found[e]


def partials(e: Expr, symbols: Sequence[Symbol]) -> list[Expr]:
    """The partial derivatives of `e` with respect to `symbols`, not simplified.

    SymPy's `diff` asks every part again which symbols it contains and whether it is known to be zero, which takes a time quadratic in the
    depth of an expression.

    >>> x, y = sympy.symbols("x y")
    >>> partials(x * sympy.sin(x * y), [x, y])
    [x*y*cos(x*y) + sin(x*y), x**2*cos(x*y)]
    """
    slopes = Slopes(frozenset(symbols))
    return [slopes.slope(e, z) for z in symbols]


class Slopes:
    """Partial derivatives with respect to `symbols`; those of a part that several expressions share are computed once.

    >>> x, y = sympy.symbols("x y")
    >>> Slopes(frozenset([x, y])).slope(x * sympy.sin(y), y)
    x*cos(y)
    """

    def __init__(self, symbols: frozenset[Symbol]) -> None:
        self.symbols = symbols
        self.contained: dict[Basic, frozenset[Symbol]] = {}
        self.known: dict[tuple[Expr, Symbol], Expr] = {}

    def inside(self, e: Basic) -> frozenset[Symbol]:
        """The symbols that `e` contains, among those of this object."""
        found = self.contained.get(e)
        if found is None:
            found = frozenset().union(*map(self.inside, e.args)) if e.args else self.symbols & {e}
            self.contained[e] = found
        return found

    def slope(self, e: Expr, z: Symbol) -> Expr:
        """The derivative of `e` with respect to `z`, one of the symbols."""
        if z not in self.inside(e):
            return sympy.S.Zero
        found = self.known.get((e, z))
        if found is None:
            found = self.known[e, z] = self._by_rule(e, z)
        return found

    def _by_rule(self, e: Expr, z: Symbol) -> Expr:
        if e == z:
            return sympy.S.One
        if e.is_Add:
            return sympy.Add(*[self.slope(a, z) for a in e.args if z in self.inside(a)])
        if e.is_Mul:
            moving = [k for k, a in enumerate(e.args) if z in self.inside(a)]
            return sympy.Add(*[sympy.Mul(*e.args[:k], self.slope(e.args[k], z), *e.args[k + 1 :]) for k in moving])
        if e.is_Pow and e.exp.is_Rational:
            return sympy.Mul(e.exp, e.base ** (e.exp - 1), self.slope(e.base, z))
        if isinstance(e, sympy.sin | sympy.cos):
            return sympy.Mul(e.fdiff(), self.slope(e.args[0], z))
        return e.diff(z)


def _tidy(e: Expr) -> Expr:
    """`e` with the numerical factors of each product combined: `M*(2*x*x' + 2*y*y')/2` becomes `M*(x*x' + y*y')`."""
    return in_own_functions(sympy.Add(*[_gathered(term) for term in sympy.Add.make_args(e)]))


def _gathered(term: Expr) -> Expr:
    if not term.is_Mul or not any(factor.is_Add for factor in term.args):
        return term
    return sympy.Mul(*[part for factor in term.args for part in (_content(factor) if factor.is_Add else (factor,))])


def _content(e: Expr) -> tuple[Expr, ...]:
    """The common numerical factor of a sum, and the rest. `b*x^2 + 4/5` is not factored: `(5*b*x^2 + 4)/5` has more numbers."""
    number, rest = e.primitive()
    more = _plain_terms(rest) > _plain_terms(e)
    return (number, rest) if number.is_Integer or more else (e,)


def _plain_terms(e: Expr) -> int:
    """The number of terms of a sum whose coefficient is 1 or -1."""
    return sum(abs(term.as_coeff_Mul()[0]) == 1 for term in e.args)
