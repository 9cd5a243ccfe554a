"""Tolerances that several modules share: errors of points, and thresholds for ranks, null spaces and contradictions.

Formal questions are answered exactly (`ranks.exact`); these numbers serve where only values at points can answer. A threshold that one
module alone uses stands beside its use. All numbers but `NEGLIGIBLE_ERROR` are relative and have no unit.
"""

POINT_ERROR = 1e-11
"""Error of a random point of the constraint manifold, found by iteration, relative to its largest jet of the same order. Newton's iteration
ends when a step is shorter. With smaller values it does not end near double roots; with larger ones `CUT` takes errors for rank."""
STATE_ERROR = 2e-15
"""Error of a given state, or of a random point without rows, relative to each jet: some units in the last place. With smaller values
round-off becomes a pivot; larger ones clear entries that are right."""
NEWTON_CUT = 1e-10
"""Singular values of a scaled Jacobian below this part of the largest are left out of a Newton step towards a random point. With smaller
values redundant rows throw the step far away; larger ones leave out directions that rows determine."""
CUT = 1e-9
"""Singular values of a matrix whose rows and columns have comparable sizes count as zero below this part of the largest. Solutions keep six
digits above it; smaller values admit solutions without digits, larger ones drop true directions."""
NOISE = POINT_ERROR
"""Entries of a matrix below this part of its largest are errors of Newton's iteration, at random points of order one."""
OPEN = 1e-7
"""Relative to the largest component of a null vector: smaller components are the error of a null space at `CUT`, and move nothing. With
smaller values determined unknowns are reported as open; larger ones hide open unknowns."""
NEGLIGIBLE_ERROR = 1e-300
"""Absolute error at which computations with more and more digits end: an expression that vanishes identically never reaches a relative one.
With a larger value tiny results lose digits; a much smaller one underflows."""
CONTRADICTION = 1e-8
"""Residual of a row for given values, relative to its terms, above which the values contradict the row. It exceeds the round-off of
completed starts and of solving redundant rows: a smaller value would refuse consistent data, a larger one would accept data off the
constraints."""
ALMOST_ZERO = 1e-300
"""Stands for zero where a positive number is needed, as a divisor or the argument of a logarithm, in any unit. It is far below all sizes
that occur; with zero, quotients of zeros would be NaN."""
