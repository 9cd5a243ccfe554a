r"""The dynamics of a constrained system as distributions and fields on the constraint (003, sections 10 and 11).

The *constraint dynamical distribution* $\Delta_{\alpha_{\mathcal Q}}$ is the part of the canonical distribution $\mathcal C$ that
the 1-forms $i_\xi\,\alpha_{\mathcal Q}$ annihilate, for all vertical fields $\xi$ in $\mathcal C$. Where $B'$ of (11.6) is regular it has
rank 1 and is spanned by the *constraint semispray*

$$ \Gamma = \partial_t + \sum_{k < s-1} q_{k+1}\,\partial_{q_k} + \Gamma^l\,\partial_{q_{s-1}^l}, \qquad \Gamma = -(B')^{-1} A', $$

with $q_{s-1}^{m-k+i} = g^i$ in a normal chart; the line it spans is the constraint connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sympy import Expr, Matrix, S, Symbol

from chetaev.core.errors import ModelError
from chetaev.core.fixes import Ask, InPython
from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Jet
from chetaev.mechanics.ranks.generic import generic_rank
from chetaev.singular.dynamical.constraint_structure import tidied
from chetaev.singular.forms.distributions import Distribution, annihilated_by
from chetaev.singular.forms.exterior import Form, d, interior, pull_back
from chetaev.singular.forms.fields import VectorField

if TYPE_CHECKING:
    from chetaev.singular.dynamical.constrained_system import ConstrainedSystem


def representative(system: ConstrainedSystem) -> Form:
    r"""The closed $\iota^*\alpha$ if the form is variational (corollary 11.5), otherwise $\alpha_{\mathcal Q}$ of (11.5)."""
    if system.case == "above" or system.structure.solved is None or not system.form.lepage.closed:
        return system.alpha
    return pull_back(system.form.lepage.two_form, system.structure.solved).map(tidied)


def annihilating_forms(system: ConstrainedSystem) -> tuple[Form, ...]:
    r"""The forms that annihilate $\Delta_{\alpha_{\mathcal Q}}$: of $\mathcal C$, then $i_\xi\,\alpha_{\mathcal Q}$, $\xi$ vertical."""
    structure = system.structure
    canonical = [form for form in structure.canonical_forms if form.terms]
    on = () if structure.solved is not None else (*structure.prolonged, *structure.rows)
    tangent = [*canonical, *[d(e) for e in on]]
    variables = structure.variables if structure.solved is not None else (TIME, *structure.jets)
    vertical = annihilated_by([d(TIME), *tangent], variables, on=on)
    alpha = representative(system)
    found = [interior(field, alpha).map(tidied) for field in vertical.fields]
    return (*tangent, *[form for form in found if form.terms])


def distribution_of(system: ConstrainedSystem) -> Distribution:
    r"""$\Delta_{\alpha_{\mathcal Q}}$, generically; on $J^{s-1}Y$ at the points of the constraint if its rows stay implicit."""
    structure, solved = system.structure, system.structure.solved is not None
    variables = structure.variables if solved else (TIME, *structure.jets)
    found = annihilated_by(annihilating_forms(system), variables, on=() if solved else (*structure.prolonged, *structure.rows))
    fields = tuple(VectorField({z: tidied(e) for z, e in field.items()}) for field in found.fields)
    return Distribution(found.variables, fields, found.on)


def semispray_of(system: ConstrainedSystem) -> VectorField:
    r"""The constraint semispray of a regular constrained system.

    Raises:
        ModelError: If $B'$ is singular wherever the constraint holds, or the constraint is of higher order than the phase space.
    """
    where = f"constraint semispray of {system.label}"
    size = len(system.independent)
    if system.case == "above" or generic_rank(system.B.tolist(), system.structure.points) < size:
        raise ModelError(
            "the constrained system is not regular.",
            where=where,
            why="B' = P^T B P is singular on the constraint, so that no single semispray spans the motions.",
            hint=(InPython("constrained.distribution"), ", or ", Ask("constraint_algorithm", "constrained.equations")),
        )
    rates = (-(system.B.inv(method="ADJ") * system.A)).applyfunc(tidied)
    components = dict(zip(system.independent, rates, strict=True))
    if system.structure.solved is not None:
        return system.structure.semispray(components)
    return _on_jets(system, components)


def _on_jets(system: ConstrainedSystem, components: dict[Jet, Expr]) -> VectorField:
    """The semispray on the jets of the phase space, at the points of a constraint that is not solved."""
    order, structure = system.form.order, system.structure
    dependent = system.drift + structure.gradient * Matrix(list(components.values()))
    tops = {**components, **{structure.coordinates[i]: tidied(e) for i, e in zip(structure.dependent, dependent, strict=True)}}
    found: dict[Symbol, Expr] = {TIME: S.One}
    for q in system.form.coordinates:
        found |= {q.d(k): q.d(k + 1) for k in range(order - 1)}
        found[q.d(order - 1)] = tops[q]
    return VectorField(found)


@public
@dataclass(frozen=True)
class ConstraintConnection:
    r"""The constraint connection of a regular constrained system: the line spanned by a constraint semispray $\Gamma$.

    >>> from chetaev.singular.dynamical.constrained_system import constrain
    >>> from chetaev.singular.dynamical.constraint_structure import ConstraintStructure
    >>> from chetaev.singular.dynamical.dynamical_form import DynamicalForm
    >>> form = DynamicalForm("x y", ["-x''", "-y'' - 1"])
    >>> print(constrain(form, ConstraintStructure("x y", ["y' = x*x'"])).connection)
    constraint connection spanned by
      Γ = x'*∂x + x*x'*∂y + (-x*x'^2 - x)/(x^2 + 1)*∂x' + ∂t
    and annihilated by
      dx - x'*dt
      dy - x*x'*dt
      dx' + (x*x'^2 + x)/(x^2 + 1)*dt
    """

    field: VectorField
    r"""$\Gamma$."""
    variables: tuple[Symbol, ...]
    """The variables of the constraint, time first; all jets of the phase space where the rows stay implicit."""

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        r"""The 1-forms $dz - \Gamma(z)\,dt$ that annihilate the connection, for every variable $z$ besides time."""
        return tuple((d(z) - rate * d(TIME)).map(tidied) for z, rate in self._rates.items())

    @property
    def _rates(self) -> dict[Symbol, Expr]:
        return {z: self.field.get(z, S.Zero) for z in self.variables[1:]}

    @cached_property
    def equations(self) -> dict[str, str]:
        """The rate of each variable as a string, by its name."""
        return {z.name: show(rate) for z, rate in self._rates.items()}

    def __str__(self) -> str:
        lines = ["constraint connection spanned by", f"  Γ = {self.field}", "and annihilated by"]
        return "\n".join([*lines, *[f"  {form}" for form in self.forms]])
