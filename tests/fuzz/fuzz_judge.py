"""The library against the independent mechanics, verb by verb.

Three ways to fail: `silent`, a wrong number without a word, the worst; `told`, a motion that exists and is refused or not finished;
`error`, an exception that is none of the library's own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import fuzz_graph as g
import mpmath
import numpy as np
from fuzz_mechanics import DIGITS, Case, Mechanics, NoOpinion, jet
from fuzz_motion import Motion

import chetaev as ch

PRINCIPLES = {
    "hamilton": ch.Hamilton,
    "dalembert": ch.DAlembert,
    "chetaev": ch.Chetaev,
    "virtualwork": ch.VirtualWork,
    "vakonomic": ch.Vakonomic,
}

VERBS = ("evaluate", "simulate", "many", "code", "linearize")
ALLOWED = 1e-8
"""Relative error allowed to accelerations, multipliers and slopes, beyond what a change of the last digits of the state does to them."""
TOLERANCES = (1e-7, 1e-11)
FACTOR = 3e3
"""Allowed error of an end in units of tolerance times size times sensitivity. Steps add up: some hundred steps with an error each."""
ERRATIC = 1e5
"""Sensitivity of the end to the start beyond which a motion is not judged."""


@dataclass(frozen=True)
class Finding:
    way: str
    verb: str
    what: str

    def __str__(self) -> str:
        return f"{self.way} {self.verb}: {self.what}"


def principle_of(name: str) -> Any:
    if name.startswith("herglotz"):
        inner = name.removeprefix("herglotz").strip("()")
        return ch.Herglotz(PRINCIPLES[inner]()) if inner else ch.Herglotz()
    return PRINCIPLES[name]()


def system_of(case: Case) -> ch.System:
    given: dict[str, Any] = {
        "lagrangian": case.lagrangian,
        "kinematic": list(case.kinematic),
        "forces": dict(case.forces),
        "inputs": dict(case.inputs),
    }
    if case.variational is not None:
        given["variational"] = list(case.variational)
    if case.dissipation is not None:
        given["dissipation"] = case.dissipation
    if case.action:
        given["action"] = case.action
    return ch.System(" ".join(case.coordinates), " ".join(case.parameters), **given)


class Judge:
    """One case with its independent answers."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.mechanics = Mechanics(case.twin or case)
        wish = {key: case.start[jet(*key)] for key in self.mechanics.state}
        state, self.moved = self.mechanics.consistent(wish, case.t[0])
        rounded = {key: float(v) for key, v in state.items()}
        self.state, _ = self.mechanics.consistent(rounded, case.t[0])
        given = rounded if case.full else {k: v for k, v in rounded.items() if k not in self.moved or k[1] == 0}
        self.start = {jet(*key): v for key, v in given.items()}
        self.exact = self.mechanics.solve(self.state, case.t[0])
        self.doubt = self._doubt()

    def _doubt(self) -> dict[str, float]:
        """What a change of the thirteenth digit of the state does to each number."""
        generator = random.Random(1)
        result = dict.fromkeys(self.exact, 0.0)
        for _ in range(2):
            with mpmath.workdps(DIGITS):
                near = {key: v * (1 + mpmath.mpf(generator.choice((-1, 1))) * mpmath.mpf("1e-13")) for key, v in self.state.items()}
            near, _ = self.mechanics.consistent(near, self.case.t[0])
            try:
                found = self.mechanics.solve(near, self.case.t[0])
            except NoOpinion:
                continue
            for name, value in found.items():
                result[name] = max(result[name], float(abs(value - self.exact[name])))
        return result

    def _off(self, found: Any) -> str:
        """The numbers that differ, in words; empty if all agree."""
        tops = {jet(*key) for key in self.mechanics.tops}
        largest = max((abs(float(self.exact[name])) for name in tops), default=0.0)
        wrong, span = [], self.case.t[1] - self.case.t[0]
        for name, right in self.exact.items():
            if name not in found or (self.case.twin and name.startswith("lambda")):
                continue
            order = name.count("'")
            beside = largest if name in tops else max(abs(float(v)) for n, v in self.exact.items() if n.count("'") == order)
            if not name.startswith("lambda"):  # what cannot matter in the time of the motion: 1 - tanh(300)^2 is zero in floating point
                way = max(abs(float(v)) * span ** n.count("'") for n, v in self.exact.items() if not n.startswith("lambda"))
                beside = max(beside, 1e-3 * way / span**order)
            allowed = ALLOWED * abs(float(right)) + 100 * self.doubt[name] + max(1e-13, self.case.slack) * beside + 1e-200
            if not abs(float(found[name]) - float(right)) <= allowed:
                wrong.append(f"{name} = {float(found[name]):.12g}, right {float(right):.12g}")
        return "; ".join(wrong)

    def judge(self, verbs: tuple[str, ...] = VERBS) -> list[Finding]:
        findings: list[Finding] = []
        try:
            equations = ch.derive(system_of(self.case), principle_of(self.case.principle))
        except ch.ChetaevError as error:
            return [Finding("told", "derive", _short(error))]
        for verb in verbs:
            try:
                findings += getattr(self, "_" + verb)(equations)
            except ch.ChetaevError as error:
                findings.append(Finding("told", verb, _short(error)))
            except (NoOpinion, TimeoutError):
                raise
            except Exception as error:
                findings.append(Finding("error", verb, f"{type(error).__name__}: {error}"))
        return findings

    def _evaluate(self, equations: Any) -> list[Finding]:
        off = self._off(ch.evaluate(equations, self.start, parameters=dict(self.case.parameters), t=self.case.t[0]))
        return [Finding("silent", "evaluate", off)] if off else []

    def _code(self, equations: Any) -> list[Finding]:
        if self.case.slack > 1e-7:
            return []  # a file cannot say "ill-conditioned"
        model = ch.Model(
            system=system_of(self.case),
            principle=principle_of(self.case.principle),
            parameters=dict(self.case.parameters),
            start=ch.State(self.start),
        )
        space: dict[str, Any] = {"__name__": "exported"}
        exec(compile(ch.code(model, "numpy"), "exported", "exec"), space)  # noqa: S102 - running the exported file is the test
        state = [float(self.exact[name]) for name in space["STATE"]]
        off = self._off(dict(zip(space["UNKNOWNS"], space["unknowns"](self.case.t[0], state), strict=True)))
        return [Finding("silent", "code", off)] if off else []

    def motion(self) -> tuple[dict[str, float], dict[str, float], float]:
        """The end, the sizes of the jets along the way, and the sensitivity of the end to the start."""
        if not hasattr(self, "_motion"):
            run = Motion(self.mechanics)
            end = run.run(self.state)
            sizes = {jet(*key): v for key, v in zip(run.state, run.sizes, strict=True)}
            generator = random.Random(2)
            near = {key: v * (1 + mpmath.mpf(generator.choice((-1, 1))) * mpmath.mpf("1e-7")) for key, v in self.state.items()}
            near, _ = self.mechanics.consistent(near, self.case.t[0])
            shifted = Motion(self.mechanics).run(near)
            by_order = {name: max(v for other, v in sizes.items() if other.count("'") == name.count("'")) for name in sizes}
            sizes = {name: max(v, 1e-3 * by_order[name], 1e-280) for name, v in sizes.items()}
            sensitivity = max(abs(shifted[name] - end[name]) / sizes[name] for name in end) / 1e-7
            self._motion = end, sizes, max(1.0, sensitivity)
            if sensitivity > ERRATIC:
                raise NoOpinion("the end depends on the last digits of the start")
        return self._motion

    def _end_off(self, final: Any, tolerance: float) -> str:
        end, sizes, sensitivity = self.motion()
        wrong = []
        for name, right in end.items():
            allowed = FACTOR * max(tolerance, 1e-11, self.case.slack / 100) * sensitivity * sizes[name]
            if not abs(float(final[name]) - right) <= allowed:
                wrong.append(f"{name} = {float(final[name]):.12g}, right {right:.12g} (allowed {allowed:.1e})")
        return "; ".join(wrong)

    def _simulate(self, equations: Any) -> list[Finding]:
        self.motion()
        findings = []
        for tolerance in TOLERANCES:
            motion = ch.simulate(equations, self.start, self.case.t, parameters=dict(self.case.parameters), tolerance=tolerance)
            if str(getattr(motion.outcome, "value", motion.outcome)) != "finished":
                findings.append(Finding("told", f"simulate {tolerance:g}", f"{motion.outcome}: {motion.message}"[:300]))
                continue
            off = self._end_off(motion.final, tolerance)
            if off:
                findings.append(Finding("silent", f"simulate {tolerance:g}", off))
        return findings

    def _many(self, equations: Any) -> list[Finding]:
        self.motion()
        ensemble = ch.simulate_many(
            equations, [self.start, self.start], self.case.t, parameters=dict(self.case.parameters), tolerance=TOLERANCES[1]
        )
        if len(ensemble.failed):
            return [Finding("told", "many", str(ensemble.message(0))[:300])]
        off = self._end_off({name: ensemble.final[name][1] for name in self.motion()[0]}, TOLERANCES[1])
        return [Finding("silent", "many", off)] if off else []

    def _linearize(self, equations: Any) -> list[Finding]:
        if (
            self.case.twin
            or self.mechanics.action
            or g.corners([*self.mechanics.equations])
            or "t" in {n for n, _ in g.leaves(self.mechanics.equations)}
        ):
            return []
        found = ch.linearize(equations, self.start, dict(self.case.parameters), t=self.case.t[0])
        names = [n if isinstance(n, str) else str(n) for n in found.names]
        right = self._slopes(names)
        wrong = []
        span, orders = self.case.t[1] - self.case.t[0], [n.count("'") for n in names]
        sizes = {o: max(abs(float(v)) for (_, p), v in self.state.items() if p == o) or 1.0 for o in orders}
        for i, row in enumerate(np.asarray(found.matrix, float)):
            for j, value in enumerate(row):
                usual = sizes[orders[i]] / span / sizes[orders[j]]  # an entry of order one in the units of this motion
                if not abs(value - right[i, j]) <= 1e-6 * abs(right[i, j]) + 1e-9 * usual:
                    wrong.append(f"d({names[i]})'/d{names[j]} = {value:.10g}, right {right[i, j]:.10g}")
        return [Finding("silent", "linearize", "; ".join(wrong[:4]))] if wrong else []

    def _slopes(self, names: list[str]) -> np.ndarray:
        """Differences of the rates of independent jets along the constraints, in many digits."""
        keys = [(n.rstrip("'"), n.count("'")) for n in names]
        free = [key for key in self.mechanics.state if key not in keys]
        kinds = {(n, o): (o, n in self.case.coordinates) for n, o in self.state}  # a multiplier tells nothing about the size of a length
        largest = {kind: max(abs(float(self.state[key])) for key in kinds if kinds[key] == kind) for kind in kinds.values()}
        steps = {key: mpmath.mpf(1e-15) * (max(abs(float(self.state[key])), 1e-3 * largest[kinds[key]]) or 1.0) for key in keys}
        result = np.zeros((len(keys), len(keys)))
        with mpmath.workdps(DIGITS):
            for j, key in enumerate(keys):
                sides = []
                for step in (1, -1):
                    near = dict(self.state)
                    near[key] += step * steps[key]
                    near = self.mechanics.completed(near, free, self.case.t[0])
                    solved = self.mechanics.solve(near, self.case.t[0])
                    sides.append([solved[jet(n, o + 1)] for n, o in keys])
                result[:, j] = [float((a - b) / (2 * steps[key])) for a, b in zip(*sides, strict=True)]
        return result


