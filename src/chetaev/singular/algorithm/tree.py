"""The result of the constraint algorithm: leaves, discarded sets, and a record of the search."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr

from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.singular.algorithm.leaf import Leaf
from chetaev.singular.dynamical.dynamical_form import DynamicalForm


@dataclass(frozen=True)
class Empty:
    """A set without real points: `certificate` is a sum of squares, or of positive terms, that cannot vanish on it."""

    constraints: tuple[Expr, ...]
    certificate: Expr
    real: str = "no"

    def __str__(self) -> str:
        where = ", ".join(f"{show(e)} = 0" for e in self.constraints)
        return f"{where}: no real point, because {show(self.certificate)} cannot vanish"


@dataclass(frozen=True)
class Entry:
    """A node of the tree."""

    number: int
    parent: int | None
    added: tuple[Expr, ...]
    excluded: tuple[Expr, ...]
    status: str
    """`open`, `final`, `further constraints`, `inconsistent` or `distinction`."""
    within: int | None = None
    """The node whose final manifold contains this one, with the same motions."""

    def __str__(self) -> str:
        return self.status if self.within is None else f"{self.status}, contained in node {self.within} with the same motions"


@public
@dataclass(frozen=True)
class Tree:
    """All final constraint manifolds of a dynamical form.

    `leaves` are not redundant: none is contained in another one with the same motions. `discarded` sets were proved empty over the reals.
    `complete` is False if the budget ran out or a step was not decided; the leaves are then correct, but there may be others, and `reason`
    states why. `assumptions` are expressions in parameters that must not vanish.
    """

    form: DynamicalForm
    dynamics: str
    leaves: tuple[Leaf, ...]
    discarded: tuple[Empty, ...]
    complete: bool
    assumptions: tuple[Expr, ...]
    reason: str = ""
    entries: tuple[Entry, ...] = field(default=(), repr=False, compare=False)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{self.form.name or 'dynamical form'} · {self.dynamics} dynamics"
        lines = [head]
        if not self.leaves:
            lines.append("  no motion" if self.complete else "  no final manifold found")
        for k, leaf in enumerate(self.leaves):
            lines += [f"  leaf {k}: {line}" if n == 0 else f"  {line}" for n, line in enumerate(str(leaf).splitlines())]
        lines += [f"  discarded: {empty}" for empty in self.discarded]
        if self.assumptions:
            lines.append(f"  parameters are generic: {', '.join(f'{show(a)} != 0' for a in self.assumptions)}")
        lines += [f"  note: {note}" for note in self.notes]
        if not self.complete:
            lines.append(f"  incomplete: {self.reason}")
        return "\n".join(lines)

    def report(self) -> str:
        """The tree as text: the constraints added at each node, and its status."""
        children: dict[int | None, list[Entry]] = {}
        for entry in self.entries:
            children.setdefault(entry.parent, []).append(entry)
        lines = [f"{self.form.name or 'dynamical form'} · {self.dynamics} dynamics"]

        def write(parent: int | None, depth: int) -> None:
            for entry in children.get(parent, []):
                parts = [f"{show(e)} = 0" for e in entry.added] + [f"{show(e)} != 0" for e in entry.excluded]
                lines.append(f"{'  ' * depth}{', '.join(parts) or 'phase space'}: {entry}")
                write(entry.number, depth + 1)

        write(None, 1)
        return "\n".join(lines)
