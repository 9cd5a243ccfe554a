"""The process that computes for another one: it reads calls from its standard input, counts their work, and writes answers.

Where processes can be forked, each call has a fork of this one: it finds the same state whatever was computed before, so that its count
repeats, and nothing is left half done when it ends. Elsewhere (Windows) the calls run in the process itself, which is replaced when a call
runs out, and lazily built tables of SymPy make counts of first and later calls differ by some per cent.

One thread computes. Another reads the count from time to time and, when the budget is exceeded, writes the answer and ends the process.
The time between its looks does not change the answer, since a value found beyond the budget is not returned either. It also ends the
process when the owner is gone.

Counting takes almost no time: SymPy's cache counts the calls of the constructors of sums, products, powers and of the other functions that
it remembers. Operations on polynomials are counted by replacing a few functions of `sympy.polys`, in this process only. SymPy imports many
of its modules when a function first needs them. That work is not counted, because it depends on what the process was asked before.
"""

from __future__ import annotations

import gc
import importlib
import importlib.machinery
import os
import pickle
import select
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from math import ceil
from types import ModuleType
from typing import Any, BinaryIO

from chetaev.core.support.budget.counting import OPERATIONS, OutOfWork, Tally, allowance
from chetaev.core.support.recursion import deep

HEAD = struct.Struct("<Q")
"""The header of a message: the number of its bytes."""
READY, VALUE, RAISED, RAN_OUT, CLOCK, UNREADABLE = "ready", "value", "raised", "ran out", "clock", "unreadable"
"""The kinds of answers. UNREADABLE: the call or its result cannot be sent."""
FORKS = hasattr(os, "fork")
"""Whether each call runs in a separate process."""
_SECONDS_BETWEEN_LOOKS = 0.02
"""Seconds between two readings of the count. Larger values waste that much work beyond the budget; much smaller ones slow the work down."""
_OPERATIONS_PER_TERM = 0.1
"""Operations for one term of a product of two polynomials: it takes about a microsecond."""
_OPERATIONS_PER_CALL = 0.5
"""Operations for one call that SymPy's cache sees, or one operation on a short polynomial. SymPy makes 100,000 to 300,000 in a second."""


def read(source: BinaryIO) -> bytes | None:
    """One message; None at the end."""
    head = _exactly(source, HEAD.size)
    return None if head is None else _exactly(source, HEAD.unpack(head)[0])


def write(target: BinaryIO, message: bytes) -> None:
    """Write one message."""
    view = memoryview(HEAD.pack(len(message)) + message)
    while view:
        view = view[target.write(view) :]


def _exactly(source: BinaryIO, count: int) -> bytes | None:
    parts = []
    while count:
        part = source.read(count)
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def serve() -> None:
    """Answer calls until the owner is gone."""
    calls = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # the output of a function must not mix with the answers
    meter = _Meter(answers)
    gc.freeze()
    write(answers, pickle.dumps((READY, None, 0.0)))
    with deep():
        while (message := read(calls)) is not None:
            module, call = pickle.loads(message)  # noqa: S301 - from the process that started this one
            with suppress(ImportError):  # imported here once for all forks
                importlib.import_module(module)
            if not FORKS:
                meter.answer(call)
            elif child := os.fork():
                status = os.waitpid(child, 0)[1]
                if status and os.WTERMSIG(status) == signal.SIGXCPU:  # one long instruction, which no thread of the fork could end
                    meter.write(CLOCK, None)
                elif status:
                    return  # it was killed, perhaps in the middle of its answer; the owner notices the end of this process
            else:
                meter.answer(call)
                os._exit(0)


def _owner_gone(parent: int) -> bool:
    """Whether the owner, or the process that forked this one, has ended. Without forks only the budget ends the process."""
    if not FORKS:
        return False
    pipe = select.poll()
    pipe.register(0, select.POLLHUP)
    return os.getppid() != parent or any(event & select.POLLHUP for _, event in pipe.poll(0))


