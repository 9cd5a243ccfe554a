r"""The presymplectic constraint algorithm (Gotay and Nester; 002, section 2.1): the set on which $i_X \omega = dE$ has tangent solutions.

Vectors $Z$ of the kernel of $\omega$ give the compatibility conditions $Z(E) = 0$. A solution must be tangent to the set that they define,
which gives further conditions until the set is closed. For a time-dependent system $\Omega$ is the Poincaré-Cartan form, the equations are
$i_X \Omega = 0$, $X(t) = 1$, and no energy is given. Solutions need not be second-order equations; `lagrangian_forms` gives $\omega_L$
and $E_L$ on the velocity space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sympy import Add, Expr, S, Symbol

from chetaev.core.errors import PrincipleError, UsageError
from chetaev.core.fixes import Ask, InPython, SetArgument
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Parameter
from chetaev.mechanics.principles import Principle
from chetaev.singular.algorithm.elimination import Row
from chetaev.singular.algorithm.space import Fraction, Poly, Space
from chetaev.singular.dirac_bergmann.classes import independent
from chetaev.singular.dirac_bergmann.closure import Closure, Manifold, close, doubtful, refusals
from chetaev.singular.dirac_bergmann.legendre_map import read_source, tidied
from chetaev.singular.forms.distributions import Distribution, characteristic_distribution
from chetaev.singular.forms.exterior import Form, d, exact, interior, wedge, zero_form


@public
@dataclass(frozen=True)
class Presymplectic:
    """The kernel of the form, the compatibility conditions, the final constraint set and the field on it."""

    kernel: Distribution = field(repr=False)
    r"""The kernel of the 2-form; with time among the variables, of its restriction to fields $Z$ with $Z(t) = 0$."""
    compatibility: tuple[Expr, ...]
    r"""$Z(E)$ for the fields $Z$ that span the kernel; with time $\Omega(Z, \partial_t)$, the same for $\Omega = \omega + dE \wedge dt$."""
    steps: tuple[tuple[Expr, ...], ...]
    """The constraints that each step added."""
    constraints: tuple[Expr, ...]
    """All constraints."""
    consistent: bool
    """Whether there is a solution."""
    dimension: int
    """The dimension of the final constraint set without time; -1 if it is empty."""
    free_components: int
    """The number of components of the field that are not determined."""
    field: Mapping[Symbol, Expr] = field(repr=False)
    """The components of the field on the final set; free ones are u1, u2, ..."""
    excluded: tuple[Expr, ...]
    """Expressions whose zeros are not analysed."""

    def __str__(self) -> str:
        lines = [f"kernel         {', '.join(map(str, self.kernel.fields)) or 'none'}"]
        lines.append(f"compatibility  {', '.join(f'{show(e)} = 0' for e in self.compatibility if e != 0) or 'no condition'}")
        lines += [f"{'step ' + str(k + 1):<14} {', '.join(f'{show(e)} = 0' for e in step)}" for k, step in enumerate(self.steps)]
        if not self.consistent:
            return "\n".join([*lines, "no solution"])
        lines.append(f"final set      dimension {self.dimension}, {self.free_components} free components of the field")
        return "\n".join(lines)


@public
def presymplectic(
    omega: Form, energy: Any = None, variables: Sequence[Symbol] = (), on: Sequence[Expr] = (), *, seconds: float = 30.0
) -> Presymplectic:
    r"""Run the presymplectic constraint algorithm for $i_X\omega = dE$.

    Args:
        omega: The 2-form; with time among the variables, the Poincaré-Cartan form.
        energy: The function E. With time among the variables the equations are $i_X\Omega = 0$, $X(t) = 1$, and E may be None; a form
            without $dt$ is completed to $\omega + dE \wedge dt$.
        variables: The coordinates of the space.
        on: Functions that vanish on the subset to which the equations are restricted.
        seconds: The budget, counted in operations.

    Returns:
        Kernel, compatibility conditions, final constraint set and field.

    Raises:
        UsageError: If `omega` is not a 2-form, or there is neither an energy nor time.
        PrincipleError: If the solutions lie on several manifolds, or the budget does not suffice.

    >>> from chetaev.core.symbols import coordinates
    >>> x, v, z = coordinates("x v z")
    >>> from chetaev.singular.forms import wedge
    >>> found = presymplectic(wedge(d(x), d(v)), v**2 / 2 + z * x, [x, v, z])
    >>> found.compatibility, found.constraints, found.free_components
    ((x,), (x, v, z), 0)
    """
    names = tuple(variables)
    if not isinstance(omega, Form):
        raise UsageError(
            f"presymplectic takes a 2-form, not {type(omega).__name__}.",
            where="presymplectic",
            hint=InPython("omega, energy, variables = lagrangian_forms(system)"),
        )
    if omega.degree != 2:
        raise UsageError(f"omega has degree {omega.degree}, not 2.", where="presymplectic", hint="a 2-form and an energy")
    if energy is None and TIME not in names:
        raise UsageError(
            "No energy.",
            where="presymplectic",
            why="Without time the equations are i_X omega = dE; with time among the variables the form is that of Poincaré and Cartan.",
            hint=(Ask("presymplectic", "omega, E, variables"), " or ", Ask("presymplectic", "Omega, None, [t, ...]")),
        )
    if TIME in names and energy is not None and not any(TIME in blade for blade in omega.terms):
        omega = omega + wedge(d(exact(energy)), d(TIME))  # omega + dE ∧ dt, the form of Poincaré and Cartan
    timed = TIME in names
    slope = zero_form(1) if timed or energy is None else d(exact(energy))
    vertical = Form(2, {blade: c for blade, c in omega.terms.items() if TIME not in blade})
    kernel = characteristic_distribution(vertical, [z for z in names if z != TIME])
    result: Presymplectic | None = None
    with deep(), refusals("presymplectic"), allowance(seconds) as clock:
        result = _run(omega, slope, names, on, kernel)
    if clock.expired or result is None:
        what = f"the constraints were not closed within a budget of {seconds:g} seconds."
        raise PrincipleError(what, where="presymplectic", hint=SetArgument("seconds", 300))
    return result


def _run(omega: Form, slope: Form, names: tuple[Symbol, ...], on: Sequence[Expr], kernel: Distribution) -> Presymplectic:
    unknowns = [z for z in names if z != TIME]
    entries = [interior({z: S.One}, omega) for z in names]
    # i_X omega = dE, coefficient of dw: sum_z X^z omega(z, w) - E_w = 0
    rows = [
        [*[form.coefficient(w) for form in _at(entries, names, unknowns)], _rest(entries, names, w) - slope.coefficient(w)] for w in names
    ]
    found = solved_set(rows, unknowns, on)
    return Presymplectic(
        kernel=kernel,
        compatibility=tuple(tidied(slope(v) if TIME not in names else omega(v, {TIME: S.One})) for v in kernel.fields),
        steps=found.steps,
        constraints=found.constraints,
        consistent=found.consistent,
        dimension=found.dimension,
        free_components=found.free_components,
        field=found.field,
        excluded=found.excluded,
    )


@dataclass(frozen=True)
class SolvedSet:
    """The set on which linear equations for a vector field have solutions tangent to it, and the field there."""

    steps: tuple[tuple[Expr, ...], ...]
    """The constraints that each step added."""
    consistent: bool
    dimension: int
    """The dimension of the set without time; -1 if it is empty."""
    free_components: int
    field: Frozen[Symbol, Expr]
    """The components of the field; free ones are u1, u2, ..."""
    excluded: tuple[Expr, ...]

    @property
    def constraints(self) -> tuple[Expr, ...]:
        """All constraints."""
        return tuple(e for step in self.steps for e in step)


def solved_set(rows: Sequence[Sequence[Expr]], unknowns: Sequence[Symbol], on: Sequence[Expr]) -> SolvedSet:
    """The constraint algorithm for rows over the rates of `unknowns`, each with the term without rates last; the rate of time is 1."""
    parameters = _parameters([*[e for row in rows for e in row], *on])
    space = Space(list(unknowns), [*[e for row in rows for e in row], *on, *unknowns], parameters)
    fixed = [space.cleared([space.read(e) for e in row]) for row in rows]

    def rows_for(constraints: Sequence[Poly]) -> list[Row]:
        found = [row for row, _ in fixed]
        for g in constraints:
            parts = space.partials(g)
            nothing: Fraction = (space.zero, space.one)
            tangency = [*[parts.get(z, nothing) for z in unknowns], parts.get(TIME, nothing)]
            found.append(space.cleared(tangency)[0])
        return found

    denominators = [f for _, common in fixed for f in space.factors(common)]
    closure = close(space, [space.read(e)[0] for e in on], rows_for, denominators)
    steps = _independent_steps(space, closure, unknowns)
    rates: dict[Symbol, Expr] = {}
    free: list[int] = []
    if closure.solved is not None:
        free = closure.solved.free
        names_of = {k: Symbol(f"u{n + 1}", real=True) for n, k in enumerate(free)}
        for j, z in enumerate(unknowns):
            term, slopes = closure.solved.rate(space, j)
            terms = [space.quotient(c) * names_of[k] for k, c in slopes.items()]
            rates[z] = tidied(Add(space.quotient(term), *terms))
    count = sum(map(len, steps))
    return SolvedSet(
        steps=tuple(tuple(space.expression(f) for f in step) for step in steps),
        consistent=closure.solved is not None,
        dimension=len(unknowns) - count if closure.solved is not None else -1,
        free_components=len(free),
        field=Frozen(rates),
        excluded=tuple(doubtful(space, [*denominators, *closure.assumed])),
    )


def _independent_steps(space: Space, closure: Closure, unknowns: Sequence[Symbol]) -> list[tuple[Poly, ...]]:
    """The constraints that each step added, without those that follow from earlier ones."""
    everything = [(f, space.one) for step in closure.steps for f in step]
    chosen = set(independent(Manifold.of(space, closure.branch), everything, unknowns))
    found, at = [], 0
    for step in closure.steps:
        kept = tuple(f for i, f in enumerate(step) if at + i in chosen)
        at += len(step)
        found += [kept] if kept else []
    return found


def _at(entries: Sequence[Form], names: Sequence[Symbol], unknowns: Sequence[Symbol]) -> list[Form]:
    return [form for form, z in zip(entries, names, strict=True) if z in unknowns]


def _rest(entries: Sequence[Form], names: Sequence[Symbol], w: Symbol) -> Expr:
    r"""The part of $i_X\Omega$ due to $X(t) = 1$."""
    return Add(*[form.coefficient(w) for form, z in zip(entries, names, strict=True) if z == TIME])


def _parameters(expressions: Sequence[Expr]) -> list[Parameter]:
    found = {z for e in expressions for z in e.free_symbols if isinstance(z, Parameter)}
    return sorted(found, key=lambda p: p.name)


@public
def lagrangian_forms(given: Any, principle: Principle | None = None) -> tuple[Form, Expr, tuple[Symbol, ...]]:
    r"""The presymplectic form and the energy of a Lagrangian (002, section 2.1), as arguments of `presymplectic`.

    Args:
        given: A system, a model or equations without forces, reactions and dissipation.
        principle: The principle, for a system that needs one.

    Returns:
        $\omega_L = -d\theta_L$, $E_L$ and the variables $(q, \dot q)$; for a Lagrangian with explicit time the Poincaré-Cartan form
        $-d(\theta_L - E_L\,dt)$, $E_L$ and $(t, q, \dot q)$. `presymplectic(*lagrangian_forms(system))` takes both.

    Raises:
        PrincipleError: If the equations are not those of a first-order Lagrangian alone.
    """
    source = read_source(given, principle, "lagrangian_forms")
    velocities = [q.d() for q in source.coordinates]
    slopes = [source.lagrangian.diff(v) for v in velocities]
    theta = zero_form(1)
    for q, p in zip(source.coordinates, slopes, strict=True):
        theta = theta + p * d(q)
    energy = Add(*[p * v for p, v in zip(slopes, velocities, strict=True)]) - source.lagrangian
    if TIME in source.lagrangian.free_symbols:
        return -d(theta - energy * d(TIME)), energy, (TIME, *source.coordinates, *velocities)
    return -d(theta), energy, (*source.coordinates, *velocities)
