"""Smooth pieces of a motion, and the transitions between them.

`piece` holds one choice of pivots and modes, `request` the arguments of a simulation, `events` the user's events. `surface_values` has the
values of switching functions, `switching` decides which side a motion takes on a surface or whether it slides, `surface_poles` finds
poles there, `momentum_jumps` computes the state beyond a jump of the Lagrangian, `planar_rest` decides when friction holds a body.
`impacts` computes the jumps of velocities where contacts close, `bounces` decides which contacts stay closed then. `fitted_rows` inserts
rates into the rows as stated, `rounding` bounds the errors of a piece by round-off, `signs` those of the signs of events and switches,
`grazing` the errors where a surface is grazed; `clear_readings` reads expressions along a piece, in many digits where doubles lose them.
"""
