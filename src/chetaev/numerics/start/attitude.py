r"""Elements of groups as numbers: the forms that a user gives, and the forms that a motion returns.

A rotation is given as a matrix, a quaternion (scalar first) or a rotation vector $\theta$, whose matrix is $\exp\hat\theta$; a rigid
motion as a homogeneous matrix, or as a translation followed by one of these; a text such as `"[0, 0, pi/2]"` stands for its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.errors import InitialError, UsageError, about
from chetaev.core.fixes import InPython
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.kinds import SIDES
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.symbols import Place
from chetaev.mechanics.tolerances import ALMOST_ZERO
from chetaev.numerics.graphs.binding import number
from chetaev.numerics.start.matrix_element import matrices_of, read_matrix, written_matrix

Array = NDArray[np.float64]

_OFF_GROUP = 1e-8
"""Largest error of orthogonality of a given matrix: matrices with eight correct digits are accepted, and made orthogonal."""
_NEAR_GROUP = 1e-2
"""Error of orthogonality up to which a square array may be meant as one matrix, so that reading it as rows would be ambiguous."""
_PRINTED_AS_ZERO = 1e-9
"""Number, relative to the largest of an element, below which it is printed as zero."""

_MOST_NUMBERS = 16
"""Numbers of an element, or rows of a matrix, that are read; the largest group that can be registered has nine rows, SE3 seven numbers."""


def read_element(group: GroupCoordinate, given: Any, names: Mapping[Symbol, float], where: str) -> dict[Place, float]:
    """Return the numbers of a group element that a user gives in any of its forms."""
    if group.reduced:
        raise InitialError(
            f"{group.name} has no position here.",
            where=about(where, "start", group.name),
            why=f"In a reduced system only the velocity of {group.name} is known.",
            hint=("leave it out; ", InPython(f'reduction.reconstruct(motion, {{"{group.name}": ...}})'), " adds the position to a motion"),
        )
    if isinstance(group.group, MatrixGroup):
        numbers = read_matrix(group, _nested(_one(group, given, where), where), names, where)
        return dict(zip(group.places, map(float, numbers), strict=True))
    rows = _numbers(_one(group, given, where), names, where)
    lengths = {len(row) if isinstance(row, list) else -1 for row in rows} if isinstance(rows, list) else set()
    numbers = np.array(rows, dtype=float) if len(lengths) < 2 else np.empty(0)  # rows of different lengths: not a matrix
    return dict(zip(group.places, map(float, _place(group, numbers, where)), strict=True))


def read_elements(
    group: GroupCoordinate, given: Any, names: Mapping[Symbol, float], where: str, members: tuple[int, ...] | None
) -> dict[Place, Any]:
    """Return the numbers of elements for many members: one element for all, or one in each row; other data give the number of members.

    A square array may be both: three rotation vectors look like a matrix. It is one matrix if the number of members differs from its number
    of rows. It is an element per row if the numbers agree and it is far from the group; near the group it is refused. Without `members` it
    is one matrix.
    """
    array = _array(given)
    many = bool(stated_members(group, given))
    n = group.group.size
    square = array.shape == (n, n) and n in _lengths(group) and not hasattr(given, "as_matrix")
    if square and members is not None:
        many = _in_each_row(group, np.array(_numbers(array, names, where), dtype=float), members, where)
    if not many:
        return dict(read_element(group, given, names, where))
    read = [read_element(group, part, names, f"{where}[{k}]") for k, part in enumerate(array.tolist())]
    return {z: np.array([element[z] for element in read]) for z in group.places}


def stated_members(group: GroupCoordinate, given: Any) -> tuple[int, ...]:
    """Return the number of elements, if `given` is clearly more than one; otherwise an empty shape."""
    array, n = _array(given), group.group.size
    if isinstance(group.group, MatrixGroup):
        return (len(array),) if array.ndim == 3 else ()
    alone = len(group.places) == 1  # an element is one number, so a list holds several
    many = array.ndim == 3 or (array.ndim == 2 and array.shape != (n, n)) or (array.ndim == 1 and array.size > 0 and alone)
    return (len(array),) if many else ()


def _in_each_row(group: GroupCoordinate, given: Array, members: tuple[int, ...], where: str) -> bool:
    """Tell whether a square array holds an element in each row; raise if that is ambiguous."""
    n = group.group.size
    last = members[-1] if members else 1
    if last not in (1, n):
        return False
    if last == n and _off_group(group, given) > _NEAR_GROUP:
        return True
    reason = (
        "No other data give the number of members."
        if last == 1
        else f"There are {n} members, and it is an element of {group.word} too, or almost."
    )
    quaternions = "quaternions cannot be mistaken for it"
    each = quaternions if group.group.orthogonal == 3 else f"an array of shape (members, {n}, {n}) holds a matrix for each"
    raise InitialError(
        f"the {n}x{n} array given for {group.name} may be one matrix, or {n} elements, each a row with its {group.group.shown}.",
        where=about(where, "start", group.name),
        why=reason,
        hint=f"an array of shape (1, {n}, {n}) is one matrix for all; {each}; or a list with a start for each member",
    )


def _lengths(group: GroupCoordinate) -> tuple[int, ...]:
    """Return the possible numbers of numbers of an element: those that are stored, or a rotation vector in place of a quaternion."""
    if isinstance(group.group, MatrixGroup):
        return ()
    stored = len(group.places)
    return (stored - 1, stored) if group.group.orthogonal == 3 else (stored,)


def _array(given: Any) -> NDArray[Any]:
    """Return `given` as an array of numbers and texts; empty if it is not one."""
    if hasattr(given, "as_matrix"):
        return np.asarray(given.as_matrix(), dtype=object)
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        return np.empty(0)
    if len(given) and all(hasattr(part, "as_matrix") for part in given):
        return np.array([part.as_matrix() for part in given], dtype=object)
    return np.array(given, dtype=object)


def _one(group: GroupCoordinate, given: Any, where: str) -> Any:
    """Return the matrix of an object that has one, such as SciPy's Rotation, whose quaternion has the scalar last; others unchanged."""
    if not hasattr(given, "as_matrix"):
        return given
    found = np.asarray(given.as_matrix(), dtype=float)
    if found.ndim != 2:
        raise InitialError(
            f"{len(found)} elements are given for {group.name}.",
            where=about(where, "start", group.name),
            hint="one of them; simulate_many takes all",
        )
    return found


