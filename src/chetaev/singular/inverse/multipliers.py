r"""A search for simple integrating multipliers: $g_{\sigma\rho} E_\rho$ variational although $E$ is not.

A regular matrix $g$ does not change the solutions, but it changes whether the rows have a Lagrangian: $q'' + b\,q' + k\,q = 0$ has none,
but has $L = e^{bt}(q'^2 - k\,q^2)/2$ after multiplication by $e^{bt}$. The general multiplier solves partial differential equations; here
only these are tried:

- constant matrices, from the identities (8.1), which are linear in $g$;
- one factor $f(z)$ of $t$ or of one coordinate for all rows or one for each row, times a constant matrix; its logarithmic derivative
  follows from the identity of order $s - 1$, because $H^{s-1}[fE]/f = H^{s-1}[E] - (-1)^s s\,(f'/f)\,Dz\,B$;
- $e^{ct}$ times powers of coordinates and velocities, with exponents solved from the identities, times a constant matrix.

`helmholtz` verifies every result. A failed search proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, S, Symbol
from sympy.polys.matrices import DomainMatrix

from chetaev.core.notation import show
from chetaev.core.support.budget import allowance, limited, size
from chetaev.core.support.public import public
from chetaev.core.support.recursion import deep
from chetaev.core.symbols import TIME, Jet
from chetaev.core.zero import known_zero, vanishes
from chetaev.singular.inverse.helmholtz import Variationality, decide, identities, read_source
from chetaev.singular.inverse.primitives import antiderivative
from chetaev.singular.inverse.variation import highest_order, jets_of, tidy, without_jets

_LEAST_SECONDS = 1.0
"""Least budget, in seconds of counted operations, for the Lagrangian of the multiplied rows, even if the search used the whole budget."""
_SOLVE = 4.0
"""Budget, in seconds of counted operations, for the exponents of one product of powers;
systems that take longer have no simple solution."""
_LINEAR = 5.0
"""Budget, in seconds of counted operations, for the null space of the conditions on a constant matrix; beyond it no matrix is reported."""
_LARGEST_IN_PLACE = 300
"""Size, in nodes, of fractions and matrices that are processed in this process, within some tenths of a second."""
_MOST_FOR_MATRICES = 4
"""Largest number n of rows for which a constant matrix is searched: it has n^2 unknowns."""
_MOST_FOR_POWERS = 3
"""Largest number n of rows for which products of powers are searched: SymPy solves nonlinear equations for up to 2n + 1 exponents."""
Factors = tuple[Expr, ...]


@public
@dataclass(frozen=True)
class IntegratingFactor:
    """A multiplier with the variational rows and their Lagrangian; `matrix` is None if no multiplier was found among the kinds `tried`."""

    coordinates: tuple[Jet, ...]
    matrix: sympy.ImmutableMatrix | None
    verdict: Variationality | None
    tried: tuple[str, ...]
    complete: bool

    @property
    def found(self) -> bool:
        """Whether there is a multiplier."""
        return self.matrix is not None

    @property
    def rows(self) -> tuple[Expr, ...] | None:
        """The rows after multiplication."""
        return None if self.verdict is None else self.verdict.rows

    @property
    def lagrangian(self) -> Expr | None:
        """A Lagrangian of the multiplied rows."""
        return None if self.verdict is None else self.verdict.lagrangian

    def __str__(self) -> str:
        if self.matrix is None or self.verdict is None:
            return f"none found among: {'; '.join(self.tried)}" + ("" if self.complete else "; the work allowed ran out")
        n = len(self.coordinates)
        scalar = self.matrix[0, 0]
        if self.matrix == scalar * sympy.eye(n):
            text = show(scalar)
        else:
            text = "[" + ", ".join("[" + ", ".join(show(self.matrix[i, j]) for j in range(n)) + "]" for i in range(n)) + "]"
        return f"multiplier {text}\n{self.verdict}"


@public
def integrating_factor(form: Any, *, seconds: float = 20.0) -> IntegratingFactor:
    """Search a short list of kinds for a multiplier that makes rows variational.

    Args:
        form: A dynamical form, equations, a system or a model, with one row for each unknown.
        seconds: The budget, counted in operations, so that the answer does not depend on the machine.

    Returns:
        The multiplier, or the kinds that were tried without success.

    Raises:
        UsageError: If `form` has no rows.
        ModelError: If the numbers of rows and unknowns differ.

    >>> from chetaev.singular.dynamical.dynamical_form import DynamicalForm
    >>> print(integrating_factor(DynamicalForm("q", ["q'' + b*q' + k*q"], parameters="b k")))
    multiplier exp(t*b)
    variational: q
      L = b*q*q'*exp(t*b)/2 + k*q^2*exp(t*b)/2 + q*q''*exp(t*b)/2   (Vainberg-Tonti)
    """
    source = read_source(form, "integrating_factor")
    coordinates, rows = source.coordinates, [tidy(row) for row in source.rows]
    tried: list[str] = []
    matrix: sympy.Matrix | None = None
    with deep(), allowance(seconds) as spent:  # the answer names the kinds that were begun
        for kind, factors_of_kind in _KINDS.items():
            if factors_of_kind is _power_factors and len(rows) > _MOST_FOR_POWERS:
                continue
            tried.append(kind.replace(_MATRIX, "") if len(rows) > _MOST_FOR_MATRICES else kind)
            matrix = _search(coordinates, rows, factors_of_kind(coordinates, rows))
            if matrix is not None:
                break
    if matrix is None:
        return IntegratingFactor(coordinates, None, None, tuple(tried), not spent.expired)
    product = tuple(tidy(e) for e in matrix * sympy.Matrix(rows))
    with deep():
        verdict = decide(coordinates, product, max(_LEAST_SECONDS, seconds - spent.seconds))
    return IntegratingFactor(coordinates, sympy.ImmutableMatrix(matrix), verdict, tuple(tried), not spent.expired)


def _search(coordinates: Sequence[Jet], rows: Sequence[Expr], candidates: Iterator[Factors]) -> sympy.Matrix | None:
    """The first product of a constant matrix with row factors that makes the rows variational."""
    seen: set[Factors] = set()
    for factors in candidates:
        if factors in seen:
            continue
        seen.add(factors)
        multiplied = [tidy(f * row) for f, row in zip(factors, rows, strict=True)]
        constant = _constant_matrix(coordinates, multiplied)
        if constant is not None:
            return constant * sympy.diag(*factors)
    return None


def _no_factors(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Iterator[Factors]:
    yield (S.One,) * len(rows)


def _common_factors(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Iterator[Factors]:
    variables: list[Symbol] = [TIME, *coordinates]
    for z in variables:
        for f in _factors_of(z, coordinates, rows):
            yield (f,) * len(rows)


def _own_factors(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Iterator[Factors]:
    for own in (False, True):
        each = [_own_factor(q if own else TIME, q, row) for q, row in zip(coordinates, rows, strict=True)]
        yield tuple(S.One if f is None else f for f in each)


def _power_factors(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Iterator[Factors]:
    for f in _monomials(coordinates, rows):
        yield (f,) * len(rows)


_MATRIX = ", times a constant matrix"
"""Addition to the name of a kind that is also tried with a constant matrix."""
_KINDS = {
    "the given rows" + _MATRIX: _no_factors,
    "a function of t or of one coordinate" + _MATRIX: _common_factors,
    "a function of this kind for each row" + _MATRIX: _own_factors,
    "exp(c*t) times powers of coordinates and velocities" + _MATRIX: _power_factors,
}
"""The kinds of multipliers in the order in which they are tried, with their candidates."""


def _factors_of(z: Symbol, coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Iterator[Expr]:
    """Functions of z that make an identity of order s - 1 hold for some pair of rows."""
    order = highest_order(rows, coordinates)
    if order < (1 if z == TIME else 2):
        return
    at = {(i.sigma, i.nu): i.expression for i in identities(coordinates, rows) if i.k == order - 1}
    for (sigma, nu), expression in at.items():
        row = rows[[q.base for q in coordinates].index(nu)]
        q = next(q for q in coordinates if q.base == sigma)
        f = _from_quotient(z, expression, row.diff(q.d(order)), order)
        if f is not None:
            yield f


def _own_factor(z: Symbol, q: Jet, row: Expr) -> Expr | None:
    """The function of z that makes the identity of order s - 1 hold for a single row in its own coordinate."""
    order = highest_order([row], [q])
    if order < (1 if z == TIME else 2):
        return None
    expression = next(i.expression for i in identities([q], [row]) if i.k == order - 1)
    return _from_quotient(z, expression, row.diff(q.d(order)), order)


def _from_quotient(z: Symbol, expression: Expr, leading: Expr, order: int) -> Expr | None:
    r"""The factor f with $f'/f = (-1)^s H/(s\,Dz\,B)$, if that depends on z alone."""
    if known_zero(leading) or known_zero(expression):
        return None
    quotient = (-1) ** order * expression / (order * leading * (1 if z == TIME else z.d()))
    rate = limited(sympy.cancel, quotient, seconds=_SOLVE, small=size(quotient) <= _LARGEST_IN_PLACE).or_else(quotient)
    others = [w for w in rate.free_symbols if w != z and (isinstance(w, Jet) or w == TIME)]
    if not all(known_zero(rate.diff(w)) for w in others):
        return None
    exponent = antiderivative(without_jets(rate, others), z)
    return None if exponent is None else sympy.powsimp(sympy.expand(sympy.exp(exponent)))


