"""Calls with a limit, in another process, the cache of their results, and the `size` of expressions, a measure for small calls."""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import chain
from math import comb, log2
from typing import Any, Generic, TypeVar, cast

from sympy import Add, Basic, Function, Integer, Rational, preorder_traversal

from chetaev.core.support.budget import process, worker
from chetaev.core.support.budget.counting import OPERATIONS, ceiling, remaining, spend, warn_of_clock
from chetaev.core.support.recursion import deep

T = TypeVar("T")

_MOST_NODES = 100_000
"""Nodes after which `size` stops counting; callers treat any larger expression as large."""
_LARGEST_EXPONENT = 1_000_000
"""Largest contribution of one exponent or multiple to `size`; callers treat any such expression as large."""


def size(*expressions: Basic) -> float:
    """The number of nodes, plus the terms of every power of a sum, the multiples in arguments of functions, and the words of long numbers.

    >>> from sympy import symbols, sin
    >>> x, y = symbols("x y")
    >>> size(x + y), size((x + y) ** 20) > 20, size(sin(1000 * x)) > 1000
    (3, True, True)
    """
    total = 0.0
    for node in chain.from_iterable(preorder_traversal(e) for e in expressions):
        total += 1
        if total > _MOST_NODES:
            break
        if node.is_Pow and isinstance(node.base, Add) and node.exp.is_Rational:
            power = abs(node.exp.p)
            total += _LARGEST_EXPONENT if power > _LARGEST_EXPONENT else comb(len(node.base.args) + int(power) - 1, int(power))
        elif isinstance(node, Function):
            total += sum(
                min(_LARGEST_EXPONENT, max(abs(c.p), c.q)) - 1 for c in node.atoms(Rational) if not isinstance(c, Integer) or abs(c.p) > 1
            )
        elif node.is_Rational:
            total += log2(max(abs(node.p), node.q, 1)) // 64
    return total if total != int(total) else int(total)


OUT_OF_WORK = "the work allowed ran out"
"""The `reason` of an answer where the count of operations ended the call; it does not depend on the machine."""
_WALL_TIME_PER_SECOND = 100.0
"""Time on the wall after which a process that does not respond is ended, in multiples of the seconds of its budget, plus this many seconds.
The process is limited by its own processor time, so this limit is reached only by one that gets no processor."""
_REMEMBERED = 256
"""Calls in the cache. With fewer, one analysis computes some calls twice; more keep more expressions in memory."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The result of a limited call."""

    value: T | None
    reason: str = ""
    """The reason why there is no value; empty if there is one."""
    seconds: float = 0.0
    """The operations that were counted, divided by `OPERATIONS`; zero for a small call."""

    @property
    def done(self) -> bool:
        """Whether there is a value."""
        return not self.reason

    def or_else(self, otherwise: T) -> T:
        """The value, or `otherwise` without one."""
        return cast(T, self.value) if self.done else otherwise


@dataclass(frozen=True)
class _Known:
    """A cached result of a call."""

    kind: str
    value: Any
    spent: float
    """The operations of the call, if it ended."""
    limit: float
    """Operations that were allowed."""
    seconds: float

    def holds_for(self, limit: float) -> bool:
        """Whether this entry decides the result of the call with `limit` operations."""
        return limit <= self.limit or self.kind in (process.VALUE, process.RAISED)

    def seen_with(self, limit: float) -> _Known:
        ended = self.kind in (process.VALUE, process.RAISED) and self.spent <= limit
        if ended or self.kind in (process.CLOCK, process.UNREADABLE):
            return self
        return _Known(process.RAN_OUT, None, limit, limit, self.seconds)

    @property
    def reason(self) -> str:
        if self.kind == process.CLOCK:
            return f"the clock ended it after {ceiling(self.seconds):g} seconds of processor time"
        return OUT_OF_WORK if self.kind == process.RAN_OUT else ""


_NOT_SENT = (pickle.PicklingError, AttributeError, TypeError)
"""Errors that pickle raises for objects that cannot be sent."""
_KNOWN: OrderedDict[Hashable, _Known] = OrderedDict()
"""The calls of this process, the latest last."""
_LOCK = threading.Lock()


def limited(function: Callable[..., T], *args: Any, seconds: float, small: bool = False) -> Answer[T]:
    """The value of `function(*args)`, if it takes at most `seconds * OPERATIONS` operations and the surrounding allowance has them left.

    Args:
        function: A function of a module, without side effects, since it runs in another process.
        *args: Its arguments, which must not change later.
        seconds: The budget.
        small: Whether the call is known to be short; it runs in place then.

    Returns:
        The value, or the reason why there is none.

    Raises:
        Exception: What `function` raises.
    """
    if small:
        return Answer(function(*args))
    limit = min(seconds * OPERATIONS, remaining())
    key = _key(function, args)
    found = _recalled(key, limit)
    if found is None:
        found = _asked(function, args, limit, seconds)
        if found is None:
            return Answer(function(*args))
        _remember(key, found)
        found = found.seen_with(limit)
    spent = limit if found.kind in (process.RAN_OUT, process.CLOCK) else found.spent
    spend(spent)
    if found.kind == process.RAN_OUT and limit < seconds * OPERATIONS:
        spend(1)  # the surrounding allowance is used up; this ends its block
    if found.kind == process.RAISED:
        raise pickle.loads(found.value)  # noqa: S301 - written by this process
    if found.kind == process.UNREADABLE:
        return Answer(None, found.value)
    if found.kind == process.CLOCK:
        warn_of_clock(found.seconds)
    return Answer(found.value, found.reason, spent / OPERATIONS)


def _key(function: Callable[..., Any], args: tuple[Any, ...]) -> Hashable:
    """The key of a call in the cache: function and arguments, or their pickle if an argument is not hashable; None if neither works."""
    try:
        hash(args)
        return function, args
    except TypeError:
        try:
            with deep():
                return hashlib.sha256(pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)).digest()
        except _NOT_SENT:
            return None


def _recalled(key: Hashable, limit: float) -> _Known | None:
    with _LOCK:
        found = _KNOWN.get(key)
        if found is None or not found.holds_for(limit):
            return None
        _KNOWN.move_to_end(key)
        return found.seen_with(limit)


def _remember(key: Hashable, found: _Known) -> None:
    if key is None or found.kind == process.UNREADABLE:  # a failure of the process says nothing about the call
        return
    with _LOCK:
        _KNOWN[key] = found
        while len(_KNOWN) > _REMEMBERED:
            _KNOWN.popitem(last=False)


def _asked(function: Callable[..., Any], args: tuple[Any, ...], limit: float, seconds: float) -> _Known | None:
    """Ask a process; None if the call cannot be sent."""
    with deep():
        try:
            call = pickle.dumps((function, args, limit, ceiling(seconds)), pickle.HIGHEST_PROTOCOL)
            message = pickle.dumps((getattr(function, "__module__", None) or "builtins", call))
        except _NOT_SENT:
            return None
        try:
            helper = worker.take()
        except worker.NoProcess as fault:
            return _Known(process.UNREADABLE, f"no process could be started for it: {fault}", 0.0, limit, seconds)
        answer = helper.ask(message, _WALL_TIME_PER_SECOND * (1 + seconds))
    if answer is None:
        return _Known(process.UNREADABLE, "the process that computed it ended", 0.0, limit, seconds)
    kind, value, spent = answer
    worker.give_back(helper)
    if kind == process.UNREADABLE:
        return None
    return _Known(kind, pickle.dumps(value) if kind == process.RAISED else value, spent, limit, seconds)
