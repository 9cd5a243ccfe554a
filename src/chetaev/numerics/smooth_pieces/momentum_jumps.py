r"""The motion across a jump of the Lagrangian: the limit of steeper and steeper smooth steps.

Across a surface $g(q, t) = 0$ let a mode $\sigma$ of $L$ go from the value of one side to that of the other. In a thin layer the force
$L_\sigma\,\sigma'(g)\,g_q$ along the normal dominates, so that

$$ p(\sigma) = p_- + \mu\,g_q + \nu_a R^a, \qquad E(\sigma) = E_- - \mu\,g_t + \nu_a\,R^a v, $$

where $\nu$ are the impulses of constraints, which hold throughout. Momenta along the surface are conserved, and so is the energy in the
frame of the surface. The motion is followed through the layer. It crosses if it reaches the other side; if its velocity towards the surface
vanishes before, the step is too high and the motion is reflected, with the other root of the same equations on its own side. Where $g$
depends on time alone, all momenta are conserved and the energy is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import casadi as ca
import numpy as np
from sympy import Add, Expr, Integer, Rational, S, Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.symbols import TIME, Coordinate, Input, Jet, Parameter, jets_in, moved_by
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.factored import least_norm
from chetaev.numerics.corners.corners import divisible
from chetaev.numerics.corners.mode import Configuration, Mode
from chetaev.numerics.corners.modes import Switched
from chetaev.numerics.flow.compiled import Array
from chetaev.numerics.graphs.algebra import GraphAlgebra
from chetaev.numerics.smooth_pieces.piece import Setting

_FIRST_STEP = 0.125
"""First change of the mode, which goes from 1 to -1 through the layer."""
_SHORTEST_STEP = 1e-7
"""Shortest change of the mode: a shorter one means that the velocity towards the surface vanishes and the motion turns back. It is also the
relative excess of energy over the height of the step that can just be distinguished from none.
"""
_MOST_ITERATIONS, _SLOW_ITERATIONS = 30, 6
"""Most Newton iterations, and the number after which every correction has to be half the previous one."""
_LAST_CORRECTION = 1e-13
"""Relative to the velocities: a Newton correction of this size ends the iteration."""
_SAME_BALANCE = 1e-9
"""Difference, relative to their terms, of numbers that would be equal without rounding: reactions and slopes of constraints, and both sides
of the balances of momenta and energy."""

_MOST_SURFACES = 3
"""Most surfaces that are crossed at the same moment; all orders of them are tried."""

_Between = Mapping[Input, Expr]
"""Expressions for inputs inside the layer, which go from one value to the other with the mode."""


@dataclass(frozen=True)
class Jump:
    """The state beyond a surface, or reflected from it."""

    crosses: bool
    jets: Mapping[Jet, float]
    gained: float
    """The energy that the moving surface and moving constraints gave."""


class Refused(Exception):
    """Raised, with the reason, if no rule determines the state after a jump or an impact."""


def has_jump(switched: Switched, mode: Mode) -> bool:
    """Tell whether the Lagrangian, or a momentum, may differ on the two sides of a surface; not if the difference is a multiple of g.

    If g depends on time alone, only the momenta matter: they are continuous, and determine the velocities on the other side.
    """
    lagrangian = _driven(switched)
    if mode.symbol not in lagrangian.free_symbols:
        return False
    difference = lagrangian.xreplace({mode.symbol: S.One}) - lagrangian.xreplace({mode.symbol: S.NegativeOne})
    timed = not moved_by(mode.function) and not jets_in(mode.function) - jets_in(mode.function, Input)
    if not timed and not divisible(difference, mode.function):
        return True
    moving = any(z.order for z in jets_in(mode.function, Coordinate))
    if not timed and not moving and all(z.order < 2 for z in jets_in(difference, Coordinate)):
        return False  # momenta have no derivatives of g
    return any(not divisible(p, mode.function) for p in _momenta(switched.smooth, difference))


def _momenta(equations: Equations, difference: Expr) -> Iterator[Expr]:
    r"""Ostrogradsky's momenta $p_k = \sum_j (-1)^j D^j \partial L/\partial q^{(k+j)}$ of a difference of Lagrangians."""
    moving = sorted((z for z in jets_in(difference, Coordinate) if z.order), key=lambda z: (str(z.base), z.order))
    for z in {z.base: z for z in moving}.values():  # the highest jet of each coordinate
        for k in range(1, z.order + 1):
            terms = ((w, w.order - k) for w in moving if w.base == z.base and w.order >= k)
            yield Add(*[(-1) ** j * equations.total(difference.diff(w), j) for w, j in terms])


