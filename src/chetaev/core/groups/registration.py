r"""Groups of other authors: a class with the base `Group` is checked exactly, and from then on its word declares coordinates.

A wrong sign in a formula of a group would silently give wrong motions, so the formulas are compared with the basis before anything uses
them, as identities in all variables:

$$ [E_a, E_b] = c^c_{ab} E_c, \qquad \xi(z, z'(z, \xi)) = \xi, \qquad
   \frac{\partial A}{\partial z}\, z'(z, \xi) = A\, \xi^a E_a \ (\text{body}),\ \xi^a E_a A\ (\text{spatial}). $$
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sympy
from sympy import Expr, Matrix, S, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.fixes import Advice
from chetaev.core.groups.coordinate import coordinate_of
from chetaev.core.groups.kinds import GROUPS, Group, commutator
from chetaev.core.zero import vanishes

_WORD = re.compile(r"[A-Z][A-Za-z0-9]{0,15}")
"""The form of a word that names a group; in lower case it names the algebra."""
_PLACE = re.compile(r"[a-z][a-z0-9]{0,15}")
"""The form of a name of a stored number. `w` is the first component of a quaternion, whose length does not count."""
_MOST_ROWS = 9
"""Largest dimension and largest number of rows: `A12` could otherwise be a component or an entry."""
_SAMPLE_PLACE = (0.3, -0.2, 0.5, 0.1, -0.4, 0.25, -0.15, 0.35, 0.45)
"""A place near zero, added to the identity, at which `of_matrix` is tried."""
_SAME_PLACE = 1e-12
"""Largest difference between a sample place and `of_matrix` of its matrix; numbers of order one, a few operations."""


def register_group(kind: type[Group]) -> type[Group]:
    """Check a class of groups and make its word known to declarations; registering the same group again has no effect."""
    word = getattr(kind, "word", "")
    if not isinstance(word, str) or not _WORD.fullmatch(word):
        raise _refused(f"{kind.__name__} has no word of letters and digits that begins with a capital one.", f'word = "{kind.__name__}"')
    group = kind()
    _check(group)
    known = GROUPS.get(word) or next((other for name, other in GROUPS.items() if name.lower() == word.lower()), None)
    if known is not None and _formulas(known) != _formulas(group):
        raise _refused(f"{word} is the word of another group.", "choose another word")  # systems that were declared before would change
    GROUPS[word] = group
    coordinate_of.cache_clear()
    return kind


def _check(group: Group) -> None:
    """Raise a UsageError if the data of `group` contradict each other."""
    name, n, basis = group.word, group.size, group.basis
    if group.orthogonal:
        raise _refused(f"{name} has orthogonal = {group.orthogonal}; only groups of the library store rotations.", "leave it out")
    square = all(len(e) == n and all(len(row) == n and all(isinstance(v, int) for v in row) for row in e) for e in basis)
    if not basis or not square or max(n, len(basis)) > _MOST_ROWS:
        raise _refused(
            f"the basis of {name} is not a list of {n}x{n} matrices of integers.", f"at most {_MOST_ROWS} matrices of {_MOST_ROWS} rows"
        )
    places = group.places
    if len(places) != len(basis) or len(set(places)) < len(places) or not all(map(_PLACE.fullmatch, places)) or "w" in places:
        raise _refused(f"{name} stores {', '.join(places)}.", f"{len(basis)} different names in lower case, as many as dimensions, none w")
    _check_algebra(group)
    _check_formulas(group)
    sample = [v + s for v, s in zip(group.identity, _SAMPLE_PLACE, strict=False)]
    back = group.of_matrix([[float(v) for v in row] for row in group.matrix(sample, sympy.cos, sympy.sin)])
    if len(back) != len(sample) or any(abs(a - b) > _SAME_PLACE for a, b in zip(back, sample, strict=True)):
        raise _refused(f"of_matrix of {name} does not return the place whose matrix it gets.", f"{sample} becomes {list(back)}")


def _check_algebra(group: Group) -> None:
    """Require that the basis spans a Lie algebra with integer structure constants, each read from an entry that one matrix has."""
    try:
        brackets = group.brackets
    except ValueError as fault:
        raise _refused(f"the basis of {group.word}: {fault}.", "combine the matrices so that each has such an entry") from None
    n = range(group.size)
    for (a, b), parts in brackets.items():
        bracket = commutator(group.basis[a], group.basis[b])
        if any(bracket[i][j] != sum(c * group.basis[k][i][j] for k, c in parts.items()) for i in n for j in n):
            what = f"the bracket of basis matrices {a + 1} and {b + 1} of {group.word} is not a sum of integer multiples of basis matrices."
            raise _refused(what, "add the missing matrices, or multiply by a denominator")


def _check_formulas(group: Group) -> None:
    """Check the identity, the rates for a velocity on either side, and the velocity for rates."""
    word, (place, velocity) = group.word, _symbols(group)
    if Matrix(group.matrix(list(map(S, group.identity)), sympy.cos, sympy.sin)) != sympy.eye(group.size):
        raise _refused(
            f"the matrix of {word} at {list(group.identity)} is not the identity.", "identity = (...), the place of the identity"
        )
    matrix = _matrix(group, place)
    sides = []
    for body in (True, False):
        side = "body" if body else "spatial"
        rates = [S(e) for e in group.rates(place, velocity, body, sympy.cos, sympy.sin)]
        turned: Matrix = sum((v * Matrix(e) for v, e in zip(velocity, group.basis, strict=True)), sympy.zeros(group.size))
        moved: Matrix = sum((matrix.diff(z) * rate for z, rate in zip(place, rates, strict=True)), sympy.zeros(group.size))
        sides.append(matrix * turned if body else turned * matrix)
        _require(f"the rates of {word} for a velocity on the {side} side are not those of its matrix", moved - sides[-1])
        back = group.velocity(place, rates, body, sympy.cos, sympy.sin)
        _require(
            f"velocity of {word} on the {side} side is not the inverse of rates", (S(v) - w for v, w in zip(back, velocity, strict=True))
        )
    if not group.sided:
        _require(f"{word} has sided = False, and its velocities differ", sides[0] - sides[1])


def _require(what: str, differences: Iterable[Expr]) -> None:
    for e in differences:
        if vanishes(S(e)) is not True:
            raise _refused(f"{what}: a difference of {e} remains.", "correct the formula")


def _symbols(group: Group) -> tuple[list[Symbol], list[Symbol]]:
    """A symbol for each stored number, and one for each component of the velocity."""
    velocity = [Symbol(f"v{a + 1}", real=True) for a in range(group.dimension)]
    return [Symbol(f"z_{name}", real=True) for name in group.places], velocity


def _matrix(group: Group, place: list[Symbol]) -> Matrix:
    return Matrix(group.matrix(place, sympy.cos, sympy.sin))


def _formulas(group: Group) -> tuple[Any, ...]:
    """The data by which two groups are compared: basis, names of stored numbers, and matrix."""
    return group.basis, group.places, group.sided, sympy.ImmutableMatrix(_matrix(group, _symbols(group)[0]))


def _refused(what: str, hint: Advice) -> UsageError:
    return UsageError(what, where="register", hint=hint)
