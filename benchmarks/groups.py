"""(g) Rotations as group elements against Euler's angles, and long runs on groups.

The same motion is computed twice by the library: with a rotation as coordinate, and in Euler's angles away from their singularities; once
with the same tolerance, once with the tolerances that give the same error. The long runs are 1e5 revolutions.

python benchmarks/groups.py [--quick]
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from measure import Effort, Spread, Table, figures, seconds_of, take_turns
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import chetaev as ch

TOLERANCE = 1e-10
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(12, 28))
ERROR = 1e-8
REVOLUTIONS = 1e5
_STEPS = 10**9

OMEGA = {
    "w1": "phi'*sin(theta)*sin(psi) + theta'*cos(psi)",
    "w2": "phi'*sin(theta)*cos(psi) - theta'*sin(psi)",
    "w3": "phi'*cos(theta) + psi'",
}
"""Body components of the angular velocity in Euler's angles z-x-z."""
AXIS = {"a31": "sin(theta)*sin(psi)", "a32": "sin(theta)*cos(psi)", "a33": "cos(theta)"}
"""The vertical, seen from the body."""
ANGLES = {"phi": 0.3, "theta": 1.1, "psi": -0.5}


@dataclass(frozen=True)
class Side:
    """One of the two ways to write a system."""

    system: ch.System
    principle: ch.Principle
    start: Mapping[str, Any]
    parameters: Mapping[str, float]
    duration: float
    height: str
    """An expression of the attitude that both sides have."""

    def run(self, tolerance: float = TOLERANCE) -> ch.Trajectory:
        """The motion's end."""
        settings: dict[str, Any] = {"parameters": self.parameters, "tolerance": tolerance, "keep": "final", "max_steps": _STEPS}
        return ch.simulate(self.equations(), self.start, (0.0, self.duration), **settings)

    def equations(self) -> ch.Equations:
        """Equations of motion; compiled only once, because equal ones are remembered."""
        return ch.derive(self.system, self.principle)

    def first_point(self, tag: int) -> float:
        """CPU time from the parsed system to the first step; the tag makes the equations new ones."""
        fresh = self.system.replace(name=f"run {tag}")
        settings: dict[str, Any] = {"parameters": self.parameters, "tolerance": TOLERANCE, "keep": "final"}
        return seconds_of(lambda: ch.simulate(ch.derive(fresh, self.principle), self.start, (0.0, 1e-3), **settings))


def tables(effort: Effort) -> list[Table]:
    """Speed, then long runs."""
    return [_speed(effort), _long(effort)]


def _speed(effort: Effort) -> Table:
    found = Table(
        "(g) Rotations against Euler's angles",
        ["system", "rotation", "angles", "ratio", "for equal errors", "per evaluation", "steps", "error", "first point"],
        f"CPU time of simulate, tolerance {TOLERANCE:g}. Ratio: rotation / angles, median (least to largest) of interleaved rounds. "
        f"For equal errors: the same with the loosest tolerances of a grid that give an error of {ERROR:g} in the height at the end, "
        "and with the next two as well. Per evaluation: the ratio per right-hand side. Steps and error: rotation, then angles. "
        "First point: the ratio of the times from a parsed system to its first step.",
    )
    for name, (group, angles) in cases(effort).items():
        sides = {"rotation": group, "angles": angles}
        times = take_turns({label: _timed(side, TOLERANCE) for label, side in sides.items()}, effort.repetitions)
        exact = {label: float(side.run(1e-14).final[side.height]) for label, side in sides.items()}
        ends = {label: side.run() for label, side in sides.items()}
        errors = {label: abs(end.final[sides[label].height] - exact[label]) for label, end in ends.items()}
        calls = {label: end.counts["evaluations"] for label, end in ends.items()}
        fitting = {label: _timed(side, _loosest(side, exact[label])) for label, side in sides.items()}
        equal = take_turns(fitting, effort.repetitions)
        ratio = times["rotation"].over(times["angles"])
        found.add(
            name,
            f"{figures(times['rotation'].median * 1e3)} ms",
            f"{figures(times['angles'].median * 1e3)} ms",
            ratio,
            equal["rotation"].over(equal["angles"]),
            ratio.median * calls["angles"] / calls["rotation"],
            " / ".join(str(end.counts["accepted"]) for end in ends.values()),
            " / ".join(figures(error) for error in errors.values()),
            _first_points(sides, effort),
        )
    return found


def _loosest(side: Side, exact: float) -> float:
    """The loosest tolerance with which, and with the next two, the height at the end is good enough."""
    good = 0
    for tolerance in TOLERANCES:
        good = good + 1 if abs(side.run(tolerance).final[side.height] - exact) <= ERROR else 0
        if good == 3:
            return tolerance * 10
    return TOLERANCES[-1]


def _timed(side: Side, tolerance: float) -> Any:
    side.run(tolerance)  # compiled once
    return lambda: seconds_of(lambda: side.run(tolerance))


def _first_points(sides: Mapping[str, Side], effort: Effort) -> Spread:
    tags = iter(range(10**6))
    found = take_turns({label: lambda side=side: side.first_point(next(tags)) for label, side in sides.items()}, effort.repetitions)
    return found["rotation"].over(found["angles"])


def cases(effort: Effort) -> dict[str, tuple[Side, Side]]:
    """Heavy tops, Suslov's problem in a field, the rolling disk."""
    share = 0.1 if effort.quick else 1.0
    spinning = {"phi'": 0.5, "theta'": 0.1, "psi'": 8.0}
    blocked = {"phi'": 1.5, "theta'": 0.3}
    kinetic = "(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2"
    values = {"I1": 1.0, "I2": 1.1, "I3": 1.7, "k": 1.2}
    return {
        "Lagrange's top": _both(f"{kinetic} - k*A33", spinning, {**values, "I2": 1.0}, 2000 * share),
        "heavy asymmetric top": _both(f"{kinetic} - k*A33", spinning, values, 2000 * share),
        "Suslov's problem in a field": _both(f"{kinetic} - k*(2*A33^2 - A31/9)", blocked, {**values, "k": 4.0}, 2000 * share, ["A3' = 0"]),
        "rolling disk": _disk(200 * share),
    }


