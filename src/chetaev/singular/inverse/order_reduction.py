r"""Order reduction: the Lagrangian of lowest order that is equivalent to a given one.

Two Lagrangians are equivalent if their Euler-Lagrange expressions agree, that is, if they differ by a total derivative. A Lagrangian of
order $r$ can be lowered exactly if it is affine in the highest derivatives with closed coefficients,

$$ L = a + b_\nu q_r^\nu, \qquad \frac{\partial b_\nu}{\partial q_{r-1}^\sigma} = \frac{\partial b_\sigma}{\partial q_{r-1}^\nu}, $$

and then $L - Df$ with $\partial f/\partial q_{r-1}^\nu = b_\nu$ has order $r - 1$. Repeated, this ends at $s/2$ or $(s+1)/2$, where $s$
is the order of the equations (Corollary 8.13 of Krupková). Momenta and Hamiltonian of the result are those of the form, (8.15).

Regularity is a property of the whole class (8.9, 8.10): $\det(\partial E_\sigma/\partial q_s^\nu) \ne 0$ with the true order $s$. So
$L = p\,q' - H(q, p)$ is regular although $\partial^2 L/\partial q'\partial q' = 0$.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, S

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import ModelError
from chetaev.core.fixes import InPython, SetArgument
from chetaev.core.notation import show
from chetaev.core.support.budget import allowance
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Jet
from chetaev.core.zero import known_zero, vanishes
from chetaev.mechanics.ranks.generic import RANK_POINTS, generic_rank, points_on
from chetaev.singular.inverse.helmholtz import Source, Variationality, helmholtz, lagrangian_of, read_source
from chetaev.singular.inverse.lagrangians import minimal_lagrangian, reproduces
from chetaev.singular.inverse.lepage_equivalent import LepageanEquivalent, Momenta, lepagean_equivalent
from chetaev.singular.inverse.primitives import antiderivative, potential
from chetaev.singular.inverse.variation import highest_order, jets_of, tidy, without_jets

_LARGEST_DETERMINANT = 4
"""Largest number of coordinates for which a determinant is formed; for more, the rank at random points decides."""


@dataclass(frozen=True)
class LagrangianRegularity:
    r"""Regularity in Krupková's sense, with the evidence: the true order s and $B = (\partial E_\sigma/\partial q_s^\nu)$.

    `rank` is that of B at random points; `determinant` is given for small systems. For variational forms $|\det 2F| = |\det B|^s$, so the
    Lepagean 2-form has full rank exactly if B has full rank.
    """

    regular: bool | None
    order: int
    leading: sympy.ImmutableMatrix
    rank: int
    determinant: Expr | None

    def __bool__(self) -> bool:
        return self.regular is True

    def __str__(self) -> str:
        word = {True: "regular", False: "not regular", None: "undecided whether regular"}[self.regular]
        size = self.leading.rows
        evidence = f"rank {self.rank} of {size}" if self.determinant is None else f"det B = {show(self.determinant)}"
        return f"{word}: equations of order {self.order}, {evidence}"


@public
@dataclass(frozen=True)
class MinimalOrder:
    """The answer of `reduce_order`.

    `removed` is the function f with $L_{given} - L_{min} = Df$ (None if a form without Lagrangian was given). `minimal` states whether the
    order is the lowest possible one, `verified` whether both Lagrangians are proved (True), or only verified at random points (None), to
    have the same Euler-Lagrange expressions.
    """

    equivalent: LepageanEquivalent
    equations_order: int
    removed: Expr | None
    verified: bool | None
    regularity: LagrangianRegularity
    standard_regular: bool | None
    r"""The usual definition: $\det(\partial^2 L/\partial q_r\partial q_r) \ne 0$ for the minimal Lagrangian."""

    @property
    def order(self) -> int:
        """The order of the Lagrangian."""
        return self.equivalent.order

    @property
    def lagrangian(self) -> Expr:
        """The Lagrangian of this order."""
        return self.equivalent.lagrangian

    @property
    def momenta(self) -> Momenta:
        """The momenta (8.15) by their conjugate jets."""
        return self.equivalent.momenta

    @property
    def hamiltonian(self) -> Expr:
        """The Hamiltonian (8.15)."""
        return self.equivalent.hamiltonian

    @property
    def minimal(self) -> bool:
        """Whether no equivalent Lagrangian has a lower order."""
        return self.order == (self.equations_order + 1) // 2

    def __str__(self) -> str:
        lines = [f"order {self.order}" + ("" if self.minimal else "  (not proved minimal)"), str(self.equivalent), f"  {self.regularity}"]
        return "\n".join(lines)


@public
def reduce_order(system: Any, *, seconds: float = 20.0) -> MinimalOrder:
    """Find an equivalent Lagrangian of lowest order.

    Args:
        system: A system, a model, equations, a variational form, or the answer of `helmholtz`.
        seconds: The budget, counted in operations, so that the answer does not depend on the machine.

    Returns:
        The Lagrangian with its momenta, its Hamiltonian and its regularity.

    Raises:
        ModelError: If the rows are not variational, or no Lagrangian was found within the budget.

    >>> from chetaev.core.system import System
    >>> print(reduce_order(System("q", lagrangian="-q*q''/2 - q^2/2")))
    order 1
    L = q'^2/2 - q^2/2
      p(q) = q'
      H = q^2/2 + q'^2/2
      regular: equations of order 2, det B = -1
    """
    source = _source(system, seconds)
    with deep():
        found = _lowest(source, seconds)
        if found is None:
            raise ModelError(
                "no Lagrangian was found in closed form.",
                where=f"reduce_order {source.label}",
                why="The form violates no known identity, but the budget did not suffice for the integrals.",
                hint=SetArgument("seconds", ..., "reduce_order"),
            )
        lagrangian, removed = found
        equivalent = lepagean_equivalent(lagrangian, source.coordinates)
        rows = _effective(source.rows, source.coordinates)
        return MinimalOrder(
            equivalent,
            highest_order(rows, source.coordinates),
            removed,
            reproduces(lagrangian, source.coordinates, source.rows),
            regularity_of(source.coordinates, rows),
            _standard(lagrangian, source.coordinates, equivalent.order),
        )


def lowered(lagrangian: Expr, coordinates: Sequence[Jet]) -> tuple[Expr, Expr]:
    """A Lagrangian with its order reduced as far as the integrals are found, and the function whose total derivative was subtracted."""
    lagrangian, removed = tidy(lagrangian), S.Zero
    while (order := highest_order([lagrangian], coordinates)) > 0:
        top = [q.d(order) for q in coordinates]
        if all(known_zero(lagrangian.diff(z)) for z in top):
            lagrangian = without_jets(lagrangian, top)
            continue
        f = _boundary_term(lagrangian, coordinates, order)
        if f is None:
            break
        removed += f
        lagrangian = without_jets(tidy(lagrangian - total_derivative(f)), top)
    if lagrangian != 0 and not jets_of(lagrangian, coordinates):
        of_time = antiderivative(lagrangian, TIME)
        if of_time is not None:
            lagrangian, removed = S.Zero, removed + of_time
    return lagrangian, removed


def regularity_of(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> LagrangianRegularity:
    """Regularity of a variational form whose rows contain no derivative that cancels."""
    order = highest_order(rows, coordinates)
    top = [q.d(order) for q in coordinates]
    leading = [[tidy(row.diff(z)) for z in top] for row in rows]
    symbols = sorted(set().union(*[b.free_symbols for row in leading for b in row]), key=lambda z: z.name)
    points = points_on([], symbols, count=RANK_POINTS)
    generic = generic_rank(leading, points)
    matrix = sympy.ImmutableMatrix(leading)
    if len(coordinates) > _LARGEST_DETERMINANT:
        return LagrangianRegularity(generic == len(coordinates), order, matrix, generic, None)
    determinant = tidy(matrix.det(method="berkowitz"))
    zero = vanishes(determinant)
    return LagrangianRegularity(None if zero is None else not zero, order, matrix, generic, S.Zero if zero else determinant)


def _source(given: Any, seconds: float) -> Source:
    if isinstance(given, Variationality):
        if given.variational is False:
            raise _not_variational("form")
        return Source(given.coordinates, given.rows, "form", given.lagrangian)
    source = read_source(given, "reduce_order")
    if source.lagrangian is None:
        verdict = helmholtz(given, seconds=seconds)
        if verdict.variational is False:
            raise _not_variational(source.label)
    return source


def _not_variational(label: str) -> ModelError:
    return ModelError(
        "the rows are not variational.",
        where=f"reduce_order {label}",
        why="No Lagrangian of any order has these Euler-Lagrange expressions.",
        hint=(InPython("helmholtz(...).violations"), " lists the identities that fail"),
    )


def _lowest(source: Source, seconds: float) -> tuple[Expr, Expr | None] | None:
    """The minimal Lagrangian: from a given one by total derivatives, otherwise (also if an integral is not found) from the rows."""
    found: tuple[Expr, Expr | None] | None = None
    with allowance(seconds):  # beyond the budget the best Lagrangian so far is returned
        if source.lagrangian is not None:
            found = lowered(source.lagrangian, source.coordinates)
            rows = _effective(source.rows, source.coordinates)
            if highest_order([found[0]], source.coordinates) == (highest_order(rows, source.coordinates) + 1) // 2:
                return found
        direct = minimal_lagrangian(source.coordinates, source.rows)
        if direct is not None:
            return direct.lagrangian, None
        if found is None:
            any_order = lagrangian_of(source.coordinates, source.rows)
            found = None if any_order is None else (lowered(any_order.lagrangian, source.coordinates)[0], None)
    return found


def _boundary_term(lagrangian: Expr, coordinates: Sequence[Jet], order: int) -> Expr | None:
    r"""The function f with $\partial f/\partial q_{r-1} = b$ if the Lagrangian is affine in $q_r$ with closed coefficients b; else None."""
    top, below = [q.d(order) for q in coordinates], [q.d(order - 1) for q in coordinates]
    b = [tidy(lagrangian.diff(z)) for z in top]
    if not all(known_zero(c.diff(z)) for c in b for z in top):
        return None
    b = [without_jets(c, top) for c in b]
    n = len(b)
    if not all(known_zero(b[i].diff(below[j]) - b[j].diff(below[i])) for i in range(n) for j in range(i)):
        return None
    return potential(b, below)


def _effective(rows: Sequence[Expr], coordinates: Sequence[Jet]) -> list[Expr]:
    """The rows without derivatives that occur but cancel, so that their order is the true order."""
    rows = [tidy(row) for row in rows]
    while (order := highest_order(rows, coordinates)) > 0:
        top = [q.d(order) for q in coordinates]
        if not all(known_zero(row.diff(z)) for row in rows for z in top):
            break
        rows = [without_jets(row, top) for row in rows]
    return rows


def _standard(lagrangian: Expr, coordinates: Sequence[Jet], order: int) -> bool | None:
    top = [q.d(order) for q in coordinates]
    hessian = [[tidy(lagrangian.diff(a).diff(b)) for a in top] for b in top]
    if len(top) > _LARGEST_DETERMINANT:
        symbols = sorted(set().union(*[h.free_symbols for row in hessian for h in row]), key=lambda z: z.name)
        return generic_rank(hessian, points_on([], symbols, count=RANK_POINTS)) == len(top)
    zero = vanishes(sympy.Matrix(hessian).det(method="berkowitz"))
    return None if zero is None else not zero
