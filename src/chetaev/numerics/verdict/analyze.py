"""analyze: the verdict on a system, before anything is simulated.

Every system has a structural analysis and ranks at random points. If these show a singular system Jacobian, or several families of states,
the constraint algorithm runs as well, with a small budget, and `combined_verdict` combines the two results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sympy import Dummy, Expr, Number, S

from chetaev.core.errors import ParameterError, UsageError, about, did_you_mean
from chetaev.core.exact.constants import cancelled
from chetaev.core.exact.signature import has_values, vanishing
from chetaev.core.fixes import Ask, sentences
from chetaev.core.functions import in_own_functions
from chetaev.core.notation import show
from chetaev.core.state import State
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.letters import spell
from chetaev.core.support.public import public
from chetaev.core.symbols import Input, Jet, Multiplier, jets_in, largest_constants, long
from chetaev.core.system import lowest_written
from chetaev.core.values import Undefined
from chetaev.core.zero import random_point
from chetaev.mechanics.analysis import NOTHING_COMMON, Analysis, Verdict
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Origin, RowLabel, Sliding, Slope, Stated
from chetaev.mechanics.ranks.factored import null_space
from chetaev.mechanics.ranks.generic import Matrix, Point, matrices_at
from chetaev.mechanics.ranks.sizes import units_of
from chetaev.mechanics.ranks.split import rank_of
from chetaev.mechanics.structure import Structure
from chetaev.numerics.corners.modes import smooth, with_shown_corners
from chetaev.numerics.flow.closure import Closure, End
from chetaev.numerics.flow.constraint_set.families import families
from chetaev.numerics.flow.prolongation import Pair, Prolongation
from chetaev.numerics.graphs.rounding_bounds import EPSILON
from chetaev.numerics.verdict.branch_choice import bends_in_tops, decided_by_numbers, stated_only_as_written
from chetaev.numerics.verdict.branches import SECONDS, SECONDS_DECIDED, Branches, branches_of, with_rows
from chetaev.numerics.verdict.combined_verdict import free_jets, joined
from chetaev.numerics.verdict.corner_sides import by_side, sides_of
from chetaev.numerics.verdict.regular_points import Irregular, rows_lost, rows_without_regular_point, rows_without_slope
from chetaev.numerics.verdict.special_rows import contradicting_rows, factor_closures, without_redundant_rows

_INDEPENDENT = 1e-7
"""Smallest singular value of the directions of jets that can be given independently, in units of their sizes; points have errors of
1e-11."""
_ZERO_JET = 1e-9
"""Value of a jet at a random point, relative to its size, below which it is zero; points have errors of 1e-11, and 1e-10 at a double
root."""
_POINTS_COMPARED = 3
"""Number of points at which slopes are compared with the bounds of their errors."""
_BOUND_FACTOR = 4.0
"""A slope may be zero if it is at most this multiple of the bound of its error."""
_MOST_PRINTED_PARTS = 12
"""Most parts of a row of the principle that is printed by its formula; longer ones are printed by their labels."""
_COMPARISON_DIGITS = 30
"""Decimal digits with which a constant is compared with the round-off of its numbers."""
_CUT = 1e-10
"""Relative: singular values of the rows below this are left out where contradicting rows are sought; with less, redundant rows seem to be
consistent."""
_CONSISTENT = 1e-9
"""Relative to the largest residual: what linear rows leave unsolved below this is round-off, and the rows are consistent."""
_FAILING = 1e-7
"""Relative to the largest remaining residual: rows with a larger one are named as contradicting."""


@public
def analyze(equations: Any, start: State | Mapping[str, Any] | None = None, parameters: Mapping[str, Any] | None = None) -> Analysis:
    """Structural analysis: verdict, hidden constraints, free data, singular locus.

    Where a corner function (sign, step, abs, min, max, piecewise) occurs in a mass or a constraint, each side of the corner is a system of
    its own. If the verdicts or the numbers of free values differ, the verdict is BRANCHING, with an Analysis for each side.

    Args:
        equations: Equations or a model.
        start: Initial data, which select the side of the corners on which they lie.
        parameters: Values of the parameters, if the corners depend on them.

    Returns:
        The verdict with its evidence.

    Raises:
        UsageError: If `equations` is neither equations nor a model.
        ParameterError: If `parameters` names something else, or a value is not a number.

    >>> from chetaev import System
    >>> print(analyze(derive(System("x", "m k", lagrangian="m/2*x'^2 - k/2*x^2", name="spring"))))
    spring · Hamilton()
      REGULAR: unique motion; no constraints beyond yours and their time derivatives
      2 free initial values, for example x x'
      differentiation index 0
      singular where m = 0
      evidence: Pryce's offsets; rank full at a random point of the constraint manifold, above its round-off
    """
    if not isinstance(equations, Equations):
        if not hasattr(equations, "principle"):
            what = f"analyze takes equations or a model, not {type(equations).__name__}."
            raise UsageError(what, where="analyze", hint=Ask("analyze", "ch.derive(...)"))
        equations = derive(equations)
    known = {p.name for p in equations.system.parameters}
    unknown = [str(name) for name in parameters or () if spell(str(name)) not in known]
    if unknown:
        hint = sentences(did_you_mean(unknown[0], sorted(known)), f"Parameters: {' '.join(sorted(known))}")
        place = about(f"analyze {equations.system.label}", "parameters", unknown[0])
        raise ParameterError(f"{unknown[0]} is not a parameter.", where=place, hint=hint)
    sides = sides_of(equations, start, parameters)
    if not sides:
        shown = with_shown_corners(equations)
        found, free = _analysis(shown), tuple(q.name for q in shown.system.coordinates)
        if shown.rows:
            return found
        return replace(found, verdict=Verdict.GAUGE, free_functions=free, evidence="all rows vanish identically")
    if equations.system.unilateral:  # contacts open and close, so no set of rows always holds
        return by_side(equations, [(side.words, _analysis(side.equations)) for side in sides], sides[0].all)
    whole = families(equations)
    undecided = _slopes_missing(whole)  # an analysis of the sides does not apply to rows that hold on the surfaces only
    if undecided is None and whole.end is End.EMPTY:  # the solutions of a side's equations may all lie on other sides
        undecided = _not_closed(whole)
    found = undecided or by_side(equations, [(side.words, _analysis(side.equations)) for side in sides], sides[0].all)
    signs = smooth(equations, Frozen({})).implicit_modes
    return replace(found, evidence=f"{found.evidence}; {_PARADOX}") if signs else found


_PARADOX = (
    "forces depend on signs of multipliers: where such a force turns the sign of the determinant, no motion or several motions fit a state "
    "(Painleve's paradox); evaluate decides at a state"
)
"""A remark on a question that the analysis of the sides leaves open: where the sign of a multiplier agrees with the force that it
causes."""


def _analysis(equations: Equations) -> Analysis:
    """Return the analysis of equations without a choice of sides."""
    found = families(equations)
    undecided = _slopes_missing(found) or _without_value(found)
    if undecided is not None:
        return undecided
    if (found.opened or found.consequences) and (rows := contradicting_rows(equations)):
        return replace(_not_closed(found), verdict=Verdict.INCONSISTENT, evidence=f"{', '.join(rows)} differ by a constant")
    by_numbers = _verdict_on(found)
    single = found.determined and not found.others and not bends_in_tops(equations)
    if single and decided_by_numbers(equations) and not found.system.rank_falls:
        return by_numbers
    symbolic = branches_of(equations, seconds=SECONDS_DECIDED if single else SECONDS)
    if by_numbers.verdict is Verdict.UNDECIDED and found.end is End.EMPTY and _no_point_known(symbolic):
        return _unfounded(by_numbers, symbolic)
    decided = joined(by_numbers, symbolic, [_states(c) for c in (found, *found.others)])
    closed = found.determined or bool(found.free)
    return _with_factors(decided, found) if closed and not symbolic.complete else decided


def _with_factors(decided: Analysis, found: Closure) -> Analysis:
    """Return BRANCHING where a row on the state is a product, and random points satisfy one of its factors only."""
    parts = [] if decided.branches else factor_closures(found)
    if not parts:
        return decided
    union = " or ".join(f"{show(f)} = 0" for f, _ in parts)
    branches = tuple(replace(_closed(c), equations=found.system.equations) for _, c in parts)
    evidence = f"a row is a product: {union}; {decided.evidence}"
    return replace(decided, verdict=Verdict.BRANCHING, branches=branches, evidence=evidence, **NOTHING_COMMON)


def _states(found: Closure) -> list[Point]:
    """Return the states at the random points of a family, without jets that the rows determine, and with 0 in place of round-off."""
    top, sizes = set(found.system.structure.top), found.system.sizes
    return [
        {z: 0.0 if isinstance(z, Jet) and abs(v) < _ZERO_JET * sizes.get(z, 1.0) else v for z, v in point.items() if z not in top}
        for point in found.system.points
    ]


def _slopes_missing(found: Closure) -> Analysis | None:
    """Return UNDECIDED if the slopes of rows do not show how they restrict states; None if they do."""
    lost = rows_lost(found.system)
    if lost:
        reason = f"{', '.join(lost)}: a row that depends on a jet by jumps only restricts states in a way that slopes do not show"
        return replace(_not_closed(found), verdict=Verdict.UNDECIDED, evidence=reason)
    irregular = rows_without_regular_point(found.system)
    return _without_regular_point(found, irregular) if irregular else None


def _without_value(found: Closure) -> Analysis | None:
    """Return UNDECIDED if a slope that determines the motion vanishes at every point tried; None if there is none.

    It is not zero in the finite field, so it stays in the equations; but none of its digits is known, so the rank is not known either.
    """
    system = found.system
    entries = [(i, j, e) for i, line in enumerate(system.structure.jacobian) for j, e in line.entries.items() if not e.is_zero()]
    bounded = system.may_saturate
    measured = [numbers for numbers in system.measured(system.points[:_POINTS_COMPARED], bounded=bounded) if numbers is not None]
    small = (
        [(i, j, e) for i, j, e in entries if all(abs(a[i, j]) <= _BOUND_FACTOR * doubts[i, j] for a, doubts in measured)]
        if measured
        else []
    )
    if not small:
        return None
    program, _ = system.algebra.program([e for _, _, e in small])
    zero = vanishing(program) or [False] * len(small)
    open_ = [(i, j) for (i, j, _), known, shown in zip(small, zero, has_values(program), strict=True) if not known and not shown]
    if not open_:
        return None
    i, j = open_[0]
    slope = f"the slope of {system.label(system.stage(0)[i])} by {system.structure.top[j].name}"
    reason = f"{slope} vanishes at every point tried with many digits, and is not known to be zero; write it as 0 if that is meant"
    return replace(_not_closed(found), verdict=Verdict.UNDECIDED, evidence=reason)


def _without_regular_point(found: Closure, irregular: Irregular) -> Analysis:
    """Return the verdict of the constraint algorithm if the rows are smooth; ranks at nearby points do not describe the set itself.

    The constraint algorithm differentiates the rows, which is not valid where slopes, or derivatives of slopes, jump.
    """
    equations, reason = found.system.equations, irregular.reason
    undecided = replace(_not_closed(found), verdict=Verdict.UNDECIDED, evidence=reason)
    if irregular.open or not irregular.smooth:
        return undecided
    symbolic = _with_slopes(equations, irregular.origins) if irregular.flat else branches_of(equations)
    if symbolic.complete and any(b.leaf.real != "yes" for b in symbolic.branches):
        return _unfounded(undecided, symbolic)
    decided = joined(undecided, symbolic)
    return decided if reason in decided.evidence else replace(decided, evidence=f"{reason}; {decided.evidence}")


def _with_slopes(equations: Equations, origins: Sequence[Origin]) -> Branches:
    r"""The branches of equations with the slopes of some rows as further rows, since they vanish too: $e^{x^2+y^2} = 1$ becomes
    $x = y = 0$.

    Several branches are returned as `simulate` uses them, without the slopes as rows, if they are equally certain.
    """
    stated = [row.residual for row in equations.rows if row.origin in origins]
    slopes = [in_own_functions(e.diff(z)) for e in stated for z in sorted(jets_in(e), key=lambda z: z.name) if not isinstance(z, Input)]
    rows = [Row(Slope(k), slope, S.Zero) for k, slope in enumerate(slopes)]
    found = branches_of(with_rows(equations, rows))
    if found.complete and len(found.branches) < 2:
        return found
    plain = branches_of(equations)
    return plain if plain.complete and all(b.leaf.real == "yes" for b in plain.branches) else found


def _no_point_known(symbolic: Branches) -> bool:
    """Tell whether the constraint algorithm found manifolds, but no real point on any of them."""
    return symbolic.complete and bool(symbolic.branches) and all(b.leaf.real != "yes" for b in symbolic.branches)


def _unfounded(numbers: Analysis, symbolic: Branches) -> Analysis:
    """Return UNDECIDED, because manifolds without a known real point may be empty, or smaller than their formulas suggest."""
    unsure = sum(b.leaf.real != "yes" for b in symbolic.branches)
    several = f"{len(symbolic.branches)} manifold{'s' * (len(symbolic.branches) > 1)}"
    remark = f"the constraint algorithm finds {several}, {unsure} of them without a known real point"
    return replace(numbers, evidence=f"{numbers.evidence}; {remark}", tree=symbolic.tree)


def _verdict_on(found: Closure) -> Analysis:
    """Return the verdict on a closed system, or on one that does not close."""
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
    if (needed := without_redundant_rows(found)) is not None:
        enough = _closed(needed.closure)
        evidence = f"{enough.evidence}; {', '.join(needed.left_out)} follow{'s' if len(needed.left_out) == 1 else ''} from the other rows"
        return replace(enough, equations=found.system.equations, evidence=evidence)
    first = found.consequences[0]
    evidence = (
        f"no motion for general data: {first.origins[-1]} fails by {first.size:.2g} at random states that satisfy the stated rows, "
        f"combined with {', '.join(first.origins[:-1])}; motions only where {' '.join(f'{c.label} = 0' for c in found.consequences)}"
    )
    return replace(special, verdict=Verdict.INCONSISTENT, branches=(special,), evidence=evidence, **NOTHING_COMMON)


def _closed(found: Closure) -> Analysis:
    system = found.system
    hidden = system.hidden()
    stated = all(isinstance(system.origin(i), Stated | Sliding) for i, _ in hidden)
    stated = stated or (found.determined and not found.consequences and system.square and stated_only_as_written(system.equations))
    by_name, more = system.equations.system.by_name, _jets_of_free_functions(found)
    verdict = Verdict.GAUGE if found.free else Verdict.REGULAR if stated else Verdict.CONSTRAINED
    return Analysis(
        equations=system.equations,
        verdict=verdict,
        hidden=tuple(_shown(system, pair) for pair in hidden),
        state=by_name(_together([*system.structure.state, *more])),
        free_data=by_name(_together([*_free_data(system, found.dimension), *more])),
        dimension=None if found.dimension is None else found.dimension + len(more),
        index=_index(system.structure) if system.square and not found.opened else None,
        undetermined=tuple(z.name for z in found.opened if isinstance(z, Multiplier)),
        free_functions=tuple(lowest_written(system.equations.system, z) for z in found.free),
        branches=(),
        offsets=(system.structure.row_offsets, system.structure.unknown_offsets) if system.square and not found.free else None,
        origins=Frozen({c.label: c.origins for c in found.consequences}),
        assumptions=tuple(f"{show(a)} != 0" for a in system.equations.assumptions),
        evidence="; ".join([f"Pryce's offsets; rank {system.rank_evidence}", *map(_remark, below_round_off(system.equations))]),
    )


def _shown(system: Prolongation, pair: Pair) -> str | RowLabel:
    """Return a relation between initial values as it is printed: a short row of the principle by its formula, others by their labels."""
    i, order = pair
    rows = system.equations.rows
    if order or i >= len(rows) or isinstance(system.origin(i), Stated | Sliding) or long(rows[i].residual, _MOST_PRINTED_PARTS):
        return RowLabel(system.label(pair))
    _, e = rows[i].residual.primitive()
    return show(-e if e.could_extract_minus_sign() else e)


def _jets_of_free_functions(found: Closure) -> list[Jet]:
    """Return the jets of free functions that are coordinates of states: all coordinates count up to the same order, as in the leaves."""
    written = [
        k
        for line in found.system.structure.orders
        for j, k in line.items()
        if not isinstance(found.system.structure.unknowns[j], Multiplier)
    ]
    return [z.d(k) for z in found.free for k in range(max(written, default=0) - z.order)]


def _together(jets: Sequence[Jet]) -> list[Jet]:
    """Return the jets grouped by coordinate."""
    first: dict[str, int] = {}
    for z in jets:
        first.setdefault(z.base, len(first))
    return sorted(jets, key=lambda z: first[z.base])


def _remark(constant: Expr) -> str:
    return f"{show(constant)} is smaller than the round-off of its own numbers, and is kept: write it exactly if zero is meant"


def _not_closed(found: Closure) -> Analysis:
    """Return the verdict on a system without a point, or whose rows do not close within the budget."""
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
    """Return rows on the state that are linear in it and have no common solution for any parameters and time."""
    pairs, state = system.hidden(), list(system.structure.state)
    if not pairs or system.curved(pairs, state):
        return []
    tape = system.tape(pairs, state)
    failing: set[int] = set()
    for seed in range(3):
        try:
            values = np.array(tape(random_point(tape.symbols, seed, sizes=system.sizes)))
        except Undefined:  # a row that is not defined everywhere is not linear
            return []
        residual, jacobian = values[: len(pairs)], values[len(pairs) :].reshape(len(pairs), len(state))
        left = residual - jacobian @ np.linalg.lstsq(jacobian, residual, rcond=_CUT)[0]
        if np.abs(left).max() < _CONSISTENT * np.abs(residual).max():
            return []
        failing |= {i for i in range(len(pairs)) if abs(left[i]) > _FAILING * np.abs(left).max()}
    return [system.label(pairs[i]) for i in sorted(failing)]


def _names(system: Prolongation) -> str:
    return " ".join(f"{system.label(pair)} = 0" for pair in system.hidden())


def _index(found: Structure) -> int:
    """Return Pryce's differentiation index: the largest row offset, plus one if an unknown is algebraic."""
    return max(found.row_offsets, default=0) + (0 if all(d > 0 for d in found.unknown_offsets) else 1)


