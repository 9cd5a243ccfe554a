r"""Prolonged constraints $C_K^{[r]}$ (000, appendix): the conditions of the kinematic rows on the $r$-jet of a motion.

$$ C_K^{[0]} = \tau^{(0,k)}(C_K), \qquad C_K^{[r]} = \tau^{(r,k)}(C_K) \cap j_r^{-1}(T C_K^{[r-1]}) \quad (r \le k), \qquad
   C_K^{[r]} = j_r^{-1}(T C_K^{[r-1]}) \quad (r > k). \tag{A1} $$

Every motion has its $r$-jet in $C_K^{[r]}$. Proposition 39: if $C_V(\eta)$ is not empty for all $\eta \in C_K^{[l]}$, where $l$ is the
order of the variational rows, every admissible curve has an admissible variation. Linear rows $R_V\,\delta q = 0$ have the solution 0
wherever their coefficients are defined, so $C_V(\eta)$ is empty exactly where they are not. Where the rank of $R_V$ drops on $C_K^{[l]}$,
$C_V$ is not a submanifold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import sympy
from sympy import Expr, Matrix

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import PrincipleError, UsageError
from chetaev.core.fixes import Ask
from chetaev.core.notation import show
from chetaev.core.support.budget import limited, size
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Parameter, jets_in
from chetaev.core.system import System
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.principles import Chetaev
from chetaev.mechanics.principles.base import contact_calculus, matrix
from chetaev.mechanics.prolonged.lower_rows import follows, lower_rows, order_of, points_where
from chetaev.mechanics.ranks.generic import generic_rank

_PROOF_SECONDS = 2.0
"""Budget, counted in operations, for the proof that the rank never drops; if it does not suffice, the answer is undecided."""
_LARGEST_IN_PLACE = 60
"""Size of rows for which this proof runs in the same process, within a tenth of a second."""
_MOST_MINORS = 200
"""Minors of R_V that are formed to find where its rank drops. More would take seconds; the locus is then left open."""


@public
@dataclass(frozen=True)
class ProlongedConstraints:
    """$C_K^{[r]}$: its rows, its dimension, and the variational constraints on it."""

    system: System
    order: int
    """$r$."""
    rows: tuple[Expr, ...]
    """Expressions whose zeros in the jets up to order r are $C_K^{[r]}$."""
    dimension: int | None
    """The dimension in $T^{(r)}Q$, time not counted; None if no real point was found."""
    least: int
    """The order $l$ of the variational rows; questions about $C_V$ are asked on $C_K^{[\\max(r, l)]}$."""
    rank: int | None
    """The rank of $R_V$ at general points of it; None without variational rows."""
    rank_elsewhere: int | None
    """The rank of $R_V$ at general jets, off the constraint."""
    drops_where: tuple[Expr, ...]
    """Expressions that vanish together where the rank is smaller; empty if it never is."""
    changes: bool | None
    """Whether there are real points of $C_K^{[l]}$ where the rank is smaller; None if undecided."""
    empty_where: tuple[Expr, ...]
    """Expressions at whose zeros $C_V(\\eta)$ is empty, since a coefficient is not defined."""
    compatible: bool | None
    """The hypothesis of Proposition 39: $C_V(\\eta)$ is nowhere empty on $C_K^{[l]}$."""
    complete: bool
    """False if rows that are not affine in higher jets may imply further rows of lower order."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The rows as texts `... = 0`."""
        return tuple(f"{show(e)} = 0" for e in self.rows)

    def __str__(self) -> str:
        size = "no real point was found" if self.dimension is None else f"dimension {self.dimension}"
        lines = [f"C_K^[{self.order}] of {self.system.label}: {size}", *[f"  {text}" for text in self.texts]]
        if not self.complete:
            lines.append("  rows that are not affine in higher derivatives may imply more")
        if self.rank is not None:
            drop = ""
            if self.drops_where:
                words = {True: "drops", False: "would drop, off the constraint,", None: "may drop"}[self.changes]
                drop = f", {words} where {', '.join(f'{show(e)} = 0' for e in self.drops_where)}"
            lines.append(f"  R_V of order {self.least} has rank {self.rank}{drop}")
            if self.rank_elsewhere != self.rank:
                lines.append(f"  off the constraint its rank is {self.rank_elsewhere}")
        if self.empty_where:
            lines.append(f"  C_V is empty where {' or '.join(f'{show(e)} = 0' for e in self.empty_where)}")
        holds = {True: "holds", False: "fails", None: "is undecided"}[self.compatible]
        return "\n".join([*lines, f"  the hypothesis of Proposition 39 {holds}"])


