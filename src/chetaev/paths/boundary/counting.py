"""Count conditions and unknowns of a boundary value problem, and detect ends that the constraints separate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy
from sympy import Expr

from chetaev.core.errors import InitialError, UsageError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import show
from chetaev.core.symbols import Jet
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.classify import Classification, classify
from chetaev.mechanics.ranks.split import rank_of
from chetaev.paths.boundary.ends import Array, Rows
from chetaev.paths.boundary.shooting import Shooting, Unknowns

_CONTRADICTION = 1e-8
"""Largest residual of a holonomic row at an end, relative to the sizes of the jets; with a larger one the end contradicts the row."""


def check_count(shooting: Shooting, seeds: Sequence[Unknowns], where: str) -> None:
    """Raise a UsageError with the numbers if there are fewer or more independent conditions than unknowns.

    Conditions are counted modulo the rows on positions: x and y on a circle are one condition. The count is the largest over some seeds,
    because at a special state conditions may depend on each other.
    """
    ends, flow = shooting.ends, shooting.flow
    if not seeds:
        raise InitialError("no state satisfies the constraints near the start.", where=where, hint="other values at the start")
    counts = []
    for seed in seeds[:5]:
        basis = shooting.at_parameters(seed.p).tangent(seed.y)
        first = flow.sizes[:, None] * basis
        parts = [(ends.at_start, flow.t0, seed.nu[0]), (ends.at_end, seed.t1, seed.nu[1])]
        found = [_independent(rows, t, seed, first, nu) for rows, t, nu in parts]
        counts.append((sum(found) + len(ends.between.labels), basis.shape[1]))
    given, dimension = max(counts, key=lambda c: c[0])
    needed = dimension + int(ends.free_time) + len(shooting.unknown)
    if given == needed:
        return
    more = []
    if ends.free_time:
        more.append("the final time")
    if shooting.unknown:
        more.append("the unknown parameters")
    text = f"{dimension} free initial values" + "".join(f" and {m}" for m in more)
    if given < needed:
        missing = [f"{z.name} at the {e.word}" for e in (ends.start, ends.end) for z in ends.boundary.pairs if _open(shooting, e.stated, z)]
        if ends.boundary.equations.system.action is not None and ends.boundary.equations.system.action not in ends.start.values:
            missing.insert(0, f"{ends.boundary.equations.system.action.name} at the start")
        named = f"  There is no condition on {', '.join(missing)}." if missing else ""
        raise UsageError(
            f"{given} independent conditions are given, and {needed} are needed: {text}.{named}",
            where=where,
            hint=("a value for each coordinate at each end, or None for a free one: ", InPython('{"x": 1, "y": None}')),
        )
    raise UsageError(
        f"{given} independent conditions are given, and {needed} are needed: {text}.",
        where=where,
        why="In general, more conditions than unknowns contradict each other.",
        hint=("omit conditions, or make a parameter unknown: ", SetArgument("unknown", {...: ...})),
    )


def _open(shooting: Shooting, stated: frozenset[Jet], z: Jet) -> bool:
    return z not in stated and z not in shooting.ends.periodic


def _independent(rows: Rows, t: float, seed: Unknowns, first: Array, nu: Array) -> int:
    """The number of independent conditions that `rows` impose on states: their rank modulo the columns of their own multipliers."""
    _, (_, by_y, _, by_nu) = rows.at(t, seed.y, seed.p, nu)
    return _rank(np.hstack([by_y @ first, by_nu])) - _rank(by_nu)


def _rank(matrix: Array) -> int:
    lengths = np.linalg.norm(matrix, axis=1)
    return rank_of(matrix[lengths > 0] / lengths[lengths > 0][:, None])


def check_reachable(shooting: Shooting, known: Sequence[Mapping[Jet, float]], where: str) -> str:
    """Raise an InitialError for ends that rows on positions exclude; return a sentence if an integral of the rows separates them."""
    system = shooting.ends.boundary.equations.system
    parameters = dict(zip(system.parameters, shooting.flow.p.tolist(), strict=True))
    for end, values, t in zip((shooting.ends.start, shooting.ends.end), known, (shooting.flow.t0, shooting.t1), strict=True):
        for label, row in system.kinematic_rows():
            if row.order == 0:
                residual = system.charted(row.residual)
                off = _value(residual, {**parameters, **values}, t)
                if off is not None and abs(off) > _CONTRADICTION * _scale(residual, {**parameters, **values}, t):
                    raise InitialError(
                        f"the {end.word} contradicts {label}: it is off by {off:.3g}.", where=where, hint=f"values with {row}"
                    )
    if not any(row.order == 1 for row in system.kinematic):
        return ""
    known_rows = classify(system)
    for integral in known_rows.integrals:
        first, last = (
            _value(system.charted(integral), {**parameters, **values}, t)
            for values, t in zip(known, (shooting.flow.t0, shooting.t1), strict=True)
        )
        if first is not None and last is not None and abs(last - first) > _CONTRADICTION * max(abs(first), abs(last)):
            return separation(known_rows, integral, first, last)
    return ""


def _value(e: sympy.Expr, point: Mapping[sympy.Symbol, float], t: float | None) -> float | None:
    from chetaev.core.symbols import TIME

    values = dict(point) if t is None else {**point, TIME: t}
    if not e.free_symbols <= set(values):
        return None
    try:
        return float(Tape([e])(values)[0])
    except Undefined:
        return None


def _scale(e: sympy.Expr, point: Mapping[sympy.Symbol, float], t: float | None) -> float:
    terms = [_value(term, point, t) for term in sympy.Add.make_args(sympy.expand(e))]
    return max((abs(v) for v in terms if v is not None), default=1.0) or 1.0


def separation(known: Classification, integral: Expr, before: float, after: float) -> str:
    """A sentence on ends that an integral of the constraints separates: the rows, the integral and its values at both ends."""
    names = " ".join(known.system.kinematic_labels[k] for k in known.velocity_rows)
    word = "is holonomic in disguise" if len(known.velocity_rows) == 1 and known.integrable else "have an integral"
    return (
        f"the end cannot be reached: {names} {word}, {show(integral)} is constant on every motion, "
        f"{before:g} at the start and {after:g} at the end (ch.classify(system))."
    )
