"""Atomic writing of files, and reading of files that may be pipes or devices.

The library writes only through `replacing`: to a temporary file in the same folder, then to the disk, then by one rename to its place. A
full disk, a crash or `kill -9` at any moment leaves the old file as it was. The writer holds a lock on the temporary file; a temporary
file without a lock was left by a killed writer and is removed when the same file is written again.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from chetaev.core.errors import UsageError, did_you_mean
from chetaev.core.fixes import sentences

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
"""Flag that opens a pipe without waiting for a writer; systems without the flag have no such pipes."""
_SECONDS_FOR_WRITER = 2.0
"""Seconds to wait for a writer on a pipe. A shell connects one within milliseconds; a pipe without a writer is an error after this time."""
_LONGEST_NAME = 200
"""Bytes of a file name that leave room for the addition of the temporary name: file systems allow 255 bytes."""
_ABANDONED = 86_400.0
"""Seconds after which a temporary file counts as abandoned on systems without locks; no file takes a day to write."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, with the same ending; it replaces `path` when the block ends without an exception.

    Links are followed. The new file has the permissions of the old one. Targets that are not regular files, such as `/dev/stdout` or a
    pipe, are written to directly.
    """
    target = Path(os.path.realpath(_valid_path(path)))
    before = _status(target)
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if before is not None and not stat.S_ISREG(before.st_mode):
        yield target
        return
    _remove_leftovers(target)
    beside = _temporary(target)
    held = _locked(beside)
    try:
        yield beside
        _synchronise_file(beside, before)
        os.replace(beside, target)
    finally:
        with suppress(OSError):  # renamed already if nothing failed
            beside.unlink()
        if held is not None:
            os.close(held)
    _synchronise_folder(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text as UTF-8, its line ends as they are."""
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], contents: bytes) -> Path:
    """Write bytes."""
    with replacing(path) as beside:
        beside.write_bytes(contents)
    return Path(path)


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file opened for random access. Pipes and devices are refused; opening a pipe without a writer would block."""
    handle = _opened(path)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is a pipe, a device or a folder, not a file", str(path))
    return os.fdopen(handle, "rb")


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """The contents of a file or a pipe, at most `most` bytes, since a device may have no end."""
    handle = _opened(path)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        first = _first_of_a_pipe(handle, path) if stat.S_ISFIFO(mode) else b""
        if _NO_WAITING:
            os.set_blocking(handle, True)
        found = bytearray(first)
        while len(found) < most and (block := os.read(handle, most - len(found))):
            found += block
        return bytes(found)
    finally:
        os.close(handle)


def _opened(path: str | os.PathLike[str]) -> int:
    return os.open(_valid_path(path), os.O_RDONLY | _NO_WAITING | getattr(os, "O_BINARY", 0))


def _first_of_a_pipe(handle: int, path: str | os.PathLike[str]) -> bytes:
    """The first byte of a pipe, or nothing if a writer is connected; a TimeoutError if there is no writer within `_SECONDS_FOR_WRITER`."""
    until = time.monotonic() + _SECONDS_FOR_WRITER
    while time.monotonic() < until:
        try:
            found = os.read(handle, 1)
        except BlockingIOError:  # a writer has opened the other end
            return b""
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError(errno.ETIMEDOUT, f"it is a pipe without a writer; waited {_SECONDS_FOR_WRITER:g} seconds", str(path))


def require_ending(path: Any, known: Sequence[str], where: str) -> str:
    """The ending of `path` in lower case; a UsageError if it is not among `known`."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{path!r} is not a path.", where=where, hint=f'"file{known[0]}"')
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in known:
        meant = did_you_mean(ending, known) if ending else None
        said = f"with the ending {file.suffix}" if file.suffix else "without an ending"
        hint = sentences(meant, f"one of {' '.join(f'{file.stem}{one}' for one in known)}")
        raise UsageError(f"files {said} are not written.", where=where, hint=hint)
    return ending


def _valid_path(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """`path`, if a file system can have it; an OSError for one with a zero byte or an unpaired surrogate."""
    try:
        if b"\0" in os.fsencode(path):
            raise OSError(errno.EINVAL, "a name has no zero byte", str(path))
    except UnicodeEncodeError:
        raise OSError(errno.EINVAL, "the name has a character that no file can have", str(path)) from None
    return path


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except FileNotFoundError:
        return None


def _temporary(target: Path) -> Path:
    """A new empty file in the same folder, so that it can be renamed; it has the same ending, by which other programs choose a format."""
    beside = target.with_name(f"{_beginning(target)}{secrets.token_hex(6)}{target.suffix}")
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return beside


def _beginning(target: Path) -> str:
    return f".{target.stem if len(os.fsencode(target.name)) <= _LONGEST_NAME else ''}."


def _locked(beside: Path) -> int | None:
    """A lock on a file, which the system releases when this process ends; None where there are no locks."""
    if fcntl is None:
        return None
    handle = os.open(beside, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of killed writers of the same file."""
    name = re.compile(rf"{re.escape(_beginning(target))}[0-9a-f]{{12}}{re.escape(target.suffix)}")
    with suppress(OSError):  # the folder may be writable but not listable
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(file: Path) -> None:
    held = _locked(file)
    if held is None and (fcntl is not None or time.time() - file.stat().st_mtime < _ABANDONED):
        return  # its writer may still be running
    file.unlink()
    if held is not None:
        os.close(held)


def _synchronise_file(beside: Path, before: os.stat_result | None) -> None:
    """Write the file to the disk, with the permissions of the file that it replaces."""
    if before is not None:
        os.chmod(beside, stat.S_IMODE(before.st_mode))
        if hasattr(os, "chown") and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(OSError):  # only privileged processes may change the owner
                os.chown(beside, before.st_uid, before.st_gid)
    handle = os.open(beside, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _synchronise_folder(folder: Path) -> None:
    """Write the renaming to the disk, where the system supports that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
