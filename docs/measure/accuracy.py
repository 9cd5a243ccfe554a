"""Errors against closed forms: at three tolerances, and as a function of the number of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import chetaev as ch
from measure.exact import Known, known

TOLERANCES = (1e-6, 1e-9, 1e-12)
METHODS: dict[str, tuple[Any, int, list[float]]] = {
    "explicit, order 8": (None, 8, [10.0**-k for k in range(5, 12)]),
    "Implicit(), order 5": (ch.Implicit(), 5, [10.0**-k for k in range(4, 9)]),
}
TOLD = 0.75
"""A measured order may fall short of the claimed one by this much: step control is not a fixed step."""


def against_closed_forms() -> list[dict[str, Any]]:
    """The error of every known motion at every tolerance."""
    rows = []
    for case in known():
        motions = [case.run(tolerance=tolerance) for tolerance in TOLERANCES]
        errors = [case.error(motion) for motion in motions]
        good = all(error < 1000 * tolerance for error, tolerance in zip(errors, TOLERANCES, strict=True))
        rows.append({"title": case.title, "source": case.source, "errors": errors, "steps": [len(m.t) - 1 for m in motions], "good": good})
    return rows


def orders() -> list[dict[str, Any]]:
    """The measured order of every method: how the error falls with the number of steps."""
    cases = [case for case in known() if case.title.startswith(("Cartesian", "skate", "damped", "Heisenberg", "Pais"))]
    return [_order(case, name) for name in METHODS for case in cases]


def _order(case: Known, name: str) -> dict[str, Any]:
    method, claimed, tolerances = METHODS[name]
    motions = [case.run(tolerance=tolerance, method=method) for tolerance in tolerances]
    steps = np.array([len(motion.t) - 1.0 for motion in motions])
    errors = np.array([case.error(motion) for motion in motions])
    kept = (errors > 1e-12) & (errors < 1e-2)
    slope = float(-np.polyfit(np.log(steps[kept]), np.log(errors[kept]), 1)[0]) if kept.sum() > 2 else float("nan")
    good = bool(np.isnan(slope) or slope > claimed - TOLD)
    return {
        "method": name,
        "title": case.title,
        "claimed": claimed,
        "measured": slope,
        "steps": steps.tolist(),
        "errors": errors.tolist(),
        "good": good,
    }
