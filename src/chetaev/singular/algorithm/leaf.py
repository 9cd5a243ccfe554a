r"""A leaf of the tree: a final constraint manifold and the motions on it, in the user's notation.

Frobenius' condition decides whether the motions are involutive. Their distribution is spanned by
$X = \partial_t + \sum_j r_j\,\partial_{z_j}$ and $V_k = \partial_{z_k} + \sum_j s_{jk}\,\partial_{z_j}$, one for each free rate $z_k$. All
brackets have vanishing components along $\partial_t$ and the $\partial_{z_k}$, so the distribution is involutive exactly if the brackets
vanish on the branch. All fields are tangent to it, so the brackets do not depend on how the fields are continued off the branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as part
from itertools import combinations
from typing import Any

from sympy import Expr, S, Symbol

from chetaev.core.calculus import partials
from chetaev.core.errors import UsageError
from chetaev.core.functions import in_own_functions
from chetaev.core.notation import show
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Jet, jets_in
from chetaev.core.values import Tape, Undefined
from chetaev.singular.algorithm.branches import Branch, substitute
from chetaev.singular.algorithm.ideals import basis_of, dimension
from chetaev.singular.algorithm.multipliers import determined
from chetaev.singular.algorithm.points import Faults, Point, Sampler, largest_fault
from chetaev.singular.algorithm.reality import never_vanishes
from chetaev.singular.algorithm.redundancy import rank_on
from chetaev.singular.algorithm.ring import Fraction, Poly, support
from chetaev.singular.algorithm.search import Final, Rows
from chetaev.singular.algorithm.space import Space, free_names
from chetaev.singular.dynamical.dynamical_form import DynamicalForm

Field = dict[Symbol, Fraction]

_POINTS_CHECKED = 3
"""Number of real points of a leaf at which its formulas are checked. A wrong formula may hold
at one of them by chance, but not at three."""
_FAULT = 1e-7
"""Largest relative residual at such a point, whose error is 1e-10. Smaller limits reject correct formulas with large slopes."""


@public
@dataclass(frozen=True)
class Leaf:
    """A final constraint manifold.

    `constraints` vanish on it and generate its ideal. `excluded` are expressions at whose zeros the formulas do not hold; other leaves
    describe these sets, and crossing them is not analysed. `dimension` counts time. `rank` is the rank of the distribution of motions, one
    more than the number of free functions. `field` maps jets to their rates, with `u1`, `u2`, ... free. `real` is "yes" if a real point was
    found, for positive parameters, at which the leaf is a manifold of its dimension, and "undecided" otherwise.
    """

    constraints: tuple[Expr, ...]
    excluded: tuple[Expr, ...]
    steps: tuple[tuple[Expr, ...], ...]
    """The constraints that each step of the algorithm added."""
    dimension: int
    rank: int
    free_functions: int
    field: Mapping[str, Expr]
    free: Mapping[str, str]
    """The jets whose rates are the free functions, such as `{"u1": "q2'"}`."""
    involutive: bool
    real: str
    class_: str
    """`regular` or `weakly regular` (proper dynamics), `semiregular` (extended dynamics): section 5 of Krupková, on the leaf."""
    form: DynamicalForm = part(repr=False)
    dynamics: str
    point: Mapping[str, float] | None = part(repr=False, compare=False)
    """A real point with the values of parameters it was found for."""
    confirmed: bool | None = part(compare=False)
    """Whether rows and tangency hold numerically at real points; None without a point."""

    def residuals(self, state: Mapping[str, float], parameters: Mapping[str, float] | None = None) -> dict[str, float]:
        """The values of the constraints at a state, by their text. Raises an error for a name missing in the state; `t` defaults to 0."""
        values = _values(self, {"t": 0.0, **state, **(parameters or {})})
        return {show(e): _number(e, values, show(e)) for e in self.constraints}

    def contains(self, state: Mapping[str, float], parameters: Mapping[str, float] | None = None, tolerance: float = 1e-9) -> bool:
        """Whether a state satisfies the constraints within `tolerance`, relative to their terms, and lies off the excluded set."""
        values = _values(self, {"t": 0.0, **state, **(parameters or {})})
        if largest_fault(self.constraints, values) > tolerance:
            return False
        return all(largest_fault([e], values) > tolerance for e in self.excluded)

    def __str__(self) -> str:
        where = ", ".join(f"{show(e)} = 0" for e in self.constraints) or "the whole phase space"
        lines = [where]
        if self.excluded:
            lines.append(f"  excluded   {', '.join(show(e) for e in self.excluded)}  (crossing not analysed)")
        lines.append(f"  dimension  {self.dimension}, time included")
        many = f"{self.free_functions} free function{'s' * (self.free_functions != 1)}"
        lines.append(f"  motions    {self.class_}, rank {self.rank}, {many}; {'' if self.involutive else 'not '}involutive")
        lines += [f"  rate       of {name}: {show(e)}" for name, e in self.field.items()]
        lines.append(f"  real       {self.real}")
        return "\n".join(lines)


def make_leaf(space: Space, rows: Rows, final: Final) -> Leaf:
    """The leaf of a final branch, with its formulas checked at real points."""
    form, solved, branch = rows.dynamics.form, final.solved, final.branch
    names = free_names({q.base for q in form.coordinates} | {p.name for p in form.parameters}, len(solved.free))
    symbols = {k: Symbol(name, real=True) for k, name in zip(solved.free, names, strict=True)}
    unknowns = rows.dynamics.unknowns
    rates = {z: _rate(space, final, j, symbols) for j, z in enumerate(unknowns)}
    constraints = _constraints(space, branch)
    codimension = codimension_of(space, branch)
    sampler = Sampler(space, branch, codimension, rows.sizes)
    points = sampler.draw(_POINTS_CHECKED)
    witnesses = points or sampler.draw(_POINTS_CHECKED, signed=True)
    free = len(solved.free)
    if rows.dynamics.kind == "proper":
        kind = "regular" if free == 0 else "weakly regular"
    else:
        kind = "semiregular"
    confirmed = _confirmed(rows, constraints, rates, witnesses) if witnesses else None
    return Leaf(
        constraints=constraints,
        excluded=_excluded(space, rows, final),
        steps=tuple(tuple(_clean(space, g) for g in step) for step in final.steps),
        dimension=form.dimension - codimension,
        rank=1 + free,
        free_functions=free,
        field=Frozen({z.name: e for z, e in rates.items()}),
        free=Frozen({name: unknowns[k].name for k, name in zip(solved.free, names, strict=True)}),
        involutive=is_involutive(space, rows, final),
        real="yes" if points else "undecided",
        class_=kind,
        form=form,
        dynamics=rows.dynamics.kind,
        point=Frozen({z.name: v for z, v in witnesses[0].items()}) if witnesses else None,
        confirmed=confirmed,
    )


def codimension_of(space: Space, branch: Branch) -> int:
    """The rank of the differentials of the constraints at a general point, in jets and time.

    A solved jet that occurs in no function occurs in no other row, so its row adds one to the rank. So does each equation of a block, whose
    determinant does not vanish.
    """
    variables = [*space.phase, TIME]
    inside = {z for generator in space.generators.values() for z in generator.definition.free_symbols}
    alone = [i for i in branch.solved if i not in space.generators and space.symbols[i] not in inside]
    rows = []
    rest = replace(branch, solved={i: e for i, e in branch.solved.items() if i not in alone}, blocks=())
    for g in rest.constraints(space):
        parts = space.partials(g)
        common = space.one
        for _, d in parts.values():
            common = space.lcm(common, d)
        row = [parts[z][0] * common.exquo(parts[z][1]) if z in parts else space.zero for z in variables]
        rows.append([branch.reduce(space, e) for e in row])
    return rank_on(space, branch, rows) + len(alone) + len(determined(branch.blocks))


def is_reduced(space: Space, branch: Branch, leaf: Leaf) -> bool:
    """Whether the differentials have the rank that the dimension requires; if not, the ideal lacks constraints, as $x^2$ lacks $x$."""
    return leaf.form.dimension - leaf.dimension == largest_codimension(space, branch)


def largest_codimension(space: Space, branch: Branch) -> int:
    """The codimension by the dimensions of ideals: differentials of constraints have at most this rank at a general point."""
    expected = dimension(space, (), basis_of(space, space.relations)) - dimension(space, branch.determined, branch.basis)
    return expected - _fixed_functions(space, branch)


def _implied(space: Space, branch: Branch) -> list[int]:
    r"""The solved generators that follow from solved jets: $\exp x = 1$ from $x = 0$."""
    found = []
    for i in branch.solved:
        f = space.implied(i, branch.solved) if i in space.generators else None
        if f is not None and not branch.reduce(space, f):
            found.append(i)
    return found


def _fixed_functions(space: Space, branch: Branch) -> int:
    r"""The number of dimensions of functions that solved jets fix: $x = 0$ fixes $\cos x$ and $\sin x$, which are one dimension."""
    implied = set(_implied(space, branch))
    return len(implied) - sum(support(relation) <= implied for relation in space.relations)


def _rate(space: Space, final: Final, j: int, symbols: Mapping[int, Symbol]) -> Expr:
    term, slopes = final.solved.rate(space, j)
    total = space.quotient(term)
    for k, slope in slopes.items():
        total += space.quotient(slope) * symbols[k]
    return in_own_functions(total)


def _constraints(space: Space, branch: Branch) -> tuple[Expr, ...]:
    implied = [space.variables[i] - branch.solved[i] for i in _implied(space, branch)]
    found = [_clean(space, g) for g in branch.constraints(space) if g not in space.relations and g not in implied]
    return tuple(sorted((e for e in found if e != 0), key=_reading_order))


def _reading_order(e: Expr) -> tuple[int, int, str]:
    return max((z.order for z in jets_in(e)), default=0), len(e.free_symbols), show(e)


def _clean(space: Space, g: Poly) -> Expr:
    """A constraint in the user's notation, without denominators that are numbers."""
    if not space.parameters:
        _, g = g.clear_denoms()
        g = -g if g.LC < 0 else g
    return in_own_functions(space.expression(g))


