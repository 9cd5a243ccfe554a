r"""Differentiation on jets, written once for every kind of expression.

The mechanics of the library needs two operations on expressions: the gradient with respect to some symbols, and the derivative along a
direction. `Algebra` names them; `SymbolicAlgebra` gives them for SymPy expressions, and an automatic-differentiation graph can give them as
well. Everything else, the total derivative

$$ D = \partial_t + \xi^a X_a + \sum_{k \ge 1} \xi_a^{(k)} \frac{\partial}{\partial \xi_a^{(k-1)}} + L\, \partial_s, $$

is built on these two. A `Frame` says how the configuration moves: vector fields $X_a$ with velocities $\xi^a$ and structure functions
$[X_a, X_b] = C^c_{ab} X_c$. Coordinates are the frame $X_a = \partial/\partial q^a$, $\xi^a = q'^a$, $C = 0$.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import sympy
from sympy import Expr, Symbol

from chetaev.functions import in_own_words
from chetaev.symbols import TIME, Action, Coordinate, Jet
from chetaev.values import Tape

E = TypeVar("E")


class Algebra(Protocol[E]):
    """How one kind of expression is made from SymPy's and differentiated."""

    def of(self, expression: Expr) -> E:
        """The expression in this algebra."""

    def gradient(self, e: E, symbols: Sequence[Symbol]) -> list[E]:
        """The partial derivatives with respect to the symbols."""

    def along(self, e: E, rates: Mapping[Symbol, E]) -> E:
        """The derivative in a direction: the sum of rate times partial derivative."""

    def symbols(self, e: E) -> set[Symbol]:
        """The symbols an expression depends on."""

    def without(self, e: E, symbols: Sequence[Symbol]) -> E:
        """The expression with some symbols set to zero."""

    def tape(self, expressions: Sequence[E]) -> Evaluator:
        """What evaluates some expressions at points."""


class Evaluator(Protocol):
    """Expressions made ready for numbers."""

    symbols: frozenset[Symbol]

    def __call__(self, values: Mapping[Symbol, float]) -> Sequence[float]:
        """The values of the expressions at a point; `Undefined` where one has none."""


class SymbolicAlgebra:
    """SymPy expressions, for reading."""

    def of(self, expression: Expr) -> Expr:
        return expression

    def gradient(self, e: Expr, symbols: Sequence[Symbol]) -> list[Expr]:
        present = e.free_symbols
        return [_tidy(e.diff(z)) if z in present else sympy.S.Zero for z in symbols]

    def along(self, e: Expr, rates: Mapping[Symbol, Expr]) -> Expr:
        return sympy.Add(*[rate * _tidy(e.diff(z)) for z, rate in rates.items()])

    def symbols(self, e: Expr) -> set[Symbol]:
        return e.free_symbols

    def without(self, e: Expr, symbols: Sequence[Symbol]) -> Expr:
        return e.xreplace(dict.fromkeys(symbols, sympy.S.Zero))

    def tape(self, expressions: Sequence[Expr]) -> Tape:
        return Tape(expressions)


SYMBOLIC = SymbolicAlgebra()


@dataclass(frozen=True)
class Frame:
    """How the configuration moves: `D z = sum_a xi^a X_a(z)` for every configuration symbol `z`.

    `fields[a]` maps configuration symbols to the components of $X_a$; `structure[a, b]` (for a < b) maps `c` to $C^c_{ab}$.
    """

    velocities: tuple[Jet, ...]
    fields: tuple[Mapping[Symbol, Expr], ...]
    structure: Mapping[tuple[int, int], Mapping[int, Expr]] = field(default_factory=dict)

    @staticmethod
    def of_coordinates(coordinates: Sequence[Coordinate]) -> Frame:
        """The frame of coordinate directions."""
        return Frame(tuple(q.d() for q in coordinates), tuple({q: sympy.S.One} for q in coordinates))

    @staticmethod
    def moving(coordinates: Sequence[Coordinate], velocities: Mapping[Jet, Expr]) -> Frame:
        r"""The frame of quasi-velocities $\xi^a = A^a_i(q)\, q'^i$, structure functions included (Hamel).

        The fields are the columns of $A^{-1}$; from $d\omega^c(X_a, X_b) = -\omega^c([X_a, X_b])$ the structure functions are
        $C^c_{ab} = \sum_{ij} (\partial_j A^c_i - \partial_i A^c_j) X_a^i X_b^j$.
        """
        forms = sympy.Matrix([[expression.diff(q.d()) for q in coordinates] for expression in velocities.values()])
        fields = forms.inv()
        n = len(coordinates)
        structure = {
            (a, b): {c: component for c in range(n) if (component := _curl(forms, fields, coordinates, c, a, b)) != 0}
            for a in range(n)
            for b in range(a + 1, n)
        }
        columns = tuple({q: fields[i, a] for i, q in enumerate(coordinates) if fields[i, a] != 0} for a in range(n))
        return Frame(tuple(velocities), columns, structure)

    def bracket(self, a: int, b: int) -> Mapping[int, Expr]:
        """The components $C^c_{ab}$ by `c`."""
        if a > b:
            return {c: -value for c, value in self.bracket(b, a).items()}
        return self.structure.get((a, b), {})

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
        moving = self.frame.rates()
        for _ in range(times):
            rates = {z: rate for z in self.algebra.symbols(e) if (rate := self._rate(z, moving)) is not None}
            e = self.algebra.along(e, rates)
        return e

    def field(self, a: int, e: E) -> E:
        """The derivative $X_a(e)$ along a field of the frame."""
        present = self.algebra.symbols(e)
        return self.algebra.along(e, {z: self.algebra.of(c) for z, c in self.frame.fields[a].items() if z in present})

    def _rate(self, z: Symbol, moving: Mapping[Symbol, list[tuple[Jet, Expr]]]) -> Any:
        if z in moving:
            return self.algebra.of(sympy.Add(*[velocity * component for velocity, component in moving[z]]))
        if self.action is not None and z == self.action:
            return self.action_rate
        if isinstance(z, Jet):
            return self.algebra.of(z.d())
        return self.algebra.of(sympy.S.One) if z == TIME else None


_ORDINARY = Calculus(SYMBOLIC, Frame((), ()))


def total_derivative(expression: Expr, times: int = 1) -> Expr:
    """$D$ of a SymPy expression in ordinary jets: every jet goes to the next one, `t` to 1, parameters to 0.

    >>> from chetaev.symbols import Coordinate
    >>> x = Coordinate("x")
    >>> total_derivative(TIME * x.d(1) ** 2)
    2*t*x'*x'' + x'**2
    """
    return _ORDINARY.total(expression, times)


def _tidy(e: Expr) -> Expr:
    """The numbers of each product gathered: `M*(2*x*x' + 2*y*y')/2` becomes `M*(x*x' + y*y')`."""
    return in_own_words(sympy.Add(*[_gathered(term) for term in sympy.Add.make_args(e)]))


def _gathered(term: Expr) -> Expr:
    if not term.is_Mul or not any(factor.is_Add for factor in term.args):
        return term
    return sympy.Mul(*[part for factor in term.args for part in (factor.primitive() if factor.is_Add else (factor,))])


def _curl(forms: sympy.Matrix, fields: sympy.Matrix, q: Sequence[Coordinate], c: int, a: int, b: int) -> Expr:
    n = len(q)
    return sympy.Add(
        *[(forms[c, i].diff(q[j]) - forms[c, j].diff(q[i])) * fields[i, a] * fields[j, b] for i in range(n) for j in range(n) if i != j]
    )