def _driven(switched: Switched) -> Expr:
    """The Lagrangian with inputs that have corners written out."""
    lagrangian = switched.smooth.lowered.lagrangian
    modes = {mode.symbol for mode in switched.modes}
    driven = [z for z in jets_in(lagrangian, Input) if switched.inputs[z.base].free_symbols & modes]
    return lagrangian.xreplace({z: total_derivative(switched.inputs[z.base], z.order) for z in driven})


def across(switched: Switched, here: Setting, k: int, t: float, jets: Mapping[Jet, float]) -> Jump:
    """Return the state after the surface of a mode with which the Lagrangian jumps; raise `Refused` if it is not determined."""
    layer = _Layer.of(switched, here, switched.modes[k], t, jets)
    through = layer.followed()
    found = layer.sent_back() if through is None else through
    velocities = dict(zip(layer.velocities, map(float, found[: len(layer.velocities)]), strict=True))
    kept = {z: velocities.get(z, v) for z, v in jets.items()}
    return Jump(through is not None, kept, layer.gained(found))


def across_together(
    switched: Switched,
    setting: Callable[[Configuration], Setting],
    here: Setting,
    places: Sequence[int],
    t: float,
    jets: Mapping[Jet, float],
) -> Jump:
    """Return the state after several surfaces that are met at the same moment; raise `Refused` if it is not determined.

    Neighbouring motions meet them one after another, in any order. If a motion crosses all of them in every order, with the same
    velocities, these are the limit.
    """
    if len(places) > _MOST_SURFACES:
        raise Refused("several other switching functions vanish at the same moment, and the Lagrangian jumps.")
    found: list[Jump] = []
    for order in permutations(places):
        state, side, gained = jets, here, 0.0
        for k in order:
            jump = across(switched, side, k, t, state)
            if not jump.crosses:
                raise Refused("another switching function vanishes at the same moment, and the Lagrangian jumps by more than the energy.")
            state, gained = jump.jets, gained + jump.gained
            side = setting(tuple(-m if j == k else m for j, m in enumerate(side.configuration)))
        found.append(Jump(True, state, gained))
    size = max(abs(v) for z, v in found[0].jets.items() if z.order)
    if any(abs(other.jets[z] - v) > _SAME_BALANCE * size for other in found[1:] for z, v in found[0].jets.items() if z.order):
        raise Refused("another switching function vanishes at the same moment, and the order of both decides how the momenta jump.")
    return found[0]


def across_inputs(
    switched: Switched, here: Setting, changes: Mapping[Input, tuple[float, float]], t: float, jets: Mapping[Jet, float]
) -> Mapping[Jet, float]:
    """Return the state after inputs, or derivatives of them, have jumped from one value to another; raise `Refused` if it is not
    determined.

    All momenta are continuous, as they are across the surface $t = t_0$ of a mode. Forces that jump change no velocity.
    """
    lagrangian = _driven(switched)
    jumping = {z: pair for z, pair in changes.items() if z in lagrangian.free_symbols}
    if not any(p.free_symbols & set(jumping) for p in _momenta(switched.smooth, lagrangian)):
        return jets
    text = " ".join(sorted(str(z) for z in jumping))
    mode = Mode(Parameter(f"side of {text}"), TIME - Rational(t), text)
    between = {z: Rational((a + b) / 2) + mode.symbol * Rational((b - a) / 2) for z, (a, b) in jumping.items()}
    layer = _Layer.of(switched, here, mode, t, jets, between)
    found = layer.followed()
    assert found is not None  # noqa: S101 - a surface that depends on time alone reflects nothing
    return {**jets, **dict(zip(layer.velocities, map(float, found[: len(layer.velocities)]), strict=True))}


