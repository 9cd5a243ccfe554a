r"""Functions that may prove a region: a quadratic form, and functions that decrease like an energy.

A quadratic form $V = (y - y_*)^T P (y - y_*)$ comes from $A^T P + P A = -Q$ for the linearised motion. Its rate is
$2 (y - y_*)^T P\,G\,(y - y_*)$ with a mean $G$ of the slopes $\partial g/\partial y$ between $y_*$ and $y$, so it is negative where the
symmetric part of $P\,\partial g/\partial y$ is negative definite. The rate of an energy is $v^T W v$ in the velocities $v$, with $W$ half a
mean of the second derivatives by $v$ between 0 and $v$; where these are negative definite it vanishes at rest only, and by LaSalle's
theorem all motions of a bounded sublevel set go to its states of rest, of which the equilibrium must be the only one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov
from sympy import Symbol

from chetaev.core.symbols import Jet
from chetaev.mechanics.ranks.exact import exactly_zero
from chetaev.numerics.attraction.enclosed import Array, Bounded, Box, Enclosed, around, hull, negative_definite
from chetaev.numerics.attraction.proof import covered, equilibrium_box, faces, one_zero_at_most
from chetaev.numerics.attraction.reduced_field import ReducedField
from chetaev.numerics.enclosures.ranges import Range

_ENTRY_DIGITS = 5
"""Decimal digits of the entries of a quadratic form. Its proof is about the rounded entries; more digits only make it longer to read."""
_SMALL_LEVELS = (0.01, 1e-3, 1e-4, 1e-6, 1e-8)
"""Fractions of a promising level that are tried after `_LEVELS` for a quadratic form, to prove at least a small neighbourhood."""
_RANDOM_DIRECTIONS = 300
"""Random directions in which a promising level is sought; with too few, the first levels tried fail and take time."""
_SIZES_PER_DIRECTION = 120
"""Sizes of states along each random direction, from the largest one to a ten thousandth of it; fewer find a smaller level."""
_LARGEST_LEVEL = 1e6
"""The largest promising level, relative to the ellipsoid of one typical size; without it a motion that decays everywhere would have
none."""
_LEVELS = (0.98, 0.8, 0.6, 0.4, 0.2, 0.1, 0.03)
"""Levels that are tried: parts of a promising level, or of the rise of an energy from the equilibrium to the faces of the box."""
_WIDENED = 1e-9
"""Relative: margin by which the box around an ellipsoid is widened, so that rounding errors of the box do not invalidate the proof."""
_BELOW_FACES = 1e-8
"""Relative: margin by which the largest level stays below the one that touches the faces of the given box; it exceeds `_WIDENED`."""
_SMALLEST_RADIUS = 1e-4
"""Smallest radius, relative to the largest, at which a promising level is sought along a direction."""


class NoProof(Exception):
    """Raised, with the reason, if a candidate proves no region."""


@dataclass(frozen=True)
class Setting:
    """The motion y' = g(y) with its equilibrium enclosed."""

    field: ReducedField

    @property
    def jets(self) -> tuple[Jet, ...]:
        """The independent jets."""
        return self.field.jets

    @cached_property
    def fixed(self) -> dict[Symbol, Range]:
        """The ranges of the parameters: the doubles and their neighbours."""
        return {z: around(float(v)) for z, v in self.field.parameters.items()}

    @cached_property
    def rates(self) -> Enclosed:
        """The rates over boxes."""
        return self.enclosed(list(self.field.rates))

    @cached_property
    def slopes(self) -> list[Any]:
        """The slopes of the rates, row by row."""
        return [slope for rate in self.field.rates for slope in self.field.graph.gradient(rate, self.jets)]

    @cached_property
    def equilibrium(self) -> Box:
        """A box with one equilibrium in it."""
        found = equilibrium_box(self.rates, self.enclosed(self.slopes), self.field.centre, self.field.units)
        if found is None:
            raise NoProof("no equilibrium is proved to lie here: its slopes are singular, or the state has too few correct digits")
        return found

    def enclosed(self, expressions: list[Any], more: dict[Symbol, Range] | None = None) -> Enclosed:
        """Expressions over boxes of the independent jets."""
        return Enclosed(self.field.graph, expressions, self.jets, self.fixed | (more or {}))

    def bounded(self, expression: Any, more: dict[Symbol, Range] | None = None) -> Bounded:
        """One expression over such boxes."""
        return Bounded(self.field.graph, expression, self.jets, self.fixed | (more or {}))


