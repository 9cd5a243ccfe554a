r"""The search: constraints, tangency, further constraints, and case distinctions, until every branch is closed or empty.

One node is one branch. Its rows are the dynamical ones and the tangency of its generators. If the rows are consistent with constant rank
the branch is final. If they leave constraints these are added, which may split the branch. If a pivot may vanish, its zeros and the rest of
the branch become separate nodes.

Proper dynamics (paths): $\xi = \partial_t + \sum_{k<s-1} q_{k+1}\,\partial_{q_k} + \xi_{s-1}\,\partial_{q_{s-1}}$ is a semispray, and
(5.12) of Krupková says $A_\sigma + B_{\sigma\nu}\,\xi^\nu_{s-1} = 0$. Extended dynamics (Hamilton paths): all components are unknown and
obey (5.10), $\sum_k 2F^{ik}_{\sigma\nu}(\xi_k^\nu - q_{k+1}^\nu) + \delta^{i0}(A_\sigma + \dots) = 0$. A constraint $g$ adds the row
$\xi(g) = 0$.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sympy import Expr, S

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.symbols import TIME, Jet
from chetaev.mechanics.ranks.sizes import Sizes, natural_sizes
from chetaev.singular.algorithm.branches import Branch, Infeasible, refine
from chetaev.singular.algorithm.elimination import Constraints, Row, Solved, eliminate
from chetaev.singular.algorithm.ideals import normal_form
from chetaev.singular.algorithm.ring import Fraction, Poly
from chetaev.singular.algorithm.space import Space
from chetaev.singular.dynamical.dynamical_form import DynamicalForm

Steps = tuple[tuple[Poly, ...], ...]


@dataclass
class Node:
    """A node of the tree: the constraints added to its parent, and its status."""

    number: int
    parent: int | None
    added: tuple[Poly, ...]
    case: bool
    """Whether the node is one case of a distinction, not a consequence."""
    status: str = "open"
    branch: Branch | None = None


@dataclass(frozen=True)
class Final:
    """A closed branch with the rates on it."""

    node: int
    branch: Branch
    solved: Solved
    steps: Steps


@dataclass
class Search:
    """The state of the search; `finals` and `nodes` are valid at any time, even if the budget interrupts it."""

    space: Space
    rows: Rows
    tangency: bool = True
    nodes: list[Node] = field(default_factory=list)
    finals: list[Final] = field(default_factory=list)
    infeasible: list[Infeasible] = field(default_factory=list)
    conflicts: list[tuple[Branch, list[Poly]]] = field(default_factory=list)
    """Branches on which rows are solvable only where some polynomials vanish."""
    _queue: list[tuple[int, Branch, Steps]] = field(default_factory=list)
    _seen: set[object] = field(default_factory=set)

    def run(self) -> None:
        """Expand nodes until none is open."""
        start = Branch(nonzero=(*self.space.nonzero, *self.rows.denominators))
        self._push(None, start, self.space.relations, (), case=True, count=False)
        while self._queue:
            self._expand(*self._queue.pop())

    @property
    def open(self) -> list[Node]:
        """Nodes that have not been expanded."""
        return [node for node in self.nodes if node.status == "open"]

    def _expand(self, number: int, branch: Branch, steps: Steps) -> None:
        node = self.nodes[number]
        constraints = branch.constraints(self.space) if self.tangency else []
        outcome = eliminate(self.space, branch, self.rows.all(constraints))
        if isinstance(outcome, Solved):
            self.finals.append(Final(number, outcome.branch, outcome, steps))
            node.status = "final"
            return
        if isinstance(outcome, Constraints):
            if not outcome.radical:
                self.conflicts.append((branch, outcome.polynomials))
            found = self._push(number, branch, outcome.polynomials, steps)
            node.status = "further constraints" if found else "inconsistent"
            return
        for f in outcome.factors:
            self._push(number, branch, [f], steps, case=True)
        generic = replace(branch, nonzero=(*branch.nonzero, *outcome.factors))
        self._push(number, generic, [], steps, case=True, count=False)
        node.status = "distinction"

    def _push(self, parent: int | None, branch: Branch, new: Sequence[Poly], steps: Steps, case: bool = False, count: bool = True) -> bool:
        found, infeasible = refine(self.space, branch, new)
        self.infeasible += [d for d in infeasible if d.certificate is not None]
        for child in found:
            key = child.key()
            if key in self._seen:
                continue
            self._seen.add(key)
            added = added_to(self.space, branch, child) if count else ()
            node = Node(len(self.nodes), parent, added, case or len(found) > 1, branch=child)
            self.nodes.append(node)
            self._queue.append((node.number, child, (*steps, added) if added else steps))
        return bool(found)


def added_to(space: Space, parent: Branch, child: Branch) -> tuple[Poly, ...]:
    """Constraints of `child` that are new relative to `parent`; none is a combination of those before it."""
    kept: list[Poly] = []
    for g in child.constraints(space):
        rest = normal_form(parent.reduce(space, g), kept)
        if rest and not rest.is_ground:
            kept.append(space.monic(rest))
    return tuple(kept)


@dataclass(frozen=True)
class Dynamics:
    """Equations for the vector field, in expressions: rows over unknown components, and the known components."""

    form: DynamicalForm
    kind: str
    unknowns: tuple[Jet, ...]
    """The jets whose rates are unknown."""
    known: dict[Jet, Jet]
    """The jets whose rate is another jet."""
    entries: tuple[tuple[Expr, ...], ...]
    """Coefficients of the unknown rates, then the term without them."""


def dynamics_of(form: DynamicalForm, kind: str) -> Dynamics:
    """The rows of proper or extended dynamics."""
    s, coordinates = form.order, form.coordinates
    if kind == "proper":
        known = {q.d(k): q.d(k + 1) for k in range(s - 1) for q in coordinates}
        return Dynamics(form, kind, tuple(q.d(s - 1) for q in coordinates), known, tuple(map(tuple, form.B_and_A.tolist())))
    return Dynamics(form, kind, form.phase, {}, form.lepage.hamilton_rows())


class Rows:
    """The dynamical rows in the ring, and tangency rows made on demand."""

    def __init__(self, space: Space, dynamics: Dynamics) -> None:
        self.space, self.dynamics = space, dynamics
        self.columns = {z: j for j, z in enumerate(dynamics.unknowns)}
        self.denominators: list[Poly] = []
        self.dynamical = [self._cleared([space.read(e) for e in row], keep=True) for row in dynamics.entries]

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of jets and time that the rows suggest."""
        dynamics = self.dynamics
        written = [row[-1] + sum((c * z.d() for c, z in zip(row, dynamics.unknowns, strict=False)), S.Zero) for row in dynamics.entries]
        return natural_sizes(written, SYMBOLIC, symbols=[*dynamics.form.phase, TIME])

    def tangency(self, g: Poly) -> Row:
        r"""$\xi(g) = 0$ as a row."""
        space = self.space
        row: list[Fraction] = [(space.zero, space.one)] * (len(self.columns) + 1)
        rest: list[Fraction] = []
        for z, (n, d) in space.partials(g).items():
            if z in self.columns:
                row[self.columns[z]] = (n, d)
            elif z == TIME:
                rest.append((n, d))
            else:
                rest.append((n * space.variables[space.index[self.dynamics.known[z]]], d))
        row[-1] = space.sum(rest)
        return self._cleared(row, keep=False)

    def all(self, constraints: Sequence[Poly]) -> list[Row]:
        """The dynamical rows and the tangency rows of some constraints."""
        return [*self.dynamical, *[self.tangency(g) for g in constraints]]

    def _cleared(self, row: Sequence[Fraction], keep: bool) -> Row:
        """The row without denominators; `keep` records the common denominator, which does not vanish where the functions are defined."""
        found, common = self.space.cleared(row)
        if keep and not common.is_ground:
            self.denominators.append(common)
        return found