@dataclass(frozen=True)
class _Layer:
    """The equations inside the layer, for unknowns (velocities, mu, nu) and a mode between 1 and -1."""

    velocities: tuple[Jet, ...]
    v: Array
    """The velocities before."""
    m: float
    """The mode before."""
    rates: ca.Function
    """(v, mode) -> momenta, energy, dg/dt, constraints."""
    slopes: ca.Function
    """Their derivatives by the velocities."""
    normal: Array
    drift: float
    """The rate of g at rest."""
    reactions: Array
    powers: Array
    """The energy gained by a unit impulse of each constraint."""

    @staticmethod
    def of(switched: Switched, here: Setting, mode: Mode, t: float, jets: Mapping[Jet, float], between: _Between | None = None) -> _Layer:
        equations = switched.smooth
        lowered = equations.lowered
        system = lowered.system
        velocities = tuple(q.d() for q in system.coordinates)
        _require_rule(equations, mode, jets, between or {})
        known = {other.symbol: Integer(m) for other, m in zip(switched.modes, here.configuration, strict=True) if other is not mode}
        graph = GraphAlgebra()

        def of(e: Expr) -> ca.SX:
            return graph.of(system.charted(e.xreplace(known)))

        stated = [row.residual for row in system.kinematic]
        rows = [of(e if any(z.order for z in jets_in(e, Coordinate)) else equations.total(e)) for e in stated]
        lagrangian = of(_driven(switched).xreplace(between or {}))
        momenta = graph.gradient(lagrangian, velocities)
        energy = sum((graph.of(z) * p for z, p in zip(velocities, momenta, strict=True)), ca.SX(0)) - lagrangian
        column = graph.numeric(ca.vertcat(*momenta, energy, of(equations.total(mode.function)), *rows))
        entries = [of(row.get(q, S.Zero)) for row in lowered.reactions.values() for q in system.coordinates]
        acting = graph.numeric(ca.vertcat(*entries, ca.SX(0)))
        others = sorted(graph.symbols(ca.vertcat(column, acting)) - {*velocities, mode.symbol}, key=lambda z: str(z.name))
        values, n = _values(here, others, t, jets), len(velocities)
        arguments = [graph.vector(velocities), graph.of(mode.symbol)]
        column, acting = ca.substitute([column, acting], [graph.vector(others)], [ca.SX(values)]) if others else (column, acting)
        rates = ca.Function("layer", arguments, [ca.densify(column)])
        slopes = ca.Function("slopes", arguments, [ca.densify(ca.jacobian(column, arguments[0]))])
        v = np.array([jets[z] for z in velocities])
        m = -1.0 if between else float(here.configuration[switched.modes.index(mode)])
        reactions = (
            np.array(ca.Function("reactions", arguments, [ca.densify(acting)])(v, m)).ravel()[:-1].reshape(len(lowered.reactions), n)
        )
        gradients = np.array(slopes(v, m))
        normal, stated_slopes = gradients[n + 1], gradients[n + 2 :]
        size = np.abs(stated_slopes).max(initial=0.0)
        if reactions.shape != stated_slopes.shape or not np.allclose(
            reactions, stated_slopes, rtol=_SAME_BALANCE, atol=_SAME_BALANCE * size
        ):
            raise Refused("the Lagrangian jumps there, and the reactions are not those of d'Alembert's principle.")
        drift = float(np.array(rates(v, m)).ravel()[n + 1] - normal @ v)
        return _Layer(velocities, v, m, rates, slopes, normal, drift, reactions, reactions @ v)

    @cached_property
    def rates_before(self) -> Array:
        """The values of `rates` before the layer."""
        return np.array(self.rates(self.v, self.m)).ravel()

    @property
    def before(self) -> Array:
        """The unknowns before the layer."""
        return np.concatenate([self.v, np.zeros(1 + len(self.reactions))])

    def gained(self, found: Array) -> float:
        """The energy given by the moving surface and by moving constraints."""
        n = len(self.v)
        return float(-found[n] * self.drift + found[n + 1 :] @ self.powers)

    def speed(self, found: Array) -> float:
        """Return the rate of g."""
        return float(self.normal @ found[: len(self.v)]) + self.drift

    def followed(self) -> Array | None:
        """The unknowns on the other side, or None if the motion turns back before."""
        mode, step, found, toward = self.m, _FIRST_STEP, self.before, self.speed(self.before)
        while mode * self.m > -1.0:
            step = min(step, mode * self.m + 1.0)
            there = self._solved(found, mode - self.m * step)
            if there is not None and self.speed(there) * toward > 0:
                found, mode, step = there, mode - self.m * step, 2 * step
                continue
            step /= 2
            if step < _SHORTEST_STEP:
                if not np.any(self.normal):
                    raise Refused("the Lagrangian jumps there, and no velocities on the other side have the same momenta.")
                return None
        return found

    def sent_back(self) -> Array:
        """The unknowns on the same side with the velocity normal to the surface reversed, in the frame of the surface."""
        n, c = len(self.v), len(self.reactions)
        masses = np.array(self.slopes(self.v, self.m))[:n]
        bordered = np.block([[masses, -self.reactions.T], [self.reactions, np.zeros((c, c))]])
        kick = least_norm(bordered, np.concatenate([self.normal, np.zeros(c)]))[0]
        size = -2 * self.speed(self.before) / float(self.normal @ kick[:n])
        guess = np.concatenate([self.v + size * kick[:n], [size], size * kick[n:]])
        found = self._solved(guess, self.m)
        if found is None or not self.speed(found) * self.speed(self.before) < 0:
            raise Refused("the Lagrangian jumps there by more than the energy of the motion, and no motion leads back.")
        return found

    def _solved(self, guess: Array, mode: float) -> Array | None:
        """Newton's iteration for the unknowns at a value of the mode; None if it does not converge."""
        found, n, last = guess.copy(), len(self.v), np.inf
        for k in range(_MOST_ITERATIONS):
            left, slopes = self._residual(found, mode), self._slopes(found, mode)
            if not np.isfinite(left).all() or not np.isfinite(slopes).all():
                return None
            step = least_norm(slopes, -left)[0]
            found = found + step
            size = float(np.abs(step[:n]).max())
            if size <= _LAST_CORRECTION * np.abs(found[:n]).max():
                return found if self._holds(found, mode) else None
            if k >= _SLOW_ITERATIONS and size > 0.5 * last:  # without a solution the iteration does not converge
                return None
            last = size
        return None

    def _holds(self, unknown: Array, mode: float) -> bool:
        """Whether the balances of momenta and energy and the constraints hold, relative to their terms."""
        terms = np.abs(self._slopes(unknown, mode)) @ np.abs(unknown)
        terms[len(self.v)] += abs(self.rates_before[len(self.v)])
        return bool(np.all(np.abs(self._residual(unknown, mode)) <= _SAME_BALANCE * terms))

    def _residual(self, unknown: Array, mode: float) -> Array:
        n = len(self.v)
        before, now = self.rates_before, np.array(self.rates(unknown[:n], mode)).ravel()
        momenta = now[:n] - before[:n] - unknown[n] * self.normal - unknown[n + 1 :] @ self.reactions
        energy = now[n] - before[n] - self.gained(unknown)
        last = energy if np.any(self.normal) else unknown[n]  # a surface that depends on time alone exerts no impulse
        return np.concatenate([momenta, [last], now[n + 2 :] - before[n + 2 :]])

    def _slopes(self, unknown: Array, mode: float) -> Array:
        n, c = len(self.v), len(self.reactions)
        jacobian = np.array(self.slopes(unknown[:n], mode))
        found = np.zeros((n + 1 + c, n + 1 + c))
        found[:n, :n], found[:n, n], found[:n, n + 1 :] = jacobian[:n], -self.normal, -self.reactions.T
        if np.any(self.normal):
            found[n, :n], found[n, n], found[n, n + 1 :] = jacobian[n], self.drift, -self.powers
        else:
            found[n, n] = 1.0
        found[n + 1 :, :n] = jacobian[n + 2 :]
        return found


