r"""The normal form of a system: a Lagrangian, rows of R_V with their multipliers, and multipliers that are varied.

What a principle passes to `Lowered` is checked when the normal form is made, so that an error names the part of the principle that is wrong
and not the algorithm that met it. Numbers become exact fractions; symbols are those of the system and the multipliers of the normal form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

from sympy import Add, Expr, Pow

from chetaev.core.errors import NotationError, PrincipleError
from chetaev.core.fixes import Advice
from chetaev.core.notation import Vocabulary, from_sympy
from chetaev.core.notation.bounds import fault
from chetaev.core.notation.show import in_notation
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.support.rationals import is_real_number
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Action, Coordinate, Input, Multiplier, Parameter, moved_by, order_in, symbols_in
from chetaev.core.system import System
from chetaev.core.zero import known_zero

RowV = Frozen[Coordinate, Expr]
"""One row of R_V: the coefficients of the variations."""

MAKING = "Lowered"
"""The place of an error in a normal form, before a principle adds the system and itself."""


@public
@dataclass(frozen=True)
class Lowered:
    """A system in normal form.

    The Euler-Lagrange expressions of `lagrangian` are formed. `reactions` maps a multiplier to the row of R_V that it multiplies.
    `costates` are multipliers that occur in the Lagrangian and are varied like coordinates. With an `action` variable the expressions are
    those of Herglotz.

    Rows may be given as plain mappings with numbers as coefficients. Whatever a principle cannot mean raises a PrincipleError here: names
    that the system does not have, multipliers without a role, values that are not finite, and costates that occur nowhere.
    """

    system: System
    lagrangian: Expr
    reactions: Frozen[Multiplier, RowV] = field(default_factory=Frozen)
    costates: tuple[Multiplier, ...] = ()
    action: Action | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.system, System):
            raise _wrong(f"{self.system!r} is not a system.", "Lowered(system, lagrangian, reactions, costates)")
        given, costates = _mapping(self.reactions), _multipliers(self.costates)
        _check_multipliers((*given, *costates), self.system)
        both = set(given) & set(costates)
        if both:
            raise _wrong(f"{min(m.base for m in both)} has a reaction and is a costate.", "one multiplier for each")
        if len(set(costates)) < len(costates):
            raise _wrong("a costate is named twice.", "one multiplier for each")
        if self.action is not None and self.action != self.system.action:
            raise _wrong(f"{self.action!r} is not the action variable of the system.", "action=system.action")
        put, names = object.__setattr__, _Names(self.system, frozenset(given), frozenset(costates))
        put(self, "lagrangian", names.lagrangian(self.lagrangian))
        put(self, "reactions", Frozen({m: names.row(m, row) for m, row in given.items()}))
        put(self, "costates", costates)
        self._check_costates()

    def _check_costates(self) -> None:
        """Raise a PrincipleError for a costate that does not occur: its variation would give the row 0 = 0."""
        occurring = {z.base for z in symbols_in(self.lagrangian) if isinstance(z, Multiplier)}
        for m in self.costates:
            if m.base not in occurring:
                raise _wrong(
                    f"the costate {m.base} does not occur in the Lagrangian.",
                    f"lagrangian + {m.base}*residual, or leave {m.base} out of costates",
                    why="A costate is varied, and the variation of a multiplier that occurs nowhere determines nothing.",
                )

    def exchange(self, **parts: Any) -> Lowered:
        """This normal form with some fields replaced by values that are in their final form, without reading and checking."""
        changed: Lowered = object.__new__(Lowered)
        for each in fields(Lowered):
            object.__setattr__(changed, each.name, parts.get(each.name, getattr(self, each.name)))
        return changed

    @cached_property
    def multipliers(self) -> tuple[Multiplier, ...]:
        """All multipliers; if there are reactions and costates, in the order of their numbers."""
        if not self.costates or not self.reactions:
            return (*self.costates, *self.reactions)
        return tuple(sorted((*self.costates, *self.reactions), key=_number))

    @cached_property
    def acting(self) -> dict[Coordinate, list[tuple[Multiplier, Expr]]]:
        """The multipliers that act on each coordinate, with their coefficients."""
        found: dict[Coordinate, list[tuple[Multiplier, Expr]]] = {}
        for multiplier, row in self.reactions.items():
            for q, coefficient in row.items():
                found.setdefault(q, []).append((multiplier, coefficient))
        return found

    def is_reaction(self, z: object) -> bool:
        """Whether `z` is the multiplier of a reaction, or one of its derivatives; these are no part of the state."""
        return isinstance(z, Multiplier) and Multiplier(z.base) in self.reactions

    def is_costate(self, z: object) -> bool:
        """Whether `z` is a costate, or one of its derivatives."""
        return isinstance(z, Multiplier) and Multiplier(z.base) in self.costates

    @cached_property
    def varied_rows(self) -> Frozen[int, Multiplier]:
        """The costates whose variations are kinematic rows, by the number of the row."""
        slopes = {self.lagrangian.diff(m): m for m in self.costates}
        rows = {k: slopes.get(row.residual) for k, row in enumerate(self.system.kinematic)}
        return Frozen({k: m for k, m in rows.items() if m is not None})

    @cached_property
    def varied(self) -> tuple[Coordinate, ...]:
        """The coordinates whose variation gives a row; the row of any other coordinate would read 0 = 0."""
        bases = (
            moved_by(self.lagrangian)
            | moved_by(self.system.dissipation)
            | {q.base for row in self.reactions.values() for q in row}
            | {q.base for q in self.system.forces}
            | {q.base for q, e in self.system.equations.items() if e != 0}
        )
        return tuple(q for a, q in enumerate(self.system.coordinates) if q.base in bases or self._turns(a))

    def _turns(self, a: int) -> bool:
        r"""Whether $C^c_{ab}\,\xi^b p_c$ is not zero: a momentum about one axis of a group coordinate enters the rows of the others."""
        frame = self.system.frame
        turning = [(c, v * value) for b, v in enumerate(frame.velocities) for c, value in frame.bracket(a, b).items()]
        orders = range(order_in(self.lagrangian, Coordinate) if turning else 0)
        return any(not known_zero(Add(*[e * self.lagrangian.diff(frame.velocities[c].d(k)) for c, e in turning])) for k in orders)


@dataclass(frozen=True)
class _Names:
    """The names that the expressions of one normal form may use, and reading such expressions."""

    system: System
    reacting: frozenset[Multiplier]
    costates: frozenset[Multiplier]

    def lagrangian(self, given: Any) -> Expr:
        if given is self.system.lagrangian:
            return self.system.lagrangian
        return self._read(given, "the Lagrangian", self._multiplier_in_the_lagrangian)

    def row(self, m: Multiplier, given: Any) -> RowV:
        if not isinstance(given, Mapping):
            what = f"the row of {m.base} is given as {type(given).__name__}, not as coefficients by coordinate."
            raise _wrong(what, f"{{{m.base}: {{{self.system.coordinates[0]}: 1}}}}")
        for q in given:
            if q not in self._coordinates:
                what = f"the row of {m.base} acts on {q!r}, which is not a coordinate."
                raise _wrong(what, f"its keys are those of system.coordinates: {' '.join(z.base for z in self.system.coordinates)}")
        return Frozen(
            {q: self._read(c, f"the coefficient of {q.base} in the row of {m.base}", self._multiplier_in_a_row) for q, c in given.items()}
        )

    def _read(self, given: Any, title: str, refusal: Any) -> Expr:
        """An expression in the system's symbols; anything else raises a PrincipleError that calls it `title`."""
        if not isinstance(given, Expr) and not is_real_number(given):
            what = f"{title} is given as {type(given).__name__}: {given!r} is not an expression."
            raise _wrong(what, "a number, or a SymPy expression in the system's symbols")
        with deep():
            if isinstance(given, Expr):
                for z in sorted(symbols_in(given), key=lambda z: z.name):
                    if isinstance(z, Multiplier) and (reason := refusal(z, title)):
                        raise reason
                if _is_plain(given) and all(map(self._has, symbols_in(given))):
                    return given
            return self._converted(given, title)

    def _converted(self, given: Any, title: str) -> Expr:
        """`given` with exact numbers, and with symbols and functions of SymPy as those of the library."""
        reason = fault(given) if isinstance(given, Expr) else None
        if reason:
            raise _wrong(f"{title} has no meaning, {given}: {reason}", "finite real numbers")
        try:
            return from_sympy(given, self._vocabulary, title)
        except NotationError as wrong:
            hint = "symbols of the system, multipliers of the normal form, and functions of the notation"
            raise _wrong(f"{title} cannot be read: {wrong.what}", hint) from None

    def _has(self, z: Any) -> bool:
        """Whether `z` is, as it stands, a symbol of the system or a multiplier of the normal form."""
        if isinstance(z, Multiplier):
            return True  # the others were refused
        if isinstance(z, Coordinate | Input | Action):
            return z.base in self._vocabulary.jets and z.name not in self._vocabulary.forbidden
        if isinstance(z, Parameter):
            return self._vocabulary.parameters.get(z.name) == z
        return z == TIME or self._vocabulary.entries.get(z.name) == z

    @cached_property
    def _coordinates(self) -> frozenset[Coordinate]:
        return frozenset(self.system.coordinates)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        names = self.system.vocabulary
        return replace(names, jets={**names.jets, **{m.base: m for m in (*self.reacting, *self.costates)}})

    def _multiplier_in_the_lagrangian(self, z: Multiplier, title: str) -> PrincipleError | None:
        m = Multiplier(z.base)
        if m in self.costates:
            return None
        if m in self.reacting:
            why = "The multiplier of a reaction is not varied and is no part of the state."
            what = f"{m.base} has a reaction and stands in the Lagrangian."
            return _wrong(what, f"costates=({m.base},) for a row that is varied", why=why)
        return _wrong(f"{title} contains {z.name}, which is no multiplier of the normal form.", f"costates=({m.base},)")

    def _multiplier_in_a_row(self, z: Multiplier, title: str) -> PrincipleError | None:
        m = Multiplier(z.base)
        if m in self.costates or (m in self.reacting and not z.order):
            return None
        if m in self.reacting:
            why = "The multiplier of a reaction is no part of the state, and has no derivative."
            return _wrong(f"{title} contains {z.name}.", f"{m.base} without a prime", why=why)
        return _wrong(f"{title} contains {z.name}, which is no multiplier of the normal form.", f"{m.base} among reactions or costates")


