"""Parameters, initial values and principles from measured motions.

`experiments` reads data, `problem` compares them with motions and their slopes, `minimum` searches, `shooting` cuts long records into
segments, `fit` finds unknown values by least squares, `result` holds them, `which` compares principles. `evidence` has the criteria that
rank fits, `work` counts motions and shows progress.
"""

from chetaev.numerics.identification.fit import fit
from chetaev.numerics.identification.result import Fit
from chetaev.numerics.identification.which import Answer, which

__all__ = ["Answer", "Fit", "fit", "which"]
