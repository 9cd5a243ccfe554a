r"""Planar friction: forces along the unit vector of a velocity, $-\mu\,w/|w|$ with $|w|^2 = \sum_j c_j w_j^2$.

At rest, $w = 0$, such a force has no value. In the limit it may be any force of the set that the unit vectors span: with an unknown $n$
in place of $w/|w|$ and the rows $w_j = 0$, the body rests as long as $\sum_j c_j n_j^2 \le 1$. It starts to move where this is exceeded, in
the direction $n$ in which it is accelerated, $w' = \kappa n$ with $\kappa \ge 0$ and $|n| = 1$. This is Coulomb's law in two or more
dimensions, isotropic or not, and Filippov's convex hull for forces of this kind.

Where constraints leave only some directions to $w$, as for a bead on a wire, rest is approached along these alone, and $n$ lies among them:
the rows of the constraints hold for $n$ as they do for $w$. Otherwise the part of $n$ across the wire could not be distinguished from the
reaction of the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sympy import Add, Dummy, Expr, Matrix, Mul, Pow, S, Symbol, nan, zoo

from chetaev.core.notation import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.symbols import Coordinate, Jet, Parameter, jets_in
from chetaev.core.zero import known_zero
from chetaev.mechanics.equations import Equations
from chetaev.numerics.flow.compiled import Array

_WIDEST = 1e12
"""Upper end of the search for the acceleration of a body that starts to move, relative to the acting acceleration. Larger ones would be
round-off."""

_NO_RESISTANCE = 1e-10
"""Resistance, relative to the largest, below which it is round-off: constraints hold that direction."""
_MOST_ROWS = 8
"""Most constraints in the symbolic search for combinations that restrict a velocity under friction."""
_DIRECTION_ERROR = 1e-15
"""Relative to its bound: absolute error of the acceleration of a body that starts to move."""


@dataclass(frozen=True)
class Component:
    r"""One $c\,w^2$ of the square of a speed, with the velocity in which $w$ is affine."""

    weight: Expr
    form: Expr
    velocity: Jet

    def velocity_for(self, value: Expr) -> Expr:
        """The velocity for which the form has the given `value`."""
        return (value - self.form.xreplace({self.velocity: S.Zero})) / self.form.diff(self.velocity)


def directions_in(equations: Equations) -> dict[Expr, tuple[Component, ...]]:
    """Return the squares of speeds on whose unit vectors forces depend, with their components."""
    if equations.rewritten is not None:
        return {}
    forces = acting(equations)
    found = {}
    for square in _squares(forces.values()):
        components = _components(square)
        if components and any(_depends(e, square, components) for e in forces.values()):
            found[square] = components
    return found


def acting(equations: Equations) -> dict[Coordinate, Expr]:
    """The forces on all coordinates, including those of the dissipation function."""
    system = equations.lowered.system
    dissipation = system.dissipation
    found = {
        q: system.forces.get(q, S.Zero) + system.equations.get(q, S.Zero) - (dissipation.diff(q.d()) if dissipation != 0 else S.Zero)
        for q in system.coordinates
    }
    return {q: e for q, e in found.items() if e != 0}


def _squares(forces: Iterable[Expr]) -> list[Expr]:
    """Return the arguments of square roots in denominators that contain velocities."""
    found: dict[Expr, None] = {}
    for e in forces:
        for power in e.atoms(Pow):
            if (
                power.exp.is_Rational
                and power.exp.q == 2
                and power.exp.is_negative
                and any(z.order for z in jets_in(power.base, Coordinate))
            ):
                found[power.base] = None
    return sorted(found, key=str)


def _components(square: Expr) -> tuple[Component, ...]:
    """Split a sum of at least two squares of forms, each affine in its own velocity; empty if `square` is not such a sum."""
    found: list[Component] = []
    for term in Add.make_args(square):
        moving = [f for f in Mul.make_args(term) if any(z.order for z in jets_in(f, Coordinate))]
        if len(moving) != 1 or not moving[0].is_Pow or moving[0].exp != 2:
            return ()
        form, weight = moving[0].base, term / moving[0]
        taken = {c.velocity for c in found}
        own = [z for z in sorted(jets_in(form, Coordinate), key=lambda z: z.name) if z.order == 1 and z not in taken]
        own = [z for z in own if z not in form.diff(z).free_symbols]
        if not own or any(z.order > 1 for z in jets_in(form, Coordinate)):
            return ()
        found.append(Component(weight, form, own[0]))
    velocities = {c.velocity for c in found}
    apart = all(not (velocities - {c.velocity}) & c.form.free_symbols for c in found)
    return tuple(found) if len(found) > 1 and apart else ()


def _depends(e: Expr, square: Expr, components: tuple[Component, ...]) -> bool:
    """Whether the limit of a force at rest depends on the direction in which rest is approached, and has a value."""
    unit = [Dummy(f"n{k}", real=True) for k in range(len(components))]
    limit = at_rest(e, square, components, unit)
    return limit is not None and any(n in limit.free_symbols for n in unit)


def at_rest(e: Expr, square: Expr, components: tuple[Component, ...], unit: list[Symbol] | tuple[Symbol, ...]) -> Expr | None:
    """The limit of an expression where the speed vanishes in the direction of a unit vector; None if there is none."""
    speed = Dummy("speed", positive=True)
    powers = {power: speed ** (2 * power.exp) for power in e.atoms(Pow) if power.base == square}
    moving = {c.velocity: c.velocity_for(speed * n) for c, n in zip(components, unit, strict=True)}
    found = e.xreplace(powers).xreplace(moving)
    if speed not in found.free_symbols:
        return found
    found = found.expand().xreplace({speed: S.Zero})
    return None if found.has(zoo, nan) else found


def admissible(rows: Sequence[Constraint], components: tuple[Component, ...], unit: Sequence[Symbol]) -> list[Expr]:
    """Return expressions that vanish for the unit vectors that constraints allow a velocity; none if they allow all.

    >>> x, y, n, m = Coordinate("x"), Coordinate("y"), Symbol("n"), Symbol("m")
    >>> parts = (Component(S.One, x.d(), x.d()), Component(S.One, y.d(), y.d()))
    >>> admissible([Constraint(x**2 + y**2, S.One)], parts, [n, m])
    [2*m*y + 2*n*x]
    """
    slopes = [found for row in rows if (found := _slopes_by_velocities(row)) is not None]
    own = [c.velocity for c in components]
    others = sorted({v for found in slopes for v in found if v not in own}, key=lambda v: v.name)
    if not slopes or len(slopes) > _MOST_ROWS:
        return []
    if others:  # combinations of rows that are free of these
        rest = Matrix([[found.get(v, S.Zero) for v in others] for found in slopes])
        combined = [list(column) for column in rest.T.nullspace()]
    else:
        combined = Matrix.eye(len(slopes)).tolist()
    vanishing: list[Expr] = []
    for factors in combined:
        along = [Add(*[f * slope.get(v, S.Zero) for f, slope in zip(factors, slopes, strict=True)]) for v in own]
        total = Add(*[a / c.form.diff(c.velocity) * n for a, c, n in zip(along, components, unit, strict=True)])
        vanishing += [total] if not known_zero(total) else []
    return vanishing


def _slopes_by_velocities(row: Constraint) -> dict[Jet, Expr] | None:
    """The coefficients of the velocities in a row of positions or velocities; None for other rows."""
    if row.order > 1 or (row.order == 1 and not row.affine):
        return None
    return {z.d(1 - row.order): row.residual.diff(z) for z in row.jets}


def named(square: Expr, taken: Callable[[Symbol], bool]) -> Parameter:
    """The parameter that stands for the level below which a speed counts as rest."""
    name = f"rest of {show(square)}"
    while taken(Parameter(name)):
        name += " again"
    return Parameter(name)


def setting_off(given: Array, resisting: Array, weights: Array) -> Array | None:
    r"""The unit vector $n$ with $a - B n = \kappa n$, $\kappa \ge 0$: the direction in which a body starts to move; None if it stays."""

    def unit(kappa: float) -> Array:  # the shortest vector, where constraints hold some directions
        return np.array(np.linalg.lstsq(resisting + kappa * np.eye(len(given)), given, rcond=_NO_RESISTANCE)[0], dtype=float)

    def excess(kappa: float) -> float:
        return float(weights @ unit(kappa) ** 2) - 1.0

    size = float(np.abs(given).max(initial=0.0)) * float(np.sqrt(weights.max()))
    if size == 0 or not np.isfinite(resisting).all():
        return None
    if excess(0.0) <= 0:
        return unit(0.0) / np.sqrt(excess(0.0) + 1.0)
    high = size
    while excess(high) > 0:
        high *= 2
        if high > _WIDEST * size:
            return None
    from scipy.optimize import brentq  # takes longer to import than most motions to compute

    return unit(float(brentq(excess, 0.0, high, xtol=_DIRECTION_ERROR * high)))
