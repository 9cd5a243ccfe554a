r"""The branches of a system: the leaves of the constraint algorithm, as rows that the numerics can use.

Where the system Jacobian is singular the states of all motions form a union of manifolds, the leaves of `constraint_algorithm`. A leaf
becomes equations like any other when its constraints are appended as rows: evaluation, projection and drift then work on the branch.

The rates on a leaf may have denominators. Another leaf at which they vanish is a separate branch if it consists of all these singular
states and its motion is determined, as for an envelope. If it leaves more functions free, or is a smaller part of them, it only describes
the equations at singular states, such as the poles of Euler's angles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from sympy import Expr, S, Symbol

from chetaev.core.calculus import partials, total_derivative
from chetaev.core.functions import in_own_functions
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import TIME, Coordinate, Entry, Input, Jet, Multiplier
from chetaev.core.system import lowest_written
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import known_zero, random_point
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Branch as BranchRow
from chetaev.mechanics.ranks.exact import exactly_zero, free_columns
from chetaev.mechanics.ranks.factored import null_space
from chetaev.mechanics.ranks.generic import Matrix, rank
from chetaev.mechanics.tolerances import CONTRADICTION
from chetaev.numerics.flow.closure import closure_of

if TYPE_CHECKING:  # regular systems need no constraint algorithm, and do not load it
    from chetaev.singular.algorithm import Leaf, Tree

SECONDS = 4.0
"""Budget of the constraint algorithm, in counted operations of about this many seconds. After it the numerical analysis decides alone."""
SECONDS_DECIDED = 1.0
"""Budget of the constraint algorithm, as `SECONDS`, if the numerical analysis has a verdict. The systems of the gallery need at most 0.4;
with less, branches that random points miss are not found; with more, known verdicts take longer."""
_MAY_VANISH = 1e-9
"""Value of an expression at the random point of a branch, relative to its terms, below which it may vanish on the branch; the finite field
decides."""
_LONGEST_TEXT = 100
"""Characters of the constraints in the text of a branch; further ones are left out."""
_SAME_RATIO = 1e-10
"""Relative difference of the ratios of two expressions at random points up to which one is a multiple of the other."""


@dataclass(frozen=True)
class FreeFunction:
    """A function of time that the motions on a branch leave free."""

    name: str
    """`u1`, ..."""
    jet: Jet
    """The jet whose value it is: `q2''`."""
    coordinate: Coordinate
    """A coordinate whose motion depends on it."""
    written: str
    """The key of a gauge for this coordinate: `q2`, or `A3'` for a component of a group coordinate."""


@dataclass(frozen=True)
class Branch:
    """A final constraint manifold of equations."""

    equations: Equations
    """The equations without the branch's rows."""
    leaf: Leaf
    number: int
    assumptions: tuple[Expr, ...] = ()
    """Expressions in parameters that must not vanish."""

    @cached_property
    def text(self) -> str:
        """`{q3 = q3' = 0}`."""
        on_state = [e for e in self.leaf.constraints if not any(self.algebraic(z) for z in e.free_symbols)]
        shown = on_state or self.leaf.constraints
        parts = [show(e) for e in shown]
        if not parts:
            return "{all states}"
        plain = all(e.is_Symbol for e in shown)
        body = " = ".join([*parts, "0"]) if plain else ", ".join(f"{p} = 0" for p in parts)
        if len(body) > _LONGEST_TEXT:
            kept = [p for k, p in enumerate(parts) if sum(map(len, parts[: k + 1])) < _LONGEST_TEXT] or [f"{parts[0][:_LONGEST_TEXT]}..."]
            body = ", ".join(f"{p} = 0" for p in kept) + (f" and {len(parts) - len(kept)} more" if len(kept) < len(parts) else "")
        return f"{{{body}}}"

    @cached_property
    def free(self) -> tuple[FreeFunction, ...]:
        """The free functions in the motion of coordinates; those in multipliers alone come from redundant constraints."""
        phase = {z.name: z for z in self.leaf.form.phase}
        found = []
        for name, rate in self.leaf.free.items():
            moved = _moved(self.leaf, name)
            if moved:
                jet = phase[rate]
                own = [q for q in moved if q.base == jet.base]
                coordinate = (own or moved)[0]
                found.append(FreeFunction(name, jet.d(), coordinate, lowest_written(self.equations.system, coordinate)))
        return tuple(found)

    @cached_property
    def dimension(self) -> int:
        """The dimension of the manifold of states, time not counted; multipliers count where they are part of the state."""
        if not any(self.algebraic(z) for z in self.leaf.form.phase):
            return self.leaf.dimension - 1
        if self.exactly_free is not None:
            return len(self.exactly_free)
        if self.tangents is None:
            return self.leaf.dimension - 1
        kept = [k for k, z in enumerate(self.leaf.form.phase) if not self.algebraic(z)]
        return rank(self.tangents[kept]) if self.tangents.size else 0

    def algebraic(self, z: Symbol) -> bool:
        """Tell whether a jet is not part of the state."""
        return self.equations.lowered.is_reaction(z)

    @cached_property
    def exactly_free(self) -> tuple[Jet, ...] | None:
        """Jets of the state, lowest orders first, that the constraints leave free; None where the finite field has no point of the leaf."""
        phase, constraints = self.leaf.form.phase, self.leaf.constraints
        jets = sorted(phase, key=lambda z: (self.algebraic(z), z.order))
        if not constraints:
            return tuple(z for z in jets if not self.algebraic(z))
        free = free_columns([[in_own_functions(slope) for slope in partials(e, jets)] for e in constraints], constraints)
        if free is None or len(free) != self.leaf.dimension - 1:  # the field may show another component
            return None
        return tuple(jets[k] for k in free if not self.algebraic(jets[k]))

    @cached_property
    def tangents(self) -> Matrix | None:
        """Directions in which the state may change at the random point, by columns; None without a point."""
        if self.point is None:
            return None
        phase, constraints = self.leaf.form.phase, self.leaf.constraints
        if not constraints:
            return np.eye(len(phase))
        values = Tape([in_own_functions(slope) for e in constraints for slope in partials(e, phase)])(self.point)
        return null_space(np.array(values, dtype=float).reshape(len(constraints), len(phase)))

    @cached_property
    def rows(self) -> tuple[Row[Expr], ...]:
        """The constraints as rows, without those that follow by differentiation from stated rows or other constraints."""
        stated = [row.residual for row in self.equations.rows]
        few = _rows([e for e in self.leaf.constraints if not any(map(self.algebraic, e.free_symbols))], stated, self.text)
        if not any(self.algebraic(z) for e in self.leaf.constraints for z in e.free_symbols):
            return few
        found = closure_of(with_rows(self.equations, few))
        alike = found.dimension == self.dimension if not self.leaf.free_functions else len(found.free) == len(self.free)
        return few if alike else _rows([e for e in self.leaf.constraints if _low(e)], stated, self.text)

    @cached_property
    def restricted(self) -> Equations:
        r"""The equations on the branch.

        A stated row that follows from the constraints, as $x^2 = 2y^2$ does from $x = \sqrt2\,y$, is left out: it would determine the same
        rates again, with other round-off. A branch that is a single motion keeps all rows, because its constraints alone do not determine
        rates.
        """
        if not self.rows or not self.dimension:
            return with_rows(self.equations, self.rows)
        kept = tuple(row for row in self.equations.rows if not self._implies(row.residual))
        return replace(self.equations, rewritten=(*kept, *self.rows))

    def _implies(self, e: Expr) -> bool:
        """Whether an expression in the state vanishes on the branch without being a number times one of its constraints."""
        known = {TIME, *self.leaf.form.phase, *self.leaf.form.parameters}
        if not e.free_symbols <= known or self.point is None or any(isinstance(z, Multiplier) for z in e.free_symbols):
            return False
        return self.fulfils([e]) and not any(_proportional(e, g) for g in self.leaf.constraints)

    def off(self, known: Mapping[Symbol, float]) -> float:
        """Return the largest residual of the constraints that the values determine, relative to their terms."""
        decidable = [e for e in self.leaf.constraints if e.free_symbols <= known.keys()]
        return _largest_fault(decidable, known)

    def distance(self, known: Mapping[Symbol, float]) -> float:
        """The largest value of a constraint that the values determine, in the user's units, for messages."""
        decidable = [e for e in self.leaf.constraints if e.free_symbols <= known.keys()]
        return max((abs(float(v)) for v in Tape(decidable)(known)), default=0.0)

    def contains(self, known: Mapping[Symbol, float]) -> bool:
        """Tell whether values, perhaps of some jets only, contradict no constraint."""
        return self.off(known) <= CONTRADICTION

    def fulfils(self, expressions: Iterable[Expr]) -> bool:
        """Whether expressions vanish on the branch: they are among its constraints, or vanish at its random point and in the field."""
        rest = [e for e in expressions if e not in self.leaf.constraints and -e not in self.leaf.constraints]
        if not rest:
            return True
        if self.point is None or _largest_fault(rest, self.point) >= _MAY_VANISH:
            return False
        exact = exactly_zero(rest, self.leaf.constraints)
        return exact is None or all(exact)

    @cached_property
    def point(self) -> dict[Symbol, float] | None:
        """A random state on the branch, with values of parameters and time."""
        if self.leaf.point is None:
            return None
        known: dict[str, Symbol] = {z.name: z for z in (TIME, *self.leaf.form.phase, *self.leaf.form.parameters)}
        return {TIME: 0.0, **{known[name]: v for name, v in self.leaf.point.items() if name in known}}


