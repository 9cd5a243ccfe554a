r"""Regularity of a dynamical form, section 5 and 6 of Krupková.

*Weakly regular*: $\mathrm{rank}\,B = \mathrm{rank}\,(B|A)$ everywhere on the phase space, and locally constant. *Regular*: weakly regular
with $\mathrm{rank}\,B = m$, so that the rows can be solved for the highest derivatives. *Semiregular*: $\mathrm{rank}\,F =
\mathrm{rank}\,(F|A)$ everywhere, and locally constant; *strongly semiregular*: both. A first-order Lagrangian that is affine in the
velocities can be regular in this sense.

The elimination of the constraint algorithm, without tangency, divides the phase space into strata on which the ranks are constant.
Parameters are generic. An answer is None if it is unknown whether a stratum of another rank has real points, or if the budget ran out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr, Symbol

from chetaev.core.errors import ModelError
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Jet
from chetaev.singular.algorithm.branches import Branch, substitute
from chetaev.singular.algorithm.leaf import codimension_of
from chetaev.singular.algorithm.points import Sampler
from chetaev.singular.algorithm.reality import MOST_SURDS, NeedsSurd
from chetaev.singular.algorithm.search import Dynamics, Rows, Search, dynamics_of
from chetaev.singular.algorithm.space import Space
from chetaev.singular.algorithm.translation import UnsupportedFunction
from chetaev.singular.dynamical.constrained_system import ConstrainedSystem
from chetaev.singular.dynamical.constraint_dynamics import annihilating_forms
from chetaev.singular.dynamical.dynamical_form import DynamicalForm, form_of


@dataclass(frozen=True)
class Stratum:
    """A part of the phase space on which the rows are solvable and the rank is constant."""

    constraints: tuple[Expr, ...]
    excluded: tuple[Expr, ...]
    rank: int
    real: bool | None
    """True if a real point was found; None if unknown."""

    def __str__(self) -> str:
        parts = [f"{show(e)} = 0" for e in self.constraints] + [f"{show(e)} != 0" for e in self.excluded]
        return f"rank {self.rank} {'where ' + ', '.join(parts) if parts else 'everywhere'}" + (
            "" if self.real else " (real points undecided)"
        )


@dataclass(frozen=True)
class Conflict:
    """A part of the phase space on which the rows are solvable only where more expressions vanish."""

    constraints: tuple[Expr, ...]
    """Expressions that vanish on that part."""
    expressions: tuple[Expr, ...]
    """Expressions that must vanish for the rows to be solvable."""
    real: bool | None
    """True if a real point of the part is known where one of them does not vanish."""

    def __str__(self) -> str:
        never = any(e.is_number for e in self.expressions)
        where = "nowhere" if never else f"only where {', '.join(f'{show(e)} = 0' for e in self.expressions)}"
        part = f"where {', '.join(f'{show(e)} = 0' for e in self.constraints)} " if self.constraints else ""
        return f"{part}solvable {where}"


@dataclass(frozen=True)
class Ranks:
    """The ranks of one matrix over the phase space, and where the rows cannot be solved."""

    matrix: str
    strata: tuple[Stratum, ...]
    conflicts: tuple[Conflict, ...]
    finished: bool

    @property
    def constant(self) -> bool | None:
        """Whether the rows are solvable everywhere with one rank."""
        if any(conflict.real for conflict in self.conflicts) or len({s.rank for s in self.strata if s.real}) > 1:
            return False
        if not self.finished or self.conflicts or len({s.rank for s in self.strata}) > 1:
            return None
        return True if self.strata else None

    def __str__(self) -> str:
        lines = [f"{self.matrix}: {s}" for s in self.strata]
        for conflict in self.conflicts:
            lines.append(f"{self.matrix}: {conflict}")
        return "\n".join([*lines, *([] if self.finished else [f"{self.matrix}: the work allowed ran out"])])


@public
@dataclass(frozen=True)
class Regularity:
    """The class of a dynamical form; each answer is True, False or None for undecided."""

    regular: bool | None
    weakly_regular: bool | None
    semiregular: bool | None
    strongly_semiregular: bool | None
    proper: Ranks
    """The evidence for (B|A)."""
    extended: Ranks | None
    """The evidence for (F|A); None if the numbers of rows and coordinates differ."""

    @property
    def singular(self) -> bool | None:
        """Whether the form is not regular."""
        return None if self.regular is None else not self.regular

    @property
    def evidence(self) -> str:
        """The strata of the phase space as text."""
        return str(self)

    def __str__(self) -> str:
        words = {True: "yes", False: "no", None: "undecided"}
        names = ("regular", "weakly_regular", "semiregular", "strongly_semiregular")
        lines = [f"{name.replace('_', ' ')}: {words[getattr(self, name)]}" for name in names]
        return "\n".join([*lines, str(self.proper), *([] if self.extended is None else [str(self.extended)])])


@public
def regularity(given: Any, seconds: float = 20.0) -> Regularity:
    """Determine the regularity class of a dynamical form.

    Args:
        given: A dynamical form, equations, a system or a model; or a constrained system, whose class is that on the constraint (section
            11): the ranks of $(B'|A')$ of (11.6), and of the forms that annihilate the constraint dynamical distribution.
        seconds: The budget, counted in operations.

    Returns:
        Whether the form is regular, weakly regular, semiregular and strongly semiregular, with the strata of constant rank.

    Raises:
        UsageError: If `given` has no rows.
        ModelError: If the rows of a constrained system cannot be solved for their highest derivatives.

    >>> print(regularity(DynamicalForm("x y", ["-x'' - y", "y'' + x*x'"])))
    regular: yes
    weakly regular: yes
    semiregular: yes
    strongly semiregular: yes
    B: rank 2 everywhere
    F: rank 4 everywhere
    """
    if isinstance(given, ConstrainedSystem):
        return _constrained(given, seconds)
    form = form_of(given)
    proper = ranks(form, "proper", seconds / 2)
    square = len(form.rows) == len(form.coordinates)
    extended = ranks(form, "extended", seconds / 2) if square else None
    weakly = proper.constant
    full = {s.rank for s in proper.strata} == {len(form.coordinates)} and square
    semi = extended.constant if extended is not None else None
    regular = False if weakly is False or (weakly is True and not full) else weakly
    return Regularity(regular, weakly, semi, _both(semi, weakly), proper, extended)


def _constrained(system: ConstrainedSystem, seconds: float) -> Regularity:
    """The class of a constrained system on a constraint that is solved for highest derivatives."""
    structure = system.structure
    if structure.solved is None:
        raise ModelError(
            "the rows of the constraint are not solved for highest derivatives.",
            where=f"regularity of {system.label}",
            why="The strata of the ranks are found in a normal chart of the constraint, (10.3).",
            hint="state the rows in the form q' = g; constrained.B is the matrix that must be regular",
        )
    phase = tuple(z for z in structure.variables if isinstance(z, Jet))
    tops = tuple(q.d(structure.order) for q in system.independent)
    proper = tuple(map(tuple, system.B.row_join(system.A).tolist()))
    wide = [[form.coefficient(z) for z in (*phase, TIME)] for form in annihilating_forms(system)]
    found = []
    for letter, unknowns, entries in (("B'", tops, proper), ("F'", phase, tuple(map(tuple, wide)))):
        dynamics = Dynamics(system.form, "proper", unknowns, {}, entries)
        found.append(_strata(letter, phase, system.parameters, lambda dynamics=dynamics: dynamics, seconds / 2))  # type: ignore[misc]
    weakly, semi = found[0].constant, found[1].constant
    full = {s.rank for s in found[0].strata} == {len(system.independent)}
    regular = False if weakly is False or (weakly is True and not full) else weakly
    return Regularity(regular, weakly, semi, _both(semi, weakly), found[0], found[1])


def ranks(form: DynamicalForm, kind: str, seconds: float) -> Ranks:
    """The strata of constant rank of $(B|A)$ (proper) or $(F|A)$ (extended)."""
    letter = "B" if kind == "proper" else "F"
    return _strata(letter, form.phase, form.parameters, lambda: dynamics_of(form, kind), seconds)


def _strata(letter: str, phase: tuple[Jet, ...], parameters: tuple[Symbol, ...], made: Callable[[], Dynamics], seconds: float) -> Ranks:
    """The strata of constant rank of rows on the space of some jets."""
    surds: list[Expr] = []
    search: Search | None = None
    strata: list[Stratum] = []
    conflicts: list[Conflict] = []
    done = False
    with allowance(seconds), deep():
        dynamics = made()
        while not done and len(surds) <= MOST_SURDS:
            try:
                space = Space(phase, [e for row in dynamics.entries for e in row], parameters, surds)
                search = Search(space, Rows(space, dynamics), tangency=False)
                search.run()
                done = True
            except NeedsSurd as need:
                surds.append(need.square)
            except UnsupportedFunction:
                break
        for final in search.finals if search else ():
            branch = final.branch
            constraints = _written(space, branch)
            excluded = tuple(space.expression(n) for n in branch.nonzero)
            strata.append(Stratum(constraints, excluded, len(final.solved.pivots), _has_points(space, branch)))
        for branch, polynomials in search.conflicts if search else ():
            real = any(_has_points(space, _off(space, branch, p)) for p in polynomials)
            conflicts.append(Conflict(_written(space, branch), tuple(space.expression(p) for p in polynomials), real or None))
        done = done and search is not None and len(strata) == len(search.finals) and len(conflicts) == len(search.conflicts)
    return Ranks(letter, tuple(strata), tuple(conflicts), done)


def _written(space: Space, branch: Branch) -> tuple[Expr, ...]:
    """The constraints of a branch as expressions, without relations of roots, which become 0 = 0."""
    written = [space.expression(g) for g in branch.constraints(space) if g not in space.relations]
    return tuple(e for e in written if e != 0)


def _off(space: Space, branch: Branch, p: Any) -> Branch:
    factors = tuple(f for f in space.factors(substitute(space, p, branch.solved)) if f not in branch.nonzero)
    return replace(branch, nonzero=(*branch.nonzero, *factors))


def _has_points(space: Space, branch: Branch) -> bool | None:
    return bool(Sampler(space, branch, codimension_of(space, branch)).draw(1)) or None


def _both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True
