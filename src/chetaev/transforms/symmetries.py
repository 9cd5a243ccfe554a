"""symmetries: affine fields that leave a Lagrangian unchanged, with the rates of their momenta (`noether`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sympy import Expr, S

from chetaev.core.calculus import SYMBOLIC
from chetaev.core.support.budget import allowance, size, spend
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Coordinate, jets_in
from chetaev.core.zero import known_zero
from chetaev.mechanics.assemble import calculus_of, euler_lagrange
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles.given_forces import require_given_forces
from chetaev.mechanics.ranks.sizes import ORDINARY, natural_sizes
from chetaev.transforms.tools.affine_fields import Ansatz, Condition, Matrix, conditions_at, rational_null_space
from chetaev.transforms.tools.frame_fields import FrameAnsatz
from chetaev.transforms.tools.noether import Fate, Noether, Symmetry
from chetaev.transforms.tools.translations import for_every_start

_SEARCH_SECONDS = 8.0
"""Default budget, in seconds of counted operations, of the search for fields that change the Lagrangian by a total derivative."""


@public
@dataclass(frozen=True, repr=False)
class Symmetries:
    """The affine symmetries of a system, and momenta along combinations of them that are virtual displacements.

    `symmetries.conserved`, `.dissipated` and `.cyclic` are the momenta and coordinates most often needed; `for s in symmetries` gives each
    `Symmetry` with its `s.momentum` and `s.rate`, and `motion[ch.show(s.momentum)]` its values along a motion.
    """

    equations: Equations
    """The equations whose symmetries these are."""
    found: tuple[Symmetry, ...]
    """The symmetries."""
    horizontal: tuple[Symmetry, ...]
    """Nonholonomic momentum equations: combinations of symmetries, with coefficients that depend on the position."""
    complete: bool
    """Whether the search for fields that change the Lagrangian by a total derivative was finished within the budget."""
    reason: str = "the work allowed ran out"
    """Why the search was not finished, if `complete` is False."""

    @property
    def conserved(self) -> tuple[Expr, ...]:
        """The conserved momenta."""
        return tuple(s.momentum for s in (*self.found, *self.horizontal) if s.fate is Fate.CONSERVED)

    @property
    def dissipated(self) -> tuple[Expr, ...]:
        """The momenta with dJ/dt = L_s J; the quotient of two of them is conserved."""
        return tuple(s.momentum for s in (*self.found, *self.horizontal) if s.fate is Fate.DISSIPATED)

    @property
    def cyclic(self) -> tuple[Coordinate, ...]:
        """The coordinates of which only derivatives occur in the Lagrangian."""
        lagrangian = self.equations.lagrangian
        present = {z.base for z in jets_in(lagrangian)}
        plain = [q for q in self.equations.system.coordinates if q not in self.equations.system.frame.turning]
        return tuple(q for q in plain if q.base in present and known_zero(lagrangian.diff(q)))

    @property
    def notes(self) -> tuple[str, ...]:
        """The starts for which translations of group coordinates are symmetries, if these are not all starts."""
        named = {name.partition("*") for s in self.found for name, _ in s.field.named}
        moved = {part for first, _, second in named for part in (first, second)}
        limited_to = [g for name, g in self.equations.system.groups.items() if name in moved and not for_every_start(g)]
        return tuple(
            f"translations of {g.name} are symmetries for starts in {g.word}; they may not keep the coset of another start"
            for g in limited_to
        )

    def __iter__(self) -> Iterator[Symmetry]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        system = self.equations.system
        lines = [f"{system.name or 'system'} · {self.equations.principle}"]
        if self.cyclic:
            lines.append(f"  cyclic: {' '.join(q.base for q in self.cyclic)}")
        lines += [f"  {s}" for s in self.found] or ["  no affine symmetry"]
        if self.horizontal:
            lines.append("  combinations that are virtual displacements")
            lines += [f"    {s}" for s in self.horizontal]
        lines += [f"  {note}" for note in self.notes]
        if not self.complete:
            lines.append(f"  fields that change the Lagrangian by a total derivative were not searched for: {self.reason}")
        return "\n".join(lines)


@public
def symmetries(given: Any, seconds: float = _SEARCH_SECONDS, *, combined: bool = True) -> Symmetries:
    """Find affine symmetries of a Lagrangian (translations, rotations, boosts, time translation, ...) and their momenta.

    The fields are `a + B*q + c*t` with rational coefficients, and a constant time component; coefficients that depend on parameters are
    not found. Under the vakonomic principle the multipliers are variables too. The Lagrangian may change by a total derivative, except in
    contact dynamics. With reactions the fields are those that keep the constraints, or are virtual displacements.

    A group coordinate A has translations from both sides: `d/dA1` with the momentum of A1, and `E1*A` (for body velocities), whose momenta
    are the components of the momentum map, conserved if the Lagrangian does not depend on A. `notes` states whether this needs a start in
    the group.

    Args:
        given: A system, a model or equations.
        seconds: The budget for fields that change the Lagrangian by a total derivative, counted in operations.
        combined: Whether to look for combinations of symmetries that are virtual displacements, `horizontal`.

    Returns:
        The symmetries with their momenta and rates.

    >>> from chetaev import System
    >>> print(symmetries(System("x y", "m k", lagrangian="m/2*(x'^2 + y'^2) - k/2*(x^2 + y^2)", name="spring")))
    spring · Hamilton()
      -d/dt:  (k*x^2 + k*y^2 + m*x'^2 + m*y'^2)/2  is conserved
      y*d/dx - x*d/dy:  m*(x'*y - x*y')  is conserved
    """
    equations = given if isinstance(given, Equations) else derive(given)
    require_given_forces(equations.system, "symmetries of")
    return _Search(equations, seconds, combined).result()


class _Search:
    """The symmetries of one set of equations."""

    def __init__(self, equations: Equations, seconds: float, combined: bool) -> None:
        self.equations, self.seconds, self.combined = equations, seconds, combined
        lowered = equations.lowered
        plain = Ansatz((*equations.system.coordinates, *lowered.costates))
        self.ansatz: Ansatz | FrameAnsatz = FrameAnsatz(equations) if equations.system.groups else plain
        self.noether = Noether(equations)
        # typical sizes make the coefficients of order one in any units, such as nanometres; entries of group elements have no units
        rows = [row.residual for row in equations.rows]
        highest = max((z.order for row in rows for z in jets_in(row)), default=0)
        symbols = [TIME, *[q.d(k) for q in self.ansatz.variables for k in range(highest + 2)]]
        self.sizes = ORDINARY if equations.system.groups else natural_sizes(rows, SYMBOLIC, symbols=symbols)
        self.units = np.ones(self.ansatz.size) if equations.system.groups else plain.units(self.sizes)

    def result(self) -> Symmetries:
        restrictions = self._restrictions()
        known: list[list[Fraction]] = []
        found = self._fields([self.ansatz.invariance([self.equations.lagrangian])], restrictions, known, exact=True)
        complete = True
        if self.equations.system.groups:
            why = "in a frame of group coordinates only the invariance of the Lagrangian itself is tested"
            return Symmetries(self.equations, tuple(found), self._horizontal(found), False, why)
        if self.equations.lowered.action is None:
            more: list[Symmetry] = []
            with allowance(self.seconds) as spent:  # second derivatives of long Lagrangians may be huge
                spend(self._second_derivatives() * size(self.equations.lagrangian))
                more = self._fields([self.ansatz.invariance(self._expressions(), weights=True)], restrictions, known, exact=False)
            complete = not spent.expired
            found = [*found, *more]
        return Symmetries(self.equations, tuple(found), self._horizontal(found), complete)

    def _horizontal(self, found: Sequence[Symmetry]) -> tuple[Symmetry, ...]:
        return tuple(self.noether.horizontal(found)) if self.combined else ()

    def _fields(
        self, conditions: Sequence[Condition], restrictions: Sequence[Matrix], known: list[list[Fraction]], exact: bool
    ) -> list[Symmetry]:
        matrix = conditions_at(conditions, sizes=self.sizes)
        found = []
        for restriction in restrictions:
            for vector in rational_null_space(np.vstack([matrix, restriction]), self.units, known):
                symmetry = self.noether.symmetry(self.ansatz.field(vector), exact)
                if symmetry is not None:
                    known.append(vector)
                    found.append(symmetry)
        return found

    def _second_derivatives(self) -> int:
        """The number of second derivatives of the Lagrangian with respect to velocities and coordinates."""
        return 2 * len(self.equations.system.coordinates) ** 2

    def _expressions(self) -> list[Expr]:
        """The Euler-Lagrange expressions of all variables; those of multipliers are minus the constraints."""
        lowered = self.equations.lowered
        expressions = euler_lagrange(calculus_of(lowered, SYMBOLIC), lowered.lagrangian)
        return [*expressions, *[-lowered.lagrangian.diff(m) for m in lowered.costates]]

    def _restrictions(self) -> list[Matrix]:
        """With reactions: the fields that are virtual displacements, then those that keep the constraints."""
        equations = self.equations
        if not equations.lowered.reactions:
            return [np.zeros((0, self.ansatz.size))]
        rows = [row.residual for row in equations.system.kinematic]
        surface = [*rows, *[equations.total(row.residual) for row in equations.system.kinematic if row.order == 0]]
        # the variables include costates, on which no reaction acts
        annihilated = self.ansatz.annihilation([[row.get(z, S.Zero) for z in self.ansatz.variables] for row in equations.variational])
        kept = [self.ansatz.invariance(rows)] if rows else []
        keeping = conditions_at(kept, surface, self.sizes) if kept else np.zeros((0, self.ansatz.size))
        return [conditions_at([annihilated], surface, self.sizes), keeping]
