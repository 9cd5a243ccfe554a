"""Curves of equilibria and steady motions: their equations for `arclength`, and their eigenvalues.

`rest_curve` is for motions in which all quantities that influence them are at rest, `relative_curve` for motions along symmetries, such as
a precessing top whose attitude is a rotation; `eigenvalue_kind` has the functions of eigenvalues that both share.
"""
