r"""Curves of solutions followed by their arc length, after H. B. Keller (1977).

A curve is the set $G(u) = 0$ of at least $N - 1$ equations in $N$ unknowns, whose derivative $J$ has rank $N - 1$ at regular points. There
may be more equations, because integrals and constraints make some of them consequences of the others. Steps are therefore least-squares
steps, and determinants are taken of $U^T J$, where the columns of $U$ span the range of $J$ at a regular point nearby.
All unknowns are in units in which a change by 1 is large.

A curve (`RestCurve`, `RelativeCurve` or `OrbitCurve`) has `numbers(u)`, residuals and their derivative; `value(u)`, the quantity along
which it is followed, with its slopes `along` and its `unit`; `renewed(u)`, the same set of solutions with conditions that refer to the
point `u`; `check(u)`, which raises a StateError if round-off may spoil the solution `u`; and the numbers `longest` (the longest step),
`close` (the last correction of Newton's iteration), `met` (the largest residual of a solution), `difference` (the step of second
differences) and `cut` (singular values below it, relative to the largest, are round-off; a larger cut would remove directions near branch
points).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import StateError
from chetaev.mechanics.ranks.split import split

Array = NDArray[np.float64]
Condition = Callable[[Array], tuple[float, Array]]
"""An additional equation: maps u to its residual and its slopes."""

Product = Callable[[complex, complex], complex]
"""A function of two eigenvalues."""

FAMILY_SINGULAR_VALUE = 1e-8
"""Singular values of the conditions of an orbit, or of a motion along symmetries, belong to families below this part of the largest; a step
has no component along them. Slopes of motions have errors of about 1e-9, so a smaller value takes errors for conditions; a larger one
leaves out directions that the conditions determine."""
VERTICAL = 1e-6
"""Length of the projection of a unit vector on the null space below which the family has a fold there, and another direction is taken."""
DIFFERENCE = 1e-5
"""Step of central differences by the parameter, in its unit: the error of the third derivative and round-off are about equal."""
UNITS_OF_INTERVAL = 10.0
"""Number of units of the quantity `along` in the interval; a step is at most a tenth of a unit."""
MOVES = 1e-6
"""Smallest component of a unit null vector along which a quantity moves; a quantity that moves is held fixed, so that one curve is left."""
_MOST_ITERATIONS = 12
"""Newton's iterations of a step; from a good prediction three are enough, and a step that needs more is shortened."""
_LONGEST_CORRECTION = 1.0
"""Largest total correction of a step, in units of the unknowns or of their size: a larger one leads to another curve."""
_SINGULAR = 1e-8
"""Relative to the largest singular value of the bordered matrix: below it, a point counts as a branch point and has no sign."""
_FIRST_STEP = 0.02
"""The first step, in units of the unknowns."""
_SHORTEST_STEP = 1e-6
"""The shortest step: a curve that needs shorter ones ends there."""
_LEAST_COSINE = 0.97
"""Least cosine of the angle between the tangents of a step; a curve that bends more is followed in shorter steps."""
_MOST_LENGTHENING = 1.5
"""Factor by which steps grow on a curve that is easy to follow."""
_NO_PROGRESS = 1e-12
"""Smallest component of the tangent along the followed quantity by which a step is divided; a family that turns back there has none."""
_AT_EDGE = 1e-12
"""Share of the last step up to which the last point lies at the end of the interval already."""


@dataclass(frozen=True, eq=False)
class Node:
    """A point of a curve."""

    curve: Any
    u: Array
    tangent: Array
    """Of length 1, in the direction in which the curve is followed."""
    value: float


@dataclass(frozen=True)
class Traced:
    """A part of a curve, from its first point on."""

    nodes: list[Node]
    end: str
    """The reason why it ends."""
    closed: bool = False


