r"""abnormal: curves on which the end-point map of a distribution is singular, independent of any cost.

Rows $\omega_a(q)\, q' = 0$ allow the velocities $\Delta$. Along an abnormal curve there is a covector $p = \lambda_a \omega_a \ne 0$ that
stays a combination of the rows: $d(\lambda_a \omega_a)(q', \cdot)$ vanishes on $\Delta$. The conditions are formed from the rows by
exterior calculus, without a choice of vector fields, which might be singular somewhere:

- one row: $\omega \wedge (d\omega)^r$ is a function times the volume for an even number of velocities, and abnormal curves run where that
  function vanishes; for an odd number it is a vector field, along which they run everywhere;
- two rows in four dimensions: $p = f_2\,\omega_1 - f_1\,\omega_2$ with $d\omega_a \wedge \omega_1 \wedge \omega_2 = f_a\,\mathrm{vol}$
  annihilates the first brackets, and $p \wedge dp$ is the field of the abnormal curves.

W. Liu, H. J. Sussmann, Memoirs of the AMS 564 (1995); R. Montgomery, A Tour of Subriemannian Geometries (2002), chapters 3 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import sympy
from sympy import Expr, S

from chetaev.core.errors import ModelError, UsageError, about, did_you_mean, require_mapping
from chetaev.core.fixes import Ask, InPython
from chetaev.core.notation import show
from chetaev.core.notation.lexer import spell
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.system import System
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.brackets.vector_fields import affine_rows
from chetaev.mechanics.derivation import derive
from chetaev.mechanics.model import Model
from chetaev.mechanics.principles import DAlembert
from chetaev.numerics.graphs.binding import bind, number
from chetaev.numerics.motion.simulate import simulate
from chetaev.numerics.motion.trajectory import Trajectory

Form = dict[tuple[int, ...], Expr]
"""A differential form: coefficients by sorted indices of coordinates."""

_RANDOM_CONFIGURATIONS = 400
"""Number of random configurations at which a function is evaluated to find out whether it has real zeros."""
_ZERO_VALUE = 1e-9
"""Value of an expression at a start, relative to its terms, below which it counts as zero."""
_TOLERANCE = 1e-12
"""Tolerance of the motion along an abnormal curve; conditions on the curve are checked with the states found."""


@public
@dataclass(frozen=True, eq=False, repr=False)
class Abnormal:
    """The abnormal curves of the velocities that kinematic rows allow."""

    system: System
    """The system whose kinematic rows are examined."""
    exists: bool | None
    """Whether there are abnormal curves, through the start if one is given; constant curves are not counted. None if undecided."""
    field: Mapping[str, Expr] | None
    """The rates of the coordinates along the abnormal curves, up to a factor; None if there is no direction, or more than one."""
    locus: tuple[Expr, ...]
    """Expressions that vanish on all abnormal curves; empty if these run everywhere or nowhere."""
    motions: tuple[Trajectory, ...]
    """The abnormal curve through the start, if it is determined, as a motion with the rates of `field`."""
    reason: str
    """Why `exists` has its value, in a sentence."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        word = {True: "yes", False: "none", None: "undecided"}[self.exists]
        lines = [f"abnormal curves of {self.system.label}: {word}. {self.reason}"]
        if self.locus:
            lines.append("  where  " + ",  ".join(f"{show(e)} = 0" for e in self.locus))
        if self.field is not None:
            lines.append("  along  " + ",  ".join(f"{name}' = {show(e)}" for name, e in self.field.items()))
        return "\n".join(lines)


@public
def abnormal(
    system: Any,
    start: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    t: tuple[float, float] = (0.0, 1.0),
) -> Abnormal:
    """Find the abnormal curves of a system, on which the end-point map is singular.

    They depend on the kinematic rows alone, not on L. Rows must be linear in the velocities.

    Args:
        system: A system or a model.
        start: A configuration. If it is given, the answer is about abnormal curves through it, and `motions` has the curve if it is unique.
        parameters: Values of the parameters, necessary with a start.
        t: The interval of the motion in `motions`.

    Returns:
        Whether abnormal curves exist, their field, and the set to which they are confined.

    Raises:
        ModelError: If a row is not linear in the velocities, or has a drift.
        UsageError: If the start is not a configuration.

    >>> import chetaev as ch
    >>> martinet = ch.System("x y z", lagrangian="(x'^2 + y'^2)/2", kinematic=["z' = y^2*x'/2"])
    >>> found = abnormal(martinet)
    >>> found.exists, found.locus, dict(found.field)
    (True, (y,), {'x': 1, 'y': 0, 'z': 0})
    """
    if isinstance(system, Model):
        parameters, system = {**system.parameters, **(parameters or {})}, system.system
    if not isinstance(system, System):
        raise UsageError(
            f"abnormal takes a system or a model, not {type(system).__name__}.",
            where=about("abnormal", "system"),
            hint=Ask("abnormal", "system"),
        )
    where = f"abnormal {system.label}"
    if system.groups:
        raise ModelError("group coordinates are not supported here.", where=where, hint="describe the rotation by angles")
    point = _read_start(system, start, parameters, where)
    if not system.kinematic:
        return Abnormal(system, False, None, (), (), "Without rows all velocities are allowed.")
    found = _Search(system, _rows(system, where))
    exists, field, locus, reason = found.answer()
    if start is None:
        return Abnormal(system, exists, _named(system, field), locus, (), reason)
    return _at(system, point, exists, field, locus, reason, t, parameters)