@lru_cache(maxsize=4096)
def _is_plain(expression: Expr) -> bool:
    """Whether the notation has all numbers and functions of an expression, and no root of a negative number stands in it."""
    return in_notation(expression) and not any(
        p.base.is_Rational and p.base.is_negative and p.exp.is_Rational and p.exp.q > 1 for p in expression.atoms(Pow)
    )


def _mapping(given: Any) -> dict[Any, Any]:
    if not isinstance(given, Mapping):
        what = f"reactions are given as {type(given).__name__}, not by multiplier."
        raise _wrong(what, "{multipliers(1)[0]: {system.coordinates[0]: 1}}")
    return dict(given)


def _multipliers(given: Any) -> tuple[Any, ...]:
    if not isinstance(given, list | tuple):
        raise _wrong(f"costates are given as {type(given).__name__}, not as a tuple of multipliers.", "costates=multipliers(1)")
    return tuple(given)


def _check_multipliers(given: tuple[Any, ...], system: System) -> None:
    others = set(system.vocabulary.names())
    for m in given:
        if not isinstance(m, Multiplier) or m.order:
            raise _wrong(f"{m!r} is not a multiplier.", "multipliers(count) makes lambda1, lambda2, ...")
        if m.base in others:
            raise _wrong(f"the multiplier {m.base} has the name of another quantity of the system.", "multipliers(count)")


def _number(m: Multiplier) -> float:
    """The number of `lambda1`, `lambda2`, ...; infinite for other names."""
    digits = m.base.removeprefix("lambda")
    return int(digits) if digits.isdecimal() else math.inf


def _wrong(what: str, hint: Advice, *, why: str = "") -> PrincipleError:
    return PrincipleError(what, where=MAKING, why=why, hint=hint)
