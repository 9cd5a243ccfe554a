r"""The Lie groups in which a coordinate may take values, as groups of matrices.

A group is given by a basis $E_a$ of its Lie algebra, by the matrix that belongs to a *place*, a few numbers such as a quaternion, and by
the rates of the place for a velocity $\xi$:

$$ A' = A\, \xi^a E_a \quad (\text{body}), \qquad A' = \xi^a E_a A \quad (\text{spatial}). $$

The caller's arithmetic is used: floating-point numbers, many digits or SymPy expressions.

Rotations are stored as quaternions $q$ and read as $R = P(q)/|q|^2$, so that the matrix is orthogonal for every $q \ne 0$ and no rounding
error can take it off the group; $|q|$ is constant along every motion and has no meaning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from chetaev.core.support.public import public

Numbers = Sequence[Any]
Function = Callable[[Any], Any]
Integers = tuple[tuple[int, ...], ...]
Brackets = Mapping[tuple[int, int], Mapping[int, Any]]
"""Structure constants: `brackets[a, b][c]` is $c^c_{ab}$ for a < b, counted from 0; constants that vanish are left out."""


@public
class Group(ABC):
    """Abstract: a group of matrices with a basis of its algebra and numbers that determine an element."""

    word: str = ""
    """Its name in declarations, with a capital letter; in lower case it names the Lie algebra."""
    size: int
    """The number of rows of its matrices."""
    places: tuple[str, ...]
    """The names of the numbers that make up a place. If `orthogonal` is 3, the last four are a quaternion `w x y z`."""
    identity: tuple[int, ...] = ()
    """The place of the identity; zeros if it is empty."""
    orthogonal: int = 0
    """Rows of the rotation in the upper left corner of the matrix, 2 or 3; 0 if there is none."""
    rotation: slice = slice(0, 0)
    """The components of the velocity that are the angular velocity."""
    sided: bool = True
    """Whether spatial and body velocities differ."""
    forms: str = ""
    """The forms in which a user may give an element, for messages."""
    shown: str = ""
    """The meaning of the numbers by which an element is printed."""
    example: str = ""
    """An element as a user would give it."""

    def __init_subclass__(cls) -> None:
        """Fill in fields that the class leaves out: the identity, and the texts for messages."""
        places = getattr(cls, "places", ())
        cls.identity = tuple(cls.identity) or (0,) * len(places)
        cls.shown = cls.shown or ", ".join(places)
        cls.forms = cls.forms or f"a {(n := getattr(cls, 'size', 0))}x{n} matrix, or the list [{cls.shown}]"
        cls.example = cls.example or str(list(cls.identity))

    @property
    @abstractmethod
    def basis(self) -> tuple[Any, ...]:
        """The matrices $E_a$, as rows of exact numbers."""

    @abstractmethod
    def matrix(self, place: Numbers, cos: Function, sin: Function) -> list[list[Any]]:
        """The matrix that belongs to a place.

        Args:
            place: The numbers that represent a group element, in the order of `places`.
            cos: The cosine for the kind of numbers in `place`: of floats, of SymPy or of a graph.
            sin: The sine for the same numbers.
        """

    @abstractmethod
    def rates(self, place: Numbers, velocity: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        """The rates of the numbers of a place, for a velocity in body or in spatial components.

        Args:
            place: The numbers that represent a group element, in the order of `places`.
            velocity: The components of the velocity in `basis`.
            body: Whether `velocity` has body components; spatial ones otherwise.
            cos: The cosine for the kind of numbers in `place`.
            sin: The sine for the same numbers.
        """

    @abstractmethod
    def velocity(self, place: Numbers, rates: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        """The velocity in body or in spatial components, for the rates of the numbers of a place: `rates` inverted.

        Args:
            place: The numbers that represent a group element, in the order of `places`.
            rates: The rates of these numbers.
            body: Whether to return body components; spatial ones otherwise.
            cos: The cosine for the kind of numbers in `place`.
            sin: The sine for the same numbers.
        """

    def of_matrix(self, rows: Sequence[Sequence[float]]) -> Sequence[float]:
        """The place of a matrix, which the caller compares with `matrix` of this place. Groups with `orthogonal` need none.

        Args:
            rows: The rows of the matrix.

        Raises:
            NotImplementedError: If the group does not read matrices.
        """
        raise NotImplementedError(f"{type(self).__name__} reads no matrices")

    @property
    def dimension(self) -> int:
        """The dimension of the group."""
        return len(self.basis)

    @property
    def algebra_only(self) -> bool:
        """Whether there is a Lie algebra and no group: velocities, but no element and no matrix."""
        return False

    @cached_property
    def brackets(self) -> Brackets:
        r"""$c^c_{ab}$ in $[E_a, E_b] = c^c_{ab} E_c$, for a < b, without rounding."""
        n = range(self.dimension)
        pivots = [self._pivot(c) for c in n]
        found: dict[tuple[int, int], dict[int, Any]] = {}
        for a in n:
            for b in range(a + 1, self.dimension):
                bracket = commutator(self.basis[a], self.basis[b])
                parts = {c: Fraction(bracket[i][j], self.basis[c][i][j]) for c, (i, j) in enumerate(pivots)}
                found[a, b] = {c: int(value) if value.denominator == 1 else value for c, value in parts.items() if value}
        return found

    def _pivot(self, c: int) -> tuple[int, int]:
        """An entry that only the basis matrix `c` has; ValueError if there is none."""
        for i in range(self.size):
            for j in range(self.size):
                if self.basis[c][i][j] and not any(e[i][j] for k, e in enumerate(self.basis) if k != c):
                    return i, j
        raise ValueError(f"basis matrix {c + 1} has no entry that the others lack")


@final
class SO3(Group):
    """Rotations of space."""

    word, size, orthogonal, rotation = "SO3", 3, 3, slice(0, 3)
    places, identity = ("w", "x", "y", "z"), (1, 0, 0, 0)
    forms = "a 3x3 matrix, a quaternion (scalar first) or a rotation vector, such as [0, 0, 0]"
    shown, example = "rotation vector", "numpy.eye(3)"

    @cached_property
    def basis(self) -> tuple[Integers, ...]:
        return tuple(_hat(a) for a in range(3))

    def matrix(self, place: Numbers, cos: Function, sin: Function) -> list[list[Any]]:
        return rotation_of(place)

    def rates(self, place: Numbers, velocity: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        return turning(place, velocity, body)

    def velocity(self, place: Numbers, rates: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        return angular_velocity(place, rates, body)


@final
class SE3(Group):
    """Rigid motions of space: three components of translation, then three of rotation."""

    word, size, orthogonal, rotation = "SE3", 4, 3, slice(3, 6)
    places, identity = ("p1", "p2", "p3", "w", "x", "y", "z"), (0, 0, 0, 1, 0, 0, 0)
    forms = "a 4x4 matrix, or three numbers of the position followed by a quaternion or a rotation vector"
    shown, example = "position and rotation vector", "numpy.eye(4)"

    @cached_property
    def basis(self) -> tuple[Integers, ...]:
        shifts = [_cells(4, {(a, 3): 1}) for a in range(3)]
        turns = [_cells(4, {(i, j): _hat(a)[i][j] for i in range(3) for j in range(3)}) for a in range(3)]
        return (*shifts, *turns)

    def matrix(self, place: Numbers, cos: Function, sin: Function) -> list[list[Any]]:
        rows = rotation_of(place[3:])
        return [[*rows[i], place[i]] for i in range(3)] + [[0, 0, 0, 1]]

    def rates(self, place: Numbers, velocity: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        p, v, w = place[:3], velocity[:3], velocity[3:]
        if body:
            shift = [sum(r * c for r, c in zip(row, v, strict=True)) for row in rotation_of(place[3:])]
        else:
            shift = [v[i] + w[(i + 1) % 3] * p[(i + 2) % 3] - w[(i + 2) % 3] * p[(i + 1) % 3] for i in range(3)]
        return [*shift, *turning(place[3:], w, body)]

    def velocity(self, place: Numbers, rates: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        p, v, w = place[:3], rates[:3], angular_velocity(place[3:], rates[3:], body)
        if body:
            rows = rotation_of(place[3:])
            shift = [sum(rows[i][j] * v[i] for i in range(3)) for j in range(3)]
        else:
            shift = [v[i] - w[(i + 1) % 3] * p[(i + 2) % 3] + w[(i + 2) % 3] * p[(i + 1) % 3] for i in range(3)]
        return [*shift, *w]


@final
class SE2(Group):
    """Rigid motions of the plane: two components of translation, then the angle."""

    word, size, orthogonal, places, rotation = "SE2", 3, 2, ("x", "y", "angle"), slice(2, 3)
    forms = "a 3x3 matrix, or position and angle [x, y, angle]"
    shown, example = "position and angle", "[0, 0, 0]"

    @cached_property
    def basis(self) -> tuple[Integers, ...]:
        return _cells(3, {(0, 2): 1}), _cells(3, {(1, 2): 1}), _cells(3, {(0, 1): -1, (1, 0): 1})

    def matrix(self, place: Numbers, cos: Function, sin: Function) -> list[list[Any]]:
        x, y, angle = place
        c, s = cos(angle), sin(angle)
        return [[c, -s, x], [s, c, y], [0, 0, 1]]

    def rates(self, place: Numbers, velocity: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        x, y, angle = place
        v1, v2, w = velocity
        if body:
            c, s = cos(angle), sin(angle)
            return [c * v1 - s * v2, s * v1 + c * v2, w]
        return [v1 - w * y, v2 + w * x, w]

    def velocity(self, place: Numbers, rates: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        x, y, angle = place
        v1, v2, w = rates
        if body:
            c, s = cos(angle), sin(angle)
            return [c * v1 + s * v2, c * v2 - s * v1, w]
        return [v1 + w * y, v2 - w * x, w]


@final
class S1(Group):
    """Rotations of the plane."""

    word, size, orthogonal, places, rotation, sided = "S1", 2, 2, ("angle",), slice(0, 1), False
    forms = "an angle, or a 2x2 matrix"
    shown, example = "angle", "0"

    @cached_property
    def basis(self) -> tuple[Integers, ...]:
        return (_cells(2, {(0, 1): -1, (1, 0): 1}),)

    def matrix(self, place: Numbers, cos: Function, sin: Function) -> list[list[Any]]:
        c, s = cos(place[0]), sin(place[0])
        return [[c, -s], [s, c]]

    def rates(self, place: Numbers, velocity: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        return [velocity[0]]

    def velocity(self, place: Numbers, rates: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        return [rates[0]]


GROUPS: dict[str, Group] = {group.word: group for group in (SO3(), SE2(), SE3(), S1())}
"""The groups by the word that declares a coordinate; `chetaev.core.groups.registration` adds others."""
SIDES = ("spatial", "body")
"""The word after a group that says which velocity is meant."""


def rotation_of(q: Numbers) -> list[list[Any]]:
    """The rotation of a quaternion of any length, scalar first."""
    w, x, y, z = q
    n = w * w + x * x + y * y + z * z
    return [
        [(w * w + x * x - y * y - z * z) / n, 2 * (x * y - w * z) / n, 2 * (x * z + w * y) / n],
        [2 * (x * y + w * z) / n, (w * w - x * x + y * y - z * z) / n, 2 * (y * z - w * x) / n],
        [2 * (x * z - w * y) / n, 2 * (y * z + w * x) / n, (w * w - x * x - y * y + z * z) / n],
    ]


def turning(q: Numbers, velocity: Numbers, body: bool) -> list[Any]:
    r"""$q' = \tfrac12 q\,\omega$ for the angular velocity in the body, $\tfrac12 \omega\,q$ for that in space."""
    w, (x, y, z), (a, b, c) = q[0], q[1:], velocity
    sign = 1 if body else -1
    return [
        -(x * a + y * b + z * c) / 2,
        (w * a + sign * (y * c - z * b)) / 2,
        (w * b + sign * (z * a - x * c)) / 2,
        (w * c + sign * (x * b - y * a)) / 2,
    ]


