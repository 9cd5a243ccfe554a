"""The archive of a motion: plain members, each checked before it is read, and digests that reveal changes."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

Array = NDArray[np.float64]

FORMAT, VERSION = "chetaev motion", 3
"""The name and version of the format; files with another version are refused."""
_MODEL, _DIGESTS = "model.json", "digests.json"
_LARGEST_MODEL = 64_000_000
"""Bytes: largest size of `model.json` that is read, a limit for hostile files."""
_BLOCK = 1 << 20
"""Bytes per read while digests are computed."""


class Altered(Exception):
    """Raised for a file that was changed after it was saved."""


def write(target: Any, model: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write an archive to a path or a stream. A fixed date in each entry makes equal motions equal files."""
    text = json.dumps(model, indent=1, ensure_ascii=False, allow_nan=False).encode()
    numbers: dict[str, str] = {}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_MODEL), text)
        for name, values in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                digested = _Digested(stream)
                npy.write_array(digested, np.ascontiguousarray(values, dtype="<f8"), version=(1, 0), allow_pickle=False)
            numbers[f"{name}.npy"] = digested.digest.hexdigest()
        digests = {"model": hashlib.sha256(text).hexdigest(), "numbers": _joined(numbers)}
        archive.writestr(zipfile.ZipInfo(_DIGESTS), json.dumps(digests).encode())


class Archive:
    """The members of a file, each checked before it is read. Nothing is compressed, so no member is larger than the file."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self.archive, self.size = archive, size

    def model(self) -> dict[str, Any]:
        """Return the description of the motion; raise if the file was changed after it was saved, before anything is used."""
        text = self._bytes(_MODEL, _LARGEST_MODEL)
        model = json.loads(text.decode())
        if not isinstance(model, dict) or model.get("format") != FORMAT:
            raise ValueError("no model inside")
        if model.get("version") != VERSION:
            raise ValueError(f"version {model.get('version')!r} of the format is not known here, only {VERSION}")
        self._compare(text)
        return model

    def array(self, name: str, *shape: int | None, finite: bool = True) -> Array:
        """An array of floats of a given shape, finite unless `finite` is false; None leaves a length open."""
        info = self.archive.getinfo(f"{name}.npy")
        self._check(info)
        with self.archive.open(info) as stream:
            if npy.read_magic(stream) != (1, 0):
                raise ValueError(f"{name} is not in version 1.0 of the npy format")
            found, fortran, dtype = npy.read_array_header_1_0(stream)
            rest = info.file_size - stream.tell()
            fits = len(found) == len(shape) and all(want in (None, have) for want, have in zip(shape, found, strict=True))
            if fortran or dtype != np.dtype("<f8") or not fits or 8 * math.prod(found) != rest:
                raise ValueError(f"{name} is an array of shape {found} and type {dtype}")
            values = np.frombuffer(stream.read(rest), dtype="<f8").reshape(found).astype(np.float64)
        if finite and not np.isfinite(values).all():
            raise ValueError(f"{name} holds a number that is not finite")
        return values

    def _compare(self, text: bytes) -> None:
        """Raise if the model or the numbers are not those that were saved."""
        names = self.archive.namelist()
        if len(set(names)) < len(names):
            raise ValueError("a member occurs twice")
        try:
            said = json.loads(self._bytes(_DIGESTS, _BLOCK).decode())
        except KeyError:
            raise Altered("its digests are missing") from None
        if hashlib.sha256(text).hexdigest() != said["model"]:
            raise Altered("its model is not the one that was saved")
        numbers = {name: self._digest(name) for name in names if name not in (_MODEL, _DIGESTS)}
        if _joined(numbers) != said["numbers"]:
            raise Altered("its numbers are not those that were saved")

    def _digest(self, name: str) -> str:
        info = self.archive.getinfo(name)
        self._check(info)
        found = hashlib.sha256()
        with self.archive.open(info) as stream:
            while block := stream.read(_BLOCK):
                found.update(block)
        return found.hexdigest()

    def _bytes(self, name: str, most: int) -> bytes:
        info = self.archive.getinfo(name)
        self._check(info)
        if info.file_size > most:
            raise ValueError(f"{name} is too large")
        return self.archive.read(info)

    def _check(self, info: zipfile.ZipInfo) -> None:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > self.size or info.file_size != info.compress_size:
            raise ValueError(f"{info.filename} is compressed")


class _Digested:
    """A stream that digests what is written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.digest = stream, hashlib.sha256()

    def write(self, block: Any) -> None:
        self.digest.update(block)
        self.stream.write(block)


def _joined(digests: Mapping[str, str]) -> str:
    """One digest of the names and the digests of all members."""
    lines = "".join(f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()