def solved(curve: Any, u: Array, condition: Condition, checked: bool = True) -> Array:
    """Solve the equations of a curve with one more condition by Newton's iteration from `u`.

    Raises a StateError if the iteration does not converge or, if `checked`, if round-off may spoil the solution.
    """
    first = u
    for _ in range(_MOST_ITERATIONS):
        residual, slopes = curve.numbers(u)
        off, row = condition(u)
        step = np.linalg.lstsq(np.vstack([slopes, row]), -np.append(residual, off), rcond=curve.cut)[0]
        u = u + step
        size = float(np.abs(step).max())
        if not np.isfinite(size) or float(np.abs(u - first).max()) > _LONGEST_CORRECTION * (1 + float(np.abs(first).max())):
            break
        if size < curve.close:
            residual, _ = curve.numbers(u)
            if float(np.abs(residual).max(initial=0.0)) <= curve.met and abs(condition(u)[0]) <= curve.met:
                if checked:
                    curve.check(u)
                return u
    raise StateError(
        f"Newton's iteration did not reach the family in {_MOST_ITERATIONS} iterations.",
        where=curve.where,
        hint="a start nearer to a solution",
    )


def plane(normal: Array, point: Array) -> Condition:
    """The condition that `u` lies in the plane through `point` with this normal."""
    return lambda u: (float(normal @ (u - point)), normal)


def at_value(curve: Any, wanted: float) -> Condition:
    """The condition that the quantity along the curve has the value `wanted`."""
    unit = curve.unit
    return lambda u: ((curve.value(u) - wanted) / unit, curve.along)


def tangent_at(curve: Any, u: Array, forward: Array) -> Array:
    """The unit tangent at a point with a positive component along `forward`; near a branch point, the tangent of the branch along
    `forward`.
    """
    slopes = curve.numbers(u)[1]
    right = np.zeros(len(slopes) + 1)
    right[-1] = 1.0
    found: Array = np.linalg.lstsq(np.vstack([slopes, forward]), right, rcond=curve.cut)[0]
    return found / np.linalg.norm(found)


def null_space(curve: Any, u: Array, cut: float) -> Array:
    """A basis of the null space of the derivative, as columns; `cut` is relative to the largest singular value."""
    return split(curve.numbers(u)[1], cut).null


def node_at(curve: Any, u: Array, tangent: Array) -> Node:
    """The node of a curve at the point `u`."""
    return Node(curve, u, tangent, curve.value(u))


def range_basis(curve: Any, u: Array) -> tuple[Array, float]:
    """An orthonormal basis of the range of the derivative at a point, and its least singular value relative to the largest."""
    left, s, _ = np.linalg.svd(curve.numbers(u)[1], full_matrices=False)
    rank = len(u) - 1
    return left[:, :rank], float(s[rank - 1] / s[0])


def determinant(node: Node, left: Array) -> float:
    """The determinant whose sign changes at branch points; 0 where the point is singular."""
    matrix = np.vstack([left.T @ node.curve.numbers(node.u)[1], node.tangent])
    sizes = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix = matrix / np.where(sizes > 0, sizes, 1.0)
    s = np.linalg.svd(matrix, compute_uv=False)
    return 0.0 if s[-1] <= _SINGULAR * s[0] else float(np.linalg.det(matrix))


def followed(first: Node, until: tuple[float, float], most: int, closing: bool = True) -> Traced:
    """Follow the curve from `first` in the direction of its tangent, to an end of the interval `until` or for `most` points.

    With `closing`, the curve also ends where it passes `first` again.
    """
    nodes, step, low, high = [first], _FIRST_STEP * min(1.0, first.curve.longest / 0.1), *until
    name = first.curve.name
    if not low <= first.value <= high:
        return Traced(nodes, f"{name} = {first.value:.6g} lies outside the interval")
    while len(nodes) < most:
        last = nodes[-1]
        taken, step = _next(last, step)
        if isinstance(taken, StateError):
            return Traced(nodes, f"no further point was found: {taken.what}")
        if not low <= taken.value <= high:
            edge = high if taken.value > high else low
            return _ended(nodes, taken, edge)
        if closing and len(nodes) > 4 and _returned(first, last, taken):
            return Traced([*nodes, first], "the family is closed", closed=True)
        nodes.append(taken)
    return Traced(nodes, f"{most} points")