@public
def prolong_constraints(given: Any, r: int) -> ProlongedConstraints:
    """The constraints that the kinematic rows put on the r-jets of motions, and the variational constraints there.

    Args:
        given: A system, whose variational rows are those it states or else Chetaev's; or equations or a model, with their own.
        r: The order of the jets, 0 or more.

    Returns:
        Rows, dimension, and where the variational constraints are empty or change their rank.

    Raises:
        UsageError: If `r` is not a number of derivatives.
        ModelError: For group coordinates.

    >>> skate = System("x y a", lagrangian="x'^2/2 + y'^2/2 + a'^2/2", kinematic=["y'*cos(a) = x'*sin(a)"])
    >>> print(prolong_constraints(skate, 2))
    C_K^[2] of system: dimension 7
      y'*cos(a) - x'*sin(a) = 0
      a'*(-x'*cos(a) - y'*sin(a)) + y''*cos(a) - x''*sin(a) = 0
      R_V of order 0 has rank 1
      the hypothesis of Proposition 39 holds
    """
    if isinstance(r, bool) or not isinstance(r, int) or not 0 <= r <= 20:
        raise UsageError(f"the order is given as {r!r}.", where="prolong_constraints", hint=Ask("prolong_constraints", "system, 2"))
    system, reactions = _read(given)
    require_coordinates(system, "prolong_constraints")
    least = max((order_of(c) for row in reactions for c in row.values()), default=0)
    rows, complete = prolonged_rows(system, r)
    deeper = rows if least <= r else prolonged_rows(system, least)[0]
    jets = [q.d(k) for k in range(max(r, least) + 1) for q in system.coordinates]
    own = [z for z in jets if z.order <= r]
    points = points_where(rows, own)
    dimension = len(own) - (generic_rank([SYMBOLIC.gradient(e, own) for e in rows], points) if rows else 0) if points else None
    on = points if least <= r else points_where(deeper, jets)
    entries = matrix(reactions, system.coordinates)
    empty = _denominators(entries)
    defined = not any(follows(e, on, jets) for e in empty)
    rank = generic_rank(entries, on) if entries and on and defined else None
    elsewhere = generic_rank(entries, points_where([], jets)) if entries else None
    drops, changes = _drops(entries, rank, deeper, jets) if rank else ((), False if rank is not None else None)
    holds: bool | None = True
    if empty:
        holds = False if not defined or any(points_where([*deeper, e], jets) for e in empty) else None
    return ProlongedConstraints(
        system, r, tuple(rows), dimension, least, rank, elsewhere, drops, changes, empty, holds if points else None, complete
    )


def prolonged_rows(system: System, r: int) -> tuple[list[Expr], bool]:
    """The rows of (A1), none of which follows from those before it, and whether all consequences of lower order were found."""
    calculus = contact_calculus(system)
    stated = [row.residual for row in system.kinematic]
    highest = max((row.order for row in system.kinematic), default=0)
    everywhere = points_where(stated, [q.d(k) for k in range(highest + 1) for q in system.coordinates])
    kept: list[Expr] = []
    complete = True
    for k in range(r + 1):
        lower = lower_rows(stated, k, everywhere) if k <= highest else None
        complete = complete and (lower is None or lower.complete)
        candidates = [*(lower.rows if lower is not None else ()), *[calculus.total(e) for e in kept]]
        jets = [q.d(j) for j in range(k + 1) for q in system.coordinates]
        for e in candidates:
            if e not in kept and not follows(e, points_where(kept, jets), jets):
                kept.append(e)
    return kept, complete


def _read(given: Any) -> tuple[System, Sequence[Any]]:
    """The system and its variational rows."""
    if isinstance(given, System) and given.variational is not None:
        return given, [row.coefficients for row in given.variational]
    if isinstance(given, System):
        try:
            return given, list(Chetaev().lower(given).reactions.values()) if given.kinematic and given.action is None else []
        except PrincipleError:
            return given, []
    if not isinstance(given, Equations) and not isinstance(getattr(given, "system", None), System):
        what = f"prolong_constraints takes a System, Equations or a Model, not {type(given).__name__}."
        raise UsageError(what, where="prolong_constraints", hint=Ask("prolong_constraints", "system, 2"))
    equations = given if isinstance(given, Equations) else derive(given)
    return equations.system, list(equations.lowered.reactions.values())


def _drops(entries: list[list[Expr]], rank: int, rows: Sequence[Expr], jets: Sequence[Coordinate]) -> tuple[tuple[Expr, ...], bool | None]:
    """The largest minors, which vanish together where the rank drops, and whether they do so on the constraint."""
    height, width = len(entries), len(entries[0])
    if comb(height, rank) * comb(width, rank) > _MOST_MINORS:
        return (), None
    whole = Matrix(entries)
    minors: list[Expr] = []
    for lines in combinations(range(height), rank):
        for columns in combinations(range(width), rank):
            minor = sympy.factor_terms(sympy.fraction(sympy.together(whole.extract(list(lines), list(columns)).det()))[0])
            if minor == 0:
                continue
            if minor.is_number or not (jets_in(minor) or minor.free_symbols):
                return (), False
            minors.append(minor.as_coeff_Mul()[1])
    kept = tuple(dict.fromkeys(minors))
    if points_where([*rows, *kept], jets):
        return kept, True
    never = limited(_inconsistent, (*rows, *kept), seconds=_PROOF_SECONDS, small=size(*rows, *kept) <= _LARGEST_IN_PLACE).or_else(False)
    return ((), False) if never else (kept, None)


def _inconsistent(expressions: tuple[Expr, ...]) -> bool:
    """Whether expressions are proved to have no common zero: 1 is a combination of them, sines and cosines being points of circles."""
    angles = {e.args[0] for f in expressions for e in f.atoms(sympy.sin, sympy.cos)}
    named: dict[Expr, Expr] = {}
    relations: list[Expr] = []
    for u in angles:
        s, c = sympy.Dummy("s"), sympy.Dummy("c")
        named |= {sympy.sin(u): s, sympy.cos(u): c}
        relations.append(s**2 + c**2 - 1)
    written = [e.xreplace(named) for e in expressions] + relations
    symbols = sorted({z for e in written for z in e.free_symbols}, key=str)
    moving = [z for z in symbols if not isinstance(z, Parameter)]  # parameters are generic
    if not moving or not all(e.is_polynomial(*moving) for e in written):
        return False
    return bool(sympy.groebner(written, *moving, order="grevlex").exprs == [1])


def _denominators(entries: list[list[Expr]]) -> tuple[Expr, ...]:
    """The denominators of all entries that are not constant, without powers."""
    found: list[Expr] = []
    for e in (e for line in entries for e in line):
        below = sympy.fraction(sympy.together(e))[1]
        found += [f.as_base_exp()[0] for f in sympy.Mul.make_args(below) if jets_in(f)]
    return tuple(dict.fromkeys(found))