def _excluded(space: Space, rows: Rows, final: Final) -> tuple[Expr, ...]:
    """Where the equations are not defined, and where a denominator of the rates vanishes.

    Other factors that were assumed not to vanish are not listed: the rates are continuous there, so rows and tangency still hold.
    """
    branch = final.branch
    candidates: list[Poly] = [*space.nonzero, *rows.denominators]
    for j in range(final.solved.unknowns):
        term, slopes = final.solved.rate(space, j)
        candidates += [d for _, d in [term, *slopes.values()]]
    certain = [f for block in branch.blocks if block.everywhere for f in space.factors(block.determinant)]
    found: list[Poly] = []
    for n in candidates:
        for f in space.factors(substitute(space, n, branch.solved)):
            if f not in found and f not in certain and not never_vanishes(space, f) and not _only_positive(space, f):
                found.append(f)
    return tuple(_clean(space, f) for f in found)


def _only_positive(space: Space, f: Poly) -> bool:
    return len(f) == 1 and all(i in space.positive and space.generators[i].relation is None for m in f for i, e in enumerate(m) if e)


def _confirmed(rows: Rows, constraints: tuple[Expr, ...], rates: Mapping[Jet, Expr], points: Sequence[Point]) -> bool:
    """Whether rows and derivatives of constraints vanish at all points with some values of the free functions."""
    dynamics = rows.dynamics
    moving: dict[Symbol, Any] = {TIME: S.One, **dynamics.known, **rates}
    equations = [row[-1] + sum((c * rates[z] for c, z in zip(row, dynamics.unknowns, strict=False)), S.Zero) for row in dynamics.entries]
    for g in constraints:
        inside = [z for z in g.free_symbols if z in moving]
        equations.append(sum((in_own_functions(slope) * moving[z] for z, slope in zip(inside, partials(g, inside), strict=True)), S.Zero))
    faults = Faults([*equations, *constraints])
    present = {z for e in rates.values() for z in e.free_symbols}
    frees = [sorted(present - set(point), key=lambda z: z.name) for point in points]
    full = ({**point, **{z: 0.3 + 0.7 * k for k, z in enumerate(free)}} for point, free in zip(points, frees, strict=True))
    return all(faults.largest(values) < _FAULT for values in full)


