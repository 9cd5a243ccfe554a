"""Motion on SO(3) derived by hand in 40 digits, in the four ways of Theorem 6.1 of 001, left and right.

Nothing of chetaev is used. Expressions are SymPy trees in plain symbols: `A11` ... `A33` for the entries, `A1'`, `A1''` for the components
of the angular velocity and their derivatives, `t`, and whatever else stands for numbers. A test curve is a matrix whose entries are power
series in time, built from a polynomial angular velocity; along it every expression is a series and d/dt is a shift of coefficients.

A variation $\\delta g = g\\hat\\eta$ (left) or $\\hat\\eta g$ (right) with $\\eta = \\varphi(t)\\, e_a$ changes L by
$a_0\\varphi + a_1\\varphi' + a_2\\varphi''$. With $\\varphi = 1, t, t^2/2$ the three series are found one by one, and
$E_a = -a_0 + a_1' - a_2''$. So no structure constant and no Euler-Lagrange formula is taken from anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, DivisionByZero, Overflow, setcontext
from functools import cache

import mpmath
import sympy

DIGITS = 40
_mp = mpmath.MPContext()
_mp.dps = DIGITS
CONTEXT = Context(prec=DIGITS, Emax=999999, Emin=-999999, traps=[DivisionByZero, Overflow])
setcontext(CONTEXT)
LENGTH = 5
"""Coefficients kept of every series: enough for a Lagrangian of second order."""

T = sympy.Symbol("t")
ENTRIES = [[sympy.Symbol(f"A{i + 1}{j + 1}") for j in range(3)] for i in range(3)]
COMPONENTS = [[sympy.Symbol(f"A{a + 1}" + "'" * k) for a in range(3)] for k in range(4)]
"""By order: `A1'`, `A2'`, `A3'` at 1 and so on; those at 0 mean nothing."""

Series = list
Matrix = list


# --------------------------------------------------------------------------- series and matrices of series


def number(x) -> Decimal:
    """A number in many digits: floats and fractions exactly, mpmath's by their digits."""
    if isinstance(x, mpmath.ctx_mp_python._mpf):
        return Decimal(_mp.nstr(x, DIGITS))
    if isinstance(x, sympy.Rational):
        return Decimal(int(x.p)) / int(x.q)
    return Decimal(x)


ZERO, ONE, LOST = Decimal(0), Decimal(1), Decimal("NaN")


def constant(x) -> Series:
    return [number(x)] + [ZERO] * (LENGTH - 1)


def product(a: Series, b: Series) -> Series:
    return [sum((a[j] * b[k - j] for j in range(1, k + 1)), a[0] * b[k]) for k in range(LENGTH)]


def plus(*parts: Series) -> Series:
    return [sum(column, ZERO) for column in zip(*parts, strict=True)]


def times(factor, a: Series) -> Series:
    return [factor * x for x in a]


def rate(a: Series, count: int = 1) -> Series:
    """The time derivative; coefficients that are lost become NaN, which no result may depend on."""
    for _ in range(count):
        a = [*(k * x for k, x in enumerate(a) if k), LOST]
    return a


def integral(a: Series, first=0) -> Series:
    return [number(first), *(x / (k + 1) for k, x in enumerate(a[:-1]))]


def composed(taylor, inner: Series) -> Series:
    step, total = [ZERO, *inner[1:]], constant(taylor[-1])
    for coefficient in reversed(taylor[:-1]):
        total = product(total, step)
        total[0] += number(coefficient)
    return total


def exponential(a: Series) -> Series:
    return composed([_mp.exp(_mp.mpf(str(a[0]))) / math.factorial(k) for k in range(LENGTH)], a)


def power(a: Series, exponent) -> Series:
    """A real power, from its differential equation a b' = exponent a' b."""
    found = [number(_mp.power(_mp.mpf(str(a[0])), exponent))]
    for n in range(1, LENGTH):
        found.append(sum(((exponent * k - n + k) * a[k] * found[n - k] for k in range(1, n + 1)), ZERO) / (n * a[0]))
    return found


