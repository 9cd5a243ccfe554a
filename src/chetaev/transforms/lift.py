r"""Order lowering: the canonical $n$-lift of a system with constraints of higher order (000, section V.A).

The configuration space becomes $\tilde Q = T^{(n-1)}Q$: derivatives below the $n$-th become coordinates, related by the rows
$\dot q_{(i)} = q_{(i+1)}$ (83). The Lagrangian is a function of $(q, \dot q)$ (87), the variations of the new coordinates are free (85).
The paper prints $n \ge \max\{k, l\}$ and, for Rocard's tyre, three of the eight kinematic rows; (85) needs $n \ge l + 1$, and the rows (83)
belong to the system.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr

from chetaev.core.errors import PrincipleError, UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, jets_in, order_in
from chetaev.core.system import fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import VirtualWork
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.options import Form, Option
from chetaev.transforms.tools.pullback import rewritten, virtual_rows
from chetaev.transforms.tools.theorem import require_first_order, theorem, with_reactions


@public
@theorem(order=Option("n", Form.INTEGER, "N", "The order of the lift"))
def lift(given: Any, n: int | None = None) -> Morphism:
    """The canonical n-lift: an equivalent system whose constraints are of first order.

    From `n = k + 1` on all kinematic rows are affine in the velocities (Theorem 33); with `n = k` they are affine if the rows are affine in
    their highest derivatives (Remark 34).

    Args:
        given: A system, a model or equations with reactions.
        n: At least `max(k, l + 1, 1)` for kinematic rows of order k and variational rows with jets of order l; by default the smallest
            such number.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If `n` is too small, the Lagrangian is of higher order, or the motion is vakonomic or under Herglotz' principle.
        UsageError: If `n` is not an integer.

    >>> from chetaev import System
    >>> motor = System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["x'' = y*x'"], variational=["δx = 0"])
    >>> [str(row) for row in lift(motor).system.kinematic]
    ["x1' = x1*y", "x' = x1", "y' = y1"]
    """
    source = with_reactions(given, "lift")
    system, where = source.system, f"lift {source.system.label}"
    why = "The canonical lift needs a Lagrangian of positions and velocities (000, (86))."
    require_first_order(source.lagrangian, where, why, (Ask("hamiltonian", "system"), " lowers the order of a Lagrangian"))
    k = max((order_in(row.residual, Coordinate) for row in system.kinematic), default=0)
    l = max((order_in(c, Coordinate) for row in source.variational for c in row.values()), default=0)  # noqa: E741 - as in the paper
    least = max(k, l + 1, 1)
    if n is None:
        n = least
    if not isinstance(n, int):
        raise UsageError(f"n = {n} is not an integer.", where=about(where, "n"), hint=Ask("lift", f"system, n={least}"))
    if n < least:
        raise PrincipleError(
            f"n = {n} is too small.",
            where=about(where, "n"),
            why=f"Kinematic rows have order k = {k}, variational rows contain jets of order l = {l}: n must be at least max(k, l + 1).",
            hint=Ask("lift", f"system, n={least}"),
        )
    return _lifted(source, n)


def _lifted(source: Equations, n: int) -> Morphism:
    system = source.system
    names = [f"{q.base}{'_' * q.base[-1].isdigit()}{i}" for i in range(1, n) for q in system.coordinates]
    added = fresh_coordinates(system, names)
    towers = {q: [q, *added[j :: len(system.coordinates)]] for j, q in enumerate(system.coordinates)}

    def lowered(e: Expr) -> Expr:
        """`e` with derivatives replaced by the new coordinates, the n-th by the velocity of the last one."""
        table = {}
        for z in jets_in(e, Coordinate):
            tower = towers[Coordinate(z.base)]
            table[z] = tower[z.order] if z.order < n else tower[-1].d(z.order - n + 1)
        return e.xreplace(table)

    joined = [Constraint(tower[i].d(), tower[i + 1]) for i in range(n - 1) for tower in towers.values()]
    lifted = system.replace(
        coordinates={**system.kinds, **{z.base: "line" for z in added}},
        kinematic=[*[rewritten(row, lowered) for row in system.kinematic], *joined],
        variational=virtual_rows(source, lowered),
        where={},
        quasi={},
        name=f"{system.name}, {n}-lift".lstrip(", "),
    )
    target = derive(lifted, VirtualWork())
    shared = identity_on(source, target)
    multipliers = dict(zip(target.multipliers, source.multipliers, strict=True))
    return Morphism(
        source,
        target,
        Frozen({**shared, **{z: q.d(i) for q, tower in towers.items() for i, z in enumerate(tower) if i}, **multipliers}),
        Frozen({**shared, **{m: z for z, m in multipliers.items()}}),
        "the canonical n-lift has the same motions (000, Theorem 31)",
    )