def _values(leaf: Leaf, given: Mapping[str, float]) -> dict[Symbol, float]:
    known = {z.name: z for z in (TIME, *leaf.form.phase, *leaf.form.parameters)}
    needed = {z.name for e in (*leaf.constraints, *leaf.excluded) for z in e.free_symbols}
    missing = sorted(needed - set(given))
    if missing:
        raise UsageError(f"no value for {missing[0]}.", where="leaf", hint=f"the constraints contain {' '.join(sorted(needed))}")
    return {known[name]: float(given[name]) for name in needed}


def _number(e: Expr, values: Mapping[Symbol, float], text: str) -> float:
    try:
        return float(Tape([e])(values)[0])
    except Undefined:
        raise UsageError(f"{text} has no value at this state.", where="leaf") from None


def is_involutive(space: Space, rows: Rows, final: Final) -> bool:
    """Whether all brackets of the fields on a branch vanish there."""
    fields = fields_of(space, rows, final)
    return all(_commute(space, final, x, y) for x, y in combinations(fields, 2))


def fields_of(space: Space, rows: Rows, final: Final) -> list[Field]:
    """The field without free functions, then one for each free function."""
    solved, unknowns = final.solved, rows.dynamics.unknowns
    first: Field = {TIME: (space.one, space.one)}
    for z, rate in rows.dynamics.known.items():
        if rate in space.index:
            first[z] = (space.variables[space.index[rate]], space.one)
    others: dict[int, Field] = {k: {} for k in solved.free}
    for j, z in enumerate(unknowns):
        term, slopes = solved.rate(space, j)
        if term[0]:
            first[z] = term
        for k, slope in slopes.items():
            others[k][z] = slope
    return [first, *others.values()]


def _commute(space: Space, final: Final, x: Field, y: Field) -> bool:
    for z in x.keys() | y.keys():
        n, _ = space.add(_along(space, x, y.get(z)), space.minus(_along(space, y, x.get(z))))
        if n and not final.branch.vanishes(space, n):
            return False
    return True


def _along(space: Space, field: Field, function: Fraction | None) -> Fraction:
    r"""The derivative $X(n/d) = (X(n)\,d - n\,X(d))/d^2$."""
    if function is None:
        return space.zero, space.one
    n, d = function
    up = _derivative(space, field, n)
    if d == space.one:
        return up
    down = _derivative(space, field, d)
    total = space.add((up[0] * d, up[1]), (-n * down[0], down[1]))
    return total[0], total[1] * d**2


def _derivative(space: Space, field: Field, f: Poly) -> Fraction:
    total: Fraction = (space.zero, space.one)
    for z, (n, d) in space.partials(f).items():
        if z in field:
            a, b = field[z]
            total = space.add(total, (n * a, d * b))
    return total
