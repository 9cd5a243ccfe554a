"""Prepared motions: equations, an interval and outputs in, a value out that computes ends of motions from arrays (`prepare`).

`differentiated` gives the derivatives of the ends, `carried` the growth of frames, `rates` the rates at any regular state. Motions in one
piece run in compiled code (`chetaev.numerics.motion.direct_run`); all others, and all errors, are those of `simulate`.
"""

from chetaev.numerics.prepared.carried import Growth, growth_of
from chetaev.numerics.prepared.differentiated import End, end_and_slopes
from chetaev.numerics.prepared.prepare import Prepared, prepare

__all__ = ["End", "Growth", "Prepared", "end_and_slopes", "growth_of", "prepare"]
