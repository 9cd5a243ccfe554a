"""analyze: what kind of system it is, before anything is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from sympy import Expr

from chetaev.analysis.ranks import matrices_at, points_on, rank
from chetaev.analysis.structure import Structure, structure
from chetaev.budget import deadline
from chetaev.derivation import derive
from chetaev.equations import Equations
from chetaev.errors import UsageError
from chetaev.notation import show
from chetaev.numerics.completion import Completion, completion
from chetaev.numerics.prolong import Prolongation, null_space, prolongation

_SECONDS = 2.0


class Verdict(StrEnum):
    """What becomes of a motion."""

    REGULAR = "REGULAR"
    CONSTRAINED = "CONSTRAINED"
    GAUGE = "GAUGE"
    INCONSISTENT = "INCONSISTENT"
    BRANCHING = "BRANCHING"
    UNDECIDED = "UNDECIDED"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Verdict.REGULAR: "unique motion; nothing restricts the state but the stated rows and their time derivatives",
    Verdict.CONSTRAINED: "unique motion on a smaller manifold; a relation arises that is no derivative of one stated row",
    Verdict.GAUGE: "free functions in coordinates",
    Verdict.INCONSISTENT: "no motion",
    Verdict.BRANCHING: "a union of manifolds",
    Verdict.UNDECIDED: "the budget did not suffice",
}


@dataclass(frozen=True, repr=False)
class Analysis:
    """The verdict and its evidence."""

    equations: Equations
    verdict: Verdict
    hidden: tuple[str, ...]
    """Rows, differentiated as their primes say, that restrict the state."""
    state: tuple[str, ...]
    free_data: tuple[str, ...]
    """Jets that may be given at will; the rest of the state follows."""
    dimension: int | None
    """Number of free initial values, time not counted."""
    index: int | None
    """The differentiation index of the equations."""
    undetermined: tuple[str, ...]
    """Multipliers that are not unique."""
    free_functions: tuple[str, ...]
    """Jets of coordinates the equations leave open."""
    offsets: tuple[tuple[int, ...], tuple[int, ...]] | None
    assumptions: tuple[str, ...]
    evidence: str

    @cached_property
    def singular_locus(self) -> tuple[Expr, ...] | None:
        """Factors of the system Jacobian's determinant: where one vanishes, the motion is not determined. None if the time was short."""
        return _factors(self.equations)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"{self.equations.system.name or 'system'} · {self.equations.principle}", f"  {self.verdict}: {self.verdict.sentence}"]
        if self.dimension is not None:
            example = f", for example {' '.join(self.free_data)}" if self.free_data else ""
            lines.append(f"  {self.dimension} free initial values{example}")
        if self.hidden:
            lines.append(f"  on every state: {' '.join(f'{row} = 0' for row in self.hidden)}")
        if self.index is not None:
            lines.append(f"  differentiation index {self.index}")
        if self.free_functions:
            lines.append(f"  not fixed by the equations: {' '.join(self.free_functions)}")
        if self.undetermined:
            lines.append(f"  not unique: {' '.join(self.undetermined)} (redundant constraints; reactions are unique)")
        if self.offsets is not None:
            factors = self.singular_locus
            if factors is None:
                lines.append("  singular where the smallest pivot of the system Jacobian vanishes (no formula in the time)")
            elif factors:
                lines.append(f"  singular where {' or '.join(f'{show(f)} = 0' for f in factors)}")
        lines.append(f"  evidence: {self.evidence}")
        return "\n".join(lines)


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
    system = prolongation(equations)
    if system is not None and system.generic_nullity is not None:
        return _regular(system)
    return _completed(equations, completion(equations))


def _regular(system: Prolongation) -> Analysis:
    equations, found = system.equations, system.structure
    hidden = system.hidden()
    free = _free_data(system)
    stated = all(system.label((i, 0)).startswith("kinematic") for i, c in enumerate(found.row_offsets) if c)
    return Analysis(
        equations=equations,
        verdict=Verdict.REGULAR if stated else Verdict.CONSTRAINED,
        hidden=tuple(map(system.label, hidden)),
        state=tuple(z.name for z in found.state),
        free_data=free,
        dimension=len(free),
        index=_index(found),
        undetermined=system.undetermined,
        free_functions=(),
        offsets=(found.row_offsets, found.unknown_offsets),
        assumptions=tuple(f"{show(a)} != 0" for a in equations.assumptions),
        evidence="Pryce's offsets and ranks at random points of the constraint manifold",
    )


