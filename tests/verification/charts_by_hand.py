"""Charts of SO(3) and SE(2) for the second derivation: a group coordinate as a product of turns about fixed axes.

Around a fixed element `A0` a rotation is `A = A0 R1(y1) R2(y2) R3(y3)`, and its angular velocity is the sum of the rates, each along the
axis it turns about; nothing is differentiated. A motion of the plane is `A = A0 C` with `C` a turn by `y3` and a shift by `(y1, y2)`. The
library uses quaternions and, for charts, Rodrigues' parameters. `A0` enters as constants, so that `y` can be anything at a state.
"""

from __future__ import annotations

from functools import cached_property

import mpmath
import sympy
from sympy import cos, sin

mp = mpmath.MPContext()
mp.dps = 40

TIME = sympy.Symbol("t")
CENTRE = ("0.31", "-0.22", "0.17")
"""The coordinates of the state: not zero, so that no term of the chart vanishes."""


class Chart:
    """One group coordinate in the coordinates `y` of a chart, as SymPy expressions in functions of time."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, (self.word, *side) = name, kind.split()
        self.body = side == ["body"]
        assert self.word in ("SO3", "SE2")
        self.names = [f"{name}_y{k}" for k in (1, 2, 3)]
        self.components = [f"{name}{k}" for k in (1, 2, 3)]
        self.y = [sympy.Function(y)(TIME) for y in self.names]
        self.constants = [[sympy.Symbol(f"{name}0_{i}{j}") for j in range(3)] for i in range(3)]
        origin = sympy.Matrix(self.constants)
        self.matrix = origin * sympy.Matrix(self._element(*self.y, sin, cos))
        self.directions = self._directions(origin)

    def entries(self) -> dict[sympy.Symbol, sympy.Expr]:
        """The entries of the matrix, by the names a user writes."""
        return {sympy.Symbol(f"{self.name}{i + 1}{j + 1}"): self.matrix[i, j] for i in range(3) for j in range(3)}

    @cached_property
    def velocities(self) -> list[sympy.Expr]:
        """The components of the velocity."""
        return list(self.directions * sympy.Matrix([sympy.Derivative(y, TIME) for y in self.y]))

    def origin(self, element: mpmath.matrix) -> dict[str, mpmath.mpf]:
        """The constants that put an element at the coordinates `CENTRE`."""
        small = mp.matrix(self._element(*map(mp.mpf, CENTRE), mp.sin, mp.cos))
        found = element * small**-1
        return {self.constants[i][j].name: found[i, j] for i in range(3) for j in range(3)}

    def element(self, given) -> mpmath.matrix:
        """The matrix of initial data: a rotation vector, a quaternion with the scalar first, or place and angle in the plane."""
        given = [mp.mpf(v) for v in given]
        if self.word == "SE2":
            x, y, angle = given
            return mp.matrix([[mp.cos(angle), -mp.sin(angle), x], [mp.sin(angle), mp.cos(angle), y], [0, 0, 1]])
        if len(given) == 3:  # Rodrigues: 1 + sin K + (1 - cos) K^2
            length = mp.norm(given)
            k = _hat([v / length for v in given])
            return mp.eye(3) + mp.sin(length) * k + (1 - mp.cos(length)) * k * k
        w, *v = (c / mp.norm(given) for c in given)
        k = _hat(v)
        return mp.eye(3) + 2 * w * k + 2 * k * k

    def _element(self, a, b, c, sin, cos) -> list[list]:
        """The small motion of the chart, for numbers or expressions."""
        if self.word == "SE2":
            return [[cos(c), -sin(c), a], [sin(c), cos(c), b], [0, 0, 1]]
        first, second, third = _turns(a, b, c, sin, cos)
        return _product(_product(first, second), third)

    def _directions(self, origin: sympy.Matrix) -> sympy.Matrix:
        """The matrix J with velocity = J y'."""
        a, b, c = self.y
        if self.word == "SE2":
            turn = sympy.Matrix([[cos(c), -sin(c)], [sin(c), cos(c)]])
            shift, place = (turn.T, None) if self.body else (origin[:2, :2], self.matrix[:2, 2])
            last = [0, 0] if place is None else [place[1], -place[0]]  # in space the shift is that of the point over the origin
            return sympy.Matrix([[*shift.row(0), last[0]], [*shift.row(1), last[1]], [0, 0, 1]])
        first, second, third = map(sympy.Matrix, _turns(a, b, c, sin, cos))
        axes = [sympy.Matrix([int(i == k) for i in range(3)]) for k in range(3)]
        if self.body:
            return sympy.Matrix.hstack(third.T * second.T * axes[0], third.T * axes[1], axes[2])
        return origin * sympy.Matrix.hstack(axes[0], first * axes[1], first * second * axes[2])


def _turns(a, b, c, sin, cos) -> tuple[list[list], list[list], list[list]]:
    """Turns about the first, the second and the third axis."""
    return (
        [[1, 0, 0], [0, cos(a), -sin(a)], [0, sin(a), cos(a)]],
        [[cos(b), 0, sin(b)], [0, 1, 0], [-sin(b), 0, cos(b)]],
        [[cos(c), -sin(c), 0], [sin(c), cos(c), 0], [0, 0, 1]],
    )


def _product(a, b) -> list[list]:
    return [[a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] for j in range(3)] for i in range(3)]


def _hat(v) -> mpmath.matrix:
    return mp.matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
