"""Attraction by an equilibrium: an estimate of its basin by many motions, and regions that a Lyapunov function proves.

`basin` has the estimate and its border, `end_states` runs the motions and decides which of them arrive. `certificate` has the proofs:
`reduced_field` writes the motion as y' = g(y) in independent jets, `enclosed` bounds expressions over boxes of states with outward
rounding, `proof` covers a region with such boxes, `candidates` are the functions that are tried.
"""

from chetaev.numerics.attraction.basin import Basin, basin
from chetaev.numerics.attraction.certificate import LyapunovCertificate, lyapunov_certificate

__all__ = ["Basin", "LyapunovCertificate", "basin", "lyapunov_certificate"]
