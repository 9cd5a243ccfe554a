"""Verification of corners: bodies that friction holds at rest, and nested corner functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Expr

from chetaev.core.symbols import Multiplier
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.mode import SLIDING, Direction, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.corners.sliding import sliding
from chetaev.numerics.motion.reader import Reader
from chetaev.numerics.motion.verification.curve import Curve, Row
from chetaev.numerics.motion.verification.labels import Check, Label

Array = NDArray[Any]
_STOPPING = 1e-4
"""Relative to its largest value: at a smaller speed the direction is known only to the tolerance divided by this number."""


Mechanics = Callable[[Equations, Curve, Sequence[Multiplier]], dict[Label, Row]]
"""The rows of equations along a curve, with multipliers that belong to no reaction."""
Values = Callable[[Sequence[Expr], Curve], Array]
"""Expressions along a curve, one line each."""


def with_rest(switched: Switched, curve: Curve, mechanics: Mechanics, values: Values) -> dict[Label, Row]:
    """Return the rows of mechanics. Where planar friction holds a body at rest they contain the vector that replaces its unit vector, and
    `rest of` checks that its length is at most one and that the speed is zero relative to the largest speed of the motion, in squares. A
    body that never moves has no such speed, and its rest is an ordinary row.
    """
    directions = [(k, mode) for k, mode in enumerate(switched.modes) if isinstance(mode, Direction)]
    reader, count = curve.motion.reader, len(curve.t)
    whole_rows = switched.touching or switched.smooth  # with the multipliers of contacts, which vanish while these are open
    if not directions or not isinstance(reader, Reader):
        return mechanics(whole_rows, curve, ())
    configurations = [reader.pieces[k].setting.configuration for k in reader.pieces_at(curve.t)]
    still = np.array([[m[k] == SLIDING for k, _ in directions] for m in configurations])
    squares = dict(zip((mode.text for _, mode in directions), values([mode.function for _, mode in directions], curve), strict=True))
    fastest = {text: float(np.abs(square).max(initial=0.0)) for text, square in squares.items()}
    rows: dict[Label, Row] = {}
    for kind in np.unique(still, axis=0):
        here = (still == kind).all(axis=1)
        resting = tuple(mode for (_, mode), rests in zip(directions, kind, strict=True) if rests)
        part = curve.only(here)
        held = [unknown for mode in resting for unknown in mode.unknowns]
        equations = sliding(whole_rows, resting) if resting else whole_rows
        found = mechanics(equations, part, held)
        added = set(equations.system.kinematic_labels[len(switched.original.system.kinematic) :])  # replaced by `rest of` below
        found = {label: row for label, row in found.items() if label not in added}
        for mode in resting:
            length, (speed,) = part.value(mode.symbol), values([mode.function], part)
            moved = np.abs(speed) / fastest[mode.text] if not still[:, [m is mode for _, m in directions]].all() else 0.0 * speed
            found[Label.about("rest", mode.text, Check.REST)] = Row(np.maximum(length - 1, 0.0) + moved, np.ones(len(part.t)), 1.0)
        moving = [mode for (_, mode), rests in zip(directions, kind, strict=True) if not rests]
        stopping = _almost_at_rest(values([mode.function for mode in moving], part)) if moving else np.zeros(len(part.t), dtype=bool)
        for label, row in found.items():
            row.residual[stopping] = 0.0
            whole = rows.setdefault(label, Row(np.zeros(count), np.zeros(count), 0.0, np.zeros(count)))
            whole.residual[here], whole.terms[here] = row.residual, row.terms
            whole.noise[here] = row.noise  # type: ignore[index]
            rows[label] = whole._replace(usual=max(whole.usual, row.usual))
    return rows


def complementarity(mode: Touch, curve: Curve, values: Values) -> Row:
    """Check that neither the gap of a contact nor its multiplier is negative, and that one of them vanishes."""
    gap, force = values([mode.function, mode.unknown], curve)
    far, strong = (float(np.abs(v).max(initial=0.0)) or 1.0 for v in (gap, force))
    off = np.maximum(-gap, 0.0) / far + np.maximum(-force, 0.0) / strong + np.minimum(np.abs(gap) / far, np.abs(force) / strong)
    return Row(off, np.ones(len(curve.t)), 1.0)


def _almost_at_rest(squares: Array) -> Array:
    """Return where a speed, given by its square, is so small relative to its largest value that its direction has few digits."""
    found: Array = (squares < _STOPPING**2 * squares.max(axis=1, keepdims=True, initial=0.0)).any(axis=0)
    return found


def corner_as_written(corner: Expr, switched: Switched, curve: Curve, values: Values) -> Row:
    """Compare a corner function of the user with its form in modes; while the motion slides on a surface they may differ."""
    written, known = values([corner, switched.replaced(corner)], curve)
    modes = [curve.value(mode.symbol) for mode in switched.modes if not isinstance(mode, Direction | Touch)]
    slides = np.any([np.abs(m) < 1 for m in modes], axis=0)
    sizes = np.abs(written) + np.abs(known)
    return Row(np.where(slides, 0.0, written - known), sizes, float(sizes.max(initial=0.0)))
