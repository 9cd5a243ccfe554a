"""Draw the small pictures of the gallery that notebooks show beside its names: `python tools/gallery_pictures.py [name ...]`.

A picture is a frame of the system's own motion, a PNG of few colours and one to three kilobytes. Systems without a motion have none.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
from matplotlib.text import Text
from PIL import Image

import chetaev as ch

FOLDER = Path(ch.__file__).parent / "gallery" / "pictures"
WIDE, TALL = 120, 80
"""Pixels: the largest width and height of a picture."""
COLOURS = 24
"""Colours of a picture; more make the file larger without a visible difference at this size."""
SHOWN = 0.62
"""Where in the interval the frame is taken: far enough for a trace, before the end."""


def draw(name: str) -> None:
    """Write the picture of a system; say so if it has no motion."""
    try:
        motion = ch.simulate(ch.gallery(name), progress=False)
    except ch.ChetaevError as reason:
        print(f"{name}: no picture. {reason.what}")
        return
    frame = ch.animate(motion).frame(float(np.interp(SHOWN, [0, 1], [motion.t[0], motion.t[-1]])))
    for text in frame.findobj(Text):
        text.set_visible(False)
    held = io.BytesIO()
    frame.savefig(held, format="png", dpi=110, bbox_inches="tight", pad_inches=0.05)
    picture = Image.open(held).convert("RGB")
    picture.thumbnail((WIDE, TALL), Image.Resampling.LANCZOS)
    picture.quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or ch.gallery():
        draw(name)