def _next(last: Node, step: float) -> tuple[Node | StateError, float]:
    """The next point of the curve, or why none was found, and the length of the step after it; steps are halved until one succeeds."""
    curve = last.curve.renewed(last.u)
    failure: StateError | None = None
    while step >= _SHORTEST_STEP:
        predicted = last.u + step * last.tangent
        try:
            u = solved(curve, predicted, plane(last.tangent, predicted))
            tangent = tangent_at(curve, u, last.tangent)
            bend = float(tangent @ last.tangent)
            if bend >= _LEAST_COSINE or step < 10 * _SHORTEST_STEP:
                longer = step * (_MOST_LENGTHENING if bend > 0.995 else 1.0)
                return node_at(curve, u, tangent), min(longer, _longest(curve, u, tangent))
        except StateError as found:
            failure = found
        step /= 2
    return failure or StateError("the direction of the curve changes too fast to follow.", where=curve.where), step


def _longest(curve: Any, u: Array, tangent: Array) -> float:
    """The longest step: `longest` relative to the size of `u`, and `longest` in the quantity along which the curve is followed."""
    ahead = abs(float(curve.along @ tangent))
    return float(min(curve.longest * (1 + np.linalg.norm(u)), curve.longest / max(ahead, _NO_PROGRESS)))


def _ended(nodes: list[Node], beyond: Node, edge: float) -> Traced:
    """The traced points with a last one exactly at `edge`, between the last node and `beyond`."""
    last, curve = nodes[-1], beyond.curve
    share = (edge - last.value) / (beyond.value - last.value)
    end = f"{curve.name} = {edge:.6g}, the end of the interval"
    if share <= _AT_EDGE:
        return Traced(nodes, end)
    try:
        u = solved(curve, last.u + share * (beyond.u - last.u), at_value(curve, edge))
        return Traced([*nodes, node_at(curve, u, tangent_at(curve, u, last.tangent))], end)
    except StateError as failure:
        return Traced(nodes, f"no point at {curve.name} = {edge:.6g} was found: {failure.what}")


def _returned(first: Node, last: Node, now: Node) -> bool:
    """Whether the curve passes its first point again, in the same direction."""
    before, after = float(first.tangent @ (last.u - first.u)), float(first.tangent @ (now.u - first.u))
    near = float(np.linalg.norm(now.u - last.u))
    aside = float(np.linalg.norm((now.u - first.u) - after * first.tangent))
    return before < 0 <= after and aside < 0.2 * near and float(first.tangent @ now.tangent) > 0


def both_ways(curve: Any, u: Array, tangent: Array, until: tuple[float, float], most: int) -> tuple[list[Node], tuple[str, str]]:
    """Follow the curve from a point both ways: all points in one order, and the reasons for its two ends."""
    forward = followed(node_at(curve, u, tangent), until, most)
    if forward.closed:
        return forward.nodes, (forward.end, forward.end)
    backward = followed(node_at(curve, u, -tangent), until, most)
    turned = [Node(n.curve, n.u, -n.tangent, n.value) for n in reversed(backward.nodes[1:])]
    return [*turned, *forward.nodes], (backward.end, forward.end)


def between(a: Node, b: Node, share: float, singular: bool = False) -> Node:
    """The point of the curve in the plane that cuts the chord from `a` to `b` at right angles, at the fraction `share` of its length.

    Near a branch point Newton's iteration may not converge; if `singular`, the cubic Hermite interpolant then gives the point.
    """
    chord = b.u - a.u
    h, s = float(np.linalg.norm(chord)), share
    across = chord / h
    guess = (2 * s**3 - 3 * s**2 + 1) * a.u + (s**3 - 2 * s**2 + s) * h * a.tangent
    guess = guess + (3 * s**2 - 2 * s**3) * b.u + (s**3 - s**2) * h * b.tangent
    try:
        u = solved(b.curve, guess, plane(across, a.u + share * chord), checked=False)  # its two neighbours were checked
    except StateError:
        if not singular:
            raise
        u = guess
    return Node(b.curve, u, tangent_at(b.curve, u, across), b.curve.value(u))
