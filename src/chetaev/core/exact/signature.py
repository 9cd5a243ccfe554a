"""Signatures: the values of a program at random points of the field show which outputs are identically zero.

An expression that is not identically zero vanishes at a random point with a chance of about its degree in 10^13 (J. T. Schwartz, J. ACM 27
(1980) 701-717), so two independent points decide. Roots need more care: sqrt(u^2) - u vanishes at half of the points. An output with
roots that vanishes is tested again with a random sign for every root, to see whether it vanishes on all branches; where it does not
(sqrt(a*b) = sqrt(a)*sqrt(b) holds on one) forty points decide.

An expression that is not zero in the field may still vanish by an identity that the field does not know, as acos(x) + asin(x) - pi/2 does.
`has_values` looks for real points where a value stays the same as the number of digits grows, which shows that it does not vanish.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import mpmath

from chetaev.core.exact.field import PRIMES, Field, OutsideDomain, Residue
from chetaev.core.exact.functions import TABLE, FieldFunctions
from chetaev.core.exact.program import Compound, Program, many_digit_values
from chetaev.core.support.budget import tally

TRIALS = 2
"""Independent points at which an output must vanish to count as zero. With one, a wrong zero has a chance of about degree/10^13."""
_ROOTED_TRIALS = 40
"""As `TRIALS`, for identities that may hold on one branch of a root only; a wrong zero has a chance of 2^-40."""
_RELATED_TRIALS = 12
"""As `TRIALS`, for programs with roots at related points; many entries share these points, so forty would take too long."""
_DRAWS_IN_DOMAIN = 60
"""Points drawn until one lies in the domain. n independent roots need about 2^n draws; after these the field is extended."""
_RELATED_DRAWS = 6
"""Draws, in addition to two per point, after which `related` tries other common inputs: a root of these may have no value."""
_OPERATIONS_PER_LINE = 0.1
"""Operations that a line of a program counts for in a budget: it takes about a microsecond."""
_FIELDS = 4
"""Number of different fields; draws whose numbers differ by a multiple of it share a field."""


@dataclass(frozen=True)
class Spot:
    """A point at which programs are run: a field, values of the inputs, and the treatment of roots."""

    field: Field
    values: tuple[Residue, ...]
    extended: bool = False
    twisted: bool = False

    def run(self, program: Program) -> list[Residue]:
        """The outputs modulo p; `OutsideDomain` where one has no value."""
        p = self.field.p
        if program.needs_exponents:
            return [v % p for v in self.whole(program)]
        return _outputs(program, [v % p for v in self.values], FieldFunctions(self.field.prime, self.extended, self.twisted))

    def whole(self, program: Program) -> list[Residue]:
        """The outputs with their residues modulo q and r."""
        functions = FieldFunctions(self.field, self.extended, self.twisted)
        return _outputs(program, self.values, functions)


def _outputs(program: Program, values: Sequence[Residue], functions: FieldFunctions) -> list[Residue]:
    field, n = functions.field, functions.field.modulus
    held: dict[int, Residue] = {}
    inverses: dict[Residue, Residue] = {}
    v: Residue
    for operation, target, a, b in program.lines:
        if operation == "mul":
            v = held[a] * held[b] % n
        elif operation == "add":
            v = (held[a] + held[b]) % n
        elif operation == "sub":
            v = (held[a] - held[b]) % n
        elif operation == "sq":
            v = held[a] * held[a] % n
        elif operation == "neg":
            v = -held[a] % n
        elif operation == "number":
            v = field.number(a)
        elif operation == "input":
            v = values[a]
        elif operation == "div":
            below = held[b]
            if below not in inverses:
                inverses[below] = field.inverse(below)
            v = held[a] * inverses[below] % n
        elif operation == "inv":
            v = field.inverse(held[a])
        elif operation == "twice":
            v = 2 * held[a] % n
        elif operation == "assign":
            v = held[a]
        elif operation == "power":
            v = functions.power(held[a], b)
        elif operation == "not":
            v = (1 - held[a]) % n
        elif operation == "where":
            v = held[a] * held[b] % n
        elif operation == "constant":
            v = _outputs(a.program, (), functions)[0] if isinstance(a, Compound) else field.hashed(a)
        elif operation == "undefined":
            raise OutsideDomain
        elif operation in _BINARY:
            v = TABLE[operation](functions, held[a], held[b])
        elif isinstance(b, str):
            v = functions.of_number(operation, held[a], Fraction(b))
        else:
            v = TABLE[operation](functions, held[a])
        held[target] = v
    tally(_OPERATIONS_PER_LINE * len(program.lines))
    return [held[slot] for slot in program.outputs]


_BINARY = frozenset("min max atan2 pow less equal".split())
"""Operations of `TABLE` with two arguments."""


@cache
def field_number(k: int) -> Field:
    """One of a few fields, made once."""
    return Field(PRIMES[k % len(PRIMES)], seed=k + 1)


@lru_cache(maxsize=20_000)
def _input(draw: int, k: int) -> int:
    """The value of input k in a draw."""
    return field_number(draw % _FIELDS).hashed("input", draw, k)


def random_spot(program: Program, draw: int, extended: bool = False, twisted: bool = False) -> Spot:
    """A random point for the inputs of a program; equal numbers of the draw give equal points."""
    field = field_number(draw % _FIELDS)
    values = [_input(draw, k) for k in range(program.inputs)]
    for k in program.positive:
        values[k] = values[k] * values[k] % field.modulus
    return Spot(field, tuple(values), extended, twisted)


def runs(
    program: Program, count: int, first: int = 0, draws: int = _DRAWS_IN_DOMAIN, extended: bool = False
) -> Iterator[tuple[Spot, list[Residue]]]:
    """Random points of the domain, at most `count` of them, and the outputs there."""
    seen = 0
    for draw in range(first, first + draws):
        spot = random_spot(program, draw, extended)
        try:
            found = spot.run(program)
        except OutsideDomain:
            continue
        yield spot, found
        seen += 1
        if seen == count:
            return


def _decisive_runs(program: Program) -> Iterator[tuple[Spot, list[Residue]]]:
    """Yield `TRIALS` points of the domain with the outputs there, over the extended field if need be."""
    seen = False
    for found in runs(program, TRIALS):
        seen = True
        yield found
    if not seen:
        yield from runs(program, TRIALS, extended=True)


def related(program: Program, common: int, count: int | None = None) -> list[tuple[Spot, list[Residue]]]:
    """Points of the domain that agree in the first `common` inputs, with the outputs there. Equal outputs depend on these inputs only.

    There are `count` points, by default enough for a decision; the list is empty if too few are found.
    """
    wanted = count or (_RELATED_TRIALS if program.roots else TRIALS)
    for extended in (False, True):
        for draw in range(_DRAWS_IN_DOMAIN):
            first = random_spot(program, draw, extended)
            found: list[tuple[Spot, list[Residue]]] = []
            for k in range(2 * wanted + _RELATED_DRAWS):
                other = random_spot(program, draw + _FIELDS * (k + 1), extended)
                spot = Spot(first.field, (*first.values[:common], *other.values[common:]), extended)
                try:
                    found.append((spot, spot.run(program)))
                except OutsideDomain:
                    continue
                if len(found) == wanted:
                    return found
            if len(found) > wanted // 2:
                return found
    return []


def vanishing(program: Program) -> list[bool] | None:
    """For each output, whether it is identically zero; None if no point of the domain is found."""
    points = _decisive_runs(program)
    first = next(points, None)
    if first is None:
        return None
    if not any(value == 0 for value in first[1]):  # nothing vanishes, whatever further points show
        return [False] * len(program.outputs)
    found, extended = [first, *points], first[0].extended
    zero = [all(values[k] == 0 for _, values in found) for k in range(len(program.outputs))]
    if not program.roots or not any(zero):
        return zero
    twisted = _zero_on_all_branches(program, zero)
    if twisted == zero:
        return zero
    more = list(runs(program, _ROOTED_TRIALS, first=_DRAWS_IN_DOMAIN, draws=50 * _ROOTED_TRIALS, extended=extended))
    return [z and (t or all(values[k] == 0 for _, values in more)) for k, (z, t) in enumerate(zip(zero, twisted, strict=True))]


def _zero_on_all_branches(program: Program, suspects: Sequence[bool]) -> list[bool]:
    """For each output, whether it is a suspect and vanishes at points where every root has a random sign."""
    left, seen = list(suspects), 0
    for draw in range(_DRAWS_IN_DOMAIN):
        spot = random_spot(program, draw, extended=True, twisted=True)
        try:
            values = spot.run(program)
        except OutsideDomain:
            continue
        left = [z and v == 0 for z, v in zip(left, values, strict=True)]
        seen += 1
        if seen == TRIALS:
            return left
    return [False] * len(left)


_PAIRS_OF_DIGITS = ((60, 90), (400, 500), (3000, 3200))
"""Decimal digits with which a value must be the same. 1 + tanh(-300) is zero with 90 digits, and 1 + tanh(-3000) with 500."""
_POINTS_PER_PAIR = (12, 12, 4)
"""Random points tried with each pair of digits. With fewer, an expression with a small domain may find none and stay undecided."""
_SIZES_OF_POINTS = (1.0, 1.0, 0.2, 6.0)
"""Sizes of random points one after the other, which reach domains such as those of asin and acosh."""


def has_values(program: Program) -> list[bool]:
    """For each output, whether a random point shows that it differs from zero; False if none is found."""
    shown = [False] * len(program.outputs)
    for pair, points in zip(_PAIRS_OF_DIGITS, _POINTS_PER_PAIR, strict=True):
        for seed in range(points):
            first, second = (_values(program, seed, digits) for digits in pair)
            if first is None or second is None:
                continue
            agree = [a != 0 and abs(a - b) < abs(a) / 2 for a, b in zip(first, second, strict=True)]
            shown = [known or now for known, now in zip(shown, agree, strict=True)]
            if all(shown):
                return shown
    return shown


def _values(program: Program, seed: int, digits: int) -> list[Any] | None:
    """The outputs at a random point; None where one has no value."""
    mp = mpmath.mp.clone()
    mp.dps = digits
    chance = random.Random(seed)
    size = _SIZES_OF_POINTS[seed % len(_SIZES_OF_POINTS)]
    values = []
    for k in range(program.inputs):
        drawn = mp.mpf(chance.randint(200, 1300)) / 997 * size
        values.append(drawn if k in program.positive or chance.random() < 0.5 else -drawn)
    try:
        return [mp.mpf(v) for v in many_digit_values(program, values, mp)]
    except (ValueError, ZeroDivisionError, OverflowError, KeyError):
        return None
