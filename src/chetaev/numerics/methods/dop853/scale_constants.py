"""Numbers that the compiled loop and the methods that step in Python share: typical sizes, the round-off of rates, looks inside steps."""

TINY = 1e-300
"""Errors below this are none, in any unit: the digits of smaller numbers are lost. Without it what has no size has no error that is
allowed."""
MEMORY = 0.9
"""Part of the typical size that is left after a step. An oscillation is largest again after some five steps; a planet that leaves its sun
takes tens of steps, and is not measured by the speed it had there."""
SMALL_PART = 0.1
"""Part of the largest value of the run so far below which the typical size does not fall: what comes to rest is not followed for ever."""
MUCH_LARGER = 1.125
"""How many times the largest value of its kind a component may be before the others are measured by it. Coordinates that grow all the time
would make every step renew what others are measured by."""
WEIGHT = 2.0
"""Of the typical size in the unit of the error, beside the value itself: an error of three tolerances of a jet of order one in one step
ends in one of about one, because the estimate is that of a lower order."""
NOISE = 3.0
"""Round-off of a step in units of the differences seen between two states: these are two samples, a step has twelve rates."""
ELSEWHERE = 1e3
"""Times the round-off of the rates at one end of a step that it may be at the other. With a smaller number, coordinates that vanish by
symmetry would shorten steps; with a larger one, a body that starts to move against friction would set off in any direction."""
SLOWLY = 0.05
"""Part of an error that is left when the step is halved at least, above which it is no error of the method: that would be below 1/32."""
NOISY = 1e4
"""Units in the last place of the largest rate of its kind that round-off may amount to."""
SHAKEN = 2.0**-51
"""Relative differences of the states between which rates are compared."""
GUESSES = 4
"""How often the place is moved towards the start at which the bend of the motion is looked for, where the rates have no value."""
AT_ONCE = 1e-3
"""Part of the time after which the bend is looked at below which a component that starts at zero has no time of its own: its rate starts
at zero too."""
BESIDE = 1e-3
"""Part of the largest value of its kind below which a component does not decide about the first step."""
FIRST_LOOK = 3
"""Steps before the first look inside a step, unless the run ends earlier: until then steps grow fast, and every one would be unlike those
looked at."""
SPARSE, SPREAD = 48, 48
"""Steps from one look inside a step to the next: at least the first number, and less than both together. A look costs about one step:
with half as many steps a run would take two per cent longer."""
NARROWER = 0.25
"""Part of the length of the step looked at last: a step that is shorter is looked at too, so that a narrow feature is not passed between
two looks."""
FURTHER = 16.0
"""Times the largest change of a component in the steps looked at: a step that changes it more is looked at too, so that a pulse that hits
a body at rest is not passed between two looks. Where a motion grows by many powers of ten, that is in every fourth step."""
FIRST_PLACE, PLACES = 0.05, 0.9
"""The places of a look lie behind the first part of a step, in an interval of the second length. At both ends of a step the polynomial
follows the equations by construction."""
GOLDEN_PART = 0.6180339887498949
"""Multiples of it, modulo 1, are spread evenly and do not repeat: they choose places and distances."""
DIGITS = 2.0
"""Units in the last place of the time to which the length of a step is known: both of its ends are rounded. With less, steps of 1e-12
between two switches would seem to violate the equations."""
PLACE_DIGITS = 100.0
"""Units in the last place of the time to which the places inside a step are known, as the derivative of an interpolant multiplies them: the
sum of its coefficients is about 40. Rates that change within a step of 1e-12 at t = 1 are known to 1e-2 of their change."""
