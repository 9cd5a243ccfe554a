"""Motions on groups of matrices by hand: A' = A xi (body) or xi A (spatial), Euler-Poincare equations typed here, DOP853 of SciPy.

Nothing of the library is used. Structure constants come from least squares on the basis matrices. With c(a, b) = [E_a, E_b]:

    body:     p_a' = p([xi, E_a]) + dV terms,     spatial:  p_a' = -p([xi, E_a]) + dV terms
"""

import numpy as np
from scipy.integrate import solve_ivp


def constants(basis):
    """c[a, b, k] in [E_a, E_b] = c[a, b, k] E_k."""
    d = len(basis)
    flat = np.array([np.concatenate([e.real.ravel(), e.imag.ravel()]) for e in np.asarray(basis, dtype=complex)]).T
    found = np.zeros((d, d, d))
    for a in range(d):
        for b in range(d):
            bracket = np.asarray(basis[a] @ basis[b] - basis[b] @ basis[a], dtype=complex)
            found[a, b] = np.linalg.lstsq(flat, np.concatenate([bracket.real.ravel(), bracket.imag.ravel()]), rcond=None)[0]
    return found


def coadjoint(c, xi, p, body=True):
    """p([xi, E_a]) for every a, with the sign of the side."""
    return (1 if body else -1) * np.einsum("b,bak,k->a", xi, c, p)


def moved(basis, a, k, body):
    """X_k A."""
    return a @ basis[k] if body else basis[k] @ a


def integrate(rates, y0, t, dense=False):
    """A very exact solution of y' = rates(t, y) at the end, or at times."""
    times = np.atleast_1d(t).astype(float)
    found = solve_ivp(rates, (0, times[-1]), y0, method="DOP853", rtol=1e-13, atol=1e-14, t_eval=times)
    assert found.success
    return found.y[:, -1] if np.ndim(t) == 0 else found.y


class Hand:
    """L = xi.I.xi/2 - V(A) with force terms, on one group coordinate."""

    def __init__(self, basis, inertia, slope=None, body=True):
        self.basis, self.inertia, self.body = [np.asarray(e) for e in basis], np.asarray(inertia, float), body
        self.c = constants(self.basis)
        self.slope = slope or (lambda a: np.zeros_like(a))  # dV/dA, a matrix
        self.n, self.d = self.basis[0].shape[0], len(basis)

    def torque(self, a):
        """-X_k V."""
        return -np.array([np.sum(self.slope(a) * moved(self.basis, a, k, self.body)) for k in range(self.d)])

    def turned(self, a, xi):
        """A'."""
        inner = np.einsum("k,kij->ij", xi, np.array(self.basis))
        return a @ inner if self.body else inner @ a

    def free(self, xi, a):
        """The right-hand side of I xi' = ..."""
        return coadjoint(self.c, xi, self.inertia @ xi, self.body) + self.torque(a)

    def split(self, y):
        n = self.n * self.n
        return y[:n].reshape(self.n, self.n), y[n : n + self.d], y[n + self.d :]

    def start(self, a, xi, *more):
        return np.concatenate([np.asarray(a, float).ravel(), xi, *map(np.atleast_1d, more)])

    def hamilton(self, t, y):
        a, xi, _ = self.split(y)
        return np.concatenate([self.turned(a, xi).ravel(), np.linalg.solve(self.inertia, self.free(xi, a))])

    def with_rows(self, xi, a, rows, rest):
        """Accelerations and multipliers from I xi' = f + lambda R_V, R xi' = rest."""
        r = np.atleast_2d(rows)
        m = np.block([[self.inertia, -r.T], [r, np.zeros((len(r), len(r)))]])
        found = np.linalg.solve(m, np.concatenate([self.free(xi, a), np.atleast_1d(rest)]))
        return found[: self.d], found[self.d :]
