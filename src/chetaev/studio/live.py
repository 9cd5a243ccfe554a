"""The page of a motion with sliders for its parameters and initial values, with ranges around the values of the model."""

from __future__ import annotations

import math
from typing import Any

from chetaev.core.errors import ChetaevError
from chetaev.mechanics.model import Model
from chetaev.numerics.motion.settings import model_of
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory
from chetaev.plot.animation import animate
from chetaev.plot.scenes.live.sliders import read_sliders

_MOST_SLIDERS = 12
"""Largest number of sliders of a page; more would push the picture out of sight. Parameters come first, then velocities, then positions."""


def motion_page(model: Model) -> dict[str, Any]:
    """Return the page of a motion, with its outcome and a note for the page of the studio."""
    motion = simulate(model)
    found = {"outcome": str(motion.outcome), "message": motion.message, "certified": bool(motion.certificate.ok)}
    sliders, reason = slider_ranges(motion)
    if sliders:
        try:
            return {**found, "sliders": list(sliders), "note": "", "html": animate(motion, sliders=sliders).page()}
        except ChetaevError as fault:
            reason = fault.what
    note = f"Without sliders: {reason}" if reason else ""
    return {**found, "sliders": [], "note": note, "html": animate(motion).page()}


def slider_ranges(motion: Trajectory) -> tuple[dict[str, tuple[float, float]], str]:
    """Return ranges of the values that can be changed, or the reason why there are none."""
    if motion.asked is None or motion.asked.besides:
        return {}, "a page cannot compute this motion."
    model = model_of(motion)
    candidates = {p.name: around_parameter(float(motion[p.name][0])) for p in motion.equations.system.parameters}
    given = [str(name) for name in model.start.fixed]
    jets = [z for z in motion.jets if z.name in given]
    for z in sorted(jets, key=lambda z: z.order == 0):  # velocities first, because they change the motion most
        candidates[z.name] = around_start(float(motion[z.name][0]))
    found: dict[str, tuple[float, float]] = {}
    reason = "no value of this motion can be changed."
    for name, limits in candidates.items():
        if len(found) == _MOST_SLIDERS:
            break
        try:
            read_sliders({name: limits}, motion, model, "sliders")
        except ChetaevError as fault:  # determined by the constraints, or not computed by a page
            reason = fault.what
        else:
            found[name] = limits
    return found, reason


def around_parameter(value: float) -> tuple[float, float]:
    """A range that keeps the sign: a mass stays positive."""
    if value == 0:
        return -1.0, 1.0
    low, high = sorted((_rounded(value / 4), _rounded(value * 2.5)))
    return low, high


def around_start(value: float) -> tuple[float, float]:
    """A range that contains an initial value in its interior."""
    reach = max(1.0, 2 * abs(value))
    return _rounded(value - reach), _rounded(value + reach)


def _rounded(value: float) -> float:
    """The value rounded to two digits."""
    return value if value == 0 or not math.isfinite(value) else float(f"{value:.2g}")
