r"""The growth vector of the velocities that kinematic rows allow: how many directions iterated Lie brackets reach.

$\Delta_1$ is spanned by the control fields, $\Delta_{k+1} = \Delta_k + [\Delta_1, \Delta_k]$ (with a drift $X_0$ also $[X_0, \Delta_k]$).
Their dimensions at a point are the growth vector; the number of steps until all directions are reached is the degree of nonholonomy.
Without drift, a system that reaches all directions is controllable: W.-L. Chow, Math. Ann. 117 (1939) 98-105; P. K. Rashevsky (1938).

Ranks are exact, in a finite field. At a generic point brackets that raise no rank need not be continued. At a special one they must be: for
Martinet's rows $[X_1, X_2]$ vanishes where $y = 0$, and $[X_1, [X_1, X_2]]$ does not. There all brackets of a Hall basis are formed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import sympy
from sympy import Expr, Symbol

from chetaev.core.calculus import SYMBOLIC, Algebra
from chetaev.core.errors import ModelError, StateError, UsageError, about, did_you_mean, require_mapping
from chetaev.core.exact.field import Residue
from chetaev.core.exact.matrices import independent_of_previous, rank
from chetaev.core.exact.signature import vanishing
from chetaev.core.fixes import Ask, SetArgument, sentences
from chetaev.core.notation import Vocabulary, parse_expression, show
from chetaev.core.notation.lexer import spell
from chetaev.core.support.budget import limited
from chetaev.core.support.public import public
from chetaev.core.support.rationals import without_floats
from chetaev.core.symbols import Coordinate
from chetaev.core.system import System
from chetaev.mechanics.brackets.vector_fields import (
    Affine,
    Field,
    Pivots,
    Solved,
    affine_rows,
    bracket,
    choose_pivots,
    moved_to,
    points_with,
    solved,
)
from chetaev.mechanics.ranks.exact import FieldPoints

_LONGEST_BRACKET = 9
"""Length of the longest bracket at a special point: a Hall basis of two fields has 127 brackets up to length 9, and each further length
about doubles that."""
_ANGLES = 24
"""Denominator of the multiples of pi that a float may stand for: 1.5707963267948966 is read as pi/2. Larger ones need a text."""
_FORMULA_SECONDS = 3.0
"""Budget for the formula of the set where the brackets of a generic point lose rank; without an answer `singular` is None."""


@public
@dataclass(frozen=True, repr=False)
class Growth:
    """The growth of the spans of iterated brackets of the admissible velocities at a point."""

    system: System
    """The system whose kinematic rows give the fields."""
    vector: tuple[int, ...]
    """The dimensions of the spans of brackets of length 1, 2, ..., up to the last one that grows."""
    degree: int | None
    """The length of the brackets that reach all directions; None if brackets do not reach them, or were not formed to that length."""
    brackets: tuple[str, ...]
    """Brackets that span the last space, in the names of `fields`."""
    spans: bool | None
    """Whether brackets reach all directions of the configuration; None if that is undecided at a special point."""
    fields: Mapping[str, Mapping[str, Expr]] = field(compare=False)
    """The control fields X1, X2, ... and the drift X0, if there is one: the velocities by name, near the point."""
    drift: bool
    """Whether the rows have a drift: velocities when all controls are zero."""
    controllable: bool | None
    """Whether the system is small-time locally controllable at the point; None if no known test decides."""
    reason: str
    """The test that decided `controllable`, or why no test did."""
    singular: tuple[Expr, ...] | None = field(default=None, compare=False)
    """Factors whose zeros contain the points with another growth vector, for a generic point; None if no formula was found."""
    longest: int = 0
    """The length of the longest brackets that were formed."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [f"growth of {self.system.label}: ({', '.join(map(str, self.vector))})"]
        for name, parts in self.fields.items():
            moving = [(velocity, e) for velocity, e in parts.items() if e != 0]
            lines.append(f"  {name}  " + (",  ".join(f"{velocity} = {show(e)}" for velocity, e in moving) or "0"))
        if self.spans:
            lines.append(f"  {self.degree} steps reach all {self.vector[-1]} directions: {', '.join(self.brackets)}")
        elif self.spans is None:
            lines.append(f"  undecided: brackets up to length {self.longest} reach {self.vector[-1]} directions")
        else:
            lines.append(f"  brackets reach {self.vector[-1]} directions only")
        word = {True: "yes", False: "no", None: "undecided"}[self.controllable]
        lines.append(f"  small-time local controllability: {word}. {self.reason}")
        if self.singular:
            lines.append("  other growth possible where " + " or ".join(f"{show(e)} = 0" for e in self.singular))
        return "\n".join(lines)


