"""Initial data completed to a state, and the rank of the rows at that state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chetaev.core.errors import InitialError, StateError
from chetaev.core.state import State
from chetaev.core.symbols import Jet, Place
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import Factored
from chetaev.numerics.flow.constraint_set.component import component_at
from chetaev.numerics.flow.pole_rewriting import has_pole, without_poles
from chetaev.numerics.flow.prolongation import Problem, Prolongation, prolongation, square_prolongation
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.start.data import Data, read_state
from chetaev.numerics.start.initial import complete
from chetaev.numerics.start.state_faults import not_determined, with_origins

Given = State | Mapping[str, Any]


@dataclass(frozen=True)
class Completed:
    """Initial data completed to a state."""

    equations: Equations
    problem: Problem
    data: Data
    state: Mapping[Jet, float]
    regular: bool = False
    """Whether the system Jacobian is known to have full rank at the state."""

    @property
    def elsewhere(self) -> bool:
        """Whether the ranks are those near the state, because they differ at random states."""
        system = self.problem.system
        return not system.added and system.stated is not system


def state_at(equations: Equations, start: Given, binding: Binding, t: float, where: str) -> Completed:
    """Return the completed state; if the equations determine the accelerations at random states, that is not checked again here."""
    stated = square_prolongation(equations)
    if stated is None or stated.generic_nullity is None:
        found = decided_by_state(equations, start, binding, t, where)
        if found is not None:
            return found
    system = prolongation(equations)
    if system is None or system.generic_nullity is None:
        raise not_determined(equations, where)
    data = read_state(equations, start, binding, where, expressions=True).on(system)
    problem, state = _completed(Problem(system, binding, t, where), data)
    return Completed(equations, problem, data, state)


def decided_by_state(
    equations: Equations, start: Given, binding: Binding, t: float, where: str, *, instant: bool = False
) -> Completed | None:
    """Return the state that the stated rows give for the data, if these rows determine the motion there; None otherwise."""
    stated = square_prolongation(equations)
    if stated is None:
        return None
    data = read_state(equations, start, binding, where, expressions=True).on(stated)
    problem = Problem(stated, binding, t, where)
    try:
        state = complete(problem, data, explain=False)
    except StateError:  # the rows may need their consequences before they can complete data
        return None
    except InitialError:
        if not _determined_with_more(problem, data):
            return None
        complete(problem, data)  # once more, to explain why there is no state
        raise
    system = component_at(problem, state, instant=instant)
    return None if system is None else _on(Completed(equations, problem, data, state), system)


def _determined_with_more(problem: Problem, data: Data) -> bool:
    """Tell whether the stated rows would determine the motion if the missing values were given, so that only these are missing."""
    missing = {z: 0.0 for z in problem.system.structure.state if z not in data.fixed and z not in data.guess and not isinstance(z, Place)}
    if not missing or problem.system.curved(problem.system.hidden(), list(missing)):
        return False
    try:
        state = complete(problem, replace(data, guess={**data.guess, **missing}))
        return component_at(problem, state, instant=True) is not None
    except (InitialError, StateError):
        return False


def on_its_component(found: Completed) -> Completed:
    """Return `found` with the ranks near the state, if they differ from those at random states.

    Constraints may have several components: a linkage of equal cranks moves while another assembly of the same rods is rigid.
    """
    if found.regular:
        return found
    problem, system = found.problem, found.problem.system
    if not system.added:
        return _on(found, component_at(problem, found.state))
    top = system.structure.top
    _, jacobian = problem.numbers(system.stage(0), top, {**found.state, **dict.fromkeys(top, 0.0)})
    nullity = Factored(jacobian).nullity
    if nullity <= (system.generic_nullity or 0):
        return found
    near = system.near(problem.point(found.state))
    return replace(found, problem=replace(problem, system=near)) if near.generic_nullity == nullity else found


def _on(found: Completed, system: Prolongation | None) -> Completed:
    return found if system is None else replace(found, problem=replace(found.problem, system=system), regular=system.plain)


def _completed(problem: Problem, data: Data) -> tuple[Problem, dict[Jet, float]]:
    """Return the state, consistent with all rows, and the problem, with consequences derived again if they have a pole at this state."""
    if not problem.system.added:
        return problem, complete(problem, data)
    fault: InitialError | StateError | None = None
    jets: dict[Jet, float] = {}
    try:
        jets = complete(problem, data)
    except (InitialError, StateError) as failed:
        fault = failed
    given = {z: data.fixed.get(z, v) for z, v in jets.items()}  # a consequence with a pole may have moved them
    if fault is None and not has_pole(problem.system, problem.point(given)):
        return problem, jets
    better = _without_poles(problem, data)
    if better is not problem:
        return better, complete(better, data)
    if isinstance(fault, InitialError):
        raise with_origins(fault, problem.system.equations) from None
    if fault is not None:
        raise fault
    return problem, jets


def _without_poles(problem: Problem, data: Data) -> Problem:
    """Return the problem with consequences that have no pole at the state which the stated rows give for the data."""
    plain = replace(problem, system=problem.system.original)
    try:
        point = plain.point(complete(plain, data))
    except (InitialError, StateError):
        return problem
    system = without_poles(problem.system, point)
    return problem if system is problem.system else replace(problem, system=system)
