"""Corner functions (sign, abs, min, max, step, piecewise) written with modes, one number for every switching function.

`corners` rewrites expressions from the inside out, `modes` makes smooth systems of them with a `mode` for each, `sliding` has the systems
on their surfaces and with closed contacts, `planar_friction` treats unit vectors of velocities, `multiplier_modes` modes whose force is
proportional to a multiplier, `rootless_sign_changes` switching functions that change their sign at a pole or a jump, `hidden_corners`
corners inside smooth functions.
"""
