r"""Rates and constraints at a state with their derivatives, and a chart of the constraint manifold there.

$A = \partial f/\partial x$ follows from the rows $F(x, w) = 0$ that determine the jets $w$ at the top, by
$\partial w/\partial x = -F_w^{-1} F_x$. Nothing is divided by a rate and no acceleration is left in the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from sympy import Symbol

from chetaev.core.errors import StateError
from chetaev.core.symbols import Jet, Place
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.mechanics.ranks.sizes import units_of
from chetaev.mechanics.tolerances import CUT
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.stability.position import directions, jets_at
from chetaev.numerics.stability.spectrum import inverse_of, scaled, sizes_around

NEGLIGIBLE = 1e-6
"""Rate, relative to the terms of its derivatives, below which it counts as zero, so that a state given to six digits can be an
equilibrium."""
_ROUND_OFF_ENTRY = 1e-13
"""Entry, relative to the absolute sum of its terms, below which it is round-off and set to zero."""
_ZERO_RATE = 1e-12
"""Rate, relative to its typical size, below which it counts as zero if no slope gives a size."""

_LOST_SLOPE = 1e-6
"""Bound of the rounding error of a slope, relative to the slope or to the largest of its row in units of the jets, above which the slope
has lost its digits."""
_SLOPE_DIGITS = 60
"""Decimal digits with which slopes are computed if bounds of their errors in doubles do not decide."""
_NEGLIGIBLE_BOUND = 1e-300
"""Error bound that is allowed where all slopes vanish."""
_TIE = 1e-6
"""Relative weight by which a later jet is preferred among equal ones, so that round-off does not decide which jets are free."""


@dataclass(frozen=True)
class Spot:
    """Rates and constraints at one state, with their derivatives."""

    x: Matrix
    rates: Matrix
    full: Matrix
    sizes: Matrix
    """The sums of absolute values of the terms of `full`."""
    residual: Matrix
    rows: Matrix
    """The derivative of the constraints."""
    units: Matrix
    """The typical sizes of the jets."""
    rising: Matrix
    """The typical sizes of their rates."""

    @property
    def negligible(self) -> Matrix:
        """The largest rates of a state that counts as at rest."""
        found: Matrix = NEGLIGIBLE * (self.sizes @ np.maximum(np.abs(self.x), self.units)) + _ZERO_RATE * self.rising
        return found


def natural(x: Matrix, units: Matrix) -> Matrix:
    """Return units for displacements of a state: the sizes of its jets, for small jets that of the largest, or the typical size.

    If lengths are in nanometres without a declared scale, all jets are small, and a displacement by the typical size would leave the
    neighbourhood.
    """
    sizes = np.abs(x) / units
    largest = float(sizes.max(initial=0.0))
    found: Matrix = units * np.maximum(sizes, min(largest, 1.0) if largest > 0 else 1.0)
    return found


def units_at(problem: Problem) -> Matrix:
    """Return the typical sizes of the jets of the state."""
    return units_of(directions(problem.system), problem.sizes)


def spot_at(problem: Problem, x: Matrix) -> Spot:
    r"""The rates $f$, and $A$ from the rows by implicit differentiation."""
    system = problem.system
    state, top = directions(system), system.structure.top
    jets = jets_at(problem, x)
    pairs, both, n = system.stage(0), (*state, *top), len(state)
    values, jacobian = problem.numbers(pairs, both, {**jets, **dict.fromkeys(top, 0.0)})
    inverse, rank = inverse_of(jacobian[:, n:])
    tops = -inverse @ values
    values, jacobian = problem.numbers(pairs, both, {**jets, **dict(zip(top, map(float, tops), strict=True))})
    tops = tops - inverse @ values  # removes round-off
    if rank < len(top) - (system.generic_nullity or 0):
        raise StateError("the accelerations are not determined at this state.", where=problem.where, hint="a state off this locus")
    slopes, sizes = -inverse @ jacobian[:, :n], np.abs(inverse) @ np.abs(jacobian[:, :n])
    rises, reached = _places(system)
    full, terms, rates = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    full[rises[:, 0], rises[:, 1]] = terms[rises[:, 0], rises[:, 1]] = 1.0
    rates[rises[:, 0]] = x[rises[:, 1]]
    full[reached[:, 0]], terms[reached[:, 0]], rates[reached[:, 0]] = slopes[reached[:, 1]], sizes[reached[:, 1]], tops[reached[:, 1]]
    for i, j, k, c in _brackets(system):
        velocity = x[k] if k < n else tops[k - n]
        full[i, j] -= c * velocity
        terms[i, j] += abs(c * velocity)
    hidden = system.hidden()
    residual, rows = problem.numbers(hidden, state, jets) if hidden else (np.zeros(0), np.zeros((0, n)))
    rising = units_of([z.d() for z in state], problem.sizes)
    return Spot(np.array(x, dtype=float), rates, full, terms, residual, rows, units_at(problem), rising)


def slopes_by(problem: Problem, spot: Spot, parameter: Symbol) -> tuple[Matrix, Matrix]:
    """The derivatives of the rates and of the residuals of the constraints by a parameter, at a state; inputs are taken as fixed."""
    system = problem.system
    top, reached = system.structure.top, _places(system)[1]
    tops = np.zeros(len(top))
    tops[reached[:, 1]] = spot.rates[reached[:, 0]]
    jets = {**jets_at(problem, spot.x), **dict(zip(top, map(float, tops), strict=True))}
    inverse = inverse_of(problem.numbers(system.stage(0), top, jets)[1])[0]
    # multipliers among the tops are not rates; the rows are affine in them, or one step of Newton's iteration finds them
    jets |= dict(zip(top, map(float, tops - inverse @ problem.numbers(system.stage(0), top, jets)[0]), strict=True))
    slopes = -inverse @ problem.numbers(system.stage(0), [parameter], jets)[1][:, 0]
    rates = np.zeros(len(spot.x))
    rates[reached[:, 0]] = slopes[reached[:, 1]]
    hidden = system.hidden()
    rows = problem.numbers(hidden, [parameter], jets)[1][:, 0] if hidden else np.zeros(0)
    return rates, rows


def require_digits(problem: Problem, x: Matrix) -> None:
    """Raise a StateError if the slope of an acceleration has no correct digits, because numbers cancel in the equations."""
    system = problem.system
    state, top = directions(system), system.structure.top
    pairs, both, n = system.stage(0), (*state, *top), len(state)
    jets = {**jets_at(problem, x), **dict.fromkeys(top, 0.0)}
    values, jacobian = problem.numbers(pairs, both, jets)
    inverse, _ = inverse_of(jacobian[:, n:])
    tops = -inverse @ values
    jets |= dict(zip(top, map(float, tops), strict=True))
    tape, units = system.tape(pairs, both), units_at(problem)
    point = {**problem.binding.at(tape.symbols, problem.t), **jets}
    doubts = np.array(tape.doubts(point, dict.fromkeys(tape.symbols, 0.0)))[len(pairs) :].reshape(len(pairs), len(both))
    found = problem.numbers(pairs, both, jets)[1][:, :n]
    slopes = np.abs(inverse @ found)
    with np.errstate(invalid="ignore"):
        errors = np.abs(inverse) @ doubts[:, :n]
    # if all slopes of a jet vanish, their round-off is compared with the largest of all slopes, or with the typical slope
    typical = units_of(top, problem.sizes)[:, None] / units
    clear = (slopes / typical)[slopes > errors]
    typical *= min(1.0, float(clear.max())) if clear.size else 1.0
    allowed = _LOST_SLOPE * np.maximum.reduce([slopes, (slopes * units).max(axis=1, keepdims=True, initial=0.0) / units, typical])
    if not np.all(errors <= np.maximum(allowed, _NEGLIGIBLE_BOUND)):  # bounds are pessimistic: 1 - tanh(x)^2 is right at x = 50000
        known = tape.with_digits(point, _SLOPE_DIGITS)
        if known is not None:
            errors = np.abs(inverse) @ np.abs(known[len(pairs) :].reshape(len(pairs), len(both))[:, :n] - found)
    for i, j in np.argwhere(~(errors <= np.maximum(allowed, _NEGLIGIBLE_BOUND))):
        raise StateError(
            f"the derivative of {top[i].name} by {state[j].name} has no correct digits at this state: numbers cancel in the equations.",
            where=problem.where,
            hint="another state, or the same terms written without the difference of nearly equal numbers",
        )


@lru_cache(maxsize=32)
def _places(system: Prolongation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of indices: of a jet and its derivative within the state, and of a jet of the state and its derivative among the tops."""
    state = {z: i for i, z in enumerate(directions(system))}
    top = {z: j for j, z in enumerate(system.structure.top)}
    rises = [(i, state[z.d()]) for z, i in state.items() if z.d() in state]
    reached = [(i, top[z.d()]) for z, i in state.items() if z.d() in top]
    return np.array(rises, dtype=np.int64).reshape(-1, 2), np.array(reached, dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=32)
