"""What `analyze` says: a verdict on what becomes of a motion, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

from sympy import Expr

from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.singular_locus import locus_factors, no_formula

_SHOWN = 6
"""Relations that a report shows."""
_WIDEST = 160


class Verdict(StrEnum):
    """What becomes of a motion: the word, a sentence, whether there is a motion at all, and whether the user has to choose one."""

    REGULAR = "REGULAR", "unique motion; nothing restricts the state but the stated rows and their time derivatives"
    CONSTRAINED = "CONSTRAINED", "unique motion on a smaller manifold; a relation arises that is no derivative of one stated row"
    GAUGE = "GAUGE", "free functions in coordinates", True, True
    INCONSISTENT = "INCONSISTENT", "no motion, or only special ones", False
    BRANCHING = "BRANCHING", "a union of manifolds", True, True
    UNDECIDED = "UNDECIDED", "a zero test or the budget did not suffice", False

    sentence: str
    allows_motion: bool
    """Whether motions are known to exist for general data."""
    needs_choice: bool
    """Whether a gauge or a branch has to be chosen before a motion is unique."""

    def __new__(cls, word: str, sentence: str = "", allows_motion: bool = True, needs_choice: bool = False) -> Self:
        found = str.__new__(cls, word)
        found._value_ = word
        found.sentence, found.allows_motion, found.needs_choice = sentence, allows_motion, needs_choice
        return found

    @property
    def unique_motion(self) -> bool:
        """Whether every consistent state has one motion."""
        return self.allows_motion and not self.needs_choice


@dataclass(frozen=True, repr=False)
class Analysis:
    """The verdict and its evidence."""

    equations: Equations
    verdict: Verdict
    hidden: tuple[str, ...]
    """What restricts the state: rows, differentiated as their primes say, or formulas where the constraint algorithm found them."""
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
    """One coordinate, or a jet of it, for each function of time that the equations leave free."""
    branches: tuple[Analysis, ...]
    """The branches of a BRANCHING system; the special motions that remain of an INCONSISTENT one."""
    offsets: tuple[tuple[int, ...], tuple[int, ...]] | None
    """Pryce's offsets of rows and unknowns; None if consequences of several rows had to be added."""
    origins: Mapping[str, tuple[str, ...]]
    """The rows that each consequence among the hidden rows is made of."""
    assumptions: tuple[str, ...]
    evidence: str
    sides: tuple[str, ...] = ()
    """Where a branch lies if branches are sides of corners: inequalities, one of which holds."""
    leaf: Any = field(default=None, repr=False, compare=False)
    """The final constraint manifold, a `Leaf`, where the constraint algorithm found it. An analysis only carries what that made."""
    tree: Any = field(default=None, repr=False, compare=False)
    """The account of the constraint algorithm, a `Tree`, where it was asked."""

    @cached_property
    def singular_locus(self) -> tuple[Expr, ...] | None:
        """Factors of the system Jacobian's determinant: where one vanishes, the motion is not determined.

        None if it is too long for a formula, or if there is no determinant: more rows than unknowns, or rows that depend on each other.
        """
        return None if self.offsets is None else locus_factors(self.equations)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        title = f"{self.equations.system.name or 'system'} · {self.equations.principle}"
        return "\n".join([title, *(f"  {line}" for line in self._report())])

    def _report(self) -> list[str]:
        lines = [f"{self.verdict}: {self.verdict.sentence}"]
        lines += [f"where {' or '.join(self.sides)}"] if self.sides else []
        if self.dimension is not None:
            example = f", for example {' '.join(self.free_data)}" if self.free_data else ""
            lines.append(f"{self.dimension} free initial value{'s' * (self.dimension != 1)}{example}")
        if self.hidden:
            lines.append(f"on every state: {_relations(self.hidden)}")
        lines += [f"{label} follows from {', '.join(rows)}" for label, rows in self.origins.items()]
        if self.index is not None:
            lines.append(f"differentiation index {self.index}")
        if self.free_functions:
            lines.append(f"{len(self.free_functions)} free function{'s' * (len(self.free_functions) > 1)}: {' '.join(self.free_functions)}")
        if self.undetermined:
            why = (
                "they follow free functions, or constraints are redundant"
                if self.free_functions
                else "redundant constraints; reactions are unique"
            )
            lines.append(f"not unique: {' '.join(self.undetermined)} ({why})")
        lines += self._where_singular()
        for k, branch in enumerate(self.branches):
            name = "motions remain" if self.verdict is Verdict.INCONSISTENT else f"branch {k}"
            first, *rest = branch._report()
            rest = [line for line in rest if not line.startswith(("evidence: ", "assumes "))]
            lines += [f"{name}: {first}", *(f"  {line}" for line in rest)]
        lines += [f"assumes {', '.join(self.assumptions)}"] if self.assumptions else []
        lines.append(f"evidence: {self.evidence}")
        return lines

    def _where_singular(self) -> list[str]:
        if not self.verdict.unique_motion:
            return []
        factors = self.singular_locus
        if factors is None:
            reason = no_formula(self.equations) if self.offsets else ""
            return [f"singular where the smallest pivot of the system Jacobian vanishes ({reason})"] if reason else []
        return [f"singular where {' or '.join(f'{show(f)} = 0' for f in factors)}"] if factors else []


def _relations(rows: tuple[str, ...]) -> str:
    """Rows that vanish, not more than somebody reads."""
    kept = [row for k, row in enumerate(rows) if k < _SHOWN and sum(map(len, rows[: k + 1])) < _WIDEST] or [f"{rows[0][:_WIDEST]}..."]
    more = f" and {len(rows) - len(kept)} more" if len(kept) < len(rows) else ""
    separator = ", " if any(" " in row for row in kept) else " "
    return separator.join(f"{row} = 0" for row in kept) + more


NOTHING_COMMON: dict[str, Any] = {
    "dimension": None, "hidden": (), "free_data": (), "index": None, "free_functions": (), "undetermined": (), "offsets": None,
    "origins": Frozen({}),
}  # fmt: skip
"""What a union of branches, or an empty set, does not have."""
