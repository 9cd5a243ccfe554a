"""Switching at a branch point: the direction of the other curve, from second derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chetaev.core.errors import StateError
from chetaev.orbits.arclength import Array, Node, null_space, plane, range_basis, solved, tangent_at
from chetaev.orbits.special_points import Found

_DISTANCES_TRIED = (0.033, 0.077, 0.013, 0.12, 0.0043)
"""Distances from the branch point, in units of the unknowns, at which the other curve is searched, in this order."""
_CROSSING_CURVES = 1e-6
"""Relative to the largest singular value: smaller ones at a branch point belong to the curves that cross there."""
_LEAST_DEPARTURE = 0.2
"""Least distance of a point from the known curve, relative to that expected; a nearer one means that Newton's iteration returned to it."""
_NO_MIXED_TERM = 1e-8
"""Relative to the pure second derivative: a smaller mixed one is the error of differences, and the other branch leaves at a right angle."""


def other_direction(found: Found) -> Array:
    r"""The tangent of the other curve through a branch point.

    With the known tangent $t$, a vector $n$ of the null space orthogonal to it and the left null vector $\psi$, the tangents
    $\alpha t + \beta n$ satisfy $2 \alpha\beta\, \psi G_{uu}[t, n] + \beta^2\, \psi G_{uu}[n, n] = 0$.
    """
    curve, u = found.node.curve, found.node.u
    left = range_basis(curve, u)[0] if found.left is None else found.left
    slopes = left.T @ curve.numbers(u)[1]
    psi, _, vt = np.linalg.svd(slopes)
    null, last = vt[-2:], psi[:, -1]
    known = null.T @ (null @ found.node.tangent)
    known = known / np.linalg.norm(known)
    across = null.T @ np.array([-null[1] @ known, null[0] @ known])
    h = curve.difference**0.75

    def second(a: Array, b: Array) -> float:
        more, less = curve.numbers(u + h * a)[1], curve.numbers(u - h * a)[1]
        return float(last @ left.T @ (more - less) @ b) / (2 * h)

    mixed, pure = second(known, across), second(across, across)
    if abs(mixed) <= _NO_MIXED_TERM * max(1.0, abs(pure)):
        return across
    direction = across - pure / (2 * mixed) * known
    unit: Array = direction / np.linalg.norm(direction)
    return unit


def point_on_other_curve(found: Found) -> tuple[Node, Array]:
    """A point of the other curve near a branch point, and the direction in which it leaves.

    Where a symmetry makes many curves cross, keeping the jets that the symmetry changes selects one of them.
    """
    curve, u = found.node.curve, found.node.u
    null = null_space(curve, u, _CROSSING_CURVES)
    if null.shape[1] > 2:
        known = null @ (null.T @ found.node.tangent)
        across = null @ np.linalg.svd((null.T @ known)[None, :])[2][1:].T
        curve = curve.keeping_all_but_one(across, u)
        found = replace(found, node=replace(found.node, curve=curve), left=None)
    direction = other_direction(found)
    for distance in _DISTANCES_TRIED:
        for sign in (1.0, -1.0):
            guess = u + sign * distance * direction
            try:
                reached = solved(curve, guess, plane(direction, guess))
            except StateError:
                continue
            away = reached - u
            aside = away - (away @ found.node.tangent) * found.node.tangent
            if float(np.linalg.norm(aside)) > _LEAST_DEPARTURE * _sine_between(direction, found.node.tangent) * distance:
                return Node(curve, reached, tangent_at(curve, reached, sign * direction), curve.value(reached)), sign * direction
    raise StateError(
        f"no point of the other family was found near {curve.name} = {found.node.value:.6g}.",
        where=curve.where,
        why="Near the branch point Newton's iteration leads back to the known family.",
    )


def _sine_between(direction: Array, known: Array) -> float:
    """The sine of the angle between the two curves."""
    return float(np.linalg.norm(direction - (direction @ known) * known))
