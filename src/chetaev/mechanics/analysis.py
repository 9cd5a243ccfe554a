"""The result of `analyze`: a verdict on existence and uniqueness of motions, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from html import escape
from typing import Any, Self

from sympy import Expr

from chetaev.core.display.html import badge, card, facts
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import RowLabel
from chetaev.mechanics.singular_locus import locus_factors, no_formula

_SHOWN = 6
"""Hidden relations that a printed analysis shows; the rest is counted."""
_WIDEST = 160
"""Characters of all shown relations together: about two lines of a terminal."""


class Verdict(StrEnum):
    """Whether motions exist and are unique: the word, a sentence, `allows_motion` and `needs_choice`."""

    REGULAR = "REGULAR", "unique motion; no constraints beyond yours and their time derivatives"
    CONSTRAINED = "CONSTRAINED", "unique motion on a smaller manifold; a constraint follows from several rows together"
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


@public
@dataclass(frozen=True, repr=False)
class Analysis:
    """The verdict and its evidence."""

    equations: Equations
    """The analysed equations."""
    verdict: Verdict
    """Whether motions exist and are unique."""
    hidden: tuple[str | RowLabel, ...]
    """Relations that every state satisfies: labels of rows, with a prime for each derivative, or formulas of the constraint algorithm."""
    state: tuple[str, ...]
    """The jets that make up a state."""
    free_data: tuple[str, ...]
    """Jets whose initial values can be chosen; the rest of the state follows."""
    dimension: int | None
    """Number of free initial values, time not counted."""
    index: int | None
    """The differentiation index of the equations."""
    undetermined: tuple[str, ...]
    """Multipliers that are not unique."""
    free_functions: tuple[str, ...]
    """A coordinate, or a jet of it, for each function of time that the equations leave free."""
    branches: tuple[Analysis, ...]
    """The branches of a BRANCHING system; the special motions that remain of an INCONSISTENT one."""
    offsets: tuple[tuple[int, ...], tuple[int, ...]] | None
    """Pryce's offsets of rows and unknowns; None if consequences of several rows were added."""
    origins: Mapping[str, tuple[str, ...]]
    """The rows from which each consequence among the hidden relations follows."""
    assumptions: tuple[str, ...]
    """Conditions on parameters under which the verdict holds."""
    evidence: str
    """The method by which the verdict was found."""
    sides: tuple[str, ...] = ()
    """For branches that are sides of corner functions: inequalities, one of which holds on this branch."""
    leaf: Any = field(default=None, repr=False, compare=False)
    """The final constraint manifold, a `Leaf`, if the constraint algorithm found it."""
    tree: Any = field(default=None, repr=False, compare=False)
    """The result of the constraint algorithm, a `Tree`, if it was run."""

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
        return "\n".join([title, *(f"  {line}" for line in self.lines)])

    @property
    def lines(self) -> list[str]:
        """The verdict, its consequences, branches, assumptions and evidence, as lines of text; those of branches are indented."""
        return self._report()

    def _repr_html_(self) -> str:
        title = f"{self.equations.system.name or 'system'} · {self.equations.principle}"
        return card(title, self._html_report(), *[f"<p>{escape(line)}</p>" for line in self._conditions()])

    def _html_report(self) -> str:
        """The verdict, its consequences, and below them the branches."""
        kind = "good" if self.verdict.unique_motion else "free" if self.verdict.allows_motion else "bad"
        lines = [escape(line) for line in self._own_lines()]
        name = "motions remain" if self.verdict is Verdict.INCONSISTENT else "branch"
        lines += [f"{name} {k}: {branch._html_report()}" for k, branch in enumerate(self.branches)]
        return f"{badge(str(self.verdict), kind)} {escape(self.verdict.sentence)}{facts(lines)}"

    def _report(self, alone: bool = True) -> list[str]:
        """The lines of the report; with `alone=False` without the assumptions and the evidence, which the whole analysis states."""
        lines = [f"{self.verdict}: {self.verdict.sentence}", *self._own_lines()]
        for k, branch in enumerate(self.branches):
            name = "motions remain" if self.verdict is Verdict.INCONSISTENT else f"branch {k}"
            first, *rest = branch._report(alone=False)
            lines += [f"{name}: {first}", *(f"  {line}" for line in rest)]
        return lines + (self._conditions() if alone else [])

    def _conditions(self) -> list[str]:
        """The assumptions and the evidence."""
        return [*([f"assumes {', '.join(self.assumptions)}"] if self.assumptions else []), f"evidence: {self.evidence}"]

    def _own_lines(self) -> list[str]:
        """The lines below the verdict, without the branches."""
        lines = [f"where {' or '.join(self.sides)}"] if self.sides else []
        if self.dimension is not None:
            example = f", for example {' '.join(self.free_data)}" if self.free_data else ""
            lines.append(f"{self.dimension} free initial value{'s' * (self.dimension != 1)}{example}")
        if self.hidden:
            lines.append(f"initial values must satisfy: {_relations(self.hidden)}")
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
        return lines + self._where_singular()

    def _where_singular(self) -> list[str]:
        if not self.verdict.unique_motion:
            return []
        factors = self.singular_locus
        if factors is None:
            reason = no_formula(self.equations) if self.offsets else ""
            return [f"singular where the smallest pivot of the system Jacobian vanishes ({reason})"] if reason else []
        return [f"singular where {' or '.join(f'{show(f)} = 0' for f in factors)}"] if factors else []


def _relations(rows: tuple[str, ...]) -> str:
    """The relations as equations, at most `_SHOWN` and about `_WIDEST` characters of them."""
    kept = [row for k, row in enumerate(rows) if k < _SHOWN and sum(map(len, rows[: k + 1])) < _WIDEST] or [f"{rows[0][:_WIDEST]}..."]
    more = f" and {len(rows) - len(kept)} more" if len(kept) < len(rows) else ""
    separator = ", " if any(" " in row for row in kept) else " "
    return separator.join(f"{row} = 0" for row in kept) + more


NOTHING_COMMON: dict[str, Any] = {
    "dimension": None, "hidden": (), "free_data": (), "index": None, "free_functions": (), "undetermined": (), "offsets": None,
    "origins": Frozen({}),
}  # fmt: skip
"""Fields of an analysis that a union of branches, or an empty set, does not have."""
