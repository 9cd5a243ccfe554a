r"""Hamel's equations: the motion in quasi-velocities.

Quasi-velocities $w^a = A^a_i(t, q)\,\dot q^i + b^a(t, q)$ need not be derivatives of coordinates: speeds along and across a blade, the
angular velocity of a body about its own axes. With the dual fields $X_a$, their brackets $[X_a, X_b] = C_{ab}^c X_c$ and the Lagrangian
$L(t, q, w)$ the equations of motion are (Boltzmann-Hamel, Poincare)

$$ \frac{d}{dt} \frac{\partial L}{\partial w^a} - X_a L + C_{ab}^c\, w^b\, \frac{\partial L}{\partial w^c}
   = (u_i + \lambda_r R_V^r{}_i)\, X_a^i , \qquad \dot q^i = X_a^i\, (w^a - b^a) . $$

They are the rows of the assembler in another frame, which covers Lagrangians of any order and all principles. If time or a drift $b$ enters
the definition, time is a direction of the frame and $C_{at}^c\, \partial L/\partial w^c$ is added.

L. Boltzmann, Sitzungsber. Akad. Wien 111 (1902) 1603-1614; G. Hamel, Z. Math. Phys. 50 (1904) 1-57; J. I. Neimark, N. A. Fufaev, Dynamics
of Nonholonomic Systems (1972), chapter III.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy
from sympy import Add, Expr, S

from chetaev.core.errors import UsageError, about
from chetaev.core.fixes import Ask
from chetaev.core.rows.constraints import Constraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Action, Coordinate, Jet, Multiplier, jets_in, order_in
from chetaev.core.system import fresh_coordinates
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.group_charts.chart import require_coordinates
from chetaev.mechanics.origins import Defined, Stated, Variation
from chetaev.mechanics.principles import VirtualWork
from chetaev.mechanics.ranks.row_reduction import row_reduce
from chetaev.transforms.tools.momenta import energy
from chetaev.transforms.tools.morphism import Morphism
from chetaev.transforms.tools.options import VELOCITY
from chetaev.transforms.tools.pullback import moved_row, virtual_rows
from chetaev.transforms.tools.theorem import theorem
from chetaev.transforms.tools.velocity_frame import Definition, VelocityFrame

_DENSE = (
    "The inverse of the frame is too long to be written out: the velocities follow from the quasi-velocities by their definitions, and the "
    "rows of motion are those of the coordinates, which are combinations of Hamel's equations."
)
"""The note for a dense frame."""


@public
@theorem(velocity=VELOCITY)
def hamel(given: Any, principle: Any = None, velocities: Mapping[str, Any] | None = None) -> Morphism:
    r"""Write a system in quasi-velocities (Hamel's equations).

    In the target a quasi-velocity is a coordinate without a prime. `expressions["L"]` and `expressions["E"]` are Lagrangian and energy,
    `expressions["C_v_omega^u"]` the nonzero structure functions.

    Where the inverse of the frame is too long to be written out, such as that of three quasi-velocities with full coefficients that depend
    on the positions, the target has the definitions `v = ...` as rows in place of `x' = ...`, and the rows of motion of the coordinates,
    $A^a_i E_a$. Both hold for the same motions. Structure functions are then by coordinates, `expressions["C_x_theta^u"]`, with
    $C_{ab}^c = C_{ij}^c X_a^i X_b^j$, and the Lagrangian and the energy contain velocities.

    Args:
        given: A system, a model or equations.
        principle: The principle, for a system.
        velocities: The quasi-velocities, `{"v": "x'*cos(theta) + y'*sin(theta)", ...}`; by default those of the system (`quasi`). If
            there are fewer quasi-velocities than coordinates, velocities of coordinates are added, and `notes` lists them.

    Returns:
        The map between the motions.

    Raises:
        UsageError: If no quasi-velocity is given, a name is taken, or `principle` is not that of the equations.
        ModelError: If the quasi-velocities are not independent and affine in the velocities, or for group coordinates.

    >>> from chetaev import DAlembert, System
    >>> skate = System("x y theta", "m J g", lagrangian="m/2*(x'^2 + y'^2) + J/2*theta'^2 - m*g*x", name="skate",
    ...                kinematic=["u' = 0"],
    ...                quasi={"v": "x'*cos(theta) + y'*sin(theta)", "u": "y'*cos(theta) - x'*sin(theta)", "omega": "theta'"})
    >>> print(hamel(skate, DAlembert()).target)
    skate, Hamel · VirtualWork()
      E_v           g*m*cos(theta) + m*v' - m*omega*u = 0
      E_u           m*omega*v + m*u' - g*m*sin(theta) = lambda1
      E_omega       J*omega' = 0
      kinematic[0]  u = 0
      kinematic[1]  x' = v*cos(theta) - u*sin(theta)
      kinematic[2]  y' = u*cos(theta) + v*sin(theta)
      kinematic[3]  theta' = omega
      7 equations for 7 unknowns: x y theta v u omega lambda1
    """
    source = given if isinstance(given, Equations) else derive(given, principle)
    where = f"hamel {source.system.label}"
    if principle is not None and source.principle != principle:
        raise UsageError(
            f"the equations are under {source.principle}, not under {principle}.",
            where=about(where, "principle"),
            hint=(Ask("hamel", "equations"), ", or ", Ask("hamel", "system, principle")),
        )
    require_coordinates(source.system, "hamel")
    with deep():
        return _Hamel(source, Definition(source, where, velocities)).morphism()


@dataclass(frozen=True)
class _Hamel:
    """The rows of a system in a frame of quasi-velocities."""

    source: Equations
    definition: Definition

    @property
    def frame(self) -> VelocityFrame:
        """The quasi-velocities as a frame."""
        return self.definition.frame

    def morphism(self) -> Morphism:
        source = self.source
        shared: dict[Jet, Expr] = {q: q for q in source.system.coordinates}
        shared |= {m: m for m in source.multipliers if source.lowered.is_reaction(m)}
        dense = self.frame.is_dense
        if dense:
            named = {"L": source.lagrangian, "E": energy(source), **self.frame.structure_by_coordinates}
        else:
            named = {"L": self.lagrangian, "E": self.frame.written(energy(source)), **self.frame.structure}
        return Morphism(
            source,
            self._implicit_target() if dense else self._target(),
            Frozen({**shared, **self.definition.formulas, **{new: old for old, new in self.moving.items()}}),
            Frozen({**shared, **self.moving}),
            "motion in quasi-velocities (Hamel's equations)",
            notes=(*self.definition.notes, *([_DENSE] if dense else self._left_out())),
            expressions=Frozen({name: self._renamed(e) for name, e in named.items()}),
        )

    @cached_property
    def moving(self) -> dict[Jet, Coordinate]:
        """Costates and the action variable, with the coordinates of the target that represent them."""
        lowered = self.source.lowered
        state = lowered.costates
        taken = [w.base for w in self.frame.names]
        new = fresh_coordinates(self.definition.plain, [*taken, *[f"mu{k + 1}" for k in range(len(state))]])[len(taken) :]
        action = {} if lowered.action is None else {lowered.action: Coordinate(lowered.action.base)}
        return {**dict(zip(state, new, strict=True)), **action}

    @cached_property
    def lagrangian(self) -> Expr:
        """The Lagrangian of the principle in quasi-velocities."""
        return self.frame.written(self.source.lagrangian)

    @cached_property
    def kept(self) -> list[int]:
        """The quasi-velocities that have rows: all, or as many as there are varied coordinates."""
        coordinates, varied = self.frame.coordinates, self.source.lowered.varied
        acted = [line for q, line in zip(coordinates, self.frame.inverse, strict=True) if q in varied]
        if len(acted) == len(coordinates):
            return list(range(len(coordinates)))
        return sorted(row_reduce(acted, self.definition.points).pivots.values())

    def _left_out(self) -> tuple[str, ...]:
        idle = [q.base for q in self.frame.coordinates if q not in self.source.lowered.varied]
        if not idle:
            return ()
        names = " ".join(f"E_{w.base}" for a, w in enumerate(self.frame.names) if a not in self.kept)
        return (f"The variation of {' '.join(idle)} has no row of its own: {names} would follow from the other rows.",)

    def _target(self) -> Equations:
        system, names = self.source.system, self.frame.names
        left, right, reactions = self._expressions(), self._forces(), self._reactions()
        stated = virtual_rows(self.source)
        rows = [*map(self._constraint, system.kinematic), *self._rates()]
        target = system.replace(
            coordinates={**system.kinds, **{z.base: "line" for z in (*names, *self.moving.values())}},
            lagrangian=S.Zero,
            kinematic=rows,
            variational=[moved_row(row, {names[a]: line[a] for a in self.kept}) for row, line in zip(stated, reactions, strict=True)],
            forces={names[a]: right[a] - left[a] for a in self.kept},
            dissipation=None,
            action=None,
            where={},
            quasi={},
            name=f"{system.name}, Hamel".lstrip(", "),
        )
        multipliers = tuple(self.source.lowered.reactions)
        sums = [Add(right[a], *[m * line[a] for m, line in zip(multipliers, reactions, strict=True)]) for a in range(len(names))]
        written = [Row(Variation(names[a].base, along=True), left[a], sums[a]) for a in self.kept]
        for k, (label, row) in enumerate(zip(target.kinematic_labels, rows, strict=True)):
            origin = Stated(label) if k < len(system.kinematic) else Defined(label, "the quasi-velocities")
            written.append(Row(origin, row.lhs, row.rhs))
        singular = self.frame.determinant
        assumptions = (*self.source.assumptions, *([singular] if singular != 1 else []))
        return replace(derive(target, VirtualWork()), rewritten=tuple(written), assumptions=assumptions)

    def _implicit_target(self) -> Equations:
        r"""The rows $A^a_i E_a = E_i$ of the coordinates, with the quasi-velocities defined as they were given: nothing is inverted."""
        source, system = self.source, self.source.system
        rows = [self._by_name(row) for row in system.kinematic]
        rows += [Constraint(w, e) for w, e in self.definition.formulas.items()]
        parts: dict[str, Any] = {}
        if self.moving:  # the rows of motion are not those of a Lagrangian of the coordinates alone
            silent = dict.fromkeys(source.lowered.reactions, S.Zero)
            forces = {q: -self._renamed(source.variations[q.base].xreplace(silent)) for q in source.lowered.varied}
            parts = {"lagrangian": S.Zero, "forces": forces, "dissipation": None, "action": None}
        if source.lowered.action is not None:
            rows.append(Constraint(self.moving[source.lowered.action].d(), self._renamed(source.lowered.system.lagrangian)))
        target = system.replace(
            coordinates={**system.kinds, **{z.base: "line" for z in (*self.frame.names, *self.moving.values())}},
            kinematic=rows,
            variational=virtual_rows(source, self._renamed),
            where={},
            quasi={},
            name=f"{system.name}, Hamel".lstrip(", "),
            **parts,
        )
        return replace(derive(target, VirtualWork()), assumptions=source.assumptions)

    def _by_name(self, row: Constraint) -> Constraint:
        """A row; one that restricts a quasi-velocity, with the name of the quasi-velocity."""
        velocities = self.source.system.velocities
        for w, slopes, drift in zip(self.frame.names, self.frame.matrix, self.frame.drift, strict=True):
            for sign in (1, -1):
                rest = row.residual - sign * Add(*[c * v for c, v in zip(slopes, velocities, strict=True)])
                if not jets_in(rest, Coordinate).intersection(velocities):
                    return replace(row, text="", lhs=w, rhs=drift - sign * rest)
        return replace(row, text="", lhs=self._renamed(row.lhs), rhs=self._renamed(row.rhs))

    def _expressions(self) -> list[Expr]:
        """$E_a$, the left-hand sides."""
        lowered = self.source.lowered
        rate = None if lowered.action is None else self.frame.written(lowered.system.lagrangian)
        found = self.frame.euler_lagrange(self.lagrangian, lowered.action, rate)
        return [self._renamed(self.frame.gathered(e)) for e in found]

    def _forces(self) -> list[Expr]:
        r"""$u_i X_a^i - \partial F/\partial w^a$."""
        system = self.source.system
        forces, friction = self.frame.along(system.forces), self.frame.written(system.dissipation)
        return [self._renamed(self.frame.gathered(u - friction.diff(w))) for u, w in zip(forces, self.frame.names, strict=True)]

    def _reactions(self) -> list[list[Expr]]:
        r"""$R_V^r{}_i X_a^i$, a row for each multiplier."""
        return [[self._renamed(e) for e in self.frame.along(row)] for row in self.source.variational]

    def _constraint(self, row: Constraint) -> Constraint:
        """A row in quasi-velocities: both sides, or all terms on one side if that is shorter."""
        whole = replace(row, text="", lhs=self._renamed(self.frame.written(row.residual)), rhs=S.Zero)
        if max(order_in(row.lhs, Coordinate), order_in(row.rhs, Coordinate)) > row.order:
            return whole
        lhs, rhs = (self._renamed(self.frame.written(side)) for side in (row.lhs, row.rhs))
        sides = replace(row, text="", lhs=lhs, rhs=rhs)
        return min(sides, whole, key=lambda r: sympy.count_ops(r.lhs) + sympy.count_ops(r.rhs))

    def _rates(self) -> list[Constraint]:
        """The rates of the coordinates and, under Herglotz' principle, of the action variable."""
        lowered = self.source.lowered
        rows = [Constraint(v, e) for v, e in self.frame.rates.items()]
        if lowered.action is not None:
            rate = self._renamed(self.frame.written(lowered.system.lagrangian))
            rows.append(Constraint(self.moving[lowered.action].d(), rate))
        return rows

    def _renamed(self, e: Expr) -> Expr:
        """An expression with costates and the action variable replaced by coordinates of the target."""
        roots = {z.base: new for z, new in self.moving.items()}
        own = {z for z in jets_in(e) if isinstance(z, Multiplier | Action) and z.base in roots}
        return e.xreplace({z: roots[z.base].d(z.order) for z in own})
