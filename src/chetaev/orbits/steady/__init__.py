"""Curves of equilibria and steady motions: their equations for `arclength`, and their eigenvalues.

`rest_curve` is for motions in which everything that influences them is at rest, `relative_curve` for those that a symmetry carries along,
such as a precessing top whose attitude is a rotation; `eigenvalue_kind` has what both say about eigenvalues.
"""
