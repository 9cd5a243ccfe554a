"""The lock of a store: one process at a time writes to it.

The lock is on a file beside the store. The operating system releases it when its process ends in any way, so a lock that is held belongs to
a living process. The file names that process for messages.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from chetaev.core.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_TAKEN = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK)
"""Error codes of the system for a lock that another process holds."""
_LOCKED_BYTE = 1 << 30
"""Offset of the byte that Windows locks: far behind the text of the file, so that others can read the text."""


def lock_path(store: Path) -> Path:
    """The file on which the lock of a store is held."""
    return store.with_name(f".{store.name}.lock")


@contextmanager
def held(store: Path, where: str) -> Iterator[None]:
    """Hold the lock of a store; raise a UsageError if another process, or another sweep of this one, holds it."""
    path = lock_path(store)
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as fault:
            what = f"the folder {path.parent} cannot be written: {fault.strerror}."
            raise UsageError(what, where=where, hint="a folder that you may write to") from None
        if not _try(handle, where):
            os.close(handle)
            raise UsageError(
                f"{store.name} is being written by {owner(store) or 'another process'}.",
                where=where,
                hint=f"wait for it (chetaev sweep status {store.name}), or choose another name",
            )
        if _is_still(path, handle):  # the last owner may have removed the file after we opened it
            break
        os.close(handle)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"host": socket.gethostname(), "process": os.getpid()}).encode())
        yield
    finally:
        with suppress(OSError):  # Windows does not remove an open file; the next owner uses it again
            path.unlink()
        os.close(handle)


def is_held(store: Path) -> bool:
    """Whether a living process writes to a store."""
    try:
        handle = os.open(lock_path(store), os.O_RDWR)
    except OSError:
        return False
    try:
        return not _try(handle, "status")
    finally:
        with suppress(OSError):  # already closed on a file system without locks
            os.close(handle)


def owner(store: Path) -> str:
    """The process that holds the lock, as text; empty if it is unknown."""
    try:
        found: Any = json.loads(lock_path(store).read_text(encoding="utf-8"))
        return f"process {int(found['process'])} on {str(found['host'])[:80]}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _try(handle: int, where: str) -> bool:
    """Take the lock if it is free; return whether it was. Raises a UsageError on a file system without locks."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
    except OSError as fault:
        if fault.errno in _TAKEN:
            return False
        os.close(handle)
        what = f"the file system of the store has no locks: {fault.strerror}."
        raise UsageError(what, where=where, hint="a folder on a disk of this machine; only this process writes there") from None
    return True


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