@dataclass(frozen=True)
class _Word:
    """A field or a bracket: its text, its components, how often it contains each field."""

    text: str
    field: Field
    counts: tuple[int, ...]
    operands: tuple[_Word, _Word] | None = None
    """The two fields of a bracket."""
    parts: tuple[int, int] | None = None
    """Their numbers in a Hall basis."""

    @property
    def degree(self) -> int:
        return sum(self.counts)

    @property
    def bad(self) -> bool:
        """Whether the bracket is bad in Sussmann's sense: it contains the drift an odd number of times and every control an even number."""
        return self.counts[0] % 2 == 1 and all(k % 2 == 0 for k in self.counts[1:])


def growth_over(
    system: Any, at: Mapping[str, Any] | None, parameters: Mapping[str, Any] | None, algebra: Algebra[Any], longest: int = _LONGEST_BRACKET
) -> Growth:
    """Return the growth vector with brackets formed in `algebra`."""
    system = getattr(system, "system", system)
    if not isinstance(system, System):
        raise UsageError(
            f"growth takes a System or a Model, not {type(system).__name__}.", where=about("growth", "system"), hint=Ask("growth", "system")
        )
    where = f"growth of {system.label}"
    given = _given(system, at or {}, parameters or {}, where)
    written = affine_rows(system, where)
    rows = moved_to(written, given)
    special = any(isinstance(z, Coordinate) for z in given)
    points = points_with(system, rows, given, algebra)
    pivots = choose_pivots(rows, points, algebra, system) if points.spots else None
    if pivots is None:
        raise StateError(
            "no point with these values was found.",
            where=where,
            why="The values contradict the rows on positions, or the rows have no value there.",
            hint="other values in at=",
        )
    most = choose_pivots(rows, points_with(system, rows, _constants(given), algebra), algebra, system)
    if most is not None and len(most.places) > len(pivots.places):
        raise StateError(
            "the rows depend on each other at this point.",
            where=where,
            why="The dimension of the space of admissible velocities is not constant near it.",
            hint="a point at which the rows are independent",
        )
    found = solved(rows, system, algebra, pivots)
    study = _Study(system, rows, written, given, pivots, found, points, algebra, special, longest)
    return study.result()


def _constants(given: Mapping[Symbol, Expr]) -> list[Symbol]:
    """The parameters among symbols with values: they have these values at generic points too."""
    return [z for z in given if not isinstance(z, Coordinate)]


