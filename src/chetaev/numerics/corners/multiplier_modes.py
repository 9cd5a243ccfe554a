r"""Modes whose force is proportional to a multiplier: dry friction by the normal force, or a tilted reaction.

At rest such a mode is an unknown $m$ beside the unknown $\lambda$, and the product $m\,\lambda$ stands in the rows, as in
$\delta y - \mu\,\mathrm{sign}(x')\,\delta x = 0$ or in the force $-\mu\,|\lambda|\,\mathrm{sign}(x')$. Where the rows contain the mode as
$m\,f(\lambda, \dots)\,d_i$ only, with directions $d_i$ that are free of multipliers, the force $w = m f$ is the unknown in place of $m$:
the rows stay linear in their unknowns, and the mode is $m = w / f$. The unit vector of planar friction at rest is treated in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sympy import Add, Expr, S, Symbol, cancel

from chetaev.core.support.frozen import Frozen
from chetaev.core.symbols import Coordinate, Multiplier, jets_in
from chetaev.mechanics.assemble import reaction
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles.base import RowV


@dataclass(frozen=True)
class Tilt:
    """The occurrence of a mode in the rows: with the factor `size` along the covector `along`."""

    size: Expr
    along: RowV


@lru_cache(maxsize=64)
def tilt_of(equations: Equations, symbol: Symbol) -> Tilt | None:
    """The tilt of the mode `symbol`; None if the mode has no multiplier as a factor, or occurs anywhere but in one force."""
    lowered = equations.lowered
    system = lowered.system
    elsewhere = [lowered.lagrangian, *system.equations.values(), system.dissipation, *[row.residual for row in system.kinematic]]
    if equations.rewritten is not None or any(symbol in e.free_symbols for e in elsewhere):
        return None
    sizes = {q: slope for q in system.coordinates if (slope := _slope(equations, q, symbol)) != 0}
    factors = {m for e in sizes.values() for m in jets_in(e, Multiplier)}
    if not factors:
        return None
    size = next(iter(sizes.values()))
    if len(factors) == 1:
        (single,) = factors
        along = {q: cancel(e / single) for q, e in sizes.items()}
        if not any(jets_in(e, Multiplier) for e in along.values()):
            return Tilt(single, Frozen(along))
    along = {q: cancel(e / size) for q, e in sizes.items()}
    return None if any(jets_in(e, Multiplier) for e in along.values()) else Tilt(size, Frozen(along))


def common_size(forces: Iterable[Expr], unknowns: Sequence[Symbol]) -> Expr | None:
    """The factor with multipliers that the coefficients of `unknowns` share; None if they contain no multiplier, or share none."""
    slopes = [e.diff(n) for e in forces for n in unknowns]
    factors = {m for e in slopes for m in jets_in(e, Multiplier)}
    if not factors:
        return None
    first = next(e for e in slopes if jets_in(e, Multiplier))
    size = next(iter(factors)) if len(factors) == 1 else first
    return None if any(jets_in(cancel(e / size), Multiplier) for e in slopes) else size


def in_units(e: Expr, size: Expr, unknowns: Sequence[Symbol]) -> Expr:
    """A force that is affine in `unknowns`, written in the products of these with `size`."""
    rest = e.xreplace(dict.fromkeys(unknowns, S.Zero))
    return rest + Add(*[cancel(e.diff(n) / size) * n for n in unknowns])


def _slope(equations: Equations, q: Coordinate, symbol: Symbol) -> Expr:
    """The coefficient of a mode in the force and the reaction on a coordinate."""
    lowered = equations.lowered
    acting = lowered.system.forces.get(q, S.Zero) + reaction(lowered, q)
    if symbol not in acting.free_symbols:
        return S.Zero
    above, below = acting.xreplace({symbol: S.One}), acting.xreplace({symbol: S.NegativeOne})
    return ((above - below) / 2).expand()
