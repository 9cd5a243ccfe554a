"""(b) Time to a given global error, and time per right-hand side, against heyoka, SciPy and hand-written C.

Sides: `simulate` as a user calls it; its compiled loop alone, with projection, watched functions and measures as `simulate` sets it up; C
with the right-hand side inlined; heyoka's Taylor series of the same reduced equations; SciPy's DOP853 on a numba and on a lambdified
right-hand side. Every side gets the loosest tolerance of a
grid with which it reaches the error at the end of the interval, and with the next two as well, so that luck does not count.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import peer
from cases import CASES, Case, reference
from compiler import Native, compiled
from loop import optimise, recorded
from measure import Effort, Spread, Table, figures, seconds_of, seconds_per_call, take_turns
from numba import njit

import chetaev as ch
from chetaev.numerics.machine.native import call_kernel

ERRORS = (1e-6, 1e-10)
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(6, 28))
COLUMNS = ("simulate", "loop", "C", "heyoka", "SciPy, numba", "SciPy, lambdify")
RATIOS = (
    ("SciPy, lambdify", "simulate"),
    ("SciPy, lambdify", "loop"),
    ("SciPy, numba", "simulate"),
    ("SciPy, numba", "loop"),
    ("simulate", "C"),
    ("loop", "C"),
    ("loop", "heyoka"),
)
COPIES = 4096
"""Most runs in one call of the compiled loops, so that the call itself does not count."""
_LONG = 0.01
"""Seconds of one call that are enough: longer runs need fewer copies."""
_TRIALS = 5
"""Calls of which the shortest tells how long the copies take. They are calls of the loop itself: `dop853.run` would count as well what
Python does before and after, which is ten times as much for a short run, and there would be too few copies."""
_SAMPLES = 64
_WARM = 60
"""Calls before anything is measured: after fifty the library makes code for many."""

Run = Callable[[float], Any]
"""The values of a case's names at its end, for a tolerance."""


def tables(effort: Effort) -> list[Table]:
    """Integration, then right-hand sides."""
    sides = [_Sides.of(case) for case in CASES]
    return [_to_error(sides, effort), _per_rhs(sides, effort)]


@dataclass(frozen=True)
class _Sides:
    """A case, ready to run on every side."""

    case: Case
    equations: ch.Equations
    native: Native | None

    @classmethod
    def of(cls, case: Case) -> _Sides:
        found = cls(case, ch.derive(case.model), compiled(case.name, case.p, *case.defined))
        for _ in range(_WARM):  # pieces of a motion, as where a sign has its value, have code of their own, which is made for many calls
            found.motion(1e-6, case.t / _WARM)
        return found

    def runs(self) -> dict[str, Run]:
        found: dict[str, Run] = {"simulate": self.simulate, "SciPy, numba": self.numba}
        if self.native is not None:
            found["C"] = self.c
        if peer.has_heyoka():
            found["heyoka"] = self.heyoka
        if self.case.peer is not None:
            found["SciPy, lambdify"] = self.lambdify
        return found

    def simulate(self, tolerance: float) -> Any:
        motion = self.motion(tolerance)
        return [motion.final[name] for name in self.case.names]

    def motion(self, tolerance: float, t: float | None = None) -> ch.Trajectory:
        case = self.case
        interval = (0.0, case.t if t is None else t)
        return ch.simulate(self.equations, case.model.start, interval, parameters=case.model.parameters, tolerance=tolerance, keep="final")

    def loop(self, tolerance: float) -> tuple[Callable[[], None], int]:
        """What the compiled loop does within `simulate`, and how many times."""
        optimise(self.equations)
        with recorded() as calls:
            self.motion(tolerance)
        for call in calls:
            call.optimise()
        copies, again = 1, _all_of([call.repeated(1) for call in calls])
        while copies < COPIES and min(seconds_of(again) for _ in range(_TRIALS)) < _LONG:
            copies *= 4
            again = _all_of([call.repeated(copies) for call in calls])
        return again, copies

    def native_loop(self, tolerance: float) -> None:
        """Many runs of the loop in C."""
        self.native.repeat(COPIES, self.case.t, self.case.y0, tolerance)  # type: ignore[union-attr]

    def c(self, tolerance: float) -> Any:
        return self.case.named(self.native.integrate(self.case.t, self.case.y0, tolerance), self.case.p)  # type: ignore[union-attr]

    def heyoka(self, tolerance: float) -> Any:
        return self.case.named(peer.taylor(self.case.rhs, tuple(self.case.y0), tuple(self.case.p), tolerance)(self.case.t), self.case.p)

    def numba(self, tolerance: float) -> Any:
        return self.case.named(peer.integrate(self.case.jitted, self.case.t, self.case.y0, tolerance), self.case.p)

    def lambdify(self, tolerance: float) -> Any:
        end = peer.integrate(self.case.lambdified, self.case.t, self.case.full_start, tolerance)
        return [end[self.case.full_names.index(name)] for name in self.case.names]


def _all_of(works: list[Callable[[], None]]) -> Callable[[], None]:
    def work() -> None:
        for each in works:
            each()

    return work


