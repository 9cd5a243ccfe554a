"""The functions, quotients and powers in the data of a system that may surprise a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import sympy
from sympy import Expr

from chetaev.equations import Equations
from chetaev.functions import SPELLING
from chetaev.symbols import TIME, Entry, Input, Jet, symbols_in

_TAME = frozenset(("sin", "cos", "abs", "sign", "min", "max"))
"""Functions whose value and slope are bounded by those of their argument; corners are events, and are met as such."""
_HIGH = 5
"""A positive integer power from here on may be narrow: (1 + cos(t))^50 is a pulse, and cos(t)^4 is none."""
_GROWING = frozenset(("exp", "sinh", "cosh"))
"""Functions whose value tells as much as their slope."""


def nodes_of(equations: Equations, inputs: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """The nodes of the data and of the inputs they are driven by, each once."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = [e for e in (*_data(equations), *inputs.values()) if e.args]
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if may_surprise(e) and _moves(e):
            found[e] = None
        stack += [a for a in e.args if a.args]
    return tuple(sorted(found, key=sympy.default_sort_key))


def may_surprise(e: Expr) -> bool:
    """Whether an expression can be, or rise, much more than at places beside it."""
    if e.is_Pow:
        return not (e.exp.is_Integer and 0 <= e.exp < _HIGH)
    return bool(e.is_Function) and SPELLING.get(type(e)) not in _TAME


def told_by_value(e: Expr) -> bool:
    """Whether a node's value tells more than its slope."""
    return bool(not e.exp.is_number or (e.exp.is_Integer and e.exp > 0)) if e.is_Pow else SPELLING[type(e)] in _GROWING


def _moves(e: Expr) -> bool:
    return any(z == TIME or isinstance(z, Jet | Entry | Input) for z in symbols_in(e))


def _data(equations: Equations) -> Iterator[Expr]:
    """All expressions that the rows are made from."""
    system, lowered = equations.system, equations.lowered
    if equations.rewritten is not None:
        yield from _sides(equations.rewritten)
    else:
        yield from (lowered.lagrangian, system.dissipation)
        yield from system.forces.values()
        for row in lowered.reactions:
            yield from row.values()
    yield from _sides(system.kinematic)


def _sides(rows: Iterable[object]) -> Iterator[Expr]:
    for row in rows:
        yield row.lhs  # type: ignore[attr-defined]
        yield row.rhs  # type: ignore[attr-defined]
