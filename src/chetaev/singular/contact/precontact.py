r"""The precontact constraint algorithm for a singular Lagrangian with an action variable (de León and Lainz 2019; 002, section 2.5).

If $\eta_L$ is not a contact form there is no single Reeb field, but $\mathcal L_X\eta = L_s\,\eta$ and $\eta(X) = -E$ are still meaningful:

$$ i_X\,d\eta_L = dE_L + L_s\,\eta_L, \qquad \eta_L(X) = -E_L. $$

Solutions exist on a set that the kernel of $d\eta$ and $\eta$ restricts, and must be tangent to it. If $X$ is also a second-order equation,
$X(q) = v$, they are Herglotz' equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, S, Symbol

from chetaev.core.errors import PrincipleError
from chetaev.core.fixes import Ask, SetArgument
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME
from chetaev.singular.contact.geometry import ContactGeometry, contact_geometry
from chetaev.singular.dirac_bergmann.closure import refusals
from chetaev.singular.dirac_bergmann.legendre_map import tidied
from chetaev.singular.dirac_bergmann.presymplectic import SolvedSet, solved_set
from chetaev.singular.forms.distributions import Distribution, annihilated_by, associated_system
from chetaev.singular.forms.exterior import d, interior


@public
@dataclass(frozen=True)
class Precontact:
    """The kernel of the precontact form, the final constraint set and Herglotz' field on it."""

    geometry: ContactGeometry = field(repr=False)
    """The contact geometry of the Lagrangian."""
    kernel: Distribution = field(repr=False)
    r"""The fields $Z$ with $\eta(Z) = 0$ and $i_Z\,d\eta = 0$."""
    compatibility: tuple[Expr, ...]
    """$Z(E)$ for the fields that span the kernel, which must vanish."""
    second_order: bool
    """Whether $X(q) = v$ was required."""
    found: SolvedSet = field(repr=False)
    """The result of the algorithm: the steps and the final set."""

    @property
    def steps(self) -> tuple[tuple[Expr, ...], ...]:
        """The constraints that each step added."""
        return self.found.steps

    @property
    def constraints(self) -> tuple[Expr, ...]:
        """All constraints of the final set."""
        return self.found.constraints

    @property
    def consistent(self) -> bool:
        """Whether there is a solution."""
        return self.found.consistent

    @property
    def dimension(self) -> int:
        """The dimension of the final set with s and without time; -1 if it is empty."""
        return self.found.dimension

    @property
    def free_components(self) -> int:
        """The number of components of the field that are not determined."""
        return self.found.free_components

    @property
    def field(self) -> Mapping[Symbol, Expr]:
        """The components of the field on the final set; free ones are u1, u2, ..."""
        return self.found.field

    def __str__(self) -> str:
        lines = [f"kernel         {', '.join(map(str, self.kernel.fields)) or 'none'}"]
        lines.append(f"compatibility  {', '.join(f'{show(e)} = 0' for e in self.compatibility if e != 0) or 'no condition'}")
        lines += [f"{'step ' + str(k + 1):<14} {', '.join(f'{show(e)} = 0' for e in step)}" for k, step in enumerate(self.steps)]
        if not self.consistent:
            return "\n".join([*lines, "no solution"])
        return "\n".join([*lines, f"final set      dimension {self.dimension}, {self.free_components} free components of the field"])


@public
def precontact(given: Any, *, second_order: bool = True, seconds: float = 30.0) -> Precontact:
    """Run the precontact constraint algorithm for a Lagrangian of first order with an action variable, which may be singular.

    Args:
        given: A system with an action variable, a model or equations, under `Herglotz()` without constraints and forces.
        second_order: Whether the field must be a second-order equation, as Herglotz' equations are.
        seconds: The budget, counted in operations.

    Returns:
        Kernel, compatibility conditions, steps, final constraint set and field.

    Raises:
        PrincipleError: If there is no action variable, solutions lie on several manifolds, or the budget does not suffice.

    >>> from chetaev import System
    >>> print(precontact(System("x y", "c", lagrangian="x'^2/2 - x*y - c*s", action="s")))
    kernel         ∂y, ∂y'
    compatibility  x = 0
    step 1         x = 0
    step 2         x' = 0
    step 3         y = 0
    step 4         y' = 0
    final set      dimension 1, 0 free components of the field
    """
    geometry = contact_geometry(given)
    eta, names = geometry.eta, geometry.variables
    still = [z for z in names if z != TIME]
    kernel = annihilated_by([eta, *associated_system(d(eta), still)] if not geometry.timed else _at_rest(geometry), still)
    rows = _rows(geometry, second_order)
    found: SolvedSet | None = None
    with deep(), refusals("precontact", hint=Ask("analyze", "derive(system, Herglotz())")), allowance(seconds) as clock:
        found = solved_set(rows, still, ())
    if clock.expired or found is None:
        what = f"the constraints were not closed within a budget of {seconds:g} seconds."
        raise PrincipleError(what, where="precontact", hint=SetArgument("seconds", 300))
    compatibility = tuple(tidied(field(geometry.energy)) for field in kernel.fields)
    return Precontact(geometry, kernel, compatibility, second_order, found)


def _at_rest(geometry: ContactGeometry) -> list[Any]:
    """The forms that annihilate the kernel at fixed time."""
    still = [z for z in geometry.variables if z != TIME]
    forms = [geometry.eta, *associated_system(d(geometry.eta), still)]
    return [type(form)(1, {blade: c for blade, c in form.terms.items() if TIME not in blade}) for form in forms]


def _rows(geometry: ContactGeometry, second_order: bool) -> list[list[Expr]]:
    r"""$i_X\,d\eta - dE - L_s\,\eta = 0$ by components, $\eta(X) + E = 0$, and $X(q) = v$; the term without rates last.

    With explicit time $X = \partial_t + \dots$, and the component along $dt$ is omitted: it only states the rate of the energy.
    """
    eta, names = geometry.eta, geometry.variables
    still = [z for z in names if z != TIME]
    slope = d(geometry.energy) + geometry.lagrangian.diff(geometry.action) * eta
    entries = {z: interior({z: S.One}, d(eta)) for z in names}
    rows = []
    for w in still:
        rest = (entries[TIME].coefficient(w) if geometry.timed else S.Zero) - slope.coefficient(w)
        rows.append([*[entries[z].coefficient(w) for z in still], rest])
    rows.append([*[eta.coefficient(z) for z in still], geometry.energy])
    if second_order:
        for q, v in zip(geometry.coordinates, geometry.velocities, strict=True):
            rows.append([*[S.One if z == q else S.Zero for z in still], -v])
    return rows
