r"""The two matrices of a step of Radau IIA, $\gamma - J$ with a real and a complex $\gamma$: factors and solutions.

Components that follow another one or that no rate reads are eliminated first, as `methods.elimination` says; the others have a band.
"""

from __future__ import annotations

from chetaev.numerics.machine.native import part
from chetaev.numerics.methods.compiled_steps import radau_tableau as c
from chetaev.numerics.methods.compiled_steps.bands import factor_band, factor_complex_band, solve_band, solve_complex_band
from chetaev.numerics.methods.compiled_steps.types import Newton
from chetaev.numerics.methods.dop853.types import Array


@part
def factored(h: float, newton: Newton) -> bool:
    """Factor both matrices of a step of length h; whether they have no pivot of zero."""
    diagonal, lower = newton.diagonal, newton.lower
    p, q = c.COMPLEX_REAL / h, c.COMPLEX_IMAGINARY / h
    diagonal[0], diagonal[1], diagonal[2] = c.REAL / h, p, q
    diagonal[3], diagonal[4], diagonal[5] = h / c.REAL, p / (p * p + q * q), -q / (p * p + q * q)
    _fill(newton)
    one = factor_band(newton.real, lower, newton.pivots[0])
    return one and factor_complex_band(newton.complex_real, newton.complex_imaginary, lower, newton.pivots[1])


@part
def _fill(newton: Newton) -> None:
    """Write the matrices of the components that are kept; rows that read a follower read what it follows."""
    real, a, b, lower, diagonal = newton.real, newton.complex_real, newton.complex_imaginary, newton.lower, newton.diagonal
    for i in range(real.shape[0]):
        for j in range(real.shape[1]):
            real[i, j] = a[i, j] = b[i, j] = 0.0
        real[i, lower], a[i, lower], b[i, lower] = diagonal[0], diagonal[1], diagonal[2]
    places, count = newton.places, newton.places.shape[1]
    for k in range(count):
        i, j = places[0, k], places[1, k] - places[0, k] + lower
        real[i, j] -= newton.jacobian[k]
        a[i, j] -= newton.jacobian[k]
    places, last = newton.filled, newton.jacobian.size - newton.columns.size
    for k in range(places.shape[1]):
        i, j = places[0, k], places[1, k] - places[0, k] + lower
        entry = newton.jacobian[count + k] * newton.jacobian[last + newton.followed[2, k]]
        real[i, j] -= entry * diagonal[3]
        a[i, j] -= entry * diagonal[4]
        b[i, j] -= entry * diagonal[5]


@part
def solve(newton: Newton, x: Array) -> None:
    """Solve with the real matrix, in place."""
    inverse, count, row = newton.diagonal[3], newton.places.shape[1], newton.sorted[0]
    for k in newton.found:
        x[k] *= inverse
    for k in range(newton.followed.shape[1]):
        x[newton.followed[0, k]] += newton.jacobian[count + k] * x[newton.followed[1, k]]
    for k in range(row.size):
        row[k] = x[newton.order[k]]
    solve_band(newton.real, newton.lower, newton.pivots[0], row)
    for k in range(row.size):
        x[newton.order[k]] = row[k]
    last, unread = newton.jacobian.size - newton.columns.size, newton.starts.size - 1
    followers = newton.found.size - unread
    for k in range(followers):
        x[newton.found[k]] += inverse * newton.jacobian[last + k] * x[newton.columns[k]]
    for k in range(unread):
        total = 0.0
        for i in range(newton.starts[k], newton.starts[k + 1]):
            total += newton.jacobian[last + i] * x[newton.columns[i]]
        x[newton.found[followers + k]] += inverse * total


@part
def solve_complex(newton: Newton, x: Array, y: Array) -> None:
    """Solve for x + iy with the complex matrix, in place."""
    p, q, count, one, other = newton.diagonal[4], newton.diagonal[5], newton.places.shape[1], newton.sorted[0], newton.sorted[1]
    for k in newton.found:
        x[k], y[k] = x[k] * p - y[k] * q, x[k] * q + y[k] * p
    for k in range(newton.followed.shape[1]):
        slope, i, j = newton.jacobian[count + k], newton.followed[0, k], newton.followed[1, k]
        x[i] += slope * x[j]
        y[i] += slope * y[j]
    for k in range(one.size):
        one[k], other[k] = x[newton.order[k]], y[newton.order[k]]
    solve_complex_band(newton.complex_real, newton.complex_imaginary, newton.lower, newton.pivots[1], one, other)
    for k in range(one.size):
        x[newton.order[k]], y[newton.order[k]] = one[k], other[k]
    last, unread = newton.jacobian.size - newton.columns.size, newton.starts.size - 1
    followers = newton.found.size - unread
    for k in range(followers):
        slope, i, j = newton.jacobian[last + k], newton.found[k], newton.columns[k]
        x[i] += slope * (x[j] * p - y[j] * q)
        y[i] += slope * (x[j] * q + y[j] * p)
    for k in range(unread):
        real = imaginary = 0.0
        for i in range(newton.starts[k], newton.starts[k + 1]):
            real += newton.jacobian[last + i] * x[newton.columns[i]]
            imaginary += newton.jacobian[last + i] * y[newton.columns[i]]
        j = newton.found[followers + k]
        x[j] += real * p - imaginary * q
        y[j] += real * q + imaginary * p
