r"""The constraint algorithm with branches (sections 7 and 9 of Krupková, and the presymplectic algorithm of Vignolo and Bruno).

The algorithm finds the manifolds on which the motions of a singular system lie. Rows $A + B\,\xi = 0$ are solvable on a subset of the
states; motions must stay there, which restricts them further. The states form a tree of submanifolds. Its leaves are closed: at each of
their points there are motions, all of them tangent, and their rates are known up to free functions.

    >>> from chetaev.singular.dynamical.dynamical_form import DynamicalForm
    >>> cawley = DynamicalForm("q1 q2 q3", ["-q3''", "q2*q3", "q2^2/2 - q1''"], name="Cawley")
    >>> for leaf in constraint_algorithm(cawley).leaves:
    ...     print(leaf.constraints, leaf.free_functions, leaf.dimension, leaf.field["q1'"])
    (q2, q2') 0 5 0
    (q3, q3') 1 5 q2**2/2

The answer is exact over the rational functions of the parameters. `Leaf.real` and `Tree.complete` report questions that algebra cannot
decide.

`translation` replaces functions by algebraic variables, `ring` and `space` have the polynomial ring, `ideals` Gröbner bases, `reality`
arguments over the reals, `multipliers` blocks of linear equations for multipliers, `chains` blocks for any jets, `branches` sets of zeros
and their splitting, `elimination` linear equations on a branch, `search` the search; `redundancy` removes leaves inside others,
`points` finds real points; `leaf` and `tree` have the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Expr

from chetaev.core.errors import UsageError
from chetaev.core.exact.constants import is_zero
from chetaev.core.fixes import SetArgument
from chetaev.core.notation import show
from chetaev.core.support.budget import Allowance, allowance
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.zero import vanishes
from chetaev.singular.algorithm.branches import Infeasible
from chetaev.singular.algorithm.chains import rank_jets
from chetaev.singular.algorithm.leaf import Leaf, is_reduced, make_leaf
from chetaev.singular.algorithm.multipliers import describe_multipliers
from chetaev.singular.algorithm.reality import MOST_SURDS, NeedsSurd, parameter_assumptions
from chetaev.singular.algorithm.redundancy import essential
from chetaev.singular.algorithm.search import Dynamics, Final, Rows, Search, dynamics_of
from chetaev.singular.algorithm.space import Space
from chetaev.singular.algorithm.translation import UnsupportedFunction
from chetaev.singular.algorithm.tree import Empty, Entry, Tree
from chetaev.singular.dynamical.dynamical_form import DynamicalForm, form_of

__all__ = ["Empty", "Entry", "Leaf", "Tree", "constraint_algorithm"]

_KINDS = ("proper", "extended")
"""Values of the argument `dynamics`."""
_SEARCH = 0.8
"""Fraction of the budget for the search, half of it without chains; the rest is for redundancy, involutivity and real points."""
_LEAST_SECONDS = 0.2
"""Least budget, in seconds of counted operations, of each later part, even if the search used the whole budget."""


@public
def constraint_algorithm(given: Any, dynamics: str = "proper", seconds: float = 20.0) -> Tree:
    """Find the final constraint manifolds of a singular system, with the motions on them.

    Args:
        given: A dynamical form, equations, a system or a model.
        dynamics: `"proper"` for motions, `"extended"` for Hamilton paths on the phase space: of the Lepagean equivalent if the form is
            variational, else of the Lepage form without further contact part.
        seconds: The budget, counted in operations, so that the answer does not depend on the machine. When it is spent, the finished
            branches are returned, and `complete` is False.

    Returns:
        The tree whose leaves are the final constraint manifolds.

    Raises:
        UsageError: For another value of `dynamics`, a budget that is not positive, or a `given` without rows.
        PrincipleError: If a system needs a principle.
    """
    if dynamics not in _KINDS:
        raise UsageError(
            f"dynamics={dynamics!r} is unknown.",
            where="constraint_algorithm",
            hint=(SetArgument("dynamics", "proper"), " or ", SetArgument("dynamics", "extended")),
        )
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"seconds={seconds!r} is not a positive number.", where="constraint_algorithm", hint=SetArgument("seconds", 20))
    form = form_of(given)
    run = _Run(form, dynamics, seconds)
    with deep():
        run.search()
        run.finish()
        run.check_divisors()
    return run.tree()


class _Run:
    """One run under one budget; all attributes are valid whenever the budget ends."""

    def __init__(self, form: DynamicalForm, kind: str, seconds: float) -> None:
        self.form, self.kind, self.seconds, self.left = form, kind, seconds, seconds
        self.current: Search | None = None
        self.leaves: list[Leaf] = []
        self.contained: dict[int, int] = {}
        self.reasons: list[str] = []
        self.notes: list[str] = []

    def search(self) -> None:
        """Search without chains, then with them if that does not end: chains distinguish cases that a short search does not need."""
        dynamics = dynamics_of(self.form, self.kind)  # cached properties of the form, which do not count for the search
        self._note(dynamics)
        attempts: list[Search | None] = []
        for chains, share in ((False, _SEARCH / 2), (True, _SEARCH)):
            with allowance(share * self.seconds - (self.seconds - self.left)) as spent:
                self._attempt(dynamics, chains)
            attempts.append(self.current)
            self.left -= spent.seconds
            if not spent.expired:
                return
        self.current = max(attempts, key=lambda search: len(search.finals) if search else -1)
        left = len(self.current.open) if self.current else 0
        self._expire(spent, f"with {left or 'all'} branch{'es' * (left != 1)} open{_advice(attempts)}")

    def _attempt(self, dynamics: Dynamics, chains: bool) -> None:
        surds: list[Expr] = []
        try:
            while True:
                try:
                    self.current = None
                    entries = [e for row in dynamics.entries for e in row]
                    space = Space(self.form.phase, entries, self.form.parameters, surds, chains)
                    rows = Rows(space, dynamics)
                    (rank_jets if chains else describe_multipliers)(space, rows.dynamical, dynamics.unknowns)
                    self.current = Search(space, rows)
                    self.current.run()
                    return
                except NeedsSurd as need:
                    surds.append(need.square)
                    if len(surds) > MOST_SURDS:
                        self.reasons.append(f"quadratic forms split over more than {MOST_SURDS} square roots")
                        return
        except UnsupportedFunction as fact:
            self.reasons.append(str(fact))

    def finish(self) -> None:
        if self.current is None or not self.current.finals:
            return
        space, rows, finals = self.current.space, self.current.rows, list(self.current.finals)
        kept: Sequence[Final] = finals
        with allowance(max(_LEAST_SECONDS, self.left / 2)) as spent:
            kept, self.contained = essential(space, rows, finals)
        self._account(spent, "before redundant leaves were removed")
        made = 0
        with allowance(max(_LEAST_SECONDS, self.left)) as spent:
            for final in kept:
                leaf = make_leaf(space, rows, final)
                if not is_reduced(space, final.branch, leaf):
                    self.reasons.append("the ideal of a leaf may not be radical, so that tangency may give further constraints")
                made += 1
                if leaf.confirmed is False or _divides_by_zero(leaf):
                    self.reasons.append("the formulas of a leaf did not hold at a real point: functions of jets are related beyond algebra")
                else:
                    self.leaves.append(leaf)
        self._account(spent, f"with {len(kept) - made} leaves not described")

    def check_divisors(self) -> None:
        """Record divisors without jets that may be zero: their functions are variables of the ring, but may be related."""
        for divisor in parameter_assumptions(self.current.space) if self.current else ():
            if divisor.free_symbols and not divisor.atoms(sympy.Function) and not any(p.exp.free_symbols for p in divisor.atoms(sympy.Pow)):
                continue  # a nonzero polynomial
            if (vanishes(divisor) if divisor.free_symbols else is_zero(divisor)) is not False:
                self.leaves = []
                self.reasons.append(f"{show(divisor)} was divided by, and may be zero: functions of parameters are related beyond algebra")

    def tree(self) -> Tree:
        search = self.current
        discarded = [_empty(search.space, infeasible) for infeasible in search.infeasible] if search else []
        return Tree(
            self.form,
            self.kind,
            tuple(sorted(self.leaves, key=_order)),
            tuple({str(e): e for e in discarded}.values()),
            not self.reasons,
            parameter_assumptions(search.space) if search else (),
            "; ".join(self.reasons),
            tuple(self._entries(search)) if search else (),
            tuple(self.notes),
        )

    def _account(self, spent: Allowance, found: str) -> None:
        """Subtract the cost of a part from the budget, and record it if the part was interrupted."""
        self.left -= spent.seconds
        self._expire(spent, found)

    def _expire(self, spent: Allowance, found: str) -> None:
        if spent.expired:
            self.reasons.append(f"the {'clock' if spent.by_clock else 'work allowed'} ran out {found}")

    def _note(self, dynamics: Dynamics) -> None:
        if dynamics.kind == "extended" and not self.form.lepage.closed:
            self.notes.append("the form is not variational: Hamilton paths of the Lepage form without further contact part")

    def _entries(self, search: Search) -> list[Entry]:
        space = search.space
        found = []
        for node in search.nodes:
            added = tuple(space.expression(g) for g in node.added)
            excluded = tuple(space.expression(n) for n in node.branch.nonzero) if node.branch else ()
            found.append(Entry(node.number, node.parent, added, excluded, node.status, self.contained.get(node.number)))
        return found


def _advice(attempts: Sequence[Search | None]) -> str:
    """What shortens the search, if signs of parameters decide whether multipliers can be determined first."""
    unsigned = dict.fromkeys(p.name for search in attempts if search for p in search.space.unsigned)
    if not unsigned:
        return ""
    kinds = ", ".join(f'"{name}": "positive"' for name in unsigned)
    return f"; with signs of masses that are known, as in parameters={{{kinds}}}, multipliers are determined first, which takes less"


def _divides_by_zero(leaf: Leaf) -> bool:
    """Whether a denominator of the rates is not known to differ from zero; polynomials of the ring without functions do."""
    return any(vanishes(e) is not False for e in leaf.excluded if e.atoms(sympy.Function))


def _order(leaf: Leaf) -> tuple[int, int, str]:
    return -leaf.dimension, leaf.free_functions, str(leaf.constraints)


def _empty(space: Space, infeasible: Infeasible) -> Empty:
    return Empty(tuple(space.expression(g) for g in infeasible.constraints), space.expression(infeasible.certificate))
