"""Consequences of the rows, derived again where they have a pole.

A consequence is the remainder of a row after an elimination, and it divides by pivots that were chosen at random states. At a special state
a pivot may vanish although the state is not singular, as for a ball that rolls about an axis of space. The consequence then has no value,
or no correct digit; the same relation with pivots chosen at the state has a value.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sympy import Symbol

from chetaev.core.calculus import Evaluator
from chetaev.core.symbols import Input, Jet, Place
from chetaev.core.values import Undefined
from chetaev.mechanics.ranks.generic import Matrix, Point
from chetaev.numerics.flow.closure import closure
from chetaev.numerics.flow.prolongation import Prolongation
from chetaev.numerics.graphs.identity_cache import Remembered

_LAST_DIGITS = 4 * float(np.finfo(float).eps)
"""Relative perturbation of the last digits of a state."""
_CHANGE_AT_A_POLE = 1e-9
"""Relative change of a slope under this perturbation that indicates a pole."""
_TAPES: Remembered[Evaluator] = Remembered(most=16)


def without_poles(system: Prolongation, point: Point) -> Prolongation:
    """Return the system, with consequences derived again by pivots chosen at a state if one of them has a pole there."""
    if not has_pole(system, point):
        return system
    found = closure(system.original.near(point), alone=True)
    return found.system if found.determined and not has_pole(found.system, point) else system


def has_pole(system: Prolongation, point: Point) -> bool:
    """Tell whether consequences have no value at a state, or slopes that change with its last digits."""
    if not system.added:
        return False
    here = _slopes(system, point)
    if here is None:
        return True
    sizes = np.abs(here).max(axis=1, keepdims=True, initial=0.0)
    for seed in range(2):
        there = _slopes(system, {**point, **last_digits_changed(point, seed)})
        if there is None or bool(np.any(np.abs(there - here) > _CHANGE_AT_A_POLE * sizes)):
            return True
    return False


def last_digits_changed(values: Mapping[Symbol, float], seed: int) -> dict[Jet, float]:
    """Return jets with perturbed last digits; the numbers of a group element relative to the size of the whole element."""
    jets = [z for z in values if isinstance(z, Jet) and not isinstance(z, Input)]
    lengths: dict[tuple[str, ...], float] = {}
    for z in jets:
        if isinstance(z, Place):
            lengths[z.components] = max(lengths.get(z.components, 0.0), abs(values[z]))
    shifts = np.random.default_rng(seed).uniform(-_LAST_DIGITS, _LAST_DIGITS, len(jets))
    sizes = [lengths[z.components] if isinstance(z, Place) else abs(values[z]) for z in jets]
    return {z: float(values[z] + shift * size) for z, shift, size in zip(jets, shifts, sizes, strict=True)}


def _slopes(system: Prolongation, point: Point) -> Matrix | None:
    """The slopes of the consequences by the jets of the state; None without a value."""
    tape = _TAPES.get(system, "slopes", lambda: _tape(system))
    try:
        return np.array(tape(point), dtype=float).reshape(len(system.added), -1)
    except Undefined:
        return None


def _tape(system: Prolongation) -> Evaluator:
    first = len(system.equations.labels)
    rows = [system.row((first + k, 0)) for k in range(len(system.added))]
    return system.algebra.tape([slope for row in rows for slope in system.algebra.gradient(row, system.structure.state)])
