"""The Euler-Lagrange expressions of 003, written once more and without the library's calculus, as something to compare with."""

import sympy

T = sympy.Symbol("t", real=True)


def d_dt(e, times=1):
    """The total derivative, jet by jet."""
    for _ in range(times):
        e = sympy.Add(e.diff(T), *[e.diff(z) * z.d() for z in e.free_symbols if hasattr(z, "base")])
    return e


def rows_of(lagrangian, coordinates):
    """E_sigma = sum_k (-1)^k D^k dL/dq_k."""
    top = max((z.order for z in lagrangian.free_symbols if hasattr(z, "base")), default=0)
    return [sympy.Add(*[(-1) ** k * d_dt(lagrangian.diff(q.d(k)), k) for k in range(top + 1)]) for q in coordinates]
