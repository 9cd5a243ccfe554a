r"""continuation: families of equilibria, steady motions and periodic orbits along a parameter or a jet, with their special points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.declarations import read_value
from chetaev.core.errors import ChetaevError, InitialError, ModelError, ParameterError, StateError, UsageError, about, did_you_mean
from chetaev.core.fixes import Ask, SetArgument, sentences
from chetaev.core.notation.lexer import spell
from chetaev.core.state import State
from chetaev.core.support.public import public
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.model import Model
from chetaev.numerics.flow.prolongation import prolongation
from chetaev.numerics.graphs.binding import bind, number
from chetaev.numerics.stability.arguments import local_motion, read_model
from chetaev.numerics.stability.equilibrium import equilibria
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions
from chetaev.numerics.stability.state_chart import cyclic
from chetaev.orbits.arclength import VERTICAL, Array, Node, at_value, both_ways, followed, node_at, null_space, plane, solved, tangent_at
from chetaev.orbits.closing.orbit import Orbit
from chetaev.orbits.family import Family, family_of
from chetaev.orbits.flow import flow_of
from chetaev.orbits.invariants import invariants_of
from chetaev.orbits.orbit_curve import OrbitCurve
from chetaev.orbits.orbit_starts import orbits_along, orbits_from_doubling, orbits_from_hopf
from chetaev.orbits.special_points import Found
from chetaev.orbits.steady.relative_curve import RelativeCurve, relative_curve
from chetaev.orbits.steady.rest_curve import RestCurve, rest_curve
from chetaev.orbits.switching import point_on_other_curve

KINDS = ("equilibria", "steady", "periodic")
_SHORT_DURATION = 1e-9
"""Duration, relative to the time at the start, so short that the sizes of the jets over it are those at the start."""
_ROUND_OFF_MULTIPLE = 100.0
"""Singular values below this multiple of round-off, at every point, mean that the family has more than one dimension."""


@public
def continuation(
    equations: Any,
    start: State | Mapping[str, Any] | Orbit | None = None,
    along: str = "",
    until: tuple[Any, Any] = (),  # type: ignore[assignment]
    kind: str = "equilibria",
    parameters: Mapping[str, Any] | None = None,
    *,
    period: Any = None,
    fixed: Sequence[str] | str = (),
    t: float | None = None,
    inputs: Mapping[str, Any] | None = None,
    tolerance: float = 1e-12,
    most: int = 400,
) -> Family:
    """The family of solutions through a start, followed both ways along a parameter or a jet.

    Steps are taken along the arc length of the curve, so that folds are passed. Special points are roots of test functions on the curve,
    accurate to round-off: folds, branch points, Hopf points, period doublings, and points where two eigenvalues meet and leave an axis.

    Args:
        equations: Equations or a model.
        start: A state near a solution, as for `equilibria` or `periodic`, or an orbit; by default the start of the model.
        along: The name of a parameter or of a jet of the state; for steady motions, such as `"rear'"`, also an entry of a group element
            such as `"A33"`.
        until: The interval of values of `along`.
        kind: `"equilibria"`, `"steady"` (only quantities without influence change) or `"periodic"`.
        parameters: Values of the parameters. The value of a parameter `along` at the start may stand here or in `start`; by default it is
            the first end of `until`.
        period: For periodic orbits, an approximate period; an expression such as `"2*pi/w"` if the equations depend on time.
        fixed: Jets that keep their values, where a family of steady motions has more than one dimension; where the attitude turns, also
            expressions such as `"A33"`. If these are not enough, velocities of cyclic coordinates or of symmetries are kept too.
        t: The time at the start.
        inputs: Functions of time for the inputs.
        tolerance: The tolerance of the motions of periodic orbits.
        most: The largest number of points in each direction.

    Returns:
        The family with its points and special points; its method `switch` follows a branch.

    Raises:
        StateError: If no solution is found near the start, or the family has more than one dimension.
        ParameterError: If `along` is neither a parameter nor a jet of the state.
        UsageError: For an argument of a wrong kind.
        ModelError: If an attitude changes and has an influence, and no symmetry carries the motion along.

    >>> from chetaev import System, derive
    >>> hoop = derive(System("th", "w", lagrangian="th'^2/2 + w^2*sin(th)^2/2 + cos(th)", name="hoop"))
    >>> family = continuation(hoop, {"th": 0}, along="w", until=(0, 2), parameters={"w": 0.5})
    >>> [(s.kind, round(s.value, 12)) for s in family.special]
    [('branch', 1.0)]
    >>> other = family.switch(0)
    >>> bool(abs(other["w"] ** 2 * np.cos(other["th"]) - 1).max() < 1e-9)
    True
    """
    if kind not in KINDS:
        raise UsageError(f"kind = {kind!r} is unknown.", where=about("continuation", "kind"), hint=", ".join(KINDS))
    if isinstance(most, bool) or not isinstance(most, int) or most < 2:
        raise UsageError(f"most = {most!r} is not a number of points.", where="continuation", hint=SetArgument("most", 400))
    if isinstance(equations, Model):
        start = equations.start if start is None else start
        t = equations.t[0] if t is None else t
    equations, parameters, inputs = read_model("continuation", equations, parameters, inputs)
    where = f"continuation {equations.system.label}"
    if start is None:
        raise UsageError(
            "no start is given.", where=about(where, "start"), hint=Ask("continuation", 'equations, {"x": 0}, along="k", until=(0, 1)')
        )
    wanted = _along(equations, along, kind, where)
    parameters, start = _with_value(equations, parameters, wanted, start, until)
    binding = bind(equations.system, parameters, inputs, where)
    interval = _interval(until, dict(binding.parameters), where)
    held = tuple(fixed.split()) if isinstance(fixed, str) else tuple(fixed)
    if kind == "periodic":
        made = orbits_along(equations, start, wanted, interval, parameters, period, t or 0.0, inputs, tolerance, where)
        return _periodic(*made, interval, most, where)
    if isinstance(start, Orbit):
        raise UsageError("an orbit is a start for periodic orbits.", where=where, hint=SetArgument("kind", "periodic"))
    return _equilibria_or_steady(equations, start, wanted, interval, kind, parameters, held, t, inputs, tolerance, most, where)


def _along(equations: Equations, along: Any, kind: str, where: str) -> Any:
    """The parameter, the jet, or for steady motions the entry of a group element along which a family is followed."""
    if not isinstance(along, str) or not along:
        raise UsageError(
            "along is missing: the name of a parameter or of a jet.",
            where=where,
            hint=(SetArgument("along", "v"), " or ", SetArgument("along", "rear'")),
        )
    known = {p.name: p for p in equations.system.parameters}
    if spell(along) in known:
        return known[spell(along)]
    names = [z.base for z in equations.unknowns]
    if spell(along).rstrip("'") in names:
        found = read_value(along, equations.vocabulary, where)
        if isinstance(found, Jet):
            return found
    entries = {z.name: z for group in equations.system.groups.values() for z in group.chart}
    if kind == "steady" and spell(along) in entries:
        return entries[spell(along)]
    hint = sentences(f"parameters: {' '.join(known) or 'none'}; jets of {' '.join(names)}.", did_you_mean(along, [*known, *names]))
    raise ParameterError(f"{along} is neither a parameter nor a jet of the state.", where=about(where, "along"), hint=hint)


def _with_value(equations: Equations, parameters: Mapping[str, Any], along: Symbol, start: Any, until: Any) -> tuple[dict[str, Any], Any]:
    """The parameters with a value of `along`, and the start without it; by default the value is the first end of the interval."""
    given = {spell(str(k)): v for k, v in parameters.items()}
    if along not in equations.system.parameters:
        return given, start
    if isinstance(start, Mapping) and any(spell(str(k)) == along.name for k in start):
        given[along.name] = next(v for k, v in start.items() if spell(str(k)) == along.name)
        return given, {k: v for k, v in start.items() if spell(str(k)) != along.name}
    if along.name not in given and isinstance(until, Sequence) and len(until) == 2:
        given[along.name] = until[0]
    return given, start


def _interval(until: Any, names: dict[Any, float], where: str) -> tuple[float, float]:
    hint = SetArgument("until", (0, 12))
    if isinstance(until, str) or not isinstance(until, Sequence | np.ndarray) or len(until) != 2:
        raise UsageError("until is not an interval of two values.", where=about(where, "until"), hint=hint)
    low, high = sorted(number(v, names, f"{where}, until", UsageError) for v in until)
    if not low < high:
        raise UsageError(f"the interval from {low:g} to {high:g} is empty.", where=about(where, "until"), hint=hint)
    return low, high


def _equilibria_or_steady(
    equations: Equations,
    start: State | Mapping[str, Any],
    along: Symbol,
    until: tuple[float, float],
    kind: str,
    parameters: Mapping[str, Any],
    fixed: tuple[str, ...],
    t: float | None,
    inputs: Mapping[str, Any],
    tolerance: float,
    most: int,
    where: str,
) -> Family:
    """The family of equilibria or steady motions."""
    setting = (equations, inputs, until, tolerance, most)
    if kind == "steady" and any(group.places for group in equations.system.groups.values()):
        turning = _turning_attitude(equations, start, along, parameters, fixed, t, setting, where)
        if turning is not None:
            return turning
    local = _local_start(equations, start, along, kind, parameters, fixed, t, inputs)
    if not local.at_rest:
        raise ModelError(
            "no symmetry carries this motion along.",
            where=where,
            why="The attitude of a group coordinate influences the motion and changes.",
            hint=("a start nearer to a steady motion; ", Ask("symmetries"), " lists the symmetries"),
        )
    state = directions(local.problem.system)
    if along not in equations.system.parameters and along not in state:
        hint = " ".join(z.name for z in state)
        raise ParameterError(f"{along.name} is not a jet of the state.", where=about(where, "along"), hint=hint)
    names = [z.name for z in state]
    wished = [spell(name) for name in fixed]
    unknown = [name for name in wished if name not in names]
    if unknown:
        raise UsageError(f"{unknown[0]} is not a jet of the state.", where=where, hint=" ".join(names))
    x = local.view.spot.x
    curve = rest_curve(
        local, along, until, kind == "equilibria", [(names.index(name), float(x[names.index(name)])) for name in wished], where
    )
    u = _refined(curve)
    if curve.parameter is not None:
        loose = cyclic(local.problem.system)
        moving = [(i, float(curve.state(u)[i])) for i, z in enumerate(state) if z.order and z.base in loose and abs(x[i]) > 0]
        places = [(i, float(curve.state(u)[i])) for i, z in enumerate(state) if not z.order]
        curve = curve.holding([*moving, *places], u)
    value = curve.value(u)
    if not until[0] <= value <= until[1]:
        raise _outside(curve.name, value, until, where)
    return _rest_family(curve, u, tangent_at(curve, u, _forward(curve, u)), kind, setting)


def _turning_attitude(
    equations: Equations,
    start: State | Mapping[str, Any],
    along: Any,
    parameters: Mapping[str, Any],
    fixed: Sequence[str],
    t: float | None,
    setting: Any,
    where: str,
) -> Family | None:
    """The family of steady motions whose attitude turns; None if all quantities that influence the motion are at rest, or no symmetry moves
    the state.
    """
    _, inputs, until, tolerance, _ = setting
    try:
        if local_motion("continuation", equations, start, parameters, t, inputs).at_rest:
            return None
    except (InitialError, StateError):
        return None  # `_local_start` completes the start or explains what is wrong
    begin = t or 0.0
    flow, _ = flow_of(
        "continuation", equations, start, parameters, begin, max(_SHORT_DURATION, _SHORT_DURATION * abs(begin)), tolerance, inputs
    )
    kept = [(name, read_value(name, equations.vocabulary, where)) for name in fixed]
    curve = relative_curve(flow, invariants_of(flow), along, until, kept, where)
    if curve is None:
        return None
    curve = curve.holding_velocities(u := _refined(curve))
    value = curve.value(u)
    if not until[0] <= value <= until[1]:
        raise _outside(curve.name, value, until, where)
    return _rest_family(curve, u, tangent_at(curve, u, _forward(curve, u)), "steady", setting)


def _outside(name: str, value: float, until: tuple[float, float], where: str) -> UsageError:
    what = f"the start has {name} = {value:g}, outside the interval from {until[0]:g} to {until[1]:g}."
    return UsageError(what, where=where, hint="a start inside the interval")


def _forward(curve: Any, u: Array) -> Array:
    """A direction not orthogonal to the curve: the projection of `along` on the null space, or at a fold a null vector."""
    null = null_space(curve, u, _ROUND_OFF_MULTIPLE * curve.cut)
    direction = null @ (null.T @ curve.along)
    if float(np.linalg.norm(direction)) > VERTICAL:
        found: Array = direction / np.linalg.norm(direction)
        return found
    last: Array = null[:, -1] if null.shape[1] else curve.along
    return last


def _rest_family(curve: RestCurve | RelativeCurve, u: Array, tangent: Array, kind: str, setting: Any) -> Family:
    equations, inputs, until, tolerance, most = setting
    nodes, ends = both_ways(curve, u, tangent, until, most)
    _require_curve(nodes)
    if isinstance(curve, RestCurve) and curve.local.depends_on_time():
        _require_steady(nodes)

    def switch(found: Found, wanted: int | None) -> Family:
        count = wanted or most
        if found.kind == "branch":
            node, direction = point_on_other_curve(found)
            return _rest_family(node.curve, node.u, tangent_at(node.curve, node.u, direction), kind, (*setting[:-1], count))
        if found.kind == "hopf" and isinstance(curve, RelativeCurve):
            what = "continuation cannot follow the motions that branch off a steady motion whose attitude turns."
            raise UsageError(
                what, where=f"switch, {curve.where}", hint=Ask("ch.orbits.periodic", "equations, start, period, relative=True")
            )
        if found.kind == "hopf":
            made = orbits_from_hopf(found, equations, inputs, until, tolerance, curve.where)
            return _periodic(*made, until, count, curve.where)
        raise _no_branch(found, curve.where)

    words = {"equilibria": "equilibria", "steady": "steady motions"}
    return family_of(kind, nodes, ends, until, f"{words[kind]} of {equations.system.label}", switch)


def _no_branch(found: Found, where: str) -> UsageError:
    reasons = {
        "fold": "at a fold the family turns back, and there is no other family",
        "double": "where two eigenvalues meet, no family begins",
        "hopf": "the motions that begin where multipliers cross the unit circle fill a torus and are not periodic",
    }
    return UsageError(f"nothing branches off: {reasons[found.kind]}.", where=f"switch, {where}", hint="a branch point")


def _require_curve(nodes: Sequence[Node]) -> None:
    """Raise if the family has more than one dimension at its first, middle and last point."""
    if len(nodes) < 2:
        return
    for node in (nodes[0], nodes[len(nodes) // 2], nodes[-1]):
        null = null_space(node.curve, node.u, _ROUND_OFF_MULTIPLE * node.curve.cut)
        if null.shape[1] <= 1:
            return
    curve = nodes[0].curve
    still = null @ np.linalg.svd((curve.along @ null)[None, :])[2][1:].T  # directions in which `along` keeps its value
    weights = np.abs(still[: len(curve.names)]).max(axis=1)
    names = [name for name, w in zip(curve.names, weights, strict=True) if w > 0.1 and name != curve.name]
    names.sort(key=lambda name: -name.count("'"))
    raise StateError(
        f"the family through this start has {null.shape[1]} dimensions, not one.",
        where=curve.where,
        why=f"Nothing determines a combination of {', '.join(names)}." if names else "",
        hint=(SetArgument("fixed", [names[0]]), " keeps one of them") if names else "another quantity along which to follow the family",
    )


def _require_steady(nodes: Sequence[Node]) -> None:
    """Raise if a point of the family does not stay at rest, because the equations depend on time."""
    for node in nodes:
        curve = node.curve
        problem = curve.problem(node.u)
        jets = dict(zip(directions(problem.system), map(float, curve.state(node.u)), strict=True))
        if not Local.of(problem, jets).steady:
            what = f"at {curve.name} = {node.value:.6g} the state does not stay at rest: the equations depend on time."
            raise StateError(what, where=curve.where, hint=(SetArgument("kind", "periodic"), " follows periodic motions"))


def _refined(curve: RestCurve | RelativeCurve) -> Array:
    """The coordinates of the start, corrected to round-off."""
    u = np.zeros(curve.size)
    try:
        return solved(curve, u, at_value(curve, curve.value(u)))
    except StateError:  # at a fold no point nearby may have the same value
        return solved(curve, u, plane(_forward(curve, u), u))


def _local_start(
    equations: Equations,
    start: State | Mapping[str, Any],
    along: Symbol,
    kind: str,
    parameters: Mapping[str, Any],
    fixed: Sequence[str],
    t: float | None,
    inputs: Mapping[str, Any],
) -> Local:
    """The motion near the start if that is complete and steady; otherwise near the equilibrium to which `equilibria` leads from it."""
    try:
        local = local_motion("continuation", equations, start, parameters, t, inputs)
        spot = local.view.spot
        if local.steady and (kind == "steady" or bool(np.all(np.abs(spot.rates) <= spot.negligible))):
            return local
    except (InitialError, StateError):
        pass  # the search below explains what is wrong
    names = list(fixed)
    given: dict[str, Any] = {**start.guess, **start.fixed} if isinstance(start, State) else dict(start)
    if kind == "steady":
        names += _velocities(equations, given, parameters, inputs)
    if isinstance(along, Jet) and along.order <= 1 and along.name not in names and any(spell(str(k)) == along.name for k in given):
        names.append(along.name)
    found = equilibria(equations, given, parameters, t=t, inputs=inputs, fixed=list(dict.fromkeys(names)))
    return local_motion("continuation", equations, found, parameters, t, inputs)


def _velocities(equations: Equations, given: Mapping[str, Any], parameters: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[str]:
    """The nonzero velocities of cyclic coordinates in the start, which a steady motion keeps."""
    system = prolongation(equations)
    loose = set() if system is None else cyclic(system)
    known = dict(bind(equations.system, parameters, inputs, "continuation").parameters)
    found = []
    for key, v in given.items():
        try:
            moving = number(v, known, "continuation", UsageError) != 0
        except ChetaevError:
            moving = False
        name = spell(str(key))
        if moving and name.endswith("'") and name[:-1] in loose:
            found.append(name)
    return found


def _periodic(curve: OrbitCurve, u: Array, tangent: Array, one_way: bool, until: tuple[float, float], most: int, where: str) -> Family:
    """The family of periodic orbits through the point `u`, in the direction of `tangent` only if `one_way`."""
    if one_way:
        traced = followed(node_at(curve, u, tangent), until, most)
        nodes, ends = traced.nodes, ("the point where it branches off", traced.end)
    else:
        nodes, ends = both_ways(curve, u, tangent, until, most)
    _require_curve(nodes)

    def switch(found: Found, wanted: int | None) -> Family:
        count = wanted or most
        if found.kind == "branch":
            node, direction = point_on_other_curve(found)
            return _periodic(node.curve, node.u, tangent_at(node.curve, node.u, direction), False, until, count, where)
        if found.kind == "period_doubling":
            return _periodic(*orbits_from_doubling(found), until, count, where)
        raise _no_branch(found, where)

    return family_of("periodic", nodes, ends, until, f"periodic orbits of {curve.flow.equations.system.label}", switch)
