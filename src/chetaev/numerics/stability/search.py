"""The search for equilibria: damped Gauss-Newton steps of least norm from a guess, then a test that the state persists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chetaev.core.declarations import read_value
from chetaev.core.errors import InitialError, StateError, about, did_you_mean
from chetaev.core.fixes import InPython, SetArgument, sentences
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Action, Jet, Multiplier
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.mechanics.ranks.sizes import units_of
from chetaev.numerics.evaluation.evaluate import Evaluation
from chetaev.numerics.flow.prolongation import Pair, Problem
from chetaev.numerics.graphs.binding import bind, number
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.stability.arguments import Start, determined, explain
from chetaev.numerics.stability.motion_near_state import Local
from chetaev.numerics.stability.position import directions, normalised, tangent
from chetaev.numerics.stability.spectrum import inverse_of
from chetaev.numerics.stability.state_chart import cyclic
from chetaev.numerics.start.data import read_state

_MOST_STEPS = 200
"""Most Gauss-Newton steps from one guess."""
_MOST_HALVINGS = 12
"""Most halvings of a step that does not reduce the residual; then the search ends."""
_LARGEST_RESIDUAL = 1e-9
"""Largest residual of a row at an equilibrium, relative to its terms."""
_SET_TO_ZERO = 1e-13
"""Relative to its first value: a smaller jet of an equilibrium is round-off and becomes zero."""
_SHORTEST_STEP = 1e-15
"""Relative to the largest jet: Newton's iteration ends with a shorter step, which is round-off."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(Mapping[str, float]):
    """An equilibrium or steady motion: its jets by name, usable as a start; `now` has multipliers and accelerations too."""

    now: Evaluation
    """The evaluation at this state."""
    names: tuple[str, ...]
    """The jets of the state."""
    residual: float
    """The largest error of a rate that should be zero."""
    sizes: Mapping[str, float] = field(default_factory=dict)
    """The typical sizes of jets by name; the default is one."""

    def __getitem__(self, name: str) -> float:
        return self.now[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        width = max(map(len, (*self.names, "residual")))
        lines = [f"{name:<{width}}  {self.now[name]: .15g}" for name in self.names]
        return "\n".join([*lines, f"{'residual':<{width}}  {self.residual: .1e}"])


@dataclass(frozen=True)
class Search:
    """The data of a search for equilibria and steady motions."""

    equations: Equations
    parameters: Mapping[str, Any]
    inputs: Mapping[str, Any]
    t: float
    fixed: tuple[str, ...]
    where: str

    def near(self, guess: Start) -> Equilibrium:
        """Return the equilibrium found from `guess`."""
        binding = bind(self.equations.system, self.parameters, self.inputs, self.where)
        t = number(self.t, dict(binding.parameters), f"{self.where}, t", InitialError)
        system = determined(self.equations, guess, self.parameters, t, self.inputs, "equilibria of")
        data = read_state(self.equations, guess, binding, self.where).on(system)
        problem = Problem(system, binding, t, self.where)
        unit = {
            z: float(v) for group in self.equations.system.groups.values() for z, v in zip(group.places, group.group.identity, strict=False)
        }
        given = {**unit, **data.guess, **data.fixed}
        held = self._held(given, data.fixed if isinstance(guess, State) else {})
        at = self._settled(problem, given, held)
        return self._checked(problem, at, held)

    def _held(self, given: Mapping[Jet, float], fixed: Mapping[Jet, float]) -> dict[Jet, float]:
        """The jets that keep their value."""
        known = [z.base for z in self.equations.unknowns]
        held = dict(fixed)
        for name in self.fixed:
            jet = read_value(name, self.equations.vocabulary, self.where)
            if not isinstance(jet, Jet) or jet.base not in known:
                hint = sentences(f"jets of {' '.join(known)}.", did_you_mean(name, known))
                raise InitialError(f"{name} is not an unknown of the motion.", where=about(self.where, "fixed", name), hint=hint)
            if jet not in given:
                raise InitialError(
                    f"{name} is fixed, and the guess gives it no value.",
                    where=about(self.where, "fixed", name),
                    hint=InPython(f'{{"{name}": ...}}'),
                )
            held[jet] = given[jet]
        steep = [z.name for z in held if z.order > 1]
        if steep:
            raise InitialError(
                f"{steep[0]} cannot be fixed: it vanishes in a steady motion.",
                where=about(self.where, "fixed", str(steep[0])),
                hint="fix a velocity",
            )
        return held

    def _settled(self, problem: Problem, given: Mapping[Jet, float], held: Mapping[Jet, float]) -> dict[Jet, float]:
        """Solve for the coordinates and multipliers by damped Gauss-Newton steps, with all derivatives zero except the fixed ones."""
        structure = problem.system.structure
        pairs = [*problem.system.hidden(), *problem.system.stage(0)]
        jets = [*structure.state, *structure.top]
        first = at = {z: held.get(z, given.get(z, 0.0) if z.order == 0 else 0.0) for z in jets}
        running = self._running(problem, held)
        unknowns = [z for z in jets if z not in held and (z.order == 0 or z in running)]
        for moved in ([z for z in unknowns if z in running or isinstance(z, Multiplier)], unknowns):
            for _ in range(_MOST_STEPS):
                better = self._stepped(problem, pairs, moved, at)
                if better is None:
                    break
                at = normalised(self.equations.system, better)
        at = {z: 0.0 if abs(v) <= _SET_TO_ZERO * abs(first[z]) else v for z, v in at.items()}
        residual, jacobian = problem.numbers(pairs, jets, at)
        sizes = np.abs(jacobian) @ np.where([z in unknowns for z in jets], _reach(problem, jets, at), 0.0)
        sizes = np.where(sizes > 0, sizes, np.abs(jacobian).max(axis=1, initial=0.0))
        scaled = np.abs(residual) / np.where(sizes > 0, sizes, 1.0)
        worst = int(np.argmax(scaled)) if len(scaled) else 0
        if len(scaled) and scaled[worst] > _LARGEST_RESIDUAL:
            raise InitialError(
                f"no equilibrium found from this guess: {problem.system.label(pairs[worst])} is left with {residual[worst]:.3g}.",
                where=self.where,
                why=f"With all other rates zero, the search ends at {_listed(at, unknowns)}.",
                hint=(
                    "another guess; or fix a velocity, such as ",
                    SetArgument("fixed", [f"{structure.unknowns[0].base}'"]),
                    ", to look for a steady motion",
                ),
            )
        return at

    def _numbers(self, problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: Mapping[Jet, float]) -> tuple[Matrix, Matrix]:
        """Residuals and their Jacobian; entries that change with the last digits of the unknowns are round-off of zero."""
        residual, jacobian = problem.numbers(pairs, unknowns, at)
        noise = np.zeros_like(jacobian)
        for digits in np.random.default_rng(5).uniform(-8, 8, (2, len(unknowns))):
            shift = digits * EPSILON * _reach(problem, unknowns, at)
            moved = {z: float(at[z] + d) for z, d in zip(unknowns, shift, strict=True)}
            noise = np.maximum(noise, np.abs(problem.numbers(pairs, unknowns, {**at, **moved})[1] - jacobian))
        return residual, np.where(np.abs(jacobian) <= 10 * noise, 0.0, jacobian)

    def _running(self, problem: Problem, held: Mapping[Jet, float]) -> list[Jet]:
        """The derivatives that need not vanish: of an action without effect, and, in a steady motion, of cyclic coordinates."""
        structure, loose = problem.system.structure, cyclic(problem.system)
        moving = any(z.order for z in held)
        kept = {z.base for z in held if z.order}
        jets = [z for z in (*structure.state, *structure.top) if z.order and z.base in loose and z.base not in kept]
        return [z for z in jets if moving or isinstance(z, Action)]

    def _stepped(self, problem: Problem, pairs: Sequence[Pair], unknowns: Sequence[Jet], at: dict[Jet, float]) -> dict[Jet, float] | None:
        """One step, halved until the scaled residual falls; None at the end."""
        residual, jacobian = self._numbers(problem, pairs, unknowns, at)
        ways = tangent(self.equations.system, unknowns, at)
        step = -ways @ (inverse_of(jacobian @ ways)[0] @ residual)
        units = units_of(unknowns, problem.sizes)
        largest = float((_reach(problem, unknowns, at) / units).max(initial=1.0))
        longest = float((np.abs(step) / units).max(initial=0.0))
        if longest <= _SHORTEST_STEP * largest:
            return None
        scales = np.abs(jacobian).max(axis=1, initial=0.0)
        scales = np.where(scales > 0, scales, 1.0)
        factor = min(1.0, 0.5 * largest / longest)
        for _ in range(_MOST_HALVINGS):
            moved = {**at, **{z: float(at[z] + factor * s) for z, s in zip(unknowns, step, strict=True)}}
            try:
                found, _ = problem.numbers(pairs, unknowns, moved)
            except StateError:
                found = np.full(len(pairs), np.inf)
            if np.linalg.norm(found / scales) < np.linalg.norm(residual / scales):
                return moved
            factor /= 2
        return None

    def _checked(self, problem: Problem, at: Mapping[Jet, float], held: Mapping[Jet, float]) -> Equilibrium:
        """Return the state as an equilibrium; raise if it does not persist."""
        state = problem.system.structure.state
        try:
            local = Local.of(problem, at)
        except StateError:
            start = {z.name: at[z] for z in state}
            explain(self.equations, start, self.parameters, problem.t, self.inputs, "equilibria of")
            raise
        if not local.steady:
            raise InitialError(
                f"the state {_listed(at, list(state))} is passed through, not kept.",
                where=self.where,
                why="Accelerations vanish there, but not a moment later.",
                hint="fix other velocities, or none"
                if any(z.order for z in held)
                else "an equilibrium needs forces that do not change in time",
            )
        moving = {*held, *self._running(problem, held)}
        rates = [abs(r) for z, r in zip(directions(problem.system), local.view.spot.rates, strict=True) if z.d() not in moving]
        now = Evaluation(self.equations, Frozen(at), problem.binding, problem.t, problem.system.undetermined)
        sizes = {z.name: v for z, v in problem.sizes.items()}
        return Equilibrium(now, tuple(z.name for z in state), float(max(rates, default=0.0)), sizes)


def _reach(problem: Problem, jets: Sequence[Jet], at: Mapping[Jet, float]) -> Matrix:
    """Return the sizes of jets at a state, at least their typical sizes."""
    found: Matrix = np.maximum(units_of(jets, problem.sizes), np.abs([at[z] for z in jets]))
    return found


def _listed(at: Mapping[Jet, float], jets: Sequence[Jet]) -> str:
    return ", ".join(f"{z.name} = {at[z]:.6g}" for z in jets) or "the state given"
