r"""Pivots that no state makes zero, because a mass matrix is positive definite.

The pivots of a matrix $G$ on its diagonal are quotients of principal minors, in any order of elimination. If $a^T G a > 0$ for all
$a \ne 0$ they are all positive, even if G is not symmetric. So are those of $B^T M B$ for every $B$ with independent columns, if
$a^T M a > 0$.

To show this, $a^T M a$ is written as $f^T N f$, with *features* $f$: each rate $a_i$ itself, or $a_i \cos q_i$ and $a_i \sin q_i$, where
the entries of $N$ do not depend on the state. Since $\cos^2 + \sin^2 = 1$, no $a \ne 0$ makes all features zero, and it is enough that N
is positive definite: a matter of numbers. For bodies joined in a plane, such as chains and trailers, this is their kinetic energy as a
function of the velocities of joints in space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from chetaev.core.exact.program import fraction_of
from chetaev.core.symbols import Jet, Multiplier, Parameter
from chetaev.numerics.flow.constraints.null_space import NullSpaceRows
from chetaev.numerics.flow.flow import Flow
from chetaev.numerics.graphs.arithmetic import NOTHING, is_nothing, plus, times
from chetaev.numerics.graphs.identity_cache import Remembered
from chetaev.numerics.graphs.rounding_bounds import values_and_doubts
from chetaev.numerics.machine.tape import Line, fold, lines_of, tape_of

Range = tuple[float, float]
Exact = tuple[Fraction, Fraction]
"""Bounds of a number."""
Monomial = tuple[int, ...]
"""The atoms of a product, in order (`_Expansion`)."""
Polynomial = dict[Monomial, ca.SX]
"""Coefficients that contain parameters alone."""

_MARGIN = 1e-9
"""Least eigenvalue that counts as positive, where the diagonal is one. The rounding of entries and of Cholesky's method for a matrix of
some hundred rows is below a thousandth of that; with a larger margin light bodies beside heavy ones would be proved less often."""
_MOST_TERMS = 20_000
"""Most products that one operation may make, which takes a tenth of a second."""
_MOST_MULTIPLE = 4.0
"""Largest multiple of a coordinate in an angle, as in cos(2*q), that is expanded."""

_FORMS: Remembered[_Form | None] = Remembered(64)
_DEFINITE: Remembered[bool] = Remembered(256)


class _NotShown(Exception):
    """Something that is no quadratic form in features, or has no bounds."""


@dataclass(frozen=True)
class _Form:
    """The matrix N, as a function of parameters."""

    places: tuple[int, ...]
    """Which pivots are positive where N is positive definite."""
    size: int
    entries: tuple[tuple[int, int], ...]
    parameters: tuple[Symbol, ...]
    function: ca.Function
    lines: list[Line]

    def is_definite(self, ranges: Mapping[Symbol, Range]) -> bool:
        """Whether N, or -N, is positive definite for all values of the parameters between their bounds."""
        if not all(z in ranges and all(map(isfinite, ranges[z])) for z in self.parameters):
            return False
        given = [ranges[z] for z in self.parameters]
        try:
            if all(low == high for low, high in given):
                found = values_and_doubts(self.function, np.array([low for low, _ in given]), np.zeros(len(given)), self.lines)
            else:
                found = self._between(given)
        except _NotShown:
            return False
        middle, radius = np.zeros((2, self.size, self.size))
        rows, columns = np.array(self.entries).T
        middle[rows, columns] = middle[columns, rows] = found[0]
        radius[rows, columns] = radius[columns, rows] = found[1]
        return _is_definite(middle, radius) or _is_definite(-middle, radius)

    def _between(self, bounds: Sequence[Range]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The middles of the entries for parameters between bounds, and their distances from these."""
        given = [(first := Fraction(low), first if low == high else Fraction(high)) for low, high in bounds]
        found = fold(self.function, lambda _, k: given[k], _number, _bounds, self.lines)
        both = [one or (Fraction(0), Fraction(0)) for one in found]
        return np.array([float((low + high) / 2) for low, high in both]), np.array([float((high - low) / 2) for low, high in both])


def positive_pivots(flow: Flow, ranges: Mapping[Symbol, Range]) -> frozenset[int]:
    """The places of pivots that are shown to vanish at no state, with parameters between bounds."""
    form = _FORMS.get(flow, (), lambda: _form(flow))
    if form is None:
        return frozenset()
    given = tuple(ranges.get(z) for z in form.parameters)
    return frozenset(form.places) if _DEFINITE.get(flow, given, lambda: form.is_definite(ranges)) else frozenset()


