"""A process that has imported everything and forks a process for each job: `main` with the argument FD.

A fork takes some milliseconds and starts with all modules loaded, so that a job can be ended at any time by ending its process. The fork
server has one thread. It receives on the socket FD the letter `j` with a socket of the job, or `k` with the id of a process to end.
When that socket is closed, because the server has ended in any way, the fork server ends all processes and exits.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

NUMBER = struct.Struct("!q")
"""The format of process ids and lengths in messages."""
JOB, END = b"j", b"k"
"""The two messages."""
MEMORY = 1 << 30
"""Bytes that a job may use beyond the memory of the fork server: a gigabyte suffices for every model that runs within twenty seconds."""
CPU_SECONDS = 30
"""Seconds of CPU time after which the system ends a process whose fork server is gone; above the time limit of a request."""
_LARGEST_FILE = 1 << 24
"""Bytes that a job may write to a file. Jobs write none; libraries may write caches of some megabytes."""
_PAUSE = 0.25
"""Seconds between checks for processes that have ended."""
_SAMPLE = """name = "sample"
lagrangian = "m/2*(x'^2 + y'^2) + J/2*theta'^2 - c*x^2/2"
[coordinates]
x = "line"
y = "line"
theta = "angle"
[parameters]
m = 1.0
J = 0.5
c = 0.1
[constraints]
kinematic = ["y'*cos(theta) - x'*sin(theta) = 0"]
[principle]
name = "dalembert"
[initial]
fixed = ["x = 0.1", "y = 0.4", "theta = -0.3", "x' = -0.8", "theta' = 1.1"]
[simulate]
t = [0.0, 1.0]
"""
"""A model that is used once with every part, to load and compile everything that forked processes share."""


def main() -> None:
    """Serve until the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    children: set[int] = set()
    warming: Iterator[None] = _warm()
    warm = False
    try:
        while True:
            ready, _, _ = select.select([control], [], [], 0 if not warm else _PAUSE)
            if ready and not _message(control, children):
                return
            if not warm:
                warm = next(warming, True) is True
            _reap(children)
    finally:
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _warm() -> Iterator[None]:
    """Import and use everything step by step; jobs that arrive early are served between the steps."""
    from chetaev.studio.answers import answer

    sweep = {"over": {"name": "c", "low": 0.1, "high": 0.2, "count": 2}, "measure": "x"}
    for verb in ("derive", "analyze", "motion", "simulate", "code", "sweep"):
        yield
        answer(verb, {"text": _SAMPLE, **sweep})
        gc.collect()
        gc.freeze()  # later collections do not visit existing objects, so that forked processes share their memory pages


def _message(control: socket.socket, children: set[int]) -> bool:
    """Handle one message; False if the server is gone."""
    letter, handles, _, _ = socket.recv_fds(control, 1, 1)
    if letter == JOB and handles:
        children.add(_fork(control, handles[0]))
        os.close(handles[0])
    elif letter == END:
        [pid] = NUMBER.unpack(received(control, NUMBER.size))
        if pid in children:  # not yet waited for, so the id still belongs to the child
            os.kill(pid, signal.SIGKILL)
    return bool(letter)


def _reap(children: set[int]) -> None:
    for pid in tuple(children):
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                children.discard(pid)


def _fork(control: socket.socket, handle: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        control.close()
        with socket.socket(fileno=handle) as connection:
            _work(connection)
        status = 0
    except (OSError, EOFError):  # the server no longer waits for the answer
        pass
    finally:
        os._exit(status)  # without the exit handlers of the fork server


def _work(connection: socket.socket) -> None:
    """Read a request, compute its answer within the limits, and send it."""
    connection.sendall(NUMBER.pack(os.getpid()))
    [length] = NUMBER.unpack(received(connection, NUMBER.size))
    verb, body = json.loads(received(connection, length))
    _limit()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    connection.sendall(_answered(verb, body))


def _answered(verb: str, body: Any) -> bytes:
    from chetaev.studio.answers import answer
    from chetaev.studio.faults import own_fault
    from chetaev.studio.request import MalformedError

    try:
        found = answer(verb, body)
    except MalformedError as fault:
        found = {"malformed": str(fault)}
    except BaseException as fault:
        found = own_fault(fault)
    return json.dumps(found, allow_nan=False).encode()


def _limit() -> None:
    """Bound memory, time and files of this process."""
    import resource

    bounds = {
        resource.RLIMIT_AS: _used() + MEMORY,
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: _LARGEST_FILE,
    }
    for kind, bound in bounds.items():
        with suppress(ValueError, OSError):  # a lower limit is already set, or the system has no such limit
            resource.setrlimit(kind, (bound, bound))


def _used() -> int:
    """Bytes of address space of this process; a generous estimate if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as status:
            return int(status.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 4 * MEMORY


def received(connection: socket.socket, length: int) -> bytes:
    """Return `length` bytes; raise an EOFError if the other end closes before."""
    parts: list[bytes] = []
    while length:
        part = connection.recv(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
