"""Files that the command line writes: texts and tables of motions."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from chetaev.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from chetaev.trajectory import Trajectory

_TABLES = (".csv", ".nc", ".npz")


def write_text(path: Path, text: str) -> Path:
    """Write a text, or say why that is not possible."""
    try:
        path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError as cause:
        raise UsageError(f"the file cannot be written: {cause.strerror or cause}.", where=str(path), hint="another path") from None
    return path


def check_output(given: str, suffixes: tuple[str, ...] = _TABLES) -> None:
    """Refuse before a long run what could not be written after it."""
    path = Path(given)
    if given != "-" and path.suffix.lower() not in suffixes:
        meant = did_you_mean(path.suffix, suffixes) if path.suffix else ""
        hint = f"{meant}  one of {' '.join(f'{path.stem}{suffix}' for suffix in suffixes)}".strip()
        raise UsageError(
            f"files {f'with the ending {path.suffix}' if path.suffix else 'without an ending'} are not written.", where=given, hint=hint
        )
    if given != "-" and not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}.", where=given, hint=f"mkdir -p {path.parent}")


def write_motion(motion: Trajectory, given: str, points: int | None) -> str:
    """Write a motion by the ending of the file; `-` is standard output."""
    suffix = Path(given).suffix.lower()
    if suffix == ".npz":
        return str(motion.save(given))
    names, times, columns = _columns(motion, points)
    if suffix == ".nc":
        _write_netcdf(motion, given, times, dict(zip(names, columns, strict=True)))
    elif given == "-":
        _write_csv(sys.stdout, names, times, columns)
    else:
        try:
            with open(given, "w", encoding="utf-8", newline="") as stream:
                _write_csv(stream, names, times, columns)
        except OSError as cause:
            raise UsageError(f"the file cannot be written: {cause.strerror or cause}.", where=given, hint="another path") from None
    return f"{given}: {len(names)} columns at {len(times)} times" + ("" if points else "; --points N for evenly spaced ones")


def _columns(motion: Trajectory, points: int | None) -> tuple[tuple[str, ...], Any, list[Any]]:
    """Names, times and values of a table: every step, or evenly spaced times."""
    import numpy as np

    from chetaev.storage import column_names

    names = column_names(motion)
    if points is None:
        return names, motion.t, [motion[name] for name in names]
    times = np.linspace(motion.t[0], motion.end[0], points)
    section = motion.at(times)
    return names, times, [section[name] for name in names]


def _write_csv(stream: TextIO, names: tuple[str, ...], times: Any, columns: list[Any]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["t", *names])
    for k, t in enumerate(times):
        writer.writerow([repr(float(t)), *[repr(float(column[k])) for column in columns]])


def _write_netcdf(motion: Trajectory, given: str, times: Any, columns: dict[str, Any]) -> None:
    whole = motion.to_xarray()  # says what to install where xarray is missing
    data = type(whole)({name: ("t", values) for name, values in columns.items()}, {"t": times}, whole.attrs)
    try:
        data.to_netcdf(given, engine="scipy")
    except OSError as cause:
        raise UsageError(f"the file cannot be written: {cause.strerror or cause}.", where=given, hint="another path") from None