def _is_definite(middle: NDArray[np.float64], radius: NDArray[np.float64]) -> bool:
    """Whether all symmetric matrices within a radius are positive definite."""
    diagonal = middle.diagonal()
    if not (np.isfinite(middle).all() and np.isfinite(radius).all() and (diagonal > 0).all()):
        return False
    units = 1 / np.sqrt(diagonal)
    least = _MARGIN + (radius * units[:, None] * units).sum(axis=1).max(initial=0.0)
    scaled = middle * units[:, None] * units - least * np.eye(len(middle))
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return False
    return True


def _number(x: float) -> Exact:
    if not isfinite(x):
        raise _NotShown
    return (fraction_of(x),) * 2


def _bounds(operation: int, arguments: tuple[Exact, ...]) -> Exact:
    """Exact arithmetic of intervals."""
    a, b = arguments[0], arguments[-1]
    if operation == ca.OP_NEG:
        return -a[1], -a[0]
    if operation in (ca.OP_ADD, ca.OP_TWICE):
        low = a[0] + b[0]
        return low, low if a[0] is a[1] and b[0] is b[1] else a[1] + b[1]
    if operation == ca.OP_SUB:
        return a[0] - b[1], a[1] - b[0]
    if operation in (ca.OP_DIV, ca.OP_INV):
        if b[0] <= 0 <= b[1]:
            raise _NotShown
        a, b = a if operation == ca.OP_DIV else (Fraction(1),) * 2, (1 / b[1], 1 / b[0])
    elif operation not in (ca.OP_MUL, ca.OP_SQ):
        raise _NotShown
    if a[0] is a[1] and b[0] is b[1]:
        return (a[0] * b[0],) * 2
    products = {x * y for x in a for y in b} if a is not b else {a[0] ** 2, a[1] ** 2, *([Fraction(0)] if a[0] < 0 < a[1] else [])}
    return min(products), max(products)


def _form(flow: Flow) -> _Form | None:
    """The form that shows that some pivots do not vanish; None if none is found."""
    top, rows, order = flow.system.structure.top, flow.extended, flow.order
    rates = [z for z in top if not isinstance(z, Multiplier)]
    along: list[ca.SX] = ca.vertsplit(ca.SX.sym("along", len(rates)))
    if isinstance(rows, NullSpaceRows):
        first, forces = len(rows.recursion.steps), rows.inertia(along)
    elif rows is None and len(rates) == len(top) == len(order.pairs):
        first, forces = 0, [_dot(line, along) for line in flow.system.structure.jacobian]
    else:
        return None
    places = tuple(k for k, (i, _) in enumerate(order.pairs) if i >= first)
    if order.signs or any(order.pairs[k][0] != order.pairs[k][1] for k in places):
        return None
    symbols = sorted(flow.graph.symbols_of(forces), key=lambda z: z.name)
    moving, fixed = ([z for z in symbols if isinstance(z, Parameter) is held] for held in (False, True))
    leaves, parameters = [*along, *[flow.graph.leaf(z) for z in moving]], [flow.graph.leaf(z) for z in fixed]
    own = [next((k for k, q in enumerate(moving) if isinstance(q, Jet) and (q.base, q.order) == (z.base, 0)), -1) for z in rates]
    try:
        power = _Expansion(flow.graph.numeric(_dot(forces, along)), leaves, parameters).found
        return _of_entries(flow, places, _entries(power, own))
    except _NotShown:
        return None


def _dot(line: Iterable[ca.SX], along: Sequence[ca.SX]) -> ca.SX:
    found = NOTHING
    for e, a in zip(line, along, strict=True):
        found = found if is_nothing(e) else plus(found, times(e, a))
    return found


class _Expansion:
    """An expression as a polynomial in the cosines and sines of some leaves, and in the leaves themselves: leaf k is the atom 3k, its
    cosine 3k + 1, its sine 3k + 2.
    """

    def __init__(self, e: ca.SX, leaves: Sequence[ca.SX], parameters: Sequence[ca.SX]) -> None:
        self._parameters = parameters
        function = ca.Function("power", [ca.vertcat(*leaves), ca.vertcat(*parameters)], [e])
        (found,) = fold(function, self._read, self._number, self._applied)
        self.found: Polynomial = found or {}

    def _read(self, which: int, entry: int) -> Polynomial:
        return {(3 * entry,): ca.SX(1)} if which == 0 else {(): self._parameters[entry]}

    def _number(self, x: float) -> Polynomial:
        return {(): ca.SX(x)} if x else {}

    def _applied(self, operation: int, arguments: tuple[Polynomial, ...]) -> Polynomial:
        a, b = arguments[0], arguments[-1]
        if operation in (ca.OP_ADD, ca.OP_TWICE):
            return _sum(a, b)
        if operation == ca.OP_SUB:
            return _sum(a, _times(b, {(): ca.SX(-1)}))
        if operation == ca.OP_NEG:
            return _times(a, {(): ca.SX(-1)})
        if operation in (ca.OP_MUL, ca.OP_SQ):
            return _times(a, b)
        if operation in (ca.OP_COS, ca.OP_SIN) and set(a) - {()}:
            return _turned(a)[operation == ca.OP_SIN]
        if set(b) == {()} and operation in (ca.OP_DIV, ca.OP_INV):
            inverse: Polynomial = {(): ca.SX.unary(ca.OP_INV, b[()])}
            return _times(a, inverse) if operation == ca.OP_DIV else inverse
        raise _NotShown


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    found = dict(a)
    for monomial, e in b.items():
        found[monomial] = plus(found[monomial], e) if monomial in found else e
    return found


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > _MOST_TERMS:
        raise _NotShown
    found: Polynomial = {}
    for one, e in a.items():
        for other, f in b.items():
            monomial, product = tuple(sorted(one + other)), times(e, f)
            found[monomial] = plus(found[monomial], product) if monomial in found else product
    return found


