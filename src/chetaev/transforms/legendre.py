r"""The Legendre transformation: the motion in $(q, p)$, for Lagrangians of any order and for vakonomic systems.

For a Lagrangian of order $N$ (Ostrogradsky) the coordinates are $q_{(k)}$, $k < N$, with momenta
$p_{(k)} = \sum_{j \ge 0} (-D)^j\, \partial L/\partial q^{(k+1+j)}$, and $H = \sum p_{(k)} q_{(k+1)} - L$. For vakonomic motion with rows
$g_a(t, q, \dot q) = 0$ affine in the velocities the equations $p_i = \partial(L + \lambda_a g_a)/\partial\dot q^i$, $g_a = 0$ are solved
for velocities and multipliers together, which is possible where $\det(g\,a^{-1}g^T) \ne 0$ (004, (3.22)-(3.31); footnote 3 there claims it
for every quadratic L and is false for indefinite ones). The reduced Hamiltonian is a function of $(t, q, p)$. The result is a system with
the Lagrangian $p_i \dot q^i - H$, to which all verbs apply.

Under Herglotz' principle the momenta have $D - L_s$ instead of $D$, and the Lagrangian $p_i \dot q^i - H(t, q, p, s)$
gives under the same principle the contact Hamiltonian equations $\dot q = H_p$, $\dot p = -H_q - p\,H_s$, $\dot s = p\,H_p - H$.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Add, Expr, Matrix, S

from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Ask
from chetaev.core.notation import show
from chetaev.core.support.budget import limited, size
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Jet, Multiplier, jets_in
from chetaev.core.system import fresh_coordinates
from chetaev.core.zero import known_zero
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import Hamilton, Herglotz, Principle, VirtualWork
from chetaev.mechanics.ranks.minors import Minors
from chetaev.transforms.tools.momenta import momenta as momenta_of
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.pullback import rewritten, virtual_rows
from chetaev.transforms.tools.theorem import theorem

_SOLVING_SECONDS = 10.0
"""Budget, in seconds of counted operations, for SymPy to solve nonlinear momenta for the velocities; without a solution an error is raised.
"""
_GATHER = 2.0
"""Budget, in seconds of counted operations, of each of three attempts to shorten an expression; if they fail it stays as it is."""
_LARGEST_IN_PLACE = 150
"""Size, in nodes, of expressions that are shortened in this process. Fractions of this size take at most some tenths of a second."""
_LONG = 500
"""Size, in nodes, above which expressions are not shortened: as one fraction they rarely become shorter, and attempts exhaust their budget.
"""
_COFACTORS = 3
"""Number of velocities and multipliers from which on they are written with cofactors and one determinant, not expanded. Elimination gives
shorter formulas for fewer unknowns, but nests its quotients: four links would have a Hamiltonian of 46,000 characters."""


@public
@theorem()
def hamiltonian(given: Any) -> Morphism:
    """Write a system in positions and momenta, with the Hamiltonian as `expressions["H"]`.

    Args:
        given: A system, a model or equations; Lagrangians of any order, vakonomic rows affine in the highest derivatives.

    Returns:
        The map between the motions; its `target` has the Lagrangian p q' - H.

    Raises:
        PrincipleError: If the velocities, and vakonomic multipliers, do not follow from the momenta.
        ModelError: For group coordinates.

    >>> from chetaev import System
    >>> legendre = hamiltonian(System("x", {"m": "positive", "k": "real"}, lagrangian="m*x'^2/2 - k*x^2/2", name="spring"))
    >>> print(legendre.target)
    spring, Hamiltonian · Hamilton()
      E_x    k*x + p_x' = 0
      E_p_x  p_x/m - x' = 0
      2 equations for 2 unknowns: x p_x
    """
    source = given if isinstance(given, Equations) else derive(given)
    where = f"hamiltonian {source.system.label}"
    towers = _towers(source, where)
    tops = [tower[-1] for tower in towers.values()]
    rows = _constraints_on_tops(source, tops, where) if source.lowered.costates else ()
    return _Phase(source, towers, rows, where).morphism()


Towers = Mapping[Coordinate, tuple[Coordinate, ...]]
"""The jets of each coordinate up to its highest derivative in the Lagrangian."""


def _towers(source: Equations, where: str) -> dict[Coordinate, tuple[Coordinate, ...]]:
    towers = {}
    for q in source.system.coordinates:
        order = max((z.order for z in jets_in(source.lagrangian, Coordinate) if z.base == q.base), default=0)
        if order == 0:
            raise PrincipleError(
                f"the Lagrangian contains no velocity of {q.base}.",
                where=about(where, "lagrangian"),
                why="The Legendre map is not invertible: the momentum of this coordinate vanishes.",
                hint="constraint_algorithm treats singular Lagrangians",
            )
        towers[q] = tuple(q.d(k) for k in range(order + 1))
    return towers


def _constraints_on_tops(source: Equations, tops: Sequence[Coordinate], where: str) -> tuple[Expr, ...]:
    """The rows that costates multiply, which must be affine in the highest derivatives and contain them."""
    varied = source.lowered.varied_rows
    if len(varied) < len(source.lowered.costates):
        other = next(m.base for m in source.lowered.costates if m not in varied.values())
        raise PrincipleError(
            f"{source.system.label} is under {source.principle}, in which {other} does not multiply a kinematic row.",
            where=about(where, "principle"),
            why="Velocities and multipliers are found together from p = d(L + lambda g)/dq' and g = 0 (004, (3.22)).",
            hint="simulate the equations",
        )
    rows = {k: row for k, row in enumerate(source.system.kinematic_rows()) if k in varied}
    for label, row in rows.values():
        if not set(row.jets) <= set(tops) or not row.affine:
            raise PrincipleError(
                f"{label} is not affine in the highest derivatives of the Lagrangian: {row}",
                where=about(where, "kinematic", row=label),
                why="Velocities and multipliers are found together from p = d(L + lambda g)/dq' and g = 0 (004, (3.22)).",
                hint=(Ask("restrict", "system"), " removes holonomic rows")
                if row.kind == "holonomic"
                else (Ask("reduced_phase_space", "system"), " needs no formulas; or simulate the vakonomic equations"),
            )
    return tuple(row.residual for _, row in rows.values())


@dataclass(frozen=True)
class _Phase:
    """The phase space of a Lagrangian with the jets `towers`."""

    source: Equations
    towers: Towers
    rows: tuple[Expr, ...]
    where: str

    def morphism(self) -> Morphism:
        source, system = self.source, self.source.system
        positions, momenta = self._names()
        lower = {z: positions[z] for z in positions}
        top_of = {tower[-1]: momenta[tower[-2]] for tower in self.towers.values()}
        solved = self._solved(top_of, lower)
        lagrangian = source.lagrangian.xreplace(dict.fromkeys(self._costates, S.Zero))
        rate = {**lower, **{z: solved[z] for z in top_of}}
        still = Add(
            *[term for term in Add.make_args(lagrangian) if not term.has(*top_of)]
        )  # terms without velocities stay outside the fraction
        energy = self._energy(lagrangian - still, positions, momenta, rate, top_of) - still.xreplace(lower)
        moving = Add(*[momenta[z] * positions[z].d() for z in positions])

        def read(e: Expr) -> Expr:
            """`e` with derivatives replaced by coordinates, the highest by the velocity of the last coordinate."""
            return e.xreplace({**lower, **{tower[-1]: positions[tower[-2]].d() for tower in self.towers.values()}})

        added = [z for z in (*positions.values(), *momenta.values()) if z not in system.coordinates]
        target = derive(
            system.replace(
                coordinates={**system.kinds, **{z.base: "line" for z in added}},
                lagrangian=moving - energy,
                kinematic=[rewritten(row, read) for k, row in enumerate(system.kinematic) if k not in source.lowered.varied_rows],
                variational=virtual_rows(source, read) if source.variational else None,
                forces={q: read(u) for q in system.coordinates if (u := self._force(q)) != 0},
                dissipation=None,
                where={},
                quasi={},
                name=f"{system.name}, Hamiltonian".lstrip(", "),
            ),
            self._principle(),
        )
        return self._joined(target, positions, momenta, solved, energy)

    def _energy(
        self,
        lagrangian: Expr,
        positions: Mapping[Jet, Coordinate],
        momenta: Mapping[Jet, Coordinate],
        rate: Mapping[Jet, Expr],
        top_of: Mapping[Jet, Coordinate],
    ) -> Expr:
        r"""$\sum p\,\dot q - L$ with the rates of the highest derivatives.

        For $L = v^T M v/2 + b^T v + c$ that is $(p - b)^T v/2 - c$, in which every rate occurs once.
        """
        products = Add(*[momenta[z] * rate[z.d()] for z in positions])
        if self.rows or size(products) <= _LONG or any(lagrangian.diff(x, y).has(*top_of) for x in top_of for y in top_of):
            return _gathered(products - lagrangian.xreplace(dict(rate)))
        rest = {z: e for z, e in rate.items() if z not in top_of} | dict.fromkeys(top_of, S.Zero)
        halves = [(p - lagrangian.diff(z).xreplace(rest)) * rate[z] / 2 for z, p in top_of.items()]
        below = [momenta[z] * rate[z.d()] for z in positions if z.d() not in top_of]
        return Add(*halves, *below) - lagrangian.xreplace(rest)

    def _joined(
        self, target: Equations, positions: dict[Jet, Coordinate], momenta: dict[Jet, Coordinate], solved: dict[Jet, Expr], energy: Expr
    ) -> Morphism:
        source = self.source
        shared = identity_on(source, target)
        action = {} if source.lowered.action is None else {source.lowered.action: source.lowered.action}
        shared |= action
        values = {q: momenta_of(source, q) for q in self.towers}
        forward = {
            **shared,
            **{z: jet for jet, z in positions.items()},
            **{momenta[z]: values[Coordinate(z.base)][z.order] for z in positions},
        }
        reactions = dict(zip(target.multipliers, source.lowered.reactions, strict=True))
        back = {**{m: solved[m] for m in self._costates}, **{m: z for z, m in reactions.items()}}
        return Morphism(
            source,
            target,
            Frozen({**forward, **reactions}),
            Frozen({**shared, **back}),
            "Legendre's transformation"
            + (" of the vakonomic system (004, (3.29)-(3.31))" if self.rows else " (Ostrogradsky)" * self._high),
            expressions=Frozen({"H": energy}),
        )

    def _principle(self) -> Principle:
        inner = VirtualWork() if self.source.variational else Hamilton()
        return inner if self.source.lowered.action is None else Herglotz(inner)

    def _force(self, q: Coordinate) -> Expr:
        """Forces and friction on a coordinate as one force, because the velocity in a dissipation function may become a coordinate."""
        system = self.source.system
        return system.forces.get(q, S.Zero) - system.dissipation.diff(q.d())

    @property
    def _costates(self) -> tuple[Multiplier, ...]:
        """The multipliers of `rows`, which follow from the momenta."""
        return tuple(self.source.lowered.varied_rows.values())

    @property
    def _high(self) -> bool:
        return any(len(tower) > 2 for tower in self.towers.values())

    def _names(self) -> tuple[dict[Jet, Coordinate], dict[Jet, Coordinate]]:
        """A coordinate and a momentum for every jet below the highest derivative; the coordinate of a jet of order 0 is itself."""
        system = self.source.system
        below: list[Jet] = [z for tower in self.towers.values() for z in tower[:-1]]
        high = [z for z in below if z.order]
        tags = [f"{z.base}{'_' * z.base[-1].isdigit()}{z.order}" for z in high]
        labels = [f"p_{z.base}" + (f"_{z.order}" if z.order else "") for z in below]
        new = fresh_coordinates(system, [*tags, *labels])
        derivatives = dict(zip(high, new, strict=False))
        positions = {z: derivatives.get(z, Coordinate(z.base)) for z in below}
        return positions, dict(zip(below, new[len(high) :], strict=True))

    def _solved(self, top_of: Mapping[Jet, Coordinate], lower: Mapping[Jet, Coordinate]) -> dict[Jet, Expr]:
        """The highest derivatives, and vakonomic multipliers, from the momenta."""
        unknowns: list[Jet] = [*top_of, *self._costates]
        equations = [self.source.lagrangian.diff(z) - p for z, p in top_of.items()] + list(self.rows)
        jacobian = Matrix([[e.diff(z) for z in unknowns] for e in equations])
        minors = Minors(jacobian)
        determinant = minors.determinant()
        if known_zero(determinant):
            raise self._not_invertible()
        if any(z in entry.free_symbols for entry in jacobian for z in unknowns):
            values = self._solved_by_formula(equations, unknowns)
        else:
            at_rest = Matrix([e.xreplace(dict.fromkeys(unknowns, S.Zero)) for e in equations])
            if len(unknowns) < _COFACTORS:
                values = dict(zip(unknowns, (-jacobian.LUsolve(at_rest)), strict=True))
            else:
                values = dict(zip(unknowns, minors.solution([-e for e in at_rest]), strict=True))
        return {z: _gathered(e.xreplace(dict(lower))) for z, e in values.items()}

    def _solved_by_formula(self, equations: Sequence[Expr], unknowns: Sequence[Jet]) -> dict[Jet, Expr]:
        found = limited(_solutions, tuple(equations), tuple(unknowns), seconds=_SOLVING_SECONDS).or_else([])
        if len(found) != 1:
            raise PrincipleError(
                "no formula was found for the velocities." if not found else f"{len(found)} velocities belong to the same momenta.",
                where=self.where,
                why="The momenta are not linear in the velocities, and "
                + ("SymPy does not solve them." if not found else "not one to one."),
                hint="simulate the Lagrangian system",
            )
        return {z: found[0][z] for z in unknowns}

    def _not_invertible(self) -> PrincipleError:
        tops = " ".join(show(tower[-1]) for tower in self.towers.values())
        if not self.rows:
            return PrincipleError(
                "the Legendre map is not invertible.",
                where=self.where,
                why=f"The matrix of second derivatives of L with respect to {tops} is singular.",
                hint="constraint_algorithm treats singular Lagrangians",
            )
        return PrincipleError(
            "velocities and multipliers do not follow from the momenta.",
            where=self.where,
            why="det(g a^-1 g^T) = 0, with a the matrix of second derivatives of L: it is not zero for definite L, but can be for others "
            "(004, footnote 3 corrected).",
            hint="constraint_algorithm treats singular systems",
        )


def _gathered(e: Expr) -> Expr:
    """The shortest of `e` and its forms with common factors extracted, expanded, and as one fraction; a long expression is returned as it
    is.
    """
    forms = [e]
    if size(e) > _LONG:
        return e
    small = size(e) <= _LARGEST_IN_PLACE
    for rewritten_as in (sympy.factor_terms, _in_one_fraction, sympy.expand):
        forms.append(limited(rewritten_as, e, seconds=_GATHER, small=small).or_else(e))
    return min(forms, key=sympy.count_ops)


def _solutions(equations: tuple[Expr, ...], unknowns: tuple[Jet, ...]) -> list[dict[Jet, Expr]]:
    found: list[dict[Jet, Expr]] = sympy.solve(equations, unknowns, dict=True)
    return found


def _in_one_fraction(e: Expr) -> Expr:
    return sympy.factor_terms(sympy.cancel(e))
