r"""Noether's theorem: the momentum of a field that leaves a Lagrangian unchanged, and its rate on every motion.

For a field $X = \tau\,\partial_t + \xi^i\,\partial_{q^i}$ with $\mathrm{pr}\,X(L) = D G$ the momentum
$J = \sum_k p_i^{(k)} D^k\xi^i - \tau E - G$ changes by
$$ \dot J = L_s\, J + (\xi^i - \tau\dot q^i)\,\bigl(u_i - \partial F/\partial\dot q^i + \lambda_a R_V^a{}_i\bigr) . $$
It is conserved if no force does work along the field and the field is a virtual displacement; in contact dynamics it is dissipated,
$\dot J = L_s J$. Otherwise its rate is given. Where no symmetry is a virtual displacement, a combination $f^b(q) X_b$ of several may be
one; then $\dot J = (D f^b) J_b$ without multipliers, the nonholonomic momentum equation (A. M. Bloch, P. S.
Krishnaprasad, J. E. Marsden, R. M. Murray, Arch. Rational Mech. Anal. 136 (1996) 21-99).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import sympy
from sympy import Add, Expr, S, Symbol

from chetaev.core.functions import corners_in
from chetaev.core.notation import show
from chetaev.core.support.budget import limited, size
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME, Coordinate, Input, Jet, jets_in, order_in
from chetaev.core.zero import known_zero, vanishes
from chetaev.mechanics.assemble import right_hand_side
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.ranks.exact import exactly_zero
from chetaev.mechanics.ranks.generic import SCALED_POINTS, Points, points_on, zero_on
from chetaev.transforms.tools.affine_fields import Field
from chetaev.transforms.tools.momenta import energy, momenta
from chetaev.transforms.tools.nullspace import null_basis, solution, tidy

_LONG = 300
"""Operations in an expression above which it is not expanded to find a shorter form, because that takes seconds."""
_GAUGE_SECONDS = 3.0
"""Budget, in seconds of counted operations, for SymPy to integrate the function G; if it is exceeded the field is not reported."""
_LARGEST_IN_PLACE = 300
"""Size, in nodes, of polynomials that are integrated in this process, within some tenths of a second."""


class Fate(StrEnum):
    """The behaviour of a momentum along motions."""

    CONSERVED = "conserved"
    DISSIPATED = "dissipated"
    CHANGES = "changes"


@public
@dataclass(frozen=True)
class Symmetry:
    """A field that leaves the Lagrangian unchanged, with its momentum."""

    field: Field
    """The field."""
    momentum: Expr
    """The momentum of the field."""
    rate: Expr
    """The rate of the momentum on every motion: 0 if it is conserved, `L_s J` if it is dissipated."""
    fate: Fate
    """Whether the momentum is conserved, dissipated, or changes otherwise."""
    gauge: Expr = S.Zero
    """G, if the Lagrangian changes by the total derivative of G."""
    proved: bool = True
    """Whether the rate is proved; otherwise it was verified at random points."""

    def __str__(self) -> str:
        words = {Fate.CONSERVED: "is conserved", Fate.DISSIPATED: "is dissipated", Fate.CHANGES: "changes"}
        rate = "" if self.fate is Fate.CONSERVED else f" at the rate {show(self.rate)}"
        doubt = "" if self.proved else "  (at all points tried; not proved)"
        return f"{shown_field(self.field)}:  {show(self.momentum)}  {words[self.fate]}{rate}{doubt}"


class _Generator(NamedTuple):
    """A field with its momentum, and the rate of the momentum without forces and reactions."""

    field: Field
    momentum: Expr
    rate: Expr


class Noether:
    """Momenta of fields and their rates, on the motions of one set of equations."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        system, action = equations.system, equations.lowered.action
        self.coordinates = system.coordinates
        self.damping = S.Zero if action is None else equations.lagrangian.diff(action)
        silent = dict.fromkeys(equations.multipliers, S.Zero)
        self.forces = {q: right_hand_side(equations.lowered, q).xreplace(silent) for q in system.coordinates}
        self.points = _states(equations) if equations.lowered.reactions else Points()

    def symmetry(self, field: Field, exact: bool) -> Symmetry | None:
        """The momentum of a field and its rate; None if the field is not proved to be a symmetry, or G is not found."""
        equations = self.equations
        if field.time != 0 and not field.components:
            field = Field((), S.NegativeOne)  # so that the momentum is the energy and not its negative
        change = field.applied(equations.lagrangian, equations.total)
        gauge: Expr | None = S.Zero
        if not known_zero(change):
            gauge = None if exact else self._potential(change)
        if gauge is None:
            return None
        return self._classified(field, self._momentum(field) - gauge, S.Zero, gauge)

    def horizontal(self, found: Sequence[Symmetry]) -> list[Symmetry]:
        """Combinations of symmetries, with coefficients that depend on the position, that are virtual displacements."""
        usable = self._generators(found)
        rows = self.equations.variational
        if not rows or not usable:
            return []
        work = [[Add(*[c * s.field.characteristic(q) for q, c in row.items()]) for s in usable] for row in rows]
        combined = []
        for weights in null_basis(work, len(usable), self.points):
            pairs = list(zip(weights, usable, strict=True))
            known = all(f.is_number for f in weights) and all(s.rate == 0 for f, s in pairs if f != 0)
            if known or any(z.order for f in weights for z in jets_in(f)):
                continue
            momentum = Add(*[f * s.momentum for f, s in pairs])
            moved = Add(*[self.equations.total(f) * s.momentum + f * s.rate for f, s in pairs])
            components = [(q, tidy(Add(*[f * s.field.characteristic(q) for f, s in pairs]))) for q in self.coordinates]
            field = Field(tuple((q, e) for q, e in components if e != 0))
            if not any(known_zero(momentum - s.momentum) for s in found):
                combined.append(self._classified(field, momentum, moved, S.Zero))
        return [s for s in combined if s.field.components]

    def _generators(self, found: Sequence[Symmetry]) -> list[_Generator]:
        r"""The symmetries that may be combined, with momenta and their rates without forces and reactions.

        If all translations of a group coordinate are symmetries, they are combined to the fields of its frame, whose momenta satisfy
        $\dot p_a = C^c_{ba}\,\xi^b p_c$; the coefficients of the combinations are then constant if the constraints are invariant.
        """
        usable = [s for s in found if s.fate is Fate.CHANGES and s.field.time == 0 and s.gauge == 0]
        frame, whole = self.equations.system.frame, []
        first_order = order_in(self.equations.lagrangian, Coordinate) <= 1
        for group in self.equations.system.groups.values():
            translated = [s for s in found if s.field.named and {q for q, _ in s.field.components} <= set(group.components)]
            if first_order and not group.reduced and len(translated) == group.group.dimension:
                usable = [s for s in usable if s not in translated]
                whole += list(group.components)
        generators = [_Generator(s.field, s.momentum, S.Zero) for s in usable]
        p = {q: momenta(self.equations, q)[0] if momenta(self.equations, q) else S.Zero for q in whole}
        for q in whole:
            a = frame.turning[q]
            numbers = {frame.turning[z]: z for z in whole}
            terms = [value * frame.velocities[b] * p[numbers[c]] for b in numbers for c, value in frame.bracket(b, a).items()]
            generators.append(_Generator(Field(((q, S.One),)), p[q], Add(*terms)))
        return generators

    def _momentum(self, field: Field) -> Expr:
        r"""$\sum_k p_i^{(k)} D^k\xi^i - \tau E$."""
        speeds = dict(field.speeds)
        terms = [
            p * (xi if k == 0 else self.equations.total(speeds[q], k - 1) if q in speeds else self.equations.total(xi, k))
            for q, xi in self._moved(field)
            for k, p in enumerate(momenta(self.equations, q))
        ]
        return Add(*terms) - (field.time * energy(self.equations) if field.time != 0 else 0)

    @staticmethod
    def _moved(field: Field) -> list[tuple[Coordinate, Expr]]:
        """The displacements of coordinates, including zero displacements with which a velocity on a group changes."""
        known = dict(field.components)
        both = dict.fromkeys([*known, *dict(field.speeds)])
        return [(q, known.get(q, S.Zero)) for q in both if isinstance(q, Coordinate)]

    def _classified(self, field: Field, momentum: Expr, moved: Expr, gauge: Expr) -> Symmetry:
        """The symmetry with its rate and classification; `moved` is the part of the rate from coefficients that depend on the position."""
        parts = [Add(moved, *[field.characteristic(q) * self.forces[q] for q in self.coordinates])]
        for m, row in self.equations.lowered.reactions.items():
            parts.append(m * Add(*[c * field.characteristic(q) for q, c in row.items()]))
        idle = [self._vanishes_on_motions(part) for part in parts]
        work = Add(*[part for part, nothing in zip(parts, idle, strict=True) if nothing is False])
        proved = self._is_identity(field, momentum, Add(*parts)) and None not in idle
        rate = self.damping * momentum + work
        fate = Fate.CHANGES if work != 0 else Fate.CONSERVED if known_zero(rate) else Fate.DISSIPATED
        return Symmetry(field, _short(momentum), S.Zero if fate is Fate.CONSERVED else _short(rate), fate, gauge, proved)

    def _is_identity(self, field: Field, momentum: Expr, work: Expr) -> bool:
        """Whether the rows of motion imply the claimed rate of the momentum identically."""
        equations = self.equations
        rows = {row.label: row.residual for row in equations.rows}
        varied = equations.variations
        shown = [field.characteristic(q) * varied[q.base] for q in self.coordinates if q.base in varied]
        components = dict(field.components)
        for k, m in equations.lowered.varied_rows.items():
            shift = field.time * (m.d() - self.damping * m) - components.get(m, S.Zero)
            shown.append(shift * rows[equations.system.kinematic_labels[k]])
        left = equations.total(momentum) - self.damping * momentum - work - Add(*shown)
        # components of A^-1 E A use relations of the group, which entries of a general invertible matrix do not satisfy
        return vanishes(left) is True or (bool(field.named) and known_zero(field.applied(equations.lagrangian, equations.total)))

    def _vanishes_on_motions(self, e: Expr) -> bool | None:
        """True: proved zero where the constraints hold. False: not zero there. None: zero at all points tried."""
        answer = vanishes(e)
        if answer is True or not self.points:
            return answer
        exact = exactly_zero([e], self.points.rows)
        if exact is not None:
            return exact[0]
        if zero_on([sympy.expand(e)], [*self.points])[0] is False:  # values are compared with the terms of the expanded sum
            return False
        return True if vanishes(e.xreplace(self._admissible())) is True else None

    def _admissible(self) -> dict[Jet, Expr]:
        """The admissible velocities in free symbols; empty if the constraints are not linear."""
        system = self.equations.system
        if any(row.kind not in ("linear", "affine") for row in system.kinematic):
            return {}
        slopes = [[row.residual.diff(v) for v in system.velocities] for row in system.kinematic]
        still = dict.fromkeys(system.velocities, S.Zero)
        drift = solution(slopes, [-row.residual.xreplace(still) for row in system.kinematic], self.points)
        basis = null_basis(slopes, len(system.coordinates), self.points)
        free = [sympy.Dummy(f"w{k}", real=True) for k in range(len(basis))]
        return {v: Add(drift[i], *[w * z[i] for w, z in zip(free, basis, strict=True)]) for i, v in enumerate(system.velocities)}

    def _potential(self, change: Expr) -> Expr | None:
        """The function G with D G = change, for a change that is affine in the velocities; None if it is not found."""
        equations = self.equations
        if order_in(change, Jet) > 1 or corners_in(change):  # G may jump at a corner of the change
            return None
        moving = sorted({Jet.__new__(type(z), z.base) for z in jets_in(change) if not isinstance(z, Input)}, key=str)
        speeds = {z.d(): z for z in moving}
        still = change.xreplace(dict.fromkeys(speeds, S.Zero))
        slopes = [(TIME, still), *[(z, change.diff(v)) for v, z in speeds.items()]]
        if any(z.order for _, e in slopes for z in jets_in(e)):
            return None
        variables, components = zip(*slopes, strict=True)
        polynomial = all(e.is_polynomial(*variables) for e in components) and size(*components) <= _LARGEST_IN_PLACE
        gauge = limited(_gauge, variables, components, seconds=_GAUGE_SECONDS, small=polynomial).value
        return gauge if gauge is not None and known_zero(change - equations.total(gauge)) else None


