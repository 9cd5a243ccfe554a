"""Errors for states and equations that do not determine accelerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from chetaev.core.errors import InitialError, StateError, about
from chetaev.core.fixes import Ask
from chetaev.core.notation.lexer import names_in
from chetaev.core.symbols import Jet
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.generic import Matrix
from chetaev.numerics.flow.closure import End, closure_of
from chetaev.numerics.flow.locus import vanishing_factor
from chetaev.numerics.flow.prolongation import Pair, Problem


def not_determined(equations: Equations, where: str) -> StateError:
    """Return the error for equations that determine no motion at any state: free functions, or contradictory rows."""
    found = closure_of(equations)
    if found.free:
        names = " ".join(z.name for z in found.free)
        count = "one free function" if len(found.free) == 1 else f"{len(found.free)} free functions"
        return StateError(
            f"the equations do not determine the accelerations: {names} {'is' if len(found.free) == 1 else 'are'} left open.",
            where=about(where, "gauge", [z.name for z in found.free]),
            why=f"They leave {count} at every state.",
            hint=(Ask("analyze"), " gives details; ", Ask("derive"), " and ", Ask("residual"), " work"),
        )
    if found.end is End.EMPTY:
        last = found.consequences[-1] if found.consequences else None
        names = ", ".join(last.origins) if last else ""
        why = f"{names} {'is' if ',' not in names else 'together are'} off by {last.size:.3g} at every state." if last else ""
        what = "no state satisfies all rows: the equations have no motion."
        return StateError(what, where=where, why=why, hint=(Ask("analyze"), " gives details"))
    rows, unknowns = equations.counts
    return StateError(
        f"the equations do not determine the accelerations: {rows} rows for {unknowns} unknowns, and differentiation does not close them.",
        where=where,
        why="They contain a further constraint, or a free function, that no single row shows.",
        hint=("this system needs the constraint algorithm; ", Ask("derive"), " and ", Ask("residual"), " work"),
    )


def with_origins(fault: InitialError, equations: Equations) -> InitialError:
    """Return an error about data with its consequences explained: relations that follow from several rows."""
    consequences = [c for c in closure_of(equations).consequences if c.origin in fault.origins]
    parts = [fault.why, *[f"{c.label} follows from {', '.join(c.origins)}." for c in consequences]]
    rows, unknowns = equations.counts
    if rows > unknowns:
        parts.append(f"{rows} rows for {unknowns} unknowns may leave special motions only.")
    fault.why = "  ".join(filter(None, parts))
    return fault


def singular_here(problem: Problem, jets: Sequence[Jet], point: Mapping[Jet, float]) -> StateError:
    """The error for a singular state: the jets that are left open, and the singular locus if a formula is found."""
    names = " ".join(z.name for z in jets) + (" is" if len(jets) == 1 else " are")
    locus = vanishing_factor(problem.system.equations, problem.point(point))
    parameters = [p.name for p in problem.system.equations.system.parameters]
    used = sorted(names_in(locus)) if locus else []
    only = used and all(name in parameters for name in used)  # such a locus does not depend on the state
    return StateError(
        f"{names} not determined at this state{f', where {locus} = 0' if locus else ''}.",
        where=about(problem.where, "start", [z.name for z in jets]),
        why="The system Jacobian is singular here and regular nearby.",
        hint=f"another value of {' or '.join(used)}" if only else "a state off this locus",
    )


def inconsistent(problem: Problem, pairs: Sequence[Pair], left: Matrix) -> StateError:
    """The error for dependent rows that no acceleration satisfies together."""
    worst = int(np.argmax(np.abs(left)))
    return StateError(
        f"no acceleration satisfies all rows here: {problem.system.label(pairs[worst])} is left with {left[worst]:.3g}.",
        where=about(problem.where, row=problem.system.label(pairs[worst])),
        why="Constraints that depend on each other make demands that cannot be met together.",
        hint=(Ask("classify"), " shows which rows are redundant"),
    )
