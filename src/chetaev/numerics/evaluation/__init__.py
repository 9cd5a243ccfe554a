"""Accelerations and multipliers at a state, and the beginning of a motion.

`evaluate` is the verb, `corners` its case on switching surfaces, `one_side` refuses data that fit several sides, `printed_numbers` prints
values, `many_digits` recomputes jets whose digits cancel, `clear_values` recomputes such expressions, `values_at` has values of any
expressions at a state; `slopes` has their derivatives; `motion_start` finds the state and the configuration in which a motion starts.
"""