def _brackets(system: Prolongation) -> list[tuple[int, int, int, float]]:
    r"""The structure constants of $\eta'^c = \delta\xi^c - C^c_{ab}\,\xi^a \eta^b$: the indices of $\eta^c$, $\eta^b$ and $\xi^a$, and
    $C^c_{ab}$.
    """
    frame, state = system.equations.system.frame, directions(system)
    both = [*state, *system.structure.top]
    found = []
    for z, a in frame.turning.items():
        for w, b in frame.turning.items():
            for c, value in frame.bracket(a, b).items():
                found.append((state.index(frame.velocities[c].d(-1)), state.index(w), both.index(z.d()), float(value)))
    return found


@dataclass(frozen=True)
class Chart:
    """Independent jets and the jets that the constraints determine, by their indices in the state."""

    free: tuple[int, ...]
    bound: tuple[int, ...]

    def reduced(self, spot: Spot) -> tuple[Matrix, Matrix, Matrix]:
        """Return $X$, $A_y X$, and bounds of the round-off of its entries."""
        free, bound = list(self.free), list(self.bound)
        tangent = np.zeros((len(spot.x), len(free)))
        tangent[free] = np.eye(len(free))
        if bound:
            inverse, right = inverse_of(spot.rows[:, bound])[0], spot.rows[:, free]
            found = -inverse @ right
            found[np.abs(found) <= _ROUND_OFF_ENTRY * (np.abs(inverse) @ np.abs(right))] = 0.0
            tangent[bound] = found
        return tangent, spot.full[free] @ tangent, _ROUND_OFF_ENTRY * (spot.sizes[free] @ np.abs(tangent))


