"""Requests as jobs, each in a separate process.

A later request of the same client, the time limit, or the end of the server ends the process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

from chetaev.core.errors import UsageError
from chetaev.studio.fork_server import END, JOB, NUMBER, received

SECONDS = 20.0
"""Time limit of a request in seconds, including the wait for a free process."""
_QUICK, _LONG = 4, 4
"""Largest numbers of simultaneous processes for `derive` and for all other requests, so that long motions in some tabs do not block typing
in another. Each may use a gigabyte (`fork_server.MEMORY`)."""
_CLIENTS = 1000
"""Number of clients whose last serial is kept; a tab that was not used during a thousand others starts again."""
_LARGEST_ANSWER = 1 << 26
"""Largest answer in bytes; a longer one would fill the memory of the page."""
_HOME = str(Path(__file__).parents[2])
"""The folder of the library, so that the fork server imports the same version."""
CANCELLED = {"ok": False, "cancelled": True, "errors": []}
"""The answer to a request that a later one replaced."""


class _Job:
    """A running request: a socket to its process, and whether it was ended."""

    def __init__(self, serial: float) -> None:
        self.serial = serial
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._pid = 0
        self._fork_server: ForkServer | None = None

    def end(self) -> None:
        """End the process, if there is one, and wake up the thread that waits for its answer."""
        self.ended.set()
        with self._lock:
            if self._line is not None:
                with suppress(OSError):
                    self._line.shutdown(socket.SHUT_RDWR)
            if self._pid and self._fork_server is not None:
                self._fork_server.kill(self._pid)

    def run(self, fork_server: ForkServer, message: bytes, until: float) -> bytes | None:
        """Return the answer; None if the process ended without one. Raises a TimeoutError at the time `until`."""
        own, other = socket.socketpair()
        with own:
            with other, self._lock:
                if self.ended.is_set():
                    return None
                self._line, self._fork_server = own, fork_server
                fork_server.send(other)
            try:
                return self._answer(own, message, until)
            except TimeoutError:
                self.end()
                raise
            except (EOFError, OSError):  # the process ended, or was ended
                return None
            finally:
                with self._lock:
                    self._line, self._pid = None, 0

    def _answer(self, line: socket.socket, message: bytes, until: float) -> bytes:
        _patience(line, until)
        line.sendall(NUMBER.pack(len(message)) + message)
        [pid] = NUMBER.unpack(received(line, NUMBER.size))
        with self._lock:
            self._pid = pid
        if self.ended.is_set():
            self.end()
        parts: list[bytes] = []
        size = 0
        while True:
            _patience(line, until)
            part = line.recv(1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
            size += len(part)
            if size > _LARGEST_ANSWER:
                self.end()
                raise EOFError


def _patience(line: socket.socket, until: float) -> None:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    line.settimeout(left)


class ForkServer:
    """The process that forks; it is restarted if it has ended."""

    def __init__(self) -> None:
        if not hasattr(os, "fork") or not hasattr(socket, "send_fds"):
            raise UsageError(
                "the studio needs a system that can fork processes.",
                where="studio",
                why="Each request runs in a separate process that can be ended.",
                hint="Linux, macOS or the Windows Subsystem for Linux; on any system: chetaev animate my.toml --slider a=0.1:1",
            )
        self._lock = threading.Lock()
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._control, other = socket.socketpair()
        single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # threads do not survive a fork
        start = "from chetaev.studio.fork_server import main; main()"  # -m warns, because the package imports this module first
        command = [sys.executable, "-P", "-c", start, str(other.fileno())]
        with other:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C reaches only the server, and the whole group can be ended
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [_HOME, os.environ.get("PYTHONPATH")])), **single},
            )

    def send(self, line: socket.socket) -> None:
        """Give the fork server the socket of a job."""
        with self._lock:
            try:
                socket.send_fds(self._control, [JOB], [line.fileno()])
            except OSError:
                if self._closed:
                    raise
                self._end_group()
                self._start()
                socket.send_fds(self._control, [JOB], [line.fileno()])

    def kill(self, pid: int) -> None:
        """End the process of a job."""
        with self._lock, suppress(OSError):
            self._control.sendall(END + NUMBER.pack(pid))

    def close(self) -> None:
        """End the fork server and all its processes."""
        with self._lock:
            self._closed = True
            self._end_group()

    def _end_group(self) -> None:
        self._control.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Jobs:
    """All jobs of a server, by client."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._fork_server = ForkServer()
        self._room = {True: threading.Semaphore(_QUICK), False: threading.Semaphore(_LONG)}
        self._lock = threading.Lock()
        self._running: dict[str, list[_Job]] = {}
        self._serials: OrderedDict[str, float] = OrderedDict()

    def run(self, verb: str, body: dict[str, Any], client: str = "", serial: float = 0) -> dict[str, Any]:
        """Return the answer to a request; a later serial of the same client ends earlier ones."""
        job = self._enter(client, serial)
        if job is None:
            return CANCELLED
        until = time.monotonic() + self.seconds
        try:
            found = self._computed(job, verb, json.dumps([verb, body]).encode(), until)
        finally:
            self._leave(client, job)
        return CANCELLED if job.ended.is_set() and found is None else _read(found, self.seconds)

    def _computed(self, job: _Job, verb: str, message: bytes, until: float) -> bytes | None:
        """Return the answer as JSON: empty after the time limit, None if the process ended without one."""
        room = self._room[verb == "derive"]
        while not room.acquire(timeout=0.05):
            if job.ended.is_set():
                return None
            if time.monotonic() > until:
                return b""
        try:
            return job.run(self._fork_server, message, until) or None
        except TimeoutError:
            return b""
        finally:
            room.release()

    def _enter(self, client: str, serial: float) -> _Job | None:
        """Register a job and end the earlier ones of its client; None if a later one is already registered."""
        job = _Job(serial)
        if not client:
            return job
        with self._lock:
            if serial < self._serials.get(client, serial):
                return None
            self._serials[client] = serial
            self._serials.move_to_end(client)
            while len(self._serials) > _CLIENTS:
                self._serials.popitem(last=False)
            others = self._running.setdefault(client, [])
            earlier = [other for other in others if other.serial < serial]
            others.append(job)
        for other in earlier:
            other.end()
        return job

    def _leave(self, client: str, job: _Job) -> None:
        if client:
            with self._lock:
                self._running[client].remove(job)
                if not self._running[client]:
                    del self._running[client]

    def close(self) -> None:
        """End all processes."""
        self._fork_server.close()


def _read(found: bytes | None, seconds: float) -> dict[str, Any]:
    """Return an answer as data, or an answer with an error if there is none."""
    if found:
        answer: dict[str, Any] = json.loads(found)
        return answer
    if found == b"":
        kind, what = "Timeout", f"the request took longer than {seconds:g} seconds and was ended."
        hint = "a shorter interval, a smaller model, or the command line, which has no limit"
    else:
        kind, what = "Memory", "the computation ended without an answer; it may have needed more memory than a request may use."
        hint = "a smaller model, or the command line"
    error = {"kind": kind, "message": what, "hint": hint, "where": "", "line": 1, "column": 1, "length": 1, "fixes": []}
    return {"ok": False, "errors": [error]}
