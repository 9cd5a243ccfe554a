"""Smooth pieces of a motion, and the transitions between them.

`piece` holds one choice of pivots and modes, `request` the arguments of a simulation, `events` the user's events. `surface_values` gives
the values of switching functions, `switching` decides which side a motion takes on a surface or whether it slides, `momentum_jumps` how it
continues where the Lagrangian jumps, `planar_rest` when friction holds a body. `impacts` says how velocities jump where contacts close,
`bounces` which contacts stay closed then. `rounding` bounds what round-off makes of a piece, `signs` what it makes of the functions of
events and switches, `grazing` what errors of the state make of a surface that is grazed; `clear_readings` reads expressions along a piece,
in many digits where round-off takes theirs.
"""
