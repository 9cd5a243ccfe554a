"""The motion near a state in a chart: the quantities that influence it, whether it is steady, and its stability by the eigenvalues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import matrix_balance

from chetaev.core.errors import StateError
from chetaev.core.symbols import TIME, Coordinate, Input, Jet
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.mechanics.tolerances import CUT
from chetaev.numerics.flow.prolongation import Problem
from chetaev.numerics.stability.position import carried, centred, directions, jets_at
from chetaev.numerics.stability.spectrum import Complex, inverse_of, sizes_around, spectrum_of, without_null
from chetaev.numerics.stability.state_chart import NEGLIGIBLE, Chart, Spot, View, chart_at, natural, spot_at, view_at

_DISTANCE_OF_NEIGHBOURS = 0.05
"""Relative distance at which neighbouring steady motions are sought: large enough to reveal a bifurcation, small enough to stay near."""
_VANISHING_RATE = 1e-8
"""Relative size up to which rates vanish at such a neighbour, and constraint rows are satisfied by the tangent space."""
_LAST_STEP = 1e-13
"""Step of Newton's iteration, relative to the sizes of bound jets, below which it ends."""
_NOTHING = (np.zeros(0), np.zeros((0, 0)))


@dataclass(frozen=True)
class Local:
    """The motion near a state in a chart."""

    problem: Problem
    chart: Chart
    view: View

    @classmethod
    def of(cls, problem: Problem, jets: Mapping[Jet, float]) -> Local:
        """The motion near a consistent state `jets`."""
        problem, x = centred(problem, jets)
        chart = chart_at(problem, x)
        found = cls(problem, chart, view_at(problem, chart, x))
        rows, tangent = np.abs(found.view.spot.rows), np.abs(found.view.tangent)
        left = np.abs(found.view.spot.rows @ found.view.tangent) > _VANISHING_RATE * rows.max(axis=1, initial=0.0)[:, None] * tangent.max(
            axis=0
        )
        if left.any():
            label = problem.system.label(problem.system.hidden()[int(np.argmax(left.any(axis=1)))])
            raise StateError(
                f"the constraints have a singular point here: {label} binds no further direction.",
                where=problem.where,
                why="The set of states that satisfy all constraints is not a manifold near this one.",
                hint="a state nearby",
            )
        return found

    @property
    def y(self) -> Matrix:
        """The independent jets."""
        found: Matrix = self.view.spot.x[list(self.chart.free)]
        return found

    @cached_property
    def quotient(self) -> tuple[Matrix, Matrix]:
        """Return coordinates $z = L y$ of the quantities that influence the motion, and a lift $y = R z$.

        Directions in which the rates are constant, at this state and nearby, are divided out: positions, headings, the sum of angles of
        coupled rotors. The quotient may have new such directions; this is repeated until none is found.
        """
        return self.quotient_over([self.problem])

    def quotient_over(self, problems: Sequence[Problem]) -> tuple[Matrix, Matrix]:
        """As `quotient`, for several values of a parameter: a quantity that influences the motion for one of them is kept."""
        matrices = [self.view.matrix]
        for problem in problems:
            for shift in np.random.default_rng(3).uniform(-0.03, 0.03, (3, len(self.y))):
                x = self.on_manifold(problem, self.y + shift * natural(self.y, self._units))
                if x is not None:
                    matrices.append(view_at(problem, self.chart, x).matrix)
        down = up = np.eye(len(self.y))
        while len(down):
            left, right = without_null([down @ m @ up for m in matrices])
            if len(left) == len(down):
                break
            down, up = left @ down, up @ right
        return down, up

    @cached_property
    def spectrum(self) -> tuple[Complex, Matrix]:
        """Return eigenvalues with bounds of their round-off; the eigenvalues of divided-out directions are zero."""
        down, up = self.quotient
        values, doubts = spectrum_of(down @ self.view.matrix @ up)
        more = len(self.y) - len(values)
        return np.concatenate([values, np.zeros(more)]), np.concatenate([doubts, np.zeros(more)])

    @cached_property
    def steady(self) -> bool:
        """Whether all quantities that influence the motion are at rest, now and later, and its matrix is constant in time."""
        if not self._rests(self.view.spot):
            return self._turns_steadily()
        if not self.depends_on_time():
            return True
        down, up = self.quotient
        matrix = down @ self.view.matrix @ up
        beyond = NEGLIGIBLE * np.maximum(sizes_around(matrix, np.max(np.abs(down) * self._units, axis=1, initial=0.0)), np.abs(matrix))
        for s in self._moments:
            later = replace(self.problem, t=self.problem.t + s)
            x = self.on_manifold(later, self.y)
            view = None if x is None else view_at(later, self.chart, x)
            if view is None or not self._rests(view.spot):
                return False
            if np.any(np.abs(down @ view.matrix @ up - matrix) > beyond):
                return False
        return True

    @property
    def at_rest(self) -> bool:
        """Whether all quantities that influence the motion are at rest now; a sleeping top is steady but not at rest."""
        return self._rests(self.view.spot)

    def _turns_steadily(self) -> bool:
        """Tell whether constant velocities of group coordinates move the state without changing accelerations or matrix.

        The quotient need not show this: a sleeping top turns about the vertical although no direction is without influence.
        """
        system = self.problem.system
        if not system.equations.system.groups or self.depends_on_time():
            return False
        accelerating = [i for i, z in enumerate(directions(system)) if z.order or not isinstance(z, Coordinate)]
        beyond = NEGLIGIBLE * np.maximum(sizes_around(self.view.matrix, self._units), np.abs(self.view.matrix))
        for s in (0.0, *self._moments):
            problem, x = carried(self.problem, self.view.spot.x, s)
            view = view_at(problem, self.chart, x)
            if np.any(np.abs(view.spot.rates) > view.spot.negligible, where=np.isin(np.arange(len(x)), accelerating)):
                return False
            if np.any(np.abs(view.matrix - self.view.matrix) > beyond):
                return False
        return True

    @property
    def _moments(self) -> list[float]:
        """Return times at which a steady motion is checked again, from the typical time and from the fastest eigenvalue."""
        unit = self.problem.sizes.get(TIME, 1.0)
        fastest = float(np.abs(self.spectrum[0]).max(initial=0.0)) or 1 / unit
        return [0.37 * unit, 1.23 * unit, 0.37 / fastest, 1.23 / fastest]

    @property
    def _units(self) -> Matrix:
        """The typical sizes of the independent jets."""
        found: Matrix = self.view.spot.units[list(self.chart.free)]
        return found

    def _rests(self, spot: Spot) -> bool:
        down, free = self.quotient[0], list(self.chart.free)
        return bool(np.all(np.abs(down @ spot.rates[free]) <= np.abs(down) @ spot.negligible[free]))

    def depends_on_time(self) -> bool:
        """Tell whether time occurs in the equations, explicitly or by inputs."""
        system = self.problem.system
        return any(z == TIME or isinstance(z, Input) for z in system.symbols([*system.hidden(), *system.stage(0)]))

    def verdict(self) -> tuple[bool | None, str]:
        """Return whether the motion is stable, as far as the eigenvalues decide, and the reason."""
        values, doubts = self.spectrum
        if not self.steady:
            return None, "undecided: this is not a steady motion, the matrix changes along it; ch.equilibria finds steady ones."
        moving = np.abs(values) > doubts
        zeros = int(np.sum(~moving))
        if not moving.any():
            return None, "undecided: no eigenvalue differs from zero." if zeros else "undecided: the constraints leave nothing free."
        k = int(np.argmax(np.where(moving, values.real, -np.inf)))
        if values[k].real > doubts[k]:
            return False, f"unstable: a disturbance grows as exp({values[k].real:.6g}*t)."
        neutral = moving & (np.abs(values.real) <= doubts)
        if neutral.any():
            size = np.abs(values[neutral]).max()
            return None, f"undecided: an oscillation, of frequency {size:.6g}, neither grows nor decays to first order."
        if not zeros:
            return True, "stable: every disturbance decays."
        if self._zeros_are_a_family():
            return True, f"stable: disturbances decay, except in {zeros} direction{'s' * (zeros > 1)} to other steady motions."
        why = f"not all of the {zeros} zero eigenvalues come from neighbouring steady motions"
        return None, f"undecided: {why}; the linearisation cannot decide."

    def _zeros_are_a_family(self) -> bool:
        """Tell whether the zero eigenvalues belong to steady motions nearby, and not to a bifurcation.

        For a family of steady motions, there must also be a state at rest at a finite distance in every direction of the null space,
        corrected transversally.
        """
        down, up = self.quotient
        matrix = down @ self.view.matrix @ up
        values, doubts = spectrum_of(matrix)
        count = int(np.sum(np.abs(values) <= doubts))
        if not count:
            return True
        fastest = float(np.abs(values).max())
        balanced, (scale, _) = matrix_balance(matrix, permute=False, separate=True)
        u, s, vt = np.linalg.svd(balanced)
        rank = int(np.sum(s > CUT * max(fastest, s[0])))
        if len(matrix) - rank != count:
            return False
        inverse = scale[:, None] * ((vt[:rank].T / s[:rank]) @ u[:, :rank].T) / scale
        mixed = np.random.default_rng(2).normal(size=(count, 2 * count)) if count > 1 else np.zeros((1, 0))
        directions = scale[:, None] * (vt[rank:].T @ np.hstack([np.eye(count), mixed]))
        return all(self._continues(sign * column, inverse, scale, fastest) for column in directions.T for sign in (1, -1))

    def _continues(self, direction: Matrix, inverse: Matrix, scale: Matrix, fastest: float) -> bool:
        """Tell whether there is a state at rest at the distance `_DISTANCE_OF_NEIGHBOURS` in a direction of the quotient."""
        down, up = self.quotient
        shift = _DISTANCE_OF_NEIGHBOURS * direction / np.max(np.abs(up @ direction) / natural(self.y, self._units))
        small = _VANISHING_RATE * fastest * float(np.linalg.norm(shift / scale))
        for _ in range(30):
            x = self.on_manifold(self.problem, self.y + up @ shift)
            if x is None:
                return False
            rates = down @ spot_at(self.problem, x).rates[list(self.chart.free)]
            if float(np.linalg.norm(rates / scale)) <= small:
                return True
            shift = shift - inverse @ rates
        return False

    def on_manifold(self, problem: Problem, y: Matrix) -> Matrix | None:
        """The state with given independent jets, by Newton's iteration from this state; None if there is none."""
        x = self.view.spot.x.copy()
        x[list(self.chart.free)] = y
        bound = list(self.chart.bound)
        state, hidden = directions(problem.system), problem.system.hidden()
        try:
            for _ in range(20):
                residual, rows = problem.numbers(hidden, state, jets_at(problem, x)) if bound else _NOTHING
                step = inverse_of(rows[:, bound])[0] @ residual
                x[bound] -= step
                if (np.abs(step) / natural(x, self.view.spot.units)[bound]).max(initial=0.0) < _LAST_STEP:
                    spot_at(problem, x)
                    return x
        except StateError:
            pass
        return None
