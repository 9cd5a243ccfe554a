"""Smooth pieces of a motion, and what happens where two of them meet.

`piece` holds one choice of pivots and modes, `request` what was asked, `events` the user's events; `switching` decides which side a motion
takes on a surface or whether it slides, `momentum_jumps` what it does where the Lagrangian jumps, `planar_rest` when friction holds a body.
"""