def _monomials(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> Iterator[Expr]:
    """exp(c t) times powers, with exponents that solve the identities; free exponents are 0."""
    present = set().union(*[jets_of(row, coordinates) for row in rows])
    bases = [z for q in coordinates for z in (q, q.d()) if z in present]
    exponents = [sympy.Dummy(f"a{k}", real=True) for k in range(len(bases) + 1)]
    for chosen in [[z] for z in bases] + [bases]:
        powers = dict(zip(bases, exponents[1:], strict=True))
        f = sympy.exp(exponents[0] * TIME) * sympy.Mul(*[z ** powers[z] for z in chosen])
        unknowns = [exponents[0], *[powers[z] for z in chosen]]
        conditions = _conditions([tidy(i.expression / f) for i in identities(coordinates, [f * row for row in rows])])
        for solution in limited(_solutions, tuple(conditions), tuple(unknowns), seconds=_SOLVE).or_else([]):
            values = {a: solution.get(a, S.Zero).xreplace(dict.fromkeys(exponents, S.Zero)) for a in unknowns}
            if all(v.is_real is not False for v in values.values()):
                yield f.xreplace(values)


def _solutions(conditions: tuple[Expr, ...], unknowns: tuple[Symbol, ...]) -> list[dict[Symbol, Expr]]:
    found: list[dict[Symbol, Expr]] = sympy.solve(conditions, unknowns, dict=True)
    return found


def _kernel(system: sympy.Matrix) -> sympy.Matrix:
    """The null space, by rows."""
    return DomainMatrix.from_Matrix(system).to_field().nullspace().to_Matrix()


def _conditions(expressions: Sequence[Expr]) -> list[Expr]:
    """The coefficients of the different functions of the jets and of time, which must vanish one by one."""
    found: list[Expr] = []
    for e in expressions:
        gathered: dict[Expr, list[Expr]] = {}
        moving = [z for z in e.free_symbols if isinstance(z, Jet) or z == TIME]
        for term in sympy.Add.make_args(e):
            coefficient, function = term.as_independent(*moving, as_Add=False)
            gathered.setdefault(function, []).append(coefficient)
        found += [c for parts in gathered.values() if (c := tidy(sympy.Add(*parts))) != 0]
    return list(dict.fromkeys(found))


def _constant_matrix(coordinates: Sequence[Jet], rows: Sequence[Expr]) -> sympy.Matrix | None:
    """A regular constant matrix that makes the rows variational, preferably the unit matrix; None if none was found."""
    n = len(rows)
    if all(known_zero(i.expression) for i in identities(coordinates, rows)):
        return sympy.eye(n)
    if not 1 < n <= _MOST_FOR_MATRICES:
        return None
    shapes = (sympy.eye(n), sympy.ones(n, n))  # diagonal matrices first, then full ones
    return next((m for shape in shapes if (m := _matrix_of_shape(shape, coordinates, rows)) is not None), None)


def _matrix_of_shape(shape: sympy.Matrix, coordinates: Sequence[Jet], rows: Sequence[Expr]) -> sympy.Matrix | None:
    n = len(rows)
    g = sympy.Matrix(n, n, lambda i, j: sympy.Dummy(f"g{i}{j}", real=True) if shape[i, j] else S.Zero)
    unknowns = [z for z in g if z != 0]
    mixed = [tidy(e) for e in g * sympy.Matrix(rows)]
    conditions = _conditions([tidy(i.expression) for i in identities(coordinates, mixed)])
    if not conditions:
        return None
    system = sympy.Matrix([[c.diff(z) for z in unknowns] for c in conditions])
    kernel = limited(_kernel, system.as_immutable(), seconds=_LINEAR, small=size(*system) <= _LARGEST_IN_PLACE).value
    if kernel is None:
        return None
    solutions = [dict(zip(unknowns, kernel.row(k), strict=True)) for k in range(kernel.rows)]
    basis = [g.xreplace(solution) for solution in solutions]
    return next((_cleared(m) for m in _combinations(basis) if _is_regular(m) and _is_variational(coordinates, m, rows)), None)


def _combinations(basis: Sequence[sympy.Matrix]) -> Iterator[sympy.Matrix]:
    """Members of a space of matrices, the simplest first."""
    if not basis:
        return
    yield from basis
    yield sum(basis[1:], basis[0])
    yield sum(((k + 2) ** 2 * m for k, m in enumerate(basis[1:])), basis[0])


def _cleared(matrix: sympy.Matrix) -> sympy.Matrix:
    """The matrix without common denominators and factors of its entries."""
    entries = [sympy.fraction(sympy.together(e)) for e in matrix]
    common = sympy.lcm_list([below for _, below in entries]) if entries else S.One
    whole = matrix.applyfunc(lambda e: sympy.cancel(e * common))
    divisor = sympy.gcd_list([e for e in whole if e != 0])
    return whole.applyfunc(lambda e: sympy.cancel(e / divisor))


def _is_regular(matrix: sympy.Matrix) -> bool:
    return vanishes(tidy(matrix.det(method="berkowitz"))) is False


def _is_variational(coordinates: Sequence[Jet], matrix: sympy.Matrix, rows: Sequence[Expr]) -> bool:
    mixed = [tidy(e) for e in matrix * sympy.Matrix(list(rows))]
    return all(known_zero(i.expression) for i in identities(coordinates, mixed))
