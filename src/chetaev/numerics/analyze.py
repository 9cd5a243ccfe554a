"""analyze: what kind of system it is, before anything is simulated.

Structural analysis and ranks at random points judge every system. Where they find the system Jacobian singular, or several families of
states, the constraint algorithm is asked as well, with a small budget, and the two accounts are joined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chetaev.analysis.ranks import matrices_at, rank
from chetaev.analysis.structure import Structure
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import UsageError
from chetaev.frozen import Frozen
from chetaev.notation import show
from chetaev.numerics.accounts import free_jets, joined
from chetaev.numerics.branches import branches_of
from chetaev.numerics.choice import bends_in_tops, is_regular
from chetaev.numerics.closure import Closure, End
from chetaev.numerics.families import families
from chetaev.numerics.prolong import Prolongation, null_space
from chetaev.numerics.regular_points import rows_without_regular_point, rows_without_slope, without_regular_point
from chetaev.numerics.verdicts import NOTHING_COMMON, Analysis, Verdict
from chetaev.symbols import Multiplier
from chetaev.zero import random_point


def analyze(equations: Any) -> Analysis:
    """Structural analysis of equations (or a model): verdict, hidden constraints, free data, singular locus.

    >>> from chetaev import System
    >>> print(analyze(derive(System("x", "m k", lagrangian="m/2*x'^2 - k/2*x^2", name="spring"))))
    spring · Hamilton()
      REGULAR: unique motion; nothing restricts the state but the stated rows and their time derivatives
      2 free initial values, for example x x'
      differentiation index 0
      singular where m = 0
      evidence: Pryce's offsets and ranks at random points of the constraint manifold
    """
    if not isinstance(equations, Equations):
        if not hasattr(equations, "principle"):
            what = f"analyze takes equations or a model, not {type(equations).__name__}."
            raise UsageError(what, where="analyze", hint="analyze(ch.derive(...))")
        equations = derive(equations)
    found = families(equations)
    irregular = rows_without_regular_point(found.system)
    if irregular:
        return _without_regular_point(found, without_regular_point(irregular))
    by_numbers = _judged(found)
    if found.end is End.CLOSED and not found.others and is_regular(equations) and not bends_in_tops(equations):
        return by_numbers
    return joined(by_numbers, branches_of(equations))


def _without_regular_point(found: Closure, reason: str) -> Analysis:
    """Ranks at points nearby say nothing about the set itself: the constraint algorithm decides, where it can."""
    undecided = replace(_not_closed(found), verdict=Verdict.UNDECIDED, evidence=reason)
    decided = joined(undecided, branches_of(found.system.equations))
    return decided if reason in decided.evidence else replace(decided, evidence=f"{reason}; {decided.evidence}")


def _judged(found: Closure) -> Analysis:
    """The verdict on a closed system, or on one that does not close."""
    if found.end is not End.CLOSED:
        return _not_closed(found)
    if found.others:
        branches = [_closed(c) for c in (found, *found.others)]
        evidence = "random points that satisfy all rows fall into families with different ranks; there may be more"
        return replace(branches[0], verdict=Verdict.BRANCHING, branches=tuple(branches), evidence=evidence, **NOTHING_COMMON)
    special = _closed(found)
    rows, unknowns = found.system.equations.counts
    if special.verdict is not Verdict.CONSTRAINED or not found.consequences or rows <= unknowns:
        return special
    first = found.consequences[0]
    evidence = (
        f"no motion for general data: {first.origins[-1]} fails by {first.size:.2g} at random states that satisfy the stated rows, "
        f"combined with {', '.join(first.origins[:-1])}; motions only where {' '.join(f'{c.label} = 0' for c in found.consequences)}"
    )
    return replace(special, verdict=Verdict.INCONSISTENT, branches=(special,), evidence=evidence, **NOTHING_COMMON)


def _closed(found: Closure) -> Analysis:
    system = found.system
    hidden = system.hidden()
    stated = all(system.label((i, 0)).startswith("kinematic") for i, _ in hidden)
    verdict = Verdict.GAUGE if found.free else Verdict.REGULAR if stated else Verdict.CONSTRAINED
    return Analysis(
        equations=system.equations,
        verdict=verdict,
        hidden=tuple(map(system.label, hidden)),
        state=system.equations.system.by_name(system.structure.state),
        free_data=_free_data(system),
        dimension=found.dimension,
        index=_index(system.structure) if system.square and not found.opened else None,
        undetermined=tuple(z.name for z in found.opened if isinstance(z, Multiplier)),
        free_functions=tuple(z.name for z in found.free),
        branches=(),
        offsets=(system.structure.row_offsets, system.structure.unknown_offsets) if system.square and not found.free else None,
        origins=Frozen({c.label: c.origins for c in found.consequences}),
        assumptions=tuple(f"{show(a)} != 0" for a in system.equations.assumptions),
        evidence=_EVIDENCE,
    )


_EVIDENCE = "Pryce's offsets and ranks at random points of the constraint manifold"


def _not_closed(found: Closure) -> Analysis:
    """A system without a point, or whose rows do not close in the budget."""
    system, last = found.system, found.consequences[-1] if found.consequences else None
    failing = last is not None and found.end is End.EMPTY and system.row_without_unknowns(last.label)
    if failing and last is not None:
        verdict = Verdict.INCONSISTENT
        evidence = f"{', '.join(last.origins)} cannot vanish: {last.size:.2g} is left at random points, and no unknown is in it"
    elif found.end is End.EMPTY and (constant := rows_without_slope(system)):
        verdict, evidence = Verdict.INCONSISTENT, f"{', '.join(constant)} cannot hold: not zero, and the same at every state"
    elif found.end is End.EMPTY and (rows := _contradicting(system)):
        verdict, evidence = Verdict.INCONSISTENT, f"{', '.join(rows)} are linear and contradict each other at random values"
    elif found.end is End.EMPTY:
        verdict, evidence = Verdict.UNDECIDED, f"no point was found that satisfies {_names(system)}; none may exist"
    else:
        table = "; ".join(f"{c.label} from {', '.join(c.origins)}" for c in found.consequences)
        verdict, evidence = Verdict.UNDECIDED, f"the rows do not close: {table}. The constraint algorithm is needed"
    return Analysis(
        equations=system.equations,
        verdict=verdict,
        state=system.equations.system.by_name(system.structure.state),
        branches=(),
        assumptions=tuple(f"{show(a)} != 0" for a in system.equations.assumptions),
        evidence=evidence,
        **NOTHING_COMMON,
    )


def _contradicting(system: Prolongation) -> list[str]:
    """Rows on the state that are linear in it and have no common solution, whatever the parameters and the time."""
    pairs, state = system.hidden(), list(system.structure.state)
    if system.curved(pairs, state):
        return []
    tape = system.tape(pairs, state)
    failing: set[int] = set()
    for seed in range(3):
        values = np.array(tape(random_point(tape.symbols, seed)))
        residual, jacobian = values[: len(pairs)], values[len(pairs) :].reshape(len(pairs), len(state))
        left = residual - jacobian @ np.linalg.lstsq(jacobian, residual, rcond=1e-10)[0]
        if np.abs(left).max() < 1e-9 * np.abs(residual).max():
            return []
        failing |= {i for i in range(len(pairs)) if abs(left[i]) > 1e-7 * np.abs(left).max()}
    return [system.label(pairs[i]) for i in sorted(failing)]


def _names(system: Prolongation) -> str:
    return " ".join(f"{system.label(pair)} = 0" for pair in system.hidden())


def _index(found: Structure) -> int:
    """Pryce: the largest row offset, and one more if an unknown is algebraic."""
    return max(found.row_offsets, default=0) + (0 if all(d > 0 for d in found.unknown_offsets) else 1)


def _free_data(system: Prolongation) -> tuple[str, ...]:
    """Jets of the state, lowest order first, whose values can be given independently."""
    state = sorted(system.structure.state, key=lambda z: z.order)
    rows = [system.row(pair) for pair in system.hidden()]
    if not rows:
        return system.equations.system.by_name(system.structure.state)
    jacobian = [system.algebra.gradient(r, state) for r in rows]
    found = matrices_at(jacobian, system.points, system.algebra)
    if not found:
        return system.equations.system.by_name(state)
    chosen = free_jets(state, null_space(max(found, key=rank)))
    return system.equations.system.by_name([z for z in system.structure.state if z in chosen])
