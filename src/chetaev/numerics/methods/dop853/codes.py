"""Numbers that the compiled loop and its callers share: why a run ended, what it keeps, and places in its arrays."""

NEW, RUNNING, FINISHED, WATCH, FLOOR, TOO_MANY_STEPS, STEP_TOO_SMALL, DRIFT, NOT_FINITE, INTERRUPTED = range(-2, 8)
AGAIN = -4
"""A step ended far beyond a root and is repeated up to the root."""
NO_ROOM = -3
"""The run paused because its arrays for steps or roots are full."""

FINAL, STEPS, TIMES, NODES = range(4)
"""What is kept: the final state, every accepted step, given times."""

ACCEPTED, REJECTED, EVALUATIONS, PROJECTIONS, KEPT, FOUND, STATUS, STOPPER, SHORTENED, LOOK, LOOKED, LATELY = range(12)
"""Places in the counts of a run. `LOOK` is the number of the next step inside which the run compares the interpolant with the equations,
`LOOKED` is the number of steps at the last such comparison, and `LATELY` is 1 if the run goes on after a rejected step."""
COUNTS = 12
"""The number of counts."""
NOW, STEP = range(2)
"""Places in the clock of a run: the time, and the length of the next step."""
INTEGRAL, LATEST, SPACE = range(3)
"""Places in the record of the roots of the last residual, and the length of the last step inside which the run compared the interpolant
with the equations."""
OFF, CHANGE, WHEN, ROUNDED, MOVED, SLOPE, BELOW = range(7)
"""Rows of the record of comparisons inside steps: for each component the largest defect of the interpolant, the change of the component in
the same step, the time, and the sum of squares of its rounding error in a step; then its largest change in a compared step, and two rows
for rates."""
INSIDE = 4
"""The number of these rows that are results."""
ATOL, GIVEN, BEFORE, LARGEST, SIZES, AMONG, ROUND_OFF, BOUND, TURNS = range(9)
"""Rows of data about the components: absolute tolerances; typical sizes given by the caller, negative where the run measures them; the
largest values before the run; the largest values so far; the present typical sizes; the largest values so far of components of the same
kind, up to an eighth; the largest round-off of the rates found so far; the size beyond which a component is folded, infinite if it is not;
and the number of double turns subtracted from it (`scales`)."""
SCALES = 9
"""The number of rows of data about the components."""
DOUBLE_TURN = 12.566370614359172
r"""$4\pi$, in radians: the amount that is subtracted from an angle when it is folded. Sines of half an angle have this period; with $2\pi$
their signs would change."""
LARGEST_REMAINDER = 9.42477796076938
r"""$3\pi$, in radians: a remainder beyond it is folded to about $\pi$ on the other side, from where it takes a whole turn to come back.
With half of `DOUBLE_TURN` an angle that swings there would be folded at every step."""

