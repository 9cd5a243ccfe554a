r"""Friction as a constraint: Rayleigh's forces as reactions of one kinematic and one variational row (000, section IV).

For a dissipation function $F = \tfrac12 R(\dot q, \dot q)$ the motions are those of the system without friction under the row of energy
$$ \frac{dE}{dt} = -2F + u_i \dot q^i - \partial_t L $$
with variations restricted by $\partial F/\partial\dot q^i\, \delta q^i = 0$ (Theorem 20; (61) with $\partial E/\partial q^i\,\dot q^i +
\partial E/\partial\dot q^i\,\ddot q^i$ on its left). The reaction is the friction, so the new multiplier is $-1$ in the signs used here.

With further constraints (Theorem 26) the converse holds only if the other reactions do no work on the velocity: otherwise the row of energy
contains their power, an unknown that it determines instead of the friction. If $\dot q$ is not a virtual displacement, the row must be
formed along its $R$-orthogonal projection $w$ on $C_V$,
$$ \bigl(E_i - u_i + \partial F/\partial\dot q^i\bigr)\, w^i = 0 . $$
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy import Add, Expr, Matrix, S

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Ask, SetPart
from chetaev.core.notation import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Coordinate, Input, jets_in
from chetaev.core.values import Tape, Undefined
from chetaev.core.zero import known_zero
from chetaev.mechanics.assemble import calculus_of, euler_lagrange
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import VirtualWork
from chetaev.mechanics.ranks.exact import exactly_zero
from chetaev.mechanics.ranks.generic import points_on
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.options import Form, Option
from chetaev.transforms.tools.pullback import virtual, virtual_rows
from chetaev.transforms.tools.theorem import require_first_order, theorem, with_reactions

_NO_WORK = 1e-9
"""Power, relative to its terms, below which a reaction or the friction does no work, at points known up to `POINT_ERROR`. With a smaller
value errors of points would count as work; a larger one accepts reactions that do work, for which the theorem is false."""


@public
@theorem(projected=Option("projected", Form.FLAG, help="Other reactions do work"))
def friction_as_constraint(given: Any, projected: bool = False) -> Morphism:
    """Replace friction forces by a row of energy and a variational row, with the same motions.

    The friction is that of the dissipation function, or else the part of the forces linear in the velocities.

    Args:
        given: A system, a model or equations with friction linear in the velocities.
        projected: Whether to form the row of energy along the projection of the velocity on the virtual displacements, which is correct
            even if other reactions do work.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If there is no such friction, its tensor is not symmetric, or reactions do work and `projected` is False.

    >>> from chetaev import System
    >>> sled = System("x y", "c", lagrangian="x'^2/2 + y'^2/2", dissipation="c/2*(x'^2 + 2*y'^2)")
    >>> free = friction_as_constraint(sled).system
    >>> print(free.kinematic[0])
    x'*x'' + y'*y'' = -c*x'^2 - 2*c*y'^2
    >>> print(free.variational[0])
    delta x*c*x' + 2*delta y*c*y' = 0
    """
    source = with_reactions(given, "friction_as_constraint")
    where = f"friction_as_constraint {source.system.label}"
    require_first_order(source.lagrangian, where, hint="the theorem is of first order")
    friction = _Friction(source, where)
    if not projected:
        _require_idle_reactions(source, where)
    _require_power(friction, friction.projection() if projected else friction.velocities, where)
    system = source.system
    energy_row = friction.projected_row() if projected else friction.energy_row()
    rows = [*virtual_rows(source), virtual(zip(system.coordinates, friction.momentum, strict=True))]
    target = derive(
        system.replace(
            kinematic=[*system.kinematic, energy_row],
            variational=rows,
            forces={q: u for q, u in zip(system.coordinates, friction.other_forces, strict=True) if u != 0},
            dissipation=None,
            where={},
            quasi={},
            name=f"{system.name}, friction as a constraint".lstrip(", "),
        ),
        VirtualWork(),
    )
    shared = identity_on(source, target)
    *old, last = target.multipliers
    multipliers = dict(zip(old, source.multipliers, strict=True))
    return Morphism(
        source,
        target,
        Frozen({**shared, **multipliers, last: S.NegativeOne}),
        Frozen({**shared, **{m: z for z, m in multipliers.items()}}),
        f"friction is the reaction of a row of energy (000, {_theorem(source, projected)})",
        notes=("valid where the power of the friction does not vanish: at rest the row of energy is 0 = 0.",),
    )


def _theorem(source: Equations, projected: bool) -> str:
    if not source.variational:
        return "Theorem 20"
    return "Theorem 26, repaired by projection" if projected else "Theorem 26, whose converse holds because no reaction does work"


class _Friction:
    r"""The friction of a system: $R\dot q$, and the other forces."""

    def __init__(self, source: Equations, where: str) -> None:
        self.source, self.where = source, where
        system = source.system
        self.velocities = system.velocities
        forces = [system.forces.get(q, S.Zero) for q in system.coordinates]
        if system.dissipation != 0:
            self.momentum, self.other_forces = [system.dissipation.diff(v) for v in self.velocities], forces
        else:
            self.momentum = [-_linear_part(u, self.velocities) for u in forces]
            self.other_forces = [u + f for u, f in zip(forces, self.momentum, strict=True)]
        self.tensor = Matrix([[f.diff(v) for v in self.velocities] for f in self.momentum])
        self._check()

    def _check(self) -> None:
        if all(known_zero(f) for f in self.momentum):
            raise PrincipleError(
                "there is no friction.",
                where=about(self.where, "dissipation"),
                hint="a dissipation function, or forces linear in the velocities",
            )
        n = len(self.velocities)
        if any(not known_zero(self.tensor[i, j].diff(v)) for i in range(n) for j in range(n) for v in self.velocities):
            raise PrincipleError(
                "the friction is not linear in the velocities.",
                where=about(self.where, "dissipation"),
                why="Theorem 20 needs F = R(q', q')/2: then the power of friction is -2F.",
                hint="keep the friction as a force",
            )
        for i in range(n):
            for j in range(i):
                if not known_zero(self.tensor[i, j] - self.tensor[j, i]):
                    raise PrincipleError(
                        "the friction tensor is not symmetric: "
                        f"R[{i},{j}] = {show(self.tensor[i, j])}, R[{j},{i}] = {show(self.tensor[j, i])}.",
                        where=self.where,
                        why="The energy contains the symmetric part only, so the friction would change (000, Lemma 21 corrected).",
                        hint=(
                            SetPart("dissipation"),
                            " for the symmetric part, forces for the gyroscopic part; or keep the friction as a force",
                        ),
                    )

    @property
    def power(self) -> Expr:
        """The power of the friction, $2F$."""
        return Add(*[f * v for f, v in zip(self.momentum, self.velocities, strict=True)])

    def energy_row(self) -> Constraint:
        r"""$dE/dt = -2F + u_i\dot q^i - \partial_t L$."""
        lagrangian = self.source.lagrangian
        energy = Add(*[lagrangian.diff(v) * v for v in self.velocities]) - lagrangian
        given = Add(*[u * v for u, v in zip(self.other_forces, self.velocities, strict=True)])
        explicit = lagrangian.diff(TIME) + Add(*[lagrangian.diff(z) * z.d() for z in sorted(jets_in(lagrangian, Input), key=str)])
        return Constraint(sympy.expand(self.source.total(energy)), given - self.power - explicit)

    def projected_row(self) -> Constraint:
        r"""$(E_i - u_i + \partial F/\partial\dot q^i)\, w^i$ with w the R-orthogonal projection of the velocity on C_V."""
        expressions = euler_lagrange(calculus_of(self.source.lowered, SYMBOLIC), self.source.lagrangian)
        w = self.projection()
        parts = zip(expressions, self.other_forces, self.momentum, w, strict=True)
        return Constraint(Add(*[(e - u + f) * component for e, u, f, component in parts]))

    def projection(self) -> Sequence[Expr]:
        r"""$\dot q - R^{-1} A^T (A R^{-1} A^T)^{-1} A \dot q$."""
        velocity = Matrix(self.velocities)
        rows = [[row.get(q, S.Zero) for q in self.source.system.coordinates] for row in self.source.variational]
        if not rows:
            return list(velocity)
        if known_zero(self.tensor.det()):
            raise PrincipleError(
                "the friction tensor is degenerate.",
                where=about(self.where, "dissipation"),
                why="The velocity is projected on the virtual displacements with the friction tensor as metric.",
                hint="keep the friction as a force",
            )
        a = Matrix(rows)
        inverse = self.tensor.inv()
        normal = a * inverse * a.T
        return list(velocity - inverse * a.T * normal.inv() * (a * velocity))


def _linear_part(force: Expr, velocities: Sequence[Coordinate]) -> Expr:
    """The part of a force that is linear in the velocities; 0 if it is not affine in them or contains higher derivatives."""
    if any(z.order > 1 for z in jets_in(force, Coordinate)):
        return S.Zero
    slopes = [force.diff(v) for v in velocities]
    if any(not known_zero(slope.diff(v)) for slope in slopes for v in velocities):
        return S.Zero
    return Add(*[slope * v for slope, v in zip(slopes, velocities, strict=True)])


def _require_idle_reactions(source: Equations, where: str) -> None:
    """Raise a PrincipleError unless the velocity is a virtual displacement, R_V q' = 0 on the constraints, as Theorem 26 requires."""
    for k, row in enumerate(source.variational):
        parts = [c * q.d() for q, c in row.items()]
        idle = _vanishes_on_constraints(Add(*parts), parts, source)
        if idle is False:
            raise PrincipleError(
                f"the reaction lambda{k + 1} does work on the velocity.",
                where=where,
                why="The row of energy contains its power and no longer determines the friction: the converse of Theorem 26 of 000 is "
                "false here.",
                hint=(Ask("friction_as_constraint", "system, projected=True"), ", or keep the friction as a force"),
            )
        if idle is None:
            raise PrincipleError(
                f"it is not known whether the reaction lambda{k + 1} does work on the velocity.",
                where=where,
                why="No state that satisfies all constraints was found.",
                hint=(Ask("friction_as_constraint", "system, projected=True"), ", or keep the friction as a force"),
            )


