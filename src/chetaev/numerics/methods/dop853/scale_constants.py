"""Numbers that the compiled loop and the methods that step in Python share: typical sizes, and the round-off of rates."""

MEMORY = 0.9
"""Part of the typical size that is left after a step. An oscillation is largest again after some five steps; a planet that leaves its sun
takes tens of steps, and is not measured by the speed it had there."""
SMALL_PART = 0.1
"""Part of the largest value of the run so far below which the typical size does not fall: what comes to rest is not followed for ever."""
WEIGHT = 2.0
"""Of the typical size in the unit of the error, beside the value itself: an error of three tolerances of a jet of order one in one step
ends in one of about one, because the estimate is that of a lower order."""
NOISE = 3.0
"""Round-off of a step in units of the differences seen between two states: these are two samples, a step has twelve rates."""
ROUND_OFF = 2.0**-46
"""Part of the largest value of its kind below which a change of a component during a step may be round-off, where steps are rejected
because of it: sums and differences of some tens of comparable numbers leave so much."""
SHAKEN = 2.0**-51
"""Relative differences of the states between which rates are compared."""
GUESSES = 4
"""How often the place is moved towards the start at which the bend of the motion is looked for, where the rates have no value."""
AT_ONCE = 1e-3
"""Part of the time after which the bend is looked at below which a component that starts at zero has no time of its own: its rate starts
at zero too."""
BESIDE = 1e-3
"""Part of the largest value of its kind below which a component does not decide about the first step."""