def _free_data(system: Prolongation, dimension: int | None) -> list[Jet]:
    """Jets of the state, lowest order first, whose values can be given independently; none if these are not known.

    Numerical ranks depend on the units, so ranks in the finite field are used if they agree with the dimension.
    """
    state = sorted(system.structure.state, key=lambda z: z.order)
    rows = [system.row(pair) for pair in system.hidden()]
    if not rows:
        return list(system.structure.state)
    exact = system.exactly_free
    count = dimension + system.structure.surplus if dimension is not None else len(exact or ())
    chosen: tuple[Jet, ...] = exact or ()
    if exact is None or system.curved(system.hidden(), state):  # the field may show another component than the points
        nulls = [null for null in _directions(system, rows, state) if null.shape[1] == count]
        places = [k for k, z in enumerate(state) if z in chosen]
        fits = exact is not None and any(rank_of(null[places], _INDEPENDENT, size=1.0) == count for null in nulls)
        chosen = chosen if fits or not nulls else free_jets(state, nulls[0])
    return [z for z in system.structure.state if z in chosen] if len(chosen) == count else []


def _directions(system: Prolongation, rows: Sequence[Any], state: Sequence[Jet]) -> list[Matrix]:
    """Return the directions, as columns, in which the state can move along the rows at each point, in units of the sizes of its jets."""
    slopes = [system.algebra.gradient(r, state) for r in rows]
    scaled = [a * units_of(state, system.sizes) for a in matrices_at(slopes, system.points, system.algebra)]
    sizes = [np.abs(a).max(axis=1, keepdims=True) for a in scaled]
    return [null_space(a / np.where(size > 0, size, 1.0)) for a, size in zip(scaled, sizes, strict=True)]