slope = cache(lambda e, z: e.diff(z))


def _waves(a: Series, shift: int) -> Series:
    angle = _mp.mpf(str(a[0]))
    return composed([_mp.sin(angle + (k + shift) * _mp.pi / 2) / math.factorial(k) for k in range(LENGTH)], a)


FUNCTIONS = {sympy.sin: lambda a: _waves(a, 0), sympy.cos: lambda a: _waves(a, 1), sympy.exp: exponential}


def value(e: sympy.Expr, table: dict) -> Series:
    """An expression along a curve."""
    if e in table:
        return table[e]
    if e.is_Rational:
        return constant(e)
    if e.is_Add:
        return plus(*[value(a, table) for a in e.args])
    if e.is_Mul:
        total = value(e.args[0], table)
        for a in e.args[1:]:
            total = product(total, value(a, table))
        return total
    if e.is_Pow and e.exp.is_Rational:
        base = value(e.base, table)
        if e.exp.is_Integer and e.exp > 0:
            total = base
            for _ in range(int(e.exp) - 1):
                total = product(total, base)
            return total
        return power(base, number(e.exp))
    return FUNCTIONS[e.func](value(e.args[0], table))


def hat(v: Sequence[Series]) -> Matrix:
    zero = constant(0)
    minus = [times(-1, x) for x in v]
    return [[zero, minus[2], v[1]], [v[2], zero, minus[0]], [minus[1], v[0], zero]]


def vee(m: Matrix) -> list[Series]:
    return [m[2][1], m[0][2], m[1][0]]


def matmul(a: Matrix, b: Matrix) -> Matrix:
    return [[plus(*[product(a[i][k], b[k][j]) for k in range(3)]) for j in range(3)] for i in range(3)]


def transposed(a: Matrix) -> Matrix:
    return [list(column) for column in zip(*a, strict=True)]


