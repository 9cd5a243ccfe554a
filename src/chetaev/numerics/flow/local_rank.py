"""The rank of the system Jacobian at a state, with the digits that the state has.

Where a state is given, the state decides: if the system Jacobian is regular there, the rows determine the motion, also if they do not at
random points of other components. The entries have bounds of their round-off (doubts), because round-off of a zero must not become a pivot.
The verdict is one of three: regular, of a smaller rank, or ill-conditioned, with the singular value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from sympy import Symbol

from chetaev.core.errors import StateError
from chetaev.core.symbols import Input, Jet, Place
from chetaev.mechanics.ranks.factored import Factored, Flags, Matrix, open_jets
from chetaev.mechanics.ranks.generic import changes_much
from chetaev.mechanics.ranks.sizes import Sizes, largest_of_kind
from chetaev.mechanics.ranks.sparse import Numbers, doubts_at, has_small_entry, is_sparse, regular_solver, same_numbers
from chetaev.mechanics.tolerances import CUT
from chetaev.numerics.flow.prolongation import Pair, Problem, Prolongation
from chetaev.numerics.graphs.decided_by_data import decided_pivot
from chetaev.numerics.graphs.rounding_bounds import EPSILON

Solver = Callable[[Matrix], Matrix]

_SMALL_SLOPE = 1e-10
"""Relative to the largest slope in their row or column: smaller slopes may be round-off, and their doubts are computed."""
_LEAST_UNCERTAIN_SIZE = 1e-2
"""Relative to the largest jet of its order: the uncertainty of a jet is at least the last digit of this size, since zeros of a symmetric
motion are round-off of the other jets."""
_NAMED_WEIGHT = 0.2
"""Relative to the largest weight in a combination that almost vanishes: rows with a larger weight are named in messages."""


def factored_at(problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Matrix, Factored]:
    """Return residuals of some rows at a state, and their factored Jacobian; doubts are computed only where slopes are small."""
    values, jacobian = problem.numbers(pairs, unknowns, at)
    tape: Any = problem.system.tape(pairs, unknowns)
    found = _made_once(_FACTORED, tape, jacobian, Factored)
    clear = found.rank == min(jacobian.shape) and not may_be_round_off(jacobian[None])[0]
    if clear and not changes_much(tape, {**problem.binding.at(tape.symbols, problem.t), **at}, jacobian):
        return values, found
    return values, Factored(jacobian, doubts=_doubts_at(problem, pairs, unknowns, at))


def clearly_regular_at(problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> bool:
    """Tell whether the Jacobian of some rows is a large sparse matrix that clearly has full rank at a state."""
    return solver_at(problem, pairs, unknowns, at) is not None


def solver_at(problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Matrix, Solver] | None:
    """Return residuals of some rows at a state, and the function that solves linear equations with their Jacobian; None unless that is a
    large sparse matrix that clearly has full rank. Doubts are computed only where slopes are small.
    """
    values, jacobian = problem.sparse_numbers(pairs, unknowns, at)
    if not is_sparse(jacobian):
        return None
    tape: Any = problem.system.tape(pairs, unknowns)
    point, doubts = {**problem.binding.at(tape.symbols, problem.t), **at}, None
    if has_small_entry(jacobian, _SMALL_SLOPE) or changes_much(tape, point, jacobian):
        doubts = _doubts_at(problem, pairs, unknowns, at)
    solve = regular_solver(jacobian, doubts, CUT) if doubts is not None else _made_once(_SOLVERS, tape, jacobian, _solver_of)
    return None if solve is None else (values, solve)


_T = TypeVar("_T")
_Last = WeakKeyDictionary[Any, tuple[Numbers, _T]]
_FACTORED: _Last[Factored] = WeakKeyDictionary()
_SOLVERS: _Last[Solver | None] = WeakKeyDictionary()
"""For each tape its last matrix and what was made of it: masses are most often constant, and a motion begins at many states."""


def _made_once(known: _Last[_T], tape: Any, matrix: Numbers, make: Callable[[Numbers], _T]) -> _T:
    """What is made of a matrix that a tape has given, or what was made of it before."""
    last = known.get(tape)
    if last is None or not same_numbers(last[0], matrix):
        last = known[tape] = matrix, make(matrix)
    return last[1]


def _solver_of(matrix: Numbers) -> Solver | None:
    return regular_solver(matrix, None, CUT)


def _doubts_at(problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> Numbers:
    """Bounds of the errors of the Jacobian's entries, from the last digits of state and parameters."""
    tape: Any = problem.system.tape(pairs, unknowns)
    point = {**problem.binding.at(tape.symbols, problem.t), **at}
    return doubts_at(tape, point, uncertainties(point, problem.sizes), len(pairs), (len(pairs), len(unknowns)))[1]


