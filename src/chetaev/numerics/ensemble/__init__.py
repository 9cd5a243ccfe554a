"""Ensembles: many motions of one system at once.

What is given may be arrays: initial data and parameters are broadcast against each other (`arguments`). Missing initial values are computed
for all members together (`completion`), the motions run in compiled code on all processors (`run`, `threads`), several side by side
(`side_by_side`), and a member that needs another order of elimination on the way gets it (`pivoted`); `batch` evaluates functions for many
members at once. Motions are checked as those of `simulate` (`agreement`, `end_checks`). Members that meet a corner of sign, abs, min or max
are run by `simulate` (`members`). A large ensemble is computed block by block (`many`, `collect`). The ends and the states at given times
are read by name (`result`, `columns`, `series`).
"""

from chetaev.numerics.ensemble.many import simulate_many
from chetaev.numerics.ensemble.result import Ensemble

__all__ = ["Ensemble", "simulate_many"]