def added(a: Matrix, b: Matrix) -> Matrix:
    return [[plus(x, y) for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def derived(a: Matrix) -> Matrix:
    return [[rate(x) for x in row] for row in a]


def cross(a: Sequence[Series], b: Sequence[Series]) -> list[Series]:
    return [plus(product(a[(i + 1) % 3], b[(i + 2) % 3]), times(-1, product(a[(i + 2) % 3], b[(i + 1) % 3]))) for i in range(3)]


# --------------------------------------------------------------------------- curves on the group


class Curve:
    """A curve on SO(3) through a rotation with a given polynomial angular velocity, left (body) or right (spatial).

    `velocity[a]` are the values of `A_a'`, `A_a''`, ... at the time `t`; `more` are further quantities as lists of derivatives.
    """

    def __init__(self, rotation, velocity, left: bool, t=0, more=None) -> None:
        self.left = left
        self.velocity = [self.series(v) for v in velocity]
        self.matrix = self._integrated(rotation)
        self.table = {T: [number(t), ONE] + [ZERO] * (LENGTH - 2)}
        self.table |= {ENTRIES[i][j]: self.matrix[i][j] for i in range(3) for j in range(3)}
        for k in range(1, 4):
            self.table |= dict(zip(COMPONENTS[k], [rate(v, k - 1) for v in self.velocity], strict=True))
        for name, derivatives in (more or {}).items():
            given = self.series(derivatives)
            self.table |= {sympy.Symbol(name + "'" * k): rate(given, k) for k in range(4)}

    @staticmethod
    def series(derivatives) -> Series:
        known = [number(x) / math.factorial(k) for k, x in enumerate(derivatives)]
        return known + [ZERO] * (LENGTH - len(known))

    def _integrated(self, rotation) -> Matrix:
        """The series of g' = g v or g' = w g, coefficient by coefficient."""
        found = [[constant(rotation[i][j]) for j in range(3)] for i in range(3)]
        for k in range(LENGTH - 1):
            right = matmul(found, hat(self.velocity)) if self.left else matmul(hat(self.velocity), found)
            for i in range(3):
                for j in range(3):
                    found[i][j][k + 1] = right[i][j][k] / (k + 1)
        return found

    def at(self, e: sympy.Expr) -> Series:
        return value(e, self.table)

    def shift(self, eta: Sequence[Series]) -> Matrix:
        """A variation of the matrix."""
        return matmul(self.matrix, hat(eta)) if self.left else matmul(hat(eta), self.matrix)

    def velocity_shift(self, eta: Sequence[Series]) -> list[Series]:
        """The variation of the angular velocity from that of the matrix: of g^T g', or of g' g^T."""
        g, moved = self.matrix, self.shift(eta)
        if self.left:
            return vee(added(matmul(transposed(moved), derived(g)), matmul(transposed(g), derived(moved))))
        return vee(added(matmul(derived(moved), transposed(g)), matmul(derived(g), transposed(moved))))

    def bracket_shift(self, eta: Sequence[Series]) -> list[Series]:
        """The same by the formula of the theorem: eta' + [v, eta] on the left, eta' - [w, eta] on the right."""
        turned = cross(self.velocity, eta)
        return [plus(rate(e), times(1 if self.left else -1, c)) for e, c in zip(eta, turned, strict=True)]


def row_in_matrix(curve: Curve, lagrangian: sympy.Expr, factor: Series | None = None) -> list[Series]:
    """(i): the action varied with the matrix itself."""
    return _from_variation(curve, lagrangian, curve.velocity_shift, factor)


def row_in_velocity(curve: Curve, lagrangian: sympy.Expr, factor: Series | None = None) -> list[Series]:
    """(iii): the reduced action varied with the variations that the theorem allows."""
    return _from_variation(curve, lagrangian, curve.bracket_shift, factor)


def _from_variation(curve: Curve, lagrangian, velocity_shift, factor) -> list[Series]:
    factor = constant(1) if factor is None else factor
    rows = []
    for a in range(3):
        changes = []
        for k in range(3):
            phi = constant(0)
            phi[k] = ONE / math.factorial(k)
            eta = [phi if b == a else constant(0) for b in range(3)]
            changes.append(product(factor, _change(curve, lagrangian, curve.shift(eta), velocity_shift(eta))))
        tau = [ZERO, ONE] + [ZERO] * (LENGTH - 2)
        a0 = changes[0]
        a1 = plus(changes[1], times(-1, product(tau, a0)))
        a2 = plus(changes[2], times(-1, product(tau, a1)), times(-ONE / 2, product(product(tau, tau), a0)))
        rows.append(product(plus(times(-1, a0), rate(a1), times(-1, rate(a2, 2))), power(factor, -1)))
    return rows


def _change(curve: Curve, lagrangian, matrix: Matrix, velocity: Sequence[Series]) -> Series:
    """The first-order change of L for a change of the matrix and of the velocity."""
    shifts = {ENTRIES[i][j]: matrix[i][j] for i in range(3) for j in range(3)}
    for k in range(1, 4):
        shifts |= dict(zip(COMPONENTS[k], [rate(v, k - 1) for v in velocity], strict=True))
    present = [z for z in shifts if z in lagrangian.free_symbols]
    return plus(constant(0), *[product(curve.at(slope(lagrangian, z)), shifts[z]) for z in present])


def row_in_entries(curve: Curve, lagrangian: sympy.Expr) -> list[Series]:
    """(ii): Euler-Lagrange expressions in nine free matrix entries, contracted with the directions g e_a or e_a g. Orders 1 and 2."""
    g = [[[sympy.Symbol(f"g{i}{j}_{k}") for j in range(3)] for i in range(3)] for k in range(3)]
    m = [sympy.Matrix(x) for x in g]
    first = m[0].T * m[1] if curve.left else m[1] * m[0].T
    second = m[1].T * m[1] + m[0].T * m[2] if curve.left else m[2] * m[0].T + m[1] * m[1].T
    corners = ((2, 1), (0, 2), (1, 0))  # one entry of each pair: off the group this is another extension than the skew part, and may be
    inserted = {ENTRIES[i][j]: g[0][i][j] for i in range(3) for j in range(3)}
    inserted |= {COMPONENTS[1][a]: first[corner] for a, corner in enumerate(corners)}
    inserted |= {COMPONENTS[2][a]: second[corner] for a, corner in enumerate(corners)}
    free = lagrangian.xreplace(inserted)
    table = dict(curve.table)
    for k, line in enumerate(g):
        table |= {line[i][j]: rate(curve.matrix[i][j], k) for i in range(3) for j in range(3)}
    rows = [constant(0)] * 3
    directions = [curve.shift([constant(int(a == b)) for b in range(3)]) for a in range(3)]
    for i in range(3):
        for j in range(3):
            expression = constant(0)
            for k in range(3):
                partial = slope(free, g[k][i][j])
                if partial != 0:
                    expression = plus(expression, times((-1) ** (k + 1), rate(value(partial, table), k)))
            rows = [plus(row, product(expression, d[i][j])) for row, d in zip(rows, directions, strict=True)]
    return rows


def row_reduced(curve: Curve, lagrangian: sympy.Expr) -> list[Series]:
    """(iv): Pi' - Pi x v - torque on the left, pi' + pi x w - torque on the right; order 1. The paper's expressions have the other sign."""
    momentum = [curve.at(slope(lagrangian, z)) for z in COMPONENTS[1]]
    turned = cross(momentum, curve.velocity)
    rows = []
    for a in range(3):
        direction = curve.shift([constant(int(a == b)) for b in range(3)])
        slopes = [product(curve.at(slope(lagrangian, ENTRIES[i][j])), direction[i][j]) for i in range(3) for j in range(3)]
        rows.append(plus(rate(momentum[a]), times(-1 if curve.left else 1, turned[a]), times(-1, plus(*slopes))))
    return rows


# --------------------------------------------------------------------------- rotations by hand


def rotation(q) -> list[list]:
    """The matrix of a quaternion, by Rodrigues' formula 1 + 2 w K + 2 K^2 for the unit one."""
    q = [number(x) for x in q]
    length = sum(x * x for x in q).sqrt(CONTEXT)
    w, v = q[0] / length, [x / length for x in q[1:]]
    k = [[ZERO, -v[2], v[1]], [v[2], ZERO, -v[0]], [-v[1], v[0], ZERO]]
    square = [[sum(k[i][m] * k[m][j] for m in range(3)) for j in range(3)] for i in range(3)]
    return [[int(i == j) + 2 * w * k[i][j] + 2 * square[i][j] for j in range(3)] for i in range(3)]


def solve(rows: Sequence[Sequence], right: Sequence) -> list:
    """A square linear system by elimination with pivots, refused if it is nearly singular."""
    n = len(right)
    a = [[*row, r] for row, r in zip(rows, right, strict=True)]
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[best] = a[best], a[k]
        assert abs(a[k][k]) > Decimal("1e-9"), "the equations do not determine the accelerations"
        for i in range(n):
            if i != k:
                factor = a[i][k] / a[k][k]
                a[i] = [x - factor * y for x, y in zip(a[i], a[k], strict=True)]
    return [a[k][n] / a[k][k] for k in range(n)]


def affine_root(residual, count: int) -> list:
    """The root of a residual that is affine in its unknowns."""
    origin = residual([ZERO] * count)
    columns = [[x - y for x, y in zip(residual([Decimal(int(j == k)) for j in range(count)]), origin, strict=True)] for k in range(count)]
    found = solve(list(zip(*columns, strict=True)), [-x for x in origin])
    assert max(abs(x) for x in residual(found)) < Decimal("1e-25"), "the residual is not affine"
    return found