def chart_at(problem: Problem, x: Matrix) -> Chart:
    """Choose the bound jets stage by stage, from the highest jets of each row: constant coefficients first, then cyclic coordinates.

    A jet with a constant coefficient (x' in x' = R*psi'*cos(phi)) is expressed by the others without denominators, and a chart of the
    others respects the symmetries of the system.
    """
    structure, state = problem.system.structure, directions(problem.system)
    loose = cyclic(problem.system)
    bound: list[int] = []
    shifts = np.random.default_rng(1).uniform(0.01, 0.05, (2, len(x)))
    nearby = [x, *[x + shift * natural(x, units_at(problem)) for shift in shifts]]
    for k in problem.system.stages():
        pairs = problem.system.stage(k)
        jets = [z.d(d + k) for z, d in zip(structure.unknowns, structure.unknown_offsets, strict=True) if d + k >= 0]
        found = [a for a in (_jacobian(problem, pairs, jets, point) for point in nearby) if a is not None]
        varies = np.max([np.abs(a - found[0]).max(axis=0, initial=0.0) for a in found], axis=0)
        weights = np.where(varies > CUT * np.abs(found[0]).max(axis=0, initial=0.0), 0.1, 1.0) * np.array(
            [1.0 if z.base in loose else 0.7 for z in jets]
        )
        r, order = qr(scaled(found[0])[1] * weights * (1 + _TIE * np.arange(len(jets))), mode="r", pivoting=True)
        sizes = np.abs(np.diag(r))
        rank = int(np.sum(sizes > CUT * sizes[0])) if len(sizes) and sizes[0] > 0 else 0
        bound += [state.index(jets[j]) for j in order[:rank]]
    return Chart(tuple(i for i in range(len(state)) if i not in bound), tuple(sorted(bound)))


def _jacobian(problem: Problem, pairs: Sequence[Pair], jets: Sequence[Jet], x: Matrix) -> Matrix | None:
    try:
        return problem.numbers(pairs, jets, jets_at(problem, x))[1]
    except StateError:
        return None


def cyclic(system: Prolongation) -> set[str]:
    """Unknowns that occur only by their derivatives."""
    present = system.symbols([*system.hidden(), *system.stage(0)])
    standing = {base for z in present if isinstance(z, Place) for base in z.components}
    unknowns = zip(system.structure.unknowns, system.structure.unknown_offsets, strict=True)
    return {z.base for z, d in unknowns if d and z not in present and z.base not in standing}


@dataclass(frozen=True)
class View:
    """A state in a chart: rates and constraints, tangent space, and the matrix of the motion."""

    spot: Spot
    tangent: Matrix
    matrix: Matrix


def view_at(problem: Problem, chart: Chart, x: Matrix) -> View:
    """Return the view of a state, with entries of the matrix that change with the last digits of the state set to zero.

    Without these zeros the blocks of the matrix would not separate.
    """
    spot = spot_at(problem, x)
    tangent, matrix, noise = chart.reduced(spot)
    for digits in np.random.default_rng(4).uniform(-8, 8, (3, len(x))):
        other = chart.reduced(spot_at(problem, x + digits * EPSILON * natural(x, spot.units)))[1]
        noise = np.maximum(noise, 10 * np.abs(other - matrix))
    cleared = np.maximum(noise, 0.1 * _ROUND_OFF_ENTRY * sizes_around(matrix, spot.units[list(chart.free)]))
    return View(spot, tangent, np.where(np.abs(matrix) <= cleared, 0.0, matrix))
