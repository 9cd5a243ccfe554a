r"""Quasi-velocities: the motion of a system with linear constraints as an ordinary differential equation in its degrees of freedom.

Rows $A(t, q)\,\dot q + b(t, q) = 0$ mean $\dot q = Z(t, q)\,w + z(t, q)$, where the columns of $Z$ span the null space of $A$ and there is
one quasi-velocity $w$ for each free velocity. A basis $Z_V$ of the virtual displacements eliminates the multipliers from
$E_i = u_i + \lambda_a R_V^a{}_i$ (Maggi's equations):
$$ Z_V^T M Z\, \dot w + Z_V^T \bigl(M (\dot Z w + \dot z) + h - u\bigr) = 0, \qquad E = M \ddot q + h . $$
G. A. Maggi, Rend. Accad. Lincei 10 (1901) 287-292; J. I. Neimark, N. A. Fufaev, Dynamics of Nonholonomic Systems (1972), chapter III.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Add, Expr, S

from chetaev.core.errors import ModelError, PrincipleError, UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.notation import parse_expression, show
from chetaev.core.notation.lexer import spell
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Jet, Multiplier, jets_in, order_in
from chetaev.core.system import fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import VirtualWork
from chetaev.mechanics.principles.base import points_of
from chetaev.mechanics.ranks.generic import Point
from chetaev.transforms.tools.momenta import energy
from chetaev.transforms.tools.morphism import Morphism
from chetaev.transforms.tools.nullspace import Vector, explicit_solve, independent, is_singular, normal_solve, null_basis, solution, tidy
from chetaev.transforms.tools.options import VELOCITY
from chetaev.transforms.tools.theorem import require_affine_rows, require_first_order, require_new_names, theorem, with_reactions


@public
@theorem(velocity=VELOCITY)
def reduce_velocities(given: Any, velocities: Mapping[str, Any] | None = None) -> Morphism:
    """Write a system with linear or affine velocity constraints as first-order equations for positions and quasi-velocities.

    The target is a system without Lagrangian; its energy is `expressions["E"]`. A holonomic row is differentiated; `restrict` is better for
    such rows. Constraints on velocities hold exactly on the target, which needs no projection and solves only for the free accelerations.
    Long simulations of the rolling disk, the leaning disk and the snakeboard took 0.6 to 0.7 of the time of the full system. Systems with
    long formulas, such as a tractor with trailers, and systems without constraints are not faster.

    Args:
        given: A system, a model or equations with reactions.
        velocities: The quasi-velocities, `{"v": "x'*cos(theta) + y'*sin(theta)", "omega": "theta'"}`, one for each free velocity; by
            default `w1, w2, ...` along a basis of the admissible velocities.

    Returns:
        The map between the motions.

    Raises:
        PrincipleError: If a row is not affine in the velocities, or the accelerations do not follow from the equations.
        UsageError: If the number of quasi-velocities is wrong, or a name is taken.
        ModelError: If the quasi-velocities are not independent and linear in the velocities.

    >>> from chetaev import DAlembert, System
    >>> skate = System("x y theta", "m J g", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2 - m*g*x",
    ...                kinematic=["y'*cos(theta) = x'*sin(theta)"], name="skate")
    >>> print(reduce_velocities(derive(skate, DAlembert())).target)
    skate, reduced · VirtualWork()
      kinematic[0]  x' = w1*cos(theta)
      kinematic[1]  y' = w1*sin(theta)
      kinematic[2]  theta' = w2
      kinematic[3]  w1' = -g*cos(theta)
      kinematic[4]  w2' = 0
      5 equations for 5 unknowns: x y theta w1 w2
    """
    source = with_reactions(given, "reduce_velocities")
    where = f"reduce_velocities {source.system.label}"
    require_first_order(source.lagrangian, where)
    require_affine_rows(source.system, where, "Quasi-velocities are coordinates on the linear space of admissible velocities.")
    reduction = _Reduction(source, where)
    if velocities is not None:
        reduction = reduction.along(velocities)
    return reduction.morphism()


@dataclass(frozen=True)
class _Reduction:
    """The admissible velocities $Z w + z$ and the virtual displacements $Z_V$."""

    source: Equations
    where: str
    names: tuple[Coordinate, ...] = ()
    chosen_basis: tuple[Vector, ...] | None = None
    chosen_drift: Vector | None = None
    formulas: tuple[Expr, ...] = ()
    """The quasi-velocities as functions of velocities, if the user gave them."""

    @cached_property
    def rows(self) -> list[Expr]:
        """The constraints on velocities; holonomic rows are differentiated."""
        return [self.source.total(row.residual) if row.order == 0 else row.residual for row in self.source.system.kinematic]

    @cached_property
    def points(self) -> list[Point]:
        """Points of the constraint manifold."""
        return points_of(self.source.system, self.source.system.kinematic)

    @cached_property
    def slopes(self) -> list[list[Expr]]:
        """$A$."""
        return [[row.diff(v) for v in self.source.system.velocities] for row in self.rows]

    @cached_property
    def basis(self) -> tuple[Vector, ...]:
        """The columns of $Z$."""
        if self.chosen_basis is not None:
            return self.chosen_basis
        return null_basis(self.slopes, len(self.source.system.coordinates), self.points)

    @cached_property
    def drift(self) -> Vector:
        """$z$."""
        if self.chosen_drift is not None:
            return self.chosen_drift
        at_rest = dict.fromkeys(self.source.system.velocities, S.Zero)
        if not self.rows:
            return (S.Zero,) * len(self.source.system.coordinates)
        return solution(self.slopes, [-row.xreplace(at_rest) for row in self.rows], self.points)

    @cached_property
    def reactions(self) -> list[list[Expr]]:
        """$R_V$."""
        return [[row.get(q, S.Zero) for q in self.source.system.coordinates] for row in self.source.variational]

    @cached_property
    def virtual(self) -> tuple[Vector, ...]:
        """The columns of $Z_V$: those of $Z$ if the same rows restrict velocities and variations."""
        if self.reactions == self.slopes:
            return self.basis
        return null_basis(self.reactions, len(self.source.system.coordinates), self.points)

    @cached_property
    def velocities(self) -> tuple[Coordinate, ...]:
        """The quasi-velocities."""
        return self.names or tuple(fresh_coordinates(self.source.system, [f"w{k + 1}" for k in range(len(self.basis))]))

    @cached_property
    def rates(self) -> dict[Jet, Expr]:
        r"""$\dot q$ on the target."""
        pairs = enumerate(self.source.system.velocities)
        return {v: Add(self.drift[i], *[w * z[i] for w, z in zip(self.velocities, self.basis, strict=True)]) for i, v in pairs}

    def along(self, given: Mapping[str, Any]) -> _Reduction:
        """This reduction with the quasi-velocities `given`."""
        source, count = self.source, len(self.basis)
        names = [spell(str(name)) for name in given]
        if len(names) != count:
            raise UsageError(
                f"{len(names)} quasi-velocities are given; {count} velocities are free.",
                where=about(self.where, "velocities"),
                hint="one formula for each free velocity, or none at all",
            )
        plain = source.system.replace(where={}, quasi={})  # the target has no named expressions, so their names are free
        require_new_names(names, plain, self.where)
        formulas = [parse_expression(e, source.vocabulary, f"{self.where}, {n}") if isinstance(e, str) else e for n, e in given.items()]
        slopes = [[e.diff(v) for v in source.system.velocities] for e in formulas]
        for name, e, row in zip(names, formulas, slopes, strict=True):
            if any(z.order for c in row for z in jets_in(c, Coordinate)) or order_in(e, Coordinate) > 1:
                raise ModelError(f"{name} is not linear in the velocities: {show(e)}", where=about(self.where, "velocities", name))
        rest = [e.xreplace(self.rates).xreplace(dict.fromkeys(self.velocities, S.Zero)) for e in formulas]
        square = [[tidy(Add(*[c * x for c, x in zip(row, z, strict=True)])) for z in self.basis] for row in slopes]
        if is_singular(square, self.points):
            raise ModelError(
                "the quasi-velocities depend on each other under the constraints.",
                where=about(self.where, "velocities"),
                why="Different admissible velocities would have the same quasi-velocities.",
            )
        inverse = sympy.Matrix(square).adjugate() / sympy.Matrix(square).det(method="berkowitz")
        columns = [
            tuple(tidy(Add(*[z[i] * inverse[k, j] for k, z in enumerate(self.basis)])) for i in range(len(self.drift)))
            for j in range(count)
        ]
        drift = tuple(
            tidy(self.drift[i] - Add(*[column[i] * e for column, e in zip(columns, rest, strict=True)])) for i in range(len(self.drift))
        )
        return _Reduction(source, self.where, tuple(map(Coordinate, names)), tuple(columns), drift, tuple(formulas))

    def morphism(self) -> Morphism:
        source, system = self.source, self.source.system
        if len(self.virtual) != len(self.basis):
            raise PrincipleError(
                f"{len(self.basis)} velocities are free and {len(self.virtual)} virtual displacements.",
                where=about(self.where, "variational"),
                why="There are not as many equations as accelerations.",
                hint=(Ask("analyze", "equations"), " shows whether motions exist and are unique"),
            )
        rows = [Constraint(v, e) for v, e in self.rates.items()] + self._accelerations()
        target = derive(
            system.replace(
                coordinates={**system.kinds, **{w.base: "line" for w in self.velocities}},
                lagrangian=S.Zero,
                kinematic=rows,
                variational=[],
                forces={},
                dissipation=None,
                where={},
                quasi={},
                name=f"{system.name}, reduced".lstrip(", "),
            ),
            VirtualWork(),
        )
        shared: dict[Jet, Expr] = {q: q for q in system.coordinates}
        holonomic = [k for k, row in enumerate(system.kinematic) if row.order == 0]
        return Morphism(
            source,
            target,
            Frozen({**shared, **dict(zip(self.velocities, self._by_velocities(), strict=True))}),
            Frozen({**shared, **self._multipliers()}),
            "the velocities that constraints leave free, without multipliers (Maggi's equations)",
            notes=tuple(f"only the derivative of {source.system.kinematic_labels[k]} is kept." for k in holonomic),
            expressions=Frozen({"E": tidy(energy(source).xreplace(self.rates))}),
        )

    def _by_velocities(self) -> Sequence[Expr]:
        r"""$w = (Z^T Z)^{-1} Z^T (\dot q - z)$, or the user's formulas."""
        if self.formulas:
            return self.formulas
        moved = [v - z for v, z in zip(self.source.system.velocities, self.drift, strict=True)]
        return normal_solve(self.basis, [Add(*[c * e for c, e in zip(z, moved, strict=True)]) for z in self.basis])

    def _free_rows(self) -> list[Expr]:
        """$E_i - u_i$, one for each coordinate."""
        silent = dict.fromkeys(self.source.multipliers, S.Zero)
        varied = self.source.variations
        return [varied.get(q.base, S.Zero).xreplace(silent) for q in self.source.system.coordinates]

    def _accelerations(self) -> list[Constraint]:
        """The rows for the rates of the quasi-velocities, solved for these if the formulas are short."""
        total = self.source.total
        jets = {v.d(): total(e).xreplace(self.rates) for v, e in self.rates.items() if isinstance(v, Coordinate)}
        full = [e.xreplace(jets).xreplace(self.rates) for e in self._free_rows()]
        work = [Add(*[c * e for c, e in zip(z, full, strict=True)]) for z in self.virtual]
        speeds = [w.d() for w in self.velocities]
        still = dict.fromkeys(speeds, S.Zero)
        masses = [[tidy(row.diff(speed)) for speed in speeds] for row in work]
        right = [tidy(-row.xreplace(still)) for row in work]
        if is_singular(masses, self.points):
            raise PrincipleError(
                "the mass matrix of the free velocities is singular.",
                where=about(self.where, "lagrangian"),
                why="Their rates do not follow from the equations of motion.",
                hint=(Ask("analyze", "equations"), " shows whether motions exist and are unique"),
            )
        found = explicit_solve(masses, right)
        if found is not None:
            return [Constraint(speed, e) for speed, e in zip(speeds, found, strict=True)]
        return [
            Constraint(Add(*[m * speed for m, speed in zip(line, speeds, strict=True)]), b) for line, b in zip(masses, right, strict=True)
        ]

    def _multipliers(self) -> dict[Jet, Expr]:
        r"""$\lambda = (R_V R_V^T)^{-1} R_V (E - u)$, where the rows are independent."""
        multipliers: tuple[Multiplier, ...] = self.source.multipliers
        if not multipliers or not independent(self.reactions, self.points):
            return {}
        free = self._free_rows()
        right = [Add(*[c * e for c, e in zip(row, free, strict=True)]) for row in self.reactions]
        return dict(zip(multipliers, normal_solve(self.reactions, right), strict=True))
