r"""Any Lie group of matrices, from a basis of its Lie algebra.

The basis $E_1, \dots, E_d$ is read without rounding. It must be independent over the real numbers, and each bracket must be a
combination of it, $[E_a, E_b] = c^c_{ab} E_c$, exactly: numbers that close only approximately belong to no group.

An element is stored by the entries of its matrix. A motion that starts at any invertible matrix $A_0$ stays in $A_0 G$ (body velocities,
$A' = A\xi$) or in $G A_0$ (spatial ones, $A' = \xi A$), so the entries are independent numbers and only these cosets are special. Where
entries alone do not stay in the coset by themselves, further constant numbers $T = A_0^{-1}$, or $T = 1$ for a start in the group, are
stored beside them; then $TA$, or $AT$, is an element of $G$, onto which `numerics` projects.

Complex matrices $X + iY$ are stored and written as the real blocks $\begin{pmatrix} X & -Y \\ Y & X \end{pmatrix}$.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, final

import sympy
from sympy import Expr, ImmutableMatrix, S

from chetaev.core.errors import ModelError
from chetaev.core.fixes import Advice
from chetaev.core.groups.exact_numbers import as_text, combinations, expression_of, matrix_of, spanned
from chetaev.core.groups.kinds import Brackets, Function, Group, Numbers
from chetaev.core.support.public import public

MOST_DIMENSIONS = 48
"""Largest dimension of a group: SL(7). All pairs of basis matrices are bracketed, and every bracket adds terms to the equations."""
MOST_ROWS = 16
"""Largest number of rows of a stored matrix, for a complex one of twice its own: 256 entries, and as many further numbers."""


@public
@final
class MatrixGroup(Group):
    """A group of matrices with a basis of its Lie algebra; `matrix_group` makes it. Equal bases make equal groups.

    Args:
        matrices: The basis as real matrices.
        complex_numbers: Whether these are the blocks of complex matrices.
        constants: The structure constants.

    >>> h3 = matrix_group([[[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 1], [0, 0, 0], [0, 0, 0]]])
    >>> h3.dimension, h3.brackets[0, 1]
    (3, {2: 1})
    """

    places: tuple[str, ...] = ()
    shown, forms, example = "matrix", "an invertible matrix", "numpy.eye(n)"

    def __init__(self, matrices: Sequence[ImmutableMatrix], complex_numbers: bool, constants: Brackets) -> None:
        self.matrices = tuple(matrices)
        """The basis as real matrices, exactly."""
        self.complex = complex_numbers
        """Whether these are the blocks of complex matrices."""
        self.size = self.matrices[0].rows
        self.brackets = constants
        n = self.size // 2 if complex_numbers else self.size
        self.order = n
        """The number of rows of a matrix as the user gives it."""
        names = [_index(i, j) for i in range(self.size) for j in range(n)]
        self.places = (*[f"e{k}" for k in names], *([f"t{k}" for k in names] if self.anchored else []))
        unit = [int(i == j) for i in range(self.size) for j in range(n)]
        self.identity = (*unit, *(unit if self.anchored else []))
        kind = "complex " if complex_numbers else ""
        self.forms = f"an invertible {kind}{n}x{n} matrix" + (f", or its real block of {2 * n} rows" if complex_numbers else "")
        self.example = f"numpy.eye({n})"

    @property
    def basis(self) -> tuple[Any, ...]:
        """The matrices $E_a$ as rows of exact numbers."""
        return tuple(tuple(tuple(e.row(i)) for i in range(self.size)) for e in self.matrices)

    @cached_property
    def anchored(self) -> bool:
        """Whether steps along a motion may leave the coset: the equations of the group are not all linear."""
        return len(self.envelope) > len(self.matrices)

    @cached_property
    def envelope(self) -> tuple[ImmutableMatrix, ...]:
        """A basis of the matrices $N$ such that $1 + N$ is the smallest affine space that contains the group: sums of products of $E_a$."""
        found = spanned(self.matrices)
        while True:
            more = spanned([*found, *[e * n for e in self.matrices for n in found]])
            if len(more) == len(found):
                return tuple(found)
            found = more

    def cell(self, i: int, j: int) -> tuple[int, int, int]:
        """The stored entry that the entry (i, j) is, and its sign.

        Args:
            i: The row of the entry in the matrix.
            j: The column of the entry in the matrix.
        """
        n = self.order
        if j < n:
            return i, j, 1
        return (i + n, j - n, -1) if i < n else (i - n, j - n, 1)

    def matrix(self, place: Numbers, cos: Function, sin: Function) -> list[list[Any]]:
        """The matrix whose stored entries are the numbers in `place`; `cos` and `sin` are not used."""
        cells = [[self.cell(i, j) for j in range(self.size)] for i in range(self.size)]
        return [[sign * place[i * self.order + j] if sign < 0 else place[i * self.order + j] for i, j, sign in row] for row in cells]

    def rates(self, place: Numbers, velocity: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        r"""The rates of the stored entries: of $A \xi$ for body components $\xi$ of `velocity`, of $\xi A$ for spatial ones."""
        exact = isinstance(place[0], Expr)
        parts = self.matrices if exact else self._floats
        n = range(self.size)
        inner = [[_sum([v * e[i, j] for v, e in zip(velocity, parts, strict=True) if e[i, j] != 0]) for j in n] for i in n]
        a = self.matrix(place, cos, sin)
        left, right = (a, inner) if body else (inner, a)
        moved = [
            _sum([left[i][k] * right[k][j] for k in n if not _absent(left[i][k]) and not _absent(right[k][j])])
            for i in n
            for j in range(self.order)
        ]
        still = S.Zero if exact else 0.0 * place[0]
        return [still if _absent(rate) else rate for rate in moved] + [still] * (len(place) - len(moved))

    def velocity(self, place: Numbers, rates: Numbers, body: bool, cos: Function, sin: Function) -> list[Any]:
        """Not available: the velocity is the solution of linear equations, for which callers have better means."""
        raise NotImplementedError("the velocity of a matrix group has no formula")

    @cached_property
    def _floats(self) -> tuple[dict[tuple[int, int], float], ...]:
        n = range(self.size)
        return tuple({(i, j): float(e[i, j]) for i in n for j in n} for e in self.matrices)

    @cached_property
    def key(self) -> str:
        """A text without blanks from which `matrix_group_of_key` makes the group again."""
        cells = [[self.matrices[a][i, j] for i in range(self.size) for j in range(self.order)] for a in range(self.dimension)]
        return "|".join([f"{'complex' if self.complex else 'real'}:{self.order}", *[";".join(map(as_text, row)) for row in cells]])

    @property
    def plain(self) -> dict[str, Any]:
        """The group as texts and lists, as a table of a model file holds it."""
        return {"basis": [self._plain_matrix(e) for e in self.matrices]}

    def _plain_matrix(self, e: ImmutableMatrix) -> list[list[Any]]:
        n = range(self.order)
        imaginary = [[e[i + self.order, j] if self.complex else S.Zero for j in n] for i in n]
        return [[_plain_number(e[i, j], imaginary[i][j]) for j in n] for i in n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixGroup) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return matrix_group_of_key, (self.key,)

    def __repr__(self) -> str:
        kind = "complex " if self.complex else ""
        return f"matrix_group of dimension {self.dimension}, {kind}{self.order}x{self.order} matrices"


@public
def matrix_group(basis: Any) -> MatrixGroup:
    """The group of matrices whose Lie algebra has a given basis.

    Args:
        basis: Square matrices of one size: nested lists, arrays or SymPy matrices of numbers, complex ones included, or of texts such as
            `"sqrt(2)"` and `"i/2"`. Decimal numbers are exact: 0.1 is 1/10.

    Returns:
        The group, for `System({"A": "G body"}, groups={"G": ...}, ...)`: the velocities A1', A2', ... are along the matrices in this order.

    Raises:
        ModelError: If the matrices have no common size or depend on each other, or if a bracket is not a combination of them.

    >>> sl2 = matrix_group([[[1, 0], [0, -1]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]])
    >>> sl2.brackets
    {(0, 1): {1: 2}, (0, 2): {2: -2}, (1, 2): {0: 1}}
    """
    given = basis.tolist() if hasattr(basis, "tolist") else basis
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise _refused("the basis is not a list of matrices.", hint="[[[1, 0], [0, -1]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]]")
    if len(given) > MOST_DIMENSIONS:
        raise _refused(f"{len(given)} basis matrices are given; at most {MOST_DIMENSIONS} are read.", hint="a product of groups")
    read = [matrix_of(rows, f"matrix {a + 1} of the basis") for a, rows in enumerate(given)]
    n = read[0][0].rows
    if any(x.rows != n for x, _ in read):
        raise _refused("the basis matrices have different sizes.", hint=f"{n}x{n} matrices throughout")
    complex_numbers = any(y != sympy.zeros(n, n) for _, y in read)
    if n * (1 + complex_numbers) > MOST_ROWS:
        raise _refused(f"matrices of {n} rows are too large.", hint=f"at most {MOST_ROWS} rows, or {MOST_ROWS // 2} of complex numbers")
    real = [_block(x, y) if complex_numbers else ImmutableMatrix(x) for x, y in read]
    return MatrixGroup(real, complex_numbers, _constants(real))


@lru_cache(maxsize=256)
def matrix_group_of_key(key: str) -> MatrixGroup:
    """The group of a `key`; the brackets are computed again."""
    head, *rows = key.split("|")
    kind, _, order = head.partition(":")
    n, complex_numbers = int(order), kind == "complex"
    size = 2 * n if complex_numbers else n
    read = []
    for row in rows:
        cells = [expression_of(text) for text in row.split(";")]
        stored = sympy.Matrix(size, n, cells)
        read.append(_block(stored[:n, :], stored[n:, :]) if complex_numbers else ImmutableMatrix(stored))
    return MatrixGroup(read, complex_numbers, _constants(read))


def _block(x: sympy.Matrix, y: sympy.Matrix) -> ImmutableMatrix:
    return ImmutableMatrix(sympy.BlockMatrix([[x, -y], [y, x]]).as_explicit())


def _constants(basis: Sequence[ImmutableMatrix]) -> Brackets:
    """The structure constants; a ModelError if the basis is dependent or not closed."""
    if len(spanned(basis)) < len(basis):
        kept = [a for a in range(len(basis)) if len(spanned(basis[: a + 1])) == len(spanned(basis[:a]))]
        raise _refused(
            f"matrix {kept[0] + 1} of the basis is a combination of those before it.",
            why="The components A1', A2', ... of a velocity are unique only along independent matrices.",
            hint="leave it out",
        )
    pairs = [(a, b) for a in range(len(basis)) for b in range(a + 1, len(basis))]
    brackets = [basis[a] * basis[b] - basis[b] * basis[a] for a, b in pairs]
    found: dict[tuple[int, int], dict[int, Expr]] = {}
    for (a, b), bracket, parts in zip(pairs, brackets, combinations(basis, brackets), strict=True):
        if parts is None:
            raise _open(basis, bracket, f"[E{a + 1}, E{b + 1}]")
        found[a, b] = {c: value for c, value in enumerate(parts) if value != 0}
    return found


def _open(basis: Sequence[ImmutableMatrix], bracket: ImmutableMatrix, name: str) -> ModelError:
    """The error for a bracket outside the span: missing matrices, or numbers that were rounded."""
    columns = sympy.Matrix.hstack(*[sympy.Matrix(e.evalf(30)).reshape(len(e), 1) for e in basis])
    right = sympy.Matrix(bracket.evalf(30)).reshape(len(bracket), 1)
    parts = (columns.T * columns).LUsolve(columns.T * right)
    off = max(map(abs, columns * parts - right)) / max(map(abs, right))
    if off < 1e-2:
        return _refused(
            f"{name} is a combination of the basis matrices only up to {float(off):.1g} of its size.",
            why="Rounded numbers span no Lie algebra: brackets of brackets leave it.",
            hint='exact numbers: "-5/3" and "sqrt(2)/2" as texts instead of -1.6667 and 0.7071',
        )
    return _refused(
        f"{name} is not a combination of the basis matrices.",
        why="The brackets of a Lie algebra lie in it.",
        hint=f"add {name} to the basis, and further brackets until they close",
    )


def _plain_number(re: Expr, im: Expr) -> Any:
    if im == 0:
        return int(re) if re.is_Integer else as_text(re)
    whole = f"i*({as_text(im)})"
    return whole if re == 0 else f"{as_text(re)}+{whole}"


def _index(i: int, j: int) -> str:
    return f"{i + 1}{j + 1}" if max(i, j) < 9 else f"{i + 1}_{j + 1}"


def _absent(e: Any) -> bool:
    return isinstance(e, int | float | Expr) and bool(e == 0)


def _sum(terms: Sequence[Any]) -> Any:
    return sum(terms[1:], terms[0]) if terms else 0


def _refused(what: str, why: str = "", hint: Advice = "") -> ModelError:
    return ModelError(what, where="matrix_group", why=why, hint=hint)
