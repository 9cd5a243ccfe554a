"""Paths between two ends: boundary value problems, conjugate times, abnormal curves, wavefronts, and steering at least cost.

`connect` finds all motions that join two ends: `boundary` has the problem, `search` proposes starts and curves, `findings` makes paths of
what was found, the values of `path`; `strict` adds strictly abnormal ones. `abnormal` finds the curves on which the end-point map is
singular, `wavefront` the ends of all extremals from a point. `steering` has the verb `steer`; `optimal` the problem, its transcription and
its checks.
"""
