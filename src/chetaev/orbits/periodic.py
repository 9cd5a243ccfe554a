"""periodic: an orbit that closes after a period, found by Newton's iteration with the exact derivative of the flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from chetaev.core.errors import StateError, UsageError
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.orbits.closing.chosen_search import ChosenSearch
from chetaev.orbits.closing.orbit import Orbit
from chetaev.orbits.closing.orbit_search import MOST_ITERATIONS, Search
from chetaev.orbits.closing.unknowns import unknowns_of
from chetaev.orbits.flow import Flow, flow_of
from chetaev.orbits.invariants import Invariants, invariants_of

_AT_REST = 1e-9
"""Rates relative to the sizes of the jets per period: a slower state counts as an equilibrium."""


@public
def periodic(
    equations: Any,
    start: State | Mapping[str, Any] | None = None,
    period: Any = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    unknown: Sequence[str] | str | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    relative: bool | None = None,
    tolerance: float = 1e-12,
) -> Orbit:
    """Find a periodic orbit near a start, with its multipliers.

    The period of a system that depends on time is kept; otherwise it is found. In families of orbits the integrals of the start (energy,
    momenta) are kept.

    With `unknown`, only the quantities that it names change: jets of the start, parameters, and `"period"`. Everything else, including the
    period, keeps its value. So `unknown=["th"]` finds the amplitude of a pendulum that has the given period, `unknown=["k"]` the stiffness,
    and `unknown=["x'", "period"]` a limit cycle through a given position. Values given for unknowns are guesses.

    Args:
        equations: Equations or a model.
        start: A state near the orbit; by default the start of the model.
        period: An approximate period: a number, or an expression in the parameters such as `"2*pi/w"`; exact if the equations depend on
            time.
        parameters: Values of the parameters.
        unknown: Names of the quantities that may change, in a list or in one string separated by blanks: at most as many as there are
            conditions, modulo integrals and symmetries. By default the whole start, with its integrals kept, and the period.
        t: The time at the start.
        inputs: Functions of time for the inputs.
        relative: Whether the orbit may close up to a symmetry; by default only if it does not close otherwise.
        tolerance: The tolerance of the motion.

    Returns:
        The orbit, with its period, multipliers and motion.

    Raises:
        StateError: If the start is an equilibrium, no orbit is found near it, the unknowns are not determined by an orbit, or the equations
            do not repeat after the period.
        ParameterError: For an unknown that is neither a jet of the state nor a parameter.
        UsageError: If the period is missing, or there are more unknowns than conditions.

    >>> from chetaev import System, derive
    >>> oscillator = derive(System("x", "k", lagrangian="x'^2/2 - k*x^2/2"))
    >>> orbit = periodic(oscillator, {"x": 1, "x'": 0}, period=3.1, parameters={"k": 4})
    >>> round(orbit.period, 9), orbit.trivial
    (3.141592654, 2)
    """
    if period is None:
        raise UsageError(
            "no period is given.",
            where="periodic",
            hint=(Ask("periodic", "equations, start, period=6.2"), " or ", SetArgument("period", "2*pi/w")),
        )
    flow, guess = flow_of("periodic", equations, start, parameters, t, period, tolerance, inputs)
    invariants = invariants_of(flow)
    if flow.autonomous and np.all(np.abs(flow.rates(flow.start)) * guess <= _AT_REST * flow.sizes):
        raise StateError(
            "the start is an equilibrium, which is not a periodic orbit.",
            where=flow.where,
            hint=("a start away from it; ", Ask("equilibria"), " finds it"),
        )
    if unknown is None:
        return _all_unknown(flow, invariants, guess, relative)
    return _chosen(flow, invariants, unknown, period, guess, relative)


def _all_unknown(flow: Flow, invariants: Invariants, guess: float, relative: bool | None) -> Orbit:
    """The orbit near the start that has the integrals of the start."""
    flow.require_repetition(flow.start, guess)
    search = Search(flow, invariants)
    for moving in [False, True] if relative is None else [relative]:
        found = search.closed(guess, moving and bool(len(search.displacement)))
        if found is not None:
            return found
    raise StateError(
        f"no periodic orbit was found near the start in {MOST_ITERATIONS} iterations: the ends stay {search.nearest:.1e} apart.",
        where=flow.where,
        why="Newton's iteration converges from a start and a period near those of an orbit.",
        hint=("another start or period; ", SetArgument("relative", True), " for an orbit that closes up to a symmetry"),
    )


def _chosen(flow: Flow, invariants: Invariants, unknown: Sequence[str] | str, period: Any, guess: float, relative: bool | None) -> Orbit:
    """The orbit near the start that is found by changing only the quantities named in `unknown`."""
    search = ChosenSearch(flow, invariants, unknowns_of(flow, unknown), period, guess)
    symmetric = bool(len(search.search.displacement))
    search.require_few(bool(relative) and symmetric)
    for moving in [False, True] if relative is None else [relative]:
        if moving and not (symmetric and search.determined(True)):
            continue
        found = search.closed(moving)
        if found is not None:
            return found
    have, need = search.count(bool(relative) and symmetric)
    few = (
        f"  In general the number of unknowns must be {need}, not {have}; constraints, integrals and symmetries are not counted."
        if have < need
        else ""
    )
    names = ", ".join(search.unknowns.names)
    raise StateError(
        f"no periodic orbit was found near the start by changing {names}: the ends stay {search.nearest:.1e} apart.",
        where=flow.where,
        why=f"Newton's iteration converges from values near those of an orbit.{few}",
        hint="other guesses, or more unknowns: jets of the start, parameters, the period" if few else "other guesses",
    )
