"""A film of the motion for the page: a GIF, which every program shows."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

from chetaev.mechanics.model import Model
from chetaev.numerics.motion.simulate import simulate
from chetaev.plot.animation import animate

_SECONDS = 4.0
"""Seconds that a film lasts at most: its hundred pictures take about five seconds to draw, well within the limit of a request."""
_WIDTH = 480
"""Pixels of a film across."""


def film(model: Model) -> dict[str, Any]:
    """Return a film of the motion of a model as text in base 64, with its outcome."""
    motion = simulate(model)
    animation = animate(motion)
    if animation.seconds > _SECONDS:
        animation = animate(motion, seconds=_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        path = animation.save(Path(folder) / "film.gif", width=_WIDTH)
        content = path.read_bytes()
    return {"outcome": str(motion.outcome), "gif": base64.b64encode(content).decode("ascii")}
