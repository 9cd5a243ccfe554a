"""Paths between two ends: boundary value problems, conjugate times, abnormal curves, wavefronts, and steering at least cost.

`connect` finds all motions that join two ends: `boundary` has the problem, `search` proposes starts and curves, `properties` turns
solutions into the values of `path`, with their action and conjugate times; `strictly_abnormal` adds abnormal curves that are not normal
extremals. `abnormal` finds the curves on which the end-point map is singular, `wavefront` the ends of all extremals from a point.
`steering` has the verb `steer`; `optimal` has its problem, the transcription and the checks.
"""