def below_round_off(equations: Equations) -> list[Expr]:
    r"""Return the constants in the Lagrangian and the rows that are smaller than the round-off of their own numbers.

    `cos(1.5707963267948966)` is 6e-17, not zero: a mass with this factor is formally a mass, and is treated as one. The user probably meant
    `cos(pi/2)`. If the numbers $r_i$ are exact to their last digit, the error of the constant $c$ is
    $\varepsilon \sum_i |r_i\, \partial c/\partial r_i|$.
    """
    found: list[Expr] = []
    for node in largest_constants(equations.lowered.lagrangian, *[row.residual for row in equations.rows]):
        if node.is_number and not node.is_Number and not node.is_NumberSymbol:
            known = cancelled(node)
            if not (known is not None and known.zero) and _has_no_digit(node):
                found.append(node)
    return found


def _has_no_digit(constant: Expr) -> bool:
    numbers = {r: Dummy() for r in constant.atoms(Number) if not r.is_Integer}
    if not numbers:
        return False
    general = constant.xreplace(numbers)
    values = {symbol: r for r, symbol in numbers.items()}
    spread = sum(abs(general.diff(symbol).xreplace(values) * r) for r, symbol in numbers.items())
    return bool(abs(constant.evalf(_COMPARISON_DIGITS)) < EPSILON * spread.evalf(_COMPARISON_DIGITS))