@dataclass(frozen=True)
class Proved:
    """A level of a function below which all motions go to the equilibrium."""

    level: float
    box: Box
    """A box that contains the region."""
    how: str


# -- a quadratic form


def quadratic_form(matrix: Array, units: Array) -> Array:
    """The matrix P for a linearised motion, rounded to a few digits; `NoProof` if it is not stable."""
    if np.linalg.eigvals(matrix).real.max(initial=-1.0) >= 0:
        raise NoProof("the linearised motion does not decay, so no quadratic form decreases")
    scaled = matrix / units[:, None] * units
    found = solve_continuous_lyapunov(scaled.T, -np.eye(len(units)))
    found = 0.5 * (found + found.T)
    rounded = np.array([[float(f"{v:.{_ENTRY_DIGITS}g}") for v in line] for line in found / np.outer(units, units)])
    if np.linalg.eigvalsh(rounded * np.outer(units, units))[0] <= 0:
        raise NoProof("the quadratic form of the linearised motion is not positive definite after rounding")
    return rounded


def prove_quadratic(setting: Setting, P: Array, limits: Box | None) -> Proved:
    """The largest level found of a quadratic form; `limits` is a box that the region must not leave."""
    graph, jets, n, units = setting.field.graph, setting.jets, len(P), setting.field.units
    names = {(i, j): Symbol(f"P{i}_{j}") for i in range(n) for j in range(i, n)}
    rests = [Symbol(f"equilibrium_{z.name}") for z in jets]
    fixed = {z: around(float(P[i, j])) for (i, j), z in names.items()}
    more = fixed | dict(zip(rests, setting.equilibrium, strict=True))
    form = [[graph.leaf(names[min(i, j), max(i, j)]) for j in range(n)] for i in range(n)]
    away = [graph.leaf(z) - graph.leaf(e) for z, e in zip(jets, rests, strict=True)]
    value = sum(form[i][j] * away[i] * away[j] for i in range(n) for j in range(n))
    rate = setting.bounded(setting.field.rate_of(value), more)
    slopes = [sum(form[i][k] * setting.slopes[k * n + j] for k in range(n)) for i in range(n) for j in range(n)]
    definite = setting.enclosed(slopes, fixed)
    of = setting.bounded(value, more)
    reach = np.sqrt(np.diag(np.linalg.inv(P)))

    def holds(box: Box) -> bool:
        found = rate(box, _is_negative)
        if found is not None and found[1] < 0:
            return True
        return negative_definite(definite(hull(box, setting.equilibrium)), n, units)

    def fails(y: Array) -> bool:
        here = [(v, v) for v in y.tolist()]
        low, now = of(here), rate(here)
        return low is not None and low[1] <= trial and now is not None and now[0] > 0

    def bounds(level: float) -> Box:
        widths = (1 + _WIDENED) * np.sqrt(level) * reach
        return tuple((e[0] - w, e[1] + w) for e, w in zip(setting.equilibrium, widths.tolist(), strict=True))

    most = np.inf
    if limits is not None:
        room = [min(e[0] - side[0], side[1] - e[1]) for e, side in zip(setting.equilibrium, limits, strict=True)]
        if min(room) <= 0:
            raise NoProof("the box does not contain the equilibrium")
        most = float(min((r / w) ** 2 for r, w in zip(room, reach.tolist(), strict=True))) * (1 - _BELOW_FACES)
    promising = _promising(setting, setting.field.rate_of(value), {z: 0.5 * (a + b) for z, (a, b) in more.items()}, P, most)
    for part in (*_LEVELS, *_SMALL_LEVELS):
        trial = part * promising
        if covered(bounds(trial), of, trial, holds, fails):
            level = _rounded_down(trial)
            return Proved(level, bounds(level), _STRICT)
    raise NoProof("the quadratic form of the linearised motion is not proved to decrease in any ellipsoid that was tried")