@dataclass(frozen=True)
class Branches:
    """The result of the constraint algorithm."""

    tree: Tree | None
    """None if the algorithm could not run."""
    reason: str
    """The reason why the result is not complete; empty if it is."""
    branches: tuple[Branch, ...]
    singular: tuple[Branch, ...]
    """Leaves at singular states of branches."""

    @property
    def complete(self) -> bool:
        """Whether these are all branches."""
        return not self.reason


def branches_of(equations: Equations, inputs: Frozen[str, Expr] | None = None, seconds: float = SECONDS) -> Branches:
    """Return the branches of equations with inputs. The result is cached, also where the budget ran out."""
    own = Frozen({z.base: u for z, u in equations.system.inputs.items()})
    inputs = None if inputs is None or inputs == own else inputs
    known = _attempts(equations, inputs)
    for allowed, found in known.items():
        if allowed == seconds or found.complete == (allowed < seconds):  # a smaller budget cannot finish either
            return found
    known[seconds] = _branches(equations, inputs, seconds)
    return known[seconds]


@lru_cache(maxsize=128)
def _attempts(equations: Equations, inputs: Frozen[str, Expr] | None) -> dict[float, Branches]:
    """Return the cached results by their budgets."""
    return {}


def _branches(equations: Equations, inputs: Frozen[str, Expr] | None, seconds: float) -> Branches:
    bound = _bound(equations, inputs)
    missing = [z.base for z, u in bound.system.inputs.items() if u is None]
    if missing:
        return Branches(None, f"the input {missing[0]} has no function", (), ())
    if any(isinstance(z, Entry) for row in bound.rows for z in row.residual.free_symbols):
        return Branches(None, "the rows contain entries of a group element, which it does not know", (), ())
    from chetaev.singular.algorithm import constraint_algorithm

    tree = constraint_algorithm(bound, seconds=seconds)
    found = [Branch(equations, leaf, k, tree.assumptions) for k, leaf in enumerate(tree.leaves) if leaf.real != "no"]
    singular = [b for b in found if any(_singular_state(b, other) for other in found)]
    kept = [replace(b, number=k) for k, b in enumerate(b for b in found if b not in singular)]
    return Branches(tree, tree.reason if not tree.complete else "", tuple(kept), tuple(singular))


