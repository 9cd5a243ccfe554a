"""Derivatives of motions by parameters and initial values.

`directions` reads what to differentiate by, `start_slopes` differentiates the completed start, `variation` makes the machine code in which
slopes run beside the state, `augmented` puts them together with the sizes by which their errors are measured, `jumps` carries them across
switches and resets, `linear` has the derivatives of expressions on the state, `motion_slopes` reads slopes of any expression along a
motion. `rounding_check` bounds what round-off makes of slopes.
"""