def _promising(setting: Setting, rate: Any, fixed: dict[Symbol, float], P: Array, most: float) -> float:
    """A level below which the rate is negative at random states: the first level to try. No proof depends on it."""
    values: dict[Symbol, float] = {**setting.field.parameters, **fixed}
    function = setting.field.graph.function("rate", [setting.field.graph.vector([*setting.jets, *values])], rate)
    ways = np.random.default_rng(7).normal(size=(len(P), _RANDOM_DIRECTIONS))
    ways /= np.sqrt(np.einsum("im,ij,jm->m", ways, P, ways))
    level = float(min(most, _LARGEST_LEVEL * np.min(setting.field.units**2 / np.diag(np.linalg.inv(P)))))
    radii = np.sqrt(level) * np.geomspace(1, _SMALLEST_RADIUS, _SIZES_PER_DIRECTION)[None, :]
    states = setting.field.centre[:, None, None] + ways[:, :, None] * radii[None]
    flat = states.reshape(len(P), -1)
    column = np.array([float(v) for v in values.values()])[:, None]
    found = np.asarray(function(np.vstack([flat, np.repeat(column, flat.shape[1], axis=1)]))).reshape(ways.shape[1], -1)
    wrong = ~(found < 0)
    return float(min(level, (radii[0] ** 2)[wrong.any(axis=0)].min(initial=np.inf)))


def _is_negative(side: Range) -> bool:
    return side[1] < 0


def _rounded_down(level: float) -> float:
    """A level with few digits, not above the proved one."""
    found = float(f"{level:.6g}")
    return found if found <= level else float(np.nextafter(level, 0.0))


# -- functions like an energy


def prove_energy(setting: Setting, value: Any, limits: Box) -> Proved:
    """The largest level tried of a function whose rate is negative except at rest, or except at the equilibrium."""
    field, graph = setting.field, setting.field.graph
    velocities = tuple(z for z in setting.jets if z.order)
    rate = field.rate_of(value)
    at_rest = _vanishes_at_rest(setting, rate, velocities)
    if not at_rest and not _vanishes_twice(setting, value):
        raise NoProof("its rate is not known to be a quadratic form in the velocities, nor to vanish with its slopes at the equilibrium")
    around_which = velocities if at_rest else setting.jets
    second = [s for w in around_which for s in graph.gradient(graph.gradient(rate, setting.jets)[setting.jets.index(w)], around_which)]
    definite, bounded, of = setting.enclosed(second), setting.bounded(rate), setting.bounded(value)
    units = field.units[[setting.jets.index(z) for z in around_which]]
    rest: Box = tuple((0.0, 0.0) if z in velocities else e for z, e in zip(setting.jets, setting.equilibrium, strict=True))

    def stretched(box: Box) -> Box:
        if not at_rest:
            return hull(box, setting.equilibrium)
        return tuple(hull([b], [(0.0, 0.0)])[0] if z in velocities else b for z, b in zip(setting.jets, box, strict=True))

    def holds(box: Box) -> bool:
        found = bounded(box, _is_negative)
        if found is not None and found[1] < 0:
            return True
        return negative_definite(definite(stretched(box)), len(around_which), units)

    def fails(y: Array) -> bool:
        here = [(v, v) for v in y.tolist()]
        low, now = of(here), bounded(here)
        return low is not None and low[1] <= level and now is not None and now[0] > 0

    if not all(side[0] < e[0] and e[1] < side[1] for e, side in zip(setting.equilibrium, limits, strict=True)):
        raise NoProof("the box does not contain the equilibrium")
    bottom, rim = of(setting.equilibrium), min(_least_on_faces(of, limits), _least_where_it_grows(of, bounded, limits))
    if bottom is None or not np.isfinite(rim) or rim <= bottom[1]:
        raise NoProof("it is not larger on the faces of the box than at the equilibrium")
    tops = (
        level
        for level in (bottom[1] + part * (rim - bottom[1]) for part in _LEVELS)
        if all(covered(face, of, level, lambda _: False) for face in faces(limits))
    )
    for level in tops:
        if covered(limits, of, level, holds, fails) and (not at_rest or _rests_once(setting, of, limits, level, velocities, rest)):
            return Proved(level, limits, _ENERGY if at_rest else _STRICT)
    raise NoProof("its rate is not proved to be negative in any of its sublevel sets that were tried")


