"""The combined verdict: the numerical analysis at random points, and the constraint algorithm.

The numerical analysis is fast and finds the generic behaviour; the constraint algorithm finds all branches, for generic parameters, if it
ends within its budget. Then its verdict is used; otherwise the numerical verdict, and the evidence says so. If the two contradict each
other, the verdict is UNDECIDED, with both results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Jet
from chetaev.mechanics.analysis import NOTHING_COMMON, Analysis, Verdict
from chetaev.mechanics.ranks.generic import Matrix, Point
from chetaev.mechanics.ranks.split import rank_of
from chetaev.mechanics.tolerances import OPEN
from chetaev.numerics.verdict.branches import Branch, Branches

_DECIDED = (Verdict.REGULAR, Verdict.CONSTRAINED, Verdict.GAUGE)


def joined(numbers: Analysis, symbolic: Branches, sampled: Sequence[Sequence[Point]] = ()) -> Analysis:
    """Return one verdict from both results; `sampled` has states of each numerical family, in the order of `numbers.branches`."""
    branches = symbolic.branches
    described = tuple(_described(numbers, b) for b in branches)
    if not symbolic.complete:
        evidence = f"{numbers.evidence}; the constraint algorithm did not finish: {symbolic.reason}"
        found = described if numbers.verdict is Verdict.UNDECIDED else numbers.branches
        return replace(numbers, branches=found, evidence=evidence, tree=symbolic.tree)
    fault = _disagreement(numbers, symbolic, sampled)
    if fault:
        evidence = f"two methods contradict each other: {fault}. Numbers: {numbers.verdict}, {numbers.evidence}"
        return replace(numbers, verdict=Verdict.UNDECIDED, branches=described, evidence=evidence, tree=symbolic.tree, **NOTHING_COMMON)
    if not branches:
        return _empty(numbers, symbolic)
    if numbers.verdict is Verdict.INCONSISTENT and numbers.branches and len(branches) == 1:
        return replace(numbers, branches=described, tree=symbolic.tree, assumptions=_assumptions(numbers, branches))
    if len(branches) == 1:
        return _single(numbers, branches[0], described[0], symbolic)
    return _union(numbers, described, symbolic)


def free_jets(jets: Sequence[Jet], null: Matrix) -> tuple[Jet, ...]:
    """Return the first jets, chosen greedily, whose directions in a null space, given by columns, are independent."""
    chosen: list[int] = []
    for k in range(len(jets)):
        if rank_of(null[[*chosen, k]], OPEN, size=1.0) == len(chosen) + 1:
            chosen.append(k)
    return tuple(jets[k] for k in chosen)


def _empty(numbers: Analysis, symbolic: Branches) -> Analysis:
    discarded = symbolic.tree.discarded if symbolic.tree else ()
    why = f": {discarded[0]}" if discarded else ""
    earlier = numbers.evidence if numbers.verdict is Verdict.INCONSISTENT else ""
    evidence = "; ".join(filter(None, [earlier, f"the constraint algorithm ends without a real manifold of states{why}"]))
    return replace(numbers, verdict=Verdict.INCONSISTENT, branches=(), evidence=evidence, tree=symbolic.tree, **NOTHING_COMMON)


def _single(numbers: Analysis, branch: Branch, described: Analysis, symbolic: Branches) -> Analysis:
    """Return the analysis of a single branch: offsets and index from the numerical analysis, formulas from the constraint algorithm."""
    common: dict[str, Any] = {
        "leaf": branch.leaf,
        "tree": symbolic.tree,
        "assumptions": described.assumptions,
        "evidence": f"the constraint algorithm finds one manifold{_poles(symbolic)}; {numbers.evidence}",
    }
    if branch.free or numbers.verdict not in _DECIDED:
        return replace(described, equations=numbers.equations, undetermined=numbers.undetermined, origins=numbers.origins, **common)
    hidden = numbers.hidden if numbers.verdict is Verdict.REGULAR else _formulas(branch, numbers)
    alike = described.dimension == numbers.dimension and set(described.free_data) <= set(numbers.state)
    free = described.free_data if alike and described.free_data else numbers.free_data
    return replace(numbers, hidden=hidden, free_data=free, **common)


def _union(numbers: Analysis, described: tuple[Analysis, ...], symbolic: Branches) -> Analysis:
    unsure = sum(b.leaf.real == "undecided" for b in symbolic.branches)
    evidence = f"the constraint algorithm finds {len(described)} manifolds{_poles(symbolic)}"
    evidence += f", {unsure} of them without a known real point" if unsure else ""
    assumptions = _assumptions(numbers, symbolic.branches)
    return replace(
        numbers,
        verdict=Verdict.BRANCHING,
        branches=described,
        evidence=f"{evidence}; a start on exactly one of them selects it",
        tree=symbolic.tree,
        assumptions=assumptions,
        **NOTHING_COMMON,
    )


def _poles(symbolic: Branches) -> str:
    """Return a phrase about leaves at singular states."""
    n = len(symbolic.singular)
    return f", and {n} more at singular states" if n else ""


def _described(numbers: Analysis, branch: Branch) -> Analysis:
    """Return the analysis of one branch."""
    phase = [z for z in branch.leaf.form.phase if not branch.algebraic(z)]
    constraints = [e for e in branch.leaf.constraints if not any(branch.algebraic(z) for z in e.free_symbols)]
    return Analysis(
        equations=branch.restricted,
        verdict=Verdict.GAUGE if branch.free else Verdict.CONSTRAINED if constraints else Verdict.REGULAR,
        hidden=tuple(map(show, constraints)),
        state=numbers.equations.system.by_name(phase),
        free_data=_free_data(branch, phase),
        dimension=branch.dimension,
        index=None,
        undetermined=(),
        free_functions=tuple(f.written for f in branch.free),
        branches=(),
        offsets=None,
        origins=Frozen({}),
        assumptions=_assumptions(numbers, [branch]),
        evidence="the constraint algorithm" + ("" if branch.leaf.real == "yes" else "; no real point was found"),
        leaf=branch.leaf,
    )


def _free_data(branch: Branch, phase: Sequence[Jet]) -> tuple[str, ...]:
    """Return jets whose values can be given independently; an empty tuple if they are not known."""
    found = branch.exactly_free
    if found is None and branch.tangents is not None:
        places = {z: k for k, z in enumerate(branch.leaf.form.phase)}
        ordered = sorted(phase, key=lambda z: z.order)
        found = free_jets(ordered, branch.tangents[[places[z] for z in ordered]])
    if found is None or len(found) != branch.dimension:
        return ()
    bases = list(dict.fromkeys(z.base for z in branch.leaf.form.coordinates))
    return branch.equations.system.by_name(sorted(found, key=lambda z: (bases.index(z.base), z.order)))


def _formulas(branch: Branch, numbers: Analysis) -> tuple[str, ...]:
    """Return the constraints between jets of the state, if their number agrees with the dimension; otherwise the numerical labels."""
    state = set(numbers.state)
    found = [e for e in branch.leaf.constraints if {z.name for z in e.free_symbols if isinstance(z, Jet)} <= state]
    enough = numbers.dimension is not None and len(found) >= len(state) - numbers.dimension
    return tuple(map(show, found)) if enough else numbers.hidden


def _assumptions(numbers: Analysis, branches: Sequence[Branch]) -> tuple[str, ...]:
    """Return the assumptions on parameters: expressions by which the algorithm divided."""
    more = [f"{show(a)} != 0" for b in branches for a in b.assumptions]
    return tuple(dict.fromkeys([*numbers.assumptions, *more]))


def _disagreement(numbers: Analysis, symbolic: Branches, sampled: Sequence[Sequence[Point]]) -> str:
    """Return a numerical result that the constraint algorithm excludes; empty if there is none.

    If random points show several families, the algorithm excludes one only if a state of it lies on none of its manifolds. Where manifolds
    cross, ranks at points describe none of them: of $x'' = yz$, $zx = 0$, $xy = 0$ the states with $x = y = z = 0$ and any $x'$ look like a
    family, and are states of the manifold $y = z = 0$.
    """
    leaves = [*symbolic.branches, *symbolic.singular]
    sure = [b for b in leaves if b.leaf.real == "yes"]
    if numbers.verdict is Verdict.INCONSISTENT and not numbers.branches:
        return f"there is a motion on {sure[0].text}" if sure else ""
    families = numbers.branches or ((numbers,) if numbers.verdict in _DECIDED else ())
    for k, family in enumerate(families):
        free = len(family.free_functions)
        alike = [b for b in leaves if len(b.free) == free and (free or b.dimension == family.dimension)]
        if not alike and not (len(families) > 1 and k < len(sampled) and _all_on(sure, sampled[k], family.dimension)):
            said = ", ".join(f"{b.text} with {b.dimension} free values and {len(b.free)} free functions" for b in leaves) or "no manifold"
            return f"random points show {family.dimension} free values and {free} free functions, the constraint algorithm {said}"
    return ""


def _all_on(branches: Sequence[Branch], states: Sequence[Point], dimension: int | None) -> bool:
    """Tell whether every state of a family lies on a manifold that is not smaller than the family."""
    large = [b for b in branches if dimension is not None and b.dimension >= dimension]
    return bool(states) and all(any(b.contains(state) for b in large) for state in states)