def matrices(group: GroupCoordinate, places: Array) -> Array:
    """The matrices that belong to places, one in each row; complex ones for a complex group."""
    if isinstance(group.group, MatrixGroup):
        return matrices_of(group.group, places)
    columns = list(np.moveaxis(np.asarray(places, dtype=float), -1, 0))
    n, ones = group.group.size, np.ones_like(columns[0])
    written = group.group.matrix(columns, np.cos, np.sin)
    return np.stack([np.stack([written[i][j] * ones for j in range(n)], axis=-1) for i in range(n)], axis=-2)


def quaternions(group: GroupCoordinate, places: Array) -> Array:
    """The unit quaternions (scalar first) of places, one in each row, continuous in time."""
    if group.group.orthogonal != 3:
        raise UsageError(
            f"{group.name} is an element of {group.word}, which has no quaternion.", where="quaternion", hint=InPython("rotation(...)")
        )
    found = np.asarray(places, dtype=float)[..., -4:]
    unit: Array = found / np.linalg.norm(found, axis=-1, keepdims=True)
    return unit


def on_side(group: GroupCoordinate, places: Array, velocities: Array, side: str, where: str) -> Array:
    """Velocities in body or in spatial components, from those in which the coordinate is declared."""
    if side not in SIDES:
        raise UsageError(f"{side!r} is not a side.", where=about(where, "side"), hint='"body" or "spatial"')
    return velocities if not group.group.sided or (side == "body") == group.body else other_side(group, places, velocities)


