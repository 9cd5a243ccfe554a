r"""First and second class constraints, and the Dirac bracket.

Let $C_{ij} = \{\varphi_i, \varphi_j\}$ on the final manifold. Rows that are independent there belong to constraints $\chi$ of *second
class*, and the block $C_{ab} = \{\chi_a, \chi_b\}$ of a skew matrix on independent rows is regular. With its inverse

$$ \psi_i = \varphi_i - \{\varphi_i, \chi_a\}\, C^{ab}\, \chi_b, \qquad \{f, g\}^* = \{f, g\} - \{f, \chi_a\}\, C^{ab}\, \{\chi_b, g\} $$

are the constraints of *first class*, whose brackets with all constraints vanish on the manifold, and the Dirac bracket. Poisson brackets
$\{f, g\} = \sum_i \partial_{q^i} f\, \partial_{p_i} g - \partial_{p_i} f\, \partial_{q^i} g$ are computed for expressions or in a ring. On
$T^*G$ in the frame of the group, $\{z, p_a\} = X_a z$ for a function z of the position, and $\{p_a, p_b\} = -C^c_{ab}\, p_c$.

A change of the free functions displaces a state along $X_\psi$ for the primary constraints $\psi$ of first class, then also along
$X_{\partial_t\psi + \{\psi, H'\}}$, and so on, including brackets. Dirac's conjecture is that all constraints of first class are reached.
It fails where a constraint is the square of another one (Cawley): $X_{z^2}$ vanishes on $z = 0$.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Add, Expr, Matrix, S, Symbol
from sympy.polys.domains import QQ
from sympy.polys.matrices import DomainMatrix

from chetaev.core.functions import in_own_functions
from chetaev.core.support.public import public
from chetaev.core.symbols import TIME
from chetaev.core.values import Tape, Undefined
from chetaev.mechanics.ranks.generic import rank
from chetaev.singular.algorithm.branches import Branch
from chetaev.singular.algorithm.ideals import basis_of, normal_form
from chetaev.singular.algorithm.leaf import largest_codimension
from chetaev.singular.algorithm.space import Fraction, Poly, Space
from chetaev.singular.dirac_bergmann.closure import Manifold

Pairs = Sequence[tuple[Symbol, Symbol] | tuple[Symbol, Symbol, Expr]]
"""Coordinates with their momenta, or any two variables with their bracket if that is not one."""
Momenta = tuple[Sequence[Symbol], Sequence[Symbol]]
"""All momenta, and those of coordinates that have positions."""
Slopes = Mapping[Symbol, Fraction]
"""The nonzero partial derivatives of a function."""


def poisson_bracket(f: Expr, g: Expr, pairs: Pairs) -> Expr:
    r"""$\{f, g\}$ of two expressions.

    >>> from chetaev.core.symbols import coordinates
    >>> x, p = coordinates("x p")
    >>> poisson_bracket(x**2, p, [(x, p)])
    2*x
    """
    terms = [value * (_slope(f, q) * _slope(g, p) - _slope(f, p) * _slope(g, q)) for q, p, value in _valued(pairs)]
    return in_own_functions(Add(*terms))


def _valued(pairs: Pairs) -> Iterator[tuple[Symbol, Symbol, Expr]]:
    """The pairs with their brackets."""
    for pair in pairs:
        yield pair if len(pair) == 3 else (*pair, S.One)


def _slope(f: Expr, z: Symbol) -> Expr:
    return f.diff(z) if z in f.free_symbols else f * 0


def slopes(space: Space, f: Fraction) -> dict[Symbol, Fraction]:
    """The partial derivatives of a quotient of two polynomials of the ring."""
    n, d = f
    above, below = space.partials(n), space.partials(d) if not d.is_ground else {}
    found = {}
    for z in {**above, **below}:
        parts = []
        if z in above:
            parts.append((above[z][0], above[z][1] * d))
        if z in below:
            parts.append((-n * below[z][0], below[z][1] * d**2))
        a, b = space.sum(parts)
        if a:
            found[z] = space.cancel(a, b)
    return found


def ring_bracket(space: Space, f: Slopes, g: Slopes, pairs: Pairs) -> Fraction:
    r"""$\{f, g\}$ from partial derivatives, in the ring."""
    parts: list[Fraction] = []
    for q, p, value in _valued(pairs):
        own: list[Fraction] = []
        if q in f and p in g:
            own.append(space.times(f[q], g[p]))
        if p in f and q in g:
            own.append(space.times(space.minus(f[p]), g[q]))
        parts += own if value == 1 else [space.times(part, space.read(value)) for part in own]
    return space.sum(parts)


@public
@dataclass(frozen=True)
class Classes:
    """Constraints by class, and the inverse of the matrix of brackets of those of second class."""

    first: tuple[Expr, ...]
    second: tuple[Expr, ...]
    inverse: Matrix
    determinant_factors: tuple[Expr, ...]
    """Denominators of the inverse that depend on the state."""

    def bracket(self, f: Expr, g: Expr, pairs: Pairs) -> Expr:
        """The Dirac bracket, defined in phase space where the matrix of the second class is regular."""
        left = [poisson_bracket(f, chi, pairs) for chi in self.second]
        right = [poisson_bracket(chi, g, pairs) for chi in self.second]
        terms = [-a * self.inverse[i, j] * b for i, a in enumerate(left) for j, b in enumerate(right)]
        return Add(poisson_bracket(f, g, pairs), *terms)


def independent(manifold: Manifold, constraints: Sequence[Fraction], variables: Sequence[Symbol]) -> list[int]:
    """The indices of the first constraints whose differentials are linearly independent at a general point of the branch."""
    space, branch = manifold.space, manifold.branch
    nothing = (space.zero, space.one)
    rows = []
    for f in constraints:
        parts = slopes(space, f)
        row, _ = space.cleared([parts.get(z, nothing) for z in variables])
        rows.append([branch.reduce(space, e) for e in row])
    return _independent_rows(manifold, rows, most=largest_codimension(space, branch))


def classify(manifold: Manifold, constraints: Sequence[Fraction], pairs: Pairs) -> Classes:
    """The classes of independent constraints on the final manifold."""
    space, branch = manifold.space, manifold.branch
    parts = [slopes(space, f) for f in constraints]
    matrix = [_row(space, branch, parts, i, pairs) for i in range(len(parts))]
    chosen = _independent_rows(manifold, matrix, most=len(matrix))
    written = [space.quotient(f) for f in constraints]
    inverse, denominators = _inverse(space, [[ring_bracket(space, parts[i], parts[j], pairs) for j in chosen] for i in chosen])
    second = tuple(written[i] for i in chosen)
    first = []
    for i in range(len(parts)):
        if i in chosen:
            continue
        weights = [_value(space, ring_bracket(space, parts[i], parts[j], pairs), branch) for j in chosen]
        terms = [-w * inverse[a, b] * second[b] for a, w in enumerate(weights) for b in range(len(chosen))]
        first.append(Add(written[i], *terms))
    return Classes(tuple(first), second, inverse, denominators)


def _row(space: Space, branch: Branch, parts: Sequence[Slopes], i: int, pairs: Pairs) -> list[Poly]:
    row, _ = space.cleared([ring_bracket(space, parts[i], other, pairs) for other in parts])
    return [branch.reduce(space, e) for e in row]


def _independent_rows(manifold: Manifold, rows: Sequence[Sequence[Poly]], most: int) -> list[int]:
    """The indices of the first independent rows, of which there are at most `most`."""
    chosen: list[int] = []
    for i, row in enumerate(rows):
        if len(chosen) < most and any(row) and manifold.rank([rows[k] for k in [*chosen, i]]) > len(chosen):
            chosen.append(i)
    return chosen


def _inverse(space: Space, matrix: Sequence[Sequence[Fraction]]) -> tuple[Matrix, tuple[Expr, ...]]:
    """The inverse of a matrix of fractions of the ring, exactly."""
    n = len(matrix)
    if not n:
        return Matrix(0, 0, []), ()
    names = [*space.parameters, *space.symbols]
    domain = QQ.frac_field(*names)
    basis = basis_of(space, space.relations)

    def element(f: Fraction) -> Any:
        above, below = (domain.from_sympy(part.as_expr(*space.symbols)) for part in (normal_form(f[0], basis), f[1]))
        return above / below

    found = DomainMatrix([[element(f) for f in row] for row in matrix], (n, n), domain).inv().to_list()
    quotients = [[space.in_jets(e.numer.as_expr(*names)) / space.in_jets(e.denom.as_expr(*names)) for e in row] for row in found]
    below: list[Expr] = []
    for row in found:
        for e in row:
            for f, _ in e.denom.factor_list()[1]:
                written = space.in_jets(f.as_expr(*names))
                if written not in below and any(z not in space.parameters for z in written.free_symbols):
                    below.append(written)
    return Matrix(quotients), tuple(below)


def _value(space: Space, f: Fraction, branch: Branch) -> Expr:
    """A fraction on the branch, in the user's notation."""
    return space.quotient((branch.reduce(space, f[0]), branch.reduce(space, f[1])))


