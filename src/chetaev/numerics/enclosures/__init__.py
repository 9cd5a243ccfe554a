r"""What a step did not look at, enclosed: bounds of the user's own functions over the tube of a step, by interval arithmetic.

An adaptive step knows the places where it evaluated, and nothing between them: a barrier, a pulse or a pole may lie there. The expressions
are known, so what they can be between the places can be bounded. Bounds of the rates themselves explode, because elimination divides by
pivots whose intervals contain zero. So the *nodes* of the data are bounded instead: every function, quotient and power in the Lagrangian,
rows, forces, dissipation and inputs that moves, by its slope with respect to its own argument, or by its value where that is as telling. A
`tanh` that saturates on both sides of a step is seen by its slope only.

Sine and cosine have nothing to hide, they and their slopes stay between -1 and 1 (what multiplies their argument is the same everywhere);
polynomials of low degree and roots neither. A system with no other nodes gets no code.

R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, SIAM 2009.
"""
