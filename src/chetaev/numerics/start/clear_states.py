"""Accelerations and multipliers at a state that is clearly regular."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from chetaev.core.errors import InitialError, StateError
from chetaev.core.state import State
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import Matrix
from chetaev.numerics.flow.compiled import flow_of
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.flow.pivot_choice import WORST_PIVOT
from chetaev.numerics.flow.prolongation import Problem, Prolongation, square_prolongation
from chetaev.numerics.graphs.arithmetic import is_nothing
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.graphs.graph_tape import GraphTape
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.start.conditions import Alone
from chetaev.numerics.start.data import Data, read_state
from chetaev.numerics.start.direct_completion import Completion, completion_of, excesses, positive
from chetaev.numerics.start.initial import complete

HOLDS = 1e-11
"""Largest residual of a row of motion with the computed accelerations, relative to the sum of its terms. Good divisors give 1e-15; the
checks of a motion allow 1e-8."""
LOST_DIGITS = 1e-9
"""Relative error bound of a value above which it is computed with more digits."""
VIOLATED_ROW = 1e-8
"""Residual of a row, relative to the contributions of its jets, above which the row does not hold."""
_FIRST = np.zeros(1, dtype=np.int64)
_KNOWN: Remembered[Clear | None]


@dataclass(frozen=True)
class ClearState:
    """A state that satisfies all rows, at which the system Jacobian clearly is regular, and the jets above it."""

    state: Mapping[Jet, float]
    jets: Mapping[Jet, float]
    """All reported jets, in the order of the unknowns."""
    digits: bool
    """Whether bounds of round-off show that rows and jets have correct digits; False if they do not, or were not computed."""


class Clear:
    """Evaluates states that are clearly regular, for one system of rows."""

    def __init__(self, completion: Completion, flow: Flow) -> None:
        self.completion, self.flow, self.system = completion, flow, completion.system
        structure = self.system.structure
        self.reported: list[Jet] = []
        for z, order in self.system.reported.items():
            self.reported += [*structure.at_order(z, 1, 0), *[z.d(k) for k in range(1, order + 1)]]
        self.places = frozenset(structure.state)
        self.asked = False
        """Whether a state was computed before."""
        self.above = [z for z in self.reported if z not in self.places]
        self.rows = len(self.system.hidden())
        """The number of rows that restrict the state."""

    @cached_property
    def tape(self) -> GraphTape:
        """The jets above the state, and a number that is zero if they are clearly determined."""
        flow, system = self.flow, self.system
        rows, top = ca.vertcat(*[system.row(pair) for pair in system.stage(0)]), list(system.structure.top)
        column = ca.vertcat(*excesses(ca.vertsplit(ca.densify(rows)), HOLDS))
        column = ca.substitute(column, flow.graph.vector(top), ca.vertcat(*[flow.tops[z] for z in top]))
        doubts = [
            *ca.vertsplit(column),
            WORST_PIVOT - flow.smallest_pivot,
            *self.completion.doubts(flow.solved.pivots, self.completion.state),
        ]
        return flow.graph.tape([*[flow.jet(z) for z in self.above], positive(doubts)])

    @cached_property
    def losses(self) -> GraphTape:
        """The jets above the state, the rows that restrict it, and the sum of the contributions of the jets of the state to each row."""
        flow, system, state = self.flow, self.system, self.completion.state
        rows = [system.row(pair) for pair in system.hidden()]
        leaves = [flow.graph.leaf(z) for z in state]
        terms = [_contributed(flow.graph.gradient(row, state), leaves) for row in rows]
        return flow.graph.tape([*[flow.jet(z) for z in self.above], *rows, *terms])

    def at(self, problem: Problem, fixed: Mapping[Jet, float], digits: bool = False) -> ClearState | None:
        """The state for given values of some of its jets; None if it is not clear in every respect. With `digits` also check round-off."""
        state, points = self.completion.state, Alone(problem, self.completion.state)
        found = self.numbers(points, fixed)
        if found is None:
            return None
        x, above = found
        values = dict(zip(state, x[0].tolist(), strict=True))
        known = {**values, **dict(zip(self.above, above.tolist(), strict=True))}
        kept = digits and not problem.binding.inputs and self.keeps_digits(points, x)  # inputs are computed, and have errors too
        return ClearState(values, {z: known[z] for z in self.reported}, kept)

    def numbers(self, points: Alone, fixed: Mapping[Jet, float]) -> tuple[Matrix, Matrix] | None:
        """The state as one line, and the jets above it; None if it is not clear in every respect."""
        x = np.array([[fixed.get(z, 0.0) for z in self.completion.state]])
        try:
            done = self.completion.complete(points, fixed, x, _FIRST)
            above = self.values(points, x) if done is not None and done[0] else None
        except Undefined:  # an input or one of its derivatives has no value
            return None
        return None if above is None else (x, above)

    def completed(self, problem: Problem, data: Data) -> Mapping[Jet, float] | None:
        """The jets of the state for data with guesses, as the general completion finds them; None if there is no state, or the system
        Jacobian is not clearly regular there.
        """
        state = self.completion.state
        try:
            found = complete(problem, data)
            above = self.values(Alone(problem, state), np.array([[found[z] for z in state]]))
        except (InitialError, StateError, Undefined):
            return None
        return None if above is None else found

    def keeps_digits(self, points: Alone, x: Matrix) -> bool:
        """Whether bounds of round-off show that the jets above a state have correct digits, and that round-off hides no violated row.

        The bounds cover all operations, the divisions by pivots included, so they are bounds for the jets themselves.
        """
        found = self.losses.between(points.point(self.losses, x))
        if found is None:
            return False
        n, m = len(self.above), len(self.above) + self.rows
        above, below = found
        sizes = [min(abs(u), abs(v)) for u, v in zip(above, below, strict=True)]
        allowed = [*[LOST_DIGITS * size for size in sizes[:n]], *[VIOLATED_ROW * size for size in sizes[m:]]]
        bounds = [0.5 * abs(u - v) for u, v in zip(above[:m], below[:m], strict=True)]
        return all(bound <= most for bound, most in zip(bounds, allowed, strict=True))  # false where one is not a number

    def values(self, points: Alone, x: Matrix) -> Matrix | None:
        """The jets above a state; None where the system Jacobian is not clearly regular."""
        found = points.values(self.tape, x, _FIRST)[0]
        return found[:-1] if found[-1] == 0.0 and np.isfinite(found).all() else None


def _contributed(slopes: Sequence[ca.SX], leaves: Sequence[ca.SX]) -> ca.SX:
    """The sum of |slope * value|."""
    return sum((ca.fabs(slope * leaf) for slope, leaf in zip(slopes, leaves, strict=True) if not is_nothing(slope)), ca.SX(0))


def state_at_once(
    equations: Equations,
    start: State | Mapping[str, Any],
    binding: Binding,
    t: float,
    where: str,
    *,
    often: bool = True,
    digits: bool = False,
) -> ClearState | None:
    """The state for a user's data; None if it is not clear in every respect, or if the data are not only values of jets of the state.

    With `often` false, None if no state of these equations was computed before: making the graphs takes longer than the general completion
    of one start, which gives the same state.
    """
    system = square_prolongation(equations)
    clear = None if system is None else clear_states(system)
    if system is None or clear is None:
        return None
    first, clear.asked = not clear.asked, True
    if first and not often:
        return None
    data = read_state(equations, start, binding, where, expressions=True)
    if data.guess or data.demands or not data.fixed.keys() <= clear.places:
        return None
    return clear.at(Problem(system, binding, t, where), data.fixed, digits)


def clear_states(system: Prolongation) -> Clear | None:
    """The evaluator of clear states, for rows that determine their motion; None if every state needs the general completion; cached."""
    return _KNOWN.get(system, (), lambda: _clear(system))


def _clear(system: Prolongation) -> Clear | None:
    if not system.shown_regular:  # a slope that is round-off at every random point has to be checked at each state
        return None
    completion = completion_of(system)
    flow = None if completion is None else flow_of(system)
    return None if completion is None or flow is None else Clear(completion, flow)


_KNOWN = Remembered(64)
