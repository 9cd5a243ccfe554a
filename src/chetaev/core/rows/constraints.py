"""Constraints: rows that restrict the motion, and rows that restrict the virtual displacements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement

import sympy
from sympy import Expr

from chetaev.core.calculus import SYMBOLIC, degree
from chetaev.core.functions import has_corner_in
from chetaev.core.notation.show import latex, mathml, show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Action, Coordinate, delta, jets_in
from chetaev.core.zero import known_zero


@public
@dataclass(frozen=True)
class Constraint:
    """A kinematic constraint `lhs = rhs` on the jets of the motion.

    >>> from chetaev.core.symbols import Coordinate
    >>> x, y = Coordinate("x"), Coordinate("y")
    >>> Constraint(y.d(1), x * x.d(1)).kind
    'linear'
    """

    lhs: Expr
    """The left-hand side, in jets."""
    rhs: Expr = sympy.S.Zero
    """The right-hand side, in jets."""
    text: str = field(default="", compare=False)
    """The row as the user wrote it, for messages and for reading."""
    name: str = ""
    """The user's name for the row; empty if it has only a number."""
    surface: str = ""
    """The switching surface to which this row confines a sliding motion; empty for rows that the user stated."""

    @cached_property
    def residual(self) -> Expr:
        """`lhs - rhs`, without derivatives that cancel: `x'*(y + 1) = x'*y + x' + y` is a row of order 0."""
        return _genuine(self.lhs - self.rhs)

    @cached_property
    def order(self) -> int:
        """The highest derivative of a coordinate; inputs, time and the action variable do not count."""
        return max((z.order for z in jets_in(self.residual, Coordinate)), default=0)

    @cached_property
    def jets(self) -> tuple[Coordinate, ...]:
        """The jets of coordinates at the row's own order."""
        top = [z for z in jets_in(self.residual, Coordinate) if isinstance(z, Coordinate) and z.order == self.order]
        return tuple(sorted(top, key=lambda z: z.name))

    @cached_property
    def kind(self) -> str:
        """`holonomic`, `linear`, `affine` or `nonlinear` (in the velocities), or `order 2`, `order 3`, ..."""
        if self.order == 0:
            return "holonomic"
        if self.order > 1:
            return f"order {self.order}"
        if not self.affine:
            return "nonlinear"
        if degree(self.residual, self.jets) <= 1:
            drift = self.residual.xreplace(dict.fromkeys(self.jets, sympy.S.Zero))
        else:
            drift = self.residual - sympy.Add(*[v * self.residual.diff(v) for v in self.jets])
        return "linear" if known_zero(drift) else "affine"

    @cached_property
    def affine(self) -> bool:
        """Whether the row is affine in its highest derivatives, as it is written or after cancellation."""
        if degree(self.residual, self.jets) <= 1:
            return True
        if has_corner_in(self.residual, self.jets):
            return False
        gradient = dict(zip(self.jets, SYMBOLIC.gradient(self.residual, self.jets), strict=True))
        return all(known_zero(gradient[v].diff(w)) for v, w in combinations_with_replacement(self.jets, 2))

    @property
    def has_action(self) -> bool:
        """Whether the action variable occurs."""
        return bool(jets_in(self.residual, Action))

    def __str__(self) -> str:
        return self.text or f"{show(self.lhs)} = {show(self.rhs)}"

    @property
    def sides(self) -> tuple[str | Expr, str | Expr]:
        """Both sides for reading: as the user wrote them, or as expressions."""
        return _sides(self.text, self.lhs, self.rhs)

    def latex(self) -> str:
        """The row in LaTeX, in the order in which the user wrote it."""
        return latex(*self.sides)

    def mathml(self) -> str:
        """The row as an element of MathML, in the order in which the user wrote it."""
        return mathml(*self.sides)


def _sides(text: str, lhs: Expr, rhs: Expr) -> tuple[str | Expr, str | Expr]:
    first, _, second = text.partition("=")
    return (first, second or "0") if text else (lhs, rhs)


def by_label(rows: Sequence[Constraint | VariationalConstraint], labels: Sequence[str], texts: Sequence[str]) -> list[str] | dict[str, str]:
    """`texts` as a list, or by label where a row has a name: the form that `System` reads."""
    return dict(zip(labels, texts, strict=True)) if any(row.name for row in rows) else list(texts)


def _genuine(residual: Expr) -> Expr:
    """`residual` without highest derivatives that occur in it but cancel; a number takes their place."""
    while True:
        coordinates = jets_in(residual, Coordinate)
        order = max((z.order for z in coordinates), default=0)
        top = [z for z in coordinates if z.order == order]
        if not order or not all(known_zero(SYMBOLIC.gradient(residual, [z])[0]) for z in top):
            return residual
        residual = residual.xreplace({z: sympy.Rational(7, 5) for z in top})


@public
@dataclass(frozen=True)
class VariationalConstraint:
    """A row `sum_i R_V[i] δq_i = 0` that virtual displacements obey."""

    coefficients: Frozen[Coordinate, Expr]
    """The R_V[i] that are not zero, by coordinate."""
    text: str = field(default="", compare=False)
    """The row as the user wrote it, for messages and for reading."""
    name: str = ""
    """The user's name for the row; empty if it has only a number."""

    def __str__(self) -> str:
        return self.text or f"{show(self._form())} = 0"

    @property
    def sides(self) -> tuple[str | Expr, str | Expr]:
        """Both sides for reading: as the user wrote them, or as expressions."""
        return _sides(self.text, self._form(), sympy.S.Zero)

    def latex(self) -> str:
        """The row in LaTeX, in the order in which the user wrote it."""
        return latex(*self.sides)

    def mathml(self) -> str:
        """The row as an element of MathML, in the order in which the user wrote it."""
        return mathml(*self.sides)

    def _form(self) -> Expr:
        return sympy.Add(*[coefficient * delta(q) for q, coefficient in self.coefficients.items()])