_ENERGY = (
    "it does not grow, its rate vanishes at rest only, and the equilibrium is the only state of rest in the region (LaSalle's theorem); "
    "all by interval arithmetic with outward rounding, the form of the rate by exact zero tests"
)
_STRICT = "its rate is negative in the whole region except at the equilibrium, by interval arithmetic with outward rounding"


def _vanishes_at_rest(setting: Setting, rate: Any, velocities: tuple[Jet, ...]) -> bool:
    """Whether the rate and its slopes by the velocities are identically zero at rest, and velocities are rates of the other jets."""
    others = [z for z in setting.jets if z not in velocities]
    if not velocities or len(others) != len(velocities) or any(z.order or z.d() not in velocities for z in others):
        return False
    rest = [setting.field.at_zero(e, velocities) for e in (rate, *setting.field.graph.gradient(rate, velocities))]
    return bool(all(exactly_zero(rest, [], setting.field.graph) or [False]))


def _vanishes_twice(setting: Setting, value: Any) -> bool:
    """Whether the given state is an equilibrium exactly, and all slopes of the function vanish there."""
    import casadi as ca

    graph, centre = setting.field.graph, setting.field.centre
    found = [*graph.gradient(value, setting.jets), *setting.field.rates]
    there = [ca.substitute(e, graph.vector(setting.jets), ca.DM(centre.tolist())) for e in found]
    return bool(all(exactly_zero(there, [], graph) or [False]))


def _rests_once(setting: Setting, of: Bounded, limits: Box, level: float, velocities: tuple[Jet, ...], rest: Box) -> bool:
    """Whether the accelerations at rest vanish at the equilibrium only."""
    n = len(velocities)
    places = [z for z in setting.jets if z not in velocities]
    accelerations = [setting.field.rates[setting.jets.index(z)] for z in velocities]
    slopes = setting.enclosed([s for a in accelerations for s in setting.field.graph.gradient(a, places)])
    values = setting.enclosed(accelerations)
    still: Box = tuple((0.0, 0.0) if z in velocities else side for z, side in zip(setting.jets, limits, strict=True))

    def holds(box: Box) -> bool:
        found = values(box)
        if found is not None and any(low > 0 or high < 0 for low, high in found):
            return True
        return one_zero_at_most(slopes(hull(box, rest)), n)

    return covered(still, of, level, holds)


def _least_where_it_grows(of: Bounded, rate: Bounded, limits: Box) -> float:
    """Approximate minimum over states where the function grows, from random states; no proof depends on it."""
    low, high = (np.array([side[k] for side in limits]) for k in (0, 1))
    found = np.inf
    for point in np.random.default_rng(8).uniform(low, high, (_RANDOM_DIRECTIONS, len(limits))).tolist():
        here = [(v, v) for v in point]
        now, value = rate(here), of(here)
        if now is not None and value is not None and now[0] > 0:
            found = min(found, value[0])
    return float(found)


def _least_on_faces(of: Bounded, limits: Box) -> float:
    """Approximate minimum on the faces of a box, from points of a grid; no proof depends on it."""
    found = np.inf
    for face in faces(limits):
        axes = [np.linspace(low, high, 9 if high > low else 1) for low, high in face]
        for point in np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(face)).tolist():
            value = of([(v, v) for v in point])
            found = min(found, value[1] if value is not None else np.inf)
    return float(found)