def _largest_fault(expressions: Sequence[Expr], values: Mapping[Symbol, float]) -> float:
    from chetaev.singular.algorithm.points import largest_fault

    return largest_fault(expressions, values)


def with_rows(equations: Equations, rows: Sequence[Row[Expr]]) -> Equations:
    """Equations with further rows."""
    return replace(equations, rewritten=(*equations.rows, *rows)) if rows else equations


def _bound(equations: Equations, inputs: Frozen[str, Expr] | None) -> Equations:
    if inputs is None or not equations.system.inputs:
        return equations
    system = equations.system
    given: Frozen[Input, Expr | None] = Frozen({z: inputs.get(z.base, u) for z, u in system.inputs.items()})
    return replace(equations, lowered=equations.lowered.exchange(system=system.exchange(inputs=given)))


def _singular_state(small: Branch, large: Branch) -> bool:
    """Tell whether the leaf `small` lies where formulas of `large` divide by zero, and is only a part of this set or leaves more functions
    free.

    The set of all singular states has one dimension less than the larger leaf. A set outside the manifold of the larger leaf that leaves as
    few functions free, as the line $y = z = 0$ beside the plane $x = 0$, consists of other states; one that leaves more functions free
    shows that coordinates fail, as Euler's angles do at theta = 0.
    """
    less = large.leaf.dimension - small.leaf.dimension
    if less < 1 or (less == 1 and len(small.free) <= len(large.free)):
        return False
    if not any(small.fulfils([e]) for e in large.leaf.excluded):
        return False
    return len(small.free) > len(large.free) or small.fulfils(large.leaf.constraints)


