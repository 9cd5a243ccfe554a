"""Ranks and null spaces of matrices of expressions.

`exact` finds generic ranks in a finite field on the constraint manifold, `generic` takes them at random points with bounds of the errors,
`factored` is the one decomposition from which rank, null space and solutions come, `sizes` are the units in which jets are of order one,
`row_reduction` reduces matrices of expressions.
"""