def settled(case: Case, findings: list[Finding]) -> list[Finding]:
    """What is left of the findings where "ill-conditioned" is a right answer."""
    return [f for f in findings if not (case.may_refuse and f.way == "told" and "ill-conditioned" in f.what)]


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def script(case: Case, judge: Judge | None = None) -> str:
    """A failing case as a program that stands alone."""
    start = judge.start if judge else dict(case.start)
    principle = case.principle
    call = {
        "hamilton": "ch.Hamilton()",
        "dalembert": "ch.DAlembert()",
        "chetaev": "ch.Chetaev()",
        "virtualwork": "ch.VirtualWork()",
        "vakonomic": "ch.Vakonomic()",
    }
    if principle.startswith("herglotz"):
        inner = principle.removeprefix("herglotz").strip("()")
        word = f"ch.Herglotz({call[inner]})" if inner else "ch.Herglotz()"
    else:
        word = call[principle]
    parts = [f"lagrangian={case.lagrangian!r}"]
    for name in ("kinematic", "variational"):
        if getattr(case, name):
            parts.append(f"{name}={list(getattr(case, name))!r}")
    for name in ("forces", "inputs"):
        if getattr(case, name):
            parts.append(f"{name}={dict(getattr(case, name))!r}")
    for name in ("dissipation", "action"):
        if getattr(case, name):
            parts.append(f"{name}={getattr(case, name)!r}")
    lines = [
        f"# {case.kind} {case.seed}",
        "import chetaev as ch",
        f"s = ch.System({' '.join(case.coordinates)!r}, {' '.join(case.parameters)!r}, {', '.join(parts)})",
        f"eq = ch.derive(s, {word})",
        f"start, values = {start!r}, {dict(case.parameters)!r}",
        f"now = ch.evaluate(eq, start, parameters=values, t={case.t[0]})",
    ]
    if judge:
        lines.append(f"right = { ({k: float(v) for k, v in judge.exact.items()})!r}")
        lines.append("print({k: (now[k], v) for k, v in right.items() if k in now})")
    lines.append(f"m = ch.simulate(eq, start, {case.t!r}, parameters=values, tolerance=1e-11)")
    if judge and hasattr(judge, "_motion"):
        lines.append(f"end = {judge._motion[0]!r}")
        lines.append("print(m.outcome, {k: (m.final[k], v) for k, v in end.items()})")
    return "\n".join(lines)
