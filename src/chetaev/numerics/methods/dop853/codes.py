"""Numbers that the compiled loop and its callers share: why a run ended, what it keeps, and places in its arrays."""

NEW, RUNNING, FINISHED, WATCH, FLOOR, TOO_MANY_STEPS, STEP_TOO_SMALL, DRIFT, NOT_FINITE, INTERRUPTED = range(-2, 8)
AGAIN = -4
"""A step went far beyond a root, and is made again up to it."""
NO_ROOM = -3
"""The run waits for more room to keep steps or roots."""

FINAL, STEPS, TIMES, NODES = range(4)
"""What is kept: the final state, every accepted step, given times."""

ACCEPTED, REJECTED, EVALUATIONS, PROJECTIONS, KEPT, FOUND, STATUS, STOPPER, SHORTENED, LOOK, LOOKED, LATELY = range(12)
"""Places in the counts of a run. `LOOK` is the number of the step inside which the run looks next, `LOOKED` how many steps there were when
it looked last, `LATELY` is 1 where a run goes on after a rejected step."""
COUNTS = 12
"""How many there are."""
NOW, STEP = range(2)
"""Places in its clock."""
INTEGRAL, LATEST, SPACE = range(3)
"""Places in what is known of the roots of the last residual; then the length of the step inside which the run looked last."""
OFF, CHANGE, WHEN, ROUNDED, MOVED, SLOPE, BELOW = range(7)
"""Rows of what was seen inside steps: for each component the largest defect, the change by its rate in the same step, the time, the sum
of squares of what rounding makes of the component in a step; then the largest change in a step looked at, and two rows for rates."""
INSIDE = 4
"""How many of these rows are results."""
ATOL, GIVEN, BEFORE, LARGEST, SIZES, AMONG, HISS, BOUND, TURNS = range(9)
"""Rows of what a run knows of its components: absolute tolerances; typical sizes that somebody gave, negative where the run itself shows
them; the largest values before the run; then what belongs to the run: the largest values so far, typical sizes now, the largest values of
components of the same kind so far, up to an eighth, and the round-off of the rates, as far as it was met; then beyond what a component is
folded (infinite where it is not), and how many double turns were taken out of it (`scales`)."""
SCALES = 9
"""How many there are."""
DOUBLE_TURN = 12.566370614359172
r"""$4\pi$, in radians: what is taken out of an angle that is folded. Sines of half an angle have this period; with $2\pi$ their signs would
change."""
FARTHEST = 9.42477796076938
r"""$3\pi$, in radians: a remainder beyond it is folded to about $\pi$ on the other side, from where it takes a whole turn to come back.
With half of `DOUBLE_TURN` an angle that swings there would be folded at every step."""

CORNER = 2
"""The direction of a function of which no root counts: others bend where it vanishes, and are looked at there."""
SAMPLES = 9
"""Points in a step at which functions that are watched closely are looked at, the ends included."""
UNSEEN = 0.1
"""A part of the largest value by which a function may differ from the polynomial through every second value."""
NEAR = 0.25
"""A parabola's extreme value, in parts of the value beside it, that is worth a look at the function there."""
EARLY = 1e-6
"""Roots in this part of the first step are the start itself."""
BEYOND_SEEN = 30.0
"""How many times what a step saw of a node it may be between the places the step looked at. Motions that resolve their forces stay below
3, those that leap are above 1e9: in between any number will do."""
NOTHING = 1e-100
"""What is smaller than this, in whatever units, is nothing: the tails of a Gaussian reach down to 1e-308 before they vanish."""
FOUND_MOST, FOUND_LEAST, WAS_SEEN, REACHES, EDGE, SEEN_ONCE = range(6)
"""Rows of what is known of the nodes: the largest and the smallest absolute value over a box, what the step saw of them, the largest over
the whole step, where a surprise begins, and the largest value in a single place."""
NODE_ROWS = 6
"""How many there are."""
WORST, SURPRISE, TURN, MIDDLE = range(4)
"""Places in the notes of a tube."""
SLACK = 0.05
"""Part of its width by which a box is widened where the motion turns back in it. What a polynomial does between three places is known up
to that; without it a turning point between them would be cut off."""
FIRST_PART, FINEST_PART, LONGEST_PART = 0.25, 1.0 / 64.0, 0.9
"""Parts of a step over which nodes are enclosed, at first and at least, and the longest part of a step that leaps which is tried next. A
surprise shorter than the finest part is found too, only its place is known no better."""
SHORTEST_PART = 2.0**-36
"""A part of a step that is not halved again in search of roots."""
NARROWEST, FURTHER = 1e-13, 1e3
"""Where a function changes its sign at a pole, a jump or a root, it is compared at this distance, in steps, and at so many times more."""
GRAINS = 8.0
"""That distance is so many distances of neighbouring times at least; at fewer, round-off decides what is nearer to a pole."""
LESS_BESIDE = 0.8
"""A function that is smaller than this part of itself at the larger distance has a pole. Near a logarithmic pole it is 0.77, beside a jump
it is almost 1 unless it falls in a billionth of a step, and beside a root more."""
TRIES = 1000
"""Most evaluations of the bounds of a function in one step."""
FALL = 1e-2
"""A determinant that falls below this part of both its values at the ends of a step touches zero, or comes too close to be left unseen."""
EVEN = 0.75
"""Second difference, in parts of the largest value, below which three roots of a determinant may belong to a square that vanishes between
them. Determinants that change by less than a factor of five in a step are above it; with 0.5, squares of parabolas are missed."""
TOUCHING = 50.0
"""The shortest step before a determinant that touches zero, in units of the shortest step elsewhere. With shorter ones too few digits of
the state are left for the zero to be seen, and the motion passes it."""
RADIAN = 1.0
"""Angles that move by less in a step do not make a determinant come to zero and turn back twice in it; otherwise it is looked at in so
many places that they move by less than a fifth of that between two."""
SECTIONS, GOLDEN = 60, 0.3819660112501051
"""Sections of the golden ratio that look for the lowest value of a determinant."""