def _read_start(system: System, start: Any, parameters: Mapping[str, Any] | None, where: str) -> dict[sympy.Symbol, float]:
    if start is None:
        return {}
    require_mapping(start, "start is", where, InPython('{"x": 0, "y": 0}'))
    names = {q.name: q for q in system.coordinates}
    found: dict[sympy.Symbol, float] = dict(bind(system, parameters, None, where).parameters)
    for key, value in start.items():
        name = spell(str(key))
        if name not in names:
            raise UsageError(f"{name} is not a coordinate.", where=where, hint=did_you_mean(name, names) or " ".join(names))
        found[names[name]] = number(value, {}, where, UsageError)
    missing = [name for name, q in names.items() if q not in found]
    if missing:
        raise UsageError(f"the start has no value for {' '.join(missing)}.", where=where, hint="a value for each coordinate")
    return found


def _rows(system: System, where: str) -> list[Form]:
    """The rows as one-forms, each without a common factor of its coefficients."""
    rows = affine_rows(system, where)
    if any(sympy.simplify(e) != 0 for e in rows.rest) or len(rows.unknowns) > len(system.velocities):
        why = "Abnormal curves are defined here for rows that are linear in the velocities."
        raise ModelError("the rows have a drift or inputs.", where=where, why=why, hint="rows without a term free of velocities")
    found: list[Form] = []
    for line in rows.matrix:
        parts = [sympy.together(system.charted(e)) for e in line]
        common = sympy.gcd_list([sympy.numer(e) for e in parts]) if any(parts) else S.One
        found.append({(i,): sympy.simplify(e / common) for i, e in enumerate(parts) if e != 0})
    return found


def _named(system: System, field: Sequence[Expr] | None) -> Mapping[str, Expr] | None:
    return None if field is None else Frozen({q.name: e for q, e in zip(system.coordinates, field, strict=True)})


Answer = tuple[bool | None, tuple[Expr, ...] | None, tuple[Expr, ...], str]
"""Whether abnormal curves exist, their field, their locus, and the reason."""