def _gauge(variables: tuple[Symbol, ...], components: tuple[Expr, ...]) -> Expr:
    """A function with the given partial derivatives, which must be closed."""
    found: Expr = S.Zero
    for z, e in zip(variables, components, strict=True):
        found = found + sympy.integrate(sympy.expand(e - found.diff(z)), z)
    return found


def _states(equations: Equations) -> Points:
    """Random points that satisfy the constraints and the derivatives of holonomic constraints."""
    rows = [row.residual for row in equations.system.kinematic]
    moving = [equations.total(row.residual) for row in equations.system.kinematic if row.order == 0]
    return points_on([*rows, *moving], [], count=SCALED_POINTS)


def _short(e: Expr) -> Expr:
    """The shortest of an expression and two other forms of it."""
    forms = [tidy(e)]
    if sympy.count_ops(e) < _LONG:
        forms += [sympy.expand(e), sympy.factor_terms(sympy.expand(e))]
    return min(forms, key=lambda form: (sympy.count_ops(form), str(form)))


def shown_field(field: Field) -> str:
    """A field as it is printed, such as `y*d/dx - x*d/dy`."""
    parts = [(field.time, "d/dt")] if field.time != 0 else []
    on_groups = dict(field.speeds)
    parts += [(xi, f"d/d{q.base}") for q, xi in field.components if q not in on_groups]
    parts += [(factor, f"d/d{q.base}") for q, factor in field.turned] + [(factor, name) for name, factor in field.named]
    text = ""
    for factor, name in parts:
        minus = factor.could_extract_minus_sign()
        size = show(-factor if minus else factor)
        size = "" if size == "1" else f"({size})*" if (factor.is_Add and " " in size) else f"{size}*"
        text += (" - " if minus else " + ") + f"{size}{name}"
    return text[3:] if text.startswith(" + ") else "-" + text[3:]