CORNER = 2
"""The direction of a function whose roots are not events: other functions may have a corner at its roots, and are evaluated there."""
SAMPLES = 9
"""Points in a step, the ends included, at which functions that are watched closely are evaluated."""
UNRESOLVED = 0.1
"""Largest difference of a function from the polynomial through every second sample, relative to the largest sample. A larger difference
shortens the step."""
NEAR = 0.25
"""The function is evaluated at the extreme value of a parabola through three samples if this value is below this part of the larger outer
sample."""
ROOT_AT_START = 1e-6
"""Part of the first step: an earlier root is the start itself."""
MOST_BEYOND_SEEN = 30.0
"""Largest ratio of the bound of a node over a step to its values at the points that the step evaluated. Steps that resolve the forces stay
below 3, steps that leap over a feature are above 1e9; any number between these serves."""
NOTHING = 1e-100
"""Values below this, in any unit, count as zero: the tails of a Gaussian reach down to 1e-308 before they vanish."""
UPPER_BOUND, LOWER_BOUND, SEEN_VALUE, BOUND_OVER_STEP, EDGE, LARGEST_VALUE = range(6)
"""Rows of data about the nodes: the largest and the smallest absolute value over a box, the largest value at the points evaluated by the
step, the bound over the whole step, the value at which an unseen feature begins, and the largest value at a single point."""
MOVED_BY, FIFTH, THIRD = 13, 14, 15
"""Rows of `k` that hold the change of the state in a step, and the error estimates of orders 5 and 3, until the interpolant is made."""
WHOLE = 2
"""The first result of code for whole steps (`step_code`), less the number of calls of the projection, if it did all that a step needs."""
CALLS, CALM, GREW, MOVED_FURTHER = 63, 64, 128, 256
"""All bits of that number, and bits beside it: the step is calm (`look_code`), a component became the largest of its kind, and some change
is much larger than those in the steps compared so far."""
NODE_ROWS = 6
"""The number of rows of data about the nodes."""
WORST, LEAPED_NODE, TURN, MIDDLE = range(4)
"""Places in the notes of a tube."""
SLACK = 0.05
"""Part of its width by which a box is widened if the motion turns back in it. Three values determine a polynomial between them up to that;
without the margin a turning point between two of them would be cut off."""
FIRST_PART, FINEST_PART, LONGEST_PART = 0.25, 1.0 / 64.0, 0.9
"""Parts of a step: the first and the shortest part over which nodes are enclosed, and the longest part that is tried next after a step that
leaps over a feature. A feature shorter than the shortest part is found too, but located no better."""
SHORTEST_PART = 2.0**-36
"""The shortest part of a step in the search for roots; it is not halved again."""
NARROWEST, FURTHER = 1e-13, 1e3
"""Where a function changes its sign at a pole, a jump or a root, its values at the distances `NARROWEST` and `NARROWEST * FURTHER`, in
steps, are compared."""
LEAST_GRAINS = 8.0
"""The smaller of these distances is at least this many distances of neighbouring doubles at the present time; with fewer, round-off decides
which value is nearer to a pole."""
POLE_RATIO = 0.8
"""A function has a pole if the ratio of its value at the larger distance to that at the smaller one is below this. The ratio is 0.77 at a
logarithmic pole, almost 1 at a jump unless the function decays within a billionth of a step, and larger at a root."""
TRIES = 1000
"""Most evaluations of the bounds of a function in one step."""
FALL = 1e-2
"""A determinant that falls below this part of both its values at the ends of a step touches zero, or comes so close to it that the step
must be examined."""
PARABOLA = 0.75
"""As `FALL`, for the lowest value of a parabola: below it the determinant is evaluated at more points. It is larger than `FALL` because a
cosine is no parabola."""
CLOSE = 0.1
"""A determinant that is smaller than this part of another of its values in the step is evaluated at more points too."""
MARGIN = 0.1
"""How far beyond the ends of a step the lowest value of the parabola may lie, in halves of the step."""
EVEN = 0.75
"""Second difference, in parts of the largest value, below which three roots of a determinant may belong to a square that vanishes between
them. Determinants that change by less than a factor of five in a step are above it; with 0.5, squares of parabolas are missed."""
TOUCHING = 50.0
"""The shortest step before a determinant that touches zero, in units of the shortest step elsewhere. With shorter ones too few digits of
the state are left to recognise the zero, and the motion passes it."""
RADIAN = 1.0
"""Radians: if all angles move by less in a step, a determinant cannot approach zero and turn back twice in it. Otherwise the determinant is
evaluated at points between which angles move by less than `RADIAN`/5."""
SECTIONS, GOLDEN = 60, 0.3819660112501051
"""The number of golden sections in the search for the smallest value of a determinant, and the ratio of a section."""
LEVEL_ERROR = 1e-3
"""Relative error of the part of a step before a determinant falls towards zero; a smaller one takes more evaluations and gains nothing,
since the step is shortened again."""
SHORTEST_LEVEL_PART = 1e-3
"""The shortest part of a step to which it is shortened before such a place; with less, steps would end in front of it many times."""