@dataclass(frozen=True)
class _Study:
    """The fields with the points at which their growth is determined."""

    system: System
    rows: Affine
    """Around the given values: symbols are differences from them."""
    written: Affine
    given: Mapping[Symbol, Expr]
    pivots: Pivots
    found: Solved
    points: FieldPoints
    algebra: Algebra[Any]
    special: bool
    longest: int

    def result(self) -> Growth:
        bare = self._vanishes(self.found.drift)
        reach, top = self._generic_words(bare)
        dimension = len(self.system.velocities) - self._bound()
        generic_rank = reach[-1]
        words, vector, last = top, reach, len(reach)
        if self.special:
            words, vector, last = self._special_words(bare, generic_rank)
        spans: bool | None = vector[-1] == dimension
        if not spans and self.special and generic_rank == dimension:
            spans = None
        chosen = self._achieving(words)
        controllable, reason = self._controllable(bare, spans, words)
        return Growth(
            system=self.system,
            vector=_trimmed(vector),
            degree=len(_trimmed(vector)) if spans else None,
            brackets=tuple(word.text for word in chosen),
            spans=spans,
            fields=self._readable(bare),
            drift=not bare,
            controllable=controllable,
            reason=reason,
            singular=None if self.special or not spans else self._singular(chosen),
            longest=last,
        )

    def _bound(self) -> int:
        """The number of directions that rows on positions take away."""
        gradients = [[e.diff(q) for q in self.system.coordinates] for e in self.rows.holonomic]
        if not gradients:
            return 0
        return max(rank(matrix, p) for matrix, p in self._matrices([[self.algebra.of(e) for e in line] for line in gradients]))

    def _matrices(self, lines: Sequence[Sequence[Any]]) -> list[tuple[list[list[Residue]], int]]:
        flat = [e for line in lines for e in line]
        width = len(lines[0])
        found = self.points.values(flat)
        return [([list(values[k : k + width]) for k in range(0, len(values), width)], spot.field.p) for spot, values in found]

    def _rank(self, words: Sequence[_Word]) -> int:
        return max((rank(matrix, p) for matrix, p in self._matrices([w.field for w in words])), default=0) if words else 0

    def _vanishes(self, components: Field) -> bool:
        """Whether a field is identically zero near the points."""
        program, _ = self.algebra.program(list(components))
        return all(vanishing(program) or [False])

    def _starts(self, bare: bool) -> tuple[_Word | None, list[_Word]]:
        count = len(self.found.controls)
        unit = [tuple(int(i == k) for i in range(count + 1)) for k in range(count + 1)]
        drift = None if bare else _Word("X0", self.found.drift, unit[0])
        return drift, [_Word(f"X{k}", f, unit[k]) for k, f in enumerate(self.found.controls, start=1)]

    def _joined(self, a: _Word, b: _Word, parts: tuple[int, int] | None = None) -> _Word:
        components = bracket(a.field, b.field, self.system.frame, self.algebra)
        return _Word(f"[{a.text}, {b.text}]", components, tuple(m + n for m, n in zip(a.counts, b.counts, strict=True)), (a, b), parts)

    def _generic_words(self, bare: bool) -> tuple[tuple[int, ...], list[_Word]]:
        """Ranks of brackets of each length at a generic point of the rows, continuing only brackets that raise the rank."""
        drift, controls = self._starts(bare)
        study = self if not self.special else self._elsewhere()
        words = study._independent(controls)
        fresh, ranks = list(words), [len(words)]
        while fresh:
            more = [self._joined(g, b) for b in fresh for g in [*([drift] if drift else []), *controls] if _before(g, b)]
            kept = study._independent([*words, *more])[len(words) :]
            words, fresh = [*words, *kept], kept
            if kept:
                ranks.append(len(words))
        return tuple(ranks), words

    def _elsewhere(self) -> _Study:
        """A copy with generic points, whose rank is an upper bound for that at special points."""
        whole = points_with(self.system, self.rows, _constants(self.given), self.algebra)
        return replace(self, points=whole, special=False)

    def _independent(self, words: Sequence[_Word]) -> list[_Word]:
        """The words that are independent of those before them at some point."""
        if not words:
            return []
        flags = [independent_of_previous(matrix, p) for matrix, p in self._matrices([w.field for w in words])]
        best = max(flags, key=sum, default=[True] * len(words))
        return [w for w, kept in zip(words, best, strict=True) if kept]

    def _special_words(self, bare: bool, most: int) -> tuple[list[_Word], tuple[int, ...], int]:
        """All brackets of a Hall basis, length by length, until their rank at the points is the generic one."""
        words: list[_Word] = []
        ranks: list[int] = []
        for length, level in self._hall(bare):
            words += level
            usable = [w for w in words if w.counts != (1, *[0] * (len(w.counts) - 1))]  # the drift alone is not a direction of control
            ranks.append(self._rank(usable))
            if ranks[-1] == most or length == self.longest:
                return usable, tuple(ranks), length
        return words, tuple(ranks), self.longest

    def _hall(self, bare: bool) -> Iterator[tuple[int, list[_Word]]]:
        """A Hall basis of brackets, length by length: [a, b] with a before b, where b = [c, d] has c not after a."""
        drift, controls = self._starts(bare)
        basis: list[_Word] = [*([drift] if drift else []), *controls]
        yield 1, list(basis)
        for length in range(2, self.longest + 1):
            level = []
            for j, b in enumerate(basis):
                for i, a in enumerate(basis[:j]):
                    if a.degree + b.degree == length and (b.parts is None or b.parts[0] <= i):
                        level.append(self._joined(a, b, (i, j)))
            basis += level
            yield length, level

    def _achieving(self, words: Sequence[_Word]) -> list[_Word]:
        return self._independent(words)

    def _controllable(self, bare: bool, spans: bool | None, words: Sequence[_Word]) -> tuple[bool | None, str]:
        if spans is None:
            return None, "The brackets that were formed do not reach all directions."
        if not spans:
            return False, "Brackets of all lengths stay in fewer directions, so motions stay on leaves of a foliation."
        if bare:
            return True, "There is no drift and the brackets reach all directions (Chow, Rashevsky)."
        if any(v != 0 for matrix, _ in self._matrices([self.found.drift]) for v in matrix[0]):
            return None, "The drift does not vanish here; Sussmann's test is about equilibria of the drift."
        return self._sussmann(words)

    def _sussmann(self, words: Sequence[_Word]) -> tuple[bool | None, str]:
        """H. J. Sussmann, SIAM J. Control Optim. 25 (1987) 158-194: bad brackets lie in the span of good ones of lower degree."""
        degree = max(w.degree for w in self._achieving(words))
        everything = [w for length, level in self._hall(False) if length <= degree for w in level]
        for word in sorted((w for w in everything if w.bad and w.degree <= degree), key=lambda w: w.degree):
            lower = [w for w in everything if not w.bad and w.degree < word.degree]
            if self._rank([*lower, word]) > self._rank(lower):
                return None, f"The bracket {word.text} is not in the span of good brackets of lower degree (Sussmann's test fails)."
        return True, "Bad brackets lie in the span of good ones of lower degree (Sussmann)."

    def _readable(self, bare: bool) -> dict[str, dict[str, Expr]]:
        """The fields as formulas."""
        found = solved(self.written, self.system, SYMBOLIC, self.pivots)
        names = [z.name for z in self.system.velocities]
        shown = {} if bare else {"X0": found.drift}
        shown |= {f"X{k}": f for k, f in enumerate(found.controls, start=1)}
        return {name: dict(zip(names, f, strict=True)) for name, f in shown.items()}

    def _singular(self, chosen: Sequence[_Word]) -> tuple[Expr, ...] | None:
        """The factors of the determinant of the brackets that reach all directions."""
        if self.system.groups or self.rows.holonomic or len(chosen) != len(self.system.velocities):
            return None
        found = solved(self.written, self.system, SYMBOLIC, self.pivots)
        fields: dict[str, Field] = {"X0": found.drift} | {f"X{k}": f for k, f in enumerate(found.controls, start=1)}
        frame = self.system.frame

        def factors() -> tuple[Expr, ...]:
            matrix = sympy.Matrix([_formed(word, fields, frame) for word in chosen])
            whole = sympy.factor(sympy.simplify(matrix.det(method="berkowitz")))
            top = sympy.fraction(sympy.together(whole))[0]
            parts = [base for base, _ in sympy.factor_list(top)[1]] if top.free_symbols else []
            moving = set(self.system.coordinates)
            return tuple(e for e in parts if e.free_symbols & moving and not e.is_positive)

        small = len(chosen) <= 3
        return limited(factors, seconds=_FORMULA_SECONDS, small=True).value if small else None