def angular_velocity(q: Numbers, rates: Numbers, body: bool) -> list[Any]:
    r"""$\omega = 2\,\bar q\,q'/|q|^2$ in the body, $2\,q'\,\bar q/|q|^2$ in space; a change of length of $q$ does not count."""
    (w, x, y, z), (dw, dx, dy, dz) = q, rates
    n = (w * w + x * x + y * y + z * z) / 2
    sign = 1 if body else -1
    return [
        (w * dx - x * dw - sign * (y * dz - z * dy)) / n,
        (w * dy - y * dw - sign * (z * dx - x * dz)) / n,
        (w * dz - z * dw - sign * (x * dy - y * dx)) / n,
    ]


def _hat(a: int) -> Integers:
    r"""$\hat e_a$ with $\hat e_a v = e_a \times v$."""
    b, c = (a + 1) % 3, (a + 2) % 3
    return _cells(3, {(c, b): 1, (b, c): -1})


def _cells(size: int, values: dict[tuple[int, int], int]) -> Integers:
    return tuple(tuple(values.get((i, j), 0) for j in range(size)) for i in range(size))


def commutator(a: Integers, b: Integers) -> Integers:
    """`a b - b a`."""
    n = range(len(a))
    return tuple(tuple(sum(a[i][k] * b[k][j] - b[i][k] * a[k][j] for k in n) for j in n) for i in n)
