"""The Zarr store of a sweep.

Every measure is an array over the dimensions of the sweep, in chunks with a checksum (crc32c); `outcome` has codes of outcomes. `done` has
one entry for each chunk: 0 until all arrays of the chunk are on the disk, then a checksum of their files. Files are replaced as a whole and
synced before `done` is set, so that a process that is killed leaves a chunk either complete or not done.
"""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chetaev.core.errors import ChetaevError, UsageError
from chetaev.core.support.files import write_bytes
from chetaev.sweeps.blocks import blocks, counts_of
from chetaev.sweeps.points import Points
from chetaev.sweeps.record import digest, sealed, unsealed

try:
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec
    from zarr.storage import LocalStore
except ModuleNotFoundError:
    raise UsageError("sweeps need zarr.", where="sweep", hint="pip install zarr") from None

Array = NDArray[np.float64]
Index = tuple[int, ...]

_FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error codes of the system for a full disk and an exhausted quota."""
_EMPTY_TOO: Any = {"write_empty_chunks": True}
"""Zarr setting to write chunks that contain only NaN, so that a missing file always means a lost file."""


class StoreError(ChetaevError):
    """A store of a sweep cannot be read or written."""


class _WholeFiles(LocalStore):
    """A folder whose files are replaced as a whole, and are on the disk when `set` returns."""

    async def set(self, key: str, value: Any) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, value.to_bytes())


class Store:
    """A store that is open for reading or writing."""

    def __init__(self, path: Path, record: Mapping[str, Any], group: Any, where: str) -> None:
        self.path, self.record, self.group, self.where = path, record, group, where
        points = record["points"]
        self.dimensions, self.shape = tuple(points["dimensions"]), tuple(points["shape"])
        self.chunks = tuple(record["chunks"])
        self.names = [*record["measures"], "outcome"]
        self.blocks = blocks(self.shape, self.chunks)
        self.arrays = self._arrays()

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of chunks along each dimension."""
        return counts_of(self.shape, self.chunks)

    def done(self) -> set[Index]:
        """The chunks that are marked as complete; their contents are not read."""
        return {at for at in self.blocks if self._file("done", at).exists()}

    def write(self, at: Index, values: Mapping[str, Array], codes: NDArray[np.uint8]) -> None:
        """Write a chunk: its arrays, then its mark in `done`."""
        block = self.blocks[at]
        shape = tuple(part.stop - part.start for part in block)
        try:
            columns: dict[str, NDArray[Any]] = {**values, "outcome": codes}
            for name, column in columns.items():
                self.arrays[name][block] = column.reshape(shape)
            mark = np.array(self._checksum(at), dtype=np.uint32).reshape((1,) * len(shape))
            self.arrays["done"][tuple(slice(k, k + 1) for k in at)] = mark
        except OSError as fault:
            raise written_not(fault, self.path, self.where) from fault

    def verify(self) -> set[Index]:
        """The complete chunks; raise a StoreError that names those whose files changed after they were written."""
        found = self.done()
        damaged = [at for at in sorted(found) if not self._is_whole(at)]
        if damaged:
            marks = [str(self._file("done", at).relative_to(self.path)) for at in damaged]
            several = len(damaged) > 1
            raise StoreError(
                f"{self.path.name} has {len(damaged)} damaged chunk{'s' * several}: the checksums do not match.",
                where=self.where,
                why=f"Files of these chunks changed or vanished after they were written; the other {len(found) - len(damaged)} are whole.",
                hint=f"remove {', '.join(marks[:5])}{', ...' * (len(marks) > 5)} from the store and call sweep again: "
                "these chunks are computed again",
            )
        return found

    def values(self, name: str, done: set[Index]) -> NDArray[Any]:
        """An array with NaN, or the code 255, at the points of chunks that are not done."""
        whole: NDArray[Any] = np.full(self.shape, 255, np.uint8) if name == "outcome" else np.full(self.shape, np.nan)
        for at in done:
            whole[self.blocks[at]] = self.arrays[name][self.blocks[at]]
        return whole

    def coordinates(self) -> dict[str, Array]:
        """The values of the swept names."""
        points = self.record["points"]
        found: dict[str, Array] = {}
        for name in points["names"]:
            found[name] = _read(self.group, name, self.path, self.where)
            if digest(found[name]) != points["sha256"][name]:
                hint = "restore the folder from a backup, or call sweep with another name"
                raise StoreError(f"the values of {name} in {self.path.name} are damaged.", where=self.where, hint=hint)
        return found

    def _arrays(self) -> dict[str, Any]:
        """The arrays of results; raise a StoreError if the description of one is damaged or missing."""
        wanted = dict.fromkeys(self.record["measures"], (self.shape, self.chunks, "float64"))
        wanted |= {"outcome": (self.shape, self.chunks, "uint8"), "done": (self.counts, (1,) * len(self.counts), "uint32")}
        found: dict[str, Any] = {}
        for name, layout in wanted.items():
            try:
                with zarr.config.set({f"array.{key}": value for key, value in _EMPTY_TOO.items()}):
                    array = self.group[name]
                right = (array.shape, array.chunks, str(array.dtype)) == layout
            except (OSError, ValueError, KeyError, TypeError, AttributeError, zarr.errors.BaseZarrError):
                right = False
            if not right:
                hint = f"restore {name}/zarr.json from a backup; the results beside it were not changed"
                raise StoreError(f"the array {name} of {self.path.name} is damaged or missing.", where=self.where, hint=hint)
            found[name] = array
        return found

    def _is_whole(self, at: Index) -> bool:
        try:
            mark = int(self.arrays["done"][at])
            return mark == self._checksum(at)
        except (OSError, ValueError, KeyError, RuntimeError):  # the mark itself is damaged, or a file is missing
            return False

    def _checksum(self, at: Index) -> int:
        found = 0
        for name in self.names:
            found = zlib.crc32(self._file(name, at).read_bytes(), found)
        return found or 1

    def _file(self, name: str, at: Index) -> Path:
        return self.path.joinpath(name, "c", *map(str, at))


