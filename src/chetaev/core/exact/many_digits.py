"""Programs run in mpmath, with as many digits as its context has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath

from chetaev.core.exact.program import Program

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "min": min,
    "max": max,
    "less": lambda a, b: int(a < b),
    "equal": lambda a, b: int(a == b),
    "where": lambda a, b: b if a else a * 0,
    "neg": lambda a, _: -a,
    "sq": lambda a, _: a * a,
    "twice": lambda a, _: a + a,
    "inv": lambda a, _: 1 / a,
    "abs": lambda a, _: abs(a),
    "sign": lambda a, _: (a > 0) - (a < 0),
    "step": lambda a, _: (1 + (a > 0) - (a < 0)) * 0.5,
    "assign": lambda a, _: a,
    "not": lambda a, _: 1 - a,
}
_TWO_ARGUMENTS = frozenset({"atan2"})


def many_digit_values(program: Program, values: Sequence[Any], mp: mpmath.MPContext) -> list[Any]:
    """The outputs of a program; ValueError, ZeroDivisionError or OverflowError where one has no real value."""
    held: dict[int, Any] = {}
    for operation, target, a, b in program.lines:
        if operation == "input":
            v = values[a]
        elif operation == "number":
            v = mp.mpf(a.numerator) / a.denominator
        elif operation == "constant":
            v = +getattr(mp, a)
        elif operation == "undefined":
            raise ValueError("not a finite number")
        elif operation == "power":
            v = held[a] ** b.numerator if b.denominator == 1 else mp.power(held[a], mp.mpf(b.numerator) / b.denominator)
        elif operation == "pow":
            v = mp.power(held[a], held[b])
        elif operation in _OPERATIONS:
            v = _OPERATIONS[operation](held[a], held.get(b))
        elif operation in _TWO_ARGUMENTS:
            v = getattr(mp, operation)(held[a], held[b])
        else:
            v = getattr(mp, operation)(held[a])
        if isinstance(v, mp.mpc):
            raise ValueError(f"{operation} is not real here")
        held[target] = v
    return [held[slot] for slot in program.outputs]
