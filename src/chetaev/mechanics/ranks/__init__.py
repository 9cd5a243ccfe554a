"""Ranks and null spaces of matrices of expressions.

`exact` finds generic ranks in a finite field on the constraint manifold, `generic` computes them at random points with error bounds,
`factored` is the decomposition that gives rank, null space and solutions in any units, `split` that of matrices of comparable sizes,
`sparse` finds clear answers for large sparse matrices, `sizes` finds units in which jets are of order one, `newton` iterates towards points
where rows vanish, `row_reduction` reduces matrices of expressions, `minors` has determinants and solutions that are not multiplied out.
"""
