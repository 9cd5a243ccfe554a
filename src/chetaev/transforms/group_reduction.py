r"""Reduction by symmetry: a system that does not depend on the position of a group coordinate is a system on the Lie algebra.

Body velocities $A^{-1}A'$ do not change under left translations $A \mapsto gA$, spatial velocities $A'A^{-1}$ under right translations. If
the Lagrangian, the constraints and the forces do not change either, they are functions of the velocity alone, and so are the equations
(Euler-Poincare-Suslov; 001, Theorem 6.1):

$$ \frac{d}{dt} \frac{\partial l}{\partial \xi^a} + C^c_{ab}\, \xi^b\, \frac{\partial l}{\partial \xi^c} = u_a + \lambda_r R_V^r{}_a . $$

The position follows by integrating $A' = A\,\xi$ or $A' = \xi A$: `morphism.reconstruct(motion, {"A": ...})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy
from sympy import Expr, S, Symbol

from chetaev.core.errors import ModelError
from chetaev.core.fixes import Advice, SetPart
from chetaev.core.groups.coordinate import GroupCoordinate
from chetaev.core.groups.lie_algebra import algebra_of
from chetaev.core.groups.matrix_group import MatrixGroup
from chetaev.core.notation import show
from chetaev.core.rows.constraints import VariationalConstraint
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Entry, Jet
from chetaev.core.system import System, group_named
from chetaev.core.zero import known_zero
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.transforms.tools.morphism import Morphism
from chetaev.transforms.tools.options import Form, Option
from chetaev.transforms.tools.pullback import moved_row
from chetaev.transforms.tools.theorem import theorem


@public
@theorem(group=Option("group", Form.TEXT, "NAME", "The group coordinate", "--group A", needed=True))
def reduce(given: Any, principle: Any = None, *, group: str) -> Morphism:
    """Reduce a system to the Lie algebra of a group coordinate; other coordinates stay.

    Args:
        given: A system, a model or equations.
        principle: The principle, for a system.
        group: The name of the group coordinate.

    Returns:
        The map between the motions; its method `reconstruct` computes the group coordinate.

    Raises:
        ModelError: If the system is not invariant; the message names a term that changes.
        UsageError: If `group` is not a group coordinate.

    >>> top = System({"A": "SO3 body"}, "I1 I2 I3", lagrangian="(I1*A1'^2 + I2*A2'^2 + I3*A3'^2)/2", name="Euler's top")
    >>> reduction = reduce(top, group="A")
    >>> print(reduction.target)
    Euler's top, reduced · Hamilton()
      E_A1  I1*A1'' + I3*A2'*A3' - I2*A2'*A3' = 0
      E_A2  I1*A1'*A3' + I2*A2'' - I3*A1'*A3' = 0
      E_A3  I2*A1'*A2' + I3*A3'' - I1*A1'*A2' = 0
      3 equations for 3 unknowns: A1 A2 A3
    """
    source = given if isinstance(given, Equations) else derive(given, principle)
    system, where = source.system, f"reduce {source.system.label}"
    coordinate = group_named(system, group, where)
    at_identity = _Invariance(system, coordinate, where).at_identity
    kind, own = _algebra(system, coordinate)
    reduced = system.replace(
        groups=own,
        coordinates={name: kind if name == coordinate.name else other for name, other in system.kinds.items()},
        lagrangian=at_identity(system.lagrangian, "the Lagrangian"),
        kinematic=[
            replace(row, lhs=at_identity(row.lhs - row.rhs, label), rhs=S.Zero, text="") if _present(coordinate, row.residual) else row
            for label, row in system.kinematic_rows()
        ],
        variational=None
        if system.variational is None
        else [_virtual(row, label, at_identity) for label, row in zip(system.variational_labels, system.variational, strict=True)],
        forces={q.base: at_identity(u, f"the force on {q.base}") for q, u in system.forces.items()},
        dissipation=at_identity(system.dissipation, "the dissipation") if system.dissipation != 0 else None,
        where={},
        quasi={},
        name=f"{system.name}, reduced".lstrip(", "),
    )
    target = derive(reduced, source.principle)
    shared: dict[Jet, Expr] = {z: z for z in source.unknowns}
    side = "left" if coordinate.body else "right"
    return Morphism(
        source,
        target,
        Frozen(shared),
        Frozen(shared),
        f"symmetry under {side} translations of {coordinate.name}: equations on the Lie algebra (001, Theorem 6.1)",
        notes=(f'{coordinate.name} itself follows by reconstruct(motion, {{"{coordinate.name}": ...}}).',),
    )


def _algebra(system: System, coordinate: GroupCoordinate) -> tuple[str, dict[str, Any]]:
    """The kind of a coordinate of which only the velocity is known, and the groups of the reduced system."""
    own, word = dict(system.own_groups), coordinate.word.lower()
    if coordinate.word not in own and word not in own:
        return str(GroupCoordinate(coordinate.name, word, coordinate.body)), own
    while word in own:
        word += "_algebra"
    algebra = algebra_of(coordinate.group)
    named = GroupCoordinate(coordinate.name, f"{word}{{{algebra.key}}}", coordinate.body)
    return str(named), {**own, word: algebra}


def _present(coordinate: GroupCoordinate, e: Expr) -> bool:
    return any(isinstance(z, Entry) and z.group == coordinate.name for z in e.free_symbols)


def _virtual(row: VariationalConstraint, label: str, at_identity: Any) -> VariationalConstraint:
    return moved_row(row, {q: at_identity(c, label) for q, c in row.coefficients.items()})


class _Invariance:
    """Tests whether expressions do not depend on the position of a group coordinate, and evaluates them at the identity."""

    def __init__(self, system: System, coordinate: GroupCoordinate, where: str) -> None:
        self.coordinate, self.where = coordinate, where
        # translations from the other side change the position but not the velocity
        self.fields = GroupCoordinate(coordinate.name, coordinate.key, not coordinate.body).fields
        n = range(coordinate.group.size)
        cells = [(i, j) for i in n for j in n if isinstance(coordinate.matrix[i, j], Entry)]
        self.identity: dict[Symbol, Expr] = {coordinate.matrix[i, j]: S.One if i == j else S.Zero for i, j in cells}

    def at_identity(self, e: Expr, what: str) -> Expr:
        """An expression at the identity; raise a ModelError that names a term if the expression is not invariant."""
        if not _present(self.coordinate, e):
            return e
        if not all(known_zero(self._moved(e, field)) for field in self.fields):
            terms = [term for term in sympy.Add.make_args(sympy.expand(e)) if _present(self.coordinate, term)]
            varying = [term for term in terms if not all(known_zero(self._moved(term, field)) for field in self.fields)]
            side = "left" if self.coordinate.body else "right"
            raise ModelError(
                f"{what} is not invariant under {side} translations of {self.coordinate.name}: the term {show(varying[0])} changes.",
                where=self.where,
                why=f"It contains the position {self.coordinate.name} itself.",
                hint=self._hint(),
            )
        if isinstance(self.coordinate.group, MatrixGroup) and not all(known_zero(e.diff(z)) for z in self.identity):
            name, side = self.coordinate.name, "left" if self.coordinate.body else "right"
            raise ModelError(
                f"{what} depends on {name} through functions that {side} translations leave unchanged.",
                where=self.where,
                why=f"Outside {self.coordinate.word} their values depend on the start; the reduced system does not contain them.",
                hint=f"write their values as numbers or parameters, such as 1 for the determinant of {name}",
            )
        return e.xreplace(self.identity)

    def _moved(self, e: Expr, field: Mapping[Symbol, Expr]) -> Expr:
        return sympy.Add(*[e.diff(z) * field[z] for z in e.free_symbols if z in field and isinstance(z, Entry)])

    def _hint(self) -> Advice:
        kind = f"{self.coordinate.word} {'spatial' if self.coordinate.body else 'body'}"
        other = SetPart("coordinates", {self.coordinate.name: kind})
        return "the full system, or ", other, " if it is symmetric on the other side"
