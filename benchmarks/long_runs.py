"""(d) Long runs: what energy and constraints do over T = 1e4, with projection and without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loop import recorded
from measure import Effort, Table, figures, seconds_of

import chetaev as ch
from chetaev.numerics.methods import dop853

T = 1e4
TOLERANCE = 1e-12
_STEPS = 20_000_000


def tables(effort: Effort) -> list[Table]:
    """Both pendulums, every way of projecting."""
    found = Table(
        "(d) Long runs",
        ["system", "projection", "relative energy error", "constraint", "steps", "CPU"],
        f"T = {T:g}, tolerance {TOLERANCE:g}. Energy error: the largest of all steps, relative to the energy at the start. Constraint: the "
        "largest residual of all steps and of all constraints, hidden ones too. One run each.",
    )
    for name in ("spherical_pendulum", "cartesian_pendulum"):
        model = ch.gallery(name)
        equations = ch.derive(model)
        start = float(ch.evaluate(model)[model.invariants["energy"]])
        for way, conserve in (("constraints", None), ("constraints and energy", "energy")):
            with recorded() as calls:
                motions: list[Any] = []
                spent = seconds_of(lambda: motions.append(_motion(equations, model, conserve)))  # noqa: B023 - called at once
            motion = motions[0]
            free = len(motion.drift) == 1
            label = {"constraints": "none: no constraints", "constraints and energy": "energy"}[way] if free else way
            found.add(model.name, label, *_cells(motion.drift_absolute, start), motion.counts["accepted"], f"{figures(spent)} s")
            if conserve is None and not free and len(calls) == 1:
                bare: list[dop853.Run] = []
                spent = seconds_of(lambda: bare.append(calls[0].again(project=False)))  # noqa: B023
                drift = dict(zip(motion.drift, map(float, bare[0].measured), strict=False))
                found.add(model.name, "none", *_cells(drift, start), int(bare[0].accepted), f"{figures(spent)} s")
    return [found]


def _motion(equations: ch.Equations, model: ch.Model, conserve: str | None) -> ch.Trajectory:
    return ch.simulate(
        equations,
        model.start,
        (0.0, T),
        parameters=model.parameters,
        tolerance=TOLERANCE,
        keep="final",
        max_steps=_STEPS,
        conserve=conserve,
    )


def _cells(drift: Mapping[str, float], energy: float) -> tuple[float, float | None]:
    constraints = [size for name, size in drift.items() if name != "balance"]
    return drift["balance"] / abs(energy), max(constraints, default=None)
