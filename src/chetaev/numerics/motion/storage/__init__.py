"""Motions in files: save and load.

A saved motion is a self-describing `.npz` archive. `model.json` in it holds the system as arguments of the constructor, the principle, the
values and the outcome; the other members are plain arrays of numbers, readable by `numpy.load`, and `digests.json`, which reveals changes
of the file. Nothing in a file is executed or unpickled: `load` reads texts with the parser of the notation and derives the equations again.

    unzip -p motion.npz model.json

`writing` makes the members of a file, `archive` packs and unpacks them, `reading` makes a motion of them; `specs` has principles and
methods in `model.json`, `tables` has data frames and the files of other programs.
"""

from __future__ import annotations

import zipfile
from io import BytesIO
from os import PathLike
from pathlib import Path

from chetaev.core.errors import ChetaevError, ModelError, NotationError
from chetaev.core.support.files import open_file, replacing, require_ending
from chetaev.numerics.motion.storage.archive import Altered, Archive
from chetaev.numerics.motion.storage.reading import read_motion
from chetaev.numerics.motion.storage.tables import (
    column_names,
    to_pandas,
    to_xarray,
    write_csv,
    write_mat,
    write_netcdf,
    write_parquet,
)
from chetaev.numerics.motion.storage.writing import write_motion
from chetaev.numerics.motion.trajectory import Trajectory

__all__ = ["column_names", "load", "packed", "save", "to_pandas", "to_xarray", "unpacked"]

_BINARY_TABLES = {".nc": write_netcdf, ".mat": write_mat, ".parquet": write_parquet}
"""The functions that write tables in formats of other programs."""
ENDINGS = (".npz", ".csv", *_BINARY_TABLES)
"""The formats of a motion: the whole motion for `load`, or a table of numbers."""


def save(motion: Trajectory, path: str | PathLike[str], points: int | None = None) -> Path:
    """Write a motion to a file; returns the path.

    The ending decides the format: `.npz` is the motion with its model and dense output, which `load` reads; `.csv`, `.nc`, `.mat` and
    `.parquet` are tables of all columns, at every step or at `points` evenly spaced times.
    """
    where = f"save the motion of {motion.equations.system.label}"
    ending = require_ending(path, ENDINGS, where)
    try:
        with replacing(path) as beside:
            if ending == ".npz":
                write_motion(motion, beside)
            elif ending in _BINARY_TABLES:
                _BINARY_TABLES[ending](beside, motion, points)
            else:
                with open(beside, "w", encoding="utf-8", newline="") as stream:
                    write_csv(stream, motion, points)
    except OSError as cause:
        raise ModelError(f"the file cannot be written ({cause.strerror or cause}).", where=where, hint="another path") from None
    return Path(path)


def packed(motion: Trajectory) -> bytes:
    """Return a motion as the bytes of the file that `save` would write, for pickling."""
    stream = BytesIO()
    write_motion(motion, stream)
    return stream.getvalue()


def unpacked(content: bytes) -> Trajectory:
    """Return the motion from the bytes of `packed`."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return read_motion(Archive(archive, len(content)))


def load(path: str | PathLike[str]) -> Trajectory:
    """Return the motion in a file that `save` wrote; the equations are derived again, and every expression can be read."""
    where = f"load {Path(path).name!r}"
    try:
        with open_file(path) as stream, zipfile.ZipFile(stream) as archive:
            return read_motion(Archive(archive, Path(path).stat().st_size))
    except Altered as fact:
        why = "A motion is numbers, and the model they were computed for; changed by hand the two do not belong together."
        raise ModelError(f"the file was altered after it was saved: {fact}.", where=where, why=why, hint="simulate again") from None
    except ChetaevError as error:
        why = "  ".join(filter(None, (error.why, f"({error.where})")))
        cause = error if isinstance(error, NotationError) else None  # its message shows the place in the text, which this one does not
        raise ModelError(("the model in the file is not valid: ", *error.fact), where=where, why=why, hint=error.advice) from cause
    except OSError as cause:
        raise ModelError(f"the file cannot be read ({cause.strerror or cause}).", where=where) from None
    except Exception as cause:  # any error that a damaged or hostile file causes
        detail = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        raise ModelError(f"this is not a motion that save wrote ({detail}).", where=where, hint="save the motion again") from cause
