r"""The reduced phase space of vakonomic motion (004, section 3): positions and momenta alone, with a Hamiltonian.

Velocities and multipliers follow together from $p = \partial(L + \lambda_\sigma g^\sigma)/\partial\dot q$ and $g^\sigma = 0$ where the
bordered matrix

$$ \begin{pmatrix} L_{vv} + \lambda_\sigma g^\sigma_{vv} & g_v^T \\ g_v & 0 \end{pmatrix} $$

is regular. For rows affine in the velocities this means $\det(g\,a^{-1}g^T) \ne 0$; formulas exist, and the motion is that of the
Hamiltonian $H(t, q, p)$, (3.29)-(3.31). For other rows the same equations determine $v$ and $\lambda$ without formulas: they stay in the
target as unknowns without initial values, with the Lagrangian $p_i(\dot q^i - v^i) + L(t, q, v) + \lambda_\sigma g^\sigma(t, q, v)$, whose
rows are $\dot q = v$, $\dot p = L_q + \lambda g_q$, $p = L_v + \lambda g_v$ and $g = 0$, and $H = p v - L$.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Matrix, S

from chetaev.core.errors import PrincipleError, about
from chetaev.core.fixes import Ask, UsePrinciple
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Jet, Multiplier
from chetaev.core.system import fresh_coordinates
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.principles import Hamilton, Vakonomic
from chetaev.mechanics.ranks.generic import RANK_POINTS, generic_rank, points_on
from chetaev.singular.dirac_bergmann.vakonomic import VakonomicBrackets, vakonomic_brackets
from chetaev.transforms.legendre import hamiltonian
from chetaev.transforms.tools.morphism import Morphism, identity_on
from chetaev.transforms.tools.theorem import require_first_order, source_under, theorem


@public
@dataclass(frozen=True, repr=False)
class ReducedPhaseSpace(Morphism):
    """The map from vakonomic motion to its phase space; `expressions["H"]` is the Hamiltonian.

    For rows affine in the velocities `brackets` has the Dirac analysis of the extended Lagrangian, and compares both brackets.
    """

    seconds: float = 30.0
    """The budget of the Dirac analysis, in seconds of counted operations."""

    @property
    def hamiltonian(self) -> Expr:
        """The Hamiltonian."""
        return self.expressions["H"]

    @cached_property
    def brackets(self) -> VakonomicBrackets:
        """The Dirac bracket and the canonical bracket; raises a PrincipleError for rows that are not affine in the velocities."""
        return vakonomic_brackets(self.source.system, seconds=self.seconds)

    @property
    def multipliers(self) -> dict[Multiplier, Expr]:
        """The multipliers as functions on the phase space."""
        return {m: e for m, e in self.to_source.items() if isinstance(m, Multiplier)}

    @property
    def analysis(self) -> Any:
        """The Dirac analysis of the extended Lagrangian."""
        return self.brackets.analysis

    @property
    def pairs(self) -> tuple[tuple[Any, Any], ...]:
        """Coordinates with their momenta."""
        return self.brackets.pairs

    @property
    def chi_block(self) -> Matrix:
        r"""The $\chi\chi$ block of the inverse of the matrix of brackets; it vanishes."""
        return self.brackets.chi_block

    def canonical(self, f: Any, g: Any) -> Expr:
        """The canonical bracket of two functions of positions, momenta and multipliers.

        Args:
            f: A function of positions, momenta and multipliers, as text or as an expression.
            g: Another function.
        """
        return self.brackets.canonical(f, g)

    def dirac(self, f: Any, g: Any) -> Expr:
        """The Dirac bracket of two functions of positions, momenta and multipliers.

        Args:
            f: A function of positions, momenta and multipliers, as text or as an expression.
            g: Another function.
        """
        return self.brackets.dirac(f, g)

    def agree(self) -> bool | None:
        """Whether the two brackets are the same for all pairs: True, False or None (undecided)."""
        return self.brackets.agree()


@public
@theorem()
def reduced_phase_space(given: Any, *, seconds: float = 30.0) -> ReducedPhaseSpace:
    """Write vakonomic motion in positions and momenta.

    Args:
        given: A system or a model, or equations under `Vakonomic()`, with a Lagrangian of first order and nonholonomic rows of first order.
        seconds: The budget of the Dirac analysis, which runs when brackets are first used.

    Returns:
        The map between the motions, with the Hamiltonian `expressions["H"]`. If the rows are not affine, the target also has velocities and
        multipliers as unknowns, which positions and momenta determine.

    Raises:
        PrincipleError: If the bordered matrix is singular, so that the multipliers are not functions of positions and momenta.

    >>> from chetaev import System
    >>> reduced = reduced_phase_space(System("x y", lagrangian="x'^2/2 + y'^2/2", kinematic=["y' = x*x'"], name="slope"))
    >>> sorted(z.name for z in reduced.hamiltonian.free_symbols)
    ['p_x', 'p_y', 'x']
    >>> reduced.agree(), reduced.chi_block
    (True, Matrix([[0]]))
    """
    system = getattr(given, "system", given) if not isinstance(given, Equations) else given
    source = source_under(system, Vakonomic(), "reduced_phase_space")
    where = f"reduced_phase_space {source.system.label}"
    require_first_order(source.lagrangian, where, "The bordered matrix is that of velocities and multipliers.")
    if not source.system.kinematic:
        hint = (Ask("hamiltonian", "system"), ", or rows under ", UsePrinciple(Vakonomic()))
        raise PrincipleError("there is no vakonomic row.", where=about(where, "kinematic"), hint=hint)
    _require_regular(source, where)
    affine = all(row.order == 1 and row.affine for row in source.system.kinematic)
    made = hamiltonian(source) if affine else _implicit(source)
    return ReducedPhaseSpace(**{each.name: getattr(made, each.name) for each in fields(Morphism)}, seconds=seconds)


def _require_regular(source: Equations, where: str) -> None:
    """Raise a PrincipleError if the bordered matrix is singular wherever the rows hold."""
    unknowns: list[Jet] = [*[q.d() for q in source.system.coordinates], *source.multipliers]
    rows = [row.residual for row in source.system.kinematic]
    slopes = [*[source.lagrangian.diff(q.d()) for q in source.system.coordinates], *rows]
    matrix = [[e.diff(z) for z in unknowns] for e in slopes]
    symbols = sorted({z for line in matrix for e in line for z in e.free_symbols}, key=lambda z: z.name)
    points = points_on(rows, symbols, count=RANK_POINTS)
    if generic_rank(matrix, points) < len(unknowns):
        raise PrincipleError(
            "the multipliers are not functions of positions and momenta.",
            where=where,
            why="The bordered matrix of velocities and multipliers is singular; for affine rows det(g a^-1 g^T) = 0 (004, (3.28)).",
            hint=(Ask("dirac", "system, Vakonomic()"), " shows the constraints that arise"),
        )


def _implicit(source: Equations) -> Morphism:
    """The phase space with velocities and multipliers as unknowns that have no formula."""
    system = source.system
    q = list(system.coordinates)
    names = [*[f"p_{z.base}" for z in q], *[f"v_{z.base}" for z in q], *[f"nu{k + 1}" for k in range(len(source.multipliers))]]
    new = fresh_coordinates(system, names)
    p, v, nu = new[: len(q)], new[len(q) : 2 * len(q)], new[2 * len(q) :]
    read: dict[Jet, Expr] = {**{z.d(): w for z, w in zip(q, v, strict=True)}, **dict(zip(source.multipliers, nu, strict=True))}
    whole = source.lagrangian.xreplace(read)
    silent = whole.xreplace(dict.fromkeys(nu, S.Zero))
    target = derive(
        system.replace(
            coordinates={**system.kinds, **{z.base: "line" for z in new}},
            lagrangian=Add(whole, *[b * (z.d() - w) for z, b, w in zip(q, p, v, strict=True)]),
            kinematic=(),
            where={},
            quasi={},
            name=f"{system.name}, phase space".lstrip(", "),
        ),
        Hamilton(),
    )
    shared = identity_on(source, target)
    forward: dict[Jet, Expr] = {**shared, **dict(zip(v, [z.d() for z in q], strict=True))}
    forward |= {b: source.lagrangian.diff(z.d()) for z, b in zip(q, p, strict=True)} | dict(zip(nu, source.multipliers, strict=True))
    energy = Add(*[b * w for b, w in zip(p, v, strict=True)]) - silent
    return Morphism(
        source,
        target,
        Frozen(forward),
        Frozen({**shared, **dict(zip(source.multipliers, nu, strict=True))}),
        "the phase space of vakonomic motion, with velocities and multipliers from p = L_v + lambda g_v and g = 0 (004, section 3.3)",
        notes=(f"{' '.join(z.base for z in (*v, *nu))} follow from positions and momenta, where the bordered matrix is regular.",),
        expressions=Frozen({"H": energy}),
    )
