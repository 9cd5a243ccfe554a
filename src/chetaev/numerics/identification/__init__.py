"""Parameters, initial values and principles from measured motions.

`experiments` reads data, `problem` compares them with motions and their slopes, `fit` finds unknown values by least squares, `which`
compares principles. `evidence` has the numbers by which fits are ranked.
"""

from chetaev.numerics.identification.fit import Fit, fit
from chetaev.numerics.identification.which import Answer, which

__all__ = ["Answer", "Fit", "fit", "which"]
