"""Derivatives of motions by parameters and initial values.

`directions` reads the names to differentiate by, `start_slopes` differentiates the completed start, `variation` makes the machine code that
integrates slopes with the state, `augmented` adds their first values and their typical sizes, `jumps` carries them across switches and
resets, `linear` has the derivatives of expressions on the state, `motion_slopes` reads slopes of any expression along a motion.
`rounding_check` bounds the effect of round-off on slopes.
"""
