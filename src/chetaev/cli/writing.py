"""Output files: texts and tables of motions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chetaev.core.errors import UsageError
from chetaev.core.support import files

if TYPE_CHECKING:
    from chetaev.numerics.motion.trajectory import Trajectory

_TABLES = (".csv", ".nc", ".npz")


def write_text(path: Path, text: str) -> Path:
    """Write a text; raise a UsageError if the file cannot be written."""
    try:
        files.write_text(path, text if text.endswith("\n") else text + "\n")
    except OSError as cause:
        raise UsageError(f"the file cannot be written: {cause.strerror or cause}.", where=str(path), hint="another path") from None
    return path


def check_output(given: str, suffixes: tuple[str, ...] = _TABLES) -> None:
    """Raise before a long run if the file could not be written after it."""
    if given == "-":
        return
    files.require_ending(given, suffixes, given)
    path = Path(given)
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}.", where=given, hint=f"mkdir -p {path.parent}")


def write_motion(motion: Trajectory, given: str, points: int | None) -> str:
    """Write a motion in the format of the file's ending; `-` is standard output. Return a line about the file."""
    from chetaev.numerics.motion.storage.tables import column_names, write_csv

    if given == "-":
        write_csv(sys.stdout, motion, points)
    else:
        motion.save(given, points)
    if given.lower().endswith(".npz"):
        return given
    times = len(motion.t) if points is None else points
    told = f"{given}: {len(column_names(motion))} columns at {times} times"
    return told + ("" if points else "; --points N for evenly spaced ones")
