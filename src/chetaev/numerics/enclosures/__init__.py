r"""Enclosures: bounds of the user's own functions over the tube of a step, by interval arithmetic.

An adaptive step evaluates the equations at a few points, and a barrier, a pulse or a pole may lie between them. The expressions are known,
so their values between the points can be bounded. Bounds of the rates themselves explode, because elimination divides by pivots whose
intervals contain zero. So the *nodes* of the data are bounded instead: every function, quotient and power in the Lagrangian, rows, forces,
dissipation and inputs that changes along a motion, by its slope with respect to its own argument, or by its value if that shows as much. A
only the slope of a `tanh` that saturates at both ends of a step reveals it.

Sine and cosine need no bounds: they and their slopes stay between -1 and 1 (the factor of their argument is the same everywhere). Neither
do polynomials of low degree and roots. For a system without other nodes no code is made.

`nodes` finds these functions, `interval` is interval arithmetic on graphs, `expression` encloses expressions and their rates,
`removable_singularities` those with removable singularities, `kernels` makes machine code of enclosures, `global_bounds` bounds a graph
over all states, `positive_inertia` shows that a mass matrix is positive definite at all states, `ranges` bounds an expression of one
variable over a whole line.

R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, SIAM 2009.
"""
