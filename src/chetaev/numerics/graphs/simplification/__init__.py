r"""Shorter graphs with the same values.

An elimination computes $\sin^2\theta/m + \cos^2\theta/m$ where $1/m$ would do, and differences of equal products. `normal_forms` finds a
polynomial for every intermediate result, with the arithmetic of `polynomial`; `emission` writes code that uses these polynomials where they
are shorter; `simplify` makes a graph of it.
"""
