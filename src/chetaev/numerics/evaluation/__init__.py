"""Accelerations and multipliers at a state, and the beginning of a motion.

`evaluate` is the verb, `corners` its case on switching surfaces, `one_side` refuses data that fit several sides, `printed_numbers` has the
printed numbers, `many_digits` computes jets again that lose theirs, `clear_values` those of expressions, `values_at` values of any
expressions at a state; `slopes` has their derivatives; `motion_start` finds where and in which configuration a motion starts.
"""