class _Search:
    """The search for the abnormal curves of one distribution."""

    def __init__(self, system: System, rows: list[Form]) -> None:
        self.system, self.rows, self.n = system, rows, len(system.coordinates)
        self.k = self.n - len(rows)
        """The number of free velocities."""

    def answer(self) -> Answer:
        """The answer for generic configurations."""
        holonomic = sum(row.order == 0 for row in self.system.kinematic)
        if holonomic == len(self.rows):
            return False, None, (), "The rows restrict positions only, and on them all directions are allowed."
        if holonomic:
            return None, None, (), "Systems with rows on positions and rows on velocities are not examined."
        together = self._product(self.rows)
        if not together:
            return None, None, (), "The rows depend on each other."
        if self.k == 0:
            return False, None, (), "The rows allow no velocity."
        if self.k == 1:
            return (
                True,
                self._unit(self._field(together)),
                (),
                "Only one direction is allowed, and only the points of its curve can be reached.",
            )
        if len(self.rows) == 1:
            return self._of_one_row()
        if self.k == 2:
            return self._of_two_velocities(together)
        return self._of_many(together)

    def _of_one_row(self) -> Answer:
        (row,) = self.rows
        curved = self._derivative(row)
        form = self._product([row, *[curved] * (self.k // 2)])
        if self.k % 2:
            if form:
                return True, self._unit(self._field(form)), (), "With an odd number of velocities dp annihilates one direction."
            return True, None, (), "dp annihilates several directions at each point: a family of abnormal curves."
        surface = _zeros(form.get(tuple(range(self.n)), S.Zero))
        if self.k > 2:
            if surface != 0 and self._has_zeros(surface) is False:
                return False, None, (), "The distribution is of contact type."
            return None, None, (surface,) if surface != 0 else (), "Abnormal curves run only where the form of the row degenerates."
        return self._on_surface(row, surface)

    def _on_surface(self, row: Form, surface: Expr) -> Answer:
        r"""Two velocities in three dimensions: abnormal curves run where $\omega \wedge d\omega$ vanishes."""
        if surface == 0:
            return True, None, (), "The row is integrable: every curve stays on a leaf, and is abnormal."
        real = self._has_zeros(surface)
        if real is False:
            return False, None, (), "The velocities and their first brackets span all directions everywhere: a contact distribution."
        slopes: Form = {(i,): surface.diff(q) for i, q in enumerate(self.system.coordinates)}
        field = [self._reduced(e, surface) for e in self._field(self._product([row, slopes]))]
        why = "There the first brackets of the velocities add no new direction"
        if not any(field):
            return real, None, (surface,), f"{why}, and every curve on it is abnormal."
        return real, self._unit(field), (surface,), f"{why}; abnormal curves stay on that surface."

    def _of_two_velocities(self, together: Form) -> Answer:
        curvatures = [self._product([self._derivative(row), together]) for row in self.rows]
        if self.n > 4:
            if not any(curvatures):
                return True, None, (), "The rows are integrable: every curve stays on a leaf, and is abnormal."
            return True, None, (), f"{self.n - 3} covectors annihilate the first brackets: a family of abnormal curves through each point."
        first, second = (form.get(tuple(range(self.n)), S.Zero) for form in curvatures)
        if first == 0 and second == 0:
            return True, None, (), "The rows are integrable: every curve stays on a leaf, and is abnormal."
        p = _sum([(second, self.rows[0]), (-first, self.rows[1])])
        field = self._field(self._product([p, self._derivative(p)]))
        if not any(field):
            return True, None, (), "Brackets reach three directions only: every curve stays on a leaf, and is abnormal."
        return True, self._unit(field), (), "One covector annihilates the first brackets and determines one direction."

    def _of_many(self, together: Form) -> Answer:
        if self.k % 2:
            return None, None, (), "With an odd number of velocities each covector has a direction; these curves are not examined."
        free = sympy.symbols(f"p1:{len(self.rows) + 1}", real=True)
        curved = _sum([(p, self._derivative(row)) for p, row in zip(free, self.rows, strict=True)])
        volume = self._product([*[curved] * (self.k // 2), together]).get(tuple(range(self.n)), S.Zero)
        if volume != 0 and self._has_zeros(sympy.factor(volume), free) is False:
            return False, None, (), "The brackets are regular for all covectors: a fat distribution."
        return None, None, (), "The brackets are singular for some covectors; their curves are not examined."

    # -- exterior calculus

    def _product(self, forms: Sequence[Form]) -> Form:
        found: Form = {(): S.One}
        for form in forms:
            found = _wedge(found, form)
        return {key: value for key, e in found.items() if (value := sympy.simplify(e)) != 0}

    def _derivative(self, form: Form) -> Form:
        parts = [_wedge({(i,): S.One}, {key: e.diff(q) for key, e in form.items()}) for i, q in enumerate(self.system.coordinates)]
        return _sum([(S.One, part) for part in parts])

    def _field(self, form: Form) -> list[Expr]:
        """The vector field U of a form of degree n - 1: the form is the contraction of U with the volume."""
        everything = range(self.n)
        return [(-1) ** i * form.get(tuple(j for j in everything if j != i), S.Zero) for i in everything]

    def _reduced(self, e: Expr, surface: Expr) -> Expr:
        """An expression on a surface that fixes one coordinate."""
        for q in self.system.coordinates:
            slope = surface.diff(q)
            if slope != 0 and not slope.free_symbols:
                return sympy.simplify(e.subs(q, sympy.solve(surface, q)[0]))
        return sympy.simplify(e)

    def _unit(self, field: Sequence[Expr]) -> tuple[Expr, ...]:
        """The field without a common factor of its components, with a positive first component."""
        parts = [sympy.factor(e) for e in field]
        above = sympy.gcd_list([sympy.numer(sympy.together(e)) for e in parts])
        below = sympy.lcm_list([sympy.denom(sympy.together(e)) for e in parts])
        parts = [sympy.simplify(e * below / above) for e in parts]
        first = next((e for e in parts if e != 0), S.One)
        if not first.free_symbols:
            return tuple(sympy.simplify(e / first) for e in parts)
        return tuple(-e if first.could_extract_minus_sign() else e for e in parts)

    def _has_zeros(self, e: Expr, directions: Sequence[sympy.Symbol] = ()) -> bool | None:
        """Whether an expression has real zeros: False if its form excludes zeros, True if its sign changes between sampled points, else
        None.
        """
        if not e.free_symbols:
            return bool(e == 0)
        if _never_zero(e, set(directions)):
            return False
        chance = np.random.default_rng(7)
        symbols = sorted(e.free_symbols, key=lambda z: z.name)
        tape, signs = Tape([e]), set()
        for _ in range(_RANDOM_CONFIGURATIONS):
            size = 10.0 ** chance.uniform(-2, 2)
            values = {
                z: float(abs(v) if z.is_positive else v) for z, v in zip(symbols, size * chance.normal(size=len(symbols)), strict=True)
            }
            try:
                signs.add(float(np.sign(tape(values)[0])))
            except Undefined:
                continue
            if {1.0, -1.0} <= signs or 0.0 in signs:
                return True
        zero = dict.fromkeys((z for z in symbols if not z.is_positive), 0.0) | {z: 1.0 for z in symbols if z.is_positive}
        try:
            return True if not directions and tape(zero)[0] == 0 else None
        except Undefined:
            return None


def _never_zero(e: Expr, directions: set[sympy.Symbol]) -> bool:
    """Whether the form of an expression excludes zeros: nonzero numbers, exponentials, sums of squares plus a positive number."""
    e = sympy.factor(e)
    if e.is_nonzero:
        return True
    if directions:  # norms of p vanish at p = 0 only
        return bool((-e if e.could_extract_minus_sign() else e).is_positive or _is_norm(e, directions))
    return bool(e.is_positive or e.is_negative)


def _is_norm(e: Expr, directions: set[sympy.Symbol]) -> bool:
    """Whether an expression is a power of a sum of squares of all directions."""
    base = e.as_base_exp()[0] if e.is_Pow else e
    factors = [f.as_base_exp()[0] for f in sympy.Mul.make_args(base) if f.free_symbols & directions]
    if len(factors) != 1:
        return False
    squares = [sympy.factor(t) for t in sympy.Add.make_args(sympy.expand(factors[0]))]
    seen = {next(iter(t.free_symbols)) for t in squares if len(t.free_symbols) == 1 and t.is_nonnegative}
    return seen == directions and all(t.is_nonnegative for t in squares)


def _zeros(e: Expr) -> Expr:
    """The product of the distinct factors of an expression that can vanish."""
    e = sympy.factor(sympy.simplify(e))
    if not e.free_symbols:
        return e
    factors = [f.as_base_exp()[0] for f in sympy.Mul.make_args(sympy.numer(sympy.together(e)))]
    kept = [f for f in factors if f.free_symbols and not f.is_nonzero]
    return sympy.Mul(*dict.fromkeys(kept)) if kept else S.One


def _wedge(a: Form, b: Form) -> Form:
    """The exterior product."""
    found: Form = {}
    for (i, e), (j, f) in product(a.items(), b.items()):
        if set(i) & set(j):
            continue
        key = tuple(sorted((*i, *j)))
        sign = (-1) ** sum(x > y for x in i for y in j)
        found[key] = found.get(key, S.Zero) + sign * e * f
    return found


def _sum(parts: Sequence[tuple[Expr, Form]]) -> Form:
    found: Form = {}
    for factor, form in parts:
        for key, e in form.items():
            found[key] = found.get(key, S.Zero) + factor * e
    return {key: value for key, e in found.items() if (value := sympy.simplify(e)) != 0}


def _at(
    system: System,
    point: Mapping[sympy.Symbol, float],
    exists: bool | None,
    field: tuple[Expr, ...] | None,
    locus: tuple[Expr, ...],
    reason: str,
    t: tuple[float, float],
    parameters: Mapping[str, Any] | None,
) -> Abnormal:
    """The answer for a start: whether it lies on the locus, and the curve through it."""
    for e in locus:
        terms = [abs(_value(term, point)) for term in sympy.Add.make_args(sympy.expand(e))]
        if abs(_value(e, point)) > _ZERO_VALUE * max(*terms, *[abs(point[q]) for q in system.coordinates], 0.0):
            return Abnormal(system, False, _named(system, field), locus, (), f"{show(e)} does not vanish at the start.")
    if not exists or field is None:
        return Abnormal(system, exists, _named(system, field), locus, (), reason)
    if not any(abs(_value(e, point)) > 0 for e in field):
        return Abnormal(system, None, _named(system, field), locus, (), "The field vanishes at the start.")
    rows = [sympy.Eq(q.d(), e) for q, e in zip(system.coordinates, field, strict=True)]
    square = sympy.Add(*[q.d() ** 2 for q in system.coordinates]) / 2
    kinds = {q.name: "line" for q in system.coordinates}
    curve = System(kinds, list(system.parameters), lagrangian=square, kinematic=rows, name=f"abnormal curve of {system.label}")
    first = {q.name: point[q] for q in system.coordinates}
    motion = simulate(derive(curve, DAlembert()), first, t, parameters=parameters, tolerance=_TOLERANCE, progress=False)
    return Abnormal(system, True, _named(system, field), locus, (motion,), reason)


def _value(e: Expr, point: Mapping[sympy.Symbol, float]) -> float:
    try:
        return float(Tape([e])(dict(point))[0])
    except Undefined:
        return float("nan")