def _turned(angle: Polynomial) -> tuple[Polynomial, Polynomial]:
    """The cosine and the sine of a sum of multiples of leaves, by the addition theorems."""
    cosine: Polynomial = {(): ca.SX(1)}
    sine: Polynomial = {}
    for monomial, e in angle.items():
        multiple = float(e) if e.is_constant() else 0.5
        if len(monomial) != 1 or monomial[0] % 3 or not multiple.is_integer() or abs(multiple) > _MOST_MULTIPLE:
            raise _NotShown
        c: Polynomial = {(monomial[0] + 1,): ca.SX(1)}
        s: Polynomial = {(monomial[0] + 2,): ca.SX(np.sign(multiple))}
        for _ in range(int(abs(multiple))):
            less = _times(_times(sine, s), {(): ca.SX(-1)})
            cosine, sine = _sum(_times(cosine, c), less), _sum(_times(sine, c), _times(cosine, s))
    return cosine, sine


def _entries(power: Polynomial, own: Sequence[int]) -> dict[tuple[tuple[int, int], tuple[int, int]], ca.SX]:
    """The upper half of N by pairs of features, each a rate and what multiplies it: 0 nothing, 1 the cosine of its own coordinate, 2 the
    sine. `own` are the numbers of these coordinates among the leaves behind the rates; -1 for none.
    """
    found: dict[tuple[tuple[int, int], tuple[int, int]], ca.SX] = {}
    whole: list[tuple[int, ca.SX]] = []
    for monomial, e in power.items():
        if e.is_zero():
            continue
        rates = [atom // 3 for atom in monomial if atom < 3 * len(own) and atom % 3 == 0]
        turns = [atom for atom in monomial if atom >= 3 * len(own)]
        if len(rates) != 2 or len(rates) + len(turns) != len(monomial):
            raise _NotShown
        if rates[0] == rates[1] and not turns:
            whole.append((rates[0], e))
            continue
        kinds = []
        for rate in rates:
            first = 3 * (len(own) + own[rate])
            suiting = [atom for atom in turns if own[rate] >= 0 and first < atom <= first + 2]
            kinds.append(suiting[0] - first if suiting else 0)
            turns = [atom for k, atom in enumerate(turns) if k != (turns.index(suiting[0]) if suiting else -1)]
        if turns or (rates[0] == rates[1] and 0 in kinds):
            raise _NotShown
        one, other = sorted(zip(rates, kinds, strict=True))
        share = e if one == other else times(e, ca.SX(0.5))
        found[one, other] = plus(found[one, other], share) if (one, other) in found else share
    turning = {rate for pair in found for rate, kind in pair if kind}
    if any(rate in turning and not kind for pair in found for rate, kind in pair):
        raise _NotShown  # 1 is no linear form in cosine and sine
    for rate, e in whole:
        for kind in (1, 2) if rate in turning else (0,):
            pair = ((rate, kind),) * 2
            found[pair] = plus(found[pair], e) if pair in found else e
    return found


def _of_entries(flow: Flow, places: tuple[int, ...], entries: dict[tuple[tuple[int, int], tuple[int, int]], ca.SX]) -> _Form | None:
    """The form with these entries; None if some rate has no feature, whose pivot may then be zero."""
    features = sorted({feature for pair in entries for feature in pair})
    needed = {(rate, 3 - kind) for rate, kind in features if kind}
    rates = sum(not isinstance(z, Multiplier) for z in flow.system.structure.top)
    if {rate for rate, _ in features} != set(range(rates)) or not needed <= set(features):
        return None
    column, number = ca.vertcat(*entries.values()), {feature: k for k, feature in enumerate(features)}
    parameters = sorted(flow.graph.symbols_of(list(entries.values())), key=lambda z: z.name)
    function = flow.graph.function("inertia", [flow.graph.vector(parameters)], column, cse=True)
    pairs = tuple((number[one], number[other]) for one, other in entries)
    return _Form(places, len(features), pairs, tuple(parameters), function, list(lines_of(tape_of(function))))
