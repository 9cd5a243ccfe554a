"""Start curves of periodic orbits at a given orbit, at a Hopf point of equilibria, or at a period doubling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sympy import Symbol

from chetaev.core.errors import ParameterError, StateError, UsageError
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.state import State
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.orbits.arclength import FAMILY_SINGULAR_VALUE, VERTICAL, Array, null_space, plane, solved, tangent_at
from chetaev.orbits.closing.orbit import Orbit
from chetaev.orbits.closing.orbit_search import Search
from chetaev.orbits.flow import Flow, flow_of
from chetaev.orbits.invariants import invariants_of
from chetaev.orbits.orbit_curve import OrbitCurve
from chetaev.orbits.periodic import periodic
from chetaev.orbits.special_points import Found

_UNITS_OF_INTERVAL = 8.0
"""Number of units of the quantity `along` in the interval; a step is at most a fifth of a unit."""
_COUNTED_SINGULAR_VALUE = 10 * FAMILY_SINGULAR_VALUE
"""The singular value below which a family is counted: the orbit is closed to the error of the integrator only, and a family that is not
counted leaves a start without a curve through it."""
_FIRST_AMPLITUDES = (0.02, 0.05, 0.005)
"""Distances from an equilibrium, in units of the unknowns, at which the first orbit of a family is searched, in this order."""
_STEADY_MOTION = 1e-7
"""Largest part of the rates of a steady motion, relative to the rates, that is not along symmetries."""

Begun = tuple[OrbitCurve, Array, Array, bool]
"""A curve, a point of it, its direction there, and whether it is followed one way only."""


def orbits_along(
    equations: Equations,
    start: Any,
    along: Symbol,
    until: tuple[float, float],
    parameters: Mapping[str, Any],
    period: Any,
    t: float,
    inputs: Mapping[str, Any],
    tolerance: float,
    where: str,
) -> Begun:
    """The curve of periodic orbits through a start."""
    given = start.period if isinstance(start, Orbit) and period is None else period
    if given is None:
        raise UsageError(
            "no period is given.",
            where=where,
            hint=(SetArgument("period", 6.2), " or ", SetArgument("period", "2*pi/w"), "; or an orbit as the start"),
        )
    first: Any = start.start if isinstance(start, Orbit) else start
    orbit = periodic(equations, first, given, parameters, t=t, inputs=inputs, tolerance=tolerance)
    flow, _ = flow_of("continuation", equations, State(dict(orbit.start)), parameters, t, orbit.period, tolerance, inputs)
    jets = list(flow.run.jets)
    if isinstance(along, Jet) and along not in jets:
        raise ParameterError(f"{along.name} is not a jet of the state.", where=where, hint=" ".join(z.name for z in jets))
    curve = _curve(flow, flow.start, orbit.period, given, along, until, where)
    if orbit.amounts:
        names = [curve.invariants.names[k] for k in curve.search.displacement.numbers]
        curve = _relative(curve, np.array([orbit.amounts.get(name, 0.0) for name in names]))
    if not flow.autonomous:
        _require_repetition(curve, until)
    u = np.zeros(curve.size)
    curve = _keeping(curve, u)
    null = null_space(curve, u, _COUNTED_SINGULAR_VALUE)
    direction = null @ (null.T @ curve.along)
    if float(np.linalg.norm(direction)) < VERTICAL:
        direction = null[:, -1] if null.shape[1] else curve.along
    tangent = tangent_at(curve, u, direction / np.linalg.norm(direction))
    return curve, u, tangent, False


def _curve(flow: Flow, x: Array, span: float, given: Any, along: Symbol, until: tuple[float, float], where: str) -> OrbitCurve:
    jets, unit = list(flow.run.jets), (until[1] - until[0]) / _UNITS_OF_INTERVAL
    invariants, natural = invariants_of(flow), flow.sizes
    count = len(jets) + int(flow.autonomous)
    if along in jets:
        place, parameter, p0 = jets.index(along), None, 0.0
        sizes = flow.sizes.copy()
        sizes[place] = unit
        flow = replace(flow, sizes=sizes)
    else:
        place, parameter = count, along
        p0 = float(flow.p[flow.equations.system.parameters.index(along)])
    search = Search(flow, invariants)
    period = span if flow.autonomous else given
    return OrbitCurve(flow, search, invariants, parameter, x, p0, unit, place, span, period, 1, (), x, str(along.name), where, natural)


def _relative(curve: OrbitCurve, amounts: Array) -> OrbitCurve:
    """The curve of orbits that close up to symmetries with these amounts."""
    place = curve.place if curve.parameter is None else curve.place + len(amounts)
    return replace(curve, place=place, relative=tuple(map(float, amounts)))


def _keeping(curve: OrbitCurve, u: Array) -> OrbitCurve:
    """The curve with enough integrals kept that its family has one dimension; the energy, which comes first, is kept only if necessary.

    Integrals that symmetries change, such as the components of an angular momentum, are kept together: their values then also fix the
    directions of these symmetries.
    """
    for together in _together(curve, curve.state(u)):
        free = null_space(curve, u, _COUNTED_SINGULAR_VALUE).shape[1]
        if free <= 1:
            break
        values = curve.invariants.values(curve.flow, curve.state(u))
        tried = replace(curve, kept=(*curve.kept, *[(i, float(values[i])) for i in together]), seen={})
        if 1 <= null_space(tried, u, _COUNTED_SINGULAR_VALUE).shape[1] < free:
            curve = tried
    return curve


def _together(curve: OrbitCurve, x: Array) -> list[list[int]]:
    """Groups of indices of integrals in the order in which they are kept: those that symmetries change together, then the others, last
    first.
    """
    flow = curve.flow
    gradients = curve.invariants.gradients(flow, x) * flow.sizes
    vectors = curve.invariants.vectors(flow, x) / flow.sizes[:, None]
    sizes = np.linalg.norm(gradients, axis=1)[:, None] * np.linalg.norm(vectors, axis=0)
    changed = np.any(np.abs(gradients @ vectors) > _COUNTED_SINGULAR_VALUE * sizes, axis=1)
    single = [[i] for i in reversed(range(len(gradients))) if not changed[i]]
    both = [i for i in range(len(gradients)) if changed[i]]
    return [both, *single] if both else single


def _require_repetition(curve: OrbitCurve, until: tuple[float, float]) -> None:
    """Raise if the equations do not repeat after the period, at the start or at an end of the interval."""
    for value in (curve.p0, *until):
        u = np.zeros(curve.size)
        u[-1] = (value - curve.p0) / curve.unit
        try:
            flow, duration = curve.flow_at(u), curve.period(u)
        except (StateError, UsageError):
            continue
        flow.require_repetition(curve.origin, duration, f" at {curve.name} = {value:.6g}")


def orbits_from_hopf(
    found: Found, equations: Equations, inputs: Mapping[str, Any], until: tuple[float, float], tolerance: float, where: str
) -> Begun:
    """The curve of periodic orbits that begins at a Hopf point of equilibria."""
    rest, u = found.node.curve, found.node.u
    assert found.eigenvalue is not None  # noqa: S101 - a Hopf point has one
    x, problem = rest.state(u), rest.problem(u)
    values = {z.name: v for z, v in problem.binding.parameters.items()}
    duration = 2 * np.pi / abs(found.eigenvalue.imag)
    at = State(dict(zip(rest.names, map(float, x), strict=True)))
    flow, _ = flow_of("continuation", equations, at, values, problem.t, duration, tolerance, inputs)
    order = [rest.names.index(name) for name in flow.names]
    flow = replace(flow, sizes=rest.sizes[order])
    matrix, tangent = rest.matrix(u)
    eigenvalues, vectors = np.linalg.eig(matrix)
    v = tangent @ vectors[:, np.argmin(np.abs(eigenvalues - found.eigenvalue))]
    v = v[order] / flow.sizes
    v = v * np.exp(-0.5j * np.angle(np.sum(v**2)))  # now real and imaginary part are orthogonal, and the real part is the longer one
    across = v.real / np.linalg.norm(v.real)
    along = rest.parameter if rest.parameter is not None else flow.run.jets[flow.names.index(rest.name)]
    base = _curve(flow, x[order], duration, duration, along, until, where)
    if not rest.at_rest:
        base = _relative(base, duration * _speeds(base, where))
    for amplitude in _FIRST_AMPLITUDES:
        guess = np.zeros(base.size)
        guess[: len(x)] = amplitude * across
        reached = replace(base, reference=flow.settled(base.state(guess)))
        reached = _keeping(reached, guess)
        normal = np.zeros(base.size)
        normal[: len(x)] = across
        try:
            point = solved(reached, guess, plane(normal, guess))
        except StateError:
            continue
        reached = reached.renewed(point)
        return reached, point, tangent_at(reached, point, normal), True
    raise StateError(f"no periodic orbit was found near the Hopf point {rest.name} = {found.node.value:.6g}.", where=where)


def _speeds(curve: OrbitCurve, where: str) -> Array:
    """The velocities of the symmetries that carry the state of a steady motion."""
    flow, x = curve.flow, curve.origin
    rates = flow.rates(x) / flow.sizes
    along = curve.search.displacement.slopes(x, np.zeros(len(curve.search.displacement))) / flow.sizes[:, None]
    found: Array = np.asarray(np.linalg.lstsq(along, rates, rcond=None)[0], dtype=float)
    if float(np.abs(along @ found - rates).max()) > _STEADY_MOTION * float(np.abs(rates).max()):
        raise StateError(
            "the motions around this steady motion are not periodic up to a known symmetry.",
            where=where,
            why="No affine symmetries were found that carry the steady motion along.",
            hint=(
                Ask("transforms.symmetries"),
                " lists those found; in coordinates of the moving frame the steady motion is an equilibrium",
            ),
        )
    return found


def orbits_from_doubling(found: Found) -> Begun:
    """The curve of orbits of twice the period that begins at a period doubling."""
    curve, u = found.node.curve, found.node.u
    matrix, basis = curve.monodromy(u)
    _, _, vt = np.linalg.svd(matrix + np.eye(len(matrix)))
    across = basis @ vt[-1]
    twice = replace(curve, span=2 * curve.span, times=2 * curve.times, seen={})
    normal = np.zeros(curve.size)
    normal[: len(across)] = across / np.linalg.norm(across)
    for amplitude in _FIRST_AMPLITUDES:
        guess = u + amplitude * normal
        reached = twice.renewed(guess)
        try:
            point = solved(reached, guess, plane(normal, guess))
        except StateError:
            continue
        away = point - u
        if float(np.linalg.norm(away[: len(across)])) > 0.5 * amplitude:
            reached = reached.renewed(point)
            return reached, point, tangent_at(reached, point, normal), True
    raise StateError(f"no orbit of twice the period was found near {curve.name} = {found.node.value:.6g}.", where=curve.where)
