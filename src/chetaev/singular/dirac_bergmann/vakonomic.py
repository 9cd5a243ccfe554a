r"""The Dirac bracket of vakonomic motion compared with the canonical bracket of its reduced phase space (004, section 3).

For rows $g^\sigma$ affine in the velocities the primary constraints are $p^\sigma = 0$, the secondary ones $\chi^\sigma = -g^\sigma$
written in momenta. The matrix of brackets has the blocks $\{p, p\} = 0$, $\{p, \chi\} = -\partial\chi/\partial\lambda$ and $\{\chi,
\chi\}$; in its inverse the block that belongs to $\chi\chi$ vanishes. Functions of $(q, p)$ commute with $p^\sigma$, so their Dirac
bracket is the canonical one. That needs $\det(\partial\chi/\partial\lambda) = \pm\det(g\,a^{-1}g^T) \ne 0$, which fails for some
indefinite Lagrangians (footnote 3 of the paper is wrong about it).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, Matrix

from chetaev.core.errors import PrincipleError
from chetaev.core.fixes import Ask
from chetaev.core.support.public import public
from chetaev.core.symbols import Multiplier
from chetaev.core.zero import vanishes
from chetaev.mechanics.principles import Vakonomic
from chetaev.singular.dirac_bergmann.analysis import dirac
from chetaev.singular.dirac_bergmann.classes import poisson_bracket
from chetaev.singular.dirac_bergmann.result import Dirac


@public
@dataclass(frozen=True)
class VakonomicBrackets:
    """Both brackets of vakonomic motion on its phase space $(q, p)$, the multipliers there, and the Dirac analysis."""

    analysis: Dirac = field(repr=False)
    multipliers: dict[Multiplier, Expr]
    """The values of the multipliers on the final manifold."""

    @property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """Coordinates with their momenta, without multipliers."""
        return tuple((q, p) for q, p in self.analysis.pairs if not isinstance(q, Multiplier))

    @property
    def chi_block(self) -> Matrix:
        r"""The $\chi\chi$ block of the inverse of the matrix of brackets; it vanishes."""
        r = len(self.multipliers)
        return self.analysis.classes.inverse[r:, r:]

    def canonical(self, f: Any, g: Any) -> Expr:
        """The canonical bracket of two functions of positions, momenta and multipliers that are first restricted to the reduced phase
        space.
        """
        a, b = (self.analysis.read(e).xreplace(self.multipliers) for e in (f, g))
        return poisson_bracket(a, b, self.pairs)

    def dirac(self, f: Any, g: Any) -> Expr:
        """The Dirac bracket of two functions of positions, momenta and multipliers, then restricted to the reduced phase space."""
        value = self.analysis.bracket(f, g, on_manifold=False)
        momenta = {p: p * 0 for q, p in self.analysis.pairs if isinstance(q, Multiplier)}
        return value.xreplace({**self.multipliers, **momenta})

    def agree(self) -> bool | None:
        """Whether the two brackets are the same for all pairs of positions, momenta and multipliers: True, False or None (undecided)."""
        names = [z for pair in self.pairs for z in pair] + list(self.multipliers)
        answers = [vanishes(self.canonical(f, g) - self.dirac(f, g)) for i, f in enumerate(names) for g in names[i + 1 :]]
        return False if False in answers else None if None in answers else True


@public
def vakonomic_brackets(system: Any, *, seconds: float = 30.0) -> VakonomicBrackets:
    """Compute the Dirac bracket and the canonical bracket of vakonomic motion with rows affine in the velocities.

    Args:
        system: A system or a model.
        seconds: The budget of `dirac`.

    Returns:
        The multipliers as functions of positions and momenta, and both brackets.

    Raises:
        PrincipleError: If the multipliers are not functions of positions and momenta, or `dirac` fails.

    >>> from chetaev import System
    >>> reduced = vakonomic_brackets(System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["y' = x*x'"]))
    >>> reduced.agree(), reduced.chi_block
    (True, Matrix([[0]]))
    """
    system = getattr(system, "system", system)
    analysis = dirac(system, Vakonomic(), seconds=seconds)
    multipliers = [q for q in analysis.coordinates if isinstance(q, Multiplier)]
    where = f"reduced_phase_space {system.label}"
    r = len(multipliers)
    closed = analysis.consistent and len(analysis.constraints) == 2 * r and not analysis.first_class
    if not r or not closed:
        raise PrincipleError(
            "the multipliers are not functions of positions and momenta.",
            where=where,
            why="det(g a^-1 g^T) = 0, with a the matrix of second derivatives of L, or rows not affine in the velocities (004, (3.28)).",
            hint=(Ask("dirac", "system, Vakonomic()"), " shows the constraints that arise"),
        )
    return VakonomicBrackets(analysis, _solved(analysis, multipliers, where))


def _solved(analysis: Dirac, multipliers: list[Multiplier], where: str) -> dict[Multiplier, Expr]:
    """The multipliers from the secondary constraints, which are affine in them."""
    rows = Matrix(analysis.secondary)
    matrix = rows.jacobian(Matrix(multipliers))
    if any(z in e.free_symbols for e in matrix for z in multipliers):
        raise PrincipleError(
            "the secondary constraints are not affine in the multipliers.", where=where, hint="rows affine in the velocities"
        )
    rest = rows.xreplace({z: z * 0 for z in multipliers} | {p: p * 0 for q, p in analysis.pairs if isinstance(q, Multiplier)})
    values = -matrix.inv(method="ADJ") * rest
    return dict(zip(multipliers, values, strict=True))