def _moved(leaf: Leaf, name: str) -> list[Coordinate]:
    """Return the coordinates whose motion depends on a free function, directly or through the rates of other jets."""
    form = leaf.form
    phase = {z.name: z for z in form.phase}
    rates = {phase[k]: e.free_symbols for k, e in leaf.field.items() if k in phase}
    rates |= {z: {z.d()} for z in form.phase if z not in rates}
    touched: set[Symbol] = {Symbol(name, real=True)}
    while more := {z for z, inside in rates.items() if z not in touched and inside & touched}:
        touched |= more
    return [q for q in form.coordinates if isinstance(q, Coordinate) and q in touched]


def _rows(constraints: Iterable[Expr], stated: Sequence[Expr], text: str) -> tuple[Row[Expr], ...]:
    kept: list[Expr] = []
    known = list(stated)
    for e in constraints:
        if not any(_proportional(e, g) for g in known):
            kept.append(e)
            known.append(e)
            known.append(total_derivative(e))
    return tuple(Row(BranchRow(k, text), e, S.Zero) for k, e in enumerate(kept))


def _low(e: Expr) -> bool:
    """Tell whether an expression contains no derivative of a multiplier; rows with such derivatives follow from others."""
    return not any(isinstance(z, Multiplier) and z.order for z in e.free_symbols)


def _proportional(e: Expr, g: Expr) -> bool:
    r"""Tell whether an expression is proved to be a number times another one: $e\,\partial g = g\,\partial e$ for every symbol.

    Values at random points exclude most pairs before the proof; a row is left out only if the proof succeeds.
    """
    if e.free_symbols != g.free_symbols or not _alike(e, g):
        return False
    return all(known_zero(e * g.diff(z) - g * e.diff(z)) for z in sorted(e.free_symbols, key=lambda z: str(z.name)))


def _alike(e: Expr, g: Expr) -> bool:
    """Tell whether two expressions have the same ratio at random points."""
    tape = Tape([e, g])
    ratios = []
    for seed in range(3):
        try:
            a, b = tape(random_point(tape.symbols, seed))
        except Undefined:
            return False
        if not b:
            return False
        ratios.append(a / b)
    return bool(max(ratios) - min(ratios) <= _SAME_RATIO * max(map(abs, ratios)))