def _index(found: Structure) -> int:
    """Pryce: the largest row offset, and one more if an unknown is algebraic."""
    return max(found.row_offsets, default=0) + (0 if all(d > 0 for d in found.unknown_offsets) else 1)


def _free_data(system: Prolongation) -> tuple[str, ...]:
    """Jets of the state, lowest order first, whose values can be given independently."""
    state = sorted(system.structure.state, key=lambda z: z.order)
    rows = [system.row(pair) for pair in system.hidden()]
    if not rows:
        return tuple(z.name for z in system.structure.state)
    points = points_on(rows, [], algebra=system.algebra)
    jacobian = [system.algebra.gradient(r, state) for r in rows]
    found = matrices_at(jacobian, points, system.algebra)
    if not found:
        return tuple(z.name for z in state)
    null = null_space(max(found, key=rank))
    chosen: list[int] = []
    for k in range(len(state)):  # greedily the lowest jets whose directions are independent
        if np.linalg.matrix_rank(null[[*chosen, k]], tol=1e-7) == len(chosen) + 1:
            chosen.append(k)
    order = {z: n for n, z in enumerate(system.structure.state)}
    return tuple(z.name for z in sorted((state[k] for k in chosen), key=lambda z: order[z]))


def _completed(equations: Equations, found: Completion) -> Analysis:
    """The verdict of a system whose Jacobian is singular everywhere, or which is not square."""
    size = len(found.system.structure.state)
    kind = found.kinds[0][0] if found.kinds else None
    if kind is None:
        failing = _constant_row(found)
        verdict = Verdict.INCONSISTENT if failing else Verdict.UNDECIDED
        evidence = (
            f"{failing} has the same value other than zero at every point" if failing else "no point satisfies all rows; none may exist"
        )
    elif not found.complete:
        verdict, evidence = (
            Verdict.UNDECIDED,
            f"rows differentiated {found.level} times more do not close; the constraint algorithm is needed",
        )
    elif len(found.kinds) > 1:
        verdict, evidence = Verdict.BRANCHING, "several kinds of points satisfy all rows; the constraint algorithm tells them apart"
    elif kind.free:
        verdict, evidence = Verdict.GAUGE, f"rows differentiated {found.level} times more, ranks at {found.kinds[0][1]} random points"
    else:
        verdict, evidence = Verdict.CONSTRAINED, f"rows differentiated {found.level} times more, ranks at {found.kinds[0][1]} random points"
    decided = verdict in (Verdict.GAUGE, Verdict.CONSTRAINED) and kind is not None
    return Analysis(
        equations=equations,
        verdict=verdict,
        hidden=(),
        state=tuple(z.name for z in found.system.structure.state),
        free_data=(),
        dimension=size - kind.hidden if decided and kind else None,
        index=None,
        undetermined=(),
        free_functions=kind.free if kind and verdict is Verdict.GAUGE else (),
        offsets=None,
        assumptions=(),
        evidence=evidence,
    )


def _constant_row(found: Completion) -> str:
    """A row whose value is a number other than zero."""
    for row in found.system.equations.rows:
        if row.residual.is_number and row.residual != 0:
            return row.label
    return ""


def _factors(equations: Equations) -> tuple[Expr, ...] | None:
    """The factors of the determinant that can vanish, simplified as far as the time allows."""
    bases: list[Expr] | None = None
    with deadline(_SECONDS):
        symbolic = structure(equations)
        bases = None if symbolic is None else _numerator_factors(sympy.Matrix(symbolic.jacobian).det())
    if bases is None:
        return None
    with deadline(_SECONDS):  # the factors are right, only perhaps longer than they need to be
        bases = [factor for base in bases for factor in _numerator_factors(sympy.trigsimp(base))]
    return tuple(dict.fromkeys(b for b in bases if b.free_symbols and not b.is_positive))


def _numerator_factors(e: Expr) -> list[Expr]:
    numerator = sympy.fraction(sympy.together(sympy.factor(e)))[0]
    return [f.base if f.is_Pow else f for f in sympy.Mul.make_args(sympy.factor(numerator))]