def _both(
    lagrangian: str, rates: dict[str, float], parameters: dict[str, float], t: float, rows: list[str] | None = None
) -> tuple[Side, Side]:
    """A body with a fixed point, both ways."""
    principle: ch.Principle = ch.DAlembert() if rows else ch.Hamilton()
    names = " ".join(parameters)
    group = ch.System({"A": "SO3 body"}, names, lagrangian=lagrangian, kinematic=rows or [])
    texts = [_in_angles(row) for row in rows or []]
    angled = ch.System("phi theta psi", names, lagrangian=_in_angles(lagrangian), kinematic=texts, where=AXIS, quasi=OMEGA)
    start = {**ANGLES, **rates}
    now = ch.evaluate(ch.derive(angled, principle), start, parameters=parameters)
    attitude = Rotation.from_euler("ZXZ", list(ANGLES.values())).as_matrix()
    turning = {"A": attitude, **{f"A{a}'": now[f"w{a}'"] for a in (1, 2, 3)}}
    return Side(group, principle, turning, parameters, t, "A33"), Side(angled, principle, start, parameters, t, "a33")


def _in_angles(text: str) -> str:
    return re.sub(r"A([1-3])(?![0-9])", r"w\1", re.sub(r"A(3[1-3])", r"a\1", text))


def _disk(t: float) -> tuple[Side, Side]:
    """The two disks of the gallery; their heights are the same."""
    rotation, angles = ch.gallery("rolling-disk"), ch.gallery("leaning-disk")
    return tuple(Side(m.system, m.principle, m.start, m.parameters, t, height) for m, height in ((rotation, "z"), (angles, "zc")))  # type: ignore[return-value]


def _long(effort: Effort) -> Table:
    turns = REVOLUTIONS / 10 if effort.quick else REVOLUTIONS
    found = Table(
        "(g) Long runs on groups",
        ["system", "tolerance", "projection on energy", "relative energy error", "A A^T - 1", "constraint", "steps", "CPU"],
        f"{turns:g} revolutions. Energy error and constraint: the largest of all steps. A A^T - 1: at the end. One run each.",
    )
    for name, (equations, start, parameters, spin) in _rollers().items():
        for tolerance in (1e-11, 1e-12, 1e-13):
            for conserve in (None, "energy"):
                motions: list[ch.Trajectory] = []
                settings: dict[str, Any] = {"parameters": parameters, "keep": "final", "max_steps": _STEPS, "conserve": conserve}
                span = (0.0, turns * 2 * math.pi / spin)
                spent = seconds_of(
                    lambda e=equations, s=start, n=span, t=tolerance, k=settings, m=motions: m.append(
                        ch.simulate(e, s, n, tolerance=t, **k)
                    )
                )
                (motion,) = motions
                size = abs(float(ch.simulate(equations, start, (0.0, 1e-3), parameters=parameters).energy[0]))
                rows = [v for label, v in motion.drift.items() if label != "balance"]
                off = _orthogonality(motion)
                figures_ = (motion.drift_absolute["balance"] / size, off, max(rows, default=None))
                found.add(name, f"{tolerance:g}", conserve or "no", *figures_, motion.counts["accepted"], f"{figures(spent)} s")
    return found


def _orthogonality(motion: ch.Trajectory) -> float:
    a: NDArray[np.float64] = np.array([[motion.final[f"A{i}{j}"] for j in (1, 2, 3)] for i in (1, 2, 3)])
    return float(np.abs(a @ a.T - np.eye(3)).max())


def _rollers() -> dict[str, tuple[ch.Equations, dict[str, Any], dict[str, float], float]]:
    """Lagrange's top and Chaplygin's ball, with the rate of their revolutions."""
    top = ch.System({"A": "SO3 body"}, "I1 I3 k", lagrangian="(I1*A1'^2 + I1*A2'^2 + I3*A3'^2)/2 - k*A33")
    ball = ch.System(
        {"A": "SO3 body", "x": "line", "y": "line"},
        "I1 I2 I3 m R",
        where={f"s{i}": f"A{i}1*A1' + A{i}2*A2' + A{i}3*A3'" for i in (1, 2)},
        lagrangian="(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2 + m/2*(x'^2 + y'^2)",
        kinematic=["x' = R*s2", "y' = -R*s1"],
    )
    attitude = Rotation.from_rotvec([0.9, 0.3, -0.2])
    spin = np.array([3.0, -0.5, 5.0])
    rolling = dict(zip(("A1'", "A2'", "A3'"), attitude.inv().apply(spin).tolist(), strict=True))
    return {
        "Lagrange's top": (
            ch.derive(top),
            {"A": attitude.as_matrix(), "A1'": 0.3, "A2'": -0.5, "A3'": 8.0},
            {"I1": 1.0, "I3": 1.7, "k": 1.2},
            8.0,
        ),
        "Chaplygin's ball": (
            ch.derive(ball, ch.DAlembert()),
            {"A": attitude.as_matrix(), "x": 0.0, "y": 0.0, **rolling},
            {"I1": 0.4, "I2": 0.5, "I3": 0.7, "m": 1.3, "R": 0.6},
            float(np.linalg.norm(spin)),
        ),
    }


if __name__ == "__main__":
    for table in tables(Effort(quick="--quick" in sys.argv)):
        print(table, flush=True)
