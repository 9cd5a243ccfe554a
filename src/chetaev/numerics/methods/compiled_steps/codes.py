"""Numbers that the compiled strides and their callers share: places in their arrays."""

from chetaev.numerics.methods.dop853.location import MORE_PLACES

NOW, NEXT, END, LONGEST, NEW, PROPOSED, BEFORE, ERROR, BEFORE_ERROR, LAST = range(10)
"""Places in the clock of a run: the time, the longest next step, the last time, the longest step allowed; the end of the step that is
tried and what is proposed for the next one; the length of the step before, the error of this one and of the one before (0 = unknown), and
the length of the step to which the polynomial belongs that is extrapolated (0 = there is none)."""
CLOCK = 10
"""The number of places in the clock."""

ACCEPTED, REJECTED, EVALUATIONS, PROJECTIONS, KEPT, STATUS, MOST, KEEPING = range(8)
"""Places in the counts of a stride: steps accepted and rejected, evaluations, projections, nodes kept, why it ended, the most steps it may
try, and whether it keeps polynomials."""
COUNTS = 8
"""The number of counts."""

LOOK = -5
"""The status of a stride that ended because `python_loop` must examine its next step."""

GIVEN, LARGEST, SIZES, FLOOR, NOISE, ATOL, TYPICAL, AMONG, LEAST, INVERSE = range(10)
"""Rows of data about the components, as in `methods.sizes`: sizes given by the caller (negative = none), the largest values so far, typical
sizes, substitutes as long as there are no typical sizes, round-off, absolute tolerances, the sizes by which errors are measured, room
for the largest of each kind, the least size (at a smaller one the absolute tolerance and round-off would be all that is allowed), and one
over the larger of typical and least size."""
SCALES = 10
"""The number of rows."""

QUARTER, HALF, _, HALF_RATE, LAST_RATE = range(5)
"""Rows of weights: of the coefficients at a quarter, a half and three quarters of a step (the last one is reached by counting from
`QUARTER`), of their rates in its middle, and of their rates at its end."""
SAMPLES = len(MORE_PLACES)
"""Number of points in a step at which functions without bounds are evaluated."""
FEWEST_LOOKS, MOST_LOOKS = 33, 4000
"""Fewest and most points in a step at which a determinant is evaluated."""
DIP = 0.5
"""Largest ratio of a determinant to the larger of its values at the neighbouring points if it touches zero nearby: for a parabola the ratio
is 1/9 at most. Without it, minima of a determinant that is constant up to round-off would count."""
FAR = 10.0
"""Tolerances: largest correction by the projection at the end of a step, unless round-off explains it."""
FAINT = 30 * 2.0**-52
"""Part of the largest value of its kind below which a component is round-off: steps in powers do not look for it otherwise."""
AS_EXPECTED = 1e-3
"""Part of the size that is assumed for a component without a size: if the component is smaller after its first step, the step is
repeated."""
NO_SIZE = 1e-290
"""Smallest size of a component, in any unit: numbers below 1e-308 lose their digits."""
INSIDE_EVERY = 8
"""Every eighth step of a stride is checked inside, beginning with its first. A check takes one evaluation; a step of a series of order
20 takes as long as dozens of them."""
BEYOND = 4
"""Points of a step beyond its beginning; at one of them a node must be as large as where the series begins, since a node that is large at
the beginning only may be a narrow hill."""