def _require_rule(equations: Equations, mode: Mode, jets: Mapping[Jet, float], between: _Between) -> None:
    """Raise `Refused` for equations whose jumps the rule does not cover."""
    lowered = equations.lowered
    system = lowered.system
    if lowered.costates or any(z.order > 1 for z in jets_in(lowered.lagrangian, Coordinate)):
        raise Refused("momenta jump there, and the rule for a jump is known for first-order Lagrangians without multipliers only.")
    if any(z.order for z in jets_in(mode.function, Coordinate)):
        raise Refused(f"a momentum contains the sign of {mode.text}, and nothing says how it changes there.")
    stated = [row.residual for row in system.kinematic]
    if any(e.free_symbols & {mode.symbol, *between} for e in stated):
        raise Refused("the Lagrangian jumps there together with a constraint.")
    if any(z.order > 1 for e in stated for z in jets_in(e, Coordinate)):
        raise Refused("the Lagrangian jumps there, and a constraint on accelerations does not say what its impulse is.")
    if not {q.d() for q in system.coordinates} <= set(jets):
        raise Refused("the Lagrangian jumps there, and not every velocity is an initial value.")


def _values(here: Setting, symbols: list[Symbol], t: float, jets: Mapping[Jet, float]) -> Array:
    """Values of symbols at a state: jets of the state, parameters, inputs, time."""
    given = here.binding.at(frozenset(z for z in symbols if not isinstance(z, Jet) or isinstance(z, Input)), t)
    missing: list[Expr] = [z for z in symbols if z not in jets and z not in given]
    found = dict(zip(missing, here.numbers(here.function(missing), t, here.native(jets, 0.0)), strict=True)) if missing else {}
    return np.array([jets[z] if z in jets else given[z] if z in given else found[z] for z in symbols], dtype=float)
