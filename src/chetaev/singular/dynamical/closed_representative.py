r"""Lagrangian constrained systems (003, Theorem 11.4): a closed representative of $[\alpha_{\mathcal Q}]$, found or refuted.

A representative is $\alpha_{\mathcal Q}$ plus a constraint 2-form plus a 2-contact form. If the dynamical form is variational, its
Lepagean equivalent pulled back to $\mathcal Q$ is closed (corollary 11.5). For equations of second order and rows $y^a{}' = g^a(t, q, v)$
that are affine in the velocities a closed one is locally $d\theta$ with

$$ \theta = \bar L\,dt + \frac{\partial\bar L}{\partial v^l}\,\omega^l + L_a\,\varphi^a, \qquad
   B' = -\bar L_{vv}, \qquad A'_l = \partial^c_l \bar L - \hat d_c\,\bar L_{v^l} - L_a\,c^a_l, $$

where $\partial^c_l = \partial_l + g^a_{v^l}\partial_a$, $\hat d_c$ is the derivative along the constraint without accelerations, and
$c^a_l = \partial^c_l g^a - \hat d_c\, g^a_{v^l}$ is the curvature of the constraint. So $B'$ and its slopes must be symmetric, $\bar L$ is
unique up to $a_l v^l + b$ with functions of $(t, q)$, and linear equations for $L_a$, $a_l$ and $b$ remain. They are tried with polynomials
$a$, $b$; necessary conditions without unknowns can refute a representative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from typing import TYPE_CHECKING

import sympy
from sympy import Add, Dummy, Expr, Matrix, Mul, S, Symbol

from chetaev.core.support.budget import limited
from chetaev.core.symbols import TIME
from chetaev.core.zero import vanishes
from chetaev.singular.dynamical.constraint_dynamics import representative
from chetaev.singular.forms.contact import contact_form
from chetaev.singular.forms.exterior import Form, all_of, d, is_zero

if TYPE_CHECKING:
    from chetaev.singular.dynamical.constrained_system import ConstrainedSystem

_DEGREE = 2
"""Degree of the polynomials $a$ and $b$ in time and positions that are tried."""
_SEARCH_SECONDS = 10.0
"""Budget, in seconds of counted operations, of the search for a representative."""


@dataclass(frozen=True)
class LagrangianConstraint:
    """Whether a constrained system is Lagrangian, with a closed representative or the reason why there is none."""

    lagrangian: bool | None
    """True, False, or None for undecided."""
    representative: Form | None
    """A closed 2-form of the class, on the variables of the constraint; None if there is none or only its existence is known."""
    function: Expr | None
    r"""$\\bar L$ on the constraint, if it was constructed."""
    reactions: tuple[Expr, ...]
    """The functions $L_a$, one for each row of the constraint."""
    reason: str
    """The theorem or the condition that decides."""

    def __str__(self) -> str:
        word = {True: "Lagrangian", False: "not Lagrangian", None: "undecided"}[self.lagrangian]
        return f"{word}: {self.reason}" + ("" if self.representative is None else f"\n  closed representative {self.representative}")


def closed_representative(system: ConstrainedSystem) -> LagrangianConstraint:
    """Find a closed representative of a constrained system, or a reason why there is none.

    Args:
        system: A constrained system.

    Returns:
        The answer with its reason.
    """
    if system.form.lepage.closed:
        found = representative(system) if system.case != "above" else system.form.lepage.two_form
        if system.structure.solved is None or is_zero(d(found)):
            return LagrangianConstraint(True, found, None, (), "the form without the constraint is Lagrangian (corollary 11.5)")
    if system.form.order != 2 or system.case != "equal" or system.structure.solved is None:
        reason = "only corollary 11.5 is tried, unless equations of second order have rows that are solved for velocities"
        return LagrangianConstraint(None, None, None, (), reason)
    answer = limited(_decided, system, seconds=_SEARCH_SECONDS, small=False)
    return answer.value if answer.value is not None else LagrangianConstraint(None, None, None, (), f"{answer.reason}")


def _decided(system: ConstrainedSystem) -> LagrangianConstraint:
    return _Search(system).answer()


class _Search:
    """The conditions of the module on one system."""

    def __init__(self, system: ConstrainedSystem) -> None:
        structure, solved = system.structure, system.structure.solved or {}
        self.system, self.A, self.B = system, system.A, system.B
        self.free = system.independent
        self.speeds = [q.d() for q in self.free]
        self.bound = [structure.coordinates[i] for i in structure.dependent]
        self.g = [solved[q.d()] for q in self.bound]
        self.slopes = Matrix([[g.diff(v) for v in self.speeds] for g in self.g])
        curvature = [[self.across(g, k) - self.along(g.diff(v)) for k, v in enumerate(self.speeds)] for g in self.g]
        self.curvature = Matrix(curvature)  # c[a, l]

    def across(self, f: Expr, k: int) -> Expr:
        r"""$\partial^c_l f$."""
        return Add(f.diff(self.free[k]), *[self.slopes[a, k] * f.diff(q) for a, q in enumerate(self.bound)])

    def along(self, f: Expr) -> Expr:
        r"""$\hat d_c f$: the derivative along the constraint without accelerations."""
        terms = [v * f.diff(q) for q, v in zip(self.free, self.speeds, strict=True)]
        return Add(f.diff(TIME), *terms, *[g * f.diff(q) for q, g in zip(self.bound, self.g, strict=True)])

    def varied(self, f: Expr) -> Matrix:
        r"""$\partial^c_l f - \hat d_c f_{v^l}$."""
        return Matrix([self.across(f, k) - self.along(f.diff(v)) for k, v in enumerate(self.speeds)])

    def answer(self) -> LagrangianConstraint:
        n = len(self.free)
        symmetric = all_of(vanishes(self.B[k, j] - self.B[j, k]) for k, j in combinations(range(n), 2))
        if symmetric is not True:
            return _said(symmetric, "B' is not symmetric, and a closed form has -L_vv there")
        if all_of(vanishes(g.diff(v, w)) for g in self.g for v, w in combinations_with_replacement(self.speeds, 2)) is not True:
            return _said(None, "the constraint is not affine in the velocities")
        slopes = [self.B[k, j].diff(self.speeds[i]) - self.B[k, i].diff(self.speeds[j]) for k, j, i in product(range(n), repeat=3)]
        cyclic = all_of(map(vanishes, slopes))
        if cyclic is not True:
            return _said(cyclic, "the slopes of B' in the velocities are not symmetric, and a closed form has -L_vvv there")
        kinetic = self._kinetic()
        if kinetic is None:
            return _said(None, "-B' was not integrated over the velocities")
        rest = (self.A - self.varied(kinetic)).applyfunc(sympy.expand)
        refuted = self._refuted(rest)
        if refuted:
            return _said(False, refuted)
        return self._found(kinetic, rest)

    def _kinetic(self) -> Expr | None:
        r"""$\bar L$ with $\bar L_{vv} = -B'$, by the homotopy $-v^l v^p \int_0^1 (1 - \tau) B'_{lp}(\tau v)\,d\tau$."""
        tau = Dummy("tau", positive=True)
        scaled = {v: tau * v for v in self.speeds}
        total = S.Zero
        for (k, v), (j, w) in product(enumerate(self.speeds), repeat=2):
            inside = self.B[k, j]
            if any(z in inside.free_symbols for z in self.speeds):
                part = sympy.integrate(sympy.expand((1 - tau) * inside.xreplace(scaled)), (tau, 0, 1))
                if part.has(sympy.Integral):
                    return None
            else:
                part = inside / 2
            total -= v * w * part
        proved = all(vanishes(total.diff(v, w) + self.B[k, j]) for (k, v), (j, w) in product(enumerate(self.speeds), repeat=2))
        return total if proved else None

    def _refuted(self, rest: Matrix) -> str:
        """A necessary condition that fails, in words; empty if none does."""
        straight = [vanishes(e) for e in self.curvature]
        pairs = list(combinations_with_replacement(self.speeds, 2))
        if all(answer is True for answer in straight):  # the constraint is integrable: Helmholtz' conditions on its leaves
            if any(vanishes(e.diff(v, w)) is False for e in rest for v, w in pairs):
                return "on the leaves of the constraint the terms without L_vv are not affine in the velocities"
            F = Matrix([[e.diff(v) for v in self.speeds] for e in rest])
            free = dict.fromkeys(self.speeds, S.Zero)
            if any(vanishes(F[k, j] + F[j, k]) is False for k, j in combinations_with_replacement(range(len(self.free)), 2)):
                return "on the leaves of the constraint the terms without L_vv have a symmetric part, friction"
            force = [e.xreplace(free) for e in rest]
            still = [self.along(F[k, j]).xreplace(free) for k, j in combinations(range(len(self.free)), 2)]
            closed = [
                rate + self.across(force[j], k) - self.across(force[k], j)
                for rate, (k, j) in zip(still, combinations(range(len(self.free)), 2), strict=True)
            ]
            closed += [
                self.across(F[j, i], k) + self.across(F[i, k], j) + self.across(F[k, j], i)
                for k, j, i in combinations(range(len(self.free)), 3)
            ]
            return "on the leaves of the constraint the forces are not closed" if any(vanishes(e) is False for e in closed) else ""
        idle = all(vanishes(Add(*map(Mul, row, self.speeds))) for row in self.curvature.tolist())
        power = Add(*map(Mul, rest, self.speeds))
        if idle and any(vanishes(power.diff(v, w)) is False for v, w in pairs):
            return "the power of the terms without L_vv is not affine in the velocities, and reactions have no power"
        return ""

    def _found(self, kinetic: Expr, rest: Matrix) -> LagrangianConstraint:
        """The Lagrangian with polynomials of low degree for the part that is affine in the velocities."""
        null = self.curvature.nullspace() if self.curvature.rows else []
        directions = [list(v) for v in null] if self.curvature.rows else []
        added = self._affine_part(rest, directions)
        if added is None:
            integrable = all(vanishes(e) for e in self.curvature)
            if integrable:
                return LagrangianConstraint(True, None, None, (), "Helmholtz' conditions hold on the leaves of the integrable constraint")
            return _said(None, f"no representative with polynomials of degree {_DEGREE} in t and q was found, and no condition refutes one")
        left = (rest - self.varied(added)).applyfunc(sympy.expand)
        reactions = self._reactions(left)
        if reactions is None:
            return _said(None, "the equations for the functions L_a were not solved")
        function = kinetic + added
        theta = function * d(TIME)
        for q, v in zip(self.free, self.speeds, strict=True):
            theta = theta + function.diff(v) * contact_form(q)
        for value, form in zip(reactions, self.system.structure.canonical_forms, strict=True):
            theta = theta + value * form
        return LagrangianConstraint(True, d(theta), function, reactions, "the closed representative is dθ for an L on the constraint")

    def _affine_part(self, rest: Matrix, directions: Sequence[Sequence[Expr]]) -> Expr | None:
        """$a_l v^l + b$ with which the rest vanishes in all directions that the curvature annihilates; None if none was found."""
        variables = [TIME, *self.free, *self.bound]
        monomials = [Mul(*c) for k in range(_DEGREE + 1) for c in combinations_with_replacement(variables, k)]
        unknowns = [[Dummy(f"c{k}_{j}") for j in range(len(monomials))] for k in range(len(self.free) + 1)]
        factors: list[Expr] = [*self.speeds, S.One]
        ansatz = Add(*[c * m * f for line, f in zip(unknowns, factors, strict=True) for c, m in zip(line, monomials, strict=True)])
        left = rest - self.varied(ansatz)
        flat = [c for line in unknowns for c in line]
        conditions = [Add(*map(Mul, w, left)) for w in directions]
        solved = _coefficients(conditions, flat, [*variables, *self.speeds])
        return None if solved is None else ansatz.xreplace(solved).xreplace(dict.fromkeys(flat, S.Zero))

    def _reactions(self, left: Matrix) -> tuple[Expr, ...] | None:
        """$L_a$ with $left_l + L_a c^a_l = 0$."""
        unknowns = [Dummy(f"L{k}") for k in range(len(self.g))]
        rows = [Add(left[k], *[u * self.curvature[a, k] for a, u in enumerate(unknowns)]) for k in range(len(self.free))]
        rows = [e for e in rows if vanishes(e) is not True]
        found = sympy.linsolve(rows, unknowns) if rows else {tuple([S.Zero] * len(unknowns))}
        for values in found:
            chosen = [sympy.cancel(e.xreplace(dict.fromkeys(unknowns, S.Zero))) for e in values]
            check = [Add(left[k], *[u * self.curvature[a, k] for a, u in enumerate(chosen)]) for k in range(len(self.free))]
            if all(vanishes(e) for e in check):
                return tuple(chosen)
        return None


def _coefficients(conditions: Sequence[Expr], unknowns: Sequence[Symbol], variables: Sequence[Symbol]) -> dict[Symbol, Expr] | None:
    """Values of the unknown coefficients with which the conditions vanish identically in the variables."""
    equations: list[Expr] = []
    for condition in conditions:
        numerator = sympy.fraction(sympy.together(sympy.expand(condition)))[0]
        moving = [z for z in numerator.atoms(sympy.Function, sympy.Symbol) if z not in unknowns and _moves(z, variables)]
        if moving:
            equations += sympy.Poly(sympy.expand(numerator), *moving).coeffs()
        else:
            equations.append(numerator)
    equations = [e for e in equations if e != 0]
    if not equations:
        return {}
    found = list(sympy.linsolve(equations, list(unknowns)))
    return dict(zip(unknowns, found[0], strict=True)) if found else None


def _moves(z: Expr, variables: Sequence[Symbol]) -> bool:
    return any(v in z.free_symbols for v in variables)


def _said(answer: bool | None, reason: str) -> LagrangianConstraint:
    return LagrangianConstraint(None if answer is None else False, None, None, (), reason)