def other_side(group: GroupCoordinate, places: Array, velocities: Array) -> Array:
    r"""Velocities of the other side: from body components to spatial ones, $\xi_s = \mathrm{Ad}_A\, \xi_b$, or back."""
    a = _blocks(group, places)
    basis = np.array(group.group.basis, dtype=float)
    inner = np.einsum("...a,aij->...ij", velocities, basis)
    inverse = np.linalg.inv(a)
    moved = a @ inner @ inverse if group.body else inverse @ inner @ a
    flat = basis.reshape(len(basis), -1)
    wanted = moved.reshape(*moved.shape[:-2], -1)
    found: Array = wanted @ np.linalg.pinv(flat)
    if np.abs(found @ flat - wanted).max(initial=0.0) > _OFF_GROUP * np.abs(wanted).max(initial=0.0):
        raise UsageError(
            f"the velocity of {group.name} on the other side is not a combination of the basis of {group.word}.",
            where=f"velocity of {group.name}",
            why="The start does not lie in the group, and its coset has another Lie algebra on the other side.",
            hint=(InPython(f"motion.matrix({group.name!r})"), " and the velocities of the declared side"),
        )
    return found


def _blocks(group: GroupCoordinate, places: Array) -> Array:
    """The real matrices of places; real blocks for a complex group."""
    kind = group.group
    if not isinstance(kind, MatrixGroup):
        return matrices(group, places)
    columns = list(np.moveaxis(np.asarray(places, dtype=float), -1, 0))
    return np.stack([np.stack(row, axis=-1) for row in kind.matrix(columns, np.cos, np.sin)], axis=-2)


def written_element(group: GroupCoordinate, places: Sequence[float]) -> str:
    """An element in a form that a user may give, to six digits: a rotation by its vector, a rigid motion by position and rotation
    vector.
    """
    numbers = np.array(places, dtype=float)
    if isinstance(group.group, MatrixGroup):
        return written_matrix(group.group, numbers)
    if group.group.orthogonal == 3:
        numbers = np.concatenate([numbers[:-4], rotation_vector(numbers[-4:])])
    size = max(float(np.abs(numbers).max()), ALMOST_ZERO)
    digits = ["0" if abs(v) <= _PRINTED_AS_ZERO * size else f"{v:.6g}" for v in numbers]
    return digits[0] if len(digits) == 1 else f"[{', '.join(digits)}]"


def rotation_vector(quaternion: Array) -> Array:
    """The rotation vector, of length at most pi, of a quaternion of any length."""
    unit = quaternion / np.linalg.norm(quaternion) * (1.0 if quaternion[0] >= 0 else -1.0)
    sine = float(np.linalg.norm(unit[1:]))
    found: Array = unit[1:] * (2 * np.arctan2(sine, unit[0]) / sine if sine > 0 else 2.0)
    return found


def quaternion_of(rotation: Array) -> Array:
    """The unit quaternion of a rotation matrix, as an eigenvector, which loses no digits for any angle."""
    (a, b, c), (d, e, f), (g, h, i) = rotation
    symmetric = np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )
    found: Array = np.linalg.eigh(symmetric)[1][:, -1]
    return found if found[0] >= 0 else -found


def _place(group: GroupCoordinate, given: Array, where: str) -> Array:
    n = group.group.size
    if given.shape == (n, n):
        return _of_matrix(group, given, where)
    if given.ndim < 2 and given.size in _lengths(group):
        numbers, shift = given.reshape(-1), len(group.places) - 4
        return np.concatenate([numbers[:shift], _rotation(numbers[shift:], where)]) if group.group.orthogonal == 3 else numbers
    raise InitialError(
        f"{group.name} is not given as an element of {group.word}.", where=about(where, "start", group.name), hint=group.group.forms
    )


