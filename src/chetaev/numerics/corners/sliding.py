r"""The equations of motion on switching surfaces and with closed contacts.

Where the motion is pressed onto $s = 0$ from both sides (dry friction at rest) the mode becomes an unknown between -1 and 1 and the row
$s = 0$ is added (A. F. Filippov, Differential Equations with Discontinuous Righthand Sides, Kluwer 1988): a system of the same kind, with
one more multiplier that does no virtual work. A closed contact is a row with its reaction; an open one has neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from sympy import Expr, S, Symbol

from chetaev.core.functions import Branch, Magnitude
from chetaev.core.notation.show import show
from chetaev.core.rows.constraints import Constraint
from chetaev.core.rows.unilateral import Contact
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import Coordinate, Multiplier, jets_in, symbols_in
from chetaev.mechanics.assemble import Row
from chetaev.mechanics.equations import Equations
from chetaev.mechanics.origins import Sliding
from chetaev.mechanics.principles.base import RowV
from chetaev.numerics.corners.corners import with_each_expression
from chetaev.numerics.corners.mode import Direction, Mode
from chetaev.numerics.corners.multiplier_modes import common_size, in_units, tilt_of
from chetaev.numerics.corners.planar_friction import acting, admissible, at_rest


@lru_cache(maxsize=64)
def with_numbers(equations: Equations, values: Frozen[Symbol, Expr]) -> Equations:
    """Equations with numbers in place of some modes."""
    with deep():
        rewritten = with_each_expression(equations, lambda e: e.xreplace(values))
    system = rewritten.lowered.system
    system = system.exchange(parameters=tuple(p for p in system.parameters if p not in values))
    return replace(rewritten, lowered=rewritten.lowered.exchange(system=system))


@lru_cache(maxsize=64)
def sliding(equations: Equations, modes: tuple[Mode, ...]) -> Equations:
    r"""The equations of motion on the surfaces of some modes: these modes are unknown, their functions vanish.

    Instead of a mode that multiplies a multiplier, the force is the unknown (`multiplier_modes`).
    """
    resting = [mode for mode in modes if isinstance(mode, Direction)]
    for direction in resting:
        equations = _at_rest(equations, direction)
    modes = tuple(mode for mode in modes if mode not in resting)
    if not modes:
        return equations
    unknowns: dict[Symbol, Symbol] = {mode.symbol: mode.unknown for mode in modes}
    tilted = {mode: a for mode in modes if (a := tilt_of(equations, mode.symbol)) is not None}

    def one(e: Expr) -> Expr:
        for symbol in unknowns:
            e = interpolated(e, symbol)
        return e.xreplace(unknowns)

    with deep():
        for mode in tilted:  # for these modes the force is the unknown, below
            equations = with_each_expression(equations, lambda e, m=mode.symbol: interpolated(e, m).xreplace({m: S.Zero}))  # type: ignore[misc]
        rewritten = with_each_expression(equations, one)
        rows = tuple(Constraint(one(mode.function), surface=mode.text) for mode in modes)
    lowered = rewritten.lowered
    system = lowered.system.exchange(
        parameters=tuple(p for p in lowered.system.parameters if p not in unknowns),
        kinematic=(*lowered.system.kinematic, *rows),
    )
    reactions: dict[Multiplier, RowV] = dict(lowered.reactions)
    for mode in modes:
        along = tilted[mode].along if mode in tilted else {}
        reactions[mode.unknown] = Frozen({q: one(c) for q, c in along.items()})
    lowered = lowered.exchange(system=system, reactions=Frozen(reactions))
    written = rewritten.rewritten
    if written is not None:
        labels = system.kinematic_labels[-len(rows) :]
        written = (*written, *[Row(Sliding(label), row.lhs, row.rhs) for label, row in zip(labels, rows, strict=True)])
    return replace(rewritten, lowered=lowered, rewritten=written)


def _at_rest(equations: Equations, mode: Direction) -> Equations:
    """The equations while a speed is zero: its unit vector is unknown in the forces, and its components vanish."""
    lowered = equations.lowered
    with deep():
        forces = _forces_at_rest(equations, mode)
        size = common_size(forces.values(), mode.unknowns)
        forces = forces if size is None else {q: in_units(e, size, mode.unknowns) for q, e in forces.items()}
    vanishing = [c.form for c in mode.components] + admissible(lowered.system.kinematic, mode.components, mode.unknowns)
    system = lowered.system.exchange(
        forces=Frozen(forces),
        equations=Frozen(),  # now among the forces
        dissipation=S.Zero,
        parameters=tuple(p for p in lowered.system.parameters if p != mode.symbol),
        kinematic=(*lowered.system.kinematic, *[Constraint(e, surface=show(e)) for e in vanishing]),
    )
    idle: dict[Multiplier, RowV] = {m: Frozen() for m in mode.unknowns}
    lowered = lowered.exchange(system=system, reactions=Frozen({**lowered.reactions, **idle}))
    return replace(equations, lowered=lowered)


def _forces_at_rest(equations: Equations, mode: Direction) -> dict[Coordinate, Expr]:
    """All forces while a speed is zero, with the unknown unit vector."""
    limits = {q: (e, at_rest(e, mode.function, mode.components, mode.unknowns)) for q, e in acting(equations).items()}
    return {q: e if limit is None else limit for q, (e, limit) in limits.items()}


@lru_cache(maxsize=64)
def size_at_rest(equations: Equations, mode: Direction) -> Expr:
    """The factor by which the unknowns of planar friction at rest are larger than the unit vector: a multiplier, or 1."""
    size = common_size(_forces_at_rest(equations, mode).values(), mode.unknowns)
    return S.One if size is None else size


def bends_momenta(equations: Equations, modes: Sequence[Mode]) -> bool:
    """Tell whether some modes occur in a momentum: then the rule D sign = 0 does not determine motion on the surface."""
    lagrangian = equations.lowered.lagrangian
    velocities = [z for z in jets_in(lagrangian) if z.order]
    return any(mode.symbol in lagrangian.diff(z).free_symbols for mode in modes for z in velocities)


def interpolated(e: Expr, m: Symbol) -> Expr:
    r"""An expression made linear in a mode, $\tfrac12(e_+ + e_-) + \tfrac{m}{2}(e_+ - e_-)$: Filippov's mean of the two sides."""
    if m not in symbols_in(e) or (m not in e.diff(m).free_symbols and not e.has(Branch)):
        return e
    above, below = e.xreplace({m: S.One}), e.xreplace({m: S.NegativeOne})
    return (above + below) / 2 + m * (above - below) / 2


