"""Ensembles: many motions of one system at once.

Initial data and parameters may be arrays, which are broadcast against each other (`given`). Missing initial values are computed for all
members together (`completion`, `settling`, `linear`), the motions run in compiled code on all processors (`run`, `threads`), and a member
whose pivots become small gets another order of elimination (`pivots`, `pivoted`). `simulate` runs members that meet a corner of sign, abs,
min or max (`corners`). The ends are read by name (`collect`, `result`, `columns`).
"""

from chetaev.numerics.ensemble.many import simulate_many
from chetaev.numerics.ensemble.result import Ensemble

__all__ = ["Ensemble", "simulate_many"]
