"""Frames of a traceback or of a call: which are the library's, which those of other packages, and which the user's own."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from types import FrameType, TracebackType

_LIBRARY = "chetaev"
"""The package whose frames are left out."""


def without_library(trace: TracebackType | None, *, others: bool) -> TracebackType | None:
    """Return a traceback without the frames of the library; frames of other installed packages and of Python stay if `others`."""
    kept: list[TracebackType] = []
    while trace is not None:
        frame = trace.tb_frame
        if not _of_library(frame) and (others or not _installed(frame)):
            kept.append(trace)
        trace = trace.tb_next
    found = None
    for entry in reversed(kept):
        found = TracebackType(found, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return found


def level_of_user() -> int:
    """Return the `stacklevel` by which `warnings.warn`, called where this function is called, names the line that called the library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _of_library(frame):
        level, frame = level + 1, frame.f_back
    return level


def _of_library(frame: FrameType) -> bool:
    """Tell frames of the library by the module, since the file of generated constructors has no name."""
    module = frame.f_globals.get("__name__", "")
    return module == _LIBRARY or module.startswith(_LIBRARY + ".")


def _installed(frame: FrameType) -> bool:
    """Tell whether a frame is of an installed package or of Python itself."""
    top = frame.f_globals.get("__name__", "").partition(".")[0]
    return top in sys.stdlib_module_names or frame.f_code.co_filename.startswith(_folders())


@cache
def _folders() -> tuple[str, ...]:
    """The folders of Python and of installed packages."""
    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
