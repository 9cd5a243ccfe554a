"""Motions of the independent mechanics: SciPy's DOP853 on the dense solve, from corner to corner.

Between two corners every sign has a fixed value, so the equations are smooth. Where the argument of a sign changes sign the piece ends, and
all signs are found anew from the inside out: the one that crossed by the direction of its crossing, the others by their values. A
motion that meets two corners at once, or slides along one, is left alone.
"""

from __future__ import annotations

from typing import Any

import fuzz_graph as g
import numpy as np
from fuzz_mechanics import Mechanics, NoOpinion, jet
from scipy.integrate import DOP853, solve_ivp

PIECES = 60
"""Corners in one motion; more is chattering."""


class Motion:
    """The end of a motion, the sizes of its jets, and the times of its corners."""

    def __init__(self, mechanics: Mechanics, rtol: float = 1e-12, max_step: float | None = None) -> None:
        self.mechanics, self.rtol = mechanics, rtol
        self.max_step = mechanics.case.max_step if max_step is None else max_step
        matrix, rows = mechanics.system
        self.n = len(rows)
        flat = [e for row in matrix for e in row] + rows + ([mechanics.lagrangian] if mechanics.action else [])
        self.signs = g.corners(flat)
        self.arguments = [g.argument(a) for a in self.signs]
        self.state = mechanics.state
        order = [*self.state, ("t", 0), *((p, 0) for p in mechanics.case.parameters), *mechanics.tops]
        self.fixed = list(mechanics.case.parameters.values()) + [0.0] * len(mechanics.tops)
        self.system = g.compiled(flat, order, self.signs)
        if any(leaf in mechanics.tops for leaf in g.leaves(self.arguments)):
            raise NoOpinion("a corner in accelerations")
        self.switching = g.compiled(self.arguments, order, self.signs)
        place = {key: k for k, key in enumerate(self.state)}
        self.shift = [(k, place[name, o + 1]) if (name, o + 1) in place else (k, None) for k, (name, o) in enumerate(self.state)]
        self.top_of = {name: j for j, (name, _) in enumerate(mechanics.tops)}
        self.modes: list[float] = []
        self.sizes = np.zeros(len(self.state))
        self.times: list[float] = []

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        n = self.n
        found = self.system([*map(float, y), float(t), *self.fixed], self.modes)
        try:
            x = np.linalg.solve(np.array(found[: n * n]).reshape(n, n), -np.array(found[n * n : n * n + n]))
        except np.linalg.LinAlgError as error:
            raise NoOpinion("the motion meets a singular state") from error
        out = np.empty(len(y))
        for (k, source), (name, _) in zip(self.shift, self.state, strict=True):
            out[k] = y[source] if source is not None else found[-1] if name == self.mechanics.action else x[self.top_of[name]]
        return out

    def _values(self, t: float, y: np.ndarray) -> Any:
        return self.switching([*map(float, y), float(t), *self.fixed], self.modes)

    def _set_modes(self, t: float, y: np.ndarray, crossed: dict[int, float]) -> None:
        self.modes = list(self.modes) or [1.0] * len(self.signs)
        for k in range(len(self.signs)):
            value = self._values(t, y)[k]
            if k in crossed:
                self.modes[k] = crossed[k]
            elif value == 0:
                self.modes[k] = self._leaving(t, y, k)
            else:
                self.modes[k] = 1.0 if value > 0 else -1.0

    def _leaving(self, t: float, y: np.ndarray, k: int) -> float:
        """The sign an argument that vanishes at the start has just after it; both sides must agree."""
        found = set()
        for side in (1.0, -1.0):
            self.modes[k] = side
            h = 1e-7 * (abs(self.mechanics.case.t[1] - self.mechanics.case.t[0]))
            found.add(float(np.sign(self._values(t + h, y + h * self.rates(t, y))[k])))
        if len(found) > 1 or 0.0 in found:
            raise NoOpinion("a start on a corner")
        return found.pop()

    def run(self, start: dict[g.Leaf, Any]) -> dict[str, float]:
        """The state at the end."""
        with np.errstate(all="ignore"):
            return self._run(start)

    def _run(self, start: dict[g.Leaf, Any]) -> dict[str, float]:
        first, end = self.mechanics.case.t
        t = first
        y = np.array([float(start[key]) for key in self.state])
        self.modes = []
        if self.signs:
            self._set_modes(t, y, {})
        span = end - t
        speed = np.abs(self.rates(t, y)) * span
        self.sizes = np.maximum(np.abs(y), 1e-3 * speed)
        floors = [max((self.sizes[i] for i, other in enumerate(self.state) if other[1] == key[1]), default=0.0) for key in self.state]
        floor = 1e-4 * np.maximum(floors, 1e-9 * (self.sizes.max() or 1.0))
        for _ in range(PIECES):
            atol = np.maximum(self.sizes, floor) * self.rtol * 0.1
            if self.mechanics.case.watch and not self.signs:
                return self._watchful(t, end, y, atol)
            events = [self._event(k) for k in range(len(self.signs))]
            done = solve_ivp(
                lambda part, y: self.rates(first + span * part, y) * span,  # SciPy finds events up to 1e-15 of a unit of time
                ((t - first) / span, 1.0),
                y,
                "DOP853",
                rtol=self.rtol,
                atol=atol,
                max_step=self.max_step / span,
                events=events or None,
            )
            if done.status < 0 or not np.all(np.isfinite(done.y)):
                raise NoOpinion(f"SciPy: {done.message}")
            self.sizes = np.maximum(self.sizes, np.abs(done.y).max(axis=1))
            t, y = float(first + span * done.t[-1]), done.y[:, -1]
            if done.status == 0:
                return {jet(*key): float(v) for key, v in zip(self.state, y, strict=True)}
            hits = [k for k, times in enumerate(done.t_events) if len(times)]
            self._cross(t, y, hits)
            self.times.append(t)
        raise NoOpinion("too many corners")

    def _watchful(self, t: float, end: float, y: np.ndarray, atol: np.ndarray) -> dict[str, float]:
        """Steps no longer than a quarter of the way to the watched place, or a quarter of its width."""
        name, place, width = self.mechanics.case.watch  # type: ignore[misc]
        k = None if name == "t" else self.state.index((name, 0))
        solver = DOP853(self.rates, t, y, end, rtol=self.rtol, atol=atol, first_step=1e-6 * (end - t))
        while solver.status == "running":
            where, speed = (solver.t, 1.0) if k is None else (solver.y[k], abs(self.rates(solver.t, solver.y)[k]))
            solver.max_step = max(width, abs(where - place)) / 4 / max(speed, 1e-12 * width / (end - t))
            solver.h_abs = min(solver.h_abs, solver.max_step)
            solver.step()
            self.sizes = np.maximum(self.sizes, np.abs(solver.y))
        if solver.status != "finished":
            raise NoOpinion("SciPy's step became too small")
        return {jet(*key): float(v) for key, v in zip(self.state, solver.y, strict=True)}

    def _event(self, k: int) -> Any:
        first, end = self.mechanics.case.t

        def value(part: float, y: np.ndarray) -> float:
            return float(self._values(first + (end - first) * part, y)[k]) * self.modes[k]

        value.terminal, value.direction = True, -1  # type: ignore[attr-defined]
        return value

    def _cross(self, t: float, y: np.ndarray, hits: list[int]) -> None:
        """Flip what crossed; the new field has to carry the argument on, else the motion slides and is left alone."""
        old = list(self.modes)
        h = 1e-6 * abs(self.mechanics.case.t[1] - self.mechanics.case.t[0])
        self._set_modes(t, y, {k: -old[k] for k in hits})
        rate = self.rates(t, y)
        after = self._values(t + h, y + h * rate)
        for k in range(len(self.signs)):
            if after[k] * self.modes[k] < 0:
                raise NoOpinion("sliding, or two corners at once")
