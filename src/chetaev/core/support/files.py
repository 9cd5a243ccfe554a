"""Files that are whole: the old one until the new one is complete, whatever happens in between.

Everything the library writes goes through `replacing`: to a temporary file in the same folder, from there to the disk, and then by one
renaming into its place. A full disk, a crash or `kill -9` at any moment leaves the old file as it was. Who writes holds a lock on the
temporary file, so that one whose writer was killed is known, and removed when the same file is written again.
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

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
"""Opens a pipe at once, whether or not somebody writes to it; systems without the flag have no such pipes."""
_PATIENCE = 2.0
"""Seconds to wait for somebody who opens the other end of a pipe: a shell does so within milliseconds."""
_LONGEST_NAME = 200
"""Characters of a name that leave room for the temporary one's addition: file systems allow 255 bytes."""
_ABANDONED = 86_400.0
"""Seconds after which a temporary file counts as left behind where there are no locks: nothing takes a day to write."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside a file, with the same ending; it becomes the file when the block ends without an exception.

    Links are followed. The new file has the permissions of the old one. What is no file, such as `/dev/stdout` or a pipe, has nothing to
    be kept and is written to directly.
    """
    target = Path(os.path.realpath(_nameable(path)))
    before = _status(target)
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if before is not None and not stat.S_ISREG(before.st_mode):
        yield target
        return
    _clear(target)
    beside = _temporary(target)
    held = _held(beside)
    try:
        yield beside
        _finished(beside, before)
        os.replace(beside, target)
    finally:
        with suppress(OSError):  # gone if all went well
            beside.unlink()
        if held is not None:
            os.close(held)
    _remembered(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text as UTF-8, its line ends as they are."""
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], contents: bytes) -> Path:
    """Write bytes."""
    with replacing(path) as beside:
        beside.write_bytes(contents)
    return Path(path)


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """A file to be read at any place; pipes and devices are none, and opening a pipe to which nobody writes would take for ever."""
    handle = _opened(path)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is a pipe, a device or a folder, not a file", str(path))
    return os.fdopen(handle, "rb")


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """What a file or a pipe holds, up to a number of bytes: a device may have no end, and a pipe no beginning."""
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
    return os.open(_nameable(path), os.O_RDONLY | _NO_WAITING | getattr(os, "O_BINARY", 0))


def _first_of_a_pipe(handle: int, path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a pipe, or none if somebody is about to write some; an error where nobody comes to write."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            found = os.read(handle, 1)
        except BlockingIOError:  # somebody has the other end
            return b""
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError(errno.ETIMEDOUT, f"it is a pipe, and nobody wrote to it within {_PATIENCE:g} seconds", str(path))


def require_ending(path: Any, known: Sequence[str], where: str) -> str:
    """The ending of a path in small letters, if it is a known one; a file says by its name what is in it."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{path!r} is not a path.", where=where, hint=f'"file{known[0]}"')
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in known:
        meant = did_you_mean(ending, known) if ending else ""
        said = f"with the ending {file.suffix}" if file.suffix else "without an ending"
        hint = f"{meant}  one of {' '.join(f'{file.stem}{one}' for one in known)}".strip()
        raise UsageError(f"files {said} are not written.", where=where, hint=hint)
    return ending


def _nameable(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """A path that the system can have; one with a zero byte or with half a character it cannot, and says so by another error."""
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
    """A new empty file in the same folder, so that it can be renamed; its ending tells other programs what to write."""
    beside = target.with_name(f"{_beginning(target)}{secrets.token_hex(6)}{target.suffix}")
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    return beside


def _beginning(target: Path) -> str:
    return f".{target.stem if len(os.fsencode(target.name)) <= _LONGEST_NAME else ''}."


def _held(beside: Path) -> int | None:
    """A lock on a file, which the system gives up when this process ends in whatever way; None where there are no locks."""
    if fcntl is None:
        return None
    handle = os.open(beside, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def _clear(target: Path) -> None:
    """Remove temporary files of writers that were killed while they wrote the same file."""
    name = re.compile(rf"{re.escape(_beginning(target))}[0-9a-f]{{12}}{re.escape(target.suffix)}")
    with suppress(OSError):  # a folder that may be written to, but not listed
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(file: Path) -> None:
    held = _held(file)
    if held is None and (fcntl is not None or time.time() - file.stat().st_mtime < _ABANDONED):
        return  # somebody is writing it, or may be
    file.unlink()
    if held is not None:
        os.close(held)


def _finished(beside: Path, before: os.stat_result | None) -> None:
    """The file on the disk, with the permissions of the one it replaces."""
    if before is not None:
        os.chmod(beside, stat.S_IMODE(before.st_mode))
        if hasattr(os, "chown") and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(OSError):  # only some may give files away
                os.chown(beside, before.st_uid, before.st_gid)
    handle = os.open(beside, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remembered(folder: Path) -> None:
    """The renaming on the disk too, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
