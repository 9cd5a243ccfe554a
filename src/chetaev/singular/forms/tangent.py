r"""The natural maps between higher-order tangent bundles (000, sections II A and III A).

An element of $T^{(k)}Q$ is the class of a curve: $(q_0, \dots, q_k)$ in a chart, with $q_j = d^j\gamma/dt^j(0)$. An element of
$T^{(k)}T^{(l)}Q$ is the class of a curve of such classes, hence of a surface $\Gamma(s, t)$ in $Q$: in a chart it is the table

$$ x_{ij} = \frac{\partial^{i+j}\,\Gamma}{\partial s^i\, \partial t^j}(0, 0), \qquad 0 \le i \le k,\; 0 \le j \le l. $$

In these tables every natural map is a single step: the flip exchanges the two parameters, the projections leave out rows or columns, the
immersion of $T^{(k+l)}Q$ is $x_{ij} = q_{i+j}$, and a map $f$ of $Q$ acts by composition $f \circ \Gamma$.

    >>> import sympy
    >>> from chetaev.core.symbols import coordinates
    >>> q = coordinates("q")
    >>> v = generic([q], 2)
    >>> print(immersion(v, 1))
    [q q'; q' q'']
    >>> print(flip(immersion(v, 1)) == immersion(v, 1), liouville_field([q], 2))
    True q'*∂q' + 2*q''*∂q''
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy
from sympy import Expr, Symbol

from chetaev.core.errors import UsageError
from chetaev.core.notation import show
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, Jet
from chetaev.singular.forms.fields import VectorField

Vector = tuple[Expr, ...]
"""The components of a vector in a chart, one for each coordinate."""


@public
@dataclass(frozen=True)
class HigherVector:
    r"""An element of $T^{(k)}Q$ in a chart: `parts` are the vectors $q_0, \dots, q_k$."""

    parts: tuple[Vector, ...]

    @property
    def order(self) -> int:
        """$k$."""
        return len(self.parts) - 1

    def __str__(self) -> str:
        return f"[{' '.join(map(_written, self.parts))}]"


@public
@dataclass(frozen=True)
class DoubleVector:
    r"""An element of $T^{(k)}T^{(l)}Q$ in a chart: `table[i][j]` is $x_{ij}$."""

    table: tuple[tuple[Vector, ...], ...]

    @property
    def outer(self) -> int:
        """$k$."""
        return len(self.table) - 1

    @property
    def inner(self) -> int:
        """$l$."""
        return len(self.table[0]) - 1

    def __str__(self) -> str:
        return f"[{'; '.join(' '.join(map(_written, row)) for row in self.table)}]"


@public
def generic(coordinates: Sequence[Coordinate], order: int) -> HigherVector:
    r"""The element of $T^{(k)}Q$ whose entries are the jets themselves.

    Args:
        coordinates: The coordinates of Q.
        order: The order k.

    Returns:
        The element.
    """
    return HigherVector(tuple(tuple(q.d(j) for q in coordinates) for j in range(order + 1)))


@public
def truncate(v: HigherVector, order: int) -> HigherVector:
    r"""The projection $\tau_Q^{(l,k)}: T^{(k)}Q \to T^{(l)}Q$ for $l \le k$.

    Args:
        v: An element of $T^{(k)}Q$.
        order: The order l.

    Returns:
        The element of $T^{(l)}Q$.

    Raises:
        UsageError: If `order` is not between 0 and k.
    """
    _must_be_at_most(order, v.order, "truncate")
    return HigherVector(v.parts[: order + 1])


@public
def truncate_outer(x: DoubleVector, order: int) -> DoubleVector:
    r"""The projection $\tau_{T^{(l)}Q}^{(m,k)}: T^{(k)}T^{(l)}Q \to T^{(m)}T^{(l)}Q$ for $m \le k$.

    Args:
        x: An element of $T^{(k)}T^{(l)}Q$.
        order: The order m.

    Returns:
        The element of $T^{(m)}T^{(l)}Q$.

    Raises:
        UsageError: If `order` is not between 0 and k.
    """
    _must_be_at_most(order, x.outer, "truncate_outer")
    return DoubleVector(x.table[: order + 1])


@public
def truncate_inner(x: DoubleVector, order: int) -> DoubleVector:
    r"""The lift of a projection, $T^{(k)}(\tau_Q^{(m,l)}): T^{(k)}T^{(l)}Q \to T^{(k)}T^{(m)}Q$ for $m \le l$.

    Args:
        x: An element of $T^{(k)}T^{(l)}Q$.
        order: The order m.

    Returns:
        The element of $T^{(k)}T^{(m)}Q$.

    Raises:
        UsageError: If `order` is not between 0 and l.
    """
    _must_be_at_most(order, x.inner, "truncate_inner")
    return DoubleVector(tuple(row[: order + 1] for row in x.table))


@public
def base_point(x: DoubleVector) -> HigherVector:
    r"""The projection $T^{(k)}T^{(l)}Q \to T^{(l)}Q$, where the outer curve starts.

    Args:
        x: An element of $T^{(k)}T^{(l)}Q$.

    Returns:
        The element of $T^{(l)}Q$.
    """
    return HigherVector(x.table[0])


@public
def carrier(x: DoubleVector) -> HigherVector:
    r"""The projection $T^{(k)}T^{(l)}Q \to T^{(k)}Q$, the curve below in $Q$.

    Args:
        x: An element of $T^{(k)}T^{(l)}Q$.

    Returns:
        The element of $T^{(k)}Q$.
    """
    return HigherVector(tuple(row[0] for row in x.table))


@public
def flip(x: DoubleVector) -> DoubleVector:
    r"""The canonical isomorphism $T^{(k)}T^{(l)}Q \to T^{(l)}T^{(k)}Q$ that exchanges the two parameters.

    From $T^{(l)}TQ$ to $T\,T^{(l)}Q$ it is $\kappa_l$ (30), from $TTQ$ to itself the canonical involution $\kappa$ (8), with
    $\kappa\circ\kappa = \mathrm{id}_{TTQ}$ (000 prints $\mathrm{id}_{TQ}$ in (11)). Lemma 12 follows, for $l \le k$ (the paper states it
    for all $k, l$): truncating and flipping commute.

    Args:
        x: An element of $T^{(k)}T^{(l)}Q$.

    Returns:
        The element of $T^{(l)}T^{(k)}Q$.
    """
    return DoubleVector(tuple(zip(*x.table, strict=True)))


@public
def immersion(v: HigherVector, outer: int = 1) -> DoubleVector:
    r"""The canonical immersion $T^{(k+l)}Q \to T^{(k)}T^{(l)}Q$, $[\gamma] \mapsto [\gamma^{(l)}]^{(k)}$.

    $j_n$ of (32) is the case $k = 1$, $l = n - 1$.

    Args:
        v: An element of $T^{(k+l)}Q$.
        outer: The order k.

    Returns:
        The element of $T^{(k)}T^{(l)}Q$.

    Raises:
        UsageError: If `outer` is not between 0 and the order of `v`.
    """
    _must_be_at_most(outer, v.order, "immersion")
    inner = v.order - outer
    return DoubleVector(tuple(v.parts[i : i + inner + 1] for i in range(outer + 1)))


@public
def split(x: DoubleVector) -> tuple[HigherVector, Vector]:
    r"""The submersion $s_l: T^{(l)}TQ \to T^{(l)}Q \times_Q TQ$ of (41): the curve below, and the vector at its start.

    Args:
        x: An element of $T^{(l)}TQ$.

    Returns:
        The element of $T^{(l)}Q$, and the vector.

    Raises:
        UsageError: If `x` is not an element of $T^{(l)}TQ$.
    """
    _must_have(x, inner=1, where="split")
    return carrier(x), x.table[0][1]


@public
def vertical_endomorphism(x: DoubleVector) -> DoubleVector:
    r"""The endomorphism $S_l$ of $T\,T^{(l)}Q$:
    $(q_0, \dots, q_l; \delta q_0, \dots, \delta q_l) \mapsto (q_0, \dots, q_l; 0, \delta q_0, 2\,\delta q_1, \dots, l\,\delta q_{l-1})$.

    (31) of 000 prints all weights as 1. That map depends on the chart for $l \ge 2$: a variation $\epsilon\, t\, \delta\gamma(t)$ has the
    derivatives $j\, \epsilon\, \delta q_{j-1}$ at $t = 0$, which give the weights. For $l = 0$ the paper sets $S_0 = \mathrm{id}$; here it
    is zero, as the formula gives.

    Args:
        x: An element of $T\,T^{(l)}Q$.

    Returns:
        Its image.

    Raises:
        UsageError: If `x` is not an element of $T\,T^{(l)}Q$.
    """
    _must_have(x, outer=1, where="vertical_endomorphism")
    base, vector = x.table
    nothing = tuple(sympy.S.Zero for _ in base[0])
    return DoubleVector((base, (nothing, *[_times(j, vector[j - 1]) for j in range(1, len(vector))])))


@public
def vertical(field: Mapping[Symbol, Expr], coordinates: Sequence[Coordinate], order: int) -> VectorField:
    r"""$S_l$ applied to a vector field on $T^{(l)}Q$: the component at $q_j$ becomes $j\, X^{q_{j-1}}$.

    Args:
        field: A vector field on $T^{(l)}Q$.
        coordinates: The coordinates of Q.
        order: The order l.

    Returns:
        The field.
    """
    return VectorField({q.d(j): j * field.get(q.d(j - 1), sympy.S.Zero) for q in coordinates for j in range(1, order + 1)})


@public
def liouville_field(coordinates: Sequence[Coordinate], order: int) -> VectorField:
    r"""$\Delta_l = \sum_j j\, q_j\, \partial_{q_j}$, the generator of $\gamma(t) \mapsto \gamma(e^\epsilon t)$.

    (37) of 000 prints all weights as 1, which depends on the chart for $l \ge 2$.

    Args:
        coordinates: The coordinates of Q.
        order: The order l.

    Returns:
        The field on $T^{(l)}Q$.
    """
    return VectorField({q.d(j): j * q.d(j) for q in coordinates for j in range(1, order + 1)})


@public
def equation_field(highest: Mapping[Coordinate, Expr], order: int) -> VectorField:
    r"""The field on $T^{(l)}Q$ of an equation $q_{l+1} = \chi(q_0, \dots, q_l)$: $(q_1, \dots, q_l, \chi)$.

    These are the fields with $S_l(X) = \Delta_l$ (38). (39) of 000 prints the list one index too short.

    Args:
        highest: The functions $\chi$ by coordinate.
        order: The order l.

    Returns:
        The field on $T^{(l)}Q$.
    """
    components: dict[Symbol, Expr] = {}
    for q, chi in highest.items():
        components |= {q.d(j): q.d(j + 1) for j in range(order)} | {q.d(order): chi}
    return VectorField(components)


@public
def lift(mapping: Mapping[Coordinate, Expr], v: HigherVector) -> HigherVector:
    r"""The lift $T^{(k)}f$ of a map of $Q$ given in charts, coordinate by coordinate: $[\gamma] \mapsto [f\circ\gamma]$.

    Args:
        mapping: The functions of the map f, by coordinate.
        v: An element of $T^{(k)}Q$.

    Returns:
        Its image.
    """
    return HigherVector(double_lift(mapping, DoubleVector((v.parts,))).table[0])


@public
def double_lift(mapping: Mapping[Coordinate, Expr], x: DoubleVector) -> DoubleVector:
    r"""The lift $T^{(k)}T^{(l)}f$: $[\Gamma] \mapsto [f\circ\Gamma]$, by differentiating $f$ along the Taylor polynomial of $\Gamma$.

    Args:
        mapping: The functions of the map f, by coordinate.
        x: An element of $T^{(k)}T^{(l)}Q$.

    Returns:
        Its image.
    """
    s, t = sympy.Dummy("s"), sympy.Dummy("t")
    rows, columns = range(x.outer + 1), range(x.inner + 1)
    surface: dict[Symbol, Expr] = {}
    for a, q in enumerate(mapping):
        terms = [x.table[i][j][a] * s**i * t**j / (sympy.factorial(i) * sympy.factorial(j)) for i in rows for j in columns]
        surface[q] = sympy.Add(*terms)
    images = [_partial_derivatives(f.xreplace(surface), s, t, x) for f in mapping.values()]
    return DoubleVector(tuple(tuple(tuple(image[i, j] for image in images) for j in columns) for i in rows))


def values_of(v: HigherVector, coordinates: Sequence[Jet]) -> dict[Symbol, Expr]:
    """The values of the jets of the coordinates at `v`, for substitution."""
    return {q.d(j): part[a] for j, part in enumerate(v.parts) for a, q in enumerate(coordinates)}


def _partial_derivatives(f: Expr, s: Symbol, t: Symbol, like: DoubleVector) -> dict[tuple[int, int], Expr]:
    """All derivatives of a function at s = t = 0, each computed from the previous one."""
    start = {s: sympy.S.Zero, t: sympy.S.Zero}
    found: dict[tuple[int, int], Expr] = {}
    for i in range(like.outer + 1):
        across = f = f.diff(s) if i else f
        for j in range(like.inner + 1):
            across = across.diff(t) if j else across
            found[i, j] = across.xreplace(start)
    return found


def _times(factor: int, vector: Vector) -> Vector:
    return tuple(factor * c for c in vector)


def _written(vector: Vector) -> str:
    texts = [show(c) for c in vector]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _must_be_at_most(order: int, highest: int, where: str) -> None:
    if not 0 <= order <= highest:
        raise UsageError(f"order {order} is not between 0 and {highest}, the order of the element.", where=where)


def _must_have(x: DoubleVector, where: str, outer: int | None = None, inner: int | None = None) -> None:
    if outer not in (None, x.outer) or inner not in (None, x.inner):
        wanted = f"T^({'l' if outer is None else outer})T^({'l' if inner is None else inner})Q"
        raise UsageError(f"x is an element of T^({x.outer})T^({x.inner})Q; one of {wanted} is needed.", where=where)