def _of_matrix(group: GroupCoordinate, given: Array, where: str) -> Array:
    turn, off = group.group.orthogonal, _off_group(group, given)
    rotation, shift = given[:turn, :turn], given[:turn, turn:].ravel()
    if off > _OFF_GROUP or (turn and np.linalg.det(rotation) < 0):
        what = "it is a reflection" if off <= _OFF_GROUP else f"it is off the group by {off:.2g}"
        raise InitialError(
            f"the matrix given for {group.name} is not an element of {group.word}: {what}.",
            where=about(where, "start", group.name),
            hint=group.group.forms,
        )
    if turn == 3:
        return np.concatenate([shift, quaternion_of(rotation)])
    return np.append(shift, np.arctan2(rotation[1, 0], rotation[0, 0])) if turn else np.array(group.group.of_matrix(given.tolist()))


def _off_group(group: GroupCoordinate, given: Array) -> float:
    """The distance of a matrix from an orthogonal or homogeneous one; for other groups from the matrix of its own place."""
    n, turn = group.group.size, group.group.orthogonal
    if not turn:
        try:
            own = matrices(group, np.array(group.group.of_matrix(given.tolist())))
        except (ArithmeticError, ValueError):  # a formula of the group has no value there
            return np.inf
        return float(np.nan_to_num(np.abs(own - given), nan=np.inf).max()) / max(1.0, float(np.abs(given).max()))
    rotation, last = given[:turn, :turn], given[turn:] - np.eye(n)[turn:]
    return max(float(np.abs(rotation @ rotation.T - np.eye(turn)).max()), float(np.abs(last).max(initial=0.0)))


def _rotation(given: Array, where: str) -> Array:
    """The unit quaternion of a quaternion of any length, or of a rotation vector."""
    if len(given) == 4:
        largest = float(np.abs(given).max())
        if not largest > 0:
            raise InitialError("a quaternion of length zero is not a rotation.", where=where, hint="[1, 0, 0, 0] for no rotation")
        unit: Array = given / largest  # scaled first: squares of very large or small numbers would overflow or underflow
        return unit / np.linalg.norm(unit)
    half = float(np.linalg.norm(given)) / 2
    found: Array = np.array([np.cos(half), *(np.sinc(half / np.pi) / 2 * given)])
    return found


def _numbers(given: Any, names: Mapping[Symbol, float], where: str, depth: int = 0) -> Any:
    """A number, or lists of numbers, from numbers, texts, sequences and texts in brackets."""
    if isinstance(given, str) and given.strip().startswith("["):
        given = split_list(given, where)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, str):
        if depth > 1 or len(given) > _MOST_NUMBERS:
            hint = "a 3x3 matrix, or a list such as [0, 0, 0]"
            raise InitialError("a group element is at most a matrix of numbers.", where=where, hint=hint)
        return [_numbers(part, names, where, depth + 1) for part in given]
    return number(given, names, where, InitialError)


def _nested(given: Any, where: str) -> Any:
    """Lists from a text in brackets; anything else unchanged."""
    if isinstance(given, str) and given.strip().startswith("["):
        return [_nested(part, where) for part in split_list(given, where)]
    return [_nested(part, where) for part in given] if isinstance(given, list | tuple) else given


def split_list(text: str, where: str) -> list[str]:
    """The parts of `[a, b, [c, d]]`, split at the commas outside inner brackets."""
    text = text.strip()
    if not text.endswith("]"):
        raise InitialError(f"{text!r}: a bracket is never closed.", where=where, hint='a list such as "[0, 0, pi/2]"')
    parts, level, begin = [], 0, 1
    for k, sign in enumerate(text[1:-1], start=1):
        level += (sign in "[(") - (sign in "])")
        if sign == "," and level == 0:
            parts.append(text[begin:k])
            begin = k + 1
        if level < 0:
            raise InitialError(f"{text!r}: brackets do not match.", where=where, hint='a list such as "[0, 0, pi/2]"')
    return [part.strip() for part in [*parts, text[begin:-1]] if part.strip()]
