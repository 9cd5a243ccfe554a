r"""Whether a linearisation exists: not on a surface where sign, abs, min or max switch, if the two sides differ to first order.

Dry friction at rest is any force up to its limit; sign(0) = 0 would be another system. The equations are smooth with the sign fixed at
either value, and both are linearised. If they agree, as for $x\,|x|$ at $x = 0$, the result is the linearisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from sympy import Add, Symbol

from chetaev.core.errors import StateError
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet
from chetaev.core.values import Undefined, value
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.corners.mode import Mode
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.flow.prolongation import Problem, prolongation
from chetaev.numerics.graphs.binding import Binding
from chetaev.numerics.stability.motion_near_state import Local

_ON_SURFACE = 1e-12
"""Size of a switching function, relative to its terms, below which the state lies on its surface."""
_SAME_LINEARISATION = 1e-9
"""Relative difference up to which the linearisations of two sides agree; it exceeds their round-off."""
_MOST_SURFACES = 5
"""Most surfaces through one state for which all sides are compared; the number of sides doubles with each. More are refused."""


def require_smooth(problem: Problem, jets: Mapping[Jet, float]) -> None:
    """Raise a StateError if the motion has no linearisation at a state because the state lies on a switching surface."""
    switched = smooth(problem.system.equations, Frozen(problem.binding.inputs))
    if not switched.modes:
        return
    known, on_surface = _signs(switched, problem, jets)
    if len(on_surface) > _MOST_SURFACES:
        raise _refusal(problem, on_surface[0].text)
    for mode in on_surface:
        others = [m for m in on_surface if m is not mode]
        for rest in product((1.0, -1.0), repeat=len(others)):
            signs = known | dict(zip([m.symbol for m in others], rest, strict=True))
            sides = [_local(switched, problem, jets, {**signs, mode.symbol: m}) for m in (1.0, -1.0)]
            if not _agree(*sides):
                raise _refusal(problem, mode.text)


def _signs(switched: Switched, problem: Problem, jets: Mapping[Jet, float]) -> tuple[dict[Symbol, float], list[Mode]]:
    """The modes whose functions do not vanish at the state, with their values, and those whose functions do."""
    system = switched.smooth.system
    known: dict[Symbol, float] = {}
    on_surface: list[Mode] = []
    for mode in switched.modes:  # in an order in which inner modes come first
        function = system.charted(mode.function)
        given = problem.binding.at(function.free_symbols - {m.symbol for m in switched.modes}, problem.t)
        point = {**given, **jets, **dict.fromkeys([m.symbol for m in on_surface], 1.0), **known}
        if not function.free_symbols <= point.keys():  # it contains jets above those solved for
            continue
        try:
            v, terms = float(value(function, point)), [abs(float(value(term, point))) for term in Add.make_args(function)]
        except Undefined:
            continue
        inside, sizes = [w for w in function.free_symbols if isinstance(w, Jet)], problem.sizes
        beside = [abs(x) * sizes.get(w, 1.0) / sizes.get(z, 1.0) for z, x in jets.items() for w in inside if w.order == z.order]
        if not mode.constant and abs(v) <= _ON_SURFACE * max([0.0, *terms, *beside]):
            on_surface.append(mode)
        else:
            known[mode.symbol] = float(np.sign(v))
    return known, on_surface


def _local(switched: Switched, problem: Problem, jets: Mapping[Jet, float], signs: Mapping[Symbol, float]) -> Local | None:
    """The motion near the state on one side; None if it is not determined there."""
    system = prolongation(switched.smooth)
    if system is None or system.generic_nullity is None:
        return None
    modes: dict[Symbol, float] = {m.symbol: signs.get(m.symbol, 1.0) for m in switched.modes}
    binding = Binding({**problem.binding.parameters, **modes}, switched.inputs)
    state = {z: v for z, v in jets.items() if z in system.structure.state}
    if len(state) < len(system.structure.state):
        return None
    try:
        return Local.of(Problem(system, binding, problem.t, problem.where), state)
    except StateError:
        return None


def _agree(above: Local | None, below: Local | None) -> bool:
    """Whether rates and their slopes are the same on both sides."""
    if above is None or below is None or above.chart.free != below.chart.free:
        return False
    first, second = above.view, below.view
    rising, free = first.spot.rising, list(above.chart.free)
    across = first.spot.units[free] / rising[free][:, None]
    return _close(first.spot.rates / rising, second.spot.rates / rising) and _close(first.matrix * across, second.matrix * across)


def _close(a: Matrix, b: Matrix) -> bool:
    size = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    return float(np.abs(a - b).max(initial=0.0)) <= _SAME_LINEARISATION * size


def _refusal(problem: Problem, surface: str) -> StateError:
    return StateError(
        f"{surface} = 0 here, and the motion differs to first order on the two sides.",
        where=problem.where,
        why="On a surface where sign, abs, min or max switch there is no linearisation.",
        hint=f"a state with {surface} a little above or below 0; simulate follows motions onto the surface and along it",
    )