class _Meter:
    """Computes one call after the other and measures it."""

    def __init__(self, answers: BinaryIO) -> None:
        from sympy.core import cache, random

        self._answers, self._cache, self._random = answers, cache, random
        self._lock = threading.Lock()
        self._limit: float | None = None
        """The operations of the present call; None between calls."""
        self._until = 0.0
        self._imports = 0.0
        """The operations of the present call that imported modules, up to the last import that ended."""
        self._import_began: float | None = None
        """The operations counted when the import under way began; None without one."""
        self._parent = os.getpid()
        """The process that is forked for each call."""
        _count_polynomials()
        self._set_imports_aside()

    def answer(self, call: bytes) -> None:
        """Compute one call and write its answer."""
        try:
            function, args, limit, ceiling = pickle.loads(call)  # noqa: S301 - from the process that started this one
        except Exception as fault:  # a class that this process does not know
            self.write(UNREADABLE, repr(fault))
            return
        self._forget()
        self._until = time.process_time() + ceiling
        if FORKS:
            import resource  # which Windows does not have

            with suppress(OSError, ValueError):  # a lower limit is in force already
                resource.setrlimit(resource.RLIMIT_CPU, (ceil(self._until) + 1, resource.RLIM_INFINITY))
        self._limit = limit
        threading.Thread(target=self._watch, daemon=True).start()
        kind, value = _computed(function, args, limit)
        with self._lock:
            spent, self._limit = self._work(), None
        if spent > limit:
            kind, value = RAN_OUT, None
        self.write(kind, value, spent)

    def _watch(self) -> None:
        """End the process when the present call exceeds its budget, or its owner has ended."""
        while True:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            with self._lock:
                if self._limit is None:
                    return
                if self._work() > self._limit:
                    self.write(RAN_OUT, None, self._limit)
                elif time.process_time() > self._until:
                    self.write(CLOCK, None, self._limit)
                elif not _owner_gone(self._parent):
                    continue
                os._exit(0)

    def _work(self) -> float:
        """The operations of the present call so far."""
        return (self._counted() if self._import_began is None else self._import_began) - self._imports

    def _counted(self) -> float:
        counts = [function.cache_info() for function in self._cache.CACHE]
        return Tally.operations + _OPERATIONS_PER_CALL * sum(count.hits + count.misses for count in counts)

    def _set_imports_aside(self) -> None:
        """Measure the operations that importing a module takes, nested imports included."""
        plain = importlib.machinery.SourceFileLoader.exec_module

        def executed(loader: importlib.machinery.SourceFileLoader, module: ModuleType) -> None:
            if self._import_began is not None:
                return plain(loader, module)
            self._import_began = before = self._counted()
            try:
                plain(loader, module)
            finally:
                with self._lock:
                    self._imports += self._counted() - before
                    self._import_began = None

        importlib.machinery.SourceFileLoader.exec_module = executed  # type: ignore[assignment, method-assign]

    def _forget(self) -> None:
        """Start from the same state for every call."""
        self._cache.clear_cache()
        self._random.seed(0)
        for name, module in list(sys.modules.items()):
            if name.startswith("chetaev."):
                for entry in list(vars(module).values()):
                    getattr(entry, "cache_clear", int)()
        Tally.operations = self._imports = 0.0

    def write(self, kind: str, value: Any, spent: float = 0.0) -> None:
        """Write an answer."""
        try:
            message = pickle.dumps((kind, value, spent), pickle.HIGHEST_PROTOCOL)
        except Exception as fault:  # a result that cannot be sent
            message = pickle.dumps((UNREADABLE, repr(fault), spent))
        write(self._answers, message)


def _computed(function: Callable[..., Any], args: tuple[Any, ...], limit: float) -> tuple[str, Any]:
    try:
        with allowance(limit / OPERATIONS):
            return VALUE, function(*args)
        return RAN_OUT, None
    except OutOfWork:
        raise
    except Exception as fault:  # it belongs to the caller
        fault.add_note("".join(traceback.format_exception(fault)))
        return RAISED, fault


def _count_polynomials() -> None:
    """Count operations on polynomials: every dense one ends with `dup_strip` or `dmp_strip`, every sparse one makes a `PolyElement`.

    The search for symbols in long expressions is counted as well.
    """
    import sympy.polys
    from sympy import Basic
    from sympy.polys import densebasic
    from sympy.polys.rings import PolyElement

    for name in ("dup_strip", "dmp_strip"):
        plain = getattr(densebasic, name)
        counted = _counted(plain, lambda f, *_: _OPERATIONS_PER_CALL * (1 + _OPERATIONS_PER_TERM * len(f)) / 2)
        for module in [m for place, m in sys.modules.items() if place.startswith(sympy.polys.__name__)]:
            if getattr(module, name, None) is plain:
                setattr(module, name, counted)
    weights: dict[str, Callable[..., float]] = {
        "__init__": lambda *_: _OPERATIONS_PER_CALL,
        "__mul__": lambda p, q: _OPERATIONS_PER_TERM * len(p) * len(q) if isinstance(q, PolyElement) else _OPERATIONS_PER_TERM * len(p),
        "__add__": lambda p, q: _OPERATIONS_PER_TERM * len(p),
        "_iadd_poly_monom": lambda p, q, _: _OPERATIONS_PER_TERM * len(q),
        "leading_expv": lambda p: (
            _OPERATIONS_PER_CALL + _OPERATIONS_PER_TERM**2 * len(p)
        ),  # for each step of a division; it compares all terms
    }
    for name, weight in weights.items():
        setattr(PolyElement, name, _counted(getattr(PolyElement, name), weight))
    walked = Basic.free_symbols.fget  # it visits a shared part at each of its places
    Basic.free_symbols = property(_counted(walked, lambda _: _OPERATIONS_PER_TERM))


def _counted(plain: Callable[..., Any], weight: Callable[..., float]) -> Callable[..., Any]:
    @wraps(plain)
    def counted(*args: Any) -> Any:
        Tally.operations += weight(*args)
        return plain(*args)

    return counted