def without_contacts(equations: Equations) -> Equations:
    """The equations while all contacts are open, as equations of a system without contacts."""
    contacts = equations.system.unilateral
    return _closed(equations, frozenset(), contacts) if contacts else equations


@lru_cache(maxsize=64)
def with_closed(equations: Equations, closed: frozenset[Contact]) -> Equations:
    """The equations while the contacts `closed` hold and all others are open."""
    return _closed(equations, closed, equations.system.unilateral)


def _closed(equations: Equations, closed: frozenset[Contact], contacts: Iterable[Contact]) -> Equations:
    lowered = equations.lowered
    apart = {c.multiplier: S.Zero for c in contacts if c not in closed}
    rows = [c.row for c in contacts if c in closed]
    system = lowered.system.exchange(
        unilateral=(),
        kinematic=(*lowered.system.kinematic, *rows),
        forces=Frozen({q: e for q, u in lowered.system.forces.items() if (e := u.xreplace(apart)) != 0}),
    )
    reactions = Frozen({m: row for m, row in lowered.reactions.items() if m not in apart})
    return replace(equations, lowered=lowered.exchange(system=system, reactions=reactions))


def with_sizes_of_contacts(equations: Equations) -> Equations:
    """The equations with `lambda_floor` in place of `abs(lambda_floor)`: the multiplier of a contact is never negative."""
    contacts = equations.system.unilateral
    if not contacts:
        return equations
    sizes: dict[Expr, Expr] = {Magnitude(c.multiplier): c.multiplier for c in contacts}
    forces = Frozen({q: u.xreplace(sizes) for q, u in equations.system.forces.items()})
    return replace(equations, lowered=equations.lowered.exchange(system=equations.system.exchange(forces=forces)))