def gauge_directions(
    generators: Sequence[Expr], hamiltonian: Expr, pairs: Pairs, points: Sequence[Mapping[Symbol, float]], momenta: Momenta
) -> int | None:
    """The number of directions in which free functions move a state, the largest over `points`; None without a point."""
    if not generators:
        return 0
    known = list(generators)
    new = list(generators)
    found = _rank(known, pairs, points, momenta)
    if found is None:
        return None
    while new:
        next_ones = [in_own_functions(g.diff(TIME)) + poisson_bracket(g, hamiltonian, pairs) for g in new]
        next_ones += [poisson_bracket(g, k, pairs) for g in new for k in generators if g != k]
        kept: list[Expr] = []
        for g in next_ones:
            larger = _rank([*known, g], pairs, points, momenta)
            if larger is not None and larger > found:
                known.append(g)
                kept.append(g)
                found = larger
        new = kept
    return found


def _rank(functions: Sequence[Expr], pairs: Pairs, points: Sequence[Mapping[Symbol, float]], momenta: Momenta) -> int | None:
    """The rank of the differentials at general points: Hamiltonian fields are independent exactly if these are.

    The differential is taken with respect to momenta and along the fields that these generate: positions on a group have more stored
    numbers than directions, and a velocity without position has none.
    """
    everything, placed = momenta
    lines = [[*[in_own_functions(f.diff(p)) for p in placed], *[poisson_bracket(f, p, pairs) for p in everything]] for f in functions]
    tape = Tape([e for line in lines for e in line])
    ranks = []
    for point in points:
        try:
            values = tape(point)
        except Undefined:
            continue
        ranks.append(rank(np.array(values, dtype=float).reshape(len(functions), len(lines[0]))))
    return max(ranks) if ranks else None