def uncertainties(point: Mapping[Symbol, float], sizes: Sizes) -> dict[Symbol, float]:
    """Return the uncertainty of each value: its last digit, or that of the group element; of jets at least by `_LEAST_UNCERTAIN_SIZE`."""
    places: dict[tuple[str, ...], float] = {}
    for z, v in point.items():
        if isinstance(z, Place):
            places[z.components] = max(places.get(z.components, 0.0), abs(v))
    jets = {z: v for z, v in point.items() if isinstance(z, Jet) and not isinstance(z, Input | Place)}
    beside = {z: _LEAST_UNCERTAIN_SIZE * v for z, v in largest_of_kind(jets, sizes).items()}
    beside |= {z: places[z.components] for z in point if isinstance(z, Place)}
    return {z: EPSILON * max(abs(v), beside.get(z, 0.0)) for z, v in point.items()}


def may_be_round_off(jacobians: Matrix) -> Flags:
    """Which matrices have slopes so small beside others of their row or column that they may be round-off."""
    sizes = np.abs(jacobians)
    beside = np.maximum(sizes.max(axis=2, keepdims=True, initial=0.0), sizes.max(axis=1, keepdims=True, initial=0.0))
    return np.asarray(((sizes > 0) & (sizes < _SMALL_SLOPE * beside)).any(axis=(1, 2)))


def require_clear(
    problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], found: Factored, at: Mapping[Jet, float] | None = None
) -> None:
    """Raise a StateError if the digits do not decide whether rows are dependent, at a state with values `at`.

    A mass matrix bordered by rows that differ by $e$ has a singular value of $e^2$, which round-off hides long before it hides $e$. If the
    bordered matrix leaves multipliers open, their own columns must be dependent as clearly: within the round-off of doubles, and within the
    digits of the data.
    """
    size = found.dropped if found.ill_conditioned else 0.0
    opened = open_jets(unknowns, found.null)
    if not size and opened:
        alone = found.of_columns([k for k, z in enumerate(unknowns) if z in opened])
        size = alone.dropped if alone.ill_conditioned else alone.kept if alone.nullity < found.nullity else 0.0
        if not size and at is not None and not _known_dependent(problem.system, pairs, unknowns, found):
            size = _decided(problem, pairs, opened, alone, at)
    if size:
        raise _ill_conditioned(problem, pairs, opened, found, size)


def _known_dependent(system: Prolongation, pairs: Sequence[Pair], unknowns: Sequence[Jet], found: Factored) -> bool:
    """Tell whether as many unknowns are left open at every state, by exact arithmetic."""
    stated = system.stated
    whole = list(pairs) == stated.stage(0) and tuple(unknowns) == stated.structure.top
    return whole and stated.exact_nullity is not None and found.nullity <= stated.exact_nullity


def _decided(problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], found: Factored, at: Mapping[Jet, float]) -> float:
    """The part of a matrix that its numerical rank leaves out although the data decide that it is not zero; otherwise 0."""
    system = problem.system
    entries = [d for pair in pairs for d in system.algebra.gradient(system.row(pair), unknowns)]
    point = {**problem.binding.at(system.algebra.symbols_of(entries), problem.t), **at}
    return decided_pivot(entries, found, system.algebra, point, uncertainties(point, problem.sizes))


def _ill_conditioned(problem: Problem, pairs: Sequence[Pair], opened: Sequence[Jet], found: Factored, size: float) -> StateError:
    weights = np.abs(Factored(found.jacobian.T).null).max(axis=1, initial=0.0)
    rows = [problem.system.label(pair) for pair, w in zip(pairs, weights, strict=True) if w > _NAMED_WEIGHT * weights.max(initial=0.0)]
    names = " ".join(z.name for z in opened)
    # above the cut it is a singular value of the columns of multipliers alone: accelerations depend on its square
    least, square = (CUT, "") if size <= CUT else (CUT**0.5, ", because accelerations and multipliers together depend on its square")
    return StateError(
        f"the equations are ill-conditioned at this state: a singular value of the matrix for {names} is {size:.2g} of the largest.",
        where=problem.where,
        why=f"{', '.join(rows)} almost depend on each other, and below {least:.2g} double precision does not tell whether they do{square}.",
        hint="leave out a row that says the same as others, or write the difference between them as a row of its own",
    )