def create(path: Path, record: Mapping[str, Any], points: Points, where: str) -> Store:
    """Create a store under a temporary name, and rename it to `path` when it is complete: a crash leaves nothing at `path`."""
    beside = path.with_name(f".{path.name}.new")
    shutil.rmtree(beside, ignore_errors=True)  # left by a process that was killed; we hold the lock
    try:
        _build(beside, record, points)
        os.replace(beside, path)
    except OSError as fault:
        shutil.rmtree(beside, ignore_errors=True)
        raise written_not(fault, path, where) from fault
    return opened(path, where, writing=True)


def _build(folder: Path, record: Mapping[str, Any], points: Points) -> None:
    group = zarr.create_group(_WholeFiles(folder), attributes=sealed(record), zarr_format=3)
    chunks, shape = tuple(record["chunks"]), points.shape
    for name, values in points.values.items():
        dimension = name if points.is_grid else points.dimensions[0]
        array = _array(group, name, values.shape, values.shape, "float64", [dimension], float("nan"))
        array[:] = values
    for name in record["measures"]:
        _array(group, name, shape, chunks, "float64", points.dimensions, float("nan"))
    codes = _array(group, "outcome", shape, chunks, "uint8", points.dimensions, 255)
    codes.attrs.update({"flag_values": list(range(len(record["outcomes"]))), "flag_meanings": " ".join(record["outcomes"])})
    counts = counts_of(shape, chunks)
    _array(group, "done", counts, (1,) * len(counts), "uint32", [f"chunk of {name}" for name in points.dimensions], 0)


def _array(group: Any, name: str, shape: Any, chunks: Any, kind: str, dimensions: Any, fill: Any) -> Any:
    return group.create_array(
        name,
        shape=shape,
        chunks=chunks,
        dtype=kind,
        compressors=[ZstdCodec(level=3), Crc32cCodec()],
        fill_value=fill,
        dimension_names=list(dimensions),
        config=_EMPTY_TOO,
    )


def opened(path: Path, where: str, writing: bool = False) -> Store:
    """Open an existing store."""
    try:
        group = zarr.open_group(_WholeFiles(path, read_only=not writing), mode="r+" if writing else "r")
        attributes = dict(group.attrs)
    except (OSError, ValueError, KeyError, TypeError, zarr.errors.BaseZarrError):
        attributes, group = {}, None
    record = unsealed(attributes, path.name, where)
    return Store(path, record, group, where)


def _read(group: Any, name: str, path: Path, where: str) -> Array:
    try:
        return np.asarray(group[name][:], dtype=float)
    except (OSError, ValueError, KeyError, RuntimeError) as fault:
        hint = "restore the folder from a backup, or call sweep with another name"
        raise StoreError(f"the values of {name} in {path.name} are damaged.", where=where, why=str(fault), hint=hint) from None


def written_not(fault: OSError, path: Path, where: str) -> StoreError:
    """The error for a store that cannot be written."""
    if fault.errno in _FULL:
        hint = "free some space and make the same call again: it resumes, and all finished chunks are kept"
        return StoreError(f"the disk is full, and {path.name} cannot grow.", where=where, hint=hint)
    reason = fault.strerror or str(fault)
    return StoreError(f"{path.name} cannot be written: {reason}.", where=where, hint="a folder that exists and may be written")
