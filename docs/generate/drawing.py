"""Pictures of the gallery: a frame of the scene, the coordinates over time, and the motion as a page to play with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.text import Text

import chetaev as ch

SHOWN = 0.62
"""Where in the interval the frame is taken: far enough for a trace, before the end."""
MOST = 6
"""Coordinates in one picture."""
FILM = "film.html"


def draw_system(name: str, motion: ch.Trajectory, folder: Path) -> list[tuple[str, str, str]]:
    """Draw into the folder; file, text for those who cannot see it, and caption of every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    title = motion.equations.system.name
    animation = ch.animate(motion)
    t = float(np.interp(SHOWN, [0, 1], [motion.t[0], motion.t[-1]]))
    thumbnail(animation.frame(t), folder / "thumbnail.png")
    animation.save(folder / FILM)
    ch.plot.series(motion, names(motion)).savefig(folder / "series.svg")
    return [("series.svg", f"{title}, quantities over time", "The motion of the model's own start and values.")]


def thumbnail(frame: Any, file: Path) -> None:
    """A small picture without words, for the list of systems."""
    for text in frame.findobj(Text):
        text.set_visible(False)
    frame.savefig(file, dpi=110, bbox_inches="tight", pad_inches=0.05)


def names(motion: ch.Trajectory) -> list[str]:
    """What to draw over time: coordinates, or the velocities of group coordinates."""
    system = motion.equations.system
    turning = {component.base for group in system.groups.values() for component in group.components}
    plain = [q.name for q in system.coordinates if q.base not in turning]
    return [*(f"{q.name}'" for q in system.coordinates if q.base in turning), *plain][:MOST]
