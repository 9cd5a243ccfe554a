r"""Affine connections: covariant derivatives on tangent bundles, and the Euler-Lagrange operator (000, sections II B, II C, III A).

A connection $\nabla_{\partial_j}\partial_k = \Gamma^i_{jk}\,\partial_i$ differentiates vectors along a curve,
$(DV/Dt)^i = \dot V^i + \Gamma^i_{jk}\,\dot q^j V^k$, and covectors, $(DP/Dt)_k = \dot P_k - \Gamma^i_{jk}\,\dot q^j P_i$. Its torsion is
$T^i_{jk} = \Gamma^i_{jk} - \Gamma^i_{kj}$; nothing here assumes that it vanishes.

    >>> from chetaev.core.symbols import coordinates
    >>> r, phi = coordinates("r phi")
    >>> polar = Connection((r, phi), {(0, 1, 1): -r, (1, 0, 1): 1 / r, (1, 1, 0): 1 / r})
    >>> velocities(polar, 2)[1][0]
    -phi'**2*r + r''
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy
from sympy import Add, Expr, S, Symbol

from chetaev.core.calculus import total_derivative
from chetaev.core.errors import UsageError
from chetaev.core.support.frozen import Frozen
from chetaev.core.support.public import public
from chetaev.core.symbols import Coordinate, jets_in
from chetaev.singular.forms.exterior import exact
from chetaev.singular.forms.tangent import DoubleVector, HigherVector, Vector, carrier, values_of


@public
@dataclass(frozen=True)
class Connection:
    r"""An affine connection in a chart with `coordinates`. `symbols[i, j, k]` is $\Gamma^i_{jk}$; missing ones are zero."""

    coordinates: tuple[Coordinate, ...]
    symbols: Mapping[tuple[int, int, int], Expr]

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", Frozen({key: e for key, g in self.symbols.items() if (e := exact(g)) != 0}))
        for key, g in self.symbols.items():
            if any(z.order for z in jets_in(g)):
                raise UsageError(f"the Christoffel symbol {key} depends on velocities.", where="connection")

    def __call__(self, along: Sequence[Expr], vector: Sequence[Expr]) -> Vector:
        r"""$\Gamma^i_{jk}\, a^j V^k$, the term of the connection in the derivative of a vector along `a`."""
        return _contracted(self.symbols, len(self.coordinates), along, vector)

    def on_covectors(self, along: Sequence[Expr], covector: Sequence[Expr]) -> Vector:
        r"""$\Gamma^i_{jk}\, a^j P_i$, the term of the connection in the derivative of a covector along `a`, which is subtracted.

        Args:
            along: The components $a^j$ of the direction.
            covector: The components $P_i$ of the covector.
        """
        turned = {(k, j, i): g for (i, j, k), g in self.symbols.items()}
        return _contracted(turned, len(self.coordinates), along, covector)

    def horizontal(self, vector: Sequence[Expr], covector: Sequence[Expr]) -> Vector:
        r"""$\Gamma^i_{jk}\, V^k P_i$ by $j$: the change of a pairing under parallel transport of the vector along $\partial_j$.

        Args:
            vector: The components $V^k$ of the vector.
            covector: The components $P_i$ of the covector.
        """
        turned = {(j, k, i): g for (i, j, k), g in self.symbols.items()}
        return _contracted(turned, len(self.coordinates), vector, covector)

    def torsion(self, x: Sequence[Expr], y: Sequence[Expr]) -> Vector:
        r"""$T(X, Y)^i = \Gamma^i_{jk}\,(X^j Y^k - Y^j X^k)$.

        Args:
            x: The components of $X$.
            y: The components of $Y$.
        """
        return tuple(a - b for a, b in zip(self(x, y), self(y, x), strict=True))

    def curvature(self, x: Sequence[Expr], y: Sequence[Expr], z: Sequence[Expr]) -> Vector:
        r"""$R(X, Y) Z = \nabla_X\nabla_Y Z - \nabla_Y\nabla_X Z - \nabla_{[X,Y]} Z$.

        Args:
            x: The components of $X$.
            y: The components of $Y$.
            z: The components of $Z$.
        """
        n = len(self.coordinates)
        terms = (
            _contracted(self._rates(x), n, y, z),
            self(x, self(y, z)),
            tuple(-c for c in _contracted(self._rates(y), n, x, z)),
            tuple(-c for c in self(y, self(x, z))),
        )
        return tuple(Add(*some) for some in zip(*terms, strict=True))

    def _rates(self, x: Sequence[Expr]) -> dict[tuple[int, int, int], Expr]:
        """The derivatives of the symbols along a vector."""
        return {key: Add(*[g.diff(q) * c for q, c in zip(self.coordinates, x, strict=True)]) for key, g in self.symbols.items()}


@public
def velocities(connection: Connection, order: int) -> tuple[Vector, ...]:
    r"""The vectors $\gamma', D\gamma'/Dt, \dots, D^{k-1}\gamma'/Dt^{k-1}$ as functions of the jets.

    Args:
        connection: The connection.
        order: The number k of vectors.

    Returns:
        The vectors, lowest order first, each as a tuple of components.
    """
    velocity: Vector = tuple(q.d() for q in connection.coordinates)
    found = [velocity]
    while len(found) < order:
        found.append(covariant_derivative(connection, found[-1]))
    return tuple(found[:order])


@public
def covariant_derivative(connection: Connection, vector: Sequence[Expr]) -> Vector:
    r"""$DV/Dt$ of a vector along the motion, its components functions of jets.

    Args:
        connection: The connection.
        vector: The components of the vector, functions of jets.

    Returns:
        The components of the derivative.
    """
    velocity = [q.d() for q in connection.coordinates]
    return tuple(total_derivative(c) + turn for c, turn in zip(vector, connection(velocity, vector), strict=True))


@public
def covariant_derivative_of_covector(connection: Connection, covector: Sequence[Expr]) -> Vector:
    r"""$DP/Dt$ of a covector along the motion, its components functions of jets.

    Args:
        connection: The connection.
        covector: The components of the covector, functions of jets.

    Returns:
        The components of the derivative.
    """
    velocity = [q.d() for q in connection.coordinates]
    return tuple(total_derivative(c) - turn for c, turn in zip(covector, connection.on_covectors(velocity, covector), strict=True))


@public
def zeta(connection: Connection, v: HigherVector) -> tuple[Vector, ...]:
    r"""The covariant velocities $\zeta_k: T^{(k)}Q \to TQ \oplus \dots \oplus TQ$ ($k$ terms),
    $[\gamma]^{(k)} \mapsto \gamma' \oplus D\gamma'/Dt \oplus \dots \oplus D^{k-1}\gamma'/Dt^{k-1}$.

    (44) of 000 ends with $D^k\gamma'/Dt^k$, one term more than (43).

    Args:
        connection: The connection.
        v: An element of $T^{(k)}Q$.

    Returns:
        The covariant velocities at `v`, lowest order first.
    """
    values = values_of(v, connection.coordinates)
    return tuple(tuple(c.xreplace(values) for c in vector) for vector in velocities(connection, v.order))


@public
def from_zeta(connection: Connection, point: Vector, vectors: Sequence[Vector]) -> HigherVector:
    r"""$\zeta_k^{-1}$: the element over a point with given covariant velocities, found from the lowest order up.

    Args:
        connection: The connection.
        point: The point of Q.
        vectors: The covariant velocities, lowest order first.

    Returns:
        The element of $T^{(k)}Q$.
    """
    values: dict[Symbol, Expr] = dict(zip(connection.coordinates, point, strict=True))
    parts = [point]
    for order, (formula, vector) in enumerate(zip(velocities(connection, len(vectors)), vectors, strict=True), start=1):
        highest = [q.d(order) for q in connection.coordinates]
        # each covariant velocity is the highest jet plus a function of the lower ones
        part = tuple(v - (f - z).xreplace(values) for z, f, v in zip(highest, formula, vector, strict=True))
        parts.append(part)
        values |= dict(zip(highest, part, strict=True))
    return HigherVector(tuple(parts))


@public
def t_zeta(connection: Connection, x: DoubleVector) -> tuple[HigherVector, tuple[Vector, ...]]:
    r"""The map $t\zeta_l: T^{(l)}TQ \to T^{(l)}Q \times_Q TQ \oplus \dots \oplus TQ$ ($l + 1$ terms) of (45),
    $[\Lambda]^{(l)} \mapsto ([\gamma]^{(l)}, \Lambda \oplus D\Lambda/Dt \oplus \dots \oplus D^l\Lambda/Dt^l)$.

    000 labels the coordinate formula for $l = 1$ as $t\zeta_2$; and $t\zeta_1 = \beta\circ\kappa$ holds only without torsion.

    Args:
        connection: The connection.
        x: An element of $T^{(l)}TQ$.

    Returns:
        The element of $T^{(l)}Q$ below, and the vectors $\Lambda, D\Lambda/Dt, \dots$

    Raises:
        UsageError: If `x` is not an element of $T^{(l)}TQ$.
    """
    if x.inner != 1:
        raise UsageError(f"x is an element of T^({x.outer})T^({x.inner})Q; one of T^(l)TQ is needed.", where="t_zeta")
    variation = [Coordinate(f"δ{q.base}") for q in connection.coordinates]
    below = carrier(x)
    values = values_of(below, connection.coordinates) | values_of(HigherVector(tuple(row[1] for row in x.table)), variation)
    vector: Vector = tuple(variation)
    found = [vector]
    for _ in range(x.outer):
        found.append(covariant_derivative(connection, found[-1]))
    return below, tuple(tuple(c.xreplace(values) for c in vector) for vector in found)


@public
def beta(connection: Connection, x: DoubleVector) -> tuple[Vector, Vector, Vector]:
    r"""$\beta: TTQ \to TQ \oplus TQ \oplus TQ$ (18): a curve $W$ in $TQ$ gives $W \oplus \dot\gamma \oplus DW/Dt$.

    Args:
        connection: The connection.
        x: An element of TTQ.

    Returns:
        The vectors $W$, $\dot\gamma$ and $DW/Dt$.

    Raises:
        UsageError: If `x` is not an element of TTQ.
    """
    if (x.outer, x.inner) != (1, 1):
        raise UsageError(f"x is an element of T^({x.outer})T^({x.inner})Q; one of TTQ is needed.", where="beta")
    (point, vector), (velocity, rate) = x.table
    turn = _at(connection, point)(velocity, vector)
    return vector, velocity, tuple(a + b for a, b in zip(rate, turn, strict=True))


@public
def from_beta(connection: Connection, point: Vector, x: Vector, y: Vector, z: Vector) -> DoubleVector:
    r"""$\beta^{-1}(X \oplus Y \oplus Z)$ at a point.

    Args:
        connection: The connection.
        point: The point of Q.
        x: The vector X.
        y: The vector Y.
        z: The vector Z.

    Returns:
        The element of TTQ.
    """
    turn = _at(connection, point)(y, x)
    return DoubleVector(((point, x), (y, tuple(a - b for a, b in zip(z, turn, strict=True)))))


@public
def fibre_derivatives(function: Expr, connection: Connection) -> tuple[Vector, ...]:
    r"""The derivatives $\mathbb F_a f$ of a function on $T^{(k)}Q \cong TQ \oplus \dots \oplus TQ$ by its $a$-th vector; (22) for $k = 1$.

    The isomorphism is $\zeta_k$. The first-order fibre derivative $\partial f/\partial \dot q$ does not depend on the connection.

    Args:
        function: A function of jets of the connection's coordinates.
        connection: The connection.

    Returns:
        The derivatives by each vector, lowest order first.

    Raises:
        UsageError: If `function` contains another coordinate.
    """
    return _derivatives(function, connection)[1]


@public
def base_derivative(function: Expr, connection: Connection) -> Vector:
    r"""The derivative $\mathbb B f$ of a function on $T^{(k)}Q$ as its point moves and its vectors are transported in parallel (23).

    For $k = 1$ it is $\partial_j f - \Gamma^i_{jk}\,\dot q^k\, \partial f/\partial \dot q^i$.

    Args:
        function: A function of jets of the connection's coordinates.
        connection: The connection.

    Returns:
        The components of the derivative.

    Raises:
        UsageError: If `function` contains another coordinate.
    """
    return _derivatives(function, connection)[0]


@public
def base_derivative_of_covector(covector: Sequence[Expr], connection: Connection) -> tuple[Vector, ...]:
    r"""The base derivative $\mathbb B P$ of a map $TQ \to T^*Q$ (21).

    Row $j$ is the covariant derivative of $P$ as its argument is transported along $\partial_j$.

    Args:
        covector: The components of P, functions of positions and velocities.
        connection: The connection.

    Returns:
        The rows of the derivative.

    Raises:
        UsageError: If a component contains another coordinate.
    """
    n = len(connection.coordinates)
    slopes = [base_derivative(c, connection) for c in covector]
    turns = [connection.on_covectors(_unit(n, j), covector) for j in range(n)]
    return tuple(tuple(slopes[k][j] - turns[j][k] for k in range(n)) for j in range(n))


@public
def covariant_euler_lagrange(lagrangian: Expr, connection: Connection) -> Vector:
    r"""The Euler-Lagrange expressions $E_i$ of a Lagrangian of any order through a connection with torsion.

    With $v_1 = \gamma', v_{a+1} = Dv_a/Dt$ a variation $\delta$ gives (Lemma 6)

    $$ \frac{D}{D\lambda} v_1 = \frac{D\delta}{Dt} + T(\delta, v_1), \qquad
       \frac{D}{D\lambda} v_{a+1} = \frac{D}{Dt}\frac{D}{D\lambda} v_a + R(\delta, v_1)\, v_a. $$

    Therefore, with $P_k = \mathbb F_k L$ and $P_a = \mathbb F_a L - DP_{a+1}/Dt$,

    $$ E = \frac{DP_1}{Dt} - \mathbb B L + \langle P_1, T(\gamma', \cdot)\rangle
         - \sum_{a=1}^{k-1} \langle P_{a+1}, R(\cdot, \gamma')\, v_a\rangle. $$

    For $k = 1$ this is Remark 8 of 000 with the sign of the torsion corrected: $-D\,\mathbb FL/Dt + \mathbb BL - \langle \mathbb FL,
    T(\gamma',\cdot)\rangle = 0$ (the paper has a plus, which contradicts its Lemma 6). The sign is that of the library,
    $E_i = \frac{d}{dt} L_{\dot q^i} - L_{q^i} + \dots$, opposite to the operator of (28).

    Args:
        lagrangian: A function of jets of the connection's coordinates.
        connection: The connection.

    Returns:
        The expressions $E_i$.

    Raises:
        UsageError: If `lagrangian` contains another coordinate.
    """
    n = len(connection.coordinates)
    base, fibres = _derivatives(lagrangian, connection)
    moving = velocities(connection, len(fibres))
    momenta = [fibres[-1]]
    for fibre in reversed(fibres[:-1]):
        momenta.insert(0, tuple(f - p for f, p in zip(fibre, covariant_derivative_of_covector(connection, momenta[0]), strict=True)))
    rates = covariant_derivative_of_covector(connection, momenta[0])
    expressions = []
    for i in range(n):
        e = _unit(n, i)
        twist = _pairing(momenta[0], connection.torsion(moving[0], e))
        bends = [_pairing(p, connection.curvature(e, moving[0], v)) for p, v in zip(momenta[1:], moving[:-1], strict=True)]
        expressions.append(rates[i] - base[i] + twist - Add(*bends))
    return tuple(expressions)


def _derivatives(function: Expr, connection: Connection) -> tuple[Vector, tuple[Vector, ...]]:
    """The base derivative and the fibre derivatives, as functions of jets."""
    q = connection.coordinates
    order = _order_on(function, q)
    names = [tuple(sympy.Dummy(f"v{a}_{z.base}") for z in q) for a in range(1, order + 1)]
    written = function.xreplace(values_of(from_zeta(connection, tuple(q), names), q))
    back = {
        v: c for vector, formula in zip(names, velocities(connection, order), strict=True) for v, c in zip(vector, formula, strict=True)
    }
    fibres = [tuple(written.diff(v) for v in vector) for vector in names]
    carried = [connection.horizontal(vector, fibre) for vector, fibre in zip(names, fibres, strict=True)]
    base = [written.diff(z) - Add(*[turn[j] for turn in carried]) for j, z in enumerate(q)]
    return tuple(c.xreplace(back) for c in base), tuple(tuple(c.xreplace(back) for c in fibre) for fibre in fibres)


def _order_on(function: Expr, coordinates: Sequence[Coordinate]) -> int:
    """The order of a function of jets, at least 1."""
    bases = {q.base for q in coordinates}
    foreign = sorted((z for z in jets_in(function, Coordinate) if z.base not in bases), key=lambda z: z.name)
    if foreign:
        raise UsageError(f"{foreign[0]} is not a coordinate of the connection.", where="derivatives through a connection")
    return max([1, *(z.order for z in jets_in(function) if z.base in bases)])


def _contracted(symbols: Mapping[tuple[int, int, int], Expr], n: int, a: Sequence[Expr], b: Sequence[Expr]) -> Vector:
    parts: list[list[Expr]] = [[] for _ in range(n)]
    for (i, j, k), g in symbols.items():
        parts[i].append(g * a[j] * b[k])
    return tuple(Add(*some) for some in parts)


def _at(connection: Connection, point: Vector) -> Connection:
    """The connection with its symbols evaluated at a point."""
    values: dict[Symbol, Expr] = dict(zip(connection.coordinates, point, strict=True))
    return Connection(connection.coordinates, {key: g.xreplace(values) for key, g in connection.symbols.items()})


def _unit(n: int, i: int) -> Vector:
    return tuple(S.One if a == i else S.Zero for a in range(n))


def _pairing(covector: Sequence[Expr], vector: Sequence[Expr]) -> Expr:
    return Add(*[p * v for p, v in zip(covector, vector, strict=True)])
