"""Corner functions (sign, abs, min, max, step, piecewise) written with modes, one number for every switching function.

`corners` rewrites expressions from the inside out, `modes` makes smooth systems of them with a `mode` for each, `planar_friction` treats
unit vectors of velocities, `tilts` modes whose force grows with a multiplier, `broken` switching functions that change their sign at a pole
or a jump, `squares` roots of squares. `contacts` opens and closes the rows of unilateral contacts.
"""
