r"""Impacts: the jumps of velocities where contacts close.

The equations of a configuration with closed contacts are integrated over an instant. With impulses $\Lambda$ in place of multipliers,

$$ p(q, v^+) - p(q, v^-) = \sum_a \Lambda_a \Bigl(R^a + \frac{\partial u}{\partial \lambda_a}\Bigr), \qquad
   R_K(q, v^+) = 0, \qquad s_k'(v^+) = -e_k\, s_k'(v^-) $$

for every contact $k$ that takes part, with $\Lambda_k \ge 0$; a contact that is touched and takes no part has
$s_j'(v^+) \ge -e_j\,s_j'(v^-)$ (Newton's law in the form of C. Glocker and F. Pfeiffer, Multibody Dynamics with Unilateral Contacts, Wiley
1996). Forces by multipliers give impulses of the same form: friction opposes the velocity after the impact, or holds it at zero (J. J.
Moreau's law). All choices of contacts, and of the modes of such forces, are tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product

import casadi as ca
import numpy as np
from sympy import Expr, S, Symbol

from chetaev.core.symbols import Coordinate, Input, Jet, Multiplier, jets_in
from chetaev.mechanics.assemble import right_hand_side
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import least_norm
from chetaev.numerics.corners.mode import SLIDING, Configuration, Touch
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.corners.multiplier_modes import tilt_of
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.smooth_pieces.momentum_jumps import Refused
from chetaev.numerics.smooth_pieces.piece import Setting
from chetaev.numerics.smooth_pieces.switching import Surfaces

_MOST_CONTACTS = 6
"""Most contacts and modes of friction in one impact of which all choices are tried; each further one doubles or trebles the choices."""
_ITERATIONS = 30
"""Most Newton iterations. One is enough for momenta that are linear in the velocities."""
_LAST_CORRECTION = 1e-13
"""Newton correction, relative to the velocities, that ends the iteration."""
_NEGLIGIBLE_SPEED = 1e-11
"""Speed or impulse, relative to those of the impact, below which it counts as zero."""
_SMALLEST_VELOCITY = 1e-6
"""Smallest size of a velocity, relative to the largest, with which residuals of rows are compared; the terms of a row such as y' = 0 would
vanish themselves."""
_SAME_IMPACT = 1e-9
"""Difference of two choices, relative to the velocities, below which they are the same impact."""


@dataclass(frozen=True)
class Impact:
    """The state after an impact, and the speed with which each touched gap opens."""

    jets: Mapping[Jet, float]
    speeds: Mapping[int, float]
    choice: Configuration
    """The contacts that take part, and the modes of friction."""


def impact(
    surfaces: Surfaces, here: Setting, touched: Sequence[int], bounce: Mapping[int, float], t: float, jets: Mapping[Jet, float]
) -> Impact:
    """Return the state after an impact of the contacts `touched` with coefficients of restitution `bounce`; raise `Refused` if no choice of
    contacts fits, or if several do.
    """
    switched = surfaces.switched
    rubbing = _rubbing(switched, here.configuration, touched)
    if len(touched) + len(rubbing) > _MOST_CONTACTS:
        raise Refused(
            f"{len(touched)} contacts and {len(rubbing)} modes of friction take part in one impact; at most {_MOST_CONTACTS} are tried."
        )
    idle = tuple(  # a bounded force has no impulse
        1 if m == SLIDING and k not in (*rubbing, *switched.contacts) else m for k, m in enumerate(here.configuration)
    )
    options = [*[(SLIDING, 1)] * len(touched), *[(1, -1) if k in switched.implicit_modes else (1, -1, SLIDING) for k in rubbing]]
    found: list[Impact] = []
    for values in product(*options):
        chosen = dict(zip((*touched, *rubbing), values, strict=True))
        configuration = tuple(chosen.get(k, m) for k, m in enumerate(idle))
        tried = _ImpactOfChoice(surfaces, configuration, touched, rubbing, bounce, t, jets).result()
        if tried is not None and not any(_alike(tried, other, jets) for other in found):
            found.append(tried)
    if not found:
        raise Refused("no impulses of the contacts agree with the coefficients of restitution.")
    if len(found) > 1:
        raise Refused("several impulses of the contacts agree with the coefficients of restitution.")
    return found[0]


def impact_of_choice(
    surfaces: Surfaces, choice: Configuration, touched: Sequence[int], bounce: Mapping[int, float], t: float, jets: Mapping[Jet, float]
) -> Mapping[Jet, float]:
    """Return the state after an impact with a known choice of contacts and modes; raise `Refused` if there is none.

    Signs are not checked, so that the map from the state before is smooth also where another choice would follow.
    """
    blow = _ImpactOfChoice(surfaces, choice, touched, _rubbing(surfaces.switched, choice, touched), bounce, t, jets)
    solved = blow.solved()
    if solved is None:
        raise Refused("no impulses of the contacts agree with the coefficients of restitution.")
    return {**jets, **dict(zip(blow.velocities, map(float, solved[0]), strict=True))}


def _rubbing(switched: Switched, configuration: Configuration, touched: Sequence[int]) -> list[int]:
    """The modes on which the forces of multipliers depend while the touched contacts are closed."""
    if not switched.original.system.multipliers_in_forces:
        return []
    closed = tuple(SLIDING if k in touched else m or 1 for k, m in enumerate(configuration))
    equations = switched.base(closed)
    forces = equations.system.forces.values()
    inside = {z for u in forces for m in jets_in(u, Multiplier) for z in u.diff(m).free_symbols}
    return [k for k, mode in enumerate(switched.modes) if mode.symbol in inside and not isinstance(mode, Touch)]


def _called(function: ca.Function, values: Array, v: Array) -> Array:
    return np.array(function(v, values))


def _alike(a: Impact, b: Impact, before: Mapping[Jet, float]) -> bool:
    """Whether two choices lead to the same velocities, compared with those before as well, because an impact may end in rest."""
    size = max((abs(one[z]) for one in (a.jets, b.jets, before) for z in a.jets if z.order), default=0.0)
    return all(abs(v - b.jets[z]) <= _SAME_IMPACT * size for z, v in a.jets.items())


@dataclass(frozen=True)
class _Laws:
    """The laws of an impact in one configuration, as functions of the velocities and of the values of other symbols."""

    equations: Equations
    velocities: tuple[Jet, ...]
    multipliers: tuple[Multiplier, ...]
    sliding: tuple[int, ...]
    """The modes of friction that are functions of velocities."""
    parts: tuple[int, ...]
    """The ends of momenta, rows and gaps in the column of rates; functions of friction follow."""
    others: tuple[Symbol, ...]
    rates: ca.Function
    slopes: ca.Function
    """The derivatives of the rates by the velocities."""
    acting: ca.Function
    """The directions of impulses, those of one multiplier after the other."""


@lru_cache(maxsize=64)
def _laws(switched: Switched, configuration: Configuration, touched: tuple[int, ...], rubbing: tuple[int, ...]) -> _Laws:
    """Momenta, rows, rates of gaps and of functions of friction; and the directions of impulses."""
    equations = switched.equations(configuration)
    graph, total, system = GraphAlgebra(), equations.total, equations.system
    velocities, multipliers = tuple(q.d() for q in system.coordinates), tuple(equations.lowered.reactions)

    def of(e: Expr) -> ca.SX:
        return graph.of(system.charted(e))

    momenta = graph.gradient(of(equations.lowered.lagrangian), velocities)
    stated = [row.residual for row in system.kinematic]
    rows = [of(e if any(z.order for z in jets_in(e, Coordinate)) else total(e)) for e in stated]
    gaps = [of(total(switched.modes[k].function)) for k in touched]
    sliding = tuple(k for k in rubbing if k not in switched.implicit_modes)
    slips = [of(switched.driven(switched.modes[k].function, configuration)) for k in sliding]
    column = graph.numeric(ca.vertcat(*momenta, *rows, *gaps, *slips, ca.SX(0)))
    forces = [right_hand_side(equations.lowered, q) for q in system.coordinates]
    entries = [u.diff(m) for m in multipliers for u in forces]
    if any(jets_in(e, Multiplier) for e in entries):
        raise Refused("a force is not linear in the multipliers, and its impulse is not known.")
    if any(e.free_symbols & {*velocities} for e in entries):
        raise Refused("a force by a multiplier depends on velocities, and its impulse is not known.")
    acting = graph.numeric(ca.vertcat(*[of(e) for e in entries], ca.SX(0)))
    others = tuple(sorted(graph.symbols(ca.vertcat(column, acting)) - {*velocities}, key=lambda z: str(z.name)))
    v = graph.vector(velocities)
    arguments = [v, graph.vector(others)]
    rates = ca.Function("rates", arguments, [ca.densify(column)])
    slopes = ca.Function("slopes", arguments, [ca.densify(ca.jacobian(column, v))])
    parts = tuple(map(int, np.cumsum([len(momenta), len(rows), len(gaps)])))
    directions = ca.Function("acting", arguments, [ca.densify(acting)])
    return _Laws(equations, velocities, multipliers, sliding, parts, others, rates, slopes, directions)


class _ImpactOfChoice:
    """One choice of the contacts that take part, and of the modes of friction."""

    def __init__(
        self,
        surfaces: Surfaces,
        configuration: Configuration,
        touched: Sequence[int],
        rubbing: Sequence[int],
        bounce: Mapping[int, float],
        t: float,
        jets: Mapping[Jet, float],
    ) -> None:
        self.surfaces, self.switched, self.configuration = surfaces, surfaces.switched, configuration
        self.touched, self.rubbing, self.bounce, self.t, self.jets = touched, rubbing, bounce, t, jets
        laws = _laws(self.switched, configuration, tuple(touched), tuple(rubbing))
        self.system, self.velocities, self.multipliers = laws.equations.system, laws.velocities, laws.multipliers
        self.sliding, self.parts = laws.sliding, laws.parts
        if not set(self.velocities) <= jets.keys():
            raise Refused("not every velocity is an initial value.")
        self.before = np.array([jets[z] for z in self.velocities])
        values = self._values(laws.others)
        self.rates, self.slopes = partial(_called, laws.rates, values), partial(_called, laws.slopes, values)
        found = np.array(laws.acting(self.before, values)).ravel()[:-1]
        self.directions = found.reshape(len(self.multipliers), len(self.velocities))

    def _values(self, symbols: Sequence[Symbol]) -> Array:
        """Values of symbols at the state: jets, parameters with modes, inputs, time."""
        bound = self.switched.binding(self.surfaces.binding, self.configuration)
        given = bound.at(frozenset(z for z in symbols if not isinstance(z, Jet) or isinstance(z, Input)), self.t)
        return np.array([self.jets[z] if z in self.jets else given[z] for z in symbols], dtype=float)

    @property
    def taking_part(self) -> list[int]:
        """The touched contacts that give an impulse."""
        return [k for k in self.touched if self.configuration[k] == SLIDING]

    def result(self) -> Impact | None:
        """The state after the impact if this choice is consistent, else None."""
        solved = self.solved()
        if solved is None:
            return None
        v, impulses = solved
        after = self.rates(v).ravel()
        before = self.rates(self.before).ravel()
        _, m, g = self.parts
        gaps, were, slips = after[m:g], before[m:g], after[g:-1]
        speed = np.abs(were).max(initial=0.0)
        for k, now, was in zip(self.touched, gaps, were, strict=True):
            if self.configuration[k] != SLIDING and now < -self.bounce[k] * was - _NEGLIGIBLE_SPEED * speed:
                return None
        if not self._pushes(impulses) or not self._rubs(impulses, slips, float(np.abs(before[g:-1]).max(initial=0.0))):
            return None
        jets = {**self.jets, **dict(zip(self.velocities, map(float, v), strict=True))}
        return Impact(
            jets,
            {k: float(now) if now > _NEGLIGIBLE_SPEED * speed else 0.0 for k, now in zip(self.touched, gaps, strict=True)},
            self.configuration,
        )

    def _pushes(self, impulses: Array) -> bool:
        """Whether no contact pulls, and multipliers whose signs are modes have these signs."""
        by = dict(zip(self.multipliers, impulses, strict=True))
        size = np.abs(impulses).max(initial=0.0)
        if any(by[self.switched.modes[k].unknown] < -_NEGLIGIBLE_SPEED * size for k in self.taking_part):
            return False
        signs = [k for k in self.rubbing if k in self.switched.implicit_modes]
        return all(self._number(self.switched.modes[k].function, by) * self.configuration[k] >= -_NEGLIGIBLE_SPEED * size for k in signs)

    def _rubs(self, impulses: Array, slips: Array, before: float) -> bool:
        """Whether friction opposes the velocity after the impact, or holds it with no more than its limit."""
        by = dict(zip(self.multipliers, impulses, strict=True))
        for k, slip in zip(self.sliding, slips, strict=True):
            m, mode = self.configuration[k], self.switched.modes[k]
            if m != SLIDING and m * slip < -_NEGLIGIBLE_SPEED * max(before, np.abs(slips).max()):
                return False
            if m == SLIDING:
                tilt = tilt_of(self.switched.base(self.configuration), mode.symbol)
                if tilt is None:
                    raise Refused(f"the impulse that keeps {mode.text} = 0 is not known.")
                limit = abs(self._number(tilt.size, by))
                if abs(by[mode.unknown]) > limit * (1 + _NEGLIGIBLE_SPEED) + _NEGLIGIBLE_SPEED * np.abs(impulses).max(initial=0.0):
                    return False
        return True

    def _number(self, e: Expr, impulses: Mapping[Multiplier, float]) -> float:
        """An expression that is homogeneous in the multipliers, with impulses in their place."""
        others = [z for z in e.free_symbols if z not in impulses]
        values = dict(zip(others, map(float, self._values(others)), strict=True))
        return float(e.xreplace({**{z: S(float(v)) for z, v in impulses.items()}, **{z: S(v) for z, v in values.items()}}))

    def solved(self) -> tuple[Array, Array] | None:
        """Velocities and impulses, by Newton's iteration; None if it does not converge."""
        n, m, g = self.parts
        before = self.rates(self.before).ravel()
        target = np.zeros(m - n)
        names = [row.name for row in self.system.kinematic]
        for k, was in zip(self.touched, before[m:g], strict=True):
            mode = self.switched.modes[k]
            assert isinstance(mode, Touch)  # noqa: S101 - touched contacts
            if self.configuration[k] == SLIDING:
                target[names.index(mode.contact.name)] = -self.bounce[k] * min(was, 0.0)
        v, c = self.before.copy(), len(self.multipliers)
        impulses = np.zeros(c)
        for _ in range(_ITERATIONS):
            now, slopes = self.rates(v).ravel(), self.slopes(v)
            left = np.concatenate([now[:n] - before[:n] - impulses @ self.directions, now[n:m] - target])
            bordered = np.block([[slopes[:n], -self.directions.T], [slopes[n:m], np.zeros((m - n, c))]])
            if not np.isfinite(left).all() or not np.isfinite(bordered).all():
                return None
            step = least_norm(bordered, -left)[0]
            v, impulses = v + step[: len(v)], impulses + step[len(v) :]
            if np.abs(step[: len(v)]).max() <= _LAST_CORRECTION * max(np.abs(v).max(), np.abs(self.before).max()):
                return (v, impulses) if self._holds(v, impulses, before, target) else None
        return None

    def _holds(self, v: Array, impulses: Array, before: Array, target: Array) -> bool:
        """Whether the balances of momenta and the rows hold, relative to their terms."""
        n, m, _ = self.parts
        now, slopes = self.rates(v).ravel(), np.abs(self.slopes(v))
        left = np.concatenate([now[:n] - before[:n] - impulses @ self.directions, now[n:m] - target])
        speeds = np.abs(v) + np.abs(self.before)
        terms = slopes[:m] @ np.maximum(speeds, _SMALLEST_VELOCITY * speeds.max())
        terms[:n] += np.abs(impulses) @ np.abs(self.directions)
        return bool(np.all(np.abs(left) <= _SAME_IMPACT * np.maximum(terms, np.finfo(float).tiny)))
