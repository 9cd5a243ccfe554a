"""Numbers that the compiled loop and the methods that step in Python share: typical sizes, the round-off of rates, comparisons inside
steps.
"""

TINY = 1e-300
"""Absolute errors below this are always allowed, in any unit: smaller numbers lose their digits. Without it, no error of a component
without a size would be allowed."""
MEMORY = 0.9
"""Part of the typical size that is left after a step. An oscillation is largest again after some five steps; a planet that leaves its sun
takes tens of steps, and is not measured by the speed it had there."""
SMALL_PART = 0.1
"""Part of the largest value of the run so far below which the typical size does not fall: what comes to rest is not followed for ever."""
MUCH_LARGER = 1.125
"""A component becomes the largest of its kind, by which the others are measured, when it exceeds the former largest value by this factor.
With 1, coordinates that grow all the time would renew the sizes of the others in every step."""
WEIGHT = 2.0
"""Weight of the typical size in the unit of the error; the value itself has the weight one. An estimated error of three tolerances in a
component of order one then ends as an error of about one tolerance, because the estimate has a lower order."""
NOISE = 3.0
"""Round-off of a step in units of the differences between two perturbed states: these are two samples, a step has twelve rates."""
MOST_NOISE_RATIO = 1e3
"""Largest ratio of the round-off of the rates at one end of a step to that at the other end. With a smaller number, coordinates that vanish
by symmetry would shorten steps; with a larger one, a body that starts to move against friction would set off in any direction."""
LEFT_AFTER_HALVING = 0.05
"""An error is no error of the method if at least this part of it is left when the step is halved: of an error of the method at most 1/32
would be left."""
MOST_ROUND_OFF = 1e4
"""Largest round-off of a rate, in units in the last place of the largest rate of its kind."""
PERTURBATION = 2.0**-51
"""Relative differences of the states between which rates are compared."""
MOST_RATE_ATTEMPTS = 4
"""Most attempts to evaluate the rates a short time after the start, for the second derivatives; each attempt whose rates are not finite is
repeated nearer to the start."""
NEGLIGIBLE_TIME_SCALE = 1e-3
"""The first step is chosen from second derivatives, which are differences of rates over a short time. A component that starts at zero is
ignored in this choice if its time scale is below this part of that short time: then its rate starts at zero too."""
BESIDE = 1e-3
"""Part of the largest value of its kind below which a component does not decide about the first step."""
FIRST_COMPARISON = 3
"""Steps before the first comparison inside a step, unless the run ends earlier: the first steps grow fast, so that none of them resembles
the later ones."""
SPARSE, SPREAD = 48, 48
"""Steps from one comparison inside a step to the next: at least `SPARSE`, and less than `SPARSE + SPREAD`. A comparison costs about one
step: with half these numbers a run would take two per cent longer."""
MUCH_SHORTER = 0.25
"""Part of the length of the step compared last: a shorter step is compared too, so that a narrow feature between two comparisons is not
missed."""
FURTHER = 16.0
"""Ratio to the largest change of a component in the steps compared so far: a step with a larger change is compared too, so that a pulse on
a body at rest is not missed. If a motion grows by many powers of ten, this is every fourth step."""
FIRST_PLACE, PLACES = 0.05, 0.9
"""Parts of a step: comparisons take place between `FIRST_PLACE` and `FIRST_PLACE + PLACES`. At both ends of a step the polynomial satisfies
the equations by construction."""
GOLDEN_PART = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly and do not repeat: they choose places and distances."""
DIGITS = 2.0
"""Units in the last place of the time to which the length of a step is known: both of its ends are rounded. With less, steps of 1e-12
between two switches would seem to violate the equations."""
PLACE_DIGITS = 100.0
"""Units in the last place of the time to which the places inside a step are known, as the derivative of an interpolant multiplies them: the
sum of its coefficients is about 40. Rates that change within a step of 1e-12 at t = 1 are known to 1e-2 of their change."""
LONGEST_GUESS = 1e-3
"""Relative to the whole duration: the longest time after the start at which rates are evaluated for second derivatives, and the first step
if all second derivatives vanish. A longer one may skip the beginning of a motion; a shorter one costs a few steps."""
GUESS_AT_REST = 1e-6
"""The same time where no component has a time scale: the state or its rates are zero."""
NEARER = 1e-3
"""Ratio of this time to the one before, if the rates at the earlier guess were not finite."""
TIME_LEFT = 1e-3
"""Weight of the remaining time, beside the time itself, in the length below which a shortened step is too small. Without it, no step at t =
0 would be too small."""
HUGE = 1e100
"""Limit of the ratio of an error to its tolerance; the square of the limit does not overflow."""
SQUARE_SETTLED = 3e-9
"""A relative correction of Newton's method after which the next one, of the order of its square, is round-off."""
FAR = 10.0
"""Largest correction by the projection, in units of the tolerance and of the correction that round-off alone causes; a larger one rejects
the step."""
GROWS = 6.0
"""Largest ratio of a step to the step before. A larger one reaches the right length in fewer steps after a switch, and loses accuracy
there."""
SAFETY = 0.8
"""Ratio of the next step to the step whose error would equal the tolerance. With 0.9 every fourth step of a double pendulum is rejected,
with 0.8 every sixth: the number of evaluations is the same and errors are smaller."""
