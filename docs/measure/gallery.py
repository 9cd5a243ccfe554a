"""Every gallery system: outcome, drift, balance, invariants, certificate, and the distance from another method at a tighter tolerance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import chetaev as ch

LONG = 50
"""How many times its own interval a long run takes."""
LIMITS = {"constraints": 1e-11, "balance": 1e-6, "invariants": 1e-6, "certificate": 1e-5, "distance": 1e-6}
"""A thousand times the tolerance where errors add up; round-off for constraints; more for the certificate, which differentiates."""


def runs() -> list[dict[str, Any]]:
    """One line per system and principle."""
    found = []
    for name in ch.gallery():
        model = ch.gallery(name)
        for principle in model.principles:
            found.append(_run(name, model.under(principle)))
    return found


def _run(name: str, model: ch.Model) -> dict[str, Any]:
    line: dict[str, Any] = {"name": name, "title": model.name, "principle": str(model.principle), "faults": []}
    try:
        motion = ch.simulate(model, progress=False)
    except ch.GaugeError as verdict:  # the user has to choose a free function: the right answer, and nothing to measure
        return {**line, "outcome": verdict.what, "good": True}
    except ch.ChetaevError as fault:
        return {**line, "outcome": f"{type(fault).__name__}: {fault.what}", "good": False, "faults": ["no motion"]}
    line["outcome"], line["steps"] = str(motion.outcome), len(motion.t) - 1
    line["constraints"] = max((v for key, v in motion.drift.items() if key != "balance"), default=0.0)
    line["balance"] = motion.drift.get("balance", math.nan)
    line["invariants"] = max((_change(motion[text]) for text in model.invariants.values()), default=math.nan)
    line["certificate"] = motion.verify().worst
    line["distance"] = _distance(model, motion)
    line["faults"] = [key for key, limit in LIMITS.items() if line[key] > limit]
    if line["outcome"] not in ("finished", "event"):
        line["faults"].append(line["outcome"])
    return {**line, "good": not line["faults"]}


def _change(values: Any) -> float:
    """How far a constant strays, relative to its size."""
    return float(np.abs(values - values[0]).max() / max(1.0, float(np.abs(values).max())))


def _distance(model: ch.Model, motion: ch.Trajectory) -> float:
    """The largest difference of a coordinate at the end from a run by Taylor series (or the same method) at a tolerance of 1e-14."""
    try:
        other = ch.simulate(model, tolerance=1e-14, method=ch.Taylor(), progress=False)
    except ch.ChetaevError:
        other = ch.simulate(model, tolerance=1e-14, progress=False)
    names = places(motion.equations.system)
    return max(abs(motion.final[n] - other.final[n]) / max(1.0, abs(other.final[n])) for n in names)


def places(system: ch.System) -> list[str]:
    """The coordinates, and in place of those of a group its entries."""
    groups = system.groups.values()
    turning = {component.base for group in groups for component in group.components}
    return [q.name for q in system.coordinates if q.base not in turning] + [entry.name for group in groups for entry in group.chart]


def long_runs() -> list[dict[str, Any]]:
    """Conservative systems for many times their interval: does anything drift away?"""
    found = []
    for name in (
        "cartesian-pendulum",
        "double-pendulum",
        "disk",
        "knife-edge",
        "sleigh",
        "snakeboard",
        "heisenberg",
        "trailer",
        "leaning-disk",
    ):
        model = ch.gallery(name)
        t = (model.t[0], model.t[0] + LONG * (model.t[1] - model.t[0]))
        motion = ch.simulate(model, t=t, keep="final", progress=False)
        constraints = max((v for key, v in motion.drift.items() if key != "balance"), default=0.0)
        balance = motion.drift.get("balance", math.nan)
        good = str(motion.outcome) == "finished" and constraints < 1e-11 and not balance > 1e-6
        found.append(
            {
                "name": name,
                "title": model.name,
                "t": t[1],
                "outcome": str(motion.outcome),
                "constraints": constraints,
                "balance": balance,
                "good": good,
            }
        )
    return found
