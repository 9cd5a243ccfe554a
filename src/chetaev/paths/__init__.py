"""Paths between two ends: boundary value problems, conjugate times, abnormal curves, wavefronts, and steering at least cost.

`connect` finds all motions that join two ends: `ends` reads their conditions, `counting` counts them, `sizes`, `seeds` and `transcription`
propose starts, `shooting` meets the conditions, `ranking` merges and ranks what was found into the values of `path`, with `conjugate` times
and the first `variation` of the action. `abnormal` finds the curves on which the end-point map is singular, `wavefront` the ends of all
extremals from a point. `steering` has the verb `steer`; `optimal` the problem, its transcription and its checks.
"""
