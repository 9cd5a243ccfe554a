"""Films and pictures in files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from shutil import which
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from chetaev.core.errors import UsageError
from chetaev.core.support.files import replacing

if TYPE_CHECKING:
    from chetaev.plot.animation import Animation

_PICTURES = (".png", ".svg", ".pdf")
_GIF_DELAY = 0.04
"""Seconds between the frames of a GIF. The format counts hundredths of a second, and players slow down below 0.02."""
_GIF_WIDTH = 560
"""Default width of a GIF in pixels; it is smaller than that of films because GIFs are stored frame by frame."""


def write(animation: Animation, path: Path, width: int | None) -> Path:
    """Write a file in the format of the extension of `path`."""
    kind = path.suffix.lower()
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {str(path.parent)!r}.", where=f"save {path.name}", hint="make the folder first")
    if kind not in (".html", ".mp4", ".gif", *_PICTURES):
        raise UsageError(
            f"an animation cannot be written to {kind or 'a file without an extension'}.",
            where=f"save {path.name}",
            hint="one of .mp4 .gif .html .png .svg .pdf",
        )
    try:
        with replacing(path) as beside:
            _write(animation, beside, kind, width)
    except OSError as cause:
        what = f"the file cannot be written: {cause.strerror or cause}."
        raise UsageError(what, where=f"save {path.name}", hint="another path") from None
    return path


def _write(animation: Animation, path: Path, kind: str, width: int | None) -> None:
    if kind == ".html":
        path.write_text(animation.page(), encoding="utf-8")
    elif kind == ".mp4":
        _mp4(animation, path, width)
    elif kind == ".gif":
        _gif(animation, path, width or _GIF_WIDTH)
    else:
        figure = animation.frame()
        figure.savefig(path, dpi=figure.dpi * (1 if width is None else width / (figure.get_figwidth() * figure.dpi)))


def _mp4(animation: Animation, path: Path, width: int | None) -> None:
    """Write an H.264 film, which every browser plays; the frames are passed to ffmpeg one by one."""
    program = _ffmpeg(path)
    pictures = _pictures(animation, range(len(animation.times)), width)
    first = next(pictures)
    rate = (len(animation.times) - 1) / animation.seconds
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{first.shape[1]}x{first.shape[0]}", "-r", f"{rate:.9g}", "-i", "-"]
    wanted = ["-an", "-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    command = [program, "-y", "-v", "error", *given, *wanted, str(path)]
    with TemporaryFile() as complaints, Popen(command, stdin=PIPE, stderr=complaints) as film:  # noqa: S603 - no shell, our own program
        pipe: Any = film.stdin
        try:
            for picture in chain([first], pictures):
                pipe.write(picture.tobytes())
        except BrokenPipeError:
            pass  # ffmpeg ended early; its message is raised below
        finally:
            pipe.close()
        if film.wait() != 0:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip().splitlines()
            raise UsageError("the film could not be written.", where=_where(path), why=said[-1] if said else "", hint="a .gif or .html")


def _where(path: Path) -> str:
    return f"save a film {path.suffix}"


def _ffmpeg(path: Path) -> str:
    """Return the path of the ffmpeg program."""
    try:
        import imageio_ffmpeg
    except ImportError as fault:
        found = which("ffmpeg")
        if found is None:
            raise UsageError("films need imageio-ffmpeg.", where=_where(path), hint="pip install imageio-ffmpeg") from fault
        return found
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def _gif(animation: Animation, path: Path, width: int) -> None:
    try:
        from PIL import Image
    except ImportError as fault:
        raise UsageError("gifs need pillow.", where=_where(path), hint="pip install pillow") from fault
    last = len(animation.times) - 1
    count = max(1, round(animation.seconds / _GIF_DELAY))
    chosen = np.unique(np.rint(np.linspace(0, last, count + 1)).astype(int))
    delay = 10 * round(100 * animation.seconds / len(chosen))
    images = [Image.fromarray(picture).convert("P", palette=Image.Palette.ADAPTIVE) for picture in _pictures(animation, chosen, width)]
    images[0].save(path, save_all=True, append_images=images[1:], duration=delay, loop=0, optimize=False, disposal=1)


def _pictures(animation: Animation, chosen: Any, width: int | None) -> Iterator[Any]:
    """Yield the frames as arrays of pixels of even width and height, which H.264 requires."""
    from chetaev.plot.scenes.matplotlib_painter import Painter

    painter = Painter(animation.drawing, animation.clock)
    figure = painter.figure
    if width is not None:
        figure.set_dpi(figure.dpi * width / (figure.get_figwidth() * figure.dpi))
    for k in chosen:
        painter.draw(int(k))
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3]
        yield pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2]
