r"""Rows without a regular point: their slopes do not describe their set at any of its points.

A set $f_1 = \dots = f_m = 0$ is regular at a point where its codimension equals the rank of the gradients. For $x^2 + y^2 = 0$ this fails
at every point of the set: off it the rank is one, on it the gradient vanishes, and yet the set is a point. A plane that touches a sphere,
or a function on a group at its largest value ($A_{33} = 1$), are of the same kind. Then no reaction has a direction, and a structural
analysis with the rank at nearby points does not describe the set.

The set of $\sqrt{x^2 + y^2} = 0$, or of $|x| + |y| = 0$, is the same point, but off it the gradient does not become small: it jumps, and
again no reaction has a direction on the set. `row_slopes` distinguishes both from regular points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Pow

from chetaev.core.functions import has_corner_in
from chetaev.core.symbols import Input, Jet, jets_in
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import known_zero
from chetaev.mechanics.origins import Origin, Sliding, Stated
from chetaev.mechanics.ranks.exact import exact_rank
from chetaev.mechanics.ranks.generic import Point
from chetaev.mechanics.ranks.sizes import natural_sizes
from chetaev.numerics.flow.prolongation import Prolongation
from chetaev.numerics.verdict.row_slopes import RowSlopes

_ZERO_BASE = 1e-6
"""Relative size below which the base of a root counts as zero."""


@dataclass(frozen=True)
class Irregular:
    """Kinematic rows whose common set has no regular point among those that were found."""

    origins: tuple[Origin, ...]
    """The origins of these rows."""
    flat: bool
    """Whether all slopes of each row vanish wherever it holds, so that these are rows as well."""
    jumps: bool
    """Whether slopes jump, or have no value, where the rows hold."""
    smooth: bool
    """Whether the rows have derivatives of all orders where they hold."""
    open: bool
    """Whether rows also vanish next to the set, as x + |x| does: inequalities then bound the set."""

    @property
    def reason(self) -> str:
        """The reason why the rows do not determine a reaction."""
        named, several = ", ".join(origin.label for origin in self.origins), len(self.origins) > 1
        have, hold = ("have", "they hold") if several else ("has", "it holds")
        if self.open:
            fact = (
                f"{named} {have} no regular point that could be found: {hold} on a set that slopes do not describe, perhaps an inequality"
            )
            return f"{fact}. State the equations that are meant"
        if self.jumps:
            fact = f"{named} {have} no regular point: slopes jump, or have no value, wherever {hold}"
            example = "sqrt(x^2 + y^2) = 0 or abs(x) + abs(y) = 0"
        elif several:
            fact = f"{named} have no regular point in common: their slopes depend on each other wherever they hold"
            example = "x^2 + y^2 = 0"
        else:
            fact = f"{named} has no regular point: all its slopes vanish wherever it holds"
            example = "x^2 + y^2 = 0"
        advice = f"State the quantities that vanish there, as x = 0, y = 0 instead of {example}"
        return f"{fact}, so that a reaction has no direction there. {advice}"


def rows_without_regular_point(system: Prolongation) -> Irregular | None:
    """The kinematic rows whose common set has no regular point, according to random points of it; None if it has one, or no point is
    known.
    """
    pairs = [pair for pair in system.hidden() if pair[1] == 0 and isinstance(system.origin(pair[0]), Stated | Sliding)]
    if not pairs:
        return None
    stated = [system.row(pair) for pair in pairs]
    # these rows may have common units even if the whole system has none, as with the speed of light beside that of a train
    rows = RowSlopes(stated, system.algebra, system.sizes or natural_sizes(stated, system.algebra))
    if any(rows.full_rank(point) for point in system.points):
        return None
    if not system.curved(pairs, rows.jets) and exact_rank(rows.slopes, (), system.algebra) == len(pairs):
        return None  # affine rows have constant slopes, which are independent even if they are nearly parallel
    points = [*system.points, *rows.points()]  # the slow iteration of `rows.points` alone could converge to special points only
    if not points or any(rows.regular(point) for point in points):
        return None
    jumping = [pair for k, pair in enumerate(pairs) if all(rows.jumps(k, point) for point in points)]
    flat = [pair for k, pair in enumerate(pairs) if all(rows.flat(k, point) for point in points)]
    jumps = any(rows.jumps(k, point) for k in range(len(pairs)) for point in points)
    written = [system.equations.rows[i].residual for i, _ in pairs]
    return Irregular(
        origins=tuple(system.origin(i) for i, _ in jumping or flat or pairs),
        flat=bool(flat) and not jumps,
        jumps=jumps,
        smooth=not jumps and not any(has_corner_in(e, jets_in(e)) or _has_vanishing_root(e, points) for e in written),
        open=any(rows.vanish_nearby(point) for point in points),
    )


def _has_vanishing_root(e: Expr, points: Sequence[Point]) -> bool:
    """Tell whether an expression has a non-integer power of a base that vanishes at some point: higher derivatives are undefined there."""
    roots = [p.base for p in e.atoms(Pow) if not p.exp.is_Integer and jets_in(p.base)]
    if not roots:
        return False
    tape = Tape(roots)
    for point in points:
        if not tape.symbols <= point.keys():
            return True
        try:
            values = tape(point)
        except Undefined:
            return True
        if min(map(abs, values)) < _ZERO_BASE:
            return True
    return False


def rows_lost(system: Prolongation) -> tuple[str, ...]:
    """Return kinematic rows that depend on jets by jumps only, as sign(x) = 0 does: all their slopes are zero."""
    equations = system.equations
    rows = zip(equations.origins, system.structure.rows, strict=False)
    flat = [i for i, (origin, row) in enumerate(rows) if isinstance(origin, Stated | Sliding) and _without_slope(system, row)]
    return tuple(equations.labels[i] for i in flat if has_corner_in(e := equations.rows[i].residual, jets_in(e)))


def _without_slope(system: Prolongation, row: Any) -> bool:
    """Tell whether all slopes of a row are structurally zero."""
    jets = [z for z in system.algebra.symbols(row) if isinstance(z, Jet)]
    return all(slope.is_zero() for slope in system.algebra.gradient(row, jets))


def rows_without_slope(system: Prolongation) -> tuple[str, ...]:
    """Return kinematic rows with the same nonzero value at every state, such as "the length of a row of a rotation is two"."""
    mechanical = system.equations.system
    found = []
    for label, row in zip(mechanical.kinematic_labels, mechanical.kinematic, strict=True):
        written = mechanical.charted(row.residual)
        slopes = [written.diff(z) for z in written.free_symbols if isinstance(z, Jet) and not isinstance(z, Input)]
        if not known_zero(written) and all(map(known_zero, slopes)):
            found.append(label)
    return tuple(found)
