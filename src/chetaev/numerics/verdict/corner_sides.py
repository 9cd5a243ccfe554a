"""The systems on the sides of corners, and one verdict on all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from sympy import Expr, Integer, Mul, Symbol

from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.analysis import NOTHING_COMMON, Analysis, Verdict
from chetaev.mechanics.equations import Equations
from chetaev.numerics.corners.mode import SLIDING, Mode, Touch
from chetaev.numerics.corners.modes import Switched, smooth
from chetaev.numerics.corners.sliding import with_numbers
from chetaev.numerics.graphs.binding import Binding, bind
from chetaev.numerics.start.signs import apart_at, signs_at

_MOST_CORNERS = 4
"""Most corners for which all configurations are analysed, up to 16; for more corners only configurations that differ in one corner."""


@dataclass(frozen=True)
class Side:
    """The equations of one configuration."""

    equations: Equations
    words: tuple[str, ...]
    """The inequalities that describe the side."""
    all: bool
    """Whether all configurations are analysed."""


def sides_of(equations: Equations, start: State | Mapping[str, Any] | None, parameters: Mapping[str, Any] | None) -> list[Side]:
    """Return the configurations of the corners on which the structure may depend; with a `start` only those in which it lies."""
    switched = smooth(equations, Frozen({}))
    deciding = [mode for mode in switched.modes if mode.symbol in switched.chosen or isinstance(mode, Touch)]
    if not deciding:
        return []
    if start is not None:
        where = f"analyze {equations.system.label}"
        binding = (
            bind(equations.system, parameters, {z.base: "0" for z in equations.system.inputs}, where) if parameters else Binding({}, {})
        )
        signs = dict(zip(switched.modes, signs_at(switched, binding, start, 0.0, where), strict=True))
        clear = {mode for mode in deciding if not isinstance(mode, Touch)} | apart_at(switched, binding, start, 0.0, where)
        options = [(signs[mode],) if mode in clear else (1, SLIDING) for mode in deciding]
        return [_side(switched, deciding, some, True) for some in product(*options)]
    few = len(deciding) <= _MOST_CORNERS
    other = [SLIDING if isinstance(mode, Touch) else -1 for mode in deciding]
    n = len(deciding)
    chosen = product(*[(1, m) for m in other]) if few else [[other[j] if j == k else 1 for j in range(n)] for k in range(-1, n)]
    possible = [signs for signs in chosen if _possible(dict(zip(deciding, signs, strict=True)))]
    return [_side(switched, deciding, signs, few) for signs in possible]


def _possible(signs: Mapping[Mode, int]) -> bool:
    """Whether the sign of every product is that of its factors, where these have modes too: x*y > 0, x > 0 and y < 0 is not a side."""
    known = {mode.function: m for mode, m in signs.items() if not isinstance(mode, Touch)}
    for e, m in known.items():
        factors = [f.as_base_exp() for f in Mul.make_args(e)]
        split = len(factors) > 1 and all(base in known and exponent.is_Integer for base, exponent in factors)
        if split and math.prod(known[base] ** int(exponent) for base, exponent in factors) != m:
            return False
    return True


def _side(switched: Switched, modes: Sequence[Mode], signs: Sequence[int], few: bool) -> Side:
    known = dict(zip(modes, signs, strict=True))
    values: dict[Symbol, Expr] = {mode.symbol: Integer(m) for mode, m in known.items() if not isinstance(mode, Touch)}
    words = tuple(f"{mode.text} {'>' if m > 0 else '<' if m < 0 else '='} 0" for mode, m in known.items())
    equations = switched.base(tuple(known.get(mode, 1) for mode in switched.modes))
    return Side(with_numbers(equations, Frozen(values)) if values else equations, words, few)


def by_side(equations: Equations, found: Sequence[tuple[tuple[str, ...], Analysis]], complete: bool) -> Analysis:
    """Return one analysis for all sides if they do not differ, otherwise BRANCHING."""
    kinds: dict[Any, list[tuple[tuple[str, ...], Analysis]]] = {}
    for words, analysis in found:
        key = (analysis.verdict, analysis.dimension, analysis.free_functions, analysis.hidden)
        kinds.setdefault(key, []).append((words, analysis))
    looked = "" if complete else f"; {len(found)} of the configurations of {len(found[0][0])} corners were analysed"
    if len(kinds) == 1:
        words, analysis = found[0]
        note = f"; on the side where {' and '.join(words)}" if len(found) == 1 else "; the same on all sides of corners that were analysed"
        own = analysis.equations if len(found) == 1 else equations  # for the singular locus of that side
        return replace(analysis, equations=own, evidence=analysis.evidence + note + looked)
    branches = [replace(alike[0][1], sides=tuple(" and ".join(words) for words, _ in alike)) for alike in kinds.values()]
    evidence = f"each side of the corners is analysed by itself, and they differ{looked}"
    return replace(
        branches[0], equations=equations, verdict=Verdict.BRANCHING, branches=tuple(branches), sides=(), evidence=evidence, **NOTHING_COMMON
    )