def _to_error(all_sides: list[_Sides], effort: Effort) -> Table:
    found = Table(
        "(b) Time to a global error",
        ["system", "error", *COLUMNS, *[f"{a.removeprefix('SciPy, ')} / {b}" for a, b in RATIOS], "loop / best"],
        "CPU milliseconds with the tolerance in brackets; the error is the largest of all coordinates and velocities at the end. "
        '`simulate`: the whole call with keep="final" on compiled equations. `loop`: the compiled loop within it, with projection and '
        "measures, in all coordinates. C, heyoka and numba integrate equations reduced by hand, without projection. `loop` and C: the mean "
        f"of up to {COPIES} runs in one call, with the code of runs of a million steps; heyoka: without what a call from Python takes. "
        "Best: the faster of C and heyoka." + ("" if peer.has_heyoka() else " heyoka is not installed."),
    )
    for sides in all_sides:
        exact = reference(sides.case)
        errors = {name: _errors(run, exact) for name, run in sides.runs().items()}
        for error in ERRORS:
            needed = {name: _tolerance(e, error) for name, e in errors.items()}
            found.add(sides.case.model.name, f"{error:.0e}", *_timed(sides, needed, effort))
    return found


def _timed(sides: _Sides, needed: Mapping[str, float | None], effort: Effort) -> list[Any]:
    work: dict[str, Callable[[], Any]] = {name: partial(run, t) for name, run in sides.runs().items() if (t := needed[name]) is not None}
    tolerance, copies = needed["simulate"], {"loop": COPIES, "C": COPIES}
    if tolerance is not None:
        work["simulate"] = partial(sides.motion, tolerance)
        work["loop"], copies["loop"] = sides.loop(tolerance)
    if (series := needed.get("heyoka")) is not None:
        end = peer.taylor(sides.case.rhs, tuple(sides.case.y0), tuple(sides.case.p), series)
        work["heyoka"] = partial(end, sides.case.t)
    if (in_c := needed.get("C")) is not None:
        work["C"] = partial(sides.native_loop, in_c)
    at_least = 0.01 if effort.quick else 0.05
    clocks = {name: partial(seconds_per_call, w, at_least) for name, w in work.items()}
    if series is not None:
        clocks["heyoka"] = partial(_without_call, work["heyoka"], partial(end, 0.0), at_least)
    times = take_turns(clocks, effort.repetitions + 2)
    times |= {name: times[name].scaled(1 / copies[name]) for name in copies if name in times}
    marks = {**needed, "loop": tolerance}
    cells: list[Any] = [f"{figures(times[name].median * 1e3)} ({marks[name]:.0e})" if name in times else None for name in COLUMNS]
    ratios = [times[a].over(times[b]) if a in times and b in times else None for a, b in RATIOS]
    best = min((times[name] for name in ("C", "heyoka") if name in times), key=lambda found: found.median, default=None)
    return [*cells, *ratios, times["loop"].over(best) if best is not None and "loop" in times else None]


def _without_call(work: Callable[[], Any], nothing: Callable[[], Any], at_least: float) -> float:
    """Seconds of a call, less those of a call that does nothing."""
    return seconds_per_call(work, at_least) - seconds_per_call(nothing, at_least)


def _errors(run: Run, exact: list[float]) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy raises tolerances below 2e-14 and says so
        return [float(np.max(np.abs(np.array(run(t), dtype=float) - exact))) for t in TOLERANCES]


def _tolerance(errors: list[float], error: float) -> float | None:
    for k, tolerance in enumerate(TOLERANCES):
        if all(e <= error for e in errors[k : k + 3]):
            return tolerance
    return None


# ------------------------------------------------------------ right-hand sides


@njit
def _call_many(address: int, states: Any, p: Any, out: Any, rounds: int) -> None:
    for _ in range(rounds):
        for i in range(states.shape[0]):
            call_kernel(address, 0.0, states[i].ctypes, p.ctypes, out.ctypes)


def rhs_seconds(address: int, states: Any, p: Any, at_least: float) -> float:
    """Seconds per call of a right-hand side, over states that vary."""
    out, rounds = np.empty(states.shape[1]), 16
    return seconds_per_call(lambda: _call_many(address, states, p, out, rounds), at_least) / (rounds * states.shape[0])


def states_along(equations: ch.Equations, model: ch.Model, t: float) -> tuple[int, Any, Any]:
    """The address of the right-hand side, states along a motion and the vector of parameters."""
    times = np.linspace(0.0, t, _SAMPLES)
    optimise(equations)
    with recorded() as calls:
        motion = ch.simulate(equations, model.start, times, parameters=model.parameters)
    y0, p = np.array(calls[0].arguments[3]), np.array(calls[0].arguments[4])
    states = np.zeros((_SAMPLES, y0.size))
    states[:, : len(motion.jets)] = motion.states[:, : len(motion.jets)]
    return calls[0].arguments[0].rhs, states, p


def _per_rhs(all_sides: list[_Sides], effort: Effort) -> Table:
    found = Table(
        "(b) Time per right-hand side",
        ["system", "chetaev", "C", "chetaev / C"],
        "Nanoseconds of CPU; both are called by the same compiled loop, at 64 states along the motion. The library's has all coordinates "
        "and solves for multipliers, C is reduced by hand.",
    )
    for sides in all_sides:
        address, states, p = states_along(sides.equations, sides.case.model, sides.case.t)
        at_least = 0.02 if effort.quick else 0.1
        work: dict[str, Callable[[], float]] = {"chetaev": partial(rhs_seconds, address, states, p, at_least)}
        if sides.native is not None:
            along = np.array([sides.native.integrate(t, sides.case.y0, 1e-9) for t in np.linspace(0.01, sides.case.t, _SAMPLES)])
            work["C"] = partial(rhs_seconds, sides.native.address, along, sides.case.p, at_least)
        times = take_turns(work, effort.repetitions + 2)
        ratio = times["chetaev"].over(times["C"]) if "C" in times else None
        found.add(sides.case.model.name, *[_nanoseconds(times.get(name)) for name in ("chetaev", "C")], ratio)
    return found


def _nanoseconds(found: Spread | None) -> str | None:
    return None if found is None else figures(found.median * 1e9)