def _require_power(friction: _Friction, directions: Sequence[Expr], where: str) -> None:
    """Raise a PrincipleError if the friction has no power along `directions`: then the row of energy does not determine it."""
    parts = [f * v for f, v in zip(friction.momentum, friction.velocities, strict=True)]
    power = Add(*[f * w for f, w in zip(friction.momentum, directions, strict=True)])
    if _vanishes_on_constraints(power, parts, friction.source):
        raise PrincipleError(
            "the friction has no power along the virtual displacements.",
            where=about(where, "dissipation"),
            why="The constraints exclude the velocities it acts on, so the row of energy cannot separate friction from reactions.",
            hint="keep the friction as a force",
        )


def _vanishes_on_constraints(whole: Expr, parts: Sequence[Expr], source: Equations) -> bool | None:
    """Whether an expression is zero wherever the constraints hold; None if no state is found that satisfies them.

    The answer is exact if the finite field has points of the constraints. Otherwise numerical points decide; there the expression is
    compared with the largest of `parts`.
    """
    rows = [row.residual for row in source.system.kinematic]
    rows += [source.total(row.residual) for row in source.system.kinematic if row.order == 0]
    if source.system.groups:  # the relations between the entries are identities in the chart
        whole, parts, rows = (source.system.charted(whole), [*map(source.system.charted, parts)], [*map(source.system.charted, rows)])
    exact = exactly_zero([whole], rows)
    if exact is not None:
        return exact[0]
    tape = Tape([whole, *parts])
    sizes = []
    for point in points_on(rows, sorted(set().union(*(e.free_symbols for e in (whole, *parts))), key=str)):
        try:
            value, *scales = tape({**point})
        except Undefined:
            continue
        largest = max(map(abs, scales))
        sizes.append(float(abs(value) / largest) if largest else 0.0)
    return all(size <= _NO_WORK for size in sizes) if sizes else None