def _formed(word: _Word, fields: Mapping[str, Field], frame: Any) -> Field:
    """The symbolic components of a field or a bracket."""
    if word.operands is None:
        return fields[word.text]
    first, second = (_formed(part, fields, frame) for part in word.operands)
    return tuple(map(sympy.simplify, bracket(first, second, frame, SYMBOLIC)))


def _before(g: _Word, b: _Word) -> bool:
    """Whether to form the bracket [g, b]: of two single fields only in their order, since [b, g] = -[g, b]."""
    return b.degree > 1 or g.counts > b.counts


def _trimmed(ranks: Sequence[int]) -> tuple[int, ...]:
    """The dimensions up to the first time the last one is reached."""
    return tuple(ranks[: ranks.index(ranks[-1]) + 1])


def _given(system: System, at: Mapping[str, Any], parameters: Mapping[str, Any], where: str) -> dict[Symbol, Expr]:
    """The exact values of coordinates and parameters."""
    require_mapping(at, "at is", where, SetArgument("at", {"y": 0}))
    require_mapping(parameters, "parameters are", where, SetArgument("parameters", {"m": 1}))
    coordinates: dict[str, Symbol] = {q.base: q for q in system.coordinates if q not in system.frame.turning}
    constants: dict[str, Symbol] = {p.name: p for p in system.parameters}
    found: dict[Symbol, Expr] = {}
    for kind, given, known in (("parameter", parameters, constants), ("coordinate", at, coordinates)):
        for name, v in given.items():
            plain = spell(str(name))
            if plain not in known:
                listed = f"{kind}s: {' '.join(known)}." if known else f"there is no {kind}."
                hint = sentences(listed, did_you_mean(plain, known))
                raise ModelError(f"{name} is not a {kind} with a value.", where=where, hint=hint)
            found[known[plain]] = _exact(v, constants, where)
    return found


def _exact(given: Any, names: Mapping[str, Symbol], where: str) -> Expr:
    """A number as it was written: a text is exact, a float the shortest decimal that reads as it, or a multiple of pi."""
    if isinstance(given, str):
        return parse_expression(given, Vocabulary(parameters=dict(names)), where)
    if isinstance(given, Expr):
        return without_floats(given)
    if isinstance(given, bool) or (not isinstance(given, int | float) and not hasattr(given, "__float__")):
        raise UsageError(f"{given!r} is not a number.", where=where, hint='0.5, or a text such as "pi/3"')
    value = float(given)
    if not math.isfinite(value):
        raise UsageError(f"{given!r} is not a finite number.", where=where, hint='0.5, or a text such as "pi/3"')
    share = Fraction(value / math.pi).limit_denominator(_ANGLES)
    if value and share and float(share) * math.pi == value:
        return sympy.Rational(share.numerator, share.denominator) * sympy.pi
    exact = Fraction(repr(value))
    return sympy.Rational(exact.numerator, exact.denominator)
